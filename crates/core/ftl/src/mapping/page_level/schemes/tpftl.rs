//! `tpftl`: map entries are cached by translation page, and following entries are brought along.
//!
//! Faithful to: "An Efficient Page-level FTL to Optimize Address Translation in Flash Memory" (`EuroSys` 2015).
//! Cached entries are in two levels: the entries of a translation page form a node. An entry is compressed to an
//! offset in its page and a flash page. On a miss the rest of the request is brought in from the page that is read
//! anyway. In a sequential phase, as many successors come in as the entry has cached predecessors. The coldest node
//! gives up its least recently used clean entry first. When a dirty entry leaves, all dirty entries of the node are
//! programmed together and stay cached as clean. A sequential phase begins when the number of nodes has fallen by a
//! threshold, and ends when it has risen by as much.
//! Simplified: the hotness of a node is the mean of the last uses of its entries, kept as sum and number. Entries
//! brought in ahead count as used. An entry costs six bytes of the budget and a node eight. The lists that order them
//! cost nothing.
//! Protects: the cache stays within its budget. One access takes entries from one node only, and entries that it
//! brings in ahead write nothing back. So it programs one translation page at most.

use super::cache::NodeTable;
use crate::mapping::Mapping;
use crate::mapping::page_level::scheme::{Access, Plan, Scheme, TranslationShape};
use crate::mapping::page_level::{self, Translation};
use layer::{Parameter, ParameterKind, SnapshotError, SnapshotReader, SnapshotWriter, Values};
use units::{Lpn, Ppn, Tpn};

/// An offset in the translation page and a flash page number.
const ENTRY_BYTES: u64 = 6;

/// A translation page number and the head of its list.
const NODE_BYTES: u64 = 8;

/// The line for the table of mappings.
pub(in crate::mapping) fn mapping() -> Mapping {
    let doc = "map entries are cached by translation page, together with entries of the same request and run";
    let when = "Use it for sequential runs and requests of several pages: one map read serves the run. Random \
                requests of one page gain little over dftl.";
    page_level::mapping::<Translation<Tpftl>>("tpftl", doc, when, parameters)
}

pub(in crate::mapping) fn parameters() -> Vec<Parameter> {
    let switch = |key, doc| Parameter::new(key, ParameterKind::Switch, "true", doc);
    let mut parameters = page_level::demand();
    parameters.extend([
        switch(
            "ftl.tpftl.request_prefetch",
            "On a miss, load the map entries of the whole request, up to the end of the translation page.",
        ),
        switch(
            "ftl.tpftl.selective_prefetch",
            "In a sequential phase, load as many entries after a miss as the missed entry has cached predecessors in \
             a row, up to the end of the translation page.",
        ),
        Parameter::new(
            "ftl.tpftl.threshold",
            ParameterKind::Count { min: 1, max: 1_000_000 },
            "3",
            "Change in the number of translation pages with cached entries that begins or ends a sequential phase: a \
             fall by this many begins one, a rise by as many ends it.",
        ),
        switch(
            "ftl.tpftl.batch_update",
            "Write all cached dirty entries of a translation page when it is programmed, and keep them cached as \
             clean. Saves programs of translation pages.",
        ),
        switch(
            "ftl.tpftl.clean_first",
            "Evict the least recently used clean entry of the coldest node before any dirty entry. Saves write-backs.",
        ),
    ]);
    parameters
}

pub(crate) struct Tpftl {
    shape: TranslationShape,
    budget: u64,
    nodes: NodeTable,
    clock: u64,
    phase: Phase,
    request_prefetch: bool,
    selective_prefetch: bool,
    batch_update: bool,
    clean_first: bool,
}

/// Whether the number of nodes was last seen to fall or to rise.
struct Phase {
    sequential: bool,
    /// Nodes that came since the last turn, less nodes that left.
    balance: i64,
    threshold: i64,
}

impl Phase {
    #[inline]
    fn count(&mut self, nodes: i64) {
        self.balance += nodes;
        if self.balance.abs() >= self.threshold {
            self.sequential = self.balance < 0;
            self.balance = 0;
        }
    }
}

impl Tpftl {
    /// Bytes left once one more entry of a translation page is in, if that fits.
    #[inline]
    fn room_beside(&self, page: Tpn) -> Option<u64> {
        let node = if self.nodes.has_node(page) { 0 } else { NODE_BYTES };
        self.budget.checked_sub(self.cached_bytes() + node + ENTRY_BYTES)
    }

    fn remove(&mut self, slot: u32, node: Tpn) {
        self.nodes.remove(slot);
        if !self.nodes.has_node(node) {
            self.phase.count(-1);
        }
    }

    /// Takes one entry out of a node.
    fn evict(&mut self, node: Tpn, plan: &mut Plan) {
        let clean = self.nodes.oldest_clean(node).filter(|_| self.clean_first);
        let victim = clean.or_else(|| self.nodes.oldest(node)).expect("a node has entries");
        if self.nodes.is_dirty(victim) {
            // Dirty entries that leave together are programmed together.
            if plan.write_backs().next().is_none() {
                plan.write_back(node, false);
            }
            if self.batch_update {
                self.nodes.clean_page(node);
            }
        }
        self.remove(victim, node);
    }

    /// Makes room for an entry of a translation page and, as far as that costs no write-back, for `ahead`
    /// more. Returns how many more fit.
    ///
    /// All room comes from one node: when all its entries have left, one entry and its node fit.
    fn make_room(&mut self, page: Tpn, ahead: u32, plan: &mut Plan) -> u32 {
        let mut source = None;
        while self.room_beside(page).is_none() {
            let node = source.or_else(|| self.nodes.coldest()).expect("a full cache has a coldest node");
            source = Some(node);
            self.evict(node, plan);
        }
        loop {
            let room = self.room_beside(page).unwrap_or_default() / ENTRY_BYTES;
            if room >= u64::from(ahead) {
                return ahead;
            }
            source = source.or_else(|| self.nodes.coldest());
            let Some((node, slot)) = source.and_then(|node| Some((node, self.nodes.oldest_clean(node)?))) else {
                return room as u32;
            };
            self.remove(slot, node);
        }
    }

    /// Cached entries in a row in front of `logical`, at most `most`.
    fn predecessors(&self, logical: Lpn, most: u32) -> u32 {
        let first = self.shape.range(self.shape.page_of(logical)).start;
        let before = (first..logical.0).rev().take(most as usize);
        before.take_while(|before| self.nodes.find(Lpn(*before)).is_some()).count() as u32
    }

    /// The last entry a miss should bring in.
    fn last_wanted(&self, access: &Access) -> u32 {
        let last = self.shape.range(self.shape.page_of(access.logical)).end - 1;
        let request = if self.request_prefetch { access.request_end.0.min(last) } else { access.logical.0 };
        if !self.selective_prefetch || !self.phase.sequential {
            return request;
        }
        request.max(access.logical.0 + self.predecessors(access.logical, last - access.logical.0))
    }

    /// Brings in a missing entry, and the entries wanted with it. The missing one ends up as the most recently used,
    /// the nearest other one next.
    fn bring_in(&mut self, access: &Access, plan: &mut Plan) -> u32 {
        let page = self.shape.page_of(access.logical);
        plan.fetch = Some(page);
        let wanted = access.logical.0 + 1..self.last_wanted(access) + 1;
        let missing = wanted.clone().filter(|logical| self.nodes.find(Lpn(*logical)).is_none()).count();
        let mut room = self.make_room(page, missing as u32, plan);
        if !self.nodes.has_node(page) {
            self.phase.count(1);
        }
        let mut end = wanted.start;
        while room > 0 && end < wanted.end {
            room -= u32::from(self.nodes.find(Lpn(end)).is_none());
            end += 1;
        }
        for logical in (wanted.start..end).rev().map(Lpn) {
            if self.nodes.find(logical).is_none() {
                self.nodes.insert(logical, self.clock, false);
            }
        }
        self.nodes.insert(access.logical, self.clock, false)
    }
}

impl Scheme for Tpftl {
    fn least_bytes(_: TranslationShape, _: &Values) -> u64 {
        ENTRY_BYTES + NODE_BYTES
    }

    fn new(shape: TranslationShape, budget: u64, values: &Values) -> Self {
        let most = budget.saturating_sub(NODE_BYTES) / ENTRY_BYTES;
        let threshold = values.whole("ftl.tpftl.threshold") as i64;
        Self {
            shape,
            budget,
            nodes: NodeTable::new(shape, most.min(u64::from(shape.user_pages)) as u32),
            clock: 0,
            phase: Phase { sequential: false, balance: 0, threshold },
            request_prefetch: values.on("ftl.tpftl.request_prefetch"),
            selective_prefetch: values.on("ftl.tpftl.selective_prefetch"),
            batch_update: values.on("ftl.tpftl.batch_update"),
            clean_first: values.on("ftl.tpftl.clean_first"),
        }
    }

    #[inline]
    fn is_free(&self, logical: Lpn) -> bool {
        self.nodes.find(logical).is_some()
    }

    #[inline]
    fn access(&mut self, access: &Access, plan: &mut Plan) {
        self.clock += 1;
        let slot = if let Some(slot) = self.nodes.find(access.logical) {
            plan.hit = true;
            self.nodes.touch(slot, self.clock);
            slot
        } else {
            self.bring_in(access, plan)
        };
        if access.change {
            self.nodes.mark(slot);
        }
    }

    #[inline]
    fn relocated(&mut self, logical: Lpn, _: Ppn) -> bool {
        let Some(slot) = self.nodes.find(logical) else { return false };
        self.nodes.mark(slot);
        true
    }

    fn is_dirty(&self, logical: Lpn) -> bool {
        self.nodes.find(logical).is_some_and(|slot| self.nodes.is_dirty(slot))
    }

    fn programmed(&mut self, page: Tpn) {
        if self.batch_update {
            self.nodes.clean_page(page);
        }
    }

    #[inline]
    fn prefetch(&self, logical: Lpn) {
        self.nodes.prefetch(logical);
    }

    #[inline]
    fn cached_bytes(&self) -> u64 {
        u64::from(self.nodes.len()) * ENTRY_BYTES + u64::from(self.nodes.nodes()) * NODE_BYTES
    }

    fn check(&self) -> Result<(), String> {
        self.nodes.check()?;
        if self.phase.balance.abs() >= self.phase.threshold {
            return Err(format!("a phase should have turned at {} nodes", self.phase.balance));
        }
        match self.cached_bytes() {
            bytes if bytes > self.budget => Err(format!("{bytes} bytes are cached, {} fit", self.budget)),
            _ => Ok(()),
        }
    }

    fn save(&self, writer: &mut SnapshotWriter) {
        let phase = [self.clock, u64::from(self.phase.sequential), self.phase.balance as u64];
        let entries = self.nodes.export();
        writer.put("tpftl.phase", phase);
        writer.put("tpftl.entries", entries.iter().map(|entry| entry.0));
        writer.put("tpftl.used", entries.iter().map(|entry| entry.1));
        writer.put("tpftl.dirty", entries.iter().map(|entry| entry.2));
    }

    fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let unfit = |problem: &str| SnapshotError::unfit("tpftl.entries", problem);
        let [clock, sequential, balance] = reader.array("tpftl.phase")?;
        let entries: Vec<Lpn> = reader.get("tpftl.entries")?;
        let (used, dirty): (Vec<u64>, Vec<bool>) = (reader.get("tpftl.used")?, reader.get("tpftl.dirty")?);
        let is_known = |entry: &Lpn| entry.0 < self.shape.user_pages;
        if entries.len() > self.nodes.capacity() as usize || !entries.iter().all(is_known) {
            return Err(unfit("the cache or the drive is of another size"));
        }
        if used.len() != entries.len() || dirty.len() != entries.len() {
            return Err(unfit("its parts have other lengths than they should"));
        }
        debug_assert!(self.nodes.len() == 0, "state is read into an empty cache");
        for ((logical, used), dirty) in entries.into_iter().zip(used).zip(dirty) {
            if self.nodes.find(logical).is_none() {
                self.nodes.insert(logical, used, dirty);
            }
        }
        self.clock = clock;
        (self.phase.sequential, self.phase.balance) = (sequential == 1, balance as i64);
        self.check().map_err(|problem| unfit(&problem))
    }
}

#[cfg(test)]
mod tests {
    use super::super::conduct::Trial;
    use super::*;

    /// Eight translation pages of eight entries; `entries` in `nodes` nodes are cached.
    fn trial(entries: u64, nodes: u64, settings: &[(&str, &str)]) -> Trial<Tpftl> {
        let budget = entries * ENTRY_BYTES + nodes * NODE_BYTES;
        Trial::new(TranslationShape::new(64, 8), budget, parameters(), settings)
    }

    #[test]
    fn a_miss_reads_one_page_and_a_hit_costs_nothing() {
        let mut trial = trial(4, 4, &[]);
        for logical in (0..64).step_by(8) {
            assert_eq!(trial.read(logical), (1, 0));
            assert_eq!(trial.read(logical), (0, 0));
        }
    }

    #[test]
    fn a_request_costs_one_miss_for_each_translation_page() {
        let mut cold = trial(8, 2, &[]);
        assert_eq!([4, 5, 6, 7].map(|logical| cold.use_in(logical, 7, false)), [(1, 0), (0, 0), (0, 0), (0, 0)]);
        let mut across = trial(8, 2, &[]);
        assert_eq!([6, 7, 8, 9].map(|logical| across.use_in(logical, 9, false)), [(1, 0), (0, 0), (1, 0), (0, 0)]);
        let mut off = trial(8, 2, &[("ftl.tpftl.request_prefetch", "false")]);
        assert_eq!([4, 5, 6, 7].map(|logical| off.use_in(logical, 7, false)), [(1, 0); 4]);
    }

    #[test]
    fn in_a_sequential_phase_a_miss_brings_in_as_many_successors_as_there_are_predecessors() {
        let costs = |settings: &[(&str, &str)]| {
            let mut trial = trial(3, 3, settings);
            // The last one takes the place of a node, which begins the phase.
            for logical in [0, 8, 16, 24, 25] {
                trial.read(logical);
            }
            [26, 27, 28, 29].map(|logical| trial.read(logical).0)
        };
        assert_eq!(costs(&[("ftl.tpftl.threshold", "1")]), [1, 0, 0, 1]);
        assert_eq!(costs(&[("ftl.tpftl.threshold", "1000")]), [1, 1, 1, 1]);
        assert_eq!(costs(&[("ftl.tpftl.threshold", "1"), ("ftl.tpftl.selective_prefetch", "false")]), [1, 1, 1, 1]);
    }

    #[test]
    fn a_phase_turns_when_the_number_of_nodes_has_moved_by_the_threshold() {
        let mut phase = Phase { sequential: false, balance: 0, threshold: 3 };
        let turns = [-1, -1, 1, -1, -1, 1, 1, 1].map(|nodes| {
            phase.count(nodes);
            phase.sequential
        });
        assert_eq!(turns, [false, false, false, false, true, true, true, false]);
    }

    #[test]
    fn one_program_takes_all_dirty_entries_of_the_coldest_node_along() {
        let dirty = |batch| {
            let mut trial = trial(3, 2, &[("ftl.tpftl.batch_update", batch)]);
            for logical in [0, 1, 2] {
                trial.write(logical);
            }
            assert_eq!(trial.read(8), (2, 1), "page 0 is patched, page 1 read");
            assert!(!trial.is_free(0));
            [1, 2].map(|logical| trial.is_dirty(logical))
        };
        assert_eq!(dirty("true"), [false, false], "they stay cached as clean");
        assert_eq!(dirty("false"), [true, true]);
    }

    #[test]
    fn a_clean_entry_leaves_before_an_older_dirty_one() {
        let cost = |clean_first| {
            let mut trial = trial(3, 2, &[("ftl.tpftl.clean_first", clean_first)]);
            trial.write(0);
            trial.read(1);
            trial.read(2);
            trial.read(8)
        };
        assert_eq!(cost("true"), (1, 0));
        assert_eq!(cost("false"), (2, 1));
    }

    #[test]
    fn what_is_brought_in_ahead_writes_nothing_back() {
        let mut trial = trial(4, 2, &[]);
        for logical in [0, 1, 2] {
            trial.write(logical);
        }
        assert_eq!(trial.use_in(8, 11, false), (1, 0), "entry and node fit; all others are dirty");
        assert!(!trial.is_free(9));
        assert_eq!(trial.use_in(9, 11, false), (2, 1), "entry 9 itself needs room, which cleans all of page 0");
        assert!(trial.is_free(10) && trial.is_free(11));
    }

    #[test]
    fn the_coldest_node_is_the_one_whose_entries_were_used_longest_ago_on_average() {
        let mut trial = trial(3, 2, &[]);
        for logical in [0, 8, 1, 0] {
            trial.read(logical);
        }
        trial.read(16);
        assert!(!trial.is_free(8) && trial.is_free(1), "1 and 4 on average against 2");
    }

    /// Means were rounded down: 3 and 3.5 were equal, and the node of the first translation page gave up its entries.
    #[test]
    fn of_nodes_whose_means_differ_by_less_than_one_access_the_colder_gives_up_its_entries() {
        let mut trial = trial(3, 2, &[]);
        for logical in [0, 1, 8, 0, 0] {
            trial.read(logical);
        }
        trial.read(16);
        assert!(!trial.is_free(8) && trial.is_free(1), "2 and 5 on average against 3");
    }
}
