//! Pages that could not be written back: the host was told that they are stored, and they are not.
//!
//! The layer below holds an older version, so reads of them are errors until they are written anew as a whole, and the
//! next flush fails. Non-volatile memory remembers them over a power cut.

use crate::buffered::Buffered;
use crate::policy::Policy;
use crate::read::versions;
use layer::PageOp;
use nand::{Flash, Memory, NvramId, PayloadId};
use std::collections::BTreeMap;
use units::Lpn;

/// In the note of an entry of non-volatile memory: the page is lost.
pub(crate) const LOST: u64 = 2;

#[derive(Debug, Default)]
pub(crate) struct Lost {
    /// By logical page; where non-volatile memory has a note of it.
    pages: BTreeMap<Lpn, Option<NvramId>>,
    /// Some since the last flush.
    pub since_flush: bool,
}

impl Lost {
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Whether a page could not be written back.
    pub fn has(&self, logical: Lpn) -> bool {
        self.pages.contains_key(&logical)
    }

    pub fn count(&self) -> u64 {
        self.pages.len() as u64
    }

    pub fn pages(&self) -> impl ExactSizeIterator<Item = Lpn> + use<'_> {
        self.pages.keys().copied()
    }

    /// Takes a page from a snapshot; non-volatile memory may have brought it along.
    pub fn restore(&mut self, logical: Lpn) {
        self.pages.entry(logical).or_insert(None);
    }

    /// Takes over a note that a power cut left.
    pub fn adopt(&mut self, logical: Lpn, place: NvramId) {
        self.pages.insert(logical, Some(place));
    }

    /// A page is as the host wants it again.
    pub fn forget(&mut self, memory: &mut Memory, logical: Lpn) {
        if let Some(Some(place)) = self.pages.remove(&logical) {
            memory.nvram.remove(place);
        }
    }
}

impl<F: Flash, P: Policy> Buffered<F, P> {
    /// The page in a slot was not written back.
    #[cold]
    pub fn lose(&mut self, flash: &mut F, slot: u32) {
        let entry = self.store.slot(slot);
        let (logical, full) = (entry.logical, self.store.shape.full_mask);
        // Of padding nothing was changed below, and a whole newer version makes up for an older one.
        let is_made_up_for = versions(&self.store, logical)
            .take_while(|other| *other != slot)
            .any(|other| self.store.slot(other).mask == full);
        if entry.is_padding || is_made_up_for {
            return;
        }
        self.lost.since_flush = true;
        if !self.lost.pages.contains_key(&logical) {
            let remembers = self.store.nonvolatile && flash.state().holds_contents();
            let place =
                remembers.then(|| flash.memory_mut().nvram.insert(self.owner, logical.0, 0, PayloadId::NONE, LOST));
            self.lost.pages.insert(logical, place);
        }
    }

    /// Whether a read wants what is lost and not in memory either.
    #[cold]
    pub fn wants_lost(&self, op: &PageOp) -> bool {
        let full = self.store.shape.full_mask;
        self.lost.pages.range(op.first..op.first + op.pages).any(|(logical, _)| {
            let held: u64 = versions(&self.store, *logical).fold(0, |held, slot| held | self.store.slot(slot).mask);
            op.mask_at(*logical - op.first, full) & !held != 0
        })
    }
}
