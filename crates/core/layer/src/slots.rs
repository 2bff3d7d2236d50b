//! A table of things under way, which tokens name by number.

/// Things by number; numbers are used again, the last one freed first.
#[derive(Clone, Debug)]
pub struct Slots<T> {
    all: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { all: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    /// An empty table with memory for `things`.
    pub fn with_capacity(things: usize) -> Self {
        Self { all: Vec::with_capacity(things), free: Vec::new() }
    }

    /// Enters something; its number.
    #[inline]
    pub fn insert(&mut self, entry: T) -> u32 {
        let number = self.free.pop().unwrap_or(self.all.len() as u32);
        if number as usize == self.all.len() {
            self.all.push(Some(entry));
        } else {
            self.all[number as usize] = Some(entry);
        }
        number
    }

    /// Takes something out.
    ///
    /// # Panics
    /// If no slot has this number: each piece of work ends once.
    #[inline]
    pub fn remove(&mut self, number: u32) -> T {
        let entry = self.all[number as usize].take().expect("what is under way ends once");
        self.free.push(number);
        entry
    }

    /// The work with this number, if there is any.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&T> {
        self.all.get(number as usize)?.as_ref()
    }

    /// The work with this number.
    ///
    /// # Panics
    /// If nothing has.
    #[inline]
    pub fn at(&self, number: u32) -> &T {
        self.all[number as usize].as_ref().expect("this number is in use")
    }

    /// The work with this number, mutable.
    ///
    /// # Panics
    /// If nothing has.
    #[inline]
    pub fn at_mut(&mut self, number: u32) -> &mut T {
        self.all[number as usize].as_mut().expect("this number is in use")
    }

    /// Things in the table.
    #[inline]
    pub fn len(&self) -> usize {
        self.all.len() - self.free.len()
    }

    /// Nothing is in the table.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Numbers given out so far, in use or not: the length of a table beside this one.
    #[inline]
    pub fn numbers(&self) -> usize {
        self.all.len()
    }

    /// Everything in the table with its number, by number.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..).zip(&self.all).filter_map(|(number, entry)| Some((number, entry.as_ref()?)))
    }

    /// As [`Slots::iter`], to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut T)> {
        (0..).zip(&mut self.all).filter_map(|(number, entry)| Some((number, entry.as_mut()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_used_again_the_last_one_freed_first() {
        let mut slots = Slots::default();
        assert_eq!([slots.insert('a'), slots.insert('b'), slots.insert('c')], [0, 1, 2]);
        assert_eq!((slots.remove(0), slots.remove(1)), ('a', 'b'));
        assert_eq!((slots.len(), slots.numbers(), slots.get(1)), (1, 3, None));
        assert_eq!([slots.insert('d'), slots.insert('e'), slots.insert('f')], [1, 0, 3]);
        assert_eq!(slots.iter().map(|(_, entry)| *entry).collect::<String>(), "edcf");
        slots.iter_mut().for_each(|(number, entry)| *entry = if number == 1 { '-' } else { *entry });
        assert_eq!(slots.iter().map(|(_, entry)| *entry).collect::<String>(), "e-cf");
    }

    #[test]
    #[should_panic(expected = "ends once")]
    fn what_is_under_way_ends_once() {
        let mut slots = Slots::default();
        let number = slots.insert(());
        slots.remove(number);
        slots.remove(number);
    }
}
