//! The requests of a workload, without a drive that serves them.

use super::source::Opened;
use super::{SessionError, suited};
use crate::Config;
use trace::WorkloadError;
use units::{Nanos, Request};

/// Requests that are made at once.
const BATCH: usize = 4096;

/// The requests that a run measures, in their order, with the arrival times of an open loop.
pub struct WorkloadRequests {
    workload: Opened,
    batch: Vec<Request>,
    /// Requests of the batch that were handed out.
    taken: usize,
    /// Requests that may still come.
    left: u64,
    last_arrival_ns: Nanos,
    is_closed: bool,
}

impl WorkloadRequests {
    /// The requests of the workload called `name`, as a run of `config` gives them to the drive.
    /// Errors: no such workload, a trace that cannot be read, a configuration that cannot be built.
    pub fn open(config: Config, name: &str) -> Result<Self, SessionError> {
        let suited = suited::to_workload(config, name)?;
        Ok(Self {
            workload: suited.source.open()?,
            batch: Vec::new(),
            taken: 0,
            left: suited.plan.config.values.whole("workload.requests"),
            last_arrival_ns: 0,
            is_closed: suited.source.is_closed(),
        })
    }

    /// Whether a run of this configuration keeps a queue depth and does not use the arrival times.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Arrival of the last request that was handed out, ns; 0 after the last one: the workload has no arrival times.
    pub fn last_arrival_ns(&self) -> Nanos {
        self.last_arrival_ns
    }
}

impl Iterator for WorkloadRequests {
    type Item = Result<Request, WorkloadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.taken == self.batch.len() {
            self.batch.clear();
            self.taken = 0;
            let limit = usize::try_from(self.left).map_or(BATCH, |left| left.min(BATCH));
            if let Err(error) = self.workload.next_batch(&mut self.batch, limit) {
                self.left = 0;
                return Some(Err(error));
            }
            self.left -= self.batch.len() as u64;
        }
        let request = *self.batch.get(self.taken)?;
        self.taken += 1;
        self.last_arrival_ns = request.arrival;
        Some(Ok(request))
    }
}
