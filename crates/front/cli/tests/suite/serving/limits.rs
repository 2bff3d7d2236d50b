//! Much of everything, and nonsense.

use super::{Serving, small, succeeds};
use std::process::Command;
use std::time::Duration;

#[test]
fn a_large_export_takes_memory_for_what_was_written() {
    let serving = Serving::begin(&["serve", "--quiet", "--set", "drive.capacity=64GiB"]);
    succeeds(
        "nbdsh",
        &[
            "-u",
            &serving.uri(),
            "-c",
            "for at in range(64): h.pwrite(b'x' * 4096, at << 30)",
            "-c",
            "assert h.pread(4096, 63 << 30) == b'x' * 4096",
        ],
    );
    let kib = serving.resident_kib();
    assert!(kib < 1 << 20, "{kib} KiB are resident for 64 pages of a 64 GiB drive");
    serving.end();
}

/// A client of some bytes a request could ask for gigabytes.
#[test]
fn a_client_that_asks_for_much_and_takes_nothing_costs_little_memory() {
    use std::io::{Read as _, Write as _};
    let serving = Serving::begin(&small(&[]));
    let mut greedy = std::os::unix::net::UnixStream::connect(serving.path("s")).unwrap();
    greedy.write_all(b"\0\0\0\x03IHAVEOPT\0\0\0\x01\0\0\0\0").unwrap();
    let mut welcome = [0; 28];
    greedy.read_exact(&mut welcome).unwrap();
    for cookie in 0..2000_u64 {
        let request = [
            &b"\x25\x60\x95\x13\0\0\0\0"[..],
            &cookie.to_be_bytes(),
            &0_u64.to_be_bytes(),
            &(32_u32 << 20).to_be_bytes(),
        ]
        .concat();
        greedy.write_all(&request).unwrap();
    }
    // Others are served meanwhile.
    succeeds(
        "nbdsh",
        &["-u", &serving.uri(), "-c", "h.pwrite(b'x' * 4096, 0)", "-c", "assert h.pread(4096, 0) == b'x' * 4096"],
    );
    let kib = serving.resident_kib();
    assert!(kib < 600 << 10, "{kib} KiB are resident");
    drop(greedy);
    succeeds("nbdinfo", &[&serving.uri()]);
    serving.end();
}

#[test]
fn bytes_that_are_no_conversation_end_their_connection_alone() {
    use std::io::{Read as _, Write as _};
    let serving = Serving::begin(&small(&[]));
    for bytes in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[0xff; 5000],
        b"\0\0\0\x03IHAVEOPT\0\0\0\x07\xff\xff\xff\xff",
        b"\0\0\0\x03IHAVEOPT\0\0\0\x01\0\0\0\0\x25\x60\x95\x14aaaaaaaaaaaaaaaaaaaaaaaa",
    ] {
        let mut client = std::os::unix::net::UnixStream::connect(serving.path("s")).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let _ = client.write_all(bytes);
        let _ = client.shutdown(std::net::Shutdown::Write);
        let mut said = Vec::new();
        let _ = client.read_to_end(&mut said);
        assert!(said.starts_with(b"NBDMAGICIHAVEOPT"));
    }
    succeeds("nbdinfo", &[&serving.uri()]);
    serving.end();
}

/// Whoever came when no descriptor was left was never served, not even after others had left.
#[test]
fn clients_beyond_the_descriptor_limit_are_served_when_others_leave() {
    use std::io::Read as _;
    use std::os::unix::net::UnixStream;
    let mut limited = Command::new("bash");
    limited
        .args(["-c", "ulimit -n 24; exec \"$0\" \"$@\""])
        .arg(assert_cmd::cargo::cargo_bin("nandarium"))
        .args(small(&[]));
    let serving = Serving::begin_with(tempfile::tempdir().unwrap(), limited);
    let connect = |name: &str| {
        let stream = UnixStream::connect(serving.path(name)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream
    };
    let early: Vec<_> = (0..30).map(|_| connect("s")).collect();
    let (mut late, mut commands) = (connect("s"), connect("s.ctl"));
    drop(early);
    let mut welcome = [0; 18];
    late.read_exact(&mut welcome).unwrap();
    std::io::Write::write_all(&mut commands, b"smart\n").unwrap();
    let mut answer = [0; 6];
    commands.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"{\"ok\":");
    serving.end();
}

/// Answers that nobody takes were kept without end.
#[test]
fn who_gives_commands_and_takes_no_answers_is_not_heard_any_more() {
    use std::io::{ErrorKind, Write as _};
    let serving = Serving::begin(&small(&[]));
    let before = serving.resident_kib();
    let mut greedy = std::os::unix::net::UnixStream::connect(serving.path("s.ctl")).unwrap();
    greedy.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    let commands = b"smart\n".repeat(10_000);
    let refused = (0..100).find_map(|_| greedy.write_all(&commands).err());
    assert_eq!(refused.map(|error| error.kind()), Some(ErrorKind::WouldBlock), "six megabytes of commands were heard");
    assert!(serving.ctl(&["smart"]).contains("power_on"));
    let grown = serving.resident_kib() - before;
    assert!(grown < 8 << 10, "{grown} KiB more");
    drop(greedy);
    serving.end();
}

/// Each refused write stayed in the drive, and gigabytes of them in memory.
#[test]
fn writes_that_are_refused_leave_nothing_behind() {
    let serving = Serving::begin(&small(&[]));
    serving.ctl(&["fault", "programs", "100%"]);
    let script = |count: u32| {
        format!(
            "refused = 0\nfor turn in range({count}):\n    try: h.pwrite(b'x' * 65536, turn % 100 * 65536)\n    except \
             nbd.Error as error:\n        \
             assert error.errno == 'ENOSPC', error\n        refused += 1\nassert refused > {count} // 2, refused"
        )
    };
    succeeds("nbdsh", &["-u", &serving.uri(), "-c", &script(1000)]);
    let before = serving.resident_kib();
    succeeds("nbdsh", &["-u", &serving.uri(), "-c", &script(2000)]);
    let grown = serving.resident_kib().saturating_sub(before);
    assert!(grown < 16 << 10, "{grown} KiB more after 128 MiB of writes that were refused");
    serving.kill();
}

/// The end was read over together with the bytes before it, and their descriptors and memory stayed for good.
#[test]
fn clients_that_close_in_the_middle_of_a_message_leave_no_descriptor_behind() {
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;
    let serving = Serving::begin(&small(&[]));
    succeeds("nbdinfo", &[&serving.uri()]);
    let before = serving.descriptors();
    // A greeting and less than a request; the second way gives the server time to read in between.
    for (number, sent) in [&b"\0\0\0\x03IHAVE"[..], b"\0\0\0\x03IHAVEOPT\0\0\0\x01\0\0\0\0\x25\x60\x95\x13"]
        .iter()
        .cycle()
        .take(300)
        .enumerate()
    {
        let mut client = UnixStream::connect(serving.path("s")).unwrap();
        client.write_all(&sent[..3]).unwrap();
        if number % 10 == 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
        client.write_all(&sent[3..]).unwrap();
    }
    for command in (0..100).map(|number| &b"smart\nstats"[..number % 11]) {
        UnixStream::connect(serving.path("s.ctl")).unwrap().write_all(command).unwrap();
    }
    succeeds("nbdinfo", &[&serving.uri()]);
    let begun = std::time::Instant::now();
    while serving.descriptors() > before {
        assert!(begun.elapsed() < Duration::from_secs(5), "{} descriptors, {before} before", serving.descriptors());
        std::thread::sleep(Duration::from_millis(20));
    }
    serving.end();
}

/// Each client had bounds of its own, and many of them no bound at all.
#[test]
fn half_messages_and_answers_not_taken_have_one_bound_over_all_clients() {
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixStream;
    let serving = Serving::begin(&small(&[]));
    let hello = || {
        let mut client = UnixStream::connect(serving.path("s")).unwrap();
        client.write_all(b"\0\0\0\x03IHAVEOPT\0\0\0\x01\0\0\0\0").unwrap();
        client.read_exact(&mut [0; 28]).unwrap();
        client.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
        client
    };
    let request =
        |kind: u8, length: u32| [&b"\x25\x60\x95\x13\0\0\0"[..], &[kind], &[0; 16], &length.to_be_bytes()].concat();
    // Half a write each, and reads that nobody takes.
    let half = vec![b'x'; 24 << 20];
    let mut clients: Vec<UnixStream> = Vec::new();
    for number in 0..24 {
        let mut client = hello();
        client.write_all(&request(u8::from(number % 2 == 0), 32 << 20)).unwrap();
        if number % 2 == 0 {
            let _ = client.write_all(&half);
        }
        clients.push(client);
    }
    // Short requests are served all the while, long ones as soon as those who do not move are gone.
    succeeds(
        "nbdsh",
        &["-u", &serving.uri(), "-c", "h.pwrite(b'x' * 4096, 0)", "-c", "assert h.pread(4096, 0) == b'x' * 4096"],
    );
    // The bound is 256 MiB. A message that was let in just below it, the answer that grows beside it and what the
    // allocator has not given back come on top, more of it on a busy machine. Without a bound it is over 1000 MiB.
    let kib = serving.resident_kib();
    assert!(kib < 512 << 10, "{kib} KiB are resident");
    succeeds(
        "nbdsh",
        &[
            "-u",
            &serving.uri(),
            "-c",
            "h.pwrite(b'x' * (8 << 20), 0)",
            "-c",
            "assert h.pread(8 << 20, 0) == b'x' * (8 << 20)",
        ],
    );
    drop(clients);
    serving.end();
}

#[test]
#[cfg(target_os = "linux")]
fn bytes_for_a_virtual_machine_that_are_no_conversation_end_their_connection_alone() {
    use std::io::{Read as _, Write as _};
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("vm");
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("nandarium"));
    command.args(small(&[])).arg("--vhost-user").arg(&socket);
    let serving = Serving::begin_with(folder, command);
    for bytes in [&b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"[..], &[0xff; 5000]] {
        let mut client = std::os::unix::net::UnixStream::connect(&socket).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let _ = client.write_all(bytes);
        assert!(!matches!(client.read(&mut [0; 16]), Ok(1..)), "it was answered");
    }
    let mut half = std::os::unix::net::UnixStream::connect(&socket).unwrap();
    half.write_all(&[1, 0, 0]).unwrap();
    assert!(serving.ctl(&["smart"]).contains("power_on"));
    serving.end();
    assert!(!socket.exists(), "the socket stays behind");
}
