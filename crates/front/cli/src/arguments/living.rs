//! Arguments of `life`.

use super::{SessionArguments, price};
use clap::Args;

/// Length of a warranty where none is given.
const WARRANTY: &str = "5y";

#[derive(Debug, Args)]
#[command(
    after_help = "The drive is brought to steady state (drive.precondition = steady, unless set), and the workload is \
        run as by `run`, with \
the same hash. From the wear of its blocks follows how much can be written until the drive is worn out: not before the \
first block is \
(earliest), not after all of them are (latest), and most likely when the spare blocks are used up (estimate).

--out DIR also gets life.json and life.html.

    nandarium life --workload zipf --set flash.part=mlc-4k --per-day 100GB
    nandarium life --stack dftl --workload trace.csv --set flash.endurance=3000 --price-per-gb 0.08"
)]
pub struct LifeArguments {
    /// A stack or drive, a workload or trace file, or both, in any order.
    #[arg(value_name = "NAME|FILE", num_args = 0..=2)]
    pub names: Vec<String>,
    /// A built-in stack or drive, or a TOML file [default: page] (--drive is the same: a drive is a stack).
    #[arg(short, long, visible_alias = "drive", value_name = "NAME|FILE")]
    pub stack: Option<String>,
    /// What is asked besides the run.
    #[command(flatten)]
    pub question: LifeQuestion,
    /// Price of the drive.
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, value_parser = price)]
    pub price: Option<f64>,
    /// Run it so many times with other seeds: means of the life with their 95 % intervals as well.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repetitions: u32,
    #[command(flatten)]
    pub session: SessionArguments,
}

/// What is asked of a life besides its run and the price of the drive.
#[derive(Clone, Debug, Args)]
pub struct LifeQuestion {
    /// Bytes the host writes a day; otherwise as much as in the run: at the trace's own times, or at full speed in a
    /// closed loop.
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub per_day: Option<String>,
    /// Years or days over which drive writes a day (DWPD) are reckoned.
    #[arg(long, value_name = "TIME", default_value = WARRANTY, allow_hyphen_values = true)]
    pub warranty: String,
    /// Price of a gigabyte (10^9 bytes) of flash, spare flash included, in any currency.
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, conflicts_with = "price", value_parser = price)]
    pub price_per_gb: Option<f64>,
}

impl LifeQuestion {
    /// Whether anything but a default was given.
    pub fn is_asked(&self) -> bool {
        self.per_day.is_some() || self.price_per_gb.is_some() || self.warranty != WARRANTY
    }

    /// The question about a drive of this price.
    pub fn asked(&self, price: Option<f64>) -> compare::LifeQuestion {
        let Self { per_day, warranty, price_per_gb } = self.clone();
        compare::LifeQuestion { per_day, warranty, price_per_gb, price }
    }
}

/// What `compare` is asked about lives.
#[derive(Debug, Args)]
pub struct LivesArguments {
    /// How long each drive lives as well, as `nandarium life` tells it: each is brought to steady state first, unless
    /// drive.precondition is set.
    #[arg(long)]
    pub life: bool,
    /// As those of `life`.
    #[command(flatten)]
    pub question: LifeQuestion,
    /// Price of one of the drives, for example page=190; once for each that has one.
    #[arg(long, value_name = "NAME=NUMBER")]
    pub price: Vec<String>,
}
