//! Wrong data that a drive has beside what a cut leaves: one fault a state.

use crate::drive_image::Version;
use crate::lies::Lie;
use crate::states::{States, sectors};
use engine::random::Stream;
use serve::OrderKind;
use std::collections::HashMap;
use std::fmt::{Display, Formatter, Result as Written};
use units::SECTOR_BYTES;

/// Wrong data of a drive that broke a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WrongData {
    /// The write with this number was answered, and was not done.
    Lost(usize),
    /// The write with this number went to another place.
    Misdirected {
        /// The number of the write.
        request: usize,
        /// The first sector of the place where it went.
        to: u64,
    },
    /// A bit of a sector is flipped.
    Flipped {
        /// The number of the sector.
        sector: u64,
        /// The bit, from the lowest bit of the first byte.
        bit: u16,
    },
    /// The sector with this number cannot be read.
    Unreadable(u64),
}

impl Display for WrongData {
    fn fmt(&self, f: &mut Formatter<'_>) -> Written {
        match self {
            Self::Lost(request) => write!(f, "request {request} was answered and not done"),
            Self::Misdirected { request, to } => write!(f, "request {request} went to sector {to}"),
            Self::Flipped { sector, bit } => write!(f, "bit {bit} of sector {sector} is flipped"),
            Self::Unreadable(sector) => write!(f, "sector {sector} cannot be read"),
        }
    }
}

impl States<'_> {
    /// Wrong data for a state at a step: in half of the states, where a lie asks for it.
    pub(crate) fn drawn_wrong(&self, step: usize, stream: &mut Stream) -> Option<WrongData> {
        let lies: Vec<Lie> = self.lies.of_data().collect();
        if lies.is_empty() || stream.chance(0.5) {
            return None;
        }
        let lie = lies[stream.below(lies.len() as u64) as usize];
        let mut write = || {
            let number = stream.below(self.asked_by(step).max(1) as u64) as usize;
            let is_write = self.recording.requests.get(number).is_some_and(|one| one.order.kind == OrderKind::Write);
            is_write.then_some(number)
        };
        match lie {
            Lie::LostWrite => write().map(WrongData::Lost),
            Lie::MisdirectedWrite => {
                let (request, other) = (write()?, write()?);
                let length = sectors(self.recording, request).count() as u64;
                let to = sectors(self.recording, other).start;
                let all = self.recording.before.len() as u64 / SECTOR_BYTES;
                let is_elsewhere = to != sectors(self.recording, request).start && to + length <= all;
                is_elsewhere.then_some(WrongData::Misdirected { request, to })
            }
            Lie::FlippedBit => {
                let sector = self.drawn_sector(step, stream)?;
                Some(WrongData::Flipped { sector, bit: stream.below(SECTOR_BYTES * 8) as u16 })
            }
            _ => self.drawn_sector(step, stream).map(WrongData::Unreadable),
        }
    }

    /// Puts wrong data over the contents of a state: all requests before `floor`, and `over`.
    pub(crate) fn lay_over(&self, wrong: WrongData, floor: usize, over: &mut HashMap<u64, Version>) {
        let now = |over: &HashMap<u64, Version>, sector: u64| {
            over.get(&sector).cloned().unwrap_or_else(|| self.version_below(sector, floor))
        };
        let undo = |request: usize, over: &mut HashMap<u64, Version>| {
            for sector in sectors(self.recording, request) {
                if now(over, sector) == Version::Of(request) {
                    over.insert(sector, self.version_below(sector, request));
                }
            }
        };
        match wrong {
            WrongData::Lost(request) => undo(request, over),
            WrongData::Misdirected { request, to } => {
                let there = sectors(self.recording, request).any(|sector| now(over, sector) == Version::Of(request));
                undo(request, over);
                for (part, sector) in sectors(self.recording, request).enumerate().filter(|_| there) {
                    let bytes = self.bytes_of(request, sector);
                    over.insert(to + part as u64, Version::Mixed(bytes.into()));
                }
            }
            WrongData::Flipped { sector, bit } => {
                let mut bytes: Box<[u8]> = now(over, sector).bytes(self, sector).into();
                bytes[usize::from(bit / 8)] ^= 1 << (bit % 8);
                over.insert(sector, Version::Mixed(bytes));
            }
            WrongData::Unreadable(sector) => drop(over.insert(sector, Version::Unreadable)),
        }
    }
}
