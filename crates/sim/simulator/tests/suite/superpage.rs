//! Chips in lockstep: what a request costs by its size, and how it is counted.

use crate::support::timed;
use nand::{Flash as _, TimedFlash};
use simulator::config::Setting;
use simulator::session::{self, SessionOptions};
use simulator::{BlockDevice, Completions, Config, Drive, DrivePlan, Progress};
use units::{HostOp, Request};

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

#[test]
fn groups_that_do_not_divide_the_drive_are_refused() {
    for (setting, wanted) in [
        ("ftl.superpage.channels=3", "does not divide flash.channels = 4"),
        ("ftl.superpage.ways=4", "does not divide flash.dies_per_channel = 2"),
        ("flash.page_size=16KiB", "has more than 32768 bytes"),
        ("flash.channels=3", "no power of two"),
    ] {
        let settings = GROUP.iter().chain([&setting]).map(|text| Setting::from_argument(text).unwrap());
        let error =
            DrivePlan::new(Config::load("page", &settings.collect::<Vec<_>>()).unwrap()).unwrap_err().to_string();
        assert!(error.contains(wanted), "{setting}: {error}");
    }
}
