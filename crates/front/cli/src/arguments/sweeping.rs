//! Arguments of `sweep`.

use super::{ADVANCED, LimitArguments, WatchArguments};
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "A plan names stacks, workloads and axes; every combination is a run:

    stacks = [\"page\", \"dftl\"]
    workloads = [\"zipf\"]
    repetitions = 3

    [set]
    drive.capacity = \"1GiB\"

    [axes]
    drive.over_provisioning = [\"7%\", \"15%\", \"28%\"]
    workload.queue_depth = { from = 1, to = 32, steps = 6, scale = \"log\" }

    nandarium sweep plan.toml --out result

Finished runs are kept in the folder and not run again: a sweep that was stopped goes on with the same command, and \
shards (--shard 1/4 … 4/4) may share a folder. The command without --shard then collects all of them.")]
pub struct SweepArguments {
    /// The plan, a TOML file.
    #[arg(value_name = "PLAN")]
    pub plan: PathBuf,
    /// Folder of runs, snapshots, results.parquet, summary.csv and report.html; by default the plan's name beside it.
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// A drive (`nandarium list drives`) or any other stack, in place of the plan's stacks; may be given several times.
    #[arg(long, value_name = "NAME|FILE")]
    pub drive: Vec<String>,
    /// A key for all runs, over the plan's own; may be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Run only each N-th run from the I-th on, for several machines over one folder; the command without --shard then
    /// gives the table, and this one prints nothing.
    #[arg(help_heading = ADVANCED, long, value_name = "I/N", conflicts_with = "fail_if")]
    pub shard: Option<String>,
    /// Threads; by default one for each core.
    #[arg(help_heading = ADVANCED, short, long, value_name = "N",
          value_parser = clap::value_parser!(u16).range(1..=i64::from(sweep::MOST_THREADS)))]
    pub jobs: Option<u16>,
    /// Address of a scheduler of Dask: runs go to its workers (with the Python package and its
    /// extra `cluster`).
    #[arg(help_heading = ADVANCED, long, value_name = "tcp://HOST:PORT", conflicts_with_all = ["shard", "jobs"])]
    pub scheduler: Option<String>,
    /// The latency that designs are judged by, over the plan's own: `write_p99_ns`, for example; by default the highest
    /// percentile with requests enough.
    #[arg(help_heading = ADVANCED, long, value_name = "METRIC")]
    pub tail: Option<String>,
    /// How much longer than the shortest tail a recommended design's tail may be, instead of the plan's value: 10% by
    /// default.
    #[arg(help_heading = ADVANCED, long, value_name = "SHARE")]
    pub within: Option<String>,
    /// Limits on figures: means over the repetitions of each combination.
    #[command(flatten)]
    pub limits: LimitArguments,
    /// Check the plan and list its runs.
    #[arg(long)]
    pub dry_run: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// No progress on standard error.
    #[arg(short, long)]
    pub quiet: bool,
    /// Let browsers and Prometheus watch.
    #[command(flatten)]
    pub watch: WatchArguments,
}
