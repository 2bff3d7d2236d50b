//! Stripes under lost chips: every reachable state of a small drive, every chip, every scheme.

use crate::striped::{Fed, NOTHING, counters, random_requests, request, restarted, serve, timed, unreadable, written};
use engine::random::Stream;
use nand::{Flash, TimedFlash};
use simulator::{BlockDevice, Drive, DrivePlan};
use std::collections::BTreeSet;
use testkit::Stack;
use units::{BlockId, DieId, HostOp, Request};

/// Five chips (six with two parities), two stripes of four data pages.
fn stack(kind: &str) -> Stack {
    with_spares(kind, 0)
}

fn with_spares(kind: &str, spares: u32) -> Stack {
    let mut stack = crate::striped::stack(kind, spares, "4KiB");
    stack.set("stripe.cache.entries", 1);
    stack
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

/// Power is cut after every event, whatever policy chooses the superblocks to be collected; and they choose others.
#[test]
fn any_victim_policy_may_choose_superblocks() {
    let requests = random_requests(7, 300, 32);
    let mut outcomes = BTreeSet::new();
    for policy in ftl::gc::VICTIMS {
        let mut stack = crate::striped::stack("raid-elastic", 0, "16KiB");
        stack.set("drive.over_provisioning", "350%").set("ftl.gc.victim", policy.name);
        let plan = stack.plan().unwrap();
        let mut fed = Fed::new(&plan, &requests);
        let (mut stream, mut found) = (Stream::new(1, "cuts"), Vec::new());
        while fed.step().is_some() {
            let place = format!("{}: {} ns", policy.name, fed.drive.now());
            testkit::read_back(&plan, fed.drive.flash().power_cut(&mut stream), &mut found).unwrap();
            let oracle = fed.drive.oracle_mut().unwrap();
            for (sector, value) in (0..).zip(&found) {
                oracle.check_after_cut(sector, value.unwrap_or_else(|| panic!("{place}: sector {sector} is lost")));
            }
            assert_eq!(oracle.violation(), None, "{place}");
        }
        assert_eq!(unreadable(&mut fed.drive), NOTHING, "{}", policy.name);
        let collected = counters(&fed.drive, "stripe")["superblocks_collected"];
        assert!(collected > 10, "{}: {collected} superblocks were collected", policy.name);
        outcomes.insert(fed.drive.flash().state().hash());
    }
    assert!(outcomes.len() > 3, "policies choose differently: {outcomes:?}");
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
                assert_eq!(
                    unreadable(&mut drive),
                    NOTHING,
                    "{kind}: pages {pages:?} written, chips {first} and {second} lost"
                );
            }
        });
    }
}

/// A drive in virtual time with these pages being written, all at once.
fn writing(plan: &DrivePlan, pages: &[u64]) -> Drive<TimedFlash> {
    let mut drive = timed(plan);
    for page in pages {
        drive.submit(0, &request(HostOp::Write, *page));
    }
    drive
}

/// Cuts power after every event while `requests` are served at a queue depth of four; then these dies die before
/// anything else happens.
fn power_cut_then_chips(kind: &str, requests: &[Request], dies: &[&[u32]]) {
    let plan = stack(kind).plan().unwrap();
    let mut fed = Fed::new(&plan, requests);
    let (mut stream, mut found) = (Stream::new(1, "cuts"), Vec::new());
    while fed.step().is_some() {
        let image = fed.drive.flash().power_cut(&mut stream);
        for dies in dies {
            let mut image = image.clone();
            dies.iter().for_each(|die| image.kill_die(DieId(*die)));
            let place = format!("{kind}: {} ns, chips {dies:?} lost after the cut", fed.drive.now());
            testkit::read_back(&plan, image, &mut found).unwrap_or_else(|error| panic!("{place}: {error}"));
            let oracle = fed.drive.oracle_mut().unwrap();
            for (sector, value) in found.iter().enumerate() {
                oracle.check_after_cut(
                    sector as u64,
                    value.unwrap_or_else(|| panic!("{place}: sector {sector} is lost")),
                );
            }
            assert_eq!(oracle.violation(), None, "{place}");
        }
    }
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

/// Dies die after some events, while requests are being served; everything must still be served and readable.
fn chips_die_while_it_works(kind: &str, spares: u32, dies: &[u32]) {
    let plan = with_spares(kind, spares).plan().unwrap();
    for death in 0..150 {
        let requests = random_requests(death, 40, 8);
        let mut fed = Fed::new(&plan, &requests);
        loop {
            if fed.events == death * 3 {
                for die in dies {
                    fed.drive.kill_die(DieId(*die));
                }
            }
            let Some(done) = fed.step() else { break };
            assert!(
                done.iter().all(|done| !done.failed),
                "{kind}: a request fails, chips {dies:?} lost after event {}",
                death * 3
            );
        }
        let mut drive = fed.drive;
        let lost = unreadable(&mut drive);
        if kind == "fra" {
            continue; // what waited for its parity is lost; the oracle has seen that nothing else is wrong
        }
        assert_eq!(lost, NOTHING, "{kind}: chips {dies:?} lost after event {}", death * 3);
        if spares > 0 {
            // What was rebuilt stands another loss.
            drive.kill_die(DieId((dies[0] + 1) % 5));
            assert_eq!(
                unreadable(&mut drive),
                NOTHING,
                "{kind}: another chip lost after the rebuild, event {}",
                death * 3
            );
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
            let waiting: Vec<u64> =
                [0, 1, 2, 3, 5].into_iter().filter(|page| pages.contains(page) && on_chip(*page) == die).collect();
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
            let mut image = drive.flash().state().after_power_cut(&[], &mut Stream::new(1, "cut"));
            image.memory.nvram.lose();
            for die in 0..5 {
                let mut again = restarted(&plan, image.clone(), drive.oracle().unwrap().clone());
                assert_eq!(unreadable(&mut again), NOTHING, "{kind}: {pages:?}, memory lost");
                again.kill_die(DieId(die));
                assert_eq!(unreadable(&mut again), NOTHING, "{kind}: {pages:?}, memory lost, then chip {die}");
            }
        });
    }
}

/// The parities in memory are gone, and with them what flash does not show: where it shows that a stripe has newer
/// pages than its parity, what a lost chip had of it is an error, and never an old version.
#[test]
fn lost_memory_and_a_lost_chip_are_an_error_where_flash_shows_newer_pages() {
    for kind in ["raid5-ppc", "raid5-fpc", "fra"] {
        let plan = stack(kind).set("stripe.cache.entries", 2).plan().unwrap();
        let mut errors = 0;
        every_sequence(&[0, 1, 2, 5], 4, &mut |pages| {
            let all: Vec<u64> = (0..8).chain(pages.iter().copied()).collect();
            let mut drive = written(&plan, &all[..8]);
            all[8..].iter().for_each(|page| drive.submit(0, &request(HostOp::Write, *page)));
            serve(&mut drive);
            let mut image = drive.flash().state().after_power_cut(&[], &mut Stream::new(1, "cut"));
            image.memory.nvram.lose();
            for die in 0..4 {
                // Of the pages of a stripe only its own newest one is seen on the other chips.
                let stripes: Vec<&u64> = pages.iter().filter(|page| **page != u64::from(die) && **page != 5).collect();
                let only_its_own = stripes.is_empty() && pages.contains(&u64::from(die));
                let other_is_its_own = die == 1 && pages.contains(&5);
                if only_its_own || other_is_its_own {
                    continue; // cannot be told from an old version
                }
                let mut image = image.clone();
                image.kill_die(DieId(die));
                let mut again = restarted(&plan, image, drive.oracle().unwrap().clone());
                let lost = unreadable(&mut again);
                assert!(
                    lost.iter().all(|page| *page == u64::from(die) || *page >= 4),
                    "{kind}: {pages:?}, chip {die}: {lost:?}"
                );
                errors += lost.len();
                // Once it was read, what is there is protected again.
                let mut twice = restarted(&plan, again.flash().state().clone(), drive.oracle().unwrap().clone());
                assert_eq!(unreadable(&mut twice), lost);
            }
        });
        assert!(errors > 100, "{kind}: {errors} pages are errors");
    }
}

/// A chip is lost, and single blocks turn out uncorrectable: what cannot be computed is an error, whatever is
/// written then.
#[test]
fn more_losses_than_parities_are_errors_and_never_wrong_data() {
    for kind in ["raid4", "raid5", "raid5-ppc", "raid5-fpc", "raid-elastic", "raid6", "raid6-ppc", "fra"] {
        let plan = stack(kind).plan().unwrap();
        every_sequence(&[0, 1, 5], 3, &mut |pages| {
            let all: Vec<u64> = (0..8).chain(pages.iter().copied()).collect();
            for (die, other) in (0..5).flat_map(|die| (1..5).map(move |by| (die, (die + by) % 5))) {
                let mut drive = written(&plan, &all);
                drive.kill_die(DieId(die));
                drive.flash_mut().state_mut().lose_block(BlockId(other * plan.geometry.blocks_per_plane()));
                for page in [0, 2, 6, 0, 3] {
                    drive.submit(0, &request(HostOp::Write, page));
                    serve(&mut drive);
                }
                unreadable(&mut drive);
            }
        });
    }
}

/// What is lost for good is an error and stays one: after the rebuild, after a power cut, until it is written again.
#[test]
fn what_is_lost_reads_as_an_error_until_it_is_written_again() {
    let plan = with_spares("fra", 1).plan().unwrap();
    let mut drive = written(&plan, &[0, 1, 2, 3, 0]);
    drive.submit(0, &request(HostOp::Write, 1));
    serve(&mut drive);
    drive.kill_die(DieId(1));
    assert_eq!(unreadable(&mut drive), [1]);
    let image = drive.flash().state().after_power_cut(&[], &mut Stream::new(1, "cut"));
    let mut again = restarted(&plan, image, drive.oracle().unwrap().clone());
    assert_eq!(unreadable(&mut again), [1]);
    again.submit(0, &request(HostOp::Write, 1));
    assert_eq!(serve(&mut again), NOTHING);
    assert_eq!(unreadable(&mut again), NOTHING);
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
                drive.flash_mut().state_mut().lose_block(block);
                assert_eq!(unreadable(&mut drive), NOTHING, "{kind}: {pages:?} written, block {block} lost");
                let healed = drive.flash().state().counters.failed_reads;
                assert_eq!(unreadable(&mut drive), NOTHING);
                assert_eq!(drive.flash().state().counters.failed_reads, healed, "what was read once is good again");
            }
        });
    }
}
