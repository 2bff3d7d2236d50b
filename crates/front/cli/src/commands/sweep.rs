//! `nandarium sweep`: a plan on all cores.

use super::limits::{self, Limits};
use super::results::{self, pretty};
use crate::arguments::SweepArguments;
use crate::failure::{Failure, INTERRUPTED, USAGE};
use crate::progress::{self, Board};
use crate::table::{Grid as Table, line_length, wrapped_at as wrapped};
use crate::{output, settings, watch};
use experiment::{Errand as _, Shard};
use serde_json::json;
use simulator::MemoryClaim;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use sweep::{Errand, Findings, Grid, Judged, Metric, Outcome, Plan, Point, Status, Store, Summary};

/// Most designs of a panel that are printed.
const MOST_DESIGNS: usize = 10;
/// So many figures stand beside each design, also where the terminal has no room for them.
const LEAST_FIGURES: usize = 2;
/// Most rows of the table that others watch.
const MOST_LINES: usize = 60;
/// Most panels whose recommendation is printed.
const MOST_PANELS: usize = 12;
/// Letters of why a combination was not measured.
const MOST_LETTERS: usize = 60;
/// Most values of an axis that are printed.
const MOST_VALUES: usize = 12;

/// Runs what is due on the workers of a scheduler, given by its address. Without that: exit code and message.
pub type Elsewhere = dyn Fn(&str, Arc<dyn experiment::Errand>) -> Result<(), (u8, String)> + Send + Sync;

static ELSEWHERE: OnceLock<Box<Elsewhere>> = OnceLock::new();

/// Gives `--scheduler` a meaning, which it has not in the program alone. Only the first call counts.
pub fn set_elsewhere(run: Box<Elsewhere>) {
    let _ = ELSEWHERE.set(run);
}

pub fn execute(arguments: &SweepArguments) -> Result<(), Failure> {
    // Not even one run would find this much, and the program would be aborted on the way there.
    MemoryClaim::of([0, 0]).map(drop).map_err(|problem| {
        Failure::failed(format!("without its drives a sweep takes {problem}; give the program more memory"))
    })?;
    limits::check(&arguments.limits, false)?;
    let elsewhere =
        arguments.scheduler.as_deref().map(|address| elsewhere(address).map(|run| (address, run))).transpose()?;
    let set = arguments.set.iter().map(|text| pair(text)).collect::<Result<Vec<_>, _>>()?;
    let shard = arguments.shard.as_deref().map_or(Ok(Shard::ALL), shard)?;
    let build = settings::program_hash();
    let mut plan = Plan::load(&arguments.plan, &set).map_err(Failure::usage)?;
    if !arguments.drive.is_empty() {
        plan.stacks.clone_from(&arguments.drive);
    }
    if let Some(name) = &arguments.tail {
        plan.tail = Some(sweep::tail(name).map_err(|problem| Failure::usage(format!("--tail: {problem}")))?);
    }
    if let Some(share) = &arguments.within {
        plan.within = sweep::within(share).map_err(|problem| Failure::usage(format!("--within: {problem}")))?;
    }
    let checking = (!arguments.quiet).then(watch::Work::new);
    let told = |checked: usize, runs: usize| {
        if let Some(work) = &checking {
            work.tell(|| format!("{checked} of {runs} runs checked"));
        }
    };
    let grid = Arc::new(Grid::watched(plan, &build, &told).map_err(Failure::usage)?);
    drop(checking);
    if arguments.dry_run {
        return output::print(&dry_run(&grid, arguments.json));
    }
    let folder = arguments.out.clone().unwrap_or_else(|| beside(&arguments.plan));
    results::make(&folder)?;
    let store = Store::open(&folder).map_err(|error| Failure::file(&folder, "written", &error))?;
    watch::catch_interrupts();
    let board = arguments.watch.watch.map(|_| board(&grid, &store));
    let watching = progress::watched(&arguments.watch, arguments.quiet, board.as_ref())?;
    let jobs = arguments.jobs.map(usize::from);
    let bar = watch::Runs::new(&grid.plan.name, arguments.quiet, jobs, shard, board);
    if let Some((address, run)) = elsewhere {
        let ended = match Errand::new(Arc::clone(&grid), store.clone(), Arc::new(bar)) {
            errand if errand.is_empty() => Ok(()),
            errand => run(address, Arc::new(errand)),
        };
        let ended =
            ended.map_err(|(code, message)| Failure { code, message: format!("--scheduler {address}: {message}") });
        // What came in is shown, unless nothing could.
        return match ended {
            Err(failure) if failure.code == USAGE => Err(failure),
            ended => finish(&grid, &sweep::known(&grid, &store), &folder, arguments).and(ended),
        };
    }
    let outcomes = sweep::execute(&grid, &store, &build, &bar).map_err(Failure::failed)?;
    drop((bar, watching));
    if arguments.shard.is_some() {
        return shard_done(&outcomes, arguments.quiet);
    }
    finish(&grid, &outcomes, &folder, arguments)
}

/// Says that a shard is done. The table is for the command that collects: what this one knows may be less than what
/// another has written meanwhile, and runs that failed are in its table.
fn shard_done(outcomes: &[Option<Outcome>], quiet: bool) -> Result<(), Failure> {
    stopped()?;
    if !quiet {
        let failed = outcomes.iter().flatten().filter(|outcome| outcome.status == Status::Failed).count();
        let failed = if failed > 0 { format!("; {failed} of the runs known here failed") } else { String::new() };
        let collect = "when all are, the same command without --shard gives the table";
        output::complain(&format!("this shard is done: {collect}{failed}"));
    }
    Ok(())
}

/// Ends a sweep that somebody has stopped.
fn stopped() -> Result<(), Failure> {
    if watch::is_stopped() {
        let message = "interrupted: finished runs are kept, and the same command continues from there".to_owned();
        return Err(Failure { code: INTERRUPTED, message });
    }
    Ok(())
}

/// What others watch a sweep on: its table, as far as it is known.
fn board(grid: &Arc<Grid>, store: &Store) -> Arc<Board> {
    let (name, grid, store) = (grid.plan.name.clone(), Arc::clone(grid), store.clone());
    let known = move || {
        let outcomes = sweep::known(&grid, &store);
        let swept = Swept::of(&grid, &outcomes);
        let (head, rows) = cells(&swept);
        let said = swept.findings.panels.iter().take(MOST_PANELS);
        let said = said.map(|judged| json!({ "panel": judged.panel.title, "said": judged.advice.text }));
        let counts = sweep::counts(&outcomes).into_iter().map(|(name, count)| (name.to_owned(), json!(count)));
        json!({
            "statuses": counts.collect::<serde_json::Map<_, _>>(),
            "head": head,
            "rows": rows,
            "left_out": swept.all.len().saturating_sub(MOST_LINES),
            "recommendations": said.collect::<Vec<_>>(),
        })
    };
    Board::new("sweep", &name, "runs", false).with_table(Box::new(known))
}

fn elsewhere(address: &str) -> Result<&'static Elsewhere, Failure> {
    ELSEWHERE.get().map(Box::as_ref).ok_or_else(|| {
        Failure::usage(format!(
            "--scheduler {address}: the workers of a scheduler run the Python package, and this is the program without \
             it. `pip install '.[cluster]'` in the folder of nandarium installs a program that has it. Without Dask: \
             --shard I/N on each machine, over one folder"
        ))
    })
}

/// A sweep with all that can be said of it.
pub struct Swept<'a> {
    /// The planned runs.
    pub grid: &'a Grid,
    /// The outcome of each run.
    pub outcomes: &'a [Option<Outcome>],
    /// Each combination, summed up over its repetitions.
    pub all: Vec<Summary>,
    pub findings: Findings,
}

impl<'a> Swept<'a> {
    /// The findings about the outcomes of a grid.
    pub fn of(grid: &'a Grid, outcomes: &'a [Option<Outcome>]) -> Self {
        let all = Summary::all(grid, outcomes);
        let findings = Findings::of(grid, outcomes, &all);
        Self { grid, outcomes, all, findings }
    }

    pub fn document(&self) -> serde_json::Value {
        sweep::document(self.grid, self.outcomes, &self.all, &self.findings)
    }
}

/// Writes what belongs to all runs together into a folder: the table, the summary and the page.
pub fn write(swept: &Swept<'_>, folder: &Path) -> Result<(), Failure> {
    let Swept { grid, outcomes, all, findings } = swept;
    let place = folder.join("results.parquet");
    let file = std::fs::File::create(&place).map_err(|error| Failure::file(&place, "written", &error))?;
    sweep::write_parquet(grid, outcomes, file)
        .map_err(|error| Failure::failed(format!("{}: {error}", place.display())))?;
    output::write_file(&folder.join("summary.csv"), &Summary::csv(grid, all, findings))?;
    output::write_file(&folder.join("report.html"), &sweep::page(grid, all, findings))
}

/// Writes what belongs to all runs together, and says how it went.
fn finish(grid: &Grid, outcomes: &[Option<Outcome>], folder: &Path, arguments: &SweepArguments) -> Result<(), Failure> {
    let swept = Swept::of(grid, outcomes);
    write(&swept, folder)?;
    let judged = judged(&swept, arguments);
    let mut document = swept.document();
    judged.tell(&mut document);
    output::print(&if arguments.json { pretty(&document) } else { text(&swept) })?;
    results::tell(folder, arguments.quiet);
    stopped()?;
    problem(outcomes).map_or(Ok(()), |problem| Err(Failure::failed(problem)))?;
    judged.verdict(&arguments.limits)
}

/// The verdicts of limits on each combination that has ended: one that failed has no figures, and so fails.
fn judged(swept: &Swept<'_>, arguments: &SweepArguments) -> Limits {
    let plan = &swept.grid.plan;
    let name = |summary: &Summary| {
        let values = plan.axes.iter().zip(&summary.point.values);
        let values = values.map(|(axis, value)| format!(", {} = {}", axis.key, axis.values[*value]));
        let [stack, workload] = [&plan.stacks[summary.point.stack], &plan.workloads[summary.point.workload]];
        format!("{stack} under {workload}{}", values.collect::<String>())
    };
    let ended = swept.all.iter().filter(|summary| summary.complete > 0 || summary.problem.is_some());
    let one = |summary: &Summary| {
        let limits = arguments.limits.fail_if.iter();
        let (name, mean) = (name(summary), |metric: &'static Metric| summary.mean(metric.name));
        limits.map(|limit| limit.judge(&name, mean, |metric| summary.absence(metric))).collect::<Vec<_>>()
    };
    Limits::of(ended.flat_map(one).collect())
}

/// The error of a sweep in which runs failed and none was measured.
pub fn problem(outcomes: &[Option<Outcome>]) -> Option<String> {
    sweep::nothing_measured(outcomes)
        .map(|(failed, first)| format!("no run was measured, {failed} failed; the first: {first}"))
}

fn pair(text: &str) -> Result<(String, String), Failure> {
    let (key, value) = text.split_once('=').ok_or_else(|| {
        Failure::usage(format!("--set {text}: write KEY=VALUE, for example --set drive.capacity=4GiB"))
    })?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

/// A shard as `I/N`, with `I` from 1.
pub fn shard(text: &str) -> Result<Shard, Failure> {
    let wrong = || Failure::usage(format!("--shard {text}: write I/N with I from 1 to N, for example --shard 1/4"));
    let (index, count) = text.split_once('/').ok_or_else(wrong)?;
    let (index, count): (usize, usize) = (index.parse().map_err(|_| wrong())?, count.parse().map_err(|_| wrong())?);
    if index == 0 || index > count {
        return Err(wrong());
    }
    Ok(Shard { index: index - 1, count })
}

/// The plan's name as a folder beside it.
fn beside(plan: &Path) -> PathBuf {
    let folder = plan.with_extension("");
    if folder == plan { plan.with_extension("sweep") } else { folder }
}

fn dry_run(grid: &Grid, as_json: bool) -> String {
    let impossible = grid.runs.iter().filter(|run| run.impossible.is_some()).count();
    if as_json {
        return pretty(&sweep::planned(grid));
    }
    let axes = grid
        .plan
        .axes
        .iter()
        .map(|axis| format!("{}: {}\n", axis.key, shortened(&axis.values)))
        .collect::<Vec<_>>()
        .concat();
    let first = grid.runs.iter().find_map(|run| run.impossible.as_deref());
    let impossible = first
        .map_or_else(String::new, |problem| format!("{impossible} cannot be built, the first because {problem}\n"));
    format!("{}: {} runs\n{axes}{impossible}", grid.plan.name, grid.runs.len())
}

/// The values of an axis for people: of many the first ones, the last one, and how many there are.
fn shortened(values: &[String]) -> String {
    match values {
        [_, .., last] if values.len() > MOST_VALUES => {
            format!("{}, … {last} ({} values)", values[..MOST_VALUES - 1].join(", "), values.len())
        }
        _ => values.join(", "),
    }
}

/// Metrics of the table that is printed: requests a second, write amplification, spare space, and each tail that
/// designs are judged by, besides the highest percentile that all combinations have of reads and writes.
fn shown(swept: &Swept<'_>) -> Vec<&'static Metric> {
    let judged = swept.findings.panels.iter().filter_map(|judged| judged.front.as_ref().ok()).map(|front| front.tail);
    let mut tails: Vec<&Metric> = sweep::tails(&swept.all).into_iter().chain(judged).collect();
    tails.sort_by_key(|metric| sweep::METRICS.iter().position(|known| known == *metric));
    tails.dedup();
    let named =
        |name: &str| Metric::named(name).filter(|_| swept.all.iter().any(|summary| summary.mean(name).is_some()));
    named("iops").into_iter().chain(tails).chain(named("waf")).chain(named("spare_share")).collect()
}

/// The best designs of a panel: the recommended one first, then unbeaten ones, each by its tail. Without a front: the
/// combinations in the order of the plan.
fn ranked(swept: &Swept<'_>, judged: &Judged) -> Vec<usize> {
    let mut members: Vec<usize> =
        judged.panel.members.iter().copied().filter(|at| swept.all[*at].complete > 0).collect();
    if let Ok(front) = &judged.front {
        let tail = |at: usize| swept.all[at].mean(front.tail.name).unwrap_or(f64::INFINITY);
        let rank = |at: usize| (judged.advice.recommended != Some(at), !front.unbeaten.contains(&at));
        members.sort_by(|a, b| rank(*a).cmp(&rank(*b)).then(tail(*a).total_cmp(&tail(*b))));
    }
    members
}

/// What tells some designs apart: heads without the groups of their keys, and the parts of each design.
fn designs(swept: &Swept<'_>, some: &[usize]) -> (Vec<String>, Vec<Vec<String>>) {
    let plan = &swept.grid.plan;
    let differs = |part: &dyn Fn(&Point) -> usize| {
        some.windows(2).any(|pair| part(&swept.all[pair[0]].point) != part(&swept.all[pair[1]].point))
    };
    let axes = (0..plan.axes.len()).filter(|axis| differs(&|point| point.values[*axis]));
    let axes: Vec<usize> = axes.collect();
    let has_stack = axes.is_empty() || differs(&|point| point.stack);
    let short = |axis: &usize| {
        let key = plan.axes[*axis].key;
        key.rsplit_once('.').map_or(key, |(_, name)| name).to_owned()
    };
    let heads = has_stack.then(|| "stack".to_owned()).into_iter().chain(axes.iter().map(short)).collect();
    let parts = |at: &usize| {
        let point = &swept.all[*at].point;
        let values = axes.iter().map(|axis| plan.axes[*axis].values[point.values[*axis]].clone());
        has_stack.then(|| plan.stacks[point.stack].clone()).into_iter().chain(values).collect()
    };
    (heads, some.iter().map(parts).collect())
}

/// The best designs of a panel in lines of at most so many letters: what tells them apart, then figures, the least
/// important ones left out where there is no room.
fn table(swept: &Swept<'_>, judged: &Judged, letters: usize) -> String {
    let ranked = ranked(swept, judged);
    let front = judged.front.as_ref().ok();
    let first = front.map(|front| front.tail).into_iter().chain(front.and_then(|front| front.price));
    let mut metrics: Vec<&Metric> = first.collect();
    let others = ["waf", "iops"].into_iter().filter_map(Metric::named).chain(shown(swept));
    for metric in others {
        let is_known = ranked.iter().any(|at| swept.all[*at].mean(metric.name).is_some());
        if is_known && !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    let cell = |at: usize, metric: &Metric| {
        swept.all[at].cell(metric.name).map_or_else(|| "-".to_owned(), |cell| sweep::shown_cell(metric, cell))
    };
    let mark = |at: usize| match swept.findings.verdict(at).is_unbeaten {
        Some(true) => "*",
        _ => "",
    };
    let drawn = |metrics: &[&Metric]| {
        let (heads, parts) = designs(swept, &ranked);
        let mut table = Table::new(heads.len());
        table.row(heads.into_iter().chain(metrics.iter().map(|metric| metric.short.to_owned())));
        for (at, part) in ranked.iter().copied().zip(parts).take(MOST_DESIGNS) {
            let figures = metrics.iter().map(|metric| cell(at, metric));
            table.row(part.into_iter().chain(figures).chain([mark(at).to_owned()]));
        }
        table.render("  ")
    };
    let fits = |text: &String| text.lines().all(|line| line.chars().count() <= letters);
    let mut text = drawn(&metrics);
    while metrics.len() > LEAST_FIGURES && !fits(&text) {
        metrics.pop();
        text = drawn(&metrics);
    }
    let left_out = ranked.len().saturating_sub(MOST_DESIGNS);
    if left_out == 0 {
        return text;
    }
    format!("{text}  and {left_out} more in report.html and summary.csv\n")
}

/// Its head and its rows; the last column has the star, or the problem.
fn cells(swept: &Swept<'_>) -> (Vec<String>, Vec<Vec<String>>) {
    let plan = &swept.grid.plan;
    let shown = shown(swept);
    let heads =
        ["stack".to_owned(), "workload".to_owned()].into_iter().chain(plan.axes.iter().map(|axis| axis.key.to_owned()));
    let head = heads.chain(shown.iter().map(|metric| metric.short.to_owned())).chain([String::new()]).collect();
    let row = |(at, summary): (usize, &Summary)| {
        let point = [plan.stacks[summary.point.stack].clone(), plan.workloads[summary.point.workload].clone()];
        let values = plan.axes.iter().zip(&summary.point.values).map(|(axis, value)| axis.values[*value].clone());
        let metrics = shown.iter().map(|metric| {
            summary.cell(metric.name).map_or_else(|| "-".to_owned(), |cell| sweep::shown_cell(metric, cell))
        });
        let mark = if swept.findings.verdict(at).is_unbeaten == Some(true) { "*" } else { "" };
        let problem: String = summary.problem.as_deref().unwrap_or(mark).chars().take(MOST_LETTERS).collect();
        point.into_iter().chain(values).chain(metrics).chain([problem]).collect()
    };
    (head, swept.all.iter().enumerate().take(MOST_LINES).map(row).collect())
}

/// How many combinations were not measured, and why the first of them was not.
fn problems(swept: &Swept<'_>) -> String {
    let mut failed = swept.all.iter().filter(|summary| summary.problem.is_some());
    let Some(first) = failed.next() else { return String::new() };
    let (name, why) = (sweep::design_name(swept.grid, &first.point), first.problem.as_deref().unwrap_or_default());
    let text = format!(
        "{} of {} combinations were not measured. The first, {name}: {why}",
        failed.count() + 1,
        swept.all.len()
    );
    format!("\nnote  {}\n", wrapped(&text, 6))
}

/// A sweep as it is printed: for each panel the recommendation, the best designs and the reason, the recommendation for
/// all panels, and further remarks.
pub fn text(swept: &Swept<'_>) -> String {
    let Swept { grid, outcomes, findings, .. } = swept;
    let counts = sweep::counts(outcomes)
        .into_iter()
        .map(|(name, count)| format!("{count} {name}"))
        .collect::<Vec<_>>()
        .join(", ");
    let mut text = format!("{}, {} runs: {counts}\n", grid.plan.name, grid.runs.len());
    if let Some(overall) = &findings.overall {
        // Writing to a string cannot fail.
        let _ = write!(text, "\nall panels\n  {}\n", wrapped(overall, 2));
    }
    for judged in findings.panels.iter().take(MOST_PANELS) {
        let (recommended, why) = judged.advice.in_two();
        let front = judged.front.as_ref().map_or_else(|_| String::new(), |front| format!("{} (*). ", front.words()));
        let _ = write!(text, "\n{}\n  {}\n\n", judged.panel.title, wrapped(recommended, 2));
        text += &table(swept, judged, line_length());
        let why = front + why;
        if !why.is_empty() {
            let _ = write!(text, "\n  {}\n", wrapped(why.trim_end(), 2));
        }
    }
    let left_out = findings.panels.len().saturating_sub(MOST_PANELS);
    if left_out > 0 {
        let _ = writeln!(text, "\n… and {left_out} more panels in report.html and --json");
    }
    text += &problems(swept);
    for note in &findings.notes {
        let _ = write!(text, "\nnote  {}\n", wrapped(note, 6));
    }
    text
}
