//! A doubt about the latencies of a drive that fell behind its load.

use crate::DrivePlan;
use metrics::{Behind, RunResult, Status};
use units::{HostOp, Nanos, quantity};

/// The doubt, if the queue of an open loop grew until the last requests arrived, or never drained. `last_arrival`: when
/// the last request arrived, since the run began; `None`: a closed loop.
pub(super) fn note(plan: &DrivePlan, result: &RunResult, last_arrival: Option<Nanos>) -> Option<String> {
    let last_arrival = last_arrival.filter(|_| plan.is_timed() && result.status == Status::Complete)?;
    let scale = plan.config.values.real("workload.time_scale");
    let eased = |peak: f64| format!("set workload.time_scale to {:.2} or more", scale * peak * LESS);
    let highest = "workload.loop = closed measures the highest rate.";
    let moved = |op: HostOp| result.host[op.index()].bytes;
    let bytes = moved(HostOp::Read) + moved(HostOp::Write) + result.unwritten.totals.bytes;
    let rate = |share: f64, time: Nanos| spoken(share * bytes as f64 * 1e9 / time as f64);
    Some(match metrics::behind(result, last_arrival)? {
        Behind::Grows { share, arrived, served, peak } => {
            let steepest = served as f64 / arrived as f64;
            let at_peak = if peak > RAMP * steepest {
                format!(" ({peak:.1} times as much as the drive serves, where that is most)")
            } else {
                String::new()
            };
            let which = if share < MOST {
                format!("{:.0} % of the requests arrived in one go, and the queue grew until their last", share * 100.0)
            } else {
                "its queue grew until the last requests arrived".to_owned()
            };
            format!(
                "Doubt: the load is more than the drive takes, and {which}: on average the host offers {}{at_peak}, \
                 and the drive serves {}. The latencies tell the length of the run, not the speed of the drive. For a \
                 load that the drive takes with ease, {}; {highest}",
                rate(share, arrived),
                rate(share, served),
                eased(peak.max(steepest))
            )
        }
        Behind::AtOnce { share, served } => {
            let which = if share < MOST { format!("{:.0} % of the", share * 100.0) } else { "all".to_owned() };
            format!(
                "Doubt: {which} requests arrive at once, and the drive serves {}. The latencies tell the length of the \
                 run, not the speed of the drive. {highest}",
                rate(share, served)
            )
        }
        Behind::Stands { waiting, peak } => format!(
            "Doubt: the load is about as much as the drive takes: in the second half of the requests its queue never \
             drained, and {waiting} requests waited on average. The latencies depend on the length of the run. For a \
             load that the drive takes with ease, {}; {highest}",
            eased(peak)
        ),
    })
}

/// Times as long between requests as the drive takes to serve them, from which on its queue drains soon. In a short run
/// a drive serves more than later, when all its dies collect.
const LESS: f64 = 2.0;
/// A load whose peak is so many times its mean is told with both.
const RAMP: f64 = 1.2;
/// From this share of the requests on they are told as all.
const MOST: f64 = 0.9;

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
