//! The file of a study: its plan, and the published and accepted values, by which measurements are judged.

use crate::error::StudyError;
use crate::family::{Judgement, Ranges, Steps};
use crate::load::Pattern;
use crate::row::{Class, Row, Verdict};
use crate::simulate::Bench;
use crate::study::{Options, Setting, Study};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::OnceLock;

/// The values of a row that are accepted.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Accept {
    /// A number from the first to the second value, both included.
    Within(f64, f64),
    /// A number at least this large.
    AtLeast(f64),
    /// A statement the study tests.
    Holds(String),
    /// Nothing is judged: the row only records a measurement.
    #[default]
    Anything,
}

/// An entry of a study's table of targets.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Number of the target.
    pub id: String,
    /// The publication; nothing: the publication of the study.
    #[serde(default)]
    pub paper: String,
    pub experiment: String,
    /// In which figure of merit.
    pub metric: String,
    /// Unit of the number, as it follows it: ` %`, ` points`, or nothing.
    #[serde(default)]
    pub unit: String,
    pub published: String,
    /// How it is judged.
    pub class: Class,
    #[serde(default)]
    pub accept: Accept,
    /// How a family of draws judges it; nothing: it does not.
    #[serde(default)]
    pub family: Option<Judgement>,
}

/// A study's file of TOML: its runs, and every target once, in the order of the rows.
pub(crate) struct Targets {
    text: &'static str,
    study: &'static Study,
    table: OnceLock<Table>,
}

/// Without what it holds, which leads back to the study.
impl std::fmt::Debug for Targets {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Targets of {}", self.study.name)
    }
}

/// The file of a table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    /// Settings that users can choose.
    #[serde(default)]
    setting: Vec<Setting>,
    #[serde(default)]
    workload: Vec<Pattern>,
    /// Settings of drives, by the names that the study has for them.
    #[serde(default)]
    drive: BTreeMap<String, BTreeMap<String, String>>,
    #[serde(default)]
    target: Vec<Target>,
    family: Option<Ranges>,
    steps: Option<Steps>,
    /// Rows that are known to miss at the usual size with default settings, and why.
    #[serde(default)]
    known: BTreeMap<String, String>,
}

impl Targets {
    /// The table of a study.
    pub const fn of(text: &'static str, study: &'static Study) -> Self {
        Self { text, study, table: OnceLock::new() }
    }

    /// Panics if the file is no table: it is part of the program.
    fn table(&self) -> &Table {
        self.table.get_or_init(|| {
            let mut table: Table =
                toml::from_str(self.text).unwrap_or_else(|error| panic!("{}: {error}", self.study.name));
            for target in table.target.iter_mut().filter(|target| target.paper.is_empty()) {
                self.study.paper.clone_into(&mut target.paper);
            }
            table
        })
    }

    /// The ranges of a family, where the study has one.
    pub fn ranges(&self) -> Option<&Ranges> {
        self.table().family.as_ref()
    }

    /// At which values of a key parts of it are run besides, where the study has some.
    pub fn steps(&self) -> Option<&Steps> {
        self.table().steps.as_ref()
    }

    /// The settings that the user can choose.
    pub fn choices(&self) -> &[Setting] {
        &self.table().setting
    }

    /// The chosen value of a setting.
    /// Panics if there is no setting of this name: a study knows its own.
    pub fn chosen<'a>(&'a self, options: &'a Options, name: &str) -> &'a str {
        let setting = self.choices().iter().find(|setting| setting.name == name);
        options.setting(setting.unwrap_or_else(|| panic!("no setting {name}")))
    }

    /// The same, where all choices are numbers.
    pub fn chosen_number<T: FromStr>(&self, options: &Options, name: &str) -> T {
        let value = self.chosen(options, name);
        value.parse().unwrap_or_else(|_| panic!("{name} = {value} is no number"))
    }

    /// The workloads, in their order.
    pub fn patterns(&self) -> &[Pattern] {
        &self.table().workload
    }

    /// The workload of a name.
    /// Panics if there is none of this name: a study knows its own workloads.
    pub fn pattern(&self, title: &str) -> &Pattern {
        self.patterns().iter().find(|pattern| pattern.title == title).unwrap_or_else(|| panic!("no workload {title}"))
    }

    /// The settings of drives, one over the other.
    /// Panics if there is none of a name: a study knows its own drives.
    pub fn settings(&self, drives: &[&str]) -> Vec<(&str, String)> {
        let all = &self.table().drive;
        let settings = drives.iter().flat_map(|drive| all.get(*drive).unwrap_or_else(|| panic!("no drive {drive}")));
        settings.map(|(key, value)| (key.as_str(), value.clone())).collect()
    }

    /// The drive that the settings of `drives` and `further` ones describe, a later one over those before it; `name`
    /// stands for it in messages.
    /// Errors: they do not fit together, or the scale leaves too little flash.
    pub fn bench<'a>(
        &'a self,
        options: &Options,
        name: &str,
        drives: &[&str],
        further: impl IntoIterator<Item = (&'a str, String)>,
    ) -> Result<Bench, StudyError> {
        let mut settings = self.settings(drives);
        settings.push(("engine.seed", options.seed.to_string()));
        settings.extend(further);
        Bench::new(name, &settings)
    }

    /// Why a row is known to miss; nothing: it is not.
    pub fn reason(&self, id: &str) -> Option<String> {
        self.table().known.get(id).cloned()
    }

    fn find(&self, id: &str) -> Option<&Target> {
        self.table().target.iter().find(|target| target.id == id)
    }

    /// How a family judges a target; nothing: it does not.
    pub fn judgement(&self, id: &str) -> Option<&Judgement> {
        self.find(id)?.family.as_ref()
    }

    /// Lines of a figure: the value that was published for a target, and the ends of the band that its row accepts.
    /// Panics if it has none of them: a study knows its own targets.
    pub fn lines(&self, id: &str) -> [(&'static str, f64); 3] {
        let target = self.find(id).unwrap_or_else(|| panic!("no target {id}"));
        match (&target.accept, &target.family) {
            (Accept::Within(low, high), Some(family)) => {
                [("accepted from", *low), ("published", family.published.0), ("accepted to", *high)]
            }
            _ => panic!("row {id} has no band"),
        }
    }

    /// The row of a target.
    /// Panics if there is none of this number, or it asks for another kind of thing: a study knows its own targets.
    pub fn row(&self, id: &str, measured: Measured, workload: &str, note: &str) -> Row {
        let row = self.find(id).unwrap_or_else(|| panic!("no target {id}")).row(measured, workload, note);
        Row { known: self.reason(id), ..row }
    }

    /// Numbers of the rows that are known to miss.
    #[cfg(test)]
    pub fn known(&self) -> Vec<&str> {
        self.table().known.keys().map(String::as_str).collect()
    }

    /// Every number, in the order of the table.
    #[cfg(test)]
    pub fn ids(&self) -> Vec<&str> {
        self.table().target.iter().map(|target| target.id.as_str()).collect()
    }
}

/// The finding of a study for a target.
#[derive(Clone, Debug, PartialEq)]
pub enum Measured {
    /// A number, in the target's unit.
    Number(f64),
    /// Whether the statement of the target holds, and the figures that show it.
    Statement { holds: bool, figures: String },
    /// Figures of a recorded row.
    Figures(String),
    /// It could not be measured.
    NotRun,
}

impl Measured {
    /// Whether the statement of a target holds, and the figures that show it.
    pub(crate) fn statement(holds: bool, figures: String) -> Self {
        Self::Statement { holds, figures }
    }
}

impl Accept {
    fn describe(&self, unit: &str) -> String {
        match self {
            Accept::Within(low, high) => format!("{low} to {high}{unit}"),
            Accept::AtLeast(low) => format!("at least {low}{unit}"),
            Accept::Holds(statement) => statement.clone(),
            Accept::Anything => String::new(),
        }
    }

    /// Whether `value` is accepted; a number that is none never is.
    fn takes(&self, value: f64) -> bool {
        match self {
            Accept::Within(low, high) => (*low..=*high).contains(&value),
            Accept::AtLeast(low) => value >= *low,
            Accept::Holds(_) | Accept::Anything => unreachable!("a statement is not judged by a number"),
        }
    }
}

impl Target {
    /// The row of this target.
    /// Panics if a study measured another kind of thing than its own target asks for.
    pub fn row(&self, measured: Measured, workload: &str, note: &str) -> Row {
        let (mut verdict, value, text) = self.judge(measured);
        let (text, is_whole) = spoken(&text);
        let (mut note, _) = spoken(note);
        if !is_whole && matches!(verdict, Verdict::Pass | Verdict::Fail) {
            verdict = Verdict::NotRun;
            note = if note.is_empty() { ABSENT.to_owned() } else { format!("{ABSENT} {note}") };
        }
        Row {
            id: self.id.clone().into(),
            paper: self.paper.clone().into(),
            experiment: self.experiment.clone().into(),
            metric: self.metric.clone().into(),
            published: self.published.clone().into(),
            measured: text,
            value,
            effect: value,
            family: None,
            accept: self.accept.describe(&self.unit),
            class: self.class,
            verdict,
            workload: workload.to_owned(),
            note,
            known: None,
        }
    }

    fn judge(&self, measured: Measured) -> (Verdict, Option<f64>, String) {
        let judged = |good: bool| if good { Verdict::Pass } else { Verdict::Fail };
        match (measured, self.class, &self.accept) {
            (Measured::NotRun, ..) => (Verdict::NotRun, None, String::new()),
            (Measured::Number(value), Class::Recorded, _) => {
                (Verdict::Recorded, Some(value).filter(|value| value.is_finite()), self.number(value))
            }
            (Measured::Figures(figures), Class::Recorded, _) => (Verdict::Recorded, None, figures),
            (Measured::Number(value), _, Accept::Within(..) | Accept::AtLeast(_)) => {
                (judged(self.accept.takes(value)), Some(value).filter(|value| value.is_finite()), self.number(value))
            }
            (
                Measured::Statement { holds, figures },
                Class::Exact | Class::Numeric | Class::Trend,
                Accept::Holds(_),
            ) => (judged(holds), None, figures),
            (measured, ..) => unreachable!("row {} takes no {measured:?}", self.id),
        }
    }

    /// A number with two decimals at most.
    fn number(&self, value: f64) -> String {
        if !value.is_finite() {
            return value.to_string(); // a dash is shown instead
        }
        let text = format!("{value:.2}");
        format!("{}{}", text.trim_end_matches('0').trim_end_matches('.'), self.unit)
    }
}

/// Why a row is not judged that has no value for something it compares.
const ABSENT: &str = "Not judged: nothing of a kind that it compares happened at this size; use a larger --scale.";

/// A text in which what is no number is a dash, and whether it had none of those: nothing divided by nothing is how
/// studies say that something did not happen.
fn spoken(text: &str) -> (String, bool) {
    let is_part = |c: char| c.is_alphanumeric();
    let (mut words, mut rest, mut is_whole) = (String::new(), text, true);
    while !rest.is_empty() {
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if ["NaN", "inf"].contains(&word) {
            is_whole = false;
            // Its sign goes with it.
            words.truncate(words.trim_end_matches(['-', '+']).len());
            words.push('-');
        } else {
            words.push_str(word);
        }
        let next = after.find(is_part).unwrap_or(after.len());
        words.push_str(&after[..next]);
        rest = &after[next..];
    }
    (words, is_whole)
}

/// The median of some values; no number where there are none.
pub(crate) fn middle(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = |place: usize| sorted.get(place).copied().unwrap_or(f64::NAN);
    f64::midpoint(at(values.len().saturating_sub(1) / 2), at(values.len() / 2))
}

/// How much more `new` is than `old`, %.
pub(crate) fn more(new: f64, old: f64) -> f64 {
    (new / old - 1.0) * 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(class: Class, accept: Accept) -> Target {
        let [id, paper, experiment, metric, unit, published] = ["9.9", "p", "e", "m", " %", "22 %"].map(str::to_owned);
        Target { id, paper, experiment, metric, unit, published, class, accept, family: None }
    }

    fn verdict(class: Class, accept: Accept, measured: Measured) -> Verdict {
        target(class, accept).row(measured, "generated", "").verdict
    }

    /// A row with another number would miss as if nobody had said why.
    #[test]
    fn each_known_miss_is_a_row_of_its_study() {
        let mut all = 0;
        for targets in crate::STUDIES.iter().filter_map(|study| study.targets) {
            let ids = targets.ids();
            let strange: Vec<&str> = targets.known().into_iter().filter(|id| !ids.contains(id)).collect();
            assert!(strange.is_empty(), "{targets:?}: {strange:?}");
            all += targets.known().len();
        }
        assert!(all > 0, "some rows miss");
    }

    #[test]
    fn bands_include_their_ends() {
        let band = Accept::Within(12.0, 35.0);
        for (value, expected) in [
            (11.99, Verdict::Fail),
            (12.0, Verdict::Pass),
            (35.0, Verdict::Pass),
            (35.01, Verdict::Fail),
            (f64::NAN, Verdict::NotRun),
        ] {
            assert_eq!(verdict(Class::Numeric, band.clone(), Measured::Number(value)), expected, "{value}");
        }
        assert_eq!(verdict(Class::Numeric, Accept::AtLeast(85.0), Measured::Number(f64::INFINITY)), Verdict::NotRun);
    }

    /// Rows said `NaN %`.
    #[test]
    fn what_is_no_number_is_a_dash_and_is_not_judged() {
        let row = target(Class::Numeric, Accept::AtLeast(85.0)).row(
            Measured::Number(f64::NAN),
            "generated",
            "By trace: NaN %, 5 %.",
        );
        assert_eq!((row.measured.as_str(), row.value, row.verdict), ("-", None, Verdict::NotRun));
        assert!(row.note.ends_with("By trace: - %, 5 %."), "{}", row.note);
        let figures = format!("{:+.1} points, {:.1}, {:.1} {:.1} banana NaNs", f64::NAN, f64::NEG_INFINITY, 1.5, -2.5);
        let row = target(Class::Trend, Accept::Holds("falls".to_owned())).row(
            Measured::statement(true, figures),
            "generated",
            "",
        );
        assert_eq!((row.measured.as_str(), row.verdict), ("- points, -, 1.5 -2.5 banana NaNs", Verdict::NotRun));
        let row = target(Class::Recorded, Accept::Anything).row(Measured::Number(f64::NAN), "generated", "information");
        assert_eq!(
            (row.measured.as_str(), row.value, row.verdict, row.note.as_str()),
            ("-", None, Verdict::Recorded, "information")
        );
    }

    #[test]
    fn statements_pass_or_fail_and_recorded_rows_do_neither() {
        let statement = |holds| Measured::Statement { holds, figures: "5 > 3".to_owned() };
        assert_eq!(verdict(Class::Trend, Accept::Holds("falls".to_owned()), statement(true)), Verdict::Pass);
        assert_eq!(verdict(Class::Exact, Accept::Holds("falls".to_owned()), statement(false)), Verdict::Fail);
        assert_eq!(verdict(Class::Recorded, Accept::Anything, Measured::Number(96.0)), Verdict::Recorded);
        assert_eq!(verdict(Class::Numeric, Accept::AtLeast(1.0), Measured::NotRun), Verdict::NotRun);
    }

    #[test]
    fn a_row_says_its_numbers_with_their_unit() {
        let row = target(Class::Numeric, Accept::Within(12.0, 35.5)).row(Measured::Number(22.104), "generated", "n");
        assert_eq!((row.measured.as_str(), row.accept.as_str()), ("22.1 %", "12 to 35.5 %"));
        let json = row.to_json();
        assert_eq!(json["class"], "N");
        assert_eq!(json["verdict"], "pass");
        assert_eq!(json["value"], 22.104);
    }

    #[test]
    #[should_panic(expected = "row 9.9 takes no")]
    fn a_number_for_a_statement_is_a_mistake_of_the_study() {
        verdict(Class::Trend, Accept::Holds("falls".to_owned()), Measured::Number(1.0));
    }
}
