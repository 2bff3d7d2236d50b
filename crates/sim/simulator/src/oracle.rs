//! The oracle: a plain map from sector to the last acknowledged version.
//!
//! Every write and trim gets a number in order of submission. A sector of a write holds the stamp
//! `number << 32 | sector + 1`, so stale, mixed and foreign data all look wrong; a trimmed or never
//! written sector holds zero. Several requests for one sector may be under way at once; a read may then
//! return any version from the last one acknowledged before it began to the last one submitted before it
//! ended, and nothing else.

use std::collections::BTreeMap;
use units::{HostOp, Request};

/// What is known of one sector.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// Newest version acknowledged.
    acknowledged: u32,
    /// Oldest version a power cut may leave.
    durable: u32,
    /// Newest version submitted.
    submitted: u32,
    /// Newest trim submitted; 0 (never written) counts as one.
    trim: u32,
}

#[derive(Clone, Debug)]
struct Pending {
    request: Request,
    number: u32,
    /// For a read: what was acknowledged for each sector when it began.
    floor: Vec<u32>,
    /// For a flush: how many unflushed changes it makes durable.
    changes: u64,
}

/// Sectors trimmed, or written to a volatile buffer, and acknowledged, not yet flushed.
#[derive(Clone, Copy, Debug)]
struct Unflushed {
    first: u64,
    end: u64,
    number: u32,
}

/// The expected state of a drive.
#[derive(Clone, Debug)]
pub struct Oracle {
    /// Empty until the first request: a drive that carries the host's cells never needs it.
    known: Vec<Known>,
    sectors: u64,
    sectors_per_page: u64,
    pending: Vec<Option<Pending>>,
    unflushed: Vec<Unflushed>,
    /// Changes removed from the front of `unflushed` so far.
    flushed: u64,
    /// Acknowledged writes may be lost with power until they are flushed.
    volatile: bool,
    number: u32,
    violation: Option<String>,
    /// Sectors of an aligned window of which a write is there as a whole or not at all; 0: nothing is checked of it.
    atomic: u64,
    /// Where atomicity is checked, the first sector of each write by its number, and the one after the last.
    writes: BTreeMap<u32, (u64, u64)>,
}

impl Oracle {
    /// An oracle for an empty drive.
    pub fn new(sectors: u64, sectors_per_page: u32) -> Self {
        Self {
            known: Vec::new(),
            sectors,
            sectors_per_page: u64::from(sectors_per_page),
            pending: Vec::new(),
            unflushed: Vec::new(),
            flushed: 0,
            volatile: false,
            number: 0,
            violation: None,
            atomic: 0,
            writes: BTreeMap::new(),
        }
    }

    /// From now on a write is checked to be there as a whole or not at all within aligned windows of so many sectors.
    pub fn set_atomic(&mut self, sectors: u64) {
        self.atomic = sectors;
    }

    /// Whether acknowledged writes without FUA may be lost with power until they are flushed.
    pub fn set_volatile(&mut self, volatile: bool) {
        self.volatile = volatile;
    }

    /// The first violation seen, in words.
    pub fn violation(&self) -> Option<&str> {
        self.violation.as_deref()
    }

    /// Knows of each of these pages the newest version of a page that another oracle knows. All is durable.
    /// `pages`: the page there, and the page here.
    pub(crate) fn tile(&mut self, small: &Self, pages: impl Iterator<Item = (u64, u64)>) {
        if small.known.is_empty() {
            return; // its drive carries cells
        }
        self.begin();
        self.number = self.number.max(small.number);
        for (there, here) in pages {
            for sector in 0..self.sectors_per_page {
                let Known { submitted, trim, .. } = small.known(there * small.sectors_per_page + sector);
                let known = &mut self.known[(here * self.sectors_per_page + sector) as usize];
                *known = Known { acknowledged: submitted, durable: submitted, submitted, trim };
            }
        }
    }

    /// The stamp of the same version of another sector.
    pub(crate) fn stamp_at(stamp: u64, sector: u64) -> u64 {
        if stamp == 0 { 0 } else { stamp >> 32 << 32 | (sector + 1) }
    }

    fn known(&self, sector: u64) -> Known {
        self.known.get(sector as usize).copied().unwrap_or_default()
    }

    /// Makes room for what is known, once.
    fn begin(&mut self) {
        if self.known.is_empty() {
            self.known = vec![Known::default(); self.sectors as usize];
        }
    }

    /// The sectors a request changes: a trim changes whole pages only.
    fn range(&self, request: &Request) -> std::ops::Range<u64> {
        if request.op == HostOp::Trim {
            let first = request.first_sector.next_multiple_of(self.sectors_per_page);
            let end = request.end_sector() / self.sectors_per_page * self.sectors_per_page;
            return first..end.max(first);
        }
        request.first_sector..request.end_sector()
    }

    /// A request was submitted under `id`.
    pub fn submitted(&mut self, id: u32, request: &Request) {
        self.begin();
        let range = self.range(request);
        let mut pending = Pending { request: *request, number: 0, floor: Vec::new(), changes: 0 };
        match request.op {
            HostOp::Read => {
                pending.floor = range.map(|sector| self.known[sector as usize].acknowledged).collect();
            }
            HostOp::Write | HostOp::Trim => {
                self.number += 1;
                pending.number = self.number;
                if self.atomic > 0 && request.op == HostOp::Write {
                    self.writes.insert(self.number, (range.start, range.end));
                }
                for sector in range {
                    let known = &mut self.known[sector as usize];
                    known.submitted = self.number;
                    if request.op == HostOp::Trim {
                        known.trim = self.number;
                    }
                }
            }
            HostOp::Flush => pending.changes = self.flushed + self.unflushed.len() as u64,
        }
        if self.pending.len() <= id as usize {
            self.pending.resize(id as usize + 1, None);
        }
        self.pending[id as usize] = Some(pending);
    }

    /// The stamp the write `id` puts into `sector`.
    pub fn stamp(&self, id: u32, sector: u64) -> u64 {
        let number = self.pending[id as usize].as_ref().map_or(0, |pending| pending.number);
        u64::from(number) << 32 | (sector + 1)
    }

    /// The stamp a sector holds; no stamp at all where its words differ.
    /// Panics if the cell has less than eight bytes.
    pub fn stamp_in(cell: &[u8]) -> u64 {
        let (first, _) = cell.split_first_chunk::<8>().expect("a cell has a word");
        if cell.chunks_exact(8).all(|word| word == first) { u64::from_le_bytes(*first) } else { u64::MAX }
    }

    /// Checks one sector a read returned.
    pub fn check_read(&mut self, id: u32, sector: u64, value: u64) {
        let Some(pending) = &self.pending[id as usize] else { return };
        let floor = pending.floor[(sector - pending.request.first_sector) as usize];
        self.check(sector, value, floor, "a read");
    }

    /// Checks one sector found after a power cut.
    pub fn check_after_cut(&mut self, sector: u64, value: u64) {
        let floor = self.known(sector).durable;
        self.check(sector, value, floor, "the drive after a power cut");
    }

    /// Checks that the power cut that left `found` tore no write within a window: where a part of a write is there, the
    /// rest of it is there or was changed by later requests.
    pub fn check_torn(&mut self, found: &[u64]) {
        let version = |sector: u64| match found[sector as usize] {
            0 => self.known(sector).trim,
            value => (value >> 32) as u32,
        };
        let windows = (0..found.len() as u64).step_by(self.atomic.max(1) as usize).filter(|_| self.atomic > 0);
        for first in windows {
            let end = (first + self.atomic).min(found.len() as u64);
            // A durable write was checked as a whole.
            let is_open = |sector: &u64| version(*sector) > self.known(*sector).durable;
            for sector in (first..end).filter(is_open) {
                let Some((from, until)) = self.writes.get(&version(sector)) else { continue };
                let mut rest = first.max(*from)..end.min(*until);
                if let Some(torn) = rest.find(|other| version(*other) < version(sector)) {
                    let number = version(sector);
                    self.violation.get_or_insert_with(|| {
                        format!(
                            "write {number} of sectors {from} to {until} is torn by a power cut: sector {sector} has \
                             it, and sector {torn} an older version, in a window of {} sectors",
                            self.atomic
                        )
                    });
                    return;
                }
            }
        }
    }

    fn check(&mut self, sector: u64, value: u64, floor: u32, who: &str) {
        let known = self.known(sector);
        let legal = if value == 0 {
            known.trim >= floor
        } else {
            let number = (value >> 32) as u32;
            value & 0xffff_ffff == sector + 1 && (floor..=known.submitted).contains(&number)
        };
        if !legal && self.violation.is_none() {
            self.violation = Some(format!(
                "sector {sector}: {who} returned version {} of sector {}, but versions {floor} to {} are legal (last \
                 trim {})",
                value >> 32,
                (value & 0xffff_ffff) as i64 - 1,
                known.submitted,
                known.trim,
            ));
        }
    }

    /// Request `id` was acknowledged (or ended with an error, which acknowledges nothing).
    pub fn completed(&mut self, id: u32, failed: bool) {
        let Some(pending) = self.pending[id as usize].take() else { return };
        if failed {
            return;
        }
        let range = self.range(&pending.request);
        match pending.request.op {
            HostOp::Read => {}
            HostOp::Write | HostOp::Trim => {
                let waits = pending.request.op == HostOp::Trim || self.volatile && !pending.request.fua;
                for sector in range.clone() {
                    let known = &mut self.known[sector as usize];
                    known.acknowledged = known.acknowledged.max(pending.number);
                    if !waits {
                        known.durable = known.durable.max(pending.number);
                    }
                }
                if waits {
                    self.unflushed.push(Unflushed { first: range.start, end: range.end, number: pending.number });
                }
            }
            HostOp::Flush => {
                let count = pending.changes.saturating_sub(self.flushed) as usize;
                for change in self.unflushed.drain(..count) {
                    for sector in change.first..change.end {
                        let known = &mut self.known[sector as usize];
                        known.durable = known.durable.max(change.number);
                    }
                }
                self.flushed += count as u64;
            }
        }
    }

    /// Power was cut: work under way is forgotten, and `found` is the drive's contents now. From here on the drive must
    /// keep these contents.
    pub fn after_cut(&mut self, found: &[u64]) {
        self.pending.clear();
        self.flushed += self.unflushed.len() as u64;
        self.unflushed.clear();
        self.writes.clear();
        self.begin();
        for (known, value) in self.known.iter_mut().zip(found) {
            let number = if *value == 0 { known.trim } else { (*value >> 32) as u32 };
            *known = Known {
                acknowledged: number,
                durable: number,
                submitted: number,
                trim: if *value == 0 { number } else { 0 },
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The verdict on a drive of 16 sectors with windows of 8, by the version of each sector. Write 1 of all sectors
    /// was answered, and write 2 of sectors 4 to 12 is under way.
    fn verdict(versions: [u64; 16]) -> Option<String> {
        let write =
            |first_sector, sectors| Request { arrival: 0, first_sector, sectors, op: HostOp::Write, fua: false };
        let mut oracle = Oracle::new(16, 4);
        oracle.set_atomic(8);
        oracle.submitted(0, &write(0, 16));
        oracle.completed(0, false);
        oracle.submitted(1, &write(4, 8));
        let found: Vec<u64> = (1..).zip(versions).map(|(stamp, version)| version << 32 | stamp).collect();
        oracle.check_torn(&found);
        oracle.violation().map(str::to_owned)
    }

    #[test]
    fn a_write_of_which_a_part_of_a_window_is_there_is_torn() {
        assert_eq!(verdict([1; 16]), None);
        assert_eq!(verdict([1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1]), None);
        assert_eq!(verdict([1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1]), None, "windows are apart");
        let torn = verdict([1, 1, 1, 1, 2, 2, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1]).unwrap();
        assert!(torn.contains("write 2 of sectors 4 to 12 is torn") && torn.contains("sector 6 an older"), "{torn}");
    }
}
