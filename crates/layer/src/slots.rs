//! A table of things under way, which tokens name by number.

/// Things by number; numbers are used again.
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
    /// Enters something; its number.
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
    /// If nothing has this number: what is under way ends once.
    pub fn remove(&mut self, number: u32) -> T {
        let entry = self.all[number as usize].take().expect("what is under way ends once");
        self.free.push(number);
        entry
    }
}
