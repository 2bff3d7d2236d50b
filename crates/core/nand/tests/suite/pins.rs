//! Law 2: an erase waits for unfinished commands of its block, programs that supersede one of its pages, and holds.

use crate::rig::{
    BLOCKS, DIES, Owned, PAGES, US, at, barrier, command, copy, counted, erased, fill, joined, pins, plain, program,
    program_after, program_over, read, run, time_of,
};
use nand::{Closed, CopyWay, Event, Flash, TimedFlash};
use proptest::prelude::*;
use units::{BlockId, Cause};

const BLOCK: BlockId = BlockId(0);

#[test]
fn an_erase_waits_for_a_program_on_another_die_that_supersedes_its_page() {
    let mut flash = plain();
    let start = fill(&mut flash, 0, 0, 1);
    program_over(&mut flash, at(1, 0, 0), at(0, 0, 0));
    flash.erase(0, BLOCK, Cause::Gc);
    assert_eq!(time_of(&run(&mut flash), erased) - start, (105 + 1000) * US);
}

#[test]
fn an_erase_waits_for_a_program_of_its_block_that_itself_waits_elsewhere() {
    let mut flash = plain();
    let slow = program(&mut flash, at(1, 0, 0));
    program_after(&mut flash, at(0, 0, 0), slow);
    flash.erase(0, BLOCK, Cause::Gc);
    assert_eq!(time_of(&run(&mut flash), erased), (2 * 105 + 1000) * US);
}

#[test]
fn an_erase_waits_for_the_reads_of_its_block() {
    let mut flash = plain();
    let start = fill(&mut flash, 0, 0, 2);
    flash.erase(0, BlockId(1), Cause::Gc); // keeps the die busy
    read(&mut flash, at(0, 0, 0), 7);
    read(&mut flash, at(0, 0, 1), 8);
    flash.erase(0, BLOCK, Cause::Gc);
    let seen = run(&mut flash);
    assert_eq!(time_of(&seen, joined(8)) - start, (1000 + 2 * 15) * US);
    assert_eq!(time_of(&seen, |event| *event == Event::Erased { block: BLOCK }) - start, (2000 + 2 * 15) * US);
}

#[test]
fn an_erase_waits_for_the_copy_of_a_page_of_its_block() {
    let mut flash = plain();
    let start = fill(&mut flash, 0, 0, 1);
    flash.copy(0, copy(at(0, 0, 0), at(1, 0, 0), CopyWay::Channel));
    flash.erase(0, BLOCK, Cause::Gc);
    assert_eq!(pins(&flash, 0), 2, "one for its read, one for its program");
    assert_eq!(time_of(&run(&mut flash), erased) - start, (15 + 105 + 1000) * US);
}

#[test]
fn an_erase_waits_for_a_hold() {
    let mut flash = plain();
    fill(&mut flash, 0, 0, 1);
    flash.blocks_mut().hold(BLOCK);
    flash.erase(0, BLOCK, Cause::Gc);
    assert_eq!(run(&mut flash), []);
    flash.release(BLOCK);
    assert!(run(&mut flash).iter().any(|(_, event)| erased(event)));
}

#[test]
fn an_erase_waits_for_the_last_of_several_holds_where_commands_only_count() {
    let mut flash = counted();
    for page in 0..PAGES {
        flash.program(0, command(at(0, 0, page)));
    }
    flash.blocks_mut().hold(BLOCK);
    flash.blocks_mut().hold(BLOCK);
    assert!(flash.erase(0, BLOCK, Cause::Gc).pending().is_some());
    flash.release(BLOCK);
    assert!(flash.state().events.is_empty() && flash.state().block(BLOCK).done == PAGES as u16);
    flash.release(BLOCK);
    assert_eq!(flash.state().events, [(0, Event::Erased { block: BLOCK })]);
    assert_eq!((flash.state().block(BLOCK).done, flash.state().block(BLOCK).erases), (0, 1));
}

#[test]
fn an_erase_that_waits_can_be_taken_back_and_the_block_goes_on_as_if_there_had_been_none() {
    fn check(flash: &mut impl Flash) {
        flash.blocks_mut().hold(BLOCK);
        flash.erase(0, BLOCK, Cause::Gc);
        assert!(flash.state().block(BLOCK).erase_pending());
        assert!(flash.take_back_erase(BLOCK));
        assert!(!flash.take_back_erase(BLOCK), "there is none any more");
        assert!(!flash.state().block(BLOCK).erase_pending());
        flash.release(BLOCK);
        flash.program(0, command(at(0, 0, 1)));
    }
    let mut timed = plain();
    fill(&mut timed, 0, 0, 1);
    check(&mut timed);
    run(&mut timed);
    let mut counted = counted();
    counted.program(0, command(at(0, 0, 0)));
    check(&mut counted);
    for state in [timed.state(), counted.state()] {
        assert_eq!((state.block(BLOCK).done, state.block(BLOCK).erases, state.events.len()), (2, 0, 0));
    }
}

#[test]
fn an_erase_that_has_started_cannot_be_taken_back() {
    let mut flash = plain();
    flash.erase(0, BLOCK, Cause::Gc);
    assert!(!flash.take_back_erase(BLOCK));
    assert!(run(&mut flash).iter().any(|(_, event)| erased(event)));
}

#[test]
#[should_panic(expected = "second erase of block 0")]
fn a_block_is_erased_once_at_a_time() {
    let mut flash = plain();
    flash.erase(0, BLOCK, Cause::Gc);
    flash.erase(0, BLOCK, Cause::Gc);
}

#[test]
#[should_panic(expected = "program of page 0 of block 0")]
fn a_block_takes_no_program_before_its_erase_completes() {
    let mut flash = plain();
    flash.erase(0, BLOCK, Cause::Gc);
    program(&mut flash, at(0, 0, 0));
}

#[test]
#[should_panic(expected = "marked bad with 1 unfinished")]
fn a_block_in_use_is_not_marked_bad() {
    let mut flash = plain();
    flash.blocks_mut().hold(BLOCK);
    flash.state_mut().mark_bad(BLOCK);
}

/// What somebody does to block 0, whose pages others supersede.
#[derive(Clone, Debug)]
enum Deed {
    Read(u32),
    Supersede(u32),
    Hold,
    Release,
    Erase,
    TakeBack,
    Wait(u8),
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        (0..PAGES).prop_map(Deed::Read),
        (0..PAGES).prop_map(Deed::Supersede),
        Just(Deed::Hold),
        Just(Deed::Release),
        Just(Deed::Erase),
        Just(Deed::TakeBack),
        (1..8_u8).prop_map(Deed::Wait),
    ];
    proptest::collection::vec(deed, 1..40)
}

/// What a caller can know of the pins of block 0.
#[derive(Default)]
struct Known {
    /// Commands whose end was not told.
    unfinished: usize,
    holds: usize,
    erasing: bool,
    erases: usize,
}

impl Known {
    fn hear(&mut self, flash: &mut TimedFlash) {
        for (_, event) in std::mem::take(&mut flash.state_mut().events) {
            if erased(&event) {
                assert!(self.erasing && self.unfinished + self.holds == 0, "erased under a command or a hold");
                self.erasing = false;
                self.erases += 1;
            } else {
                self.unfinished -= 1;
            }
        }
    }
}

proptest! {
    #[test]
    fn an_erase_happens_when_nothing_needs_the_block_and_not_before(deeds in deeds()) {
        let mut flash = plain();
        fill(&mut flash, 0, 0, PAGES);
        let (mut known, mut next) = (Known::default(), 0);
        for deed in deeds {
            match deed {
                _ if known.erases > 0 => {}
                Deed::Read(page) if !known.erasing => {
                    read(&mut flash, at(0, 0, page), 7);
                    known.unfinished += 1;
                }
                Deed::Supersede(page) if !known.erasing && next < 8 => {
                    program_over(&mut flash, at(1, next / PAGES, next % PAGES), at(0, 0, page));
                    next += 1;
                    known.unfinished += 1;
                }
                Deed::Hold if !known.erasing => {
                    flash.blocks_mut().hold(BLOCK);
                    known.holds += 1;
                }
                Deed::Release if known.holds > 0 => {
                    flash.release(BLOCK);
                    known.holds -= 1;
                }
                Deed::Erase if !known.erasing => {
                    flash.erase(0, BLOCK, Cause::Gc);
                    known.erasing = true;
                }
                Deed::TakeBack if known.erasing => known.erasing = !flash.take_back_erase(BLOCK),
                Deed::Wait(events) => {
                    for _ in 0..events {
                        flash.step();
                        known.hear(&mut flash);
                    }
                }
                _ => {}
            }
            prop_assert_eq!(pins(&flash, 0) as usize, known.unfinished + known.holds);
        }
        for _ in 0..known.holds {
            flash.release(BLOCK);
        }
        known.holds = 0;
        while flash.step() {
            known.hear(&mut flash);
        }
        prop_assert!(!known.erasing, "an erase waits for ever");
        prop_assert_eq!((known.unfinished, barrier(&mut flash, 9)), (0, Closed::Done { failed: false }));
    }
}

/// A short run on a large drive took seconds, as each point over time counted its free blocks anew.
fn counts_free_blocks<F: Owned>(mut flash: F, settle: fn(&mut F)) {
    let [written, passed, bad, held] = [0, 1, 2, 3].map(|die| BlockId(die * BLOCKS));
    let check = |flash: &F, taken: u32| {
        let rows = flash.state().blocks();
        let free = rows.iter().filter(|row| row.is_free()).count() as u32;
        assert_eq!([flash.state().blocks.free(), free], [DIES * BLOCKS - taken; 2]);
    };
    check(&flash, 0);
    for page in 0..2 {
        flash.program(0, command(at(0, 0, page)));
        check(&flash, 1);
    }
    settle(&mut flash);
    flash.blocks_mut().skip_to(at(1, 0, 2));
    check(&flash, 2);
    flash.state_mut().mark_bad(bad);
    check(&flash, 3);
    flash.blocks_mut().hold(held);
    flash.erase(0, held, Cause::Gc);
    check(&flash, 4);
    assert!(flash.take_back_erase(held), "it waits for the hold");
    flash.release(held);
    check(&flash, 3);
    for block in [written, passed] {
        flash.erase(0, block, Cause::Gc);
    }
    settle(&mut flash);
    check(&flash, 1);
}

#[test]
fn free_blocks_are_counted_as_they_come_and_go() {
    counts_free_blocks(counted(), |_| ());
    counts_free_blocks(plain(), |flash| drop(run(flash)));
}
