//! The single server against what must hold of it: data sheet sums, a queue's closed form, exact books.

use crate::support::{MadeUp, MadeUpLayer, plan, timed};
use layer::{Answer, Outbox, PageOp, Signal};
use nand::{Cancel, PayloadId, Read, ServiceMeter, Span};
use nand::{Completion, ContentsKind, Flash, FlashState, Meter, MeteredFlash, PageProgram, Part, Program};
use simulator::run::{Ended, HostMeasurements, Loop, RunPlan, run};
use simulator::{BlockDevice, Clocked, Completions, HostOptions, Progress, SerialDrive};
use trace::Workload;
use trace::synthetic::{WorkloadParameters, build};
use units::{CAUSES, Cause, DIE_CAUSES, Geometry, HostOp, Nanos, Ppn, Request, Shape, Wait};

/// 25 us in the array, 4 KiB at 819.2 MB/s.
const READ_NS: Nanos = 30_000;
const WRITE_NS: Nanos = 205_000;
const ERASE_NS: Nanos = 1_500_000;
const READ: usize = HostOp::Read as usize;
const WRITE: usize = HostOp::Write as usize;
const SMALL: [&str; 4] =
    ["drive.capacity=64MiB", "flash.channels=2", "flash.dies_per_channel=2", "flash.pages_per_block=64"];

fn serial(settings: &[&str]) -> SerialDrive {
    let plan = plan(&[&SMALL, settings].concat());
    SerialDrive::new(plan.assemble(plan.metered(plan.fresh_state())))
}

/// Runs a generator of page-sized requests; `shape` may change its parameters.
fn go(
    device: &mut impl BlockDevice,
    workload: &str,
    requests: u64,
    arrivals: Loop,
    shape: impl Fn(&mut WorkloadParameters),
) -> HostMeasurements {
    let mut parameters = WorkloadParameters::new(device.sectors(), requests);
    if !workload.starts_with("sequential") {
        parameters.request_bytes = Some(4096);
    }
    shape(&mut parameters);
    let mut source = build(workload, &parameters).unwrap();
    go_from(device, &mut *source, requests, arrivals)
}

fn go_from(
    device: &mut impl BlockDevice,
    source: &mut dyn Workload,
    requests: u64,
    arrivals: Loop,
) -> HostMeasurements {
    let plan = RunPlan { arrivals, limit: requests, sectors_per_page: 8, timed: true };
    let (ended, sheet) = run(device, source, plan, &mut (), |_| [0; units::DIE_CAUSES]).unwrap();
    assert_eq!(ended, Ended::Complete);
    sheet
}

fn fill(device: &mut impl BlockDevice) {
    go(device, "sequential-write", 512, Loop::Closed { depth: 1 }, |_| {});
}

fn request(op: HostOp, first_sector: u64, sectors: u32) -> Request {
    Request { arrival: 0, first_sector, sectors, op, fua: false }
}

/// Lets a request in now and waits for its end: how long it took.
fn response(device: &mut SerialDrive, asked: Request) -> Nanos {
    let arrival = device.now();
    device.submit(7, &Request { arrival, ..asked });
    let mut completions = Completions::default();
    assert_eq!(device.advance(&mut completions), Progress::Worked);
    assert_eq!(completions.done[0].tag, 7);
    device.now() - arrival
}

#[test]
fn an_idle_server_takes_the_data_sheet_sum() {
    let mut device = serial(&["flash.command_overhead=1us"]);
    let command = 1000;
    assert_eq!(response(&mut device, request(HostOp::Read, 0, 8)), 0, "a page never written needs no flash");
    assert_eq!(response(&mut device, request(HostOp::Write, 0, 8)), WRITE_NS + command);
    assert_eq!(response(&mut device, request(HostOp::Read, 0, 8)), READ_NS + command);
    assert_eq!(response(&mut device, request(HostOp::Read, 3, 1)), 25_000 + 625 + command, "one sector of eight moves");
    // Five pages on four dies: nothing overlaps.
    assert_eq!(response(&mut device, request(HostOp::Write, 8, 40)), 5 * (WRITE_NS + command));
    assert_eq!(response(&mut device, request(HostOp::Read, 8, 40)), 5 * (READ_NS + command));
    // Seven sectors of the old page are read, the whole new one is programmed.
    assert_eq!(response(&mut device, request(HostOp::Write, 0, 1)), 25_000 + 7 * 625 + WRITE_NS + 2 * command);
    assert_eq!(response(&mut device, request(HostOp::Flush, 0, 0)), 0, "nothing is left to do");
}

#[test]
fn requests_that_arrive_at_once_finish_one_after_the_other() {
    let mut device = serial(&[]);
    fill(&mut device);
    let start = device.now();
    for tag in 0..20 {
        device.submit(tag, &Request { arrival: start, ..request(HostOp::Read, u64::from(tag) * 8, 8) });
    }
    let mut completions = Completions::default();
    for tag in 0..20_u32 {
        assert_eq!(device.advance(&mut completions), Progress::Worked);
        let [done] = completions.done[..] else { panic!("{} completed at once", completions.done.len()) };
        assert_eq!((done.tag, device.now()), (tag, start + u64::from(tag + 1) * READ_NS));
        assert_eq!(done.queue_ns, 0);
        let waited = done.wait.map_or(0, |index| completions.waits[index].direct(Wait::Cause(Cause::Host)));
        assert_eq!(waited, u64::from(tag) * READ_NS);
    }
    assert_eq!(device.advance(&mut completions), Progress::Idle);
}

#[test]
fn poisson_arrivals_of_reads_wait_as_in_the_queue_m_d_1() {
    for (load, interarrival_ns) in [(0.5, 60_000), (0.8, 37_500)] {
        let mut device = serial(&[]);
        fill(&mut device);
        let busy_before: Nanos = device.busy_ns().iter().sum();
        let sheet = go(&mut device, "uniform-read", 4_000_000, Loop::Open { limit: 1 << 20 }, |parameters| {
            parameters.mean_interarrival_ns = Some(interarrival_ns);
        });
        let service = READ_NS as f64;
        let expected = load * service / (2.0 * (1.0 - load));
        let all = sheet.latency[READ].tail(1.0);
        let wait = all.latency - service;
        println!("load {load}: mean wait {wait:.1} ns, expected {expected:.1}");
        assert!((wait / expected - 1.0).abs() < 0.02, "load {load}: mean wait {wait:.1} ns, expected {expected:.1}");
        assert!((all.direct[Cause::Host.index()] - wait).abs() < 1e-3, "all of it behind other reads");
        // Arrivals see time averages: the share 1 - load finds the server idle.
        let histogram = sheet.latency[READ].histogram();
        let bound = READ_NS + READ_NS / 64;
        assert!(histogram.percentile(1.0 - load - 0.01) <= bound && histogram.percentile(1.0 - load + 0.01) >= bound);
        let busy = device.busy_ns().iter().sum::<Nanos>() - busy_before;
        let utilisation = busy as f64 / (sheet.ended - sheet.started) as f64;
        assert!((utilisation - load).abs() < 0.005, "load {load}: the server was busy {utilisation:.4} of the time");
    }
}

/// Commands so far: reads, programs and erases by cause.
fn counts(device: &SerialDrive) -> [[u64; DIE_CAUSES]; 3] {
    let counters = &device.drive().flash().state().counters;
    [counters.reads, counters.programs, counters.erases]
}

#[test]
fn service_is_exactly_the_times_of_all_commands() {
    for copyback in [false, true] {
        let mut device = serial(&[&format!("ftl.gc.copyback={copyback}"), "ftl.wear.static_gap=4"]);
        fill(&mut device);
        go(&mut device, "uniform-write", 40_000, Loop::Closed { depth: 1 }, |_| {});
        let (counts_before, busy_before) = (counts(&device), device.busy_ns());
        let sheet = go(&mut device, "mixed", 40_000, Loop::Closed { depth: 16 }, |_| {});
        let (after, busy_after) = (counts(&device), device.busy_ns());
        for cause in CAUSES.map(Cause::index) {
            let [reads, programs, erases] =
                [0, 1, 2].map(|kind: usize| after[kind][cause] - counts_before[kind][cause]);
            let copies = if copyback && cause != Cause::Host.index() { programs } else { 0 };
            let expected =
                (reads - copies) * READ_NS + (programs - copies) * WRITE_NS + copies * 225_000 + erases * ERASE_NS;
            assert_eq!(busy_after[cause] - busy_before[cause], expected, "{}", CAUSES[cause].name());
        }
        assert!(after[2][Cause::Gc.index()] > counts_before[2][Cause::Gc.index()] + 100, "the drive collects");
        assert!(copyback || after[1][Cause::Wear.index()] > 0, "and levels wear");
        // In a closed loop the server never rests: throughput is requests / busy time.
        let busy: Nanos = busy_after.iter().zip(busy_before).map(|(after, before)| after - before).sum();
        assert_eq!(sheet.ended - sheet.started, busy);
        for (op, service) in [(READ, READ_NS), (WRITE, WRITE_NS)] {
            for share in [1.0, 0.01] {
                let tail = sheet.latency[op].tail(share);
                assert!(
                    (tail.service() - service as f64).abs() < 1e-3,
                    "slowest {share}: service {} ns",
                    tail.service()
                );
                assert!(tail.direct.iter().zip(tail.root).all(|(direct, root)| (direct - root).abs() < 1e-9));
            }
        }
    }
}

/// A device whose completions are checked one by one.
struct Audited {
    inner: SerialDrive,
    checked: u64,
}

impl BlockDevice for Audited {
    fn now(&self) -> Nanos {
        self.inner.now()
    }
    fn sectors(&self) -> u64 {
        self.inner.sectors()
    }
    fn submit(&mut self, tag: u32, request: &Request) {
        self.inner.submit(tag, request);
    }
    fn wake_at(&mut self, time: Nanos) {
        self.inner.wake_at(time);
    }
    fn hint(&self, soon: &[Request], next: &[Request]) {
        self.inner.hint(soon, next);
    }
    fn advance(&mut self, completions: &mut Completions) -> Progress {
        let progress = self.inner.advance(completions);
        for done in &completions.done {
            let waited = done.wait.map_or(0, |index| completions.waits[index].total());
            let own = if done.request.op == HostOp::Read { READ_NS } else { WRITE_NS };
            let response = self.now() - done.request.arrival;
            assert_eq!(waited + done.queue_ns + own, response, "{:?}", done.request);
            self.checked += 1;
        }
        progress
    }
}

#[test]
fn every_nanosecond_of_every_request_is_charged_once() {
    let mut device = serial(&[]);
    fill(&mut device);
    go(&mut device, "uniform-write", 40_000, Loop::Closed { depth: 1 }, |_| {});
    let mut device = Audited { inner: device, checked: 0 };
    // A short line in front, so that some also wait before the drive takes them.
    go(&mut device, "mixed", 30_000, Loop::Open { limit: 40 }, |parameters| {
        parameters.mean_interarrival_ns = Some(500_000);
        parameters.read_share = Some(0.5);
    });
    assert_eq!(device.checked, 30_000);
    let sheet = go(&mut device, "mixed", 30_000, Loop::Closed { depth: 8 }, |_| {});
    let latency: f64 = sheet.latency.iter().map(|one| one.histogram().mean() * one.histogram().count() as f64).sum();
    let depth = latency / (sheet.ended - sheet.started) as f64;
    assert!((depth / 8.0 - 1.0).abs() < 0.001, "Little's law: {depth:.3} under way");
}

#[test]
fn one_request_on_one_die_takes_as_long_as_on_the_parallel_drive() {
    // Partial pages bring reads of what is kept; no page is trimmed or collected, so nothing is left
    // to the background.
    let one_die = ["flash.channels=1", "flash.dies_per_channel=1", "flash.command_overhead=300ns"];
    let closed = Loop::Closed { depth: 1 };
    let small = |parameters: &mut WorkloadParameters| {
        parameters.request_bytes = Some(6144);
        parameters.footprint_share = 0.02;
        parameters.read_share = Some(0.8);
    };
    let mut single = serial(&one_die);
    let mut parallel = timed(&[&SMALL[..], &one_die].concat());
    let (ours, theirs) =
        (go(&mut single, "mixed", 2000, closed, small), go(&mut parallel, "mixed", 2000, closed, small));
    assert_eq!((ours.hash, ours.ended), (theirs.hash, theirs.ended), "every latency agrees");
    let busy: Nanos = single.busy_ns().iter().sum();
    assert_eq!(busy, parallel.flash().die_busy_ns().sum::<Nanos>());
    assert_eq!(counts(&single)[1], parallel.flash().state().counters.programs);
    assert!(single.busy_ns()[Cause::Padding.index()] > 0, "pages are completed");
}

fn small_state() -> FlashState {
    let shape = Shape {
        channels: 1,
        dies_per_channel: 1,
        planes_per_die: 1,
        blocks_per_die: 8,
        pages_per_block: 16,
        page_bytes: 4096,
    };
    FlashState::new(Geometry::new(shape).unwrap(), ContentsKind::None)
}

fn small_meter(state: &FlashState) -> ServiceMeter {
    let part = Part {
        read_ns: 25_000,
        program_ns: 200_000,
        erase_ns: ERASE_NS,
        bus_bytes_per_second: 819_200_000,
        page_bytes: 4096,
        planes_as_one: 1,
        page_read_ns: None,
        page_program_ns: None,
        slc: None,
        first_pass_ns: None,
        side_by_side: (1, 4096),
        command_ns: 0,
        endurance: 0,
    };
    ServiceMeter::new(&part, state)
}

#[test]
fn the_meter_keeps_the_order_of_causes() {
    let mut meter = small_meter(&small_state());
    meter.read(Cause::Gc, 8);
    meter.program(Cause::Gc);
    meter.program(Cause::Host);
    meter.erase(Cause::Gc);
    meter.copyback(Cause::Wear);
    let mut spans = Vec::new();
    meter.take(&mut spans);
    let expected = [(Cause::Gc, 235_000), (Cause::Host, WRITE_NS), (Cause::Gc, ERASE_NS), (Cause::Wear, 225_000)];
    assert_eq!(spans, expected.map(|(cause, time)| Span { cause, time }));
    meter.take(&mut spans);
    assert!(spans.is_empty());
}

/// A layer without room for writes until the first read, which makes some with a collection's copy.
struct Reluctant {
    has_room: bool,
    next: u32,
}

impl Reluctant {
    fn program(&mut self, flash: &mut MeteredFlash, cause: Cause, logical: u32) {
        let page = Ppn(self.next);
        self.next += 1;
        let join = flash.open(0, 0, Cancel::Never);
        flash.program(
            0,
            PageProgram {
                page,
                supersedes: None,
                what: Program::Data { payload: PayloadId::NONE, merge: false },
                logical,
                sequence: 0,
                cause,
                completion: Completion::Join(join),
                after: None,
            },
        );
    }
}

impl MadeUp<MeteredFlash> for Reluctant {
    fn submit(&mut self, flash: &mut MeteredFlash, op: &PageOp, outbox: &mut Outbox) -> Answer {
        if op.op == HostOp::Write {
            if !self.has_room {
                return Answer::Done { failed: false }.full(0);
            }
            self.program(flash, Cause::Host, op.first.0);
        } else if self.next > 0 || !self.has_room {
            if !self.has_room {
                self.has_room = true;
                self.program(flash, Cause::Gc, 0);
                outbox.push(Signal::Room);
            }
            let join = flash.open(0, 0, Cancel::Never);
            let completion = Some(Completion::Join(join));
            flash.read(
                0,
                Read {
                    page: Ppn(0),
                    cause: Cause::Host,
                    sectors: 8,
                    payload: PayloadId::NONE,
                    completion,
                    after: None,
                },
            );
        }
        Answer::Done { failed: false }
    }
}

#[test]
fn a_write_without_room_lets_reads_pass_and_completes_when_one_makes_room() {
    let state = small_state();
    let flash = MeteredFlash::with_meter(small_state(), small_meter(&state));
    let options = HostOptions::default();
    let layer = Box::new(MadeUpLayer(Reluctant { has_room: false, next: 0 }));
    let mut device = SerialDrive::new(simulator::Drive::new(flash, layer, 64, options));
    for (tag, op) in [HostOp::Write, HostOp::Read, HostOp::Read].into_iter().enumerate() {
        device.submit(tag as u32, &request(op, 0, 8));
    }
    // A collection's program, the first read, and the write it made room for: one service.
    let mut completions = Completions::default();
    assert_eq!(device.advance(&mut completions), Progress::Worked);
    let first = WRITE_NS + READ_NS + WRITE_NS;
    assert_eq!(device.now(), first);
    let tags: Vec<u32> = completions.done.iter().map(|done| done.tag).collect();
    assert_eq!(tags, [0, 1]);
    let [write, read] = completions.done[..] else { unreachable!() };
    let [read, write] = [read, write].map(|done| completions.waits[done.wait.unwrap()]);
    let space = [read, write].map(|waits| waits.direct(Wait::Space));
    assert_eq!(space, [0, first], "the write waited for nothing but room");
    let waits = read;
    assert_eq!(waits.total(), WRITE_NS, "the copy it had to make");
    assert_eq!(device.advance(&mut completions), Progress::Worked);
    assert_eq!((device.now(), completions.done[0].tag), (first + READ_NS, 2));
    assert_eq!(device.advance(&mut completions), Progress::Idle);

    // Where nothing makes room the run ends as stuck instead of waiting for ever.
    let layer = Box::new(MadeUpLayer(Reluctant { has_room: false, next: 0 }));
    let flash = MeteredFlash::with_meter(small_state(), small_meter(&state));
    let mut device = SerialDrive::new(simulator::Drive::new(flash, layer, 64, options));
    let mut source = build("sequential-write", &WorkloadParameters::new(device.sectors(), 1)).unwrap();
    let plan = RunPlan { arrivals: Loop::Closed { depth: 4 }, limit: 1, sectors_per_page: 8, timed: true };
    assert_eq!(run(&mut device, &mut *source, plan, &mut (), |_| [0; units::DIE_CAUSES]).unwrap().0, Ended::Stuck);
}

#[test]
fn a_metered_drive_has_no_clock_of_its_own() {
    const { assert!(!MeteredFlash::HAS_TIME) };
}

/// The same where the first page of a write is accepted, and fails.
struct Stumbling(Reluctant);

impl MadeUp<MeteredFlash> for Stumbling {
    fn submit(&mut self, flash: &mut MeteredFlash, op: &PageOp, outbox: &mut Outbox) -> Answer {
        if op.op == HostOp::Write && !self.0.has_room {
            self.0.program(flash, Cause::Host, op.first.0);
            return Answer::Done { failed: true }.full(1);
        }
        self.0.submit(flash, op, outbox)
    }
}

#[test]
fn a_write_whose_first_page_failed_fails_although_the_rest_found_no_room_at_first() {
    let state = small_state();
    let flash = MeteredFlash::with_meter(small_state(), small_meter(&state));
    let layer = Box::new(MadeUpLayer(Stumbling(Reluctant { has_room: false, next: 0 })));
    let mut device = SerialDrive::new(simulator::Drive::new(flash, layer, 64, HostOptions::default()));
    for (tag, op) in [HostOp::Write, HostOp::Read].into_iter().enumerate() {
        device.submit(tag as u32, &request(op, 0, 16));
    }
    let mut completions = Completions::default();
    let mut failed = Vec::new();
    while device.advance(&mut completions) == Progress::Worked {
        failed.extend(completions.done.iter().map(|done| (done.tag, done.failed)));
    }
    failed.sort_unstable();
    assert_eq!(failed, [(0, true), (1, false)]);
}
