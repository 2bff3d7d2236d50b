//! Running jobs: kept results are recalled, the rest is run on all cores, and kept as it ends.

use crate::monitor::{Monitor, Shard};
use crate::threads::{self, ThreadsError};
use rayon::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::{Mutex, OnceLock};

/// The work of each of some jobs.
pub trait Work: Sync {
    /// What one job needs.
    type Job: Sync;
    /// What one job gives.
    type Given: Send + Sync + Clone;
    /// Why all of them end.
    type Error: Send + From<ThreadsError>;

    /// What the job of a name gave, if that is known without running it.
    fn recall(&self, job: &Self::Job, name: &str) -> Option<Self::Given>;

    /// Runs a job and keeps what it gives; `None`: it was stopped.
    ///
    /// # Errors
    /// No further job is begun.
    fn run(&self, job: &Self::Job, name: &str) -> Result<Option<Self::Given>, Self::Error>;

    /// What all jobs need that are due, before the first of them is run; `false`: it was stopped.
    ///
    /// # Errors
    /// No job is begun.
    fn prepare(&self, _due: &[&Self::Job]) -> Result<bool, Self::Error> {
        Ok(true)
    }

    /// The name of a state that a job begins with: the first of those that share one makes it before the others begin.
    fn begins_with<'a>(&self, _job: &'a Self::Job) -> Option<&'a str> {
        None
    }

    /// How a job ended, in a word.
    fn how(&self, _given: &Self::Given) -> &'static str {
        "done"
    }

    /// Whether a job found too little memory: it is run again alone, and the next time.
    fn lacked_memory(&self, _given: &Self::Given) -> bool {
        false
    }
}

/// The known results of some jobs, and the due jobs.
pub struct Ledger<'a, W: Work> {
    jobs: &'a [W::Job],
    names: Vec<&'a str>,
    known: BTreeMap<&'a str, W::Given>,
    /// What jobs gave that are due again.
    lacking: BTreeMap<&'a str, W::Given>,
    /// Numbers of jobs to be run here, one for each name.
    due: Vec<usize>,
}

impl<'a, W: Work> Ledger<'a, W> {
    /// Looks at what is kept. Jobs of one name are one job.
    pub fn of(work: &W, jobs: &'a [W::Job], names: Vec<&'a str>, shard: Shard) -> Self {
        let mut firsts: BTreeMap<&str, usize> = BTreeMap::new();
        for (number, name) in names.iter().enumerate() {
            firsts.entry(name).or_insert(number);
        }
        let mut numbers: Vec<usize> = firsts.into_values().collect();
        numbers.sort_unstable();
        // What is kept is read to see whether it is whole.
        let recalled = threads::each(threads::for_many(numbers.len()).as_ref(), &numbers, |number| {
            work.recall(&jobs[*number], names[*number])
        });
        let (mut known, mut lacking, mut due) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        for (number, given) in numbers.into_iter().zip(recalled) {
            let name = names[number];
            match given {
                Some(given) if !work.lacked_memory(&given) => {
                    known.insert(name, given);
                    continue;
                }
                Some(given) => _ = lacking.insert(name, given),
                None => {}
            }
            if shard.has(number) {
                due.push(number);
            }
        }
        Self { jobs, names, known, lacking, due }
    }

    /// How many jobs need not be run.
    pub fn found(&self) -> usize {
        self.known.len()
    }

    /// Numbers of the jobs that are due here.
    pub fn due(&self) -> &[usize] {
        &self.due
    }

    /// The known result of each job, in their order, with the jobs that lacked memory.
    pub fn into_known(mut self) -> Vec<Option<W::Given>> {
        self.known.append(&mut self.lacking);
        self.in_order()
    }

    fn in_order(&self) -> Vec<Option<W::Given>> {
        self.names.iter().map(|name| self.known.get(name).cloned()).collect()
    }

    /// Runs the due jobs, on threads of its own; the results, in the order of the jobs. `None`: somebody stopped it,
    /// or it is not of this shard.
    /// 1. Everything that the due jobs need is made.
    /// 2. The first job of each state that several share is run, and makes it.
    /// 3. The others are.
    /// 4. Jobs that found too little memory beside others are run once more, one after the other.
    ///
    /// # Errors
    /// The first that work has, or the system does not give the threads.
    pub fn run(mut self, work: &W, monitor: &dyn Monitor) -> Result<Vec<Option<W::Given>>, W::Error> {
        monitor.found(self.known.len());
        let mut due = std::mem::take(&mut self.due);
        due.retain(|number| monitor.is_here(self.names[*number]));
        if due.is_empty() || monitor.is_stopped() {
            return Ok(self.in_order());
        }
        // A thread without a job would only take memory.
        let pool = threads::for_jobs(due.len(), monitor.threads())?;
        threads::on(pool.as_ref(), || {
            let needed: Vec<&W::Job> = due.iter().map(|number| &self.jobs[*number]).collect();
            if !work.prepare(&needed)? {
                return Ok(self.in_order());
            }
            let mut crowded = Vec::new();
            for group in self.leaders(work, &due) {
                let one = |number: &usize| self.run_one(work, *number, monitor);
                let given = group.par_iter().with_max_len(1).map(one).collect::<Result<Vec<_>, W::Error>>()?;
                for (number, given) in group.into_iter().zip(given) {
                    match given {
                        Some(given) if work.lacked_memory(&given) => crowded.push(number),
                        Some(given) => _ = self.known.insert(self.names[number], given),
                        None => {}
                    }
                }
            }
            for number in crowded {
                if let Some(given) = self.run_one(work, number, monitor)? {
                    if work.lacked_memory(&given) {
                        monitor.ended(self.names[number], work.how(&given));
                    }
                    self.known.insert(self.names[number], given);
                }
            }
            Ok(self.in_order())
        })
    }

    /// Runs a job; `None`: it was stopped. The monitor is told, unless the job finds too little memory.
    fn run_one(&self, work: &W, number: usize, monitor: &dyn Monitor) -> Result<Option<W::Given>, W::Error> {
        if monitor.is_stopped() {
            return Ok(None);
        }
        let given = work.run(&self.jobs[number], self.names[number])?;
        if let Some(given) = given.as_ref().filter(|given| !work.lacked_memory(given)) {
            monitor.ended(self.names[number], work.how(given));
        }
        Ok(given)
    }

    /// The first job of each state that several share, and all others.
    fn leaders(&self, work: &W, due: &[usize]) -> [Vec<usize>; 2] {
        let state = |number: &usize| work.begins_with(&self.jobs[*number]);
        let mut sharing: BTreeMap<&str, usize> = BTreeMap::new();
        for state in due.iter().filter_map(state) {
            *sharing.entry(state).or_default() += 1;
        }
        let (leaders, others) = due
            .iter()
            .partition(|number| state(number).and_then(|state| sharing.remove(state)).is_some_and(|jobs| jobs > 1));
        [leaders, others]
    }
}

/// The result of a job, as it is kept.
///
/// # Panics
/// The type has no form as bytes.
pub fn to_bytes<T: Serialize>(given: &T) -> Vec<u8> {
    postcard::to_stdvec(given).expect("what jobs give has a form as bytes")
}

/// The result of a job; `None`: the bytes are of something else.
pub fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let (given, rest) = postcard::take_from_bytes(bytes).ok()?;
    rest.is_empty().then_some(given)
}

/// Work that is a function of the job and of a state that all jobs begin with. What it gives is kept by the monitor.
struct Simulations<'a, S, P, R, J, T, E> {
    monitor: &'a dyn Monitor,
    make: Mutex<Option<P>>,
    state: OnceLock<S>,
    run: R,
    types: PhantomData<fn(J) -> (T, E)>,
}

impl<J, T, E, S, P, R> Work for Simulations<'_, S, P, R, J, T, E>
where
    J: Sync,
    T: Serialize + DeserializeOwned + Send + Sync + Clone,
    E: Send + From<ThreadsError>,
    S: Send + Sync,
    P: FnOnce(&[&J]) -> Result<Option<S>, E> + Send,
    R: Fn(&S, &J) -> Result<Option<T>, E> + Sync,
{
    type Job = J;
    type Given = T;
    type Error = E;

    fn recall(&self, _: &J, name: &str) -> Option<T> {
        from_bytes(&self.monitor.recall(name)?)
    }

    fn prepare(&self, due: &[&J]) -> Result<bool, E> {
        let make = self.make.lock().ok().and_then(|mut make| make.take());
        let Some(state) = make.map_or(Ok(None), |make| make(due))? else { return Ok(false) };
        Ok(self.state.set(state).is_ok())
    }

    fn run(&self, job: &J, name: &str) -> Result<Option<T>, E> {
        let state = self.state.get().expect("it was made before the first job");
        let given = (self.run)(state, job)?;
        if let Some(given) = &given {
            self.monitor.keep(name, &to_bytes(given));
        }
        Ok(given)
    }
}

/// Runs `run` for each job, on all cores; the results, in the order of the jobs. `None`: somebody stopped it. Jobs of
/// one name are one job. Jobs that the monitor kept are not run again.
///
/// # Errors
/// The first of `run`, or the system does not give the threads.
pub fn all<J: Sync, T: Serialize + DeserializeOwned + Send + Sync + Clone, E: Send + From<ThreadsError>>(
    monitor: &dyn Monitor,
    jobs: &[J],
    name: impl Fn(&J) -> String,
    run: impl Fn(&J) -> Result<Option<T>, E> + Sync,
) -> Result<Vec<Option<T>>, E> {
    all_from(monitor, jobs, name, |_| Ok(Some(())), |(), job| run(job))
}

/// As [`all`], for jobs that begin with one state, which is made for the due jobs, if there are any; `None`: somebody
/// stopped it.
///
/// # Errors
/// As [`all`], or the state cannot be made.
pub fn all_from<
    J: Sync,
    S: Send + Sync,
    T: Serialize + DeserializeOwned + Send + Sync + Clone,
    E: Send + From<ThreadsError>,
>(
    monitor: &dyn Monitor,
    jobs: &[J],
    name: impl Fn(&J) -> String,
    state: impl FnOnce(&[&J]) -> Result<Option<S>, E> + Send,
    run: impl Fn(&S, &J) -> Result<Option<T>, E> + Sync,
) -> Result<Vec<Option<T>>, E> {
    let names: Vec<String> = jobs.iter().map(name).collect();
    let (make, state) = (Mutex::new(Some(state)), OnceLock::new());
    let work = Simulations { monitor, make, state, run, types: PhantomData };
    let ledger = Ledger::of(&work, jobs, names.iter().map(String::as_str).collect(), monitor.shard());
    ledger.run(&work, monitor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Keeps what jobs give, and stops after some.
    #[derive(Default)]
    struct Desk {
        after: Option<usize>,
        ended: AtomicUsize,
        kept: Mutex<BTreeMap<String, Vec<u8>>>,
        shard: Option<Shard>,
        only: Option<&'static str>,
        threads: Mutex<Vec<usize>>,
    }

    impl Monitor for Desk {
        fn ended(&self, _: &str, _: &str) {
            self.ended.fetch_add(1, Ordering::Relaxed);
            // Whoever hears of a job is on one of the threads.
            self.threads.lock().unwrap().push(rayon::current_num_threads());
        }
        fn is_stopped(&self) -> bool {
            self.after.is_some_and(|after| self.ended.load(Ordering::Relaxed) >= after)
        }
        fn recall(&self, name: &str) -> Option<Vec<u8>> {
            self.kept.lock().unwrap().get(name).cloned()
        }
        fn keep(&self, name: &str, given: &[u8]) {
            self.kept.lock().unwrap().insert(name.to_owned(), given.to_vec());
        }
        fn shard(&self) -> Shard {
            self.shard.unwrap_or(Shard::ALL)
        }
        fn is_here(&self, name: &str) -> bool {
            self.only.is_none_or(|only| only == name)
        }
        fn threads(&self) -> Option<usize> {
            Some(1024)
        }
    }

    fn squares(desk: &Desk, jobs: &[u64]) -> Vec<Option<f64>> {
        let run = |job: &u64| Ok::<_, ThreadsError>(Some((job * job) as f64));
        all(desk, jobs, |job| format!("the square of {job}"), run).unwrap()
    }

    /// A thousand threads were started to find that nothing was to be done.
    #[test]
    fn no_more_threads_than_jobs_that_are_due() {
        let desk = Desk::default();
        for _ in 0..2 {
            assert_eq!(squares(&desk, &[3]), [Some(9.0)]);
        }
        assert_eq!(desk.threads.into_inner().unwrap(), [1]);
    }

    #[test]
    fn work_that_was_stopped_goes_on_where_it_was() {
        let jobs: Vec<u64> = (0..40).collect();
        let first = Desk { after: Some(7), ..Desk::default() };
        let some = squares(&first, &jobs);
        let done = some.iter().flatten().count();
        assert!((7..40).contains(&done), "{done} of 40");
        let second = Desk { kept: first.kept, ..Desk::default() };
        let all = squares(&second, &jobs);
        assert_eq!(second.ended.into_inner(), 40 - done);
        assert_eq!(all, jobs.iter().map(|job| Some((job * job) as f64)).collect::<Vec<_>>());
    }

    #[test]
    fn shards_together_run_each_job_once() {
        let jobs: Vec<u64> = (0..10).collect();
        let mut kept = Mutex::default();
        for index in 0..3 {
            let desk = Desk { shard: Some(Shard { index, count: 3 }), kept, ..Desk::default() };
            squares(&desk, &jobs);
            kept = desk.kept;
        }
        let last = Desk { kept, ..Desk::default() };
        assert!(squares(&last, &jobs).iter().all(Option::is_some));
        assert_eq!(last.ended.into_inner(), 0, "nothing is left to be run");
    }

    #[test]
    fn one_job_alone_is_run_by_its_name() {
        let desk = Desk { only: Some("the square of 3"), ..Desk::default() };
        assert_eq!(squares(&desk, &[2, 3, 4]), [None, Some(9.0), None]);
        assert_eq!(desk.ended.into_inner(), 1);
    }

    /// Values that are no numbers came back as nothing.
    #[test]
    fn what_is_no_number_is_recalled_as_that() {
        let desk = Desk::default();
        for _ in 0..2 {
            let given = all(
                &desk,
                &[()],
                |()| "a mean of nothing".to_owned(),
                |()| Ok::<_, ThreadsError>(Some((f64::NAN, f64::INFINITY))),
            );
            assert!(matches!(given.unwrap()[..], [Some((mean, most))] if mean.is_nan() && most.is_infinite()));
        }
        assert_eq!(desk.ended.into_inner(), 1);
    }

    #[test]
    fn a_state_that_jobs_begin_with_is_made_only_if_one_is_due() {
        let (desk, made) = (Desk::default(), AtomicUsize::new(0));
        for jobs in [&[1_u64, 2][..], &[1, 2], &[1, 2, 3]] {
            let state = |due: &[&u64]| {
                assert!(!due.is_empty());
                made.fetch_add(1, Ordering::Relaxed);
                Ok(Some(10))
            };
            let sums =
                all_from(&desk, jobs, u64::to_string, state, |state, job| Ok::<_, ThreadsError>(Some(state + job)));
            assert_eq!(sums.unwrap().len(), jobs.len());
        }
        assert_eq!(made.into_inner(), 2);
    }
}
