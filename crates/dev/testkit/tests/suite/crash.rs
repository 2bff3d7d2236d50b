//! The crash campaign in the size that runs with every `cargo test`; `make crash` runs the real one.

use buffer::buffer_names;
use ftl::mapping::mapping_names;
use stripe::stripe_names;
use testkit::crash::{Campaign, Tally};
use testkit::{Faults, Layers};

/// `CRASH_CUTS` and `CRASH_SEED` enlarge or move a campaign.
fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.replace('_', "").parse().ok()).unwrap_or(default)
}

fn run(campaign: Campaign) -> Tally {
    campaign.run(|_| {}).unwrap_or_else(|failure| panic!("{failure}"))
}

#[test]
fn no_cut_loses_an_acknowledged_version_and_every_drive_goes_on() {
    let tally = run(Campaign::new(from_environment("CRASH_CUTS", 400_000), from_environment("CRASH_SEED", 1)));
    assert!(tally.restarts > tally.cuts / 200, "life must go on from many cuts: {tally:?}");
    assert!(tally.read_through > tally.cuts / 100, "many cuts are read by requests: {tally:?}");
    assert!(tally.erases > tally.lives * 50, "blocks must be reclaimed many times: {tally:?}");
}

#[test]
fn cuts_and_failing_programs_and_erases_together_lose_nothing() {
    let cuts = from_environment("CRASH_CUTS", 200_000);
    let campaign = Campaign { faults: Faults::Rare, ..Campaign::new(cuts, from_environment("CRASH_SEED", 1)) };
    let tally = run(campaign);
    assert!(tally.worn_out * 4 < tally.lives, "most drives outlive their faults: {tally:?}");
}

#[test]
fn every_buffer_over_every_mapping_outlives_power_cuts() {
    for (faults, seed) in [(Faults::None, 3), (Faults::Rare, 4)] {
        for buffer in buffer_names() {
            for mapping in mapping_names() {
                let layers =
                    Layers { mapping: Some(mapping), buffer: Some(buffer), stripe: Some("none"), ..Layers::default() };
                let tally = run(Campaign { faults, layers, cuts_per_life: 500, ..Campaign::new(1500, seed) });
                assert!(tally.cuts >= 1500 && tally.lives >= 3, "{buffer} over {mapping}: {tally:?}");
            }
        }
    }
}

#[test]
fn every_stripe_scheme_outlives_power_cuts() {
    for (faults, seed) in [(Faults::None, 5), (Faults::Rare, 6)] {
        for stripe in stripe_names() {
            for buffer in ["none", "two-level"] {
                let layers = Layers { buffer: Some(buffer), ..Layers::stripe(stripe) };
                let tally = run(Campaign { faults, layers, cuts_per_life: 1000, ..Campaign::new(8000, seed) });
                assert!(tally.cuts >= 8000 && tally.lives >= 8, "{buffer} over {stripe}: {tally:?}");
            }
        }
    }
}

/// Seeds that once stood still: a flush waited for a program that had failed and was placed into one that is not full.
#[test]
fn memory_that_forgets_outlives_power_cuts_and_faults() {
    for (faults, seeds) in [(Faults::None, vec![7]), (Faults::Rare, vec![8, 312, 3357, 3391, 3578, 3659])] {
        for seed in seeds {
            let layers = Layers { forgetful: true, ..Layers::mapping("page") };
            run(Campaign { faults, layers, ..Campaign::new(4000, seed) });
        }
    }
}

#[test]
fn dies_that_die_between_power_cuts_take_nothing_along() {
    let cuts = from_environment("CRASH_CUTS", 100_000);
    let campaign = Campaign { faults: Faults::Deaths, ..Campaign::new(cuts, from_environment("CRASH_SEED", 1)) };
    let tally = run(campaign);
    assert!(tally.restarts > tally.cuts / 200, "life must go on from many cuts: {tally:?}");
}

/// Lives in which something was lost, by what had been lost.
#[test]
fn dies_and_power_cuts_that_once_lost_something() {
    for (what, seeds) in [
        (
            "what a spare held that had been filled long ago, when a power cut came while another one was being filled",
            vec![28, 24, 29, 67],
        ),
        ("what was trimmed came back with the only copy of its tombstone", vec![232, 222, 243, 363, 3362, 3411]),
        ("one parity was of another write than the other", vec![6, 23, 122, 366, 524, 752]),
        ("a write found incomplete came back when the die died that had shown it", vec![718, 3470, 2304, 2348]),
        ("room made by moving an old version was not used", vec![45, 70]),
        ("of two copies the one was taken that could not be computed", vec![9038]),
        ("a read waited for a copy to a die that had died", vec![9156]),
        ("writes after a power cut took the room of what it had torn", vec![9182, 9227]),
        ("blocks waited for tombstones that nobody had to write any more", vec![746, 3342, 4668]),
        ("after many cuts no superblock was free, as what lost dies held counted as written", vec![12065]),
        ("tombstones of a page each filled a plane with their copies", vec![12152]),
    ] {
        for seed in seeds {
            let stripe = if seed == 2304 || seed == 2348 { Some("raid-elastic") } else { None };
            let layers = Layers { stripe, ..Layers::default() };
            let campaign = Campaign { faults: Faults::Deaths, layers, ..Campaign::new(4000, seed) };
            let lived = campaign.live(seed, &mut Tally::default());
            lived.unwrap_or_else(|failure| panic!("{what}: {failure}"));
        }
    }
}

/// Idle collection asked for the commit of a stripe that a power cut had torn, before the stripe was mended: the new
/// parity was the one in memory, which knew nothing of the write that was torn.
#[test]
fn a_torn_stripe_is_mended_before_collection_has_it_committed() {
    let layers = Layers { mapping: Some("page"), ..Layers::stripe("raid5-fpc") };
    let campaign = Campaign { faults: Faults::Deaths, layers, ..Campaign::new(4000, 31031) };
    campaign.live(31031, &mut Tally::default()).unwrap_or_else(|failure| panic!("{failure}"));
}

/// A full stripe is written over a trimmed page whose tombstone is written later: the parity in memory covers zeros of
/// it.
#[test]
fn a_trimmed_page_of_a_replaced_stripe_outlives_a_power_cut_and_a_die() {
    let layers = Layers { mapping: Some("page"), ..Layers::stripe("raid6-ppc") };
    let campaign = Campaign { faults: Faults::Deaths, layers, ..Campaign::new(4000, 31037) };
    campaign.live(31037, &mut Tally::default()).unwrap_or_else(|failure| panic!("{failure}"));
}

/// Writes waited for room that never came. The first life goes on to its end, the drive of the second one is told to be
/// worn out.
#[test]
fn lives_that_stood_still_go_on_or_are_told_to_be_worn_out() {
    for (faults, seed, worn_out) in [(Faults::Deaths, 2100, 0), (Faults::Rare, 950_372, 1)] {
        let mut tally = Tally::default();
        let campaign = Campaign { faults, ..Campaign::new(4000, seed) };
        campaign.live(seed, &mut tally).unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!(tally.worn_out, worn_out, "life {seed}: {tally:?}");
    }
}

/// What is torn is mended before it is read, and a program of that may fail.
#[test]
fn reads_after_a_power_cut_outlast_a_failed_repair() {
    for seed in [950_403, 950_461] {
        let campaign = Campaign { faults: Faults::Rare, ..Campaign::new(4000, seed) };
        campaign.live(seed, &mut Tally::default()).unwrap_or_else(|failure| panic!("{failure}"));
    }
}

/// A power cut within an erase left a superblock without valid pages and with three free places, which the host went on
/// with. It was too full for a write, and no victim as it was open.
#[test]
fn an_elastic_drive_goes_on_behind_an_erase_that_was_cut() {
    let campaign = Campaign { layers: Layers::mapping("page"), ..Campaign::new(0, 1) };
    campaign.live(40, &mut Tally::default()).unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn a_campaign_repeats_exactly() {
    let run = || format!("{:?}", run(Campaign::new(8000, 77)));
    assert_eq!(run(), run());
}

#[test]
fn deaths_under_stripes_that_do_not_stand_them_are_refused() {
    let campaign = |kind| Campaign { faults: Faults::Deaths, layers: Layers::stripe(kind), ..Campaign::new(10, 1) };
    for kind in ["none", "raid0", "fra", "coded"] {
        let problem = campaign(kind).check().expect_err(kind);
        assert!(problem.contains(kind) && problem.contains("raid5"), "{problem}");
    }
    assert_eq!(campaign("raid5").check(), Ok(()));
}

/// Every stack that a file can hold: the program is killed, the file of its flash is opened again, and power is cut.
#[test]
fn killed_programs_lose_nothing_that_power_cuts_keep() {
    for (faults, seed) in [(Faults::None, 5001), (Faults::Rare, 5101)] {
        let tally = run(Campaign { kills: true, faults, cuts_per_life: 1000, ..Campaign::new(20_000, seed) });
        assert!(tally.kills >= 20, "{tally:?}");
    }
}
