//! Memory that outlives a power cut: whole pages of non-volatile write buffers and parity caches.
//!
//! A page is entered when something relies on it and leaves when flash holds its data, so a power cut at any moment
//! finds the pages that are here. Only kept when contents are on: without them nothing is recovered.

use crate::flash::Owner;
use crate::payloads::PayloadId;

/// A place in non-volatile memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NvramId(u32);

/// A page that is kept over a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NvramPage {
    /// The layer it belongs to.
    pub owner: Owner,
    /// Logical page, or whatever else the owner counts.
    pub logical: u32,
    /// Sectors held, bit by bit.
    pub mask: u64,
    /// Payload with their cells; [`PayloadId::NONE`] for an entry of its note alone.
    pub payload: PayloadId,
    /// Pages entered later are newer.
    pub order: u64,
    /// A number of the owner's.
    pub note: u64,
    /// Another one, 0 at first.
    pub number: u64,
}

/// Pages that are kept over a power cut, by their owner and logical page.
#[derive(Clone, Debug, Default)]
pub struct Nvram {
    pages: Vec<Option<NvramPage>>,
    free: Vec<u32>,
    entered: u64,
    lost: bool,
}

impl Nvram {
    /// Keeps a page, or more of one that is there.
    pub fn insert(&mut self, owner: Owner, logical: u32, mask: u64, payload: PayloadId, note: u64) -> NvramId {
        self.entered += 1;
        let page = Some(NvramPage { owner, logical, mask, payload, order: self.entered, note, number: 0 });
        if let Some(place) = self.free.pop() {
            self.pages[place as usize] = page;
            return NvramId(place);
        }
        self.pages.push(page);
        NvramId(self.pages.len() as u32 - 1)
    }

    /// More sectors of a page are held.
    ///
    /// # Panics
    /// If the page left.
    pub fn set_mask(&mut self, place: NvramId, mask: u64) {
        self.pages[place.0 as usize].as_mut().expect("a page is changed while it is held").mask = mask;
    }

    /// The owner's number for a page is another one.
    ///
    /// # Panics
    /// If the page left.
    pub fn set_note(&mut self, place: NvramId, note: u64) {
        self.pages[place.0 as usize].as_mut().expect("a page is changed while it is held").note = note;
    }

    /// The owner's other number for a page is this one.
    ///
    /// # Panics
    /// If the page left.
    pub fn set_number(&mut self, place: NvramId, number: u64) {
        self.pages[place.0 as usize].as_mut().expect("a page is changed while it is held").number = number;
    }

    /// Flash holds a page now, or nobody needs it.
    pub fn remove(&mut self, place: NvramId) {
        if self.pages[place.0 as usize].take().is_some() {
            self.free.push(place.0);
        }
    }

    /// The pages held, in the order in which they were entered.
    pub fn oldest_first(&self) -> Vec<(NvramId, NvramPage)> {
        let places = (0..).zip(&self.pages);
        let mut pages: Vec<_> = places.filter_map(|(place, page)| Some((NvramId(place), (*page)?))).collect();
        pages.sort_unstable_by_key(|(_, page)| page.order);
        pages
    }

    /// The pages that belong to a layer.
    pub fn of(&self, owner: Owner) -> Vec<(NvramId, NvramPage)> {
        let mut pages = self.oldest_first();
        pages.retain(|(_, page)| page.owner == owner);
        pages
    }

    /// The memory itself fails: everything in it is gone, and that is known.
    pub fn lose(&mut self) {
        *self = Self { lost: true, ..Self::default() };
    }

    /// Whether something that was here may be missing.
    pub fn is_lost(&self) -> bool {
        self.lost
    }

    /// The layers that relied on lost pages have made up for the loss.
    pub fn forget_loss(&mut self) {
        self.lost = false;
    }
}
