//! Admission of a collection that moves translation pages or makes them change: the room it is promised.

use super::PageMap;
use super::place::Stream;
use super::scheme::Scheme;
use super::translation::Translation;
use nand::Flash;
use units::{BlockId, Ppn};

/// What emptying a block takes.
struct Need {
    /// Where its user data goes.
    stream: Stream,
    /// Pages there.
    data: u32,
    /// Translation pages moved.
    translation: u32,
    /// Translation pages programmed anew at most.
    updates: u32,
}

impl<S: Scheme> PageMap<S> {
    /// Keeps the host from what room for translation pages this collection was admitted with.
    pub(super) fn promise<F: Flash>(&mut self, flash: &F, lane: usize, victim: BlockId, pages: &[u32]) {
        let need = self.need(flash, victim);
        let holds_translation = self.held_translation(flash, victim);
        self.lanes[lane].promised = need.translation + need.updates;
        self.translation.promise(lane, need.translation + need.updates);
        let counters = &mut self.translation.counters;
        if holds_translation {
            counters.translation_victims += 1;
            counters.translation_victim_pages += pages.len() as u64;
        } else {
            counters.data_victims += 1;
            let touched = self.touched(pages);
            self.translation.counters.victim_translation_pages += touched;
        }
    }

    /// Whether a block was filled with translation pages, valid still or not. Of a block that a power cut left without
    /// a valid page this is not known: it counts as data.
    fn held_translation<F: Flash>(&self, flash: &F, block: BlockId) -> bool {
        let programmed =
            self.pages.backs(self.geometry.page_at(block, 0), usize::from(flash.core().block(block).issued));
        let known = programmed.iter().find_map(|back| back.logical());
        known.is_some_and(|logical| logical.index() >= self.user_pages())
    }

    /// Translation pages with entries of these pages. `pages`: of user data, in a block.
    fn touched(&mut self, pages: &[u32]) -> u64 {
        self.translation.look += 1;
        let mut touched = 0;
        for page in pages {
            let Some(logical) = self.pages.back(Ppn(*page)).logical() else { continue };
            let seen = &mut self.translation.seen[self.translation.shape.page_of(logical.0) as usize];
            touched += u64::from(*seen != self.translation.look);
            *seen = self.translation.look;
        }
        touched
    }

    /// A translation page promised to this plane's collection was used.
    #[inline]
    pub(super) fn use_promise(&mut self, lane: usize) {
        if self.lanes[lane].promised > 0 {
            self.lanes[lane].promised -= 1;
            self.translation.release_promise(lane, 1);
        }
    }

    pub(super) fn release_promise(&mut self, lane: usize) {
        if S::DEMAND {
            let rest = std::mem::take(&mut self.lanes[lane].promised);
            self.translation.release_promise(lane, rest);
        }
    }

    /// Pages that moving what is valid out of a block takes.
    fn need<F: Flash>(&self, flash: &F, block: BlockId) -> Need {
        let trims = !self.trims.is_empty() && flash.core().block(block).pins > 0;
        let mut need = Need { stream: Stream::Copies, data: u32::from(trims), translation: 0, updates: 0 };
        let mut user = 0;
        for page in self.pages.blocks.valid_pages_of(block) {
            match self.copy_stream(self.pages.back(Ppn(page))) {
                Stream::Translation => need.translation += 1,
                stream => {
                    need.stream = stream;
                    need.data += 1;
                    user += 1;
                }
            }
        }
        if S::OWN_BLOCKS {
            need.translation += std::mem::take(&mut need.data) - user;
            need.data = user;
        }
        need.updates = Translation::<S>::most_updates(user);
        need
    }

    /// Admission where translation pages need room as well, with or without those that change.
    pub(super) fn admits_translation<F: Flash>(&self, flash: &F, lane: usize, victim: BlockId, updates: bool) -> bool {
        let blocks = |pages: u32| pages.div_ceil(self.geometry.pages_per_block) as usize;
        let free = self.lanes[lane].free.len();
        let room = self.frontier(lane, Stream::Translation).room();
        let translation_room = room.saturating_sub(self.translation.promised_in(lane));
        // Whatever a block holds, this many pages of either kind are enough; most are admitted so.
        let most = self.pages.blocks.valid_count(victim) + 1;
        if !S::OWN_BLOCKS {
            let data_room = self.frontier(lane, self.data_stream()).room();
            if blocks(most.saturating_sub(data_room)) + blocks(most.saturating_sub(translation_room)) <= free {
                return true;
            }
        }
        let need = self.need(flash, victim);
        let translation = need.translation + if updates { need.updates } else { 0 };
        let stream = if S::OWN_BLOCKS { need.stream } else { self.data_stream() };
        let data_room = if need.data == 0 { 0 } else { self.frontier(lane, stream).room() };
        let more = blocks(need.data.saturating_sub(data_room)) + blocks(translation.saturating_sub(translation_room));
        more <= free
    }
}
