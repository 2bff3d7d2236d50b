//! Measurements, each under its key. A study that was stopped lacks some.
//!
//! Rows and figures ask for measurements without looking whether they are there: one that is missing is a hole, answers
//! with zeros, and is noted. Rows and figures made of holes are never shown.

use crate::row::{Row, STOPPED, Text, Verdict};
use crate::simulations::Simulated;
use crate::study::Options;
use figures::Figure;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Index;

/// Holes that one thread has looked at.
#[derive(Default)]
struct Seen {
    has_holes: bool,
    /// Their simulations.
    simulations: BTreeSet<String>,
    /// Rows and figures that looked at some.
    needs: Vec<Need>,
}

/// The simulations that rows or figures lack, which are made together.
#[derive(Debug, Default)]
pub(crate) struct Need {
    pub rows: Vec<Text>,
    pub figures: Vec<&'static str>,
    pub simulations: BTreeSet<String>,
}

thread_local! {
    static SEEN: RefCell<Seen> = RefCell::default();
}

/// Notes that a hole is looked at: the one that this simulation leaves, where it has a name.
pub(crate) fn look_at_hole(simulation: Option<&str>) {
    SEEN.with_borrow_mut(|seen| {
        seen.has_holes = true;
        seen.simulations.extend(simulation.map(str::to_owned));
    });
}

/// The needs of all rows and figures that this thread has made since it was last asked.
pub(crate) fn take_needs() -> Vec<Need> {
    SEEN.with_borrow_mut(|seen| std::mem::take(&mut seen.needs))
}

/// Measurements of a study.
#[derive(Debug)]
pub(crate) struct Cells<K, T> {
    all: BTreeMap<K, Simulated<T>>,
    hole: T,
    /// Whether only some are wanted: one that is asked for and was not is a hole.
    is_partial: bool,
}

impl<K, T: Default> Default for Cells<K, T> {
    fn default() -> Self {
        Self { all: BTreeMap::new(), hole: T::default(), is_partial: false }
    }
}

impl<K: Ord, T: Default> Cells<K, T> {
    /// None yet. In a draw of a family only those are wanted that its rows need.
    pub fn of(options: &Options) -> Self {
        Self { is_partial: options.is_drawn(), ..Self::default() }
    }
}

impl<K: Ord, T> Cells<K, T> {
    /// Adds a measurement, or that there is none.
    pub fn insert(&mut self, key: K, measured: Simulated<T>) {
        self.all.insert(key, measured);
    }

    /// A measurement; nothing, if the study has none of this kind.
    pub fn get(&self, key: &K) -> Option<&T> {
        self.all.get(key).map(|found| self.look(Some(found)))
    }

    /// Whether the study measures it.
    pub fn contains_key(&self, key: &K) -> bool {
        self.all.contains_key(key)
    }

    /// All of them, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &T)> + Clone {
        self.all.iter().map(|(key, found)| (key, self.look(Some(found))))
    }

    /// The same without keys.
    pub fn values(&self) -> impl Iterator<Item = &T> + Clone {
        self.iter().map(|(_, found)| found)
    }

    /// How many are missing.
    pub fn holes(&self) -> usize {
        self.all.values().filter(|found| found.given.is_none()).count()
    }

    fn look<'a>(&'a self, found: Option<&'a Simulated<T>>) -> &'a T {
        found.and_then(|found| found.given.as_ref()).unwrap_or_else(|| {
            look_at_hole(found.map(|found| found.name.as_str()));
            &self.hole
        })
    }
}

impl<K: Ord, T> Extend<(K, Simulated<T>)> for Cells<K, T> {
    fn extend<I: IntoIterator<Item = (K, Simulated<T>)>>(&mut self, more: I) {
        self.all.extend(more);
    }
}

impl<K: Ord + std::fmt::Debug, T> Index<&K> for Cells<K, T> {
    type Output = T;

    /// Panics if the study does not measure it.
    fn index(&self, key: &K) -> &T {
        match self.all.get(key) {
            None if !self.is_partial => panic!("{key:?} is not run by this study"),
            found => self.look(found),
        }
    }
}

/// The things that `make` makes, and the simulations of the holes that it looked at. `None`: it looked at no hole.
fn watched<T>(make: impl FnOnce() -> T) -> (T, Option<BTreeSet<String>>) {
    let forget =
        || SEEN.with_borrow_mut(|seen| (std::mem::take(&mut seen.has_holes), std::mem::take(&mut seen.simulations)));
    forget();
    let made = make();
    let (has_holes, simulations) = forget();
    (made, has_holes.then_some(simulations))
}

fn note(need: Need) {
    SEEN.with_borrow_mut(|seen| seen.needs.push(need));
}

/// Rows that are made together: if one of their measurements is missing, none of them is judged.
pub(crate) fn rows(make: impl FnOnce() -> Vec<Row>) -> Vec<Row> {
    let (mut rows, holes) = watched(make);
    if let Some(simulations) = holes {
        note(Need { rows: rows.iter().map(|row| row.id.clone()).collect(), simulations, ..Need::default() });
        for row in &mut rows {
            (row.verdict, row.value, row.effect) = (Verdict::NotRun, None, None);
            row.measured.clear();
            STOPPED.clone_into(&mut row.note);
        }
    }
    rows
}

/// Figures that are made together: none of them, if one of their measurements is missing.
pub(crate) fn figures(make: impl FnOnce() -> Vec<Figure>) -> Vec<Figure> {
    let (figures, holes) = watched(make);
    let Some(simulations) = holes else { return figures };
    note(Need { figures: figures.iter().map(|figure| figure.name).collect(), simulations, ..Need::default() });
    Vec::new()
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::study::{Findings, Options};
    use crate::{Class, STUDIES, StudyError, Verdict};
    use experiment::Monitor;
    use std::collections::BTreeMap;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Stops after some simulations, and keeps what they gave.
    #[derive(Default)]
    pub(crate) struct Stopping {
        pub after: Mutex<usize>,
        kept: Mutex<BTreeMap<String, Vec<u8>>>,
    }

    impl Stopping {
        /// How many simulations have ended.
        pub fn kept(&self) -> usize {
            self.kept.lock().unwrap().len()
        }
    }

    impl Monitor for Stopping {
        fn is_stopped(&self) -> bool {
            self.kept() >= *self.after.lock().unwrap()
        }
        fn recall(&self, name: &str) -> Option<Vec<u8>> {
            self.kept.lock().unwrap().get(name).cloned()
        }
        fn keep(&self, name: &str, given: &[u8]) {
            assert!(
                self.kept.lock().unwrap().insert(name.to_owned(), given.to_vec()).is_none(),
                "{name} is the name of two simulations"
            );
        }
    }

    fn run(name: &str, monitor: &dyn Monitor) -> Result<Findings, StudyError> {
        let study = crate::find(name).unwrap();
        (study.run)(&Options { scale: study.least, ..Options::default() }, monitor)
    }

    /// Wants it to end after it was asked some times.
    struct Impatient {
        looks: AtomicUsize,
        most: usize,
        ended: AtomicUsize,
    }

    impl Monitor for Impatient {
        fn ended(&self, _: &str, _: &str) {
            self.ended.fetch_add(1, Ordering::Relaxed);
        }
        fn is_stopped(&self) -> bool {
            self.looks.fetch_add(1, Ordering::Relaxed) >= self.most
        }
    }

    /// Ctrl-C was heard after minutes, when the simulations under way had ended.
    #[test]
    fn a_study_hears_within_its_simulations_that_it_is_to_stop() {
        for study in STUDIES {
            // Before the first of them ends: each thread has asked once before it began.
            let most = 3 * std::thread::available_parallelism().map_or(1, usize::from);
            let monitor = Impatient { looks: AtomicUsize::new(0), most, ended: AtomicUsize::new(0) };
            let findings = run(study.name, &monitor).unwrap_or_else(|error| panic!("{}: {error}", study.name));
            let (looks, ended) = (monitor.looks.into_inner(), monitor.ended.into_inner());
            assert!(findings.missing > 0 && ended < most, "{}: {ended} ended after {looks} looks", study.name);
        }
    }

    #[test]
    fn what_needs_a_simulation_that_was_not_run_is_not_judged_and_not_drawn() {
        for study in STUDIES {
            let findings =
                run(study.name, &Stopping::default()).unwrap_or_else(|error| panic!("{}: {error}", study.name));
            assert!(findings.missing >= 8, "{}", study.name);
            let (open, others): (Vec<_>, Vec<_>) = findings.rows.iter().partition(|row| row.note == super::STOPPED);
            assert!(open.len() > others.len(), "{}: {others:?}", study.name);
            assert!(
                open.iter().all(|row| row.verdict == Verdict::NotRun && row.value.is_none() && row.measured.is_empty())
            );
            assert!(findings.figures.iter().all(|figure| {
                ["table-1", "banks", "read-zones", "write-sizes", "random-writes"].contains(&figure.name)
            }));
            assert!(
                ["drives", "two-level"].contains(&study.name)
                    || others.iter().any(|row| row.class == Class::Exact && row.verdict == Verdict::Pass),
                "{others:?}"
            );
        }
    }

    #[test]
    fn a_study_that_was_stopped_goes_on_and_finds_what_it_would_have_found() {
        let at_once = Stopping { after: Mutex::new(usize::MAX), ..Stopping::default() };
        let expected = run("hard", &at_once).unwrap();
        let all = at_once.kept();
        let mut kept = BTreeMap::new();
        for after in [3, all / 2, all + 1] {
            let stopping = Stopping { after: Mutex::new(after), kept: Mutex::new(kept) };
            let findings = run("hard", &stopping).unwrap();
            kept = stopping.kept.into_inner().unwrap();
            assert!(kept.len() >= after.min(all), "{after}: {} are kept", kept.len());
            assert_eq!(findings.missing, all - kept.len());
            assert!(
                findings.rows.iter().zip(&expected.rows).all(|(row, whole)| row == whole || row.note == super::STOPPED),
                "{after}"
            );
            if after > all {
                assert_eq!(findings.rows, expected.rows);
                assert_eq!(findings.figures, expected.figures);
            }
        }
    }
}
