//! `nandarium life`: how long a drive lives under a workload, and the causes of wear.

use super::limits::Limits;
use super::{compare as comparing, logs, results};
use crate::arguments::LifeArguments;
use crate::failure::Failure;
use crate::names::Names;
use crate::watch::Keeping;
use crate::{output, provenance, settings, table, watch};
use compare::life::{document, page};
use compare::{CompareError, Comparison, Lived, Source, Stack};
use metrics::Status;
use simulator::session::SessionError;

pub fn execute(arguments: &LifeArguments) -> Result<(), Failure> {
    if let [before, after] = arguments.smart.as_slice() {
        return logs::execute(arguments, [before, after]);
    }
    let shared = &arguments.session;
    let names = Names::sort(&arguments.names, arguments.stack.as_slice(), shared.workload.as_deref())?;
    let (stack, workload) = (names.stack()?, names.workload);
    let question = arguments.question.asked(arguments.price.as_ref(), arguments.tbw.clone());
    let plan = settings::life_plan(stack, shared, &question, workload)?;
    let is_repeated = arguments.repetitions > 1;
    if is_repeated && workload == "-" {
        return Err(Failure::usage(comparing::ONCE));
    }
    results::prepare(shared.out.as_deref(), shared.quiet)?;
    watch::catch_interrupts();
    let stage = watch::Stage::new(shared.quiet).with_choices_in_text(!shared.json, |_| true);
    let source = Source::Named(workload);
    let ready = Stack::with_life(plan, source).map_err(of_the_stack)?.with_provenance(provenance::of(stack, workload)?);
    let snapshots = settings::snapshots_of(shared);
    let repetitions = arguments.repetitions as usize;
    let comparison = Comparison { snapshots: snapshots.as_ref(), repetitions, ..Comparison::new(source) };
    let keeping = if is_repeated { comparing::keeping("life", shared, workload)? } else { Keeping::new(None) };
    let mut compared = comparison.run(vec![ready], &stage, &keeping).map_err(of_the_stack)?;
    let ended = results::verdict(&compared.results());
    let is_interrupted = compared.results().iter().any(|result| result.status == Status::Interrupted);
    let lived = compared.ran.pop().and_then(|ran| ran.lived);
    let Some(Lived { life, over_seeds, .. }) = lived else { return ended };
    let report = match life {
        Ok(report) => report,
        // Of a run that ended early the reason is in the failure; an interrupted one may only have been too short.
        Err(error) => return if is_interrupted { ended } else { Err(error.into()) },
    };
    let document = document(&report, over_seeds.as_ref());
    let run = report.result.to_json();
    let judged = Limits::of_results(&shared.limits, &[(report.result.stack.as_str(), &run, &document)]);
    let mut told = document.clone();
    judged.tell(&mut told);
    output::print(&if shared.json { results::pretty(&told) } else { table::life(&report, over_seeds.as_ref()) })?;
    if let Some(folder) = &shared.out {
        results::write(folder, &run)?;
        results::write_page(&folder.join("report.html"), std::slice::from_ref(&run), &[])?;
        output::write_file(&folder.join("life.json"), &results::pretty(&document))?;
        output::write_file(&folder.join("life.html"), &page::render(&report, over_seeds.as_ref()))?;
        results::show(&folder.join("life.html"), shared);
    }
    ended?;
    compared.unrepeated.map_or(Ok(()), |error| Err(comparing::kept(of_the_stack(error), "; ", &keeping)))?;
    keeping.forget();
    judged.verdict(&shared.limits)
}

/// The failure of the only stack, which need not be named.
fn of_the_stack(error: CompareError) -> Failure {
    match error {
        CompareError::Stack { problem, .. } => Failure::from(*problem),
        CompareError::Interrupted(_) => SessionError::Interrupted.into(),
        other => other.into(),
    }
}
