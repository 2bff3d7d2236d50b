//! What one client, and all of them, may have under way at the target.

use crate::rig::Serving;
use std::sync::atomic::Ordering;

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
