//! Orderings that hold on every drive: harder work takes no less time, in each respect that makes it harder.
//!
//! *Law*: an experiment is harder than another one if it is so in one respect and in no respect easier. It has larger
//! requests, more of them at a time, more writes beside them, or more of the drive in use. Then a request of it takes
//! as long or longer, writing amplifies as much or more, and a commit takes as long as its write. More requests
//! at a time are not answered at a far smaller rate either. *Simplified*: times a drive was overwritten before are in
//! no order.

use crate::laws::{Differ, implied, least_mean, most_apart, per_second, spoken};
use crate::measured::{Area, Experiment, MeasuredDrive, Op, Order, Work};
use crate::subject::{BEFORE_OFFERED, SMALL};

/// How many times fewer requests a second a drive may answer at a larger depth: reads, and what is written beside
/// them, which may meet a full cache or collection there.
const FEWER: [f64; 2] = [1.5, 4.0];
/// How many times as long a request may take in easier work: the first reads of a drive that sleeps, and writes.
const EASIER: [f64; 2] = [2.0, 4.0];

/// What an experiment measures, as far as two of them can be put in order.
#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    Closed(Op, Order),
    Amplification,
}

/// A figure that does not fall where work gets harder.
struct Rising {
    what: What,
    /// The part of the drive, as if all of it were used.
    area: Area,
    /// What makes the work harder, in the order of [`HARDER`].
    hardness: [f64; HARDER.len()],
    figure: &'static str,
    value: f64,
    /// How it comes from what is stated.
    how: String,
}

/// What is said of a latency that falls where work gets harder: by size, depth, writes beside it, and bytes in use.
const HARDER: [&str; 4] = [
    "a request does not take longer than a larger one",
    "a request among fewer others does not take so much longer",
    "a request with fewer writes beside it does not take so much longer",
    "a request does not take so much longer where less of the drive is in use",
];
const SIZE: usize = 0;

impl Rising {
    /// All of an experiment.
    fn of(experiment: &Experiment) -> Vec<Self> {
        let value = |name: &str| experiment.measured.get(name).copied();
        let any = |area: Area| Area { used: 0, ..area };
        match experiment.work {
            Work::Closed { op, order, size, depth, beside, area, .. } => {
                let told = implied(experiment).map(|(figure, value, how)| Self {
                    what: What::Closed(op, order),
                    area: any(area),
                    hardness: [size as f64, f64::from(depth), beside, area.used as f64],
                    figure,
                    value,
                    how,
                });
                told.into_iter().collect()
            }
            Work::Offered { writes_per_second, area } => {
                let told = |(figure, op): (&'static str, Op)| {
                    Some(Self {
                        what: What::Closed(op, Order::Random),
                        area: any(area),
                        hardness: [SMALL as f64, 1.0, writes_per_second, area.used as f64],
                        figure,
                        value: value(figure)?,
                        how: String::new(),
                    })
                };
                [("read.mean", Op::Read), ("write.mean", Op::Write)].into_iter().filter_map(told).collect()
            }
            // In steady state, as on the way there it also depends on how far the drive is.
            Work::Amplification { area, window_end: None, .. } => {
                let told = value("waf").map(|value| Self {
                    what: What::Amplification,
                    area: any(area),
                    hardness: [0.0, 0.0, 0.0, area.used as f64],
                    figure: "waf",
                    value,
                    how: String::new(),
                });
                told.into_iter().collect()
            }
            Work::Amplification { .. } | Work::Transient { .. } | Work::Fill { .. } => Vec::new(),
        }
    }

    /// In what this one is harder, if it is in no respect easier; empty: they are not in this order.
    fn harder_than(&self, easy: &Self) -> Vec<usize> {
        let all = || self.hardness.iter().zip(easy.hardness).enumerate();
        if self.what != easy.what || self.area != easy.area || all().any(|(_, (hard, easy))| *hard < easy) {
            return Vec::new();
        }
        all().filter(|(_, (hard, easy))| **hard > *easy).map(|(respect, _)| respect).collect()
    }

    fn told(&self) -> String {
        format!("{}{}", spoken(self.figure, self.value), self.how)
    }
}

impl MeasuredDrive {
    /// Two figures that are in no order that a drive has.
    pub(crate) fn out_of_order(&self, pair: [&Experiment; 2]) -> Option<Differ> {
        slower(pair).or_else(|| steady_twice(pair)).or_else(|| self.falls(pair)).or_else(|| self.before_its_write(pair))
    }

    /// A figure that is clearly smaller where the work is harder.
    fn falls(&self, pair: [&Experiment; 2]) -> Option<Differ> {
        let [first, second] = pair.map(Rising::of);
        let pairs = first.iter().flat_map(|one| second.iter().map(move |other| [one, other]));
        pairs.into_iter().find_map(|both| {
            let of = |hard: usize| (both[hard].harder_than(both[1 - hard]), hard);
            let (respects, hard) = [0, 1].map(of).into_iter().find(|(respects, _)| !respects.is_empty())?;
            let (is_read, is_waf) = (matches!(both[0].what, What::Closed(Op::Read, _)), both[0].figure == "waf");
            // A larger read has the smaller one in it, and both meet a drive that is as wide awake.
            let is_exact = is_waf || is_read && respects == [SIZE];
            let most = if is_exact { most_apart(both[0].figure, pair) } else { EASIER[usize::from(!is_read)] };
            let values = [both[0].value, both[1].value];
            let has_fallen = |values: [f64; 2]| values[1 - hard] > most * values[hard];
            // A write is mostly the time of its host, which is only known roughly.
            let is_told = has_fallen(values) && (is_waf || self.of_the_drive(pair, values, has_fallen));
            let why = if is_waf { "less of the drive in use amplifies writes less" } else { HARDER[respects[0]] };
            let values = [format!("{} is {}", both[0].figure, both[0].told()), both[1].told()];
            is_told.then_some(Differ { values, why })
        })
    }

    /// The mean of commits that is clearly below the latency of their writes alone, in either order.
    fn before_its_write(&self, pair: [&Experiment; 2]) -> Option<Differ> {
        let written = |experiment: &Experiment| match experiment.work {
            Work::Closed { op: Op::Commit, order, size, depth, beside, area, overwrites } => {
                Some(Work::Closed { op: Op::Write, order, size, depth, beside, area, overwrites })
            }
            _ => None,
        };
        let is_commit = |number: usize| written(pair[number]) == Some(pair[1 - number].work);
        let number = [0, 1].into_iter().find(|number| is_commit(*number))?;
        let [commit, write] = [pair[number], pair[1 - number]];
        let (_, mean, how) = implied(commit)?;
        let told_mean = format!("mean is {}{how}", spoken("mean", mean));
        let stated = implied(write).map(|(_, ns, how)| (ns, format!("mean is {}{how}", spoken("mean", ns))));
        let (least, told_write) = stated.or_else(|| least_mean(write, "")).or_else(|| least_mean(write, "write."))?;
        let most = most_apart("mean", [commit, write]);
        let is_below = self.of_the_drive([write, commit], [least, mean], |[write, commit]| write > most * commit);
        let values = if number == 0 { [told_mean, told_write] } else { [told_write, told_mean] };
        is_below.then_some(Differ { values, why: "a commit takes as long as its write, and its flush besides" })
    }
}

/// The rates of two closed loops, alike but for their depth, of which the deeper one is far slower.
fn slower(pair: [&Experiment; 2]) -> Option<Differ> {
    let [(one, work), (other, its)] = [alike(pair[0])?, alike(pair[1])?];
    let rate = |experiment: &Experiment, depth: u32| {
        per_second(experiment).or_else(|| {
            let (_, mean, how) = implied(experiment)?;
            let told = format!(" (mean is {}{how}, depth {depth})", spoken("mean", mean));
            Some((f64::from(depth) * 1e9 / mean, told))
        })
    };
    let [(first, first_how), (second, second_how)] = [rate(pair[0], one)?, rate(pair[1], other)?];
    let only_reads = matches!(work, Work::Closed { op: Op::Read, .. });
    let is_slower = work == its && falls_with_depth([one, other], [first, second], FEWER[usize::from(!only_reads)]);
    let told =
        [format!("iops is {}{first_how}", spoken("iops", first)), format!("{}{second_how}", spoken("iops", second))];
    is_slower.then_some(Differ { values: told, why: AT_A_TIME })
}

const AT_A_TIME: &str = "more requests at a time are not answered so much more slowly";

/// Whether the rate at the larger one of two depths is so many times smaller.
fn falls_with_depth(depths: [u32; 2], [first, second]: [f64; 2], most: f64) -> bool {
    let [few, many] = if depths[0] < depths[1] { [first, second] } else { [second, first] };
    depths[0] != depths[1] && few > most * many
}

/// The depth of a closed loop, and what it does but for that. What was done before may differ, as a drive is
/// overwritten between two of them.
fn alike(experiment: &Experiment) -> Option<(u32, Work)> {
    match experiment.work {
        Work::Closed { op, order, size, depth, beside, area, .. } => {
            Some((depth, Work::Closed { op, order, size, depth: 1, beside, area, overwrites: 0.0 }))
        }
        _ => None,
    }
}

/// The rate of random writes in steady state, in whatever form it is stated: depth, area, rate, and the figure in
/// words.
fn steady(experiment: &Experiment) -> Option<(u32, Area, f64, String)> {
    let of_rate = || per_second(experiment).map(|(rate, how)| (rate, format!("iops is {}{how}", spoken("iops", rate))));
    match experiment.work {
        Work::Transient { area, depth } => {
            let rate = *experiment.measured.get("steady")?;
            Some((depth, area, rate, format!("steady is {}", spoken("steady", rate))))
        }
        Work::Closed { op: Op::Write, order: Order::Random, size: SMALL, depth, beside: 0.0, area, overwrites }
            if overwrites >= BEFORE_OFFERED =>
        {
            of_rate().map(|(rate, told)| (depth, area, rate, told))
        }
        // As many at a time as there are.
        Work::Offered { area, .. } if !experiment.is_taken() => {
            of_rate().map(|(rate, told)| (u32::MAX, area, rate, told))
        }
        _ => None,
    }
}

/// One steady state that is told as the end of a transient and as a closed loop, with clearly different rates.
fn steady_twice(pair: [&Experiment; 2]) -> Option<Differ> {
    if pair[0].work == pair[1].work {
        return None;
    }
    let [(one, area, first, first_told), (other, its, second, second_told)] = [steady(pair[0])?, steady(pair[1])?];
    let rates = [first, second];
    let is_apart = one == other && first.max(second) / first.min(second) > most_apart("steady", pair);
    let why = if is_apart { "both state the rate of one steady state" } else { AT_A_TIME };
    let is_told = area == its && (is_apart || falls_with_depth([one, other], rates, FEWER[1]));
    is_told.then_some(Differ { values: [first_told, second_told], why })
}
