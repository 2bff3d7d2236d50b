//! Random reads of many dies behind shared channels, beside a model of nothing but dies, channels and a queue depth.

use crate::support::{go, timed};
use engine::random::Stream;
use nand::Flash as _;
use simulator::run::Loop;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use units::HostOp;

const CHANNELS: usize = 4;
const DIES_OF_CHANNEL: usize = 4;
const DEPTH: usize = 32;
const READ: u64 = 40_000;
const COMMAND: u64 = 1_000;
/// 16 KiB at 1.2 GB/s.
const DATA: u64 = 13_654;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Command,
    Array,
    Data,
}

/// Reads a second: each takes its die from its command to the end of its data, in order of arrival; commands and data
/// take the channel one at a time, in order of asking, or commands first.
struct Bus {
    commands_first: bool,
    events: BinaryHeap<Reverse<(u64, u64, usize, Step)>>,
    serial: u64,
    dies: Vec<VecDeque<()>>,
    waiting: Vec<VecDeque<(usize, Step)>>,
    busy: Vec<bool>,
}

impl Bus {
    fn ask(&mut self, now: u64, die: usize, step: Step) {
        let channel = die % CHANNELS;
        if !self.busy[channel] {
            self.grant(now, die, step);
        } else if step == Step::Command && self.commands_first {
            let place = self.waiting[channel].iter().take_while(|(_, step)| *step == Step::Command).count();
            self.waiting[channel].insert(place, (die, step));
        } else {
            self.waiting[channel].push_back((die, step));
        }
    }

    fn grant(&mut self, now: u64, die: usize, step: Step) {
        self.busy[die % CHANNELS] = true;
        self.after(now, if step == Step::Command { COMMAND } else { DATA }, die, step);
    }

    fn after(&mut self, now: u64, time: u64, die: usize, step: Step) {
        self.serial += 1;
        self.events.push(Reverse((now + time, self.serial, die, step)));
    }

    fn release(&mut self, now: u64, channel: usize) {
        self.busy[channel] = false;
        if let Some((die, step)) = self.waiting[channel].pop_front() {
            self.grant(now, die, step);
        }
    }

    fn arrives(&mut self, now: u64, die: usize) {
        self.dies[die].push_back(());
        if self.dies[die].len() == 1 {
            self.ask(now, die, Step::Command);
        }
    }

    fn reads_a_second(commands_first: bool, reads: u64) -> f64 {
        let dies = CHANNELS * DIES_OF_CHANNEL;
        let mut bus = Self {
            commands_first,
            events: BinaryHeap::new(),
            serial: 0,
            dies: vec![VecDeque::new(); dies],
            waiting: vec![VecDeque::new(); CHANNELS],
            busy: vec![false; CHANNELS],
        };
        let mut stream = Stream::new(5, "bus");
        let mut die = || stream.below(dies as u64) as usize;
        (0..DEPTH).for_each(|_| bus.arrives(0, die()));
        let (mut done, mut last) = (0, 0);
        while done < reads {
            let Reverse((now, _, at, step)) = bus.events.pop().expect("reads are under way");
            match step {
                Step::Command => {
                    bus.after(now, READ, at, Step::Array);
                    bus.release(now, at % CHANNELS);
                }
                Step::Array => bus.ask(now, at, Step::Data),
                Step::Data => {
                    bus.release(now, at % CHANNELS);
                    bus.dies[at].pop_front();
                    if !bus.dies[at].is_empty() {
                        bus.ask(now, at, Step::Command);
                    }
                    bus.arrives(now, die());
                    (done, last) = (done + 1, now);
                }
            }
        }
        done as f64 / last as f64 * 1e9
    }
}

#[test]
fn random_reads_share_a_channel_as_dies_and_a_bus_alone_would() {
    let reads = 200_000;
    let measured = |cycles: &str| {
        let mut drive = timed(&[
            "flash.channels=4",
            "flash.dies_per_channel=4",
            "flash.page_size=16KiB",
            "flash.pages_per_block=64",
            "flash.read_time=40us",
            "flash.bus_bandwidth=1200MB/s",
            "flash.command_overhead=1us",
            &format!("flash.command_cycles={cycles}"),
            "drive.capacity=1GiB",
            "drive.over_provisioning=20%",
            "host.idle_after=0ns",
        ]);
        let pages = drive.flash().state().geometry.page_bytes;
        go(&mut drive, "sequential-write", 1024, Loop::Closed { depth: 8 }, |parameters| {
            parameters.request_bytes = Some(1 << 20);
        });
        let start = drive.flash().now();
        let sheet = go(&mut drive, "uniform-read", reads, Loop::Closed { depth: DEPTH as u32 }, |parameters| {
            parameters.request_bytes = Some(pages.into());
        });
        assert_eq!(sheet.totals[HostOp::Read.index()].requests, reads);
        reads as f64 / (drive.flash().now() - start) as f64 * 1e9
    };
    for (cycles, commands_first) in [("channel", false), ("channel-first", true)] {
        let (found, expected) = (measured(cycles), Bus::reads_a_second(commands_first, reads));
        assert!((found / expected - 1.0).abs() < 0.01, "{cycles}: {found:.0} reads a second, {expected:.0} expected");
    }
    // What costs is not the cycles, 2 % of a read's data, but that a command waits while data moves.
    let [die, first, in_turn] = ["die", "channel-first", "channel"].map(measured);
    assert!((1.1..1.3).contains(&(die / first)), "{die:.0}, commands first {first:.0} reads a second");
    assert!((1.1..1.3).contains(&(first / in_turn)), "commands first {first:.0}, in turn {in_turn:.0} reads a second");
}
