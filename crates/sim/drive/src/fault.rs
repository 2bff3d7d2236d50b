//! Faults that a test lets happen.

use std::str::FromStr;

/// Something that breaks now, or may break from now on.
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
}

/// How a fault is written: `die 3`, `channel 0`, `block 17`, `reads 1%`, `programs 0.1%`, `erases 5%`.
impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORMS: &str = "write `die N`, `channel N`, `block N`, `reads P%`, `programs P%` or `erases P%`";
        let (kind, value) =
            text.trim().split_once(char::is_whitespace).ok_or_else(|| format!("`{text}` is not a fault; {FORMS}"))?;
        let value = value.trim();
        let number = || value.parse::<u32>().map_err(|_| format!("`{value}` is not a number of a {kind}; {FORMS}"));
        let chance = || {
            let share = value
                .strip_suffix('%')
                .and_then(|percent| percent.trim().parse::<f64>().ok())
                .map(|percent| percent / 100.0);
            share
                .filter(|share| (0.0..=1.0).contains(share))
                .ok_or_else(|| format!("`{value}` is not a chance; {FORMS}, from 0% to 100%"))
        };
        match kind {
            "die" => number().map(Self::Die),
            "channel" => number().map(Self::Channel),
            "block" => number().map(Self::Block),
            "reads" => chance().map(Self::Reads),
            "programs" => chance().map(Self::Programs),
            "erases" => chance().map(Self::Erases),
            _ => Err(format!("`{kind}` is not a kind of fault; {FORMS}")),
        }
    }
}
