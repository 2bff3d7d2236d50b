//! A doubt about the latencies of a drive that fell behind its load.

use crate::DrivePlan;
use metrics::{Behind, RunResult, Status};
use units::{HostOp, Nanos, quantity};

/// The doubt, if the queue of an open loop grew until the last requests arrived, or never drained. `last_arrival`: when
/// the last request arrived, since the run began; `None`: a closed loop.
pub(super) fn note(plan: &DrivePlan, result: &RunResult, last_arrival: Option<Nanos>) -> Option<String> {
    let last_arrival = last_arrival.filter(|_| plan.is_timed() && result.status == Status::Complete)?;
    let scale = plan.config.values.real("workload.time_scale");
    let highest = "workload.loop = closed measures the highest rate.";
    Some(match metrics::behind(result, last_arrival)? {
        Behind::Grows { share, arrived, served } => {
            let moved = |op: HostOp| result.host[op.index()].bytes;
            let bytes = moved(HostOp::Read) + moved(HostOp::Write) + result.unwritten.totals.bytes;
            let rate = |time: Nanos| quantity::format_rate(three_digits(share * bytes as f64 * 1e9 / time as f64));
            format!(
                "Doubt: the load is more than the drive takes, and its queue grew until the last requests arrived: on \
                 average the host offers {}, and the drive serves {}. The latencies tell the length of the run, not \
                 the speed of the drive. For a steady load that the drive takes, set workload.time_scale above \
                 {:.2}; a load with bursts needs more. {highest}",
                rate(arrived),
                rate(served),
                scale * served as f64 / arrived as f64
            )
        }
        Behind::Stands { waiting } => format!(
            "Doubt: the load is about as much as the drive takes: in the second half of the requests its queue never \
             drained, and {waiting} requests waited on average. The latencies depend on the length of the run. For a \
             load that the drive takes with ease, set workload.time_scale to {:.2} or more. {highest}",
            scale * LESS
        ),
    })
}

/// Times as long between requests from which on a queue that only just stood drains soon.
const LESS: f64 = 1.25;

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
