//! Chips in lockstep: what a request costs by its size, and how it is counted.

use crate::support::{plan, timed};
use nand::{Counters, Flash as _, TimedFlash};
use simulator::config::Setting;
use simulator::session::{self, SessionOptions};
use simulator::{BlockDevice, Completions, Config, Drive, DrivePlan, Progress};
use units::{Cause, HostOp, Request};

const GROUP: [&str; 6] = [
    "ftl.kind=superpage",
    "drive.capacity=64MiB",
    "flash.channels=4",
    "flash.dies_per_channel=2",
    "flash.pages_per_block=64",
    "drive.over_provisioning=29%",
];

/// Time a request takes on an idle drive, ns.
fn alone(drive: &mut Drive<TimedFlash>, op: HostOp, first: u64, sectors: u32) -> u64 {
    let began = drive.now();
    drive.submit(0, &Request { arrival: began, first_sector: first, sectors, op, fua: false });
    let mut completions = Completions::default();
    while drive.advance(&mut completions) != Progress::Idle && completions.done.is_empty() {}
    drive.now() - began
}

#[test]
fn a_superpage_costs_what_one_page_does_and_less_than_one_costs_a_read_more() {
    let mut drive = timed(&GROUP);
    // Transfers of 4 KiB take 5 us; the four channels move 16 KiB in that time.
    let (read, program) = (25_000 + 5_000, 5_000 + 200_000);
    for first in [0, 32] {
        assert_eq!(alone(&mut drive, HostOp::Write, first, 32), program, "16 KiB, aligned");
    }
    assert_eq!(alone(&mut drive, HostOp::Write, 8, 8), read + program, "4 KiB of a superpage");
    assert_eq!(alone(&mut drive, HostOp::Read, 8, 8), read, "4 KiB move over one channel");
    assert_eq!(alone(&mut drive, HostOp::Read, 0, 32), read, "16 KiB move over four");
    assert_eq!(alone(&mut drive, HostOp::Read, 9, 1), 25_000 + 625, "a sector");
    // Half of a superpage on each way: side by side, but for the transfers; the second one's wait for both of the
    // first.
    assert_eq!(alone(&mut drive, HostOp::Write, 16, 32), read + 10_000 + program, "16 KiB that begin in the middle");
}

#[test]
fn a_channel_with_two_ways_of_a_superpage_moves_two_pages() {
    let mut drive = timed(&[&GROUP[..], &["ftl.superpage.ways=2"]].concat());
    assert_eq!(drive.flash().state().geometry.dies(), 1);
    assert_eq!(alone(&mut drive, HostOp::Write, 0, 64), 10_000 + 200_000, "32 KiB");
    assert_eq!(alone(&mut drive, HostOp::Read, 0, 64), 10_000 + 25_000);
    assert_eq!(alone(&mut drive, HostOp::Read, 0, 32), 5_000 + 25_000, "a page of each channel");
}

#[test]
fn what_is_counted_is_counted_in_pages_of_single_chips() {
    let settings = ["engine.time=none", "workload.requests=4096", "workload.footprint=50%", "drive.precondition=fill"];
    let settings: Vec<Setting> =
        GROUP.iter().chain(&settings).map(|text| Setting::from_argument(text).unwrap()).collect();
    let config = Config::load("page", &settings).unwrap();
    let options = SessionOptions { workload: "uniform-write".to_owned(), snapshots: None };
    let result = session::run(config, &options, &mut ()).unwrap();
    assert_eq!(result.host[HostOp::Write.index()].pages, 4096);
    let [reads, programs, _] = result.flash.map(|causes| causes.iter().sum::<u64>());
    assert!(programs >= 4 * 4096, "{programs} pages were programmed for 4096 of the host");
    assert!(reads >= 4 * 4096, "{reads} pages were read to complete them");
}

/// Programs were counted as pages of chips, and those of them that failed as superpages.
#[test]
fn what_fails_is_counted_as_what_does_not() {
    let settings = [
        "engine.time=none",
        "drive.precondition=none",
        "workload.requests=8192",
        "flash.fault.program=0.05%",
        "flash.fault.erase=1.5%",
    ];
    let settings = GROUP.iter().chain(&settings).map(|text| Setting::from_argument(text).unwrap());
    let config = Config::load("page", &settings.collect::<Vec<_>>()).unwrap();
    let options = SessionOptions { workload: "uniform-write".to_owned(), snapshots: None };
    let result = session::run(config, &options, &mut ()).unwrap();
    for name in ["flash.failed_programs", "flash.failed_erases"] {
        let failed = result.counters[name];
        assert!(failed > 0 && failed.is_multiple_of(4), "{name}: {failed}");
    }
}

#[test]
fn groups_that_do_not_divide_the_drive_are_refused() {
    for (setting, wanted) in [
        ("ftl.superpage.channels=3", "does not divide flash.channels = 4"),
        ("ftl.superpage.ways=4", "does not divide flash.dies_per_channel = 2"),
        ("flash.page_size=16KiB", "a superpage of 4 pages of 16KiB (flash.page_size) has more than 32KiB"),
        ("flash.channels=3", "no power of two"),
    ] {
        let settings = GROUP.iter().chain([&setting]).map(|text| Setting::from_argument(text).unwrap());
        let error =
            DrivePlan::new(Config::load("page", &settings.collect::<Vec<_>>()).unwrap()).unwrap_err().to_string();
        assert!(error.contains(wanted), "{setting}: {error}");
    }
}

/// With units of less than a sector for each chip, pages had no sectors, and a run ended in a shift that overflowed.
#[test]
fn small_units_of_a_superpage_run_and_are_counted_as_pages() {
    for (unit, page) in [("512B", 512), ("1KiB", 1024), ("2KiB", 2048), ("4KiB", 4096), ("8KiB", 4096), ("16KiB", 4096)]
    {
        let unit = format!("ftl.unit={unit}");
        let settings = ["engine.time=none", "workload.requests=256", &unit];
        let settings = GROUP.iter().chain(&settings).map(|text| Setting::from_argument(text).unwrap());
        let config = Config::load("page", &settings.collect::<Vec<_>>()).unwrap();
        let options = SessionOptions { workload: "sequential-write".to_owned(), snapshots: None };
        let result = session::run(config, &options, &mut ()).unwrap();
        assert_eq!(result.page_bytes, page, "{unit}");
        let written = result.host[HostOp::Write.index()].pages;
        assert_eq!(written * page, 256 * (128 << 10), "{unit}");
        assert_eq!(result.flash[1][Cause::Host.index()], written, "{unit}: each page of the host is programmed once");
    }
}

/// A unit of two flash pages counted as four halves of a page each, and so did its transfer.
#[test]
fn units_of_several_pages_count_as_many_and_blocks_as_chips() {
    let counters = |reads: u64| {
        let mut counters = Counters::default();
        counters.reads[0] = reads;
        counters.erases[0] = 3;
        counters
    };
    for (unit, pages) in [("1KiB", 10), ("4KiB", 10), ("8KiB", 20), ("16KiB", 40)] {
        let array = plan(&[&GROUP[..], &[&format!("ftl.unit={unit}")]].concat()).array;
        let [reads, programs, erases] = array.chip_commands(&counters(10)).map(|causes| causes[0]);
        assert_eq!((reads, programs, erases), (pages, 0, 12), "{unit}");
    }
    let mut drive = timed(&[&GROUP[..], &["ftl.unit=4KiB", "ftl.gc.copyback=false"]].concat());
    alone(&mut drive, HostOp::Write, 0, 64);
    while drive.advance(&mut Completions::default()) != Progress::Idle {}
    assert_eq!(alone(&mut drive, HostOp::Read, 8, 8), 25_000 + 5_000, "a unit is on one chip");
}

/// They were numbers of groups of chips, so that a die of the drive was refused.
#[test]
fn dies_and_channels_that_fail_are_those_of_the_keys() {
    let deaths = |faults: &[&str]| -> Vec<u32> {
        plan(&[&GROUP[..], faults].concat()).deaths().iter().map(|die| die.0).collect()
    };
    assert_eq!(deaths(&["flash.fault.dies=5"]), [1], "die 5 is the second one behind channel 1");
    assert_eq!(deaths(&["flash.fault.dies=0,3"]), [0], "both are of the first group");
    assert_eq!(deaths(&["flash.fault.channels=3"]), [0, 1]);
    assert_eq!(deaths(&["ftl.superpage.channels=2", "flash.fault.dies=2,5"]), [1, 2]);
    assert_eq!(deaths(&["ftl.superpage.channels=2", "ftl.superpage.ways=2", "flash.fault.dies=6"]), [1]);
    for (fault, wanted) in [
        ("flash.fault.dies=8", "`8` in flash.fault.dies is none of the drive's 8 dies; write numbers from 0 to 7"),
        ("flash.fault.channels=4", "none of the drive's 4 channels"),
        ("flash.fault.dies=1,1", "`1` stands there twice"),
    ] {
        let error = refused("page", &[&GROUP[..], &[fault]].concat());
        assert!(error.contains(wanted), "{fault}: {error}");
    }
}

fn refused(stack: &str, settings: &[&str]) -> String {
    let settings = settings.iter().map(|text| Setting::from_argument(text).unwrap());
    DrivePlan::new(Config::load(stack, &settings.collect::<Vec<_>>()).unwrap()).unwrap_err().to_string()
}

/// Stripes over superpages were refused for too few chips, to be mended with flash.channels, which changes nothing.
#[test]
fn stripes_over_superpages_are_refused_for_what_they_are() {
    for stripes in ["raid0", "raid5", "raid6-ppc", "raid-elastic", "coded"] {
        let error = refused("superpage", &[&format!("stripe.kind={stripes}")]);
        assert!(error.contains("ftl.kind = superpage moves pages") && error.contains("use ftl.kind = page"), "{error}");
    }
}

/// A message said `flash.page_size` of 16 KiB, where it is 4 KiB; fewer channels leave one chip in lockstep.
#[test]
fn errors_of_superpages_name_keys_that_change_something() {
    let error = refused("superpage", &["drive.capacity=9KiB"]);
    assert!(error.contains("pages of 16KiB (flash.page_size times the chips in lockstep)"), "{error}");
    let small = ["drive.capacity=1MiB", "flash.pages_per_block=256", "flash.dies_per_channel=4"];
    let error = refused("superpage", &small);
    assert!(error.contains("fewer planes (flash.dies_per_channel, flash.planes_per_die)"), "{error}");
    let error = refused("superpage", &["flash.errors.model=powers", "flash.errors.codeword=8KiB"]);
    assert!(
        error.contains("flash.errors.codeword is 8KiB; it is a power of two up to the flash page of 4KiB"),
        "{error}"
    );
}
