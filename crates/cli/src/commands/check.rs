//! `nandarium check`: everything wrong with a stack file or a trace file.

use super::trace;
use crate::arguments::CheckArguments;
use crate::failure::Failure;
use crate::output;
use ::trace::formats::{OpenOptions, open, summarise};
use device::{Config, DrivePlan};
use std::path::Path;

pub fn execute(arguments: &CheckArguments) -> Result<(), Failure> {
    let toml = Path::new(&arguments.file).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"));
    let built_in = || device::config::stacks().iter().any(|preset| preset.name == arguments.file);
    let is_stack = toml || !Path::new(&arguments.file).exists() && built_in();
    if is_stack { stack(&arguments.file) } else { trace_file(arguments) }
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
    output::print(&format!(
        "{path}: a good stack: {} pages for the user, {} blocks of {} pages on {} dies\n{remark}",
        plan.user_pages,
        plan.geometry.blocks(),
        plan.geometry.pages_per_block,
        plan.geometry.dies()
    ))
}

fn trace_file(arguments: &CheckArguments) -> Result<(), Failure> {
    let options = OpenOptions { format: arguments.format.clone(), ..OpenOptions::default() };
    let summary = summarise(&mut open(&arguments.file, &options)?)?;
    output::print(&format!("{}: a good trace\n{}", arguments.file, trace::text(&arguments.file, &summary)))
}
