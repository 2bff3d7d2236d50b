//! Requests that are valid, and those that are not.

use nbd::{End, Export, MOST_PAYLOAD};

use crate::client::*;

fn started(export: &Export) -> Server {
    Server::started(export, &simple_start())
}

/// The error that a request gets without structured replies, and that nothing came of it.
fn error_of(export: &Export, bytes: &[u8]) -> u32 {
    let mut server = started(export);
    let before = server.drive.clone();
    let answer = server.say(bytes);
    assert_eq!(answer.len(), 16, "one simple reply");
    assert_eq!(server.drive, before);
    // The next request is understood.
    assert_eq!(server.say(&request(0, FLUSH, 77, 0, 0)), simple(77, 0));
    u32::from_be_bytes(answer[4..8].try_into().expect("four bytes"))
}

#[test]
fn writes_are_read_back() {
    for length in [512, 4096, 32 << 10, (32 << 10) + 512, 256 << 10, 1 << 20] {
        let mut server = started(&export());
        let data = vec![0x5a; length];
        assert_eq!(server.say(&write(0, 1, 0, &data)), simple(1, 0));
        assert_eq!(server.say(&request(0, READ, 2, 0, length as u32)), [simple(2, 0), data].concat());
    }
}

#[test]
fn every_command_with_its_flags_is_done() {
    let export = Export { cache: true, ..export() };
    let mut server = started(&export);
    assert_eq!(server.say(&write(FUA, 1, 4096, &[1; 512])), simple(1, 0));
    assert_eq!(server.say(&request(FUA, READ, 2, 4096, 512)), [simple(2, 0), vec![1; 512]].concat());
    assert_eq!(server.say(&request(FUA, TRIM, 3, 4096, 512)), simple(3, 0));
    assert_eq!(server.drive[4096..4608], [0; 512]);
    assert_eq!(server.say(&request(FUA | NO_HOLE, ZEROES, 4, 8192, 4096)), simple(4, 0));
    assert_eq!(server.drive[8192..12288], [0; 4096]);
    assert_eq!(server.say(&request(FUA, CACHE, 5, 0, 1 << 20)), simple(5, 0));
    assert_eq!(server.say(&request(0, FLUSH, u64::MAX, 0, 0)), simple(u64::MAX, 0));
    assert_eq!(server.say(&request(0, DISC, 9, 0, 0)), []);
    assert_eq!(server.connection.end(), Some(&End::Disconnected));
    assert!(server.connection.is_closed() && server.connection.space().is_empty());
}

#[test]
fn flags_reach_the_back_end() {
    let export = Export { fast_zero: true, ..export() };
    let mut server = Server::started(&export, &structured_start());
    server.keeps = true;
    let requests = [
        write(FUA, 1, 0, &[1; 512]),
        request(NO_HOLE, ZEROES, 2, 0, 512),
        request(FAST_ZERO, ZEROES, 3, 0, 512),
        request(DF, READ, 4, 0, 512),
        request(REQ_ONE, STATUS, 5, 0, 512),
    ];
    server.say(&requests.concat());
    for (at, (request, _)) in server.kept.iter().enumerate() {
        let flags = [request.fua, request.no_hole, request.fast_zero, request.unfragmented, request.one_extent];
        assert_eq!(flags, [0, 1, 2, 3, 4].map(|flag| flag == at));
    }
}

#[test]
fn requests_beyond_the_end() {
    let (export, end) = (export(), DRIVE_BYTES as u64);
    let last = u64::MAX - 511;
    for (offset, length) in [(end, 512), (end - 512, 1024), (last, 512), (last, 1024), (0, 1 << 21)] {
        for (kind, error) in [(READ, EINVAL), (TRIM, EINVAL), (ZEROES, ENOSPC)] {
            assert_eq!(error_of(&export, &request(0, kind, 1, offset, length)), error);
        }
        assert_eq!(error_of(&export, &write(0, 1, offset, &vec![1; length as usize])), ENOSPC);
    }
    // The last sector is still there, and lengths that no write can have.
    let mut server = started(&export);
    assert_eq!(server.say(&write(0, 1, end - 512, &[1; 512])), simple(1, 0));
    assert_eq!(error_of(&export, &request(0, ZEROES, 1, 0, u32::MAX - 511)), ENOSPC);
}

#[test]
fn requests_that_are_not_aligned() {
    let export = Export { least_block: 4096, ..export() };
    for (offset, length) in [(512, 4096), (0, 512), (4095, 1), (1, 4095)] {
        for kind in [READ, TRIM, ZEROES] {
            assert_eq!(error_of(&export, &request(0, kind, 1, offset, length)), EINVAL);
        }
        assert_eq!(error_of(&export, &write(0, 1, offset, &vec![1; length as usize])), EINVAL);
    }
    let bytes = Export { least_block: 1, ..export };
    assert_eq!(started(&bytes).say(&write(0, 1, 4095, &[1; 3])), simple(1, 0));
}

#[test]
fn flags_and_commands_that_are_not_offered() {
    let all = export();
    for (flags, kind) in [(NO_HOLE, READ), (DF, READ), (REQ_ONE, READ), (32, READ), (0x8000, READ), (NO_HOLE, TRIM)] {
        assert_eq!(error_of(&all, &request(flags, kind, 1, 0, 512)), EINVAL);
    }
    for flags in [NO_HOLE, DF, FAST_ZERO, 32] {
        assert_eq!(error_of(&all, &write(flags, 1, 0, &[1; 512])), EINVAL);
    }
    for kind in [CACHE, STATUS, 8, 9, 99, u16::MAX] {
        assert_eq!(error_of(&all, &request(0, kind, 1, 0, 512)), EINVAL);
    }
    assert_eq!(error_of(&all, &request(FAST_ZERO, ZEROES, 1, 0, 512)), ENOTSUP);
    assert_eq!(error_of(&Export { trim: false, ..all.clone() }, &request(0, TRIM, 1, 0, 512)), EINVAL);
    assert_eq!(error_of(&Export { write_zeroes: false, ..all.clone() }, &request(0, ZEROES, 1, 0, 512)), EINVAL);
    assert_eq!(error_of(&Export { fua: false, ..all.clone() }, &write(FUA, 1, 0, &[1; 512])), EINVAL);
    assert_eq!(error_of(&all, &request(0, FLUSH, 1, 512, 0)), EINVAL);
    assert_eq!(error_of(&all, &request(0, FLUSH, 1, 0, 512)), EINVAL);
    let none = Export { flush: false, ..all };
    assert_eq!(started(&none).say(&request(0, FLUSH, 1, 0, 0)), simple(1, EINVAL));
}

#[test]
fn nothing_changes_a_read_only_export() {
    let export = Export { read_only: true, ..export() };
    assert_eq!(error_of(&export, &write(0, 1, 0, &[1; 512])), EPERM);
    assert_eq!(error_of(&export, &write(0, 1, 0, &vec![1; 100_000])), EPERM);
    assert_eq!(error_of(&export, &write(0, 1, 0, &[])), EPERM);
    assert_eq!(error_of(&export, &request(0, TRIM, 1, 0, 512)), EPERM);
    assert_eq!(error_of(&export, &request(0, ZEROES, 1, 0, 512)), EPERM);
    assert_eq!(started(&export).say(&request(0, READ, 1, 0, 512))[..16], simple(1, 0));
}

#[test]
fn requests_of_no_bytes_are_done_without_the_back_end() {
    let mut server = started(&Export { cache: true, ..export() });
    server.keeps = true;
    for kind in [READ, WRITE, TRIM, CACHE, ZEROES] {
        assert_eq!(server.say(&request(0, kind, 7, DRIVE_BYTES as u64, 0)), simple(7, 0));
        assert_ne!(server.say(&request(0, kind, 7, DRIVE_BYTES as u64 + 512, 0)), simple(7, 0));
    }
    assert!(server.kept.is_empty());
    let mut server = Server::started(&export(), &structured_start());
    assert_eq!(server.say(&request(0, READ, 7, 0, 0)), chunk(true, 0, 7, &[]));
    assert_eq!(server.say(&request(0, STATUS, 7, 0, 0)), error_chunk(7, EINVAL));
}

#[test]
fn payloads_that_are_too_long() {
    let large = Export { size: 1 << 40, ..export() };
    let over = MOST_PAYLOAD + 512;
    let mut server = Server::new(&export());
    server.connection = nbd::Connection::new(&large);
    server.say(&simple_start());
    assert_eq!(server.say(&request(0, READ, 1, 0, over)), simple(1, EINVAL));
    let before = server.connection.memory_bytes();
    assert_eq!(server.say(&write(0, 2, 0, &vec![0; over as usize])), simple(2, EINVAL));
    assert_eq!(server.connection.memory_bytes(), before, "what is refused is not kept");
    assert_eq!(server.say(&request(0, FLUSH, 3, 0, 0)), simple(3, 0));
    assert_eq!(server.say(&request(0, WRITE, 4, 0, (64 << 20) + 512)), []);
    assert_eq!(server.connection.end(), Some(&End::LongWrite((64 << 20) + 512)));
    let mut server = Server::new(&export());
    server.connection = nbd::Connection::new(&large);
    server.say(&structured_start());
    assert_eq!(server.say(&request(0, READ, 1, 0, over)), error_chunk(1, EINVAL));
    assert_eq!(server.say(&request(DF, READ, 1, 0, over)), error_chunk(1, EOVERFLOW));
}

#[test]
fn a_request_that_is_none_ends_the_connection() {
    let mut server = started(&export());
    assert_eq!(server.say(&option(LIST, &[0; 12])), []);
    assert_eq!(server.connection.end(), Some(&End::RequestMagic(0x4948_4156)));
    assert!(server.connection.is_closed() && !server.connection.is_serving());
    assert!(!End::RequestMagic(0).is_orderly() && End::Disconnected.is_orderly());
}
