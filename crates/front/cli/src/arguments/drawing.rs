//! Arguments of timelines.

use clap::Args;
use compare::Drawing;
use nand::Choice;
use simulator::session::TimelinePlan;
use std::path::PathBuf;
use units::{Nanos, quantity};

/// Most pieces of work, and most requests, of a window: some 150 MB of memory.
const MOST: usize = 2_000_000;
/// Closeups of the slowest requests, where nothing else is asked for, and most of them.
const SLOWEST: usize = 20;
const SLOWEST_MOST: usize = 1000;
/// Closeups next to a percentile.
const NEAREST: usize = 5;

/// The part of a run that is drawn over time.
#[derive(Debug, Args)]
#[command(next_help_heading = "Timeline")]
pub struct TimelineArguments {
    /// Write the work of requests, layers, channels, dies and planes into this file, which Perfetto (ui.perfetto.dev)
    /// opens. A name that ends in .gz is compressed.
    #[arg(long, value_name = "FILE")]
    pub timeline: Option<PathBuf>,
    /// Write only the part between two moments of the measured run, for example 10ms..12ms. Two million pieces of work
    /// are kept at most.
    #[arg(long, value_name = "FROM..TO", requires = "timeline", value_parser = window)]
    pub window: Option<Window>,
    /// Write only the work around chosen requests: slowest:20 for the slowest (the default), or percentile:99.9 for
    /// five requests whose latency is next to a percentile (nandarium runs the workload twice).
    #[arg(long, value_name = "slowest:N|percentile:P", requires = "timeline", conflicts_with = "window",
        value_parser = around)]
    pub around: Option<Around>,
}

/// Requests that are looked at from near.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Around {
    /// So many of the slowest.
    Slowest(usize),
    /// Those nearest to this percentile, a share of all.
    Percentile(f64),
}

impl TimelineArguments {
    /// The events to record, the percentile to look for, and the file.
    pub fn plan(&self) -> Option<Drawing> {
        let path = self.timeline.clone()?;
        let (plan, percentile) = match (&self.window, self.around) {
            (Some(Window(window)), _) => {
                (TimelinePlan { window: Some(*window), most: MOST, ..TimelinePlan::default() }, None)
            }
            (None, Some(Around::Percentile(share))) => (TimelinePlan::default(), Some((NEAREST, share))),
            (None, around) => {
                let slowest = if let Some(Around::Slowest(number)) = around { number } else { SLOWEST };
                (TimelinePlan { closeups: Choice::Slowest(slowest), ..TimelinePlan::default() }, None)
            }
        };
        Some(Drawing { plan, percentile, path })
    }
}

/// Two moments of simulated time, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window([Nanos; 2]);

fn window(text: &str) -> Result<Window, String> {
    let form = || format!("`{text}` is not a window; write two times, as 10ms..12ms");
    let (from, to) = text.split_once("..").ok_or_else(form)?;
    let time = |text: &str| quantity::parse_duration(text.trim()).map_err(|error| error.to_string());
    let (from, to) = (time(from)?, time(to)?);
    if from >= to { Err(form()) } else { Ok(Window([from, to])) }
}

fn around(text: &str) -> Result<Around, String> {
    let form =
        || format!("`{text}` is not a choice of requests; write slowest:20 (1 to {SLOWEST_MOST}), or percentile:99.9");
    if let Some(number) = text.strip_prefix("slowest:") {
        let number = number.parse().ok().filter(|number| (1..=SLOWEST_MOST).contains(number));
        return number.map(Around::Slowest).ok_or_else(form);
    }
    let percent = text.strip_prefix("percentile:").and_then(|number| number.parse::<f64>().ok());
    let percent = percent.filter(|percent| (0.0..100.0).contains(percent)).ok_or_else(form)?;
    Ok(Around::Percentile(percent / 100.0))
}
