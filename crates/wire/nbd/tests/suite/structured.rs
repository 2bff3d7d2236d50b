//! Structured replies, holes, and block status.

use nbd::{ErrorNumber, Extent};

use crate::client::*;

fn started() -> Server {
    let mut server = Server::started(&export(), &structured_start());
    server.sparse = true;
    server
}

fn descriptors(runs: &[(u32, u32)]) -> Vec<u8> {
    let numbers = runs.iter().flat_map(|(length, flags)| [*length, *flags]);
    [1].into_iter().chain(numbers).flat_map(u32::to_be_bytes).collect()
}

/// One request, kept.
fn kept(server: &mut Server, bytes: &[u8]) -> nbd::Request {
    server.keeps = true;
    assert_eq!(server.say(bytes), []);
    server.keeps = false;
    server.kept.pop().expect("a request").0
}

#[test]
fn reads_come_in_chunks_with_holes() {
    let mut server = started();
    let drive = server.drive.clone();
    assert_eq!(server.say(&request(0, READ, 1, 512, 8192)), data_chunk(true, 1, 512, &drive[512..8704]));
    server.say(&request(0, ZEROES, 2, 8192, 8192));
    let parts = [data_chunk(false, 3, 0, &drive[..8192]), hole_chunk(false, 3, 8192, 8192)];
    let last = data_chunk(true, 3, 16384, &drive[16384..20480]);
    assert_eq!(server.say(&request(0, READ, 3, 0, 20480)), [parts.concat(), last].concat());
    assert_eq!(server.say(&request(0, READ, 4, 8192, 4096)), hole_chunk(true, 4, 8192, 4096));
}

#[test]
fn a_read_that_may_not_be_fragmented_is_one_chunk() {
    let mut server = started();
    server.say(&request(0, ZEROES, 2, 8192, 8192));
    let drive = server.drive.clone();
    assert_eq!(server.say(&request(DF, READ, 3, 0, 20480)), data_chunk(true, 3, 0, &drive[..20480]));
    assert_eq!(server.say(&request(DF, READ, 4, 8192, 8192)), hole_chunk(true, 4, 8192, 8192));
    assert_eq!(server.say(&request(DF, READ, 5, 0, 8192)), data_chunk(true, 5, 0, &drive[..8192]));
}

#[test]
fn holes_are_zeros_in_simple_replies() {
    let mut server = Server::started(&export(), &simple_start());
    server.sparse = true;
    server.say(&write(0, 1, 0, &[7; 8192])); // so that the output buffer had other bytes before
    server.say(&request(0, READ, 1, 0, 8192));
    server.say(&request(0, ZEROES, 2, 4096, 4096));
    let drive = server.drive.clone();
    assert_eq!(server.say(&request(0, READ, 3, 0, 12288)), [simple(3, 0), drive[..12288].to_vec()].concat());
}

#[test]
fn reads_that_fail_leave_no_data_behind() {
    let error = 5;
    for (start, failed) in [(simple_start(), simple(1, error)), (structured_start(), error_chunk(1, error))] {
        let mut server = Server::started(&export(), &start);
        let read = request(0, READ, 1, 0, 8192);
        let fails = |_: u64, _: &mut [u8]| Err(ErrorNumber::Io);
        let asked = kept(&mut server, &read);
        server.connection.read(asked, |_| Err(ErrorNumber::Io));
        assert_eq!(server.say(&[]), failed);
        let asked = kept(&mut server, &read);
        server.connection.failed(asked, ErrorNumber::Io);
        assert_eq!(server.say(&[]), failed);
        // A hole is told before the data that fails.
        let asked = kept(&mut server, &read);
        server.connection.read_sparse(asked, &[Extent::hole(4096)], fails);
        assert_eq!(server.say(&[]), failed);
        assert_eq!(server.say(&request(0, FLUSH, 2, 0, 0)), simple(2, 0));
    }
}

#[test]
fn errors_of_other_commands_stay_simple() {
    let mut server = started();
    assert_eq!(server.say(&request(0, READ, 1, 1, 1)), error_chunk(1, EINVAL));
    assert_eq!(server.say(&request(0, STATUS, 1, 1, 1)), error_chunk(1, EINVAL));
    assert_eq!(server.say(&request(0, TRIM, 1, 1, 1)), simple(1, EINVAL));
    assert_eq!(server.say(&write(0, 1, 1, &[1])), simple(1, EINVAL));
    assert_eq!(server.say(&request(0, 99, 1, 0, 0)), simple(1, EINVAL));
    assert_eq!(server.say(&request(0, STATUS, 1, 0, 1 << 21)), error_chunk(1, EINVAL));
    for (bytes, error) in [(request(0, TRIM, 1, 0, 512), 12), (request(0, FLUSH, 1, 0, 0), 5)] {
        let asked = kept(&mut server, &bytes);
        let number = if error == 12 { ErrorNumber::Memory } else { ErrorNumber::Io };
        server.connection.failed(asked, number);
        assert_eq!(server.say(&[]), simple(1, error));
    }
    let asked = kept(&mut server, &request(0, STATUS, 1, 0, 512));
    server.connection.failed(asked, ErrorNumber::Io);
    assert_eq!(server.say(&[]), error_chunk(1, 5));
}

#[test]
fn block_status_tells_runs() {
    let mut server = started();
    server.say(&request(0, TRIM, 1, 8192, 8192));
    let told = server.say(&request(0, STATUS, 2, 0, 32768));
    assert_eq!(told, chunk(true, 5, 2, &descriptors(&[(8192, 0), (8192, 3), (16384, 0)])));
    let told = server.say(&request(REQ_ONE, STATUS, 3, 8192, 32768));
    assert_eq!(told, chunk(true, 5, 3, &descriptors(&[(8192, 3)])));
}

#[test]
fn extents_are_joined_clipped_and_completed() {
    let mut server = started();
    let allocated_zeros = |length| Extent { length, hole: false, zero: true };
    let table = [
        (vec![], vec![(8192, 0)]),
        (vec![Extent::hole(512)], vec![(512, 3), (7680, 0)]),
        (vec![Extent::hole(u64::MAX)], vec![(8192, 3)]),
        (vec![Extent::hole(4096), Extent::hole(0), Extent::data(0), Extent::hole(u64::MAX)], vec![(8192, 3)]),
        (vec![Extent::hole(4096), allocated_zeros(1024), Extent::data(1)], vec![(4096, 3), (1024, 2), (3072, 0)]),
        (vec![Extent { length: 8192, hole: true, zero: false }, Extent::data(9)], vec![(8192, 1)]),
    ];
    for (extents, runs) in table {
        let asked = kept(&mut server, &request(0, STATUS, 1, 0, 8192));
        server.connection.extents(asked, &extents);
        assert_eq!(server.say(&[]), chunk(true, 5, 1, &descriptors(&runs)));
        let asked = kept(&mut server, &request(REQ_ONE, STATUS, 1, 0, 8192));
        server.connection.extents(asked, &extents);
        assert_eq!(server.say(&[]), chunk(true, 5, 1, &descriptors(&runs[..1])));
    }
    // Zeros are zeros, allocated or not.
    let asked = kept(&mut server, &request(0, READ, 1, 0, 8192));
    server.connection.read_sparse(asked, &[Extent::hole(4096), allocated_zeros(9000)], |_, _| unreachable!());
    assert_eq!(server.say(&[]), hole_chunk(true, 1, 0, 8192));
}
