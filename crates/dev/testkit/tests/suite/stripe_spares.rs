//! Spares under stripes: deaths while one is being filled, power cuts while one is, and what too many deaths leave.

use crate::striped::{Fed, NOTHING, counted, random_requests, request, restarted, serve, stack, timed, unreadable};
use engine::random::Stream;
use simulator::{BlockDevice, DrivePlan};
use units::{DieId, HostOp, Request};

#[test]
fn a_second_death_while_a_spare_is_being_filled_loses_nothing() {
    // The second is another chip, the spare itself, or the spare that waits.
    for (kind, second, spares) in [
        ("raid4", 6, 2),
        ("raid5", 6, 2),
        ("raid5", 5, 2),
        ("raid5-fpc", 6, 2),
        ("raid5-ppc", 6, 2),
        ("raid-elastic", 6, 2),
        ("raid6", 3, 1),
        ("raid6", 3, 2),
        ("raid6", 7, 2),
        ("raid6-ppc", 3, 2),
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
            assert_eq!(
                unreadable(&mut drive),
                NOTHING,
                "{kind}, {spares} spares, then die {second} after {steps} steps"
            );
        }
    }
}

/// A chip dies; then power is cut after every event, the drive goes on from there, fills its spare, and loses one more.
fn cut_while_filling(plan: &DrivePlan, kind: &str, seed: u64, death: u64, later: u32) -> u32 {
    let requests = random_requests(seed, 40, 16);
    let mut fed = Fed::new(plan, &requests);
    let (mut stream, mut cuts) = (Stream::new(1, "cuts"), 0);
    loop {
        if fed.events == death {
            fed.drive.kill_die(DieId(0));
        }
        if fed.step().is_none() {
            return cuts;
        }
        if fed.events <= death {
            continue;
        }
        cuts += 1;
        let image = fed.drive.flash().power_cut(&mut stream);
        let mut found = Vec::new();
        testkit::read_back(plan, image.clone(), &mut found).unwrap();
        let at = format!("{kind}, seed {seed}, death at {death}, cut at {}", fed.events);
        let values: Vec<u64> =
            found.iter().map(|value| value.unwrap_or_else(|| panic!("{at}: a sector is lost"))).collect();
        let mut oracle = fed.drive.oracle().unwrap().clone();
        (0..).zip(&values).for_each(|(sector, value)| oracle.check_after_cut(sector, *value));
        assert_eq!(oracle.violation(), None, "{at}");
        oracle.after_cut(&values);
        let mut again = restarted(plan, image, oracle);
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
        let cuts: u32 =
            runs.map(|(seed, death)| cut_while_filling(&plan, kind, seed, death, 1 + seed as u32 % 4)).sum();
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
        let part = |request: &Request| Request {
            first_sector: request.first_sector * 4 + seed % 3,
            sectors: request.sectors * 4 - 3,
            ..*request
        };
        let requests: Vec<Request> =
            random_requests(seed, 40, 16).iter().filter(|request| request.op == HostOp::Write).map(part).collect();
        let mut fed = Fed::new(&plan, &requests);
        let mut stream = Stream::new(1, "cuts");
        loop {
            if fed.events == death {
                fed.drive.kill_die(DieId(die));
            }
            if fed.step().is_none() {
                break;
            }
            let mut found = Vec::new();
            testkit::read_back(&plan, fed.drive.flash().power_cut(&mut stream), &mut found).unwrap();
            let lost = found.iter().position(Option::is_none);
            assert_eq!(lost, None, "seed {seed}, die {die} dead since {death}, cut at {}", fed.events);
        }
    }
}

#[test]
fn with_more_chips_dead_than_parities_nothing_is_written_in_vain() {
    for kind in ["raid4", "raid5", "raid5-fpc", "raid5-ppc", "raid6", "raid6-ppc", "fra"] {
        let plan = stack(kind, 0, "8KiB").plan().unwrap();
        let mut drive = counted(&plan);
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

/// Reads that are under way when a chip dies are answered from the others.
#[test]
fn no_read_fails_because_a_chip_dies_meanwhile() {
    for kind in ["raid4", "raid5", "raid5-fpc", "raid5-ppc", "raid6", "raid6-ppc", "raid-elastic"] {
        let plan = stack(kind, 0, "32KiB").plan().unwrap();
        for steps in 0..40 {
            let mut drive = timed(&plan);
            (0..drive.sectors()).for_each(|page| drive.submit(0, &request(HostOp::Write, page)));
            serve(&mut drive);
            (0..drive.sectors()).for_each(|page| drive.submit(0, &request(HostOp::Read, page)));
            (0..steps).for_each(|_| _ = drive.step());
            drive.kill_die(DieId(2));
            assert_eq!(serve(&mut drive), NOTHING, "{kind}: a chip dies after {steps} steps");
        }
    }
}

/// A drive that has lost a chip, was cut off and goes on, protects everything again before the next one dies.
#[test]
fn elastic_stripes_are_whole_again_after_a_death_and_a_power_cut() {
    for spares in [0, 1] {
        let plan = stack("raid-elastic", spares, "16KiB").plan().unwrap();
        for (seed, death) in (0..12).flat_map(|seed| [1, 25, 70, 200].map(|death| (seed, death))) {
            let requests = random_requests(seed, 60, 32);
            let mut fed = Fed::new(&plan, &requests);
            let mut stream = Stream::new(seed, "cuts");
            while fed.events < death + 20 * seed {
                if fed.events == death {
                    fed.drive.kill_die(DieId(1));
                }
                if fed.step().is_none() {
                    break;
                }
            }
            let image = fed.drive.flash().power_cut(&mut stream);
            let mut found = Vec::new();
            testkit::read_back(&plan, image.clone(), &mut found).unwrap();
            let values: Vec<u64> = found.iter().map(|value| value.expect("nothing is lost")).collect();
            let mut oracle = fed.drive.oracle().unwrap().clone();
            oracle.after_cut(&values);
            let mut again = restarted(&plan, image, oracle);
            assert_eq!(unreadable(&mut again), NOTHING);
            // The rebuild goes on with whatever happens next.
            again.submit(0, &request(HostOp::Write, 0));
            serve(&mut again);
            again.kill_die(DieId(3));
            assert_eq!(unreadable(&mut again), NOTHING, "{spares} spares, seed {seed}, death at {death}, then another");
        }
    }
}

#[test]
fn a_page_that_cannot_be_read_while_a_spare_is_filled_is_an_error() {
    for kind in ["raid4", "raid5", "raid5-fpc", "raid5-ppc"] {
        let plan = stack(kind, 1, "4KiB").plan().unwrap();
        let mut drive = counted(&plan);
        (0..8).for_each(|page| drive.submit(0, &request(HostOp::Write, page)));
        assert_eq!(serve(&mut drive), NOTHING);
        drive.flash_mut().state_mut().lose_block(units::BlockId(2 * plan.geometry.blocks_per_plane()));
        drive.kill_die(DieId(1));
        serve(&mut drive);
        let lost = unreadable(&mut drive);
        assert!(!lost.is_empty() && lost.len() < 8, "{kind}: {lost:?}");
        // What is written anew is there again, with all its neighbours.
        for page in lost {
            drive.submit(0, &request(HostOp::Write, page));
        }
        assert_eq!(serve(&mut drive), NOTHING);
        assert_eq!(unreadable(&mut drive), NOTHING, "{kind}");
        drive.kill_die(DieId(3));
        assert_eq!(unreadable(&mut drive), NOTHING, "{kind}: the new parity covers everything");
    }
}

#[test]
fn two_lost_dies_and_one_spare_make_errors_and_no_wrong_data() {
    for kind in ["raid4", "raid5", "raid5-fpc", "raid5-ppc"] {
        let plan = stack(kind, 1, "4KiB").plan().unwrap();
        let mut drive = counted(&plan);
        (0..8).for_each(|page| drive.submit(0, &request(HostOp::Write, page)));
        serve(&mut drive);
        drive.kill_die(DieId(1));
        drive.kill_die(DieId(2));
        serve(&mut drive);
        let lost = unreadable(&mut drive);
        assert!(!lost.is_empty() && lost.len() < 8, "{kind}: {lost:?}");
    }
}

#[test]
fn buffered_writes_that_stripes_refuse_are_errors_and_not_the_old_version() {
    for kind in ["raid4", "raid5", "raid5-fpc", "raid5-ppc"] {
        let mut stack = stack(kind, 0, "8KiB");
        stack.set("stripe.buffer_size", "1KiB");
        let plan = stack.plan().unwrap();
        let mut drive = counted(&plan);
        (0..16).for_each(|page| drive.submit(0, &request(HostOp::Write, page)));
        serve(&mut drive);
        drive.kill_die(DieId(0));
        drive.kill_die(DieId(1));
        serve(&mut drive);
        for page in 0..16 {
            drive.submit(0, &request(HostOp::Write, page));
            serve(&mut drive);
        }
        drive.submit(0, &request(HostOp::Flush, 0));
        assert_eq!(serve(&mut drive), [0], "{kind}: a flush says that something was not written");
        let lost = unreadable(&mut drive);
        assert!(lost.len() > 4, "{kind}: {lost:?}");
    }
}

#[test]
fn part_of_a_lost_page_written_anew_does_not_make_the_rest_good() {
    for kind in ["raid4", "raid5", "raid5-fpc", "raid5-ppc", "raid-elastic"] {
        let mut stack = stack(kind, 0, "32KiB");
        stack.set("flash.page_size", "1KiB");
        let plan = stack.plan().unwrap();
        let mut drive = counted(&plan);
        let part = |sector: u64, sectors: u32| Request { sectors, ..request(HostOp::Write, sector) };
        (0..8).for_each(|page| drive.submit(0, &part(2 * page, 2)));
        assert_eq!(serve(&mut drive), NOTHING);
        drive.kill_die(DieId(0));
        drive.kill_die(DieId(1));
        (0..8).for_each(|page| drive.submit(0, &part(2 * page, 1)));
        let failed = serve(&mut drive);
        assert!(!failed.is_empty(), "{kind}");
        let lost = unreadable(&mut drive);
        assert!(
            failed.iter().all(|sector| lost.contains(sector)),
            "{kind}: writes of {failed:?} failed, {lost:?} cannot be read"
        );
    }
}

#[test]
fn losses_beyond_what_stripes_promise_are_errors_and_never_wrong_data() {
    let mut lost = 0;
    for kind in ["raid4", "raid5", "raid5-fpc", "raid5-ppc", "raid6", "raid6-ppc", "raid-elastic"] {
        for seed in 0..6 {
            let mut stack = stack(kind, 1, "64KiB");
            stack.set("flash.page_size", "1KiB").set("flash.fault.read", "3%").set("engine.seed", seed);
            stack.set("stripe.buffer_size", if seed % 2 == 0 { "0B" } else { "2KiB" });
            let mut drive = timed(&stack.plan().unwrap());
            let mut stream = Stream::new(seed, kind);
            for round in 0..300 {
                for _ in 0..6 {
                    let op = [HostOp::Read, HostOp::Read, HostOp::Write, HostOp::Write, HostOp::Trim]
                        [stream.below(5) as usize];
                    let first = stream.below(drive.sectors() - 2);
                    drive.submit(0, &Request { sectors: 1 + stream.below(2) as u32, ..request(op, first) });
                }
                serve(&mut drive);
                match round {
                    100 => drive.kill_die(DieId(1)),
                    200 => drive.kill_die(DieId(2)),
                    _ => {}
                }
            }
            lost += unreadable(&mut drive).len();
        }
    }
    assert!(lost > 100, "more was lost than can be computed: {lost}");
}
