//! Slots ordered by an age that may grow: a binary heap that knows where each slot is.

use super::NONE;

/// Youngest number first. Equal ages leave in order of a key of the caller's.
#[derive(Clone, Debug)]
pub(in crate::mapping) struct AgeHeap<Age = u64> {
    heap: Vec<(Age, u32, u32)>,
    /// Place of each slot in the heap.
    place: Vec<u32>,
}

impl<Age: Copy + Ord> AgeHeap<Age> {
    /// A heap for slots below `slots`.
    pub fn new(slots: usize) -> Self {
        Self { heap: Vec::with_capacity(slots), place: vec![NONE; slots] }
    }

    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// The age of a slot in it.
    pub fn age(&self, slot: u32) -> Option<Age> {
        let place = self.place[slot as usize];
        (place != NONE).then(|| self.heap[place as usize].0)
    }

    pub fn push(&mut self, slot: u32, age: Age, key: u32) {
        self.heap.push((age, key, slot));
        self.place[slot as usize] = self.heap.len() as u32 - 1;
        self.rise(self.heap.len() - 1);
    }

    /// The slot with the lowest age.
    #[inline]
    pub fn first(&self) -> Option<(Age, u32)> {
        self.heap.first().map(|(age, _, slot)| (*age, *slot))
    }

    /// Takes the slot with the lowest age.
    pub fn pop(&mut self) -> Option<(Age, u32)> {
        let lowest = self.first()?;
        self.remove(lowest.1);
        Some(lowest)
    }

    /// Takes a slot out that is in it.
    pub fn remove(&mut self, slot: u32) {
        let place = self.place[slot as usize] as usize;
        let last = self.heap.len() - 1;
        self.swap(place, last);
        self.heap.pop();
        self.place[slot as usize] = NONE;
        if place < last {
            self.settle(place);
        }
    }

    /// Gives a slot in it another age.
    pub fn set_age(&mut self, slot: u32, age: Age) {
        let place = self.place[slot as usize] as usize;
        self.heap[place].0 = age;
        self.settle(place);
    }

    /// Ages and slots, lowest first.
    pub fn sorted(&self) -> Vec<(Age, u32)> {
        let mut all = self.heap.clone();
        all.sort_unstable();
        all.into_iter().map(|(age, _, slot)| (age, slot)).collect()
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.place[self.heap[a].2 as usize] = a as u32;
        self.place[self.heap[b].2 as usize] = b as u32;
    }

    fn settle(&mut self, at: usize) {
        self.rise(at);
        self.sink(at);
    }

    fn rise(&mut self, mut at: usize) {
        while at > 0 && self.heap[at] < self.heap[(at - 1) / 2] {
            self.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    fn sink(&mut self, mut at: usize) {
        loop {
            let least = (2 * at + 1..2 * at + 3).filter(|child| *child < self.heap.len());
            match least.min_by_key(|child| self.heap[*child]) {
                Some(child) if self.heap[child] < self.heap[at] => {
                    self.swap(at, child);
                    at = child;
                }
                _ => return,
            }
        }
    }
}

impl AgeHeap {
    /// Adds one to the age of a slot in it.
    pub fn grow_older(&mut self, slot: u32) -> u64 {
        let place = self.place[slot as usize] as usize;
        self.heap[place].0 += 1;
        let age = self.heap[place].0;
        self.sink(place);
        age
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_lowest_age_leaves_first(steps in prop::collection::vec((0..16_u32, 0..20_u64, 0..5_u8), 0..200)) {
            let mut heap: AgeHeap = AgeHeap::new(16);
            let mut plain: Vec<(u64, u32)> = Vec::new();
            for (slot, age, what) in steps {
                let at = plain.iter().position(|entry| entry.1 == slot);
                match (what, at) {
                    (0, None) => { heap.push(slot, age, slot); plain.push((age, slot)); }
                    (1, Some(at)) => { plain[at].0 += 1; prop_assert_eq!(heap.grow_older(slot), plain[at].0); }
                    (3, Some(at)) => { plain.remove(at); heap.remove(slot); }
                    (4, Some(at)) => { plain[at].0 = age; heap.set_age(slot, age); }
                    (2, _) => {
                        let lowest = plain.iter().copied().min();
                        prop_assert_eq!(heap.first(), lowest);
                        plain.retain(|entry| Some(*entry) != lowest);
                        prop_assert_eq!(heap.pop(), lowest);
                    }
                    _ => {}
                }
                plain.sort_unstable();
                prop_assert_eq!(heap.sorted(), plain.clone());
                prop_assert_eq!(heap.age(slot), plain.iter().find(|entry| entry.1 == slot).map(|entry| entry.0));
            }
        }
    }
}
