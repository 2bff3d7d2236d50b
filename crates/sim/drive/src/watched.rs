//! Data of a drive for viewers: sums that are cheap to read, as often as a viewer likes.

use crate::host::Host;
use crate::measure::since;
use crate::requests::{Drive, Power};
use metrics::{LatencyRecorder, NoWaf, OpTotals, Unwritten};
use units::{DIE_CAUSES, DieId, HostOp, Nanos, SECTOR_BYTES};

/// Sums since [`Drive::measure`], the same that [`Drive::result`] makes a result of, without a copy.
#[derive(Clone, Debug)]
pub struct Pulse<'a> {
    /// Requests by kind, indexed by [`units::HostOp::index`].
    pub requests: &'a [OpTotals; 4],
    /// Latencies by kind, same index.
    pub latency: &'a [LatencyRecorder],
    /// Reads of pages that hold nothing, which are in neither of these.
    pub unwritten: &'a Unwritten,
    /// Flash reads, programs and erases by cause.
    pub flash: [[u64; DIE_CAUSES]; 3],
    /// Bytes that a program writes and a read reads, as flash counts them.
    pub page_bytes: u64,
    /// Simulated time of the measurement, ns.
    pub simulated: Nanos,
    /// Part of it with requests under way, ns.
    pub busy: Nanos,
    /// Requests under way, times how long they were, ns: over simulated time it is the mean queue depth.
    pub occupied: u128,
    /// Requests under way now.
    pub outstanding: u32,
    /// Why there is no write amplification, where there is none.
    pub no_waf: Option<NoWaf>,
    /// It is recorded what requests wait for.
    pub has_causes: bool,
}

/// How the blocks stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// All blocks of the flash.
    pub all: u64,
    /// Blocks that can be programmed: neither bad nor failed, on a die that answers.
    pub usable: u64,
    /// Usable ones that are erased and hold nothing.
    pub free: u64,
    /// As many as the capacity fills without spare space, parity or metadata.
    pub needed: u64,
    /// Dies of the flash.
    pub dies: u32,
    /// Dies that answer nothing.
    pub dead_dies: u32,
}

/// Wear and contents of each block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockMaps {
    /// Erases of each block; `None`: it must not be used.
    pub erases: Vec<Option<u32>>,
    /// Valid pages of each block; empty without power, and where the mapping does not tell.
    pub valid: Vec<u16>,
    /// Pages of a block, and blocks of a die.
    pub shape: (u32, u32),
}

impl Drive {
    /// The measurements up to now. `None`: nothing is measured.
    pub fn pulse(&self) -> Option<Pulse<'_>> {
        let (measuring, state) = (self.measuring.as_ref()?, self.flash()?);
        Some(Pulse {
            requests: &measuring.sheet.totals,
            latency: &measuring.sheet.latency,
            unwritten: &measuring.sheet.unwritten,
            flash: self.plan.array.chip_commands(&since(&state.counters, &measuring.before)),
            page_bytes: self.plan.array.chip_page_bytes().into(),
            simulated: self.now() - measuring.sheet.started,
            busy: measuring.busy,
            occupied: measuring.occupied,
            outstanding: if let Power::On(host) = &self.power { host.outstanding() } else { 0 },
            no_waf: self.plan.no_waf(measuring.sheet.totals[HostOp::Write.index()].pages),
            has_causes: metrics::records_causes(&self.plan.config.resolved),
        })
    }

    /// Name of the stack.
    pub fn stack(&self) -> &str {
        &self.plan.config.name
    }

    /// How the blocks stand; `None` while the drive is between on and off.
    pub fn blocks(&self) -> Option<Blocks> {
        let (state, geometry) = (self.flash()?, self.plan.geometry);
        let dead: Vec<bool> = (0..geometry.dies()).map(|die| state.die_is_dead(DieId(die))).collect();
        let per_die = (geometry.blocks() / geometry.dies()) as usize;
        let sectors =
            self.plan.remap.as_ref().map_or_else(|| self.plan.host_sectors(), |remap| remap.shape.device_sectors);
        let block = u64::from(geometry.pages_per_block) * u64::from(geometry.page_bytes);
        let mut blocks = Blocks {
            all: state.blocks().len() as u64,
            usable: 0,
            free: 0,
            needed: (sectors * SECTOR_BYTES).div_ceil(block),
            dies: self.plan.array.dies(),
            dead_dies: self.dead_dies(),
        };
        let alive = state.blocks().chunks(per_die).zip(&dead).filter(|(_, is_dead)| !**is_dead);
        for row in alive.flat_map(|(rows, _)| rows).filter(|row| !row.is_bad() && !row.has_failed()) {
            blocks.usable += 1;
            blocks.free += u64::from(row.is_free());
        }
        Some(blocks)
    }

    /// Erases and valid pages of each block; `None` while the drive is between on and off.
    pub fn block_maps(&self) -> Option<BlockMaps> {
        let (state, geometry) = (self.flash()?, self.plan.geometry);
        let reports = if let Power::On(host) = &self.power { Host::reports(host) } else { Vec::new() };
        let valid = reports.into_iter().map(|report| report.valid_pages).rfind(|pages| !pages.is_empty());
        Some(BlockMaps {
            erases: state.blocks().iter().map(|row| (!row.is_bad()).then_some(row.erases)).collect(),
            valid: valid.unwrap_or_default(),
            shape: (geometry.pages_per_block, geometry.blocks() / geometry.dies()),
        })
    }
}
