//! What is known of a real drive: a TOML file of experiments with the figures that somebody measured.
//!
//! ```toml
//! name = "Example 1 TB"
//! capacity = "931.5GiB"
//!
//! [source.review]
//! text = "who measured it, where it was published"
//! host_time = "8us"             # what the measuring host adds to each latency
//!
//! [[experiment]]
//! kind = "closed"               # so many requests at a time
//! op = "read"                   # or "write", "mixed" with `reads = 0.7`, "commit"
//! depth = 1
//! source = "review"
//! fit = ["mean"]                # a drive is fitted to these; the others are predicted
//! measured = { iops = 16_600, mean = "60us", p99 = "69us" }
//! ```
//!
//! Kinds and their keys are those of [`Work`], figures those of [`crate::FIGURES`].

use crate::figure::{self, Unit};
use std::collections::{BTreeMap, BTreeSet};
use units::Nanos;

/// What is known of a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredDrive {
    /// Maker, model and size.
    pub name: String,
    /// Bytes the host sees.
    pub capacity: u64,
    /// Bytes to flash for each byte of the host before any collection: parity and map of the drive's own, which no
    /// model here writes. Modelled write amplification is multiplied by it.
    pub own_writes: f64,
    /// What the drive does that no model here does, a sentence each.
    pub beyond: Vec<String>,
    /// Who measured, by the name that experiments call it.
    pub sources: BTreeMap<String, Source>,
    /// What was measured, in the order of the file.
    pub experiments: Vec<Experiment>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Who, where it was published, how.
    pub text: String,
    /// Time the measuring host adds to each latency, ns.
    pub host_ns: Nanos,
}

/// One experiment and its figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    pub work: Work,
    /// Name of its source.
    pub source: String,
    /// What was found, by name: times in ns, with the host's share.
    pub measured: BTreeMap<&'static str, f64>,
    /// Those of them that a drive is fitted to.
    pub fit: BTreeSet<&'static str>,
    /// How far the model may be from those that are judged, as a share; `None`: as figures have it.
    pub band: Option<f64>,
    /// The line of the file it begins in, from 1.
    pub line: usize,
    /// A part of it tells all that is wanted.
    pub(crate) ends_early: bool,
}

/// Where consecutive requests go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Anywhere, each address alike.
    Random,
    /// One behind the other.
    Sequential,
}

/// What the requests of a closed loop do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Op {
    Read,
    Write,
    /// Reads and writes, drawn one by one; the share of reads, above 0 and below 1.
    Mixed(f64),
    /// A write and then a flush: the request ends when the flush does.
    Commit,
}

impl Op {
    /// Share of reads.
    pub fn reads(self) -> f64 {
        match self {
            Op::Read => 1.0,
            Op::Write | Op::Commit => 0.0,
            Op::Mixed(reads) => reads,
        }
    }

    fn spoken(self) -> String {
        match self {
            Op::Read => "reads".to_owned(),
            Op::Write => "writes".to_owned(),
            Op::Mixed(reads) => format!("requests, {:.0} % reads", reads * 100.0),
            Op::Commit => "writes with a flush each".to_owned(),
        }
    }
}

/// The part of a drive that an experiment works on, and how its random places are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// Bytes from the start of the drive that are filled in order.
    pub used: u64,
    /// Share of them, at their end, that is not written again after the fill: from 0, below 1.
    pub fixed: f64,
    /// Exponent of the Zipf law of places, which are scattered; 0: each place alike.
    pub zipf: f64,
}

impl Area {
    /// So many bytes, all alike.
    pub fn of(used: u64) -> Self {
        Self { used, fixed: 0.0, zipf: 0.0 }
    }

    fn spoken(self) -> String {
        let fixed = if self.fixed > 0.0 { format!(", {:.0} % static", self.fixed * 100.0) } else { String::new() };
        let law = if self.zipf > 0.0 { format!(" by Zipf {}", self.zipf) } else { String::new() };
        law + &fixed
    }
}

/// What was done to a drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    /// So many requests at a time over an area that was filled in order and then overwritten at random `overwrites`
    /// times.
    Closed {
        op: Op,
        order: Order,
        /// Bytes of each.
        size: u64,
        /// Requests at a time, from 1.
        depth: u32,
        /// Writes of 4 KiB to random places that came beside them each second; 0: none.
        beside: f64,
        area: Area,
        /// Times they were overwritten at random before.
        overwrites: f64,
    },
    /// Writes of 4 KiB to random places arrive by themselves, so many a second, on a drive in steady state; the figures
    /// are those of a client beside them that reads or writes 4 KiB, one at a time.
    Offered {
        /// Writes a second.
        writes_per_second: f64,
        area: Area,
    },
    /// Random writes of 4 KiB over an area, after a fill of it in order, until the figure was read.
    Amplification {
        area: Area,
        /// Where the window ended over which it is a mean, in times the area; `None`: in steady state.
        window_end: Option<f64>,
        /// Length of the window, in times the area.
        window: f64,
    },
    /// As many random writes of 4 KiB as the drive takes over an area, after a fill of it in order.
    Transient {
        area: Area,
        /// Requests at a time.
        depth: u32,
    },
    /// An erased drive filled once in order.
    Fill {
        /// Bytes of each request.
        size: u64,
        /// Requests at a time.
        depth: u32,
    },
}

/// Writes that take longer than this in the mean queue, ns.
const QUEUED: f64 = 1e6;
/// A drive that takes this share of the writes that it is offered takes them all: the others are chance.
const TAKEN: f64 = 0.98;

impl Experiment {
    /// What was done, in some words.
    pub fn title(&self) -> String {
        // A part of a small drive is not 0 GB.
        let gb = |bytes: u64| match bytes {
            1_000_000_000.. => format!("{:.0} GB", bytes as f64 / 1e9),
            _ => format!("{:.0} MB", bytes as f64 / 1e6),
        };
        let kib = |size: u64| format!("{} KiB", size >> 10);
        match self.work {
            Work::Closed { op, order, size, depth, beside, area, overwrites } => {
                let order = if order == Order::Random { "random" } else { "sequential" };
                let also = |is_so: bool, what: String| if is_so { what } else { String::new() };
                let beside = also(beside > 0.0, format!(", beside {beside:.0} writes/s"));
                let before = also(overwrites > 0.0, format!(", {} overwritten {overwrites} times", gb(area.used)));
                let (op, area) = (op.spoken(), area.spoken());
                format!("{} {order} {op}{area}, depth {depth}{beside}{before}", kib(size))
            }
            Work::Offered { writes_per_second, area } => {
                format!("{writes_per_second:.0} writes/s offered{}", area.spoken())
            }
            Work::Amplification { area, window_end, .. } => {
                let until = window_end.map_or_else(|| "steady".to_owned(), |end| format!("until {end} drive writes"));
                format!("{} written at random{}, {until}", gb(area.used), area.spoken())
            }
            Work::Transient { area, .. } => {
                format!("{} written at random{} at full speed", gb(area.used), area.spoken())
            }
            Work::Fill { size, .. } => format!("erased drive filled in order by {}", kib(size)),
        }
    }

    /// Whether latencies are judged: those of a drive that is offered less than it takes, so that writes do not queue,
    /// or of a closed loop.
    pub fn is_below_the_knee(&self) -> bool {
        self.is_taken() && self.measured.get("write.mean").is_none_or(|mean| *mean < QUEUED)
    }

    /// Whether the drive takes all writes that it is offered, or chooses its rate itself.
    pub(crate) fn is_taken(&self) -> bool {
        let Work::Offered { writes_per_second, .. } = self.work else { return true };
        self.measured.get("iops").is_none_or(|taken| *taken > TAKEN * writes_per_second)
    }

    /// The same with some of its figures alone, for which a part of it may do.
    pub(crate) fn only(&self, is_wanted: impl Fn(&'static str) -> bool) -> Self {
        let mut measured = self.measured.clone();
        measured.retain(|name, _| is_wanted(name));
        let are = |names: &[&str]| measured.keys().all(|name| names.contains(name));
        let ends_early = match self.work {
            Work::Transient { .. } => are(&["plateau"]),
            // Requests take milliseconds where a drive is full of writes.
            Work::Offered { .. } => {
                !self.is_below_the_knee() && are(&["iops", "rate", "read.mean", "read.p50", "write.mean", "write.p50"])
            }
            _ => false,
        };
        Self { measured, ends_early, ..self.clone() }
    }

    /// How far the model may be from a figure; `None`: it is shown and not judged.
    pub fn band(&self, name: &str) -> Option<f64> {
        let figure = figure::find(name).ok()?;
        let is_latency = figure.unit == Unit::Time;
        let band = figure.band.map(|band| self.band.unwrap_or(band));
        band.filter(|_| !is_latency || self.is_below_the_knee())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Errors of two experiments of one name named the same.
    #[test]
    fn experiments_of_one_title_are_told_apart() {
        let one = "[[experiment]]\nkind = \"closed\"\nop = \"read\"\nsource = \"s\"\nmeasured = { iops = 10_000 }\n";
        let [first, deeper] = ["depth = 1\n", "depth = 4\n"].map(|depth| one.to_owned() + depth);
        let text = format!("name = \"d\"\ncapacity = \"1GiB\"\n[source.s]\ntext = \"t\"\n{first}{first}{deeper}");
        let drive = MeasuredDrive::from_text(&text, "test").unwrap();
        let [one, other, third] = [0, 1, 2].map(|number| drive.titled(number));
        assert!(one.ends_with("depth 1\", experiment 1 (line 5),"), "{one}");
        assert!(other.ends_with("depth 1\", experiment 2 (line 11),"), "{other}");
        assert!(third.ends_with("depth 4\""), "{third}");
    }

    /// One try took twelve million writes for the mean of a drive that is full of them.
    #[test]
    fn a_drive_full_of_writes_ends_early_where_means_alone_are_wanted() {
        let known = crate::KNOWN.iter().find(|known| known.name == "sk-hynix-pe8110").unwrap();
        let drive = MeasuredDrive::from_text(known.text, known.name).unwrap();
        let (light, full) = (&drive.experiments[1], &drive.experiments[6]);
        assert!(light.is_below_the_knee() && !full.is_below_the_knee());
        let means = |name: &str| matches!(name, "iops" | "read.mean");
        assert!(full.only(means).ends_early && !light.only(means).ends_early);
        assert!(!full.only(|name| name == "read.p99").ends_early, "tails need many requests");
        assert_eq!(full.only(means).measured.len(), 2);
    }
}
