//! Writes of the host where commands end where they are issued, one request after the other without a way back to the
//! host in between.
//!
//! *Protects*: the same pages, maps and counts as [`PageMap::submit_write`] leaves, which takes what needs more than
//! the next page of an open block.

use super::PageMap;
use super::access::{MapAccess, Sharing};
use super::old_versions::OldVersions;
use super::write::{Ends, Write};
use layer::HOST_OWNER;
use nand::{Awaits, Cancel, Flash, PayloadId};
use units::{Cause, HostOp, Lpn, Request};

impl<A: MapAccess> PageMap<A> {
    /// Writes the first requests of a list that each write one whole page. Returns how many. The next one has another
    /// form, or its lane needs a block.
    pub(super) fn write_pages_at_once<F: Flash>(&mut self, flash: &mut F, requests: &[Request]) -> usize {
        let has_plain_map = A::SHARING == Sharing::Data && !A::Versions::KEEPS;
        let has_groups = self.groups.are_kept() || self.groups.are_broken();
        if !has_plain_map || self.settings.paced || has_groups || !flash.ends_at_once() {
            return 0;
        }
        self.collector.idle = false;
        let (shift, full) = (self.geometry.page_shift(), self.geometry.full_mask());
        let join = flash.open(HOST_OWNER, 0, Cancel::Never);
        let mut written = 0;
        for request in requests {
            let is_page = request.sectors == 1 << shift && request.first_sector.trailing_zeros() >= shift;
            let logical = Lpn((request.first_sector >> shift) as u32);
            if request.op != HostOp::Write || !is_page || !flash.state().events.is_empty() {
                break;
            }
            let Some(page) = self.page_of_open_block(logical) else { break };
            let write = Write {
                logical,
                page,
                mask: full,
                payload: PayloadId::NONE,
                known: None,
                sequence: None,
                keep: false,
                cause: Cause::Host,
            };
            self.write_page(flash, &write, Ends::InJoin(join));
            written += 1;
        }
        flash.close(join, Awaits::Commands);
        written
    }
}
