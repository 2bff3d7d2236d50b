//! Spares under stripes: deaths while one is being filled, power cuts while one is, and what too many deaths leave.

use device::{BlockDevice, Clocked, Completions, Drive, DrivePlan, HostOptions, Progress};
use engine::random::Stream;
use nand::{CountedFlash, TimedFlash};
use testkit::Stack;
use units::{DieId, HostOp, Request};

const NOTHING: [u64; 0] = [];

/// Five chips (six with two parities) and so many spares; four data pages a stripe, one sector a page.
fn stack(kind: &str, spares: u32, capacity: &str) -> Stack {
    let mut stack = Stack::plain();
    let chips = if kind.starts_with("raid6") { 6 } else { 5 };
    stack.set("flash.channels", chips + spares).set("stripe.chips", chips).set("stripe.spares", spares);
    for (key, value) in [
        ("flash.dies_per_channel", "1"),
        ("flash.page_size", "512B"),
        ("flash.pages_per_block", "4"),
        ("drive.capacity", capacity),
        ("drive.over_provisioning", "1000%"),
        ("stripe.kind", kind),
        ("stripe.buffer_size", "0B"),
        ("stripe.in_flight", "2"),
        ("stripe.cache.entries", "2"),
    ] {
        stack.set(key, value);
    }
    stack
}

fn timed(plan: &DrivePlan) -> Drive<TimedFlash> {
    plan.assemble(plan.timed(plan.fresh_core()))
}

fn request(op: HostOp, page: u64) -> Request {
    Request { arrival: 0, first_sector: page, sectors: 1, op, fua: false }
}

/// Serves everything; the pages whose requests failed.
fn serve<F: Clocked>(drive: &mut Drive<F>) -> Vec<u64> {
    let (mut completions, mut failed) = (Completions::default(), Vec::new());
    while drive.advance(&mut completions) != Progress::Idle {
        failed.extend(completions.done.iter().filter(|done| done.failed).map(|done| done.request.first_sector));
    }
    assert_eq!(drive.outstanding(), 0, "everything is served");
    failed
}

/// Reads everything back; the pages that cannot be read. The oracle checks the others.
fn unreadable<F: Clocked>(drive: &mut Drive<F>) -> Vec<u64> {
    (0..drive.sectors()).for_each(|page| drive.submit(0, &request(HostOp::Read, page)));
    let failed = serve(drive);
    assert_eq!(drive.oracle().and_then(|oracle| oracle.violation()), None);
    drive.top().check(drive.flash()).unwrap();
    failed
}

fn random_requests(seed: u64, count: u64, pages: u64) -> Vec<Request> {
    let mut stream = Stream::new(seed, "stripes");
    let mut draw = || {
        let op = if stream.chance(0.1) { HostOp::Trim } else { HostOp::Write };
        let first = stream.below(pages);
        let sectors = (1 + stream.below(5)).min(pages - first) as u32;
        Request { sectors, ..request(op, first) }
    };
    (0..count).map(|_| draw()).collect()
}

#[test]
fn a_second_death_while_a_spare_is_being_filled_loses_nothing() {
    // The second is another chip, the spare itself, or the spare that waits.
    for (kind, second, spares) in [
        ("raid4", 6, 2), ("raid5", 6, 2), ("raid5", 5, 2), ("raid5-fpc", 6, 2), ("raid5-ppc", 6, 2), ("raid-elastic", 6, 2),
        ("raid6", 3, 1), ("raid6", 3, 2), ("raid6", 7, 2), ("raid6-ppc", 3, 2),
    ] {
        let plan = stack(kind, spares, "32KiB").plan().unwrap();
        for steps in 0..400 {
            let mut drive = timed(&plan);
            (0..drive.sectors()).for_each(|page| drive.submit(0, &request(HostOp::Write, page)));
            serve(&mut drive);
            drive.kill_die(DieId(0));
            if !(0..steps).all(|_| drive.step()) {
                assert!(steps > 50, "{kind}: the rebuild takes some steps");
                break;
            }
            drive.kill_die(DieId(second));
            serve(&mut drive);
            assert_eq!(unreadable(&mut drive), NOTHING, "{kind}, {spares} spares, then die {second} after {steps} steps");
        }
    }
}

/// A chip dies; then power is cut after every event, the drive goes on from there, fills its spare, and loses one more.
fn cut_while_filling(plan: &DrivePlan, kind: &str, seed: u64, death: u64, later: u32) -> u32 {
    let requests = random_requests(seed, 40, 16);
    let mut drive = timed(plan);
    let (mut next, mut under_way, mut events, mut cuts) = (0, 0, 0, 0);
    let mut stream = Stream::new(1, "cuts");
    loop {
        while under_way < 4 && next < requests.len() {
            drive.submit(0, &requests[next]);
            (next, under_way) = (next + 1, under_way + 1);
        }
        if events == death {
            drive.kill_die(DieId(0));
        }
        events += 1;
        if !drive.step() {
            return cuts;
        }
        under_way -= drive.take_done().len();
        if events <= death {
            continue;
        }
        cuts += 1;
        let image = drive.flash().power_cut(&mut stream);
        let layers = plan.recover_layers::<CountedFlash>(&image).unwrap();
        let mut found = Vec::new();
        testkit::read_back(plan, image.clone(), &mut found).unwrap();
        let at = format!("{kind}, seed {seed}, death at {death}, cut at {events}");
        let values: Vec<u64> = found.iter().map(|value| value.unwrap_or_else(|| panic!("{at}: a sector is lost"))).collect();
        let mut oracle = drive.oracle().unwrap().clone();
        (0..).zip(&values).for_each(|(sector, value)| oracle.check_after_cut(sector, *value));
        assert_eq!(oracle.violation(), None, "{at}");
        oracle.after_cut(&values);
        let host = HostOptions { link_bytes_per_second: 0, idle_after_ns: 0 };
        let mut again = Drive::new(CountedFlash::new(image), layers, plan.user_pages, host);
        *again.oracle_mut().unwrap() = oracle;
        assert_eq!(unreadable(&mut again), NOTHING, "{at}: going on");
        again.kill_die(DieId(later));
        assert_eq!(unreadable(&mut again), NOTHING, "{at}: one more dies");
    }
}

#[test]
fn a_power_cut_while_a_spare_is_being_filled_loses_nothing() {
    for kind in ["raid4", "raid5", "raid5-fpc", "raid5-ppc", "raid6", "raid6-ppc"] {
        let plan = stack(kind, 1, "8KiB").plan().unwrap();
        let runs = (0..5).flat_map(|seed| [2, 30, 90].map(|death| (seed, death)));
        let cuts: u32 = runs.map(|(seed, death)| cut_while_filling(&plan, kind, seed, death, 1 + seed as u32 % 4)).sum();
        assert!(cuts > 500, "{kind}: {cuts} cuts");
    }
}

/// Writes smaller than a page to elastic stripes, a dead chip, then a power cut after every event.
#[test]
fn parts_of_pages_written_while_a_chip_dies_survive_a_power_cut() {
    let mut stack = stack("raid-elastic", 0, "32KiB");
    stack.set("flash.page_size", "2KiB");
    let plan = stack.plan().unwrap();
    for (seed, death, die) in (0..8).flat_map(|seed| [(seed, 2, 3), (seed, 40, 0), (seed, 120, 4)]) {
        let part = |request: &Request| Request { first_sector: request.first_sector * 4 + seed % 3, sectors: request.sectors * 4 - 3, ..*request };
        let requests: Vec<Request> = random_requests(seed, 40, 16).iter().filter(|request| request.op == HostOp::Write).map(part).collect();
        let mut drive = timed(&plan);
        let (mut next, mut under_way, mut events) = (0, 0, 0);
        let mut stream = Stream::new(1, "cuts");
        loop {
            while under_way < 4 && next < requests.len() {
                drive.submit(0, &requests[next]);
                (next, under_way) = (next + 1, under_way + 1);
            }
            if events == death {
                drive.kill_die(DieId(die));
            }
            events += 1;
            if !drive.step() {
                break;
            }
            under_way -= drive.take_done().len();
            let mut found = Vec::new();
            testkit::read_back(&plan, drive.flash().power_cut(&mut stream), &mut found).unwrap();
            let lost = found.iter().position(Option::is_none);
            assert_eq!(lost, None, "seed {seed}, die {die} dead since {death}, cut at {events}");
        }
    }
}

#[test]
fn with_more_chips_dead_than_parities_nothing_is_written_in_vain() {
    for kind in ["raid4", "raid5", "raid5-fpc", "raid5-ppc", "raid6", "raid6-ppc", "fra"] {
        let plan = stack(kind, 0, "8KiB").plan().unwrap();
        let mut drive: Drive<CountedFlash> = plan.assemble(CountedFlash::new(plan.fresh_core()));
        let dead = if kind.starts_with("raid6") { 3 } else { 2 };
        (0..dead).for_each(|die| drive.kill_die(DieId(die)));
        serve(&mut drive); // the layers hear of it
        let mut failed = Vec::new();
        for page in 0..drive.sectors() {
            drive.submit(0, &request(HostOp::Write, page));
            failed.extend(serve(&mut drive));
        }
        assert!(!failed.is_empty(), "{kind}: pages of dead chips cannot be written");
        // What was acknowledged is there, whatever failed is an error.
        for page in unreadable(&mut drive) {
            assert!(failed.contains(&page), "{kind}: page {page} was acknowledged and cannot be read");
        }
    }
}
