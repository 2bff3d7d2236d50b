//! Blocks that are programmed with one bit a cell: fewer pages, and an endurance of their own.

use super::{FlashState, SLC};
use units::BlockId;

/// Blocks that may be programmed with one bit a cell.
#[derive(Clone, Debug)]
pub(super) struct SlcMode {
    /// Bits that a cell holds otherwise.
    bits: u32,
    /// Erases that a block survives with one bit a cell; 0: it never wears out.
    endurance: u32,
    /// Erases of each block after it was used so.
    pub(super) erases: Vec<u32>,
}

impl FlashState {
    /// Lets blocks be programmed with one bit a cell, where a cell holds `bits` otherwise. `endurance`: erases that a
    /// block survives when it is used so; 0: it never wears out.
    ///
    /// # Panics
    /// If the pages of a block are no whole number of word lines.
    pub fn allow_slc(&mut self, bits: u32, endurance: u32) {
        assert!(self.geometry.pages_per_block.is_multiple_of(bits), "a block has whole word lines");
        self.slc = Some(Box::new(SlcMode { bits, endurance, erases: vec![0; self.blocks.len()] }));
    }

    /// Pages that a block has as it is used now.
    #[inline]
    pub fn pages_of(&self, block: BlockId) -> u32 {
        match &self.slc {
            Some(slc) if self.block(block).is_slc() => self.geometry.pages_per_block / slc.bits,
            _ => self.geometry.pages_per_block,
        }
    }

    /// Pages that one program of a block writes, as the block is used now.
    pub fn program_pages(&self, block: BlockId) -> u32 {
        let bits = if self.block(block).is_slc() { self.slc_bits() } else { 1 };
        self.geometry.pages_per_program() / bits
    }

    /// Bits of a cell that count as one where a block is used with one bit a cell.
    pub(crate) fn slc_bits(&self) -> u32 {
        self.slc.as_deref().map_or(1, |slc| slc.bits)
    }

    /// The erased block is programmed with one bit a cell until it is erased again.
    ///
    /// # Panics
    /// If the block is not erased, or cells always hold as much.
    pub(crate) fn use_slc(&mut self, block: BlockId) {
        let row = &mut self.blocks[block.index()];
        assert!(self.slc.is_some() && row.issued == 0 && row.flags == 0, "block {block} cannot be used so now");
        row.flags |= SLC;
        self.reflect_block(block);
    }

    /// Erases of a block that wear it as much as all it had, those with one bit a cell included.
    pub(super) fn wear(&self, block: BlockId) -> u32 {
        let all = self.block(block).erases;
        let Some(slc) = self.slc.as_deref() else { return all };
        let gentle = slc.erases[block.index()];
        let counts_as = match slc.endurance {
            0 => 0,
            endurance => (u64::from(gentle) * u64::from(self.faults.endurance()) / u64::from(endurance)) as u32,
        };
        all - gentle + counts_as
    }

    /// Erases of each block after it was used with one bit a cell; empty where none can be.
    pub fn slc_erases(&self) -> &[u32] {
        self.slc.as_deref().map_or(&[], |slc| &slc.erases)
    }

    /// Takes back [`FlashState::slc_erases`]. `false`: it is of another number of blocks.
    pub fn import_slc_erases(&mut self, erases: Vec<u32>) -> bool {
        match self.slc.as_deref_mut() {
            Some(slc) if slc.erases.len() == erases.len() => slc.erases = erases,
            _ => return erases.is_empty(),
        }
        true
    }
}
