//! `striping`: code blocks of the zones read most, so that reads need not wait for busy banks.
//!
//! Faithful to: "An Erasure-code-based Striping Scheme for NAND-Flash Storage System" (NCTU 2007): eight banks with a
//! queue each, zones of 256 MB with two spare blocks a segment, stripe blocks of 8 KB, codes `G_4^2` over groups of
//! four, one code zone for each of the zones read most, lazy reads, read-ahead; static means the same system without
//! codes. Not published: flash times, length and statistics of the trace, how much of the drive is in use, the
//! treatment of code blocks whose data is written. Times come from the part it names. The trace is generated from its
//! published facts (`umpc`) unless a file is given. The share in use is a parameter, of which a row shows the curve.
//! Scaling: requests shrink, the drive does not, except at sizes at which no figure means anything.

mod drives;
mod exact;
mod figures;
mod loads;
mod rows;
mod runs;
mod tail;

use crate::error::StudyError;
use crate::study::{Findings, Options, Scale, Study};
use crate::target::Targets;
use experiment::Monitor;

/// Zones are coded by counts of requests that are measured, instead of those of the day before.
const FORESIGHT: &str = "oracle-first-day";

/// Published values, and the values that are accepted.
pub(crate) static TARGETS: Targets = Targets::of(include_str!("../../targets/striping.toml"), &STUDY);

pub(crate) static STUDY: Study = Study {
    name: "striping",
    title: "Code blocks that stand in for what busy banks hold",
    paper: "Erasure-code-based striping, NCTU 2007",
    method: "Each drive is written to the given share of every segment and then runs a day of the trace, without time; \
        what was read \
             in it decides which zones are coded. Then the trace goes on at its own times. Response is the mean from \
             arrival to \
             the last byte. Static is the same drive, read-ahead included, without code zones; encoding itself takes \
             no time, as in \
             the publication. Points of sweeps run an eighth of the requests that the rows of record run.",
    least: Scale::one_over(4096),
    usual: Scale::DEFAULT,
    takes: "some five minutes",
    shown: &[
        ("table-1", &["0.1", "0.17h"]),
        ("banks", &["0.13a"]),
        ("read-zones", &["0.13b"]),
        ("code-zones", &["0.5a", "0.6a", "0.6b", "0.7", "0.11"]),
        ("stripe-blocks", &["0.8", "0.10"]),
        ("zones", &["0.9", "0.9e", "0.10"]),
        ("used", &["0.5b", "0.5c"]),
        ("tail", &["5.5a", "5.5b", "5.5c", "5.5d"]),
        ("cleaning", &["5.5e"]),
        ("architectures", &["0.5d", "0.18a", "0.18b", "0.18c"]),
    ],
    targets: Some(&TARGETS),
    run,
};

fn run(options: &Options, monitor: &dyn Monitor) -> Result<Findings, StudyError> {
    let trace = loads::trace(options)?;
    let results = runs::run(options, &trace, monitor)?;
    let size = format!(
        "Size {}: of a month of requests, after a day without time; the drive keeps its 20 GiB down to 1/64.",
        options.scale
    );
    let rows = rows::rows(&results, &trace.label());
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
        for id in ["0.1", "0.2", "0.3", "0.4", "0.12"] {
            assert_eq!((row(id).class, row(id).verdict), (Class::Exact, Verdict::Pass), "{:?}", row(id));
        }
    }

    #[test]
    fn the_first_day_may_be_known_before() {
        let mut options = Options { scale: STUDY.least, ..Options::default() };
        let trace = loads::trace(&options).unwrap();
        let record = (drives::RECORD, loads::Length::Record);
        let before = runs::run_one(&options, &trace, &record, &()).unwrap();
        options.settings.insert("history".to_owned(), FORESIGHT.to_owned());
        let oracle = runs::run_one(&options, &trace, &record, &()).unwrap();
        assert_eq!(before.requests, oracle.requests);
        assert_ne!(before.hash, oracle.hash);
    }
}
