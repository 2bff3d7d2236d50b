//! Whether a drive fell behind its load.
//!
//! In an open loop requests arrive whatever the drive does. If it serves them more slowly, the queue grows until the
//! last request arrives, and latencies tell the length of the run. Protects: nobody takes such latencies for those of
//! a drive that keeps pace with its load.

use crate::series::Sample;
use units::Nanos;

/// A drive that works this many times as long as requests arrive may have fallen behind.
const STRETCHED: f64 = 1.02;
/// Intervals in which requests completed that it takes to tell a growing queue from chance.
const LEAST_INTERVALS: usize = 8;
/// Mean latency in the last quarter of the requests over that in each quarter of the first half, and in the third
/// quarter, at least. Where a queue grows evenly from the first request on, these are 7 and 2.3, and 1.4.
const GROWTH: f64 = 2.0;
const LATE_GROWTH: f64 = 1.2;

/// How many times as long as requests arrived the drive took to serve them, if its queue grew until the last one
/// arrived. `samples`: of the whole run; `arrivals`: when the last request arrived; `end`: when the last one
/// completed, both since the run began, ns.
pub fn behind(samples: &[Sample], arrivals: Nanos, end: Nanos) -> Option<f64> {
    let times = end as f64 / arrivals as f64;
    if arrivals == 0 || times < STRETCHED {
        return None;
    }
    let completed = |sample: &Sample| sample.requests[..2].iter().sum::<u64>();
    let all: u64 = samples.iter().map(completed).sum();
    if samples.iter().filter(|sample| completed(sample) > 0).count() < LEAST_INTERVALS {
        return None;
    }
    let (mut quarters, mut before) = ([(0, 0); 4], 0);
    for sample in samples {
        let (requests, latency) = (completed(sample), sample.latency_sum.iter().sum::<u64>());
        let (count, sum) = &mut quarters[((before + requests / 2) * 4 / all).min(3) as usize];
        (*count, *sum) = (*count + requests, *sum + latency);
        before += requests;
    }
    let [first, second, third, last] = quarters.map(|(count, sum)| sum as f64 / f64::max(count as f64, 1.0));
    // A burst that ends before the last request arrives leaves less work than its own requests waited.
    let is_left = (end - arrivals) as f64 >= last;
    (is_left && last >= GROWTH * first.max(second) && last >= LATE_GROWTH * third).then_some(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grows(samples: &[Sample], arrivals: Nanos, end: Nanos) -> bool {
        behind(samples, arrivals, end).is_some()
    }

    /// Requests that complete one after the other, a microsecond apart, with these latencies, in intervals of ten.
    fn samples(latencies: &[Nanos]) -> Vec<Sample> {
        let sample = |some: &[Nanos]| Sample {
            requests: [0, some.len() as u64, 0, 0],
            latency_sum: [0, some.iter().sum()],
            ..Sample::default()
        };
        latencies.chunks(10).map(sample).collect()
    }

    #[test]
    fn a_queue_that_grows_to_the_end_is_told_from_latencies_that_do_not() {
        let end = 1_000_000;
        let grown = |offered: f64| -> Vec<Nanos> {
            (0..1000).map(|done| 500 + (f64::from(done) * 1000.0 * offered) as u64).collect()
        };
        // A drive that serves 95, 50 and 1 per cent of its load.
        for left in [0.05, 0.5, 0.99] {
            assert!(grows(&samples(&grown(left)), (end as f64 * (1.0 - left)) as u64, end), "{left}");
        }
        // A cache that is used up after two thirds.
        let late: Vec<Nanos> = (0..1000_u64).map(|done| 500 + done.saturating_sub(666) * 1000).collect();
        assert!(grows(&samples(&late), 666_000, end));
        let even = samples(&[80_000; 1000]);
        assert!(!grows(&even, end - 80_000, end), "all wait alike");
        assert!(!grows(&samples(&grown(0.01)), end * 99 / 100, end), "it keeps pace");
        let burst: Vec<Nanos> =
            (0..1000_u64).map(|done| if (800..950).contains(&done) { 300_000 } else { 500 }).collect();
        assert!(!grows(&samples(&burst), end - 25_000, end), "the burst was served before the end");
        assert!(!grows(&samples(&grown(0.5)[..50]), end / 2, end), "too few");
        assert!(!grows(&samples(&grown(1.0)), 0, end), "all arrive at once");
    }
}
