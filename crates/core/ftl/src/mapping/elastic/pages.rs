//! Which place each logical page is at, and what each place holds.
//!
//! *Protects*: the newest version of a logical page is at a valid place that names it, and no other place is valid but
//! those of tombstones. Only this file writes the maps and makes places valid or invalid.

use super::entry::{At, Back, Entry, Held, Place, Superblock};
use super::grid::Grid;
use super::unfit;
use layer::{SnapshotError, SnapshotReader, SnapshotWriter};
use units::Lpn;

/// The map, the back map and what is valid.
pub(super) struct Pages {
    map: Vec<Entry>,
    /// What each place holds, as far as it is valid.
    back: Vec<Back>,
    /// One bit a place.
    valid: Vec<u64>,
    /// Valid places of each superblock.
    counts: Vec<u32>,
    /// Places of a superblock.
    places: u32,
    /// Number of the newest version or trim.
    sequence: u64,
}

impl Pages {
    /// Nothing is written.
    pub fn new(grid: &Grid, logical_pages: u32) -> Self {
        let places = (grid.superblocks() * grid.places()) as usize;
        Self {
            map: units::table(logical_pages as usize, Entry::NOWHERE),
            back: units::table(places, Back::NOTHING),
            valid: vec![0; places.div_ceil(64)],
            counts: vec![0; grid.superblocks() as usize],
            places: grid.places(),
            sequence: 1,
        }
    }

    /// Logical pages.
    pub fn logical_pages(&self) -> usize {
        self.map.len()
    }

    #[inline]
    pub fn entry(&self, logical: Lpn) -> Entry {
        self.map[logical.index()]
    }

    /// The place of the newest version, if there is one.
    #[inline]
    pub fn find(&self, logical: Lpn) -> Option<Place> {
        self.entry(logical).on_flash()
    }

    /// Brings the entry of a logical page near; one beyond the end is ignored.
    #[inline]
    pub fn prefetch(&self, logical: usize) {
        units::prefetch(&self.map, logical);
    }

    /// All entries.
    pub fn entries(&self) -> impl Iterator<Item = (Lpn, Entry)> {
        (0..).map(Lpn).zip(self.map.iter().copied())
    }

    /// What a valid place holds.
    #[inline]
    pub fn held(&self, place: Place) -> Held {
        self.back[place.index()].held()
    }

    /// The number of the next version or trim.
    pub fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// The number given last.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Numbers up to this one were given.
    pub fn note_sequence(&mut self, given: u64) {
        self.sequence = self.sequence.max(given);
    }

    /// The newest version of a logical page is at `place` from now on. What the map said before.
    pub fn place(&mut self, logical: Lpn, place: Place) -> Entry {
        let old = self.replace(logical, Entry::data(place));
        self.enter(place, Back::data(logical));
        old
    }

    /// The tombstone at `place` says from now on that there is nothing of a logical page. What the map said before.
    pub fn trim(&mut self, logical: Lpn, place: Place) -> Entry {
        self.replace(logical, Entry::tombstone(place))
    }

    fn replace(&mut self, logical: Lpn, entry: Entry) -> Entry {
        let old = std::mem::replace(&mut self.map[logical.index()], entry);
        if let Some(place) = old.on_flash() {
            self.invalidate(place);
        }
        old
    }

    /// A tombstone, or its twin, is at `place`; map entries name it by `first`.
    pub fn enter_tombstone(&mut self, place: Place, first: Place) {
        self.enter(place, Back::tombstone(first));
    }

    /// Whether a map entry names the tombstone at `place`.
    pub fn names(&self, logical: Lpn, place: Place) -> bool {
        self.entry(logical) == Entry::tombstone(place)
    }

    fn enter(&mut self, place: Place, back: Back) {
        debug_assert!(!self.is_valid(place), "place {place:?} became valid twice");
        self.back[place.index()] = back;
        self.valid[place.index() / 64] |= 1 << (place.0 % 64);
        self.counts[(place.0 / self.places) as usize] += 1;
    }

    /// What a place holds is not needed any more.
    #[inline]
    pub fn invalidate(&mut self, place: Place) {
        debug_assert!(self.is_valid(place), "place {place:?} became invalid twice");
        self.valid[place.index() / 64] &= !(1 << (place.0 % 64));
        self.counts[(place.0 / self.places) as usize] -= 1;
    }

    #[inline]
    pub fn is_valid(&self, place: Place) -> bool {
        self.valid[place.index() / 64] >> (place.0 % 64) & 1 == 1
    }

    /// Valid places of a superblock, by number.
    #[inline]
    pub fn valid_count(&self, superblock: Superblock) -> u32 {
        self.counts[superblock.index()]
    }

    /// Valid places of a superblock.
    pub fn valid_in(&self, superblock: Superblock) -> impl DoubleEndedIterator<Item = Place> + use<'_> {
        let first = superblock.0 * self.places;
        Place(first).to(Place(first + self.places)).filter(|place| self.is_valid(*place))
    }

    /// Valid places by erase block, for the report.
    pub fn valid_by_block(&self, grid: &Grid) -> Vec<u16> {
        let mut counts = vec![0; (grid.superblocks() * grid.lanes()) as usize];
        for place in grid.all_places().filter(|place| self.is_valid(*place)) {
            counts[grid.block_of(place).index()] += 1;
        }
        counts
    }

    /// Valid places of the drive.
    ///
    /// # Errors
    /// Counts and marks do not agree, or a logical page maps to a place that is not its own.
    pub fn check(&self) -> Result<u64, String> {
        let mut total = 0;
        for superblock in (0..self.counts.len() as u32).map(Superblock) {
            let (valid, counted) = (self.valid_in(superblock).count() as u32, self.valid_count(superblock));
            if valid != counted {
                return Err(format!("{superblock:?} counts {counted} valid pages but marks {valid}"));
            }
            total += u64::from(valid);
        }
        for (logical, entry) in self.entries() {
            if let At::Data(place) = entry.at()
                && (!self.is_valid(place) || self.held(place) != Held::Version(logical))
            {
                return Err(format!("logical page {logical} maps to {place:?}, which is not its own"));
            }
        }
        Ok(total)
    }

    pub fn save(&self, writer: &mut SnapshotWriter) {
        writer.put_u32("elastic.map", self.map.iter().map(|entry| entry.bits()));
        writer.put_u32("elastic.back", self.back.iter().map(|back| back.bits()));
        writer.put_u64("elastic.numbers", [self.sequence].into_iter());
        writer.put_u64("elastic.valid", self.valid.iter().copied());
    }

    pub fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let (map, back) = (reader.get_u32("elastic.map")?, reader.get_u32("elastic.back")?);
        let sequence = reader.get_u64("elastic.numbers")?;
        let valid = reader.get_u64("elastic.valid")?;
        if map.len() != self.map.len() || back.len() != self.back.len() || valid.len() != self.valid.len() {
            return Err(unfit("the number of pages differs"));
        }
        self.sequence = *sequence.first().ok_or_else(|| unfit("counters are missing"))?;
        // Copied, not moved: the tables in place are laid out for random access.
        self.map.iter_mut().zip(map).for_each(|(entry, bits)| *entry = Entry::from_bits(bits));
        self.back.iter_mut().zip(back).for_each(|(back, bits)| *back = Back::from_bits(bits));
        self.valid = valid;
        for superblock in 0..self.counts.len() as u32 {
            self.counts[superblock as usize] = self.valid_in(Superblock(superblock)).count() as u32;
        }
        Ok(())
    }
}
