//! Requests of all kinds, and their answers.

use crate::rig::{BYTES, DISCARD, DONE, FAILED, FLUSH, NAME, READ, Serving, UNSUPPORTED, WRITE, ZEROES};
use serve::Pace;
use std::time::{Duration, Instant};

fn range(sector: u64, sectors: u32, flags: u32) -> Vec<u8> {
    [&sector.to_le_bytes()[..], &sectors.to_le_bytes(), &flags.to_le_bytes()].concat()
}

#[test]
fn data_of_one_ring_is_read_in_another_and_cleared_as_asked() {
    let serving = Serving::drive();
    let mut driver = serving.driver();
    assert_eq!(driver.configuration()[..8], (BYTES / 512).to_le_bytes());
    assert_eq!(driver.done(0, WRITE, 8, &[7; 16384], 0), (DONE, vec![]));
    assert_eq!(driver.done(1, READ, 16, &[], 4096), (DONE, vec![7; 4096]));
    assert_eq!(driver.done(1, FLUSH, 0, &[], 0), (DONE, vec![]));
    assert_eq!(driver.done(0, DISCARD, 0, &range(8, 8, 0), 0), (DONE, vec![]));
    assert_eq!(driver.done(0, READ, 8, &[], 8192), (DONE, [[0; 4096], [7; 4096]].concat()));
    assert_eq!(driver.done(0, ZEROES, 0, &range(16, 1, 0), 0), (DONE, vec![]));
    assert_eq!(driver.done(0, ZEROES, 0, &range(24, 8, 1), 0), (DONE, vec![]));
    let kept = driver.done(1, READ, 16, &[], 12288).1;
    assert!(kept[..512] == [0; 512] && kept[512..4096] == [7; 3584] && kept[4096..8192] == [0; 4096], "{kept:?}");
    assert_eq!(kept[8192..], [7; 4096]);
    assert_eq!(driver.done(1, NAME, 0, &[], 20), (DONE, [&b"toy"[..], &[0; 17]].concat()));
    let smart = serving.command("smart");
    assert!(smart.contains("ok"), "{smart}");
}

#[test]
fn requests_that_make_no_sense_fail_alone() {
    let serving = Serving::drive();
    let mut driver = serving.driver();
    let end = BYTES / 512;
    for (kind, sector, data, room, status) in [
        (READ, end - 1, &[][..], 1024, FAILED),
        (READ, u64::MAX / 4, &[], 512, FAILED),
        (READ, 0, &[], 100, FAILED),
        (WRITE, end, &[1; 512], 0, FAILED),
        (DISCARD, 0, &range(0, 1 << 31, 0), 0, FAILED),
        (DISCARD, 0, &[range(0, 1, 0), range(8, 1, 0)].concat(), 0, FAILED),
        (DISCARD, 0, &range(0, 8, 1), 0, UNSUPPORTED),
        (ZEROES, 0, &[1; 3], 0, FAILED),
        (99, 0, &[], 0, UNSUPPORTED),
        (READ, 0, &[], 0, DONE),
    ] {
        assert_eq!(driver.done(0, kind, sector, data, room).0, status, "{kind} at {sector}, {data:?}");
    }
    assert_eq!(driver.done(0, WRITE, end - 1, &[3; 512], 0).0, DONE);
    assert_eq!(driver.done(0, READ, end - 1, &[], 512), (DONE, vec![3; 512]));
}

#[test]
fn a_request_beyond_the_memory_is_given_back_and_the_ring_goes_on() {
    let serving = Serving::drive();
    let mut driver = serving.driver();
    driver.ask_beyond(0);
    assert!(driver.answer(0).2.is_empty());
    assert_eq!(driver.done(0, WRITE, 0, &[1; 512], 0).0, DONE);
    assert_eq!(driver.done(0, READ, 0, &[], 512), (DONE, vec![1; 512]));
}

/// A driver that waits for an answer would wait for ever.
#[test]
fn requests_without_power_fail_and_the_disk_is_there_when_power_is_back() {
    let serving = Serving::drive();
    let mut driver = serving.driver();
    assert_eq!(driver.done(0, WRITE, 0, &[5; 4096], 0).0, DONE);
    assert_eq!(driver.done(0, FLUSH, 0, &[], 0).0, DONE);
    assert!(serving.command("power-off").contains("ok"));
    assert_eq!(driver.done(0, READ, 0, &[], 512).0, FAILED);
    assert!(serving.command("power-on").contains("ok"));
    assert_eq!(driver.done(0, READ, 0, &[], 512), (DONE, vec![5; 512]));
}

#[test]
fn requests_under_way_together_are_answered_each() {
    let serving = Serving::toy();
    let mut driver = serving.driver();
    serving.hold(true);
    let asked: Vec<u16> = (0..5).map(|number| driver.ask(0, WRITE, number, &[number as u8; 512], 0)).collect();
    driver.ask(1, READ, 0, &[], 512);
    serving.await_request();
    serving.hold(false);
    let answered: Vec<(u16, u8)> = (0..5).map(|_| driver.answer(0)).map(|(slot, status, _)| (slot, status)).collect();
    assert_eq!(answered, asked.into_iter().map(|slot| (slot, DONE)).collect::<Vec<_>>());
    assert_eq!(driver.answer(1).1, DONE);
    assert_eq!(driver.done(1, READ, 4, &[], 512), (DONE, vec![4; 512]));
}

/// The index of a ring jumped by more than its size, and the server turned for ever.
#[test]
fn a_ring_whose_index_makes_no_sense_is_left_alone_and_the_others_are_served() {
    let serving = Serving::drive();
    let mut driver = serving.driver();
    driver.offer(0, 0, 300);
    assert_eq!(driver.done(1, WRITE, 0, &[1; 512], 0).0, DONE);
    driver.ask(0, READ, 0, &[], 512);
    assert_eq!(driver.done(1, READ, 0, &[], 512), (DONE, vec![1; 512]));
    assert_eq!(driver.answered(0), 0);
}

/// A program of a page takes 200 µs of the drive.
#[test]
fn requests_take_the_time_of_a_drive_that_is_a_hundred_times_as_slow() {
    let serving = Serving::paced(Pace::Scaled(100.0));
    let mut driver = serving.driver();
    let begun = Instant::now();
    assert_eq!(driver.done(0, WRITE, 0, &[5; 4096], 0).0, DONE);
    let passed = begun.elapsed();
    assert!(passed >= Duration::from_millis(20), "{passed:?}");
}
