//! A power cut: what had completed is there, what was under way is torn or gone, what was queued never was.

use crate::rig::{
    PAGES, US, at, command, counted_stamps, fail_programs_of, fill, plain, program, program_over, record_steps, run,
    stamped, stamps,
};
use engine::random::Stream;
use nand::{Flash, FlashState, PageKind, PageProgram, Program, Running, TimedFlash};
use proptest::prelude::*;
use units::{BlockId, Cause, Ppn};

fn cut(flash: &TimedFlash, seed: u64) -> FlashState {
    flash.power_cut(&mut Stream::new(seed, "cut"))
}

fn kind(image: &FlashState, page: Ppn) -> PageKind {
    image.contents().expect("contents are on").oob(page.0).kind
}

fn write(flash: &mut TimedFlash, page: Ppn, stamp: u64) {
    let payload = stamps(flash, stamp, 0b11);
    flash.program(0, PageProgram { what: Program::Data { payload, merge: false }, sequence: stamp, ..command(page) });
}

#[test]
fn what_was_queued_never_was_and_what_had_completed_is_there() {
    let mut flash = stamped();
    (0..3).for_each(|page| write(&mut flash, at(0, 0, page), 5));
    while flash.state().block(BlockId(0)).done < 1 {
        flash.step();
    }
    for seed in 0..20 {
        let image = cut(&flash, seed);
        assert_eq!(kind(&image, at(0, 0, 0)), PageKind::Data);
        assert_eq!(image.contents().expect("contents are on").page(0)[..8], 5_u64.to_le_bytes());
        assert_eq!(kind(&image, at(0, 0, 2)), PageKind::Erased);
        assert!(image.events.is_empty());
    }
}

#[test]
fn a_program_under_way_is_torn_or_never_touched_its_page() {
    let mut flash = stamped();
    record_steps(&mut flash);
    write(&mut flash, at(0, 0, 0), 5);
    flash.step(); // its data is in the register
    let left: Vec<_> = (0..40)
        .map(|seed| cut(&flash, seed))
        .map(|image| (image.block(BlockId(0)).done, kind(&image, at(0, 0, 0))))
        .collect();
    assert!(left.contains(&(0, PageKind::Erased)) && left.contains(&(1, PageKind::Torn)));
    assert!(left.iter().all(|left| [(0, PageKind::Erased), (1, PageKind::Torn)].contains(left)));
}

#[test]
fn an_erase_under_way_left_all_of_its_block_or_nothing_or_torn_pages() {
    let mut flash = stamped();
    write(&mut flash, at(0, 0, 0), 5);
    run(&mut flash);
    flash.erase(0, BlockId(0), Cause::Gc);
    let left: Vec<_> = (0..60)
        .map(|seed| cut(&flash, seed))
        .map(|image| (image.block(BlockId(0)).done, kind(&image, at(0, 0, 0))))
        .collect();
    let possible = [(1, PageKind::Data), (0, PageKind::Erased), (1, PageKind::Torn)];
    assert!(possible.iter().all(|one| left.contains(one)));
    assert!(left.iter().all(|one| possible.contains(one)));
}

#[test]
fn the_page_that_a_program_under_way_supersedes_is_still_there() {
    let mut flash = stamped();
    write(&mut flash, at(0, 0, 0), 5);
    run(&mut flash);
    program_over(&mut flash, at(1, 0, 0), at(0, 0, 0));
    flash.erase(0, BlockId(0), Cause::Gc);
    while flash.state().block(BlockId(4)).done == 0 {
        for seed in 0..10 {
            assert_eq!(kind(&cut(&flash, seed), at(0, 0, 0)), PageKind::Data);
        }
        assert!(flash.step());
    }
}

#[test]
fn the_page_at_which_a_program_failed_is_not_taken_for_erased_after_a_power_cut() {
    let mut flash = plain();
    fail_programs_of(&mut flash, &[BlockId(0)]);
    program(&mut flash, at(0, 0, 0));
    run(&mut flash);
    let image = cut(&flash, 1);
    assert_eq!((image.block(BlockId(0)).done, image.block(BlockId(0)).has_failed()), (1, false));
}

#[test]
fn pins_holds_and_erases_that_waited_are_gone_and_the_drive_goes_on() {
    let mut flash = plain();
    fill(&mut flash, 0, 0, 2);
    flash.blocks_mut().hold(BlockId(0));
    flash.erase(0, BlockId(0), Cause::Gc);
    let image = cut(&flash, 1);
    let row = image.block(BlockId(0));
    assert_eq!((row.done, row.issued, row.pins(), row.erase_pending()), (2, 2, 0, false));
    let mut flash = TimedFlash::new(image, crate::rig::PART, nand::CommandOptions::default(), 0);
    program(&mut flash, at(0, 0, 2));
    flash.erase(0, BlockId(0), Cause::Gc);
    run(&mut flash);
    assert_eq!((flash.now(), flash.state().block(BlockId(0)).erases), ((105 + 1000) * US, 1));
}

#[test]
fn bad_blocks_and_wear_stay() {
    let mut flash = plain();
    fill(&mut flash, 0, 0, 1);
    flash.erase(0, BlockId(0), Cause::Gc);
    run(&mut flash);
    flash.state_mut().mark_bad(BlockId(1));
    let image = cut(&flash, 1);
    assert_eq!((image.block(BlockId(0)).erases, image.block(BlockId(1)).is_bad()), (1, true));
}

#[test]
fn non_volatile_memory_keeps_its_pages_and_payloads_and_the_rest_of_memory_is_lost() {
    let mut flash = counted_stamps();
    let (kept, gone) = (stamps(&mut flash, 1, 0b01), stamps(&mut flash, 2, 0b11));
    flash.memory_mut().nvram.insert(0, 30, 0b01, kept, 99);
    let mut image = flash.state().after_power_cut(&[] as &[Running], &mut Stream::new(1, "cut"));
    let pages = image.memory.nvram.oldest_first();
    assert_eq!((pages.len(), pages[0].1.logical, pages[0].1.payload, pages[0].1.note), (1, 30, kept, 99));
    let payloads = &mut image.memory.payloads;
    assert_eq!(payloads.cells(kept)[..8], 1_u64.to_le_bytes());
    assert_eq!(payloads.mask(kept), 0b01);
    assert_eq!(payloads.take(1, 0), gone, "its place is free");
}

proptest! {
    #[test]
    fn whenever_power_is_cut_completed_pages_are_whole_and_at_most_one_of_a_block_is_torn(
        blocks in proptest::collection::vec(0..6_u32, 1..24),
        events in 0..60_usize,
        seed in any::<u64>(),
    ) {
        let mut flash = stamped();
        let mut next = [0; 6];
        for block in blocks {
            let page = &mut next[block as usize];
            if *page < PAGES {
                write(&mut flash, at(block % 3, block / 3, *page), u64::from(block) + 1);
                *page += 1;
            }
        }
        for _ in 0..events {
            flash.step();
        }
        let image = cut(&flash, seed);
        for block in 0..6_u32 {
            let id = BlockId(block % 3 * 4 + block / 3);
            let completed = u32::from(flash.state().block(id).done);
            let left = u32::from(image.block(id).done);
            prop_assert!(left == completed || left == completed + 1);
            for page in 0..PAGES {
                let wanted = match page {
                    _ if page < completed => PageKind::Data,
                    _ if page < left => PageKind::Torn,
                    _ => PageKind::Erased,
                };
                let page = at(block % 3, block / 3, page);
                prop_assert_eq!(kind(&image, page), wanted);
                if wanted == PageKind::Data {
                    let cells = image.contents().expect("contents are on").page(page.0);
                    prop_assert_eq!(&cells[..8], (u64::from(block) + 1).to_le_bytes());
                }
            }
        }
    }
}
