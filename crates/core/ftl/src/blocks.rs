//! Which pages are valid and which blocks may be collected: shared by all page-grained FTLs.

use layer::{SnapshotError, SnapshotReader, SnapshotWriter};
use units::{BlockId, Geometry, Ppn};

/// Marks a block that may be collected; without it a block is free, open, being collected or bad. As the sign it makes
/// candidates smaller than all others, so the least valid candidate is simply the smallest key.
const CANDIDATE: i16 = i16::MIN;

/// Valid pages of every block. 1 bit a page and 6 bytes a block.
#[derive(Clone, Debug)]
pub struct BlockTable {
    geometry: Geometry,
    /// One bit a page.
    valid: Vec<u64>,
    /// Valid pages of each block, with `CANDIDATE`.
    keys: Vec<i16>,
    /// When each block was closed, as a running number.
    closed_at: Vec<u32>,
    closings: u32,
}

impl BlockTable {
    pub fn new(geometry: Geometry) -> Self {
        let blocks = geometry.blocks() as usize;
        Self {
            geometry,
            valid: units::table((geometry.pages() as usize).div_ceil(64), 0),
            keys: vec![0; blocks],
            closed_at: vec![0; blocks],
            closings: 0,
        }
    }

    #[inline(always)]
    fn bit(page: Ppn) -> (usize, u64) {
        (page.0 as usize / 64, 1 << (page.0 % 64))
    }

    /// Makes a page valid.
    #[inline(always)]
    pub fn validate(&mut self, page: Ppn) {
        let (word, bit) = Self::bit(page);
        debug_assert!(self.valid[word] & bit == 0, "page {page} became valid twice");
        self.valid[word] |= bit;
        self.keys[self.geometry.block_of(page).index()] += 1;
    }

    /// Makes a page invalid.
    #[inline(always)]
    pub fn invalidate(&mut self, page: Ppn) {
        let (word, bit) = Self::bit(page);
        debug_assert!(self.valid[word] & bit != 0, "page {page} became invalid twice");
        self.valid[word] &= !bit;
        self.keys[self.geometry.block_of(page).index()] -= 1;
    }

    /// Valid pages of one block, in ascending order and without another one between them, become invalid; as many
    /// pages of another block from `to` on become valid.
    pub fn move_run(&mut self, from: &[u32], to: Ppn) {
        let [Some(first), Some(last)] = [from.first(), from.last()] else { return };
        let (block, count) = (self.geometry.block_of(Ppn(*first)), from.len() as u32);
        let mut cleared = 0;
        for (word, mask) in units::word_masks(u64::from(*first)..u64::from(*last) + 1) {
            cleared += (self.valid[word] & mask).count_ones();
            self.valid[word] &= !mask;
        }
        assert!(cleared == count, "of block {block} {cleared} pages became invalid, and {count} were moved");
        self.keys[block.index()] -= count as i16;
        for (word, mask) in units::word_masks(u64::from(to.0)..u64::from(to.0 + count)) {
            debug_assert!(self.valid[word] & mask == 0, "a page behind page {to} became valid twice");
            self.valid[word] |= mask;
        }
        self.keys[self.geometry.block_of(to).index()] += count as i16;
    }

    /// Whether a page is valid.
    #[inline(always)]
    pub fn is_valid(&self, page: Ppn) -> bool {
        let (word, bit) = Self::bit(page);
        self.valid[word] & bit != 0
    }

    /// Valid pages of a block.
    #[inline]
    pub fn valid_count(&self, block: BlockId) -> u32 {
        valid_of(self.keys[block.index()])
    }

    /// Adds the valid pages of as many blocks as there are sums, from `first` on.
    pub fn add_valid(&self, first: BlockId, sums: &mut [u32]) {
        let keys = &self.keys[first.index()..][..sums.len()];
        sums.iter_mut().zip(keys).for_each(|(sum, key)| *sum += valid_of(*key));
    }

    /// A block becomes a candidate for collection: nothing more will be programmed into it.
    pub fn close(&mut self, block: BlockId) {
        debug_assert!(!self.is_candidate(block), "block {block} was closed twice");
        self.keys[block.index()] |= CANDIDATE;
        self.closed_at[block.index()] = self.closings;
        self.closings += 1;
    }

    /// A block becomes a candidate that was closed as number `closed_at`, before the next closing.
    pub fn close_as(&mut self, block: BlockId, closed_at: u32) {
        self.put_back(block);
        self.closed_at[block.index()] = closed_at;
    }

    /// So many closings were before.
    pub fn note_closings(&mut self, closings: u32) {
        self.closings = self.closings.max(closings);
    }

    /// A closed block is taken for collection, or put back with [`BlockTable::put_back`].
    pub fn take(&mut self, block: BlockId) {
        debug_assert!(self.is_candidate(block), "block {block} is not a candidate");
        self.keys[block.index()] &= !CANDIDATE;
    }

    /// A block taken becomes a candidate again, as old as it was.
    pub fn put_back(&mut self, block: BlockId) {
        debug_assert!(!self.is_candidate(block), "block {block} was put back twice");
        self.keys[block.index()] |= CANDIDATE;
    }

    /// Whether a block may be chosen for collection.
    #[inline]
    pub fn is_candidate(&self, block: BlockId) -> bool {
        key_is_candidate(self.keys[block.index()])
    }

    /// Keys of the blocks `first..first + count`.
    pub fn keys(&self, first: BlockId, count: u32) -> &[i16] {
        &self.keys[first.index()..first.index() + count as usize]
    }

    /// Closing numbers of the blocks `first..first + count`.
    pub fn closed_at(&self, first: BlockId, count: u32) -> &[u32] {
        &self.closed_at[first.index()..first.index() + count as usize]
    }

    /// Closings so far: the age of a block is this minus its closing number.
    pub fn closings(&self) -> u32 {
        self.closings
    }

    /// Appends the valid pages of a block in ascending order.
    pub fn valid_pages(&self, block: BlockId, pages: &mut Vec<u32>) {
        for word in self.words_of(block) {
            let mut bits = self.bits_of(block, word);
            while bits != 0 {
                pages.push(word * 64 + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
    }

    /// The valid pages of a block in ascending order.
    pub fn valid_pages_of(&self, block: BlockId) -> impl Iterator<Item = u32> + use<'_> {
        self.words_of(block).flat_map(move |word| {
            let mut bits = self.bits_of(block, word);
            std::iter::from_fn(move || {
                let page = (bits != 0).then(|| word * 64 + bits.trailing_zeros());
                bits &= bits.wrapping_sub(1);
                page
            })
        })
    }

    /// The words of the bitmap that a block has a share of.
    fn words_of(&self, block: BlockId) -> std::ops::Range<u32> {
        let first = block.0 * self.geometry.pages_per_block;
        first / 64..(first + self.geometry.pages_per_block).div_ceil(64)
    }

    /// A block's share of a word: neighbouring blocks may share it at either end.
    #[inline(always)]
    fn bits_of(&self, block: BlockId, word: u32) -> u64 {
        let first = block.0 * self.geometry.pages_per_block;
        let end = first + self.geometry.pages_per_block;
        let mut bits = self.valid[word as usize];
        if word == first / 64 {
            bits &= u64::MAX << (first % 64);
        }
        if word == end / 64 {
            bits &= (1 << (end % 64)) - 1;
        }
        bits
    }

    /// Brings the row of a page's block into the processor's cache.
    #[inline]
    pub fn prefetch(&self, page: Ppn) {
        let (word, _) = Self::bit(page);
        units::prefetch(&self.valid, word);
        units::prefetch(&self.keys, self.geometry.block_of(page).index());
    }

    /// Checks that counts and bits agree; returns the number of valid pages.
    ///
    /// # Errors
    /// The first block where they differ, in words.
    pub fn check(&self) -> Result<u64, String> {
        let mut total = 0;
        let mut pages = Vec::new();
        for block in 0..self.geometry.blocks() {
            pages.clear();
            self.valid_pages(BlockId(block), &mut pages);
            let bits = pages.len() as u32;
            let count = self.valid_count(BlockId(block));
            if bits != count {
                return Err(format!("block {block} counts {count} valid pages but marks {bits}"));
            }
            total += u64::from(bits);
        }
        Ok(total)
    }

    /// Bytes a controller needs for this table.
    pub fn ram_bytes(&self) -> u64 {
        (self.valid.len() * 8 + self.keys.len() * 2 + self.closed_at.len() * 4) as u64
    }

    /// Writes the table into a snapshot.
    pub fn save(&self, writer: &mut SnapshotWriter) {
        writer.put("blocks.valid", self.valid.iter().copied());
        writer.put("blocks.keys", self.keys.iter().copied());
        writer.put("blocks.closed_at", self.closed_at.iter().copied());
        writer.put("blocks.closings", [self.closings]);
    }

    /// Reads the table from a snapshot.
    ///
    /// # Errors
    /// The snapshot is of another shape.
    pub fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        reader.fill("blocks.valid", &mut self.valid)?;
        reader.fill("blocks.keys", &mut self.keys)?;
        reader.fill("blocks.closed_at", &mut self.closed_at)?;
        [self.closings] = reader.array("blocks.closings")?;
        Ok(())
    }
}

/// Whether a key in [`BlockTable::keys`] belongs to a candidate.
#[inline]
pub(crate) fn key_is_candidate(key: i16) -> bool {
    key & CANDIDATE != 0
}

/// Valid pages of the block of a key.
#[inline]
pub(crate) fn valid_of(key: i16) -> u32 {
    (key & !CANDIDATE) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use units::Shape;

    /// Blocks of 11 pages, which share words of the bitmap.
    fn table() -> BlockTable {
        let shape = Shape {
            channels: 1,
            dies_per_channel: 2,
            planes_per_die: 1,
            blocks_per_die: 8,
            pages_per_block: 11,
            page_bytes: 512,
        };
        BlockTable::new(Geometry::new(shape).expect("a valid shape"))
    }

    proptest! {
        #[test]
        fn a_run_moves_as_its_pages_do_one_by_one(
            pages in prop::collection::btree_set(0..11_u32, 1..11),
            gap in 0..11_u32,
        ) {
            let count = pages.len() as u32;
            let (from, to) = (pages.iter().map(|page| 3 * 11 + page).collect::<Vec<_>>(), 9 * 11 + gap.min(11 - count));
            let [mut one_by_one, mut together] = [0, 1].map(|_| table());
            for table in [&mut one_by_one, &mut together] {
                for page in from.iter().copied().chain([2 * 11 + 10, 4 * 11]) {
                    table.validate(Ppn(page));
                }
            }
            for (page, target) in from.iter().zip(to..) {
                one_by_one.invalidate(Ppn(*page));
                one_by_one.validate(Ppn(target));
            }
            together.move_run(&from, Ppn(to));
            prop_assert_eq!(format!("{together:?}"), format!("{one_by_one:?}"));
        }

        #[test]
        fn pages_are_valid_and_blocks_are_candidates_as_in_plain_sets(
            steps in prop::collection::vec((0..176_u32, 0..6_u8), 0..400),
        ) {
            let mut table = table();
            let (mut valid, mut candidates) = (BTreeSet::new(), BTreeSet::new());
            let mut closed_at = [0; 16];
            for (number, what) in steps {
                let (page, block) = (Ppn(number), BlockId(number / 11));
                match what {
                    0..3 if valid.insert(page) => table.validate(page),
                    0..3 => { valid.remove(&page); table.invalidate(page); }
                    3 if candidates.insert(block) => {
                        closed_at[block.index()] = table.closings();
                        table.close(block);
                    }
                    4 if candidates.remove(&block) => table.take(block),
                    5 if candidates.insert(block) => table.put_back(block),
                    _ => {}
                }
                prop_assert_eq!(table.check(), Ok(valid.len() as u64));
                for block in (0..16).map(BlockId) {
                    let pages = block.0 * 11..block.0 * 11 + 11;
                    let own: Vec<u32> = pages.filter(|page| valid.contains(&Ppn(*page))).collect();
                    prop_assert_eq!(table.valid_pages_of(block).collect::<Vec<_>>(), own.clone());
                    prop_assert_eq!(table.valid_count(block), own.len() as u32);
                    prop_assert_eq!(table.is_candidate(block), candidates.contains(&block));
                    prop_assert_eq!(table.closed_at(block, 1), &[closed_at[block.index()]]);
                }
            }
            let mut writer = SnapshotWriter::new();
            table.save(&mut writer);
            let (bytes, mut again) = (writer.into_bytes(), self::table());
            again.load(&mut SnapshotReader::new(&bytes)).expect("it fits");
            prop_assert_eq!(format!("{again:?}"), format!("{table:?}"));
        }
    }
}
