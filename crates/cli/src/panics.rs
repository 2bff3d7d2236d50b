//! Broken invariants: a panic anywhere becomes a message with everything needed to replay it.

use crate::failure::Failure;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;

/// What the first panic said.
static SAID: Mutex<Option<String>> = Mutex::new(None);

/// Does `work`; a panic ends it with a failure that says how to replay it.
///
/// # Errors
/// Those of `work`, or a panic.
pub fn guarded(work: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(|information| {
        let mut said = SAID.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        said.get_or_insert_with(|| information.to_string());
    }));
    let outcome = panic::catch_unwind(AssertUnwindSafe(work));
    panic::set_hook(usual);
    outcome.unwrap_or_else(|_| {
        let mut said = SAID.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        Err(Failure::failed(report(&said.take().unwrap_or_default())))
    })
}

fn report(said: &str) -> String {
    let command: Vec<String> = std::env::args().map(|argument| quoted(&argument)).collect();
    format!(
        "the simulator broke one of its own invariants; nothing it printed before can be trusted.\n  {}\n\
         This is a defect of nandarium. Seeds and configuration are those of this command, which replays it:\n  {}\n\
         Please report both, with the stack and trace files the command names.",
        said.replace('\n', "\n  "),
        command.join(" ")
    )
}

/// An argument as a shell reads it back.
fn quoted(argument: &str) -> String {
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
        let failure = guarded(|| panic!("page 7 was programmed twice")).unwrap_err();
        assert_eq!(failure.code, crate::failure::FAILED);
        for part in ["page 7 was programmed twice", "panics.rs", "replays", &quoted(&std::env::args().next().unwrap())] {
            assert!(failure.message.contains(part), "{part}: {}", failure.message);
        }
        assert_eq!(quoted("a b's"), r"'a b'\''s'");
    }
}
