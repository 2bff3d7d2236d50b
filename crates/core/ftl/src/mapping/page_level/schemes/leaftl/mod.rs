//! `leaftl`: map entries are learned as segments, lines through the flash pages of logical ones.
//!
//! Faithful to: "`LeaFTL`: A Learning-based Flash Translation Layer for Solid-State Drives" (ASPLOS 2023). Logical
//! pages are in groups of 256. A segment has eight bytes. It is accurate (with a stride) or approximate within an
//! error bound, and is learned greedily from batches in logical order. Segments are in levels as in a log, with
//! compaction. Rosters name the pages of approximate segments, for a byte a page. A wrong prediction costs one more
//! page read. The groups of one translation page come and go together, under LRU. A changed unit is programmed
//! without reading it first, as all of it is in memory.
//! Simplified: the buffer that sorts pages before they are programmed is a layer of its own (`buffer.kind = sorted`),
//! and `ftl.allocation.run_pages` keeps its runs in one open block. Without both, pages that were learned together do
//! not lie on one line over all planes. Each open block then has a row with a stride, and a wider error bound gains
//! little (it is 0 unless set). Collection copies pages as it finds them and sorts none. Steps of more than one flash
//! page, up and down, are accurate as well. Compaction learns a group anew instead of merging segments in pairs. A
//! group takes plain entries of four bytes where segments would take more. So a unit never exceeds its translation
//! page by more than a header. The extra read is of the right page: it stands for a neighbour within the error bound,
//! whose out-of-band area names the right one. Writes pay for a wrong prediction as reads do, since they must find
//! the page they replace. After a power cut nothing is known of translation pages, and an entry is learned when it is
//! next used.
//! Protects: every answer is exact, or within the error bound and known to be a prediction; the cache
//! stays within its budget, and four write-backs always make room.
//!
//! # Budget
//! A unit in memory is charged for its groups and for its entries in the batch; a dirty one for no less
//! than a quarter of the most a unit can take, so that four dirty ones give room for any. Learning never
//! needs more than the entries it turns into segments did. Collection evicts nothing and never makes a
//! free access cost something: an access is free while the largest unit would fit without an eviction,
//! and collection notes a moved page in memory only while that stays so. Otherwise the translation page
//! is programmed when the collection ends, as for a unit that is not in memory; until then its moved entries
//! are kept beside the cache, as in any collection.

mod group;
mod learn;
mod segment;
#[cfg(test)]
mod tests;
mod unit;

use crate::mapping::Mapping;
use crate::mapping::page_level::scheme::{Access, Plan, Scheme, TranslationShape};
use crate::mapping::page_level::{self, Translation};
use group::{Answer, Census};
use layer::recency::{Links, List};
use layer::{LayerReport, Parameter, ParameterKind, SnapshotError, SnapshotReader, SnapshotWriter, Values};
use learn::Workshop;
use segment::{NOWHERE, SEGMENT_BYTES};
use unit::{ENTRY_BYTES, Entries, Unit};
use units::{Lpn, Ppn, Tpn};

/// An entry that the table of debug builds has no news of.
const UNTOLD: u32 = NOWHERE - 1;

/// The line for the table of mappings.
pub(in crate::mapping) fn mapping() -> Mapping {
    let doc = "map entries are learned as segments, and cached on demand by translation page";
    let when = "Use it for data written in order, with buffer.kind = sorted and ftl.allocation.run_pages: one \
                segment maps a whole run. Without both, random writes make its map larger than a page map.";
    page_level::mapping::<Translation<Leaftl>>("leaftl", doc, when, parameters)
}

pub(in crate::mapping) fn parameters() -> Vec<Parameter> {
    let mut parameters = page_level::demand();
    parameters.extend([
        Parameter::new(
            "ftl.leaftl.error_bound",
            ParameterKind::Count { min: 0, max: 255 },
            "0",
            "Flash pages by which a learned segment may miss its target. A larger bound needs fewer segments, and so \
             less memory; a wrong prediction costs a page read. 0: segments are exact.",
        ),
        Parameter::new(
            "ftl.leaftl.batch_pages",
            ParameterKind::Count { min: 1, max: 16_384 },
            "1024",
            "Changed map entries gathered in memory before they are learned together, 8 bytes each. A larger batch \
             gives longer segments.",
        ),
    ]);
    parameters
}

/// The cache, and the contents of the translation pages of all units.
pub(crate) struct Leaftl {
    shape: TranslationShape,
    budget: u64,
    /// Bytes that must be left for an access to be free: the most one can need.
    headroom: u64,
    /// Bytes besides that an eviction leaves to collection and to changes of cached entries.
    spare: u64,
    batch_pages: usize,
    units: Vec<Unit>,
    /// Units in memory, by last use.
    recency: List,
    links: Links,
    /// Changed entries of units in memory, not learned yet.
    batch: Entries,
    /// Bytes charged to the budget.
    charged: u64,
    workshop: Workshop,
    /// Where every page is, in builds that check themselves.
    truth: Vec<u32>,
}

impl Leaftl {
    /// The newest answer for a page, wherever it comes from.
    #[inline]
    fn answer(&self, logical: Lpn) -> Answer {
        let unit = &self.units[self.shape.page_of(logical).index()];
        let recent = if unit.recent > 0 { self.batch.get(logical) } else { None };
        match recent.or_else(|| unit.moved.get(logical)) {
            Some(page) => Answer::exact(page),
            None => unit.answer(logical.0 & (self.shape.entries() - 1)),
        }
    }

    /// # Panics
    /// If an answer is wrong by more than it may be.
    #[inline]
    fn verify(&self, logical: Lpn, answer: Answer, at: u32) {
        let bound = if answer.exact { 0 } else { self.workshop.error_bound };
        let bound = if at == NOWHERE { 0 } else { bound };
        let right = answer.page == NOWHERE || answer.page.abs_diff(at) <= bound;
        assert!(
            right,
            "logical page {logical} is at {at}, but was learned as {answer:?} with an error bound of {bound}"
        );
    }

    /// Memory that a map of runs takes for the same answers: of each translation page a bit for each entry, which tells
    /// where a run of consecutive flash pages begins, and where each run lies; or plain entries, if these are less.
    fn run_map_bytes(&self) -> u64 {
        let of_unit = |page: Tpn| {
            let mut before = NOWHERE;
            let (mut mapped, mut runs) = (0, 0);
            for logical in self.shape.range(page) {
                let at = self.answer(Lpn(logical)).page;
                if at != NOWHERE {
                    mapped += 1;
                    runs += u64::from(before == NOWHERE || at != before + 1);
                }
                before = at;
            }
            let bits = u64::from(self.shape.entries()).div_ceil(8);
            if mapped == 0 { 0 } else { (bits + 4 * runs).min(4 * mapped) }
        };
        self.shape.pages().map(of_unit).sum()
    }

    /// Least charge of a dirty unit.
    fn dirty_bytes(&self) -> u64 {
        self.headroom.div_ceil(u64::from(Self::WRITE_BACKS))
    }

    fn charge(&self, bytes: u64, is_dirty: bool) -> u64 {
        if is_dirty { bytes.max(self.dirty_bytes()) } else { bytes }
    }

    /// Charges a unit in memory for what it has now.
    fn recharge(&mut self, page: Tpn) {
        let unit = &self.units[page.index()];
        let charge = if unit.is_resident { self.charge(unit.bytes(), unit.is_dirty) } else { 0 };
        self.charged = self.charged - unit.charged + charge;
        self.units[page.index()].charged = charge;
    }

    /// Bytes charged once a unit has `entries` more in the batch and is as dirty as said.
    fn charged_with(&self, page: Tpn, entries: u32, is_dirty: bool) -> u64 {
        let unit = &self.units[page.index()];
        let bytes = unit.bytes() + u64::from(entries * ENTRY_BYTES);
        self.charged - unit.charged + self.charge(bytes, is_dirty || unit.is_dirty)
    }

    /// Notes where a page is; the unit is in memory and there is room.
    fn note(&mut self, page: Tpn, logical: Lpn, at: u32) {
        let is_new = self.batch.set(logical, at);
        let unit = &mut self.units[page.index()];
        unit.recent += u32::from(is_new);
        unit.moved.remove(logical);
    }

    /// Learns the entries of a unit in the batch.
    fn learn_recent(&mut self, page: Tpn) {
        let unit = &mut self.units[page.index()];
        if unit.recent == 0 {
            return;
        }
        let pages = self.shape.range(page);
        let places = self.batch.within(&pages);
        unit.learn(&pages, &self.batch.as_slice()[places.clone()], &mut self.workshop);
        unit.recent = 0;
        self.batch.drop_within(places);
        self.recharge(page);
    }

    /// Learns the whole batch.
    fn learn_batch(&mut self) {
        while let Some(&(logical, _)) = self.batch.as_slice().last() {
            self.learn_recent(self.shape.page_of(logical));
        }
    }

    /// Takes a unit out of memory.
    fn drop_unit(&mut self, page: Tpn) {
        self.learn_recent(page);
        self.links.remove(&mut self.recency, page.0);
        let unit = &mut self.units[page.index()];
        (unit.is_resident, unit.is_dirty) = (false, false);
        self.recharge(page);
    }

    /// Makes room for a unit just used, and for one more entry of it in the batch.
    fn make_room(&mut self, page: Tpn, entries: u32, is_dirty: bool, plan: &mut Plan) {
        if entries > 0 && self.batch.len() == self.batch_pages {
            self.learn_batch();
        }
        let grows = self.charged_with(page, entries, is_dirty) > self.charged;
        if !grows || self.charged + self.headroom <= self.budget {
            return;
        }
        let wanted = self.budget.saturating_sub(self.headroom + self.spare);
        while self.charged_with(page, entries, is_dirty) > wanted {
            let victim = self.recency.tail().map(Tpn).filter(|victim| *victim != page);
            let Some(victim) = victim else {
                // Alone in memory it fits once what it has in the batch is learned.
                self.learn_recent(page);
                break;
            };
            if self.units[victim.index()].is_dirty {
                if plan.write_backs().count() == Self::WRITE_BACKS as usize {
                    break;
                }
                plan.write_back(victim, true);
                self.learn_moved(victim);
            }
            self.drop_unit(victim);
        }
        debug_assert!(self.charged_with(page, entries, is_dirty) <= self.budget, "four dirty units make room for any");
    }

    /// A translation page is programmed with what collection moved: it is the unit's own now.
    fn learn_moved(&mut self, page: Tpn) {
        let unit = &mut self.units[page.index()];
        unit.learn_moved(&self.shape.range(page), &mut self.workshop);
        self.recharge(page);
    }

    /// Whether collection may note a moved page of a unit in memory, and makes room in the batch.
    fn takes_moved(&mut self, page: Tpn, logical: Lpn) -> bool {
        let is_new = self.batch.get(logical).is_none();
        let charged = self.charged_with(page, u32::from(is_new), true);
        if charged > self.charged && charged + self.headroom > self.budget {
            return false;
        }
        if is_new && self.batch.len() == self.batch_pages {
            self.learn_batch();
        }
        true
    }

    /// Tells the table of debug builds where a page went.
    #[inline]
    fn tell(&mut self, logical: Lpn, at: u32) {
        if cfg!(debug_assertions) {
            self.truth[logical.index()] = at;
        }
    }

    /// # Panics
    /// In debug builds, if the mapping moved a page without a word.
    #[inline]
    fn compare(&self, logical: Lpn, at: u32) {
        if cfg!(debug_assertions) {
            let told = self.truth[logical.index()];
            assert!(told == at || told == UNTOLD, "logical page {logical} is at {at}, but was last heard of at {told}");
        }
    }

    fn census(&self) -> Census {
        let mut census = Census::default();
        self.units.iter().for_each(|unit| unit.count(&mut census));
        census
    }

    /// Units in memory and the budget, as they are and as they are counted.
    fn check_charges(&self) -> Result<(), String> {
        let resident = self.links.check(&self.recency)?;
        if resident.len() != self.units.iter().filter(|unit| unit.is_resident).count() {
            return Err(format!("{} units are in order of use, others are in memory", resident.len()));
        }
        let charged: u64 = resident.iter().map(|page| self.units[*page as usize].charged).sum();
        if charged != self.charged || charged > self.budget {
            return Err(format!("units are charged {charged} bytes, counted {}, of {}", self.charged, self.budget));
        }
        for (page, unit) in self.units.iter().enumerate() {
            let charge = if unit.is_resident { self.charge(unit.bytes(), unit.is_dirty) } else { 0 };
            let recent = self.batch.within(&self.shape.range(Tpn(page as u32))).len();
            if charge != unit.charged || recent != unit.recent as usize || recent > 0 && !unit.is_resident {
                return Err(format!("unit {page} is charged {} instead of {charge} bytes", unit.charged));
            }
        }
        Ok(())
    }
}

impl Scheme for Leaftl {
    const WRITE_BACKS: u32 = 4;

    fn least_bytes(shape: TranslationShape, _: &Values) -> u64 {
        unit::most_bytes(shape.shift) + u64::from(ENTRY_BYTES)
    }

    fn new(shape: TranslationShape, budget: u64, values: &Values) -> Self {
        let batch_pages = values.whole("ftl.leaftl.batch_pages");
        let units = shape.pages().map(|page| Unit::new(shape.range(page).len() as u32, shape.shift));
        Self {
            shape,
            budget,
            headroom: Self::least_bytes(shape, values),
            spare: (batch_pages * u64::from(ENTRY_BYTES)).min(budget / 16),
            batch_pages: batch_pages as usize,
            units: units.collect(),
            recency: List::default(),
            links: Links::new(shape.count as usize),
            batch: Entries::with_capacity(batch_pages as usize),
            charged: 0,
            workshop: Workshop::new(values.whole("ftl.leaftl.error_bound") as u32),
            truth: vec![UNTOLD; if cfg!(debug_assertions) { shape.user_pages as usize } else { 0 }],
        }
    }

    #[inline]
    fn is_free(&self, _: Lpn) -> bool {
        self.charged + self.headroom <= self.budget
    }

    #[inline]
    fn access(&mut self, access: &Access, plan: &mut Plan) {
        let Access { logical, change, .. } = *access;
        let at = access.at.map(|page| page.0);
        let page = self.shape.page_of(logical);
        let answer = self.answer(logical);
        self.verify(logical, answer, at.unwrap_or(NOWHERE));
        self.compare(logical, at.unwrap_or(NOWHERE));
        // Not known although it is mapped: after a power cut it is learned from its translation page.
        let is_news = answer.page == NOWHERE && at.is_some();
        if !is_news && Some(answer.page) != at {
            plan.misread = access.at;
        }
        if self.units[page.index()].is_resident {
            plan.hit = true;
            self.links.touch(&mut self.recency, page.0);
        } else {
            plan.fetch = Some(page);
            self.links.push_front(&mut self.recency, page.0);
            self.units[page.index()].is_resident = true;
        }
        let is_new = (change || is_news) && self.batch.get(logical).is_none();
        self.make_room(page, u32::from(is_new), change, plan);
        if change {
            // What was written is placed next; what was trimmed stays nowhere.
            self.note(page, logical, NOWHERE);
            self.units[page.index()].is_dirty = true;
            self.tell(logical, NOWHERE);
        } else if let Some(at) = at.filter(|_| is_news) {
            self.note(page, logical, at);
            self.tell(logical, at);
        }
        self.recharge(page);
    }

    #[inline]
    fn placed(&mut self, logical: Lpn, Ppn(at): Ppn) {
        let is_new = self.batch.set(logical, at);
        assert!(!is_new, "a page is placed after its entry was used");
        self.tell(logical, at);
    }

    fn relocated(&mut self, logical: Lpn, Ppn(to): Ppn) -> bool {
        self.tell(logical, to);
        let page = self.shape.page_of(logical);
        let unit = &self.units[page.index()];
        let taken = unit.is_resident && unit.moved.get(logical).is_none() && self.takes_moved(page, logical);
        if taken {
            self.note(page, logical, to);
            self.units[page.index()].is_dirty = true;
        } else {
            let was_recent = self.batch.remove(logical);
            let unit = &mut self.units[page.index()];
            unit.recent -= u32::from(was_recent);
            unit.moved.set(logical, to);
        }
        self.recharge(page);
        taken
    }

    fn is_dirty(&self, logical: Lpn) -> bool {
        self.units[self.shape.page_of(logical).index()].is_dirty
    }

    fn programmed(&mut self, page: Tpn) {
        let unit = &mut self.units[page.index()];
        let before = unit.bytes();
        unit.is_dirty = false;
        unit.learn_moved(&self.shape.range(page), &mut self.workshop);
        // It must not take what accesses that are free now rely on.
        let grown = unit.bytes() > before;
        if unit.is_resident && grown && self.charged_with(page, 0, false) + self.headroom > self.budget {
            self.drop_unit(page);
        } else {
            self.recharge(page);
        }
    }

    #[inline]
    fn prefetch(&self, logical: Lpn) {
        units::prefetch(&self.units, self.shape.page_of(logical).index());
    }

    fn cached_bytes(&self) -> u64 {
        self.links.oldest_first(&self.recency).map(Tpn).map(|page| self.units[page.index()].bytes()).sum()
    }

    fn overhead_bytes(&self) -> u64 {
        self.units.iter().map(|unit| unit.moved.len() as u64 * u64::from(ENTRY_BYTES)).sum()
    }

    fn check(&self) -> Result<(), String> {
        self.check_charges()?;
        for (page, unit) in self.units.iter().enumerate() {
            unit.check(&self.shape.range(Tpn(page as u32))).map_err(|what| format!("unit {page}: {what}"))?;
        }
        for (logical, &at) in self.truth.iter().enumerate() {
            let answer = self.answer(Lpn(logical as u32));
            let bound = if answer.exact || at == NOWHERE { 0 } else { self.workshop.error_bound };
            if answer.page.abs_diff(at) > bound && at != UNTOLD {
                return Err(format!("logical page {logical} is at {at}, but was learned as {answer:?}"));
            }
        }
        Ok(())
    }

    fn report(&self, report: &mut LayerReport) {
        let census = self.census();
        let cached_pages: u64 =
            self.links.oldest_first(&self.recency).map(Tpn).map(|page| self.shape.range(page).len() as u64).sum();
        report.counters.extend([
            ("learned_bytes", self.units.iter().map(Unit::bytes).sum()),
            ("learned_pages", census.learned_pages),
            ("learned_segments", census.accurate + census.approximate),
            ("learned_accurate_segments", census.accurate),
            ("learned_approximate_segments", census.approximate),
            ("learned_segment_bytes", (census.accurate + census.approximate) * u64::from(SEGMENT_BYTES)),
            ("learned_deepest_level", census.levels),
            ("learned_plain_groups", census.plain_groups),
            ("learned_page_map_bytes", 4 * (census.learned_pages + census.plain_pages)),
            ("learned_run_map_bytes", self.run_map_bytes()),
            ("map_cache_covers_pages", cached_pages),
        ]);
    }

    fn save(&self, writer: &mut SnapshotWriter) {
        let mut numbers = Vec::new();
        self.units.iter().for_each(|unit| unit.save(&mut numbers));
        writer.put("leaftl.units", numbers);
        writer.put("leaftl.batch", self.batch.as_slice().iter().map(|entry| [entry.0.0, entry.1]));
        let cache = self.links.oldest_first(&self.recency);
        writer.put("leaftl.cache", cache.map(|page| [page, u32::from(self.units[page as usize].is_dirty)]));
    }

    fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let (units, batch, cache): (Vec<u32>, Vec<_>, Vec<_>) =
            (reader.get("leaftl.units")?, reader.get("leaftl.batch")?, reader.get("leaftl.cache")?);
        let problem = "the cache or the translation pages are of another size";
        self.restore(&units, &batch, &cache).ok_or_else(|| SnapshotError::unfit("leaftl.units", problem))
    }
}

impl Leaftl {
    /// Takes the numbers of a snapshot; nothing if they do not fit.
    fn restore(&mut self, mut numbers: &[u32], batch: &[[u32; 2]], cache: &[[u32; 2]]) -> Option<()> {
        for page in self.shape.pages() {
            self.units[page.index()].load(&mut numbers, &self.shape.range(page))?;
        }
        (self.recency, self.charged) = (List::default(), 0);
        self.batch.drop_within(0..self.batch.len());
        for &[page, is_dirty] in cache {
            let unit = self.units.get_mut(page as usize).filter(|unit| !unit.is_resident)?;
            (unit.is_resident, unit.is_dirty) = (true, is_dirty == 1);
            self.links.push_front(&mut self.recency, page);
        }
        for &[logical, place] in batch {
            let logical = Lpn(logical);
            let page = self.shape.page_of(logical);
            self.units.get(page.index()).filter(|unit| unit.is_resident && self.shape.is_users(logical))?;
            self.note(page, logical, place);
        }
        self.shape.pages().for_each(|page| self.recharge(page));
        self.truth.fill(UNTOLD);
        let fits = numbers.is_empty() && self.batch.len() <= self.batch_pages && self.charged <= self.budget;
        fits.then_some(())
    }
}
