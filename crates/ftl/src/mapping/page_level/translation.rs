//! Translation pages: the map on flash, its directory, and what their traffic costs.
//!
//! A translation page is one more logical page behind those of the user: page `user_pages + n` holds
//! the entries of translation page `n`. The map's entries for these pages are the directory, and
//! collection, failed programs and recovery treat them as any other page.
//!
//! The whole map is in the simulator's memory, as it decides where pages are; what a controller would
//! have in memory is what the scheme caches. Everything else costs commands, and data waits for them.

mod state;

pub(super) use state::{Translation, TranslationCounters};

use super::PageMap;
use super::entry::{Back, Entry};
use super::scheme::{Access, Plan, Scheme};
use layer::{LayerReport, PageOp};
use nand::{Command, CommandId, Completion, Flash, JoinId, Outcome, PayloadId, Program, Read, RecordId};
use units::{BlockId, Cause, Lpn, Ppn};

/// Token of a translation program that nobody counts.
pub(super) const TRANSLATION_TOKEN: u32 = 1 << 30;

/// Marks an entry of a record on flash that memory held a newer version of.
const OUTDATED: Entry = Entry::from_bits(u32::MAX - 1);

/// Why a translation page is programmed, and who hears of it.
#[derive(Clone, Copy)]
pub(super) struct Update {
    /// Number of the translation page.
    pub page: u32,
    /// It must be read first.
    pub read: bool,
    pub completion: Completion,
    pub after: Option<CommandId>,
}

impl<S: Scheme> PageMap<S> {
    /// The user's logical pages.
    #[inline]
    pub(super) fn user_pages(&self) -> usize {
        (self.pages.logical_pages() - self.translation.shape.count) as usize
    }

    /// Logical page of a translation page.
    #[inline]
    pub(super) fn translation_lpn(&self, page: u32) -> Lpn {
        Lpn(self.pages.logical_pages() - self.translation.shape.count + page)
    }

    /// Collects where blocks went to translation pages, as after a block of data: to be called where nothing is decided
    /// yet about the cache, since collection takes room.
    #[inline]
    pub(super) fn collect_opened<F: Flash>(&mut self, flash: &mut F) {
        while S::DEMAND
            && let Some(lane) = self.space.next_opened()
        {
            self.collect(flash, lane);
        }
    }

    /// A page for a host write, with room for the translation pages its entry may cost.
    #[inline]
    pub(super) fn host_page_with_room<F: Flash>(&mut self, flash: &mut F, logical: Lpn) -> Option<Ppn> {
        if !S::DEMAND {
            let page = self.host_page(flash, logical);
            if S::PINNED && page.is_none() && self.trims.have_copies() && self.make_way(flash) {
                return self.host_page(flash, logical);
            }
            return page;
        }
        self.collect_opened(flash);
        if self.translation.scheme.is_free(logical.0) {
            return self.host_page(flash, logical);
        }
        // Finding a page may start a collection that uses up the room found before; what is decided
        // about the cache after that still holds, as collections evict nothing.
        for _ in 0..3 {
            if !self.make_translation_room(flash, S::WRITE_BACKS) {
                return None;
            }
            let page = self.host_page(flash, logical)?;
            if self.space.has_translation_room(S::WRITE_BACKS) {
                return Some(page);
            }
            self.space.give_back(&mut self.pages, logical, page);
        }
        None
    }

    /// Whether the entry of `logical` can be used, and brought in if it is missing.
    #[inline]
    pub(super) fn admits_access<F: Flash>(&mut self, flash: &mut F, logical: Lpn) -> bool {
        self.collect_opened(flash);
        !S::DEMAND
            || self.space.has_translation_room(S::WRITE_BACKS)
            || self.translation.scheme.is_free(logical.0)
            || self.make_translation_room(flash, S::WRITE_BACKS)
    }

    /// Uses the entry of page `index` of an operation. Returns what its data must wait for. Without
    /// `room` an entry that is missing is read and used, but not kept.
    #[inline]
    pub(super) fn translate<F: Flash>(
        &mut self,
        flash: &mut F,
        op: &PageOp,
        index: u32,
        join: JoinId,
        room: bool,
    ) -> Option<CommandId> {
        if !S::DEMAND {
            return None;
        }
        let logical = Lpn(op.first + index);
        let page = self.translation.shape.page_of(logical.0);
        // What others may wait for must not go away with an operation that is taken back.
        let completion = if op.cancellable { Completion::Notify(TRANSLATION_TOKEN) } else { Completion::Join(join) };
        if !room && !self.translation.scheme.is_free(logical.0) {
            self.translation.counters.misses += 1;
            self.translation.counters.uncached += 1;
            return self.fetch(flash, page, completion, None);
        }
        let access = Access {
            logical: logical.0,
            request_end: op.first + op.pages - 1,
            change: op.op != units::HostOp::Read,
            at: self.pages.find(logical).map(|page| page.0),
        };
        let mut plan = Plan::default();
        self.translation.scheme.access(&access, &mut plan);
        if plan.hit {
            self.translation.counters.hits += 1;
        } else {
            self.translation.counters.misses += 1;
        }
        // An entry that is in memory may still be on its way there.
        let loading = self.translation.loading[page as usize].filter(|_| plan.hit);
        // A read waits for what it evicts as long as that takes, but need not be there when a program
        // that failed finds no other place: the drive may be worn out.
        let evicted = if access.change { completion } else { Completion::Notify(TRANSLATION_TOKEN) };
        let wait = self.write_back(flash, &plan, evicted, loading);
        self.read_in(flash, &plan, completion, wait)
    }

    /// Programs what a change of the cache evicts.
    #[inline]
    fn write_back<F: Flash>(
        &mut self,
        flash: &mut F,
        plan: &Plan,
        completion: Completion,
        after: Option<CommandId>,
    ) -> Option<CommandId> {
        let mut wait = after;
        for back in plan.write_backs() {
            let target =
                self.space.translation_page(&mut self.pages).expect("room was made before the cache was changed");
            let update = Update { page: back.page, read: !back.whole, completion, after: wait };
            wait = self.program_translation(flash, &update, target).pending().or(wait);
        }
        wait
    }

    /// Reads what a change of the cache brings in, and what was read in vain.
    #[inline]
    fn read_in<F: Flash>(
        &mut self,
        flash: &mut F,
        plan: &Plan,
        completion: Completion,
        after: Option<CommandId>,
    ) -> Option<CommandId> {
        let mut wait = after;
        if let Some(page) = plan.fetch {
            wait = self.fetch(flash, page, completion, wait);
        }
        if let Some(page) = plan.misread {
            self.translation.counters.misreads += 1;
            let read = self.mapping_read(Ppn(page), completion, wait);
            wait = flash.read(self.owner, read).pending();
        }
        wait
    }

    fn mapping_read(&self, page: Ppn, completion: Completion, after: Option<CommandId>) -> Read {
        Read {
            page,
            cause: Cause::Mapping,
            sectors: self.geometry.sectors_per_page() as u8,
            payload: PayloadId::NONE,
            completion: Some(completion),
            after,
        }
    }

    /// Reads a translation page, if there is one yet.
    #[inline]
    fn fetch<F: Flash>(
        &mut self,
        flash: &mut F,
        page: u32,
        completion: Completion,
        after: Option<CommandId>,
    ) -> Option<CommandId> {
        let Some(at) = self.pages.find(self.translation_lpn(page)) else { return after };
        let read = self.mapping_read(at, completion, after);
        let loading = flash.read(self.owner, read).pending();
        self.translation.counters.reads += 1;
        self.translation.loading[page as usize] = loading;
        loading
    }

    /// Programs a translation page with what memory knows.
    pub(super) fn program_translation<F: Flash>(&mut self, flash: &mut F, update: &Update, target: Ppn) -> Outcome {
        let logical = self.translation_lpn(update.page);
        let supersedes = self.pages.find(logical);
        let mut after = update.after;
        if let Some(old) = supersedes {
            if update.read {
                let read = Read { completion: None, ..self.mapping_read(old, update.completion, after) };
                after = flash.read(self.owner, read).pending();
                self.translation.counters.reads += 1;
            }
            self.pages.drop(old);
        }
        let record = self.record(flash, update.page);
        let sequence = self.pages.next_sequence();
        self.pages.place(logical, target);
        self.translation.awaits_update[update.page as usize] = false;
        self.translation.stale[update.page as usize] = false;
        self.translation.counters.writes += 1;
        let command = Command {
            page: target,
            supersedes,
            what: Program::Record(record),
            logical: logical.0,
            sequence,
            cause: Cause::Mapping,
            completion: update.completion,
            after,
        };
        flash.program(self.owner, command)
    }

    /// The entries of a translation page as they go to flash.
    fn record<F: Flash>(&self, flash: &mut F, page: u32) -> Option<RecordId> {
        let contents = flash.core_mut().contents.as_deref_mut()?;
        let range = self.translation.shape.range(page);
        Some(
            contents.take_record(
                range.flat_map(|logical| self.entry_on_flash(Lpn(logical)).bits().to_le_bytes()).collect(),
            ),
        )
    }

    fn entry_on_flash(&self, logical: Lpn) -> Entry {
        let entry = self.pages.entry(logical);
        if self.translation.scheme.is_dirty(logical.0) {
            OUTDATED
        } else if entry.is_page() {
            entry
        } else {
            Entry::NOWHERE
        }
    }

    /// Whether a record on flash says what memory says about all entries that are not dirty.
    pub(super) fn record_agrees(&self, page: u32, record: Option<&[u8]>) -> bool {
        self.first_difference(page, record).is_none()
    }

    /// The first entry of a translation page on flash that differs from a clean one in memory: its
    /// logical page, and both entries.
    fn first_difference(&self, page: u32, record: Option<&[u8]>) -> Option<(u32, Entry, Entry)> {
        let range = self.translation.shape.range(page);
        let mut words = record
            .unwrap_or_default()
            .chunks_exact(4)
            .map(|word| Entry::from_bits(u32::from_le_bytes(word.try_into().expect("four bytes"))));
        range.into_iter().find_map(|logical| {
            let on_flash = words.next().unwrap_or(Entry::NOWHERE);
            let expected = self.entry_on_flash(Lpn(logical));
            (expected != OUTDATED && expected != on_flash).then_some((logical, on_flash, expected))
        })
    }

    /// Keeps the host from what room for translation pages this collection was admitted with.
    pub(super) fn promise<F: Flash>(&mut self, flash: &F, lane: usize, victim: BlockId, pages: &[u32]) {
        let promised = self.emptying(flash, lane, victim).translation_pages();
        let holds_translation = self.held_translation(flash, victim);
        self.space.promise(lane, promised);
        let counters = &mut self.translation.counters;
        if holds_translation {
            counters.translation_victims += 1;
            counters.translation_victim_pages += pages.len() as u64;
        } else {
            counters.data_victims += 1;
            let touched = self.touched(pages);
            self.translation.counters.victim_translation_pages += touched;
        }
    }

    /// Whether a block was filled with translation pages, valid still or not. Of a block that a power cut left without
    /// a valid page this is not known: it counts as data.
    fn held_translation<F: Flash>(&self, flash: &F, block: BlockId) -> bool {
        let programmed =
            self.pages.backs(self.geometry.page_at(block, 0), usize::from(flash.core().block(block).issued));
        let known = programmed.iter().find_map(|back| back.logical());
        known.is_some_and(|logical| logical.index() >= self.user_pages())
    }

    /// Translation pages with entries of these pages. `pages`: of user data, in a block.
    fn touched(&mut self, pages: &[u32]) -> u64 {
        self.translation.look += 1;
        let mut touched = 0;
        for page in pages {
            let Some(logical) = self.pages.back(Ppn(*page)).logical() else { continue };
            let seen = &mut self.translation.seen[self.translation.shape.page_of(logical.0) as usize];
            touched += u64::from(*seen != self.translation.look);
            *seen = self.translation.look;
        }
        touched
    }

    /// Collection moved a page: its entry changes in memory, or its translation page is noted.
    #[inline]
    pub(super) fn note_relocation(&mut self, lane: usize, logical: Lpn, to: Ppn) {
        if !S::DEMAND {
            return;
        }
        if logical.index() >= self.user_pages() {
            self.translation.counters.copies += 1;
        }
        self.entry_changed(lane, logical, to);
    }

    /// A page is somewhere else without the host's doing; `lane` sees to its translation page.
    #[inline]
    pub(super) fn entry_changed(&mut self, lane: usize, logical: Lpn, to: Ppn) {
        if !S::DEMAND || logical.index() >= self.user_pages() {
            return;
        }
        let page = self.translation.shape.page_of(logical.0);
        if self.translation.scheme.relocated(logical.0, to.0) || self.translation.awaits_update[page as usize] {
            return;
        }
        self.translation.awaits_update[page as usize] = true;
        self.space.lanes.cursor(lane).update_later(page);
    }

    /// Programs one translation page whose entries this plane's collection changed. `false`: no room.
    pub(super) fn update_after_collection<F: Flash>(&mut self, flash: &mut F, lane: usize, page: u32) -> bool {
        let back = Back::data(self.translation_lpn(page));
        // In turn, as for the host: kept in the plane that is collected, translation pages would gather
        // where most is collected, and make for still more.
        let target = self.space.translation_page(&mut self.pages);
        let Some(target) = target.or_else(|| self.space.copy_page(&mut self.pages, lane, back)) else {
            return false;
        };
        self.translation.scheme.programmed(page);
        self.translation.counters.collection_updates += 1;
        let update = Update { page, read: true, completion: Completion::Notify(lane as u32), after: None };
        let outcome = self.program_translation(flash, &update, target);
        self.space.lanes.cursor(lane).issued(outcome);
        true
    }

    /// Programs a few of the translation pages that a power cut left behind.
    #[cold]
    pub(super) fn repair<F: Flash>(&mut self, flash: &mut F) {
        for _ in 0..2 {
            while self.translation.repairs.last().is_some_and(|page| !self.translation.stale[*page as usize]) {
                self.translation.repairs.pop();
            }
            let Some(&page) = self.translation.repairs.last() else { return };
            if !self.space.has_translation_room(S::WRITE_BACKS + 1) {
                return;
            }
            let Some(target) = self.space.translation_page(&mut self.pages) else { return };
            self.translation.scheme.programmed(page);
            self.translation.counters.repaired += 1;
            let completion = Completion::Notify(TRANSLATION_TOKEN);
            let update = Update { page, read: true, completion, after: None };
            self.program_translation(flash, &update, target);
        }
    }

    /// Bytes of the entries that a scan after a power cut found and flash does not have yet.
    fn repair_bytes(&self) -> u64 {
        let stale = self.translation.repairs.iter().filter(|page| self.translation.stale[**page as usize]);
        stale.count() as u64 * u64::from(self.translation.shape.entries()) * 4
    }

    /// Memory a controller needs for translation: directory, cache, and what the scheme adds.
    pub(super) fn translation_bytes(&self) -> u64 {
        let directory = u64::from(self.translation.shape.count) * S::DIRECTORY_BYTES;
        let scheme = &self.translation.scheme;
        directory + scheme.cached_bytes() + scheme.overhead_bytes() + self.repair_bytes()
    }

    /// Adds what happened to translation pages to the counters of the mapping.
    pub(super) fn report_translation(&self, report: &mut LayerReport) {
        if !S::DEMAND {
            return;
        }
        let counters = &self.translation.counters;
        report.cache = Some((counters.hits, counters.misses));
        report.counters.extend([
            ("map_cache_bytes", self.translation.scheme.cached_bytes()),
            ("map_directory_bytes", u64::from(self.translation.shape.count) * S::DIRECTORY_BYTES),
            ("translation_pages", u64::from(self.translation.shape.count)),
            ("translation_reads", counters.reads),
            ("translation_writes", counters.writes),
            ("translation_gc_updates", counters.collection_updates),
            ("translation_copies", counters.copies),
            ("translation_uncached", counters.uncached),
            ("translation_repaired", counters.repaired),
            ("translation_misreads", counters.misreads),
            ("translation_victims", counters.translation_victims),
            ("translation_victim_valid_pages", counters.translation_victim_pages),
            ("data_victims", counters.data_victims),
            ("data_victim_translation_pages", counters.victim_translation_pages),
            ("open_write_pointer_pages", self.space.room_in_own()),
        ]);
        self.translation.scheme.report(report);
    }

    /// Every law of translation: the directory names the newest version of each translation page, and
    /// what flash holds differs from memory only in entries known to be dirty.
    pub(super) fn check_translation(&self, core: &nand::FlashCore) -> Result<(), String> {
        if !S::DEMAND {
            return Ok(());
        }
        self.translation.scheme.check()?;
        let budget = self.budget;
        let cached = self.translation.scheme.cached_bytes();
        if cached > budget {
            return Err(format!("the cache holds {cached} bytes of map entries, its budget is {budget}"));
        }
        let Some(contents) = core.contents.as_deref() else { return Ok(()) };
        for page in 0..self.translation.shape.count {
            if self.translation.stale[page as usize] || self.translation.awaits_update[page as usize] {
                continue;
            }
            let at = self.pages.find(self.translation_lpn(page));
            if let Some(at) = at {
                let position = self.geometry.page_in_block(at);
                if position >= u32::from(core.block(self.geometry.block_of(at)).done) {
                    continue; // on its way
                }
                let oob = contents.oob(at.0);
                if oob.logical != self.translation_lpn(page).0 {
                    return Err(format!(
                        "the directory says translation page {page} is at {at}, which holds logical page {}",
                        oob.logical
                    ));
                }
            }
            let record = at.and_then(|at| contents.record(at.0));
            if let Some((logical, on_flash, known)) = self.first_difference(page, record) {
                return Err(format!(
                    "translation page {page} at {at:?} says logical page {logical} is at {on_flash:?}, but it is clean \
                     and at {known:?}"
                ));
            }
        }
        Ok(())
    }
}
