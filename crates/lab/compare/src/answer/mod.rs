//! The answer of a comparison of lives: which drive is cheapest a year, which is fastest at the tail, which differences
//! matter, and what all of that assumes.
//!
//! *Laws*: a drive is named before another one only where their intervals do not overlap. Lives are compared at the
//! endurance that is assumed of each drive; where what is not known of it could turn the order round, the answer says
//! so. It also says so where `drive.scale` leaves a drive clearly less spare flash than the whole drive has.

mod assumptions;
mod lives;
mod ranking;
mod small;

use crate::count::RunCount;
use crate::repeated::{self, Repeated};
use crate::runs::{Ran, Stack};
use lives::{Best, lives};
use ranking::{Ranked, Runs, matter, tails};
use serde_json::{Value, json};
use small::TooSmall;

/// Differences below this share do not matter for a choice. The text says it.
pub const SHARE: f64 = 0.10;

/// The answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The drive that is cheapest a year, or lives longest where no prices were given.
    life: Result<Best, String>,
    /// The fastest drive at the tail, for each operation.
    tails: Vec<Ranked>,
    /// Differences that matter.
    differences: Vec<Ranked>,
    /// Runs of each drive.
    count: RunCount,
    /// Drives that `drive.scale` leaves too little spare flash.
    small: Option<TooSmall>,
    /// Lives under a trace that touches little of their drives.
    doubt: Option<String>,
    assumptions: String,
    /// How to give the prices that are missing.
    pub(crate) unpriced: Option<String>,
}

impl Answer {
    /// Of stacks that were all run.
    pub(crate) fn of(stacks: &[Stack], ran: &[Ran], repeated: &[Repeated], count: RunCount) -> Self {
        let single: Vec<Runs> = ran.iter().map(|ran| vec![repeated::figures(&ran.result.to_json(), None)]).collect();
        let all = repeated.iter().map(|repeated| repeated.runs.clone()).collect::<Vec<Runs>>();
        let runs = if repeated.is_empty() { single } else { all };
        let names: Vec<&str> = ran.iter().map(|ran| ran.result.stack.as_str()).collect();
        let small = TooSmall::of(stacks);
        let mut differences = lives::matter(ran);
        differences.extend(matter(&names, &runs));
        Self {
            life: lives(ran),
            tails: tails(&names, &runs),
            differences,
            assumptions: assumptions::line(stacks, ran, small.as_ref(), &count),
            count,
            small,
            doubt: lives::doubt(ran),
            unpriced: lives::unpriced(ran),
        }
    }

    /// The answer in words.
    pub fn sentence(&self) -> String {
        let life = match &self.life {
            Ok(best) => best.sentence(),
            Err(why) => why.clone(),
        };
        let tails = self.tails.iter().map(|tail| tail.sentence(self.count.runs > 1));
        let small = self.small.as_ref().map(TooSmall::sentence);
        std::iter::once(life).chain(tails).chain(small).chain(self.doubt.clone()).collect::<Vec<_>>().join(" ")
    }

    /// What the lines of [`Answer::differences`] are.
    pub fn about_differences(&self) -> String {
        let percent = SHARE * 100.0;
        match (self.differences.is_empty(), self.count.runs > 1) {
            (true, true) => format!("No figure differs by {percent:.0} % or more beyond its interval."),
            (true, false) if self.life.is_ok() => {
                format!("No figure differs by {percent:.0} % or more, and no life by more than its interval.")
            }
            (true, false) => format!("No figure differs by {percent:.0} % or more."),
            (false, true) => format!("Differences of {percent:.0} % and more, beyond their intervals:"),
            (false, false) => format!(
                "Differences of {percent:.0} % and more. Latencies and rates are of one run of each and may differ by \
                 chance; {}",
                self.count.remedy()
            ),
        }
    }

    /// The differences that matter, a line for each figure.
    pub fn differences(&self) -> Vec<String> {
        self.differences.iter().map(Ranked::line).collect()
    }

    /// What the answer assumes, in one line.
    pub fn assumptions(&self) -> &str {
        &self.assumptions
    }

    /// The form in a comparison.
    pub fn to_json(&self) -> Value {
        json!({
            "sentence": self.sentence(),
            "life": self.life.as_ref().ok().map(Best::to_json),
            "tails": self.tails.iter().map(|tail| tail.tail_to_json(self.count.runs > 1)).collect::<Vec<_>>(),
            "differences": self.differences.iter().map(Ranked::to_json).collect::<Vec<_>>(),
            "about_differences": self.about_differences(),
            "share": SHARE,
            "repetitions": self.count.runs,
            "assumptions": self.assumptions,
        })
    }
}
