//! `commands.md`: the tree of commands.

use super::page::{Page, linked};
use clap::builder::StyledStr;
use clap::{Arg, Command};
use layer::Parameter;

pub fn page(keys: &[Parameter]) -> Page {
    let mut page = Page::new("commands.md", "Commands", "Every command with its options and an example.");
    page.paragraph(
        "`nandarium help COMMAND` prints the same text. Options in angle brackets take a value. Each command takes \
         `-v` (`--verbose`), which logs more to standard error, and `-h` (`--help`). Data go to standard output, \
         progress and remarks to standard error. [Exit codes](exit-codes.md) tell how a command ended.",
    );
    let mut root = nandarium_cli::command_line();
    root.build();
    for command in root.get_subcommands().filter(|command| command.get_name() != "help") {
        describe(&mut page, command, 2, keys);
    }
    page
}

fn describe(page: &mut Page, command: &Command, level: usize, keys: &[Parameter]) {
    let name = command.get_bin_name().expect("a command that is built has a name");
    page.heading(level, name);
    page.paragraph(&linked(&told(command.get_long_about().or(command.get_about())), keys, None));
    let inner: Vec<&Command> = command.get_subcommands().filter(|inner| inner.get_name() != "help").collect();
    if !inner.is_empty() {
        for inner in inner {
            describe(page, inner, level + 1, keys);
        }
        return;
    }
    let usage = command.clone().render_usage().to_string();
    page.code("text", usage.trim_start_matches("Usage: "));
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    assert!(after.contains("    nandarium "), "`{name} --help` needs an example at its end");
    after_help(page, &after, keys);
    let known: Vec<&Arg> = command.get_arguments().filter(|arg| !is_everywhere(arg) && !arg.is_hide_set()).collect();
    let mut headings: Vec<&str> = Vec::new();
    for arg in &known {
        let heading = heading_of(arg);
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    headings.sort_by_key(|heading| match *heading {
        "Arguments" => 0,
        "Options" => 1,
        "Advanced options" => 3,
        _ => 2,
    });
    for heading in headings {
        page.paragraph(&format!("**{heading}**"));
        page.text.push('\n');
        for arg in known.iter().filter(|arg| heading_of(arg) == heading) {
            page.bullet(&option(arg, keys));
        }
    }
}

fn heading_of(arg: &Arg) -> &str {
    let usual = if arg.is_positional() { "Arguments" } else { "Options" };
    arg.get_help_heading().unwrap_or(usual)
}

fn is_everywhere(arg: &Arg) -> bool {
    ["help", "version", "verbose"].contains(&arg.get_id().as_str())
}

/// How an option is written, what it does, and what it takes.
fn option(arg: &Arg, keys: &[Parameter]) -> String {
    let names: Vec<String> = arg
        .get_short()
        .map(|short| format!("-{short}"))
        .into_iter()
        .chain(arg.get_long().map(|long| format!("--{long}")))
        .chain(arg.get_visible_aliases().into_iter().flatten().map(|alias| format!("--{alias}")))
        .collect();
    let values: Vec<String> = arg.get_value_names().into_iter().flatten().map(|name| format!("<{name}>")).collect();
    let takes_value = arg.get_action().takes_values();
    let written = match (names.is_empty(), takes_value) {
        (true, _) => values.join(" "),
        (false, true) => format!("{} {}", names.join(", "), values.join(" ")),
        (false, false) => names.join(", "),
    };
    let mut text = format!("`{written}`: {}", linked(&told(arg.get_long_help().or(arg.get_help())), keys, None));
    let choices: Vec<String> =
        arg.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect();
    if !choices.is_empty() && takes_value && choices.len() < 20 {
        text.extend([" One of ", &choices.join(", "), "."]);
    }
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy())).collect();
    if !defaults.is_empty() && takes_value {
        text.extend([" Default: ", &defaults.join(", "), "."]);
    }
    text
}

/// A help text with the full stop that the parser takes off.
fn told(text: Option<&StyledStr>) -> String {
    let text = text.map(ToString::to_string).unwrap_or_default();
    let end = if text.ends_with(['.', ':', '?']) { "" } else { "." };
    text + end
}

/// Paragraphs, and the lines that are indented as code.
fn after_help(page: &mut Page, text: &str, keys: &[Parameter]) {
    let mut lines = text.lines().peekable();
    while let Some(first) = lines.next() {
        let is_code = |line: &str| line.starts_with("    ");
        let mut block = vec![first];
        while let Some(line) = lines.next_if(|line| {
            line.trim().is_empty() == first.trim().is_empty() && is_code(line) == is_code(first)
                || is_code(first) && line.is_empty()
        }) {
            block.push(line);
        }
        if is_code(first) {
            let is_shell = ["nandarium ", "fio "].iter().any(|name| first.trim_start().starts_with(name));
            let code: Vec<&str> = block.iter().map(|line| line.strip_prefix("    ").unwrap_or(line)).collect();
            page.code(if is_shell { "sh" } else { "toml" }, &code.join("\n"));
        } else if !first.trim().is_empty() {
            page.paragraph(&linked(&block.join(" "), keys, None));
        }
    }
}
