//! `sorted`: single pages, which leave in order of logical pages.
//!
//! Faithful to: the data buffer of `LeaFTL` (ASPLOS 2023), which sorts its pages by logical page before they are
//! programmed. So neighbours on flash are neighbours on the drive.
//! Decided here: a hand goes over the logical pages and begins anew behind the last one. The next page on its way
//! leaves when room is needed. Pages that are written ahead of the hand join its round. A buffer that is emptied as a
//! whole makes runs of its own size. A hand makes runs up to twice as long, as replacement selection does.
//! Simplified: reads and repeated writes change no order.
//! Protects: one bit for each page buffered; a page behind the hand waits for the next round.

use super::{Piece, Policy, Victim, with_common};
use crate::Buffer;
use crate::parameters::{Area, Shape};
use crate::store::Store;
use layer::{SnapshotError, SnapshotReader, SnapshotWriter, Values};
use units::Lpn;

pub(super) fn entry() -> Buffer {
    let doc = "single pages, which leave in order of logical pages";
    let when = "Use it with ftl.kind = leaftl, whose segments need pages in order. A hot page leaves as early as a \
                cold one, so other mappings gain less than from kinds by recency.";
    super::entry::<Sorted>("sorted", doc, when, || with_common(&[]))
}

/// See the module description.
pub(crate) struct Sorted {
    /// Logical pages buffered, a bit each.
    pages: Vec<u64>,
    len: u32,
    /// The logical page that the hand comes to next.
    hand: u32,
}

impl Sorted {
    fn is_held(&self, page: Lpn) -> bool {
        self.pages[page.index() / 64] >> (page.0 % 64) & 1 == 1
    }

    fn flip(&mut self, page: Lpn) {
        self.pages[page.index() / 64] ^= 1 << (page.0 % 64);
    }

    /// The first page buffered from the hand on, or else from the first page of the drive on.
    fn next(&self) -> Option<Lpn> {
        let at = self.hand as usize / 64;
        let ahead = self.pages.get(at).map(|word| word & (u64::MAX << (self.hand % 64)));
        let words = ahead.into_iter().chain(self.pages.iter().skip(at + 1).copied());
        let found = (at..).zip(words).find(|(_, word)| *word > 0);
        let (at, word) = found.or_else(|| (0..).zip(self.pages.iter().copied()).find(|(_, word)| *word > 0))?;
        Some(Lpn(at as u32 * 64 + word.trailing_zeros()))
    }
}

impl Policy for Sorted {
    const AREAS: &'static [Area] = &[Area::Pages];

    fn blocks_bytes(_: &Values) -> u64 {
        0
    }

    fn new(shape: Shape, _: &Values) -> Self {
        Self { pages: vec![0; shape.user_pages.div_ceil(64) as usize], len: 0, hand: 0 }
    }

    #[inline]
    fn route(&mut self, _: &Piece, _: &Store) -> Area {
        Area::Pages
    }

    #[inline]
    fn put(&mut self, store: &Store, _: Area, slot: u32, is_new: bool) {
        if is_new {
            self.flip(store.slot(slot).logical);
            self.len += 1;
        }
    }

    #[inline]
    fn left(&mut self, _: &Store, _: Area, _: u32, logical: Lpn) {
        self.flip(logical);
        self.len -= 1;
    }

    #[inline]
    fn victim(&mut self, store: &Store, area: Area) -> Option<Victim> {
        let page = self.next()?;
        self.hand = page.0 + 1;
        store.find(area, page).map(Victim::Page)
    }

    fn ram_bytes(&self) -> u64 {
        // A sorted list has four bytes a page.
        4 * u64::from(self.len)
    }

    fn check(&self, store: &Store) -> Result<(), String> {
        let held: Vec<Lpn> = store.pages(Area::Pages).map(|slot| store.slot(slot).logical).collect();
        let listed: u32 = self.pages.iter().map(|word| word.count_ones()).sum();
        let agrees = listed == self.len && held.len() == listed as usize && held.iter().all(|page| self.is_held(*page));
        if agrees { Ok(()) } else { Err("the sorted pages are others than the buffer has".to_owned()) }
    }

    fn save(&self, _: &Store, writer: &mut SnapshotWriter) {
        writer.put("buffer.hand", [self.hand]);
    }

    fn load(&mut self, store: &Store, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.pages.fill(0);
        self.len = 0;
        for slot in store.pages(Area::Pages) {
            self.put(store, Area::Pages, slot, true);
        }
        let mut hands = reader.each::<u32>("buffer.hand")?;
        self.hand = match (hands.next(), hands.next()) {
            (Some(hand), None) if hand <= store.shape.user_pages => hand,
            _ => return Err(SnapshotError::unfit("buffer.hand", "it is not one page of this drive".to_owned())),
        };
        Ok(())
    }
}
