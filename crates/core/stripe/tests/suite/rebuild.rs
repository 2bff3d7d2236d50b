//! Dies that fail, spares that take their place, and power cuts.

use crate::rig::Rig;

const WITH_PARITY: [&str; 7] = ["raid4", "raid5", "raid5-fpc", "raid5-ppc", "raid6", "raid6-ppc", "raid-elastic"];

/// Kinds that keep each page on its chip, and bring what a lost one held to a spare.
const REBUILT: [&str; 6] = ["raid4", "raid5", "raid5-fpc", "raid5-ppc", "raid6", "raid6-ppc"];

fn parities(kind: &str) -> u32 {
    if kind.starts_with("raid6") { 2 } else { 1 }
}

#[test]
fn as_many_dies_as_parities_may_fail_and_every_page_is_still_read() {
    for kind in WITH_PARITY {
        for die in 0..5 {
            let mut rig = Rig::new(kind, &[]);
            rig.live(u64::from(die), 40);
            (0..parities(kind)).for_each(|more| rig.kill((die + more) % (4 + parities(kind))));
            assert_eq!(rig.unreadable(), [], "{kind}: die {die}");
        }
    }
}

#[test]
fn pages_written_while_a_die_is_missing_are_read_back() {
    for kind in REBUILT {
        for die in 0..5 {
            let mut rig = Rig::new(kind, &[]);
            rig.live(u64::from(die), 20);
            rig.kill(die);
            rig.live(u64::from(die) + 100, 40);
            assert_eq!(rig.unreadable(), [], "{kind}: die {die}");
            assert_eq!((rig.counter("dies_lost"), rig.counter("dies_missing")), (1, 1));
        }
    }
}

#[test]
fn one_die_more_than_parities_makes_errors_and_no_wrong_data() {
    for (kind, dies) in [("raid0", 1), ("raid5", 2), ("raid6", 3)] {
        let mut rig = Rig::new(kind, &[]);
        rig.live(1, 60);
        (0..dies).for_each(|die| rig.kill(die));
        assert_ne!(rig.unreadable(), [], "{kind}");
    }
}

#[test]
fn a_spare_takes_the_place_of_a_die_and_then_another_may_fail() {
    for kind in REBUILT {
        let mut rig = Rig::new(kind, &[("stripe.spares", "1")]);
        rig.live(5, 60);
        rig.kill(1);
        rig.idle();
        let rebuilt = (rig.counter("stripes_to_rebuild"), rig.counter("stripes_rebuilt"), rig.counter("dies_missing"));
        assert_eq!(rebuilt, (0, u64::from(rig.layout().stripes()), 0), "{kind}");
        (0..parities(kind)).for_each(|more| rig.kill(2 + more));
        assert_eq!(rig.unreadable(), [], "{kind}: all stripes were whole");
    }
}

#[test]
fn a_power_cut_loses_nothing_that_flash_and_lasting_memory_hold() {
    for kind in WITH_PARITY.into_iter().chain(["raid0"]) {
        let mut rig = Rig::new(kind, &[]);
        for seed in 0..20 {
            rig.live(seed, 20);
            rig.flush_and_cut_power();
            assert_eq!(rig.unreadable(), [], "{kind}, seed {seed}");
        }
    }
}

#[test]
fn a_die_may_fail_after_a_power_cut_although_parities_were_delayed() {
    for kind in ["raid5-fpc", "raid5-ppc", "raid6-ppc"] {
        for die in 0..5 {
            let mut rig = Rig::new(kind, &[]);
            rig.live(u64::from(die), 30);
            assert!(rig.counter("stripes_delayed") > 0);
            rig.flush_and_cut_power();
            rig.kill(die);
            assert_eq!(rig.unreadable(), [], "{kind}: die {die}");
        }
    }
}

#[test]
fn a_stripe_whose_parity_was_lost_with_its_memory_is_mended_after_the_cut() {
    for kind in ["raid5", "raid5-ppc", "raid6"] {
        let mut rig = Rig::new(kind, &[]);
        rig.live(2, 60);
        rig.flush_and_cut_power();
        rig.idle();
        assert_eq!(rig.counter("stripes_to_repair"), 0, "{kind}");
        rig.live(3, 30);
        assert_eq!(rig.unreadable(), [], "{kind}");
    }
}

/// A page that flash has lost is healed; then power is cut.
fn heal_and_cut_power(kind: &str, is_reloaded: bool) {
    let mut rig = Rig::new(kind, &[]);
    rig.live(2, 60);
    rig.idle();
    if is_reloaded {
        rig.reload();
    }
    let page = rig.held.iter().position(|stamp| *stamp > 0).expect("something was written");
    rig.lose(page as u32);
    assert_eq!((rig.unreadable(), rig.counter("pages_healed")), (Vec::new(), 1), "{kind}");
    rig.flush_and_cut_power();
    assert_eq!((rig.unreadable(), rig.counter("pages_healed")), (Vec::new(), 0), "{kind}: it was healed before");
}

#[test]
fn a_page_healed_stays_healed_after_a_power_cut() {
    for kind in REBUILT {
        heal_and_cut_power(kind, false);
    }
}

#[test]
fn a_page_healed_after_a_reload_stays_healed_after_a_power_cut() {
    for kind in REBUILT {
        heal_and_cut_power(kind, true);
    }
}

#[test]
fn a_die_rebuilt_after_a_reload_is_as_old_as_its_parity() {
    for kind in REBUILT {
        let mut rig = Rig::new(kind, &[("stripe.spares", "1")]);
        rig.live(5, 60);
        rig.idle();
        rig.reload();
        rig.kill(1);
        rig.idle();
        rig.flush_and_cut_power();
        assert_eq!(rig.counter("stripes_to_repair"), 0, "{kind}: every stripe is whole");
        (0..parities(kind)).for_each(|more| rig.kill(2 + more));
        assert_eq!(rig.unreadable(), [], "{kind}");
    }
}

#[test]
fn a_drive_that_has_lost_dies_goes_on_after_a_reload() {
    for kind in WITH_PARITY {
        for spares in ["0", "1"] {
            let mut rig = Rig::new(kind, &[("stripe.spares", spares)]);
            rig.live(3, 30);
            for die in 0..parities(kind) {
                rig.kill(die * 2 + 1);
                rig.idle();
                rig.reload();
                rig.live(u64::from(die) + 100, 40);
                assert_eq!(rig.unreadable(), [], "{kind} with {spares} spares: die {die}");
                assert_eq!(rig.counter("dies_lost"), u64::from(die) + 1, "{kind} with {spares} spares");
            }
        }
    }
}
