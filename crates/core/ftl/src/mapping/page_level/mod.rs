//! The common ground of page-level mappings: every logical page may be anywhere.
//!
//! Faithful to: host and collection frontiers in each plane, greedy or other victims, a trim log,
//! recovery by a scan of out-of-band areas; translation pages that are read, programmed and collected
//! like others, by commands that data waits for.
//! Simplified: the scan after a power cut takes no time, so there is no checkpoint of the directory on flash
//! that would shorten it; blocks of user data open at the cut are closed
//! and not written further, unless each translation page has its own. The simulator knows the whole map
//! at all times; with translation pages that only decides where pages are, never what an access costs.
//! Protects: each logical page maps to one valid page or to one tombstone; valid counts agree with
//! the maps; nothing is erased that an acknowledged state still needs; translation pages on flash differ
//! from the map only in entries a scheme knows to be dirty.

mod access;
mod at_once;
mod collect;
mod collector;
mod copies;
mod cursor;
mod fail;
mod groups;
mod old_versions;
mod pad;
mod parameters;
mod place;
mod recover;
pub(super) mod refresh;
pub(super) mod scheme;
pub(super) mod schemes;
pub(super) mod slc;
mod space;
mod state;
mod together;
mod translation;
mod trim;
mod trims;
mod versioned;
mod write;

use crate::FtlContext;
use crate::alloc::Placement;
use crate::mapping::common::{answer, prefetch_blocks};
use crate::mapping::{Builder, Layout, Mapping, VersionedEntry, entry, pages};
pub(super) use access::Resident;
use access::{MapAccess, Sharing, Use};
use collector::Collector;
use entry::Entry;
use fail::Homeless;
use groups::Groups;
pub use groups::MOST_PAGES as MOST_GROUP_PAGES;
use layer::{
    Answer, Held, LayerReport, OpHandle, Outbox, PageLayer, PageOp, Parameter, Signal, SnapshotError, SnapshotReader,
    SnapshotWriter, Tiled, Tiling,
};
use nand::{Awaits, Cancel, Closed, Completion, Event, Flash, FlashState, Operation, Owner, Read};
use old_versions::OldVersions;
pub(super) use old_versions::{KeptVersions, NoVersions};
use pages::Pages;
use parameters::Settings;
pub use parameters::{PACE, SUPERBLOCKS};
pub(super) use parameters::{RUN_PAGES, common, demand, reserve_blocks};
use place::NoRoom;
pub use slc::SLC_CACHED;
use slc::SlcCache;
use space::Space;
pub(super) use translation::Translation;
use trims::Trims;
use units::{Geometry, HostOp, Lpn, Ppn, Request};

layer::tag_kinds! {
    /// What commands of this mapping that it hears of are for.
    Heard, 0 bits of index:
    /// A program of the collection of a lane: its number.
    Copy,
    /// A record of trims: its slot.
    Tombstone,
    /// A translation page that nobody waits for.
    Translation,
    /// A page that filled up a program.
    Padding,
    /// A part of a group: the number of the group.
    Part,
}

type Tag = layer::Tag<Heard>;

impl Heard {
    /// How the end of a command for thing `number` of this kind is heard of.
    #[inline]
    fn notify(self, number: u32) -> Completion {
        Completion::Notify(Tag::token(self, number, 0))
    }
}

/// A page-level FTL: see the module description.
pub(crate) struct PageMap<A: MapAccess> {
    geometry: Geometry,
    owner: Owner,
    settings: Settings,
    pages: Pages,
    space: Space,
    versions: A::Versions,
    trims: Trims,
    homeless: Homeless,
    groups: Groups,
    collector: Collector,
    /// An operation was answered `Full` since the last room signal.
    starved: bool,
    /// An operation was refused because collection was behind the host: copies are under way, and their end makes it
    /// possible.
    waits_for_pace: bool,
    /// A barrier is up that will wake the starved.
    awaiting_programs: bool,
    access: A,
    /// Blocks with one bit a cell, if there are any.
    slc: Option<Box<SlcCache>>,
    retired_blocks: u32,
}

/// A line of the table of mappings for a scheme.
pub(super) fn mapping<A: MapAccess>(
    name: &'static str,
    doc: &'static str,
    when: &'static str,
    parameters: fn() -> Vec<Parameter>,
) -> Mapping {
    // Translation pages have no home plane.
    Mapping {
        name,
        doc,
        when,
        parameters,
        reserve_blocks: parameters::reserve_blocks::<A>,
        kept_erased: Some(parameters::kept_erased::<A>),
        kept_for_failures: parameters::kept_for_failures::<A>,
        is_versioned: false,
        keeps_groups: A::SHARING == Sharing::Data,
    }
}

/// The builder of a scheme.
pub(super) fn builder<A: MapAccess, F: Flash>() -> Builder<F> {
    Builder {
        build: |context, flash| Box::new(PageMap::<A>::new(context, flash.state())),
        recover: |context, image| Ok(Box::new(PageMap::<A>::recover(context, image)?)),
        versioned: None,
    }
}

/// A mapping for a stripe layer.
pub(super) fn versioned<A: MapAccess<Versions = KeptVersions>, F: Flash>() -> VersionedEntry<F> {
    VersionedEntry {
        build: |context, flash| Box::new(PageMap::<A>::new(context, flash.state())),
        recover: |context, image| Ok(Box::new(PageMap::<A>::recover(context, image)?)),
    }
}

impl<A: MapAccess> PageMap<A> {
    fn new(context: &FtlContext<'_>, flash: &FlashState) -> Self {
        let geometry = context.geometry;
        let in_planes = context.stripes.is_none_or(|stripes| stripes.lanes_per_plane == 1);
        let mut settings = Settings::read::<A>(context.values, in_planes);
        settings.paced &= context.stripes.is_none(); // as the condition of the key says
        if context.stripes.is_some() {
            settings.placement = Placement::Static;
        }
        let layout = Layout {
            page_bytes: geometry.page_bytes,
            pages_per_block: geometry.pages_per_block,
            planes: geometry.planes(),
            user_pages: context.user_pages,
        };
        let shape = A::shape(context.values, &layout).expect("translation pages are checked with the configuration");
        let space = Space::new(context, flash, &settings, shape);
        let collector = Collector::new(context, &settings, space.lanes.len());
        let no_stripes = context.stripes.is_none();
        let slc = SlcCache::new(context.values, &layout, space.lanes.len(), settings.free_blocks);
        Self {
            slc: slc.filter(|_| no_stripes).map(Box::new),
            geometry,
            owner: context.owner,
            pages: Pages::new(geometry, context.user_pages + shape.count),
            space,
            versions: OldVersions::new(
                context.stripes,
                (context.user_pages + shape.count) as usize,
                flash.holds_contents(),
            ),
            trims: Trims::new(context),
            homeless: Homeless::new(geometry),
            groups: Groups::new(context),
            collector,
            starved: false,
            waits_for_pace: false,
            awaiting_programs: false,
            retired_blocks: 0,
            access: A::new(context, shape),
            settings,
        }
    }

    #[inline]
    fn submit_read<F: Flash>(&mut self, flash: &mut F, op: &PageOp) -> Answer {
        // Where no map entry costs a command, the read of a page is all of its operation.
        if op.pages == 1 && !op.cancellable && A::SHARING == Sharing::Data {
            return self.read_page(flash, op);
        }
        let cancel = if op.cancellable { Cancel::Possible } else { Cancel::Never };
        let join = flash.open(op.owner, op.token, cancel);
        for index in 0..op.pages {
            let logical = op.at(index);
            let room = A::make_entry_room(self, flash, logical);
            let known = self.access.translate(flash, &mut self.pages, &mut self.space, &Use { op, index, join, room });
            let entry = self.versions.to_read(logical, self.pages.entry(logical), op.kept);
            if let Some(read) = self.read_of(flash, op, index, entry) {
                flash.read(self.owner, Read { completion: Some(Completion::Join(join)), after: known, ..read });
            }
        }
        answer(flash, join, Awaits::Commands)
    }

    /// Reads the only page of an operation.
    #[inline]
    fn read_page<F: Flash>(&mut self, flash: &mut F, op: &PageOp) -> Answer {
        let entry = self.versions.to_read(op.first, self.pages.entry(op.first), op.kept);
        let Some(read) = self.read_of(flash, op, 0, entry) else { return Answer::Done { failed: false } };
        let operation = Operation { owner: op.owner, token: op.token };
        answer_alone(flash.read_alone(self.owner, operation, read))
    }

    /// The command that reads a page of an operation. `None`: nothing was written there, and it reads zeros.
    #[inline(always)]
    fn read_of<F: Flash>(&self, flash: &mut F, op: &PageOp, index: u32, entry: Entry) -> Option<Read> {
        let (payload, full) = (op.payload.offset(index), self.geometry.full_mask());
        let mask = op.mask_at(index, full);
        let Some(page) = entry.on_flash() else {
            flash.memory_mut().payloads.clear(payload, mask);
            return None;
        };
        // Counting bits is slow on processors without the instruction; most masks are full.
        let sectors = if mask == full { self.geometry.sectors_per_page() } else { mask.count_ones() } as u8;
        Some(Read { page, cause: op.cause, sectors, payload, completion: None, after: None })
    }

    /// A page for a write that was refused one, if there is one after all.
    #[cold]
    fn page_after_all<F: Flash>(&mut self, flash: &mut F, logical: Lpn, why: NoRoom) -> Option<Ppn> {
        if self.starve(flash, why) { A::page_for_write(self, flash, logical).ok() } else { None }
    }

    /// An operation finds no room. Erases under way will make some; if there are none, every block
    /// worth collecting may still have programs under way, and their end is what to wait for. `true`: nothing is to be
    /// waited for, and it may try once more.
    #[cold]
    fn starve<F: Flash>(&mut self, flash: &mut F, why: NoRoom) -> bool {
        if why == NoRoom::Outpaced {
            self.waits_for_pace = true;
            return false;
        }
        self.starved = true;
        self.hurry_erases(flash);
        if self.awaiting_programs || self.is_making_room(flash) {
            return false;
        }
        self.fill_up(flash);
        let join = flash.open(self.owner, 0, Cancel::Never);
        self.awaiting_programs = flash.close(join, Awaits::AllPrograms) == Closed::Pending;
        if self.awaiting_programs {
            return false;
        }
        self.trims.let_go(flash);
        // A lane's collection may have used what another one, asked before, could spare. Where collecting takes no
        // time, no end of a command will have that one asked again.
        for lane in 0..self.space.lanes.len() {
            self.collect(flash, lane);
        }
        self.space.lanes.any_can_give()
    }

    /// The programs a starved operation waited for are on flash: their blocks may be collected.
    fn on_programs_done<F: Flash>(&mut self, flash: &mut F, outbox: &mut Outbox) {
        self.awaiting_programs = false;
        for lane in 0..self.space.lanes.len() {
            self.collect(flash, lane);
        }
        self.announce_room(flash, outbox);
    }

    fn on_copied<F: Flash>(&mut self, flash: &mut F, lane: usize, outbox: &mut Outbox) {
        self.space.lanes.cursor(lane).ended();
        self.collect(flash, lane);
        self.let_host_go_on(lane, outbox);
        if self.starved {
            self.hurry_erases(flash);
            if !self.is_making_room(flash) {
                self.announce_room(flash, outbox);
            }
        }
        if self.collector.idle && !self.space.lanes[lane].cursor.is_busy() {
            self.end_idle_work(flash);
        }
    }

    fn on_erased<F: Flash>(&mut self, flash: &mut F, block: units::BlockId, outbox: &mut Outbox) {
        self.freed(flash, block);
        self.collect(flash, self.space.lanes.of_block(block));
        if !self.trims.tombstones().short().is_empty() {
            self.trims.complete_all_copies(flash, &mut self.pages, &mut self.space);
        }
        self.announce_room(flash, outbox);
        self.end_idle_work(flash);
    }

    /// The erase of a block is done.
    pub(super) fn freed<F: Flash>(&mut self, flash: &F, block: units::BlockId) {
        self.space.lanes.erased(flash.state(), block);
        if flash.state().blocks.is_worn_out(block) {
            self.space.withhold(flash.state(), self.pages.logical_pages());
        }
    }

    /// A copy of a lane ended: whoever collection was behind of may try again.
    #[inline]
    fn let_host_go_on(&mut self, lane: usize, outbox: &mut Outbox) {
        if self.waits_for_pace && !self.is_outpaced(lane) {
            self.waits_for_pace = false;
            outbox.push(Signal::Room);
        }
    }

    fn announce_room<F: Flash>(&mut self, flash: &mut F, outbox: &mut Outbox) {
        self.collect_for_homeless(flash);
        if self.starved {
            self.starved = false;
            outbox.push(Signal::Room);
        }
    }
}

/// The answer to an operation that is one command.
#[inline(always)]
fn answer_alone(closed: Closed) -> Answer {
    match closed {
        Closed::Done { failed } => Answer::Done { failed },
        Closed::Pending => Answer::Pending(OpHandle(None)),
    }
}

impl<F: Flash, A: MapAccess> PageLayer<F> for PageMap<A> {
    fn submit(&mut self, flash: &mut F, op: &PageOp, _: &mut Outbox) -> Answer {
        self.collector.idle = false;
        // A flush without trims programs nothing that could make a broken group look whole.
        let changes = op.op != HostOp::Read && (op.op != HostOp::Flush || !self.trims.is_empty());
        if changes && self.groups.are_broken() && !self.renew(flash) {
            return Answer::Full { taken: 0, pending: false, failed: false };
        }
        A::operation_begins(self, flash);
        let answer = match op.op {
            HostOp::Read => self.submit_read(flash, op),
            HostOp::Write if self.groups.are_kept() => self.submit_groups(flash, op),
            HostOp::Write => self.submit_write(flash, op, None),
            HostOp::Trim => self.submit_trim(flash, op),
            HostOp::Flush => self.submit_flush(flash, op),
        };
        A::collect_where_opened(self, flash);
        answer
    }

    fn write_at_once(&mut self, flash: &mut F, requests: &[Request]) -> usize {
        self.write_pages_at_once(flash, requests)
    }

    fn on_event(&mut self, flash: &mut F, _: Owner, event: &Event, outbox: &mut Outbox) {
        match *event {
            // Copies of its lanes may never end.
            Event::DieLost { .. } => {
                if std::mem::take(&mut self.waits_for_pace) {
                    outbox.push(Signal::Room);
                }
            }
            Event::Timer { .. } => {}
            Event::RefreshDue { block } => {
                self.collector.due.note(block);
                self.collect(flash, self.space.lanes.of_block(block));
            }
            Event::Notified { token, page } => {
                let Tag { kind, number, .. } = Tag::of(token);
                match kind {
                    Heard::Copy => self.on_copied(flash, number as usize, outbox),
                    Heard::Tombstone => self.trims.durable(flash, number),
                    Heard::Part => self.part_ended(flash, number, page),
                    Heard::Translation | Heard::Padding => {}
                }
            }
            Event::Erased { block } => self.on_erased(flash, block, outbox),
            Event::EraseFailed { block } => {
                self.space.lanes.erase_ends(block);
                self.retired_blocks += 1;
                self.space.withhold(flash.state(), self.pages.logical_pages());
                self.collect(flash, self.space.lanes.of_block(block));
                self.announce_room(flash, outbox);
            }
            Event::ProgramFailed(id) => {
                let failure = flash.failure(id);
                self.program_failed(flash, &failure);
            }
            // Operations end at those who asked for them, so this is the barrier of the starved or of renewals.
            Event::Joined { token: groups::RENEWAL, .. } => self.on_renewed(flash, outbox),
            Event::Joined { .. } => self.on_programs_done(flash, outbox),
        }
        if self.groups.let_go_on() {
            outbox.push(Signal::Room);
        }
        A::collect_where_opened(self, flash);
    }

    fn on_idle(&mut self, flash: &mut F) -> bool {
        if let Some(slc) = self.slc.as_deref_mut().filter(|_| !self.collector.idle) {
            slc.idle_time_begins();
        }
        self.collector.idle = true;
        let before = flash.state().counters.clone();
        for lane in 0..self.space.lanes.len() {
            if flash.state().ageing.refreshes_by_age() {
                let (collector, gc) = self.collector_and_context();
                collector.due.look(flash.state(), &gc, lane);
            }
            self.collect(flash, lane);
        }
        self.end_idle_work(flash);
        self.space.lanes.are_reclaiming() || before != flash.state().counters
    }

    fn hint_map(&self, _: &F, soon: &[Request]) {
        let shift = self.geometry.page_shift();
        for request in soon {
            let logical = (request.first_sector >> shift) as usize;
            self.pages.prefetch_entry(logical);
            self.versions.prefetch(logical);
            self.access.prefetch(Lpn(logical as u32));
        }
    }

    fn hint_target(&self, flash: &F, next: &[Request]) {
        let blocks = self.pages.blocks();
        prefetch_blocks(flash, &self.geometry, |logical| self.pages.find_soon(logical), blocks, next);
        prefetch_blocks(flash, &self.geometry, |logical| self.versions.find_soon(logical), blocks, next);
    }

    fn holds(&self, flash: &F, page: Lpn) -> Held {
        self.pages.find(page).map_or(Held::Nothing, |page| Held::written(flash.may_hold_bytes(page)))
    }

    fn place_of(&self, page: Lpn, _: u64) -> Option<Ppn> {
        self.pages.find(page)
    }

    fn check(&self, flash: &F) -> Result<(), String> {
        self.check_laws(flash.state())?;
        self.access.check(flash.state(), &self.pages)
    }

    fn report(&self, reports: &mut Vec<LayerReport>) {
        let mut report = LayerReport { name: "ftl", ..LayerReport::default() };
        let map = self.access.ram_bytes(&self.pages);
        report.ram_bytes = map + self.versions.ram_bytes() + self.pages.blocks().ram_bytes() + self.trims.ram_bytes();
        self.access.report(&self.space, &mut report);
        report.counters.insert("retired_blocks", u64::from(self.retired_blocks));
        report.counters.insert("trimmed_pages", self.trims.trimmed_pages);
        report.counters.insert("wear_levelled_blocks", self.collector.levelled_blocks);
        if self.collector.overruled > 0 {
            report.counters.insert("overruled_victims", self.collector.overruled);
        }
        report.counters.extend(self.groups.counters().into_iter().flatten());
        if let Some(slc) = &self.slc {
            let pages = slc.pages(&self.space);
            report.counters.insert("slc_pages", pages.most);
            report.counters.insert("slc_free_pages", pages.free);
        }
        report.counters.insert("tombstone_pages", self.trims.live_pages());
        report.counters.insert("tombstones_to_copy", self.trims.tombstones().short().len() as u64);
        report.valid_pages =
            (0..self.geometry.blocks()).map(|b| self.pages.blocks().valid_count(units::BlockId(b)) as u16).collect();
        reports.push(report);
    }

    fn reset_counters(&mut self) {
        self.trims.trimmed_pages = 0;
        self.groups.reset_counters();
        self.collector.levelled_blocks = 0;
        self.collector.overruled = 0;
        self.access.reset_counters();
    }

    fn save(&mut self, writer: &mut SnapshotWriter) {
        self.save_state(writer);
    }

    fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.load_state(reader)
    }

    fn may_tile(&self) -> Result<(), &'static str> {
        self.may_be_tiled()
    }

    fn tile(
        &mut self,
        small: &FlashState,
        tiling: &Tiling,
        reader: &mut SnapshotReader<'_>,
    ) -> Result<Tiled, SnapshotError> {
        self.tile_state(small, tiling, reader)
    }
}
