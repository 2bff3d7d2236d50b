//! State of the translation pages: open blocks, what is on its way, what waits for its update.

use crate::mapping::page_level::scheme::{Scheme, TranslationShape};
use crate::mapping::page_level::state::Frontier;
use layer::{SnapshotError, SnapshotReader, SnapshotWriter};
use nand::CommandId;

/// What happened to translation pages since counting began.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::mapping::page_level) struct TranslationCounters {
    pub hits: u64,
    pub misses: u64,
    pub reads: u64,
    pub writes: u64,
    /// Of the writes, those at the end of a collection.
    pub collection_updates: u64,
    /// Moved by collection.
    pub copies: u64,
    /// Accesses that could not be cached for want of room on flash.
    pub uncached: u64,
    /// Rewritten after a power cut.
    pub repaired: u64,
    pub misreads: u64,
    pub translation_victims: u64,
    pub translation_victim_pages: u64,
    pub data_victims: u64,
    /// Translation pages with entries of what they held, each once a block.
    pub victim_translation_pages: u64,
}

/// State of the translation pages.
pub(in crate::mapping::page_level) struct Translation<S> {
    pub scheme: S,
    pub shape: TranslationShape,
    /// Open blocks of translation pages: one for each plane, or a single one.
    pub frontiers: Vec<Frontier>,
    /// Pages of these that collections under way will need.
    promised: Vec<u32>,
    turn: usize,
    /// Planes that gave a block to translation pages and were not looked at since: they may be short of blocks now.
    pub(super) opened: Vec<u32>,
    /// Open block of each translation page's data, where it has blocks of its own.
    pub own: Vec<Frontier>,
    /// The read that brings a translation page, for those who use it before it is there.
    pub(super) loading: Vec<Option<CommandId>>,
    /// A collection moved pages whose entries are on this translation page; it will be programmed.
    pub awaits_update: Vec<bool>,
    /// The look at a victim that last saw each translation page, and the number of the last look.
    pub seen: Vec<u32>,
    pub look: u32,
    /// On flash it is behind what a scan found after a power cut.
    pub stale: Vec<bool>,
    /// Numbers of stale translation pages still to be programmed.
    pub repairs: Vec<u32>,
    pub counters: TranslationCounters,
}

impl<S: Scheme> Translation<S> {
    pub fn new(scheme: S, shape: TranslationShape, frontiers: usize) -> Self {
        let count = shape.count as usize;
        Self {
            scheme,
            shape,
            frontiers: vec![Frontier::NONE; if S::DEMAND { frontiers } else { 0 }],
            promised: vec![0; if S::DEMAND { frontiers } else { 0 }],
            turn: 0,
            opened: Vec::new(),
            own: vec![Frontier::NONE; if S::OWN_BLOCKS { count } else { 0 }],
            loading: vec![None; count],
            awaits_update: vec![false; count],
            seen: vec![0; count],
            look: 0,
            stale: vec![false; count],
            repairs: Vec::new(),
            counters: TranslationCounters::default(),
        }
    }

    /// Which open block a plane uses.
    #[inline]
    pub fn frontier_of(&self, lane: usize) -> usize {
        if self.frontiers.len() == 1 { 0 } else { lane }
    }

    /// Pages of a plane's open block that collections under way will need.
    #[inline]
    pub fn promised_in(&self, lane: usize) -> u32 {
        self.promised[self.frontier_of(lane)]
    }

    pub fn promise(&mut self, lane: usize, pages: u32) {
        let index = self.frontier_of(lane);
        self.promised[index] += pages;
    }

    pub fn release_promise(&mut self, lane: usize, pages: u32) {
        let index = self.frontier_of(lane);
        self.promised[index] -= pages;
    }

    /// A plane gave a block to translation pages.
    #[inline]
    pub fn note_opened(&mut self, lane: usize) {
        self.opened.push(lane as u32);
    }

    #[inline]
    pub fn lane_in_turn(&self) -> usize {
        self.turn
    }

    #[inline]
    pub fn next_lane(&mut self, lanes: usize) -> usize {
        let lane = self.turn;
        self.turn = if lane + 1 == lanes { 0 } else { lane + 1 };
        lane
    }

    pub fn save(&self, writer: &mut SnapshotWriter) {
        let frontiers = self.frontiers.iter().chain(&self.own).flat_map(Frontier::numbers);
        writer.put_u32("translation.frontiers", frontiers.collect::<Vec<_>>().into_iter());
        writer.put_u8(
            "translation.pages",
            (0..self.shape.count as usize)
                .map(|page| u8::from(self.awaits_update[page]) | u8::from(self.stale[page]) << 1),
        );
        writer.put_u32("translation.turn", [self.turn as u32].into_iter());
        self.scheme.save(writer);
    }

    pub fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let unfit = |problem: &str| SnapshotError::Unfit { section: "translation", problem: problem.to_owned() };
        let frontiers = reader.get_u32("translation.frontiers")?;
        let pages = reader.get_u8("translation.pages")?;
        let turn = reader.get_u32("translation.turn")?;
        let count = self.frontiers.len() + self.own.len();
        if frontiers.len() != 3 * count || pages.len() != self.shape.count as usize || turn.len() != 1 {
            return Err(unfit("the number of translation pages or planes differs"));
        }
        let mut frontiers = frontiers.chunks_exact(3).map(|f| Frontier::from_numbers([f[0], f[1], f[2]]));
        for frontier in self.frontiers.iter_mut().chain(&mut self.own) {
            *frontier = frontiers.next().expect("they were counted");
        }
        self.turn = turn[0] as usize;
        self.repairs.clear();
        self.loading.fill(None);
        for (page, flags) in pages.into_iter().enumerate() {
            self.awaits_update[page] = flags & 1 == 1;
            self.stale[page] = flags & 2 == 2;
            if self.stale[page] {
                self.repairs.push(page as u32);
            }
        }
        self.promised.fill(0);
        self.opened.clear();
        self.scheme.load(reader)
    }

    /// Most translation pages the collection of a block with `valid` pages programs at its end.
    #[inline]
    pub fn most_updates(valid: u32) -> u32 {
        match (S::DEMAND, S::OWN_BLOCKS) {
            (false, _) => 0,
            (true, true) => valid.min(1),
            (true, false) => valid,
        }
    }
}
