//! The control socket: a command a line, an answer in one line of JSON.

use crate::target::{Control, Target};
use mio::net::UnixStream;
use serde_json::json;
use std::io::{Read, Write};

/// Longest command.
const LONGEST: usize = 4096;

/// What a command asks of the server itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    Nothing,
    HangUp,
    ShutDown,
}

/// Someone who gives commands.
#[derive(Debug)]
pub(crate) struct Controller {
    pub stream: UnixStream,
    heard: Vec<u8>,
    answer: Vec<u8>,
    pub is_over: bool,
}

impl Controller {
    pub fn new(stream: UnixStream) -> Self {
        Self { stream, heard: Vec::new(), answer: Vec::new(), is_over: false }
    }

    /// Hears and does what there is.
    pub fn serve(&mut self, target: &mut dyn Target) -> Wish {
        let mut wish = Wish::Nothing;
        let mut buffer = [0; 512];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => self.is_over = true,
                Ok(count) => {
                    self.heard.extend_from_slice(&buffer[..count]);
                    continue;
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(_) => self.is_over = true,
            }
            break;
        }
        while let Some(end) = self.heard.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.heard.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let answer = if line.trim() == "shut-down" {
                wish = Wish::ShutDown;
                Control::Done(json!({ "server": "ends" }))
            } else {
                target.control(&line)
            };
            let value = match answer {
                Control::Done(value) => json!({ "ok": value }),
                Control::HangUp(value) => {
                    wish = if wish == Wish::Nothing { Wish::HangUp } else { wish };
                    json!({ "ok": value })
                }
                Control::Refused(problem) => json!({ "error": problem }),
            };
            self.answer.extend_from_slice(value.to_string().as_bytes());
            self.answer.push(b'\n');
        }
        self.is_over |= self.heard.len() > LONGEST;
        self.send();
        wish
    }

    /// Sends what is still to be said.
    pub fn send(&mut self) {
        while !self.answer.is_empty() {
            match self.stream.write(&self.answer) {
                Ok(count) if count > 0 => drop(self.answer.drain(..count)),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
                _ => {
                    self.is_over = true;
                    return;
                }
            }
        }
    }
}
