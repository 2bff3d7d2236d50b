//! The crash campaign: power is cut after every single event of small drives, each cut is
//! recovered and read back, and every so often life goes on from there, or from the file of a killed program.
//!
//! ```text
//! seed --> life: stack, host, drive
//!            event, cut --> image --> recover, check, read all sectors, ask the oracle
//!            event, cut --> image --> ... and now and then this image becomes the drive
//! ```

mod life;

pub use life::{Ending, Life};

use crate::stack::{Faults, Layers, stands_deaths};
use engine::random::Stream;
use nand::FlashState;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The plan of a campaign of power cuts.
#[derive(Clone, Copy, Debug)]
pub struct Campaign {
    pub cuts: u64,
    /// Seed of the first life; further lives count up from it.
    pub seed: u64,
    /// Cuts after which a life ends and the next one begins.
    pub cuts_per_life: u64,
    /// Media faults of the stacks.
    pub faults: Faults,
    /// Layers the stacks must have.
    pub layers: Layers,
    /// Where a stack can be kept in a file, half of the restarts follow the end of a killed program: the file is opened
    /// again, and life goes on with cuts.
    pub kills: bool,
    /// Called on the flash of every new drive (the mutation check breaks a law here).
    pub prepare: fn(&mut FlashState),
}

impl Campaign {
    /// A campaign of `cuts` cuts.
    pub fn new(cuts: u64, seed: u64) -> Self {
        let (faults, layers) = (Faults::None, Layers::default());
        Self { cuts, seed, cuts_per_life: 4000, faults, layers, kills: false, prepare: |_| {} }
    }

    /// Whether there are drives such as it asks for.
    /// Errors: the settings that do not go together, in words.
    pub fn check(&self) -> Result<(), String> {
        match self.layers.stripe {
            Some(kind) if self.faults == Faults::Deaths && !stands_deaths(kind) => Err(format!(
                "--deaths needs stripes from which a lost die can be computed, and {kind} has none that stand it; use \
                 --stripe {}",
                stripe::stripe_names().into_iter().filter(|name| stands_deaths(name)).collect::<Vec<_>>().join(" or ")
            )),
            _ => Ok(()),
        }
    }

    /// Runs it. `watch` sees the tally after each life.
    /// Errors: the first failure, with the seed and the command that replays it.
    pub fn run(&self, mut watch: impl FnMut(&Tally)) -> Result<Tally, Box<Failure>> {
        let mut tally = Tally::default();
        let mut seed = self.seed;
        while tally.cuts < self.cuts {
            self.live(seed, &mut tally)?;
            seed += 1;
            watch(&tally);
        }
        Ok(tally)
    }

    /// One life.
    /// Errors: its failure.
    pub fn live(&self, seed: u64, tally: &mut Tally) -> Result<(), Box<Failure>> {
        let mut position = Position::default();
        let limit = self.cuts_per_life.min(self.cuts - tally.cuts);
        let mut stack = String::new();
        // A broken law of flash panics: that is a failure of this seed like any other.
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let mut life = Life::begin(self, seed)?;
            stack = life.stack().to_string();
            life.run(limit, &mut position, tally)
        }));
        let what = match ended {
            Ok(Ok(ending)) => {
                tally.lives += 1;
                tally.worn_out += u64::from(ending == Ending::WornOut);
                return Ok(());
            }
            Ok(Err(what)) => what,
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
                format!("panic: {}", text.unwrap_or_default())
            }
        };
        Err(Box::new(Failure {
            seed,
            position,
            what,
            stack,
            faults: self.faults,
            layers: self.layers,
            kills: self.kills,
        }))
    }
}

/// Seed of life number `number` of the campaign with `seed`.
pub(crate) fn life_stream(seed: u64, name: &str) -> Stream {
    Stream::new(seed, name)
}

/// Where in a life something happened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Position {
    /// Events since the life began.
    pub event: u64,
    /// Times life has gone on after a cut.
    pub restarts: u64,
    /// Simulated time since the last of them, ns.
    pub time: u64,
}

/// The counts of a campaign so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Cuts made, recovered, read back and checked.
    pub cuts: u64,
    /// Cuts after which life really went on.
    pub restarts: u64,
    /// Restarts after which life went on from the file of a killed program.
    pub kills: u64,
    /// Cuts read back by real requests too.
    pub read_through: u64,
    pub lives: u64,
    /// Lives ended because too many blocks had failed.
    pub worn_out: u64,
    pub requests: u64,
    /// Erases at the end of each life, summed.
    pub erases: u64,
}

/// A failure, and how to see it again.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Seed of the life.
    pub seed: u64,
    /// Where in the life the law was broken.
    pub position: Position,
    pub what: String,
    pub stack: String,
    faults: Faults,
    layers: Layers,
    kills: bool,
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { event, restarts, time } = self.position;
        let faults = match self.faults {
            Faults::None => "",
            Faults::Rare => " --faults",
            Faults::Deaths => " --deaths",
        };
        let mapping = self.layers.mapping.map_or(String::new(), |name| format!(" --ftl {name}"));
        let buffer = self.layers.buffer.map_or(String::new(), |name| format!(" --buffer {name}"));
        let stripe = self.layers.stripe.map_or(String::new(), |name| format!(" --stripe {name}"));
        let forgetful = if self.layers.forgetful { " --forgetful" } else { "" };
        let cached = if self.layers.cached { " --cached" } else { "" };
        let kills = if self.kills { " --kills" } else { "" };
        write!(
            formatter,
            "seed {}, event {event}, {time} ns after restart {restarts}: {}\n  drive: {}\n  replay: \
             cargo run --profile test -p nandarium-testkit --bin crash -- --life {}{faults}{mapping}{buffer}{stripe}\
             {forgetful}{cached}{kills}",
            self.seed, self.what, self.stack, self.seed
        )
    }
}

impl std::error::Error for Failure {}
