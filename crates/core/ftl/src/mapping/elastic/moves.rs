//! Moving what is at a page into a new stripe.

use super::log::Log;
use super::parity::ParityRecord;
use super::space::Stream;
use super::stripes::Content;
use crate::mapping::entry::Held;
use nand::{Flash, FlashState};
use units::{Cause, Lpn, Ppn};

impl Log {
    /// Writes what is at a page into a new stripe. `false`: there is no room.
    pub fn move_away<F: Flash>(&mut self, flash: &mut F, page: Ppn, cause: Cause) -> bool {
        match self.pages.back(page).held() {
            Held::Tombstone(slot) => self.merge_tombstones(flash, slot, page, cause),
            Held::Version(logical) => {
                let sequence = self.sequence_of(flash.state(), page);
                self.rewrite(flash, logical, page, sequence, cause)
            }
        }
    }

    /// Writes a page of data into a new stripe, with this sequence number. `false`: there is no room.
    pub fn rewrite<F: Flash>(&mut self, flash: &mut F, logical: Lpn, page: Ppn, sequence: u64, cause: Cause) -> bool {
        if !self.has_place(flash.state(), Stream::Copies) {
            return false;
        }
        let Some((cells, after)) = self.fetch(flash, page, cause, self.full_mask.count_ones() as u8) else {
            return self.give_up(flash, logical, sequence);
        };
        let content = Content::version(logical, sequence, cells, cause);
        let placed = self.put(flash, &content, after, Stream::Copies);
        if placed {
            self.counters.copied += 1;
        } else {
            flash.memory_mut().payloads.release(cells, 1);
        }
        placed
    }

    /// Sequence number of a page on flash: where it is not, its parity knows.
    fn sequence_of(&self, state: &FlashState, page: Ppn) -> u64 {
        let Some(contents) = state.contents() else { return 0 };
        if !self.grid.is_lost(page) {
            return contents.oob(page.0).sequence;
        }
        let stripe = self.roles.stripe_of(&self.grid, page);
        let record = stripe.and_then(|stripe| contents.record(stripe.parity.0));
        let covered =
            record.and_then(|record| ParityRecord::read(&self.grid, record)).map_or(Vec::new(), |record| record.pages);
        covered.iter().find(|covered| covered.page == page).map_or(self.pages.sequence(), |covered| covered.sequence)
    }
}
