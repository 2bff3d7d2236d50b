//! `page-lru` and `page-only`: pages one by one, the one written longest ago leaves first.
//!
//! Faithful to: least recently written first; `page-only` takes all pages of the victim's logical block along
//! in ascending order ("page-level only" of the two-level buffer of 2009).
//! Simplified: reads change no order.
//! Protects: one entry a page, in the order of writes.

use super::page_list::PageList;
use super::{Piece, Policy, Victim, with_common};
use crate::Buffer;
use crate::parameters::{Area, BLOCK_SIZE, Shape};
use crate::store::Store;
use layer::{Choices, Parameter, ParameterKind, SnapshotError, SnapshotReader, SnapshotWriter, Values};
use units::Lpn;

/// Whether what is there of its logical block leaves with the victim.
pub(super) const FLUSHES_BLOCKS: Choices<bool> = Choices {
    key: "buffer.flush_unit",
    table: &[
        ("block", "that page, with all buffered pages of its logical block", true),
        ("page", "that page alone", false),
    ],
};

pub(super) const FLUSH_UNIT: Parameter = Parameter::new(
    FLUSHES_BLOCKS.key,
    ParameterKind::Choice(|| FLUSHES_BLOCKS.named()),
    "block",
    "The pages that leave together when the page written longest ago has to leave the part for single pages.",
);

pub(super) fn page_lru() -> Buffer {
    let doc = "single pages; the page written longest ago leaves alone";
    let when = "Use it over a page-level mapping as the plain reference: it needs little bookkeeping and absorbs \
                overwrites. Kinds that send neighbours together, such as lb-clock and fab, cause fewer copies.";
    super::entry::<Pages<false>>("page-lru", doc, when, || with_common(&[]))
}

pub(super) fn page_only() -> Buffer {
    let doc = "single pages; the page written longest ago leaves with its logical block";
    let when = "Use it where the pages of a logical block become invalid together, for neighbours leave together. \
                Neighbours in use leave early, so the hit ratio is a little lower than with page-lru.";
    super::entry::<Pages<true>>("page-only", doc, when, || with_common(&[FLUSH_UNIT, BLOCK_SIZE]))
}

/// Single pages; with `BLOCKS` a victim may take what is there of its logical block along.
pub(crate) struct Pages<const BLOCKS: bool> {
    list: PageList,
    by_block: bool,
}

/// The victim of a list of pages.
pub(super) fn page_victim(list: &PageList, store: &Store, by_block: bool) -> Option<Victim> {
    let slot = list.oldest()?;
    let block = store.shape.block_of(store.slot(slot).logical);
    // Alone in its block it need not be looked for.
    let goes_alone = !by_block || store.held(Area::Pages, block) == 1;
    Some(if goes_alone { Victim::Page(slot) } else { Victim::Block { block, pad: false } })
}

impl<const BLOCKS: bool> Policy for Pages<BLOCKS> {
    const AREAS: &'static [Area] = &[Area::Pages];

    fn blocks_bytes(_: &Values) -> u64 {
        0
    }

    fn new(_: Shape, values: &Values) -> Self {
        Self { list: PageList::new(), by_block: BLOCKS && FLUSHES_BLOCKS.read(values) }
    }

    #[inline]
    fn route(&mut self, _: &Piece, _: &Store) -> Area {
        Area::Pages
    }

    #[inline]
    fn put(&mut self, _: &Store, _: Area, slot: u32, is_new: bool) {
        self.list.put(slot, is_new);
    }

    #[inline]
    fn left(&mut self, _: &Store, _: Area, slot: u32, _: Lpn) {
        self.list.left(slot);
    }

    #[inline]
    fn victim(&mut self, store: &Store, _: Area) -> Option<Victim> {
        page_victim(&self.list, store, self.by_block)
    }

    fn ram_bytes(&self) -> u64 {
        self.list.ram_bytes()
    }

    fn check(&self, store: &Store) -> Result<(), String> {
        self.list.check(store)
    }

    fn save(&self, store: &Store, writer: &mut SnapshotWriter) {
        self.list.save(store, writer);
    }

    fn load(&mut self, store: &Store, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.list.load(store, reader)
    }
}
