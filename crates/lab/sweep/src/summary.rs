//! Repetitions together: means and their confidence.

use crate::execute::{Outcome, Status};
use crate::findings::Findings;
use crate::grid::{Grid, Point};
use crate::metric::{METRICS, Metric, OPS, absence};
use figures::quoted;

/// A metric over the repetitions of a combination.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    pub mean: f64,
    /// Half of the 95 % confidence interval of the mean (Student's t), of a percentile at least the width of a bucket;
    /// `None` for a single repetition.
    pub half: Option<f64>,
}

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
    /// Reads and writes of the complete repetition that had fewest of them.
    pub fewest: [Option<f64>; 2],
    /// By place in [`METRICS`]: what the complete repetitions gave.
    pub cells: Vec<Option<Cell>>,
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

impl Summary {
    /// Every combination of a grid, in its order, with what is known of its repetitions.
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

    /// What the complete repetitions gave of a metric.
    pub fn cell(&self, name: &str) -> Option<Cell> {
        self.cells[METRICS.iter().position(|metric| metric.name == name)?]
    }

    /// The mean of a metric.
    pub fn mean(&self, name: &str) -> Option<f64> {
        self.cell(name).map(|cell| cell.mean)
    }

    /// All of them as a table of text, with what was found out about them.
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
