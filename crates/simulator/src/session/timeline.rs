//! What dies, channels and requests did during a measured run, beside its result.

use super::SessionError;
use super::gauges::Gauge;
use crate::DrivePlan;
use layer::HOST_OWNER;
use nand::{Choice, Recorder, RecorderPlan};
use units::{DieId, Nanos};

/// What is to be taken down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimelinePlan {
    /// Everything between these moments, ns since the measured run began.
    pub window: Option<[Nanos; 2]>,
    /// Most pieces of work that are kept of it.
    pub most: usize,
    /// Requests that are looked at closely.
    pub closeups: Choice,
    /// Of each operation the slowest, and some of every latency, beside these: for a page.
    pub samples: bool,
}

/// What was taken down.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// When the measured run began, in the time of all that was recorded.
    pub started: Nanos,
    /// Name of each track: dies, and after them channels.
    pub tracks: Vec<String>,
    /// Pages of a block, for places.
    pub pages_per_block: u32,
    /// Work and requests.
    pub recorder: Box<Recorder>,
    /// What stood in blocks, buffers and caches within the window, in order of time.
    pub gauges: Vec<Gauge>,
}

impl TimelinePlan {
    /// The same for a run that begins at `started`.
    pub(super) fn from(self, started: Nanos) -> RecorderPlan {
        RecorderPlan {
            window: self.window.map(|window| window.map(|at| at.saturating_add(started))),
            most: self.most,
            closeups: self.closeups,
            samples: self.samples,
            host: HOST_OWNER,
        }
    }
}

impl Timeline {
    pub(super) fn new(plan: &DrivePlan, started: Nanos, recorder: Box<Recorder>, gauges: Vec<Gauge>) -> Self {
        let geometry = &plan.geometry;
        let die = |die: u32| format!("die {die} (channel {})", geometry.channel_of(DieId(die)).0);
        let channels = (0..geometry.channels).map(|channel| format!("channel {channel}"));
        let tracks = (0..geometry.dies()).map(die).chain(channels).collect();
        Self { started, tracks, pages_per_block: geometry.pages_per_block, recorder, gauges }
    }
}

/// A run without what a timeline shows.
pub fn without_time() -> SessionError {
    SessionError::Timeline {
        problem:
            "a timeline shows dies and channels side by side: it needs engine.time = virtual and engine.service = \
                  parallel"
                .to_owned(),
    }
}
