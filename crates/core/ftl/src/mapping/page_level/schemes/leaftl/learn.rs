//! Learning: from where pages are to the segments that say so.
//!
//! The pages of a batch come to a group from several open blocks, so that flash pages jump from one
//! logical page to the next. Pages near to each other on flash are learned together, in logical order,
//! and greedily: from its first page a segment goes on as long as one line passes all pages within
//! what they tolerate. The slopes that do are an interval, a cone that shrinks with each page.

use super::segment::{HALF, NOWHERE, ONE, Pages, Piece, SEGMENT_BYTES, SLOPES, STEPS, Segment};

/// Flash pages with a wider gap between them are not learned together: a step must fit a segment.
const REACH: u32 = 63;

/// Where a page is, as far as memory knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    /// Position in its group.
    pub position: u8,
    pub page: u32,
    /// It is there; otherwise it is there within the error bound, and must not be moved further.
    pub exact: bool,
}

/// Memory that learning uses again and again, and its one setting.
#[derive(Clone, Debug)]
pub(super) struct Workshop {
    /// The pages to learn; their order changes.
    pub points: Vec<Point>,
    /// The learned segments; no two answer for the same position.
    pub learned: Vec<Piece>,
    /// Pieces of a group being put together anew.
    pub pieces: Vec<Piece>,
    /// The positions that each level of this group answers for.
    pub levels: Vec<Pages>,
    /// Flash pages a prediction may be off.
    pub error_bound: u32,
}

impl Workshop {
    pub fn new(error_bound: u32) -> Self {
        Self { points: Vec::new(), learned: Vec::new(), pieces: Vec::new(), levels: Vec::new(), error_bound }
    }

    /// Learns the points from scratch.
    pub fn learn(&mut self) {
        self.learned.clear();
        self.points.sort_unstable_by_key(|point| (point.page, point.position));
        let learned = &mut self.learned;
        for near in self.points.chunk_by_mut(|one, next| next.page - one.page <= REACH) {
            near.sort_unstable_by_key(|point| point.position);
            let mut rest = &*near;
            while !rest.is_empty() {
                let (piece, taken) = next_segment(rest, i64::from(self.error_bound));
                learned.push(piece);
                rest = &rest[taken..];
            }
        }
    }
}

/// The cheapest segment, for each page it answers for, that begins with the first point.
fn next_segment(points: &[Point], error_bound: i64) -> (Piece, usize) {
    let (row, stride, step) = longest_row(points);
    let (near, slope) = longest_cone(points, error_bound);
    let approximate_bytes = SEGMENT_BYTES as usize + 1 + near;
    let is_row = row > 0 && SEGMENT_BYTES as usize * near <= approximate_bytes * row;
    let taken = if is_row { row } else { near };
    let (first, last) = (points[0], points[taken - 1]);
    let length = last.position - first.position;
    let segment = if is_row {
        Segment::accurate(first.position, length, stride, step, first.page)
    } else {
        Segment::approximate(first.position, length, slope, first.page)
    };
    let mut pages = Pages::default();
    points[..taken].iter().for_each(|point| pages.insert(point.position));
    (Piece { segment, pages, level: 0 }, taken)
}

/// Points from the first on that an accurate segment can hold, with its stride and step.
fn longest_row(points: &[Point]) -> (usize, u8, i64) {
    let between = |a: &Point, b: &Point| (b.position - a.position, i64::from(b.page) - i64::from(a.page));
    let exact = points.iter().take_while(|point| point.exact).count();
    let [first, second, ..] = &points[..exact] else { return (exact, 1, 0) };
    let (stride, step) = between(first, second);
    if !STEPS.contains(&step) {
        return (1, 1, 0);
    }
    let same = points[..exact].windows(2).take_while(|pair| between(&pair[0], &pair[1]) == (stride, step));
    (1 + same.count(), stride, step)
}

/// Points from the first on that a line through the first passes within what they tolerate, with a
/// slope that does.
fn longest_cone(points: &[Point], error_bound: i64) -> (usize, i64) {
    let first = points[0];
    let (mut least, mut most) = (*SLOPES.start(), *SLOPES.end());
    let mut taken = 1;
    for point in &points[1..] {
        let tolerance = if point.exact && point.page != NOWHERE { error_bound } else { 0 };
        let distance = i64::from(point.position - first.position);
        let rise = i64::from(point.page) - i64::from(first.page);
        // Rounded, slope × distance must lie between rise - tolerance and rise + tolerance.
        let low = -((HALF - (rise - tolerance) * ONE).div_euclid(distance));
        let high = ((rise + tolerance + 1) * ONE - 1 - HALF).div_euclid(distance);
        let narrowed = (least.max(low), most.min(high));
        if narrowed.0 > narrowed.1 {
            break;
        }
        (least, most) = narrowed;
        taken += 1;
    }
    (taken, i64::midpoint(least, most))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub fn points(pages: impl IntoIterator<Item = (u8, u32)>) -> Vec<Point> {
        pages.into_iter().map(|(position, page)| Point { position, page, exact: true }).collect()
    }

    fn learn(error_bound: u32, points: Vec<Point>) -> Vec<Piece> {
        let mut workshop = Workshop::new(error_bound);
        workshop.points = points;
        workshop.learn();
        workshop.learned
    }

    #[test]
    fn a_group_written_in_order_is_one_accurate_segment() {
        let learned = learn(0, points((0..=255).map(|position| (position, 7_000 + u32::from(position)))));
        assert!(learned.len() == 1 && learned[0].segment.is_accurate() && learned[0].pages.count() == 256);
    }

    #[test]
    fn pages_striped_over_planes_are_one_accurate_segment_a_plane() {
        let striped = (0..=255_u8).map(|position| {
            let plane = u32::from(position) % 8;
            (position, plane * 100_000 + 640 + u32::from(position) / 8)
        });
        let learned = learn(4, points(striped));
        assert_eq!(learned.len(), 8);
        assert!(learned.iter().all(|piece| piece.segment.is_accurate() && piece.pages.count() == 32));
    }

    #[test]
    fn a_bent_row_is_approximate_if_an_error_is_allowed() {
        // Every third page is missing: the row bends within a page of a line.
        let bent = || points((0..90_u8).filter(|position| position % 3 != 2).zip(500..));
        let learned = learn(1, bent());
        assert!(learned.len() == 1 && !learned[0].segment.is_accurate(), "{learned:?}");
        assert!(learn(0, bent()).iter().map(Piece::bytes).sum::<u32>() >= learned[0].bytes());
    }

    #[test]
    fn pages_that_are_nowhere_are_learned_apart() {
        let learned = learn(
            4,
            points(
                (0..100).map(|position| (position, if position % 2 == 0 { NOWHERE } else { 50 + u32::from(position) })),
            ),
        );
        assert_eq!(learned.len(), 2);
        assert!(learned.iter().any(|piece| piece.segment.predict(0) == NOWHERE && piece.pages.count() == 50));
    }

    proptest! {
        #[test]
        fn every_prediction_is_within_what_its_point_tolerates(
            error_bound in 0..9_u32,
            chosen in prop::collection::btree_map(any::<u8>(), (0..300_u32, any::<bool>(), 0..10_u8), 1..120),
            shape in 0..4_u32,
        ) {
            let all: Vec<Point> = chosen.iter().map(|(&position, &(noise, exact, nowhere))| {
                let line = match shape {
                    0 => noise,
                    1 => 10_000 + u32::from(position) + noise % 5,
                    2 => 90_000 * (u32::from(position) % 4) + u32::from(position) / 4,
                    _ => 10_000 - 3 * u32::from(position) + noise % 2,
                };
                Point { position, page: if nowhere == 0 { NOWHERE } else { line }, exact: exact || nowhere == 0 }
            }).collect();
            let learned = learn(error_bound, all.clone());
            for point in all {
                let mut own = learned.iter().filter(|piece| piece.pages.has(point.position));
                let piece = own.next().expect("every point is learned");
                prop_assert!(own.next().is_none());
                let off = piece.segment.predict(point.position).abs_diff(point.page);
                let tolerated = if point.page == NOWHERE || !point.exact { 0 } else { error_bound };
                prop_assert!(off <= tolerated, "{point:?} {piece:?}");
                if piece.segment.is_accurate() {
                    prop_assert!(off == 0 && point.exact && piece.segment.spans(point.position));
                    prop_assert_eq!(piece.segment.span(), piece.pages);
                }
            }
            let bytes: u32 = learned.iter().map(Piece::bytes).sum();
            let exact = chosen.values().all(|page| page.1 || page.2 == 0);
            prop_assert!(!exact || bytes <= 8 * chosen.len() as u32, "more than a segment a page");
        }
    }
}
