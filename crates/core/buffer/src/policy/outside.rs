//! Buffers whose evictions a program around this one decides: single pages, in order of their last write.
//!
//! Faithful to: the program names the page that leaves; everything else is as in `page-only`.
//! Simplified: the policy sees all pages at each eviction, so that one costs as much as the buffer is large.
//! Protects: one entry a page, in the order of writes, also while the policy chooses otherwise.

use super::page::{FLUSH_UNIT, FLUSHES_BLOCKS};
use super::page_list::PageList;
use super::{Piece, Policy, Victim, with_common};
use crate::Buffer;
use crate::parameters::{Area, BLOCK_SIZE, Shape};
use crate::store::Store;
use layer::registry::{Registry, Source};
use layer::{Parameter, SnapshotError, SnapshotReader, SnapshotWriter, Values};
use std::sync::Arc;
use units::Lpn;

/// The view of an eviction policy: the buffered pages, the one written longest ago first.
#[derive(Debug)]
pub struct EvictionView<'a> {
    /// Logical page of each.
    pub pages: &'a [u32],
    /// Times each was written since it came.
    pub writes: &'a [u32],
    /// Times each was read since it came.
    pub reads: &'a [u32],
    /// Pages of a logical block.
    pub block_pages: u32,
}

/// Chooses the page that leaves a buffer.
pub trait EvictionPolicy {
    /// The index of a page; `None`: the one written longest ago. There is at least one.
    fn pick(&mut self, view: &EvictionView<'_>) -> Option<usize>;
}

/// The builder of an eviction policy: called once for each buffer.
pub type EvictionFactory = dyn Fn(&Values) -> Box<dyn EvictionPolicy> + Send + Sync;

static OUTSIDE: Registry<EvictionFactory> = Registry::new();

/// Makes `buffer.kind = name` a buffer of single pages whose evictions `build` decides, for configurations loaded from
/// now on. The last one registered under a name counts. `source`: the file that it was read from, if that tells what
/// it does.
///
/// # Errors
/// A built-in buffer has this name, or it is no name.
pub fn register(name: &str, doc: &str, build: Arc<EvictionFactory>, source: Option<Source>) -> Result<(), String> {
    let built_in = super::built_in();
    let taken: Vec<&str> = built_in.iter().map(|entry| entry.name).chain(["none"]).collect();
    OUTSIDE.register(name, doc, build, source, &taken)
}

/// Whether the buffer called `name` was registered, so that its name does not tell its actions.
pub fn is_from_outside(name: &str) -> bool {
    OUTSIDE.has(name)
}

/// The file that the policy called `name` was read from, if it was registered with one.
pub fn source_of(name: &str) -> Option<Source> {
    OUTSIDE.source(name)
}

/// A line for each that was registered.
pub(super) fn entries() -> impl Iterator<Item = Buffer> {
    OUTSIDE.list().into_iter().map(|(name, doc)| super::entry::<Outside>(name, doc, "", parameters))
}

/// Parameters that each registered policy reads.
pub(super) fn parameters() -> Vec<Parameter> {
    with_common(&[FLUSH_UNIT, BLOCK_SIZE])
}

/// See the module description.
pub(crate) struct Outside {
    list: PageList,
    by_block: bool,
    policy: Box<dyn EvictionPolicy>,
    /// Writes and reads of each slot since its page came.
    used: Vec<[u32; 2]>,
    /// What the policy is shown, kept to use its memory again.
    slots: Vec<u32>,
    shown: [Vec<u32>; 3],
}

impl Policy for Outside {
    const AREAS: &'static [Area] = &[Area::Pages];

    fn blocks_bytes(_: &Values) -> u64 {
        0
    }

    fn new(_: Shape, values: &Values) -> Self {
        let build = OUTSIDE.find(values.name(crate::KEY)).expect("names are checked with the configuration");
        Self {
            list: PageList::new(),
            by_block: FLUSHES_BLOCKS.read(values),
            policy: build(values),
            used: Vec::new(),
            slots: Vec::new(),
            shown: Default::default(),
        }
    }

    fn route(&mut self, _: &Piece, _: &Store) -> Area {
        Area::Pages
    }

    fn put(&mut self, _: &Store, _: Area, slot: u32, is_new: bool) {
        self.list.put(slot, is_new);
        if self.used.len() <= slot as usize {
            self.used.resize(slot as usize + 1, [0; 2]);
        }
        let [writes, reads] = &mut self.used[slot as usize];
        (*writes, *reads) = if is_new { (1, 0) } else { (writes.saturating_add(1), *reads) };
    }

    fn read(&mut self, _: &Store, _: Area, slot: u32) {
        let reads = &mut self.used[slot as usize][1];
        *reads = reads.saturating_add(1);
    }

    fn left(&mut self, _: &Store, _: Area, slot: u32, _: Lpn) {
        self.list.left(slot);
    }

    fn victim(&mut self, store: &Store, _: Area) -> Option<Victim> {
        self.slots.clear();
        self.slots.extend(self.list.oldest_first());
        let oldest = *self.slots.first()?;
        self.shown.iter_mut().for_each(Vec::clear);
        for slot in &self.slots {
            let [writes, reads] = self.used[*slot as usize];
            for (column, value) in self.shown.iter_mut().zip([store.slot(*slot).logical.0, writes, reads]) {
                column.push(value);
            }
        }
        let [pages, writes, reads] = &self.shown;
        let view = EvictionView { pages, writes, reads, block_pages: store.shape.block_pages };
        let slot = self.policy.pick(&view).map_or(oldest, |index| self.slots[index]);
        let block = store.shape.block_of(store.slot(slot).logical);
        let goes_alone = !self.by_block || store.held(Area::Pages, block) == 1;
        Some(if goes_alone { Victim::Page(slot) } else { Victim::Block { block, pad: false } })
    }

    fn ram_bytes(&self) -> u64 {
        // Two counts a page beside the list.
        2 * self.list.ram_bytes()
    }

    fn check(&self, store: &Store) -> Result<(), String> {
        self.list.check(store)
    }

    fn save(&self, store: &Store, writer: &mut SnapshotWriter) {
        self.list.save(store, writer);
        let used = self.list.oldest_first().map(|slot| {
            let [writes, reads] = self.used[slot as usize];
            [store.slot(slot).logical.0, writes, reads]
        });
        writer.put("buffer.page_use", used);
    }

    fn load(&mut self, store: &Store, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.list.load(store, reader)?;
        let listed: Vec<u32> = self.list.oldest_first().collect();
        self.used = vec![[1, 0]; listed.iter().max().map_or(0, |most| *most as usize + 1)];
        for [page, writes, reads] in reader.each::<[u32; 3]>("buffer.page_use")? {
            let slot = if page < store.shape.user_pages { store.find(Area::Pages, Lpn(page)) } else { None };
            if let Some(used) = slot.and_then(|slot| self.used.get_mut(slot as usize)) {
                *used = [writes, reads];
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Oldest;

    impl EvictionPolicy for Oldest {
        fn pick(&mut self, _: &EvictionView<'_>) -> Option<usize> {
            None
        }
    }

    #[test]
    fn a_registered_buffer_is_in_the_table_and_a_built_in_name_is_refused() {
        register("eviction-test", "a test", Arc::new(|_| Box::new(Oldest)), None).unwrap();
        assert!(crate::buffer_names().contains(&"eviction-test") && is_from_outside("eviction-test"));
        assert!(register("fab", "", Arc::new(|_| Box::new(Oldest)), None).unwrap_err().contains("built-in"));
        assert!(!is_from_outside("fab"));
    }
}
