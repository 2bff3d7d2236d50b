//! What is known of a real drive: a TOML file of experiments with the figures that somebody measured.
//!
//! ```toml
//! name = "Example 1 TB"
//! capacity = "931.5GiB"
//!
//! [source.review]
//! text = "who measured it, where it was published"
//! host_time = "8us"             # what the measuring host adds to each latency
//!
//! [[experiment]]
//! kind = "closed"               # so many requests at a time
//! op = "read"
//! depth = 1
//! source = "review"
//! fit = ["mean"]                # a drive is fitted to these; the others are predicted
//! measured = { iops = 16_600, mean = "60us", p99 = "69us" }
//! ```
//!
//! Kinds and their keys are those of [`Work`], figures those of [`crate::FIGURES`].

use crate::figure::{self, Unit};
use layer::spelling::did_you_mean;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use units::quantity::{parse_duration, parse_size};
use units::{HostOp, Nanos};

/// What is known of a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredDrive {
    /// Maker, model and size.
    pub name: String,
    /// Bytes the host sees.
    pub capacity: u64,
    /// Bytes to flash for each byte of the host before any collection: parity and map of the drive's own, which no
    /// model here writes. Modelled write amplification is multiplied by it.
    pub own_writes: f64,
    /// What the drive does that no model here does, a sentence each.
    pub beyond: Vec<String>,
    /// Who measured, by the name that experiments call it.
    pub sources: BTreeMap<String, Source>,
    /// What was measured, in the order of the file.
    pub experiments: Vec<Experiment>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Who, where it was published, how.
    pub text: String,
    /// Time the measuring host adds to each latency, ns.
    pub host_ns: Nanos,
}

/// One experiment and its figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    pub work: Work,
    /// Name of its source.
    pub source: String,
    /// What was found, by name: times in ns, with the host's share.
    pub measured: BTreeMap<&'static str, f64>,
    /// Those of them that a drive is fitted to.
    pub fit: BTreeSet<&'static str>,
    /// The line of the file it begins in, from 1.
    pub line: usize,
}

/// Where consecutive requests go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Anywhere, each address alike.
    Random,
    /// One behind the other.
    Sequential,
}

/// What was done to a drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    /// So many requests at a time over the first `used` bytes, which were filled in order and then overwritten at
    /// random
    /// `overwrites` times.
    Closed {
        op: HostOp,
        order: Order,
        /// Bytes of each.
        size: u64,
        /// Requests at a time, from 1.
        depth: u32,
        /// Writes of 4 KiB to random places that came beside them each second; 0: none.
        beside: f64,
        /// Bytes that are read and written.
        used: u64,
        /// Times they were overwritten at random before.
        overwrites: f64,
    },
    /// Writes of 4 KiB to random places arrive by themselves, so many a second, on a drive in steady state; the figures
    /// are those of a client beside them that reads or writes 4 KiB, one at a time.
    Offered {
        /// Writes a second.
        writes_per_second: f64,
    },
    /// Random writes of 4 KiB over the first `used` bytes, after a fill of them in order, until the figure was read.
    Amplification {
        /// Bytes that were written.
        used: u64,
        /// Where the window ended over which it is a mean, in times `used`; `None`: in steady state.
        window_end: Option<f64>,
        /// Length of the window, in times `used`.
        window: f64,
        /// Exponent of the Zipf law of their places, which are scattered; 0: each place alike.
        zipf: f64,
    },
    /// As many random writes of 4 KiB as the drive takes over the first `used` bytes, after a fill of them in order.
    Transient {
        /// Bytes that were written.
        used: u64,
        /// Requests at a time.
        depth: u32,
    },
    /// An erased drive filled once in order.
    Fill {
        /// Bytes of each request.
        size: u64,
        /// Requests at a time.
        depth: u32,
    },
}

/// What a file is, before names and quantities are looked at.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    capacity: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    own_writes: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    beyond: Vec<String>,
    #[serde(default)]
    source: BTreeMap<String, SourceTable>,
    #[serde(default)]
    experiment: Vec<toml::Spanned<toml::Table>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceTable {
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    host_time: Option<String>,
}

/// What was done, as a file has it; what every experiment has besides is in its table as well.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum WorkTable {
    Closed {
        op: Op,
        #[serde(default = "random")]
        order: Order,
        #[serde(skip_serializing_if = "Option::is_none")]
        size: Option<String>,
        depth: u32,
        #[serde(default, skip_serializing_if = "is_zero")]
        beside_writes: f64,
        #[serde(skip_serializing_if = "Option::is_none")]
        used: Option<String>,
        #[serde(default, skip_serializing_if = "is_zero")]
        overwrites: f64,
    },
    Offered {
        writes_per_second: f64,
    },
    Amplification {
        used: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        window_end: Option<f64>,
        #[serde(default = "tenth")]
        window: f64,
        #[serde(default, skip_serializing_if = "is_zero")]
        zipf: f64,
    },
    Transient {
        used: String,
        depth: u32,
    },
    Fill {
        size: String,
        depth: u32,
    },
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Op {
    Read,
    Write,
}

fn random() -> Order {
    Order::Random
}

fn tenth() -> f64 {
    0.1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

/// A file that is no measured drive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct MeasuredError {
    place: String,
    problem: String,
}

impl MeasuredDrive {
    /// Reads the text of a file; `path` is what messages call it.
    /// Errors: it is no TOML of this form, a quantity or figure is unknown or out of range, a source is missing, or
    /// figures contradict each other: where, and what would do.
    pub fn from_text(text: &str, path: &str) -> Result<Self, MeasuredError> {
        let line = |offset: usize| text.get(..offset).unwrap_or(text).split('\n').count();
        let at = |line: usize, problem: String| MeasuredError { place: format!("{path}, line {line}"), problem };
        let file: File = toml::from_str(text).map_err(|error| {
            at(line(error.span().map_or(0, |span| span.start)), error.message().trim().replace('\n', " "))
        })?;
        let whole = |problem: String| MeasuredError { place: path.to_owned(), problem };
        let capacity = parse_size(&file.capacity).map_err(|error| whole(format!("capacity: {error}")))?;
        if capacity < 1 << 20 {
            return Err(whole(format!("capacity is {capacity} bytes; a drive has 1MiB or more")));
        }
        let own_writes = file.own_writes.unwrap_or(1.0);
        if !(1.0..2.0).contains(&own_writes) {
            return Err(whole(format!("own_writes is {own_writes}; it is 1 or more, and below 2")));
        }
        if file.experiment.is_empty() {
            return Err(whole("it has no [[experiment]], and nothing can be fitted to nothing".to_owned()));
        }
        let mut sources = BTreeMap::new();
        for (name, SourceTable { text, host_time }) in file.source {
            let host_ns = host_time.map_or(Ok(0), |time| parse_duration(&time));
            let host_ns = host_ns.map_err(|error| whole(format!("source.{name}.host_time: {error}")))?;
            sources.insert(name, Source { text, host_ns });
        }
        let read = |table: toml::Spanned<toml::Table>| {
            let line = line(table.span().start);
            experiment(table.into_inner(), capacity, line, &sources).map_err(|problem| at(line, problem))
        };
        let experiments = file.experiment.into_iter().map(read).collect::<Result<_, _>>()?;
        Ok(Self { name: file.name, capacity, own_writes, beyond: file.beyond, sources, experiments })
    }

    /// The text of a file that reads as this.
    pub fn to_text(&self) -> String {
        let source = |source: &Source| SourceTable {
            text: source.text.clone(),
            host_time: (source.host_ns > 0).then(|| format!("{}ns", source.host_ns)),
        };
        let file = File {
            name: self.name.clone(),
            capacity: format!("{}B", self.capacity),
            own_writes: (self.own_writes > 1.0).then_some(self.own_writes),
            beyond: self.beyond.clone(),
            source: self.sources.iter().map(|(name, one)| (name.clone(), source(one))).collect(),
            experiment: self.experiments.iter().map(|one| toml::Spanned::new(0..0, table(one))).collect(),
        };
        toml::to_string(&file).expect("names, numbers and texts are what TOML can say")
    }
}

/// An experiment as a file has it.
fn table(experiment: &Experiment) -> toml::Table {
    let bytes = |bytes: u64| format!("{bytes}B");
    let work = match experiment.work {
        Work::Closed { op, order, size, depth, beside, used, overwrites } => WorkTable::Closed {
            op: if op == HostOp::Read { Op::Read } else { Op::Write },
            order,
            size: Some(bytes(size)),
            depth,
            beside_writes: beside,
            used: Some(bytes(used)),
            overwrites,
        },
        Work::Offered { writes_per_second } => WorkTable::Offered { writes_per_second },
        Work::Amplification { used, window_end, window, zipf } => {
            WorkTable::Amplification { used: bytes(used), window_end, window, zipf }
        }
        Work::Transient { used, depth } => WorkTable::Transient { used: bytes(used), depth },
        Work::Fill { size, depth } => WorkTable::Fill { size: bytes(size), depth },
    };
    let mut table = toml::Table::try_from(work).expect("names, numbers and texts are what TOML can say");
    table.insert("source".to_owned(), experiment.source.clone().into());
    if !experiment.fit.is_empty() {
        let fit: Vec<toml::Value> = experiment.fit.iter().map(|name| (*name).into()).collect();
        table.insert("fit".to_owned(), fit.into());
    }
    let written = |name: &str, value: f64| figure::find(name).map(|figure| figure.written(value));
    let measured =
        experiment.measured.iter().filter_map(|(name, value)| Some(((*name).to_owned(), written(name, *value).ok()?)));
    table.insert("measured".to_owned(), measured.collect::<toml::Table>().into());
    table
}

fn experiment(
    mut table: toml::Table,
    capacity: u64,
    line: usize,
    sources: &BTreeMap<String, Source>,
) -> Result<Experiment, String> {
    let taken = |value: Option<toml::Value>, name: &str| {
        value.ok_or_else(|| format!("{name} is missing; every experiment has source and measured"))
    };
    let source = taken(table.remove("source"), "source")?;
    let source = source.as_str().ok_or("source is a text, the name of a [source.NAME]")?.to_owned();
    let measured = taken(table.remove("measured"), "measured")?;
    let fit: Vec<String> =
        table.remove("fit").map_or(Ok(Vec::new()), toml::Value::try_into).map_err(|error| one_line(&error))?;
    let work = work(table, capacity)?;
    if !sources.contains_key(&source) {
        let hint = did_you_mean(&source, sources.keys().map(String::as_str));
        return Err(format!("no [source.{source}]{hint}; say there who measured this"));
    }
    let measured = figures(measured)?;
    if measured.is_empty() {
        return Err("measured is empty; name at least one figure".to_owned());
    }
    let known = |name: String| {
        let figure = figure::find(&name)?;
        let is_there = measured.contains_key(figure.name);
        if is_there { Ok(figure.name) } else { Err(format!("fit names {name}, which was not measured here")) }
    };
    let fit = fit.into_iter().map(known).collect::<Result<_, _>>()?;
    let experiment = Experiment { work, source, measured, fit, line };
    agrees_with_itself(&experiment)?;
    Ok(experiment)
}

/// What was done, of a table without what every experiment has.
fn work(table: toml::Table, capacity: u64) -> Result<Work, String> {
    let above_zero = |name: &str, value: f64| {
        if value.is_finite() && value > 0.0 { Ok(value) } else { Err(format!("{name} is {value}; it is above 0")) }
    };
    let at_least_one = |depth: u32| match depth {
        1..=MOST_DEPTH => Ok(depth),
        _ => Err(format!("depth is {depth}; it is 1 or more, up to {MOST_DEPTH}")),
    };
    let a_second = |name: &str, rate: f64| match rate {
        1.0..=MOST_RATE => Ok(rate),
        _ => Err(format!("{name} is {rate}; it is 1 or more a second, up to {MOST_RATE}")),
    };
    let times = |name: &str, times: f64| match times {
        0.0..=MOST_TIMES => Ok(times),
        _ => Err(format!("{name} is {times}; it is from 0 to {MOST_TIMES} times what is used")),
    };
    let request = |size: &str| {
        let bytes = parse_size(size).map_err(|error| format!("size: {error}"))?;
        let fits = bytes > 0 && bytes.is_multiple_of(4096) && bytes <= capacity;
        if fits { Ok(bytes) } else { Err(format!("size is {size}; it is a multiple of 4KiB up to the capacity")) }
    };
    let work = match table.try_into().map_err(|error| one_line(&error))? {
        WorkTable::Closed { op, order, size, depth, beside_writes, used, overwrites } => {
            let (size, depth) = (request(size.as_deref().unwrap_or("4KiB"))?, at_least_one(depth)?);
            let overwrites = times("overwrites", overwrites)?;
            if beside_writes != 0.0 {
                a_second("beside_writes", beside_writes)?;
            }
            let op = match op {
                Op::Read => HostOp::Read,
                Op::Write => HostOp::Write,
            };
            let used = used.map_or(Ok(capacity), |used| part_of(&used, capacity))?;
            Work::Closed { op, order, size, depth, beside: beside_writes, used, overwrites }
        }
        WorkTable::Offered { writes_per_second } => {
            Work::Offered { writes_per_second: a_second("writes_per_second", writes_per_second)? }
        }
        WorkTable::Amplification { used, window_end, window, zipf } => {
            let (used, window) = (part_of(&used, capacity)?, times("window", above_zero("window", window)?)?);
            window_end.map(|end| times("window_end", end)).transpose()?;
            if window_end.is_some_and(|end| end.is_nan() || end < window) {
                return Err(format!("window_end is less than the window, {window}"));
            }
            if zipf != 0.0 && !(ZIPF_LEAST..=ZIPF_MOST).contains(&zipf) {
                return Err(format!(
                    "zipf is {zipf}; it is 0 (each place alike) or an exponent of {ZIPF_LEAST} to {ZIPF_MOST}"
                ));
            }
            Work::Amplification { used, window_end, window, zipf }
        }
        WorkTable::Transient { used, depth } => {
            Work::Transient { used: part_of(&used, capacity)?, depth: at_least_one(depth)? }
        }
        WorkTable::Fill { size, depth } => Work::Fill { size: request(&size)?, depth: at_least_one(depth)? },
    };
    Ok(work)
}

/// What a library says of a mistake, on one line.
fn one_line(error: &toml::de::Error) -> String {
    error.message().trim().replace('\n', " ")
}

/// Figures by name. `read.mean` in TOML is `mean` in the table `read`.
fn figures(measured: toml::Value) -> Result<BTreeMap<&'static str, f64>, String> {
    let toml::Value::Table(measured) = measured else {
        return Err("measured is a table, such as { iops = 16_600, mean = \"60us\" }".to_owned());
    };
    let mut found = BTreeMap::new();
    let mut left: Vec<(String, toml::Value)> = measured.into_iter().collect();
    while let Some((name, value)) = left.pop() {
        if let toml::Value::Table(inner) = value {
            left.extend(inner.into_iter().map(|(inner, value)| (format!("{name}.{inner}"), value)));
        } else {
            let figure = figure::find(&name)?;
            found.insert(figure.name, figure.read(&value)?);
        }
    }
    Ok(found)
}

/// Bytes of a drive of `capacity` that are used.
fn part_of(used: &str, capacity: u64) -> Result<u64, String> {
    let bytes = parse_size(used).map_err(|error| format!("used: {error}"))?;
    if bytes == 0 || bytes > capacity {
        return Err(format!("used is {used}; it is above 0 and at most the capacity, {capacity} bytes"));
    }
    Ok(bytes)
}

/// Most requests at a time, most a second, and most times that something is written.
const MOST_DEPTH: u32 = 65_536;
const MOST_RATE: f64 = 1e8;
const MOST_TIMES: f64 = 1000.0;
/// States are told apart by thousandths.
const ZIPF_LEAST: f64 = 0.001;
const ZIPF_MOST: f64 = 10.0;
/// Writes that take longer than this in the mean queue, ns.
const QUEUED: f64 = 1e6;
/// How far requests a second times their mean latency may be from their number.
const LITTLE: f64 = 0.10;

/// Laws that hold on every drive.
pub(crate) fn agrees_with_itself(experiment: &Experiment) -> Result<(), String> {
    let value = |name: &str| experiment.measured.get(name).copied();
    for prefix in ["", "read.", "write."] {
        let order = ["min", "p50", "p99", "p999", "p99999"].map(|name| format!("{prefix}{name}"));
        let there: Vec<(&String, f64)> = order.iter().filter_map(|name| Some((name, value(name)?))).collect();
        for pair in there.windows(2) {
            if pair[0].1 > pair[1].1 {
                return Err(format!("the figures contradict each other: {} is above {}", pair[0].0, pair[1].0));
            }
        }
    }
    if value("waf").is_some_and(|waf| waf < 1.0) {
        return Err("waf is below 1: less would be written to flash than the host writes".to_owned());
    }
    let Work::Closed { depth, size, .. } = experiment.work else { return Ok(()) };
    if let (Some(iops), Some(mean)) = (value("iops"), value("mean")) {
        let under_way = iops * mean / 1e9;
        if (under_way / f64::from(depth) - 1.0).abs() > LITTLE {
            return Err(format!(
                "the figures contradict each other: {iops} requests a second of {:.1} us each are {under_way:.2} at a \
                 time, and depth is {depth}",
                mean / 1e3
            ));
        }
    }
    if let (Some(iops), Some(rate)) = (value("iops"), value("rate"))
        && (iops * size as f64 / rate - 1.0).abs() > LITTLE
    {
        return Err(format!("the figures contradict each other: iops times {size} bytes is not rate"));
    }
    Ok(())
}

impl Experiment {
    /// What was done, in some words.
    pub fn title(&self) -> String {
        let gb = |bytes: u64| format!("{:.0} GB", bytes as f64 / 1e9);
        let kib = |size: u64| format!("{} KiB", size >> 10);
        match self.work {
            Work::Closed { op, order, size, depth, beside, used, overwrites } => {
                let order = if order == Order::Random { "random" } else { "sequential" };
                let also = |is_so: bool, what: String| if is_so { what } else { String::new() };
                let beside = also(beside > 0.0, format!(", beside {beside:.0} writes/s"));
                let before = also(overwrites > 0.0, format!(", {} overwritten {overwrites} times", gb(used)));
                format!("{} {order} {}s, depth {depth}{beside}{before}", kib(size), op.name())
            }
            Work::Offered { writes_per_second } => format!("{writes_per_second:.0} writes/s offered"),
            Work::Amplification { used, window_end, zipf, .. } => {
                let until = window_end.map_or_else(|| "steady".to_owned(), |end| format!("until {end} drive writes"));
                let law = if zipf > 0.0 { format!(" by Zipf {zipf}") } else { String::new() };
                format!("{} written at random{law}, {until}", gb(used))
            }
            Work::Transient { used, .. } => format!("{} written at random at full speed", gb(used)),
            Work::Fill { size, .. } => format!("erased drive filled in order by {}", kib(size)),
        }
    }

    /// Whether latencies are judged: those of a drive that is offered less than it takes, so that writes do not queue,
    /// or of a closed loop.
    pub fn is_below_the_knee(&self) -> bool {
        let Work::Offered { writes_per_second } = self.work else { return true };
        let is_taken = self.measured.get("iops").is_none_or(|taken| *taken > 0.98 * writes_per_second);
        is_taken && self.measured.get("write.mean").is_none_or(|mean| *mean < QUEUED)
    }

    /// How far the model may be from a figure; `None`: it is shown and not judged.
    pub fn band(&self, name: &str) -> Option<f64> {
        let figure = figure::find(name).ok()?;
        let is_latency = figure.unit == Unit::Time;
        figure.band.filter(|_| !is_latency || self.is_below_the_knee())
    }
}
