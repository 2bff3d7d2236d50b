//! Requests that come as columns.

use crate::columns::taken;
use crate::errors::WorkloadError;
use pyo3::prelude::*;
use simulator::session::GivenRequests;
use units::{HostOp, Request};

/// Requests of a workload, made of whole columns once.
#[pyclass(frozen, module = "nandarium._nandarium")]
pub struct RequestColumns {
    requests: GivenRequests,
}

impl RequestColumns {
    pub fn requests(&self) -> &GivenRequests {
        &self.requests
    }
}

#[pymethods]
impl RequestColumns {
    /// The package has checked types and lengths; codes of operations are those of `HostOp`.
    #[new]
    #[pyo3(signature = (op, first_sector, sectors, arrival=None, fua=None))]
    fn new(
        op: &Bound<'_, PyAny>,
        first_sector: &Bound<'_, PyAny>,
        sectors: &Bound<'_, PyAny>,
        arrival: Option<&Bound<'_, PyAny>>,
        fua: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (ops, firsts, counts) = (taken::<u8>(op)?, taken::<u64>(first_sector)?, taken::<u32>(sectors)?);
        let arrivals = arrival.map(taken::<u64>).transpose()?;
        let forced = fua.map(taken::<u8>).transpose()?;
        let rows = ops.len();
        let lengths = [
            firsts.len(),
            counts.len(),
            arrivals.as_ref().map_or(rows, Vec::len),
            forced.as_ref().map_or(rows, Vec::len),
        ];
        if lengths.iter().any(|length| *length != rows) {
            return Err(WorkloadError::new_err("columns of requests have one length"));
        }
        let request = |index: usize| {
            let op = HostOp::ALL.get(ops[index] as usize).copied();
            let op = op.ok_or_else(|| {
                WorkloadError::new_err(format!("request {index}: {} is not an operation", ops[index]))
            })?;
            Ok(Request {
                arrival: arrivals.as_ref().map_or(0, |arrivals| arrivals[index]),
                first_sector: firsts[index],
                sectors: counts[index],
                op,
                fua: forced.as_ref().is_some_and(|forced| forced[index] != 0),
            })
        };
        let requests: PyResult<Vec<Request>> = (0..rows).map(request).collect();
        Ok(Self { requests: GivenRequests::new(requests?, arrivals.is_some()) })
    }
}
