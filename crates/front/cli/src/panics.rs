//! Broken invariants: a panic anywhere becomes a message with everything needed to replay it.

use crate::failure::Failure;
use crate::policies;
use std::ffi::OsString;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError};

/// What the first panic said.
static SAID: Mutex<Option<String>> = Mutex::new(None);

/// The words of the command line that is being executed.
static COMMAND: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Remembers the command line for messages.
pub fn set_command(arguments: &[OsString]) {
    *COMMAND.lock().unwrap_or_else(PoisonError::into_inner) =
        arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
}

/// The words of the command line that is being executed; empty where there is none.
pub fn command() -> Vec<String> {
    COMMAND.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Does `work`; a panic ends it with a failure that says how to replay it.
/// Errors: those of `work`, or a panic.
pub fn guarded(work: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(|information| {
        let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
        said.get_or_insert_with(|| information.to_string());
    }));
    let outcome = panic::catch_unwind(AssertUnwindSafe(work));
    panic::set_hook(usual);
    outcome.unwrap_or_else(|payload| {
        if let Some(failure) = policies::failure(&*payload) {
            return Err(failure);
        }
        let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
        Err(Failure::failed(report(&said.take().unwrap_or_default())))
    })
}

fn report(said: &str) -> String {
    let command = command().iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    format!(
        "the simulator broke one of its own invariants; nothing it printed before can be trusted.\n  {}\nThis is a \
         defect of nandarium. This command replays it, with the same seeds and configuration:\n  {}\nPlease report \
         both, with the stack and trace files the command names.",
        said.replace('\n', "\n  "),
        command
    )
}

/// An argument as a shell reads it back.
pub fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+:,%@".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        return argument.to_owned();
    }
    format!("'{}'", argument.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_message_with_the_command_that_replays_it() {
        set_command(&["/opt/nandarium".into(), "run".into()]);
        let failure = guarded(|| panic!("page 7 was programmed twice")).unwrap_err();
        assert_eq!(failure.code, crate::failure::FAILED);
        for part in ["page 7 was programmed twice", "panics.rs", "replays", "/opt/nandarium run"] {
            assert!(failure.message.contains(part), "{part}: {}", failure.message);
        }
        assert_eq!(quoted("a b's"), r"'a b'\''s'");
    }
}
