//! Arguments of `fsyncs`.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "    nandarium serve --record drive.csv --socket drive.sock
    strace -f -y -ttt -o calls.log ./program
    nandarium fsyncs --calls calls.log --record drive.csv --folder /mnt/drive")]
pub struct FsyncsArguments {
    /// The system calls of the program, as `strace -f -y -ttt -o FILE` writes them.
    #[arg(long, value_name = "FILE")]
    pub calls: PathBuf,
    /// The requests to the drive, as `serve --record FILE` writes them on the same machine.
    #[arg(long, value_name = "FILE")]
    pub record: PathBuf,
    /// The folder in which the drive is mounted: files elsewhere do not count.
    #[arg(long, value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
