//! Measurements of a served drive, for clients of the control socket.

use crate::simulated::Pace;
use drive::{Drive, Pulse, RunResult, Smart};
use serde_json::{Map, Value, json};
use units::HostOp;

/// Version of the form of `stats`.
pub const STATS_SCHEMA: &str = "nandarium.serve-stats/2";

/// Answers to `stats`: `result` has the measurements since the server began.
pub(crate) fn stats(drive: &Drive, result: &RunResult, pace: Pace) -> Value {
    let document = result.to_json();
    let latencies = result.operations().map(|(name, ..)| (name.to_owned(), latency(&document["latency_ns"][name])));
    let Smart { lifetime, .. } = drive.smart();
    json!({
        "schema": STATS_SCHEMA,
        "time": time(pace),
        "since_start": {
            "wall_s": result.wall_s,
            "simulated_ns": result.sim_ns,
            "power_cuts": drive.power_cuts(),
            "requests": document["host"],
            "latency_ns": latencies.collect::<Map<_, _>>(),
            "waiting_ns": {
                "read": waiting(&document["waiting_by_op"]["read"], &document["latency_ns"]["read"]),
                "write": waiting(&document["waiting_by_op"]["write"], &document["latency_ns"]["write"]),
            },
            "waf": document["waf"]["total"],
            "waf_absent": document["waf_absent"],
            "waf_pages": document["waf_pages"]["total"],
            "flash": document["flash"],
        },
        "since_power_on": {
            "power_on": drive.is_on(),
            "counters": Value::Object(drive.layer_counters().into_iter().map(|(name, n)| (name, n.into())).collect()),
        },
        "lifetime": table(lifetime),
    })
}

/// A drive's report of itself, and how much more than its clients wrote it programs.
pub(crate) fn smart(drive: &Drive) -> Value {
    let Smart { now, lifetime, since_start, since_power_on } = drive.smart();
    let mut since_start = table(since_start);
    since_start["write_amplification"] = drive.pulse().and_then(|pulse| amplification(&pulse)).into();
    json!({
        "now": table(now), "lifetime": table(lifetime), "since_start": since_start,
        "since_power_on": table(since_power_on),
    })
}

/// Bytes programmed for a byte that clients wrote; nothing where clients wrote too little to tell.
pub(crate) fn amplification(pulse: &Pulse<'_>) -> Option<f64> {
    let programmed = pulse.flash[1].iter().sum::<u64>() * pulse.page_bytes;
    let written = pulse.requests[HostOp::Write.index()].bytes;
    pulse.no_waf.is_none().then(|| programmed as f64 / written as f64)
}

fn table(rows: Vec<(&'static str, u64)>) -> Value {
    Value::Object(rows.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect())
}

/// The meaning of latencies at a pace.
pub(crate) fn time(pace: Pace) -> Value {
    let (pace, meaning) = match pace {
        Pace::Off => (
            json!("off"),
            "Latencies are simulated time. Requests are answered as soon as they are simulated, so no simulated time \
             passes while no request is under way. A client that is slower than the simulation adds no simulated \
             time.",
        ),
        Pace::Scaled(factor) => (
            json!(factor),
            "Latencies are simulated time; by the clock they took so many times as long as the pace says.",
        ),
    };
    json!({ "pace": pace, "meaning": meaning })
}

/// Percentiles; nothing without requests.
fn latency(of_op: &Value) -> Value {
    let mut latency = of_op.clone();
    match latency.as_object_mut() {
        Some(table) if table.get("count").and_then(Value::as_u64) > Some(0) => drop(table.remove("histogram")),
        _ => latency = Value::Null,
    }
    latency
}

/// Mean waiting of a request by cause, and its own service: of all, and of the slowest 1 %; nothing without requests,
/// or where causes are not recorded.
fn waiting(of_op: &Value, latency: &Value) -> Value {
    if latency["count"].as_u64().unwrap_or(0) == 0 || of_op["service_ns"]["all"].is_null() {
        return Value::Null;
    }
    let of_share = |share: &str| {
        let mut causes = Map::from_iter([("service".to_owned(), of_op["service_ns"][share].clone())]);
        let waited = of_op["direct"][share].as_object().into_iter().flatten().filter(|(_, ns)| ns.as_f64() > Some(0.0));
        causes.extend(waited.map(|(cause, ns)| (cause.clone(), ns.clone())));
        Value::Object(causes)
    };
    json!({ "all": of_share("all"), "slowest_percent": of_share("p99") })
}
