//! Law 10: a queued operation can be taken back; one that has begun runs on and is counted as wasted.

use crate::rig::{
    US, at, fill, flash, joined, part_of, pins, plain, program, program_after, read, record_steps, run, stamped,
    stamps, stamps_of,
};
use nand::{Awaits, Cancel, Cancelled, CommandOptions, Completion, Counters, Flash, JoinId, Read, TimedFlash};
use units::{BlockId, Cause};

/// Reads the first pages of a block, as one operation.
fn read_three_pages(flash: &mut TimedFlash) -> JoinId {
    let join = flash.open(0, 7, Cancel::Possible);
    for page in 0..3 {
        flash.read(0, part_of(join, at(0, 0, page), Cause::Host));
    }
    flash.close(join, Awaits::Commands);
    join
}

fn reads(flash: &TimedFlash) -> u64 {
    Counters::total(&flash.state().counters.reads)
}

#[test]
fn an_operation_that_has_begun_runs_on_to_its_end_and_is_wasted() {
    let mut flash = plain();
    record_steps(&mut flash);
    let start = fill(&mut flash, 0, 0, 3);
    // Its transfer ends while the first read is in the array.
    program(&mut flash, at(1, 0, 0));
    let join = read_three_pages(&mut flash);
    assert!(flash.step() && flash.now() - start == 5 * US);
    let left = flash.cancel(join);
    assert_eq!((left.unstarted, left.wasted), (0, 3));
    assert_eq!(pins(&flash, 0), 3);
    while flash.state().counters.wasted_reads < 3 {
        assert!(flash.step());
    }
    assert_eq!(flash.now() - start, 3 * 15 * US, "not only the read that had started ran");
    assert_eq!(reads(&flash), 3);
    assert_eq!(run(&mut flash).len(), 1, "nobody hears of a cancelled operation, only of the program");
    assert_eq!(pins(&flash, 0), 0);
}

/// Between two of its reads as well: one has ended, and the next begins at this very moment.
#[test]
fn an_operation_between_two_of_its_commands_has_begun() {
    let mut flash = plain();
    fill(&mut flash, 0, 0, 3);
    let join = read_three_pages(&mut flash);
    while reads(&flash) == 0 {
        assert!(flash.step());
    }
    let left = flash.cancel(join);
    assert_eq!((left.unstarted, left.wasted), (0, 2));
    assert_eq!(run(&mut flash), []);
    assert_eq!((flash.state().counters.wasted_reads, reads(&flash)), (2, 3));
}

/// What ends at one moment is told of in some order: a read begun in between may turn out to be superfluous.
#[test]
fn a_read_cancelled_at_the_moment_it_begins_has_not_begun() {
    let mut flash = plain();
    let start = fill(&mut flash, 0, 0, 3);
    let first = read_three_pages(&mut flash);
    read_three_pages(&mut flash);
    let left = flash.cancel(first);
    assert_eq!((left.unstarted, left.wasted), (3, 0));
    assert_eq!(pins(&flash, 0), 3);
    let seen = run(&mut flash);
    assert_eq!((seen.len(), flash.now() - start), (1, 3 * 15 * US), "the die goes on with the next read at once");
    assert_eq!((flash.state().counters.wasted_reads, reads(&flash)), (0, 3));
}

#[test]
fn a_queued_operation_never_starts_and_no_event_follows() {
    let mut flash = plain();
    fill(&mut flash, 0, 0, 3);
    flash.erase(0, BlockId(1), Cause::Gc); // keeps the die busy
    let join = read_three_pages(&mut flash);
    program(&mut flash, at(1, 0, 0));
    assert!(flash.step(), "time passes, and none of the three has begun");
    assert_eq!(flash.cancel(join), Cancelled { unstarted: 3, wasted: 0 });
    assert_eq!(run(&mut flash).iter().filter(|(_, event)| joined(7)(event)).count(), 0);
    assert_eq!((reads(&flash), pins(&flash, 0)), (0, 0));
}

#[test]
fn a_read_that_waits_for_another_command_or_for_its_page_can_be_taken_back() {
    let mut flash = plain();
    let slow = program(&mut flash, at(1, 0, 0));
    program_after(&mut flash, at(0, 0, 0), slow);
    let waits_for_page = read(&mut flash, at(0, 0, 0), 7);
    let waits_for_command = flash.open(0, 8, Cancel::Possible);
    flash.read(0, Read { after: Some(slow), ..part_of(waits_for_command, at(0, 0, 0), Cause::Host) });
    flash.close(waits_for_command, Awaits::Commands);
    for join in [waits_for_page, waits_for_command] {
        assert_eq!(flash.cancel(join), Cancelled { unstarted: 1, wasted: 0 });
    }
    assert_eq!(run(&mut flash).len(), 2, "two programs, and no read");
    assert_eq!((reads(&flash), pins(&flash, 0)), (0, 0));
    assert_eq!(flash.state().block(BlockId(0)).done, 1);
}

#[test]
fn an_erase_that_waited_for_a_cancelled_read_goes_on() {
    let mut flash = plain();
    fill(&mut flash, 0, 0, 3);
    flash.erase(0, BlockId(1), Cause::Gc);
    let join = read_three_pages(&mut flash);
    flash.erase(0, BlockId(0), Cause::Gc);
    flash.cancel(join);
    run(&mut flash);
    assert_eq!((flash.state().block(BlockId(0)).erases, reads(&flash)), (1, 0));
}

#[test]
fn the_payload_of_a_cancelled_read_may_be_used_at_once() {
    let mut flash = stamped();
    record_steps(&mut flash);
    fill(&mut flash, 0, 0, 1);
    let payload = stamps(&mut flash, 5, 0b11);
    let join = flash.open(0, 7, Cancel::Possible);
    flash.read(0, Read { payload, ..part_of(join, at(0, 0, 0), Cause::Host) });
    flash.close(join, Awaits::Commands);
    program(&mut flash, at(1, 0, 0));
    assert!(flash.step(), "the read is in the array");
    assert_eq!(flash.cancel(join).wasted, 1);
    flash.memory_mut().payloads.release(payload, 1);
    let again = stamps(&mut flash, 6, 0b11);
    assert_eq!(again, payload);
    run(&mut flash);
    assert_eq!(stamps_of(&flash, again), [6, 6]);
}

#[test]
#[should_panic(expected = "only reads can be taken back")]
fn programs_cannot_be_taken_back() {
    let mut flash = plain();
    let join = flash.open(0, 7, Cancel::Possible);
    flash.program(0, nand::PageProgram { completion: Completion::Join(join), ..crate::rig::command(at(0, 0, 0)) });
    flash.close(join, Awaits::Commands);
    flash.cancel(join);
}

/// Taking a command back costs as much with a long queue as with a short one: walking a queue of 200,000 commands for
/// each of them would take minutes.
#[test]
fn a_long_queue_is_taken_back_command_by_command_in_no_time() {
    const READS: u32 = 200_000;
    let mut flash = plain();
    fill(&mut flash, 0, 0, 3);
    let joins: Vec<_> = (0..READS).map(|number| read(&mut flash, at(0, 0, number % 3), number)).collect();
    let begun = std::time::Instant::now();
    let mut unstarted = 0;
    for number in 0..READS {
        // From all over the queue.
        unstarted += flash.cancel(joins[(u64::from(number) * 77_773 % u64::from(READS)) as usize]).unstarted;
    }
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    assert_eq!((unstarted, pins(&flash, 0)), (READS, 0), "nor has the first begun");
    assert_eq!(run(&mut flash), []);
}

/// The die went on with a read of the same operation, in a gang with another one's, and both were taken off.
#[test]
fn reads_of_others_are_answered_when_an_operation_that_begins_now_is_taken_back() {
    let mut flash = flash(CommandOptions { multi_plane: nand::MultiPlane::All, ..CommandOptions::default() });
    fill(&mut flash, 0, 0, 2);
    fill(&mut flash, 0, 2, 1);
    let join = flash.open(0, 7, Cancel::Possible);
    for page in 0..2 {
        flash.read(0, part_of(join, at(0, 0, page), Cause::Host));
    }
    flash.close(join, Awaits::Commands);
    read(&mut flash, at(0, 2, 0), 8);
    assert_eq!(flash.cancel(join), Cancelled { unstarted: 2, wasted: 0 });
    assert!(run(&mut flash).iter().any(|(_, event)| joined(8)(event)));
    assert_eq!([0, 2].map(|block| pins(&flash, block)), [0, 0]);
}
