//! The tables that schemes share: the owners of a log-block mapping side by side, and flows that need several of
//! them.

use super::blocks::{Blocks, Role};
use super::jobs::Jobs;
use super::lbn::{Lbn, LogicalBlocks};
use super::merge::MergeCounters;
use super::parameters::Settings;
use super::trims::{Range, Trims, trimmed_by};
use super::{AWAITED, Scheme, TOMBSTONE, unfit};
use crate::FtlContext;
use crate::mapping::common::{reach, read_missing};
use crate::mapping::pages::Pages;
use layer::{LayerReport, PageOp, SnapshotError, SnapshotReader, SnapshotWriter};
use nand::{Completion, Event, Flash, FlashState, JoinId, Owner, PageKind, PageProgram, Program};
use units::{BlockId, Geometry, Lpn, Ppn};

/// Names of the maps in a snapshot.
const SECTIONS: [&str; 2] = ["log.map", "log.back"];

/// The answer of a data block to a page.
pub(in crate::mapping) enum InPlace {
    /// Its place is still erased.
    Page(Ppn),
    /// Its place is taken.
    Taken,
    /// There is no data block, and none can be opened now.
    Wait,
}

/// All of a log-block mapping but its scheme.
pub(in crate::mapping) struct Tables {
    pub(super) geometry: Geometry,
    pub(super) owner: Owner,
    pub(super) settings: Settings,
    pub(in crate::mapping) lbns: LogicalBlocks,
    pub(in crate::mapping) pages: Pages,
    pub(in crate::mapping) blocks: Blocks,
    pub(super) jobs: Jobs,
    pub(super) trims: Trims,
    pub(super) counters: MergeCounters,
}

impl Tables {
    pub(super) fn new<S: Scheme>(context: &FtlContext<'_>, state: &FlashState) -> Self {
        let geometry = context.geometry;
        let settings = Settings::read::<S>(context.values);
        let lbns = LogicalBlocks { pages: context.user_pages, pages_per_block: geometry.pages_per_block };
        Self {
            geometry,
            owner: context.owner,
            settings,
            lbns,
            pages: Pages::new(geometry, context.user_pages),
            blocks: Blocks::new(context, &settings, lbns, state),
            jobs: Jobs::new(settings.merge_blocks, lbns.count()),
            trims: Trims::new(geometry, context.owner),
            counters: MergeCounters::default(),
        }
    }

    /// Programs the page `index` of a write at `page`.
    #[inline(always)]
    pub(super) fn write_page<F: Flash>(&mut self, flash: &mut F, op: &PageOp, index: u32, page: Ppn, join: JoinId) {
        let full = self.geometry.full_mask();
        let (logical, mask) = (op.at(index), op.mask_at(index, full));
        let old = self.pages.find(logical);
        let sequence = self.pages.next_sequence();
        let merge = old.is_some() && mask != full;
        let mut after = None;
        let mut supersedes = old;
        if let Some(old) = old {
            self.pages.drop(old);
            if merge {
                after = read_missing(flash, self.owner, &self.geometry, old, mask, join, None);
            }
        } else if let Some(tombstone) = trimmed_by(&self.pages, logical) {
            self.trims.leave(&mut self.pages, tombstone);
            supersedes = Some(tombstone);
        }
        self.pages.place(logical, page);
        self.blocks.note_place(page, self.lbns.offset(logical));
        let command = PageProgram {
            page,
            supersedes,
            what: Program::Data { payload: op.payload.offset(index), merge },
            logical: logical.0,
            sequence,
            cause: op.cause,
            completion: Completion::Join(join),
            after,
        };
        reach(flash, page);
        flash.program(self.owner, command);
        if self.jobs.has_rewrites() {
            self.note_rewritten(flash, logical);
        }
    }

    /// Programs the tombstone of pages, which are unmapped.
    pub(super) fn bury<F: Flash>(&mut self, flash: &mut F, page: Ppn, range: Range, join: JoinId) {
        self.blocks.note_place(page, self.lbns.offset(range.first));
        self.trims.bury(flash, &mut self.pages, page, range, join);
    }

    /// Work that waits for nothing in particular goes on: blocks a power cut left, logical blocks to be rescued, wear.
    #[inline]
    pub(super) fn pump<F: Flash>(&mut self, flash: &mut F) {
        if self.blocks.has_garbage() {
            self.blocks.erase_garbage(flash);
        }
        if self.jobs.has_rescues() {
            self.pump_rescues(flash);
        }
        if self.settings.level_gap > 0 && self.blocks.is_to_level() {
            self.level(flash);
        }
    }

    #[inline(always)]
    pub(super) fn on_event<F: Flash>(&mut self, flash: &mut F, event: &Event) {
        match *event {
            Event::Timer { .. } | Event::RefreshDue { .. } | Event::DieLost { .. } | Event::Joined { .. } => {}
            Event::Notified { token, .. } if token & TOMBSTONE == TOMBSTONE => {
                self.trims.programmed(flash, Ppn(token & !TOMBSTONE));
            }
            Event::Notified { token, .. } if token & AWAITED != 0 => self.jobs.awaited(Lbn(token & !AWAITED)),
            Event::Notified { token, .. } => self.copied(flash, token as usize),
            Event::Erased { block } => self.blocks.erased(block),
            Event::EraseFailed { block } => self.blocks.retire(block),
            Event::ProgramFailed(id) => {
                let failure = flash.failure(id);
                self.program_failed(flash, &failure);
            }
        }
        self.pump(flash);
    }

    /// Whether something under way will give room.
    pub(super) fn is_making_room(&self) -> bool {
        self.jobs.is_busy() || self.blocks.is_erasing()
    }

    /// A page's place in the data block of its logical block, which is opened if there is none.
    #[inline]
    pub(in crate::mapping) fn place_in_data<F: Flash>(&mut self, flash: &mut F, logical: Lpn) -> InPlace {
        let (lbn, offset) = (self.lbns.of(logical), self.lbns.offset(logical));
        let Some(block) = self.blocks.table.data(lbn).or_else(|| self.blocks.open_data(flash, lbn)) else {
            return InPlace::Wait;
        };
        if offset >= u32::from(flash.state().block(block).issued) {
            InPlace::Page(self.geometry.page_at(block, offset))
        } else {
            InPlace::Taken
        }
    }

    /// A page's offset in its block.
    #[inline]
    pub(in crate::mapping) fn offset_of(&self, page: Ppn) -> u32 {
        self.geometry.page_in_block(page)
    }

    /// The page at an offset of the log block of a logical block that is not being merged.
    pub(in crate::mapping) fn page_of_log(&self, lbn: Lbn, offset: u32) -> Option<Ppn> {
        let log = self.blocks.table.log(lbn).filter(|_| !self.jobs.is_locked(lbn))?;
        Some(self.geometry.page_at(log, offset))
    }

    /// Logical blocks with log blocks, the one whose log block was opened or touched longest ago first,
    /// without those being merged.
    pub(in crate::mapping) fn log_owners(&self) -> impl Iterator<Item = Lbn> {
        self.blocks.table.log_owners().filter(|lbn| !self.jobs.is_locked(*lbn))
    }

    /// Log blocks the drive may have: as many as asked for, and as failures leave.
    pub(in crate::mapping) fn log_limit<F: Flash>(&self, flash: &F) -> u32 {
        // Where blocks fail, the target of a merge may as well.
        let spare = self.blocks.spare(self.settings.merge_blocks + u32::from(flash.state().expects_failures()));
        let least = self.blocks.spare(self.settings.merge_blocks);
        self.settings.most_logs().min(spare.max(least.min(self.settings.least_logs)))
    }

    /// The logical block that a valid page is of.
    pub(super) fn logical_block_of(&self, page: Ppn) -> Lbn {
        self.lbns.of(self.trims.first_in(&self.pages, page).expect("a valid page is a version or a tombstone"))
    }

    /// Every invariant of the mapping, of at most `most_logs` log blocks of one logical block each and with these
    /// shared ones.
    ///
    /// # Errors
    /// The broken law, in words.
    pub(super) fn check(&self, state: &FlashState, most_logs: u32, shared: &[BlockId]) -> Result<(), String> {
        let mut trimmed = vec![0; self.geometry.pages() as usize];
        let mapped = self.pages.check(state, &mut trimmed)? + self.trims.live();
        let valid = self.pages.blocks().check()?;
        if valid != mapped {
            return Err(format!("{valid} valid pages, but {mapped} mapped pages and tombstones"));
        }
        check_contents(&self.pages, state)?;
        self.trims.check(&self.pages, &trimmed)?;
        self.jobs.check()?;
        let fits = |block: BlockId, role: Role| {
            let holds = |lbn, in_place| self.trims.holds(&self.pages, block, self.lbns, (lbn, in_place));
            match role {
                Role::Data(lbn) => holds(lbn, true),
                Role::Log(lbn) => holds(lbn, self.blocks.is_in_place(block)),
                Role::Shared => shared.contains(&block),
                Role::Target(lbn) => self.jobs.targets().any(|target| target == (lbn, block)),
                Role::Odd(lbn) => self.jobs.is_to_rescue(lbn) && holds(lbn, false),
                Role::Free | Role::Garbage | Role::Erasing | Role::Bad => self.pages.is_empty(block),
            }
        };
        let targets = self.jobs.targets().filter(|(lbn, block)| self.blocks.is_target(*block, *lbn)).count();
        self.blocks.check(state, fits, shared.len(), targets)?;
        let logs = self.blocks.table.logs();
        if logs > most_logs { Err(format!("{logs} log blocks, but at most {most_logs}")) } else { Ok(()) }
    }

    /// `shared`: log blocks that logical blocks share; `log_bytes`: the function [`Scheme::log_bytes`].
    pub(super) fn report(&self, shared: u32, log_bytes: fn(u64, u64) -> u64) -> LayerReport {
        let mut report = LayerReport { name: "ftl", ..LayerReport::default() };
        let most = self.settings.most_logs().min(self.blocks.spare(self.settings.merge_blocks));
        report.ram_bytes =
            u64::from(self.lbns.count()) * 4 + log_bytes(u64::from(most), u64::from(self.lbns.pages_per_block));
        report.merges = self.counters.merges;
        let ([switch, partial, full], retired) = self.blocks.counts();
        report.counters.extend([
            ("log_blocks", u64::from(self.blocks.table.logs() + shared)),
            ("merge_copies", self.counters.copies),
            ("merge_erases_switch", switch),
            ("merge_erases_partial", partial),
            ("merge_erases_full", full),
            ("wear_levelled_blocks", self.counters.levelled),
            ("retired_blocks", u64::from(retired)),
            ("trimmed_pages", self.trims.trimmed_pages),
            ("tombstone_pages", self.trims.live()),
        ]);
        let valid = |block| self.pages.blocks().valid_count(BlockId(block)) as u16;
        report.valid_pages = (0..self.geometry.blocks()).map(valid).collect();
        report
    }

    pub(super) fn reset_counters(&mut self) {
        self.trims.trimmed_pages = 0;
        self.counters = MergeCounters::default();
        self.blocks.reset_counters();
    }

    /// `shared`: shared log blocks, oldest first.
    pub(super) fn save(&mut self, writer: &mut SnapshotWriter, shared: &[BlockId]) {
        self.pages.save(writer, SECTIONS);
        self.blocks.save(writer, shared);
        self.jobs.save(writer);
        self.trims.save(writer);
        let [turn, retired, freed] = self.blocks.numbers();
        let ended = u64::from(self.jobs.has_ended);
        writer.put("log.numbers", [self.pages.sequence(), turn, retired, freed, ended]);
    }

    /// Reads what [`Tables::save`] wrote; returns the shared log blocks.
    pub(super) fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<Vec<BlockId>, SnapshotError> {
        self.pages.load(reader, SECTIONS)?;
        let shared = self.blocks.load(reader)?;
        self.jobs.load(reader)?;
        self.trims.load(reader)?;
        let numbers = reader.get::<u64>("log.numbers")?;
        let &[sequence, turn, retired, freed, ref ended @ ..] = numbers.as_slice() else {
            return Err(unfit("counters are missing"));
        };
        self.jobs.has_ended = ended == [1];
        self.pages.note_sequence(sequence);
        self.blocks.load_numbers([turn, retired, freed]);
        Ok(shared)
    }
}

/// Flash has what the map says, as far as it is there already.
fn check_contents(pages: &Pages, state: &FlashState) -> Result<(), String> {
    let Some(contents) = state.contents() else { return Ok(()) };
    let found = pages.all().filter_map(|logical| Some((logical, pages.find(logical)?)));
    for (logical, page) in found.filter(|(_, page)| state.is_programmed(*page)) {
        let oob = contents.oob(page.0);
        if oob.logical != logical.0 || !matches!(oob.kind, PageKind::Data | PageKind::Lost) {
            return Err(format!("logical page {logical} maps to page {page}, which holds {oob:?}"));
        }
    }
    Ok(())
}
