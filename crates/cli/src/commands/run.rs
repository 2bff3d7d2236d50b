//! `nandarium run`.

use super::results;
use crate::arguments::RunArguments;
use crate::failure::Failure;
use crate::{memory, output, settings, table, watch};
use device::session::Prepared;

pub fn execute(arguments: &RunArguments) -> Result<(), Failure> {
    let shared = &arguments.session;
    let config = settings::load(&arguments.stack, shared)?;
    let options = settings::options(shared);
    let name = config.name.clone();
    let prepared = Prepared::new(config, &options.workload)?;
    memory::check(prepared.plan(), false)?;
    results::prepare(shared.out.as_deref())?;
    watch::catch_interrupts();
    let stage = watch::Stage::new(shared.quiet);
    let mut watcher = stage.watcher(&name);
    let result = prepared.run(options.snapshots.as_ref(), &mut watcher)?;
    drop(watcher);
    let json = result.to_json();
    if shared.json {
        output::print(&results::pretty(&json))?;
    } else {
        output::print(&table::result(&result))?;
    }
    if let Some(folder) = &shared.out {
        results::write(folder, &json)?;
        results::write_page(&folder.join("report.html"), std::slice::from_ref(&json))?;
        results::tell(folder, shared.quiet);
    }
    results::verdict(&[result])
}
