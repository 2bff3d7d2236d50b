//! Stripes under lost chips: every reachable state of a small drive, every chip, every scheme.

use device::{BlockDevice, Clocked, Completions, Drive, DrivePlan, Progress};
use nand::{CountedFlash, Flash, TimedFlash};
use testkit::Stack;
use units::{DieId, HostOp, Request};

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
    for kind in ["raid4", "raid5", "raid5-ppc", "raid5-fpc"] {
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
