//! Drives that were made so small that they lack spare flash of the whole ones: the worth of lives and tails is about
//! in proportion to it. How much may be missing is said by the plan of a drive, as for the notes of runs.

use crate::runs::Stack;
use layer::spelling::joined;
use simulator::MissingSpare;

/// Drives that `drive.scale` leaves too little spare flash: each with how much is missing.
#[derive(Clone, Debug)]
pub(super) struct TooSmall {
    drives: Vec<(String, MissingSpare)>,
    /// A scale at which none of them misses any.
    scale: u64,
    /// There are other drives that they stand beside.
    has_order: bool,
}

impl TooSmall {
    /// `None`: all drives have about as much as the whole ones.
    pub fn of(stacks: &[Stack]) -> Option<Self> {
        let missing = stacks.iter().filter_map(|stack| Some((stack, stack.prepared.plan().missing_spare()?)));
        let small: Vec<(&Stack, MissingSpare)> = missing.collect();
        let scale = small.iter().map(|(stack, _)| stack.prepared.plan().scale_with_spare()).min()?;
        let drives = small.into_iter().map(|(stack, missing)| (stack.name.clone(), missing)).collect();
        Some(Self { drives, scale, has_order: stacks.len() > 1 })
    }

    /// The sentence about it in the answer.
    pub fn sentence(&self) -> String {
        let names = joined(&self.drives.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), "and");
        let what = if self.drives.len() == 1 {
            "has too little spare flash: it lives longer and answers faster as a whole drive"
        } else {
            "have too little spare flash: they live longer and answer faster as whole drives"
        };
        let order = if self.has_order { ", so the real order may be another" } else { "" };
        format!("At this scale {names} {what}{order}.")
    }

    /// The words about it in the line of assumptions: how much spare flash there is, and the remedy.
    pub fn assumption(&self) -> String {
        let one = |(name, MissingSpare { effective, whole }): &(String, MissingSpare)| {
            let [effective, whole] = [effective, whole].map(|share| format!("{:.1}\u{a0}%", share * 100.0));
            format!("{name} {effective} of the data (whole drive: {whole})")
        };
        let all: Vec<String> = self.drives.iter().map(one).collect();
        format!(
            "too little spare flash to clean with at this scale: {} (--set drive.scale={} mends it)",
            all.join(", "),
            self.scale
        )
    }
}
