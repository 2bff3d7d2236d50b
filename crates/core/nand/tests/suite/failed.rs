//! Law 8: a failed program releases nobody, keeps its pins and its data, and is placed again or given up.

use crate::rig::{
    Owned, US, at, command, contents, copy, counted_stamps, erased, fail_programs_of, failed, fill, issue, joined,
    part_of, pins, plain, program, program_over, programmed, read, run, silent_read, stamped, stamps, stamps_at,
    stamps_of, time_of,
};
use nand::{Awaits, Cancel, Closed, CopyWay, Counters, Event, Flash, PageKind, PageProgram, Program, Read};
use units::{BlockId, Cause, DieId};

/// Blocks whose programs all fail here.
const BAD: [BlockId; 1] = [BlockId(0)];

#[test]
fn a_failed_program_returns_those_queued_behind_it_and_keeps_its_pins() {
    let mut flash = plain();
    let start = fill(&mut flash, 1, 0, 1);
    fail_programs_of(&mut flash, &BAD);
    program_over(&mut flash, at(0, 0, 0), at(1, 0, 0));
    program(&mut flash, at(0, 0, 1));
    program(&mut flash, at(0, 0, 2));
    let seen = run(&mut flash);
    let times: Vec<_> = seen.iter().map(|(time, _)| (time - start) / US).collect();
    assert_eq!(times, [105, 105, 210], "the second begins when the first ends, and the third never does");
    let failed = failed(&seen);
    assert_eq!((pins(&flash, 0), pins(&flash, 4)), (3, 1));
    assert_eq!(flash.state().counters.failed_programs, 1, "the block has failed once");
    for (page, id) in failed.into_iter().enumerate() {
        flash.place_again(id, at(0, 1, page as u32));
    }
    run(&mut flash);
    assert_eq!((pins(&flash, 0), pins(&flash, 4)), (0, 0));
    assert_eq!(flash.state().block(BlockId(1)).done, 3);
}

#[test]
fn a_failed_program_is_handed_back_with_everything_it_was_to_do() {
    let mut flash = plain();
    fill(&mut flash, 1, 0, 1);
    fail_programs_of(&mut flash, &BAD);
    let wanted = PageProgram {
        supersedes: Some(at(1, 0, 0)),
        logical: 77,
        sequence: 88,
        cause: Cause::Wear,
        ..command(at(0, 0, 0))
    };
    let id = issue(&mut flash, wanted);
    assert_eq!(failed(&run(&mut flash)), [id]);
    let failure = flash.failure(id);
    assert_eq!((failure.page, failure.supersedes, failure.id), (wanted.page, wanted.supersedes, id));
    assert_eq!((failure.logical, failure.sequence, failure.cause), (77, 88, Cause::Wear));
    assert_eq!(failure.what, wanted.what);
}

#[test]
fn a_program_for_a_block_that_has_failed_goes_back_without_reaching_the_die() {
    let mut flash = plain();
    fail_programs_of(&mut flash, &BAD);
    program(&mut flash, at(0, 0, 0));
    run(&mut flash);
    let start = flash.now();
    assert!(flash.state().block(BAD[0]).has_failed());
    let late = program(&mut flash, at(0, 0, 1));
    assert_eq!(failed(&run(&mut flash)), [late]);
    assert_eq!((flash.now() - start, flash.state().counters.failed_programs), (0, 1));
}

#[test]
fn a_block_that_has_failed_becomes_bad_when_it_is_erased() {
    let mut flash = plain();
    fail_programs_of(&mut flash, &BAD);
    program(&mut flash, at(0, 0, 0));
    let seen = run(&mut flash);
    flash.place_again(failed(&seen)[0], at(1, 0, 0));
    flash.erase(0, BAD[0], Cause::Gc);
    assert!(run(&mut flash).iter().any(|(_, event)| *event == Event::EraseFailed { block: BAD[0] }));
    assert!(flash.state().block(BAD[0]).is_bad());
}

#[test]
fn who_waits_for_a_failed_program_hears_of_it_when_it_has_found_its_place() {
    let mut flash = plain();
    fail_programs_of(&mut flash, &BAD);
    program(&mut flash, at(0, 0, 0));
    let seen = run(&mut flash);
    assert!(!seen.iter().any(|(_, event)| programmed(at(0, 0, 0))(event)));
    flash.place_again(failed(&seen)[0], at(1, 0, 0));
    let told = Event::Notified { token: at(0, 0, 0).0, page: at(1, 0, 0) };
    assert_eq!(run(&mut flash), [(210 * US, told)], "with the page where it is now");
}

#[test]
fn a_read_behind_a_program_that_failed_is_answered_before_that_finds_another_place() {
    let mut flash = plain();
    fail_programs_of(&mut flash, &BAD);
    program(&mut flash, at(0, 0, 0));
    read(&mut flash, at(0, 0, 0), 7);
    assert_eq!(time_of(&run(&mut flash), joined(7)), 105 * US);
    let join = flash.open(0, 8, Cancel::Never);
    flash.read(0, part_of(join, at(0, 0, 0), Cause::Host));
    assert_eq!(flash.close(join, Awaits::Commands), Closed::Done { failed: false }, "and so is one that comes later");
    assert_eq!(pins(&flash, 0), 1, "the program keeps its pin");
}

#[test]
fn a_copy_that_failed_and_is_given_up_leaves_its_readers_its_source_whose_erase_can_be_taken_back() {
    let mut flash = plain();
    fill(&mut flash, 1, 0, 1);
    fail_programs_of(&mut flash, &BAD);
    let (page, source) = (at(0, 0, 0), at(1, 0, 0));
    flash.copy(0, copy(source, page, CopyWay::Channel));
    flash.erase(0, BlockId(4), Cause::Gc);
    read(&mut flash, page, 7);
    let failed = failed(&run(&mut flash));
    assert!(flash.take_back_erase(BlockId(4)), "it still waits for the copy");
    flash.abandon(failed[0], source);
    let seen = run(&mut flash);
    assert!(seen.iter().any(|(_, event)| joined(7)(event)) && !seen.iter().any(|(_, event)| erased(event)));
    assert!(!flash.take_back_erase(BlockId(4)), "there is none any more");
    assert_eq!((pins(&flash, 4), flash.state().block(BlockId(4)).done), (0, 1));
}

/// A page written twice: the first program failed, the second one is to take the place of it and is told of another.
#[test]
fn a_program_that_supersedes_a_failed_one_is_pointed_at_another_page() {
    let mut flash = plain();
    fill(&mut flash, 1, 0, 1);
    fail_programs_of(&mut flash, &BAD);
    program_over(&mut flash, at(0, 0, 0), at(1, 0, 0));
    let first = failed(&run(&mut flash))[0];
    program_over(&mut flash, at(2, 0, 0), at(0, 0, 0));
    assert!(flash.failure(first).is_superseded);
    assert_eq!((pins(&flash, 0), pins(&flash, 4)), (2, 1));
    assert!(flash.retarget(flash.failure(first).page, at(1, 0, 0)));
    assert_eq!((pins(&flash, 0), pins(&flash, 4)), (1, 2));
    assert!(
        !flash.retarget(flash.failure(first).page, at(1, 0, 0)) && !flash.failure(first).is_superseded,
        "no program supersedes it now"
    );
    flash.abandon(first, at(1, 0, 0));
    assert_eq!((pins(&flash, 0), pins(&flash, 4)), (0, 1));
    run(&mut flash);
    assert_eq!(pins(&flash, 4), 0);
}

/// What a failed program was to write, over what was there before, is what a read finds meanwhile and later.
fn keeps_data<F: Owned>(mut flash: F, settle: fn(&mut F)) {
    let (old, new) = (stamps(&mut flash, 1, 0b11), stamps(&mut flash, 2, 0b10));
    let data = |payload, merge| Program::Data { payload, merge };
    flash.program(0, PageProgram { what: data(old, false), ..command(at(1, 0, 0)) });
    settle(&mut flash);
    flash.state_mut().events.clear();
    fail_programs_of(&mut flash, &BAD);
    flash.program(0, PageProgram { what: data(new, true), supersedes: Some(at(1, 0, 0)), ..command(at(0, 0, 0)) });
    settle(&mut flash);
    let failed = match flash.state_mut().events.pop() {
        Some((_, Event::ProgramFailed(id))) => id,
        other => panic!("unexpected {other:?}"),
    };
    let into = stamps(&mut flash, 0, 0b11);
    let join = flash.open(0, 7, Cancel::Never);
    flash.read(0, Read { payload: into, ..part_of(join, at(0, 0, 0), Cause::Host) });
    assert_eq!(flash.close(join, Awaits::Commands), Closed::Done { failed: false });
    assert_eq!(stamps_of(&flash, into), [1, 2]);
    assert_eq!((pins(&flash, 0), pins(&flash, 4)), (1, 1));
    flash.place_again(failed, at(2, 0, 0));
    settle(&mut flash);
    assert_eq!(stamps_at(&flash, at(2, 0, 0)), [1, 2]);
    assert_eq!((pins(&flash, 0), pins(&flash, 4)), (0, 0));
    assert_eq!(contents(&flash).oob(at(2, 0, 0).0).sequence, 1, "it keeps its number");
    assert_eq!(Counters::total(&flash.state().counters.programs), 2);
}

#[test]
fn the_data_of_a_failed_program_stays_in_the_controller_until_it_is_placed_again() {
    keeps_data(stamped(), |flash| while flash.step() {});
    keeps_data(counted_stamps(), |_| {});
}

/// Part of a page is written over one that cannot be read; that page's die died or it became uncorrectable, and the
/// program over it fails or does not.
fn loses_what_it_is_built_on<F: Owned>(mut flash: F, settle: fn(&mut F), fails: bool, dies: bool) {
    let (old, new) = (stamps(&mut flash, 1, 0b11), stamps(&mut flash, 2, 0b10));
    let data = |payload, merge| Program::Data { payload, merge };
    flash.program(0, PageProgram { what: data(old, false), ..command(at(1, 0, 0)) });
    settle(&mut flash);
    flash.state_mut().events.clear();
    if fails {
        fail_programs_of(&mut flash, &BAD);
    }
    if dies {
        flash.state_mut().kill_die(DieId(1));
    } else {
        flash.state_mut().lose_page(at(1, 0, 0));
    }
    let base = silent_read(at(1, 0, 0));
    let after = flash.read(0, base).pending();
    let over = PageProgram { what: data(new, true), supersedes: Some(at(1, 0, 0)), after, ..command(at(0, 0, 0)) };
    flash.program(0, over);
    settle(&mut flash);
    let mut page = over.page;
    if fails {
        let failed = flash.state_mut().events.iter().find_map(|(_, event)| match event {
            Event::ProgramFailed(id) => Some(*id),
            _ => None,
        });
        let join = flash.open(0, 7, Cancel::Never);
        flash.read(0, part_of(join, page, Cause::Host));
        assert_eq!(
            flash.close(join, Awaits::Commands),
            Closed::Done { failed: true },
            "a read finds no data in the controller either"
        );
        page = at(2, 0, 0);
        flash.place_again(failed.expect("it failed"), page);
        settle(&mut flash);
    }
    assert_eq!(contents(&flash).oob(page.0).kind, PageKind::Lost);
}

#[test]
fn part_of_a_page_written_over_one_that_cannot_be_read_is_lost_and_not_data() {
    for [fails, dies] in [[false, false], [false, true], [true, false], [true, true]] {
        loses_what_it_is_built_on(stamped(), |flash| while flash.step() {}, fails, dies);
        loses_what_it_is_built_on(counted_stamps(), |_| {}, fails, dies);
    }
}

#[test]
fn a_page_written_whole_after_a_read_that_failed_is_data() {
    let mut flash = stamped();
    fill(&mut flash, 1, 0, 1);
    flash.state_mut().lose_page(at(1, 0, 0));
    let after = flash.read(0, silent_read(at(1, 0, 0))).pending();
    assert!(after.is_some());
    flash.program(0, PageProgram { after, supersedes: Some(at(1, 0, 0)), ..command(at(0, 0, 0)) });
    run(&mut flash);
    assert_eq!(contents(&flash).oob(at(0, 0, 0).0).kind, PageKind::Data);
    assert_eq!(flash.state().counters.failed_reads, 1);
}
