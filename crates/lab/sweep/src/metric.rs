//! The stored figures of each result, as columns.

use serde_json::Value;

/// A number of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Name of its column.
    pub name: &'static str,
    /// Where it is in `result.json`; a table there is summed up.
    pub pointer: &'static str,
    pub unit: &'static str,
    /// Its name in a sentence.
    pub short: &'static str,
    pub doc: &'static str,
}

const fn metric(
    name: &'static str,
    pointer: &'static str,
    unit: &'static str,
    short: &'static str,
    doc: &'static str,
) -> Metric {
    Metric { name, pointer, unit, short, doc }
}

/// The spare space of a drive: the share asked for, and the additions of whole blocks, parity and reserves.
pub(crate) const SPARE: &str = "spare_share";
/// Differences below this share come from sums in another order.
pub(crate) const SUMS: f64 = 1e-9;
/// Memory of the controller.
pub(crate) const MEMORY: &str = "ram_bytes";

/// Percentiles are read at the upper bound of a bucket, which is at most this share of them above what they are.
pub(crate) const BUCKET: f64 = 1.0 / 64.0;

/// Every metric, in the order of columns. How long a run took on a machine is not one: a plan gives the same tables
/// wherever and whenever it is run.
pub const METRICS: [Metric; 37] = [
    metric("iops", "/iops", "requests/s", "IOPS", "Requests served"),
    metric("read_requests", "/host/read/requests", "requests", "reads", "Reads served"),
    metric("write_requests", "/host/write/requests", "requests", "writes", "Writes served"),
    metric("flush_requests", "/host/flush/requests", "requests", "flushes", "Flushes served"),
    metric(
        "unwritten_reads",
        "/host/unwritten_read/requests",
        "requests",
        "reads of unwritten pages",
        "Reads of pages that hold nothing",
    ),
    metric("read_mean_ns", "/latency_ns/read/mean", "ns", "mean read latency", "Mean latency of reads"),
    metric("read_p50_ns", "/latency_ns/read/p50", "ns", "read p50", "Median latency of reads"),
    metric("read_p90_ns", "/latency_ns/read/p90", "ns", "read p90", "90th percentile of reads"),
    metric("read_p99_ns", "/latency_ns/read/p99", "ns", "read p99", "99th percentile of reads"),
    metric("read_p999_ns", "/latency_ns/read/p999", "ns", "read p99.9", "99.9th percentile of reads"),
    metric("read_p9999_ns", "/latency_ns/read/p9999", "ns", "read p99.99", "99.99th percentile of reads"),
    metric("read_max_ns", "/latency_ns/read/max", "ns", "slowest read", "Slowest read"),
    metric("write_mean_ns", "/latency_ns/write/mean", "ns", "mean write latency", "Mean latency of writes"),
    metric("write_p50_ns", "/latency_ns/write/p50", "ns", "write p50", "Median latency of writes"),
    metric("write_p90_ns", "/latency_ns/write/p90", "ns", "write p90", "90th percentile of writes"),
    metric("write_p99_ns", "/latency_ns/write/p99", "ns", "write p99", "99th percentile of writes"),
    metric("write_p999_ns", "/latency_ns/write/p999", "ns", "write p99.9", "99.9th percentile of writes"),
    metric("write_p9999_ns", "/latency_ns/write/p9999", "ns", "write p99.99", "99.99th percentile of writes"),
    metric("write_max_ns", "/latency_ns/write/max", "ns", "slowest write", "Slowest write"),
    metric("flush_mean_ns", "/latency_ns/flush/mean", "ns", "mean flush latency", "Mean latency of flushes"),
    metric("flush_p50_ns", "/latency_ns/flush/p50", "ns", "flush p50", "Median latency of flushes"),
    metric("flush_p90_ns", "/latency_ns/flush/p90", "ns", "flush p90", "90th percentile of flushes"),
    metric("flush_p99_ns", "/latency_ns/flush/p99", "ns", "flush p99", "99th percentile of flushes"),
    metric("flush_p999_ns", "/latency_ns/flush/p999", "ns", "flush p99.9", "99.9th percentile of flushes"),
    metric("flush_p9999_ns", "/latency_ns/flush/p9999", "ns", "flush p99.99", "99.99th percentile of flushes"),
    metric("flush_max_ns", "/latency_ns/flush/max", "ns", "slowest flush", "Slowest flush"),
    metric("waf", "/waf/total", "bytes/byte", "write amplification", "Write amplification"),
    metric(
        "waf_pages",
        "/waf_pages/total",
        "pages/page",
        "write amplification by pages",
        "Write amplification by pages",
    ),
    metric("flash_reads", "/flash/reads/total", "pages", "flash reads", "Pages read from flash"),
    metric("flash_programs", "/flash/programs/total", "pages", "flash programs", "Pages programmed"),
    metric("flash_erases", "/flash/erases/total", "blocks", "erases", "Blocks erased"),
    metric("erased_bytes", "/erased_bytes", "bytes", "bytes erased", "Bytes of the blocks erased"),
    metric("wear_mean", "/wear/mean", "erases", "mean wear", "Mean erase count of a block"),
    metric("wear_max", "/wear/max", "erases", "largest wear", "Largest erase count of a block"),
    metric(SPARE, "/counters/flash.pages", "share of 1", "spare space", "Flash beyond what the user sees"),
    metric(MEMORY, "/ram_bytes", "bytes", "memory", "Memory a controller would need"),
    metric("sim_ns", "/sim_ns", "ns", "simulated time", "Simulated time"),
];

/// Metrics of the requests of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Op {
    /// As results name it.
    pub name: &'static str,
    /// The name of several requests, in a sentence.
    pub plural: &'static str,
    /// The value of a run without them.
    pub none: &'static str,
    /// The metric that counts them.
    pub requests: &'static str,
    /// Percentiles that are a tail, the highest first.
    pub tails: [&'static str; 4],
}

/// Operations with latencies.
pub(crate) const OPS: [Op; 3] = [
    Op {
        name: "read",
        plural: "reads",
        none: "no reads",
        requests: "read_requests",
        tails: ["read_p9999_ns", "read_p999_ns", "read_p99_ns", "read_p90_ns"],
    },
    Op {
        name: "write",
        plural: "writes",
        none: "no writes",
        requests: "write_requests",
        tails: ["write_p9999_ns", "write_p999_ns", "write_p99_ns", "write_p90_ns"],
    },
    Op {
        name: "flush",
        plural: "flushes",
        none: "no flushes",
        requests: "flush_requests",
        tails: ["flush_p9999_ns", "flush_p999_ns", "flush_p99_ns", "flush_p90_ns"],
    },
];

impl Op {
    /// Its place in [`OPS`].
    pub fn at(&self) -> usize {
        OPS.iter().position(|op| op.name == self.name).expect("every operation is in the table")
    }

    /// Whether an application waits for it: a read has the data, a flush ends a commit. Most writes end in a cache.
    pub fn is_waited_for(&self) -> bool {
        self.name != "write"
    }
}

impl Metric {
    /// Its value in a result, if there is one. Percentiles that too few requests lie beyond are none, like figures that
    /// were not measured at all.
    pub fn of(&self, result: &Value) -> Option<f64> {
        if let Some(op) = self.op() {
            let requests = result["latency_ns"][op.name]["count"].as_u64().unwrap_or(0);
            if requests < self.needed() {
                return None;
            }
        }
        match result.pointer(self.pointer)? {
            pages if self.name == SPARE => {
                Some(pages.as_f64()? / result["counters"]["drive.user_pages"].as_f64()? - 1.0)
            }
            Value::Object(parts) => Some(parts.values().filter_map(Value::as_f64).sum()),
            value => value.as_f64(),
        }
    }

    /// The operation whose latency it is, if it is one.
    pub(crate) fn op(&self) -> Option<&'static Op> {
        let rest = self.pointer.strip_prefix("/latency_ns/")?;
        OPS.iter().find(|op| rest.split('/').next() == Some(op.name))
    }

    /// Several requests of the operation whose latency it is, in a sentence.
    pub fn requests(&self) -> Option<&'static str> {
        Some(self.op()?.plural)
    }

    /// Why a run has no such latency that served no such request: `no flushes`.
    pub fn without_requests(&self) -> Option<&'static str> {
        Some(self.op()?.none)
    }

    /// The latency of an operation that results call `key`: `mean`, `p99`.
    pub fn of_latency(op: &str, key: &str) -> Option<&'static Metric> {
        Metric::named(&format!("{op}_{key}_ns"))
    }

    /// Whether it is a latency of the host's requests.
    pub fn is_latency(&self) -> bool {
        self.op().is_some()
    }

    /// Which share of the requests a percentile leaves below it.
    fn percentile(&self) -> Option<f64> {
        self.op()?;
        let key = self.pointer.rsplit('/').next()?;
        metrics::PERCENTILES.iter().find(|(name, _)| *name == key).map(|(_, share)| *share)
    }

    /// Requests of its operation that a run needs for it: ten beyond a percentile, one for every other latency.
    pub fn needed(&self) -> u64 {
        self.percentile().map_or(1, metrics::needed)
    }

    /// Why a result does not have it, in words, as far as the result tells.
    pub(crate) fn absence_in(&self, result: &Value) -> Option<String> {
        if self.pointer.starts_with("/waf") {
            return result["waf_absent"].as_str().map(str::to_owned);
        }
        self.absence(Metric::named(self.op()?.requests)?.of(result)?)
    }

    /// Why runs with so many requests of its operation do not have it, in words; `None`: so many are enough.
    pub(crate) fn absence(&self, requests: f64) -> Option<String> {
        let (op, needed) = (self.op()?, self.needed());
        if requests < 1.0 {
            return Some(op.none.to_owned());
        }
        (requests < needed as f64).then(|| format!("{requests} {}, too few: it needs {needed} or more", op.plural))
    }

    /// How far a value of it may lie beside what it is, as a share of it, however often it is measured.
    pub(crate) fn resolution(&self) -> f64 {
        if self.percentile().is_some() { BUCKET } else { 0.0 }
    }

    /// Prices that differ by less than this share are one price: spare space comes in whole blocks, and mappings round
    /// differently.
    pub(crate) fn rounding(&self) -> f64 {
        if self.name == SPARE { 0.02 } else { SUMS }
    }

    /// Whether more of it is better: of most, less is.
    pub fn is_more_better(&self) -> bool {
        self.name == "iops"
    }

    /// The metric of this name.
    pub fn named(name: &str) -> Option<&'static Metric> {
        METRICS.iter().find(|metric| metric.name == name)
    }

    /// Its place in [`METRICS`].
    pub(crate) fn at(&self) -> usize {
        METRICS.iter().position(|metric| metric.name == self.name).expect("every metric is in the table")
    }
}

/// Why percentiles of a run are absent, in words; `None`: none is. `metrics` by place in [`METRICS`].
pub(crate) fn absence(metrics: &[Option<f64>]) -> Option<String> {
    let of = |name: &str| Metric::named(name).and_then(|metric| metrics[metric.at()]);
    let reasons = OPS.iter().filter_map(|op| {
        let requests = of(op.requests)?;
        let missing: Vec<&Metric> = METRICS
            .iter()
            .filter(|metric| {
                metric.op() == Some(op) && metrics[metric.at()].is_none() && requests < metric.needed() as f64
            })
            .collect();
        let first = missing.first()?;
        if requests < 1.0 {
            return Some(op.none.to_owned());
        }
        let names: Vec<&str> =
            missing.iter().map(|metric| metric.short.rsplit(' ').next().unwrap_or(metric.short)).collect();
        Some(format!("{requests} {}, too few for {} ({} or more)", op.plural, names.join(", "), first.needed()))
    });
    let writes = of("write_requests").filter(|writes| *writes > 0.0 && of("waf").is_none());
    let waf = writes.map(|writes| format!("{writes} writes, too few for write amplification"));
    let reasons: Vec<String> = reasons.chain(waf).collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn result(reads: u64) -> Value {
        let latency =
            json!({"count": reads, "mean": 5.0, "p50": 4, "p90": 7, "p99": 8, "p999": 9, "p9999": 9, "max": 9});
        json!({
            "host": {"read": {"requests": reads}, "write": {"requests": 0}, "flush": {"requests": 0}},
            "latency_ns": {"read": latency, "write": {"count": 0, "p999": 0, "mean": 0.0, "max": 0}},
        })
    }

    fn values(result: &Value) -> Vec<Option<f64>> {
        METRICS.iter().map(|metric| metric.of(result)).collect()
    }

    /// The 99.9th percentile of 318 reads was their slowest one, and decided what was best.
    #[test]
    fn a_percentile_needs_ten_requests_beyond_it() {
        let present = |reads: u64| {
            let found = values(&result(reads));
            METRICS
                .iter()
                .filter(|metric| metric.is_latency() && found[metric.at()].is_some())
                .map(|metric| metric.name)
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(present(0), "");
        assert_eq!(present(19), "read_mean_ns read_max_ns");
        assert_eq!(present(318), "read_mean_ns read_p50_ns read_p90_ns read_max_ns");
        assert_eq!(present(999), present(318));
        assert_eq!(present(1000), "read_mean_ns read_p50_ns read_p90_ns read_p99_ns read_max_ns");
        assert!(!present(9999).contains("p999_ns") && present(10_000).contains("read_p999_ns"));
        assert!(!present(99_999).contains("p9999_ns") && present(100_000).contains("read_p9999_ns"));
    }

    #[test]
    fn what_is_absent_has_a_reason() {
        let reason_of = |result: &Value| absence(&values(result)).unwrap();
        let reason = |reads: u64| reason_of(&result(reads));
        assert_eq!(reason(318), "318 reads, too few for p99, p99.9, p99.99 (1000 or more); no writes; no flushes");
        assert_eq!(reason(100_000), "no writes; no flushes");
        let mut few = result(100_000);
        few["host"]["write"]["requests"] = json!(8);
        assert!(reason_of(&few).ends_with("; 8 writes, too few for write amplification"), "{}", reason_of(&few));
        few["waf"] = json!({"total": 1.5});
        assert!(!reason_of(&few).contains("amplification"));
        assert_eq!(absence(&vec![None; METRICS.len()]), None, "what was not measured at all has a reason of its own");
    }

    #[test]
    fn a_bucket_is_never_wider_than_the_resolution() {
        let widths = (64..2000).map(|bucket| {
            let (below, upper) =
                (metrics::Histogram::upper(bucket - 1) as f64, metrics::Histogram::upper(bucket) as f64);
            (upper - below) / upper
        });
        let widest = widths.fold(0.0, f64::max);
        assert!(widest <= BUCKET && widest > 0.98 * BUCKET, "{widest}");
        assert!(
            Metric::named("read_p50_ns").unwrap().resolution() > 0.0
                && Metric::named("read_max_ns").unwrap().resolution() <= 0.0
        );
    }
}
