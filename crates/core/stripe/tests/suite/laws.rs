//! What every kind of stripes promises: a read returns the last write, whatever loses power, and whichever die is lost.

use crate::rig::{PAGES, Plan};
use nand::{CountedFlash, TimedFlash};
use proptest::prelude::*;
use stack::Stacked;
use stripe::stripe_names;
use testing::{Host, Step, TestFlash, cases, steps};

/// Chips that a kind can lose.
fn parities(kind: &str) -> u32 {
    match kind {
        "raid0" | "fra" => 0,
        kind if kind.starts_with("raid6") => 2,
        _ => 1,
    }
}

/// Keys that change what a stripe does.
fn settings() -> impl Strategy<Value = Vec<(&'static str, &'static str)>> {
    let keys = [
        ("stripe.granularity", vec!["page", "block"]),
        ("stripe.reads", vec!["direct", "lazy", "gc-aware"]),
        ("stripe.in_flight", vec!["1", "2", "4"]),
        ("stripe.cache.entries", vec!["1", "2", "5"]),
    ];
    keys.map(|(key, values)| prop::sample::select(values).prop_map(move |value| (key, value))).to_vec()
}

fn live<F: TestFlash + Stacked>(kind: &str, set: &[(&str, &str)], lives: &[Vec<Step>]) {
    let mut host: Host<F> = Plan::new(kind, set).host();
    host.live(&lives[0]);
    for (die, steps) in (0..parities(kind)).zip(&lives[1..]) {
        // What a power cut tore is mended before a die may be lost.
        host.kill(die * 2 + 1);
        host.live(steps);
    }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn a_read_returns_the_last_write_although_dies_are_lost(
        set in settings(),
        lives in prop::collection::vec(steps(PAGES, 80), 3),
    ) {
        for kind in stripe_names().into_iter().filter(|kind| !["none", "coded"].contains(kind)) {
            println!("{kind} with {PAGES} pages on {set:?}");
            live::<CountedFlash>(kind, &set, &lives);
            live::<TimedFlash>(kind, &set, &lives);
        }
    }
}
