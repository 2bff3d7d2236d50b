//! A unit: the groups of one translation page. It is in memory as a whole or not at all.

use super::group::{Answer, Census, Group, PLAIN_BYTES};
use super::learn::{Point, Workshop};
use super::segment::GROUP_SHIFT;
use units::Lpn;

/// Bytes of a group besides its segments: where they are, how many, and how many levels.
const GROUP_BYTES: u32 = 8;
/// Bytes of an exact entry: a logical and a flash page.
pub(super) const ENTRY_BYTES: u32 = 8;

/// Exact entries in order of their logical pages.
#[derive(Clone, Debug, Default)]
pub(super) struct Entries {
    list: Vec<(Lpn, u32)>,
}

impl Entries {
    pub fn with_capacity(entries: usize) -> Self {
        Self { list: Vec::with_capacity(entries) }
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn as_slice(&self) -> &[(Lpn, u32)] {
        &self.list
    }

    #[inline]
    pub fn get(&self, logical: Lpn) -> Option<u32> {
        let place = self.place(logical).ok()?;
        Some(self.list[place].1)
    }

    /// Adds or changes an entry; `true`: it is new.
    pub fn set(&mut self, logical: Lpn, at: u32) -> bool {
        match self.place(logical) {
            Ok(place) => self.list[place].1 = at,
            Err(place) => {
                self.list.insert(place, (logical, at));
                return true;
            }
        }
        false
    }

    /// Removes an entry; `true`: it was there.
    pub fn remove(&mut self, logical: Lpn) -> bool {
        let place = self.place(logical);
        place.is_ok_and(|place| self.list.remove(place).0 == logical)
    }

    /// Where the entries of these logical pages are in the list.
    pub fn within(&self, pages: &std::ops::Range<u32>) -> std::ops::Range<usize> {
        let place = |logical: Lpn| self.list.partition_point(|entry| entry.0 < logical);
        place(Lpn(pages.start))..place(Lpn(pages.end))
    }

    pub fn drop_within(&mut self, places: std::ops::Range<usize>) {
        self.list.drain(places);
    }

    #[inline]
    fn place(&self, logical: Lpn) -> Result<usize, usize> {
        match self.list.last() {
            Some(last) if last.0 < logical => Err(self.list.len()),
            _ => self.list.binary_search_by_key(&logical, |entry| entry.0),
        }
    }
}

/// See the module description.
#[derive(Clone, Debug, Default)]
pub(super) struct Unit {
    groups: Vec<Group>,
    /// Entries of pages that collection moved while there was no room in memory to note them; the
    /// collection knows, and programs the translation page when it ends.
    pub moved: Entries,
    /// Its entries in the batch.
    pub recent: u32,
    pub is_resident: bool,
    /// Memory knows more than flash.
    pub is_dirty: bool,
    /// Bytes of the budget it takes.
    pub charged: u64,
    /// Bytes of its groups.
    bytes: u32,
}

/// Logical pages of a group among `entries` of a translation page, as a power of two.
fn group_shift(shift: u32) -> u32 {
    GROUP_SHIFT.min(shift)
}

/// Most bytes a unit of `1 << shift` pages takes once all its entries are learned.
pub(super) fn most_bytes(shift: u32) -> u64 {
    u64::from((GROUP_BYTES << (shift - group_shift(shift))) + (PLAIN_BYTES << shift))
}

impl Unit {
    /// A unit of `pages` logical pages.
    pub fn new(pages: u32, shift: u32) -> Self {
        let groups = pages.div_ceil(1 << group_shift(shift));
        Self { groups: vec![Group::default(); groups as usize], bytes: groups * GROUP_BYTES, ..Self::default() }
    }

    /// Bytes of its groups and of its entries in the batch.
    pub fn bytes(&self) -> u64 {
        u64::from(self.bytes + self.recent * ENTRY_BYTES)
    }

    /// The answer of its groups for a page; the batch and the moved entries are newer.
    #[inline]
    pub fn answer(&self, offset: u32) -> Answer {
        self.groups[(offset >> GROUP_SHIFT) as usize].answer(offset as u8)
    }

    /// Learns entries of its pages, which are `pages`.
    pub fn learn(&mut self, pages: &std::ops::Range<u32>, entries: &[(Lpn, u32)], workshop: &mut Workshop) {
        let group_of = |entry: &(Lpn, u32)| (entry.0.0 - pages.start) >> GROUP_SHIFT;
        for entries in entries.chunk_by(|one, next| group_of(one) == group_of(next)) {
            let index = group_of(&entries[0]);
            let first = pages.start + (index << GROUP_SHIFT);
            workshop.points.clear();
            workshop.points.extend(entries.iter().map(|&(logical, page)| Point {
                position: (logical.0 - first) as u8,
                page,
                exact: true,
            }));
            let group = &mut self.groups[index as usize];
            let before = group.bytes();
            group.learn((pages.end - first).min(1 << GROUP_SHIFT), workshop);
            self.bytes = self.bytes - before + group.bytes();
        }
    }

    /// Learns what collection moved.
    pub fn learn_moved(&mut self, pages: &std::ops::Range<u32>, workshop: &mut Workshop) {
        let mut moved = std::mem::take(&mut self.moved);
        self.learn(pages, moved.as_slice(), workshop);
        moved.drop_within(0..moved.len());
        self.moved = moved;
    }

    /// Adds what its groups are made of.
    pub fn count(&self, census: &mut Census) {
        self.groups.iter().for_each(|group| group.count(census));
    }

    /// Checks its bytes and its groups.
    ///
    /// # Errors
    /// The fault, in words.
    pub fn check(&self, pages: &std::ops::Range<u32>) -> Result<(), String> {
        let bytes: u32 = self.groups.iter().map(|group| GROUP_BYTES + group.bytes()).sum();
        if bytes != self.bytes {
            return Err(format!("a unit counts {} bytes and has {bytes}", self.bytes));
        }
        let first = |index: usize| pages.start + ((index as u32) << GROUP_SHIFT);
        let mut groups = self.groups.iter().enumerate();
        groups.try_for_each(|(index, group)| group.check((pages.end - first(index)).min(1 << GROUP_SHIFT)))
    }

    /// Numbers that stand for its groups and its moved entries in a snapshot.
    pub fn save(&self, numbers: &mut Vec<u32>) {
        self.groups.iter().for_each(|group| group.save(numbers));
        numbers.push(self.moved.len() as u32);
        numbers.extend(self.moved.as_slice().iter().flat_map(|entry| [entry.0.0, entry.1]));
    }

    /// Takes what [`Unit::save`] gave from the front of `numbers`; nothing if it does not fit.
    pub fn load(&mut self, numbers: &mut &[u32], pages: &std::ops::Range<u32>) -> Option<()> {
        *self = Self { groups: std::mem::take(&mut self.groups), ..Self::default() };
        for (index, group) in self.groups.iter_mut().enumerate() {
            let first = pages.start + ((index as u32) << GROUP_SHIFT);
            *group = Group::load(numbers, (pages.end - first).min(1 << GROUP_SHIFT))?;
            self.bytes += GROUP_BYTES + group.bytes();
        }
        let (count, rest) = numbers.split_first()?;
        let (moved, rest) = rest.split_at_checked(count.checked_mul(2)? as usize)?;
        *numbers = rest;
        for pair in moved.chunks_exact(2) {
            if !pages.contains(&pair[0]) {
                return None;
            }
            self.moved.set(Lpn(pair[0]), pair[1]);
        }
        Some(())
    }
}
