//! The control socket: a command a line, an answer a line, and nobody else is disturbed.

use crate::rig::Serving;

#[test]
fn each_line_is_a_command_and_has_an_answer_in_order() {
    let serving = Serving::begin();
    let mut controller = serving.controller();
    controller.say(b"echo\nsing\necho\r\n");
    assert_eq!(controller.answer(), r#"{"ok":"echo"}"#);
    assert_eq!(controller.answer(), r#"{"error":"there is no command sing"}"#);
    assert_eq!(controller.answer(), r#"{"ok":"echo"}"#);
}

#[test]
fn a_command_may_come_in_pieces() {
    let serving = Serving::begin();
    let mut controller = serving.controller();
    controller.say(b"ec");
    std::thread::sleep(std::time::Duration::from_millis(30));
    controller.say(b"ho\n");
    assert_eq!(controller.answer(), r#"{"ok":"echo"}"#);
}

#[test]
fn a_command_without_end_ends_its_own_conversation_and_no_other() {
    let serving = Serving::begin();
    let (mut endless, mut other) = (serving.controller(), serving.controller());
    endless.say(&[b'x'; 5000]);
    assert!(endless.answer().contains("a command of more than 4096 bytes"));
    other.say(b"echo\n");
    assert_eq!(other.answer(), r#"{"ok":"echo"}"#);
}

#[test]
fn a_device_that_goes_away_hangs_up_on_its_clients_and_takes_new_ones() {
    let serving = Serving::begin();
    let (mut one, mut two) = (serving.client(), serving.client());
    serving.hold(true);
    one.ask(1, 0, 512);
    serving.await_count(|shared| &shared.orders, 1);
    let mut controller = serving.controller();
    controller.say(b"go-away\n");
    assert_eq!(controller.answer(), r#"{"ok":"gone"}"#);
    assert!(one.is_over() && two.is_over(), "and what was under way has no answer");
    serving.hold(false);
    let mut new = serving.client();
    new.ask(2, 512 * 9, 512);
    assert_eq!(new.answer(512), (2, 9), "the answer for who left is nobody else's");
}
