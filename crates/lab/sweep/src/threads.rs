//! Threads of a sweep. They are its own, not those that all of a process shares: a process that forks after these have
//! begun, as Python's do, would wait for them for ever.

use crate::error::ExecuteError;
use rayon::ThreadPool;
use rayon::prelude::*;

/// Fewer pieces of short work than these are done at once by whoever has them.
pub(crate) const FEW: usize = 256;

/// Threads for `runs`: as many as are asked for, else one for each core, and none without a run or addresses for it.
pub(crate) fn for_runs(runs: usize, jobs: Option<usize>) -> Result<ThreadPool, ExecuteError> {
    let most = jobs.unwrap_or_else(cores);
    simulator::spare_addresses();
    let threads = simulator::threads_that_fit(most.clamp(1, runs.max(1)));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| ExecuteError::Threads { threads, problem: error.to_string() })
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Threads for many pieces of short work, if they are worth it and to be had.
pub(crate) fn for_many(pieces: usize) -> Option<ThreadPool> {
    if pieces > FEW { for_runs(pieces, None).ok() } else { None }
}

/// What becomes of each item, in their order.
pub(crate) fn each<T: Sync, R: Send>(
    pool: Option<&ThreadPool>,
    items: &[T],
    of: impl Fn(&T) -> R + Send + Sync,
) -> Vec<R> {
    match pool {
        Some(pool) => pool.install(|| items.par_iter().map(of).collect()),
        None => items.iter().map(of).collect(),
    }
}
