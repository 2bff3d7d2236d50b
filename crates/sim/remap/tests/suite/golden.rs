//! Commands of each driver, byte for byte.

use crate::cuts::run;
use remap::HOST_DRIVERS;

/// A digest that changes says that what a driver writes, or when it does, has changed: its formats among it.
#[test]
fn drivers_send_the_commands_that_they_always_sent() {
    let digests = HOST_DRIVERS.iter().map(|entry| {
        let runs = (0..150).map(|seed| run(entry, 3_000_000 + seed, [0.0, 0.0, 0.05][seed as usize % 3]).1);
        (entry.name, runs.fold(0, |all: u32, digest| all.rotate_left(5) ^ digest))
    });
    let digests: Vec<(&str, u32)> = digests.collect();
    assert_eq!(digests, [("hard", 1_984_124_298), ("log-cache", 2_752_668_507)]);
}
