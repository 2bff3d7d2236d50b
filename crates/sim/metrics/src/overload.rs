//! Whether a drive fell behind its load, or only just kept pace with it.
//!
//! In an open loop requests arrive whatever the drive does. If it serves them more slowly, the queue grows, and
//! latencies tell the length of the run. If the drive takes just as much, the queue walks at random: its length depends
//! on the length of the run too. Protects: nobody takes such latencies for those of a drive that keeps pace.
//!
//! *Simplified*: a request that completes at some moment arrived its latency before, of which an interval has the mean.

use crate::RunResult;
use crate::series::Sample;
use units::Nanos;

/// Requests up to here are looked at, as a share of all: the last ones may come late, after a pause.
const COUNTED: f64 = 0.99;
/// From this share of the requests on, latencies tell how much work is left when the last ones arrive.
const LEFT: f64 = 0.94;
/// A drive that works this many times as long as requests arrive may have fallen behind.
const STRETCHED: f64 = 1.02;
/// Intervals in which requests completed that it takes to tell a growing queue from chance.
const LEAST_INTERVALS: usize = 8;
/// Mean latency in the last quarter of the requests over that in each quarter of the first half, and in the third
/// quarter, at least. Where a queue grows evenly from the first request on, these are 7 and 2.3, and 1.4.
const GROWTH: f64 = 2.0;
const LATE_GROWTH: f64 = 1.2;
/// Share of the intervals of the second half in which the queue never drained, from which on a drive is always full.
const ALWAYS: f64 = 0.95;
/// Requests that wait for each die on average where a queue stands.
const FOR_A_DIE: f64 = 4.0;

/// How a drive fell behind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Behind {
    /// Its queue grew until the last requests arrived: the drive served a share of all requests in `served` ns, and
    /// they arrived in `arrived` ns, both since the run began.
    Grows { share: f64, arrived: Nanos, served: Nanos },
    /// Its queue never drained in the second half of the requests, in which so many requests waited on average.
    Stands { waiting: u64 },
}

/// Whether the drive of a run in an open loop fell behind, and how; `None`: it kept pace, or the run was too short to
/// tell. `last_arrival`: when the last request arrived, ns since the run began; 0: all arrived at once.
pub fn behind(result: &RunResult, last_arrival: Nanos) -> Option<Behind> {
    let limit = result.config.get("host.queue_limit").and_then(|limit| limit.parse().ok());
    let run = Run {
        samples: &result.series.1,
        interval: result.series.0,
        end: result.sim_ns,
        last_arrival,
        dies: result.erases.len() as u64 / u64::from(result.shape.1.max(1)),
        limit: limit.unwrap_or(u64::MAX),
        tells_waits: result.has_causes(),
    };
    if last_arrival == 0 { None } else { run.grows().or_else(|| run.stands()) }
}

/// What a run tells of its queue.
struct Run<'a> {
    samples: &'a [Sample],
    /// Length of a sample, ns.
    interval: Nanos,
    /// When the last request completed, ns.
    end: Nanos,
    /// When the last request arrived, ns.
    last_arrival: Nanos,
    dies: u64,
    /// Requests at the drive at most.
    limit: u64,
    /// Whether samples have what requests waited for.
    tells_waits: bool,
}

/// Reads and writes that completed.
fn completed(sample: &Sample) -> u64 {
    sample.requests[..2].iter().sum()
}

fn latency(sample: &Sample) -> u64 {
    sample.latency_sum.iter().sum()
}

impl Run<'_> {
    fn grows(&self) -> Option<Behind> {
        if self.samples.iter().filter(|sample| completed(sample) > 0).count() < LEAST_INTERVALS {
            return None;
        }
        let [first, second, third, last, left] =
            [[0.0, 0.25], [0.25, 0.5], [0.5, 0.75], [0.75, COUNTED], [LEFT, COUNTED]].map(|share| self.mean(share));
        let middle = f64::midpoint(LEFT, COUNTED);
        let served = self.time_of(middle);
        let arrived = served - left;
        // A burst that ends before the last requests arrive leaves less work than its own requests waited.
        let grows = left >= last && last >= GROWTH * first.max(second) && last >= LATE_GROWTH * third;
        if !grows || served < STRETCHED * arrived {
            return None;
        }
        // A last request that came after nearly all were served tells nothing of the others.
        Some(if (self.last_arrival as f64) < served {
            Behind::Grows { share: 1.0, arrived: self.last_arrival, served: self.end }
        } else {
            Behind::Grows { share: middle, arrived: arrived.max(1.0) as u64, served: served as u64 }
        })
    }

    /// A queue that walks at random over so many requests is as long as the root of their number: no longer one is
    /// told from a drive that takes no more than its load. Where requests wait for single dies, more wait for each.
    fn stands(&self) -> Option<Behind> {
        let [from, to] = [0.5, COUNTED].map(|share| self.sample_of(share));
        let samples = self.samples.get(from..=to)?;
        let full = self.dies.clamp(1, self.limit);
        let is_full = |sample: &&Sample| sample.fewest.is_some_and(|fewest| u64::from(fewest) >= full);
        let always = samples.iter().filter(is_full).count() as f64 >= ALWAYS * samples.len() as f64;
        let requests: u64 = samples.iter().map(completed).sum();
        let waited = |sample: &Sample| if self.tells_waits { sample.waited.iter().sum() } else { latency(sample) };
        let waited: u64 = samples.iter().map(waited).sum();
        let waiting = waited as f64 / (samples.len() as f64 * self.interval as f64);
        let is_long = waiting >= (requests as f64).sqrt().max(FOR_A_DIE * self.dies as f64);
        (samples.len() >= LEAST_INTERVALS && always && is_long).then_some(Behind::Stands { waiting: waiting as u64 })
    }

    fn all(&self) -> u64 {
        self.samples.iter().map(completed).sum()
    }

    /// Mean latency of the requests from one share of all to another one, ns.
    fn mean(&self, [from, to]: [f64; 2]) -> f64 {
        let all = self.all() as f64;
        let (mut before, mut sum) = (0.0, 0.0);
        for sample in self.samples {
            let requests = completed(sample) as f64;
            let within = (before + requests).min(to * all) - f64::max(before, from * all);
            if within > 0.0 {
                sum += within / requests * latency(sample) as f64;
            }
            before += requests;
        }
        sum / ((to - from) * all).max(1.0)
    }

    /// The sample in which a share of all requests had completed.
    fn sample_of(&self, share: f64) -> usize {
        let wanted = share * self.all() as f64;
        let mut before = 0;
        let found = self.samples.iter().position(|sample| {
            before += completed(sample);
            before as f64 >= wanted
        });
        found.unwrap_or(0)
    }

    /// When a share of all requests had completed, ns since the run began.
    fn time_of(&self, share: f64) -> f64 {
        let at = self.sample_of(share);
        let before: u64 = self.samples[..at].iter().map(completed).sum();
        let within = (share * self.all() as f64 - before as f64) / completed(&self.samples[at]).max(1) as f64;
        let begin = at as f64 * self.interval as f64;
        let length = (self.end as f64 - begin).clamp(0.0, self.interval as f64);
        begin + within * length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Nanos = 10_000;

    /// Requests that complete one after the other, a microsecond apart, with these latencies, in intervals of ten.
    fn samples(latencies: &[Nanos]) -> Vec<Sample> {
        let sample = |some: &[Nanos]| Sample {
            requests: [0, some.len() as u64, 0, 0],
            latency_sum: [0, some.iter().sum()],
            ..Sample::default()
        };
        latencies.chunks(10).map(sample).collect()
    }

    fn run(samples: &[Sample]) -> Run<'_> {
        let end = samples.len() as u64 * INTERVAL;
        Run { samples, interval: INTERVAL, end, last_arrival: end, dies: 1, limit: 1024, tells_waits: false }
    }

    fn grows(latencies: &[Nanos]) -> bool {
        run(&samples(latencies)).grows().is_some()
    }

    /// Latencies of a drive that leaves a share of each arrival undone.
    fn grown(left: f64) -> Vec<Nanos> {
        (0..1000).map(|done| 500 + (f64::from(done) * 1000.0 * left) as u64).collect()
    }

    #[test]
    fn a_queue_that_grows_to_the_end_is_told_from_latencies_that_do_not() {
        // A drive that serves 95, 50 and 1 per cent of its load.
        for left in [0.05, 0.5, 0.99] {
            let samples = samples(&grown(left));
            let Some(Behind::Grows { share, arrived, served }) = run(&samples).grows() else { panic!("{left}") };
            let times = 1.0 / (1.0 - left);
            assert!((served as f64 / arrived as f64 / times - 1.0).abs() < 0.05, "{left}: {served} {arrived}");
            assert!((served as f64 / (share * 1e6) - 1.0).abs() < 0.01, "{left}: {served}");
            let exact = Run { last_arrival: ((1.0 - left) * 1e6) as u64, ..run(&samples) }.grows();
            let exactly = (1e6 / times) as u64;
            let is_exact = matches!(exact, Some(Behind::Grows { arrived, .. }) if arrived == exactly);
            assert!(is_exact || left < 0.1, "{left}: {exact:?}, and they arrived in {exactly} ns");
        }
        // A cache that is used up after two thirds.
        assert!(grows(&(0..1000_u64).map(|done| 500 + done.saturating_sub(666) * 1000).collect::<Vec<_>>()));
        assert!(!grows(&[80_000; 1000]), "all wait alike");
        assert!(!grows(&grown(0.01)), "it keeps pace");
        let burst: Vec<Nanos> =
            (0..1000_u64).map(|done| if (800..950).contains(&done) { 300_000 } else { 500 }).collect();
        assert!(!grows(&burst), "the burst was served before the end");
        assert!(!grows(&grown(0.5)[..50]), "too few");
        assert!(!grows(&[]), "nothing completed");
    }

    /// One request that came a second after the others took all doubt away.
    #[test]
    fn one_late_straggler_hides_no_growing_queue() {
        let mut samples = samples(&grown(0.5));
        samples.extend(vec![Sample::default(); 1000]);
        samples.push(Sample { requests: [0, 1, 0, 0], latency_sum: [0, 500], ..Sample::default() });
        assert!(run(&samples).grows().is_some());
    }

    fn stands(waiting: u64, fewest: u32, idle_every: usize) -> bool {
        let mut samples = samples(&vec![waiting * 1000; 40_000]);
        for (number, sample) in samples.iter_mut().enumerate() {
            sample.fewest = Some(if (number + 1).is_multiple_of(idle_every) { 0 } else { fewest });
        }
        let found = Run { dies: 4, ..run(&samples) }.stands();
        assert!(found.is_none_or(|found| found == Behind::Stands { waiting }), "{found:?}");
        found.is_some()
    }

    /// A load of 99 % of what the drive takes had latencies of 400 times the service, and no word.
    #[test]
    fn a_queue_that_never_drains_is_told() {
        assert!(stands(300, 20, 100));
        assert!(!stands(30, 20, 100), "a short queue says nothing of a run of 20,000 requests");
        assert!(!stands(300, 20, 10), "the drive is idle at times, between bursts");
        assert!(!stands(300, 3, 100), "a die has nothing to do");
    }
}
