//! The command line of nandarium: argument parsing and printing, nothing else.

mod arguments;
mod commands;
mod failure;
mod output;
mod page;
mod panics;
mod settings;
mod table;
mod watch;

use arguments::Arguments;
use clap::Parser;
use std::io::IsTerminal;
use std::process::ExitCode;
use tracing::level_filters::LevelFilter;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let level = match arguments.verbose {
        0 => LevelFilter::WARN,
        1 => LevelFilter::INFO,
        _ => LevelFilter::DEBUG,
    };
    let colours = std::io::stderr().is_terminal();
    tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).with_ansi(colours).without_time().init();
    match panics::guarded(|| commands::execute(&arguments.command)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.message.is_empty() {
                output::complain(&format!("error: {}", failure.message));
            }
            ExitCode::from(failure.code)
        }
    }
}
