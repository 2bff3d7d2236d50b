//! What parities hold, what it costs to keep them, and what is read with their help.

use crate::rig::{PAGES, Rig};
use units::{Cause, Lpn};

/// Factors of the four pages of a stripe in its two parities.
const FACTORS: [[u8; 4]; 2] = [[27, 28, 18, 20], [28, 27, 20, 18]];

/// A product in the field of the code, bit by bit.
fn product(a: u8, b: u8) -> u8 {
    let double = |a: u8| a << 1 ^ if a >> 7 == 1 { 0x1d } else { 0 };
    (0..8).fold((0, a), |(sum, a), bit| (sum ^ if b >> bit & 1 == 1 { a } else { 0 }, double(a))).0
}

/// The stripes whose parities on flash are not the code of what the host wrote.
fn behind(rig: &Rig) -> Vec<u32> {
    let layout = rig.layout();
    let differs = |stripe: &u32| {
        let data = rig.members(*stripe);
        let expected: Vec<u64> = if layout.parity == 2 {
            let times = |(factor, stamp): (&u8, &u64)| stamp.to_le_bytes().map(|byte| product(*factor, byte));
            let sum = |row: &[u8; 4]| row.iter().zip(&data).fold(0, |sum, pair| sum ^ u64::from_le_bytes(times(pair)));
            FACTORS.iter().map(sum).collect()
        } else {
            vec![data.iter().fold(0, |sum, stamp| sum ^ stamp)]
        };
        (0..layout.parity).any(|row| rig.on_flash(layout.parity_page(*stripe, row)) != expected[row as usize])
    };
    (0..layout.stripes()).filter(differs).collect()
}

#[test]
fn a_parity_written_at_once_is_the_code_of_its_pages_after_every_write() {
    for kind in ["raid4", "raid5", "raid6"] {
        for granularity in ["page", "block"] {
            let mut rig = Rig::new(kind, &[("stripe.granularity", granularity)]);
            for seed in 0..60 {
                rig.live(seed, 3);
                assert_eq!(behind(&rig), [], "{kind} by {granularity}, seed {seed}");
            }
        }
    }
}

#[test]
fn a_parity_is_behind_only_where_its_stripe_is_counted_as_delayed() {
    for kind in ["raid5-fpc", "raid5-ppc", "raid6-ppc", "fra"] {
        let (mut rig, mut were_behind) = (Rig::new(kind, &[]), 0);
        for seed in 0..60 {
            rig.live(seed, 3);
            let (behind, delayed) = (behind(&rig).len() as u64, rig.counter("stripes_delayed"));
            assert!(behind <= delayed && delayed <= 2, "{kind}: {behind} behind, {delayed} delayed");
            were_behind += behind;
        }
        assert!(were_behind > 60, "{kind} delays nothing");
        assert!(rig.counter("commits_replacement") + rig.counter("commits_collection") > 60);
    }
}

#[test]
fn parities_that_wait_for_idle_times_are_all_written_in_one() {
    let mut rig = Rig::new("fra", &[("stripe.cache.entries", "8")]);
    rig.live(1, 40);
    assert!(rig.counter("stripes_delayed") > 2 && !behind(&rig).is_empty());
    rig.idle();
    assert_eq!((rig.counter("stripes_delayed"), behind(&rig)), (0, vec![]));
    assert!(rig.counter("commits_idle") > 2);
}

#[test]
fn a_full_stripe_reads_nothing_and_writes_each_parity_once() {
    for (kind, parities) in [("raid4", 1), ("raid5", 1), ("raid6", 2)] {
        let mut rig = Rig::new(kind, &[]);
        (0..PAGES).step_by(4).for_each(|first| rig.write(first, &[1, 2, 3, u64::from(first)]));
        assert_eq!(rig.programs(Cause::Parity), u64::from(PAGES / 4) * parities, "{kind}");
        let reads = [Cause::Host, Cause::Parity, Cause::Padding].map(|cause| rig.reads(cause));
        assert_eq!((reads, rig.counter("full_stripe_writes")), ([0; 3], u64::from(PAGES / 4)), "{kind}");
    }
}

#[test]
fn an_update_reads_the_old_pages_and_the_parity_or_the_rest_of_the_stripe() {
    for (pages, expected) in [(1, 2), (2, 2), (3, 1), (4, 0)] {
        let mut rig = Rig::new("raid5", &[]);
        rig.write(0, &[1, 2, 3, 4]);
        rig.write(0, &vec![7; pages]);
        assert_eq!(rig.reads(Cause::Parity), expected, "{pages} of four pages updated");
        assert_eq!(rig.counter("commit_reads"), expected);
        assert_eq!(behind(&rig), []);
    }
}

#[test]
fn an_update_by_read_modify_write_reads_what_it_replaces_even_where_the_rest_is_less() {
    for (kind, parities) in [("raid4", 1), ("raid5", 1), ("raid5-fpc", 1), ("raid6", 2)] {
        let mut rig = Rig::new(kind, &[("stripe.update", "read-modify-write")]);
        for (at, pages) in (1..=4).enumerate() {
            let (first, before) = (4 * at as u32, rig.reads(Cause::Parity));
            rig.write(first, &[1, 2, 3, 4]);
            assert_eq!(rig.reads(Cause::Parity), before, "{kind}: a full stripe");
            rig.write(first, &vec![7; pages]);
            // A full parity in memory is read again by default: see stripe.cache.reads.
            let expected = if pages == 4 { 0 } else { pages as u64 + parities };
            assert_eq!(rig.reads(Cause::Parity) - before, expected, "{kind}: {pages} of four pages updated");
        }
        rig.live(5, 300);
        rig.check();
    }
}

/// Updates by read-modify-write alone are parities of what the host wrote, also where dies are lost.
#[test]
fn a_parity_by_read_modify_write_is_the_code_of_its_pages_after_every_write() {
    for kind in ["raid4", "raid5", "raid6"] {
        let mut rig = Rig::new(kind, &[("stripe.update", "read-modify-write")]);
        for seed in 0..60 {
            rig.live(seed, 3);
            assert_eq!(behind(&rig), [], "{kind}, seed {seed}");
        }
        assert!(rig.counter("commit_reads_most") > 2, "{kind} never reads more than the least");
    }
}

#[test]
fn a_commit_never_reads_more_than_half_of_the_stripe() {
    for kind in ["raid5", "raid5-ppc"] {
        let mut rig = Rig::new(kind, &[]);
        (0..PAGES).for_each(|page| rig.write(page, &[1]));
        rig.live(7, 300);
        assert_eq!(rig.counter("commit_reads_most"), 2, "{kind}");
    }
}

#[test]
fn a_page_that_flash_lost_is_computed_from_its_stripe_and_healed() {
    for kind in ["raid4", "raid5", "raid5-fpc", "raid5-ppc", "raid6", "raid6-ppc"] {
        let mut rig = Rig::new(kind, &[]);
        rig.live(3, 60);
        for page in (0..PAGES).filter(|page| rig.held[*page as usize] != 0).collect::<Vec<_>>() {
            rig.lose(page);
            let before = rig.counter("pages_reconstructed");
            assert_eq!(rig.read(page), Ok(rig.held[page as usize]), "{kind}: page {page}");
            assert_eq!(rig.counter("pages_reconstructed"), before + 1, "{kind}: page {page}");
            assert_ne!(rig.place(rig.layout().below(Lpn(page))), None, "{kind}: it is written anew");
        }
        assert!(rig.counter("pages_healed") > 10);
        rig.check();
    }
}

#[test]
fn without_a_parity_a_lost_page_is_an_error_and_no_other_page_is() {
    let mut rig = Rig::new("raid0", &[]);
    (0..PAGES).for_each(|page| rig.write(page, &[u64::from(page) + 1]));
    rig.lose(9);
    assert_eq!(rig.unreadable(), [9]);
    rig.write(9, &[5]);
    assert_eq!(rig.unreadable(), []);
}

#[test]
fn more_pages_lost_than_parities_are_an_error_and_no_wrong_data() {
    for (kind, parities) in [("raid5", 1), ("raid6", 2)] {
        let mut rig = Rig::new(kind, &[]);
        (0..PAGES).for_each(|page| rig.write(page, &[u64::from(page) + 1]));
        for page in 0..=parities {
            rig.lose(page);
        }
        assert_eq!(rig.unreadable(), (0..=parities).collect::<Vec<_>>(), "{kind}");
    }
}
