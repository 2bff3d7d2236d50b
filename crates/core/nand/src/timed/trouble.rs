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
}

impl Chips {
    /// The array of a die works for this time, or longer where the die is in trouble.
    #[inline]
    pub(super) fn arm_array(&mut self, index: usize, time: Nanos) {
        let time = if self.schedule.troubles.all.is_empty() { time } else { self.in_trouble(index, time) };
        self.schedule.arm(Due::Die(index), time);
    }

    #[cold]
    fn in_trouble(&mut self, index: usize, mut time: Nanos) -> Nanos {
        let now = self.schedule.troubles.before + self.schedule.now;
        let limit = self.schedule.time_limit().saturating_sub(self.schedule.now);
        for trouble in self.schedule.troubles.all.iter_mut().filter(|trouble| trouble.die.index() == index) {
            let Some(until) = trouble.window.until(now) else { continue };
            trouble.hits += 1;
            time = match trouble.slows {
                Some(factor) => (time as f64 * factor) as Nanos,
                None => time.saturating_add(until - now),
            };
        }
        time.min(limit)
    }
}
