//! The result of a run and its JSON form (`result.json`). Keys are stable: scripts rely on them.

use crate::latency::{Latencies, LatencyRecorder, RecordedLatency, Tail};
use crate::overload::Course;
use crate::provenance::Provenance;
use crate::series::{AddressMap, Sample};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use units::{CAUSES, DIE_CAUSES, HostOp, Nanos, WAIT_KINDS, Wait};

/// Version of the JSON form.
pub const SCHEMA: &str = "nandarium.result/2";

/// The key of whether a run records what requests wait for.
pub const CAUSES_KEY: &str = "engine.causes";

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// All requests were served.
    Complete,
    /// The user stopped it; everything up to then was measured.
    Interrupted,
    /// The drive could not accept further writes.
    DriveFull,
    /// Too many blocks went bad: the drive accepts no further writes.
    WornOut,
}

impl Status {
    /// The name used in `result.json`.
    pub const fn name(self) -> &'static str {
        match self {
            Status::Complete => "complete",
            Status::Interrupted => "interrupted",
            Status::DriveFull => "drive-full",
            Status::WornOut => "worn-out",
        }
    }
}

/// Requests of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpTotals {
    pub requests: u64,
    /// Flash pages touched, each request by itself (a page written twice counts twice).
    pub pages: u64,
    /// Bytes that the requests asked for.
    pub bytes: u64,
    /// Requests that ended with an error (uncorrectable data).
    pub failed: u64,
}

/// Name of reads that asked only for pages which hold nothing, where operations are named.
pub const UNWRITTEN: &str = "unwritten_read";

/// Requests that are counted beside the operations of [`HostOp`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Unwritten {
    /// Reads all of whose pages were never written, or trimmed since: the drive answers them without flash.
    pub totals: OpTotals,
    /// Their latencies, which are in no percentile of reads.
    pub latency: LatencyRecorder,
}

/// Every operation with its name, its requests and their latencies; reads of pages that hold nothing come last. Both
/// tables are indexed by [`HostOp::index`].
pub fn operations<'a>(
    totals: &'a [OpTotals; 4],
    latency: &'a [LatencyRecorder],
    unwritten: &'a Unwritten,
) -> impl Iterator<Item = (&'static str, &'a OpTotals, &'a LatencyRecorder)> {
    let own = HostOp::ALL.into_iter().map(|op| (op.name(), &totals[op.index()], &latency[op.index()]));
    own.chain([(UNWRITTEN, &unwritten.totals, &unwritten.latency)])
}

/// Why a run has no write amplification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NoWaf {
    /// The host wrote nothing.
    NoWrites,
    /// The host wrote less than the spare flash holds: collection cleaned up after the preconditioning.
    TooFewWrites,
}

impl NoWaf {
    /// The name in `result.json`, which people read as well.
    pub const fn name(self) -> &'static str {
        match self {
            NoWaf::NoWrites => "no writes",
            NoWaf::TooFewWrites => "too few writes",
        }
    }
}

/// Whether a note says what was chosen for a run, or why its numbers may mislead: several runs together tell it once.
pub fn is_caution(note: &str) -> bool {
    let begins = ["Doubt:", "drive.", "The ", "Only ", "Hardly ", "No "];
    begins.iter().any(|begin| note.starts_with(begin)) && !note.contains(" has no effect here because ")
}

/// Everything a run measured. Serialized whole, to be held elsewhere and read by the same build; [`RunResult::to_json`]
/// is for everybody else.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunResult {
    /// Name of the stack.
    pub stack: String,
    /// Name of the workload.
    pub workload: String,
    /// Queue depth of a closed loop; `None`: open loop at trace time.
    pub queue_depth: Option<u64>,
    pub status: Status,
    /// Hash over everything simulated.
    pub hash: u64,
    pub seed: u64,
    /// Wall-clock time of the measured part, seconds.
    pub wall_s: f64,
    /// Simulated time of the measured part.
    pub sim_ns: Nanos,
    pub config: BTreeMap<String, String>,
    /// Requests by kind, indexed by [`HostOp::index`].
    pub host: [OpTotals; 4],
    /// Latencies by kind, same index.
    pub latency: Vec<LatencyRecorder>,
    /// Reads of pages that hold nothing, which `host` and `latency` do not count.
    pub unwritten: Unwritten,
    /// Why there is no write amplification; `None`: there is one.
    pub no_waf: Option<NoWaf>,
    /// Flash reads, programs and erases by cause.
    pub flash: [[u64; DIE_CAUSES]; 3],
    /// Switch, partial and full merges.
    pub merges: [u64; 3],
    /// Hits and misses of each cache.
    pub caches: Vec<(String, u64, u64)>,
    /// Erase count of each block; `None` for a bad block.
    pub erases: Vec<Option<u32>>,
    /// Valid pages of each block.
    pub valid: Vec<u16>,
    /// Pages of a block, and blocks of a die.
    pub shape: (u32, u32),
    /// Bytes of a page as flash counts it.
    pub page_bytes: u64,
    /// Memory a controller would need, by layer.
    pub ram_bytes: Vec<(String, u64)>,
    /// Further counters, `layer.name`.
    pub counters: BTreeMap<String, u64>,
    /// Interval and samples over time.
    pub series: (Nanos, Vec<Sample>),
    /// When its reads and writes arrived and completed; empty in a closed loop.
    pub course: Course,
    /// Requests over time and address.
    pub addresses: AddressMap,
    /// Latencies the trace recorded, reads and writes; `None`: it has none.
    pub recorded: Option<RecordedLatency>,
    /// Keys given beside the stack.
    pub given: Vec<String>,
    /// Keys that this run did not read.
    pub unused: Vec<String>,
    /// Where it comes from; `None` where nobody said.
    pub provenance: Option<Provenance>,
    /// Remarks for the reader.
    pub notes: Vec<String>,
    /// The notes that say what was chosen for the run.
    pub chosen: Vec<String>,
}

/// Whether a note says that figures are not what a reader takes them for.
fn is_doubt(note: &str) -> bool {
    let ends = ["ended with an error: ", "their data is lost", "lost for good"];
    is_caution(note) || note.starts_with("No two commands") || ends.iter().any(|part| note.contains(part))
}

impl RunResult {
    /// The rank of each note: `doubt` about the result, `chosen` for the run, or `detail`.
    fn note_ranks(&self) -> Vec<&'static str> {
        let rank = |note: &String| match note {
            chosen if self.chosen.contains(chosen) => "chosen",
            doubt if is_doubt(doubt) => "doubt",
            _ => "detail",
        };
        self.notes.iter().map(rank).collect()
    }

    pub fn requests(&self) -> u64 {
        self.host.iter().map(|op| op.requests).sum::<u64>() + self.unwritten.totals.requests
    }

    /// Bytes of the blocks that were erased, all causes: drives with blocks of other sizes can be compared by it.
    pub fn erased_bytes(&self) -> u64 {
        self.flash[2].iter().sum::<u64>() * u64::from(self.shape.0) * self.page_bytes
    }

    /// Share of the reads that asked only for pages which hold nothing; `None` without reads.
    pub fn unwritten_share(&self) -> Option<f64> {
        let unwritten = self.unwritten.totals.requests;
        let reads = self.host[HostOp::Read.index()].requests + unwritten;
        (reads > 0).then(|| unwritten as f64 / reads as f64)
    }

    /// Write amplification: bytes programmed for a byte that the host wrote, all causes, as the counters of a drive
    /// tell it; `None` where it says nothing ([`RunResult::no_waf`]).
    pub fn waf(&self) -> Option<f64> {
        self.waf_of(self.flash[1].iter().sum())
    }

    /// The part of write amplification that so many programs make.
    pub fn waf_of(&self, programs: u64) -> Option<f64> {
        let bytes = self.host[HostOp::Write.index()].bytes;
        self.amplification(programs * self.page_bytes, bytes)
    }

    /// Write amplification by pages: pages programmed for a page that the host wrote, all causes. A write of a part of
    /// a page counts as a whole page. Where requests are whole aligned pages it equals [`RunResult::waf`].
    pub fn waf_pages(&self) -> Option<f64> {
        self.waf_pages_of(self.flash[1].iter().sum())
    }

    fn waf_pages_of(&self, programs: u64) -> Option<f64> {
        self.amplification(programs, self.host[HostOp::Write.index()].pages)
    }

    fn amplification(&self, programmed: u64, written: u64) -> Option<f64> {
        (self.no_waf.is_none() && written > 0).then(|| programmed as f64 / written as f64)
    }

    /// Requests completed in a simulated second; `None` when no time passed.
    pub fn iops(&self) -> Option<f64> {
        (self.sim_ns > 0).then(|| self.requests() as f64 * 1e9 / self.sim_ns as f64)
    }

    /// Bytes moved in a simulated second; `None` when no time passed.
    pub fn bandwidth(&self, op: HostOp) -> Option<f64> {
        (self.sim_ns > 0).then(|| self.host[op.index()].bytes as f64 * 1e9 / self.sim_ns as f64)
    }

    /// Whether it was recorded what requests waited for.
    pub fn has_causes(&self) -> bool {
        self.sim_ns > 0 && records_causes(&self.config)
    }

    /// Latencies of reads and writes together.
    pub fn reads_and_writes(&self) -> LatencyRecorder {
        let mut both = self.latency[HostOp::Read.index()].clone();
        both.merge(&self.latency[HostOp::Write.index()]);
        both
    }

    /// Every operation with its name, its requests and their latencies; reads of pages that hold nothing come last.
    pub fn operations(&self) -> impl Iterator<Item = (&'static str, &OpTotals, &LatencyRecorder)> {
        operations(&self.host, &self.latency, &self.unwritten)
    }

    pub fn to_json(&self) -> Value {
        let both = self.reads_and_writes();
        let by_op = |name: HostOp| waits_of(&self.latency[name.index()], self.has_causes());
        let mut host = Map::new();
        let mut latency = Map::new();
        for (name, totals, recorder) in self.operations() {
            let OpTotals { requests, pages, bytes, failed } = *totals;
            host.insert(name.into(), json!({"requests": requests, "pages": pages, "bytes": bytes, "failed": failed}));
            latency.insert(name.into(), latency_json(recorder, self.sim_ns > 0));
        }
        let both = waits_of(&both, self.has_causes());
        let ram_bytes = self.ram_bytes.iter().map(|(name, bytes)| (name.clone(), json!(bytes)));
        json!({
            "schema": SCHEMA,
            "hash": format!("{:016x}", self.hash),
            "seed": self.seed.to_string(),
            "stack": self.stack,
            "workload": {
                "name": self.workload,
                "loop": if self.queue_depth.is_some() { "closed" } else { "open" },
                "queue_depth": self.queue_depth,
            },
            "status": self.status.name(),
            "wall_s": self.wall_s,
            "sim_ns": self.sim_ns,
            "requests_per_wall_s": self.requests() as f64 / self.wall_s.max(1e-9),
            "config": self.config,
            "config_given": self.given,
            "config_unused": self.unused,
            "provenance": self.provenance,
            "host": host,
            "unwritten_read_share": self.unwritten_share(),
            "iops": self.iops(),
            "bandwidth_bytes_per_s": {"read": self.bandwidth(HostOp::Read), "write": self.bandwidth(HostOp::Write)},
            "latency_ns": latency,
            "recorded_latency_ns": self.recorded,
            "waiting": both["direct"],
            "waiting_root": both["root"],
            "service_ns": both["service_ns"],
            "waiting_by_op": {
                "read": by_op(HostOp::Read),
                "write": by_op(HostOp::Write),
                "flush": by_op(HostOp::Flush),
            },
            "flash": self.flash_json(),
            "erased_bytes": self.erased_bytes(),
            "waf": self.by_cause_of_programs(|programs| self.waf_of(programs)),
            "waf_pages": self.by_cause_of_programs(|programs| self.waf_pages_of(programs)),
            "waf_absent": self.no_waf.map(NoWaf::name),
            "merges": {"switch": self.merges[0], "partial": self.merges[1], "full": self.merges[2]},
            "cache": self.cache_json(),
            "wear": self.wear_json(),
            "ram_bytes": Value::Object(ram_bytes.collect()),
            "counters": self.counters,
            "series": self.series_json(),
            "heatmaps": self.heatmaps_json(),
            "notes": self.notes,
            "note_ranks": self.note_ranks(),
        })
    }

    fn flash_json(&self) -> Value {
        let mut flash = Map::new();
        for (name, counts) in ["reads", "programs", "erases"].into_iter().zip(&self.flash) {
            flash.insert(name.into(), by_cause(|cause| json!(counts[cause]), json!(counts.iter().sum::<u64>())));
        }
        Value::Object(flash)
    }

    fn by_cause_of_programs(&self, value: impl Fn(u64) -> Option<f64>) -> Value {
        let programs = &self.flash[1];
        by_cause(|cause| json!(value(programs[cause])), json!(value(programs.iter().sum())))
    }

    fn cache_json(&self) -> Value {
        let caches = self.caches.iter().map(|(layer, hits, misses)| {
            let ratio = if hits + misses == 0 { Value::Null } else { json!(*hits as f64 / (hits + misses) as f64) };
            (layer.clone(), json!({"hits": hits, "misses": misses, "hit_ratio": ratio}))
        });
        Value::Object(caches.collect())
    }

    fn wear_json(&self) -> Value {
        let mut histogram = BTreeMap::new();
        for erases in self.erases.iter().flatten() {
            *histogram.entry(*erases).or_insert(0_u64) += 1;
        }
        let blocks = histogram.values().sum::<u64>() as f64;
        let sum: f64 = histogram.iter().map(|(erases, count)| f64::from(*erases) * *count as f64).sum();
        json!({
            "min": histogram.keys().next(),
            "mean": (!histogram.is_empty()).then_some(sum / blocks),
            "max": histogram.keys().next_back(),
            "bad_blocks": self.erases.iter().filter(|erases| erases.is_none()).count(),
            "histogram": {
                "erases": histogram.keys().collect::<Vec<_>>(),
                "blocks": histogram.values().collect::<Vec<_>>(),
            },
        })
    }

    fn series_json(&self) -> Value {
        let columns: Map<String, Value> =
            self.series_columns().into_iter().map(|(name, column)| (name, column_json(&column))).collect();
        json!({"interval_ns": self.series.0, "intervals": self.intervals().len(), "columns": columns})
    }

    /// Samples over time. Where no time is counted nothing has a place in it.
    fn intervals(&self) -> &[Sample] {
        if self.sim_ns == 0 { &[] } else { &self.series.1 }
    }

    /// The run over time: columns of one length by name; `None` where there is no such value.
    pub fn series_columns(&self) -> Vec<(String, Vec<Option<f64>>)> {
        let (interval, samples) = (self.series.0, self.intervals());
        // The last interval ends with the run.
        let covered = |index: usize| interval.min(self.sim_ns.saturating_sub(index as u64 * interval)).max(1);
        let column = |value: &dyn Fn(usize, &Sample) -> f64| -> Vec<Option<f64>> {
            samples.iter().enumerate().map(|(index, sample)| Some(value(index, sample))).collect()
        };
        // In an interval without requests of a kind there is no latency of it.
        let latency = |op: usize, value: &dyn Fn(&Sample) -> f64| -> Vec<Option<f64>> {
            samples.iter().map(|sample| (sample.requests[op] > 0).then(|| value(sample))).collect()
        };
        let mean = |sample: &Sample, op: usize| sample.latency_sum[op] as f64 / sample.requests[op] as f64;
        let mut columns = vec![
            ("time_ns".to_owned(), column(&|index, _| (index as u64 * interval) as f64)),
            ("read_requests".to_owned(), column(&|_, s| s.requests[0] as f64)),
            ("write_requests".to_owned(), column(&|_, s| s.requests[1] as f64)),
            (format!("{UNWRITTEN}_requests"), column(&|_, s| s.unwritten as f64)),
            ("read_bytes".to_owned(), column(&|_, s| s.bytes[0] as f64)),
            ("write_bytes".to_owned(), column(&|_, s| s.bytes[1] as f64)),
            ("queue_depth".to_owned(), column(&|index, s| s.occupancy as f64 / covered(index) as f64)),
            ("read_latency_mean_ns".to_owned(), latency(0, &|s| mean(s, 0))),
            ("write_latency_mean_ns".to_owned(), latency(1, &|s| mean(s, 1))),
            ("read_latency_max_ns".to_owned(), latency(0, &|s| s.latency_max[0] as f64)),
            ("write_latency_max_ns".to_owned(), latency(1, &|s| s.latency_max[1] as f64)),
        ];
        let free = samples.iter().map(|sample| sample.free_blocks.map(f64::from));
        columns.push(("free_blocks".to_owned(), free.collect()));
        columns.extend(CAUSES.iter().map(|cause| {
            (format!("{}_programs", cause.name()), column(&|_, sample| sample.programs[cause.index()] as f64))
        }));
        let has_causes = self.has_causes();
        columns.extend((0..WAIT_KINDS).map(|kind| {
            let waited = samples.iter().map(|sample| has_causes.then_some(sample.waited[kind] as f64));
            (format!("{}_wait_ns", Wait::name_at(kind)), waited.collect())
        }));
        columns
    }

    fn heatmaps_json(&self) -> Value {
        let [wear, valid] = block_maps(&self.erases, &self.valid, self.shape, MAP_COLUMNS);
        let rows = self.addresses.rows();
        json!({
            "wear": wear,
            "valid": valid,
            "address": {
                "rows": rows,
                "address_bins": self.addresses.bins,
                "requests_per_row": self.addresses.requests_per_row,
                "sectors_per_bin": self.addresses.sectors_per_bin,
                "reads": without_zeros(&self.addresses.counts(0)),
                "writes": without_zeros(&self.addresses.counts(1)),
            },
        })
    }
}

/// Whether a drive of this configuration, every key with its value, records what requests wait for.
pub fn records_causes(config: &BTreeMap<String, String>) -> bool {
    let is = |key: &str, value: &str| config.get(key).is_some_and(|own| own == value);
    !is(CAUSES_KEY, "false") || is("engine.service", "serial")
}

/// Most columns of a block map; neighbouring blocks are averaged beyond it.
const MAP_COLUMNS: usize = 1024;

/// Two maps of blocks, a row for each die, as the result has them: erases, and the valid share of the pages. `erases`:
/// of each block, `None` for one that must not be used; `valid`: pages of each block; `shape`: pages of a block, and
/// blocks of a die. Beyond `most` columns neighbouring blocks are averaged.
pub fn block_maps(erases: &[Option<u32>], valid: &[u16], shape: (u32, u32), most: usize) -> [Value; 2] {
    let (pages_per_block, blocks_per_die) = shape;
    let wear: Vec<_> = erases.iter().map(|erases| erases.map(f64::from)).collect();
    let usable = |block: usize| erases.get(block).copied().flatten().is_some();
    let share = |(block, valid): (usize, &u16)| usable(block).then(|| f64::from(*valid) / f64::from(pages_per_block));
    let valid: Vec<_> = valid.iter().enumerate().map(share).collect();
    [wear, valid].map(|values| block_map(&values, blocks_per_die, most))
}

fn block_map(values: &[Option<f64>], blocks_per_die: u32, most: usize) -> Value {
    let per_row = (blocks_per_die as usize).max(1);
    let group = per_row.div_ceil(most);
    let columns = per_row.div_ceil(group);
    let cells: Vec<Option<f64>> = values
        .chunks(per_row)
        .flat_map(|row| row.chunks(group))
        .map(|cell| {
            let known: Vec<f64> = cell.iter().copied().flatten().collect();
            (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
        })
        .collect();
    let rows = values.len() / per_row;
    let cells: Vec<Value> = cells.into_iter().map(|cell| cell.map_or(Value::Null, short)).collect();
    json!({"rows": rows, "columns": columns, "values": cells, "row_label": "die", "column_label": "block"})
}

/// A number with three decimals at most: no picture shows more, and sixteen digits a cell make a file four times as
/// large.
fn short(value: f64) -> Value {
    let rounded = (value * 1e3).round() / 1e3;
    if rounded.fract() == 0.0 && rounded.abs() < 9e15 { json!(rounded as i64) } else { json!(rounded) }
}

/// A column of a series: one value where all intervals have the same, otherwise all of them.
fn column_json(values: &[Option<f64>]) -> Value {
    let told = |value: &Option<f64>| value.map_or(Value::Null, short);
    match values.split_first() {
        Some((first, rest)) if rest.iter().all(|value| value == first) => told(first),
        _ => values.iter().map(told).collect(),
    }
}

/// Counts in which a number below zero stands for so many zeros.
fn without_zeros(counts: &[u32]) -> Vec<i64> {
    let mut written: Vec<i64> = Vec::new();
    for count in counts {
        match written.last_mut() {
            Some(zeros) if *count == 0 && *zeros < 0 => *zeros -= 1,
            _ => written.push(if *count == 0 { -1 } else { i64::from(*count) }),
        }
    }
    written
}

fn by_cause(value: impl Fn(usize) -> Value, total: Value) -> Value {
    let mut map: Map<String, Value> = CAUSES.iter().map(|c| (c.name().to_owned(), value(c.index()))).collect();
    map.insert("total".into(), total);
    Value::Object(map)
}

/// Without time, and without requests, there is no latency, and nothing has waited.
fn is_measured(recorder: &LatencyRecorder, is_timed: bool) -> bool {
    is_timed && recorder.histogram().count() > 0
}

fn latency_json(recorder: &LatencyRecorder, is_timed: bool) -> Value {
    let histogram = recorder.histogram();
    let known = Latencies::of(histogram).filter(|_| is_timed);
    let percentile = |of: fn(&Latencies) -> Option<Nanos>| known.as_ref().and_then(of);
    let (ends, counts): (Vec<u64>, Vec<u64>) =
        histogram.filled().map(|(b, count)| (crate::Histogram::upper(b).min(histogram.max()), count)).unzip();
    json!({
        "count": histogram.count(),
        "mean": known.map(|of| of.mean),
        "p50": percentile(|of| of.p50),
        "p90": percentile(|of| of.p90),
        "p99": percentile(|of| of.p99),
        "p999": percentile(|of| of.p999),
        "p9999": percentile(|of| of.p9999),
        "max": known.map(|of| of.max),
        "histogram": {"latency_ns": ends, "requests": counts},
    })
}

fn waits_of(recorder: &LatencyRecorder, has_causes: bool) -> Value {
    if !is_measured(recorder, has_causes) {
        return json!({"direct": null, "root": null, "service_ns": null});
    }
    let tails: [(&str, Tail); 3] =
        [("all", recorder.tail(1.0)), ("p99", recorder.tail(0.01)), ("p999", recorder.tail(0.001))];
    let waits = |pick: fn(&Tail) -> &[f64; WAIT_KINDS]| -> Value {
        let tails = tails.iter().map(|(name, tail)| {
            let kinds = pick(tail).iter().enumerate().map(|(kind, ns)| (Wait::name_at(kind).to_owned(), json!(ns)));
            ((*name).to_owned(), Value::Object(kinds.collect()))
        });
        Value::Object(tails.collect())
    };
    let service: Map<String, Value> =
        tails.iter().map(|(name, tail)| ((*name).to_owned(), json!(tail.service()))).collect();
    json!({"direct": waits(|t| &t.direct), "root": waits(|t| &t.root), "service_ns": service})
}
