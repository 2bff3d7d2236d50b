//! What fio measured: its JSON output (`--output-format=json`) as experiments.
//!
//! *Simplified*: a job of one kind (`read`, `write`, `randread`, `randwrite`) is a closed loop at its depth, all its
//! clones taken together; what was done to the drive before is not in the file, so `overwrites` is 0.

use crate::curve::turning_points;
use crate::figure;
use crate::measured::{Experiment, MeasuredDrive, Order, Source, Work, agrees_with_itself};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use units::HostOp;
use units::quantity::parse_size;

/// Name of the source of what fio measured.
const SOURCE: &str = "fio";

/// What is known of a drive of `capacity` bytes from outputs of fio: a name and a text for each.
/// Errors: a text is no such output, or no job of any is of a kind that can be used: which, and why.
pub fn from_fio(name: &str, capacity: u64, outputs: &[(String, String)]) -> Result<MeasuredDrive, String> {
    let mut experiments = Vec::new();
    let mut version = String::new();
    for (file, text) in outputs {
        let output = document(file, text)?;
        output["fio version"].as_str().unwrap_or_default().clone_into(&mut version);
        experiments.extend(closed(file, &output, capacity)?);
    }
    if experiments.is_empty() {
        return Err("no job of these is of the kinds read, write, randread or randwrite with requests that ended; \
                    mixed ones and trims are not used"
            .to_owned());
    }
    let drive = from_experiments(name, capacity, &format!("{version}, {} of its outputs", outputs.len()), experiments);
    if drive.experiments.iter().all(|experiment| experiment.fit.is_empty()) {
        return Err(
            "no job of these tells a parameter: needed are randread or randwrite at depth 1 or at 32 and more, \
                    or write (in order)"
                .to_owned(),
        );
    }
    Ok(drive)
}

/// What is known of a drive from experiments with fio; some of their figures are marked for a fit.
pub fn from_experiments(name: &str, capacity: u64, how: &str, mut experiments: Vec<Experiment>) -> MeasuredDrive {
    mark(&mut experiments);
    let sources = BTreeMap::from([(SOURCE.to_owned(), Source { text: how.to_owned(), host_ns: 0 })]);
    let (own_writes, beyond) = (1.0, Vec::new());
    MeasuredDrive { name: name.to_owned(), capacity, own_writes, beyond, sources, experiments }
}

/// The one experiment of an output of fio, of requests of one kind on a drive that was overwritten at random so often
/// before; `what` it is called in errors. Where fewer requests were under way than it says, as the host was slower than
/// the target or it ended within moments, rates or latencies are taken, whichever tells a parameter.
/// Errors: the text is no such output, or no request ended.
pub fn closed_from_fio(what: &str, capacity: u64, overwritten: f64, text: &str) -> Result<Experiment, String> {
    let output = document(what, text)?;
    let found = jobs(what, &output)?.iter().find_map(|job| experiment(job, &output["global options"], capacity));
    let mut found = found.ok_or_else(|| format!("{what}: no request ended; give it more --seconds"))?;
    if agrees_with_itself(&found).is_err() {
        let is_in_order = matches!(found.work, Work::Closed { order: Order::Sequential, .. });
        found.measured.retain(|name, _| if is_in_order { *name == "rate" } else { !matches!(*name, "iops" | "rate") });
    }
    if let Work::Closed { overwrites, .. } = &mut found.work {
        // As coarse as states are made.
        *overwrites = (overwritten * 100.0).round() / 100.0;
    }
    Ok(found)
}

/// The experiment of an output of fio whose second job is a client with one request at a time, reads and writes, beside
/// a first job of random writes that arrive by themselves.
/// Errors: the text is no such output, or no request ended.
pub fn offered_from_fio(what: &str, writes_per_second: f64, text: &str) -> Result<Experiment, String> {
    let output = document(what, text)?;
    let (writers, client) = (&output["jobs"][0], &output["jobs"][1]);
    let mut measured = BTreeMap::new();
    measured.extend(writers["write"]["iops"].as_f64().map(|iops| ("iops", iops)));
    for (op, prefix) in [("read", "read."), ("write", "write.")] {
        for (name, value) in latencies(&client[op]) {
            let name = figure::find(&format!("{prefix}{name}")).map_err(|problem| format!("{what}: {problem}"))?.name;
            measured.insert(name, value);
        }
    }
    let has_client = measured.keys().any(|name| *name != "iops");
    if !has_client || measured.values().any(|value| *value <= 0.0) {
        return Err(format!("{what}: no request ended; give it more --seconds"));
    }
    Ok(of_fio(Work::Offered { writes_per_second }, measured))
}

/// The experiment of random writes at full speed, from a rate for each window of [`crate::WINDOWS`] in a drive write.
pub fn transient(rates: &[f64], used: u64, depth: u32) -> Experiment {
    of_fio(Work::Transient { used, depth }, turning_points(rates))
}

fn of_fio(work: Work, measured: BTreeMap<&'static str, f64>) -> Experiment {
    Experiment { work, source: SOURCE.to_owned(), measured, fit: BTreeSet::new(), line: 0 }
}

fn document(file: &str, text: &str) -> Result<Value, String> {
    // Warnings come before the document.
    let document = text.find('{').map_or("", |begin| &text[begin..]);
    serde_json::from_str(document)
        .map_err(|error| format!("{file}: no JSON of fio ({error}); run fio with --output-format=json"))
}

fn jobs<'a>(file: &str, output: &'a Value) -> Result<&'a Vec<Value>, String> {
    output["jobs"].as_array().ok_or_else(|| {
        format!("{file}: it has no `jobs`, as fio's JSON has; take it out of the folder if it is something else")
    })
}

/// The jobs of an output that are of one kind.
fn closed(file: &str, output: &Value, capacity: u64) -> Result<Vec<Experiment>, String> {
    let mut experiments = Vec::new();
    for job in jobs(file, output)? {
        let Some(found) = experiment(job, &output["global options"], capacity) else { continue };
        agrees_with_itself(&found).map_err(|problem| {
            let name = job["jobname"].as_str().unwrap_or_default();
            format!("{file}, job {name}: {problem}. Several clones are told together with --group_reporting")
        })?;
        experiments.push(found);
    }
    Ok(experiments)
}

/// Latencies of the reads or writes of a job, by name, ns. All are of one clock: `lat_ns` begins when a request is
/// made, `clat_ns` when it has been handed over, and fio has percentiles of one of them (of `clat_ns` if nothing is
/// said). A figure of one clock says nothing about a figure of the other.
fn latencies(found: &Value) -> impl Iterator<Item = (&'static str, f64)> {
    let clocks = [&found["lat_ns"], &found["clat_ns"]];
    let latency = clocks.into_iter().find(|clock| clock["percentile"].is_object()).unwrap_or(clocks[0]);
    let figures = [
        ("min", &latency["min"]),
        ("mean", &latency["mean"]),
        ("p50", &latency["percentile"]["50.000000"]),
        ("p99", &latency["percentile"]["99.000000"]),
        ("p999", &latency["percentile"]["99.900000"]),
    ];
    figures.into_iter().filter_map(|(name, value)| Some((name, value.as_f64()?)))
}

/// A job as an experiment, if it is of a kind that is used.
fn experiment(job: &Value, global: &Value, capacity: u64) -> Option<Experiment> {
    let option = |name: &str| job["job options"][name].as_str().or_else(|| global[name].as_str());
    let (op, order) = match option("rw").or_else(|| option("readwrite"))? {
        "read" => (HostOp::Read, Order::Sequential),
        "write" => (HostOp::Write, Order::Sequential),
        "randread" => (HostOp::Read, Order::Random),
        "randwrite" => (HostOp::Write, Order::Random),
        _ => return None,
    };
    let bytes = |text: &str| {
        // fio writes 4k, and means KiB by it.
        let text = text.trim().to_ascii_lowercase();
        let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
        let unit = match unit.trim_end_matches("ib").trim_end_matches('b') {
            "" => "B",
            "k" => "KiB",
            "m" => "MiB",
            "g" => "GiB",
            _ => return None,
        };
        parse_size(&format!("{number}{unit}")).ok()
    };
    let size = option("bs").or_else(|| option("blocksize")).map_or(Some(4096), bytes)?;
    let whole = |name: &str| option(name).map_or(Some(1), |text| text.trim().parse::<u32>().ok());
    let depth = whole("iodepth")?.checked_mul(whole("numjobs")?)?.max(1);
    let found = &job[if op == HostOp::Read { "read" } else { "write" }];
    if found["total_ios"].as_u64()? == 0 || size == 0 || size > capacity || !size.is_multiple_of(4096) {
        return None;
    }
    let rates = [("iops", found["iops"].as_f64()), ("rate", found["bw_bytes"].as_f64())];
    let rates = rates.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let measured = rates
        .chain(latencies(found))
        .filter_map(|(name, value)| Some((figure::find(name).ok()?.name, Some(value).filter(|value| *value > 0.0)?)));
    let work = Work::Closed { op, order, size, depth, beside: 0.0, used: capacity, overwrites: 0.0 };
    Some(of_fio(work, measured.collect()))
}

/// Marks what a drive is fitted to: the latency of one request at a time, the rate of the deepest queue of random
/// requests, that of writes in order and that in steady state, the tail of reads beside half of its writes. All else is
/// predicted.
fn mark(experiments: &mut [Experiment]) {
    let deepest = |op: HostOp| {
        let depths = experiments.iter().filter_map(|experiment| match experiment.work {
            Work::Closed { op: its, order: Order::Random, depth, .. } if its == op => Some(depth),
            _ => None,
        });
        depths.max()
    };
    let most = [HostOp::Read, HostOp::Write].map(deepest);
    let steady = experiments.iter().find_map(|experiment| experiment.measured.get("steady")).copied();
    for experiment in experiments {
        let (op, order, depth) = match experiment.work {
            Work::Closed { op, order, depth, .. } => (op, order, depth),
            Work::Transient { .. } => {
                experiment.fit.insert("steady");
                continue;
            }
            Work::Offered { writes_per_second } => {
                let share = writes_per_second / steady.unwrap_or(f64::INFINITY);
                if (0.45..0.55).contains(&share) && experiment.measured.contains_key("read.p99") {
                    experiment.fit.insert("read.p99");
                }
                continue;
            }
            Work::Amplification { .. } | Work::Fill { .. } => continue,
        };
        let name = match (op, order) {
            (HostOp::Write, Order::Sequential) => "rate",
            (HostOp::Read, Order::Random) if depth == 1 => "mean",
            (HostOp::Write, Order::Random) if depth == 1 => "p50",
            (_, Order::Random) if depth >= 32 && Some(depth) == most[op.index()] => "iops",
            _ => continue,
        };
        experiment.fit.extend(experiment.measured.keys().find(|measured| **measured == name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = r#"fio: this is a warning
{"fio version": "fio-3.33", "global options": {"bs": "4k"}, "jobs": [
 {"job options": {"rw": "randread", "iodepth": "8", "numjobs": "4"},
  "read": {"total_ios": 1000, "iops": 100000.0, "bw_bytes": 409600000,
           "lat_ns": {"min": 50000, "mean": 320000.0, "percentile": {"50.000000": 300000, "99.000000": 900000}}},
  "write": {"total_ios": 0}},
 {"job options": {"rw": "randrw"}, "read": {"total_ios": 5}, "write": {"total_ios": 5}}]}"#;

    #[test]
    fn a_job_of_one_kind_is_an_experiment_at_the_depth_of_all_its_clones() {
        let drive = from_fio("d", 1 << 30, &[("a.json".into(), OUTPUT.into())]).unwrap();
        assert_eq!(drive.experiments.len(), 1, "mixed jobs are left out");
        let experiment = &drive.experiments[0];
        assert!(matches!(experiment.work, Work::Closed { op: HostOp::Read, depth: 32, size: 4096, .. }));
        assert!((experiment.measured["p99"] - 900_000.0).abs() < 0.5);
        assert_eq!(experiment.fit.iter().copied().collect::<Vec<_>>(), ["iops"]);
        let again = MeasuredDrive::from_text(&drive.to_text(), "again").unwrap();
        assert_eq!(again.experiments[0].measured, experiment.measured);
        assert_eq!(again.experiments[0].work, experiment.work);
    }

    /// Without `lat_percentiles` fio has the least latency of one clock and percentiles of another, and a file as fio
    /// writes it by itself was refused: "min is above p50".
    #[test]
    fn a_job_without_percentiles_of_the_whole_latency_is_read_by_the_clock_that_has_them() {
        let of_clat =
            "\"lat_ns\": {\"min\": 306000, \"mean\": 320000.0}, \"clat_ns\": {\"min\": 40000, \"mean\": 310000.0, ";
        let text = OUTPUT.replace("\"lat_ns\": {\"min\": 50000, \"mean\": 320000.0, ", of_clat);
        assert_ne!(text, OUTPUT);
        let drive = from_fio("d", 1 << 30, &[("a.json".into(), text)]).unwrap();
        let measured = &drive.experiments[0].measured;
        let told = ["min", "mean", "p50"].map(|name| measured[name].round() as u64);
        assert_eq!(told, [40_000, 310_000, 300_000]);
    }

    /// A fill of a small target ends before all its requests are under way, and a host may be slower than a file in
    /// memory: what had been measured was lost.
    #[test]
    fn of_a_run_with_too_few_requests_under_way_rates_or_latencies_are_taken() {
        let short = OUTPUT.replace("320000.0", "120000.0").replace("\"numjobs\": \"4\"", "\"numjobs\": \"1\"");
        assert!(from_fio("d", 1 << 30, &[("a.json".into(), short.clone())]).is_err());
        let fill = short.replace("randread", "read");
        let found = closed_from_fio("a fill", 1 << 30, 0.0, &fill).unwrap();
        assert_eq!(found.measured.keys().collect::<Vec<_>>(), [&"rate"]);
        let found = closed_from_fio("reads", 1 << 30, 1.234, &short).unwrap();
        assert!(found.measured.contains_key("mean") && !found.measured.contains_key("iops"));
        assert!(matches!(found.work, Work::Closed { overwrites, .. } if (overwrites - 1.23).abs() < 1e-9));
    }

    #[test]
    fn what_is_no_output_of_fio_is_told_with_what_to_do() {
        let problem = from_fio("d", 1 << 30, &[("b.json".into(), "nothing".into())]).unwrap_err();
        assert!(problem.contains("b.json") && problem.contains("--output-format=json"), "{problem}");
    }
}
