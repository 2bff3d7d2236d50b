//! `striping`: code blocks of the zones read most, so that reads need not wait for busy banks.
//!
//! Faithful to: "An Erasure-code-based Striping Scheme for NAND-Flash Storage System" (NCTU 2007): eight banks with a
//! queue each, zones of 256 MB with two spare blocks a segment, stripe blocks of 8 KB, codes `G_4^2` over groups of four, one
//! code zone for each of the zones read most, lazy reads, read-ahead; static means the same system without codes.
//! Not published: flash times, length and statistics of the trace, how much of the drive is in use, what becomes of code
//! blocks whose data is written. Times are those of the part it names, the trace is generated from what is published of
//! it (`umpc`) unless a file is given, and the share in use is a parameter, of which a row shows the curve.
//! Scaling: requests shrink, the drive does not, except at sizes at which no figure means anything.

mod drives;
mod exact;
mod figures;
mod loads;
mod rows;
mod runs;
mod tail;
mod targets;

use crate::error::StudyError;
use crate::study::{Findings, Monitor, Options, Setting, Study};

/// Names under which files may be given.
const NAMES: [&str; 1] = ["laptop"];

/// Zones are coded by counts of requests that are measured, instead of those of the day before.
const FORESIGHT: &str = "oracle-first-day";

/// What the first off-line phase knows.
const HISTORY: Setting = Setting {
    name: "history",
    choices: &["day-before", FORESIGHT],
    doc: "read counts at the first off-line phase: of the day before the measured requests, or of their own first day",
};

/// The study.
pub(crate) static STUDY: Study = Study {
    name: "striping",
    title: "Code blocks that stand in for what busy banks hold",
    paper: "Erasure-code-based striping, NCTU 2007",
    method: "Each drive is written to the given share of every segment and then runs a day of the trace, without time; what was read \
             in it decides which zones are coded. Then the trace goes on at its own times. Response is the mean from arrival to \
             the last byte. Static is the same drive, read-ahead included, without code zones; encoding itself takes no time, as in \
             the publication. Points of sweeps run an eighth of the requests that the rows of record run.",
    traces: &NAMES,
    settings: &[HISTORY],
    run,
};

fn run(options: &Options, monitor: &dyn Monitor) -> Result<Findings, StudyError> {
    let trace = loads::trace(options)?;
    let results = runs::run(options, &trace, monitor)?;
    let size = format!("Size {}: of a month of requests, after a day without time; the drive keeps its 20 GiB down to 1/64.", options.scale);
    Ok(Findings {
        rows: rows::rows(&results, &trace.label()),
        figures: figures::figures(&results),
        notes: options.notes(size, STUDY.settings),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::Scale;

    #[test]
    fn a_small_run_has_every_row_once_in_order_and_the_exact_ones_hold() {
        let options = Options { scale: Scale::parse("1/4096").unwrap(), ..Options::default() };
        let findings = run(&options, &()).unwrap_or_else(|error| panic!("{error}"));
        findings.check(&targets::TARGETS, &[]);
    }

    #[test]
    fn the_first_day_may_be_known_before() {
        let mut options = Options { scale: Scale::parse("1/4096").unwrap(), ..Options::default() };
        let trace = loads::trace(&options).unwrap();
        let before = runs::run(&options, &trace, &()).unwrap();
        options.settings.insert(HISTORY.name.to_owned(), FORESIGHT.to_owned());
        let oracle = runs::run(&options, &trace, &()).unwrap();
        let requests = |results: &runs::Results| results.of(&drives::RECORD, loads::Length::Record).requests;
        assert_eq!(requests(&before), requests(&oracle));
        assert_ne!(before.timed[&(drives::RECORD, loads::Length::Record)].hash, oracle.timed[&(drives::RECORD, loads::Length::Record)].hash);
    }
}
