//! Counters of drivers.

use crate::Source;
use std::ops::Index;

/// A number of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    pub name: &'static str,
    /// How often, or how much.
    pub count: u64,
    /// It was counted since the driver was formatted or opened; otherwise it is a state of this moment.
    pub is_sum: bool,
}

impl Counter {
    /// A count since the driver was formatted or opened.
    pub const fn sum(name: &'static str, count: u64) -> Self {
        Self { name, count, is_sum: true }
    }

    /// A state of this moment.
    pub const fn now(name: &'static str, count: u64) -> Self {
        Self { name, count, is_sum: false }
    }
}

/// The counters of every driver, since it was formatted or opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCounts {
    /// Pages that the host wrote and that the driver placed.
    pub host_pages: u64,
    /// Pages whose old contents were read to complete a write of a part.
    pub merge_reads: u64,
    /// Reads of the host.
    pub reads: u64,
    /// Reads of the host that needed more than one command.
    pub reads_split: u64,
    /// Commands for reads of the host.
    pub read_commands: u64,
    /// Pages that reads of the host found in memory, or knew to be zeros.
    pub memory_hits: u64,
    /// Pages that reads of the host found in part 0 of the device, see [`Source::Device`].
    pub home_hits: u64,
    /// Pages that reads of the host found in other parts.
    pub log_hits: u64,
    /// Flushes that the device was asked for.
    pub device_flushes: u64,
    /// Flushes of the host.
    pub host_flushes: u64,
    /// Commands that failed.
    pub failed_commands: u64,
}

impl HostCounts {
    /// A read of the host found a page there.
    pub(crate) fn found(&mut self, source: Source) {
        match source {
            Source::Zeros | Source::Memory { .. } => self.memory_hits += 1,
            Source::Device { part: 0, .. } => self.home_hits += 1,
            Source::Device { .. } => self.log_hits += 1,
        }
    }
}

/// The report of any driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostReport {
    /// Name of the driver.
    pub driver: &'static str,
    /// Counters, in display order.
    pub counters: Vec<Counter>,
    /// Bytes of memory.
    pub ram_bytes: u64,
    /// Only reads are served.
    pub broken: bool,
}

impl HostReport {
    /// The counts since an earlier report of the same driver, and the states of this moment.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut since = self.clone();
        for (counter, before) in since.counters.iter_mut().zip(&earlier.counters).filter(|(counter, _)| counter.is_sum)
        {
            counter.count -= before.count;
        }
        since
    }

    /// The counter of this name; `None`: the driver has none.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.counters.iter().find(|counter| counter.name == name).map(|counter| counter.count)
    }
}

impl Index<&str> for HostReport {
    type Output = u64;

    /// The counter of this name, which the driver has.
    fn index(&self, name: &str) -> &u64 {
        let counter = self.counters.iter().find(|counter| counter.name == name);
        &counter.unwrap_or_else(|| panic!("{} counts no {name}", self.driver)).count
    }
}
