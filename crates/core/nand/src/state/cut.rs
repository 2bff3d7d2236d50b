//! What a power cut leaves, and all that it takes from volatile memory:
//! - queues, pins, holds, and events that nobody has heard of; that a program failed, and how an erased block was to be
//!   used;
//! - records, waiting times and payloads, but those of non-volatile memory ([`Memory`]);
//! - pages on their way into cells, where their memory is not protected ([`UnsettledPages`]).
//!
//! [`Memory`]: crate::Memory

use super::{BAD, BlockRow, FlashState, SKIPS, SLC};
use crate::contents::PageKind;
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
    Kept(Vec<u16>),
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

    pub(crate) fn set_forgetful(&mut self, on: bool) {
        self.forgetful = on;
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
        image.memory.held = vec![0; self.blocks.len()];
        for (block, in_cells) in blocks {
            let programmed = running.iter().find_map(|command| match *command {
                Running::Gathered(of, pages) if of == block => Some(pages),
                _ => None,
            });
            // A page at which a program failed is neither programmed nor erased, nor are those before it.
            let has_failed = self.block(block).has_failed() && !self.block(block).is_bad();
            let torn = match programmed {
                _ if has_failed => image.block(block).done.into(),
                Some(pages) if stream.chance(0.5) => pages,
                _ => 0,
            };
            image.take_back(block, in_cells, torn);
        }
        image
    }

    /// What is left after power is cut while `running` commands are on their dies. Queues, pins,
    /// holds and volatile memory are gone; pages below each completion mark, wear and bad flags stay. That a
    /// program failed is forgotten unless its block has been given up since; the page it failed at
    /// is torn.
    /// What becomes of a running program or erase is drawn from `stream`. A mirror is not told: the cut may be one that
    /// is only thought of.
    #[must_use]
    pub fn after_power_cut(&self, running: &[Running], stream: &mut Stream) -> FlashState {
        let mut image = self.clone();
        if let Some(contents) = image.contents.as_deref_mut() {
            contents.drop_mirror();
        }
        image.events.clear();
        image.skips.clear();
        for index in 0..image.blocks.len() {
            if image.blocks[index].has_failed() {
                image.tear_failed_page(BlockId(index as u32));
            }
        }
        let is_unused = |index: &usize| image.blocks[*index].is_slc() && image.blocks[*index].done == 0;
        let unused: Vec<usize> = (0..image.blocks.len()).filter(is_unused).collect();
        for row in &mut image.blocks {
            *row = BlockRow {
                done: row.done,
                issued: row.done,
                entered: row.done,
                erases: row.erases,
                // How an erased block was to be used is in nobody's memory any more.
                flags: row.flags & (BAD | SKIPS | if row.done > 0 { SLC } else { 0 }),
                ..BlockRow::NEW
            };
        }
        for index in unused {
            image.reflect_block(BlockId(index as u32));
        }
        let pages = self.geometry.pages_per_block;
        for command in running {
            match *command {
                Running::Program(page) => image.tear_program(page, stream),
                Running::Erase(block) => image.tear_erase(block, pages, stream),
                Running::Gathered(..) => {} // its pages are in memory
            }
        }
        image.memory.lose_power();
        image
    }

    /// The page at which a program failed is neither programmed nor erased.
    fn tear_failed_page(&mut self, block: BlockId) {
        let done = u32::from(self.blocks[block.index()].done);
        if self.blocks[block.index()].is_bad() || done == self.geometry.pages_per_block {
            return;
        }
        self.blocks[block.index()].done += 1;
        if let Some(contents) = self.contents.as_deref_mut() {
            contents.set_oob_kind(self.geometry.page_at(block, done).0, PageKind::Torn);
        }
    }

    /// Pages of a block behind the first `in_cells` were in memory that lost its power; the cells of the first `torn`
    /// of them were being programmed.
    fn take_back(&mut self, block: BlockId, in_cells: u32, torn: u32) {
        let (done, kept) = (u32::from(self.blocks[block.index()].done), in_cells + torn);
        let first = self.geometry.page_at(block, 0).0;
        if let Some(contents) = self.contents.as_deref_mut() {
            (in_cells..done.min(kept)).for_each(|page| contents.set_oob_kind(first + page, PageKind::Torn));
            (kept..done).for_each(|page| contents.take_back(first + page));
        }
        self.taken_back += u64::from(done.saturating_sub(kept));
        let row = &mut self.blocks[block.index()];
        let kept = done.min(kept) as u16;
        (row.done, row.issued, row.entered) = (kept, kept, kept);
        if kept == 0 {
            row.flags &= !(SKIPS | SLC);
            self.reflect_block(block);
        }
    }

    fn tear_program(&mut self, page: Ppn, stream: &mut Stream) {
        let block = self.geometry.block_of(page);
        let position = self.geometry.page_in_block(page);
        let row = &mut self.blocks[block.index()];
        let passed_over = row.flags & SKIPS != 0 && u32::from(row.done) < position;
        if u32::from(row.done) != position && !passed_over || stream.chance(0.5) {
            return; // the array had not been touched yet
        }
        row.done = position as u16 + 1;
        row.issued = row.done;
        row.entered = row.done;
        if let Some(contents) = self.contents.as_deref_mut() {
            contents.set_oob_kind(page.0, PageKind::Torn);
        }
    }

    fn tear_erase(&mut self, block: BlockId, pages: u32, stream: &mut Stream) {
        match stream.below(3) {
            0 => {} // not begun
            1 => {
                self.complete_erase(block, Cause::Gc);
            }
            _ => {
                let done = u32::from(self.blocks[block.index()].done);
                let first = block.0 * pages;
                if let Some(contents) = self.contents.as_deref_mut() {
                    for page in first..first + done {
                        contents.set_oob_kind(page, PageKind::Torn);
                    }
                }
            }
        }
    }
}
