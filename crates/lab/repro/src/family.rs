//! A family of draws, where the input of a publication is private: the values it leaves open are drawn from stated
//! ranges.
//!
//! ```text
//!  ranges (data) -> draws, by a seed -> the study on each draw, at a small size -> one number a row and draw
//!                                                                                         |
//!                          published value, least, median, most -> a verdict  <-----------+
//! ```
//! *Protects*: a range never follows from a result of the study; draw 3 is the same in a family of 8 and of 16; a
//! published number judges, and is not read before all draws have ended.

use crate::error::StudyError;
use crate::row::Row;
use crate::study::{Findings, Options, Scale, Study};
use crate::target::middle;
use engine::random::Stream;
use experiment::{Monitor, Shard};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most draws of a family.
pub const MOST_DRAWS: u32 = 1000;

/// The family of a study, as its file describes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ranges {
    /// Size of each draw, such as `1/64`.
    scale: String,
    /// Keys that all draws share.
    #[serde(default)]
    fixed: BTreeMap<String, String>,
    /// What is drawn.
    free: Vec<Range>,
}

/// A parameter that the publication leaves open.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Range {
    key: String,
    #[serde(default)]
    least: f64,
    #[serde(default)]
    most: f64,
    /// Values that are equally likely, instead of all from the least to the most.
    #[serde(default)]
    choices: Vec<String>,
    #[serde(default)]
    law: Law,
    /// What it is a multiple of; 0: any number.
    #[serde(default)]
    step: f64,
    /// What stands behind the number.
    #[serde(default)]
    unit: String,
    /// Why it is open, and why in these limits.
    reason: String,
}

/// How a parameter is spread over its range.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Law {
    /// Equal differences are equally likely.
    #[default]
    Even,
    /// Equal ratios are equally likely.
    Ratio,
}

/// The keys of one draw and their values.
pub(crate) type Draw = BTreeMap<String, String>;

impl Range {
    /// A value of the range; each key has a stream of its own, so that another one leaves it alone.
    fn draw(&self, seed: u64, number: u32) -> String {
        let mut stream = Stream::new(seed, &format!("family, draw {number}, {}", self.key));
        if !self.choices.is_empty() {
            return self.choices[stream.below(self.choices.len() as u64) as usize].clone();
        }
        let unit = stream.unit();
        let value = match self.law {
            Law::Even => self.least + (self.most - self.least) * unit,
            Law::Ratio => self.least * libm::pow(self.most / self.least, unit),
        };
        if self.step > 0.0 {
            format!("{}{}", (value / self.step).round() * self.step, self.unit)
        } else {
            format!("{value:.4}{}", self.unit)
        }
    }
}

impl Ranges {
    fn draw(&self, seed: u64, number: u32) -> Draw {
        let drawn = self.free.iter().map(|range| (range.key.clone(), range.draw(seed, number)));
        self.fixed.clone().into_iter().chain(drawn).collect()
    }

    /// The ranges in words, for notes.
    fn notes(&self, draws: u32) -> Vec<String> {
        let fixed: Vec<String> = self.fixed.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        let fixed = if fixed.is_empty() { String::new() } else { format!(", with {}", fixed.join(", ")) };
        let size = format!("Family: {draws} draws of size {}{fixed}.", self.scale);
        let each = self.free.iter().map(|range| {
            let Range { key, least, most, choices, unit, reason, .. } = range;
            match choices.as_slice() {
                [] => format!("Family: {key} from {least}{unit} to {most}{unit}. {reason}"),
                choices => format!("Family: {key} is one of {}. {reason}", choices.join(", ")),
            }
        });
        std::iter::once(size).chain(each).collect()
    }
}

/// How a family judges a target.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    /// The published value: from the first to the second number.
    pub(crate) published: (f64, f64),
    /// Whether the publication has words alone, and the range is the one that the row accepts.
    #[serde(default)]
    words: bool,
    /// What the value is counted from, where it is a change: 100 for additional %, -100 for a reduction in %.
    #[serde(default)]
    from: f64,
    /// Why the model cannot show what was published, where a mechanism explains that.
    #[serde(default)]
    mechanism: String,
}

/// The verdict of a family on a published value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// The draws reach the published value.
    Inside,
    /// They miss it by half of their spread at most.
    Near,
    /// The published value is further from the draws.
    Outside,
    /// All draws have the other sign than the published value, and a mechanism explains why.
    Refuted,
    /// Some draws are more than twice as large as others.
    Undecided,
}

impl Fit {
    pub const ALL: [Self; 5] = [Self::Inside, Self::Near, Self::Undecided, Self::Outside, Self::Refuted];

    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Inside => "inside",
            Self::Near => "near",
            Self::Outside => "outside",
            Self::Refuted => "refuted",
            Self::Undecided => "undecided",
        }
    }

    /// Whether the published value is missed.
    pub const fn misses(self) -> bool {
        matches!(self, Self::Outside | Self::Refuted)
    }
}

impl Judgement {
    fn fit(&self, least: f64, most: f64) -> Fit {
        let (low, high) = self.published;
        let away = (least - high).max(low - most).max(0.0);
        let has_other_sign = (low >= 0.0 && most < 0.0) || (high <= 0.0 && least > 0.0);
        let [a, b] = [least, most].map(|value| value + self.from);
        let is_wide = a * b <= 0.0 || a.abs().max(b.abs()) > 2.0 * a.abs().min(b.abs());
        if low <= least && most <= high {
            Fit::Inside
        } else if has_other_sign && !self.mechanism.is_empty() {
            Fit::Refuted
        } else if away > (most - least) / 2.0 {
            Fit::Outside
        } else if is_wide {
            Fit::Undecided
        } else if away > 0.0 {
            Fit::Near
        } else {
            Fit::Inside
        }
    }

    /// Judges what the draws gave; nothing where there is none.
    pub(crate) fn of(&self, mut values: Vec<f64>) -> Option<Family> {
        values.sort_unstable_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        let fit = self.fit(least, most);
        let why = if fit == Fit::Refuted { self.mechanism.clone() } else { String::new() };
        let (draws, median) = (values.len(), middle(&values));
        Some(Family { draws, published: self.published, words: self.words, least, median, most, fit, why })
    }
}

/// The values of the draws of a family for a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// Draws that have a value.
    pub draws: usize,
    /// The published value: from the first to the second number, which may be infinite.
    pub published: (f64, f64),
    /// Whether the publication has words alone, and `published` is the range that the row accepts.
    pub words: bool,
    pub least: f64,
    pub median: f64,
    pub most: f64,
    pub fit: Fit,
    /// The mechanism behind a value that is refuted.
    pub why: String,
}

impl Family {
    pub(crate) fn to_json(&self) -> Value {
        let Self { draws, published: (low, high), words, least, median, most, fit, why } = self;
        let finite = |value: &f64| value.is_finite().then_some(*value);
        json!({
            "draws": draws, "published": [finite(low), finite(high)], "words": words, "least": least, "median": median,
            "most": most, "verdict": fit.name(), "why": why,
        })
    }

    /// The published value as it is judged, or the accepted range where the publication has words alone.
    pub fn judged(&self) -> String {
        let range = match self.published {
            (low, high) if low.is_infinite() => format!("at most {high}"),
            (low, high) if high.is_infinite() => format!("at least {low}"),
            (low, high) if low < high => format!("{low} to {high}"),
            (value, _) => value.to_string(),
        };
        if self.words { range + " (accepted)" } else { range }
    }
}

/// One part of a study: its simulations have a prefix to their names.
struct Part<'a> {
    monitor: &'a dyn Monitor,
    prefix: String,
    /// Simulations of the parts before it, and how many parts of its size are to come, this one included.
    before: usize,
    parts: usize,
    jobs: AtomicUsize,
}

impl<'a> Part<'a> {
    fn new(monitor: &'a dyn Monitor, prefix: String, before: usize, parts: usize) -> Self {
        Self { monitor, prefix, before, parts, jobs: AtomicUsize::new(0) }
    }

    fn named(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}

impl Monitor for Part<'_> {
    fn expect(&self, jobs: usize) {
        self.jobs.store(jobs, Ordering::Relaxed);
        self.monitor.expect(self.before + jobs * self.parts);
    }
    fn found(&self, jobs: usize) {
        self.monitor.found(jobs);
    }
    fn full_name(&self, name: &str) -> String {
        self.monitor.full_name(&self.named(name))
    }
    fn ended(&self, name: &str, how: &str) {
        self.monitor.ended(&self.named(name), how);
    }
    fn is_stopped(&self) -> bool {
        self.monitor.is_stopped()
    }
    fn seconds(&self) -> f64 {
        self.monitor.seconds()
    }
    fn recall(&self, name: &str) -> Option<Vec<u8>> {
        self.monitor.recall(&self.named(name))
    }
    fn keep(&self, name: &str, given: &[u8]) {
        self.monitor.keep(&self.named(name), given);
    }
    fn shard(&self) -> Shard {
        self.monitor.shard()
    }
    fn is_here(&self, name: &str) -> bool {
        self.monitor.is_here(&self.named(name))
    }
    fn threads(&self) -> Option<usize> {
        self.monitor.threads()
    }
}

/// Values of one key, at which parts of a study are run besides.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Steps {
    /// Largest size of each part, such as `1/32`.
    scale: String,
    key: String,
    pub values: Vec<f64>,
    /// Keys that all parts share.
    #[serde(default)]
    fixed: BTreeMap<String, String>,
}

impl Steps {
    /// The parts under their names, with generated traces.
    /// Errors: the scale is none.
    pub fn parts(&self, options: &Options) -> Result<Vec<(String, Options)>, StudyError> {
        let scale = Scale::parse(&self.scale)?.or_smaller(options.scale);
        let part = |value: &f64| {
            let own = (self.key.clone(), value.to_string());
            let drawn = Some(self.fixed.clone().into_iter().chain([own]).collect());
            let options = Options { scale, family: 0, drawn, traces: BTreeMap::new(), ..options.clone() };
            (format!("{} = {value}: ", self.key), options)
        };
        Ok(self.values.iter().map(part).collect())
    }
}

/// Results of `run` for the whole study, and then for parts of it; names of their simulations begin with their own
/// names.
/// Errors: the errors of `run`.
pub(crate) fn with_parts<T>(
    whole: &Options,
    parts: &[(String, Options)],
    monitor: &dyn Monitor,
    run: impl Fn(&Options, &dyn Monitor) -> Result<T, StudyError>,
) -> Result<(T, Vec<T>), StudyError> {
    let single = Part::new(monitor, String::new(), 0, 1);
    let found = run(whole, &single)?;
    let (mut before, mut all) = (single.jobs.into_inner(), Vec::new());
    for (number, (prefix, options)) in parts.iter().enumerate() {
        let part = Part::new(monitor, prefix.clone(), before, parts.len() - number);
        all.push(run(options, &part)?);
        before += part.jobs.into_inner();
    }
    Ok((found, all))
}

/// The study as it is, and on each draw of its family.
/// Errors: the errors of the study.
pub(crate) fn run(
    study: &Study,
    ranges: &Ranges,
    options: &Options,
    monitor: &dyn Monitor,
) -> Result<Findings, StudyError> {
    let scale = Scale::parse(&ranges.scale)?;
    let draw = |number| {
        let seed = options.seed.wrapping_add(u64::from(number));
        let drawn = Some(ranges.draw(options.seed, number));
        (format!("draw {number}: "), Options { family: 0, scale, seed, drawn, ..options.clone() })
    };
    let draws: Vec<_> = (1..=options.family).map(draw).collect();
    let whole = Options { family: 0, ..options.clone() };
    let (mut findings, drawn) = with_parts(&whole, &draws, monitor, |options, monitor| study.once(options, monitor))?;
    findings.missing += drawn.iter().map(|given| given.missing).sum::<usize>();
    if findings.missing == 0 {
        let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for Row { id, effect, .. } in drawn.into_iter().flat_map(|given| given.rows) {
            values.entry(id.into_owned()).or_default().extend(effect);
        }
        for row in &mut findings.rows {
            let judgement = study.targets.and_then(|targets| targets.judgement(&row.id));
            row.family = judgement.and_then(|judgement| judgement.of(values.remove(&*row.id)?));
        }
    }
    findings.notes.extend(ranges.notes(options.family));
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Targets;

    fn fit(published: (f64, f64), from: f64, least: f64, most: f64) -> Fit {
        Judgement { published, words: false, from, mechanism: String::new() }.fit(least, most)
    }

    #[test]
    fn a_value_is_outside_by_more_than_half_of_the_spread() {
        assert_eq!(fit((48.0, 48.0), 0.0, 40.0, 60.0), Fit::Inside);
        assert_eq!(fit((40.0, 40.0), 0.0, 40.0, 60.0), Fit::Inside);
        assert_eq!(fit((31.0, 31.0), 0.0, 40.0, 60.0), Fit::Near);
        assert_eq!(fit((29.0, 29.0), 0.0, 40.0, 60.0), Fit::Outside);
        assert_eq!(fit((3.0, 21.0), 100.0, 20.0, 40.0), Fit::Inside);
        assert_eq!(fit((3.0, 21.0), 100.0, 24.0, 40.0), Fit::Near);
        assert_eq!(fit((3.0, 21.0), 100.0, 24.0, 27.0), Fit::Outside);
        assert_eq!(fit((5.0, 5.0), 0.0, 4.0, 4.0), Fit::Outside);
    }

    /// A published 4 to 10 % was inside of draws of 19 to 48 %.
    #[test]
    fn a_value_that_no_draw_reaches_is_not_inside() {
        assert_eq!(fit((4.0, 10.0), 100.0, 18.68, 47.71), Fit::Near);
        assert_eq!(fit((4.0, 10.0), 100.0, 9.99, 47.71), Fit::Inside);
        assert_eq!(fit((4.0, 10.0), 100.0, 26.0, 47.71), Fit::Outside);
        assert!(!Fit::Near.misses());
    }

    #[test]
    fn draws_that_differ_by_more_than_twice_decide_nothing() {
        assert_eq!(fit((20.0, 20.0), 0.0, 10.0, 21.0), Fit::Undecided);
        assert_eq!(fit((20.0, 20.0), 0.0, -1.0, 25.0), Fit::Undecided);
        // A change of 10 to 21 % is one from 110 to 121.
        assert_eq!(fit((20.0, 20.0), 100.0, 10.0, 21.0), Fit::Inside);
        assert_eq!(fit((46.0, 46.0), -100.0, 20.0, 55.0), Fit::Inside);
        assert_eq!(fit((46.0, 46.0), -100.0, 20.0, 65.0), Fit::Undecided);
        // All that was published is that it falls, and it does in every draw.
        assert_eq!(fit((f64::NEG_INFINITY, 0.0), 0.0, -30.0, -1.0), Fit::Inside);
        assert_eq!(fit((f64::NEG_INFINITY, 0.0), 0.0, -30.0, 1.0), Fit::Undecided);
    }

    #[test]
    fn only_a_mechanism_and_another_sign_in_all_draws_refute() {
        let mechanism = "Because.".to_owned();
        let explained = Judgement { published: (3.0, 21.0), words: false, from: 100.0, mechanism };
        let family = explained.of(vec![-30.0, -35.0, -28.0]).unwrap();
        assert_eq!((family.fit, family.why.as_str(), family.median), (Fit::Refuted, "Because.", -30.0));
        assert_eq!((family.least, family.most, family.draws), (-35.0, -28.0, 3));
        assert_eq!(explained.fit(-60.0, -10.0), Fit::Refuted);
        assert_eq!(explained.fit(40.0, 45.0), Fit::Outside);
        assert_eq!(fit((3.0, 21.0), 100.0, -35.0, -28.0), Fit::Outside);
        assert_eq!(explained.of(Vec::new()), None);
    }

    /// An accepted range stood under the head "published".
    #[test]
    fn a_range_that_is_not_published_says_so() {
        let text = |words| {
            let judgement =
                Judgement { published: (f64::NEG_INFINITY, 0.0), words, from: 0.0, mechanism: String::new() };
            judgement.of(vec![-1.0, -2.0]).unwrap().judged()
        };
        assert_eq!([false, true].map(text), ["at most 0", "at most 0 (accepted)"]);
    }

    #[test]
    fn draws_stay_in_their_range_and_do_not_depend_on_their_number() {
        let range = |law, step| {
            let [key, unit, reason] = ["k", "", "r"].map(str::to_owned);
            Range { key, least: 4.0, most: 64.0, choices: Vec::new(), law, step, unit, reason }
        };
        let draw = |range: &Range, number| range.draw(7, number).parse::<f64>().unwrap();
        let below_16 = |law| (1..=400).filter(|number| draw(&range(law, 0.0), *number) < 16.0).count();
        assert!((50..110).contains(&below_16(Law::Even)) && (160..240).contains(&below_16(Law::Ratio)));
        for number in 1..=100 {
            let value = draw(&range(Law::Ratio, 4.0), number);
            assert!((4.0..=64.0).contains(&value) && value % 4.0 == 0.0, "{value}");
        }
        let choices = Range { choices: ["a", "b"].map(str::to_owned).to_vec(), ..range(Law::Even, 0.0) };
        let first = (1..=400).filter(|number| choices.draw(7, *number) == "a").count();
        assert!((160..240).contains(&first), "{first}");
    }

    /// A key of a generator that no study reads would be drawn for nothing. Keys of a drive are checked when the drive
    /// is built.
    #[test]
    fn ranges_are_ranges_of_keys_that_a_study_reads() {
        let sources = [
            include_str!("load.rs"),
            include_str!("partial_parity/loads.rs"),
            include_str!("striping/loads.rs"),
            include_str!("tpm/traces.rs"),
            include_str!("tpm/runs.rs"),
        ];
        for study in crate::STUDIES {
            let ranges = study.targets.and_then(Targets::ranges);
            let steps = study.targets.and_then(Targets::steps);
            let of_steps = steps.iter().flat_map(|steps| steps.fixed.keys().chain([&steps.key]));
            for key in ranges.iter().flat_map(|ranges| ranges.fixed.keys()).chain(of_steps) {
                let is_read = sources.iter().any(|source| source.contains(&format!("drawn(\"{key}\"")));
                assert!(is_read || !key.starts_with("trace."), "{}: nothing reads {key}", study.name);
            }
            for range in ranges.iter().flat_map(|ranges| &ranges.free) {
                let Range { key, least, most, choices, law, reason, .. } = range;
                let is_range = least < most && (*least > 0.0 || matches!(law, Law::Even));
                assert!(is_range == choices.is_empty() && choices.len() != 1, "{}: {range:?}", study.name);
                assert!(reason.ends_with('.'), "{}: {range:?}", study.name);
                let is_read = sources.iter().any(|source| source.contains(&format!("drawn(\"{key}\"")));
                assert!(is_read || !key.starts_with("trace."), "{}: nothing reads {key}", study.name);
            }
        }
    }
}
