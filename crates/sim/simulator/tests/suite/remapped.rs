//! Drivers of a host over drives: what the host sees, waits for and gets back.

use crate::support::plan_of;
use nand::{CountedFlash, TimedFlash};
use simulator::run::{Ended, HostMeasurements, Loop, RunPlan, run};
use simulator::session::{self, SessionError, SessionOptions};
use simulator::{BlockDevice, Completions, Config, Driver, Progress, Remapped, Setting};
use trace::synthetic::{WorkloadParameters, build};
use units::{HostOp, Request};

type Timed = Remapped<simulator::Drive<TimedFlash>>;

/// A small drive of superpages behind a driver.
const SMALL: [&str; 6] = [
    "drive.capacity=8MiB",
    "drive.over_provisioning=40%",
    "flash.pages_per_block=16",
    "workload.requests=4000",
    "workload.request_size=4KiB",
    "remap.hold_back=20%",
];

fn config(stack: &str, more: &[&str]) -> Config {
    let settings: Vec<Setting> = SMALL.iter().chain(more).map(|text| Setting::from_argument(text).unwrap()).collect();
    Config::load(stack, &settings).unwrap()
}

fn timed(more: &[&str]) -> Timed {
    timed_stack("hard", more)
}

fn timed_stack(stack: &str, more: &[&str]) -> Timed {
    let plan = plan_of(config(stack, more));
    let remap = plan.remap.as_deref().unwrap();
    let mut drive = plan.assemble(plan.timed(plan.fresh_state()));
    if remap.terms.cell_bytes > 0 {
        drive.carry_cells();
    }
    let mut drive = Remapped::new(drive, Driver::format(remap, 1));
    drive.settle();
    drive
}

/// What the driver counted.
fn counted<D: BlockDevice, const N: usize>(drive: &Remapped<D>, names: [&str; N]) -> [u64; N] {
    let report = drive.report();
    names.map(|name| report.get(name).unwrap_or_else(|| panic!("{} counts no {name}", report.driver)))
}

fn go(drive: &mut impl BlockDevice, workload: &str, requests: u64, depth: u32, timed: bool) -> HostMeasurements {
    let parameters =
        WorkloadParameters { request_bytes: Some(4096), ..WorkloadParameters::new(drive.sectors(), requests) };
    let mut source = build(workload, &parameters).unwrap();
    let plan = RunPlan { arrivals: Loop::Closed { depth }, limit: requests, sectors_per_page: 8, timed };
    let (ended, sheet) = run(drive, &mut *source, plan, &mut (), |_| [0; units::DIE_CAUSES]).unwrap();
    assert_eq!(ended, Ended::Complete);
    sheet
}

fn session(stack: &str, workload: &str, more: &[&str]) -> Result<metrics::RunResult, SessionError> {
    session::run(config(stack, more), &SessionOptions { workload: workload.to_owned(), snapshots: None }, &mut ())
}

fn request(op: HostOp, first_sector: u64, sectors: u32) -> Request {
    Request { arrival: 0, first_sector, sectors, op, fua: false }
}

#[test]
fn small_random_writes_cost_one_program_for_each_four_and_no_read() {
    let mut drive = timed(&[]);
    let before = drive.device().flash_counters();
    go(&mut drive, "uniform-write", 1000, 32, true);
    let [reads, programs] = drive.device().flash_counters();
    assert_eq!(counted(&drive, ["host_pages"]), [1000]);
    assert_eq!(reads, before[0], "nothing is read and modified");
    // 250 superpages and some journal.
    let programs = programs - before[1];
    assert!((250..260).contains(&programs), "{programs} superpages: {:?}", drive.report());
    drive.machine().check().unwrap();
}

#[test]
fn a_single_write_waits_for_the_timeout_and_says_so() {
    let mut drive = timed(&[]);
    let start = drive.now();
    drive.submit(7, &Request { arrival: start, ..request(HostOp::Write, 0, 8) });
    let mut completions = Completions::default();
    assert_eq!(drive.advance(&mut completions), Progress::Worked);
    let done = completions.done[0];
    assert_eq!((done.tag, done.queue_ns), (7, 2_000_000));
    assert!(drive.now() - start > 2_000_000 + 200_000, "the program comes on top: {}", drive.now() - start);
}

#[test]
fn the_host_and_the_driver_are_each_woken_at_their_time() {
    let mut drive = timed(&[]);
    let start = drive.now();
    drive.wake_at(start + 5_000_000);
    drive.submit(1, &Request { arrival: start, ..request(HostOp::Write, 0, 8) });
    let mut completions = Completions::default();
    // The driver's timer is earlier and must not use up the host's.
    drive.advance(&mut completions);
    assert_eq!(completions.done.len(), 1);
    drive.advance(&mut completions);
    assert_eq!((completions.done.len(), drive.now()), (0, start + 5_000_000));
    // The host's is earlier and must not use up the driver's.
    let start = drive.now();
    drive.submit(2, &Request { arrival: start, ..request(HostOp::Write, 8, 8) });
    drive.wake_at(start + 1_000_000);
    drive.advance(&mut completions);
    assert_eq!((completions.done.len(), drive.now()), (0, start + 1_000_000));
    drive.advance(&mut completions);
    assert_eq!(completions.done.len(), 1);
}

#[test]
fn a_volatile_write_cache_answers_at_once() {
    let mut drive = timed(&["remap.write_cache=volatile"]);
    let start = drive.now();
    drive.submit(0, &Request { arrival: start, ..request(HostOp::Write, 0, 8) });
    let mut completions = Completions::default();
    drive.advance(&mut completions);
    assert_eq!((completions.done.len(), drive.now()), (1, start));
}

#[test]
fn without_time_a_lone_write_ends_where_nothing_else_can_happen() {
    let plan = plan_of(config("hard", &["engine.time=none"]));
    let driver = Driver::format(plan.remap.as_deref().unwrap(), 1);
    let mut drive = Remapped::new(plan.assemble(CountedFlash::new(plan.fresh_state())), driver);
    drive.settle();
    go(&mut drive, "uniform-write", 40, 1, false);
    assert_eq!(counted(&drive, ["pad_pages"]), [120], "each is padded");
    go(&mut drive, "uniform-write", 40, 4, false);
    assert_eq!(counted(&drive, ["pad_pages"]), [120], "four at once fill one");
}

#[test]
fn every_explained_wait_fits_into_its_latency() {
    let mut drive = timed(&["drive.precondition=none"]);
    let sectors = drive.sectors();
    let mut stream = engine::random::Stream::new(3, "waits");
    let mut completions = Completions::default();
    let mut under_way = 0;
    for number in 0..6000_u32 {
        let op = [HostOp::Read, HostOp::Write, HostOp::Write, HostOp::Flush][stream.below(4) as usize];
        let (first, length) =
            if op == HostOp::Flush { (0, 0) } else { (stream.below(sectors - 64), 1 + stream.below(64) as u32) };
        drive.submit(number, &Request { arrival: drive.now(), ..request(op, first, length) });
        under_way += 1;
        while under_way > 16 {
            assert_eq!(drive.advance(&mut completions), Progress::Worked);
            under_way -= completions.done.len();
            for done in &completions.done {
                let waits = done.wait.map_or(0, |wait| completions.waits[wait].total());
                assert!(done.queue_ns + waits <= drive.now() - done.request.arrival, "{done:?}");
            }
        }
    }
    drive.machine().check().unwrap();
}

#[test]
fn a_host_that_writes_faster_than_reclamation_does_not_cost_a_journal_write_for_every_few_pages() {
    for ways in ["flash.dies_per_channel=1", "flash.dies_per_channel=2"] {
        let more = [
            ways,
            "drive.capacity=256MiB",
            "drive.precondition=overwrite",
            "workload.requests=60000",
            "remap.hold_back=10%",
        ];
        let result = session("hard", "uniform-write", &more).unwrap();
        let [journal, pages] =
            ["journal_superpages", "host_pages"].map(|name| result.counters[&format!("remap.{name}")]);
        // One frees a good part of an eighth of what is held back, 200 virtual superpages here.
        assert!(journal * 50 < pages, "{journal} journal superpages for {pages} pages of the host, {ways}");
    }
}

#[test]
fn sessions_run_with_every_service_and_precondition() {
    for more in [
        &["engine.time=none"][..],
        &["engine.service=serial"],
        &["drive.precondition=fill"],
        &["drive.precondition=overwrite", "remap.partial=hold"],
        &["drive.precondition=steady", "remap.write_cache=volatile", "remap.trim=true"],
        &["engine.contents=bytes", "drive.precondition=overwrite"],
        &["engine.contents=bytes", "remap.bypass=true", "remap.superpage=32KiB"],
    ] {
        for workload in ["mixed", "uniform-write"] {
            let more: Vec<&str> = more.iter().copied().filter(|_| true).collect();
            let result = session("hard", workload, &more).unwrap_or_else(|error| panic!("{more:?}: {error}"));
            assert_eq!(result.status, metrics::Status::Complete, "{more:?}");
            let written = result.host[HostOp::Write.index()].pages;
            assert_eq!(
                result.counters["remap.host_pages"] + result.counters["remap.in_place_pages"],
                written,
                "{more:?}"
            );
            assert!(result.ram_bytes.iter().any(|(name, bytes)| name == "remap" && *bytes > 0));
        }
    }
}

#[test]
fn a_driver_works_over_a_page_map_too() {
    let page = ["flash.channels=2", "flash.dies_per_channel=1", "remap.kind=hard"];
    let result = session(
        "page",
        "uniform-write",
        &[page[0], page[1], page[2], "drive.precondition=overwrite", "engine.contents=bytes"],
    )
    .unwrap();
    assert!(result.counters["remap.victims"] > 0, "{:?}", result.counters);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let hash = || session("hard", "mixed", &["drive.precondition=overwrite"]).unwrap().hash;
    assert_eq!(hash(), hash());
}

#[test]
fn what_does_not_fit_is_refused_with_a_remedy() {
    for (setting, remedy) in [
        ("engine.contents=stamp", "engine.contents = bytes"),
        ("remap.superpage=24KiB", "32KiB"),
        ("remap.hold_back=0%", "10%"),
        ("drive.capacity=256KiB", "drive.capacity"),
    ] {
        let error = simulator::DrivePlan::new(config("hard", &["drive.over_provisioning=600%", setting]))
            .unwrap_err()
            .to_string();
        assert!(error.contains(remedy), "{setting}: {error}");
    }
}

#[test]
fn keys_of_a_driver_that_is_not_there_are_named() {
    let result = session("superpage", "uniform-write", &["remap.timeout=1ms"]).unwrap();
    assert!(
        result.notes.iter().any(|note| note.contains("remap.timeout") && note.contains("remap.kind is none")),
        "{:?}",
        result.notes
    );
}

/// A log cache whose log and segments are of a size for a small drive.
const LOG: [&str; 3] = ["remap.segment=128KiB", "remap.log=25%", "remap.write_cache=volatile"];

#[test]
fn a_log_cache_writes_each_page_once_to_the_log_and_once_home() {
    let mut drive = timed_stack("hard-log-cache", &[&LOG[..], &["drive.precondition=none"]].concat());
    let programs = |drive: &Timed| drive.device().flash_counters()[1];
    let before = programs(&drive);
    let mut completions = Completions::default();
    // Distinct pages in no order, none in the superpage of another: 31 to each segment, whose header takes a page.
    for page in (0..310).map(|number| number * 37 % 310 * 4) {
        drive.submit(0, &Request { arrival: drive.now(), ..request(HostOp::Write, page * 8, 8) });
        assert_eq!(drive.advance(&mut completions), Progress::Worked);
    }
    drive.submit(0, &Request { arrival: drive.now(), ..request(HostOp::Flush, 0, 0) });
    while drive.advance(&mut completions) == Progress::Worked {}
    assert_eq!(counted(&drive, ["host_pages", "overwritten_pages", "data_pages"]), [310, 0, 310]);
    assert_eq!(counted(&drive, ["segments", "header_pages", "pad_pages"]), [10, 10, 0]);
    assert_eq!(counted(&drive, ["write_back_pages", "write_back_commands", "cached_pages"]), [310, 310, 0]);
    // Four pages to a superpage: 8 for each full segment, and one for each page on its way home.
    assert_eq!(programs(&drive) - before, 10 * 8 + 310);
    drive.machine().check().unwrap();
}

#[test]
fn a_log_cache_answers_from_memory_and_merges_neighbours_on_their_way_home() {
    let mut drive = timed_stack("hard-log-cache", &[&LOG[..], &["drive.precondition=none"]].concat());
    let start = drive.now();
    let mut completions = Completions::default();
    for page in (0..64).rev() {
        drive.submit(0, &Request { arrival: start, ..request(HostOp::Write, page * 8, 8) });
        drive.advance(&mut completions);
    }
    assert_eq!(drive.now(), start, "all are in memory");
    while drive.advance(&mut completions) == Progress::Worked {}
    assert_eq!(counted(&drive, ["write_back_pages", "cached_pages"]), [64, 0]);
    assert!(counted(&drive, ["write_back_commands"]) < [4], "{:?}", drive.report());
}

#[test]
fn sessions_run_behind_a_log_cache() {
    for more in [
        &["engine.time=none"][..],
        &["engine.service=serial", "remap.write_cache=through"],
        &["drive.precondition=fill"],
        &["drive.precondition=overwrite", "remap.write_cache=through"],
        &["drive.precondition=steady"],
        &["engine.contents=bytes", "drive.precondition=overwrite"],
        &["engine.contents=bytes", "remap.superpage=32KiB", "remap.write_cache=through"],
        &["engine.contents=bytes", "engine.time=none", "remap.write_cache=through"],
    ] {
        for workload in ["mixed", "uniform-write"] {
            let more: Vec<&str> = LOG.iter().chain(more).copied().collect();
            let result = session("hard-log-cache", workload, &more).unwrap_or_else(|error| panic!("{more:?}: {error}"));
            assert_eq!(result.status, metrics::Status::Complete, "{more:?}");
            assert_eq!(result.counters["remap.host_pages"], result.host[HostOp::Write.index()].pages, "{more:?}");
            assert!(result.counters["remap.write_backs"] > 0, "{more:?}: {:?}", result.counters);
            assert!(result.ram_bytes.iter().any(|(name, bytes)| name == "remap" && *bytes > 0));
        }
    }
    let hash = || session("hard-log-cache", "mixed", &[LOG[0], LOG[1], "drive.precondition=overwrite"]).unwrap().hash;
    assert_eq!(hash(), hash());
}

#[test]
fn a_log_cache_that_does_not_fit_is_refused_with_a_remedy() {
    for (setting, remedy) in [
        ("engine.contents=stamp", "engine.contents = bytes"),
        ("remap.segment=24KiB", "32KiB"),
        ("remap.segment=8KiB", "raise it to \"16KiB\""),
        ("remap.log=0%", "10%"),
        ("remap.segment=8MiB", "lower remap.segment"),
    ] {
        let error = simulator::DrivePlan::new(config("hard-log-cache", &[setting])).unwrap_err().to_string();
        assert!(error.contains(remedy), "{setting}: {error}");
    }
    let result = session("hard-log-cache", "uniform-write", &["remap.hold_back=30%", LOG[0], LOG[1]]).unwrap();
    assert!(
        result.notes.iter().any(|note| note.contains("remap.hold_back") && note.contains("log-cache")),
        "{:?}",
        result.notes
    );
}

/// With four writes at once instead of sixteen, superpages of 64 KiB were padded while the drive was brought into use:
/// blocks were erased 25 times instead of 12.
#[test]
fn superpages_fill_up_while_a_drive_is_brought_into_use() {
    let settings =
        ["drive.capacity=128MiB", "drive.precondition=overwrite", "remap.superpage=64KiB", "workload.requests=1000"];
    let settings = settings.map(|text| Setting::from_argument(text).unwrap());
    let prepared = session::Prepared::new(Config::load("hard", &settings).unwrap(), "uniform-write").unwrap();
    let result = prepared.run(None, &mut ()).unwrap();
    let erases: Vec<u32> = result.erases.iter().flatten().copied().collect();
    let mean = f64::from(erases.iter().sum::<u32>()) / erases.len() as f64;
    assert!(mean < 15.0, "{mean} erases of a block");
}

trait FlashCounters {
    /// Reads and programs for any cause.
    fn flash_counters(&self) -> [u64; 2];
}

impl<F: simulator::Clocked> FlashCounters for simulator::Drive<F> {
    fn flash_counters(&self) -> [u64; 2] {
        let counters = &self.flash().state().counters;
        [&counters.reads, &counters.programs].map(nand::Counters::total)
    }
}
