//! Zipf-distributed ranks, and a permutation that scatters ranks over the drive.
//!
//! Faithful to: W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates from
//! monotone discrete distributions", ACM TOMACS 6(3), 1996: exact, without a table, any exponent
//! from 0, about 1.1 pairs of draws per rank. Simplified: nothing. Protects: the same ranks on
//! every machine, since logarithms and powers come from the portable `libm`.

use engine::random::Stream;

/// Draws ranks 0, 1, 2, … below a bound, rank k with probability proportional to
/// 1 / (k + 1)^exponent.
#[derive(Clone, Debug)]
pub struct Zipf {
    ranks: u64,
    exponent: f64,
    /// Integral of the hat function up to 1.5, less the weight of the first rank.
    area_low: f64,
    /// Integral of the hat function up to `ranks` + 0.5.
    area_high: f64,
    /// Points this close below their rounding are accepted without evaluating the hat.
    squeeze: f64,
}

impl Zipf {
    /// The law over `ranks` (at least 1) ranks with `exponent` (0 is uniform).
    /// Panics if there is no rank, or the exponent is negative or not a number.
    pub fn new(ranks: u64, exponent: f64) -> Self {
        assert!(ranks > 0 && exponent >= 0.0, "no Zipf law over {ranks} ranks with exponent {exponent}");
        let mut law = Self { ranks, exponent, area_low: 0.0, area_high: 0.0, squeeze: 0.0 };
        law.area_low = law.integral(1.5) - 1.0;
        law.area_high = law.integral(ranks as f64 + 0.5);
        law.squeeze = 2.0 - law.inverse(law.integral(2.5) - law.weight(2.0));
        law
    }

    /// Draws a rank below the number of ranks.
    #[inline]
    pub fn draw(&self, random: &mut Stream) -> u64 {
        loop {
            let area = self.area_high + random.unit() * (self.area_low - self.area_high);
            let point = self.inverse(area);
            let nearest = libm::floor(point + 0.5).clamp(1.0, self.ranks as f64);
            if nearest - point <= self.squeeze || area >= self.integral(nearest + 0.5) - self.weight(nearest) {
                return nearest as u64 - 1;
            }
        }
    }

    fn weight(&self, point: f64) -> f64 {
        libm::exp(-self.exponent * libm::log(point))
    }

    /// The integral of the weight from 1 to `point`; the limit form keeps exponents near 1 exact.
    fn integral(&self, point: f64) -> f64 {
        let log = libm::log(point);
        let scaled = (1.0 - self.exponent) * log;
        if scaled.abs() < 1e-12 { log } else { libm::expm1(scaled) / scaled * log }
    }

    /// The point up to which the integral is `area`.
    fn inverse(&self, area: f64) -> f64 {
        // Rounding may push the argument below -1, where the logarithm ends.
        let scaled = (area * (1.0 - self.exponent)).max(-1.0);
        let log = if scaled.abs() < 1e-12 { area } else { libm::log1p(scaled) / scaled * area };
        libm::exp(log)
    }
}

/// A seeded permutation of `0..count`: neighbours in rank become strangers in place.
///
/// Each round multiplies by an odd number and folds the high half onto the low half, both of which
/// can be undone on k bits; numbers outside `0..count` are sent round again until they fall inside
/// (cycle walking), which keeps the map one-to-one and takes fewer than two rounds on average.
#[derive(Clone, Debug)]
pub struct Scatter {
    count: u64,
    mask: u64,
    fold: u32,
    multipliers: [u64; 3],
    offset: u64,
}

impl Scatter {
    /// The permutation of `count` (at least 1) places drawn from `random`.
    /// Panics if `count` is 0.
    pub fn new(count: u64, random: &mut Stream) -> Self {
        assert!(count > 0, "nothing to permute");
        let bits = (64 - (count - 1).leading_zeros()).max(1);
        Self {
            count,
            mask: u64::MAX >> (64 - bits),
            fold: bits.div_ceil(2),
            multipliers: std::array::from_fn(|_| random.next_u64() | 1),
            offset: random.next_u64(),
        }
    }

    /// How many places there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The place of `rank`, which must be below the count.
    #[inline]
    pub fn place(&self, rank: u64) -> u64 {
        debug_assert!(rank < self.count, "rank {rank} of {}", self.count);
        let mut place = rank;
        loop {
            place = place.wrapping_add(self.offset) & self.mask;
            for multiplier in self.multipliers {
                place = place.wrapping_mul(multiplier) & self.mask;
                place ^= place >> self.fold;
            }
            if place < self.count {
                return place;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chi-square of `draws` draws against the exact probabilities, per degree of freedom.
    fn chi_square_per_degree(ranks: u64, exponent: f64, draws: u32) -> f64 {
        let (law, mut random) = (Zipf::new(ranks, exponent), Stream::new(5, "zipf test"));
        let mut counts = vec![0_u32; ranks as usize];
        for _ in 0..draws {
            counts[law.draw(&mut random) as usize] += 1;
        }
        let weights: Vec<f64> = (1..=ranks).map(|rank| (rank as f64).powf(-exponent)).collect();
        let total: f64 = weights.iter().sum();
        let chi: f64 = weights
            .iter()
            .zip(counts)
            .map(|(weight, count)| {
                let expected = weight / total * f64::from(draws);
                (f64::from(count) - expected).powi(2) / expected
            })
            .sum();
        chi / (ranks - 1) as f64
    }

    #[test]
    fn draws_follow_the_exact_law() {
        for exponent in [0.0, 0.3, 0.8, 0.99, 1.0, 1.01, 1.5, 2.0] {
            // With 199 degrees of freedom the 0.1 % point lies at 1.33.
            let chi = chi_square_per_degree(200, exponent, 2_000_000);
            assert!(chi < 1.33, "exponent {exponent}: chi-square per degree {chi}");
        }
    }

    #[test]
    fn the_top_item_of_a_large_law_has_its_exact_share() {
        let (ranks, draws) = (1_000_000, 1_000_000);
        let law = Zipf::new(ranks, 0.99);
        let mut random = Stream::new(6, "zipf test");
        let hits = (0..draws).filter(|_| law.draw(&mut random) == 0).count();
        let total: f64 = (1..=ranks).map(|rank| (rank as f64).powf(-0.99)).sum();
        let ratio = hits as f64 / f64::from(draws) * total;
        assert!((ratio - 1.0).abs() < 0.02, "top share is {ratio} times the exact one");
    }

    #[test]
    fn extreme_laws_stay_in_range() {
        let mut random = Stream::new(7, "zipf test");
        for (ranks, exponent) in [(1, 0.0), (1, 10.0), (2, 1.0), (1 << 48, 0.0), (1 << 48, 1.0), (1 << 48, 10.0)] {
            let law = Zipf::new(ranks, exponent);
            assert!((0..1_000).all(|_| law.draw(&mut random) < ranks), "{ranks} ranks, exponent {exponent}");
        }
    }

    #[test]
    fn scatter_is_a_permutation() {
        for count in [1_u64, 2, 3, 5, 64, 1_000, 4_097] {
            let scatter = Scatter::new(count, &mut Stream::new(count, "scatter test"));
            let mut places: Vec<u64> = (0..count).map(|rank| scatter.place(rank)).collect();
            places.sort_unstable();
            assert!(places.into_iter().eq(0..count), "{count} places");
        }
    }
}
