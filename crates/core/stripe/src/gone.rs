//! The user's pages that are lost for good: they read as errors until they are written again, power cuts or not.

use layer::STRIPE_OWNER;
use nand::{Nvram, NvramId, PayloadId};
use std::collections::BTreeMap;

/// In the note of a page in non-volatile memory: nothing is left of it.
pub(crate) use crate::rebuild::GONE;
use units::Lpn;

/// Those pages, with the note of each that outlives a power cut.
#[derive(Debug, Default)]
pub(crate) struct Gone {
    notes: BTreeMap<Lpn, NvramId>,
}

impl Gone {
    /// Nothing was given up.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.notes.is_empty()
    }

    /// Whether a page of the user was given up.
    #[inline]
    pub fn has(&self, user: Lpn) -> bool {
        self.notes.contains_key(&user)
    }

    /// Gives a page up; `true`: it was not before.
    pub fn give_up(&mut self, nvram: &mut Nvram, user: Lpn) -> bool {
        let before = self.notes.len();
        self.notes.entry(user).or_insert_with(|| nvram.insert(STRIPE_OWNER, user.0, 0, PayloadId::NONE, GONE));
        self.notes.len() > before
    }

    /// A page is written anew.
    pub fn forget(&mut self, nvram: &mut Nvram, user: Lpn) {
        if let Some(place) = self.notes.remove(&user) {
            nvram.remove(place);
        }
    }

    /// Takes over a note that outlived a power cut.
    pub fn adopt(&mut self, user: Lpn, place: NvramId) {
        self.notes.insert(user, place);
    }
}
