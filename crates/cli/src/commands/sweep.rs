//! `nandarium sweep`: a plan on all cores.

use super::results::{self, pretty};
use crate::arguments::SweepArguments;
use crate::failure::{Failure, INTERRUPTED, USAGE};
use crate::table::Grid as Table;
use crate::{output, settings, watch};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use sweep::{Errand, Grid, METRICS, Outcome, Plan, Shard, Status, Store, Summary};

/// Version of the JSON form.
const SCHEMA: &str = "nandarium.sweep/1";
/// Metrics of the table that is printed, and what one unit of it is.
const SHOWN: [(&str, &str, f64); 4] =
    [("iops", "k IOPS", 1e3), ("read_p999_ns", "read p99.9 us", 1e3), ("write_p999_ns", "write p99.9 us", 1e3), ("waf", "WAF", 1.0)];
/// Most lines of the table that is printed.
const MOST_LINES: usize = 60;
/// Most values of an axis that are printed.
const MOST_VALUES: usize = 12;

/// Runs what is due on the workers of a scheduler, given by its address. Without that: exit code and message.
pub type Elsewhere = dyn Fn(&str, Arc<Errand>) -> Result<(), (u8, String)> + Send + Sync;

static ELSEWHERE: OnceLock<Box<Elsewhere>> = OnceLock::new();

/// Gives `--scheduler` a meaning, which it has not in the program alone. Only the first call counts.
pub fn set_elsewhere(run: Box<Elsewhere>) {
    let _ = ELSEWHERE.set(run);
}

pub fn execute(arguments: &SweepArguments) -> Result<(), Failure> {
    let elsewhere = arguments.scheduler.as_deref().map(|address| elsewhere(address).map(|run| (address, run))).transpose()?;
    let set = arguments.set.iter().map(|text| pair(text)).collect::<Result<Vec<_>, _>>()?;
    let shard = arguments.shard.as_deref().map_or(Ok(Shard::ALL), shard)?;
    let build = settings::program_hash();
    let plan = Plan::load(&arguments.plan, &set).map_err(Failure::usage)?;
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
    let bar = watch::Runs::new(&grid.plan.name, arguments.quiet);
    if let Some((address, run)) = elsewhere {
        let ended = match Errand::new(Arc::clone(&grid), store.clone(), Arc::new(bar)) {
            errand if errand.is_empty() => Ok(()),
            errand => run(address, Arc::new(errand)),
        };
        let ended = ended.map_err(|(code, message)| Failure { code, message: format!("--scheduler {address}: {message}") });
        // What came in is shown, unless nothing could.
        return match ended {
            Err(failure) if failure.code == USAGE => Err(failure),
            ended => finish(&grid, &sweep::known(&grid, &store), &folder, arguments).and(ended),
        };
    }
    let outcomes = sweep::execute(&grid, &store, shard, &build, arguments.jobs.map(usize::from), &bar).map_err(Failure::failed)?;
    drop(bar);
    finish(&grid, &outcomes, &folder, arguments)
}

fn elsewhere(address: &str) -> Result<&'static Elsewhere, Failure> {
    ELSEWHERE.get().map(Box::as_ref).ok_or_else(|| {
        Failure::usage(format!(
            "--scheduler {address}: the workers of a scheduler run the Python package, and this is the program without it; \
             `pip install nandarium[cluster]` installs a `nandarium` that takes it. Without Dask: --shard I/N on each machine, over one folder"
        ))
    })
}

/// Writes what belongs to all runs together into a folder: the table, the summary and the page.
pub fn write(grid: &Grid, outcomes: &[Option<Outcome>], all: &[Summary], folder: &Path) -> Result<(), Failure> {
    let place = folder.join("results.parquet");
    let file = std::fs::File::create(&place).map_err(|error| Failure::file(&place, "written", &error))?;
    sweep::write_parquet(grid, outcomes, file).map_err(|error| Failure::failed(format!("{}: {error}", place.display())))?;
    output::write_file(&folder.join("summary.csv"), &Summary::csv(grid, all))?;
    output::write_file(&folder.join("report.html"), &sweep::page(grid, all))
}

/// Writes what belongs to all runs together, and says how it went.
fn finish(grid: &Grid, outcomes: &[Option<Outcome>], folder: &Path, arguments: &SweepArguments) -> Result<(), Failure> {
    let all = Summary::all(grid, outcomes);
    write(grid, outcomes, &all, folder)?;
    output::print(&if arguments.json { pretty(&document(grid, outcomes, &all)) } else { text(grid, outcomes, &all) })?;
    results::tell(folder, arguments.quiet);
    if watch::stop().load(std::sync::atomic::Ordering::Relaxed) {
        let message = "interrupted: what was run is kept, and the same command goes on from there".to_owned();
        return Err(Failure { code: INTERRUPTED, message });
    }
    problem(outcomes).map_or(Ok(()), |problem| Err(Failure::failed(problem)))
}

/// What is to be said of a sweep in which runs failed and none was measured.
pub fn problem(outcomes: &[Option<Outcome>]) -> Option<String> {
    sweep::nothing_measured(outcomes).map(|(failed, first)| format!("no run was measured, {failed} failed; the first: {first}"))
}

fn pair(text: &str) -> Result<(String, String), Failure> {
    let (key, value) = text.split_once('=').ok_or_else(|| Failure::usage(format!("--set {text}: write KEY=VALUE, for example --set drive.capacity=4GiB")))?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

/// `I/N`, from 1.
fn shard(text: &str) -> Result<Shard, Failure> {
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

/// How many runs ended how.
pub fn counts(outcomes: &[Option<Outcome>]) -> Vec<(&'static str, usize)> {
    let of = |status: Status| outcomes.iter().flatten().filter(|outcome| outcome.status == status).count();
    let known = Status::ALL.into_iter().map(|status| (status.name(), of(status)));
    known.chain([("not run", outcomes.iter().filter(|outcome| outcome.is_none()).count())]).filter(|(_, count)| *count > 0).collect()
}

fn dry_run(grid: &Grid, as_json: bool) -> String {
    let impossible = grid.runs.iter().filter(|run| run.impossible.is_some()).count();
    if as_json {
        let runs: Vec<Value> = grid.runs.iter().map(|run| json!({"run": run.to_json(), "seed": run.seed, "impossible": run.impossible})).collect();
        return pretty(&json!({"schema": SCHEMA, "name": grid.plan.name, "runs": runs}));
    }
    let axes = grid.plan.axes.iter().map(|axis| format!("{}: {}\n", axis.key, shortened(&axis.values))).collect::<Vec<_>>().concat();
    let first = grid.runs.iter().find_map(|run| run.impossible.as_deref());
    let impossible = first.map_or_else(String::new, |problem| format!("{impossible} cannot be built, the first because {problem}\n"));
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

fn document(grid: &Grid, outcomes: &[Option<Outcome>], all: &[Summary]) -> Value {
    let plan = &grid.plan;
    let point = |summary: &Summary| {
        let values: serde_json::Map<String, Value> =
            plan.axes.iter().zip(&summary.point.values).map(|(axis, value)| (axis.key.to_owned(), json!(axis.values[*value]))).collect();
        let metrics: serde_json::Map<String, Value> = METRICS
            .iter()
            .zip(&summary.cells)
            .filter_map(|(metric, cell)| cell.map(|cell| (metric.name.to_owned(), json!({"mean": cell.mean, "ci95": cell.half}))))
            .collect();
        json!({"stack": plan.stacks[summary.point.stack], "workload": plan.workloads[summary.point.workload], "values": values,
            "complete": summary.complete, "problem": summary.problem, "metrics": metrics})
    };
    let statuses: serde_json::Map<String, Value> = counts(outcomes).into_iter().map(|(name, count)| (name.to_owned(), json!(count))).collect();
    json!({"schema": SCHEMA, "name": plan.name, "runs": grid.runs.len(), "statuses": statuses, "combinations": all.iter().map(point).collect::<Vec<_>>()})
}

/// The table that is printed.
pub fn text(grid: &Grid, outcomes: &[Option<Outcome>], all: &[Summary]) -> String {
    let plan = &grid.plan;
    let shown: Vec<_> = SHOWN.iter().filter(|(name, ..)| all.iter().any(|summary| summary.mean(name).is_some())).collect();
    let mut table = Table::new(2 + plan.axes.len());
    let heads = ["stack".to_owned(), "workload".to_owned()].into_iter().chain(plan.axes.iter().map(|axis| axis.key.to_owned()));
    table.row(heads.chain(shown.iter().map(|(_, name, _)| (*name).to_owned())).chain([String::new()]));
    for summary in all.iter().take(MOST_LINES) {
        let point = [plan.stacks[summary.point.stack].clone(), plan.workloads[summary.point.workload].clone()];
        let values = plan.axes.iter().zip(&summary.point.values).map(|(axis, value)| axis.values[*value].clone());
        let metrics = shown.iter().map(|(name, _, unit)| {
            summary.cell(name).map_or_else(|| "-".to_owned(), |cell| {
                let half = cell.half.map_or_else(String::new, |half| format!(" ±{:.2}", half / unit));
                format!("{:.2}{half}", cell.mean / unit)
            })
        });
        let problem = summary.problem.clone().unwrap_or_default();
        let problem: String = problem.chars().take(60).collect();
        table.row(point.into_iter().chain(values).chain(metrics).chain([problem]));
    }
    let rest = if all.len() > MOST_LINES { format!("… and {} more combinations in summary.csv\n", all.len() - MOST_LINES) } else { String::new() };
    let counts = counts(outcomes).into_iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", ");
    format!("{}, {} runs: {counts}\n\n{}{rest}", plan.name, grid.runs.len(), table.render(""))
}
