//! The contents of a simulated drive after a cut anywhere in its work, found by its own recovery.
//!
//! The recording is done again once, a request at a time; at each cut the flash is copied as it is at that moment, and
//! a second drive comes back from the copy. Simplified: requests that were under way at once in the recording come one
//! after the other, so that a flush covers more than it had to. Promises follow the recording.

use crate::drive_image::{DriveImage, Version};
use crate::explore::{Check, Exploration, Limits};
use crate::harness::TortureError;
use crate::judge::{Checks, Judge};
use crate::recording::{Recorded, Recording};
use crate::search::{Candidate, Search};
use crate::states::{CrashState, Guarantee, Outcome, States, sectors};
use drive::{Completions, Drive, DriveError, Fault, LeftByCut};
use engine::random::Stream;
use experiment::Monitor;
use serve::OrderKind;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Mutex;
use units::{HostOp, Request, SECTOR_BYTES};

/// Events after a request began among which a cut is drawn: most requests have fewer, and then it comes after them.
const EVENTS: [u64; 2] = [8, 200];
/// Bytes that the drive is given at once.
const PIECE: usize = 256 << 10;

/// Whether to go on, or why that is not possible.
type Goes = Result<ControlFlow<()>, TortureError>;

/// A cut: in which request, after how many events of it, and the number of the state.
type Cut = (usize, u64, u64);

/// As [`explore`](crate::explore), with cuts within `drive`, which is new and as large as the one that was recorded.
/// `faults` happen with each cut: a die that is gone, a block; chances hold from the beginning.
///
/// # Errors
/// The drive fails, or its layers cannot rebuild themselves: a defect of the simulation. It has no such die or block.
pub fn explore_drive(
    states: &States<'_>,
    drive: Drive,
    faults: &[Fault],
    limits: Limits,
    monitor: &dyn Monitor,
    check: &mut Check<'_>,
) -> Result<Exploration, TortureError> {
    let search = Search::new(Judge::OneByOne(check), &Checks::All, monitor);
    explore_drive_with(states, drive, faults, limits, search, monitor)
}

/// As [`explore_drive`], with a judge of the states that also chooses the checks.
///
/// 1. The moments of all cuts are drawn and put in their order.
/// 2. The recording is done again. At each cut what is left of the flash is copied.
/// 3. Where there is a copy for each thread, drives come back from them side by side, and their contents are judged.
/// 4. The first state that fails is made smaller.
pub(crate) fn explore_drive_with<'s>(
    states: &'s States<'s>,
    mut drive: Drive,
    faults: &[Fault],
    limits: Limits,
    mut search: Search<'_, 's>,
    monitor: &dyn Monitor,
) -> Result<Exploration, TortureError> {
    let recording = states.recording;
    monitor.expect(limits.states as usize);
    fill(&mut drive, &recording.before)?;
    faults.iter().filter(|fault| is_chance(fault)).try_for_each(|fault| drive.inject(*fault))?;
    let draw = |number: u64| -> Cut {
        let mut stream = Stream::new(limits.seed, &format!("cut {number}"));
        let request = stream.below(recording.requests.len() as u64) as usize;
        let events = EVENTS[usize::from(stream.chance(0.3))];
        (request, stream.below(events), number)
    };
    let mut cuts: Vec<Cut> = (limits.first..limits.first.saturating_add(limits.states)).map(draw).collect();
    cuts.sort_unstable();
    let mut cuts = cuts.into_iter().peekable();
    // A fault may take what nobody touched as well.
    let watched = if faults.is_empty() { states.touched().to_vec() } else { watched(states) };
    let recovery = Recovery { states, faults, watched: &watched };
    let (mut left, threads) = (Vec::new(), search.judge.threads());
    let replayed = replay(&mut drive, recording, &mut |drive, number, events| {
        while let Some(cut) = cuts.next_if(|cut| cut.0 == number && cut.1 <= events) {
            left.push((cut, Mutex::new(Some(drive.left_by_cut(limits.seed ^ cut.2)?))));
            if left.len() >= threads && recovery.judge(&mut search, &mut left, monitor)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    });
    // What was cut before the drive failed comes first.
    if !matches!(replayed, Ok(ControlFlow::Break(()))) && recovery.judge(&mut search, &mut left, monitor)?.is_continue()
    {
        replayed.map(drop)?;
    }
    if let (Some(found), Some(failed)) = (&search.exploration.found, search.failed.take()) {
        let limit = states.asked_by(found.drawn.step);
        let drawn = failed.held.map(|(_, image)| image.into_sectors()).unwrap_or_default();
        search.shrink(limits.smaller, Guarantee::AnyOrder, &|state| smaller(states, limit, &drawn, state))?;
    }
    Ok(search.exploration)
}

/// Whether a fault holds from the beginning on.
fn is_chance(fault: &Fault) -> bool {
    matches!(fault, Fault::Reads(_) | Fault::Programs(_) | Fault::Erases(_) | Fault::Host(_))
}

/// Cuts, and what they left until a drive comes back from it.
type Left = Vec<(Cut, Mutex<Option<LeftByCut>>)>;

/// How drives come back after a cut.
struct Recovery<'a, 's> {
    states: &'s States<'s>,
    faults: &'a [Fault],
    /// Sectors that are looked at.
    watched: &'a [u64],
}

impl<'s> Recovery<'_, 's> {
    /// Lets drives come back, and judges what they hold.
    fn judge(&self, search: &mut Search<'_, 's>, left: &mut Left, monitor: &dyn Monitor) -> Goes {
        let recovered = experiment::each(search.judge.pool(), &std::mem::take(left), |(cut, left)| {
            let left = left.lock().ok().and_then(|mut left| left.take()).expect("each is recovered once");
            self.recover(*cut, left)
        });
        let mut problem = Ok(());
        // None after the first that does not come back.
        let held = recovered.into_iter().map_while(|one| one.map_err(|error| problem = Err(error)).ok());
        let held: Vec<Candidate<'s>> = held.collect();
        if search.judge_held(held)?.is_break() || monitor.is_stopped() {
            return Ok(ControlFlow::Break(()));
        }
        problem?;
        Ok(ControlFlow::Continue(()))
    }

    fn recover(&self, (request, _, number): Cut, left: LeftByCut) -> Result<Candidate<'s>, DriveError> {
        let mut left = left.recover()?;
        self.faults.iter().filter(|fault| !is_chance(fault)).try_for_each(|fault| left.inject(*fault))?;
        let contents = contents(&mut left, self.watched)?;
        let state = what_became(self.states, request, &contents);
        let image = DriveImage::given(self.states, contents);
        Ok(Candidate::new(self.states, number, &state, &image).holding(state, image))
    }
}

/// Does a recording again. `look` is told of each event of a request: which request, and how many events of it came
/// before; as many as there can be when it is over.
fn replay(drive: &mut Drive, recording: &Recording, look: &mut dyn FnMut(&Drive, usize, u64) -> Goes) -> Goes {
    for (number, request) in recording.requests.iter().enumerate() {
        let mut events = 0;
        let mut here = |drive: &Drive| {
            let goes = look(drive, number, events);
            events += 1;
            goes
        };
        if again(drive, request, &mut here)?.is_break() || look(drive, number, u64::MAX)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Sectors that some request changes, and all that held something before.
fn watched(states: &States<'_>) -> Vec<u64> {
    let before = states.recording.before.chunks_exact(SECTOR_BYTES as usize).enumerate();
    let used = before.filter(|(_, bytes)| bytes.iter().any(|byte| *byte != 0)).map(|(sector, _)| sector as u64);
    states.touched().iter().copied().chain(used).collect::<BTreeSet<_>>().into_iter().collect()
}

/// By request, the sectors that are not as the requests before `limit` leave them: a sector counts for the request that
/// changes it last.
fn missing(states: &States<'_>, limit: usize, contents: &[(u64, Version)]) -> BTreeMap<usize, Vec<u64>> {
    let mut missing = BTreeMap::<usize, Vec<_>>::new();
    for (sector, version) in contents {
        if let Some(request) = states.last_change(*sector, limit)
            && (*version == Version::Unreadable || states.bytes_of(request, *sector) != version.bytes(states, *sector))
        {
            missing.entry(request).or_default().push(*sector);
        }
    }
    missing
}

/// What the contents after a cut within `request` say of each request before it: it is lost if none of it is there,
/// and torn if something is.
fn what_became(states: &States<'_>, request: usize, contents: &[(u64, Version)]) -> CrashState {
    let outcome = |(number, missing): (usize, Vec<u64>)| {
        let there = |sector: &u64| !missing.contains(sector);
        let is_last = |sector: &u64| states.last_change(*sector, request + 1) == Some(number);
        let first = sectors(states.recording, number).take_while(there).count() as u32;
        let any = sectors(states.recording, number).any(|sector| is_last(&sector) && there(&sector));
        (number, if any { Outcome::Torn { first: 0, sectors: first, bytes: 0 } } else { Outcome::Lost })
    };
    let outcomes = missing(states, request + 1, contents).into_iter().map(outcome).collect();
    CrashState { step: states.span(request).asked, outcomes, stale: None, wrong: None }
}

/// What a smaller failure holds: what was drawn, and all of the requests that are said to be there.
fn smaller<'a>(states: &'a States<'a>, limit: usize, drawn: &[(u64, Version)], state: &CrashState) -> DriveImage<'a> {
    let kept = |number: &usize| state.outcomes.iter().any(|(of, outcome)| of == number && *outcome == Outcome::Kept);
    let restored: BTreeMap<u64, usize> = missing(states, limit, drawn)
        .into_iter()
        .filter(|(request, _)| kept(request))
        .flat_map(|(request, sectors)| sectors.into_iter().map(move |sector| (sector, request)))
        .collect();
    let version = |(sector, version): &(u64, Version)| {
        (*sector, restored.get(sector).map_or_else(|| version.clone(), |request| Version::Of(*request)))
    };
    DriveImage::given(states, drawn.iter().map(version))
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
fn again(drive: &mut Drive, request: &Recorded, look: &mut dyn FnMut(&Drive) -> Goes) -> Goes {
    let order = request.order;
    let mut one = |drive: &mut Drive, request: &Request, cells: &[u8]| {
        let mut completions = Completions::default();
        drive.submit(0, request, cells)?;
        while drive.outstanding() > 0 {
            if look(drive)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            if !drive.step(&mut completions)? {
                return Err(drive.no_room().into());
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

/// What a drive holds in some sectors, which are in order.
fn contents(drive: &mut Drive, sectors: &[u64]) -> Result<Vec<(u64, Version)>, DriveError> {
    let mut held = Vec::with_capacity(sectors.len());
    let mut bytes = Vec::new();
    for run in sectors.chunk_by(|one, next| one + 1 == *next) {
        bytes.resize(run.len() * SECTOR_BYTES as usize, 0);
        match drive.read(run[0] * SECTOR_BYTES, &mut bytes) {
            Ok(()) => {
                let parts = bytes.chunks_exact(SECTOR_BYTES as usize);
                held.extend(run.iter().copied().zip(parts.map(|bytes| Version::Mixed(bytes.into()))));
            }
            Err(DriveError::Failed { .. }) if run.len() > 1 => {
                for sector in run {
                    held.extend(contents(drive, &[*sector])?);
                }
            }
            Err(DriveError::Failed { .. }) => held.push((run[0], Version::Unreadable)),
            Err(error) => return Err(error),
        }
    }
    Ok(held)
}
