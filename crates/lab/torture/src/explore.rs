//! Drawing states, checking each that is new, and making what fails small.

use crate::cut_disk::CutDisk;
use crate::harness::TortureError;
use crate::judge::{Checks, Judge};
use crate::recording::Recording;
use crate::search::Search;
use crate::states::{CrashState, Outcome, States};
use experiment::Monitor;
use serve::OrderKind;
use units::SECTOR_BYTES;

/// The verdict of a check on a disk after a cut.
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
    /// Seed of the states.
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
    /// The message of the check on the smallest.
    pub why: String,
    /// Everything that the smallest holds: zeros where it cannot be read.
    pub image: Vec<u8>,
}

/// The states that an exploration tried, and its findings.
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

/// Draws states of a recording and checks each whose bytes are new, until one fails, a check gives no verdict, or the
/// monitor is stopped. All of it happens on this thread.
///
/// # Errors
/// None, as long as the check itself has none.
pub fn explore(
    states: &States<'_>,
    limits: Limits,
    monitor: &dyn Monitor,
    check: &mut Check<'_>,
) -> Result<Exploration, TortureError> {
    explore_with(states, limits, Search::new(Judge::OneByOne(check), &Checks::All, monitor), monitor)
}

/// As [`explore`], with a judge of the states that also chooses the checks.
pub(crate) fn explore_with<'s>(
    states: &'s States<'s>,
    limits: Limits,
    mut search: Search<'_, 's>,
    monitor: &dyn Monitor,
) -> Result<Exploration, TortureError> {
    monitor.expect(limits.states as usize);
    search.draw(states, limits.first..limits.first.saturating_add(limits.states), &|number| {
        let state = states.draw(limits.seed, number);
        let image = states.image(&state);
        (state, image)
    })?;
    search.shrink(limits.smaller, states.guarantee(), &|state| states.image(state))?;
    Ok(search.exploration)
}

impl Found {
    /// The failure and the missing data, in lines.
    pub fn to_text(&self, recording: &Recording) -> String {
        let missing = self.smallest.missing().map(|(request, outcome)| {
            let order = recording.requests[*request].order;
            let (kind, bytes, offset) = (kind_in_words(order.kind), order.length, order.offset);
            let what = outcome_in_words(*outcome, u64::from(order.length) / SECTOR_BYTES);
            format!("missing   request {request}, a {kind} of {bytes} bytes at byte {offset}: {what}\n")
        });
        let nothing = self.smallest.missing().next().is_none() && self.smallest.stale.is_none();
        let nothing = nothing && self.smallest.wrong.is_none();
        let nothing = nothing.then(|| "missing nothing that the program asked for before the cut\n".to_owned());
        let stale = self
            .smallest
            .stale
            .map(|sector| format!("stale     the first read of sector {sector} brought what it had held before\n"));
        let head = [
            format!("verdict   FAILS in state {}: {}\n", self.number, self.why),
            format!("the cut   after {} of {} steps\n", self.smallest.step, recording.steps.len()),
        ];
        let wrong = self.smallest.wrong.map(|wrong| format!("wrong     {wrong}\n"));
        head.into_iter().chain(missing).chain(nothing).chain(stale).chain(wrong).collect()
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

/// The fate of a request of this many sectors.
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
