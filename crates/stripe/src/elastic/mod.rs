//! Elastic stripes: the parity of pages that are written together, wherever that is.
//!
//! Faithful to: (`eSAP-RAID`, `EPLog`) a parity covers new pages as they are written, whatever they are pages of, so
//! nothing is read to write; a stripe has as many pages as there are to write; the old versions stay until what
//! they belonged to is given up as a whole.
//! Decided here: one level of mapping, so parities need no place of their own: stripes follow each other through
//! superblocks, which are collected whole. A stripe waits for more pages only while another one is under way.
//! Simplified: whether a page can be read is known when its read is issued, and the time of finding out is
//! charged; a parity page has room for the numbers of its members beside the parity; waiting times are not
//! told for writes; the scan after a power cut takes no time.
//! Protects: an acknowledged page is covered by a parity on another die, or has a copy there; what it replaces is
//! not erased before.
//!
//! ```text
//! superblock    die 0  die 1  die 2  die 3  die 4
//!   row 0        D      D      D      D      P       four pages written together
//!   row 1        D      P      D      D      P       one page, then two
//! map entry  0xxx…  place of the newest version     back entry  0xxx…  logical page
//!            1xxx…  place of a tombstone                        1xxx…  tombstone at this place
//!            1111…  never written
//! ```

mod collect;
mod read;
mod recover;
mod state;
mod stripes;
mod superblocks;
mod trim;

use ftl::mapping::FtlContext;
use layer::{
    Answer, FlushLine, LayerReport, OpHandle, Ops, Outbox, PageLayer, PageOp, Room, Slots, SnapshotError,
    SnapshotReader, SnapshotWriter,
};
use nand::{CommandId, Event, Flash, FlashState, Owner, PayloadId};
use read::UnderWay;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use stripes::{Member, Stripe};
use superblocks::{STREAMS, Stream, Superblocks};
use trim::Tombstone;
use units::{Cause, DieId, HostOp, Request, SECTOR_BYTES};

/// Nothing.
const NONE: u32 = u32::MAX;
/// Free superblocks left to collection: one to collect into, and one for what power cuts in the middle of that waste.
const KEPT: usize = 2;
/// Superblocks that hold no data of a full drive: those kept, one open for each stream, and one to begin with.
pub(crate) const RESERVE: u32 = KEPT as u32 + STREAMS.len() as u32 + 1;
/// Map entry of a page that was never written.
const UNMAPPED: u32 = u32::MAX;
/// Lowest map entry that names no page of data; the bit that makes a place one of a tombstone.
const TRIMMED: u32 = 1 << 31;
/// In a sequence number of a tombstone's range: the pages are not trimmed but lost.
const LOST: u64 = 1 << 63;

/// What happened, for the result.
#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    stripes: u64,
    pages: u64,
    parities: u64,
    trimmed: u64,
    collected: u64,
    copied: u64,
    reconstructed: u64,
    healed: u64,
    lost: u64,
    rebuilt: u64,
}

/// See the module description.
pub(crate) struct Elastic<F: Flash> {
    owner: Owner,
    blocks: Superblocks,
    map: Vec<u32>,
    /// What each place holds, as far as it is valid.
    back: Vec<u32>,
    tombstones: BTreeMap<u32, Tombstone>,
    sequence: u64,
    /// Most data pages of a stripe.
    data: u32,
    page_bytes: u32,
    full_mask: u64,
    /// Free superblocks at which collection begins.
    free_blocks: usize,
    /// Pages collection copies at once.
    window: u32,
    /// Stripes, in use or not, and by stream the one that takes more pages.
    stripes: Vec<Stripe>,
    free_stripes: Vec<u32>,
    building: [u32; 2],
    /// Complete stripes that are not on flash.
    under_way: u32,
    /// Stripe of each place being programmed.
    flying: BTreeMap<u32, u32>,
    /// Places just programmed, and stripes whose programs have all ended.
    landed: VecDeque<u32>,
    ended: VecDeque<u32>,
    /// Pages of failed stripes, and who waits for them: place, operation, superblock.
    moves: VecDeque<Member>,
    waiting_moves: Vec<(u32, u32, u32)>,
    /// Valid places without a parity, or that could not be read.
    repairs: VecDeque<u32>,
    /// Logical pages to be written anew because a power cut left an incomplete stripe with a later version of them:
    /// should the die where that is missing be lost, the stripe would look complete.
    doubted: BTreeSet<u32>,
    /// Superblock being collected and what of it is left to look at, last first.
    victim: u32,
    queue: Vec<u32>,
    copies_under_way: u32,
    /// Pages being written once more because they had no parity.
    repairs_under_way: u32,
    /// Power cuts have used up what is kept for collection: it goes on without parities until a superblock is free.
    pressed: bool,
    /// Superblocks whose pages were all moved.
    emptied: Vec<u32>,
    /// Superblocks with a failed block, and those with pages on lost dies, to be collected.
    failing: Vec<u32>,
    to_rebuild: BTreeSet<u32>,
    /// Dies that take the place of lost ones, dies in use as long as none is lost, and dies lost.
    spares: Vec<DieId>,
    usual_dies: u32,
    deaths: u32,
    /// Those, and spares that failed before they were used.
    failed_dies: u32,
    /// Operations that write or trim, with their numbers in the line of flushes. Their parts are pages.
    ops: Ops<u64>,
    flushes: FlushLine,
    /// Reads that are not done, by the token of what they wait for.
    reads: Slots<UnderWay>,
    /// More pages of a group are coming.
    more: bool,
    /// An operation may have been refused, and there may be room now.
    refused: Room,
    room: bool,
    counters: Counters,
    flash: std::marker::PhantomData<F>,
}

impl<F: Flash> Elastic<F> {
    /// Over flash that nobody has used yet.
    pub fn new(context: &FtlContext<'_>, data: u32, spares: u32) -> Self {
        let geometry = context.geometry;
        let mut blocks = Superblocks::new(geometry, data + 1);
        let spares: Vec<DieId> = (geometry.dies() - spares..geometry.dies()).map(DieId).collect();
        for die in &spares {
            blocks.set_lost(*die, true);
        }
        let per_plane = context.values.whole("ftl.gc.copies_in_flight") as u32;
        Self {
            owner: context.owner,
            map: units::table(context.user_pages as usize, UNMAPPED),
            back: units::table((blocks.count() * blocks.places) as usize, UNMAPPED),
            tombstones: BTreeMap::new(),
            sequence: 1,
            data,
            page_bytes: geometry.page_bytes,
            full_mask: geometry.full_mask(),
            free_blocks: (context.values.whole("ftl.gc.free_blocks") as usize).max(KEPT),
            window: (per_plane * geometry.planes()).max(data),
            stripes: Vec::new(),
            free_stripes: Vec::new(),
            building: [NONE; 2],
            under_way: 0,
            flying: BTreeMap::new(),
            landed: VecDeque::new(),
            ended: VecDeque::new(),
            moves: VecDeque::new(),
            waiting_moves: Vec::new(),
            repairs: VecDeque::new(),
            doubted: BTreeSet::new(),
            victim: NONE,
            queue: Vec::new(),
            copies_under_way: 0,
            repairs_under_way: 0,
            pressed: false,
            emptied: Vec::new(),
            failing: Vec::new(),
            to_rebuild: BTreeSet::new(),
            usual_dies: geometry.dies() - spares.len() as u32,
            spares,
            deaths: 0,
            failed_dies: 0,
            ops: Ops::default(),
            flushes: FlushLine::default(),
            reads: Slots::default(),
            more: false,
            refused: Room::default(),
            room: false,
            counters: Counters::default(),
            flash: std::marker::PhantomData,
            blocks,
        }
    }

    fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    fn new_op(&mut self, op: &PageOp, pages: u32) -> u32 {
        let serial = self.flushes.begin();
        self.ops.begin(op, pages, serial)
    }

    /// What to say of an operation after all that could be done at once was done.
    fn answer(&mut self, number: u32) -> Answer {
        let serial = self.ops.at(number).about;
        let answer = self.ops.answer(number);
        if matches!(answer, Answer::Done { .. }) {
            self.flushes.end(serial);
        }
        answer
    }

    /// There is no room for the last `missing` pages of an operation.
    fn refuse(&mut self, number: u32, taken: u32, missing: u32) -> Answer {
        self.ops.fewer_parts(number, missing);
        let pending = matches!(self.answer(number), Answer::Pending(_));
        self.refused.refuse(taken, pending)
    }

    /// A page of an operation is safe.
    fn page_done(&mut self, number: u32, outbox: &mut Outbox) {
        if number == NONE {
            return;
        }
        if let Some(op) = self.ops.part_done(number, 1, false, None, outbox) {
            self.flushes.end(op.about);
        }
    }

    fn submit_write(&mut self, flash: &mut F, op: &PageOp, outbox: &mut Outbox) -> Answer {
        let number = self.new_op(op, op.pages);
        self.more = op.more;
        for index in 0..op.pages {
            if !self.write_page(flash, op, index, number) {
                self.more = false;
                self.settle(flash, outbox);
                if !self.write_page(flash, op, index, number) {
                    return self.refuse(number, index, op.pages - index);
                }
                self.more = op.more;
            }
        }
        self.settle(flash, outbox);
        self.answer(number)
    }

    /// Writes one page. `false`: there is no room.
    fn write_page(&mut self, flash: &mut F, op: &PageOp, index: u32, number: u32) -> bool {
        let logical = op.first + index;
        let mask = op.mask_at(index, self.full_mask);
        if !self.has_place(flash, Stream::Host) {
            return false;
        }
        if mask != self.full_mask && self.is_lost_for_good(flash, logical) {
            self.ops.at_mut(number).failed = true;
            self.ops.fewer_parts(number, 1);
            return true;
        }
        let (cells, after) = self.complete(flash, logical, op.payload.offset(index), mask);
        let member = Member { op: number, ..Member::new(logical, self.next_sequence(), cells, op.cause) };
        let placed = self.put(flash, &member, after, Stream::Host);
        if !placed {
            flash.memory_mut().payloads.release(cells, 1);
        }
        placed
    }

    /// The whole page as it will be on flash, and the read to wait for.
    fn complete(
        &mut self,
        flash: &mut F,
        logical: u32,
        payload: PayloadId,
        mask: u64,
    ) -> (PayloadId, Option<CommandId>) {
        let entry = self.map[logical as usize];
        let (cells, after) = if mask != self.full_mask && entry < TRIMMED {
            let kept = self.full_mask & !mask;
            self.fetch(flash, entry, Cause::Padding, kept.count_ones() as u8).unwrap_or((PayloadId::NONE, None))
        } else {
            (PayloadId::NONE, None)
        };
        let cells = if cells == PayloadId::NONE {
            let page = flash.memory_mut().payloads.take(1, self.full_mask);
            flash.memory_mut().payloads.clear(page, self.full_mask);
            page
        } else {
            cells
        };
        let payloads = &mut flash.memory_mut().payloads;
        payloads.copy(payload, cells, mask & payloads.mask(payload));
        (cells, after)
    }

    fn submit_flush(&mut self, flash: &mut F, op: &PageOp, outbox: &mut Outbox) -> Answer {
        self.more = false;
        self.close_stripe(flash, Stream::Host);
        self.settle(flash, outbox);
        if self.flushes.joins(op) { Answer::Pending(OpHandle(None)) } else { Answer::Done { failed: false } }
    }

    /// Does what can be done now.
    fn settle(&mut self, flash: &mut F, outbox: &mut Outbox) {
        loop {
            while let Some(place) = self.landed.pop_front() {
                self.land(place);
            }
            while let Some(stripe) = self.ended.pop_front() {
                self.end_stripe(flash, stripe, outbox);
            }
            if self.pump_moves(flash, outbox) {
                self.pump_repairs(flash);
            }
            self.collect(flash);
            let erased = self.erase_emptied(flash);
            for stream in STREAMS {
                if self.under_way == 0 && !(self.more && stream == Stream::Host) {
                    self.close_stripe(flash, stream);
                }
            }
            if self.landed.is_empty() && self.ended.is_empty() && !erased && !self.press() {
                break;
            }
        }
        if std::mem::take(&mut self.room) {
            self.refused.announce(outbox);
        }
        self.flushes.pass(outbox, |_| Answer::Done { failed: false });
    }

    /// A die answers nothing any more: its pages are computed from now on, and written anew where there is room.
    #[cold]
    fn lose_die(&mut self, flash: &mut F, die: DieId) {
        self.failed_dies += 1;
        if self.spares.contains(&die) {
            self.spares.retain(|spare| *spare != die);
            return;
        }
        // What has a page there is filled no further: it will be collected.
        for stream in STREAMS {
            self.close_stripe(flash, stream);
            self.blocks.close_open(stream);
        }
        self.deaths += 1;
        self.blocks.widen();
        self.blocks.set_lost(die, true);
        if let Some(spare) = self.spares.pop() {
            self.blocks.set_lost(spare, false);
        }
        self.to_rebuild.extend(self.blocks.hurt(flash.state(), die));
    }
}

impl<F: Flash> PageLayer<F> for Elastic<F> {
    fn submit(&mut self, flash: &mut F, op: &PageOp, outbox: &mut Outbox) -> Answer {
        match op.op {
            HostOp::Read => self.submit_read(flash, op, outbox),
            HostOp::Write => self.submit_write(flash, op, outbox),
            HostOp::Trim => self.submit_trim(flash, op, outbox),
            HostOp::Flush => self.submit_flush(flash, op, outbox),
        }
    }

    fn on_event(&mut self, flash: &mut F, _: Owner, event: &Event, outbox: &mut Outbox) {
        match *event {
            Event::Timer { .. } => return,
            Event::Joined { token, failed, wait } => self.read_ended(flash, token, failed, wait, outbox),
            Event::Notified { page, .. } => {
                // One that failed and was given up ends as well.
                if is_programmed(flash.state(), page) {
                    self.landed.push_back(self.blocks.place(page));
                }
            }
            Event::ProgramFailed(failed) => self.program_failed(flash, failed),
            Event::Erased { block } | Event::EraseFailed { block } => self.block_erased(flash, block),
            Event::DieLost { die } => self.lose_die(flash, die),
        }
        self.settle(flash, outbox);
    }

    fn on_idle(&mut self, _: &mut F) -> bool {
        false
    }

    fn hint_map(&self, _: &F, soon: &[Request]) {
        let sectors = u64::from(self.page_bytes) / SECTOR_BYTES;
        for request in soon {
            units::prefetch(&self.map, (request.first_sector / sectors) as usize);
        }
    }

    fn hint_target(&self, _: &F, _: &[Request]) {}

    fn check(&self, flash: &F) -> Result<(), String> {
        self.check_laws(flash.state())
    }

    fn report(&self, reports: &mut Vec<LayerReport>) {
        reports.push(self.report_own());
    }

    fn reset_counters(&mut self) {
        self.counters = Counters::default();
    }

    fn save(&self, writer: &mut SnapshotWriter) {
        self.save_state(writer);
    }

    fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.load_state(reader)
    }
}

/// Whether a page of a block that is being filled is on flash.
fn is_programmed(state: &FlashState, page: units::Ppn) -> bool {
    state.geometry.page_in_block(page) < u32::from(state.block(state.geometry.block_of(page)).done)
}

/// Free superblocks that a stream leaves alone.
fn kept_from(stream: Stream) -> usize {
    if stream == Stream::Host { KEPT } else { 0 }
}

/// The cells of a page on flash.
fn page_cells(state: &FlashState, page: units::Ppn) -> Option<&[u8]> {
    state.contents().map(|contents| contents.page(page.0))
}
