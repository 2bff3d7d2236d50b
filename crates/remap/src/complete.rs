//! Data writes that were completed, or failed.

use crate::disk::NOWHERE;
use crate::hard::Hard;
use crate::write::{InMemory, NOBODY, Record};

/// How often an entry is tried at other places before nothing is written any more.
const MOST_TRIES: u32 = 8;

impl Hard {
    pub(crate) fn data_completed(&mut self, number: u64, failed: bool) {
        if failed {
            if !self.counts.broken {
                self.move_entry(number);
            }
            return;
        }
        let entry = &mut self.entries[(number - self.committed) as usize];
        entry.complete = true;
        let owners = std::mem::take(&mut entry.owners);
        for owner in owners.into_iter().filter(|owner| *owner != NOBODY) {
            self.part_done(owner, false);
        }
        self.commit();
    }

    /// Takes completed entries in their turn: their records may go to the journal.
    pub(crate) fn commit(&mut self) {
        while self.entries.front().is_some_and(|entry| entry.complete) {
            let entry = self.entries.pop_front().expect("there is one");
            self.committed += 1;
            self.journal.committed += entry.records.len() as u64;
            self.journal.backlog.extend(entry.records);
            if entry.slots > 0 {
                self.release(entry.superpage);
            }
        }
    }

    /// One part of a virtual superpage needs its data no more.
    fn release(&mut self, superpage: u32) {
        let memory = self.memory.get_mut(&superpage).expect("what is written is in memory");
        memory.parts -= 1;
        if memory.parts > 0 || memory.open {
            return;
        }
        self.host_buffers -= u32::from(memory.host);
        self.buffers.release(memory.buffer);
        self.memory.remove(&superpage);
        let settled = self.space.written(superpage);
        self.settled(superpage, settled);
    }

    /// Tries an entry that failed at another virtual superpage, or again where it was if there is none.
    fn move_entry(&mut self, number: u64) {
        let index = (number - self.committed) as usize;
        let entry = &mut self.entries[index];
        entry.failures += 1;
        let (from, first_slot, slots) = (entry.superpage, entry.first_slot, entry.slots);
        if entry.failures >= MOST_TRIES {
            self.break_down();
            return;
        }
        let Some(to) = self.space.take() else {
            self.send_data(number, from, first_slot, slots);
            return;
        };
        self.space.set_bad(from);
        self.space.close(to);
        self.counts.superpages += 1;
        let InMemory { buffer, host, .. } = self.memory[&from];
        let copy = self.buffers.take();
        self.buffers.copy((buffer, 0), (copy, 0), self.buffers.get(copy).len());
        self.host_buffers += u32::from(host);
        self.memory.insert(to, InMemory { buffer: copy, parts: 1, open: false, host });
        self.entries[index].superpage = to;
        let moved = if self.entries[index].in_place {
            self.map_anew(index, from, to)
        } else {
            self.map_elsewhere(index, from, to)
        };
        self.counts.moved_pages += moved;
        self.counts.pad_pages += u64::from(self.layout.slots()) - moved;
        self.send_data(number, to, first_slot, slots);
        self.release(from);
    }

    /// Pages that were to be written in place get records. How many.
    fn map_anew(&mut self, index: usize, from: u32, to: u32) -> u64 {
        let slots = self.layout.slots();
        let mut records = Vec::new();
        for slot in 0..slots {
            let (old, place) = (from * slots + slot, to * slots + slot);
            let page = self.space.back[old as usize];
            if page != NOWHERE && self.space.map[page as usize] == old {
                let old = self.space.place(page, place);
                records.push(Record { page, place, pages: 1, old, olds: Vec::new() });
            }
        }
        let moved = records.len() as u64;
        self.journal.assigned += moved;
        let entry = &mut self.entries[index];
        (entry.records, entry.in_place) = (records, false);
        moved
    }

    /// The records of an entry lead to other slots, and later ones away from them. How many.
    fn map_elsewhere(&mut self, index: usize, from: u32, to: u32) -> u64 {
        let slots = self.layout.slots();
        let mut moved = 0;
        let mut records = std::mem::take(&mut self.entries[index].records);
        for record in records.iter_mut().filter(|record| record.place != NOWHERE) {
            let new = to * slots + record.place % slots;
            self.space.relocate(record.page, record.place, new);
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
                    self.space.leaves_instead(*old, new);
                    *old = new;
                }
            }
        }
        moved
    }
}
