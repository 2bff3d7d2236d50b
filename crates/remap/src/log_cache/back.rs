//! Writing back: the oldest segments go home, several at a time.
//!
//! ```text
//! choose segments -> read what is not in memory -> write pages home, sorted -> flush -> the tail of later headers
//! ```

use super::{HOME, LogCache, MOST_FAILURES, Startup, Work};
use crate::Command;
use std::collections::{BTreeMap, VecDeque};
use units::HostOp;

/// Reads, and then writes, under way at a time.
const AT_A_TIME: u32 = 16;

/// Segments that are being written back: all from the first that is not home up to `last`.
#[derive(Debug)]
pub(super) struct Batch {
    pub last: u64,
    /// Pages and where they are in the log, by page.
    pages: Vec<(u32, u32)>,
    /// Slots of segments that have to be read: segment, first slot, slots.
    to_load: VecDeque<(u32, u32, u32)>,
    /// What was read, by segment.
    buffers: BTreeMap<u32, u32>,
    /// The next page to be written.
    next: usize,
    /// Commands under way.
    under_way: u32,
}

impl Batch {
    /// All is written, and has to be flushed.
    pub fn is_written(&self) -> bool {
        self.to_load.is_empty() && self.under_way == 0 && self.next == self.pages.len()
    }
}

impl LogCache {
    /// Segments that are free, or are as soon as a header says so.
    pub(super) fn free(&self) -> u32 {
        let used = self.next - 1 - self.home;
        (u64::from(self.layout.segments()) - used) as u32
    }

    pub(super) fn has_idle_work(&self) -> bool {
        !self.background && self.startup == Startup::Ready && self.completed > self.home
    }

    pub(super) fn wants_write_back(&self) -> bool {
        let is_low = self.free() <= (self.layout.segments() / 4).max(2);
        match self.startup {
            Startup::Ready => is_low || self.background,
            // The header that begins a life has no room.
            Startup::Wanted => !self.is_in_window(),
            _ => false,
        }
    }

    pub(super) fn pump_back(&mut self) -> bool {
        if self.batch.is_none() {
            return self.wants_write_back() && self.durable > self.home && self.begin_batch();
        }
        self.load() || self.write_home()
    }

    fn begin_batch(&mut self) -> bool {
        let most = u64::from(self.options.batch.min(self.layout.segments() / 4).max(1));
        let last = self.durable.min(self.home + most);
        let mut pages = Vec::new();
        for number in self.home + 1..=last {
            let index = self.layout.place_of(number);
            let segment = &self.segments[index as usize];
            if segment.number != number {
                continue;
            }
            for (place, entry) in (index * self.layout.entries()..).zip(&segment.entries) {
                for page in entry.page..entry.page + entry.pages {
                    let now = self.map[page as usize];
                    // What is newer and may yet be lost does not count.
                    if now == place || !self.is_durable(now) {
                        pages.push((page, place));
                    }
                }
            }
        }
        // Of the versions of a page the last one of the batch.
        pages.reverse();
        pages.sort_by_key(|(page, _)| *page);
        pages.dedup_by_key(|(page, _)| *page);
        self.counts.write_backs += 1;
        self.counts.written_back_segments += last - self.home;
        let to_load = self.to_load(&pages);
        let is_empty = pages.is_empty();
        self.batch = Some(Batch { last, pages, to_load, buffers: BTreeMap::new(), next: 0, under_way: 0 });
        if is_empty {
            // Newer versions of all of them are durable already.
            self.batch_is_home();
        }
        true
    }

    /// Slots of these pages that are not in memory, those in a row together.
    fn to_load(&self, pages: &[(u32, u32)]) -> VecDeque<(u32, u32, u32)> {
        let slots = pages.iter().filter_map(|(_, place)| {
            let (segment, entry) = self.entry(*place);
            Some((segment, entry.slot?)).filter(|_| self.segments[segment as usize].buffer.is_none())
        });
        let mut slots: Vec<(u32, u32)> = slots.collect();
        slots.sort_unstable();
        let mut runs: VecDeque<(u32, u32, u32)> = VecDeque::new();
        for (segment, slot) in slots {
            match runs.back_mut() {
                Some((known, first, count)) if *known == segment && *first + *count == slot => *count += 1,
                _ => runs.push_back((segment, slot, 1)),
            }
        }
        runs
    }

    /// Reads a run of slots.
    fn load(&mut self) -> bool {
        let Some(batch) = self.batch.as_mut().filter(|batch| batch.under_way < AT_A_TIME) else { return false };
        let Some((segment, slot, slots)) = batch.to_load.pop_front() else { return false };
        batch.under_way += 1;
        batch.buffers.entry(segment).or_insert_with(|| self.buffers.take_any());
        self.counts.write_back_reads += 1;
        let (sector, sectors) = (self.layout.slot_sector(segment, slot), slots * self.layout.page_sectors());
        self.send(Work::Load { segment, slot, tries: 0 }, HostOp::Read, sector, sectors);
        true
    }

    pub(super) fn load_completed(
        &mut self,
        (segment, slot, tries): (u32, u32, u32),
        command: &Command,
        failed: bool,
        data: &[u8],
    ) {
        if failed && tries + 1 < MOST_FAILURES {
            let Command { first_sector, sectors, .. } = *command;
            self.send(Work::Load { segment, slot, tries: tries + 1 }, HostOp::Read, first_sector, sectors);
            return;
        }
        if failed {
            self.break_down();
            return;
        }
        let at = self.offset(slot);
        let length = command.sectors as usize * self.options.cell_bytes as usize;
        let batch = self.batch.as_mut().expect("it is being written back");
        batch.under_way -= 1;
        self.buffers.get_mut(batch.buffers[&segment])[at..at + length].copy_from_slice(&data[..length]);
    }

    /// Writes a run of pages home.
    fn write_home(&mut self) -> bool {
        let Some(batch) = self.batch.as_ref() else { return false };
        // Once writing has begun, nothing is read any more.
        let is_loaded = batch.to_load.is_empty() && (batch.next > 0 || batch.under_way == 0);
        if !is_loaded || batch.under_way >= AT_A_TIME || batch.next == batch.pages.len() {
            return false;
        }
        let pages = &batch.pages[batch.next..];
        let first = pages[0].0;
        let most = self.layout.segment_pages();
        let count = (0..most).zip(pages).take_while(|(index, (page, _))| *page == first + index).count();
        let (sector, sectors) = (self.layout.page_sector(first), count as u32 * self.layout.page_sectors());
        if self.is_read(sector, sectors) {
            return false;
        }
        let buffer = self.buffers.take_any();
        let bytes = self.page_bytes();
        for (index, (_, place)) in pages[..count].iter().enumerate() {
            let (segment, entry) = self.entry(*place);
            let Some(slot) = entry.slot else {
                self.buffers.get_mut(buffer)[index * bytes..][..bytes].fill(0);
                continue;
            };
            let from = self.segments[segment as usize].buffer.or_else(|| batch.buffers.get(&segment).copied());
            let from = from.expect("it is in memory, or was read");
            self.buffers.copy((from, self.offset(slot)), (buffer, index * bytes), bytes);
        }
        let batch = self.batch.as_mut().expect("there is one");
        batch.next += count;
        batch.under_way += 1;
        self.counts.write_back_pages += count as u64;
        self.counts.write_back_commands += 1;
        self.send(Work::Home { buffer, tries: 0 }, HostOp::Write, sector, sectors);
        true
    }

    pub(super) fn home_completed(&mut self, (buffer, tries): (u32, u32), command: &Command, failed: bool) {
        if failed && tries + 1 < MOST_FAILURES && !self.counts.broken {
            self.send(Work::Home { buffer, tries: tries + 1 }, HostOp::Write, command.first_sector, command.sectors);
            return;
        }
        self.buffers.release(buffer);
        if failed {
            self.break_down();
            return;
        }
        self.batch.as_mut().expect("it is being written back").under_way -= 1;
    }

    /// The pages of a batch are home, durable.
    pub(super) fn batch_is_home(&mut self) {
        let Batch { last, pages, buffers, .. } = self.batch.take().expect("there is one");
        for (page, place) in pages {
            if self.map[page as usize] == place {
                self.map_to(page, HOME);
            }
        }
        for buffer in buffers.into_values() {
            self.buffers.release(buffer);
        }
        for number in self.home + 1..=last {
            let index = self.layout.place_of(number);
            if self.segments[index as usize].number == number {
                self.segments[index as usize].entries = Vec::new();
                self.forget(index);
                self.kept.retain(|kept| *kept != index);
            }
        }
        self.home = last;
    }
}
