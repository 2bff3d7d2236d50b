//! The state of a drive as metrics: `OpenMetrics`, and the older text form of Prometheus.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, prometheus_text, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::{Registry, Unit};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// Prefix of every metric name.
const PREFIX: &str = "nandarium";
/// Bounds of the latency buckets, ns; beyond the last is one more. The simulation's own buckets are finer, and those
/// that lie on both sides of a bound count above it.
const BOUNDS: [u64; 22] = {
    let (mut bounds, mut at) = ([0; 22], 0);
    while at < bounds.len() {
        bounds[at] = [1_000, 2_000, 5_000][at % 3] * 10_u64.pow(at as u32 / 3);
        at += 1;
    }
    bounds
};

/// A form of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposition {
    /// `OpenMetrics` 1.0.0.
    OpenMetrics,
    /// The text form 0.0.4 of Prometheus.
    Prometheus,
}

impl Exposition {
    /// What the `Accept` of a request accepts: `OpenMetrics` where it is named, otherwise the form that everybody
    /// reads.
    pub fn accepted(accept: &str) -> Self {
        let is_named = accept.split(',').any(|kind| {
            let mut parts = kind.split(';').map(str::trim);
            let is_it = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/openmetrics-text"));
            let is_refused = |part: &str| part.strip_prefix("q=").and_then(|q| q.parse().ok()) == Some(0.0);
            is_it && !parts.any(is_refused)
        });
        if is_named { Self::OpenMetrics } else { Self::Prometheus }
    }

    /// Value of the HTTP header `Content-Type`.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => prometheus_text::CONTENT_TYPE,
        }
    }
}

/// The answer of a drive to `live`, or the progress of a run or sweep, as metrics. Unknown values, such as the write
/// amplification before the first write, have no sample. Errors: the library cannot write them down.
pub fn exposition(state: &Arc<Value>, form: Exposition) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix(PREFIX);
    registry.register_collector(Box::new(Told(Arc::clone(state))));
    let mut written = String::new();
    match form {
        Exposition::OpenMetrics => text::encode(&mut written, &registry)?,
        Exposition::Prometheus => prometheus_text::encode(&mut written, &registry)?,
    }
    Ok(written)
}

#[derive(Debug)]
struct Told(Arc<Value>);

impl Collector for Told {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        if self.0.get("phase").is_some() {
            let mut sheet = Sheet { encoder, state: &self.0 };
            sheet.work()?;
            sheet.state = &self.0["measured"];
            return sheet.requests();
        }
        let mut sheet = Sheet { encoder, state: &self.0 };
        sheet.drive()?;
        sheet.requests()?;
        sheet.flash()?;
        sheet.blocks()?;
        sheet.failures()
    }
}

/// Labels of a sample.
type Labels = Vec<(&'static str, String)>;
/// A number in the state: where, and by what it is multiplied to become one of the base unit.
type Place<'a> = (&'a str, f64);

const NANOSECOND: f64 = 1e-9;
const PERCENT: f64 = 0.01;

struct Sheet<'e, 's> {
    encoder: DescriptorEncoder<'e>,
    state: &'s Value,
}

impl Sheet<'_, '_> {
    fn counter(&mut self, name: &str, unit: Option<&Unit>, help: &str, place: Place<'_>) -> fmt::Result {
        let rows = self.number(place).map(|value| (Labels::new(), value));
        self.family(MetricType::Counter, name, unit, help, rows)
    }

    fn gauge(&mut self, name: &str, unit: Option<&Unit>, help: &str, place: Place<'_>) -> fmt::Result {
        let rows = self.number(place).map(|value| (Labels::new(), value));
        self.family(MetricType::Gauge, name, unit, help, rows)
    }

    fn number(&self, (pointer, factor): Place<'_>) -> Option<f64> {
        let value = self.state.pointer(pointer)?;
        value.as_f64().or_else(|| value.as_bool().map(|is| f64::from(u8::from(is)))).map(|number| number * factor)
    }

    /// Members of an object by name, those that are numbers; sums over others are left out.
    fn members(&self, pointer: &str) -> Vec<(String, f64)> {
        let members = self.state.pointer(pointer).and_then(Value::as_object).into_iter().flatten();
        members.filter(|(name, _)| *name != "total").filter_map(|(name, n)| Some((name.clone(), n.as_f64()?))).collect()
    }

    fn family(
        &mut self,
        kind: MetricType,
        name: &str,
        unit: Option<&Unit>,
        help: &str,
        rows: impl IntoIterator<Item = (Labels, f64)>,
    ) -> fmt::Result {
        let mut rows = rows.into_iter().peekable();
        if rows.peek().is_none() {
            return Ok(());
        }
        let mut family = self.encoder.encode_descriptor(name, help, unit, kind)?;
        rows.try_for_each(|(labels, value)| {
            if labels.is_empty() {
                sample(&mut family, kind, value)
            } else {
                sample(&mut family.encode_family(&labels)?, kind, value)
            }
        })
    }

    /// How far a run or a sweep is.
    fn work(&mut self) -> fmt::Result {
        let labels: Vec<_> =
            ["kind", "name", "unit", "phase"].into_iter().map(|key| (key, plain(&self.state[key]))).collect();
        let mut family =
            self.encoder.encode_descriptor("work", "The work under way, and its phase", None, MetricType::Info)?;
        family.encode_info(&labels)?;
        self.gauge("work_done", None, "Requests or runs of the phase that are done", ("/done", 1.0))?;
        self.gauge("work_expected", None, "Requests or runs of the phase, where that is known", ("/all", 1.0))?;
        let seconds = Some(&Unit::Seconds);
        self.gauge("work_elapsed", seconds, "Time by the clock since it began", ("/elapsed_s", 1.0))?;
        self.gauge("work_left", seconds, "Time that the phase still takes at this speed", ("/left_s", 1.0))
    }

    fn drive(&mut self) -> fmt::Result {
        let text = |pointer: &str| self.state.pointer(pointer).map_or_else(String::new, plain);
        let labels = vec![("stack", text("/stack")), ("pace", text("/time/pace"))];
        let mut family =
            self.encoder.encode_descriptor("drive", "Stack and pace of the drive", None, MetricType::Info)?;
        family.encode_info(&labels)?;
        let seconds = Some(&Unit::Seconds);
        self.gauge("capacity", Some(&Unit::Bytes), "Bytes that clients see", ("/bytes", 1.0))?;
        self.gauge("powered", None, "1 with power, 0 without", ("/power_on", 1.0))?;
        self.counter(
            "simulated_time",
            seconds,
            "Simulated time since the server began",
            ("/simulated_ns", NANOSECOND),
        )?;
        self.counter("busy_time", seconds, "Simulated time with requests under way", ("/busy_ns", NANOSECOND))?;
        self.counter("uptime", seconds, "Time by the clock since the server began", ("/wall_s", 1.0))
    }

    fn requests(&mut self) -> fmt::Result {
        for (name, unit, key, help) in [
            ("requests", None, "requests", "Requests that were completed, failed ones too"),
            ("requests_failed", None, "failed", "Requests that failed"),
            ("request_data", Some(Unit::Bytes), "bytes", "Bytes that requests asked for"),
        ] {
            let rows = self.by_op(|sheet, op| sheet.number((&format!("/requests/{op}/{key}"), 1.0)));
            self.family(MetricType::Counter, name, unit.as_ref(), help, rows)?;
        }
        self.gauge("requests_outstanding", None, "Requests under way", ("/outstanding", 1.0))?;
        let help = "Requests under way, integrated over simulated time: its rate divided by the rate of simulated \
             time is the mean queue depth";
        self.counter("requests_outstanding_time", Some(&Unit::Seconds), help, ("/occupied_ns", NANOSECOND))?;
        self.latencies()?;
        let help = "Simulated time that requests waited, by direct cause; service: they did not wait";
        let waits = ["read", "write"].into_iter().flat_map(|op| {
            let waited = self.members(&format!("/waiting_ns/{op}")).into_iter();
            waited.map(move |(cause, ns)| (vec![("op", op.to_owned()), ("cause", cause)], ns * NANOSECOND))
        });
        let waits: Vec<_> = waits.collect();
        self.family(MetricType::Counter, "requests_waiting", Some(&Unit::Seconds), help, waits)
    }

    fn latencies(&mut self) -> fmt::Result {
        let help = "Latency of requests in simulated time; bounds are exact to a 64th";
        let Some(kinds) = self.state["latency_ns"].as_object() else { return Ok(()) };
        let mut family =
            self.encoder.encode_descriptor("request_duration", help, Some(&Unit::Seconds), MetricType::Histogram)?;
        for (op, latency) in kinds {
            let (buckets, sum) = (buckets(latency), latency["sum"].as_f64().unwrap_or(0.0) * NANOSECOND);
            let count = latency["count"].as_u64().unwrap_or(0);
            let labels = [("op", op.as_str())];
            family.encode_family(&labels)?.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)?;
        }
        Ok(())
    }

    fn flash(&mut self) -> fmt::Result {
        let page = self.number(("/page_bytes", 1.0)).unwrap_or(0.0);
        for (name, key, unit, factor, help) in [
            ("flash_read", "reads", Some(Unit::Bytes), page, "Bytes read from flash, by cause"),
            ("flash_programmed", "programs", Some(Unit::Bytes), page, "Bytes programmed into flash, by cause"),
            ("flash_erases", "erases", None, 1.0, "Blocks erased, by cause"),
        ] {
            let counts = self.members(&format!("/flash/{key}"));
            let rows = counts.into_iter().map(|(cause, count)| (vec![("cause", cause)], count * factor));
            self.family(MetricType::Counter, name, unit.as_ref(), help, rows)?;
        }
        let help = "Bytes programmed for each byte that clients wrote, since the server began";
        self.gauge("write_amplification", Some(&ratio()), help, ("/waf", 1.0))
    }

    fn blocks(&mut self) -> fmt::Result {
        let help = "Blocks: all; usable: neither bad nor on a dead die; free: erased; needed: filled by the capacity";
        let states = ["all", "usable", "free", "needed"];
        let rows: Vec<_> = states
            .into_iter()
            .filter_map(|state| {
                Some((vec![("state", state.to_owned())], self.number((&format!("/blocks/{state}"), 1.0))?))
            })
            .collect();
        self.family(MetricType::Gauge, "blocks", None, help, rows)?;
        let ratio = ratio();
        let log = |key: &str| format!("/smart_log/{key}");
        let life = |key: &str| format!("/smart/lifetime/{key}");
        let help = "Spare blocks that are left of those the drive was made with";
        self.gauge("spare_available", Some(&ratio), help, (&log("avail_spare"), PERCENT))?;
        let help = "Mean erases of a block over what it survives, in whole percent";
        self.gauge("endurance_used", Some(&ratio), help, (&log("percent_used"), PERCENT))?;
        self.gauge("block_erases_min", None, "Erases of the least worn block", (&life("least_erases"), 1.0))?;
        self.gauge("block_erases_mean", None, "Mean erases of a block", (&life("mean_erases_thousandths"), 0.001))?;
        self.gauge("block_erases_max", None, "Erases of the most worn block", (&life("most_erases"), 1.0))?;
        self.gauge("bad_blocks", None, "Blocks that failed or must not be used", (&life("bad_blocks"), 1.0))?;
        self.gauge("dead_dies", None, "Dies that answer nothing", ("/blocks/dead_dies", 1.0))
    }

    fn failures(&mut self) -> fmt::Result {
        let since = |key: &str| format!("/smart/since_start/{key}");
        let log = |key: &str| format!("/smart_log/{key}");
        let help = "Bits of the critical warning: 1 spare is low, 4 a die is dead, 8 writes are refused";
        self.gauge("critical_warning", None, help, (&log("critical_warning"), 1.0))?;
        self.counter("power_cuts", None, "Power cuts since the server began", ("/power_cuts", 1.0))?;
        self.counter("power_cycles", None, "How often power came", (&log("power_cycles"), 1.0))?;
        self.counter("media_errors", None, "Reads that could not be corrected", (&log("media_errors"), 1.0))?;
        self.counter("program_failures", None, "Programs that failed", (&since("programs_failed"), 1.0))?;
        self.counter("erase_failures", None, "Erases that failed", (&since("erases_failed"), 1.0))
    }

    fn by_op(&self, number: impl Fn(&Self, &str) -> Option<f64>) -> Vec<(Labels, f64)> {
        let ops = self.state["requests"].as_object().into_iter().flatten();
        ops.filter_map(|(op, _)| Some((vec![("op", op.clone())], number(self, op)?))).collect()
    }
}

fn ratio() -> Unit {
    Unit::Other("ratio".to_owned())
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn sample(encoder: &mut MetricEncoder<'_>, kind: MetricType, value: f64) -> fmt::Result {
    match kind {
        MetricType::Counter => encoder.encode_counter(&value, None::<&Exemplar<NoLabelSet, f64>>),
        _ => encoder.encode_gauge(&value),
    }
}

/// Requests by bucket, not summed up; bounds in seconds.
fn buckets(latency: &Value) -> Vec<(f64, u64)> {
    let mut counts = [0; BOUNDS.len() + 1];
    for bucket in latency["histogram"].as_array().into_iter().flatten() {
        let (Some(upper), Some(count)) = (bucket[0].as_u64(), bucket[1].as_u64()) else { continue };
        counts[BOUNDS.partition_point(|bound| *bound < upper)] += count;
    }
    let bounds = BOUNDS.iter().map(|bound| *bound as f64 / 1e9).chain([f64::INFINITY]);
    bounds.zip(counts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn state() -> Arc<Value> {
        Arc::new(json!({
            "stack": "a \"b\"", "time": {"pace": "off"}, "bytes": 4096, "power_on": true, "outstanding": 3,
            "requests": {"read": {"requests": 4, "bytes": 512, "failed": 0}},
            "latency_ns": {"read": {"count": 4, "sum": 3_012_000.0, "histogram": [[999, 1], [1_007, 1], [10_000, 1],
                [20_000_000_000_u64, 1]]}},
            "waiting_ns": {"read": {"service": 5e8, "gc": 1e9}, "write": null},
            "flash": {"programs": {"host": 2, "gc": 1, "total": 3}}, "page_bytes": 100, "waf": null,
        }))
    }

    #[test]
    fn names_have_their_units_and_buckets_are_sums() {
        let text = exposition(&state(), Exposition::OpenMetrics).unwrap();
        for line in [
            "nandarium_drive_info{stack=\"a \\\"b\\\"\",pace=\"off\"} 1",
            "nandarium_requests_total{op=\"read\"} 4.0",
            "# UNIT nandarium_request_duration_seconds seconds",
            "nandarium_request_duration_seconds_bucket{le=\"0.000001\",op=\"read\"} 1",
            "nandarium_request_duration_seconds_bucket{le=\"0.000002\",op=\"read\"} 2",
            "nandarium_request_duration_seconds_bucket{le=\"0.00001\",op=\"read\"} 3",
            "nandarium_request_duration_seconds_bucket{le=\"10.0\",op=\"read\"} 3",
            "nandarium_request_duration_seconds_bucket{le=\"+Inf\",op=\"read\"} 4",
            "nandarium_request_duration_seconds_count{op=\"read\"} 4",
            "nandarium_requests_waiting_seconds_total{op=\"read\",cause=\"gc\"} 1.0",
            "nandarium_flash_programmed_bytes_total{cause=\"host\"} 200.0",
            "nandarium_powered 1.0",
        ] {
            assert!(text.lines().any(|written| written == line), "{line} is not in\n{text}");
        }
        assert!(text.ends_with("# EOF\n") && !text.contains("write_amplification") && !text.contains("total=\"\""));
    }

    #[test]
    fn the_older_form_has_the_same_samples() {
        let [open, older] = [Exposition::OpenMetrics, Exposition::Prometheus].map(|form| {
            let text = exposition(&state(), form).unwrap();
            // The two write bounds differently, 0.00001 and 1e-05.
            let plain = |line: &str| line.split_once("_bucket{").map_or(line.to_owned(), |(name, _)| name.to_owned());
            let mut lines: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).map(plain).collect();
            lines.sort();
            lines
        });
        assert!(open.len() > 30);
        assert_eq!(open, older);
    }

    #[test]
    fn work_under_way_has_metrics_before_anything_is_measured_and_after() {
        let work = json!({"kind": "run", "name": "page", "unit": "requests", "phase": "measure", "done": 5, "all": null,
            "elapsed_s": 1.5, "left_s": null, "measured": null});
        let text = exposition(&Arc::new(work.clone()), Exposition::OpenMetrics).unwrap();
        assert!(text.contains("nandarium_work_info{kind=\"run\",name=\"page\",unit=\"requests\",phase=\"measure\"} 1"));
        assert!(
            text.contains("nandarium_work_done 5.0") && !text.contains("expected") && !text.contains("requests_total")
        );
        let mut measured = work;
        measured["measured"] = (*state()).clone();
        let text = exposition(&Arc::new(measured), Exposition::OpenMetrics).unwrap();
        assert!(text.contains("nandarium_requests_total{op=\"read\"} 4.0") && !text.contains("nandarium_powered"));
    }

    #[test]
    fn a_scraper_gets_the_form_it_asks_for() {
        let of = Exposition::accepted;
        let prometheus = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assert_eq!(of(prometheus), Exposition::OpenMetrics);
        assert_eq!(of("text/plain;version=0.0.4"), Exposition::Prometheus);
        assert_eq!(of(""), Exposition::Prometheus);
        assert_eq!(of("application/openmetrics-text;q=0, */*"), Exposition::Prometheus);
    }
}
