//! Elastic stripes: the parity of pages that are written together, wherever that is.
//!
//! Faithful to: (`eSAP-RAID`, `EPLog`) a parity covers any new pages as they are written, so nothing is read to write;
//! a stripe has as many pages as there are to write; the old versions stay until their stripe is given up as a whole.
//! Decided here: one level of mapping, so parities need no place of their own: stripes follow each other through
//! superblocks, which are collected whole. A stripe waits for more pages only while another one is under way.
//! Simplified: whether a page can be read is known when its read is issued, and the time of finding out is
//! charged; a parity page has room for the numbers of its members beside the parity; waiting times are not
//! told for writes; the scan after a power cut takes no time.
//! Protects: an acknowledged page is covered by a parity on another die, or has a copy there; the version it replaces
//! is not erased before.
//!
//! ```text
//! superblock    die 0  die 1  die 2  die 3  die 4
//!   row 0        D      D      D      D      P       four pages written together
//!   row 1        D      P      D      D      P       one page, then two
//!
//! Elastic       operations of the layer above, flushes, reads
//!   Collector   the superblock being emptied, and who chooses it
//!   Log         what is written goes behind what was written last
//!     Grid      the order of pages, which dies are in use     Roles       which pages a parity covers
//!     Pages     the maps, and what is valid                   Tombstones  what is nowhere
//!     Space     free and open superblocks                     UnderWay    stripes that are not on flash
//!                                                             Repairs     what has to be written once more
//! ```
//!
//! It is no line of the table of mappings: users ask for it as stripes (`stripe.kind`), whose keys say how many pages
//! a stripe has.

mod collector;
mod grid;
mod log;
mod operations;
mod parity;
mod read;
mod recover;
mod repairs;
mod roles;
mod space;
mod state;
mod stripes;
mod trim;

use super::common::answer;
use super::pages::Pages;
use super::ranges::Range;
use super::tombstones::Tombstones;
use super::{FtlContext, Recovered, page_level};
use collector::Collector;
use grid::Grid;
use layer::{
    Answer, Held, LayerReport, OpHandle, Outbox, PageLayer, PageOp, Parameter, Signal, Slots, SnapshotError,
    SnapshotReader, SnapshotWriter,
};
use log::{Counters, Log};
use nand::{Awaits, Cancel, Closed, Event, Flash, FlashState, Owner};
use operations::Operations;
use repairs::Repairs;
use roles::Roles;
use space::{KEPT, STREAMS, Space, Stream};
use std::marker::PhantomData;
use stripes::{Content, UnderWay, Waits};
use units::{DieId, HostOp, Lpn, Ppn, Request};

/// Superblocks that hold no data of a full drive: those kept, one open for each stream, and one to begin with.
pub const RESERVE: u32 = KEPT as u32 + STREAMS.len() as u32 + 1;

/// The use of each die of a drive.
#[derive(Clone, Copy, Debug)]
pub struct Chips {
    /// Most data pages of a stripe, from 1; each has a parity besides.
    pub data: u32,
    /// Dies that hold nothing until another one is lost.
    pub spares: u32,
}

/// Keys of page-level mappings that elastic stripes read.
const KEYS: [&str; 3] = ["ftl.gc.victim", "ftl.gc.free_blocks", "ftl.gc.copies_in_flight"];

/// Parameters of mappings that it reads.
pub fn parameters() -> Vec<Parameter> {
    let shared = page_level::common().into_iter().filter(|parameter| KEYS.contains(&parameter.key));
    shared.chain(crate::gc::parameters()).collect()
}

/// Builds it over flash that nobody has used yet.
pub fn build<F: Flash>(context: &FtlContext<'_>, chips: Chips, flash: &F) -> Box<dyn PageLayer<F>> {
    Box::new(Elastic::new(context, chips, flash.state()))
}

/// Rebuilds it from what a power cut left.
///
/// # Errors
/// Flash has no out-of-band areas.
pub fn recover<F: Flash>(context: &FtlContext<'_>, chips: Chips, image: &FlashState) -> Recovered<F> {
    let mut elastic = Elastic::new(context, chips, image);
    recover::recover(&mut elastic.log, image)?;
    Ok(Box::new(elastic))
}

fn unfit(problem: &str) -> SnapshotError {
    SnapshotError::Unfit { section: "elastic", problem: problem.to_owned() }
}

/// A read that is not done.
#[derive(Clone, Copy, Debug)]
struct Asked {
    op: PageOp,
    /// Dies lost when it was issued.
    deaths: u32,
    /// It has failed before.
    again: bool,
}

/// See the module description.
struct Elastic<F: Flash> {
    log: Log,
    collector: Collector,
    operations: Operations,
    /// Reads that are not done, by the token of what they wait for.
    reads: Slots<Asked>,
    /// More pages of a group are coming.
    more: bool,
    flash: PhantomData<F>,
}

impl<F: Flash> Elastic<F> {
    fn new(context: &FtlContext<'_>, chips: Chips, state: &FlashState) -> Self {
        let geometry = context.geometry;
        let mut grid = Grid::new(geometry, chips);
        grid.adopt(state);
        let per_plane = context.values.whole("ftl.gc.copies_in_flight") as u32;
        let window = (per_plane * geometry.planes()).max(chips.data);
        Self {
            log: Log {
                owner: context.owner,
                pages: Pages::new(geometry, context.user_pages),
                space: Space::new(&grid, state),
                roles: Roles::new(geometry.pages()),
                grid,
                tombstones: Tombstones::new(geometry, 0),
                stripes: UnderWay::default(),
                repairs: Repairs::new(window),
                full_mask: geometry.full_mask(),
                counters: Counters::default(),
            },
            collector: Collector::new(context, window),
            operations: Operations::default(),
            reads: Slots::default(),
            more: false,
            flash: PhantomData,
        }
    }

    fn submit_read(&mut self, flash: &mut F, op: &PageOp, outbox: &mut Outbox) -> Answer {
        if self.has_gone(op) {
            return Answer::Done { failed: true };
        }
        if op.cancellable {
            let join = flash.open(op.owner, op.token, Cancel::Possible);
            self.log.read(flash, op, join);
            let answer = answer(flash, join, Awaits::Commands);
            self.settle_repairs(flash, outbox);
            return answer;
        }
        let slot = self.reads.insert(Asked { op: *op, deaths: self.log.grid.deaths(), again: false });
        let answer = match self.issue(flash, slot) {
            Some(failed) => {
                self.reads.remove(slot);
                Answer::Done { failed }
            }
            None => Answer::Pending(OpHandle(None)),
        };
        self.settle_repairs(flash, outbox);
        answer
    }

    /// Whether a page of an operation is lost.
    fn has_gone(&self, op: &PageOp) -> bool {
        op.all().any(|logical| self.log.is_gone(logical))
    }

    /// Issues a read. Whether it failed, if that is known at once.
    fn issue(&mut self, flash: &mut F, slot: u32) -> Option<bool> {
        let op = self.reads.at(slot).op;
        if self.has_gone(&op) {
            return Some(true); // given up since it was asked for
        }
        let join = flash.open(self.log.owner, slot, Cancel::Never);
        self.log.read(flash, &op, join);
        match flash.close(join, Awaits::Commands) {
            Closed::Done { failed } => Some(failed),
            Closed::Pending => None,
        }
    }

    /// A read has ended. One that failed because a die went meanwhile goes around it, and any other is tried once
    /// more: what cannot be read is known by now.
    fn read_ended(&mut self, flash: &mut F, slot: u32, failed: bool, wait: Option<u32>, outbox: &mut Outbox) {
        let deaths = self.log.grid.deaths();
        let read = self.reads.at_mut(slot);
        let mut failed = failed;
        if failed && (!read.again || read.deaths != deaths) {
            (read.again, read.deaths) = (true, deaths);
            match self.issue(flash, slot) {
                Some(still) => failed = still,
                None => return,
            }
        }
        let PageOp { owner, token, .. } = self.reads.remove(slot).op;
        outbox.push(Signal::Done { owner, token, failed, wait });
    }

    fn settle_repairs(&mut self, flash: &mut F, outbox: &mut Outbox) {
        if self.log.repairs.any_pages() {
            self.settle(flash, outbox);
        }
    }

    fn submit_write(&mut self, flash: &mut F, op: &PageOp, outbox: &mut Outbox) -> Answer {
        let number = self.operations.begin(op, op.pages);
        self.more = op.more;
        for index in 0..op.pages {
            if !self.write_page(flash, op, index, number) {
                self.more = false;
                self.settle(flash, outbox);
                if !self.write_page(flash, op, index, number) {
                    return self.operations.refuse(number, index, op.pages - index);
                }
                self.more = op.more;
            }
        }
        self.settle(flash, outbox);
        self.operations.answer(number)
    }

    /// Writes one page. `false`: there is no room.
    fn write_page(&mut self, flash: &mut F, op: &PageOp, index: u32, number: u32) -> bool {
        let log = &mut self.log;
        let logical = op.at(index);
        let mask = op.mask_at(index, log.full_mask);
        if !log.has_place(flash.state(), Stream::Host) {
            return false;
        }
        if mask != log.full_mask && log.is_lost_for_good(flash.state(), logical) {
            self.operations.page_failed(number);
            return true;
        }
        let (cells, after) = log.complete(flash, logical, op.payload.offset(index), mask);
        let waits = Waits { op: Some(number), hold: None };
        let content = Content { waits, ..Content::version(logical, log.pages.next_sequence(), cells, op.cause) };
        let placed = log.put(flash, &content, after, Stream::Host);
        if placed {
            self.collector.host_wrote();
        } else {
            flash.memory_mut().payloads.release(cells, 1);
        }
        placed
    }

    fn submit_trim(&mut self, flash: &mut F, op: &PageOp, outbox: &mut Outbox) -> Answer {
        // A trim is advice: a page trimmed in part keeps its contents.
        let is_whole = |index: &u32| op.mask_at(*index, self.log.full_mask) == self.log.full_mask;
        let Some(first) = (0..op.pages).find(is_whole) else { return Answer::Done { failed: false } };
        let last = (0..op.pages).rfind(is_whole).unwrap_or(first);
        let mut range = Range { first: op.at(first), count: last - first + 1, sequence: 0 };
        if !range.pages().any(|logical| self.log.pages.find(logical).is_some()) {
            return Answer::Done { failed: false };
        }
        range.sequence = self.log.pages.next_sequence();
        let number = self.operations.begin(op, 1);
        if !self.log.trim(flash, range, number) {
            self.settle(flash, outbox);
            if !self.log.trim(flash, range, number) {
                return self.operations.refuse(number, 0, 1);
            }
        }
        self.collector.host_wrote();
        self.settle(flash, outbox);
        self.operations.answer(number)
    }

    fn submit_flush(&mut self, flash: &mut F, op: &PageOp, outbox: &mut Outbox) -> Answer {
        self.more = false;
        self.log.close_stripe(flash, Stream::Host);
        self.settle(flash, outbox);
        self.operations.flush(op)
    }

    /// Does what can be done now.
    fn settle(&mut self, flash: &mut F, outbox: &mut Outbox) {
        let Self { log, collector, operations, .. } = self;
        loop {
            while let Some(stripe) = log.stripes.next_ended() {
                log.end_stripe(flash, stripe, operations, outbox);
            }
            if log.pump_moves(flash, operations, outbox) {
                log.pump_repairs(flash);
            }
            collector.collect(flash, log);
            let erased = collector.erase_emptied(flash, log);
            for stream in STREAMS {
                if !log.stripes.any_complete() && (!self.more || stream != Stream::Host) {
                    log.close_stripe(flash, stream);
                }
            }
            if log.stripes.is_settled() && !erased && !collector.press(flash.state(), log) {
                break;
            }
        }
        operations.tell(log.space.take_freed(), outbox);
    }

    /// A die answers nothing any more: its pages are computed from now on, and written anew where there is room.
    #[cold]
    fn lose_die(&mut self, flash: &mut F, die: DieId) {
        let log = &mut self.log;
        if log.grid.lose_spare(die) {
            return;
        }
        // What has a page there is filled no further: it will be collected.
        for stream in STREAMS {
            log.close_stripe(flash, stream);
            log.space.close_open(&mut log.pages, stream);
        }
        log.grid.lose(die);
        log.repairs.rebuild(log.space.with_pages_on(&log.grid, flash.state(), die));
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
            Event::Timer { .. } | Event::RefreshDue { .. } => return,
            Event::Joined { token, failed, wait } => self.read_ended(flash, token, failed, wait, outbox),
            Event::Notified { page, .. } => {
                // One that failed and was given up ends as well.
                if flash.state().is_programmed(page) {
                    self.log.stripes.landed(page);
                }
            }
            Event::ProgramFailed(failed) => self.log.program_failed(flash, failed),
            Event::Erased { block } | Event::EraseFailed { block } => {
                self.log.space.block_erased(&self.log.grid, flash.state(), block);
            }
            Event::DieLost { die } => self.lose_die(flash, die),
        }
        self.settle(flash, outbox);
    }

    fn on_idle(&mut self, _: &mut F) -> bool {
        false
    }

    fn hint_map(&self, _: &F, soon: &[Request]) {
        let sectors = u64::from(self.log.full_mask.count_ones());
        for request in soon {
            self.log.pages.prefetch_entry((request.first_sector / sectors) as usize);
        }
    }

    fn hint_target(&self, _: &F, _: &[Request]) {}

    fn holds(&self, flash: &F, page: Lpn) -> Held {
        self.log.holds(flash, page)
    }

    fn place_of(&self, page: Lpn, _: u64) -> Option<Ppn> {
        self.log.pages.find(page)
    }

    fn check(&self, flash: &F) -> Result<(), String> {
        self.log.check(flash.state())
    }

    fn report(&self, reports: &mut Vec<LayerReport>) {
        reports.push(self.log.report(self.collector.collected));
    }

    fn reset_counters(&mut self) {
        self.log.reset_counters();
        self.collector.collected = 0;
    }

    fn save(&mut self, writer: &mut SnapshotWriter) {
        self.log.save(writer);
        self.collector.save(writer);
    }

    fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.log.load(reader)?;
        self.collector.load(reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_it_reads_are_keys_of_mappings() {
        let declared = super::super::parameters();
        let own = parameters();
        assert!(KEYS.iter().all(|key| own.iter().any(|parameter| parameter.key == *key)));
        assert!(own.iter().all(|own| declared.iter().any(|parameter| parameter.key == own.key)));
    }
}
