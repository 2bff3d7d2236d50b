//! Work of dies, channels and requests during a measured run, beside its result.

use super::SessionError;
use super::gauges::Gauge;
use crate::DrivePlan;
use layer::{HOST_OWNER, OWNERS};
use nand::{Choice, Recorder, RecorderPlan, Slice};
use units::{DieId, Geometry, Nanos, Ppn};

/// The events to record.
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

/// The recorded events.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// When the measured run began, in the time of all that was recorded.
    pub started: Nanos,
    /// Everything between these moments is there, in the same time.
    pub window: Option<[Nanos; 2]>,
    /// Name of each die, and after them of each channel.
    pub tracks: Vec<String>,
    /// Name of each layer that may ask for commands: the host's requests first, the mapping last.
    pub layers: Vec<&'static str>,
    /// Shape of the flash, which says where a page is.
    pub geometry: Geometry,
    pub recorder: Box<Recorder>,
    /// Contents of blocks, buffers and caches within the window, in order of time.
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
            layers: OWNERS.len() as u16,
        }
    }
}

/// Where a piece of work lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On the array of this die.
    Die(u32),
    /// A transfer on this channel.
    Channel(u32),
    /// Among the commands of this layer, by its place in [`Timeline::layers`].
    Layer(usize),
}

impl Timeline {
    pub(super) fn new(
        plan: &DrivePlan,
        (started, window): (Nanos, Option<[Nanos; 2]>),
        recorder: Box<Recorder>,
        gauges: Vec<Gauge>,
    ) -> Self {
        let geometry = &plan.geometry;
        let die = |die: u32| format!("die {die} (channel {})", geometry.channel_of(DieId(die)).0);
        let channels = (0..geometry.channels).map(|channel| format!("channel {channel}"));
        let tracks = (0..geometry.dies()).map(die).chain(channels).collect();
        // Stripes and coded striping take the same place.
        let name = |name| if name == "stripe" && plan.coded.is_some() { "coded" } else { name };
        let layers = OWNERS.into_iter().map(name).chain(["ftl"]).collect();
        Self { started, window, tracks, layers, geometry: *geometry, recorder, gauges }
    }

    /// Where a piece of work lies.
    pub fn place(&self, slice: &Slice) -> Place {
        let [track, dies, tracks] = [u32::from(slice.track), self.geometry.dies(), self.tracks.len() as u32];
        match track {
            _ if track < dies => Place::Die(track),
            _ if track < tracks => Place::Channel(track - dies),
            _ => Place::Layer((track - tracks) as usize),
        }
    }

    /// The plane of its die in which the first page of a piece of work is.
    pub fn plane(&self, slice: &Slice) -> u32 {
        self.geometry.plane_of(self.geometry.block_of(Ppn(slice.page)))
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
