//! The work that occupies dies: a note for each command that begins on a die, and none of its end.
//!
//! Protects: a note costs a few nanoseconds, and a die is shown as occupied by the cause that waiting for it is charged
//! to.

use super::super::commands::Kind;
use super::closeups::Ring;
use super::recorder::{Served, Slice, Work, work_of};
use crate::NIL;
use std::collections::HashMap;
use units::{CAUSES, Nanos, Shape};

/// Notes that are looked at for those that were under way when a request came.
const LOOK_BACK: u64 = 512;
/// Notes that are searched for those of a request; most that are kept, and most pieces that are made from them.
const SEARCHED: u64 = 4096;
const MOST_NOTES: usize = 2048;
const MOST: usize = 400;

/// A die begins something, or has nothing to do. 16 bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    pub at: Nanos,
    /// As the time of a slice.
    pub request: u32,
    pub die: u16,
    pub kind: Option<Kind>,
    pub cause: u8,
}

const _: () = assert!(size_of::<Begun>() == 16);

impl Begun {
    pub const NOTHING: Begun = Begun { at: 0, request: NIL, die: 0, kind: None, cause: 0 };

    /// Whether it is a command of a request. A number is given again when its request has ended: what begins before
    /// the drive has taken a request was another one's.
    fn is_of(&self, served: &Served) -> bool {
        self.request == served.number && self.at >= served.request.arrival + served.queue_ns
    }
}

/// Notes of a request's time, and whether there were more: of the dies that it used, or of all.
pub(super) fn of_time<const N: usize>(ring: &Ring<Begun, N>, served: &Served, until: u64) -> (Vec<Begun>, bool) {
    let (first, is_cut_short) = ring.first(served.request.arrival, until, |begun| begun.at);
    let from = first.max(until.saturating_sub(SEARCHED));
    let mut dies = [0_u64; Shape::DIES_MAX / 64];
    let mut is_any = false;
    for begun in ring.range(from, until).into_iter().flatten().filter(|begun| begun.is_of(served)) {
        dies[usize::from(begun.die >> 6)] |= 1 << (begun.die & 63);
        is_any = true;
    }
    let look_back = ring.oldest().max(from.saturating_sub(LOOK_BACK));
    let parts = ring.range(look_back, until);
    let is_wanted = |begun: &&Begun| dies[usize::from(begun.die >> 6)] >> (begun.die & 63) & 1 == 1;
    let mut notes =
        if is_any { parts.into_iter().flatten().filter(is_wanted).copied().collect() } else { parts.concat() };
    let too_many = notes.len().saturating_sub(MOST_NOTES);
    notes.drain(..too_many);
    let is_full = too_many > 0 && notes[0].at >= served.request.arrival;
    (notes, is_cut_short || is_full || from > first)
}

/// Notes as pieces, each until the next beginning on its die, and whether there was more.
pub(super) fn slices(served: &Served, notes: &[Begun], is_cut_short: bool) -> (Vec<Slice>, bool) {
    // By die: the place of what it began last.
    let mut last: HashMap<u16, usize> = HashMap::new();
    let mut slices: Vec<Slice> = Vec::new();
    for begun in notes {
        let request = if begun.is_of(served) { served.number } else { NIL };
        if let Some(before) = last.get(&begun.die).map(|at| &mut slices[*at]) {
            if before.begin == begun.at && before.pages > 0 && begun.kind.is_some() {
                before.pages = before.pages.saturating_add(1);
                before.request = before.request.min(request);
                continue;
            }
            before.end = begun.at;
        }
        last.insert(begun.die, slices.len());
        slices.push(Slice { end: served.end, request, ..Slice::of(begun) });
    }
    slices.retain(|slice| slice.pages > 0 && slice.end > slice.begin.max(served.request.arrival));
    if slices.len() > MOST {
        slices = summed_up(&slices);
    }
    let too_many = slices.len().saturating_sub(MOST);
    (slices.split_off(too_many), is_cut_short || too_many > 0)
}

/// What a die did without a pause for one cause, and for other requests, as one piece.
fn summed_up(slices: &[Slice]) -> Vec<Slice> {
    let mut all: Vec<Slice> = Vec::new();
    let mut last: HashMap<u16, usize> = HashMap::new();
    for slice in slices {
        let is_next = |before: &&mut Slice| {
            before.end == slice.begin && before.cause == slice.cause && [before.request, slice.request] == [NIL; 2]
        };
        if let Some(before) = last.get(&slice.track).map(|at| &mut all[*at]).filter(is_next) {
            before.end = slice.end;
            before.pages = before.pages.saturating_add(slice.pages);
            before.work = if before.work == slice.work { slice.work } else { Work::Mixed };
        } else {
            last.insert(slice.track, all.len());
            all.push(*slice);
        }
    }
    all
}

impl Slice {
    /// The beginning of the work of a die.
    pub(super) fn of(begun: &Begun) -> Slice {
        Slice {
            begin: begun.at,
            end: begun.at,
            page: NIL,
            request: begun.request,
            track: begun.die,
            pages: u16::from(begun.kind.is_some()),
            is_beside: false,
            is_interrupted: false,
            work: begun.kind.map_or(Work::Read, work_of),
            cause: CAUSES[begun.cause as usize],
        }
    }
}
