//! States in their order: new states are checked, several at once, and the first that fails is made smaller.
//!
//! ```text
//! drawn, several at once -> new? in their order -> window -> checked, several at once -> verdicts in their order
//! ```
//! Protects: how many threads there are changes neither which states are checked, nor how many, nor which one is found.

use crate::cut_disk::CutDisk;
use crate::drive_image::{Digest, DriveImage};
use crate::explore::{Exploration, Found, Verdict};
use crate::harness::TortureError;
use crate::judge::{Checks, Judge, JudgeOne, Judged};
use crate::states::{CrashState, Guarantee, Outcome, States};
use experiment::Monitor;
use std::collections::HashSet;
use std::ops::ControlFlow;

/// New states of a window for each thread: some threads wait at its end.
const WINDOW: usize = 8;
/// States that each thread draws before those that are new are looked for.
const DRAWN: usize = 128;
/// Rounds of drawing after which a window is not filled further.
const ROUNDS: usize = 16;

/// Two states with the same hold the same bytes after the same lines.
type Key = (Digest, Option<u64>, usize);

/// A state that was drawn.
pub(crate) struct Candidate<'s> {
    pub number: u64,
    key: Key,
    /// The state and the drive in it, where they are not drawn once more to be checked.
    pub held: Option<(CrashState, DriveImage<'s>)>,
    /// The verdict, where it is known without a check.
    known: Option<Verdict>,
    /// States after it that held the same as others.
    same: u64,
}

impl<'s> Candidate<'s> {
    /// Nothing of the state itself is kept before [`Candidate::holding`].
    pub fn new(states: &States<'_>, number: u64, state: &CrashState, image: &DriveImage<'_>) -> Self {
        let (digest, stale) = image.digest();
        let key = (digest, stale, states.recording.said_by(state.step).count());
        Self { number, key, held: None, known: None, same: 0 }
    }

    /// With the state and the drive.
    pub fn holding(self, state: CrashState, image: DriveImage<'s>) -> Self {
        Self { held: Some((state, image)), ..self }
    }
}

/// States that were judged, and the verdicts.
pub(crate) struct Search<'a, 's> {
    pub exploration: Exploration,
    /// The one that failed.
    pub failed: Option<Candidate<'s>>,
    pub judge: Judge<'a>,
    checks: &'a Checks,
    monitor: &'a dyn Monitor,
    seen: HashSet<Key>,
    /// New states so far.
    new: u64,
    /// Those that have no verdict yet.
    window: Vec<Candidate<'s>>,
    /// Of these, those to be checked.
    due: usize,
    /// How often states were drawn for the window.
    rounds: usize,
}

impl<'a, 's> Search<'a, 's> {
    pub fn new(judge: Judge<'a>, checks: &'a Checks, monitor: &'a dyn Monitor) -> Self {
        Self {
            exploration: Exploration::default(),
            failed: None,
            judge,
            checks,
            monitor,
            seen: HashSet::new(),
            new: 0,
            window: Vec::new(),
            due: 0,
            rounds: 0,
        }
    }

    /// Takes a state that comes after all others, to be checked if its bytes are new.
    fn offer(&mut self, mut candidate: Candidate<'s>) {
        if !self.seen.insert(candidate.key) {
            self.monitor.found(1);
            match self.window.last_mut() {
                Some(last) => last.same += 1,
                None => self.exploration.states += 1,
            }
            return;
        }
        self.new += 1;
        candidate.known = self.checks.verdict(self.new);
        match candidate.known {
            Some(_) => self.monitor.found(1),
            None => self.due += 1,
        }
        self.window.push(candidate);
    }

    /// Draws states by their numbers and judges them, until one fails or the monitor is stopped. `draw` gives a state
    /// and the drive in it.
    ///
    /// Errors: a check could not be made.
    pub fn draw(
        &mut self,
        states: &'s States<'s>,
        numbers: std::ops::Range<u64>,
        draw: &(dyn Fn(u64) -> (CrashState, DriveImage<'s>) + Sync),
    ) -> Result<(), TortureError> {
        let threads = self.judge.threads();
        let is_alone = threads == 1;
        let round = if is_alone { 1 } else { (threads * DRAWN) as u64 };
        let make = |candidate: &Candidate<'s>, judge: &mut JudgeOne<'_>| {
            if let Some((state, image)) = &candidate.held {
                judge(state, image)
            } else {
                let (state, image) = draw(candidate.number);
                judge(&state, &image)
            }
        };
        let mut next = numbers.start;
        while next < numbers.end {
            let end = next.saturating_add(round).min(numbers.end);
            let some: Vec<u64> = (next..end).collect();
            let drawn = experiment::each(self.judge.pool(), &some, |number| {
                let (state, image) = draw(*number);
                let candidate = Candidate::new(states, *number, &state, &image);
                if is_alone { candidate.holding(state, image) } else { candidate }
            });
            next = end;
            for candidate in drawn {
                self.offer(candidate);
            }
            self.rounds += 1;
            let is_full = is_alone || self.due >= threads * WINDOW || self.rounds >= ROUNDS || next == numbers.end;
            if is_full && self.settle(&make)?.is_break() || self.monitor.is_stopped() {
                break;
            }
        }
        Ok(())
    }

    /// Judges states, which hold what is to be judged, and all before them.
    ///
    /// Errors: a check could not be made.
    pub fn judge_held(
        &mut self,
        candidates: impl IntoIterator<Item = Candidate<'s>>,
    ) -> Result<ControlFlow<()>, TortureError> {
        for candidate in candidates {
            self.offer(candidate);
        }
        self.settle(&|candidate, judge| {
            let (state, image) = candidate.held.as_ref().expect("it was drawn with it");
            judge(state, image)
        })
    }

    /// Judges the window. To be ended: a state fails, or one has no verdict.
    ///
    /// Errors: the check of a state could not be made, and none before it fails.
    fn settle(
        &mut self,
        make: &(dyn Fn(&Candidate<'s>, &mut JudgeOne<'_>) -> Judged + Sync),
    ) -> Result<ControlFlow<()>, TortureError> {
        let window = std::mem::take(&mut self.window);
        (self.due, self.rounds) = (0, 0);
        let due: Vec<&Candidate<'s>> = window.iter().filter(|candidate| candidate.known.is_none()).collect();
        let monitor = self.monitor;
        let judged = self.judge.each(&due, |candidate, judge| {
            let judged = make(candidate, judge)?;
            if let Some(verdict) = &judged {
                let how = if *verdict == Verdict::Holds { "holds" } else { "fails" };
                monitor.ended(&format!("state {}", candidate.number), how);
            }
            Ok(judged)
        });
        let (mut judged, mut is_cut) = (judged.into_iter(), false);
        for mut candidate in window {
            let verdict = match candidate.known.take() {
                Some(known) => Some(known),
                None => judged.next().flatten().transpose()?.flatten(),
            };
            let Some(verdict) = verdict else {
                // Verdicts after it were given before it was interrupted: they are kept.
                is_cut = true;
                continue;
            };
            self.exploration.checked += 1;
            self.exploration.states += 1;
            if let Verdict::Fails(why) = verdict {
                make(&candidate, &mut |state, image| {
                    let (number, drawn, smallest, why) = (candidate.number, state.clone(), state.clone(), why.clone());
                    let image = CutDisk::of(image).to_bytes();
                    self.exploration.found = Some(Found { number, drawn, smallest, why, image });
                    Ok(None)
                })?;
                self.failed = Some(candidate);
                return Ok(ControlFlow::Break(()));
            }
            self.exploration.states += candidate.same;
        }
        Ok(if is_cut || self.monitor.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// Keeps what was lost or torn, part by part, as long as the state still fails (delta debugging): where order
    /// holds, from the first on. `most`: checks it may take. `image`: the contents of a smaller state.
    ///
    /// Errors: a check could not be made.
    pub fn shrink<'h>(
        &mut self,
        most: u64,
        guarantee: Guarantee,
        image: &(dyn Fn(&CrashState) -> DriveImage<'h> + Sync),
    ) -> Result<(), TortureError> {
        let Exploration { found, smaller: made, .. } = &mut self.exploration;
        let Some(found) = found else { return Ok(()) };
        let missing = |state: &CrashState| -> Vec<usize> {
            let places = 0..state.outcomes.len();
            places.filter(|at| state.outcomes[*at].1 != Outcome::Kept).collect()
        };
        let without = |state: &CrashState, part: &[usize]| {
            let mut smaller = state.clone();
            for at in part {
                smaller.outcomes[*at].1 = Outcome::Kept;
            }
            smaller
        };
        let mut parts = 2;
        while *made < most {
            let places = missing(&found.smallest);
            let size = places.len().div_ceil(parts).max(1);
            let mut is_smaller = false;
            let tried = if guarantee == Guarantee::InOrder { 1 } else { (most - *made) as usize };
            let trials: Vec<&[usize]> = places.chunks(size).take(tried).collect();
            let judged = self.judge.each(&trials, |part, judge| {
                let smaller = without(&found.smallest, part);
                judge(&smaller, &image(&smaller))
            });
            for (part, judged) in trials.into_iter().zip(judged) {
                *made += 1;
                match judged.transpose()?.flatten() {
                    None => return Ok(()),
                    Some(Verdict::Holds) => {}
                    Some(Verdict::Fails(why)) => {
                        let smaller = without(&found.smallest, part);
                        found.image = CutDisk::of(&image(&smaller)).to_bytes();
                        (found.smallest, found.why, is_smaller) = (smaller, why, true);
                        break;
                    }
                }
            }
            if is_smaller {
                parts = 2.max(parts - 1);
            } else if size == 1 {
                return Ok(());
            } else {
                parts *= 2;
            }
        }
        Ok(())
    }
}
