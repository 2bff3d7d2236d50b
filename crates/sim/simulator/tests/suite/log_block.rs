//! What log-block mappings cost: erases and copies of merges under sequential, uniform and hammering
//! writes, against closed forms; the worked examples of the write-buffer study.

use engine::random::Stream;
use layer::LayerReport;
use nand::{CountedFlash, Counters, Flash};
use simulator::{BlockDevice, Clocked, Completions, Config, Drive, DrivePlan, Progress, Setting};
use units::{BlockId, Cause, HostOp, Request};

const PAGE: u64 = 2048;
const SECTORS: u64 = PAGE / 512;

/// A drive of `blocks` logical blocks of `pages` pages with `logs` log blocks, one die.
fn plan(stack: &str, blocks: u64, pages: u64, logs: u64, more: &[&str]) -> DrivePlan {
    let user = blocks * pages;
    let spare = ((blocks + logs + 2) * pages) as f64 / user as f64 - 1.0;
    let mut settings: Vec<String> =
        ["engine.time=none", "flash.channels=1", "flash.dies_per_channel=1", "flash.page_size=2KiB"]
            .map(str::to_owned)
            .to_vec();
    settings.push(format!("flash.pages_per_block={pages}"));
    settings.push(format!("drive.capacity={}B", user * PAGE));
    settings.push(format!("drive.over_provisioning={:.9}%", spare * 100.0 - 1e-6));
    settings.push(format!("ftl.log.blocks={logs}"));
    let settings: Vec<Setting> = settings
        .iter()
        .map(String::as_str)
        .chain(more.iter().copied())
        .map(|text| Setting::from_argument(text).unwrap())
        .collect();
    let plan = DrivePlan::new(Config::load(stack, &settings).unwrap()).unwrap();
    assert_eq!(u64::from(plan.geometry.blocks()), blocks + logs + 2);
    plan
}

fn counted(stack: &str, blocks: u64, pages: u64, logs: u64, more: &[&str]) -> Drive<CountedFlash> {
    let plan = plan(stack, blocks, pages, logs, more);
    plan.assemble(CountedFlash::new(plan.fresh_state()))
}

fn submit<F: Clocked>(drive: &mut Drive<F>, op: HostOp, page: u64, pages: u64) {
    let (first_sector, sectors) = (page * SECTORS, (pages * SECTORS) as u32);
    let request = Request { arrival: drive.now(), first_sector, sectors, op, fua: false };
    drive.submit(0, &request);
    let mut completions = Completions::default();
    while drive.advance(&mut completions) != Progress::Idle {}
    assert_eq!(drive.outstanding(), 0, "{op:?} of page {page} is served");
}

fn write<F: Clocked>(drive: &mut Drive<F>, page: u64) {
    submit(drive, HostOp::Write, page, 1);
}

fn fill<F: Clocked>(drive: &mut Drive<F>, pages: u64) {
    for page in 0..pages {
        write(drive, page);
    }
    reset(drive);
}

fn reset<F: Clocked>(drive: &mut Drive<F>) {
    drive.flash_mut().state_mut().reset_counters();
    drive.top_mut().reset_counters();
}

/// Erases and copies since the last reset, and the three kinds of merges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cost {
    erases: u64,
    copies: u64,
    merges: [u64; 3],
}

fn cost<F: Clocked>(drive: &Drive<F>) -> Cost {
    drive.top().check(drive.flash()).unwrap();
    let report = report(drive, "ftl");
    let counters = &drive.flash().state().counters;
    let (erases, copies) = (Counters::total(&counters.erases), counters.programs[Cause::Merge.index()]);
    let by_kind = ["merge_erases_switch", "merge_erases_partial", "merge_erases_full"];
    assert_eq!(by_kind.iter().map(|name| report.counters[name]).sum::<u64>(), erases);
    assert_eq!(report.counters["merge_copies"], copies);
    Cost { erases, copies, merges: report.merges }
}

fn report<F: Clocked>(drive: &Drive<F>, layer: &str) -> LayerReport {
    let mut reports = Vec::new();
    drive.top().report(&mut reports);
    reports.into_iter().find(|report| report.name == layer).unwrap()
}

fn near(found: f64, expected: f64, what: &str) {
    assert!((found / expected - 1.0).abs() < 0.02, "{what}: {found}, expected {expected}");
}

#[test]
fn overwriting_in_order_costs_one_erase_a_block_and_no_copy() {
    for stack in ["bast", "fast"] {
        let mut drive = counted(stack, 64, 16, 8, &[]);
        fill(&mut drive, 64 * 16);
        for _ in 0..5 {
            for page in 0..64 * 16 {
                write(&mut drive, page);
            }
        }
        // What is still in log blocks is switched when the next ones are needed.
        let found = cost(&drive);
        let open = if stack == "bast" { 8 } else { 1 };
        let expected = 5 * 64 - open;
        assert_eq!(found, Cost { erases: expected, copies: 0, merges: [expected, 0, 0] }, "{stack}");
    }
}

#[test]
fn uniform_writes_under_bast_cost_what_the_share_of_log_blocks_says() {
    let pages = 128;
    for (blocks, logs) in [(1024, 16), (1024, 256), (256, 230)] {
        let mut drive = counted("bast", blocks, pages, logs, &[]);
        fill(&mut drive, blocks * pages);
        let mut stream = Stream::new(1, "uniform");
        for _ in 0..20_000 {
            write(&mut drive, stream.below(blocks * pages));
        }
        reset(&mut drive);
        let writes = 50_000;
        for _ in 0..writes {
            write(&mut drive, stream.below(blocks * pages));
        }
        let found = cost(&drive);
        let missing = 1.0 - logs as f64 / blocks as f64;
        near(found.erases as f64 / f64::from(writes), 2.0 * missing, "erases");
        near(found.copies as f64 / f64::from(writes), pages as f64 * missing, "copies");
    }
}

#[test]
fn one_page_written_again_and_again_costs_a_merge_for_each_block_of_writes() {
    let mut drive = counted("bast", 16, 32, 4, &[]);
    fill(&mut drive, 16 * 32);
    for _ in 0..=32 * 50 {
        write(&mut drive, 0);
    }
    assert_eq!(cost(&drive), Cost { erases: 100, copies: 50 * 32, merges: [0, 0, 50] });
}

#[test]
fn a_full_merge_takes_as_long_as_its_copies_and_erases() {
    for (settings, pages, expected_ns) in [
        (["flash.read_time=25us", "flash.program_time=200us"], 64, 64 * 225_000 + 3_000_000),
        (["flash.read_time=60us", "flash.program_time=800us"], 128, 128 * 860_000 + 3_000_000_u64),
    ] {
        let more = [&settings[..], &["flash.bus_bandwidth=unlimited", "engine.time=virtual", "engine.service=serial"]]
            .concat();
        let plan = plan("bast", 8, pages, 2, &more);
        let mut drive = simulator::SerialDrive::new(plan.assemble(plan.metered(plan.fresh_state())));
        let mut time = 0;
        let mut last = 0;
        let mut put = |page: u64| {
            let request = Request {
                arrival: time,
                first_sector: page * SECTORS,
                sectors: SECTORS as u32,
                op: HostOp::Write,
                fua: false,
            };
            drive.submit(0, &request);
            let mut completions = Completions::default();
            while drive.advance(&mut completions) != Progress::Idle {}
            (last, time) = (drive.now() - time, drive.now());
            last
        };
        for page in 0..8 * pages {
            put(page);
        }
        let mut longest = 0;
        for _ in 0..=pages {
            longest = longest.max(put(0));
        }
        let program = if pages == 64 { 200_000 } else { 800_000 };
        assert_eq!(longest, expected_ns + program, "{pages} pages");
    }
}

/// Blocks of four pages, as in the figures: pages 4 to 7 are the second logical block.
#[test]
fn the_worked_examples_end_in_a_switch_and_in_merges() {
    let mut drive = counted("nftl", 4, 4, 1, &[]);
    fill(&mut drive, 16);
    for page in [4, 5, 6, 7] {
        write(&mut drive, page);
    }
    write(&mut drive, 0); // the one log block is needed elsewhere
    assert_eq!(cost(&drive), Cost { erases: 1, copies: 0, merges: [1, 0, 0] });
    let mut drive = counted("nftl", 4, 4, 1, &["ftl.log.partial_merge=false"]);
    fill(&mut drive, 16);
    for page in [4, 4, 7, 3, 1, 4, 1, 2] {
        write(&mut drive, page);
    }
    // 4 4 7 | 3 1 | 4 | 1 2: three times the log block goes to another logical block.
    assert_eq!(cost(&drive), Cost { erases: 6, copies: 12, merges: [0, 0, 3] });
}

#[test]
fn cold_blocks_wear_as_well_where_wear_is_levelled() {
    for stack in ["bast", "fast", "block"] {
        let spread = |gap: u64| {
            let gap = format!("ftl.wear.static_gap={gap}");
            let mut drive = counted(stack, 32, 16, 4, &[&gap]);
            for page in 0..32 * 16 {
                write(&mut drive, page);
            }
            // A quarter of the drive is written again and again.
            let mut stream = Stream::new(5, "pages");
            for _ in 0..20_000 {
                write(&mut drive, stream.below(8 * 16));
            }
            drive.top().check(drive.flash()).unwrap();
            let state = drive.flash().state();
            let erases: Vec<u32> = state.blocks().iter().map(|row| row.erases).collect();
            assert_eq!(report(&drive, "ftl").counters["wear_levelled_blocks"] > 0, gap != "ftl.wear.static_gap=0");
            erases.iter().max().unwrap() - erases.iter().min().unwrap()
        };
        let (without, with) = (spread(0), spread(8));
        assert!(without > 60, "{stack}: erase counts differ by {without}");
        assert!(with <= 8 + 8, "{stack}: erase counts differ by {with}");
    }
}

#[test]
fn a_completed_block_takes_a_free_block_and_one_erase() {
    let (blocks, pages, frames) = (64, 16, 8);
    let size = format!("buffer.size={}B", frames * pages * PAGE);
    let mut drive = counted("bast", blocks, pages, 4, &["buffer.kind=block-lru", &size]);
    for page in 0..blocks * pages {
        write(&mut drive, page);
    }
    submit(&mut drive, HostOp::Flush, 0, 0);
    reset(&mut drive);
    let mut stream = Stream::new(3, "pages");
    for _ in 0..5_000 {
        write(&mut drive, stream.below(blocks * pages));
    }
    let found = cost(&drive);
    let counters = report(&drive, "buffer").counters;
    let evicted = counters["blocks_written_back"];
    assert!(evicted > 4_000, "{evicted} of 5000 writes found no room");
    assert_eq!(found, Cost { erases: evicted, copies: 0, merges: [evicted, 0, 0] });
    assert_eq!(
        counters["padding_pages"] + counters["block_pages_held"],
        evicted * pages,
        "what was not buffered was read"
    );
}

#[test]
fn a_completed_block_takes_two_erases_where_a_log_block_was_begun() {
    let pages = 16;
    let mut drive =
        counted("bast", 8, pages, 4, &["buffer.kind=block-only", &format!("buffer.size={}B", pages * PAGE)]);
    for count in [pages, pages / 4, pages] {
        submit(&mut drive, HostOp::Write, 0, count);
        submit(&mut drive, HostOp::Flush, 0, 0);
    }
    assert_eq!(cost(&drive), Cost { erases: 2, copies: 0, merges: [1, 0, 0] });
}

#[test]
fn parts_of_a_block_cost_what_the_example_counts() {
    // Six pages a block: three writes of the same third, then what makes room for another log block.
    let mut drive = counted("bast", 4, 6, 1, &[]);
    fill(&mut drive, 24);
    for _ in 0..3 {
        submit(&mut drive, HostOp::Write, 2, 2);
    }
    write(&mut drive, 6);
    assert_eq!(cost(&drive), Cost { erases: 2, copies: 6, merges: [0, 0, 1] });
    let mut drive = counted("bast", 4, 6, 1, &[]);
    fill(&mut drive, 24);
    for _ in 0..3 {
        submit(&mut drive, HostOp::Write, 1, 4);
    }
    write(&mut drive, 6);
    assert_eq!(cost(&drive), Cost { erases: 4, copies: 12, merges: [0, 0, 2] });
}

#[test]
fn a_prefix_in_order_costs_a_partial_merge_or_a_full_one_without() {
    for (partial, expected) in [
        ("ftl.log.partial_merge=true", Cost { erases: 1, copies: 5, merges: [0, 1, 0] }),
        ("ftl.log.partial_merge=false", Cost { erases: 2, copies: 8, merges: [0, 0, 1] }),
    ] {
        for stack in ["bast", "fast"] {
            let mut drive = counted(
                stack,
                4,
                8,
                2,
                &[partial, if stack == "bast" { "ftl.log.blocks=1" } else { "ftl.log.blocks=2" }],
            );
            fill(&mut drive, 32);
            submit(&mut drive, HostOp::Write, 8, 3);
            write(&mut drive, 0);
            assert_eq!(cost(&drive), expected, "{stack}, {partial}");
        }
    }
}

#[test]
fn a_write_out_of_sequence_merges_the_sequential_log_block_of_its_own_logical_block() {
    let merged = Cost { erases: 1, copies: 5, merges: [0, 1, 0] };
    let left = Cost { erases: 0, copies: 0, merges: [0, 0, 0] };
    for (rule, page, expected) in
        [("merge", 13, merged), ("merge", 9, merged), ("share", 13, left), ("merge", 21, left)]
    {
        let rule = format!("ftl.fast.out_of_sequence={rule}");
        let mut drive = counted("fast", 4, 8, 3, &[&rule]);
        fill(&mut drive, 32);
        submit(&mut drive, HostOp::Write, 8, 3);
        write(&mut drive, page);
        assert_eq!(cost(&drive), expected, "{rule}, page {page}");
        // Once merged, the logical block has no sequential log block: what follows is shared.
        write(&mut drive, page + 1);
        assert_eq!(cost(&drive), expected, "{rule}, page {}", page + 1);
        drive.top().check(drive.flash()).unwrap();
    }
}

#[test]
fn reclaiming_a_shared_log_block_merges_each_logical_block_in_it_once() {
    let pages = 16;
    for associativity in [1, 2, 5, 16] {
        let mut drive = counted("fast", 32, pages, 2, &[]);
        fill(&mut drive, 32 * pages);
        // Page 1 and up, so that the sequential log block stays out of it.
        for number in 0..pages {
            write(&mut drive, number % associativity * pages + 1 + number / associativity % (pages - 1));
        }
        assert_eq!(cost(&drive).erases, 0);
        write(&mut drive, 31 * pages + 1);
        let expected = Cost { erases: associativity + 1, copies: associativity * pages, merges: [0, 0, associativity] };
        assert_eq!(cost(&drive), expected);
    }
}

#[test]
fn never_written_pages_are_passed_over() {
    for stack in ["bast", "fast", "block"] {
        let plan = plan(stack, 4, 16, 2, &["engine.contents=stamp", "engine.time=virtual", "ftl.log.blocks=2"]);
        let mut drive = plan.assemble(plan.timed(plan.fresh_state()));
        for page in [3, 9, 15, 20] {
            write(&mut drive, page);
        }
        assert_eq!(Counters::total(&drive.flash().state().counters.programs), 4, "{stack}");
        for round in 0..40 {
            write(&mut drive, [3, 9, 20][round % 3]);
        }
        drive.top().check(drive.flash()).unwrap();
        for page in 0..64 {
            submit(&mut drive, HostOp::Read, page, 1);
        }
        assert_eq!(drive.oracle().unwrap().violation(), None);
        let state = drive.flash().state();
        assert!(
            (0..state.geometry.blocks()).any(|block| state.block(BlockId(block)).done == 16),
            "{stack}: page 15 is written"
        );
    }
}

#[test]
fn a_block_map_rewrites_a_block_to_change_a_page() {
    let mut drive = counted("block", 4, 16, 1, &[]);
    fill(&mut drive, 64);
    for round in 1..20 {
        write(&mut drive, 5);
        let found = cost(&drive);
        // The last rewrite is still to be completed: what follows the page.
        assert_eq!(found, Cost { erases: round - 1, copies: 15 * (round - 1) + 5, merges: [0, round - 1, 0] });
    }
}

#[test]
fn a_log_block_count_that_does_not_fit_is_refused_with_a_remedy() {
    let settings = ["drive.capacity=64MiB", "flash.pages_per_block=64", "ftl.log.blocks=5000"];
    let settings: Vec<_> = settings.iter().map(|text| Setting::from_argument(text).unwrap()).collect();
    let error = DrivePlan::new(Config::load("bast", &settings).unwrap()).unwrap_err().to_string();
    assert!(error.contains("too little spare flash") && error.contains("ftl.log.blocks"), "{error}");
}
