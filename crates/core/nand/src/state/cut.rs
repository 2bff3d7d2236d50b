//! The remains of a power cut, and all that it takes from volatile memory:
//! - queues, pins, holds, and events that nobody has heard of; that a program failed, and how an erased block was to be
//!   used;
//! - records, waiting times and payloads, except in non-volatile memory ([`Memory`]);
//! - pages on their way into cells, where their memory is not protected ([`UnsettledPages`]).
//!
//! [`Memory`]: crate::Memory

use super::FlashState;
use super::blocks::{BAD, BlockRow, SKIPS, SLC};
use crate::contents::PageKind;
use crate::memory::Held;
use engine::random::Stream;
use units::{BlockId, Cause, Ppn};

/// A command that was on its die when power was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Running {
    /// A program of this page.
    Program(Ppn),
    /// An erase of this block.
    Erase(BlockId),
    /// A program of so many pages of this block, which are in memory until it has ended.
    Gathered(BlockId, u32),
}

/// Pages that count as programmed and are in memory, when power is cut.
pub(crate) enum UnsettledPages {
    /// Protected memory keeps them: how many of each block.
    Kept(Vec<Held>),
    /// Memory loses them: those blocks that have any, and how many of their pages are in the cells.
    Lost(Vec<(BlockId, u32)>),
}

impl FlashState {
    /// Whether pages that count as programmed may be in memory that a power cut takes: flushes fill up programs then.
    #[inline]
    pub fn is_forgetful(&self) -> bool {
        self.forgetful
    }

    /// Pages counted as programmed that power cuts took back.
    pub fn taken_back(&self) -> u64 {
        self.taken_back
    }

    /// The same as [`FlashState::after_power_cut`] where pages are in memory.
    pub(crate) fn power_cut(&self, running: &[Running], pages: UnsettledPages, stream: &mut Stream) -> FlashState {
        let mut image = self.after_power_cut(running, stream);
        let blocks = match pages {
            UnsettledPages::Kept(held) => {
                image.memory.held = held;
                return image;
            }
            UnsettledPages::Lost(blocks) => blocks,
        };
        image.memory.held = vec![Held::default(); self.blocks.rows.len()];
        let mut cut = Cut { image: &mut image, stream };
        for (block, in_cells) in blocks {
            let programmed = running.iter().find_map(|command| match *command {
                Running::Gathered(of, pages) if of == block => Some(pages),
                _ => None,
            });
            // A page at which a program failed is neither programmed nor erased, nor are those before it.
            let has_failed = self.block(block).has_failed() && !self.block(block).is_bad();
            let torn = match programmed {
                _ if has_failed => cut.image.block(block).done.into(),
                Some(pages) if cut.stream.chance(0.5) => pages,
                _ => 0,
            };
            cut.take_back(block, in_cells, torn);
        }
        image.blocks.count_free();
        image
    }

    /// The state after power is cut while `running` commands are on their dies. Queues, pins,
    /// holds and volatile memory are gone; pages below each completion mark, wear and bad flags stay. That a
    /// program failed is forgotten unless its block has been given up since; the page it failed at
    /// is torn.
    /// The fate of a running program or erase is drawn from `stream`. A mirror is not told: the cut may be one that
    /// is only thought of.
    #[must_use]
    pub fn after_power_cut(&self, running: &[Running], stream: &mut Stream) -> FlashState {
        let mut image = self.clone();
        if let Some(contents) = image.contents.as_deref_mut() {
            contents.drop_mirror();
        }
        let mut cut = Cut { image: &mut image, stream };
        cut.forget_volatile();
        for command in running {
            match *command {
                Running::Program(page) => cut.tear_program(page),
                Running::Erase(block) => cut.tear_erase(block),
                Running::Gathered(..) => {} // its pages are in memory
            }
        }
        image.memory.lose_power();
        image.blocks.count_free();
        image
    }
}

/// Makes an image what a power cut leaves of it.
struct Cut<'a> {
    image: &'a mut FlashState,
    stream: &'a mut Stream,
}

impl Cut<'_> {
    /// Only what cells hold is left of each block.
    fn forget_volatile(&mut self) {
        self.image.events.clear();
        self.image.blocks.skips.clear();
        for block in (0..self.image.geometry.blocks()).map(BlockId) {
            if self.image.block(block).has_failed() {
                self.tear_failed_page(block);
            }
            let row = self.image.row(block);
            // How an erased block was to be used is in nobody's memory any more.
            let flags = row.flags & (BAD | SKIPS | if row.done > 0 { SLC } else { 0 });
            *row = BlockRow::at_rest(row.done, flags, row.erases);
        }
    }

    /// The page at which a program failed is neither programmed nor erased.
    fn tear_failed_page(&mut self, block: BlockId) {
        let pages = self.image.geometry.pages_per_block;
        let row = self.image.row(block);
        let done = u32::from(row.done);
        if row.is_bad() || done == pages {
            return;
        }
        row.done += 1;
        self.tear(self.image.geometry.page_at(block, done).0);
    }

    /// Neither data nor out-of-band area of a page can be read.
    fn tear(&mut self, page: u32) {
        if let Some(contents) = self.image.contents.as_deref_mut() {
            contents.set_oob_kind(page, PageKind::Torn);
        }
    }

    /// Pages of a block behind the first `in_cells` were in memory that lost its power; the cells of the first `torn`
    /// of them were being programmed.
    fn take_back(&mut self, block: BlockId, in_cells: u32, torn: u32) {
        let (done, kept) = (u32::from(self.image.block(block).done), in_cells + torn);
        let first = self.image.geometry.page_at(block, 0).0;
        (in_cells..done.min(kept)).for_each(|page| self.tear(first + page));
        if let Some(contents) = self.image.contents.as_deref_mut() {
            (kept..done).for_each(|page| contents.take_back(first + page));
        }
        self.image.taken_back += u64::from(done.saturating_sub(kept));
        let row = self.image.row(block);
        let kept = done.min(kept) as u16;
        (row.done, row.issued, row.entered) = (kept, kept, kept);
        if kept == 0 {
            row.flags &= !(SKIPS | SLC);
        }
    }

    fn tear_program(&mut self, page: Ppn) {
        let (block, position) = (self.image.geometry.block_of(page), self.image.geometry.page_in_block(page));
        let row = self.image.row(block);
        let passed_over = row.has_gaps() && u32::from(row.done) < position;
        if u32::from(row.done) != position && !passed_over || self.stream.chance(0.5) {
            return; // the array had not been touched yet
        }
        row.done = position as u16 + 1;
        (row.issued, row.entered) = (row.done, row.done);
        self.tear(page.0);
    }

    fn tear_erase(&mut self, block: BlockId) {
        match self.stream.below(3) {
            0 => {} // not begun
            1 => {
                self.image.complete_erase(block, Cause::Gc);
            }
            _ => {
                let first = self.image.geometry.page_at(block, 0).0;
                let done = u32::from(self.image.block(block).done);
                (first..first + done).for_each(|page| self.tear(page));
            }
        }
    }
}
