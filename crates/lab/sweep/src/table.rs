//! Results as columns: a row for each run, or for each combination.

use crate::execute::Outcome;
use crate::findings::Findings;
use crate::grid::{Grid, Point, Run};
use crate::metric::{METRICS, absence};
use crate::summary::Summary;

#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub name: String,
    /// Its cells, one for each row.
    pub cells: Cells,
}

/// Cells of one kind; `None`: there is nothing to be said.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    Whole(Vec<Option<i64>>),
    Real(Vec<Option<f64>>),
    Text(Vec<Option<String>>),
}

fn whole<T>(name: &str, rows: &[T], of: impl Fn(&T) -> i64) -> Column {
    Column { name: name.to_owned(), cells: Cells::Whole(rows.iter().map(|row| Some(of(row))).collect()) }
}

fn real<T>(name: &str, rows: &[T], of: impl Fn(&T) -> Option<f64>) -> Column {
    Column { name: name.to_owned(), cells: Cells::Real(rows.iter().map(of).collect()) }
}

fn text<T>(name: &str, rows: &[T], of: impl Fn(&T) -> Option<String>) -> Column {
    Column { name: name.to_owned(), cells: Cells::Text(rows.iter().map(of).collect()) }
}

/// A row for each run: stack, workload, repetition, seed, axes, how it ended, metrics. An axis of numbers is a column
/// of numbers in its own unit (bytes, nanoseconds, a share of 1).
pub fn runs(grid: &Grid, outcomes: &[Option<Outcome>]) -> Vec<Column> {
    let runs = &grid.runs;
    let mut columns = which(grid, runs, |run: &Run| &run.point);
    columns.insert(2, whole("repetition", runs, |run| i64::from(run.repetition)));
    columns.insert(3, whole("seed", runs, |run| run.seed as i64));
    let known =
        |name: &str, of: fn(&Outcome) -> Option<String>| text(name, outcomes, |outcome| outcome.as_ref().and_then(of));
    columns.extend([
        known("status", |outcome| Some(outcome.status.name().to_owned())),
        known("error", |outcome| outcome.error.clone()),
        known("absent", |outcome| absence(&outcome.metrics)),
        known("hash", |outcome| outcome.hash.clone()),
        text("address", runs, |run| Some(run.address.clone())),
    ]);
    columns.extend(
        METRICS
            .iter()
            .enumerate()
            .map(|(at, metric)| real(metric.name, outcomes, |outcome| outcome.as_ref()?.metrics[at])),
    );
    columns
}

/// A row for each combination: stack, workload, axes, complete repetitions, the outcome of the others, why percentiles
/// are absent, the tail its panel is judged by, whether it is unbeaten there (`yes`, `no`, or nothing), and of each
/// metric the mean and half of its confidence interval (`_ci95`).
pub fn combinations(grid: &Grid, all: &[Summary], findings: &Findings) -> Vec<Column> {
    let mut columns = which(grid, all, |summary: &Summary| &summary.point);
    columns.push(whole("complete", all, |summary| summary.complete as i64));
    columns.push(text("problem", all, |summary| summary.problem.clone()));
    columns.push(text("absent", all, |summary| summary.absent.clone()));
    let verdicts: Vec<_> = (0..all.len()).map(|at| findings.verdict(at)).collect();
    columns.push(text("tail", &verdicts, |verdict| verdict.tail.map(str::to_owned)));
    columns.push(text("unbeaten", &verdicts, |verdict| {
        Some(verdict.word()).filter(|word| !word.is_empty()).map(str::to_owned)
    }));
    for (at, metric) in METRICS.iter().enumerate() {
        columns.push(real(metric.name, all, |summary| summary.cells[at].map(|cell| cell.mean)));
        columns
            .push(real(&format!("{}_ci95", metric.name), all, |summary| summary.cells[at].and_then(|cell| cell.half)));
    }
    columns
}

/// Stack, workload and axes.
fn which<T>(grid: &Grid, rows: &[T], point: impl Fn(&T) -> &Point) -> Vec<Column> {
    let plan = &grid.plan;
    let mut columns = vec![
        text("stack", rows, |row| Some(plan.stacks[point(row).stack].clone())),
        text("workload", rows, |row| Some(plan.workloads[point(row).workload].clone())),
    ];
    for (at, axis) in plan.axes.iter().enumerate() {
        let name = axis.key.replace('.', "_");
        columns.push(match axis.numbers() {
            Some(numbers) => real(&name, rows, |row| Some(numbers[point(row).values[at]])),
            None => text(&name, rows, |row| Some(axis.values[point(row).values[at]].clone())),
        });
    }
    columns
}
