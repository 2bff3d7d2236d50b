//! Work on other threads, while the one that Python called on looks at signals.

use crate::depth::{Inside, depth};
use crate::errors::of_unwinding;
use crate::run::LOOK_EVERY;
use compare::Stage;
use experiment::Monitor;
use pyo3::prelude::*;
use simulator::session::{Phase, Watcher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Instant;

/// Does `work` on a thread of its own; meanwhile this one looks at signals and calls `tell`. An exception of either
/// sets `stop`, and is raised once the work has ended.
pub fn beside<T: Send>(
    py: Python<'_>,
    stop: &AtomicBool,
    tell: impl Fn(Python<'_>) -> PyResult<()> + Sync,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let around = depth().saturating_sub(1);
    let (raised, ended) = py.detach(|| {
        let (sender, receiver) = channel::<()>();
        std::thread::scope(|scope| {
            let work = scope.spawn(|| {
                // Dropped at the end, however that comes.
                let _sender = sender;
                let _inside = Inside::begin(around).ok();
                catch_unwind(AssertUnwindSafe(work))
            });
            let mut raised = None;
            while receiver.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                let told = Python::attach(|py| py.check_signals().and_then(|()| tell(py)));
                if let (None, Err(error)) = (&raised, told) {
                    stop.store(true, Ordering::Relaxed);
                    raised = Some(error);
                }
            }
            (raised, work.join().unwrap_or_else(Err))
        })
    });
    raised.map_or(Ok(()), Err)?;
    ended.map_err(of_unwinding)
}

/// Runs side by side that end together: where one fails, nothing is told of the others.
pub struct Together {
    around: u32,
    stop: AtomicBool,
    threads: Option<usize>,
}

impl Together {
    /// `threads`: how many may run at once; `None`: one for each core. It is made within the call that waits for them.
    pub fn new(threads: Option<usize>) -> Self {
        Self { around: depth().saturating_sub(1), stop: AtomicBool::new(false), threads }
    }

    /// Set once all are to end.
    pub fn stop(&self) -> &AtomicBool {
        &self.stop
    }
}

impl Monitor for Together {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn threads(&self) -> Option<usize> {
        self.threads
    }
}

impl Stage for Together {
    fn watcher(&self, _: &str) -> Box<dyn Watcher + '_> {
        // The call that waits for it is as deep already.
        Box::new(Part { all: self, begun: Instant::now(), _inside: Inside::begin(self.around).ok() })
    }

    fn failed(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// One of them.
struct Part<'a> {
    all: &'a Together,
    begun: Instant,
    _inside: Option<Inside>,
}

impl Watcher for Part<'_> {
    fn phase(&mut self, _: Phase, _: Option<u64>) {}

    fn progress(&mut self, _: u64) -> bool {
        !self.all.is_stopped()
    }

    fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    fn remark(&mut self, _: &str) {}
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        // A policy raised something.
        if std::thread::panicking() {
            self.all.failed();
        }
    }
}
