//! Sweeps: any key is an axis, and every point of the grid is a run of its own.
//!
//! ```text
//! plan (TOML) -> grid: every combination, checked -> runs on all cores -> one folder for each, by content
//!                                                                            |
//!        results.parquet, summary.csv, report.html  <--  fronts by panel, recommendations  <--+
//! ```
//! A run is kept under the hash of everything that decides its result: the program, the resolved configuration, the
//! workload and the bytes of its trace. So a sweep that was stopped goes on where it was, an axis that changed runs
//! only what changed, and several processes or machines share one folder without talking to each other.
//!
//! *Protects*: mistakes of a plan are said before the first run starts; a combination that cannot be built is a row
//! that says why, and stops nobody else; a folder of a run appears whole or not at all.

mod advice;
mod axis;
mod contrast;
mod document;
mod effect;
mod errand;
mod error;
mod execute;
mod findings;
mod front;
mod grid;
mod limit;
mod metric;
mod multiples;
mod page;
mod panel;
mod parquet_file;
mod plan;
mod store;
mod summary;
mod table;
mod tail;
mod trade_off;
mod words;

pub use advice::{Advice, Knee};
pub use axis::Axis;
pub use contrast::{Contrast, Differs};
pub use document::{document, planned};
pub use errand::{Errand, answer, trace_problem, unread_policies};
pub use error::{ExecuteError, PlanError};
pub use execute::{MOST_THREADS, Outcome, Status, counts, execute, known, nothing_measured};
pub use findings::{Findings, Judged, Standing, Verdict, design_name};
pub use front::{Cost, Front, unbeaten};
pub use grid::{Grid, Point, Run, file_digest, identity};
pub use limit::{Judged as JudgedLimit, Limit};
pub use metric::{METRICS, Metric};
pub use page::page;
pub use panel::{Panel, compared_circumstance};
pub use parquet_file::write_parquet;
pub use plan::{Plan, tail, within};
pub use store::Store;
pub use summary::Summary;
pub use table::{Cells, Column, combinations, runs};
pub use tail::tails;
pub use words::{shown, shown_cell};
