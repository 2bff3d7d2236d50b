//! The page of a sweep: small multiples of what matters, and which combinations are worth their price.

use crate::axis::Axis;
use crate::execute::Status;
use crate::grid::Grid;
use crate::metric::Metric;
use crate::summary::Summary;
use figures::{Figure, Page, Panel, Point, Scatter, Series, Shape, each, escape, number, section};

/// Metrics with a figure: name, axis, and what one unit of the axis is.
const SHOWN: [(&str, &str, f64); 5] = [
    ("iops", "thousand requests a second", 1e3),
    ("read_p999_ns", "microseconds", 1e3),
    ("write_p999_ns", "microseconds", 1e3),
    ("waf", "pages programmed for each of the host", 1.0),
    ("ram_bytes", "KiB", 1024.0),
];
/// Most lines of a panel: there are so many colours.
const MOST_SERIES: usize = 8;
/// Most panels of a figure.
const MOST_PANELS: usize = 24;
/// Most rows of the table of combinations that nothing beats.
const MOST_ROWS: usize = 50;

/// What combinations are that lie on the front of the three costs, and the others.
const UNBEATEN: &str = "unbeaten";
const BEATEN: &str = "beaten by another one";

/// A dimension of the grid: what it is called, its values, those of numbers from the smallest, and which of them a summary has.
struct Dimension {
    name: String,
    values: Vec<String>,
    of: Box<dyn Fn(&Summary) -> usize>,
}

impl Dimension {
    fn of_axis(at: usize, axis: &Axis) -> Self {
        let mut order: Vec<usize> = (0..axis.values.len()).collect();
        // A line through numbers in the order they were written would go to and fro.
        if let Some(numbers) = axis.numbers() {
            order.sort_by(|a, b| numbers[*a].total_cmp(&numbers[*b]));
        }
        let mut rank = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, value)| rank[*value] = place);
        let values = order.into_iter().map(|value| axis.values[value].clone()).collect();
        Self { name: axis.key.to_owned(), values, of: Box::new(move |summary| rank[summary.point.values[at]]) }
    }
}

fn dimensions(grid: &Grid) -> Vec<Dimension> {
    let plan = &grid.plan;
    let mut dimensions: Vec<Dimension> = plan.axes.iter().enumerate().map(|(at, axis)| Dimension::of_axis(at, axis)).collect();
    dimensions.push(Dimension { name: "stack".to_owned(), values: plan.stacks.clone(), of: Box::new(|summary| summary.point.stack) });
    dimensions.push(Dimension { name: "workload".to_owned(), values: plan.workloads.clone(), of: Box::new(|summary| summary.point.workload) });
    dimensions.retain(|dimension| dimension.values.len() > 1);
    dimensions
}

/// How the dimensions share the picture: along the axis, as lines, as panels.
struct Arrangement {
    along: Option<Dimension>,
    lines: Option<Dimension>,
    panels: Vec<Dimension>,
}

impl Arrangement {
    fn of(grid: &Grid) -> Self {
        let mut rest = dimensions(grid);
        // The axis with most values goes along; stacks are what people compare, so they are lines where they fit.
        let axes = rest.iter().filter(|dimension| !["stack", "workload"].contains(&dimension.name.as_str())).map(|dimension| dimension.values.len());
        let longest = axes.max();
        let along = rest.iter().position(|dimension| Some(dimension.values.len()) == longest).map(|at| rest.remove(at));
        let along = along.or_else(|| if rest.is_empty() { None } else { Some(rest.remove(0)) });
        let fits = |dimension: &Dimension| dimension.values.len() <= MOST_SERIES;
        let lines = rest.iter().position(|dimension| dimension.name == "stack" && fits(dimension)).or_else(|| rest.iter().position(fits));
        let lines = lines.map(|at| rest.remove(at));
        Self { along, lines, panels: rest }
    }

    /// Which panel a summary belongs to, in words.
    fn panel(&self, summary: &Summary) -> String {
        self.panels.iter().map(|dimension| format!("{} {}", dimension.name, dimension.values[(dimension.of)(summary)])).collect::<Vec<_>>().join(", ")
    }

    fn figure(&self, name: &'static str, axis: &'static str, unit: f64, all: &[Summary]) -> Option<Figure> {
        let metric = Metric::named(name)?;
        let categories = self.along.as_ref().map_or_else(|| vec!["all".to_owned()], |along| along.values.clone());
        let names = self.lines.as_ref().map_or_else(|| vec![metric.doc.to_owned()], |lines| lines.values.clone());
        let mut panels: Vec<Panel> = Vec::new();
        // Panels in the order of what they show, as what is along them.
        let mut in_order: Vec<&Summary> = all.iter().collect();
        let ranks = |summary: &Summary| self.panels.iter().map(|dimension| (dimension.of)(summary)).collect::<Vec<_>>();
        in_order.sort_by_cached_key(|summary| (summary.point.stack, summary.point.workload, ranks(summary)));
        for summary in in_order {
            let Some(value) = summary.mean(name) else { continue };
            let title = self.panel(summary);
            let at = panels.iter().position(|panel| panel.title == title).unwrap_or_else(|| {
                let series = names.iter().map(|name| Series { name: name.clone(), values: vec![None; categories.len()] }).collect();
                panels.push(Panel { title, categories: categories.clone(), series, published: Vec::new() });
                panels.len() - 1
            });
            let line = self.lines.as_ref().map_or(0, |lines| (lines.of)(summary));
            let category = self.along.as_ref().map_or(0, |along| (along.of)(summary));
            panels[at].series[line].values[category] = Some(value / unit);
        }
        if panels.is_empty() {
            return None;
        }
        let left_out = panels.len().saturating_sub(MOST_PANELS);
        panels.truncate(MOST_PANELS);
        let along = self.along.as_ref().map_or_else(String::new, |along| format!("Along: {}.", along.name));
        let lines = self.lines.as_ref().map_or_else(String::new, |lines| format!(" Colours: {}.", lines.name));
        let rest = if left_out > 0 { format!(" {left_out} more panels are in the table alone.") } else { String::new() };
        // One scale for all panels: they are there to be compared.
        let values = panels.iter().flat_map(|panel| panel.series.iter().flat_map(|series| series.values.iter().flatten().copied()));
        let largest = values.fold(0.0, f64::max);
        let most = (panels.len() > 1 && largest > 0.0).then_some(largest);
        let shape = if categories.len() > 2 { Shape::Lines } else { Shape::Bars };
        Some(Figure { name, title: metric.doc, axis, shape, most, panels, published: Vec::new(), caption: format!("{along}{lines}{rest}") })
    }
}

/// A combination with what it costs: tail latency (ns), write amplification, spare space (share).
struct Candidate<'a> {
    summary: &'a Summary,
    costs: [f64; 3],
}

/// Those that no other one beats in one cost without losing in another.
fn unbeaten(candidates: &[Candidate<'_>]) -> Vec<bool> {
    let beats = |a: &[f64; 3], b: &[f64; 3]| a.iter().zip(b).all(|(a, b)| a <= b) && a.iter().zip(b).any(|(a, b)| a < b);
    candidates.iter().map(|one| !candidates.iter().any(|other| beats(&other.costs, &one.costs))).collect()
}

/// A combination in words: its stack, and its value of each axis.
fn parts(grid: &Grid, summary: &Summary) -> Vec<String> {
    let plan = &grid.plan;
    let values = plan.axes.iter().zip(&summary.point.values).map(|(axis, value)| format!("{} {}", axis.key, axis.values[*value]));
    std::iter::once(plan.stacks[summary.point.stack].clone()).chain(values).collect()
}

fn label(grid: &Grid, summary: &Summary) -> String {
    let mut parts = parts(grid, summary);
    if grid.plan.workloads.len() > 1 {
        parts.insert(1, grid.plan.workloads[summary.point.workload].clone());
    }
    parts.join(", ")
}

/// Pictures of what combinations cost, one for each workload, each with the table of what nothing beats.
fn trade_off(grid: &Grid, all: &[Summary]) -> String {
    let mut sections = String::new();
    for (workload, name) in grid.plan.workloads.iter().enumerate() {
        let of_workload: Vec<&Summary> = all.iter().filter(|summary| summary.point.workload == workload).collect();
        // A workload that only writes has no latency of reads.
        let tail = if of_workload.iter().any(|summary| summary.mean("read_p999_ns").is_some()) { "read_p999_ns" } else { "write_p999_ns" };
        let costs = |summary: &Summary| Some([summary.mean(tail)?, summary.mean("waf")?, summary.mean("spare_share")?]);
        let candidates: Vec<Candidate<'_>> = of_workload.into_iter().filter_map(|summary| Some(Candidate { summary, costs: costs(summary)? })).collect();
        if !candidates.is_empty() {
            sections += &picture(grid, workload, name, Metric::named(tail).map_or("", |metric| metric.doc), &candidates);
        }
    }
    sections
}

/// Tail latency over write amplification, coloured by stack; the area of a point is spare space.
fn picture(grid: &Grid, workload: usize, name: &str, tail: &str, candidates: &[Candidate<'_>]) -> String {
    let marked = unbeaten(candidates);
    let point = |(candidate, is_marked): (&Candidate<'_>, &bool)| {
        let [latency, waf, spare] = candidate.costs;
        let mut lines = parts(grid, candidate.summary);
        lines.extend([
            format!("{tail}: {} us", number(latency / 1e3)),
            format!("Write amplification: {}", number(waf)),
            format!("Spare space: {} %", number(spare * 100.0)),
            if *is_marked { UNBEATEN } else { BEATEN }.to_owned(),
        ]);
        Point { x: waf, y: latency / 1e3, size: spare * 100.0, label: lines.join("\n"), is_marked: *is_marked }
    };
    // Colours run out before stacks do.
    let colours = grid.plan.stacks.len().min(MOST_SERIES);
    let groups = (0..colours).map(|stack| figures::Group {
        name: if stack + 1 == colours && grid.plan.stacks.len() > colours { "others".to_owned() } else { grid.plan.stacks[stack].clone() },
        points: candidates.iter().zip(&marked).filter(|(candidate, _)| candidate.summary.point.stack.min(colours - 1) == stack).map(point).collect(),
    });
    let best: Vec<&Candidate<'_>> = candidates.iter().zip(&marked).filter(|(_, marked)| **marked).map(|(candidate, _)| candidate).collect();
    let scatter = Scatter {
        name: format!("trade-off-{workload}"),
        title: format!("What each combination costs under {name}"),
        axes: ["Write amplification".to_owned(), format!("{tail}, us")],
        size: ["Area, spare space".to_owned(), " %".to_owned()],
        kinds: [UNBEATEN.to_owned(), BEATEN.to_owned()],
        groups: groups.collect(),
        caption: "Best is down, left and small. Unbeaten: no other combination is better in tail latency, write amplification or spare space \
            without being worse in another of the three."
            .to_owned(),
        beside: front(grid, tail, candidates.len(), best),
    };
    scatter.section()
}

/// The table of what nothing beats, from the lowest latency.
fn front(grid: &Grid, tail: &str, all: usize, mut best: Vec<&Candidate<'_>>) -> String {
    best.sort_by(|a, b| a.costs[0].total_cmp(&b.costs[0]));
    let rows = each(best.iter().take(MOST_ROWS), |candidate| {
        let [latency, waf, spare] = candidate.costs;
        let parts = parts(grid, candidate.summary);
        let axes = each(&parts[1..], |part| format!("<small>{}</small>", escape(part).replace('.', ".<wbr>")));
        format!("<tr><td>{}{axes}</td><td>{}</td><td>{}</td><td>{}&nbsp;%</td></tr>", escape(&parts[0]), number(latency / 1e3), number(waf), number(spare * 100.0))
    });
    let left_out = best.len().saturating_sub(MOST_ROWS);
    let rest = if left_out > 0 { format!("<p class=\"lead\">{left_out} more are in summary.csv.</p>") } else { String::new() };
    format!(
        "<h3>{} of {all} are {UNBEATEN}</h3><div class=\"wide tall\"><table class=\"numbers\"><thead><tr><th>Combination</th><th title=\"{}\">p99.9,&nbsp;us</th>\
         <th title=\"Write amplification\">WAF</th><th>Spare</th></tr></thead><tbody>{rows}</tbody></table></div>{rest}",
        best.len(),
        escape(tail)
    )
}

/// Combinations that gave nothing, and why.
fn problems(grid: &Grid, all: &[Summary]) -> String {
    let with_problem: Vec<&Summary> = all.iter().filter(|summary| summary.problem.is_some()).collect();
    if with_problem.is_empty() {
        return String::new();
    }
    let rows = each(with_problem.iter().take(MOST_ROWS), |summary| {
        format!("<tr><td>{}</td><td>{}</td></tr>", escape(&label(grid, summary)), escape(summary.problem.as_deref().unwrap_or_default()))
    });
    format!(
        "<section id=\"problems\"><h2>Not measured</h2><p class=\"lead\">{} of {} combinations.</p><div class=\"wide\"><table><thead>\
         <tr><th>Combination</th><th>Why</th></tr></thead><tbody>{rows}</tbody></table></div></section>",
        with_problem.len(),
        all.len()
    )
}

/// The page of a sweep.
pub fn page(grid: &Grid, all: &[Summary]) -> String {
    let arrangement = Arrangement::of(grid);
    let figures = each(SHOWN, |(name, axis, unit)| arrangement.figure(name, axis, unit, all).map_or_else(String::new, |figure| section(&figure)));
    let complete: usize = all.iter().map(|summary| summary.complete).sum();
    let top = format!(
        "<p class=\"lead\">{} combinations, {} repetitions each; {complete} of {} runs {}. Values are means over repetitions; \
         confidence intervals stand in summary.csv, every run in results.parquet.</p>",
        all.len(),
        grid.plan.repetitions,
        grid.runs.len(),
        Status::Complete.name()
    );
    let sections = trade_off(grid, all) + &figures + &problems(grid, all);
    Page { brand: "sweep", title: &grid.plan.name, top, sections }.render()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Point as GridPoint;
    use crate::metric::METRICS;
    use crate::plan::Plan;
    use crate::summary::Cell;
    use std::path::Path;

    /// A combination of two stacks under two workloads: what is measured, by name.
    fn summary(stack: usize, workload: usize, value: usize, measured: &[(&str, f64)]) -> Summary {
        let cell = |metric: &Metric| measured.iter().find(|(name, _)| *name == metric.name).map(|(_, mean)| Cell { mean: *mean, half: None });
        let point = GridPoint { stack, workload, values: vec![value] };
        Summary { point, complete: 1, problem: None, cells: METRICS.iter().map(cell).collect() }
    }

    fn two_by_two() -> Grid {
        let text = "stacks = [\"page\", \"dftl\"]\nworkloads = [\"zipf\", \"oltp\"]\n[set]\ndrive.capacity = \"64MiB\"\n[axes]\ndrive.over_provisioning = [\"15%\", \"50%\"]\n";
        Grid::expand(Plan::parse(text, "plan.toml", Path::new("."), &[]).unwrap(), "test").unwrap()
    }

    #[test]
    fn the_picture_of_costs_shows_spare_space_and_what_each_point_is() {
        let costs = |tail: f64, waf: f64, spare: f64| [("read_p999_ns", tail * 1e3), ("waf", waf), ("spare_share", spare)];
        let all = [summary(0, 1, 0, &costs(900.0, 4.5, 0.156)), summary(1, 1, 1, &costs(800.0, 2.0, 0.5)), summary(1, 1, 0, &costs(950.0, 4.6, 0.156))];
        let html = trade_off(&two_by_two(), &all);
        assert!(html.contains("Area, spare space: ") && html.contains("15.6 %</span>") && html.contains("50 %</span>"), "{html}");
        let title = "<title>page\ndrive.over_provisioning 15%\n99.9th percentile of reads: 900 us\nWrite amplification: 4.5\nSpare space: 15.6 %\nunbeaten</title>";
        assert!(html.contains(title), "{html}");
        assert_eq!((html.matches("class=\"s0 marked\"").count(), html.matches("class=\"s1 marked\"").count(), html.matches("class=\"s1 faint\"").count()), (1, 1, 1));
        assert!(html.contains("2 of 3 are unbeaten") && html.contains("<td>900</td><td>4.5</td><td>15.6&nbsp;%</td>"), "{html}");
    }

    /// The line went from 20 % over 30 % back to 0.1 %, and across what could not be built.
    #[test]
    fn numbers_are_drawn_in_their_order_and_no_line_crosses_what_is_missing() {
        let text = "[axes]\ndrive.over_provisioning = [\"50%\", \"20%\", \"0.1%\", \"30%\", \"25%\"]\nworkload.queue_depth = [4, 1]\nftl.gc.victim = [\"greedy\", \"fifo\"]\n";
        let grid = Grid::expand(Plan::parse(text, "plan.toml", Path::new("."), &[]).unwrap(), "test").unwrap();
        let at = |values: [usize; 3], waf: f64| Summary { point: GridPoint { stack: 0, workload: 0, values: values.to_vec() }, ..summary(0, 0, 0, &[("waf", waf)]) };
        let depth = |depth: usize| [([1, 0, depth], 3.0), ([2, 0, depth], 4.0), ([0, 0, depth], 1.0), ([3, 0, depth], 2.0)].map(|(values, waf)| at(values, waf));
        let figure = Arrangement::of(&grid).figure("waf", "", 1.0, &[depth(0), depth(1)].concat()).unwrap();
        let panel = &figure.panels[0];
        assert_eq!(panel.categories, ["0.1%", "20%", "25%", "30%", "50%"]);
        assert_eq!((panel.series[0].name.as_str(), panel.title.as_str()), ("greedy", "workload.queue_depth 1"));
        assert_eq!(panel.series[0].values, [Some(4.0), Some(3.0), None, Some(2.0), Some(1.0)]);
        assert_eq!(section(&figure).matches("<polyline class=\"s0\"").count(), 4, "two pieces in each panel");
    }

    #[test]
    fn a_workload_that_only_writes_has_its_picture_beside_one_that_reads() {
        let writes = summary(0, 0, 0, &[("write_p999_ns", 5e5), ("waf", 3.0), ("spare_share", 0.1)]);
        let reads = summary(0, 1, 0, &[("read_p999_ns", 9e5), ("write_p999_ns", 5e5), ("waf", 3.0), ("spare_share", 0.1)]);
        let html = trade_off(&two_by_two(), &[writes, reads]);
        let (first, second) = html.split_once("id=\"trade-off-1\"").unwrap();
        assert!(first.contains("under zipf") && first.contains("99.9th percentile of writes, us"));
        assert!(second.contains("under oltp") && second.contains("99.9th percentile of reads, us"));
    }

    #[test]
    fn only_what_loses_nowhere_is_unbeaten() {
        let summary = Summary { point: GridPoint { stack: 0, workload: 0, values: Vec::new() }, complete: 1, problem: None, cells: Vec::new() };
        let candidates: Vec<_> =
            [[1.0, 5.0, 0.1], [2.0, 4.0, 0.1], [2.0, 5.0, 0.1], [2.0, 4.0, 0.1], [9.0, 9.0, 0.05]].map(|costs| Candidate { summary: &summary, costs }).into();
        assert_eq!(unbeaten(&candidates), [true, true, false, true, true], "equals do not beat each other");
    }
}
