//! `nandarium compare`: stacks side by side, computed in parallel, printed in the order given.

use super::limits::{self, Limits};
use super::results;
use crate::arguments::{CompareArguments, LivesArguments, SessionArguments};
use crate::failure::{Failure, INTERRUPTED};
use crate::names::Names;
use crate::watch::Keeping;
use crate::{given, output, policies, provenance, settings, table, watch};
use compare::{Compared, Comparison, Lived, RUNS_CHOSEN, Source, Stack};
use experiment::Cache;
use metrics::Money;
use serde_json::Value;
use simulator::Config;
use std::collections::BTreeMap;
use std::io::IsTerminal as _;

/// Why standard input is no workload of several runs.
pub const ONCE: &str =
    "standard input can be read only once, and each run needs the whole workload; save the trace to a file";

pub fn execute(arguments: &CompareArguments) -> Result<(), Failure> {
    let shared = &arguments.session;
    limits::check(&shared.limits, arguments.lives.life)?;
    let drawing = arguments.drawing.plan();
    if drawing.is_some() && arguments.lives.life {
        return Err(Failure::usage("--timeline draws a run, and --life looks at wear: give one of them"));
    }
    let names = Names::sort(&arguments.stacks, &arguments.drive, shared.workload.as_deref())?;
    let mut stacks = stacks(arguments, &names)?;
    let snapshots = settings::snapshots_of(shared);
    // Standard input can be read only once.
    let is_chosen = arguments.lives.life && arguments.repetitions.is_none() && names.workload != "-";
    let comparison = Comparison {
        snapshots: snapshots.as_ref(),
        repetitions: arguments.repetitions.map_or(if is_chosen { RUNS_CHOSEN } else { 1 }, |count| count as usize),
        chooses_length: arguments.lives.life,
        chooses_runs: is_chosen,
        drawing: drawing.as_ref(),
        has_page: shared.out.is_some(),
        ..Comparison::new(Source::Named(names.workload))
    };
    comparison.give_files(&mut stacks)?;
    results::prepare(shared.out.as_deref(), shared.quiet)?;
    watch::catch_interrupts();
    let stage = watch::Stage::new(shared.quiet).with_choices_in_text(!shared.json, compare::notes::is_told_of_several);
    let keeping = keeping("compare", shared, names.workload)?;
    let compared = comparison.run(stacks, &stage, &keeping)?;
    for ran in &compared.ran {
        results::tell_drawn(&ran.result.stack, ran.drawn.as_ref(), shared.quiet);
    }
    let documents = compared.documents();
    let named = compared.ran.iter().zip(&documents);
    let named = named.map(|(ran, document)| (ran.result.stack.as_str(), document, &document["life"]));
    let judged = Limits::of_results(&shared.limits, &named.collect::<Vec<_>>());
    show(&compared, &documents, shared, &judged)?;
    let results = compared.results();
    let ended = results::verdict(&results);
    compared.interrupted.map_or(Ok(()), |error| Err(kept(Failure::from(error), "\n  ", &keeping)))?;
    ended?;
    compared.unrepeated.map_or(Ok(()), |error| Err(kept(Failure::from(error), "; ", &keeping)))?;
    // Whoever compares them once more wants them measured once more.
    keeping.forget();
    judged.verdict(&shared.limits)
}

/// Prints a comparison, and writes its files.
fn show(compared: &Compared, documents: &[Value], shared: &SessionArguments, judged: &Limits) -> Result<(), Failure> {
    let (results, notes) = (compared.results(), &compared.notes);
    let answer = compared.answer.as_ref();
    let together = compare::together(answer, documents, notes);
    if shared.json {
        let mut told = together.clone();
        judged.tell(&mut told);
        output::print(&results::pretty(&told))?;
    } else {
        let lives: Vec<&Lived> = compared.ran.iter().filter_map(|ran| ran.lived.as_ref()).collect();
        output::print(&answer.map_or_else(String::new, table::answer))?;
        output::print(&table::comparison(&results, &lives, documents, notes))?;
        if std::io::stdout().is_terminal() {
            output::print(&table::pictures_together(&results))?;
        }
    }
    let Some(folder) = &shared.out else { return Ok(()) };
    for (index, (result, document)) in results.iter().zip(documents).enumerate() {
        results::write(&folder.join(results::folder_name(index, &result.stack)), document)?;
    }
    output::write_file(&folder.join("result.json"), &results::pretty(&together))?;
    results::write_answered(&folder.join("report.html"), &together["answer"], documents, notes)?;
    results::show(&folder.join("report.html"), shared);
    Ok(())
}

/// Says of an interruption how to go on.
pub fn kept(failure: Failure, between: &str, keeping: &Keeping) -> Failure {
    if failure.code != INTERRUPTED {
        return failure;
    }
    let message = format!("{}{between}{}", failure.message, keeping.goes_on());
    Failure { message, ..failure }
}

/// Where finished runs of a command are kept: below the folder of results, or in the user's cache folder.
pub fn keeping(command: &str, shared: &SessionArguments, workload: &str) -> Result<Keeping, Failure> {
    let folder = shared
        .out
        .as_deref()
        .map(|folder| folder.join("simulations"))
        .or_else(|| settings::cache_folder().map(|folder| folder.join(command)));
    // What standard input gave is gone.
    let Some(folder) = folder.filter(|_| workload != "-") else { return Ok(Keeping::new(None)) };
    Cache::forget_old(&folder);
    let trace = provenance::of("", workload)?.workload.map_or_else(String::new, |file| file.sha256);
    let identity = format!("{} {}\n{workload} {trace}", settings::program_hash(), policies::identity());
    Ok(Keeping::new(Some(Cache::new(&folder, command, identity))))
}

/// The stacks, checked before anything runs.
fn stacks(arguments: &CompareArguments, names: &Names<'_>) -> Result<Vec<Stack>, Failure> {
    let shared = &arguments.session;
    let Names { stacks, workload } = names;
    if stacks.is_empty() {
        return Err(Failure::usage(format!(
            "`{workload}` is a workload: name the stacks to compare under it as well, for example page dftl"
        )));
    }
    if *workload == "-" && (stacks.len() > 1 || arguments.repetitions.is_some_and(|count| count > 1)) {
        return Err(Failure::usage(ONCE));
    }
    let configs = stacks.iter().map(|stack| settings::load(stack, shared)).collect::<Result<Vec<Config>, _>>()?;
    let known = stacks.iter().zip(&configs).map(|(given, config)| given::Compared { given, name: &config.name });
    let of_drives = OfDrives::new(&arguments.lives, &known.collect::<Vec<_>>())?;
    let load = |(stack, config): (&&str, &Config)| {
        let source = Source::Named(workload);
        let ready = if arguments.lives.life {
            let sheet = of_drives.sheets.get(stack).cloned();
            let question = arguments.lives.question.asked(of_drives.prices.get(stack), sheet);
            let plan = settings::life_plan(stack, shared, &question, workload);
            Stack::with_life(plan.map_err(|failure| failure.of_stack(&config.name))?, source)?
        } else {
            Stack::new(config.clone(), source)?
        };
        Ok(ready.with_provenance(provenance::of(stack, workload)?))
    };
    stacks.iter().zip(&configs).map(load).collect()
}

/// What is given for single drives: prices and data sheets, by the stacks as they were given.
struct OfDrives<'a> {
    prices: BTreeMap<&'a str, Money>,
    sheets: BTreeMap<&'a str, String>,
}

impl<'a> OfDrives<'a> {
    fn new(lives: &LivesArguments, stacks: &[given::Compared<'a>]) -> Result<Self, Failure> {
        let is_asked = !(lives.price.is_empty() && lives.tbw.is_empty()) || lives.question.is_asked();
        if !lives.life && is_asked {
            return Err(Failure::usage(
                "--per-day, --warranty, --price, --price-per-gb and --tbw are about lives: give --life as well",
            ));
        }
        let prices = given::by_stack("--price", &lives.price, stacks, ("NUMBER", "190"), Money::parse)?;
        let sheets = given::by_stack("--tbw", &lives.tbw, stacks, ("SIZE", "1752TB"), |text| Ok(text.to_owned()))?;
        one_currency(lives, &prices)?;
        Ok(Self { prices, sheets })
    }
}

/// Refuses prices in several currencies: they cannot stand in one table.
fn one_currency(lives: &LivesArguments, prices: &BTreeMap<&str, Money>) -> Result<(), Failure> {
    let per_gb = lives.question.price_per_gb.iter().map(|money| ("--price-per-gb".to_owned(), money));
    let each = prices.iter().map(|(stack, money)| (format!("--price {stack}"), money));
    let all: Vec<(String, &Money)> = per_gb.chain(each).collect();
    let Some(((first, known), others)) = all.split_first() else { return Ok(()) };
    let name = |money: &Money| money.currency.as_ref().map_or("no currency".to_owned(), |one| one.name.clone());
    let other = others.iter().find(|(_, money)| name(money) != name(known));
    other.map_or(Ok(()), |(option, money)| {
        Err(Failure::usage(format!(
            "{first} is in {}, and {option} in {}: one table has one currency; write all prices in the same one",
            name(known),
            name(money)
        )))
    })
}
