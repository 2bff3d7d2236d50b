//! Costs of designs: a picture and a recommendation for each panel.

use crate::findings::{Findings, Judged, design_name};
use crate::front::Front;
use crate::grid::Grid;
use crate::metric::Metric;
use crate::multiples::MOST_SERIES;
use crate::page::MOST_ROWS;
use crate::summary::Summary;
use crate::words::{self, shown, shown_cell};
use figures::{Group, Point, Scatter, each, escape};
use metrics::Cell;

/// Most panels with a picture.
const MOST_PANELS: usize = 24;
/// Heights of the picture of a panel: alone, and among others.
const HEIGHTS: [f64; 2] = [340.0, 220.0];
/// What combinations are that lie on the front, and the others.
const UNBEATEN: &str = "unbeaten";
const BEATEN: &str = "beaten by another one";
/// What the pictures show.
const CAPTION: &str = "Best is down, left and small. A design is beaten if another one is better in tail, write \
    amplification or price, \
    and in none of them worse, each time by more than the intervals allow. Designs compete under the same requests \
    only.";

/// Pictures of the costs of combinations: one for each panel.
pub(crate) fn sections(grid: &Grid, all: &[Summary], findings: &Findings) -> String {
    let is_single = findings.panels.len() == 1;
    let shown = &findings.panels[..findings.panels.len().min(MOST_PANELS)];
    let mut pictures: Vec<Option<Scatter>> = shown
        .iter()
        .map(|judged| {
            judged.front.as_ref().ok().map(|front| picture(grid, all, front, HEIGHTS[usize::from(!is_single)]))
        })
        .collect();
    share_axes(&mut pictures);
    let legend = pictures.iter().flatten().next().map_or_else(String::new, Scatter::legend);
    let title = if is_single {
        format!("Costs of each design under {}", shown[0].panel.title)
    } else {
        "Costs of each design".to_owned()
    };
    let panels = if is_single {
        alone(grid, all, &shown[0], pictures[0].as_ref())
    } else {
        multiples(grid, all, shown, &pictures)
    };
    let left_out = findings.panels.len() - shown.len();
    let rest = if left_out > 0 {
        format!("<p class=\"lead\">{left_out} more panels are in summary.csv.</p>")
    } else {
        String::new()
    };
    format!(
        "<section id=\"trade-off\"><h2>{}</h2><p class=\"lead\">{CAPTION}</p>{legend}{panels}{rest}</section>",
        escape(&title)
    )
}

/// Gives the same axes to all pictures that show the same figures in the same units: places can be compared then.
fn share_axes(pictures: &mut [Option<Scatter>]) {
    let shown = |picture: &Scatter| (picture.axes.clone(), [0, 1].map(|axis| picture.show[axis](1.0)));
    let all: Vec<_> = pictures.iter().flatten().map(|picture| (shown(picture), picture.ends())).collect();
    for picture in pictures.iter_mut().flatten() {
        let own = shown(picture);
        for (_, [across, up]) in all.iter().filter(|(of, _)| *of == own) {
            picture.reach[0].extend(across);
            picture.reach[1].extend(up);
        }
    }
}

/// The result of the first run of a combination, in the folder of the sweep.
fn result_of(grid: &Grid, point: &crate::grid::Point) -> String {
    let run = grid.runs.iter().find(|run| run.point == *point && !run.address.is_empty());
    let place = |run: &crate::grid::Run| format!("runs/{}/{}/result.json", &run.address[..2], run.address);
    run.map(place).unwrap_or_default()
}

/// One panel: its recommendation, its picture, and the front beside it.
fn alone(grid: &Grid, all: &[Summary], judged: &Judged, picture: Option<&Scatter>) -> String {
    let advice = advice(judged);
    let (Some(picture), Ok(front)) = (picture, &judged.front) else { return advice };
    format!(
        "{advice}<div class=\"beside\">{}<div><h3>{}</h3>{}</div></div>",
        picture.picture(),
        escape(&front.words()),
        table(grid, all, front)
    )
}

/// Several panels: a small picture each, with the front to be opened.
fn multiples(grid: &Grid, all: &[Summary], shown: &[Judged], pictures: &[Option<Scatter>]) -> String {
    let panels = each(shown.iter().zip(pictures), |(judged, picture)| {
        let drawn = picture.as_ref().map_or_else(String::new, Scatter::picture);
        let front = judged.front.as_ref().map_or_else(
            |_| String::new(),
            |front| {
                format!("<details><summary>{}</summary>{}</details>", escape(&front.words()), table(grid, all, front))
            },
        );
        format!("<div><h3>{}</h3>{drawn}{}{front}</div>", escape(&judged.panel.title), advice(judged))
    });
    format!("<div class=\"panels pair\">{panels}</div>")
}

/// The recommendation as one sentence with its price, and below it the reasons.
fn advice(judged: &Judged) -> String {
    let text = &judged.advice.text;
    let (first, reasons) = text.split_once(". ").map_or((text.as_str(), ""), |(first, rest)| (first, rest));
    let end = if reasons.is_empty() { "" } else { "." };
    let reasons = if reasons.is_empty() { String::new() } else { format!("<p class=\"lead\">{}</p>", escape(reasons)) };
    format!("<p class=\"advice\">{}{end}</p>{reasons}", escape(first))
}

/// The cell of a metric that every candidate has.
fn cell(summary: &Summary, metric: &Metric) -> Cell {
    summary.cell(metric.name).unwrap_or(Cell { mean: f64::NAN, half: None })
}

/// Tail latency over write amplification, or over the price where nothing was written, coloured by stack; the area of a
/// point is the price.
fn picture(grid: &Grid, all: &[Summary], front: &Front, height: f64) -> Scatter {
    let across = front.costs.get(1).copied().unwrap_or(front.tail);
    let most = |metric: &Metric| front.candidates.iter().map(|at| cell(&all[*at], metric).mean).fold(0.0, f64::max);
    let ((across_scale, across_show), (up_scale, up_show)) =
        (words::axis(across, most(across)), words::axis(front.tail, most(front.tail)));
    let half = |cell: Cell| cell.half.filter(|half| *half > cell.mean.abs() * 1e-9).unwrap_or(0.0);
    let point = |at: usize| {
        let (x, y) = (cell(&all[at], across), cell(&all[at], front.tail));
        let is_marked = front.unbeaten.contains(&at);
        let mut lines = vec![design_name(grid, &all[at].point)];
        lines.extend(
            front.costs.iter().map(|metric| format!("{}: {}", metric.doc, shown_cell(metric, cell(&all[at], metric)))),
        );
        lines.push(if is_marked { UNBEATEN } else { BEATEN }.to_owned());
        Point {
            x: x.mean / across_scale,
            y: y.mean / up_scale,
            size: front.price.map_or(0.0, |price| cell(&all[at], price).mean),
            halves: [half(x) / across_scale, half(y) / up_scale],
            label: lines.join("\n"),
            is_marked,
            name: number(front, at).map_or_else(String::new, |number| number.to_string()),
            href: result_of(grid, &all[at].point),
        }
    };
    // Colours run out before stacks do.
    let stacks = &grid.plan.stacks;
    let colours = stacks.len().min(MOST_SERIES);
    let group = |stack: usize| Group {
        name: if stack + 1 == colours && stacks.len() > colours { "others".to_owned() } else { stacks[stack].clone() },
        points: front
            .candidates
            .iter()
            .copied()
            .filter(|at| all[*at].point.stack.min(colours - 1) == stack)
            .map(point)
            .collect(),
    };
    let size =
        front.price.map_or_else(|| "Area: all cost the same".to_owned(), |price| format!("Area, {}", price.short));
    let price = front.price;
    Scatter {
        name: "trade-off".to_owned(),
        title: format!("{} over {}", front.tail.short, across.short),
        axes: [across.doc.to_owned(), front.tail.doc.to_owned()],
        show: [across_show, up_show],
        size: (size, Box::new(move |value| price.map_or_else(String::new, |price| shown(price, value)))),
        height,
        reach: [Vec::new(), Vec::new()],
        has_diagonal: false,
        kinds: [UNBEATEN.to_owned(), BEATEN.to_owned()],
        groups: (0..colours).map(group).collect(),
        caption: String::new(),
        beside: String::new(),
    }
}

/// The number of a design in picture and table, from the shortest tail; a design that is beaten has none.
fn number(front: &Front, at: usize) -> Option<usize> {
    front.unbeaten.iter().position(|one| *one == at).map(|place| place + 1)
}

/// The table of what nothing beats, from the shortest tail.
fn table(grid: &Grid, all: &[Summary], front: &Front) -> String {
    let heads =
        each(&front.costs, |metric| format!("<th title=\"{}\">{}</th>", escape(metric.doc), escape(metric.short)));
    let rows = each(front.unbeaten.iter().take(MOST_ROWS).enumerate(), |(place, at)| {
        let name = escape(&design_name(grid, &all[*at].point)).replace('.', ".<wbr>");
        let cells = each(&front.costs, |metric| {
            format!("<td>{}</td>", escape(&shown_cell(metric, cell(&all[*at], metric))).replace(' ', "&nbsp;"))
        });
        let (number, href) = (place + 1, escape(&result_of(grid, &all[*at].point)));
        format!("<tr><td><a href=\"{href}\">{number}</a> {name}</td>{cells}</tr>")
    });
    let left_out = front.unbeaten.len().saturating_sub(MOST_ROWS);
    let rest =
        if left_out > 0 { format!("<p class=\"lead\">{left_out} more are in summary.csv.</p>") } else { String::new() };
    let frame = figures::frame(front.unbeaten.len());
    format!(
        "<div class=\"{frame}\"><table class=\"numbers\"><thead><tr><th>Design</th>{heads}</tr></thead>\
         <tbody>{rows}</tbody></table></div>{rest}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::tests::found;

    const TWO: &str = "stacks = [\"page\", \"dftl\"]\nworkloads = [\"zipf\", \
        \"oltp\"]\n[axes]\ndrive.over_provisioning = [\"15%\", \"50%\"]\n";

    #[test]
    fn each_panel_has_a_picture_with_its_own_tail() {
        let (grid, all, findings) = found(TWO, |run| {
            let tail = if run.point.workload == 0 { "write_p999_ns" } else { "read_p999_ns" };
            vec![
                (tail, 9e5 - 1e5 * run.point.values[0] as f64),
                ("waf", 4.0),
                ("spare_share", [0.156, 0.5][run.point.values[0]]),
            ]
        });
        let html = sections(&grid, &all, &findings);
        let (first, second) = html.split_once("<h3>oltp</h3>").unwrap();
        assert!(
            first.contains("<h3>zipf</h3>")
                && first.contains("99.9th percentile of writes")
                && !first.contains("percentile of reads"),
            "{first}"
        );
        assert!(
            second.contains("99.9th percentile of reads") && second.contains("Least spare space whose read p99.9"),
            "{second}"
        );
        assert!(
            html.contains("Area, spare space: ") && html.contains("15.6 %</span>") && html.contains("50 %</span>"),
            "{html}"
        );
        assert!(
            html.contains(
                "<title>page, drive.over_provisioning 50%\n99.9th percentile of writes: 800 µs\nWrite \
            amplification: 4\nFlash beyond what the user sees: 50 %\nunbeaten</title>"
            ),
            "{html}"
        );
        assert!(html.contains(">800 µs</text>") && !html.contains("0 us"), "{html}");
    }

    /// Panels had axes of their own, one logarithmic and the other not, so places could not be compared.
    #[test]
    fn panels_share_their_axes_and_points_lead_to_their_runs() {
        let text = "[axes]\nworkload.queue_depth = [1, 16]\ndrive.over_provisioning = [\"15%\", \"50%\"]\n";
        let (grid, all, findings) = found(text, |run| {
            let tail = 2e8 * (1.0 + 3.0 * run.point.values[0] as f64) - 1e8 * run.point.values[1] as f64;
            vec![("write_p99_ns", tail), ("waf", 4.0), ("spare_share", [0.156, 0.5][run.point.values[1]])]
        });
        let html = sections(&grid, &all, &findings);
        for line in [">100 ms</text>", ">500 ms</text>"] {
            assert_eq!(html.matches(line).count(), 2, "{line}: {html}");
        }
        let link = format!("runs/{}/{}/result.json", &grid.runs[0].address[..2], grid.runs[0].address);
        assert!(html.contains(&format!("<a href=\"{link}\" aria-label=")), "{html}");
        assert!(html.contains(">1</text>") && html.contains(&format!("<td><a href=\"{link}\">")), "{html}");
    }

    #[test]
    fn one_panel_has_the_whole_width_and_intervals() {
        let text = "repetitions = 2\n[axes]\ndrive.over_provisioning = [\"15%\", \"50%\"]\n";
        let (grid, all, findings) = found(text, |run| {
            let tail = [2e8, 1e8][run.point.values[0]] + 1e6 * f64::from(run.repetition);
            vec![("write_p99_ns", tail), ("waf", 4.0), ("spare_share", [0.156, 0.5][run.point.values[0]])]
        });
        let html = sections(&grid, &all, &findings);
        assert!(
            html.contains("Costs of each design under mixed")
                && html.contains("class=\"beside\"")
                && html.contains("2 of 2 designs are unbeaten"),
            "{html}"
        );
        assert_eq!(html.matches(" interval ").count(), 2, "of the tail alone: write amplification has none");
        assert!(html.contains(">200 ms</text>"), "{html}");
    }

    /// A panel without enough requests had no picture and no reason.
    #[test]
    fn a_panel_without_a_front_says_why() {
        let (grid, all, findings) = found(TWO, |run| {
            if run.point.workload == 0 {
                vec![("write_requests", 40.0), ("write_max_ns", 5e6)]
            } else {
                vec![("read_p90_ns", 5e6), ("spare_share", 0.2)]
            }
        });
        let html = sections(&grid, &all, &findings);
        let (first, second) = html.split_once("<h3>oltp</h3>").unwrap();
        assert!(
            first.contains(
                "Nothing is recommended: a tail takes 100 reads, writes or flushes in every run, and there are no \
                 reads, 40 writes and no flushes."
            ),
            "{first}"
        );
        assert!(!first.contains("<circle cx") && second.contains("<circle class=\"s0"), "{html}");
    }
}
