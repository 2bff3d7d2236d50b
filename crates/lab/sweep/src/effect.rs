//! Keys that were compared and changed nothing: their runs are the same, to the last bit.

use crate::execute::Outcome;
use crate::grid::{Grid, Run};
use crate::words::listed;
use std::collections::BTreeMap;

/// A result of all of whose runs those of another value are known, and whether these are equal.
#[derive(Clone, Copy, Default)]
struct Compared {
    pairs: usize,
    differing: usize,
}

/// The remark about axes and stacks that had no effect.
pub(crate) fn notes(grid: &Grid, outcomes: &[Option<Outcome>]) -> Vec<String> {
    let measured: Vec<(&Run, &str)> = grid
        .runs
        .iter()
        .zip(outcomes)
        .filter_map(|(run, outcome)| Some((run, outcome.as_ref()?.hash.as_deref()?)))
        .collect();
    // Whether causes are recorded changes no result, and is not an axis to wonder about.
    let is_asked = |at: &usize| grid.plan.axes[*at].values.len() > 1 && grid.plan.axes[*at].key != metrics::CAUSES_KEY;
    let axes = (0..grid.plan.axes.len()).filter(is_asked);
    axes.filter_map(|at| of_axis(grid, &measured, at)).chain(of_stacks(grid, &measured)).collect()
}

/// What is to be said of an axis.
fn of_axis(grid: &Grid, measured: &[(&Run, &str)], at: usize) -> Option<String> {
    let stacks = &grid.plan.stacks;
    let mut first: BTreeMap<(usize, usize, u32, Vec<usize>), &str> = BTreeMap::new();
    let mut compared = vec![Compared::default(); stacks.len()];
    for (run, hash) in measured {
        let mut others = run.point.values.clone();
        others.remove(at);
        let known = *first.entry((run.point.stack, run.point.workload, run.repetition, others)).or_insert(hash);
        let of_stack = &mut compared[run.point.stack];
        // A run is compared with the first one of its kind, itself included.
        of_stack.pairs += 1;
        of_stack.differing += usize::from(known != *hash);
    }
    let groups = |stack: usize| first.keys().filter(|(of, ..)| *of == stack).count();
    let with: Vec<usize> = (0..stacks.len()).filter(|stack| compared[*stack].pairs > groups(*stack)).collect();
    let without: Vec<usize> = with.iter().copied().filter(|stack| compared[*stack].differing == 0).collect();
    let key = grid.plan.axes[at].key;
    if without.is_empty() {
        None
    } else if without.len() == with.len() {
        Some(format!("`{key}` had no effect on any run: results are equal to the last bit."))
    } else {
        let names: Vec<String> = without.iter().map(|stack| format!("`{}`", stacks[*stack])).collect();
        Some(format!("`{key}` had no effect on any run of {}: results are equal to the last bit.", listed(&names)))
    }
}

/// What is to be said of stacks that gave the same, each with the first one like it.
fn of_stacks(grid: &Grid, measured: &[(&Run, &str)]) -> Vec<String> {
    type Results<'a> = BTreeMap<(usize, u32, &'a [usize]), &'a str>;
    let mut results: Vec<Results<'_>> = vec![BTreeMap::new(); grid.plan.stacks.len()];
    for (run, hash) in measured {
        results[run.point.stack].insert((run.point.workload, run.repetition, &run.point.values), hash);
    }
    let stacks = &grid.plan.stacks;
    let same = |stack: usize| (0..stack).find(|other| !results[stack].is_empty() && results[*other] == results[stack]);
    let pairs = (0..stacks.len()).filter_map(|stack| Some((stack, same(stack)?)));
    pairs
        .map(|(stack, other)| {
            format!("`{}` had the same results as `{}` in every run, to the last bit.", stacks[stack], stacks[other])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::Status;
    use crate::metric::METRICS;
    use crate::plan::Plan;
    use std::path::Path;

    /// What is said of two stacks with two axes, by the hash of each run.
    fn said(hash: impl Fn(&Run) -> Option<String>) -> Vec<String> {
        let text = "stacks = [\"page\", \"dftl\"]\nrepetitions = 2\n[axes]\ndrive.over_provisioning = [\"25%\", \
            \"50%\"]\nftl.gc.victim = [\"greedy\", \"fifo\"]\n";
        let grid = Grid::expand(Plan::parse(text, "p.toml", Path::new(""), &[]).unwrap(), "build").unwrap();
        let outcome = |run: &Run| {
            let hash = hash(run)?;
            Some(Outcome {
                status: Status::Complete,
                error: None,
                hash: Some(hash),
                metrics: vec![None; METRICS.len()],
                notes: Vec::new(),
            })
        };
        let outcomes: Vec<_> = grid.runs.iter().map(outcome).collect();
        notes(&grid, &outcomes)
    }

    /// A policy that was never asked looked as good as another one.
    #[test]
    fn a_key_without_effect_is_named() {
        let without_victim = |run: &Run| Some(format!("{} {} {}", run.point.stack, run.point.values[0], run.seed));
        assert_eq!(
            said(without_victim),
            ["`ftl.gc.victim` had no effect on any run: results are equal to the last bit."]
        );
        assert_eq!(said(|run| Some(format!("{:?} {}", run.point, run.seed))), [""; 0]);
        let one_run = |run: &Run| {
            Some(format!(
                "{} {}",
                without_victim(run)?,
                run.point.stack == 1 && run.seed == 2 && run.point.values == [1, 1]
            ))
        };
        assert_eq!(
            said(one_run),
            ["`ftl.gc.victim` had no effect on any run of `page`: results are equal to the last bit."]
        );
    }

    #[test]
    fn what_was_not_measured_proves_nothing() {
        assert_eq!(said(|_| None), [""; 0]);
        let one_value = |run: &Run| (run.point.values == [0, 0]).then(|| format!("{:?} {}", run.point, run.seed));
        assert_eq!(said(one_value), [""; 0]);
    }

    #[test]
    fn stacks_with_the_same_results_are_named() {
        let notes = said(|run| Some(format!("{:?} {}", run.point.values, run.seed)));
        assert_eq!(notes, ["`dftl` had the same results as `page` in every run, to the last bit."]);
    }
}
