//! Requests that a device without time serves at once.
//!
//! Protects: measurements and marks as of a run that submits these requests one by one. There a round of `depth`
//! requests is submitted and then done, so a mark falls behind a whole round.

use super::{OBSERVE_EVERY, Observer, Probe, RunError, Runner, Source, count};
use crate::block_device::BlockDevice;
use units::Request;

impl<D: BlockDevice> Runner<'_, D> {
    /// Lets the device serve the next requests of a closed loop at once, as many as it takes. `false`: the observer
    /// wants to stop.
    #[inline]
    pub(super) fn serve_at_once(
        &mut self,
        source: &mut Source<'_>,
        depth: u32,
        observer: &mut dyn Observer,
        probe: &mut impl Probe<D>,
    ) -> Result<bool, RunError> {
        if self.plan.timed || self.outstanding > 0 {
            return Ok(true);
        }
        let depth = u64::from(depth);
        let until_mark = self.mark_at.saturating_sub(self.done).div_ceil(depth).max(1).saturating_mul(depth);
        let mut served = 0;
        while served < until_mark && self.unobserved < OBSERVE_EVERY {
            let ahead = source.ahead(self.device)?;
            let ahead = &ahead[..ahead.len().min((until_mark - served) as usize)];
            let count = if ahead.is_empty() { 0 } else { self.device.serve_at_once(ahead) };
            self.count_served(&ahead[..count], probe);
            let goes_on = count > 0 && count == ahead.len();
            source.take(count);
            served += count as u64;
            if !goes_on {
                break;
            }
        }
        let rest = served % depth;
        let goes_on = served == rest || self.note_done(served - rest, observer, probe);
        self.rest = rest as u32;
        Ok(goes_on)
    }

    /// Counts requests that were served at once.
    #[inline]
    fn count_served(&mut self, served: &[Request], probe: &mut impl Probe<D>) {
        for request in served {
            let is_unwritten = probe.is_unwritten(request);
            debug_assert!(!is_unwritten, "a read of pages that hold nothing is counted apart: {request:?}");
            let sheet = &mut self.sheet;
            sheet.addresses.record(request.op, request.first_sector);
            count(&mut sheet.totals[request.op.index()], request, false, self.page_shift);
        }
        self.unobserved += served.len() as u64;
    }
}
