//! Multi-plane commands: queued commands of one kind for different planes of a die start together.

use crate::rig::{US, at, erased, fill, flash, joined, plain, program, programmed, read, run, time_of};
use nand::{CommandOptions, Event, Flash};
use units::{BlockId, Cause};

const MULTI: CommandOptions = CommandOptions {
    multi_plane: nand::MultiPlane::All,
    cache_read: false,
    cache_program: false,
    read_priority: false,
    host_reads_first: false,
    suspend: nand::SuspendOption::Off,
    suspend_ns: 0,
    suspend_step_ns: 0,
    suspend_end_ns: 0,
    suspend_limit: 8,
    uninterrupted: false,
    read_in_flight: false,
    reads_in_order: false,
    command_cycles: nand::CommandCycles::Die,
    tells_waits: true,
    gather_pages: 0,
    gather_forgets: false,
};

#[test]
fn programs_for_two_planes_share_one_program_time() {
    let mut flash = flash(MULTI);
    program(&mut flash, at(0, 0, 0)); // on the die at once
    program(&mut flash, at(0, 0, 1));
    program(&mut flash, at(0, 2, 0));
    let seen = run(&mut flash);
    assert_eq!(time_of(&seen, programmed(at(0, 0, 1))), (105 + 110) * US);
    assert_eq!(time_of(&seen, programmed(at(0, 2, 0))), (105 + 110) * US);
}

#[test]
fn without_the_option_programs_for_two_planes_take_their_time_one_after_the_other() {
    let mut flash = plain();
    program(&mut flash, at(0, 0, 0));
    program(&mut flash, at(0, 2, 0));
    assert_eq!(time_of(&run(&mut flash), programmed(at(0, 2, 0))), 210 * US);
}

#[test]
fn reads_for_two_planes_share_the_array_and_move_one_after_the_other() {
    let mut flash = flash(MULTI);
    fill(&mut flash, 0, 0, 1);
    let start = fill(&mut flash, 0, 2, 1);
    read(&mut flash, at(0, 0, 0), 6); // on the die at once
    read(&mut flash, at(0, 0, 0), 7);
    read(&mut flash, at(0, 2, 0), 8);
    let seen = run(&mut flash);
    assert_eq!(time_of(&seen, joined(7)) - start, (15 + 15) * US);
    assert_eq!(time_of(&seen, joined(8)) - start, (15 + 20) * US);
}

#[test]
fn erases_for_two_planes_share_one_erase_time() {
    let mut flash = flash(MULTI);
    program(&mut flash, at(0, 1, 0)); // on the die at once
    flash.erase(0, BlockId(0), Cause::Gc);
    flash.erase(0, BlockId(2), Cause::Gc);
    let seen = run(&mut flash);
    assert_eq!(seen.iter().filter(|(time, event)| erased(event) && *time == 1105 * US).count(), 2);
}

#[test]
fn commands_for_one_plane_are_no_gang() {
    let mut flash = flash(MULTI);
    program(&mut flash, at(0, 0, 0));
    program(&mut flash, at(0, 0, 1));
    program(&mut flash, at(0, 1, 0)); // another block of the same plane
    let seen = run(&mut flash);
    assert_eq!(time_of(&seen, programmed(at(0, 0, 1))), 210 * US);
    assert_eq!(time_of(&seen, programmed(at(0, 1, 0))), 315 * US);
}

#[test]
fn a_command_that_joins_a_gang_overtakes_no_other_of_its_plane() {
    let mut flash = flash(MULTI);
    program(&mut flash, at(0, 0, 0)); // on the die at once
    program(&mut flash, at(0, 0, 1));
    flash.erase(0, BlockId(3), Cause::Gc); // of the second plane, before its program
    program(&mut flash, at(0, 2, 0));
    let seen = run(&mut flash);
    assert_eq!(time_of(&seen, programmed(at(0, 0, 1))), 210 * US);
    assert_eq!(time_of(&seen, |event| *event == Event::Erased { block: BlockId(3) }), 1210 * US);
    assert_eq!(time_of(&seen, programmed(at(0, 2, 0))), 1315 * US);
}

#[test]
fn programs_of_a_gang_keep_the_order_of_their_blocks() {
    let mut flash = flash(MULTI);
    for page in 0..4 {
        program(&mut flash, at(0, 0, page));
        program(&mut flash, at(0, 2, page));
    }
    let seen = run(&mut flash);
    let times = |block: u32| [0, 1, 2, 3].map(|page| time_of(&seen, programmed(at(0, block, page))));
    assert!(times(0).is_sorted() && times(2).is_sorted());
    assert_eq!(seen.len(), 8);
}
