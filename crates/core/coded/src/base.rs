//! The base of reads, writes and codes: the mapping below, the places of blocks, the gate, the operations of the layer
//! above.

use crate::layout::ZoneLayout;
use crate::queue::Gate;
use layer::{Answer, Below, Ops, Outbox, PageOp, STRIPE_OWNER, Versioned};
use nand::{Flash, PayloadId, Payloads, Token, WaitVector};
use std::ops::Range;
use units::{Cause, HostOp, Lpn, Nanos};

/// Stands for no zone, block or slot.
pub(crate) const NONE: u32 = u32::MAX;

layer::tag_kinds! {
    /// A request to the mapping, with the element of its group as index.
    pub(crate) Asked, 5 bits of index:
    /// An element of a fetch.
    Fetch,
    /// A step of a write.
    Job,
    /// A step of an encoding.
    Encode,
    /// Pages that an operation reads by themselves; the number is the operation's.
    Alone
}
pub(crate) type Tag = layer::Tag<Asked>;

/// The common ground of the layer.
pub(crate) struct Base<F: Flash> {
    /// A mapping with a lane for each segment.
    pub below: Below<dyn Versioned<F>>,
    pub layout: ZoneLayout,
    pub gate: Gate,
    /// Operations of the layer above, with the requested pages: their parts are stripe blocks, or jobs.
    pub ops: Ops<PageOp>,
    pub full_mask: u64,
}

impl<F: Flash> Base<F> {
    /// An operation of this layer's own on pages of the mapping below.
    pub fn own_op(&self, op: HostOp, pages: Range<Lpn>, payload: PayloadId, cause: Cause, token: Token) -> PageOp {
        PageOp {
            pages: pages.end - pages.start,
            payload,
            cause,
            owner: STRIPE_OWNER,
            token,
            ..PageOp::on_page(op, pages.start, self.full_mask)
        }
    }
}

/// The parts that one call from above, or one event from below, works with.
pub(crate) struct Turn<'a, F: Flash> {
    pub flash: &'a mut F,
    pub base: &'a mut Base<F>,
    pub outbox: &'a mut Outbox,
    /// Where the flash says what the command has waited for that ended just now.
    pub wait: Option<u32>,
}

impl<F: Flash> Turn<'_, F> {
    #[inline]
    pub fn now(&self) -> Nanos {
        self.flash.now()
    }

    #[inline]
    pub fn payloads(&mut self) -> &mut Payloads {
        &mut self.flash.memory_mut().payloads
    }

    /// Hands an operation down to the mapping.
    #[inline]
    pub fn submit(&mut self, op: &PageOp) -> Answer {
        self.base.below.submit(self.flash, op)
    }

    /// Parts of an operation are done, which waited for what the command has waited for that ended just now.
    #[inline]
    pub fn parts_done(&mut self, number: u32, parts: u32, failed: bool) {
        self.base.ops.part_done(number, parts, failed, self.wait, self.outbox);
    }

    /// Parts of an operation are done that waited for so much.
    pub fn parts_done_after(&mut self, number: u32, parts: u32, failed: bool, wait: &WaitVector) {
        let wait = (wait.kinds != 0).then(|| self.flash.memory_mut().waits.note(wait));
        self.base.ops.part_done(number, parts, failed, wait, self.outbox);
    }

    /// The causes that the command which ended just now has waited for.
    pub fn last_wait(&self) -> WaitVector {
        self.wait.map_or(WaitVector::ZERO, |index| self.flash.state().memory.waits[index])
    }

    /// Copies the pages of a stripe block.
    pub fn copy_block(&mut self, from: PayloadId, into: PayloadId) {
        let (pages, full) = (self.base.layout.pages, self.base.full_mask);
        let payloads = self.payloads();
        (0..pages).for_each(|page| payloads.copy(from.offset(page), into.offset(page), full));
    }
}
