//! Old versions that are in the way of an erase: their stripes are committed, or they are moved.

use std::collections::BTreeMap;
use units::Lpn;

/// See the module description.
#[derive(Debug, Default)]
pub(crate) struct Way {
    /// Pages of the mapping that collection has asked for since the last look.
    pub asked: Vec<Lpn>,
    /// By stripe that is to be committed for it: pages whose old versions collection waits for.
    by_stripe: BTreeMap<u32, Vec<Lpn>>,
    /// Of those stripes, the ones that wait for collection themselves: old versions of their pages are moved.
    to_be_moved: Vec<u32>,
}

impl Way {
    /// No old version is in the way.
    #[inline]
    pub fn is_free(&self) -> bool {
        self.by_stripe.is_empty()
    }

    /// Something is to be committed or moved.
    #[inline]
    pub fn is_waiting(&self) -> bool {
        !self.asked.is_empty() || !self.to_be_moved.is_empty()
    }

    /// An old version of a stripe is.
    pub fn has(&self, stripe: u32) -> bool {
        self.by_stripe.contains_key(&stripe)
    }

    /// The old version of a page is in the way.
    pub fn enter(&mut self, stripe: u32, page: Lpn) {
        self.by_stripe.entry(stripe).or_default().push(page);
    }

    /// Nothing of a stripe is in the way any more.
    pub fn clear(&mut self, stripe: u32) {
        self.by_stripe.remove(&stripe);
    }

    /// A stripe waits for room, which only collection makes: collection must not wait for it.
    #[inline]
    pub fn move_if_there(&mut self, stripe: u32) {
        // Mostly nothing is in the way, which is seen without a search.
        if !self.is_free() && self.has(stripe) {
            self.to_be_moved.push(stripe);
        }
    }

    /// Pages of one stripe whose old versions are to be moved.
    pub fn next_to_be_moved(&mut self) -> Option<Vec<Lpn>> {
        let stripe = self.to_be_moved.pop()?;
        Some(self.by_stripe.remove(&stripe).unwrap_or_default())
    }
}
