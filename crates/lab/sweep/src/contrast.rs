//! A metric of two designs that were run with the same seeds.

use crate::metric::Metric;
use metrics::Cell;

/// Ratios nearer to 1 than by this are no difference, however alike repetitions are.
const LEAST: f64 = 0.001;

/// Which way a design differs from another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Differs {
    /// Its values are higher, beyond the interval.
    Higher,
    /// Its values are lower, beyond the interval.
    Lower,
    /// The interval of the ratio holds 1.
    CannotBeTold,
}

/// A metric over the repetitions of a design, against another one with the same seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    pub metric: &'static Metric,
    /// Mean of the design itself.
    pub own: Cell,
    /// Lower end, middle and upper end of the 95 % interval of the ratio to the other design, from the ratios of each
    /// pair of repetitions; `None`: there is no other one, or a value is zero.
    pub ratio: Option<[f64; 3]>,
}

impl Contrast {
    /// Of the values of repetitions, in the order of seeds. `None`: there are none.
    pub fn of(metric: &'static Metric, own: &[f64], other: Option<&[f64]>) -> Option<Self> {
        let cell = Cell::of(own, metric.resolution())?;
        Some(Self { metric, own: cell, ratio: other.and_then(|other| ratio(metric, own, other)) })
    }

    /// Which way it differs; `None`: there is no ratio.
    pub fn differs(&self) -> Option<Differs> {
        self.ratio.map(|[low, _, high]| match () {
            () if low > 1.0 => Differs::Higher,
            () if high < 1.0 => Differs::Lower,
            () => Differs::CannotBeTold,
        })
    }

    /// Whether the difference is to its good; `None`: there is none that can be told.
    pub fn is_better(&self) -> Option<bool> {
        match self.differs()? {
            Differs::Higher => Some(self.metric.is_more_better()),
            Differs::Lower => Some(!self.metric.is_more_better()),
            Differs::CannotBeTold => None,
        }
    }
}

/// Ratios are means of logarithms: twice as much and half as much are equally far from the same.
fn ratio(metric: &Metric, own: &[f64], other: &[f64]) -> Option<[f64; 3]> {
    if own.len() != other.len() || own.iter().chain(other).any(|value| *value <= 0.0) {
        return None;
    }
    let logarithms: Vec<f64> = own.iter().zip(other).map(|(own, other)| (own / other).ln()).collect();
    let Cell { mean, half } = Cell::of(&logarithms, 0.0)?;
    let half = half?.max(metric.resolution()).max(LEAST);
    Some([mean - half, mean, mean + half].map(f64::exp))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_tell_what_means_do_not() {
        // Seeds matter more than designs: the means' intervals overlap, and each pair differs by a tenth.
        let (other, own) = ([100.0, 200.0, 400.0], [110.0, 220.0, 440.0]);
        let metric = Metric::named("iops").unwrap();
        let contrast = Contrast::of(metric, &own, Some(&other)).unwrap();
        let [low, middle, high] = contrast.ratio.unwrap();
        assert!((middle - 1.1).abs() < 1e-9 && low > 1.09 && high < 1.11, "{contrast:?}");
        assert_eq!((contrast.differs(), contrast.is_better()), (Some(Differs::Higher), Some(true)));
        let latency = Contrast::of(Metric::named("read_mean_ns").unwrap(), &own, Some(&other)).unwrap();
        assert_eq!(latency.is_better(), Some(false), "longer is worse");
    }

    #[test]
    fn what_lies_within_the_interval_or_a_bucket_cannot_be_told() {
        let iops = Metric::named("iops").unwrap();
        let noisy = Contrast::of(iops, &[100.0, 130.0, 90.0], Some(&[110.0, 100.0, 95.0])).unwrap();
        assert_eq!((noisy.differs(), noisy.is_better()), (Some(Differs::CannotBeTold), None));
        let tail = Metric::named("read_p99_ns").unwrap();
        let close = Contrast::of(tail, &[101.0, 101.0], Some(&[100.0, 100.0])).unwrap();
        assert_eq!(close.differs(), Some(Differs::CannotBeTold), "percentiles are known to 1/64");
        let alike = Contrast::of(iops, &[100.01, 100.01], Some(&[100.0, 100.0])).unwrap();
        assert_eq!(alike.differs(), Some(Differs::CannotBeTold), "seeds change nothing, and 0.01 % is no difference");
    }

    #[test]
    fn single_runs_and_zeros_have_no_ratio() {
        let iops = Metric::named("iops").unwrap();
        assert_eq!(Contrast::of(iops, &[1.0], Some(&[2.0])).unwrap().differs(), None);
        assert_eq!(Contrast::of(iops, &[1.0, 0.0], Some(&[2.0, 2.0])).unwrap().differs(), None);
        assert_eq!(Contrast::of(iops, &[], None), None);
    }
}
