//! Invariants, report and snapshot.

use super::log::{Counters, Log};
use super::parity::{ParityRecord, add};
use super::roles::Role;
use super::unfit;
use crate::mapping::tombstones::Tombstone;
use layer::{LayerReport, SnapshotError, SnapshotReader, SnapshotWriter};
use nand::FlashState;
use std::collections::BTreeSet;
use units::{BlockId, Lpn, Ppn};

/// Names of the maps in a snapshot.
const SECTIONS: [&str; 2] = ["elastic.map", "elastic.back"];

impl Log {
    pub fn check(&self, state: &FlashState) -> Result<(), String> {
        let valid = self.pages.blocks().check()?;
        let mut trimmed = vec![0; self.tombstones.slots()];
        let mapped = self.pages.check(state, &mut trimmed)?;
        self.tombstones.check(&trimmed)?;
        let is_idle =
            |slot: u32, tombstone: &Tombstone| tombstone.first == slot && tombstone.live == 0 && tombstone.waiting == 0;
        if let Some((slot, _)) = self.tombstones.iter().find(|(slot, tombstone)| is_idle(*slot, tombstone)) {
            return Err(format!("tombstone {slot} is kept, though nothing names it"));
        }
        let metadata = self.tombstones.iter().count() as u64;
        self.space.check(&self.grid, &self.pages)?;
        let repairs: BTreeSet<Ppn> = self.repairs.pages().collect();
        for logical in self.pages.all() {
            if let Some(page) = self.pages.find(logical).filter(|page| !repairs.contains(page)) {
                check_covered(self, logical, page)?;
            }
        }
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
        let is_beyond = |page: &Ppn| {
            let stripe = || self.roles.stripe_of(&self.grid, *page);
            self.grid.is_lost(*page)
                && self.stripes.in_memory(*page).is_none()
                && stripe().is_none_or(|stripe| stripe.pages().filter(|page| self.grid.is_lost(*page)).count() > 1)
        };
        self.pages.all().filter_map(|logical| self.pages.find(logical)).filter(is_beyond).count() as u64
    }

    /// The counters since counting began; `collected`: superblocks that were emptied.
    pub fn report(&self, collected: u64) -> LayerReport {
        let Counters { stripes, pages, parities, trimmed, copied, reconstructed, lost } = self.counters;
        let valid = |block| self.pages.blocks().valid_count(BlockId(block)) as u16;
        let mut report = LayerReport {
            name: "stripe",
            valid_pages: (0..self.grid.superblocks() * self.grid.lanes()).map(valid).collect(),
            ..LayerReport::default()
        };
        // The map, a valid bit and two of the role for each page, a count and a state for each superblock.
        let superblocks = u64::from(self.grid.superblocks());
        report.ram_bytes =
            self.pages.map_bytes() + (self.grid.all_pages().count() as u64 * 3).div_ceil(8) + superblocks * 5;
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

    pub fn save(&mut self, writer: &mut SnapshotWriter) {
        assert!(self.stripes.is_empty(), "a drive is drained before its state is saved");
        self.pages.save(writer, SECTIONS);
        writer.put("elastic.numbers", [self.pages.sequence()]);
        self.roles.save(writer);
        self.space.save(writer);
        self.tombstones.save(writer);
        self.repairs.save(writer);
    }

    pub fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.pages.load(reader, SECTIONS)?;
        let numbers = reader.get::<u64>("elastic.numbers")?;
        self.pages.note_sequence(*numbers.first().ok_or_else(|| unfit("a counter is missing"))?);
        self.roles.load(reader)?;
        self.space.load(&mut self.pages, reader)?;
        self.tombstones.load(reader)?;
        self.repairs.load(reader)
    }
}

/// A page at rest belongs to a stripe with a parity, on as many dies as it has pages.
fn check_covered(log: &Log, logical: Lpn, page: Ppn) -> Result<(), String> {
    let superblock = log.grid.of(page);
    let is_rebuilt = log.repairs.to_rebuild().contains(&superblock) || log.grid.live_dies() < 2;
    if log.stripes.in_memory(page).is_some() || is_rebuilt {
        return Ok(());
    }
    let Some(stripe) = log.roles.stripe_of(&log.grid, page) else {
        return Err(format!("logical page {logical} at {page:?} has no parity"));
    };
    let dies: BTreeSet<_> = stripe.pages().map(|page| log.grid.die_of(page)).collect();
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
    for page in log.grid.all_pages() {
        match log.roles.of(page) {
            Role::None => {}
            Role::Data => {
                sum.resize(contents.page(page.0).len(), 0);
                add(contents.page(page.0), &mut sum);
                members.push(page);
            }
            Role::Parity => {
                let record = ParityRecord::read(&log.grid, contents, page);
                let record = record.ok_or_else(|| format!("{page:?} holds no parity"))?;
                let named: Vec<Ppn> = record.pages.iter().map(|covered| covered.page).collect();
                let is_seen = members.iter().all(|member| !log.grid.is_lost(*member));
                if named != members || is_seen && record.cells != sum {
                    return Err(format!("the parity at {page:?} is of {named:?} and not the sum of {members:?}"));
                }
                sum.clear();
                members.clear();
            }
        }
    }
    Ok(())
}
