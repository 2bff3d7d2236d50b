//! What was published, and what is accepted.

use crate::row::Class;
use crate::target::{Accept, Line, Targets};
use Accept::{Anything, Holds, Within};
use Class::{Exact, Numeric, Recorded, Trend};

/// Number, experiment, metric, unit, published, class, accepted.
const LINES: [Line; 36] = [
    ("0.1", "table 1, n = 3 to 8, m = 1 to n", "sets that decode, 33 cells", "", "8 to 5,469", Exact, Holds("as published, each")),
    ("0.2", "ways to read {x, y}; {z} with x, y buffered; {x, y, z}", "sets of blocks", "", "3; 3; 16", Exact, Holds("3; 3; 16")),
    ("0.3", "worked examples of sections 3.1 and 3.2", "steps as published", "", "7 of 7", Exact, Holds("each as published")),
    ("0.4", "8 banks in groups of 4", "banks whose data the code block of each bank is the sum of", "", "45 56 67 74 01 12 23 30", Exact, Holds("as published")),
    ("0.5a", "8 code zones of 80, 90 % in use", "read response, static = 1", "", "0.69", Numeric, Within(0.60, 0.85)),
    ("0.5b", "8 code zones of 80, all in use", "read response, static = 1", "", "0.69 (share in use not said)", Trend, Holds("below 0.95")),
    ("0.5c", "8 code zones of 80, 60, 80, 90, 95, 100 % in use", "read response, static = 1; copies by cleaning for each page of the host", "", "share in use not said", Recorded, Anything),
    ("0.6a", "1, 2, 4, 6, 8 code zones", "read response, static = 1", "", "falls", Trend, Holds("falls at each step")),
    ("0.6b", "8 against 16 code zones", "read response, static = 1", "", "saturates near 8", Trend, Holds("at most 0.06 apart")),
    ("0.7", "1 to 16 code zones", "write response, static = 1", "", "1, or slightly below", Numeric, Holds("0.95 to 1.01, each")),
    ("0.8", "stripe blocks of 1, 2, 4, 8 pages", "read response, static = 1", "", "falls", Trend, Holds("falls, or rises by no more than 0.02")),
    ("0.9", "zones of 32, 64, 128, 256, 512, 1024 MB", "read response, static = 1", "", "least at 256 MB", Trend, Holds("least at 128, 256 or 512 MB")),
    ("0.10", "both sweeps", "write response, static = 1", "", "flat", Numeric, Holds("0.93 to 1.03, each")),
    ("0.11", "8 code zones of 80, 90 % in use", "speed of reads, static = 1", "", "1.5 (abstract), 1.45 (text)", Recorded, Anything),
    ("0.12", "8 code zones of 80", "extra space", " %", "10 %", Exact, Within(10.0, 10.0)),
    ("0.13a", "a day of the trace", "deviation over banks, share of the mean: writes, reads", "", "writes uneven, reads even (figure 4)", Trend, Holds("that of writes more than twice that of reads")),
    ("0.13b", "a day of the trace", "reads in the busiest 10 % of the zones", " %", "few zones get many (figure 4)", Trend, Holds("at least 50 %")),
    ("0.14", "stripe blocks of 1, 2, 4, 8 pages", "MiB of map", "", "falls", Trend, Holds("falls")),
    ("0.15", "zones of 32 to 1024 MB", "spare erase blocks", "", "falls", Trend, Holds("falls, and 2 of each segment")),
    ("0.16a", "lazy against eager", "mean read response", " ms", "lazy is better", Trend, Holds("less")),
    ("0.16b", "lazy against eager", "99th percentile of read response", " ms", "lazy is better", Trend, Holds("not more")),
    ("0.16c", "lazy against eager that compares queues by time", "mean, 99th percentile of read response, ms", "", "not said", Recorded, Anything),
    ("0.17a", "static and with 8 code zones", "read response, ms: mean, 99, 99.9, 99.99 %", "", "the mean alone", Recorded, Anything),
    ("0.17b", "other codes and decoders, G_4^2 with peeling", "read response, static = 1", "", "future work", Recorded, Anything),
    ("0.17c", "other ways to read: eager, around cleaning banks, the shorter queue of a mirror", "read response, static = 1; wasted block reads, % of all", "", "eager is worse, no number", Recorded, Anything),
    ("0.17d", "stale code blocks not used, updated, encoded when idle", "read; write response, static = 1", "", "not said", Recorded, Anything),
    ("0.17e", "no read-ahead in both systems", "read response, static = 1; read-ahead in the static system alone", "", "not said", Recorded, Anything),
    ("0.17f", "sequential reads", "% shorter than a group; % not aligned to groups", "", "figure 7, no numbers", Recorded, Anything),
    ("0.17g", "8 code zones of 80, 90 % in use", "% of block reads that were of code blocks; % that were wasted; % of coded groups partly stale", "", "not said", Recorded, Anything),
    ("0.17h", "best code for n = 4 by elimination and by peeling", "sets that decode", "", "G_4^3 has most, G_4^2 is taken", Recorded, Anything),
    ("0.17i", "other commands between those of a bank's cleaning", "read; write response, static = 1; mean of reads, writes, static, ms; the same uninterrupted", "", "cleaning runs to its end", Recorded, Anything),
    ("5.5a", "cleaning in turn, reads around it", "99 to 99.99th percentile of reads, no cleaning = 1", "", "1.0 to 2.6", Numeric, Holds("at most 3.5 each, under Financial1")),
    ("5.5b", "cleaning anywhere, plain reads", "99 to 99.99th percentile of reads, no cleaning = 1", "", "5 to 138", Numeric, Holds("at least 4 each, under Financial1")),
    ("5.5c", "cleaning anywhere, reads around it", "99 to 99.99th percentile of reads, no cleaning = 1", "", "not said", Recorded, Anything),
    ("5.5d", "the same four drives", "mean response of reads; writes, no cleaning = 1", "", "not said", Recorded, Anything),
    ("5.5e", "cleaning in turn and anywhere", "copies by cleaning for each page of the host", "", "not said", Recorded, Anything),
];

/// The targets of the study.
pub static TARGETS: Targets = Targets {
    lines: &LINES,
    paper: |id| if id.starts_with("5.5") { "ttFlash, FAST 2017" } else { super::STUDY.paper },
};
