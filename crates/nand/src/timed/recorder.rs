//! What dies and channels did and when, for timelines: nothing in a run depends on it.
//!
//! A ring keeps the newest pieces of work. When a request of the host ends that is among the slowest, what the ring
//! holds of its time is copied; work within a window of time is kept as it ends. Both are bounded.

use super::TimedFlash;
use super::bus::COMMAND;
use super::slab::{Kind, flag};
use crate::NIL;
use crate::flash::{Owner, WaitVector};
use std::collections::VecDeque;
use units::{CAUSES, Cause, Nanos, Request};

/// What a die or a channel did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Work {
    /// Cells were read into the page register.
    Read,
    /// The page register was programmed into cells.
    Program,
    /// A page was read and programmed within its plane.
    Copyback,
    /// A block was erased.
    Erase,
    /// A page moved from the die to the controller.
    DataOut,
    /// A page moved from the controller to the die.
    DataIn,
    /// Command and address cycles.
    Command,
}

/// One piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// When it began, ns.
    pub begin: Nanos,
    /// When it ended, or was interrupted.
    pub end: Nanos,
    /// The first flash page it is about.
    pub page: u32,
    /// The host request it is a command of, by its number in the drive; `u32::MAX`: of none, or of more than one.
    pub request: u32,
    /// A die, or after all dies a channel.
    pub track: u16,
    /// Pages it is about.
    pub pages: u8,
    /// It was interrupted, and goes on later.
    pub is_interrupted: bool,
    /// What was done.
    pub work: Work,
    /// For whom.
    pub cause: Cause,
}

/// A request of the host that has ended.
#[derive(Clone, Debug)]
pub struct Served {
    /// Its number in the drive, which other requests have before and after it.
    pub number: u32,
    /// What it was; `arrival` in simulated time.
    pub request: Request,
    /// When it ended, ns.
    pub end: Nanos,
    /// What it waited for on flash; nothing: its commands waited for nothing.
    pub waited: Option<WaitVector>,
    /// Time until the drive took it.
    pub queue_ns: Nanos,
    /// Time until there was room for it.
    pub space_ns: Nanos,
}

impl Served {
    /// Its latency, ns.
    pub fn latency(&self) -> Nanos {
        self.end - self.request.arrival
    }
}

/// A request, and what dies and channels did while it was under way.
#[derive(Clone, Debug)]
pub struct Closeup {
    /// The request.
    pub served: Served,
    /// In order of their ends; those of all dies and channels.
    pub slices: Vec<Slice>,
    /// More was done in its time than is kept.
    pub is_cut_short: bool,
}

/// What is to be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecorderPlan {
    /// Everything between these moments, ns of simulated time.
    pub window: Option<[Nanos; 2]>,
    /// Most pieces of work, and most requests, that are kept of the window.
    pub most: usize,
    /// So many of the slowest requests, or of those nearest to `near`.
    pub slowest: usize,
    /// A latency, ns.
    pub near: Option<Nanos>,
    /// Owner of the host's requests.
    pub host: Owner,
}

/// Pieces of work that the ring holds, and that a closeup may have.
const RING: usize = 1 << 13;
const CLOSEUP: usize = 2000;

/// Takes down what dies, channels and requests do.
#[derive(Clone, Debug)]
pub struct Recorder {
    plan: RecorderPlan,
    /// By die and channel: when what it does now began.
    begun: Vec<Nanos>,
    ring: VecDeque<Slice>,
    /// Work of the window, in order of its end.
    pub slices: Vec<Slice>,
    /// Requests of the window, in order of their end.
    pub served: Vec<Served>,
    /// The window had more than is kept.
    pub is_cut_short: bool,
    /// The slowest requests, or those nearest to a latency, in no order.
    pub slowest: Vec<Closeup>,
    /// A request has to be higher than this to be among them.
    bar: u64,
}

impl Recorder {
    fn new(plan: RecorderPlan, tracks: usize) -> Self {
        Self {
            plan,
            begun: vec![0; tracks],
            ring: VecDeque::with_capacity(if plan.slowest > 0 { RING } else { 0 }),
            slices: Vec::new(),
            served: Vec::new(),
            is_cut_short: false,
            slowest: Vec::new(),
            bar: 0,
        }
    }

    /// The higher, the sooner a request of this latency is kept.
    fn height(&self, latency: Nanos) -> u64 {
        self.plan.near.map_or(latency, |near| u64::MAX - near.abs_diff(latency))
    }

    #[inline]
    fn is_within(&self, begin: Nanos, end: Nanos) -> bool {
        self.plan.window.is_some_and(|[from, to]| begin < to && end >= from)
    }

    /// Whether work on a track that ends now is kept at all.
    #[inline]
    fn wants(&self, track: usize, now: Nanos) -> bool {
        self.plan.slowest > 0 || self.is_within(self.begun[track], now)
    }

    fn take(&mut self, slice: Slice) {
        if self.plan.slowest > 0 {
            if self.ring.len() == RING {
                self.ring.pop_front();
            }
            self.ring.push_back(slice);
        }
        if self.is_within(slice.begin, slice.end) {
            if self.slices.len() < self.plan.most {
                self.slices.push(slice);
            } else {
                self.is_cut_short = true;
            }
        }
    }

    /// A request has ended.
    pub fn serve(&mut self, served: Served) {
        let is_higher = self.height(served.latency()) > self.bar;
        if self.plan.slowest > 0 && (is_higher || self.slowest.len() < self.plan.slowest) {
            self.keep_closeup(&served);
        }
        if self.is_within(served.request.arrival, served.end) {
            if self.served.len() < self.plan.most {
                self.served.push(served);
            } else {
                self.is_cut_short = true;
            }
        }
    }

    #[cold]
    fn keep_closeup(&mut self, served: &Served) {
        if self.slowest.len() == self.plan.slowest {
            let lowest = (0..self.slowest.len()).min_by_key(|at| self.height(self.slowest[*at].served.latency()));
            self.slowest.swap_remove(lowest.expect("at least one is kept"));
        }
        let begin = served.request.arrival;
        let of_it = self.ring.iter().rev().take_while(|slice| slice.end >= begin);
        let mut slices: Vec<Slice> = of_it.take(CLOSEUP + 1).copied().collect();
        let all_that_is_left = self.ring.len() == RING && self.ring.front().is_some_and(|first| first.end >= begin);
        let is_cut_short = slices.len() > CLOSEUP || all_that_is_left;
        slices.truncate(CLOSEUP);
        slices.reverse();
        self.slowest.push(Closeup { served: served.clone(), slices, is_cut_short });
        if self.slowest.len() == self.plan.slowest {
            let heights = self.slowest.iter().map(|closeup| self.height(closeup.served.latency()));
            self.bar = heights.min().unwrap_or(0);
        }
    }
}

impl TimedFlash {
    /// Records from now on.
    pub fn record(&mut self, plan: RecorderPlan) {
        let tracks = self.dies.len() + self.channels.len();
        self.recorder = Some(Box::new(Recorder::new(plan, tracks)));
    }

    /// What is being recorded, if anything is.
    #[inline]
    pub fn recorder(&mut self) -> Option<&mut Recorder> {
        self.recorder.as_deref_mut()
    }

    /// What was recorded; nothing more is.
    pub fn take_recording(&mut self) -> Option<Box<Recorder>> {
        self.recorder.take()
    }

    /// The array of a die begins, or goes on.
    #[inline]
    pub(super) fn array_begins(&mut self, die: usize) {
        if let Some(recorder) = &mut self.recorder {
            recorder.begun[die] = self.now;
        }
    }

    /// The array of a die has ended what a gang asked for, or was interrupted at it.
    #[inline]
    pub(super) fn array_ends(&mut self, die: usize, gang: u32, is_interrupted: bool) {
        if self.recorder.as_ref().is_some_and(|recorder| recorder.wants(die, self.now)) {
            let work = match self.slab.get(gang).kind {
                Kind::Read => Work::Read,
                Kind::Program | Kind::Gathered => Work::Program,
                Kind::Copyback => Work::Copyback,
                Kind::Erase => Work::Erase,
            };
            self.note(die, die, gang, work, is_interrupted);
        }
    }

    /// A channel begins to serve a die.
    #[inline]
    pub(super) fn channel_begins(&mut self, channel: usize) {
        if let Some(recorder) = &mut self.recorder {
            recorder.begun[self.dies.len() + channel] = self.now;
        }
    }

    /// A channel has served a die.
    #[inline]
    pub(super) fn channel_ends(&mut self, channel: usize, die: usize) {
        let track = self.dies.len() + channel;
        if self.recorder.as_ref().is_some_and(|recorder| recorder.wants(track, self.now)) {
            self.note_transfer(channel, die);
        }
    }

    #[inline(never)]
    fn note_transfer(&mut self, channel: usize, die: usize) {
        let is_command = self.channels[channel].serving & COMMAND != 0;
        let id = if is_command { self.dies[die].array } else { self.dies[die].moving };
        let work = match self.slab.get(id).kind {
            _ if is_command => Work::Command,
            Kind::Read => Work::DataOut,
            _ => Work::DataIn,
        };
        self.note(self.dies.len() + channel, die, id, work, false);
    }

    #[inline(never)]
    fn note(&mut self, track: usize, die: usize, first: u32, work: Work, is_interrupted: bool) {
        let Some(mut recorder) = self.recorder.take() else { return };
        let slot = self.slab.get(first);
        let of_host = |id: u32| {
            let slot = self.slab.get(id);
            let join = (slot.flags & flag::JOIN != 0).then(|| self.joins.get(slot.completion));
            join.filter(|join| join.owner == recorder.plan.host).map_or(NIL, |join| join.token)
        };
        let request = of_host(first);
        let is_gang = track == die && slot.next != NIL;
        let pages = if is_gang { self.chain(first).count() } else { 1 };
        let is_one = !is_gang || self.chain(first).all(|id| of_host(id) == request);
        recorder.take(Slice {
            begin: recorder.begun[track],
            end: self.now,
            page: slot.page,
            request: if is_one { request } else { NIL },
            track: track as u16,
            pages: pages.min(255) as u8,
            is_interrupted,
            work,
            cause: CAUSES[slot.cause as usize],
        });
        self.recorder = Some(recorder);
    }
}
