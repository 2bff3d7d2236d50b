//! What was done.

use crate::LogReport;

/// Counters since the drive was formatted or opened, and how it stands now. Pages are pages of the map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Pages that the host wrote and that were remapped.
    pub host_pages: u64,
    /// Pages that the host wrote in place.
    pub in_place_pages: u64,
    /// Pages that reclamation copied.
    pub var_copies: u64,
    /// Pages written again elsewhere because their write failed.
    pub moved_pages: u64,
    /// Virtual superpages taken for all these.
    pub superpages: u64,
    /// Slots of them that were written with nothing in them, or given up.
    pub pad_pages: u64,
    /// Slots of open ones that are still to be filled.
    pub open_slots: u64,
    /// Virtual superpages reclaimed.
    pub victims: u64,
    /// Virtual superpages with valid pages that could not be read for reclamation.
    pub unreadable: u64,
    /// Pages whose old contents were read to complete a write of a part.
    pub merge_reads: u64,
    /// Reads of the host.
    pub reads: u64,
    /// Reads of the host that needed more than one command.
    pub reads_split: u64,
    /// Commands for reads of the host.
    pub read_commands: u64,
    /// Superpages written for the journal.
    pub journal_superpages: u64,
    /// Superpages written for checkpoints.
    pub checkpoint_superpages: u64,
    /// Checkpoints completed.
    pub checkpoints: u64,
    /// Flushes that the device was asked for.
    pub device_flushes: u64,
    /// Flushes of the host.
    pub host_flushes: u64,
    /// Commands that failed.
    pub failed_commands: u64,
    /// Free virtual superpages.
    pub free: u32,
    /// Virtual superpages that are free as soon as the journal says so.
    pub empty: u32,
    /// Virtual superpages set aside because a write of them failed.
    pub aside: u32,
    /// Pages that are mapped.
    pub mapped_pages: u32,
    /// Bytes of memory: the map both ways, 4 bytes a page each, the list of virtual superpages, and buffers.
    pub ram_bytes: u64,
    /// A flush failed, too many commands failed in a row, or no space is left: only reads are served.
    pub broken: bool,
}

impl Report {
    /// What was counted since an earlier report, and how it stands now.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            host_pages: self.host_pages - earlier.host_pages,
            in_place_pages: self.in_place_pages - earlier.in_place_pages,
            var_copies: self.var_copies - earlier.var_copies,
            moved_pages: self.moved_pages - earlier.moved_pages,
            superpages: self.superpages - earlier.superpages,
            pad_pages: self.pad_pages - earlier.pad_pages,
            victims: self.victims - earlier.victims,
            unreadable: self.unreadable - earlier.unreadable,
            merge_reads: self.merge_reads - earlier.merge_reads,
            reads: self.reads - earlier.reads,
            reads_split: self.reads_split - earlier.reads_split,
            read_commands: self.read_commands - earlier.read_commands,
            journal_superpages: self.journal_superpages - earlier.journal_superpages,
            checkpoint_superpages: self.checkpoint_superpages - earlier.checkpoint_superpages,
            checkpoints: self.checkpoints - earlier.checkpoints,
            device_flushes: self.device_flushes - earlier.device_flushes,
            host_flushes: self.host_flushes - earlier.host_flushes,
            failed_commands: self.failed_commands - earlier.failed_commands,
            ..*self
        }
    }
}

/// The report of either driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostReport {
    /// Of [`crate::Hard`].
    Hard(Report),
    /// Of [`crate::LogCache`].
    LogCache(LogReport),
}

impl HostReport {
    /// What was counted since an earlier report of the same driver, and how it stands now.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        match (self, earlier) {
            (HostReport::Hard(now), HostReport::Hard(earlier)) => HostReport::Hard(now.since(earlier)),
            (HostReport::LogCache(now), HostReport::LogCache(earlier)) => HostReport::LogCache(now.since(earlier)),
            _ => *self,
        }
    }

    /// Only reads are served.
    pub fn is_broken(&self) -> bool {
        match self {
            HostReport::Hard(report) => report.broken,
            HostReport::LogCache(report) => report.broken,
        }
    }

    /// Bytes of memory.
    pub fn ram_bytes(&self) -> u64 {
        match self {
            HostReport::Hard(report) => report.ram_bytes,
            HostReport::LogCache(report) => report.ram_bytes,
        }
    }

    /// The report of a remapping driver, if this is one.
    pub fn hard(&self) -> Option<&Report> {
        match self {
            HostReport::Hard(report) => Some(report),
            HostReport::LogCache(_) => None,
        }
    }

    /// The report of a log cache, if this is one.
    pub fn log_cache(&self) -> Option<&LogReport> {
        match self {
            HostReport::Hard(_) => None,
            HostReport::LogCache(report) => Some(report),
        }
    }
}
