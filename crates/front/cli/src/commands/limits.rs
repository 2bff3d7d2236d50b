//! `--fail-if`: figures against limits, the same way for `run`, `compare`, `life` and `sweep`.

use crate::arguments::LimitArguments;
use crate::failure::{Failure, LIMIT};
use crate::junit;
use serde_json::Value;
use std::path::PathBuf;
use sweep::{JudgedLimit, Limit};

/// Name of the verdicts in the file of `--junit`.
pub const SUITE: &str = "nandarium limits";

/// The verdicts of all limits.
pub struct Limits(Vec<JudgedLimit>);

/// Checks, before anything runs, that no limit is about a life that is not told.
pub fn check(limits: &LimitArguments, has_life: bool) -> Result<(), Failure> {
    let of_life = limits.fail_if.iter().find(|limit| limit.is_of_life() && !has_life);
    of_life.map_or(Ok(()), |limit| {
        Err(Failure::usage(format!(
            "--fail-if '{}' is about a life: `nandarium life` and `nandarium compare --life` tell lives",
            limit.text()
        )))
    })
}

impl Limits {
    /// Of results with their names and lives, a life being null where there is none.
    pub fn of_results(limits: &LimitArguments, results: &[(&str, &Value, &Value)]) -> Self {
        let of = |limit: &Limit| {
            let each = results.iter().map(|(name, result, life)| limit.judge_result(name, result, life));
            each.collect::<Vec<_>>()
        };
        Self(limits.fail_if.iter().flat_map(of).collect())
    }

    /// Of all that was judged.
    pub fn of(judged: Vec<JudgedLimit>) -> Self {
        Self(judged)
    }

    /// Puts the verdicts into a document, where there are limits.
    pub fn tell(&self, document: &mut Value) {
        if !self.0.is_empty() {
            document["limits"] = self.0.iter().map(JudgedLimit::to_json).collect();
        }
    }

    /// The verdict on all, also as the file of `--junit`.
    ///
    /// # Errors
    /// Limits are reached: each with its figure. Or the file cannot be written.
    pub fn verdict(&self, limits: &LimitArguments) -> Result<(), Failure> {
        let reached: Vec<String> = self.0.iter().filter(|one| one.fails()).map(JudgedLimit::sentence).collect();
        let is_kept = reached.is_empty();
        let verdict = if is_kept { Ok(()) } else { Err(Failure { code: LIMIT, message: reached.join("\n  ") }) };
        let test = |one: &JudgedLimit| junit::Test {
            of: one.of().to_owned(),
            name: format!("not {}", one.limit().text()),
            problem: one.fails().then(|| one.sentence()),
            seconds: None,
        };
        let write = |path: &PathBuf| junit::write(path, SUITE, self.0.iter().map(test));
        junit::both(verdict, limits.junit.as_ref().map_or(Ok(()), write))
    }
}
