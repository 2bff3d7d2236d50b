//! `nandarium ctl`.

use crate::arguments::CtlArguments;
use crate::failure::Failure;
use crate::output;
use crate::table::called;
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::UnixStream;

/// What a server says first to NBD clients.
const NBD: &[u8] = b"NBDMAGIC";

pub fn execute(arguments: &CtlArguments) -> Result<(), Failure> {
    let place = arguments.socket.display();
    let command = arguments.command.join(" ");
    if command.contains('\n') {
        return Err(Failure::usage("the command has more than one line; give each command to a `nandarium ctl`"));
    }
    let failed = |error: std::io::Error| {
        Failure::failed(format!(
            "{place}: {error}; is a `nandarium serve` running there? It says the path of its control socket"
        ))
    };
    let is_other = std::fs::metadata(&arguments.socket).is_ok_and(|found| !found.file_type().is_socket());
    if is_other {
        return Err(Failure::usage(format!(
            "{place} is not a socket; give the control socket, whose path `nandarium serve` prints when it starts"
        )));
    }
    let mut stream = UnixStream::connect(&arguments.socket).map_err(failed)?;
    // A server for NBD clients ends the connection at the first bytes that are no answer to its greeting. So the
    // command is one write, and what was said is looked at even where that failed.
    let written = stream.write_all(format!("{command}\n").as_bytes());
    let mut answer = BufReader::new(stream);
    let greeting = answer.fill_buf().map(|said| said.starts_with(NBD));
    if matches!(greeting, Ok(true)) {
        return Err(Failure::usage(format!(
            "{place} is the socket for NBD clients, which takes no commands; the control socket is {place}.ctl unless \
             `nandarium serve --control` named another one"
        )));
    }
    written.and(greeting).map_err(failed)?;
    let mut line = String::new();
    answer.read_line(&mut line).map_err(failed)?;
    let answer: Value =
        serde_json::from_str(&line).map_err(|_| Failure::failed(format!("{place}: the server gave no answer")))?;
    if let Some(problem) = answer.get("error").and_then(Value::as_str) {
        return Err(Failure::usage(problem));
    }
    let answer = &answer["ok"];
    if arguments.json {
        return output::print(&format!("{answer:#}\n"));
    }
    let mut text = String::new();
    write_rows(&mut text, answer, 0);
    output::print(&text)
}

/// A row for each element: the values of a group side by side.
fn write_list(text: &mut String, name: &str, list: &[Value], depth: usize) {
    let indent = 2 * depth;
    let _ = writeln!(text, "{:indent$}{name}{}", "", if list.is_empty() { "  none" } else { "" });
    for element in list {
        let members = element.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        let members: Vec<_> = members.map(|(name, value)| format!("{} {}", called(name), plain(value))).collect();
        let _ = writeln!(text, "{:indent$}  {}", "", members.join(", "));
    }
}

/// A row for each member: a group of plain values on one line, a group of groups as a heading over its rows.
fn write_rows(text: &mut String, group: &Value, depth: usize) {
    let rows: Vec<_> = group.as_object().into_iter().flatten().map(|(name, value)| (called(name), value)).collect();
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in rows {
        let indent = 2 * depth;
        if let Some(list) = value.as_array() {
            write_list(text, name, list, depth);
            continue;
        }
        match value.as_object() {
            Some(members) if depth == 0 || members.values().any(Value::is_object) => {
                let _ = writeln!(text, "{:indent$}{name}", "");
                write_rows(text, value, depth + 1);
            }
            Some(members) => {
                // What was not measured is left out.
                let measured = members.iter().filter(|(_, value)| !value.is_null());
                let members: Vec<_> = measured.map(|(name, value)| format!("{name} {}", plain(value))).collect();
                let _ = writeln!(text, "{:indent$}{name:width$}  {}", "", members.join(", "));
            }
            None => {
                let _ = writeln!(text, "{:indent$}{name:width$}  {}", "", plain(value));
            }
        }
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        // Means are no whole numbers of nanoseconds, and nobody reads sixteen digits.
        Value::Number(number) if number.is_f64() => {
            let value = number.as_f64().unwrap_or_default();
            if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{}", (value * 1000.0).round() / 1000.0) }
        }
        other => other.to_string(),
    }
}
