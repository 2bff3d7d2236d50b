//! The blocking driver over files, and layouts that cannot be.

use crate::hooked::{Access, Hooked};
use remap::{
    BlockStore, Blocking, FormatError, HostDriver, Layout, LayoutError, LogOptions, Options, Shape, Terms, WriteCache,
};
use std::cell::Cell;
use std::fs::File;

fn volatile() -> Options {
    Options { terms: Terms { write_cache: WriteCache::Volatile, ..Terms::default() }, ..Options::default() }
}

#[test]
fn a_file_keeps_what_was_written() {
    let file = tempfile::tempfile().unwrap();
    file.set_len(4 << 20).unwrap();
    let options = volatile();
    let mut drive = Blocking::format(file.try_clone().unwrap(), &options).unwrap();
    drive.write(10, &[1; 1024], false).unwrap();
    drive.write(11, &[2; 512], true).unwrap();
    drive.write(800, &[3; 8192], false).unwrap();
    drive.trim(808, 8).unwrap();
    drive.idle().unwrap();
    let _: File = drive.close().unwrap();
    let mut drive = Blocking::open(file, &Options::default()).unwrap();
    let mut read = |sector| {
        let mut bytes = [9; 512];
        drive.read(sector, &mut bytes).unwrap();
        assert!(bytes.iter().all(|byte| *byte == bytes[0]));
        bytes[0]
    };
    assert_eq!([9, 10, 11, 12, 800, 807, 808, 815].map(&mut read), [0, 1, 2, 0, 3, 3, 0, 0]);
}

#[test]
fn a_device_that_was_formatted_before_is_empty_after() {
    let options = volatile();
    let mut store = vec![0; 2 << 20];
    for life in 1..4 {
        let mut drive = Blocking::format(store, &options).unwrap();
        let mut bytes = [9; 4096];
        drive.read(16, &mut bytes).unwrap();
        assert_eq!(bytes, [0; 4096]);
        drive.write(16, &[life; 4096], true).unwrap();
        let mut drive = Blocking::open(drive.into_store(), &options).unwrap();
        drive.read(16, &mut bytes).unwrap();
        assert_eq!(bytes, [life; 4096]);
        store = drive.into_store();
    }
}

#[test]
fn options_out_of_range_say_what_is_right() {
    let sectors = 1 << 16;
    let with = |change: fn(&mut Options)| {
        let mut options = Options::default();
        change(&mut options);
        Layout::new(&options, sectors).unwrap_err()
    };
    assert_eq!(with(|options| options.terms.page_sectors = 3), LayoutError::Page(3));
    assert_eq!(with(|options| options.terms.superpage_sectors = 4), LayoutError::Superpage(4));
    assert_eq!(with(|options| options.hold_back = 1.0), LayoutError::HoldBack(1.0));
    assert_eq!(with(|options| options.var_free = 0), LayoutError::VarFree(0));
    let error = Layout::new(&Options::default(), 100).unwrap_err();
    let LayoutError::Small { least, .. } = error else { panic!("{error}") };
    assert!(Layout::new(&Options::default(), least).is_ok() && Layout::new(&Options::default(), least - 1).is_err());
    assert!(matches!(Layout::new(&Options::default(), u64::MAX), Err(LayoutError::Large { .. })));
    let none = Options { terms: Terms { cell_bytes: 0, ..Terms::default() }, ..Options::default() };
    assert!(matches!(Blocking::format(vec![0; 1 << 20], &none), Err(FormatError::NoContents(0))));
}

#[test]
fn a_tenth_is_held_back_and_metadata_are_small() {
    let layout = Layout::new(&Options::default(), 128 << 21).unwrap();
    let Shape { sectors, device_sectors, .. } = layout.into();
    let device = device_sectors as f64;
    assert!((0.89..0.9).contains(&(sectors as f64 / device)), "{layout:?}");
    assert!((layout.data_sector() as f64 / device) < 0.006, "{layout:?}");
}

/// The next flush succeeded; over a file that says nothing of what the first one failed to write.
#[test]
fn after_a_flush_that_failed_none_is_acknowledged() {
    fn look<S: BlockStore, M: HostDriver>(mut drive: Blocking<S, M>, failing: &Cell<bool>) {
        drive.write(0, &[1; 4096], false).unwrap();
        failing.set(true);
        assert!(drive.flush().is_err());
        failing.set(false);
        assert!(drive.flush().is_err() && drive.write(8, &[2; 4096], false).is_err() && drive.trim(0, 8).is_err());
        let mut bytes = [0; 4096];
        drive.read(0, &mut bytes).unwrap();
        assert_eq!(bytes, [1; 4096]);
        assert!(drive.machine().front().is_broken() && drive.close().is_err());
    }
    let failing = Cell::new(false);
    let stubborn = || Hooked {
        bytes: vec![0; 8 << 20],
        hook: |access: Access<'_>| match access {
            Access::Flush if failing.get() => Err(std::io::Error::other("not now")),
            _ => Ok(()),
        },
    };
    look(Blocking::format(stubborn(), &Options::default()).unwrap(), &failing);
    look(Blocking::format(stubborn(), &LogOptions::default()).unwrap(), &failing);
}

/// It was an error like any other, so a client was told of a broken device.
#[test]
fn a_store_without_room_is_told_from_one_that_fails() {
    // As a sparse file on a full disk; the metadata of the format fit.
    let hook = |access: Access<'_>| match access {
        Access::Write { first_sector, .. } if first_sector > 1000 => Err(std::io::ErrorKind::StorageFull.into()),
        _ => Ok(()),
    };
    let store = Hooked { bytes: vec![0; 8 << 20], hook };
    let mut drive = Blocking::format(store, &Options::default()).unwrap();
    let first = drive.machine().driver().layout().data_sector();
    assert!(first <= 1000, "the metadata end at sector {first}");
    assert!(drive.breakdown().is_none());
    let errors = (0..2000).filter_map(|page| drive.write(page % 1000 * 8, &[1; 4096], true).err());
    let kinds: Vec<_> = errors.map(|error| error.kind()).collect();
    assert!(kinds.len() > 2 && kinds.iter().all(|kind| *kind == std::io::ErrorKind::StorageFull), "{kinds:?}");
    assert_eq!(drive.breakdown().unwrap().kind(), std::io::ErrorKind::StorageFull);
}
