//! The grid: every combination of a plan as a run, checked and with the address of its result.

use crate::axis;
use crate::error::PlanError;
use crate::plan::Plan;
use layer::ParameterKind;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use simulator::config::{OutsidePolicy, stack_parts};
use simulator::session::{self, SessionError};
use simulator::{Config, ConfigError, Setting};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// Keys that repetitions change.
pub(crate) const SEEDS: [&str; 2] = ["workload.seed", "engine.seed"];
/// Where messages say that a setting of a run stands.
const PLACE: &str = "the plan";
/// Most runs of a grid; each takes some kilobytes of memory.
const MOST_RUNS: usize = 1_000_000;
/// What results are called by: changed when they would differ for the same input.
const FORMAT: &str = "nandarium sweep 1";

/// Why a policy that a program has registered is not swept.
const OUTSIDE: &str = "was registered by a program, and its name does not tell what it does, so results cannot be kept \
    for it; put it into a file of its own, which tells that (nandarium.policies.load, --policies)";

/// One combination of stack, workload and values, without the repetition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    /// Number of the stack in the plan.
    pub stack: usize,
    /// Number of the workload in the plan.
    pub workload: usize,
    /// Numbers of the values, by axis.
    pub values: Vec<usize>,
}

#[derive(Clone, Debug)]
pub struct Run {
    /// Where it is in the grid.
    pub point: Point,
    /// Repetition, from 0.
    pub repetition: u32,
    pub seed: u64,
    /// Stack, as [`Config::load`] takes it.
    pub stack: String,
    /// Its text when the plan was read: the file may change while other runs of the plan are under way.
    pub read: Arc<(String, Vec<Setting>)>,
    /// Workload, as a session takes it.
    pub workload: String,
    /// Hash of the bytes of its trace, where the workload is a file.
    pub trace: Option<String>,
    /// Settings over the stack.
    pub settings: Vec<(String, String)>,
    /// Where its result is kept: a hash of everything that decides it.
    pub address: String,
    /// The inputs of its initial state, if it can be shared with other runs.
    pub state: Option<String>,
    /// Why it cannot be run.
    pub impossible: Option<String>,
}

impl Run {
    /// Its configuration.
    pub fn config(&self) -> Result<Config, ConfigError> {
        let (name, settings) = &*self.read;
        let settings: Vec<Setting> =
            settings.iter().cloned().chain(self.settings.iter().map(|(key, value)| from_plan(key, value))).collect();
        Config::resolve(name.clone(), &settings)
    }

    /// Its description, kept beside its result.
    pub fn to_json(&self) -> Value {
        json!({"address": self.address, "stack": self.stack, "workload": self.workload, "settings": self.settings})
    }
}

/// A setting as messages name it.
pub(crate) fn from_plan(key: &str, value: &str) -> Setting {
    Setting::new(key, value, PLACE)
}

/// All runs of a plan, in order: stacks, workloads, values of the axes (the last one varies fastest), repetitions.
#[derive(Clone, Debug)]
pub struct Grid {
    pub plan: Plan,
    pub runs: Vec<Run>,
}

impl Grid {
    /// Expands and checks a plan. `build` names the program: results of another one are not taken for its own.
    /// Errors: a stack, key, value or workload that does not exist, or no combination that can be run.
    pub fn new(plan: Plan, build: &str) -> Result<Self, PlanError> {
        Self::watched(plan, build, &|_, _| {})
    }

    /// As [`Grid::new`]; `told` hears now and then how many runs are checked, and of how many: it may take seconds.
    pub fn watched(plan: Plan, build: &str, told: &dyn Fn(usize, usize)) -> Result<Self, PlanError> {
        let grid = Self::checked(plan, build, told)?;
        let first = grid.runs.first().and_then(|run| run.impossible.clone());
        match first.filter(|_| grid.runs.iter().all(|run| run.impossible.is_some())) {
            Some(problem) => Err(PlanError::Nothing { file: grid.plan.file.clone(), runs: grid.runs.len(), problem }),
            None => Ok(grid),
        }
    }

    /// As [`Grid::new`], also where no combination can be run.
    /// Errors: a stack, key, value or workload that does not exist.
    pub fn expand(plan: Plan, build: &str) -> Result<Self, PlanError> {
        Self::checked(plan, build, &|_, _| {})
    }

    fn checked(plan: Plan, build: &str, told: &dyn Fn(usize, usize)) -> Result<Self, PlanError> {
        let axes = plan.axes.iter().map(|axis| axis.values.len());
        let all = [plan.stacks.len(), plan.workloads.len(), plan.repetitions as usize]
            .into_iter()
            .chain(axes)
            .fold(1_usize, usize::saturating_mul);
        if all > MOST_RUNS {
            return Err(PlanError::Large { file: plan.file.clone(), runs: all, most: MOST_RUNS });
        }
        let maker = Maker::new(&plan, build)?;
        let mut runs = Vec::with_capacity(all);
        let points = points(&plan);
        let pool = experiment::for_many(points.len());
        for points in points.chunks(experiment::FEW) {
            // Of several mistakes the first is told, whichever thread found its own first.
            for of_point in experiment::each(pool.as_ref(), points, |point| maker.runs(point)) {
                runs.extend(of_point?);
            }
            told(runs.len(), all);
        }
        Ok(Self { plan, runs })
    }
}

/// A hash of a plan's meaning, for work that continues with part of it later: stacks, settings, the bytes of traces,
/// the axes, and the text of `more`. Errors: a stack, key, value or workload that does not exist.
pub fn identity(plan: &Plan, build: &str, more: &str) -> Result<String, PlanError> {
    let maker = Maker::new(plan, build)?;
    let mut hasher = Sha256::new();
    hasher.update(format!("{more}\n{} {}\n{:?}\n", plan.seed, plan.repetitions, plan.axes));
    for stack in 0..plan.stacks.len() {
        for workload in 0..plan.workloads.len() {
            let point = Point { stack, workload, values: vec![0; plan.axes.len()] };
            let (run, _) = maker.first(&point)?;
            hasher.update(run.address);
        }
    }
    maker.check_names()?;
    Ok(hex(&hasher.finalize()[..8]))
}

/// Settings of a stack by itself, and keys with values that are given beside them.
pub(crate) type StackSettings = (Vec<Setting>, Vec<(String, String)>);

/// The own settings of each stack of a plan, and the settings of all runs with its additions.
/// Errors: a stack or key that does not exist.
pub(crate) fn stack_settings(plan: &Plan) -> Result<Vec<StackSettings>, PlanError> {
    let settings = |text: &String| {
        let stack = Stack::read(plan, text)?;
        Ok((stack.read.1.clone(), plan.set.iter().chain(&stack.own).cloned().collect()))
    };
    plan.stacks.iter().map(settings).collect()
}

/// Makes the runs of a plan.
struct Maker<'a> {
    plan: &'a Plan,
    build: &'a str,
    stacks: Vec<Stack>,
    workloads: Vec<String>,
    /// Hashes of the bytes of workloads that are files.
    traces: Vec<Option<String>>,
}

impl<'a> Maker<'a> {
    fn new(plan: &'a Plan, build: &'a str) -> Result<Self, PlanError> {
        let stacks = plan.stacks.iter().map(|stack| Stack::read(plan, stack)).collect::<Result<Vec<_>, _>>()?;
        let workloads: Vec<String> = plan.workloads.iter().map(|name| in_folder(plan, name)).collect();
        let trace = |workload: &String| match trace_digest(workload) {
            Err(error) if session::is_trace(workload) => {
                let problem = format!(
                    "`{workload}` cannot be read: {error}; name a trace file, as seen from the plan, or one of \
                     `nandarium list workloads`"
                );
                Err(plan.wrong("workloads", problem))
            }
            digest => Ok(digest.ok()),
        };
        let traces = workloads.iter().map(trace).collect::<Result<_, _>>()?;
        Ok(Self { plan, build, stacks, workloads, traces })
    }

    /// Checks every value of every axis of names, one after the other: what stands for a policy from outside is
    /// refused.
    fn check_names(&self) -> Result<(), PlanError> {
        let axes = self.plan.axes.iter().enumerate();
        let is_of_names =
            |key: &str| axis::parameter(key, "").is_ok_and(|known| matches!(known.kind, ParameterKind::Choice(_)));
        for (at, axis) in axes.filter(|(_, axis)| is_of_names(axis.key)) {
            for value in 0..axis.values.len() {
                let mut point = Point { stack: 0, workload: 0, values: vec![0; self.plan.axes.len()] };
                point.values[at] = value;
                self.first(&point)?;
            }
        }
        Ok(())
    }

    /// All repetitions of a combination, checked.
    fn runs(&self, point: &Point) -> Result<Vec<Run>, PlanError> {
        let (first, config) = self.first(point)?;
        let others = (1..self.plan.repetitions)
            .map(|repetition| self.again(&first, config.clone(), repetition))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(std::iter::once(first).chain(others).collect())
    }

    /// Another repetition of a run: whether it can be built does not depend on its seed, so that is not asked again.
    fn again(&self, first: &Run, mut config: Config, repetition: u32) -> Result<Run, PlanError> {
        let mut run = self.unchecked(&first.point, repetition);
        for key in SEEDS {
            config.set_whole(key, run.seed);
        }
        run.address = address(self.build, &config, run.trace.as_deref().unwrap_or(&run.workload));
        run.impossible.clone_from(&first.impossible);
        // What a drive begins with may depend on the seed.
        if first.state.is_some() {
            self.check(&mut run, config)?;
        }
        Ok(run)
    }

    fn unchecked(&self, point: &Point, repetition: u32) -> Run {
        let (stack, workload) = (&self.stacks[point.stack], &self.workloads[point.workload]);
        let seed = self.plan.seed + u64::from(repetition);
        Run {
            point: point.clone(),
            repetition,
            seed,
            stack: stack.base.clone(),
            read: Arc::clone(&stack.read),
            workload: workload.clone(),
            trace: self.traces[point.workload].clone(),
            settings: settings(self.plan, stack, point, seed),
            address: String::new(),
            state: None,
            impossible: None,
        }
    }

    /// The first repetition of a combination, checked, and its configuration: that it cannot be built is no error but
    /// part of it.
    fn first(&self, point: &Point) -> Result<(Run, Config), PlanError> {
        let plan = self.plan;
        let mut run = self.unchecked(point, 0);
        let config = run.config().map_err(|problem| match problem {
            // The message begins with the plan's name already.
            ConfigError::Value { key, place, problem } if place == PLACE => plan.wrong(key, problem),
            problem => PlanError::Config { file: plan.file.clone(), problem },
        })?;
        if let Some(OutsidePolicy { key, name, .. }) = config.outside_policies().iter().find(|one| one.source.is_none())
        {
            return Err(plan.wrong(&self.stacks[point.stack].place_of(plan, key), format!("{key} = {name} {OUTSIDE}")));
        }
        run.address = address(self.build, &config, run.trace.as_deref().unwrap_or(&run.workload));
        self.check(&mut run, config.clone())?;
        Ok((run, config))
    }

    /// Notes whether a run can be built, and what it begins with.
    fn check(&self, run: &mut Run, config: Config) -> Result<(), PlanError> {
        match session::check(config, &run.workload) {
            Ok(state) => run.state = state,
            Err(error @ SessionError::NoWorkload { .. }) => {
                return Err(self.plan.wrong("workloads", error.to_string()));
            }
            Err(error) => run.impossible = Some(error.to_string()),
        }
        Ok(())
    }
}

/// A stack of the plan: what it is based on, what that says, and what is said after the plus signs.
struct Stack {
    base: String,
    read: Arc<(String, Vec<Setting>)>,
    own: Vec<(String, String)>,
}

impl Stack {
    fn read(plan: &Plan, text: &str) -> Result<Self, PlanError> {
        let wrong = |problem: String| plan.wrong("stacks", problem);
        let (base, own) = stack_parts(text).map_err(|problem| wrong(format!("`{text}`: {problem}")))?;
        if let Some((key, _)) = own.iter().find(|(key, _)| plan.repetitions > 1 && SEEDS.contains(&key.as_str())) {
            return Err(wrong(format!(
                "`{text}` sets {key}, which repetitions change; leave it out, or set repetitions = 1"
            )));
        }
        if let Some((key, _)) = own.iter().find(|(key, _)| plan.axes.iter().any(|axis| axis.key == key)) {
            return Err(wrong(format!("`{text}` sets {key}, which is an axis; leave it out of one of the two")));
        }
        let config = |problem| PlanError::Config { file: plan.file.clone(), problem };
        for (key, _) in &own {
            axis::parameter(key, &format!("stacks: `{text}`")).map_err(config)?;
        }
        let base = in_folder(plan, base);
        let read = Config::read(&base).map_err(config)?;
        Ok(Self { base, read: Arc::new(read), own })
    }

    /// The part of the plan that gives a key its value.
    fn place_of(&self, plan: &Plan, key: &str) -> String {
        let has = |pairs: &[(String, String)]| pairs.iter().any(|(known, _)| known == key);
        if has(&self.own) {
            "stacks".to_owned()
        } else if plan.axes.iter().any(|axis| axis.key == key) {
            format!("axes.{key}")
        } else if has(&plan.set) {
            format!("set.{key}")
        } else {
            format!("stacks: {}", self.base)
        }
    }
}

/// A name, or the file it means as seen from the plan.
fn in_folder(plan: &Plan, name: &str) -> String {
    let path = plan.folder.join(name);
    if path.is_file() { path.to_string_lossy().into_owned() } else { name.to_owned() }
}

fn points(plan: &Plan) -> Vec<Point> {
    let mut points = Vec::new();
    for stack in 0..plan.stacks.len() {
        for workload in 0..plan.workloads.len() {
            let mut values = vec![0; plan.axes.len()];
            loop {
                points.push(Point { stack, workload, values: values.clone() });
                // The next combination, as an odometer counts.
                let Some(at) = (0..values.len()).rev().find(|at| values[*at] + 1 < plan.axes[*at].values.len()) else {
                    break;
                };
                values[at] += 1;
                values[at + 1..].fill(0);
            }
        }
    }
    points
}

fn settings(plan: &Plan, stack: &Stack, point: &Point, seed: u64) -> Vec<(String, String)> {
    let mut settings = plan.set.clone();
    settings.extend(
        plan.axes.iter().zip(&point.values).map(|(axis, value)| (axis.key.to_owned(), axis.values[*value].clone())),
    );
    let seeds = SEEDS.iter().filter(|key| plan.repetitions > 1 || !settings.iter().any(|(set, _)| set == *key));
    let seeds: Vec<_> = seeds.map(|key| ((*key).to_owned(), seed.to_string())).collect();
    settings.extend(seeds);
    settings.extend(stack.own.iter().cloned());
    settings
}

/// A hash of the bytes of a trace. A file is read once as long as it stays as it is.
pub(crate) fn trace_digest(path: &str) -> io::Result<String> {
    /// Path, bytes and time of change.
    type File = (String, u64, Option<SystemTime>);
    static KNOWN: Mutex<BTreeMap<File, String>> = Mutex::new(BTreeMap::new());
    let file = std::fs::metadata(path)?;
    let key = (path.to_owned(), file.len(), file.modified().ok());
    // Whoever asks for the same one meanwhile waits for it.
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(digest) = known.get(&key) {
        return Ok(digest.clone());
    }
    let digest = file_digest(Path::new(path))?;
    known.insert(key, digest.clone());
    Ok(digest)
}

/// A hash of everything that decides a result; `requests` stands for those of the workload.
fn address(build: &str, config: &Config, requests: &str) -> String {
    let mut hasher = Sha256::new();
    for part in [FORMAT, build, &config.name, requests] {
        hasher.update(part);
        hasher.update("\n");
    }
    for (key, value) in &config.resolved {
        hasher.update(format!("{key} = {value}\n"));
    }
    for source in config.outside_policies().into_iter().filter_map(|policy| policy.source) {
        hasher.update(source.digest);
        hasher.update("\n");
    }
    hex(&hasher.finalize()[..16])
}

/// A hash of the bytes of a file, in hexadecimal.
/// Errors: it cannot be read.
pub fn file_digest(path: &Path) -> io::Result<String> {
    let mut hasher = Sha256::new();
    io::copy(&mut File::open(path)?, &mut hasher)?;
    Ok(hex(&hasher.finalize()))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> Plan {
        Plan::parse(text, "p.toml", Path::new(""), &[]).unwrap()
    }

    const SET: &str = "[set]\ndrive.capacity = \"64MiB\"\nflash.channels = 1\nflash.dies_per_channel = \
        1\nflash.pages_per_block = 64\n";

    /// The search began, and ended when it came to the second value.
    #[test]
    fn a_policy_from_outside_is_found_wherever_it_stands_on_an_axis() {
        ftl::gc::register("mine-grid", "", Arc::new(|_| unreachable!("nothing is run")), None).unwrap();
        for victims in ["\"mine-grid\", \"fifo\"", "\"fifo\", \"mine-grid\""] {
            let message = identity(&plan(&format!("{SET}[axes]\nftl.gc.victim = [{victims}]\n")), "build", "waf")
                .unwrap_err()
                .to_string();
            assert!(
                message.contains("axes.ftl.gc.victim: ftl.gc.victim = mine-grid was registered by a program"),
                "{message}"
            );
        }
    }

    #[test]
    fn a_policy_of_a_file_is_swept_and_another_file_is_another_run() {
        let address = |digest: &str| {
            let source = layer::registry::Source { path: "/mine.py".to_owned(), digest: digest.to_owned() };
            ftl::gc::register("of-a-file", "", Arc::new(|_| unreachable!("nothing is run")), Some(source)).unwrap();
            let grid = Grid::expand(plan(&format!("{SET}ftl.gc.victim = \"of-a-file\"\n")), "build").unwrap();
            grid.runs[0].address.clone()
        };
        assert_eq!(address("1"), address("1"));
        assert_ne!(address("1"), address("2"));
    }

    #[test]
    fn repetitions_are_the_runs_that_their_seeds_alone_would_be() {
        for more in ["", "drive.precondition = \"overwrite\"\n", "drive.precondition = \"steady\"\n"] {
            let axes = "[axes]\ndrive.over_provisioning = [\"50%\", \"0.1%\"]\n";
            let together =
                Grid::expand(plan(&format!("seed = 5\nrepetitions = 3\n{SET}{more}{axes}")), "build").unwrap();
            for repetition in 0..3 {
                let alone =
                    Grid::expand(plan(&format!("seed = {}\n{SET}{more}{axes}", 5 + repetition)), "build").unwrap();
                let of =
                    |run: &Run| (run.address.clone(), run.state.clone(), run.impossible.clone(), run.settings.clone());
                let expected: Vec<_> = alone.runs.iter().map(of).collect();
                assert_eq!(
                    together.runs.iter().filter(|run| run.repetition == repetition).map(of).collect::<Vec<_>>(),
                    expected
                );
            }
        }
    }
}
