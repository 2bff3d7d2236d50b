//! Page mapping: every logical page may be anywhere.
//!
//! Faithful to: a page-level map in memory, host and collection frontiers in each plane, greedy or
//! other victims, a trim log, recovery by a scan of out-of-band areas.
//! Simplified: the whole map is in memory; the scan after a power cut takes no time; blocks open at
//! the cut are closed and not written further.
//! Protects: each logical page maps to one valid page or to one tombstone; valid counts agree with
//! the maps; nothing is erased that an acknowledged state still needs.
//!
//! ```text
//! map entry   0xxx…   flash page          back entry   0xxx…  logical page
//!             10xx…   tombstone on flash               1xxx…  tombstone
//!             11xx…   trim not yet logged
//!             1111…   never written
//! ```

mod collect;
mod fail;
mod parameters;
mod recover;
mod state;
mod trim;

use crate::FtlContext;
use crate::alloc::{Placement, plane_order};
use crate::blocks::BlockTable;
use crate::gc::{VictimPolicy, build_victim};
use crate::mapping::MappingEntry;
use engine::random::Stream;
use layer::{
    Answer, LayerReport, OpHandle, Outbox, PageLayer, PageOp, Signal, SnapshotError, SnapshotReader,
    SnapshotWriter,
};
use nand::{
    Cancel, Command, CommandId, Completion, Event, Flash, FlashCore, JoinId, Outcome, Owner, PayloadId, Program,
    ProgramFailure, Read,
};
use parameters::{Frontiers, Settings};
use state::{Frontier, Lane};
use std::collections::VecDeque;
use trim::TrimLog;
use units::{Cause, Geometry, HostOp, Ppn, Request};

const UNMAPPED: u32 = u32::MAX;
const TRIMMED: u32 = 1 << 31;
const PENDING: u32 = 1 << 30;

/// Tokens of commands this mapping hears of: a copy names its plane, a tombstone its slot.
const TOMBSTONE_TOKEN: u32 = 1 << 31;

/// The page-mapped FTL: see the module description.
pub struct PageMap {
    geometry: Geometry,
    owner: Owner,
    settings: Settings,
    policy: Box<dyn VictimPolicy>,
    stream: Stream,
    /// Map entry of each logical page.
    map: Vec<u32>,
    /// Back entry of each flash page; meaningful while the page is valid or being placed.
    back: Vec<u32>,
    blocks: BlockTable,
    lanes: Vec<Lane>,
    /// Planes in striping order, and the next one's position in it.
    order: Vec<u32>,
    turn: usize,
    sequence: u64,
    trims: TrimLog,
    /// Programs that failed and found no room yet.
    homeless: VecDeque<ProgramFailure>,
    /// An operation was answered `Full` since the last room signal.
    starved: bool,
    /// A barrier is up that will wake the starved.
    awaiting_programs: bool,
    idle: bool,
    /// Erased blocks of each plane that the host does not get.
    kept: usize,
    retired_blocks: u32,
    trimmed_pages: u64,
    levelled_blocks: u64,
}

/// The line for the table of mappings.
pub(super) fn entry<F: Flash>() -> MappingEntry<F> {
    MappingEntry {
        name: "page",
        doc: "every page is mapped by itself, the whole map is in memory",
        parameters: parameters::all,
        reserve_blocks: parameters::reserve_blocks,
        build: |context, flash| Box::new(PageMap::new(context, flash.core())),
        recover: |context, image| Ok(Box::new(PageMap::recover(context, image)?)),
    }
}

impl PageMap {
    fn new(context: &FtlContext<'_>, core: &FlashCore) -> Self {
        let geometry = context.geometry;
        let settings = Settings::read(context.values);
        let lanes = (0..geometry.planes()).map(|lane| Lane::new(&geometry, lane, core.blocks())).collect();
        let mut map = Self {
            geometry,
            owner: context.owner,
            policy: build_victim(context.values.name("ftl.gc.victim"), context.values),
            stream: Stream::new(context.seed, &format!("ftl.{}", context.owner)),
            map: units::table(context.user_pages as usize, UNMAPPED),
            back: units::table(geometry.pages() as usize, UNMAPPED),
            blocks: BlockTable::new(geometry),
            lanes,
            order: plane_order(&geometry, &settings.order),
            turn: 0,
            sequence: 1,
            trims: TrimLog::new(geometry.page_bytes),
            homeless: VecDeque::new(),
            starved: false,
            awaiting_programs: false,
            idle: false,
            retired_blocks: 0,
            trimmed_pages: 0,
            levelled_blocks: 0,
            kept: 1,
            settings,
        };
        map.keep_reserve(core);
        map
    }

    #[inline]
    fn lane_of(&self, page: Ppn) -> usize {
        self.geometry.lane_of(self.geometry.block_of(page)) as usize
    }

    fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// A page for the host, without touching anything if there is none.
    #[inline]
    fn host_page<F: Flash>(&mut self, flash: &mut F, logical: u32) -> Option<Ppn> {
        if self.settings.placement == Placement::Static {
            let lane = self.order[logical as usize % self.order.len()] as usize;
            return self.host_page_in(flash, lane);
        }
        self.page_in_turn(flash)
    }

    /// A page in the next plane that has room.
    #[inline]
    fn page_in_turn<F: Flash>(&mut self, flash: &mut F) -> Option<Ppn> {
        for _ in 0..self.order.len() {
            let lane = self.order[self.turn] as usize;
            self.turn += 1;
            if self.turn == self.order.len() {
                self.turn = 0;
            }
            if let Some(page) = self.host_page_in(flash, lane) {
                return Some(page);
            }
        }
        None
    }

    #[inline]
    fn host_page_in<F: Flash>(&mut self, flash: &mut F, lane: usize) -> Option<Ppn> {
        let entry = &mut self.lanes[lane];
        // What is left of a shared block is promised to the copies once no other block is free.
        let promised = self.settings.frontiers == Frontiers::Shared && entry.free.len() < self.kept;
        if !entry.host.is_full() && !promised {
            return Some(entry.host.take());
        }
        self.host_page_in_next(flash, lane)
    }

    /// As [`PageMap::host_page_in`] when the open block is full. What is kept stays for
    /// collection: without an erased block no space could ever be reclaimed.
    #[cold]
    fn host_page_in_next<F: Flash>(&mut self, flash: &mut F, lane: usize) -> Option<Ppn> {
        while self.lanes[lane].host.is_full() || self.lanes[lane].free.len() < self.kept {
            // Copies and erases under way go on with the collection when they end; looking for a
            // victim again at each refused write would cost a scan for each plane.
            let under_way = self.lanes[lane].erasing > 0 || self.lanes[lane].in_flight > 0;
            if self.lanes[lane].free.len() <= self.kept && !under_way {
                self.collect(flash, lane);
            }
            if self.lanes[lane].free.len() <= self.kept && self.close_full(lane) {
                self.collect(flash, lane);
            }
            let entry = &self.lanes[lane];
            if !entry.host.is_full() && entry.free.len() >= self.kept {
                break; // the rest of a shared block is no longer promised
            }
            if !entry.host.is_full() || entry.free.len() <= self.kept {
                return None;
            }
            self.open_block(lane, false);
            self.collect(flash, lane);
        }
        Some(self.lanes[lane].host.take())
    }

    /// Closes frontiers that are full although nothing can be opened in their place: what became
    /// invalid in them may be all there is to reclaim.
    fn close_full(&mut self, lane: usize) -> bool {
        let entry = &mut self.lanes[lane];
        let full = [&mut entry.host, &mut entry.copies].map(|frontier| {
            let block = frontier.block.filter(|_| frontier.is_full());
            if block.is_some() {
                *frontier = Frontier::NONE;
            }
            block
        });
        full.into_iter().flatten().for_each(|block| self.blocks.close(block));
        full.iter().any(Option::is_some)
    }

    /// Closes the full frontier and opens a free block in its place.
    fn open_block(&mut self, lane: usize, for_copies: bool) {
        let entry = &mut self.lanes[lane];
        let frontier = if for_copies { &mut entry.copies } else { &mut entry.host };
        let closed = frontier.block.take();
        let block = entry.free.pop().expect("room was checked before a block was opened");
        *frontier = Frontier::open(&self.geometry, block);
        if let Some(closed) = closed {
            self.blocks.close(closed);
        }
    }

    fn submit_write<F: Flash>(&mut self, flash: &mut F, op: &PageOp) -> Answer {
        let join = flash.open(op.owner, op.token, Cancel::Never);
        let full = self.geometry.full_mask();
        for index in 0..op.pages {
            let logical = op.first + index;
            let Some(page) = self.host_page(flash, logical) else {
                self.starve(flash);
                let (outcome, _) = flash.close(join);
                return Answer::Full { taken: index, pending: outcome != Outcome::Done };
            };
            self.write_page(flash, logical, page, op.mask_at(index, full), op.payload.offset(index), join);
        }
        Self::answer(flash, join)
    }

    #[inline]
    fn answer<F: Flash>(flash: &mut F, join: JoinId) -> Answer {
        match flash.close(join) {
            (Outcome::Done, failed) => Answer::Done { failed },
            (Outcome::Pending(_), _) => Answer::Pending(OpHandle(join)),
        }
    }

    #[inline]
    fn write_page<F: Flash>(
        &mut self,
        flash: &mut F,
        logical: u32,
        page: Ppn,
        mask: u64,
        payload: PayloadId,
        join: JoinId,
    ) {
        let old = self.map[logical as usize];
        let sequence = self.next_sequence();
        let mapped = old < TRIMMED;
        let merge = mapped && mask != self.geometry.full_mask();
        let mut after = None;
        let mut release = None;
        let supersedes = if mapped {
            let old = Ppn(old);
            self.blocks.invalidate(old);
            if merge {
                after = self.read_missing(flash, old, mask, join);
            }
            Some(old)
        } else if old == UNMAPPED {
            None
        } else {
            let (page, held) = self.leave_trim(old);
            release = held;
            Some(page)
        };
        self.map[logical as usize] = page.0;
        self.back[page.index()] = logical;
        self.blocks.validate(page);
        let command = Command {
            page,
            supersedes,
            what: Program::Data { payload, merge },
            logical,
            sequence,
            cause: Cause::Host,
            completion: Completion::Join(join),
            after,
        };
        flash.program(self.owner, command);
        if let Some(block) = release
            && !flash.core().breaks(nand::LawBroken::TrimHoldsOff)
        {
            flash.release(block); // the program pins it now
        }
    }

    /// Reads the sectors of the old page that a partial write keeps.
    fn read_missing<F: Flash>(&self, flash: &mut F, old: Ppn, mask: u64, join: JoinId) -> Option<CommandId> {
        let sectors = self.geometry.sectors_per_page() - mask.count_ones();
        let read = Read {
            page: old,
            cause: Cause::Padding,
            sectors: sectors as u8,
            payload: PayloadId::NONE,
            completion: Some(Completion::Join(join)),
            after: None,
        };
        flash.read(self.owner, read).pending()
    }

    #[inline]
    fn submit_read<F: Flash>(&mut self, flash: &mut F, op: &PageOp) -> Answer {
        let cancel = if op.cancellable { Cancel::Possible } else { Cancel::Never };
        let join = flash.open(op.owner, op.token, cancel);
        let full = self.geometry.full_mask();
        let whole = self.geometry.sectors_per_page() as u8;
        for index in 0..op.pages {
            let entry = self.map[(op.first + index) as usize];
            let payload = op.payload.offset(index);
            let mask = op.mask_at(index, full);
            if entry >= TRIMMED {
                Self::read_zeros(flash, payload, mask);
                continue;
            }
            let read = Read {
                page: Ppn(entry),
                cause: Cause::Host,
                // Counting bits is slow on processors without the instruction; most masks are full.
                sectors: if mask == full { whole } else { mask.count_ones() as u8 },
                payload,
                completion: Some(Completion::Join(join)),
                after: None,
            };
            flash.read(self.owner, read);
        }
        Self::answer(flash, join)
    }

    fn read_zeros<F: Flash>(flash: &mut F, payload: PayloadId, mask: u64) {
        if payload == PayloadId::NONE {
            return;
        }
        if let Some(contents) = flash.core_mut().contents.as_deref_mut() {
            let cell = contents.cell_bytes();
            for (sector, bytes) in contents.payload_mut(payload).chunks_exact_mut(cell).enumerate() {
                if mask >> sector & 1 == 1 {
                    bytes.fill(0);
                }
            }
        }
    }

    /// An operation finds no room. Erases under way will make some; if there are none, every block
    /// worth collecting may still have programs under way, and their end is what to wait for.
    #[cold]
    fn starve<F: Flash>(&mut self, flash: &mut F) {
        self.starved = true;
        if self.is_reclaiming() || self.awaiting_programs {
            return;
        }
        let join = flash.open(self.owner, 0, Cancel::Never);
        flash.barrier(join);
        self.awaiting_programs = flash.close(join).0 != Outcome::Done;
    }

    /// Copies or erases are under way: their end will be heard.
    fn is_reclaiming(&self) -> bool {
        self.lanes.iter().any(|lane| lane.erasing > 0 || lane.in_flight > 0)
    }

    /// The programs a starved operation waited for are on flash: their blocks may be collected.
    fn on_programs_done<F: Flash>(&mut self, flash: &mut F, outbox: &mut Outbox) {
        self.awaiting_programs = false;
        for lane in 0..self.lanes.len() {
            self.collect(flash, lane);
        }
        self.announce_room(flash, outbox);
    }

    fn on_erased<F: Flash>(&mut self, flash: &mut F, block: units::BlockId, outbox: &mut Outbox) {
        self.erased(flash, block);
        self.announce_room(flash, outbox);
    }

    fn announce_room<F: Flash>(&mut self, flash: &mut F, outbox: &mut Outbox) {
        self.collect_for_homeless(flash);
        if self.starved {
            self.starved = false;
            outbox.push(Signal::Room);
        }
    }
}

impl<F: Flash> PageLayer<F> for PageMap {
    fn submit(&mut self, flash: &mut F, op: &PageOp, _: &mut Outbox) -> Answer {
        self.idle = false;
        match op.op {
            HostOp::Read => self.submit_read(flash, op),
            HostOp::Write => self.submit_write(flash, op),
            HostOp::Trim => self.submit_trim(flash, op),
            HostOp::Flush => self.submit_flush(flash, op),
        }
    }

    fn on_event(&mut self, flash: &mut F, _: Owner, event: &Event, outbox: &mut Outbox) {
        match *event {
            Event::Notified { token, .. } if token & TOMBSTONE_TOKEN != 0 => {
                self.tombstone_durable(flash, token & !TOMBSTONE_TOKEN);
            }
            Event::Notified { token, .. } => {
                self.lanes[token as usize].in_flight -= 1;
                self.collect(flash, token as usize);
                if self.starved && !self.is_reclaiming() {
                    self.announce_room(flash, outbox);
                }
            }
            Event::Erased { block } => self.on_erased(flash, block, outbox),
            Event::EraseFailed { block } => {
                let lane = self.geometry.lane_of(block) as usize;
                self.lanes[lane].erasing -= 1;
                self.retired_blocks += 1;
                self.keep_reserve(flash.core());
                self.collect(flash, lane);
                self.announce_room(flash, outbox);
            }
            Event::ProgramFailed(id) => {
                let failure = flash.failure(id);
                self.program_failed(flash, &failure);
            }
            // Operations end at those who asked for them, so this is the barrier of the starved.
            Event::Joined { .. } => self.on_programs_done(flash, outbox),
            Event::Timer { .. } => {}
        }
    }

    fn on_idle(&mut self, flash: &mut F) -> bool {
        self.idle = true;
        let before = flash.core().counters.clone();
        let busy = |lanes: &[Lane]| lanes.iter().any(|lane| lane.in_flight > 0 || lane.erasing > 0);
        for lane in 0..self.lanes.len() {
            self.collect(flash, lane);
        }
        busy(&self.lanes) || before != flash.core().counters
    }

    fn hint_map(&self, _: &F, soon: &[Request]) {
        let sectors = u64::from(self.geometry.sectors_per_page());
        for request in soon {
            units::prefetch(&self.map, (request.first_sector / sectors) as usize);
        }
    }

    fn hint_target(&self, flash: &F, next: &[Request]) {
        let sectors = u64::from(self.geometry.sectors_per_page());
        for request in next {
            let entry = self.map.get((request.first_sector / sectors) as usize).copied().unwrap_or(UNMAPPED);
            if entry < TRIMMED {
                let page = Ppn(entry);
                if request.op == HostOp::Write {
                    self.blocks.prefetch(page);
                }
                units::prefetch(flash.core().blocks(), self.geometry.block_of(page).index());
            }
        }
    }

    fn check(&self, flash: &F) -> Result<(), String> {
        self.check_laws(flash.core())
    }

    fn report(&self, reports: &mut Vec<LayerReport>) {
        let mut report = LayerReport { name: "ftl", ..LayerReport::default() };
        report.ram_bytes = self.map.len() as u64 * 4 + self.blocks.ram_bytes() + self.trims.ram_bytes();
        report.counters.insert("retired_blocks", u64::from(self.retired_blocks));
        report.counters.insert("trimmed_pages", self.trimmed_pages);
        report.counters.insert("wear_levelled_blocks", self.levelled_blocks);
        report.counters.insert("tombstone_pages", self.trims.live_pages());
        report.valid_pages =
            (0..self.geometry.blocks()).map(|b| self.blocks.valid_count(units::BlockId(b)) as u16).collect();
        reports.push(report);
    }

    fn reset_counters(&mut self) {
        self.trimmed_pages = 0;
        self.levelled_blocks = 0;
    }

    fn save(&self, writer: &mut SnapshotWriter) {
        self.save_state(writer);
    }

    fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.load_state(reader)
    }
}
