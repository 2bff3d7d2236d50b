//! The control socket of a server as a source.

use crate::source::Source;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// Longest answer, bytes.
const LONGEST: u64 = 64 << 20;
/// How long an answer may take: a drive that recovers after a power cut takes its time.
const PATIENCE: Duration = Duration::from_secs(30);
/// What a page may ask for beside looking.
const COMMANDS: [&str; 4] = ["power-cut", "power-off", "power-on", "fault"];

/// A client of a control socket: a line for a command, a line of JSON for its answer.
#[derive(Debug)]
pub struct ControlSocket {
    path: PathBuf,
    stream: Option<BufReader<UnixStream>>,
}

impl ControlSocket {
    /// Of the server that has its control socket at this path. Nothing is opened before something is asked.
    pub fn new(path: PathBuf) -> Self {
        Self { path, stream: None }
    }

    fn ask(&mut self, command: &str) -> Result<Value, String> {
        let answer = self.line(command).map_err(|error| {
            self.stream = None;
            format!("{}: the server does not answer: {error}", self.path.display())
        })?;
        let mut answer: Value = serde_json::from_str(&answer).map_err(|error| {
            self.stream = None;
            format!("{}: the server's answer is no JSON: {error}", self.path.display())
        })?;
        match answer.get("error").and_then(Value::as_str) {
            Some(problem) => Err(problem.to_owned()),
            None => Ok(answer["ok"].take()),
        }
    }

    fn line(&mut self, command: &str) -> std::io::Result<String> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => {
                let stream = UnixStream::connect(&self.path)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                none.insert(BufReader::new(stream))
            }
        };
        stream.get_mut().write_all(format!("{command}\n").as_bytes())?;
        let mut line = String::new();
        match stream.by_ref().take(LONGEST).read_line(&mut line)? {
            0 => Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof)),
            _ => Ok(line),
        }
    }
}

impl Source for ControlSocket {
    fn state(&mut self) -> Result<Value, String> {
        self.ask("live")
    }

    fn maps(&mut self) -> Result<Value, String> {
        self.ask("maps")
    }

    fn command(&mut self, command: &str) -> Result<Value, String> {
        let verb = command.split_whitespace().next().unwrap_or("");
        if !COMMANDS.contains(&verb) || command.contains('\n') {
            return Err(format!("`{verb}` is no command of this page; there are: {}", COMMANDS.join(", ")));
        }
        self.ask(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_page_commands_what_it_may_and_learns_why_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c");
        let listener = UnixListener::bind(&path).unwrap();
        let server = std::thread::spawn(move || {
            let mut stream = BufReader::new(listener.accept().unwrap().0);
            let mut heard = Vec::new();
            for answer in ["{\"ok\":{\"a\":1}}\n", "{\"error\":\"no\"}\n"] {
                let mut line = String::new();
                stream.read_line(&mut line).unwrap();
                heard.push(line);
                stream.get_mut().write_all(answer.as_bytes()).unwrap();
            }
            heard
        });
        let mut source = ControlSocket::new(path);
        assert_eq!(source.state().unwrap()["a"], 1);
        assert!(source.command("shut-down").unwrap_err().contains("there are: power-cut"));
        assert!(source.command("fault die 1\nshut-down").is_err(), "one line, one command");
        assert_eq!(source.command("fault die 1").unwrap_err(), "no");
        assert_eq!(server.join().unwrap(), ["live\n", "fault die 1\n"]);
        assert!(source.maps().unwrap_err().contains("does not answer"));
    }
}
