//! A doubt about the latencies of a drive that fell behind its load.

use super::warm_up;
use crate::DrivePlan;
use metrics::{Backlog, Behind, RunResult, Status};
use units::{HostOp, Nanos, quantity};

/// The doubt about a run in an open loop, if its queue grew or never drained.
pub(super) fn note(plan: &DrivePlan, result: &RunResult) -> Option<String> {
    if !plan.is_timed() || result.status != Status::Complete {
        return None;
    }
    let scale = plan.config.values.real("workload.time_scale");
    let moved = |op: HostOp| result.host[op.index()].bytes;
    let bytes = moved(HostOp::Read) + moved(HostOp::Write) + result.unwritten.totals.bytes;
    Some(match metrics::behind(result)? {
        Behind::Grows(backlog) => grown(&backlog, bytes, scale),
        Behind::Drained { backlog, until } => drained(plan, &backlog, until, bytes),
        Behind::Stands { waiting, peak } => format!(
            "Doubt: the load is about as much as the drive takes: in the second half of the requests its queue never \
             drained, and {waiting} requests waited on average. The latencies depend on the length of the run. {}",
            eased(scale, peak)
        ),
    })
}

fn grown(backlog: &Backlog, bytes: u64, scale: f64) -> String {
    let Backlog { times, share, arrived, served, peak, burst, burst_arrived } = *backlog;
    let percent = |share: f64| if share < MOST { format!("{:.0} %", share * 100.0) } else { "all".to_owned() };
    let rate = |time: Nanos| spoken(share * bytes as f64 * 1e9 / time as f64);
    if burst >= BURST {
        let when = match (burst_arrived, times) {
            (0, 1) => "at one moment".to_owned(),
            (0, _) => format!("at {times} moments"),
            (time, _) => format!("within {}", quantity::format_duration(time)),
        };
        return format!(
            "Doubt: the requests come in a burst: {} of them arrive {when}, and the drive serves {} meanwhile. The \
             latencies tell the size of the burst, not the speed of the drive. They are right if your load has this \
             burst. No workload.time_scale ends it: workload.loop = closed runs the requests without their times.",
            percent(burst),
            rate(served)
        );
    }
    let steepest = served as f64 / arrived.max(1) as f64;
    let at_peak = if peak > RAMP * steepest {
        format!(" ({peak:.1} times as much as the drive serves, where that is most)")
    } else {
        String::new()
    };
    let which = match times {
        1 if share >= MOST => "its queue grew until the last requests arrived".to_owned(),
        1 => format!("its queue grew while {} of the requests arrived", percent(share)),
        _ => format!("its queue grew {times} times, while {} of the requests arrived", percent(share)),
    };
    format!(
        "Doubt: the load is more than the drive takes, and {which}: in this time the host offers {}{at_peak}, and the \
         drive serves {}. The latencies tell the length of the run, not the speed of the drive. {}",
        rate(arrived),
        rate(served),
        eased(scale, peak.max(steepest))
    )
}

/// The doubt about a run whose first requests met a slower drive than the others.
fn drained(plan: &DrivePlan, backlog: &Backlog, until: u64, bytes: u64) -> String {
    let Backlog { share, arrived, served, peak, .. } = *backlog;
    let rate = |time: Nanos| spoken(share * bytes as f64 * 1e9 / time as f64);
    let later = match warm_up::requests(plan) {
        0 => String::new(),
        before => format!("To measure only the later requests, set {} to {}. ", warm_up::KEY, before + until),
    };
    format!(
        "Doubt: the drive was too slow for its load at the begin: its queue grew while {:.0} % of the requests \
         arrived, and drained later. In this time the host offers {}, and the drive serves {}. The latencies mix both \
         times. {later}{}",
        share * 100.0,
        rate(arrived),
        rate(served),
        eased(plan.config.values.real("workload.time_scale"), peak)
    )
}

/// The advice for a load that is `peak` times as much as the drive serves.
fn eased(scale: f64, peak: f64) -> String {
    format!(
        "For a load that the drive takes with ease, set workload.time_scale to {:.2} or more; workload.loop = closed \
         measures the highest rate.",
        scale * peak * LESS
    )
}

/// Times as long between requests as the drive takes to serve them, from which on its queue drains soon. In a short run
/// a drive serves more than later, when all its dies collect.
const LESS: f64 = 2.0;
/// A load whose peak is so many times its mean is told with both.
const RAMP: f64 = 1.2;
/// From this share of the requests on they are told as all: the ends of a backlog are not counted.
const MOST: f64 = 0.85;
/// Share of all requests that a burst has to have for the doubt to be about it.
const BURST: f64 = 0.25;

/// A rate with three digits.
fn spoken(rate: f64) -> String {
    if rate >= 1.0 { quantity::format_rate(three_digits(rate)) } else { format!("{rate:.1e}B/s") }
}

/// A number rounded to three digits.
fn three_digits(number: f64) -> u64 {
    let grain = 10_f64.powf(number.max(1.0).log10().floor() - 2.0).max(1.0);
    ((number / grain).round() * grain) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_told_with_three_digits() {
        assert_eq!([0.2, 7.4, 1234.5, 98_765_432.0].map(three_digits), [0, 7, 1230, 98_800_000]);
    }
}
