//! Doubly linked lists over the slots of a table, most recently used first.

/// Stands for no slot.
const NONE: u32 = u32::MAX;

/// Neighbours of each slot; a slot is in one list of these at most.
#[derive(Clone, Debug)]
pub struct Links {
    /// Towards the head and towards the tail.
    near: Vec<[u32; 2]>,
}

/// Ends of one list.
#[derive(Clone, Copy, Debug)]
pub struct List {
    head: u32,
    tail: u32,
    len: u32,
}

impl Default for List {
    fn default() -> Self {
        Self { head: NONE, tail: NONE, len: 0 }
    }
}

impl Links {
    /// Links for `slots` slots, all in no list.
    pub fn new(slots: usize) -> Self {
        Self { near: vec![[NONE; 2]; slots] }
    }

    /// Room for a slot of this number.
    #[inline]
    pub fn reserve(&mut self, slot: u32) {
        if slot as usize >= self.near.len() {
            self.near.resize(slot as usize + 1, [NONE; 2]);
        }
    }

    /// Puts a slot at the head.
    #[inline]
    pub fn push_front(&mut self, list: &mut List, slot: u32) {
        self.near[slot as usize] = [NONE, list.head];
        match list.head {
            NONE => list.tail = slot,
            head => self.near[head as usize][0] = slot,
        }
        list.head = slot;
        list.len += 1;
    }

    /// Puts a slot one place nearer to the head than `behind`; at the tail without one.
    pub fn insert_before(&mut self, list: &mut List, slot: u32, behind: Option<u32>) {
        let behind = behind.unwrap_or(NONE);
        let before = if behind == NONE { list.tail } else { self.near[behind as usize][0] };
        self.near[slot as usize] = [before, behind];
        match before {
            NONE => list.head = slot,
            before => self.near[before as usize][1] = slot,
        }
        match behind {
            NONE => list.tail = slot,
            behind => self.near[behind as usize][0] = slot,
        }
        list.len += 1;
    }

    /// Takes a slot out.
    #[inline]
    pub fn remove(&mut self, list: &mut List, slot: u32) {
        let [before, behind] = self.near[slot as usize];
        match before {
            NONE => list.head = behind,
            before => self.near[before as usize][1] = behind,
        }
        match behind {
            NONE => list.tail = before,
            behind => self.near[behind as usize][0] = before,
        }
        list.len -= 1;
    }

    /// Makes a slot of the list its head.
    #[inline]
    pub fn touch(&mut self, list: &mut List, slot: u32) {
        if list.head != slot {
            self.remove(list, slot);
            self.push_front(list, slot);
        }
    }

    /// The next slot towards the tail.
    #[inline]
    pub fn behind(&self, slot: u32) -> Option<u32> {
        let behind = self.near[slot as usize][1];
        (behind != NONE).then_some(behind)
    }

    /// The slots from the tail, least recently used first.
    pub fn oldest_first<'a>(&'a self, list: &List) -> impl Iterator<Item = u32> + use<'a> {
        let step = |slot: u32| (slot != NONE).then_some(slot);
        std::iter::successors(step(list.tail), move |slot| step(self.near[*slot as usize][0]))
    }

    /// Checks that a list holds together; returns its slots, least recently used first.
    ///
    /// # Errors
    /// Its length is not what it says.
    pub fn check(&self, list: &List) -> Result<Vec<u32>, String> {
        let slots: Vec<u32> = self.oldest_first(list).take(self.near.len() + 1).collect();
        if slots.len() == list.len as usize {
            Ok(slots)
        } else {
            Err(format!("a recency list of {} slots has {}", list.len, slots.len()))
        }
    }
}

impl List {
    /// The most recently used slot.
    #[inline]
    pub fn head(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    /// The least recently used slot.
    #[inline]
    pub fn tail(&self) -> Option<u32> {
        (self.tail != NONE).then_some(self.tail)
    }

    /// Number of slots in the list.
    #[inline]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether no slot is in it.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn a_list_does_what_a_plain_queue_does(steps in prop::collection::vec((0..8_u32, 0..4_u8), 0..200)) {
            let (mut links, mut list) = (Links::new(8), List::default());
            let mut plain: VecDeque<u32> = VecDeque::new();
            for (slot, what) in steps {
                let at = plain.iter().position(|other| *other == slot);
                match (what, at) {
                    (0, None) => { links.push_front(&mut list, slot); plain.push_front(slot); }
                    (1, Some(at)) => { links.remove(&mut list, slot); plain.remove(at); }
                    (2, Some(at)) => { links.touch(&mut list, slot); plain.remove(at); plain.push_front(slot); }
                    (3, None) => {
                        let middle = plain.len() / 2;
                        links.insert_before(&mut list, slot, plain.get(middle).copied());
                        plain.insert(middle, slot);
                    }
                    (3, Some(at)) => prop_assert_eq!(links.behind(slot), plain.get(at + 1).copied()),
                    _ => {}
                }
                let found = links.check(&list).map_err(TestCaseError::fail)?;
                prop_assert_eq!(found, plain.iter().rev().copied().collect::<Vec<_>>());
            }
        }
    }
}
