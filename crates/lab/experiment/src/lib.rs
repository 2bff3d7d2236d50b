//! Many jobs: sweeps, studies, fits, repetitions and the checks of torture run theirs here.
//!
//! ```text
//! jobs with names -> those that are kept -> the others, on all cores -> kept as they end
//!                      |                                                  |
//!                      +-------> what each gave, in their order  <--------+
//! ```
//! *Protects*: a job that ended is not run again when the same work is begun once more; one that was stopped leaves
//! nothing; the first of several jobs that share a state makes it, and the others find it.

mod cache;
mod errand;
mod monitor;
mod run;
mod threads;

pub use cache::Cache;
pub use errand::{Errand, Watched};
pub use monitor::{Monitor, Shard};
pub use rayon::ThreadPool;
pub use run::{Ledger, Work, all, all_from, from_bytes, to_bytes};
pub use threads::{FEW, ThreadsError, each, for_many, for_monitor, in_turn, side_by_side};
