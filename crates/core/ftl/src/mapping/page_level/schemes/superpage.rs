//! `superpage`: chips work in lockstep, and their pages are mapped together.
//!
//! Faithful to: a drive that keeps one map entry for a page of every chip of a group. A write that is smaller, or
//! that does not begin at a superpage, reads the missing pages and programs the whole. Blocks of the group are erased
//! and collected together.
//! Simplified: the group is one chip with larger pages and a wider bus, so that every read keeps all its chips busy;
//! otherwise see [`page_level`].
//! Protects: counters count pages of single chips.

use super::page::Page;
use crate::mapping::{Mapping, page_level};
use layer::{Parameter, ParameterKind, Values};
use units::quantity::format_size;

const NAME: &str = "superpage";
const CHANNELS: &str = "ftl.superpage.channels";
const WAYS: &str = "ftl.superpage.ways";

/// The line for the table of mappings.
pub(in crate::mapping) fn mapping() -> Mapping {
    let doc = "chips work in lockstep, and a map entry stands for one page of each chip: a small write reads, changes \
               and programs all of them";
    let when = "Use it for a drive with little memory that gets large, aligned writes. The map shrinks by the number \
                of chips, but a small write reads and programs a page of every chip.";
    page_level::mapping::<Page>(NAME, doc, when, || {
        let mut parameters = page_level::common();
        parameters.push(Parameter::new(
            CHANNELS,
            ParameterKind::Count { min: 0, max: 64 },
            "0",
            "Channels whose chips work as one; a divisor of flash.channels. 0: all channels.",
        ));
        parameters.push(Parameter::new(
            WAYS,
            ParameterKind::Count { min: 1, max: 64 },
            "1",
            "Chips behind each channel that work as one; a divisor of flash.dies_per_channel.",
        ));
        parameters
    })
}

/// Chips that act as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lockstep {
    /// Channels side by side.
    pub channels: u64,
    /// Chips of each.
    pub ways: u64,
}

impl Lockstep {
    /// Each chip by itself.
    pub const NONE: Self = Self { channels: 1, ways: 1 };

    /// Chips of a group, 1 and up.
    pub fn chips(self) -> u64 {
        self.channels * self.ways
    }

    /// The groups that the values of a drive ask for.
    /// 1. The channels and ways of a group divide the channels and ways of the drive.
    /// 2. A superpage has a power of two of pages, and no more sectors than a mask has bits.
    ///
    /// # Errors
    /// In words, where groups do not divide the drive or superpages are too large.
    pub fn of(values: &Values) -> Result<Self, String> {
        if values.name(crate::mapping::KEY) != NAME {
            return Ok(Self::NONE);
        }
        let [all, dies, page] =
            ["flash.channels", "flash.dies_per_channel", "flash.page_size"].map(|key| values.whole(key));
        let channels = if values.whole(CHANNELS) == 0 { all } else { values.whole(CHANNELS) };
        let group = Self { channels, ways: values.whole(WAYS) };
        for (key, part, of, whole) in
            [(CHANNELS, channels, "flash.channels", all), (WAYS, group.ways, "flash.dies_per_channel", dies)]
        {
            if !whole.is_multiple_of(part) {
                return Err(format!(
                    "{key} is {part}, which does not divide {of} = {whole}; use a number that does, such as 1"
                ));
            }
        }
        if !group.chips().is_power_of_two() {
            return Err(format!(
                "a superpage of {} chips has no power of two of pages; set {CHANNELS} and {WAYS} to powers of two",
                group.chips()
            ));
        }
        let most = units::SECTOR_BYTES * 64;
        if page * group.chips() > most {
            return Err(format!(
                "a superpage of {} pages of {} (flash.page_size) has more than {}; lower {CHANNELS}, {WAYS} or \
                 flash.page_size",
                group.chips(),
                format_size(page),
                format_size(most)
            ));
        }
        Ok(group)
    }
}
