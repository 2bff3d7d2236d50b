//! The error for a command line that cannot be parsed: the parser's words, with a key where a flag was meant.

use crate::arguments::{Arguments, FIRST_STEPS};
use crate::output;
use crate::panics::quoted;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory as _};
use layer::spelling::readable;
use simulator::config::all_keys;
use simulator::{Config, ConfigError, Setting};
use std::ffi::OsString;
use std::io::{self, Write as _};

/// Most keys that are told for one flag; more of them are no help.
const MOST_KEYS: usize = 6;

/// Prints what the parser has to say of `arguments`: help to standard output, a mistake to standard error.
/// Errors: it cannot be written.
pub fn print(mut problem: clap::Error, arguments: &[OsString]) -> io::Result<()> {
    if !problem.use_stderr() {
        problem.print()?;
        return io::stdout().flush();
    }
    if problem.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand && arguments.len() < 2 {
        output::complain(FIRST_STEPS);
        return Ok(());
    }
    if problem.kind() == ErrorKind::UnknownArgument {
        advise(&mut problem, arguments);
    }
    let said = problem.render().to_string();
    let short = readable(&said);
    if short == said {
        return problem.print(); // in colour, where that is wanted
    }
    output::complain(short.trim_end());
    Ok(())
}

/// Names the keys that an unknown long flag may mean. Without any the parser's nearest flag stays, but not its advice
/// to pass the flag as a value: no flag is a stack or a workload.
fn advise(problem: &mut clap::Error, arguments: &[OsString]) {
    let Some(ContextValue::String(flag)) = problem.get(ContextKind::InvalidArg) else { return };
    let flag = flag.split('=').next().unwrap_or_default().to_owned();
    let Some(name) = flag.strip_prefix("--") else { return };
    let arguments: Vec<String> = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut command = command_of(&arguments);
    let takes_keys = command.get_arguments().any(|argument| argument.get_long() == Some("set"));
    let keys = if takes_keys { keys_named(name) } else { Vec::new() };
    if !keys.is_empty() {
        problem.remove(ContextKind::SuggestedArg);
        problem.insert(ContextKind::Usage, ContextValue::StyledStr(command.render_usage()));
        let tip = StyledStr::from(tip(&flag, &keys, &value_of(&flag, &arguments)));
        problem.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    } else if let Some(ContextValue::StyledStrs(mut tips)) = problem.remove(ContextKind::Suggested) {
        tips.retain(|tip| !tip.to_string().starts_with("to pass "));
        if !tips.is_empty() {
            problem.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
    }
}

/// The command that a command line calls.
fn command_of(arguments: &[String]) -> Command {
    let mut command = Arguments::command();
    command.build();
    for word in arguments.iter().skip(1) {
        if let Some(called) = command.find_subcommand(word) {
            command = called.clone();
        }
    }
    command
}

/// Keys that are called so, or whose last parts are.
fn keys_named(name: &str) -> Vec<&'static str> {
    let name = name.replace('-', "_");
    let is_meant =
        |key: &&str| key.strip_suffix(&*name).is_some_and(|before| before.is_empty() || before.ends_with('.'));
    let keys: Vec<_> = all_keys().iter().map(|parameter| parameter.key).filter(is_meant).collect();
    if name.is_empty() || keys.len() > MOST_KEYS { Vec::new() } else { keys }
}

/// The value that was given with a flag, behind `=` or as the next word.
fn value_of(flag: &str, arguments: &[String]) -> String {
    let given = arguments.iter().enumerate().find_map(|(at, word)| match word.strip_prefix(flag)? {
        "" => arguments.get(at + 1).filter(|next| !next.starts_with('-')).map(String::as_str),
        behind => behind.strip_prefix('='),
    });
    given.map_or_else(|| "VALUE".to_owned(), ToOwned::to_owned)
}

/// Whether a key has no such value: 28 is no share, and 28% is one.
fn is_refused(setting: &str) -> bool {
    let config = Setting::from_argument(setting).map(|setting| Config::load("page", &[setting]));
    matches!(config, Ok(Err(ConfigError::Value { .. })))
}

fn tip(flag: &str, keys: &[&str], value: &str) -> String {
    let set = |key: &&str| {
        let own = format!("{key}={value}");
        let own = if is_refused(&own) { format!("{key}=VALUE") } else { own };
        format!("--set {}", quoted(&own))
    };
    let sets: Vec<String> = keys.iter().map(set).collect();
    let are_keys = match keys {
        [key] => format!("{key} is a key"),
        _ => "these are keys".to_owned(),
    };
    format!("{flag} is not a flag; {are_keys}: {}", sets.join(" or "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_a_key_where_the_last_parts_of_a_key_are_called_so() {
        assert_eq!(keys_named("scale"), ["drive.scale"]);
        assert_eq!(keys_named("drive.scale"), ["drive.scale"]);
        assert_eq!(keys_named("over-provisioning"), ["drive.over_provisioning"]);
        assert_eq!(keys_named("gc.victim"), ["ftl.gc.victim"]);
        for name in ["", "cale", "rive.scale", "nothing-is-called-so"] {
            assert!(keys_named(name).is_empty(), "{name}");
        }
    }

    #[test]
    fn a_flag_is_given_a_value_behind_it_or_none() {
        let of = |line: &str| {
            let words: Vec<String> = line.split(' ').map(ToOwned::to_owned).collect();
            tip("--scale", &["drive.scale"], &value_of("--scale", &words))
        };
        let told = |set: &str| format!("--scale is not a flag; drive.scale is a key: --set {set}");
        assert_eq!(of("nandarium run --scale 64"), told("drive.scale=64"));
        assert_eq!(of("nandarium run --scale=64 page"), told("drive.scale=64"));
        assert_eq!(of("nandarium run --scale --quiet"), told("drive.scale=VALUE"));
        assert_eq!(of("nandarium run --scale"), told("drive.scale=VALUE"));
        assert_eq!(of("nandarium run --scale 2%"), told("drive.scale=VALUE"), "no value of this key");
    }
}
