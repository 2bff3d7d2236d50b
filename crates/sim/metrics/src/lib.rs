//! The measurements of a run: histograms, waiting times, time series, and the shape of `result.json`.
//! No printing, no clock.

mod earlier;
mod histogram;
mod interval;
mod latency;
mod life_report;
mod lifetime;
mod money;
mod overload;
mod provenance;
mod report;
mod series;

pub use earlier::{key_of_today, name_of_today, result_of_today, value_of_today};
pub use histogram::{Histogram, PERCENTILES, needed};
pub use interval::Cell;
pub use latency::{Latencies, LatencyRecorder, RecordedLatency, Tail, Waits};
pub use life_report::{Basis, Cost, DataSheet, ENDURANCE_FACTOR, LIFE_SCHEMA, LifeReport, LifeTerms, Price, YEAR_DAYS};
pub use lifetime::{Lifetime, LifetimeError, Origin, Pace, Range, Share, WearStep, WearWindow, Wearing};
pub use money::{Currency, Money};
pub use overload::{Backlog, Behind, Course, behind};
pub use provenance::{Asked, Provenance, SourceFile};
pub use report::{
    CAUSES_KEY, NoWaf, OpTotals, RunResult, SCHEMA, Status, UNWRITTEN, Unwritten, block_maps, is_caution, operations,
    records_causes,
};
pub use series::{AddressMap, Look, Sample, Series};
