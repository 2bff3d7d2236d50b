//! A read interrupts a program or an erase of its die, within limits, and the interrupted one takes longer.

use crate::rig::{PART, US, at, copy, erased, fill, flash, joined, program, programmed, read, run, state, time_of};
use nand::{CommandOptions, ContentsKind, CopyWay, Flash, SuspendOption, TimedFlash};
use units::{BlockId, Cause, Nanos};

const SUSPEND_NS: Nanos = 3 * US;

fn suspending(suspend: SuspendOption) -> TimedFlash {
    flash(CommandOptions { suspend, suspend_ns: SUSPEND_NS, ..CommandOptions::default() })
}

#[test]
fn a_read_suspends_an_erase_which_then_takes_its_rest() {
    let mut flash = suspending(SuspendOption::Erase);
    let start = fill(&mut flash, 0, 0, 1);
    flash.erase(0, BlockId(1), Cause::Gc);
    read(&mut flash, at(0, 0, 0), 7);
    let seen = run(&mut flash);
    assert_eq!(time_of(&seen, joined(7)) - start, 15 * US);
    assert_eq!(time_of(&seen, erased) - start, (1000 + 15) * US + SUSPEND_NS);
}

#[test]
fn a_read_suspends_a_program_only_where_the_part_can() {
    for (suspend, read_at, programmed_at) in [
        (SuspendOption::Off, 105 + 15, 105),
        (SuspendOption::Erase, 105 + 15, 105),
        (SuspendOption::ProgramErase, 5 + 15, 105 + 15 + 3),
    ] {
        let mut flash = suspending(suspend);
        let start = fill(&mut flash, 0, 0, 1);
        program(&mut flash, at(0, 0, 1));
        read(&mut flash, at(0, 0, 0), 7);
        let seen = run(&mut flash);
        let times = (time_of(&seen, joined(7)) - start, time_of(&seen, programmed(at(0, 0, 1))) - start);
        assert_eq!(times, (read_at * US, programmed_at * US), "{suspend:?}");
    }
}

/// A program takes 100 us behind its transfer of 5 us, and can be interrupted at once, or after 30, 60 or 90 us of it;
/// or not in its last 40 us.
#[test]
fn a_read_waits_for_a_moment_at_which_a_program_can_be_interrupted() {
    // When the read comes after the transfer; how long it waits then; whether it interrupts.
    let anywhere = [(0, 0, true), (10, 20, true), (30, 0, true), (69, 21, true), (91, 9, false)].map(|case| (0, case));
    let but_the_end = [(0, 0, true), (25, 5, true), (31, 29, true), (59, 1, true), (60, 40, false), (69, 31, false)];
    for (end, (comes, waits, interrupts)) in anywhere.into_iter().chain(but_the_end.map(|case| (40, case))) {
        let suspend = SuspendOption::ProgramErase;
        let (suspend_step_ns, suspend_end_ns) = (30 * US, end * US);
        let step = CommandOptions {
            suspend,
            suspend_ns: SUSPEND_NS,
            suspend_step_ns,
            suspend_end_ns,
            ..CommandOptions::default()
        };
        let mut flash = TimedFlash::new(state(1, ContentsKind::None), PART, step, 1);
        let start = fill(&mut flash, 0, 0, 1);
        program(&mut flash, at(0, 0, 1));
        flash.set_timer(0, Some(start + (5 + comes) * US));
        while flash.now() < start + (5 + comes) * US {
            assert!(flash.step());
        }
        read(&mut flash, at(0, 0, 0), 7);
        let issued = flash.now();
        let seen = run(&mut flash);
        assert_eq!(time_of(&seen, joined(7)) - issued, (waits + 15) * US, "comes at {comes}, end {end}");
        let more = if interrupts { 15 * US + SUSPEND_NS } else { 0 };
        assert_eq!(time_of(&seen, programmed(at(0, 0, 1))) - start, 105 * US + more, "comes at {comes}");
    }
}

#[test]
fn a_copy_inside_the_plane_is_not_suspended() {
    let mut flash = suspending(SuspendOption::ProgramErase);
    let start = fill(&mut flash, 0, 0, 1);
    flash.copy(0, copy(at(0, 0, 0), at(0, 1, 0), CopyWay::Plane));
    read(&mut flash, at(0, 0, 0), 7);
    assert_eq!(time_of(&run(&mut flash), joined(7)) - start, (110 + 15) * US);
}

#[test]
fn reads_that_come_while_one_is_suspended_go_first_and_cost_no_second_interruption() {
    let mut flash = suspending(SuspendOption::Erase);
    let start = fill(&mut flash, 0, 0, 1);
    flash.erase(0, BlockId(1), Cause::Gc);
    for token in 0..3 {
        read(&mut flash, at(0, 0, 0), token);
    }
    let seen = run(&mut flash);
    assert_eq!(time_of(&seen, joined(2)) - start, 3 * 15 * US);
    assert_eq!(time_of(&seen, erased) - start, (1000 + 3 * 15) * US + SUSPEND_NS);
}

/// Each read comes when the one before has ended, so each would interrupt the erase once more.
#[test]
fn an_erase_is_interrupted_as_often_as_may_be_and_then_runs_to_its_end() {
    for limit in [1, 8] {
        is_interrupted(limit);
    }
}

fn is_interrupted(limit: u8) {
    let suspend = SuspendOption::Erase;
    let options = CommandOptions { suspend, suspend_ns: SUSPEND_NS, suspend_limit: limit, ..CommandOptions::default() };
    let mut flash = flash(options);
    let times = Nanos::from(limit);
    let start = fill(&mut flash, 0, 0, 1);
    flash.erase(0, BlockId(1), Cause::Gc);
    let mut latencies = Vec::new();
    for token in 0..=u32::from(limit) {
        let issued = flash.now();
        read(&mut flash, at(0, 0, 0), token);
        while !flash.state().events.iter().any(|(_, event)| joined(token)(event)) {
            assert!(flash.step());
        }
        latencies.push(flash.now() - issued);
    }
    let (last, first) = latencies.split_last().unwrap();
    assert!(first.iter().all(|latency| *latency == 15 * US));
    let end = (1000 + times * 15) * US + times * SUSPEND_NS;
    assert_eq!(*last, end - times * 15 * US + 15 * US, "the next one waits for all that is left");
    assert_eq!(flash.now() - start, end + 15 * US);
}

#[test]
fn the_next_erase_may_be_interrupted_again() {
    let mut flash = suspending(SuspendOption::Erase);
    fill(&mut flash, 0, 0, 1);
    for round in 0..2 {
        flash.erase(0, BlockId(1), Cause::Gc);
        let start = flash.now();
        for token in 0..8 {
            read(&mut flash, at(0, 0, 0), token);
            while !flash.state().events.iter().any(|(_, event)| joined(token)(event)) {
                assert!(flash.step());
            }
            flash.state_mut().events.clear();
        }
        assert_eq!(flash.now() - start, 8 * 15 * US, "round {round}");
        run(&mut flash);
    }
}

#[test]
fn reads_go_before_queued_programs_where_they_have_priority_and_interrupt_nothing() {
    let mut flash = flash(CommandOptions { read_priority: true, ..CommandOptions::default() });
    let start = fill(&mut flash, 0, 0, 1);
    program(&mut flash, at(0, 0, 1));
    program(&mut flash, at(0, 0, 2));
    read(&mut flash, at(0, 0, 0), 7);
    let seen = run(&mut flash);
    assert_eq!(time_of(&seen, joined(7)) - start, (105 + 15) * US);
    assert_eq!(time_of(&seen, programmed(at(0, 0, 2))) - start, (105 + 15 + 105) * US);
}
