//! Coded striping in time: what a request waited for, what ends at one moment, and drives of many banks.

use crate::striped::{NOTHING, counted, counters, responses, serve};
use crate::zones::{BLOCK, READ, WRITE, encoded, read, stack, write};
use engine::random::Stream;
use nand::{CountedFlash, Counters, Flash, TimedFlash};
use simulator::{BlockDevice, Clocked, Completions, Drive, DriveState, Progress};
use units::{Cause, HostOp, Request};

/// Serves what was submitted; for each request its operation and what it waited for nothing, ns.
fn own_times(drive: &mut Drive<TimedFlash>) -> Vec<(HostOp, u64)> {
    let (mut completions, mut times) = (Completions::default(), Vec::new());
    while drive.advance(&mut completions) != Progress::Idle {
        for done in &completions.done {
            let waited = done.wait.map_or(0, |index| completions.waits[index].total());
            let latency = drive.now() - done.request.arrival;
            let explained = waited + done.queue_ns;
            assert!(explained <= latency, "{:?} took {latency} ns and waited {explained}", done.request);
            times.push((done.request.op, latency - explained));
        }
    }
    assert_eq!(drive.outstanding(), 0);
    times
}

fn mixed<F: Clocked>(drive: &mut Drive<F>, requests: u64, seed: u64) {
    let mut stream = Stream::new(seed, "requests");
    let all = drive.sectors() / BLOCK;
    for number in 0..requests {
        let block = stream.below(all);
        let count = (1 + stream.below(6)).min(all - block);
        let request = if stream.chance(0.5) { read(block, count) } else { write(block, count) };
        drive.submit(number as u32, &Request { arrival: drive.now(), ..request });
    }
}

/// Requests stand in lines of their blocks and rows, before the gate, and for room in their segment.
#[test]
fn what_a_request_waited_for_inside_the_layer_is_not_its_own_work() {
    for queues in ["bank", "one", "lockstep"] {
        for stale in ["invalidate", "update"] {
            let coded = if queues == "lockstep" { "0" } else { "3" };
            let settings = [("coded.queues", queues), ("coded.stale_codes", stale), ("coded.code_zones", coded)];
            let mut drive = encoded(&stack(&settings).plan().unwrap());
            for seed in 0..4 {
                mixed(&mut drive, 60, seed);
                for (op, own) in own_times(&mut drive) {
                    // A write of a part of a row reads the rest first, with update it reads and writes codes as well.
                    let most = if op == HostOp::Read { READ } else { 2 * READ + 2 * WRITE };
                    assert!(own <= most, "{queues}, {stale}: {op:?} worked {own} ns of its own, {most} at most");
                }
            }
        }
    }
}

/// Programs and erases of collection, of a drive whose time is spent one command after the other.
fn collected(drive: &Drive<CountedFlash>) -> [u64; 2] {
    let counters = &drive.flash().state().counters;
    [counters.programs[Cause::Gc.index()], counters.erases[Cause::Gc.index()]]
}

/// Such a write read what it did not cover and stood behind all others again before it was programmed: the read came
/// after 0.1 ms.
#[test]
fn a_read_waits_for_the_programs_of_small_writes_that_came_before_it() {
    for (queues, rest) in [("bank", READ / 2), ("one", READ / 2), ("lockstep", READ)] {
        let mut drive = encoded(&stack(&[("coded.queues", queues), ("coded.code_zones", "0")]).plan().unwrap());
        let small = |block| Request { sectors: 1, ..write(block, 1) };
        let times = responses(&mut drive, &[small(0), small(8), small(16), read(24, 1)]);
        let each = rest + WRITE;
        assert_eq!(times, [each, 2 * each, 3 * each, 3 * each + READ], "{queues}");
    }
}

/// Reads that came while a bank cleaned were served before the write that it cleaned for.
#[test]
fn the_write_that_a_bank_cleaned_for_comes_before_reads_that_came_meanwhile() {
    for cleaning in ["uninterrupted", "interleaved"] {
        let settings = [("flash.cleaning", cleaning), ("coded.code_zones", "0"), ("ftl.gc.free_blocks", "0")];
        let mut drive = encoded(&stack(&settings).plan().unwrap());
        let mut cleaned = 0;
        for number in 0..40 {
            // Blocks of one segment.
            drive.submit(0, &Request { arrival: drive.now(), ..write(number % 5 * 8, 1) });
            // Nothing pins the block any more: its erase has begun.
            let is_erased = |row: &nand::BlockRow| row.erase_pending() && row.pins() == 0;
            let is_erasing = |drive: &Drive<TimedFlash>| drive.flash().state().blocks().iter().any(is_erased);
            while drive.outstanding() > 0 && !is_erasing(&drive) {
                assert!(drive.step());
            }
            if drive.outstanding() == 0 {
                continue;
            }
            cleaned += 1;
            let begun = drive.now();
            for row in 5..8 {
                drive.submit(1, &Request { arrival: begun, ..read(row * 8, 1) });
            }
            let done: Vec<HostOp> = own_times(&mut drive).into_iter().map(|(op, _)| op).collect();
            let last = &done[done.len() - 4..];
            assert_eq!(last, [HostOp::Write, HostOp::Read, HostOp::Read, HostOp::Read], "{cleaning}, write {number}");
        }
        assert!(cleaned > 5, "{cleaning}: {cleaned} writes had to wait for an erase");
    }
}

/// The block that was filled last was no victim: a block with hardly anything invalid was emptied in its place.
#[test]
fn a_stripe_block_that_is_written_all_the_time_costs_one_copy_for_each_erase() {
    let mut drive = counted(&stack(&[("coded.code_zones", "0"), ("ftl.gc.free_blocks", "0")]).plan().unwrap());
    let all = drive.sectors() / BLOCK;
    (0..all).for_each(|block| drive.submit(0, &write(block, 1)));
    assert_eq!(serve(&mut drive), NOTHING);
    let before = collected(&drive);
    for _ in 0..300 {
        drive.submit(0, &write(0, 1));
        assert_eq!(serve(&mut drive), NOTHING);
    }
    let [copies, erases] = collected(&drive);
    // A block of four stripe blocks takes three new ones and the last of those before.
    assert_eq!([copies - before[0], erases - before[1]], [2 * 99, 99], "pages copied, and erases");
}

#[test]
fn blocks_that_arrive_at_one_moment_leave_no_code_block_begun() {
    let mut coded = encoded(&stack(&[("coded.reads", "lazy")]).plan().unwrap());
    let mut plain = encoded(&stack(&[("coded.code_zones", "0")]).plan().unwrap());
    for first in (0..48).step_by(8) {
        // As soon as one ends the next begins: nothing is left of the one before.
        let [with, without] =
            [&mut coded, &mut plain].map(|drive| one_after_the_other(drive, &[read(first, 8), read(first + 8, 8)]));
        assert_eq!(with, without, "from {first}");
    }
    let counters = counters(&coded, "coded");
    assert!(counters["code_blocks_read"] > 0);
    assert_eq!(counters["block_reads_wasted"], 0);
}

/// A stripe block whose reading has begun is read to its end, and one that has not is not read at all: pages read are
/// those of the blocks asked for without those taken back.
#[test]
fn a_read_of_several_pages_that_has_begun_is_not_cut_short() {
    for queues in ["bank", "one"] {
        let settings = [
            ("coded.block", "2KiB"),
            ("coded.reads", "lazy"),
            ("coded.queues", queues),
            ("flash.bus_bandwidth", "40MB/s"),
        ];
        let mut drive = encoded(&stack(&settings).plan().unwrap());
        drive.top_mut().reset_counters();
        let pages = |drive: &Drive<TimedFlash>| Counters::total(&drive.flash().state().counters.reads);
        let (before, blocks) = (pages(&drive), drive.sectors() / 4);
        let mut stream = Stream::new(4, "begun");
        for _ in 0..200 {
            for tag in 0..8 {
                let (first, count) = (stream.below(blocks - 8), 1 + stream.below(8));
                drive.submit(
                    tag,
                    &Request { arrival: drive.now(), first_sector: 4 * first, sectors: 4 * count as u32, ..read(0, 1) },
                );
            }
            assert_eq!(serve(&mut drive), NOTHING);
        }
        let counters = counters(&drive, "coded");
        let [data, codes, back, wasted] =
            ["blocks_read", "code_blocks_read", "block_reads_taken_back", "block_reads_wasted"]
                .map(|name| counters[name]);
        assert_eq!(
            pages(&drive) - before,
            4 * (data + codes - back),
            "{queues}: {data} and {codes} blocks, {back} taken back, {wasted} wasted"
        );
        assert!(back > 100 && wasted > 100, "{queues}: {back} taken back, {wasted} wasted");
    }
}

fn one_after_the_other(drive: &mut Drive<TimedFlash>, requests: &[Request]) -> u64 {
    let (began, mut completions) = (drive.now(), Completions::default());
    for request in requests {
        drive.submit(0, &Request { arrival: drive.now(), ..*request });
        while drive.advance(&mut completions) != Progress::Idle && completions.done.is_empty() {}
    }
    let time = drive.now() - began;
    assert_eq!(serve(drive), NOTHING);
    time
}

#[test]
fn a_read_of_very_many_groups_asks_for_all_data_before_any_code_block() {
    let size = [("coded.size", "256KiB"), ("drive.capacity", "768KiB")];
    let mut coded = encoded(&stack(&[&size[..], &[("coded.reads", "lazy")]].concat()).plan().unwrap());
    let mut plain = encoded(&stack(&[&size[..], &[("coded.code_zones", "0")]].concat()).plan().unwrap());
    for count in [256, 512] {
        let [with, without] = [&mut coded, &mut plain].map(|drive| responses(drive, &[read(0, count)]));
        assert_eq!(with, without, "{count} blocks");
    }
}

#[test]
fn a_drive_that_was_encoded_before_it_was_saved_is_not_encoded_again_at_once() {
    let plan = stack(&[("engine.contents", "none")]).plan().unwrap();
    let mut drive = counted(&plan);
    (0..drive.sectors() / BLOCK).for_each(|block| drive.submit(0, &write(block, 1)));
    assert_eq!(serve(&mut drive), NOTHING);
    drive.prepare();
    let state = DriveState::of(&mut drive);
    let mut drive = state.resume(&plan, plan.fresh_state(), |flash| plan.timed(flash)).unwrap();
    // Nothing is to do for a while, twice.
    for block in [0, 9] {
        assert_eq!(responses(&mut drive, &[read(block, 1)]), [READ]);
    }
    let counters = counters(&drive, "coded");
    assert_eq!(["offline_phases", "code_blocks_encoded"].map(|name| counters[name]), [0, 0]);
}

#[test]
fn banks_may_be_many() {
    for banks in ["40", "72", "132"] {
        let row = banks.parse::<u64>().unwrap() * 4;
        let sizes = [format!("{row}KiB"), format!("{}KiB", 3 * row)];
        for queues in ["bank", "one"] {
            let settings = [
                ("flash.channels", banks),
                ("coded.queues", queues),
                ("coded.stale_codes", "update"),
                ("coded.group", "4"),
            ];
            let mut stack = stack(&settings);
            stack.set("coded.size", &sizes[0]).set("drive.capacity", &sizes[1]);
            let mut drive = encoded(&stack.plan().unwrap());
            mixed(&mut drive, 2000, 1);
            assert_eq!(serve(&mut drive), NOTHING, "{banks} banks, {queues}");
            assert_eq!(drive.oracle().and_then(|oracle| oracle.violation()), None, "{banks} banks, {queues}");
        }
    }
}
