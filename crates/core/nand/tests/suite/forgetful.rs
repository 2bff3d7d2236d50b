//! Memory for programs that a power cut takes.
//!
//! Pages, programs and times are those of `programs.rs`: six pages are a program of 130 us.

use crate::programs::{ALL, PAGES, PROGRAM, at, gathering_for};
use crate::rig::{
    PART, US, barrier, command, contents, copy, fail_programs_of, failed, joined, programmed, run, stamps, time_of,
};
use engine::random::Stream;
use nand::{
    Closed, CommandOptions, Completion, ContentsKind, CopyWay, Flash, FlashState, Outcome, PageKind, PageProgram, Part,
    Program, TimedFlash,
};
use units::{BlockId, Cause};

fn forgetful() -> TimedFlash {
    let options = CommandOptions { gather_pages: 100, gather_forgets: true, ..CommandOptions::default() };
    gathering_for(ContentsKind::Stamp, Part { page_bytes: 1024, ..PART }, options)
}

/// Writes pages of a block with stamps that count from 1.
fn write(flash: &mut TimedFlash, block: u32, pages: std::ops::Range<u32>) {
    for page in pages {
        let payload = stamps(flash, u64::from(page) + 1, 1);
        let what = Program::Data { payload, merge: false };
        assert_eq!(flash.program(0, PageProgram { what, ..command(at(block, page)) }), Outcome::Done);
    }
}

fn cut(flash: &TimedFlash, seed: u64) -> FlashState {
    flash.power_cut(&mut Stream::new(seed, "cut"))
}

fn kinds(image: &FlashState, block: u32) -> Vec<PageKind> {
    (0..PAGES).map(|page| image.contents().unwrap().oob(at(block, page).0).kind).collect()
}

#[test]
fn a_power_cut_takes_what_is_not_in_the_cells_and_no_more() {
    let mut flash = forgetful();
    write(&mut flash, 0, 0..PROGRAM);
    run(&mut flash);
    while flash.step() {}
    write(&mut flash, 0, PROGRAM..PAGES - 1);
    assert!(flash.state().is_programmed(at(0, PAGES - 2)), "to everybody but a power cut");
    let image = cut(&flash, 1);
    assert_eq!((image.block(BlockId(0)).done, image.taken_back()), (6, 5));
    assert_eq!(kinds(&image, 0), [[PageKind::Data; 6], [PageKind::Erased; 6]].concat());
    let mut again = TimedFlash::new(image, PART, CommandOptions::default(), 0);
    assert_eq!(contents(&again).page(at(0, 5).0)[0], 6);
    again.program(0, command(at(0, PROGRAM)));
}

#[test]
fn a_program_under_way_at_a_power_cut_is_torn_or_never_was() {
    let mut flash = forgetful();
    write(&mut flash, 0, 0..PROGRAM + 2);
    for _ in 0..3 {
        assert!(flash.step(), "its three parts move, then the array works");
    }
    let done: Vec<u16> = (0..20).map(|seed| cut(&flash, seed).block(BlockId(0)).done).collect();
    assert!(done.contains(&0) && done.contains(&6) && done.iter().all(|done| [0, 6].contains(done)), "{done:?}");
    let torn = (0..20).map(|seed| cut(&flash, seed)).find(|image| image.block(BlockId(0)).done == 6).unwrap();
    assert_eq!(kinds(&torn, 0), [[PageKind::Torn; 6], [PageKind::Erased; 6]].concat());
}

#[test]
fn what_a_page_in_memory_supersedes_stays_until_it_is_in_the_cells() {
    let mut flash = forgetful();
    write(&mut flash, 0, 0..PAGES);
    while flash.step() {}
    flash.program(0, PageProgram { supersedes: Some(at(0, 0)), ..command(at(1, 0)) });
    flash.copy(0, copy(at(0, 1), at(1, 1), CopyWay::Channel));
    time_of(&run(&mut flash), programmed(at(1, 1))); // said to be done, for collection goes on
    flash.erase(0, BlockId(0), Cause::Gc);
    run(&mut flash);
    assert!(flash.state().block(BlockId(0)).erase_pending() && flash.holds_back(BlockId(1), Some(BlockId(0))));
    assert!(!flash.holds_back(BlockId(1), Some(BlockId(2))));
    assert_eq!(cut(&flash, 1).block(BlockId(0)).done, PAGES as u16);
    write(&mut flash, 1, 2..PROGRAM);
    run(&mut flash);
    assert_eq!((flash.state().block(BlockId(0)).done, flash.state().block(BlockId(0)).erases), (0, 1));
}

#[test]
fn barriers_and_tombstones_wait_for_the_cells_and_copies_are_nobodys_flush() {
    let mut flash = forgetful();
    write(&mut flash, 0, 0..2);
    assert!(flash.holds_back(BlockId(0), None));
    assert_eq!(barrier(&mut flash, 7), Closed::Pending);
    let tombstone = PageProgram { what: Program::Record(None), cause: Cause::Metadata, ..command(at(0, 2)) };
    assert_ne!(flash.program(0, tombstone), Outcome::Done);
    assert!(run(&mut flash).is_empty(), "nobody fills the program up");
    let filler = |page| PageProgram {
        what: Program::Record(None),
        cause: Cause::Padding,
        completion: Completion::Notify(99),
        ..command(at(0, page))
    };
    (3..PROGRAM).for_each(|page| {
        flash.program(0, filler(page));
    });
    let seen = run(&mut flash);
    assert_eq!([time_of(&seen, joined(7)), time_of(&seen, programmed(at(0, 2)))], [ALL; 2]);
    assert!(!flash.holds_back(BlockId(0), None));
    flash.copy(0, copy(at(0, 0), at(1, 0), CopyWay::Channel));
    run(&mut flash);
    assert!(!flash.holds_back(BlockId(1), None) && flash.holds_back(BlockId(1), Some(BlockId(0))));
    assert_eq!(barrier(&mut flash, 8), Closed::Done { failed: false });
}

#[test]
fn an_erase_of_a_block_that_supersedes_pages_of_its_own_does_not_wait_for_itself() {
    let mut flash = forgetful();
    write(&mut flash, 0, 0..1);
    flash.program(0, PageProgram { supersedes: Some(at(0, 0)), ..command(at(0, 1)) });
    flash.erase(0, BlockId(0), Cause::Gc);
    run(&mut flash);
    assert_eq!(flash.state().block(BlockId(0)).erases, 1);
}

/// A block whose last program has only begun is a victim like any other, and its pages are superseded by some that are
/// in memory alone.
#[test]
fn an_erase_settles_nothing_that_is_not_in_the_cells() {
    let mut flash = forgetful();
    write(&mut flash, 0, 0..PAGES);
    while flash.step() {}
    (0..PROGRAM).for_each(|page| {
        flash.program(0, PageProgram { supersedes: Some(at(0, page)), ..command(at(1, page)) });
    });
    assert_eq!(barrier(&mut flash, 7), Closed::Pending);
    flash.erase(0, BlockId(0), Cause::Gc);
    flash.program(0, PageProgram { supersedes: Some(at(1, 0)), ..command(at(2, 0)) });
    flash.erase(0, BlockId(1), Cause::Gc);
    assert!(flash.state().events.is_empty() && flash.state().block(BlockId(0)).pins() > 0);
    assert_eq!(cut(&flash, 1).block(BlockId(1)).done, 0, "nothing of it was in the cells");
    assert_eq!(time_of(&run(&mut flash), joined(7)), 2 * ALL + ALL);
}

#[test]
fn pages_in_memory_are_programmed_although_the_next_program_of_their_block_fails() {
    let mut flash = forgetful();
    write(&mut flash, 0, 0..3);
    fail_programs_of(&mut flash, &[BlockId(0)]);
    assert_ne!(flash.program(0, command(at(0, 3))), Outcome::Done);
    assert_eq!(barrier(&mut flash, 7), Closed::Pending);
    while flash.state().events.is_empty() {
        assert!(flash.step());
    }
    let ids = failed(&run(&mut flash));
    assert_eq!(kinds(&cut(&flash, 1), 0)[..4], [PageKind::Data, PageKind::Data, PageKind::Data, PageKind::Torn]);
    assert!(flash.die_busy_ns().next() >= Some(100 * US), "its die has worked for them");
    flash.state_mut().set_faults(nand::FaultPlan::default(), 1);
    flash.place_again(ids[0], at(1, 0));
    let seen = run(&mut flash);
    assert!(!seen.iter().any(|(_, event)| joined(7)(event)), "the flush waits for the page that was placed again");
    assert!(flash.holds_back(BlockId(1), None));
}
