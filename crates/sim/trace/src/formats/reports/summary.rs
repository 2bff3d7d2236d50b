//! A summary of a trace, in one streaming pass.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::thread;

use metrics::Latencies;
use units::{HostOp, SECTOR_BYTES};

use super::super::reading::extents::Extents;
use super::super::{OddLine, ReadStatistics, Records, TraceError, TraceRecord};
use super::arrivals::{Arrivals, GapSummary, PeakSummary};
use super::rewrites::Rewrites;
use crate::WorkloadError;
use crate::latency::LatencyTally;

/// The contents of a trace.
#[derive(Clone, Debug, serde::Serialize)]
pub struct TraceSummary {
    /// Name of the format.
    pub format: &'static str,
    pub records: u64,
    /// Counts and bytes of each operation, in display order.
    pub ops: Vec<OpSummary>,
    /// The devices, by number.
    pub devices: Vec<DeviceSummary>,
    /// From the first record to the last.
    pub duration_ns: u64,
    /// Mean time between records; `None` for fewer than two.
    pub inter_arrival_ns_mean: Option<f64>,
    /// The second with most requests; `None` for a trace without times.
    pub peak_requests: Option<PeakSummary>,
    /// The second with most bytes of reads and writes; `None` without times or data.
    pub peak_bytes: Option<PeakSummary>,
    /// The longest time between two records; `None` for fewer than two, or without times.
    pub longest_gap: Option<GapSummary>,
    /// Times between two records that are longer than a minute.
    pub gaps_over_minute: u64,
    /// Sizes of reads and writes; `None` without any.
    pub sizes: Option<SizeSummary>,
    /// Share of reads and writes whose start and size are multiples of 4 KiB; 0 to 1. `None` without any.
    pub aligned_4k_share: Option<f64>,
    /// Share of reads and writes that start where the one before on their device ended; 0 to 1. `None` without any.
    pub sequential_share: Option<f64>,
    /// Share of the written bytes that go to pages of 4 KiB written before, on the same device; 0 to 1.
    /// `None` without writes, or when they touch more than 1 TiB. Trims change nothing about it.
    pub rewrite_share: Option<f64>,
    /// Chunks of 1 MiB that reads and writes touch, over all devices.
    pub footprint_mib: u64,
    /// The highest end of a request on any device.
    pub end_bytes_max: u64,
    /// Counts of records that were read and left out.
    pub statistics: ReadStatistics,
    /// The first line that was left out because its parser refused it; `None` without any.
    pub odd_line: Option<OddLine>,
    /// Notes about the records and about records that were left out, a sentence each.
    pub notes: Vec<String>,
}

/// One kind of operation.
#[derive(Clone, Debug, serde::Serialize)]
pub struct OpSummary {
    /// Name of the operation.
    pub op: &'static str,
    pub records: u64,
    /// Sum of their lengths.
    pub bytes: u64,
    /// Response times measured on the traced system; `None` if the trace has none.
    pub recorded_latency_ns: Option<Latencies>,
}

#[derive(Clone, Debug, serde::Serialize)]
pub struct DeviceSummary {
    /// Number, and the file's own name where it has one.
    pub device: String,
    pub records: u64,
    /// Lowest start of a request; 0 without any but flushes.
    pub start_bytes: u64,
    /// Highest end of a request.
    pub end_bytes: u64,
}

/// Sizes of reads and writes, in bytes; percentiles are the smallest size that many requests do
/// not exceed.
#[derive(Clone, Debug, serde::Serialize)]
pub struct SizeSummary {
    /// Mean size of a request.
    pub bytes_mean: f64,
    pub bytes_min: u64,
    pub bytes_p50: u64,
    /// 90th percentile of the sizes.
    pub bytes_p90: u64,
    /// 99th percentile of the sizes.
    pub bytes_p99: u64,
    pub bytes_max: u64,
}

const ALIGNMENT: u64 = 4096;
/// Batches of records that are handed to the thread that sums up at a time, which has to be woken for them, and how
/// many of these groups wait for it.
const GROUP: usize = 16;
const WAITING: usize = 2;

struct DeviceState {
    device: u32,
    records: u64,
    start_bytes: u64,
    end_bytes: u64,
    /// Where the last read or write ended.
    next_bytes: Option<u64>,
}

/// How often each size of a request occurs.
#[derive(Default)]
struct Sizes {
    /// Sizes of whole sectors, by their number.
    usual: Vec<u64>,
    others: BTreeMap<u64, u64>,
}

impl Sizes {
    /// Most sectors of a usual size: 1 MiB.
    const USUAL: usize = 1 << 11;

    fn add(&mut self, bytes: u64) {
        let sectors = (bytes / SECTOR_BYTES) as usize;
        if sectors <= Self::USUAL && bytes.is_multiple_of(SECTOR_BYTES) {
            if self.usual.is_empty() {
                self.usual.resize(Self::USUAL + 1, 0);
            }
            self.usual[sectors] += 1;
        } else {
            *self.others.entry(bytes).or_default() += 1;
        }
    }

    /// All of them, by size.
    fn in_order(&self) -> BTreeMap<u64, u64> {
        let usual = self.usual.iter().zip(0..).filter(|(count, _)| **count > 0);
        let usual = usual.map(|(&count, sectors)| (sectors * SECTOR_BYTES, count));
        usual.chain(self.others.iter().map(|(&size, &count)| (size, count))).collect()
    }
}

#[derive(Default)]
struct Tally {
    records: u64,
    ops: [(u64, u64); HostOp::ALL.len()],
    /// In order of first appearance.
    devices: Vec<DeviceState>,
    /// Place of each device in `devices`, and that of the record before: traces have long runs of one device.
    places: BTreeMap<u32, usize>,
    last: usize,
    sizes: Sizes,
    aligned: u64,
    sequential: u64,
    touched: Extents,
    arrivals: Arrivals,
    rewrites: Rewrites,
    latencies: LatencyTally,
    last_ns: i64,
}

impl Tally {
    fn add_all(&mut self, records: &[TraceRecord]) {
        self.rewrites.add_all(records);
        for record in records {
            self.add(record);
        }
    }

    fn add(&mut self, record: &TraceRecord) {
        self.records += 1;
        self.last_ns = record.time_ns;
        self.arrivals.add(record);
        self.latencies.add(record);
        let (records, bytes) = &mut self.ops[record.op.index()];
        *records += 1;
        *bytes = bytes.saturating_add(record.length_bytes);
        if self.devices.get(self.last).is_none_or(|last| last.device != record.device) {
            self.last = self.place(record.device);
        }
        let device = &mut self.devices[self.last];
        device.records += 1;
        if record.op == HostOp::Flush {
            return;
        }
        device.start_bytes = device.start_bytes.min(record.offset_bytes);
        device.end_bytes = device.end_bytes.max(record.end_bytes());
        if record.op == HostOp::Trim {
            return;
        }
        self.sequential += u64::from(device.next_bytes == Some(record.offset_bytes));
        device.next_bytes = Some(record.end_bytes());
        self.aligned += u64::from((record.offset_bytes | record.length_bytes).is_multiple_of(ALIGNMENT));
        self.sizes.add(record.length_bytes);
        self.touched.add(record);
    }

    /// Place of a device in `devices`.
    fn place(&mut self, device: u32) -> usize {
        *self.places.entry(device).or_insert_with(|| {
            self.devices.push(DeviceState {
                device,
                records: 0,
                start_bytes: u64::MAX,
                end_bytes: 0,
                next_bytes: None,
            });
            self.devices.len() - 1
        })
    }

    fn sizes(sizes: &BTreeMap<u64, u64>, count: u64) -> Option<SizeSummary> {
        let total: u128 = sizes.iter().map(|(&size, &count)| u128::from(size) * u128::from(count)).sum();
        let percentile = |percent: u64| {
            let rank = (u128::from(count) * u128::from(percent)).div_ceil(100);
            let mut seen = 0_u128;
            sizes.iter().find_map(|(&size, &count)| {
                seen += u128::from(count);
                (seen >= rank).then_some(size)
            })
        };
        Some(SizeSummary {
            bytes_mean: total as f64 / count as f64,
            bytes_min: *sizes.first_key_value()?.0,
            bytes_p50: percentile(50)?,
            bytes_p90: percentile(90)?,
            bytes_p99: percentile(99)?,
            bytes_max: *sizes.last_key_value()?.0,
        })
    }

    fn devices(&self, records: &Records) -> Vec<DeviceSummary> {
        let summary = |(&number, &place): (&u32, &usize)| {
            let state = &self.devices[place];
            DeviceSummary {
                device: records.device_name(number),
                records: state.records,
                start_bytes: state.start_bytes.min(state.end_bytes),
                end_bytes: state.end_bytes,
            }
        };
        self.places.iter().map(summary).collect()
    }

    fn summary(&self, records: &Records) -> TraceSummary {
        let sizes = self.sizes.in_order();
        let data: u64 = sizes.values().sum();
        let share = |part: u64| (data > 0).then(|| part as f64 / data as f64);
        let duration_ns = self.last_ns.unsigned_abs();
        TraceSummary {
            format: records.format().name,
            records: self.records,
            ops: HostOp::ALL
                .into_iter()
                .map(|op| {
                    let (records, bytes) = self.ops[op.index()];
                    OpSummary { op: op.name(), records, bytes, recorded_latency_ns: self.latencies.of(op) }
                })
                .collect(),
            devices: self.devices(records),
            duration_ns,
            inter_arrival_ns_mean: (self.records > 1).then(|| duration_ns as f64 / (self.records - 1) as f64),
            peak_requests: self.arrivals.peak_requests(),
            peak_bytes: self.arrivals.peak_bytes(),
            longest_gap: self.arrivals.longest_gap(),
            gaps_over_minute: self.arrivals.over_minute,
            sizes: Self::sizes(&sizes, data),
            aligned_4k_share: share(self.aligned),
            sequential_share: share(self.sequential),
            rewrite_share: self.rewrites.share(),
            footprint_mib: self.touched.chunks(),
            end_bytes_max: self.devices.iter().map(|device| device.end_bytes).max().unwrap_or(0),
            statistics: records.statistics(),
            odd_line: records.odd_line(),
            notes: records.all_notes(),
        }
    }
}

/// Reads the rest of `records` and sums it up, on a thread of its own where there can be one.
/// Errors: the first error of the trace.
pub fn summarise(records: &mut Records) -> Result<TraceSummary, WorkloadError> {
    Ok(tally(records)?.summary(records))
}

fn tally(records: &mut Records) -> Result<Tally, TraceError> {
    let (sender, receiver) = mpsc::sync_channel::<Vec<Vec<TraceRecord>>>(WAITING);
    let sum = || {
        let mut tally = Tally::default();
        for batch in receiver.into_iter().flatten() {
            tally.add_all(&batch);
        }
        tally
    };
    thread::scope(|scope| {
        let Ok(worker) = thread::Builder::new().spawn_scoped(scope, sum) else {
            let mut tally = Tally::default();
            while let Some(batch) = records.next_batch()? {
                tally.add_all(&batch);
            }
            return Ok(tally);
        };
        let mut group = Vec::with_capacity(GROUP);
        // Nobody listens any more only where the other thread panics, which is told below.
        while let Some(batch) = records.next_batch()? {
            group.push(batch);
            if group.len() == GROUP {
                let _ = sender.send(std::mem::replace(&mut group, Vec::with_capacity(GROUP)));
            }
        }
        let _ = sender.send(group);
        drop(sender);
        Ok(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}
