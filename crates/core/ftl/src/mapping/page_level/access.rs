//! How a mapping gets at its map: all of it is in memory, or it is on flash and a part of it in a cache.
//!
//! Writes, reads, trims and collections take the same way through [`PageMap`] for both. They call what is here where a
//! map on flash costs something; a map in memory does nothing there.

use super::PageMap;
use super::old_versions::OldVersions;
use super::pages::Pages;
use super::place::{NoRoom, WhenFull};
use super::scheme::TranslationShape;
use super::space::Space;
use crate::FtlContext;
use crate::mapping::Layout;
use layer::{LayerReport, PageOp, SnapshotError, SnapshotReader, SnapshotWriter, Values};
use nand::{CommandId, Flash, FlashState, JoinId};
use std::marker::PhantomData;
use units::{BlockId, Lpn, Ppn};

/// Which pages share blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// There are no translation pages: all pages of the host do.
    Data,
    /// All pages of the host do; translation pages have blocks of their own.
    Translation,
    /// Those whose entries are on one translation page do; translation pages have blocks of their own.
    Own,
}

/// One use of a map entry by the host.
#[derive(Clone, Copy)]
pub(crate) struct Use<'a> {
    pub op: &'a PageOp,
    /// Which page of the operation it is.
    pub index: u32,
    pub join: JoinId,
    /// There is room to keep it; otherwise an entry that is missing is read and used, but not kept.
    pub room: bool,
}

/// See the module description.
pub(crate) trait MapAccess: Sized + 'static {
    /// Old versions of pages that it can keep.
    type Versions: OldVersions;
    /// Which pages share blocks.
    const SHARING: Sharing;

    /// What its translation pages look like.
    ///
    /// # Errors
    /// In words, where they or the cache cannot be as configured.
    fn shape(_: &Values, _: &Layout) -> Result<TranslationShape, String> {
        Ok(TranslationShape::NONE)
    }

    /// Nothing is written yet.
    fn new(context: &FtlContext<'_>, shape: TranslationShape) -> Self;

    /// An operation of the host begins.
    #[inline(always)]
    fn operation_begins<F: Flash>(_: &mut PageMap<Self>, _: &mut F) {}

    /// Something was done that may have given blocks to translation pages: their lanes may have to collect.
    #[inline(always)]
    fn collect_where_opened<F: Flash>(_: &mut PageMap<Self>, _: &mut F) {}

    /// A page for a host write of `logical`, and room for what its map entry may cost.
    ///
    /// # Errors
    /// Why there is none now.
    fn page_for_write<F: Flash>(map: &mut PageMap<Self>, flash: &mut F, logical: Lpn) -> Result<Ppn, NoRoom>;

    /// A page for a record that an operation of the host makes necessary.
    ///
    /// # Errors
    /// Why there is none now.
    #[inline]
    fn record_page<F: Flash>(map: &mut PageMap<Self>, flash: &mut F, when_full: WhenFull) -> Result<Ppn, NoRoom> {
        map.page_in_turn(flash, when_full)
    }

    /// Makes room for what using the map entry of `logical` may cost. `false`: there is none now.
    #[inline(always)]
    fn make_entry_room<F: Flash>(_: &mut PageMap<Self>, _: &mut F, _: Lpn) -> bool {
        true
    }

    /// Uses a map entry. What the data must wait for.
    #[inline(always)]
    fn translate<F: Flash>(&mut self, _: &mut F, _: &mut Pages, _: &mut Space, _: &Use<'_>) -> Option<CommandId> {
        None
    }

    /// What the program of a page waits for whose map entry is known after `known`.
    #[inline(always)]
    fn data_after(known: Option<CommandId>) -> Option<CommandId> {
        known
    }

    /// A host write of `logical`, whose entry was just used, went to flash page `at`.
    #[inline(always)]
    fn placed(&mut self, _: &mut Space, _: Lpn, _: Ppn) {}

    /// A page is somewhere else without the host's doing; `lane` sees to its translation page.
    #[inline(always)]
    fn entry_changed(&mut self, _: &mut Space, _: usize, _: Lpn, _: Ppn) {}

    /// The collection of `lane` moved a page.
    #[inline(always)]
    fn relocated(&mut self, _: &mut Space, _: usize, _: Lpn, _: Ppn) {}

    /// `victim`, with these valid pages, is emptied from now on.
    #[inline(always)]
    fn collection_begins<F: Flash>(_: &mut PageMap<Self>, _: &F, _: usize, _: BlockId, _: &[u32]) {}

    /// Programs the next translation page that a lane's collection left behind the map. `false`: there is none, or no
    /// room for it.
    #[inline(always)]
    fn next_update<F: Flash>(&mut self, _: &mut F, _: &mut Pages, _: &mut Space, _: usize) -> bool {
        false
    }

    /// The map was found by a scan after a power cut.
    fn found(&mut self, _: &FlashState, _: &Pages) {}

    /// Brings what a lookup of `logical` touches into the processor's cache.
    #[inline(always)]
    fn prefetch(&self, _: Lpn) {}

    /// Bytes of memory a controller needs for the map.
    fn ram_bytes(&self, pages: &Pages) -> u64 {
        pages.map_bytes()
    }

    /// Adds counters of its own.
    fn report(&self, _: &Space, _: &mut LayerReport) {}

    /// Starts counting anew.
    fn reset_counters(&mut self) {}

    /// Checks what must always hold of it.
    ///
    /// # Errors
    /// The first law broken, in words.
    fn check(&self, _: &FlashState, _: &Pages) -> Result<(), String> {
        Ok(())
    }

    /// Writes its state into a snapshot.
    fn save(&self, _: &mut SnapshotWriter) {}

    /// Reads what [`MapAccess::save`] wrote.
    ///
    /// # Errors
    /// The snapshot is of another shape.
    fn load(&mut self, _: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        Ok(())
    }
}

/// The whole map is in memory.
pub(crate) struct Resident<V>(PhantomData<V>);

impl<V: OldVersions> MapAccess for Resident<V> {
    type Versions = V;
    const SHARING: Sharing = Sharing::Data;

    fn new(_: &FtlContext<'_>, _: TranslationShape) -> Self {
        Self(PhantomData)
    }

    #[inline]
    fn page_for_write<F: Flash>(map: &mut PageMap<Self>, flash: &mut F, logical: Lpn) -> Result<Ppn, NoRoom> {
        let page = map.page_for_data(flash, logical);
        if page.is_err() && map.tombstones_make_way(flash) { map.page_for_data(flash, logical) } else { page }
    }
}
