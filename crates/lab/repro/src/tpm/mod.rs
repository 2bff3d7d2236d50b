//! `tpm`: translation pages cached whole, with a write pointer each, against single cached entries.
//!
//! Faithful to: "Optimizing Translation Information Management in NAND Flash Memory Storage Systems"
//! (ASP-DAC 2012): 32 GB of flash in 2 KB pages, 64 pages a block, 15 % of it reserved, collection at
//! three free blocks, its page and block times, one server, caches of 128 to 1024 KB, five traces.
//! Simplified: the whole user space is written in order before a run, not only what a trace touches;
//! traces are generated where no file is given.
//! Scaling: flash, address span and requests shrink together; the cache does not, because its slots
//! serve streams, and those do not become fewer. Neither do the 512 MiB that one trace spans.

mod drives;
mod exact;
mod figures;
mod rows;
mod runs;
mod traces;

use crate::error::StudyError;
use crate::family;
use crate::study::{Findings, Options, Scale, Study};
use crate::target::Targets;
use drives::{ALL_CACHES, DRAWN_CACHES, PUBLISHED_CACHE};
use experiment::Monitor;
use rows::Table;

/// Published values, and the values that are accepted.
pub(crate) static TARGETS: Targets = Targets::of(include_str!("../../targets/tpm.toml"), &STUDY);

pub(crate) static STUDY: Study = Study {
    name: "tpm",
    title: "Translation pages cached whole (TPM) against single cached map entries (DFTL)",
    paper: "TPM, ASP-DAC 2012",
    method: "The drive is written once in order, then each trace is run on it: counted one request after the other for \
        hits and \
             translation operations, at its own times before one server for responses. Erases are counted on drives \
             that the \
             same kind of requests has aged until their spare blocks were used up. DFTL is run in four variants; the \
             comparison \
             of record is with segmented LRU and batch updates, because that is DFTL as its authors describe it.",
    // Below, the smallest caches hold the whole map and every hit ratio is 100 %.
    least: Scale::one_over(64),
    usual: Scale::DEFAULT,
    takes: "some ten minutes",
    shown: &[
        ("hit-ratio", &["3.1a", "3.1b", "3.2a", "3.2b", "3.3", "3.3v", "3.13"]),
        ("translation-operations", &["3.4", "3.4v", "3.14a"]),
        ("response", &["3.5", "3.5v", "5.8b"]),
        ("response-normalised", &["3.5", "3.5v"]),
        ("erases", &["3.6", "3.6v", "3.14b"]),
        ("in-use", &["3.5", "3.5s", "3.6", "3.6s"]),
    ],
    targets: Some(&TARGETS),
    run,
};

fn run(options: &Options, monitor: &dyn Monitor) -> Result<Findings, StudyError> {
    let is_draw = options.is_drawn();
    let steps = TARGETS.steps().filter(|_| !is_draw);
    let parts = steps.map_or(Ok(Vec::new()), |steps| steps.parts(options))?;
    let (mut table, found) = family::with_parts(options, &parts, monitor, |options, monitor| {
        let traces = traces::all(options)?;
        let caches: &[usize] = match (is_draw, options.is_drawn()) {
            (true, _) => &DRAWN_CACHES,
            (false, true) => &[PUBLISHED_CACHE],
            (false, false) => &ALL_CACHES,
        };
        let results = runs::run(options, &traces, caches, monitor)?;
        Ok(Table { results, traces, steps: Vec::new() })
    })?;
    let missing = std::iter::once(&table).chain(&found).map(|table| table.results.missing()).sum();
    table.steps = steps.iter().flat_map(|steps| steps.values.iter().copied()).zip(found).collect();
    let size = format!(
        "Size {} of the published one: flash, address span and requests; caches and the 512 MiB of Financial keep \
         their size.",
        options.scale
    );
    let notes = options.notes(size, STUDY.settings());
    Ok(Findings::new(rows::rows(&table), figures::figures(&table), notes, missing))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Verdict;

    #[test]
    fn a_small_run_has_every_row_once_in_order_and_the_exact_ones_hold() {
        // An eighth of what rows are judged at: here they are only counted.
        let options = Options { scale: Scale::one_over(512), ..Options::default() };
        let findings = run(&options, &()).unwrap_or_else(|error| panic!("{error}"));
        // A row about the user's files.
        findings.check(&STUDY, &TARGETS, &["3.12b"]);
        assert_eq!(findings.figures.len(), 6);
    }

    #[test]
    fn a_file_that_is_not_the_published_trace_misses_the_row_about_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("Financial2.spc");
        let line = |number: u32| {
            format!("0,{},4096,{},{number}.5\n", number * 8, if number.is_multiple_of(6) { 'w' } else { 'r' })
        };
        std::fs::write(&path, (0..1200).map(line).collect::<String>()).unwrap();
        let mut options = Options { scale: Scale::one_over(512), ..Options::default() };
        options.traces.insert("financial".to_owned(), path.display().to_string());
        let findings = run(&options, &()).unwrap_or_else(|error| panic!("{error}"));
        let row = |id| findings.rows.iter().find(|row| row.id == id).unwrap();
        assert_eq!((&*row("3.12b").workload, row("3.12b").verdict), ("Financial2.spc", Verdict::Fail));
        assert_eq!(row("3.4").workload, "Financial2.spc, others generated");
        assert_eq!(row("3.1b").workload, "generated");
        let ratios = findings.figures.iter().find(|figure| figure.name == "hit-ratio").unwrap().to_csv();
        assert!(ratios.starts_with("panel,category,series,value\nWebsearch,128,TPM,"), "{ratios}");
    }
}
