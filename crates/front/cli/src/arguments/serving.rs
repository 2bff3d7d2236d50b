//! Arguments of the verbs that serve block devices.

use super::ADVANCED;
use clap::{Args, Subcommand};
use drive::Fault;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Addresses of a server, and the files that it writes.
#[derive(Debug, Args)]
pub struct ServerArguments {
    /// The unix socket to listen on.
    #[arg(long, value_name = "PATH", default_value = "nandarium.sock", conflicts_with = "tcp")]
    pub socket: PathBuf,
    /// Listen on this port instead, for programs on this machine only; 0: any that is free.
    #[arg(long, value_name = "PORT")]
    pub tcp: Option<u16>,
    /// Serve a virtual machine as well, with vhost-user-blk over a unix socket at this path.
    #[cfg(all(target_os = "linux", feature = "vhost-user"))]
    #[arg(long, value_name = "PATH")]
    pub vhost_user: Option<PathBuf>,
    /// The socket for `nandarium ctl`; by default the other one's path with .ctl behind it.
    #[arg(help_heading = ADVANCED, long, value_name = "PATH")]
    pub control: Option<PathBuf>,
    /// Name of the export; clients that give none get it as well.
    #[arg(help_heading = ADVANCED, long, value_name = "NAME", default_value = "nandarium")]
    pub export: String,
    /// Clients may only read.
    #[arg(long)]
    pub read_only: bool,
    /// Write the requests down as a trace, in the project's own CSV. Comments in it tell the time of day and the end of
    /// each flush, for `nandarium fsyncs`.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Say nothing on standard error but errors.
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "    nandarium serve --stack page --set drive.capacity=1GiB --socket /tmp/drive.sock
    fio --name=v --ioengine=nbd --uri='nbd+unix:///?socket=/tmp/drive.sock' --rw=randwrite --bs=4k --size=256M \
--verify=crc32c
    nandarium ctl /tmp/drive.sock.ctl smart")]
pub struct ServeArguments {
    /// A built-in stack or drive, or a TOML file (--drive is the same: a drive is a stack).
    #[arg(short, long, visible_alias = "drive", value_name = "NAME|FILE", default_value = "page")]
    pub stack: String,
    /// Change a key, for example --set drive.capacity=4GiB; may be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Keep the drive in this file, which is made if there is none; otherwise it is in memory and ends with the server.
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Something that fails from the beginning on, for example 'flip writes share 1%'; may be given several times.
    /// `nandarium explain faults` shows all of them.
    #[arg(long, value_name = "FAULT")]
    pub fault: Vec<Fault>,
    /// Write each request that a fault has hit into this file, an object of JSON a line.
    #[arg(long, value_name = "FILE")]
    pub fault_log: Option<PathBuf>,
    /// How simulated time passes: off (requests are answered as soon as they are simulated), real, or a factor: 10 is a
    /// drive ten times as slow.
    #[arg(long, value_name = "off|real|FACTOR", default_value = "off")]
    pub time: String,
    /// When the server ends, write result.json, series.csv and report.html of all that was served into this folder.
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub server: ServerArguments,
    /// Let browsers and Prometheus watch.
    #[command(flatten)]
    pub watch: WatchArguments,
}

/// Where somebody can watch.
#[derive(Debug, Args)]
#[command(next_help_heading = "Watching")]
pub struct WatchArguments {
    /// Show the progress as a page, and as metrics below /metrics, on this address, for example 127.0.0.1:9099; port 0:
    /// any that is free. Where others reach it, it asks for a token.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = watch_address)]
    pub watch: Option<SocketAddr>,
    /// Ask viewers for the token in this file: ?token=TOKEN in the address, or Authorization: Bearer TOKEN. The
    /// environment variable `NANDARIUM_WATCH_TOKEN` gives one as well. By default nothing is asked for on this machine,
    /// and elsewhere a new token is made up.
    #[arg(long, value_name = "FILE", requires = "watch")]
    pub watch_token_file: Option<PathBuf>,
    /// Refused: every user of this machine can read the command line.
    #[arg(long, value_name = "TOKEN", requires = "watch", hide = true)]
    pub watch_token: Option<String>,
}

/// An address with a port; `localhost` is 127.0.0.1.
fn watch_address(text: &str) -> Result<SocketAddr, String> {
    let plain = text.strip_prefix("localhost:").map_or_else(|| text.to_owned(), |port| format!("127.0.0.1:{port}"));
    plain.parse().map_err(|_| {
        "write an address and a port, for example 127.0.0.1:9099, [::1]:9099, or 127.0.0.1:0 for any port that is free"
            .to_owned()
    })
}

#[derive(Debug, Args)]
#[command(
    after_help = "Commands of a simulated drive: stats (requests, latencies, what they waited for, flash, layers); \
        smart (wear and health); smart-log, ocp-log (the same under the names of nvme-cli); live, maps (data of the \
        page of --watch); power-cut [SEED] (cut, and back at once: clients are hung up on); \
power-off [SEED]; power-on; fault FAULT (`nandarium explain faults` shows all of them); faults (those that hold now); \
fault-log [FROM] (the requests that they have hit). Of every server: shut-down.

    nandarium ctl nandarium.sock.ctl smart
    nandarium ctl nandarium.sock.ctl fault die 3
    nandarium ctl nandarium.sock.ctl fault stall 200ms writes every 2s"
)]
pub struct CtlArguments {
    /// The control socket.
    pub socket: PathBuf,
    /// The command.
    #[arg(required = true)]
    pub command: Vec<String>,
    /// Print JSON; it may stand anywhere.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum HardCommand {
    /// Put an empty remapped drive onto a file or block device. The old contents are lost.
    Format(HardFormatArguments),
    /// Serve the remapped drive of a file or block device.
    Serve(HardServeArguments),
    /// Recover the map of a file or block device, list its contents, and check that they agree. Changes nothing.
    Check(HardCheckArguments),
}

/// Arguments of `hard format`.
#[derive(Debug, Args)]
#[command(after_help = "    nandarium hard format remapped.img --create 1GiB --yes")]
pub struct HardFormatArguments {
    /// A file, or a block device.
    pub target: PathBuf,
    /// Size of a file that is to be made, such as 1GiB; it is sparse.
    #[arg(long, value_name = "SIZE")]
    pub create: Option<String>,
    /// The unit the device below works with, such as 16KiB; `nandarium probe superpage` finds it.
    #[arg(long, value_name = "SIZE", default_value = "16KiB")]
    pub superpage: String,
    /// Share of the device that is held back, so that reclaiming makes progress: 1% to 50%.
    #[arg(long, value_name = "SHARE", default_value = "10%")]
    pub hold_back: String,
    /// Confirm that the contents of the target may be lost.
    #[arg(long)]
    pub yes: bool,
}

/// Arguments of `hard serve`.
#[derive(Debug, Args)]
#[command(after_help = "    nandarium hard serve remapped.img --socket /tmp/remapped.sock")]
pub struct HardServeArguments {
    /// A file, or a block device, that was formatted.
    pub target: PathBuf,
    /// Acknowledge writes only when they are durable, with their place in the map: two flushes of the device
    /// each, and little is merged.
    #[arg(long)]
    pub write_through: bool,
    /// Trim superpages that have become free.
    #[arg(long)]
    pub trim: bool,
    #[command(flatten)]
    pub server: ServerArguments,
}

/// Arguments of `hard check`.
#[derive(Debug, Args)]
#[command(after_help = "    nandarium hard check remapped.img")]
pub struct HardCheckArguments {
    /// A file, or a block device.
    pub target: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
