//! The simulated drive that stands for a real one: as many dies, fewer and smaller blocks, in the states that
//! experiments begin with.

use crate::figure;
use crate::host::{LOOK_EVERY, Places, Stop, unless};
use crate::measured::{Area, Experiment, MeasuredDrive, Work};
use engine::random::Stream;
use experiment::{Monitor, ThreadsError};
use nand::{CountedFlash, Counters, Flash as _, TimedFlash};
use rayon::prelude::*;
use simulator::config::{Config, Setting, is_of_time};
use simulator::{BlockDevice, Completions, Drive, DrivePlan, DriveState, Fill, Progress, session};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use trace::Workload as _;
use units::{HostOp, Nanos, Request, SECTOR_BYTES};

/// Of the keys that tell the blocks of a die: what else they tell is in the shape of the flash.
const OVER_PROVISIONING: &str = "drive.over_provisioning";
/// Bytes of the random writes that bring a drive into a state.
pub(crate) const SMALL: u64 = 4096;
/// Overwrites after which a drive is taken to be in steady state.
const STEADY: f64 = 6.0;
/// Overwrites before writes are offered, as the published method has it.
pub(crate) const BEFORE_OFFERED: f64 = 3.0;
const NO_ROOM: &str = "the drive has no room for the writes of this experiment; give it more flash";
/// A state that experiments begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Begins {
    /// Bytes that were filled in order.
    pub used: u64,
    /// Bytes of them that were overwritten at random.
    pub moving: u64,
    /// Times that was done, in thousandths.
    overwrites: u64,
    /// Exponent of the Zipf law of that, in thousandths.
    zipf: u64,
}

/// A drive of a stack, smaller than it would be.
#[derive(Debug)]
pub struct Subject {
    name: String,
    /// Of the stack, and what was laid over it.
    settings: Vec<Setting>,
    /// Bytes of the real drive, and what it writes of its own, as a factor.
    capacity: u64,
    own_writes: f64,
    /// Every size of the real drive is this many times smaller.
    scale: u64,
    config: Config,
    plan: DrivePlan,
    states: Mutex<BTreeMap<Begins, Arc<DriveState>>>,
    /// What experiments gave, on this drive and on those that it came from, by the names of their jobs.
    known: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
}

/// Figures of an experiment on the simulated drive, by name: times in ns.
pub type Modelled = BTreeMap<&'static str, f64>;

/// The same as it is kept.
pub type Named = BTreeMap<String, f64>;

/// Figures as they are kept.
pub fn named(found: &Modelled) -> Named {
    found.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
}

/// Figures that were kept; `None`: one of them has a name that no figure has.
pub fn modelled(kept: &Named) -> Option<Modelled> {
    kept.iter().map(|(name, value)| Some((figure::find(name).ok()?.name, *value))).collect()
}

/// The figures of an experiment, or why it could not be done.
pub type Outcome = Result<Modelled, String>;

impl Subject {
    /// The drive of a stack, changed by settings, `scale` times smaller than `measured`.
    /// Errors: the stack is none, or its drive cannot be built: why.
    pub fn new(stack: &str, over: &[Setting], measured: &MeasuredDrive, scale: u64) -> Result<Self, String> {
        let (name, mut settings) = Config::read(stack).map_err(|error| error.to_string())?;
        settings.extend_from_slice(over);
        Self::of(name, settings, (measured.capacity, measured.own_writes), scale)
    }

    fn of(
        name: String,
        settings: Vec<Setting>,
        (capacity, own_writes): (u64, f64),
        scale: u64,
    ) -> Result<Self, String> {
        let build = |capacity: u64, scale: u64| {
            let set = |key: &str, value: String| Setting::new(key, &value, "the size of the simulated drive");
            let smaller =
                [set("drive.capacity", format!("{}MiB", capacity >> 20)), set("drive.scale", scale.to_string())];
            let all: Vec<Setting> = settings.iter().cloned().chain(smaller).collect();
            let config = Config::resolve(name.clone(), &all).map_err(|error| error.to_string())?;
            let plan = DrivePlan::new(config.clone()).map_err(|error| error.to_string())?;
            plan.check_memory(false).map_err(|error| error.to_string())?;
            Ok::<_, String>((config, plan))
        };
        // A small drive is one of twice its size at half of that: only what is scaled has shorter blocks. Not all
        // mappings can be.
        let plain = || build(capacity, scale);
        let (config, plan) = if scale == 1 { build(2 * capacity, 2).or_else(|_| plain())? } else { plain()? };
        let (states, known) = (Mutex::default(), Arc::default());
        Ok(Self { name, settings, capacity, own_writes, scale, config, plan, states, known })
    }

    /// The same drive with other values of some keys. States stay where none of these keys changes them.
    pub fn with(&self, over: &[Setting]) -> Result<Self, String> {
        let settings: Vec<Setting> = self.settings.iter().cloned().chain(over.iter().cloned()).collect();
        let other = Self::of(self.name.clone(), settings, (self.capacity, self.own_writes), self.scale)?;
        let known = Arc::clone(&self.known);
        if other.identity_without_time() != self.identity_without_time() {
            return Ok(Self { known, ..other });
        }
        let states = self.states.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(Self { states: Mutex::new(states), known, ..other })
    }

    /// How many times smaller than the real drive it is.
    pub(crate) fn scale(&self) -> u64 {
        self.scale
    }

    /// The configuration of the smaller drive.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Names everything that its figures depend on: two drives of one name are the same. Spare flash counts as blocks.
    pub fn identity(&self) -> String {
        self.identity_of(|_| true)
    }

    /// The same of figures that are counted without time.
    fn identity_without_time(&self) -> String {
        self.identity_of(|key| !is_about_time(key))
    }

    fn identity_of(&self, counts: impl Fn(&str) -> bool) -> String {
        let pairs = self.config.resolved.iter().filter(|(key, _)| *key != OVER_PROVISIONING && counts(key));
        let pairs: Vec<String> = pairs.map(|(key, value)| format!("{key}={value}")).collect();
        let (version, scale, own, shape) = (env!("CARGO_PKG_VERSION"), self.scale, self.own_writes, self.plan.geometry);
        format!("{version} 1/{scale} {own} {shape:?} {}", pairs.join(" "))
    }

    /// The name of an experiment on this drive.
    fn job(&self, experiment: &Experiment, host_ns: Nanos) -> String {
        let is_counted = matches!(experiment.work, Work::Amplification { .. });
        let identity = if is_counted { self.identity_without_time() } else { self.identity() };
        let part = if experiment.ends_early { "a part" } else { "all" };
        format!("{identity}\n{:?} {part} {host_ns}", experiment.work)
    }

    /// Does experiments, each on a drive of its own, on all cores. Beside an experiment stands the time that the
    /// measuring host adds to each latency, ns. `None`: the experiment was stopped before it had ended.
    ///
    /// # Errors
    /// The system does not give the threads.
    pub fn run_all(
        &self,
        experiments: &[(&Experiment, Nanos)],
        monitor: &dyn Monitor,
    ) -> Result<Vec<Option<Outcome>>, ThreadsError> {
        let monitor = &Remembering { monitor, known: &self.known };
        let stop = || monitor.is_stopped();
        let name = |(experiment, host_ns): &(&Experiment, Nanos)| self.job(experiment, *host_ns);
        // Why experiments could not be done: that is found anew each time.
        let problems: Mutex<BTreeMap<String, String>> = Mutex::default();
        let one = |failed: &BTreeMap<Begins, String>, job: &(&Experiment, Nanos)| {
            let (experiment, host_ns) = *job;
            let problem = self.begins(experiment).and_then(|begins| failed.get(&begins).cloned());
            match problem.map_or_else(|| self.run(experiment, host_ns, &stop), Err) {
                Ok(found) => return Ok(Some(named(&found))),
                // What went wrong after that is that it was stopped.
                Err(_) if stop() => {}
                Err(problem) => {
                    problems.lock().unwrap_or_else(PoisonError::into_inner).insert(name(job), problem);
                }
            }
            Ok(None)
        };
        let found = experiment::all_from(monitor, experiments, name, |due| Ok(Some(self.make_all(due, &stop))), one)?;
        let problems = problems.into_inner().unwrap_or_default();
        let outcome = |(found, job): (Option<Named>, &(&Experiment, Nanos))| match found {
            Some(found) => modelled(&found).map(Ok),
            None => problems.get(&name(job)).cloned().map(Err),
        };
        Ok(found.into_iter().zip(experiments).map(outcome).collect())
    }

    /// Makes the states that experiments begin with, unless they are there; why some of them could not be made.
    fn make_all(&self, experiments: &[&(&Experiment, Nanos)], stop: Stop<'_>) -> BTreeMap<Begins, String> {
        let begins: BTreeSet<Begins> = experiments.iter().filter_map(|(one, _)| self.begins(one)).collect();
        let missing: Vec<Begins> = begins.into_iter().filter(|begins| self.state(*begins).is_none()).collect();
        let made: Vec<_> = missing.into_par_iter().map(|begins| (begins, self.make(begins, stop))).collect();
        let mut failed = BTreeMap::new();
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        for (begins, state) in made {
            match state {
                Ok(state) => _ = states.insert(begins, Arc::new(state)),
                Err(problem) => _ = failed.insert(begins, problem),
            }
        }
        failed
    }

    fn state(&self, begins: Begins) -> Option<Arc<DriveState>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner).get(&begins).cloned()
    }

    /// The state an experiment begins with; `None`: an erased drive.
    pub(crate) fn begins(&self, experiment: &Experiment) -> Option<Begins> {
        let (area, overwrites) = match experiment.work {
            Work::Closed { area, overwrites, .. } => (area, overwrites),
            Work::Offered { area, .. } => (area, BEFORE_OFFERED),
            Work::Amplification { area, window_end, window } => (area, window_end.map_or(STEADY, |end| end - window)),
            Work::Transient { area, .. } => (area, 0.0),
            Work::Fill { .. } => return None,
        };
        let Area { used, fixed, zipf } = area;
        let used = self.scaled(used);
        let moving = (used as f64 * (1.0 - fixed)) as u64 / SMALL * SMALL;
        // An order of places that was never written in does not make another state.
        let zipf = if overwrites > 0.0 { thousandths(zipf) } else { 0 };
        Some(Begins { used, moving, overwrites: thousandths(overwrites), zipf })
    }

    /// Bytes the host sees.
    pub(crate) fn bytes(&self) -> u64 {
        self.plan.host_sectors() * SECTOR_BYTES
    }

    /// What stands for so many bytes of the real drive.
    fn scaled(&self, bytes: u64) -> u64 {
        (bytes / self.scale / SMALL * SMALL).min(self.bytes())
    }

    pub(crate) fn seed(&self) -> u64 {
        self.config.values.whole("engine.seed")
    }

    /// Brings a drive without time into a state.
    fn make(&self, begins: Begins, stop: Stop<'_>) -> Result<DriveState, String> {
        let _memory = self.plan.claim_memory(false).map_err(|error| error.to_string())?;
        let mut drive = self.plan.assemble(CountedFlash::new(self.plan.fresh_state()));
        let sectors_per_page = self.plan.geometry.sectors_per_page();
        let mut fill = Fill::of(begins.used / SECTOR_BYTES, sectors_per_page, 1.0);
        let (mut batch, mut completions) = (Vec::new(), Completions::default());
        loop {
            batch.clear();
            fill.next_batch(&mut batch, 64).map_err(|error| error.to_string())?;
            if batch.is_empty() {
                break;
            }
            batch.iter().try_for_each(|request| serve(&mut drive, &mut completions, request))?;
            unless(stop)?;
        }
        self.overwrite(&mut drive, begins, (begins.overwrites as f64 / 1000.0, "before"), stop)?;
        if !session::end_preconditioning(&self.plan, &mut drive) {
            return Err(NO_ROOM.to_owned());
        }
        Ok(DriveState::of(&mut drive))
    }

    /// Writes `times` as much as a state overwrites, drawn by the stream called `when`.
    fn overwrite(
        &self,
        drive: &mut Drive<CountedFlash>,
        begins: Begins,
        (times, when): (f64, &str),
        stop: Stop<'_>,
    ) -> Result<u64, String> {
        let mut stream = Stream::new(self.seed(), when);
        let (count, sectors) = (begins.moving / SMALL, (SMALL / SECTOR_BYTES) as u32);
        let writes = (count as f64 * times) as u64;
        let mut completions = Completions::default();
        let places = Places::new(count, begins.zipf as f64 / 1000.0, self.seed());
        for number in 0..writes {
            if number.is_multiple_of(LOOK_EVERY) {
                unless(stop)?;
            }
            let first_sector = places.draw(&mut stream) * u64::from(sectors);
            let request = Request { arrival: 0, first_sector, sectors, op: HostOp::Write, fua: false };
            serve(drive, &mut completions, &request)?;
        }
        Ok(writes)
    }

    /// Bytes programmed for each byte of random writes, over `window` times what the state overwrites.
    pub(crate) fn amplification(&self, begins: Begins, window: f64, stop: Stop<'_>) -> Result<f64, String> {
        let _memory = self.plan.claim_memory(false).map_err(|error| error.to_string())?;
        let fresh = self.plan.fresh_state();
        let state = self.state(begins).expect("it was made before");
        let resumed = state.resume(&self.plan, fresh, CountedFlash::new);
        let mut drive: Drive<CountedFlash> = resumed.map_err(|error| error.to_string())?;
        let programs = |drive: &Drive<CountedFlash>| Counters::total(&drive.flash().state().counters.programs);
        let before = programs(&drive);
        let writes = self.overwrite(&mut drive, begins, (window, "measured"), stop)?;
        let bytes = (programs(&drive) - before) * u64::from(self.plan.geometry.page_bytes);
        Ok(bytes as f64 / (writes * SMALL) as f64 * self.own_writes)
    }

    /// Lets clients work on a drive in a state, with time; `None`: on an erased one. The latency of the measuring host
    /// takes the place of the stack's own host, where it is known.
    pub(crate) fn timed<T>(
        &self,
        begins: Option<Begins>,
        host_ns: Nanos,
        work: impl FnOnce(&mut Drive<TimedFlash>, u64) -> Result<T, String>,
    ) -> Result<T, String> {
        let host = Setting::new("host.latency", &format!("{}ns", host_ns / 2), "the host that measured");
        let own = self.config.resolved.iter().map(|(key, value)| Setting::new(key, value, "the stack"));
        let settings: Vec<Setting> = own.chain((host_ns > 0).then_some(host)).collect();
        let config = Config::resolve(self.name.clone(), &settings).map_err(|error| error.to_string())?;
        let plan = DrivePlan::new(config).map_err(|error| error.to_string())?;
        let _memory = plan.claim_memory(false).map_err(|error| error.to_string())?;
        let fresh = plan.fresh_state();
        let mut drive: Drive<TimedFlash> = match begins {
            None => plan.assemble(plan.timed(fresh)),
            Some(begins) => {
                let state = self.state(begins).expect("it was made before");
                let resumed = state.resume(&plan, fresh, |state| plan.timed(state));
                let mut drive = resumed.map_err(|error| error.to_string())?;
                session::rest_in_time(&plan, &mut drive);
                drive
            }
        };
        work(&mut drive, self.seed())
    }
}

/// Keeps what experiments give for drives that come from this one, beside what its monitor keeps.
struct Remembering<'a> {
    monitor: &'a dyn Monitor,
    known: &'a Mutex<BTreeMap<String, Vec<u8>>>,
}

impl Remembering<'_> {
    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Monitor for Remembering<'_> {
    fn expect(&self, jobs: usize) {
        self.monitor.expect(jobs);
    }
    fn found(&self, jobs: usize) {
        self.monitor.found(jobs);
    }
    fn ended(&self, name: &str, how: &str) {
        self.monitor.ended(name, how);
    }
    fn is_stopped(&self) -> bool {
        self.monitor.is_stopped()
    }
    fn recall(&self, name: &str) -> Option<Vec<u8>> {
        let known = self.known().get(name).cloned();
        known.or_else(|| self.monitor.recall(name))
    }
    fn keep(&self, name: &str, given: &[u8]) {
        self.known().insert(name.to_owned(), given.to_vec());
        self.monitor.keep(name, given);
    }
    fn threads(&self) -> Option<usize> {
        self.monitor.threads()
    }
}

/// Whether a key says only how long something takes, or what the host does: states do not depend on it. Whether a drive
/// has idle time decides whether it rests.
fn is_about_time(key: &str) -> bool {
    const ALSO: [&str; 2] = ["flash.page_read_times", "flash.program_memory"];
    key != "host.idle_after" && (is_of_time(key) || key.starts_with("host.") || ALSO.contains(&key))
}

fn thousandths(times: f64) -> u64 {
    (times * 1000.0).round() as u64
}

/// Serves one request on a drive without time.
fn serve(drive: &mut Drive<CountedFlash>, completions: &mut Completions, request: &Request) -> Result<(), String> {
    drive.submit(0, request);
    while drive.outstanding() > 0 {
        let progress = drive.advance(completions);
        if progress == Progress::Idle || completions.done.iter().any(|done| done.failed) {
            return Err(NO_ROOM.to_owned());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRIVE: &str = r#"
name = "a client drive with an SLC cache"
capacity = "256MiB"
[source.s]
text = "this program"
[[experiment]]
kind = "closed"
op = "commit"
depth = 1
used = "64MiB"
overwrites = 2
source = "s"
measured = { mean = "1ms" }
"#;
    const CACHED: [&str; 8] = [
        "flash.part=tlc-176l",
        "flash.channels=2",
        "flash.dies_per_channel=1",
        "flash.pages_per_block=24",
        "drive.over_provisioning=40%",
        "ftl.unit=4KiB",
        "ftl.slc.share=50%",
        "host.idle_after=1ms",
    ];

    fn free_of_cache(drive: &Drive<TimedFlash>) -> f64 {
        let mut reports = Vec::new();
        drive.top().report(&mut reports);
        reports.iter().find_map(|report| report.counters.get("slc_free_pages")).copied().unwrap() as f64
    }

    /// Commits took 2.2 ms here and 0.29 ms in a run: the cache was as full as the overwrites had left it.
    #[test]
    fn experiments_begin_with_the_cache_that_a_run_begins_with() {
        let measured = MeasuredDrive::from_text(DRIVE, "test").unwrap();
        let begun = |more: &[&str]| {
            let settings: Vec<Setting> =
                CACHED.iter().chain(more).map(|text| Setting::from_argument(text).unwrap()).collect();
            let subject = Subject::new("page", &settings, &measured, 1).unwrap();
            let experiment = &measured.experiments[0];
            assert_eq!(subject.make_all(&[&(experiment, 0)], &|| false), BTreeMap::new());
            let begins = subject.begins(experiment);
            let free = subject.timed(begins, 0, |drive, _| Ok(free_of_cache(drive))).unwrap();
            let run = ["drive.precondition=overwrite", "drive.fill=25%", "workload.requests=10"];
            let run = run.map(|text| Setting::from_argument(text).unwrap());
            let config = subject.with(&run).unwrap().config.clone();
            let result = session::Prepared::new(config, "uniform-read").unwrap().run(None, &mut ()).unwrap();
            (free, result.counters["ftl.slc_free_pages"] as f64)
        };
        let [full, rested] = [&["drive.rest=0ns"][..], &[]].map(begun);
        assert!((rested.0 / rested.1 - 1.0).abs() < 0.05, "{} pages, {} in a run", rested.0, rested.1);
        assert!(full.0.max(full.1) < 0.1 * rested.0, "{full:?} pages without a rest, {rested:?} with one");
        let (in_time, _) = begun(&["drive.rest=10min"]);
        assert!(in_time > 0.5 * rested.0, "{in_time} pages after a rest that takes time, {rested:?} without time");
    }
}
