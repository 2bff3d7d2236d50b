//! Stripes that answer reads of busy chips: how much sooner, at what cost, and never with anything but the newest
//! version.

use crate::striped::{NOTHING, counters, request, responses, serve, stack, timed};
use engine::random::Stream;
use nand::TimedFlash;
use simulator::{BlockDevice, Drive};
use testkit::{Ended, Faults, Habits, Host, Layers, Stack, drain, read_through, work};
use units::{HostOp, Request};

/// Time to read a page, ns.
const READ: u64 = 25_000;
const ONE_PARITY: [&str; 5] = ["raid4", "raid5", "raid5-fpc", "raid5-ppc", "fra"];
const READS: [&str; 3] = ["direct", "lazy", "gc-aware"];

fn small(kind: &str, reads: &str) -> Stack {
    let mut stack = stack(kind, 0, "64KiB");
    for (key, value) in [
        ("flash.read_time", "25us"),
        ("flash.program_time", "200us"),
        ("flash.bus_bandwidth", "unlimited"),
        ("flash.command_overhead", "0ns"),
        ("stripe.reads", reads),
    ] {
        stack.set(key, value);
    }
    stack
}

/// A drive on which every stripe was written as a whole.
fn whole(stack: &Stack) -> Drive<TimedFlash> {
    let mut drive = timed(&stack.plan().unwrap());
    for stripe in 0..drive.sectors() / 4 {
        drive.submit(0, &Request { sectors: 4, ..request(HostOp::Write, 4 * stripe) });
        assert_eq!(serve(&mut drive), NOTHING);
    }
    drive.top_mut().reset_counters();
    drive
}

/// Pages computed, reads taken back before they began, and after.
fn around(drive: &Drive<TimedFlash>) -> [u64; 4] {
    let counters = counters(drive, "stripe");
    ["pages_read_around", "pages_computed_instead", "around_reads_taken_back", "around_reads_wasted"]
        .map(|name| counters[name])
}

/// First data pages of stripes 5, 10 and 15 (of 6, 12 and 18 with two parities) are on one chip, as parities have gone
/// round.
fn three_of_a_chip(kind: &str) -> [Request; 3] {
    let chips = if kind.starts_with("raid6") { 6 } else { 5 };
    [1, 2, 3].map(|turn| request(HostOp::Read, turn * chips * 4))
}

#[test]
fn a_page_behind_others_of_its_chip_is_computed_from_the_rest_of_its_stripe() {
    for kind in ONE_PARITY.into_iter().chain(["raid6", "raid6-ppc"]) {
        for reads in READS {
            let mut drive = whole(&small(kind, reads));
            let times = responses(&mut drive, &three_of_a_chip(kind));
            // Behind one read the detour is no shorter; behind two it is.
            let last = if reads == "direct" { 3 } else { 1 };
            assert_eq!(times, [READ, 2 * READ, last * READ], "{kind}, {reads}");
            let two = u64::from(kind.starts_with("raid6"));
            let expected = match reads {
                "direct" => [0; 4],
                // Of two parities one is not needed, but has begun.
                "lazy" => [1, 1, 1, two],
                _ => [1, 1, 0, 0],
            };
            assert_eq!(around(&drive), expected, "{kind}, {reads}");
        }
    }
}

/// The stripe of the last page has another page that is newer than its parity.
#[test]
fn a_stripe_whose_parity_is_behind_answers_for_no_page() {
    for kind in ["raid5-fpc", "raid5-ppc", "raid6-ppc"] {
        for reads in READS {
            let mut drive = whole(&small(kind, reads));
            let all = three_of_a_chip(kind);
            responses(&mut drive, &[request(HostOp::Write, all[2].first_sector + 1)]);
            assert_eq!(counters(&drive, "stripe")["stripes_delayed"], 1, "{kind}");
            assert_eq!(responses(&mut drive, &all), [READ, 2 * READ, 3 * READ], "{kind}, {reads}");
            assert_eq!(around(&drive), [0; 4], "{kind}, {reads}");
        }
    }
}

/// While a page of a stripe is being written, its parity is not what it will be: reads of the stripe go to their chips.
#[test]
fn a_stripe_that_is_being_written_answers_for_no_page() {
    let mut helped = 0;
    for (kind, reads) in ONE_PARITY.into_iter().flat_map(|kind| READS.map(|reads| (kind, reads))) {
        for events in 0..16 {
            let mut drive = whole(&small(kind, reads));
            let all = three_of_a_chip(kind);
            drive.submit(9, &Request { arrival: drive.now(), ..request(HostOp::Write, all[2].first_sector + 1) });
            (0..events).for_each(|_| _ = drive.step());
            let is_written = drive.take_done().len() == 1;
            let may_help = is_written && counters(&drive, "stripe")["stripes_delayed"] == 0;
            for read in all {
                drive.submit(0, &Request { arrival: drive.now(), ..read });
            }
            assert_eq!(serve(&mut drive), NOTHING);
            assert_eq!(drive.oracle().unwrap().violation(), None, "{kind}, {reads}, {events} events");
            assert!(may_help || around(&drive)[0] == 0, "{kind}, {reads}, {events} events: {:?}", around(&drive));
            helped += around(&drive)[0];
        }
    }
    assert!(helped > 0, "once all is written it does");
}

/// Any host, any scheme, media faults as well: the oracle sees every sector that is read.
#[test]
fn reads_around_busy_chips_return_the_newest_version() {
    let mut seen = [0_u64; 4];
    for (index, (kind, reads)) in ["raid5", "raid5-ppc", "raid6-ppc", "fra"]
        .into_iter()
        .flat_map(|kind| ["lazy", "gc-aware"].map(|reads| (kind, reads)))
        .enumerate()
    {
        for seed in 0..40 {
            let mut stream = Stream::new(seed, "around");
            let faults = if seed % 4 == 0 { Faults::Rare } else { Faults::None };
            let mut stack = Stack::draw(&mut stream, faults, Layers::stripe(kind));
            stack.set("stripe.reads", reads).set("stripe.buffer_size", "0B");
            let habits = Habits { depth: 12, reads: 0.6, hot: 0.5, longest_pages: 6, ..Habits::draw(&mut stream) };
            let plan = stack.plan().unwrap();
            let mut drive = timed(&plan);
            let mut host = Host::new(habits, seed + 100 * index as u64);
            for _ in 0..8 {
                let ended = work(&mut drive, &mut host, 200);
                let ended = ended.unwrap_or_else(|what| panic!("{kind}, {reads}, seed {seed}: {what} ({stack})"));
                if ended == Ended::Stuck {
                    break;
                }
                drain(&mut drive);
            }
            read_through(&mut drive, plan.geometry.sectors_per_page())
                .unwrap_or_else(|what| panic!("{kind}, {reads}, seed {seed}: {what} ({stack})"));
            drive.top().check(drive.flash()).unwrap();
            seen.iter_mut().zip(around(&drive)).for_each(|(seen, more)| *seen += more);
        }
    }
    let [pages, computed, taken_back, wasted] = seen;
    assert!(pages > 1000 && computed > 300 && taken_back > 300 && wasted > 100, "{seen:?}");
}
