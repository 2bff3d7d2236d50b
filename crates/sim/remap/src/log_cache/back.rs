//! Writing back: the oldest segments go home, several at a time.
//!
//! 1. Choose durable segments behind the ones that are home, and of their pages the ones whose newest durable version
//!    they hold ([`LogCache::begin_batch`]).
//! 2. Read what is not in memory ([`LogCache::load`]).
//! 3. Write the pages home, sorted, neighbours in one command, where no read of the host is under way
//!    ([`LogCache::write_home`]).
//! 4. When a flush made them durable, the segments are free as soon as a later header says so ([`LogCache::finish`]).

use super::ring::Ring;
use super::{HOME, LogCache, Work};
use crate::shell::host::{Completion, Host, Life};
use std::collections::{BTreeMap, VecDeque};

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
    under_way: u32,
}

impl Batch {
    /// All is written, and has to be flushed.
    pub fn is_written(&self) -> bool {
        self.to_load.is_empty() && self.under_way == 0 && self.next == self.pages.len()
    }
}

impl LogCache {
    pub(super) fn wants_write_back(&self, host: &Host<Work>) -> bool {
        let is_low = self.line.free() <= (self.layout.segments() / 4).max(2);
        match host.life() {
            Life::Ready => is_low || host.is_background(),
            // The header that begins a life has no room.
            Life::Wanted => !self.line.is_in_window(),
            Life::Lazy | Life::Beginning => false,
        }
    }

    /// Does the next thing for the batch under way, or begins one that is wanted.
    pub(super) fn pump_back(&mut self, host: &mut Host<Work>) -> bool {
        if self.batch.is_some() {
            return self.load(host) || self.write_home(host);
        }
        let begins = host.durable() > self.line.home && self.wants_write_back(host);
        if begins {
            self.begin_batch(host);
        }
        begins
    }

    fn begin_batch(&mut self, host: &mut Host<Work>) {
        let (ring, line) = (&self.ring, &self.line);
        let most = u64::from(self.options.batch.min(self.layout.segments() / 4).max(1));
        let (last, durable) = (host.durable().min(line.home + most), host.durable());
        // Whether a page at this place could be lost by a power cut.
        let is_durable = |place: u32| place == HOME || ring.at(ring.entry(place).0).number <= durable;
        let mut pages = Vec::new();
        for number in line.home + 1..=last {
            let index = self.layout.place_of(number);
            let segment = ring.at(index);
            if segment.number != number {
                continue;
            }
            for (place, entry) in (index * self.layout.entries()..).zip(&segment.entries) {
                // What is newer and may yet be lost does not count.
                let counts = |now: u32| now == place || !is_durable(now);
                pages.extend(entry.pages().filter(|page| counts(ring.map()[*page as usize])).map(|page| (page, place)));
            }
        }
        // Of the versions of a page the last one of the batch.
        pages.reverse();
        pages.sort_by_key(|(page, _)| *page);
        pages.dedup_by_key(|(page, _)| *page);
        self.counts.write_backs += 1;
        self.counts.written_back_segments += last - line.home;
        let (to_load, is_empty) = (to_load(ring, &pages), pages.is_empty());
        self.batch = Some(Batch { last, pages, to_load, buffers: BTreeMap::new(), next: 0, under_way: 0 });
        if is_empty {
            // Newer versions of all of them are durable already.
            self.finish(host);
        }
    }

    /// Reads a run of slots.
    fn load(&mut self, host: &mut Host<Work>) -> bool {
        let Some(batch) = self.batch.as_mut().filter(|batch| batch.under_way < AT_A_TIME) else { return false };
        let Some((segment, slot, slots)) = batch.to_load.pop_front() else { return false };
        batch.under_way += 1;
        let buffer = *batch.buffers.entry(segment).or_insert_with(|| host.buffers.take_any());
        self.counts.write_back_reads += 1;
        let (sector, sectors) = (self.layout.slot_sector(segment, slot), slots * self.layout.page_sectors);
        host.read(Work::Load, (buffer, self.ring.offset(slot)), sector, sectors);
        true
    }

    pub(super) fn load_completed(&mut self, host: &mut Host<Work>, done: &Completion) {
        if done.failed {
            host.retry(Work::Load, done);
        } else {
            self.batch.as_mut().expect("it is being written back").under_way -= 1;
        }
    }

    /// Writes a run of pages home.
    fn write_home(&mut self, host: &mut Host<Work>) -> bool {
        let (Some(batch), ring) = (self.batch.as_mut(), &self.ring) else { return false };
        // Once writing has begun, nothing is read any more.
        let is_loaded = batch.to_load.is_empty() && (batch.next > 0 || batch.under_way == 0);
        if !is_loaded || batch.under_way >= AT_A_TIME || batch.next == batch.pages.len() {
            return false;
        }
        let pages = &batch.pages[batch.next..];
        let first = pages[0].0;
        let most = self.layout.segment_pages();
        let count = (0..most).zip(pages).take_while(|(index, (page, _))| *page == first + index).count();
        let (sector, sectors) = (self.layout.page_sector(first), count as u32 * self.layout.page_sectors);
        if host.is_read(sector, sectors) {
            return false;
        }
        let (buffer, bytes) = (host.buffers.take_any(), host.page_bytes());
        for (index, (_, place)) in pages[..count].iter().enumerate() {
            let (segment, entry) = ring.entry(*place);
            let Some(slot) = entry.slot else {
                host.buffers.get_mut(buffer)[index * bytes..][..bytes].fill(0);
                continue;
            };
            let from = ring.at(segment).buffer.or_else(|| batch.buffers.get(&segment).copied());
            let from = from.expect("it is in memory, or was read");
            host.buffers.copy((from, ring.offset(slot)), (buffer, index * bytes), bytes);
        }
        batch.next += count;
        batch.under_way += 1;
        self.counts.write_back_pages += count as u64;
        self.counts.write_back_commands += 1;
        host.write(Work::Home, (buffer, 0), sector, sectors);
        true
    }

    pub(super) fn home_completed(&mut self, host: &mut Host<Work>, done: &Completion) {
        if done.failed && !host.is_broken() && host.retry(Work::Home, done) {
            return;
        }
        host.release(done);
        if !done.failed {
            self.batch.as_mut().expect("it is being written back").under_way -= 1;
        }
    }

    /// The pages of a batch are home, durable.
    pub(super) fn finish(&mut self, host: &mut Host<Work>) {
        let Batch { last, pages, buffers, .. } = self.batch.take().expect("there is one");
        for (page, place) in pages {
            if self.ring.map()[page as usize] == place {
                self.ring.map_to(page, HOME);
            }
        }
        for buffer in buffers.into_values() {
            host.buffers.release(buffer);
        }
        (self.line.home + 1..=last).for_each(|number| self.ring.empty(host, number));
        self.line.set_home(host, last);
    }
}

/// Slots of these pages that are not in memory, those in a row together.
fn to_load(ring: &Ring, pages: &[(u32, u32)]) -> VecDeque<(u32, u32, u32)> {
    let slots = pages.iter().filter_map(|(_, place)| {
        let (segment, entry) = ring.entry(*place);
        Some((segment, entry.slot?)).filter(|_| ring.at(segment).buffer.is_none())
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
