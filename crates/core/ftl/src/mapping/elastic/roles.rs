//! The records of stripes in pages on flash: the pages that a parity covers.

use super::grid::{Grid, Superblock};
use super::unfit;
use layer::{SnapshotError, SnapshotReader, SnapshotWriter};
use units::Ppn;

/// The record of a stripe in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Nothing, or nothing yet.
    None = 0,
    /// A data page of the stripe that ends with the next parity.
    Data = 1,
    /// The parity of the data pages since the last one.
    Parity = 2,
}

/// A stripe on flash.
pub(super) struct Covered {
    pub data: Vec<Ppn>,
    pub parity: Ppn,
}

impl Covered {
    /// All its pages, the parity last.
    pub fn pages(&self) -> impl Iterator<Item = Ppn> {
        self.data.iter().copied().chain([self.parity])
    }
}

/// The role of each page. Only complete stripes have any.
#[derive(Debug)]
pub(super) struct Roles(Vec<Role>);

impl Roles {
    /// No stripe is on flash.
    pub fn new(pages: u32) -> Self {
        Self(vec![Role::None; pages as usize])
    }

    #[inline]
    pub fn of(&self, page: Ppn) -> Role {
        self.0[page.index()]
    }

    /// A stripe is on flash.
    pub fn enter(&mut self, data: impl Iterator<Item = Ppn>, parity: Ppn) {
        data.for_each(|page| self.0[page.index()] = Role::Data);
        self.0[parity.index()] = Role::Parity;
    }

    /// A superblock is erased.
    pub fn clear(&mut self, grid: &Grid, superblock: Superblock) {
        grid.pages_of(superblock).for_each(|page| self.0[page.index()] = Role::None);
    }

    /// The stripe that a data page belongs to; nothing if it has no parity.
    pub fn stripe_of(&self, grid: &Grid, page: Ppn) -> Option<Covered> {
        if self.of(page) != Role::Data {
            return None;
        }
        let (superblock, position) = (grid.of(page), grid.position(page));
        let mut before = grid.pages_from(grid.first_of(superblock), position);
        let mut after = grid.pages_from(position, grid.end_of(superblock));
        let parity = after.find(|page| self.of(*page) == Role::Parity)?;
        let first = before.rfind(|page| self.of(*page) == Role::Parity);
        let first = first.map_or(grid.first_of(superblock), |last| grid.position(last).next());
        let data = grid.pages_from(first, grid.position(parity)).filter(|page| self.of(*page) == Role::Data);
        Some(Covered { data: data.collect(), parity })
    }

    /// Whether a superblock holds pages of stripes that are on lost dies.
    pub fn is_torn(&self, grid: &Grid, superblock: Superblock) -> bool {
        grid.pages_of(superblock).any(|page| grid.is_lost(page) && self.of(page) != Role::None)
    }

    pub fn save(&self, writer: &mut SnapshotWriter) {
        writer.put("elastic.roles", self.0.iter().map(|role| *role as u32));
    }

    pub fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let roles = reader.get::<u32>("elastic.roles")?;
        if roles.len() != self.0.len() {
            return Err(unfit("the number of pages differs"));
        }
        for (role, number) in self.0.iter_mut().zip(roles) {
            *role = match number {
                1 => Role::Data,
                2 => Role::Parity,
                _ => Role::None,
            };
        }
        Ok(())
    }
}
