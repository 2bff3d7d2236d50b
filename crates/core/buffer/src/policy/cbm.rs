//! `cbm`: pages one by one until enough of a logical block are there, then the block as a whole.
//!
//! Faithful to: "CBM: a cooperative buffer management for SSD" (MSST 2014), built from its abstract and first page, as
//! the full text was not available. Writes come to the page region. A logical block with a threshold of dirty pages
//! there moves to the block region, and later writes to it go there. A block that leaves is merged with its clean pages
//! of the read cache.
//! Decided here, not in these texts: both regions share the room. The block region gives up room first: the least
//! popular block, among equals the one with most pages, then the one used longest ago. Popularity counts reads and
//! writes, and a series of requests that continue each other counts as one. With no block left, the page used longest
//! ago leaves.
//! Simplified: the threshold is fixed. The read cache is a share of the same memory, which writes may use as long as
//! reads do not. A block that lacks pages even so is completed as `buffer.padding` says.
//! Protects: a page is in one order, clean or dirty; every block of the block region has one rank.

use super::block::PADDING;
use super::block_list::Padding;
use super::page::{FLUSH_UNIT, FLUSHES_BLOCKS, page_victim};
use super::page_list::PageList;
use super::{Piece, Policy, Victim, with_common};
use crate::Buffer;
use crate::parameters::{Area, BLOCK_SIZE, Shape};
use crate::store::{State, Store};
use layer::{Parameter, ParameterKind, SnapshotError, SnapshotReader, SnapshotWriter, Values};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use units::Lpn;

const THRESHOLD: Parameter = Parameter::new(
    "buffer.cbm.threshold",
    ParameterKind::Share { max: 1.0 },
    "50%",
    "Share of a logical block's pages that must be in the page region, written, before the block moves to the block \
     region; at least one page. With the default a block counts as sequential once half of it is there, as with \
     buffer.padding = half.",
)
.example("25%");

const READ_CACHE: Parameter = Parameter::new(
    "buffer.cbm.read_cache",
    ParameterKind::Share { max: 1.0 },
    "25%",
    "Largest share of the buffer for pages that were only read. Writes may use the room that reads leave.",
)
.example("50%");

pub(super) fn entry() -> Buffer {
    let doc =
        "single written pages until half of a logical block is there, then the block; pages that were read as well";
    let when = "Use it when the host reads and writes the same blocks: pages that were read complete a block without \
                a flash read. Without such reads it programs and erases more than fab or two-level. It is built from \
                the abstract of its publication: which block leaves, the threshold and the room of reads are choices \
                of this project.";
    super::entry::<Cbm>("cbm", doc, when, || with_common(&[BLOCK_SIZE, THRESHOLD, READ_CACHE, PADDING, FLUSH_UNIT]))
}

/// Place of a block in the block region; the least leaves first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    popularity: u32,
    size: Reverse<u32>,
    /// When it was used last.
    used: u64,
    block: u32,
}

/// How a logical block with written pages is used.
#[derive(Clone, Copy, Debug)]
struct Use {
    popularity: u32,
    /// Sector behind the last access.
    end: u32,
    used: u64,
    rank: Option<Rank>,
    /// Dirty pages in the page region.
    dirty: u32,
}

impl Default for Use {
    fn default() -> Self {
        Self { popularity: 0, end: u32::MAX, used: 0, rank: None, dirty: 0 }
    }
}

/// See the module description.
pub(crate) struct Cbm {
    dirty: PageList,
    clean: PageList,
    /// Which of both a slot of the page region is in.
    is_dirty: Vec<bool>,
    uses: Vec<Use>,
    ranks: BTreeSet<Rank>,
    /// Accesses so far, which stand for time.
    now: u64,
    threshold: f64,
    /// Most pages for reads.
    reads: u32,
    padding: Padding,
    by_block: bool,
}

impl Cbm {
    /// A block's size or use changed.
    fn rank(&mut self, store: &Store, block: u32) {
        let Use { popularity, used, rank, .. } = self.uses[block as usize];
        if let Some(old) = rank {
            self.ranks.remove(&old);
        }
        let held = store.held(Area::Blocks, block);
        let rank = (held > 0).then_some(Rank { popularity, size: Reverse(held), used, block });
        self.ranks.extend(rank);
        self.uses[block as usize].rank = rank;
    }

    /// Sectors of a block with written pages were read or written.
    fn access(&mut self, store: &Store, block: u32, (start, end): (u32, u32)) {
        let of_block = &mut self.uses[block as usize];
        if of_block.dirty == 0 && of_block.rank.is_none() {
            return;
        }
        self.now += 1;
        of_block.popularity = of_block.popularity.saturating_add(u32::from(of_block.end != start));
        (of_block.end, of_block.used) = (end, self.now);
        if of_block.rank.is_some() {
            self.rank(store, block);
        }
    }

    /// A page came to the page region, or was written there.
    fn put_page(&mut self, store: &Store, slot: u32, is_new: bool) {
        if self.is_dirty.len() <= slot as usize {
            self.is_dirty.resize(slot as usize + 1, false);
        }
        if store.slot(slot).state != State::Dirty {
            self.clean.put(slot, is_new);
            return;
        }
        let was_dirty = std::mem::replace(&mut self.is_dirty[slot as usize], true);
        if was_dirty {
            self.dirty.put(slot, false);
            return;
        }
        if !is_new {
            self.clean.left(slot);
        }
        self.dirty.put(slot, true);
        self.uses[store.shape.block_of(store.slot(slot).logical) as usize].dirty += 1;
    }

    /// Pages of a block that need not be read to complete it.
    fn there(store: &Store, block: u32) -> u32 {
        let is_there = |logical: &Lpn| {
            let clean = |slot: u32| store.slot(slot).state == State::Clean;
            store.find(Area::Blocks, *logical).is_some() || store.find(Area::Pages, *logical).is_some_and(clean)
        };
        store.shape.pages_of(block).filter(is_there).count() as u32
    }
}

impl Policy for Cbm {
    const AREAS: &'static [Area] = &[Area::Pages, Area::Blocks];
    const KEEPS_READS: bool = true;
    const SHARES_ROOM: bool = true;

    fn blocks_bytes(_: &Values) -> u64 {
        0
    }

    fn new(shape: Shape, values: &Values) -> Self {
        Self {
            dirty: PageList::new(),
            clean: PageList::new(),
            is_dirty: Vec::new(),
            uses: vec![Use::default(); shape.blocks() as usize],
            ranks: BTreeSet::new(),
            now: 0,
            threshold: values.real("buffer.cbm.threshold"),
            reads: (f64::from(shape.room()) * values.real("buffer.cbm.read_cache")) as u32,
            padding: Padding::CHOICES.read(values),
            by_block: FLUSHES_BLOCKS.read(values),
        }
    }

    #[inline]
    fn route(&mut self, piece: &Piece, store: &Store) -> Area {
        if store.held(Area::Blocks, piece.block) > 0 { Area::Blocks } else { Area::Pages }
    }

    #[inline]
    fn put(&mut self, store: &Store, area: Area, slot: u32, is_new: bool) {
        match area {
            Area::Pages => self.put_page(store, slot, is_new),
            Area::Blocks if is_new => self.rank(store, store.shape.block_of(store.slot(slot).logical)),
            Area::Blocks => {}
        }
    }

    fn wrote(&mut self, store: &Store, _: Area, piece: &Piece) {
        self.access(store, piece.block, piece.sectors);
    }

    fn read(&mut self, store: &Store, area: Area, slot: u32) {
        if area == Area::Pages {
            let list = if self.is_dirty[slot as usize] { &mut self.dirty } else { &mut self.clean };
            list.put(slot, false);
        }
        let shape = &store.shape;
        let logical = store.slot(slot).logical;
        let block = shape.block_of(logical);
        let start = (logical - shape.first_of(block)) * shape.sectors_per_page;
        self.access(store, block, (start, start + shape.sectors_per_page));
    }

    fn left(&mut self, store: &Store, area: Area, slot: u32, logical: Lpn) {
        let block = store.shape.block_of(logical);
        match area {
            Area::Pages if std::mem::take(&mut self.is_dirty[slot as usize]) => {
                self.dirty.left(slot);
                self.uses[block as usize].dirty -= 1;
            }
            Area::Pages => {
                self.clean.left(slot);
                return;
            }
            Area::Blocks => self.rank(store, block),
        }
        let Use { rank, dirty, .. } = self.uses[block as usize];
        if dirty == 0 && rank.is_none() && store.held(Area::Blocks, block) == 0 {
            self.uses[block as usize] = Use::default();
        }
    }

    fn victim(&mut self, store: &Store, area: Area) -> Option<Victim> {
        match area {
            Area::Blocks => {
                let block = self.ranks.first()?.block;
                let pad = self.padding.completes(Self::there(store, block), store.shape.len_of(block));
                Some(Victim::Block { block, pad })
            }
            Area::Pages => page_victim(&self.dirty, store, self.by_block).or(self.clean.oldest().map(Victim::Page)),
        }
    }

    #[inline]
    fn giver(&self, _: Area) -> Area {
        if self.ranks.is_empty() { Area::Pages } else { Area::Blocks }
    }

    fn moves(&mut self, store: &Store, block: u32) -> bool {
        let pages = store.shape.pages_of(block).len() as f64;
        f64::from(self.uses[block as usize].dirty) >= (pages * self.threshold).max(1.0)
    }

    #[inline]
    fn is_full_of_reads(&self) -> bool {
        self.clean.len() >= self.reads
    }

    fn read_victim(&mut self, _: &Store) -> Option<u32> {
        self.clean.oldest()
    }

    fn ram_bytes(&self) -> u64 {
        // A rank is two links, popularity and the end of the last access.
        self.dirty.ram_bytes() + self.clean.ram_bytes() + 16 * self.ranks.len() as u64
    }

    fn check(&self, store: &Store) -> Result<(), String> {
        let is_dirty = |slot: &u32| store.slot(*slot).state == State::Dirty;
        let (dirty, clean): (Vec<u32>, Vec<u32>) = store.pages(Area::Pages).partition(is_dirty);
        let mut counts = vec![0_u32; self.uses.len()];
        for slot in &dirty {
            counts[store.shape.block_of(store.slot(*slot).logical) as usize] += 1;
        }
        self.dirty.check_against(dirty)?;
        self.clean.check_against(clean)?;
        let mut ranked = 0;
        for (block, of_block) in (0..).zip(&self.uses) {
            let held = store.held(Area::Blocks, block);
            let fits = match of_block.rank {
                None => held == 0,
                Some(rank) => held > 0 && rank.size == Reverse(held) && self.ranks.contains(&rank),
            };
            ranked += usize::from(of_block.rank.is_some());
            if !fits || of_block.dirty != counts[block as usize] {
                return Err(format!("logical block {block} is ranked or counted as another than the buffer has"));
            }
        }
        if ranked == self.ranks.len() { Ok(()) } else { Err("blocks are ranked that are not there".to_owned()) }
    }

    fn save(&self, store: &Store, writer: &mut SnapshotWriter) {
        self.dirty.save(store, writer);
        let mut used: Vec<(u32, &Use)> =
            (0..).zip(&self.uses).filter(|(_, of_block)| of_block.popularity > 0).collect();
        used.sort_unstable_by_key(|(_, of_block)| of_block.used);
        let state = used.into_iter().map(|(block, of_block)| [block, of_block.popularity, of_block.end]);
        writer.put("buffer.block_use", state);
    }

    fn load(&mut self, store: &Store, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.uses.fill(Use::default());
        self.ranks.clear();
        self.is_dirty.clear();
        self.clean = PageList::new();
        let mut saved = PageList::new();
        saved.load(store, reader)?;
        self.dirty = PageList::new();
        saved.oldest_first().for_each(|slot| self.put_page(store, slot, true));
        self.now = 0;
        for [block, popularity, end] in reader.each::<[u32; 3]>("buffer.block_use")? {
            let Some(of_block) = self.uses.get_mut(block as usize) else {
                return Err(SnapshotError::unfit("buffer.block_use", format!("the drive has no block {block}")));
            };
            self.now += 1;
            (of_block.popularity, of_block.end, of_block.used) = (popularity, end, self.now);
        }
        (0..store.shape.blocks()).for_each(|block| self.rank(store, block));
        Ok(())
    }
}
