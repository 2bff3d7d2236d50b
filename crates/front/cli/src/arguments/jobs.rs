//! What the program says of its commands: by job in the help, and the first ones to try.

use super::Command;
use crate::failure::EXIT_CODES;
use crate::table::wrapped_at;
use clap::Subcommand as _;
use clap::builder::Styles;
use std::fmt::Write as _;

/// Commands by what they are for, in the order of the help.
pub const JOBS: [(&str, &[&str]); 6] = [
    ("Begin here", &["demo", "run", "compare", "list", "explain"]),
    ("Understand a trace", &["trace"]),
    ("Choose or fit a drive", &["life", "measure", "fit", "probe"]),
    ("Test a program on a drive", &["serve", "ctl", "torture", "fsyncs", "hard"]),
    ("Many runs", &["sweep", "repro", "report"]),
    ("Tools", &["check", "code", "snapshots", "completions", "man"]),
];

/// What to try first.
pub const FIRST_STEPS: &str = "\
nandarium simulates flash drives and shows why their requests were slow. Try first:
  nandarium demo                 replay a recorded trace, and open the page of its result
  nandarium run page zipf        run a built-in workload on a page-mapped drive
  nandarium compare page dftl    run two designs under the same requests, side by side
  nandarium trace info FILE      see what a trace of yours holds
  nandarium list                 name the stacks, drives, workloads and policies
  nandarium explain garbage      look up a key, a name or a word
  nandarium --help               name all commands";

/// Column of the texts in the list of commands.
const TEXTS: usize = 14;

/// The help of the program, with the commands by job.
pub fn template() -> String {
    let commands = Command::augment_subcommands(clap::Command::new("nandarium"));
    let about = |name: &str| commands.find_subcommand(name).and_then(clap::Command::get_about).map(ToString::to_string);
    let (heading, literal) = (*Styles::styled().get_header(), *Styles::styled().get_literal());
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (job, names) in JOBS {
        let _ = writeln!(text, "\n{heading}{job}:{heading:#}");
        for name in names {
            let about = wrapped_at(&about(name).unwrap_or_default(), TEXTS);
            let gap = " ".repeat(TEXTS - 2 - name.len());
            let _ = writeln!(text, "  {literal}{name}{literal:#}{gap}{about}");
        }
    }
    text + &format!("\n{heading}Options:{heading:#}\n{{options}}{{after-help}}")
}

/// The exit codes in a line.
pub fn exit_codes() -> String {
    let codes: Vec<String> = EXIT_CODES.iter().map(|(code, name, _)| format!("{code} {name}")).collect();
    format!("Exit codes: {}.", codes.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Arguments;
    use clap::Parser as _;

    /// A command that is in no group stood nowhere in the help.
    #[test]
    fn each_command_stands_in_the_help_once() {
        let all = Command::augment_subcommands(clap::Command::new("nandarium"));
        let mut known: Vec<&str> = all.get_subcommands().map(clap::Command::get_name).collect();
        let mut named: Vec<&str> = JOBS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        known.sort_unstable();
        named.sort_unstable();
        assert_eq!(named, known);
    }

    #[test]
    fn the_first_steps_are_eight_lines_and_each_is_a_command() {
        let lines: Vec<&str> = FIRST_STEPS.lines().collect();
        assert_eq!(lines.len(), 8);
        for line in &lines[1..lines.len() - 1] {
            let words = line.trim().split("  ").next().unwrap_or_default().split(' ');
            let parsed = Arguments::try_parse_from(words);
            assert!(parsed.is_ok(), "{line}: {parsed:?}");
        }
    }
}
