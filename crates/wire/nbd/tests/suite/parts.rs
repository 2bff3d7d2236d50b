//! Long requests in parts.

use nbd::{End, ErrorNumber};

use crate::client::*;

const PART: u32 = 28 << 10;
const LONG: u32 = 100 << 10;
const EIO: u32 = 5;

fn started(start: &[u8]) -> Server {
    let mut server = Server::started(&export(), start);
    server.splits = Some(PART);
    server.connection.allow(0);
    server
}

/// A read of [`LONG`] bytes from 512 on as chunks of a part each, up to a number of parts.
fn chunks(drive: &[u8], count: u32) -> Vec<u8> {
    let chunk = |part: u32| {
        let (from, end) = (512 + part * PART, 512 + LONG.min((part + 1) * PART));
        data_chunk(end == 512 + LONG, 3, from.into(), &drive[from as usize..end as usize])
    };
    (0..count).flat_map(chunk).collect()
}

#[test]
fn a_long_read_in_parts_is_one_answer_to_the_client() {
    let asked = |flags| [request(0, READ, 2, 0, 512), request(flags, READ, 3, 512, LONG), request(0, FLUSH, 4, 0, 0)];
    let mut server = started(&simple_start());
    let drive = server.drive.clone();
    let data = &drive[512..512 + LONG as usize];
    let around = |first: Vec<u8>, read: Vec<u8>| [first, read, simple(4, 0)].concat();
    let first = [simple(2, 0), drive[..512].to_vec()].concat();
    assert_eq!(server.say(&asked(0).concat()), around(first, [simple(3, 0), data.to_vec()].concat()));
    let mut server = started(&structured_start());
    let first = data_chunk(true, 2, 0, &drive[..512]);
    assert_eq!(server.say(&asked(0).concat()), around(first.clone(), chunks(&drive, 4)));
    assert_eq!(server.say(&asked(DF).concat()), around(first, data_chunk(true, 3, 512, data)));
}

#[test]
fn a_client_that_takes_nothing_makes_the_server_hold_one_part() {
    let mut server = started(&simple_start());
    let connection = &mut server.connection;
    let read = request(0, READ, 1, 0, 1 << 20);
    connection.space()[..read.len()].copy_from_slice(&read);
    connection.filled(read.len());
    assert!(connection.next_request().is_none() && connection.waits_for_memory());
    connection.split(PART);
    let part = connection.next_request().expect("the first part");
    assert_eq!((part.offset, part.length), (0, PART));
    assert!(connection.next_request().is_none(), "it is not answered");
    connection.read(part, |_| Ok(()));
    connection.taken(1000);
    assert!(connection.next_request().is_none(), "its answer is not sent");
    assert!(connection.held_bytes() <= 32 << 10, "{} bytes", connection.held_bytes());
    // The server ends once the read is whole.
    connection.shut_down();
    connection.taken(connection.output().len());
    assert!(!connection.is_closed());
    assert_eq!(connection.next_request().expect("the second part").offset, u64::from(PART));
}

#[test]
fn a_long_write_in_parts_is_answered_once() {
    for pieces in [&[usize::MAX][..], &[10_000, 3], &[PART as usize]] {
        let mut server = started(&simple_start());
        let payload: Vec<u8> = pattern(LONG as usize).iter().map(|byte| !byte).collect();
        let said = [write(0, 1, 1024, &payload), request(0, READ, 2, 0, 512)].concat();
        let answers = server.say_in_pieces(&said, pieces);
        assert_eq!(answers, [simple(1, 0), simple(2, 0), server.drive[..512].to_vec()].concat());
        assert!(server.drive[1024..1024 + payload.len()] == payload);
        assert!(server.connection.held_bytes() < 256 << 10);
    }
}

#[test]
fn a_long_write_with_a_part_that_failed_fails_and_the_next_request_is_understood() {
    let mut server = started(&structured_start());
    server.bad = Some(u64::from(2 * PART));
    let said = [write(0, 1, 0, &vec![7; LONG as usize]), write(0, 2, 0, &[8; 512])].concat();
    assert_eq!(server.say(&said), [simple(1, EIO), simple(2, 0)].concat());
}

#[test]
fn a_long_read_that_fails_late_is_told_so_or_ends_the_connection() {
    let read = request(0, READ, 3, 512, LONG);
    let bad = Some(u64::from(2 * PART) + 512);
    let mut server = started(&structured_start());
    let drive = server.drive.clone();
    server.bad = bad;
    assert_eq!(server.say(&read), [chunks(&drive, 2), error_chunk(3, EIO)].concat());
    assert_eq!(server.say(&request(0, FLUSH, 4, 0, 0)), simple(4, 0));
    // Nothing but the data can follow the head that these have been sent.
    for (start, flags) in [(simple_start(), 0), (structured_start(), DF)] {
        let mut server = started(&start);
        server.bad = bad;
        let said = server.say(&request(flags, READ, 3, 512, LONG));
        assert!(said.ends_with(&drive[512..512 + 2 * PART as usize]));
        assert_eq!(server.connection.end(), Some(&End::LateError(ErrorNumber::Io)));
        assert!(server.connection.is_closed());
    }
    let mut server = started(&simple_start());
    server.bad = Some(0);
    assert_eq!(server.say(&read), simple(3, EIO), "no head is sent before the first part is read");
    assert!(!server.connection.is_closed());
}

#[test]
fn a_client_that_hangs_up_between_parts_leaves_nothing_behind() {
    for said in [request(0, READ, 1, 0, LONG), write(0, 1, 0, &vec![1; LONG as usize])] {
        let mut server = started(&simple_start());
        server.keeps = true;
        server.say(&said);
        let (part, payload) = server.kept.pop().expect("a part");
        server.connection.hung_up();
        assert!(!server.connection.is_closed());
        server.answer(part, &payload);
        assert!(server.connection.is_closed() && server.connection.output().is_empty());
    }
}
