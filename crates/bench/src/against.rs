//! Two builds of this program in turns: what a change costs or gains, on a machine whose speed wanders.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::Command;

/// The best of some rounds of a row, before and after.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    name: String,
    unit: String,
    best: [f64; 2],
    hashes: [String; 2],
    is_smaller_better: bool,
}

impl Pair {
    /// How many times as fast it is (or as small).
    fn ratio(&self) -> f64 {
        let [before, after] = self.best;
        if self.is_smaller_better { before / after } else { after / before }
    }
}

/// Runs `other` and this program in turns, `rounds` times each.
///
/// # Errors
/// One of them cannot be run, or writes no figures.
pub(crate) fn measure(other: &Path, rounds: u32, only: Option<&str>) -> io::Result<Vec<Pair>> {
    let own = std::env::current_exe()?;
    let mut order = Vec::new();
    let mut rows = BTreeMap::<String, Pair>::new();
    for round in 1..=rounds {
        for (side, program) in [other, &own].into_iter().enumerate() {
            eprintln!("round {round} of {rounds}: {}", program.display());
            for row in run(program, only)?["rows"].as_array().into_iter().flatten() {
                let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
                let (name, unit, value) = (text("row"), text("unit"), row["measured"].as_f64().unwrap_or(0.0));
                let is_smaller_better = unit != "M/s" && unit != "k/s";
                let worst = if is_smaller_better { f64::INFINITY } else { 0.0 };
                let pair = rows.entry(name.clone()).or_insert_with(|| {
                    order.push(name.clone());
                    Pair { name, unit, best: [worst; 2], hashes: Default::default(), is_smaller_better }
                });
                let best = &mut pair.best[side];
                *best = if is_smaller_better { best.min(value) } else { best.max(value) };
                pair.hashes[side] = text("hash");
            }
        }
    }
    Ok(order.iter().filter_map(|name| rows.remove(name)).collect())
}

fn run(program: &Path, only: Option<&str>) -> io::Result<Value> {
    let folder = tempfile::tempdir()?;
    let mut command = Command::new(program);
    command.arg("--out").arg(folder.path()).args(only.map(|group| ["--only", group]).into_iter().flatten());
    let ended = command.output()?;
    if !ended.status.success() {
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        return Err(io::Error::other(format!("{}: {}: {said}", program.display(), ended.status)));
    }
    Ok(serde_json::from_slice(&std::fs::read(folder.path().join("bench.json"))?)?)
}

pub(crate) fn print(pairs: &[Pair]) {
    println!("{:<28} {:>12} {:>12} {:>6}  what was simulated", "row", "before", "after", "ratio");
    for pair in pairs {
        let [before, after] =
            pair.best.map(|best| if best.is_finite() && best > 0.0 { format!("{best:.3}") } else { "-".to_owned() });
        let same = if pair.hashes[0] == pair.hashes[1] { "the same" } else { "differs" };
        let ratio = if before == "-" || after == "-" { "-".to_owned() } else { format!("{:.2}", pair.ratio()) };
        println!("{:<28} {before:>8} {:<3} {after:>8} {:<3} {ratio:>6}  {same}", pair.name, pair.unit, pair.unit);
    }
}

pub(crate) fn to_json(pairs: &[Pair], other: &Path, rounds: u32) -> Value {
    let row = |pair: &Pair| {
        json!({"row": pair.name, "unit": pair.unit, "before": pair.best[0], "after": pair.best[1],
            "ratio": pair.ratio(), "same": pair.hashes[0] == pair.hashes[1]})
    };
    json!({"before": other.display().to_string(), "rounds": rounds, "rows": pairs.iter().map(row).collect::<Vec<_>>()})
}
