//! `nandarium life`: how long a drive lives under a workload, and what spends its life.

use super::results;
use crate::arguments::LifeArguments;
use crate::failure::Failure;
use crate::names::Names;
use crate::{output, provenance, settings, table, watch};
use compare::life::page;
use metrics::{RunResult, Status};
use simulator::session::Prepared;

pub fn execute(arguments: &LifeArguments) -> Result<(), Failure> {
    let shared = &arguments.session;
    let names = Names::sort(&arguments.names, arguments.stack.as_slice(), shared.workload.as_deref())?;
    let (stack, workload) = (names.stack()?, names.workload);
    let plan = settings::life_plan(stack, shared, &arguments.question.asked(arguments.price), workload)?;
    results::prepare(shared.out.as_deref(), shared.quiet)?;
    watch::catch_interrupts();
    let stage = watch::Stage::new(shared.quiet).with_choices_in_text(!shared.json, |_| true);
    let mut watcher = stage.watcher(&plan.config().name);
    let prepared = Prepared::new(plan.config().clone(), workload)?;
    let (result, window) = prepared.run_wear(settings::snapshots_of(shared).as_ref(), &mut watcher)?;
    let result = RunResult { provenance: Some(provenance::of(stack, workload)?), ..result };
    drop(watcher);
    let ended = results::verdict(&[&result]);
    let is_interrupted = result.status == Status::Interrupted;
    let report = match plan.report(result, window) {
        Ok(report) => report,
        // Of a run that ended early the reason is in the failure; an interrupted one may only have been too short.
        Err(error) => return if is_interrupted { ended } else { Err(error.into()) },
    };
    let document = report.to_json();
    output::print(&if shared.json { results::pretty(&document) } else { table::life(&report) })?;
    if let Some(folder) = &shared.out {
        let run = report.result.to_json();
        results::write(folder, &run)?;
        results::write_page(&folder.join("report.html"), std::slice::from_ref(&run), &[])?;
        output::write_file(&folder.join("life.json"), &results::pretty(&document))?;
        output::write_file(&folder.join("life.html"), &page::render(&report))?;
        results::show(&folder.join("life.html"), shared);
    }
    ended
}
