//! What one client, and all of them, may have under way at the target.

use crate::rig::{Client, Serving};
use crate::status::asking;
use drive::Drive;
use serve::{Pace, SimulatedDrive};
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Requests of one connection at once.
const DEPTH: u64 = 1024;

#[test]
fn a_client_has_so_many_requests_under_way_and_its_others_wait() {
    const ASKED: u64 = 1500;
    let serving = Serving::begin();
    let mut client = serving.client();
    serving.hold(true);
    client.ask_all((0..ASKED).map(|cookie| (cookie, cookie % 100 * 512, 512)));
    serving.await_count(|shared| &shared.orders, DEPTH);
    let mut other = serving.client();
    other.ask(7, 0, 512);
    serving.await_count(|shared| &shared.orders, DEPTH + 1);
    serving.hold(false);
    let mut cookies: Vec<u64> = (0..ASKED)
        .map(|_| {
            let (cookie, first) = client.answer(512);
            assert_eq!(u64::from(first), cookie % 100);
            cookie
        })
        .collect();
    cookies.sort_unstable();
    assert!(cookies.into_iter().eq(0..ASKED), "each is answered once");
    assert_eq!(other.answer(512), (7, 0));
    assert!(serving.shared.most_orders.load(Ordering::SeqCst) <= DEPTH + 1);
}

#[test]
fn clients_together_have_so_many_bytes_under_way_and_all_are_served_in_the_end() {
    const LENGTH: u32 = 4 << 20;
    /// Bytes under way at once: a request is taken while there are fewer.
    const MOST: u64 = 32 << 20;
    let serving = Serving::begin();
    let mut clients = [serving.client(), serving.client(), serving.client()];
    serving.hold(true);
    for client in &mut clients {
        (0..6).for_each(|cookie| client.ask(cookie, 0, LENGTH));
    }
    serving.await_count(|shared| &shared.bytes, MOST);
    serving.hold(false);
    for client in &mut clients {
        for cookie in 0..6 {
            assert_eq!(client.answer(LENGTH as usize), (cookie, 0));
        }
    }
    assert!(serving.shared.most_bytes.load(Ordering::SeqCst) <= MOST);
}

/// Asks a few times for `length` bytes; how long the slowest answer took.
fn slowest(client: &mut Client<UnixStream>, length: u32) -> Duration {
    let times = (0..10).map(|cookie| {
        let begun = Instant::now();
        client.ask(cookie, 0, length);
        assert_eq!(client.answer(length as usize), (cookie, 0));
        begun.elapsed()
    });
    times.max().unwrap_or_default()
}

/// How many bytes of its answers a greedy client takes each half second.
#[derive(Clone, Copy, Debug)]
enum Takes {
    Nothing,
    /// Nothing after the answer to a first, short read.
    NothingLater,
    Little(usize),
}

/// Reads and writes of another client while `count` clients ask for much and take little.
fn beside_greedy_clients(count: usize, takes: Takes) {
    let serving = Serving::begin();
    let mut greedy: Vec<_> = (0..count).map(|_| serving.client()).collect();
    if !matches!(takes, Takes::Nothing) {
        for client in &mut greedy {
            client.ask(9, 0, 4096);
            assert_eq!(client.answer(4096), (9, 0));
        }
    }
    for client in &mut greedy {
        client.ask_all((0..4).map(|cookie| (cookie, 0, 32 << 20)));
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let Takes::Little(bytes) = takes else { return };
            let mut taken = vec![0; bytes];
            for client in &greedy {
                client.stream.set_nonblocking(true).unwrap();
            }
            while !is_over.load(Ordering::SeqCst) {
                for client in &mut greedy {
                    drop(client.stream.read(&mut taken));
                }
                std::thread::sleep(Duration::from_millis(500));
            }
        });
        let mut other = serving.client();
        // The first answers are those that wait until all the others hold what they can get.
        std::thread::sleep(Duration::from_millis(500));
        let slow =
            [64 << 10, 256 << 10, 1 << 20, 8 << 20, 32 << 20].map(|length| (length, slowest(&mut other, length)));
        let begun = Instant::now();
        other.write(5, 0, &vec![0; 32 << 20]);
        let write = begun.elapsed();
        is_over.store(true, Ordering::SeqCst);
        for (length, slowest) in slow {
            assert!(slowest < Duration::from_secs(2), "{count} clients, {takes:?}: {length} bytes took {slowest:?}");
        }
        assert!(write < Duration::from_secs(2), "{count} clients, {takes:?}: a write took {write:?}");
    });
}

/// All that clients may hold was one bound, so a few of them that took no answers stopped the requests of everybody
/// else for a quarter of a minute, and many of them for minutes.
#[test]
fn clients_that_take_no_answers_keep_nobody_else_waiting() {
    beside_greedy_clients(12, Takes::Nothing);
    beside_greedy_clients(200, Takes::Nothing);
}

/// There was one place for long requests, and each client that had taken one answer before got it for as long as it
/// liked.
#[test]
fn clients_that_took_one_answer_and_then_none_keep_nobody_else_waiting() {
    beside_greedy_clients(200, Takes::NothingLater);
}

#[test]
fn clients_that_take_their_answers_slowly_keep_nobody_else_waiting() {
    beside_greedy_clients(200, Takes::Little(1));
    beside_greedy_clients(200, Takes::Little(65_536));
}

/// A client that began a long write and sent no more of it had the place of long requests.
#[test]
fn clients_that_stop_in_the_middle_of_a_long_write_keep_nobody_else_waiting() {
    let serving = Serving::begin();
    let _greedy: Vec<_> = (0..200)
        .map(|_| {
            let mut client = serving.client();
            client.ask(9, 0, 4096);
            assert_eq!(client.answer(4096), (9, 0));
            client.begin_write(1, 0, 32 << 20);
            client
        })
        .collect();
    std::thread::sleep(Duration::from_millis(200));
    let mut other = serving.client();
    let begun = Instant::now();
    other.write(5, 0, &vec![0; 32 << 20]);
    assert_eq!(slowest(&mut other, 32 << 20).as_secs(), 0);
    assert!(begun.elapsed() < Duration::from_secs(5), "they took {:?}", begun.elapsed());
}

/// Trims of gigabytes that one client gave one behind the other were all begun at once, and others waited for all of
/// them.
#[test]
fn trims_of_gigabytes_in_a_row_keep_neither_others_nor_commands_waiting() {
    const LENGTH: u32 = 4_294_963_200;
    let drive = || Drive::new("raid5", &["drive.capacity=4GiB", "drive.over_provisioning=50%"]).unwrap();
    let serving = Serving::begin_over(move || SimulatedDrive::new(drive(), Pace::Off));
    let mut trimmer = serving.client_of(4 << 30);
    let mut other = serving.client_of(4 << 30);
    trimmer.trim_all((0..32).map(|cookie| (cookie, 0, LENGTH)));
    std::thread::sleep(Duration::from_millis(100));
    let slowest = slowest(&mut other, 4096);
    assert!(slowest < Duration::from_secs(1), "a read took {slowest:?}");
    let begun = Instant::now();
    let mut controller = serving.controller();
    controller.say(b"smart\n");
    assert!(controller.answer().starts_with("{\"ok\":"));
    assert!(begun.elapsed() < Duration::from_secs(1), "a command took {:?}", begun.elapsed());
}

/// A block status looked at each page of gigabytes, cost nothing, and was answered before anybody else was heard.
#[test]
fn block_status_of_gigabytes_in_a_row_keeps_neither_others_nor_commands_waiting() {
    const COUNT: usize = 9000;
    let drive = || Drive::new("page", &["drive.capacity=4GiB"]).unwrap();
    let serving = Serving::begin_over(move || SimulatedDrive::new(drive(), Pace::Off));
    let mut asker = asking(&serving);
    let mut other = serving.client_of(4 << 30);
    let head = [&0x2560_9513_u32.to_be_bytes()[..], &[0, 0, 0, 7], &[9; 8], &[0; 8], &0xffff_f000_u32.to_be_bytes()];
    let (mut answers, requests) = (asker.try_clone().unwrap(), head.concat().repeat(COUNT));
    std::thread::spawn(move || asker.write_all(&requests));
    std::thread::spawn(move || std::io::copy(&mut answers, &mut std::io::sink()));
    std::thread::sleep(Duration::from_millis(100));
    let slowest = slowest(&mut other, 4096);
    assert!(slowest < Duration::from_millis(500), "a read took {slowest:?}");
    let begun = Instant::now();
    let mut controller = serving.controller();
    controller.say(b"smart\n");
    assert!(controller.answer().starts_with("{\"ok\":"));
    assert!(begun.elapsed() < Duration::from_millis(500), "a command took {:?}", begun.elapsed());
}
