//! Arguments of `life`.

use super::SessionArguments;
use clap::Args;
use metrics::Money;
use std::path::PathBuf;
use units::{Nanos, quantity};

/// Length of a warranty where none is given.
const WARRANTY: &str = "5y";

/// Options of a simulated drive, which have no meaning for the logs of a real one.
const RUNS: [&str; 15] = [
    "names",
    "stack",
    "price",
    "repetitions",
    "workload",
    "set",
    "seed",
    "requests",
    "format",
    "fail_if",
    "junit",
    "out",
    "per_day",
    "warranty",
    "price_per_gb",
];

#[derive(Debug, Args)]
#[command(
    after_help = "The drive is brought to steady state (drive.precondition = steady, unless set), and the workload is \
         run as by `run`, with the same hash. The wear of its blocks tells how much the host can write until the \
         drive is worn out: at the earliest when the first block is worn out (earliest), at the latest when all \
         blocks are (latest), and most likely when the spare blocks are used up (estimate).

--out DIR also gets life.json and life.html.

    nandarium life --workload zipf --set flash.part=mlc-4k --per-day 100GB
    nandarium life --stack dftl --workload trace.csv --set flash.endurance=3000 --price-per-gb 0.08
    nandarium life --drive sk-hynix-pe8110-like --workload trace.csv --per-day 500GB --price 140EUR --tbw 1752TB
    nandarium life --smart january.json march.json --tbw 1752TB"
)]
pub struct LifeArguments {
    /// A stack or drive, a workload or trace file, or both, in any order.
    #[arg(value_name = "NAME|FILE", num_args = 0..=2)]
    pub names: Vec<String>,
    /// Two logs of a real drive, the older one first: its rate of writes, write amplification and life by its own
    /// counters. A log is the output of `smartctl --json -a` or `nvme smart-log -o json`, with the output of
    /// `nvme ocp smart-add-log -o json` behind it if the drive has that log.
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"], conflicts_with_all = RUNS)]
    pub smart: Vec<PathBuf>,
    /// Time between the two logs of --smart, such as 30d; otherwise as the logs tell it.
    #[arg(long, value_name = "TIME", requires = "smart", value_parser = quantity::parse_duration)]
    pub over: Option<Nanos>,
    /// A built-in stack or drive, or a TOML file [default: page] (--drive is the same: a drive is a stack).
    #[arg(short, long, visible_alias = "drive", value_name = "NAME|FILE")]
    pub stack: Option<String>,
    /// Price of the drive, with or without a currency: 190, 190EUR, $190.
    #[arg(long, value_name = "PRICE", allow_negative_numbers = true, value_parser = Money::parse)]
    pub price: Option<Money>,
    /// Bytes that the data sheet lets the host write, such as 1752TB, shown beside the life; otherwise as the stack
    /// says (the key `drive.data_sheet_writes`).
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub tbw: Option<String>,
    /// Runs of the drive, the first included, each with a seed of its own: means of the life with their 95 % intervals
    /// as well.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repetitions: u32,
    #[command(flatten)]
    pub session: SessionArguments,
    /// Questions besides the run.
    #[command(flatten)]
    pub question: LifeQuestion,
}

/// Questions about a life besides its run and the price of the drive.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Lives and prices")]
pub struct LifeQuestion {
    /// Bytes the host writes a day; otherwise as much as in the run: at the trace's own times, or at full speed in a
    /// closed loop.
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub per_day: Option<String>,
    /// Years or days over which drive writes a day (DWPD) are reckoned.
    #[arg(long, value_name = "TIME", default_value = WARRANTY, allow_hyphen_values = true)]
    pub warranty: String,
    /// Price of a gigabyte (10^9 bytes) of flash, spare flash included, with or without a currency.
    #[arg(
        long,
        value_name = "PRICE",
        allow_negative_numbers = true,
        conflicts_with = "price",
        value_parser = Money::parse
    )]
    pub price_per_gb: Option<Money>,
}

impl LifeQuestion {
    /// Whether anything but a default was given.
    pub fn is_asked(&self) -> bool {
        self.per_day.is_some() || self.price_per_gb.is_some() || self.warranty != WARRANTY
    }

    /// The question about a drive of this price, with this data sheet.
    pub fn asked(&self, price: Option<&Money>, tbw: Option<String>) -> compare::LifeQuestion {
        let Self { per_day, warranty, price_per_gb } = self.clone();
        let currency = price.or(price_per_gb.as_ref()).and_then(|money| money.currency.clone());
        let [price_per_gb, price] = [price_per_gb.as_ref(), price].map(|money| money.map(|money| money.amount));
        compare::LifeQuestion { per_day, warranty, price_per_gb, price, currency, tbw }
    }
}

/// Questions of `compare` about lives.
#[derive(Debug, Args)]
#[command(next_help_heading = "Lives and prices")]
pub struct LivesArguments {
    /// Tell how long each drive lives as well, as `nandarium life` does. Each drive is brought to steady state first,
    /// unless drive.precondition is set.
    #[arg(long)]
    pub life: bool,
    /// As in `life`.
    #[command(flatten)]
    pub question: LifeQuestion,
    /// Price of one of the drives, for example page=190, page=190EUR or page=$190; once for each that has one, all in
    /// one currency. The name may be short: 7450 for micron-7450-max-like.
    #[arg(long, value_name = "NAME=PRICE")]
    pub price: Vec<String>,
    /// Bytes that the data sheet of one of the drives lets the host write, for example pe8110=1752TB; otherwise as the
    /// stack says (the key `drive.data_sheet_writes`).
    #[arg(long, value_name = "NAME=SIZE")]
    pub tbw: Vec<String>,
}
