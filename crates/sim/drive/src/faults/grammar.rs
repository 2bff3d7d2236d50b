//! Faults in words: one table and one parser for every way in.

use super::{Effect, Fault, HostFault, Selection};
use std::str::{FromStr, SplitWhitespace};
use units::{HostOp, Nanos, SECTOR_BYTES, quantity};

/// A kind of fault as it is written.
#[derive(Clone, Copy, Debug)]
pub struct FaultKind {
    /// The first word of the fault.
    pub name: &'static str,
    /// How it is written; clauses are in [`CLAUSES`].
    pub form: &'static str,
    /// Its effect, in a sentence.
    pub doc: &'static str,
    /// One that can be given.
    pub example: &'static str,
    takes: Takes,
}

/// The words behind the name of a fault.
#[derive(Clone, Copy, Debug)]
enum Takes {
    Nothing,
    Number(fn(u32) -> Fault),
    Chance(fn(f64) -> Fault),
    /// A time or a factor, if the effect has one, then clauses: the operations that may be named, and those that are
    /// meant where none is.
    Requests(Value, &'static [HostOp], &'static [HostOp]),
}

#[derive(Clone, Copy, Debug)]
enum Value {
    Time(fn(Nanos) -> Effect),
    Factor(fn(f64) -> Effect),
    None(Effect),
}

const ALL: &[HostOp] = &HostOp::ALL;
const READS: &[HostOp] = &[HostOp::Read];
const WRITES: &[HostOp] = &[HostOp::Write];
const DATA: &[HostOp] = &[HostOp::Read, HostOp::Write];
const CHANGES: &[HostOp] = &[HostOp::Write, HostOp::Trim, HostOp::Flush];

/// Operations by their names in a fault.
pub(super) const OPERATIONS: [(&str, HostOp); 4] =
    [("reads", HostOp::Read), ("writes", HostOp::Write), ("trims", HostOp::Trim), ("flushes", HostOp::Flush)];

/// All kinds of faults.
pub const FAULTS: [FaultKind; 19] = [
    FaultKind {
        name: "die",
        form: "die N",
        doc: "The die does not answer any more.",
        example: "die 3",
        takes: Takes::Number(Fault::Die),
    },
    FaultKind {
        name: "channel",
        form: "channel N",
        doc: "No die of the channel answers any more.",
        example: "channel 0",
        takes: Takes::Number(Fault::Channel),
    },
    FaultKind {
        name: "block",
        form: "block N",
        doc: "The pages of the block cannot be corrected.",
        example: "block 17",
        takes: Takes::Number(Fault::Block),
    },
    FaultKind {
        name: "reads",
        form: "reads P%",
        doc: "From now on a page that is programmed cannot be read later, with this chance.",
        example: "reads 0.1%",
        takes: Takes::Chance(Fault::Reads),
    },
    FaultKind {
        name: "programs",
        form: "programs P%",
        doc: "From now on a program fails with this chance, and its block is given up.",
        example: "programs 1%",
        takes: Takes::Chance(Fault::Programs),
    },
    FaultKind {
        name: "erases",
        form: "erases P%",
        doc: "From now on an erase fails with this chance, and its block is given up.",
        example: "erases 5%",
        takes: Takes::Chance(Fault::Erases),
    },
    FaultKind {
        name: "stall",
        form: "stall TIME [REQUESTS] [CLAUSES]",
        doc: "No answer comes for this time. The drive works meanwhile.",
        example: "stall 200ms writes every 2s",
        takes: Takes::Requests(Value::Time(Effect::Stall), ALL, ALL),
    },
    FaultKind {
        name: "slow",
        form: "slow xN [REQUESTS] [CLAUSES]",
        doc: "Requests take N times as long.",
        example: "slow x10 for 30s",
        takes: Takes::Requests(Value::Factor(Effect::Slow), ALL, ALL),
    },
    FaultKind {
        name: "fail",
        form: "fail [REQUESTS] [CLAUSES]",
        doc: "Requests fail with EIO and change nothing.",
        example: "fail flushes count 1",
        takes: Takes::Requests(Value::None(Effect::Fail), ALL, ALL),
    },
    FaultKind {
        name: "full",
        form: "full [CLAUSES]",
        doc: "Writes are refused with ENOSPC.",
        example: "full for 10s",
        takes: Takes::Requests(Value::None(Effect::Full), WRITES, WRITES),
    },
    FaultKind {
        name: "flip",
        form: "flip [reads|writes] [CLAUSES]",
        doc: "One bit of the data is flipped: of writes before the drive stores it, of reads in the answer alone.",
        example: "flip writes in 0..1MiB share 1%",
        takes: Takes::Requests(Value::None(Effect::Flip), DATA, WRITES),
    },
    FaultKind {
        name: "misdirect",
        form: "misdirect [reads|writes] [CLAUSES]",
        doc: "The drive reads or writes another place, in the range of the fault if that has room. \
              The right place keeps its data.",
        example: "misdirect writes in 0..1MiB count 1",
        takes: Takes::Requests(Value::None(Effect::Misdirect), DATA, WRITES),
    },
    FaultKind {
        name: "lose",
        form: "lose [writes|trims|flushes] [CLAUSES]",
        doc: "Requests are answered, and nothing is done.",
        example: "lose writes share 0.1%",
        takes: Takes::Requests(Value::None(Effect::Lose), CHANGES, WRITES),
    },
    FaultKind {
        name: "stale",
        form: "stale [CLAUSES]",
        doc: concat!(
            "A read brings the data before the last write or trim, of sectors changed since the fault was given. The \
             fault keeps older data of at most ",
            most_older_mib!(),
            " MiB, and leaves further sectors alone."
        ),
        example: "stale in 0..1MiB share 10%",
        takes: Takes::Requests(Value::None(Effect::Stale), READS, READS),
    },
    FaultKind {
        name: "cut-unreadable",
        form: "cut-unreadable [CLAUSES]",
        doc: "After a power cut, sectors written since the fault was given and not flushed fail with EIO until they \
              are written again.",
        example: "cut-unreadable share 20%",
        takes: Takes::Requests(Value::None(Effect::CutUnreadable), WRITES, WRITES),
    },
    FaultKind {
        name: "cut-zeros",
        form: "cut-zeros [CLAUSES]",
        doc: "After a power cut, sectors written since the fault was given and not flushed read as zeros until they \
              are written again.",
        example: "cut-zeros share 20%",
        takes: Takes::Requests(Value::None(Effect::CutZeros), WRITES, WRITES),
    },
    FaultKind {
        name: "cut-garbage",
        form: "cut-garbage [CLAUSES]",
        doc: "After a power cut, sectors written since the fault was given and not flushed hold random bytes until \
              they are written again.",
        example: "cut-garbage share 20%",
        takes: Takes::Requests(Value::None(Effect::CutGarbage), WRITES, WRITES),
    },
    FaultKind {
        name: "cut-old",
        form: "cut-old [CLAUSES]",
        doc: concat!(
            "After a power cut, sectors written since the fault was given and not flushed hold the bytes before their \
             last write or trim. The fault keeps older data of at most ",
            most_older_mib!(),
            " MiB, and leaves further sectors alone."
        ),
        example: "cut-old share 20% unit 1MiB",
        takes: Takes::Requests(Value::None(Effect::CutOld), WRITES, WRITES),
    },
    FaultKind {
        name: "off",
        form: "off",
        doc: "Ends all faults of requests and of power cuts, and sets the chances to 0%. Broken parts stay broken.",
        example: "off",
        takes: Takes::Nothing,
    },
];

/// What may follow the name of a fault of requests, in any order, each with its meaning.
pub const CLAUSES: [(&str, &str); 11] = [
    ("reads writes trims flushes", "The requests that are hit. Several may be named."),
    ("in FROM..END", "Only requests with a sector in these bytes, for example `in 4KiB..1MiB` or `in 1GiB..`."),
    ("share P%", "Each of these requests with this chance."),
    ("count N", "The fault ends after N requests."),
    ("for TIME", "The fault ends after this time."),
    ("every TIME", "The fault begins again after this time, with `stall` or with `for`."),
    ("unit SIZE", "After a power cut, sectors of an aligned unit of this size are damaged as one."),
    (
        "block",
        "A power cut damages as one all sectors whose newest versions are in the same erase block. It spares trimmed \
         sectors and sectors in a buffer.",
    ),
    ("flushed", "A power cut damages flushed sectors as well, as a drive does that lies about flushes."),
    ("die N", "With `stall` and `slow`: all commands of this die, in place of requests."),
    ("seed N", "The seed of chances, bits and places. The default is the number of the fault."),
];

/// The row of an effect.
pub(super) fn row_of(effect: Effect) -> &'static FaultKind {
    let is_same = |made: Effect| std::mem::discriminant(&made) == std::mem::discriminant(&effect);
    let is_row = |row: &&FaultKind| match row.takes {
        Takes::Requests(Value::Time(make), ..) => is_same(make(0)),
        Takes::Requests(Value::Factor(make), ..) => is_same(make(1.0)),
        Takes::Requests(Value::None(own), ..) => is_same(own),
        _ => false,
    };
    FAULTS.iter().find(is_row).expect("each effect has a row")
}

impl FaultKind {
    /// Operations that are meant where none is named.
    pub(super) fn usual_ops(&self) -> u8 {
        if let Takes::Requests(.., usual) = self.takes { Selection::of(usual).ops } else { 0 }
    }

    fn refuse(&self, problem: &str) -> String {
        format!("{problem}; write `{}`, for example `{}`", self.form, self.example)
    }
}

impl Fault {
    /// The first word of its text.
    pub(super) fn name(self) -> &'static str {
        let text = self.to_string();
        let row = FAULTS.iter().find(|row| text.split(' ').next() == Some(row.name));
        row.expect("each fault begins with its name").name
    }
}

impl FromStr for Fault {
    type Err = String;

    /// Errors: what is wrong, and how the fault is written.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or_default();
        let Some(row) = FAULTS.iter().find(|row| row.name == name) else {
            let names: Vec<&str> = FAULTS.iter().map(|row| row.name).collect();
            return Err(format!("`{name}` is not a kind of fault; there are: {}", names.join(", ")));
        };
        read(row, &mut words)
            .and_then(|fault| match words.next() {
                Some(word) => Err(format!("`{word}` is one word too many")),
                None => Ok(fault),
            })
            .map_err(|problem| row.refuse(&problem))
    }
}

fn read(row: &FaultKind, words: &mut SplitWhitespace<'_>) -> Result<Fault, String> {
    match row.takes {
        Takes::Nothing => Ok(Fault::Off),
        Takes::Number(make) => next(words, "the number")
            .and_then(|word| word.parse().map(make).map_err(|_| format!("`{word}` is not a number of a {}", row.name))),
        // A space before the per cent sign is allowed.
        Takes::Chance(make) => {
            let rest = words.collect::<Vec<_>>().concat();
            share(&rest).map(make)
        }
        Takes::Requests(value, may, usual) => {
            let effect = match value {
                Value::Time(make) => time(next(words, "the time")?).map(make)?,
                Value::Factor(make) => factor(next(words, "the factor")?).map(make)?,
                Value::None(effect) => effect,
            };
            let on = selection(words, may, usual)?;
            check(effect, &on).map(|()| Fault::Host(HostFault { effect, on }))
        }
    }
}

fn next<'a>(words: &mut SplitWhitespace<'a>, what: &str) -> Result<&'a str, String> {
    words.next().ok_or_else(|| format!("{what} is missing"))
}

fn share(text: &str) -> Result<f64, String> {
    let share = quantity::parse_share(text).ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("`{text}` is not a chance from 0% to 100%"))
}

fn time(text: &str) -> Result<Nanos, String> {
    let time = quantity::parse_duration(text).map_err(|error| error.to_string())?;
    if time == 0 { Err(format!("`{text}` is no time at all")) } else { Ok(time) }
}

fn factor(text: &str) -> Result<f64, String> {
    let factor = text.strip_prefix('x').and_then(|digits| digits.parse::<f64>().ok());
    let factor = factor.filter(|factor| (1.0..=1e6).contains(factor));
    factor.ok_or_else(|| format!("`{text}` is not a factor from x1 to x1000000"))
}

fn count(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is not a whole number"))
}

fn die(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number of a die"))
}

/// A size in sectors.
fn unit(text: &str) -> Result<u64, String> {
    let bytes = quantity::parse_size(text).map_err(|error| error.to_string())?;
    let is_whole = bytes > 0 && bytes.is_multiple_of(SECTOR_BYTES);
    is_whole.then_some(bytes / SECTOR_BYTES).ok_or_else(|| format!("`{text}` is not a multiple of 512 bytes"))
}

/// A range of bytes as sectors.
fn range(text: &str) -> Result<(u64, u64), String> {
    let refused = || format!("`{text}` is not a range of bytes from a multiple of 512 to a larger one");
    let (from, end) = text.split_once("..").ok_or_else(refused)?;
    let bound = |text: &str, open: u64| match text {
        "" => Ok(open),
        "0" => Ok(0),
        text => quantity::parse_size(text).map_err(|error| error.to_string()),
    };
    let (from, end) = (bound(from, 0)?, bound(end, u64::MAX)?);
    let is_whole = from.is_multiple_of(SECTOR_BYTES) && (end == u64::MAX || end.is_multiple_of(SECTOR_BYTES));
    if from >= end || !is_whole {
        return Err(refused());
    }
    Ok((from / SECTOR_BYTES, if end == u64::MAX { end } else { end / SECTOR_BYTES }))
}

fn selection(words: &mut SplitWhitespace<'_>, may: &[HostOp], usual: &[HostOp]) -> Result<Selection, String> {
    let mut on = Selection { ops: 0, ..Selection::of(&[]) };
    let mut seen = Vec::new();
    while let Some(word) = words.next() {
        if let Some((_, op)) = OPERATIONS.iter().find(|(name, _)| *name == word) {
            if !may.contains(op) {
                return Err(format!("{word} cannot have this fault"));
            }
            if on.has(*op) {
                return Err(format!("`{word}` is given twice"));
            }
            on.ops |= 1 << op.index();
            continue;
        }
        if seen.contains(&word) {
            return Err(format!("`{word}` is given twice"));
        }
        seen.push(word);
        match word {
            "in" => on.sectors = range(next(words, "the range")?)?,
            "share" => on.share = share(next(words, "the chance")?)?,
            "count" => on.count = Some(count(next(words, "the number of requests")?)?),
            "for" => on.lasts = Some(time(next(words, "the time")?)?),
            "every" => on.every = Some(time(next(words, "the time")?)?),
            "unit" => on.unit = unit(next(words, "the size")?)?,
            "die" => on.die = Some(die(next(words, "the number of the die")?)?),
            "block" => on.block = true,
            "flushed" => on.flushed = true,
            "seed" => on.seed = Some(count(next(words, "the seed")?)?),
            word => {
                let clauses: Vec<&str> = CLAUSES.iter().map(|(form, _)| *form).collect();
                return Err(format!("`{word}` is not one of: {}", clauses.join(", ")));
            }
        }
    }
    if on.ops == 0 {
        on.ops = Selection::of(usual).ops;
    }
    Ok(on)
}

/// All commands of a die.
fn of_die(die: Option<u32>) -> Selection {
    Selection { die, ..Selection::of(ALL) }
}

/// Clauses that do not go together.
fn check(effect: Effect, on: &Selection) -> Result<(), String> {
    let lasts = HostFault { effect, on: *on }.window(0).lasts;
    let problem = match () {
        () if on.count == Some(0) => "a fault of no requests does nothing: leave out `count 0`, or count from 1",
        () if matches!(effect, Effect::Stall(_)) && on.lasts.is_some() => "a stall ends by itself: leave out `for`",
        () if effect.is_of_cuts() && (on.lasts, on.every, on.count) != (None, None, None) => {
            "a power cut has sectors, and no time or requests: leave out `count`, `for` and `every`"
        }
        () if on.die.is_some() && !matches!(effect, Effect::Stall(_) | Effect::Slow(_)) => {
            "`die` belongs to `stall` and `slow`: leave it out"
        }
        () if on.die.is_some() && *on != (Selection { lasts: on.lasts, every: on.every, ..of_die(on.die) }) => {
            "a die has commands, and no requests: leave out operations, `in`, `share`, `count` and `seed`"
        }
        () if !effect.is_of_cuts() && on.flushed => "`flushed` belongs to power cuts: leave it out",
        () if !effect.is_of_cuts() && on.unit > 1 => "`unit` belongs to power cuts: leave it out",
        () if on.block && !effect.is_of_cuts() => "`block` belongs to power cuts: leave it out",
        () if on.block && on.unit > 1 => "`block` and `unit` say what is damaged as one: leave out one of them",
        () if on.every.is_some() && lasts.is_none() => "`every` needs `for`",
        () if on.every.zip(lasts).is_some_and(|(every, lasts)| every <= lasts) => {
            "`every` has to be longer than the fault lasts"
        }
        () if on.ops == Selection::of(&[HostOp::Flush]).ops && on.sectors != super::EVERYWHERE => {
            "a flush has no bytes: leave out `in`"
        }
        () => return Ok(()),
    };
    Err(problem.to_owned())
}
