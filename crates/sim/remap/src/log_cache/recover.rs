//! Opening a device that holds a log cache: the headers of all segments, and their entries about pages.

use super::layout::{Header, LogLayout, SUPERBLOCK};
use super::ring::Line;
use super::{LogCache, LogOptions, Work};
use crate::disk;
use crate::shell::host::Host;
use crate::{DriverOptions, OpenError, ReadSectors};
use units::SECTOR_BYTES;

impl LogCache {
    /// See [`crate::Driver::open`]. A segment that was damaged in a way no power cut can cause is noticed where a later
    /// one says that it was durable.
    pub(super) fn opened(
        options: &LogOptions,
        device_sectors: u64,
        read: &mut ReadSectors,
    ) -> Result<(Self, Host<Work>), OpenError> {
        let (id, layout) = disk::open(SUPERBLOCK, options.terms.cell_bytes, device_sectors, read, LogLayout::of)?;
        let mut cache = Self::bare(&layout, options, id);
        let (headers, unreadable) = cache.find(read);
        let (tail, last) = cache.replay(headers, &unreadable)?;
        cache.line = Line::resumed(&layout, tail, last);
        let mut host = Host::found(layout.into(), options.terms());
        // Before the next flush nothing behind the tail is known to be durable, only written.
        host.resume(last, tail);
        Ok((cache, host))
    }

    /// The headers of segments that are whole, and the places of those that cannot be read.
    fn find(&self, read: &mut ReadSectors) -> (Vec<Header>, Vec<u32>) {
        let layout = self.layout;
        let (mut found, mut unreadable) = (Vec::new(), Vec::new());
        let mut bytes = vec![0; layout.segment_bytes()];
        for place in 0..layout.segments() {
            let (first, rest) = bytes.split_at_mut(layout.header_bytes());
            if read(layout.segment_sector(place), first).is_err() {
                unreadable.push(place);
                continue;
            }
            let header = Header::of(first, &layout)
                .filter(|header| header.id == self.id && layout.place_of(header.number) == place);
            let Some(header) = header else { continue };
            let data = &mut rest[..header.filled() as usize * layout.page_sectors as usize * SECTOR_BYTES as usize];
            if !data.is_empty() && read(layout.slot_sector(place, 0), data).is_err() {
                unreadable.push(place);
                continue;
            }
            if crc32fast::hash(data) == header.data_checksum {
                found.push(header);
            }
        }
        (found, unreadable)
    }

    /// Makes the map from the headers: the tail, and the last segment.
    fn replay(&mut self, mut headers: Vec<Header>, unreadable: &[u32]) -> Result<(u64, u64), OpenError> {
        headers.sort_by_key(|header| header.number);
        // A life ends where the next one begins: what has a number behind that was never whole while it lasted.
        let base = headers.iter().map(|header| header.base).max().unwrap_or(0);
        headers.retain(|header| header.base == base || header.number < base);
        let tail = headers.iter().map(|header| header.tail).max().unwrap_or(0);
        let is_there = |number: &u64| headers.binary_search_by_key(number, |header| header.number).is_ok();
        let last = headers.last().map(|header| header.number);
        // What cannot be read may be one of those that count, or the newest of all.
        let unknown = |number: u64| !is_there(&number) && unreadable.contains(&self.layout.place_of(number));
        if !unreadable.is_empty() && last.is_none_or(|last| (tail + 1..=last + 1).any(unknown)) {
            return Err(OpenError::Map("a segment of the log cannot be read"));
        }
        let Some(last) = last else { return Ok((0, 0)) };
        if last > tail + u64::from(self.layout.segments()) {
            return Err(OpenError::Map("segments of the log do not follow each other"));
        }
        for header in &headers {
            if !(header.base.max(tail + 1)..=header.durable).all(|number| is_there(&number)) {
                return Err(OpenError::Map("a segment of the log is damaged"));
            }
        }
        for header in headers.into_iter().filter(|header| header.number > tail) {
            let filled = header.filled();
            self.ring.found(header.number, header.entries, filled);
        }
        Ok((tail, last))
    }
}
