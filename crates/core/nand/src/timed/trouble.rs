//! Dies that answer late on command: for a time they begin nothing, or they take longer for everything.

use super::chips::Chips;
use super::schedule::Due;
use units::{DieId, Nanos};

/// Times at which something holds, on a clock that the owner chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The time of its beginning, ns.
    pub since: Nanos,
    /// How long it holds, ns; `None`: to the end of time.
    pub lasts: Option<Nanos>,
    /// Time from one beginning to the next, ns; `None`: it begins once.
    pub every: Option<Nanos>,
}

impl Window {
    /// When the present time of the window ends; `None`: it does not hold now.
    pub fn until(&self, now: Nanos) -> Option<Nanos> {
        let Some(lasts) = self.lasts else { return Some(Nanos::MAX) };
        let passed = now.checked_sub(self.since)?;
        let begun = self.every.map_or(0, |every| passed / every * every);
        (passed - begun < lasts).then(|| (self.since + begun).saturating_add(lasts))
    }
}

/// A die that answers late.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DieTrouble {
    /// The number of the trouble, for its owner.
    pub number: u32,
    /// The die, as the layers know it.
    pub die: DieId,
    /// The times at which it holds.
    pub window: Window,
    /// How many times as long its arrays work; `None`: a command that begins takes until the end of the window longer.
    pub slows: Option<f64>,
    /// Commands that it has delayed.
    pub hits: u64,
}

/// The troubles of all dies, and the time of their clock at which the clock of the flash began.
#[derive(Clone, Debug, Default)]
pub(super) struct Troubles {
    pub all: Vec<DieTrouble>,
    pub before: Nanos,
    /// Work that takes longer for a trouble, one entry a die at most.
    late: Vec<Late>,
}

/// Work of a die that ends late.
#[derive(Clone, Copy, Debug)]
struct Late {
    die: usize,
    /// When it ends, and when it would have ended without trouble: ns of the clock of the flash.
    until: Nanos,
    without: Nanos,
}

impl Chips {
    /// The array of a die works for this time, or longer where the die is in trouble.
    #[inline]
    pub(super) fn arm_array(&mut self, index: usize, time: Nanos) {
        let time = if self.schedule.troubles.all.is_empty() { time } else { self.in_trouble(index, time) };
        self.schedule.arm(Due::Die(index), time);
    }

    /// Other troubles take the place of those there are. Work that ends late for a trouble that is over ends now, or
    /// when it would have ended without it.
    pub(super) fn set_troubles(&mut self, before: Nanos, all: Vec<DieTrouble>) {
        let late = std::mem::take(&mut self.schedule.troubles.late);
        self.schedule.troubles = Troubles { all, before, late: Vec::new() };
        self.see_to_booking();
        let now = self.schedule.now;
        for work in late {
            let due = Due::Die(work.die);
            // A die that has ended it, that was suspended, or that works on something else keeps its time.
            if work.until < now || self.schedule.left(due) != Some(work.until - now) {
                continue;
            }
            let mut here = self.schedule.troubles.all.iter().filter(|trouble| trouble.die.index() == work.die);
            if here.any(|trouble| trouble.window.until(before + now).is_some()) {
                self.schedule.troubles.late.push(work);
            } else {
                self.schedule.arm(due, work.without.saturating_sub(now));
            }
        }
    }

    /// Of several troubles at once the slowest holds, and the one that ends last: chips in lockstep work side by side.
    #[cold]
    fn in_trouble(&mut self, index: usize, time: Nanos) -> Nanos {
        let now = self.schedule.troubles.before + self.schedule.now;
        let limit = self.schedule.time_limit().saturating_sub(self.schedule.now);
        let (mut slowed, mut waits) = (time, 0);
        for trouble in self.schedule.troubles.all.iter_mut().filter(|trouble| trouble.die.index() == index) {
            let Some(until) = trouble.window.until(now) else { continue };
            trouble.hits += 1;
            match trouble.slows {
                Some(factor) => slowed = slowed.max((time as f64 * factor) as Nanos),
                None => waits = waits.max(until - now),
            }
        }
        let longer = slowed.saturating_add(waits).min(limit);
        let begun = self.schedule.now;
        let troubles = &mut self.schedule.troubles;
        troubles.late.retain(|work| work.die != index);
        if longer > time {
            troubles.late.push(Late { die: index, until: begun + longer, without: begun + time });
        }
        longer
    }
}
