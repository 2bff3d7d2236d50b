//! Where the pages of a stripe are.
//!
//! ```text
//! N = 4, one parity, rotating     chip   0    1    2    3    4
//!   stripe 0                             D0   D1   D2   D3   P0
//!   stripe 1                             D4   D5   D6   P1   D7
//!   stripe 2                             D8   D9   P2   D10  D11
//! page for the mapping below = stripe × chips + chip
//! ```
//! The chip of every page follows from its number alone (left-asymmetric rotation), because recovery needs
//! old and new versions of a page on one chip.

use crate::rebuild::Chips;
use ftl::mapping::StripeShape;
use std::collections::BTreeMap;
use units::Lpn;

/// Numbers that say where data and parity are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StripeLayout {
    /// Data pages of a stripe, N.
    pub data: u32,
    /// Parity pages of a stripe, 0 to 2.
    pub parity: u32,
    /// The parity moves from chip to chip.
    pub rotates: bool,
    /// Consecutive user pages on a chip: 1, or the pages of an erase block.
    pub unit: u32,
    /// Pages of the user.
    pub user_pages: u32,
}

/// Most data pages of a stripe: three sets of them share a word.
pub const MOST_DATA: u32 = 20;

/// The page of a stripe that a chip holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Member {
    Data(u32),
    Parity(u32),
}

impl StripeLayout {
    /// Chips of a stripe.
    #[inline]
    pub fn chips(&self) -> u32 {
        self.data + self.parity
    }

    /// Stripes of the drive; the last may be used in part.
    pub fn stripes(&self) -> u32 {
        self.user_pages.div_ceil(self.data * self.unit) * self.unit
    }

    /// Logical pages of the mapping below, parity included.
    pub fn pages(&self) -> u64 {
        u64::from(self.stripes()) * u64::from(self.chips())
    }

    /// Stripe of a user page and its index in it.
    #[inline]
    pub fn place(&self, Lpn(user): Lpn) -> (u32, u32) {
        if self.unit == 1 {
            return (user / self.data, user % self.data);
        }
        let row = user / (self.data * self.unit);
        let rest = user % (self.data * self.unit);
        (row * self.unit + rest % self.unit, rest / self.unit)
    }

    /// The user page at `index` of a stripe, if the drive reaches that far.
    pub fn user_page(&self, stripe: u32, index: u32) -> Option<Lpn> {
        let user = (stripe / self.unit * self.data + index) * self.unit + stripe % self.unit;
        (user < self.user_pages).then_some(Lpn(user))
    }

    /// Chip of the first parity.
    #[inline]
    fn first_parity(&self, stripe: u32) -> u32 {
        let turn = if self.rotates { stripe / self.unit % self.chips() } else { 0 };
        self.chips() - 1 - turn
    }

    /// Chip of a parity.
    #[inline]
    pub fn parity_chip(&self, stripe: u32, row: u32) -> u32 {
        if self.parity == 2 && !self.rotates {
            return self.data + row;
        }
        (self.first_parity(stripe) + row) % self.chips()
    }

    /// Chip of a data page: ascending over the chips without parity.
    #[inline]
    pub fn data_chip(&self, stripe: u32, index: u32) -> u32 {
        match self.parity {
            0 => index,
            1 => index + u32::from(index >= self.first_parity(stripe)),
            _ => {
                let (p, q) = (self.parity_chip(stripe, 0), self.parity_chip(stripe, 1));
                let (low, high) = (p.min(q), p.max(q));
                let passed = index + u32::from(index >= low);
                passed + u32::from(passed >= high)
            }
        }
    }

    /// The page of a stripe that a chip holds.
    pub fn member(&self, stripe: u32, chip: u32) -> Member {
        match (0..self.parity).find(|row| self.parity_chip(stripe, *row) == chip) {
            Some(row) => Member::Parity(row),
            None => {
                Member::Data(chip - (0..self.parity).filter(|row| self.parity_chip(stripe, *row) < chip).count() as u32)
            }
        }
    }

    /// Page of the mapping below with a data page.
    #[inline]
    pub fn data_page(&self, stripe: u32, index: u32) -> Lpn {
        Lpn(stripe * self.chips() + self.data_chip(stripe, index))
    }

    /// Page of the mapping below with a parity.
    #[inline]
    pub fn parity_page(&self, stripe: u32, row: u32) -> Lpn {
        Lpn(stripe * self.chips() + self.parity_chip(stripe, row))
    }

    /// Page of the mapping below with a user page.
    #[inline]
    pub fn below(&self, user: Lpn) -> Lpn {
        let (stripe, index) = self.place(user);
        self.data_page(stripe, index)
    }

    /// Stripe of a page of the mapping below.
    #[inline]
    pub fn stripe_of(&self, below: Lpn) -> u32 {
        below.0 / self.chips()
    }

    /// Chip of a page of the mapping below.
    #[inline]
    pub fn chip_of(&self, below: Lpn) -> u32 {
        below.0 % self.chips()
    }

    /// Pages of the mapping below that belong to a stripe.
    pub fn pages_of(&self, stripe: u32) -> impl Iterator<Item = Lpn> + use<> {
        let first = stripe * self.chips();
        (first..first + self.chips()).map(Lpn)
    }

    /// A set with every data page.
    pub fn all(&self) -> u64 {
        (1 << self.data) - 1
    }
}

/// Knowledge by which a mapping below finds old versions after a power cut.
#[derive(Clone, Debug)]
pub(crate) struct Shape<'a> {
    pub layout: StripeLayout,
    pub chips: &'a Chips,
    /// Stripes whose newest parity was in memory: the last write it covers.
    pub covered: BTreeMap<u32, u64>,
}

impl StripeShape for Shape<'_> {
    fn parities(&self, logical: Lpn) -> [Option<Lpn>; 2] {
        let stripe = self.layout.stripe_of(logical);
        // What a spare does not hold yet says nothing.
        let (_, missing) = self.chips.to_be_filled(&self.layout, stripe);
        [0, 1].map(|row| {
            (row < self.layout.parity && missing >> row & 1 == 0).then(|| self.layout.parity_page(stripe, row))
        })
    }

    fn covered_until(&self, logical: Lpn) -> Option<u64> {
        self.covered.get(&self.layout.stripe_of(logical)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figure_of_the_paper_is_left_asymmetric() {
        let layout = StripeLayout { data: 4, parity: 1, rotates: true, unit: 1, user_pages: 100 };
        // D1 on chip 1, P0 on chip 4; D6 on chip 2, P1 on chip 3.
        assert_eq!((layout.data_chip(0, 1), layout.parity_chip(0, 0)), (1, 4));
        assert_eq!(layout.place(Lpn(6)), (1, 2));
        assert_eq!((layout.data_chip(1, 2), layout.parity_chip(1, 0)), (2, 3));
    }

    #[test]
    fn every_chip_holds_one_member_of_every_stripe() {
        for (data, parity, rotates, unit) in [
            (4, 1, true, 1),
            (4, 1, false, 1),
            (4, 2, true, 1),
            (7, 2, false, 1),
            (3, 0, true, 1),
            (4, 1, true, 8),
            (2, 2, true, 3),
        ] {
            let layout = StripeLayout { data, parity, rotates, unit, user_pages: 1000 };
            for stripe in 0..40 {
                let mut members: Vec<_> = (0..layout.chips()).map(|chip| layout.member(stripe, chip)).collect();
                for index in 0..data {
                    assert_eq!(members[layout.data_chip(stripe, index) as usize], Member::Data(index));
                }
                for row in 0..parity {
                    assert_eq!(members[layout.parity_chip(stripe, row) as usize], Member::Parity(row));
                }
                members.dedup();
                assert_eq!(members.len() as u32, layout.chips());
            }
            let mut seen = std::collections::BTreeSet::new();
            for user in (0..1000).map(Lpn) {
                let (stripe, index) = layout.place(user);
                assert_eq!(layout.user_page(stripe, index), Some(user), "{layout:?}");
                assert!(stripe < layout.stripes() && seen.insert(layout.below(user)));
            }
        }
    }
}
