//! The common ground of log-block mappings: data blocks in place, overwrites in log blocks, merges.
//!
//! Faithful to: one data block for each logical block, whose pages sit at their own offsets; overwrites appended to
//! log blocks; switch, partial and full merges with their copies and erases; a first-in first-out pool of free blocks
//! as crude wear levelling. Simplified: the simulator knows where every page is; the tables of a controller (a block
//! map, and page maps of log blocks) are only reported. The scan after a power cut takes no time. A merge carries
//! tombstones along like pages, so that they are given up only when their pages are written again. Protects: no two
//! blocks claim a logical block as data; a merge begins when the newest versions of its pages are on flash; no block
//! is erased that holds the newest version of anything; a block is always left for a merge to begin with.
//!
//! ```text
//! write --> data block, if its page was not programmed or passed over yet
//!      \--> log block --> merge --> data block, the old blocks erased
//! ```

mod blocks;
mod fail;
mod jobs;
mod lbn;
mod merge;
mod parameters;
mod recover;
mod rewrite;
pub(super) mod schemes;
mod tables;
mod trims;
mod wear;

use crate::FtlContext;
use crate::mapping::common::{answer, prefetch_blocks};
use crate::mapping::{Builder, Mapping};
use layer::{
    Answer, Held, LayerReport, Outbox, PageLayer, PageOp, Parameter, Room, SnapshotError, SnapshotReader,
    SnapshotWriter, Values,
};
pub(super) use lbn::Lbn;
use merge::Kind;
use nand::{Awaits, Cancel, Completion, Event, Flash, FlashState, JoinId, Owner, Read};
pub(super) use parameters::common;
pub(super) use tables::{InPlace, Tables};
use trims::Range;
use units::{BlockId, HostOp, Lpn, Ppn, Request};

/// Flash pages that fit into a token beside its kind.
const PAGES_LIMIT: u32 = 1 << 30;
/// Tokens of commands this mapping hears of: a copy names its merge, an awaited program its logical
/// block or its tombstone's page.
const AWAITED: u32 = 1 << 31;
const TOMBSTONE: u32 = AWAITED | 1 << 30;
/// As a logical block: the last program of a block to be erased is awaited.
const NOBODY: Lbn = Lbn(PAGES_LIMIT - 1);

/// The page to program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Put {
    /// A page of the host.
    Data,
    Tombstone,
}

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

    fn new(values: &Values, seed: u64) -> Self;

    /// Where to program a page of the host, or a tombstone whose first page is `logical`. `None`: there
    /// is no room now; what makes room was begun, or waits for something already issued.
    fn place<F: Flash>(&mut self, tables: &mut Tables, flash: &mut F, logical: Lpn, put: Put) -> Option<Ppn>;

    /// Most log blocks that belong to one logical block each, of `logs` in all.
    fn own_logs(logs: u32) -> u32 {
        logs
    }

    /// Empties and erases the oldest shared log block. `true`: that has been done at once.
    fn reclaim<F: Flash>(&mut self, _: &mut Tables, _: &mut F) -> bool {
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
struct LogMap<S> {
    scheme: S,
    tables: Tables,
    /// Who was refused hears when there is room.
    room: Room,
}

/// A line of the table of mappings for a scheme.
pub(super) fn mapping<S: Scheme>(
    name: &'static str,
    doc: &'static str,
    when: &'static str,
    parameters: fn() -> Vec<Parameter>,
) -> Mapping {
    // A logical block's pages follow it to any plane.
    Mapping {
        name,
        doc,
        when,
        parameters,
        reserve_blocks: parameters::reserve_blocks::<S>,
        kept_erased: None,
        // One log block less of the whole drive: their number is a choice anyway.
        kept_for_failures: |_, _, _| 0,
        is_versioned: false,
        keeps_groups: false,
    }
}

/// The builder of a scheme.
pub(super) fn builder<S: Scheme, F: Flash>() -> Builder<F> {
    Builder {
        build: |context, flash| Box::new(LogMap::<S>::new(context, flash.state())),
        recover: |context, image| Ok(Box::new(LogMap::<S>::recover(context, image)?)),
        versioned: None,
    }
}

/// Why a snapshot does not fit.
fn unfit(problem: &str) -> SnapshotError {
    SnapshotError::unfit("log", problem)
}

impl<S: Scheme> LogMap<S> {
    fn new(context: &FtlContext<'_>, state: &FlashState) -> Self {
        let scheme = S::new(context.values, context.seed);
        Self { scheme, tables: Tables::new::<S>(context, state), room: Room::default() }
    }

    /// Where to program a page, if there is room.
    #[inline]
    fn place<F: Flash>(&mut self, flash: &mut F, logical: Lpn, put: Put) -> Option<Ppn> {
        if self.tables.jobs.is_locked(self.tables.lbns.of(logical)) {
            return self.tables.place_rewritten(flash, logical, put);
        }
        loop {
            let page = self.scheme.place(&mut self.tables, flash, logical, put);
            if page.is_some() || !self.relieve(flash) {
                return page;
            }
        }
    }

    /// There is no room, and nothing under way will make any (power cuts may have left more log blocks than
    /// there should be, or failures fewer others): a merge will. `true`: it has been done at once.
    #[cold]
    fn relieve<F: Flash>(&mut self, flash: &mut F) -> bool {
        let tables = &mut self.tables;
        if tables.is_making_room() || tables.blocks.has_free(flash) {
            return false;
        }
        let cheap = tables.log_owners().find(|lbn| tables.merge_kind(flash, *lbn) != Kind::Full);
        match cheap.or_else(|| tables.log_owners().next()) {
            Some(lbn) => tables.merge(flash, lbn),
            None => self.scheme.reclaim(tables, flash),
        }
    }

    /// There is no room for the rest of an operation.
    fn refuse<F: Flash>(&mut self, flash: &mut F, join: JoinId, taken: u32) -> Answer {
        self.room.note(answer(flash, join, Awaits::Commands).full(taken))
    }

    fn submit_write<F: Flash>(&mut self, flash: &mut F, op: &PageOp) -> Answer {
        self.tables.pump(flash);
        let join = flash.open(op.owner, op.token, Cancel::Never);
        for index in 0..op.pages {
            let logical = op.at(index);
            let Some(page) = self.place(flash, logical, Put::Data) else { return self.refuse(flash, join, index) };
            self.tables.write_page(flash, op, index, page, join);
        }
        answer(flash, join, Awaits::Commands)
    }

    fn submit_trim<F: Flash>(&mut self, flash: &mut F, op: &PageOp) -> Answer {
        self.tables.pump(flash);
        let full = self.tables.geometry.full_mask();
        let join = flash.open(op.owner, op.token, Cancel::Never);
        let mut next = 0;
        while next < op.pages {
            let stop = (next + self.tables.lbns.to_end(op.at(next))).min(op.pages);
            // A trim is advice: a page trimmed in part keeps its contents.
            let pages = &self.tables.pages;
            let trims = |index: &u32| op.mask_at(*index, full) == full && pages.find(op.at(*index)).is_some();
            if let Some(first) = (next..stop).find(trims) {
                let last = (next..stop).rfind(trims).unwrap_or(first);
                let range = Range { first: op.at(first), count: last - first + 1 };
                let Some(page) = self.place(flash, range.first, Put::Tombstone) else {
                    return self.refuse(flash, join, next);
                };
                self.tables.bury(flash, page, range, join);
            }
            next = stop;
        }
        answer(flash, join, Awaits::Commands)
    }

    #[inline]
    fn submit_read<F: Flash>(&self, flash: &mut F, op: &PageOp) -> Answer {
        let Tables { geometry, owner, pages, .. } = &self.tables;
        let cancel = if op.cancellable { Cancel::Possible } else { Cancel::Never };
        let join = flash.open(op.owner, op.token, cancel);
        let full = geometry.full_mask();
        let whole = geometry.sectors_per_page() as u8;
        for index in 0..op.pages {
            let payload = op.payload.offset(index);
            let mask = op.mask_at(index, full);
            let Some(page) = pages.find(op.at(index)) else {
                flash.memory_mut().payloads.clear(payload, mask);
                continue;
            };
            let read = Read {
                page,
                cause: op.cause,
                sectors: if mask == full { whole } else { mask.count_ones() as u8 },
                payload,
                completion: Some(Completion::Join(join)),
                after: None,
            };
            flash.read(*owner, read);
        }
        answer(flash, join, Awaits::Commands)
    }

    fn submit_flush<F: Flash>(flash: &mut F, op: &PageOp) -> Answer {
        let join = flash.open(op.owner, op.token, Cancel::Never);
        answer(flash, join, Awaits::AllPrograms)
    }
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

    fn begin_block(&mut self, flash: &mut F, first: Lpn, pages: u32) -> Answer {
        if self.tables.begin_rewrite(flash, first, pages) {
            Answer::Done { failed: false }
        } else {
            self.room.refuse(0)
        }
    }

    fn on_event(&mut self, flash: &mut F, _: Owner, event: &Event, outbox: &mut Outbox) {
        self.tables.on_event(flash, event);
        if self.tables.jobs.take_ended() | self.tables.blocks.take_ended_erase() {
            self.room.announce(outbox);
        }
    }

    fn on_idle(&mut self, _: &mut F) -> bool {
        false
    }

    fn hint_map(&self, _: &F, soon: &[Request]) {
        let sectors = u64::from(self.tables.geometry.sectors_per_page());
        for request in soon {
            self.tables.pages.prefetch_entry((request.first_sector / sectors) as usize);
        }
    }

    fn hint_target(&self, flash: &F, next: &[Request]) {
        let pages = &self.tables.pages;
        prefetch_blocks(flash, &self.tables.geometry, |logical| pages.find_soon(logical), pages.blocks(), next);
    }

    fn holds(&self, flash: &F, page: Lpn) -> Held {
        self.tables.pages.find(page).map_or(Held::Nothing, |page| Held::written(flash.may_hold_bytes(page)))
    }

    fn place_of(&self, page: Lpn, _: u64) -> Option<Ppn> {
        self.tables.pages.find(page)
    }

    fn check(&self, flash: &F) -> Result<(), String> {
        let most = S::own_logs(self.tables.settings.most_logs());
        self.tables.check(flash.state(), most, &self.scheme.shared())
    }

    fn report(&self, reports: &mut Vec<LayerReport>) {
        reports.push(self.tables.report(self.scheme.shared().len() as u32, S::log_bytes));
    }

    fn reset_counters(&mut self) {
        self.tables.reset_counters();
    }

    fn save(&mut self, writer: &mut SnapshotWriter) {
        self.tables.save(writer, &self.scheme.shared());
        writer.put("log.scheme", self.scheme.save());
    }

    fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.scheme.adopt(self.tables.load(reader)?);
        self.scheme.load(&reader.get("log.scheme")?);
        Ok(())
    }
}
