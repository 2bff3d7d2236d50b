//! Faults that a test lets happen: in flash, and on the way between the host and the drive.

mod cuts;
#[macro_use]
mod older;
mod grammar;
mod injector;
mod log;

pub use grammar::{CLAUSES, FAULTS, FaultKind};
pub use injector::ActiveFault;
pub(crate) use injector::{Faults, OF_FAULTS, Sent};
pub use log::Injected;
pub use older::MOST_OLDER_BYTES;

use nand::Window;
use std::fmt::{Display, Formatter, Result as Written};
use units::{HostOp, Nanos, SECTOR_BYTES, quantity};

/// Something that breaks now, or may break from now on. [`FAULTS`] has the form of each in words.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fault {
    /// A die answers nothing any more.
    Die(u32),
    /// All dies behind a channel.
    Channel(u32),
    /// Every page of an erase block turns out to be uncorrectable.
    Block(u32),
    /// From now on a programmed page turns out uncorrectable with this chance, 0 to 1.
    Reads(f64),
    /// From now on a program fails with this chance, and its block is given up.
    Programs(f64),
    /// From now on an erase fails with this chance, and its block is given up.
    Erases(f64),
    /// From now on requests of the host are treated wrongly.
    Host(HostFault),
    /// No request is treated wrongly any more, and all chances are 0.
    Off,
}

/// A fault on the way between the host and the drive: its effect, and the requests that it hits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostFault {
    /// The effect on a request.
    pub effect: Effect,
    /// The requests that are hit.
    pub on: Selection,
}

/// The effect of a fault on a request of the host.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Effect {
    /// Answers wait until so much time is over, ns.
    Stall(Nanos),
    /// Requests take so many times as long.
    Slow(f64),
    /// The request fails, and changes nothing.
    Fail,
    /// The request is refused for lack of room.
    Full,
    /// One bit of the data is the other one.
    Flip,
    /// The request goes to another place.
    Misdirect,
    /// The request is answered, and nothing is done.
    Lose,
    /// The read brings the data before the last write.
    Stale,
    /// After a cut, unflushed sectors cannot be read.
    CutUnreadable,
    /// After a cut, unflushed sectors are zeros.
    CutZeros,
    /// After a cut, unflushed sectors hold random bytes.
    CutGarbage,
    /// After a cut, unflushed sectors hold the bytes before the last write.
    CutOld,
}

impl HostFault {
    /// When it holds if it is given at a time.
    pub(crate) fn window(&self, since: Nanos) -> Window {
        let lasts = if let Effect::Stall(time) = self.effect { Some(time) } else { self.on.lasts };
        Window { since, lasts, every: self.on.every }
    }
}

impl Effect {
    /// Whether it shows only after a power cut.
    pub fn is_of_cuts(self) -> bool {
        matches!(self, Self::CutUnreadable | Self::CutZeros | Self::CutGarbage | Self::CutOld)
    }

    /// Whether the drive stores other data than it was given, and says nothing.
    pub fn changes_data(self) -> bool {
        matches!(self, Self::Flip | Self::Misdirect | Self::Lose)
    }
}

/// The requests that a fault hits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Selection {
    /// Operations: bit [`HostOp::index`] is set.
    pub ops: u8,
    /// Sectors, the end excluded, of which a request has at least one.
    pub sectors: (u64, u64),
    /// Chance that a request is hit, 0 to 1.
    pub share: f64,
    /// Requests after which the fault is over; `None`: it never is.
    pub count: Option<u64>,
    /// Time during which requests are hit, ns; `None`: always.
    pub lasts: Option<Nanos>,
    /// Time after which it begins again, ns; `None`: it does not.
    pub every: Option<Nanos>,
    /// Sectors of an aligned unit that a power cut damages as one.
    pub unit: u64,
    /// Seed of its draws; `None`: the number of the fault.
    pub seed: Option<u64>,
    /// The die whose commands are hit, in place of requests.
    pub die: Option<u32>,
    /// A power cut damages sectors that were flushed as well.
    pub flushed: bool,
    /// A power cut damages as one the sectors whose newest versions are in the same erase block.
    pub block: bool,
}

/// The range of all sectors of any drive.
const EVERYWHERE: (u64, u64) = (0, u64::MAX);

impl Selection {
    /// All requests of these operations.
    pub fn of(ops: &[HostOp]) -> Self {
        let ops = ops.iter().fold(0, |all, op| all | 1 << op.index());
        let (sectors, share, unit) = (EVERYWHERE, 1.0, 1);
        let (count, lasts, every, seed, die) = (None, None, None, None, None);
        Self { ops, sectors, share, count, lasts, every, unit, seed, die, flushed: false, block: false }
    }

    fn has(&self, op: HostOp) -> bool {
        self.ops >> op.index() & 1 == 1
    }

    /// The sectors of a request that are hit, from the first to the one after the last; `None`: there are none. A flush
    /// has no sectors, and is hit where all sectors are.
    fn overlap(&self, op: HostOp, first: u64, end: u64) -> Option<(u64, u64)> {
        let (from, until) = (self.sectors.0.max(first), self.sectors.1.min(end));
        let hits = if op == HostOp::Flush { self.sectors == EVERYWHERE } else { from < until };
        (self.has(op) && hits).then_some((from, until))
    }
}

/// A time as a fault is written: in the largest unit of which it is a whole number.
fn exact_time(time: Nanos) -> String {
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    let unit = units.into_iter().find(|(_, scale)| time.is_multiple_of(*scale));
    let (name, scale) = unit.unwrap_or(("ns", 1));
    format!("{}{name}", time / scale)
}

/// As it is read again.
impl Display for Fault {
    fn fmt(&self, f: &mut Formatter<'_>) -> Written {
        match self {
            Self::Die(number) => write!(f, "die {number}"),
            Self::Channel(number) => write!(f, "channel {number}"),
            Self::Block(number) => write!(f, "block {number}"),
            Self::Reads(share) => write!(f, "reads {}", quantity::format_share(*share)),
            Self::Programs(share) => write!(f, "programs {}", quantity::format_share(*share)),
            Self::Erases(share) => write!(f, "erases {}", quantity::format_share(*share)),
            Self::Host(fault) => fault.fmt(f),
            Self::Off => f.write_str("off"),
        }
    }
}

impl Display for HostFault {
    fn fmt(&self, f: &mut Formatter<'_>) -> Written {
        let row = grammar::row_of(self.effect);
        f.write_str(row.name)?;
        match self.effect {
            Effect::Stall(time) => write!(f, " {}", exact_time(time))?,
            Effect::Slow(factor) => write!(f, " x{factor}")?,
            _ => {}
        }
        let on = &self.on;
        if on.ops != row.usual_ops() {
            let mut named = grammar::OPERATIONS.iter().filter(|(_, op)| on.has(*op));
            named.try_for_each(|(name, _)| write!(f, " {name}"))?;
        }
        on.die.map_or(Ok(()), |die| write!(f, " die {die}"))?;
        if on.sectors != EVERYWHERE {
            let (first, end) = on.sectors;
            let end = if end == u64::MAX { String::new() } else { quantity::exact_size(end * SECTOR_BYTES) };
            write!(f, " in {}..{end}", quantity::exact_size(first * SECTOR_BYTES))?;
        }
        if on.share < 1.0 {
            write!(f, " share {}", quantity::format_share(on.share))?;
        }
        on.count.map_or(Ok(()), |count| write!(f, " count {count}"))?;
        on.lasts.map_or(Ok(()), |time| write!(f, " for {}", exact_time(time)))?;
        on.every.map_or(Ok(()), |time| write!(f, " every {}", exact_time(time)))?;
        if on.flushed {
            f.write_str(" flushed")?;
        }
        if on.block {
            f.write_str(" block")?;
        }
        if on.unit > 1 {
            write!(f, " unit {}", quantity::exact_size(on.unit * SECTOR_BYTES))?;
        }
        on.seed.map_or(Ok(()), |seed| write!(f, " seed {seed}"))
    }
}
