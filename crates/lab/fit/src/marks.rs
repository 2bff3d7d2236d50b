//! Which figures of a drive are fitted, and which follow from them.
//!
//! A file marks figures with `fit`. A read time is told by reads that wait for nothing. In a closed loop these are the
//! marked mean or median at the depth where it is least, as some drives are slower at a depth of 1 than of 2; a mean
//! above the 99th percentile is made by rare pauses, and the median takes its place. Beside writes it is the median
//! under the fewest of them: a mean has waits in it, and tells those.

use crate::laws;
use crate::measured::{Experiment, MeasuredDrive, Op, Order, Work};
use crate::parameter::is_by_page;
use simulator::Config;
use std::collections::{BTreeMap, BTreeSet};
use units::Nanos;

/// A figure: the number of its experiment, from 0, and its name.
pub type Mark = (usize, &'static str);

/// Forms of one figure: each follows from another one by the depth and the size of requests.
const SPEEDS: [&str; 3] = ["iops", "mean", "rate"];
/// Requests as small as this, in bytes, tell what the firmware takes for a request; larger ones, for a page.
const SMALL_REQUEST: u64 = 16 << 10;
/// Requests at a time from which on a drive is taken to be busy.
const MANY: u32 = 32;
/// Reads wait for each other where a drive answers more than this share of the most that it answers.
const WAITING: f64 = 0.5;

/// A figure of the same experiment, told once more.
const REPEATED: &str = "an experiment before says the same";

/// Why a figure says nothing more of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forced {
    /// The reason in words.
    pub why: &'static str,
    /// It repeats figures that were not fitted, which may miss; if not, no model can miss it.
    pub repeats: bool,
}

/// The figures that tell the parameters of a fit, as known before it.
pub(crate) struct Evidence<'a> {
    pub drive: &'a MeasuredDrive,
    /// The figures to fit to.
    pub marks: BTreeSet<Mark>,
    /// The one that tells how long a read takes.
    pub lone_read: Option<Mark>,
    /// The figures that tell the firmware's time: the most small reads, and writes, a second.
    pub most: [Option<Mark>; 2],
    /// The one that tells the link: the largest rate of reads in order.
    pub link: Option<Mark>,
    /// The firmware of the stack takes time for pages alone, and so it is told by small requests.
    pub is_by_page: bool,
}

impl MeasuredDrive {
    /// The figures that a fit of this drive takes: the marked ones, and for the read time the figures of reads that
    /// wait for nothing.
    pub fn marks(&self) -> BTreeSet<Mark> {
        Evidence::of(self).marks
    }

    /// The figures that no drive can miss once the figures in `fitted` are right, or that repeat another figure, and
    /// why: they say nothing more of a model.
    pub fn forced(&self, fitted: &BTreeSet<Mark>) -> BTreeMap<Mark, Forced> {
        let mut forced = BTreeMap::new();
        for (number, experiment) in self.experiments.iter().enumerate() {
            let is_fitted = |name: &'static str| fitted.contains(&(number, name));
            let same: Vec<&Experiment> = self.experiments[..number]
                .iter()
                .filter(|first| first.work == experiment.work && first.source == experiment.source)
                .collect();
            let mut force = |name: &'static str, repeats: bool, why: &'static str| {
                if experiment.measured.contains_key(name) && !is_fitted(name) {
                    forced.entry((number, name)).or_insert(Forced { why, repeats });
                }
            };
            match experiment.work {
                Work::Offered { .. } if experiment.is_taken() => {
                    force("iops", false, "the drive takes what it is offered");
                }
                Work::Closed { .. } => {
                    let is_stated = |name: &&&str| experiment.measured.contains_key(**name);
                    let fitted = SPEEDS.iter().find(|name| is_fitted(name));
                    let before = same.iter().any(|first| is_judged_by_speed(first));
                    let first = SPEEDS.iter().find(is_stated).filter(|_| !before);
                    for name in SPEEDS.iter().filter(|name| fitted.is_some() || Some(*name) != first) {
                        force(
                            name,
                            fitted.is_none(),
                            match (fitted, before) {
                                (Some(_), _) => {
                                    "requests at a time = requests a second x mean latency, and one is fitted"
                                }
                                (None, true) => REPEATED,
                                (None, false) if *name == "rate" => "it is requests a second times their size",
                                (None, false) => "it is requests at a time over requests a second",
                            },
                        );
                    }
                }
                Work::Fill { .. } if laws::rate_of_phases(experiment, self.capacity).is_some() => {
                    force("whole.rate", true, "its phases make it");
                }
                _ => {}
            }
            for name in experiment.measured.keys().copied() {
                if same.iter().any(|first| first.measured.contains_key(name)) {
                    force(name, true, REPEATED);
                }
            }
        }
        forced
    }

    /// Time that the host of an experiment adds to each latency, ns; 0: its source does not tell.
    pub(crate) fn host_ns(&self, experiment: &Experiment) -> Nanos {
        self.sources.get(&experiment.source).map_or(0, |source| source.host_ns)
    }
}

impl<'a> Evidence<'a> {
    pub fn of(drive: &'a MeasuredDrive) -> Self {
        let all = &drive.experiments;
        let mut marks: BTreeSet<Mark> = BTreeSet::new();
        for (number, experiment) in all.iter().enumerate() {
            marks.extend(experiment.fit.iter().map(|name| (number, *name)));
        }
        let lone_read = closed_read(all, &mut marks).or_else(|| offered_read(all, &mut marks));
        let largest = |wanted: &dyn Fn(&Experiment) -> bool| {
            let rates = marks.iter().filter(|(number, name)| is_rate(name) && wanted(&all[*number]));
            rates.copied().max_by(|a, b| bytes_per_second(all, *a).total_cmp(&bytes_per_second(all, *b)))
        };
        let most = [Op::Read, Op::Write].map(|op| largest(&|experiment| is_most(experiment, op)));
        let link = largest(&|experiment| {
            matches!(experiment.work, Work::Closed { op: Op::Read, order: Order::Sequential, .. })
        });
        Self { drive, marks, lone_read, most, link, is_by_page: false }
    }

    /// The same for a stack, whose firmware may take time for pages alone.
    pub fn of_stack(drive: &'a MeasuredDrive, config: &Config) -> Self {
        let all = Self::of(drive);
        let is_of_large = |mark: &Mark| match drive.experiments[mark.0].work {
            Work::Closed { size, .. } => is_rate(mark.1) && size > SMALL_REQUEST,
            Work::Fill { size, .. } => mark.1.starts_with("phase") && size > SMALL_REQUEST,
            _ => false,
        };
        let has_large = all.marks.iter().any(is_of_large);
        Self { is_by_page: is_by_page(config) && !has_large, ..all }
    }

    /// Bytes a second of a figure that is a rate.
    pub fn bytes_per_second(&self, mark: Mark) -> f64 {
        bytes_per_second(&self.drive.experiments, mark)
    }

    /// Whether a figure is one of requests whose pages, not whose number, keep the firmware busy.
    pub fn is_of_large_reads(&self, mark: Mark) -> bool {
        let experiment = &self.drive.experiments[mark.0];
        let is_large = matches!(experiment.work, Work::Closed { op: Op::Read, size, .. } if size > SMALL_REQUEST);
        is_large && is_rate(mark.1) && self.link != Some(mark)
    }
}

fn is_judged_by_speed(experiment: &Experiment) -> bool {
    SPEEDS.iter().any(|name| experiment.measured.contains_key(name))
}

/// Whether a figure counts requests or bytes a second.
pub(crate) fn is_rate(figure: &str) -> bool {
    matches!(figure, "iops" | "rate")
}

fn bytes_per_second(all: &[Experiment], (number, name): Mark) -> f64 {
    let experiment = &all[number];
    let Work::Closed { size, .. } = experiment.work else { return 0.0 };
    experiment.measured[name] * if name == "iops" { size as f64 } else { 1.0 }
}

/// As many small random requests of a kind as a drive takes.
fn is_most(experiment: &Experiment, wanted: Op) -> bool {
    matches!(experiment.work, Work::Closed { op, order: Order::Random, depth, size, .. }
        if op == wanted && depth >= MANY && size <= SMALL_REQUEST)
}

/// Small random reads with nothing beside them: how many at a time.
fn depth_of_reads(experiment: &Experiment) -> Option<u32> {
    match experiment.work {
        Work::Closed { op: Op::Read, order: Order::Random, size, depth, beside: 0.0, .. } if size <= SMALL_REQUEST => {
            Some(depth)
        }
        _ => None,
    }
}

/// The mean or median of reads in a closed loop that wait for nothing, at the depth where it is least, if one of them
/// is marked. It takes the place of those marks.
fn closed_read(all: &[Experiment], marks: &mut BTreeSet<Mark>) -> Option<Mark> {
    let reads: Vec<usize> = (0..all.len()).filter(|number| depth_of_reads(&all[*number]).is_some()).collect();
    let value = |number: usize, name: &str| all[number].measured.get(name).copied();
    let most = reads.iter().filter_map(|number| value(*number, "iops")).fold(0.0, f64::max);
    let hardly_waits = |number: &usize| {
        let share = value(*number, "iops").map(|rate| rate / most);
        depth_of_reads(&all[*number]) == Some(1) || share.is_some_and(|share| share <= WAITING)
    };
    let lone: Vec<usize> = reads.into_iter().filter(hardly_waits).collect();
    let is_marked = |name: &'static str| lone.iter().any(|number| marks.contains(&(*number, name)));
    let name = ["p50", "mean"].into_iter().find(|name| is_marked(name))?;
    let has_pauses = |number: usize| value(number, "mean") > value(number, "p99").or(Some(f64::INFINITY));
    let told = |number: &usize| {
        let name = if has_pauses(*number) { median_of(&all[*number], "p50", name)? } else { name };
        Some((value(*number, name)?, (*number, name)))
    };
    let (_, least) = lone.iter().filter_map(told).min_by(|a, b| a.0.total_cmp(&b.0))?;
    for number in lone {
        marks.remove(&(number, "mean"));
        marks.remove(&(number, "p50"));
    }
    marks.insert(least);
    Some(least)
}

/// The median (else the mean) of the client beside the fewest writes a second, where no reads are alone. A mean that is
/// marked stays so: it tells how long reads wait.
fn offered_read(all: &[Experiment], marks: &mut BTreeSet<Mark>) -> Option<Mark> {
    let offered = |number: usize| match all[number].work {
        Work::Offered { writes_per_second, .. } if all[number].is_below_the_knee() => Some(writes_per_second),
        _ => None,
    };
    let reads = marks.iter().filter(|(_, name)| matches!(*name, "read.mean" | "read.p50"));
    let fewest = reads.filter_map(|(number, _)| Some((*number, offered(*number)?)));
    let (number, _) = fewest.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let lone = (number, median_of(&all[number], "read.p50", "read.mean")?);
    marks.insert(lone);
    Some(lone)
}

fn median_of(experiment: &Experiment, median: &'static str, mean: &'static str) -> Option<&'static str> {
    [median, mean].into_iter().find(|name| experiment.measured.contains_key(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive(experiments: &str) -> MeasuredDrive {
        let text = format!("name = \"d\"\ncapacity = \"100GB\"\n[source.s]\ntext = \"t\"\n{experiments}");
        MeasuredDrive::from_text(&text, "d").unwrap()
    }

    fn reads(depth: u32, more: &str) -> String {
        format!("[[experiment]]\nkind = \"closed\"\nop = \"read\"\ndepth = {depth}\nsource = \"s\"\n{more}\n")
    }

    /// A drive that is slower at a depth of 1 than of 2 was fitted to depth 1, and missed twelve rows.
    #[test]
    fn the_read_time_is_told_at_the_depth_where_reads_wait_for_nothing() {
        let slow_alone = [
            reads(1, "fit = [\"mean\"]\nmeasured = { iops = 6250, mean = \"160us\", p99 = \"190us\" }"),
            reads(2, "measured = { iops = 15873, mean = \"126us\", p99 = \"190us\" }"),
            reads(16, "measured = { iops = 60000, mean = \"266us\", p50 = \"100us\" }"),
        ];
        let drive = drive(&slow_alone.concat());
        assert_eq!(Evidence::of(&drive).lone_read, Some((1, "mean")));
        assert_eq!(drive.marks(), BTreeSet::from([(1, "mean")]), "the mean at a depth of 1 is predicted");
    }

    /// Waits beside writes, and rare pauses, were taken for a slow read: another drive got 18.8 us for want of them.
    #[test]
    fn neither_waits_nor_pauses_are_taken_for_the_read_time() {
        let pauses = reads(1, "fit = [\"mean\"]\nmeasured = { mean = \"160us\", p50 = \"90us\", p99 = \"120us\" }");
        assert_eq!(Evidence::of(&drive(&pauses)).lone_read, Some((0, "p50")));
        let beside = "[[experiment]]\nkind = \"offered\"\nwrites_per_second = 9000\nsource = \"s\"\n\
                      fit = [\"read.mean\"]\nmeasured = { read.mean = \"80us\", read.p50 = \"60us\" }\n";
        let drive = drive(beside);
        assert_eq!(Evidence::of(&drive).lone_read, Some((0, "read.p50")));
        assert_eq!(drive.marks(), BTreeSet::from([(0, "read.mean"), (0, "read.p50")]), "the mean tells the waits");
    }

    /// The mean rate of a fill counted beside the phases that make it.
    #[test]
    fn the_mean_of_a_fill_counts_where_its_phases_do_not_make_it() {
        let fill = |last: &str| {
            format!(
                "[[experiment]]\nkind = \"fill\"\nsize = \"1MiB\"\ndepth = 8\nsource = \"s\"\n\
                 measured = {{ phase1.rate = \"2GB/s\", phase1.until = \"10GB\", {last} whole.rate = \"1GB/s\" }}\n"
            )
        };
        let forced = |last: &str| drive(&fill(last)).forced(&BTreeSet::new()).into_keys().collect::<Vec<_>>();
        assert_eq!(forced("phase2.rate = \"950MB/s\","), [(0, "whole.rate")]);
        assert_eq!(forced(""), [], "nothing tells the rest of the drive");
    }

    #[test]
    fn what_no_drive_can_miss_is_forced() {
        let offered = |writes: u32, taken: u32| {
            format!(
                "[[experiment]]\nkind = \"offered\"\nwrites_per_second = {writes}\nsource = \"s\"\n\
                 measured = {{ iops = {taken}, read.mean = \"80us\" }}\n"
            )
        };
        let one = [
            reads(32, "fit = [\"iops\"]\nmeasured = { iops = 40_000, mean = \"800us\" }"),
            reads(4, "measured = { iops = 40_000, mean = \"100us\", rate = \"163.84MB/s\" }"),
            offered(10_000, 9_951),
            offered(10_500, 8_000),
        ];
        let drive = drive(&one.concat());
        let forced: Vec<Mark> = drive.forced(&drive.marks()).into_keys().collect();
        assert_eq!(forced, [(0, "mean"), (1, "mean"), (1, "rate"), (2, "iops")]);
    }

    /// One lone read was judged as often as it had forms and statements.
    #[test]
    fn a_lone_read_counts_once_however_often_it_is_told() {
        let all = ["iops = 16_600", "mean = \"60us\"", "mean = \"60us\", rate = \"68MB/s\", p99 = \"90us\""];
        let twice = all.map(|measured| reads(1, &format!("measured = {{ {measured} }}"))).concat();
        let twice = drive(&twice);
        let forced: Vec<Mark> = twice.forced(&BTreeSet::new()).into_keys().collect();
        assert_eq!(forced, [(1, "mean"), (2, "mean"), (2, "rate")], "the first form counts, and the tail");
        let outcome = crate::subject::Modelled::from([("iops", 33_000.0), ("mean", 30_000.0), ("p99", 30_000.0)]);
        let judged =
            crate::judge::judge(&twice, &[Ok(outcome.clone()), Ok(outcome.clone()), Ok(outcome)], &BTreeSet::new());
        assert_eq!(crate::judge::count(&judged, crate::judge::Verdict::Missed), 2, "the lone read, and its tail");
        assert_eq!(judged.iter().filter(|one| one.is_outside()).count(), 2);
    }

    /// The tail of a job that ran twice was judged twice.
    #[test]
    fn the_tail_of_a_repeated_experiment_counts_once() {
        let all = ["mean = \"60us\", p99 = \"90us\"", "mean = \"61us\", p99 = \"91us\", p999 = \"99us\""];
        let twice = drive(&all.map(|measured| reads(1, &format!("measured = {{ {measured} }}"))).concat());
        let forced: Vec<Mark> = twice.forced(&BTreeSet::new()).into_keys().collect();
        assert_eq!(forced, [(1, "mean"), (1, "p99")]);
    }
}
