//! Stripes whose parity on flash is behind their data.
//!
//! A *delayed* stripe stays here until something commits it; a *transient* one only while the write that
//! brought it is under way. An entry is a set of data pages (those newer than the parity on flash) and, where the
//! scheme has one, a parity page in non-volatile memory.

use crate::choice::{Candidate, CommitOrder, CommitPolicy};
use layer::Slots;
use layer::recency::{Links, List};
use nand::{NvramId, PayloadId};

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub stripe: u32,
    /// Data pages newer than the parity on flash.
    pub newer: u64,
    /// Of those, the pages that this parity does not cover.
    pub zeros: u64,
    /// Of those, the ones whose trim memory knows of, but perhaps not yet flash.
    pub trims: u64,
    /// Sequence number of the last write that the parity on flash covers, or of a later one elsewhere.
    pub covered: u64,
    /// Rows of the parity in memory.
    pub parity: [PayloadId; 2],
    /// Where they are in non-volatile memory.
    pub places: [Option<NvramId>; 2],
    pub transient: bool,
    /// That parity is of all pages.
    pub full: bool,
    /// The list it stands in; none while it is transient, or once its commit has been chosen.
    list: u32,
}

pub(crate) struct Cache {
    entries: Slots<Entry>,
    /// Entry of each stripe.
    of: Vec<u32>,
    links: Links,
    /// Delayed stripes, in the order in which victims are looked for. Stripes that are equal in that order share a
    /// list, most recently updated first.
    lists: Vec<List>,
    /// The list of a stripe, by number of newer pages.
    list_of: Vec<u32>,
    policy: Box<dyn CommitPolicy>,
    /// Reads of a commit by number of newer pages.
    costs: Vec<u32>,
    pub delayed: u32,
    pub transient: u32,
    /// Most delayed, and most transient.
    pub limits: [u32; 2],
}

impl Cache {
    /// An empty cache. `cost`: reads of a commit by number of newer pages.
    pub fn new(
        stripes: u32,
        limits: [u32; 2],
        policy: Box<dyn CommitPolicy>,
        data: u32,
        cost: impl Fn(u32) -> u32,
    ) -> Self {
        let room = limits[0].saturating_add(limits[1]).min(stripes.saturating_add(1)) as usize;
        let costs: Vec<u32> = (0..=data).map(cost).collect();
        let list_of: Vec<u32> = match policy.order() {
            CommitOrder::Oldest => vec![0; costs.len()],
            CommitOrder::Largest => (0..=data).rev().collect(),
            CommitOrder::Cheapest => costs.clone(),
        };
        let lists = list_of.iter().max().map_or(0, |last| last + 1);
        Self {
            entries: Slots::with_capacity(room),
            of: units::table(stripes as usize, NONE),
            links: Links::new(0),
            lists: vec![List::default(); lists as usize],
            list_of,
            policy,
            costs,
            delayed: 0,
            transient: 0,
            limits,
        }
    }

    /// The entry of a stripe.
    #[inline]
    pub fn find(&self, stripe: u32) -> Option<u32> {
        let slot = self.of[stripe as usize];
        (slot != NONE).then_some(slot)
    }

    /// Brings the place where a stripe is looked up into the processor's cache.
    #[inline]
    pub fn prefetch(&self, stripe: u32) {
        units::prefetch(&self.of, stripe as usize);
    }

    #[inline]
    pub fn at(&self, slot: u32) -> &Entry {
        self.entries.at(slot)
    }

    #[inline]
    pub fn at_mut(&mut self, slot: u32) -> &mut Entry {
        self.entries.at_mut(slot)
    }

    /// Whether one more stripe may be entered.
    pub fn has_room(&self, transient: bool) -> bool {
        if transient { self.transient < self.limits[1] } else { self.delayed < self.limits[0] }
    }

    /// Enters a stripe with nothing newer yet.
    pub fn insert(&mut self, stripe: u32, transient: bool, parity: [PayloadId; 2]) -> u32 {
        let entry = Entry {
            stripe,
            newer: 0,
            zeros: 0,
            trims: 0,
            covered: 0,
            parity,
            places: [None; 2],
            transient,
            full: false,
            list: NONE,
        };
        assert!(self.find(stripe).is_none(), "stripe {stripe} has one entry");
        let before = self.entries.numbers();
        let slot = self.entries.insert(entry);
        if self.entries.numbers() > before {
            self.links.reserve(slot);
        }
        self.of[stripe as usize] = slot;
        if transient {
            self.transient += 1;
        } else {
            self.delayed += 1;
            self.touch(slot);
        }
        slot
    }

    /// A delayed stripe was updated.
    pub fn touch(&mut self, slot: u32) {
        let entry = self.entries.at(slot);
        if entry.transient {
            return;
        }
        let list = self.list_of[entry.newer.count_ones() as usize];
        self.unlist(slot);
        self.entries.at_mut(slot).list = list;
        self.links.push_front(&mut self.lists[list as usize], slot);
    }

    /// The delayed stripe that is committed next, and stripes that may follow it. The first one is `idle`, and looked
    /// for no more: many commits are under way, all of them of the oldest stripes if they go by age. Whether the others
    /// are idle is not looked up, as the look-up takes long.
    pub fn take_victim(&mut self, idle: impl Fn(u32) -> bool) -> Option<(u32, [Option<u32>; 3])> {
        let Self { policy, links, lists, entries, costs, .. } = self;
        let mut slots = lists.iter().flat_map(|list| links.oldest_first(list)).map(|slot| entries.at(slot));
        // Bits are counted for the idle ones alone.
        let candidate = |entry: &Entry| {
            let newer = entry.newer.count_ones();
            Candidate { stripe: entry.stripe, newer, reads: costs[newer as usize] }
        };
        let chosen = policy.choose(&mut slots.by_ref().filter(|entry| idle(entry.stripe)).map(candidate))?;
        let next = std::array::from_fn(|_| slots.next().map(|entry| entry.stripe));
        drop(slots);
        if let Some(slot) = self.find(chosen) {
            self.unlist(slot);
        }
        Some((chosen, next))
    }

    /// A stripe stands in the order of victims no more.
    fn unlist(&mut self, slot: u32) {
        let list = std::mem::replace(&mut self.entries.at_mut(slot).list, NONE);
        if list != NONE {
            self.links.remove(&mut self.lists[list as usize], slot);
        }
    }

    /// Takes a stripe out.
    pub fn remove(&mut self, slot: u32) -> Entry {
        self.unlist(slot);
        let entry = self.entries.remove(slot);
        assert!(self.find(entry.stripe) == Some(slot), "stripe {} is found where it is entered", entry.stripe);
        if entry.transient {
            self.transient -= 1;
        } else {
            self.delayed -= 1;
        }
        self.of[entry.stripe as usize] = NONE;
        entry
    }

    /// Every entry, by slot.
    pub fn all(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().map(|(_, entry)| entry)
    }

    /// Delayed stripes, in the order in which victims are looked for.
    pub fn delayed_stripes(&self) -> Vec<u32> {
        let slots = self.lists.iter().flat_map(|list| self.links.oldest_first(list));
        slots.map(|slot| self.entries.at(slot).stripe).collect()
    }

    /// Checks its law.
    ///
    /// # Errors
    /// Lists and counts do not agree.
    pub fn check(&self) -> Result<(), String> {
        let mut listed = 0;
        for list in &self.lists {
            listed += self.links.check(list)?.len();
        }
        let all = self.all().count();
        let taken = self.all().filter(|entry| !entry.transient && entry.list == NONE).count();
        if (listed + taken) as u32 == self.delayed && all as u32 == self.delayed + self.transient {
            return Ok(());
        }
        Err(format!(
            "{all} stripes with a delayed parity, {listed} of them listed and {taken} chosen, but {} and {} counted",
            self.delayed, self.transient
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice;

    #[test]
    fn a_stripe_whose_commit_was_chosen_is_not_looked_at_again() {
        let mut cache = Cache::new(8, [4, 0], choice::build("lru"), 4, |newer| newer);
        let slots = [5, 2, 7].map(|stripe| cache.insert(stripe, false, [PayloadId::NONE; 2]));
        let looked_at = std::cell::RefCell::new(Vec::new());
        let take = |cache: &mut Cache| {
            let victim = cache.take_victim(|stripe| {
                looked_at.borrow_mut().push(stripe);
                true
            });
            victim.map(|(stripe, _)| stripe)
        };
        assert_eq!([take(&mut cache), take(&mut cache)], [Some(5), Some(2)]);
        assert_eq!(looked_at.take(), [5, 2]);
        assert_eq!((cache.check(), cache.delayed), (Ok(()), 3), "it stays in memory until its commit is done");
        cache.touch(slots[0]);
        cache.remove(slots[1]);
        assert_eq!([take(&mut cache), take(&mut cache), take(&mut cache)], [Some(7), Some(5), None]);
        assert_eq!(cache.check(), Ok(()));
    }
}
