//! What log-block mappings share: data blocks in place, overwrites in log blocks, merges.
//!
//! Faithful to: one data block for each logical block, whose pages sit at their own offsets; overwrites
//! appended to log blocks; switch, partial and full merges with their copies and erases; a first-in
//! first-out pool of free blocks as crude wear levelling.
//! Simplified: the simulator knows where every page is; what a controller would keep (a block map, and page
//! maps of log blocks) is only reported. The scan after a power cut takes no time. A merge carries
//! tombstones along like pages, so that they are given up only when their pages are written again.
//! Protects: no two blocks claim a logical block as data; a merge begins when the newest versions of its pages
//! are on flash; no block is erased that holds the newest version of anything; a block is always left
//! for a merge to begin with.
//!
//! ```text
//! write --> data block, if its page was not programmed or passed over yet
//!      \--> log block --> merge --> data block, the old blocks erased
//!
//! map entry   0xxx…   flash page           back entry  0xxx…  logical page
//!             1xxx…   tombstone on flash               1000…  tombstone
//!             1111…   never written
//! ```

mod fail;
mod merge;
mod parameters;
mod place;
mod recover;
mod rewrite;
mod state;
mod trim;
mod wear;

use crate::FtlContext;
use crate::blocks::BlockTable;
use crate::mapping::common::{TRIMMED, UNMAPPED, answer, prefetch_blocks, read_missing};
use crate::mapping::{Builder, Mapping};
use fail::Rescue;
use layer::recency::{Links, List};
use layer::{
    Answer, LayerReport, Outbox, PageLayer, PageOp, Parameter, Signal, SnapshotError, SnapshotReader, SnapshotWriter,
    Values,
};
use merge::{Kind, Merge, MergeCounters};
use nand::{
    Cancel, Completion, Event, Flash, FlashState, JoinId, Outcome, Owner, PageProgram, PayloadId, Program, Read,
};
use parameters::Settings;
pub(super) use parameters::common;
pub(super) use place::{InPlace, Put};
use rewrite::Rewrite;
use state::{FreePool, Role};
use std::collections::{BTreeMap, BTreeSet};
use trim::Tombstone;
use units::{BlockId, Cause, Geometry, HostOp, Ppn, Request};

/// No block, where there could be one.
const NONE: u32 = u32::MAX;

/// Tokens of commands this mapping hears of: a copy names its merge, an awaited program its logical
/// block or its tombstone's page.
const AWAITED: u32 = 1 << 31;
const TOMBSTONE: u32 = AWAITED | 1 << 30;
/// As a logical block: the last program of a block to be erased is awaited.
const NOBODY: u32 = (1 << 30) - 1;

/// How a log-block mapping uses its log blocks.
pub(super) trait Scheme: Sized + 'static {
    /// Fewest log blocks it works with.
    const LEAST_LOGS: u32 = 1;
    /// Log blocks without a setting; `None`: all that is spare.
    const DEFAULT_LOGS: Option<u32> = None;
    /// Log blocks are shared by logical blocks.
    const SHARED: bool = false;
    /// Log blocks of one logical block are programmed in place, like data blocks.
    const IN_PLACE: bool = false;

    /// An empty scheme.
    fn new(values: &Values, seed: u64) -> Self;

    /// Where to program a page of the host, or a tombstone whose first page is `logical`. `None`: there
    /// is no room now; what makes room was begun, or waits for something already issued.
    fn place<F: Flash>(map: &mut LogMap<Self>, flash: &mut F, logical: u32, put: Put) -> Option<Ppn>;

    /// Most log blocks that belong to one logical block each, of `logs` in all.
    fn own_logs(logs: u32) -> u32 {
        logs
    }

    /// Empties and erases the oldest shared log block. `true`: that has been done at once.
    fn reclaim<F: Flash>(_: &mut LogMap<Self>, _: &mut F) -> bool {
        false
    }

    /// Log blocks shared by logical blocks, oldest first.
    fn shared(&self) -> Vec<BlockId> {
        Vec::new()
    }

    /// Takes over shared log blocks after a power cut or from a snapshot.
    fn adopt(&mut self, _: Vec<BlockId>) {}

    /// Bytes a controller needs to find pages in `logs` log blocks of `pages` pages.
    fn log_bytes(logs: u64, pages: u64) -> u64;

    /// Numbers of its own for a snapshot.
    fn save(&self) -> Vec<u64> {
        Vec::new()
    }

    /// Takes back what [`Scheme::save`] gave.
    fn load(&mut self, _: &[u64]) {}
}

/// A log-block FTL: see the module description.
pub(super) struct LogMap<S> {
    geometry: Geometry,
    owner: Owner,
    settings: Settings,
    pub(super) scheme: S,
    /// Pages of a block, and of a logical block.
    pages: u32,
    /// Map entry of each logical page.
    map: Vec<u32>,
    /// Back entry of each flash page; meaningful while the page is valid.
    back: Vec<u32>,
    blocks: BlockTable,
    /// What each block is used for, and for which logical block.
    roles: Vec<Role>,
    owners: Vec<u32>,
    /// All pages of the block are at their own offsets.
    in_place: Vec<bool>,
    /// Data block and own log block of each logical block.
    data: Vec<u32>,
    log: Vec<u32>,
    /// Logical blocks that take no writes because they are merged.
    locked: Vec<bool>,
    /// Logical blocks with a log block of their own.
    links: Links,
    logs: List,
    free: FreePool,
    merges: Vec<Option<Merge>>,
    active: u32,
    rescues: BTreeMap<u32, Rescue>,
    /// Logical blocks being written anew.
    rewrites: Vec<Rewrite>,
    /// Logical blocks for which a program is awaited.
    awaiting: BTreeSet<u32>,
    /// Blocks beyond data and log block of their logical block.
    odd: Vec<BlockId>,
    /// Blocks without valid pages that are yet to be erased.
    garbage: Vec<BlockId>,
    /// Blocks in which a program failed, not retired yet.
    failing: BTreeSet<BlockId>,
    erasing: u32,
    /// Blocks that merges replaced and that are not erased yet, by kind.
    merged_away: BTreeMap<BlockId, Kind>,
    /// Blocks freed since wear was looked at.
    freed: u32,
    /// Blocks that have not failed.
    good: u32,
    tombstones: BTreeMap<u32, Tombstone>,
    sequence: u64,
    /// An operation was answered `Full` since the last room signal.
    starved: bool,
    /// Something happened that may give room.
    room: bool,
    counters: MergeCounters,
    retired_blocks: u32,
    trimmed_pages: u64,
}

/// A line of the table of mappings for a scheme.
pub(super) fn mapping<S: Scheme>(name: &'static str, doc: &'static str, parameters: fn() -> Vec<Parameter>) -> Mapping {
    // A logical block's pages follow it to any plane.
    Mapping {
        name,
        doc,
        parameters,
        reserve_blocks: parameters::reserve_blocks::<S>,
        kept_erased: None,
        is_versioned: false,
    }
}

/// What builds a scheme.
pub(super) fn builder<S: Scheme, F: Flash>() -> Builder<F> {
    Builder {
        build: |context, flash| Box::new(LogMap::<S>::new(context, flash.state())),
        recover: |context, image| Ok(Box::new(LogMap::<S>::recover(context, image)?)),
        versioned: None,
    }
}

impl<S: Scheme> LogMap<S> {
    fn new(context: &FtlContext<'_>, state: &FlashState) -> Self {
        let geometry = context.geometry;
        let settings = Settings::read(context.values);
        let pages = geometry.pages_per_block;
        let count = geometry.blocks() as usize;
        let logical_blocks = context.user_pages.div_ceil(pages) as usize;
        let usable = |block: u32| !state.block(BlockId(block)).is_bad();
        let mut roles = vec![Role::Bad; count];
        let mut free = FreePool::new(&geometry, settings.order);
        for block in (0..geometry.blocks()).filter(|block| usable(*block)) {
            roles[block as usize] = Role::Free;
            if state.block(BlockId(block)).done == 0 {
                free.push(&geometry, BlockId(block));
            }
        }
        Self {
            geometry,
            owner: context.owner,
            scheme: S::new(context.values, context.seed),
            pages,
            map: units::table(context.user_pages as usize, UNMAPPED),
            back: units::table(geometry.pages() as usize, UNMAPPED),
            blocks: BlockTable::new(geometry),
            owners: vec![NONE; count],
            in_place: vec![true; count],
            data: vec![NONE; logical_blocks],
            log: vec![NONE; logical_blocks],
            locked: vec![false; logical_blocks],
            links: Links::new(logical_blocks),
            logs: List::default(),
            free,
            merges: vec![None; settings.merge_blocks as usize],
            active: 0,
            rescues: BTreeMap::new(),
            rewrites: Vec::new(),
            awaiting: BTreeSet::new(),
            odd: Vec::new(),
            garbage: Vec::new(),
            failing: BTreeSet::new(),
            erasing: 0,
            merged_away: BTreeMap::new(),
            freed: 0,
            good: roles.iter().filter(|role| **role == Role::Free).count() as u32,
            roles,
            tombstones: BTreeMap::new(),
            sequence: 1,
            starved: false,
            room: false,
            counters: MergeCounters::default(),
            retired_blocks: 0,
            trimmed_pages: 0,
            settings,
        }
    }

    fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    #[inline]
    pub(super) fn split(&self, logical: u32) -> (u32, u32) {
        (logical / self.pages, logical % self.pages)
    }

    fn submit_write<F: Flash>(&mut self, flash: &mut F, op: &PageOp) -> Answer {
        self.pump(flash);
        let join = flash.open(op.owner, op.token, Cancel::Never);
        let full = self.geometry.full_mask();
        for index in 0..op.pages {
            let logical = op.first + index;
            let Some(page) = self.place(flash, logical, Put::Data) else {
                self.starved = true;
                let (outcome, _) = flash.close(join);
                return Answer::Full { taken: index, pending: outcome != Outcome::Done };
            };
            let (mask, payload) = (op.mask_at(index, full), op.payload.offset(index));
            self.write_page(flash, &Write { logical, page, mask, payload, cause: op.cause }, join);
        }
        answer(flash, join)
    }

    #[inline]
    fn write_page<F: Flash>(&mut self, flash: &mut F, write: &Write, join: JoinId) {
        let Write { logical, page, mask, payload, cause } = *write;
        let old = self.map[logical as usize];
        let sequence = self.next_sequence();
        let merge = old < TRIMMED && mask != self.geometry.full_mask();
        let mut after = None;
        let supersedes = if old < TRIMMED {
            self.blocks.invalidate(Ppn(old));
            if merge {
                after = read_missing(flash, self.owner, &self.geometry, Ppn(old), mask, join, None);
            }
            Some(Ppn(old))
        } else {
            self.leave_trim(old)
        };
        self.map[logical as usize] = page.0;
        self.back[page.index()] = logical;
        self.blocks.validate(page);
        self.note_place(page, logical);
        let command = PageProgram {
            page,
            supersedes,
            what: Program::Data { payload, merge },
            logical,
            sequence,
            cause,
            completion: Completion::Join(join),
            after,
        };
        self.program(flash, command);
        if !self.rewrites.is_empty() {
            self.note_rewritten(flash, logical);
        }
    }

    /// Programs a page, passing over those before it.
    #[inline]
    fn program<F: Flash>(&mut self, flash: &mut F, command: PageProgram) -> Outcome {
        self.reach(flash, command.page);
        flash.program(self.owner, command)
    }

    #[inline]
    fn reach<F: Flash>(&self, flash: &mut F, page: Ppn) {
        let issued = flash.state().block(self.geometry.block_of(page)).issued;
        if self.geometry.page_in_block(page) != u32::from(issued) {
            flash.skip_to(page);
        }
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
                flash.memory_mut().payloads.clear(payload, mask);
                continue;
            }
            let read = Read {
                page: Ppn(entry),
                cause: op.cause,
                sectors: if mask == full { whole } else { mask.count_ones() as u8 },
                payload,
                completion: Some(Completion::Join(join)),
                after: None,
            };
            flash.read(self.owner, read);
        }
        answer(flash, join)
    }

    fn submit_flush<F: Flash>(flash: &mut F, op: &PageOp) -> Answer {
        let join = flash.open(op.owner, op.token, Cancel::Never);
        flash.barrier(join);
        answer(flash, join)
    }

    /// What waits for nothing in particular goes on: blocks a power cut left, logical blocks to be rescued, wear.
    #[inline]
    fn pump<F: Flash>(&mut self, flash: &mut F) {
        if !self.garbage.is_empty() {
            self.erase_garbage(flash);
        }
        if !self.rescues.is_empty() {
            self.pump_rescues(flash);
        }
        if self.is_to_level() {
            self.level(flash);
        }
    }
}

/// One page of a write with a place to go to.
#[derive(Clone, Copy)]
struct Write {
    logical: u32,
    page: Ppn,
    mask: u64,
    payload: PayloadId,
    cause: Cause,
}

impl<F: Flash, S: Scheme> PageLayer<F> for LogMap<S> {
    fn submit(&mut self, flash: &mut F, op: &PageOp, _: &mut Outbox) -> Answer {
        match op.op {
            HostOp::Read => self.submit_read(flash, op),
            HostOp::Write => self.submit_write(flash, op),
            HostOp::Trim => self.submit_trim(flash, op),
            HostOp::Flush => Self::submit_flush(flash, op),
        }
    }

    fn begin_block(&mut self, flash: &mut F, first: u32, pages: u32) -> Answer {
        self.begin_rewrite(flash, first, pages)
    }

    fn on_event(&mut self, flash: &mut F, _: Owner, event: &Event, outbox: &mut Outbox) {
        match *event {
            Event::Timer { .. } | Event::DieLost { .. } | Event::Joined { .. } => {}
            Event::Notified { token, .. } if token & TOMBSTONE == TOMBSTONE => {
                self.tombstone_ended(flash, token & !TOMBSTONE);
            }
            Event::Notified { token, .. } if token & AWAITED != 0 => {
                self.awaiting.remove(&(token & !AWAITED));
                self.room = true;
            }
            Event::Notified { token, .. } => self.copied(flash, token as usize),
            Event::Erased { block } => {
                self.erasing -= 1;
                self.set_free(block);
            }
            Event::EraseFailed { block } => {
                self.erasing -= 1;
                self.retire(block);
            }
            Event::ProgramFailed(id) => {
                let failure = flash.failed(id).details();
                self.program_failed(flash, &failure);
            }
        }
        self.pump(flash);
        if self.room {
            self.room = false;
            if self.starved {
                self.starved = false;
                outbox.push(Signal::Room);
            }
        }
    }

    fn on_idle(&mut self, _: &mut F) -> bool {
        false
    }

    fn hint_map(&self, _: &F, soon: &[Request]) {
        let sectors = u64::from(self.geometry.sectors_per_page());
        for request in soon {
            units::prefetch(&self.map, (request.first_sector / sectors) as usize);
        }
    }

    fn hint_target(&self, flash: &F, next: &[Request]) {
        let find = |logical: usize| self.map.get(logical).filter(|entry| **entry < TRIMMED).map(|entry| Ppn(*entry));
        prefetch_blocks(flash, &self.geometry, find, &self.blocks, next);
    }

    fn check(&self, flash: &F) -> Result<(), String> {
        self.check_laws(flash.state())
    }

    fn report(&self, reports: &mut Vec<LayerReport>) {
        reports.push(self.layer_report());
    }

    fn reset_counters(&mut self) {
        self.trimmed_pages = 0;
        self.counters = MergeCounters::default();
    }

    fn save(&self, writer: &mut SnapshotWriter) {
        self.save_state(writer);
    }

    fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.load_state(reader)
    }
}
