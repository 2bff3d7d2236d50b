//! Measurements of fio: its JSON output (`--output-format=json`) as experiments.
//!
//! *Simplified*: a job is a closed loop at its depth, all its clones taken together: reads, writes or a mix of them, in
//! order or at random, uniform or by a Zipf law, or writes with `fsync=1`. The file does not say how the drive was used
//! before, so `overwrites` is 0. Protects: each job is used or left out, and the reader is told which and why.

mod jobs;

use crate::curve::turning_points;
use crate::figure;
use crate::laws::agrees_with_itself;
use crate::measured::{Area, Experiment, MeasuredDrive, Op, Order, Source, Work};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Name of the source of measurements of fio.
pub(crate) const SOURCE: &str = "fio";

/// A job of an output of fio.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Its file and its name.
    pub place: String,
    /// The experiment that it is, in words, or why it is left out.
    pub used: Result<String, String>,
}

/// The drive that outputs of fio describe, with their jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct FromFio {
    pub drive: MeasuredDrive,
    /// All jobs, in the order of the files.
    pub jobs: Vec<Job>,
}

/// The drive of `capacity` bytes that outputs of fio describe; each output is a name and a text.
/// Errors: a text is no such output, its figures contradict each other, or no job of any can be used: which, and why.
pub fn from_fio(name: &str, capacity: u64, outputs: &[(String, String)]) -> Result<FromFio, String> {
    let (mut experiments, mut places, mut all) = (Vec::new(), Vec::new(), Vec::new());
    let mut version = String::new();
    for (file, text) in outputs {
        let output = document(file, text)?;
        output["fio version"].as_str().unwrap_or_default().clone_into(&mut version);
        for (job, found) in jobs::of_output(jobs_of(file, &output)?, &output["global options"], capacity) {
            let place = format!("{file}, job {}", if job.is_empty() { "without a name" } else { &job });
            let used = match found {
                Ok(used) => {
                    agrees_with_itself(&used.experiment).map_err(|problem| format!("{place}: {problem}"))?;
                    places.push(place.clone());
                    experiments.push(used.experiment);
                    Ok(used.told)
                }
                Err(why) => Err(why),
            };
            all.push(Job { place, used });
        }
    }
    if experiments.is_empty() {
        let why = all.iter().filter_map(|job| Some(format!("{}: {}", job.place, job.used.as_ref().err()?)));
        let why: Vec<String> = why.collect();
        let why = if why.is_empty() { "There is none".to_owned() } else { why.join(". ") };
        return Err(format!("no job of fio can be used. {why}"));
    }
    let drive = from_experiments(name, capacity, &format!("{version}, {} of its outputs", outputs.len()), experiments);
    drive.agrees(&|number| places[number].clone()).map_err(|(_, problem)| problem)?;
    Ok(FromFio { drive, jobs: all })
}

/// The drive that experiments with fio describe; some of their figures are marked for a fit.
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
    let all = jobs::of_output(jobs_of(what, &output)?, &output["global options"], capacity);
    let found = all.into_iter().find_map(|(_, found)| found.ok());
    let mut found = found.ok_or_else(|| format!("{what}: no request ended; give it more --seconds"))?.experiment;
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
        for (name, value) in jobs::latencies(&client[op]) {
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
/// Where the first windows are slower than the steady state they tell no plateau: the host was busy with something
/// else, or the drive had collected before.
pub fn transient(rates: &[f64], used: u64, depth: u32) -> Experiment {
    let experiment = of_fio(Work::Transient { area: Area::of(used), depth }, turning_points(rates));
    if agrees_with_itself(&experiment).is_ok() {
        return experiment;
    }
    let measured = experiment.measured.into_iter().filter(|(name, _)| !["plateau", "onset"].contains(name)).collect();
    Experiment { measured, ..experiment }
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

fn jobs_of<'a>(file: &str, output: &'a Value) -> Result<&'a Vec<Value>, String> {
    output["jobs"].as_array().ok_or_else(|| {
        format!("{file}: it has no `jobs`, as fio's JSON has; take it out of the folder if it is something else")
    })
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
    use serde_json::json;

    #[test]
    fn latencies_are_fitted_where_half_of_the_steady_rate_is_offered() {
        let steady = Work::Transient { area: Area::of(1 << 30), depth: 32 };
        let offered = |writes_per_second| Work::Offered { writes_per_second, area: Area::of(1 << 30) };
        let beside = |rate| of_fio(offered(rate), BTreeMap::from([("read.p99", 1e6)]));
        let all = vec![of_fio(steady, BTreeMap::from([("steady", 1000.0)])), beside(500.0), beside(900.0)];
        let drive = from_experiments("drive", 1 << 30, "by hand", all);
        let fitted: Vec<_> = drive.experiments.iter().map(|one| one.fit.iter().copied().collect::<Vec<_>>()).collect();
        assert_eq!(fitted, [vec!["steady"], vec!["read.p99"], vec![]]);
    }

    const OUTPUT: &str = r#"fio: this is a warning
{"fio version": "fio-3.33", "global options": {"bs": "4k"}, "jobs": [
 {"job options": {"rw": "randread", "iodepth": "8", "numjobs": "4"},
  "read": {"total_ios": 1000, "iops": 100000.0, "bw_bytes": 409600000,
           "lat_ns": {"min": 50000, "mean": 320000.0, "percentile": {"50.000000": 300000, "99.000000": 900000}}},
  "write": {"total_ios": 0}},
 {"jobname": "paced", "job options": {"rw": "randrw", "rate_iops": "500", "stonewall": ""},
  "read": {"total_ios": 5}, "write": {"total_ios": 5}}]}"#;

    fn read(text: &str) -> Result<FromFio, String> {
        from_fio("d", 1 << 30, &[("a.json".into(), text.into())])
    }

    #[test]
    fn a_transient_that_begins_slower_than_it_ends_has_no_plateau() {
        let slow_at_first: Vec<f64> = (0..200).map(|window| if window < 8 { 25e3 } else { 56e3 }).collect();
        let found = transient(&slow_at_first, 1 << 30, 32);
        assert!(agrees_with_itself(&found).is_ok() && !found.measured.contains_key("plateau"), "{found:?}");
        assert!((found.measured["steady"] / 56e3 - 1.0).abs() < 1e-9);
        let usual: Vec<f64> = (0..200).map(|window| if window < 8 { 90e3 } else { 56e3 }).collect();
        assert!(transient(&usual, 1 << 30, 32).measured.contains_key("plateau"));
    }

    #[test]
    fn a_job_of_one_kind_is_an_experiment_at_the_depth_of_all_its_clones() {
        let FromFio { drive, jobs } = read(OUTPUT).unwrap();
        assert_eq!(drive.experiments.len(), 1, "jobs with a rate of their own are left out");
        let told = "4 KiB random reads, depth 32; through the page cache of the host, as direct=1 is not there";
        assert_eq!(jobs[0], Job { place: "a.json, job without a name".into(), used: Ok(told.into()) });
        assert_eq!(jobs[1].place, "a.json, job paced");
        assert!(jobs[1].used.as_ref().unwrap_err().contains("(rate_iops=500)"), "{jobs:?}");
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
            let options = format!("{{\"iodepth\": \"1\", \"stonewall\": \"1\", {options}}}");
            format!("{{\"job options\": {options}, \"read\": {read}, \"write\": {write}{more}}}")
        };
        let mixed = job("\"rw\": \"randrw\", \"rwmixread\": \"70\", \"bs\": \"8k\"", [14_000, 6_000], "");
        let skewed = job("\"rw\": \"randwrite\", \"random_distribution\": \"zipf:0.9\"", [1, 20_000], "");
        let sync = format!(", \"sync\": {}", side(1000, 950_000));
        let commit = job("\"rw\": \"randwrite\", \"fsync\": \"1\"", [1, 1000], &sync);
        let lone = job("\"rw\": \"randread\"", [20_000, 1], "");
        let text = format!("{{\"jobs\": [{mixed}, {skewed}, {commit}, {lone}]}}");
        let drive = read(&text).unwrap().drive;
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
    fn a_job_without_percentiles_of_the_whole_latency_has_them_of_the_other_clock() {
        let of_clat =
            "\"lat_ns\": {\"min\": 306000, \"mean\": 320000.0}, \"clat_ns\": {\"min\": 40000, \"mean\": 310000.0, ";
        let text = OUTPUT.replace("\"lat_ns\": {\"min\": 50000, \"mean\": 320000.0, ", of_clat);
        assert_ne!(text, OUTPUT);
        let drive = read(&text).unwrap().drive;
        let measured = &drive.experiments[0].measured;
        let told = ["min", "mean", "p50"].map(|name| measured[name].round() as u64);
        assert_eq!(told, [40_000, 320_000, 300_000]);
    }

    /// A lone request of a fast drive is handed over for a third of its time. Its latency without that part does not
    /// fill a depth of 1, and files as fio writes them were refused.
    #[test]
    fn a_lone_request_that_is_handed_over_slowly_agrees_with_its_rate() {
        let lone = r#"{"jobs": [{"jobname": "lone", "groupid": 0, "job options": {"rw": "randread", "bs": "4k",
            "iodepth": "1", "ioengine": "libaio", "direct": "1"}, "read": {"total_ios": 30000, "iops": 16267.0,
            "bw_bytes": 66629632, "slat_ns": {"mean": 15100.0}, "clat_ns": {"min": 9000, "mean": 46100.0, "percentile":
            {"50.000000": 43000, "99.000000": 90000}}, "lat_ns": {"min": 20000, "mean": 61200.0}}}]}"#;
        let drive = read(lone).unwrap().drive;
        let told = ["mean", "min", "p50"].map(|name| drive.experiments[0].measured[name].round() as u64);
        assert_eq!(told, [61_200, 9_000, 43_000]);
    }

    /// fio leaves `stonewall` out of its output, and counts a group of jobs for each.
    #[test]
    fn jobs_behind_a_stonewall_are_used_although_fio_does_not_tell_it() {
        let job = |name: &str, group: u32, depth: u32| {
            json!({"jobname": name, "groupid": group, "job options": {"rw": "randread", "iodepth": depth.to_string(),
                "ioengine": "libaio", "direct": "1"}, "read": {"total_ios": 9000, "iops": 1e4 * f64::from(depth),
                "bw_bytes": 4096e4 * f64::from(depth), "lat_ns": {"mean": 1e5}}})
        };
        let all = |groups: [u32; 2]| json!({"jobs": [job("d1", groups[0], 1), job("d4", groups[1], 4)]}).to_string();
        assert_eq!(read(&all([0, 1])).unwrap().drive.experiments.len(), 2);
        let beside = read(&all([0, 0])).expect_err("both ran side by side");
        assert!(beside.contains("stonewall"), "{beside}");
    }

    /// A fill of a small target ends before all its requests are under way, and a host may be slower than a file in
    /// memory: what had been measured was lost.
    #[test]
    fn of_a_run_with_too_few_requests_under_way_rates_or_latencies_are_taken() {
        let short = OUTPUT.replace("320000.0", "120000.0").replace("\"numjobs\": \"4\"", "\"numjobs\": \"1\"");
        assert!(read(&short).is_err());
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
        let drive = read(&lone).unwrap().drive;
        assert!(drive.experiments.iter().all(|experiment| experiment.fit.is_empty()));
    }

    /// One job with these options, 1,000 requests of each kind, 100 us each, so many under way.
    fn job(name: &str, options: &[(&str, &str)], under_way: u32) -> Value {
        let options: BTreeMap<&str, &str> = options.iter().copied().collect();
        let iops = f64::from(under_way) * 1e4;
        let side = json!({
            "total_ios": 1000, "iops": iops, "bw_bytes": iops * 4096.0,
            "lat_ns": {"min": 90_000, "mean": 1e5, "percentile": {"50.000000": 100_000, "99.000000": 120_000}},
        });
        json!({"jobname": name, "error": 0, "job options": options, "read": side, "write": side, "sync": side})
    }

    fn of(jobs: &[Value]) -> Result<FromFio, String> {
        read(&json!({"fio version": "fio-3.36", "jobs": jobs}).to_string())
    }

    /// They were used as if they had been what experiments are, or left out without a word.
    #[test]
    fn jobs_that_are_no_closed_loop_of_like_requests_are_left_out_with_their_reason() {
        let sound = job("sound", &[("rw", "randread"), ("stonewall", "")], 1);
        for (options, wanted) in [
            (&[("rw", "randread"), ("rate", "10m")][..], "a rate of its own"),
            (&[("thinktime", "5")], "it pauses between its requests (thinktime=5)"),
            (&[("rw", "randread"), ("bssplit", "4k/50:64k/50")], "several sizes (bssplit=4k/50:64k/50)"),
            (&[("rw", "randrw"), ("bs", "4k,8k")], "its reads and writes have different sizes (bs=4k,8k)"),
            (&[("rw", "randread"), ("bs", "512")], "requests of 512 bytes are no multiple of 4 KiB (bs=512)"),
            (&[("rw", "randtrim")], "rw=randtrim is neither reads, writes nor both"),
            (&[("rw", "randwrite"), ("fsync", "8")], "fsync=8 with rw=randwrite"),
            (&[("rw", "randread"), ("random_distribution", "pareto:0.5")], "random_distribution=pareto:0.5"),
            (&[("rw", "randread"), ("size", "lots")], "size=lots is no size"),
            (&[("rw", "randread"), ("percentage_random", "50")], "(percentage_random=50)"),
            (&[("rw", "randread"), ("iodepth_batch", "8")], "in batches, and has not always iodepth"),
            (&[("rw", "randread"), ("iodepth_batch_complete_min", "4")], "(iodepth_batch_complete_min=4)"),
            (&[("rw", "randread"), ("iodepth", "8"), ("iodepth_low", "2")], "(iodepth_low=2)"),
            (&[("rw", "randread"), ("ioengine", "null")], "reads and writes nothing (ioengine=null)"),
            (&[("rw", "randread"), ("ioengine", "mmap")], "the memory of the host"),
            (&[("rw", "randread"), ("ioengine", "cpuio")], "keeps the processor busy"),
            (&[("rw", "randread"), ("size", "2g")], "2.1GB, more than the drive has, 1.1GB (size=2g)"),
            (&[("rw", "randread"), ("filesize", "2g")], "(filesize=2g): give the right --capacity"),
            (&[("rw", "randread"), ("size", "512k")], "the 512KiB that it uses fit into the memory of a drive"),
        ] {
            let other = job("other", &[options, &[("stonewall", "")]].concat(), 1);
            let FromFio { drive, jobs } = of(&[sound.clone(), other.clone()]).unwrap();
            assert_eq!((drive.experiments.len(), jobs.len()), (1, 2), "{options:?}");
            let why = jobs[1].used.as_ref().unwrap_err();
            assert!(why.contains(wanted), "{options:?}: {why}");
            let alone = of(&[other]).unwrap_err();
            assert!(alone.starts_with("no job of fio can be used. a.json, job other: ") && alone.contains(wanted));
        }
        let mut failed = job("failed", &[("rw", "randread"), ("stonewall", "")], 1);
        failed["error"] = json!(5);
        let jobs = of(&[sound, failed]).unwrap().jobs;
        assert_eq!(jobs[1].used, Err("it ended with error 5".to_owned()));
    }

    /// Two jobs at once were two experiments, each as if it had been alone.
    #[test]
    fn jobs_that_ran_side_by_side_are_left_out() {
        let [first, second] = ["first", "second"].map(|name| job(name, &[("rw", "randread")], 1));
        let third = job("third", &[("rw", "randread"), ("stonewall", "")], 1);
        let FromFio { drive, jobs } = of(&[first, second, third]).unwrap();
        assert_eq!(drive.experiments.len(), 1);
        let why = |number: usize| jobs[number].used.as_ref().unwrap_err().clone();
        assert!(why(0).starts_with("it ran beside job second") && why(1).starts_with("it ran beside job first"));
        assert!(why(0).contains("`stonewall`") && jobs[2].used.is_ok());
    }

    /// Correct outputs were refused: `psync` has one request under way whatever `iodepth` says, clones may be told one
    /// by one, and fio reads in order where no `rw` is given.
    #[test]
    fn the_depth_and_the_kind_of_a_job_are_those_of_fio() {
        let works = |jobs: &[Value]| -> Vec<Work> {
            of(jobs)
                .unwrap_or_else(|problem| panic!("{problem}"))
                .drive
                .experiments
                .iter()
                .map(|one| one.work)
                .collect()
        };
        let psync = [("rw", "randread"), ("ioengine", "psync"), ("iodepth", "32")];
        let threads = [&psync[..], &[("numjobs", "4")]].concat();
        for (options, depth) in [(&psync[..], 1), (&threads, 4), (&psync[..1], 1), (&[psync[0], psync[2]], 1)] {
            let [Work::Closed { depth: found, .. }] = works(&[job("a", options, depth)])[..] else {
                panic!("{options:?}")
            };
            assert_eq!(found, depth, "{options:?}");
        }
        let clone =
            || job("clones", &[("rw", "randread"), ("ioengine", "libaio"), ("numjobs", "2"), ("iodepth", "4")], 4);
        let FromFio { drive, jobs } = of(&[clone(), clone()]).unwrap();
        assert!(matches!(drive.experiments[0].work, Work::Closed { depth: 8, .. }), "{jobs:?}");
        let told = ["iops", "mean", "min"].map(|name| drive.experiments[0].measured[name].round() as u64);
        assert_eq!((told, drive.experiments[0].measured.contains_key("p50")), ([80_000, 100_000, 90_000], false));
        let [Work::Closed { op, order, .. }] = works(&[job("plain", &[], 1)])[..] else { panic!("no rw") };
        assert_eq!((op, order), (Op::Read, Order::Sequential));
        let part = [("rw", "randread"), ("size", "256m"), ("direct", "1")];
        let FromFio { drive, jobs } = of(&[job("part", &part, 1)]).unwrap();
        assert!(matches!(drive.experiments[0].work, Work::Closed { area: Area { used: 0x1000_0000, .. }, .. }));
        assert_eq!(jobs[0].used, Ok("4 KiB random reads, depth 1, over 256MiB".to_owned()));
        let of_file = [("rw", "randread"), ("filesize", "256m"), ("size", "1g"), ("random_distribution", "zipf")];
        let [Work::Closed { area: Area { used, zipf, .. }, .. }] = works(&[job("file", &of_file, 1)])[..] else {
            panic!("no file")
        };
        assert!(used == 0x1000_0000 && (zipf - 1.1).abs() < 1e-9, "{used} {zipf}");
        let in_order = [("rw", "randread"), ("percentage_random", "0")];
        assert!(matches!(works(&[job("order", &in_order, 1)])[..], [Work::Closed { order: Order::Sequential, .. }]));
        let sizes = [("rw", "randwrite"), ("bs", "8k,4k")];
        assert!(matches!(works(&[job("sizes", &sizes, 1)])[..], [Work::Closed { size: 4096, op: Op::Write, .. }]));
    }

    #[test]
    fn what_is_no_output_of_fio_is_told_with_what_to_do() {
        let problem = from_fio("d", 1 << 30, &[("b.json".into(), "nothing".into())]).unwrap_err();
        assert!(problem.contains("b.json") && problem.contains("--output-format=json"), "{problem}");
    }
}
