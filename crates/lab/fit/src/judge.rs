//! Measured figures beside modelled ones, judged: the same way wherever they are shown.

use crate::figure::{self, Figure};
use crate::marks::Mark;
use crate::measured::{Experiment, MeasuredDrive};
use crate::subject::Outcome;
use std::collections::BTreeSet;

/// The verdict on a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A parameter was fitted to it.
    Fitted,
    /// A parameter was fitted to it, and it is outside its band all the same.
    FitMissed,
    /// It was not fitted, and is within its band.
    Predicted,
    /// It is outside its band.
    Missed,
    /// No drive can miss it, and it is within its band; or other figures of its experiment make it, within its band or
    /// not: it says nothing more of the model.
    Forced,
    /// The simulated drive has no such figure.
    NotFound,
    /// It is shown and not judged.
    Recorded,
}

impl Verdict {
    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Fitted => "fitted",
            Verdict::FitMissed => "fit missed",
            Verdict::Predicted => "predicted",
            Verdict::Missed => "missed",
            Verdict::Forced => "forced",
            Verdict::NotFound => "not found",
            Verdict::Recorded => "recorded",
        }
    }

    /// Whether a parameter was fitted to the figure, well or not.
    pub const fn is_of_fit(self) -> bool {
        matches!(self, Verdict::Fitted | Verdict::FitMissed)
    }
}

/// A measured figure, and the same figure of a simulated drive.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    /// The number of its experiment, from 0.
    pub number: usize,
    pub experiment: &'a Experiment,
    pub figure: &'static Figure,
    pub measured: f64,
    /// `None`: the simulated drive has none.
    pub modelled: Option<f64>,
    /// How far the model may be off, as a share; `None`: it is not judged.
    pub band: Option<f64>,
    pub verdict: Verdict,
    /// Why no drive can miss it, if none can.
    pub forced: Option<&'static str>,
}

impl Judged<'_> {
    /// Whether the model is farther from it than its band allows, whether it was fitted to or not. A figure that others
    /// make is not: they tell it.
    pub fn is_outside(&self) -> bool {
        let is_beyond = self.band.zip(self.error()).is_some_and(|(band, error)| error.abs() > band);
        is_beyond && self.verdict != Verdict::Forced
    }

    /// Modelled over measured, less 1.
    pub fn error(&self) -> Option<f64> {
        self.modelled.map(|modelled| modelled / self.measured - 1.0)
    }
}

/// All figures of a drive in the order of its file, judged; `fitted` has the figures that parameters were fitted to.
pub fn judge<'a>(measured: &'a MeasuredDrive, outcomes: &[Outcome], fitted: &BTreeSet<Mark>) -> Vec<Judged<'a>> {
    let forced = measured.forced(fitted);
    let mut all = Vec::new();
    for (number, (experiment, outcome)) in measured.experiments.iter().zip(outcomes).enumerate() {
        for (name, value) in &experiment.measured {
            let figure = figure::find(name).expect("experiments have figures that there are");
            let modelled = outcome.as_ref().ok().and_then(|found| found.get(name)).copied();
            let band = experiment.band(name);
            let forced = forced.get(&(number, figure.name)).copied();
            let error = modelled.map(|modelled| (modelled / value - 1.0).abs());
            let repeats = forced.is_some_and(|forced| forced.repeats);
            let verdict = match (fitted.contains(&(number, figure.name)), band, error) {
                (true, Some(band), Some(error)) if error > band => Verdict::FitMissed,
                (true, ..) => Verdict::Fitted,
                (_, _, None) => Verdict::NotFound,
                (_, None, _) => Verdict::Recorded,
                (_, Some(band), Some(error)) if error > band && !repeats => Verdict::Missed,
                _ if forced.is_some() => Verdict::Forced,
                _ => Verdict::Predicted,
            };
            all.push(Judged {
                number,
                experiment,
                figure,
                measured: *value,
                modelled,
                band,
                verdict,
                forced: forced.map(|forced| forced.why),
            });
        }
    }
    all
}

/// How many figures have a verdict.
pub fn count(judged: &[Judged<'_>], verdict: Verdict) -> usize {
    judged.iter().filter(|one| one.verdict == verdict).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A figure that was 6,550 % off was `fitted`.
    #[test]
    fn a_fit_outside_its_band_is_no_fit() {
        let text = "name = \"d\"\ncapacity = \"100GB\"\n[source.s]\ntext = \"t\"\n[[experiment]]\nkind = \"closed\"\n\
                    op = \"read\"\ndepth = 1\nsource = \"s\"\nfit = [\"mean\"]\nmeasured = { mean = \"60us\" }\n";
        let drive = MeasuredDrive::from_text(text, "d").unwrap();
        let of = |mean: f64| judge(&drive, &[Ok([("mean", mean)].into())], &drive.marks())[0].verdict;
        assert_eq!([of(62e3), of(66.5 * 60e3)], [Verdict::Fitted, Verdict::FitMissed]);
    }
}
