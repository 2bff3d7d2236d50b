//! Stacks under one workload: side by side, again with other seeds, with their lives, and drawn over time.
//!
//! ```text
//! Stack, ... -> Comparison::run -> Compared: results, lives, notes, what repetitions tell
//!                    |
//!               experiment: threads, what is kept, going on
//!
//! LifePlan -> a run -> LifeReport -> life::page
//! Prepared -> timeline::run -> a file for Perfetto, requests looked at closely for a page
//! ```
//! *Protects*: each result belongs to a single run; means take whole runs; a ratio compares runs with the same seeds.

#![deny(missing_docs)]
#![warn(clippy::missing_errors_doc)]

pub mod advice;
mod answer;
mod closeups;
mod count;
mod error;
pub mod life;
mod longer;
pub mod notes;
mod repeated;
mod runs;
pub mod timeline;

pub use answer::Answer;
pub use error::{CompareError, Early, check_ended};
pub use life::{LifeError, LifeOverSeeds, LifePlan, LifeQuestion};
pub use longer::{REQUESTS_MAX, RUNS_CHOSEN};
pub use repeated::Repeated;
pub use runs::{Compared, Comparison, Lived, Ran, Source, Stack, Stage};
pub use timeline::{Drawing, Drawn, TimelineError};

use serde_json::{Value, json};

/// Version of the JSON form of several results.
pub const COMPARISON: &str = "nandarium.comparison/1";

/// Several results as one document, with the notes on them together. `answer`: where lives were asked for.
pub fn together(answer: Option<&Answer>, documents: &[Value], notes: &[String]) -> Value {
    json!({"schema": COMPARISON, "answer": answer.map(Answer::to_json), "notes": notes, "results": documents})
}

/// The document of a result, and of the waiting of single requests.
pub fn with_closeups(mut document: Value, closeups: Option<Value>) -> Value {
    if let Some(closeups) = closeups {
        document["closeups"] = closeups;
    }
    document
}
