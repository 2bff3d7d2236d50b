//! `two-level`: small random writes page by page, all others by logical block.
//!
//! Faithful to: the two-level write buffer of 2009. A request no larger than a limit goes to the page-level part,
//! unless the block-level part has its logical block. A page leaves with the other buffered pages of its logical
//! block, in order, logged below. Blocks leave in the order of sequential use, complete ones first. A block is
//! completed if at least half of it is there, and logged otherwise.
//! Simplified: a page that both parts hold is newer in the block-level part, sector by sector. Where the publication
//! drops the older page, its other sectors are kept, because dropping them would lose data.
//! Protects: one entry a page and a block; no sector older than one written later.

use super::block::{PADDING, block_victim};
use super::block_list::{BlockList, Padding, Promotion};
use super::identify::{self, Identify};
use super::page::{FLUSH_UNIT, FLUSHES_BLOCKS, page_victim};
use super::page_list::PageList;
use super::{Piece, Policy, Victim, with_common};
use crate::Buffer;
use crate::parameters::{ACCOUNTING, Area, BLOCK_SIZE, Shape};
use crate::store::Store;
use layer::{LayerReport, Parameter, ParameterKind, SnapshotError, SnapshotReader, SnapshotWriter, Values};
use units::Lpn;

const BLOCK_BUFFER: Parameter = Parameter::new(
    "buffer.block_buffer",
    ParameterKind::Size { min: 512, max: 1 << 40 },
    "8MiB",
    "Bytes of buffer.size that belong to the block-level part. Raise it for long writes, lower it for small random \
     writes.",
)
.example("4MiB");

pub(super) fn entry() -> Buffer {
    let doc = "small writes page by page, large writes by logical block";
    let when = "Use it where small random writes and long writes mix over a log-block mapping. The two parts have \
                fixed shares of the memory, so one may be full while the other is empty.";
    super::entry::<TwoLevel>("two-level", doc, when, || {
        let mut all = with_common(&[BLOCK_BUFFER, BLOCK_SIZE, ACCOUNTING, PADDING, FLUSH_UNIT]);
        all.extend(identify::PARAMETERS);
        all
    })
}

/// See the module description.
pub(crate) struct TwoLevel {
    pages: PageList,
    blocks: BlockList,
    padding: Padding,
    by_block: bool,
    identify: Identify,
    small: u64,
    redirected: u64,
}

impl Policy for TwoLevel {
    const AREAS: &'static [Area] = &[Area::Pages, Area::Blocks];
    const HAS_FRAMES: bool = true;

    fn blocks_bytes(values: &Values) -> u64 {
        values.whole("buffer.block_buffer")
    }

    fn new(shape: Shape, values: &Values) -> Self {
        Self {
            pages: PageList::new(),
            blocks: BlockList::new(&shape, Promotion::Continuation, true, false),
            padding: Padding::CHOICES.read(values),
            by_block: FLUSHES_BLOCKS.read(values),
            identify: Identify::new(&shape, values),
            small: 0,
            redirected: 0,
        }
    }

    fn route(&mut self, piece: &Piece, store: &Store) -> Area {
        let is_small = self.identify.is_random(piece);
        let resident = store.held(Area::Blocks, piece.block) > 0;
        self.small += u64::from(is_small);
        self.redirected += u64::from(is_small && resident);
        if resident || !is_small { Area::Blocks } else { Area::Pages }
    }

    #[inline]
    fn put(&mut self, store: &Store, area: Area, slot: u32, is_new: bool) {
        match area {
            Area::Pages => self.pages.put(slot, is_new),
            Area::Blocks => self.blocks.put(store, store.shape.block_of(store.slot(slot).logical), is_new),
        }
    }

    fn wrote(&mut self, store: &Store, area: Area, piece: &Piece) {
        if area == Area::Blocks {
            self.blocks.wrote(store, piece);
        }
    }

    #[inline]
    fn left(&mut self, store: &Store, area: Area, slot: u32, logical: Lpn) {
        match area {
            Area::Pages => self.pages.left(slot),
            Area::Blocks => self.blocks.left(store, store.shape.block_of(logical)),
        }
    }

    fn victim(&mut self, store: &Store, area: Area) -> Option<Victim> {
        match area {
            Area::Pages => page_victim(&self.pages, store, self.by_block),
            Area::Blocks => block_victim(&self.blocks, store, self.padding),
        }
    }

    fn ram_bytes(&self) -> u64 {
        self.pages.ram_bytes() + self.blocks.ram_bytes() + self.identify.ram_bytes()
    }

    fn check(&self, store: &Store) -> Result<(), String> {
        self.pages.check(store)?;
        self.blocks.check(store)
    }

    fn report(&self, report: &mut LayerReport) {
        report.counters.extend([("small_writes", self.small), ("redirected_writes", self.redirected)]);
    }

    fn reset_counters(&mut self) {
        (self.small, self.redirected) = (0, 0);
    }

    fn save(&self, store: &Store, writer: &mut SnapshotWriter) {
        self.pages.save(store, writer);
        self.blocks.save(writer);
        self.identify.save(writer);
    }

    fn load(&mut self, store: &Store, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.pages.load(store, reader)?;
        self.blocks.load(store, reader)?;
        self.identify.load(reader)
    }
}
