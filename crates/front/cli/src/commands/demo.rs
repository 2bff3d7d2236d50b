//! `nandarium demo`: the recorded sample on a small drive, as `run` replays it, and its page.

use super::run;
use crate::arguments::{Arguments, Command, DemoArguments};
use crate::failure::Failure;
use crate::{browser, output};
use clap::Parser as _;

/// The run: a drive of 1 GiB, which the recorded sample needs, on four dies, so that each has blocks enough to choose
/// from; and requests that wait for each other, as those of the recorded programs did.
const RUN: &str = "nandarium run page sample --set drive.capacity=1GiB --set flash.channels=2 \
    --set flash.dies_per_channel=2 --set drive.precondition=fill --set workload.loop=closed \
    --set workload.queue_depth=4 --out";

pub fn execute(arguments: &DemoArguments) -> Result<(), Failure> {
    let out = arguments.out.as_os_str();
    let quiet = arguments.quiet.then_some("--quiet".as_ref());
    let words = RUN.split_whitespace().map(AsRef::as_ref).chain([out]).chain(quiet);
    let Command::Run(run) = Arguments::try_parse_from(words).map_err(Failure::failed)?.command else {
        unreachable!("the words above name `run`");
    };
    run::execute(&run)?;
    let page = arguments.out.join("report.html");
    let page = std::path::absolute(&page).unwrap_or(page);
    output::print(&format!("\nWhy the tail was slow, over time and on a map of the drive:\n{}\n", page.display()))?;
    // Without a display the path that was printed is all.
    if !arguments.no_open {
        let _ = browser::opened(&page);
    }
    Ok(())
}
