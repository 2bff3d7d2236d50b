//! `group-lru`: whole logical blocks, the one written longest ago leaves as it is.
//!
//! Faithful to: a buffer that gathers pages which the layer below writes together, such as the data pages of a
//! stripe. Any write brings its block to the head. The pages of a block leave together, in order, and no others with
//! them.
//! Decided here: a write brings its block to the head before it asks for room, so a block that is being written
//! leaves only where it has all the room. Reads change no order.
//! Simplified: pages adopted after a power cut count as written in the order in which memory got them.
//! Protects: one entry a block; a block is never completed, not even by a flush.

use super::block_list::{BlockList, Promotion};
use super::{Piece, Policy, Victim, with_common};
use crate::Buffer;
use crate::parameters::{Area, BLOCK_SIZE, Shape};
use crate::store::Store;
use layer::{SnapshotError, SnapshotReader, SnapshotWriter, Values};
use units::Lpn;

pub(super) fn entry() -> Buffer {
    let doc = "pages by logical block; the block written longest ago leaves as it is";
    let when = "Use it above a layer that profits from pages that come together, such as stripes with parity. It \
                completes no block, so a log-block mapping merges more often than with fab.";
    super::entry::<Groups>("group-lru", doc, when, || with_common(&[BLOCK_SIZE]))
}

/// See the module description.
pub(crate) struct Groups {
    list: BlockList,
}

impl Policy for Groups {
    const AREAS: &'static [Area] = &[Area::Blocks];
    const COMPLETES: bool = false;
    const LOOKS_AHEAD: bool = true;

    fn blocks_bytes(values: &Values) -> u64 {
        values.whole("buffer.size")
    }

    fn new(shape: Shape, _: &Values) -> Self {
        Self { list: BlockList::new(&shape, Promotion::Any, false, false) }
    }

    #[inline]
    fn route(&mut self, piece: &Piece, store: &Store) -> Area {
        if store.held(Area::Blocks, piece.block) > 0 {
            self.list.touch(piece.block);
        }
        Area::Blocks
    }

    #[inline]
    fn put(&mut self, store: &Store, _: Area, slot: u32, is_new: bool) {
        self.list.put(store, store.shape.block_of(store.slot(slot).logical), is_new);
    }

    #[inline]
    fn left(&mut self, store: &Store, _: Area, _: u32, logical: Lpn) {
        self.list.left(store, store.shape.block_of(logical));
    }

    #[inline]
    fn victim(&mut self, store: &Store, _: Area) -> Option<Victim> {
        let mut order = self.list.oldest_first();
        let block = order.next()?;
        if let Some(after) = order.nth(1) {
            store.prefetch(store.shape.first_of(after));
        }
        Some(Victim::Block { block, pad: false })
    }

    #[inline]
    fn look_ahead(&self) -> [Option<u32>; 2] {
        let mut order = self.list.oldest_first();
        [order.next(), order.next()]
    }

    fn ram_bytes(&self) -> u64 {
        self.list.ram_bytes()
    }

    fn check(&self, store: &Store) -> Result<(), String> {
        self.list.check(store)
    }

    fn save(&self, _: &Store, writer: &mut SnapshotWriter) {
        self.list.save(writer);
    }

    fn load(&mut self, store: &Store, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.list.load(store, reader)
    }
}
