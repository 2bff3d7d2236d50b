//! What one client, and all of them, may have under way at the target.

use crate::rig::{Client, Serving};
use drive::Drive;
use serve::{Pace, SimulatedDrive};
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
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

/// All that clients may hold was one bound, so a few of them that took no answers stopped the requests of everybody
/// else for a quarter of a minute, and many of them for minutes.
#[test]
fn clients_that_take_no_answers_keep_nobody_else_waiting() {
    for count in [12, 200] {
        let serving = Serving::begin();
        let greedy: Vec<_> = (0..count)
            .map(|_| {
                let mut client = serving.client();
                client.ask_all((0..8).map(|cookie| (cookie, 0, 8 << 20)));
                client
            })
            .collect();
        let mut other = serving.client();
        // The first answers are those that wait until all the others hold what they can get.
        std::thread::sleep(Duration::from_millis(500));
        for length in [64 << 10, 256 << 10, 8 << 20] {
            let slowest = slowest(&mut other, length);
            assert!(slowest < Duration::from_secs(2), "{count} clients: {length} bytes took {slowest:?}");
        }
        drop(greedy);
    }
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
