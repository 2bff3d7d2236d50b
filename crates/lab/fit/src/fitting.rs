//! Fitting: one parameter after the other, in a fixed order, each to the figures that tell it, until nothing changes.
//!
//! 1. The marks of the file say which figures are fitted ([`Evidence`]), and those which parameters they tell.
//! 2. Each parameter is varied within its range until its figures are right in the mean. A value that makes a drive
//!    which was simulated already is not simulated again.
//! 3. The same again, as the first round fitted each beside start values of those behind it, until a round changes
//!    nothing.
//! 4. Parameters that change all fitted figures alike are named.
//! 5. All experiments are done on what was found.
//!
//! Faithful to: a figure that nothing was fitted to is a prediction, whatever it turns out to be.
//! Simplified: parameters are taken one by one.

use crate::doubts::{Doubt, Doubts};
use crate::fio::SOURCE;
use crate::marks::{Evidence, Mark};
use crate::measured::{Experiment, MeasuredDrive};
use crate::parameter::{PARAMETERS, Parameter, Told, Unit, is_by_page};
use crate::search::{TRIES, Tried, is_without_effect, near, next_value};
use crate::subject::{Outcome, Subject};
use experiment::{Monitor, ThreadsError};
use simulator::Setting;
use std::collections::{BTreeMap, BTreeSet};
use units::Nanos;

/// Times that every parameter is fitted, as a rule and at most.
const ROUNDS: usize = 2;
const MOST_ROUNDS: usize = 4;
/// A value within this share of a bound stands at it: figures do not tell it more exactly.
const AT_BOUND: f64 = 0.02;
/// A parameter by so much larger changes its figures by at least so much, or it has no effect on them.
const NUDGE: f64 = 0.05;
const NO_EFFECT: f64 = 0.003;
/// How much alike two parameters change all fitted figures when they cannot be told apart: the cosine.
const ALIKE: f64 = 0.98;
/// By how much another name has to be nearer, in the mean over its figures, before it is taken.
const NEARER: f64 = 0.012;

/// Watches a fit: its experiments are jobs.
pub trait Watch: Monitor {
    /// A step begins, from 1, of so many.
    fn begins(&self, _step: usize, _of: usize) {}
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
    /// Figures that a parameter was fitted to.
    pub figures: BTreeSet<Mark>,
    /// What a reader should know: parameters that could not be fitted or told apart.
    pub warnings: Vec<String>,
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
    if measured.experiments.iter().all(|experiment| experiment.fit.is_empty()) {
        let is_fio = measured.experiments.iter().all(|experiment| experiment.source == SOURCE);
        let why = if is_fio {
            "no job of these tells a parameter: needed are randread or randwrite at depth 1 or at 32 and more, or \
             write (in order). --judge needs none"
        } else {
            "no experiment names a figure in fit = [\"…\"]: say which figures to fit to; the others are predicted"
        };
        return Err(FitError::Unfit(why.to_owned()));
    }
    let mut fitting = Fitting::new(start, measured)?;
    let due: Vec<(&Parameter, Vec<Told>)> = PARAMETERS
        .iter()
        .map(|parameter| (parameter, parameter.told(&fitting.evidence)))
        .filter(|(_, told)| !told.is_empty())
        .collect();
    let mut steps = 0;
    for round in 0..MOST_ROUNDS {
        let before = fitting.settings();
        steps = ROUNDS.max(round + 1) * due.len() + 2;
        for (number, (parameter, told)) in due.iter().enumerate() {
            watch.begins(round * due.len() + number + 1, steps);
            fitting.solve(parameter, told, watch)?;
        }
        if fitting.settings() == before {
            break;
        }
    }
    if fitting.found.is_empty() {
        let mut why = vec!["nothing could be fitted: the figures to fit to tell no parameter of this stack".to_owned()];
        why.extend(fitting.warnings(Vec::new()));
        return Err(FitError::Unfit(why.join("; ")));
    }
    watch.begins(steps - 1, steps);
    fitting.tell_apart(watch)?;
    watch.begins(steps, steps);
    let numbers: Vec<usize> = (0..measured.experiments.len()).collect();
    let outcomes = fitting.subject.all(measured, &numbers, watch)?;
    let figures: BTreeSet<Mark> = fitting.told().iter().map(|(number, name, _)| (*number, *name)).collect();
    let left = fitting.what_is_left(&figures, &outcomes);
    let settings = fitting.settings();
    Ok(Fitted { settings, outcomes, figures, warnings: fitting.warnings(left) })
}

/// A parameter that was fitted.
struct Found {
    /// `None`: it is one of some names.
    value: Option<f64>,
    key: String,
    text: String,
}

/// A fit under way.
struct Fitting<'a> {
    measured: &'a MeasuredDrive,
    evidence: Evidence<'a>,
    subject: Subject,
    /// What was changed before anything was fitted, and what it means stayed the same.
    converted: Vec<(String, String)>,
    /// Parameters that were fitted, by their keys.
    found: BTreeMap<&'static str, Found>,
    /// What a reader should know of parameters.
    doubts: Doubts,
    /// Figures that the simulated drive does not have, and the parameters that were not fitted to them.
    lacking: BTreeMap<Mark, BTreeSet<&'static str>>,
}

impl<'a> Fitting<'a> {
    fn new(start: Subject, measured: &'a MeasuredDrive) -> Result<Self, FitError> {
        let evidence = Evidence::of_stack(measured, start.config());
        let mut converted = Vec::new();
        if is_by_page(start.config()) && !evidence.is_by_page {
            // The same for small requests, so that large ones can be told from them.
            let was = &start.config().resolved;
            let moved = [
                ("controller.page_time", "controller.request_time"),
                ("controller.write_time", "controller.write_request_time"),
            ];
            for (key, other) in moved {
                if let Some(time) = was.get(key) {
                    converted.push((other.to_owned(), time.clone()));
                    converted.push((key.to_owned(), "0ns".to_owned()));
                }
            }
        }
        let settings: Vec<Setting> = converted.iter().map(|(key, text)| Setting::new(key, text, "the fit")).collect();
        let subject = if settings.is_empty() { start } else { start.with(&settings).map_err(FitError::Unfit)? };
        let (found, doubts, lacking) = (BTreeMap::new(), Doubts::default(), BTreeMap::new());
        Ok(Self { measured, evidence, subject, converted, found, doubts, lacking })
    }

    /// The figures of all parameters that were fitted, each once.
    fn told(&self) -> Vec<Told> {
        let fitted = PARAMETERS.iter().filter(|parameter| self.found.contains_key(parameter.key));
        let mut told: Vec<Told> = fitted.flat_map(|parameter| parameter.told(&self.evidence)).collect();
        told.sort_by_key(|(number, name, _)| (*number, *name));
        told.dedup_by_key(|(number, name, _)| (*number, *name));
        told
    }

    fn settings(&self) -> Vec<(String, String)> {
        let found = PARAMETERS.iter().filter_map(|parameter| self.found.get(parameter.key));
        let found: Vec<(String, String)> = found.map(|found| (found.key.clone(), found.text.clone())).collect();
        let converted = self.converted.iter().filter(|(key, _)| found.iter().all(|(other, _)| key != other));
        converted.cloned().chain(found.iter().cloned()).collect()
    }

    /// Finds the value of a parameter at which its figures are right in the mean.
    fn solve(&mut self, parameter: &Parameter, told: &[Told], watch: &dyn Watch) -> Result<(), FitError> {
        self.doubts.forget(parameter.key);
        self.lacking.values_mut().for_each(|keys| _ = keys.remove(parameter.key));
        if parameter.unit == Unit::Name {
            return self.choose(parameter, told, watch);
        }
        let Some(mut value) = parameter.first(&self.evidence, self.subject.config()) else {
            let text = "has no value above 0 in the stack to begin with, and was not fitted";
            self.doubts.add(Doubt::Untold, &[parameter.key], text);
            return Ok(());
        };
        let mut told = told.to_vec();
        let (low, high) = parameter.range(self.subject.config());
        let enough = near(told.iter().map(|(_, name, _)| *name));
        let mut tried: Vec<Tried> = Vec::new();
        let mut drives: Vec<String> = Vec::new();
        let mut best: Option<(f64, f64, Subject)> = None;
        while tried.len() < TRIES {
            let subject = match self.with(parameter, value) {
                // A value that makes no drive ends the search, where another one did.
                Err(_) if !tried.is_empty() => break,
                subject => subject?,
            };
            // So does one that makes a drive which was tried.
            if drives.contains(&subject.identity()) {
                break;
            }
            drives.push(subject.identity());
            watch.tries(parameter, &parameter.written(subject.config(), value).1);
            let errors = match subject.errors(self.measured, &told, watch) {
                Err(FitError::Unfit(_)) if !tried.is_empty() => break,
                errors => errors?,
            };
            if tried.is_empty() {
                self.leave_out(parameter, &mut told, &errors);
            }
            // And one that makes a drive without a figure that it had.
            let known: Vec<f64> = errors.into_iter().flatten().collect();
            if told.is_empty() || known.len() < told.len() {
                break;
            }
            let error = known.iter().sum::<f64>() / known.len() as f64;
            tried.push((value.ln(), error));
            if best.as_ref().is_none_or(|(least, ..)| error.abs() < least.abs()) {
                best = Some((error, value, subject));
            }
            if error.abs() < enough {
                break;
            }
            if is_without_effect(&tried) {
                let text = format!("has no effect on what tells it ({}) and keeps its value", self.names(&told));
                self.doubts.add(Doubt::Untold, &[parameter.key], &text);
                return Ok(());
            }
            value = next_value(&tried).exp().clamp(low, high);
        }
        let Some((error, value, subject)) = best else { return Ok(()) };
        self.doubt_bound(parameter, value, [low, high], (error, enough), &told);
        let (key, text) = parameter.written(subject.config(), value);
        self.found.insert(parameter.key, Found { value: Some(value), key, text });
        self.subject = subject; // with the states that were made for it
        Ok(())
    }

    /// Warns of a parameter that ended at an end of its range. Its figures want a value beyond it, or would agree with
    /// one.
    fn doubt_bound(
        &mut self,
        parameter: &Parameter,
        value: f64,
        [low, high]: [f64; 2],
        (error, enough): (f64, f64),
        told: &[Told],
    ) {
        let is_at = |bound: f64| (value / bound - 1.0).abs() < AT_BOUND;
        let (at, names, from) = (parameter.spoken(value), self.names(told), parameter.source);
        let wants = match (error > enough, error < -enough) {
            (true, _) if is_at(low) => Some("less"),
            (_, true) if is_at(high) => Some("more"),
            _ => None,
        };
        let text = match wants {
            Some(wants) => format!("stopped at its bound, {at}: {names} would take {wants}. The bound: {from}"),
            None if is_at(low) || is_at(high) => {
                let side = if is_at(low) { "smaller" } else { "larger" };
                format!("ended at its bound, {at}: {names} may be true of a {side} value as well. The bound: {from}")
            }
            None => return,
        };
        self.doubts.add(Doubt::AtBound, &[parameter.key], &text);
    }

    /// Tries each name that a parameter may have; another one is taken where its figures are clearly nearer.
    fn choose(&mut self, parameter: &Parameter, told: &[Told], watch: &dyn Watch) -> Result<(), FitError> {
        let Some(now) = self.subject.config().resolved.get(parameter.key).cloned() else { return Ok(()) };
        let mut best: Option<(f64, String, Subject)> = None;
        // The present one first: others have to be better.
        let others = parameter.names().into_iter().filter(|name| *name != now).map(str::to_owned);
        for name in std::iter::once(now.clone()).chain(others) {
            watch.tries(parameter, &name);
            let setting = Setting::new(parameter.key, &name, "the fit");
            // Not every name makes a drive with the rest of the stack.
            let Ok(subject) = self.subject.with(&[setting]) else { continue };
            let errors = match subject.errors(self.measured, told, watch) {
                Err(FitError::Unfit(_)) => continue,
                errors => errors?,
            };
            let known: Vec<f64> = errors.into_iter().flatten().map(f64::abs).collect();
            if known.len() < told.len() {
                continue;
            }
            let error = known.iter().sum::<f64>() / known.len() as f64;
            if best.as_ref().is_none_or(|(least, ..)| error + NEARER < *least) {
                best = Some((error, name, subject));
            }
        }
        let Some((_, name, subject)) = best else { return Ok(()) };
        self.found.insert(parameter.key, Found { value: None, key: parameter.key.to_owned(), text: name });
        self.subject = subject;
        Ok(())
    }

    /// Leaves out the figures that the simulated drive does not have. A drive without a cache has no cliff.
    fn leave_out(&mut self, parameter: &Parameter, told: &mut Vec<Told>, errors: &[Option<f64>]) {
        let (known, missing): (Vec<_>, Vec<_>) = told.drain(..).zip(errors).partition(|(_, error)| error.is_some());
        for ((number, name, _), _) in &missing {
            self.lacking.entry((*number, *name)).or_default().insert(parameter.key);
        }
        told.extend(known.into_iter().map(|(told, _)| told));
    }

    /// One warning for each parameter, and those of figures: what the simulated drive lacks, and what is `left`.
    fn warnings(self, left: Vec<String>) -> Vec<String> {
        let lacking = self.lacking.into_iter().filter(|(_, keys)| !keys.is_empty()).map(|((number, name), keys)| {
            let title = self.measured.titled(number);
            let keys = keys.into_iter().collect::<Vec<_>>().join(", ");
            format!(
                "{name} of {title} was not fitted to ({keys}), as the simulated drive has no {name}: begin with a \
                 stack (--from) that has, or take it out of `fit`"
            )
        });
        self.doubts.told().into_iter().chain(lacking).chain(left).collect()
    }

    fn with(&self, parameter: &Parameter, value: f64) -> Result<Subject, FitError> {
        let (key, text) = parameter.written(self.subject.config(), value);
        self.subject.with(&[Setting::new(&key, &text, "the fit")]).map_err(FitError::Unfit)
    }

    /// Warns of parameters that change the fitted figures alike, or not at all.
    fn tell_apart(&mut self, watch: &dyn Watch) -> Result<(), FitError> {
        let told = self.told();
        let before = self.subject.figures(self.measured, &told, watch)?;
        let mut changes: Vec<(&Parameter, Vec<f64>)> = Vec::new();
        for parameter in &PARAMETERS {
            let Some(value) = self.found.get(parameter.key).and_then(|found| found.value) else { continue };
            // Nothing else changes write amplification, and another state takes long to make.
            if parameter.told(&self.evidence).iter().all(|(_, name, _)| *name == "waf") {
                continue;
            }
            let most = parameter.range(self.subject.config()).1;
            let value = if value * (1.0 + NUDGE) > most { value * (1.0 - NUDGE) } else { value * (1.0 + NUDGE) };
            watch.tries(parameter, &parameter.written(self.subject.config(), value).1);
            let subject = self.with(parameter, value)?;
            let after = subject.figures(self.measured, &told, watch)?;
            let change = |(before, after): (&Option<f64>, &Option<f64>)| {
                before.zip(*after).map_or(0.0, |(before, after)| (after / before).ln())
            };
            let change: Vec<f64> = before.iter().zip(&after).map(change).collect();
            if change.iter().all(|change| change.abs() < NO_EFFECT) {
                let text = "changes none of the fitted figures at its value: it may as well be another one";
                self.doubts.add(Doubt::Untold, &[parameter.key], text);
            } else {
                changes.push((parameter, change));
            }
        }
        self.note_alike(&changes);
        Ok(())
    }

    fn note_alike(&mut self, changes: &[(&Parameter, Vec<f64>)]) {
        let mut pairs = Vec::new();
        for (index, (one, change)) in changes.iter().enumerate() {
            let others = changes[index + 1..].iter().filter(|(_, its)| cosine(change, its).abs() > ALIKE);
            pairs.extend(others.map(|(other, _)| [one.key, other.key]));
        }
        self.doubts.add_alike(&pairs);
        let is_found = |key: &str| self.found.contains_key(key);
        if is_found("flash.read_time") && !is_found("host.latency") && !is_found("controller.latency") {
            let text = "cannot be told apart: what was fitted knows their sum alone. host.latency kept its value";
            self.doubts.add(Doubt::Alike, &["flash.read_time", "host.latency"], text);
        }
    }

    /// Figures that no parameter was fitted to although they were meant for it, and fitted ones that are not right all
    /// the same: something the stack does not have, or that contradicts others.
    fn what_is_left(&self, fitted: &BTreeSet<Mark>, outcomes: &[Outcome]) -> Vec<String> {
        let mut left = Vec::new();
        for mark in &self.evidence.marks {
            let (experiment, name) = (&self.measured.experiments[mark.0], mark.1);
            let title = self.measured.titled(mark.0);
            if !fitted.contains(mark) {
                left.push(format!("{name} of {title} tells no parameter of this stack: it is predicted"));
                continue;
            }
            let Some(found) = outcomes[mark.0].as_ref().ok().and_then(|found| found.get(name)) else { continue };
            let error = found / experiment.measured[name] - 1.0;
            if error.abs() > experiment.band(name).unwrap_or(0.1) {
                left.push(format!(
                    "{name} of {title} was fitted to and is {:+.0} % off: it contradicts other figures, or the \
                     stack has nothing that explains it",
                    error * 100.0
                ));
            }
        }
        left
    }

    fn names(&self, told: &[Told]) -> String {
        let name = |(number, name, _): &Told| format!("{name} of {}", self.measured.titled(*number));
        told.iter().map(name).collect::<Vec<_>>().join(", ")
    }
}

impl Subject {
    /// How far each figure is off, as logarithms; positive: what tells it is too large. `None`: the drive has none.
    fn errors(&self, measured: &MeasuredDrive, told: &[Told], watch: &dyn Watch) -> Result<Vec<Option<f64>>, FitError> {
        let found = self.figures(measured, told, watch)?;
        let error = |((number, name, sign), found): (&Told, &Option<f64>)| {
            found.map(|found| sign * (found / measured.experiments[*number].measured[name]).ln())
        };
        Ok(told.iter().zip(&found).map(error).collect())
    }

    /// What it makes of these figures; `None`: it has none of that name.
    fn figures(
        &self,
        measured: &MeasuredDrive,
        told: &[Told],
        watch: &dyn Watch,
    ) -> Result<Vec<Option<f64>>, FitError> {
        let wanted: BTreeSet<Mark> = told.iter().map(|(number, name, _)| (*number, *name)).collect();
        let numbers: BTreeSet<usize> = wanted.iter().map(|(number, _)| *number).collect();
        let short = |number: &usize| measured.experiments[*number].only(|name| wanted.contains(&(*number, name)));
        let short: Vec<Experiment> = numbers.iter().map(short).collect();
        let experiments: Vec<(&Experiment, Nanos)> =
            short.iter().map(|experiment| (experiment, measured.host_ns(experiment))).collect();
        let outcomes = self.run_to_the_end(&experiments, watch)?;
        let of: BTreeMap<usize, &Outcome> = numbers.into_iter().zip(&outcomes).collect();
        let figure = |(number, name, _): &Told| {
            let unfit = |text: &String| FitError::Unfit(format!("{}: {text}", measured.titled(*number)));
            let found = of[number].as_ref().map_err(unfit)?;
            Ok(found.get(name).copied())
        };
        told.iter().map(figure).collect()
    }

    /// Does experiments of a drive by their numbers.
    /// Errors: the watch stopped them, or there are no threads.
    pub fn all(
        &self,
        measured: &MeasuredDrive,
        numbers: &[usize],
        watch: &dyn Watch,
    ) -> Result<Vec<Outcome>, FitError> {
        let experiments = numbers.iter().map(|number| &measured.experiments[*number]);
        let experiments: Vec<(&Experiment, Nanos)> =
            experiments.map(|experiment| (experiment, measured.host_ns(experiment))).collect();
        self.run_to_the_end(&experiments, watch)
    }

    fn run_to_the_end(
        &self,
        experiments: &[(&Experiment, Nanos)],
        watch: &dyn Watch,
    ) -> Result<Vec<Outcome>, FitError> {
        let outcomes = self.run_all(experiments, watch)?;
        // What has ended is kept; the others were stopped.
        outcomes.into_iter().collect::<Option<_>>().ok_or(FitError::Stopped)
    }
}

fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    product(a, b) / (product(a, a) * product(b, b)).sqrt()
}
