//! What of a drive holds data, and drives that are in use before anybody writes.

use crate::small::{BUFFER, FORGETFUL, ROOM, UNITS, ZONES, open, settings as settings_of, small};
use drive::{Drive, Extent};
use units::HostOp;

/// Stacks of every kind of layer.
const STACKS: [&[&str]; 14] = [
    &[],
    &BUFFER,
    &["buffer.kind=page-lru", "buffer.size=64KiB", "buffer.nonvolatile=true"],
    &["buffer.kind=two-level", "buffer.size=128KiB", "buffer.block_buffer=64KiB"],
    &["ftl.kind=dftl"],
    &["ftl.kind=bast", ROOM],
    &["ftl.kind=superpage"],
    &["ftl.kind=leaftl"],
    &UNITS,
    &FORGETFUL,
    &["stripe.kind=raid5", "flash.channels=4", ROOM],
    &["stripe.kind=raid-elastic", "flash.channels=4", ROOM],
    &ZONES,
    &["remap.kind=hard"],
];

/// All extents of a drive, asked for a few at a time.
fn map(drive: &Drive) -> Vec<(u64, bool)> {
    let (mut at, mut all): (u64, Vec<(u64, bool)>) = (0, Vec::new());
    while at < drive.bytes() {
        for Extent { bytes, is_hole } in drive.extents(at, drive.bytes() - at, 2).unwrap() {
            at += bytes;
            match all.last_mut() {
                Some(last) if last.1 == is_hole => last.0 += bytes,
                _ => all.push((bytes, is_hole)),
            }
        }
    }
    all
}

/// All of a drive was told to be data, so that copies of an empty drive stored every byte of it.
#[test]
fn what_was_never_written_or_was_trimmed_is_a_hole_and_all_else_is_data() {
    for settings in STACKS.into_iter().chain([&["remap.kind=log-cache", "remap.segment=32KiB"][..]]) {
        let mut drive = small(settings);
        let (all, page) = (drive.bytes(), u64::from(drive.page_bytes()));
        assert_eq!(map(&drive), [(all, true)], "{settings:?}: fresh");
        drive.write(128 << 10, &vec![0; 64 << 10]).unwrap();
        let written = [(128 << 10, true), (64 << 10, false), (all - (192 << 10), true)];
        assert_eq!(map(&drive), written, "{settings:?}: zeros that were written are data");
        drive.flush().unwrap();
        assert_eq!(map(&drive), written, "{settings:?}: flushed");
        drive.trim(160 << 10, 32 << 10).unwrap();
        let trimmed = [(128 << 10, true), (32 << 10, false), (all - (160 << 10), true)];
        assert_eq!(map(&drive), trimmed, "{settings:?}: trimmed");
        drive.flush().unwrap();
        drive.power_cut(3);
        assert!(drive.extents(0, all, 10).is_err(), "{settings:?}: without power");
        drive.reopen().unwrap();
        assert_eq!(map(&drive), trimmed, "{settings:?}: after a power cut");
        drive.write(0, &[7; 512]).unwrap();
        assert_eq!(map(&drive)[0], (page, false), "{settings:?}: a page of which one sector was written");
        let part = drive.extents(512, 1024, 10).unwrap();
        assert_eq!(part, [Extent { bytes: 1024, is_hole: false }], "{settings:?}: within a page");
        drive.trim(0, all).unwrap();
        assert_eq!(map(&drive), [(all, true)], "{settings:?}: all trimmed");
    }
}

/// A map that says hole where there are bytes makes copies lose them.
#[test]
fn nothing_that_reads_as_other_than_zeros_is_ever_a_hole() {
    for settings in STACKS {
        let mut drive = small(settings);
        let pages = drive.bytes() / 4096;
        let mut known = vec![0_u8; drive.bytes() as usize];
        for number in 0..pages * 3 {
            let at = (number * 7919 % pages * 4096) as usize;
            if number % 7 == 3 {
                drive.trim(at as u64, 4096).unwrap();
                known[at..at + 4096].fill(0);
            } else {
                known[at..at + 4096].fill((number % 250) as u8 + 1);
                drive.write(at as u64, &known[at..at + 4096]).unwrap();
            }
            if number % 97 == 0 {
                let mut at = 0;
                for (bytes, is_hole) in map(&drive) {
                    let range = &known[at..at + bytes as usize];
                    assert!(!is_hole || range.iter().all(|byte| *byte == 0), "{settings:?}, write {number}, at {at}");
                    at += bytes as usize;
                }
            }
        }
    }
}

/// It was refused, so that nobody could see with a tool of their own what collection costs.
#[test]
fn a_drive_that_is_in_use_reads_as_zeros_and_collects_from_the_first_write_on() {
    for settings in STACKS.into_iter().filter(|settings| !settings.contains(&"remap.kind=hard")) {
        for (precondition, collects) in [("fill", false), ("overwrite", true)] {
            let precondition = format!("drive.precondition={precondition}");
            let mut drive = small(&[settings, &[&precondition]].concat());
            let all = drive.bytes();
            assert_eq!(map(&drive), [(all, true)], "{settings:?}, {precondition}: no bytes");
            let mut found = vec![1; all as usize];
            drive.read(0, &mut found).unwrap();
            assert!(found.iter().all(|byte| *byte == 0), "{settings:?}, {precondition}");
            // Sectors of a page in use are laid over zeros.
            drive.write(512, &[5; 512]).unwrap();
            drive.read(0, &mut found[..4096]).unwrap();
            assert!(found[512..1024] == [5; 512] && found[..512] == [0; 512] && found[1024..4096] == [0; 3072]);
            drive.check_layers().unwrap();
            if !collects {
                continue;
            }
            drive.measure();
            for number in 0..all / 4096 {
                drive.write(number * 7919 % (all / 4096) * 4096, &[number as u8; 4096]).unwrap();
            }
            drive.flush().unwrap();
            let result = drive.result("written", 0.0).unwrap();
            assert!(result.flash[2].iter().sum::<u64>() > 0, "{settings:?}: nothing was collected");
            drive.power_cut(1);
            drive.reopen().unwrap();
            drive.check_layers().unwrap();
            drive.read(0, &mut found[..4096]).unwrap();
        }
    }
    let refused = |settings: &[&str]| Drive::new("page", &settings_of(settings)).err().unwrap().to_string();
    assert!(refused(&["drive.precondition=steady"]).contains("needs a workload"));
    assert!(refused(&["drive.precondition=fill", "remap.kind=hard"]).contains("driver of the host"));
}

/// Reads of a drive that is measured, and its reads of pages that hold nothing.
fn reads(drive: &Drive) -> (u64, u64) {
    let pulse = drive.pulse().unwrap();
    (pulse.requests[HostOp::Read.index()].requests, pulse.unwritten.totals.requests)
}

/// Percentiles of the reads of a served drive were of reads that flash never saw.
#[test]
fn reads_of_unwritten_pages_are_counted_apart_from_the_reads_of_a_drive() {
    let mut found = [0; 4096];
    for settings in STACKS {
        let mut drive = small(settings);
        drive.measure();
        let mut after = |drive: &mut Drive, at: u64| {
            drive.read(at, &mut found).unwrap();
            reads(drive)
        };
        assert_eq!(after(&mut drive, 0), (0, 1), "{settings:?}: fresh");
        drive.write(0, &vec![7; 64 << 10]).unwrap();
        assert_eq!(after(&mut drive, 0), (1, 1), "{settings:?}: written");
        assert_eq!(after(&mut drive, 1 << 20), (1, 2), "{settings:?}: beside it");
        drive.trim(0, 64 << 10).unwrap();
        assert_eq!(after(&mut drive, 0), (1, 3), "{settings:?}: trimmed");
        drive.write(128 << 10, &vec![7; 64 << 10]).unwrap();
        drive.flush().unwrap();
        drive.power_cut(1);
        drive.reopen().unwrap();
        assert_eq!(after(&mut drive, 128 << 10), (2, 3), "{settings:?}: after a power cut");
        // A non-volatile buffer writes what was trimmed in it to flash, as zeros.
        let is_on_flash = u64::from(settings.contains(&"buffer.nonvolatile=true"));
        let told = (2 + is_on_flash, 4 - is_on_flash);
        assert_eq!(after(&mut drive, 0), told, "{settings:?}: trimmed before a power cut");
        let result = drive.result("calls", 1.0).unwrap();
        let counted = [&result.latency[HostOp::Read.index()], &result.unwritten.latency];
        assert_eq!(counted.map(|recorder| recorder.histogram().count()), [told.0, told.1], "{settings:?}");
    }
}

/// What preconditioning wrote has no bytes, and is read from flash.
#[test]
fn reads_of_preconditioned_pages_are_reads_before_and_after_a_power_cut() {
    let mut found = [0; 4096];
    for settings in STACKS.into_iter().filter(|settings| !settings.contains(&"remap.kind=hard")) {
        let mut drive = small(&[settings, &["drive.precondition=fill"]].concat());
        drive.measure();
        drive.read(1 << 20, &mut found).unwrap();
        assert_eq!(reads(&drive), (1, 0), "{settings:?}");
        drive.power_cut(1);
        drive.reopen().unwrap();
        drive.read(1 << 20, &mut found).unwrap();
        assert_eq!(reads(&drive), (2, 0), "{settings:?}: after a power cut");
        drive.trim(1 << 20, 64 << 10).unwrap();
        drive.read(1 << 20, &mut found).unwrap();
        assert_eq!(reads(&drive), (2, 1), "{settings:?}: trimmed");
    }
}

/// A lost chip of a drive in use is computed from parities that know of its zeros.
#[test]
fn a_drive_in_use_stands_the_loss_of_a_die() {
    for kind in ["raid5", "raid-elastic"] {
        let kind = format!("stripe.kind={kind}");
        let mut drive = small(&[&kind, "flash.channels=4", ROOM, "drive.precondition=overwrite"]);
        (0..64_u64).for_each(|page| drive.write(page * 8192, &[page as u8 + 1; 4096]).unwrap());
        drive.flush().unwrap();
        drive.inject(drive::Fault::Die(1)).unwrap();
        let mut found = vec![9; 4096];
        for page in 0..drive.bytes() / 4096 {
            drive.read(page * 4096, &mut found).unwrap();
            let wanted = if page % 2 == 0 && page < 128 { page as u8 / 2 + 1 } else { 0 };
            assert!(found.iter().all(|byte| *byte == wanted), "{kind}, page {page}: {}", found[0]);
        }
    }
}

/// Programs that clean up after preconditioning, for eight pages of a client, are no write amplification.
#[test]
fn eight_pages_written_to_a_drive_in_use_have_no_write_amplification() {
    let after = |more: &[&str], pages: u64| {
        let mut drive = small(more);
        drive.measure();
        let all = drive.bytes() / 4096;
        (0..pages).for_each(|page| drive.write(page * 7919 % all * 4096, &[1; 4096]).unwrap());
        drive.pulse().unwrap().no_waf
    };
    let in_use = ["drive.precondition=overwrite"];
    assert_eq!(after(&in_use, 0), Some(drive::NoWaf::NoWrites));
    assert_eq!(after(&in_use, 8), Some(drive::NoWaf::TooFewWrites));
    assert_eq!(after(&in_use, 20_000), None);
    assert_eq!(after(&[], 8), None, "an erased drive has nothing to clean up");
}

/// What was in use before anything was written is so when the file is opened again.
#[test]
fn a_drive_in_use_can_be_kept_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive");
    let open = |more: &[&str]| open(&path, more).unwrap();
    let mut drive = open(&["drive.precondition=overwrite"]);
    let used = std::os::unix::fs::MetadataExt::blocks(&std::fs::metadata(&path).unwrap()) * 512;
    assert!(used < 400 << 10, "{used} bytes of disk for a drive without bytes");
    (0..64_u64).for_each(|page| drive.write(page * 4096, &[3; 4096]).unwrap());
    drive.flush().unwrap();
    let (all, blocks) = (drive.bytes(), drive.block_maps().unwrap());
    drop(drive);
    for _ in 0..2 {
        let mut drive = open(&[]);
        assert!(!drive.file_damage().is_any(), "{}", drive.file_damage());
        drive.check_layers().unwrap();
        assert_eq!(map(&drive), [(64 * 4096, false), (all - 64 * 4096, true)]);
        assert_eq!(drive.block_maps().unwrap().erases, blocks.erases);
        let mut found = vec![1; all as usize];
        drive.read(0, &mut found).unwrap();
        assert!(found[..64 * 4096].iter().all(|byte| *byte == 3));
        assert!(found[64 * 4096..].iter().all(|byte| *byte == 0));
        drive.measure();
        drive.read(64 * 4096, &mut found[..4096]).unwrap();
        assert_eq!(reads(&drive), (1, 0), "flash was read for zeros of preconditioning");
    }
}
