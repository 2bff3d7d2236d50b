//! Virtual address reclamation (VAR): valid pages of virtual superpages with few of them are copied together.

use crate::Command;
use crate::checkpoint::Startup;
use crate::disk::NOWHERE;
use crate::hard::{Hard, Work};
use crate::write::NOBODY;
use units::HostOp;

/// Victims copied at a time.
const VICTIMS: usize = 8;

/// A virtual superpage whose valid pages are copied.
#[derive(Debug)]
pub(crate) struct Victim {
    superpage: u32,
    buffer: u32,
    /// Reads under way.
    reads: u32,
    failed: bool,
    /// Slots that are dealt with.
    done: u32,
}

impl Hard {
    /// Virtual superpages that are free, or will be without more copies.
    fn soon_free(&self) -> u32 {
        self.space.free() + self.space.empty + self.victims.len() as u32
    }

    /// Fewer are free than should be while the host is idle, and something can be done about it.
    pub(crate) fn short_of_free(&self) -> bool {
        let wanted = self.options.var_background * f64::from(self.layout.superpages);
        self.startup == Startup::Ready && f64::from(self.soon_free()) < wanted && self.space.best_victim().is_some()
    }

    /// How many more than `var_free` should be free or about to be.
    fn ahead(&self) -> u32 {
        let most = (self.layout.records() as u32 / self.layout.slots()).max(1);
        self.options.var_ahead.unwrap_or((self.layout.spare() / 8).min(most))
    }

    fn wants_reclamation(&self) -> bool {
        self.soon_free() <= self.options.var_free.saturating_add(self.ahead())
            || (self.background && self.short_of_free())
    }

    /// The host takes faster than reclamation gives: it waits while that works. Otherwise the host would be given the
    /// few that each write of the journal frees at once, and every few pages would cost such a write.
    pub(crate) fn is_behind(&self) -> bool {
        !self.victims.is_empty() && self.soon_free() <= self.options.var_free.saturating_add(self.ahead() / 2)
    }

    pub(crate) fn pump_reclaim(&mut self) -> bool {
        // Before the first checkpoint nothing may go to the journal.
        if self.startup != Startup::Ready {
            return false;
        }
        if self.place_copies() {
            return true;
        }
        self.wants_reclamation() && self.victims.len() < VICTIMS && self.has_records(0) && self.begin_victim()
    }

    /// Begins to read a victim, if there will be room for one of its pages. All of them need not fit: a virtual
    /// superpage that is filled frees at least one victim, and what is left over goes to that one.
    fn begin_victim(&mut self) -> bool {
        let slots = self.layout.slots();
        let open = self.copies.as_ref().map_or(0, |open| slots - open.filled);
        let taken: u32 = self.victims.iter().map(|victim| self.space.valid(victim.superpage)).sum();
        let room = (open + self.space.free().saturating_mul(slots)).saturating_sub(taken);
        let victim = if room > 0 { self.space.victim() } else { None };
        let Some(superpage) = victim else { return false };
        let buffer = self.buffers.take();
        let mut victim = Victim { superpage, buffer, reads: 0, failed: false, done: 0 };
        let mut slot = 0;
        while slot < slots {
            let first = slot;
            while slot < slots && self.is_valid(superpage * slots + slot) {
                slot += 1;
            }
            if slot > first {
                victim.reads += 1;
                self.space.pin(superpage);
                let sector = self.layout.sector_of_page(superpage * slots + first);
                let sectors = (slot - first) * self.layout.page_sectors;
                self.send(Work::Copy { superpage, slot: first }, HostOp::Read, sector, sectors);
            }
            slot += 1;
        }
        self.victims.push(victim);
        true
    }

    fn is_valid(&self, place: u32) -> bool {
        let page = self.space.back[place as usize];
        page != NOWHERE && self.space.map[page as usize] == place
    }

    pub(crate) fn copy_completed(&mut self, superpage: u32, slot: u32, command: &Command, failed: bool, data: &[u8]) {
        let at = slot as usize * self.page_bytes();
        let index = self.victims.iter().position(|victim| victim.superpage == superpage).expect("it is being copied");
        let victim = &mut self.victims[index];
        victim.reads -= 1;
        victim.failed |= failed;
        if !failed {
            let length = command.sectors as usize * self.options.cell_bytes as usize;
            self.buffers.get_mut(victim.buffer)[at..at + length].copy_from_slice(&data[..length]);
        }
        self.unpin(superpage);
    }

    /// Places the pages of a victim that has been read.
    fn place_copies(&mut self) -> bool {
        let Some(index) = self.victims.iter().position(|victim| victim.reads == 0) else { return false };
        let slots = self.layout.slots();
        let Victim { superpage, buffer, failed, mut done, .. } = self.victims[index];
        let before = done;
        while done < slots && !failed {
            let place = superpage * slots + done;
            if self.is_valid(place) && !self.place_copy(place, buffer) {
                self.victims[index].done = done;
                return done > before;
            }
            done += 1;
        }
        self.victims.remove(index);
        self.buffers.release(buffer);
        self.counts.unreadable += u64::from(failed);
        self.counts.victims += u64::from(!failed);
        let settled = self.space.copied(superpage, !failed);
        self.settled(superpage, settled);
        true
    }

    /// False if there is no room.
    fn place_copy(&mut self, place: u32, buffer: u32) -> bool {
        let Some(mut open) = self.copies.take().or_else(|| self.open_another(false)) else { return false };
        let (bytes, slots) = (self.page_bytes(), self.layout.slots());
        let page = self.space.back[place as usize];
        self.buffers.copy(
            (buffer, (place % slots) as usize * bytes),
            (open.buffer, open.filled as usize * bytes),
            bytes,
        );
        self.fill(&mut open, page, NOBODY);
        self.counts.var_copies += 1;
        let full = open.filled == slots;
        self.copies = Some(open);
        if full {
            self.issue_copies();
        }
        true
    }

    /// Last resort where something waits and nothing is under way: write what is open, make it durable, reclaim. If
    /// none of these can be done there is no space, because too many virtual superpages were set aside.
    pub(crate) fn pump_stuck(&mut self) -> bool {
        if self.busy > 0 || (self.ready.is_empty() && self.held.is_empty()) {
            return false;
        }
        if self.issue_host() || (self.journal.committed > self.journal.durable && self.begin_cycle()) {
            return true;
        }
        // Copies are written before they fill a virtual superpage only if there are no more: that may gain nothing.
        if (self.startup == Startup::Ready && self.begin_victim()) || self.issue_copies() {
            return true;
        }
        // Reads of the host hold what they read; they may be all that is in the way.
        if self.front.commands.len() == 0 {
            self.break_down();
        }
        false
    }
}
