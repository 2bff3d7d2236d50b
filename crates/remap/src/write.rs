//! Writes and trims: pages, those that wait, the open virtual superpages, and what was issued.

use crate::checkpoint::Startup;
use crate::disk::NOWHERE;
use crate::hard::{Hard, Work};
use crate::request::{HeldBack, Job};
use crate::space::State;
use crate::{Partial, WriteCache};
use std::collections::VecDeque;
use units::{HostOp, Nanos};

/// Nobody waits for this page.
pub(crate) const NOBODY: u32 = u32::MAX;

/// A change of the map on its way to the journal.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// First page.
    pub page: u32,
    /// Where it is now; [`NOWHERE`] for a trim.
    pub place: u32,
    /// Pages; more than one only for a trim.
    pub pages: u32,
    /// Where the page was before.
    pub old: u32,
    /// Where the pages of a trim were before.
    pub olds: Vec<u32>,
}

/// A virtual superpage that is being filled.
#[derive(Debug)]
pub(crate) struct Open {
    pub superpage: u32,
    pub buffer: u32,
    /// Slots filled.
    pub filled: u32,
    /// Slots of them that were issued.
    pub issued: u32,
    /// When the first of the others was filled.
    pub since: Nanos,
    /// Who waits for the slots that are not issued.
    pub owners: Vec<u32>,
    /// Their records, and those of trims between them.
    pub records: Vec<Record>,
}

impl Open {
    pub fn has_unissued(&self) -> bool {
        self.filled > self.issued
    }
}

/// A virtual superpage whose data are in memory.
#[derive(Debug)]
pub(crate) struct InMemory {
    pub buffer: u32,
    /// Entries of it that are not committed.
    pub parts: u32,
    /// More pages may come.
    pub open: bool,
    /// Filled by the host, not by reclamation.
    pub host: bool,
}

/// Something issued. Entries are committed in the order of issue: their records enter the journal in the order in which
/// the map changed, for each page.
#[derive(Debug)]
pub(crate) struct Entry {
    pub superpage: u32,
    pub first_slot: u32,
    /// Slots written; 0 for a trim.
    pub slots: u32,
    pub records: Vec<Record>,
    pub owners: Vec<u32>,
    /// It overwrites the pages that are there.
    pub in_place: bool,
    pub complete: bool,
    /// How often it failed.
    pub failures: u32,
}

/// What is under the part of a page that is written.
enum Base {
    Zeros,
    /// A buffer, and where in it.
    Memory(u32, usize),
    /// A virtual page on the device.
    Device(u32),
}

impl Hard {
    pub(crate) fn page_bytes(&self) -> usize {
        self.layout.page_sectors as usize * self.options.cell_bytes as usize
    }

    /// Entries issued so far: the number of the next one.
    pub(crate) fn issued(&self) -> u64 {
        self.committed + self.entries.len() as u64
    }

    /// Requests that change something may begin.
    pub(crate) fn admits(&self) -> bool {
        self.startup == Startup::Ready && self.has_records(self.locks.len())
    }

    /// A page of the host can be placed.
    fn has_room(&self) -> bool {
        let open = self.host.is_some();
        let is_there = self.space.free() > self.options.var_free && !self.is_behind();
        let another = is_there && self.host_buffers < self.options.buffers.max(2);
        (open || another) && self.startup == Startup::Ready && self.has_records(0)
    }

    /// Begins a write or a trim.
    pub(crate) fn begin(&mut self, request: u32, first_sector: u64, sectors: u32, data: &[u8]) {
        let (op, fua) = (self.front.requests.at(request).op, self.front.requests.at(request).fua);
        if op == HostOp::Write {
            self.begin_write(request, first_sector, sectors, data);
        } else {
            self.begin_trim(request, first_sector, sectors);
        }
        self.close_host |= fua;
        self.part_done(request, false);
    }

    fn begin_write(&mut self, request: u32, first_sector: u64, sectors: u32, data: &[u8]) {
        let (size, cell) = (self.layout.page_sectors, self.options.cell_bytes as usize);
        let mut done = 0;
        while done < sectors {
            let sector = first_sector + u64::from(done);
            let (page, first) = ((sector / u64::from(size)) as u32, (sector % u64::from(size)) as u32);
            let rest = &data[done as usize * cell..];
            self.front.requests.at(request).pending += 1;
            if sectors - done >= self.layout.superpage_sectors && first == 0 && self.write_in_place(request, page, rest)
            {
                done += self.layout.superpage_sectors;
                continue;
            }
            let count = (size - first).min(sectors - done);
            self.write_page(request, page, first, &rest[..count as usize * cell], count);
            done += count;
        }
    }

    /// Writes sectors of a page, at once if that can be.
    fn write_page(&mut self, request: u32, page: u32, first: u32, data: &[u8], sectors: u32) {
        let whole = sectors == self.layout.page_sectors;
        let locked = self.locks.contains_key(&page);
        if !locked && self.has_room() && (whole || !matches!(self.base(page), Base::Device(_))) {
            self.place(request, page, first, sectors, data);
            return;
        }
        let job = Job::write(request, (first, sectors), data, self.page_bytes(), self.options.cell_bytes);
        self.locks.entry(page).or_default().push_back(job);
        if !locked {
            self.start(page);
        }
    }

    fn base(&self, page: u32) -> Base {
        let place = self.space.map[page as usize];
        let slots = self.layout.slots();
        match self.memory.get(&(place / slots)) {
            _ if place == NOWHERE => Base::Zeros,
            Some(memory) => Base::Memory(memory.buffer, (place % slots) as usize * self.page_bytes()),
            None => Base::Device(place),
        }
    }

    /// Goes on with the writes that wait for a page.
    fn start(&mut self, page: u32) {
        while let Some(job) = self.locks.get(&page).and_then(VecDeque::front) {
            if !job.trim {
                break;
            }
            let request = job.request;
            self.locks.get_mut(&page).and_then(VecDeque::pop_front);
            self.trim_pages(page, page + 1);
            self.part_done(request, false);
        }
        let Some(job) = self.locks.get(&page).and_then(VecDeque::front) else {
            self.locks.remove(&page);
            return;
        };
        match self.base(page) {
            Base::Device(place) if job.sectors < self.layout.page_sectors => {
                let superpage = place / self.layout.slots();
                self.space.pin(superpage);
                self.counts.merge_reads += 1;
                let (sector, sectors) = (self.layout.sector_of_page(place), self.layout.page_sectors);
                self.send(Work::Merge { page, superpage }, HostOp::Read, sector, sectors);
            }
            _ => self.ready.push_back(page),
        }
    }

    /// The old contents of a page are there.
    pub(crate) fn merge_completed(&mut self, page: u32, failed: bool, data: &[u8]) {
        let Some(queue) = self.locks.get_mut(&page) else { return };
        let job = queue.front_mut().expect("a page is locked by a write");
        if failed {
            let request = job.request;
            queue.pop_front();
            self.part_done(request, true);
            self.start(page);
            return;
        }
        job.complete(data, self.layout.page_sectors, self.options.cell_bytes);
        self.ready.push_back(page);
    }

    /// Begins what was held back.
    pub(crate) fn pump_held(&mut self) -> bool {
        if self.held.is_empty() {
            return false;
        }
        if self.startup == Startup::Lazy {
            self.startup = Startup::Running;
            return true;
        }
        if !self.admits() {
            return false;
        }
        let HeldBack { request, first_sector, sectors, data } = self.held.pop_front().expect("there is one");
        self.begin(request, first_sector, sectors, &data);
        true
    }

    /// Places a page that waited for room.
    pub(crate) fn pump_ready(&mut self) -> bool {
        if self.ready.is_empty() || !self.has_room() {
            return false;
        }
        let page = self.ready.pop_front().expect("there is one");
        let queue = self.locks.get_mut(&page).expect("a page that waits is locked");
        let partial = queue.front().is_some_and(|job| job.sectors < self.layout.page_sectors);
        if partial && matches!(self.base(page), Base::Device(_)) {
            self.start(page);
            return true;
        }
        let job = self.locks.get_mut(&page).and_then(VecDeque::pop_front).expect("a page that waits has a write");
        self.place(job.request, page, job.first, job.sectors, job.bytes(self.options.cell_bytes));
        self.start(page);
        true
    }

    /// Writes the host's virtual superpage as it is.
    pub(crate) fn pump_close(&mut self) -> bool {
        std::mem::take(&mut self.close_host) && self.issue_host()
    }

    /// Puts sectors of a page, over what was there, into the next slot.
    fn place(&mut self, request: u32, page: u32, first: u32, sectors: u32, data: &[u8]) {
        self.issue_copies_of(page, page + 1);
        let base = if sectors == self.layout.page_sectors { Base::Zeros } else { self.base(page) };
        let mut open = match self.host.take() {
            Some(open) => open,
            None => self.open_another(true).expect("there is room"),
        };
        let (bytes, cell) = (self.page_bytes(), self.options.cell_bytes as usize);
        let at = open.filled as usize * bytes;
        if let Base::Memory(buffer, offset) = base {
            self.buffers.copy((buffer, offset), (open.buffer, at), bytes);
        }
        let at = at + first as usize * cell;
        self.buffers.get_mut(open.buffer)[at..at + data.len()].copy_from_slice(data);
        let fua = self.front.requests.at(request).fua;
        let answered = self.options.write_cache == WriteCache::Volatile && !fua;
        self.fill(&mut open, page, if answered { NOBODY } else { request });
        self.counts.host_pages += 1;
        self.close_host |= fua;
        let full = open.filled == self.layout.slots();
        self.host = Some(open);
        if full {
            self.issue_host();
        }
        if answered {
            self.part_done(request, false);
        }
    }

    /// A virtual superpage to fill.
    pub(crate) fn open_another(&mut self, host: bool) -> Option<Open> {
        let superpage = self.space.take()?;
        let buffer = self.buffers.take();
        self.counts.superpages += 1;
        self.host_buffers += u32::from(host);
        self.memory.insert(superpage, InMemory { buffer, parts: 0, open: true, host });
        Some(Open { superpage, buffer, filled: 0, issued: 0, since: 0, owners: Vec::new(), records: Vec::new() })
    }

    /// Maps a page to the next slot.
    pub(crate) fn fill(&mut self, open: &mut Open, page: u32, owner: u32) {
        let place = open.superpage * self.layout.slots() + open.filled;
        let old = self.space.place(page, place);
        self.journal.assigned += 1;
        if !open.has_unissued() {
            open.since = self.now;
        }
        open.records.push(Record { page, place, pages: 1, old, olds: Vec::new() });
        open.owners.push(owner);
        open.filled += 1;
    }

    /// Writes what the host filled; false if there is nothing.
    pub(crate) fn issue_host(&mut self) -> bool {
        match self.host.take() {
            Some(open) if open.has_unissued() => {
                self.host = self.issue(open, self.options.partial);
                true
            }
            open => {
                self.host = open;
                false
            }
        }
    }

    /// Writes what reclamation filled; false if there is nothing.
    pub(crate) fn issue_copies(&mut self) -> bool {
        match self.copies.take() {
            Some(open) => {
                self.copies = self.issue(open, Partial::Pad);
                true
            }
            None => false,
        }
    }

    /// A copy that waits to be written goes before what replaces it, for the order of the records.
    fn issue_copies_of(&mut self, first: u32, end: u32) {
        let Some(open) = &self.copies else { return };
        if open.records.iter().any(|record| (first..end).contains(&record.page)) {
            self.issue_copies();
        }
    }

    /// Issues the slots that are not. What is left of it to fill, if anything.
    fn issue(&mut self, mut open: Open, partial: Partial) -> Option<Open> {
        let slots = self.layout.slots();
        let closes = open.filled == slots || partial == Partial::Pad;
        let end = if closes { slots } else { open.filled };
        if closes {
            self.counts.pad_pages += u64::from(slots - open.filled);
            self.space.close(open.superpage);
        }
        let entry = Entry {
            superpage: open.superpage,
            first_slot: open.issued,
            slots: end - open.issued,
            records: std::mem::take(&mut open.records),
            owners: std::mem::take(&mut open.owners),
            in_place: false,
            complete: false,
            failures: 0,
        };
        open.issued = open.filled;
        self.memory.get_mut(&open.superpage).expect("an open one is in memory").open = !closes;
        self.push(entry);
        (!closes).then_some(open)
    }

    /// Writes whole pages where they are, if one virtual superpage holds exactly them.
    fn write_in_place(&mut self, request: u32, page: u32, data: &[u8]) -> bool {
        let slots = self.layout.slots();
        if !self.options.bypass || !page.is_multiple_of(slots) || self.host_buffers >= self.options.buffers.max(2) {
            return false;
        }
        let place = self.space.map[page as usize];
        let owned = |slot: u32| self.space.map[(page + slot) as usize] == place + slot;
        let whole = place != NOWHERE && place.is_multiple_of(slots) && (0..slots).all(owned);
        let superpage = place / slots;
        if !whole || self.space.state(superpage) != State::Used || self.locks.range(page..page + slots).next().is_some()
        {
            return false;
        }
        let buffer = self.buffers.take();
        let bytes = self.buffers.get(buffer).len();
        self.buffers.get_mut(buffer).copy_from_slice(&data[..bytes]);
        self.host_buffers += 1;
        self.memory.insert(superpage, InMemory { buffer, parts: 0, open: false, host: true });
        self.space.rewrite(superpage);
        self.counts.in_place_pages += u64::from(slots);
        let answered = self.options.write_cache == WriteCache::Volatile && !self.front.requests.at(request).fua;
        let owners = vec![if answered { NOBODY } else { request }];
        let (records, complete) = (Vec::new(), false);
        self.push(Entry { superpage, first_slot: 0, slots, records, owners, in_place: true, complete, failures: 0 });
        if answered {
            self.part_done(request, false);
        }
        true
    }

    /// Issues an entry, whose data are in memory.
    fn push(&mut self, entry: Entry) {
        let number = self.issued();
        for owner in entry.owners.iter().filter(|owner| **owner != NOBODY) {
            self.front.requests.at(*owner).target = number + 1;
        }
        if entry.slots > 0 {
            self.memory.get_mut(&entry.superpage).expect("data to write are in memory").parts += 1;
            self.send_data(number, entry.superpage, entry.first_slot, entry.slots);
        }
        self.entries.push_back(entry);
    }

    pub(crate) fn send_data(&mut self, number: u64, superpage: u32, first_slot: u32, slots: u32) {
        let sector = self.layout.sector_of_page(superpage * self.layout.slots() + first_slot);
        self.send(Work::Data(number), HostOp::Write, sector, slots * self.layout.page_sectors);
    }

    /// The data of an entry that is being written.
    pub(crate) fn entry_data(&self, number: u64, sectors: u32) -> &[u8] {
        let entry = &self.entries[(number - self.committed) as usize];
        let at = entry.first_slot as usize * self.page_bytes();
        let length = sectors as usize * self.options.cell_bytes as usize;
        &self.buffers.get(self.memory[&entry.superpage].buffer)[at..at + length]
    }

    /// Unmaps whole pages; those that have writes waiting in their turn.
    fn begin_trim(&mut self, request: u32, first_sector: u64, sectors: u32) {
        let size = u64::from(self.layout.page_sectors);
        let first = first_sector.div_ceil(size) as u32;
        let end = ((first_sector + u64::from(sectors)) / size) as u32;
        if first >= end {
            return;
        }
        let locked: Vec<u32> = self.locks.range(first..end).map(|(page, _)| *page).collect();
        let mut from = first;
        for page in locked {
            self.trim_pages(from, page);
            from = page + 1;
            self.front.requests.at(request).pending += 1;
            self.locks.get_mut(&page).expect("it is locked").push_back(Job::trim(request));
        }
        self.trim_pages(from, end);
    }

    fn trim_pages(&mut self, first: u32, end: u32) {
        self.issue_copies_of(first, end);
        let all = (first..end).map(|page| self.space.unmap(page));
        let olds: Vec<u32> = all.filter(|old| *old != NOWHERE).collect();
        if olds.is_empty() {
            return;
        }
        self.journal.assigned += 1;
        let record = Record { page: first, place: NOWHERE, pages: end - first, old: NOWHERE, olds };
        match &mut self.host {
            // Behind the pages that were placed before.
            Some(open) if open.has_unissued() => open.records.push(record),
            _ => {
                let (records, owners) = (vec![record], Vec::new());
                let (in_place, complete, failures) = (false, true, 0);
                self.push(Entry {
                    superpage: 0,
                    first_slot: 0,
                    slots: 0,
                    records,
                    owners,
                    in_place,
                    complete,
                    failures,
                });
                self.commit();
            }
        }
    }
}
