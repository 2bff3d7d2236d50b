//! Reference programs that measure what this machine can do in this minute.
//!
//! The folder holds cargo projects `limit` (a bare page-mapping loop) and `engine` (a bare event
//! engine); each prints its rates in M/s. Nothing here depends on them being there.

use crate::rows::Row;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// Rates of the reference programs, M/s.
#[derive(Clone, Debug, Default)]
pub(crate) struct References {
    bare_loop: Option<f64>,
    engine_reads: Option<f64>,
    engine_writes: Option<f64>,
    engine_steady: Option<f64>,
}

/// Runs every reference program in `folder`.
pub(crate) fn measure(folder: &Path) -> References {
    let limit = output(&folder.join("limit"), &["16"]);
    let engine = output(&folder.join("engine"), &["one", "32"]);
    References {
        bare_loop: rate_after(&limit, "steady "),
        engine_reads: rate_after(&engine, "| read "),
        engine_writes: rate_after(&engine, ") "),
        engine_steady: rate_after(&engine, "| steady "),
    }
}

fn output(project: &Path, arguments: &[&str]) -> String {
    let target = std::env::temp_dir().join("nandarium-yardsticks");
    let result = Command::new("cargo")
        .args(["run", "--quiet", "--release", "--"])
        .args(arguments)
        .current_dir(project)
        .env("CARGO_TARGET_DIR", target)
        .output();
    let problem = match result {
        Ok(output) if output.status.success() => return String::from_utf8_lossy(&output.stdout).into_owned(),
        Ok(output) => output.status.to_string(),
        Err(error) => error.to_string(),
    };
    eprintln!("{}: {problem}; its rows have no ratio", project.display());
    String::new()
}

/// The number that follows `label`.
fn rate_after(text: &str, label: &str) -> Option<f64> {
    let rest = &text[text.find(label)? + label.len()..];
    rest.split_whitespace().next()?.parse().ok().filter(|rate| *rate > 0.0)
}

/// The mean of two measurements of each reference; `None` where one is missing.
pub(crate) fn mean(before: &References, after: &References) -> References {
    let mean = |rate: fn(&References) -> Option<f64>| Some(rate(before)?.midpoint(rate(after)?));
    References {
        bare_loop: mean(|rates| rates.bare_loop),
        engine_reads: mean(|rates| rates.engine_reads),
        engine_writes: mean(|rates| rates.engine_writes),
        engine_steady: mean(|rates| rates.engine_steady),
    }
}

impl References {
    /// Our rate over the reference's.
    pub fn ratio(&self, row: &Row) -> Option<f64> {
        let reference = match row.name {
            "counted overwrites" => self.bare_loop,
            "random reads, depth 32" => self.engine_reads,
            "random writes, no cleaning" => self.engine_writes,
            "random writes, steady" => self.engine_steady,
            _ => None,
        };
        reference.map(|reference| row.measured / reference)
    }

    /// The references as kept in the record of the run.
    pub fn to_json(&self) -> Value {
        json!({"bare_loop": self.bare_loop, "engine_reads": self.engine_reads,
            "engine_writes": self.engine_writes, "engine_steady": self.engine_steady})
    }
}
