//! `lb-clock`: a clock over logical blocks; among those not used since the hand passed, the largest leaves.
//!
//! Faithful to: "Large Block CLOCK" (MASCOTS 2009): a reference bit for each block, set by writes; the hand
//! clears bits until it has gone round, then the largest block without one leaves; a block written from
//! begin to end leaves before all.
//! Simplified: the hand goes round for each victim; candidates are all blocks whose bit was clear before.
//! Protects: one entry a block.

use super::block_list::{BlockList, Promotion};
use super::{Piece, Policy, Victim, with_common};
use crate::BufferEntry;
use crate::parameters::{Area, BLOCK_SIZE, Shape};
use crate::store::Store;
use layer::{SnapshotError, SnapshotReader, SnapshotWriter, Values};
use nand::Flash;
use std::cmp::Reverse;

pub(super) fn entry<F: Flash>() -> BufferEntry<F> {
    let doc = "a clock over logical blocks, the largest one not used lately leaves first";
    super::entry::<LbClock, F>("lb-clock", doc, || with_common(&[BLOCK_SIZE]))
}

/// See the module description.
pub(crate) struct LbClock {
    list: BlockList,
    referenced: Vec<bool>,
}

impl Policy for LbClock {
    const AREAS: &'static [Area] = &[Area::Blocks];

    fn blocks_bytes(values: &Values) -> u64 {
        values.whole("buffer.size")
    }

    fn new(shape: Shape, _: &Values) -> Self {
        // Continuation keeps a block where it is on the dial; complete ones in order go to the tail.
        let list = BlockList::new(&shape, Promotion::Any, false, true);
        Self { list, referenced: vec![false; shape.blocks() as usize] }
    }

    #[inline]
    fn route(&mut self, _: &Piece, _: &Store) -> Area {
        Area::Blocks
    }

    #[inline]
    fn put(&mut self, store: &Store, _: Area, slot: u32, is_new: bool) {
        let block = store.shape.block_of(store.slot(slot).logical);
        self.list.put(store, block, is_new);
        self.referenced[block as usize] = true;
    }

    fn wrote(&mut self, store: &Store, _: Area, piece: &Piece) {
        self.list.wrote(store, piece);
        if self.list.oldest() == Some(piece.block) {
            self.referenced[piece.block as usize] = false;
        }
    }

    #[inline]
    fn left(&mut self, store: &Store, _: Area, _: u32, logical: u32) {
        self.list.left(store, store.shape.block_of(logical));
    }

    fn victim(&mut self, store: &Store, _: Area) -> Option<Victim> {
        let size = |block: &u32| store.held(Area::Blocks, *block);
        let full = |block: u32| size(&block) as usize == store.shape.pages_of(block).len();
        let oldest = self.list.oldest()?;
        let idle = || self.list.oldest_first().filter(|block| !self.referenced[*block as usize]);
        let block = if full(oldest) && !self.referenced[oldest as usize] {
            oldest
        } else {
            let unused = idle().min_by_key(|block| Reverse(size(block)));
            // All were used: the hand goes once round and clears every bit.
            unused.or_else(|| self.list.oldest_first().min_by_key(|block| Reverse(size(block))))?
        };
        let passed: Vec<u32> = self.list.oldest_first().filter(|other| *other != block).collect();
        for other in passed {
            self.referenced[other as usize] = false;
        }
        Some(Victim::Block { block, pad: full(block) })
    }

    fn ram_bytes(&self) -> u64 {
        self.list.ram_bytes()
    }

    fn check(&self, store: &Store) -> Result<(), String> {
        self.list.check(store)
    }

    fn save(&self, _: &Store, writer: &mut SnapshotWriter) {
        self.list.save(writer);
        let bits = self.list.oldest_first().map(|block| u32::from(self.referenced[block as usize]));
        writer.put_u32("buffer.referenced", bits.collect::<Vec<_>>().into_iter());
    }

    fn load(&mut self, store: &Store, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.list.load(store, reader)?;
        let blocks: Vec<u32> = self.list.oldest_first().collect();
        for (block, bit) in blocks.into_iter().zip(reader.get_u32("buffer.referenced")?) {
            self.referenced[block as usize] = bit != 0;
        }
        Ok(())
    }
}
