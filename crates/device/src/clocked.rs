//! Flash with time and without.

use nand::{CountedFlash, Flash, MeteredFlash, TimedFlash};
use stack::Stacked;
use units::Nanos;

/// Flash that can let time pass.
pub trait Clocked: Stacked {
    /// Whether time passes at all.
    const HAS_TIME: bool;

    /// Runs until there is an event for a layer; `false`: nothing is pending.
    fn advance(&mut self) -> bool;

    /// Events later than this cannot be told from others, ns.
    fn time_limit(&self) -> Nanos {
        Nanos::MAX
    }
}

impl Clocked for CountedFlash {
    const HAS_TIME: bool = false;

    #[inline]
    fn advance(&mut self) -> bool {
        !self.core().events.is_empty()
    }
}

impl Clocked for MeteredFlash {
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

    fn time_limit(&self) -> Nanos {
        TimedFlash::time_limit(self)
    }
}
