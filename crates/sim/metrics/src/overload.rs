//! Whether a drive fell behind its load, or only just kept pace with it.
//!
//! In an open loop requests arrive whatever the drive does. If it serves them more slowly, the queue grows, and
//! latencies tell the length of the run. If the drive takes just as much, the queue walks at random: its length depends
//! on the length of the run too. Protects: nobody takes such latencies for those of a drive that keeps pace.
//!
//! *Simplified*: as many requests have completed of the first ones that arrived as completed at all.

use crate::RunResult;
use crate::series::Sample;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// Requests up to here are looked at, as a share of all: the last ones may come late, after a pause.
const COUNTED: f64 = 0.99;
/// From this share of the requests on, latencies tell how much work is left when the last ones arrive.
const LEFT: f64 = 0.94;
/// A drive that works this many times as long as requests arrive may have fallen behind.
const STRETCHED: f64 = 1.02;
/// Requests that it takes to tell a growing queue from chance.
const LEAST_REQUESTS: u64 = 100;
/// Intervals that it takes to tell a standing queue from chance.
const LEAST_INTERVALS: usize = 8;
/// Mean latency in the last quarter of the requests over that in each quarter of the first half, and in the third
/// quarter, at least. Where a queue grows evenly from the first request on, these are 7 and 2.3, and 1.4.
const GROWTH: f64 = 2.0;
const LATE_GROWTH: f64 = 1.2;
/// Share of the intervals of the second half in which the queue never drained, from which on a drive is always full.
const ALWAYS: f64 = 0.95;
/// Requests that wait for each die on average where a queue stands.
const FOR_A_DIE: f64 = 4.0;
/// Share of all requests that a time without a pause has to have for its queue to be told, where others come after it.
const MOST_OF_ALL: f64 = 0.5;
/// Parts of the requests in which the load is compared with what the drive serves: a ramp is steep at its end.
const PARTS: usize = 8;
/// A drive that works so many times as long as requests arrive has some of them all at once: no time tells their load.
const AT_ONCE: f64 = 1000.0;
/// Laps that are kept.
const LAPS: usize = 512;

/// How a drive fell behind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Behind {
    /// Its queue grew until the last of a share of all requests had arrived: the drive served them in `served` ns, and
    /// they arrived in `arrived` ns. Where the load was highest it worked `peak` times as long as requests arrived.
    Grows { share: f64, arrived: Nanos, served: Nanos, peak: f64 },
    /// The same of a share of all requests that arrived all at once, served in so many ns.
    AtOnce { share: f64, served: Nanos },
    /// Its queue never drained in the second half of the requests, in which so many requests waited on average. `peak`
    /// is that of a growing queue.
    Stands { waiting: u64, peak: f64 },
}

/// Some reads and writes in the order in which they completed.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Lap {
    requests: u64,
    /// Sum of their latencies, ns.
    latency: u64,
    /// When the last one completed, ns since the run began.
    end: Nanos,
    /// At some moment no request was under way.
    has_drained: bool,
}

/// The course of a run by its requests, and not by time: a long pause takes no detail from the rest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Course {
    laps: Vec<Lap>,
    current: Lap,
    /// Requests of a lap.
    length: u64,
    /// When every so many of them arrived, the first one too, ns since the run began.
    arrivals: Vec<Nanos>,
    stride: u64,
    arrived: u64,
    last_arrival: Nanos,
}

impl Default for Course {
    fn default() -> Self {
        let (laps, current, arrivals) = (Vec::new(), Lap::default(), Vec::new());
        Self { laps, current, length: 1, arrivals, stride: 1, arrived: 0, last_arrival: 0 }
    }
}

impl Course {
    /// A read or write completed.
    #[inline]
    pub fn record(&mut self, latency: Nanos, now: Nanos) {
        self.current.requests += 1;
        self.current.latency += latency;
        self.current.end = now;
        if self.current.requests >= self.length {
            self.close();
        }
    }

    /// The next request arrives, in the order of their arrivals, whatever it is.
    #[inline]
    pub fn arrives(&mut self, at: Nanos) {
        // A power of two.
        if self.arrived & (self.stride - 1) == 0 {
            self.arrivals.push(at);
            if self.arrivals.len() == LAPS {
                self.arrivals = self.arrivals.iter().copied().step_by(2).collect();
                self.stride *= 2;
            }
        }
        self.arrived += 1;
        self.last_arrival = at;
    }

    /// When a share of all requests had arrived, ns.
    fn arrival_of(&self, share: f64) -> f64 {
        let place = share * self.arrived as f64 / self.stride as f64;
        let at = |place: usize| self.arrivals.get(place).copied().unwrap_or(self.last_arrival) as f64;
        let before = place as usize;
        at(before) + place.fract() * (at(before + 1) - at(before))
    }

    /// No request is under way.
    #[inline]
    pub fn drained(&mut self) {
        match (self.current.requests, self.laps.last_mut()) {
            (0, Some(lap)) => lap.has_drained = true,
            _ => self.current.has_drained = true,
        }
    }

    fn close(&mut self) {
        self.laps.push(std::mem::take(&mut self.current));
        if self.laps.len() < LAPS {
            return;
        }
        let both = |pair: &[Lap]| Lap {
            requests: pair.iter().map(|lap| lap.requests).sum(),
            latency: pair.iter().map(|lap| lap.latency).sum(),
            end: pair.iter().map(|lap| lap.end).max().unwrap_or_default(),
            has_drained: pair.iter().any(|lap| lap.has_drained),
        };
        self.laps = self.laps.chunks(2).map(both).collect();
        self.length *= 2;
    }

    fn laps(&self) -> Vec<Lap> {
        let rest = Some(self.current).filter(|lap| lap.requests > 0);
        self.laps.iter().copied().chain(rest).collect()
    }
}

/// Whether the drive of a run in an open loop fell behind, and how; `None`: it kept pace, or the run was too short to
/// tell. `last_arrival`: when the last request arrived, ns since the run began.
pub fn behind(result: &RunResult, last_arrival: Nanos) -> Option<Behind> {
    let limit = result.config.get("host.queue_limit").and_then(|limit| limit.parse().ok());
    let run = Run {
        course: &result.course,
        laps: result.course.laps(),
        samples: &result.series.1,
        interval: result.series.0,
        end: result.sim_ns,
        last_arrival,
        dies: result.erases.len() as u64 / u64::from(result.shape.1.max(1)),
        limit: limit.unwrap_or(u64::MAX),
        tells_waits: result.has_causes(),
    };
    run.grows().or_else(|| run.grew()).or_else(|| run.stands())
}

/// What a run tells of its queue.
struct Run<'a> {
    course: &'a Course,
    laps: Vec<Lap>,
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

/// Laps one behind the other.
#[derive(Clone, Copy)]
struct Laps<'a> {
    course: &'a Course,
    some: &'a [Lap],
    /// When the first of them begins, ns.
    begin: Nanos,
    /// Requests before them, and of all laps.
    before: u64,
    whole: u64,
}

impl Laps<'_> {
    fn all(self) -> u64 {
        self.some.iter().map(|lap| lap.requests).sum()
    }

    /// Mean latency of the requests from one share of all to another one, ns.
    fn mean(self, [from, to]: [f64; 2]) -> f64 {
        let all = self.all() as f64;
        let (mut before, mut sum) = (0.0, 0.0);
        for lap in self.some {
            let requests = lap.requests as f64;
            let within = (before + requests).min(to * all) - f64::max(before, from * all);
            if within > 0.0 {
                sum += within / requests * lap.latency as f64;
            }
            before += requests;
        }
        sum / ((to - from) * all).max(1.0)
    }

    /// When a share of all requests had completed, ns.
    fn time_of(self, share: f64) -> f64 {
        let wanted = share * self.all() as f64;
        let (mut before, mut begin) = (0.0, self.begin as f64);
        for lap in self.some {
            let (requests, end) = (lap.requests as f64, lap.end as f64);
            if before + requests >= wanted {
                return begin + (wanted - before) / requests * (end - begin);
            }
            (before, begin) = (before + requests, end);
        }
        begin
    }

    /// When a share of all requests had arrived, ns.
    fn arrival_of(self, share: f64) -> f64 {
        self.course.arrival_of((self.before as f64 + share * self.all() as f64) / self.whole as f64)
    }

    /// How many times as long a drive works as requests arrive, where that is most.
    fn peak(self) -> f64 {
        let share = |part: usize| part as f64 / PARTS as f64 * COUNTED;
        let times = (0..PARTS).map(|part| {
            let [from, to] = [share(part), share(part + 1)];
            let served = self.time_of(to) - self.time_of(from);
            served / (self.arrival_of(to) - self.arrival_of(from)).max(served / AT_ONCE).max(1.0)
        });
        times.fold(1.0, f64::max)
    }

    /// Whether the queue grew to the end: the share up to which that is seen, when it had been served, and when its
    /// last request had arrived, ns.
    fn growth(self) -> Option<(f64, f64, f64)> {
        if self.all() < LEAST_REQUESTS {
            return None;
        }
        let [first, second, third, last, left] =
            [[0.0, 0.25], [0.25, 0.5], [0.5, 0.75], [0.75, COUNTED], [LEFT, COUNTED]].map(|share| self.mean(share));
        let middle = f64::midpoint(LEFT, COUNTED);
        let served = self.time_of(middle);
        let arrived = self.arrival_of(middle).max(self.begin as f64);
        // A burst that ends before the last requests arrive leaves less work than its own requests waited.
        let grows = left >= last && last >= GROWTH * first.max(second) && last >= LATE_GROWTH * third;
        let begin = self.begin as f64;
        (grows && served - begin >= STRETCHED * (arrived - begin)).then_some((middle, served, arrived))
    }
}

/// A growing queue, or one of requests that arrive at once.
fn grown(share: f64, [arrived, served]: [f64; 2], peak: f64) -> Behind {
    if arrived < 1.0 {
        return Behind::AtOnce { share, served: served as u64 };
    }
    Behind::Grows { share, arrived: arrived as u64, served: served as u64, peak }
}

impl Run<'_> {
    fn whole(&self) -> Laps<'_> {
        let whole = self.laps.iter().map(|lap| lap.requests).sum();
        Laps { course: self.course, some: &self.laps, begin: 0, before: 0, whole }
    }

    fn grows(&self) -> Option<Behind> {
        let (middle, served, arrived) = self.whole().growth()?;
        let peak = self.whole().peak();
        // A last request that came after nearly all were served tells nothing of the others.
        Some(if (self.last_arrival as f64) < served {
            grown(1.0, [self.last_arrival as f64, self.end as f64], peak)
        } else {
            grown(middle, [arrived, served], peak)
        })
    }

    /// The same of the longest time without a pause, if it has most of the requests: others came when its queue had
    /// drained.
    fn grew(&self) -> Option<Behind> {
        let (mut begin, mut before) = (0, 0);
        let busy = self.laps.split_inclusive(|lap| lap.has_drained).map(|laps| {
            let these = Laps { some: laps, begin, before, ..self.whole() };
            (begin, before) = (laps.last().map_or(begin, |lap| lap.end), before + these.all());
            these
        });
        let most = busy.max_by_key(|laps| laps.all())?;
        let share = most.all() as f64 / most.whole as f64;
        let (middle, served, arrived) = most.growth().filter(|_| share >= MOST_OF_ALL)?;
        let begin = most.begin as f64;
        Some(grown(share * middle, [arrived - begin, served - begin], most.peak()))
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
        (samples.len() >= LEAST_INTERVALS && always && is_long)
            .then(|| Behind::Stands { waiting: waiting as u64, peak: self.whole().peak() })
    }

    fn all(&self) -> u64 {
        self.samples.iter().map(completed).sum()
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
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Nanos = 10_000;

    /// Requests that complete one after the other, a microsecond apart, with these latencies.
    fn course(latencies: &[Nanos]) -> Course {
        let mut course = Course::default();
        for (done, latency) in (1..).zip(latencies) {
            course.record(*latency, done * 1000);
            course.arrives((done * 1000_u64).saturating_sub(*latency));
        }
        course
    }

    fn run(course: &Course) -> Run<'_> {
        let end = course.laps().last().map_or(0, |lap| lap.end);
        Run {
            course,
            laps: course.laps(),
            samples: &[],
            interval: INTERVAL,
            end,
            last_arrival: end,
            dies: 1,
            limit: 1024,
            tells_waits: false,
        }
    }

    fn grows(latencies: &[Nanos]) -> bool {
        run(&course(latencies)).grows().is_some()
    }

    /// Latencies of a drive that leaves a share of each arrival undone.
    fn grown_by(left: f64) -> Vec<Nanos> {
        (0..1000).map(|done| 500 + (f64::from(done) * 1000.0 * left) as u64).collect()
    }

    #[test]
    fn a_queue_that_grows_to_the_end_is_told_from_latencies_that_do_not() {
        // A drive that serves 95, 50 and 1 per cent of its load.
        for left in [0.05, 0.5, 0.99] {
            let of = course(&grown_by(left));
            let Some(Behind::Grows { share, arrived, served, peak }) = run(&of).grows() else { panic!("{left}") };
            let times = 1.0 / (1.0 - left);
            assert!((served as f64 / arrived as f64 / times - 1.0).abs() < 0.05, "{left}: {served} {arrived}");
            assert!((served as f64 / (share * 1e6) - 1.0).abs() < 0.01, "{left}: {served}");
            assert!((peak / times - 1.0).abs() < 0.05, "{left}: {peak}");
            let exact = Run { last_arrival: ((1.0 - left) * 1e6) as u64, ..run(&of) }.grows();
            let exactly = (1e6 / times) as u64;
            let is_exact = matches!(exact, Some(Behind::Grows { arrived, .. }) if arrived == exactly);
            assert!(is_exact || left < 0.1, "{left}: {exact:?}, and they arrived in {exactly} ns");
        }
        // A cache that is used up after two thirds.
        assert!(grows(&(0..1000_u64).map(|done| 500 + done.saturating_sub(666) * 1000).collect::<Vec<_>>()));
        assert!(!grows(&[80_000; 1000]), "all wait alike");
        assert!(!grows(&grown_by(0.01)), "it keeps pace");
        let burst: Vec<Nanos> =
            (0..1000_u64).map(|done| if (800..950).contains(&done) { 300_000 } else { 500 }).collect();
        assert!(!grows(&burst), "the burst was served before the end");
        assert!(!grows(&grown_by(0.5)[..50]), "too few");
        assert!(!grows(&[]), "nothing completed");
    }

    /// A request for each minute after the backlog took all doubt away, as soon as they were one in a hundred.
    #[test]
    fn a_queue_that_grew_is_told_although_others_come_after_it() {
        let after = |late: u64| {
            let mut of = course(&grown_by(0.5));
            of.drained();
            for number in 1..=late {
                of.record(500, 1_000_000 + number * 60_000_000_000);
                of.arrives(1_000_000 + number * 60_000_000_000 - 500);
                of.drained();
            }
            let run = run(&of);
            run.grows().or_else(|| run.grew())
        };
        for late in [1, 20, 100, 800] {
            let Some(Behind::Grows { share, arrived, served, .. }) = after(late) else { panic!("{late}") };
            assert!((served as f64 / arrived as f64 / 2.0 - 1.0).abs() < 0.05, "{late}: {served} {arrived}");
            assert!((share - 0.97 * 1000.0 / (1000 + late) as f64).abs() < 0.03, "{late}: {share}");
        }
        assert_eq!(after(1500), None, "most requests met no queue");
    }

    /// All requests at once had no doubt.
    #[test]
    fn requests_that_arrive_at_once_are_told() {
        let of = course(&(1..=1000).map(|done| done * 1000).collect::<Vec<_>>());
        let found = Run { last_arrival: 0, ..run(&of) }.grows();
        assert_eq!(found, Some(Behind::AtOnce { share: 1.0, served: 1_000_000 }));
    }

    /// The mean over a ramp was taken for its load, and the advice was too small for its end.
    #[test]
    fn the_peak_of_a_ramp_is_the_load_of_its_end() {
        // Request `n` of `all` arrives at the root of its share: the last ones come twice as fast as all on average.
        let latencies: Vec<Nanos> = (1..=10_000_u32)
            .map(|done| {
                let arrived = (f64::from(done) / 1e4).sqrt() * 8e6;
                (f64::from(done) * 1e3 - arrived).max(500.0) as u64
            })
            .collect();
        let peak = run(&course(&latencies)).whole().peak();
        assert!((2.2..=2.6).contains(&peak), "{peak}");
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

    fn stands(waiting: u64, fewest: u32, idle_every: usize) -> bool {
        let mut samples = samples(&vec![waiting * 1000; 40_000]);
        for (number, sample) in samples.iter_mut().enumerate() {
            sample.fewest = Some(if (number + 1).is_multiple_of(idle_every) { 0 } else { fewest });
        }
        let of = Course::default();
        let run = Run { samples: &samples, ..run(&of) };
        let found = Run { dies: 4, end: samples.len() as u64 * INTERVAL, ..run }.stands();
        let is_so = |found| matches!(found, Behind::Stands { waiting: found, .. } if found == waiting);
        assert!(found.is_none_or(is_so), "{found:?}");
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
