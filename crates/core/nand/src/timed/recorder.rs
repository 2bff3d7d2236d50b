//! What dies and channels did and when, for timelines: nothing in a run depends on it.
//!
//! Work within a window of time is kept as it ends; single requests are looked at closely (see [`closeups`]). Both
//! are bounded.
//!
//! [`closeups`]: super::closeups

use super::TimedFlash;
use super::bus::COMMAND;
use super::closeups::{Choice, Closeup, WithOccupancy, WithWork};
use super::join::Joins;
use super::occupancy::Begun;
use super::slab::{Kind, Slot, What, flag};
use crate::NIL;
use crate::flash::{Owner, WaitVector, each_kind};
use units::{CAUSES, Cause, HostOp, Nanos, Request, WAIT_KINDS, Wait};

/// Time before and after a window in which work is followed, ns: what began earlier is drawn from then, and what ends
/// later is not drawn.
const AROUND: Nanos = 100_000_000;

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
    /// Several of these, one after the other.
    Mixed,
}

/// One piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// When it began, ns.
    pub begin: Nanos,
    /// When it ended, or was interrupted.
    pub end: Nanos,
    /// The first flash page it is about; `u32::MAX` where that is not kept.
    pub page: u32,
    /// The host request it is a command of, by its number in the drive; `u32::MAX`: of none, or of more than one.
    pub request: u32,
    /// A die; after all dies a channel, with its transfers; after all channels a layer ([`RecorderPlan::layers`]), with
    /// the commands that it asked for, each from then to its end.
    pub track: u16,
    /// Pages it is about.
    pub pages: u16,
    /// It was done together with the piece before it: other pages of the same die at the same time.
    pub is_beside: bool,
    /// It was interrupted, and goes on later.
    pub is_interrupted: bool,
    /// What was done.
    pub work: Work,
    /// For whom.
    pub cause: Cause,
}

/// Who is said to have kept a request waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The command that was directly before it.
    Direct,
    /// What that command had waited for itself, where it had waited.
    Root,
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
    /// What it waited for since the drive took it; `None`: for nothing.
    pub waited: Option<WaitVector>,
    /// From its arrival until the drive took it.
    pub queue_ns: Nanos,
}

impl Served {
    /// Its latency, ns.
    pub fn latency(&self) -> Nanos {
        self.end - self.request.arrival
    }

    /// What it waited for, the host's queue included: those kinds alone that it waited for, with
    /// their names and times, ns.
    pub fn waits(&self, by: Blame) -> impl Iterator<Item = (&'static str, Nanos)> {
        let mut waited = [0; WAIT_KINDS];
        let on_flash = self.waited.as_ref();
        each_kind(on_flash.map_or(0, |waits| waits.kinds), |kind| {
            waited[kind] = on_flash.map_or(0, |waits| waits.entries[kind][by as usize]);
        });
        waited[Wait::Queue.index()] += self.queue_ns;
        let named = waited.into_iter().enumerate().map(|(kind, ns)| (Wait::name_at(kind), ns));
        named.filter(|(_, ns)| *ns > 0)
    }
}

/// What is to be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecorderPlan {
    /// Everything between these moments, ns of simulated time.
    pub window: Option<[Nanos; 2]>,
    /// Most pieces of work, and most requests, that are kept of the window.
    pub most: usize,
    /// Requests that are looked at closely.
    pub closeups: Choice,
    /// As [`Choice::OfEach`], beside these.
    pub samples: bool,
    /// Owner of the host's requests.
    pub host: Owner,
    /// Layers that have a track of their own: so many owners from the highest number down. All others have one more.
    pub layers: u16,
}

/// Takes down what dies, channels and requests do.
#[derive(Clone, Debug)]
pub struct Recorder {
    plan: RecorderPlan,
    /// By die and channel: when what it does now began.
    begun: Vec<Nanos>,
    /// When work began to be recorded, and by slot when its command was asked for.
    started: Nanos,
    asked: Vec<Nanos>,
    closely: Option<WithWork>,
    sampled: Option<WithOccupancy>,
    /// Work of the window, in order of its end.
    pub slices: Vec<Slice>,
    /// Requests of the window, in order of their end.
    pub served: Vec<Served>,
    /// The window had more than is kept.
    pub is_cut_short: bool,
    /// Requests that were looked at closely, in no order; there once the recording was taken.
    pub closeups: Vec<Closeup>,
    /// The same of the samples.
    pub samples: Vec<Closeup>,
}

impl Recorder {
    fn new(plan: RecorderPlan, tracks: usize, started: Nanos) -> Self {
        Self {
            plan,
            begun: vec![started; tracks],
            started,
            asked: Vec::new(),
            closely: WithWork::new(plan.closeups),
            sampled: WithOccupancy::new(if plan.samples { Choice::OfEach } else { Choice::Nobody }),
            slices: Vec::new(),
            served: Vec::new(),
            is_cut_short: false,
            closeups: Vec::new(),
            samples: Vec::new(),
        }
    }

    #[inline]
    fn is_within(&self, begin: Nanos, end: Nanos) -> bool {
        self.plan.window.is_some_and(|[from, to]| begin < to && end >= from)
    }

    /// Whether work that ends now is kept at all.
    #[inline]
    fn wants(&self, begun: Nanos, now: Nanos) -> bool {
        self.closely.is_some() || self.is_within(begun, now)
    }

    #[inline]
    fn take(&mut self, slice: Slice) {
        if let Some(closely) = &mut self.closely
            && closely.push(slice)
        {
            closely.copy_all();
        }
        if self.is_within(slice.begin, slice.end) {
            if self.slices.len() < self.plan.most {
                self.slices.push(slice);
            } else {
                self.is_cut_short = true;
            }
        }
    }

    /// Whether a request that arrived and ended then is kept: to be asked once for each.
    #[inline]
    pub fn wants_request(&mut self, op: HostOp, arrival: Nanos, end: Nanos) -> bool {
        let latency = end - arrival;
        let is_close = self.closely.as_mut().is_some_and(|closely| closely.wants(op, latency));
        let is_sampled = self.sampled.as_mut().is_some_and(|sampled| sampled.wants(op, latency));
        is_close || is_sampled || self.is_within(arrival, end)
    }

    /// A request has ended that is wanted.
    pub fn serve(&mut self, served: Served) {
        if let Some(closely) = &mut self.closely {
            closely.keep(&served);
        }
        if let Some(sampled) = &mut self.sampled {
            sampled.keep(&served);
        }
        if self.is_within(served.request.arrival, served.end) {
            if self.served.len() < self.plan.most {
                self.served.push(served);
            } else {
                self.is_cut_short = true;
            }
        }
    }
}

impl TimedFlash {
    /// Records from now on.
    pub fn record(&mut self, plan: RecorderPlan) {
        self.records_occupancy = plan.samples;
        self.records_work = plan.window.is_some() || plan.closeups != Choice::Nobody;
        self.work_span = match plan.window {
            Some([from, to]) if plan.closeups == Choice::Nobody => {
                [from.saturating_sub(AROUND).max(self.schedule.now), to.saturating_add(AROUND)]
            }
            _ => [self.schedule.now, Nanos::MAX],
        };
        self.recorder = Some(Box::new(Recorder::new(plan, self.tracks(), self.work_span[0])));
    }

    /// Whether work may be kept: near a window, and always where requests are looked at closely.
    #[inline(always)]
    fn keeps_work(&self) -> bool {
        self.records_work && (self.work_span[0]..self.work_span[1]).contains(&self.schedule.now)
    }

    /// Dies and channels.
    fn tracks(&self) -> usize {
        self.dies.len() + self.channels.len()
    }

    /// What is being recorded, if anything is.
    #[inline]
    pub fn recorder(&mut self) -> Option<&mut Recorder> {
        self.recorder.as_deref_mut()
    }

    /// What was recorded; nothing more is.
    pub fn take_recording(&mut self) -> Option<Box<Recorder>> {
        (self.records_work, self.records_occupancy) = (false, false);
        let mut recorder = self.recorder.take()?;
        recorder.closeups = recorder.closely.take().map_or_else(Vec::new, WithWork::finish);
        recorder.samples = recorder.sampled.take().map_or_else(Vec::new, WithOccupancy::finish);
        Some(recorder)
    }

    /// The array of a die begins, or goes on.
    #[inline]
    pub(super) fn array_begins(&mut self, die: usize) {
        if let (true, Some(recorder)) = (self.keeps_work(), &mut self.recorder) {
            recorder.begun[die] = self.schedule.now;
        }
    }

    /// The array of a die has ended what a gang asked for, or was interrupted at it.
    #[inline]
    pub(super) fn array_ends(&mut self, die: usize, gang: u32, is_interrupted: bool) {
        if self.wants_work_of(die) {
            let work = work_of(self.slab.get(gang).kind);
            self.note(die, gang, work, is_interrupted);
        }
    }

    /// A channel begins to serve a die.
    #[inline]
    pub(super) fn channel_begins(&mut self, channel: usize) {
        if let (true, Some(recorder)) = (self.keeps_work(), &mut self.recorder) {
            recorder.begun[self.dies.len() + channel] = self.schedule.now;
        }
    }

    /// A channel has served a die.
    #[inline]
    pub(super) fn channel_ends(&mut self, channel: usize, die: usize) {
        if self.wants_work_of(self.dies.len() + channel) {
            self.note_transfer(channel, die);
        }
    }

    #[inline]
    fn wants_work_of(&self, track: usize) -> bool {
        let wants = |recorder: &Recorder| recorder.wants(recorder.begun[track], self.schedule.now);
        self.keeps_work() && self.recorder.as_deref().is_some_and(wants)
    }

    #[inline]
    fn note_transfer(&mut self, channel: usize, die: usize) {
        let is_command = self.channels[channel].serving & COMMAND != 0;
        let id = if is_command { self.dies[die].array } else { self.dies[die].moving };
        let work = match self.slab.get(id).kind {
            _ if is_command => Work::Command,
            Kind::Read => Work::DataOut,
            _ => Work::DataIn,
        };
        self.note(self.dies.len() + channel, id, work, false);
    }

    /// Takes down what a track did for a gang, or on a channel for one of its members, until now.
    #[inline(never)]
    fn note(&mut self, track: usize, first: u32, work: Work, is_interrupted: bool) {
        let Some(recorder) = &mut self.recorder else { return };
        let is_die = track < self.dies.len();
        let (begin, end, track) = (recorder.begun[track], self.schedule.now, track as u16);
        let mut next = first;
        while next != NIL {
            let slot = self.slab.get(next);
            let slice = slice_of(slot, &self.joins, recorder.plan.host);
            recorder.take(Slice { begin, end, track, work, is_interrupted, is_beside: next != first, ..slice });
            next = if is_die { slot.next } else { NIL };
        }
    }

    /// A layer has asked for a command.
    #[inline(always)]
    pub(super) fn command_begins(&mut self, id: u32) {
        if self.keeps_work() {
            self.note_asked(id);
        }
    }

    #[cold]
    #[inline(never)]
    fn note_asked(&mut self, id: u32) {
        let Some(recorder) = &mut self.recorder else { return };
        if recorder.asked.len() <= id as usize {
            recorder.asked.resize(id as usize + 1, recorder.started);
        }
        recorder.asked[id as usize] = self.schedule.now;
    }

    /// A command has ended, or was taken back: its slot is free.
    #[inline(always)]
    pub(super) fn retire(&mut self, id: u32) {
        self.command_ends(id);
        self.slab.remove(id);
    }

    /// A command has ended, or is taken back and leaves its join: the first time counts.
    #[inline(always)]
    pub(super) fn command_ends(&mut self, id: u32) {
        if self.keeps_work() {
            self.note_command(id);
        }
    }

    /// Its join may have ended with it: that is as it was until another one opens.
    #[cold]
    #[inline(never)]
    fn note_command(&mut self, id: u32) {
        let tracks = self.tracks();
        let Some(recorder) = &mut self.recorder else { return };
        if recorder.asked.len() <= id as usize {
            recorder.asked.resize(id as usize + 1, recorder.started);
        }
        let begin = std::mem::replace(&mut recorder.asked[id as usize], Nanos::MAX);
        let slot = self.slab.get(id);
        // Who waits for a page to be programmed asks for no read.
        if begin == Nanos::MAX || slot.what == What::Answered || !recorder.wants(begin, self.schedule.now) {
            return;
        }
        let is_of_join = slot.flags & flag::JOIN != 0;
        let owner = if is_of_join { self.joins.get(slot.completion).owner } else { slot.owner };
        let track = tracks as u16 + (Owner::MAX - owner).min(recorder.plan.layers);
        let slice = slice_of(slot, &self.joins, recorder.plan.host);
        recorder.take(Slice { begin, end: self.schedule.now, track, ..slice });
    }

    /// A die works for a gang from now on, and for a cause.
    #[inline(always)]
    pub(super) fn occupy(&mut self, die: usize, gang: u32, [cause, root]: [u8; 2]) {
        self.meters[die].occupy(self.schedule.now, cause, root);
        if self.records_occupancy {
            self.note_occupied(die, gang, cause);
        }
    }

    /// A die has nothing to do.
    #[inline(always)]
    pub(super) fn vacate(&mut self, die: usize) {
        if self.records_occupancy && self.meters[die].is_occupied() {
            self.note_vacant(die);
        }
        self.meters[die].vacate(self.schedule.now);
    }

    /// Nothing but the ends calls anything, so that no register has to be kept: most gangs are one command.
    #[cold]
    #[inline(never)]
    fn note_occupied(&mut self, die: usize, gang: u32, cause: u8) {
        let Some(recorder) = self.recorder.as_deref_mut() else { return };
        let host = recorder.plan.host;
        let Some(sampled) = &mut recorder.sampled else { return };
        let slot = self.slab.get(gang);
        let (kind, next, request) = (slot.kind, slot.next, request_of(slot, &self.joins, host));
        let begun = Begun { at: self.schedule.now, request, die: die as u16, kind: Some(kind), cause };
        if sampled.push(begun) || next != NIL {
            self.go_on_noting(die, next, cause);
        }
    }

    /// The other members of a gang, and what is due after half a turn of the ring.
    #[inline(never)]
    fn go_on_noting(&mut self, die: usize, next: u32, cause: u8) {
        let Some(sampled) = self.recorder.as_mut().and_then(|recorder| recorder.sampled.as_mut()) else { return };
        sampled.copy_if_due();
        if next != NIL {
            self.note_occupied(die, next, cause);
        }
    }

    #[cold]
    #[inline(never)]
    fn note_vacant(&mut self, die: usize) {
        let Some(recorder) = self.recorder.as_deref_mut() else { return };
        let Some(sampled) = &mut recorder.sampled else { return };
        if sampled.push(Begun { at: self.schedule.now, die: die as u16, ..Begun::NOTHING }) {
            sampled.copy_all();
        }
    }
}

/// The host's request that a command is of, by its number.
#[inline]
fn request_of(slot: &Slot, joins: &Joins, host: Owner) -> u32 {
    if slot.flags & flag::JOIN == 0 {
        return NIL;
    }
    let join = joins.get(slot.completion);
    if join.owner == host { join.token } else { NIL }
}

/// A command by itself, without times and track.
fn slice_of(slot: &Slot, joins: &Joins, host: Owner) -> Slice {
    let pages = if slot.kind == Kind::Gathered { slot.held() } else { 1 };
    Slice {
        begin: 0,
        end: 0,
        page: slot.page,
        request: request_of(slot, joins, host),
        track: 0,
        pages: u16::try_from(pages).unwrap_or(u16::MAX),
        is_beside: false,
        is_interrupted: false,
        work: work_of(slot.kind),
        cause: CAUSES[slot.cause as usize],
    }
}

pub(super) fn work_of(kind: Kind) -> Work {
    match kind {
        Kind::Read => Work::Read,
        Kind::Program | Kind::Gathered => Work::Program,
        Kind::Copyback => Work::Copyback,
        Kind::Erase => Work::Erase,
    }
}
