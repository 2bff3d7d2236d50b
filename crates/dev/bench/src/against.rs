//! Two builds of this program in turns: the cost or gain of a change, on a machine whose speed wanders.
//!
//! The programs run one right after the other, and the first one changes from round to round. A round gives one ratio
//! of each row, by wall time and by CPU time; the table tells their mean with its 95 % interval.

use crate::instructions;
use metrics::Cell;
use serde_json::{Value, json};
use std::io;
use std::path::Path;
use std::process::Command;

/// The rounds of a row.
#[derive(Clone, Debug)]
pub(crate) struct Compared {
    name: String,
    unit: String,
    /// By round: what was measured before and after.
    rounds: Vec<[Value; 2]>,
}

impl Compared {
    fn values(&self, key: &str) -> impl Iterator<Item = [f64; 2]> {
        self.rounds.iter().filter_map(move |round| {
            let [before, after] = [0, 1].map(|side| round[side][key].as_f64().filter(|value| *value > 0.0));
            Some([before?, after?])
        })
    }

    fn is_smaller_better(&self) -> bool {
        self.unit != "M/s" && self.unit != "k/s"
    }

    /// How many times as fast it is (or as small): the mean of the rounds' ratios.
    fn ratio(&self, key: &str) -> Option<Cell> {
        let smaller = self.is_smaller_better();
        let ratios: Vec<f64> =
            self.values(key).map(|[before, after]| if smaller { before / after } else { after / before }).collect();
        Cell::of(&ratios, 0.0)
    }

    /// The best round of each side.
    fn best(&self, key: &str) -> Option<[f64; 2]> {
        let better = |a: f64, b: f64| if self.is_smaller_better() { a.min(b) } else { a.max(b) };
        self.values(key).reduce(|best, round| [better(best[0], round[0]), better(best[1], round[1])])
    }

    /// Whether both simulated the same.
    fn is_same(&self) -> bool {
        self.rounds.iter().all(|[before, after]| before["hash"] == after["hash"])
    }
}

/// Runs `other` and this program in turns, `rounds` times each.
/// Errors: one of them cannot be run, or writes no figures.
pub(crate) fn measure(other: &Path, rounds: u32, only: Option<&str>) -> io::Result<Vec<Compared>> {
    let own = std::env::current_exe()?;
    let mut rows = Vec::<Compared>::new();
    for round in 0..rounds {
        let mut sides = [Value::Null, Value::Null];
        for turn in [0, 1] {
            let side = (round as usize + turn) % 2;
            let program = if side == 0 { other } else { &own };
            eprintln!("round {} of {rounds}: {}", round + 1, program.display());
            sides[side] = run(program, only, false)?;
        }
        for after in sides[1]["rows"].as_array().into_iter().flatten() {
            let named = |row: &&Value| row["row"] == after["row"];
            let Some(before) = sides[0]["rows"].as_array().into_iter().flatten().find(named) else { continue };
            let text = |key: &str| after[key].as_str().unwrap_or_default().to_owned();
            let at = rows.iter().position(|row| row.name == text("row")).unwrap_or_else(|| {
                rows.push(Compared { name: text("row"), unit: text("unit"), rounds: Vec::new() });
                rows.len() - 1
            });
            rows[at].rounds.push([before.clone(), after.clone()]);
        }
    }
    Ok(rows)
}

/// The record of one round of a program.
/// Errors: it cannot be run, or writes no figures.
pub(crate) fn run(program: &Path, only: Option<&str>, smoke: bool) -> io::Result<Value> {
    let folder = tempfile::tempdir()?;
    let mut command = Command::new(program);
    command.arg("--out").arg(folder.path()).args(only.map(|group| ["--only", group]).into_iter().flatten());
    let ended = command.args(smoke.then_some("--smoke")).output()?;
    let said = String::from_utf8_lossy(&ended.stderr);
    if !ended.status.success() {
        return Err(io::Error::other(format!("{}: {}: {said}", program.display(), ended.status)));
    }
    said.lines().filter(|line| !line.starts_with("wrote ")).for_each(|line| eprintln!("{line}"));
    Ok(serde_json::from_slice(&std::fs::read(folder.path().join("bench.json"))?)?)
}

/// A ratio and its interval, as a table has it.
pub(crate) fn words(ratio: Option<Cell>) -> String {
    match ratio {
        None => "-".to_owned(),
        Some(Cell { mean, half: None }) => format!("{mean:.3}"),
        Some(Cell { mean, half: Some(half) }) => format!("{mean:.3} ±{half:.3}"),
    }
}

/// The same as records have it.
pub(crate) fn recorded(ratio: Option<Cell>) -> Option<Value> {
    ratio.map(|ratio| json!({"mean": ratio.mean, "half": ratio.half}))
}

pub(crate) fn print(rows: &[Compared]) {
    println!(
        "{:<28} {:>12} {:>12}  {:<13}  {:<13}  what was simulated",
        "row, best by wall time", "before", "after", "ratio by CPU", "ratio by wall"
    );
    for row in rows {
        let [before, after] = row.best("measured").unwrap_or_default();
        println!(
            "{:<28} {before:>8.3} {:<3} {after:>8.3} {:<3}  {:<13}  {:<13}  {}",
            row.name,
            row.unit,
            row.unit,
            words(row.ratio("by_cpu")),
            words(row.ratio("measured")),
            if row.is_same() { "the same" } else { "differs" },
        );
    }
}

pub(crate) fn to_json(rows: &[Compared], other: &Path) -> Value {
    let ratio = |row: &Compared, key| recorded(row.ratio(key));
    let row = |row: &Compared| {
        json!({"row": row.name, "unit": row.unit, "best": row.best("measured"), "same": row.is_same(),
            "rounds": row.values("measured").collect::<Vec<_>>(), "ratio": ratio(row, "measured"),
            "rounds_by_cpu": row.values("by_cpu").collect::<Vec<_>>(), "ratio_by_cpu": ratio(row, "by_cpu")})
    };
    json!({"before": other.display().to_string(), "rows": rows.iter().map(row).collect::<Vec<_>>()})
}

/// Instructions of each kind of work: of `other`, if there is one, and of this program.
/// Errors: valgrind or one of the programs cannot be run.
pub(crate) fn count_instructions(other: Option<&Path>) -> io::Result<()> {
    let own = std::env::current_exe()?;
    println!("{:<28} {:>9} {:>9}  ratio", "instructions", "before", "after");
    for work in instructions::Work::ALL {
        let after = instructions::of(&own, work)?;
        let before = other.map(|other| instructions::of(other, work)).transpose()?;
        let [words, ratio] = match before {
            Some(before) => [format!("{before:.1}"), format!("{:.4}", after / before)],
            None => ["-".to_owned(), "-".to_owned()],
        };
        println!("{:<28} {words:>9} {after:>9.1}  {ratio}", work.title());
    }
    Ok(())
}
