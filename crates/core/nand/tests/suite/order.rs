//! Law 5 and law 11: programs of a block start in order, once each, and a read of a page under way waits for it.

use crate::rig::{
    DIES, PAGES, US, at, command, contents, copy, counted, erased, flash, issue, joined, part_of, plain, program,
    program_after, programmed, read, run, stamped, stamps, stamps_of, time_of,
};
use nand::{
    Awaits, Cancel, Closed, CommandId, CommandOptions, CopyWay, Event, Flash, Outcome, PageProgram, Program, Read,
};
use proptest::prelude::*;
use units::{BlockId, Cause};

#[test]
fn programs_of_a_block_start_in_issue_order_though_the_second_is_ready_first() {
    let mut flash = plain();
    let slow = program(&mut flash, at(1, 0, 0));
    program_after(&mut flash, at(0, 0, 0), slow);
    program(&mut flash, at(0, 0, 1));
    let seen = run(&mut flash);
    let (first, second) = (time_of(&seen, programmed(at(0, 0, 0))), time_of(&seen, programmed(at(0, 0, 1))));
    assert_eq!((first, second), (210 * US, 315 * US));
}

#[test]
fn programs_keep_their_order_over_pages_that_are_passed_over() {
    let mut flash = plain();
    let slow = program(&mut flash, at(1, 0, 0));
    program_after(&mut flash, at(0, 0, 0), slow);
    flash.blocks_mut().skip_to(at(0, 0, 1));
    flash.blocks_mut().skip_to(at(0, 0, 2)); // nothing lies between, so this says the same
    program(&mut flash, at(0, 0, 2));
    let awaited = flash.await_program(0, at(0, 0, 2), 99).pending().is_some();
    let seen = run(&mut flash);
    let (first, second) = (time_of(&seen, programmed(at(0, 0, 0))), time_of(&seen, programmed(at(0, 0, 2))));
    assert_eq!((first, second), (210 * US, 315 * US));
    assert!(awaited);
    assert_eq!(time_of(&seen, |event| *event == Event::Notified { token: 99, page: at(0, 0, 2) }), 315 * US);
    let row = flash.state().block(BlockId(0));
    assert_eq!((row.done, row.issued, row.pins()), (3, 3, 0));
    assert!(flash.await_program(0, at(0, 0, 2), 99).pending().is_none(), "it has completed");
}

#[test]
#[should_panic(expected = "program of page 2 of block 0")]
fn pages_are_passed_over_only_where_their_owner_says_so() {
    let mut flash = plain();
    program(&mut flash, at(0, 0, 0));
    program(&mut flash, at(0, 0, 2));
}

#[test]
#[should_panic(expected = "not beyond its next")]
fn pages_are_passed_over_forwards_only() {
    let mut flash = plain();
    program(&mut flash, at(0, 0, 0));
    flash.blocks_mut().skip_to(at(0, 0, 0));
}

#[test]
#[should_panic(expected = "program of page 0 of block 0: next page is 1")]
fn a_page_is_programmed_once_between_two_erases() {
    let mut flash = plain();
    program(&mut flash, at(0, 0, 0));
    program(&mut flash, at(0, 0, 0));
}

#[test]
#[should_panic(expected = "program of page 0 of block 0, but page 1 is next")]
fn a_page_is_programmed_once_where_commands_only_count() {
    let mut flash = counted();
    flash.program(0, command(at(0, 0, 0)));
    flash.program(0, command(at(0, 0, 0)));
}

#[test]
fn an_erased_block_takes_its_first_page_again() {
    let mut flash = plain();
    for page in 0..PAGES {
        program(&mut flash, at(0, 0, page));
    }
    flash.erase(0, BlockId(0), Cause::Gc);
    assert!(run(&mut flash).iter().any(|(_, event)| erased(event)));
    program(&mut flash, at(0, 0, 0));
    run(&mut flash);
    let row = flash.state().block(BlockId(0));
    assert_eq!((row.done, row.erases), (1, 1));
}

#[test]
#[should_panic(expected = "program of page 0 of block 0")]
fn a_bad_block_takes_no_program() {
    let mut flash = plain();
    flash.state_mut().mark_bad(BlockId(0));
    program(&mut flash, at(0, 0, 0));
}

#[test]
fn a_read_of_a_page_in_flight_waits_for_it() {
    let mut flash = plain();
    program(&mut flash, at(0, 0, 0));
    read(&mut flash, at(0, 0, 0), 7);
    assert_eq!(time_of(&run(&mut flash), joined(7)), (105 + 15) * US);
}

#[test]
fn a_read_of_a_page_that_waits_for_its_turn_waits_with_it_and_others_do_not() {
    let mut flash = plain();
    program(&mut flash, at(0, 0, 0));
    run(&mut flash);
    let start = flash.now();
    let slow = program(&mut flash, at(1, 0, 0));
    program_after(&mut flash, at(0, 0, 1), slow);
    read(&mut flash, at(0, 0, 1), 7);
    read(&mut flash, at(0, 0, 0), 8);
    let seen = run(&mut flash);
    assert_eq!((time_of(&seen, joined(8)) - start, time_of(&seen, joined(7)) - start), (15 * US, (2 * 105 + 15) * US));
}

#[test]
fn the_controller_answers_a_read_of_a_page_in_flight_where_the_part_has_the_option() {
    let mut flash = flash(CommandOptions { read_in_flight: true, ..CommandOptions::default() });
    program(&mut flash, at(0, 0, 0));
    let join = flash.open(0, 7, Cancel::Never);
    assert_eq!(flash.read(0, part_of(join, at(0, 0, 0), Cause::Host)), Outcome::Done);
    assert_eq!(flash.close(join, Awaits::Commands), Closed::Done { failed: false });
    assert_eq!(flash.state().counters.in_flight_reads, 1);
    read(&mut flash, at(0, 0, 0), 8);
    run(&mut flash);
    assert_eq!(flash.state().counters.reads, [0; units::DIE_CAUSES], "flash was not asked");
}

#[test]
fn contents_change_when_a_program_completes_and_not_when_it_is_issued() {
    let mut flash = stamped();
    let (old, new) = (stamps(&mut flash, 1, 0b11), stamps(&mut flash, 2, 0b01));
    let data = |payload, merge| Program::Data { payload, merge };
    flash.program(0, PageProgram { what: data(old, false), ..command(at(0, 0, 0)) });
    run(&mut flash);
    let merged = PageProgram { what: data(new, true), supersedes: Some(at(0, 0, 0)), ..command(at(1, 0, 0)) };
    flash.program(0, merged);
    assert_eq!(contents(&flash).oob(at(1, 0, 0).0).kind, nand::PageKind::Erased);
    let into = stamps(&mut flash, 0, 0b11);
    let join = flash.open(0, 7, Cancel::Never);
    flash.read(0, Read { payload: into, ..part_of(join, at(1, 0, 0), Cause::Host) });
    flash.close(join, Awaits::Commands);
    run(&mut flash);
    assert_eq!(stamps_of(&flash, into), [2, 1], "the sector that was not written is that of the page before");
}

/// Programs of three blocks; some wait for one issued earlier.
fn programs() -> impl Strategy<Value = Vec<(u32, Option<usize>)>> {
    proptest::collection::vec((0..3_u32, proptest::option::of(0..12_usize)), 1..12)
}

proptest! {
    #[test]
    fn whatever_programs_wait_for_a_block_is_programmed_in_order_and_to_its_end(wanted in programs()) {
        let mut flash = plain();
        let mut next = [0; 3];
        let mut issued: Vec<CommandId> = Vec::new();
        for (block, before) in wanted {
            if next[block as usize] == PAGES {
                continue;
            }
            let page = at(block % DIES, 0, next[block as usize]);
            next[block as usize] += 1;
            let after = before.and_then(|at| issued.get(at)).copied();
            issued.push(issue(&mut flash, PageProgram { after, ..command(page) }));
        }
        let seen = run(&mut flash);
        prop_assert_eq!(seen.len(), issued.len());
        let mut done = [0; 3];
        for (_, event) in seen {
            let Event::Notified { page, .. } = event else { unreachable!("nothing but programs was issued") };
            let geometry = flash.state().geometry;
            let die = geometry.die_of(geometry.block_of(page)).index();
            prop_assert_eq!(geometry.page_in_block(page), done[die]);
            done[die] += 1;
        }
        prop_assert_eq!(done, next);
    }
}

#[test]
fn a_page_to_be_copied_holds_what_its_source_holds_while_that_is_read() {
    let mut flash = stamped();
    program(&mut flash, at(0, 0, 0));
    run(&mut flash);
    flash.copy(0, copy(at(0, 0, 0), at(1, 0, 0), CopyWay::Channel));
    let mut steps = 0;
    while !flash.state().is_programmed(at(1, 0, 0)) {
        assert!(!flash.may_hold_bytes(at(1, 0, 0)), "after {steps} steps: its source holds zeros");
        assert!(flash.step(), "the copy ends");
        steps += 1;
    }
    assert!(steps >= 2, "a read and a program: {steps} steps");
    assert!(!flash.may_hold_bytes(at(1, 0, 0)));
}
