//! Memory of the controller, beside flash: what layers may write.
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
    /// What outlives a power cut.
    pub nvram: Nvram,
    /// Waiting times that events and the ends of operations name, until the host has heard of them.
    pub waits: WaitList,
    /// Pages of each block whose program is not full, while nobody serves the flash: timed flash takes and leaves them.
    pub(crate) held: Vec<u16>,
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
