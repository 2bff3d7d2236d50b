//! Programs that are filled up, where what waits for them to be full is in memory that a power cut takes.
//!
//! A flush, or an erase that somebody waits for, needs what is in that memory in the cells. Pages without content fill
//! up the program of an open block then, at the cost of its room.

use super::access::MapAccess;
use super::space::Stream;
use super::{Heard, PageMap};
use nand::{Flash, PageProgram, Program};
use units::{BlockId, Cause};

impl<A: MapAccess> PageMap<A> {
    /// The pages that flushes wait for go into the cells.
    #[inline]
    pub(super) fn fill_up<F: Flash>(&mut self, flash: &mut F) {
        if flash.state().is_forgetful() && !flash.state().breaks(nand::LawBroken::FlushSkipsGather) {
            self.fill_up_for(flash, None);
            self.hurry_erases(flash);
        }
    }

    /// Where somebody waits for room, erases do not wait for memory. As long as anything else will make room they do:
    /// programs that each lane fills up whenever another one is emptied would take more room than that gives.
    #[inline]
    pub(super) fn hurry_erases<F: Flash>(&mut self, flash: &mut F) {
        let somebody_waits = self.starved || !self.homeless.is_empty();
        if flash.state().is_forgetful() && somebody_waits && self.space.lanes.all_wait_for_pins(flash.state()) {
            self.hurry_all(flash);
        }
    }

    /// Fills up the programs that erases wait for.
    #[cold]
    pub(super) fn hurry_all<F: Flash>(&mut self, flash: &mut F) {
        for lane in 0..self.space.lanes.len() {
            if self.space.lanes[lane].erasing() == 0 {
                continue;
            }
            let waits = |block: &BlockId| {
                let row = flash.state().block(*block);
                row.erase_pending() && row.pins() > 0
            };
            let waiting: Vec<BlockId> = self.space.lanes[lane].blocks().filter(waits).collect();
            for block in waiting {
                self.fill_up_for(flash, Some(block));
            }
        }
    }

    /// Fills up the programs of open blocks that keep `erase` from being erased, or flushes waiting.
    #[cold]
    fn fill_up_for<F: Flash>(&mut self, flash: &mut F, erase: Option<BlockId>) {
        for lane in 0..self.space.lanes.len() {
            for stream in [Stream::Host, Stream::Copies] {
                let open = self.space.frontier(lane, stream).block;
                if let Some(block) = open.filter(|block| flash.holds_back(*block, erase)) {
                    self.pad(flash, lane, stream, block);
                }
            }
        }
    }

    /// Fills up the program that `block`, the open block of a stream, has begun, if it has.
    pub(super) fn pad<F: Flash>(&mut self, flash: &mut F, lane: usize, stream: Stream, block: BlockId) {
        let program = flash.state().program_pages(block);
        let pages = flash.state().pages_of(block);
        while !(pages - self.space.frontier(lane, stream).room()).is_multiple_of(program) {
            let page = self.space.take(&mut self.pages, lane, stream);
            flash.program(
                self.owner,
                PageProgram {
                    page,
                    supersedes: None,
                    what: Program::Record(None),
                    logical: crate::mapping::common::UNMAPPED,
                    sequence: 0,
                    cause: Cause::Padding,
                    completion: Heard::Padding.notify(0),
                    after: None,
                },
            );
        }
    }
}
