//! The work of dies and channels over time, for timelines: nothing in a run depends on it.
//!
//! Work within a window of time is kept as it ends; single requests are looked at closely (see [`closeups`]). Both
//! are bounded.
//!
//! [`closeups`]: super::closeups

use super::super::commands::{Commands, Kind, Slot};
use super::closeups::{Choice, Closeup, WithOccupancy, WithWork};
use crate::NIL;
use crate::flash::{Owner, WaitVector, each_kind};
use units::{CAUSES, Cause, HostOp, Nanos, Request, WAIT_KINDS, Wait};

/// A piece of work of a die or a channel.
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
    /// The kind of the work.
    pub work: Work,
    /// The cause of the work.
    pub cause: Cause,
}

impl Slice {
    pub(super) const NOTHING: Slice = Slice {
        begin: 0,
        end: 0,
        page: NIL,
        request: NIL,
        track: 0,
        pages: 0,
        is_beside: false,
        is_interrupted: false,
        work: Work::Read,
        cause: Cause::Host,
    };
}

/// The kind of waiting that is told of a request.
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
    /// Its operation; `arrival` in simulated time.
    pub request: Request,
    /// When it ended, ns.
    pub end: Nanos,
    /// Its waiting since the drive took it; `None`: for nothing.
    pub waited: Option<WaitVector>,
    /// From its arrival until the drive took it.
    pub queue_ns: Nanos,
}

impl Served {
    /// Time from arrival to the end, ns.
    pub fn latency(&self) -> Nanos {
        self.end - self.request.arrival
    }

    /// Its kinds of waiting, the host's queue included, with their names and times, ns. Kinds that
    /// it did not wait for are left out.
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

/// The kind of recording.
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
    pub(super) plan: RecorderPlan,
    /// By die and channel: when what it does now began.
    pub(super) begun: Vec<Nanos>,
    /// When work began to be recorded, and by slot when its command was asked for.
    started: Nanos,
    asked: Vec<Nanos>,
    closely: Option<WithWork>,
    pub(super) sampled: Option<WithOccupancy>,
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
    pub(super) fn new(plan: RecorderPlan, tracks: usize, started: Nanos) -> Self {
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

    /// When a slot's command was asked for; `Nanos::MAX`: that was told already.
    pub(super) fn asked_at(&mut self, id: u32) -> &mut Nanos {
        if self.asked.len() <= id as usize {
            self.asked.resize(id as usize + 1, self.started);
        }
        &mut self.asked[id as usize]
    }

    pub(super) fn finish(&mut self) {
        self.closeups = self.closely.take().map_or_else(Vec::new, WithWork::finish);
        self.samples = self.sampled.take().map_or_else(Vec::new, WithOccupancy::finish);
    }

    #[inline]
    fn is_within(&self, begin: Nanos, end: Nanos) -> bool {
        self.plan.window.is_some_and(|[from, to]| begin < to && end >= from)
    }

    /// Whether work that ends now is kept at all.
    #[inline]
    pub(super) fn wants(&self, begun: Nanos, now: Nanos) -> bool {
        self.closely.is_some() || self.is_within(begun, now)
    }

    #[inline]
    pub(super) fn take(&mut self, slice: Slice) {
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

/// The host's request that a command is of, by its number.
#[inline]
pub(super) fn request_of(slot: &Slot, commands: &Commands, host: Owner) -> u32 {
    commands.operation_of(slot).filter(|operation| operation.owner == host).map_or(NIL, |operation| operation.token)
}

/// A command by itself, without times and track.
pub(super) fn slice_of(slot: &Slot, commands: &Commands, host: Owner) -> Slice {
    let pages = if slot.kind == Kind::Gathered { slot.held() } else { 1 };
    Slice {
        page: slot.page,
        request: request_of(slot, commands, host),
        pages: u16::try_from(pages).unwrap_or(u16::MAX),
        work: work_of(slot.kind),
        cause: CAUSES[slot.cause as usize],
        ..Slice::NOTHING
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
