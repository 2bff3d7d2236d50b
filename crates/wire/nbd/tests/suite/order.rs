//! Several requests at once, and the end.

use nbd::{Command, Connection, End, ErrorNumber};

use crate::client::*;

#[test]
fn answers_come_in_any_order() {
    let mut server = Server::started(&export(), &simple_start());
    server.keeps = true;
    let writes: Vec<_> = (0..8).map(|at| write(0, at, at * 4096, &[at as u8 + 1; 4096])).collect();
    let long = write(0, 8, 65536, &vec![9; 65536]);
    assert_eq!(server.say(&[writes.concat(), long, request(0, READ, 9, 0, 512)].concat()), []);
    assert_eq!(server.connection.outstanding(), 10);
    let mut expected = Vec::new();
    while let Some((request, payload)) = server.kept.pop() {
        expected.extend(simple(request.cookie, 0));
        if request.command == Command::Read {
            expected.extend(&server.drive[..512]);
        }
        server.answer(request, &payload);
    }
    assert_eq!(server.say(&[]), expected);
    assert!((0..8).all(|at| server.drive[at * 4096..(at + 1) * 4096] == [at as u8 + 1; 4096]));
    assert!(server.drive[65536..131_072].iter().all(|byte| *byte == 9));
}

#[test]
fn requests_before_a_disconnect_are_answered() {
    let mut server = Server::started(&export(), &simple_start());
    server.keeps = true;
    assert_eq!(server.say(&[request(0, FLUSH, 1, 0, 0), request(0, DISC, 0, 0, 0)].concat()), []);
    assert!(!server.connection.is_closed() && server.connection.space().is_empty());
    let (asked, _) = server.kept.pop().expect("a flush");
    server.connection.done(asked);
    assert!(!server.connection.is_closed(), "the answer is to be sent");
    assert_eq!(server.say(&[]), simple(1, 0));
    assert!(server.connection.is_closed());
}

#[test]
fn a_server_that_shuts_down_refuses_what_comes_later() {
    let mut server = Server::started(&export(), &structured_start());
    server.keeps = true;
    server.say(&request(0, FLUSH, 1, 0, 0));
    // Half of a long write is there.
    let long = write(0, 2, 0, &vec![0; 65536]);
    server.say(&long[..40000]);
    server.connection.shut_down();
    assert_eq!(server.say(&long[40000..]), simple(2, ESHUTDOWN));
    assert_eq!(server.say(&request(0, READ, 3, 0, 512)), error_chunk(3, ESHUTDOWN));
    assert_eq!(server.say(&write(0, 4, 0, &[0; 512])), simple(4, ESHUTDOWN));
    assert_eq!((server.kept.len(), server.connection.is_closed()), (1, false));
    let (asked, _) = server.kept.pop().expect("a flush");
    server.connection.done(asked);
    assert_eq!(server.say(&[]), simple(1, 0));
    assert!(server.connection.is_closed());
    assert_eq!(server.connection.end(), Some(&End::ShutDown));
}

#[test]
fn shutting_down_with_nothing_to_answer_closes_at_once() {
    for start in [vec![], flags(3), simple_start()] {
        let mut server = Server::started(&export(), &start);
        server.connection.shut_down();
        server.connection.shut_down();
        assert!(server.connection.is_closed());
        assert_eq!(server.connection.end(), Some(&End::ShutDown));
    }
}

#[test]
fn a_client_that_hangs_up() {
    let mut server = Server::started(&export(), &simple_start());
    server.keeps = true;
    server.say(&request(0, FLUSH, 1, 0, 0));
    server.say(&request(0, FLUSH, 1, 0, 0)[..20]);
    server.connection.hung_up();
    assert_eq!((server.connection.end(), server.connection.is_closed()), (Some(&End::HungUp), false));
    let (asked, _) = server.kept.pop().expect("a flush");
    server.connection.failed(asked, ErrorNumber::Io);
    server.say(&[]);
    assert!(server.connection.is_closed());
    let mut server = Server::started(&export(), &[simple_start(), request(0, DISC, 1, 0, 0)].concat());
    server.connection.hung_up();
    assert_eq!(server.connection.end(), Some(&End::Disconnected));
}

#[test]
fn a_client_that_does_not_read_is_not_served() {
    let mut connection = Connection::new(&export());
    let (mut reads, read) = (0, request(0, READ, 1, 0, 65536));
    let mut bytes = simple_start();
    bytes.extend(read.repeat(100_000));
    let mut bytes = bytes.as_slice();
    loop {
        let space = connection.space();
        let count = space.len().min(bytes.len());
        if count == 0 {
            break;
        }
        space[..count].copy_from_slice(&bytes[..count]);
        bytes = &bytes[count..];
        connection.filled(count);
        while let Some(request) = connection.next_request() {
            connection.read(request, |_| Ok(()));
            reads += 1;
        }
    }
    assert!(!bytes.is_empty() && reads < 20, "{reads} reads");
    assert!(connection.memory_bytes() < 8 << 20, "{} bytes", connection.memory_bytes());
    // Reading helps.
    connection.taken(connection.output().len());
    let request = connection.next_request().expect("one more");
    connection.failed(request, ErrorNumber::Io);
}

#[test]
fn buffers_of_writes_are_used_again() {
    let mut server = Server::started(&export(), &simple_start());
    let mut buffers: Vec<_> = (0..3).map(|_| Vec::with_capacity(65536)).collect();
    // Those three, and the one that the first long write gives the connection.
    let mut addresses = std::collections::BTreeSet::new();
    for round in 0..12_usize {
        let data = vec![round as u8; [65536, 65024, 4096, 40960][round % 4]];
        let bytes = write(0, 1, 0, &data);
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let space = server.connection.space();
            let count = space.len().min(rest.len());
            space[..count].copy_from_slice(&rest[..count]);
            server.connection.filled(count);
            rest = &rest[count..];
            while let Some(request) = server.connection.next_request() {
                assert_eq!(server.connection.payload(), data);
                let mut buffer = buffers.remove(0);
                server.connection.take_payload(&mut buffer);
                assert_eq!((&buffer, server.connection.payload()), (&data, &[][..]));
                addresses.insert(buffer.as_ptr());
                buffers.push(buffer);
                server.connection.done(request);
            }
        }
    }
    assert_eq!(addresses.len(), 4);
    assert_eq!(server.say(&[]).len(), 12 * 16);
}

#[test]
#[should_panic(expected = "answered with what it asks for")]
fn a_read_is_not_just_done() {
    let mut server = Server::started(&export(), &simple_start());
    server.keeps = true;
    server.say(&request(0, READ, 1, 0, 512));
    let (asked, _) = server.kept.pop().expect("a read");
    server.connection.done(asked);
}
