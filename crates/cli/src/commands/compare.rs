//! `nandarium compare`: stacks side by side, computed in parallel, printed in the order given.

use super::results;
use crate::arguments::CompareArguments;
use crate::failure::{Failure, USAGE};
use crate::{memory, output, provenance, settings, table, watch};
use metrics::{Provenance, RunResult};
use rayon::prelude::*;
use serde_json::Value;
use simulator::session::Prepared;

/// A stack of the comparison.
struct Member {
    name: String,
    prepared: Prepared,
    provenance: Provenance,
}

pub fn execute(arguments: &CompareArguments) -> Result<(), Failure> {
    let shared = &arguments.session;
    let stacks: Vec<&String> = arguments.stacks.iter().chain(&arguments.drive).collect();
    if shared.workload == "-" && stacks.len() > 1 {
        return Err(Failure::usage(
            "standard input can be read only once, and each stack needs the whole workload; save the trace to a file",
        ));
    }
    let load = |stack: &String| {
        let config = settings::load(stack, shared)?;
        let name = config.name.clone();
        let prepared = Prepared::new(config, &shared.workload).map_err(|error| named(&name, error.into()))?;
        memory::check(prepared.plan(), false).map_err(|failure| named(&name, failure))?;
        Ok(Member { provenance: provenance::of(stack, &shared.workload)?, name, prepared })
    };
    let all: Result<Vec<Member>, Failure> = stacks.into_iter().map(load).collect();
    results::prepare(shared.out.as_deref(), shared.quiet)?;
    watch::catch_interrupts();
    let stage = watch::Stage::new(shared.quiet).with_result_as_text(!shared.json);
    let outcomes: Vec<Result<RunResult, Failure>> = all?
        .into_par_iter()
        .map(|Member { name, prepared, provenance }| {
            let mut watcher = stage.watcher(&name);
            let with = |result| RunResult { provenance: Some(provenance), ..result };
            prepared
                .run(settings::snapshots_of(shared).as_ref(), &mut watcher)
                .map(with)
                .map_err(|error| named(&name, error.into()))
        })
        .collect();
    let finished = outcomes.into_iter().collect::<Result<Vec<RunResult>, Failure>>()?;
    let notes = results::without_effect(&finished);
    let documents: Vec<Value> = finished.iter().map(RunResult::to_json).collect();
    if shared.json {
        output::print(&results::pretty(&results::together(&documents, &notes)))?;
    } else {
        output::print(&table::comparison(&finished, &notes))?;
    }
    if let Some(folder) = &shared.out {
        for (index, (result, document)) in finished.iter().zip(&documents).enumerate() {
            results::write(&folder.join(results::folder_name(index, &result.stack)), document)?;
        }
        output::write_file(&folder.join("result.json"), &results::pretty(&results::together(&documents, &notes)))?;
        results::write_page(&folder.join("report.html"), &documents)?;
        results::tell(folder, shared.quiet);
    }
    results::verdict(&finished)
}

fn named(stack: &str, failure: Failure) -> Failure {
    if failure.code == USAGE && failure.message.contains(stack) {
        return failure;
    }
    Failure { message: format!("stack `{stack}`: {}", failure.message), ..failure }
}
