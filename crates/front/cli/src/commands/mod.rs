//! The verbs of the command line, one file each.

mod check;
mod code;
mod compare;
pub mod convert;
mod ctl;
mod demo;
pub mod explain;
mod fit;
mod fsyncs;
mod glossary;
mod hard;
mod life;
mod limits;
pub mod list;
mod logs;
mod measure;
mod probe;
mod report;
pub mod repro;
pub mod results;
mod run;
mod serve;
mod shell;
mod snapshots;
pub mod sweep;
mod torture;
pub mod trace;

use crate::arguments::{Command, CompareArguments, LifeArguments, RunArguments};
use crate::failure::Failure;
use crate::junit;

/// Does what was asked.
/// Errors: anything that makes the program end with a code other than 0.
pub fn execute(command: &Command) -> Result<(), Failure> {
    let (file, suite, out) = match command {
        Command::Run(RunArguments { session, .. })
        | Command::Compare(CompareArguments { session, .. })
        | Command::Life(LifeArguments { session, .. }) => (&session.limits.junit, limits::SUITE, &session.out),
        Command::Sweep(arguments) => (&arguments.limits.junit, limits::SUITE, &arguments.out),
        Command::Torture(arguments) => (&arguments.junit, torture::SUITE, &arguments.out),
        _ => return of(command),
    };
    junit::around(file.as_deref(), out.as_deref(), suite, || of(command))
}

fn of(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Demo(arguments) => demo::execute(arguments),
        Command::Run(arguments) => run::execute(arguments),
        Command::Compare(arguments) => compare::execute(arguments),
        Command::Repro(arguments) => repro::execute(arguments),
        Command::Fit(arguments) => fit::execute(arguments),
        Command::Measure(arguments) => measure::execute(arguments),
        Command::Trace(command) => trace::execute(command),
        Command::List(arguments) => list::execute(arguments),
        Command::Explain(arguments) => explain::execute(arguments),
        Command::Check(arguments) => check::execute(arguments),
        Command::Code(arguments) => code::execute(arguments),
        Command::Probe(command) => probe::execute(command),
        Command::Serve(arguments) => serve::execute(arguments),
        Command::Ctl(arguments) => ctl::execute(arguments),
        Command::Torture(arguments) => torture::execute(arguments),
        Command::Fsyncs(arguments) => fsyncs::execute(arguments),
        Command::Hard(command) => hard::execute(command),
        Command::Life(arguments) => life::execute(arguments),
        Command::Sweep(arguments) => sweep::execute(arguments),
        Command::Report(arguments) => report::execute(arguments),
        Command::Snapshots(arguments) => snapshots::execute(arguments),
        Command::Completions(arguments) => shell::completions(arguments),
        Command::Man(arguments) => shell::man(arguments),
    }
}
