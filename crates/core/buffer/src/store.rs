//! Where buffered pages are: slots, found by logical page, counted by area and logical block.

use crate::parameters::{Area, Shape};
use layer::Slots;
use nand::{Memory, NvramId, Owner, PayloadId};
use units::Lpn;

/// No slot. Tables hold numbers one higher, so that an untouched table is all zeros and takes no memory.
pub(crate) const NONE: u32 = u32::MAX;

/// The use of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The same as on flash.
    Clean,
    /// Newer than on flash.
    Dirty,
    /// A read with this number will bring its contents.
    Filling(u32),
    /// In a write-back, not given to the layer below yet.
    Queued,
    /// Given to the layer below.
    Leaving,
}

/// A buffered page, or one on its way to flash.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub logical: Lpn,
    /// Sectors held, bit by bit.
    pub mask: u64,
    pub payload: PayloadId,
    pub state: State,
    /// The write-back it is part of.
    pub job: u32,
    /// On its way: an earlier version that must be on flash first.
    pub older: u32,
    /// On its way: the version that waits for this one.
    pub newer: u32,
    /// Only read to complete a block.
    pub is_padding: bool,
    pub place: Option<NvramId>,
}

impl Slot {
    /// A page in its area.
    fn dirty(logical: Lpn, mask: u64, payload: PayloadId) -> Self {
        let state = State::Dirty;
        Self { logical, mask, payload, state, job: NONE, older: NONE, newer: NONE, is_padding: false, place: None }
    }
}

#[derive(Debug)]
pub(crate) struct Store {
    pub shape: Shape,
    slots: Slots<Slot>,
    /// Slot of each logical page in each area, plus one.
    table: [Vec<u32>; 2],
    /// Newest slot of each logical page on its way, plus one.
    away: Vec<u32>,
    /// Pages of each logical block in each area.
    held: [Vec<u32>; 2],
    /// Logical blocks with pages in each area, a bit each.
    occupied: [Vec<u64>; 2],
    /// Room taken in each area, pages: what is held and what is on its way.
    used: [u32; 2],
    /// Pages on their way, by area.
    leaving: [u32; 2],
    /// Whether what is held outlives a power cut.
    pub nonvolatile: bool,
    /// To whom the pages in non-volatile memory belong.
    owner: Owner,
}

impl Store {
    pub fn new(shape: Shape, nonvolatile: bool, owner: Owner) -> Self {
        let pages = shape.user_pages as usize;
        let blocks = shape.blocks() as usize;
        let table = |area: Area| if shape.pages[area.index()] > 0 { vec![0; pages] } else { Vec::new() };
        let held = |area: Area| if shape.pages[area.index()] > 0 { vec![0; blocks] } else { Vec::new() };
        Self {
            shape,
            slots: Slots::default(),
            table: Area::ALL.map(table),
            away: vec![0; pages],
            held: Area::ALL.map(held),
            occupied: Area::ALL.map(|area| vec![0; held(area).len().div_ceil(64)]),
            used: [0; 2],
            leaving: [0; 2],
            nonvolatile,
            owner,
        }
    }

    #[inline]
    pub fn slot(&self, slot: u32) -> &Slot {
        self.slots.at(slot)
    }

    #[inline]
    pub fn slot_mut(&mut self, slot: u32) -> &mut Slot {
        self.slots.at_mut(slot)
    }

    /// Brings what is looked up for a page into the processor's cache.
    #[inline]
    pub fn prefetch(&self, logical: Lpn) {
        for table in &self.table {
            units::prefetch(table, logical.index());
        }
        let block = self.shape.block_of(logical) as usize;
        for held in &self.held {
            units::prefetch(held, block);
        }
        units::prefetch(&self.away, logical.index());
    }

    /// The slot of a page in an area.
    #[inline]
    pub fn find(&self, area: Area, logical: Lpn) -> Option<u32> {
        let slot = self.table[area.index()].get(logical.index()).copied().unwrap_or(0);
        (slot > 0).then(|| slot - 1)
    }

    /// The newest slot of a page on its way to flash.
    #[inline]
    pub fn away(&self, logical: Lpn) -> Option<u32> {
        let slot = self.away[logical.index()];
        (slot > 0).then(|| slot - 1)
    }

    /// Pages of a logical block in an area.
    #[inline]
    pub fn held(&self, area: Area, block: u32) -> u32 {
        self.held[area.index()].get(block as usize).copied().unwrap_or(0)
    }

    /// Pages on their way whose room a page of this area can take.
    #[inline]
    pub fn leaving(&self, area: Area) -> u32 {
        if self.shape.shared { self.leaving.iter().sum() } else { self.leaving[area.index()] }
    }

    /// Whether these pages of one logical block fit, as far as the area does not have them.
    #[inline]
    pub fn has_room(&self, area: Area, first: Lpn, pages: u32) -> bool {
        let charge = if self.by_frame(area) {
            let block = self.shape.block_of(first);
            if self.held(area, block) > 0 { 0 } else { self.shape.block_pages }
        } else {
            (first.0..first.0 + pages).filter(|logical| self.find(area, Lpn(*logical)).is_none()).count() as u32
        };
        let used = if self.shape.shared { self.used.iter().sum() } else { self.used[area.index()] };
        used + charge <= self.shape.pages[area.index()]
    }

    /// Room taken and pages on their way: a victim changes this.
    pub fn taken(&self) -> ([u32; 2], [u32; 2]) {
        (self.used, self.leaving)
    }

    /// Pages of an area that are newer than those below.
    pub fn dirty(&self, area: Area) -> u64 {
        self.pages(area).filter(|slot| self.slot(*slot).state == State::Dirty).count() as u64
    }

    fn by_frame(&self, area: Area) -> bool {
        area == Area::Blocks && self.shape.frames
    }

    fn new_slot(&mut self, memory: &mut Memory, logical: Lpn) -> u32 {
        let payload = memory.payloads.take(1, 0);
        self.slots.insert(Slot::dirty(logical, 0, payload))
    }

    /// A new slot for a page that has none in this area.
    #[inline]
    pub fn insert(&mut self, memory: &mut Memory, area: Area, logical: Lpn) -> u32 {
        let slot = self.new_slot(memory, logical);
        self.enter(area, logical, slot);
        slot
    }

    fn enter(&mut self, area: Area, logical: Lpn, slot: u32) {
        debug_assert!(self.find(area, logical).is_none(), "page {logical} is in {area:?} twice");
        let block = self.shape.block_of(logical);
        let held = &mut self.held[area.index()][block as usize];
        *held += 1;
        let first = *held == 1;
        if first {
            self.occupied[area.index()][block as usize / 64] |= 1 << (block % 64);
        }
        self.table[area.index()][logical.index()] = slot + 1;
        self.used[area.index()] += match self.by_frame(area) {
            false => 1,
            true if first => self.shape.block_pages,
            true => 0,
        };
    }

    /// A page is not in an area any more; `true`: its logical block has none left.
    #[inline]
    fn leave(&mut self, area: Area, logical: Lpn) -> bool {
        debug_assert!(self.find(area, logical).is_some(), "page {logical} leaves {area:?}, where it is not");
        let block = self.shape.block_of(logical);
        self.table[area.index()][logical.index()] = 0;
        let held = &mut self.held[area.index()][block as usize];
        *held -= 1;
        if *held > 0 {
            return false;
        }
        self.occupied[area.index()][block as usize / 64] &= !(1 << (block % 64));
        true
    }

    /// The first logical block from `block` on that has pages in an area.
    pub fn next_occupied(&self, area: Area, block: u32) -> Option<u32> {
        let words = &self.occupied[area.index()];
        let at = block as usize / 64;
        let first = words.get(at).map(|word| word & (u64::MAX << (block % 64)));
        let rest = words.iter().skip(at + 1).copied();
        let (skipped, word) = first.into_iter().chain(rest).enumerate().find(|(_, word)| *word > 0)?;
        Some((at + skipped) as u32 * 64 + word.trailing_zeros())
    }

    /// Writes sectors of a payload into a slot.
    #[inline]
    pub fn put(&mut self, memory: &mut Memory, area: Area, slot: u32, mask: u64, payload: PayloadId) {
        let (nonvolatile, owner) = (self.nonvolatile, self.owner);
        let entry = self.slots.at_mut(slot);
        if entry.state != State::Dirty && entry.state != State::Clean {
            entry.mask = 0; // what was to be read does not count any more
        }
        entry.mask |= mask;
        entry.state = State::Dirty;
        if entry.payload == PayloadId::NONE {
            return;
        }
        if payload == PayloadId::NONE {
            // Zeros: what a trim leaves in memory that must not forget.
            memory.payloads.clear(entry.payload, self.shape.full_mask);
        } else {
            memory.payloads.copy(payload, entry.payload, mask);
        }
        memory.payloads.set_mask(entry.payload, entry.mask);
        if !nonvolatile {
            return;
        }
        match entry.place {
            Some(place) => memory.nvram.set_mask(place, entry.mask),
            None => {
                entry.place =
                    Some(memory.nvram.insert(owner, entry.logical.0, entry.mask, entry.payload, area.index() as u64));
            }
        }
    }

    /// Takes a page out of an area: from now on it is on its way, and its room stays taken.
    pub fn detach(&mut self, area: Area, slot: u32, job: u32) {
        let logical = self.slots.at(slot).logical;
        self.leave(area, logical);
        self.leaving[area.index()] += 1;
        self.send(slot, job);
    }

    /// Moves a page from the area for pages to the one for blocks, which does not have it. Nothing is copied.
    pub fn move_to_blocks(&mut self, memory: &mut Memory, slot: u32) {
        let Slot { logical, place, .. } = *self.slots.at(slot);
        self.leave(Area::Pages, logical);
        self.used[Area::Pages.index()] -= 1;
        self.enter(Area::Blocks, logical, slot);
        if let Some(place) = place {
            memory.nvram.set_note(place, Area::Blocks.index() as u64);
        }
    }

    /// A slot only for completing a block.
    pub fn insert_padding(&mut self, memory: &mut Memory, logical: Lpn, job: u32) -> u32 {
        let slot = self.new_slot(memory, logical);
        let entry = self.slots.at_mut(slot);
        (entry.is_padding, entry.state, entry.job) = (true, State::Queued, job);
        slot
    }

    /// Puts a page on its way back into its area. It is the only version of its page on its way. Its area has no
    /// frames: the page is older than the one that the area for blocks has.
    pub fn take_back(&mut self, area: Area, slot: u32) {
        let takes_frame = self.by_frame(area);
        let entry = self.slots.at_mut(slot);
        let logical = entry.logical;
        assert!(entry.older == NONE && entry.newer == NONE, "another version of page {logical} is on its way");
        assert!(!takes_frame, "page {logical} is older than another one, and takes a frame");
        (entry.state, entry.job) = (State::Dirty, NONE);
        self.away[logical.index()] = 0;
        self.leaving[area.index()] -= 1;
        self.used[area.index()] -= 1;
        self.enter(area, logical, slot);
    }

    fn send(&mut self, slot: u32, job: u32) {
        let logical = self.slots.at(slot).logical;
        let older = self.away(logical).unwrap_or(NONE);
        debug_assert!(older != slot, "page {logical} is on its way already");
        let entry = self.slots.at_mut(slot);
        (entry.state, entry.job, entry.older) = (State::Queued, job, older);
        if older != NONE {
            self.slots.at_mut(older).newer = slot;
        }
        self.away[logical.index()] = slot + 1;
    }

    /// A page on its way is on flash, or its program is no longer needed; its room is free, but for frames.
    pub fn arrive(&mut self, memory: &mut Memory, area: Area, slot: u32) {
        let Slot { logical, newer, is_padding, .. } = *self.slots.at(slot);
        if !is_padding {
            if self.away[logical.index()] == slot + 1 {
                self.away[logical.index()] = 0;
            }
            if newer != NONE {
                self.slots.at_mut(newer).older = NONE;
            }
            self.leaving[area.index()] -= 1;
            if !self.by_frame(area) {
                self.used[area.index()] -= 1;
            }
        }
        self.release(memory, slot);
    }

    /// The frame of a block whose pages have all left is free.
    pub fn release_frame(&mut self, area: Area) {
        if self.by_frame(area) {
            self.used[area.index()] -= self.shape.block_pages;
        }
    }

    /// Forgets a page in an area.
    pub fn drop_page(&mut self, memory: &mut Memory, area: Area, slot: u32) {
        let logical = self.slots.at(slot).logical;
        let last = self.leave(area, logical);
        self.used[area.index()] -= match self.by_frame(area) {
            false => 1,
            true if last => self.shape.block_pages,
            true => 0,
        };
        self.release(memory, slot);
    }

    #[inline]
    fn release(&mut self, memory: &mut Memory, slot: u32) {
        let entry = self.slots.remove(slot);
        if let Some(place) = entry.place {
            memory.nvram.remove(place);
        }
        memory.payloads.release(entry.payload, 1);
    }

    /// Takes over a page that non-volatile memory held through a power cut.
    pub fn adopt(&mut self, area: Area, page: &nand::NvramPage, place: NvramId) -> u32 {
        let slot = Slot { place: Some(place), ..Slot::dirty(Lpn(page.logical), page.mask, page.payload) };
        let slot = self.slots.insert(slot);
        self.enter(area, Lpn(page.logical), slot);
        slot
    }

    /// Takes a page from a snapshot.
    pub fn restore(&mut self, area: Area, logical: Lpn, mask: u64) {
        let slot = self.slots.insert(Slot::dirty(logical, mask, PayloadId::NONE));
        self.enter(area, logical, slot);
    }

    /// The layer below has newer sectors than the version of a page on its way there: reads find them below.
    pub fn outdate(&mut self, logical: Lpn, mask: u64) {
        if let Some(slot) = self.away(logical) {
            self.slots.at_mut(slot).mask &= !mask;
        }
    }

    /// Takes sectors away from a page; `true`: none are left.
    pub fn take_sectors(&mut self, memory: &mut Memory, slot: u32, mask: u64) -> bool {
        let entry = self.slots.at_mut(slot);
        entry.mask &= !mask;
        let rest = entry.mask;
        memory.payloads.set_mask(entry.payload, rest);
        rest == 0
    }

    /// Slots of a logical block in an area, by page.
    pub fn of_block(&self, area: Area, block: u32) -> impl Iterator<Item = u32> + use<'_> {
        self.shape.pages_of(block).filter_map(move |logical| self.find(area, logical))
    }

    /// Pages held in an area, by logical page.
    pub fn pages(&self, area: Area) -> impl Iterator<Item = u32> + use<'_> {
        self.table[area.index()].iter().filter(|slot| **slot > 0).map(|slot| slot - 1)
    }

    /// Room taken in an area, pages.
    pub fn used(&self, area: Area) -> u32 {
        self.used[area.index()]
    }

    /// Checks counts against tables.
    ///
    /// # Errors
    /// The disagreement, in words.
    pub fn check(&self) -> Result<(), String> {
        for area in Area::ALL {
            let mut held = vec![0_u32; self.held[area.index()].len()];
            let mut count = 0;
            for slot in self.pages(area) {
                let Slot { logical, state, mask, .. } = *self.slot(slot);
                if self.find(area, logical) != Some(slot) || mask == 0 && !matches!(state, State::Filling(_)) {
                    return Err(format!(
                        "page {logical} in {area:?} has slot {slot}, which holds no sectors or is another's"
                    ));
                }
                held[self.shape.block_of(logical) as usize] += 1;
                count += 1;
            }
            if held.iter().zip(&self.held[area.index()]).any(|(found, counted)| found != counted) {
                return Err(format!("pages of a logical block in {area:?} are miscounted"));
            }
            let occupied = |block: usize| self.occupied[area.index()][block / 64] >> (block % 64) & 1 == 1;
            if (0..held.len()).any(|block| occupied(block) != (held[block] > 0)) {
                return Err(format!("logical blocks with pages in {area:?} are not those that have any"));
            }
            let (used, leaving) = (self.used[area.index()], self.leaving[area.index()]);
            if !self.by_frame(area) && used != count + leaving {
                return Err(format!("{area:?} counts {used} pages, and has {count} with {leaving} on their way"));
            }
        }
        if self.shape.shared && self.used.iter().sum::<u32>() > self.shape.room() {
            return Err(format!("both areas have {:?} pages in a room for {}", self.used, self.shape.room()));
        }
        Ok(())
    }
}
