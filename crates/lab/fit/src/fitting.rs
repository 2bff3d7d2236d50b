//! Fitting: one parameter after the other, in a fixed order, each to the figures that tell it, twice.
//!
//! Faithful to: a figure that nothing was fitted to is a prediction, whatever it turns out to be.
//! Simplified: parameters are taken one by one, so that the first round fits each beside start values of those behind
//! it; the second one corrects that.

use crate::measured::{Experiment, MeasuredDrive};
use crate::parameter::{PARAMETERS, Parameter, Told};
use crate::subject::{Outcome, Subject};
use experiment::{Monitor, ThreadsError};
use simulator::Setting;
use std::collections::{BTreeMap, BTreeSet};
use units::Nanos;

/// Times that every parameter is fitted.
const ROUNDS: usize = 2;
/// A fitted figure is as near as this, as a share of it.
const NEAR: f64 = 0.003;
/// Most values of a parameter that are tried in a round.
const TRIES: usize = 8;
/// A parameter by so much larger changes its figures by at least so much, or it has no effect on them.
const NUDGE: f64 = 0.05;
const NO_EFFECT: f64 = 0.003;
/// Logarithm by which a parameter is changed without effect before it is taken to have none: what limits a rate may
/// be something else until then.
const SPAN: f64 = 1.2;
/// How much alike two parameters change all fitted figures when they cannot be told apart: the cosine.
const ALIKE: f64 = 0.98;

/// Watches a fit: its experiments are jobs.
pub trait Watch: Monitor {
    /// A value of a parameter is tried.
    fn tries(&self, _parameter: &Parameter, _value: &str) {}
}

impl Watch for () {}

/// A drive that was fitted.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// Keys and their values, in the order in which they were fitted.
    pub settings: Vec<(String, String)>,
    /// What every experiment gives then, in the order of the file.
    pub outcomes: Vec<Outcome>,
    /// Figures that a parameter was fitted to: the number of the experiment, and the name.
    figures: BTreeSet<(usize, &'static str)>,
    /// What a reader should know: parameters that could not be fitted or told apart.
    pub warnings: Vec<String>,
}

impl Fitted {
    /// Whether a parameter was fitted to this figure of an experiment, by its number from 0.
    pub fn has(&self, number: usize, name: &'static str) -> bool {
        self.figures.contains(&(number, name))
    }
}

/// Why there is no fitted drive.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    #[error("stopped")]
    Stopped,
    /// The figures or the stack cannot be used: why.
    #[error("{0}")]
    Unfit(String),
    /// The system does not give the threads.
    #[error(transparent)]
    Threads(#[from] ThreadsError),
}

/// Fits a stack to what was measured of a drive.
/// Errors: no figure is meant for fitting, an experiment cannot be done on the stack, or the watch stopped it.
pub fn fit(start: Subject, measured: &MeasuredDrive, watch: &dyn Watch) -> Result<Fitted, FitError> {
    let all = &measured.experiments;
    if all.iter().all(|experiment| experiment.fit.is_empty()) {
        return Err(FitError::Unfit(
            "no experiment names a figure in fit = [\"…\"]: say which figures to fit to; the others are predicted"
                .to_owned(),
        ));
    }
    let mut fitting = Fitting { measured, subject: start, found: BTreeMap::new(), warnings: Vec::new() };
    for round in 0..ROUNDS {
        for parameter in &PARAMETERS {
            let told = parameter.told(all);
            if !told.is_empty() {
                fitting.solve(parameter, &told, round, watch)?;
            }
        }
    }
    if fitting.found.is_empty() {
        return Err(FitError::Unfit(format!(
            "nothing could be fitted: the figures that are to be fitted to tell no parameter of this stack. {}",
            fitting.warnings.join("; ")
        )));
    }
    fitting.tell_apart(watch)?;
    let numbers: Vec<usize> = (0..all.len()).collect();
    let outcomes = run(&fitting.subject, measured, &numbers, watch)?;
    let figures: BTreeSet<_> = fitting.told().iter().map(|(number, name, _)| (*number, *name)).collect();
    fitting.note_what_is_left(&figures, &outcomes);
    Ok(Fitted { settings: fitting.settings(), outcomes, figures, warnings: fitting.warnings })
}

/// A fit under way.
struct Fitting<'a> {
    measured: &'a MeasuredDrive,
    subject: Subject,
    /// Parameters that were fitted, by their keys.
    found: BTreeMap<&'static str, f64>,
    warnings: Vec<String>,
}

impl Fitting<'_> {
    /// The figures of all parameters that were fitted, each once.
    fn told(&self) -> Vec<Told> {
        let fitted = PARAMETERS.iter().filter(|parameter| self.found.contains_key(parameter.key));
        let mut told: Vec<Told> = fitted.flat_map(|parameter| parameter.told(&self.measured.experiments)).collect();
        told.sort_by_key(|(number, name, _)| (*number, *name));
        told.dedup_by_key(|(number, name, _)| (*number, *name));
        told
    }

    fn settings(&self) -> Vec<(String, String)> {
        let fitted = PARAMETERS.iter().filter_map(|parameter| {
            let value = self.found.get(parameter.key)?;
            Some(parameter.written(self.subject.config(), *value))
        });
        fitted.collect()
    }

    /// Finds the value of a parameter at which its figures are right in the mean.
    fn solve(&mut self, parameter: &Parameter, told: &[Told], round: usize, watch: &dyn Watch) -> Result<(), FitError> {
        let Some(mut value) = parameter.value(self.subject.config()) else {
            if round == 0 {
                self.warnings.push(format!(
                    "{} has no value above 0 in the stack to begin with, and was not fitted",
                    parameter.key
                ));
            }
            return Ok(());
        };
        let mut told = told.to_vec();
        let (low, high) = parameter.range;
        let mut tried: Vec<(f64, f64)> = Vec::new();
        for _ in 0..TRIES {
            let errors = match self.errors(parameter, value, &told, watch) {
                // A value that makes no drive ends the search, where another one did.
                Err(FitError::Unfit(_)) if !tried.is_empty() => break,
                errors => errors?,
            };
            if tried.is_empty() {
                self.leave_out(parameter, &mut told, &errors, round);
            }
            // So does one that makes a drive without a figure that it had.
            let known: Vec<f64> = errors.into_iter().flatten().collect();
            if told.is_empty() || known.len() < told.len() {
                break;
            }
            let error = known.iter().sum::<f64>() / known.len() as f64;
            tried.push((value.ln(), error));
            if error.abs() < NEAR {
                break;
            }
            let next = next_value(&tried).exp().clamp(low, high);
            if tried.iter().any(|(tried, _)| (tried - next.ln()).abs() < NEAR / 10.0) {
                break;
            }
            if is_without_effect(&tried) {
                if round == 0 {
                    self.warnings.push(format!(
                        "{} has no effect on what tells it ({}) and keeps its value",
                        parameter.key,
                        self.names(&told)
                    ));
                }
                return self.take(parameter, tried[0].0.exp());
            }
            value = next;
        }
        let best = tried.iter().min_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
        let Some((best, _)) = best.copied() else { return Ok(()) };
        self.found.insert(parameter.key, best.exp());
        self.take(parameter, best.exp())
    }

    /// Leaves out the figures that the simulated drive does not have. A drive without a cache has no cliff.
    fn leave_out(&mut self, parameter: &Parameter, told: &mut Vec<Told>, errors: &[Option<f64>], round: usize) {
        let (known, missing): (Vec<_>, Vec<_>) = told.drain(..).zip(errors).partition(|(_, error)| error.is_some());
        for ((number, name, _), _) in missing.iter().filter(|_| round == 0) {
            self.warnings.push(format!(
                "the simulated drive has no {name} in \"{}\", and {} was not fitted to it: begin with a stack (--from) \
                 that has, or take it out of `fit`",
                self.measured.experiments[*number].title(),
                parameter.key
            ));
        }
        told.extend(known.into_iter().map(|(told, _)| told));
    }

    fn take(&mut self, parameter: &Parameter, value: f64) -> Result<(), FitError> {
        self.subject = self.with(parameter, value)?;
        Ok(())
    }

    fn with(&self, parameter: &Parameter, value: f64) -> Result<Subject, FitError> {
        let (key, text) = parameter.written(self.subject.config(), value);
        self.subject.with(&[Setting::new(&key, &text, "the fit")]).map_err(FitError::Unfit)
    }

    /// How far each figure is off, as logarithms; positive: the parameter is too large. `None`: the drive has none.
    fn errors(
        &mut self,
        parameter: &Parameter,
        value: f64,
        told: &[Told],
        watch: &dyn Watch,
    ) -> Result<Vec<Option<f64>>, FitError> {
        let subject = self.with(parameter, value)?;
        watch.tries(parameter, &parameter.written(subject.config(), value).1);
        let found = figures(&subject, self.measured, told, watch)?;
        if parameter.value(self.subject.config()) == Some(value) {
            self.subject = subject; // with the states that were made for it
        }
        let error = |((number, name, sign), found): (&Told, &Option<f64>)| {
            found.map(|found| sign * (found / self.measured.experiments[*number].measured[name]).ln())
        };
        Ok(told.iter().zip(&found).map(error).collect())
    }

    /// Warns of parameters that change the fitted figures alike, or not at all.
    fn tell_apart(&mut self, watch: &dyn Watch) -> Result<(), FitError> {
        let told = self.told();
        let before = figures(&self.subject, self.measured, &told, watch)?;
        let mut changes: Vec<(&Parameter, Vec<f64>)> = Vec::new();
        for parameter in PARAMETERS.iter().filter(|parameter| self.found.contains_key(parameter.key)) {
            let (value, most) = (self.found[parameter.key], parameter.range.1);
            let value = if value * (1.0 + NUDGE) > most { value * (1.0 - NUDGE) } else { value * (1.0 + NUDGE) };
            watch.tries(parameter, &parameter.written(self.subject.config(), value).1);
            let subject = self.with(parameter, value)?;
            let after = figures(&subject, self.measured, &told, watch)?;
            let change = |(before, after): (&Option<f64>, &Option<f64>)| {
                before.zip(*after).map_or(0.0, |(before, after)| (after / before).ln())
            };
            let change: Vec<f64> = before.iter().zip(&after).map(change).collect();
            if change.iter().all(|change| change.abs() < NO_EFFECT) {
                self.warnings.push(format!(
                    "{} changes none of the fitted figures at its value: it may as well be another one",
                    parameter.key
                ));
            } else {
                changes.push((parameter, change));
            }
            if let Some(other) = parameter.known_with.filter(|other| !self.found.contains_key(other)) {
                self.warnings.push(format!(
                    "{} and {other} cannot be told apart: what was fitted knows their sum alone. {other} kept its \
                     value",
                    parameter.key
                ));
            }
        }
        for (index, (one, change)) in changes.iter().enumerate() {
            for (other, its) in &changes[index + 1..] {
                if cosine(change, its).abs() > ALIKE {
                    self.warnings.push(format!(
                        "{} and {} cannot be told apart: they change all fitted figures alike. Measure something that \
                         only one of them changes, or leave one as it is",
                        one.key, other.key
                    ));
                }
            }
        }
        Ok(())
    }

    /// Figures that no parameter was fitted to although they were meant for it, and fitted ones that are not right all
    /// the same: something the stack does not have, or that contradicts others.
    fn note_what_is_left(&mut self, fitted: &BTreeSet<(usize, &'static str)>, outcomes: &[Outcome]) {
        for (number, (experiment, outcome)) in self.measured.experiments.iter().zip(outcomes).enumerate() {
            let title = experiment.title();
            for name in &experiment.fit {
                if !fitted.contains(&(number, *name)) {
                    let warning = format!("{name} of \"{title}\" tells no parameter of this stack: it is predicted");
                    self.warnings.push(warning);
                    continue;
                }
                let Some(found) = outcome.as_ref().ok().and_then(|found| found.get(name)) else { continue };
                let error = found / experiment.measured[name] - 1.0;
                if error.abs() > experiment.band(name).unwrap_or(0.1) {
                    self.warnings.push(format!(
                        "{name} of \"{title}\" was fitted to and is {:+.0} % off: it contradicts other figures, or the \
                         stack has nothing that explains it",
                        error * 100.0
                    ));
                }
            }
        }
    }

    fn names(&self, told: &[Told]) -> String {
        let name = |(number, name, _): &Told| format!("{name} of \"{}\"", self.measured.experiments[*number].title());
        told.iter().map(name).collect::<Vec<_>>().join(", ")
    }
}

/// What the subject makes of these figures; `None`: it has none of that name.
fn figures(
    subject: &Subject,
    measured: &MeasuredDrive,
    told: &[Told],
    watch: &dyn Watch,
) -> Result<Vec<Option<f64>>, FitError> {
    let mut numbers: Vec<usize> = told.iter().map(|(number, ..)| *number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let outcomes = run(subject, measured, &numbers, watch)?;
    let figure = |(number, name, _): &Told| {
        let place = numbers.iter().position(|one| one == number).expect("it was run");
        let experiment = &measured.experiments[*number];
        let found = outcomes[place].as_ref();
        let found = found.map_err(|text| FitError::Unfit(format!("\"{}\": {text}", experiment.title())))?;
        Ok(found.get(name).copied())
    };
    told.iter().map(figure).collect()
}

/// Does experiments by their numbers.
fn run(
    subject: &Subject,
    measured: &MeasuredDrive,
    numbers: &[usize],
    watch: &dyn Watch,
) -> Result<Vec<Outcome>, FitError> {
    let experiments = numbers.iter().map(|number| &measured.experiments[*number]);
    let experiments: Vec<(&Experiment, Nanos)> =
        experiments.map(|experiment| (experiment, measured.sources[&experiment.source].host_ns)).collect();
    let outcomes = subject.run_all(&experiments, watch)?;
    // What has ended is kept; the others were stopped.
    outcomes.into_iter().collect::<Option<_>>().ok_or(FitError::Stopped)
}

/// Whether values far from each other gave the same.
fn is_without_effect(tried: &[(f64, f64)]) -> bool {
    let span = |of: fn(&(f64, f64)) -> f64| {
        let values = tried.iter().map(of);
        values.clone().fold(f64::MIN, f64::max) - values.fold(f64::MAX, f64::min)
    };
    let width = span(|(value, _)| *value);
    width > SPAN && span(|(_, error)| *error) < 0.02 * width
}

/// The next logarithm to try: between two values of different signs, or along the line through the last two.
fn next_value(tried: &[(f64, f64)]) -> f64 {
    let (x, error) = tried[tried.len() - 1];
    // As if the figure were proportional, and by half as much or double at most.
    let guess = x - error.clamp(-0.7, 0.7);
    let below = tried.iter().filter(|(_, error)| *error < 0.0).max_by(|a, b| a.0.total_cmp(&b.0));
    let above = tried.iter().filter(|(_, error)| *error > 0.0).min_by(|a, b| a.0.total_cmp(&b.0));
    if let (Some((low, under)), Some((high, over))) = (below, above)
        && low < high
    {
        let share = (under / (under - over)).clamp(0.1, 0.9);
        return low + share * (high - low);
    }
    let [.., (before, error_before), _] = tried else { return guess };
    let slope = (error - error_before) / (x - before);
    // Where it has no effect yet, a good deal further.
    if slope > 0.05 { x - (error / slope).clamp(-1.5, 1.5) } else { x - 0.7 * error.signum() }
}

fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    product(a, b) / (product(a, a) * product(b, b)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that are tried until a rising error is about 0.
    fn tries(error: impl Fn(f64) -> f64, start: f64) -> Vec<f64> {
        let mut tried = vec![(start, error(start))];
        while tried.len() < TRIES && tried[tried.len() - 1].1.abs() >= NEAR {
            let next = next_value(&tried);
            tried.push((next, error(next)));
        }
        tried.into_iter().map(|(value, _)| value).collect()
    }

    #[test]
    fn a_search_ends_at_the_value_whatever_the_slope() {
        for (slope, start) in [(1.0, 0.0), (1.0, 4.5), (0.3, 1.0), (2.5, 0.5), (2.5, 3.0)] {
            let tried = tries(|value| slope * (value - 2.0), start);
            let last = tried[tried.len() - 1];
            assert!((last - 2.0).abs() < 0.02, "slope {slope} from {start}: {tried:?}");
        }
        // Flat until 1: something else is the limit there.
        let tried = tries(|value| if value < 1.0 { -0.5 } else { 0.5 * (value - 2.0) }, 0.0);
        assert!((tried[tried.len() - 1] - 2.0).abs() < 0.1, "{tried:?}");
    }

    #[test]
    fn only_values_far_apart_tell_that_a_parameter_has_no_effect() {
        assert!(!is_without_effect(&[(0.0, -0.5), (0.7, -0.5)]));
        assert!(is_without_effect(&[(0.0, -0.5), (0.7, -0.5), (1.4, -0.5)]));
        assert!(!is_without_effect(&[(0.0, -0.5), (0.7, -0.45), (1.4, -0.3)]));
    }
}
