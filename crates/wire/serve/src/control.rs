//! The control socket: a command a line, an answer in one line of JSON.

use crate::event_loop::Peer;
use crate::target::{Control, Target};
use live::Source;
use serde_json::{Value, json};

/// Commands that a page may give.
const OF_PAGES: [&str; 4] = ["power-cut", "power-off", "power-on", "fault"];
/// What every server obeys.
const SHUT_DOWN: &str = "shut-down";
/// Longest command.
const LONGEST: usize = 4096;
/// Answers that wait to be taken: with more of them no further command is heard.
const MOST_UNSENT: usize = 256 << 10;

/// The request of a command to the server itself; of several the strongest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wish {
    Nothing,
    HangUp,
    ShutDown,
}

/// Someone who gives commands.
pub(crate) struct Controller {
    peer: Peer,
    heard: Vec<u8>,
    answer: Vec<u8>,
    pub is_over: bool,
}

impl Controller {
    pub fn new(peer: Peer) -> Self {
        Self { peer, heard: Vec::new(), answer: Vec::new(), is_over: false }
    }

    /// Hears and does what there is, as long as the answers are taken.
    pub fn serve(&mut self, target: &mut dyn Target) -> Wish {
        let mut wish = Wish::Nothing;
        let mut buffer = [0; 512];
        self.send();
        while !self.is_over && self.answer.len() < MOST_UNSENT {
            match self.peer.read(&mut buffer) {
                None => break,
                Some(0) => self.is_over = true,
                Some(count) => self.heard.extend_from_slice(&buffer[..count]),
            }
            while let Some(end) = self.heard.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.heard.drain(..=end).collect();
                wish = wish.max(self.obey(&String::from_utf8_lossy(&line), target));
            }
            if self.heard.len() > LONGEST {
                self.put(
                    &json!({ "error": format!("a command of more than {LONGEST} bytes; commands are a line each") }),
                );
                self.is_over = true;
            }
            self.send();
        }
        wish
    }

    fn obey(&mut self, line: &str, target: &mut dyn Target) -> Wish {
        let (wish, answer) = if line.trim() == SHUT_DOWN {
            (Wish::ShutDown, json!({ "ok": { "server": "ends" } }))
        } else {
            match told(target.control(line)) {
                (wish, Ok(value)) => (wish, json!({ "ok": value })),
                (wish, Err(problem)) => (wish, json!({ "error": problem })),
            }
        };
        self.put(&answer);
        wish
    }

    fn put(&mut self, answer: &Value) {
        self.answer.extend_from_slice(answer.to_string().as_bytes());
        self.answer.push(b'\n');
    }

    /// Sends what is still to be said.
    pub fn send(&mut self) {
        while !self.answer.is_empty() {
            match self.peer.write(&self.answer) {
                None => return,
                Some(0) => {
                    self.is_over = true;
                    return;
                }
                Some(count) => drop(self.answer.drain(..count)),
            }
        }
    }
}

/// What a command asks of the server, and its answer.
fn told(control: Control) -> (Wish, Result<Value, String>) {
    match control {
        Control::Done(value) => (Wish::Nothing, Ok(value)),
        Control::HangUp(value) => (Wish::HangUp, Ok(value)),
        Control::Refused(problem) => (Wish::Nothing, Err(problem)),
    }
}

/// A target as its viewers see it.
pub(crate) struct Watched<'a> {
    pub target: &'a mut dyn Target,
    /// The requests of its viewers' commands to the server.
    pub wish: Wish,
}

impl Watched<'_> {
    fn ask(&mut self, command: &str) -> Result<Value, String> {
        let (wish, said) = told(self.target.control(command));
        self.wish = self.wish.max(wish);
        said
    }
}

impl Source for Watched<'_> {
    fn state(&mut self) -> Result<Value, String> {
        self.ask("live")
    }

    fn maps(&mut self) -> Result<Value, String> {
        self.ask("maps")
    }

    fn command(&mut self, command: &str) -> Result<Value, String> {
        let verb = command.split_whitespace().next().unwrap_or("");
        if !OF_PAGES.contains(&verb) || command.contains('\n') {
            return Err(format!("`{verb}` is not a command of this page; there are: {}", OF_PAGES.join(", ")));
        }
        self.ask(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{Answers, Order};
    use std::time::Duration;

    #[derive(Default)]
    struct Listening(Vec<String>);

    impl Target for Listening {
        fn bytes(&self) -> u64 {
            0
        }

        fn submit(&mut self, _: u32, _: &Order, _: &[u8]) {}

        fn poll(&mut self, _: &mut Answers) -> Option<Duration> {
            None
        }

        fn control(&mut self, command: &str) -> Control {
            self.0.push(command.to_owned());
            match command {
                "live" => Control::Done(json!({ "a": 1 })),
                "power-off" => Control::HangUp("off".into()),
                _ => Control::Refused("no".to_owned()),
            }
        }

        fn close(&mut self) -> Result<(), String> {
            Ok(())
        }
    }

    #[test]
    fn a_page_commands_what_it_may_and_learns_why_not() {
        let mut target = Listening::default();
        let mut watched = Watched { target: &mut target, wish: Wish::Nothing };
        assert_eq!(watched.state().unwrap()["a"], 1);
        assert!(watched.command("shut-down").unwrap_err().contains("there are: power-cut"));
        assert!(watched.command("fault die 1\nshut-down").is_err(), "one line, one command");
        assert_eq!(watched.command("fault die 1").unwrap_err(), "no");
        assert_eq!((watched.maps().unwrap_err(), watched.wish), ("no".to_owned(), Wish::Nothing));
        assert_eq!((watched.command("power-off").unwrap(), watched.wish), ("off".into(), Wish::HangUp));
        assert_eq!(target.0, ["live", "fault die 1", "maps", "power-off"]);
    }
}
