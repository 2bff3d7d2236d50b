//! The TOML form of a measured drive: tables, quantities, and messages about mistakes.

use crate::figure;
use crate::laws::{agree_with_each_other, agrees_with_itself, fits_the_drive};
use crate::measured::{Area, Experiment, MeasuredDrive, Op, Order, Source, Work};
use layer::spelling::did_you_mean;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use units::quantity::{parse_duration, parse_size};

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
        op: OpName,
        #[serde(skip_serializing_if = "Option::is_none")]
        reads: Option<f64>,
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
        static_share: f64,
        #[serde(default, skip_serializing_if = "is_zero")]
        zipf: f64,
        #[serde(default, skip_serializing_if = "is_zero")]
        overwrites: f64,
    },
    Offered {
        writes_per_second: f64,
        #[serde(skip_serializing_if = "Option::is_none")]
        used: Option<String>,
        #[serde(default, skip_serializing_if = "is_zero")]
        static_share: f64,
        #[serde(default, skip_serializing_if = "is_zero")]
        zipf: f64,
    },
    Amplification {
        used: String,
        #[serde(default, skip_serializing_if = "is_zero")]
        static_share: f64,
        #[serde(skip_serializing_if = "Option::is_none")]
        window_end: Option<f64>,
        #[serde(default = "tenth")]
        window: f64,
        #[serde(default, skip_serializing_if = "is_zero")]
        zipf: f64,
    },
    Transient {
        used: String,
        #[serde(default, skip_serializing_if = "is_zero")]
        static_share: f64,
        #[serde(default, skip_serializing_if = "is_zero")]
        zipf: f64,
        depth: u32,
    },
    Fill {
        size: String,
        depth: u32,
    },
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum OpName {
    Read,
    Write,
    Mixed,
    Commit,
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
        let experiments: Vec<Experiment> = file.experiment.into_iter().map(read).collect::<Result<_, _>>()?;
        agree_with_each_other(&experiments).map_err(|(line, problem)| at(line, problem))?;
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
        Work::Closed { op, order, size, depth, beside, area, overwrites } => WorkTable::Closed {
            op: match op {
                Op::Read => OpName::Read,
                Op::Write => OpName::Write,
                Op::Mixed(_) => OpName::Mixed,
                Op::Commit => OpName::Commit,
            },
            reads: if let Op::Mixed(reads) = op { Some(reads) } else { None },
            order,
            size: Some(bytes(size)),
            depth,
            beside_writes: beside,
            used: Some(bytes(area.used)),
            static_share: area.fixed,
            zipf: area.zipf,
            overwrites,
        },
        Work::Offered { writes_per_second, area: Area { used, fixed: static_share, zipf } } => {
            WorkTable::Offered { writes_per_second, used: Some(bytes(used)), static_share, zipf }
        }
        Work::Amplification { area: Area { used, fixed: static_share, zipf }, window_end, window } => {
            WorkTable::Amplification { used: bytes(used), static_share, window_end, window, zipf }
        }
        Work::Transient { area: Area { used, fixed: static_share, zipf }, depth } => {
            WorkTable::Transient { used: bytes(used), static_share, zipf, depth }
        }
        Work::Fill { size, depth } => WorkTable::Fill { size: bytes(size), depth },
    };
    let mut table = toml::Table::try_from(work).expect("names, numbers and texts are what TOML can say");
    table.insert("source".to_owned(), experiment.source.clone().into());
    if !experiment.fit.is_empty() {
        let fit: Vec<toml::Value> = experiment.fit.iter().map(|name| (*name).into()).collect();
        table.insert("fit".to_owned(), fit.into());
    }
    if let Some(band) = experiment.band {
        table.insert("band".to_owned(), band.into());
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
    let band = table.remove("band").as_ref().map(band).transpose()?;
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
    let experiment = Experiment { work, source, measured, fit, band, line, ends_early: false };
    agrees_with_itself(&experiment)?;
    fits_the_drive(&experiment, capacity)?;
    Ok(experiment)
}

/// How far the model may be from the figures of an experiment.
fn band(value: &toml::Value) -> Result<f64, String> {
    let band = value.as_float().filter(|band| *band > 0.0 && *band < 1.0);
    band.ok_or_else(|| format!("band is {value}; it is a share above 0 and below 1: band = 0.15 allows 15 %"))
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
    let area = |used: Option<String>, fixed: f64, zipf: f64| {
        let used = used.map_or(Ok(capacity), |used| part_of(&used, capacity))?;
        if !(0.0..=MOST_STATIC).contains(&fixed) {
            return Err(format!(
                "static_share is {fixed}; it is the share of `used` that is not written again, 0 to {MOST_STATIC}"
            ));
        }
        if zipf != 0.0 && !(ZIPF_LEAST..=ZIPF_MOST).contains(&zipf) {
            return Err(format!(
                "zipf is {zipf}; it is 0 (each place alike) or an exponent of {ZIPF_LEAST} to {ZIPF_MOST}"
            ));
        }
        Ok(Area { used, fixed, zipf })
    };
    let work = match table.try_into().map_err(|error| one_line(&error))? {
        WorkTable::Closed { op, reads, order, size, depth, beside_writes, used, static_share, zipf, overwrites } => {
            let (size, depth) = (request(size.as_deref().unwrap_or("4KiB"))?, at_least_one(depth)?);
            let overwrites = times("overwrites", overwrites)?;
            if beside_writes != 0.0 {
                a_second("beside_writes", beside_writes)?;
            }
            let area = area(used, static_share, zipf)?;
            Work::Closed { op: operation(op, reads)?, order, size, depth, beside: beside_writes, area, overwrites }
        }
        WorkTable::Offered { writes_per_second, used, static_share, zipf } => Work::Offered {
            writes_per_second: a_second("writes_per_second", writes_per_second)?,
            area: area(used, static_share, zipf)?,
        },
        WorkTable::Amplification { used, static_share, window_end, window, zipf } => {
            let window = times("window", above_zero("window", window)?)?;
            window_end.map(|end| times("window_end", end)).transpose()?;
            if window_end.is_some_and(|end| end.is_nan() || end < window) {
                return Err(format!("window_end is less than the window, {window}"));
            }
            Work::Amplification { area: area(Some(used), static_share, zipf)?, window_end, window }
        }
        WorkTable::Transient { used, static_share, zipf, depth } => {
            Work::Transient { area: area(Some(used), static_share, zipf)?, depth: at_least_one(depth)? }
        }
        WorkTable::Fill { size, depth } => Work::Fill { size: request(&size)?, depth: at_least_one(depth)? },
    };
    Ok(work)
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
/// Largest share of the used bytes that is not written again.
const MOST_STATIC: f64 = 0.99;
