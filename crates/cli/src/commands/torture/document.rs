//! What was found, as text and as JSON.

use crate::arguments::TortureArguments;
use serde_json::{Value, json};
use serve::OrderKind;
use torture::{CrashState, Exploration, Fate, Recording, States, fate_in_words, kind_in_words};
use units::SECTOR_BYTES;

/// Version of the JSON form.
const SCHEMA: &str = "nandarium.torture/2";

/// Everything there is to tell.
pub struct Report<'a> {
    pub arguments: &'a TortureArguments,
    pub states: &'a States<'a>,
    pub recording: &'a Recording,
    pub exploration: &'a Exploration,
    /// Time that all checks took.
    pub seconds: f64,
}

impl Report<'_> {
    pub fn flushes(&self) -> usize {
        self.recording.requests.iter().filter(|request| request.order.kind == OrderKind::Flush).count()
    }

    /// States a second.
    pub fn rate(&self) -> f64 {
        self.exploration.states as f64 / self.seconds.max(1e-9)
    }

    /// Whether a request must be there after a cut at a step.
    pub fn must_last(&self, request: usize, step: usize) -> bool {
        self.states.span(request).lasts <= step
    }

    pub fn text(&self, is_interrupted: bool) -> String {
        let (arguments, exploration) = (self.arguments, self.exploration);
        let text = format!(
            "recorded  {} requests, {} of them flushes; the workload said {} lines\n\
             states    {} drawn, {} checked (the others held the same), {:.1} s, {:.0} states a second\n",
            self.recording.requests.len(),
            self.flushes(),
            self.recording.said.len(),
            exploration.states,
            exploration.checked,
            self.seconds,
            self.rate()
        );
        match &exploration.found {
            None => {
                let so_far = if is_interrupted { ", and then it was interrupted" } else { "" };
                let by = if arguments.cuts == "drive" { "cuts within the drive" } else { &arguments.guarantee };
                text + &format!("verdict   holds, as far as these go ({by}){so_far}\n")
            }
            Some(found) => {
                let again = format!("again     the same command with --replay {}\n", found.number);
                text + &found.to_text(self.recording) + &again
            }
        }
    }

    pub fn document(&self) -> Value {
        let (arguments, recording, exploration) = (self.arguments, self.recording, self.exploration);
        let failure = exploration.found.as_ref().map(|failure| {
            json!({"state": failure.number, "why": failure.why, "steps_before_the_cut": failure.smallest.step,
                "lost": self.lost(&failure.smallest), "lost_as_drawn": self.lost(&failure.drawn),
                "stale_sector": failure.smallest.stale})
        });
        json!({
            "schema": SCHEMA, "seed": arguments.seed, "cuts": arguments.cuts, "guarantee": arguments.guarantee,
            "lies": arguments.lie, "faults": arguments.fault,
            "bytes": recording.before.len(), "requests": recording.requests.len(), "flushes": self.flushes(),
            "steps": recording.steps.len(), "lines_said": recording.said.len(), "states": exploration.states,
            "checked": exploration.checked, "checks_to_make_it_smaller": exploration.smaller,
            "seconds": self.seconds, "holds": exploration.found.is_none(), "failure": failure,
        })
    }

    fn lost(&self, state: &CrashState) -> Vec<Value> {
        let one = |(number, fate): &(usize, Fate)| {
            let order = self.recording.requests[*number].order;
            let all = u64::from(order.length) / SECTOR_BYTES;
            json!({"request": number, "op": kind_in_words(order.kind), "offset": order.offset,
                "bytes": order.length, "what": fate_in_words(*fate, all),
                "had_to_last": self.must_last(*number, state.step)})
        };
        state.missing().map(one).collect()
    }
}
