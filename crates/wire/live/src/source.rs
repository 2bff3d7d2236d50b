//! Where the numbers come from.

use crate::metrics::{Exposition, exposition};
use crate::reply::Reply;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The watched run.
pub trait Source {
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

/// The question of a viewer to a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Its state, as a document.
    State,
    /// Its maps, as a document.
    Maps,
    /// Its state, as metrics.
    Metrics(Exposition),
    /// To do this.
    Command(String),
}

/// How old a state may be: many viewers ask no more of the source than one.
const STATE_AGE: Duration = Duration::from_millis(200);
/// The same of maps.
const MAPS_AGE: Duration = Duration::from_secs(1);

/// The last data of a source, and the answers made from it.
#[derive(Debug, Default)]
pub struct Kept {
    state: Option<Known>,
    maps: Option<Known>,
}

#[derive(Debug)]
struct Known {
    since: Instant,
    said: Result<Arc<Value>, String>,
    replies: Vec<(Question, Reply)>,
}

impl Kept {
    /// Answers a question, from what is kept where that is new enough.
    pub fn answer(&mut self, source: &mut dyn Source, question: &Question) -> Reply {
        let is_maps = match question {
            Question::Command(command) => {
                *self = Self::default();
                let done = source.command(command);
                return Reply::json(done.map(|done| json!({ "ok": done }).to_string()), "400 Bad Request");
            }
            question => *question == Question::Maps,
        };
        let (known, age) = if is_maps { (&mut self.maps, MAPS_AGE) } else { (&mut self.state, STATE_AGE) };
        known.take_if(|known| known.since.elapsed() >= age);
        let Known { said, replies, .. } = known.get_or_insert_with(|| {
            let since = Instant::now();
            let said = if is_maps { source.maps() } else { source.state() };
            Known { since, said: said.map(Arc::new), replies: Vec::new() }
        });
        if let Some((_, reply)) = replies.iter().find(|(asked, _)| asked == question) {
            return reply.clone();
        }
        let reply = match question {
            Question::Metrics(form) => metrics(*form, said),
            _ => Reply::json(said.clone().map(|document| document.to_string()), "503 Service Unavailable"),
        };
        replies.push((question.clone(), reply.clone()));
        reply
    }
}

fn metrics(form: Exposition, said: &Result<Arc<Value>, String>) -> Reply {
    match said.clone().and_then(|state| exposition(&state, form).map_err(|error| error.to_string())) {
        Ok(text) => Reply::written("200 OK", form.content_type(), &text),
        Err(problem) => Reply::unavailable(&problem),
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
        let (mut kept, mut source) = (Kept::default(), Counting(0));
        let mut ask = |question| kept.answer(&mut source, &question);
        assert_eq!(&*ask(Question::State).text, "1");
        assert_eq!(ask(Question::Metrics(Exposition::Prometheus)).status, "200 OK");
        assert_eq!(&*ask(Question::State).text, "1");
        assert_eq!(&*ask(Question::Command("x".to_owned())).text, r#"{"ok":"x"}"#);
        assert_eq!(&*ask(Question::State).text, "2");
        let none = ask(Question::Maps);
        assert_eq!((none.status, &*none.text), ("503 Service Unavailable", r#"{"error":"none"}"#));
    }
}
