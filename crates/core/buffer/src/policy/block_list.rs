//! Logical blocks in order of use, and when one is worth completing.

use super::Piece;
use crate::parameters::{Area, Shape};
use crate::store::Store;
use layer::recency::{Links, List};
use layer::{Choices, SnapshotError, SnapshotReader, SnapshotWriter};

/// Which writes bring a block to the head of the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Promotion {
    Any,
    /// Only those that go on where the last write of the block ended.
    Continuation,
}

/// When a block that leaves is completed with the pages it lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Padding {
    Always,
    /// When at least half of its pages are there.
    Half,
    /// Only when none is missing.
    Never,
}

impl Padding {
    /// When a logical block that leaves is completed.
    pub const CHOICES: Choices<Self> = Choices {
        key: "buffer.padding",
        table: &[
            ("always", "whenever a block leaves", Self::Always),
            ("half", "when at least half of its pages are in the buffer", Self::Half),
            ("never", "never", Self::Never),
        ],
    };

    /// Whether a block with `held` of `pages` is completed.
    pub fn completes(self, held: u32, pages: u32) -> bool {
        match self {
            Self::Always => true,
            Self::Half => 2 * held >= pages,
            Self::Never => held == pages,
        }
    }
}

/// Logical blocks of the area for blocks, most recently used first.
#[derive(Debug)]
pub(crate) struct BlockList {
    links: Links,
    list: List,
    /// Sector behind the last write of each block.
    ends: Vec<u32>,
    /// The block has been written from its beginning on, without a gap.
    in_order: Vec<bool>,
    promotion: Promotion,
    /// Blocks that are complete go to the tail: all of them, or those written in order.
    full_first: bool,
    in_order_first: bool,
    /// The block that became complete with the write being put.
    completed: Option<u32>,
}

impl BlockList {
    pub fn new(shape: &Shape, promotion: Promotion, full_first: bool, in_order_first: bool) -> Self {
        let blocks = shape.blocks() as usize;
        Self {
            links: Links::new(blocks),
            list: List::default(),
            ends: vec![0; blocks],
            in_order: vec![false; blocks],
            promotion,
            full_first,
            in_order_first,
            completed: None,
        }
    }

    /// A page came; the first one of a block brings the block to the head.
    #[inline]
    pub fn put(&mut self, store: &Store, block: u32, is_new: bool) {
        if is_new && store.held(Area::Blocks, block) == 1 {
            self.links.push_front(&mut self.list, block);
            self.ends[block as usize] = u32::MAX;
        }
        if is_new && Self::is_full(store, block) {
            self.completed = Some(block);
        }
    }

    fn is_full(store: &Store, block: u32) -> bool {
        store.held(Area::Blocks, block) == store.shape.len_of(block)
    }

    /// A block that is there comes to the head.
    #[inline]
    pub fn touch(&mut self, block: u32) {
        self.links.touch(&mut self.list, block);
    }

    /// A piece was written.
    pub fn wrote(&mut self, store: &Store, piece: &Piece) {
        let Piece { block, sectors: (start, end), .. } = *piece;
        let last = std::mem::replace(&mut self.ends[block as usize], end);
        let goes_on = last == start;
        let in_order = &mut self.in_order[block as usize];
        *in_order = if last == u32::MAX { start == 0 } else { *in_order && goes_on };
        let in_order = *in_order;
        let leaves_first = Self::is_full(store, block) && (self.full_first || self.in_order_first && in_order);
        let is_new = self.completed.take() == Some(block);
        if leaves_first && is_new {
            self.links.remove(&mut self.list, block);
            self.links.insert_before(&mut self.list, block, None);
        } else if !leaves_first && (goes_on || self.promotion == Promotion::Any) {
            self.links.touch(&mut self.list, block);
        }
    }

    /// A page left; a block without pages is forgotten.
    #[inline]
    pub fn left(&mut self, store: &Store, block: u32) {
        if store.held(Area::Blocks, block) == 0 {
            self.links.remove(&mut self.list, block);
        }
    }

    /// The block at the tail.
    #[inline]
    pub fn oldest(&self) -> Option<u32> {
        self.list.tail()
    }

    /// The blocks, the tail first.
    pub fn oldest_first(&self) -> impl Iterator<Item = u32> + use<'_> {
        self.links.oldest_first(&self.list)
    }

    /// Bytes of two links, an end and a count a block.
    pub fn ram_bytes(&self) -> u64 {
        16 * u64::from(self.list.len())
    }

    /// Checks its law.
    ///
    /// # Errors
    /// The list has other blocks than the area.
    pub fn check(&self, store: &Store) -> Result<(), String> {
        let mut listed = self.links.check(&self.list)?;
        listed.sort_unstable();
        let held: Vec<u32> = (0..store.shape.blocks()).filter(|block| store.held(Area::Blocks, *block) > 0).collect();
        if listed == held { Ok(()) } else { Err("the order of blocks has others than the buffer".to_owned()) }
    }

    pub fn save(&self, writer: &mut SnapshotWriter) {
        let state = |block: u32| [block, self.ends[block as usize], u32::from(self.in_order[block as usize])];
        writer.put("buffer.block_order", self.oldest_first().map(state));
    }

    pub fn load(&mut self, store: &Store, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.list = List::default();
        for [block, end, in_order] in reader.each::<[u32; 3]>("buffer.block_order")? {
            if block >= store.shape.blocks() || store.held(Area::Blocks, block) == 0 {
                let problem = format!("block {block} is in order and not in the buffer");
                return Err(SnapshotError::unfit("buffer.block_order", problem));
            }
            self.links.push_front(&mut self.list, block);
            self.ends[block as usize] = end;
            self.in_order[block as usize] = in_order != 0;
        }
        Ok(())
    }
}
