//! The layer: writes into memory, reads from it, and the pages that leave it.
//!
//! Faithful to: writes are acknowledged when they are in memory; written data is read from there, sector by sector; a
//! flush empties a volatile buffer, an FUA write goes past it; non-volatile memory keeps a page until flash has it.
//! Simplified: memory takes no time.
//! Protects: a read sees the last write; versions of a page reach the layer below in the order in which
//! they were written; flushed data, and all data in non-volatile memory, survive a power cut.

use crate::BufferContext;
use crate::lost::{LOST, Lost};
use crate::parameters::{self, Area};
use crate::policy::{Piece, Policy};
use crate::read::versions;
use crate::store::{State, Store};
use crate::write_back::WriteBack;
use layer::{
    Answer, Below, Held, LayerReport, Ops, Outbox, PageLayer, PageOp, Signal, Slots, SnapshotError, SnapshotReader,
    SnapshotWriter,
};
use nand::{Event, Flash, FlashState, Owner, Token};
use units::{HostOp, Lpn, Ppn, Request};

layer::tag_kinds! {
    /// A request to the layer below.
    pub(crate) Asked, 0 bits of index:
    /// To write a page on its way, by its slot.
    Write,
    /// A part of a read of the host, by the read.
    Read,
    /// To read what completes a page on its way, by its slot.
    Padding,
    /// A flush, by its number.
    Flush
}
pub(crate) type Tag = layer::Tag<Asked>;

/// A piece of a write whose beginning alone found room.
#[derive(Clone, Copy, Debug)]
struct Stalled {
    owner: Owner,
    token: Token,
    /// Where it goes on.
    next: Lpn,
    /// First page of all of it, and first sector, counted from the beginning of its block.
    first: Lpn,
    sector: u32,
    area: Area,
}

/// Counters for the result.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    /// Dirty pages that were there when counting began.
    pub before: u64,
    /// Clean pages that were written.
    pub cleans_written: u64,
    /// Dirty pages that left without being written back: trimmed, written past the buffer, or folded into
    /// newer ones.
    pub forgotten: u64,
    /// Pages written that were there already, and that were not, by area.
    pub hits: [u64; 2],
    pub misses: [u64; 2],
    /// Pages that left for flash, by area.
    pub written_back: [u64; 2],
    /// Pages added to complete blocks.
    pub padding: u64,
    /// Logical blocks that left an area for blocks, those completed, and pages they had.
    pub blocks: u64,
    pub completed: u64,
    pub block_pages: u64,
    /// Pages of the area for pages that the other one held as well.
    pub folded: u64,
    /// Logical blocks that moved from the area for pages to the other one, and their pages.
    pub moved: u64,
    pub moved_pages: u64,
    /// Clean pages of the buffer that were added to complete blocks.
    pub merged: u64,
    /// Pages read from memory in part or as a whole.
    pub read_hits: u64,
    pub read_misses: u64,
    /// Pages written past the buffer.
    pub through: u64,
    /// Writes of several pages that entered as a whole, and refusals of one that waited for room for all of it.
    pub together: u64,
    pub delayed: u64,
}

/// A write buffer over another layer.
pub(crate) struct Buffered<F: Flash, P> {
    /// Owner of its requests to the layer below.
    pub owner: Owner,
    name: &'static str,
    pub below: Below<dyn PageLayer<F>>,
    pub store: Store,
    pub policy: P,
    pub write_back: WriteBack,
    /// Reads of the host that are read below in part.
    pub reads: Ops<PageOp>,
    pub flushes: Slots<PageOp>,
    pub lost: Lost,
    pub counters: Counters,
    /// Every write goes to flash at once.
    through: bool,
    /// Pages on their way from an area at once.
    window: u32,
    stalled: Option<Stalled>,
}

impl<F: Flash, P: Policy> Buffered<F, P> {
    pub fn new(context: &BufferContext<'_>, below: Box<dyn PageLayer<F>>, flash: &FlashState) -> Self {
        let values = context.values;
        let shape = parameters::shape::<P>(context);
        let nonvolatile = values.on("buffer.nonvolatile");
        let window = values.whole("buffer.write_back_pages") as u32;
        let mut buffer = Self {
            owner: context.owner,
            name: context.name,
            below: Below::new(below),
            store: Store::new(shape, nonvolatile, context.owner),
            policy: P::new(shape, values),
            write_back: WriteBack::new(shape.blocks()),
            reads: Ops::default(),
            flushes: Slots::default(),
            lost: Lost::default(),
            counters: Counters::default(),
            through: parameters::ACKNOWLEDGED_ON_FLASH.read(values),
            window: if window == 0 { context.geometry.planes() } else { window },
            stalled: None,
        };
        buffer.adopt(flash);
        buffer.count_anew();
        buffer
    }

    /// Counters begin at zero, but for what is buffered already.
    fn count_anew(&mut self) {
        self.counters = Counters { before: self.dirty(), ..Counters::default() };
    }

    /// Dirty pages of both areas.
    fn dirty(&self) -> u64 {
        Area::ALL.iter().map(|area| self.store.dirty(*area)).sum()
    }

    /// Checks its law.
    ///
    /// # Errors
    /// More or fewer pages came than have left and are there.
    fn check_sums(&self) -> Result<(), String> {
        let Counters { before, cleans_written, forgotten, misses, written_back, .. } = self.counters;
        let came = before + cleans_written + misses.iter().sum::<u64>();
        let left = written_back.iter().sum::<u64>() + forgotten;
        let dirty = self.dirty();
        if came == left + dirty { Ok(()) } else { Err(format!("{came} pages came, {left} left and {dirty} are there")) }
    }

    /// The part of a write within one logical block that begins with page `index` of it.
    fn piece(&self, op: &PageOp, index: u32) -> Piece {
        let shape = &self.store.shape;
        let first = op.at(index);
        let block = shape.block_of(first);
        let pages = (op.pages - index).min(shape.first_of(block) + shape.len_of(block) - first);
        let from = (first - shape.first_of(block)) * shape.sectors_per_page;
        let to = from + (pages - 1) * shape.sectors_per_page;
        let head = op.mask_at(index, shape.full_mask).trailing_zeros();
        let tail = 64 - op.mask_at(index + pages - 1, shape.full_mask).leading_zeros();
        Piece { block, first, pages, sectors: (from + head, to + tail), request_sectors: op.request_sectors }
    }

    fn submit_write(&mut self, flash: &mut F, op: &PageOp, outbox: &mut Outbox) -> Answer {
        if self.through || op.fua && !self.store.nonvolatile {
            // Whatever else is below may not keep it in memory that forgets.
            return self.write_through(flash, &PageOp { fua: true, ..*op });
        }
        let mut index = 0;
        while index < op.pages {
            let rest = self.piece(op, index);
            let goes_on =
                |stalled: &Stalled| (stalled.owner, stalled.token, stalled.next) == (op.owner, op.token, rest.first);
            let stalled = self.stalled.take().filter(goes_on);
            let (piece, area) = match stalled {
                // A policy hears of a piece once: its rest does not go on with it. Where blocks move, this one
                // may have moved meanwhile.
                Some(Stalled { first, sector, area, .. }) => {
                    let pages = rest.first + rest.pages - first;
                    let piece = Piece { first, pages, sectors: (sector, rest.sectors.1), ..rest };
                    let area = if P::SHARES_ROOM { self.policy.route(&piece, &self.store) } else { area };
                    (piece, area)
                }
                None => (rest, self.policy.route(&rest, &self.store)),
            };
            let taken = self.put_piece(flash, op, index, &rest, area, outbox);
            if taken < rest.pages {
                let (owner, token, next) = (op.owner, op.token, rest.first + taken);
                self.stalled = Some(Stalled { owner, token, next, first: piece.first, sector: piece.sectors.0, area });
                return self.below.room.refuse(index + taken);
            }
            self.wrote(flash, area, &piece);
            index += rest.pages;
        }
        Answer::Done { failed: false }
    }

    /// A piece was put. Room made for what follows may have sent it away again.
    fn wrote(&mut self, flash: &mut F, area: Area, piece: &Piece) {
        if self.store.find(area, piece.first + (piece.pages - 1)).is_some() {
            self.policy.wrote(&self.store, area, piece);
            if P::SHARES_ROOM && area == Area::Pages && self.policy.moves(&self.store, piece.block) {
                self.move_block(flash, piece.block);
            }
        }
    }

    /// The dirty pages of a logical block go from the area for pages to the one for blocks. What is there
    /// already is newer.
    fn move_block(&mut self, flash: &mut F, block: u32) {
        self.counters.moved += 1;
        for logical in self.store.shape.pages_of(block) {
            let Some(slot) = self.store.find(Area::Pages, logical) else { continue };
            if self.store.slot(slot).state != State::Dirty {
                continue;
            }
            if let Some(newer) = self.store.find(Area::Blocks, logical) {
                self.fold(flash, slot, newer);
                self.forget(flash, Area::Pages, slot);
                continue;
            }
            self.store.move_to_blocks(flash.memory_mut(), slot);
            self.policy.left(&self.store, Area::Pages, slot, logical);
            self.policy.put(&self.store, Area::Blocks, slot, true);
            self.counters.moved_pages += 1;
        }
    }

    /// Puts pages of a piece; how many found room.
    fn put_piece(
        &mut self,
        flash: &mut F,
        op: &PageOp,
        index: u32,
        piece: &Piece,
        area: Area,
        outbox: &mut Outbox,
    ) -> u32 {
        let together = self.store.shape.together;
        for page in 0..piece.pages {
            let logical = piece.first + page;
            // A power cut finds all pages of a window in memory, or none.
            let pages = match logical.0 % together {
                at if at == 0 || page == 0 => (together - at).min(piece.pages - page),
                _ => 0,
            };
            if pages > 1 && !self.make_room(flash, area, logical, pages, outbox) {
                self.counters.delayed += 1;
                return page;
            }
            self.counters.together += u64::from(pages > 1);
            let found = self.store.find(area, logical);
            if found.is_none() && !self.make_room(flash, area, logical, 1, outbox) {
                return page;
            }
            self.counters.cleans_written +=
                u64::from(found.is_some_and(|slot| self.store.slot(slot).state != State::Dirty));
            let slot = found.unwrap_or_else(|| self.store.insert(flash.memory_mut(), area, logical));
            let counter = if found.is_some() { &mut self.counters.hits } else { &mut self.counters.misses };
            counter[area.index()] += 1;
            let mask = op.mask_at(index + page, self.store.shape.full_mask);
            self.store.put(flash.memory_mut(), area, slot, mask, op.payload.offset(index + page));
            self.policy.put(&self.store, area, slot, found.is_none());
            if !self.lost.is_empty() && self.store.slot(slot).mask == self.store.shape.full_mask {
                self.lost.forget(flash.memory_mut(), logical);
            }
        }
        piece.pages
    }

    /// Sees to it that these pages fit, all of them. `false`: room will come.
    fn make_room(&mut self, flash: &mut F, area: Area, first: Lpn, pages: u32, outbox: &mut Outbox) -> bool {
        while !self.store.has_room(area, first, pages) {
            let on_their_way = self.store.leaving(area);
            if on_their_way > 0 && on_their_way >= self.window {
                return false;
            }
            let giver = self.policy.giver(area);
            let Some(victim) = self.policy.victim(&self.store, giver) else { return false };
            let before = self.store.taken();
            self.send(flash, giver, victim);
            assert!(self.store.taken() != before, "{victim:?} leaves the buffer as it was");
            self.pump(flash, outbox);
        }
        true
    }

    /// Takes over what non-volatile memory holds. A page there twice is on its way in its older version.
    fn adopt(&mut self, flash: &FlashState) {
        for (place, page) in flash.memory.nvram.of(self.owner) {
            if page.note == LOST {
                self.lost.adopt(Lpn(page.logical), place);
                continue;
            }
            let area = if page.note == 0 { Area::Pages } else { Area::Blocks };
            for other in Area::ALL {
                if let Some(older) = self.store.find(other, Lpn(page.logical)) {
                    self.send_alone(other, older);
                }
            }
            let slot = self.store.adopt(area, &page, place);
            self.policy.put(&self.store, area, slot, true);
        }
    }

    /// Handles what the layer below said in its outbox.
    fn hear(&mut self, flash: &mut F, outbox: &mut Outbox) {
        while let Some(signal) = self.below.next_signal() {
            match signal {
                Signal::Done { owner, token, failed, wait } if owner == self.owner => {
                    self.on_done(flash, token, failed, wait, outbox);
                }
                Signal::Room => {
                    self.pump(flash, outbox);
                    self.below.room.announce(outbox);
                }
                done @ Signal::Done { .. } => outbox.push(done),
            }
        }
    }

    fn on_done(&mut self, flash: &mut F, token: Token, failed: bool, wait: Option<u32>, outbox: &mut Outbox) {
        let Tag { kind, number, .. } = Tag::of(token);
        match kind {
            Asked::Read => self.read_done(flash, number, failed, wait, outbox),
            Asked::Padding => {
                self.padding_read(flash, number, failed);
                self.pump(flash, outbox);
            }
            Asked::Flush => self.flushed(number, failed, wait, outbox),
            Asked::Write => {
                self.arrived(flash, number, failed);
                self.pump(flash, outbox);
                self.below.room.announce(outbox);
            }
        }
    }

    fn report_own(&self) -> LayerReport {
        let Counters { hits, misses, written_back, padding, blocks, completed, block_pages, folded, through, .. } =
            self.counters;
        let shape = &self.store.shape;
        let pages = u64::from(shape.room());
        let mut report = LayerReport {
            name: self.name,
            // Data, an address and a sector mask a page, and the order.
            ram_bytes: pages * (u64::from(shape.page_bytes) + 4 + u64::from(shape.sectors_per_page.div_ceil(8)))
                + self.policy.ram_bytes(),
            cache: Some((hits[0] + hits[1], misses[0] + misses[1])),
            ..LayerReport::default()
        };
        report.counters.extend([
            ("page_hits", hits[0]),
            ("page_misses", misses[0]),
            ("block_hits", hits[1]),
            ("block_misses", misses[1]),
            ("pages_written_back", written_back[0]),
            ("block_pages_written_back", written_back[1]),
            ("padding_pages", padding),
            ("blocks_written_back", blocks),
            ("blocks_completed", completed),
            ("block_pages_held", block_pages),
            ("folded_pages", folded),
            ("read_hits", self.counters.read_hits),
            ("read_misses", self.counters.read_misses),
            ("pages_written_through", through),
            ("pages_buffered", self.store.dirty(Area::Pages)),
            ("block_pages_buffered", self.store.dirty(Area::Blocks)),
            ("clean_pages_kept", self.store.pages(Area::Pages).count() as u64 - self.store.dirty(Area::Pages)),
            ("pages_buffered_before", self.counters.before),
            ("clean_pages_written", self.counters.cleans_written),
            ("pages_forgotten", self.counters.forgotten),
            ("pages_not_written_back", self.lost.count()),
            ("block_room_taken", u64::from(self.store.used(Area::Blocks))),
        ]);
        if shape.together > 1 {
            let Counters { together, delayed, .. } = self.counters;
            report.counters.extend([("atomic_writes", together), ("atomic_writes_delayed", delayed)]);
        }
        if P::SHARES_ROOM {
            let Counters { moved, moved_pages, merged, .. } = self.counters;
            report.counters.extend([("blocks_moved", moved), ("pages_moved", moved_pages), ("merged_pages", merged)]);
        }
        self.policy.report(&mut report);
        report
    }
}

impl<F: Flash, P: Policy> PageLayer<F> for Buffered<F, P> {
    fn submit(&mut self, flash: &mut F, op: &PageOp, outbox: &mut Outbox) -> Answer {
        if !self.write_back.is_idle() {
            self.pump(flash, outbox);
        }
        let answer = match op.op {
            HostOp::Read => self.submit_read(flash, op),
            HostOp::Write => self.submit_write(flash, op, outbox),
            HostOp::Trim => self.submit_trim(flash, op),
            HostOp::Flush => self.submit_flush(flash, op, outbox),
        };
        if self.below.has_spoken() {
            self.hear(flash, outbox);
        }
        answer
    }

    fn on_event(&mut self, flash: &mut F, owner: Owner, event: &Event, outbox: &mut Outbox) {
        match *event {
            Event::Joined { token, failed, wait } if owner == self.owner => {
                self.on_done(flash, token, failed, wait, outbox);
            }
            ref event => self.below.on_event(flash, owner, event),
        }
        if self.below.has_spoken() {
            self.hear(flash, outbox);
        }
    }

    fn prepare(&mut self, flash: &mut F) {
        self.below.prepare(flash);
    }

    fn on_idle(&mut self, flash: &mut F) -> bool {
        self.below.on_idle(flash)
    }

    fn hint_map(&self, flash: &F, soon: &[Request]) {
        let per_page = u64::from(self.store.shape.sectors_per_page);
        for request in soon {
            self.store.prefetch(Lpn((request.first_sector / per_page) as u32));
        }
        self.below.hint_map(flash, soon);
    }

    fn hint_target(&self, flash: &F, next: &[Request]) {
        self.below.hint_target(flash, next);
    }

    fn holds(&self, flash: &F, page: Lpn) -> Held {
        if self.lost.has(page) {
            return Held::Bytes;
        }
        let payloads = &flash.state().memory.payloads;
        for slot in versions(&self.store, page).map(|slot| self.store.slot(slot)) {
            if matches!(slot.state, State::Filling(_)) {
                continue;
            }
            if !payloads.is_blank(slot.payload) {
                return Held::Bytes;
            }
            // A trim that is not on flash.
            if slot.mask == self.store.shape.full_mask {
                return Held::Nothing;
            }
        }
        self.below.holds(flash, page)
    }

    fn place_of(&self, page: Lpn, sectors: u64) -> Option<Ppn> {
        let is_newer = |slot| {
            let slot = self.store.slot(slot);
            !matches!(slot.state, State::Clean | State::Filling(_)) && slot.mask & sectors != 0
        };
        let is_below = !versions(&self.store, page).any(is_newer);
        is_below.then(|| self.below.place_of(page, sectors)).flatten()
    }

    fn check(&self, flash: &F) -> Result<(), String> {
        self.store.check()?;
        self.check_sums()?;
        self.policy.check(&self.store)?;
        self.write_back.check(&self.store)?;
        self.below.check(flash)
    }

    fn report(&self, reports: &mut Vec<LayerReport>) {
        reports.push(self.report_own());
        self.below.report(reports);
    }

    fn reset_counters(&mut self) {
        self.count_anew();
        self.policy.reset_counters();
        self.below.reset_counters();
    }

    fn save(&mut self, writer: &mut SnapshotWriter) {
        assert!(self.write_back.is_idle(), "a drive is drained before its state is saved");
        for area in Area::ALL {
            // Clean pages are on flash as well: the buffer begins without them.
            let pages = self.store.pages(area).map(|slot| self.store.slot(slot));
            let dirty = pages.filter(|slot| slot.state == State::Dirty);
            let state = dirty.map(|slot| [slot.logical.0, slot.mask as u32, (slot.mask >> 32) as u32]);
            writer.put("buffer.pages", state);
        }
        writer.put("buffer.lost", self.lost.pages());
        self.policy.save(&self.store, writer);
        self.below.save(writer);
    }

    fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        // A page that non-volatile memory has twice may be in both areas: nothing was on its way when this was saved.
        for (area, slot) in self.write_back.take_back() {
            self.store.take_back(area, slot);
        }
        for area in Area::ALL {
            for [logical, low, high] in reader.each::<[u32; 3]>("buffer.pages")? {
                let logical = Lpn(logical);
                if self.store.shape.pages[area.index()] == 0 || logical.0 >= self.store.shape.user_pages {
                    let problem = format!("page {logical} does not belong there");
                    return Err(SnapshotError::unfit("buffer.pages", problem));
                }
                // With contents, non-volatile memory has brought the page along.
                if self.store.find(area, logical).is_none() {
                    self.store.restore(area, logical, u64::from(low) | u64::from(high) << 32);
                }
            }
        }
        reader.each("buffer.lost")?.for_each(|logical| self.lost.restore(logical));
        self.count_anew();
        self.policy.load(&self.store, reader)?;
        self.below.load(reader)
    }
}
