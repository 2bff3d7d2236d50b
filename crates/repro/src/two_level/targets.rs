//! What was published, and what is accepted.

use crate::row::Class;
use crate::target::{Accept, Line, Targets};
use Accept::{Anything, Holds, Within};
use Class::{Exact, Numeric, Recorded, Trend};

/// Number, experiment, metric, unit, published, class, accepted.
const LINES: [Line; 41] = [
    ("1.1a", "two-level against no buffer, all sizes", "least reduction of erases", " %", "18 %", Numeric, Within(10.0, 26.0)),
    ("1.1b", "two-level against no buffer, all sizes", "largest reduction of erases", " %", "46 %", Numeric, Within(38.0, 54.0)),
    ("1.1c", "two-level, larger page part", "erases", "", "fall", Trend, Holds("fall from 16 MB on")),
    ("1.1k", "two-level against no buffer, other numbers of log blocks", "reduction of erases", "", "18 to 46 % (number not said)", Recorded, Anything),
    ("1.2", "two-level, 24 MB, against no buffer", "reduction of erases", " %", "33.5 %", Numeric, Within(25.0, 42.0)),
    ("1.3", "Block LRU against two-level, same size", "additional erases", "", "3 to 21 %", Numeric, Holds("0 to 30 % at every size")),
    ("1.3v", "Block LRU whose blocks take room for their pages only", "additional erases", "", "3 to 21 % (way not said)", Recorded, Anything),
    ("1.4a", "two-level against no buffer, all sizes", "least gain of the share of switch erases", " points", "11 points", Numeric, Within(5.0, 17.0)),
    ("1.4b", "two-level against no buffer, all sizes", "largest gain of the share of switch erases", " points", "21 points", Numeric, Within(15.0, 27.0)),
    ("1.4o", "two-level and no buffer, 24 MB", "share of switches among merges, not erases", "", "not said", Recorded, Anything),
    ("1.5", "all buffers, sizes and numbers of log blocks", "switch and merge erases", "", "complements", Exact, Holds("all erases are one or the other")),
    ("1.6", "Block LRU", "share of switch erases", "", "100 %", Exact, Holds("100 % at every size")),
    ("1.7", "two-level, 1 MB for pages", "hit ratio of pages", " %", "48 %", Numeric, Within(38.0, 58.0)),
    ("1.8", "two-level, 64 MB for pages", "hit ratio of pages", " %", "87 %", Numeric, Within(80.0, 93.0)),
    ("1.9", "two-level, larger page part", "pages written back", "", "fall", Trend, Holds("never rise with the size")),
    ("1.10", "two-level against Block LRU, same size", "gain of block utilisation", "", "14 to 23 points", Numeric, Holds("6 to 31 points at every size")),
    ("1.11a", "Block-only against two-level, same size", "additional erases", "", "5 to 30 %", Numeric, Holds("0 to 40 % at every size")),
    ("1.11b", "Block-only, larger buffer", "share of switch erases", "", "does not grow", Trend, Holds("changes by 3 points at most")),
    ("1.11v", "Block-only whose blocks take room for their pages only", "additional erases", "", "5 to 30 % (way not said)", Recorded, Anything),
    ("1.12", "Page-only against two-level, same size", "erases; hit ratio of pages", "", "much worse; low", Trend, Holds("more erases and fewer hits at every size")),
    ("1.13a", "two-level, a page leaves alone", "additional erases", "", "0 to 15 %", Numeric, Holds("-2 to 20 % at every size")),
    ("1.13b", "two-level, a page leaves alone", "difference of the hit ratio", "", "below 1 point", Numeric, Holds("below 2 points at every size")),
    ("1.14a", "16 instead of 8 MB for blocks, 1 MB for pages", "additional erases", " %", "5 %", Numeric, Within(1.0, 9.0)),
    ("1.14b", "16 instead of 8 MB for blocks, 1 MB for pages", "share of switch erases", " points", "-1 point", Numeric, Within(-5.0, 0.0)),
    ("1.15", "16 instead of 8 MB for blocks, 40 and 56 MB for pages", "erases; share of switch erases", "", "5 % fewer; 1 point more", Trend, Holds("fewer erases and a larger share")),
    ("1.16", "limit of 4 sectors, 24 MB", "erases", "", "very bad", Trend, Holds("more than at 8 sectors")),
    ("1.17a", "limits of 16, 32, 64 sectors, 24 MB", "additional erases over 8 sectors", "", "4 to 10 %", Numeric, Holds("-1 to 15 % at each")),
    ("1.17b", "limits of 16, 32, 64 sectors, 24 MB", "share of switch erases over 8 sectors", "", "-3 to -5 points", Numeric, Holds("-10 to 2 points at each")),
    ("1.18", "limits of 4 and 128 sectors, 24 MB", "erases", "", "very bad", Trend, Holds("more than at any limit of 8 to 64")),
    ("1.19a", "the trace", "writes of 1 to 8 sectors", " %", "63 %", Numeric, Within(60.0, 66.0)),
    ("1.19b", "the trace, writes of 1 to 8 sectors", "random ones", " %", "68 %", Numeric, Within(65.0, 71.0)),
    ("1.19c", "the trace, longer writes", "random ones, longest lengths last", "", "never above 20 %", Recorded, Anything),
    ("1.20a", "two-level, 24 MB", "small writes that went to the block part", " %", "the bottleneck, no number", Recorded, Anything),
    ("1.20b", "24 MB and no buffer", "mean response", "", "not measured", Recorded, Anything),
    ("1.20c", "24 MB and no buffer", "programs for each page written (WAF)", "", "not measured", Recorded, Anything),
    ("1.20d", "two-level, 24 MB", "memory a controller needs: data and tables of the buffer; mapping", "", "not measured", Recorded, Anything),
    ("1.21a", "random writes told by hash counters or two lists, 24 MB", "additional erases over request size", "", "not measured", Recorded, Anything),
    ("1.21b", "two-level whose blocks take room for their pages only", "additional erases", "", "not measured", Recorded, Anything),
    ("1.21c", "FAB, LB-CLOCK, CFLRU, CBM, 24 MB", "additional erases over two-level", "", "not measured", Recorded, Anything),
    ("5.3", "Block LRU (BPLRU), 16 MB, under an installation", "requests in the same flash time", " %", "+44 %", Trend, Holds("more")),
    ("5.4", "CBM against CFLRU, FAB, BPLRU, LB-CLOCK, 24 MB", "requests in the same flash time; erases", "", "up to 84 % more; up to 85 % fewer", Trend, Holds("more than any of them, and fewer")),
];

/// The targets of the study.
pub static TARGETS: Targets = Targets {
    lines: &LINES,
    paper: |id| match id {
        "5.3" => "BPLRU, FAST 2008",
        "5.4" => "CBM, MSST 2014",
        _ => super::STUDY.paper,
    },
};
