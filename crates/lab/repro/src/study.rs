//! A study, and the options of a run of it.

use crate::alone;
use crate::error::StudyError;
use crate::family::{self, Draw, Fit, MOST_DRAWS};
#[cfg(test)]
use crate::row::Class;
use crate::row::{Row, Verdict};
use crate::target::Targets;
use experiment::Monitor;
use figures::Figure;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

#[derive(Debug)]
pub struct Study {
    /// Name on the command line.
    pub name: &'static str,
    /// Its subject, in a line.
    pub title: &'static str,
    pub paper: &'static str,
    /// The runs and their drives, in some sentences.
    pub method: &'static str,
    /// The smallest size at which its rows mean something.
    pub least: Scale,
    /// The size unless something else is asked for.
    pub usual: Scale,
    /// How long that takes on two free cores, in words.
    pub takes: &'static str,
    /// Rows that a figure shows, by the name of the figure.
    pub shown: &'static [(&'static str, &'static [&'static str])],
    /// Its table of targets, where its rows have one, and the ranges of its family.
    pub(crate) targets: Option<&'static Targets>,
    /// The study on one input.
    pub(crate) run: fn(&Options, &dyn Monitor) -> Result<Findings, StudyError>,
}

impl Study {
    /// Runs the study, and its family where `options` ask for one.
    /// Errors: options or files that cannot be used, or a simulation that fails.
    pub fn reproduce(&self, options: &Options, monitor: &dyn Monitor) -> Result<Findings, StudyError> {
        let mut findings = match self.targets.and_then(Targets::ranges) {
            Some(ranges) if options.family > 0 => family::run(self, ranges, options, monitor)?,
            _ => self.once(options, monitor)?,
        };
        let is_usual = options.traces.is_empty() && findings.changed.is_empty();
        for row in &mut findings.rows {
            // Draws have a size of their own.
            let is_usual_size = options.scale == self.usual || row.family.is_some();
            if !(is_usual_size && is_usual) {
                row.judged_elsewhere(self.usual);
            }
        }
        Ok(findings)
    }

    /// The names of its figures, in words; `None`: it has none.
    pub fn figures(&self) -> Option<String> {
        let names: Vec<&str> = self.shown.iter().map(|(figure, _)| *figure).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// Runs the study on one input: all of it, or the figure that is asked for. Under parameters that the publication
    /// has not, no row is judged.
    pub(crate) fn once(&self, options: &Options, monitor: &dyn Monitor) -> Result<Findings, StudyError> {
        let mut findings = match &options.figure {
            Some(name) => alone::run(self, name, options, monitor)?,
            None => (self.run)(options, monitor)?,
        };
        findings.changed =
            options.changed(self.settings()).map(|(name, value, _)| format!("{name} = {value}")).collect();
        if !findings.changed.is_empty() {
            findings.rows.iter_mut().for_each(Row::judge_no_more);
        }
        Ok(findings)
    }

    /// Numbers of the rows that a figure shows.
    pub(crate) fn rows_of(&self, figure: &str) -> &'static [&'static str] {
        self.shown.iter().find(|(name, _)| *name == figure).map_or(&[], |(_, rows)| rows)
    }

    /// Names under which files may stand in for generated traces.
    pub fn traces(&self) -> impl Iterator<Item = &'static str> {
        let patterns = self.targets.map_or(&[][..], Targets::patterns);
        patterns.iter().map(|pattern| pattern.trace.as_str()).filter(|name| !name.is_empty())
    }

    /// Settings that users can choose.
    pub fn settings(&self) -> &'static [Setting] {
        self.targets.map_or(&[], Targets::choices)
    }

    /// Whether it has ranges to draw a family from.
    pub fn has_family(&self) -> bool {
        self.targets.is_some_and(|targets| targets.ranges().is_some())
    }
}

/// Something that can be chosen, beside the defaults that are compared with the publication.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    pub name: String,
    /// Its values; the first is the default.
    pub choices: Vec<String>,
    pub doc: String,
}

/// Size of a reproduction as a share of the published one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// The share is one over this; a power of two up to 4096.
    divisor: u32,
}

impl Scale {
    /// The size of the published experiment: nothing is divided.
    pub const FULL: Self = Self { divisor: 1 };
    /// The size unless another one is asked for.
    pub const DEFAULT: Self = Self { divisor: 4 };

    /// One over `divisor`, a power of two up to 4096.
    pub(crate) const fn one_over(divisor: u32) -> Self {
        Self { divisor }
    }

    /// The smaller one of two sizes.
    pub(crate) fn or_smaller(self, other: Self) -> Self {
        Self { divisor: self.divisor.max(other.divisor) }
    }

    /// One over the share.
    pub(crate) const fn divisor(self) -> u32 {
        self.divisor
    }

    /// Reads `1/4` or `1`.
    /// Errors: anything but one over a power of two up to 4096.
    pub fn parse(text: &str) -> Result<Self, StudyError> {
        let divisor = match text.split_once('/') {
            Some(("1", divisor)) => divisor,
            None => text,
            _ => "",
        };
        let plain_one_only = text.contains('/') || text == "1";
        match divisor.parse::<u32>() {
            Ok(divisor) if plain_one_only && divisor.is_power_of_two() && divisor <= 4096 => Ok(Self { divisor }),
            _ => Err(StudyError::Usage(format!(
                "scale `{text}`: it is 1 (the published size) or one over a power of two up to 4096, such as 1/4"
            ))),
        }
    }

    /// `amount`, scaled and rounded down, at least 1.
    pub fn of(self, amount: u64) -> u64 {
        (amount / u64::from(self.divisor)).max(1)
    }
}

impl std::fmt::Display for Scale {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.divisor == 1 { write!(out, "1") } else { write!(out, "1/{}", self.divisor) }
    }
}

/// Choices of the user for a run of a study.
#[derive(Clone, Debug)]
pub struct Options {
    pub scale: Scale,
    /// Seed of generators and drives.
    pub seed: u64,
    /// Files that stand in for generated traces, by name.
    pub traces: BTreeMap<String, String>,
    /// Settings that differ from their default.
    pub settings: BTreeMap<String, String>,
    /// How many draws of the study's family are run beside the study; 0: none.
    pub family: u32,
    /// A figure, or the beginning of the numbers of some rows, which alone are wanted; `None`: all of them.
    pub figure: Option<String>,
    /// The draw of a family that is run: keys and values. A study fills it in for its draws.
    pub drawn: Option<Draw>,
}

impl Default for Options {
    fn default() -> Self {
        let (traces, settings) = (BTreeMap::new(), BTreeMap::new());
        Self { scale: Scale::DEFAULT, seed: 1, traces, settings, family: 0, figure: None, drawn: None }
    }
}

impl Options {
    /// The value of a setting.
    pub fn setting<'a>(&'a self, setting: &'a Setting) -> &'a str {
        self.settings.get(&setting.name).unwrap_or(&setting.choices[0])
    }

    /// Whether this is a draw of a family, of which only the rows are wanted that a family judges.
    pub(crate) fn is_drawn(&self) -> bool {
        self.drawn.is_some()
    }

    /// The number that was drawn for a key, or `default`.
    pub(crate) fn drawn(&self, key: &str, default: f64) -> f64 {
        self.drawn_text(key).and_then(|value| value.parse().ok()).unwrap_or(default)
    }

    /// The value that was drawn for a key.
    pub(crate) fn drawn_text(&self, key: &str) -> Option<&str> {
        self.drawn.as_ref()?.get(key).map(String::as_str)
    }

    /// Values that were drawn for the drive, by keys of a configuration. Keys of traces begin with `trace.` and are
    /// left out.
    pub(crate) fn drawn_settings(&self) -> impl Iterator<Item = (&str, String)> {
        let all = self.drawn.iter().flatten().filter(|(key, _)| !key.starts_with("trace."));
        all.map(|(key, value)| (key.as_str(), value.clone()))
    }

    /// Notes of a run: its size in words, and each setting that is not the default one.
    pub(crate) fn notes(&self, size: String, settings: &[Setting]) -> Vec<String> {
        let changed = self.changed(settings);
        let told = changed.map(|(name, value, setting)| {
            format!("{name} = {value} instead of {}: {}.", setting.choices[0], setting.doc)
        });
        std::iter::once(size).chain(told).collect()
    }

    /// Settings that differ from their defaults, which are those of the publication: name and value.
    fn changed<'a>(&'a self, settings: &'a [Setting]) -> impl Iterator<Item = (&'a str, &'a str, &'a Setting)> {
        let all = settings.iter().map(|setting| (setting.name.as_str(), self.setting(setting), setting));
        all.filter(|(_, value, setting)| *value != setting.choices[0])
    }

    /// Refuses names and values the study does not know, and sizes at which its rows mean nothing.
    /// Errors: the first unknown one, with the known ones; the smallest size.
    pub fn check(&self, study: &Study) -> Result<(), StudyError> {
        let Study { name, least, .. } = study;
        if self.scale.divisor > least.divisor {
            let scale = self.scale;
            return Err(StudyError::Usage(format!(
                "--scale {scale}: rows of the study `{name}` mean nothing at this size; its smallest is {least}"
            )));
        }
        if self.family > 0 {
            self.check_family(study)?;
        }
        for name in self.traces.keys() {
            let known: Vec<&str> = study.traces().collect();
            if !known.contains(&name.as_str()) {
                let there = match &known[..] {
                    [] => "it takes none".to_owned(),
                    known => format!("files can stand in for {}", known.join(", ")),
                };
                let problem = format!("the study `{}` has no trace called `{name}`; {there}", study.name);
                return Err(StudyError::Usage(problem));
            }
        }
        for (name, value) in &self.settings {
            let Some(setting) = study.settings().iter().find(|setting| setting.name == *name) else {
                let known: Vec<&str> = study.settings().iter().map(|setting| setting.name.as_str()).collect();
                return Err(StudyError::Usage(format!(
                    "the study `{}` has no setting `{name}`; it has {}",
                    study.name,
                    known.join(", ")
                )));
            };
            if !setting.choices.contains(value) {
                return Err(StudyError::Usage(format!(
                    "setting {name} = {value}: choose one of {}",
                    setting.choices.join(", ")
                )));
            }
        }
        Ok(())
    }
}

impl Options {
    fn check_family(&self, study: &Study) -> Result<(), StudyError> {
        let draws = self.family;
        let problem = if !study.has_family() {
            format!("the study `{}` has no family", study.name)
        } else if !(2..=MOST_DRAWS).contains(&draws) {
            format!("a family has 2 to {MOST_DRAWS} draws")
        } else if !self.traces.is_empty() {
            "a family stands for traces that nobody has; leave --trace out".to_owned()
        } else {
            return Ok(());
        };
        Err(StudyError::Usage(format!("--family {draws}: {problem}")))
    }
}

/// The findings of a study.
#[derive(Clone, Debug)]
pub struct Findings {
    /// Rows, in the order of their numbers.
    pub rows: Vec<Row>,
    /// Figures of the study, in the order of its page.
    pub figures: Vec<Figure>,
    /// Remarks for readers about all of it.
    pub notes: Vec<String>,
    /// Simulations that had not ended when the user stopped it. Rows that need them are not run.
    pub missing: usize,
    /// Settings that differ from the publication, as `name = value`.
    pub changed: Vec<String>,
    /// Figures that were measured and modelled, by the name of the thing they belong to; empty: none are drawn.
    pub pairs: Vec<Pairs>,
}

/// Measured and modelled figures of one thing.
#[derive(Clone, Debug)]
pub struct Pairs {
    pub name: String,
    pub all: Vec<Pair>,
}

/// A figure that was measured, and the same figure of a model.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Number of its row.
    pub row: String,
    /// Its name, with both values.
    pub about: String,
    /// The unit of both values.
    pub unit: &'static str,
    pub measured: f64,
    pub modelled: f64,
    /// Within the accepted values.
    pub is_within: bool,
}

impl Findings {
    /// The findings. Values of figures that are no numbers are none: the events that they count did not happen.
    pub(crate) fn new(rows: Vec<Row>, mut figures: Vec<Figure>, notes: Vec<String>, missing: usize) -> Self {
        for figure in &mut figures {
            figure.published.retain(|(_, value)| value.is_finite());
            for panel in &mut figure.panels {
                panel.published.retain(|(_, value)| value.is_finite());
                let values = panel.series.iter_mut().flat_map(|series| &mut series.values);
                values.for_each(|value| *value = value.filter(|value| value.is_finite()));
            }
        }
        Self { rows, figures, notes, missing, changed: Vec::new(), pairs: Vec::new() }
    }

    /// How many rows have a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }

    /// All verdicts in a line, rows that miss by their numbers.
    pub fn summary(&self) -> String {
        self.told(true)
    }

    /// All verdicts in a line that stands above the numbers of the rows.
    pub(crate) fn counts(&self) -> String {
        self.told(false)
    }

    fn told(&self, is_named: bool) -> String {
        let named = |rows: &[&str]| {
            if is_named && !rows.is_empty() { format!(": {}", rows.join(", ")) } else { String::new() }
        };
        let missed = |is_known: bool| -> Vec<&str> {
            let rows = self.rows.iter().filter(|row| row.verdict == Verdict::Fail && row.known.is_some() == is_known);
            rows.map(|row| &*row.id).collect()
        };
        let [pass, fail] = [Verdict::Pass, Verdict::Fail].map(|verdict| self.count(verdict));
        // Before any verdict: the others stand for a part of the study alone.
        let mut text = match self.count(Verdict::NotRun) {
            0 => String::new(),
            not_run => format!("{not_run} of {} rows not run. ", self.rows.len()),
        };
        let is_judged = self.changed.is_empty() || pass + fail > 0;
        if is_judged {
            let _ = write!(text, "{pass} of {} judged rows pass", pass + fail);
        }
        for (is_known, what) in [(false, "miss"), (true, "known to miss")] {
            let rows = missed(is_known);
            if !rows.is_empty() {
                let _ = write!(text, ", {} {what}{}", rows.len(), named(&rows));
            }
        }
        if !self.changed.is_empty() {
            let rows = |verdict| self.rows.iter().filter(move |row| row.verdict == verdict).map(|row| &*row.id);
            let outside: Vec<&str> = rows(Verdict::Outside).collect();
            let (changed, within) = (self.changed.join(", "), rows(Verdict::Within).count());
            let _ = write!(
                text,
                "{}under other parameters than the published ones ({changed}) {within} of {} rows lie within the \
                 accepted values, {} outside{}",
                if is_judged { "; " } else { "" },
                within + outside.len(),
                outside.len(),
                named(&outside)
            );
        }
        for (verdict, what) in [(Verdict::Forced, "forced"), (Verdict::Recorded, "recorded")] {
            let count = self.count(verdict);
            if count > 0 {
                let _ = write!(text, "; {count} {what}");
            }
        }
        self.family().map_or(text.clone(), |family| format!("by one trace {text}; {family}"))
    }

    /// The verdicts of the family in a line, published values that it misses by the numbers of their rows.
    fn family(&self) -> Option<String> {
        let rows =
            |fit| self.rows.iter().filter(move |row| row.family.as_ref().is_some_and(|family| family.fit == fit));
        let all: usize = Fit::ALL.iter().map(|fit| rows(*fit).count()).sum();
        let counted = Fit::ALL.iter().filter(|fit| rows(**fit).count() > 0).map(|fit| {
            let ids: Vec<&str> = rows(*fit).map(|row| &*row.id).collect();
            format!("{} {} ({})", ids.len(), fit.name(), ids.join(", "))
        });
        (all > 0).then(|| format!("by the family, of {all} rows: {}", counted.collect::<Vec<_>>().join(", ")))
    }
}

#[cfg(test)]
impl Findings {
    /// Laws that hold at any size: every row is there once and in order, and each exact row passes unless `no_input`
    /// names it. No panel is empty, figures show rows that are there, and no text has a number that is none.
    pub(crate) fn check(&self, study: &Study, targets: &Targets, no_input: &[&str]) {
        let ids: Vec<&str> = self.rows.iter().map(|row| &*row.id).collect();
        assert_eq!(ids, targets.ids());
        for row in self.rows.iter().filter(|row| row.class == Class::Exact) {
            let expected = if no_input.contains(&&*row.id) { Verdict::NotRun } else { Verdict::Pass };
            assert_eq!(row.verdict, expected, "{row:?}");
        }
        assert!(self.figures.iter().all(|figure| figure.panels.iter().all(|panel| !panel.series.is_empty())));
        for (name, rows) in study.shown {
            assert!(self.figures.iter().any(|figure| figure.name == *name), "{} has no figure {name}", study.name);
            assert!(rows.iter().all(|id| ids.contains(id)), "{name} shows {rows:?}");
        }
        let unknown = self.figures.iter().find(|figure| study.rows_of(figure.name).is_empty());
        assert!(unknown.is_none(), "no rows stand beside {unknown:?}");
        let written = [crate::to_json(&self.rows, true).to_string(), crate::render(study, self)];
        for text in written.into_iter().chain(self.figures.iter().map(figures::Figure::to_csv)) {
            let is_none = |word: &&str| ["nan", "inf"].contains(&word.to_ascii_lowercase().as_str());
            let found = text.split(|c: char| !c.is_alphanumeric()).find(is_none);
            assert_eq!(found, None, "{}: {text}", study.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_powers_of_two() {
        assert_eq!(Scale::parse("1/4").unwrap(), Scale::DEFAULT);
        assert_eq!(Scale::parse("1").unwrap(), Scale::FULL);
        assert_eq!(Scale::parse("1/256").unwrap().of(1024), 4);
        assert_eq!(Scale::parse("1/4096").unwrap().of(7), 1);
        assert_eq!(Scale::DEFAULT.to_string(), "1/4");
        for wrong in ["", "2", "1/3", "2/4", "1/8192", "1/", "x", "1/0"] {
            let error = Scale::parse(wrong).unwrap_err().to_string();
            assert!(error.contains("power of two"), "{wrong}: {error}");
        }
    }

    #[test]
    fn unknown_names_are_refused_with_what_there_is() {
        let study = crate::find("tpm").unwrap();
        let mut options = Options::default();
        options.traces.insert("webserch".to_owned(), "x.spc".to_owned());
        assert!(options.check(study).unwrap_err().to_string().contains("websearch"));
        let mut options = Options::default();
        options.settings.insert("service".to_owned(), "both".to_owned());
        assert!(options.check(study).unwrap_err().to_string().contains("serial, parallel"));
        let mut options = Options::default();
        options.settings.insert("servise".to_owned(), "serial".to_owned());
        assert!(options.check(study).unwrap_err().to_string().contains("service"));
    }
}
