//! Virtual address reclamation (VAR): valid pages of virtual superpages with few of them are copied together.

use super::gather::Gather;
use super::space::Space;
use super::{Layout, Options, Work};
use crate::shell::host::Host;

/// Victims copied at a time.
const VICTIMS: usize = 8;

/// A virtual superpage whose valid pages are copied.
#[derive(Debug)]
pub(super) struct Victim {
    superpage: u32,
    buffer: u32,
    reads: u32,
    failed: bool,
    /// Slots that are dealt with.
    done: u32,
}

/// See the module description.
#[derive(Debug)]
pub(super) struct Reclaim {
    layout: Layout,
    options: Options,
    victims: Vec<Victim>,
    pub reclaimed: u64,
    /// Virtual superpages with valid pages that could not be read.
    pub unreadable: u64,
}

impl Reclaim {
    pub fn new(layout: &Layout, options: &Options) -> Self {
        Self { layout: *layout, options: *options, victims: Vec::new(), reclaimed: 0, unreadable: 0 }
    }

    /// Records that copies under way may need.
    pub fn records(&self) -> u64 {
        self.victims.len() as u64 * u64::from(self.layout.slots())
    }

    /// Virtual superpages that are free, or will be without more copies.
    fn soon_free(&self, space: &Space) -> u32 {
        space.free() + space.empty + self.victims.len() as u32
    }

    /// Fewer are free than should be while the host is idle, and something can be done about it.
    pub fn is_short_of_free(&self, space: &Space) -> bool {
        let wanted = self.options.var_background * f64::from(self.layout.superpages());
        f64::from(self.soon_free(space)) < wanted && space.best_victim().is_some()
    }

    /// How many more than `var_free` should be free or about to be.
    fn ahead(&self) -> u32 {
        let most = (self.layout.records() as u32 / self.layout.slots()).max(1);
        self.options.var_ahead.unwrap_or((self.layout.spare() / 8).min(most))
    }

    /// Another victim should be copied, and may be.
    pub fn wants_another(&self, host: &Host<Work>, space: &Space) -> bool {
        let is_low = self.soon_free(space) <= self.options.var_free.saturating_add(self.ahead());
        (is_low || (host.is_background() && self.is_short_of_free(space))) && self.victims.len() < VICTIMS
    }

    /// The host takes faster than reclamation gives: it waits while that works. Otherwise the host would be given the
    /// few that each write of the journal frees at once, and every few pages would cost such a write.
    pub fn is_behind(&self, space: &Space) -> bool {
        let least = self.options.var_free.saturating_add(self.ahead() / 2);
        !self.victims.is_empty() && self.soon_free(space) <= least
    }

    /// Begins to read a victim, if there will be room for one of its pages. All of them need not fit: a virtual
    /// superpage that is filled frees at least one victim, and the pages left over go to that one.
    pub fn begin_victim(&mut self, host: &mut Host<Work>, space: &mut Space, gather: &Gather) -> bool {
        let slots = self.layout.slots();
        let taken: u32 = self.victims.iter().map(|victim| space.valid(victim.superpage)).sum();
        let room = (gather.copy_slots() + space.free().saturating_mul(slots)).saturating_sub(taken);
        let victim = if room > 0 { space.victim() } else { None };
        let Some(superpage) = victim else { return false };
        let buffer = host.buffers.take();
        let mut victim = Victim { superpage, buffer, reads: 0, failed: false, done: 0 };
        let mut slot = 0;
        while slot < slots {
            let first = slot;
            while slot < slots && space.is_valid(superpage * slots + slot) {
                slot += 1;
            }
            if slot > first {
                victim.reads += 1;
                let sector = self.layout.sector_of_page(superpage * slots + first);
                let sectors = (slot - first) * self.layout.page_sectors;
                host.read(Work::Copy(superpage), (buffer, first as usize * host.page_bytes()), sector, sectors);
            }
            slot += 1;
        }
        self.victims.push(victim);
        true
    }

    /// Pages of a victim are read.
    pub fn copy_completed(&mut self, superpage: u32, failed: bool) {
        let mut victims = self.victims.iter_mut();
        let victim = victims.find(|victim| victim.superpage == superpage).expect("it is being copied");
        victim.reads -= 1;
        victim.failed |= failed;
    }

    /// Places the pages of a victim that has been read.
    pub fn place_copies(&mut self, host: &mut Host<Work>, space: &mut Space, gather: &mut Gather) -> bool {
        let Some(index) = self.victims.iter().position(|victim| victim.reads == 0) else { return false };
        let slots = self.layout.slots();
        let Victim { superpage, buffer, failed, mut done, .. } = self.victims[index];
        let before = done;
        while done < slots && !failed {
            let place = superpage * slots + done;
            if space.is_valid(place) && !gather.place_copy(host, space, place, buffer) {
                self.victims[index].done = done;
                return done > before;
            }
            done += 1;
        }
        self.victims.remove(index);
        host.buffers.release(buffer);
        self.unreadable += u64::from(failed);
        self.reclaimed += u64::from(!failed);
        space.copied(host, superpage, !failed);
        true
    }
}
