//! Where the numbers come from.

use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What is watched. It is asked on a thread that may wait.
pub trait Source: Send {
    /// How it stands: the document that `/state.json` gives and `/metrics` is made from.
    /// Errors: in words, why it does not tell.
    fn state(&mut self) -> Result<Value, String>;

    /// Maps that are too long to be asked for every second, for `/maps.json`.
    /// Errors: in words, why there are none.
    fn maps(&mut self) -> Result<Value, String>;

    /// Does what a command of the page says.
    /// Errors: in words, why it was not done.
    fn command(&mut self, command: &str) -> Result<Value, String>;
}

/// How old a state may be: many viewers ask no more of the source than one.
const STATE_AGE: Duration = Duration::from_millis(200);
/// The same of maps.
const MAPS_AGE: Duration = Duration::from_secs(1);

type Known = Option<(Instant, Result<Arc<Value>, String>)>;

/// A source with what it said last.
pub(crate) struct Kept {
    source: Box<dyn Source>,
    state: Known,
    maps: Known,
}

impl Kept {
    pub fn new(source: Box<dyn Source>) -> Self {
        Self { source, state: None, maps: None }
    }

    pub fn state(&mut self) -> Result<Arc<Value>, String> {
        let source = &mut self.source;
        fresh(&mut self.state, STATE_AGE, || source.state())
    }

    pub fn maps(&mut self) -> Result<Arc<Value>, String> {
        let source = &mut self.source;
        fresh(&mut self.maps, MAPS_AGE, || source.maps())
    }

    pub fn command(&mut self, command: &str) -> Result<Value, String> {
        (self.state, self.maps) = (None, None);
        self.source.command(command)
    }
}

fn fresh(known: &mut Known, age: Duration, ask: impl FnOnce() -> Result<Value, String>) -> Result<Arc<Value>, String> {
    match known {
        Some((when, said)) if when.elapsed() < age => said.clone(),
        _ => known.insert((Instant::now(), ask().map(Arc::new))).1.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counting(u64);

    impl Source for Counting {
        fn state(&mut self) -> Result<Value, String> {
            self.0 += 1;
            Ok(self.0.into())
        }

        fn maps(&mut self) -> Result<Value, String> {
            Err("none".to_owned())
        }

        fn command(&mut self, command: &str) -> Result<Value, String> {
            Ok(command.into())
        }
    }

    #[test]
    fn many_viewers_ask_once_and_see_what_a_command_has_changed() {
        let mut kept = Kept::new(Box::new(Counting(0)));
        assert_eq!((*kept.state().unwrap()).clone(), 1);
        assert_eq!((*kept.state().unwrap()).clone(), 1);
        kept.command("x").unwrap();
        assert_eq!((*kept.state().unwrap()).clone(), 2);
        assert_eq!(kept.maps(), Err("none".to_owned()));
    }
}
