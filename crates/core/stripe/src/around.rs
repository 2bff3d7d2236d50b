//! Reads around busy chips: the redundancy of a stripe also serves a page whose chip has other things to do.
//!
//! Faithful to: reads of coded striping (all blocks that can help are asked for, late ones are taken back), and
//! reconstruction while a chip cleans (`ttFlash`, FAST 2017); both decide as the reads of zones do. Simplified:
//! computing takes no time. Protects: a page is computed only from a stripe whose parity is whole: nothing in it is
//! newer than its parity, nothing of it is being written, mended or lost. All reads are submitted at once, and the
//! mapping's map is in memory: they find the stripe of one moment, even if pages are written before they end.
//!
//! ```text
//! lazy       own page and all others of its stripe; the first set that tells the page ends the read, and the rest is
//!            taken back
//! gc-aware   the others alone, as many as are needed
//! ```

use crate::array::Array;
use crate::settings::Reads;
use crate::striped::Striped;
use crate::token::{Asked, Tag};
use crate::work::Work;
use layer::{Answer, OpHandle, Outbox, PageOp, Slots};
use nand::{Backlog, Flash, PayloadId};
use units::{Cause, HostOp, Lpn, members};

/// A page that is being read around its chip.
#[derive(Clone, Copy, Debug)]
struct Around {
    /// The operation and which of its pages.
    op: u32,
    index: u32,
    /// Its number in its stripe.
    at: u32,
    /// Sectors that are wanted.
    mask: u64,
    /// Members of the stripe, data then parities, that are there, and that are on their way.
    have: u64,
    pending: u64,
    /// One page of memory for each member, where contents are on.
    cells: PayloadId,
}

#[derive(Debug, Default)]
pub(crate) struct Arounds {
    all: Slots<Around>,
    handles: Vec<OpHandle>,
}

/// Its gains and losses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AroundCounters {
    pub pages: u64,
    pub computed: u64,
    pub taken_back: u64,
    pub wasted: u64,
}

impl<F: Flash> Striped<F> {
    /// Reads a page of an operation by its detour, and from its own chip as well if all are asked.
    pub fn read_around(
        &mut self,
        flash: &mut F,
        number: u32,
        op: &PageOp,
        index: u32,
        detour: u64,
        outbox: &mut Outbox,
    ) {
        let (stripe, at) = self.work.array.layout.place(op.first + index);
        let chips = self.work.array.layout.chips();
        let mask = op.mask_at(index, self.work.array.full_mask);
        let cells = flash.memory_mut().payloads.take(chips, mask);
        let around = Around { op: number, index, at, mask, have: 0, pending: 0, cells };
        let slot = self.arounds.begin(around, chips);
        self.work.array.counters.around.pages += 1;
        let first = if self.work.array.settings.reads == Reads::Lazy { (1 << chips) - 1 } else { detour };
        // The page itself before all others: where all are equally far it must not wait for them.
        let own = first & 1 << at;
        for member in members(own).chain(members(first & !own)) {
            let cause = if member == at { Cause::Host } else { Cause::Code };
            let own = self.work.array.page_op(
                self.work.array.member_page(stripe, member),
                cells.offset(member),
                cause,
                Tag::token(Asked::Around, slot, member),
            );
            let read = PageOp { op: HostOp::Read, first_mask: mask, last_mask: mask, cancellable: true, ..own };
            match self.work.array.below.submit(flash, &read) {
                Answer::Done { failed } => self.arounds.all.at_mut(slot).have |= u64::from(!failed) << member,
                Answer::Pending(handle) => {
                    self.arounds.handles[(slot * chips + member) as usize] = handle;
                    self.arounds.all.at_mut(slot).pending |= 1 << member;
                }
                Answer::Full { .. } => unreachable!("reads always find room"),
            }
        }
        self.evaluate_around(flash, slot, outbox);
    }

    /// A member that was on its way is there, or cannot be read.
    pub fn around_arrived(&mut self, flash: &mut F, slot: u32, member: u32, failed: bool, outbox: &mut Outbox) {
        let around = self.arounds.all.at_mut(slot);
        around.pending &= !(1 << member);
        around.have |= u64::from(!failed) << member;
        self.evaluate_around(flash, slot, outbox);
    }

    /// Ends a read that knows its page, or that never will: that one is repeated as a job of its stripe.
    fn evaluate_around(&mut self, flash: &mut F, slot: u32, outbox: &mut Outbox) {
        let around = *self.arounds.all.at(slot);
        let is_there = around.have >> around.at & 1 == 1;
        let follows = u64::count_ones(around.have) >= self.work.array.layout.data;
        if !is_there && !follows && around.pending != 0 {
            return;
        }
        for member in members(around.pending) {
            let handle = self.arounds.handles[(slot * self.work.array.layout.chips() + member) as usize];
            let left = self.work.array.below.cancel(flash, handle);
            let counters = &mut self.work.array.counters.around;
            *(if left.wasted > 0 { &mut counters.wasted } else { &mut counters.taken_back }) += 1;
        }
        if is_there || follows {
            if !is_there {
                self.work.array.counters.around.computed += 1;
                self.work.array.compute_around(flash, &around);
            }
            self.deliver_around(flash, &around);
        } else {
            self.ops.at_mut(around.op).about.again = true;
        }
        flash.memory_mut().payloads.release(around.cells, self.work.array.layout.chips());
        self.arounds.all.remove(slot);
        self.pages_done(around.op, 1, false, outbox);
    }

    fn deliver_around(&self, flash: &mut F, around: &Around) {
        let into = self.ops.at(around.op).about.op.payload;
        flash.memory_mut().payloads.copy(around.cells.offset(around.at), into.offset(around.index), around.mask);
    }
}

impl<F: Flash> Work<F> {
    /// The parities of a stripe cover its data pages as they are.
    pub fn is_whole(&self, stripe: u32) -> bool {
        let is_quiet = self.array.chips.all_there() && self.array.gone.is_empty() && self.array.torn.is_whole();
        is_quiet && self.jobs.is_idle(stripe) && self.array.cache.find(stripe).is_none()
    }

    /// The members from which a data page follows and that stand less in each other's way than its own chip does;
    /// nothing if its own chip is the better way.
    #[inline]
    pub fn detour(&self, flash: &F, stripe: u32, at: u32) -> Option<u64> {
        if self.array.settings.reads == Reads::Direct || !self.is_whole(stripe) {
            return None;
        }
        self.array.shorter(flash, stripe, at)
    }
}

impl<F: Flash> Array<F> {
    /// The commands before a read of a page of the mapping.
    pub fn backlog_of(&self, flash: &F, page: Lpn) -> Backlog {
        let geometry = &flash.state().geometry;
        self.below
            .place_of(page, u64::MAX)
            .map_or(Backlog::default(), |at| flash.backlog(geometry.die_of(geometry.block_of(at))))
    }

    /// Page of the mapping of a member of a stripe: data, then parities.
    pub fn member_page(&self, stripe: u32, member: u32) -> Lpn {
        let data = self.layout.data;
        if member < data {
            self.layout.data_page(stripe, member)
        } else {
            self.layout.parity_page(stripe, member - data)
        }
    }

    pub fn shorter(&self, flash: &F, stripe: u32, at: u32) -> Option<u64> {
        let way = self.backlog_of(flash, self.member_page(stripe, at));
        if way.commands == 0 {
            return None;
        }
        let siblings = self.layout.all() & !(1 << at);
        let backlog = |member: u32| self.backlog_of(flash, self.member_page(stripe, member));
        let parities = self.layout.data..self.layout.chips();
        let parity = parities.min_by_key(|parity| (backlog(*parity).cleaning > 0, backlog(*parity).commands))?;
        let chosen = siblings | 1 << parity;
        let detour = members(chosen).map(backlog).fold(Backlog::default(), |most, one| Backlog {
            commands: most.commands.max(one.commands),
            cleaning: most.cleaning.max(one.cleaning),
        });
        layer::goes_around(way, detour).then_some(chosen)
    }

    /// Computes the page from the others.
    fn compute_around(&self, flash: &mut F, around: &Around) {
        if around.cells == PayloadId::NONE {
            return;
        }
        let payloads = &mut flash.memory_mut().payloads;
        let shard = |member: u32| {
            (around.have >> member & 1 == 1).then(|| payloads.cells(around.cells.offset(member)).to_vec())
        };
        let mut shards: Vec<Option<Vec<u8>>> = (0..self.layout.chips()).map(shard).collect();
        assert!(self.code.solve(&mut shards), "as many pages as a stripe has data pages are enough");
        let found = shards[around.at as usize].as_deref().expect("solved for");
        payloads.cells_mut(around.cells.offset(around.at)).copy_from_slice(found);
    }
}

impl Arounds {
    fn begin(&mut self, around: Around, chips: u32) -> u32 {
        let slot = self.all.insert(around);
        self.handles.resize(self.all.numbers() * chips as usize, OpHandle(None));
        slot
    }
}
