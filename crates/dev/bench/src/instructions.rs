//! Instructions of a flash command, counted by callgrind: the same on every run, even if the machine does other work.
//!
//! The work runs twice, the second time with twice the requests: the difference counts the requests alone.

use crate::rows::{commands, drive_it, plan_of};
use clap::ValueEnum;
use std::io;
use std::path::Path;
use std::process::Command;

/// Requests of the shorter run.
const REQUESTS: u64 = 30_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Work {
    /// Random reads at depth 32.
    Read,
    /// Random writes at depth 32 on a drive that collects.
    Steady,
}

impl Work {
    pub const ALL: [Work; 2] = [Work::Read, Work::Steady];

    pub fn title(self) -> &'static str {
        match self {
            Work::Read => "a read, by flash commands",
            Work::Steady => "steady, by flash commands",
        }
    }

    /// Does the work, and prints how many flash commands its last part took.
    pub fn run(self, requests: u64) {
        let settings = ["flash.pages_per_block=64", "flash.channels=2", "flash.dies_per_channel=2"];
        let plan = plan_of("page", 0.125, &settings.map(str::to_owned));
        let mut drive = plan.assemble(plan.timed(plan.fresh_state()));
        let pages = u64::from(plan.user_pages);
        drive_it(&mut drive, "sequential-write", pages / 32, 32, 1);
        let workload = match self {
            Work::Read => "uniform-read",
            Work::Steady => {
                drive_it(&mut drive, "uniform-write", pages, 32, 2);
                "uniform-write"
            }
        };
        let before = commands(&drive);
        drive_it(&mut drive, workload, requests, 32, 3);
        println!("{}", commands(&drive) - before);
    }
}

/// Instructions of `program` for a flash command of this work.
/// Errors: valgrind or the program cannot be run.
pub(crate) fn of(program: &Path, work: Work) -> io::Result<f64> {
    let [once, twice] = [REQUESTS, 2 * REQUESTS].map(|requests| counted(program, work, requests));
    let (once, twice) = (once?, twice?);
    Ok((twice[0] - once[0]) as f64 / (twice[1] - once[1]) as f64)
}

/// Instructions and flash commands.
fn counted(program: &Path, work: Work, requests: u64) -> io::Result<[u64; 2]> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program);
    let work = work.to_possible_value().expect("no kind of work is skipped");
    let ended = command.args(["--work", work.get_name(), "--requests", &requests.to_string()]).output();
    let ended = ended.map_err(|error| io::Error::new(error.kind(), format!("valgrind: {error}; install it first")))?;
    let (said, printed) = (String::from_utf8_lossy(&ended.stderr), String::from_utf8_lossy(&ended.stdout));
    let collected = said.lines().find_map(|line| line.split("Collected : ").nth(1)?.trim().parse().ok());
    match (collected, printed.trim().parse().ok()) {
        (Some(instructions), Some(commands)) => Ok([instructions, commands]),
        _ => Err(io::Error::other(format!("{}: {}: {said}", program.display(), ended.status))),
    }
}
