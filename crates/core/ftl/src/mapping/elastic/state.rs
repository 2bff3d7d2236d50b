//! Invariants, report and snapshot.

use super::entry::{At, Place};
use super::log::{Counters, Log};
use super::parity::{ParityRecord, add};
use super::roles::Role;
use layer::{LayerReport, SnapshotError, SnapshotReader, SnapshotWriter};
use nand::FlashState;
use std::collections::BTreeSet;
use units::Lpn;

impl Log {
    pub fn check(&self, state: &FlashState) -> Result<(), String> {
        let valid = self.pages.check()?;
        self.space.check(&self.pages)?;
        let repairs: BTreeSet<Place> = self.repairs.places().collect();
        let mut mapped = 0;
        for (logical, entry) in self.pages.entries() {
            if let At::Data(place) = entry.at() {
                mapped += 1;
                if !repairs.contains(&place) {
                    check_covered(self, state, logical, place)?;
                }
            }
        }
        let metadata = self.tombstones.check(&self.pages)?;
        if valid != mapped + metadata {
            return Err(format!("{valid} valid pages, but {mapped} mapped and {metadata} of tombstones"));
        }
        check_sums(self, state)
    }

    /// Pages that can neither be read nor computed any more, and that nobody has given up yet.
    fn beyond_parity(&self) -> u64 {
        if self.grid.deaths() == 0 {
            return 0;
        }
        let is_beyond = |place: &Place| {
            let stripe = || self.roles.stripe_of(&self.grid, *place);
            self.grid.is_lost(*place)
                && self.stripes.in_memory(*place).is_none()
                && stripe().is_none_or(|stripe| stripe.pages().filter(|page| self.grid.is_lost(*page)).count() > 1)
        };
        self.pages.entries().filter_map(|(_, entry)| entry.on_flash()).filter(is_beyond).count() as u64
    }

    /// What happened since counting began; `collected`: superblocks that were emptied.
    pub fn report(&self, collected: u64) -> LayerReport {
        let Counters { stripes, pages, parities, trimmed, copied, reconstructed, lost } = self.counters;
        let mut report = LayerReport {
            name: "stripe",
            valid_pages: self.pages.valid_by_block(&self.grid),
            ..LayerReport::default()
        };
        // The map, a valid bit and two of the role for each place, a count and a state for each superblock.
        let superblocks = u64::from(self.grid.superblocks());
        report.ram_bytes = self.pages.logical_pages() as u64 * 4
            + (superblocks * u64::from(self.grid.places()) * 3).div_ceil(8)
            + superblocks * 5;
        report.counters.extend([
            ("stripes_written", stripes),
            ("stripe_pages", pages),
            ("parity_pages", parities),
            ("trimmed_pages", trimmed),
            ("superblocks_collected", collected),
            ("pages_copied", copied),
            ("pages_reconstructed", reconstructed),
            ("pages_healed", self.repairs.healed),
            ("pages_lost", lost + self.beyond_parity()),
            ("pages_to_repair", self.repairs.left() + u64::from(self.stripes.repairs())),
            ("dies_lost", u64::from(self.grid.failed_dies())),
            ("dies_missing", u64::from(self.grid.missing_dies())),
            ("superblocks_rebuilt", self.repairs.rebuilt),
            ("superblocks_to_rebuild", self.repairs.to_rebuild().len() as u64),
        ]);
        report
    }

    /// Counts from zero again.
    pub fn reset_counters(&mut self) {
        self.counters = Counters::default();
        (self.repairs.healed, self.repairs.rebuilt) = (0, 0);
    }

    pub fn save(&self, writer: &mut SnapshotWriter) {
        assert!(self.stripes.is_empty(), "a drive is drained before its state is saved");
        self.pages.save(writer);
        self.roles.save(writer);
        self.space.save(writer);
        self.tombstones.save(writer);
        self.repairs.save(writer);
    }

    pub fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.pages.load(reader)?;
        self.roles.load(reader)?;
        self.space.load(reader)?;
        self.tombstones.load(reader)?;
        self.repairs.load(reader)
    }
}

/// A page at rest belongs to a stripe with a parity, on as many dies as it has pages.
fn check_covered(log: &Log, state: &FlashState, logical: Lpn, place: Place) -> Result<(), String> {
    let superblock = log.grid.of(place);
    let is_rebuilt = log.repairs.to_rebuild().contains(&superblock) || log.grid.live_dies() < 2;
    if log.stripes.in_memory(place).is_some() || is_rebuilt {
        return Ok(());
    }
    let Some(stripe) = log.roles.stripe_of(&log.grid, place) else {
        return Err(format!("logical page {logical} at {place:?} has no parity"));
    };
    let die = |place: Place| state.geometry.die_of(state.geometry.block_of(log.grid.page(place)));
    let dies: BTreeSet<_> = stripe.pages().map(die).collect();
    let pages = stripe.data.len() + 1;
    if dies.len() == pages {
        return Ok(());
    }
    Err(format!("the stripe of logical page {logical} has {pages} pages on {} dies", dies.len()))
}

/// Every parity is the sum of its stripe.
fn check_sums(log: &Log, state: &FlashState) -> Result<(), String> {
    let Some(contents) = state.contents() else { return Ok(()) };
    let mut sum: Vec<u8> = Vec::new();
    let mut members = Vec::new();
    for place in log.grid.all_places() {
        let page = log.grid.page(place);
        match log.roles.of(place) {
            Role::None => {}
            Role::Data => {
                sum.resize(contents.page(page.0).len(), 0);
                add(contents.page(page.0), &mut sum);
                members.push(place);
            }
            Role::Parity => {
                let record = contents.record(page.0).and_then(ParityRecord::read);
                let record = record.ok_or_else(|| format!("{place:?} holds no parity"))?;
                let named: Vec<Place> = record.pages.iter().map(|page| page.place).collect();
                let is_seen = members.iter().all(|member| !log.grid.is_lost(*member));
                if named != members || is_seen && record.cells != sum {
                    return Err(format!("the parity at {place:?} is of {named:?} and not the sum of {members:?}"));
                }
                sum.clear();
                members.clear();
            }
        }
    }
    Ok(())
}
