//! Observers of commands, dies and channels: nothing in a run depends on them.
//!
//! ```text
//! commands, dies, channels --> Observer --> Recorder  work within a window of time, as it ends
//!                                             |-----> closeups   work in the time of single requests
//!                                             `-----> occupancy  what dies were occupied by, at little cost
//! ```
//!
//! Protects: where nothing is recorded each call costs one comparison.

mod closeups;
mod occupancy;
mod recorder;

pub use closeups::{Choice, Closeup};
pub use recorder::{Blame, Recorder, RecorderPlan, Served, Slice, Work};

use super::commands::{Commands, Kind, What};
use crate::NIL;
use crate::flash::Owner;
use occupancy::Begun;
use recorder::{request_of, slice_of, work_of};
use units::Nanos;

/// Time before and after a window in which work is followed, ns: what began earlier is drawn from then, and what ends
/// later is not drawn.
const AROUND: Nanos = 100_000_000;

/// Watches what a drive's flash does, if anyone wants to know.
#[derive(Clone, Debug)]
pub(super) struct Observer {
    /// What is recorded, if anything is.
    recorder: Option<Box<Recorder>>,
    /// Of that: each piece of work of arrays and channels, or what dies are occupied by.
    records_work: bool,
    records_occupancy: bool,
    /// From when to when work is recorded, ns.
    work_span: [Nanos; 2],
    /// Tracks of dies; those of channels follow, and end.
    dies: usize,
    tracks: usize,
}

impl Observer {
    /// Nobody wants to know yet.
    pub fn new(dies: u32, channels: u32) -> Self {
        let (dies, tracks) = (dies as usize, (dies + channels) as usize);
        Self { recorder: None, records_work: false, records_occupancy: false, work_span: [0; 2], dies, tracks }
    }

    /// Records from now on.
    pub fn record(&mut self, plan: RecorderPlan, now: Nanos) {
        self.records_occupancy = plan.samples;
        self.records_work = plan.window.is_some() || plan.closeups != Choice::Nobody;
        self.work_span = match plan.window {
            Some([from, to]) if plan.closeups == Choice::Nobody => {
                [from.saturating_sub(AROUND).max(now), to.saturating_add(AROUND)]
            }
            _ => [now, Nanos::MAX],
        };
        self.recorder = Some(Box::new(Recorder::new(plan, self.tracks, self.work_span[0])));
    }

    /// The present recording, if there is one.
    #[inline]
    pub fn recorder(&mut self) -> Option<&mut Recorder> {
        self.recorder.as_deref_mut()
    }

    /// Takes the record; recording ends.
    pub fn take_recording(&mut self) -> Option<Box<Recorder>> {
        (self.records_work, self.records_occupancy) = (false, false);
        let mut recorder = self.recorder.take()?;
        recorder.finish();
        Some(recorder)
    }

    /// Whether each piece of work of arrays and channels is recorded.
    pub fn records_work(&self) -> bool {
        self.records_work
    }

    /// Whether work may be kept: near a window, and always where requests are looked at closely.
    #[inline(always)]
    fn keeps_work(&self, now: Nanos) -> bool {
        self.records_work && (self.work_span[0]..self.work_span[1]).contains(&now)
    }

    /// The array of a die begins, or goes on.
    #[inline]
    pub fn array_begins(&mut self, die: usize, now: Nanos) {
        if let (true, Some(recorder)) = (self.keeps_work(now), &mut self.recorder) {
            recorder.begun[die] = now;
        }
    }

    /// The array of a die has ended what a gang asked for, or was interrupted at it.
    #[inline]
    pub fn array_ends(&mut self, die: usize, gang: u32, is_interrupted: bool, commands: &Commands, now: Nanos) {
        if self.wants_work_of(die, now) {
            let work = work_of(commands.get(gang).kind);
            let piece = Slice { track: die as u16, work, is_interrupted, end: now, ..Slice::NOTHING };
            self.note(piece, gang, commands);
        }
    }

    /// A channel begins to serve a die.
    #[inline]
    pub fn channel_begins(&mut self, channel: usize, now: Nanos) {
        if let (true, Some(recorder)) = (self.keeps_work(now), &mut self.recorder) {
            recorder.begun[self.dies + channel] = now;
        }
    }

    /// A channel has moved the data of a command, or its command and address cycles.
    #[inline]
    pub fn channel_ends(&mut self, channel: usize, id: u32, is_command: bool, commands: &Commands, now: Nanos) {
        let track = self.dies + channel;
        if self.wants_work_of(track, now) {
            let work = match commands.get(id).kind {
                _ if is_command => Work::Command,
                Kind::Read => Work::DataOut,
                _ => Work::DataIn,
            };
            self.note(Slice { track: track as u16, work, end: now, ..Slice::NOTHING }, id, commands);
        }
    }

    #[inline]
    fn wants_work_of(&self, track: usize, now: Nanos) -> bool {
        let wants = |recorder: &Recorder| recorder.wants(recorder.begun[track], now);
        self.keeps_work(now) && self.recorder.as_deref().is_some_and(wants)
    }

    /// Takes down a piece of work that ends: a die's for a whole gang, a channel's for one of its members.
    #[inline(never)]
    fn note(&mut self, piece: Slice, first: u32, commands: &Commands) {
        let Some(recorder) = &mut self.recorder else { return };
        let is_die = usize::from(piece.track) < self.dies;
        let Slice { end, track, work, is_interrupted, .. } = piece;
        let begin = recorder.begun[usize::from(track)];
        let mut next = first;
        while next != NIL {
            let slot = commands.get(next);
            let slice = slice_of(slot, commands, recorder.plan.host);
            recorder.take(Slice { begin, end, track, work, is_interrupted, is_beside: next != first, ..slice });
            next = if is_die { slot.next } else { NIL };
        }
    }

    /// A layer has asked for a command.
    #[inline(always)]
    pub fn command_begins(&mut self, id: u32, now: Nanos) {
        if self.keeps_work(now) {
            self.note_asked(id, now);
        }
    }

    #[cold]
    #[inline(never)]
    fn note_asked(&mut self, id: u32, now: Nanos) {
        if let Some(recorder) = &mut self.recorder {
            *recorder.asked_at(id) = now;
        }
    }

    /// A command has ended, or is taken back and leaves its join: the first time counts.
    #[inline(always)]
    pub fn command_ends(&mut self, id: u32, commands: &Commands, now: Nanos) {
        if self.keeps_work(now) {
            self.note_ended(id, commands, now);
        }
    }

    /// The first half of a command has ended, and the second one was asked for with it.
    pub fn half_ends(&mut self, id: u32, commands: &Commands, now: Nanos) {
        if self.keeps_work(now) {
            self.note_command(id, commands, now);
        }
    }

    /// Its join may have ended with it: that is as it was until another one opens.
    #[cold]
    #[inline(never)]
    fn note_ended(&mut self, id: u32, commands: &Commands, now: Nanos) {
        self.note_command(id, commands, now);
        if let Some(recorder) = &mut self.recorder {
            *recorder.asked_at(id) = Nanos::MAX;
        }
    }

    /// Takes down a command, or a half of one, that ends now.
    fn note_command(&mut self, id: u32, commands: &Commands, now: Nanos) {
        let Some(recorder) = &mut self.recorder else { return };
        let begin = *recorder.asked_at(id);
        let slot = commands.get(id);
        // Who waits for a page to be programmed asks for no read.
        if begin == Nanos::MAX || slot.what == What::Answered || !recorder.wants(begin, now) {
            return;
        }
        let owner = commands.operation_of(slot).map_or(slot.owner, |operation| operation.owner);
        let track = self.tracks as u16 + (Owner::MAX - owner).min(recorder.plan.layers);
        let slice = slice_of(slot, commands, recorder.plan.host);
        recorder.take(Slice { begin, end: now, track, ..slice });
    }

    /// A die works for a gang from now on, and for a cause.
    #[inline(always)]
    pub fn die_occupied(&mut self, die: usize, gang: u32, cause: u8, commands: &Commands, now: Nanos) {
        if self.records_occupancy {
            self.note_occupied(Begun { at: now, die: die as u16, cause, ..Begun::NOTHING }, gang, commands);
        }
    }

    /// A die that had something to do has nothing to do.
    #[inline(always)]
    pub fn die_vacated(&mut self, die: usize, was_occupied: bool, now: Nanos) {
        if self.records_occupancy && was_occupied {
            self.note_vacant(die, now);
        }
    }

    /// Nothing but the ends calls anything, so that no register has to be kept: most gangs are one command.
    #[cold]
    #[inline(never)]
    fn note_occupied(&mut self, begun: Begun, gang: u32, commands: &Commands) {
        let Some(recorder) = self.recorder.as_deref_mut() else { return };
        let host = recorder.plan.host;
        let Some(sampled) = &mut recorder.sampled else { return };
        let slot = commands.get(gang);
        let (kind, next, request) = (slot.kind, slot.next, request_of(slot, commands, host));
        let begun = Begun { request, kind: Some(kind), ..begun };
        if sampled.push(begun) || next != NIL {
            self.go_on_noting(begun, next, commands);
        }
    }

    /// The other members of a gang, and what is due after half a turn of the ring.
    #[inline(never)]
    fn go_on_noting(&mut self, begun: Begun, next: u32, commands: &Commands) {
        let Some(sampled) = self.recorder.as_mut().and_then(|recorder| recorder.sampled.as_mut()) else { return };
        sampled.copy_if_due();
        if next != NIL {
            self.note_occupied(begun, next, commands);
        }
    }

    #[cold]
    #[inline(never)]
    fn note_vacant(&mut self, die: usize, now: Nanos) {
        let Some(recorder) = self.recorder.as_deref_mut() else { return };
        let Some(sampled) = &mut recorder.sampled else { return };
        if sampled.push(Begun { at: now, die: die as u16, ..Begun::NOTHING }) {
            sampled.copy_all();
        }
    }
}
