//! Commands in progress: slots are used again, and a handle tells an old command from a new one.

use crate::rig::{PAGES, US, at, barrier, fill, part_of, plain, program, program_after, programmed, run, time_of};
use nand::{Awaits, Cancel, Closed, CommandId, Event, Flash, Read};
use std::collections::HashSet;
use units::{BlockId, Cause};

#[test]
fn no_two_commands_have_the_same_handle_though_they_come_one_after_the_other() {
    let mut flash = plain();
    let mut seen: HashSet<CommandId> = HashSet::new();
    for round in 0..50 {
        for page in 0..PAGES {
            assert!(seen.insert(program(&mut flash, at(0, 0, page))), "round {round}");
            run(&mut flash);
        }
        flash.erase(0, BlockId(0), Cause::Gc);
        run(&mut flash);
    }
    assert_eq!(seen.len(), 200);
}

#[test]
fn a_command_that_waits_for_one_that_has_ended_does_not_wait_for_who_took_its_slot() {
    let mut flash = plain();
    let ended = program(&mut flash, at(0, 0, 0));
    run(&mut flash);
    let start = flash.now();
    program(&mut flash, at(1, 0, 0)); // in the same slot
    program_after(&mut flash, at(0, 0, 1), ended);
    assert_eq!(time_of(&run(&mut flash), programmed(at(0, 0, 1))) - start, 105 * US);
}

#[test]
fn all_who_wait_for_a_command_go_on_when_it_ends_and_not_before() {
    let mut flash = plain();
    fill(&mut flash, 1, 0, 1);
    for round in 0..3 {
        let start = flash.now();
        let slow = program(&mut flash, at(0, 0, round));
        for token in 0..20 {
            let join = flash.open(0, token, Cancel::Never);
            flash.read(0, Read { after: Some(slow), ..part_of(join, at(1, 0, 0), Cause::Host) });
            flash.close(join, Awaits::Commands);
        }
        let seen = run(&mut flash);
        let ends: Vec<_> = seen.iter().filter(|(_, event)| matches!(event, Event::Joined { .. })).collect();
        assert_eq!(ends.len(), 20);
        assert_eq!(ends[0].0 - start, (105 + 15) * US, "round {round}");
        assert_eq!(ends[19].0 - start, (105 + 20 * 15) * US, "round {round}");
    }
}

#[test]
fn an_operation_ends_once_with_its_last_command() {
    let mut flash = plain();
    fill(&mut flash, 0, 0, 1);
    let start = fill(&mut flash, 1, 0, 1);
    let join = flash.open(3, 7, Cancel::Never);
    for die in [0, 1, 0] {
        flash.read(3, part_of(join, at(die, 0, 0), Cause::Host));
    }
    assert!(flash.close(join, Awaits::Commands) == Closed::Pending);
    assert!(flash.advance());
    let told: Vec<_> = flash.state_mut().events.drain(..).collect();
    assert!(matches!(told[..], [(3, Event::Joined { token: 7, failed: false, .. })]), "{told:?}");
    assert_eq!(flash.now() - start, 30 * US);
    assert_eq!(run(&mut flash), []);
}

#[test]
fn an_operation_without_commands_has_ended_when_it_is_closed() {
    let mut flash = plain();
    for _ in 0..1000 {
        let join = flash.open(0, 7, Cancel::Never);
        assert_eq!(flash.close(join, Awaits::Commands), Closed::Done { failed: false });
    }
    assert_eq!(barrier(&mut flash, 7), Closed::Done { failed: false });
    assert_eq!(run(&mut flash), []);
}

#[test]
#[should_panic(expected = "1 commands are still in progress")]
fn state_is_not_given_back_while_commands_are_in_progress() {
    let mut flash = plain();
    program(&mut flash, at(0, 0, 0));
    run(&mut flash);
    assert_eq!(flash.clone().into_state().block(BlockId(0)).done, 1);
    program(&mut flash, at(0, 0, 1));
    drop(flash.into_state());
}
