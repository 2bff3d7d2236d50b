//! What places hold of stripes on flash: which pages a parity covers.

use super::entry::{Place, Superblock};
use super::grid::Grid;
use super::unfit;
use layer::{SnapshotError, SnapshotReader, SnapshotWriter};

/// What a place holds of a stripe.
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
    pub data: Vec<Place>,
    pub parity: Place,
}

impl Covered {
    /// All its pages, the parity last.
    pub fn pages(&self) -> impl Iterator<Item = Place> {
        self.data.iter().copied().chain([self.parity])
    }
}

/// The role of each place. Only complete stripes have any.
#[derive(Debug)]
pub(super) struct Roles(Vec<Role>);

impl Roles {
    /// No stripe is on flash.
    pub fn new(grid: &Grid) -> Self {
        Self(vec![Role::None; (grid.superblocks() * grid.places()) as usize])
    }

    #[inline]
    pub fn of(&self, place: Place) -> Role {
        self.0[place.index()]
    }

    /// A stripe is on flash.
    pub fn enter(&mut self, data: impl Iterator<Item = Place>, parity: Place) {
        data.for_each(|place| self.0[place.index()] = Role::Data);
        self.0[parity.index()] = Role::Parity;
    }

    /// A superblock is erased.
    pub fn clear(&mut self, grid: &Grid, superblock: Superblock) {
        self.0[grid.first_of(superblock).index()..grid.end_of(superblock).index()].fill(Role::None);
    }

    /// The stripe that a data page belongs to; nothing if it has no parity.
    pub fn stripe_of(&self, grid: &Grid, place: Place) -> Option<Covered> {
        if self.of(place) != Role::Data {
            return None;
        }
        let superblock = grid.of(place);
        let parity = place.to(grid.end_of(superblock)).find(|place| self.of(*place) == Role::Parity)?;
        let first = grid.first_of(superblock).to(place).rfind(|place| self.of(*place) == Role::Parity);
        let first = first.map_or(grid.first_of(superblock), Place::next);
        let data = first.to(parity).filter(|place| self.of(*place) == Role::Data).collect();
        Some(Covered { data, parity })
    }

    /// Whether a superblock holds pages of stripes that are on lost dies.
    pub fn is_torn(&self, grid: &Grid, superblock: Superblock) -> bool {
        let is_lost = |place: Place| grid.is_lost(place) && self.of(place) != Role::None;
        grid.first_of(superblock).to(grid.end_of(superblock)).any(is_lost)
    }

    pub fn save(&self, writer: &mut SnapshotWriter) {
        writer.put_u32("elastic.roles", self.0.iter().map(|role| *role as u32));
    }

    pub fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let roles = reader.get_u32("elastic.roles")?;
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
