//! Commands of a die that run together: of one kind in different planes, and reads of one physical page.

use super::TimedFlash;
use super::commands::{Kind, State};
use crate::NIL;
use crate::part::PageTimes;
use units::{Nanos, Ppn};

/// Queued commands looked at for a start together.
const GANG_SEARCH: usize = 16;

impl TimedFlash {
    /// Adds queued commands of the same kind for other planes, and reads of the same physical pages.
    pub(super) fn form_gang(&mut self, index: usize, lane: usize, first: u32) {
        let kind = self.commands.get(first).kind;
        let mut taken = 1_u64 << (self.plane_of(first) % 64);
        let mut last = first;
        let mut at = self.dies[index].head[lane];
        for _ in 0..GANG_SEARCH {
            if at == NIL {
                break;
            }
            let next = self.commands.get(at).next;
            let bit = 1_u64 << (self.plane_of(at) % 64);
            let is_alike =
                self.commands.get(at).kind == kind && (kind == Kind::Read || self.is_programmed_as(at, first));
            let is_read_already = is_alike && kind == Kind::Read && self.reads_page_of(first, at);
            let is_free = self.options.multi_plane && taken & bit == 0;
            taken |= bit; // one command a plane, and none may overtake another of its plane
            if is_read_already || is_free && is_alike {
                self.unlink_from(index, lane, at);
                let slot = self.commands.at(at);
                slot.state = State::Active;
                slot.next = NIL;
                self.commands.settle_wait(at, &self.meters[index], self.schedule.now);
                self.commands.at(last).next = at;
                last = at;
            }
            at = next;
        }
    }

    /// Whether two programs take the same time.
    fn is_programmed_as(&self, one: u32, other: u32) -> bool {
        let is_first = |id: u32| self.commands.get(id).is_first_pass();
        self.is_slc(one) == self.is_slc(other) && is_first(one) == is_first(other)
    }

    /// The plane of a command in its die.
    fn plane_of(&self, id: u32) -> u32 {
        let (geometry, page) = (&self.state.geometry, self.commands.get(id).page);
        let block = geometry.block_of(Ppn(page));
        let planes = self.part.planes_as_one;
        if planes == 1 || self.commands.get(id).kind != Kind::Read {
            return geometry.plane_of(block);
        }
        geometry.plane_of(block) * planes + self.physical_page(page) % planes
    }

    /// Array time of a gang of reads: the longest of its pages.
    #[inline]
    pub(super) fn read_ns(&self, gang: u32) -> Nanos {
        if self.times_vary { self.gang_read_ns(gang) } else { self.part.read_ns }
    }

    #[inline(never)]
    fn gang_read_ns(&self, gang: u32) -> Nanos {
        self.commands.chain(gang).map(|id| self.page_read_ns(id)).max().expect("a gang has a member")
    }

    /// Array time of a gang of programs.
    #[inline]
    pub(super) fn program_ns(&self, gang: u32) -> Nanos {
        if self.times_vary { self.gang_program_ns(gang) } else { self.part.program_ns }
    }

    #[inline(never)]
    fn gang_program_ns(&self, gang: u32) -> Nanos {
        if let Some(first_pass_ns) = self.part.first_pass_ns.filter(|_| self.commands.get(gang).is_first_pass()) {
            return first_pass_ns;
        }
        match (self.part.page_program_ns, self.part.slc) {
            (_, Some(slc)) if self.is_slc(gang) => slc.program_ns,
            (None, _) => self.part.program_ns,
            (Some(times), _) => {
                self.commands.chain(gang).map(|id| self.in_word_line(id, &times)).max().expect("a gang has a member")
            }
        }
    }

    fn page_read_ns(&self, id: u32) -> Nanos {
        match (self.part.slc, self.part.page_read_ns) {
            (Some(slc), _) if self.is_slc(id) => slc.read_ns,
            (_, Some(times)) => self.in_word_line(id, &times),
            _ => self.part.read_ns,
        }
    }

    fn in_word_line(&self, id: u32, times: &PageTimes) -> Nanos {
        let pages_per_block = self.physical_page(self.state.geometry.pages_per_block);
        let page = self.physical_page(self.commands.get(id).page);
        times.at(page % pages_per_block / self.part.planes_as_one)
    }

    /// Whether a command is of a block with one bit a cell.
    #[inline]
    pub(super) fn is_slc(&self, id: u32) -> bool {
        self.state.block(self.block_of(self.commands.get(id).page)).is_slc()
    }

    /// Parts in which a program of gathered pages moves.
    #[inline]
    pub(super) fn parts_of(&self, id: u32) -> u8 {
        if self.part.slc.is_some() && self.is_slc(id) { self.slc_parts } else { self.parts }
    }

    /// The physical page of a page, counted over all blocks.
    #[inline]
    fn physical_page(&self, page: u32) -> u32 {
        page >> self.units_shift
    }

    /// Whether a gang reads the physical page of a read already.
    fn reads_page_of(&self, gang: u32, id: u32) -> bool {
        let page = self.physical_page(self.commands.get(id).page);
        self.units_shift > 0
            && self.commands.chain(gang).any(|member| self.physical_page(self.commands.get(member).page) == page)
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
