//! The jobs of an output of fio, each as an experiment, or why it is none.
//!
//! Faithful to fio's own rules: a job without `rw` reads in order; an engine that waits for each request has one at a
//! time, at any `iodepth`; jobs run side by side unless `stonewall` is between them; clones (`numjobs`) are told
//! together with `group_reporting`, and one by one without.

use super::of_fio;
use crate::figure::{self, Figure};
use crate::laws::agrees_with_itself;
use crate::measured::{Area, Experiment, Op, Order, Work};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use units::quantity::{format_size, parse_size};

/// Options of a job that is no closed loop of like requests, and what they make of it.
const OTHERS: [(&str, &str); 13] = [
    ("rate", "it has a rate of its own, and does not wait for its requests alone"),
    ("rate_iops", "it has a rate of its own, and does not wait for its requests alone"),
    ("thinktime", "it pauses between its requests"),
    ("latency_target", "fio changes its depth as it runs"),
    ("flow", "it waits for another job"),
    ("sync", "each of its writes is durable when it ends, and experiments know writes and commits with a flush"),
    ("bssplit", "its requests have several sizes"),
    ("bsrange", "its requests have several sizes"),
    ("blocksize_range", "its requests have several sizes"),
    ("read_iolog", "it replays a log"),
    ("verify", "it reads again what it wrote"),
    ("zonemode", "it works on zones"),
    ("startdelay", "it begins beside or behind other jobs at a time of its own"),
];
/// Options that send or take requests in batches, unless they are 0 or 1: then fewer than `iodepth` are under way.
const BATCHES: [&str; 4] =
    ["iodepth_batch", "iodepth_batch_submit", "iodepth_batch_complete", "iodepth_batch_complete_min"];
/// Engines that wait for each request.
const ONE_AT_A_TIME: [&str; 7] = ["psync", "sync", "vsync", "pvsync", "pvsync2", "splice", "sg"];
/// Engines that measure no drive, and what they do.
const NO_DRIVE: [(&str, &str); 12] = [
    ("null", "answers by itself and reads and writes nothing"),
    ("mmap", "reads and writes the memory of the host, which the system brings to the drive later"),
    ("cpuio", "keeps the processor busy and reads and writes nothing"),
    ("filecreate", "creates files and reads and writes nothing"),
    ("filestat", "looks up files and reads and writes nothing"),
    ("filedelete", "deletes files and reads and writes nothing"),
    ("ftruncate", "changes the size of files and reads and writes nothing"),
    ("exec", "runs a program"),
    ("net", "measures a network"),
    ("netsplice", "measures a network"),
    ("rdma", "measures a network"),
    ("dev-dax", "reads and writes persistent memory"),
];
/// Engines that pass the page cache of the host by, whatever `direct` says.
const NO_CACHE: [&str; 6] = ["nbd", "io_uring_cmd", "xnvme", "libblkio", "rbd", "spdk"];
/// Bytes that requests have a multiple of.
const PAGE: u64 = 4096;
/// Memory of a drive as a share of its capacity: 1 GB for each TB is customary. Requests within as much may be answered
/// from it, and tell nothing of flash.
const MEMORY: f64 = 0.001;
/// How far a job may reach beyond the capacity that was given, as a share: capacities are told in round numbers.
const ROUND: f64 = 0.02;
/// The exponent of `random_distribution=zipf`, as fio has it where none is given.
const USUAL_ZIPF: f64 = 1.1;

/// A job that is used.
pub(super) struct Used {
    pub experiment: Experiment,
    /// The experiment in words.
    pub told: String,
}

/// The options of a job, with those of all jobs behind them.
struct Options<'a> {
    own: &'a Value,
    global: &'a Value,
}

impl<'a> Options<'a> {
    fn text(&self, name: &str) -> Option<&'a str> {
        self.own[name].as_str().or_else(|| self.global[name].as_str()).map(str::trim)
    }

    /// Whether an option is there and not turned off.
    fn has(&self, name: &str) -> bool {
        self.text(name).is_some_and(|text| !matches!(text, "0" | "none"))
    }

    /// The engine without the library that it is loaded from; `None`: the one that fio takes by itself.
    fn engine(&self) -> Option<&'a str> {
        self.text("ioengine").and_then(|engine| engine.split(':').next())
    }

    fn whole(&self, name: &str) -> Result<u32, String> {
        let Some(text) = self.text(name) else { return Ok(1) };
        text.parse::<u32>().map(|number| number.max(1)).map_err(|_| format!("{name}={text} is no whole number"))
    }
}

/// The jobs of an output by their names, each as an experiment or with the reason why it is left out.
pub(super) fn of_output(jobs: &[Value], global: &Value, capacity: u64) -> Vec<(String, Result<Used, String>)> {
    let mut all = Vec::new();
    for batch in batches(jobs, global) {
        let names: Vec<&str> = batch.iter().map(name).collect();
        let options = Options { own: &batch[0]["job options"], global };
        let clones = options.whole("numjobs").unwrap_or(1) as usize;
        if batch.len() > 1 && clones == batch.len() && names.iter().all(|name| *name == names[0]) {
            all.push((names[0].to_owned(), experiment(&together(batch), global, capacity)));
            continue;
        }
        for (number, job) in batch.iter().enumerate() {
            let beside = names.iter().enumerate().find(|(other, _)| *other != number);
            let found = match beside {
                Some((_, beside)) => Err(format!(
                    "it ran beside job {beside}: give each job `stonewall`, so that one runs behind the other"
                )),
                None => experiment(job, global, capacity),
            };
            all.push((names[number].to_owned(), found));
        }
    }
    all
}

fn name(job: &Value) -> &str {
    job["jobname"].as_str().unwrap_or_default()
}

/// The jobs that ran side by side, in their order.
fn batches<'a>(jobs: &'a [Value], global: &Value) -> Vec<&'a [Value]> {
    let waits = |job: &Value| {
        let options = Options { own: &job["job options"], global };
        ["stonewall", "wait_for_previous", "wait_for"].into_iter().any(|name| options.has(name))
    };
    // fio leaves options without a value, such as `stonewall`, out of its output, and counts a group for each.
    let is_later = |one: &Value, next: &Value| {
        let [one, next] = [one, next].map(|job| job["groupid"].as_i64());
        one.zip(next).is_some_and(|(one, next)| one != next)
    };
    // The clones of a job wait for others, and not for each other.
    let are_clones = |one: &Value, next: &Value| !name(one).is_empty() && name(one) == name(next);
    jobs.chunk_by(|one, next| !is_later(one, next) && (!waits(next) || are_clones(one, next))).collect()
}

/// Clones that fio told one by one as one job: numbers and rates add up, means by requests, and percentiles do not.
fn together(clones: &[Value]) -> Value {
    let mut job = json!({"jobname": name(&clones[0]), "job options": clones[0]["job options"]});
    for side in ["read", "write", "sync"] {
        let sum = |name: &str| clones.iter().filter_map(|clone| clone[side][name].as_f64()).sum::<f64>();
        let requests = sum("total_ios");
        let mut whole = json!({"total_ios": requests as u64, "iops": sum("iops"), "bw_bytes": sum("bw_bytes")});
        let weighted =
            |clone: &Value| Some(clone[side]["lat_ns"]["mean"].as_f64()? * clone[side]["total_ios"].as_f64()?);
        let least = clones.iter().filter_map(|clone| clone[side]["lat_ns"]["min"].as_f64()).min_by(f64::total_cmp);
        if let (Some(latency), true) = (clones.iter().map(weighted).sum::<Option<f64>>(), requests > 0.0) {
            whole["lat_ns"] = json!({"mean": latency / requests, "min": least});
        }
        job[side] = whole;
    }
    let error = clones.iter().filter_map(|clone| clone["error"].as_i64()).find(|error| *error != 0);
    job["error"] = json!(error.unwrap_or(0));
    job
}

/// A job as an experiment.
/// Errors: why it is none.
fn experiment(job: &Value, global: &Value, capacity: u64) -> Result<Used, String> {
    let options = Options { own: &job["job options"], global };
    if let Some(error) = job["error"].as_i64().filter(|error| *error != 0) {
        return Err(format!("it ended with error {error}"));
    }
    if let Some((name, what)) = OTHERS.iter().find(|(name, _)| options.has(name)) {
        return Err(format!("{what} ({name}={})", options.text(name).unwrap_or_default()));
    }
    measures_a_drive(&options)?;
    keeps_its_depth(&options)?;
    let (op, order) = kind(&options)?;
    let size = size(&options, op)?;
    let (area, within) = area(&options, capacity)?;
    if size > area.used {
        return Err(format!(
            "its requests of {} are larger than the {} that it uses",
            format_size(size),
            format_size(area.used)
        ));
    }
    let measured = figures_of(job, op).ok_or("no request of its kind ended")?;
    let measured: BTreeMap<_, _> = measured.into_iter().filter(|(_, value)| *value > 0.0).collect();
    let of_depth = |depth: u32| {
        let work = Work::Closed { op, order, size, depth, beside: 0.0, area, overwrites: 0.0 };
        of_fio(work, measured.clone())
    };
    let depths = depths(&options)?;
    let mut possible = depths.iter().map(|depth| of_depth(*depth));
    let agreeing = possible.find(|experiment| agrees_with_itself(experiment).is_ok());
    let experiment = agreeing.unwrap_or_else(|| of_depth(depths[0]));
    let is_cached = !options.has("direct") && !NO_CACHE.contains(&options.engine().unwrap_or_default());
    let cached = if is_cached { "; through the page cache of the host, as direct=1 is not there" } else { "" };
    Ok(Used { told: format!("{}{within}{cached}", experiment.title()), experiment })
}

/// How many requests a job has under way: what is likely first.
fn depths(options: &Options<'_>) -> Result<Vec<u32>, String> {
    let clones = options.whole("numjobs")?;
    let all = options.whole("iodepth")?.checked_mul(clones).ok_or("iodepth times numjobs is too many")?;
    Ok(match options.engine() {
        Some(engine) if ONE_AT_A_TIME.contains(&engine) => vec![clones],
        Some(_) => vec![all],
        // The engine that fio takes by itself differs from system to system.
        None => vec![all, clones],
    })
}

/// Bytes of each request.
fn size(options: &Options<'_>, op: Op) -> Result<u64, String> {
    let text = options.text("bs").or_else(|| options.text("blocksize")).unwrap_or("4k");
    // Sizes of reads, writes and trims; the last one counts for those that are not there.
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    let of =
        |number: usize| parts.get(number).or(parts.last()).filter(|part| !part.is_empty()).copied().unwrap_or("4k");
    let part = match op {
        Op::Read => of(0),
        Op::Write | Op::Commit => of(1),
        Op::Mixed(_) if of(0) == of(1) => of(0),
        Op::Mixed(_) => return Err(format!("its reads and writes have different sizes (bs={text})")),
    };
    let size = bytes(part).filter(|size| *size > 0).ok_or_else(|| format!("bs={text} is no size"))?;
    if size.is_multiple_of(PAGE) {
        return Ok(size);
    }
    Err(format!("its requests of {size} bytes are no multiple of 4 KiB (bs={text}), as experiments have"))
}

/// Errors: the engine of a job has no drive: what it does.
fn measures_a_drive(options: &Options<'_>) -> Result<(), String> {
    let engine = options.engine().unwrap_or_default();
    match NO_DRIVE.iter().find(|(name, _)| *name == engine) {
        Some((name, what)) => Err(format!("its engine {what} (ioengine={name})")),
        None => Ok(()),
    }
}

/// Errors: a job has fewer requests under way than its depth at times: why.
fn keeps_its_depth(options: &Options<'_>) -> Result<(), String> {
    for name in BATCHES {
        if options.whole(name)? > 1 {
            let number = options.text(name).unwrap_or_default();
            return Err(format!(
                "it sends or takes its requests in batches, and has not always iodepth under way \
                                ({name}={number})"
            ));
        }
    }
    let low = options.text("iodepth_low").map(|_| options.whole("iodepth_low")).transpose()?;
    match low.filter(|low| options.whole("iodepth").is_ok_and(|depth| *low < depth)) {
        Some(low) => Err(format!("it lets its queue run down before it fills it again (iodepth_low={low})")),
        None => Ok(()),
    }
}

/// The part of the drive that a job works on, and how that is told; `size` is for each clone where they have files of
/// their own.
fn area(options: &Options<'_>, capacity: u64) -> Result<(Area, String), String> {
    let zipf = zipf(options.text("random_distribution").unwrap_or("random"))?;
    let whole = Area { zipf, ..Area::of(capacity) };
    let sizes =
        ["size", "filesize"].map(|name| options.text(name).filter(|text| *text != "0").map(|text| (name, text)));
    let bytes_of = |(name, text): (&str, &str)| {
        let share = text.strip_suffix('%').and_then(|share| share.parse::<f64>().ok());
        let each = share.map(|share| (share.clamp(0.0, 100.0) / 100.0 * capacity as f64) as u64);
        let each = each.or_else(|| bytes(text)).filter(|each| *each >= PAGE);
        each.ok_or_else(|| format!("{name}={text} is no size")).map(|each| (each, format!("{name}={text}")))
    };
    // A job with a size below that of its file stays within it, and one with a size above it begins anew.
    let sizes = sizes.into_iter().flatten().map(bytes_of).collect::<Result<Vec<_>, _>>()?;
    let Some((each, told)) = sizes.into_iter().min() else { return Ok((whole, String::new())) };
    let files = if options.has("filename") { 1 } else { u64::from(options.whole("numjobs")?) };
    let used = each.saturating_mul(files) / PAGE * PAGE;
    if used as f64 > capacity as f64 * (1.0 + ROUND) {
        return Err(format!(
            "it uses {}, more than the drive has, {} ({told}): give the right --capacity",
            spoken(used),
            spoken(capacity)
        ));
    }
    if used >= capacity / PAGE * PAGE {
        return Ok((whole, String::new()));
    }
    if (used as f64) < capacity as f64 * MEMORY {
        return Err(format!(
            "the {} that it uses fit into the memory of a drive of {} (customary: {:.1} % of the capacity), and may \
             never reach flash ({told})",
            spoken(used),
            spoken(capacity),
            MEMORY * 100.0
        ));
    }
    Ok((Area { used, ..whole }, format!(", over {}", format_size(used))))
}

/// A size for people.
fn spoken(bytes: u64) -> String {
    Figure::spoken_size(bytes as f64)
}

/// What the requests of a job are, and their order.
fn kind(options: &Options<'_>) -> Result<(Op, Order), String> {
    let percent = |name: &str| options.text(name).and_then(|text| text.parse::<f64>().ok());
    let reads = percent("rwmixread").or_else(|| percent("rwmixwrite").map(|writes| 100.0 - writes)).unwrap_or(50.0);
    let mixed = match reads {
        0.0 => Op::Write,
        100.0 => Op::Read,
        _ => Op::Mixed(reads / 100.0),
    };
    // fio reads in order where nothing is said.
    let said = options.text("rw").or_else(|| options.text("readwrite")).unwrap_or("read");
    let (op, order) = match said {
        "read" => (Op::Read, Order::Sequential),
        "write" => (Op::Write, Order::Sequential),
        "randread" => (Op::Read, Order::Random),
        "randwrite" => (Op::Write, Order::Random),
        "rw" | "readwrite" => (mixed, Order::Sequential),
        "randrw" => (mixed, Order::Random),
        _ => return Err(format!("rw={said} is neither reads, writes nor both, in order or at random")),
    };
    let order = ordered(options, order)?;
    match ["fsync", "fdatasync"].into_iter().find_map(|name| Some((name, options.text(name)?))) {
        None | Some((_, "0")) => Ok((op, order)),
        Some((_, "1")) if op == Op::Write => Ok((Op::Commit, order)),
        Some((name, every)) => {
            Err(format!("{name}={every} with rw={said}: commits are writes with a flush behind each of them"))
        }
    }
}

/// The order of requests of which a share is at random (`percentage_random`).
/// Errors: some are, and some are not.
fn ordered(options: &Options<'_>, order: Order) -> Result<Order, String> {
    let Some(text) = options.text("percentage_random").filter(|_| order == Order::Random) else { return Ok(order) };
    let is_all = |share: &str| text.split(',').all(|one| one.trim().trim_end_matches('%') == share);
    match () {
        () if is_all("100") => Ok(Order::Random),
        () if is_all("0") => Ok(Order::Sequential),
        () => Err(format!("a part of its requests is in order and the others are not (percentage_random={text})")),
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
        "t" => "TiB",
        _ => return None,
    };
    parse_size(&format!("{number}{unit}")).ok()
}

/// The exponent of places drawn as fio calls it, 0 for uniform ones.
fn zipf(distribution: &str) -> Result<f64, String> {
    let exponent = match distribution.split_once(':') {
        None if distribution == "random" => Some(0.0),
        None if distribution == "zipf" => Some(USUAL_ZIPF),
        Some(("zipf", theta)) => theta.split(':').next().and_then(|theta| theta.parse().ok()),
        _ => None,
    };
    exponent.filter(|theta| *theta == 0.0 || (0.001..=10.0).contains(theta)).ok_or_else(|| {
        format!("its places are drawn by random_distribution={distribution}, and not uniform or by Zipf")
    })
}

/// Latencies of the reads or writes of a job, by name, ns. `lat_ns` begins when a request is made, `clat_ns` when it
/// has been handed over. The mean is of `lat_ns`, which a closed loop waits for: with the rate it gives the depth.
/// fio has percentiles of one clock (of `clat_ns` if nothing is said), and the least latency is of that clock as
/// well.
pub fn latencies(found: &Value) -> impl Iterator<Item = (&'static str, f64)> {
    let clocks = [&found["lat_ns"], &found["clat_ns"]];
    let latency = clocks.into_iter().find(|clock| clock["percentile"].is_object()).unwrap_or(clocks[0]);
    let figures = [
        ("min", &latency["min"]),
        ("mean", if clocks[0]["mean"].is_number() { &clocks[0]["mean"] } else { &latency["mean"] }),
        ("p50", &latency["percentile"]["50.000000"]),
        ("p99", &latency["percentile"]["99.000000"]),
        ("p999", &latency["percentile"]["99.900000"]),
    ];
    figures.into_iter().filter_map(|(name, value)| Some((name, value.as_f64()?)))
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
