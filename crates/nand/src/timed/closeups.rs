//! Which requests are looked at closely, and what went on in their time.
//!
//! A ring keeps the newest pieces of work. A request that is to be kept notes where the ring stood when it ended; its
//! work is copied only before the ring comes round, if the request is still kept then: most are replaced before.

use super::occupancy::{self, Begun};
use super::recorder::{Served, Slice};
use units::{HostOp, Nanos};

/// Requests that are looked at closely, each with what dies and channels did in its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// None.
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

/// What the rings hold; half of it is there for sure when a request is looked at.
const WORK: usize = 1 << 14;
const BEGUN: usize = 1 << 13;
/// Most pieces of work of a request.
const MOST: usize = 4000;
/// Slowest requests of each operation, with [`Choice::OfEach`].
const SLOWEST: usize = 20;
/// Requests of each band of latencies. A band is a quarter of an octave.
const OF_BAND: usize = 8;
const BANDS: usize = 256;
const OPERATIONS: usize = HostOp::ALL.len();

/// A request, and what dies and channels did while it was under way.
#[derive(Clone, Debug)]
pub struct Closeup {
    /// The request.
    pub served: Served,
    /// In order of their ends.
    pub slices: Vec<Slice>,
    /// More was done in its time than is kept.
    pub is_cut_short: bool,
}

/// Where a request is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    /// Among the highest of this list.
    top: Option<u32>,
    /// In this band.
    band: Option<u32>,
}

impl Places {
    #[inline]
    pub fn is_any(self) -> bool {
        self.top.is_some() || self.band.is_some()
    }
}

/// The newest of something that comes in order of time.
#[derive(Clone, Debug)]
pub(super) struct Ring<T> {
    all: Vec<T>,
    /// How many came so far.
    pushed: u64,
}

/// A request, and its work as soon as that had to be copied.
#[derive(Clone, Debug)]
struct Kept {
    served: Served,
    /// How many the ring had got when it ended.
    until: u64,
    copied: Option<Copied>,
}

/// What the ring had of a request's time, and whether there was more.
#[derive(Clone, Debug)]
enum Copied {
    Work(Vec<Slice>, bool),
    Begun(Vec<Begun>, bool),
}

/// Some of a band of latencies, evenly over all of them: every second one, fourth one and so on. When there are too
/// many, every second one goes.
#[derive(Clone, Debug)]
struct Band {
    stride: u32,
    kept: Vec<Kept>,
}

#[derive(Clone, Debug)]
pub(super) struct Closeups {
    choice: Choice,
    /// What arrays and channels did, in order of its end.
    work: Ring<Slice>,
    /// What dies began.
    begun: Ring<Begun>,
    /// A list of all requests, or one of each operation: the height that a request needs.
    bars: [u64; OPERATIONS],
    is_by_operation: bool,
    /// The highest of each list, in no order.
    tops: Vec<Vec<Kept>>,
    /// By band: how many requests later the next one is kept.
    due: Vec<u32>,
    bands: Vec<Band>,
}

impl Closeups {
    pub fn new(choice: Choice) -> Self {
        let (lists, bands) = match choice {
            Choice::Nobody => (0, 0),
            Choice::Slowest(_) | Choice::Nearest(..) => (1, 0),
            Choice::OfEach => (OPERATIONS, OPERATIONS * BANDS),
        };
        Self {
            choice,
            work: Ring::new(if lists == 1 { WORK } else { 0 }, Slice::of(&Begun::NOTHING)),
            begun: Ring::new(if bands > 0 { BEGUN } else { 0 }, Begun::NOTHING),
            // What took no time is no slow request, and there is nothing to see of it.
            bars: std::array::from_fn(|list| if list < lists { u64::from(bands > 0) } else { u64::MAX }),
            is_by_operation: lists > 1,
            tops: vec![Vec::new(); lists],
            due: vec![1; bands],
            bands: vec![Band { stride: 1, kept: Vec::new() }; bands],
        }
    }

    /// Whether the work of arrays and channels is kept.
    #[inline]
    pub fn want_work(&self) -> bool {
        matches!(self.choice, Choice::Slowest(_) | Choice::Nearest(..))
    }

    /// An array or a channel has done something.
    #[inline]
    pub fn done(&mut self, slice: Slice) {
        if self.work.push(slice) {
            self.copy_if_due();
        }
    }

    /// A die begins something. `true`: [`Closeups::copy_if_due`] comes next.
    #[inline]
    pub fn begin(&mut self, begun: Begun) -> bool {
        self.begun.push(begun)
    }

    /// Copies what the next half turn of the ring overwrites.
    #[cold]
    pub fn copy_if_due(&mut self) {
        if self.work.is_half_a_turn() || self.begun.is_half_a_turn() {
            self.copy_all();
        }
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

    /// Where a request that ends now is to be kept.
    #[inline]
    pub fn places(&mut self, op: HostOp, latency: Nanos) -> Places {
        let list = if self.is_by_operation { op.index() } else { 0 };
        let is_top = self.height(latency) >= self.bars[list];
        let number = op.index() * BANDS + band(latency);
        let is_due = latency > 0
            && self.due.get_mut(number).is_some_and(|due| {
                *due -= 1;
                *due == 0
            });
        Places { top: is_top.then_some(list as u32), band: is_due.then_some(number as u32) }
    }

    /// Keeps a request that has ended.
    pub fn keep(&mut self, served: &Served, places: Places) {
        if !places.is_any() {
            return;
        }
        let kept = Kept { served: served.clone(), until: self.work.pushed + self.begun.pushed, copied: None };
        if let Some(number) = places.band {
            let (band, due) = (&mut self.bands[number as usize], &mut self.due[number as usize]);
            band.kept.push(kept.clone());
            *due = band.stride;
            if band.kept.len() > OF_BAND {
                let mut number = 0;
                band.kept.retain(|_| {
                    number += 1;
                    number % 2 == 0
                });
                band.stride = band.stride.saturating_mul(2);
            }
        }
        let Some(list) = places.top else { return };
        let most = self.most();
        let heights = self.tops[list as usize].iter().map(|kept| self.height(kept.served.latency())).enumerate();
        let lowest = heights.min_by_key(|(_, height)| *height).map(|(at, _)| at);
        let top = &mut self.tops[list as usize];
        match lowest.filter(|_| top.len() == most) {
            Some(lowest) => top[lowest] = kept,
            None => top.push(kept),
        }
        if self.tops[list as usize].len() == most {
            let heights = self.tops[list as usize].iter().map(|kept| self.height(kept.served.latency()));
            self.bars[list as usize] = heights.min().map_or(0, |lowest| lowest.saturating_add(1));
        }
    }

    fn copy_all(&mut self) {
        let is_work = self.want_work();
        let kept = self.tops.iter_mut().flatten();
        for kept in kept.chain(self.bands.iter_mut().flat_map(|band| &mut band.kept)) {
            if kept.copied.is_none() {
                kept.copied = Some(if is_work {
                    let (slices, is_cut_short) = self.work.copy(&kept.served, kept.until);
                    Copied::Work(slices, is_cut_short)
                } else {
                    let (begun, is_cut_short) = self.begun.copy(&kept.served, kept.until);
                    Copied::Begun(begun, is_cut_short)
                });
            }
        }
    }

    /// All that were kept, each once, in no order.
    pub fn finish(mut self) -> Vec<Closeup> {
        self.copy_all();
        let tops = self.tops.into_iter().flatten();
        let mut all: Vec<Kept> = tops.chain(self.bands.into_iter().flat_map(|band| band.kept)).collect();
        all.sort_by_key(|kept| (kept.until, kept.served.number, kept.served.request.arrival));
        all.dedup_by_key(|kept| (kept.until, kept.served.number, kept.served.request.arrival));
        let closeup = |kept: Kept| {
            let (slices, is_cut_short) = match kept.copied {
                Some(Copied::Work(slices, is_cut_short)) => (slices, is_cut_short),
                Some(Copied::Begun(begun, is_cut_short)) => occupancy::slices(&kept.served, &begun, is_cut_short),
                None => Default::default(),
            };
            Closeup { served: kept.served, slices, is_cut_short }
        };
        all.into_iter().map(closeup).collect()
    }
}

impl<T: Clone> Ring<T> {
    /// `size` is a power of two, or nothing.
    fn new(size: usize, nothing: T) -> Self {
        Self { all: vec![nothing; size], pushed: 0 }
    }

    /// Place of the one of this number.
    #[inline]
    fn place(&self, number: u64) -> usize {
        number as usize & self.all.len().wrapping_sub(1)
    }

    /// Adds one. `true`: the next half turn overwrites what is older.
    #[inline]
    fn push(&mut self, new: T) -> bool {
        let at = self.place(self.pushed);
        if let Some(place) = self.all.get_mut(at) {
            *place = new;
        }
        self.pushed += 1;
        self.is_half_a_turn()
    }

    #[inline]
    fn is_half_a_turn(&self) -> bool {
        self.pushed > 0 && self.place(2 * self.pushed) == 0
    }

    fn at(&self, number: u64) -> &T {
        &self.all[self.place(number)]
    }

    /// Those from `from` up to `until`, in two parts: the ring may come round between.
    pub fn range(&self, from: u64, until: u64) -> [&[T]; 2] {
        let [first, end] = [from, until].map(|number| self.place(number));
        match () {
            () if from >= until => [&[], &[]],
            () if first < end => [&self.all[first..end], &[]],
            () => [&self.all[first..], &self.all[..end]],
        }
    }

    pub fn oldest(&self) -> u64 {
        self.pushed.saturating_sub(self.all.len() as u64)
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

impl Ring<Slice> {
    /// All work of a request's time, and whether there was more.
    fn copy(&self, served: &Served, until: u64) -> (Vec<Slice>, bool) {
        let (from, is_cut_short) = self.first(served.request.arrival, until, |slice| slice.end);
        let newest = from.max(until.saturating_sub(MOST as u64));
        (self.range(newest, until).concat(), is_cut_short || newest > from)
    }
}

/// Number of the band of a latency: quarters of octaves.
#[inline]
fn band(latency: Nanos) -> usize {
    let octave = (latency | 4).ilog2();
    (octave as usize * 4 + (latency >> (octave - 2) & 3) as usize).min(BANDS - 1)
}
