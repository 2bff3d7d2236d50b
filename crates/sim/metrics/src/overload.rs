//! Whether a drive fell behind its load, or only just kept pace with it.
//!
//! In an open loop requests arrive whatever the drive does. If it serves them more slowly, the queue grows, and
//! latencies tell the length of the run. If the drive takes just as much, the queue walks at random: its length depends
//! on the length of the run too. Protects: nobody takes such latencies for those of a drive that keeps pace.
//!
//! The delay at a number is how long the request of this number completed after the request of this number had arrived,
//! each counted in its own order. A pause of the arrivals does not change it, and neither does one late request.

use crate::RunResult;
use crate::series::Sample;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// Requests up to here are looked at, as a share of all: the last ones may come late.
const COUNTED: f64 = 0.99;
/// From this share of the requests on, delays tell how much work is left when the last ones arrive.
const LEFT: f64 = 0.94;
/// A drive that works this many times as long as requests arrive may have fallen behind.
const STRETCHED: f64 = 1.02;
/// Requests that it takes to tell a growing queue from chance.
const LEAST_REQUESTS: f64 = 100.0;
/// Intervals that it takes to tell a standing queue from chance.
const LEAST_INTERVALS: usize = 8;
/// Mean delay in the last quarter of the requests over that in each quarter of the first half, and in the third
/// quarter, at least. Where a queue grows evenly from the first request on, these are 7 and 2.3, and 1.4.
const GROWTH: f64 = 2.0;
const LATE_GROWTH: f64 = 1.2;
/// Share of the time of a backlog that its delay grows by, from which on it is no chance: the drive takes less than
/// three quarters of its load.
const STEEP: f64 = 0.25;
/// Share of a growth that is left away at each of its ends: a calm begin, a pause, and the time after it.
const ENDS: f64 = 0.05;
/// Share of all requests in which a queue grows at the begin, and share up to which a growth is one at the begin.
const LEAST_EARLY: f64 = 0.01;
const LATEST_BEGIN: f64 = 0.1;
/// Time between the requests of a growth over the mean of all: from here on the drive was slow, and the load no burst.
const EVEN: f64 = 0.9;
/// Share of a backlog that is left at most where its queue drained.
const DRAINED: f64 = 0.5;
/// Share of all requests that backlogs have to have together.
const MOST_OF_ALL: f64 = 0.5;
/// Most backlogs of a run: more of them are bursts that belong to the load.
const MOST_BACKLOGS: usize = 8;
/// Share of the intervals of the second half in which the queue never drained, from which on a drive is always full.
const ALWAYS: f64 = 0.95;
/// Requests that wait for each die on average where a queue stands.
const FOR_A_DIE: f64 = 4.0;
/// Parts of a backlog in which its load is compared with what the drive serves: a ramp is steep at its end.
const PARTS: usize = 8;
/// A part whose load is so many times what the drive serves is a burst: no time between requests is told from it.
const BURST: f64 = 10_000.0;
/// Times that are kept.
const TIMES: usize = 512;

/// How a drive fell behind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Behind {
    /// Its queue grew in these times.
    Grows(Backlog),
    /// Its queue never drained in the second half of the requests, in which so many requests waited on average.
    Stands { waiting: u64, peak: f64 },
    /// Its queue grew at the begin, until so many requests had arrived, and drained later.
    Drained { backlog: Backlog, until: u64 },
}

/// The times in which a queue grew.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Backlog {
    /// How many times there are.
    pub times: usize,
    /// Share of all reads and writes that arrived in them.
    pub share: f64,
    /// How long these arrived, and how long the drive served them, ns.
    pub arrived: Nanos,
    pub served: Nanos,
    /// The load over what the drive serves in these times, where that is most; bursts left aside.
    pub peak: f64,
    /// Share of all reads and writes that arrived in bursts, and how long these arrived together, ns.
    pub burst: f64,
    pub burst_arrived: Nanos,
}

/// When every so many requests arrived or completed, the first one too, ns since the run began.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Times {
    kept: Vec<Nanos>,
    /// A power of two.
    stride: u64,
    all: u64,
}

impl Default for Times {
    fn default() -> Self {
        Self { kept: Vec::new(), stride: 1, all: 0 }
    }
}

impl Times {
    #[inline]
    fn push(&mut self, at: Nanos) {
        if self.all & (self.stride - 1) == 0 {
            self.kept.push(at);
            if self.kept.len() == TIMES {
                self.kept = self.kept.iter().copied().step_by(2).collect();
                self.stride *= 2;
            }
        }
        self.all += 1;
    }
}

/// The course of the reads and writes of a run by their numbers, and not by time: a long pause takes no detail from the
/// rest.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Course {
    arrivals: Times,
    completions: Times,
}

impl Course {
    /// The next read or write arrives, in the order of their arrivals.
    #[inline]
    pub fn arrives(&mut self, at: Nanos) {
        self.arrivals.push(at);
    }

    /// A read or write completes.
    #[inline]
    pub fn completes(&mut self, at: Nanos) {
        self.completions.push(at);
    }

    /// The moments at which both are known, of requests that all completed.
    fn moments(&self) -> Moments {
        if self.arrivals.all != self.completions.all {
            return Moments::default();
        }
        let both = self.arrivals.kept.iter().zip(&self.completions.kept);
        let stride = self.arrivals.stride as f64;
        Moments { some: both.map(|(a, c)| [*a as f64, *c as f64]).collect(), stride, all: self.arrivals.all as f64 }
    }
}

/// When requests of some numbers arrived and completed, ns.
#[derive(Default)]
struct Moments {
    some: Vec<[f64; 2]>,
    /// Requests from one to the next.
    stride: f64,
    all: f64,
}

/// A growth of the delay from one moment to another one, both included.
type Growth = [usize; 2];

impl Moments {
    fn delay(&self, at: usize) -> f64 {
        let [arrived, completed] = self.some[at];
        completed - arrived
    }

    /// The moment of a share of all requests.
    fn at(&self, share: f64) -> usize {
        ((share * self.all / self.stride) as usize).min(self.some.len().saturating_sub(1))
    }

    /// The mean delay from one share of the requests to another one, ns.
    fn mean(&self, [from, to]: [f64; 2]) -> f64 {
        let places = self.at(from)..=self.at(to);
        let many = places.clone().count() as f64;
        places.map(|place| self.delay(place)).sum::<f64>() / many
    }

    /// Whether the queue grew over all requests, and to the end.
    fn grows_to_the_end(&self) -> bool {
        let [first, second, third, last, left] =
            [[0.0, 0.25], [0.25, 0.5], [0.5, 0.75], [0.75, COUNTED], [LEFT, COUNTED]].map(|share| self.mean(share));
        let [arrived, completed] = self.some[self.at(f64::midpoint(LEFT, COUNTED))];
        // A burst that ends before the last requests arrive leaves less work than its own requests waited.
        let grows = left >= last && last >= GROWTH * first.max(second) && last >= LATE_GROWTH * third;
        grows && completed >= STRETCHED * arrived
    }

    /// Requests from one moment to another one.
    fn requests(&self, [from, to]: Growth) -> f64 {
        (to - from) as f64 * self.stride
    }

    /// How long requests from one moment to another one arrived, and how long the drive served them, ns.
    fn spans(&self, [from, to]: Growth) -> [f64; 2] {
        let [before, after] = [self.some[from], self.some[to]];
        [after[0] - before[0], after[1] - before[1]]
    }

    /// The largest growth of the delay between two moments, without its ends.
    fn largest_growth(&self, [from, to]: Growth) -> Option<Growth> {
        let mut least = from;
        let mut largest = (0.0, [from, from]);
        for place in from..=to {
            if self.delay(place) <= self.delay(least) {
                least = place;
            }
            let growth = self.delay(place) - self.delay(least);
            if growth > largest.0 {
                largest = (growth, [least, place]);
            }
        }
        let (growth, [low, high]) = largest;
        let [floor, top] = [self.delay(low) + ENDS * growth, self.delay(high) - ENDS * growth];
        let end = (low..=high).find(|place| self.delay(*place) >= top)?;
        let begin = (low..=end).rfind(|place| self.delay(*place) <= floor)?;
        (end > begin).then_some([begin, end])
    }

    /// Growths that are steep and of enough requests, the largest ones first.
    fn steep(&self) -> Vec<Growth> {
        let mut found = Vec::new();
        let mut ranges = vec![[0, self.at(COUNTED)]];
        while let Some([from, to]) = ranges.pop() {
            let Some(growth) = self.largest_growth([from, to]) else { continue };
            let is_enough = self.requests(growth) >= LEAST_REQUESTS * (1.0 - 2.0 * ENDS);
            if is_enough && self.is_steep(growth) {
                found.push(growth);
            }
            // Smaller growths stand before and behind it.
            let rest = [[from, growth[0]], [growth[1], to]];
            ranges.extend(rest.into_iter().filter(|range| self.requests(*range) >= LEAST_REQUESTS));
        }
        let mut found = self.joined(found);
        found.sort_by(|a, b| self.requests(*b).total_cmp(&self.requests(*a)));
        found.truncate(MOST_BACKLOGS);
        found
    }

    /// Growths in their order, with the growths inside the ends of a longer growth as a part of it.
    fn joined(&self, mut growths: Vec<Growth>) -> Vec<Growth> {
        growths.sort_unstable();
        let mut joined: Vec<Growth> = Vec::new();
        for next in growths {
            match joined.last_mut() {
                Some(last) if self.is_one(*last, next) => last[1] = next[1],
                _ => joined.push(next),
            }
        }
        joined
    }

    /// Whether the queue hardly drained between two growths, and few requests came between them.
    fn is_one(&self, before: Growth, after: Growth) -> bool {
        let grown = [before, after].map(|[from, to]| self.delay(to) - self.delay(from));
        let least = (before[1]..=after[0]).map(|place| self.delay(place)).fold(f64::INFINITY, f64::min);
        let fall = self.delay(before[1]) - least;
        let is_full = fall <= DRAINED * grown[0] && fall <= 2.0 * ENDS * grown[0].max(grown[1]);
        let all = [before[0], after[1]];
        let are_few = self.requests([before[1], after[0]]) <= 2.0 * ENDS * self.requests(all);
        is_full && are_few && self.is_steep(all)
    }

    fn is_steep(&self, growth: Growth) -> bool {
        let [arrived, served] = self.spans(growth);
        served - arrived >= STEEP * served
    }

    /// A queue that grew at the begin and drained, although its requests came no faster than others.
    fn drained(&self) -> Option<Behind> {
        let is_early = |[from, _]: &Growth| *from <= self.at(LATEST_BEGIN);
        let growth = self.steep().into_iter().find(is_early)?;
        let gap = |part: Growth| self.spans(part)[0] / self.requests(part);
        let is_slow = gap(growth) >= EVEN * gap([0, self.at(COUNTED)]);
        let has_drained = self.mean([LEFT, COUNTED]) <= DRAINED * self.delay(growth[1]);
        let backlog = self.backlog(&[growth]);
        let until = self.requests([0, growth[1]]) as u64;
        (is_slow && has_drained && backlog.share >= LEAST_EARLY).then_some(Behind::Drained { backlog, until })
    }

    /// The load in each part of a growth over what the drive serves on average in all of it, with the time in which the
    /// requests of the part arrive, and their number. One part alone tells less of the drive: all dies may collect.
    fn parts(&self, growth: Growth) -> impl Iterator<Item = (f64, f64, f64)> {
        let [from, to] = growth;
        let service = self.spans(growth)[1] / self.requests(growth);
        let place = move |part: usize| from + (to - from) * part / PARTS;
        let parts = (0..PARTS).map(move |part| [place(part), place(part + 1)]).filter(|[from, to]| from < to);
        parts.map(move |part| {
            let (arrived, requests) = (self.spans(part)[0], self.requests(part));
            (service * requests / arrived.max(1.0), arrived, requests)
        })
    }

    fn backlog(&self, growths: &[Growth]) -> Backlog {
        let mut backlog = Backlog { times: growths.len(), peak: 1.0, ..Backlog::default() };
        for growth in growths {
            let [arrived, served] = self.spans(*growth);
            backlog.share += self.requests(*growth) / self.all;
            backlog.arrived += arrived as Nanos;
            backlog.served += served as Nanos;
            for (load, arrived, requests) in self.parts(*growth) {
                if load < BURST {
                    backlog.peak = backlog.peak.max(load);
                } else {
                    backlog.burst += requests / self.all;
                    backlog.burst_arrived += arrived as Nanos;
                }
            }
        }
        backlog
    }

    fn grows(&self) -> Option<Backlog> {
        let steep = self.steep();
        let share: f64 = steep.iter().map(|growth| self.requests(*growth)).sum::<f64>() / self.all;
        if share >= MOST_OF_ALL * (1.0 - 2.0 * ENDS) {
            return Some(self.backlog(&steep));
        }
        let growth = self.largest_growth([0, self.at(COUNTED)]).filter(|_| self.grows_to_the_end())?;
        Some(self.backlog(&[growth]))
    }
}

/// Whether the drive of a run in an open loop fell behind, and how; `None`: it kept pace, or the run was too short to
/// tell.
pub fn behind(result: &RunResult) -> Option<Behind> {
    let limit = result.config.get("host.queue_limit").and_then(|limit| limit.parse().ok());
    let moments = result.course.moments();
    if moments.all < LEAST_REQUESTS {
        return None;
    }
    let run = Run {
        samples: &result.series.1,
        interval: result.series.0,
        dies: result.erases.len() as u64 / u64::from(result.shape.1.max(1)),
        limit: limit.unwrap_or(u64::MAX),
        tells_waits: result.has_causes(),
    };
    let stands = || {
        let last = moments.at(COUNTED);
        let peak = moments.parts([0, last]).map(|part| part.0).fold(1.0, f64::max);
        run.stands().map(|waiting| Behind::Stands { waiting, peak })
    };
    moments.grows().map(Behind::Grows).or_else(stands).or_else(|| moments.drained())
}

/// What the samples of a run tell of its queue.
struct Run<'a> {
    samples: &'a [Sample],
    /// Length of a sample, ns.
    interval: Nanos,
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
    /// Requests that waited on average where the queue never drained. A queue that walks at random over so many
    /// requests is as long as the root of their number: no longer one is told from a drive that takes no more than its
    /// load. Where requests wait for single dies, more wait for each.
    fn stands(&self) -> Option<u64> {
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
        (samples.len() >= LEAST_INTERVALS && always && is_long).then_some(waiting as u64)
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

    /// Requests that arrive at these moments, at a drive that serves one in a microsecond.
    fn course(arrivals: impl IntoIterator<Item = Nanos>) -> Course {
        served(arrivals, |_| 1000)
    }

    /// Requests that arrive at these moments, at a drive that serves each in a time of its own.
    fn served(arrivals: impl IntoIterator<Item = Nanos>, service: impl Fn(u64) -> Nanos) -> Course {
        let mut course = Course::default();
        let mut free = 0;
        for (at, number) in arrivals.into_iter().zip(0..) {
            free = at.max(free) + service(number);
            course.arrives(at);
            course.completes(free);
        }
        course
    }

    fn grows(arrivals: impl IntoIterator<Item = Nanos>) -> Option<Backlog> {
        let moments = course(arrivals).moments();
        (moments.all >= LEAST_REQUESTS).then(|| moments.grows())?
    }

    /// Requests so many ns apart from a moment on.
    fn apart(gap: f64, many: u64, from: Nanos) -> impl Iterator<Item = Nanos> {
        (0..many).map(move |number| from + (number as f64 * gap) as Nanos)
    }

    fn is_close(found: f64, wanted: f64, what: &str) {
        assert!((found / wanted - 1.0).abs() < 0.05, "{what}: {found}, not {wanted}");
    }

    #[test]
    fn a_queue_that_grows_to_the_end_is_told_from_delays_that_do_not() {
        // A drive that serves 95, 50 and 1 per cent of its load.
        for gap in [950.0, 500.0, 10.0] {
            let Some(found) = grows(apart(gap, 1000, 0)) else { panic!("{gap}") };
            is_close(found.served as f64 / found.arrived as f64, 1000.0 / gap, "ratio");
            is_close(found.peak.max(1000.0 / gap), 1000.0 / gap, "peak");
            assert!(found.share > 0.85 && found.times == 1, "{found:?}");
        }
        // Its load grows after two thirds.
        assert!(grows(apart(2000.0, 666, 0).chain(apart(10.0, 334, 1_332_000))).is_some());
        assert_eq!(grows(apart(1100.0, 1000, 0)), None, "it keeps pace");
        assert_eq!(grows(apart(999.0, 1000, 0)), None, "it all but keeps pace");
        let burst = apart(2000.0, 800, 0).chain(apart(10.0, 100, 1_600_000)).chain(apart(2000.0, 100, 1_601_000));
        assert_eq!(grows(burst), None, "the burst was served before the end");
        assert_eq!(grows(apart(500.0, 50, 0)), None, "too few");
        assert_eq!(grows([]), None, "nothing arrived");
    }

    /// A request for each minute after the backlog took all doubt away, as soon as they were one in a hundred.
    #[test]
    fn a_queue_that_grew_is_told_although_others_come_after_it() {
        let after = |late: u64| grows(apart(500.0, 1000, 0).chain(apart(6e10, late, 60_000_000_000)));
        for late in [1, 20, 100, 800] {
            let Some(found) = after(late) else { panic!("{late}") };
            is_close(found.served as f64 / found.arrived as f64, 2.0, "ratio");
            assert!((found.share - 0.9 * 1000.0 / (1000 + late) as f64).abs() < 0.03, "{late}: {found:?}");
        }
        assert_eq!(after(1500), None, "most requests met no queue");
    }

    /// The doubt was silent where the pause came at every eighth request.
    #[test]
    fn a_pause_at_any_request_hides_no_overload() {
        for before in (1..200).chain([10_000, 20_000]) {
            let pause = apart(500.0, before, 0).chain(apart(500.0, 30_000, 3_600_000_000_000));
            let Some(found) = grows(pause) else { panic!("{before}") };
            is_close(found.served as f64 / found.arrived as f64, 2.0, "ratio");
        }
    }

    /// The rates of a run of mostly calm requests were the means over all of it.
    #[test]
    fn rates_are_those_of_the_backlog() {
        let Some(found) = grows(apart(4000.0, 4000, 0).chain(apart(250.0, 6000, 16_000_000))) else { panic!() };
        is_close(found.served as f64 / (found.share * 10_000.0), 1000.0, "time of a request");
        is_close(found.served as f64 / found.arrived as f64, 4.0, "ratio");
    }

    /// Batches a second apart had no doubt, because none of them had most of the requests.
    #[test]
    fn a_few_batches_are_told_and_many_belong_to_the_load() {
        let batches = |many: u64| grows((0..many).flat_map(|batch| apart(250.0, 1000, batch * 1_000_000_000)));
        let Some(found) = batches(3) else { panic!() };
        assert!(found.times == 3 && found.share > 0.85, "{found:?}");
        is_close(found.served as f64 / found.arrived as f64, 4.0, "ratio");
        assert_eq!(batches(40), None);
    }

    /// All requests at once had no doubt, and an advice of a thousand times the gap changed nothing.
    #[test]
    fn requests_that_arrive_at_once_are_told_as_a_burst() {
        let all = grows(apart(0.0, 1000, 0)).unwrap();
        assert!(all.burst > 0.85 && all.burst_arrived == 0, "{all:?}");
        let half = grows(apart(0.0, 1000, 0).chain(apart(2000.0, 1000, 0))).unwrap();
        assert!((0.4..=0.5).contains(&half.burst), "{half:?}");
        let two = grows(apart(500.0, 1000, 0)).unwrap();
        assert!(two.burst == 0.0, "{two:?}");
    }

    /// A constant load was told as three growths, and its first requests were taken for its peak.
    #[test]
    fn a_constant_overload_of_any_length_is_one_growth() {
        for many in [1000, 2000, 3000, 4000, 30_000] {
            for gap in [0.0, 250.0] {
                let found = grows(apart(gap, many, 0)).unwrap();
                assert!(found.times == 1 && found.share > 0.85, "{many}, {gap}: {found:?}");
            }
            // Its drive serves the first requests faster, because no die collects yet.
            let moments = served(apart(250.0, many, 0), |number| if number < many / 50 { 400 } else { 1000 }).moments();
            let found = moments.grows().unwrap();
            assert!(found.times == 1 && (3.7..=4.1).contains(&found.peak), "{many}: {found:?}");
        }
    }

    /// The mean was 562 ms because of the first third of the run, and no word was said.
    #[test]
    fn a_drive_that_is_slow_at_the_begin_is_told() {
        let drained = |gap: f64, slow: Nanos| {
            served(apart(gap, 5000, 0), |number| if number < 1500 { slow } else { 1000 }).moments().drained()
        };
        let Some(Behind::Drained { backlog, until }) = drained(2500.0, 5000) else { panic!() };
        is_close(backlog.served as f64 / backlog.arrived as f64, 2.0, "ratio");
        assert!(backlog.times == 1 && (1350..=1500).contains(&until), "{until}: {backlog:?}");
        assert_eq!(drained(2500.0, 2400), None, "it is slow, and fast enough");
        let burst = apart(500.0, 1500, 0).chain(apart(2500.0, 3500, 750_000));
        assert_eq!(course(burst).moments().drained(), None, "a burst belongs to the load");
        assert_eq!(course(apart(500.0, 5000, 0)).moments().drained(), None, "nothing drained");
    }

    /// The mean over a ramp was taken for its load, and the advice was too small for its end.
    #[test]
    fn the_peak_of_a_ramp_is_the_load_of_its_end() {
        // Request `n` of `all` arrives at the root of its share: the last ones come twice as fast as all on average.
        let ramp = (1..=10_000_u32).map(|number| ((f64::from(number) / 1e4).sqrt() * 8e6) as Nanos);
        let peak = grows(ramp).unwrap().peak;
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
        let run = Run { samples: &samples, interval: INTERVAL, dies: 4, limit: 1024, tells_waits: false };
        let found = run.stands();
        assert!(found.is_none_or(|found| found == waiting), "{found:?}");
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
