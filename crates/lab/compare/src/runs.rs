//! Stacks side by side: each is run once on all cores, kept as it ends, and repeated with other seeds.

use crate::count::{RunCount, Why};
use crate::error::CompareError;
use crate::life::{self, LifeError, LifeOverSeeds, LifePlan};
use crate::repeated::{self, Again, Repeated};
use crate::timeline::{self, Drawing, Drawn, TimelineError};
use crate::{Answer, longer, notes, with_closeups};
use experiment::{Ledger, Monitor, Shard, Work};
use metrics::{Cost, LifeReport, LifeTerms, Provenance, RunResult, Status, WearWindow};
use serde_json::Value;
use simulator::Config;
use simulator::session::{GivenRequests, Prepared, SessionError, Snapshots, Watcher};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use units::quantity;

/// The requests that all stacks are given.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// A built-in workload, a trace file, or `-` for standard input.
    Named(&'a str),
    /// Requests in memory, and what they are called.
    Given(&'a str, &'a GivenRequests),
}

impl Source<'_> {
    pub(crate) fn prepare(self, config: Config) -> Result<Prepared, SessionError> {
        match self {
            Self::Named(name) => Prepared::new(config, name),
            Self::Given(name, requests) => Prepared::given(config, name, requests),
        }
    }
}

/// Where runs show their progress, from several threads.
pub trait Stage: Sync {
    /// A watcher for the run of this name.
    fn watcher(&self, name: &str) -> Box<dyn Watcher + '_>;
    /// A run has failed: nothing will be told of the others.
    fn failed(&self) {}
}

/// A stack of a comparison, ready to run.
pub struct Stack {
    pub(crate) name: String,
    pub(crate) config: Config,
    pub(crate) prepared: Prepared,
    pub(crate) plan: Option<LifePlan>,
    pub(crate) provenance: Option<Provenance>,
    pub(crate) timeline: Option<PathBuf>,
}

impl Stack {
    /// A stack of this configuration, fitted to the requests.
    ///
    /// # Errors
    /// The configuration or the workload cannot be used.
    pub fn new(config: Config, source: Source<'_>) -> Result<Self, CompareError> {
        let prepared = source.prepare(config.clone()).map_err(|error| CompareError::of_stack(&config.name, error))?;
        Ok(Self { name: config.name.clone(), config, prepared, plan: None, provenance: None, timeline: None })
    }

    /// As [`Stack::new`], and its life is told as well.
    ///
    /// # Errors
    /// As [`Stack::new`].
    pub fn with_life(plan: LifePlan, source: Source<'_>) -> Result<Self, CompareError> {
        let ready = Self::new(plan.config().clone(), source)?;
        Ok(Self { plan: Some(plan), ..ready })
    }

    /// Its result says where it comes from.
    #[must_use]
    pub fn with_provenance(self, provenance: Provenance) -> Self {
        Self { provenance: Some(provenance), ..self }
    }

    /// Everything that decides what its run gives, beside the program and the workload.
    fn identity(&self, place: usize, has_page: bool) -> String {
        // Stacks may have the same name and keys, and each has files of its own.
        let mut text = format!("{place}: {}, life {}, page {has_page}", self.name, self.plan.is_some());
        for (key, value) in &self.config.resolved {
            // Writing to a string cannot fail.
            let _ = write!(text, "\n{key} = {value}");
        }
        text
    }
}

/// What is to be done with some stacks.
#[derive(Clone, Copy)]
pub struct Comparison<'a> {
    /// The requests.
    pub source: Source<'a>,
    /// Where preconditioned states are kept; `None`: nowhere.
    pub snapshots: Option<&'a Snapshots>,
    /// Runs of each stack, the first one included; they have the seeds that follow.
    pub repetitions: usize,
    /// Where lives are asked for, the load is lengthened until they can be told, unless the user has chosen its length.
    pub chooses_length: bool,
    /// `repetitions` are the most: fewer where [`REQUESTS_MAX`](crate::REQUESTS_MAX) does not allow as many.
    pub chooses_runs: bool,
    /// A timeline of each first run. Each stack gets a file of its own.
    pub drawing: Option<&'a Drawing>,
    /// Requests are looked at closely, for a page.
    pub has_page: bool,
}

impl<'a> Comparison<'a> {
    /// Each stack once, and nothing beside it.
    pub fn new(source: Source<'a>) -> Self {
        Self {
            source,
            snapshots: None,
            repetitions: 1,
            chooses_length: false,
            chooses_runs: false,
            drawing: None,
            has_page: false,
        }
    }
}

/// How long a drive lives.
#[derive(Debug)]
pub struct Lived {
    /// Its life, or why it cannot be told.
    pub life: Result<LifeReport, LifeError>,
    /// What repetitions tell of it.
    pub over_seeds: Option<LifeOverSeeds>,
    /// What it costs, where a price was given.
    pub cost: Option<Cost>,
    /// What was asked of it.
    pub terms: LifeTerms,
}

impl Lived {
    /// Years until the host has written what the data sheet promises, whether a life can be told or not; `None`: there
    /// is no data sheet, or nothing tells the bytes a day.
    pub(crate) fn data_sheet_years(&self) -> Option<f64> {
        let of_run = || self.life.as_ref().ok()?.data_sheet_years();
        self.terms.data_sheet_years().or_else(of_run)
    }
}

/// The first run of a stack.
#[derive(Debug)]
pub struct Ran {
    /// What it measured.
    pub result: RunResult,
    /// Requests that were looked at closely, for its page.
    closeups: Option<Value>,
    /// Its life, where that was asked for.
    pub lived: Option<Lived>,
    /// Its timeline, where one was drawn.
    pub drawn: Option<Drawn>,
    notes: Vec<String>,
}

/// Stacks that were compared.
#[derive(Debug)]
pub struct Compared {
    /// The first run of each stack, in their order, but for those that were interrupted before they were measured.
    pub ran: Vec<Ran>,
    /// What repetitions tell of each stack; nothing without them.
    pub repeated: Vec<Repeated>,
    /// The answer, where lives were asked for.
    pub answer: Option<Answer>,
    /// What is to be said of all together.
    pub notes: Vec<String>,
    /// Why stacks are missing, if some are.
    pub interrupted: Option<CompareError>,
    /// Why repetitions are missing that were begun.
    pub unrepeated: Option<CompareError>,
}

impl Compared {
    /// Results of the first runs.
    pub fn results(&self) -> Vec<&RunResult> {
        self.ran.iter().map(|ran| &ran.result).collect()
    }

    /// The document of each first run, with what its repetitions tell.
    pub fn documents(&self) -> Vec<Value> {
        let document = |(at, ran): (usize, &Ran)| {
            let mut document = ran.to_json();
            if let Some(repeated) = self.repeated.get(at) {
                document["repeated"] = repeated.to_json();
            }
            document
        };
        self.ran.iter().enumerate().map(document).collect()
    }
}

impl Comparison<'_> {
    /// Gives each stack a file of its own for its timeline, where that is wanted, and checks that all can be drawn:
    /// [`Comparison::run`] does it as well.
    ///
    /// # Errors
    /// One cannot.
    pub fn give_files(&self, stacks: &mut [Stack]) -> Result<(), CompareError> {
        let Some(Drawing { path, .. }) = self.drawing else { return Ok(()) };
        for stack in &*stacks {
            timeline::check(path, &stack.prepared).map_err(|error| CompareError::of_stack(&stack.name, error))?;
        }
        let names: Vec<&str> = stacks.iter().map(|stack| stack.name.as_str()).collect();
        let files = timeline::files_of(path, &names);
        stacks.iter_mut().zip(files).for_each(|(stack, file)| stack.timeline = Some(file));
        Ok(())
    }

    /// Runs all stacks.
    /// 1. Each is run once, or recalled; all again under a longer load, until their lives can be told, where that is
    ///    wanted.
    /// 2. Each is run again with other seeds, if all first runs have a place in means.
    /// 3. What is to be said of all together is collected.
    ///
    /// # Errors
    /// A run has no result; all were interrupted before they were measured.
    pub fn run(
        &self,
        mut stacks: Vec<Stack>,
        stage: &dyn Stage,
        monitor: &dyn Monitor,
    ) -> Result<Compared, CompareError> {
        self.give_files(&mut stacks)?;
        let (stacks, given) = self.first_runs(stacks, stage, monitor)?;
        let identities = self.identities(&stacks);
        let (mut ran, interrupted) = told(&stacks, given)?;
        let asked = Comparison { repetitions: self.runs_of_each(&ran), ..*self };
        let unfit = ran.iter().find_map(Ran::unfit).filter(|_| asked.repetitions > 1);
        let is_repeated = asked.repetitions > 1 && interrupted.is_none() && unfit.is_none();
        let again = stacks.iter().zip(&identities).zip(&ran).map(|((stack, identity), first)| Again {
            config: &stack.config,
            identity,
            plan: stack.plan.as_ref(),
            first,
        });
        let again: Vec<Again<'_>> = again.filter(|_| is_repeated).collect();
        let (told, unrepeated) = match repeated::run(&asked, &again, stage, monitor) {
            Ok(told) => (told, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let (repeated, lives): (Vec<_>, Vec<_>) = told.into_iter().unzip();
        for (ran, over_seeds) in ran.iter_mut().zip(lives) {
            ran.lived.iter_mut().for_each(|lived| lived.over_seeds.clone_from(&over_seeds));
        }
        let has_lives = interrupted.is_none() && stacks.iter().any(|stack| stack.plan.is_some());
        let count = self.counted(asked.repetitions, unfit.as_deref(), unrepeated.as_ref());
        let answer = has_lives.then(|| Answer::of(&stacks, &ran, &repeated, count));
        let mut notes = missing(&ran, interrupted.as_ref(), unrepeated.as_ref());
        notes.extend(together(&ran));
        notes.extend(unfit.map(|reason| format!("No repetitions: {reason}, and means take whole runs of all drives.")));
        notes.extend(answer.as_ref().and_then(|answer| answer.unpriced.clone()));
        Ok(Compared { ran, repeated, answer, notes, interrupted, unrepeated })
    }

    /// Runs each stack once, under a load long enough for all their lives where that is wanted.
    fn first_runs(
        &self,
        mut stacks: Vec<Stack>,
        stage: &dyn Stage,
        monitor: &dyn Monitor,
    ) -> Result<(Vec<Stack>, Vec<Option<Given>>), CompareError> {
        let runs = FirstRuns { asked: self, stage, monitor };
        let mut rounds = 0;
        loop {
            let identities = self.identities(&stacks);
            let names = identities.iter().map(String::as_str).collect();
            let given = Ledger::of(&runs, &stacks, names, Shard::ALL).run(&runs, monitor)?;
            let measured: Option<Vec<&Measured>> = given.iter().map(|given| given.as_ref()?.measured()).collect();
            let is_open = self.chooses_length && rounds < longer::ROUNDS;
            let measured = measured.filter(|_| is_open);
            let Some(length) = measured.and_then(|all| longer::needed(&stacks, &all, self.source)) else {
                return Ok((stacks, given));
            };
            rounds += 1;
            let lengthened = stacks.into_iter().map(|stack| stack.lengthened(length, self.source));
            stacks = lengthened.collect::<Result<_, _>>()?;
        }
    }

    fn identities(&self, stacks: &[Stack]) -> Vec<String> {
        stacks.iter().enumerate().map(|(place, stack)| stack.identity(place, self.has_page)).collect()
    }

    /// Runs of each stack, the first one included.
    fn runs_of_each(&self, ran: &[Ran]) -> usize {
        let requests = ran.iter().map(|ran| ran.result.requests()).max().unwrap_or(0);
        if self.chooses_runs { longer::runs(self.repetitions, requests) } else { self.repetitions }
    }

    /// How many runs are told of each stack, of `wanted` ones, and why.
    fn counted(&self, wanted: usize, unfit: Option<&str>, unrepeated: Option<&CompareError>) -> RunCount {
        let missed = unrepeated.map(|error| match error {
            CompareError::Unrepeated => "the repetitions were interrupted",
            _ => "a repetition has no result",
        });
        let why = match unfit.or(missed) {
            Some(reason) => Why::NotRepeated(reason.to_owned()),
            None if !self.chooses_runs => Why::Asked,
            None if wanted < self.repetitions => Why::Limited,
            None => Why::Chosen,
        };
        RunCount { runs: if matches!(why, Why::NotRepeated(_)) { 1 } else { wanted }, why }
    }
}

/// What an interruption left out, so that nobody takes a table of some runs for the whole.
fn missing(ran: &[Ran], interrupted: Option<&CompareError>, unrepeated: Option<&CompareError>) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(CompareError::Interrupted(problems)) = interrupted {
        notes.push(format!("Doubt: the comparison was interrupted and lacks drives ({}).", problems.join("; ")));
    }
    let early = ran.iter().filter(|one| one.result.status == Status::Interrupted);
    let early: Vec<&str> = early.map(|one| one.result.stack.as_str()).collect();
    if !early.is_empty() {
        let names = layer::spelling::joined(&early, "and");
        notes.push(format!("Doubt: interrupted: figures of {names} cover only the requests that ran until then."));
    }
    if let Some(CompareError::Unrepeated) = unrepeated {
        notes.push("Doubt: the repetitions were interrupted: all figures are of the first runs alone.".to_owned());
    }
    notes
}

/// What is to be said of all together.
fn together(ran: &[Ran]) -> Vec<String> {
    let results: Vec<&RunResult> = ran.iter().map(|ran| &ran.result).collect();
    // The hash of a run says nothing of a life: keys such as flash.endurance change that alone.
    let has_lives = ran.iter().any(|one| one.lived.is_some());
    let mut notes = if has_lives { Vec::new() } else { notes::without_effect(&results) };
    for note in ran.iter().flat_map(|one| &one.notes) {
        // What is true of several stacks is said once.
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    notes
}

/// The first runs that were measured, and why others are missing, if some are.
fn told(stacks: &[Stack], given: Vec<Option<Given>>) -> Result<(Vec<Ran>, Option<CompareError>), CompareError> {
    let (mut ran, mut problems) = (Vec::new(), Vec::new());
    for (stack, given) in stacks.iter().zip(given) {
        match given {
            Some(Given::Measured(measured)) => ran.push(stack.told(&measured)),
            Some(Given::Interrupted(message)) => problems.push(message),
            None => problems.push(format!("stack `{}`: interrupted before it began", stack.name)),
        }
    }
    let interrupted = (!problems.is_empty()).then_some(CompareError::Interrupted(problems));
    match interrupted {
        Some(error) if ran.is_empty() => Err(error),
        interrupted => Ok((ran, interrupted)),
    }
}

/// The first runs of all stacks.
struct FirstRuns<'a> {
    asked: &'a Comparison<'a>,
    stage: &'a dyn Stage,
    monitor: &'a dyn Monitor,
}

/// What became of the first run of a stack.
#[derive(Clone)]
enum Given {
    Measured(Arc<Measured>),
    /// Nothing was measured; the message says so.
    Interrupted(String),
}

impl Given {
    fn measured(&self) -> Option<&Measured> {
        if let Self::Measured(measured) = self { Some(measured) } else { None }
    }
}

/// What the first run of a stack gave.
pub(crate) struct Measured {
    pub(crate) result: RunResult,
    /// Requests that were looked at closely, for its page: a text of JSON.
    closeups: Option<String>,
    /// Where its life is asked for.
    pub(crate) window: Option<WearWindow>,
    drawn: Option<Drawn>,
}

impl Work for FirstRuns<'_> {
    type Job = Stack;
    type Given = Given;
    type Error = CompareError;

    fn recall(&self, _: &Stack, identity: &str) -> Option<Given> {
        // Its picture would not be drawn.
        let bytes = self.monitor.recall(identity).filter(|_| self.asked.drawing.is_none())?;
        let (result, closeups, window) = experiment::from_bytes(&bytes)?;
        Some(Given::Measured(Arc::new(Measured { result, closeups, window, drawn: None })))
    }

    fn run(&self, stack: &Stack, identity: &str) -> Result<Option<Given>, CompareError> {
        let mut watcher = self.stage.watcher(&stack.name);
        match self.one(stack, &mut *watcher) {
            Ok(measured) => {
                let Measured { result, closeups, window, .. } = &measured;
                if result.status == Status::Complete {
                    self.monitor.keep(identity, &experiment::to_bytes(&(result, closeups, window)));
                }
                Ok(Some(Given::Measured(Arc::new(measured))))
            }
            Err(TimelineError::Session(error @ SessionError::Interrupted)) => {
                Ok(Some(Given::Interrupted(CompareError::of_stack(&stack.name, error).to_string())))
            }
            Err(error) => {
                self.stage.failed();
                Err(CompareError::of_stack(&stack.name, error))
            }
        }
    }
}

impl FirstRuns<'_> {
    fn one(&self, stack: &Stack, watcher: &mut dyn Watcher) -> Result<Measured, TimelineError> {
        let Comparison { snapshots, drawing, has_page, .. } = *self.asked;
        if stack.plan.is_some() {
            let (result, window) = stack.prepared.run_wear(snapshots, watcher)?;
            return Ok(Measured { result, closeups: None, window: Some(window), drawn: None });
        }
        let wanted = drawing.zip(stack.timeline.as_deref());
        let (result, closeups, drawn) = timeline::run(&stack.prepared, snapshots, watcher, wanted, has_page)?;
        Ok(Measured { result, closeups: closeups.map(|closeups| closeups.to_string()), window: None, drawn })
    }
}

impl Stack {
    /// What is told of its first run.
    fn told(&self, measured: &Measured) -> Ran {
        let result = RunResult { provenance: self.provenance.clone(), ..measured.result.clone() };
        let closeups = measured.closeups.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let drawn = measured.drawn.clone();
        let Some((plan, window)) = self.plan.as_ref().zip(measured.window.as_ref()) else {
            return Ran { result, closeups, lived: None, drawn, notes: Vec::new() };
        };
        let cost = plan.cost(window);
        let life = plan.report(result.clone(), window.clone());
        let notes = match &life {
            Ok(life) => {
                let note = (is_smaller(&result) && cost.is_some()).then(|| {
                    format!(
                        "{} is a drive of {} here (--set drive.capacity): terabytes, years and prices are of one so \
                         large. Under a generator, drive.scale runs a smaller drive and tells the life of the whole \
                         one.",
                        self.name,
                        quantity::format_size(life.capacity_bytes())
                    )
                });
                [life.small_trace_doubt(), life.endurance_note(), life.uneven_note(), note]
                    .into_iter()
                    .flatten()
                    .collect()
            }
            Err(error) => vec![format!("No life of {}: {error}", self.name)],
        };
        let lived = Lived { life, over_seeds: None, cost, terms: plan.terms().clone() };
        Ran { result, closeups, lived: Some(lived), drawn, notes }
    }
}

impl Ran {
    /// Why it has no place in means; `None`: it ran to its end, and its life can be told where that is asked for.
    fn unfit(&self) -> Option<String> {
        let RunResult { stack, status, .. } = &self.result;
        if *status != Status::Complete {
            return Some(format!("{stack} did not run to its end ({})", status.name()));
        }
        let error = self.lived.as_ref()?.life.as_ref().err()?;
        let why = error.reason().map_or_else(String::new, |why| format!(" ({why})"));
        Some(format!("{stack} has no life{why}"))
    }

    /// The result, with `life` in it where that was asked for, and `cost` and `data_sheet` where no life has them.
    fn to_json(&self) -> Value {
        let mut document = with_closeups(self.result.to_json(), self.closeups.clone());
        let Some(lived) = &self.lived else { return document };
        let Lived { life, over_seeds, cost, terms } = lived;
        document["life"] = life.as_ref().map_or(Value::Null, |life| life::document(life, over_seeds.as_ref()));
        if life.is_err() {
            if let Some(cost) = cost {
                document["cost"] = cost.to_json();
            }
            if let Some(sheet) = terms.data_sheet {
                document["data_sheet"] = sheet.to_json(lived.data_sheet_years());
            }
        }
        document
    }
}

/// Whether a drive has another capacity than its file says.
fn is_smaller(result: &RunResult) -> bool {
    result.given.iter().any(|key| key == "drive.capacity")
}
