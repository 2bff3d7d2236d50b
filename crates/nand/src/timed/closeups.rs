//! Which requests are looked at closely, and what went on in their time.
//!
//! A ring keeps the newest pieces of work. A request that is to be kept notes where the ring stood when it ended; its
//! work is copied only before the ring comes round, if the request is still kept then: most are replaced before.

use super::recorder::{Served, Slice, Work, work_of};
use super::slab::Kind;
use crate::NIL;
use std::collections::HashMap;
use units::{CAUSES, HostOp, Nanos};

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
    /// Of each operation the slowest, and some of every latency, drawn by chance, with what the dies that they used
    /// were occupied by, or all dies, if they used none. A die is occupied by a command from the moment at which
    /// waiting for it is charged to the command: array, transfer, and waiting for the channel. Costs little.
    OfEach,
}

/// What a ring holds; half of it is there for sure when a request is looked at.
const RING: usize = 1 << 13;
/// Most pieces of work of a request.
const MOST: usize = 2000;
/// Most pieces of occupancy of a request, and how far to look back for those that were under way when it came.
const MOST_OCCUPANCY: usize = 400;
const LOOK_BACK: u64 = 512;
/// Slowest requests of each operation, with [`Choice::OfEach`].
const SLOWEST: usize = 20;
/// Requests of each band of latencies. A band is a quarter of an octave.
const OF_BAND: usize = 8;
const BANDS: usize = 256;

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
    pub fn is_any(self) -> bool {
        self.top.is_some() || self.band.is_some()
    }
}

/// A die begins something, or has nothing to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    pub at: Nanos,
    pub page: u32,
    /// As that of a slice.
    pub request: u32,
    pub die: u16,
    pub kind: Option<Kind>,
    pub cause: u8,
}

/// The newest of something that comes in order of time.
#[derive(Clone, Debug)]
struct Ring<T> {
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
    copied: Option<(Vec<Slice>, bool)>,
}

/// The highest requests of a list, in no order.
#[derive(Clone, Debug, Default)]
struct Top {
    kept: Vec<Kept>,
    /// Where there are enough: a request has to be higher.
    bar: u64,
    has_room: bool,
}

/// Some of a band of latencies, evenly over all of them: every second one, fourth one and so on. When there are too
/// many, every second one goes.
#[derive(Clone, Debug, Default)]
struct Band {
    seen: u64,
    /// All but as many bits as the number of a request that is kept has zeros at its end.
    mask: u64,
    kept: Vec<Kept>,
}

#[derive(Clone, Debug)]
pub(super) struct Closeups {
    choice: Choice,
    /// What arrays and channels did, in order of its end.
    work: Ring<Slice>,
    /// What dies began.
    begun: Ring<Begun>,
    tops: Vec<Top>,
    bands: Vec<Band>,
}

impl Closeups {
    pub fn new(choice: Choice) -> Self {
        let operations = HostOp::ALL.len();
        let (tops, bands) = match choice {
            Choice::Nobody => (0, 0),
            Choice::Slowest(_) | Choice::Nearest(..) => (1, 0),
            Choice::OfEach => (operations, operations * BANDS),
        };
        let nothing = Begun { at: 0, page: NIL, request: NIL, die: 0, kind: None, cause: 0 };
        Self {
            choice,
            work: Ring::new(choice != Choice::Nobody && bands == 0, Slice::of(&nothing)),
            begun: Ring::new(bands > 0, nothing),
            tops: vec![Top { has_room: true, ..Top::default() }; tops],
            bands: vec![Band::default(); bands],
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
        let list = if self.tops.len() > 1 { op.index() } else { 0 };
        let height = self.height(latency);
        let is_top = self.tops.get(list).is_some_and(|top| height > top.bar || top.has_room);
        let number = op.index() * BANDS + band(latency);
        let band = self.bands.get_mut(number).and_then(|band| {
            band.seen += 1;
            (band.seen & band.mask == 0).then_some(number as u32)
        });
        Places { top: is_top.then_some(list as u32), band }
    }

    /// Keeps a request that has ended.
    pub fn keep(&mut self, served: &Served, places: Places) {
        let kept = Kept { served: served.clone(), until: self.work.pushed + self.begun.pushed, copied: None };
        if let Some(number) = places.band {
            let band = &mut self.bands[number as usize];
            band.kept.push(kept.clone());
            if band.kept.len() > OF_BAND {
                let mut number = 0;
                band.kept.retain(|_| {
                    number += 1;
                    number % 2 == 0
                });
                band.mask = band.mask << 1 | 1;
            }
        }
        let Some(list) = places.top else { return };
        let heights: Vec<u64> =
            self.tops[list as usize].kept.iter().map(|kept| self.height(kept.served.latency())).collect();
        let (most, height) = (self.most(), self.height(served.latency()));
        let top = &mut self.tops[list as usize];
        let lowest = (0..heights.len()).min_by_key(|at| heights[*at]).filter(|_| heights.len() == most);
        let others = (0..heights.len()).filter(|at| Some(*at) != lowest).map(|at| heights[at]);
        let bar = others.chain([height]).min().unwrap_or(0);
        match lowest {
            Some(lowest) => top.kept[lowest] = kept,
            None => top.kept.push(kept),
        }
        if top.kept.len() == most {
            (top.bar, top.has_room) = (bar, false);
        }
    }

    fn copy_all(&mut self) {
        let is_work = self.want_work();
        let kept = self.tops.iter_mut().flat_map(|top| &mut top.kept);
        for kept in kept.chain(self.bands.iter_mut().flat_map(|band| &mut band.kept)) {
            if kept.copied.is_none() {
                kept.copied = Some(if is_work {
                    self.work.copy(&kept.served, kept.until)
                } else {
                    self.begun.copy(&kept.served, kept.until)
                });
            }
        }
    }

    /// All that were kept, each once, in no order.
    pub fn finish(mut self) -> Vec<Closeup> {
        self.copy_all();
        let tops = self.tops.into_iter().flat_map(|top| top.kept);
        let mut all: Vec<Kept> = tops.chain(self.bands.into_iter().flat_map(|band| band.kept)).collect();
        all.sort_by_key(|kept| (kept.until, kept.served.number, kept.served.request.arrival));
        all.dedup_by_key(|kept| (kept.until, kept.served.number, kept.served.request.arrival));
        let closeup = |kept: Kept| {
            let (slices, is_cut_short) = kept.copied.unwrap_or_default();
            Closeup { served: kept.served, slices, is_cut_short }
        };
        all.into_iter().map(closeup).collect()
    }
}

impl<T: Clone> Ring<T> {
    fn new(is_used: bool, nothing: T) -> Self {
        Self { all: vec![nothing; if is_used { RING } else { 0 }], pushed: 0 }
    }

    /// Adds one. `true`: the next half turn overwrites what is older.
    #[inline]
    fn push(&mut self, new: T) -> bool {
        let at = self.pushed as usize & (RING - 1);
        if let Some(place) = self.all.get_mut(at) {
            *place = new;
        }
        self.pushed += 1;
        self.is_half_a_turn()
    }

    #[inline]
    fn is_half_a_turn(&self) -> bool {
        self.pushed as usize & (RING / 2 - 1) == 0 && self.pushed > 0
    }

    fn at(&self, number: u64) -> &T {
        &self.all[number as usize & (RING - 1)]
    }

    fn oldest(&self) -> u64 {
        self.pushed.saturating_sub(RING as u64)
    }

    /// The first of those before `until` that is not before a moment, and whether older ones that are not there may be.
    fn first(&self, moment: Nanos, until: u64, time: impl Fn(&T) -> Nanos) -> (u64, bool) {
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
        ((newest..until).map(|number| *self.at(number)).collect(), is_cut_short || newest > from)
    }
}

impl Ring<Begun> {
    /// What dies were occupied by in a request's time, and whether there was more: those that it used, or all. Each
    /// goes on until the next beginning on its die.
    fn copy(&self, served: &Served, until: u64) -> (Vec<Slice>, bool) {
        let arrival = served.request.arrival;
        let (from, is_cut_short) = self.first(arrival, until, |begun| begun.at);
        // A number is given again when its request has ended: it may have been another one's before.
        let is_its = |begun: &Begun| begun.request == served.number && begun.at >= arrival + served.queue_ns;
        let look_back = self.oldest().max(from.saturating_sub(LOOK_BACK));
        let dies = |from: u64, is_wanted: &dyn Fn(&Begun) -> bool| {
            let wanted = (from..until).map(|number| self.at(number)).filter(|begun| is_wanted(begun));
            let mut dies: Vec<u16> = wanted.map(|begun| begun.die).collect();
            dies.sort_unstable();
            dies.dedup();
            dies
        };
        let own = dies(from, &is_its);
        let dies = if own.is_empty() { dies(look_back, &|_| true) } else { own };
        // By die: the place of what it began last.
        let mut last: Vec<Option<usize>> = vec![None; dies.len()];
        let mut slices: Vec<Slice> = Vec::new();
        for begun in (look_back..until).map(|number| self.at(number)) {
            let Ok(die) = dies.binary_search(&begun.die) else { continue };
            let request = if is_its(begun) { served.number } else { NIL };
            if let Some(before) = last[die].map(|at| &mut slices[at]) {
                if before.begin == begun.at && before.pages > 0 && begun.kind.is_some() {
                    before.pages = before.pages.saturating_add(1);
                    before.request = before.request.min(request);
                    continue;
                }
                before.end = begun.at;
            }
            last[die] = Some(slices.len());
            slices.push(Slice { end: served.end, request, ..Slice::of(begun) });
        }
        slices.retain(|slice| slice.pages > 0 && slice.end > slice.begin.max(arrival));
        if slices.len() > MOST_OCCUPANCY {
            slices = summed_up(&slices);
        }
        let too_many = slices.len().saturating_sub(MOST_OCCUPANCY);
        (slices.split_off(too_many), is_cut_short || too_many > 0)
    }
}

/// What a die did without a pause for one cause, and for other requests, as one piece.
fn summed_up(slices: &[Slice]) -> Vec<Slice> {
    let mut all: Vec<Slice> = Vec::new();
    let mut last: HashMap<u16, usize> = HashMap::new();
    for slice in slices {
        let before = last.get(&slice.track).map(|at| &mut all[*at]);
        match before.filter(|before| {
            before.end == slice.begin && before.cause == slice.cause && before.request == slice.request
        }) {
            Some(before) if slice.request == NIL => {
                before.end = slice.end;
                before.pages = before.pages.saturating_add(slice.pages);
                before.work = if before.work == slice.work { slice.work } else { Work::Mixed };
            }
            _ => {
                last.insert(slice.track, all.len());
                all.push(*slice);
            }
        }
    }
    all
}

impl Slice {
    /// The beginning of what a die does.
    fn of(begun: &Begun) -> Slice {
        Slice {
            begin: begun.at,
            end: begun.at,
            page: begun.page,
            request: begun.request,
            track: begun.die,
            pages: u16::from(begun.kind.is_some()),
            is_interrupted: false,
            work: begun.kind.map_or(Work::Read, work_of),
            cause: CAUSES[begun.cause as usize],
        }
    }
}

/// Number of the band of a latency: quarters of octaves.
#[inline]
fn band(latency: Nanos) -> usize {
    let octave = (latency | 4).ilog2();
    (octave as usize * 4 + (latency >> (octave - 2) & 3) as usize).min(BANDS - 1)
}
