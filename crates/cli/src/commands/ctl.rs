//! `nandarium ctl`.

use crate::arguments::CtlArguments;
use crate::failure::Failure;
use crate::output;
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

pub fn execute(arguments: &CtlArguments) -> Result<(), Failure> {
    let place = arguments.socket.display();
    let failed = |error: std::io::Error| Failure::failed(format!("{place}: {error}; is a `nandarium serve` running there? It says the path of its control socket"));
    let mut stream = UnixStream::connect(&arguments.socket).map_err(failed)?;
    writeln!(stream, "{}", arguments.command.join(" ")).map_err(failed)?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).map_err(failed)?;
    let answer: Value = serde_json::from_str(&line).map_err(|_| Failure::failed(format!("{place}: the server gave no answer")))?;
    if let Some(problem) = answer.get("error").and_then(Value::as_str) {
        return Err(Failure::usage(problem));
    }
    let answer = &answer["ok"];
    if arguments.json {
        return output::print(&format!("{answer:#}\n"));
    }
    let mut text = String::new();
    let rows: Vec<_> = answer.as_object().into_iter().flatten().collect();
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in rows {
        let value = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
        writeln!(text, "{name:width$}  {value}").map_err(Failure::failed)?;
    }
    output::print(&text)
}
