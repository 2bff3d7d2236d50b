//! Drawing states, checking each that is new, and making what fails small.

use crate::cut_disk::CutDisk;
use crate::recording::Recording;
use crate::states::{CrashState, Fate, Guarantee, States};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::ControlFlow;

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
    /// Its number.
    pub number: u64,
    /// What was drawn.
    pub drawn: CrashState,
    /// The same with as few requests lost or torn as still fail.
    pub smallest: CrashState,
    /// What the check said of the smallest.
    pub why: String,
    /// What the smallest holds in the sectors that some request changes.
    pub contents: Vec<u8>,
}

/// What was found.
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

/// Draws states of a recording and checks each whose bytes are new, until one fails. `look` is told how far it is and
/// may end it, as a check does that gives no verdict.
pub fn explore(
    recording: &Recording,
    states: &States<'_>,
    limits: Limits,
    look: &mut dyn FnMut(&Exploration) -> ControlFlow<()>,
    check: &mut dyn FnMut(&mut CutDisk<'_>, &CrashState) -> Option<Verdict>,
) -> Exploration {
    let mut exploration = Exploration::default();
    let mut known = HashSet::new();
    let said = |state: &CrashState| recording.said_by(state.step).count();
    let mut verdict = |state: &CrashState, contents: &[u8]| {
        check(&mut CutDisk::new(&recording.before, states.touched(), contents), state)
    };
    for number in limits.first..limits.first + limits.states {
        let state = states.draw(limits.seed, number);
        let contents = states.contents(&state);
        if known.insert((fingerprint(&contents), said(&state))) {
            let Some(found) = verdict(&state, &contents) else { return exploration };
            exploration.checked += 1;
            match found {
                Verdict::Holds => {}
                Verdict::Fails(why) => {
                    exploration.states += 1;
                    let mut found = Found { number, drawn: state.clone(), smallest: state, why, contents };
                    exploration.smaller = shrink(&mut found, states, limits.smaller, &mut verdict);
                    exploration.found = Some(found);
                    return exploration;
                }
            }
        }
        exploration.states += 1;
        if look(&exploration).is_break() {
            return exploration;
        }
    }
    exploration
}

/// 128 bits of a hash: two states of a run with the same are taken for one.
pub(crate) fn fingerprint(bytes: &[u8]) -> [u64; 2] {
    [0_u8, 1].map(|salt| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        hasher.write(bytes);
        hasher.finish()
    })
}

/// Keeps what was lost or torn, part by part, as long as the state still fails (delta debugging): where order holds,
/// from the first on. Returns the checks it took, which are `most` at most.
fn shrink(
    found: &mut Found,
    states: &States<'_>,
    most: u64,
    verdict: &mut dyn FnMut(&CrashState, &[u8]) -> Option<Verdict>,
) -> u64 {
    let is_missing = |(_, fate): &(usize, Fate)| *fate != Fate::Kept;
    let missing = |state: &CrashState| -> Vec<usize> {
        let places = 0..state.fates.len();
        places.filter(|at| is_missing(&state.fates[*at])).collect()
    };
    let mut checks = 0;
    let mut parts = 2;
    loop {
        let places = missing(&found.smallest);
        let size = places.len().div_ceil(parts).max(1);
        let mut is_smaller = false;
        let tried = if states.guarantee() == Guarantee::InOrder { 1 } else { usize::MAX };
        for part in places.chunks(size).take(tried) {
            if checks == most {
                return checks;
            }
            let mut smaller = found.smallest.clone();
            for at in part {
                smaller.fates[*at].1 = Fate::Kept;
            }
            checks += 1;
            let contents = states.contents(&smaller);
            match verdict(&smaller, &contents) {
                None => return checks,
                Some(Verdict::Holds) => {}
                Some(Verdict::Fails(why)) => {
                    (found.smallest, found.why, found.contents, is_smaller) = (smaller, why, contents, true);
                    break;
                }
            }
        }
        if is_smaller {
            parts = 2.max(parts - 1);
        } else if size == 1 {
            return checks;
        } else {
            parts *= 2;
        }
    }
}
