//! Layout of the file of a drive, and the contents of a head.

use nand::{KeptBlock, Oob, PageKind};
use units::Geometry;

/// Bytes of the description and of all before it.
pub const TABLE: u64 = 64 << 10;
/// Bytes of a block's record.
pub const ROW: usize = 16;
/// Bytes of a head.
pub const HEAD: usize = 40;
/// From a second head to the next: none lies across pages of the operating system's memory, between which the
/// end of a program may cut a write.
pub const STEP: usize = 64;
/// Between parts of the file, so that damage to a range does not reach both copies of anything.
const GAP: u64 = 64 << 10;
/// Set in the length of a head whose page holds a record.
const RECORD: u32 = 1 << 31;

pub fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

pub fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// The beginning of every checksum of a file, so that data written for another place or another file counts as damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sums {
    /// The identity of the file; nothing where the file is of the version that had none.
    id: Option<u64>,
}

/// What a checksum is about.
#[derive(Clone, Copy)]
enum About {
    Row,
    Head,
    Body,
}

impl Sums {
    /// Of a file with this identity.
    pub fn new(id: u64) -> Self {
        Self { id: Some(id) }
    }

    /// Of a file of version 3, whose checksums say nothing of places.
    pub fn without_places() -> Self {
        Self { id: None }
    }

    /// The identity of the file.
    pub fn id(self) -> Option<u64> {
        self.id
    }

    fn of(self, about: About, number: u32, bytes: &[u8]) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        if let Some(id) = self.id {
            hasher.update(&id.to_le_bytes());
            hasher.update(&[about as u8]);
            hasher.update(&number.to_le_bytes());
        }
        hasher.update(bytes);
        hasher.finalize()
    }
}

/// Where the parts of the file begin.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    page_bytes: u64,
    pages_per_block: u64,
    heads: u64,
    pages: u64,
    seconds: u64,
    second_rows: u64,
    pub length: u64,
}

impl Places {
    pub fn new(geometry: &Geometry) -> Self {
        let after = |at: u64, bytes: u64| (at + bytes + GAP).next_multiple_of(4096);
        let (pages, page_bytes) = (u64::from(geometry.pages()), u64::from(geometry.page_bytes));
        let rows = u64::from(geometry.blocks()) * ROW as u64;
        let heads = after(TABLE, rows);
        let bodies = after(heads, pages * STEP as u64);
        let seconds = after(bodies, pages * (HEAD as u64 + page_bytes));
        let second_rows = after(seconds, pages * page_bytes);
        let pages_per_block = u64::from(geometry.pages_per_block);
        Self { page_bytes, pages_per_block, heads, pages: bodies, seconds, second_rows, length: second_rows + rows }
    }

    /// The two rows of a block.
    pub fn rows(&self, block: u32) -> [u64; 2] {
        [TABLE, self.second_rows].map(|at| at + u64::from(block) * ROW as u64)
    }

    /// Bytes of the heads of a block.
    pub fn heads_bytes(&self) -> usize {
        self.pages_per_block as usize * STEP
    }

    /// The head of a page apart from its place.
    pub fn head(&self, page: u32) -> u64 {
        self.heads + u64::from(page) * STEP as u64
    }

    /// The place of a page: its head and its body.
    pub fn place(&self, page: u32) -> u64 {
        self.pages + u64::from(page) * (HEAD as u64 + self.page_bytes)
    }

    /// The second copy of a record.
    pub fn second(&self, page: u32) -> u64 {
        self.seconds + u64::from(page) * self.page_bytes
    }
}

/// The record of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    pub kept: KeptBlock,
    /// Something was programmed or erased there; otherwise the file says nothing of the block.
    pub touched: bool,
}

impl Row {
    /// As the file has it of this block.
    pub fn bytes(self, sums: Sums, block: u32) -> [u8; ROW] {
        let mut bytes = [0; ROW];
        if self.touched {
            bytes[..4].copy_from_slice(&self.kept.erases.to_le_bytes());
            bytes[4] = u8::from(self.kept.is_bad);
            bytes[5] = 1;
            bytes[6] = u8::from(self.kept.is_slc);
            bytes[8..12].copy_from_slice(&self.kept.slc_erases.to_le_bytes());
            let sum = sums.of(About::Row, block, &bytes[..12]);
            bytes[12..].copy_from_slice(&sum.to_le_bytes());
        }
        bytes
    }

    /// Nothing if it is damaged.
    pub fn read(sums: Sums, block: u32, bytes: &[u8]) -> Option<Self> {
        if bytes.iter().all(|byte| *byte == 0) {
            return Some(Self::default());
        }
        let is_sound = sums.of(About::Row, block, &bytes[..12]) == word(bytes, 12);
        let kept = KeptBlock {
            erases: word(bytes, 0),
            slc_erases: word(bytes, 8),
            is_slc: bytes[6] != 0,
            is_bad: bytes[4] != 0,
        };
        is_sound.then_some(Self { kept, touched: true })
    }
}

/// The record of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub kind: u8,
    pub logical: u32,
    pub sequence: u64,
    /// Number of the write among all of the file.
    pub turn: u64,
    /// Erases of its block when it was programmed.
    pub erases: u32,
    length: u32,
    sum: u32,
}

impl Head {
    pub fn new(sums: Sums, page: u32, (oob, turn, erases): (Oob, u64, u32), body: &[u8], is_record: bool) -> Self {
        let length = body.len() as u32 | if is_record { RECORD } else { 0 };
        Self {
            kind: oob.kind as u8,
            logical: oob.logical,
            sequence: oob.sequence,
            turn,
            erases,
            length,
            sum: sums.of(About::Body, page, body),
        }
    }

    /// As the file has it of this page.
    pub fn bytes(&self, sums: Sums, page: u32) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        bytes[0] = self.kind;
        bytes[4..8].copy_from_slice(&self.logical.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.turn.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.erases.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.length.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.sum.to_le_bytes());
        let sum = sums.of(About::Head, page, &bytes[..36]);
        bytes[36..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Nothing if it was never written, is damaged, or belongs to another page or file.
    pub fn read(sums: Sums, page: u32, bytes: &[u8]) -> Option<Self> {
        if sums.of(About::Head, page, &bytes[..36]) != word(bytes, 36) {
            return None;
        }
        let (kind, logical, sequence, turn) = (bytes[0], word(bytes, 4), long(bytes, 8), long(bytes, 16));
        Some(Self {
            kind,
            logical,
            sequence,
            turn,
            erases: word(bytes, 24),
            length: word(bytes, 28),
            sum: word(bytes, 32),
        })
    }

    /// The same of a page that is of another kind now.
    pub fn of(&self, kind: PageKind) -> Self {
        Self { kind: kind as u8, ..*self }
    }

    pub fn is_record(&self) -> bool {
        self.length & RECORD != 0
    }

    /// Whether its page was programmed without bytes: it reads as zeros.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The page's own bytes among the bytes found, if they are what was written.
    pub fn body<'a>(&self, sums: Sums, page: u32, found: &'a [u8]) -> Option<&'a [u8]> {
        let body = found.get(..(self.length & !RECORD) as usize)?;
        (sums.of(About::Body, page, body) == self.sum).then_some(body)
    }
}
