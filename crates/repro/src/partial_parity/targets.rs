//! What was published, and what is accepted.

use crate::row::Class;
use crate::target::{Accept, Line, Targets};
use Accept::{Anything, Holds, Within};
use Class::{Exact, Numeric, Recorded, Trend};

/// Number, experiment, metric, unit, published, class, accepted.
const LINES: [Line; 36] = [
    ("2.1a", "PPC, the three cases of an update", "parity reads + programs", "", "0; 0; 1 read", Exact, Holds("0 + 0, 0 + 0, 1 + 0")),
    ("2.1b", "PPC, commits of k of N pages, N = 4, 5, 8", "parity reads + programs", "", "(k + 1) R + W below half, else (N - k) R + W", Exact, Holds("as published for every k")),
    ("2.2", "native RAID-5, update of one page", "reads + programs", "", "2 + 2", Exact, Holds("2 + 2")),
    ("2.3a", "no-PC, RAID-0 = 1", "mean IOPS", "", "0.53", Numeric, Within(0.45, 0.61)),
    ("2.3b", "FPC, RAID-0 = 1", "mean IOPS", "", "0.56", Numeric, Within(0.48, 0.64)),
    ("2.3c", "PPC, RAID-0 = 1", "mean IOPS", "", "0.73", Numeric, Within(0.65, 0.81)),
    ("2.3d", "no-PC, FPC, PPC, RAID-0", "order of mean IOPS", "", "0.53, 0.56, 0.73, 1", Trend, Holds("no-PC <= FPC < PPC < RAID-0")),
    ("2.3q", "no-PC, FPC, PPC with one request under way, RAID-0 = 1", "mean IOPS", "", "0.53, 0.56, 0.73 (queue depth not said)", Recorded, Anything),
    ("2.3v", "no-PC, FPC, PPC against other RAID-0 drives", "mean IOPS", "", "0.53, 0.56, 0.73 (drive not said)", Recorded, Anything),
    ("2.3w", "no-PC, FPC, PPC under each workload, RAID-0 = 1", "IOPS", "", "figure 6, lost", Recorded, Anything),
    ("2.4a", "PPC against no-PC", "gain of mean IOPS", " %", "38 %", Numeric, Within(25.0, 50.0)),
    ("2.4b", "PPC against FPC", "gain of mean IOPS", " %", "30 %", Numeric, Within(20.0, 42.0)),
    ("2.5", "no-PC", "mean extra reads of a page write", "", "1.5 to 1.8, 2 without a buffer", Numeric, Within(1.3, 2.0)),
    ("2.5w", "no-PC under each workload", "extra reads of a page write; pages that leave as whole stripes", "", "1.5 to 1.8; not said", Recorded, Anything),
    ("2.6a", "PPC", "mean extra reads of a page write", "", "0.6", Numeric, Within(0.4, 0.8)),
    ("2.6b", "PPC", "mean extra programs of a page write", "", "0.26", Numeric, Within(0.18, 0.36)),
    ("2.6w", "PPC under each workload", "extra reads + programs of a page write", "", "figure 7, lost", Recorded, Anything),
    ("2.7a", "FPC against no-PC", "extra reads of a page write", "", "equal", Trend, Holds("within 2 % under each workload")),
    ("2.7b", "FPC against no-PC", "extra programs of a page write", "", "fewer", Trend, Holds("fewer on average, nowhere more")),
    ("2.8", "PPC against no-PC", "extra reads saved", "", "most under Financial and Postmark", Trend, Holds("more under these two than under the others")),
    ("2.9a", "PPC against RAID-5 (journal)", "gain of mean IOPS", " %", "47 %", Numeric, Within(32.0, 62.0)),
    ("2.9b", "PPC against delayed full parities (journal)", "gain of mean IOPS", " %", "38 %", Numeric, Within(23.0, 53.0)),
    ("2.10", "one commit, N = 4, 5, 8 and all runs", "most reads", "", "half of N, rounded up", Exact, Holds("never more, and as many at some time")),
    ("2.11", "partial parity cache", "bits", "", "M (log2 I + N + W)", Exact, Holds("as published")),
    ("2.12", "chips that take a page or a block in turn", "mean IOPS", "", "by page is better", Trend, Holds("more by page, without cache and under PPC")),
    ("2.13a", "PPC and FPC, caches of 64, 256, 1024, 4096", "mean IOPS, RAID-0 = 1", "", "size not said", Recorded, Anything),
    ("2.13b", "no-PC, FPC, PPC, buffers of 0, 16, 64, 256 pages", "mean IOPS, RAID-0 with the same buffer = 1; extra reads + programs", "", "size not said", Recorded, Anything),
    ("2.13c", "FPC that does not read what memory holds", "mean IOPS; extra reads + programs", "", "FPC reads as much as no-PC", Recorded, Anything),
    ("2.13d", "PPC whose collection moves old versions, FRA, RAID-6, RAID-6 with PPC, elastic stripes, RAID-0 = 1", "mean IOPS", "", "RAID-6 is future work", Recorded, Anything),
    ("2.13e", "90 % of the writes to 1000 pages", "IOPS, RAID-0 = 1; extra reads + programs", "", "not a published workload", Recorded, Anything),
    ("2.13f", "PPC under each workload", "commits by replacement and by collection, % of both", "", "not said", Recorded, Anything),
    ("2.13g", "RAID-0, no-PC, FPC, PPC", "mean copies by collection for each page write", "", "not said", Recorded, Anything),
    ("5.6", "elastic stripes (EPLog) against RAID-5 under random updates", "bytes written", "", "45.6 to 54.9 % fewer", Trend, Holds("fewer")),
    ("5.7a", "RAID-5 of 8 chips, single pages under a Zipf law, erased drive", "parity among programs", " %", "50 %", Numeric, Within(45.0, 55.0)),
    ("5.7b", "RAID-5 of 8 chips, single pages under a Zipf law, drive in use", "parity among programs", " %", "32 %", Numeric, Within(27.0, 37.0)),
    ("5.7v", "the same with other shares of spare flash", "parity among programs", "", "32 % (share not said)", Recorded, Anything),
];

/// The targets of the study.
pub static TARGETS: Targets = Targets {
    lines: &LINES,
    paper: |id| match id {
        "2.9a" | "2.9b" => "Partial parity cache, IEEE TC 2011",
        "5.6" => "EPLog, 2016",
        "5.7a" | "5.7b" | "5.7v" => "SSDPlayer demonstration",
        _ => super::STUDY.paper,
    },
};
