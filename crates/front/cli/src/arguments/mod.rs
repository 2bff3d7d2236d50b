//! The command line: commands and options.

mod drawing;
mod fitting;
mod fsyncs;
mod jobs;
mod limiting;
mod living;
mod serving;
mod sweeping;
mod torturing;

pub use drawing::TimelineArguments;
pub use fitting::{FitArguments, MeasureArguments};
pub use fsyncs::FsyncsArguments;
pub use jobs::FIRST_STEPS;
pub use limiting::LimitArguments;
pub use living::{LifeArguments, LivesArguments};
pub use serving::{
    CtlArguments, HardCheckArguments, HardCommand, HardFormatArguments, HardServeArguments, ServeArguments,
    ServerArguments, WatchArguments,
};
pub use sweeping::SweepArguments;
pub use torturing::TortureArguments;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use trace::formats::{Allocator, OddLines};

/// A flash drive, simulated from the host request down to the flash cell array.
#[derive(Debug, Parser)]
#[command(name = "nandarium", version, about, propagate_version = true)]
#[command(help_template = jobs::template(), after_help = jobs::exit_codes())]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
    /// Log more to standard error; twice for details.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// A file of policies written in Python, which keys then select by name; may be given several times. Needs the
    /// command of the Python package.
    #[arg(long, global = true, value_name = "FILE.py")]
    pub policies: Vec<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Replay a recorded trace on a small drive, and open the page of its result.
    Demo(DemoArguments),
    /// Run a workload on one stack, and show latencies, their causes, write amplification and wear.
    Run(RunArguments),
    /// Run the same workload through several stacks, side by side.
    Compare(CompareArguments),
    /// Run a published study again: published and measured figures side by side.
    Repro(ReproArguments),
    /// Fit a stack to measurements of a drive, and judge its predictions of the others.
    Fit(FitArguments),
    /// Measure a drive with fio, as input of `fit`.
    Measure(MeasureArguments),
    /// Look into trace files, or convert them.
    #[command(subcommand)]
    Trace(TraceCommand),
    /// Name the stacks, drives, policies, workloads, parts, trace formats and keys.
    List(ListArguments),
    /// Explain a key, a group of keys, any name or term; or find the names whose texts have a word.
    Explain(ExplainArguments),
    /// Check a stack file, a trace file or the file of a served drive, and name every problem.
    Check(CheckArguments),
    /// Count the sets of blocks that decode a group, for published codes or your own, and look for better codes.
    Code(CodeArguments),
    /// Find out about a drive by measuring it.
    #[command(subcommand)]
    Probe(ProbeCommand),
    /// Serve a simulated drive with real bytes over NBD: for fio, QEMU, file systems and databases.
    Serve(ServeArguments),
    /// Ask a server for wear and counters, cut its power, or let a part fail.
    Ctl(CtlArguments),
    /// Record a program's requests to a drive, draw the states that power cuts may leave, and check the data in each.
    Torture(TortureArguments),
    /// Tell which syncs of a program did not become flushes of a served drive, and which names were never synced.
    Fsyncs(FsyncsArguments),
    /// Remap small random writes into superpages, over a file or block device.
    #[command(subcommand)]
    Hard(HardCommand),
    /// Tell how long a drive lives under a workload: terabytes, drive writes a day, years, causes of wear, costs.
    Life(LifeArguments),
    /// Run every combination of a plan on all cores: stacks, workloads, any keys, repetitions.
    Sweep(SweepArguments),
    /// Render report.html again from result.json files.
    Report(ReportArguments),
    /// List the preconditioned drives that runs have kept, or remove them.
    Snapshots(SnapshotsArguments),
    /// Print a script with which a shell completes commands and options.
    Completions(CompletionsArguments),
    /// Print the manual page, or write one for each command.
    Man(ManArguments),
}

/// The folder of the command `demo`, and how its page is shown.
#[derive(Debug, Args)]
#[command(after_help = "    nandarium demo --no-open --out demo")]
pub struct DemoArguments {
    /// Folder for result.json, report.html and series.csv.
    #[arg(short, long, value_name = "DIR", default_value = "nandarium-demo")]
    pub out: PathBuf,
    /// Print the path of the page, and open no browser.
    #[arg(long)]
    pub no_open: bool,
    /// No progress and no remarks on standard error.
    #[arg(short, long)]
    pub quiet: bool,
}

/// The folder of the command `snapshots`, and whether it is emptied.
#[derive(Debug, Args)]
#[command(after_help = "    nandarium snapshots --clear")]
pub struct SnapshotsArguments {
    /// Folder of the snapshots, as in `run --snapshots`; by default the user's cache folder.
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// Remove all snapshots in the folder.
    #[arg(long)]
    pub clear: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "    nandarium completions bash > ~/.local/share/bash-completion/completions/nandarium")]
pub struct CompletionsArguments {
    /// The shell.
    pub shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
#[command(after_help = "    nandarium man --out ~/.local/share/man/man1 && man nandarium-run")]
pub struct ManArguments {
    /// Folder for nandarium.1, nandarium-run.1 and so on.
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Heading of options that few users need.
const ADVANCED: &str = "Advanced options";

/// Arguments that `run`, `compare` and `life` share.
#[derive(Debug, Args)]
pub struct SessionArguments {
    /// A built-in workload, a trace file (compressed, in a tar or zip archive or as Parquet too), or - for standard
    /// input [default: mixed].
    #[arg(short, long, value_name = "NAME|FILE|-")]
    pub workload: Option<String>,
    /// Change a key, for example --set drive.capacity=4GiB; may be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Seed of workload and drive (workload.seed and engine.seed).
    #[arg(help_heading = ADVANCED, long, value_name = "N", allow_negative_numbers = true, value_parser = count)]
    pub seed: Option<u64>,
    /// Requests to run (workload.requests).
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count)]
    pub requests: Option<u64>,
    /// Format of a trace (workload.format).
    #[arg(help_heading = ADVANCED, long, value_name = "NAME")]
    pub format: Option<String>,
    /// Limits on figures.
    #[command(flatten)]
    pub limits: LimitArguments,
    /// Print the result as JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Write result.json, report.html and series.csv into this folder.
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Open the page of --out in the browser of the variable BROWSER, or in the desktop's.
    #[arg(long, requires = "out")]
    pub open: bool,
    /// Keep preconditioned states in this folder instead of the user's cache folder.
    #[arg(help_heading = ADVANCED, long, value_name = "DIR", conflicts_with = "no_snapshots")]
    pub snapshots: Option<PathBuf>,
    /// Neither read nor write preconditioned states.
    #[arg(help_heading = ADVANCED, long)]
    pub no_snapshots: bool,
    /// No progress and no remarks on standard error.
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "    nandarium run zipf --set drive.capacity=4GiB --out result
    nandarium run dftl trace.csv.zst --json")]
pub struct RunArguments {
    /// A stack or drive, a workload or trace file, or both, in any order.
    #[arg(value_name = "NAME|FILE", num_args = 0..=2)]
    pub names: Vec<String>,
    /// A built-in stack or drive, or a TOML file [default: page] (--drive is the same: a drive is a stack).
    #[arg(short, long, visible_alias = "drive", value_name = "NAME|FILE")]
    pub stack: Option<String>,
    /// Repeat the run that wrote this result.json, and say whether the result is the same (exit code 1 if it is not).
    #[arg(help_heading = ADVANCED, long, value_name = "FILE",
        conflicts_with_all = ["names", "stack", "workload", "set", "seed", "requests", "format"])]
    pub again: Option<PathBuf>,
    // Options of a heading of their own come last: those behind them would stand under it.
    #[command(flatten)]
    pub session: SessionArguments,
    /// Timelines.
    #[command(flatten)]
    pub drawing: TimelineArguments,
    /// Let browsers and Prometheus watch.
    #[command(flatten)]
    pub watch: WatchArguments,
}

#[derive(Debug, Args)]
#[command(after_help = "Which of two drives for a trace, with lives and prices:

    nandarium compare micron-7450-max-like sk-hynix-pe8110-like --workload trace.csv --life --per-day 500GB \
--price 7450=190EUR --price pe8110=140EUR

The output begins with the answer: the drive that is cheapest a year, the one that is fastest at the tail, and the \
differences that matter. Unless --requests, workload.repeat or workload.repeat_order is given, the load is lengthened \
until all lives can be told, by the same for all drives. Unless --repetitions is given, each drive runs 3 times, or \
fewer times under a long load.")]
pub struct CompareArguments {
    /// Built-in stacks or TOML files; NAME+key=value changes a key for one of them, for example
    /// page page+ftl.gc.victim=fifo. Ratios are to the first. A workload among them stands for --workload.
    #[arg(required_unless_present = "drive", value_name = "STACK")]
    pub stacks: Vec<String>,
    /// Runs of each stack, the first included, each with a seed of its own. They give means, 95 % intervals of ratios,
    /// and significant differences. If the first run fails, or has no life with --life, there are no further runs
    /// [default: 1; with --life 3, or fewer where 3 would be more than 250 million requests for each; 1 for standard
    /// input].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repetitions: Option<u32>,
    /// A drive (`nandarium list drives`) or any other stack; may be given several times.
    #[arg(long, value_name = "NAME|FILE")]
    pub drive: Vec<String>,
    #[command(flatten)]
    pub session: SessionArguments,
    /// Lives and costs of each drive.
    #[command(flatten)]
    pub lives: LivesArguments,
    /// Timelines: a file for each stack.
    #[command(flatten)]
    pub drawing: TimelineArguments,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Rows are judged by the published figure: E exact, N within a band, T a trend; recorded rows are not \
         judged. With --family a row is inside, near, undecided, outside or refuted: a published value inside the \
         draws does not miss. Exit code 6 if a row misses.

    nandarium repro hard --out hard
    nandarium repro two-level --family 16
    nandarium repro tpm --full --trace websearch=WebSearch1.spc.gz --trace financial=Financial2.spc.gz"
)]
pub struct ReproArguments {
    /// The study, or all of them.
    #[arg(value_name = "STUDY", value_parser = studies())]
    pub study: String,
    /// Run one figure alone, with its rows, such as figure-14-5. The beginning of the numbers of rows, such as 4.2,
    /// takes these rows. Only their simulations are run. A wrong name lists the figures of the study.
    #[arg(long, value_name = "NAME")]
    pub figure: Option<String>,
    /// The published size, which takes half an hour and more, instead of the default one of some minutes.
    #[arg(long, conflicts_with = "scale")]
    pub full: bool,
    /// Size as a share of the published one: 1/4 (the default; of drives 1/64), 1/8, and so on; small ones miss more
    /// rows.
    #[arg(help_heading = ADVANCED, long, value_name = "SHARE")]
    pub scale: Option<String>,
    /// Seed of generators and drives.
    #[arg(help_heading = ADVANCED, long, value_name = "N", default_value_t = 1, allow_negative_numbers = true,
          value_parser = count)]
    pub seed: u64,
    /// A trace file instead of a generated trace (any format of `nandarium list formats`); may be
    /// given several times.
    #[arg(long, value_name = "NAME=FILE")]
    pub trace: Vec<String>,
    /// Run the study on N draws of its family as well: parameters that the paper leaves open are drawn by the seed from
    /// ranges that docs/reproduction lists. Rows that the family judges are counted by its verdict. Common: 16.
    #[arg(long, value_name = "N", conflicts_with = "trace", default_value_t = 0, hide_default_value = true)]
    pub family: u32,
    /// Change a setting of the study; a wrong name lists all settings.
    #[arg(help_heading = ADVANCED, long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Print the rows as JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Write rows.json, repro.html and a CSV file for each figure into this folder. A run that is stopped keeps its
    /// finished simulations there (else in the user's cache folder), and the same command goes on.
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Run only each N-th simulation from the I-th on, for several machines over one folder; the command without
    /// --shard then gives the rows, and this one prints nothing.
    #[arg(help_heading = ADVANCED, long, value_name = "I/N", requires = "out")]
    pub shard: Option<String>,
    /// No progress on standard error.
    #[arg(short, long)]
    pub quiet: bool,
}

/// Stands for every study.
pub const ALL_STUDIES: &str = "all";

fn studies() -> PossibleValuesParser {
    PossibleValuesParser::new(repro::STUDIES.iter().map(|study| study.name).chain([ALL_STUDIES]))
}

#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Sum up a trace: operations, sizes, devices, footprint.
    Info(TraceInfoArguments),
    /// Write a trace, or the requests of a built-in workload, as the project's own CSV.
    Convert(TraceConvertArguments),
    /// Print the first requests of a trace as the project's own CSV.
    Head(TraceHeadArguments),
}

/// How to read a trace.
#[derive(Debug, Args)]
pub struct TraceInput {
    /// The trace, or - for standard input.
    #[arg(value_name = "FILE|-")]
    pub file: String,
    /// Format, where it cannot be told from the file; `nandarium list formats` names them.
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// Columns of a table in no known format, such as time=ts:ns,op=rw,offset=lba:sectors,size=len:bytes (the key
    /// `workload.columns`).
    #[arg(long, value_name = "FIELD=COLUMN:UNIT,...")]
    pub columns: Option<String>,
    /// The file to read from a tar or zip archive of several (the key `workload.member`).
    #[arg(long, value_name = "FILE")]
    pub member: Option<String>,
    /// Times that go backwards.
    #[arg(help_heading = ADVANCED, long, value_enum)]
    pub order: Option<OrderArgument>,
    /// Cut longer gaps between two requests to this, for example 1h (the key `workload.gap_limit`).
    #[arg(help_heading = ADVANCED, long, value_name = "DURATION", value_parser = gap_limit)]
    pub gap_limit: Option<u64>,
    /// How the keys of a trace without addresses get addresses: first-fit, log or by-tier (the key
    /// `workload.allocator`).
    #[arg(help_heading = ADVANCED, long, value_name = "NAME", value_parser = allocator)]
    pub allocator: Option<Allocator>,
    /// Leave out lines that do not fit the format, up to this number or share, for example 20 or 5% (the key
    /// `workload.odd_lines`).
    #[arg(help_heading = ADVANCED, long, value_name = "NUMBER|SHARE", value_parser = odd_lines)]
    pub odd_lines: Option<String>,
}

/// A whole number, with the errors that keys have.
pub fn count(text: &str) -> Result<u64, String> {
    units::quantity::parse_count(text).map_err(|error| error.to_string())
}

/// A duration, in nanoseconds.
pub fn gap_limit(text: &str) -> Result<u64, String> {
    units::quantity::parse_duration(text).map_err(|error| error.to_string())
}

/// A way to give keys addresses.
pub fn allocator(text: &str) -> Result<Allocator, String> {
    let found = Allocator::ALL.into_iter().find(|allocator| allocator.name() == text);
    found.ok_or_else(|| format!("write {}", Allocator::ALL.map(Allocator::name).join(", ")))
}

/// Odd lines, as the key has them.
pub fn odd_lines(text: &str) -> Result<String, String> {
    OddLines::parse(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// How to treat times that go backwards.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum OrderArgument {
    /// Refuse the trace.
    Error,
    /// Let the request arrive with the request before it.
    Clamp,
    /// Sort within a window, and the whole file where the window is too short.
    Sort,
    /// Sort the whole trace.
    Whole,
}

/// Arguments of `trace info`.
#[derive(Debug, Args)]
#[command(after_help = "    nandarium trace info trace.csv.gz
    nandarium trace info table.csv --columns time=ts:ns,op=rw,offset=lba:sectors,size=len:bytes")]
pub struct TraceInfoArguments {
    #[command(flatten)]
    pub input: TraceInput,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `trace convert`.
#[derive(Debug, Args)]
#[command(
    mut_arg("file", |argument| {
        argument
            .value_name("NAME|FILE|-")
            .help("A built-in workload (`nandarium list workloads`), a trace file, or - for standard input")
    }),
    after_help = "Requests for another simulator:

    nandarium trace convert uniform-write --set drive.capacity=1GiB --requests 100000 --seed 3 --out out.csv

The file has the arrival times of an open loop. Where a workload has none, all times are 0 unless \
workload.interarrival is set."
)]
pub struct TraceConvertArguments {
    #[command(flatten)]
    pub input: TraceInput,
    #[command(flatten)]
    pub requests: RequestArguments,
    /// Where to write; standard output otherwise.
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Which requests of a built-in workload are written.
#[derive(Debug, Args)]
pub struct RequestArguments {
    /// The stack or drive that a built-in workload would run on: it has the size of the drive.
    #[arg(short, long, visible_alias = "drive", value_name = "NAME|FILE")]
    pub stack: Option<String>,
    /// Change a key of a built-in workload or its drive, for example --set drive.capacity=1GiB; may be given several
    /// times.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Seed of a built-in workload (workload.seed).
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count)]
    pub seed: Option<u64>,
    /// Requests of a built-in workload (workload.requests).
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count)]
    pub requests: Option<u64>,
}

/// Arguments of `trace head`.
#[derive(Debug, Args)]
#[command(after_help = "    nandarium trace head zipf -n 5")]
pub struct TraceHeadArguments {
    #[command(flatten)]
    pub input: TraceInput,
    /// Requests to print.
    #[arg(short = 'n', long, default_value_t = 10)]
    pub count: usize,
}

#[derive(Debug, Args)]
#[command(after_help = "    nandarium list stacks
    nandarium list keys --json")]
pub struct ListArguments {
    /// Only this kind.
    #[arg(value_enum)]
    pub what: Option<Listing>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The kinds of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Listing {
    /// Built-in stacks.
    Stacks,
    /// Stacks that stand for drives for sale.
    Drives,
    /// Mappings and victim policies.
    Policies,
    /// Built-in workloads.
    Workloads,
    /// Flash parts.
    Parts,
    /// Trace formats.
    Formats,
    /// Published studies, with their figures.
    Studies,
    /// Configuration keys.
    Keys,
}

#[derive(Debug, Args)]
#[command(after_help = "    nandarium explain ftl.gc.victim
    nandarium explain WAF
    nandarium explain tail latency")]
pub struct ExplainArguments {
    /// A key (drive.capacity), a group (drive), a name from `nandarium list`, or a term. For other words: the keys,
    /// names and terms whose texts have all of them.
    #[arg(required = true, value_name = "NAME|WORD")]
    pub name: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "    nandarium check mine.toml")]
pub struct CheckArguments {
    /// A stack (.toml), a trace, or the file of a drive (serve --file).
    pub file: String,
    /// Format of a trace.
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "    nandarium code mirror --data 4
    nandarium code --search --data 5")]
pub struct CodeArguments {
    /// One code: regular-M, mirror, parity, peel-best, mds, or code blocks as rows of bits ("1100 0110 0011 1001");
    /// otherwise every regular code.
    pub code: Option<String>,
    /// Data blocks of a group; without a code or a search: 3 to 8.
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16))]
    pub data: Option<u32>,
    /// Look for the best code of as many code blocks as data blocks: among all as far as that can be done, by climbing
    /// from random ones beyond.
    #[arg(long, conflicts_with = "code", requires = "data")]
    pub search: bool,
    /// The decoder of the codes that a search compares.
    #[arg(long, value_name = "NAME", default_value = "gauss", requires = "search",
          value_parser = PossibleValuesParser::new(erasure::DECODERS.iter().map(|(name, ..)| *name)))]
    pub decoder: String,
    /// Random codes to climb from, where not all can be tried.
    #[arg(help_heading = ADVANCED, long, value_name = "N", default_value_t = 100, requires = "search",
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub restarts: u64,
    /// Most seconds of climbing; then the best code so far is shown.
    #[arg(help_heading = ADVANCED, long, value_name = "N", default_value_t = 60, requires = "search",
          value_parser = clap::value_parser!(u64).range(1..=31_536_000))]
    pub seconds: u64,
    /// Seed of the random codes.
    #[arg(help_heading = ADVANCED, long, value_name = "N", default_value_t = 1, requires = "search",
          value_parser = count)]
    pub seed: u64,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum ProbeCommand {
    /// Find the superpage: random aligned writes of 4 KiB to 1 MiB, and the smallest size at full speed.
    Superpage(SuperpageArguments),
}

/// Arguments of `probe superpage`.
#[derive(Debug, Args)]
#[command(after_help = "    nandarium probe superpage page
    nandarium probe superpage /dev/sdX --yes")]
pub struct SuperpageArguments {
    /// A built-in stack or a TOML file, which is simulated; a file or block device, or an export of an NBD server
    /// (`nbd://HOST:PORT/NAME`, `nbd+unix:///NAME?socket=PATH`), which are overwritten.
    #[arg(value_name = "STACK|FILE|URI")]
    pub target: String,
    /// Change a key of a stack; may be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Writes under way at once; for files: writes before each sync.
    #[arg(short = 'd', long, value_name = "N", default_value_t = 32,
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub queue_depth: u32,
    /// Bytes that each size writes, and at least 64 writes.
    #[arg(long, value_name = "SIZE", default_value = "16MiB")]
    pub bytes: String,
    /// Seed of the addresses to write.
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = count)]
    pub seed: u64,
    /// Overwrite a file, a device or an export.
    #[arg(long)]
    pub yes: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// No progress on standard error.
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "    nandarium report result --open")]
pub struct ReportArguments {
    /// Folders with a result.json, as `run --out` and `compare --out` write them, or such a file.
    #[arg(required = true, value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// The page to write; by default report.html in the folder, or here if there are several.
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Open the page in the browser of the variable BROWSER, or in the desktop's.
    #[arg(long)]
    pub open: bool,
}
