//! Superblocks of all lanes: the blocks of one number in each lane are collected as one.
//!
//! *Why*: drives for sale name a superblock, not a block, as what they collect. Lanes fill evenly and open their blocks
//! in the order in which they were erased, so that blocks of one number were written at the same time.
//!
//! Faithful to: the victim is the superblock that the policy prefers by the valid pages of all its blocks.
//! Simplified: each lane collects its block of it when the lane needs room. Where that block gives none, or cannot be
//! collected, the lane goes its own way.

use super::collector::GcContext;
use crate::gc::{Keys, VictimPolicy, VictimView};
use engine::random::{self, Stream};
use layer::{SnapshotError, SnapshotReader, SnapshotWriter};
use nand::Flash;
use std::collections::VecDeque;
use units::BlockId;

/// A superblock that is collected.
#[derive(Clone, Copy, Debug)]
struct Chosen {
    /// Its number, which its blocks have in their lanes.
    number: u32,
    /// Running number of the next closing when it was chosen: blocks closed from then on belong to no victim.
    closings: u32,
}

/// The superblocks being collected.
#[derive(Debug)]
pub(crate) struct Together {
    /// Those that some lane has not come to, oldest first.
    chosen: VecDeque<Chosen>,
    /// Superblocks that every lane has come to.
    passed: u64,
    /// Superblocks that each lane has come to.
    come_to: Vec<u64>,
    /// Running number of the next closing when none gave room: until then nothing changes.
    none_at: Option<u32>,
    /// The same when none gave as much room as idle times ask for.
    too_little_at: Option<u32>,
    /// What the policy sees, kept to use its memory again: pages of each that collecting it gives no room for, and when
    /// its last block was closed.
    keys: Vec<u32>,
    closed_at: Vec<u32>,
}

/// The superblocks of a large drive with the blocks of a small one.
pub(crate) struct TiledSuperblocks {
    /// All of them, in the order in which the leading lane erased and closed them, the last one first.
    pub by_age: Vec<u32>,
    /// Superblocks that each lane has to come to; 0 in the leading lane.
    pub lags: Vec<u32>,
}

/// Lags of lanes grow with this power of the number of superblocks. Measured lags of 71 to 1,458 superblocks grow with
/// the 0.7th power. The square root is fitted to the write amplification of 1,458.
const LAGS_GROW: f64 = 0.5;

impl Together {
    /// None is being collected.
    pub fn new(lanes: usize) -> Self {
        Self {
            chosen: VecDeque::new(),
            passed: 0,
            come_to: vec![0; lanes],
            none_at: None,
            too_little_at: None,
            keys: Vec::new(),
            closed_at: Vec::new(),
        }
    }

    /// The block of a lane to be collected next; `None`: the lane goes its own way. `least_gain`: invalid pages that
    /// the blocks of a superblock have on average, at least, if it is chosen now.
    pub fn next<F: Flash>(
        &mut self,
        flash: &F,
        gc: &mut GcContext<'_>,
        (lane, least_gain): (usize, u32),
        policy: &mut dyn VictimPolicy,
        stream: &mut Stream,
    ) -> Option<BlockId> {
        if self.come_to[lane] == self.end() {
            let closings = gc.pages.blocks().closings();
            if self.none_at == Some(closings) || least_gain > 0 && self.too_little_at == Some(closings) {
                return None;
            }
            let Some(number) = self.choose(flash, gc, policy, stream) else {
                self.none_at = Some(closings);
                return None;
            };
            let living = gc.space.lanes.living().count() as u32;
            if self.keys[number as usize] + least_gain * living > gc.pages_per_block * living {
                self.too_little_at = Some(closings);
                return None;
            }
            gc.space.lanes.superblock_chosen(number);
            self.chosen.push_back(Chosen { number, closings });
        }
        // One new choice at most: not one after the other, each of which gives this lane nothing.
        while self.come_to[lane] < self.end() {
            let Chosen { number, closings } = self.chosen[(self.come_to[lane] - self.passed) as usize];
            self.come_to[lane] += 1;
            self.forget(gc);
            let block = BlockId(gc.space.lanes[lane].first().0 + number);
            let row = flash.state().block(block);
            let is_settled = gc.pages.blocks().is_candidate(block) && row.done == row.issued;
            if is_settled && gc.pages.blocks().closed_at(block, 1)[0] < closings && gc.gains(lane, block) {
                return Some(block);
            }
        }
        None
    }

    /// Superblocks that were chosen.
    fn end(&self) -> u64 {
        self.passed + self.chosen.len() as u64
    }

    /// Forgets superblocks that every living lane has come to, and the oldest of more than a lane has blocks: one that
    /// needs no room does not come to any.
    fn forget(&mut self, gc: &GcContext<'_>) {
        let most = u64::from(gc.space.lanes[0].count());
        let come_to = gc.space.lanes.living().map(|lane| self.come_to[lane]).min().unwrap_or(self.passed);
        let passed = come_to.max(self.passed).max(self.end().saturating_sub(most));
        self.chosen.drain(..(passed - self.passed) as usize);
        self.passed = passed;
        self.come_to.iter_mut().for_each(|come_to| *come_to = (*come_to).max(passed));
    }

    /// Superblocks for a drive that has `count`, where this one has `few`.
    pub fn tiled(&self, few: u32, count: u32, seed: u64) -> TiledSuperblocks {
        let mut by_age: Vec<u32> = (0..count).collect();
        random::Stream::new(seed, "precondition.superblocks").shuffle(&mut by_age);
        // No lane is behind by more than it has blocks, here or there.
        let more = (f64::from(count) / f64::from(few)).powf(LAGS_GROW);
        let lags = self.come_to.iter().map(|come_to| ((self.end() - come_to) as f64 * more) as u32).collect();
        TiledSuperblocks { by_age, lags }
    }

    /// Takes the superblocks of a drive whose next closing has a running number. Each lane has to come to as many as
    /// it is behind.
    pub fn tile(&mut self, TiledSuperblocks { by_age, lags }: &TiledSuperblocks, closings: u32) {
        let most = lags.iter().copied().max().unwrap_or(0);
        let chosen = by_age[..most as usize].iter().rev();
        self.chosen = chosen.map(|number| Chosen { number: *number, closings }).collect();
        self.come_to = lags.iter().map(|lag| u64::from(most - lag)).collect();
    }

    pub fn save(&self, writer: &mut SnapshotWriter) {
        let chosen: Vec<u32> = self.chosen.iter().flat_map(|chosen| [chosen.number, chosen.closings]).collect();
        writer.put("together.chosen", chosen);
        let come_to: Vec<u64> = self.come_to.iter().map(|come_to| come_to - self.passed).collect();
        writer.put("together.come_to", come_to);
        writer.put("together.none_at", self.none_at);
        writer.put("together.too_little_at", self.too_little_at);
    }

    /// Reads what [`Together::save`] wrote.
    pub fn load(&mut self, reader: &mut SnapshotReader<'_>, superblocks: u32) -> Result<(), SnapshotError> {
        let unfit = |problem: &str| SnapshotError::Unfit { section: "together", problem: problem.to_owned() };
        let chosen = reader.get::<u32>("together.chosen")?;
        let chosen = chosen.chunks_exact(2).map(|pair| Chosen { number: pair[0], closings: pair[1] });
        self.chosen = chosen.collect();
        let (lanes, most) = (self.come_to.len(), self.chosen.len() as u64);
        (self.passed, self.come_to) = (0, reader.get::<u64>("together.come_to")?);
        self.none_at = reader.get::<u32>("together.none_at")?.first().copied();
        self.too_little_at = reader.get::<u32>("together.too_little_at")?.first().copied();
        if self.come_to.len() != lanes
            || self.come_to.iter().any(|come_to| *come_to > most)
            || self.chosen.iter().any(|chosen| chosen.number >= superblocks)
        {
            return Err(unfit("a superblock is none of this drive"));
        }
        Ok(())
    }

    /// The policy's choice among superblocks of which every block may be collected, but for bad ones and those of lost
    /// dies, which give no room.
    fn choose<F: Flash>(
        &mut self,
        flash: &F,
        gc: &GcContext<'_>,
        policy: &mut dyn VictimPolicy,
        stream: &mut Stream,
    ) -> Option<u32> {
        let (blocks, lanes) = (gc.pages.blocks(), &gc.space.lanes);
        let first = &lanes[lanes.living().next()?];
        let all = gc.pages_per_block * lanes.living().count() as u32;
        self.keys.clear();
        self.keys.resize(first.count() as usize, all);
        self.closed_at.clear();
        self.closed_at.resize(first.count() as usize, 0);
        for lane in lanes.living() {
            let superblocks = self.keys.iter_mut().zip(&mut self.closed_at);
            for ((key, closed_at), block) in superblocks.zip(lanes[lane].blocks()) {
                if *key == Keys::NO_CANDIDATE || flash.state().block(block).is_bad() {
                    continue;
                }
                if !blocks.is_candidate(block) {
                    *key = Keys::NO_CANDIDATE;
                    continue;
                }
                *key -= gc.pages_per_block - blocks.valid_count(block);
                *closed_at = (*closed_at).max(blocks.closed_at(block, 1)[0]);
            }
        }
        self.keys.iter_mut().filter(|key| **key == all).for_each(|key| *key = Keys::NO_CANDIDATE);
        let view = VictimView {
            keys: Keys::Superblocks(&self.keys),
            closed_at: &self.closed_at,
            closings: blocks.closings(),
            rows: &flash.state().blocks()[first.first().index()..][..first.count() as usize],
            pages_per_block: all,
        };
        let pick = policy.pick(&view, stream)?;
        assert!(view.valid(pick).is_some(), "the victim policy chose superblock {pick}, no candidate");
        Some(pick as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_of_a_tiled_drive_are_behind_by_the_superblocks_that_were_chosen_last() {
        let mut small = Together::new(4);
        small.chosen = (0..3).map(|number| Chosen { number, closings: 9 }).collect();
        (small.passed, small.come_to) = (5, vec![8, 6, 8, 5]);
        let superblocks = small.tiled(10, 80, 1);
        assert_eq!(superblocks.lags, [0, 5, 0, 8], "2 and 3 times 8^0.5");
        let mut large = Together::new(4);
        large.tile(&superblocks, 77);
        assert_eq!(large.come_to, [8, 3, 8, 0]);
        let chosen: Vec<u32> = large.chosen.iter().rev().map(|chosen| chosen.number).collect();
        assert_eq!(chosen, superblocks.by_age[..8], "the youngest was chosen last");
        assert!(large.chosen.iter().all(|chosen| chosen.closings == 77));
    }

    /// Where a drive keeps many blocks free, a large one has fewer blocks than the copies of a small one together.
    #[test]
    fn no_lane_of_a_tiled_drive_is_behind_by_more_than_it_has_blocks() {
        let mut small = Together::new(2);
        (small.chosen, small.come_to) = ((0..128).map(|number| Chosen { number, closings: 9 }).collect(), vec![128, 0]);
        let superblocks = small.tiled(128, 192, 1);
        assert_eq!(superblocks.lags, [0, 156]);
        Together::new(2).tile(&superblocks, 77);
    }
}
