//! Stripes under lost chips: every reachable state of a small drive, every chip, every scheme.

use device::{BlockDevice, Clocked, Completions, Drive, DrivePlan, Progress};
use nand::{CountedFlash, Flash, TimedFlash};
use testkit::Stack;
use units::{BlockId, DieId, HostOp, Request};

const NOTHING: [u64; 0] = [];

/// Five chips (six with two parities), four data pages a stripe, two stripes, one sector a page.
fn stack(kind: &str) -> Stack {
    let mut stack = Stack::plain();
    let chips = if kind.starts_with("raid6") { "6" } else { "5" };
    for (key, value) in [
        ("flash.channels", chips),
        ("flash.dies_per_channel", "1"),
        ("flash.page_size", "512B"),
        ("flash.pages_per_block", "4"),
        ("drive.capacity", "4KiB"),
        ("drive.over_provisioning", "1000%"),
        ("stripe.kind", kind),
        ("stripe.buffer_size", "0B"),
        ("stripe.in_flight", "2"),
        ("stripe.cache.entries", "1"),
    ] {
        stack.set(key, value);
    }
    stack
}

fn counted(plan: &DrivePlan) -> Drive<CountedFlash> {
    plan.assemble(CountedFlash::new(plan.fresh_core()))
}

fn request(op: HostOp, page: u64) -> Request {
    Request { arrival: 0, first_sector: page, sectors: 1, op, fua: false }
}

/// Serves everything; the requests that failed.
fn serve<F: Clocked>(drive: &mut Drive<F>) -> Vec<Request> {
    let (mut completions, mut failed) = (Completions::default(), Vec::new());
    while drive.advance(&mut completions) != Progress::Idle {
        failed.extend(completions.done.iter().filter(|done| done.failed).map(|done| done.request));
    }
    assert_eq!(drive.outstanding(), 0, "everything is served");
    failed
}

/// Reads everything back; the pages that cannot be read. The oracle checks the others.
fn unreadable<F: Clocked>(drive: &mut Drive<F>) -> Vec<u64> {
    for page in 0..drive.sectors() {
        drive.submit(0, &request(HostOp::Read, page));
    }
    let failed = serve(drive);
    assert_eq!(drive.oracle().and_then(|oracle| oracle.violation()), None);
    drive.top().check(drive.flash()).unwrap();
    failed.into_iter().map(|request| request.first_sector).collect()
}

/// A drive on which these pages were written in turn.
fn written(plan: &DrivePlan, pages: &[u64]) -> Drive<CountedFlash> {
    let mut drive = counted(plan);
    for page in pages {
        drive.submit(0, &request(HostOp::Write, *page));
    }
    assert_eq!(serve(&mut drive), []);
    drive.top().check(drive.flash()).unwrap();
    drive
}

/// Calls `check` with every sequence of up to `most` of these pages.
fn every_sequence(pages: &[u64], most: usize, check: &mut impl FnMut(&[u64])) {
    fn extend(pages: &[u64], most: usize, sequence: &mut Vec<u64>, check: &mut impl FnMut(&[u64])) {
        check(sequence);
        if sequence.len() == most {
            return;
        }
        for page in pages {
            sequence.push(*page);
            extend(pages, most, sequence, check);
            sequence.pop();
        }
    }
    extend(pages, most, &mut Vec::new(), check);
}

/// Pages 0 to 3 are a stripe; page 5 belongs to the next one and drives the first out of a cache of one.
fn any_chip_may_die(kind: &str) {
    let plan = stack(kind).plan().unwrap();
    every_sequence(&[0, 1, 2, 3, 5], 6, &mut |pages| {
        for die in 0..5 {
            let mut drive = written(&plan, pages);
            drive.kill_die(DieId(die));
            assert_eq!(unreadable(&mut drive), NOTHING, "{kind}: pages {pages:?} written, chip {die} lost");
        }
    });
}

#[test]
fn raid4_survives_any_chip_in_every_state() {
    any_chip_may_die("raid4");
}

#[test]
fn raid5_survives_any_chip_in_every_state() {
    any_chip_may_die("raid5");
}

#[test]
fn full_parity_cache_survives_any_chip_in_every_state() {
    any_chip_may_die("raid5-fpc");
}

#[test]
fn partial_parity_cache_survives_any_chip_in_every_state() {
    any_chip_may_die("raid5-ppc");
}

#[test]
fn elastic_stripes_survive_any_chip_in_every_state() {
    any_chip_may_die("raid-elastic");
}

#[test]
fn two_parities_survive_any_two_chips_in_every_state() {
    for kind in ["raid6", "raid6-ppc"] {
        let plan = stack(kind).plan().unwrap();
        every_sequence(&[0, 1, 2, 3, 5], 5, &mut |pages| {
            for (first, second) in (0..6).flat_map(|first| (first + 1..6).map(move |second| (first, second))) {
                let mut drive = written(&plan, pages);
                drive.kill_die(DieId(first));
                drive.kill_die(DieId(second));
                assert_eq!(unreadable(&mut drive), NOTHING, "{kind}: pages {pages:?} written, chips {first} and {second} lost");
            }
        });
    }
}

/// A drive in virtual time with these pages being written, all at once.
fn writing(plan: &DrivePlan, pages: &[u64]) -> Drive<TimedFlash> {
    let mut drive = plan.assemble(plan.timed(plan.fresh_core()));
    for page in pages {
        drive.submit(0, &request(HostOp::Write, *page));
    }
    drive
}

/// Writes with trims, at random; enough of them that blocks are collected.
fn random_requests(seed: u64, count: u64, pages: u64) -> Vec<Request> {
    let mut stream = engine::random::Stream::new(seed, "stripes");
    let mut draw = || {
        let op = if stream.chance(0.1) { HostOp::Trim } else { HostOp::Write };
        let first = stream.below(pages);
        let sectors = (1 + stream.below(5)).min(pages - first) as u32;
        Request { sectors, ..request(op, first) }
    };
    (0..count).map(|_| draw()).collect()
}

/// Cuts power after every event while `requests` are served at a queue depth of four; then these dies die before
/// anything else happens.
fn power_cut_then_chips(kind: &str, requests: &[Request], dies: &[&[u32]]) {
    let plan = stack(kind).plan().unwrap();
    let mut drive = plan.assemble(plan.timed(plan.fresh_core()));
    let mut stream = engine::random::Stream::new(1, "cuts");
    let (mut next, mut under_way, mut found) = (0, 0, Vec::new());
    loop {
        while under_way < 4 && next < requests.len() {
            drive.submit(0, &requests[next]);
            (next, under_way) = (next + 1, under_way + 1);
        }
        if !drive.step() {
            break;
        }
        under_way -= drive.take_done().len();
        let image = drive.flash().power_cut(&mut stream);
        for dies in dies {
            let mut image = image.clone();
            dies.iter().for_each(|die| image.kill_die(DieId(*die)));
            let place = format!("{kind}: {next} requests, {} ns, chips {dies:?} lost after the cut", drive.now());
            testkit::read_back(&plan, image, &mut found).unwrap_or_else(|error| panic!("{place}: {error}"));
            let oracle = drive.oracle_mut().unwrap();
            for (sector, value) in found.iter().enumerate() {
                oracle.check_after_cut(sector as u64, value.unwrap_or_else(|| panic!("{place}: sector {sector} is lost")));
            }
            assert_eq!(oracle.violation(), None, "{place}");
        }
    }
    assert_eq!((under_way, next), (0, requests.len()));
}

const EACH: [&[u32]; 6] = [&[], &[0], &[1], &[2], &[3], &[4]];

#[test]
fn a_power_cut_and_then_a_lost_chip_lose_nothing_that_was_acknowledged() {
    for kind in ["raid4", "raid5", "raid5-ppc", "raid5-fpc", "raid-elastic"] {
        for seed in 0..20 {
            power_cut_then_chips(kind, &random_requests(seed, 60, 8), &EACH);
        }
    }
}

#[test]
fn a_power_cut_and_then_two_lost_chips_lose_nothing_with_two_parities() {
    let pairs: Vec<Vec<u32>> = (0..6).flat_map(|first| (0..=first).map(move |second| vec![first, second])).collect();
    let pairs: Vec<&[u32]> = pairs.iter().map(Vec::as_slice).collect();
    for kind in ["raid6", "raid6-ppc"] {
        for seed in 0..6 {
            power_cut_then_chips(kind, &random_requests(seed, 40, 8), &pairs);
        }
    }
}

/// Dies die after so many events, while requests are being served; everything must still be served and readable.
fn chips_die_while_it_works(kind: &str, spares: u32, dies: &[u32]) {
    let mut stack = stack(kind);
    if spares > 0 {
        let chips: u32 = stack.get("flash.channels").parse().unwrap();
        stack.set("flash.channels", chips + spares).set("stripe.chips", chips).set("stripe.spares", spares);
    }
    let plan = stack.plan().unwrap();
    for death in 0..150 {
        let requests = random_requests(death, 40, 8);
        let mut drive = plan.assemble(plan.timed(plan.fresh_core()));
        let (mut next, mut under_way, mut events) = (0, 0, 0);
        loop {
            while under_way < 4 && next < requests.len() {
                drive.submit(0, &requests[next]);
                (next, under_way) = (next + 1, under_way + 1);
            }
            if events == death * 3 {
                for die in dies {
                    drive.kill_die(DieId(*die));
                }
            }
            events += 1;
            if !drive.step() {
                break;
            }
            let done = drive.take_done();
            assert!(done.iter().all(|done| !done.failed), "{kind}: a request fails, chips {dies:?} lost after event {}", death * 3);
            under_way -= done.len();
        }
        assert_eq!((under_way, next), (0, requests.len()), "{kind}: all is served, chips {dies:?} lost after event {}", death * 3);
        let lost = unreadable(&mut drive);
        if kind == "fra" {
            continue; // what waited for its parity is lost; the oracle has seen that nothing else is wrong
        }
        assert_eq!(lost, NOTHING, "{kind}: chips {dies:?} lost after event {}", death * 3);
        if spares > 0 {
            // What was rebuilt stands another loss.
            drive.kill_die(DieId((dies[0] + 1) % 5));
            assert_eq!(unreadable(&mut drive), NOTHING, "{kind}: another chip lost after the rebuild, event {}", death * 3);
        }
    }
}

#[test]
fn a_chip_may_die_in_the_middle_of_anything() {
    for kind in ["raid4", "raid5", "raid5-ppc", "raid5-fpc", "raid-elastic"] {
        (0..5).for_each(|die| chips_die_while_it_works(kind, 0, &[die]));
    }
    for kind in ["raid6", "raid6-ppc"] {
        (0..5).for_each(|die| chips_die_while_it_works(kind, 0, &[die, 5]));
    }
}

#[test]
fn a_spare_takes_the_place_of_a_lost_chip_and_then_another_may_die() {
    for kind in ["raid4", "raid5", "raid5-ppc", "raid5-fpc", "fra", "raid-elastic", "raid6", "raid6-ppc"] {
        (0..5).for_each(|die| chips_die_while_it_works(kind, 1, &[die]));
    }
}

/// With two dies on a channel, what fails with a channel is one chip of each stripe.
#[test]
fn a_lost_channel_loses_nothing() {
    for kind in ["raid4", "raid5", "raid5-ppc", "raid5-fpc", "raid-elastic", "raid6", "raid6-ppc"] {
        let plan = stack(kind).set("flash.dies_per_channel", 2).set("drive.capacity", "8KiB").plan().unwrap();
        let channels = plan.geometry.channels;
        every_sequence(&[0, 1, 3, 5, 12], 3, &mut |pages| {
            for channel in 0..channels {
                let mut drive = written(&plan, pages);
                drive.kill_die(DieId(channel));
                drive.kill_die(DieId(channel + channels));
                assert_eq!(unreadable(&mut drive), NOTHING, "{kind}: pages {pages:?} written, channel {channel} lost");
            }
        });
    }
}

/// Data that waits for its parity is lost with its chip, and nothing else is; what is lost reads as an error.
#[test]
fn delayed_parity_without_memory_loses_what_waits_for_it() {
    let plan = stack("fra").set("stripe.cache.entries", 2).plan().unwrap();
    let mut holes = 0;
    every_sequence(&[0, 1, 2, 3, 5], 5, &mut |pages| {
        for die in 0..5 {
            let mut drive = written(&plan, pages);
            drive.kill_die(DieId(die));
            let lost = unreadable(&mut drive);
            // Without time nothing is ever idle: parities are written only with full stripes, and there are none.
            let on_chip = |page: u64| if page < 4 { page as u32 } else { (page - 4) as u32 };
            let waiting: Vec<u64> = [0, 1, 2, 3, 5].into_iter().filter(|page| pages.contains(page) && on_chip(*page) == die).collect();
            assert_eq!(lost, waiting, "pages {pages:?} written, chip {die} lost");
            holes += usize::from(!lost.is_empty());
        }
    });
    assert!(holes > 1000, "the hole is seen");
    // Once the host has been idle nothing waits any more.
    let plan = stack("fra").set("host.idle_after", "1ms").plan().unwrap();
    for die in 0..5 {
        let mut drive = writing(&plan, &[0, 1, 5, 1]);
        serve(&mut drive);
        drive.kill_die(DieId(die));
        assert_eq!(unreadable(&mut drive), NOTHING);
    }
}

/// The parities in memory are gone: as long as no chip is, nothing is lost, and afterwards all is protected again.
#[test]
fn lost_memory_costs_nothing_unless_a_chip_is_lost_as_well() {
    for kind in ["raid5-ppc", "raid5-fpc", "raid6-ppc"] {
        let plan = stack(kind).set("stripe.cache.entries", 2).plan().unwrap();
        every_sequence(&[0, 1, 2, 5], 4, &mut |pages| {
            let drive = written(&plan, pages);
            let mut image = drive.flash().core().after_power_cut(&[], &mut engine::random::Stream::new(1, "cut"));
            image.nvram.lose();
            for die in 0..5 {
                let layers = plan.recover_layers::<CountedFlash>(&image).unwrap();
                let mut again = Drive::new(CountedFlash::new(image.clone()), layers, plan.user_pages, no_host());
                *again.oracle_mut().unwrap() = drive.oracle().unwrap().clone();
                assert_eq!(unreadable(&mut again), NOTHING, "{kind}: {pages:?}, memory lost");
                again.kill_die(DieId(die));
                assert_eq!(unreadable(&mut again), NOTHING, "{kind}: {pages:?}, memory lost, then chip {die}");
            }
        });
    }
}

/// What is lost for good is an error and stays one: after the rebuild, after a power cut, until it is written again.
#[test]
fn what_is_lost_reads_as_an_error_until_it_is_written_again() {
    let mut stack = stack("fra");
    let plan = stack.set("flash.channels", 6).set("stripe.chips", 5).set("stripe.spares", 1).plan().unwrap();
    let mut drive = written(&plan, &[0, 1, 2, 3, 0]);
    drive.submit(0, &request(HostOp::Write, 1));
    serve(&mut drive);
    drive.kill_die(DieId(1));
    assert_eq!(unreadable(&mut drive), [1]);
    let image = drive.flash().core().after_power_cut(&[], &mut engine::random::Stream::new(1, "cut"));
    let layers = plan.recover_layers::<CountedFlash>(&image).unwrap();
    let mut again = Drive::new(CountedFlash::new(image), layers, plan.user_pages, no_host());
    *again.oracle_mut().unwrap() = drive.oracle().unwrap().clone();
    assert_eq!(unreadable(&mut again), [1]);
    again.submit(0, &request(HostOp::Write, 1));
    assert_eq!(serve(&mut again), []);
    assert_eq!(unreadable(&mut again), NOTHING);
}

fn no_host() -> device::HostOptions {
    device::HostOptions { link_bytes_per_second: 0, idle_after_ns: 0 }
}

/// Single pages and whole blocks turn out uncorrectable: they are computed, and written again.
#[test]
fn a_page_or_block_that_cannot_be_read_is_computed_and_healed() {
    for kind in ["raid4", "raid5", "raid5-ppc", "raid5-fpc", "raid-elastic", "raid6", "raid6-ppc"] {
        let plan = stack(kind).plan().unwrap();
        every_sequence(&[0, 1, 3, 5], 4, &mut |pages| {
            let blocks = plan.geometry.blocks();
            for block in (0..blocks).step_by(plan.geometry.blocks_per_plane() as usize).map(BlockId) {
                let mut drive = written(&plan, pages);
                drive.flash_mut().core_mut().lose_block(block);
                assert_eq!(unreadable(&mut drive), NOTHING, "{kind}: {pages:?} written, block {block} lost");
                let healed = drive.flash().core().counters.failed_reads;
                assert_eq!(unreadable(&mut drive), NOTHING);
                assert_eq!(drive.flash().core().counters.failed_reads, healed, "what was read once is good again");
            }
        });
    }
}
