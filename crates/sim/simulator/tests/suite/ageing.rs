//! Cells that err in whole drives: what is done against it, and what it costs.

use crate::support::{go, plan, timed};
use metrics::RunResult;
use nand::{CountedFlash, Flash as _, FlashState};
use simulator::config::Setting;
use simulator::run::Loop;
use simulator::session::{self, SessionOptions};
use simulator::{BlockDevice, Completions, Config, DrivePlan, Progress};
use units::{BlockId, Cause, HostOp};

const SMALL: [&str; 7] = [
    "flash.channels=2",
    "flash.dies_per_channel=1",
    "flash.pages_per_block=32",
    "drive.capacity=16MiB",
    "drive.over_provisioning=30%",
    "engine.contents=stamp",
    "flash.errors.model=powers",
];

fn small<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&SMALL[..], more].concat()
}

fn measured(more: &[&str]) -> RunResult {
    let settings: Vec<Setting> = small(more).iter().map(|text| Setting::from_argument(text).unwrap()).collect();
    let options = SessionOptions { workload: "uniform-read".to_owned(), snapshots: None };
    session::run(Config::load("page", &settings).unwrap(), &options, &mut ()).unwrap()
}

fn refreshed(state: &FlashState) -> u64 {
    state.counters.programs[Cause::Refresh.index()]
}

fn waiting_to_be_written_anew(state: &FlashState) -> usize {
    (0..state.geometry.blocks()).filter(|block| state.must_refresh(BlockId(*block))).count()
}

#[test]
fn blocks_that_are_read_too_often_are_written_anew_while_the_host_only_reads() {
    for counted in [false, true] {
        let settings = small(&["ftl.refresh.reads=100"]);
        let reads = 60_000_u32;
        let (state, check) = if counted {
            let plan = plan(&settings);
            let mut drive = plan.assemble(CountedFlash::new(plan.fresh_state()));
            go(&mut drive, "sequential-write", 4096, Loop::Closed { depth: 1 }, |_| ());
            go(&mut drive, "uniform-read", reads.into(), Loop::Closed { depth: 1 }, |_| ());
            (drive.flash().state().clone(), drive.top().check(drive.flash()))
        } else {
            let mut drive = timed(&settings);
            go(&mut drive, "sequential-write", 4096, Loop::Closed { depth: 8 }, |_| ());
            go(&mut drive, "uniform-read", reads.into(), Loop::Closed { depth: 8 }, |_| ());
            while drive.advance(&mut Completions::default()) != Progress::Idle {}
            (drive.flash().state().clone(), drive.top().check(drive.flash()))
        };
        check.unwrap();
        // 100 reads of a block cost its 32 pages, which are read for that once more.
        let expected = f64::from(reads) / 100.0 * 32.0;
        let found = refreshed(&state) as f64;
        assert!((0.7..1.1).contains(&(found / expected)), "{found} pages written anew, about {expected} expected");
        assert_eq!(state.counters.failed_reads, 0);
        assert!(waiting_to_be_written_anew(&state) <= 4, "open blocks wait until they are full");
    }
}

#[test]
fn old_data_is_written_anew_when_the_host_is_idle() {
    let mut drive = timed(&small(&["ftl.refresh.age=10ms", "host.idle_after=20ms"]));
    go(&mut drive, "sequential-write", 64, Loop::Closed { depth: 8 }, |_| ());
    let before = refreshed(drive.flash().state());
    for _ in 0..100_000 {
        if drive.advance(&mut Completions::default()) == Progress::Idle {
            break;
        }
    }
    assert!(refreshed(drive.flash().state()) > before + 64);
    drive.top().check(drive.flash()).unwrap();
}

#[test]
fn reads_of_worn_and_old_flash_take_longer_by_what_their_repetitions_take() {
    let reads = |more: &[&str]| {
        let result = measured(&[&["workload.queue_depth=1", "workload.requests=20000"], more].concat());
        let repeated = result.flash[0][Cause::Retry.index()] as f64 / result.flash[0][0] as f64;
        (result.latency[HostOp::Read.index()].histogram().mean(), repeated, result.hash)
    };
    let new = reads(&[]);
    let old = reads(&["flash.errors.worn=2000", "flash.errors.data_age=365d"]);
    assert!(new.1 < f64::EPSILON, "{} repetitions", new.1);
    // About 20 repetitions were measured for such data (Park et al., 2021).
    assert!((18.0..22.0).contains(&old.1), "{} repetitions", old.1);
    // Each takes the array's 25 us, and 20 us of the decoder.
    let expected = old.1 * 45_000.0;
    assert!(((old.0 - new.0) / expected - 1.0).abs() < 0.01, "{} ns longer, {expected} expected", old.0 - new.0);
    let off = reads(&["flash.errors.model=none"]);
    assert_eq!(off.2, new.2, "errors that are corrected at once change nothing");
}

/// Blocks with no erase never lost charge.
#[test]
fn a_new_drive_that_was_left_for_a_year_reads_again() {
    let result = measured(&["flash.errors.data_age=365d", "workload.requests=20000"]);
    assert_eq!(result.erases.iter().flatten().sum::<u32>(), 0, "the drive is new");
    assert!(result.flash[0][Cause::Retry.index()] > 1000, "{} repetitions", result.flash[0][Cause::Retry.index()]);
}

#[test]
fn what_cannot_be_corrected_is_told_to_the_host_and_never_wrong() {
    let result = measured(&[
        "flash.errors.worn=2000",
        "flash.errors.data_age=365d",
        "flash.errors.retries=17",
        "workload.requests=5000",
    ]);
    let errors = result.host[HostOp::Read.index()].failed;
    assert!((50..4500).contains(&errors), "{errors} of 5000 reads found data lost");
}

/// What the host may hear of lost data does not depend on whether the simulator keeps contents, nor does writing blocks
/// anew bring it back.
#[test]
fn lost_data_stays_lost_when_its_block_is_written_anew() {
    let errors = |contents: &str| {
        let contents = format!("engine.contents={contents}");
        let result = measured(&[
            "flash.errors.worn=2000",
            "flash.errors.data_age=365d",
            "flash.errors.retries=17",
            "ftl.refresh.retries=5",
            "workload.requests=30000",
            &contents,
        ]);
        assert!(result.flash[1][Cause::Refresh.index()] > 0);
        result.host[HostOp::Read.index()].failed
    };
    assert_eq!(errors("none"), errors("stamp"));
}

/// How finely a drive maps is nothing to its cells.
#[test]
fn the_code_is_as_strong_whatever_the_unit() {
    let retries = |unit: &str| {
        let unit = format!("ftl.unit={unit}");
        let more = ["flash.errors.worn=1500", "flash.errors.data_age=90d", "workload.request_size=4KiB", &unit];
        let result = measured(&[&more[..], &["workload.requests=5000", "drive.over_provisioning=60%"]].concat());
        // The host's reads alone: each unit is a read of its own, and some share an array time.
        result.flash[0][Cause::Retry.index()] as f64 / result.flash[0][Cause::Host.index()] as f64
    };
    let [small, large] = ["512B", "1KiB"].map(retries);
    assert!(large > 1.0 && (small / large - 1.0).abs() < 0.02, "{small} and {large} repetitions of a read");
}

#[test]
fn cells_that_no_read_can_correct_are_refused_with_the_remedy() {
    let settings =
        ["flash.errors.model=powers", "flash.errors.floor=0.5"].map(|text| Setting::from_argument(text).unwrap());
    let error = DrivePlan::new(Config::load("page", &settings).unwrap()).unwrap_err().to_string();
    assert!(error.contains("raise flash.errors.corrected"), "{error}");
}
