//! `cdftl`: single map entries are cached above whole translation pages.
//!
//! Faithful to: "A Two-Level Caching Mechanism for Demand-Based Page-Level Address Mapping in NAND Flash Memory
//! Storage Systems" (RTAS 2011). The first level has single entries, for pages that are used again. The second level
//! has whole translation pages, for neighbours. A look-up goes to the first level and then to the second, from which
//! the entry is copied up. Otherwise the translation page is read into the second level. The first level gives up an
//! entry that costs nothing, if there is one: a clean entry, or one that its translation page in the second level
//! takes in. A translation page that leaves the second level is programmed without reading it first.
//! Simplified: the search for an entry that costs nothing covers a number of least recently used ones. The shares of
//! the two levels are fixed. The list that orders entries costs nothing of the budget.
//! Protects: both levels together stay within the budget, and the second holds one page at least.

use super::cache::ItemTable;
use crate::mapping::Mapping;
use crate::mapping::page_level::scheme::{Access, Plan, Scheme, TranslationShape};
use crate::mapping::page_level::{self, Translation};
use layer::recency::{Links, List};
use layer::{Parameter, ParameterKind, SnapshotError, SnapshotReader, SnapshotWriter, Values};
use units::{Lpn, Ppn, Tpn};

/// A logical and a physical page number.
const ITEM_BYTES: u64 = 8;

/// The line for the table of mappings.
pub(in crate::mapping) fn mapping() -> Mapping {
    let doc = "single map entries are cached, with a second cache of whole translation pages behind them";
    let when = "Use it where requests return to single pages and to their neighbours: it saves map reads against \
                dftl there. Random requests over the whole drive gain almost nothing.";
    page_level::mapping::<Translation<Cdftl>>("cdftl", doc, when, parameters)
}

pub(in crate::mapping) fn parameters() -> Vec<Parameter> {
    let mut parameters = page_level::demand();
    parameters.extend([
        Parameter::new(
            "ftl.cdftl.pages",
            ParameterKind::Share { max: 1.0 },
            "50%",
            "Share of the map cache for whole translation pages; the rest is for single entries. One page and one \
             entry always fit.",
        ),
        Parameter::new(
            "ftl.cdftl.window",
            ParameterKind::Count { min: 1, max: 1_000_000 },
            "16",
            "Least recently used entries among which the oldest entry without a write-back is evicted first; 1: \
             always the least recently used entry.",
        ),
        Parameter::new(
            "ftl.cdftl.batch_update",
            ParameterKind::Switch,
            "true",
            "Write all cached dirty entries of a translation page when it is programmed, and keep them cached as \
             clean. Saves programs of translation pages.",
        ),
    ]);
    parameters
}

pub(crate) struct Cdftl {
    shape: TranslationShape,
    /// First level: single entries.
    items: ItemTable,
    recency: List,
    links: Links,
    /// Second level: whole translation pages.
    pages: Pages,
    window: usize,
    batch_update: bool,
}

/// Whole translation pages. An entry that is in the first level as well is newer there.
struct Pages {
    state: Vec<PageState>,
    recency: List,
    links: Links,
    most: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PageState {
    Absent,
    Clean,
    Dirty,
}

impl Pages {
    fn new(count: u32, most: u32) -> Self {
        let links = Links::new(count as usize);
        Self { state: vec![PageState::Absent; count as usize], recency: List::default(), links, most }
    }

    #[inline]
    fn has(&self, page: Tpn) -> bool {
        self.state[page.index()] != PageState::Absent
    }

    fn is_dirty(&self, page: Tpn) -> bool {
        self.state[page.index()] == PageState::Dirty
    }

    /// Marks a page that is here. `false`: it is not.
    fn mark(&mut self, page: Tpn) -> bool {
        let here = self.has(page);
        if here {
            self.state[page.index()] = PageState::Dirty;
        }
        here
    }

    fn insert(&mut self, page: Tpn, state: PageState) {
        self.state[page.index()] = state;
        self.links.push_front(&mut self.recency, page.0);
    }

    /// Takes the least recently used page out if there is one too many; whether it was dirty.
    fn evict(&mut self) -> Option<(Tpn, bool)> {
        let victim = self.recency.tail().filter(|_| self.recency.len() > self.most)?;
        self.links.remove(&mut self.recency, victim);
        let state = std::mem::replace(&mut self.state[victim as usize], PageState::Absent);
        Some((Tpn(victim), state == PageState::Dirty))
    }

    fn check(&self) -> Result<(), String> {
        let listed = self.links.check(&self.recency)?;
        let here = self.state.iter().filter(|state| **state != PageState::Absent).count();
        match listed.iter().find(|page| !self.has(Tpn(**page))) {
            Some(page) => Err(format!("translation page {page} is listed but not cached")),
            None if here != listed.len() => Err(format!("{here} pages are cached, {} are listed", listed.len())),
            None if here > self.most as usize => Err(format!("{here} pages are cached, at most {} fit", self.most)),
            None => Ok(()),
        }
    }
}

impl Cdftl {
    fn page_bytes(shape: TranslationShape) -> u64 {
        u64::from(shape.entries()) * 4
    }

    /// Least recently used entries, among which one that costs nothing is preferred.
    #[inline]
    fn candidates(&self) -> impl Iterator<Item = u32> + '_ {
        self.links.oldest_first(&self.recency).take(self.window)
    }

    /// Whether an entry can leave the first level without a write-back, and will be able to whatever a
    /// collection changes before.
    fn has_lasting_room(&self) -> bool {
        !self.items.is_full() || self.candidates().any(|slot| self.pages.has(self.items.page(slot)))
    }

    /// Sees to it that one more entry fits into the first level.
    #[inline]
    fn make_room_for_entry(&mut self, plan: &mut Plan) {
        if !self.items.is_full() {
            return;
        }
        let oldest = self.recency.tail().expect("a full cache has an entry to evict");
        let costs_nothing = |slot: &u32| !self.items.is_dirty(*slot) || self.pages.has(self.items.page(*slot));
        let victim = self.candidates().find(costs_nothing).unwrap_or(oldest);
        let page = self.items.page(victim);
        let dirty = self.items.is_dirty(victim);
        self.links.remove(&mut self.recency, victim);
        self.items.remove(victim);
        if dirty && !self.pages.mark(page) {
            plan.write_back(page, false);
            self.page_programmed(page);
        }
    }

    /// A translation page goes to flash, and the first level's newer entries with it.
    fn page_programmed(&mut self, page: Tpn) {
        if self.batch_update {
            self.items.clean_page(page);
        }
    }

    /// Brings an entry into the first level, by way of the second.
    #[inline]
    fn bring_up(&mut self, logical: Lpn, plan: &mut Plan) -> u32 {
        let page = self.shape.page_of(logical);
        plan.hit = self.pages.has(page);
        if plan.hit {
            self.pages.links.touch(&mut self.pages.recency, page.0);
        } else {
            plan.fetch = Some(page);
            self.pages.insert(page, PageState::Clean);
        }
        // Both the page that comes and the one that leaves can take an entry in.
        self.make_room_for_entry(plan);
        if let Some((victim, dirty)) = self.pages.evict()
            && dirty
        {
            plan.write_back(victim, true);
            self.page_programmed(victim);
        }
        let slot = self.items.insert(logical);
        self.links.push_front(&mut self.recency, slot);
        slot
    }
}

impl Scheme for Cdftl {
    /// One for each level.
    const WRITE_BACKS: u32 = 2;

    fn least_bytes(shape: TranslationShape, _: &Values) -> u64 {
        Self::page_bytes(shape) + ITEM_BYTES
    }

    fn new(shape: TranslationShape, budget: u64, values: &Values) -> Self {
        let page_bytes = Self::page_bytes(shape);
        let wanted = (budget as f64 * values.real("ftl.cdftl.pages")) as u64 / page_bytes;
        let most = budget.saturating_sub(ITEM_BYTES) / page_bytes;
        let pages = wanted.max(1).min(most).min(u64::from(shape.count));
        let capacity = ((budget - pages * page_bytes) / ITEM_BYTES).min(u64::from(shape.user_pages)) as u32;
        Self {
            shape,
            items: ItemTable::new(shape, capacity),
            recency: List::default(),
            links: Links::new(capacity as usize),
            pages: Pages::new(shape.count, pages as u32),
            window: values.whole("ftl.cdftl.window") as usize,
            batch_update: values.on("ftl.cdftl.batch_update"),
        }
    }

    #[inline]
    fn is_free(&self, logical: Lpn) -> bool {
        self.items.find(logical).is_some() || self.pages.has(self.shape.page_of(logical)) && self.has_lasting_room()
    }

    #[inline]
    fn access(&mut self, access: &Access, plan: &mut Plan) {
        let slot = if let Some(slot) = self.items.find(access.logical) {
            plan.hit = true;
            self.links.touch(&mut self.recency, slot);
            slot
        } else {
            self.bring_up(access.logical, plan)
        };
        if access.change {
            self.items.mark(slot);
        }
    }

    #[inline]
    fn relocated(&mut self, logical: Lpn, _: Ppn) -> bool {
        if let Some(slot) = self.items.find(logical) {
            self.items.mark(slot);
            return true;
        }
        self.pages.mark(self.shape.page_of(logical))
    }

    fn is_dirty(&self, logical: Lpn) -> bool {
        self.pages.is_dirty(self.shape.page_of(logical))
            || self.items.find(logical).is_some_and(|slot| self.items.is_dirty(slot))
    }

    fn programmed(&mut self, page: Tpn) {
        if self.pages.has(page) {
            self.pages.state[page.index()] = PageState::Clean;
        }
        self.page_programmed(page);
    }

    #[inline]
    fn prefetch(&self, logical: Lpn) {
        self.items.prefetch(logical);
    }

    fn cached_bytes(&self) -> u64 {
        u64::from(self.items.len()) * ITEM_BYTES + u64::from(self.pages.recency.len()) * Self::page_bytes(self.shape)
    }

    fn check(&self) -> Result<(), String> {
        self.items.check()?;
        let listed = self.links.check(&self.recency)?.len();
        if listed != self.items.len() as usize {
            return Err(format!("{} entries are cached, {listed} are listed", self.items.len()));
        }
        self.pages.check()
    }

    fn save(&self, writer: &mut SnapshotWriter) {
        let slots = || self.links.oldest_first(&self.recency);
        writer.put("cdftl.items", slots().map(|slot| self.items.logical(slot)));
        writer.put("cdftl.dirty", slots().map(|slot| self.items.is_dirty(slot)));
        let pages = || self.pages.links.oldest_first(&self.pages.recency);
        writer.put("cdftl.pages", pages());
        writer.put("cdftl.dirty_pages", pages().map(|page| self.pages.is_dirty(Tpn(page))));
    }

    fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let unfit = |problem| SnapshotError::unfit("cdftl.items", problem);
        let (items, dirty): (Vec<Lpn>, Vec<bool>) = (reader.get("cdftl.items")?, reader.get("cdftl.dirty")?);
        let (pages, dirty_pages): (Vec<u32>, Vec<bool>) =
            (reader.get("cdftl.pages")?, reader.get("cdftl.dirty_pages")?);
        if items.len() > self.items.capacity() as usize || items.iter().any(|item| item.0 >= self.shape.user_pages) {
            return Err(unfit("the cache or the drive is of another size"));
        }
        if pages.len() > self.pages.most as usize || pages.iter().any(|page| *page >= self.shape.count) {
            return Err(unfit("the cache or the translation pages are of another size"));
        }
        if dirty.len() != items.len() || dirty_pages.len() != pages.len() {
            return Err(unfit("its parts have different lengths"));
        }
        debug_assert!(self.cached_bytes() == 0, "state is read into an empty cache");
        for (logical, dirty) in items.into_iter().zip(dirty) {
            if self.items.find(logical).is_none() {
                let slot = self.items.insert(logical);
                self.links.push_front(&mut self.recency, slot);
                if dirty {
                    self.items.mark(slot);
                }
            }
        }
        for (page, dirty) in pages.into_iter().zip(dirty_pages) {
            let page = Tpn(page);
            if !self.pages.has(page) {
                self.pages.insert(page, if dirty { PageState::Dirty } else { PageState::Clean });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::conduct::Trial;
    use super::*;

    /// Eight translation pages of four entries; two pages and `items` entries are cached.
    fn trial(items: u64, settings: &[(&str, &str)]) -> Trial<Cdftl> {
        let shape = TranslationShape::new(32, 4);
        let budget = 2 * 16 + items * ITEM_BYTES;
        let pages = format!("{:.3}%", 3200.0 / budget as f64 + 0.001);
        Trial::new(shape, budget, parameters(), &[settings, &[("ftl.cdftl.pages", &pages)]].concat())
    }

    #[test]
    fn a_hit_in_either_level_costs_nothing() {
        let mut trial = trial(1, &[]);
        assert_eq!(trial.read(0), (1, 0), "a cold miss reads the translation page");
        assert_eq!(trial.read(0), (0, 0), "the entry is in the first level");
        assert_eq!(trial.read(3), (0, 0), "its neighbour is in the second");
        assert_eq!(trial.read(0), (0, 0), "and so is the entry that had to leave the first");
    }

    #[test]
    fn a_clean_victim_costs_nothing() {
        let mut trial = trial(1, &[]);
        for logical in (0..32).step_by(4) {
            assert_eq!(trial.read(logical), (1, 0));
        }
    }

    #[test]
    fn a_dirty_entry_leaves_into_its_page_in_the_second_level() {
        let mut trial = trial(1, &[]);
        assert_eq!(trial.write(0), (1, 0));
        assert_eq!(trial.read(4), (1, 0), "page 0 takes the entry in");
        assert!(trial.is_dirty(0));
        assert_eq!(trial.read(8), (1, 1), "page 0 leaves: programmed whole, not read");
        assert!(!trial.is_dirty(0));
    }

    #[test]
    fn a_dirty_entry_without_its_page_is_patched_in() {
        let mut trial = trial(2, &[("ftl.cdftl.window", "1")]);
        trial.write(0);
        trial.read(4);
        trial.read(0);
        assert_eq!(trial.read(8), (1, 0), "page 0 leaves as it came: its changed entry is in the first level");
        assert_eq!(trial.read(9), (1, 1), "entry 0 has no page to leave into");
        assert!(!trial.is_dirty(0));
    }

    #[test]
    fn an_entry_that_costs_nothing_leaves_before_an_older_dirty_one() {
        let cost = |window| {
            let mut trial = trial(3, &[("ftl.cdftl.window", window)]);
            trial.write(0);
            trial.read(4);
            trial.read(8); // page 0 has left the second level
            trial.read(9)
        };
        assert_eq!(cost("1"), (1, 1), "entry 0 is read, patched and programmed");
        assert_eq!(cost("2"), (0, 0), "entry 4 is clean");
    }

    #[test]
    fn programming_a_page_takes_its_dirty_entries_along() {
        let dirty = |batch| {
            let mut trial = trial(3, &[("ftl.cdftl.batch_update", batch), ("ftl.cdftl.window", "1")]);
            trial.write(0);
            trial.write(1);
            trial.read(4);
            trial.read(8); // entry 0 leaves into page 0, which leaves
            (trial.is_dirty(0), trial.is_dirty(1))
        };
        assert_eq!(dirty("true"), (false, false));
        assert_eq!(dirty("false"), (false, true));
    }

    #[test]
    fn collection_changes_an_entry_where_it_is() {
        let mut trial = trial(1, &[]);
        trial.read(0);
        trial.read(4);
        assert!(trial.relocate(4) && trial.relocate(1), "one in each level");
        assert!(!trial.relocate(8), "not in memory");
        assert_eq!(trial.read(8), (1, 1), "page 0 leaves dirty; page 1 takes entry 4 in");
        assert_eq!(trial.read(12), (1, 1), "page 1 leaves dirty");
    }
}
