//! The contents of a parity page: the covered pages, and their sum.

use super::grid::{Grid, Position};
use super::stripes::Member;
use nand::{Contents, Payloads};
use units::{Lpn, Ppn};

/// How a parity begins, to tell it from a tombstone.
const MARK: u8 = 1;
const MEMBER_BYTES: usize = 16;

/// A page that a parity covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CoveredPage {
    pub page: Ppn,
    pub logical: Lpn,
    pub sequence: u64,
}

/// The record of a parity page about its stripe.
pub(super) struct ParityRecord<'a> {
    pub pages: Vec<CoveredPage>,
    pub cells: &'a [u8],
}

impl<'a> ParityRecord<'a> {
    /// The record that `page` holds; nothing if the page is not a parity.
    pub fn read(grid: &Grid, contents: &'a Contents, page: Ppn) -> Option<Self> {
        let (&[MARK, count], rest) = contents.record(page.0)?.split_first_chunk()? else { return None };
        let (pages, cells) = rest.split_at_checked(usize::from(count) * MEMBER_BYTES)?;
        let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
        let long = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        let pages = pages.chunks_exact(MEMBER_BYTES).map(|page| CoveredPage {
            page: grid.page(Position(word(&page[..4]))),
            logical: Lpn(word(&page[4..8])),
            sequence: long(&page[8..]),
        });
        Some(Self { pages: pages.collect(), cells })
    }
}

/// Writes the record of the parity of these pages, which are in memory.
pub(super) fn encode(grid: &Grid, payloads: &Payloads, members: &[Member]) -> Box<[u8]> {
    let mut sum = vec![0; payloads.cells(members[0].content.cells).len()];
    let mut record = vec![MARK, members.len() as u8];
    for Member { page, content, .. } in members {
        let logical = content.logical.expect("a parity covers data");
        record.extend(grid.position(*page).0.to_le_bytes());
        record.extend(logical.0.to_le_bytes());
        record.extend(content.sequence.to_le_bytes());
        add(payloads.cells(content.cells), &mut sum);
    }
    record.extend(sum);
    record.into()
}

/// Adds a page to a parity.
pub(super) fn add(from: &[u8], into: &mut [u8]) {
    into.iter_mut().zip(from).for_each(|(into, from)| *into ^= from);
}
