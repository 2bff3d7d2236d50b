//! Drawing states, checking each that is new, and making what fails small.

use crate::cut_disk::CutDisk;
use crate::drive_image::{Digest, DriveImage};
use crate::recording::Recording;
use crate::states::{CrashState, Guarantee, Outcome, States};
use serve::OrderKind;
use std::collections::HashSet;
use std::ops::ControlFlow;
use units::SECTOR_BYTES;

/// What a check says of a disk after a cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything is there that was promised.
    Holds,
    /// Why not, in words.
    Fails(String),
}

/// How much is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// What draws the states.
    pub seed: u64,
    /// The first state, and how many.
    pub first: u64,
    /// States that are drawn.
    pub states: u64,
    /// Checks that making a failure smaller may take.
    pub smaller: u64,
}

/// A state that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Number of the state: with the seed it draws the same state again.
    pub number: u64,
    /// The state as it was drawn from the recording.
    pub drawn: CrashState,
    /// The same with as few requests lost or torn as still fail.
    pub smallest: CrashState,
    /// What the check said of the smallest.
    pub why: String,
    /// Everything that the smallest holds: zeros where it cannot be read.
    pub image: Vec<u8>,
}

/// What an exploration tried, and what it found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exploration {
    /// States that were drawn.
    pub states: u64,
    /// Of these, states that were checked: others held the same bytes after the same lines were said.
    pub checked: u64,
    /// Checks made to find the smallest failure.
    pub smaller: u64,
    /// The first state that failed.
    pub found: Option<Found>,
}

/// Judges a disk. Nothing: it was interrupted.
pub type Check<'a> = dyn FnMut(&mut CutDisk<'_>, &CrashState) -> Option<Verdict> + 'a;

/// Is told how far a search is, and may end it.
pub type Look<'a> = dyn FnMut(&Exploration) -> ControlFlow<()> + 'a;

/// Draws states of a recording and checks each whose bytes are new, until one fails, or a check gives no verdict.
pub fn explore(
    recording: &Recording,
    states: &States<'_>,
    limits: Limits,
    look: &mut Look<'_>,
    check: &mut Check<'_>,
) -> Exploration {
    let mut search = Search::new(recording, look, check);
    for number in limits.first..limits.first.saturating_add(limits.states) {
        let state = states.draw(limits.seed, number);
        if search.judge(number, state.clone(), &states.image(&state)).is_break() {
            break;
        }
    }
    search.shrink(limits.smaller, states.guarantee(), &|state| states.image(state));
    search.exploration
}

/// States that were judged, and what came of it.
pub(crate) struct Search<'a, 'b> {
    pub exploration: Exploration,
    recording: &'a Recording,
    known: HashSet<(Digest, Option<u64>, usize)>,
    look: &'a mut Look<'b>,
    check: &'a mut Check<'b>,
}

impl<'a, 'b> Search<'a, 'b> {
    pub fn new(recording: &'a Recording, look: &'a mut Look<'b>, check: &'a mut Check<'b>) -> Self {
        Self { exploration: Exploration::default(), recording, known: HashSet::new(), look, check }
    }

    /// Checks a state if its bytes are new. To be ended: it fails, or there is no verdict.
    pub fn judge(&mut self, number: u64, state: CrashState, drive: &DriveImage<'_>) -> ControlFlow<()> {
        let (digest, stale) = drive.digest();
        if self.known.insert((digest, stale, self.recording.said_by(state.step).count())) {
            let Some(verdict) = (self.check)(&mut CutDisk::of(drive), &state) else { return ControlFlow::Break(()) };
            self.exploration.checked += 1;
            if let Verdict::Fails(why) = verdict {
                self.exploration.states += 1;
                let image = CutDisk::of(drive).to_bytes();
                self.exploration.found = Some(Found { number, drawn: state.clone(), smallest: state, why, image });
                return ControlFlow::Break(());
            }
        }
        self.exploration.states += 1;
        (self.look)(&self.exploration)
    }

    /// Keeps what was lost or torn, part by part, as long as the state still fails (delta debugging): where order
    /// holds, from the first on. `most`: checks it may take. `image`: what a smaller state holds.
    pub fn shrink<'h>(&mut self, most: u64, guarantee: Guarantee, image: &dyn Fn(&CrashState) -> DriveImage<'h>) {
        let Some(found) = &mut self.exploration.found else { return };
        let missing = |state: &CrashState| -> Vec<usize> {
            let places = 0..state.outcomes.len();
            places.filter(|at| state.outcomes[*at].1 != Outcome::Kept).collect()
        };
        let mut parts = 2;
        loop {
            let places = missing(&found.smallest);
            let size = places.len().div_ceil(parts).max(1);
            let mut is_smaller = false;
            let tried = if guarantee == Guarantee::InOrder { 1 } else { usize::MAX };
            for part in places.chunks(size).take(tried) {
                if self.exploration.smaller == most {
                    return;
                }
                let mut smaller = found.smallest.clone();
                for at in part {
                    smaller.outcomes[*at].1 = Outcome::Kept;
                }
                self.exploration.smaller += 1;
                let holds = image(&smaller);
                match (self.check)(&mut CutDisk::of(&holds), &smaller) {
                    None => return,
                    Some(Verdict::Holds) => {}
                    Some(Verdict::Fails(why)) => {
                        found.image = CutDisk::of(&holds).to_bytes();
                        (found.smallest, found.why, is_smaller) = (smaller, why, true);
                        break;
                    }
                }
            }
            if is_smaller {
                parts = 2.max(parts - 1);
            } else if size == 1 {
                return;
            } else {
                parts *= 2;
            }
        }
    }
}

impl Found {
    /// What failed and what was missing, in lines.
    pub fn to_text(&self, recording: &Recording) -> String {
        let missing = self.smallest.missing().map(|(request, outcome)| {
            let order = recording.requests[*request].order;
            let (kind, bytes, offset) = (kind_in_words(order.kind), order.length, order.offset);
            let what = outcome_in_words(*outcome, u64::from(order.length) / SECTOR_BYTES);
            format!("missing   request {request}, a {kind} of {bytes} bytes at byte {offset}: {what}\n")
        });
        let nothing = self.smallest.missing().next().is_none() && self.smallest.stale.is_none();
        let nothing = nothing.then(|| "missing   nothing of what was asked for before the cut\n".to_owned());
        let stale = self
            .smallest
            .stale
            .map(|sector| format!("stale     the first read of sector {sector} brought what it had held before\n"));
        let head = [
            format!("verdict   FAILS in state {}: {}\n", self.number, self.why),
            format!("the cut   after {} of {} steps\n", self.smallest.step, recording.steps.len()),
        ];
        head.into_iter().chain(missing).chain(nothing).chain(stale).collect()
    }
}

/// The name of a kind of request.
pub fn kind_in_words(kind: OrderKind) -> &'static str {
    match kind {
        OrderKind::Read => "read",
        OrderKind::Write => "write",
        OrderKind::Flush => "flush",
        OrderKind::Trim => "trim",
        OrderKind::Zeroes { .. } => "write of zeros",
    }
}

/// What became of a request of so many sectors.
pub fn outcome_in_words(outcome: Outcome, all: u64) -> String {
    match outcome {
        Outcome::Kept => "there".to_owned(),
        Outcome::Lost => "lost".to_owned(),
        Outcome::Torn { first: 0, sectors, bytes: 0 } => {
            format!("torn, the first {sectors} of {all} sectors are there")
        }
        Outcome::Torn { first, sectors, bytes: 0 } => {
            format!("torn, {sectors} of {all} sectors from number {first} on are there")
        }
        Outcome::Torn { sectors, bytes, .. } => {
            format!("torn, {sectors} of {all} sectors and {bytes} bytes of the next are there")
        }
    }
}
