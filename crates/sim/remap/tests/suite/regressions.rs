//! Bugs that were found once.

use crate::bench::Bench;
use remap::{Options, WriteCache};
use units::HostOp;

fn tiny() -> Options {
    Options {
        page_sectors: 1,
        superpage_sectors: 2,
        write_cache: WriteCache::Volatile,
        timeout_ns: 1000,
        var_ahead: Some(0),
        ..Options::default()
    }
}

/// A number was used again after a restart; where the old superpage was torn, a torn new one could complete it.
#[test]
fn a_torn_journal_superpage_is_not_completed_by_the_next_start() {
    for seed in 0..300 {
        let mut bench = Bench::new(tiny(), 60, seed);
        // As many records as fill a journal superpage; the next one begins with one record, at the first place.
        (0..60).for_each(|sector| bench.submit(HostOp::Write, sector, 1, false));
        bench.submit(HostOp::Flush, 0, 0, false);
        bench.settle();
        bench.submit(HostOp::Write, 7, 1, false);
        bench.submit(HostOp::Flush, 0, 0, false);
        // The data, the flush; then the power fails while the journal is written.
        bench.complete();
        bench.complete();
        bench.restart();
        bench.submit(HostOp::Write, 9, 1, true);
        while !bench.device.held.is_empty() {
            bench.complete();
            (0..10).for_each(|_| bench.cut());
        }
    }
}

/// Reclamation wrote to the journal before the first checkpoint after a start.
#[test]
fn a_start_with_few_free_superpages_writes_no_journal_first() {
    let mut bench = Bench::new(Options { superpage_sectors: 4, var_ahead: Some(1000), ..tiny() }, 24, 1);
    for turn in 0..6 * bench.hot {
        let sector = if turn < bench.hot { turn } else { bench.random.below(bench.hot) };
        bench.submit(HostOp::Write, sector, 1, false);
        bench.settle();
    }
    bench.submit(HostOp::Flush, 0, 0, false);
    bench.drain();
    bench.restart();
    bench.submit(HostOp::Read, 0, 1, false);
    bench.settle();
    bench.submit(HostOp::Flush, 0, 0, false);
    bench.settle();
    let report = bench.driver.report();
    assert_eq!((report.journal_superpages, report.var_copies), (0, 0));
    bench.submit(HostOp::Write, 0, 1, true);
    while bench.outstanding() > 0 {
        bench.complete();
        bench.cut();
    }
}

/// With one free superpage, no victim but the first fitted as a whole; its copies were padded, and nothing was gained.
#[test]
fn reclamation_with_one_free_superpage_does_not_turn_in_circles() {
    for seed in 0..40 {
        let options = Options { superpage_sectors: 8, hold_back: 0.05, var_free: 1, buffers: 2, ..tiny() };
        let mut bench = Bench::new(options, 24, seed);
        for turn in 0..8 * bench.hot {
            let sector = if turn < bench.hot { turn } else { bench.random.below(bench.hot) };
            bench.submit(HostOp::Write, sector, 1, false);
            if turn % 5 == 0 {
                bench.submit(HostOp::Flush, 0, 0, false);
            }
            if bench.outstanding() > 8 {
                bench.drain();
            }
        }
        bench.drain();
        assert!(!bench.driver.report().broken);
    }
}
