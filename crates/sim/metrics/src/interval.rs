//! Means and how well they are known.

/// The mean of some values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// The mean.
    pub mean: f64,
    /// Half of the 95 % confidence interval of the mean (Student's t), of a percentile at least the width of a bucket;
    /// `None` for a single repetition.
    pub half: Option<f64>,
}

/// 97.5 % points of Student's t distribution for 1 to 30 degrees of freedom.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];
/// The same point of the normal distribution.
const NORMAL: f64 = 1.959_964;

/// The 97.5 % point of Student's t distribution.
fn student(freedom: usize) -> f64 {
    if let Some(point) = freedom.checked_sub(1).and_then(|at| STUDENT.get(at)) {
        return *point;
    }
    // Cornish and Fisher's series about the normal distribution; from 31 degrees on it errs by less than 0.0001.
    let (z, n) = (NORMAL, freedom as f64);
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    z + first / n + second / (n * n)
}

impl Cell {
    /// The mean of some values. No value is known better than to this share of itself.
    pub fn of(values: &[f64], resolution: f64) -> Option<Self> {
        let count = values.len();
        if count == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / count as f64;
        let half = (count > 1).then(|| {
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1) as f64;
            (student(count - 1) * (variance / count as f64).sqrt()).max(resolution * mean.abs())
        });
        Some(Self { mean, half })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_follows_students_t() {
        assert_eq!(Cell::of(&[], 0.0), None);
        assert_eq!(Cell::of(&[3.0], 0.1), Some(Cell { mean: 3.0, half: None }));
        // Mean 2, deviation 1, three values: 4.303 / sqrt 3.
        let cell = Cell::of(&[1.0, 2.0, 3.0], 0.1).unwrap();
        assert!((cell.mean - 2.0).abs() < 1e-12 && (cell.half.unwrap() - 2.4843).abs() < 1e-3);
        let many = Cell::of(&(0..100).map(|value| f64::from(value % 2)).collect::<Vec<_>>(), 0.0).unwrap();
        assert!((many.half.unwrap() - 1.98422 * (25.0 / 99.0 / 100.0_f64).sqrt()).abs() < 1e-5);
    }

    /// Repetitions that end in one bucket had an interval of nothing.
    #[test]
    fn no_interval_is_narrower_than_what_is_known() {
        assert_eq!(Cell::of(&[64.0, 64.0], 1.0 / 64.0).unwrap().half, Some(1.0));
        assert_eq!(Cell::of(&[64.0, 64.0], 0.0).unwrap().half, Some(0.0));
    }

    /// From 32 repetitions on intervals were those of the normal distribution: too narrow.
    #[test]
    fn intervals_of_many_repetitions_are_students_too() {
        for (freedom, point) in [
            (1, 12.706),
            (30, 2.042),
            (31, 2.03951),
            (40, 2.02108),
            (60, 2.0003),
            (120, 1.97993),
            (1000, 1.96234),
            (1_000_000, 1.95997),
        ] {
            assert!((student(freedom) - point).abs() < 1e-4, "{freedom}: {}", student(freedom));
        }
    }
}
