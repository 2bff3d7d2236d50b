//! `two-level`: small writes buffered page by page, others by logical block, over a log-block mapping.
//!
//! Faithful to: "A Two-Level Write-Buffer Management Scheme for Solid-State Disks" (thesis, NCTU 2009, in
//! Chinese): 21 GB of MLC flash for 20 GB, blocks of 128 pages of 4 KB, log blocks of one logical block each
//! with switch and full merges, a part of 8 MB for blocks beside one of 1 to 64 MB for pages.
//! Simplified: the trace is private and generated from what is printed of it. The number of log blocks is not
//! printed: all that fits is taken, and others are shown. Drives are full before anything is counted.
//! Scaling: only the length of the trace. Drive and buffers keep their size, because the places that are
//! written again and again do not become fewer.

mod drives;
mod figures;
mod results;
mod rows;
mod runs;
mod shape;

use crate::error::StudyError;
use crate::load::Load;
use crate::study::{Findings, Options, Scale, Study};
use crate::target::Targets;
use experiment::Monitor;

/// Published values, and the values that are accepted.
pub(crate) static TARGETS: Targets = Targets::of(include_str!("../../targets/two-level.toml"), &STUDY);

pub(crate) static STUDY: Study = Study {
    name: "two-level",
    title: "A write buffer of two levels over a log-block mapping",
    paper: "Two-level write buffer, NCTU 2009",
    method: "The drive is written once in order and warmed up with the beginning of the trace, then the trace is run \
        on it, one \
             request after the other; what is counted are blocks erased by switch and by full merges. Buffers of the \
             same \
             size are compared. Each entry of the block part takes room for a whole block, as the publication has it; \
             for the \
             buffers it is compared with both ways are run, because it does not say theirs.",
    least: Scale::one_over(128),
    usual: Scale::DEFAULT,
    takes: "some five minutes",
    shown: &[
        ("write-sizes", &["1.19a"]),
        ("random-writes", &["1.19b", "1.19c"]),
        ("erases", &["1.1a", "1.1b", "1.1c", "1.2", "1.3", "1.3v"]),
        ("erase-kinds", &["1.4a", "1.4b", "1.4o", "1.6"]),
        ("block-utilisation", &["1.10"]),
        ("page-write-backs", &["1.9"]),
        ("page-hits", &["1.7", "1.8"]),
        ("block-only", &["1.11a", "1.11b", "1.11v"]),
        ("page-only", &["1.12"]),
        ("page-alone", &["1.13a", "1.13b"]),
        ("block-part", &["1.14a", "1.14b", "1.15"]),
        ("limits", &["1.16", "1.17a", "1.17b", "1.18"]),
        ("log-blocks", &["1.1k"]),
        ("other-buffers", &["1.21a", "1.21b", "1.21c", "5.4"]),
    ],
    targets: Some(&TARGETS),
    run,
};

fn run(options: &Options, monitor: &dyn Monitor) -> Result<Findings, StudyError> {
    let [desktop, installation] =
        ["desktop", "installation"].map(|title| Load::new(options, TARGETS.pattern(title), options.seed));
    let (desktop, installation) = (desktop?, installation?);
    let results = runs::run(options, &desktop, &installation, monitor)?;
    let size = format!("{} of a month of requests; drive and buffers have the published size.", options.scale);
    let rows = rows::rows(&results, &Load::label([&desktop]), &Load::label([&installation]));
    Ok(Findings::new(rows, figures::figures(&results), options.notes(size, STUDY.settings()), results.missing()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_run_has_every_row_once_in_order_and_the_exact_ones_hold() {
        // Half of what rows are judged at: here they are only counted. Filling every drive first would take most of the
        // time; with few log blocks a fresh one merges soon.
        let settings =
            [("state", "fresh"), ("log-blocks", "64")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let scale = Scale::one_over(256);
        let options = Options { scale, settings: settings.into(), ..Options::default() };
        let findings = run(&options, &()).unwrap_or_else(|error| panic!("{error}"));
        let value = |id| findings.rows.iter().find(|row| row.id == id).and_then(|row| row.value).unwrap();
        assert!(value("1.4a") < value("1.4b"), "the smaller buffers make full merges as well");
        findings.check(&STUDY, &TARGETS, &[]);
    }
}
