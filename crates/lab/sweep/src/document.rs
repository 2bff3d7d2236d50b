//! A sweep as JSON, for whoever reads it with a program. An absent value is `null`.

use crate::execute::{Outcome, counts};
use crate::findings::{Findings, Judged};
use crate::grid::{Grid, Point};
use crate::metric::{METRICS, Metric};
use crate::summary::Summary;
use serde_json::{Map, Value, json};

/// Version of the JSON form of a sweep.
const SCHEMA: &str = "nandarium.sweep/1";
/// Version of the JSON form of what would be run.
const PLANNED: &str = "nandarium.sweep-plan/1";

/// The answer of a sweep.
pub fn document(grid: &Grid, outcomes: &[Option<Outcome>], all: &[Summary], findings: &Findings) -> Value {
    let plan = &grid.plan;
    let statuses: Map<String, Value> =
        counts(outcomes).into_iter().map(|(name, count)| (name.to_owned(), json!(count))).collect();
    let standing = |standing: &crate::findings::Standing| {
        json!({
            "name": standing.name, "combination": standing.first, "compared": standing.compared,
            "unbeaten": standing.unbeaten, "near": standing.near,
        })
    };
    let combination = |(at, summary)| combination(grid, at, summary, findings);
    json!({
        "schema": SCHEMA,
        "name": plan.name,
        "runs": grid.runs.len(),
        "repetitions": plan.repetitions,
        "within": plan.within,
        "statuses": statuses,
        "combinations": all.iter().enumerate().map(combination).collect::<Vec<_>>(),
        "panels": findings.panels.iter().map(|judged| panel(grid, judged)).collect::<Vec<_>>(),
        "designs": findings.standings.iter().map(standing).collect::<Vec<_>>(),
        "recommended": findings.overall_design,
        "recommendation": findings.overall,
        "notes": findings.notes,
    })
}

fn values(grid: &Grid, point: &Point) -> Map<String, Value> {
    grid.plan
        .axes
        .iter()
        .zip(&point.values)
        .map(|(axis, value)| (axis.key.to_owned(), json!(axis.values[*value])))
        .collect()
}

fn combination(grid: &Grid, at: usize, summary: &Summary, findings: &Findings) -> Value {
    let plan = &grid.plan;
    let cells = METRICS.iter().zip(&summary.cells);
    let metrics: Map<String, Value> = cells
        .map(|(metric, cell)| {
            (metric.name.to_owned(), cell.map_or(Value::Null, |cell| json!({"mean": cell.mean, "ci95": cell.half})))
        })
        .collect();
    json!({
        "stack": plan.stacks[summary.point.stack],
        "workload": plan.workloads[summary.point.workload],
        "values": values(grid, &summary.point),
        "complete": summary.complete,
        "problem": summary.problem,
        "absent": summary.absent,
        "panel": findings.panels.iter().position(|judged| judged.panel.members.contains(&at)),
        "unbeaten": findings.verdict(at).is_unbeaten,
        "metrics": metrics,
    })
}

fn panel(grid: &Grid, judged: &Judged) -> Value {
    let (panel, advice) = (&judged.panel, &judged.advice);
    let front = judged.front.as_ref().ok();
    let name = |metric: &Metric| metric.name;
    let keys: Map<String, Value> = panel.keys.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
    json!({
        "title": panel.title,
        "workload": grid.plan.workloads[panel.workload],
        "keys": keys,
        "combinations": panel.members,
        "compared": front.map(|front| front.candidates.clone()),
        "tail": front.map(|front| name(front.tail)),
        "costs": front.map(|front| front.costs.iter().map(|metric| name(metric)).collect::<Vec<_>>()),
        "price": front.and_then(|front| front.price).map(name),
        "unbeaten": front.map(|front| front.unbeaten.clone()),
        "why_not": judged.front.as_ref().err(),
        "shortest": advice.best,
        "recommended": advice.recommended,
        "knee": advice.knee.as_ref().map(|knee| json!({"combinations": knee.at, "falls": knee.falls})),
        "recommendation": advice.text,
    })
}

/// The runs of a plan.
pub fn planned(grid: &Grid) -> Value {
    let runs: Vec<Value> = grid
        .runs
        .iter()
        .map(|run| json!({"run": run.to_json(), "seed": run.seed, "impossible": run.impossible}))
        .collect();
    json!({"schema": PLANNED, "name": grid.plan.name, "runs": runs})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use std::path::Path;

    #[test]
    fn what_is_absent_is_null_and_has_a_reason() {
        let text = "[axes]\ndrive.over_provisioning = [\"25%\", \"50%\"]\n";
        let grid = Grid::expand(Plan::parse(text, "p.toml", Path::new("."), &[]).unwrap(), "build").unwrap();
        let outcomes = vec![None, None];
        let all = Summary::all(&grid, &outcomes);
        let document = document(&grid, &outcomes, &all, &Findings::of(&grid, &outcomes, &all));
        let combination = &document["combinations"][1];
        assert_eq!(combination["metrics"].as_object().map(Map::len), Some(METRICS.len()), "every metric is named");
        assert!(
            combination["metrics"]["read_p99_ns"].is_null()
                && combination["unbeaten"].is_null()
                && combination["panel"] == 0
        );
        let panel = &document["panels"][0];
        assert_eq!(panel["why_not"], "no combination was measured");
        for key in ["compared", "tail", "costs", "price", "unbeaten", "shortest", "recommended", "knee"] {
            assert!(panel.get(key).is_some_and(Value::is_null), "{key}: {panel}");
        }
        assert_eq!(document["statuses"]["not run"], 2);
    }
}
