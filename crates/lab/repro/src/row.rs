//! A row: the published value beside the measured one.

use crate::family::Family;
use crate::study::Scale;
use serde::Deserialize;
use serde_json::{Value, json};
use std::borrow::Cow;

/// A text of a table of targets, or of a file.
pub type Text = Cow<'static, str>;

/// How a row is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Exact: a count or a law, gates the tests.
    Exact,
    /// A number within a band.
    Numeric,
    /// A trend or a sign.
    Trend,
    /// Shown and not judged.
    Recorded,
}

impl Class {
    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Exact => "E",
            Class::Numeric => "N",
            Class::Trend => "T",
            Class::Recorded => "recorded",
        }
    }
}

/// The verdict on a row, or why it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Within the accepted values.
    Pass,
    /// Outside; the program ends with code 6.
    Fail,
    /// Something that it needs is missing; the note names it.
    NotRun,
    /// Within the accepted values, as no model can miss it: it is counted apart.
    Forced,
    /// Within the accepted values, under other parameters than the published ones.
    Within,
    /// Outside, under other parameters: an answer, and no miss.
    Outside,
    /// Shown and not judged.
    Recorded,
}

impl Verdict {
    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Fail => "fail",
            Verdict::NotRun => "not-run",
            Verdict::Forced => "forced",
            Verdict::Within => "within",
            Verdict::Outside => "outside",
            Verdict::Recorded => "recorded",
        }
    }
}

/// The note of a row whose simulations have not all ended.
pub(crate) const STOPPED: &str =
    "The study was stopped before all simulations of this row had ended; the same command goes on.";

/// A row of a study.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Number of the target, such as `3.4`.
    pub id: Text,
    pub paper: Text,
    pub experiment: Text,
    /// In which figure of merit.
    pub metric: Text,
    pub published: Text,
    /// The measured value, in words; empty when nothing was measured.
    pub measured: String,
    /// The same as a number, in the unit of the metric.
    pub value: Option<f64>,
    /// The number that a family compares: the value, or one that stands for the figures of a statement.
    pub effect: Option<f64>,
    /// The values that the draws of a family gave, where one was run and judges this row.
    pub family: Option<Family>,
    /// The band, trend or statement that the measurement is judged by, in words.
    pub accept: String,
    /// How it is judged.
    pub class: Class,
    pub verdict: Verdict,
    /// Where the requests came from.
    pub workload: String,
    /// A remark for the readers of the row.
    pub note: String,
    /// Why it is known to miss at the usual size, with default settings and no files; `None`: a miss is new.
    pub known: Option<String>,
}

impl Row {
    pub fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "paper": self.paper,
            "experiment": self.experiment,
            "metric": self.metric,
            "published": self.published,
            "measured": self.measured,
            "value": self.value,
            "accept": self.accept,
            "class": self.class.name(),
            "verdict": self.verdict.name(),
            "workload": self.workload,
            "note": self.note,
            "known": self.known,
            "family": self.family.as_ref().map(Family::to_json),
        })
    }

    /// Whether it misses, and nobody has said why it would.
    pub fn is_new_miss(&self) -> bool {
        self.misses() && self.known.is_none()
    }

    /// Its size, a setting or a file is not the one that its miss is known for: a miss is new, and its note tells the
    /// reason that holds at the usual size.
    pub(crate) fn judged_elsewhere(&mut self, usual: Scale) {
        let known = self.known.take();
        if let Some(why) = known.filter(|_| self.misses()) {
            let space = if self.note.is_empty() { "" } else { " " };
            let known = format!("With default settings at scale {usual} the row is known to miss. {why}");
            self.note.extend([space, &known]);
        }
    }

    /// The same, and the number that a family compares.
    pub(crate) fn with_effect(self, effect: f64) -> Self {
        Self { effect: Some(effect).filter(|effect| effect.is_finite()), ..self }
    }

    /// Turns the verdict of a number or trend into a statement: the parameters are not the published ones. Exact rows
    /// hold under all parameters.
    pub(crate) fn judge_no_more(&mut self) {
        self.verdict = match (self.class, self.verdict) {
            (Class::Numeric | Class::Trend, Verdict::Pass) => Verdict::Within,
            (Class::Numeric | Class::Trend, Verdict::Fail) => Verdict::Outside,
            (_, verdict) => verdict,
        };
    }

    /// Whether the published value is missed: by the family, where there is one, else by the measurement.
    pub fn misses(&self) -> bool {
        let is_judged = !matches!(self.verdict, Verdict::Within | Verdict::Outside);
        is_judged && self.family.as_ref().map_or(self.verdict == Verdict::Fail, |family| family.fit.misses())
    }
}
