//! Several results side by side, with ratios to the first.

use super::grid::Grid;
use super::text::{told_or, waf_refused, wrapped, wrapped_at};
use compare::life::words::digits;
use compare::{Answer, Lived};
use figures::numbers::{NONE, bandwidth, count, duration, latency, percentile_name, rate, ratio, share, size, time};
use metrics::{Cost, Histogram, LifeReport, RunResult};
use serde_json::Value as Document;
use std::fmt::Write;
use sweep::Metric;
use units::{CAUSES, HostOp};

/// Takes a number out of what ran.
type Value = Box<dyn Fn(&RunResult, Option<&Lived>) -> Option<f64>>;
/// Says why there is no such number.
type Reason = Box<dyn Fn(&RunResult, Option<&Lived>) -> Option<&'static str>>;

/// One line of the comparison: a value of each result, and how it is written.
struct Line {
    label: String,
    value: Value,
    show: fn(f64) -> String,
    /// What repetitions call it, where they tell it.
    metric: Option<&'static Metric>,
    /// Why a run has no value, which stands beside the dash.
    reason: Reason,
    /// Whether it stands where all runs have a reason alone.
    is_told_without_values: bool,
    /// It is a part of the line of this metric.
    part_of: Option<&'static Metric>,
}

impl Line {
    fn new(label: impl Into<String>, show: fn(f64) -> String, value: Value, reason: Reason) -> Self {
        Self { label: label.into(), value, show, metric: None, reason, is_told_without_values: false, part_of: None }
    }

    fn repeated_as(self, metric: &str) -> Self {
        Self { metric: Metric::named(metric), ..self }
    }

    fn waf(self) -> Self {
        Self { reason: Box::new(|result, _| waf_refused(result)), ..self }
    }

    fn part_of(self, metric: &str) -> Self {
        Self { part_of: Metric::named(metric), ..self }
    }

    fn told_without_values(self) -> Self {
        Self { is_told_without_values: true, ..self }
    }

    fn cell(&self, value: Option<f64>, reason: Option<&str>) -> String {
        told_or(value.map(self.show), reason)
    }

    /// Whether it says nothing of any run.
    fn is_empty(&self, values: &[Option<f64>], reasons: &[Option<&str>]) -> bool {
        let has_reason = self.is_told_without_values && reasons.iter().any(Option::is_some);
        !has_reason && values.iter().all(|value| value.is_none_or(|value| value == 0.0))
    }
}

fn line(
    label: impl Into<String>,
    show: fn(f64) -> String,
    value: impl Fn(&RunResult) -> Option<f64> + 'static,
) -> Line {
    Line::new(label, show, Box::new(move |result, _| value(result)), Box::new(|_, _| None))
}

/// A line of a life.
fn lived(label: &str, value: impl Fn(&LifeReport) -> Option<f64> + 'static) -> Line {
    let value: Value = Box::new(move |_, lived| value(lived?.life.as_ref().ok()?));
    Line::new(label, digits, value, Box::new(|_, lived| lived?.life.as_ref().err()?.reason()))
}

/// A line of what data sheets promise, which stands where no life can be told as well.
fn promised(label: &str) -> Line {
    let tb: Value = Box::new(|_, lived| lived?.terms.data_sheet.map(metrics::DataSheet::tb));
    Line::new(label, digits, tb, Box::new(|_, _| None))
}

/// A line of what drives cost, which stands where no life can be told as well.
fn priced(label: &str, value: fn(Cost) -> f64) -> Line {
    Line::new(label, digits, Box::new(move |_, lived| lived?.cost.map(value)), Box::new(|_, _| None))
}

/// What repetitions tell of a metric of one run.
fn repeated_figure<'a>(document: &'a Document, metric: &Metric) -> Option<&'a Document> {
    document["repeated"]["figures"].as_array()?.iter().find(|figure| figure["metric"] == metric.name)
}

/// What repetitions tell of each stack against the first, in words.
fn verdicts(documents: &[Document]) -> String {
    let sentences = documents.iter().filter_map(|document| document["repeated"]["sentence"].as_str());
    sentences.fold(String::new(), |text, verdict| text + "verdict   " + &wrapped_at(verdict, 10) + "\n")
}

/// The answer of a comparison as text, above the table.
pub fn answer(answer: &Answer) -> String {
    let mut text = format!("answer    {}\n", wrapped(&answer.sentence()));
    let _ = writeln!(text, "matters   {}", wrapped(&answer.about_differences()));
    for line in answer.differences() {
        let _ = writeln!(text, "          - {}", wrapped_at(&line, 12));
    }
    let _ = writeln!(text, "assumes   {}\n", wrapped(answer.assumptions()));
    text
}

/// A comparison as text. `lives`: how long each drive lives, or none at all; `documents`: those of the results, where
/// repetitions were run, whose means then take the place of the numbers of single runs, or none; `notes`: what is to be
/// said of all together.
pub fn comparison(results: &[&RunResult], lives: &[&Lived], documents: &[Document], notes: &[String]) -> String {
    let Some(first) = results.first() else { return String::new() };
    let arrivals = match first.queue_depth {
        Some(depth) => format!("closed loop, queue depth {depth}"),
        None => "open loop, requests arrive at their own time".to_owned(),
    };
    let stacks = if results.len() == 1 { "stack" } else { "stacks" };
    let mut text = format!("{} {stacks} under {}  ({arrivals})\n\n", results.len(), first.workload);
    text.push_str(&figures(results, lives, documents).render(""));
    let count = documents.first().and_then(|document| document["repeated"]["count"].as_u64());
    for note in count.map(how_to_read).iter().chain(notes) {
        let _ = write!(text, "\nnote      {}", wrapped(note));
    }
    text.push_str(&cautions(results));
    text + &verdicts(documents)
}

/// What the numbers of repeated runs are.
fn how_to_read(count: u64) -> String {
    format!(
        "Figures with an interval are means of {count} runs with different seeds, with halves of their 95 % \
         intervals; their ratios have whole intervals. All other figures are of the first run, and their differences \
         may be chance."
    )
}

fn figures(results: &[&RunResult], lives: &[&Lived], documents: &[Document]) -> Grid {
    let mut grid = Grid::new(1);
    let mut row = |label: String, cells: &dyn Fn(usize) -> [String; 2]| {
        let all = (0..results.len()).map(cells);
        let all = all.enumerate().flat_map(|(place, [own, ratio])| [Some(own), (place > 0).then_some(ratio)]);
        grid.row(std::iter::once(label).chain(all.flatten()));
    };
    row(String::new(), &|place| [results[place].stack.clone(), "ratio".to_owned()]);
    for line in lines() {
        let life = |place: usize| lives.get(place).copied();
        let places = || results.iter().enumerate();
        let values: Vec<Option<f64>> = places().map(|(place, result)| (line.value)(result, life(place))).collect();
        let reasons: Vec<Option<&str>> = places().map(|(place, result)| (line.reason)(result, life(place))).collect();
        if line.is_empty(&values, &reasons) {
            continue;
        }
        let figure = |place: usize| repeated_figure(documents.get(place)?, line.metric?);
        let is_repeated = (0..results.len()).all(|place| figure(place).is_some());
        // Beside the mean of several runs: parts of one run do not sum up to it.
        let is_of_first =
            line.part_of.is_some_and(|whole| documents.iter().any(|one| repeated_figure(one, whole).is_some()));
        let label = if is_of_first { format!("{}, first run", line.label) } else { line.label.clone() };
        row(label, &|place| match figure(place).filter(|_| is_repeated) {
            Some(figure) => {
                let ratio =
                    figure["ratio"]["shown"].as_str().map_or_else(|| NONE.to_owned(), |ratio| format!("x{ratio}"));
                [figure["shown"].as_str().unwrap_or_default().to_owned(), ratio]
            }
            None => [line.cell(values[place], reasons[place]), ratio_of(values[place], values[0])],
        });
    }
    for (label, text) in [("status", status as fn(&RunResult) -> String), ("hash", hash), ("computed in", wall)] {
        row(label.to_owned(), &|place| [text(results[place]), String::new()]);
    }
    grid
}

/// What was chosen, and why numbers may mislead or be the same. Everything else is told by each run alone.
fn cautions(results: &[&RunResult]) -> String {
    let runs: Vec<(&str, Vec<&str>)> = results
        .iter()
        .map(|result| (result.stack.as_str(), result.notes.iter().map(String::as_str).collect()))
        .collect();
    let lines = compare::notes::cautions(&runs).into_iter().map(|note| format!("\nnote      {}", wrapped(&note)));
    lines.collect::<String>() + "\n"
}

fn status(result: &RunResult) -> String {
    result.status.name().to_owned()
}

fn hash(result: &RunResult) -> String {
    format!("{:016x}", result.hash)
}

fn wall(result: &RunResult) -> String {
    duration(result.wall_s)
}

fn ratio_of(value: Option<f64>, first: Option<f64>) -> String {
    match (value, first) {
        (Some(value), Some(first)) if first > 0.0 => times(value / first),
        _ => NONE.to_owned(),
    }
}

/// How many times as much: `x0.50`, with more digits where they would all be 0.
fn times(ratio: f64) -> String {
    if ratio > 0.0 && ratio < 0.095 { format!("x{}", figures::number(ratio)) } else { format!("x{ratio:.2}") }
}

fn lines() -> Vec<Line> {
    let plain = |value: f64| count(value as u64);
    let mut lines = vec![line("IOPS", |value| rate(Some(value)), RunResult::iops).repeated_as("iops")];
    for op in [HostOp::Read, HostOp::Write] {
        let label = format!("{} MB/s", op.name());
        lines.push(line(label, |value| bandwidth(Some(value)), move |result| result.bandwidth(op)));
    }
    lines.extend([HostOp::Read, HostOp::Write, HostOp::Flush].into_iter().flat_map(latencies));
    lines.push(line("unwritten reads", share, |result| result.unwritten_share().filter(|share| *share > 0.0)));
    let waf = line("WAF", |value| ratio(Some(value)), RunResult::waf);
    lines.push(waf.waf().told_without_values().repeated_as("waf"));
    for cause in CAUSES {
        let value = move |result: &RunResult| result.waf_of(result.flash[1][cause.index()]);
        lines.push(line(format!("  {}", cause.name()), |value| ratio(Some(value)), value).waf().part_of("waf"));
    }
    lines.push(line("WAF by pages", |value| ratio(Some(value)), RunResult::waf_pages).waf());
    let erased = line("erased", |value| size(value as u64), |result| Some(result.erased_bytes() as f64));
    lines.push(erased.repeated_as("erased_bytes"));
    lines.push(line("most erases of a block", plain, |result| {
        result.erases.iter().flatten().max().map(|erases| f64::from(*erases))
    }));
    lines.push(line(
        "memory",
        |value| size(value as u64),
        |result| Some(result.ram_bytes.iter().map(|(_, bytes)| *bytes as f64).sum()),
    ));
    lines.push(line("simulated", time, |result| Some(result.sim_ns as f64)));
    lines.extend(life_lines());
    lines
}

/// Lines of the latencies of an operation. A run without such requests says so beside the dash.
fn latencies(op: HostOp) -> impl Iterator<Item = Line> {
    type Of = fn(&Histogram) -> Option<f64>;
    let all: [(&str, Of); 5] = [
        ("mean", |of| Some(of.mean())),
        ("p50", |of| of.supported(0.5).map(|nanos| nanos as f64)),
        ("p99", |of| of.supported(0.99).map(|nanos| nanos as f64)),
        ("p999", |of| of.supported(0.999).map(|nanos| nanos as f64)),
        ("max", |of| Some(of.max() as f64)),
    ];
    all.into_iter().map(move |(key, of)| {
        let is_served = move |result: &RunResult| result.latency[op.index()].histogram().count() > 0;
        let metric = Metric::of_latency(op.name(), key);
        let value: Value = Box::new(move |result, _| {
            Some(result.latency[op.index()].histogram()).filter(|_| is_served(result)).and_then(of)
        });
        let reason: Reason = Box::new(move |result, _| metric.filter(|_| !is_served(result))?.without_requests());
        Line { metric, ..Line::new(format!("{} latency {}", op.name(), percentile_name(key)), latency, value, reason) }
    })
}

fn life_lines() -> [Line; 10] {
    [
        lived("life: TB written (TBW)", |life| Some(life.tbw().estimate)),
        promised("  data sheet"),
        lived("life: drive writes a day", |life| Some(life.dwpd().estimate)),
        lived("life: years", |life| life.years().map(|years| years.estimate)),
        lived("life: years at least", |life| life.years().map(|years| years.earliest)),
        lived("life: years at most", |life| life.years().map(|years| years.latest)),
        priced("price", |cost| cost.price),
        lived("cost a year", |life| life.price_per_year().map(|price| price.estimate)),
        priced("price of a GB", |cost| cost.per_gb),
        lived("price of a TB written", |life| life.price_per_tb_written().map(|price| price.estimate)),
    ]
}
