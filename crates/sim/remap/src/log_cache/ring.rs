//! The ring of segments, and the map that leads into it.

use super::layout::{Entry, LogLayout};
use super::{HOME, Work};
use crate::shell::host::{Host, RequestId};
use crate::{Shape, Source};
use std::collections::VecDeque;
use units::Nanos;

/// Bytes that a segment of the ring counts in memory, beside its entries and its data.
const SEGMENT_BYTES: usize = 88;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Filling,
    Writing,
    Written,
}

/// A segment of the ring.
#[derive(Debug)]
pub(super) struct Segment {
    /// 0: none.
    pub number: u64,
    state: State,
    pub entries: Vec<Entry>,
    /// Slots that hold data.
    pub filled: u32,
    /// All of it, if it is in memory.
    pub buffer: Option<u32>,
    /// Who waits for it.
    pub owners: Vec<RequestId>,
    /// When its first entry came.
    pub since: Nanos,
}

impl Segment {
    /// One that is on the device.
    fn written(number: u64, entries: Vec<Entry>, filled: u32) -> Self {
        let (state, buffer, owners) = (State::Written, None, Vec::new());
        Self { number, state, entries, filled, buffer, owners, since: 0 }
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
    cached_pages: u32,
    /// Segments in memory.
    in_memory: u32,
    /// Those of them that are written, oldest first.
    kept: VecDeque<u32>,
}

impl Ring {
    pub fn new(layout: &LogLayout, cell_bytes: u32) -> Self {
        Self {
            layout: *layout,
            page_bytes: (layout.page_sectors() * cell_bytes) as usize,
            map: vec![HOME; layout.pages() as usize],
            segments: (0..layout.segments()).map(|_| Segment::written(0, Vec::new(), 0)).collect(),
            cached_pages: 0,
            in_memory: 0,
            kept: VecDeque::new(),
        }
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

    fn at_mut(&mut self, index: u32) -> &mut Segment {
        &mut self.segments[index as usize]
    }

    /// Where each page is: [`HOME`], or segment x entries of one + entry.
    pub fn map(&self) -> &[u32] {
        &self.map
    }

    /// Pages whose newest contents are not at home.
    pub fn cached_pages(&self) -> u32 {
        self.cached_pages
    }

    /// A segment that was found on the device: its pages are in it.
    pub fn found(&mut self, number: u64, entries: Vec<Entry>, filled: u32) {
        let index = self.layout.place_of(number);
        for (place, entry) in (index * self.layout.entries()..).zip(&entries) {
            (entry.page..entry.page + entry.pages).for_each(|page| self.map_to(page, place));
        }
        *self.at_mut(index) = Segment::written(number, entries, filled);
    }

    /// Takes the next slot of a segment.
    pub fn take_slot(&mut self, index: u32) -> u32 {
        let segment = self.at_mut(index);
        segment.filled += 1;
        segment.filled - 1
    }

    /// Someone waits for a segment.
    pub fn own(&mut self, index: u32, owner: RequestId) {
        self.at_mut(index).owners.push(owner);
    }

    /// A segment is full, or closed as it is: it is being written.
    pub fn close(&mut self, index: u32) {
        self.at_mut(index).state = State::Writing;
    }

    /// A segment without pages is being written.
    pub fn begin_empty(&mut self, number: u64) {
        let segment = self.at_mut(self.layout.place_of(number));
        (segment.number, segment.state, segment.filled) = (number, State::Writing, 0);
    }

    /// The segment of this number is written; who waited for it.
    pub fn written(&mut self, number: u64) -> Vec<RequestId> {
        let segment = self.at_mut(self.layout.place_of(number));
        segment.state = State::Written;
        std::mem::take(&mut segment.owners)
    }

    /// Whether the segment of this number is written.
    fn is_written(&self, number: u64) -> bool {
        let segment = self.at(self.layout.place_of(number));
        segment.number == number && segment.state == State::Written
    }

    /// The pages of the segment of this number are at home.
    pub fn empty(&mut self, host: &mut Host<Work>, number: u64) {
        let index = self.layout.place_of(number);
        if self.at(index).number == number {
            self.at_mut(index).entries = Vec::new();
            self.forget(host, index);
        }
    }

    /// Where a page is from now on.
    pub fn map_to(&mut self, page: u32, place: u32) {
        let old = std::mem::replace(&mut self.map[page as usize], place);
        self.cached_pages += u32::from(old == HOME);
        self.cached_pages -= u32::from(place == HOME);
    }

    /// The pages of an entry are in this segment from now on.
    pub fn enter(&mut self, segment: u32, entry: Entry) {
        let place = segment * self.layout.entries() + self.segments[segment as usize].entries.len() as u32;
        self.segments[segment as usize].entries.push(entry);
        (entry.page..entry.page + entry.pages).for_each(|page| self.map_to(page, place));
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
        debug_assert!(segment.buffer.is_none() && segment.entries.is_empty());
        (segment.number, segment.state, segment.filled, segment.since) = (number, State::Filling, 0, host.now());
        segment.buffer = Some(buffer);
        index
    }

    /// Segments in memory.
    pub fn in_memory(&self) -> u32 {
        self.in_memory
    }

    /// A segment is written, and kept in memory for now.
    pub fn keep(&mut self, segment: u32) {
        self.kept.push_back(segment);
    }

    /// The oldest segment that is kept, of those that may be forgotten.
    pub fn oldest_kept(&self, may_go: impl Fn(&Segment) -> bool) -> Option<u32> {
        self.kept.iter().copied().find(|segment| may_go(&self.segments[*segment as usize]))
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

/// Numbers of segments, in order: see the picture of the module.
#[derive(Debug)]
pub(super) struct Line {
    segments: u64,
    /// Number of the segment that is begun next.
    next: u64,
    /// First number of this life.
    base: u64,
    /// All up to this one are written.
    completed: u64,
    /// All up to this one are durable.
    durable: u64,
    /// All up to this one are home, and that is durable.
    home: u64,
    /// All up to this one may be written over: a durable header says that they are home.
    tail: u64,
    /// Tails of headers that are not durable, by the number of their segment.
    tails: VecDeque<(u64, u64)>,
}

impl Line {
    pub fn new(layout: &LogLayout) -> Self {
        Self::resumed(layout, 0, 0)
    }

    /// All up to `tail` are home, and `last` is the last one there is. Before the next flush nothing behind the tail is
    /// known to be durable, only written.
    pub fn resumed(layout: &LogLayout, tail: u64, last: u64) -> Self {
        Self {
            segments: u64::from(layout.segments()),
            next: last + 1,
            base: 1,
            completed: last,
            durable: tail,
            home: tail,
            tail,
            tails: VecDeque::new(),
        }
    }

    pub fn next(&self) -> u64 {
        self.next
    }

    pub fn base(&self) -> u64 {
        self.base
    }

    pub fn completed(&self) -> u64 {
        self.completed
    }

    pub fn durable(&self) -> u64 {
        self.durable
    }

    pub fn home(&self) -> u64 {
        self.home
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

    /// Takes written segments in their turn.
    pub fn advance(&mut self, ring: &Ring) {
        while ring.is_written(self.completed + 1) {
            self.completed += 1;
        }
    }

    /// A flush of what is written would move the tail.
    pub fn could_move_tail(&self) -> bool {
        self.tails.iter().any(|(number, tail)| *number <= self.completed && *tail > self.tail)
    }

    /// All up to this one are durable.
    pub fn set_durable(&mut self, number: u64) {
        self.durable = self.durable.max(number);
        while self.tails.front().is_some_and(|(number, _)| *number <= self.durable) {
            // Tails never fall.
            self.tail = self.tails.pop_front().map_or(self.tail, |(_, tail)| tail);
        }
    }

    /// All up to this one are home.
    pub fn set_home(&mut self, number: u64) {
        self.home = number;
    }

    /// Whether the numbers are in order.
    pub fn is_sound(&self) -> bool {
        [self.tail, self.home, self.durable, self.completed, self.next].is_sorted()
    }
}
