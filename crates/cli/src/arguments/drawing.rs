//! Arguments of timelines.

use clap::Args;
use simulator::session::TimelinePlan;
use std::path::PathBuf;
use units::{Nanos, quantity};

/// Most pieces of work, and most requests, of a window: some 150 MB of memory.
const MOST: usize = 2_000_000;
/// Closeups of the slowest requests, where nothing else is asked for, and most of them.
const SLOWEST: usize = 20;
const SLOWEST_MOST: usize = 1000;

/// What of a run is drawn over time.
#[derive(Debug, Args)]
pub struct TimelineArguments {
    /// Write what requests, channels and dies did into this file, in the trace format that Perfetto (ui.perfetto.dev)
    /// and Chrome (about:tracing) open; with .gz at its end it is compressed.
    #[arg(long, value_name = "FILE")]
    pub timeline: Option<PathBuf>,
    /// Of that, what falls between two moments of the measured run: 10ms..12ms. Two million pieces of work are kept at
    /// most.
    #[arg(long, value_name = "FROM..TO", requires = "timeline", value_parser = window)]
    pub window: Option<Window>,
    /// Of that, what was done while the slowest requests were under way: slowest:20, which is the default.
    #[arg(long, value_name = "slowest:N", requires = "timeline", conflicts_with = "window", value_parser = slowest)]
    pub around: Option<usize>,
}

impl TimelineArguments {
    /// What to take down, and where it goes.
    pub fn plan(&self) -> Option<(TimelinePlan, PathBuf)> {
        let path = self.timeline.clone()?;
        let plan = match &self.window {
            Some(Window(window)) => TimelinePlan { window: Some(*window), most: MOST, slowest: 0 },
            None => TimelinePlan { window: None, most: 0, slowest: self.around.unwrap_or(SLOWEST) },
        };
        Some((plan, path))
    }
}

/// Two moments, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window([Nanos; 2]);

fn window(text: &str) -> Result<Window, String> {
    let form = || format!("`{text}` is no window; write two times, as 10ms..12ms");
    let (from, to) = text.split_once("..").ok_or_else(form)?;
    let time = |text: &str| quantity::parse_duration(text.trim()).map_err(|error| error.to_string());
    let (from, to) = (time(from)?, time(to)?);
    if from >= to { Err(form()) } else { Ok(Window([from, to])) }
}

fn slowest(text: &str) -> Result<usize, String> {
    let number = text.strip_prefix("slowest:").and_then(|number| number.parse().ok());
    let form = || format!("`{text}` is no choice of requests; write slowest:20, from 1 to {SLOWEST_MOST}");
    number.filter(|number| (1..=SLOWEST_MOST).contains(number)).ok_or_else(form)
}
