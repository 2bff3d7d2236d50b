//! Slots by logical page.

use super::NONE;
use units::Lpn;

/// A hash table with open addressing: neighbours close up when an entry leaves.
#[derive(Clone, Debug)]
pub(super) struct Index {
    /// Logical page and slot.
    places: Vec<[u32; 2]>,
    shift: u32,
}

impl Index {
    /// Room for `slots` logical pages.
    pub fn new(slots: usize) -> Self {
        let places = (slots * 2).next_power_of_two().max(2);
        Self { places: vec![[NONE; 2]; places], shift: 32 - places.trailing_zeros() }
    }

    /// Multiplication by the golden ratio spreads neighbours.
    #[inline]
    fn home(&self, logical: Lpn) -> usize {
        (logical.0.wrapping_mul(0x9E37_79B9) >> self.shift) as usize
    }

    #[inline]
    fn after(&self, place: usize) -> usize {
        (place + 1) & (self.places.len() - 1)
    }

    #[inline]
    fn place(&self, logical: Lpn) -> Option<usize> {
        let mut place = self.home(logical);
        loop {
            match self.places[place] {
                [NONE, _] => return None,
                [found, _] if found == logical.0 => return Some(place),
                _ => place = self.after(place),
            }
        }
    }

    /// The slot of a logical page.
    #[inline]
    pub fn find(&self, logical: Lpn) -> Option<u32> {
        self.place(logical).map(|place| self.places[place][1])
    }

    /// Brings what finding `logical` touches into the processor's cache.
    #[inline]
    pub fn prefetch(&self, logical: Lpn) {
        units::prefetch(&self.places, self.home(logical));
    }

    /// Adds a logical page that is not in it.
    pub fn insert(&mut self, logical: Lpn, slot: u32) {
        let mut place = self.home(logical);
        while self.places[place][0] != NONE {
            place = self.after(place);
        }
        self.places[place] = [logical.0, slot];
    }

    /// Removes a logical page, if it is in it.
    pub fn remove(&mut self, logical: Lpn) {
        let Some(mut hole) = self.place(logical) else { return };
        let mask = self.places.len() - 1;
        let mut place = hole;
        loop {
            place = self.after(place);
            let [found, _] = self.places[place];
            if found == NONE {
                break;
            }
            // It may move into the hole unless its home lies behind it.
            let from_home = place.wrapping_sub(self.home(Lpn(found))) & mask;
            if from_home >= place.wrapping_sub(hole) & mask {
                self.places[hole] = self.places[place];
                hole = place;
            }
        }
        self.places[hole] = [NONE; 2];
    }
}
