//! Several rounds of this program, each a process of its own with reference programs before and after it: the mean of
//! each row and of its ratio, with their 95 % intervals.

use crate::against::{recorded, run, words};
use metrics::Cell;
use serde_json::{Value, json};
use std::io;

/// A row of several rounds.
#[derive(Clone, Debug)]
pub(crate) struct Repeated {
    /// By round, as [`crate::rows::Row::to_json`] writes it.
    rounds: Vec<Value>,
}

impl Repeated {
    fn text(&self, key: &str) -> &str {
        self.rounds[0][key].as_str().unwrap_or_default()
    }

    fn values(&self, key: &str) -> Vec<f64> {
        self.rounds.iter().filter_map(|round| round[key].as_f64()).collect()
    }

    fn mean(&self, key: &str) -> Option<Cell> {
        Cell::of(&self.values(key), 0.0)
    }

    /// The mean ratio, and of how many rounds where reference programs failed in some.
    fn ratio_in_words(&self) -> String {
        let told = self.values("ratio_to_yardstick").len();
        let words = words(self.mean("ratio_to_yardstick"));
        if (1..self.rounds.len()).contains(&told) {
            format!("{words} ({told} of {} rounds)", self.rounds.len())
        } else {
            words
        }
    }

    fn is_same(&self) -> bool {
        self.rounds.iter().all(|round| round["hash"] == self.rounds[0]["hash"])
    }

    /// The row as kept in the record of the rounds.
    pub fn to_json(&self) -> Value {
        let cell = |key| recorded(self.mean(key));
        json!({"row": self.text("row"), "unit": self.text("unit"), "target": self.rounds[0]["target"],
            "same": self.is_same(), "rounds": self.values("measured"), "mean": cell("measured"),
            "ratios": self.values("ratio_to_yardstick"), "ratio": cell("ratio_to_yardstick")})
    }
}

/// Runs this program so many times.
/// Errors: it cannot be run, or writes no figures.
pub(crate) fn measure(rounds: u32, only: Option<&str>, smoke: bool) -> io::Result<Vec<Repeated>> {
    let own = std::env::current_exe()?;
    let mut rows = Vec::<Repeated>::new();
    for round in 0..rounds {
        eprintln!("round {} of {rounds}", round + 1);
        let told = run(&own, only, smoke)?;
        let told = told["rows"].as_array().into_iter().flatten();
        for (at, row) in told.enumerate() {
            if round == 0 {
                rows.push(Repeated { rounds: Vec::new() });
            }
            rows[at].rounds.push(row.clone());
        }
    }
    Ok(rows)
}

/// The table.
pub(crate) fn print(rows: &[Repeated]) {
    println!(
        "{:<26} {:<20} {:>9}  {:<25}  what was simulated",
        "row, mean of the rounds", "measured", "target", "ratio"
    );
    for row in rows {
        println!(
            "{:<26} {:<20} {:>9}  {:<25}  {}",
            row.text("row"),
            format!("{} {}", words(row.mean("measured")), row.text("unit")),
            format!("{} {}", row.rounds[0]["target"], row.text("unit")),
            row.ratio_in_words(),
            if row.is_same() { "the same" } else { "differs" },
        );
    }
}
