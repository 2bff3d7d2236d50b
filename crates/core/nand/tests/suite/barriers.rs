//! Law 9, as far as flash keeps it: a barrier waits for the programs before it and for no others.

use crate::rig::{
    PAGES, US, at, barrier, copy, counted, fail_programs_of, failed, fill, issue, joined, plain, program,
    program_after, programmed, run, time_of,
};
use nand::{Awaits, Cancel, Closed, CopyWay, Event, Flash};
use units::BlockId;

#[test]
fn a_barrier_waits_for_exactly_the_earlier_programs() {
    let mut flash = plain();
    program(&mut flash, at(0, 0, 0));
    program(&mut flash, at(1, 0, 0));
    barrier(&mut flash, 9);
    program(&mut flash, at(0, 0, 1));
    let seen = run(&mut flash);
    assert_eq!(time_of(&seen, joined(9)), 105 * US);
    assert_eq!(time_of(&seen, programmed(at(0, 0, 1))), 210 * US);
}

#[test]
fn a_barrier_waits_for_a_program_that_was_issued_and_has_not_begun() {
    let mut flash = plain();
    let slow = program(&mut flash, at(1, 0, 0));
    program_after(&mut flash, at(0, 0, 0), slow);
    barrier(&mut flash, 9);
    assert_eq!(time_of(&run(&mut flash), joined(9)), 210 * US);
}

#[test]
fn a_barrier_with_nothing_before_it_has_fallen() {
    let mut flash = plain();
    assert_eq!(barrier(&mut flash, 9), Closed::Done { failed: false });
    fill(&mut flash, 0, 0, 1);
    assert_eq!(barrier(&mut flash, 9), Closed::Done { failed: false });
    assert_eq!(barrier(&mut counted(), 9), Closed::Done { failed: false });
}

#[test]
fn a_barrier_does_not_wait_for_copies_because_their_sources_are_still_there() {
    let mut flash = plain();
    fill(&mut flash, 0, 0, 1);
    flash.copy(0, copy(at(0, 0, 0), at(1, 0, 0), CopyWay::Channel));
    assert_eq!(barrier(&mut flash, 9), Closed::Done { failed: false });
}

#[test]
fn a_barrier_waits_for_a_program_that_failed_until_its_data_is_on_flash() {
    let mut flash = plain();
    fail_programs_of(&mut flash, &[BlockId(0)]);
    program(&mut flash, at(0, 0, 0));
    barrier(&mut flash, 9);
    let seen = run(&mut flash);
    assert!(!seen.iter().any(|(_, event)| joined(9)(event)), "the data is not on flash");
    flash.place_again(failed(&seen)[0], at(0, 1, 0));
    assert_eq!(time_of(&run(&mut flash), joined(9)), 210 * US);
}

#[test]
fn an_operation_with_a_barrier_waits_for_its_own_commands_as_well() {
    let mut flash = plain();
    program(&mut flash, at(0, 0, 0));
    let join = flash.open(0, 9, Cancel::Never);
    let completion = nand::Completion::Join(join);
    issue(&mut flash, nand::PageProgram { completion, ..crate::rig::command(at(0, 0, 1)) });
    flash.close(join, Awaits::AllPrograms);
    assert_eq!(time_of(&run(&mut flash), joined(9)), 210 * US);
}

/// There are fewer epochs than barriers here: those beyond wait a little longer, and never fall early.
#[test]
fn many_barriers_fall_in_order_and_never_before_the_programs_ahead_of_them() {
    const BARRIERS: u32 = 600;
    let mut flash = plain();
    let mut ahead = Vec::new();
    for number in 0..BARRIERS {
        if number % 40 == 0 {
            let program_number = number / 40;
            program(&mut flash, at(0, program_number / PAGES, program_number % PAGES));
        }
        ahead.push(number / 40 + 1);
        barrier(&mut flash, 1000 + number);
    }
    let (mut programs, mut fallen) = (0, 0);
    for (_, event) in run(&mut flash) {
        match event {
            Event::Notified { .. } => programs += 1,
            Event::Joined { token, .. } => {
                assert_eq!(token, 1000 + fallen, "barriers fall in order");
                // A program completes and its barriers fall before its owner hears of it.
                assert!(programs + 1 >= ahead[fallen as usize], "barrier {fallen} fell too early");
                fallen += 1;
            }
            other => panic!("unexpected {other:?}"),
        }
    }
    assert_eq!((programs, fallen), (BARRIERS / 40, BARRIERS));
}
