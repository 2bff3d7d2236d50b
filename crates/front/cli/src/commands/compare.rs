//! `nandarium compare`: stacks side by side, computed in parallel, printed in the order given.

use super::life::plan::LifePlan;
use super::repeated::{self, Again, Repeated};
use super::{results, timeline};
use crate::arguments::{CompareArguments, Drawing, LivesArguments, SessionArguments, price};
use crate::failure::{Failure, INTERRUPTED, USAGE};
use crate::names::Names;
use crate::table::Lived;
use crate::watch::{Keeping, Session};
use crate::{output, provenance, settings, table, watch};
use experiment::{Cache, Ledger, Monitor as _, Shard, Work};
use metrics::{LifeReport, Provenance, RunResult, Status, WearWindow};
use serde_json::Value;
use simulator::Config;
use simulator::session::Prepared;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;
use units::quantity;

/// A stack of the comparison.
struct Member {
    name: String,
    config: Config,
    prepared: Prepared,
    provenance: Provenance,
    /// Where its life is asked for.
    plan: Option<LifePlan>,
    /// The file of its timeline.
    timeline: Option<PathBuf>,
}

/// A stack that ran, its life and price where they were asked for, and what is to be said of it.
struct Compared {
    result: RunResult,
    /// Single requests, for its page.
    closeups: Option<Value>,
    lived: Lived,
    notes: Vec<String>,
}

pub fn execute(arguments: &CompareArguments) -> Result<(), Failure> {
    let shared = &arguments.session;
    let drawing = arguments.drawing.plan();
    if drawing.is_some() && arguments.lives.life {
        return Err(Failure::usage("--timeline draws a run, and --life looks at wear: give one of them"));
    }
    let names = Names::sort(&arguments.stacks, &arguments.drive, shared.workload.as_deref())?;
    let mut members = members(arguments, &names)?;
    drawing.iter().try_for_each(|drawing| give_files(&mut members, drawing))?;
    results::prepare(shared.out.as_deref(), shared.quiet)?;
    watch::catch_interrupts();
    let stage = watch::Stage::new(shared.quiet).with_choices_in_text(!shared.json, results::is_told_of_several);
    let keeping = keeping(shared, names.workload)?;
    let runs = Runs { shared, drawing: drawing.as_ref(), stage: &stage, keeping: &keeping };
    let (again, finished, interrupted) = runs.all(members)?;
    let ran: Vec<&RunResult> = finished.iter().map(|one| &one.result).collect();
    let mut notes = results::without_effect(&ran);
    for note in finished.iter().flat_map(|one| &one.notes) {
        // What is true of several stacks is said once.
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    let mut documents: Vec<Value> = finished.iter().map(|one| one.to_json(arguments.lives.life)).collect();
    // What ran already is worth keeping, whatever becomes of its repetitions.
    let (repeated, problem) =
        match repetitions(arguments, (&again, names.workload), &ran, &mut documents, (&stage, &keeping)) {
            Ok(repeated) => (repeated, None),
            Err(failure) => (Vec::new(), Some(failure)),
        };
    let stopped = ran.iter().find(|result| arguments.repetitions > 1 && result.status != Status::Complete);
    notes.extend(stopped.map(|result| {
        format!(
            "No repetitions: {} did not run to its end ({}), and means take whole runs.",
            result.stack,
            result.status.name()
        )
    }));
    if shared.json {
        output::print(&results::pretty(&results::together(&documents, &notes)))?;
    } else {
        let lives: Vec<Lived> = finished.iter().map(|one| one.lived.clone()).collect();
        let told = (!repeated.is_empty()).then_some(&repeated);
        output::print(&table::comparison(&ran, &lives, told.map(|all| all as &dyn table::Repetitions), &notes))?;
        output::print(&repeated::verdicts(&repeated))?;
        if std::io::stdout().is_terminal() {
            output::print(&table::pictures_together(&ran))?;
        }
    }
    if let Some(folder) = &shared.out {
        for (index, (one, document)) in finished.iter().zip(&documents).enumerate() {
            results::write(&folder.join(results::folder_name(index, &one.result.stack)), document)?;
        }
        output::write_file(&folder.join("result.json"), &results::pretty(&results::together(&documents, &notes)))?;
        results::write_page(&folder.join("report.html"), &documents, &notes)?;
        results::show(&folder.join("report.html"), shared);
    }
    interrupted.map_or(Ok(()), Err)?;
    results::verdict(&ran)?;
    problem.map_or(Ok(()), Err)?;
    // Whoever compares them once more wants them measured once more.
    keeping.forget();
    Ok(())
}

/// Where finished runs of a comparison are kept: below the folder of results, or in the user's cache folder.
fn keeping(shared: &SessionArguments, workload: &str) -> Result<Keeping, Failure> {
    let folder = shared
        .out
        .as_deref()
        .map(|folder| folder.join("simulations"))
        .or_else(|| settings::cache_folder().map(|folder| folder.join("compare")));
    // What standard input gave is gone.
    let Some(folder) = folder.filter(|_| workload != "-") else { return Ok(Keeping::new(None)) };
    Cache::forget_old(&folder);
    let trace = provenance::of("", workload)?.workload.map_or_else(String::new, |file| file.sha256);
    let identity = format!("{}\n{workload} {trace}", settings::program_hash());
    Ok(Keeping::new(Some(Cache::new(&folder, "compare", identity))))
}

/// The stacks that ran, and the failure of those that an interrupt kept from being measured, if some ran.
fn finished(
    members: Vec<Member>,
    ran: Vec<Option<Ran>>,
    keeping: &Keeping,
) -> Result<(Vec<Compared>, Option<Failure>), Failure> {
    let (mut finished, mut problems) = (Vec::new(), Vec::new());
    for (member, ran) in members.into_iter().zip(ran) {
        match ran {
            Some(Ran::Measured(measured)) => finished.push(member.compared(&measured)),
            Some(Ran::Interrupted(message)) => problems.push(message),
            None => problems.push(format!("stack `{}`: interrupted before it began", member.name)),
        }
    }
    let message = problems.join("\n  ");
    let interrupted = (!problems.is_empty()).then_some(Failure { code: INTERRUPTED, message });
    match interrupted {
        Some(failure) if finished.is_empty() => Err(failure),
        Some(failure) => {
            let message = format!("{}\n  What has ended is kept: {}", failure.message, keeping.goes_on());
            Ok((finished, Some(Failure { message, ..failure })))
        }
        None => Ok((finished, None)),
    }
}

/// Gives each stack a file for its timeline, if all can be drawn.
fn give_files(members: &mut [Member], drawing: &Drawing) -> Result<(), Failure> {
    members.iter().try_for_each(|member| {
        timeline::check(&drawing.path, &member.prepared).map_err(|failure| named(&member.name, failure))
    })?;
    let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
    let files = timeline::files_of(&drawing.path, &names);
    members.iter_mut().zip(files).for_each(|(member, file)| member.timeline = Some(file));
    Ok(())
}

/// Runs each stack again, if that is asked for, and writes what can be told into its document.
fn repetitions(
    arguments: &CompareArguments,
    (stacks, workload): (&[Again], &str),
    firsts: &[&RunResult],
    documents: &mut [Value],
    watching: (&watch::Stage, &Keeping),
) -> Result<Vec<Repeated>, Failure> {
    let shared = &arguments.session;
    if arguments.repetitions == 1
        || firsts.len() < stacks.len()
        || firsts.iter().any(|result| result.status != Status::Complete)
    {
        return Ok(Vec::new());
    }
    let snapshots = settings::snapshots_of(shared);
    let count = arguments.repetitions as usize;
    let repeated = repeated::run(stacks, documents, count, workload, snapshots.as_ref(), watching)?;
    for (document, repeated) in documents.iter_mut().zip(&repeated) {
        document["repeated"] = repeated.to_json();
    }
    Ok(repeated)
}

/// The stacks, checked before anything runs.
fn members(arguments: &CompareArguments, names: &Names<'_>) -> Result<Vec<Member>, Failure> {
    let shared = &arguments.session;
    let Names { stacks, workload } = names;
    if stacks.is_empty() {
        return Err(Failure::usage(format!(
            "`{workload}` is a workload: name the stacks to compare under it as well, for example page dftl"
        )));
    }
    if *workload == "-" && (stacks.len() > 1 || arguments.repetitions > 1) {
        return Err(Failure::usage(
            "standard input can be read only once, and each run needs the whole workload; save the trace to a file",
        ));
    }
    let prices = prices(&arguments.lives, stacks)?;
    let load = |stack: &&str| {
        let config = settings::load(stack, shared)?;
        let name = config.name.clone();
        let plan = arguments.lives.life.then(|| {
            let load = |under| settings::load_with(stack, shared, under);
            let plan = LifePlan::new(load, &arguments.lives.question, prices.get(stack).copied())?;
            plan.check_workload(workload)?;
            Ok::<_, Failure>(plan)
        });
        let plan = plan.transpose().map_err(|failure| named(&name, failure))?;
        let config = plan.as_ref().map_or(config, |plan| plan.config.clone());
        let prepared = Prepared::new(config.clone(), workload).map_err(|error| named(&name, error.into()))?;
        Ok(Member { provenance: provenance::of(stack, workload)?, name, config, prepared, plan, timeline: None })
    };
    stacks.iter().map(load).collect()
}

fn prices<'a>(lives: &'a LivesArguments, stacks: &[&str]) -> Result<BTreeMap<&'a str, f64>, Failure> {
    if !lives.life && (!lives.price.is_empty() || lives.question.is_asked()) {
        return Err(Failure::usage(
            "--per-day, --warranty, --price and --price-per-gb are about lives: give --life as well",
        ));
    }
    let mut prices = BTreeMap::new();
    for text in &lives.price {
        // Names have `=` in them where a key is changed.
        let Some((name, number)) = text.rsplit_once('=') else {
            return Err(Failure::usage(format!("--price {text}: write NAME=NUMBER, such as {}=190", stacks[0])));
        };
        let price = price(number).map_err(|problem| Failure::usage(format!("--price {text}: {problem}")))?;
        if !stacks.contains(&name) {
            return Err(Failure::usage(format!(
                "--price {text}: `{name}` is not compared; compared are {}",
                stacks.join(", ")
            )));
        }
        if prices.insert(name, price).is_some() {
            return Err(Failure::usage(format!("--price {text}: `{name}` has a price already; give one")));
        }
    }
    Ok(prices)
}

/// The first runs of all stacks.
struct Runs<'a> {
    shared: &'a SessionArguments,
    drawing: Option<&'a Drawing>,
    stage: &'a watch::Stage,
    keeping: &'a Keeping,
}

/// What became of the first run of a stack.
#[derive(Clone)]
enum Ran {
    Measured(Arc<Measured>),
    /// Nothing was measured; the message says so.
    Interrupted(String),
}

/// What the first run of a stack gave.
struct Measured {
    result: RunResult,
    /// Single requests, for its page: a text of JSON.
    closeups: Option<String>,
    /// Where its life is asked for.
    window: Option<WearWindow>,
}

/// What it takes to run each stack again, those that ran, and the failure of those that an interrupt kept from being
/// measured, if some ran.
type Firsts = (Vec<Again>, Vec<Compared>, Option<Failure>);

impl Runs<'_> {
    /// Runs each stack for the first time.
    fn all(&self, members: Vec<Member>) -> Result<Firsts, Failure> {
        // Stacks may have the same name and keys, and each has files of its own.
        let identity = |(at, member): (usize, &Member)| format!("{at}: {}", member.identity(self.shared));
        let identities: Vec<String> = members.iter().enumerate().map(identity).collect();
        let names = identities.iter().map(String::as_str).collect();
        let ran = Ledger::of(self, &members, names, Shard::ALL).run(self, self.keeping)?;
        let again = |(member, identity): (&Member, &String)| Again {
            name: member.name.clone(),
            config: member.config.clone(),
            identity: identity.clone(),
        };
        let again: Vec<Again> = members.iter().zip(&identities).map(again).collect();
        let (finished, interrupted) = finished(members, ran, self.keeping)?;
        Ok((again, finished, interrupted))
    }
}

impl Work for Runs<'_> {
    type Job = Member;
    type Given = Ran;
    type Error = Failure;

    fn recall(&self, _: &Member, identity: &str) -> Option<Ran> {
        // Its picture would not be drawn.
        let bytes = self.keeping.recall(identity).filter(|_| self.drawing.is_none())?;
        let (result, closeups, window) = experiment::from_bytes(&bytes)?;
        Some(Ran::Measured(Arc::new(Measured { result, closeups, window })))
    }

    fn run(&self, member: &Member, identity: &str) -> Result<Option<Ran>, Failure> {
        let mut watcher = self.stage.watcher(&member.name);
        match member.run(self.shared, self.drawing, &mut watcher) {
            Ok(measured) => {
                let Measured { result, closeups, window } = &measured;
                if result.status == Status::Complete {
                    self.keeping.keep(identity, &experiment::to_bytes(&(result, closeups, window)));
                }
                Ok(Some(Ran::Measured(Arc::new(measured))))
            }
            Err(failure) if failure.code == INTERRUPTED => {
                Ok(Some(Ran::Interrupted(named(&member.name, failure).message)))
            }
            Err(failure) => Err(named(&member.name, failure)),
        }
    }
}

impl Member {
    /// Everything that decides what its run gives, beside the program and the workload.
    fn identity(&self, shared: &SessionArguments) -> String {
        let mut text = format!("{}, life {}, page {}", self.name, self.plan.is_some(), shared.out.is_some());
        for (key, value) in &self.config.resolved {
            // Writing to a string cannot fail.
            let _ = write!(text, "\n{key} = {value}");
        }
        text
    }

    fn run(
        &self,
        shared: &SessionArguments,
        drawing: Option<&Drawing>,
        watcher: &mut Session<'_>,
    ) -> Result<Measured, Failure> {
        let snapshots = settings::snapshots_of(shared);
        if self.plan.is_some() {
            let (result, window) = self.prepared.run_wear(snapshots.as_ref(), watcher)?;
            return Ok(Measured { result, closeups: None, window: Some(window) });
        }
        let wanted = timeline::Wanted {
            drawing: drawing.zip(self.timeline.as_deref()),
            has_page: shared.out.is_some(),
            stack: &self.name,
            quiet: shared.quiet,
        };
        let (result, closeups) = timeline::run(&self.prepared, snapshots.as_ref(), watcher, wanted)?;
        Ok(Measured { result, closeups: closeups.map(|closeups| closeups.to_string()), window: None })
    }

    /// What is told of it.
    fn compared(self, measured: &Measured) -> Compared {
        let result = RunResult { provenance: Some(self.provenance), ..measured.result.clone() };
        let Some((plan, window)) = self.plan.zip(measured.window.as_ref()) else {
            let closeups = measured.closeups.as_deref().and_then(|text| serde_json::from_str(text).ok());
            let lived = Lived { life: None, cost: None };
            return Compared { result, closeups, lived, notes: Vec::new() };
        };
        let cost = plan.cost(window);
        let (life, notes) = match plan.report(result.clone(), window.clone()) {
            Ok(life) => {
                let note = (is_smaller(&result) && cost.is_some()).then(|| {
                    format!(
                        "{} is a drive of {} here (--set drive.capacity): terabytes, years and prices are of one so \
                         large. drive.scale makes it smaller for the run alone.",
                        self.name,
                        quantity::format_size(life.capacity_bytes())
                    )
                });
                let notes = life.endurance_note().into_iter().chain(note).collect();
                (Some(life), notes)
            }
            Err(failure) => (None, vec![format!("No life of {}: {}", self.name, failure.message)]),
        };
        Compared { result, closeups: None, lived: Lived { life, cost }, notes }
    }
}

impl Compared {
    /// The result, with `life` in it where that was asked for, and `cost` where no life has it.
    fn to_json(&self, with_life: bool) -> Value {
        let mut document = results::with_closeups(self.result.to_json(), self.closeups.clone());
        if with_life {
            let Lived { life, cost } = &self.lived;
            document["life"] = life.as_ref().map_or(Value::Null, LifeReport::to_json);
            if let Some(cost) = cost.filter(|_| life.is_none()) {
                document["cost"] = cost.to_json();
            }
        }
        document
    }
}

/// Whether a drive has another capacity than its file says.
fn is_smaller(result: &RunResult) -> bool {
    result.given.iter().any(|key| key == "drive.capacity")
}

fn named(stack: &str, failure: Failure) -> Failure {
    if failure.code == USAGE && failure.message.contains(stack) {
        return failure;
    }
    Failure { message: format!("stack `{stack}`: {}", failure.message), ..failure }
}
