//! Rebuilding the map from out-of-band areas after a power cut.
//!
//! The newest sequence number of each logical page wins. Of two copies with one number (a collection
//! was under way) the one in the fuller block is kept, so that the block being filled when power went
//! holds nothing of its own and can be erased at once: that keeps one block free in every plane, however
//! often power is cut.

use super::trim::decode;
use super::{PageMap, TRIMMED, UNMAPPED};
use crate::mapping::{FtlContext, RecoverError};
use nand::{FlashCore, PageKind};
use units::{BlockId, DieId, Ppn};

/// Newest version of a logical page found so far.
#[derive(Clone, Copy)]
struct Newest {
    sequence: u64,
    page: u32,
}

impl PageMap {
    pub(super) fn recover(context: &FtlContext<'_>, image: &FlashCore) -> Result<Self, RecoverError> {
        let contents = image.contents.as_deref().ok_or(RecoverError::NoContents)?;
        let geometry = context.geometry;
        if let Some(die) = (0..geometry.dies()).find(|die| image.die_is_dead(DieId(*die))) {
            return Err(RecoverError::DieLost { die });
        }
        let mut ftl = PageMap::new(context, image.blocks());
        let mut newest = vec![Newest { sequence: 0, page: UNMAPPED }; context.user_pages as usize];
        let mut metadata = Vec::new();
        for block in (0..geometry.blocks()).map(BlockId) {
            let row = image.block(block);
            if row.is_bad() {
                continue;
            }
            for position in 0..u32::from(row.done) {
                let page = geometry.page_at(block, position);
                let oob = contents.oob(page.0);
                ftl.sequence = ftl.sequence.max(oob.sequence);
                match oob.kind {
                    PageKind::Data | PageKind::Lost => {
                        let best = &mut newest[oob.logical as usize];
                        let fuller = best.page != UNMAPPED
                            && row.done > image.block(geometry.block_of(Ppn(best.page))).done;
                        if oob.sequence > best.sequence || (oob.sequence == best.sequence && fuller) {
                            *best = Newest { sequence: oob.sequence, page: page.0 };
                        }
                    }
                    PageKind::Metadata => metadata.push(page),
                    PageKind::Erased | PageKind::Torn => {}
                }
            }
        }
        ftl.apply_tombstones(&mut newest, &metadata, |page| contents.record(page.0).unwrap_or_default());
        for (logical, best) in newest.iter().enumerate() {
            if best.page != UNMAPPED {
                ftl.map[logical] = best.page;
                ftl.back[best.page as usize] = logical as u32;
                ftl.blocks.validate(Ppn(best.page));
            }
        }
        for block in (0..geometry.blocks()).map(BlockId) {
            let row = image.block(block);
            if !row.is_bad() && row.done > 0 {
                ftl.blocks.close(block);
            }
        }
        Ok(ftl)
    }

    /// Unmaps what a newer tombstone names. A page without any version left needs no tombstone.
    fn apply_tombstones<'a>(
        &mut self,
        newest: &mut [Newest],
        metadata: &[Ppn],
        record: impl Fn(Ppn) -> &'a [u8],
    ) {
        let mut by: Vec<Option<(u64, u32)>> = vec![None; newest.len()];
        let mut slots = Vec::new();
        for &page in metadata {
            let ranges = decode(record(page));
            for range in &ranges {
                for logical in range.first..range.first + range.count {
                    let best = &mut by[logical as usize];
                    if best.is_none_or(|(sequence, _)| range.sequence >= sequence) {
                        *best = Some((range.sequence, slots.len() as u32));
                    }
                }
            }
            slots.push((page, self.trims.restore(page, ranges)));
        }
        for (logical, tombstone) in by.into_iter().enumerate() {
            let Some((sequence, index)) = tombstone else { continue };
            let best = &mut newest[logical];
            if best.page == UNMAPPED || best.sequence > sequence {
                continue;
            }
            best.page = UNMAPPED;
            let (page, slot) = slots[index as usize];
            self.map[logical] = TRIMMED | slot;
            if self.trims.revive(slot) {
                self.back[page.index()] = TRIMMED | slot;
                self.blocks.validate(page);
            }
        }
        self.trims.drop_dead();
    }
}
