//! The findings, as text, as JSON and as a page.

#[cfg(feature = "page")]
mod page;

use crate::explore::{Exploration, kind_in_words, outcome_in_words};
use crate::recording::Recording;
use crate::states::{CrashState, Outcome, States};
use serde_json::{Value, json};
use serve::OrderKind;
use units::SECTOR_BYTES;

/// Version of the JSON form.
const SCHEMA: &str = "nandarium.torture/2";

/// The options, by the names that users give.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Seed of the states.
    pub seed: u64,
    /// Where states come from: `promise` or `drive`.
    pub cuts: String,
    /// Name of the guarantee, from [`Guarantee::TABLE`](crate::Guarantee::TABLE).
    pub guarantee: String,
    /// Bytes of a unit that is written whole or not at all.
    pub atomic: u64,
    /// Names of the lies, from [`Lie::TABLE`](crate::Lie::TABLE).
    pub lies: Vec<String>,
    /// The part that fails with the power.
    pub faults: Vec<String>,
    /// Options and commands that were run, for the page.
    pub commands: Vec<(String, String)>,
    /// How to see a failure again, but for its number.
    pub again: String,
    /// Number of a shard, from 0, and how many there are: only its checks were made.
    pub shard: Option<(u64, u64)>,
}

/// Everything there is to tell.
pub struct Report<'a> {
    /// The requests of the program.
    pub asked: &'a Asked,
    /// The recorded requests, of which the states are made.
    pub recording: &'a Recording,
    /// The states it may leave.
    pub states: &'a States<'a>,
    /// The states tried, and the findings.
    pub exploration: &'a Exploration,
    /// Time that all checks took.
    pub seconds: f64,
}

impl Report<'_> {
    fn flushes(&self) -> usize {
        self.recording.requests.iter().filter(|request| request.order.kind == OrderKind::Flush).count()
    }

    fn rate(&self) -> f64 {
        self.exploration.states as f64 / self.seconds.max(1e-9)
    }

    fn by(&self) -> String {
        let by = if self.asked.cuts == "drive" { "cuts within the drive" } else { self.asked.guarantee.as_str() };
        [by].into_iter()
            .chain(self.asked.lies.iter().chain(&self.asked.faults).map(String::as_str))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// Checks that were made here: all, or those of the shard. That of the disk as the workload left it is none.
    fn checked(&self) -> u64 {
        let all = self.exploration.checked;
        self.asked.shard.map_or(all, |(index, count)| {
            let up_to = |number: u64| (number + count - index) / count;
            up_to(all) - up_to(0)
        })
    }

    /// Why a verdict that holds may say little, a line each.
    fn doubts(&self) -> String {
        let (states, fixed) = (self.exploration.states, self.states.corners());
        let said = "note      The workload said no line, so the check had no promise to hold. Print a line after each \
                    flush.\n";
        let drawn = format!(
            "note      None of these states was drawn at random: the first {fixed} are fixed moments. Give --states {} \
             or more.\n",
            10 * fixed
        );
        let is_fixed = self.asked.cuts != "drive" && (2..=fixed).contains(&states);
        [(self.recording.said.is_empty(), said), (is_fixed, &drawn)]
            .into_iter()
            .filter_map(|(is_so, note)| is_so.then_some(note))
            .collect()
    }

    /// Lines for a terminal. `is_interrupted`: the user ended it.
    pub fn to_text(&self, is_interrupted: bool) -> String {
        let exploration = self.exploration;
        let others = match self.asked.shard {
            None if self.checked() == exploration.states => String::new(),
            None => " (the others held the same)".to_owned(),
            Some((index, count)) => {
                format!(
                    " (shard {} of {count}; all shards check {}, and the others held the same)",
                    index + 1,
                    exploration.checked
                )
            }
        };
        let text = format!(
            "recorded  {} requests, {} of them flushes; the workload said {} lines\n\
             states    {} drawn, {} checked{others}, {:.1} s, {:.0} states a second\n",
            self.recording.requests.len(),
            self.flushes(),
            self.recording.said.len(),
            exploration.states,
            self.checked(),
            self.seconds,
            self.rate()
        );
        match &exploration.found {
            None => {
                let so_far = if is_interrupted { ", and then it was interrupted" } else { "" };
                text + &format!("verdict   holds, as far as these go ({}){so_far}\n", self.by()) + &self.doubts()
            }
            Some(found) => {
                text + &found.to_text(self.recording) + &format!("again     {} {}\n", self.asked.again, found.number)
            }
        }
    }

    /// The document, whose schema is `docs/schemas/torture.schema.json`.
    pub fn to_json(&self) -> Value {
        let (asked, recording, exploration) = (self.asked, self.recording, self.exploration);
        let failure = exploration.found.as_ref().map(|failure| {
            json!({"state": failure.number, "why": failure.why, "steps_before_the_cut": failure.smallest.step,
                "lost": self.lost(&failure.smallest), "lost_as_drawn": self.lost(&failure.drawn),
                "stale_sector": failure.smallest.stale,
                "wrong": failure.smallest.wrong.map(|wrong| wrong.to_string())})
        });
        json!({
            "schema": SCHEMA, "seed": asked.seed, "cuts": asked.cuts, "guarantee": asked.guarantee,
            "atomic_bytes": asked.atomic,
            "lies": asked.lies, "faults": asked.faults,
            "bytes": recording.before.len(), "requests": recording.requests.len(), "flushes": self.flushes(),
            "steps": recording.steps.len(), "lines_said": recording.said.len(), "states": exploration.states,
            "checked": self.checked(), "shard": asked.shard.map(|(index, count)| format!("{}/{count}", index + 1)),
            "checks_to_make_it_smaller": exploration.smaller,
            "seconds": self.seconds, "holds": exploration.found.is_none(), "failure": failure,
        })
    }

    /// A page with the last requests before the cut, and their fate.
    #[cfg(feature = "page")]
    pub fn to_page(&self) -> String {
        page::render(self)
    }

    fn lost(&self, state: &CrashState) -> Vec<Value> {
        let one = |(number, outcome): &(usize, Outcome)| {
            let order = self.recording.requests[*number].order;
            let all = u64::from(order.length) / SECTOR_BYTES;
            json!({"request": number, "op": kind_in_words(order.kind), "offset": order.offset,
                "bytes": order.length, "what": outcome_in_words(*outcome, all),
                "had_to_last": self.states.span(*number).lasts <= state.step})
        };
        state.missing().map(one).collect()
    }
}
