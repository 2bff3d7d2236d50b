//! Flash with time and without.

use nand::{CountedFlash, FlashState, MeteredFlash, Recorder, RecorderPlan, TimedFlash};
use stack::Stacked;
use units::Nanos;

/// Flash in the hands of the drive: it lets time pass, takes what there is to tell, and breaks what is to break. Layers
/// are generic over [`Flash`] alone and reach none of this.
pub trait Clocked: Stacked {
    /// Whether time passes at all.
    const HAS_TIME: bool;

    /// All of the flash, for whoever owns it.
    fn state_mut(&mut self) -> &mut FlashState;

    /// Arms timer `timer` for `time`, or disarms it; nothing without time.
    fn set_timer(&mut self, _timer: u32, _time: Option<Nanos>) {}

    /// Runs until there is an event for a layer; `false`: nothing is pending.
    fn advance(&mut self) -> bool;

    /// Records what dies and channels do from now on; `false`: this flash has none that work side by side.
    fn record(&mut self, _plan: RecorderPlan) -> bool {
        false
    }

    /// What is being recorded, if anything is.
    #[inline]
    fn recorder(&mut self) -> Option<&mut Recorder> {
        None
    }

    /// What was recorded; nothing more is.
    fn take_recording(&mut self) -> Option<Box<Recorder>> {
        None
    }

    /// Events later than this cannot be told from others, ns.
    fn time_limit(&self) -> Nanos {
        Nanos::MAX
    }
}

impl Clocked for CountedFlash {
    const HAS_TIME: bool = false;

    #[inline]
    fn state_mut(&mut self) -> &mut FlashState {
        CountedFlash::state_mut(self)
    }

    #[inline]
    fn advance(&mut self) -> bool {
        CountedFlash::advance(self)
    }
}

impl Clocked for MeteredFlash {
    const HAS_TIME: bool = false;

    #[inline]
    fn state_mut(&mut self) -> &mut FlashState {
        MeteredFlash::state_mut(self)
    }

    #[inline]
    fn advance(&mut self) -> bool {
        MeteredFlash::advance(self)
    }
}

impl Clocked for TimedFlash {
    const HAS_TIME: bool = true;

    #[inline]
    fn state_mut(&mut self) -> &mut FlashState {
        TimedFlash::state_mut(self)
    }

    #[inline]
    fn set_timer(&mut self, timer: u32, time: Option<Nanos>) {
        TimedFlash::set_timer(self, timer, time);
    }

    #[inline]
    fn advance(&mut self) -> bool {
        TimedFlash::advance(self)
    }

    fn record(&mut self, plan: RecorderPlan) -> bool {
        TimedFlash::record(self, plan);
        true
    }

    #[inline]
    fn recorder(&mut self) -> Option<&mut Recorder> {
        TimedFlash::recorder(self)
    }

    fn take_recording(&mut self) -> Option<Box<Recorder>> {
        TimedFlash::take_recording(self)
    }

    fn time_limit(&self) -> Nanos {
        TimedFlash::time_limit(self)
    }
}
