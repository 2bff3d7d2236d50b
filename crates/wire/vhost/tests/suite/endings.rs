//! Rings that stop, virtual machines that leave, servers that end.

use crate::rig::{DONE, READ, Serving, WRITE};
use std::time::Duration;
use vhost::VhostBackend;

/// The answer would have come into memory that the driver uses for something else by then.
#[test]
fn a_ring_stops_when_its_last_request_is_answered() {
    let serving = Serving::toy();
    let mut driver = serving.driver();
    serving.hold(true);
    driver.ask(0, READ, 0, &[], 512);
    serving.await_request();
    std::thread::scope(|scope| {
        let stopped = scope.spawn(|| {
            let base = driver.frontend.get_vring_base(0).unwrap();
            (base, driver.answered(0))
        });
        std::thread::sleep(Duration::from_millis(50));
        assert!(!stopped.is_finished(), "it stopped with a request under way");
        serving.hold(false);
        assert_eq!(stopped.join().unwrap(), (1, 1));
    });
    assert_eq!(driver.answer(0).1, DONE);
}

#[test]
fn a_virtual_machine_that_left_with_requests_under_way_makes_place_for_the_next_one() {
    let serving = Serving::toy();
    let mut driver = serving.driver();
    serving.hold(true);
    driver.ask(0, WRITE, 0, &[9; 512], 0);
    serving.await_request();
    drop(driver);
    let mut next = serving.driver();
    next.ask(0, READ, 0, &[], 512);
    serving.hold(false);
    let (_, status, bytes) = next.answer(0);
    assert_eq!((status, bytes), (DONE, vec![9; 512]));
}

#[test]
fn a_server_ends_with_its_virtual_machine_connected_and_leaves_no_socket() {
    let serving = Serving::drive();
    let mut driver = serving.driver();
    assert_eq!(driver.done(0, WRITE, 0, &[9; 512], 0).0, DONE);
    let folder = serving.end();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    assert!(driver.frontend.get_features().is_err(), "it was hung up on");
}

#[test]
fn a_server_ends_that_no_virtual_machine_connected_to() {
    let folder = Serving::drive().end();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
