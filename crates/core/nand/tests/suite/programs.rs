//! Programs of several pages, gathered in the memory of the controller.
//!
//! Two pages of 512 bytes are a physical page, six are a program: 3 x 10 us over the channel, 100 us in the array.

use crate::rig::{
    PART, US, command, contents, copy, erased, joined, programmed, read, run, silent_read, stamps, time_of,
};
use engine::random::Stream;
use nand::{
    CommandOptions, ContentsKind, CopyWay, Counters, Flash, FlashState, Outcome, PageProgram, Part, Program, Read,
    TimedFlash,
};
use units::{BlockId, Cause, Geometry, Ppn, Shape};

pub const PROGRAM: u32 = 6;
pub const PAGES: u32 = 2 * PROGRAM;
/// Time of a program on an idle die.
pub const ALL: u64 = (3 * 10 + 100) * US;

/// Two dies of four blocks each, and memory for `room` pages.
fn gathering(room: u32, contents: ContentsKind) -> TimedFlash {
    gathering_for(
        contents,
        Part { page_bytes: 1024, ..PART },
        CommandOptions { gather_pages: room, ..CommandOptions::default() },
    )
}

pub fn gathering_for(contents: ContentsKind, part: Part, options: CommandOptions) -> TimedFlash {
    let shape = Shape {
        channels: 1,
        dies_per_channel: 2,
        planes_per_die: 1,
        blocks_per_die: 4,
        pages_per_block: PAGES,
        page_bytes: 512,
    };
    let geometry = Geometry::new(shape).and_then(|geometry| geometry.programmed_by(PROGRAM)).expect("a valid shape");
    TimedFlash::new(FlashState::new(geometry, contents), part, options, 0)
}

fn plain() -> TimedFlash {
    gathering(4 * PROGRAM, ContentsKind::None)
}

pub fn at(block: u32, page: u32) -> Ppn {
    Ppn(block * PAGES + page)
}

/// Programs pages of a block; how many were in memory at once.
fn write(flash: &mut TimedFlash, block: u32, pages: std::ops::Range<u32>) -> usize {
    pages.filter(|page| flash.program(0, command(at(block, *page))) == Outcome::Done).count()
}

/// Runs until nothing is under way.
fn finish(flash: &mut TimedFlash) {
    run(flash);
    while flash.step() {}
}

#[test]
fn a_page_is_programmed_when_it_is_in_memory_and_the_die_works_once_for_all_of_a_program() {
    let mut flash = plain();
    assert_eq!((write(&mut flash, 0, 0..PROGRAM - 1), flash.is_pending()), (5, false), "it is not full");
    assert_eq!((write(&mut flash, 0, 5..6), flash.state().is_programmed(at(0, 5))), (1, true));
    finish(&mut flash);
    assert_eq!(flash.now(), ALL);
    assert_eq!(Counters::total(&flash.state().counters.programs), u64::from(PROGRAM));
    assert_eq!(flash.die_busy_ns().collect::<Vec<_>>(), [ALL, 0]);
}

#[test]
fn programs_of_a_die_follow_each_other_and_fill_a_block_at_the_rate_of_the_part() {
    let mut flash = plain();
    write(&mut flash, 0, 0..PAGES);
    write(&mut flash, 4, 0..PAGES); // of the other die
    finish(&mut flash);
    // The dies take turns on the channel: the second one has moved 30 us later than alone, and 20 us the second time.
    assert_eq!(flash.now(), 2 * ALL + 50 * US);
}

#[test]
fn a_page_in_memory_is_read_at_once_and_one_in_the_cells_in_its_time() {
    let mut flash = gathering(4 * PROGRAM, ContentsKind::Stamp);
    let payload = stamps(&mut flash, 9, 1);
    flash.program(0, PageProgram { what: Program::Data { payload, merge: false }, ..command(at(0, 0)) });
    let into = stamps(&mut flash, 0, 1);
    assert_eq!(flash.read(0, Read { payload: into, ..silent_read(at(0, 0)) }), Outcome::Done);
    assert_eq!(flash.state().memory.payloads.cells(into)[0], 9);
    assert_eq!((flash.state().counters.in_flight_reads, Counters::total(&flash.state().counters.reads)), (1, 0));
    write(&mut flash, 0, 1..PROGRAM);
    finish(&mut flash);
    let start = flash.now();
    read(&mut flash, at(0, 0), 8);
    assert_eq!(time_of(&run(&mut flash), joined(8)) - start, 15 * US);
}

#[test]
fn pages_of_one_physical_page_are_read_together() {
    let mut flash = plain();
    write(&mut flash, 0, 0..PROGRAM);
    finish(&mut flash);
    let start = flash.now();
    for page in [0, 1, 2, 0] {
        read(&mut flash, at(0, page), page);
    }
    let seen = run(&mut flash);
    let times = [0, 1, 2].map(|token| (time_of(&seen, joined(token)) - start) / US);
    assert_eq!(times, [15, 20, 40], "one array time for pages 0 and 1 and the second read of 0, another for page 2");
}

#[test]
fn copies_are_gathered_as_writes_are() {
    let mut flash = plain();
    write(&mut flash, 0, 0..PROGRAM);
    finish(&mut flash);
    let start = flash.now();
    for page in 0..PROGRAM {
        flash.copy(0, copy(at(0, page), at(1, page), CopyWay::Channel));
    }
    flash.erase(0, BlockId(0), Cause::Gc);
    let seen = run(&mut flash);
    // Three physical pages are read, and each page moves; then nothing needs the source any more.
    let read = 3 * 10 * US + 6 * 5 * US;
    assert_eq!(time_of(&seen, programmed(at(1, 5))) - start, read);
    assert_eq!(time_of(&seen, erased) - start, read + ALL + 1000 * US);
}

#[test]
fn a_write_waits_while_memory_is_full() {
    let mut flash = gathering(PROGRAM, ContentsKind::None);
    assert_eq!(write(&mut flash, 0, 0..PROGRAM + 1), PROGRAM as usize);
    assert_eq!(time_of(&run(&mut flash), programmed(at(0, 6))), ALL);
}

#[test]
fn memory_full_of_programs_that_are_not_full_is_emptied_all_the_same() {
    let mut flash = gathering(PROGRAM, ContentsKind::None);
    assert_eq!([0, 1, 2].map(|block| write(&mut flash, block, 0..if block < 2 { 3 } else { 1 })), [3, 3, 0]);
    assert_eq!(time_of(&run(&mut flash), programmed(at(2, 0))), ALL);
}

#[test]
fn an_erase_frees_the_memory_of_its_block() {
    let mut flash = gathering(PROGRAM, ContentsKind::None);
    write(&mut flash, 0, 0..PROGRAM - 1);
    flash.erase(0, BlockId(0), Cause::Gc);
    run(&mut flash);
    assert_eq!(write(&mut flash, 0, 0..PROGRAM), PROGRAM as usize);
}

#[test]
fn a_power_cut_takes_nothing_from_memory() {
    let mut flash = gathering(4 * PROGRAM, ContentsKind::Stamp);
    for page in 0..PROGRAM + 2 {
        let payload = stamps(&mut flash, u64::from(page) + 1, 1);
        flash.program(0, PageProgram { what: Program::Data { payload, merge: false }, ..command(at(0, page)) });
    }
    flash.step();
    let image = flash.power_cut(&mut Stream::new(1, "cut"));
    assert_eq!(image.block(BlockId(0)).done, PROGRAM as u16 + 2);
    let kept = TimedFlash::new(image, PART, CommandOptions { gather_pages: PROGRAM, ..CommandOptions::default() }, 0);
    assert_eq!(
        (0..PROGRAM + 2).map(|page| contents(&kept).page(page)[0]).collect::<Vec<_>>(),
        [1, 2, 3, 4, 5, 6, 7, 8]
    );
}

/// Cells that are programmed in two passes of 40 us and 100 us.
fn in_two_passes(room: u32) -> TimedFlash {
    let options = CommandOptions { gather_pages: room, ..CommandOptions::default() };
    gathering_for(ContentsKind::None, Part { page_bytes: 1024, first_pass_ns: Some(40 * US), ..PART }, options)
}

#[test]
fn a_word_line_has_its_second_pass_when_the_next_one_has_had_its_first() {
    let mut flash = in_two_passes(4 * PROGRAM);
    write(&mut flash, 0, 0..PROGRAM);
    finish(&mut flash);
    assert_eq!(flash.now(), (30 + 40) * US, "nothing comes after it yet");
    assert_eq!(flash.read(0, silent_read(at(0, 0))), Outcome::Done, "it is read from memory");
    write(&mut flash, 0, PROGRAM..PAGES);
    finish(&mut flash);
    assert_eq!(flash.now(), (4 * 30 + 2 * (40 + 100)) * US, "the last word line of a block waits for none");
    let start = flash.now();
    read(&mut flash, at(0, PAGES - 1), 8);
    assert_eq!(time_of(&run(&mut flash), joined(8)) - start, 15 * US);
}

#[test]
fn memory_of_word_lines_that_wait_for_their_second_pass_is_had_when_nothing_else_is() {
    let mut flash = in_two_passes(PROGRAM);
    write(&mut flash, 0, 0..PROGRAM);
    assert_eq!(write(&mut flash, 1, 0..1), 0);
    assert_eq!(time_of(&run(&mut flash), programmed(at(1, 0))), (30 + 40 + 30 + 100) * US);
}

#[test]
fn an_erase_and_a_power_cut_find_word_lines_between_their_passes() {
    let mut flash = in_two_passes(2 * PROGRAM);
    write(&mut flash, 0, 0..PROGRAM + 1);
    finish(&mut flash);
    let image = flash.power_cut(&mut Stream::new(1, "cut"));
    assert_eq!(image.block(BlockId(0)).done, PROGRAM as u16 + 1);
    flash.erase(0, BlockId(0), Cause::Gc);
    time_of(&run(&mut flash), erased);
    assert_eq!(write(&mut flash, 1, 0..2 * PROGRAM), 2 * PROGRAM as usize, "its memory is free");
}

#[test]
fn what_comes_after_a_command_that_has_ended_goes_through_memory_like_what_comes_after_none() {
    let mut flash = plain();
    write(&mut flash, 0, 0..PROGRAM + 1);
    finish(&mut flash);
    let before = flash.read(0, Read { cause: Cause::Gc, ..silent_read(at(0, 0)) }).pending();
    assert!(before.is_some(), "it is read from the cells");
    let program = PageProgram { after: before, ..command(at(1, 0)) };
    let held = Read { after: before, ..silent_read(at(0, PROGRAM)) };
    finish(&mut flash);
    assert_eq!(flash.program(0, program), Outcome::Done, "there is room for it");
    assert_eq!(flash.read(0, held), Outcome::Done, "it is in memory");
}
