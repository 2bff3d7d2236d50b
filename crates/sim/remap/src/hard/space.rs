//! The map both ways and the list of virtual superpages.

use super::disk::NOWHERE;
use super::{Layout, Options, Start, Work};
use crate::shell::host::Host;
use std::ops::RangeInclusive;
use units::HostOp;

/// The state of a virtual superpage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing refers to it, on the device neither: it may be written.
    Free,
    /// Pages are put into it.
    Open,
    /// It is full or closed, and a write of it is not completed in its turn.
    Writing,
    /// It is on the device.
    Used,
    /// Its valid pages are being copied.
    Victim,
    /// It has no valid page, but the map on the device may still lead to it, or it is being read.
    Empty,
    /// The device is being told that it is free.
    Trimming,
    /// A write of it failed: it is not used again.
    Aside,
}

#[derive(Clone, Copy, Debug)]
struct Superpage {
    state: State,
    /// Whether it is in the list of its number of valid pages.
    listed: bool,
    /// A write of it failed.
    bad: bool,
    /// Slots that hold the newest version of a page.
    valid: u16,
    /// Pages that moved away by records that are not durable.
    leaving: u16,
    previous: u32,
    next: u32,
}

/// Ends of a list of virtual superpages with the same number of valid pages, oldest first.
#[derive(Clone, Copy, Debug)]
struct Ends {
    first: u32,
    last: u32,
}

#[derive(Debug)]
pub(super) struct Space {
    /// Virtual page of each page.
    map: Vec<u32>,
    /// Page that each virtual page was written for.
    back: Vec<u32>,
    superpages: Vec<Superpage>,
    /// Full of how many valid pages, and its list.
    lists: Vec<Ends>,
    free: FreeSet,
    pub empty: u32,
    pub aside: u32,
    /// Pages that are mapped.
    pub mapped: u32,
    slots: u32,
    layout: Layout,
    /// The device is told which ones are free.
    trims: bool,
}

impl Space {
    /// The pages that a fresh drive maps.
    pub fn fresh(layout: &Layout, options: &Options) -> Self {
        let map = match layout.start {
            Start::Empty => vec![NOWHERE; layout.pages as usize],
            Start::Identity => (0..layout.pages).collect(),
        };
        Self::of(map, layout, options).expect("the first map is sound")
    }

    /// Counts, states and lists that a map alone makes; `None` if two pages share a virtual page, or one is out of
    /// range.
    pub fn of(map: Vec<u32>, layout: &Layout, options: &Options) -> Option<Self> {
        let superpage = Superpage {
            state: State::Free,
            listed: false,
            bad: false,
            valid: 0,
            leaving: 0,
            previous: NOWHERE,
            next: NOWHERE,
        };
        let mut space = Self {
            map,
            back: vec![NOWHERE; (layout.superpages * layout.slots()) as usize],
            superpages: vec![superpage; layout.superpages as usize],
            lists: vec![Ends { first: NOWHERE, last: NOWHERE }; layout.slots() as usize + 1],
            free: FreeSet::new(layout.superpages),
            empty: 0,
            aside: 0,
            mapped: 0,
            slots: layout.slots(),
            layout: *layout,
            trims: options.trim,
        };
        for (page, place) in (0..).zip(&space.map).filter(|(_, place)| **place != NOWHERE) {
            match space.back.get_mut(*place as usize) {
                Some(back) if *back == NOWHERE => *back = page,
                _ => return None,
            }
            space.mapped += 1;
            space.superpages[(place / space.slots) as usize].valid += 1;
        }
        for number in 0..layout.superpages {
            if space.superpages[number as usize].valid > 0 {
                space.free.remove(number);
                space.superpages[number as usize].state = State::Used;
                space.list(number);
            }
        }
        Some(space)
    }

    /// The virtual page of each page.
    pub fn map(&self) -> &[u32] {
        &self.map
    }

    /// The page that a virtual page was written for.
    pub fn page_of(&self, place: u32) -> u32 {
        self.back[place as usize]
    }

    /// Whether this is the newest version of a page.
    pub fn is_valid(&self, place: u32) -> bool {
        let page = self.back[place as usize];
        page != NOWHERE && self.map[page as usize] == place
    }

    pub fn state(&self, number: u32) -> State {
        self.superpages[number as usize].state
    }

    pub fn valid(&self, number: u32) -> u32 {
        u32::from(self.superpages[number as usize].valid)
    }

    pub fn free(&self) -> u32 {
        self.free.count
    }

    /// The next free one in ascending order, from the beginning again after the last.
    pub fn take(&mut self) -> Option<u32> {
        let number = self.free.next()?;
        self.free.remove(number);
        self.superpages[number as usize].state = State::Open;
        Some(number)
    }

    /// Maps a page to a slot that was just filled; where it was before.
    pub fn place(&mut self, page: u32, place: u32) -> u32 {
        let old = std::mem::replace(&mut self.map[page as usize], place);
        self.back[place as usize] = page;
        self.superpages[(place / self.slots) as usize].valid += 1;
        if old == NOWHERE {
            self.mapped += 1;
        } else {
            self.leave(old);
        }
        old
    }

    /// Maps a page to nothing; where it was before.
    pub fn unmap(&mut self, page: u32) -> u32 {
        let old = std::mem::replace(&mut self.map[page as usize], NOWHERE);
        if old != NOWHERE {
            self.mapped -= 1;
            self.leave(old);
        }
        old
    }

    fn leave(&mut self, old: u32) {
        let number = old / self.slots;
        let listed = self.unlist(number);
        self.superpages[number as usize].valid -= 1;
        self.superpages[number as usize].leaving += 1;
        if listed && self.superpages[number as usize].valid > 0 {
            self.list(number);
        }
        // It cannot become free now: the record of this very page is not durable.
        self.note_empty(number);
    }

    /// The record by which a page left this virtual page is durable.
    pub fn left(&mut self, host: &mut Host<Work>, old: u32) {
        let number = old / self.slots;
        self.superpages[number as usize].leaving -= 1;
        self.settle(host, number);
    }

    /// A record leads away from another virtual page than was thought.
    pub fn leaves_instead(&mut self, from: u32, instead: u32) {
        self.superpages[(from / self.slots) as usize].leaving -= 1;
        self.superpages[(instead / self.slots) as usize].leaving += 1;
    }

    /// A page is written to another slot because its write failed.
    pub fn relocate(&mut self, page: u32, from: u32, to: u32) {
        self.back[to as usize] = page;
        if self.map[page as usize] == from {
            self.map[page as usize] = to;
            self.superpages[(from / self.slots) as usize].valid -= 1;
            self.superpages[(to / self.slots) as usize].valid += 1;
        }
    }

    pub fn set_bad(&mut self, number: u32) {
        self.superpages[number as usize].bad = true;
    }

    /// It takes no more pages, and its last write is under way.
    pub fn close(&mut self, number: u32) {
        self.superpages[number as usize].state = State::Writing;
    }

    /// All its writes are completed.
    pub fn written(&mut self, host: &mut Host<Work>, number: u32) {
        self.superpages[number as usize].state = State::Used;
        self.relist(host, number);
    }

    /// It is written in place.
    pub fn rewrite(&mut self, number: u32) {
        self.unlist(number);
        self.superpages[number as usize].state = State::Writing;
    }

    /// Takes the one with the fewest valid pages, if it has fewer than it could have.
    pub fn victim(&mut self) -> Option<u32> {
        let number = self.best_victim()?;
        self.unlist(number);
        self.superpages[number as usize].state = State::Victim;
        Some(number)
    }

    /// The one with the fewest valid pages, if it has fewer than it could have.
    pub fn best_victim(&self) -> Option<u32> {
        let full = self.slots as usize;
        self.lists[..full].iter().map(|ends| ends.first).find(|first| *first != NOWHERE)
    }

    /// A victim's copies are placed, or given up: it is not chosen again where it could not be read.
    pub fn copied(&mut self, host: &mut Host<Work>, number: u32, readable: bool) {
        self.superpages[number as usize].state = State::Used;
        if readable { self.relist(host, number) } else { self.settle(host, number) }
    }

    /// The virtual superpages of these sectors of the device.
    pub fn superpages_of(&self, first_sector: u64, sectors: u32) -> RangeInclusive<u32> {
        let (first, size) = (first_sector - self.layout.data_sector(), u64::from(self.layout.superpage_sectors));
        (first / size) as u32..=((first + u64::from(sectors) - 1) / size) as u32
    }

    pub fn trimmed(&mut self, number: u32) {
        self.superpages[number as usize].state = State::Free;
        self.free.insert(number);
    }

    fn relist(&mut self, host: &mut Host<Work>, number: u32) {
        if self.superpages[number as usize].valid > 0 && !self.superpages[number as usize].bad {
            self.list(number);
        }
        self.settle(host, number);
    }

    fn note_empty(&mut self, number: u32) {
        let superpage = &mut self.superpages[number as usize];
        if superpage.state == State::Used && superpage.valid == 0 {
            superpage.state = State::Empty;
            self.empty += 1;
        }
    }

    /// Looks whether nothing refers to it any more, and nobody reads it: then it is free.
    pub fn settle(&mut self, host: &mut Host<Work>, number: u32) {
        self.note_empty(number);
        let superpage = &mut self.superpages[number as usize];
        let (sector, sectors) = (self.layout.sector_of_page(number * self.slots), self.layout.superpage_sectors);
        if superpage.state != State::Empty || superpage.leaving > 0 || host.is_read(sector, sectors) {
            return;
        }
        self.empty -= 1;
        if superpage.bad {
            superpage.state = State::Aside;
            self.aside += 1;
        } else if self.trims && !host.is_broken() {
            superpage.state = State::Trimming;
            host.send(Work::Trim(number), HostOp::Trim, sector, sectors);
        } else {
            superpage.state = State::Free;
            self.free.insert(number);
        }
    }

    fn list(&mut self, number: u32) {
        let count = self.superpages[number as usize].valid as usize;
        let last = self.lists[count].last;
        let superpage = &mut self.superpages[number as usize];
        (superpage.listed, superpage.previous, superpage.next) = (true, last, NOWHERE);
        if last == NOWHERE {
            self.lists[count].first = number;
        } else {
            self.superpages[last as usize].next = number;
        }
        self.lists[count].last = number;
    }

    fn unlist(&mut self, number: u32) -> bool {
        let Superpage { listed, valid, previous, next, .. } = self.superpages[number as usize];
        if !listed {
            return false;
        }
        self.superpages[number as usize].listed = false;
        let ends = &mut self.lists[valid as usize];
        if previous == NOWHERE {
            ends.first = next;
        } else {
            self.superpages[previous as usize].next = next;
        }
        if next == NOWHERE {
            self.lists[valid as usize].last = previous;
        } else {
            self.superpages[next as usize].previous = previous;
        }
        true
    }

    /// Bytes that the tables take.
    pub fn ram_bytes(&self) -> u64 {
        let tables = self.map.len() * 4 + self.back.len() * 4 + self.superpages.len() * size_of::<Superpage>();
        (tables + self.free.words.len() * 8 + self.free.summary.len() * 8) as u64
    }

    /// Whether map, reverse map, counts, states and lists agree.
    /// Errors: the part that does not.
    pub fn check(&self) -> Result<(), String> {
        let mut valid = vec![0; self.superpages.len()];
        let mut mapped = 0;
        for (page, place) in self.map.iter().enumerate().filter(|(_, place)| **place != NOWHERE) {
            if self.back[*place as usize] != page as u32 {
                return Err(format!(
                    "page {page} is mapped to {place}, which was written for {}",
                    self.back[*place as usize]
                ));
            }
            valid[(place / self.slots) as usize] += 1;
            mapped += 1;
        }
        if mapped != self.mapped {
            return Err(format!("{mapped} pages are mapped, counted {}", self.mapped));
        }
        for (number, superpage) in self.superpages.iter().enumerate() {
            let free = self.free.has(number as u32);
            let right = match superpage.state {
                State::Free => superpage.valid == 0 && superpage.leaving == 0 && free && !superpage.bad,
                State::Empty => superpage.valid == 0 && !superpage.listed,
                State::Aside | State::Trimming => superpage.valid == 0 && superpage.leaving == 0,
                State::Used => superpage.valid > 0,
                State::Open | State::Writing | State::Victim => !superpage.listed,
            };
            if !right || superpage.valid != valid[number] || free != (superpage.state == State::Free) {
                return Err(format!("virtual superpage {number} is {superpage:?} with {} valid pages", valid[number]));
            }
        }
        let count = |state| self.superpages.iter().filter(|superpage| superpage.state == state).count() as u32;
        let counts = [(State::Free, self.free.count), (State::Empty, self.empty), (State::Aside, self.aside)];
        match counts.into_iter().find(|(state, counted)| count(*state) != *counted) {
            Some((state, counted)) => {
                Err(format!("{} virtual superpages are {state:?}, counted {counted}", count(state)))
            }
            None => Ok(()),
        }
    }
}

/// A set of numbers with a cursor: bits, and a bit for each word that has any.
#[derive(Debug)]
struct FreeSet {
    words: Vec<u64>,
    summary: Vec<u64>,
    cursor: u32,
    count: u32,
}

impl FreeSet {
    fn new(count: u32) -> Self {
        let words = count.div_ceil(64) as usize;
        let mut set = Self { words: vec![0; words], summary: vec![0; words.div_ceil(64)], cursor: 0, count: 0 };
        (0..count).for_each(|number| set.insert(number));
        set
    }

    fn has(&self, number: u32) -> bool {
        self.words[number as usize / 64] >> (number % 64) & 1 == 1
    }

    fn insert(&mut self, number: u32) {
        let word = number as usize / 64;
        self.words[word] |= 1 << (number % 64);
        self.summary[word / 64] |= 1 << (word % 64);
        self.count += 1;
    }

    fn remove(&mut self, number: u32) {
        let word = number as usize / 64;
        self.words[word] &= !(1 << (number % 64));
        if self.words[word] == 0 {
            self.summary[word / 64] &= !(1 << (word % 64));
        }
        self.count -= 1;
    }

    /// The first number at or behind the cursor, which moves behind it.
    fn next(&mut self) -> Option<u32> {
        let found = self.from(self.cursor).or_else(|| self.from(0))?;
        self.cursor = found + 1;
        Some(found)
    }

    fn from(&self, number: u32) -> Option<u32> {
        let word = number as usize / 64;
        let bits = self.words.get(word)? & (u64::MAX << (number % 64));
        if bits != 0 {
            return Some((word * 64) as u32 + bits.trailing_zeros());
        }
        let next = word + 1;
        let first = self.summary.get(next / 64)? & (u64::MAX << (next % 64));
        let behind = self.summary.iter().enumerate().skip(next / 64 + 1).map(|(at, bits)| (at, *bits));
        let (at, bits) = std::iter::once((next / 64, first)).chain(behind).find(|(_, bits)| *bits != 0)?;
        let word = at * 64 + bits.trailing_zeros() as usize;
        Some((word * 64) as u32 + self.words[word].trailing_zeros())
    }
}
