//! What write buffers keep, give back and send on: hit ratios against closed forms, the hazards of two
//! parts that hold the same page, flushes and writes past the buffer.

use nand::{CountedFlash, Flash};
use simulator::run::{Ended, Loop, RunPlan, run};
use simulator::{BlockDevice, Completions, Config, Drive, DrivePlan, DriveState, Progress, Setting};
use trace::synthetic::{WorkloadParameters, build};
use units::{Cause, HostOp, Request};

const SECTORS: u64 = 8;
/// Pages of a block of the small drive.
const BLOCK: u64 = 8;

fn drive(buffer: &str, settings: &[&str]) -> Drive<CountedFlash> {
    let plan = plan_of(buffer, settings);
    plan.assemble(CountedFlash::new(plan.fresh_state()))
}

fn plan_of(buffer: &str, settings: &[&str]) -> DrivePlan {
    let own = ["engine.time=none", "flash.channels=1", "flash.dies_per_channel=1", "drive.over_provisioning=50%"];
    let kind = format!("buffer.kind={buffer}");
    let settings = [&own[..], &[&kind], settings].concat();
    let settings: Vec<Setting> = settings.iter().map(|text| Setting::from_argument(text).unwrap()).collect();
    DrivePlan::new(Config::load("page", &settings).unwrap()).unwrap()
}

/// 64 pages of 4 KiB with stamps: every read is checked.
fn small(buffer: &str, settings: &[&str]) -> Drive<CountedFlash> {
    let own = ["drive.capacity=256KiB", "flash.pages_per_block=8", "engine.contents=stamp"];
    drive(buffer, &[&own[..], settings].concat())
}

/// Serves one request to its end, and checks the layers.
fn serve(drive: &mut Drive<CountedFlash>, op: HostOp, first_sector: u64, sectors: u64) {
    ask(drive, Request { arrival: 0, first_sector, sectors: sectors as u32, op, fua: false });
}

fn ask(drive: &mut Drive<CountedFlash>, request: Request) {
    drive.submit(0, &request);
    let mut completions = Completions::default();
    while drive.outstanding() > 0 {
        assert!(drive.advance(&mut completions) == Progress::Worked, "the request never ends");
    }
    drive.top().check(drive.flash()).unwrap();
    assert_eq!(drive.oracle().and_then(|oracle| oracle.violation()), None);
}

fn write(drive: &mut Drive<CountedFlash>, page: u64, pages: u64) {
    serve(drive, HostOp::Write, page * SECTORS, pages * SECTORS);
}

fn counter(drive: &Drive<CountedFlash>, name: &str) -> u64 {
    let mut reports = Vec::new();
    drive.top().report(&mut reports);
    assert_eq!(reports[0].name, "buffer");
    reports[0].counters[name]
}

fn programs(drive: &Drive<CountedFlash>) -> [u64; 2] {
    let programs = &drive.flash().state().counters.programs;
    [programs[Cause::Host.index()], programs[Cause::Padding.index()]]
}

/// Reads the whole drive; the oracle compares.
fn read_all(drive: &mut Drive<CountedFlash>) {
    let sectors = drive.sectors();
    serve(drive, HostOp::Read, 0, sectors);
}

const TWO_LEVEL: [&str; 3] = ["buffer.size=80KiB", "buffer.block_buffer=64KiB", "buffer.small_request=4KiB"];

#[test]
fn a_small_write_to_a_complete_block_goes_there_and_leaves_it_at_the_tail() {
    let mut drive = small("two-level", &TWO_LEVEL);
    write(&mut drive, 0, BLOCK);
    write(&mut drive, BLOCK, 2);
    write(&mut drive, 3, 1);
    assert_eq!([counter(&drive, "block_hits"), counter(&drive, "page_misses")], [1, 0], "it was redirected");
    assert_eq!(counter(&drive, "redirected_writes"), 1);
    // There are two frames: the third block sends the complete one away, though it was used last.
    write(&mut drive, 2 * BLOCK, 2);
    assert_eq!([counter(&drive, "blocks_written_back"), counter(&drive, "blocks_completed")], [1, 1]);
    assert_eq!(programs(&drive), [BLOCK, 0]);
    read_all(&mut drive);
}

#[test]
fn the_pieces_of_a_request_go_where_each_block_is() {
    let mut drive = small("two-level", &TWO_LEVEL);
    write(&mut drive, 0, 2);
    assert_eq!(counter(&drive, "block_misses"), 2);
    // Eight sectors over the border of blocks 0 and 1: block 0 is resident, block 1 is not.
    serve(&mut drive, HostOp::Write, BLOCK * SECTORS - 4, 8);
    assert_eq!([counter(&drive, "block_misses"), counter(&drive, "page_misses")], [3, 1]);
    assert_eq!([counter(&drive, "small_writes"), counter(&drive, "redirected_writes")], [2, 1]);
    read_all(&mut drive);
}

#[test]
fn a_write_larger_than_the_buffer_passes_through_it_page_by_page() {
    for buffer in ["page-lru", "page-only", "cflru", "fab", "group-lru", "lb-clock", "cbm", "sorted"] {
        let mut drive = small(buffer, &["buffer.size=16KiB"]);
        write(&mut drive, 3, 40);
        write(&mut drive, 0, 64);
        read_all(&mut drive);
    }
    for buffer in ["block-lru", "block-only"] {
        let mut drive = small(buffer, &["buffer.size=32KiB"]);
        write(&mut drive, 3, 40);
        write(&mut drive, 0, 64);
        read_all(&mut drive);
    }
}

#[test]
fn sectors_of_a_page_in_both_parts_are_kept_when_the_block_leaves() {
    let mut drive = small("two-level", &TWO_LEVEL);
    // Sectors 0 to 3 of page 5 singly, then a long write from its sector 4 on.
    serve(&mut drive, HostOp::Write, 5 * SECTORS, 4);
    serve(&mut drive, HostOp::Write, 5 * SECTORS + 4, 12);
    assert_eq!([counter(&drive, "page_misses"), counter(&drive, "block_misses")], [1, 2]);
    read_all(&mut drive);
    // Two other blocks send it away.
    write(&mut drive, BLOCK, 2);
    write(&mut drive, 2 * BLOCK, 2);
    assert_eq!([counter(&drive, "folded_pages"), counter(&drive, "pages_buffered")], [1, 0]);
    read_all(&mut drive);
}

#[test]
fn sectors_of_a_page_in_both_parts_are_kept_when_the_page_leaves() {
    let mut drive = small("two-level", &TWO_LEVEL);
    serve(&mut drive, HostOp::Write, 5 * SECTORS, 4);
    serve(&mut drive, HostOp::Write, 5 * SECTORS + 4, 12);
    // Four single pages of other blocks fill the part for pages.
    for page in [17, 25, 33, 41] {
        write(&mut drive, page, 1);
    }
    assert_eq!([counter(&drive, "folded_pages"), counter(&drive, "pages_written_back")], [1, 0]);
    assert_eq!(programs(&drive), [0, 0]);
    read_all(&mut drive);
    serve(&mut drive, HostOp::Flush, 0, 0);
    read_all(&mut drive);
}

#[test]
fn a_page_leaves_with_its_logical_block_or_alone() {
    for (unit, left) in [("block", 3), ("page", 1)] {
        let unit = format!("buffer.flush_unit={unit}");
        let mut drive = small("page-only", &["buffer.size=16KiB", &unit]);
        for page in [9, 20, 11, 13, 40] {
            write(&mut drive, page, 1);
        }
        assert_eq!(counter(&drive, "pages_written_back"), left, "{unit}");
        read_all(&mut drive);
    }
}

#[test]
fn half_a_block_is_completed_and_less_is_not() {
    for (pages, completed, padding) in [(3, 0, 0), (4, 1, 4)] {
        let mut drive = small("block-only", &["buffer.size=32KiB"]);
        write(&mut drive, 0, 64);
        serve(&mut drive, HostOp::Flush, 0, 0);
        let before = [counter(&drive, "blocks_completed"), programs(&drive)[0]];
        write(&mut drive, 8, pages);
        write(&mut drive, 16, 1);
        assert_eq!(counter(&drive, "blocks_completed") - before[0], completed);
        assert_eq!([programs(&drive)[0] - before[1], programs(&drive)[1]], [pages, padding]);
        read_all(&mut drive);
    }
}

#[test]
fn only_a_write_that_goes_on_brings_a_block_to_the_head() {
    // Two frames; block 0 is older than block 1. A write that goes on saves it, another one does not.
    for (page, saved) in [(2, true), (5, false)] {
        let mut drive = small("block-only", &["buffer.size=64KiB"]);
        write(&mut drive, 0, 2);
        write(&mut drive, 8, 2);
        write(&mut drive, page, 1);
        write(&mut drive, 16, 1);
        write(&mut drive, 0, 1);
        assert_eq!(counter(&drive, "block_hits") == 1, saved);
        read_all(&mut drive);
    }
}

#[test]
fn a_hit_in_a_complete_block_does_not_pass_one_completed_earlier() {
    let mut drive = small("block-only", &["buffer.size=64KiB", "buffer.accounting=pages"]);
    write(&mut drive, 0, BLOCK);
    write(&mut drive, BLOCK, BLOCK);
    // The second one to be completed is at the tail; a write to the first leaves it where it is.
    write(&mut drive, 3, 1);
    write(&mut drive, 2 * BLOCK, 1);
    assert_eq!(programs(&drive)[0], BLOCK);
    write(&mut drive, 3, 1);
    assert_eq!(counter(&drive, "block_hits"), 2, "block 0 is still there");
}

#[test]
fn a_write_that_waits_for_room_does_not_go_on_with_itself() {
    // Blocks of eight pages, room for eight; each request comes when the one before is served.
    let settings = [
        "drive.capacity=256KiB",
        "flash.pages_per_block=8",
        "engine.contents=stamp",
        "engine.time=virtual",
        "buffer.size=32KiB",
        "buffer.accounting=pages",
        "buffer.padding=never",
    ];
    let plan = plan_of("block-only", &settings);
    let mut drive = plan.assemble(plan.timed(plan.fresh_state()));
    let mut completions = Completions::default();
    let mut write = |page: u64, pages: u64| {
        let request = Request {
            arrival: drive.now(),
            first_sector: page * SECTORS,
            sectors: (pages * SECTORS) as u32,
            op: HostOp::Write,
            fua: false,
        };
        drive.submit(0, &request);
        while drive.advance(&mut completions) != Progress::Idle {}
        drive.top().check(drive.flash()).unwrap();
        let mut reports = Vec::new();
        drive.top().report(&mut reports);
        reports[0].counters["block_hits"]
    };
    write(0, 2);
    write(BLOCK, 1);
    write(2 * BLOCK, 3);
    // Two pages find room at once and three when block 0 has left, the third part of which is not where that
    // block ended: block 1 stays behind it.
    write(BLOCK + 2, 4);
    write(3 * BLOCK, 3);
    assert_eq!(write(BLOCK, 1), 0, "block 1 has left before block 2");
}

#[test]
fn a_page_read_in_part_from_memory_and_in_part_from_flash_is_whole() {
    let mut drive = small("page-lru", &["buffer.size=16KiB"]);
    write(&mut drive, 0, 1);
    serve(&mut drive, HostOp::Flush, 0, 0);
    serve(&mut drive, HostOp::Write, 2, 3);
    serve(&mut drive, HostOp::Read, 0, SECTORS);
    assert_eq!([counter(&drive, "pages_buffered"), drive.flash().state().counters.reads[Cause::Host.index()]], [1, 1]);
}

#[test]
fn a_block_may_leave_while_its_own_pages_come() {
    // Room for half a block: the write sends away what it has just put.
    for buffer in ["block-lru", "block-only", "two-level", "fab", "group-lru", "lb-clock", "cbm"] {
        let parts: &[&str] = if buffer == "two-level" { &["buffer.block_buffer=16KiB"] } else { &[] };
        let accounting: &[&str] =
            if ["fab", "group-lru", "lb-clock", "cbm"].contains(&buffer) { &[] } else { &["buffer.accounting=pages"] };
        let mut drive = small(buffer, &[&["buffer.size=20KiB"], parts, accounting].concat());
        write(&mut drive, 0, BLOCK);
        write(&mut drive, 2, BLOCK);
        read_all(&mut drive);
    }
}

#[test]
fn fab_sends_the_largest_block_away() {
    let mut drive = small("fab", &["buffer.size=24KiB"]);
    for page in [0, 8, 9, 10, 16, 17] {
        write(&mut drive, page, 1);
    }
    write(&mut drive, 24, 1);
    assert_eq!([counter(&drive, "block_pages_written_back"), counter(&drive, "block_pages_held")], [3, 3]);
    read_all(&mut drive);
}

#[test]
fn a_sorted_buffer_is_programmed_in_order_of_logical_pages() {
    let mut drive = small("sorted", &["buffer.size=16KiB", "flash.planes_per_die=1"]);
    // Of the pages that find the buffer full, 50 and 33 are ahead of the hand. 2 and 5 wait for its next round.
    for page in [40, 10, 30, 20, 50, 2, 33, 5] {
        write(&mut drive, page, 1);
    }
    assert_eq!(counter(&drive, "pages_written_back"), 4);
    serve(&mut drive, HostOp::Flush, 0, 0);
    let contents = drive.flash().state().contents().expect("pages have stamps");
    let programmed: Vec<u32> = (0..8).map(|page| contents.oob(page).logical).collect();
    assert_eq!(programmed, [10, 20, 30, 33, 2, 5, 40, 50], "a flush goes from the first page to the last");
    read_all(&mut drive);
}

#[test]
fn the_largest_block_the_hand_passed_leaves() {
    let mut drive = small("lb-clock", &["buffer.size=24KiB"]);
    for page in [0, 8, 9, 10, 16, 17] {
        write(&mut drive, page, 1);
    }
    write(&mut drive, 24, 1);
    assert_eq!([counter(&drive, "blocks_written_back"), counter(&drive, "block_pages_written_back")], [1, 3]);
    read_all(&mut drive);
}

#[test]
fn a_block_written_again_is_no_candidate() {
    let mut drive = small("lb-clock", &["buffer.size=24KiB"]);
    for page in [0, 8, 9, 10, 16, 17] {
        write(&mut drive, page, 1);
    }
    // The hand goes round: the three blocks are candidates, and the largest leaves.
    write(&mut drive, 24, 1);
    // Of the two left the larger one is written again, so the smaller one leaves.
    write(&mut drive, 16, 1);
    write(&mut drive, 25, 2);
    assert_eq!(counter(&drive, "block_pages_written_back"), 3);
    write(&mut drive, 27, 1);
    assert_eq!(counter(&drive, "block_pages_written_back"), 4, "block 0, of one page");
    write(&mut drive, 17, 1);
    assert_eq!(counter(&drive, "block_hits"), 2, "block 2 was there both times");
    read_all(&mut drive);
}

#[test]
fn the_hand_goes_on_where_it_stopped() {
    let mut drive = small("lb-clock", &["buffer.size=20KiB"]);
    for page in [0, 8, 16, 17, 24] {
        write(&mut drive, page, 1);
    }
    // Block 2 is the largest: it leaves, the hand stands before block 3, and blocks 4 and 5 come behind it.
    write(&mut drive, 32, 1);
    write(&mut drive, 40, 1);
    assert_eq!(counter(&drive, "block_pages_written_back"), 2);
    for page in [0, 8, 24] {
        write(&mut drive, page, 1);
    }
    // Nothing is left to choose from, and all bits are set: of five equal blocks the hand comes to block 3 first.
    write(&mut drive, 48, 1);
    assert_eq!([counter(&drive, "block_pages_written_back"), counter(&drive, "block_hits")], [3, 3]);
    for page in [0, 8, 32, 40, 48] {
        write(&mut drive, page, 1);
    }
    assert_eq!(counter(&drive, "block_hits"), 8, "all others are there");
    // The next round begins with block 0, behind the place of block 3 at the end of the dial.
    write(&mut drive, 56, 1);
    write(&mut drive, 8, 1);
    assert_eq!([counter(&drive, "block_pages_written_back"), counter(&drive, "block_hits")], [4, 9]);
    write(&mut drive, 0, 1);
    assert_eq!(counter(&drive, "block_hits"), 9, "block 0 left");
    read_all(&mut drive);
}

#[test]
fn a_block_written_from_begin_to_end_gets_no_second_chance() {
    for in_order in [true, false] {
        let mut drive = small("lb-clock", &["buffer.size=68KiB"]);
        let halves = if in_order { [0, 4] } else { [4, 0] };
        // Block 1 is as large, and the hand comes to it before block 0.
        for first in [12, 8, halves[0], halves[1]] {
            write(&mut drive, first, 4);
        }
        write(&mut drive, 16, 2);
        assert_eq!([counter(&drive, "blocks_completed"), counter(&drive, "block_hits")], [1, 0]);
        write(&mut drive, 9, 1);
        assert_eq!(counter(&drive, "block_hits") == 1, in_order, "block 1 is there, or not");
        read_all(&mut drive);
    }
}

#[test]
fn a_block_moves_at_the_threshold_with_all_its_pages_and_no_flash_traffic() {
    let mut drive = small("cbm", &["buffer.size=64KiB"]);
    for page in [1, 3, 5] {
        write(&mut drive, page, 1);
    }
    assert_eq!([counter(&drive, "blocks_moved"), counter(&drive, "pages_buffered")], [0, 3]);
    write(&mut drive, 6, 1);
    assert_eq!([counter(&drive, "blocks_moved"), counter(&drive, "pages_moved")], [1, 4]);
    assert_eq!([counter(&drive, "pages_buffered"), counter(&drive, "block_room_taken")], [0, 4]);
    // What follows goes to the block.
    write(&mut drive, 3, 2);
    assert_eq!([counter(&drive, "block_hits"), counter(&drive, "block_misses")], [1, 1]);
    read_all(&mut drive);
    assert_eq!(programs(&drive), [0, 0]);
    serve(&mut drive, HostOp::Flush, 0, 0);
    assert_eq!(programs(&drive), [5, 0]);
    read_all(&mut drive);
}

#[test]
fn sectors_read_into_a_page_of_a_moved_block_do_not_hide_those_written() {
    let mut drive = small("cbm", &["buffer.size=64KiB"]);
    write(&mut drive, 0, 64);
    serve(&mut drive, HostOp::Flush, 0, 0);
    serve(&mut drive, HostOp::Read, SECTORS, SECTORS);
    write(&mut drive, 2, 4);
    // Page 1 is there as a clean one, and comes to the block in part.
    serve(&mut drive, HostOp::Write, SECTORS + 2, 3);
    assert_eq!([counter(&drive, "block_room_taken"), counter(&drive, "clean_pages_kept")], [5, 1]);
    serve(&mut drive, HostOp::Read, 0, 3 * SECTORS);
    serve(&mut drive, HostOp::Flush, 0, 0);
    assert_eq!(counter(&drive, "folded_pages"), 1, "flash need not be read for its other sectors");
    read_all(&mut drive);
}

#[test]
fn the_least_popular_block_leaves_before_any_page_and_the_largest_of_equals() {
    for (again, first_to_leave) in [(true, 0), (false, 1)] {
        let settings = ["buffer.size=48KiB", "buffer.padding=never", "buffer.cbm.read_cache=0%"];
        let mut drive = small("cbm", &settings);
        for page in [16, 24, 32] {
            write(&mut drive, page, 1);
        }
        write(&mut drive, 0, 4);
        write(&mut drive, 8, 4);
        write(&mut drive, 12, 1); // goes on, and makes block 1 larger and no more popular
        if again {
            write(&mut drive, 9, 1);
        }
        let (hits, pages) = (counter(&drive, "block_hits"), [4, 5][first_to_leave as usize]);
        write(&mut drive, 40, 1);
        assert_eq!([counter(&drive, "blocks_written_back"), counter(&drive, "block_pages_written_back")], [1, pages]);
        assert_eq!(counter(&drive, "pages_written_back"), 0, "pages older than both stay");
        write(&mut drive, 8 * (1 - first_to_leave), 1);
        assert_eq!(counter(&drive, "block_hits"), hits + 1);
        read_all(&mut drive);
    }
}

#[test]
fn a_block_that_leaves_takes_the_pages_it_lacks_from_the_clean_ones() {
    for (padding, clean, read, written) in
        [("half", 2, 2, 4), ("half", 4, 0, 4), ("never", 4, 0, 4), ("never", 3, 0, 0)]
    {
        let setting = format!("buffer.padding={padding}");
        let mut drive = small("cbm", &["buffer.size=40KiB", "buffer.cbm.read_cache=50%", &setting]);
        write(&mut drive, 0, 64);
        serve(&mut drive, HostOp::Flush, 0, 0);
        let reads = |drive: &Drive<CountedFlash>| drive.flash().state().counters.reads[Cause::Padding.index()];
        let before = [reads(&drive), programs(&drive)[1], counter(&drive, "merged_pages")];
        serve(&mut drive, HostOp::Read, 4 * SECTORS, clean * SECTORS);
        write(&mut drive, 0, 4);
        let mut others = (16..64).step_by(8);
        let blocks = counter(&drive, "blocks_written_back");
        while counter(&drive, "blocks_written_back") == blocks {
            write(&mut drive, others.next().unwrap(), 1);
        }
        assert_eq!(reads(&drive) - before[0], read, "{padding}, {clean}");
        assert_eq!(programs(&drive)[1] - before[1], written, "{padding}, {clean}");
        assert_eq!(counter(&drive, "merged_pages") - before[2], written - read, "{padding}, {clean}");
        read_all(&mut drive);
    }
}

#[test]
fn writes_use_the_room_that_reads_leave_and_reads_take_no_more_than_their_share() {
    let settings = ["buffer.size=64KiB", "buffer.cbm.threshold=100%", "buffer.flush_unit=page"];
    let mut drive = small("cbm", &settings);
    for page in (0..64).step_by(4) {
        write(&mut drive, page, 1);
    }
    assert_eq!([counter(&drive, "pages_buffered"), counter(&drive, "pages_written_back")], [16, 0]);
    serve(&mut drive, HostOp::Flush, 0, 0);
    read_all(&mut drive);
    assert_eq!(counter(&drive, "clean_pages_kept"), 4);
    for page in (0..48).step_by(4) {
        write(&mut drive, page, 1);
    }
    assert_eq!([counter(&drive, "pages_buffered"), counter(&drive, "pages_written_back")], [12, 16]);
    write(&mut drive, 52, 1);
    assert_eq!([counter(&drive, "pages_buffered"), counter(&drive, "pages_written_back")], [12, 17]);
    read_all(&mut drive);
}

#[test]
fn a_kept_state_goes_on_with_its_hand_its_bits_and_its_ranks() {
    let own = ["drive.capacity=256KiB", "flash.pages_per_block=8", "buffer.size=80KiB", "buffer.nonvolatile=true"];
    let mut numbers = engine::random::Stream::new(3, "kept state");
    let writes: Vec<(u64, u64)> = (0..600).map(|_| (numbers.below(60), 1 + numbers.below(4))).collect();
    for buffer in ["lb-clock", "cbm", "fab", "group-lru", "sorted"] {
        let plan = plan_of(buffer, &own);
        for cut in [20, 150, 301] {
            let mut straight = plan.assemble(CountedFlash::new(plan.fresh_state()));
            writes[..cut].iter().for_each(|(page, pages)| write(&mut straight, *page, *pages));
            let mut kept = DriveState::of(&mut straight).resume(&plan, plan.fresh_state(), CountedFlash::new).unwrap();
            straight.top_mut().reset_counters();
            for (page, pages) in &writes[cut..] {
                write(&mut straight, *page, *pages);
                write(&mut kept, *page, *pages);
                for name in ["blocks_written_back", "block_pages_written_back", "pages_written_back", "block_hits"] {
                    assert_eq!(counter(&kept, name), counter(&straight, name), "{buffer}, {cut}: {name}");
                }
            }
        }
    }
}

#[test]
fn cflru_forgets_a_clean_page_before_it_writes_a_dirty_one() {
    let mut drive = small("cflru", &["buffer.size=16KiB", "buffer.cflru.window=50%"]);
    write(&mut drive, 0, 64);
    serve(&mut drive, HostOp::Flush, 0, 0);
    write(&mut drive, 1, 1);
    serve(&mut drive, HostOp::Read, 2 * SECTORS, SECTORS);
    write(&mut drive, 3, 2);
    let before = counter(&drive, "pages_written_back");
    write(&mut drive, 5, 1); // page 2, read, is in the window: it goes, and page 1, written, stays
    assert_eq!(counter(&drive, "pages_written_back"), before);
    write(&mut drive, 6, 1);
    assert_eq!(counter(&drive, "pages_written_back"), before + 1);
    read_all(&mut drive);
}

#[test]
fn a_flush_empties_a_volatile_buffer_and_fua_goes_past_it() {
    let mut drive = small("page-lru", &["buffer.size=64KiB"]);
    write(&mut drive, 4, 3);
    assert_eq!(programs(&drive), [0, 0]);
    ask(&mut drive, Request { arrival: 0, first_sector: 5 * SECTORS + 2, sectors: 4, op: HostOp::Write, fua: true });
    assert_eq!([counter(&drive, "pages_written_through"), programs(&drive)[0]], [1, 1]);
    read_all(&mut drive);
    serve(&mut drive, HostOp::Flush, 0, 0);
    assert_eq!([counter(&drive, "pages_buffered"), programs(&drive)[0]], [0, 4]);
    read_all(&mut drive);
    let mut kept = small("page-lru", &["buffer.size=64KiB", "buffer.nonvolatile=true"]);
    write(&mut kept, 4, 3);
    serve(&mut kept, HostOp::Flush, 0, 0);
    assert_eq!(programs(&kept), [0, 0], "memory that forgets nothing needs no flush");
}

#[test]
fn trimmed_pages_are_not_written_and_read_as_zeros() {
    for nonvolatile in ["true", "false"] {
        let setting = format!("buffer.nonvolatile={nonvolatile}");
        let mut drive = small("two-level", &[&TWO_LEVEL[..], &[&setting]].concat());
        write(&mut drive, 0, 3);
        write(&mut drive, 20, 1);
        serve(&mut drive, HostOp::Trim, 0, 3 * SECTORS);
        serve(&mut drive, HostOp::Trim, 20 * SECTORS, SECTORS);
        read_all(&mut drive);
        serve(&mut drive, HostOp::Flush, 0, 0);
        read_all(&mut drive);
        if nonvolatile == "false" {
            assert_eq!(programs(&drive), [0, 0]);
        }
    }
}

/// Hit ratio of page writes after a warm-up as long as the run.
fn hit_ratio(buffer_pages: u64, workload: &str, pages: u64, exponent: Option<f64>) -> f64 {
    let settings = [format!("drive.capacity={}B", pages * 4096), format!("buffer.size={}B", buffer_pages * 4096)];
    let mut drive = drive("page-lru", &settings.iter().map(String::as_str).collect::<Vec<_>>());
    for seed in [1, 2] {
        drive.top_mut().reset_counters();
        let mut parameters = WorkloadParameters::new(drive.sectors(), 600_000);
        parameters.seed = seed;
        parameters.request_bytes = Some(4096);
        parameters.zipf_exponent = exponent;
        // One order of popularity: the seed scatters it, so both halves must have the same.
        parameters.seed = 1;
        let mut source = build(workload, &parameters).unwrap();
        let plan = RunPlan { arrivals: Loop::Closed { depth: 1 }, limit: 600_000, sectors_per_page: 8, timed: false };
        let (ended, _) =
            run(&mut drive, &mut *source, plan, &mut (), |_: &Drive<CountedFlash>| [0; units::DIE_CAUSES]).unwrap();
        assert_eq!(ended, Ended::Complete);
    }
    let hits = counter(&drive, "page_hits") as f64;
    hits / (hits + counter(&drive, "page_misses") as f64)
}

#[test]
fn uniform_writes_hit_as_often_as_the_buffer_holds_the_drive() {
    for share in [0.05, 0.25] {
        let pages = 20_000_u32;
        let found = hit_ratio((f64::from(pages) * share) as u64, "uniform-write", u64::from(pages), None);
        assert!((found / share - 1.0).abs() < 0.02, "{share}: {found}");
    }
}

/// Che's approximation: the time t in which as many different pages are written as the buffer holds.
fn che(exponent: f64, pages: u32, held: f64) -> f64 {
    let weights: Vec<f64> = (1..=pages).map(|rank| f64::from(rank).powf(-exponent)).collect();
    let total: f64 = weights.iter().sum();
    let seen = |time: f64| weights.iter().map(|weight| 1.0 - (-weight / total * time).exp()).sum::<f64>();
    let (mut low, mut high) = (0.0, 1e12);
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if seen(middle) < held { low = middle } else { high = middle }
    }
    weights.iter().map(|weight| weight / total * (1.0 - (-weight / total * low).exp())).sum()
}

#[test]
fn zipf_writes_hit_as_often_as_che_says() {
    assert!((che(1.0, 100_000, 5_000.0) - 0.6654).abs() < 1e-3, "the form itself, beside a printed value");
    for exponent in [0.8, 1.0] {
        let expected = che(exponent, 20_000, 1_000.0);
        let found = hit_ratio(1_000, "zipf", 20_000, Some(exponent));
        assert!((found / expected - 1.0).abs() < 0.02, "{exponent}: {found}, expected {expected}");
    }
}
