//! The data that a page that watches a drive asks for repeatedly: sums, of which the difference of two answers makes
//! rates, and maps of the blocks.

use crate::logs;
use crate::simulated::Pace;
use crate::stats;
use drive::{Blocks, Drive, LatencyRecorder, OpTotals, Pulse, Unwritten};
use metrics::Histogram;
use serde_json::{Map, Value, json};
use units::{CAUSES, HostOp, Wait};

/// Version of the form of `live`.
pub const LIVE_SCHEMA: &str = "nandarium.live/2";
/// Most columns of a map that is watched.
const MAP_COLUMNS: usize = 256;

/// Answers to `live`. `wall_s`: seconds by the clock since the server began; `refuses`: writes are refused.
pub(crate) fn live(drive: &Drive, pace: Pace, wall_s: f64, refuses: bool) -> Option<Value> {
    let (pulse, blocks) = (drive.pulse()?, drive.blocks()?);
    let of_requests = requests_so_far(pulse.requests, pulse.latency, pulse.unwritten, pulse.has_causes);
    let write = pulse.requests[HostOp::Write.index()];
    let programs: u64 = pulse.flash[1].iter().sum();
    Some(json!({
        "schema": LIVE_SCHEMA,
        "stack": drive.stack(),
        "bytes": drive.bytes(),
        "time": stats::time(pace),
        "power_on": drive.is_on(),
        "power_cuts": drive.power_cuts(),
        "wall_s": wall_s,
        "simulated_ns": pulse.simulated,
        "busy_ns": pulse.busy,
        "occupied_ns": pulse.occupied as f64,
        "outstanding": pulse.outstanding,
        "requests": of_requests["requests"],
        "latency_ns": of_requests["latency_ns"],
        "waiting_ns": of_requests["waiting_ns"],
        "flash": flash(&pulse),
        "page_bytes": pulse.page_bytes,
        "waf": stats::amplification(&pulse),
        "waf_pages": pulse.no_waf.is_none().then(|| programs as f64 / write.pages as f64),
        "blocks": standing(&blocks),
        "smart": stats::smart(drive),
        "smart_log": logs::smart_log(drive, &pulse, &blocks, refuses),
        "ocp_log": logs::ocp_log(drive, &pulse, &blocks),
    }))
}

/// Sums over requests, as `live` has them: `requests`, `latency_ns` and `waiting_ns`. Both tables are indexed by
/// [`HostOp::index`]; `has_causes`: it is recorded what requests wait for.
pub fn requests_so_far(
    totals: &[OpTotals; 4],
    recorders: &[LatencyRecorder],
    unwritten: &Unwritten,
    has_causes: bool,
) -> Value {
    let (mut of_requests, mut latencies) = (Map::new(), Map::new());
    for (name, totals, recorder) in metrics::operations(totals, recorders, unwritten) {
        of_requests.insert(name.to_owned(), requests(*totals));
        latencies.insert(name.to_owned(), latency(recorder));
    }
    let waits = |op: HostOp| if has_causes { waiting(&recorders[op.index()]) } else { Value::Null };
    json!({
        "requests": of_requests,
        "latency_ns": latencies,
        "waiting_ns": { "read": waits(HostOp::Read), "write": waits(HostOp::Write) },
    })
}

pub(crate) fn maps(drive: &Drive) -> Option<Value> {
    let maps = drive.block_maps()?;
    let [wear, valid] = metrics::block_maps(&maps.erases, &maps.valid, maps.shape, MAP_COLUMNS);
    // Without power, nobody knows which pages are valid.
    Some(json!({ "wear": wear, "valid": if maps.valid.is_empty() { Value::Null } else { valid } }))
}

fn requests(OpTotals { requests, pages, bytes, failed }: OpTotals) -> Value {
    json!({ "requests": requests, "pages": pages, "bytes": bytes, "failed": failed })
}

/// Counts by bucket: two of them differ by what came in between.
fn latency(recorder: &LatencyRecorder) -> Value {
    let histogram = recorder.histogram();
    let buckets: Vec<_> = histogram.filled().map(|(bucket, count)| json!([Histogram::upper(bucket), count])).collect();
    json!({ "count": histogram.count(), "sum": histogram.sum() as f64, "max": histogram.max(), "histogram": buckets })
}

/// What all requests of a kind waited for together, and their own service.
fn waiting(recorder: &LatencyRecorder) -> Value {
    let waited = recorder.waited();
    let all: u128 = waited.iter().map(|[direct, _]| u128::from(*direct)).sum();
    let service = recorder.histogram().sum().saturating_sub(all);
    let mut causes = Map::from_iter([("service".to_owned(), json!(service as f64))]);
    let waited = waited.iter().enumerate().filter(|(_, [direct, _])| *direct > 0);
    causes.extend(waited.map(|(kind, [direct, _])| (Wait::name_at(kind).to_owned(), (*direct).into())));
    Value::Object(causes)
}

fn flash(pulse: &Pulse<'_>) -> Value {
    let kinds = ["reads", "programs", "erases"].into_iter().zip(&pulse.flash).map(|(kind, counts)| {
        let causes = CAUSES.iter().map(|cause| (cause.name().to_owned(), json!(counts[cause.index()])));
        let total = ("total".to_owned(), json!(counts.iter().sum::<u64>()));
        (kind.to_owned(), Value::Object(causes.chain([total]).collect()))
    });
    Value::Object(kinds.collect())
}

fn standing(Blocks { all, usable, free, needed, dies, dead_dies }: &Blocks) -> Value {
    json!({
        "all": all, "usable": usable, "free": free, "needed": needed, "dies": dies, "dead_dies": dead_dies,
    })
}
