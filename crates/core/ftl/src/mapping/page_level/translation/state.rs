//! State of the translation pages: open blocks, commands on their way, pages that wait for their update.

use crate::FtlContext;
use crate::mapping::page_level::scheme::{Scheme, TranslationShape};
use layer::{SnapshotError, SnapshotReader, SnapshotWriter};
use nand::{CommandId, Owner};
use units::{Geometry, Tpn};

/// Counters of translation pages since counting began.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TranslationCounters {
    pub hits: u64,
    pub misses: u64,
    pub reads: u64,
    pub writes: u64,
    /// Of the writes, those at the end of a collection.
    pub collection_updates: u64,
    pub copies: u64,
    /// Accesses that could not be cached for want of room on flash.
    pub uncached: u64,
    /// Rewritten after a power cut.
    pub repaired: u64,
    pub misreads: u64,
    pub translation_victims: u64,
    pub translation_victim_pages: u64,
    pub data_victims: u64,
    /// Translation pages with entries in a block, each once a block.
    pub victim_translation_pages: u64,
}

/// State of the translation pages.
pub(crate) struct Translation<S> {
    pub(super) scheme: S,
    pub(super) geometry: Geometry,
    pub(super) owner: Owner,
    pub(super) shape: TranslationShape,
    /// Bytes of map entries that may be cached.
    pub(super) budget: u64,
    /// The read that brings a translation page, for accesses that use it before it is there.
    pub(super) loading: Vec<Option<CommandId>>,
    /// A collection moved pages whose entries are on this translation page; it will be programmed.
    pub(super) awaits_update: Vec<bool>,
    /// The look at a victim that last saw each translation page, and the number of the last look.
    pub(super) seen: Vec<u32>,
    pub(super) look: u32,
    /// On flash it is behind what a scan found after a power cut.
    pub(super) stale: Vec<bool>,
    /// Stale translation pages still to be programmed.
    pub(super) repairs: Vec<Tpn>,
    pub(super) counters: TranslationCounters,
}

impl<S: Scheme> Translation<S> {
    pub(super) fn over(scheme: S, shape: TranslationShape, context: &FtlContext<'_>, budget: u64) -> Self {
        let count = shape.count as usize;
        Self {
            scheme,
            geometry: context.geometry,
            owner: context.owner,
            shape,
            budget,
            loading: vec![None; count],
            awaits_update: vec![false; count],
            seen: vec![0; count],
            look: 0,
            stale: vec![false; count],
            repairs: Vec::new(),
            counters: TranslationCounters::default(),
        }
    }

    pub(super) fn save_state(&self, writer: &mut SnapshotWriter) {
        writer.put(
            "translation.pages",
            (0..self.shape.count as usize)
                .map(|page| u8::from(self.awaits_update[page]) | u8::from(self.stale[page]) << 1),
        );
        self.scheme.save(writer);
    }

    pub(super) fn load_state(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let unfit = |problem: &str| SnapshotError::Unfit { section: "translation", problem: problem.to_owned() };
        let pages = reader.get::<u8>("translation.pages")?;
        if pages.len() != self.shape.count as usize {
            return Err(unfit("the number of translation pages differs"));
        }
        self.repairs.clear();
        self.loading.fill(None);
        for (page, flags) in pages.into_iter().enumerate() {
            self.awaits_update[page] = flags & 1 == 1;
            self.stale[page] = flags & 2 == 2;
            if self.stale[page] {
                self.repairs.push(Tpn(page as u32));
            }
        }
        self.scheme.load(reader)
    }
}
