//! The control socket: a command a line, an answer in one line of JSON.

use crate::event_loop::Peer;
use crate::target::{Control, Target};
use serde_json::{Value, json};

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
pub(crate) fn told(control: Control) -> (Wish, Result<Value, String>) {
    match control {
        Control::Done(value) => (Wish::Nothing, Ok(value)),
        Control::HangUp(value) => (Wish::HangUp, Ok(value)),
        Control::Refused(problem) => (Wish::Nothing, Err(problem)),
    }
}
