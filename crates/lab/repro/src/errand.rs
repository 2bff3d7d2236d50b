//! Simulations of a study in other processes: each goes out by its name, and its result comes back.
//!
//! A process that is given a job runs the study with all simulations left out but one. So a study does the same there
//! as in this process, and no study has a second form.

use crate::error::StudyError;
use crate::study::{Options, Scale, Study};
use experiment::{Monitor, Watched};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Simulations of a study that are due, for other processes to run.
pub struct Errand {
    study: &'static Study,
    options: Options,
    /// Files that stand in for traces, each with the hash of its bytes.
    files: BTreeSet<(String, String)>,
    due: Vec<String>,
    watched: Watched,
}

impl Errand {
    /// The simulations that `monitor` does not recall; it keeps the answers. `files`: the paths among the options, each
    /// with the hash of its bytes.
    /// Errors: the study refuses the options, or a file.
    pub fn new(
        study: &'static Study,
        options: Options,
        files: BTreeSet<(String, String)>,
        monitor: Arc<dyn Monitor + Send + Sync>,
    ) -> Result<Self, StudyError> {
        options.check(study)?;
        let look = Look { monitor: &*monitor, due: Mutex::default(), found: AtomicUsize::new(0) };
        study.reproduce(&options, &look)?;
        let (due, found) = (look.due.into_inner().unwrap_or_else(PoisonError::into_inner), look.found.into_inner());
        let watched = Watched::begin(due.len(), found, monitor);
        Ok(Self { study, options, files, due, watched })
    }
}

impl experiment::Errand for Errand {
    fn watched(&self) -> &Watched {
        &self.watched
    }

    fn job(&self, index: usize) -> Result<(String, String), String> {
        let name = self.watched.job(&self.due, index)?;
        let Options { scale, seed, traces, settings, family, .. } = &self.options;
        let job = json!({
            "study": self.study.name, "scale": scale.to_string(), "seed": seed, "traces": traces,
            "settings": settings, "family": family, "files": self.files, "simulation": name,
        });
        Ok((name.clone(), job.to_string()))
    }

    fn files(&self) -> BTreeSet<(String, String)> {
        self.files.clone()
    }

    fn keep(&self, index: usize, answer: &str) -> Result<(), String> {
        let name = self.watched.job(&self.due, index)?;
        let given: Vec<u8> = serde_json::from_str(answer).map_err(|error| format!("the answer to {name}: {error}"))?;
        let monitor = &self.watched.monitor;
        monitor.keep(name, &given);
        if monitor.recall(name).as_ref() != Some(&given) {
            return Err(format!("what the simulation `{name}` gave cannot be kept"));
        }
        monitor.ended(name, "done");
        Ok(())
    }
}

/// Runs nothing, and sees which simulations are due.
struct Look<'a> {
    monitor: &'a dyn Monitor,
    due: Mutex<Vec<String>>,
    found: AtomicUsize,
}

impl Monitor for Look<'_> {
    fn is_stopped(&self) -> bool {
        true
    }

    fn recall(&self, name: &str) -> Option<Vec<u8>> {
        let kept = self.monitor.recall(name);
        if kept.is_some() {
            self.found.fetch_add(1, Ordering::Relaxed);
        } else {
            self.due.lock().unwrap_or_else(PoisonError::into_inner).push(name.to_owned());
        }
        kept
    }

    /// One: the order of jobs is that of the study.
    fn threads(&self) -> Option<usize> {
        Some(1)
    }
}

/// Runs one simulation alone.
struct One<'a> {
    name: &'a str,
    stop: &'a (dyn Fn() -> bool + Sync),
    given: Mutex<Option<Vec<u8>>>,
}

impl Monitor for One<'_> {
    fn is_stopped(&self) -> bool {
        (self.stop)()
    }

    fn is_here(&self, name: &str) -> bool {
        name == self.name
    }

    fn keep(&self, _: &str, given: &[u8]) {
        *self.given.lock().unwrap_or_else(PoisonError::into_inner) = Some(given.to_vec());
    }

    fn threads(&self) -> Option<usize> {
        Some(1)
    }
}

/// Runs a job of an [`Errand`]; the answer is the text that the errand keeps. `stop`: whether it is to end.
/// Errors: in words: it is no job, its simulation fails or was stopped.
pub fn answer(job: &str, stop: &(dyn Fn() -> bool + Sync)) -> Result<String, String> {
    let job: Value = serde_json::from_str(job).map_err(|error| format!("a job cannot be read: {error}"))?;
    let missing = |what: &str| format!("a job has no {what} that this program knows");
    let study = job["study"].as_str().and_then(crate::find).ok_or_else(|| missing("study"))?;
    let name = job["simulation"].as_str().ok_or_else(|| missing("simulation"))?;
    let pairs = |key: &str| -> Result<BTreeMap<String, String>, String> {
        serde_json::from_value(job[key].clone()).map_err(|_| missing(key))
    };
    let scale = Scale::parse(job["scale"].as_str().unwrap_or_default()).map_err(|error| error.to_string())?;
    let seed = job["seed"].as_u64().ok_or_else(|| missing("seed"))?;
    let family = job["family"].as_u64().and_then(|draws| draws.try_into().ok()).ok_or_else(|| missing("family"))?;
    let (traces, settings) = (pairs("traces")?, pairs("settings")?);
    let options = Options { scale, seed, traces, settings, family, figure: None, drawn: None };
    let one = One { name, stop, given: Mutex::default() };
    options.check(study).and_then(|()| study.reproduce(&options, &one)).map_err(|error| error.to_string())?;
    let given = one.given.into_inner().unwrap_or_else(PoisonError::into_inner);
    let given = given.ok_or_else(|| {
        let why = if stop() { "was stopped" } else { "is none of this study" };
        format!("the simulation `{name}` {why}")
    })?;
    Ok(json!(given).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::Errand as _;

    /// Keeps what simulations give, and runs none of them.
    #[derive(Default)]
    struct Desk {
        kept: Mutex<BTreeMap<String, Vec<u8>>>,
        ended: AtomicUsize,
    }

    impl Monitor for Desk {
        fn ended(&self, _: &str, _: &str) {
            self.ended.fetch_add(1, Ordering::Relaxed);
        }
        fn recall(&self, name: &str) -> Option<Vec<u8>> {
            self.kept.lock().unwrap().get(name).cloned()
        }
        fn keep(&self, name: &str, given: &[u8]) {
            self.kept.lock().unwrap().insert(name.to_owned(), given.to_vec());
        }
    }

    #[test]
    fn simulations_that_ran_elsewhere_give_the_rows_of_one_process() {
        let study = crate::find("hard").unwrap();
        let options = Options { scale: study.least, ..Options::default() };
        let whole = study.reproduce(&options, &()).unwrap();
        let desk = Arc::new(Desk::default());
        let errand = |monitor: &Arc<Desk>| {
            Errand::new(study, options.clone(), BTreeSet::new(), Arc::clone(monitor) as _).unwrap()
        };
        let due = errand(&desk);
        assert!(due.len() > 8 && due.found() == 0);
        let [first, last] = [0, due.len() - 1].map(|index| due.job(index).unwrap().1);
        assert!(first != last && first.len() < 1000, "{first}");
        for index in 0..due.len() {
            let answered = answer(&due.job(index).unwrap().1, &|| false).unwrap();
            assert!(answered.len() < 100_000, "{}", answered.len());
            due.keep(index, &answered).unwrap();
        }
        assert_eq!((errand(&desk).len(), errand(&desk).found()), (0, due.len()));
        let ended = desk.ended.load(Ordering::Relaxed);
        let collected = study.reproduce(&options, &*desk).unwrap();
        assert_eq!(desk.ended.load(Ordering::Relaxed), ended, "nothing is left to be run");
        assert_eq!((collected.rows, collected.figures, collected.missing), (whole.rows, whole.figures, 0));
    }

    #[test]
    fn a_draw_of_a_family_runs_elsewhere() {
        let study = crate::find("two-level").unwrap();
        let options = Options { scale: study.least, family: 2, ..Options::default() };
        let due = Errand::new(study, options, BTreeSet::new(), Arc::new(Desk::default())).unwrap();
        let (name, job) = due.job(due.len() - 1).unwrap();
        assert!(name.starts_with("draw 2: "), "{name}");
        due.keep(due.len() - 1, &answer(&job, &|| false).unwrap()).unwrap();
    }

    #[test]
    fn what_is_no_job_and_no_answer_is_told() {
        let study = crate::find("hard").unwrap();
        let options = Options { scale: study.least, ..Options::default() };
        let due = Errand::new(study, options, BTreeSet::new(), Arc::new(())).unwrap();
        let (name, job) = due.job(0).unwrap();
        assert!(answer("{}", &|| false).unwrap_err().contains("no study"));
        assert!(answer(&job, &|| true).unwrap_err().contains("was stopped"));
        assert!(answer(&job.replace(&name, "another"), &|| false).unwrap_err().contains("none of this study"));
        assert!(due.job(due.len()).unwrap_err().contains("no job"));
        for wrong in ["", "{}", "\"0\"", "[1, 256]", "[1, -1]", "[1"] {
            assert!(due.keep(0, wrong).unwrap_err().contains(&name));
        }
    }
}
