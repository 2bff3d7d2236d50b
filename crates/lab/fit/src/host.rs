//! The host that measures: clients side by side, each with its own way of sending requests and its own latencies.
//!
//! Faithful to: a client at a depth sends the next request when one ends. A paced client sends at random times that do
//! not depend on the drive. It has a limit of requests at the drive, behind which they wait.

use crate::measured::Order;
use engine::random::Stream;
use metrics::Histogram;
use simulator::{BlockDevice, Completions, Progress};
use std::collections::VecDeque;
use trace::synthetic::{Scatter, Zipf};
use units::{HostOp, Nanos, Request, SECTOR_BYTES};

/// Whether somebody wants experiments to end. It is asked many times a second, on every thread.
pub type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

/// Requests between two looks at whether to stop, of a drive without time and of one with it.
pub(crate) const LOOK_EVERY: u64 = 4096;
const LOOK_EVERY_STEPS: u64 = 256;

/// An error once somebody wants experiments to end; the person who stopped them does not need to read it.
pub(crate) fn unless(stop: Stop<'_>) -> Result<(), String> {
    if stop() { Err("stopped".to_owned()) } else { Ok(()) }
}

/// When a client sends its next request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// When one of so many ends.
    Depth(u32),
    /// So many a second at exponential distances, up to so many at the drive.
    PerSecond(f64, u32),
}

/// The requests of a client, and their pace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Client {
    /// Requests kept under way, or their arrivals in time.
    pub pace: Pace,
    /// Share of reads, 0 to 1; the others are writes.
    pub reads: f64,
    /// Where its requests go.
    pub order: Order,
    /// Bytes of a request.
    pub size: u64,
    /// It stays within so many bytes from the start of the drive.
    pub within: u64,
    /// Exponent of the Zipf law of its random places; 0: each alike.
    pub zipf: f64,
    /// A flush follows each write, and the request ends with it.
    pub commits: bool,
}

/// Random places, each alike or by a scattered Zipf law: the same ones are popular wherever the seed is the same.
pub(crate) struct Places {
    count: u64,
    popular: Option<(Zipf, Scatter)>,
}

impl Places {
    /// So many places, 1 or more; `zipf`: the exponent, 0 for none.
    pub fn new(count: u64, zipf: f64, seed: u64) -> Self {
        let scatter = || Scatter::new(count, &mut Stream::new(seed, "popular"));
        Self { count, popular: (zipf > 0.0).then(|| (Zipf::new(count, zipf), scatter())) }
    }

    pub fn draw(&self, stream: &mut Stream) -> u64 {
        match &self.popular {
            None => stream.below(self.count),
            Some((law, scatter)) => scatter.place(law.draw(stream)),
        }
    }
}

/// Latencies that a client found, from the moment a request was to be sent, ns.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Latencies of its reads.
    pub reads: Histogram,
    /// Latencies of its writes.
    pub writes: Histogram,
    /// The shortest of each, `Nanos::MAX` where there is none.
    pub least: [Nanos; 2],
    /// Time that passed, ns.
    pub elapsed: Nanos,
}

impl Found {
    pub fn per_second(&self) -> f64 {
        (self.reads.count() + self.writes.count()) as f64 * 1e9 / self.elapsed.max(1) as f64
    }
}

/// A client at work.
struct Busy {
    client: Client,
    places: Places,
    stream: Stream,
    /// Its next place, in requests, where they follow each other.
    next: u64,
    outstanding: u32,
    /// When its next request is to be sent; a paced one has one at any time.
    due: Nanos,
    /// When its requests were to be sent, of those that wait for room at the drive.
    held: VecDeque<Nanos>,
}

impl Busy {
    fn new(client: Client, number: usize, seed: u64, now: Nanos) -> Self {
        let places = Places::new((client.within / client.size).max(1), client.zipf, seed);
        let mut busy = Self {
            client,
            places,
            stream: Stream::new(seed, &format!("client.{number}")),
            next: 0,
            outstanding: 0,
            due: now,
            held: VecDeque::new(),
        };
        busy.due += busy.distance();
        busy
    }

    /// Time from one request of a paced client to its next one.
    fn distance(&mut self) -> Nanos {
        match self.client.pace {
            Pace::Depth(_) => 0,
            Pace::PerSecond(rate, _) => (-(1.0 - self.stream.unit()).ln() * 1e9 / rate) as Nanos,
        }
    }

    fn limit(&self) -> u32 {
        match self.client.pace {
            Pace::Depth(depth) => depth,
            Pace::PerSecond(_, limit) => limit,
        }
    }

    fn request(&mut self, arrival: Nanos) -> Request {
        let place = match self.client.order {
            Order::Random => self.places.draw(&mut self.stream),
            Order::Sequential => {
                let place = self.next;
                self.next = (place + 1) % self.places.count;
                place
            }
        };
        let op = if self.stream.chance(self.client.reads) { HostOp::Read } else { HostOp::Write };
        let sectors = (self.client.size / SECTOR_BYTES) as u32;
        Request { arrival, first_sector: place * u64::from(sectors), sectors, op, fua: false }
    }

    /// When the next request is to be sent that may be sent now. `None`: none is, or the drive has as many as it may.
    fn turn(&mut self, now: Nanos) -> Option<Nanos> {
        if let Pace::PerSecond(..) = self.client.pace {
            while self.due <= now {
                self.held.push_back(self.due);
                self.due += self.distance().max(1);
            }
        }
        if self.outstanding >= self.limit() {
            return None;
        }
        match self.client.pace {
            Pace::Depth(_) => Some(now),
            Pace::PerSecond(..) => self.held.pop_front(),
        }
    }
}

/// Lets clients work until the first of them has had `requests` answered since `warm_up` passed. Latencies count from
/// then on.
/// Errors: in words: the drive stopped answering, a request failed, or somebody wants it to end.
pub fn measure<D: BlockDevice>(
    device: &mut D,
    clients: &[Client],
    warm_up: Nanos,
    requests: u64,
    seed: u64,
    stop: Stop<'_>,
) -> Result<Vec<Found>, String> {
    let from = device.now() + warm_up;
    let mut found = vec![Found { least: [Nanos::MAX; 2], ..Found::default() }; clients.len()];
    let end = work(device, clients, seed, stop, |answer| {
        if answer.now >= from {
            let latency = answer.now - answer.due;
            let of = &mut found[answer.client];
            let histogram = if answer.is_write { &mut of.writes } else { &mut of.reads };
            histogram.record(latency);
            let least = &mut of.least[usize::from(answer.is_write)];
            *least = (*least).min(latency);
        }
        found[0].reads.count() + found[0].writes.count() < requests
    })?;
    Ok(found.into_iter().map(|found| Found { elapsed: end - from, ..found }).collect())
}

/// Lets one client work until it has had `windows` times `requests` answered; the time each window took, ns.
pub fn windows<D: BlockDevice>(
    device: &mut D,
    client: Client,
    requests: u64,
    windows: usize,
    seed: u64,
    stop: Stop<'_>,
) -> Result<Vec<Nanos>, String> {
    let (mut times, mut begin, mut answered) = (Vec::with_capacity(windows), device.now(), 0);
    work(device, &[client], seed, stop, |answer| {
        answered += 1;
        if answered == requests {
            times.push(answer.now - begin);
            (begin, answered) = (answer.now, 0);
        }
        times.len() < windows
    })?;
    Ok(times)
}

/// An answer to a client.
struct Answer {
    client: usize,
    is_write: bool,
    /// When the request was to be sent.
    due: Nanos,
    now: Nanos,
}

/// Lets clients work as long as `hears` wants more answers. Returns the time of the last one.
fn work<D: BlockDevice>(
    device: &mut D,
    clients: &[Client],
    seed: u64,
    stop: Stop<'_>,
    mut hears: impl FnMut(Answer) -> bool,
) -> Result<Nanos, String> {
    let begin = device.now();
    let mut busy: Vec<Busy> =
        (0..).zip(clients).map(|(number, client)| Busy::new(*client, number, seed, begin)).collect();
    let mut sent: Vec<(usize, Nanos)> = Vec::new();
    let mut free: Vec<u32> = Vec::new();
    let mut completions = Completions::default();
    let mut armed = None;
    for steps in 0_u64.. {
        if steps.is_multiple_of(LOOK_EVERY_STEPS) {
            unless(stop)?;
        }
        let now = device.now();
        for (number, client) in busy.iter_mut().enumerate() {
            while let Some(due) = client.turn(now) {
                let request = client.request(due);
                let tag = free.pop().unwrap_or_else(|| {
                    sent.push((0, 0));
                    sent.len() as u32 - 1
                });
                sent[tag as usize] = (number, due);
                client.outstanding += 1;
                device.submit(tag, &request);
            }
        }
        let paced = busy.iter().filter(|client| matches!(client.client.pace, Pace::PerSecond(..)));
        let next = paced.map(|client| client.due).min();
        if next.is_some() && next != armed {
            armed = next;
            device.wake_at(next.unwrap_or_default());
        }
        if device.advance(&mut completions) == Progress::Idle {
            return Err("the drive does not answer any more".to_owned());
        }
        let now = device.now();
        for done in &completions.done {
            let (number, due) = sent[done.tag as usize];
            if done.failed {
                return Err(format!("a {} failed", done.request.op.name()));
            }
            let is_write = done.request.op != HostOp::Read;
            if busy[number].client.commits && done.request.op == HostOp::Write {
                let flush = Request { op: HostOp::Flush, sectors: 0, first_sector: 0, ..done.request };
                device.submit(done.tag, &flush);
                continue;
            }
            free.push(done.tag);
            busy[number].outstanding -= 1;
            if !hears(Answer { client: number, is_write, due, now }) {
                return Ok(now);
            }
        }
    }
    unreachable!("it has no last step")
}
