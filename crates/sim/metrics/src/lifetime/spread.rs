//! Differences of blocks in wear: the lasting part, and chance.
//!
//! Faithful to: the differences in which two parts of a window agree (their covariance) last; the rest is a random
//! walk. Blocks that hold cold data are found out slowly: where quarters late in the window agree in more than early
//! ones do, the second half counts. Simplified: a spread that still grows is projected as it was in the second half, as
//! if all of it lasted. Protects: the cautious lasting share is never below the likely one.

use super::WearWindow;

/// Standard errors of a normal variable, two-sided 95 %.
const SIGMAS: f64 = 1.96;
/// Least lasting variance, relative to the mean, whose growth counts: planes of a drive wander in wear by some per
/// cent, all blocks of one together, and that looks like growth or its opposite for a while. Cold blocks that are found
/// out differ by a third and more.
const DRIFT_MIN: f64 = 0.1;

pub(super) struct Spread {
    /// Erases of each block in the part of the window that counts, relative to their mean.
    pub rates: Vec<f64>,
    pub mean: f64,
    /// Variance of the rates.
    pub variance: f64,
    /// What of it lasts, and the error of that.
    lasting: f64,
    error: f64,
    /// Whether it was still growing.
    is_growing: bool,
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

pub(super) fn covariance(a: &[f64], b: &[f64]) -> f64 {
    let (mean_a, mean_b) = (mean(a), mean(b));
    a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b)).sum::<f64>() / (a.len().max(2) - 1) as f64
}

/// Covariance of two parts, and its standard error; nothing where a part has no spread of its own to tell from.
fn agreement(a: &[f64], b: &[f64]) -> Option<(f64, f64)> {
    let (of_a, of_b) = (covariance(a, a), covariance(b, b));
    let both = covariance(a, b);
    (of_a > 0.0 && of_b > 0.0).then(|| (both, ((of_a * of_b + both * both) / a.len() as f64).sqrt()))
}

/// How much more the last two of four parts agree in than the first two, and its standard error. They are of the same
/// blocks, so the difference is known far better than either.
fn growth(quarters: &[Vec<f64>; 4]) -> (f64, f64) {
    let means = [0, 1, 2, 3].map(|quarter| mean(&quarters[quarter]));
    let both = |block: usize, a: usize, b: usize| (quarters[a][block] - means[a]) * (quarters[b][block] - means[b]);
    let grown: Vec<f64> = (0..quarters[0].len()).map(|block| both(block, 2, 3) - both(block, 0, 1)).collect();
    (mean(&grown), (covariance(&grown, &grown) / grown.len() as f64).sqrt())
}

/// Erases of each block from one quarter's beginning to another's, relative to their mean, and that.
fn part(window: &WearWindow, from: usize, to: usize) -> (Vec<f64>, f64) {
    let erases: Vec<f64> = window.erases.iter().map(|row| f64::from(row[to] - row[from])).collect();
    let mean = mean(&erases);
    (erases.into_iter().map(|erases| erases / mean.max(f64::MIN_POSITIVE)).collect(), mean)
}

impl Spread {
    /// The spread of the whole window, or of its second half where it was still growing.
    pub fn of(window: &WearWindow) -> (Self, Option<Self>) {
        let (first_half, second_half) = (part(window, 0, 2), part(window, 2, 4));
        let whole = Self::between(part(window, 0, 4), agreement(&first_half.0, &second_half.0));
        let quarters = [0, 1, 2, 3].map(|quarter| part(window, quarter, quarter + 1).0);
        let (grown, error) = growth(&quarters);
        let late =
            agreement(&quarters[2], &quarters[3]).filter(|(after, _)| grown > SIGMAS * error && *after > DRIFT_MIN);
        (whole, late.map(|late| Self { is_growing: true, ..Self::between(second_half, Some(late)) }))
    }

    fn between((rates, mean): (Vec<f64>, f64), agreed: Option<(f64, f64)>) -> Self {
        let variance = covariance(&rates, &rates);
        // One part alone cannot tell what lasts: then all of it may.
        let (lasting, error) = agreed.unwrap_or((0.0, variance));
        Self { rates, mean, variance, lasting, error, is_growing: false }
    }

    /// Share of the variance that lasts.
    pub fn likely(&self) -> f64 {
        self.share(self.lasting)
    }

    /// The same at the upper end of its error; all of it while it grows.
    pub fn cautious(&self) -> f64 {
        if self.is_growing { self.share(self.variance) } else { self.share(self.lasting + SIGMAS * self.error) }
    }

    fn share(&self, lasting: f64) -> f64 {
        if self.variance > 0.0 { (lasting / self.variance).clamp(0.0, 1.0) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 200 blocks. Some, in a thousand, hold cold data and are not erased in each of four quarters; the others
    /// are, by turns.
    fn window(cold: [usize; 4]) -> WearWindow {
        let block = |index: usize| {
            let mut row = [0; 5];
            for quarter in 0..4 {
                let is_hot = index * 5 >= cold[quarter];
                // Some more often by chance, others in the next quarter.
                row[quarter + 1] = row[quarter]
                    + if is_hot {
                        (10_000 / (1000 - cold[quarter])) as u32 + ((index + quarter) % 3) as u32
                    } else {
                        0
                    };
            }
            row
        };
        WearWindow { erases: (0..200).map(block).collect(), ..WearWindow::default() }
    }

    #[test]
    fn cold_blocks_that_are_found_out_slowly_are_told_from_a_spread_that_stays() {
        let (whole, late) = Spread::of(&window([100, 200, 350, 450]));
        let late = late.expect("the spread grew");
        assert!(
            late.variance > 1.3 * whole.variance && late.likely() > 0.8,
            "{} {} {}",
            late.variance,
            whole.variance,
            late.likely()
        );
        assert!((late.cautious() - 1.0).abs() < 1e-9, "all of it may last");
        for steady in [[450; 4], [0; 4], [450, 350, 200, 100]] {
            assert!(Spread::of(&window(steady)).1.is_none(), "{steady:?}");
        }
    }
}
