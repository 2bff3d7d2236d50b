//! The command line of nandarium: argument parsing and printing, nothing else.
//!
//! A library, so that the program and the Python package are one command line: [`execute`] is all of it. The rest shows
//! results for the package without a second copy: tables, pages, explanations.

mod arguments;
mod browser;
mod commands;
mod failure;
mod given;
mod junit;
mod library;
mod names;
mod output;
mod page;
mod panics;
mod policies;
mod progress;
mod provenance;
mod refused;
mod settings;
mod table;
mod watch;

pub use arguments::Listing;
pub use commands::sweep::{Elsewhere, set_elsewhere};
pub use failure::EXIT_CODES;
pub use library::{
    TraceReading, explanation, failed, items, life_text, make_folder, policies, pretty, snapshots, study_cache,
    study_text, sweep_document, sweep_problem, sweep_text, text, trace_convert, trace_info, workload_convert,
    write_folder, write_page, write_study, write_sweep,
};
pub use output::look_at_stdout;
pub use policies::{Python, set_python};
pub use settings::{program_hash, set_program};

use arguments::Arguments;
use clap::{CommandFactory as _, Parser as _};
use std::ffi::OsString;
use std::io::IsTerminal;
use tracing::level_filters::LevelFilter;

/// All commands and their options.
pub fn command_line() -> clap::Command {
    Arguments::command()
}

/// Does what a command line asks, the program's name being the first of `arguments`. The answer is the exit code.
///
/// Signals are caught once a simulation runs: a first one ends it early with a result, a second one the process.
pub fn execute(arguments: &[OsString]) -> u8 {
    simulator::spare_addresses();
    panics::set_command(arguments);
    if let Err(failure) = output::check_stdout() {
        output::complain(&format!("error: {}", failure.message));
        return failure.code;
    }
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(problem) => {
            let code = problem.exit_code() as u8;
            let is_mistake = problem.use_stderr();
            let printed = refused::print(problem, arguments);
            return match output::heard(printed) {
                Err(failure) if !is_mistake => {
                    output::complain(&format!("error: {}", failure.message));
                    failure.code
                }
                _ => code,
            };
        }
    };
    let level = match arguments.verbose {
        0 => LevelFilter::WARN,
        1 => LevelFilter::INFO,
        _ => LevelFilter::DEBUG,
    };
    let colours = std::io::stderr().is_terminal();
    // Whoever calls this as a library may have set up a log of its own.
    let _ = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .with_ansi(colours)
        .without_time()
        .try_init();
    match panics::guarded(|| policies::read(&arguments.policies).and_then(|()| commands::execute(&arguments.command))) {
        Ok(()) => 0,
        Err(failure) => {
            if !failure.message.is_empty() {
                output::complain(&format!("error: {}", layer::spelling::readable(&failure.message)));
            }
            failure.code
        }
    }
}
