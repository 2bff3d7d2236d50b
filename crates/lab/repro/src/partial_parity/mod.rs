//! `partial-parity`: the parity of newer pages kept in non-volatile memory, against RAID-5 and full parities there.
//!
//! Faithful to: "Delayed Partial Parity Scheme for Reliable and High-Performance Flash Memory SSD" (MSST 2010):
//! four data chips and one of parity in turn, pages striped, a write buffer that sends the pages of a stripe
//! together, the three cases of an update, commits when the cache is full and when collection needs the room.
//! Not published: page size, times, sizes of drive, buffer and cache; the built-in stacks give them.
//! Two of the four traces are private or paid, two come from benchmarks: all are generated unless files are given.
//! Scaling: drive, the file of one workload and requests shrink together; buffer and cache keep their size, but no
//! cache holds more than a sixteenth of the stripes.

mod drives;
mod exact;
mod figures;
mod loads;
mod results;
mod rows;
mod runs;
mod share;

use crate::error::StudyError;
use crate::load::Load;
use crate::study::{Findings, Options, Scale, Study};
use crate::target::Targets;
use experiment::Monitor;

/// Published values, and the values that are accepted.
pub(crate) static TARGETS: Targets = Targets::of(include_str!("../../targets/partial-parity.toml"), &STUDY);

pub(crate) static STUDY: Study = Study {
    name: "partial-parity",
    title: "RAID-5 inside the drive with partial parities in non-volatile memory",
    paper: "Partial parity cache, MSST 2010",
    method: "Each drive is written once in order, aged by requests of the same kind until its spare blocks are used \
        up, and warmed up \
             with the beginning of the workload; the rest is run in virtual time with 32 requests always under way. \
             RAID-0 has the \
             same five chips and the same share of spare flash, and serves the same requests. Extra reads and programs \
             are those for \
             parity, commits that collection asks for included, for each page of the host that is programmed.",
    least: Scale::one_over(128),
    usual: Scale::DEFAULT,
    takes: "two minutes",
    shown: &[
        ("iops", &["2.3a", "2.3b", "2.3c", "2.3d", "2.4a", "2.4b", "2.9a", "2.9b"]),
        ("overheads", &["2.5", "2.6a", "2.6b", "2.7a", "2.7b", "2.8", "2.13c"]),
        ("other-schemes", &["2.13d"]),
        ("cache-size", &["2.13a"]),
        ("buffer-size", &["2.13b"]),
    ],
    targets: Some(&TARGETS),
    run,
};

fn run(options: &Options, monitor: &dyn Monitor) -> Result<Findings, StudyError> {
    let loads = loads::all(options)?;
    let results = runs::run(options, &loads, monitor)?;
    let size =
        format!("Size {}: of a drive of 32 GiB and of the requests; buffer and cache keep their size.", options.scale);
    let rows = rows::rows(&results, &Load::label(loads.iter().filter(|load| !load.pattern.trace.is_empty())));
    Ok(Findings::new(rows, figures::figures(&results), options.notes(size, STUDY.settings()), results.missing()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{Class, Verdict};

    #[test]
    fn a_small_run_has_every_row_once_in_order_and_the_exact_ones_hold() {
        let options = Options { scale: STUDY.least, ..Options::default() };
        let findings = run(&options, &()).unwrap_or_else(|error| panic!("{error}"));
        findings.check(&STUDY, &TARGETS, &[]);
        let row = |id: &str| findings.rows.iter().find(|row| row.id == id).expect(id);
        for id in ["2.1a", "2.1b", "2.2", "2.2r", "2.10", "2.11"] {
            assert_eq!((row(id).class, row(id).verdict), (Class::Exact, Verdict::Pass), "{:?}", row(id));
        }
        for id in ["2.3a", "2.3b", "2.3c", "2.4a", "2.5", "2.6a", "2.6b", "5.7b"] {
            assert!(row(id).value.is_some(), "{:?}", row(id));
        }
        for name in ["iops", "overheads", "cache-size", "buffer-size"] {
            assert!(findings.figures.iter().any(|figure| figure.name == name), "{name}");
        }
    }
}
