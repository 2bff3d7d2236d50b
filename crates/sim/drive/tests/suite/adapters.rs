//! Drives behind traits of others.

use block_device_driver::BlockDevice;
use drive::{ByteDrive, Drive};
use embedded_storage::nor_flash::{NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

const SETTINGS: [&str; 5] = [
    "drive.capacity=4MiB",
    "flash.channels=1",
    "flash.dies_per_channel=1",
    "flash.pages_per_block=16",
    "drive.over_provisioning=100%",
];

fn small() -> Drive {
    Drive::new("page", &SETTINGS).unwrap()
}

/// With a buffer that loses what is not flushed.
fn volatile() -> ByteDrive {
    let settings = [&SETTINGS[..], &["buffer.kind=page-lru", "buffer.size=64KiB"]].concat();
    ByteDrive::new(Drive::new("page", &settings).unwrap())
}

#[test]
fn bytes_at_any_place_are_those_that_were_written_and_the_end_is_the_end() {
    let mut file = ByteDrive::new(small());
    let text: Vec<u8> = (0..2000_u32).map(|number| number as u8 | 1).collect();
    file.seek(SeekFrom::Start(300)).unwrap();
    file.write_all(&text).unwrap();
    assert_eq!(file.write_at(b"xyz", 511).unwrap(), 3);
    let mut found = vec![0; 2600];
    assert_eq!(file.read_at(&mut found, 0).unwrap(), 2600);
    assert!(found[..300].iter().chain(&found[2300..]).all(|byte| *byte == 0));
    assert!(found[300..511] == text[..211] && &found[511..514] == b"xyz" && found[514..2300] == text[214..]);
    let end = file.size();
    assert_eq!(file.write_at(&text, end - 5).unwrap(), 5);
    assert_eq!(file.write_at(&text, end).unwrap_err().kind(), ErrorKind::StorageFull);
    file.seek(SeekFrom::End(-5)).unwrap();
    let mut rest = Vec::new();
    assert_eq!(file.read_to_end(&mut rest).unwrap(), 5);
    assert_eq!(rest, text[..5]);
    assert_eq!(file.seek(SeekFrom::Current(-5 - end as i64)).unwrap_err().kind(), ErrorKind::InvalidInput);
}

/// A flush of the trait lasts for a file of no operating system either.
#[test]
fn bytes_last_when_they_are_synced_and_not_when_they_are_flushed() {
    for (syncs, kept) in [(false, [0; 4]), (true, *b"data")] {
        let mut file = volatile();
        file.write_all(b"data").unwrap();
        file.flush().unwrap();
        if syncs {
            file.sync_all().unwrap();
        }
        file.drive().power_cut(3);
        assert_eq!(file.read_at(&mut [0; 4], 0).unwrap_err().kind(), ErrorKind::NotConnected);
        file.drive().reopen().unwrap();
        let mut found = [1; 4];
        assert_eq!(file.read_at(&mut found, 0).unwrap(), 4);
        assert_eq!(found, kept, "synced: {syncs}");
    }
}

#[test]
fn nor_flash_is_erased_before_bits_are_set_and_its_writes_last() {
    let mut flash = volatile();
    flash.erase(4096, 8192).unwrap();
    NorFlash::write(&mut flash, 4100, &[0xf0, 0x0f]).unwrap();
    NorFlash::write(&mut flash, 4100, &[0x3c, 0xff]).unwrap();
    flash.drive().power_cut(3);
    flash.drive().reopen().unwrap();
    let mut found = [0; 4];
    ReadNorFlash::read(&mut flash, 4099, &mut found).unwrap();
    assert_eq!(found, [0xff, 0x30, 0x0f, 0xff]);
    assert_eq!(flash.capacity(), 4 << 20);
    assert_eq!(flash.erase(1, 4096).unwrap_err().kind(), NorFlashErrorKind::NotAligned);
    assert_eq!(NorFlash::write(&mut flash, 4 << 20, &[0]).unwrap_err().kind(), NorFlashErrorKind::OutOfBounds);
}

#[test]
fn blocks_of_a_block_device_are_sectors_of_the_drive() {
    fn now<T>(work: impl Future<Output = T>) -> T {
        match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => done,
            Poll::Pending => panic!("a simulated drive makes nobody wait"),
        }
    }
    let mut drive = small();
    let blocks = [aligned::Aligned::<aligned::A4, _>([7; 512]), aligned::Aligned([8; 512])];
    now(BlockDevice::write(&mut drive, 3, &blocks)).unwrap();
    let mut found = [0; 1024];
    Drive::read(&mut drive, 3 * 512, &mut found).unwrap();
    assert!(found[..512] == [7; 512] && found[512..] == [8; 512]);
    let mut back = [aligned::Aligned([0; 512])];
    now(BlockDevice::read(&mut drive, 4, &mut back)).unwrap();
    assert_eq!((*back[0], now(drive.size()).unwrap()), ([8; 512], 4 << 20));
}
