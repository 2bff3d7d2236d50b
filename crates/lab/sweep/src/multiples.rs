//! Small multiples of the measurements: one figure for each metric that matters, with its intervals.

use crate::axis::Axis;
use crate::grid::Grid;
use crate::metric::{MEMORY, Metric};
use crate::summary::Summary;
use crate::{tail, words};
use figures::{Figure, Look, Panel, Series, Shape, section_with};

/// Values by line and category.
type Cells = Vec<Vec<Option<f64>>>;

/// Most lines of a panel: the number of colours.
pub(crate) const MOST_SERIES: usize = 8;
/// Most panels of a figure.
const MOST_PANELS: usize = 24;

/// Metrics with a figure, and what their axis is; of the percentiles the highest that all combinations have.
fn shown(all: &[Summary]) -> Vec<(&'static Metric, &'static str)> {
    let named = |name: &str, axis: &'static str| Metric::named(name).map(|metric| (metric, axis));
    let tails = tail::tails(all).into_iter().map(|metric| (metric, "latency"));
    let first = named("iops", "requests a second");
    let last = [named("waf", "bytes programmed for each of the host"), named(MEMORY, "bytes")];
    first.into_iter().chain(tails).chain(last.into_iter().flatten()).collect()
}

/// A dimension of the grid: what it is called, its values, those of numbers from the smallest, and which of them a
/// summary has.
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
    let mut dimensions: Vec<Dimension> =
        plan.axes.iter().enumerate().map(|(at, axis)| Dimension::of_axis(at, axis)).collect();
    dimensions.push(Dimension {
        name: "stack".to_owned(),
        values: plan.stacks.clone(),
        of: Box::new(|summary| summary.point.stack),
    });
    dimensions.push(Dimension {
        name: "workload".to_owned(),
        values: plan.workloads.clone(),
        of: Box::new(|summary| summary.point.workload),
    });
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
        let axes = rest
            .iter()
            .filter(|dimension| !["stack", "workload"].contains(&dimension.name.as_str()))
            .map(|dimension| dimension.values.len());
        let longest = axes.max();
        let along = rest.iter().position(|dimension| Some(dimension.values.len()) == longest).map(|at| rest.remove(at));
        let along = along.or_else(|| if rest.is_empty() { None } else { Some(rest.remove(0)) });
        let fits = |dimension: &Dimension| dimension.values.len() <= MOST_SERIES;
        let lines = rest
            .iter()
            .position(|dimension| dimension.name == "stack" && fits(dimension))
            .or_else(|| rest.iter().position(fits));
        let lines = lines.map(|at| rest.remove(at));
        Self { along, lines, panels: rest }
    }

    /// Which panel a summary belongs to, in words.
    fn panel(&self, summary: &Summary) -> String {
        self.panels
            .iter()
            .map(|dimension| format!("{} {}", dimension.name, dimension.values[(dimension.of)(summary)]))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// A metric as a figure, and how it is drawn; `None`: it was not measured.
    fn figure(&self, metric: &'static Metric, axis: &'static str, all: &[Summary]) -> Option<(Figure, Look)> {
        let categories = self.along.as_ref().map_or_else(|| vec!["all".to_owned()], |along| along.values.clone());
        let names = self.lines.as_ref().map_or_else(|| vec![metric.doc.to_owned()], |lines| lines.values.clone());
        let cells: Vec<_> = all.iter().filter_map(|summary| Some((summary, summary.cell(metric.name)?))).collect();
        let ends = cells.iter().map(|(_, cell)| cell.mean + cell.half.unwrap_or(0.0));
        let largest = ends.fold(0.0, f64::max);
        let (scale, show) = words::axis(metric, largest);
        let empty = || vec![vec![None; categories.len()]; names.len()];
        // Values and halves of their intervals, in panels in the order of what they show, as what is along them.
        let mut drawn: Vec<(String, [Cells; 2])> = Vec::new();
        let mut in_order = cells;
        let ranks = |summary: &Summary| self.panels.iter().map(|dimension| (dimension.of)(summary)).collect::<Vec<_>>();
        in_order.sort_by_cached_key(|(summary, _)| (summary.point.stack, summary.point.workload, ranks(summary)));
        for (summary, cell) in in_order {
            let title = self.panel(summary);
            let at = drawn.iter().position(|(known, _)| *known == title).unwrap_or_else(|| {
                drawn.push((title, [empty(), empty()]));
                drawn.len() - 1
            });
            let line = self.lines.as_ref().map_or(0, |lines| (lines.of)(summary));
            let category = self.along.as_ref().map_or(0, |along| (along.of)(summary));
            let [values, halves] = &mut drawn[at].1;
            values[line][category] = Some(cell.mean / scale);
            halves[line][category] = cell.half.map(|half| half / scale);
        }
        if drawn.is_empty() {
            return None;
        }
        let caption = self.caption(drawn.len().saturating_sub(MOST_PANELS));
        drawn.truncate(MOST_PANELS);
        let mut look = Look { show, halves: Vec::new() };
        let mut panels = Vec::new();
        for (title, [values, halves]) in drawn {
            let series = names.iter().zip(values).map(|(name, values)| Series { name: name.clone(), values }).collect();
            panels.push(Panel { title, categories: categories.clone(), series, published: Vec::new() });
            look.halves.push(halves);
        }
        // One scale for all panels: they are there to be compared.
        let most = (largest > 0.0).then_some(largest / scale);
        let shape = if categories.len() > 2 { Shape::Lines } else { Shape::Bars };
        Some((
            Figure { name: metric.name, title: metric.doc, axis, shape, most, panels, published: Vec::new(), caption },
            look,
        ))
    }

    fn caption(&self, left_out: usize) -> String {
        let along = self.along.as_ref().map(|along| format!("Along: {}.", along.name));
        let lines = self.lines.as_ref().map(|lines| format!("Colours: {}.", lines.name));
        let rest = (left_out > 0).then(|| format!("{left_out} more panels are in the table alone."));
        along.into_iter().chain(lines).chain(rest).collect::<Vec<_>>().join(" ")
    }
}

/// All figures as sections of a page.
pub(crate) fn sections(grid: &Grid, all: &[Summary]) -> String {
    let arrangement = Arrangement::of(grid);
    let figures = shown(all).into_iter().filter_map(|(metric, axis)| arrangement.figure(metric, axis, all));
    figures.map(|(figure, look)| section_with(&figure, &look, "")).collect::<Vec<_>>().concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Point;
    use crate::metric::METRICS;
    use crate::plan::Plan;
    use metrics::Cell;
    use std::path::Path;

    fn grid() -> Grid {
        let text = "[axes]\ndrive.over_provisioning = [\"50%\", \"20%\", \"0.1%\", \"30%\", \
            \"25%\"]\nworkload.queue_depth = [4, 1]\nftl.gc.victim = [\"greedy\", \"fifo\"]\n";
        Grid::expand(Plan::parse(text, "plan.toml", Path::new("."), &[]).unwrap(), "test").unwrap()
    }

    fn summary(values: [usize; 3], name: &str, cell: Cell) -> Summary {
        let cells = METRICS.iter().map(|metric| (metric.name == name).then_some(cell)).collect();
        let point = Point { stack: 0, workload: 0, values: values.to_vec() };
        Summary { point, complete: 1, problem: None, absent: None, fewest: [None; 3], cells }
    }

    fn figure(name: &str, all: &[Summary]) -> (Figure, Look) {
        Arrangement::of(&grid()).figure(Metric::named(name).unwrap(), "", all).unwrap()
    }

    /// The line went from 20 % over 30 % back to 0.1 %, and across what could not be built.
    #[test]
    fn numbers_are_drawn_in_their_order_and_no_line_crosses_what_is_missing() {
        let at = |values: [usize; 3], mean: f64| summary(values, "waf", Cell { mean, half: None });
        let depth = |depth: usize| {
            [([1, 0, depth], 3.0), ([2, 0, depth], 4.0), ([0, 0, depth], 1.0), ([3, 0, depth], 2.0)]
                .map(|(values, waf)| at(values, waf))
        };
        let (figure, look) = figure("waf", &[depth(0), depth(1)].concat());
        let panel = &figure.panels[0];
        assert_eq!(panel.categories, ["0.1%", "20%", "25%", "30%", "50%"]);
        assert_eq!((panel.series[0].name.as_str(), panel.title.as_str()), ("greedy", "workload.queue_depth 1"));
        assert_eq!(panel.series[0].values, [Some(4.0), Some(3.0), None, Some(2.0), Some(1.0)]);
        assert_eq!(
            section_with(&figure, &look, "").matches("<polyline class=\"s0\"").count(),
            4,
            "two pieces in each panel"
        );
    }

    /// An axis said 200000, of microseconds, and means had no intervals.
    #[test]
    fn a_figure_has_readable_units_and_intervals() {
        let at =
            |value: usize, mean: f64| summary([value, 0, 0], "read_p99_ns", Cell { mean, half: Some(mean / 10.0) });
        let (figure, look) = figure("read_p99_ns", &[at(0, 2e8), at(1, 1e8), at(2, 1.5e8)]);
        let section = section_with(&figure, &look, "");
        assert!(
            section.contains(">200 ms</text>")
                && section.contains("200 ms \u{b1} 20 ms")
                && !section.contains("200000"),
            "{section}"
        );
        assert_eq!(section.matches("interval\"").count(), 3);
        assert!(figure.most.unwrap() > 2.19e8, "the interval is within the picture");
    }
}
