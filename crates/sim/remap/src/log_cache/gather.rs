//! Writes and trims: the segment in memory, and segments on their way to the log.

use super::layout::{Entry, Header};
use super::ring::{Line, Ring, Segment};
use super::{HOME, LogLayout, LogOptions, Work};
use crate::shell::host::{Completion, Host};
use crate::{PageWrite, Shape, Source};
use std::ops::Range;
use units::Nanos;

/// The segment that is being filled, and what was written.
#[derive(Debug)]
pub(super) struct Gather {
    layout: LogLayout,
    options: LogOptions,
    id: u64,
    open: Option<u32>,
    pub overwritten_pages: u64,
    pub trims: u64,
    pub segments: u64,
    pub data_pages: u64,
    pub header_pages: u64,
    pub pad_pages: u64,
}

impl Gather {
    pub fn new(layout: &LogLayout, options: &LogOptions, id: u64) -> Self {
        Self {
            layout: *layout,
            options: *options,
            id,
            open: None,
            overwritten_pages: 0,
            trims: 0,
            segments: 0,
            data_pages: 0,
            header_pages: 0,
            pad_pages: 0,
        }
    }

    /// A segment is being filled.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Since when.
    pub fn since(&self, ring: &Ring) -> Option<Nanos> {
        self.open.map(|open| ring.at(open).since)
    }

    /// Pages in it.
    pub fn filling(&self, ring: &Ring) -> u32 {
        self.open.map_or(0, |open| ring.at(open).filled)
    }

    /// There is memory for one more segment, or could be: segments up to `in_batch` are needed in memory.
    pub fn has_memory(&self, ring: &Ring, in_batch: u64) -> bool {
        let may_go = |segment: &Segment| segment.number > in_batch;
        ring.in_memory() < self.options.buffers.max(2) || ring.oldest_kept(may_go).is_some()
    }

    /// Puts sectors of a page, over what was there, into the segment in memory. There is room.
    pub fn place(
        &mut self,
        host: &mut Host<Work>,
        ring: &mut Ring,
        line: &mut Line,
        in_batch: u64,
        write: PageWrite<'_>,
    ) {
        let PageWrite { page, first, sectors, data, owner } = write;
        let found = self.gathered(ring, page);
        // Taken out before another segment is begun: that may need the memory it is in.
        let old = match ring.locate(page) {
            Source::Memory { buffer, at } if found.is_none() && sectors < self.layout.page_sectors() => {
                host.buffers.get(buffer)[at..at + host.page_bytes()].to_vec()
            }
            _ => Vec::new(),
        };
        let open = self.open.unwrap_or_else(|| self.open_another(host, ring, line, in_batch));
        let buffer = ring.at(open).buffer.expect("an open one is in memory");
        self.overwritten_pages += u64::from(found.is_some());
        let slot = found.unwrap_or_else(|| ring.take_slot(open));
        let offset = ring.offset(slot);
        if found.is_none() {
            // Otherwise a buffer is all zeros where nothing was put.
            host.buffers.get_mut(buffer)[offset..offset + old.len()].copy_from_slice(&old);
            ring.enter(open, Entry { page, pages: 1, slot: Some(slot) });
        }
        let at = offset + host.bytes(first);
        host.buffers.get_mut(buffer)[at..at + data.len()].copy_from_slice(data);
        if let Some(owner) = owner {
            ring.own(open, owner);
        }
        self.close_full(host, ring, line);
    }

    /// The slot of the open segment that holds a page: it can be replaced there, as nobody has seen it yet.
    fn gathered(&self, ring: &Ring, page: u32) -> Option<u32> {
        let place = ring.map()[page as usize];
        let (segment, entry) = (place != HOME).then(|| ring.entry(place))?;
        entry.slot.filter(|_| self.open == Some(segment))
    }

    /// Records that whole pages are zeros. There is room.
    pub fn trim(&mut self, host: &mut Host<Work>, ring: &mut Ring, line: &mut Line, in_batch: u64, pages: Range<u32>) {
        let open = self.open.unwrap_or_else(|| self.open_another(host, ring, line, in_batch));
        self.trims += 1;
        ring.enter(open, Entry { page: pages.start, pages: pages.end - pages.start, slot: None });
        self.close_full(host, ring, line);
    }

    /// Begins a segment.
    fn open_another(&mut self, host: &mut Host<Work>, ring: &mut Ring, line: &mut Line, in_batch: u64) -> u32 {
        if ring.in_memory() >= self.options.buffers.max(2) {
            let segment = ring.oldest_kept(|segment| segment.number > in_batch).expect("there is memory");
            ring.forget(host, segment);
        }
        let open = ring.begin(host, line.begin());
        self.open = Some(open);
        open
    }

    fn close_full(&mut self, host: &mut Host<Work>, ring: &mut Ring, line: &mut Line) {
        let Some(open) = self.open else { return };
        let Segment { filled, entries, .. } = ring.at(open);
        if *filled == self.layout.slots() || entries.len() == self.layout.entries() as usize {
            self.close(host, ring, line);
        }
    }

    /// Writes the open segment as it is; false if there is none.
    pub fn close(&mut self, host: &mut Host<Work>, ring: &mut Ring, line: &mut Line) -> bool {
        let Some(open) = self.open.take() else { return false };
        let layout = self.layout;
        let data = ring.offset(0);
        ring.close(open);
        let segment = ring.at(open);
        let (number, filled) = (segment.number, segment.filled);
        for owner in &segment.owners {
            host.set_target(*owner, number);
        }
        let end = data + host.bytes(filled * layout.page_sectors());
        let buffer = segment.buffer.expect("an open one is in memory");
        let bytes = host.buffers.get_mut(buffer);
        if !bytes.is_empty() {
            let data_checksum = crc32fast::hash(&bytes[data..end]);
            let (id, tail, base, durable) = (self.id, line.home(), line.base(), line.durable());
            let entries = segment.entries.clone();
            Header { id, number, tail, base, durable, data_checksum, entries }.put(bytes);
        }
        line.tell_home(number);
        let sectors = layout.written_sectors(filled);
        let pages = sectors.div_ceil(layout.page_sectors());
        self.segments += 1;
        self.data_pages += u64::from(filled);
        self.header_pages += u64::from(layout.header_pages());
        self.pad_pages += u64::from(pages - filled - layout.header_pages());
        host.write(Work::Segment(number), (buffer, 0), layout.segment_sector(open), sectors);
        true
    }

    /// The write of a segment is done.
    pub fn completed(
        &mut self,
        host: &mut Host<Work>,
        ring: &mut Ring,
        line: &mut Line,
        number: u64,
        done: &Completion<'_>,
    ) {
        if done.failed {
            if !host.is_broken() {
                host.retry(Work::Segment(number), done);
            }
            return;
        }
        ring.keep(self.layout.place_of(number));
        for owner in ring.written(number) {
            host.part_done(owner, false);
        }
        line.advance(ring);
    }
}
