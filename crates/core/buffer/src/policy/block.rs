//! `block-lru` and `block-only`: whole logical blocks, the one used longest ago leaves first.
//!
//! Faithful to: `block-lru` is BPLRU (FAST 2008). Any write brings its block to the head. A block that leaves is
//! completed by reading the missing pages and written in order. A block written from begin to end goes to the tail.
//! `block-only` is the block-level half of the two-level buffer of 2009 alone. Only writes that continue the last one
//! bring a block to the head. Complete blocks leave first, and a block that is less than half there is not completed.
//! Simplified: reads change no order. A flush writes blocks as they are: only blocks that leave for room are
//! completed.
//! Protects: one entry a block.

use super::block_list::{BlockList, Padding, Promotion};
use super::{Piece, Policy, Victim, with_common};
use crate::Buffer;
use crate::parameters::{ACCOUNTING, Area, BLOCK_SIZE, Shape};
use crate::store::Store;
use layer::{Parameter, ParameterKind, SnapshotError, SnapshotReader, SnapshotWriter, Values};
use units::Lpn;

const COMPENSATION: Parameter = Parameter::new(
    "buffer.compensation",
    ParameterKind::Switch,
    "true",
    "A block that was written from beginning to end leaves next, because the host is not expected to write it again \
     soon (LRU compensation).",
);

/// When a block is completed with the pages it lacks.
pub(super) const PADDING: Parameter = Parameter::new(
    Padding::CHOICES.key,
    ParameterKind::Choice(|| Padding::CHOICES.named()),
    "half",
    "When a logical block that leaves is completed with pages read from the layer below, and written as a whole. The \
     buffer completes pages that were never written too, as zeros. A flush of the host writes the buffered pages and \
     completes no block.",
);

pub(super) fn block_lru() -> Buffer {
    let doc = "BPLRU: whole logical blocks; the block written longest ago is completed and leaves";
    let when = "Use it over a log-block mapping when writes fill whole logical blocks: each block that leaves can be \
                switched. Scattered small writes make it read and program far more than the host writes.";
    super::entry::<Blocks<true>>("block-lru", doc, when, || with_common(&[BLOCK_SIZE, ACCOUNTING, COMPENSATION]))
}

pub(super) fn block_only() -> Buffer {
    let doc = "whole logical blocks in order of sequential use; a block is completed when half of its pages are there";
    let when = "Use it over a log-block mapping for long writes in order, or to study one half of two-level. Small \
                random writes seldom hit it.";
    super::entry::<Blocks<false>>("block-only", doc, when, || with_common(&[BLOCK_SIZE, ACCOUNTING, PADDING]))
}

/// Logical blocks; `ANY`: every write brings its block to the head, and all are completed.
pub(crate) struct Blocks<const ANY: bool> {
    list: BlockList,
    padding: Padding,
}

/// The victim of a list of blocks.
pub(super) fn block_victim(list: &BlockList, store: &Store, padding: Padding) -> Option<Victim> {
    let block = list.oldest()?;
    let pad = padding.completes(store.held(Area::Blocks, block), store.shape.len_of(block));
    Some(Victim::Block { block, pad })
}

impl<const ANY: bool> Policy for Blocks<ANY> {
    const AREAS: &'static [Area] = &[Area::Blocks];
    const HAS_FRAMES: bool = true;

    fn blocks_bytes(values: &Values) -> u64 {
        values.whole("buffer.size")
    }

    fn new(shape: Shape, values: &Values) -> Self {
        if ANY {
            let list = BlockList::new(&shape, Promotion::Any, false, values.on("buffer.compensation"));
            return Self { list, padding: Padding::Always };
        }
        Self {
            list: BlockList::new(&shape, Promotion::Continuation, true, false),
            padding: Padding::CHOICES.read(values),
        }
    }

    #[inline]
    fn route(&mut self, _: &Piece, _: &Store) -> Area {
        Area::Blocks
    }

    #[inline]
    fn put(&mut self, store: &Store, _: Area, slot: u32, is_new: bool) {
        self.list.put(store, store.shape.block_of(store.slot(slot).logical), is_new);
    }

    fn wrote(&mut self, store: &Store, _: Area, piece: &Piece) {
        self.list.wrote(store, piece);
    }

    #[inline]
    fn left(&mut self, store: &Store, _: Area, _: u32, logical: Lpn) {
        self.list.left(store, store.shape.block_of(logical));
    }

    fn victim(&mut self, store: &Store, _: Area) -> Option<Victim> {
        block_victim(&self.list, store, self.padding)
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
