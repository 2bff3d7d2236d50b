//! Small tests of faults that were found, each named for its symptom.

use crate::striped::counted;
use nand::{CountedFlash, Counters, FaultPlan, Flash, TimedFlash};
use simulator::{BlockDevice, Clocked, Completions, Drive, DrivePlan, Progress};
use testkit::crash::{Campaign, Tally};
use testkit::{Stack, drain, read_through};
use units::{BlockId, Cause, DieId, HostOp, Request, Wait};

/// Two sectors a page, four pages a block, one die: eleven pages for the user.
fn stack() -> Stack {
    let mut stack = Stack::plain();
    for (key, value) in [
        ("flash.channels", "1"),
        ("flash.dies_per_channel", "1"),
        ("flash.page_size", "1KiB"),
        ("flash.pages_per_block", "4"),
        ("drive.capacity", "11KiB"),
        ("drive.over_provisioning", "200%"),
    ] {
        stack.set(key, value);
    }
    stack
}

fn request(op: HostOp, first_sector: u64, sectors: u32) -> Request {
    Request { arrival: 0, first_sector, sectors, op, fua: false }
}

fn timed(plan: &DrivePlan) -> Drive<TimedFlash> {
    plan.assemble(plan.timed(plan.fresh_state()))
}

fn assert_right<F: Clocked>(drive: &mut Drive<F>) {
    drain(drive);
    assert_eq!(drive.outstanding(), 0, "everything is served");
    let per_page = drive.flash().state().geometry.sectors_per_page();
    assert_eq!(read_through(drive, per_page), Ok(0));
}

/// Power goes now; the drive that comes back must agree with the oracle.
fn cut(plan: &DrivePlan, drive: &mut Drive<TimedFlash>) -> Drive<TimedFlash> {
    let image = drive.flash().power_cut(&mut engine::random::Stream::new(1, "cut"));
    let mut found = Vec::new();
    testkit::read_back(plan, image.clone(), &mut found).expect("recovery succeeds");
    let oracle = drive.oracle_mut().expect("contents are on");
    for (sector, value) in found.iter().enumerate() {
        oracle.check_after_cut(sector as u64, value.expect("all pages are readable"));
    }
    assert_eq!(oracle.violation(), None);
    plan.recover(image).expect("recovery succeeds")
}

#[test]
fn a_partial_write_behind_one_in_flight_keeps_its_sectors() {
    let plan = stack().set("flash.read_in_flight", true).plan().unwrap();
    let mut drive = timed(&plan);
    drive.submit(0, &request(HostOp::Write, 0, 2));
    drive.submit(1, &request(HostOp::Write, 1, 1));
    assert_right(&mut drive);
}

#[test]
fn a_read_in_flight_of_sectors_never_written_returns_zeros() {
    let plan = stack().set("flash.read_in_flight", true).plan().unwrap();
    let mut drive = timed(&plan);
    drive.submit(0, &request(HostOp::Write, 4, 2));
    drain(&mut drive);
    drive.submit(0, &request(HostOp::Write, 0, 1));
    drive.submit(1, &request(HostOp::Read, 0, 2));
    assert_right(&mut drive);
}

#[test]
fn a_version_written_between_two_trims_does_not_outlive_the_second() {
    // The log held both trims of the page; the first one's number went on when the tombstone moved.
    let plan = stack().plan().unwrap();
    let mut drive = timed(&plan);
    drive.submit(0, &request(HostOp::Write, 0, 2));
    drain(&mut drive);
    for op in [HostOp::Trim, HostOp::Write, HostOp::Trim, HostOp::Flush] {
        drive.submit(0, &request(op, 0, if op == HostOp::Flush { 0 } else { 2 }));
        drain(&mut drive);
    }
    for round in 0..200 {
        drive.submit(0, &request(HostOp::Write, 2 + round % 10 * 2, 2));
        drain(&mut drive);
        cut(&plan, &mut drive);
    }
}

#[test]
fn a_trim_does_not_overtake_a_write_that_arrives_over_the_link_at_the_same_moment() {
    let plan = stack().set("host.link_bandwidth", "50MB/s").plan().unwrap();
    let mut drive = timed(&plan);
    drive.submit(0, &request(HostOp::Write, 0, 2));
    // 1,024 bytes take 20,480 ns; a timer of the host fires at that very time, before the link's.
    drive.wake_at(20_480);
    let mut completions = simulator::Completions::default();
    drive.advance(&mut completions);
    drive.submit(1, &request(HostOp::Trim, 0, 2));
    drive.submit(2, &request(HostOp::Flush, 0, 0));
    assert_right(&mut drive);
}

#[test]
fn a_write_that_waits_for_programs_under_way_is_woken_when_they_end() {
    // All blocks worth collecting had programs under way, and nobody looked again.
    for depth in 1..40 {
        let plan = stack().set("ftl.gc.frontier", "shared").plan().unwrap();
        let mut drive = timed(&plan);
        for number in 0..200 {
            drive.submit(number, &request(HostOp::Write, u64::from(number * 7 % depth % 11) * 2, 2));
        }
        assert_right(&mut drive);
    }
}

#[test]
fn a_link_does_not_stop_a_drive_without_time() {
    let plan = stack().set("host.link_bandwidth", "50MB/s").plan().unwrap();
    let mut drive = plan.assemble(CountedFlash::new(plan.fresh_state()));
    drive.submit(0, &request(HostOp::Write, 0, 22));
    assert_right(&mut drive);
}

#[test]
fn a_failed_program_keeps_its_data_on_a_drive_without_time() {
    let plan = stack().plan().unwrap();
    let mut state = plan.fresh_state();
    state.set_faults(FaultPlan { bad_programs: vec![BlockId(0), BlockId(1)], ..FaultPlan::default() }, 1);
    let mut drive = plan.assemble(CountedFlash::new(state));
    for round in 0..20 {
        drive.submit(0, &request(HostOp::Write, round % 16, 2));
        drive.submit(1, &request(HostOp::Trim, round % 16 + 2, 4));
        drive.submit(2, &request(HostOp::Flush, 0, 0));
        assert_right(&mut drive);
    }
}

#[test]
fn a_partial_write_behind_one_that_failed_keeps_its_sectors() {
    let plan = stack().plan().unwrap();
    for bad in [vec![0], vec![0, 1], vec![0, 1, 2]] {
        let mut state = plan.fresh_state();
        let bad_programs = bad.into_iter().map(BlockId).collect();
        state.set_faults(FaultPlan { bad_programs, ..FaultPlan::default() }, 1);
        let mut drive = plan.assemble(plan.timed(state));
        drive.submit(0, &request(HostOp::Write, 0, 2));
        drive.submit(1, &request(HostOp::Write, 1, 1));
        drive.submit(2, &request(HostOp::Read, 0, 2));
        drive.submit(3, &request(HostOp::Write, 0, 1));
        assert_right(&mut drive);
    }
}

/// Some pages written, then every program fails: nothing can be written, everything can be read.
#[test]
fn a_drive_that_can_program_nothing_any_more_still_answers_every_read() {
    for frontier in ["separate", "shared"] {
        for rounds in [5, 11, 30, 60] {
            let plan = stack().set("ftl.gc.frontier", frontier).plan().unwrap();
            let mut drive = timed(&plan);
            for round in 0..rounds {
                drive.submit(round, &request(HostOp::Write, u64::from(round * 7 % 11) * 2, 2));
            }
            let mut completions = simulator::Completions::default();
            for _ in 0..rounds / 2 {
                drive.advance(&mut completions);
            }
            let bad_programs = (0..plan.geometry.blocks()).map(BlockId).collect();
            drive.flash_mut().state_mut().set_faults(FaultPlan { bad_programs, ..FaultPlan::default() }, 1);
            drain(&mut drive);
            assert_eq!(read_through(&mut drive, 2), Ok(0), "{frontier}, {rounds} writes");
        }
    }
}

/// Drives that stood still with blocks to spare: the room promised to a collection went with a
/// failed block, or the one erased block kept for collection failed itself.
#[test]
fn a_drive_with_blocks_to_spare_goes_on_when_the_block_it_collects_into_fails() {
    for seed in [5041, 5125, 5188, 5293, 5295, 5341, 500_172] {
        let campaign = Campaign {
            faults: testkit::Faults::Rare,
            layers: testkit::Layers::mapping("page"),
            ..Campaign::new(4000, seed)
        };
        campaign.live(seed, &mut Tally::default()).unwrap_or_else(|failure| panic!("{failure}"));
    }
}

/// Lives that once ended badly: foreign data, trims undone, drives without a free block after
/// several cuts, blocks erased twice after a failed program.
#[test]
fn lives_that_ended_badly_once_end_well() {
    for seed in [1, 5, 11, 15, 18, 19, 20, 30, 72, 78, 92, 864, 925] {
        let campaign = Campaign { layers: testkit::Layers::mapping("page"), ..Campaign::new(4000, seed) };
        campaign.live(seed, &mut Tally::default()).unwrap_or_else(|failure| panic!("{failure}"));
    }
}

/// The only segment of a bank was full of data and tombstones, and other banks had room for those.
#[test]
fn a_full_segment_that_is_a_whole_bank_gives_its_tombstones_away() {
    let layers = testkit::Layers { buffer: None, ..testkit::Layers::stripe("coded") };
    let campaign = Campaign { layers, ..Campaign::new(4000, 930_271) };
    campaign.live(930_271, &mut Tally::default()).unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn data_that_completes_a_block_has_a_place_again_when_its_program_fails() {
    let layers = testkit::Layers { mapping: Some("page"), ..testkit::Layers::default() };
    let campaign = Campaign { faults: testkit::Faults::Rare, layers, ..Campaign::new(4000, 88_269) };
    campaign.live(88_269, &mut Tally::default()).unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn lives_with_faults_that_ended_badly_once_end_well() {
    for seed in [2, 3, 4, 5, 6, 7, 8] {
        let campaign = Campaign {
            faults: testkit::Faults::Rare,
            layers: testkit::Layers::mapping("page"),
            ..Campaign::new(4000, seed)
        };
        campaign.live(seed, &mut Tally::default()).unwrap_or_else(|failure| panic!("{failure}"));
    }
}

#[test]
fn a_drive_of_translation_pages_does_not_hang_when_programs_fail() {
    // 5002, 5022: reads of translation pages were still to come when the program of their page failed.
    // 27034: it was placed again behind a program that waited for such a read.
    for seed in [5002, 5022, 27_034] {
        let campaign = Campaign {
            faults: testkit::Faults::Rare,
            layers: testkit::Layers::mapping("dftl"),
            ..Campaign::new(4000, seed)
        };
        campaign.live(seed, &mut Tally::default()).unwrap_or_else(|failure| panic!("{failure}"));
    }
}

#[test]
fn power_cuts_during_collection_do_not_use_up_the_blocks_kept_for_it() {
    // 25, 89: each cut left copies without a use, or the host wrote into what collection had left.
    for seed in [25, 89] {
        let campaign = Campaign { layers: testkit::Layers::mapping("tpm"), ..Campaign::new(4000, seed) };
        campaign.live(seed, &mut Tally::default()).unwrap_or_else(|failure| panic!("{failure}"));
    }
}

#[test]
fn a_flushed_trim_is_not_undone_by_a_page_that_non_volatile_memory_is_still_sending() {
    // The trim's tombstone was on flash before the program of the page; power went between both.
    let mut campaign = Campaign::new(4000, 35);
    campaign.layers.buffer = Some("cbm");
    campaign.live(campaign.seed, &mut Tally::default()).unwrap_or_else(|failure| panic!("{failure}"));
}

fn lives_end_well(mapping: &'static str, faults: testkit::Faults, seeds: &[u64]) {
    for &seed in seeds {
        let campaign = Campaign { faults, layers: testkit::Layers::mapping(mapping), ..Campaign::new(4000, seed) };
        campaign.live(seed, &mut Tally::default()).unwrap_or_else(|failure| panic!("{failure}"));
    }
}

#[test]
fn a_merge_that_carries_a_tombstone_before_its_event_is_handled_releases_what_it_held() {
    lives_end_well("bast", testkit::Faults::None, &[2]);
}

#[test]
fn a_data_block_with_a_carried_tombstone_is_still_in_place_after_a_power_cut() {
    // It was taken for a shared log block, and its logical block wanted another data block.
    lives_end_well("fast", testkit::Faults::None, &[13]);
}

#[test]
fn a_shared_log_block_is_not_erased_while_copies_from_it_may_fail() {
    lives_end_well("fast", testkit::Faults::Rare, &[22, 24]);
}

#[test]
fn a_block_switched_away_is_erased_after_the_programs_on_their_way_to_it() {
    // The erase waited for programs that waited for the erase.
    lives_end_well("block", testkit::Faults::None, &[67]);
    lives_end_well("block", testkit::Faults::Rare, &[48, 67]);
    lives_end_well("fast", testkit::Faults::Rare, &[34, 67]);
}

/// One die of blocks of eight pages; copies and host share a block, and nothing is collected before the host finds no
/// page.
fn cleans_late() -> Stack {
    let mut stack = Stack::plain();
    for (key, value) in [
        ("flash.channels", "1"),
        ("flash.dies_per_channel", "1"),
        ("flash.page_size", "512B"),
        ("flash.pages_per_block", "8"),
        ("flash.read_time", "25us"),
        ("flash.program_time", "200us"),
        ("flash.erase_time", "1500us"),
        ("flash.bus_bandwidth", "unlimited"),
        ("flash.command_overhead", "0ns"),
        ("drive.capacity", "32KiB"),
        ("drive.over_provisioning", "50%"),
        ("ftl.gc.frontier", "shared"),
        ("ftl.gc.free_blocks", "0"),
        ("host.idle_after", "10us"),
    ] {
        stack.set(key, value);
    }
    stack
}

/// Programs of collection so far.
fn copies(drive: &Drive<TimedFlash>) -> u64 {
    drive.flash().state().counters.programs[Cause::Gc.index()]
}

/// Serves until a request ends.
fn until_done(drive: &mut Drive<TimedFlash>) -> Completions {
    let mut completions = Completions::default();
    while completions.done.is_empty() {
        assert!(drive.advance(&mut completions) != Progress::Idle);
    }
    completions
}

#[test]
fn idle_collection_that_is_off_collects_nothing_while_the_host_is_idle() {
    for (background, expected) in [("0", false), ("2", true)] {
        let plan = cleans_late().set("ftl.gc.background_free_blocks", background).plan().unwrap();
        let mut drive = timed(&plan);
        let mut stream = engine::random::Stream::new(1, "idle");
        let mut idle = 0;
        for number in 0..400 {
            let page = if number < 64 { number } else { stream.below(64) };
            drive.submit(0, &Request { arrival: drive.now(), ..request(HostOp::Write, page, 1) });
            until_done(&mut drive);
            let before = copies(&drive);
            drain(&mut drive);
            idle += copies(&drive) - before;
        }
        assert!(copies(&drive) > 100);
        assert_eq!(idle > 0, expected, "{idle} copies while idle, ftl.gc.background_free_blocks = {background}");
    }
}

/// The read is of the page written last, which no collection touches; what it waits for is the collection alone.
#[test]
fn a_read_behind_cleaning_that_is_not_interrupted_waits_for_all_of_it() {
    for (cleaning, window) in
        [("interleaved", "64"), ("uninterrupted", "1"), ("uninterrupted", "4"), ("uninterrupted", "64")]
    {
        let plan = cleans_late().set("flash.cleaning", cleaning).set("ftl.gc.copies_in_flight", window).plan().unwrap();
        let mut drive = timed(&plan);
        let mut stream = engine::random::Stream::new(2, "behind");
        let (mut last, mut behind) = (0, 0);
        for number in 0..400 {
            let page = if number < 64 { number } else { stream.below(64) };
            drive.submit(0, &Request { arrival: drive.now(), ..request(HostOp::Write, page, 1) });
            let cleans = drive.flash().backlog(DieId(0)).cleaning > 0;
            if cleans && page != last {
                let (began, erased) = (drive.now(), drive.flash().state().counters.erases[Cause::Gc.index()]);
                drive.submit(1, &Request { arrival: began, ..request(HostOp::Read, last, 1) });
                let completions = until_done(&mut drive);
                let done = completions.done[0];
                if done.request.op == HostOp::Read {
                    behind += 1;
                    let waited = completions.waits[done.wait.expect("it waited")];
                    let ended = drive.flash().state().counters.erases[Cause::Gc.index()] > erased;
                    assert_eq!(
                        ended,
                        cleaning == "uninterrupted",
                        "{cleaning}, {window} copies at once: write {number}"
                    );
                    assert_eq!(waited.direct(Wait::Cause(Cause::Gc)), waited.total());
                    assert_eq!(waited.total() + 25_000, drive.now() - began, "it waited for cleaning alone");
                }
            }
            drain(&mut drive);
            last = page;
        }
        assert!(behind > 10, "{cleaning}, {window} copies at once: {behind} reads behind cleaning");
        assert_right(&mut drive);
    }
}

/// Pages that stay on their planes left no room there for tombstones of few pages, though other planes had some.
#[test]
fn tombstones_leave_a_plane_that_its_own_pages_fill() {
    for kind in ["raid0", "none"] {
        let mut stack = Stack::plain();
        for (key, value) in [
            ("flash.channels", "5"),
            ("flash.dies_per_channel", "2"),
            ("flash.page_size", "4KiB"),
            ("flash.pages_per_block", "2"),
            ("drive.capacity", "480KiB"),
            ("drive.over_provisioning", "50%"),
            ("stripe.kind", kind),
            ("stripe.buffer_size", "0B"),
            ("ftl.allocation.placement", if kind == "none" { "static" } else { "dynamic" }),
        ] {
            stack.set(key, value);
        }
        let mut drive = counted(&stack.plan().unwrap());
        let mut stream = engine::random::Stream::new(1, "trims");
        for number in 0..20_000 {
            let op = match number % 5 {
                4 => HostOp::Flush,
                _ if stream.below(10) < 4 => HostOp::Trim,
                _ => HostOp::Write,
            };
            let (first, sectors) = if op == HostOp::Flush { (0, 0) } else { (stream.below(120) * 8, 8) };
            drive.submit(0, &request(op, first, sectors));
            drain(&mut drive);
            assert_eq!(drive.outstanding(), 0, "{kind}: request {number} finds no room");
        }
        assert_eq!(drive.oracle().unwrap().violation(), None);
    }
}

/// What 4000 writes of one sector program and erase, and the fewest erased blocks of a lane after each. They end with
/// the first erase that fails.
fn cost_of_writes(settings: &[(&'static str, &str)], lanes: usize) -> (u64, u64, Vec<usize>) {
    let mut stack = Stack::plain();
    let small = [
        ("flash.channels", "4"),
        ("flash.dies_per_channel", "1"),
        ("flash.page_size", "512B"),
        ("flash.pages_per_block", "8"),
        ("drive.capacity", "128KiB"),
        ("ftl.gc.frontier", "shared"),
        ("ftl.gc.free_blocks", "0"),
        ("engine.contents", "none"),
    ];
    for (key, value) in small.iter().chain(settings) {
        stack.set(key, value);
    }
    let mut drive = counted(&stack.plan().unwrap());
    let mut stream = engine::random::Stream::new(1, "writes");
    let mut fewest = Vec::new();
    for _ in 0..4000 {
        drive.submit(0, &request(HostOp::Write, stream.below(drive.sectors()), 1));
        drain(&mut drive);
        let state = drive.flash().state();
        if state.counters.failed_erases > 0 {
            break;
        }
        let rows = state.blocks();
        let erased = |lane: &[nand::BlockRow]| lane.iter().filter(|row| row.is_free()).count();
        fewest.extend(rows.chunks(rows.len() / lanes).map(erased).min());
    }
    let counters = &drive.flash().state().counters;
    (Counters::total(&counters.programs), Counters::total(&counters.erases), fewest)
}

/// Blocks that could wear out one day took an erased block of each plane or segment from the first write on: four spare
/// blocks of a segment were as good as three.
#[test]
fn a_drive_with_an_endurance_copies_no_more_than_one_without_until_a_block_is_worn_out() {
    let zones =
        [("stripe.kind", "coded"), ("coded.size", "64KiB"), ("coded.block", "1KiB"), ("coded.spare_blocks", "4")];
    let planes = [("drive.over_provisioning", "60%")];
    for (settings, lanes) in [(&zones[..], 8), (&planes, 4)] {
        let with = |endurance| cost_of_writes(&[settings, &[("flash.endurance", endurance)]].concat(), lanes);
        assert_eq!(with("1000"), with("0"), "{settings:?}");
        let (.., never) = with("0");
        let (.., worn) = with("15");
        assert!(worn.len() < never.len(), "{settings:?}: an erase of a worn-out block fails");
        assert_eq!(never.iter().min(), Some(&1), "{settings:?}: one is kept for collection");
        assert_eq!(worn.last(), Some(&2), "{settings:?}: and one more when a block is worn out");
    }
}

/// Superblocks of eight pages that held six with their parities were collected into others just as full, for ever.
#[test]
fn elastic_stripes_with_no_room_to_gain_refuse_writes_instead_of_copying_for_ever() {
    let mut stack = Stack::plain();
    for (key, value) in [
        ("flash.channels", "4"),
        ("flash.dies_per_channel", "1"),
        ("flash.page_size", "512B"),
        ("flash.pages_per_block", "2"),
        ("flash.endurance", "200"),
        ("drive.capacity", "160KiB"),
        ("drive.over_provisioning", "15%"),
        ("stripe.kind", "raid-elastic"),
        ("stripe.buffer_size", "1MiB"),
        ("engine.contents", "none"),
    ] {
        stack.set(key, value);
    }
    let mut drive = counted(&stack.plan().unwrap());
    let mut stream = engine::random::Stream::new(1, "writes");
    for number in 0..6000 {
        let op = if number % 7 == 0 { HostOp::Flush } else { HostOp::Write };
        let first = if op == HostOp::Flush { 0 } else { stream.below(40) * 8 };
        drive.submit(0, &request(op, first, if op == HostOp::Flush { 0 } else { 8 }));
        drain(&mut drive);
        if drive.outstanding() > 0 {
            break;
        }
    }
    drive.top().check(drive.flash()).unwrap();
    assert_eq!(drive.flash().state().counters.failed_erases, 0, "no block wears out for nothing");
}

/// Power cuts and a lost die left superblocks half filled, and nothing but what they had room for could be collected
/// into: nobody filled them.
#[test]
fn elastic_stripes_go_on_in_superblocks_that_power_cuts_left_half_filled() {
    // 242583: there were gaps only, as power was cut while superblocks were erased.
    for (seed, layers) in [(242_043, testkit::Layers::default()), (242_583, testkit::Layers::stripe("raid-elastic"))] {
        let campaign = Campaign { faults: testkit::Faults::Deaths, layers, ..Campaign::new(4000, seed) };
        campaign.live(seed, &mut Tally::default()).unwrap_or_else(|failure| panic!("{failure}"));
    }
}

/// Of a stripe that a power cut left incomplete, one page was on a lost die. When the die of another one was lost as
/// well the stripe looked complete, and its version, which nobody was told of, newer than the one that was there.
#[test]
fn an_incomplete_elastic_stripe_with_a_lost_die_hides_no_older_version() {
    let layers = testkit::Layers::stripe("raid-elastic");
    let campaign = Campaign { faults: testkit::Faults::Deaths, layers, ..Campaign::new(4000, 242_007) };
    campaign.live(242_007, &mut Tally::default()).unwrap_or_else(|failure| panic!("{failure}"));
}

/// Copies of a tombstone that was written again lay on one die; two of them were taken for a tombstone and its twin.
#[test]
fn an_elastic_tombstone_has_its_twin_on_another_die() {
    let layers = testkit::Layers::stripe("raid-elastic");
    let campaign = Campaign { faults: testkit::Faults::Deaths, layers, ..Campaign::new(4000, 243_518) };
    campaign.live(243_518, &mut Tally::default()).unwrap_or_else(|failure| panic!("{failure}"));
}

/// Collection waited for an old version of a torn stripe, a read of that stripe ended, and that collection waited was
/// forgotten: the stripe's repair, which had to drop the version, waited for room that only collection could make.
#[test]
fn a_read_that_ends_leaves_the_repair_behind_it_in_the_way_of_collection() {
    let campaign = Campaign { faults: testkit::Faults::Deaths, ..Campaign::new(4000, 242_998) };
    campaign.live(242_998, &mut Tally::default()).unwrap_or_else(|failure| panic!("{failure}"));
}

/// There was no room for a tombstone's copy, and what the tombstone replaced was erased meanwhile: its die was lost,
/// power was cut, and the page had the version before its trim.
#[test]
fn a_tombstone_without_its_copies_keeps_what_it_replaces_from_being_erased() {
    let campaign = Campaign { faults: testkit::Faults::Deaths, ..Campaign::new(4000, 262_156) };
    campaign.live(262_156, &mut Tally::default()).unwrap_or_else(|failure| panic!("{failure}"));
}

/// A write of a page on a lost chip and of another one stalled between the two: a read of the first, which passed it,
/// had the page as it was before. Its new version was in no parity yet.
#[test]
fn a_read_that_passes_a_stalled_write_has_what_that_writes_to_a_lost_chip() {
    let campaign = Campaign { faults: testkit::Faults::Deaths, ..Campaign::new(4000, 292_099) };
    campaign.live(292_099, &mut Tally::default()).unwrap_or_else(|failure| panic!("{failure}"));
}

/// A superblock whose failed blocks left no two near each other was freed, closed unused and erased, for ever.
#[test]
fn elastic_stripes_give_up_superblocks_that_hold_no_page_with_its_parity() {
    let mut refusals = 0;
    for seed in 1..=10 {
        let mut stack = Stack::plain();
        for (key, value) in [
            ("flash.channels", "8"),
            ("flash.dies_per_channel", "1"),
            ("flash.planes_per_die", "2"),
            ("flash.pages_per_block", "8"),
            ("flash.fault.program", "1%"),
            ("drive.capacity", "16MiB"),
            ("drive.over_provisioning", "60%"),
            ("stripe.kind", "raid-elastic"),
            ("engine.contents", "none"),
        ] {
            stack.set(key, value);
        }
        stack.set("engine.seed", seed);
        let mut drive = counted(&stack.plan().unwrap());
        let mut next = 0;
        for _ in 0..12_000 {
            drive.submit(0, &request(HostOp::Write, next * 32, 32));
            drain(&mut drive);
            next = (next + 1) % 1024;
            if drive.outstanding() > 0 {
                refusals += 1;
                break;
            }
        }
        drive.top().check(drive.flash()).unwrap();
    }
    assert!(refusals > 0, "blocks that fail must at some time leave no room");
}
