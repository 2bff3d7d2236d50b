//! Laws that hold on every drive: figures that break one are a mistake of the file.

use crate::figure::{self, Unit};
use crate::measured::{Experiment, MeasuredDrive, Op, Work};
use crate::subject::SMALL;

/// How far requests a second times their mean latency may be from their number.
const LITTLE: f64 = 0.10;
/// How far the mean rate of a fill may be from what its phases give: both are read from graphs.
const BY_EYE: f64 = 0.35;
/// More writes a second than were offered: a client catches up with what a busy host kept it from sending.
const CHANCE: f64 = 1.25;

/// How far two statements of one figure may be apart where the figure is not judged, as a factor: most figures, and
/// the tails, which rare events make.
const APART: [f64; 2] = [2.0, 4.0];
/// Percentiles that make a mean, and the share of requests that are as long or longer.
const MAKE_A_MEAN: [(&str, f64); 4] = [("min", 1.0), ("p50", 0.5), ("p99", 0.01), ("p999", 0.001)];
/// Names of latencies that rise, in their order.
const PERCENTILES: [&str; 5] = ["min", "p50", "p99", "p999", "p99999"];
/// The least band of a figure that is judged here: drives are not measured more exactly from outside.
const LEAST_BAND: f64 = 0.10;

/// What is said of figures that cannot all be true.
fn contradict(why: &str) -> String {
    format!("the figures contradict each other: {why}. Correct one of them, or leave it out")
}

/// Whether the figures of one experiment can all be true.
/// Errors: they cannot: which, and why.
pub(crate) fn agrees_with_itself(experiment: &Experiment) -> Result<(), String> {
    latencies_rise(experiment)?;
    let value = |name: &str| experiment.measured.get(name).copied();
    if let Some(waf) = value("waf").filter(|waf| *waf < 1.0) {
        return Err(format!("waf is {waf}, below 1: less would be written to flash than the host writes"));
    }
    match experiment.work {
        Work::Closed { op, depth, size, .. } => follows_littles_law(experiment, op, depth, size),
        Work::Offered { writes_per_second, .. } => takes_what_is_offered(experiment, writes_per_second),
        Work::Transient { .. } => {
            let lowest = "the lowest rate";
            for (low, high, what) in [
                ("low", "plateau", lowest),
                ("low", "steady", lowest),
                ("steady", "plateau", "the rate before collection begins"),
                ("onset", "low_at", "the rate is lowest behind the onset"),
            ] {
                if let (Some(less), Some(more)) = (value(low), value(high))
                    && less > 1.1 * more
                {
                    return Err(contradict(&format!("{low} is {less}, above {high}, {more}; {what}")));
                }
            }
            Ok(())
        }
        Work::Fill { .. } | Work::Amplification { .. } => Ok(()),
    }
}

/// No more is written than was offered, whether writes or bytes are counted.
fn takes_what_is_offered(experiment: &Experiment, writes_per_second: f64) -> Result<(), String> {
    let value = |name: &str| experiment.measured.get(name).copied();
    let most = CHANCE * writes_per_second;
    if let Some(iops) = value("iops").filter(|iops| *iops > most) {
        return Err(contradict(&format!(
            "iops is {iops}, and only writes_per_second = {writes_per_second} are offered"
        )));
    }
    let Some(rate) = value("rate") else { return Ok(()) };
    let (writes, told) = (rate / SMALL as f64, megabytes(rate));
    if writes > most {
        return Err(contradict(&format!(
            "rate is {told}, which are {writes:.0} writes of 4 KiB a second, and only writes_per_second = \
             {writes_per_second} are offered"
        )));
    }
    match value("iops").filter(|iops| (writes / iops - 1.0).abs() > LITTLE) {
        Some(iops) => Err(contradict(&format!(
            "rate is {told}, which are {writes:.0} writes of 4 KiB a second, and iops is {iops}"
        ))),
        None => Ok(()),
    }
}

fn megabytes(rate: f64) -> String {
    format!("{:.1} MB/s", rate / 1e6)
}

/// Percentiles rise, and a mean is at least what its percentiles make it.
fn latencies_rise(experiment: &Experiment) -> Result<(), String> {
    let value = |name: &str| experiment.measured.get(name).copied();
    for prefix in ["", "read.", "write."] {
        let order = PERCENTILES.map(|name| format!("{prefix}{name}"));
        let there: Vec<(&String, f64)> = order.iter().filter_map(|name| Some((name, value(name)?))).collect();
        for pair in there.windows(2) {
            if pair[0].1 > pair[1].1 {
                let [less, more] = [pair[0], pair[1]].map(|(name, value)| (name, value / 1e3));
                return Err(contradict(&format!(
                    "{} is above {}: {:.1} us and {:.1} us",
                    less.0, more.0, less.1, more.1
                )));
            }
        }
        let mean = format!("{prefix}mean");
        // As many requests as lie above a percentile take that long or longer.
        for (name, above) in MAKE_A_MEAN {
            let name = format!("{prefix}{name}");
            if let (Some(mean_ns), Some(least)) = (value(&mean), value(&name))
                && mean_ns < 0.99 * above * least
            {
                return Err(contradict(&format!(
                    "{mean} is {:.1} us, and {name} alone makes it {:.1} us or more",
                    mean_ns / 1e3,
                    above * least / 1e3
                )));
            }
        }
    }
    Ok(())
}

/// Requests under way = requests a second x mean latency, which of a mix is the mean over its reads and writes.
fn follows_littles_law(experiment: &Experiment, op: Op, depth: u32, size: u64) -> Result<(), String> {
    let value = |name: &str| experiment.measured.get(name).copied();
    let us = |ns: f64| format!("{:.1} us", ns / 1e3);
    if let (Some(iops), Some(rate)) = (value("iops"), value("rate"))
        && (iops * size as f64 / rate - 1.0).abs() > LITTLE
    {
        let made = megabytes(iops * size as f64);
        return Err(contradict(&format!(
            "iops times {size} bytes is not rate: {iops} a second make {made}, and rate is {}",
            megabytes(rate)
        )));
    }
    let of_kinds = mean_of_kinds(experiment, op);
    if let (Some(mean), Some((weighted, how))) = (value("mean"), &of_kinds)
        && (mean / weighted - 1.0).abs() > LITTLE
    {
        return Err(contradict(&format!("mean is {}, and {how} make it {}", us(mean), us(*weighted))));
    }
    let per_second = value("iops").or_else(|| value("rate").map(|rate| rate / size as f64));
    let mean = value("mean").map(|mean| (mean, String::new()));
    let mean = mean.or_else(|| of_kinds.map(|(mean, how)| (mean, format!(" ({how})"))));
    let Some(per_second) = per_second else { return Ok(()) };
    let Some((mean, how)) = mean else { return stays_below_the_depth(experiment, op, depth, per_second) };
    let under_way = per_second * mean / 1e9;
    if (under_way / f64::from(depth) - 1.0).abs() > LITTLE {
        return Err(contradict(&format!(
            "{per_second:.0} requests a second of {} each{how} are {under_way:.2} at a time, and depth is {depth}",
            us(mean)
        )));
    }
    Ok(())
}

/// Where the mean of all requests is not stated: what is stated of some of them is no more than the depth has room for.
fn stays_below_the_depth(experiment: &Experiment, op: Op, depth: u32, per_second: f64) -> Result<(), String> {
    let reads = op.reads();
    let by_kind = [("read.", reads), ("write.", 1.0 - reads)].into_iter().filter(|(_, share)| *share > 0.0);
    let (mut least, mut how) = (0.0, Vec::new());
    for (prefix, share) in by_kind.filter(|_| op != Op::Commit) {
        let Some((mean, told)) = least_mean(experiment, prefix) else { continue };
        least += share * mean;
        how.push(if share < 1.0 { format!("{:.0} % of them with {told}", share * 100.0) } else { told });
    }
    let of_all = least_mean(experiment, "").filter(|(mean, _)| *mean > least);
    if let Some((mean, told)) = of_all {
        (least, how) = (mean, vec![told]);
    }
    let under_way = per_second * least / 1e9;
    if under_way <= f64::from(depth) * (1.0 + LITTLE) {
        return Ok(());
    }
    let how = how.join(" and ");
    Err(contradict(&format!(
        "{per_second:.0} requests a second, {how}, are {under_way:.2} or more at a time, and depth is {depth}"
    )))
}

/// The least that the mean of the latencies with this prefix can be, ns, and the figure that says so.
pub(crate) fn least_mean(experiment: &Experiment, prefix: &str) -> Option<(f64, String)> {
    let value = |name: &str| experiment.measured.get(format!("{prefix}{name}").as_str()).copied();
    let told = |name: &str, ns: f64| format!("{prefix}{name} {:.1} us", ns / 1e3);
    if let Some(mean) = value("mean") {
        return Some((mean, told("mean", mean)));
    }
    let made = MAKE_A_MEAN.into_iter().filter_map(|(name, above)| {
        let ns = value(name)?;
        Some((above * ns, told(name, ns)))
    });
    made.max_by(|a, b| a.0.total_cmp(&b.0))
}

/// The mean latency of all requests from those of reads and writes, and how, in words; `None`: one is not there, or a
/// request is both.
fn mean_of_kinds(experiment: &Experiment, op: Op) -> Option<(f64, String)> {
    let reads = op.reads();
    let kinds = [("read.mean", reads), ("write.mean", 1.0 - reads)].into_iter().filter(|(_, share)| *share > 0.0);
    let (mut mean, mut how) = (0.0, Vec::new());
    for (name, share) in kinds.filter(|_| op != Op::Commit) {
        let ns = experiment.measured.get(name)?;
        mean += share * ns;
        how.push(format!("{:.0} % of {name} {:.1} us", share * 100.0, ns / 1e3));
    }
    (!how.is_empty()).then(|| (mean, how.join(" and ")))
}

/// Whether a fill can be one of a drive of `capacity` bytes.
/// Errors: its phases do not fit into the drive, or its mean rate does not fit its phases.
pub(crate) fn fits_the_drive(experiment: &Experiment, capacity: u64) -> Result<(), String> {
    if !matches!(experiment.work, Work::Fill { .. }) {
        return Ok(());
    }
    let value = |name: &str| experiment.measured.get(name).copied();
    let capacity = capacity as f64;
    let ends = ["phase1.until", "phase2.until"].map(value);
    for (name, end) in ["phase1.until", "phase2.until"].iter().zip(ends) {
        if end.is_some_and(|end| end > capacity) {
            return Err(contradict(&format!(
                "{name} is {:.0} GB, and the capacity is {:.0} GB",
                end.unwrap_or_default() / 1e9,
                capacity / 1e9
            )));
        }
    }
    if let [Some(first), Some(second)] = ends
        && first > second
    {
        let [first, second] = [first, second].map(|end| end / 1e9);
        return Err(contradict(&format!("phase1.until is above phase2.until: {first:.1} GB and {second:.1} GB")));
    }
    let Some((whole, expected)) = value("whole.rate").zip(rate_of_phases(experiment, capacity as u64)) else {
        return Ok(());
    };
    if (whole / expected - 1.0).abs() > BY_EYE {
        return Err(contradict(&format!(
            "the phases make {:.0} MB/s over the whole drive, and whole.rate is {:.0} MB/s",
            expected / 1e6,
            whole / 1e6
        )));
    }
    Ok(())
}

/// The mean rate over the whole drive that the phases of a fill make, bytes a second; `None`: they do not tell all.
pub(crate) fn rate_of_phases(experiment: &Experiment, capacity: u64) -> Option<f64> {
    let value = |name: &str| experiment.measured.get(name).copied();
    let (mut from, mut seconds) = (0.0, 0.0);
    for number in 1..=3 {
        let rate = value(&format!("phase{number}.rate"))?;
        let until = value(&format!("phase{number}.until"));
        seconds += (until.unwrap_or(capacity as f64) - from) / rate;
        from = until.unwrap_or_default();
        if until.is_none() {
            return Some(capacity as f64 / seconds);
        }
    }
    None
}

impl MeasuredDrive {
    /// Why no drive can have the figures of all experiments, each by itself and all together; `None`: one can.
    pub fn contradiction(&self) -> Option<String> {
        let own = self.experiments.iter().enumerate().find_map(|(number, experiment)| {
            let agrees = agrees_with_itself(experiment).and_then(|()| fits_the_drive(experiment, self.capacity));
            agrees.err().map(|problem| format!("{}: {problem}", self.place(number)))
        });
        own.or_else(|| self.agrees(&|number| self.place(number)).err().map(|(_, problem)| problem))
    }

    /// Where an experiment stands: its number from 1, and its line if it has one.
    pub(crate) fn place(&self, number: usize) -> String {
        let line = self.experiments[number].line;
        let line = if line > 0 { format!(" (line {line})") } else { String::new() };
        format!("experiment {}{line}", number + 1)
    }

    /// What messages call an experiment: its title, and its place where others have the same title.
    pub fn titled(&self, number: usize) -> String {
        let title = self.experiments[number].title();
        let is_alone = self.experiments.iter().filter(|other| other.title() == title).count() == 1;
        if is_alone { format!("\"{title}\"") } else { format!("\"{title}\", {},", self.place(number)) }
    }

    /// Whether experiments can be of one drive: no latency of half of the requests or more is shorter than the host's
    /// share of it, an experiment that is stated twice has about the same figures in whatever form, and harder work
    /// takes no less time ([`crate::orderings`]). `place` is what messages call an experiment.
    /// Errors: two of them contradict each other, or one its source: the number of the last, and why.
    pub(crate) fn agrees(&self, place: &dyn Fn(usize) -> String) -> Result<(), (usize, String)> {
        let all = &self.experiments;
        let told = |number: usize| format!("in {}, \"{}\"", place(number), all[number].title());
        for second in 0..all.len() {
            if let Some(problem) = self.below_the_host(second) {
                return Err((second, contradict(&format!("{problem} {}", told(second)))));
            }
            for first in 0..second {
                let problem = self.differ(first, second).or_else(|| self.out_of_order([&all[first], &all[second]]));
                if let Some(Differ { values: [one, other], why }) = problem {
                    let told = format!("{one} {}, and {other} {}: {why}", told(first), told(second));
                    return Err((second, contradict(&told)));
                }
            }
        }
        Ok(())
    }

    /// A mean or percentile that is not longer than the time the measuring host adds to it. Single requests may meet a
    /// host that is faster than usual.
    fn below_the_host(&self, number: usize) -> Option<String> {
        let experiment = &self.experiments[number];
        let host_ns = self.host_ns(experiment) as f64;
        let is_below = |(name, value): &(&&'static str, &f64)| {
            // Percentiles are told in whole microseconds, and a fast request takes less than one.
            let is_short = if name.ends_with("mean") { **value <= host_ns } else { **value < host_ns };
            is_time(name) && !name.ends_with("min") && is_short
        };
        let (name, value) = experiment.measured.iter().find(is_below)?;
        let (host, value) = (spoken(name, host_ns), spoken(name, *value));
        Some(format!(
            "host_time of source `{}` is {host}, and {name}, which includes it, is {value}",
            experiment.source
        ))
    }

    /// Figures that two statements of one experiment have with clearly different values: of one name, of requests a
    /// second and a latency that are two forms of one figure, or percentiles in the wrong order.
    fn differ(&self, first: usize, second: usize) -> Option<Differ> {
        let [one, other] = [first, second].map(|number| &self.experiments[number]);
        if one.work != other.work {
            return None;
        }
        let both = |name: &&'static str| one.measured.contains_key(name) && other.measured.contains_key(name);
        let apart = |name: &'static str, values: [f64; 2], told: [String; 2]| {
            let is_apart = |[here, there]: [f64; 2]| here.max(there) / here.min(there) > most_apart(name, [one, other]);
            // What the measuring host adds may differ.
            let is_told =
                if is_time(name) { self.of_the_drive([one, other], values, is_apart) } else { is_apart(values) };
            is_told.then_some(Differ { values: told, why: "both state the same experiment" })
        };
        let direct = one.measured.keys().copied().filter(both).find_map(|name| {
            let values = [one, other].map(|experiment| experiment.measured[name]);
            let [here, there] = values.map(|value| spoken(name, value));
            apart(name, values, [format!("{name} is {here}"), there])
        });
        let in_two_forms = || {
            // Where both have one form in common, that has been compared.
            if ["iops", "rate", "mean"].iter().any(both) {
                return None;
            }
            let (name, here, how) = implied(one)?;
            let (_, there, its) = implied(other)?;
            let told =
                [(here, how), (there, its)].map(|(value, how)| format!("{name} is {}{how}", spoken(name, value)));
            apart(name, [here, there], told)
        };
        let crossed = || {
            let pairs = [[one, other], [other, one]];
            let found = pairs.iter().position(|[low, high]| self.crossed(low, high).is_some())?;
            let [low, high] = self.crossed(pairs[found][0], pairs[found][1])?;
            let values = if found == 0 { [low, high] } else { [high, low] };
            Some(Differ { values, why: "both state the same experiment, and percentiles rise" })
        };
        let below = || {
            let told = self.below(one, other).or_else(|| self.below(other, one).map(|[mean, other]| [other, mean]))?;
            Some(Differ {
                values: told,
                why: "both state the same experiment, and a mean is what all requests make it",
            })
        };
        direct.or_else(in_two_forms).or_else(crossed).or_else(below)
    }

    /// Whether something is so of latencies of two experiments, ns, without what their hosts add. A source without a
    /// `host_time` may include it or not: beside one that states it, it has to be so either way.
    pub(crate) fn of_the_drive(
        &self,
        pair: [&Experiment; 2],
        values: [f64; 2],
        is_so: impl Fn([f64; 2]) -> bool,
    ) -> bool {
        let hosts = pair.map(|experiment| self.host_ns(experiment) as f64);
        let without = |hosts: [f64; 2]| [0, 1].map(|at| (values[at] - hosts[at]).max(1.0));
        let is_open = (hosts[0] > 0.0) != (hosts[1] > 0.0);
        is_so(without(hosts)) && (!is_open || is_so(without([0.0; 2])))
    }

    /// A mean of one statement that is clearly below what a percentile of another one alone makes it: both in words.
    fn below(&self, low: &Experiment, high: &Experiment) -> Option<[String; 2]> {
        ["", "read.", "write."].into_iter().find_map(|prefix| {
            let (mean, how) = if prefix.is_empty() {
                let (name, mean, how) = implied(low)?;
                (name == "mean").then_some((mean, how))?
            } else {
                (*low.measured.get(format!("{prefix}mean").as_str())?, String::new())
            };
            MAKE_A_MEAN.into_iter().find_map(|(name, above)| {
                let name = format!("{prefix}{name}");
                let value = *high.measured.get(name.as_str())?;
                let most = most_apart("mean", [low, high]);
                let is_below =
                    self.of_the_drive([low, high], [mean, value], |[mean, value]| above * value > most * mean);
                is_below.then(|| {
                    let mean = spoken("mean", mean);
                    [format!("{prefix}mean is {mean}{how}"), format!("{name} is {}", spoken(&name, value))]
                })
            })
        })
    }

    /// A percentile of one statement that is clearly above a higher one of another statement: both in words.
    fn crossed(&self, low: &Experiment, high: &Experiment) -> Option<[String; 2]> {
        let value = |experiment: &Experiment, name: &str| experiment.measured.get(name).copied();
        ["", "read.", "write."].into_iter().find_map(|prefix| {
            let order = PERCENTILES.map(|name| format!("{prefix}{name}"));
            let pairs = (0..order.len()).flat_map(|at| (at + 1..order.len()).map(move |above| (at, above)));
            pairs.into_iter().find_map(|(at, above)| {
                let values = [value(low, &order[at])?, value(high, &order[above])?];
                let is_crossed = self.of_the_drive([low, high], values, |[less, more]| less > APART[0] * more);
                let told = |at: usize, value: f64| format!("{} is {}", order[at], spoken(&order[at], value));
                is_crossed.then(|| [told(at, values[0]), told(above, values[1])])
            })
        })
    }
}

/// Whether a figure is a latency.
pub(crate) fn is_time(name: &str) -> bool {
    figure::find(name).is_ok_and(|figure| figure.unit == Unit::Time)
}

/// Requests a second, as stated or from the bytes a second.
pub(crate) fn per_second(experiment: &Experiment) -> Option<(f64, String)> {
    let size = match experiment.work {
        Work::Closed { size, .. } => size,
        Work::Offered { .. } => SMALL,
        Work::Amplification { .. } | Work::Transient { .. } | Work::Fill { .. } => return None,
    };
    let value = |name: &str| experiment.measured.get(name).copied();
    value("iops").map(|iops| (iops, String::new())).or_else(|| {
        let rate = value("rate")?;
        Some((rate / size as f64, format!(" (rate is {})", megabytes(rate))))
    })
}

/// The figure that all forms of an experiment's speed can be told as, and how it comes from what is stated: the mean
/// latency of a closed loop, and the requests a second of writes that are offered.
pub(crate) fn implied(experiment: &Experiment) -> Option<(&'static str, f64, String)> {
    let Work::Closed { op, depth, .. } = experiment.work else {
        return per_second(experiment).map(|(iops, how)| ("iops", iops, how));
    };
    if let Some(mean) = experiment.measured.get("mean") {
        return Some(("mean", *mean, String::new()));
    }
    if let Some((mean, how)) = mean_of_kinds(experiment, op) {
        return Some(("mean", mean, format!(" ({how})")));
    }
    let (iops, _) = per_second(experiment)?;
    Some(("mean", f64::from(depth) * 1e9 / iops, format!(" ({iops:.0} requests a second, depth {depth})")))
}

/// How many times one value of a figure may be the other: no drive is within the bands of both beyond that.
pub(crate) fn most_apart(name: &str, experiments: [&Experiment; 2]) -> f64 {
    let bands = experiments.map(|experiment| experiment.band(name));
    match bands {
        [Some(one), Some(other)] => {
            let [one, other] = [one, other].map(|band| band.max(LEAST_BAND));
            (1.0 + one) / (1.0 - other).max(0.1)
        }
        _ => APART[usize::from(name.contains("p999"))],
    }
}

/// Figures of two experiments that no drive can have: the one of each in words.
pub(crate) struct Differ {
    pub values: [String; 2],
    pub why: &'static str,
}

/// A value for people.
pub(crate) fn spoken(name: &str, value: f64) -> String {
    figure::find(name).map_or_else(|_| value.to_string(), |figure| figure.spoken(value))
}
