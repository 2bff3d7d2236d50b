//! Observations of a session inside a device during a run.

use super::gauges::Gauges;
use super::written::Written;
use super::{Measurable, wear};
use crate::array::Array;
use crate::run::{HostMeasurements, Probe as RunProbe};
use nand::Flash as _;
use units::{DIE_CAUSES, Request};

/// Looks at programs for the series, and at wear and at what stands in caches and buffers if that is wanted.
pub(super) struct Probe<'a> {
    pub array: &'a Array,
    pub wear: Option<&'a mut wear::Recorder>,
    pub gauges: Option<&'a mut Gauges>,
    /// Pages that hold something.
    pub written: &'a mut Written,
}

impl<D: Measurable> RunProbe<D> for Probe<'_> {
    fn programs(&self, device: &D) -> [u64; DIE_CAUSES] {
        super::programs(device.drive()).map(|units| self.array.chip_pages(units))
    }

    fn free_blocks(&self, device: &D) -> Option<u32> {
        Some(device.drive().flash().state().blocks.free())
    }

    #[inline]
    fn is_unwritten(&mut self, request: &Request) -> bool {
        self.written.is_unwritten_read(request)
    }

    fn next_mark(&self) -> u64 {
        let wear = self.wear.as_ref().map_or(u64::MAX, |recorder| recorder.next_mark());
        self.gauges.as_ref().map_or(wear, |gauges| gauges.next_mark().min(wear))
    }

    fn mark(&mut self, device: &D, sheet: &HostMeasurements, done: u64) {
        if let Some(recorder) = self.wear.as_mut().filter(|recorder| done >= recorder.next_mark()) {
            recorder.mark(device.drive(), sheet, done);
        }
        if let Some(gauges) = self.gauges.as_mut().filter(|gauges| done >= gauges.next_mark()) {
            gauges.mark(device.drive(), done);
        }
    }
}
