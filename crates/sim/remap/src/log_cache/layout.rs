//! Where a log cache puts things, and its metadata as bytes.
//!
//! ```text
//! segment: | header: head 64 | checksum of data 4, 0s 4 | base 8 | durable 8 | entries of 8 ... | pages ... | pad |
//! entry:   first page 4, pages 4; no pages: one page, whose data are in the next slot
//! ```
//!
//! The head equals the head of all metadata: `number` is the segment's, `more` its tail, `count` the entries. Its
//! checksum covers the header up to the end of the sector that holds the last entry, so the pad and the rest of the
//! header may be anything.

use super::LogOptions;
use crate::disk::{self, HEAD_BYTES, Head, Kind};
use crate::shape::{check_count, check_sizes};
use crate::{LayoutError, Shape, Terms};
use std::ops::Range;
use units::SECTOR_BYTES;

/// Bytes of a header before its entries.
const BEFORE_ENTRIES: usize = HEAD_BYTES + 24;
const ENTRY_BYTES: usize = 8;
pub(super) const SUPERBLOCK: Kind = Kind { magic: b"LOGCsupr", version: 1 };
const SEGMENT: Kind = Kind { magic: b"LOGCsegm", version: 1 };
/// Segments at least: one is filled, one is written, one is written back, and one takes the word that it is.
const LEAST_SEGMENTS: u64 = 4;
/// Sectors of the largest segment.
const MOST_SEGMENT: u32 = 32768;

/// Where the superblock, the segments of the log and the pages of the host are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLayout {
    pub(crate) page_sectors: u32,
    pub(crate) superpage_sectors: u32,
    segment_sectors: u32,
    pub(crate) device_sectors: u64,
    segments: u32,
    pages: u32,
}

impl LogLayout {
    /// The layout for a device of `device_sectors`, 512 bytes each. A part of a page at its end is left over.
    ///
    /// # Errors
    /// An option is out of range, or the device has too few or too many sectors.
    pub fn new(options: &LogOptions, device_sectors: u64) -> Result<Self, LayoutError> {
        let LogOptions { terms: Terms { page_sectors, superpage_sectors, .. }, segment_sectors, log, .. } = *options;
        Self::check_shape(page_sectors, superpage_sectors, segment_sectors)?;
        if !(0.001..=0.5).contains(&log) {
            return Err(LayoutError::Log(log));
        }
        check_count(device_sectors, page_sectors)?;
        let mut layout =
            Self { page_sectors, superpage_sectors, segment_sectors, device_sectors, segments: 0, pages: 0 };
        let size = u64::from(segment_sectors);
        // Half of the device at most, however small it is.
        let least = 2 * LEAST_SEGMENTS * size + u64::from(superpage_sectors);
        if device_sectors < least {
            return Err(LayoutError::NoLog { sectors: device_sectors, least });
        }
        let share = (device_sectors as f64 * log) as u64 / size;
        let numbered = u64::from(u32::MAX - 1) / u64::from(layout.entries());
        layout.segments = share.max(LEAST_SEGMENTS).min(numbered) as u32;
        layout.pages = ((device_sectors - layout.home_sector()) / u64::from(page_sectors)) as u32;
        Ok(layout)
    }

    fn check_shape(page_sectors: u32, superpage_sectors: u32, segment_sectors: u32) -> Result<(), LayoutError> {
        check_sizes(page_sectors, superpage_sectors)?;
        let fits = segment_sectors.is_power_of_two() && segment_sectors <= MOST_SEGMENT;
        let fits = fits && segment_sectors >= superpage_sectors && segment_sectors >= 2 * page_sectors;
        if fits { Ok(()) } else { Err(LayoutError::Segment(segment_sectors)) }
    }

    /// Sectors of a segment.
    pub fn segment_sectors(&self) -> u32 {
        self.segment_sectors
    }

    /// Segments of the log.
    pub fn segments(&self) -> u32 {
        self.segments
    }

    /// Pages of data that a segment takes.
    pub fn slots(&self) -> u32 {
        self.segment_pages() - self.header_pages()
    }

    /// Pages of a header: as many as hold an entry for each slot.
    pub fn header_pages(&self) -> u32 {
        let bytes = BEFORE_ENTRIES + self.segment_pages() as usize * ENTRY_BYTES;
        (bytes.div_ceil(self.page_sectors as usize * SECTOR_BYTES as usize) as u32).min(self.segment_pages() - 1)
    }

    /// First sector of the host's pages, behind all metadata.
    pub fn home_sector(&self) -> u64 {
        u64::from(self.superpage_sectors) + u64::from(self.segments) * u64::from(self.segment_sectors)
    }

    /// Pages of the host.
    pub(crate) fn pages(&self) -> u32 {
        self.pages
    }

    pub(crate) fn segment_pages(&self) -> u32 {
        self.segment_sectors / self.page_sectors
    }

    /// Entries that a header takes: trims need some beside the entries of the slots.
    pub(crate) fn entries(&self) -> u32 {
        ((self.header_bytes() - BEFORE_ENTRIES) / ENTRY_BYTES) as u32
    }

    /// Which segment of the ring has this number.
    pub(crate) fn place_of(&self, number: u64) -> u32 {
        (number % u64::from(self.segments)) as u32
    }

    pub(crate) fn segment_sector(&self, segment: u32) -> u64 {
        u64::from(self.superpage_sectors) + u64::from(segment) * u64::from(self.segment_sectors)
    }

    pub(crate) fn slot_sector(&self, segment: u32, slot: u32) -> u64 {
        self.segment_sector(segment) + u64::from(self.header_pages() + slot) * u64::from(self.page_sectors)
    }

    pub(crate) fn page_sector(&self, page: u32) -> u64 {
        self.home_sector() + u64::from(page) * u64::from(self.page_sectors)
    }

    /// Sectors to write for a segment with `filled` pages of data: whole superpages.
    pub(crate) fn written_sectors(&self, filled: u32) -> u32 {
        ((self.header_pages() + filled) * self.page_sectors).next_multiple_of(self.superpage_sectors)
    }

    pub(crate) fn header_bytes(&self) -> usize {
        self.header_pages() as usize * self.page_sectors as usize * SECTOR_BYTES as usize
    }

    pub(crate) fn segment_bytes(&self) -> usize {
        self.segment_sectors as usize * SECTOR_BYTES as usize
    }

    /// Writes the superblock into a sector.
    pub(crate) fn put(&self, sector: &mut [u8], id: u64) {
        let fields = [self.page_sectors, self.superpage_sectors, self.segment_sectors, self.segments, self.pages];
        disk::put_superblock(sector, SUPERBLOCK, id, self.device_sectors, &fields);
    }

    /// The contents of a sound superblock; `None` if that cannot be.
    pub(crate) fn of(sector: &[u8]) -> Option<Self> {
        let (device_sectors, fields) = disk::superblock(sector);
        let [page_sectors, superpage_sectors, segment_sectors, segments, pages] = fields;
        let layout = Self { page_sectors, superpage_sectors, segment_sectors, device_sectors, segments, pages };
        Self::check_shape(layout.page_sectors, layout.superpage_sectors, layout.segment_sectors).ok()?;
        let pages = layout.device_sectors.checked_sub(layout.home_sector())? / u64::from(layout.page_sectors);
        let numbered = u64::from(layout.segments) * u64::from(layout.entries()) < u64::from(u32::MAX);
        let fits =
            u64::from(layout.segments) >= LEAST_SEGMENTS && numbered && pages == u64::from(layout.pages) && pages > 0;
        fits.then_some(layout)
    }
}

impl From<LogLayout> for Shape {
    fn from(layout: LogLayout) -> Self {
        let LogLayout { device_sectors, page_sectors, superpage_sectors, pages, .. } = layout;
        Self {
            sectors: u64::from(pages) * u64::from(page_sectors),
            device_sectors,
            page_sectors,
            superpage_sectors,
            buffer_sectors: layout.segment_sectors,
            own_sectors: layout.home_sector(),
        }
    }
}

/// The entry of a segment about a page or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub page: u32,
    /// Pages; one where there are data.
    pub pages: u32,
    /// Where its data are; `None` where the pages were trimmed.
    pub slot: Option<u32>,
}

impl Entry {
    pub fn pages(&self) -> Range<u32> {
        self.page..self.page + self.pages
    }
}

/// A header, as it is on the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub id: u64,
    pub number: u64,
    /// All segments up to this one are at home, and that is durable.
    pub tail: u64,
    /// First segment since the drive was opened or formatted.
    pub base: u64,
    /// From the base up to here all segments are durable.
    pub durable: u64,
    pub data_checksum: u32,
    pub entries: Vec<Entry>,
}

/// Bytes of a header that its checksum covers.
fn covered(entries: usize) -> usize {
    (BEFORE_ENTRIES + entries * ENTRY_BYTES).next_multiple_of(SECTOR_BYTES as usize)
}

impl Header {
    /// Writes the header to the beginning of its segment.
    pub fn put(&self, bytes: &mut [u8]) {
        disk::put_u32(bytes, HEAD_BYTES, self.data_checksum);
        disk::put_u64(bytes, HEAD_BYTES + 8, self.base);
        disk::put_u64(bytes, HEAD_BYTES + 16, self.durable);
        for (index, entry) in self.entries.iter().enumerate() {
            let at = BEFORE_ENTRIES + index * ENTRY_BYTES;
            disk::put_u32(bytes, at, entry.page);
            disk::put_u32(bytes, at + 4, if entry.slot.is_some() { 0 } else { entry.pages });
        }
        let head = Head { id: self.id, number: self.number, more: self.tail, count: self.entries.len() as u32 };
        disk::seal(&mut bytes[..covered(self.entries.len())], SEGMENT, head);
    }

    /// Reads a header; `None` if there is none, it is damaged, or does not fit the layout.
    pub fn of(bytes: &[u8], layout: &LogLayout) -> Option<Self> {
        let count = disk::count(bytes) as usize;
        if count > layout.entries() as usize {
            return None;
        }
        let head = disk::unseal(&bytes[..covered(count)], SEGMENT)?;
        let mut entries = Vec::with_capacity(count);
        let mut filled = 0;
        for index in 0..count {
            let at = BEFORE_ENTRIES + index * ENTRY_BYTES;
            let (page, pages) = (disk::u32_at(bytes, at), disk::u32_at(bytes, at + 4));
            let slot = (pages == 0).then_some(filled);
            filled += u32::from(slot.is_some());
            let entry = Entry { page, pages: pages.max(1), slot };
            page.checked_add(entry.pages).filter(|end| *end <= layout.pages)?;
            entries.push(entry);
        }
        let (base, durable) = (disk::u64_at(bytes, HEAD_BYTES + 8), disk::u64_at(bytes, HEAD_BYTES + 16));
        let data_checksum = disk::u32_at(bytes, HEAD_BYTES);
        let header = Self { id: head.id, number: head.number, tail: head.more, base, durable, data_checksum, entries };
        let in_order = header.tail < header.number && header.durable < header.number && header.base <= header.number;
        (filled <= layout.slots() && in_order && header.number < u64::MAX / 2).then_some(header)
    }

    pub fn filled(&self) -> u32 {
        self.entries.iter().filter(|entry| entry.slot.is_some()).count() as u32
    }
}
