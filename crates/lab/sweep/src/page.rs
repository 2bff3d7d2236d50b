//! The page of a sweep: the recommendation, the designs worth their price, small multiples of the metrics that matter,
//! and gaps in the measurements.

use crate::execute::Status;
use crate::findings::{Findings, design_name};
use crate::grid::{Grid, Point};
use crate::summary::Summary;
use crate::{multiples, trade_off};
use figures::{Page, each, escape};

/// Most rows of a table.
pub(crate) const MOST_ROWS: usize = 50;

/// Combinations that gave nothing, and why.
fn problems(grid: &Grid, all: &[Summary]) -> String {
    let with_problem: Vec<&Summary> = all.iter().filter(|summary| summary.problem.is_some()).collect();
    if with_problem.is_empty() {
        return String::new();
    }
    let rows = each(with_problem.iter().take(MOST_ROWS), |summary| {
        format!(
            "<tr><td>{}</td><td>{}</td></tr>",
            escape(&label(grid, &summary.point)),
            escape(summary.problem.as_deref().unwrap_or_default())
        )
    });
    format!(
        "<section id=\"problems\"><h2>Not measured</h2><p class=\"lead\">{} of {} combinations.</p><div \
         class=\"table\"><table><thead>\
         <tr><th>Combination</th><th>Why</th></tr></thead><tbody>{rows}</tbody></table></div></section>",
        with_problem.len(),
        all.len()
    )
}

/// A combination in words: its stack, its workload where there are several, and its value of each axis.
pub(crate) fn label(grid: &Grid, point: &Point) -> String {
    let plan = &grid.plan;
    let workload = (plan.workloads.len() > 1).then(|| plan.workloads[point.workload].clone());
    let values =
        plan.axes.iter().zip(&point.values).map(|(axis, value)| format!("{} {}", axis.key, axis.values[*value]));
    std::iter::once(plan.stacks[point.stack].clone()).chain(workload).chain(values).collect::<Vec<_>>().join(", ")
}

/// What is recommended over all panels, and how designs stand there.
fn summary(grid: &Grid, all: &[Summary], findings: &Findings) -> String {
    if findings.overall.is_none() {
        return String::new();
    }
    let near = figures::number(grid.plan.within * 100.0);
    let rows = each(findings.standings.iter().take(MOST_ROWS), |standing| {
        let name = design_name(grid, &all[standing.first].point);
        let of = |count: usize| format!("<td>{count} of {}</td>", standing.compared);
        format!(
            "<tr><td>{}</td>{}{}</tr>",
            escape(&name).replace('.', ".<wbr>"),
            of(standing.unbeaten),
            of(standing.near)
        )
    });
    let left_out = findings.standings.len().saturating_sub(MOST_ROWS);
    let rest =
        if left_out > 0 { format!("<p class=\"lead\">{left_out} more are in summary.csv.</p>") } else { String::new() };
    format!(
        "<section id=\"summary\"><h2>Over all {} panels</h2><div class=\"{}\"><table \
         class=\"numbers\"><thead><tr><th>Design</th>\
         <th>Unbeaten</th><th>Tail within {near}&nbsp;% of the \
         shortest</th></tr></thead><tbody>{rows}</tbody></table></div>{rest}</section>",
        findings.panels.len(),
        figures::frame(findings.standings.len()),
    )
}

/// The recommendation of a sweep with one panel.
fn only(findings: &Findings) -> Option<&str> {
    let [judged] = &findings.panels[..] else { return None };
    Some(judged.advice.in_two().0)
}

/// The page of a sweep.
pub fn page(grid: &Grid, all: &[Summary], findings: &Findings) -> String {
    let complete: usize = all.iter().map(|summary| summary.complete).sum();
    let notes = each(&findings.notes, |note| format!("<p class=\"lead\">{}</p>", escape(note)));
    let answer = findings.overall.as_deref().or_else(|| only(findings));
    let answer = each(answer, |text| format!("<p class=\"advice\">{}</p>", escape(text)));
    let intervals = if grid.plan.repetitions > 1 { ", lines through them 95 % confidence intervals" } else { "" };
    let top = format!(
        "{answer}<p class=\"lead\">{} combinations, {} {} each; {complete} of {} runs {}. Values are means over \
         repetitions{intervals}; \
         every metric stands in summary.csv, every run in results.parquet.</p>{notes}",
        all.len(),
        grid.plan.repetitions,
        if grid.plan.repetitions == 1 { "repetition" } else { "repetitions" },
        grid.runs.len(),
        Status::Complete.name()
    );
    let sections = summary(grid, all, findings)
        + &trade_off::sections(grid, all, findings)
        + &multiples::sections(grid, all)
        + &problems(grid, all);
    Page { brand: "sweep", title: &grid.plan.name, top, sections }.render()
}
