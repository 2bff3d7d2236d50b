//! One figure of a study alone, or some of its rows: only the simulations that they need are run.
//!
//! ```text
//!  the study without a simulation -> holes that the figure and its rows look at -> the study with these simulations
//!                                              ^                                               |
//!                                              +-------- holes that were not known before -----+
//! ```
//! *Protects*: no study has a second form, and a figure is the same alone and among the others.

use crate::cells::{self, Need};
use crate::error::StudyError;
use crate::study::{Findings, Options, Study};
use experiment::{Monitor, Shard};
use layer::spelling::did_you_mean;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Runs some simulations alone, and keeps what they give.
struct Chosen<'a> {
    monitor: &'a dyn Monitor,
    names: BTreeSet<String>,
    given: Mutex<BTreeMap<String, Vec<u8>>>,
    /// Simulations of the whole study.
    all: AtomicUsize,
}

impl Chosen<'_> {
    fn given(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Monitor for Chosen<'_> {
    fn expect(&self, jobs: usize) {
        self.all.store(jobs, Ordering::Relaxed);
    }
    fn ended(&self, name: &str, how: &str) {
        self.monitor.ended(name, how);
    }
    fn is_stopped(&self) -> bool {
        self.monitor.is_stopped()
    }
    fn seconds(&self) -> f64 {
        self.monitor.seconds()
    }
    fn recall(&self, name: &str) -> Option<Vec<u8>> {
        if !self.names.contains(name) {
            return None;
        }
        if let Some(given) = self.given().get(name) {
            return Some(given.clone());
        }
        let given = self.monitor.recall(name)?;
        self.monitor.found(1);
        self.given().insert(name.to_owned(), given.clone());
        Some(given)
    }
    fn keep(&self, name: &str, given: &[u8]) {
        self.given().insert(name.to_owned(), given.to_vec());
        self.monitor.keep(name, given);
    }
    fn shard(&self) -> Shard {
        self.monitor.shard()
    }
    fn is_here(&self, name: &str) -> bool {
        self.names.contains(name) && self.monitor.is_here(name)
    }
    fn threads(&self) -> Option<usize> {
        self.monitor.threads()
    }
}

/// A figure and rows of a study.
struct Selection {
    figures: BTreeSet<&'static str>,
    rows: BTreeSet<String>,
}

impl Selection {
    /// The figure called `name` and the rows that it shows. Otherwise the rows whose numbers begin with `name`, and the
    /// figures that show them.
    /// Errors: neither a figure nor a row has this name.
    fn of(study: &Study, name: &str, findings: &Findings, needs: &[Need]) -> Result<Self, StudyError> {
        let drawn = findings.figures.iter().map(|figure| figure.name);
        let figures: BTreeSet<&'static str> =
            drawn.chain(needs.iter().flat_map(|need| need.figures.iter().copied())).collect();
        if let Some(figure) = figures.get(name) {
            let rows = match study.rows_of(figure) {
                [] => rows_beside(figure, needs),
                rows => rows.iter().map(|id| (*id).to_owned()).collect(),
            };
            return Ok(Self { figures: BTreeSet::from([*figure]), rows });
        }
        let ids = || findings.rows.iter().map(|row| &*row.id);
        let rows: BTreeSet<String> = ids().filter(|id| is_in_group(id, name)).map(str::to_owned).collect();
        if rows.is_empty() {
            let near = did_you_mean(name, figures.iter().copied().chain(ids()));
            let known: Vec<&str> = figures.into_iter().collect();
            return Err(StudyError::Usage(format!(
                "--figure {name}: the study `{}` has no such figure or row{near}. Its figures: {}. Rows have the \
                 numbers of its table",
                study.name,
                known.join(", ")
            )));
        }
        let shows = |figure: &&str| study.rows_of(figure).iter().any(|id| rows.contains(*id));
        Ok(Self { figures: figures.into_iter().filter(shows).collect(), rows })
    }

    /// The simulations that are still to be run for the rows, and for their figure where it is one.
    fn lacks(&self, needs: &[Need]) -> BTreeSet<String> {
        let is_single = self.figures.len() == 1;
        let needed = needs.iter().filter(|need| {
            need.rows.iter().any(|id| self.rows.contains(&**id))
                || is_single && need.figures.iter().any(|figure| self.figures.contains(figure))
        });
        needed.flat_map(|need| need.simulations.iter().cloned()).collect()
    }
}

/// Whether the number of a row is that of a group, or begins with it: `4.2` has 4.2 and 4.2a, and not 4.21.
fn is_in_group(id: &str, group: &str) -> bool {
    id.strip_prefix(group).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Rows that need no simulation beside those of a figure.
fn rows_beside(figure: &str, needs: &[Need]) -> BTreeSet<String> {
    let own = needs.iter().filter(|need| need.figures.contains(&figure));
    let simulations: BTreeSet<&String> = own.flat_map(|need| &need.simulations).collect();
    let beside = needs.iter().filter(|need| need.simulations.iter().all(|name| simulations.contains(name)));
    beside.flat_map(|need| &need.rows).map(ToString::to_string).collect()
}

/// The study with the figure or the rows of a name alone.
/// Errors: the errors of the study; it has no figure or row of this name, and nothing was run.
pub(crate) fn run(study: &Study, name: &str, options: &Options, monitor: &dyn Monitor) -> Result<Findings, StudyError> {
    let mut chosen = Chosen { monitor, names: BTreeSet::new(), given: Mutex::default(), all: AtomicUsize::new(0) };
    let pass = |chosen: &Chosen<'_>| {
        cells::take_needs();
        (study.run)(options, chosen).map(|findings| (findings, cells::take_needs()))
    };
    let (mut findings, mut needs) = pass(&chosen)?;
    let selection = Selection::of(study, name, &findings, &needs)?;
    loop {
        let lacking = selection.lacks(&needs);
        if lacking.is_subset(&chosen.names) {
            break;
        }
        chosen.names.extend(lacking);
        monitor.expect(chosen.names.len());
        (findings, needs) = pass(&chosen)?;
        if monitor.is_stopped() {
            break;
        }
    }
    let given = chosen.given();
    findings.missing = chosen.names.union(&selection.lacks(&needs)).filter(|name| !given.contains_key(*name)).count();
    findings.rows.retain(|row| selection.rows.contains(&*row.id));
    findings.figures.retain(|figure| selection.figures.contains(figure.name));
    let all = chosen.all.load(Ordering::Relaxed);
    findings.notes.push(format!("{name} alone: {} of {all} simulations of the study.", chosen.names.len()));
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::tests::Stopping;

    fn study(name: &str, figure: Option<&str>) -> (Findings, usize) {
        let study = crate::find(name).unwrap();
        let figure = figure.map(str::to_owned);
        let all = Stopping::default();
        *all.after.lock().unwrap() = usize::MAX;
        let options = Options { scale: study.least, figure, ..Options::default() };
        (study.reproduce(&options, &all).unwrap(), all.kept())
    }

    #[test]
    fn a_figure_alone_is_the_same_and_runs_its_own_simulations() {
        let (whole, all) = study("hard", None);
        for (name, most) in [("figure-14-4", 2), ("states", 6), ("4.2b", 6), ("steady", all - 20)] {
            let (alone, run) = study("hard", Some(name));
            assert!(run > 0 && run <= most, "{name}: {run} of {all}");
            assert_eq!(alone.missing, 0, "{name}");
            assert!(!alone.rows.is_empty() && alone.rows.iter().all(|row| whole.rows.contains(row)), "{name}");
            assert_eq!(alone.figures.len(), 1, "{name}");
            assert!(whole.figures.contains(&alone.figures[0]), "{name}");
            assert!(alone.notes.last().unwrap().contains(&format!("{run} of {all} simulations")), "{:?}", alone.notes);
        }
    }

    /// The simulations of steps and draws have names of their own, and a figure of them ran those of the study instead.
    #[test]
    fn the_simulations_of_the_parts_of_a_study_are_chosen_as_well() {
        let tpm = crate::find("tpm").unwrap();
        let options = Options { scale: tpm.least, figure: Some("in-use".to_owned()), ..Options::default() };
        let first = Stopping::default();
        *first.after.lock().unwrap() = 1;
        let findings = tpm.reproduce(&options, &first).unwrap();
        assert!(findings.missing > 100, "{} simulations are still to be run", findings.missing);
    }

    #[test]
    fn a_figure_that_a_study_has_not_is_told_with_near_ones() {
        let hard = crate::find("hard").unwrap();
        let options = |name: &str| Options { scale: hard.least, figure: Some(name.to_owned()), ..Options::default() };
        let error = hard.reproduce(&options("figure-14-6"), &()).unwrap_err().to_string();
        assert!(error.contains("did you mean `figure-14-") && error.contains("states, steady"), "{error}");
        assert!(is_in_group("4.2a", "4.2") && is_in_group("4.2", "4.2") && !is_in_group("4.21", "4.2"));
    }
}
