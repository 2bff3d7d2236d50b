//! Moving what is at a place into a new stripe.

use super::entry::{Held, Place};
use super::log::Log;
use super::parity::ParityRecord;
use super::space::Stream;
use super::stripes::Content;
use nand::{Flash, FlashState};
use units::{Cause, Lpn};

impl Log {
    /// Writes what is at a place into a new stripe. `false`: there is no room.
    pub fn move_away<F: Flash>(&mut self, flash: &mut F, place: Place, cause: Cause) -> bool {
        match self.pages.held(place) {
            Held::Tombstone(first) => self.merge_tombstones(flash, first, place, cause),
            Held::Version(logical) => {
                let sequence = self.sequence_of(flash.state(), place);
                self.rewrite(flash, logical, place, sequence, cause)
            }
        }
    }

    /// Writes a page of data into a new stripe, with this sequence number. `false`: there is no room.
    pub fn rewrite<F: Flash>(
        &mut self,
        flash: &mut F,
        logical: Lpn,
        place: Place,
        sequence: u64,
        cause: Cause,
    ) -> bool {
        if !self.has_place(flash.state(), Stream::Copies) {
            return false;
        }
        let Some((cells, after)) = self.fetch(flash, place, cause, self.full_mask.count_ones() as u8) else {
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
    fn sequence_of(&self, state: &FlashState, place: Place) -> u64 {
        let Some(contents) = state.contents() else { return 0 };
        if !self.grid.is_lost(place) {
            return contents.oob(self.grid.page(place).0).sequence;
        }
        let stripe = self.roles.stripe_of(&self.grid, place);
        let record = stripe.and_then(|stripe| contents.record(self.grid.page(stripe.parity).0));
        let covered = record.and_then(ParityRecord::read).map_or(Vec::new(), |record| record.pages);
        covered.iter().find(|page| page.place == place).map_or(self.pages.sequence(), |page| page.sequence)
    }
}
