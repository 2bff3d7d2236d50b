//! Bugs that were found once.

use crate::bench::Bench;
use remap::{Command, Driver, HostDriver, LogOptions, Options, Plan, Shell, Submit, Terms, WriteCache};
use units::HostOp;

fn tiny() -> Options {
    let sizes = Terms { page_sectors: 1, superpage_sectors: 2, ..Terms::default() };
    let terms = Terms { write_cache: WriteCache::Volatile, timeout_ns: 1000, ..sizes };
    Options { terms, var_ahead: Some(0), ..Options::default() }
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
    let terms = Terms { superpage_sectors: 4, ..tiny().terms };
    let mut bench = Bench::new(Options { terms, var_ahead: Some(1000), ..tiny() }, 24, 1);
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
    assert_eq!((report["journal_superpages"], report["var_copies"]), (0, 0));
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
        let terms = Terms { superpage_sectors: 8, buffers: 2, ..tiny().terms };
        let options = Options { terms, hold_back: 0.05, var_free: 1, ..tiny() };
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

fn submit<D: Driver>(shell: &mut Shell<D>, op: HostOp, first_sector: u64, sectors: u32) {
    shell.submit(0, Submit { tag: 0, op, first_sector, sectors, fua: false }, &[]);
}

/// The next command, which does this.
fn command<D: Driver>(shell: &mut Shell<D>, op: HostOp) -> Command {
    let command = shell.front_mut().next_command().expect("there is something to do");
    assert_eq!(command.op, op);
    command
}

/// A flush failed, and a write that was under way was answered. When its page is on the device all the same, a read
/// may have the number of that write.
#[test]
fn a_page_written_after_the_driver_broke_down_answers_no_read() {
    let terms = Terms { cell_bytes: 0, ..Terms::default() };
    let mut hard = Plan::with_superpages(Options { terms, ..Options::default() }, 40).format(1);
    submit(&mut hard, HostOp::Write, 0, 32);
    while let Some(command) = hard.front_mut().next_command() {
        hard.completed(0, command.id, false, &[]);
    }
    assert!(hard.front_mut().next_done().is_some_and(|done| !done.failed) && hard.front_mut().next_done().is_none());
    submit(&mut hard, HostOp::Flush, 0, 0);
    let flush = command(&mut hard, HostOp::Flush);
    submit(&mut hard, HostOp::Write, 32, 32);
    let write = command(&mut hard, HostOp::Write);
    hard.completed(0, flush.id, true, &[]);
    assert!((0..2).all(|_| hard.front_mut().next_done().is_some_and(|done| done.failed)));
    assert_eq!(hard.front_mut().next_done(), None);
    submit(&mut hard, HostOp::Read, 0, 32);
    let read = command(&mut hard, HostOp::Read);
    hard.completed(0, write.id, false, &[]);
    assert_eq!(hard.front_mut().next_done(), None, "it is still being read");
    hard.completed(0, read.id, false, &[]);
    assert!(hard.front_mut().next_done().is_some_and(|done| !done.failed));
}

/// Nothing was changed, but the superblock may be lost until the device is flushed.
#[test]
fn a_flush_while_a_log_cache_is_formatted_waits_for_the_superblock() {
    let mut options = LogOptions::default();
    options.terms.cell_bytes = 0;
    let mut log = Plan::with_superpages(options, 400).format(1);
    submit(&mut log, HostOp::Flush, 0, 0);
    let superblock = command(&mut log, HostOp::Write);
    log.completed(0, superblock.id, false, &[]);
    assert_eq!(log.front_mut().next_done(), None, "nothing is durable yet");
    let flush = command(&mut log, HostOp::Flush);
    log.completed(0, flush.id, false, &[]);
    assert!(log.front_mut().next_done().is_some_and(|done| !done.failed));
}
