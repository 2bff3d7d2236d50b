//! Finding the superpage of a drive from outside: random aligned writes of growing size, and where the rate stops
//! growing.
//!
//! Faithful to: the tool of the paper on remapping (Jang and Shin, ITCS 2011), which writes 4 KiB to 1 MiB.
//! Decided here: sizes between the powers of two, and the definition of a knee.

/// Bytes of the writes of a sweep: powers of two, and some between them, of which the sizes that are no multiple of the
/// superpage show the cost of a write that covers one in part.
pub const SIZES: [u64; 13] = {
    let mut sizes = [4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024];
    let mut at = 0;
    while at < sizes.len() {
        sizes[at] <<= 10;
        at += 1;
    }
    sizes
};

/// Share of the best rate that counts as full speed.
pub const FULL: f64 = 0.9;

/// Writes of one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Bytes of a write.
    pub bytes: u64,
    pub writes: u64,
    /// How long all of them took, seconds.
    pub seconds: f64,
}

impl Point {
    /// Writes a second.
    pub fn writes_per_second(&self) -> f64 {
        self.writes as f64 / self.seconds
    }

    /// Bytes a second.
    pub fn bytes_per_second(&self) -> f64 {
        self.bytes as f64 * self.writes_per_second()
    }
}

/// Sizes up to this many times one are compared with it: what much larger writes gain or lose has other reasons.
const REACH: u64 = 8;

/// The smallest power of two at full speed: it and its multiples up to eight times its size reach [`FULL`] of the best
/// rate per byte of all sizes up to there. `None` if no size with that many larger ones does.
pub fn knee(points: &[Point]) -> Option<u64> {
    let largest = points.iter().map(|point| point.bytes).max()?;
    let is_full = |size: u64| {
        let near = || points.iter().filter(move |point| point.bytes <= REACH * size);
        let best = near().map(Point::bytes_per_second).fold(0.0, f64::max);
        let mut multiples = near().filter(|point| point.bytes.is_multiple_of(size));
        multiples.all(|point| point.bytes_per_second() >= FULL * best)
    };
    let sizes = points.iter().map(|point| point.bytes).filter(|size| size.is_power_of_two() && REACH * size <= largest);
    sizes.filter(|size| is_full(*size)).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points of a drive that takes a millisecond for each superpage touched.
    fn model(superpage: u64) -> Vec<Point> {
        let cost =
            |bytes: u64| bytes.div_ceil(superpage) as f64 + if bytes.is_multiple_of(superpage) { 0.0 } else { 0.25 };
        SIZES.map(|bytes| Point { bytes, writes: 1000, seconds: cost(bytes) }).to_vec()
    }

    #[test]
    fn the_knee_is_the_superpage() {
        for superpage in [8 << 10, 16 << 10, 32 << 10, 64 << 10] {
            assert_eq!(knee(&model(superpage)), Some(superpage));
        }
    }

    #[test]
    fn a_lucky_size_whose_multiples_are_slow_is_no_knee() {
        let mut points = model(16 << 10);
        points[0].seconds = 0.01;
        assert_ne!(knee(&points), Some(4 << 10));
        assert_eq!(knee(&[]), None);
    }

    #[test]
    fn what_large_writes_gain_or_lose_does_not_move_the_knee() {
        // A log: every size at one rate, and the largest a little slower.
        let mut points = model(4 << 10);
        points.iter_mut().filter(|point| point.bytes >= 512 << 10).for_each(|point| point.seconds *= 1.2);
        assert_eq!(knee(&points), Some(4 << 10));
        // A drive that cleans less under larger writes.
        let mut points = model(16 << 10);
        points.iter_mut().filter(|point| point.bytes > 128 << 10).for_each(|point| point.seconds /= 3.0);
        assert_eq!(knee(&points), Some(16 << 10));
    }

    #[test]
    fn rates_are_per_second() {
        let point = Point { bytes: 4096, writes: 500, seconds: 2.0 };
        assert!(
            (point.writes_per_second() - 250.0).abs() < 1e-9 && (point.bytes_per_second() - 1_024_000.0).abs() < 1e-6
        );
    }
}
