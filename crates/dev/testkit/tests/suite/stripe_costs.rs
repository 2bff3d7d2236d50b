//! What parity costs, against closed forms: reads and programs of each update and commit.

use crate::striped::{NOTHING, counted, serve};
use engine::random::Stream;
use nand::{CountedFlash, Flash};
use simulator::{BlockDevice, Drive, DrivePlan};
use testkit::Stack;
use units::{Cause, HostOp, Request};

/// `data` + 1 chips (or + 2), `stripes` stripes, one sector a page; never short of room.
fn plan(kind: &str, data: u64, stripes: u64, settings: &[(&'static str, &str)]) -> DrivePlan {
    let mut stack = Stack::plain();
    let parity = if kind.starts_with("raid6") { 2 } else { 1 };
    stack.set("flash.channels", data + parity).set("drive.capacity", format!("{}B", (data * stripes * 512).max(4096)));
    for (key, value) in [
        ("flash.dies_per_channel", "1"),
        ("flash.page_size", "512B"),
        ("flash.pages_per_block", "64"),
        ("drive.over_provisioning", "900%"),
        ("engine.contents", "none"),
        ("stripe.kind", kind),
        ("stripe.buffer_size", "0B"),
    ] {
        stack.set(key, value);
    }
    for (key, value) in settings {
        stack.set(key, value);
    }
    stack.plan().unwrap()
}

/// A drive whose pages were written once each, as full stripes.
fn filled(plan: &DrivePlan) -> Drive<CountedFlash> {
    let mut drive = counted(plan);
    let sectors = drive.sectors();
    write(&mut drive, 0, sectors as u32);
    drive.flash_mut().state_mut().reset_counters();
    drive.top_mut().reset_counters();
    drive
}

fn write(drive: &mut Drive<CountedFlash>, first_sector: u64, sectors: u32) {
    drive.submit(0, &Request { arrival: 0, first_sector, sectors, op: HostOp::Write, fua: false });
    assert_eq!(serve(drive), NOTHING);
}

/// Reads and programs for parity since this was last asked.
fn parity_costs(drive: &mut Drive<CountedFlash>) -> (u64, u64) {
    let state = drive.flash_mut().state_mut();
    let cause = Cause::Parity.index();
    let costs = (state.counters.reads[cause], state.counters.programs[cause]);
    state.reset_counters();
    costs
}

/// Reads of an update of `k` of `data` pages with `parities`: old versions of these pages and of the parities,
/// or all other pages.
fn cheaper(data: u64, parity: u64, k: u64) -> u64 {
    (k + parity).min(data - k)
}

#[test]
fn an_update_takes_the_cheaper_of_read_modify_write_and_reconstruct_write() {
    for kind in ["raid4", "raid5"] {
        for data in [4, 5, 8] {
            let mut drive = filled(&plan(kind, data, 40, &[]));
            for k in 1..=data {
                for stripe in 0..=data {
                    write(&mut drive, stripe * data, k as u32);
                    assert_eq!(parity_costs(&mut drive), (cheaper(data, 1, k), 1), "{kind}, {k} of {data} pages");
                }
            }
        }
    }
}

#[test]
fn a_commit_takes_the_cheaper_of_the_same_two() {
    for (kind, parity, data) in
        [("raid5-ppc", 1, 4), ("raid5-ppc", 1, 5), ("raid5-ppc", 1, 8), ("raid6-ppc", 2, 4), ("raid6-ppc", 2, 8)]
    {
        let mut drive = filled(&plan(kind, data, 40, &[("stripe.cache.entries", "1")]));
        for k in 1..data {
            for page in 0..k {
                write(&mut drive, page, 1);
            }
            assert_eq!(parity_costs(&mut drive), (0, 0), "what is only gathered costs nothing");
            write(&mut drive, data * 10, 1); // drives the first stripe out
            assert_eq!(
                parity_costs(&mut drive),
                (cheaper(data, parity, k), parity),
                "{kind}: a commit of {k} of {data} pages"
            );
            write(&mut drive, data * 20, u32::try_from(data).unwrap()); // a full stripe needs no place
            parity_costs(&mut drive);
            write(&mut drive, data * 10, u32::try_from(data).unwrap()); // and makes this one's free
            parity_costs(&mut drive);
        }
    }
}

#[test]
fn the_three_cases_of_an_update_cost_nothing_nothing_and_a_read() {
    let mut drive = filled(&plan("raid5-ppc", 4, 40, &[("stripe.cache.entries", "4")]));
    for (page, reads) in [(1, 0), (2, 0), (1, 1), (1, 1), (2, 1), (3, 0)] {
        write(&mut drive, page, 1);
        assert_eq!(parity_costs(&mut drive), (reads, 0), "page {page}");
    }
}

/// Whatever pages are written together, and whatever they belong to: one parity for N of them, and no reads.
#[test]
fn an_elastic_stripe_reads_nothing_and_has_one_parity_for_all_pages_written_together() {
    for data in [2, 4, 8] {
        let written = u32::try_from(data).unwrap();
        for pages in 1..=3 * written {
            // So few of them that no superblock ends in the middle of a stripe.
            let mut drive = filled(&plan("raid-elastic", data, 40, &[]));
            for first in [0, data * 7 + 1] {
                write(&mut drive, first, pages);
                assert_eq!(
                    parity_costs(&mut drive),
                    (0, u64::from(pages.div_ceil(written))),
                    "{pages} pages from page {first}, N = {data}"
                );
            }
        }
    }
}

#[test]
fn two_parities_are_updated_by_change_below_half_of_the_pages() {
    for data in [4, 8] {
        let mut drive = filled(&plan("raid6", data, 40, &[]));
        for k in 1..data {
            write(&mut drive, 0, k as u32);
            assert_eq!(parity_costs(&mut drive), (cheaper(data, 2, k), 2), "{k} of {data} pages");
        }
    }
}

/// Of a stripe with four newer pages of eight and one with a single one, the reads of the commit tell which was chosen.
#[test]
fn the_oldest_the_largest_or_the_cheapest_stripe_is_committed() {
    for (victim, old_single, old_four) in [("lru", 2, 4), ("largest", 4, 4), ("cheapest", 2, 2)] {
        for (single_first, expected) in [(true, old_single), (false, old_four)] {
            let mut drive =
                filled(&plan("raid5-ppc", 8, 40, &[("stripe.cache.entries", "2"), ("stripe.cache.victim", victim)]));
            let stripes = [(0, 1), (8, 4)];
            let order = if single_first { stripes } else { [stripes[1], stripes[0]] };
            for (page, pages) in order {
                write(&mut drive, page, pages);
            }
            assert_eq!(parity_costs(&mut drive), (0, 0));
            write(&mut drive, 80, 1);
            assert_eq!(parity_costs(&mut drive), (expected, 1), "{victim}, the single page first: {single_first}");
        }
    }
}

/// One newer page of eight and six of them cost two reads each: the stripe with more newer pages went first.
#[test]
fn of_stripes_that_are_equally_cheap_to_commit_the_one_updated_longest_ago_is_committed() {
    for single_first in [true, false] {
        let settings = [("stripe.cache.entries", "2"), ("stripe.cache.victim", "cheapest")];
        let mut drive = filled(&plan("raid5-ppc", 8, 40, &settings));
        let stripes = [(0, 1), (8, 6)];
        let order = if single_first { stripes } else { [stripes[1], stripes[0]] };
        for (page, pages) in order {
            write(&mut drive, page, pages);
        }
        write(&mut drive, 80, 1);
        assert_eq!(parity_costs(&mut drive), (2, 1), "one of them is committed");
        // The stripe that was not committed is in the cache, and a write to it needs no room.
        let (left, _) = order[1];
        write(&mut drive, left, 1);
        assert_eq!(parity_costs(&mut drive).1, 0, "the single page first: {single_first}");
    }
}

#[test]
fn collection_has_old_versions_committed_or_moves_them() {
    for kind in ["raid5-ppc", "raid6-ppc"] {
        for (semi_valid, commits) in [("commit", true), ("copy", false)] {
            let settings = [
                ("stripe.cache.entries", "40"),
                ("stripe.semi_valid", semi_valid),
                ("drive.over_provisioning", "180%"),
                ("flash.pages_per_block", "16"),
            ];
            let mut drive = filled(&plan(kind, 4, 400, &settings));
            let mut stream = Stream::new(3, "collection");
            (0..20_000).for_each(|_| write(&mut drive, stream.below(1600), 1));
            let mut reports = Vec::new();
            drive.top().report(&mut reports);
            let counted = |name| *reports[0].counters.get(name).unwrap();
            assert!(drive.flash().state().counters.erases.iter().sum::<u64>() > 100, "there is collection");
            assert_eq!(counted("commits_collection") > 0, commits, "{kind}, {semi_valid}");
        }
    }
}

#[test]
fn sequential_writes_cost_one_parity_a_stripe_and_no_reads() {
    for (kind, single, reads) in
        [("raid5", 1, 2), ("raid5-ppc", 1, 0), ("raid5", 4, 0), ("raid5-ppc", 4, 0), ("raid5-fpc", 4, 0), ("fra", 4, 0)]
    {
        let mut drive = filled(&plan(kind, 4, 400, &[("stripe.cache.entries", "4")]));
        for page in (0..1600).step_by(single) {
            write(&mut drive, page, single as u32);
        }
        let (found, programs) = parity_costs(&mut drive);
        let expected: u64 = if reads > 0 { 1600 } else { 400 };
        assert_eq!(found, reads * 1600, "{kind} by {single} pages");
        assert!(programs.abs_diff(expected) <= 4, "{kind} by {single} pages: {programs} parities");
    }
}

/// Share of stripes with room in the cache, then extra reads and writes of a page write, and shares of the
/// second and third case, and reads of a commit: Monte Carlo figures for single-page updates all over the drive.
const UNIFORM: [(u64, &str, [f64; 5]); 10] = [
    (4, "40", [1.982, 0.990, 0.008, 0.002, 2.000]),
    (4, "200", [1.911, 0.950, 0.037, 0.013, 1.999]),
    (4, "400", [1.823, 0.900, 0.073, 0.027, 1.996]),
    (4, "1000", [1.554, 0.750, 0.173, 0.077, 1.969]),
    (4, "2000", [1.113, 0.500, 0.300, 0.200, 1.828]),
    (4, "3000", [0.779, 0.249, 0.321, 0.430, 1.404]),
    (4, "3600", [0.772, 0.100, 0.208, 0.693, 0.793]),
    (8, "400", [1.900, 0.900, 0.086, 0.014, 2.095]),
    (8, "2000", [1.427, 0.500, 0.389, 0.111, 2.633]),
    (8, "3600", [0.756, 0.100, 0.371, 0.530, 2.274]),
];

#[test]
fn uniform_updates_cost_what_the_share_of_cached_stripes_says() {
    const STRIPES: u64 = 4000;
    for (data, entries, expected) in UNIFORM {
        // Collection moves old versions, so that it commits nothing.
        let settings = [("stripe.cache.entries", entries), ("stripe.semi_valid", "copy")];
        let mut drive = filled(&plan("raid5-ppc", data, STRIPES, &settings));
        let mut stream = Stream::new(1, "uniform");
        let mut run = |drive: &mut Drive<CountedFlash>, writes: u64| {
            (0..writes).for_each(|_| write(drive, stream.below(STRIPES * data), 1));
        };
        run(&mut drive, 100_000);
        parity_costs(&mut drive);
        drive.top_mut().reset_counters();
        run(&mut drive, 250_000);
        let (reads, programs) = parity_costs(&mut drive);
        let mut reports = Vec::new();
        drive.top().report(&mut reports);
        let counted = |name| *reports[0].counters.get(name).unwrap();
        let shares = [reads, programs, counted("pages_added"), counted("pages_overwritten")]
            .map(|count| count as f64 / 250_000.0);
        let of_a_commit = counted("commit_reads") as f64 / programs as f64;
        let found = shares.into_iter().chain([of_a_commit]).collect::<Vec<_>>();
        for (found, expected) in found.into_iter().zip(expected) {
            let near = (found - expected).abs() <= (0.02 * expected).max(0.002);
            assert!(near, "N = {data}, {entries} of {STRIPES} stripes: {found:?}, expected {expected:?}");
        }
    }
}

#[test]
fn a_full_parity_cache_that_is_used_reads_one_page_for_a_hit() {
    const STRIPES: u64 = 4000;
    for (entries, share) in [("1000", 0.25), ("2000", 0.5)] {
        for (cached, on_hit) in [("cached", 1.0), ("as-no-cache", 2.0)] {
            let settings = [("stripe.cache.entries", entries), ("stripe.cache.reads", cached)];
            let mut drive = filled(&plan("raid5-fpc", 4, STRIPES, &settings));
            let mut stream = Stream::new(1, "uniform");
            (0..50_000).for_each(|_| write(&mut drive, stream.below(STRIPES * 4), 1));
            parity_costs(&mut drive);
            (0..100_000).for_each(|_| write(&mut drive, stream.below(STRIPES * 4), 1));
            let (reads, programs) = parity_costs(&mut drive);
            let (reads, programs) = (reads as f64 / 1e5, programs as f64 / 1e5);
            assert!((reads - (share * on_hit + (1.0 - share) * 2.0)).abs() < 0.02, "{cached}: {reads} reads");
            assert!((programs - (1.0 - share)).abs() < 0.02, "{cached}: {programs} programs");
        }
    }
}

/// The size of the cache as published: entries of a stripe number, a bit a page, and a page.
#[test]
fn the_cache_has_the_size_that_is_published() {
    let plan = plan("raid5-ppc", 4, 1 << 14, &[("stripe.cache.entries", "64")]);
    let drive = plan.assemble(CountedFlash::new(plan.fresh_state()));
    let mut reports = Vec::new();
    drive.top().report(&mut reports);
    assert_eq!(reports[0].counters["cache_bits"], 64 * (14 + 4 + 4096));
}

/// Neither of newer pages that it replaces, nor of anything else.
#[test]
fn a_full_stripe_over_delayed_pages_reads_nothing() {
    for (kind, parity) in [("raid5-ppc", 1), ("raid6-ppc", 2), ("raid5-fpc", 1)] {
        for newer in 1..16_u64 {
            let mut drive = filled(&plan(kind, 4, 40, &[("stripe.cache.entries", "4")]));
            (0..4).filter(|page| newer >> page & 1 == 1).for_each(|page| write(&mut drive, page, 1));
            parity_costs(&mut drive);
            write(&mut drive, 0, 4);
            assert_eq!(parity_costs(&mut drive), (0, parity), "{kind}: pages {newer:#b} were newer");
            drive.top().check(drive.flash()).unwrap();
        }
    }
}

/// The parity is computed from the old versions of the pages and the old parity; there are none.
#[test]
fn commit_reads_counts_no_read_of_a_page_that_was_never_written() {
    let mut drive = counted(&plan("raid5-ppc", 8, 40, &[("stripe.cache.entries", "1")]));
    for page in [0, 8, 0, 1] {
        write(&mut drive, page, 1);
    }
    write(&mut drive, 80, 1);
    let (reads, _) = parity_costs(&mut drive);
    assert_eq!(crate::striped::counters(&drive, "stripe")["commit_reads"], reads);
}

#[test]
fn full_stripes_are_no_misses_of_the_parity_cache() {
    let mut drive = filled(&plan("raid5-ppc", 4, 40, &[("stripe.cache.entries", "4")]));
    write(&mut drive, 0, 8);
    let mut reports = Vec::new();
    drive.top().report(&mut reports);
    let report = reports.into_iter().find(|report| report.name == "stripe").unwrap();
    assert_eq!((report.cache, report.counters["full_stripe_writes"]), (Some((0, 0)), 2));
    write(&mut drive, 0, 1);
    write(&mut drive, 1, 1);
    let mut reports = Vec::new();
    drive.top().report(&mut reports);
    assert_eq!(reports.iter().find(|report| report.name == "stripe").unwrap().cache, Some((1, 1)));
}
