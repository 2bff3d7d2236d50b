//! The contents of a simulated drive after a cut anywhere in its work, found by its own recovery.
//!
//! The recording is done again once; at each cut the flash is copied as it is at that moment, and a second drive comes
//! back from the copy. Requests are under way at once where they were in the recording.
//!
//! Simplified: a drive that is faster than the recorded one has completed them earlier. Promises follow the recording.

use crate::drive_image::{DriveImage, Version};
use crate::explore::{Check, Exploration, Limits};
use crate::harness::TortureError;
use crate::judge::{Checks, Judge};
use crate::recording::{Recorded, Recording, Step};
use crate::search::{Candidate, Search};
use crate::states::{CrashState, Guarantee, Outcome, States, sectors};
use drive::{Completions, Drive, DriveError, Fault, LeftByCut};
use engine::random::Stream;
use experiment::Monitor;
use serve::OrderKind;
use std::collections::{BTreeMap, BTreeSet, HashMap};
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
    let before_work = before_work(recording);
    let draw = |number: u64| -> Cut {
        let mut stream = Stream::new(limits.seed, &format!("cut {number}"));
        let (request, together) = before_work[stream.below(recording.requests.len() as u64) as usize];
        let events = EVENTS[usize::from(stream.chance(0.3))];
        (request, stream.below(events * together), number)
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

/// Does a recording again: a request is asked for where it was, beside those that are under way, and the drive works
/// until it answers where the recorded one has answered. `look` is told of each event after a request was asked for:
/// the newest request, and how many events came since; as many as there can be before the next one.
fn replay(drive: &mut Drive, recording: &Recording, look: &mut dyn FnMut(&Drive, usize, u64) -> Goes) -> Goes {
    let mut under_way = UnderWay::default();
    let mut newest = None;
    let ends = recording.steps.iter().map(Some).chain([None]);
    for step in ends {
        let (waits_for, asked) = match step {
            Some(Step::Asked(number)) => (None, Some(*number)),
            Some(Step::Answered(number)) => (Some(Some(*number)), None),
            None => (Some(None), None),
        };
        if let (Some(number), Some((newest, events))) = (waits_for, &mut newest) {
            while under_way.has(number) && drive.outstanding() > 0 {
                if look(drive, *newest, *events)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                *events += 1;
                under_way.step(drive)?;
            }
        }
        let is_over = asked.is_some() || step.is_none();
        if let Some((newest, _)) = newest.filter(|_| is_over)
            && look(drive, newest, u64::MAX)?.is_break()
        {
            return Ok(ControlFlow::Break(()));
        }
        if let Some(number) = asked {
            under_way.ask(drive, number, &recording.requests[number])?;
            newest = Some((number, 0));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Requests that a drive has taken and not completed.
#[derive(Default)]
struct UnderWay {
    /// Numbers of their requests, by the tags of their pieces.
    pieces: HashMap<u32, usize>,
    next: u32,
    completions: Completions,
}

impl UnderWay {
    /// Whether any piece of a request is under way; of any request without a number.
    fn has(&self, number: Option<usize>) -> bool {
        self.pieces.values().any(|of| number.is_none_or(|number| *of == number))
    }

    /// Gives a drive all pieces of a request.
    fn ask(&mut self, drive: &mut Drive, number: usize, request: &Recorded) -> Result<(), DriveError> {
        let order = request.order;
        let (op, most) = match order.kind {
            OrderKind::Read => return Ok(()),
            OrderKind::Flush => return self.submit(drive, number, &Request::of_bytes(HostOp::Flush, 0, 0, false), &[]),
            OrderKind::Trim => (HostOp::Trim, order.length as usize),
            OrderKind::Write | OrderKind::Zeroes { .. } => (HostOp::Write, PIECE),
        };
        let zeros = vec![0; if matches!(order.kind, OrderKind::Zeroes { .. }) { order.length as usize } else { 0 }];
        let bytes = if order.kind == OrderKind::Write { &request.payload[..] } else { &zeros };
        for from in (0..order.length as usize).step_by(most.max(1)) {
            let length = most.min(order.length as usize - from);
            let piece = Request::of_bytes(op, order.offset + from as u64, length as u64, order.fua);
            let cells = if op == HostOp::Write { &bytes[from..from + length] } else { &[] };
            self.submit(drive, number, &piece, cells)?;
        }
        Ok(())
    }

    fn submit(&mut self, drive: &mut Drive, number: usize, piece: &Request, cells: &[u8]) -> Result<(), DriveError> {
        drive.submit(self.next, piece, cells)?;
        self.pieces.insert(self.next, number);
        // The last number belongs to the drive's own requests.
        self.next = (self.next + 1) % u32::MAX;
        Ok(())
    }

    /// Lets one event happen.
    fn step(&mut self, drive: &mut Drive) -> Result<(), DriveError> {
        if !drive.step(&mut self.completions)? {
            return Err(drive.no_room());
        }
        for done in &self.completions.done {
            self.pieces.remove(&done.tag);
        }
        Ok(())
    }
}

/// For each request the newest one that was asked for before the drive works, and how many were asked for together:
/// between them there is no event that a cut could follow.
fn before_work(recording: &Recording) -> Vec<(usize, u64)> {
    let mut found = vec![(0, 1); recording.requests.len()];
    let mut together = Vec::new();
    let ends = recording.steps.iter().map(Some).chain([None]);
    for step in ends {
        if let Some(Step::Asked(number)) = step {
            together.push(*number);
        } else if let Some(newest) = together.last().copied() {
            let count = together.len() as u64;
            together.drain(..).for_each(|number| found[number] = (newest, count));
        }
    }
    found
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
