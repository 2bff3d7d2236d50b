//! `nandarium check`: everything wrong with a stack file, a trace file or the file of a drive.

use super::trace;
use crate::arguments::CheckArguments;
use crate::failure::{Failure, INTEGRITY};
use crate::output;
use ::trace::formats::{OpenOptions, read_in_order, summarise};
use drive::{Drive, DriveError};
use simulator::{Config, DrivePlan};
use std::path::Path;
use units::quantity;

pub fn execute(arguments: &CheckArguments) -> Result<(), Failure> {
    let toml = Path::new(&arguments.file).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"));
    let built_in = || simulator::config::stacks().iter().any(|preset| preset.name == arguments.file);
    let is_stack = toml || !Path::new(&arguments.file).exists() && built_in();
    if is_stack {
        stack(&arguments.file)
    } else if Drive::is_file(Path::new(&arguments.file)) {
        drive_file(&arguments.file)
    } else {
        trace_file(arguments)
    }
}

/// What a file of `serve --file` holds; it is not changed.
fn drive_file(path: &str) -> Result<(), Failure> {
    let of_file = |error: DriveError| {
        let is_damage = matches!(error, DriveError::Foreign { .. } | DriveError::Recovery(_));
        let failure = Failure::from(error);
        if is_damage { Failure { code: INTEGRITY, ..failure } } else { failure }
    };
    let (mut drive, damage) = Drive::check_file(Path::new(path)).map_err(of_file)?;
    drive.check_layers().map_err(of_file)?;
    if damage.is_any() {
        return Err(Failure { code: INTEGRITY, message: format!("{path}: {damage}") });
    }
    output::print(&format!("{path}: a good drive of {}\n", quantity::format_size(drive.bytes())))
}

fn stack(path: &str) -> Result<(), Failure> {
    let config = Config::check(path).map_err(|problems| {
        if let [problem] = problems.as_slice() {
            return Failure::usage(problem);
        }
        for problem in &problems {
            output::complain(&format!("error: {problem}"));
        }
        Failure::usage(format!("{path}: {} problems", problems.len()))
    })?;
    let nothing = Config::resolve(String::new(), &[])?.resolved == config.resolved;
    let remark = if nothing { "note: it sets nothing; every key has its default\n" } else { "" };
    let plan = DrivePlan::new(config)?;
    let spare = plan.spare();
    let spare = spare.warning().unwrap_or_else(|| spare.sentence());
    output::print(&format!(
        "{path}: a good stack: {} pages for the user, {} blocks of {} pages on {} dies\n{spare}\n{remark}",
        plan.user_pages,
        plan.geometry.blocks(),
        plan.geometry.pages_per_block,
        plan.geometry.dies()
    ))
}

fn trace_file(arguments: &CheckArguments) -> Result<(), Failure> {
    let options = OpenOptions { format: arguments.format.clone(), ..OpenOptions::default() };
    let summary = read_in_order(&arguments.file, &options, summarise)?;
    output::print(&format!("{}: a good trace\n{}", arguments.file, trace::text(&arguments.file, &summary)))
}
