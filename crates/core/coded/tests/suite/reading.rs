//! Which blocks a read asks for while no bank is busy, and what is read ahead.

use crate::rig::{BLOCKS, Rig};

const POLICIES: [&str; 5] = ["direct", "lazy", "eager", "eager-by-time", "gc-aware"];

#[test]
fn with_no_bank_busy_each_block_is_read_once_and_no_code_block_helps() {
    for policy in POLICIES {
        let mut rig = Rig::encoded(&[("coded.reads", policy)]);
        assert_eq!(rig.unreadable(), []);
        let read = (rig.counter("blocks_read"), rig.counter("code_blocks_read"), rig.counter("blocks_decoded"));
        assert_eq!(read, (u64::from(BLOCKS), 0, 0), "{policy}");
    }
}

#[test]
fn writes_and_trims_are_read_back_under_every_policy() {
    for policy in POLICIES {
        let mut rig = Rig::encoded(&[("coded.reads", policy)]);
        for seed in 0..10 {
            rig.live(seed, 100);
            assert_eq!(rig.unreadable(), [], "{policy}");
        }
    }
}

#[test]
fn a_stream_is_read_ahead_in_whole_groups_from_its_fifth_block_on() {
    let mut rig = Rig::encoded(&[("coded.read_ahead.after", "4KiB")]);
    assert_eq!(rig.unreadable(), []);
    let ahead = u64::from(BLOCKS - 4) * 3 / 4;
    let seen = [rig.counter("blocks_read_ahead"), rig.counter("read_ahead_hits"), rig.counter("blocks_read")];
    assert_eq!(seen, [ahead, ahead, u64::from(BLOCKS)], "three of four blocks of a group are there already");
}

#[test]
fn reads_that_follow_no_other_are_not_widened() {
    let mut rig = Rig::encoded(&[("coded.read_ahead.after", "4KiB")]);
    for at in 0..BLOCKS {
        rig.read(at * 67 % BLOCKS).expect("it was written");
    }
    assert_eq!((rig.counter("blocks_read_ahead"), rig.counter("sequential_reads")), (0, 0));
}

#[test]
fn what_was_read_ahead_is_never_older_than_what_was_written() {
    let mut rig = Rig::encoded(&[("coded.read_ahead.after", "4KiB")]);
    for block in 0..BLOCKS {
        assert_eq!(rig.read(block), Ok(rig.held[block as usize]));
        let next = (block + 1) % BLOCKS;
        rig.write(next, [u64::from(block) + 1000, 3]);
    }
    assert!(rig.counter("blocks_read_ahead") > 0);
    assert_eq!(rig.unreadable(), []);
}
