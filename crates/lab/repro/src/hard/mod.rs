//! `hard`: a driver of the host that turns small random writes into aligned ones of whole superpages.
//!
//! Faithful to: "An Efficient Host Level Address Remapping Driver" (ITCS 2011): a drive mapped by superpages of 16 KiB,
//! `IOzone`'s phases in their order on a file written in order, sizes of records from 4 KiB to 1 MiB, the same drive
//! without the driver beside it. Not published: the drive's inside, its size, the size of the file, the queue depth,
//! the share that is held back, all values of the figures. `IOzone` writes through the page cache of the host: that is
//! a queue depth of 32 here, and depth 1 is a row of its own. Scaling: drive and file shrink together.

mod drives;
mod elevator;
mod exact;
mod figures;
mod phases;
mod rows;
mod runs;

use crate::error::StudyError;
use crate::study::{Findings, Options, Scale, Study};
use crate::target::Targets;
use experiment::Monitor;

/// Published values, and the values that are accepted.
pub(crate) static TARGETS: Targets = Targets::of(include_str!("../../targets/hard.toml"), &STUDY);

pub(crate) static STUDY: Study = Study {
    name: "hard",
    title: "Small random writes remapped by the host to whole superpages",
    paper: "HARD, ITCS 2011",
    method: "Four chips in lockstep under a map of superpages of 16 KiB, alone and behind the remapping driver; the \
        same chips under a map \
             of pages are the ideal. Fresh: a file is written in order, read in order, read at random, and written at \
             random, each record \
             once in each phase, 32 requests under way; contiguous neighbours in the host's queue are merged before \
             all drives, and \
             writes end with a flush. Steady: all of the drive is written in order and overwritten at random twice, \
             then random writes \
             of 4 KiB are timed.",
    least: Scale::one_over(128),
    usual: Scale::DEFAULT,
    takes: "half a minute",
    shown: &[
        ("figure-14-4", &["4.1"]),
        ("figure-14-5", &["4.2", "4.2s", "4.2i", "4.3", "4.4a", "4.4b", "4.4v"]),
        ("states", &["4.2b"]),
        ("steady", &["4.2a", "4.2r"]),
    ],
    targets: Some(&TARGETS),
    run,
};

fn run(options: &Options, monitor: &dyn Monitor) -> Result<Findings, StudyError> {
    let results = runs::run(options, monitor)?;
    let size = format!("Size {}: of a drive of 4 GiB and a file of 1 GiB.", options.scale);
    Ok(Findings::new(
        rows::rows(&results),
        figures::figures(&results),
        options.notes(size, STUDY.settings()),
        results.missing(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_run_has_every_row_once_in_order_and_the_exact_ones_hold() {
        let options = Options { scale: STUDY.least, ..Options::default() };
        let findings = run(&options, &()).unwrap_or_else(|error| panic!("{error}"));
        findings.check(&STUDY, &TARGETS, &[]);
    }
}
