//! Flash with time and without.

use nand::{CountedFlash, Flash, Meter, TimedFlash};

/// Flash that can let time pass.
pub trait Clocked: Flash {
    /// Whether time passes at all.
    const HAS_TIME: bool;

    /// Runs until there is an event for a layer; `false`: nothing is pending.
    fn advance(&mut self) -> bool;
}

impl<M: Meter> Clocked for CountedFlash<M> {
    const HAS_TIME: bool = false;

    #[inline]
    fn advance(&mut self) -> bool {
        !self.core().events.is_empty()
    }
}

impl Clocked for TimedFlash {
    const HAS_TIME: bool = true;

    #[inline]
    fn advance(&mut self) -> bool {
        TimedFlash::advance(self)
    }
}
