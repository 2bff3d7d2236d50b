//! What coded striping promises: a read returns the last write, by whichever blocks it is computed.

use crate::rig::{BLOCKS, PAGES, Plan, ZONE};
use nand::{CountedFlash, TimedFlash};
use proptest::prelude::*;
use stack::Stacked;
use testing::{Host, Step, TestFlash, cases, steps};

/// Most steps fall into half of the first zone, so that pages are written often.
const NEAR: u32 = 64;

type Settings = Vec<(&'static str, &'static str)>;

fn settings() -> impl Strategy<Value = Settings> {
    let keys = [
        ("coded.code", vec!["regular-2", "mirror", "parity"]),
        ("coded.stale_codes", vec!["invalidate", "update", "reencode-idle"]),
        ("coded.decoder", vec!["peel", "gauss"]),
        ("coded.reads", vec!["lazy", "eager", "gc-aware"]),
        ("coded.queues", vec!["bank", "one"]),
        ("coded.read_ahead.after", vec!["0B", "1KiB"]),
        ("coded.offline_every", vec!["1ms", "24h"]),
        ("coded.encoding_takes_time", vec!["false", "true"]),
        ("coded.encode_rows", vec!["1", "4"]),
    ];
    keys.map(|(key, values)| prop::sample::select(values).prop_map(move |value| (key, value))).to_vec()
}

/// A drive of which every page was written, and every row encoded.
fn encoded<F: TestFlash + Stacked>(set: &[(&str, &str)]) -> Host<F> {
    let mut host: Host<F> = Plan::new(set).host();
    let all: Vec<Step> =
        (0..BLOCKS).map(|block| Step::Write { first: block * PAGES, pages: PAGES, mask: 1, fua: false }).collect();
    host.live(&all);
    host.rig.layer.prepare(&mut host.rig.flash);
    host.rig.idle();
    host
}

fn live<F: TestFlash + Stacked>(set: &[(&str, &str)], steps: &[Step]) {
    encoded::<F>(set).live(steps);
}

/// A bank is lost once code blocks are up to date: all of its blocks are computed.
fn lose_bank<F: TestFlash + Stacked>(set: &[(&str, &str)], steps: &[Step], bank: u32) {
    let mut host = encoded::<F>(set);
    // After a power cut no code block counts, and the state of a drive is kept before the first request.
    let steps: Vec<Step> =
        steps.iter().copied().filter(|step| !matches!(step, Step::Cut(_) | Step::Reload | Step::Trim { .. })).collect();
    host.live(&steps);
    host.kill(bank);
    host.read_all();
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn a_read_returns_the_last_write(set in settings(), steps in steps(NEAR, 100)) {
        live::<CountedFlash>(&set, &steps);
        live::<TimedFlash>(&set, &steps);
    }

    #[test]
    fn a_code_zone_that_is_handed_on_counts_for_nothing_until_it_is_encoded(
        set in settings(),
        steps in steps(BLOCKS * PAGES, 100),
        zones in prop::collection::vec(0..3_u32, 1..5),
    ) {
        let set: Settings = [&[("coded.code_zones", "1"), ("coded.offline_every", "1ms")], &set[..]].concat();
        let mut host = encoded::<TimedFlash>(&set);
        for zone in zones {
            let reads = (0..BLOCKS).map(|block| Step::Read { first: zone * ZONE * PAGES + block % ZONE, pages: 4 });
            host.live(&reads.collect::<Vec<_>>());
            host.live(&[Step::Pause]);
        }
        host.live(&steps);
    }

    #[test]
    fn blocks_of_a_lost_bank_are_computed_from_codes_that_are_kept_up_to_date(
        set in settings(),
        steps in steps(NEAR, 60),
        bank in 0..8_u32,
        again in prop::sample::select(vec!["update", "reencode-idle"]),
    ) {
        let set = [&set[..], &[("coded.stale_codes", again)]].concat();
        let set: Settings = set.into_iter().rev().collect();
        lose_bank::<CountedFlash>(&set, &steps, bank);
        lose_bank::<TimedFlash>(&set, &steps, bank);
    }
}
