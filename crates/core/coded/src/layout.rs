//! Where stripe blocks are.
//!
//! ```text
//!           bank 0   bank 1   bank 2   bank 3
//! zone 0   segment  segment  segment  segment    rows of stripe blocks, interleaved over the banks
//! zone 1   segment  segment  segment  segment
//! code 0   segment  segment  segment  segment    code blocks of the zone it belongs to, row by row
//! ```
//! A segment is a part of a bank with a map, spare blocks and cleaning of its own.

use crate::group::GroupAt;
use erasure::GroupCode;
use std::ops::Deref;
use units::Lpn;

/// Where a stripe block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Data zone; code zones follow the data zones.
    pub zone: u32,
    /// Row of the zone.
    pub row: u32,
    pub bank: u32,
}

/// How many banks, zones, rows and pages there are.
#[derive(Clone, Copy, Debug)]
pub struct ZoneShape {
    /// Banks: dies with a queue of their own.
    pub banks: u32,
    pub zones: u32,
    pub code_zones: u32,
    /// Stripe blocks of a segment.
    pub rows: u32,
    /// Pages of a stripe block.
    pub pages: u32,
    /// Banks of a group.
    pub group: u32,
}

/// Where the stripe blocks of banks, zones, rows and groups are.
#[derive(Clone, Debug)]
pub struct ZoneLayout {
    shape: ZoneShape,
    /// Bank of each code block, by group, then by number.
    code_banks: Vec<u32>,
    codes: u32,
}

impl Deref for ZoneLayout {
    type Target = ZoneShape;

    #[inline]
    fn deref(&self) -> &ZoneShape {
        &self.shape
    }
}

impl ZoneLayout {
    /// The layout of a code over these banks.
    ///
    /// # Errors
    /// Code blocks would be on the bank of one of their sources, or on none.
    pub fn new(shape: ZoneShape, code: &GroupCode) -> Result<Self, String> {
        let ZoneShape { banks, code_zones, group, .. } = shape;
        let mut layout = Self { shape, code_banks: Vec::new(), codes: code.code() };
        if code_zones == 0 {
            return Ok(layout);
        }
        if !banks.is_multiple_of(group) {
            return Err(format!(
                "coded.group is {group}, which does not divide the {banks} banks (flash.channels x \
                 flash.dies_per_channel)"
            ));
        }
        if code.code() > group {
            return Err(format!(
                "coded.code has {} code blocks for {group} data blocks; the banks of a group hold one each",
                code.code()
            ));
        }
        if banks == group {
            layout.code_banks = Self::other_banks(code).ok_or_else(|| {
                format!(
                    "with a single group of {banks} banks the code blocks of coded.code cannot each have a bank that \
                     holds none of their sources. Use twice as many banks, or a code with fewer edges"
                )
            })?;
        } else {
            let bank = |number: u32, row: u32| (number * group + row + banks - group) % banks;
            layout.code_banks =
                (0..banks / group).flat_map(|number| (0..code.code()).map(move |row| bank(number, row))).collect();
        }
        Ok(layout)
    }

    /// In a single group: for each code block a bank of its own without a source of it, or nothing if there are too
    /// few. The nearest free bank is taken, and who has it moves where that helps (a bipartite matching).
    fn other_banks(code: &GroupCode) -> Option<Vec<u32>> {
        let mut rows = vec![None; code.data() as usize];
        for row in 0..code.code() {
            Self::settle(code, row, &mut rows, &mut 0).then_some(())?;
        }
        let bank_of = |row| rows.iter().position(|other| *other == Some(row)).map(|bank| bank as u32);
        (0..code.code()).map(bank_of).collect()
    }

    /// Finds a bank for a code block. `tried`: banks that were asked for already.
    fn settle(code: &GroupCode, row: u32, rows: &mut [Option<u32>], tried: &mut u32) -> bool {
        let data = code.data();
        let banks: Vec<u32> =
            (1..=data).map(|step| (row + step) % data).filter(|bank| code.sources(row) >> bank & 1 == 0).collect();
        let free = banks.iter().find(|bank| rows[**bank as usize].is_none()).copied();
        if let Some(bank) = free {
            rows[bank as usize] = Some(row);
            return true;
        }
        for bank in banks {
            let holder = rows[bank as usize].filter(|_| *tried >> bank & 1 == 0);
            *tried |= 1 << bank;
            if holder.is_some_and(|holder| Self::settle(code, holder, rows, tried)) {
                rows[bank as usize] = Some(row);
                return true;
            }
        }
        false
    }

    /// The place of a stripe block.
    #[inline]
    pub fn place(&self, block: u32) -> Place {
        let row = block / self.banks;
        Place { zone: row / self.rows, row: row % self.rows, bank: block % self.banks }
    }

    /// The stripe block with a page of the host.
    #[inline]
    pub fn block_of(&self, page: Lpn) -> u32 {
        page.0 / self.pages
    }

    /// The first page of the host in a stripe block.
    #[inline]
    pub fn first_of(&self, block: u32) -> Lpn {
        Lpn(block * self.pages)
    }

    /// The page of the mapping below with a page of the host.
    #[inline]
    pub fn below(&self, page: Lpn) -> Lpn {
        self.page(self.place(self.block_of(page))) + page.0 % self.pages
    }

    /// The stripe block at a place.
    #[inline]
    pub fn block(&self, place: Place) -> u32 {
        (place.zone * self.rows + place.row) * self.banks + place.bank
    }

    /// The group that a stripe block belongs to, and its number there.
    #[inline]
    pub(crate) fn group_at(&self, place: Place) -> (GroupAt, u32) {
        let Place { zone, row, bank } = place;
        (GroupAt { zone, row, group: bank / self.group }, bank % self.group)
    }

    /// The place of a data block of a group.
    #[inline]
    pub(crate) fn data_place(&self, at: GroupAt, block: u32) -> Place {
        debug_assert!(block < self.group, "block {block} of a group of {}", self.group);
        Place { zone: at.zone, row: at.row, bank: at.group * self.group + block }
    }

    /// Bank of an element of a group.
    #[inline]
    pub(crate) fn bank(&self, at: GroupAt, element: u32) -> u32 {
        match element.checked_sub(self.group) {
            None => at.group * self.group + element,
            Some(code) => self.code_bank(at.group, code),
        }
    }

    /// Stripe blocks of all data zones.
    pub fn blocks(&self) -> u32 {
        self.zones * self.rows * self.banks
    }

    /// Groups of a row.
    pub fn groups(&self) -> u32 {
        self.banks / self.group
    }

    /// Number of a group among all.
    #[inline]
    pub(crate) fn line(&self, at: GroupAt) -> u32 {
        (at.zone * self.rows + at.row) * self.groups() + at.group
    }

    /// First page, in the mapping below, of the stripe block at a place.
    #[inline]
    pub fn page(&self, place: Place) -> Lpn {
        Lpn(((place.zone * self.banks + place.bank) * self.rows + place.row) * self.pages)
    }

    /// Bank of a code block of a group.
    #[inline]
    pub fn code_bank(&self, group: u32, code: u32) -> u32 {
        self.code_banks[(group * self.codes + code) as usize]
    }

    /// Pages of the mapping below.
    pub fn mapped_pages(&self) -> u64 {
        u64::from(self.zones + self.code_zones) * u64::from(self.banks) * u64::from(self.rows * self.pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(banks: u32, group: u32, code: &GroupCode) -> Result<ZoneLayout, String> {
        ZoneLayout::new(ZoneShape { banks, zones: 10, code_zones: 2, rows: 16, pages: 4, group }, code)
    }

    #[test]
    fn the_eight_equations_of_the_published_example() {
        let code = GroupCode::regular(4, 2).expect("a regular code");
        let layout = of(8, 4, &code).expect("eight banks in groups of four");
        let published = [(4, 5), (5, 6), (6, 7), (7, 4), (0, 1), (1, 2), (2, 3), (3, 0)];
        for group in 0..2 {
            for row in 0..4 {
                let bank = layout.code_bank(group, row);
                let sources: Vec<u32> =
                    (0..4).filter(|at| code.sources(row) >> at & 1 == 1).map(|at| group * 4 + at).collect();
                let (a, b) = published[bank as usize];
                assert!(sources.contains(&a) && sources.contains(&b), "bank {bank} holds the sum of {sources:?}");
            }
        }
    }

    #[test]
    fn no_code_block_is_on_the_bank_of_a_source() {
        for (banks, group, edges) in
            [(8, 4, 2), (8, 4, 3), (16, 4, 2), (12, 3, 2), (4, 4, 2), (3, 3, 2), (5, 5, 3), (4, 4, 1)]
        {
            let code = GroupCode::regular(group, edges).expect("a regular code");
            let layout = of(banks, group, &code).expect("it fits");
            for number in 0..layout.groups() {
                let mut seen = 0_u64;
                for row in 0..group {
                    let bank = layout.code_bank(number, row);
                    assert!(bank < banks && seen >> bank & 1 == 0);
                    seen |= 1 << bank;
                    let own = bank / group == number && code.sources(row) >> (bank % group) & 1 == 1;
                    assert!(!own, "{banks} banks, groups of {group}: code block {row} on bank {bank}");
                }
            }
        }
        let code = GroupCode::regular(4, 2).expect("a regular code");
        assert!(of(10, 4, &code).is_err());
        assert!(of(4, 4, &GroupCode::regular(4, 4).expect("a regular code")).is_err());
        assert!(of(2, 2, &GroupCode::regular(2, 2).expect("a regular code")).is_err());
    }

    /// Whether the rows from `row` on can each have a bank that is not taken, by trying all.
    fn has_place(rows: &[u32], taken: u32) -> bool {
        let Some((first, rest)) = rows.split_first() else { return true };
        (0..4).filter(|bank| (taken | first) >> bank & 1 == 0).any(|bank| has_place(rest, taken | 1 << bank))
    }

    #[test]
    fn every_code_of_a_single_group_that_has_a_place_gets_one() {
        let mut placed = 0;
        for all in 0..15_u32.pow(4) {
            let rows = [0, 1, 2, 3].map(|at| 1 + all / 15_u32.pow(at) % 15);
            let code = GroupCode::new(4, &rows).expect("rows are not empty");
            let layout = of(4, 4, &code);
            assert_eq!(layout.is_ok(), has_place(&rows, 0), "{}", code.matrix());
            let Ok(layout) = layout else { continue };
            placed += 1;
            let banks = [0, 1, 2, 3].map(|row| layout.code_bank(0, row));
            assert!((0..4).all(|bank| banks.contains(&bank)), "{}: {banks:?}", code.matrix());
            assert!(rows.iter().zip(banks).all(|(row, bank)| row >> bank & 1 == 0), "{}: {banks:?}", code.matrix());
        }
        assert_eq!(placed, 26_590);
    }

    #[test]
    fn every_stripe_block_has_a_place_of_its_own() {
        let layout = of(8, 4, &GroupCode::regular(4, 2).expect("a regular code")).expect("it fits");
        let mut seen = std::collections::BTreeSet::new();
        for block in 0..layout.blocks() {
            let place = layout.place(block);
            assert_eq!(layout.block(place), block);
            let (at, number) = layout.group_at(place);
            assert_eq!((layout.data_place(at, number), layout.bank(at, number)), (place, place.bank));
            let page = layout.page(place);
            assert!(seen.insert(page) && u64::from(page.0) < layout.mapped_pages());
            assert_eq!(
                page.0 / (layout.rows * layout.pages),
                place.zone * 8 + place.bank,
                "the pages of a segment follow each other"
            );
        }
    }
}
