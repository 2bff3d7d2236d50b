//! Invariants, report and snapshot.

use super::stripes::{ParityRecord, add};
use super::superblocks::Role;
use super::trim::{Range, Tombstone};
use super::{Counters, Elastic, TRIMMED, UNMAPPED};
use layer::{LayerReport, SnapshotError, SnapshotReader, SnapshotWriter};
use nand::{Flash, FlashState};
use std::collections::{BTreeMap, BTreeSet};

impl<F: Flash> Elastic<F> {
    /// Every invariant.
    pub(super) fn check_laws(&self, state: &FlashState) -> Result<(), String> {
        let valid = self.blocks.check()?;
        let (mut mapped, mut live) = (0, BTreeMap::<u32, u32>::new());
        let repairs: BTreeSet<u32> = self.repairs.iter().copied().collect();
        for (logical, &entry) in (0..).zip(&self.map) {
            if entry < TRIMMED {
                mapped += 1;
                if !self.blocks.is_valid(entry) || self.back[entry as usize] != logical {
                    return Err(format!("logical page {logical} maps to place {entry}, which is not its own"));
                }
                if !repairs.contains(&entry) {
                    self.check_covered(state, logical, entry)?;
                }
            } else if entry != UNMAPPED {
                *live.entry(entry & !TRIMMED).or_default() += 1;
            }
        }
        let mut metadata = 0;
        for (place, tombstone) in &self.tombstones {
            metadata += 1 + u64::from(tombstone.twin.is_some());
            let named = live.get(place).copied().unwrap_or(0);
            if named != tombstone.live || named == 0 && tombstone.safe {
                return Err(format!(
                    "the tombstone at place {place} counts {} pages, {named} map to it",
                    tombstone.live
                ));
            }
        }
        if valid != mapped + metadata {
            return Err(format!("{valid} valid pages, but {mapped} mapped and {metadata} of tombstones"));
        }
        self.check_sums(state)
    }

    /// A page at rest belongs to a stripe with a parity, on as many dies as it has pages.
    fn check_covered(&self, state: &FlashState, logical: u32, place: u32) -> Result<(), String> {
        let superblock = self.blocks.of(place);
        let is_rebuilt = self.to_rebuild.contains(&superblock) || self.blocks.live_dies() < 2;
        if self.in_memory(place).is_some() || is_rebuilt {
            return Ok(());
        }
        let Some((data, parity)) = self.blocks.stripe_of(place) else {
            return Err(format!("logical page {logical} at place {place} has no parity"));
        };
        let die = |place: u32| state.geometry.die_of(state.geometry.block_of(self.blocks.page(place)));
        let mut dies: Vec<_> = data.iter().chain([&parity]).map(|place| die(*place)).collect();
        dies.sort_unstable();
        dies.dedup();
        if dies.len() == data.len() + 1 {
            return Ok(());
        }
        Err(format!("the stripe of logical page {logical} has {} pages on {} dies", data.len() + 1, dies.len()))
    }

    /// Every parity is the sum of its stripe.
    fn check_sums(&self, state: &FlashState) -> Result<(), String> {
        let Some(contents) = state.contents() else { return Ok(()) };
        let mut sum: Vec<u8> = Vec::new();
        let mut members = Vec::new();
        for place in 0..self.blocks.count() * self.blocks.places {
            let page = self.blocks.page(place);
            match self.blocks.role(place) {
                Role::None => {}
                Role::Data => {
                    sum.resize(contents.page(page.0).len(), 0);
                    add(contents.page(page.0), &mut sum);
                    members.push(place);
                }
                Role::Parity => {
                    let record = contents.record(page.0).and_then(ParityRecord::read);
                    let record = record.ok_or_else(|| format!("place {place} holds no parity"))?;
                    let named: Vec<u32> = record.members.iter().map(|(member, ..)| *member).collect();
                    let is_seen = members.iter().all(|member| !self.blocks.is_lost(*member));
                    if named != members || is_seen && record.cells != sum {
                        return Err(format!(
                            "the parity at place {place} is of {named:?} and not the sum of {members:?}"
                        ));
                    }
                    sum.clear();
                    members.clear();
                }
            }
        }
        Ok(())
    }

    /// Pages that can neither be read nor computed any more, and that nobody has given up yet.
    fn beyond_parity(&self) -> u64 {
        if self.deaths == 0 {
            return 0;
        }
        let is_beyond = |place: &u32| {
            let others = || self.blocks.stripe_of(*place).map(|(data, parity)| data.into_iter().chain([parity]));
            self.blocks.is_lost(*place)
                && self.in_memory(*place).is_none()
                && others().is_none_or(|others| others.filter(|other| self.blocks.is_lost(*other)).count() > 1)
        };
        self.map.iter().filter(|place| **place < TRIMMED).filter(|place| is_beyond(place)).count() as u64
    }

    pub(super) fn report_own(&self) -> LayerReport {
        let Counters { stripes, pages, parities, trimmed, collected, copied, reconstructed, healed, lost, rebuilt } =
            self.counters;
        let mut report =
            LayerReport { name: "stripe", valid_pages: self.blocks.valid_by_block(), ..LayerReport::default() };
        report.ram_bytes = self.map.len() as u64 * 4 + self.blocks.ram_bytes();
        report.counters.extend([
            ("stripes_written", stripes),
            ("stripe_pages", pages),
            ("parity_pages", parities),
            ("trimmed_pages", trimmed),
            ("superblocks_collected", collected),
            ("pages_copied", copied),
            ("pages_reconstructed", reconstructed),
            ("pages_healed", healed),
            ("pages_lost", lost + self.beyond_parity()),
            ("pages_to_repair", (self.repairs.len() + self.doubted.len()) as u64 + u64::from(self.repairs_under_way)),
            ("dies_lost", u64::from(self.failed_dies)),
            ("dies_missing", u64::from(self.usual_dies.saturating_sub(self.blocks.live_dies()))),
            ("superblocks_rebuilt", rebuilt),
            ("superblocks_to_rebuild", self.to_rebuild.len() as u64),
        ]);
        report
    }

    pub(super) fn save_state(&self, writer: &mut SnapshotWriter) {
        assert!(self.flying.is_empty() && self.moves.is_empty(), "a drive is drained before its state is saved");
        writer.put_u32("elastic.map", self.map.iter().copied());
        writer.put_u32("elastic.back", self.back.iter().copied());
        writer.put_u64("elastic.numbers", [self.sequence].into_iter());
        self.blocks.save(writer);
        for (place, tombstone) in &self.tombstones {
            writer
                .put_u32("elastic.tombstone", [*place, tombstone.live, tombstone.twin.unwrap_or(UNMAPPED)].into_iter());
            let numbers = tombstone
                .ranges
                .iter()
                .flat_map(|range| [u64::from(range.first), u64::from(range.count), range.sequence]);
            writer.put_u64("elastic.ranges", numbers.collect::<Vec<_>>().into_iter());
        }
        writer.put_u32("elastic.tombstone", std::iter::empty());
        let left: Vec<u32> =
            self.emptied.iter().copied().chain((self.victim != super::NONE).then_some(self.victim)).collect();
        writer.put_u32("elastic.collected", left.into_iter());
        writer.put_u32("elastic.repairs", self.repairs.iter().copied().collect::<Vec<_>>().into_iter());
        writer.put_u32("elastic.doubted", self.doubted.iter().copied().collect::<Vec<_>>().into_iter());
        writer.put_u32("elastic.to_rebuild", self.to_rebuild.iter().copied().collect::<Vec<_>>().into_iter());
        writer.put_u32("elastic.failing", self.failing.iter().copied());
    }

    pub(super) fn load_state(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let unfit = |problem: &str| SnapshotError::Unfit { section: "elastic", problem: problem.to_owned() };
        let (map, back) = (reader.get_u32("elastic.map")?, reader.get_u32("elastic.back")?);
        if map.len() != self.map.len() || back.len() != self.back.len() {
            return Err(unfit("the number of pages differs"));
        }
        self.sequence = *reader.get_u64("elastic.numbers")?.first().ok_or_else(|| unfit("counters are missing"))?;
        // Copied, not moved: the tables in place are laid out for random access.
        self.map.copy_from_slice(&map);
        self.back.copy_from_slice(&back);
        self.blocks.load(reader)?;
        self.tombstones.clear();
        loop {
            let head = reader.get_u32("elastic.tombstone")?;
            let &[place, live, twin] = head.as_slice() else { break };
            let numbers = reader.get_u64("elastic.ranges")?;
            let ranges = numbers
                .chunks_exact(3)
                .map(|r| Range { first: r[0] as u32, count: r[1] as u32, sequence: r[2] })
                .collect();
            let twin = (twin != UNMAPPED).then_some(twin);
            self.tombstones.insert(place, Tombstone { ranges, live, twin, safe: true });
        }
        for superblock in reader.get_u32("elastic.collected")? {
            self.blocks.set_state(superblock, super::superblocks::State::Closed);
        }
        self.repairs = reader.get_u32("elastic.repairs")?.into();
        self.doubted = reader.get_u32("elastic.doubted")?.into_iter().collect();
        self.to_rebuild = reader.get_u32("elastic.to_rebuild")?.into_iter().collect();
        self.failing = reader.get_u32("elastic.failing")?;
        Ok(())
    }
}
