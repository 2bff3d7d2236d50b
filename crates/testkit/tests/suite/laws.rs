//! The laws of the command waist and the timing of the flash engine, on hand-made commands.
//!
//! Times of the part: read 10, program 100, erase 1,000, a page over the channel 5 (all in us).

use nand::{
    Cancel, Command, CommandId, CommandOptions, Completion, ContentsKind, Event, Flash, FlashCore, JoinId, Part,
    PayloadId, Program, Read, SuspendOption, TimedFlash,
};
use units::{BlockId, Cause, Geometry, Nanos, Ppn, Shape, Wait};

const US: Nanos = 1000;
const PAGES: u32 = 4;

fn geometry() -> Geometry {
    let shape = Shape {
        channels: 2,
        dies_per_channel: 2,
        planes_per_die: 2,
        blocks_per_die: 4,
        pages_per_block: PAGES,
        page_bytes: 512,
    };
    Geometry::new(shape).unwrap()
}

fn flash(options: CommandOptions) -> TimedFlash {
    let part = Part {
        read_ns: 10 * US,
        program_ns: 100 * US,
        erase_ns: 1000 * US,
        bus_bytes_per_second: 102_400_000,
        side_by_side: (1, 512),
        command_ns: 0,
        endurance: 0,
    };
    TimedFlash::new(FlashCore::new(geometry(), ContentsKind::None), part, options, 0)
}

fn plain() -> TimedFlash {
    flash(CommandOptions::default())
}

/// Page `page` of block `block` of die `die`.
fn at(die: u32, block: u32, page: u32) -> Ppn {
    Ppn((die * 4 + block) * PAGES + page)
}

fn program(flash: &mut TimedFlash, page: Ppn, supersedes: Option<Ppn>, after: Option<CommandId>) -> CommandId {
    let command = Command {
        page,
        supersedes,
        what: Program::Data { payload: PayloadId::NONE, merge: false },
        logical: 0,
        sequence: 1,
        cause: Cause::Host,
        completion: Completion::Notify(page.0),
        after,
    };
    flash.program(0, command).pending().expect("programs take time")
}

fn read(flash: &mut TimedFlash, page: Ppn, cause: Cause, token: u32) {
    let join = flash.open(0, token, Cancel::Possible);
    let completion = Some(Completion::Join(join));
    flash.read(0, Read { page, cause, sectors: 1, payload: PayloadId::NONE, completion, after: None });
    flash.close(join);
}

/// Runs to the end; every event with its time.
fn run(flash: &mut TimedFlash) -> Vec<(Nanos, Event)> {
    let mut seen = Vec::new();
    while flash.advance() {
        let now = flash.now();
        seen.extend(flash.core_mut().events.drain(..).map(|(_, event)| (now, event)));
    }
    seen
}

fn time_of(seen: &[(Nanos, Event)], wanted: impl Fn(&Event) -> bool) -> Nanos {
    seen.iter().find(|(_, event)| wanted(event)).expect("the event happened").0
}

fn programmed(page: Ppn) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::Notified { token, .. } if *token == page.0)
}

fn joined(wanted: u32) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::Joined { token, .. } if *token == wanted)
}

fn erased(event: &Event) -> bool {
    matches!(event, Event::Erased { .. })
}

/// Fills the first `pages` of a block and forgets the time it took.
fn fill(flash: &mut TimedFlash, die: u32, block: u32, pages: u32) -> Nanos {
    for page in 0..pages {
        program(flash, at(die, block, page), None, None);
    }
    run(flash);
    flash.now()
}

#[test]
fn an_idle_read_costs_array_time_plus_transfer() {
    let mut flash = plain();
    let start = fill(&mut flash, 0, 0, 1);
    read(&mut flash, at(0, 0, 0), Cause::Host, 7);
    assert_eq!(time_of(&run(&mut flash), joined(7)) - start, 15 * US);
}

#[test]
fn an_erase_waits_for_a_program_on_another_die_that_supersedes_its_page() {
    let mut flash = plain();
    let start = fill(&mut flash, 0, 0, 1);
    program(&mut flash, at(1, 0, 0), Some(at(0, 0, 0)), None);
    flash.erase(0, BlockId(0), Cause::Gc);
    let seen = run(&mut flash);
    assert_eq!(time_of(&seen, erased) - start, (105 + 1000) * US);
}

#[test]
fn an_erase_waits_for_a_hold() {
    let mut flash = plain();
    fill(&mut flash, 0, 0, 1);
    flash.hold(BlockId(0));
    flash.erase(0, BlockId(0), Cause::Gc);
    assert_eq!(run(&mut flash), []);
    flash.release(BlockId(0));
    assert!(run(&mut flash).iter().any(|(_, event)| erased(event)));
}

#[test]
fn a_read_of_a_page_in_flight_waits_for_it() {
    let mut flash = plain();
    program(&mut flash, at(0, 0, 0), None, None);
    read(&mut flash, at(0, 0, 0), Cause::Host, 7);
    assert_eq!(time_of(&run(&mut flash), joined(7)), (105 + 15) * US);
}

#[test]
fn programs_of_a_block_start_in_issue_order_though_the_second_is_ready_first() {
    let mut flash = plain();
    let slow = program(&mut flash, at(1, 0, 0), None, None);
    program(&mut flash, at(0, 0, 0), None, Some(slow));
    program(&mut flash, at(0, 0, 1), None, None);
    let seen = run(&mut flash);
    let (first, second) = (time_of(&seen, programmed(at(0, 0, 0))), time_of(&seen, programmed(at(0, 0, 1))));
    assert_eq!((first, second), (210 * US, 315 * US));
}

#[test]
fn programs_keep_their_order_over_pages_that_are_passed_over() {
    let mut flash = plain();
    let slow = program(&mut flash, at(1, 0, 0), None, None);
    program(&mut flash, at(0, 0, 0), None, Some(slow));
    flash.skip_to(at(0, 0, 1));
    flash.skip_to(at(0, 0, 2)); // nothing lies between, so this says the same
    program(&mut flash, at(0, 0, 2), None, None);
    let awaited = flash.await_program(0, at(0, 0, 2), 99).pending().is_some();
    let seen = run(&mut flash);
    let (first, second) = (time_of(&seen, programmed(at(0, 0, 0))), time_of(&seen, programmed(at(0, 0, 2))));
    assert_eq!((first, second), (210 * US, 315 * US));
    assert!(awaited);
    assert_eq!(time_of(&seen, |event| *event == Event::Notified { token: 99, page: at(0, 0, 2) }), 315 * US);
    let row = flash.core().block(BlockId(0));
    assert_eq!((row.done, row.issued, row.pins), (3, 3, 0));
    assert!(flash.await_program(0, at(0, 0, 2), 99).pending().is_none(), "it has completed");
}

#[test]
#[should_panic(expected = "program of page 2 of block 0")]
fn pages_are_passed_over_only_where_their_owner_says_so() {
    let mut flash = plain();
    program(&mut flash, at(0, 0, 0), None, None);
    program(&mut flash, at(0, 0, 2), None, None);
}

#[test]
fn a_barrier_waits_for_exactly_the_earlier_programs() {
    let mut flash = plain();
    program(&mut flash, at(0, 0, 0), None, None);
    program(&mut flash, at(1, 0, 0), None, None);
    let join = flash.open(0, 9, Cancel::Never);
    flash.barrier(join);
    flash.close(join);
    program(&mut flash, at(0, 0, 1), None, None);
    let seen = run(&mut flash);
    assert_eq!(time_of(&seen, joined(9)), 105 * US);
    assert_eq!(time_of(&seen, programmed(at(0, 0, 1))), 210 * US);
}

#[test]
fn an_operation_that_has_begun_runs_on_to_its_end_and_is_wasted() {
    let mut flash = plain();
    let start = fill(&mut flash, 0, 0, 3);
    // Its transfer ends while the first read is in the array.
    program(&mut flash, at(1, 0, 0), None, None);
    let join = read_three_pages(&mut flash);
    assert!(flash.step() && flash.now() - start == 5 * US);
    let left = flash.cancel(join);
    assert_eq!((left.unstarted, left.wasted), (0, 3));
    assert_eq!(flash.core().block(BlockId(0)).pins, 3);
    while flash.core().counters.wasted_reads < 3 {
        assert!(flash.step());
    }
    assert_eq!(flash.now() - start, 3 * 15 * US, "not only the read that had started ran");
    assert_eq!(FlashCore::total(&flash.core().counters.reads), 3);
    assert_eq!(run(&mut flash).len(), 1, "nobody hears of a cancelled operation, only of the program");
    assert_eq!(flash.core().block(BlockId(0)).pins, 0);
}

/// Between two of its reads as well: one has ended, and the next begins at this very moment.
#[test]
fn an_operation_between_two_of_its_commands_has_begun() {
    let mut flash = plain();
    fill(&mut flash, 0, 0, 3);
    let join = read_three_pages(&mut flash);
    while FlashCore::total(&flash.core().counters.reads) == 0 {
        assert!(flash.step());
    }
    let left = flash.cancel(join);
    assert_eq!((left.unstarted, left.wasted), (0, 2));
    assert_eq!(run(&mut flash), []);
    assert_eq!((flash.core().counters.wasted_reads, FlashCore::total(&flash.core().counters.reads)), (2, 3));
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
    assert_eq!(flash.core().block(BlockId(0)).pins, 3);
    let seen = run(&mut flash);
    assert_eq!((seen.len(), flash.now() - start), (1, 3 * 15 * US), "the die goes on with the next read at once");
    assert_eq!((flash.core().counters.wasted_reads, FlashCore::total(&flash.core().counters.reads)), (0, 3));
}

/// Reads the first pages of a block, as one operation.
fn read_three_pages(flash: &mut TimedFlash) -> JoinId {
    let join = flash.open(0, 7, Cancel::Possible);
    for page in 0..3 {
        let completion = Some(Completion::Join(join));
        let page = at(0, 0, page);
        flash.read(0, Read { page, cause: Cause::Host, sectors: 1, payload: PayloadId::NONE, completion, after: None });
    }
    flash.close(join);
    join
}

/// Taking a command back costs as much with a long queue as with a short one: walking a queue of 200,000 commands for
/// each of them would take minutes.
#[test]
fn a_long_queue_is_taken_back_command_by_command_in_no_time() {
    const READS: u32 = 200_000;
    let mut flash = plain();
    fill(&mut flash, 0, 0, 3);
    let read = |flash: &mut TimedFlash, number: u32| {
        let join = flash.open(0, number, Cancel::Possible);
        let completion = Some(Completion::Join(join));
        let page = at(0, 0, number % 3);
        flash.read(0, Read { page, cause: Cause::Host, sectors: 1, payload: PayloadId::NONE, completion, after: None });
        flash.close(join);
        join
    };
    let joins: Vec<_> = (0..READS).map(|number| read(&mut flash, number)).collect();
    let begun = std::time::Instant::now();
    let mut unstarted = 0;
    for number in 0..READS {
        // From all over the queue.
        unstarted += flash.cancel(joins[(u64::from(number) * 77_773 % u64::from(READS)) as usize]).unstarted;
    }
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    assert_eq!((unstarted, flash.core().block(BlockId(0)).pins), (READS, 0), "nor has the first begun");
    assert_eq!(run(&mut flash), []);
}

#[test]
fn a_failed_program_returns_those_queued_behind_it_and_keeps_its_pins() {
    let mut flash = plain();
    fill(&mut flash, 1, 0, 1);
    let plan = nand::FaultPlan { bad_programs: vec![BlockId(0)], ..nand::FaultPlan::default() };
    flash.core_mut().set_faults(plan, 1);
    program(&mut flash, at(0, 0, 0), Some(at(1, 0, 0)), None);
    program(&mut flash, at(0, 0, 1), None, None);
    let seen = run(&mut flash);
    let failed: Vec<CommandId> = seen
        .iter()
        .filter_map(|(_, event)| if let Event::ProgramFailed(id) = event { Some(*id) } else { None })
        .collect();
    assert_eq!(failed.len(), 2);
    assert_eq!((flash.core().block(BlockId(0)).pins, flash.core().block(BlockId(4)).pins), (2, 1));
    for (page, id) in failed.into_iter().enumerate() {
        flash.place_again(0, id, at(0, 1, page as u32));
    }
    run(&mut flash);
    assert_eq!((flash.core().block(BlockId(0)).pins, flash.core().block(BlockId(4)).pins), (0, 0));
    assert_eq!(flash.core().block(BlockId(1)).done, 2);
}

#[test]
fn a_read_behind_a_program_that_failed_is_answered_before_that_finds_another_place() {
    let mut flash = plain();
    let plan = nand::FaultPlan { bad_programs: vec![BlockId(0)], ..nand::FaultPlan::default() };
    flash.core_mut().set_faults(plan, 1);
    program(&mut flash, at(0, 0, 0), None, None);
    read(&mut flash, at(0, 0, 0), Cause::Host, 7);
    assert_eq!(time_of(&run(&mut flash), joined(7)), 105 * US);
    let join = flash.open(0, 8, Cancel::Never);
    let completion = Some(Completion::Join(join));
    let page = at(0, 0, 0);
    flash.read(0, Read { page, cause: Cause::Host, sectors: 1, payload: PayloadId::NONE, completion, after: None });
    assert_eq!(flash.close(join), (nand::Outcome::Done, false), "and so is one that comes later");
    assert_eq!(flash.core().block(BlockId(0)).pins, 1, "the program keeps its pin");
}

#[test]
fn a_copy_that_failed_and_is_given_up_leaves_its_readers_its_source_whose_erase_can_be_taken_back() {
    let mut flash = plain();
    fill(&mut flash, 1, 0, 1);
    let plan = nand::FaultPlan { bad_programs: vec![BlockId(0)], ..nand::FaultPlan::default() };
    flash.core_mut().set_faults(plan, 1);
    let (page, source) = (at(0, 0, 0), at(1, 0, 0));
    let copy = Command {
        page,
        supersedes: Some(source),
        what: Program::Copy,
        logical: 0,
        sequence: 0,
        cause: Cause::Gc,
        completion: Completion::Notify(1),
        after: None,
    };
    flash.program(0, copy);
    flash.erase(0, BlockId(4), Cause::Gc);
    read(&mut flash, page, Cause::Host, 7);
    let seen = run(&mut flash);
    let failed = seen.iter().find_map(|(_, event)| if let Event::ProgramFailed(id) = event { Some(*id) } else { None });
    assert!(flash.take_back_erase(BlockId(4)), "it still waits for the copy");
    flash.abandon(failed.expect("the copy failed"), source);
    let seen = run(&mut flash);
    assert!(seen.iter().any(|(_, event)| joined(7)(event)) && !seen.iter().any(|(_, event)| erased(event)));
    assert!(!flash.take_back_erase(BlockId(4)), "there is none any more");
    assert_eq!((flash.core().block(BlockId(4)).pins, flash.core().block(BlockId(4)).done), (0, 1));
}

#[test]
fn the_page_at_which_a_program_failed_is_not_taken_for_erased_after_a_power_cut() {
    let mut flash = plain();
    let plan = nand::FaultPlan { bad_programs: vec![BlockId(0)], ..nand::FaultPlan::default() };
    flash.core_mut().set_faults(plan, 1);
    program(&mut flash, at(0, 0, 0), None, None);
    run(&mut flash);
    let image = flash.power_cut(&mut engine::random::Stream::new(1, "cut"));
    assert_eq!((image.block(BlockId(0)).done, image.block(BlockId(0)).has_failed()), (1, false));
}

#[test]
fn a_read_suspends_an_erase_which_then_takes_its_rest() {
    let suspend = SuspendOption::Erase;
    let mut flash = flash(CommandOptions { suspend, suspend_ns: 3 * US, ..CommandOptions::default() });
    let start = fill(&mut flash, 0, 0, 1);
    flash.erase(0, BlockId(1), Cause::Gc);
    read(&mut flash, at(0, 0, 0), Cause::Host, 7);
    let seen = run(&mut flash);
    assert_eq!(time_of(&seen, joined(7)) - start, 15 * US);
    assert_eq!(time_of(&seen, erased) - start, (1000 + 15 + 3) * US);
}

#[test]
fn programs_for_two_planes_share_one_program_time() {
    let mut flash = flash(CommandOptions { multi_plane: true, ..CommandOptions::default() });
    program(&mut flash, at(0, 0, 0), None, None); // on the die at once
    program(&mut flash, at(0, 0, 1), None, None);
    program(&mut flash, at(0, 2, 0), None, None);
    let seen = run(&mut flash);
    assert_eq!(time_of(&seen, programmed(at(0, 0, 1))), (105 + 110) * US);
    assert_eq!(time_of(&seen, programmed(at(0, 2, 0))), (105 + 110) * US);
}

#[test]
fn cache_programs_hide_the_transfer_and_cache_reads_hide_the_array_or_the_channel() {
    let mut flash = flash(CommandOptions { cache_program: true, cache_read: true, ..CommandOptions::default() });
    let start = fill(&mut flash, 0, 0, 4);
    assert_eq!(start, (5 + 4 * 100) * US);
    (0..4).for_each(|page| read(&mut flash, at(0, 0, page), Cause::Host, page));
    assert_eq!(time_of(&run(&mut flash), joined(3)) - start, (4 * 10 + 5) * US);
}

#[test]
fn a_copyback_leaves_the_channel_free() {
    let mut flash = plain();
    fill(&mut flash, 0, 0, 1);
    let start = fill(&mut flash, 2, 0, 1); // dies 0 and 2 share channel 0
    let copy = Command {
        page: at(0, 1, 0),
        supersedes: Some(at(0, 0, 0)),
        what: Program::Copy,
        logical: 0,
        sequence: 0,
        cause: Cause::Gc,
        completion: Completion::Notify(1),
        after: None,
    };
    flash.copyback(0, copy);
    read(&mut flash, at(2, 0, 0), Cause::Host, 7);
    let seen = run(&mut flash);
    assert_eq!(time_of(&seen, joined(7)) - start, 15 * US);
    assert_eq!(time_of(&seen, |event| matches!(event, Event::Notified { .. })) - start, 110 * US);
}

#[test]
fn saturated_dies_reach_their_ceiling() {
    let mut flash = plain();
    let start = (0..4).map(|die| fill(&mut flash, die, 0, 1)).max().unwrap();
    for number in 0..4000 {
        read(&mut flash, at(number % 4, 0, 0), Cause::Host, number);
    }
    run(&mut flash);
    // Four dies at 10 + 5 us a read; both channels have time to spare.
    assert_eq!(flash.now() - start, (1000 * 15 + 5) * US);
}

/// Waiting of operation `token`, as (direct, root) by kind.
fn waits(flash: &mut TimedFlash, token: u32) -> Option<nand::WaitVector> {
    let mut found = None;
    while flash.advance() {
        let core = flash.core_mut();
        for (_, event) in core.events.drain(..) {
            match event {
                Event::Joined { token: joined, wait: Some(wait), .. } if joined == token => {
                    found = Some(core.waits[wait as usize]);
                }
                _ => {}
            }
        }
    }
    found
}

#[test]
fn waiting_is_charged_to_the_command_in_the_way_and_to_its_root() {
    let (host, gc) = (Wait::Cause(Cause::Host), Wait::Cause(Cause::Gc));
    let mut flash = plain();
    fill(&mut flash, 0, 0, 2);
    flash.erase(0, BlockId(1), Cause::Gc);
    read(&mut flash, at(0, 0, 0), Cause::Host, 7);
    read(&mut flash, at(0, 0, 1), Cause::Host, 8);
    let wait = waits(&mut flash.clone(), 7).expect("it waited");
    assert_eq!((wait.direct(gc), wait.direct(host)), (1000 * US, 0));
    let wait = waits(&mut flash, 8).expect("it waited");
    assert_eq!((wait.direct(gc), wait.direct(host)), (1000 * US, 15 * US));
    assert_eq!((wait.root(gc), wait.root(host)), (1015 * US, 0), "a host read behind gc is gc");
}

#[test]
fn waiting_for_the_channel_is_charged_to_the_bus() {
    let mut flash = plain();
    fill(&mut flash, 0, 0, 1);
    fill(&mut flash, 2, 0, 1);
    read(&mut flash, at(0, 0, 0), Cause::Host, 7);
    read(&mut flash, at(2, 0, 0), Cause::Host, 8);
    let wait = waits(&mut flash, 8).expect("it waited");
    assert_eq!(wait.direct(Wait::Bus), 5 * US);
    assert_eq!(wait.total(), 5 * US);
}
