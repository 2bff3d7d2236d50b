//! Pages in order of their last write.

use crate::parameters::Area;
use crate::store::{NONE, State, Store};
use layer::recency::{Links, List};
use layer::{SnapshotError, SnapshotReader, SnapshotWriter};
use units::Lpn;

/// Slots of the area for pages, most recently written first.
#[derive(Debug)]
pub(crate) struct PageList {
    links: Links,
    list: List,
}

impl PageList {
    pub fn new() -> Self {
        Self { links: Links::new(0), list: List::default() }
    }

    /// A page was written.
    #[inline]
    pub fn put(&mut self, slot: u32, is_new: bool) {
        if is_new {
            self.links.reserve(slot);
            self.links.push_front(&mut self.list, slot);
        } else {
            self.links.touch(&mut self.list, slot);
        }
    }

    #[inline]
    pub fn left(&mut self, slot: u32) {
        self.links.remove(&mut self.list, slot);
    }

    /// The page written longest ago.
    #[inline]
    pub fn oldest(&self) -> Option<u32> {
        self.list.tail()
    }

    /// The pages, the one written longest ago first.
    pub fn oldest_first(&self) -> impl Iterator<Item = u32> + use<'_> {
        self.links.oldest_first(&self.list)
    }

    #[inline]
    pub fn len(&self) -> u32 {
        self.list.len()
    }

    /// Bytes of two links a page.
    pub fn ram_bytes(&self) -> u64 {
        8 * u64::from(self.list.len())
    }

    /// Checks its law.
    ///
    /// # Errors
    /// The list has other pages than the area.
    pub fn check(&self, store: &Store) -> Result<(), String> {
        self.check_against(store.pages(Area::Pages).collect())
    }

    /// Checks its law.
    ///
    /// # Errors
    /// The list has other pages than these.
    pub fn check_against(&self, mut held: Vec<u32>) -> Result<(), String> {
        let mut listed = self.links.check(&self.list)?;
        listed.sort_unstable();
        held.sort_unstable();
        if listed == held { Ok(()) } else { Err("the order of pages has others than the buffer".to_owned()) }
    }

    pub fn save(&self, store: &Store, writer: &mut SnapshotWriter) {
        let dirty = self.oldest_first().filter(|slot| store.slot(*slot).state == State::Dirty);
        writer.put("buffer.page_order", dirty.map(|slot| store.slot(slot).logical));
    }

    pub fn load(&mut self, store: &Store, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.list = List::default();
        for logical in reader.each::<Lpn>("buffer.page_order")? {
            let slot = if logical.0 < store.shape.user_pages { store.find(Area::Pages, logical) } else { None };
            let Some(slot) = slot.filter(|slot| *slot != NONE) else {
                let problem = format!("page {logical} is in order and not in the buffer");
                return Err(SnapshotError::unfit("buffer.page_order", problem));
            };
            self.put(slot, true);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_page_written_longest_ago_is_the_oldest(
            steps in prop::collection::vec((0..12_u32, any::<bool>()), 0..200),
        ) {
            let (mut list, mut plain) = (PageList::new(), Vec::<u32>::new());
            for (slot, leaves) in steps {
                let place = plain.iter().position(|other| *other == slot);
                place.map(|at| plain.remove(at));
                match place {
                    Some(_) if leaves => list.left(slot),
                    _ => { list.put(slot, place.is_none()); plain.push(slot); }
                }
                prop_assert_eq!(list.oldest_first().collect::<Vec<_>>(), plain.clone());
                prop_assert_eq!((list.oldest(), list.len() as usize), (plain.first().copied(), plain.len()));
                prop_assert_eq!(list.check_against(plain.clone()), Ok(()));
            }
        }
    }
}
