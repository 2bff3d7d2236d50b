//! What was published, and what is accepted.

use crate::row::Class;
use crate::target::{Accept, Line, Targets};
use Accept::{Anything, AtLeast, Holds, Within};
use Class::{Exact, Numeric, Recorded, Trend};

/// Number, experiment, metric, unit, published, class, accepted.
const LINES: [Line; 34] = [
    ("3.1a", "TPM under the traces with sequential runs, all cache sizes", "least hit ratio", " %", "at least 89.27 %", Numeric, AtLeast(85.0)),
    ("3.1b", "TPM under Websearch", "hit ratio at each cache size", " %", "at least 89.27 %", Trend, Holds("above DFTL's at every size")),
    ("3.2a", "DFTL, all traces and cache sizes", "mean hit ratio", " %", "40.14 %", Numeric, Within(25.0, 60.0)),
    ("3.2b", "DFTL in each cell, all variants", "hit ratio", " %", "below TPM's (figure 5)", Trend, Holds("below TPM's in every cell")),
    ("3.3", "TPM, cache of 1024 instead of 128 KB", "gain of the hit ratio", " points", "about 5 where reads dominate, 12 to 20 where writes do", Trend, Holds("it grows, and more where writes dominate")),
    ("3.4", "translation operations at 512 KB", "mean reduction", " %", "90.93 %", Numeric, Within(80.0, 97.0)),
    ("3.4v", "the four variants of DFTL at 512 KB", "reduction of translation operations by TPM", "", "90.93 % (variant not said)", Recorded, Anything),
    ("3.5", "mean response at 512 KB", "mean reduction", " %", "22.14 %", Numeric, Within(12.0, 35.0)),
    ("3.5v", "the four variants of DFTL at 512 KB", "reduction of the mean response by TPM", "", "22.14 % (variant not said)", Recorded, Anything),
    ("3.6", "block erases at 512 KB, aged drives, without Websearch", "mean reduction", " %", "26.51 %", Numeric, Within(10.0, 40.0)),
    ("3.6v", "the four variants of DFTL at 512 KB, aged drives", "reduction of erases by TPM", "", "26.51 % (variant not said)", Recorded, Anything),
    ("3.6u", "uniform page writes over the whole drive, cache scaled with it", "reduction of erases", " %", "none; about 20 % in total is expected", Recorded, Anything),
    ("3.7", "unused pages behind write pointers, whole drive in use", "share of flash", " %", "4.74 %", Numeric, Within(3.5, 6.5)),
    ("3.8", "directory of translation pages at 32 GB", "memory", " KB", "96 KB (2 KB per GB), less than its fields take", Recorded, Anything),
    ("3.9", "DFTL, one missing entry", "translation reads + programs", "", "at best 1 + 0, at worst 2 + 1", Exact, Holds("at best 1 + 0, at worst 2 + 1")),
    ("3.10a", "TPM, collected data blocks", "translation pages programmed for each", "", "at most 1", Exact, Holds("at most 1 at any time")),
    ("3.10b", "DFTL, collected data blocks", "translation pages programmed for each", "", "as many as it holds pages of", Exact, Holds("never more than those with entries of what it held")),
    ("3.11a", "figure 3: 8 entries to a translation page", "translation page of pages 135 and 145", "", "16 and 18", Exact, Holds("16 and 18")),
    ("3.11b", "figure 3: fourth write to translation page 18", "place in the block of its write pointer", "", "the fourth page (PPN 23 of 20 to 23)", Exact, Holds("fills one block")),
    ("3.12a", "generated traces", "requests, share of writes, mean size", "", "table II", Numeric, Holds("within 1 % (share of writes: 0.5 points)")),
    ("3.12b", "files given by the user", "requests and share of writes", "", "table II", Exact, Holds("requests within 0.1 %, writes within 0.05 points")),
    ("3.13", "TPM under Financial", "hit ratio", " %", "highest of the traces", Trend, Holds("highest at every cache size")),
    ("3.14a", "TPM, larger cache", "translation operations, all traces", "", "fall", Trend, Holds("never rise with the cache")),
    ("3.14b", "TPM, larger cache, aged drives", "block erases, traces with writes", "", "fall", Trend, Holds("never rise with the cache")),
    ("3.15", "collected translation blocks, aged drives, 512 KB", "valid pages in each", "", "fewer than in DFTL", Trend, Holds("fewer than in DFTL")),
    ("5.1a", "DFTL against a hybrid mapping, OLTP", "mean response", " %", "-78 %", Numeric, Within(-90.0, -50.0)),
    ("5.1b", "DFTL against a hybrid mapping, OLTP", "collections", "", "a third", Trend, Holds("fewer")),
    ("5.2", "DFTL against a hybrid mapping, TPC-H", "mean response", " %", "-56 %", Trend, Holds("shorter")),
    ("5.8a", "LeaFTL beside a page map", "mapping memory", "", "2.9 times less than a mapping that compresses runs", Recorded, Anything),
    ("5.8b", "LeaFTL against earlier mappings", "performance", "", "1.4 times", Trend, Holds("higher")),
    ("5.9a", "LearnedFTL under random reads", "double reads", "", "up to 55.5 % fewer", Recorded, Anything),
    ("5.9b", "LearnedFTL against TPFTL and LeaFTL", "p99", "", "5.5 and 8.2 times lower", Recorded, Anything),
    ("5.10a", "STP-FTL against TPM", "hit ratio", "", "up to 30 % higher", Recorded, Anything),
    ("5.10b", "STP-FTL against TPM", "translation operations", "", "up to 72 % fewer", Recorded, Anything),
];

/// The targets of the study.
pub static TARGETS: Targets = Targets {
    lines: &LINES,
    paper: |id| match id.split_once('.') {
        Some(("5", rest)) if rest.starts_with("10") => "STP-FTL, 2017",
        Some(("5", rest)) if rest.starts_with('8') => "LeaFTL, ASPLOS 2023",
        Some(("5", rest)) if rest.starts_with('9') => "LearnedFTL, HPCA 2024",
        Some(("5", _)) => "DFTL, ASPLOS 2009",
        _ => super::STUDY.paper,
    },
};
