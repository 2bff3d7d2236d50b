//! Threads of jobs. They are their own threads, not the ones that all of a process shares: a process that forks after
//! these have begun, as Python's do, would wait for them for ever.

use crate::monitor::Monitor;
use rayon::ThreadPool;
use rayon::prelude::*;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Fewer pieces of short work than these are done at once by the caller.
pub const FEW: usize = 256;

/// The system does not give this number of threads.
#[derive(Debug, thiserror::Error)]
#[error("{threads} threads cannot be started ({problem}); ask for fewer jobs")]
pub struct ThreadsError {
    threads: usize,
    problem: String,
}

/// Threads for `jobs`: as many as are asked for, else one for each core, and none without a job or addresses for it.
/// `None`: the caller is on threads of this kind already.
pub(crate) fn for_jobs(jobs: usize, wanted: Option<usize>) -> Result<Option<ThreadPool>, ThreadsError> {
    if rayon::current_thread_index().is_some() {
        return Ok(None);
    }
    let most = wanted.unwrap_or_else(cores);
    simulator::spare_addresses();
    let threads = simulator::threads_that_fit(most.clamp(1, jobs.max(1)));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map(Some).map_err(|error| ThreadsError { threads, problem: error.to_string() })
}

/// Threads for `jobs`, as many as a monitor asks for. `None`: the caller is on threads of this kind already.
///
/// # Errors
/// The system does not give the threads.
pub fn for_monitor(monitor: &dyn Monitor, jobs: usize) -> Result<Option<ThreadPool>, ThreadsError> {
    for_jobs(jobs, monitor.threads())
}

/// As many as this machine gives, or as the variable says that threads of this kind go by.
fn cores() -> usize {
    let asked = std::env::var("RAYON_NUM_THREADS").ok().and_then(|text| text.parse().ok());
    asked.filter(|threads| *threads > 0).unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Does something on these threads, or on the one it is called on.
pub(crate) fn on<R: Send>(pool: Option<&ThreadPool>, work: impl FnOnce() -> R + Send) -> R {
    match pool {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

/// Does something for each item on all cores, in their order. Jobs that it runs are run on the same threads.
///
/// # Errors
/// The first of `of`, or the system does not give the threads.
pub fn side_by_side<T: Sync, R: Send, E: Send + From<ThreadsError>>(
    monitor: &dyn Monitor,
    items: &[T],
    of: impl Fn(&T) -> Result<R, E> + Sync + Send,
) -> Result<Vec<R>, E> {
    // Each item may have many jobs.
    let pool = for_jobs(usize::MAX, monitor.threads())?;
    on(pool.as_ref(), || items.par_iter().with_max_len(1).map(of).collect())
}

/// Threads for many pieces of short work, if they are worth it and to be had.
pub fn for_many(pieces: usize) -> Option<ThreadPool> {
    if pieces > FEW { for_jobs(pieces, None).ok().flatten() } else { None }
}

/// The outcome of each item, in their order.
pub fn each<T: Sync, R: Send>(pool: Option<&ThreadPool>, items: &[T], of: impl Fn(&T) -> R + Send + Sync) -> Vec<R> {
    match pool {
        Some(pool) => pool.install(|| items.par_iter().map(of).collect()),
        None => items.iter().map(of).collect(),
    }
}

/// The outcome of each item, in their order. Each thread takes the next item when it has done one, so that an item
/// begins after all before it have begun. None begins after one gave [`ControlFlow::Break`]: those left out are `None`.
///
/// # Panics
/// `of` panics.
pub fn in_turn<T: Sync, R: Send>(
    pool: Option<&ThreadPool>,
    items: &[T],
    of: impl Fn(usize, &T) -> ControlFlow<R, R> + Sync,
) -> Vec<Option<R>> {
    let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let given = Mutex::new(items.iter().map(|_| None).collect::<Vec<_>>());
    let work = || {
        while !is_over.load(Ordering::Acquire) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(number) else { break };
            let what = match of(number, item) {
                ControlFlow::Continue(what) => what,
                ControlFlow::Break(what) => {
                    is_over.store(true, Ordering::Release);
                    what
                }
            };
            given.lock().expect("nobody panics with it")[number] = Some(what);
        }
    };
    match pool {
        Some(pool) => drop(pool.broadcast(|_| work())),
        None => work(),
    }
    given.into_inner().expect("nobody panics with it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_begins_after_an_item_that_ends_all_and_everything_before_it_is_done() {
        let items: Vec<usize> = (0..200).collect();
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let of = |number: usize, item: &usize| {
                assert_eq!(number, *item);
                if *item == 50 { ControlFlow::Break(*item) } else { ControlFlow::Continue(*item) }
            };
            let given = in_turn(Some(&pool), &items, of);
            assert!(given[..51].iter().enumerate().all(|(at, item)| *item == Some(at)), "{threads} threads: {given:?}");
            assert_eq!(given.len(), items.len());
        }
        let of = |_: usize, item: &usize| if *item == 50 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        assert_eq!(in_turn(None, &items, of).iter().flatten().count(), 51, "one thread has begun nothing after it");
    }
}
