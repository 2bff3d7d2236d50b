//! Arguments of `torture`.

use super::ADVANCED;
use clap::Args;
use clap::builder::PossibleValuesParser;
use std::path::PathBuf;
use torture::{Guarantee, Lie, Mount};
use units::{SECTOR_BYTES, quantity};

#[derive(Debug, Args)]
#[command(
    after_help = "Commands are run by `sh -c` and find the drive under NANDARIUM_URI and NANDARIUM_SOCKET (NBD). \
Lines that the workload prints, such as its promises, are given to the check that comes after them, in the \
file NANDARIUM_SAID; NANDARIUM_IMAGE is the drive as a file, where --image asks for it. A check that ends with 0 is \
content; with another code the drive has lost data that the program relies on, and the last line of its output names \
them.

    nandarium torture --workload './log append' --check './log verify' --states 10000"
)]
pub struct TortureArguments {
    /// Fills the drive before anything is recorded; it ends with a flush.
    #[arg(long, value_name = "COMMAND")]
    pub prepare: Option<String>,
    /// Runs once, and is recorded.
    #[arg(long, value_name = "COMMAND")]
    pub workload: String,
    /// Runs for each state that power cuts may leave.
    #[arg(long, value_name = "COMMAND")]
    pub check: String,
    /// The drive that is served: a built-in stack or drive, or a TOML file.
    #[arg(short, long, visible_alias = "drive", value_name = "NAME|FILE", default_value = "page")]
    pub stack: String,
    /// Change a key, for example --set drive.capacity=64MiB; may be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// The promise of the drive about writes that need not last yet. The default is the weakest one, even if the
    /// simulated drive keeps more: a program that holds with it holds on any drive.
    #[arg(help_heading = ADVANCED, long, value_name = "NAME", default_value = "any-order",
        value_parser = PossibleValuesParser::new(Guarantee::TABLE.map(|(name, _, _)| name)))]
    pub guarantee: String,
    /// Bytes that are written whole or not at all, for example 4KiB; by default the promise of the drive, drive.atomic,
    /// which is 512B unless you set it.
    #[arg(help_heading = ADVANCED, long, value_name = "SIZE", value_parser = atomic)]
    pub atomic: Option<u64>,
    /// The source of states: the promises of a drive (--guarantee), or power cuts of the simulated drive, followed by
    /// its own recovery.
    #[arg(help_heading = ADVANCED, long, value_name = "NAME", default_value = "promise",
        value_parser = PossibleValuesParser::new(["promise", "drive"]))]
    pub cuts: String,
    /// A promise that the drive breaks on purpose, to see whether that is noticed; may be given several times.
    #[arg(help_heading = ADVANCED, long, value_name = "NAME", 
        value_parser = PossibleValuesParser::new(Lie::TABLE.map(|(name, _, _)| name)))]
    pub lie: Vec<String>,
    /// Something that fails with the power, with --cuts drive: `die 3`, `channel 0`, `block 17`; or from the beginning
    /// on: `reads 1%`, `programs 0.1%`, `erases 5%`, `lose writes share 1%`, `cut-unreadable share 20%`; may be given
    /// several times. `nandarium explain faults` shows all of them.
    #[arg(help_heading = ADVANCED, long, value_name = "FAULT")]
    pub fault: Vec<String>,
    /// Give commands a file system on the drive in the folder `NANDARIUM_MOUNT`, new before --prepare: ext4, xfs or
    /// btrfs (root, a loop device), or fuse2fs (ext4 without root, and without its journal). Write options of mount
    /// after a colon. With none the drive is only the file `NANDARIUM_DISK`.
    #[arg(help_heading = ADVANCED, long, value_name = "FS[:OPTIONS]")]
    pub mount: Option<Mount>,
    /// States to draw.
    #[arg(long, value_name = "N", default_value_t = 1000,
        value_parser = clap::value_parser!(u64).range(1..1 << 62))]
    pub states: u64,
    /// Seed of the states.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Check the state with this number alone. Without --recording the workload runs again: if it asks for other
    /// things, or in another order, it is another state.
    #[arg(help_heading = ADVANCED, long, value_name = "N", value_parser = clap::value_parser!(u64).range(..1 << 62))]
    pub replay: Option<u64>,
    /// Take the workload's requests from this file, which an earlier --out wrote, and do not run the workload.
    #[arg(help_heading = ADVANCED, long, value_name = "FILE")]
    pub recording: Option<PathBuf>,
    /// Make each N-th check alone, from the I-th on, of the states that --recording leaves: N machines share the
    /// checks. A shard ends at its first failure; --replay then makes the one with the least number smaller.
    #[arg(help_heading = ADVANCED, long, value_name = "I/N", requires = "recording", conflicts_with = "replay")]
    pub shard: Option<String>,
    /// Checks that run at once; by default one for each core. The number of jobs does not change the result.
    #[arg(help_heading = ADVANCED, short, long, value_name = "N",
          value_parser = clap::value_parser!(u16).range(1..=i64::from(sweep::MOST_THREADS)))]
    pub jobs: Option<u16>,
    /// Seconds after which a command is ended: a check then counts as failed.
    #[arg(help_heading = ADVANCED, long, value_name = "SECONDS", default_value_t = 60)]
    pub time_limit: u64,
    /// Give each check the drive as a file as well.
    #[arg(long)]
    pub image: bool,
    /// Write torture.json, torture.html, the recording, and the drive's contents before and after the smallest failure
    /// into this folder.
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write the verdict into this file as `JUnit` XML.
    #[arg(help_heading = ADVANCED, long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// No progress on standard error.
    #[arg(short, long)]
    pub quiet: bool,
}

fn atomic(text: &str) -> Result<u64, String> {
    let bytes = quantity::parse_size(text).map_err(|error| error.to_string())?;
    let is_unit = bytes.is_power_of_two() && (SECTOR_BYTES..=1 << 20).contains(&bytes);
    is_unit.then_some(bytes).ok_or_else(|| format!("`{text}` is not a power of two from 512B to 1MiB"))
}
