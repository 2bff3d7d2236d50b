//! Repetitions together.

use crate::execute::{Outcome, Status};
use crate::findings::Findings;
use crate::grid::{Grid, Point};
use crate::metric::{METRICS, Metric, OPS, absence};
use figures::quoted;
use metrics::Cell;

/// A combination of stack, workload and values.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The combination that is summed up.
    pub point: Point,
    /// Repetitions that were measured to their end.
    pub complete: usize,
    /// How the others ended, and why, the first one's words.
    pub problem: Option<String>,
    /// Why percentiles of the complete ones are absent, the first one's words.
    pub absent: Option<String>,
    /// Reads, writes and flushes of the complete repetition that had fewest of them.
    pub fewest: [Option<f64>; 3],
    /// By place in [`METRICS`]: the figures of the complete repetitions.
    pub cells: Vec<Option<Cell>>,
}

impl Summary {
    /// Every combination of a grid, in its order, with its repetitions so far.
    pub fn all(grid: &Grid, outcomes: &[Option<Outcome>]) -> Vec<Self> {
        let repetitions = grid.plan.repetitions as usize;
        grid.runs
            .chunks(repetitions)
            .zip(outcomes.chunks(repetitions))
            .map(|(runs, outcomes)| Self::of(&runs[0].point, outcomes))
            .collect()
    }

    fn of(point: &Point, outcomes: &[Option<Outcome>]) -> Self {
        let complete: Vec<&Outcome> =
            outcomes.iter().flatten().filter(|outcome| outcome.status == Status::Complete).collect();
        let problem = outcomes.iter().flatten().find(|outcome| outcome.status != Status::Complete).map(|outcome| {
            let why = outcome.error.as_deref().map_or_else(String::new, |error| format!(": {error}"));
            format!("{}{why}", outcome.status.name())
        });
        // What one of them lacks, as a percentile of too few requests, is no mean of all.
        let values = |at: usize| complete.iter().map(|outcome| outcome.metrics[at]).collect::<Option<Vec<f64>>>();
        let cell = |at: usize| Cell::of(&values(at)?, METRICS[at].resolution());
        let absent = complete.iter().find_map(|outcome| absence(&outcome.metrics));
        let least = |at: Option<usize>| complete.iter().filter_map(|outcome| outcome.metrics[at?]).reduce(f64::min);
        let fewest = OPS.map(|op| least(Metric::named(op.requests).map(Metric::at)));
        Self {
            point: point.clone(),
            complete: complete.len(),
            problem,
            absent,
            fewest,
            cells: (0..METRICS.len()).map(cell).collect(),
        }
    }

    /// The values of a metric in the complete repetitions.
    pub fn cell(&self, name: &str) -> Option<Cell> {
        self.cells[METRICS.iter().position(|metric| metric.name == name)?]
    }

    /// The mean of a metric.
    pub fn mean(&self, name: &str) -> Option<f64> {
        self.cell(name).map(|cell| cell.mean)
    }

    /// Why there is no mean of a metric, in words, as far as that is known.
    pub fn absence(&self, metric: &Metric) -> Option<String> {
        self.problem.clone().or_else(|| metric.absence(self.fewest[metric.op()?.at()]?))
    }

    /// All combinations as a table of text, with their findings.
    pub fn csv(grid: &Grid, all: &[Self], findings: &Findings) -> String {
        let plan = &grid.plan;
        let mut heads: Vec<String> = ["stack", "workload"].map(str::to_owned).to_vec();
        heads.extend(plan.axes.iter().map(|axis| axis.key.to_owned()));
        heads.extend(["complete", "problem", "absent", "tail", "unbeaten"].map(str::to_owned));
        heads.extend(METRICS.iter().flat_map(|metric| [metric.name.to_owned(), format!("{}_ci95", metric.name)]));
        let mut lines = vec![heads.join(",")];
        for (at, summary) in all.iter().enumerate() {
            let Point { stack, workload, values } = &summary.point;
            let mut cells = vec![plan.stacks[*stack].clone(), plan.workloads[*workload].clone()];
            cells.extend(plan.axes.iter().zip(values).map(|(axis, value)| axis.values[*value].clone()));
            let verdict = findings.verdict(at);
            cells.extend([
                summary.complete.to_string(),
                summary.problem.clone().unwrap_or_default(),
                summary.absent.clone().unwrap_or_default(),
            ]);
            cells.extend([verdict.tail.unwrap_or_default().to_owned(), verdict.word().to_owned()]);
            for cell in &summary.cells {
                let text = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
                cells.extend([text(cell.map(|cell| cell.mean)), text(cell.and_then(|cell| cell.half))]);
            }
            lines.push(cells.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(","));
        }
        lines.join("\n") + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mean of those repetitions that happened to have requests enough stood for all.
    #[test]
    fn a_metric_that_one_repetition_lacks_is_absent() {
        let outcome = |value: Option<f64>| {
            let metrics = METRICS.iter().map(|metric| if metric.name == "waf" { Some(2.0) } else { value }).collect();
            Some(Outcome { status: Status::Complete, error: None, hash: None, metrics, notes: Vec::new() })
        };
        let point = Point { stack: 0, workload: 0, values: Vec::new() };
        let summary = Summary::of(&point, &[outcome(Some(1.0)), outcome(None)]);
        assert_eq!((summary.complete, summary.mean("read_p999_ns"), summary.mean("waf")), (2, None, Some(2.0)));
    }
}
