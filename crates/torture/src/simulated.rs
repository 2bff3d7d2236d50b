//! What a simulated drive holds after a cut anywhere in its work: its own recovery has the word.
//!
//! The recording is done again once, a request at a time; at each cut the flash is copied as it is at that moment, and
//! a second drive comes back from the copy. Simplified: what was under way at once in the recording comes one after
//! the other, so that a flush covers more than it had to; promises are those of the recording.

use crate::cut_disk::CutDisk;
use crate::explore::{Exploration, Found, Limits, Verdict, fingerprint};
use crate::recording::{Recorded, Recording, Step};
use crate::states::{CrashState, States};
use drive::{Completions, Drive, DriveError};
use engine::random::Stream;
use serve::OrderKind;
use std::collections::HashSet;
use std::ops::ControlFlow;
use units::{HostOp, Request, SECTOR_BYTES};

/// Events after a request began among which a cut is drawn: most requests have fewer, and then it comes after them.
const EVENTS: [u64; 2] = [8, 200];
/// Bytes that the drive is given at once.
const PIECE: usize = 256 << 10;

/// Whether to go on, or why that is not possible.
type Goes = Result<ControlFlow<()>, DriveError>;

/// A cut: in which request, after how many events of it, and the number of the state.
type Cut = (usize, u64, u64);

/// As [`explore`](crate::explore), with cuts within `drive`, which is new and as large as the one that was recorded.
/// What fails is not made smaller: the drive lost it, and not we.
///
/// # Errors
/// The drive fails, or its layers cannot rebuild themselves: a defect of the simulation.
pub fn explore_drive(
    recording: &Recording,
    states: &States<'_>,
    mut drive: Drive,
    limits: Limits,
    look: &mut dyn FnMut(&Exploration) -> ControlFlow<()>,
    check: &mut dyn FnMut(&mut CutDisk<'_>, &CrashState) -> Option<Verdict>,
) -> Result<Exploration, DriveError> {
    fill(&mut drive, &recording.before)?;
    let mut asked = vec![0; recording.requests.len()];
    for (at, step) in recording.steps.iter().enumerate() {
        if let Step::Asked(number) = step {
            asked[*number] = at + 1;
        }
    }
    let draw = |number: u64| -> Cut {
        let mut stream = Stream::new(limits.seed, &format!("cut {number}"));
        let request = stream.below(recording.requests.len() as u64) as usize;
        let events = EVENTS[usize::from(stream.chance(0.3))];
        (request, stream.below(events), number)
    };
    let mut cuts: Vec<Cut> = (limits.first..limits.first + limits.states).map(draw).collect();
    cuts.sort_unstable();
    let mut exploration = Exploration::default();
    let mut known = HashSet::new();
    let mut cuts = cuts.into_iter().peekable();
    let mut judge = |drive: &Drive, (request, _, number): Cut| -> Goes {
        let state = CrashState { step: asked[request], fates: Vec::new() };
        let contents = contents(&mut drive.after_cut(limits.seed ^ number)?, states.touched())?;
        if known.insert((fingerprint(&contents), recording.said_by(state.step).count())) {
            let mut disk = CutDisk::new(&recording.before, states.touched(), &contents);
            let Some(verdict) = check(&mut disk, &state) else { return Ok(ControlFlow::Break(())) };
            exploration.checked += 1;
            if let Verdict::Fails(why) = verdict {
                exploration.states += 1;
                exploration.found = Some(Found { number, drawn: state.clone(), smallest: state, why, contents });
                return Ok(ControlFlow::Break(()));
            }
        }
        exploration.states += 1;
        Ok(look(&exploration))
    };
    for (number, request) in recording.requests.iter().enumerate() {
        let mut events = 0;
        let mut here = |drive: &Drive, is_over: bool| {
            while let Some(cut) = cuts.next_if(|cut| cut.0 == number && (is_over || cut.1 <= events)) {
                if judge(drive, cut)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            events += 1;
            Ok::<_, DriveError>(ControlFlow::Continue(()))
        };
        if again(&mut drive, request, &mut here)?.is_break() || here(&drive, true)?.is_break() {
            return Ok(exploration);
        }
    }
    Ok(exploration)
}

/// Gives a new drive what the recorded one held.
fn fill(drive: &mut Drive, before: &[u8]) -> Result<(), DriveError> {
    for (number, piece) in before.chunks(PIECE).enumerate() {
        if piece.iter().any(|byte| *byte != 0) {
            drive.write((number * PIECE) as u64, piece)?;
        }
    }
    drive.flush()
}

/// Does a request again; `look` is told after each event of a write or flush.
fn again(drive: &mut Drive, request: &Recorded, look: &mut dyn FnMut(&Drive, bool) -> Goes) -> Goes {
    let order = request.order;
    let mut one = |drive: &mut Drive, request: &Request, cells: &[u8]| {
        let mut completions = Completions::default();
        drive.submit(0, request, cells)?;
        while drive.outstanding() > 0 {
            if look(drive, false)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            if !drive.step(&mut completions)? {
                return Err(drive.no_room());
            }
        }
        Ok(ControlFlow::Continue(()))
    };
    match order.kind {
        OrderKind::Read => {}
        OrderKind::Flush => return one(drive, &Request::of_bytes(HostOp::Flush, 0, 0, false), &[]),
        OrderKind::Trim => drive.trim(order.offset, order.length.into())?,
        OrderKind::Write | OrderKind::Zeroes { .. } => {
            let zeros = vec![0; if order.kind == OrderKind::Write { 0 } else { order.length as usize }];
            let bytes = if order.kind == OrderKind::Write { &request.payload[..] } else { &zeros };
            for (number, piece) in bytes.chunks(PIECE).enumerate() {
                let offset = order.offset + (number * PIECE) as u64;
                let write = Request::of_bytes(HostOp::Write, offset, piece.len() as u64, order.fua);
                if one(drive, &write, piece)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// What a drive holds in some sectors.
fn contents(drive: &mut Drive, sectors: &[u64]) -> Result<Vec<u8>, DriveError> {
    let mut bytes = vec![0; sectors.len() * SECTOR_BYTES as usize];
    let mut rest = &mut bytes[..];
    for run in sectors.chunk_by(|one, next| one + 1 == *next) {
        let (into, after) = rest.split_at_mut(run.len() * SECTOR_BYTES as usize);
        drive.read(run[0] * SECTOR_BYTES, into)?;
        rest = after;
    }
    Ok(bytes)
}
