//! Memory of the controller, beside flash, which layers may write.
//!
//! A power cut takes records, waiting times and payloads. It leaves non-volatile memory, the payloads that a page there
//! names, and pages that wait until their program is full.

use crate::flash::WaitList;
use crate::nvram::Nvram;
use crate::payloads::Payloads;

/// Memory of the controller: see the module description.
#[derive(Clone, Debug)]
pub struct Memory {
    /// Pages of cells and records that are on their way.
    pub payloads: Payloads,
    /// Memory that outlives a power cut.
    pub nvram: Nvram,
    /// Waiting times that events and the ends of operations name, until the host has heard of them.
    pub waits: WaitList,
    /// The held pages of each block while nobody serves the flash: timed flash takes and leaves them.
    pub(crate) held: Vec<Held>,
}

/// Pages of a block that are in memory and not in the cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    /// Pages of the program that is not full.
    pub unfilled: u16,
    /// Pages before those whose cells have had the first of two passes.
    pub passed: u16,
}

impl Memory {
    pub(crate) fn new(payloads: Payloads) -> Self {
        Self { payloads, nvram: Nvram::default(), waits: WaitList::default(), held: Vec::new() }
    }

    pub(crate) fn lose_power(&mut self) {
        self.waits.clear();
        let kept: Vec<_> = self.nvram.oldest_first().iter().map(|(_, page)| (page.payload, page.mask)).collect();
        self.payloads.lose_all_but(&kept);
    }
}
