//! `dftl`: single map entries are cached on demand.
//!
//! Faithful to: "DFTL: A Flash Translation Layer Employing Demand-based Selective Caching of Page-level Address
//! Mappings" (ASPLOS 2009). Entries are cached one by one under segmented LRU. A dirty victim is patched into its
//! translation page, with a read and a program. Entries of collected pages change in memory where they are cached
//! (lazy copying), and otherwise once for each translation page. Options: plain LRU, or the two age-ordered lists of
//! the simulator published with it. A program of a translation page takes all its dirty entries along (batch update),
//! or only the victim.
//! Simplified: an entry costs eight bytes of the budget. The lists that order entries cost nothing.
//! Protects: the cache stays within its budget; dirty entries are known one by one.

use super::cache::{AgeHeap, ItemTable};
use crate::mapping::Mapping;
use crate::mapping::page_level::scheme::{Access, Plan, Scheme, TranslationShape};
use crate::mapping::page_level::{self, Translation};
use layer::recency::{Links, List};
use layer::{Choices, Condition, Parameter, ParameterKind, SnapshotError, SnapshotReader, SnapshotWriter, Values};
use units::{Lpn, Ppn, Tpn};

/// A logical and a physical page number.
const ITEM_BYTES: u64 = 8;

/// Which entry leaves the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Replacement {
    Segmented,
    Recency,
    /// The lowest age of two lists.
    Age,
}

const REPLACEMENT: Choices<Replacement> = Choices {
    key: "ftl.dftl.replacement",
    table: &[
        ("slru", "segmented LRU: of the entries used once, the entry used longest ago", Replacement::Segmented),
        ("lru", "the entry used longest ago", Replacement::Recency),
        (
            "flashsim-age",
            "the entry with the lowest age of two lists, as in the simulator published with DFTL",
            Replacement::Age,
        ),
    ],
};
const HAS_TWO_LISTS: Condition =
    Condition::one_of(REPLACEMENT.key, |_, name| REPLACEMENT.means(name, |order| order != Replacement::Recency));

/// The line for the table of mappings.
pub(in crate::mapping) fn mapping() -> Mapping {
    let doc = "single map entries are cached on demand; the map is in translation pages on flash";
    let when = "Use it for a drive without memory for its map, and as the reference of demand mappings. A miss costs \
                a read, and a dirty victim a read and a program.";
    page_level::mapping::<Translation<Dftl>>("dftl", doc, when, parameters)
}

pub(in crate::mapping) fn parameters() -> Vec<Parameter> {
    let mut parameters = page_level::demand();
    parameters.extend([
        Parameter::new(
            REPLACEMENT.key,
            ParameterKind::Choice(|| REPLACEMENT.named()),
            "slru",
            "Which map entry leaves the cache.",
        ),
        Parameter::new(
            "ftl.dftl.protected",
            ParameterKind::Share { max: 0.99 },
            "80%",
            "Share of the map cache for entries that were used again (slru), or for the younger list (flashsim-age).",
        )
        .only(HAS_TWO_LISTS),
        Parameter::new(
            "ftl.dftl.batch_update",
            ParameterKind::Switch,
            "true",
            "Write all cached dirty entries of a translation page when it is programmed, and keep them cached as \
             clean. Saves programs of translation pages.",
        ),
    ]);
    parameters
}

pub(crate) struct Dftl {
    shape: TranslationShape,
    items: ItemTable,
    order: Order,
    batch_update: bool,
}

enum Order {
    /// New entries are on probation; used again they are protected until others push them back.
    Segmented {
        links: Links,
        probation: List,
        protected: List,
        is_protected: Vec<bool>,
        most_protected: u32,
    },
    Recency {
        links: Links,
        list: List,
    },
    /// The lowest age leaves the young list for the old one, and that for good. Only use makes older.
    Age {
        young: AgeHeap,
        old: AgeHeap,
        most_young: usize,
        highest: u64,
    },
}

impl Order {
    fn new(replacement: Replacement, capacity: u32, protected: f64) -> Self {
        let slots = capacity as usize;
        let share = (f64::from(capacity) * protected) as u32;
        let list = List::default();
        match replacement {
            Replacement::Recency => Order::Recency { links: Links::new(slots), list },
            Replacement::Age => Order::Age {
                young: AgeHeap::new(slots),
                old: AgeHeap::new(slots),
                most_young: share.max(1) as usize,
                highest: 0,
            },
            Replacement::Segmented => Order::Segmented {
                links: Links::new(slots),
                probation: list,
                protected: list,
                is_protected: vec![false; slots],
                most_protected: share,
            },
        }
    }

    /// A cached entry is used.
    #[inline]
    fn touch(&mut self, slot: u32) {
        match self {
            Order::Recency { links, list } => links.touch(list, slot),
            Order::Segmented { links, probation, protected, is_protected, most_protected } => {
                if is_protected[slot as usize] {
                    links.touch(protected, slot);
                    return;
                }
                if *most_protected == 0 {
                    links.touch(probation, slot);
                    return;
                }
                links.remove(probation, slot);
                links.push_front(protected, slot);
                is_protected[slot as usize] = true;
                if protected.len() > *most_protected
                    && let Some(pushed) = protected.tail()
                {
                    links.remove(protected, pushed);
                    links.push_front(probation, pushed);
                    is_protected[pushed as usize] = false;
                }
            }
            Order::Age { young, old, highest, .. } => {
                let list = if young.age(slot).is_some() { young } else { old };
                *highest = (*highest).max(list.grow_older(slot));
            }
        }
    }

    /// A new entry comes in.
    #[inline]
    fn insert(&mut self, slot: u32, items: &ItemTable) {
        match self {
            Order::Recency { links, list } => links.push_front(list, slot),
            Order::Segmented { links, probation, .. } => links.push_front(probation, slot),
            Order::Age { young, old, most_young, highest } => {
                if young.len() == *most_young
                    && let Some((age, demoted)) = young.pop()
                {
                    old.push(demoted, age, items.logical(demoted).0);
                }
                *highest += 1;
                young.push(slot, *highest, items.logical(slot).0);
            }
        }
    }

    /// Takes the entry that leaves out of the order.
    #[inline]
    fn evict(&mut self) -> u32 {
        let victim = match self {
            Order::Recency { links, list } => list.tail().inspect(|slot| links.remove(list, *slot)),
            Order::Segmented { links, probation, protected, is_protected, .. } => {
                let list = if probation.is_empty() { protected } else { probation };
                let victim = list.tail();
                victim.inspect(|slot| {
                    links.remove(list, *slot);
                    is_protected[*slot as usize] = false;
                })
            }
            Order::Age { young, old, .. } => old.pop().or_else(|| young.pop()).map(|(_, slot)| slot),
        };
        victim.expect("a full cache has an entry to evict")
    }

    /// Every slot with what restores its place: rank first, then in order of coming back.
    fn export(&self) -> Vec<(u64, u32)> {
        match self {
            Order::Recency { links, list } => links.oldest_first(list).map(|slot| (0, slot)).collect(),
            Order::Segmented { links, probation, protected, .. } => {
                let probation = links.oldest_first(probation).map(|slot| (0, slot));
                probation.chain(links.oldest_first(protected).map(|slot| (1, slot))).collect()
            }
            Order::Age { young, old, .. } => {
                let old = old.sorted().into_iter().map(|(age, slot)| (2 * age, slot));
                old.chain(young.sorted().into_iter().map(|(age, slot)| (2 * age + 1, slot))).collect()
            }
        }
    }

    /// Puts a slot where [`Order::export`] found it.
    fn import(&mut self, rank: u64, slot: u32, logical: Lpn) {
        match self {
            Order::Recency { links, list } => links.push_front(list, slot),
            Order::Segmented { links, probation, protected, is_protected, .. } => {
                is_protected[slot as usize] = rank == 1;
                links.push_front(if rank == 1 { protected } else { probation }, slot);
            }
            Order::Age { young, old, .. } => {
                if rank % 2 == 1 { young } else { old }.push(slot, rank / 2, logical.0);
            }
        }
    }

    /// The highest age there has been, where ages count.
    fn highest(&self) -> u64 {
        match self {
            Order::Age { highest, .. } => *highest,
            _ => 0,
        }
    }

    fn set_highest(&mut self, age: u64) {
        if let Order::Age { highest, .. } = self {
            *highest = age;
        }
    }

    fn check(&self, items: u32) -> Result<(), String> {
        let ordered = match self {
            Order::Recency { links, list } => links.check(list)?.len(),
            Order::Segmented { links, probation, protected, .. } => {
                links.check(probation)?.len() + links.check(protected)?.len()
            }
            Order::Age { young, old, .. } => young.len() + old.len(),
        };
        if ordered == items as usize {
            Ok(())
        } else {
            Err(format!("{items} entries are cached, {ordered} are ordered"))
        }
    }
}

impl Scheme for Dftl {
    fn least_bytes(_: TranslationShape, _: &Values) -> u64 {
        ITEM_BYTES
    }

    fn new(shape: TranslationShape, budget: u64, values: &Values) -> Self {
        let capacity = (budget / ITEM_BYTES).min(u64::from(shape.user_pages)) as u32;
        let protected = values.real("ftl.dftl.protected");
        Self {
            shape,
            items: ItemTable::new(shape, capacity),
            order: Order::new(REPLACEMENT.read(values), capacity, protected),
            batch_update: values.on("ftl.dftl.batch_update"),
        }
    }

    #[inline]
    fn is_free(&self, logical: Lpn) -> bool {
        self.items.find(logical).is_some()
    }

    #[inline]
    fn access(&mut self, access: &Access, plan: &mut Plan) {
        let slot = if let Some(slot) = self.items.find(access.logical) {
            plan.hit = true;
            self.order.touch(slot);
            slot
        } else {
            if self.items.is_full() {
                let victim = self.order.evict();
                if self.items.is_dirty(victim) {
                    let page = self.items.page(victim);
                    plan.write_back(page, false);
                    if self.batch_update {
                        self.items.clean_page(page);
                    }
                }
                self.items.remove(victim);
            }
            plan.fetch = Some(self.shape.page_of(access.logical));
            let slot = self.items.insert(access.logical);
            self.order.insert(slot, &self.items);
            slot
        };
        if access.change {
            self.items.mark(slot);
        }
    }

    #[inline]
    fn relocated(&mut self, logical: Lpn, _: Ppn) -> bool {
        let Some(slot) = self.items.find(logical) else { return false };
        self.items.mark(slot);
        true
    }

    fn is_dirty(&self, logical: Lpn) -> bool {
        self.items.find(logical).is_some_and(|slot| self.items.is_dirty(slot))
    }

    fn programmed(&mut self, page: Tpn) {
        if self.batch_update {
            self.items.clean_page(page);
        }
    }

    #[inline]
    fn prefetch(&self, logical: Lpn) {
        self.items.prefetch(logical);
    }

    fn cached_bytes(&self) -> u64 {
        u64::from(self.items.len()) * ITEM_BYTES
    }

    fn check(&self) -> Result<(), String> {
        self.items.check()?;
        self.order.check(self.items.len())
    }

    fn save(&self, writer: &mut SnapshotWriter) {
        let slots = self.order.export();
        writer.put("dftl.highest", [self.order.highest()]);
        writer.put("dftl.ranks", slots.iter().map(|(rank, _)| *rank));
        writer.put("dftl.items", slots.iter().map(|(_, slot)| self.items.logical(*slot)));
        writer.put("dftl.dirty", slots.iter().map(|(_, slot)| self.items.is_dirty(*slot)));
    }

    fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let unfit = |problem| SnapshotError::unfit("dftl.items", problem);
        let [highest] = reader.array("dftl.highest")?;
        let ranks: Vec<u64> = reader.get("dftl.ranks")?;
        let (items, dirty): (Vec<Lpn>, Vec<bool>) = (reader.get("dftl.items")?, reader.get("dftl.dirty")?);
        if items.len() > self.items.capacity() as usize || items.iter().any(|item| item.0 >= self.shape.user_pages) {
            return Err(unfit("the cache or the drive is of another size"));
        }
        if ranks.len() != items.len() || dirty.len() != items.len() {
            return Err(unfit("its parts have different lengths"));
        }
        debug_assert!(self.items.len() == 0, "state is read into an empty cache");
        self.order.set_highest(highest);
        for ((rank, logical), dirty) in ranks.into_iter().zip(items).zip(dirty) {
            if self.items.find(logical).is_none() {
                let slot = self.items.insert(logical);
                self.order.import(rank, slot, logical);
                if dirty {
                    self.items.mark(slot);
                }
            }
        }
        Ok(())
    }
}
