//! Code blocks: what they hold, when they count, and what is read with their help.

use crate::rig::{BANKS, BLOCKS, Rig, ZONE};

const CODES: [&str; 5] = ["regular-2", "regular-3", "mirror", "parity", "mds"];
const STALE: [&str; 3] = ["invalidate", "update", "reencode-idle"];

/// Blocks on a bank.
fn of_bank(bank: u32) -> Vec<u32> {
    (0..BLOCKS).filter(|block| block % BANKS == bank).collect()
}

#[test]
fn once_encoded_any_bank_may_be_lost() {
    for code in CODES {
        for bank in 0..BANKS {
            let mut rig = Rig::encoded(&[("coded.code", code)]);
            rig.kill(bank);
            assert_eq!(rig.unreadable(), [], "{code}: bank {bank}");
            assert_eq!(rig.counter("blocks_decoded"), u64::from(BLOCKS / BANKS), "{code}: bank {bank}");
        }
    }
}

#[test]
fn without_code_zones_a_lost_bank_takes_its_blocks_with_it_and_no_others() {
    let mut rig = Rig::encoded(&[("coded.code_zones", "0")]);
    rig.kill(3);
    assert_eq!(rig.unreadable(), of_bank(3));
}

#[test]
fn a_zone_is_encoded_whole_and_once() {
    for (code, per_group) in [("regular-2", 4), ("parity", 1), ("mirror", 4)] {
        let mut rig = Rig::new(&[("coded.code", code)]);
        (0..BLOCKS).for_each(|block| rig.write(block, [u64::from(block) + 1, 7]));
        rig.prepare();
        let groups = u64::from(BLOCKS / 4);
        assert_eq!((rig.counter("code_blocks_encoded"), rig.counter("zones_coded")), (groups * per_group, 3), "{code}");
        rig.idle();
        assert_eq!(rig.counter("code_blocks_encoded"), groups * per_group, "{code}: nothing is left to encode");
        rig.check();
    }
}

#[test]
fn code_zones_go_to_the_zones_that_are_read() {
    let mut rig = Rig::new(&[("coded.code_zones", "1")]);
    (0..BLOCKS).for_each(|block| rig.write(block, [u64::from(block) + 1, 7]));
    for block in 2 * ZONE..BLOCKS {
        rig.read(block).expect("it was written");
    }
    rig.prepare();
    assert_eq!(rig.counter("zones_coded"), 1);
    rig.kill(5);
    let others: Vec<u32> = of_bank(5).into_iter().filter(|block| *block < 2 * ZONE).collect();
    assert_eq!(rig.unreadable(), others, "only the zone that was read has codes");
}

#[test]
fn a_code_block_whose_source_was_written_is_never_used_as_it_was() {
    for code in CODES {
        for stale in STALE {
            if code == "mds" && stale == "update" {
                continue; // the layer refuses it
            }
            let set = [("coded.code", code), ("coded.stale_codes", stale)];
            let mut errors = 0;
            for seed in 0..10 {
                let mut rig = Rig::encoded(&set);
                rig.live(seed, 40);
                rig.kill(seed as u32 % BANKS);
                // No block has contents that it never had: `unreadable` compares the others.
                errors += rig.unreadable().len();
            }
            assert_eq!(errors == 0, stale == "update", "{code}, {stale}: {errors} blocks could not be computed");
        }
    }
}

#[test]
fn codes_that_are_updated_change_with_every_source_they_have() {
    let mut rig = Rig::encoded(&[("coded.code", "parity"), ("coded.stale_codes", "update")]);
    (0..10).for_each(|block| rig.write(block, [5, 5]));
    assert_eq!(rig.counter("code_blocks_updated"), 10, "each block is the source of one code block");
    rig.check();
}

#[test]
fn what_is_encoded_again_when_idle_counts_again() {
    let mut rig = Rig::encoded(&[("coded.stale_codes", "reencode-idle")]);
    rig.live(4, 60);
    rig.idle();
    rig.check();
    rig.kill(2);
    assert_eq!(rig.unreadable(), []);
}

#[test]
fn after_a_power_cut_data_is_there_and_no_code_block_counts() {
    let mut rig = Rig::encoded(&[]);
    rig.live(6, 40);
    rig.flush_and_cut_power();
    assert_eq!(rig.unreadable(), []);
    rig.kill(1);
    assert_eq!(rig.unreadable(), of_bank(1));
}
