//! Sectors that a power cut damages: sectors that were changed and not flushed, or on command flushed as well.

use super::older::MOST;
use engine::random::Stream;
use std::collections::BTreeMap;
use std::sync::Arc;
use units::{HostOp, Request, SECTOR_BYTES};

const SECTOR: usize = SECTOR_BYTES as usize;
/// A write of the sector is under way.
const UNDER_WAY: u64 = u64::MAX;

/// The contents of a sector after a cut, until it is written again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Damage {
    Unreadable,
    Zeros,
    /// Random bytes of this seed.
    Garbage(u64),
    /// The bytes of an earlier time.
    Old(Arc<[u8]>),
}

/// Sectors that were written since a fault was given, and not flushed.
#[derive(Clone, Debug, Default)]
pub(super) struct Unflushed {
    /// By sector: when the last write of it was answered.
    answered: BTreeMap<u64, u64>,
    /// Writes that were answered.
    clock: u64,
    /// Flushes under way: tags, and the writes that were answered before each.
    flushes: Vec<(u32, u64)>,
    /// Flushed sectors stay among them.
    with_flushed: bool,
}

impl Unflushed {
    /// None yet. `with_flushed`: sectors that are flushed stay among them.
    pub fn new(with_flushed: bool) -> Self {
        Self { with_flushed, ..Self::default() }
    }

    /// Trims of more than the older bytes that are kept would take memory for each of their sectors.
    fn counts(request: &Request) -> bool {
        request.op == HostOp::Write || u64::from(request.sectors) <= MOST
    }

    /// A request is given to the drive.
    pub fn submitted(&mut self, tag: u32, request: &Request) {
        match request.op {
            HostOp::Flush => self.flushes.push((tag, self.clock)),
            HostOp::Write | HostOp::Trim if Self::counts(request) => {
                let sectors = request.first_sector..request.end_sector();
                self.answered.extend(sectors.map(|sector| (sector, UNDER_WAY)));
            }
            _ => {}
        }
    }

    /// The drive has completed a request.
    pub fn completed(&mut self, tag: u32, request: &Request, failed: bool) {
        match request.op {
            HostOp::Flush => {
                let Some(place) = self.flushes.iter().position(|(own, _)| *own == tag) else { return };
                let (_, covered) = self.flushes.swap_remove(place);
                if !failed && !self.with_flushed {
                    self.answered.retain(|_, answered| *answered > covered);
                }
            }
            HostOp::Write if request.fua && !failed && !self.with_flushed => {
                for sector in request.first_sector..request.end_sector() {
                    self.answered.remove(&sector);
                }
            }
            HostOp::Write | HostOp::Trim if Self::counts(request) => {
                self.clock += 1;
                let answered = self.answered.range_mut(request.first_sector..request.end_sector());
                answered.for_each(|(_, at)| *at = self.clock);
            }
            _ => {}
        }
    }

    /// Power goes: the sectors, in order, of which nobody knows what they hold.
    pub fn take(&mut self) -> Vec<u64> {
        self.flushes.clear();
        std::mem::take(&mut self.answered).into_keys().collect()
    }
}

/// Damaged sectors, by number.
#[derive(Clone, Debug, Default)]
pub(super) struct Damaged(BTreeMap<u64, Damage>);

impl Damaged {
    pub fn add(&mut self, sector: u64, damage: Damage) {
        self.0.insert(sector, damage);
    }

    /// The damage of some sectors.
    pub fn of(&self, first: u64, end: u64) -> Self {
        Self(self.0.range(first..end).map(|(sector, damage)| (*sector, damage.clone())).collect())
    }

    /// Sectors get new contents.
    pub fn renew(&mut self, first: u64, end: u64) {
        if self.0.range(first..end).next().is_some() {
            self.0.retain(|sector, _| !(first..end).contains(sector));
        }
    }

    /// Puts damage into the bytes of a read from sector `first` on. `false`: a sector cannot be read.
    pub fn spoil(&self, first: u64, bytes: &mut [u8]) -> bool {
        let end = first + (bytes.len() / SECTOR) as u64;
        for (sector, damage) in self.0.range(first..end) {
            let bytes = &mut bytes[(sector - first) as usize * SECTOR..][..SECTOR];
            match damage {
                Damage::Unreadable => return false,
                Damage::Zeros => bytes.fill(0),
                Damage::Old(old) => bytes.copy_from_slice(old),
                Damage::Garbage(seed) => {
                    let mut stream = Stream::new(seed ^ sector, "garbage");
                    bytes.chunks_exact_mut(8).for_each(|part| part.copy_from_slice(&stream.next_u64().to_le_bytes()));
                }
            }
        }
        true
    }
}
