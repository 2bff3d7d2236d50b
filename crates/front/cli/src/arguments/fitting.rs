//! Arguments of `fit` and `measure`.

use super::ADVANCED;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(
    after_help = "nandarium fits a few parameters one after the other. Each one has its own figures, and the range \
         that drives have: raw flash follows from write amplification, program time from writes before any \
         collection, read time from lone reads, the firmware's times from the most requests a second, and so on. It \
         uses the figures that an experiment names in `fit`, and predicts the others. The drive is simulated smaller, \
         with all its dies. With --judge nothing is fitted: the table shows what a drive makes of the file.

    nandarium measure --target disk.img --out disk.toml
    nandarium fit disk.toml --from micron-7450-max-like --out disk-like.toml
    nandarium fit --judge disk.toml --drive disk-like.toml
    nandarium run --drive disk-like.toml --workload zipf"
)]
pub struct FitArguments {
    /// The measurements: a file of `nandarium measure` (docs/validation.md tells its form), JSON of fio, a folder of
    /// files, or a built-in drive.
    #[arg(value_name = "MEASURED")]
    pub measured: String,
    /// The stack to begin with; keys that are not fitted keep their values.
    #[arg(long, value_name = "NAME|FILE", required_unless_present = "judge", conflicts_with = "judge")]
    pub from: Option<String>,
    /// Fit nothing: compare --drive with the measurements.
    #[arg(long, requires = "drive", conflicts_with = "out")]
    pub judge: bool,
    /// The drive that --judge compares: a stack or its file.
    #[arg(long, value_name = "NAME|FILE", requires = "judge")]
    pub drive: Option<String>,
    /// Write the fitted stack into this file. A fit that is stopped keeps its findings beside it, and the same
    /// command goes on.
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Bytes of the drive, for JSON of fio, which does not tell them.
    #[arg(help_heading = ADVANCED, long, value_name = "SIZE")]
    pub capacity: Option<String>,
    /// How many times smaller the simulated drive is; by default so that it has about 12 GiB.
    #[arg(help_heading = ADVANCED, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=65536))]
    pub scale: Option<u64>,
    /// Change a key of the stack to begin with; may be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// No progress on standard error.
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "fio has to be installed. Only reads are measured unless you give --destroy-data. Fill the drive \
         before: pages that were never written read faster than data.

    nandarium measure --target nbd://127.0.0.1:10809/ --destroy-data --out mine.toml
    nandarium measure --target /dev/nvme0n1 --out mine.toml"
)]
pub struct MeasureArguments {
    /// The drive to measure: the address of an NBD server, a file, or a block device.
    #[arg(long, value_name = "URI|FILE|DEVICE")]
    pub target: String,
    /// Write the figures into this file, as `nandarium fit` reads it.
    #[arg(short, long, value_name = "FILE")]
    pub out: PathBuf,
    /// Name of the drive; by default the target.
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
    /// Bytes to work on; by default all of a file or device, and all that an NBD server has.
    #[arg(long, value_name = "SIZE")]
    pub size: Option<String>,
    /// Seconds of each experiment.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86400))]
    pub seconds: u64,
    /// Also measure writes: all data on the target is lost.
    #[arg(long)]
    pub destroy_data: bool,
    /// Also bring the drive into steady state, by writing all of it four times over at random. Measure its rate on the
    /// way, and latencies beside a tenth to nine tenths of the steady rate. Takes hours on most drives; needs
    /// --destroy-data.
    #[arg(long, requires = "destroy_data")]
    pub steady: bool,
    /// No progress on standard error.
    #[arg(short, long)]
    pub quiet: bool,
}
