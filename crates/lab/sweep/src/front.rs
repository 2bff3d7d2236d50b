//! Fronts: which combinations of a panel nothing beats, as far as repetitions can tell.
//!
//! The rule: two means differ if they lie further apart than the 95 % interval of their difference, the root of the sum
//! of the squares of their half intervals. A combination is beaten if another one is better in one cost, by so much,
//! and worse by so much in none. Costs are the tail, write amplification, and spare space, or memory where all have the
//! same spare space. Where there is one repetition, only the width of a bucket of the histogram is known of a
//! percentile, and nothing of the rest.

use crate::grid::Grid;
use crate::metric::{MEMORY, Metric, SPARE, SUMS};
use crate::summary::Summary;
use crate::tail;

/// A cost of a combination: its mean, and how far that may be from what it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    pub mean: f64,
    /// Half of its interval.
    pub half: f64,
}

impl Cost {
    /// A metric: its mean, and half of its interval, if there is one.
    pub fn new(metric: &Metric, mean: f64, half: Option<f64>) -> Self {
        Self { mean, half: half.unwrap_or(metric.resolution() * mean.abs()).max(metric.rounding() * mean.abs()) }
    }

    /// Whether it is below another one by more than the intervals allow.
    pub fn is_below(self, other: Self) -> bool {
        other.mean - self.mean > self.half.hypot(other.half).max(SUMS * other.mean.abs())
    }

    /// The costs of a combination; `None`: it was not measured.
    pub(crate) fn of(summary: &Summary, metric: &Metric) -> Option<Self> {
        let cell = summary.cell(metric.name)?;
        Some(Self::new(metric, cell.mean, cell.half))
    }
}

/// Which designs no other one beats: is better in one cost, and worse in none, by more than the intervals allow.
/// `costs` has the costs of each, in one order.
pub fn unbeaten(costs: &[Vec<Cost>]) -> Vec<bool> {
    let is_below = |a: &[Cost], b: &[Cost]| a.iter().zip(b).any(|(a, b)| a.is_below(*b));
    costs.iter().map(|one| !costs.iter().any(|other| is_below(other, one) && !is_below(one, other))).collect()
}

/// The front of a panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Front {
    /// The latency that decides.
    pub tail: &'static Metric,
    /// The compared metrics: the tail, write amplification where there is one, and the price.
    pub costs: Vec<&'static Metric>,
    /// The price of a shorter tail: spare space, or memory; `None`: all have the same of both.
    pub price: Option<&'static Metric>,
    /// Numbers of the combinations that were compared.
    pub candidates: Vec<usize>,
    /// The Pareto front among them, from the shortest tail.
    pub unbeaten: Vec<usize>,
    /// Whether each was measured several times: without that there are no intervals.
    pub is_repeated: bool,
}

impl Front {
    /// The front of some combinations.
    /// Errors: in words: they cannot be compared.
    pub(crate) fn of(grid: &Grid, all: &[Summary], members: &[usize]) -> Result<Self, String> {
        let is_repeated = grid.plan.repetitions > 1;
        // One repetition that came to its end, of several, would be compared as if it were certain.
        let least = if is_repeated { 2 } else { 1 };
        let candidates: Vec<usize> = members.iter().copied().filter(|at| all[*at].complete >= least).collect();
        let measured: Vec<&Summary> = candidates.iter().map(|at| &all[*at]).collect();
        if measured.is_empty() {
            return Err(if is_repeated {
                "no combination was measured twice".to_owned()
            } else {
                "no combination was measured".to_owned()
            });
        }
        let tail = tail::choose(grid.plan.tail, &measured)?;
        let is_everywhere =
            |metric: &&'static Metric| measured.iter().all(|summary| summary.mean(metric.name).is_some());
        let differs = |metric: &&'static Metric| {
            let first = measured[0].mean(metric.name).unwrap_or_default();
            measured.iter().any(|summary| {
                (summary.mean(metric.name).unwrap_or_default() - first).abs() > metric.rounding() * first.abs()
            })
        };
        let price = [SPARE, MEMORY].into_iter().filter_map(Metric::named).filter(is_everywhere).find(differs);
        let more = Metric::named("waf").into_iter().filter(is_everywhere).chain(price);
        let costs: Vec<&Metric> = std::iter::once(tail).chain(more).collect();
        let front = Self { tail, costs, price, candidates, unbeaten: Vec::new(), is_repeated };
        let mut unbeaten = front.unbeaten_of(all, &front.candidates);
        unbeaten.sort_by(|a, b| front.tail_of(all, *a).mean.total_cmp(&front.tail_of(all, *b).mean));
        Ok(Self { unbeaten, ..front })
    }

    /// Which of some candidates none of the others beats, in their order.
    pub(crate) fn unbeaten_of(&self, all: &[Summary], some: &[usize]) -> Vec<usize> {
        let of_each =
            |at: &usize| self.costs.iter().filter_map(|metric| Cost::of(&all[*at], metric)).collect::<Vec<_>>();
        let marked = unbeaten(&some.iter().map(of_each).collect::<Vec<_>>());
        some.iter().zip(marked).filter(|(_, is_marked)| *is_marked).map(|(at, _)| *at).collect()
    }

    /// The tail of a combination.
    pub(crate) fn tail_of(&self, all: &[Summary], at: usize) -> Cost {
        Cost::of(&all[at], self.tail).expect("a candidate has a tail")
    }

    /// How many there are, in words.
    pub fn words(&self) -> String {
        let costs: Vec<String> = self.costs.iter().map(|metric| metric.short.to_owned()).collect();
        let single = if self.is_repeated { "" } else { " (single runs: that may be chance)" };
        format!(
            "{} of {} designs are unbeaten in {}{single}",
            self.unbeaten.len(),
            self.candidates.len(),
            crate::words::listed(&costs)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(of_each: &[&[(f64, f64)]]) -> Vec<Vec<Cost>> {
        of_each
            .iter()
            .map(|costs| costs.iter().map(|(mean, half)| Cost { mean: *mean, half: *half }).collect())
            .collect()
    }

    /// Seven of twelve designs were unbeaten inside their intervals.
    #[test]
    fn what_lies_within_the_intervals_decides_nothing() {
        // The second one's write amplification is better for sure, and its tail is worse by chance.
        assert_eq!(unbeaten(&costs(&[&[(100.0, 5.0), (3.0, 0.1)], &[(104.0, 5.0), (2.0, 0.1)]])), [false, true]);
        // The same without chance: both are worth their price.
        assert_eq!(unbeaten(&costs(&[&[(100.0, 1.0), (3.0, 0.1)], &[(104.0, 1.0), (2.0, 0.1)]])), [true, true]);
        // Nothing is known to differ: nobody is beaten.
        assert_eq!(unbeaten(&costs(&[&[(100.0, 5.0), (3.0, 0.1)], &[(104.0, 5.0), (3.1, 0.1)]])), [true, true]);
    }

    #[test]
    fn a_difference_has_an_interval_of_its_own() {
        let below = |gap: f64| Cost { mean: 100.0, half: 3.0 }.is_below(Cost { mean: 100.0 + gap, half: 4.0 });
        assert!(!below(5.0) && below(5.01), "3 and 4 make 5");
        assert!(!Cost { mean: 0.3, half: 0.0 }.is_below(Cost { mean: 0.1 + 0.2, half: 0.0 }), "the same sum");
    }

    #[test]
    fn only_what_loses_nowhere_is_unbeaten() {
        let exact = [[1.0, 5.0, 0.1], [2.0, 4.0, 0.1], [2.0, 5.0, 0.1], [2.0, 4.0, 0.1], [9.0, 9.0, 0.05]];
        let all: Vec<Vec<Cost>> =
            exact.iter().map(|costs| costs.iter().map(|mean| Cost { mean: *mean, half: 0.0 }).collect()).collect();
        assert_eq!(unbeaten(&all), [true, true, false, true, true], "equals do not beat each other");
    }
}
