//! The ring of segments, the map that leads into it, and how far segments are.

use super::layout::{Entry, LogLayout};
use super::{HOME, Work};
use crate::Source;
use crate::shell::host::Host;
use std::collections::VecDeque;
use std::ops::Range;

/// Bytes that a segment of the ring counts in memory, beside its entries and its data.
const SEGMENT_BYTES: usize = 88;

/// A segment of the ring.
#[derive(Debug, Default)]
pub(super) struct Segment {
    /// Number in order of writing; 0: the place is empty.
    pub number: u64,
    pub entries: Vec<Entry>,
    /// Slots that hold data.
    pub filled: u32,
    /// All of it, if it is in memory.
    pub buffer: Option<u32>,
}

impl Segment {
    /// The buffer of one that is being filled or written.
    pub fn held(&self) -> u32 {
        self.buffer.expect("what is being filled or written is in memory")
    }
}

/// Where pages are: at home, or in a segment.
#[derive(Debug)]
pub(super) struct Ring {
    layout: LogLayout,
    page_bytes: usize,
    /// Where each page is: [`HOME`], or segment x entries of one + entry.
    map: Vec<u32>,
    segments: Vec<Segment>,
    /// Pages whose newest contents are not at home.
    pub cached_pages: u32,
    pub in_memory: u32,
    /// Those of them that are written, oldest first.
    kept: VecDeque<u32>,
}

impl Ring {
    pub fn new(layout: &LogLayout, cell_bytes: u32) -> Self {
        Self {
            layout: *layout,
            page_bytes: (layout.page_sectors * cell_bytes) as usize,
            map: vec![HOME; layout.pages() as usize],
            segments: (0..layout.segments()).map(|_| Segment::default()).collect(),
            cached_pages: 0,
            in_memory: 0,
            kept: VecDeque::new(),
        }
    }

    /// Where each page is.
    pub fn map(&self) -> &[u32] {
        &self.map
    }

    /// Where in a segment's buffer a slot is.
    pub fn offset(&self, slot: u32) -> usize {
        (self.layout.header_pages() + slot) as usize * self.page_bytes
    }

    /// The segment and the entry of a place that is not home.
    pub fn entry(&self, place: u32) -> (u32, Entry) {
        let entries = self.layout.entries();
        let segment = place / entries;
        (segment, self.segments[segment as usize].entries[(place % entries) as usize])
    }

    /// A segment by its place in the ring.
    pub fn at(&self, index: u32) -> &Segment {
        &self.segments[index as usize]
    }

    pub fn at_mut(&mut self, index: u32) -> &mut Segment {
        &mut self.segments[index as usize]
    }

    /// The segment that has this number, or would take the place of the one that is there.
    pub fn of_mut(&mut self, number: u64) -> &mut Segment {
        self.at_mut(self.layout.place_of(number))
    }

    /// A segment that was found on the device: its pages are in it.
    pub fn found(&mut self, number: u64, entries: Vec<Entry>, filled: u32) {
        let index = self.layout.place_of(number);
        for (place, entry) in (index * self.layout.entries()..).zip(&entries) {
            entry.pages().for_each(|page| self.map_to(page, place));
        }
        *self.at_mut(index) = Segment { number, entries, filled, ..Segment::default() };
    }

    /// The pages of the segment of this number are at home.
    pub fn empty(&mut self, host: &mut Host<Work>, number: u64) {
        let index = self.layout.place_of(number);
        if self.at(index).number == number {
            let entries = std::mem::take(&mut self.at_mut(index).entries);
            let is_left = |(place, entry): (u32, &Entry)| entry.pages().all(|page| self.map[page as usize] != place);
            debug_assert!((index * self.layout.entries()..).zip(&entries).all(is_left), "no page is in it");
            self.forget(host, index);
        }
    }

    /// Where a page is from now on.
    pub fn map_to(&mut self, page: u32, place: u32) {
        let old = std::mem::replace(&mut self.map[page as usize], place);
        self.cached_pages += u32::from(old == HOME);
        self.cached_pages -= u32::from(place == HOME);
    }

    /// Pages are in this segment from now on: one whose data are in the next slot, which is returned, or several that
    /// were trimmed.
    pub fn enter(&mut self, index: u32, pages: Range<u32>, has_data: bool) -> u32 {
        let segment = &mut self.segments[index as usize];
        let (place, slot) = (index * self.layout.entries() + segment.entries.len() as u32, segment.filled);
        segment.filled += u32::from(has_data);
        let slot_of_data = has_data.then_some(slot);
        segment.entries.push(Entry { page: pages.start, pages: pages.end - pages.start, slot: slot_of_data });
        pages.for_each(|page| self.map_to(page, place));
        slot
    }

    /// Where the contents of a page are. Parts of the device are the home, 0, and each segment.
    pub fn locate(&self, page: u32) -> Source {
        let place = self.map[page as usize];
        if place == HOME {
            return Source::Device { sector: self.layout.page_sector(page), part: 0 };
        }
        let (segment, entry) = self.entry(place);
        match (entry.slot, self.segments[segment as usize].buffer) {
            (None, _) => Source::Zeros,
            (Some(slot), Some(buffer)) => Source::Memory { buffer, at: self.offset(slot) },
            (Some(slot), None) => Source::Device { sector: self.layout.slot_sector(segment, slot), part: segment + 1 },
        }
    }

    /// Begins a segment, in place of one that is not needed.
    pub fn begin(&mut self, host: &mut Host<Work>, number: u64) -> u32 {
        let index = self.layout.place_of(number);
        let buffer = host.buffers.take();
        self.in_memory += 1;
        let segment = &mut self.segments[index as usize];
        debug_assert!(segment.buffer.is_none() && segment.entries.is_empty(), "it is not needed");
        (segment.number, segment.filled, segment.buffer) = (number, 0, Some(buffer));
        index
    }

    /// A segment is written, and kept in memory for now.
    pub fn keep(&mut self, number: u64) {
        debug_assert!(self.of_mut(number).number == number, "it was being written");
        self.kept.push_back(self.layout.place_of(number));
    }

    /// The oldest segment that is kept, of those behind a number.
    pub fn oldest_kept(&self, behind: u64) -> Option<u32> {
        self.kept.iter().copied().find(|segment| self.at(*segment).number > behind)
    }

    /// A segment is not in memory any more.
    pub fn forget(&mut self, host: &mut Host<Work>, segment: u32) {
        self.kept.retain(|kept| *kept != segment);
        if let Some(buffer) = self.segments[segment as usize].buffer.take() {
            host.buffers.release(buffer);
            self.in_memory -= 1;
        }
    }

    /// Bytes that the tables take.
    pub fn ram_bytes(&self) -> u64 {
        let entries: usize = self.segments.iter().map(|segment| segment.entries.len() * size_of::<Entry>()).sum();
        (entries + self.map.len() * size_of::<u32>() + self.segments.len() * SEGMENT_BYTES) as u64
    }
}

/// Numbers of segments, in order: see the picture of the module. Which ones are written and durable the host knows.
/// Only its own methods change them.
#[derive(Debug)]
pub(super) struct Line {
    segments: u64,
    /// Number of the segment that is begun next.
    pub next: u64,
    /// First number of this life.
    pub base: u64,
    /// All up to this one are home, and that is durable.
    pub home: u64,
    /// All up to this one may be written over: a durable header says that they are home.
    tail: u64,
    /// Tails of headers that are not durable, by the number of their segment.
    tails: VecDeque<(u64, u64)>,
}

impl Line {
    /// All up to `tail` are home, and `last` is the last one there is.
    pub fn resumed(layout: &LogLayout, tail: u64, last: u64) -> Self {
        let (segments, tails) = (u64::from(layout.segments()), VecDeque::new());
        Self { segments, next: last + 1, base: 1, home: tail, tail, tails }
    }

    /// Segments that are free, or are as soon as a header says so.
    pub fn free(&self) -> u32 {
        (self.segments - (self.next - 1 - self.home)) as u32
    }

    /// The next segment may be written over what is there. The last one that may be has to move the tail: no header
    /// would have room otherwise to say that others are home.
    pub fn is_in_window(&self) -> bool {
        let last = self.tail + self.segments;
        self.next < last || (self.next == last && self.home > self.tail)
    }

    /// Takes the next number.
    pub fn begin(&mut self) -> u64 {
        debug_assert!(self.is_in_window(), "nothing is written over that a header needs: {self:?}");
        self.next += 1;
        self.next - 1
    }

    /// Takes the next number, with which a life begins.
    pub fn begin_life(&mut self) -> u64 {
        self.base = self.begin();
        self.base
    }

    /// The header of this segment says now what is home.
    pub fn tell_home(&mut self, number: u64) {
        self.tails.push_back((number, self.home));
    }

    /// A flush of the written segments would move the tail.
    pub fn could_move_tail(&self, host: &Host<Work>) -> bool {
        self.tails.iter().any(|(number, tail)| *number <= host.written() && *tail > self.tail)
    }

    /// Headers became durable.
    pub fn move_tail(&mut self, host: &Host<Work>) {
        while self.tails.front().is_some_and(|(number, _)| *number <= host.durable()) {
            // Tails never fall.
            self.tail = self.tails.pop_front().map_or(self.tail, |(_, tail)| tail);
        }
        debug_assert!(self.is_sound(host), "{self:?}");
    }

    /// All up to this one are home.
    pub fn set_home(&mut self, host: &Host<Work>, number: u64) {
        self.home = number;
        debug_assert!(self.is_sound(host), "{self:?}");
    }

    /// Whether the numbers are in order.
    pub fn is_sound(&self, host: &Host<Work>) -> bool {
        [self.tail, self.home, host.durable(), host.written(), self.next].is_sorted()
    }
}
