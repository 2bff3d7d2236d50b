//! How fast blocks are erased: host bytes for an erase, with its error.
//!
//! Faithful to: the error of a mean is the error of its batches. Where the halves of a window differ, the second half
//! gives the rate. Simplified: a rate that rises or falls on is a straight line within a half. Protects: a rate still
//! on its way has no pace.

use super::{LifetimeError, WearStep, WearWindow};
use crate::interval::Cell;

/// Batches the error of the rate is taken from.
const BATCHES: usize = 8;
/// The uncertainty that "steady" leaves, as a share of the rate: the trend that the rule of preconditioning lets pass
/// is 10 % over its window, to either side of the middle.
pub(super) const UNSTEADY: f64 = 0.05;
/// A drive whose rate of erases goes on rising or falling by more than this between the last two quarters of a window
/// is not near its steady state: the range that the rule of preconditioning lets pass.
pub(super) const TREND_MAX: f64 = 0.20;

/// How fast blocks are erased.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Host bytes and erases of the average block in the window.
    window: (f64, f64),
    /// Host bytes for an erase of the average block from then on.
    pub bytes_per_erase: f64,
    /// Error of that, two-sided 95 %, as a share of it.
    pub error: f64,
    /// Rate of erases in the second half of the window divided by the rate in the first, where the drive was not steady
    /// and the second half alone counts.
    pub unsteady: Option<f64>,
}

impl Pace {
    pub(super) fn of(window: &WearWindow, host_bytes: u64) -> Result<Self, LifetimeError> {
        let whole = (host_bytes as f64, window.mean());
        let steps = &window.steps;
        let steady = Self { window: whole, bytes_per_erase: whole.0 / whole.1, error: UNSTEADY, unsteady: None };
        if steps.len() < BATCHES {
            return Ok(steady);
        }
        let at = |batch: usize| if batch == 0 { WearStep::default() } else { steps[batch * steps.len() / BATCHES - 1] };
        // Erases of all blocks for a byte, between two batches; nothing where nothing was written.
        let rate = |from: usize, to: usize| {
            let (from, to) = (at(from), at(to));
            (to.host_bytes > from.host_bytes)
                .then(|| (to.erases - from.erases) as f64 / (to.host_bytes - from.host_bytes) as f64)
        };
        let batches = |from: usize| (from..BATCHES).filter_map(|batch| rate(batch, batch + 1)).collect::<Vec<f64>>();
        let half = BATCHES / 2;
        if let (Some(first), Some(second)) = (rate(0, half), rate(half, BATCHES))
            && (second - first).abs() > UNSTEADY * (first + second)
            && second > 0.0
        {
            let quarters = (rate(half, half + half / 2), rate(half + half / 2, BATCHES));
            let (third, last) = if let (Some(third), Some(last)) = quarters { (third, last) } else { (second, second) };
            let trend = (last - third).abs() / second;
            if trend > TREND_MAX && (last > third) == (second > first) {
                return Err(LifetimeError::Unsteady { change: last / third.max(f64::MIN_POSITIVE) });
            }
            let error = batch_error(&batches(half)).hypot(UNSTEADY).hypot(trend);
            let bytes_per_erase = window.erases.len() as f64 / second;
            return Ok(Self {
                bytes_per_erase,
                error,
                unsteady: Some(second / first.max(f64::MIN_POSITIVE)),
                ..steady
            });
        }
        Ok(Self { error: batch_error(&batches(0)).hypot(UNSTEADY), ..steady })
    }

    /// Host bytes until the average block has been erased so often, at a rate this many times higher.
    pub(super) fn bytes(self, erases: f64, faster: f64) -> f64 {
        self.window.0 + (erases - self.window.1) * self.bytes_per_erase / faster
    }

    /// Erases of the average block after `bytes` of the host; never fewer than in the window.
    pub(super) fn erases(self, bytes: f64) -> f64 {
        self.window.1 + ((bytes - self.window.0) / self.bytes_per_erase).max(0.0)
    }
}

/// Error of the mean of batches, two-sided 95 %, as a share of it.
fn batch_error(rates: &[f64]) -> f64 {
    let known = Cell::of(rates, 0.0).filter(|cell| cell.mean > 0.0);
    known.and_then(|cell| Some(cell.half? / cell.mean)).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pace of 64 steps of 1,000 bytes each; `erases` were done after each step.
    fn pace(erases: impl Fn(u64) -> u64) -> Result<Pace, LifetimeError> {
        let steps = (1..=64).map(|step| WearStep { host_bytes: step * 1000, erases: erases(step), live_bytes: 0 });
        let window = WearWindow { steps: steps.collect(), erases: vec![[5, 6, 6, 7, 7]; 32], ..WearWindow::default() };
        Pace::of(&window, 64_000)
    }

    #[test]
    fn the_error_of_the_rate_comes_from_its_batches() {
        let steady = pace(|step| step * 10).unwrap();
        assert!((steady.error - UNSTEADY).abs() < 1e-9 && steady.unsteady.is_none(), "{steady:?}");
        // Batches of eight steps that differ by turns.
        let rough = pace(|step| step * 10 + if step / 8 % 2 == 1 { 40 } else { 0 }).unwrap();
        assert!(rough.error > 0.2 && rough.unsteady.is_none(), "{rough:?}");
    }

    #[test]
    fn a_window_that_began_with_an_empty_drive_counts_by_its_second_half() {
        // Nothing was erased in the first quarter, then one block for each 100 bytes.
        let filled = pace(|step| step.saturating_sub(16) * 10).unwrap();
        assert!((filled.unsteady.unwrap() - 2.0).abs() < 1e-9, "{filled:?}");
        // 32 blocks, each erased once for 3,200 bytes; the window's own mean would have said 4,267.
        assert!((filled.bytes_per_erase - 3200.0).abs() < 1e-9 && (filled.error - UNSTEADY).abs() < 1e-9, "{filled:?}");
        assert!(
            (filled.bytes(12.0, 1.0) - 96_000.0).abs() < 1e-6,
            "the window took 64,000 bytes for 2 erases of each block"
        );
        // Erases that become more frequent all the time: nobody knows how far that goes on.
        let rising = pace(|step| step * step).unwrap_err();
        assert!(matches!(rising, LifetimeError::Unsteady { change } if (change - 7.0 / 5.0).abs() < 0.02), "{rising}");
    }
}
