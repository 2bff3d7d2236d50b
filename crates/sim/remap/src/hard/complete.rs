//! Data writes that were completed, or failed.

use super::Work;
use super::disk::NOWHERE;
use super::gather::{Gather, InMemory, Record};
use super::journal::Journal;
use super::space::Space;
use crate::shell::host::Host;

/// How often an entry is tried at other places before nothing is written any more.
const MOST_TRIES: u32 = 8;

impl Gather {
    /// The write of an entry is done.
    pub fn completed(
        &mut self,
        host: &mut Host<Work>,
        space: &mut Space,
        journal: &mut Journal,
        number: u64,
        failed: bool,
    ) {
        if failed {
            if !host.is_broken() {
                self.move_entry(host, space, number);
            }
            return;
        }
        host.wrote(number);
        self.commit(host, space, journal);
    }

    /// Takes entries that are written with all before them: their records may go to the journal.
    pub fn commit(&mut self, host: &mut Host<Work>, space: &mut Space, journal: &mut Journal) {
        while self.entries.len() as u64 > host.issued() - host.written() {
            let entry = self.entries.pop_front().expect("there is one");
            journal.take(entry.records);
            if entry.slots > 0 {
                self.release(host, space, entry.superpage);
            }
        }
    }

    /// One part of a virtual superpage needs its data no more.
    fn release(&mut self, host: &mut Host<Work>, space: &mut Space, superpage: u32) {
        let memory = self.memory.get_mut(&superpage).expect("what is written is in memory");
        memory.parts -= 1;
        if memory.parts > 0 || memory.open {
            return;
        }
        self.host_buffers -= u32::from(memory.host);
        host.buffers.release(memory.buffer);
        self.memory.remove(&superpage);
        space.written(host, superpage);
    }

    /// Tries an entry that failed at another virtual superpage, or again where it was if there is none.
    fn move_entry(&mut self, host: &mut Host<Work>, space: &mut Space, number: u64) {
        let index = (number - host.written() - 1) as usize;
        let entry = &mut self.entries[index];
        entry.failures += 1;
        let from = entry.superpage;
        if entry.failures >= MOST_TRIES {
            host.break_down();
            return;
        }
        let Some(to) = space.take() else {
            self.send_data(host, number, &self.entries[index]);
            return;
        };
        space.set_bad(from);
        space.close(to);
        self.written.superpages += 1;
        let InMemory { buffer, host: is_host, .. } = self.memory[&from];
        let copy = host.buffers.take();
        host.buffers.copy((buffer, 0), (copy, 0), host.buffers.get(copy).len());
        self.host_buffers += u32::from(is_host);
        self.memory.insert(to, InMemory { buffer: copy, parts: 1, open: false, host: is_host });
        self.entries[index].superpage = to;
        let moved = if self.entries[index].in_place {
            self.map_anew(space, index, from, to)
        } else {
            self.map_elsewhere(space, index, from, to)
        };
        self.written.moved_pages += moved;
        self.written.pad_pages += u64::from(self.layout.slots()) - moved;
        self.send_data(host, number, &self.entries[index]);
        self.release(host, space, from);
    }

    /// Pages that were to be written in place get records. How many.
    fn map_anew(&mut self, space: &mut Space, index: usize, from: u32, to: u32) -> u64 {
        let slots = self.layout.slots();
        let mut records = Vec::new();
        for slot in 0..slots {
            let (old, place) = (from * slots + slot, to * slots + slot);
            let page = space.page_of(old);
            if space.is_valid(old) {
                let old = space.place(page, place);
                records.push(Record { page, place, pages: 1, old, olds: Vec::new() });
            }
        }
        let moved = records.len() as u64;
        self.made += moved;
        let entry = &mut self.entries[index];
        (entry.records, entry.in_place) = (records, false);
        moved
    }

    /// The records of an entry lead to other slots, and later ones away from them. How many.
    fn map_elsewhere(&mut self, space: &mut Space, index: usize, from: u32, to: u32) -> u64 {
        let slots = self.layout.slots();
        let mut moved = 0;
        let mut records = std::mem::take(&mut self.entries[index].records);
        for record in records.iter_mut().filter(|record| record.place != NOWHERE) {
            let new = to * slots + record.place % slots;
            space.relocate(record.page, record.place, new);
            record.place = new;
            moved += 1;
        }
        self.entries[index].records = records;
        let first = self.entries[index].first_slot;
        let range = from * slots + first..from * slots + first + self.entries[index].slots;
        let opens = self.host.iter_mut().chain(&mut self.copies).flat_map(|open| &mut open.records);
        // Records before this entry cannot lead away from what it wrote.
        let issued = self.entries.range_mut(index..).flat_map(|entry| &mut entry.records);
        for record in issued.chain(opens) {
            for old in std::iter::once(&mut record.old).chain(&mut record.olds) {
                if range.contains(old) {
                    let new = to * slots + *old % slots;
                    space.leaves_instead(*old, new);
                    *old = new;
                }
            }
        }
        moved
    }
}
