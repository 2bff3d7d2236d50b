//! From trace records to requests for a drive: devices, addresses, times.

mod fit;
mod options;
mod survey;
mod workload;

pub use options::{DevicePolicy, Fit, TraceOptions};
pub use survey::Survey;
pub use workload::TraceWorkload;
