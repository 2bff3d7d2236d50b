//! The TOML form of a measured drive: tables, quantities, and messages about mistakes.

use crate::figure;
use crate::keys::{Keys, Mistake};
use crate::laws::{agrees_with_itself, fits_the_drive};
use crate::measured::{Area, Experiment, MeasuredDrive, Op, Order, Source, Work};
use layer::spelling::did_you_mean;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use units::quantity::{parse_duration, parse_size};

/// What a file is as it is written: its tables in their order.
#[derive(Serialize)]
struct File {
    name: String,
    capacity: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    own_writes: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    beyond: Vec<String>,
    source: BTreeMap<String, SourceTable>,
    experiment: Vec<toml::Table>,
}

#[derive(Serialize)]
struct SourceTable {
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    host_time: Option<String>,
}

/// Keys of a file, and of one of its sources.
const OF_FILE: [&str; 6] = ["name", "capacity", "own_writes", "beyond", "source", "experiment"];
const OF_SOURCE: [&str; 2] = ["text", "host_time"];
/// Keys of every experiment, and of those that work on a part of the drive.
const OF_ALL: [&str; 5] = ["kind", "source", "measured", "fit", "band"];
const OF_AREAS: [&str; 3] = ["used", "static_share", "zipf"];

/// What kind of experiment it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Closed,
    Offered,
    Amplification,
    Transient,
    Fill,
}

/// Kinds by their names.
const KINDS: [(&str, Kind); 5] = [
    ("closed", Kind::Closed),
    ("offered", Kind::Offered),
    ("amplification", Kind::Amplification),
    ("transient", Kind::Transient),
    ("fill", Kind::Fill),
];

impl Kind {
    fn name(self) -> &'static str {
        named(&KINDS, self)
    }

    /// Keys of its own.
    fn keys(self) -> Vec<&'static str> {
        let (own, has_area): (&[&str], bool) = match self {
            Kind::Closed => (&["op", "reads", "order", "size", "depth", "beside_writes", "overwrites"], true),
            Kind::Offered => (&["writes_per_second"], true),
            Kind::Amplification => (&["window_end", "window"], true),
            Kind::Transient => (&["depth"], true),
            Kind::Fill => (&["size", "depth"], false),
        };
        own.iter().copied().chain(OF_AREAS.into_iter().filter(|_| has_area)).collect()
    }
}

/// What the requests of a closed loop do, before the share of reads is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OpName {
    Read,
    Write,
    Mixed,
    Commit,
}

/// The same by their names.
const OPS: [(&str, OpName); 4] =
    [("read", OpName::Read), ("write", OpName::Write), ("mixed", OpName::Mixed), ("commit", OpName::Commit)];

/// Where consecutive requests go, by name.
const ORDERS: [(&str, Order); 2] = [("random", Order::Random), ("sequential", Order::Sequential)];

/// Length of the window of a write amplification where none is said, in times the area.
const WINDOW: f64 = 0.1;

/// A file that is no measured drive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct MeasuredError {
    place: String,
    problem: String,
}

impl MeasuredDrive {
    /// Reads the text of a file; `path` is its name in messages.
    /// Errors: it is no TOML of this form, a quantity or figure is unknown or out of range, a source is missing, or
    /// figures contradict each other. It tells the place and a remedy.
    pub fn from_text(text: &str, path: &str) -> Result<Self, MeasuredError> {
        let line = |offset: usize| text.get(..offset).unwrap_or(text).split('\n').count();
        let at = |line: usize, problem: String| MeasuredError { place: format!("{path}, line {line}"), problem };
        let drive = Keys::of_text(text).and_then(|keys| read(keys, &line));
        let drive = drive.map_err(|(offset, problem)| at(line(offset), problem))?;
        let agrees = drive.agrees(&|number| drive.place(number));
        agrees.map_err(|(second, problem)| at(drive.experiments[second].line, problem))?;
        Ok(drive)
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
            experiment: self.experiments.iter().map(table).collect(),
        };
        toml::to_string(&file).expect("names, numbers and texts are what TOML can say")
    }
}

/// An experiment as a file has it.
fn table(experiment: &Experiment) -> toml::Table {
    let mut table = toml::Table::new();
    let mut put = |key: &str, value: toml::Value| _ = table.insert(key.to_owned(), value);
    work_table(experiment.work, &mut put);
    put("source", experiment.source.clone().into());
    if !experiment.fit.is_empty() {
        put("fit", experiment.fit.iter().map(|name| toml::Value::from(*name)).collect::<Vec<_>>().into());
    }
    if let Some(band) = experiment.band {
        put("band", band.into());
    }
    let written = |name: &str, value: f64| figure::find(name).map(|figure| figure.written(value));
    let measured =
        experiment.measured.iter().filter_map(|(name, value)| Some(((*name).to_owned(), written(name, *value).ok()?)));
    put("measured", measured.collect::<toml::Table>().into());
    table
}

/// What was done, as a file has it.
fn work_table(work: Work, put: &mut dyn FnMut(&str, toml::Value)) {
    let bytes = |bytes: u64| toml::Value::from(format!("{bytes}B"));
    let mut numbers = Vec::new();
    let kind = match work {
        Work::Closed { op, order, size, depth, beside, area, overwrites } => {
            let (op, reads) = match op {
                Op::Read => (OpName::Read, None),
                Op::Write => (OpName::Write, None),
                Op::Commit => (OpName::Commit, None),
                Op::Mixed(reads) => (OpName::Mixed, Some(reads)),
            };
            put("op", named(&OPS, op).into());
            put("order", named(&ORDERS, order).into());
            put("size", bytes(size));
            put("depth", depth.into());
            numbers.extend([("reads", reads.unwrap_or(0.0)), ("beside_writes", beside), ("overwrites", overwrites)]);
            (Kind::Closed, Some(area))
        }
        Work::Offered { writes_per_second, area } => {
            numbers.push(("writes_per_second", writes_per_second));
            (Kind::Offered, Some(area))
        }
        Work::Amplification { area, window_end, window } => {
            numbers.extend([("window", window), ("window_end", window_end.unwrap_or(0.0))]);
            (Kind::Amplification, Some(area))
        }
        Work::Transient { area, depth } => {
            put("depth", depth.into());
            (Kind::Transient, Some(area))
        }
        Work::Fill { size, depth } => {
            put("size", bytes(size));
            put("depth", depth.into());
            (Kind::Fill, None)
        }
    };
    let (kind, area) = kind;
    put("kind", kind.name().into());
    if let Some(Area { used, fixed, zipf }) = area {
        put("used", bytes(used));
        numbers.extend([("static_share", fixed), ("zipf", zipf)]);
    }
    // 0 is what a file that does not say means.
    numbers.into_iter().filter(|(_, number)| *number != 0.0).for_each(|(key, number)| put(key, number.into()));
}

/// The name of one of a table of names.
fn named<T: PartialEq + Copy>(names: &[(&'static str, T)], wanted: T) -> &'static str {
    names.iter().find(|(_, meant)| *meant == wanted).map_or("", |(name, _)| name)
}

/// A drive, of the keys of a file; `line` tells the line of a byte.
fn read(mut keys: Keys<'_>, line: &dyn Fn(usize) -> usize) -> Result<MeasuredDrive, Mistake> {
    keys.only(&OF_FILE, "a measured drive")?;
    let name = keys.text("name", "\"Example 1 TB\"")?;
    let name = keys.needed(name, "name", "\"Example 1 TB\"")?;
    let capacity = keys.text("capacity", "\"960GB\"")?;
    let capacity = keys.needed(capacity, "capacity", "\"960GB\"")?;
    let capacity = parse_size(&capacity).map_err(|error| keys.wrong("capacity", format!("capacity: {error}")))?;
    if capacity < 1 << 20 {
        return Err(keys.wrong("capacity", format!("capacity is {capacity} bytes; a drive has 1MiB or more")));
    }
    let own_writes = keys.number("own_writes", "1.1")?.unwrap_or(1.0);
    if !(1.0..2.0).contains(&own_writes) {
        return Err(keys.wrong("own_writes", format!("own_writes is {own_writes}; it is 1 or more, and below 2")));
    }
    let beyond = keys.texts("beyond", "[\"it compresses data\"]")?;
    let mut sources = BTreeMap::new();
    for (name, mut of) in keys.named("source", "[source.NAME]")? {
        of.only(&OF_SOURCE, "a source")?;
        let text = of.text("text", "\"who measured it\"")?;
        let text = of.needed(text, "text", "\"who measured it\"")?;
        let host_time = of.text("host_time", "\"8us\"")?;
        let host_ns = host_time.map_or(Ok(0), |time| parse_duration(&time));
        let wrong = |error| of.wrong("host_time", format!("source.{name}.host_time: {error}"));
        let host_ns = host_ns.map_err(wrong)?;
        sources.insert(name, Source { text, host_ns });
    }
    let tables = keys.tables("experiment", "[[experiment]]")?;
    if tables.is_empty() {
        return Err((0, "it has no [[experiment]], and nothing can be fitted to nothing".to_owned()));
    }
    let mut experiments = Vec::new();
    for table in tables {
        let (begins, number) = (table.begins, experiments.len() + 1);
        let experiment = Experiment { line: line(begins), ..experiment(table, capacity, &sources)? };
        let agrees = agrees_with_itself(&experiment).and_then(|()| fits_the_drive(&experiment, capacity));
        agrees.map_err(|problem| (begins, format!("experiment {number}: {problem}")))?;
        experiments.push(experiment);
    }
    Ok(MeasuredDrive { name, capacity, own_writes, beyond, sources, experiments })
}

fn experiment(mut keys: Keys<'_>, capacity: u64, sources: &BTreeMap<String, Source>) -> Result<Experiment, Mistake> {
    let kind = keys.name("kind", &KINDS)?;
    let kind = keys.needed(kind, "kind", "\"closed\"")?;
    let known = [&OF_ALL[1..], &kind.keys()].concat();
    keys.only(&known, &format!("an experiment of kind = \"{}\"", kind.name()))?;
    let source = keys.text("source", "\"review\", the name of a [source.NAME]")?;
    let source = keys.needed(source, "source", "\"review\", the name of a [source.NAME]")?;
    let work = work(&mut keys, kind, capacity)?;
    if !sources.contains_key(&source) {
        let hint = did_you_mean(&source, sources.keys().map(String::as_str));
        return Err(keys.wrong("source", format!("no [source.{source}]{hint}; say there who measured this")));
    }
    let measured = keys.value("measured")?;
    let measured = keys.needed(measured, "measured", "{ iops = 16_600, mean = \"60us\" }")?;
    let measured = figures(measured).map_err(|problem| keys.wrong("measured", problem))?;
    if measured.is_empty() {
        return Err(keys.wrong("measured", "measured is empty; name at least one figure"));
    }
    let known = |name: String| {
        let figure = figure::find(&name)?;
        let is_there = measured.contains_key(figure.name);
        if is_there { Ok(figure.name) } else { Err(format!("fit names {name}, which was not measured here")) }
    };
    let fit = keys.texts("fit", "[\"mean\"]")?.into_iter().map(known);
    let fit: BTreeSet<&'static str> = fit.collect::<Result<_, _>>().map_err(|problem| keys.wrong("fit", problem))?;
    let band = keys.number("band", "0.15, which allows 15 %")?;
    if let Some(band) = band.filter(|band| !(*band > 0.0 && *band < 1.0)) {
        let problem = format!("band is {band}; it is a share above 0 and below 1: band = 0.15 allows 15 %");
        return Err(keys.wrong("band", problem));
    }
    Ok(Experiment { work, source, measured, fit, band, line: 0, ends_early: false })
}

/// What was done.
fn work(keys: &mut Keys<'_>, kind: Kind, capacity: u64) -> Result<Work, Mistake> {
    match kind {
        Kind::Closed => closed(keys, capacity),
        Kind::Offered => {
            let rate = keys.number("writes_per_second", "10_000")?;
            let rate = keys.needed(rate, "writes_per_second", "10_000")?;
            let writes_per_second = a_second(keys, "writes_per_second", rate)?;
            Ok(Work::Offered { writes_per_second, area: area(keys, capacity, false)? })
        }
        Kind::Amplification => {
            let window = keys.number("window", "0.1")?.unwrap_or(WINDOW);
            if window <= 0.0 {
                return Err(keys.wrong("window", format!("window is {window}; it is above 0")));
            }
            let window = times(keys, "window", window)?;
            let window_end = keys.number("window_end", "1.5")?;
            let window_end = window_end.map(|end| times(keys, "window_end", end)).transpose()?;
            if let Some(end) = window_end.filter(|end| *end < window) {
                return Err(keys.wrong("window_end", format!("window_end is {end}, less than the window, {window}")));
            }
            Ok(Work::Amplification { area: area(keys, capacity, true)?, window_end, window })
        }
        Kind::Transient => Ok(Work::Transient { area: area(keys, capacity, true)?, depth: depth(keys)? }),
        Kind::Fill => {
            let size = request(keys, capacity)?;
            Ok(Work::Fill { size: keys.needed(size, "size", "\"1MiB\"")?, depth: depth(keys)? })
        }
    }
}

fn closed(keys: &mut Keys<'_>, capacity: u64) -> Result<Work, Mistake> {
    let op = keys.name("op", &OPS)?;
    let op = keys.needed(op, "op", "\"read\"")?;
    let reads = keys.number("reads", "0.7")?;
    let key = if reads.is_some() { "reads" } else { "op" };
    let op = operation(op, reads).map_err(|problem| keys.wrong(key, problem))?;
    let order = keys.name("order", &ORDERS)?.unwrap_or(Order::Random);
    let size = request(keys, capacity)?.unwrap_or(4096);
    let depth = depth(keys)?;
    let overwrites = keys.number("overwrites", "2")?.unwrap_or(0.0);
    let overwrites = times(keys, "overwrites", overwrites)?;
    let beside = keys.number("beside_writes", "1000")?.unwrap_or(0.0);
    if beside != 0.0 {
        a_second(keys, "beside_writes", beside)?;
    }
    let area = area(keys, capacity, false)?;
    Ok(Work::Closed { op, order, size, depth, beside, area, overwrites })
}

/// Requests at a time.
fn depth(keys: &mut Keys<'_>) -> Result<u32, Mistake> {
    let depth = keys.whole("depth", "4")?;
    match keys.needed(depth, "depth", "4")? {
        depth @ 1..=MOST_DEPTH => Ok(depth),
        depth => Err(keys.wrong("depth", format!("depth is {depth}; it is 1 or more, up to {MOST_DEPTH}"))),
    }
}

fn a_second(keys: &Keys<'_>, key: &str, rate: f64) -> Result<f64, Mistake> {
    match rate {
        1.0..=MOST_RATE => Ok(rate),
        _ => Err(keys.wrong(key, format!("{key} is {rate}; it is 1 or more a second, up to {MOST_RATE}"))),
    }
}

fn times(keys: &Keys<'_>, key: &str, times: f64) -> Result<f64, Mistake> {
    match times {
        0.0..=MOST_TIMES => Ok(times),
        _ => Err(keys.wrong(key, format!("{key} is {times}; it is from 0 to {MOST_TIMES} times what is used"))),
    }
}

/// Bytes of each request.
fn request(keys: &mut Keys<'_>, capacity: u64) -> Result<Option<u64>, Mistake> {
    let Some(size) = keys.text("size", "\"128KiB\"")? else { return Ok(None) };
    let bytes = parse_size(&size).map_err(|error| keys.wrong("size", format!("size: {error}")))?;
    if bytes > 0 && bytes.is_multiple_of(4096) && bytes <= capacity {
        return Ok(Some(bytes));
    }
    Err(keys.wrong("size", format!("size is {size}; it is a multiple of 4KiB up to the capacity")))
}

/// The part of the drive that is worked on.
fn area(keys: &mut Keys<'_>, capacity: u64, needs_used: bool) -> Result<Area, Mistake> {
    let used = keys.text("used", "\"800GB\"")?;
    let used = if needs_used { Some(keys.needed(used, "used", "\"800GB\"")?) } else { used };
    let used = used.map_or(Ok(capacity), |used| part_of(&used, capacity));
    let used = used.map_err(|problem| keys.wrong("used", problem))?;
    let fixed = keys.number("static_share", "0.8")?.unwrap_or(0.0);
    if !(0.0..=MOST_STATIC).contains(&fixed) {
        let problem =
            format!("static_share is {fixed}; it is the share of `used` that is not written again, 0 to {MOST_STATIC}");
        return Err(keys.wrong("static_share", problem));
    }
    let zipf = keys.number("zipf", "0.9")?.unwrap_or(0.0);
    if zipf != 0.0 && !(ZIPF_LEAST..=ZIPF_MOST).contains(&zipf) {
        let problem =
            format!("zipf is {zipf}; it is 0 (each place alike) or an exponent of {ZIPF_LEAST} to {ZIPF_MOST}");
        return Err(keys.wrong("zipf", problem));
    }
    Ok(Area { used, fixed, zipf })
}

/// What requests do, from `op` and `reads`.
fn operation(op: OpName, reads: Option<f64>) -> Result<Op, String> {
    match (op, reads) {
        (OpName::Mixed, Some(reads)) if reads > 0.0 && reads < 1.0 => Ok(Op::Mixed(reads)),
        (OpName::Mixed, Some(reads)) => {
            Err(format!("reads is {reads}; it is the share of reads, above 0 and below 1: reads = 0.7"))
        }
        (OpName::Mixed, None) => Err("op = \"mixed\" needs the share of reads: add reads = 0.7".to_owned()),
        (_, Some(reads)) => Err(format!("reads = {reads} is for op = \"mixed\": leave it out, or change op")),
        (OpName::Read, None) => Ok(Op::Read),
        (OpName::Write, None) => Ok(Op::Write),
        (OpName::Commit, None) => Ok(Op::Commit),
    }
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
/// Largest share of the used bytes that is not written again.
const MOST_STATIC: f64 = 0.99;
