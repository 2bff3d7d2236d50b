//! Which writes are random: by the size of the request, or by how often its pages were written.
//!
//! Faithful to: the size of the whole request against a limit; counters behind several hash functions that
//! decay ("Efficient identification of hot data for flash memory storage systems", 2006); a hot list and a
//! candidate list of pages ("An adaptive striping architecture for flash memory storage systems", 2002).
//! Simplified: a piece of several pages is as hot as its first one.
//! Protects: the same answer for the same writes in the same order.

use super::Piece;
use crate::parameters::Shape;
use layer::recency::{Links, List};
use layer::{Choices, Condition, Parameter, ParameterKind, SnapshotError, SnapshotReader, SnapshotWriter, Values};
use units::Lpn;

/// Hash functions over the counters.
const HASHES: u64 = 2;
/// Counters that all pages share.
const COUNTERS: usize = 4096;
/// Value from which a page is hot: the upper half of four bits.
const HOT: u8 = 8;
/// Pages of the candidate list for each of the hot list.
const CANDIDATES: u32 = 2;

/// How random writes are told from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// The size of the request.
    Size,
    Counters,
    Lists,
}

const BY: Choices<By> = Choices {
    key: "buffer.identify",
    table: &[
        ("request-size", "by the size of the request (buffer.small_request)", By::Size),
        ("hash-counters", "by counters behind hash functions; all counters are halved from time to time", By::Counters),
        ("two-lists", "by a list of hot pages and a list of candidates", By::Lists),
    ],
};

pub(super) const PARAMETERS: [Parameter; 3] = [
    Parameter::new(
        BY.key,
        ParameterKind::Choice(|| BY.named()),
        "request-size",
        "How the buffer distinguishes random writes from other writes.",
    ),
    Parameter::new(
        "buffer.small_request",
        ParameterKind::Size { min: 512, max: 1 << 30 },
        "4KiB",
        "Bytes of the largest request that counts as a random write, and goes to the page-level part. Raise it \
         where the host makes random writes of more than 4 KiB.",
    )
    .example("8KiB")
    .only(Condition::one_of(BY.key, |_, name| BY.means(name, |by| by == By::Size))),
    Parameter::new(
        "buffer.hot_pages",
        ParameterKind::Count { min: 1, max: 1 << 20 },
        "1024",
        "Length of the list of hot pages, with buffer.identify = two-lists. With hash-counters all counters are \
         halved after four times this many page writes.",
    )
    .example("4096")
    .only(Condition::one_of(BY.key, |_, name| BY.means(name, |by| by != By::Size))),
];

/// See the module description.
#[derive(Debug)]
pub(super) enum Identify {
    Size { sectors: u32 },
    Counters { counters: Vec<u8>, writes: u32, decay: u32 },
    Lists { links: Box<Links>, hot: List, candidates: List, kind: Vec<u8>, length: u32 },
}

impl Identify {
    pub fn new(shape: &Shape, values: &Values) -> Self {
        let length = values.whole("buffer.hot_pages") as u32;
        match BY.read(values) {
            By::Counters => Self::Counters { counters: vec![0; COUNTERS], writes: 0, decay: 4 * length },
            By::Lists => Self::Lists {
                links: Box::new(Links::new(shape.user_pages as usize)),
                hot: List::default(),
                candidates: List::default(),
                kind: vec![0; shape.user_pages as usize],
                length,
            },
            By::Size => Self::Size { sectors: (values.whole("buffer.small_request") / 512) as u32 },
        }
    }

    /// Whether a piece is random; counts its pages as written.
    #[inline]
    pub fn is_random(&mut self, piece: &Piece) -> bool {
        match self {
            Self::Size { sectors } => piece.request_sectors <= *sectors,
            Self::Counters { counters, writes, decay } => {
                let is_hot = count(counters, piece.first);
                (1..piece.pages).for_each(|page| {
                    count(counters, piece.first + page);
                });
                *writes += piece.pages;
                if *writes >= *decay {
                    *writes = 0;
                    for counter in counters.iter_mut() {
                        *counter /= 2;
                    }
                }
                is_hot
            }
            Self::Lists { .. } => {
                let is_hot = self.list(piece.first);
                (1..piece.pages).for_each(|page| {
                    self.list(piece.first + page);
                });
                is_hot
            }
        }
    }

    /// Writes a page in the lists; whether it is hot.
    fn list(&mut self, Lpn(page): Lpn) -> bool {
        let Self::Lists { links, hot, candidates, kind, length } = self else { return false };
        let seen = kind[page as usize];
        match seen {
            2 => links.touch(hot, page),
            1 => {
                links.remove(candidates, page);
                links.push_front(hot, page);
                kind[page as usize] = 2;
                if hot.len() > *length
                    && let Some(cooled) = hot.tail()
                {
                    links.remove(hot, cooled);
                    links.push_front(candidates, cooled);
                    kind[cooled as usize] = 1;
                }
            }
            _ => {
                links.push_front(candidates, page);
                kind[page as usize] = 1;
            }
        }
        if candidates.len() > CANDIDATES * *length
            && let Some(forgotten) = candidates.tail()
        {
            links.remove(candidates, forgotten);
            kind[forgotten as usize] = 0;
        }
        seen > 0
    }

    /// Bytes a controller needs.
    pub fn ram_bytes(&self) -> u64 {
        match self {
            Self::Size { .. } => 0,
            Self::Counters { counters, .. } => counters.len() as u64 / 2,
            Self::Lists { hot, candidates, .. } => 12 * u64::from(hot.len() + candidates.len()),
        }
    }

    pub fn save(&self, writer: &mut SnapshotWriter) {
        let numbers: Vec<u32> = match self {
            Self::Size { .. } => Vec::new(),
            Self::Counters { counters, writes, .. } => {
                std::iter::once(*writes).chain(counters.iter().map(|counter| u32::from(*counter))).collect()
            }
            Self::Lists { links, hot, candidates, .. } => {
                let lists = links.oldest_first(hot).chain(links.oldest_first(candidates));
                std::iter::once(hot.len()).chain(lists).collect()
            }
        };
        writer.put("buffer.identify", numbers);
    }

    pub fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let numbers: Vec<u32> = reader.get("buffer.identify")?;
        let unfit = || SnapshotError::unfit("buffer.identify", "it is of another kind or size");
        match self {
            Self::Size { .. } => {}
            Self::Counters { counters, writes, .. } => {
                let (first, rest) =
                    numbers.split_first().filter(|(_, rest)| rest.len() == COUNTERS).ok_or_else(unfit)?;
                *writes = *first;
                *counters = rest.iter().map(|counter| *counter as u8).collect();
            }
            Self::Lists { links, hot, candidates, kind, .. } => {
                let (first, pages) = numbers.split_first().ok_or_else(unfit)?;
                for (index, page) in (0..).zip(pages) {
                    let (list, what) = if index < *first { (&mut *hot, 2) } else { (&mut *candidates, 1) };
                    let known = kind.get_mut(*page as usize).filter(|kind| **kind == 0).ok_or_else(unfit)?;
                    *known = what;
                    links.push_front(list, *page);
                }
            }
        }
        Ok(())
    }
}

/// Counts a page; whether all of its counters say hot.
fn count(counters: &mut [u8], page: Lpn) -> bool {
    let mut is_hot = true;
    for hash in 0..HASHES {
        let mixed = (u64::from(page.0) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(2 * hash + 1)) >> 40;
        let counter = &mut counters[mixed as usize % COUNTERS];
        *counter = (*counter + 1).min(15);
        is_hot &= *counter >= HOT;
    }
    is_hot
}
