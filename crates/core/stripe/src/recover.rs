//! After a power cut: stripes whose parity is behind, as non-volatile memory and out-of-band areas tell.
//!
//! A data page whose sequence number is above its parity's is newer than it, and the mapping has found
//! the version below that number. The notes in memory of such a stripe are taken over; the others were being written,
//! and nobody was told that they were: their parity is computed from what is there.

use crate::array::Array;
use crate::cache::Entry;
use crate::jobs::{Job, Kind, Reason};
use crate::layout::{MOST_DATA, Member};
use crate::rebuild::{FILLED, GONE, KIND, REPLACED, Replaced};
use crate::scheme::Delay;
use crate::striped::Striped;
use crate::torn::Torn;
use layer::{Old, STRIPE_OWNER};
use nand::{Flash, FlashState, NvramPage, PayloadId};
use std::collections::{BTreeMap, BTreeSet};
use units::{DieId, Lpn, members};

/// Where the sets of pages without an old version, and of trimmed ones, begin in a note.
const ZEROS: u32 = MOST_DATA;
const TRIMS: u32 = 2 * MOST_DATA;
/// The second row of a parity.
const SECOND: u64 = 1 << 62;
/// The parity is of all pages, in a scheme whose parities in memory are not so as a rule.
const WHOLE: u64 = 1 << 61;
/// Bits of a set of data pages.
const PAGES: u64 = (1 << MOST_DATA) - 1;

/// Of stripes in memory: the last write that the parity covers, be it the one on flash or a full one in memory.
pub(crate) fn covered(image: &FlashState) -> BTreeMap<u32, u64> {
    let pages = image.memory.nvram.of(STRIPE_OWNER);
    pages.iter().filter(|(_, page)| page.note & REPLACED == 0).map(|(_, page)| (page.logical, page.number)).collect()
}

/// Spares in the place of lost dies, oldest first.
pub(crate) fn replacements(image: &FlashState) -> Vec<Replaced> {
    let pages = image.memory.nvram.of(STRIPE_OWNER);
    let die = |note: u64| DieId((note & !KIND) as u32);
    let notes = pages.iter().filter(|(_, page)| page.note & KIND == REPLACED);
    let beyond = |spare: DieId| {
        let notes = pages.iter().filter(|(_, page)| page.note & KIND == FILLED && die(page.note) == spare);
        notes.map(|(place, page)| (page.logical, *place)).collect()
    };
    let replaced = notes.map(|(place, page)| {
        let spare = die(page.note);
        Replaced { lost: DieId(page.logical), spare, place: *place, filled: page.number as u32, beyond: beyond(spare) }
    });
    replaced.collect()
}

impl<F: Flash> Striped<F> {
    /// Begins what a power cut left to be done.
    #[cold]
    pub fn resume(&mut self, flash: &mut F) {
        self.work.array.torn.is_fresh = false;
        self.work.array.below.resume(flash);
        self.work.array.trim_again(flash);
        self.work.array.give_up_doubtful(flash);
        self.work.array.torn.settle(&mut flash.memory_mut().nvram);
        for die in self.work.array.chips.lost_with_spares() {
            self.work.array.replace_die(flash, die);
        }
        while let Some(stripe) = self.work.array.torn.next() {
            self.work.jobs.enqueue(Job::new(Kind::Commit(Reason::Repair), stripe, 0));
        }
        self.rebuild_next(flash);
    }
}

impl<F: Flash> Array<F> {
    /// Enters a stripe in non-volatile memory, or what changed of it.
    pub fn remember(&mut self, flash: &mut F, slot: u32) {
        if !self.scheme.is_nonvolatile() || !flash.state().holds_contents() {
            return;
        }
        let (mask, Entry { stripe, newer, zeros, trims, parity, full, .. }) = (self.full_mask, *self.cache.at(slot));
        let is_full = self.scheme.delay == Delay::Full;
        let note = newer | zeros << ZEROS | trims << TRIMS | if full && !is_full { WHOLE } else { 0 };
        let number = if is_full { self.below.sequence() } else { self.cache.at(slot).covered };
        let rows = if self.scheme.delay == Delay::Idle { 1 } else { self.layout.parity };
        for row in 0..rows {
            let note = note | if row == 1 { SECOND } else { 0 };
            let payload = if self.scheme.delay == Delay::Idle { PayloadId::NONE } else { parity[row as usize] };
            let place = &mut self.cache.at_mut(slot).places[row as usize];
            let nvram = &mut flash.memory_mut().nvram;
            let place = *place.get_or_insert_with(|| nvram.insert(STRIPE_OWNER, stripe, mask, payload, note));
            nvram.set_note(place, note);
            nvram.set_number(place, number);
        }
    }

    /// Takes over what non-volatile memory holds.
    pub fn adopt_all(&mut self, state: &FlashState) {
        let rows = state.memory.nvram.of(STRIPE_OWNER);
        for (place, page) in rows {
            if page.note & REPLACED == 0 {
                self.adopt(place, &page);
            } else if page.note == GONE {
                self.gone.adopt(Lpn(page.logical), place);
            }
        }
    }

    /// Takes over what a power cut left.
    pub fn recover(&mut self, image: &FlashState) {
        self.adopt_all(image);
        let pages = (0..self.layout.pages() as u32).map(Lpn);
        let kept_pages: Vec<Lpn> = pages.filter(|page| self.below.old(*page) != Old::None).collect();
        for page in &kept_pages {
            self.note_kept(*page);
        }
        let kept: BTreeSet<u32> = kept_pages.iter().map(|page| self.layout.stripe_of(*page)).collect();
        let is_known = |stripe: &u32| self.cache.find(*stripe).is_some_and(|slot| !self.cache.at(slot).full);
        // Where a full parity is not meant to stay in memory, a full stripe was being written.
        let replaced =
            self.cache.all().filter(|entry| entry.full && self.scheme.delay != Delay::Full).map(|entry| entry.stripe);
        let torn: BTreeSet<u32> = kept.into_iter().filter(|stripe| !is_known(stripe)).chain(replaced).collect();
        self.torn = Torn::new(torn, image.memory.nvram.is_lost() && self.scheme.delays());
    }

    /// One row that memory holds of a stripe.
    pub fn adopt(&mut self, place: nand::NvramId, page: &NvramPage) {
        let (stripe, second) = (page.logical, page.note & SECOND != 0);
        let slot = self.cache.find(stripe).unwrap_or_else(|| self.cache.insert(stripe, false, [PayloadId::NONE; 2]));
        let entry = self.cache.at_mut(slot);
        entry.parity[usize::from(second)] = page.payload;
        entry.places[usize::from(second)] = Some(place);
        if self.scheme.delay == Delay::Full {
            entry.full = true;
            entry.newer = self.layout.all(); // which ones no longer matters
        } else {
            entry.covered = page.number;
            entry.newer = page.note & PAGES;
            entry.zeros = page.note >> ZEROS & PAGES;
            entry.trims = page.note >> TRIMS & PAGES;
            entry.full = page.note & WHOLE != 0;
            for index in members(entry.zeros) {
                self.below.forget_old(self.layout.data_page(stripe, index));
            }
        }
        self.cache.touch(slot);
    }

    /// Where memory holds no parity, flash may know of more newer pages than memory did: a trim is on flash before that
    /// is noted.
    pub fn note_kept(&mut self, page: Lpn) {
        let (stripe, chip) = (self.layout.stripe_of(page), self.layout.chip_of(page));
        if self.scheme.delay == Delay::Idle
            && let Some(slot) = self.cache.find(stripe)
            && let Member::Data(index) = self.layout.member(stripe, chip)
        {
            self.cache.at_mut(slot).newer |= 1 << index;
        }
    }

    /// Trims that memory knows of and flash does not are made again.
    pub fn trim_again(&mut self, flash: &mut F) {
        let entries = self.cache.all().filter(|entry| entry.trims != 0);
        let trims: Vec<Lpn> = entries
            .flat_map(|entry| members(entry.trims).map(|index| self.layout.data_page(entry.stripe, index)))
            .collect();
        for page in trims {
            let op = layer::PageOp {
                op: units::HostOp::Trim,
                kept: true,
                ..self.page_op(page, PayloadId::NONE, units::Cause::Host, 0)
            };
            let answer = self.below.submit(flash, &op);
            assert!(
                matches!(answer, layer::Answer::Done { .. }),
                "a trim takes no room in a mapping whose map is in memory"
            );
        }
    }

    /// Memory may have known a newer version of some stripes: their lost pages read as errors from now on.
    #[cold]
    pub fn give_up_doubtful(&mut self, flash: &mut F) {
        for stripe in self.torn.doubtful() {
            members(self.lost_members(stripe).0).for_each(|index| self.give_up(flash, stripe, index));
        }
    }
}
