//! `cflru`: pages in order of use, read ones as well; a clean one near the tail leaves before any dirty one.
//!
//! Faithful to: "CFLRU" (CASES 2006). There is a window at the tail of the order. The clean page nearest to the tail
//! inside it is dropped. Without one, the tail is written back.
//! Simplified: a read never waits for a write-back. Where the tail and its window are dirty, a page that was read is
//! not kept. So under many writes few clean pages are there.
//! Protects: one entry a page, in the order of use.

use super::page_list::PageList;
use super::{Piece, Policy, Victim, with_common};
use crate::Buffer;
use crate::parameters::{Area, Shape};
use crate::store::{State, Store};
use layer::{Parameter, ParameterKind, SnapshotError, SnapshotReader, SnapshotWriter, Values};
use units::Lpn;

const WINDOW: Parameter = Parameter::new(
    "buffer.cflru.window",
    ParameterKind::Share { max: 1.0 },
    "10%",
    "Share of the buffer, from the tail, in which clean pages leave before dirty ones. A larger window saves more \
     writes to flash and costs read hits.",
)
.example("30%");

pub(super) fn entry() -> Buffer {
    let doc = "pages read and written in order of use; clean pages near the tail leave first";
    let when = "Use it for a host that reads again soon: pages that were read stay as well, and a clean page leaves \
                without a program. Under writes alone it is page-lru.";
    super::entry::<Cflru>("cflru", doc, when, || with_common(&[WINDOW]))
}

/// See the module description.
pub(crate) struct Cflru {
    list: PageList,
    window: usize,
}

impl Policy for Cflru {
    const AREAS: &'static [Area] = &[Area::Pages];
    const KEEPS_READS: bool = true;

    fn blocks_bytes(_: &Values) -> u64 {
        0
    }

    fn new(shape: Shape, values: &Values) -> Self {
        let window = f64::from(shape.pages[Area::Pages.index()]) * values.real("buffer.cflru.window");
        Self { list: PageList::new(), window: window.ceil() as usize }
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
    fn read(&mut self, _: &Store, _: Area, slot: u32) {
        self.list.put(slot, false);
    }

    #[inline]
    fn left(&mut self, _: &Store, _: Area, slot: u32, _: Lpn) {
        self.list.left(slot);
    }

    fn victim(&mut self, store: &Store, _: Area) -> Option<Victim> {
        let clean = |slot: &u32| store.slot(*slot).state != State::Dirty;
        let slot = self.list.oldest_first().take(self.window).find(clean).or_else(|| self.list.oldest())?;
        Some(Victim::Page(slot))
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
