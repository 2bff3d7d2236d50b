//! Flash with time and without.

use crate::DrivePlan;
use ftl::RecoverError;
use layer::PageLayer;
use nand::{CountedFlash, Flash, FlashCore, MeteredFlash, TimedFlash};
use units::Nanos;

/// Layers over one kind of flash.
pub type Layers<F> = Box<dyn PageLayer<F>>;

/// Flash that can let time pass. Each kind builds its own layers, so that every mapping, buffer and stripe is compiled
/// once, here, and not again in each crate that simulates.
pub trait Clocked: Flash + Sized {
    /// Whether time passes at all.
    const HAS_TIME: bool;

    /// Runs until there is an event for a layer; `false`: nothing is pending.
    fn advance(&mut self) -> bool;

    /// Events later than this cannot be told from others, ns.
    fn time_limit(&self) -> Nanos {
        Nanos::MAX
    }

    /// The layers of a plan over flash in its fresh state.
    fn layers(&self, plan: &DrivePlan) -> Layers<Self>;

    /// The layers of a plan, rebuilt from what a power cut left.
    ///
    /// # Errors
    /// The mapping cannot be rebuilt.
    fn recovered(plan: &DrivePlan, image: &FlashCore) -> Result<Layers<Self>, RecoverError>;
}

/// What is the same for each kind: functions that are not generic, which is what this is for.
macro_rules! builds_layers {
    () => {
        fn layers(&self, plan: &DrivePlan) -> Layers<Self> {
            plan.layers_over(self)
        }

        fn recovered(plan: &DrivePlan, image: &FlashCore) -> Result<Layers<Self>, RecoverError> {
            plan.recovered_layers(image)
        }
    };
}

impl Clocked for CountedFlash {
    const HAS_TIME: bool = false;

    #[inline]
    fn advance(&mut self) -> bool {
        !self.core().events.is_empty()
    }

    builds_layers!();
}

impl Clocked for MeteredFlash {
    const HAS_TIME: bool = false;

    #[inline]
    fn advance(&mut self) -> bool {
        !self.core().events.is_empty()
    }

    builds_layers!();
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

    builds_layers!();
}
