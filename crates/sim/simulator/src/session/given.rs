//! Requests that a program holds in memory, such as columns another language hands over.
//!
//! Protects: an error names a request that the drive cannot serve before anything runs, with its number.

use super::SessionError;
use std::sync::Arc;
use trace::formats::{TraceRecord, WritePattern, WriteSurvey};
use trace::{Workload, WorkloadError};
use units::{HostOp, Request, SECTOR_BYTES};

/// Requests in memory, shared by all who run them.
#[derive(Clone, Debug)]
pub struct GivenRequests {
    requests: Arc<[Request]>,
    timed: bool,
}

impl GivenRequests {
    /// Requests in order; `timed`: their arrival times mean something.
    pub fn new(requests: Vec<Request>, timed: bool) -> Self {
        Self { requests: requests.into(), timed }
    }

    /// Whether their arrival times mean something.
    pub fn is_timed(&self) -> bool {
        self.timed
    }

    /// Errors: the first request that goes back in time, is empty, or ends beyond `sectors`.
    pub(super) fn check(&self, name: &str, sectors: u64) -> Result<(), SessionError> {
        let mut before = 0;
        for (number, request) in self.requests.iter().enumerate() {
            let problem = if request.arrival < before {
                format!(
                    "arrives at {} ns, before the one in front of it ({before} ns); sort the requests by arrival",
                    request.arrival
                )
            } else if request.sectors == 0 && request.op != HostOp::Flush {
                "has no sectors; only a flush may have none".to_owned()
            } else if request.sectors != 0 && request.op == HostOp::Flush {
                format!("is a flush of {} sectors; a flush is of the whole drive and has 0", request.sectors)
            } else if request.first_sector.checked_add(u64::from(request.sectors)).is_none_or(|end| end > sectors) {
                let (first, count) = (request.first_sector, request.sectors);
                format!(
                    "begins at sector {first} with {count} sectors, but the drive has {sectors}; enlarge drive.capacity"
                )
            } else {
                before = request.arrival;
                continue;
            };
            return Err(SessionError::Given {
                problem: format!("{name}: request {number} (the first is 0) {problem}"),
            });
        }
        Ok(())
    }

    /// Where the last of them ends.
    pub(super) fn end_sector(&self) -> u64 {
        self.requests.iter().map(Request::end_sector).max().unwrap_or(0)
    }

    /// Whether any of them writes.
    pub(super) fn write(&self) -> bool {
        self.requests.iter().any(|request| request.op == HostOp::Write)
    }

    /// How their writes lie, if it can be told.
    pub(super) fn pattern(&self) -> Option<WritePattern> {
        let mut survey = WriteSurvey::default();
        for request in self.requests.iter() {
            let [offset, length] = [request.first_sector, request.sectors.into()].map(|sectors| sectors * SECTOR_BYTES);
            survey.add(&TraceRecord::new(0, 0, request.op, offset, length));
        }
        survey.pattern()
    }

    /// Tells these requests from others.
    pub(super) fn fingerprint(&self) -> u64 {
        self.requests.iter().fold(self.requests.len() as u64, |hash, request| {
            let kind = request.op.index() as u64 * 2 + u64::from(request.fua);
            [request.arrival, request.first_sector, u64::from(request.sectors), kind]
                .iter()
                .fold(hash, |hash, part| (hash.rotate_left(7) ^ part).wrapping_mul(0x9E37_79B9_7F4A_7C15))
        })
    }

    /// A workload of them, from the first on.
    pub(super) fn open(&self) -> Given {
        Given { requests: Arc::clone(&self.requests), next: 0 }
    }
}

/// See [`GivenRequests::open`].
pub(super) struct Given {
    requests: Arc<[Request]>,
    next: usize,
}

impl Workload for Given {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), WorkloadError> {
        let end = self.requests.len().min(self.next.saturating_add(limit));
        batch.extend_from_slice(&self.requests[self.next..end]);
        self.next = end;
        Ok(())
    }

    fn remaining(&self) -> Option<u64> {
        Some((self.requests.len() - self.next) as u64)
    }
}
