//! The rows that the benchmark measures.

use crate::stopwatch::Stopwatch;
use crate::{cuts, readers};
use nand::{CountedFlash, Flash};
use serde_json::{Value, json};
use simulator::run::{Ended, Loop, RunPlan, run};
use simulator::{BlockDevice, Clocked, Config, Drive, DrivePlan, DriveState, Setting};
use trace::synthetic::{WorkloadParameters, build};

/// How large the drives are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Seconds, to keep the benchmark from rotting.
    Smoke,
    /// The sizes of the published targets.
    Full,
}

/// One line of the table.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub name: &'static str,
    pub measured: f64,
    /// The same by CPU time instead of wall time; a row that is no time has one value.
    pub by_cpu: f64,
    pub target: f64,
    pub unit: &'static str,
    /// A smaller number is better (times and bytes).
    pub smaller_is_better: bool,
    pub commands_per_second: f64,
    pub bytes_per_page: Option<f64>,
    pub hash: u64,
}

impl Row {
    /// Whether the target is reached.
    pub fn meets_target(&self) -> bool {
        if self.smaller_is_better { self.measured <= self.target } else { self.measured >= self.target }
    }

    /// The row as kept in the record of the run. `ratio`: to its reference program.
    pub fn to_json(&self, ratio: Option<f64>) -> Value {
        json!({"row": self.name, "measured": self.measured, "by_cpu": self.by_cpu, "target": self.target,
            "unit": self.unit, "meets_target": self.meets_target(), "flash_commands_per_s": self.commands_per_second,
            "bytes_per_page": self.bytes_per_page, "ratio_to_yardstick": ratio, "hash": format!("{:016x}", self.hash)})
    }
}

pub(crate) struct Measured {
    pub per_second: f64,
    seconds: f64,
    cpu_seconds: f64,
    commands_per_second: f64,
}

pub(crate) fn commands<F: Clocked>(drive: &Drive<F>) -> u64 {
    let counters = &drive.flash().state().counters;
    [counters.reads, counters.programs, counters.erases].iter().flatten().sum()
}

/// Runs a workload at a queue depth; depth 0: without time.
pub(crate) fn drive_it<F: Clocked>(
    drive: &mut Drive<F>,
    workload: &str,
    requests: u64,
    depth: u32,
    seed: u64,
) -> Measured {
    let parameters = WorkloadParameters { seed, ..WorkloadParameters::new(drive.sectors(), requests) };
    drive_with(drive, workload, &parameters, depth)
}

/// The same with parameters of the workload.
fn drive_with<F: Clocked>(
    drive: &mut Drive<F>,
    workload: &str,
    parameters: &WorkloadParameters,
    depth: u32,
) -> Measured {
    let requests = parameters.requests;
    let mut source = build(workload, parameters).expect("benchmark workloads exist");
    let plan = RunPlan {
        arrivals: Loop::Closed { depth: depth.max(1) },
        limit: requests,
        sectors_per_page: drive.flash().state().geometry.sectors_per_page(),
        timed: depth > 0,
    };
    let before = commands(drive);
    let stopwatch = Stopwatch::start();
    let programs = |drive: &Drive<F>| drive.flash().state().counters.programs;
    let (ended, _) = run(drive, &mut *source, plan, &mut (), programs).expect("benchmark requests fit the drive");
    let [seconds, cpu_seconds] = stopwatch.seconds();
    assert_eq!(ended, Ended::Complete, "{workload} did not complete");
    Measured {
        per_second: requests as f64 / seconds,
        seconds,
        cpu_seconds,
        commands_per_second: (commands(drive) - before) as f64 / seconds,
    }
}

fn plan(gib: f64) -> DrivePlan {
    plan_of("page", gib, &[])
}

pub(crate) fn plan_of(stack: &str, gib: f64, settings: &[String]) -> DrivePlan {
    let mut all = vec![format!("drive.capacity={}B", (gib * (1_u64 << 30) as f64) as u64)];
    all.extend_from_slice(settings);
    let all: Vec<Setting> =
        all.iter().map(|setting| Setting::from_argument(setting).expect("a setting has a value")).collect();
    let config = Config::load(stack, &all).expect("the stack is built in");
    DrivePlan::new(config).expect("benchmark drives can be built")
}

/// Resident memory of this process, bytes; 0 where it cannot be told.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: Option<u64> = status.split(' ').nth(1).and_then(|field| field.parse().ok());
    pages.unwrap_or(0) * 4096
}

/// A group of rows: its name, and what measures it.
type Group = (&'static str, fn(Scale) -> Vec<Row>);

/// Every group, in the order of the table.
pub(crate) const GROUPS: [Group; 16] = [
    ("start-up", start_up),
    ("counted", counted),
    ("preconditioning", preconditioning),
    ("timed", timed),
    ("units", units),
    ("buffer", buffered),
    ("dftl", |scale| demand(scale, "dftl", ["dftl, random reads", "dftl, steady writes"], 0.5)),
    ("tpm", |scale| demand(scale, "tpm", ["tpm, random reads", "tpm, steady writes"], 0.5)),
    ("cdftl", |scale| demand(scale, "cdftl", ["cdftl, random reads", "cdftl, steady writes"], 0.3)),
    ("tpftl", |scale| demand(scale, "tpftl", ["tpftl, random reads", "tpftl, steady writes"], 0.3)),
    ("leaftl", |scale| demand(scale, "leaftl", ["leaftl, random reads", "leaftl, steady writes"], 0.2)),
    ("hybrid", hybrid),
    ("stripe", striped),
    ("zones", coded),
    ("torture", cuts::measure),
    ("traces", readers::measure),
];

/// Measures every row, or the rows of the group called `only`.
pub(crate) fn measure(scale: Scale, only: Option<&str>) -> Vec<Row> {
    GROUPS.iter().filter(|(name, _)| only.is_none_or(|only| only == *name)).flat_map(|(_, rows)| rows(scale)).collect()
}

impl Scale {
    /// GiB of the drives without time, and of those in virtual time.
    fn gib(self) -> (f64, f64) {
        match self {
            Scale::Smoke => (2.0, 2.0),
            Scale::Full => (16.0, 32.0),
        }
    }

    /// Requests a row is measured over.
    fn requests(self) -> u64 {
        match self {
            Scale::Smoke => 200_000,
            Scale::Full => 8_000_000,
        }
    }
}

fn start_up(_: Scale) -> Vec<Row> {
    let stopwatch = Stopwatch::start();
    let plan = plan(8.0);
    let mut drive = plan.assemble(plan.timed(plan.fresh_state()));
    drive_it(&mut drive, "uniform-write", 1, 1, 1);
    let [measured, by_cpu] = stopwatch.seconds().map(|seconds| seconds * 1e3);
    vec![Row {
        name: "start-up, 8 GiB",
        measured,
        by_cpu,
        target: 50.0,
        unit: "ms",
        smaller_is_better: true,
        commands_per_second: 0.0,
        bytes_per_page: None,
        hash: drive.flash().state().hash(),
    }]
}

fn rate(name: &'static str, target: f64, measured: &Measured, bytes: Option<f64>, hash: u64) -> Row {
    Row {
        name,
        measured: measured.per_second / 1e6,
        by_cpu: measured.per_second / 1e6 * measured.seconds / measured.cpu_seconds,
        target,
        unit: "M/s",
        smaller_is_better: false,
        commands_per_second: measured.commands_per_second,
        bytes_per_page: bytes,
        hash,
    }
}

/// Fill, then random overwrites until greedy cleaning is steady, counted only.
fn counted(scale: Scale) -> Vec<Row> {
    let plan = plan(scale.gib().0);
    let mut drive = plan.assemble(CountedFlash::new(plan.fresh_state()));
    let pages = u64::from(plan.user_pages);
    drive_it(&mut drive, "sequential-write", pages / 32, 0, 1);
    drive_it(&mut drive, "uniform-write", pages * 2, 0, 2);
    let measured = drive_it(&mut drive, "uniform-write", scale.requests() * 2, 0, 3);
    let hash = drive.flash().state().hash();
    vec![rate("counted overwrites", 12.0, &measured, None, hash)]
}

fn preconditioning(scale: Scale) -> Vec<Row> {
    let (_, gib) = scale.gib();
    let before = resident();
    let plan = plan(gib);
    let mut drive = plan.assemble(CountedFlash::new(plan.fresh_state()));
    let pages = u64::from(plan.user_pages);
    let fill = drive_it(&mut drive, "sequential-write", pages / 32, 0, 1);
    let bytes = resident().saturating_sub(before) as f64 / pages as f64;
    let overwrite = drive_it(&mut drive, "uniform-write", pages * 2, 0, 2);
    let hash = drive.flash().state().hash();
    let time = Row {
        name: "fill and overwrite twice",
        measured: fill.seconds + overwrite.seconds,
        by_cpu: fill.cpu_seconds + overwrite.cpu_seconds,
        target: 2.0 * gib / 32.0,
        unit: "s",
        smaller_is_better: true,
        commands_per_second: overwrite.commands_per_second,
        bytes_per_page: None,
        hash,
    };
    let memory = Row {
        name: "memory",
        measured: bytes,
        by_cpu: bytes,
        target: 10.0,
        unit: "B/pg",
        smaller_is_better: true,
        commands_per_second: 0.0,
        bytes_per_page: Some(bytes),
        hash,
    };
    vec![time, memory]
}

/// Reads, writes before cleaning, and steady state in virtual time.
fn timed(scale: Scale) -> Vec<Row> {
    let requests = scale.requests();
    let plan = plan(scale.gib().1);
    let mut drive = plan.assemble(plan.timed(plan.fresh_state()));
    let pages = u64::from(plan.user_pages);
    drive_it(&mut drive, "sequential-write", pages / 32, 32, 1);
    let reads = drive_it(&mut drive, "uniform-read", requests, 32, 2);
    let mut rows = vec![rate("random reads, depth 32", 8.0, &reads, None, drive.flash().state().hash())];
    let spare = u64::from(plan.geometry.pages()) - pages;
    let writes = drive_it(&mut drive, "uniform-write", spare / 2, 128, 3);
    rows.push(rate("random writes, no cleaning", 6.0, &writes, None, drive.flash().state().hash()));
    drive_it(&mut drive, "uniform-write", pages * 2, 128, 4);
    let steady = drive_it(&mut drive, "uniform-write", requests / 2, 128, 5);
    rows.push(rate("random writes, steady", 1.5, &steady, None, drive.flash().state().hash()));
    rows
}

/// Steady random writes of 4 KiB units on 16 KiB pages of TLC, three pages of four planes in one program; and reads.
fn units(scale: Scale) -> Vec<Row> {
    let mut settings = vec!["flash.part=tlc-176l", "ftl.unit=4KiB", "drive.over_provisioning=28%"];
    if scale == Scale::Smoke {
        settings.push("flash.pages_per_block=96"); // some blocks in each of its planes
    }
    let settings: Vec<String> = settings.into_iter().map(str::to_owned).collect();
    let before = resident();
    let plan = plan_of("page", scale.gib().1, &settings);
    let mut drive = plan.assemble(CountedFlash::new(plan.fresh_state()));
    let units = u64::from(plan.user_pages);
    drive_it(&mut drive, "sequential-write", units / 32, 0, 1);
    let bytes = resident().saturating_sub(before) as f64 / units as f64;
    drive_it(&mut drive, "uniform-write", units * 2, 0, 2);
    let state = DriveState::of(&mut drive);
    drop(drive);
    let mut drive = state.resume(&plan, plan.fresh_state(), |flash| plan.timed(flash)).expect("it is of this drive");
    let steady = drive_it(&mut drive, "uniform-write", scale.requests() / 2, 128, 5);
    let mut row = rate("units on TLC, steady", 1.0, &steady, None, drive.flash().state().hash());
    row.bytes_per_page = Some(bytes);
    let reads = drive_it(&mut drive, "uniform-read", scale.requests() / 2, 128, 6);
    vec![row, rate("units on TLC, reads", 3.0, &reads, None, drive.flash().state().hash())]
}

/// Random reads and steady random writes where a hundredth of the page map fits the cache.
fn demand(scale: Scale, stack: &str, names: [&'static str; 2], target: f64) -> Vec<Row> {
    let (gib, requests) = (scale.gib().0 / 2.0, scale.requests() / 4);
    let map = (gib * f64::from(1 << 18)) as u64 * 4;
    let cache = (map / 100).next_multiple_of(4096);
    let plan = plan_of(stack, gib, &[format!("ftl.map_cache={cache}B")]);
    let mut drive = plan.assemble(plan.timed(plan.fresh_state()));
    let pages = u64::from(plan.user_pages);
    drive_it(&mut drive, "sequential-write", pages / 32, 32, 1);
    let reads = drive_it(&mut drive, "uniform-read", requests, 32, 2);
    let mut rows = vec![rate(names[0], target, &reads, None, drive.flash().state().hash())];
    drive_it(&mut drive, "uniform-write", pages, 32, 3);
    let writes = drive_it(&mut drive, "uniform-write", requests, 32, 4);
    rows.push(rate(names[1], target, &writes, None, drive.flash().state().hash()));
    rows
}

/// Log-block mappings: uniform writes; each merges a logical block or more (what counts there is flash
/// commands a second), and a laptop's requests through a two-level buffer.
fn hybrid(scale: Scale) -> Vec<Row> {
    let mut rows = Vec::new();
    let gib = scale.gib().0 / 2.0;
    for (stack, name) in [("bast", "bast, steady writes"), ("fast", "fast, steady writes")] {
        let plan = plan_of(stack, gib, &[]);
        let mut drive = plan.assemble(plan.timed(plan.fresh_state()));
        let pages = u64::from(plan.user_pages);
        drive_it(&mut drive, "sequential-write", pages / 32, 32, 1);
        // More than log blocks take without a merge.
        drive_it(&mut drive, "uniform-write", u64::from(plan.geometry.pages()) - pages, 32, 2);
        let writes = drive_it(&mut drive, "uniform-write", scale.requests() / 200, 32, 3);
        rows.push(rate(name, 0.04, &writes, None, drive.flash().state().hash()));
    }
    let plan = plan_of("two-level", gib, &[]);
    let mut drive = plan.assemble(plan.timed(plan.fresh_state()));
    drive_it(&mut drive, "sequential-write", u64::from(plan.user_pages) / 32, 32, 1);
    let laptop = drive_it(&mut drive, "desktop-ntfs", scale.requests() / 4, 32, 2);
    rows.push(rate("two-level over bast, laptop", 1.0, &laptop, None, drive.flash().state().hash()));
    rows
}

/// Writes of 4 KiB into a two-level buffer over a drive that does not clean yet: uniform ones, each of
/// which sends a page away, and skewed ones.
fn buffered(scale: Scale) -> Vec<Row> {
    let plan =
        plan_of("page", scale.gib().0 / 2.0, &["buffer.kind=two-level".to_owned(), "buffer.size=64MiB".to_owned()]);
    let mut drive = plan.assemble(plan.timed(plan.fresh_state()));
    let pages = u64::from(plan.user_pages);
    drive_it(&mut drive, "sequential-write", pages / 32, 32, 1);
    let spare = u64::from(plan.geometry.pages()) - pages;
    let zipf = drive_it(&mut drive, "zipf", spare / 4, 32, 2);
    let mut rows = vec![rate("buffered writes, zipf", 1.0, &zipf, None, drive.flash().state().hash())];
    let uniform = drive_it(&mut drive, "uniform-write", spare / 4, 32, 3);
    rows.push(rate("buffered writes, uniform", 1.0, &uniform, None, drive.flash().state().hash()));
    rows
}

/// Page writes under RAID-5 with partial parities, the stack as it is built in: 4+1 chips, 15 % spare flash, 1024
/// delayed parities, 1 MiB to gather stripes. Uniform writes are its worst case: hardly two in the buffer are of one
/// stripe, so that each costs a commit besides, two reads and a program. That makes 4 flash commands for a write, and
/// 16 in the steady state, where collection copies three pages for each of the two programs.
fn striped(scale: Scale) -> Vec<Row> {
    let filled = |settings: &[String]| {
        let plan = plan_of("raid5-ppc", scale.gib().0 / 2.0, settings);
        let mut drive = plan.assemble(plan.timed(plan.fresh_state()));
        drive_it(&mut drive, "sequential-write", u64::from(plan.user_pages) / 32, 32, 1);
        (drive, u64::from(plan.user_pages))
    };
    // With more spare flash nothing is collected in a run that is long enough to be repeated.
    let (mut roomy, pages) = filled(&["drive.over_provisioning=100%".to_owned()]);
    let writes = drive_it(&mut roomy, "uniform-write", pages / 4, 32, 2);
    let mut rows = vec![rate("raid5-ppc, no cleaning", 0.5, &writes, None, roomy.flash().state().hash())];
    drop(roomy);
    let (mut drive, pages) = filled(&[]);
    drive_it(&mut drive, "uniform-write", pages, 32, 3);
    let steady = drive_it(&mut drive, "uniform-write", scale.requests() / 4, 32, 4);
    rows.push(rate("raid5-ppc, steady writes", 0.5, &steady, None, drive.flash().state().hash()));
    // What the scheme is for: pages that are written again soon.
    let skewed = drive_it(&mut drive, "zipf", scale.requests() / 4, 32, 5);
    rows.push(rate("raid5-ppc, skewed writes", 0.5, &skewed, None, drive.flash().state().hash()));
    rows
}

/// Reads of 64 KiB, eight stripe blocks, from zones that are all coded: what counts is the sub-requests that are given
/// to banks, or taken back. Lazy reads ask for all blocks of two groups and all their code blocks, 16 for each.
fn coded(scale: Scale) -> Vec<Row> {
    let gib = scale.gib().0 / 4.0;
    let zones = format!("coded.code_zones={}", (gib * 4.0) as u64);
    let rows = [("lazy", "coded reads, lazy"), ("gc-aware", "coded reads, gc-aware")].map(|(reads, name)| {
        let settings = [
            zones.clone(),
            format!("coded.reads={reads}"),
            "coded.offline_first=at-start".to_owned(),
            "coded.read_ahead.after=0B".to_owned(),
        ];
        let plan = plan_of("striping-coded", gib, &settings);
        let mut drive = plan.assemble(plan.timed(plan.fresh_state()));
        drive_it(&mut drive, "sequential-write", u64::from(plan.user_pages) / 32, 32, 1);
        drive.prepare();
        drive.top_mut().reset_counters();
        let parameters = WorkloadParameters {
            seed: 2,
            request_bytes: Some(64 << 10),
            ..WorkloadParameters::new(drive.sectors(), scale.requests() / 8)
        };
        let measured = drive_with(&mut drive, "uniform-read", &parameters, 32);
        let mut reports = Vec::new();
        drive.top().report(&mut reports);
        let counter = |name| reports.iter().find_map(|report| report.counters.get(name)).copied().unwrap_or(0);
        let asked = counter("blocks_read") + counter("code_blocks_read");
        let measured = Measured { per_second: asked as f64 / measured.seconds, ..measured };
        rate(name, 1.0, &measured, None, drive.flash().state().hash())
    });
    rows.to_vec()
}
