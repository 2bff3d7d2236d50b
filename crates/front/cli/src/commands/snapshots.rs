//! `nandarium snapshots`: the preconditioned drives that runs have kept.

use crate::arguments::SnapshotsArguments;
use crate::failure::Failure;
use crate::output;
use crate::panics::quoted;
use crate::settings;
use crate::table::{Grid, size};
use simulator::config::PRECONDITION;
use simulator::session::KeptState;

/// Keys that tell drives apart, in the order of the columns.
const SHOWN: [&str; 4] = ["drive.capacity", "ftl.kind", "ftl.gc.victim", PRECONDITION.key];

pub fn execute(arguments: &SnapshotsArguments) -> Result<(), Failure> {
    let Some(snapshots) = settings::snapshots(arguments.folder.clone()) else {
        return Err(Failure::usage("there is no cache folder: HOME is not set; name the folder".to_owned()));
    };
    let folder = snapshots.folder.display();
    let found = if arguments.clear { snapshots.clear() } else { snapshots.kept() };
    let states = found.map_err(|error| Failure::failed(format!("{folder}: {error}")))?;
    if states.is_empty() {
        return output::print(&format!("No preconditioned drive is kept in {folder}.\n"));
    }
    let bytes: u64 = states.iter().map(|state| state.bytes).sum();
    let sum = format!("{} snapshots of {} in {folder}", states.len(), size(bytes));
    if arguments.clear {
        return output::print(&format!("Removed {sum}.\n"));
    }
    let named = arguments.folder.as_ref().map(|folder| format!(" {}", quoted(&folder.to_string_lossy())));
    let rest = format!(
        "{sum}; at most {} files and {} in all are kept, and the oldest go first. `nandarium snapshots --clear{}` \
         removes them.",
        snapshots.files,
        size(snapshots.bytes),
        named.unwrap_or_default()
    );
    output::print(&format!("{}\n{rest}\n", table(&states)))
}

fn table(states: &[KeptState]) -> String {
    let mut grid = Grid::new(1);
    grid.row(["file", "size"].into_iter().chain(SHOWN));
    for state in states {
        let name = state.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let values = SHOWN.map(|key| state.value(key).unwrap_or_default());
        grid.row([name, size(state.bytes)].into_iter().chain(values));
    }
    grid.render("")
}
