//! What fio measured: its JSON output (`--output-format=json`) as experiments.
//!
//! *Simplified*: a job is a closed loop at its depth, all its clones taken together: reads, writes or a mix of them, in
//! order or at random, uniform or by a Zipf law, or writes with `fsync=1`. What was done to the drive before is not in
//! the file, so `overwrites` is 0.

use crate::curve::turning_points;
use crate::figure;
use crate::laws::agrees_with_itself;
use crate::measured::{Area, Experiment, MeasuredDrive, Op, Order, Source, Work};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use units::quantity::parse_size;

/// Name of the source of what fio measured.
pub(crate) const SOURCE: &str = "fio";

/// What is known of a drive of `capacity` bytes from outputs of fio: a name and a text for each.
/// Errors: a text is no such output, or no job of any is of a kind that can be used: which, and why.
pub fn from_fio(name: &str, capacity: u64, outputs: &[(String, String)]) -> Result<MeasuredDrive, String> {
    let (mut experiments, mut places) = (Vec::new(), Vec::new());
    let mut version = String::new();
    for (file, text) in outputs {
        let output = document(file, text)?;
        output["fio version"].as_str().unwrap_or_default().clone_into(&mut version);
        for (place, experiment) in closed(file, &output, capacity)? {
            places.push(place);
            experiments.push(experiment);
        }
    }
    if experiments.is_empty() {
        return Err("no job of these is a closed loop of reads, writes or both with requests that ended; trims, jobs \
                    with a rate of their own, fsync of more than 1 and places other than uniform or Zipf are not used"
            .to_owned());
    }
    let drive = from_experiments(name, capacity, &format!("{version}, {} of its outputs", outputs.len()), experiments);
    drive.agrees(&|number| places[number].clone()).map_err(|(_, problem)| problem)?;
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
/// a first job of random writes that arrive by themselves, on a drive of `capacity` bytes.
/// Errors: the text is no such output, or no request ended.
pub fn offered_from_fio(what: &str, capacity: u64, writes_per_second: f64, text: &str) -> Result<Experiment, String> {
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
    Ok(of_fio(Work::Offered { writes_per_second, area: Area::of(capacity) }, measured))
}

/// The experiment of random writes at full speed, from a rate for each window of [`crate::WINDOWS`] in a drive write.
pub fn transient(rates: &[f64], used: u64, depth: u32) -> Experiment {
    of_fio(Work::Transient { area: Area::of(used), depth }, turning_points(rates))
}

fn of_fio(work: Work, measured: BTreeMap<&'static str, f64>) -> Experiment {
    Experiment {
        work,
        source: SOURCE.to_owned(),
        measured,
        fit: BTreeSet::new(),
        band: None,
        line: 0,
        ends_early: false,
    }
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

/// The jobs of an output that are of one kind, each with what messages call it.
fn closed(file: &str, output: &Value, capacity: u64) -> Result<Vec<(String, Experiment)>, String> {
    let mut experiments = Vec::new();
    for job in jobs(file, output)? {
        let Some(found) = experiment(job, &output["global options"], capacity) else { continue };
        let place = format!("{file}, job {}", job["jobname"].as_str().unwrap_or_default());
        agrees_with_itself(&found).map_err(|problem| {
            format!("{place}: {problem}. Several clones are told together with --group_reporting")
        })?;
        experiments.push((place, found));
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
    let has = |name: &str| option(name).is_some_and(|text| !matches!(text.trim(), "0" | "none"));
    if ["rate", "rate_iops", "thinktime", "sync"].into_iter().any(has) {
        return None;
    }
    let (op, order) = kind(&option)?;
    let size = option("bs").or_else(|| option("blocksize")).map_or(Some(4096), bytes)?;
    let whole = |name: &str| option(name).map_or(Some(1), |text| text.trim().parse::<u32>().ok());
    let depth = whole("iodepth")?.checked_mul(whole("numjobs")?)?.max(1);
    let zipf = zipf(option("random_distribution").unwrap_or("random"))?;
    if size == 0 || size > capacity || !size.is_multiple_of(4096) {
        return None;
    }
    let measured = figures_of(job, op)?;
    let area = Area { zipf, ..Area::of(capacity) };
    let work = Work::Closed { op, order, size, depth, beside: 0.0, area, overwrites: 0.0 };
    Some(of_fio(work, measured.into_iter().filter(|(_, value)| *value > 0.0).collect()))
}

/// What the requests of a job are, and their order.
fn kind<'a>(option: &dyn Fn(&str) -> Option<&'a str>) -> Option<(Op, Order)> {
    let percent = |name: &str| option(name).and_then(|text| text.trim().parse::<f64>().ok());
    let reads = percent("rwmixread").or_else(|| percent("rwmixwrite").map(|writes| 100.0 - writes)).unwrap_or(50.0);
    let mixed = match reads {
        0.0 => Op::Write,
        100.0 => Op::Read,
        _ if reads > 0.0 && reads < 100.0 => Op::Mixed(reads / 100.0),
        _ => return None,
    };
    let (op, order) = match option("rw").or_else(|| option("readwrite"))? {
        "read" => (Op::Read, Order::Sequential),
        "write" => (Op::Write, Order::Sequential),
        "randread" => (Op::Read, Order::Random),
        "randwrite" => (Op::Write, Order::Random),
        "rw" | "readwrite" => (mixed, Order::Sequential),
        "randrw" => (mixed, Order::Random),
        _ => return None,
    };
    match ["fsync", "fdatasync"].into_iter().find_map(option).unwrap_or("0").trim() {
        "0" => Some((op, order)),
        "1" if op == Op::Write => Some((Op::Commit, order)),
        _ => None,
    }
}

/// Bytes as fio writes them: 4k, which means KiB.
fn bytes(text: &str) -> Option<u64> {
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
}

/// The exponent of places drawn as fio calls it, 0 for uniform ones.
fn zipf(distribution: &str) -> Option<f64> {
    match distribution.trim().split_once(':') {
        None if distribution.trim() == "random" => Some(0.0),
        Some(("zipf", theta)) => {
            let theta = theta.split(':').next()?.parse().ok();
            theta.filter(|theta| (0.001..=10.0).contains(theta))
        }
        _ => None,
    }
}

/// The figures of a job, by name; `None`: no request ended.
fn figures_of(job: &Value, op: Op) -> Option<BTreeMap<&'static str, f64>> {
    let sides = match op {
        Op::Read => &["read"][..],
        Op::Write | Op::Commit => &["write"],
        Op::Mixed(_) => &["read", "write"],
    };
    if sides.iter().any(|side| job[side]["total_ios"].as_u64().unwrap_or(0) == 0) {
        return None;
    }
    let sum = |name: &str| sides.iter().map(|side| job[side][name].as_f64()).sum::<Option<f64>>();
    let mut measured = BTreeMap::new();
    measured.extend(sum("iops").map(|iops| ("iops", iops)));
    measured.extend(sum("bw_bytes").map(|rate| ("rate", rate)));
    match op {
        Op::Read | Op::Write => measured.extend(latencies(&job[sides[0]])),
        // Means add up; percentiles do not.
        Op::Commit => {
            let mean = job["write"]["lat_ns"]["mean"].as_f64().zip(job["sync"]["lat_ns"]["mean"].as_f64());
            measured.extend(mean.map(|(write, flush)| ("mean", write + flush)));
        }
        Op::Mixed(_) => {
            for side in sides {
                let named = latencies(&job[side])
                    .filter_map(|(name, value)| Some((figure::find(&format!("{side}.{name}")).ok()?.name, value)));
                measured.extend(named);
            }
        }
    }
    Some(measured)
}

/// Marks what a drive is fitted to: the latency of one request at a time, the rate of the deepest queue of random
/// requests, those of reads and writes in order and that in steady state, mean and tail of reads beside half of its
/// writes. All else is predicted.
fn mark(experiments: &mut [Experiment]) {
    let deepest = |op: Op| {
        let depths = experiments.iter().filter_map(|experiment| match experiment.work {
            Work::Closed { op: its, order: Order::Random, depth, .. } if its == op => Some(depth),
            _ => None,
        });
        depths.max()
    };
    let (most_reads, most_writes) = (deepest(Op::Read), deepest(Op::Write));
    let steady = experiments.iter().find_map(|experiment| experiment.measured.get("steady")).copied();
    for experiment in experiments {
        let (op, order, depth) = match experiment.work {
            Work::Closed { op, order, depth, .. } => (op, order, depth),
            Work::Transient { .. } => {
                experiment.fit.insert("steady");
                continue;
            }
            Work::Offered { writes_per_second, .. } => {
                let share = writes_per_second / steady.unwrap_or(f64::INFINITY);
                if (0.45..0.55).contains(&share) {
                    let measured = experiment.measured.keys();
                    experiment.fit.extend(measured.filter(|name| matches!(**name, "read.mean" | "read.p99")));
                }
                continue;
            }
            Work::Amplification { .. } | Work::Fill { .. } => continue,
        };
        let is_deepest = depth >= 32 && Some(depth) == if op == Op::Read { most_reads } else { most_writes };
        let name = match (op, order) {
            (Op::Read | Op::Write, Order::Sequential) => "rate",
            (Op::Read, Order::Random) if depth == 1 => "mean",
            (Op::Write, Order::Random) if depth == 1 => "p50",
            (Op::Read | Op::Write, Order::Random) if is_deepest => "iops",
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
 {"job options": {"rw": "randrw", "rate_iops": "500"}, "read": {"total_ios": 5}, "write": {"total_ios": 5}}]}"#;

    #[test]
    fn a_job_of_one_kind_is_an_experiment_at_the_depth_of_all_its_clones() {
        let drive = from_fio("d", 1 << 30, &[("a.json".into(), OUTPUT.into())]).unwrap();
        assert_eq!(drive.experiments.len(), 1, "jobs with a rate of their own are left out");
        let experiment = &drive.experiments[0];
        assert!(matches!(experiment.work, Work::Closed { op: Op::Read, depth: 32, size: 4096, .. }));
        assert!((experiment.measured["p99"] - 900_000.0).abs() < 0.5);
        assert_eq!(experiment.fit.iter().copied().collect::<Vec<_>>(), ["iops"]);
        let again = MeasuredDrive::from_text(&drive.to_text(), "again").unwrap();
        assert_eq!(again.experiments[0].measured, experiment.measured);
        assert_eq!(again.experiments[0].work, experiment.work);
    }

    /// Only jobs of one kind could be stated.
    #[test]
    fn mixes_zipf_laws_and_commits_of_fio_are_experiments() {
        let side =
            |iops: u32, mean: u32| format!("{{\"total_ios\": 9, \"iops\": {iops}, \"lat_ns\": {{\"mean\": {mean}}}}}");
        let job = |options: &str, iops: [u32; 2], more: &str| {
            let [read, write] = iops.map(|iops| side(iops, 50_000));
            format!(
                "{{\"job options\": {{\"iodepth\": \"1\", {options}}}, \"read\": {read}, \"write\": {write}{more}}}"
            )
        };
        let mixed = job("\"rw\": \"randrw\", \"rwmixread\": \"70\", \"bs\": \"8k\"", [14_000, 6_000], "");
        let skewed = job("\"rw\": \"randwrite\", \"random_distribution\": \"zipf:0.9\"", [1, 20_000], "");
        let sync = format!(", \"sync\": {}", side(1000, 950_000));
        let commit = job("\"rw\": \"randwrite\", \"fsync\": \"1\"", [1, 1000], &sync);
        let read = job("\"rw\": \"randread\"", [20_000, 1], "");
        let text = format!("{{\"jobs\": [{mixed}, {skewed}, {commit}, {read}]}}");
        let drive = from_fio("d", 1 << 30, &[("a.json".into(), text)]).unwrap();
        let works: Vec<Work> = drive.experiments.iter().map(|experiment| experiment.work).collect();
        assert!(
            matches!(works[0], Work::Closed { op: Op::Mixed(reads), size: 8192, .. } if (reads - 0.7).abs() < 1e-9),
            "{works:?}"
        );
        assert!(
            matches!(works[1], Work::Closed { op: Op::Write, area: Area { zipf, .. }, .. } if (zipf - 0.9).abs() < 1e-9)
        );
        assert!(matches!(works[2], Work::Closed { op: Op::Commit, .. }));
        let measured = |number: usize, name: &str| drive.experiments[number].measured[name].round() as u64;
        assert_eq!((measured(0, "iops"), measured(0, "write.mean"), measured(2, "mean")), (20_000, 50_000, 1_000_000));
        let again = MeasuredDrive::from_text(&drive.to_text(), "again").unwrap();
        assert_eq!(again.experiments.iter().map(|one| one.work).collect::<Vec<_>>(), works);
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

    /// Judging a drive was refused for want of a parameter to fit.
    #[test]
    fn jobs_that_tell_no_parameter_are_read() {
        let lone = OUTPUT.replace("\"iodepth\": \"8\", \"numjobs\": \"4\"", "\"iodepth\": \"4\"");
        let lone = lone.replace("320000.0", "40000.0").replace("300000", "40000").replace("50000", "30000");
        let drive = from_fio("d", 1 << 30, &[("a.json".into(), lone)]).unwrap();
        assert!(drive.experiments.iter().all(|experiment| experiment.fit.is_empty()));
    }

    #[test]
    fn what_is_no_output_of_fio_is_told_with_what_to_do() {
        let problem = from_fio("d", 1 << 30, &[("b.json".into(), "nothing".into())]).unwrap_err();
        assert!(problem.contains("b.json") && problem.contains("--output-format=json"), "{problem}");
    }
}
