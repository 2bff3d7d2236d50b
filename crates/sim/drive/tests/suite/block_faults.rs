//! Power cuts that roll erase blocks back.

use crate::small::{ROOM, UNITS, ZONES, small};
use drive::{Drive, Fault, Injected};
use std::collections::BTreeSet;

/// It outlives power cuts.
const BUFFER: [&str; 3] = ["buffer.kind=page-lru", "buffer.size=64KiB", "buffer.nonvolatile=true"];
const PAGES: u64 = 64;
/// Pages that are written over after the fault was given.
const CHANGED: u64 = 48;
/// Times that each of them is written over: the older data has the number before the last.
const ROUNDS: u8 = 8;

/// A drive under a fault whose pages were written again and again, so that blocks have pages from many places.
fn written_over(settings: &[&str], fault: &str) -> Drive {
    let mut drive = small(settings);
    (0..PAGES).for_each(|number| drive.write(number * 4096, &[0; 4096]).unwrap());
    drive.flush().unwrap();
    drive.inject(fault.parse().unwrap()).unwrap();
    for round in 1..=ROUNDS {
        for number in 0..CHANGED {
            drive.write(number * 5 % CHANGED * 4096, &[round; 4096]).unwrap();
        }
    }
    if fault.contains("flushed") {
        drive.flush().unwrap();
    }
    drive
}

/// The number in a page; `None`: it cannot be read.
fn page(drive: &mut Drive, number: u64) -> Option<u8> {
    let mut found = [0; 4096];
    drive.read(number * 4096, &mut found).ok()?;
    assert_eq!(found, [found[0]; 4096], "page {number} is one");
    Some(found[0])
}

/// The changed pages in each erase block: those that cannot be read once it fails.
fn by_block(settings: &[&str], fault: &str) -> Vec<BTreeSet<u64>> {
    let mut drive = written_over(settings, fault);
    let mut readable: BTreeSet<u64> = (0..CHANGED).collect();
    let mut blocks = Vec::new();
    for block in 0..drive.block_maps().unwrap().erases.len() as u32 {
        drive.inject(Fault::Block(block)).unwrap();
        let lost: BTreeSet<u64> =
            readable.iter().copied().filter(|number| page(&mut drive, *number).is_none()).collect();
        readable.retain(|number| !lost.contains(number));
        blocks.push(lost);
    }
    blocks.retain(|pages| !pages.is_empty());
    blocks
}

/// The pages that hits of faults name.
fn told(log: Vec<Injected>) -> BTreeSet<u64> {
    let hits = log.into_iter().filter(|entry| entry.given.is_none());
    let pages = hits.flat_map(|entry| {
        assert!(entry.kind == "cut-old" && entry.offset % 4096 == 0 && entry.length % 4096 == 0, "{entry:?}");
        entry.offset / 4096..(entry.offset + entry.length) / 4096
    });
    pages.collect()
}

/// The pages that a cut has rolled back, which its log names. All others have their last contents.
fn rolled_back(left: &mut Drive, what: &str) -> BTreeSet<u64> {
    let told = told(left.take_fault_log());
    for number in 0..PAGES {
        let last = if number < CHANGED { ROUNDS } else { 0 };
        let wanted = if told.contains(&number) { ROUNDS - 1 } else { last };
        assert_eq!(page(left, number), Some(wanted), "{what}: page {number}");
    }
    told
}

#[test]
fn a_cut_rolls_erase_blocks_back_and_nothing_else() {
    let few = "drive.capacity=512KiB";
    for settings in
        [&[][..], &[few], &UNITS, &["ftl.kind=superpage"], &["ftl.kind=dftl", ROOM], &["ftl.kind=fast", ROOM], &BUFFER]
    {
        for fault in ["cut-old share 30% block", "cut-old share 30% flushed block"] {
            let what = format!("{settings:?} {fault}");
            let blocks = by_block(settings, fault);
            assert!(blocks.len() > 1, "{what}: {blocks:?}");
            let drive = written_over(settings, fault);
            let mut numbers = BTreeSet::new();
            for seed in 0..24 {
                let rolled = rolled_back(&mut drive.left_by_cut(seed).unwrap().recover().unwrap(), &what);
                let chosen: Vec<_> = blocks.iter().filter(|pages| !pages.is_disjoint(&rolled)).collect();
                let all: BTreeSet<u64> = chosen.iter().flat_map(|pages| pages.iter().copied()).collect();
                assert_eq!(rolled, all, "{what}: seed {seed} of {blocks:?}");
                numbers.insert(chosen.len());
            }
            assert!(numbers.contains(&1) && numbers.len() > 1, "{what}: {numbers:?} of {} blocks", blocks.len());
        }
    }
}

#[test]
fn a_cut_of_all_blocks_rolls_back_all_that_was_not_flushed() {
    for settings in [&[][..], &UNITS, &["remap.kind=hard", "drive.capacity=4MiB"]] {
        let mut drive = written_over(settings, "cut-old block");
        drive.power_cut(3);
        drive.reopen().unwrap();
        assert_eq!(rolled_back(&mut drive, &format!("{settings:?}")), (0..CHANGED).collect());
        let mut drive = written_over(settings, "cut-old block");
        drive.flush().unwrap();
        drive.power_cut(3);
        drive.reopen().unwrap();
        assert!(rolled_back(&mut drive, &format!("{settings:?}")).is_empty(), "flushed sectors stay");
    }
}

/// Each stack has its own way to a place in flash.
#[test]
fn drives_with_stripes_roll_erase_blocks_back() {
    let stripes = [&["stripe.kind=raid5", "stripe.chips=5", "flash.channels=5", ROOM][..], &ZONES];
    let elastic = &["stripe.kind=raid-elastic", "flash.channels=5", ROOM][..];
    for settings in stripes.into_iter().chain([elastic]) {
        let what = format!("{settings:?}");
        let rolled = |fault: &str, seed: u64| {
            let drive = written_over(settings, fault);
            rolled_back(&mut drive.left_by_cut(seed).unwrap().recover().unwrap(), &what).len() as u64
        };
        assert_eq!(rolled("cut-old flushed block", 1), CHANGED, "{what}");
        let parts: BTreeSet<u64> = (0..6).map(|seed| rolled("cut-old share 40% flushed block", seed)).collect();
        assert!(parts.len() > 1 && parts.iter().any(|part| (1..CHANGED).contains(part)), "{what}: {parts:?}");
    }
}

#[test]
fn a_cut_of_erase_blocks_spares_trims_and_a_buffer() {
    let changed = |settings: &[&str]| {
        let mut drive = small(settings);
        drive.write(0, &[1; 8192]).unwrap();
        drive.flush().unwrap();
        drive.inject("cut-old flushed block".parse().unwrap()).unwrap();
        drive.write(0, &[2; 4096]).unwrap();
        drive
    };
    let mut drive = changed(&[]);
    drive.trim(4096, 4096).unwrap();
    drive.flush().unwrap();
    drive.power_cut(1);
    drive.reopen().unwrap();
    assert_eq!([page(&mut drive, 0), page(&mut drive, 1)], [Some(1), Some(0)]);
    assert_eq!(told(drive.take_fault_log()), BTreeSet::from([0]));
    let mut drive = changed(&BUFFER);
    drive.power_cut(1);
    drive.reopen().unwrap();
    assert_eq!(page(&mut drive, 0), Some(2));
    assert!(told(drive.take_fault_log()).is_empty());
}
