//! What is kept of each result, as columns.

use serde_json::Value;

/// A number of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Name of its column.
    pub name: &'static str,
    /// Where it is in `result.json`; a table there is summed up.
    pub pointer: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// What it is.
    pub doc: &'static str,
}

const fn metric(name: &'static str, pointer: &'static str, unit: &'static str, doc: &'static str) -> Metric {
    Metric { name, pointer, unit, doc }
}

/// The spare space a drive has: what was asked for, and what whole blocks, parity and reserves add to it.
const SPARE: &str = "spare_share";

/// Every metric, in the order of columns.
pub const METRICS: [Metric; 22] = [
    metric("iops", "/iops", "requests/s", "Requests served"),
    metric("read_mean_ns", "/latency_ns/read/mean", "ns", "Mean latency of reads"),
    metric("read_p50_ns", "/latency_ns/read/p50", "ns", "Median latency of reads"),
    metric("read_p99_ns", "/latency_ns/read/p99", "ns", "99th percentile of reads"),
    metric("read_p999_ns", "/latency_ns/read/p999", "ns", "99.9th percentile of reads"),
    metric("read_max_ns", "/latency_ns/read/max", "ns", "Slowest read"),
    metric("write_mean_ns", "/latency_ns/write/mean", "ns", "Mean latency of writes"),
    metric("write_p50_ns", "/latency_ns/write/p50", "ns", "Median latency of writes"),
    metric("write_p99_ns", "/latency_ns/write/p99", "ns", "99th percentile of writes"),
    metric("write_p999_ns", "/latency_ns/write/p999", "ns", "99.9th percentile of writes"),
    metric("write_max_ns", "/latency_ns/write/max", "ns", "Slowest write"),
    metric("waf", "/waf/total", "pages/page", "Write amplification"),
    metric("flash_reads", "/flash/reads/total", "pages", "Pages read from flash"),
    metric("flash_programs", "/flash/programs/total", "pages", "Pages programmed"),
    metric("flash_erases", "/flash/erases/total", "blocks", "Blocks erased"),
    metric("wear_mean", "/wear/mean", "erases", "Mean erase count of a block"),
    metric("wear_max", "/wear/max", "erases", "Largest erase count of a block"),
    metric(SPARE, "/counters/flash.pages", "share of 1", "Flash beyond what the user sees"),
    metric("ram_bytes", "/ram_bytes", "bytes", "Memory a controller would need"),
    metric("sim_ns", "/sim_ns", "ns", "Simulated time"),
    metric("wall_s", "/wall_s", "s", "Time the measured run took on this machine"),
    metric("requests_per_wall_s", "/requests_per_wall_s", "requests/s", "Speed of the simulation"),
];

impl Metric {
    /// Its value in a result, if there is one.
    pub fn of(&self, result: &Value) -> Option<f64> {
        // Latencies of what was never asked for are no measurement.
        let op = self.pointer.strip_prefix("/latency_ns/").and_then(|rest| rest.split('/').next());
        if op.is_some_and(|op| result["host"][op]["requests"].as_u64().unwrap_or(0) == 0) {
            return None;
        }
        match result.pointer(self.pointer)? {
            pages if self.name == SPARE => Some(pages.as_f64()? / result["counters"]["drive.user_pages"].as_f64()? - 1.0),
            Value::Object(parts) => Some(parts.values().filter_map(Value::as_f64).sum()),
            value => value.as_f64(),
        }
    }

    /// The metric of this name.
    pub fn named(name: &str) -> Option<&'static Metric> {
        METRICS.iter().find(|metric| metric.name == name)
    }
}
