//! Translation pages: the map on flash, its directory, and the cost of their traffic.
//!
//! A translation page is one more logical page behind the pages of the user: page `user_pages + n`
//! holds the entries of translation page `n`. The map's entries for these pages are the directory,
//! and collection, failed programs and recovery treat them as any other page.
//!
//! The whole map is in the simulator's memory, as it decides where pages are; the scheme caches the
//! entries that a controller would have in memory. Everything else costs commands, and data waits for
//! them.

mod flows;
mod state;

pub(crate) use state::Translation;
use state::TranslationCounters;

use super::Heard;
use super::entry::{Back, Entry};
use super::pages::Pages;
use super::scheme::{Plan, Scheme};
use super::space::Space;
use layer::LayerReport;
use nand::{CommandId, Completion, Flash, Outcome, PageProgram, PayloadId, Program, Read, RecordId};
use units::{BlockId, Cause, Lpn, Ppn, Tpn};

/// Marks an entry of a record on flash that memory held a newer version of.
const OUTDATED: Entry = Entry::from_bits(u32::MAX - 1);

/// Why a translation page is programmed, and who hears of it.
#[derive(Clone, Copy)]
struct Update {
    /// The translation page.
    pub page: Tpn,
    /// It must be read first.
    pub read: bool,
    pub completion: Completion,
    pub after: Option<CommandId>,
}

impl<S: Scheme> Translation<S> {
    /// Logical page of a translation page.
    #[inline]
    fn lpn(&self, page: Tpn) -> Lpn {
        Lpn(self.shape.user_pages + page.0)
    }

    /// Programs what a change of the cache evicts.
    #[inline]
    fn write_back<F: Flash>(
        &mut self,
        flash: &mut F,
        pages: &mut Pages,
        space: &mut Space,
        plan: &Plan,
        completion: Completion,
        after: Option<CommandId>,
    ) -> Option<CommandId> {
        let mut wait = after;
        for back in plan.write_backs() {
            let target = space.translation_page(pages).expect("room was made before the cache was changed");
            let update = Update { page: back.page, read: !back.whole, completion, after: wait };
            wait = self.program(flash, pages, &update, target).pending().or(wait);
        }
        wait
    }

    /// Reads what a change of the cache brings in, and what was read in vain.
    #[inline]
    fn read_in<F: Flash>(
        &mut self,
        flash: &mut F,
        pages: &Pages,
        plan: &Plan,
        completion: Completion,
        after: Option<CommandId>,
    ) -> Option<CommandId> {
        let mut wait = after;
        if let Some(page) = plan.fetch {
            wait = self.fetch(flash, pages, page, completion, wait);
        }
        if let Some(page) = plan.misread {
            self.counters.misreads += 1;
            let read = self.mapping_read(page, completion, wait);
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
        pages: &Pages,
        page: Tpn,
        completion: Completion,
        after: Option<CommandId>,
    ) -> Option<CommandId> {
        let Some(at) = pages.find(self.lpn(page)) else { return after };
        let read = self.mapping_read(at, completion, after);
        let loading = flash.read(self.owner, read).pending();
        self.counters.reads += 1;
        self.loading[page.index()] = loading;
        loading
    }

    /// Programs a translation page with what memory knows.
    fn program<F: Flash>(&mut self, flash: &mut F, pages: &mut Pages, update: &Update, target: Ppn) -> Outcome {
        let logical = self.lpn(update.page);
        let supersedes = pages.find(logical);
        let mut after = update.after;
        if let Some(old) = supersedes {
            if update.read {
                let read = Read { completion: None, ..self.mapping_read(old, update.completion, after) };
                after = flash.read(self.owner, read).pending();
                self.counters.reads += 1;
            }
            pages.drop(old);
        }
        let record = self.record(flash, pages, update.page);
        let sequence = pages.next_sequence();
        pages.place(logical, target);
        self.awaits_update[update.page.index()] = false;
        self.stale[update.page.index()] = false;
        self.counters.writes += 1;
        let command = PageProgram {
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
    fn record<F: Flash>(&self, flash: &mut F, pages: &Pages, page: Tpn) -> Option<RecordId> {
        let range = self.shape.range(page);
        let bytes =
            || range.flat_map(|logical| self.entry_on_flash(pages, Lpn(logical)).bits().to_le_bytes()).collect();
        flash.memory_mut().payloads.take_record(bytes)
    }

    fn entry_on_flash(&self, pages: &Pages, logical: Lpn) -> Entry {
        let entry = pages.entry(logical);
        if self.scheme.is_dirty(logical) {
            OUTDATED
        } else if entry.is_page() {
            entry
        } else {
            Entry::NOWHERE
        }
    }

    /// Whether a record on flash says what memory says about all entries that are not dirty.
    fn record_agrees(&self, pages: &Pages, page: Tpn, record: Option<&[u8]>) -> bool {
        self.first_difference(pages, page, record).is_none()
    }

    /// The first entry of a translation page on flash that differs from a clean one in memory: its
    /// logical page, and both entries.
    fn first_difference(&self, pages: &Pages, page: Tpn, record: Option<&[u8]>) -> Option<(Lpn, Entry, Entry)> {
        let range = self.shape.range(page);
        let mut words = record
            .unwrap_or_default()
            .chunks_exact(4)
            .map(|word| Entry::from_bits(u32::from_le_bytes(word.try_into().expect("four bytes"))));
        range.map(Lpn).find_map(|logical| {
            let on_flash = words.next().unwrap_or(Entry::NOWHERE);
            let expected = self.entry_on_flash(pages, logical);
            (expected != OUTDATED && expected != on_flash).then_some((logical, on_flash, expected))
        })
    }

    /// Counts a block that is about to be emptied. `valid`: its valid pages.
    fn count_victim(&mut self, flash: &nand::FlashState, pages: &Pages, victim: BlockId, valid: &[u32]) {
        if self.held_translation(flash, pages, victim) {
            self.counters.translation_victims += 1;
            self.counters.translation_victim_pages += valid.len() as u64;
        } else {
            self.counters.data_victims += 1;
            self.counters.victim_translation_pages += self.touched(pages, valid);
        }
    }

    /// Whether a block was filled with translation pages, valid still or not. Of a block that a power cut left without
    /// a valid page this is not known: it counts as data.
    fn held_translation(&self, flash: &nand::FlashState, pages: &Pages, block: BlockId) -> bool {
        let mut programmed = pages.backs(self.geometry.page_at(block, 0), usize::from(flash.block(block).issued));
        programmed.find_map(Back::logical).is_some_and(|logical| !self.shape.is_users(logical))
    }

    /// Translation pages with entries of these pages of user data.
    fn touched(&mut self, pages: &Pages, valid: &[u32]) -> u64 {
        self.look += 1;
        let mut touched = 0;
        for page in valid {
            let Some(logical) = pages.back(Ppn(*page)).logical() else { continue };
            let seen = &mut self.seen[self.shape.page_of(logical).index()];
            touched += u64::from(*seen != self.look);
            *seen = self.look;
        }
        touched
    }

    /// Programs one translation page whose entries this lane's collection changed. `false`: no room.
    fn update_after_collection<F: Flash>(
        &mut self,
        flash: &mut F,
        pages: &mut Pages,
        space: &mut Space,
        lane: usize,
        page: Tpn,
    ) -> bool {
        let back = Back::data(self.lpn(page));
        // In turn, as for the host: kept in the lane that is collected, translation pages would gather
        // where most is collected, and make for still more.
        let target = space.translation_page(pages);
        let Some(target) = target.or_else(|| space.copy_page(pages, lane, back)) else {
            return false;
        };
        self.scheme.programmed(page);
        self.counters.collection_updates += 1;
        let update = Update { page, read: true, completion: Heard::Copy.notify(lane as u32), after: None };
        let outcome = self.program(flash, pages, &update, target);
        space.lanes.cursor(lane).issued(outcome);
        true
    }

    /// Programs a few of the translation pages that a power cut left behind.
    #[cold]
    fn repair<F: Flash>(&mut self, flash: &mut F, pages: &mut Pages, space: &mut Space) {
        for _ in 0..2 {
            while self.repairs.last().is_some_and(|page| !self.stale[page.index()]) {
                self.repairs.pop();
            }
            let Some(&page) = self.repairs.last() else { return };
            if !space.has_translation_room(S::WRITE_BACKS + 1) {
                return;
            }
            let Some(target) = space.translation_page(pages) else { return };
            self.scheme.programmed(page);
            self.counters.repaired += 1;
            let completion = Heard::Translation.notify(0);
            let update = Update { page, read: true, completion, after: None };
            self.program(flash, pages, &update, target);
        }
    }

    /// Bytes of the entries that a scan after a power cut found and flash does not have yet.
    fn repair_bytes(&self) -> u64 {
        let stale = self.repairs.iter().filter(|page| self.stale[page.index()]);
        stale.count() as u64 * u64::from(self.shape.entries()) * 4
    }

    /// Adds what happened to translation pages to the counters of the mapping.
    fn report_counters(&self, space: &Space, report: &mut LayerReport) {
        let counters = &self.counters;
        report.cache = Some((counters.hits, counters.misses));
        report.counters.extend([
            ("map_cache_bytes", self.scheme.cached_bytes()),
            ("map_directory_bytes", u64::from(self.shape.count) * S::DIRECTORY_BYTES),
            ("translation_pages", u64::from(self.shape.count)),
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
            ("open_write_pointer_pages", space.room_in_own()),
        ]);
        self.scheme.report(report);
    }

    /// Every law of translation: the directory names the newest version of each translation page, and
    /// what flash holds differs from memory only in entries known to be dirty.
    fn check_laws(&self, flash: &nand::FlashState, pages: &Pages) -> Result<(), String> {
        self.scheme.check()?;
        let budget = self.budget;
        let cached = self.scheme.cached_bytes();
        if cached > budget {
            return Err(format!("the cache holds {cached} bytes of map entries, its budget is {budget}"));
        }
        let Some(contents) = flash.contents() else { return Ok(()) };
        for page in self.shape.pages() {
            if self.stale[page.index()] || self.awaits_update[page.index()] {
                continue;
            }
            let at = pages.find(self.lpn(page));
            if let Some(at) = at {
                let position = self.geometry.page_in_block(at);
                if position >= u32::from(flash.block(self.geometry.block_of(at)).done) {
                    continue; // on its way
                }
                let oob = contents.oob(at.0);
                if oob.logical != self.lpn(page).0 {
                    return Err(format!(
                        "the directory says translation page {page} is at {at}, which holds logical page {}",
                        oob.logical
                    ));
                }
            }
            let record = at.and_then(|at| contents.record(at.0));
            if let Some((logical, on_flash, known)) = self.first_difference(pages, page, record) {
                return Err(format!(
                    "translation page {page} at {at:?} says logical page {logical} is at {on_flash:?}, but it is clean \
                     and at {known:?}"
                ));
            }
        }
        Ok(())
    }
}
