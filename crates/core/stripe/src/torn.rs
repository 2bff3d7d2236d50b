//! Stripes that a power cut tore: it came between data and parity, or lost the memory that knew of them.

use nand::Nvram;
use std::collections::{BTreeSet, VecDeque};

/// See the module description.
#[derive(Debug, Default)]
pub(crate) struct Torn {
    /// Nothing was done since the power cut.
    pub is_fresh: bool,
    /// Stripes to be committed, and such commits under way.
    to_mend: VecDeque<u32>,
    under_way: u64,
    /// Stripes among them whose lost memory may have known more than flash does. Until they are committed, what their
    /// parity says of a lost page may be an old version.
    doubtful: BTreeSet<u32>,
    /// Newer pages, by stripe and number there, that were read although their parity finds no room: should their chip
    /// be lost as well, the old version must not be taken for them.
    seen: BTreeSet<(u32, u32)>,
}

impl Torn {
    /// The torn stripes after a power cut; `in_doubt`: memory was lost that may have known more of these stripes.
    pub fn new(stripes: BTreeSet<u32>, in_doubt: bool) -> Self {
        let to_mend = stripes.iter().copied().collect();
        let doubtful = if in_doubt { stripes } else { BTreeSet::new() };
        Self { is_fresh: true, to_mend, under_way: 0, doubtful, seen: BTreeSet::new() }
    }

    /// Nothing is being mended.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.under_way == 0
    }

    /// Nothing is being mended, and nothing is in doubt.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.is_quiet() && self.doubtful.is_empty()
    }

    /// Stripes that are not mended.
    pub fn left(&self) -> u64 {
        self.to_mend.len() as u64 + self.under_way
    }

    /// The next stripe to be mended; its commit begins.
    pub fn next(&mut self) -> Option<u32> {
        let stripe = self.to_mend.pop_front()?;
        self.under_way += 1;
        Some(stripe)
    }

    /// Such a commit is done.
    pub fn end_one(&mut self) {
        self.under_way -= 1;
    }

    /// A newer page was read whose parity does not cover it.
    pub fn see(&mut self, stripe: u32, index: u32) {
        self.seen.insert((stripe, index));
    }

    /// Pages that were seen so.
    pub fn seen(&self) -> Vec<(u32, u32)> {
        self.seen.iter().copied().collect()
    }

    pub fn doubtful(&self) -> Vec<u32> {
        self.doubtful.iter().copied().collect()
    }

    /// The parity of a stripe covers the versions on flash: pages seen before, and notes lost with memory, do not
    /// matter any more.
    pub fn mend(&mut self, nvram: &mut Nvram, stripe: u32) {
        if self.doubtful.remove(&stripe) {
            self.settle(nvram);
        }
        self.seen.retain(|(seen, _)| *seen != stripe);
    }

    /// Once nothing is in doubt the loss of the memory is made up for.
    pub fn settle(&mut self, nvram: &mut Nvram) {
        if self.doubtful.is_empty() {
            nvram.forget_loss();
        }
    }

    /// Checks its law.
    ///
    /// # Errors
    /// Something is in doubt that nobody mends.
    pub fn check(&self) -> Result<(), String> {
        match self.doubtful.first() {
            Some(stripe) if self.left() == 0 => Err(format!("stripe {stripe} is in doubt, and nobody mends it")),
            _ => Ok(()),
        }
    }
}
