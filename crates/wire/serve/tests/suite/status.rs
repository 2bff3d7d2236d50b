//! What clients are told of holes, by the bytes of the protocol.

use crate::rig::Serving;
use drive::Drive;
use serve::{Pace, SimulatedDrive};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

const MIB: u32 = 1 << 20;

/// A client that has asked for structured replies and for what is allocated.
pub fn asking(serving: &Serving) -> UnixStream {
    let mut stream = UnixStream::connect(serving.path("nbd")).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let option = |number: u32, data: &[u8]| {
        [&b"IHAVEOPT"[..], &number.to_be_bytes(), &(data.len() as u32).to_be_bytes(), data].concat()
    };
    let query = [&[0, 0, 0, 3][..], b"toy", &[0, 0, 0, 1, 0, 0, 0, 15], b"base:allocation"].concat();
    let hello = [3_u32.to_be_bytes().to_vec(), option(8, &[]), option(10, &query), option(1, b"toy")].concat();
    stream.write_all(&hello).unwrap();
    // A greeting, two heads of answers with the name of the context between them, and the size of the export.
    let mut answers = [0; 18 + 20 + (20 + 4 + 15) + 20 + 10];
    stream.read_exact(&mut answers).unwrap();
    stream
}

fn request(stream: &mut UnixStream, kind: u8, range: (u32, u32), payload: &[u8]) {
    flagged(stream, [0, kind], range, payload);
}

fn zeroes(stream: &mut UnixStream, flags: u8, range: (u32, u32)) {
    flagged(stream, [flags, 6], range, &[]);
    done(stream);
}

fn flagged(stream: &mut UnixStream, [flags, kind]: [u8; 2], (offset, length): (u32, u32), payload: &[u8]) {
    let head = [&0x2560_9513_u32.to_be_bytes()[..], &[0, flags, 0, kind], &[9; 8], &[0; 4], &offset.to_be_bytes()];
    stream.write_all(&[&head.concat()[..], &length.to_be_bytes(), payload].concat()).unwrap();
}

/// Lengths and flags of the extents of a range.
fn status(stream: &mut UnixStream, range: (u32, u32)) -> Vec<(u32, u32)> {
    request(stream, 7, range, &[]);
    let mut head = [0; 20 + 4];
    stream.read_exact(&mut head).unwrap();
    assert_eq!(head[..8], [0x66, 0x8e, 0x33, 0xef, 0, 1, 0, 5], "the only chunk, of extents");
    let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap());
    let mut body = vec![0; number(&head[16..20]) as usize - 4];
    stream.read_exact(&mut body).unwrap();
    body.chunks(8).map(|extent| (number(&extent[..4]), number(&extent[4..]))).collect()
}

fn done(stream: &mut UnixStream) {
    let mut answer = [0; 16];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer[..8], [0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0]);
}

#[test]
fn holes_of_a_drive_are_told_to_clients() {
    let settings = ["drive.capacity=16MiB", "flash.pages_per_block=16", "drive.over_provisioning=100%"];
    let drive = move || Drive::new("page", &settings).unwrap();
    let serving = Serving::begin_over(move || SimulatedDrive::new(drive(), Pace::Off));
    let mut stream = asking(&serving);
    assert_eq!(status(&mut stream, (0, 16 * MIB)), [(16 * MIB, 3)]);
    request(&mut stream, 1, (MIB, 65_536), &vec![0; 65_536]);
    done(&mut stream);
    assert_eq!(status(&mut stream, (0, 16 * MIB)), [(MIB, 3), (65_536, 0), (15 * MIB - 65_536, 3)]);
    assert_eq!(status(&mut stream, (MIB + 512, 4096)), [(4096, 0)]);
    request(&mut stream, 4, (MIB, 32_768), &[]);
    done(&mut stream);
    assert_eq!(status(&mut stream, (0, 2 * MIB)), [(MIB + 32_768, 3), (32_768, 0), (MIB - 65_536, 3)]);
}

/// Zeros that were to keep their room were told as a hole.
#[test]
fn zeros_without_holes_are_data_afterwards() {
    let settings = ["drive.capacity=16MiB", "flash.pages_per_block=16", "drive.over_provisioning=100%"];
    let drive = move || Drive::new("page", &settings).unwrap();
    let serving = Serving::begin_over(move || SimulatedDrive::new(drive(), Pace::Off));
    let mut stream = asking(&serving);
    request(&mut stream, 1, (0, 8192), &[7; 8192]);
    done(&mut stream);
    // NO_HOLE, over several pieces and parts of pages.
    zeroes(&mut stream, 2, (512, 9 * MIB));
    assert_eq!(status(&mut stream, (0, 16 * MIB)), [(9 * MIB + 4096, 0), (7 * MIB - 4096, 3)]);
    request(&mut stream, 0, (0, 8192), &[]);
    let mut found = vec![0; 20 + 8 + 8192];
    stream.read_exact(&mut found).unwrap();
    assert!(found[28..540].iter().all(|byte| *byte == 7) && found[540..].iter().all(|byte| *byte == 0));
    zeroes(&mut stream, 0, (0, 9 * MIB));
    assert_eq!(status(&mut stream, (0, 16 * MIB)), [(9 * MIB, 3), (4096, 0), (7 * MIB - 4096, 3)]);
}

/// 16,384 extents are told at once; what is behind them was called data.
#[test]
fn what_does_not_fit_into_one_answer_is_asked_for_again() {
    let drive = || {
        let settings = ["drive.capacity=160MiB", "flash.pages_per_block=64"];
        let mut drive = Drive::new("page", &settings).unwrap();
        (0..160 << 8).step_by(2).for_each(|page: u64| drive.write(page * 4096, &[1; 512]).unwrap());
        drive
    };
    let serving = Serving::begin_over(move || SimulatedDrive::new(drive(), Pace::Off));
    let mut stream = asking(&serving);
    let (mut at, mut extents) = (0, 0);
    while at < 160 * MIB {
        for (length, flags) in status(&mut stream, (at, 160 * MIB - at)) {
            assert_eq!((length, flags), (4096, if at / 4096 % 2 == 0 { 0 } else { 3 }), "at {at}");
            (at, extents) = (at + length, extents + 1);
        }
    }
    assert_eq!(extents, 160 << 8);
}
