//! What parity costs, against closed forms: reads and programs of each update and commit.

use crate::striped::{NOTHING, counted, serve};
use device::{BlockDevice, Drive, DrivePlan};
use engine::random::Stream;
use nand::{CountedFlash, Flash};
use testkit::Stack;
use units::{Cause, HostOp, Request};

/// `data` + 1 chips (or + 2), so many stripes, one sector a page; never short of room.
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

/// A drive of which every page was written once, as full stripes.
fn filled(plan: &DrivePlan) -> Drive<CountedFlash> {
    let mut drive = counted(plan);
    let sectors = drive.sectors();
    write(&mut drive, 0, sectors as u32);
    drive.flash_mut().core_mut().reset_counters();
    drive.top_mut().reset_counters();
    drive
}

fn write(drive: &mut Drive<CountedFlash>, first_sector: u64, sectors: u32) {
    drive.submit(0, &Request { arrival: 0, first_sector, sectors, op: HostOp::Write, fua: false });
    assert_eq!(serve(drive), NOTHING);
}

/// Reads and programs for parity since this was last asked.
fn parity_costs(drive: &mut Drive<CountedFlash>) -> (u64, u64) {
    let core = drive.flash_mut().core_mut();
    let cause = Cause::Parity.index();
    let costs = (core.counters.reads[cause], core.counters.programs[cause]);
    core.reset_counters();
    costs
}

/// Reads of an update of k of N pages, for k = 1 to N.
const UPDATES: [(u64, &[u64]); 3] = [(4, &[2, 2, 1, 0]), (5, &[2, 3, 2, 1, 0]), (8, &[2, 3, 4, 4, 3, 2, 1, 0])];

#[test]
fn an_update_takes_the_cheaper_of_read_modify_write_and_reconstruct_write() {
    for kind in ["raid4", "raid5"] {
        for (data, reads) in UPDATES {
            let mut drive = filled(&plan(kind, data, 40, &[]));
            for (k, expected) in (1..).zip(reads) {
                for stripe in 0..=data {
                    write(&mut drive, stripe * data, k);
                    assert_eq!(parity_costs(&mut drive), (*expected, 1), "{kind}, {k} of {data} pages");
                }
            }
        }
    }
}

#[test]
fn a_commit_takes_as_many_reads_as_the_table_says() {
    for (data, reads) in UPDATES {
        let mut drive = filled(&plan("raid5-ppc", data, 40, &[("stripe.cache.entries", "1")]));
        for (k, expected) in (1..data).zip(reads) {
            for page in 0..k {
                write(&mut drive, page, 1);
            }
            assert_eq!(parity_costs(&mut drive), (0, 0), "what is only gathered costs nothing");
            write(&mut drive, data * 10, 1); // drives the first stripe out
            assert_eq!(parity_costs(&mut drive), (*expected, 1), "a commit of {k} of {data} pages");
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
                assert_eq!(parity_costs(&mut drive), (0, u64::from(pages.div_ceil(written))), "{pages} pages from page {first}, N = {data}");
            }
        }
    }
}

#[test]
fn two_parities_commit_by_change_below_half_of_the_pages() {
    for (data, reads) in [(4_u64, [3, 2, 1].as_slice()), (8, &[3, 4, 5, 4, 3, 2, 1])] {
        let mut drive = filled(&plan("raid6", data, 40, &[]));
        for (k, expected) in (1..).zip(reads) {
            write(&mut drive, 0, k);
            assert_eq!(parity_costs(&mut drive), (*expected, 2), "{k} of {data} pages");
        }
    }
}

#[test]
fn sequential_writes_cost_one_parity_a_stripe_and_no_reads() {
    for (kind, single, reads) in [("raid5", 1, 2), ("raid5-ppc", 1, 0), ("raid5", 4, 0), ("raid5-ppc", 4, 0), ("raid5-fpc", 4, 0), ("fra", 4, 0)] {
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
/// second and third case: Monte Carlo figures for single-page updates all over the drive.
const UNIFORM: [(u64, &str, [f64; 4]); 8] = [
    (4, "40", [1.982, 0.990, 0.008, 0.002]),
    (4, "400", [1.823, 0.900, 0.073, 0.027]),
    (4, "1000", [1.554, 0.750, 0.173, 0.077]),
    (4, "2000", [1.113, 0.500, 0.300, 0.200]),
    (4, "3000", [0.779, 0.249, 0.321, 0.430]),
    (4, "3600", [0.772, 0.100, 0.208, 0.693]),
    (8, "2000", [1.427, 0.500, 0.389, 0.111]),
    (8, "3600", [0.756, 0.100, 0.371, 0.530]),
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
        let found = [reads, programs, counted("pages_added"), counted("pages_overwritten")].map(|count| count as f64 / 250_000.0);
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
    let drive = plan.assemble(CountedFlash::new(plan.fresh_core()));
    let mut reports = Vec::new();
    drive.top().report(&mut reports);
    assert_eq!(reports[0].counters["cache_bits"], 64 * (14 + 4 + 4096));
}
