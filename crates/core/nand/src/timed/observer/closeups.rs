//! The requests with closeups, and the work of dies in their time.
//!
//! A ring keeps the newest pieces of work. A request that is to be kept notes where the ring stood when it ended; its
//! work is copied only before the ring comes round, if the request is still kept then: most are replaced before.

use super::occupancy::{self, Begun};
use super::recorder::{Served, Slice};
use units::{HostOp, Nanos};

/// Requests with the work of arrays and channels in their time.
pub(super) type WithWork = Closeups<Slice, { 1 << 14 }>;
/// Requests with the work of dies in their time.
pub(super) type WithOccupancy = Closeups<Begun, { 1 << 13 }>;

/// Requests with closeups, each with the work of dies and channels in its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// No request is looked at.
    #[default]
    Nobody,
    /// So many of the slowest, with the work of all dies and channels.
    Slowest(usize),
    /// So many of those whose latency is nearest to this one, ns, with the work of all dies and channels.
    Nearest(usize, Nanos),
    /// Of each operation the slowest, and some of every latency, with what the dies that they used were occupied by, or
    /// all dies, if they used none. A die is occupied by a command from the moment at which waiting for it is charged
    /// to the command: array, transfer, and waiting for the channel. Costs little.
    OfEach,
}

/// Most pieces of work of a request.
const MOST: usize = 4000;
/// Slowest requests of each operation, with [`Choice::OfEach`].
const SLOWEST: usize = 20;
/// Requests of each band of latencies. A band is a quarter of an octave.
const OF_BAND: usize = 8;
const BANDS: usize = 256;
const OPERATIONS: usize = HostOp::ALL.len();

/// A request, and the work of dies and channels while it was under way.
#[derive(Clone, Debug)]
pub struct Closeup {
    /// The request that is looked at.
    pub served: Served,
    /// In order of their ends.
    pub slices: Vec<Slice>,
    /// More was done in its time than is kept.
    pub is_cut_short: bool,
}

/// The newest of something that comes in order of time: so many, a power of two. Half of them are there for sure when a
/// request is looked at.
#[derive(Clone, Debug)]
pub(super) struct Ring<T, const SIZE: usize> {
    all: Box<[T; SIZE]>,
    /// How many came so far.
    pushed: u64,
}

/// Something that a ring keeps.
pub(super) trait Piece: Copy {
    const NOTHING: Self;

    /// Those of a request's time, before `until`, and whether there was more.
    fn of_time<const SIZE: usize>(ring: &Ring<Self, SIZE>, served: &Served, until: u64) -> (Vec<Self>, bool);

    /// The same as pieces of work, and whether there was more.
    fn slices(served: &Served, pieces: Vec<Self>, is_cut_short: bool) -> (Vec<Slice>, bool);
}

/// A request, and its work as soon as that had to be copied.
#[derive(Clone, Debug)]
struct KeptRequest<T> {
    served: Served,
    /// How many the ring had got when it ended.
    until: u64,
    /// What the ring had of its time, and whether there was more.
    copied: Option<(Vec<T>, bool)>,
}

/// Some of a band of latencies, evenly over all of them: every second one, fourth one and so on. When there are too
/// many, every second one goes.
#[derive(Clone, Debug)]
struct Band<T> {
    stride: u32,
    kept: Vec<KeptRequest<T>>,
}

#[derive(Clone, Debug)]
pub(super) struct Closeups<T, const RING: usize> {
    choice: Choice,
    /// What came last, of all requests.
    ring: Ring<T, RING>,
    /// A list of all requests, or one of each operation: the height that a request needs.
    bars: [u64; OPERATIONS],
    is_by_operation: bool,
    /// The highest of each list, in no order.
    tops: Vec<Vec<KeptRequest<T>>>,
    /// By band: how many requests later the next one is kept.
    due: Vec<u32>,
    bands: Vec<Band<T>>,
}

impl<T: Piece, const RING: usize> Closeups<T, RING> {
    /// Nothing, where nobody is wanted.
    pub fn new(choice: Choice) -> Option<Self> {
        let (lists, bands) = match choice {
            Choice::Nobody => return None,
            Choice::Slowest(_) | Choice::Nearest(..) => (1, 0),
            Choice::OfEach => (OPERATIONS, OPERATIONS * BANDS),
        };
        Some(Self {
            choice,
            ring: Ring::new(),
            // What took no time is no slow request, and there is nothing to see of it.
            bars: std::array::from_fn(|list| if list < lists { u64::from(bands > 0) } else { u64::MAX }),
            is_by_operation: lists > 1,
            tops: vec![Vec::new(); lists],
            due: vec![1; bands],
            bands: vec![Band { stride: 1, kept: Vec::new() }; bands],
        })
    }

    /// The next piece. `true`: [`Closeups::copy_all`] comes next.
    #[inline(always)]
    pub fn push(&mut self, piece: T) -> bool {
        self.ring.push(piece)
    }

    /// The higher, the sooner a request of this latency is kept.
    #[inline]
    fn height(&self, latency: Nanos) -> u64 {
        if let Choice::Nearest(_, near) = self.choice { u64::MAX - near.abs_diff(latency) } else { latency }
    }

    fn most(&self) -> usize {
        match self.choice {
            Choice::Nobody => 0,
            Choice::Slowest(count) | Choice::Nearest(count, _) => count,
            Choice::OfEach => SLOWEST,
        }
    }

    /// Whether a request that ends now is to be kept; to be asked once for each.
    #[inline]
    pub fn wants(&mut self, op: HostOp, latency: Nanos) -> bool {
        let is_due = latency > 0
            && self.due.get_mut(number(op, latency)).is_some_and(|due| {
                *due -= 1;
                *due == 0
            });
        is_due || self.is_high(op, latency)
    }

    fn list(&self, op: HostOp) -> usize {
        if self.is_by_operation { op.index() } else { 0 }
    }

    #[inline]
    fn is_high(&self, op: HostOp, latency: Nanos) -> bool {
        self.height(latency) >= self.bars[self.list(op)]
    }

    /// Keeps a request that has ended, where it is wanted.
    pub fn keep(&mut self, served: &Served) {
        let (op, latency) = (served.request.op, served.latency());
        let kept = KeptRequest { served: served.clone(), until: self.ring.pushed, copied: None };
        let number = number(op, latency);
        if self.due.get(number) == Some(&0) {
            let band = &mut self.bands[number];
            band.kept.push(kept.clone());
            self.due[number] = band.stride;
            if band.kept.len() > OF_BAND {
                let mut number = 0;
                band.kept.retain(|_| {
                    number += 1;
                    number % 2 == 0
                });
                band.stride = band.stride.saturating_mul(2);
            }
        }
        if !self.is_high(op, latency) {
            return;
        }
        let list = self.list(op);
        let most = self.most();
        let heights = self.tops[list].iter().map(|kept| self.height(kept.served.latency())).enumerate();
        let lowest = heights.min_by_key(|(_, height)| *height).map(|(at, _)| at);
        let top = &mut self.tops[list];
        match lowest.filter(|_| top.len() == most) {
            Some(lowest) => top[lowest] = kept,
            None => top.push(kept),
        }
        if self.tops[list].len() == most {
            let heights = self.tops[list].iter().map(|kept| self.height(kept.served.latency()));
            self.bars[list] = heights.min().map_or(0, |lowest| lowest.saturating_add(1));
        }
    }

    /// The same, if it is time for that.
    pub fn copy_if_due(&mut self) {
        if self.ring.is_half_a_turn() {
            self.copy_all();
        }
    }

    /// Copies what the next half turn of the ring overwrites.
    #[cold]
    #[inline(never)]
    pub fn copy_all(&mut self) {
        let kept = self.tops.iter_mut().flatten();
        for kept in kept.chain(self.bands.iter_mut().flat_map(|band| &mut band.kept)) {
            if kept.copied.is_none() {
                kept.copied = Some(T::of_time(&self.ring, &kept.served, kept.until));
            }
        }
    }

    /// All that were kept, each once, in no order.
    pub fn finish(mut self) -> Vec<Closeup> {
        self.copy_all();
        let tops = self.tops.into_iter().flatten();
        let mut all: Vec<KeptRequest<T>> = tops.chain(self.bands.into_iter().flat_map(|band| band.kept)).collect();
        all.sort_by_key(|kept| (kept.until, kept.served.number, kept.served.request.arrival));
        all.dedup_by_key(|kept| (kept.until, kept.served.number, kept.served.request.arrival));
        let closeup = |KeptRequest { served, copied, .. }| {
            let (pieces, is_cut_short) = copied.unwrap_or_default();
            let (slices, is_cut_short) = T::slices(&served, pieces, is_cut_short);
            Closeup { served, slices, is_cut_short }
        };
        all.into_iter().map(closeup).collect()
    }
}

impl<T: Piece, const SIZE: usize> Ring<T, SIZE> {
    fn new() -> Self {
        const { assert!(SIZE.is_power_of_two(), "places are found by a mask") };
        let all: Result<Box<[T; SIZE]>, _> = vec![T::NOTHING; SIZE].into_boxed_slice().try_into();
        Self { all: all.unwrap_or_else(|_| unreachable!("it is as long as that")), pushed: 0 }
    }

    /// Adds one. `true`: the next half turn overwrites what is older.
    #[inline(always)]
    fn push(&mut self, new: T) -> bool {
        self.all[self.pushed as usize & (SIZE - 1)] = new;
        self.pushed += 1;
        self.is_half_a_turn()
    }

    #[inline(always)]
    fn is_half_a_turn(&self) -> bool {
        self.pushed as usize & (SIZE / 2 - 1) == 0
    }

    fn at(&self, number: u64) -> &T {
        &self.all[number as usize & (SIZE - 1)]
    }

    /// Those from `from` up to `until`, in two parts: the ring may come round between.
    pub fn range(&self, from: u64, until: u64) -> [&[T]; 2] {
        let [first, end] = [from, until].map(|number| number as usize & (SIZE - 1));
        match () {
            () if from >= until => [&[], &[]],
            () if first < end => [&self.all[first..end], &[]],
            () => [&self.all[first..], &self.all[..end]],
        }
    }

    pub fn oldest(&self) -> u64 {
        self.pushed.saturating_sub(SIZE as u64)
    }

    /// The first of those before `until` that is not before a moment, and whether older ones that are not there may be.
    pub fn first(&self, moment: Nanos, until: u64, time: impl Fn(&T) -> Nanos) -> (u64, bool) {
        let (mut from, mut end) = (self.oldest(), until);
        while from < end {
            let middle = from.midpoint(end);
            if time(self.at(middle)) < moment { from = middle + 1 } else { end = middle }
        }
        (from, from == self.oldest() && from > 0)
    }
}

/// All work of a request's time.
impl Piece for Slice {
    const NOTHING: Slice = Slice::NOTHING;

    fn of_time<const SIZE: usize>(ring: &Ring<Self, SIZE>, served: &Served, until: u64) -> (Vec<Self>, bool) {
        let (from, is_cut_short) = ring.first(served.request.arrival, until, |slice| slice.end);
        let newest = from.max(until.saturating_sub(MOST as u64));
        (ring.range(newest, until).concat(), is_cut_short || newest > from)
    }

    fn slices(_: &Served, pieces: Vec<Self>, is_cut_short: bool) -> (Vec<Slice>, bool) {
        (pieces, is_cut_short)
    }
}

impl Piece for Begun {
    const NOTHING: Begun = Begun::NOTHING;

    fn of_time<const SIZE: usize>(ring: &Ring<Self, SIZE>, served: &Served, until: u64) -> (Vec<Self>, bool) {
        occupancy::of_time(ring, served, until)
    }

    fn slices(served: &Served, notes: Vec<Self>, is_cut_short: bool) -> (Vec<Slice>, bool) {
        occupancy::slices(served, &notes, is_cut_short)
    }
}

/// Place of an operation's band of a latency.
#[inline]
fn number(op: HostOp, latency: Nanos) -> usize {
    op.index() * BANDS + band(latency)
}

/// Number of the band of a latency: quarters of octaves.
#[inline]
fn band(latency: Nanos) -> usize {
    let octave = (latency | 4).ilog2();
    (octave as usize * 4 + (latency >> (octave - 2) & 3) as usize).min(BANDS - 1)
}
