//! A target as its viewers see it.

use crate::control::{Wish, told};
use crate::target::Target;
use live::Source;
use serde_json::Value;

/// Commands that a page may give.
const OF_PAGES: [&str; 4] = ["power-cut", "power-off", "power-on", "fault"];
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
    use crate::target::{Answers, Control, Order};
    use serde_json::json;
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
