//! The log cache: figures, files, damage.

use crate::bench::Bench;
use crate::hooked::{Access, Hooked};
use remap::{
    Blocking, HostDriver, LayoutError, LogCache, LogLayout, LogOptions, OpenError, Options, Shell, WriteCache,
};
use std::fs::File;
use units::HostOp;

fn options() -> LogOptions {
    let mut options = LogOptions { segment_sectors: 32, ..LogOptions::default() };
    (options.terms.page_sectors, options.terms.superpage_sectors) = (2, 8);
    options
}

/// A segment has a header of one page and 15 pages of data.
#[test]
fn distinct_pages_cost_their_segments_and_once_their_homes() {
    let mut bench = Bench::new(options(), 200, 1);
    let before = bench.device.written;
    let pages = bench.hot / 2;
    let wanted = 15 * 20;
    for number in 0..wanted {
        // Every other page, in no order.
        let page = number * 7 % wanted * 2;
        assert!(page < pages);
        bench.submit(HostOp::Write, page * 2, 2, false);
        bench.settle();
    }
    bench.submit(HostOp::Flush, 0, 0, false);
    bench.drain();
    while bench.wait() {
        bench.settle();
    }
    let report = bench.driver.report();
    assert_eq!(
        (report["segments"], report["data_pages"], report["header_pages"], report["pad_pages"]),
        (20, wanted, 20, 0)
    );
    assert_eq!(
        (report["write_back_pages"], report["write_back_commands"], report["cached_pages"]),
        (wanted, wanted, 0)
    );
    // 16/15 for the log, 1 for home.
    assert_eq!(bench.device.written - before, 20 * 16 * 1024 + wanted * 1024);
    bench.driver.check().unwrap();
}

#[test]
fn neighbours_of_several_segments_go_home_together() {
    let mut bench = Bench::new(options(), 200, 2);
    for number in 0..60 {
        // Pages 0, 30, 1, 31, ... so that each segment has two pieces of what is one run.
        bench.submit(HostOp::Write, (number % 2 * 30 + number / 2) * 2, 2, false);
        bench.settle();
    }
    while bench.wait() {
        bench.settle();
    }
    let report = bench.driver.report();
    assert_eq!((report["write_back_pages"], report["cached_pages"]), (60, 0));
    assert!(report["write_back_commands"] < 30, "{report:?}");
}

#[test]
fn a_page_written_again_in_memory_reaches_the_log_once() {
    let mut bench = Bench::new(options(), 100, 3);
    for _ in 0..50 {
        bench.submit(HostOp::Write, 8, 2, false);
        bench.submit(HostOp::Write, 11, 1, false);
    }
    bench.settle();
    bench.submit(HostOp::Flush, 0, 0, false);
    bench.settle();
    let report = bench.driver.report();
    assert_eq!((report["host_pages"], report["data_pages"], report["segments"]), (100, 2, 1));
    assert_eq!(report["merge_reads"], 1, "a part of a page was written");
    assert_eq!(report["pad_pages"], 1);
}

#[test]
fn a_file_keeps_what_was_written_and_what_was_there() {
    let file = tempfile::tempfile().unwrap();
    file.set_len(16 << 20).unwrap();
    let options = LogOptions { segment_sectors: 256, ..LogOptions::default() };
    let mut drive = Blocking::format(file.try_clone().unwrap(), &options).unwrap();
    drive.write(10, &[1; 1024], false).unwrap();
    drive.write(11, &[2; 512], true).unwrap();
    drive.write(800, &[3; 8192], false).unwrap();
    drive.trim(808, 8).unwrap();
    drive.idle().unwrap();
    let _: File = drive.close().unwrap();
    let mut drive = Blocking::open(file.try_clone().unwrap(), &LogOptions::default()).unwrap();
    let mut read = |sector| {
        let mut bytes = [9; 512];
        drive.read(sector, &mut bytes).unwrap();
        bytes[0]
    };
    assert_eq!([9, 10, 11, 12, 800, 807, 808, 815].map(&mut read), [0, 1, 2, 0, 3, 3, 0, 0]);
    // A format keeps what is at home.
    let mut drive = Blocking::format(file, &options).unwrap();
    let mut bytes = [9; 512];
    drive.read(800, &mut bytes).unwrap();
    assert_eq!(bytes[0], 3);
}

/// Segments 1 to 3 with a page each, flushed, none at home.
fn three_segments() -> (Vec<u8>, LogLayout) {
    // A log that is large enough for nothing to be written back yet.
    let options = LogOptions { log: 0.5, ..options() };
    let mut drive: Blocking<_, Shell<LogCache>> = Blocking::format(vec![0; 512 << 10], &options).unwrap();
    for turn in 0..3 {
        drive.write(turn * 2, &[turn as u8 + 1; 1024], true).unwrap();
    }
    let layout = *drive.machine().driver().layout();
    assert_eq!(drive.machine().report()["segments"], 3);
    (drive.into_store(), layout)
}

#[test]
fn a_damaged_segment_that_was_durable_is_refused() {
    let (image, layout) = three_segments();
    let at = |number: u64| (8 + number % u64::from(layout.segments()) * 32) as usize * 512;
    for offset in [0, 90, 1024, 2047] {
        let mut damaged = image.clone();
        damaged[at(1) + offset] ^= 1;
        let error = Blocking::open(damaged, &options()).unwrap_err();
        assert!(matches!(error, OpenError::Map(_)), "{error}");
        // The last one looks like a write that the power cut.
        let mut damaged = image.clone();
        damaged[at(3) + offset] ^= 1;
        let mut drive = Blocking::open(damaged, &options()).unwrap();
        let mut bytes = [9; 6 * 512];
        drive.read(0, &mut bytes).unwrap();
        assert_eq!([bytes[0], bytes[1024], bytes[2048]], [1, 2, 0]);
    }
}

#[test]
fn no_byte_of_the_metadata_can_be_changed_to_make_it_panic() {
    let (image, layout) = three_segments();
    for byte in (0..layout.home_sector() as usize * 512 / 3).step_by(3) {
        for flip in [0x01, 0x80] {
            let mut damaged = image.clone();
            damaged[byte] ^= flip;
            let Ok(mut drive) = Blocking::open(damaged, &options()) else { continue };
            let mut all = vec![0; drive.sectors() as usize * 512];
            drive.read(0, &mut all).unwrap();
            drive.check().unwrap();
        }
    }
}

#[test]
fn what_does_not_fit_says_what_would() {
    let with = |change: fn(&mut LogOptions)| {
        let mut options = LogOptions::default();
        change(&mut options);
        LogLayout::new(&options, 1 << 20).unwrap_err()
    };
    assert_eq!(with(|options| options.segment_sectors = 16), LayoutError::Segment(16));
    assert_eq!(with(|options| options.log = 0.9), LayoutError::Log(0.9));
    assert_eq!(with(|options| options.terms.page_sectors = 3), LayoutError::Page(3));
    let error = LogLayout::new(&LogOptions::default(), 5000).unwrap_err();
    let LayoutError::NoLog { least, .. } = error else { panic!("{error}") };
    assert_eq!(LogLayout::new(&LogOptions::default(), least).unwrap().segments(), 4);
    assert!(LogLayout::new(&LogOptions::default(), least - 1).is_err());
    let (image, _) = three_segments();
    assert!(matches!(Blocking::open(image.clone(), &Options::default()), Err(OpenError::Foreign)), "another driver's");
    assert!(matches!(Blocking::open(image[..128 << 10].to_vec(), &options()), Err(OpenError::Shrunk { .. })));
    assert!(matches!(Blocking::open(vec![0; 256 << 10], &options()), Err(OpenError::Foreign)));
}

/// Each flush closes a segment, and the ring is small: it is written back and written over again and again.
#[test]
fn many_flushes_turn_the_ring() {
    let mut options = LogOptions { log: 0.001, ..options() };
    options.terms.write_cache = WriteCache::Through;
    let mut bench = Bench::new(options, 40, 4);
    for turn in 0..500 {
        bench.submit(HostOp::Write, turn % 37 * 2, 2, false);
        bench.submit(HostOp::Flush, 0, 0, false);
        bench.drain();
        bench.cut();
    }
    let report = bench.driver.report();
    assert_eq!(report["segments"], 500);
    assert!(report["written_back_segments"] >= 496, "{report:?}");
}

/// A segment of two pages was torn: one sector of the first page is missing. After a restart, where both pages read as
/// zeros, the host writes the first page again, and that is torn as well. The second page must not appear.
fn complete_a_torn_segment(is_second: bool) {
    let empty = Blocking::format(vec![0; 512 << 10], &LogOptions { log: 0.5, ..options() }).unwrap().into_store();
    // Its life begins with segment 1.
    let mut drive = Blocking::open(empty.clone(), &options()).unwrap();
    if is_second {
        // The first one is full, and lost as a whole.
        drive.write(40, &[2; 15 * 1024], false).unwrap();
    }
    drive.write(0, &[1; 2048], true).unwrap();
    let begun = drive.machine().report()["segments"];
    assert_eq!(begun, 1 + u64::from(is_second));
    let mut whole = drive.into_store();
    if is_second {
        let lost = (8 + 2 * 32) * 512..(8 + 3 * 32) * 512;
        whole[lost.clone()].copy_from_slice(&empty[lost]);
    }
    let missing = (0..whole.len() / 512)
        .map(|sector| sector * 512)
        .filter(|at| whole[*at..at + 512] == [1; 512])
        .collect::<Vec<_>>();
    assert_eq!(missing.len(), 4);
    let mut torn = whole;
    torn[missing[0]..missing[0] + 512].fill(0);
    let mut writes = Vec::new();
    let hook = |access: Access<'_>| {
        if let Access::Write { first_sector, data } = access {
            writes.push((first_sector, data.to_vec()));
        }
        Ok(())
    };
    let mut drive = Blocking::open(Hooked { bytes: torn.clone(), hook }, &options()).unwrap();
    let mut bytes = [9; 2048];
    drive.read(0, &mut bytes).unwrap();
    assert_eq!(bytes, [0; 2048]);
    drive.write(0, &[1; 1024], true).unwrap();
    drop(drive);
    assert_eq!(writes.len(), 2, "the beginning of a life, and a segment");
    let mut image = torn;
    for (first, data) in writes {
        for (sector, bytes) in (first..).zip(data.chunks(512)) {
            let mut torn = image.clone();
            torn[sector as usize * 512..][..512].copy_from_slice(bytes);
            let mut drive = Blocking::open(torn, &options()).unwrap();
            let mut page = [9; 1024];
            drive.read(2, &mut page).unwrap();
            assert_eq!(page, [0; 1024], "after sector {sector} of {first}");
        }
        image[first as usize * 512..][..data.len()].copy_from_slice(&data);
    }
}

#[test]
fn a_torn_segment_is_not_completed_by_the_next_start() {
    complete_a_torn_segment(false);
}

#[test]
fn a_torn_segment_is_not_completed_by_one_of_the_same_number() {
    complete_a_torn_segment(true);
}
