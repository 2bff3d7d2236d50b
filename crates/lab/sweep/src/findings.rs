//! The findings of a sweep: the Pareto front of each panel, the recommendation, and further remarks.

use crate::advice::{Advice, Look};
use crate::effect;
use crate::execute::Outcome;
use crate::front::Front;
use crate::grid::{Grid, Point};
use crate::metric::Metric;
use crate::panel::{Panel, panels};
use crate::summary::Summary;
use crate::tail;
use crate::words::shown;
use layer::Role;
use std::collections::BTreeMap;

/// A panel and its findings.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    pub panel: Panel,
    /// Which of them nothing beats, or why that cannot be told.
    pub front: Result<Front, String>,
    pub advice: Advice,
}

/// A design, which is a stack with values of the axes that a designer decides about, over all panels.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// Its name for readers.
    pub name: String,
    /// Number of its combination in the first panel it was compared in.
    pub first: usize,
    /// Panels in which it was compared.
    pub compared: usize,
    /// Panels in which it is unbeaten.
    pub unbeaten: usize,
    /// Panels in which its tail is near the shortest.
    pub near: usize,
    /// What it costs, where all panels have one kind of price: the largest.
    price: Option<f64>,
    /// The largest ratio of its tail to the shortest.
    ratio: f64,
}

/// The standing of a combination in its panel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The latency that decides there.
    pub tail: Option<&'static str>,
    /// Whether nothing beats it; `None`: it was not compared.
    pub is_unbeaten: Option<bool>,
}

impl Verdict {
    /// Whether nothing beats it, as tables have it.
    pub fn word(self) -> &'static str {
        match self.is_unbeaten {
            Some(true) => "yes",
            Some(false) => "no",
            None => "",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Findings {
    /// The panels, in the order of the grid.
    pub panels: Vec<Judged>,
    /// Designs over all panels, those first that are unbeaten in most; empty where there is one panel.
    pub standings: Vec<Standing>,
    /// The recommendation for all panels together, in words; `None` where there is one panel.
    pub overall: Option<String>,
    /// Number of a combination of the design that is recommended for all panels.
    pub overall_design: Option<usize>,
    /// Further remarks: absent percentiles, keys without effect, single runs.
    pub notes: Vec<String>,
    verdicts: Vec<Verdict>,
}

/// The name of a combination's drive for readers: its stack, where there are several, and the axes that a designer
/// decides about.
pub fn design_name(grid: &Grid, point: &Point) -> String {
    let plan = &grid.plan;
    let axes =
        plan.axes.iter().zip(&point.values).filter(|(axis, _)| axis.role == Role::Design && axis.values.len() > 1);
    let mut parts: Vec<String> = axes.map(|(axis, value)| format!("{} {}", axis.key, axis.values[*value])).collect();
    if plan.stacks.len() > 1 || parts.is_empty() {
        parts.insert(0, plan.stacks[point.stack].clone());
    }
    parts.join(", ")
}

/// What is said of a sweep whose combinations were run once.
const SINGLE: &str = "Each combination was run once: there are no intervals, and a design may be on the Pareto front \
     by chance. repetitions = 5 gives intervals.";

impl Findings {
    /// The findings. `all` are the summaries of the outcomes.
    pub fn of(grid: &Grid, outcomes: &[Option<Outcome>], all: &[Summary]) -> Self {
        let judged = |panel: Panel| {
            let front = Front::of(grid, all, &panel.members);
            let advice = match &front {
                Ok(front) => Advice::of(&Look {
                    all,
                    front,
                    within: grid.plan.within,
                    name: &|at| design_name(grid, &all[at].point),
                }),
                Err(why) => Advice::nothing(why),
            };
            Judged { panel, front, advice }
        };
        let panels: Vec<Judged> = panels(grid, all).into_iter().map(judged).collect();
        let mut verdicts = vec![Verdict::default(); all.len()];
        for front in panels.iter().filter_map(|judged| judged.front.as_ref().ok()) {
            for at in &front.candidates {
                verdicts[*at] = Verdict { tail: Some(front.tail.name), is_unbeaten: Some(false) };
            }
            for at in &front.unbeaten {
                verdicts[*at].is_unbeaten = Some(true);
            }
        }
        let standings = if panels.len() > 1 { standings(grid, all, &panels) } else { Vec::new() };
        let overall = (panels.len() > 1).then(|| overall(grid, &panels, &standings));
        let mut notes = of_runs(outcomes);
        notes.extend(tail::missing(all));
        notes.extend(effect::notes(grid, outcomes));
        if grid.plan.repetitions == 1 && verdicts.iter().filter(|verdict| verdict.is_unbeaten.is_some()).count() > 1 {
            notes.push(SINGLE.to_owned());
        }
        let (overall, overall_design) = overall.map_or((None, None), |(text, design)| (Some(text), design));
        Self { panels, standings, overall, overall_design, notes, verdicts }
    }

    /// The standing of a combination in its panel, by its number.
    pub fn verdict(&self, at: usize) -> Verdict {
        self.verdicts.get(at).copied().unwrap_or_default()
    }
}

/// The price that all panels have in common, if they do.
fn price_of_all(panels: &[Judged]) -> Option<&'static Metric> {
    let mut prices = panels.iter().filter_map(|judged| judged.front.as_ref().ok()).map(|front| front.price);
    let first = prices.next()??;
    prices.all(|price| price == Some(first)).then_some(first)
}

/// How designs stand over all panels.
fn standings(grid: &Grid, all: &[Summary], panels: &[Judged]) -> Vec<Standing> {
    let price = price_of_all(panels);
    let mut designs: BTreeMap<(usize, Vec<usize>), Standing> = BTreeMap::new();
    for judged in panels {
        let (Ok(front), Some(best)) = (&judged.front, judged.advice.best) else { continue };
        let shortest = front.tail_of(all, best).mean;
        for at in &front.candidates {
            let Point { stack, values, .. } = &all[*at].point;
            let axes = grid.plan.axes.iter().zip(values).filter(|(axis, _)| axis.role == Role::Design);
            let standing =
                designs.entry((*stack, axes.map(|(_, value)| *value).collect())).or_insert_with(|| Standing {
                    name: design_name(grid, &all[*at].point),
                    first: *at,
                    compared: 0,
                    unbeaten: 0,
                    near: 0,
                    price: None,
                    ratio: 0.0,
                });
            let ratio = if shortest > 0.0 { front.tail_of(all, *at).mean / shortest } else { 1.0 };
            standing.compared += 1;
            standing.unbeaten += usize::from(front.unbeaten.contains(at));
            standing.near += usize::from(ratio <= 1.0 + grid.plan.within);
            standing.price =
                price.and_then(|price| all[*at].mean(price.name)).into_iter().chain(standing.price).reduce(f64::max);
            standing.ratio = standing.ratio.max(ratio);
        }
    }
    let mut standings: Vec<Standing> = designs.into_values().collect();
    standings.sort_by(|a, b| b.unbeaten.cmp(&a.unbeaten).then(b.near.cmp(&a.near)).then(a.ratio.total_cmp(&b.ratio)));
    standings
}

/// What results say of themselves: notes that differ in their numbers alone are told once, as the first run has them.
fn of_runs(outcomes: &[Option<Outcome>]) -> Vec<String> {
    // Without its numbers, as first told, how often, and whether always with these numbers.
    let mut told: Vec<(String, &str, usize, bool)> = Vec::new();
    let mut runs = 0;
    for outcome in outcomes.iter().flatten().filter(|outcome| outcome.hash.is_some()) {
        runs += 1;
        for note in &outcome.notes {
            let form: String = note.chars().filter(|letter| !letter.is_ascii_digit()).collect();
            match told.iter_mut().find(|(known, ..)| *known == form) {
                Some((_, first, count, is_same)) => {
                    *count += 1;
                    *is_same &= *first == note;
                }
                None => told.push((form, note, 1, true)),
            }
        }
    }
    let words = |(_, note, count, is_same)| match (count == runs, is_same) {
        (true, true) => String::from(note),
        (_, true) => format!("In {count} of {runs} runs: {note}"),
        (_, false) => format!("In {count} of {runs} runs, with these or other numbers: {note}"),
    };
    told.into_iter().map(words).collect()
}

/// What is recommended for all panels, and a combination of that design.
fn overall(grid: &Grid, panels: &[Judged], standings: &[Standing]) -> (String, Option<usize>) {
    let compared =
        panels.iter().filter(|judged| judged.front.as_ref().is_ok_and(|front| front.candidates.len() > 1)).count();
    let near = format!("{} %", figures::number(grid.plan.within * 100.0));
    if compared < 2 {
        return (
            format!(
                "Nothing is recommended for all {} panels: designs could be compared in {compared} of them.",
                panels.len()
            ),
            None,
        );
    }
    let others = if compared < panels.len() {
        format!(" (of {}: in the others nothing could be compared)", panels.len())
    } else {
        String::new()
    };
    let everywhere = || standings.iter().filter(|standing| standing.near >= compared);
    // The lowest price, and of one price what comes nearest to the shortest.
    let price = |standing: &Standing| standing.price.unwrap_or_default();
    let lowest = everywhere().map(price).fold(f64::INFINITY, f64::min);
    let rounding = price_of_all(panels).map_or(0.0, Metric::rounding);
    let chosen = everywhere()
        .filter(|standing| price(standing) <= lowest * (1.0 + rounding))
        .min_by(|a, b| a.ratio.total_cmp(&b.ratio));
    if let Some(standing) = chosen {
        let what = match (price_of_all(panels), standing.price) {
            (Some(price), Some(cost)) => format!(
                "the least {} whose tail stays within {near} of the shortest in each of {compared} panels{others}: {}",
                price.short,
                shown(price, cost)
            ),
            _ => format!("the design whose tail stays nearest to the shortest in each of {compared} panels{others}"),
        };
        return (format!("{} is {what}.", standing.name), Some(standing.first));
    }
    let often = standings.iter().max_by(|a, b| a.near.cmp(&b.near).then(b.ratio.total_cmp(&a.ratio)));
    let often = often.map_or_else(String::new, |standing| format!("; {} does in {}", standing.name, standing.near));
    (format!("No design's tail stays within {near} of the shortest in each of {compared} panels{others}{often}."), None)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::execute::Status;
    use crate::grid::Run;
    use crate::metric::METRICS;
    use crate::plan::Plan;
    use std::path::Path;

    /// The findings where each run gave these metrics.
    pub(crate) fn found(
        text: &str,
        measure: impl Fn(&Run) -> Vec<(&'static str, f64)>,
    ) -> (Grid, Vec<Summary>, Findings) {
        let grid = Grid::expand(Plan::parse(text, "p.toml", Path::new("."), &[]).unwrap(), "build").unwrap();
        let outcome = |run: &Run| {
            let of = measure(run);
            let value = |metric: &Metric| of.iter().find(|(name, _)| *name == metric.name).map(|(_, value)| *value);
            let hash = Some(format!("{of:?}"));
            Some(Outcome {
                status: Status::Complete,
                error: None,
                hash,
                metrics: METRICS.iter().map(value).collect(),
                notes: Vec::new(),
            })
        };
        let outcomes: Vec<_> = grid.runs.iter().map(outcome).collect();
        let all = Summary::all(&grid, &outcomes);
        let findings = Findings::of(&grid, &outcomes, &all);
        (grid, all, findings)
    }

    const AXES: &str = "[axes]\ndrive.over_provisioning = [\"7%\", \"11%\", \"15%\", \"28%\"]\n";
    const SPARES: [f64; 4] = [0.07, 0.11, 0.15, 0.28];

    /// Three repetitions of write p99.9 in microseconds for each spare space.
    fn advice(tails: [[f64; 3]; 4]) -> Advice {
        let (_, _, findings) = found(&format!("repetitions = 3\n{AXES}"), |run| {
            let value = run.point.values[0];
            vec![
                ("write_p999_ns", tails[value][run.repetition as usize] * 1e3),
                ("waf", 3.0),
                ("spare_share", SPARES[value]),
            ]
        });
        findings.panels[0].advice.clone()
    }

    fn around(mean: f64, spread: f64) -> [f64; 3] {
        [mean - spread, mean, mean + spread]
    }

    #[test]
    fn the_least_spare_space_with_its_knee_and_how_sure_that_is() {
        let advice = advice([around(520.0, 2.0), around(240.0, 12.0), around(210.0, 5.0), around(201.0, 2.0)]);
        assert_eq!((advice.recommended, advice.best), (Some(2), Some(3)));
        assert_eq!(
            advice.text,
            "Least spare space whose write p99.9 stays within 10 % of the shortest: 15 % with drive.over_provisioning \
             15% (210 ±12 µs; \
             shortest 201.0 ±5.0 µs with drive.over_provisioning 28%). The difference to 11 % (240 ±30 µs), which \
             costs less, is within the intervals. \
             The difference to the shortest is within the intervals. \
             Knee at 11 %: from 7 % to 11 % the write p99.9 falls by 53.8 %, from 11 % to 28 % by 16.2 %."
        );
        assert!(advice.in_two().0.ends_with("28%).") && advice.in_two().1.starts_with("The difference to 11 %"));
        assert_eq!(advice.knee.map(|knee| knee.at), Some([0, 1, 3]));
    }

    /// It was called a knee where the tail fell by 73 % before it and by 69 % after it.
    #[test]
    fn a_tail_that_falls_on_after_a_price_as_before_it_has_no_knee_there() {
        let falling = advice([around(2000.0, 2.0), around(540.0, 2.0), around(400.0, 2.0), around(167.0, 2.0)]);
        assert_eq!(falling.knee, None);
        assert!(falling.text.ends_with("There is no knee between 7 % and 28 %."), "{}", falling.text);
        // The furthest below the line is not the knee where the tail goes on falling from there.
        let later = advice([around(2000.0, 2.0), around(540.0, 2.0), around(180.0, 2.0), around(167.0, 2.0)]);
        assert_eq!(later.knee.map(|knee| knee.at), Some([0, 2, 3]));
    }

    #[test]
    fn nothing_is_recommended_where_intervals_are_too_wide_or_there_is_no_tail() {
        let advice = advice([around(260.0, 50.0), around(250.0, 50.0), around(205.0, 50.0), around(201.0, 50.0)]);
        assert_eq!(advice.recommended, None);
        assert!(
            advice.text.starts_with("Nothing is recommended: the write p99.9 with least spare space (260 ±120 µs, "),
            "{}",
            advice.text
        );
        let (_, _, findings) = found(AXES, |_| vec![("read_requests", 12.0), ("waf", 3.0)]);
        assert_eq!(
            findings.panels[0].advice.text,
            "Nothing is recommended: a tail takes 100 reads, writes or flushes in every run, and there are 12 reads, \
             no writes and no flushes."
        );
        let (_, _, one) = found("", |_| vec![("write_p99_ns", 5.0), ("spare_share", 0.1)]);
        assert!(one.panels[0].advice.text.contains("there is one design"), "{}", one.panels[0].advice.text);
    }

    #[test]
    fn a_flat_tail_takes_the_least_there_is() {
        let advice = advice([around(201.0, 0.1), around(201.0, 0.1), around(200.0, 0.1), around(200.0, 0.1)]);
        assert_eq!((advice.recommended, advice.knee.clone()), (Some(0), None));
        assert!(
            advice.text.ends_with("More spare space than 7 % does not shorten the write p99.9 beyond the intervals."),
            "{}",
            advice.text
        );
    }

    #[test]
    fn without_a_price_the_tail_decides_or_nothing() {
        let text = "repetitions = 3\n[axes]\nftl.gc.victim = [\"greedy\", \"fifo\", \"random\"]\n";
        let said = |tails: [[f64; 3]; 3]| {
            let (_, _, findings) = found(text, |run| {
                vec![
                    ("read_p99_ns", tails[run.point.values[0]][run.repetition as usize] * 1e3),
                    ("waf", 3.0),
                    ("spare_share", 0.1),
                    ("ram_bytes", 9.0),
                ]
            });
            findings.panels[0].advice.text.clone()
        };
        let close = said([around(100.0, 9.0), around(101.0, 9.0), around(102.0, 9.0)]);
        assert_eq!(
            close,
            "Nothing is recommended: the differences of the read p99 are within the intervals; more repetitions would \
             narrow them."
        );
        let clear = said([around(100.0, 1.0), around(101.0, 1.0), around(200.0, 1.0)]);
        assert_eq!(
            clear,
            "ftl.gc.victim greedy and ftl.gc.victim fifo cannot be told apart: they have the shortest read p99, 100.0 \
             ±2.5 µs of the first, and all designs have the same spare space and memory. ftl.gc.victim random (200.0 \
             ±3.1 µs) is longer beyond the intervals."
        );
    }

    #[test]
    fn single_runs_are_said_to_be_so() {
        let single = |spare: usize| {
            vec![("write_p99_ns", [900.0, 400.0, 390.0, 380.0][spare]), ("waf", 3.0), ("spare_share", SPARES[spare])]
        };
        let (_, _, findings) = found(AXES, |run| single(run.point.values[0]));
        assert!(
            findings.notes.iter().any(|note| note.contains("run once") && note.contains("repetitions = 5")),
            "{:?}",
            findings.notes
        );
        assert!(findings.panels[0].front.as_ref().unwrap().words().contains("single runs"));
        assert!(!findings.panels[0].advice.text.contains("intervals"), "{}", findings.panels[0].advice.text);
    }

    #[test]
    fn one_repetition_of_several_is_not_compared() {
        let text = format!("repetitions = 2\n{AXES}");
        let grid = Grid::expand(Plan::parse(&text, "p.toml", Path::new("."), &[]).unwrap(), "build").unwrap();
        let outcome = |run: &Run| {
            let status =
                if run.point.values[0] == 1 && run.repetition == 1 { Status::WornOut } else { Status::Complete };
            Some(Outcome {
                status,
                error: None,
                hash: None,
                metrics: vec![Some(1.0); METRICS.len()],
                notes: Vec::new(),
            })
        };
        let outcomes: Vec<_> = grid.runs.iter().map(outcome).collect();
        let all = Summary::all(&grid, &outcomes);
        let findings = Findings::of(&grid, &outcomes, &all);
        assert_eq!(findings.panels[0].front.as_ref().unwrap().candidates, [0, 2, 3]);
        assert_eq!((0..4).map(|at| findings.verdict(at).word()).collect::<Vec<_>>(), ["yes", "", "yes", "yes"]);
    }

    /// Designs under a queue depth of 1 beat all others.
    #[test]
    fn each_panel_has_its_front_and_all_have_one_summary() {
        let text = format!("repetitions = 2\n{AXES}workload.queue_depth = [1, 16]\n");
        let tail = |run: &Run| {
            [[400.0, 4000.0], [210.0, 3100.0], [205.0, 2100.0], [200.0, 2000.0]][run.point.values[0]]
                [run.point.values[1]]
        };
        let (_, _, findings) = found(&text, |run| {
            vec![("write_p99_ns", tail(run)), ("waf", 3.0), ("spare_share", SPARES[run.point.values[0]])]
        });
        let titles: Vec<&str> = findings.panels.iter().map(|judged| judged.panel.title.as_str()).collect();
        assert_eq!(titles, ["mixed, queue_depth 1", "mixed, queue_depth 16"]);
        let recommended: Vec<_> = findings.panels.iter().map(|judged| judged.advice.recommended).collect();
        assert_eq!(recommended, [Some(2), Some(5)], "11 % under a depth of 1, 15 % under 16");
        assert_eq!(
            findings.overall.as_deref(),
            Some(
                "drive.over_provisioning 15% is the least spare space whose tail stays within 10 % of the shortest in \
                 each of 2 panels: 15 %."
            )
        );
        assert_eq!(findings.standings.len(), 4);
        assert!(findings.standings.iter().all(|standing| standing.compared == 2 && standing.unbeaten >= 1));
    }

    #[test]
    fn notes_of_runs_are_told_once() {
        let with = |notes: &[&str]| {
            let notes = notes.iter().map(|note| (*note).to_owned()).collect();
            Some(Outcome {
                status: Status::Complete,
                error: None,
                hash: Some("h".to_owned()),
                metrics: vec![None; METRICS.len()],
                notes,
            })
        };
        let all = [
            with(&["The drive was chosen.", "Only 5 pages were written."]),
            with(&["The drive was chosen.", "Only 70 pages were written."]),
            with(&["The drive was chosen."]),
            None,
        ];
        assert_eq!(
            of_runs(&all),
            ["The drive was chosen.", "In 2 of 3 runs, with these or other numbers: Only 5 pages were written."]
        );
    }
}
