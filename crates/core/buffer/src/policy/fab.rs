//! `fab`: logical blocks; the one with the most pages leaves, the one used longest ago among equals.
//!
//! Faithful to: "FAB: flash-aware buffer management" (2006): the largest group is flushed as a whole.
//! Simplified: a block that lost pages to a trim counts as just used.
//! Protects: a block is in the list of its size.

use super::{Piece, Policy, Victim, with_common};
use crate::Buffer;
use crate::parameters::{Area, BLOCK_SIZE, Shape};
use crate::store::Store;
use layer::recency::{Links, List};
use layer::{SnapshotError, SnapshotReader, SnapshotWriter, Values};
use units::Lpn;

pub(super) fn entry() -> Buffer {
    let doc = "pages by logical block; the block with the most pages leaves first";
    let when = "Use it for long writes among small ones, such as media files: the fullest block leaves, and a \
                log-block mapping takes it with few copies. A hot block leaves when it is full, although it is \
                written again.";
    super::entry::<Fab>("fab", doc, when, || with_common(&[BLOCK_SIZE]))
}

/// See the module description.
pub(crate) struct Fab {
    links: Links,
    /// Blocks by number of pages, those of none left out; most recently used first.
    lists: Vec<List>,
    /// The list each block is in; 0 for none.
    sizes: Vec<u32>,
    /// No block has more pages.
    most: u32,
}

impl Fab {
    /// A block's size may have changed; it is the one used last.
    fn place(&mut self, block: u32, size: u32) {
        let old = std::mem::replace(&mut self.sizes[block as usize], size);
        if old > 0 {
            self.links.remove(&mut self.lists[old as usize], block);
        }
        if size > 0 {
            self.links.push_front(&mut self.lists[size as usize], block);
            self.most = self.most.max(size);
        }
    }
}

impl Policy for Fab {
    const AREAS: &'static [Area] = &[Area::Blocks];

    fn blocks_bytes(values: &Values) -> u64 {
        values.whole("buffer.size")
    }

    fn new(shape: Shape, _: &Values) -> Self {
        let blocks = shape.blocks() as usize;
        let lists = vec![List::default(); shape.block_pages as usize + 1];
        Self { links: Links::new(blocks), lists, sizes: vec![0; blocks], most: 0 }
    }

    #[inline]
    fn route(&mut self, _: &Piece, _: &Store) -> Area {
        Area::Blocks
    }

    #[inline]
    fn put(&mut self, store: &Store, area: Area, slot: u32, _: bool) {
        let block = store.shape.block_of(store.slot(slot).logical);
        self.place(block, store.held(area, block));
    }

    #[inline]
    fn left(&mut self, store: &Store, area: Area, _: u32, logical: Lpn) {
        let block = store.shape.block_of(logical);
        self.place(block, store.held(area, block));
    }

    fn victim(&mut self, store: &Store, _: Area) -> Option<Victim> {
        while self.most > 0 && self.lists[self.most as usize].is_empty() {
            self.most -= 1;
        }
        let block = self.lists[self.most as usize].tail()?;
        let pad = self.most as usize == store.shape.pages_of(block).len();
        Some(Victim::Block { block, pad })
    }

    fn ram_bytes(&self) -> u64 {
        // Two links and a size.
        12 * self.lists.iter().map(|list| u64::from(list.len())).sum::<u64>()
    }

    fn check(&self, store: &Store) -> Result<(), String> {
        let wrong = |block: &u32| self.sizes[*block as usize] != store.held(Area::Blocks, *block);
        if let Some(block) = (0..store.shape.blocks()).find(wrong) {
            return Err(format!("logical block {block} is listed with another size than it has"));
        }
        for (size, list) in self.lists.iter().enumerate() {
            let listed = self.links.check(list)?;
            if listed.iter().any(|block| self.sizes[*block as usize] as usize != size) {
                return Err(format!("the blocks of {size} pages have others among them"));
            }
        }
        Ok(())
    }

    fn save(&self, _: &Store, writer: &mut SnapshotWriter) {
        writer.put("buffer.block_order", self.lists.iter().flat_map(|list| self.links.oldest_first(list)));
    }

    fn load(&mut self, store: &Store, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.lists.fill(List::default());
        self.sizes.fill(0);
        for block in reader.each("buffer.block_order")? {
            if block >= store.shape.blocks() {
                return Err(SnapshotError::unfit("buffer.block_order", format!("the drive has no block {block}")));
            }
            self.place(block, store.held(Area::Blocks, block));
        }
        Ok(())
    }
}
