//! `nandarium compare`: stacks side by side, computed in parallel, printed in the order given.

use super::results;
use crate::arguments::{CompareArguments, LivesArguments, SessionArguments, price};
use crate::failure::{Failure, INTERRUPTED};
use crate::names::Names;
use crate::watch::Keeping;
use crate::{output, provenance, settings, table, watch};
use compare::{Compared, Comparison, Lived, Source, Stack};
use experiment::Cache;
use std::collections::BTreeMap;
use std::io::IsTerminal as _;

/// Why standard input is no workload of several runs.
pub const ONCE: &str =
    "standard input can be read only once, and each run needs the whole workload; save the trace to a file";

pub fn execute(arguments: &CompareArguments) -> Result<(), Failure> {
    let shared = &arguments.session;
    let drawing = arguments.drawing.plan();
    if drawing.is_some() && arguments.lives.life {
        return Err(Failure::usage("--timeline draws a run, and --life looks at wear: give one of them"));
    }
    let names = Names::sort(&arguments.stacks, &arguments.drive, shared.workload.as_deref())?;
    let mut stacks = stacks(arguments, &names)?;
    let snapshots = settings::snapshots_of(shared);
    let comparison = Comparison {
        snapshots: snapshots.as_ref(),
        repetitions: arguments.repetitions as usize,
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
    show(&compared, shared)?;
    let results = compared.results();
    let ended = results::verdict(&results);
    compared.interrupted.map_or(Ok(()), |error| Err(kept(Failure::from(error), "\n  ", &keeping)))?;
    ended?;
    compared.unrepeated.map_or(Ok(()), |error| Err(kept(Failure::from(error), "; ", &keeping)))?;
    // Whoever compares them once more wants them measured once more.
    keeping.forget();
    Ok(())
}

/// Prints a comparison, and writes its files.
fn show(compared: &Compared, shared: &SessionArguments) -> Result<(), Failure> {
    let (results, documents, notes) = (compared.results(), compared.documents(), &compared.notes);
    let together = || results::pretty(&compare::together(&documents, notes));
    if shared.json {
        output::print(&together())?;
    } else {
        let lives: Vec<&Lived> = compared.ran.iter().filter_map(|ran| ran.lived.as_ref()).collect();
        output::print(&table::comparison(&results, &lives, &documents, notes))?;
        if std::io::stdout().is_terminal() {
            output::print(&table::pictures_together(&results))?;
        }
    }
    let Some(folder) = &shared.out else { return Ok(()) };
    for (index, (result, document)) in results.iter().zip(&documents).enumerate() {
        results::write(&folder.join(results::folder_name(index, &result.stack)), document)?;
    }
    output::write_file(&folder.join("result.json"), &together())?;
    results::write_page(&folder.join("report.html"), &documents, notes)?;
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
    let identity = format!("{}\n{workload} {trace}", settings::program_hash());
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
    if *workload == "-" && (stacks.len() > 1 || arguments.repetitions > 1) {
        return Err(Failure::usage(ONCE));
    }
    let prices = prices(&arguments.lives, stacks)?;
    let load = |stack: &&str| {
        let config = settings::load(stack, shared)?;
        let source = Source::Named(workload);
        let ready = if arguments.lives.life {
            let question = arguments.lives.question.asked(prices.get(stack).copied());
            let plan = settings::life_plan(stack, shared, &question, workload);
            Stack::with_life(plan.map_err(|failure| failure.of_stack(&config.name))?, source)?
        } else {
            Stack::new(config, source)?
        };
        Ok(ready.with_provenance(provenance::of(stack, workload)?))
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
