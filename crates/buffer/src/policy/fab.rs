//! `fab`: logical blocks; the one with the most pages leaves, the one used longest ago among equals.
//!
//! Faithful to: "FAB: flash-aware buffer management" (2006): the largest group is flushed as a whole.
//! Simplified: a scan over the blocks buffered finds it, once a victim.
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
    let doc = "pages by logical block, the block with the most pages leaves first";
    super::entry::<Fab, F>("fab", doc, || with_common(&[BLOCK_SIZE]))
}

/// See the module description.
pub(crate) struct Fab(BlockList);

impl Policy for Fab {
    const AREAS: &'static [Area] = &[Area::Blocks];

    fn blocks_bytes(values: &Values) -> u64 {
        values.whole("buffer.size")
    }

    fn new(shape: Shape, _: &Values) -> Self {
        Self(BlockList::new(&shape, Promotion::Any, false, false))
    }

    #[inline]
    fn route(&mut self, _: &Piece, _: &Store) -> Area {
        Area::Blocks
    }

    #[inline]
    fn put(&mut self, store: &Store, _: Area, slot: u32, is_new: bool) {
        self.0.put(store, store.shape.block_of(store.slot(slot).logical), is_new);
    }

    fn wrote(&mut self, store: &Store, _: Area, piece: &Piece) {
        self.0.wrote(store, piece);
    }

    #[inline]
    fn left(&mut self, store: &Store, _: Area, _: u32, logical: u32) {
        self.0.left(store, store.shape.block_of(logical));
    }

    fn victim(&mut self, store: &Store, _: Area) -> Option<Victim> {
        // The first of the largest, from the tail.
        let block = self.0.oldest_first().min_by_key(|block| Reverse(store.held(Area::Blocks, *block)))?;
        let pad = store.held(Area::Blocks, block) as usize == store.shape.pages_of(block).len();
        Some(Victim::Block { block, pad })
    }

    fn ram_bytes(&self) -> u64 {
        self.0.ram_bytes()
    }

    fn check(&self, store: &Store) -> Result<(), String> {
        self.0.check(store)
    }

    fn save(&self, _: &Store, writer: &mut SnapshotWriter) {
        self.0.save(writer);
    }

    fn load(&mut self, store: &Store, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.0.load(store, reader)
    }
}
