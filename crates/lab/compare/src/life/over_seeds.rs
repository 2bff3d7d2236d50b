//! A life over runs with other seeds.

use figures::numbers::with_half;
use metrics::{Cell, LifeReport};
use serde_json::{Value, json};

/// Amounts of a life over runs with other seeds, where all runs have them.
#[derive(Clone, Debug)]
pub struct LifeOverSeeds {
    count: usize,
    amounts: [Option<Cell>; AMOUNTS.len()],
}

/// Amounts, as in `life.json` and in a sentence.
const AMOUNTS: [(&str, &str); 4] = [
    ("tbw", "TB written"),
    ("dwpd", "drive writes a day"),
    ("years", "years"),
    ("price_per_tb_written", "a TB written (currency as given)"),
];

/// The amounts of one life: its estimates.
pub(crate) fn amounts(report: &LifeReport) -> [Option<f64>; AMOUNTS.len()] {
    let ranges = [Some(report.tbw()), Some(report.dwpd()), report.years(), report.price_per_tb_written()];
    ranges.map(|range| range.map(|range| range.estimate))
}

impl LifeOverSeeds {
    /// Of the amounts of each run.
    pub(crate) fn of(runs: &[&[Option<f64>]]) -> Self {
        let cell = |at: usize| {
            let values = runs.iter().map(|run| run.get(at).copied().flatten()).collect::<Option<Vec<f64>>>()?;
            Cell::of(&values, 0.0)
        };
        Self { count: runs.len(), amounts: std::array::from_fn(cell) }
    }

    /// Means with halves of their intervals, in words.
    pub fn sentence(&self) -> String {
        let told = AMOUNTS.iter().zip(&self.amounts).filter_map(|((_, unit), cell)| {
            let Cell { mean, half } = (*cell)?;
            let [mean, half] = with_half(mean, half.unwrap_or(0.0));
            Some(format!("{mean} ±{half} {unit}"))
        });
        let told: Vec<String> = told.collect();
        format!(
            "means of {} runs with different seeds, with halves of their 95 % intervals: {}",
            self.count,
            told.join(", ")
        )
    }

    /// The form in `life.json`.
    pub fn to_json(&self) -> Value {
        let mut document = json!({"count": self.count, "sentence": self.sentence()});
        for ((name, _), cell) in AMOUNTS.iter().zip(&self.amounts) {
            document[name] = cell.map_or(Value::Null, |cell| json!({"mean": cell.mean, "half": cell.half}));
        }
        document
    }
}
