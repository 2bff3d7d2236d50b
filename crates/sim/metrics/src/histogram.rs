//! A log-linear histogram of nanoseconds: 64 buckets for each power of two, so a bucket is never
//! wider than 1/64 of its value. Two histograms can be added.

use serde::{Deserialize, Serialize};

/// Buckets for each power of two.
const SUB: u64 = 64;
/// Buckets in all: values to 2^64.
const BUCKETS: usize = 64 * 59;

/// The percentiles every result names: key and share.
pub const PERCENTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999), ("p9999", 0.9999)];

/// Durations that have to lie beyond a percentile, so that it is more than the slowest few of them.
const BEYOND: f64 = 10.0;

/// Durations that a percentile needs: 20 for the median, 1,000 for p99. `share`: of the durations it leaves below,
/// 0..1.
pub fn needed(share: f64) -> u64 {
    (BEYOND / (1.0 - share)).round() as u64
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS], count: 0, sum: 0, max: 0 }
    }
}

impl Histogram {
    pub const fn buckets() -> usize {
        BUCKETS
    }

    /// Bucket of a duration.
    #[inline]
    pub const fn bucket(nanos: u64) -> usize {
        if nanos < SUB {
            return nanos as usize;
        }
        let exponent = 63 - nanos.leading_zeros() as u64;
        ((exponent - 5) * SUB + (nanos >> (exponent - 6) & (SUB - 1))) as usize
    }

    /// Largest duration of a bucket.
    pub const fn upper(bucket: usize) -> u64 {
        let bucket = bucket as u64;
        if bucket < SUB {
            return bucket;
        }
        let shift = bucket / SUB - 1;
        let lower = (SUB + bucket % SUB) << shift;
        lower + ((1 << shift) - 1)
    }

    /// Adds a duration; returns its bucket.
    #[inline]
    pub fn record(&mut self, nanos: u64) -> usize {
        let bucket = Self::bucket(nanos);
        self.counts[bucket] += 1;
        self.count += 1;
        self.sum += u128::from(nanos);
        self.max = self.max.max(nanos);
        bucket
    }

    pub fn merge(&mut self, other: &Histogram) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of the durations, ns.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Mean duration, ns; 0 when empty.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// Longest duration, ns.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Smallest bucket bound that at least `share` of the durations do not exceed, ns (never above
    /// the longest duration); 0 when empty.
    pub fn percentile(&self, share: f64) -> u64 {
        let wanted = (self.count as f64 * share).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (bucket, count) in self.filled() {
            seen += count;
            if seen >= wanted {
                return Self::upper(bucket).min(self.max);
            }
        }
        0
    }

    /// [`Histogram::percentile`] where there are durations enough for it ([`needed`]): the value that people and
    /// programs see.
    pub fn supported(&self, share: f64) -> Option<u64> {
        (self.count >= needed(share)).then(|| self.percentile(share))
    }

    /// Buckets that are not empty: index and count, ascending.
    pub fn filled(&self) -> impl DoubleEndedIterator<Item = (usize, u64)> + '_ {
        self.counts.iter().copied().enumerate().filter(|(_, count)| *count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_cover_everything_without_gaps_and_stay_narrow() {
        let mut last = None;
        for bucket in 0..BUCKETS {
            let upper = Histogram::upper(bucket);
            assert_eq!(Histogram::bucket(upper), bucket);
            if let Some(last) = last {
                assert_eq!(Histogram::bucket(last + 1), bucket);
                assert!((upper - last) as f64 <= 1.0_f64.max(upper as f64 / 64.0));
            }
            if upper == u64::MAX {
                return;
            }
            last = Some(upper);
        }
        panic!("the largest duration has no bucket");
    }

    #[test]
    fn percentiles_are_within_a_bucket_of_the_exact_ones() {
        let mut histogram = Histogram::default();
        for value in 1..=100_000 {
            histogram.record(value);
        }
        for (_, share) in PERCENTILES {
            let exact = 100_000.0 * share;
            let found = histogram.percentile(share) as f64;
            assert!(found >= exact && found <= exact * (1.0 + 1.0 / 64.0) + 1.0, "{share}: {found}");
        }
        assert_eq!(histogram.max(), 100_000);
        assert!((histogram.mean() - 50_000.5).abs() < 1e-9);
    }

    /// The maximum of 318 reads was shown as their p99.9.
    #[test]
    fn a_percentile_has_ten_durations_beyond_it_or_is_not_told() {
        let mut histogram = Histogram::default();
        for value in 1..=999 {
            histogram.record(value);
        }
        assert_eq!((needed(0.5), needed(0.99), needed(0.999)), (20, 1_000, 10_000));
        assert_eq!((histogram.supported(0.9).is_some(), histogram.supported(0.99)), (true, None));
        histogram.record(1_000);
        assert!(histogram.supported(0.99).is_some());
    }
}
