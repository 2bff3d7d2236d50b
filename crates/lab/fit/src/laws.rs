//! Laws that hold on every drive: figures that break one are a mistake of the file.

use crate::measured::{Experiment, MeasuredDrive, Op, Work};

/// How far requests a second times their mean latency may be from their number.
const LITTLE: f64 = 0.10;
/// How many times fewer requests a second a drive may answer at a larger depth: reads, and what is written beside
/// them, which may meet a full cache or collection there.
const FEWER: [f64; 2] = [1.5, 4.0];
/// How far the mean rate of a fill may be from what its phases give: both are read from graphs.
const BY_EYE: f64 = 0.35;
/// More writes a second than were offered, as chance has it.
const CHANCE: f64 = 1.05;

/// Whether the figures of one experiment can all be true.
/// Errors: they cannot: which, and why.
pub(crate) fn agrees_with_itself(experiment: &Experiment) -> Result<(), String> {
    latencies_rise(experiment)?;
    let value = |name: &str| experiment.measured.get(name).copied();
    if value("waf").is_some_and(|waf| waf < 1.0) {
        return Err("waf is below 1: less would be written to flash than the host writes".to_owned());
    }
    match experiment.work {
        Work::Closed { depth, size, .. } => follows_littles_law(experiment, depth, size),
        Work::Offered { writes_per_second, .. } => match value("iops") {
            Some(iops) if iops > CHANCE * writes_per_second => Err(format!(
                "the figures contradict each other: iops is {iops}, and only writes_per_second = {writes_per_second} \
                 are offered"
            )),
            _ => Ok(()),
        },
        Work::Transient { .. } => {
            for (low, high, what) in
                [("low", "plateau", "the lowest rate"), ("low", "steady", "the lowest rate"), ("onset", "low_at", "")]
            {
                if let (Some(less), Some(more)) = (value(low), value(high))
                    && less > 1.1 * more
                {
                    let what = if what.is_empty() { "the rate is lowest behind the onset" } else { what };
                    return Err(format!("the figures contradict each other: {low} is above {high}; {what}"));
                }
            }
            Ok(())
        }
        Work::Fill { .. } | Work::Amplification { .. } => Ok(()),
    }
}

/// Percentiles rise, and a mean is at least what its percentiles make it.
fn latencies_rise(experiment: &Experiment) -> Result<(), String> {
    let value = |name: &str| experiment.measured.get(name).copied();
    for prefix in ["", "read.", "write."] {
        let order = ["min", "p50", "p99", "p999", "p99999"].map(|name| format!("{prefix}{name}"));
        let there: Vec<(&String, f64)> = order.iter().filter_map(|name| Some((name, value(name)?))).collect();
        for pair in there.windows(2) {
            if pair[0].1 > pair[1].1 {
                return Err(format!("the figures contradict each other: {} is above {}", pair[0].0, pair[1].0));
            }
        }
        let mean = format!("{prefix}mean");
        // As many requests as lie above a percentile take that long or longer.
        for (name, above) in [("min", 1.0), ("p50", 0.5), ("p99", 0.01), ("p999", 0.001)] {
            let name = format!("{prefix}{name}");
            if let (Some(mean_ns), Some(least)) = (value(&mean), value(&name))
                && mean_ns < 0.99 * above * least
            {
                return Err(format!(
                    "the figures contradict each other: {mean} is {:.1} us, and {name} alone makes it {:.1} us or more",
                    mean_ns / 1e3,
                    above * least / 1e3
                ));
            }
        }
    }
    Ok(())
}

fn follows_littles_law(experiment: &Experiment, depth: u32, size: u64) -> Result<(), String> {
    let value = |name: &str| experiment.measured.get(name).copied();
    if let (Some(iops), Some(mean)) = (value("iops"), value("mean")) {
        let under_way = iops * mean / 1e9;
        if (under_way / f64::from(depth) - 1.0).abs() > LITTLE {
            return Err(format!(
                "the figures contradict each other: {iops} requests a second of {:.1} us each are {under_way:.2} at a \
                 time, and depth is {depth}",
                mean / 1e3
            ));
        }
    }
    if let (Some(iops), Some(rate)) = (value("iops"), value("rate"))
        && (iops * size as f64 / rate - 1.0).abs() > LITTLE
    {
        return Err(format!("the figures contradict each other: iops times {size} bytes is not rate"));
    }
    Ok(())
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
            return Err(format!(
                "the figures contradict each other: {name} is {:.0} GB, and the capacity is {:.0} GB",
                end.unwrap_or_default() / 1e9,
                capacity / 1e9
            ));
        }
    }
    if let [Some(first), Some(second)] = ends
        && first > second
    {
        return Err("the figures contradict each other: phase1.until is above phase2.until".to_owned());
    }
    let Some(whole) = value("whole.rate") else { return Ok(()) };
    let (mut from, mut seconds, mut is_whole) = (0.0, 0.0, false);
    for (rate, until) in [("phase1.rate", ends[0]), ("phase2.rate", ends[1]), ("phase3.rate", None)]
        .map(|(rate, end)| (value(rate), end))
    {
        let Some(rate) = rate else { break };
        is_whole = until.is_none();
        let until = until.unwrap_or(capacity);
        seconds += (until - from) / rate;
        from = until;
    }
    let expected = capacity / seconds;
    if is_whole && (whole / expected - 1.0).abs() > BY_EYE {
        return Err(format!(
            "the figures contradict each other: the phases make {:.0} MB/s over the whole drive, and whole.rate is \
             {:.0} MB/s",
            expected / 1e6,
            whole / 1e6
        ));
    }
    Ok(())
}

impl MeasuredDrive {
    /// Why no drive can have the figures of all experiments; `None`: one can.
    pub fn contradiction(&self) -> Option<String> {
        agree_with_each_other(&self.experiments).err().map(|(_, problem)| problem)
    }
}

/// Whether experiments can be of one drive: more requests at a time are not answered at a far smaller rate.
/// Errors: two of them contradict each other: the line of the second, and why.
pub(crate) fn agree_with_each_other(experiments: &[Experiment]) -> Result<(), (usize, String)> {
    let depth = |experiment: &Experiment| match experiment.work {
        Work::Closed { depth, .. } => Some(depth),
        _ => None,
    };
    let at_depth_1 = |experiment: &Experiment| match experiment.work {
        // What was done before may differ, as a drive is overwritten between two of them.
        Work::Closed { op, order, size, beside, area, .. } => {
            Some(Work::Closed { op, order, size, depth: 1, beside, area, overwrites: 0.0 })
        }
        _ => None,
    };
    for shallow in experiments {
        for deep in experiments.iter().filter(|deep| depth(deep) > depth(shallow)) {
            let is_alike = depth(shallow).is_some() && at_depth_1(shallow) == at_depth_1(deep);
            let (Some(few), Some(many)) = (shallow.measured.get("iops"), deep.measured.get("iops")) else { continue };
            let only_reads = matches!(deep.work, Work::Closed { op: Op::Read, .. });
            if is_alike && *few > FEWER[usize::from(!only_reads)] * many {
                return Err((
                    deep.line,
                    format!(
                        "the figures contradict each other: iops is {many} in \"{}\", and {few} in \"{}\" (line {}): \
                         more requests at a time are not answered so much more slowly",
                        deep.title(),
                        shallow.title(),
                        shallow.line
                    ),
                ));
            }
        }
    }
    Ok(())
}
