//! Gangs: commands of a die that begin together, or that a command on the die has the data of.
//!
//! Protects: one command a plane, and none overtakes another one of its plane; all reads of a gang that nothing begins
//! beside are of one physical page.

use super::chips::Chips;
use super::commands::{Kind, State};
use super::dies::is_cleaning;
use super::times::Times;
use crate::NIL;
use crate::part::MultiPlane;

/// Queued commands looked at for a start together.
const GANG_SEARCH: usize = 16;

impl Chips {
    /// Adds queued commands of the same kind for other planes, and reads of the same physical pages.
    pub(super) fn form_gang(&mut self, index: usize, queue: usize, first: u32) {
        if self.starts_beside(first) {
            self.gather_planes(index, queue, first);
        } else if self.commands.get(first).kind == Kind::Read && self.times.shares_physical_pages() {
            self.gather_readers(index, queue, first);
        }
    }

    /// Adds queued reads of the physical page of a read that nothing begins beside.
    fn gather_readers(&mut self, index: usize, queue: usize, first: u32) {
        let page = self.times.physical_page(self.commands.get(first).page);
        self.gather(index, queue, first, |chips, id| {
            let slot = chips.commands.get(id);
            chips.times.physical_page(slot.page) == page && slot.kind == Kind::Read
        });
    }

    /// Adds queued commands of the same kind for other planes.
    fn gather_planes(&mut self, index: usize, queue: usize, first: u32) {
        let kind = self.commands.get(first).kind;
        let mut taken = self.plane_bit(first);
        self.gather(index, queue, first, |chips, id| {
            let slot = chips.commands.get(id);
            let is_alike = slot.kind == kind
                && (kind == Kind::Read || Times::is_programmed_as(slot, chips.commands.get(first), &chips.state));
            let is_read_already = is_alike && kind == Kind::Read && chips.reads_page_of(first, id);
            let bit = chips.plane_bit(id);
            let is_free = taken & bit == 0 && chips.starts_beside(id);
            taken |= bit; // one command a plane, and none may overtake another of its plane
            is_read_already || is_free && is_alike
        });
    }

    /// Adds the queued commands that belong to a gang to its end.
    fn gather(&mut self, index: usize, queue: usize, first: u32, mut belongs: impl FnMut(&Self, u32) -> bool) {
        let (mut last, mut at) = (first, self.dies[index].head[queue]);
        for _ in 0..GANG_SEARCH {
            if at == NIL {
                break;
            }
            let next = self.commands.get(at).next;
            if belongs(self, at) {
                self.join_behind([index, queue], last, at);
                last = at;
            }
            at = next;
        }
    }

    /// Takes a command out of a queue and adds it to a gang, behind its last member.
    fn join_behind(&mut self, [index, queue]: [usize; 2], last: u32, id: u32) {
        self.dies.unlink(index, queue, id, &mut self.commands);
        let slot = self.commands.at(id);
        slot.state = State::Active;
        slot.next = NIL;
        self.commands.settle_wait(id, self.dies.meter(index), self.schedule.now);
        self.commands.at(last).next = id;
    }

    /// The plane of a command in a set of planes.
    fn plane_bit(&self, id: u32) -> u64 {
        1 << (self.times.plane_of(self.commands.get(id), &self.state) % 64)
    }

    /// Whether a command may start together with those for other planes of its die.
    fn starts_beside(&self, id: u32) -> bool {
        let slot = self.commands.get(id);
        match self.options.multi_plane {
            MultiPlane::Off => false,
            MultiPlane::HostReads => slot.kind == Kind::Read && !is_cleaning(slot.cause),
            MultiPlane::All => true,
        }
    }

    /// Whether a gang reads the physical page of a read already.
    fn reads_page_of(&self, gang: u32, id: u32) -> bool {
        let page = self.times.physical_page(self.commands.get(id).page);
        self.times.shares_physical_pages()
            && self.commands.chain(gang).any(|member| self.times.physical_page(self.commands.get(member).page) == page)
    }

    /// Lets a read have its data from the register, where the die reads its physical page already or moves it.
    pub(super) fn join_gang(&mut self, die: usize, id: u32) -> bool {
        let gangs = [self.dies[die].array, self.dies[die].transfer];
        let reads = |gang: &u32| *gang != NIL && self.commands.get(*gang).kind == Kind::Read;
        let Some(gang) = gangs.into_iter().filter(reads).find(|gang| self.reads_page_of(*gang, id)) else {
            return false;
        };
        let last = self.commands.chain(gang).last().expect("a gang has a member");
        let slot = self.commands.at(id);
        slot.state = State::Active;
        slot.next = NIL;
        slot.since = self.schedule.now;
        self.commands.at(last).next = id;
        true
    }
}
