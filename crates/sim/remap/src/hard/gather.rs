//! Pages on their way to the device: the open virtual superpages, and their issued parts.

use super::disk::NOWHERE;
use super::journal::Journal;
use super::space::{Space, State};
use super::{Layout, Options, Partial, Work};
use crate::shell::host::{Host, RequestId};
use crate::{PageWrite, Source};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use units::Nanos;

/// A change of the map on its way to the journal.
#[derive(Clone, Debug)]
pub(super) struct Record {
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
pub(super) struct Open {
    pub superpage: u32,
    pub buffer: u32,
    pub filled: u32,
    /// Slots of them that were issued.
    pub issued: u32,
    /// When the first of the others was filled.
    pub since: Nanos,
    /// Requests that wait for the slots that are not issued.
    pub owners: Vec<RequestId>,
    /// Their records, and the records of trims between them.
    pub records: Vec<Record>,
}

impl Open {
    pub fn has_unissued(&self) -> bool {
        self.filled > self.issued
    }
}

/// A virtual superpage whose data are in memory.
#[derive(Debug)]
pub(super) struct InMemory {
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
pub(super) struct Entry {
    pub superpage: u32,
    pub first_slot: u32,
    /// Slots written; 0 for a trim.
    pub slots: u32,
    pub records: Vec<Record>,
    /// It overwrites the pages that are there.
    pub in_place: bool,
    /// How often it failed.
    pub failures: u32,
}

impl Entry {
    fn new(superpage: u32) -> Self {
        Self { superpage, first_slot: 0, slots: 0, records: Vec::new(), in_place: false, failures: 0 }
    }
}

/// Pages and virtual superpages written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Written {
    /// Pages that the host wrote in place.
    pub in_place_pages: u64,
    /// Pages that reclamation copied.
    pub var_copies: u64,
    /// Pages written again elsewhere because their write failed.
    pub moved_pages: u64,
    /// Virtual superpages taken for all these.
    pub superpages: u64,
    /// Slots of them that were written with nothing in them, or given up.
    pub pad_pages: u64,
}

/// See the module description.
#[derive(Debug)]
pub(super) struct Gather {
    pub(super) layout: Layout,
    options: Options,
    pub(super) host: Option<Open>,
    pub(super) copies: Option<Open>,
    /// Virtual superpages whose data are in memory.
    pub(super) memory: BTreeMap<u32, InMemory>,
    /// How many of them hold data of the host.
    pub(super) host_buffers: u32,
    /// Issued parts that are not committed, in the order of issue.
    pub(super) entries: VecDeque<Entry>,
    /// Records made so far.
    pub(super) made: u64,
    pub(super) written: Written,
}

impl Gather {
    pub fn new(layout: &Layout, options: &Options) -> Self {
        Self {
            layout: *layout,
            options: *options,
            host: None,
            copies: None,
            memory: BTreeMap::new(),
            host_buffers: 0,
            entries: VecDeque::new(),
            made: 0,
            written: Written::default(),
        }
    }

    /// Records made so far.
    pub fn made(&self) -> u64 {
        self.made
    }

    pub fn written(&self) -> &Written {
        &self.written
    }

    /// Pages of the host are being gathered in a virtual superpage.
    pub fn is_open(&self) -> bool {
        self.host.is_some()
    }

    /// One more virtual superpage of the host may be held in memory.
    pub fn has_memory(&self) -> bool {
        self.host_buffers < self.options.terms.buffers.max(2)
    }

    /// Since when the oldest page of the host that is not issued waits.
    pub fn since(&self) -> Option<Nanos> {
        self.host.as_ref().filter(|open| open.has_unissued()).map(|open| open.since)
    }

    /// Slots of open ones that are still to be filled.
    pub fn open_slots(&self) -> u64 {
        let opens = self.host.iter().chain(&self.copies);
        opens.map(|open| u64::from(self.layout.slots() - open.filled)).sum()
    }

    /// Slots that copies can take before another virtual superpage is needed.
    pub fn copy_slots(&self) -> u32 {
        self.copies.as_ref().map_or(0, |open| self.layout.slots() - open.filled)
    }

    /// Where the contents at a virtual page are.
    pub fn locate(&self, place: u32) -> Source {
        let slots = self.layout.slots();
        let page_bytes = (self.layout.page_sectors * self.options.terms.cell_bytes) as usize;
        match self.memory.get(&(place / slots)) {
            _ if place == NOWHERE => Source::Zeros,
            Some(memory) => Source::Memory { buffer: memory.buffer, at: (place % slots) as usize * page_bytes },
            None => Source::Device { sector: self.layout.sector_of_page(place), part: 0 },
        }
    }

    /// Puts a page into the next slot. There is room.
    pub fn place(&mut self, host: &mut Host<Work>, space: &mut Space, write: PageWrite<'_>) {
        let PageWrite { page, data, owner, .. } = write;
        self.issue_copies_of(host, space, page..page + 1);
        let mut open = match self.host.take() {
            Some(open) => open,
            None => self.open_another(host, space, true).expect("there is room"),
        };
        let at = open.filled as usize * host.page_bytes();
        host.buffers.get_mut(open.buffer)[at..at + data.len()].copy_from_slice(data);
        self.fill(host, space, &mut open, page, owner);
        let full = open.filled == self.layout.slots();
        self.host = Some(open);
        if full {
            self.issue_host(host, space);
        }
    }

    /// Copies a page that a buffer holds into the next slot for copies; false if there is no room.
    pub fn place_copy(&mut self, host: &mut Host<Work>, space: &mut Space, place: u32, buffer: u32) -> bool {
        let open = self.copies.take().or_else(|| self.open_another(host, space, false));
        let Some(mut open) = open else { return false };
        let (bytes, slots) = (host.page_bytes(), self.layout.slots());
        let page = space.page_of(place);
        let from = (buffer, (place % slots) as usize * bytes);
        host.buffers.copy(from, (open.buffer, open.filled as usize * bytes), bytes);
        self.fill(host, space, &mut open, page, None);
        self.written.var_copies += 1;
        let full = open.filled == slots;
        self.copies = Some(open);
        if full {
            self.issue_copies(host, space);
        }
        true
    }

    /// A virtual superpage to fill.
    fn open_another(&mut self, host: &mut Host<Work>, space: &mut Space, is_host: bool) -> Option<Open> {
        let superpage = space.take()?;
        let buffer = host.buffers.take();
        self.written.superpages += 1;
        self.host_buffers += u32::from(is_host);
        self.memory.insert(superpage, InMemory { buffer, parts: 0, open: true, host: is_host });
        Some(Open { superpage, buffer, filled: 0, issued: 0, since: 0, owners: Vec::new(), records: Vec::new() })
    }

    /// Maps a page to the next slot.
    fn fill(&mut self, host: &Host<Work>, space: &mut Space, open: &mut Open, page: u32, owner: Option<RequestId>) {
        let place = open.superpage * self.layout.slots() + open.filled;
        let old = space.place(page, place);
        self.made += 1;
        if !open.has_unissued() {
            open.since = host.now();
        }
        open.records.push(Record { page, place, pages: 1, old, olds: Vec::new() });
        open.owners.extend(owner);
        open.filled += 1;
    }

    /// Writes what the host filled; false if there is nothing.
    pub fn issue_host(&mut self, host: &mut Host<Work>, space: &mut Space) -> bool {
        match self.host.take() {
            Some(open) if open.has_unissued() => {
                self.host = self.issue(host, space, open, self.options.partial);
                true
            }
            open => {
                self.host = open;
                false
            }
        }
    }

    /// Writes what reclamation filled; false if there is nothing.
    pub fn issue_copies(&mut self, host: &mut Host<Work>, space: &mut Space) -> bool {
        match self.copies.take() {
            Some(open) => {
                self.copies = self.issue(host, space, open, Partial::Pad);
                true
            }
            None => false,
        }
    }

    /// A copy that waits to be written goes before what replaces it, for the order of the records.
    fn issue_copies_of(&mut self, host: &mut Host<Work>, space: &mut Space, pages: Range<u32>) {
        let Some(open) = &self.copies else { return };
        if open.records.iter().any(|record| pages.contains(&record.page)) {
            self.issue_copies(host, space);
        }
    }

    /// Issues the slots that are not. What is left of it to fill, if anything.
    fn issue(&mut self, host: &mut Host<Work>, space: &mut Space, mut open: Open, partial: Partial) -> Option<Open> {
        let slots = self.layout.slots();
        let closes = open.filled == slots || partial == Partial::Pad;
        let end = if closes { slots } else { open.filled };
        if closes {
            self.written.pad_pages += u64::from(slots - open.filled);
            space.close(open.superpage);
        }
        let entry = Entry {
            first_slot: open.issued,
            slots: end - open.issued,
            records: std::mem::take(&mut open.records),
            ..Entry::new(open.superpage)
        };
        let owners = std::mem::take(&mut open.owners);
        open.issued = open.filled;
        self.memory.get_mut(&open.superpage).expect("an open one is in memory").open = !closes;
        self.push(host, entry, owners);
        (!closes).then_some(open)
    }

    /// Writes whole pages where they are, if one virtual superpage holds exactly them.
    pub fn place_in_place(&mut self, host: &mut Host<Work>, space: &mut Space, write: PageWrite<'_>) -> bool {
        let PageWrite { page, data, owner, .. } = write;
        let slots = self.layout.slots();
        if !page.is_multiple_of(slots) || !self.has_memory() {
            return false;
        }
        let place = space.map()[page as usize];
        let owned = |slot: u32| space.map()[(page + slot) as usize] == place + slot;
        let whole = place != NOWHERE && place.is_multiple_of(slots) && (0..slots).all(owned);
        let superpage = place / slots;
        if !whole || space.state(superpage) != State::Used || host.is_waited_for(page..page + slots) {
            return false;
        }
        let buffer = host.buffers.take();
        let bytes = host.buffers.get(buffer).len();
        host.buffers.get_mut(buffer).copy_from_slice(&data[..bytes]);
        self.host_buffers += 1;
        self.memory.insert(superpage, InMemory { buffer, parts: 0, open: false, host: true });
        space.rewrite(superpage);
        self.written.in_place_pages += u64::from(slots);
        let owners = owner.into_iter().collect();
        self.push(host, Entry { slots, in_place: true, ..Entry::new(superpage) }, owners);
        true
    }

    /// Issues an entry, whose data are in memory; its number.
    fn push(&mut self, host: &mut Host<Work>, entry: Entry, owners: Vec<RequestId>) -> u64 {
        let number = host.issue(owners);
        if entry.slots > 0 {
            self.memory.get_mut(&entry.superpage).expect("data to write are in memory").parts += 1;
            self.send_data(host, number, &entry);
        }
        self.entries.push_back(entry);
        number
    }

    pub(super) fn send_data(&self, host: &mut Host<Work>, number: u64, entry: &Entry) {
        let sector = self.layout.sector_of_page(entry.superpage * self.layout.slots() + entry.first_slot);
        let from = (self.memory[&entry.superpage].buffer, entry.first_slot as usize * host.page_bytes());
        host.write(Work::Data(number), from, sector, entry.slots * self.layout.page_sectors);
    }

    pub fn trim(&mut self, host: &mut Host<Work>, space: &mut Space, journal: &mut Journal, pages: Range<u32>) {
        self.issue_copies_of(host, space, pages.clone());
        let all = pages.clone().map(|page| space.unmap(page));
        let olds: Vec<u32> = all.filter(|old| *old != NOWHERE).collect();
        if olds.is_empty() {
            return;
        }
        self.made += 1;
        let record = Record { page: pages.start, place: NOWHERE, pages: pages.end - pages.start, old: NOWHERE, olds };
        match &mut self.host {
            // Behind the pages that were placed before.
            Some(open) if open.has_unissued() => open.records.push(record),
            _ => {
                let number = self.push(host, Entry { records: vec![record], ..Entry::new(0) }, Vec::new());
                host.wrote(number);
                self.commit(host, space, journal);
            }
        }
    }
}
