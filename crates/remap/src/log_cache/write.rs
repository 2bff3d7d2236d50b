//! Writes and trims: pages, those that wait, and segments.

use super::layout::{Entry, Header};
use super::read::Source;
use super::{HOME, LogCache, MOST_FAILURES, Segment, Startup, State, Work};
use crate::request::{HeldBack, Job};
use crate::{Command, WriteCache};
use std::collections::VecDeque;
use units::HostOp;

impl LogCache {
    /// Begins a write or a trim; false if it has to wait.
    pub(super) fn begin(&mut self, request: u32, first_sector: u64, sectors: u32, data: &[u8]) -> bool {
        if self.startup != Startup::Ready {
            return false;
        }
        let (op, fua) = (self.front.requests.at(request).op, self.front.requests.at(request).fua);
        if op == HostOp::Write {
            self.begin_write(request, first_sector, sectors, data);
        } else if !self.trim(first_sector, sectors) {
            return false;
        }
        self.close_wanted |= fua;
        self.part_done(request, false);
        true
    }

    fn begin_write(&mut self, request: u32, first_sector: u64, sectors: u32, data: &[u8]) {
        let (size, cell) = (self.layout.page_sectors(), self.options.cell_bytes as usize);
        let mut done = 0;
        while done < sectors {
            let sector = first_sector + u64::from(done);
            let (page, first) = ((sector / u64::from(size)) as u32, (sector % u64::from(size)) as u32);
            let count = (size - first).min(sectors - done);
            self.front.requests.at(request).pending += 1;
            self.write_page(request, page, (first, count), &data[done as usize * cell..][..count as usize * cell]);
            done += count;
        }
    }

    /// Writes sectors of a page, at once if that can be.
    fn write_page(&mut self, request: u32, page: u32, (first, sectors): (u32, u32), data: &[u8]) {
        let is_locked = self.locks.contains_key(&page);
        if !is_locked && self.has_room() && !self.needs_merge(page, sectors) {
            self.place(request, page, (first, sectors), data);
            return;
        }
        let job = Job::write(request, (first, sectors), data, self.page_bytes(), self.options.cell_bytes);
        self.locks.entry(page).or_default().push_back(job);
        if !is_locked {
            self.start(page);
        }
    }

    /// The rest of the page has to be read first.
    fn needs_merge(&self, page: u32, sectors: u32) -> bool {
        sectors < self.layout.page_sectors() && matches!(self.source(page), Source::Device(..))
    }

    /// Goes on with the writes that wait for a page.
    fn start(&mut self, page: u32) {
        let Some(job) = self.locks.get(&page).and_then(VecDeque::front) else {
            self.locks.remove(&page);
            return;
        };
        match self.source(page) {
            Source::Device(sector, segment) if job.sectors < self.layout.page_sectors() => {
                let sectors = self.layout.page_sectors();
                self.counts.merge_reads += 1;
                self.hold(segment, sector, sectors);
                self.send(Work::Merge { page, segment }, HostOp::Read, sector, sectors);
            }
            _ => self.ready.push_back(page),
        }
    }

    /// The old contents of a page are there.
    pub(super) fn merge_completed(&mut self, page: u32, failed: bool, data: &[u8]) {
        let Some(queue) = self.locks.get_mut(&page) else { return };
        let job = queue.front_mut().expect("a page is locked by a write");
        if failed {
            let request = job.request;
            queue.pop_front();
            self.part_done(request, true);
            self.start(page);
            return;
        }
        job.complete(data, self.layout.page_sectors(), self.options.cell_bytes);
        self.ready.push_back(page);
    }

    /// Begins what was held back.
    pub(super) fn pump_held(&mut self) -> bool {
        if self.startup == Startup::Lazy && !self.held.is_empty() {
            self.startup = Startup::Wanted;
            return true;
        }
        let Some(HeldBack { request, first_sector, sectors, data }) = self.held.pop_front() else { return false };
        let begun = self.begin(request, first_sector, sectors, &data);
        if !begun {
            self.held.push_front(HeldBack { request, first_sector, sectors, data });
        }
        begun
    }

    /// Places a page that waited for room.
    pub(super) fn pump_ready(&mut self) -> bool {
        if self.ready.is_empty() || !self.has_room() {
            return false;
        }
        let page = self.ready.pop_front().expect("there is one");
        let job = self.locks.get_mut(&page).and_then(VecDeque::pop_front).expect("a page that waits has a write");
        if self.needs_merge(page, job.sectors) {
            // What it was to go over is in memory no more.
            self.locks.get_mut(&page).expect("it is locked").push_front(job);
        } else {
            self.place(job.request, page, (job.first, job.sectors), job.bytes(self.options.cell_bytes));
        }
        self.start(page);
        true
    }

    pub(super) fn pump_close(&mut self) -> bool {
        std::mem::take(&mut self.close_wanted) && self.close()
    }

    /// Puts sectors of a page, over what was there, into the segment in memory.
    fn place(&mut self, request: u32, page: u32, (first, sectors): (u32, u32), data: &[u8]) {
        let at = first as usize * self.options.cell_bytes as usize;
        let fua = self.front.requests.at(request).fua;
        let is_answered = self.options.write_cache == WriteCache::Volatile && !fua;
        let found = self.gathered(page);
        // Taken out before another segment is begun: that may need the memory it is in.
        let old = match self.source(page) {
            Source::Memory(from, at) if found.is_none() && sectors < self.layout.page_sectors() => {
                self.buffers.get(from)[at..at + self.page_bytes()].to_vec()
            }
            _ => Vec::new(),
        };
        let open = self.open.unwrap_or_else(|| self.open_another());
        let buffer = self.segments[open as usize].buffer.expect("an open one is in memory");
        self.counts.host_pages += 1;
        self.counts.overwritten_pages += u64::from(found.is_some());
        let slot = found.unwrap_or(self.segments[open as usize].filled);
        let offset = self.offset(slot);
        if found.is_none() {
            self.segments[open as usize].filled += 1;
            // Otherwise a buffer is all zeros where nothing was put.
            self.buffers.get_mut(buffer)[offset..offset + old.len()].copy_from_slice(&old);
            self.enter(open, Entry { page, pages: 1, slot: Some(slot) });
        }
        self.buffers.get_mut(buffer)[offset + at..][..data.len()].copy_from_slice(data);
        self.close_wanted |= fua;
        if !is_answered {
            self.segments[open as usize].owners.push(request);
        }
        self.close_full();
        if is_answered {
            self.part_done(request, false);
        }
    }

    /// The slot of the open segment that holds a page: it can be replaced there, as nobody has seen it yet.
    fn gathered(&self, page: u32) -> Option<u32> {
        let place = self.map[page as usize];
        let (segment, entry) = (place != HOME).then(|| self.entry(place))?;
        entry.slot.filter(|_| self.open == Some(segment))
    }

    /// The pages of an entry are there from now on.
    fn enter(&mut self, open: u32, entry: Entry) {
        let place = open * self.layout.entries() + self.segments[open as usize].entries.len() as u32;
        self.segments[open as usize].entries.push(entry);
        (entry.page..entry.page + entry.pages).for_each(|page| self.map_to(page, place));
    }

    /// Records that whole pages are zeros; false if that has to wait: for room, or for writes of these pages that wait.
    fn trim(&mut self, first_sector: u64, sectors: u32) -> bool {
        let size = u64::from(self.layout.page_sectors());
        let first = first_sector.div_ceil(size) as u32;
        let end = ((first_sector + u64::from(sectors)) / size) as u32;
        if first >= end {
            return true;
        }
        if !self.has_room() || self.locks.range(first..end).next().is_some() {
            return false;
        }
        let open = self.open.unwrap_or_else(|| self.open_another());
        self.counts.trims += 1;
        self.enter(open, Entry { page: first, pages: end - first, slot: None });
        self.close_full();
        true
    }

    /// An entry can be made.
    fn has_room(&self) -> bool {
        // An open one has room always: it is closed when it has none.
        let is_free = || self.segments[self.layout.place_of(self.next) as usize].pins == 0;
        self.open.is_some() || (self.startup == Startup::Ready && self.is_in_window() && is_free() && self.has_memory())
    }

    /// The next segment may be written over what is there. The last one that may be has to move the tail: no header
    /// would have room otherwise to say that others are home.
    pub(super) fn is_in_window(&self) -> bool {
        let last = self.tail + u64::from(self.layout.segments());
        self.next < last || (self.next == last && self.home > self.tail)
    }

    /// There is memory for one more segment, or could be.
    fn has_memory(&self) -> bool {
        self.in_memory < self.options.buffers.max(2) || self.kept.iter().any(|segment| !self.is_in_batch(*segment))
    }

    fn is_in_batch(&self, segment: u32) -> bool {
        let number = self.segments[segment as usize].number;
        self.batch.as_ref().is_some_and(|batch| (self.home + 1..=batch.last).contains(&number))
    }

    /// Begins a segment.
    fn open_another(&mut self) -> u32 {
        if self.in_memory >= self.options.buffers.max(2) {
            let index = self.kept.iter().position(|segment| !self.is_in_batch(*segment)).expect("there is memory");
            let segment = self.kept.remove(index).expect("it was found");
            self.forget(segment);
        }
        let index = self.layout.place_of(self.next);
        let buffer = self.buffers.take();
        self.in_memory += 1;
        let now = self.now;
        let segment = &mut self.segments[index as usize];
        debug_assert!(segment.number <= self.tail && segment.buffer.is_none() && segment.entries.is_empty());
        (segment.number, segment.state, segment.filled, segment.since) = (self.next, State::Filling, 0, now);
        segment.buffer = Some(buffer);
        self.open = Some(index);
        self.next += 1;
        index
    }

    /// A segment is not in memory any more.
    pub(super) fn forget(&mut self, segment: u32) {
        if let Some(buffer) = self.segments[segment as usize].buffer.take() {
            self.buffers.release(buffer);
            self.in_memory -= 1;
        }
    }

    fn close_full(&mut self) {
        let Some(open) = self.open else { return };
        let Segment { filled, entries, .. } = &self.segments[open as usize];
        if *filled == self.layout.slots() || entries.len() == self.layout.entries() as usize {
            self.close();
        }
    }

    /// Writes the open segment as it is; false if there is none.
    pub(super) fn close(&mut self) -> bool {
        let Some(open) = self.open.take() else { return false };
        let (data, layout) = (self.offset(0), self.layout);
        let segment = &mut self.segments[open as usize];
        segment.state = State::Writing;
        let (number, filled) = (segment.number, segment.filled);
        for owner in &segment.owners {
            self.front.requests.at(*owner).target = number;
        }
        let entries = segment.entries.clone();
        let bytes = self.buffers.get_mut(segment.buffer.expect("an open one is in memory"));
        if !bytes.is_empty() {
            let end = data + filled as usize * layout.page_sectors() as usize * self.options.cell_bytes as usize;
            let data_checksum = crc32fast::hash(&bytes[data..end]);
            let (id, tail, base, durable) = (self.id, self.home, self.base, self.durable);
            Header { id, number, tail, base, durable, data_checksum, entries }.put(bytes);
        }
        self.tails.push_back((number, self.home));
        let sectors = layout.written_sectors(filled);
        let pages = sectors.div_ceil(layout.page_sectors());
        self.counts.segments += 1;
        self.counts.data_pages += u64::from(filled);
        self.counts.header_pages += u64::from(layout.header_pages());
        self.counts.pad_pages += u64::from(pages - filled - layout.header_pages());
        self.send(Work::Segment { number, tries: 0 }, HostOp::Write, layout.segment_sector(open), sectors);
        true
    }

    pub(super) fn segment_completed(&mut self, (number, tries): (u64, u32), command: &Command, failed: bool) {
        if failed && !self.counts.broken {
            if tries + 1 >= MOST_FAILURES {
                self.break_down();
            } else {
                self.send(
                    Work::Segment { number, tries: tries + 1 },
                    HostOp::Write,
                    command.first_sector,
                    command.sectors,
                );
            }
        }
        if failed {
            return;
        }
        self.kept.push_back(self.layout.place_of(number));
        let segment = self.segment(number);
        segment.state = State::Written;
        for owner in std::mem::take(&mut segment.owners) {
            self.part_done(owner, false);
        }
        self.advance();
    }

    /// Takes written segments in their turn.
    pub(super) fn advance(&mut self) {
        loop {
            let next = self.completed + 1;
            let segment = self.segment(next);
            if segment.number != next || segment.state != State::Written {
                return;
            }
            self.completed = next;
        }
    }

    /// Whether a page at this place could be lost by a power cut.
    pub(super) fn is_durable(&self, place: u32) -> bool {
        place == HOME || self.segments[self.entry(place).0 as usize].number <= self.durable
    }
}
