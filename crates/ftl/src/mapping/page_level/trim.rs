//! Trims: unmapped at once, logged on flash as tombstones, never answered with an older version.
//!
//! A trimmed page keeps a hold on the block of its last version until the tombstone that names it
//! is on flash. Then a power cut finds either the last version or the tombstone, and nothing older
//! can surface. A tombstone page is valid as long as one of its logical pages is still trimmed;
//! when its block is collected, its live entries simply go back to the log.

use super::scheme::Scheme;
use super::{PENDING, PageMap, TOMBSTONE_TOKEN, TRIMMED, UNMAPPED};
use crate::mapping::common::answer;
use layer::{Answer, PageOp, SnapshotError, SnapshotReader, SnapshotWriter};
use nand::{
    Cancel, Command, Completion, Flash, LawBroken, Outcome, PayloadId, Program, Read,
};
use units::{BlockId, Cause, Ppn};

/// Bytes of one entry of a tombstone: first page, count, sequence number.
const RANGE_BYTES: usize = 16;

/// Consecutive logical pages trimmed by one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub first: u32,
    pub count: u32,
    pub sequence: u64,
}

/// A trimmed page whose tombstone is not on flash yet.
#[derive(Clone, Copy, Debug)]
struct PendingPage {
    /// Where its last version (or its last tombstone) is; `UNMAPPED` once it was written again.
    old: u32,
    /// Number of the trim, to tell it from earlier ones of the same page still in the log.
    sequence: u64,
}

/// A tombstone page on flash or on its way there. Where chips may fail there are copies of it on other chips: map
/// entries name the first, which counts for all.
#[derive(Clone, Debug)]
struct Tombstone {
    page: u32,
    /// Logical pages that are trimmed by this one and not written since.
    live: u32,
    /// Programs under way: its own, and of the first those of the copies.
    waiting: u32,
    ranges: Vec<Range>,
    /// Pages whose blocks are held until this and its copies are durable.
    held: Vec<u32>,
    /// Slot of the first.
    first: u32,
    /// Of the first: slots of the others.
    copies: Vec<u32>,
}

/// Trims not yet logged, and tombstones.
#[derive(Clone, Debug)]
pub(super) struct TrimLog {
    pending: Vec<PendingPage>,
    ranges: Vec<Range>,
    tombstones: Vec<Option<Tombstone>>,
    live_pages: u64,
    capacity: usize,
    /// Copies of each tombstone besides itself.
    extra: u32,
    /// Pages whose blocks stay held until what is in the log now is on flash, because their own tombstone was lost.
    carried: Vec<u32>,
}

impl TrimLog {
    pub fn new(page_bytes: u32, extra: u32) -> Self {
        let capacity = page_bytes as usize / RANGE_BYTES;
        Self {
            pending: Vec::new(),
            ranges: Vec::new(),
            tombstones: Vec::new(),
            live_pages: 0,
            capacity,
            extra,
            carried: Vec::new(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    pub fn slots(&self) -> usize {
        self.tombstones.len()
    }

    /// Tombstones still needed whose page is one of these.
    pub fn slots_where(&self, is_one: impl Fn(BlockId) -> bool, geometry: &units::Geometry) -> Vec<u32> {
        let slots = (0..).zip(&self.tombstones).filter_map(|(slot, tombstone)| Some((slot, tombstone.as_ref()?)));
        let lost = slots.filter(|(_, tombstone)| tombstone.live > 0 && is_one(geometry.block_of(Ppn(tombstone.page))));
        lost.map(|(slot, _)| slot).collect()
    }

    /// Tombstone pages that are valid.
    pub fn live_pages(&self) -> u64 {
        self.live_pages
    }

    pub fn ram_bytes(&self) -> u64 {
        let ranges: usize = self.tombstones.iter().flatten().map(|t| t.ranges.len()).sum();
        ((ranges + self.ranges.len()) * RANGE_BYTES + self.pending.len() * 4) as u64
    }

    /// Compares the live counts with what the map says.
    pub fn check(&self, trimmed: &[u32]) -> Result<(), String> {
        for (slot, tombstone) in self.tombstones.iter().enumerate() {
            let first = tombstone.as_ref().map_or(slot, |tombstone| tombstone.first as usize);
            // A copy whose first is gone counts nothing any more.
            let (live, count) = (tombstone.as_ref().map_or(0, |t| t.live), trimmed[first]);
            if live != count && (slot == first || live != 0) {
                return Err(format!("tombstone {slot} counts {live} pages, the map names {count}"));
            }
        }
        Ok(())
    }

    fn add_range(&mut self, logical: u32, sequence: u64) {
        match self.ranges.last_mut() {
            Some(last) if last.first + last.count == logical && last.sequence == sequence => last.count += 1,
            _ => self.ranges.push(Range { first: logical, count: 1, sequence }),
        }
    }

    fn insert(&mut self, tombstone: Tombstone) -> u32 {
        let slot = self.tombstones.iter().position(Option::is_none).unwrap_or_else(|| {
            self.tombstones.push(None);
            self.tombstones.len() - 1
        });
        self.tombstones[slot] = Some(tombstone);
        slot as u32
    }

    fn at(&mut self, slot: u32) -> &mut Tombstone {
        self.tombstones[slot as usize].as_mut().expect("a map entry names a living tombstone")
    }

    /// Adds a tombstone, or a copy of the one in slot `first`.
    fn add(&mut self, page: Ppn, ranges: Vec<Range>, waiting: u32, first: Option<u32>) -> u32 {
        let tombstone = Tombstone { page: page.0, live: 0, waiting, ranges, held: Vec::new(), first: 0, copies: Vec::new() };
        let slot = self.insert(tombstone);
        self.at(slot).first = first.unwrap_or(slot);
        if let Some(first) = first {
            self.at(first).copies.push(slot);
            self.at(first).waiting += waiting;
        }
        slot
    }

    /// Takes a tombstone found on flash after a power cut; `first`: one with the same number found before.
    pub fn restore(&mut self, page: Ppn, ranges: Vec<Range>, first: Option<u32>) -> u32 {
        self.add(page, ranges, 0, first)
    }

    /// A tombstone and its copies.
    fn group(&mut self, slot: u32) -> Vec<u32> {
        let copies = self.at(slot).copies.iter().copied();
        std::iter::once(slot).chain(copies).collect()
    }

    /// Whether there are several of a tombstone.
    pub fn has_copies(&self, slot: u32) -> bool {
        self.tombstones[slot as usize].as_ref().is_some_and(|tombstone| tombstone.first != slot || !tombstone.copies.is_empty())
    }

    /// Counts one more trimmed page for a restored tombstone and its copies; those that count their first, by
    /// slot and page.
    pub fn revive(&mut self, slot: u32) -> Vec<(u32, Ppn)> {
        let mut revived = Vec::new();
        for slot in self.group(slot) {
            let tombstone = self.at(slot);
            tombstone.live += 1;
            if tombstone.live == 1 {
                revived.push((slot, Ppn(tombstone.page)));
                self.live_pages += 1;
            }
        }
        revived
    }

    /// Another tombstone, at a page `fits` accepts, with the trim of `logical` that `slot` holds.
    pub fn twin(&self, slot: u32, logical: u32, fits: impl Fn(u32) -> bool) -> Option<u32> {
        let names = |tombstone: &Tombstone| {
            let named = tombstone.ranges.iter().filter(|r| (r.first..r.first + r.count).contains(&logical));
            named.map(|range| range.sequence).max()
        };
        let wanted = self.tombstones[slot as usize].as_ref().and_then(names);
        let mut others = (0..).zip(&self.tombstones);
        let twin = others.find(|(slot, other)| {
            other.as_ref().is_some_and(|other| other.first == *slot && fits(other.page) && names(other) == wanted)
        });
        twin.map(|(slot, _)| slot)
    }

    /// Forgets restored tombstones that trim nothing.
    pub fn drop_dead(&mut self) {
        for slot in &mut self.tombstones {
            if slot.as_ref().is_some_and(|tombstone| tombstone.live == 0) {
                *slot = None;
            }
        }
    }

    pub fn save(&self, writer: &mut SnapshotWriter) {
        assert!(self.pending.is_empty(), "a drive is flushed before its state is saved");
        writer.put_u32("trims.slots", [self.tombstones.len() as u32].into_iter());
        for (slot, tombstone) in self.tombstones.iter().enumerate() {
            let Some(tombstone) = tombstone else { continue };
            assert!(tombstone.waiting == 0, "a drive is drained before its state is saved");
            let Tombstone { page, live, first, .. } = *tombstone;
            writer.put_u32("trims.head", [slot as u32, page, live, first].into_iter());
            let numbers = tombstone.ranges.iter().flat_map(|r| [u64::from(r.first), u64::from(r.count), r.sequence]);
            writer.put_u64("trims.ranges", numbers.collect::<Vec<_>>().into_iter());
        }
        writer.put_u32("trims.head", std::iter::empty());
    }

    pub fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let unfit = |problem: &str| SnapshotError::Unfit { section: "trims", problem: problem.to_owned() };
        let slots = reader.get_u32("trims.slots")?;
        let slots = slots.first().copied().ok_or_else(|| unfit("their number is missing"))? as usize;
        let mut tombstones = vec![None; slots];
        let mut live_pages = 0;
        loop {
            let head = reader.get_u32("trims.head")?;
            let &[slot, page, live, first] = head.as_slice() else { break };
            let ranges = reader.get_u64("trims.ranges")?;
            let ranges = ranges
                .chunks_exact(3)
                .map(|r| Range { first: r[0] as u32, count: r[1] as u32, sequence: r[2] })
                .collect();
            let place = tombstones.get_mut(slot as usize).ok_or_else(|| unfit("a slot is out of range"))?;
            let held = Vec::new();
            *place = Some(Tombstone { page, live, waiting: 0, ranges, held, first, copies: Vec::new() });
            live_pages += u64::from(live > 0);
        }
        for slot in 0..slots {
            let first = tombstones[slot].as_ref().map_or(slot, |tombstone: &Tombstone| tombstone.first as usize);
            if first != slot {
                let first = tombstones.get_mut(first).and_then(Option::as_mut);
                first.ok_or_else(|| unfit("the first of several is missing"))?.copies.push(slot as u32);
            }
        }
        (self.tombstones, self.live_pages) = (tombstones, live_pages);
        self.pending.clear();
        self.ranges.clear();
        Ok(())
    }
}

/// Writes ranges as a tombstone's record.
fn encode(ranges: &[Range]) -> Box<[u8]> {
    let bytes = ranges.iter().flat_map(|range| {
        let words = [range.first.to_le_bytes(), range.count.to_le_bytes()];
        words.into_iter().flatten().chain(range.sequence.to_le_bytes())
    });
    bytes.collect()
}

/// Reads a tombstone's record.
pub(super) fn decode(record: &[u8]) -> Vec<Range> {
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
    let ranges = record.chunks_exact(RANGE_BYTES).map(|entry| Range {
        first: word(&entry[..4]),
        count: word(&entry[4..8]),
        sequence: u64::from_le_bytes(entry[8..].try_into().expect("eight bytes")),
    });
    ranges.collect()
}

impl<S: Scheme> PageMap<S> {
    pub(super) fn submit_trim<F: Flash>(&mut self, flash: &mut F, op: &PageOp) -> Answer {
        let full = self.geometry.full_mask();
        let sequence = self.next_sequence();
        // Only looking entries up takes commands.
        let join = S::DEMAND.then(|| flash.open(op.owner, op.token, Cancel::Never));
        for index in 0..op.pages {
            let logical = op.first + index;
            // A trim is advice: a page trimmed in part keeps its contents.
            if op.mask_at(index, full) != full || self.map[logical as usize] >= TRIMMED {
                continue;
            }
            if !self.admits_trim(flash, logical) {
                self.starve(flash);
                let pending = join.is_some_and(|join| flash.close(join).0 != Outcome::Done);
                return Answer::Full { taken: index, pending };
            }
            if let Some(join) = join {
                self.translate(flash, op, index, join, true);
            }
            // Read only now: making room may have moved the page.
            let old = Ppn(self.map[logical as usize]);
            if !(op.kept && self.old.keep(logical, old.0)) {
                self.blocks.invalidate(old);
            }
            self.add_pending(flash, logical, old, sequence);
            self.trimmed_pages += 1;
        }
        join.map_or(Answer::Done { failed: false }, |join| answer(flash, join))
    }

    /// Sees to it that a trim can be noted and its map entry changed. `false`: no room now.
    #[inline]
    fn admits_trim<F: Flash>(&mut self, flash: &mut F, logical: u32) -> bool {
        let noted = self.trims.ranges.len() < self.trims.capacity || self.log_trims(flash, None);
        noted && self.admits_access(flash, logical)
    }

    /// Unmaps a page whose last version (or last tombstone) is at `old`, which stays held.
    fn add_pending<F: Flash>(&mut self, flash: &mut F, logical: u32, old: Ppn, sequence: u64) {
        if !flash.core().breaks(LawBroken::TrimHoldsOff) {
            flash.hold(self.geometry.block_of(old));
        }
        self.map[logical as usize] = TRIMMED | PENDING | self.trims.pending.len() as u32;
        self.trims.pending.push(PendingPage { old: old.0, sequence });
        self.trims.add_range(logical, sequence);
    }

    /// A trimmed page is written again: what the new version supersedes, and the block whose hold
    /// its program replaces.
    pub(super) fn leave_trim(&mut self, entry: u32) -> (Ppn, Option<BlockId>) {
        if entry & PENDING != 0 {
            let pending = &mut self.trims.pending[(entry & !(TRIMMED | PENDING)) as usize];
            let old = Ppn(std::mem::replace(&mut pending.old, UNMAPPED));
            return (old, Some(self.geometry.block_of(old)));
        }
        let slot = entry & !TRIMMED;
        let page = Ppn(self.trims.at(slot).page);
        self.bury(slot);
        (page, None)
    }

    /// One page fewer is trimmed by this tombstone and its copies; the last one makes their pages invalid.
    fn bury(&mut self, slot: u32) {
        let tombstone = self.trims.at(slot);
        tombstone.live -= 1;
        if tombstone.live > 0 {
            for index in 0..self.trims.at(slot).copies.len() {
                let copy = self.trims.at(slot).copies[index];
                self.trims.at(copy).live -= 1;
            }
            return;
        }
        let done = tombstone.waiting == 0;
        let copies = std::mem::take(&mut tombstone.copies);
        let page = Ppn(tombstone.page);
        self.blocks.invalidate(page);
        self.trims.live_pages -= 1;
        for copy in copies {
            let tombstone = self.trims.at(copy);
            tombstone.live = 0;
            let (page, done) = (Ppn(tombstone.page), tombstone.waiting == 0);
            self.blocks.invalidate(page);
            self.trims.live_pages -= 1;
            if done {
                self.trims.tombstones[copy as usize] = None;
            }
        }
        if done {
            self.trims.tombstones[slot as usize] = None;
        }
    }

    /// One page fewer is trimmed by a restored tombstone, which is kept for the rest of the recovery and has no
    /// copies.
    pub(super) fn bury_copy(&mut self, slot: u32) {
        let tombstone = self.trims.at(slot);
        tombstone.live -= 1;
        if tombstone.live == 0 {
            let page = Ppn(tombstone.page);
            self.blocks.invalidate(page);
            self.trims.live_pages -= 1;
        }
    }

    pub(super) fn submit_flush<F: Flash>(&mut self, flash: &mut F, op: &PageOp) -> Answer {
        let join = flash.open(op.owner, op.token, Cancel::Never);
        if !self.trims.is_empty() && !self.log_trims(flash, None) {
            self.starve(flash);
            let (outcome, _) = flash.close(join);
            return Answer::Full { taken: 0, pending: outcome != Outcome::Done };
        }
        flash.barrier(join);
        answer(flash, join)
    }

    /// Programs the trims gathered so far as tombstones: into the collecting plane `lane`, or
    /// wherever the host may write. `false`: no room now.
    pub(super) fn log_trims<F: Flash>(
        &mut self,
        flash: &mut F,
        lane: Option<usize>,
    ) -> bool {
        self.compact_log();
        while !self.trims.ranges.is_empty() {
            let page = match lane {
                // Broken up by later writes the log may need more than the collection was promised.
                Some(lane) => self.copy_page(lane, TRIMMED).or_else(|| self.page_elsewhere(lane, TRIMMED)),
                None => self.record_page(flash),
            };
            let Some(page) = page else { return false };
            self.program_tombstone(flash, page);
        }
        true
    }

    /// Drops from the log what was written again since: a tombstone must name a page once, with the
    /// number of its last trim, or a version between two trims would outlive the second.
    fn compact_log(&mut self) {
        let ranges = std::mem::take(&mut self.trims.ranges);
        for range in ranges {
            for logical in range.first..range.first + range.count {
                if self.is_pending(logical, range.sequence) {
                    self.trims.add_range(logical, range.sequence);
                }
            }
        }
        if self.trims.ranges.is_empty() {
            self.trims.pending.clear();
        }
    }

    /// Whether the last thing that happened to a page is the trim `sequence`, not logged yet.
    fn is_pending(&self, logical: u32, sequence: u64) -> bool {
        let entry = self.map[logical as usize];
        let pending = entry != UNMAPPED && entry & (TRIMMED | PENDING) == TRIMMED | PENDING;
        pending && self.trims.pending[(entry & !(TRIMMED | PENDING)) as usize].sequence == sequence
    }

    fn program_tombstone<F: Flash>(&mut self, flash: &mut F, page: Ppn) {
        let count = self.trims.ranges.len().min(self.trims.capacity);
        let rest = self.trims.ranges.split_off(count);
        let ranges = std::mem::replace(&mut self.trims.ranges, rest);
        let record = flash.core_mut().contents.as_deref_mut().map(|c| c.take_record(encode(&ranges)));
        let sequence = self.next_sequence();
        let slot = self.trims.add(page, ranges.clone(), 1, None);
        self.move_pending(slot);
        self.issue_tombstone(flash, page, slot, record, sequence);
        let mut dies = vec![self.geometry.die_of(self.geometry.block_of(page))];
        for _ in 0..self.trims.extra {
            let Some(first) = self.trims.tombstones[slot as usize].as_ref().map(|tombstone| tombstone.live) else { return };
            // Without room elsewhere there is one less.
            let Some(page) = self.record_page_off(&dies) else { return };
            dies.push(self.geometry.die_of(self.geometry.block_of(page)));
            let record = flash.core_mut().contents.as_deref_mut().map(|c| c.take_record(encode(&ranges)));
            let copy = self.trims.add(page, ranges.clone(), 1, Some(slot));
            self.trims.at(copy).live = first;
            self.issue_tombstone(flash, page, copy, record, sequence);
        }
    }

    /// A page for a record on a die that is none of these. Collects nothing.
    fn record_page_off(&mut self, dies: &[units::DieId]) -> Option<Ppn> {
        (0..self.order.len()).find_map(|index| {
            let lane = self.order[index];
            let die = units::DieId(lane / self.geometry.planes_per_die);
            if dies.contains(&die) { None } else { self.page_to_spare(lane as usize, TRIMMED) }
        })
    }

    /// Programs a tombstone or a copy of one.
    fn issue_tombstone<F: Flash>(&mut self, flash: &mut F, page: Ppn, slot: u32, record: Option<nand::RecordId>, sequence: u64) {
        self.back[page.index()] = TRIMMED | slot;
        if self.trims.at(slot).live > 0 {
            self.trims.live_pages += 1;
            self.blocks.validate(page);
        }
        let command = Command {
            page,
            supersedes: None,
            what: Program::Record(record),
            logical: UNMAPPED,
            sequence,
            cause: Cause::Metadata,
            completion: Completion::Notify(TOMBSTONE_TOKEN | slot),
            after: None,
        };
        let outcome = flash.program(self.owner, command);
        self.if_done_durable(flash, outcome, page, slot);
    }

    /// A tombstone whose program ended where it was issued is on flash, unless it failed there.
    pub(super) fn if_done_durable<F: Flash>(&mut self, flash: &mut F, outcome: Outcome, page: Ppn, slot: u32) {
        let done = flash.core().block(self.geometry.block_of(page)).done;
        if outcome == Outcome::Done && self.geometry.page_in_block(page) < u32::from(done) {
            self.tombstone_durable(flash, slot);
        }
    }

    /// The pages of the tombstone's ranges now point to it; it takes over their holds.
    fn move_pending(&mut self, slot: u32) {
        let ranges = self.trims.at(slot).ranges.clone();
        let (mut live, mut held) = (0, Vec::new());
        for range in &ranges {
            for logical in range.first..range.first + range.count {
                let entry = self.map[logical as usize];
                debug_assert!(self.is_pending(logical, range.sequence), "the log was compacted");
                let pending = &mut self.trims.pending[(entry & !(TRIMMED | PENDING)) as usize];
                held.push(std::mem::replace(&mut pending.old, UNMAPPED));
                self.map[logical as usize] = TRIMMED | slot;
                live += 1;
            }
        }
        if self.trims.ranges.is_empty() {
            self.trims.pending.clear();
            held.append(&mut self.trims.carried);
        }
        let tombstone = self.trims.at(slot);
        (tombstone.live, tombstone.held) = (live, held);
    }

    /// A tombstone is on flash: the pages it trims may go once its copies are as well.
    pub(super) fn tombstone_durable<F: Flash>(&mut self, flash: &mut F, slot: u32) {
        let tombstone = self.trims.at(slot);
        let first = tombstone.first;
        if first != slot {
            tombstone.waiting = 0;
            if tombstone.live == 0 {
                self.trims.tombstones[slot as usize] = None;
            }
        }
        let tombstone = self.trims.at(first);
        tombstone.waiting -= 1;
        if tombstone.waiting > 0 {
            return;
        }
        let dead = tombstone.live == 0;
        let held = std::mem::take(&mut tombstone.held);
        if dead {
            self.trims.tombstones[first as usize] = None;
        }
        if !flash.core().breaks(LawBroken::TrimHoldsOff) {
            for page in held {
                flash.release(self.geometry.block_of(Ppn(page)));
            }
        }
    }

    /// Collection reached a tombstone: what it still trims goes back to the log, which is written
    /// before the victim's erase can start because the victim is held.
    pub(super) fn relocate_tombstone<F: Flash>(&mut self, flash: &mut F, lane: usize, slot: u32) -> bool {
        if self.trims.ranges.len() >= self.trims.capacity && !self.log_trims(flash, Some(lane)) {
            return false;
        }
        let (page, ranges, slot) = {
            let tombstone = self.trims.at(slot);
            (Ppn(tombstone.page), tombstone.ranges.clone(), tombstone.first)
        };
        // It is on flash, though the event that says so may not have been handled yet.
        debug_assert!(
            self.geometry.page_in_block(page) < u32::from(flash.core().block(self.geometry.block_of(page)).done),
            "a victim is fully on flash"
        );
        let read = Read {
            page,
            cause: Cause::Metadata,
            sectors: self.geometry.sectors_per_page() as u8,
            payload: PayloadId::NONE,
            completion: None,
            after: None,
        };
        flash.read(self.owner, read);
        for range in ranges {
            for logical in range.first..range.first + range.count {
                if self.map[logical as usize] == TRIMMED | slot {
                    self.add_pending(flash, logical, page, range.sequence);
                    self.bury(slot);
                }
            }
        }
        true
    }

    /// A tombstone was lost with its die: what it still trims goes back to the log, which is written as soon as
    /// there is room.
    pub(super) fn log_again<F: Flash>(&mut self, flash: &mut F, slot: u32) {
        let Some(tombstone) = &mut self.trims.tombstones[slot as usize] else { return };
        let (page, ranges, slot) = (Ppn(tombstone.page), tombstone.ranges.clone(), tombstone.first);
        let held = std::mem::take(&mut self.trims.at(slot).held);
        self.trims.carried.extend(held);
        for range in ranges {
            for logical in range.first..range.first + range.count {
                if self.map[logical as usize] != TRIMMED | slot {
                    continue;
                }
                if self.trims.ranges.len() >= self.trims.capacity {
                    self.log_trims(flash, None);
                }
                self.add_pending(flash, logical, page, range.sequence);
                self.bury(slot);
            }
        }
        self.log_trims(flash, None);
    }

    /// Whether a trim not yet on flash holds `page`.
    pub(super) fn is_held(&self, page: Ppn) -> bool {
        let held = self.trims.tombstones.iter().flatten().flat_map(|tombstone| &tombstone.held);
        self.trims.pending.iter().map(|pending| &pending.old).chain(held).any(|held| *held == page.0)
    }

    /// The page of a held version moved because its program failed.
    pub(super) fn move_hold<F: Flash>(&mut self, flash: &mut F, from: Ppn, to: Ppn) {
        let pending = self.trims.pending.iter_mut().map(|pending| &mut pending.old);
        let held = self.trims.tombstones.iter_mut().flatten().flat_map(|tombstone| tombstone.held.iter_mut());
        if let Some(place) = pending.chain(held).find(|place| **place == from.0) {
            *place = to.0;
            flash.hold(self.geometry.block_of(to));
            flash.release(self.geometry.block_of(from));
        }
    }

    /// The page that holds what a trimmed page's map entry stands for: its tombstone, or the last
    /// version while the trim is not logged.
    pub(super) fn trimmed_page(&mut self, entry: u32) -> Ppn {
        if entry & PENDING != 0 {
            return Ppn(self.trims.pending[(entry & !(TRIMMED | PENDING)) as usize].old);
        }
        Ppn(self.trims.at(entry & !TRIMMED).page)
    }

    /// The tombstone in `slot` is programmed at another page.
    pub(super) fn move_tombstone(&mut self, slot: u32, to: Ppn) {
        let tombstone = self.trims.at(slot);
        let from = Ppn(std::mem::replace(&mut tombstone.page, to.0));
        let live = tombstone.live > 0;
        if live {
            self.blocks.invalidate(from);
            self.blocks.validate(to);
        }
    }
}
