//! What was published, and what is accepted.

use crate::row::Class;
use crate::target::{Accept, Line, Targets};
use Accept::{Anything, Holds, Within};
use Class::{Exact, Numeric, Recorded};

/// Number, experiment, metric, unit, published, class, accepted.
const LINES: [Line; 19] = [
    ("4.1", "random writes of 4 to 1024 KiB, fresh drive", "smallest size at full speed", "", "16 KB", Exact, Holds("16 KiB with one and with two ways")),
    ("4.2", "IOzone random write, fresh", "speed-up, largest over records", "", "up to 8", Numeric, Within(4.0, 9.0)),
    ("4.2g", "the same with two ways", "speed-up, largest over records", "", "up to 8 (drive not said)", Recorded, Anything),
    ("4.2s", "the same by record, one way; two ways", "speed-up", "", "figure 14.5, lost", Recorded, Anything),
    ("4.2q", "the same with one request under way", "speed-up by record", "", "queue depth not said", Recorded, Anything),
    ("4.2v", "the same with a driver that answers writes from memory, one request under way", "speed-up by record", "", "write cache not said", Recorded, Anything),
    ("4.2a", "fresh driver against an aged plain drive, 4 KiB; two ways", "speed-up", "", "up to 8 (state of the drive not said)", Recorded, Anything),
    ("4.2r", "steady driver against an aged plain drive, 4 KiB, 5, 10, 20, 30 % held back", "speed-up; pages written for each of the host", "", "not said", Recorded, Anything),
    ("4.2t", "the same, 10 %: two ways; one request under way", "speed-up", "", "not said", Recorded, Anything),
    ("4.2o", "the same with 10 % spare flash in the drive instead of 29 %: 32 under way, one", "speed-up", "", "not said", Recorded, Anything),
    ("4.2d", "steady, writes answered from memory, HARD; log cache: 32 under way, one", "speed-up", "", "not said (later work)", Recorded, Anything),
    ("4.2e", "SHRD against a map of pages on flash (DFTL), steady: 32 under way, one", "speed-up", "", "not said (later work)", Recorded, Anything),
    ("4.2i", "page map of the same chips against superpages, fresh, by record", "speed-up of random writes", "", "not said", Recorded, Anything),
    ("4.2m", "the driver's maps and buffers", "KiB for each GiB of the drive", "", "not said", Recorded, Anything),
    ("4.3", "IOzone sequential write", "speed with the driver, without = 1", "", "similar", Numeric, Within(0.95, 1.05)),
    ("4.4a", "IOzone sequential read", "loss", " %", "about 5 %", Numeric, Within(0.0, 10.0)),
    ("4.4b", "IOzone random read", "loss", " %", "about 5 %", Numeric, Within(0.0, 10.0)),
    ("4.4v", "reads after random writes, 4, 16, 64, 1024 KiB: in order; at random", "loss, %", "", "not said", Recorded, Anything),
    ("4.5", "VAR, figure 14.3", "two superpages that are half valid", "", "become one", Exact, Holds("2 victims, 4 copies, 1 superpage written, 1 more free")),
];

/// The targets of the study.
pub static TARGETS: Targets = Targets { lines: &LINES, paper: |_| super::STUDY.paper };
