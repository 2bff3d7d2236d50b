//! The simulated drive that stands for a real one: as many dies, fewer and smaller blocks, in the states that
//! experiments begin with.

use crate::curve::{FILL, TRANSIENT, WINDOWS, phases, turning_points};
use crate::figure::{self, Figure};
use crate::host::{self, Client, LOOK_EVERY, Pace, Stop, unless};
use crate::measured::{Experiment, MeasuredDrive, Order, Work};
use engine::random::Stream;
use experiment::{Monitor, ThreadsError};
use metrics::Histogram;
use nand::{CountedFlash, Counters, Flash as _, TimedFlash};
use rayon::prelude::*;
use simulator::config::{Config, Setting};
use simulator::{BlockDevice, Completions, Drive, DrivePlan, DriveState, Fill, Progress};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use trace::Workload as _;
use trace::synthetic::{Scatter, Zipf};
use units::{HostOp, Nanos, Request, SECTOR_BYTES};

/// Bytes of the random writes that bring a drive into a state.
const SMALL: u64 = 4096;
/// Overwrites after which a drive is taken to be in steady state.
const STEADY: f64 = 6.0;
/// Overwrites before writes are offered, as the published method has it.
const BEFORE_OFFERED: f64 = 3.0;
/// Requests that clients of such an experiment have at the drive at most: seven with 64 each.
const OFFERED_LIMIT: u32 = 448;
/// Share of reads among what is offered.
const OFFERED_READS: f64 = 0.01;
/// Time before latencies count, ns.
const WARM_UP: Nanos = 200_000_000;
/// Requests of one client that latencies are taken of.
const REQUESTS: u64 = 30_000;
/// Share of the used bytes that is written while a rate of writes is taken, at least.
const WRITTEN: f64 = 0.05;
/// Shares of a latency distribution by the names of figures.
const PERCENTILES: [(&str, f64); 4] = [("p50", 0.5), ("p99", 0.99), ("p999", 0.999), ("p99999", 0.99999)];

/// A state that experiments begin with: bytes filled in order, times they were overwritten at random, in thousandths,
/// and the exponent of the Zipf law of that, in thousandths.
type Begins = (u64, u64, u64);

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

/// What an experiment gave, or why it could not be done.
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
        Ok(Self { name, settings, capacity, own_writes, scale, config, plan, states: Mutex::default() })
    }

    /// The same drive with other values of some keys. States stay where none of these keys can change them.
    pub fn with(&self, over: &[Setting]) -> Result<Self, String> {
        let settings: Vec<Setting> = self.settings.iter().cloned().chain(over.iter().cloned()).collect();
        let other = Self::of(self.name.clone(), settings, (self.capacity, self.own_writes), self.scale)?;
        if !over.iter().all(|setting| is_about_time(&setting.key)) {
            return Ok(other);
        }
        let states = self.states.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(Self { states: Mutex::new(states), ..other })
    }

    /// The configuration of the smaller drive.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Names everything that its figures depend on.
    pub fn identity(&self) -> String {
        let pairs = self.config.resolved.iter().map(|(key, value)| format!("{key}={value}"));
        let (version, scale, own) = (env!("CARGO_PKG_VERSION"), self.scale, self.own_writes);
        format!("{version} 1/{scale} {own} {}", pairs.collect::<Vec<_>>().join(" "))
    }

    /// Does experiments, each on a drive of its own, on all cores; `host_ns` is what the measuring host adds to each
    /// latency. `None`: it was stopped before it had ended.
    ///
    /// # Errors
    /// The system does not give the threads.
    pub fn run_all(
        &self,
        experiments: &[(&Experiment, Nanos)],
        monitor: &dyn Monitor,
    ) -> Result<Vec<Option<Outcome>>, ThreadsError> {
        let stop = || monitor.is_stopped();
        let name = |(experiment, host_ns): &(&Experiment, Nanos)| {
            let Experiment { work, measured, .. } = experiment;
            format!("{}\n{work:?} {measured:?} {host_ns}", self.identity())
        };
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
    fn begins(&self, experiment: &Experiment) -> Option<Begins> {
        match experiment.work {
            Work::Closed { used, overwrites, .. } => Some((self.scaled(used), thousandths(overwrites), 0)),
            Work::Offered { .. } => Some((self.bytes(), thousandths(BEFORE_OFFERED), 0)),
            Work::Amplification { used, window_end, window, zipf } => {
                let before = window_end.map_or(STEADY, |end| end - window);
                Some((self.scaled(used), thousandths(before), thousandths(zipf)))
            }
            Work::Transient { used, .. } => Some((self.scaled(used), 0, 0)),
            Work::Fill { .. } => None,
        }
    }

    /// Whether a drive as small as this can do an experiment.
    fn is_large_enough(&self, experiment: &Experiment) -> Result<(), String> {
        let (used, request) = match experiment.work {
            Work::Closed { used, size, .. } => (self.scaled(used), size),
            Work::Offered { .. } => (self.bytes(), SMALL),
            Work::Amplification { used, .. } | Work::Transient { used, .. } => (self.scaled(used), SMALL),
            Work::Fill { size, .. } => (self.bytes(), size),
        };
        // A window of a fill or transient has a request or more.
        let least = request * if matches!(experiment.work, Work::Closed { .. }) { 1 } else { FILL as u64 };
        if used >= least {
            return Ok(());
        }
        Err(format!(
            "it uses {used} bytes of a drive that is {} times smaller, and needs {least}: give a smaller --scale",
            self.scale
        ))
    }

    fn run(&self, experiment: &Experiment, host_ns: Nanos, stop: Stop<'_>) -> Outcome {
        self.is_large_enough(experiment)?;
        unless(stop)?;
        match experiment.work {
            Work::Closed { op, order, size, depth, beside, used, .. } => {
                let used = self.scaled(used);
                let reads = if op == HostOp::Read { 1.0 } else { 0.0 };
                let client = Client { pace: Pace::Depth(depth), reads, order, size, within: used };
                let writers = writers(beside, 0.0, used);
                let clients: Vec<Client> = std::iter::once(client).chain(writers).collect();
                let written = if op == HostOp::Write { (used as f64 * WRITTEN) as u64 / size } else { 0 };
                let found = self.timed(self.begins(experiment), host_ns, |drive, seed| {
                    host::measure(drive, &clients, WARM_UP, REQUESTS.max(written), seed, stop)
                })?;
                let first = &found[0];
                let is_write = usize::from(op == HostOp::Write);
                let mut figures = Modelled::new();
                figures.insert("iops", first.per_second());
                figures.insert("rate", first.per_second() * size as f64);
                latencies(&mut figures, "", [&first.reads, &first.writes][is_write], first.least[is_write]);
                Ok(figures)
            }
            Work::Offered { writes_per_second } => {
                let all = self.bytes();
                let probe = Client { pace: Pace::Depth(1), reads: 0.5, order: Order::Random, size: SMALL, within: all };
                let rate = writes_per_second / (1.0 - OFFERED_READS);
                let clients: Vec<Client> = std::iter::once(probe).chain(writers(rate, OFFERED_READS, all)).collect();
                let found = self.timed(self.begins(experiment), host_ns, |drive, seed| {
                    host::measure(drive, &clients, WARM_UP, REQUESTS, seed, stop)
                })?;
                let (probe, writers) = (&found[0], &found[1]);
                let mut figures = Modelled::new();
                figures.insert("iops", writers.writes.count() as f64 * 1e9 / writers.elapsed as f64);
                latencies(&mut figures, "read.", &probe.reads, probe.least[0]);
                latencies(&mut figures, "write.", &probe.writes, probe.least[1]);
                Ok(figures)
            }
            Work::Amplification { window_end, window, .. } => {
                let begins = self.begins(experiment).expect("it begins with a state");
                let window = if window_end.is_some() { window } else { 1.0 };
                let waf = self.amplification(begins, window, stop)?;
                Ok(Modelled::from([("waf", waf * self.own_writes)]))
            }
            Work::Transient { used, depth } => {
                let within = self.scaled(used);
                let client = Client { pace: Pace::Depth(depth), reads: 0.0, order: Order::Random, size: SMALL, within };
                let requests = (within as f64 / SMALL as f64 / WINDOWS) as u64;
                let times = self.timed(self.begins(experiment), host_ns, |drive, seed| {
                    host::windows(drive, client, requests, TRANSIENT, seed, stop)
                })?;
                let rates: Vec<f64> = times.iter().map(|time| requests as f64 * 1e9 / *time as f64).collect();
                Ok(turning_points(&rates))
            }
            Work::Fill { size, depth } => {
                let within = self.bytes();
                let client = Client { pace: Pace::Depth(depth), reads: 0.0, order: Order::Sequential, size, within };
                let requests = within / size / FILL as u64;
                let times =
                    self.timed(None, host_ns, |drive, seed| host::windows(drive, client, requests, FILL, seed, stop))?;
                let step = requests * size;
                let rates: Vec<f64> = times.iter().map(|time| step as f64 * 1e9 / *time as f64).collect();
                Ok(phases(&rates, (step * self.scale) as f64))
            }
        }
    }

    /// Bytes the host sees.
    fn bytes(&self) -> u64 {
        self.plan.host_sectors() * SECTOR_BYTES
    }

    /// What stands for so many bytes of the real drive.
    fn scaled(&self, bytes: u64) -> u64 {
        (bytes / self.scale / SMALL * SMALL).min(self.bytes())
    }

    fn seed(&self) -> u64 {
        self.config.values.whole("engine.seed")
    }

    /// Brings a drive without time into a state.
    fn make(&self, begins: Begins, stop: Stop<'_>) -> Result<DriveState, String> {
        let (used, overwrites, _) = begins;
        let _memory = self.plan.claim_memory(false).map_err(|error| error.to_string())?;
        let mut drive = self.plan.assemble(CountedFlash::new(self.plan.fresh_state()));
        let sectors_per_page = self.plan.geometry.sectors_per_page();
        let mut fill = Fill::of(used / SECTOR_BYTES, sectors_per_page, 1.0);
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
        self.overwrite(&mut drive, begins, (overwrites as f64 / 1000.0, "before"), stop)?;
        Ok(DriveState::of(&drive))
    }

    /// Writes `times` as much as a state uses to random places of that, drawn by the stream called `when`.
    fn overwrite(
        &self,
        drive: &mut Drive<CountedFlash>,
        (used, _, zipf): Begins,
        (times, when): (f64, &str),
        stop: Stop<'_>,
    ) -> Result<u64, String> {
        let mut stream = Stream::new(self.seed(), when);
        let (places, sectors) = (used / SMALL, (SMALL / SECTOR_BYTES) as u32);
        let writes = (places as f64 * times) as u64;
        let mut completions = Completions::default();
        // The same places are popular whenever it is drawn.
        let popular = (zipf > 0).then(|| {
            let scatter = Scatter::new(places, &mut Stream::new(self.seed(), "popular"));
            (Zipf::new(places, zipf as f64 / 1000.0), scatter)
        });
        for number in 0..writes {
            if number.is_multiple_of(LOOK_EVERY) {
                unless(stop)?;
            }
            let place = match &popular {
                None => stream.below(places),
                Some((law, scatter)) => scatter.place(law.draw(&mut stream)),
            };
            let first_sector = place * u64::from(sectors);
            let request = Request { arrival: 0, first_sector, sectors, op: HostOp::Write, fua: false };
            serve(drive, &mut completions, &request)?;
        }
        Ok(writes)
    }

    /// Bytes programmed for each byte of random writes, over `window` times what the state uses.
    fn amplification(&self, begins: Begins, window: f64, stop: Stop<'_>) -> Result<f64, String> {
        let _memory = self.plan.claim_memory(false).map_err(|error| error.to_string())?;
        let fresh = self.plan.fresh_state();
        let state = self.state(begins).expect("it was made before");
        let resumed = state.resume(&self.plan, fresh, CountedFlash::new);
        let mut drive: Drive<CountedFlash> = resumed.map_err(|error| error.to_string())?;
        let programs = |drive: &Drive<CountedFlash>| Counters::total(&drive.flash().state().counters.programs);
        let before = programs(&drive);
        let writes = self.overwrite(&mut drive, begins, (window, "measured"), stop)?;
        let bytes = (programs(&drive) - before) * u64::from(self.plan.geometry.page_bytes);
        Ok(bytes as f64 / (writes * SMALL) as f64)
    }

    /// Lets clients work on a drive in a state, with time; `None`: on an erased one.
    fn timed<T>(
        &self,
        begins: Option<Begins>,
        host_ns: Nanos,
        work: impl FnOnce(&mut Drive<TimedFlash>, u64) -> Result<T, String>,
    ) -> Result<T, String> {
        let own = self.config.values.whole("host.latency");
        let latency = if host_ns > 0 { host_ns / 2 } else { own };
        let host = Setting::new("host.latency", &format!("{latency}ns"), "the host that measured");
        let own = self.config.resolved.iter().map(|(key, value)| Setting::new(key, value, "the stack"));
        let settings: Vec<Setting> = own.chain([host]).collect();
        let config = Config::resolve(self.name.clone(), &settings).map_err(|error| error.to_string())?;
        let plan = DrivePlan::new(config).map_err(|error| error.to_string())?;
        let _memory = plan.claim_memory(false).map_err(|error| error.to_string())?;
        let fresh = plan.fresh_state();
        let mut drive: Drive<TimedFlash> = match begins {
            None => plan.assemble(plan.timed(fresh)),
            Some(begins) => {
                let state = self.state(begins).expect("it was made before");
                let resumed = state.resume(&plan, fresh, |state| plan.timed(state));
                resumed.map_err(|error| error.to_string())?
            }
        };
        work(&mut drive, self.seed())
    }
}

/// Whether a key says only how long something takes: states do not depend on it.
fn is_about_time(key: &str) -> bool {
    const TIMES: [&str; 8] = [
        "flash.read_time",
        "flash.page_read_times",
        "flash.program_time",
        "flash.slc_program_time",
        "flash.erase_time",
        "flash.bus_bandwidth",
        "flash.suspend_step",
        "flash.program_memory",
    ];
    TIMES.contains(&key) || key.starts_with("host.") || key.starts_with("controller.")
}

fn writers(per_second: f64, reads: f64, within: u64) -> Option<Client> {
    let pace = Pace::PerSecond(per_second, OFFERED_LIMIT);
    (per_second > 0.0).then_some(Client { pace, reads, order: Order::Random, size: SMALL, within })
}

/// The figures of a distribution that has enough durations for them, with `prefix` before their names.
fn latencies(figures: &mut Modelled, prefix: &str, histogram: &Histogram, least: Nanos) {
    if histogram.count() == 0 {
        return;
    }
    let mut insert = |name: &str, value: f64| {
        if let Ok(Figure { name, .. }) = figure::find(&format!("{prefix}{name}")) {
            figures.insert(name, value);
        }
    };
    insert("min", least as f64);
    insert("mean", histogram.mean());
    for (name, share) in PERCENTILES {
        if let Some(value) = histogram.supported(share) {
            insert(name, value as f64);
        }
    }
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
            return Err("the drive has no room for what was to be written to it; give it more flash".to_owned());
        }
    }
    Ok(())
}
