//! Drivers of a host over a drive with real bytes, and power cuts: what was flushed reads back.

use engine::random::Stream;
use nand::{FlashState, TimedFlash};
use simulator::{BlockDevice, Completions, Config, Drive, DrivePlan, Driver, Oracle, Progress, Remapped, Setting};
use units::{HostOp, Request};

type Stack = Remapped<Drive<TimedFlash>>;

/// Requests under way at most.
const DEPTH: u32 = 8;
/// Cuts of a life.
const CUTS: u32 = 700;
/// Events between two cuts, at most.
const EVENTS: u64 = 64;

fn plan(settings: &[&str]) -> DrivePlan {
    let small = [
        "drive.capacity=1MiB",
        "drive.over_provisioning=100%",
        "flash.channels=4",
        "flash.dies_per_channel=1",
        "flash.pages_per_block=8",
        "engine.contents=bytes",
        "remap.superpage=16KiB",
    ];
    let settings: Vec<Setting> =
        small.iter().chain(settings).map(|text| Setting::from_argument(text).unwrap()).collect();
    DrivePlan::new(Config::load("page", &settings).unwrap()).unwrap()
}

/// A drive that carries cells.
fn carrying(mut drive: Drive<TimedFlash>) -> Drive<TimedFlash> {
    drive.carry_cells();
    drive
}

fn opened(plan: &DrivePlan, image: FlashState) -> Stack {
    let mut drive = carrying(plan.recover(image).unwrap());
    let driver = Driver::open(plan.remap.as_deref().unwrap(), &mut drive).unwrap_or_else(|error| panic!("{error}"));
    Remapped::new(drive, driver)
}

/// The stamps of all sectors, by reads of the host.
fn read_all(stack: &mut Stack) -> Vec<u64> {
    stack.carry_cells();
    let mut found = Vec::new();
    let mut completions = Completions::default();
    for first_sector in (0..stack.sectors()).step_by(128) {
        let sectors = (stack.sectors() - first_sector).min(128) as u32;
        let request = Request { arrival: stack.now(), first_sector, sectors, op: HostOp::Read, fua: false };
        stack.submit_cells(0, &request, &[]);
        loop {
            assert_eq!(stack.advance(&mut completions), Progress::Worked, "a read is never answered");
            if let Some(done) = completions.done.first() {
                assert!(!done.failed);
                break;
            }
        }
        found.extend(completions.cells.chunks_exact(512).map(Oracle::stamp_in));
    }
    found
}

/// One host, its drive, and where chance stands.
struct Life<'a> {
    plan: &'a DrivePlan,
    stack: Stack,
    stream: Stream,
    under_way: u32,
    /// Pages written, and virtual superpages reclaimed or segments written back, before the last restart, and restarts.
    before: [u64; 3],
}

impl<'a> Life<'a> {
    fn begin(plan: &'a DrivePlan, seed: u64) -> Self {
        let drive = carrying(plan.assemble(plan.timed(plan.fresh_state())));
        let mut stack = Remapped::new(drive, Driver::format(plan.remap.as_deref().unwrap(), seed));
        stack.settle();
        Self { plan, stack, stream: Stream::new(seed, "remapped"), under_way: 0, before: [0; 3] }
    }

    fn submit(&mut self) {
        let sectors = self.stack.sectors();
        let first_sector = self.stream.below(sectors);
        let length = 1 + self.stream.below(24.min(sectors - first_sector)) as u32;
        let op = match self.stream.below(16) {
            0 => HostOp::Flush,
            1 | 2 => HostOp::Trim,
            3..=5 => HostOp::Read,
            _ => HostOp::Write,
        };
        let (first_sector, length) = if op == HostOp::Flush { (0, 0) } else { (first_sector, length) };
        let fua = op == HostOp::Write && self.stream.below(16) == 0;
        self.stack.submit(0, &Request { arrival: self.stack.now(), first_sector, sectors: length, op, fua });
        self.under_way += 1;
    }

    /// Runs events, with requests as there is room for them.
    fn live(&mut self, events: u64) {
        for _ in 0..events {
            while self.under_way < DEPTH {
                self.submit();
            }
            let moved = self.stack.step();
            let done = self.stack.take_done();
            assert!(moved || !done.is_empty(), "requests wait, and nothing will ever happen");
            assert!(done.iter().all(|done| !done.failed), "{done:?}");
            self.under_way -= done.len() as u32;
        }
        let violation = self.stack.oracle().and_then(Oracle::violation);
        assert_eq!(violation, None);
    }

    /// Pages written, virtual superpages reclaimed or segments written back, and restarts.
    fn counts(&self, restarts: u64) -> [u64; 3] {
        let [pages, victims, before] = self.before;
        let report = self.stack.machine().report();
        let written = report.get("host_pages").unwrap();
        let reclaimed = report.get("victims").or(report.get("written_back_segments")).unwrap();
        [pages + written, victims + reclaimed, before + restarts]
    }

    /// Cuts power; goes on from there if `restart`.
    fn cut(&mut self, restart: bool) {
        self.stack.machine().check().unwrap();
        let image = self.stack.device().flash().power_cut(&mut self.stream);
        let kept = restart.then(|| image.clone());
        let mut after = opened(self.plan, image);
        after.machine().check().unwrap();
        let found = read_all(&mut after);
        let oracle = self.stack.oracle_mut().unwrap();
        for (sector, value) in (0..).zip(&found) {
            oracle.check_after_cut(sector, *value);
        }
        assert_eq!(oracle.violation(), None);
        if let Some(image) = kept {
            let mut oracle = oracle.clone();
            self.before = self.counts(1);
            oracle.after_cut(&found);
            self.stack = opened(self.plan, image);
            *self.stack.oracle_mut().unwrap() = oracle;
            self.under_way = 0;
        }
    }
}

fn campaign(settings: &[&str]) {
    let plan = plan(settings);
    for seed in 1..=2 {
        let mut life = Life::begin(&plan, seed);
        for number in 1..=CUTS {
            let events = 1 + life.stream.below(EVENTS);
            life.live(events);
            // Some lives are long enough for reclamation, some cuts follow each other closely.
            let restart = life.stream.below(if number < CUTS / 2 { 200 } else { 5 }) == 0;
            life.cut(restart);
        }
        let [pages, victims, restarts] = life.counts(0);
        assert!(
            pages > 1000 && victims > 10 && restarts > 20,
            "{pages} pages, {victims} reclaimed, {restarts} restarts"
        );
    }
}

const HARD: &str = "remap.kind=hard";
const LOG: [&str; 3] = ["remap.kind=log-cache", "remap.segment=32KiB", "remap.log=25%"];
const BUFFER: [&str; 2] = ["buffer.kind=page-lru", "buffer.size=64KiB"];

#[test]
fn flushed_sectors_survive_cuts_over_superpages() {
    campaign(&[HARD, "ftl.kind=superpage"]);
}

#[test]
fn flushed_sectors_survive_cuts_over_pages_with_trims() {
    campaign(&[HARD, "ftl.kind=page", "remap.trim=true", "remap.write_cache=volatile"]);
}

#[test]
fn flushed_sectors_survive_cuts_over_superpages_behind_a_volatile_buffer() {
    campaign(&[HARD, "ftl.kind=superpage", BUFFER[0], BUFFER[1], "remap.partial=hold"]);
}

#[test]
fn flushed_sectors_survive_cuts_over_pages_behind_a_volatile_buffer() {
    campaign(&[HARD, "ftl.kind=page", BUFFER[0], BUFFER[1]]);
}

fn log_cache(settings: &[&str]) {
    campaign(&[&LOG[..], settings].concat());
}

#[test]
fn flushed_sectors_survive_cuts_behind_a_log_over_superpages() {
    log_cache(&["ftl.kind=superpage"]);
}

#[test]
fn flushed_sectors_survive_cuts_behind_a_log_in_memory_over_pages() {
    log_cache(&["ftl.kind=page", "remap.write_cache=volatile"]);
}

#[test]
fn flushed_sectors_survive_cuts_behind_a_log_over_superpages_behind_a_volatile_buffer() {
    log_cache(&["ftl.kind=superpage", BUFFER[0], BUFFER[1], "remap.write_cache=volatile"]);
}
