//! `nandarium run`.

use super::limits::{self, Limits};
use super::results;
use crate::arguments::RunArguments;
use crate::failure::Failure;
use crate::names::Names;
use crate::progress::{self, Board};
use crate::provenance::{self, Again};
use crate::{output, settings, table, watch};
use compare::timeline;
use metrics::RunResult;
use serde_json::Value;
use simulator::session::Prepared;
use std::io::IsTerminal as _;

pub fn execute(arguments: &RunArguments) -> Result<(), Failure> {
    let shared = &arguments.session;
    limits::check(&shared.limits, false)?;
    let again = arguments.again.as_deref().map(provenance::again).transpose()?;
    let (config, workload, provenance) = if let Some(again) = &again {
        (again.config.clone(), again.workload.as_str(), again.provenance.clone())
    } else {
        let names = Names::sort(&arguments.names, arguments.stack.as_slice(), shared.workload.as_deref())?;
        let stack = names.stack()?;
        (settings::load(stack, shared)?, names.workload, provenance::of(stack, names.workload)?)
    };
    let name = config.name.clone();
    let prepared = Prepared::new(config, workload)?;
    let drawing = arguments.drawing.plan();
    drawing.iter().try_for_each(|drawing| timeline::check(&drawing.path, &prepared))?;
    results::prepare(shared.out.as_deref(), shared.quiet)?;
    watch::catch_interrupts();
    let has_causes = metrics::records_causes(&prepared.plan().config.resolved);
    let board = arguments.watch.watch.map(|_| Board::new("run", &name, "requests", has_causes));
    let watching = progress::watched(&arguments.watch, shared.quiet, board.as_ref())?;
    let stage = watch::Stage::new(shared.quiet).with_choices_in_text(!shared.json, |_| true).shown_on(board);
    let mut watcher = stage.watcher(&name);
    let snapshots = settings::snapshots_of(shared);
    let wanted = drawing.as_ref().map(|drawing| (drawing, drawing.path.as_path()));
    let has_page = shared.out.is_some();
    let (result, closeups, drawn) = timeline::run(&prepared, snapshots.as_ref(), &mut watcher, wanted, has_page)?;
    drop((watcher, watching));
    results::tell_drawn(&name, drawn.as_ref(), shared.quiet);
    let result = RunResult { provenance: Some(provenance), ..result };
    let json = compare::with_closeups(result.to_json(), closeups);
    let judged = Limits::of_results(&shared.limits, &[(name.as_str(), &json, &Value::Null)]);
    let mut told = json.clone();
    judged.tell(&mut told);
    if shared.json {
        output::print(&results::pretty(&told))?;
    } else {
        let advice = compare::advice::sentence(&result, &told);
        output::print(&table::result(&result, advice.as_deref()))?;
        if std::io::stdout().is_terminal() {
            output::print(&table::pictures(&result))?;
        }
    }
    if let Some(folder) = &shared.out {
        results::write(folder, &json)?;
        results::write_page(&folder.join("report.html"), std::slice::from_ref(&told), &[])?;
        results::show(&folder.join("report.html"), shared);
    }
    results::verdict(&[&result])?;
    again.map_or(Ok(()), |again| repeated(&again, &result, shared.quiet))?;
    judged.verdict(&shared.limits)
}

/// Says whether a run gave what it gave before.
fn repeated(again: &Again, result: &RunResult, quiet: bool) -> Result<(), Failure> {
    let hash = format!("{:016x}", result.hash);
    if hash != again.hash {
        let (then, now) = (&again.provenance.version, env!("CARGO_PKG_VERSION"));
        return Err(Failure::failed(format!(
            "the result is another one than before: hash {hash}, and {} then; version {then} ran it then, {now} now. \
             Two builds of one version may differ too",
            again.hash
        )));
    }
    if !quiet {
        output::complain(&format!("the result is the same as before: hash {hash}"));
    }
    Ok(())
}
