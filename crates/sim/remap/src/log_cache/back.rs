//! Writing back: the oldest segments go home, several at a time.
//!
//! ```text
//! choose segments -> read what is not in memory -> write pages home, sorted -> flush -> the tail of later headers
//! ```

use super::ring::{Line, Ring};
use super::{HOME, LogLayout, LogOptions, Work};
use crate::Shape;
use crate::shell::host::{Completion, Host};
use std::collections::{BTreeMap, VecDeque};
use units::HostOp;

/// Reads, and then writes, under way at a time.
const AT_A_TIME: u32 = 16;

/// Segments that are being written back: all from the first that is not home up to `last`.
#[derive(Debug)]
struct Batch {
    last: u64,
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
    fn is_written(&self) -> bool {
        self.to_load.is_empty() && self.under_way == 0 && self.next == self.pages.len()
    }
}

/// Writing back.
#[derive(Debug)]
pub(super) struct Back {
    layout: LogLayout,
    options: LogOptions,
    batch: Option<Batch>,
    pub write_backs: u64,
    pub segments: u64,
    pub pages: u64,
    pub commands: u64,
    pub reads: u64,
}

impl Back {
    pub fn new(layout: &LogLayout, options: &LogOptions) -> Self {
        Self {
            layout: *layout,
            options: *options,
            batch: None,
            write_backs: 0,
            segments: 0,
            pages: 0,
            commands: 0,
            reads: 0,
        }
    }

    /// Segments up to this one are being written back; 0: none.
    pub fn last(&self) -> u64 {
        self.batch.as_ref().map_or(0, |batch| batch.last)
    }

    /// The batch is written, and has to be flushed.
    pub fn is_written(&self) -> bool {
        self.batch.as_ref().is_some_and(Batch::is_written)
    }

    /// Nothing is being written back.
    pub fn is_idle(&self) -> bool {
        self.batch.is_none()
    }

    /// Does the next thing for the batch under way; `wants`: there should be one.
    pub fn pump(&mut self, host: &mut Host<Work>, ring: &mut Ring, line: &mut Line, wants: bool) -> bool {
        if self.batch.is_none() {
            return wants && line.durable() > line.home() && self.begin(host, ring, line);
        }
        self.load(host) || self.write_home(host, ring)
    }

    fn begin(&mut self, host: &mut Host<Work>, ring: &mut Ring, line: &mut Line) -> bool {
        let most = u64::from(self.options.batch.min(self.layout.segments() / 4).max(1));
        let last = line.durable().min(line.home() + most);
        // Whether a page at this place could be lost by a power cut.
        let is_durable = |place: u32| place == HOME || ring.at(ring.entry(place).0).number <= line.durable();
        let mut pages = Vec::new();
        for number in line.home() + 1..=last {
            let index = self.layout.place_of(number);
            let segment = ring.at(index);
            if segment.number != number {
                continue;
            }
            for (place, entry) in (index * self.layout.entries()..).zip(&segment.entries) {
                for page in entry.page..entry.page + entry.pages {
                    let now = ring.map()[page as usize];
                    // What is newer and may yet be lost does not count.
                    if now == place || !is_durable(now) {
                        pages.push((page, place));
                    }
                }
            }
        }
        // Of the versions of a page the last one of the batch.
        pages.reverse();
        pages.sort_by_key(|(page, _)| *page);
        pages.dedup_by_key(|(page, _)| *page);
        self.write_backs += 1;
        self.segments += last - line.home();
        let to_load = to_load(ring, &pages);
        let is_empty = pages.is_empty();
        self.batch = Some(Batch { last, pages, to_load, buffers: BTreeMap::new(), next: 0, under_way: 0 });
        if is_empty {
            // Newer versions of all of them are durable already.
            self.finish(host, ring, line);
        }
        true
    }

    /// Reads a run of slots.
    fn load(&mut self, host: &mut Host<Work>) -> bool {
        let Some(batch) = self.batch.as_mut().filter(|batch| batch.under_way < AT_A_TIME) else { return false };
        let Some((segment, slot, slots)) = batch.to_load.pop_front() else { return false };
        batch.under_way += 1;
        batch.buffers.entry(segment).or_insert_with(|| host.buffers.take_any());
        self.reads += 1;
        let (sector, sectors) = (self.layout.slot_sector(segment, slot), slots * self.layout.page_sectors());
        host.send(Work::Load { segment, slot }, HostOp::Read, sector, sectors);
        true
    }

    pub fn load_completed(
        &mut self,
        host: &mut Host<Work>,
        ring: &Ring,
        (segment, slot): (u32, u32),
        done: &Completion<'_>,
    ) {
        if done.failed {
            host.retry(Work::Load { segment, slot }, done);
            return;
        }
        let at = ring.offset(slot);
        let length = host.bytes(done.command.sectors);
        let batch = self.batch.as_mut().expect("it is being written back");
        batch.under_way -= 1;
        host.buffers.get_mut(batch.buffers[&segment])[at..at + length].copy_from_slice(&done.data[..length]);
    }

    /// Writes a run of pages home.
    fn write_home(&mut self, host: &mut Host<Work>, ring: &Ring) -> bool {
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
        if host.is_read(sector, sectors) {
            return false;
        }
        let buffer = host.buffers.take_any();
        let bytes = host.page_bytes();
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
        let batch = self.batch.as_mut().expect("there is one");
        batch.next += count;
        batch.under_way += 1;
        self.pages += count as u64;
        self.commands += 1;
        host.write(Work::Home, (buffer, 0), sector, sectors);
        true
    }

    pub fn home_completed(&mut self, host: &mut Host<Work>, done: &Completion<'_>) {
        if done.failed && !host.is_broken() && host.retry(Work::Home, done) {
            return;
        }
        host.release(done);
        if !done.failed {
            self.batch.as_mut().expect("it is being written back").under_way -= 1;
        }
    }

    /// The pages of a batch are home, durable.
    pub fn finish(&mut self, host: &mut Host<Work>, ring: &mut Ring, line: &mut Line) {
        let Batch { last, pages, buffers, .. } = self.batch.take().expect("there is one");
        for (page, place) in pages {
            if ring.map()[page as usize] == place {
                ring.map_to(page, HOME);
            }
        }
        for buffer in buffers.into_values() {
            host.buffers.release(buffer);
        }
        for number in line.home() + 1..=last {
            ring.empty(host, number);
        }
        line.set_home(last);
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
