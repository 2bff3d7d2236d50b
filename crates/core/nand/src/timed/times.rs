//! The times of commands, by their part, and how pages lie in the physical pages of dies.

use super::commands::{Commands, Kind, Slot};
use crate::part::{PageTimes, Part};
use crate::state::FlashState;
use units::{Nanos, Ppn, SECTOR_BYTES};

/// Most sectors of a page.
const SECTORS_MAX: usize = 64;

#[derive(Clone, Debug)]
pub(super) struct Times {
    /// The part whose times count now.
    pub part: Part,
    /// The times commands take when they take any.
    paid: Part,
    /// What an array takes depends on the page.
    vary: bool,
    page_transfer_ns: Nanos,
    part_transfer_ns: Nanos,
    /// Transfer time of a read by sectors moved: a division less for each.
    read_transfer_ns: [Nanos; SECTORS_MAX + 1],
    /// Bytes of a page of the geometry.
    page_bytes: u32,
    /// Parts in which gathered pages move over the channel.
    parts: u8,
    slc_parts: u8,
    /// Pages of a physical page, as a power of two.
    units_shift: u32,
}

impl Times {
    pub fn new(part: Part, state: &FlashState) -> Self {
        let geometry = &state.geometry;
        let mut times = Self {
            part,
            paid: part,
            vary: false,
            page_transfer_ns: 0,
            part_transfer_ns: 0,
            read_transfer_ns: [0; SECTORS_MAX + 1],
            page_bytes: geometry.page_bytes,
            parts: part.parts(geometry),
            slc_parts: (part.parts(geometry) / state.blocks.slc_bits() as u8).max(1),
            units_shift: (part.page_bytes / geometry.page_bytes).max(1).trailing_zeros(),
        };
        times.set_part(part);
        times
    }

    /// Commands take the times of `part` from now on.
    fn set_part(&mut self, part: Part) {
        self.part = part;
        self.vary = part.page_read_ns.is_some()
            || part.page_program_ns.is_some()
            || part.slc.is_some()
            || part.first_pass_ns.is_some();
        self.read_transfer_ns = std::array::from_fn(|sectors| part.transfer_ns(sectors as u64 * SECTOR_BYTES));
        self.page_transfer_ns = part.transfer_ns(u64::from(self.page_bytes)) + part.command_ns;
        self.part_transfer_ns = part.transfer_ns(u64::from(part.page_bytes)) + part.command_ns;
    }

    /// Commands take no time from now on, or take theirs again.
    pub fn set_instant(&mut self, instant: bool) {
        let none = Part {
            read_ns: 0,
            program_ns: 0,
            erase_ns: 0,
            bus_bytes_per_second: 0,
            command_ns: 0,
            page_read_ns: None,
            page_program_ns: None,
            slc: None,
            first_pass_ns: self.paid.first_pass_ns.map(|_| 0),
            ..self.paid
        };
        self.set_part(if instant { none } else { self.paid });
    }

    /// Whether data moves in no time.
    pub fn moves_at_once(&self) -> bool {
        self.read_transfer_ns[1] == 0
    }

    /// Time of one transfer of a command over the channel.
    #[inline]
    pub fn transfer_ns(&self, slot: &Slot) -> Nanos {
        match slot.kind {
            Kind::Read => self.read_transfer_ns(slot.sectors),
            Kind::Gathered => self.part_transfer_ns,
            _ => self.page_transfer_ns(),
        }
    }

    /// Time of the transfer of a whole page.
    #[inline]
    pub fn page_transfer_ns(&self) -> Nanos {
        self.page_transfer_ns
    }

    /// Time of one transfer of a read of so many sectors.
    #[inline]
    pub fn read_transfer_ns(&self, sectors: u8) -> Nanos {
        self.read_transfer_ns[sectors as usize]
    }

    /// Time of a program of one page, with its transfer.
    #[inline]
    pub fn plain_program_ns(&self) -> Nanos {
        self.page_transfer_ns + self.part.program_ns
    }

    /// Array time of a gang of reads: the longest of its pages.
    #[inline]
    pub fn read_ns(&self, gang: u32, commands: &Commands, state: &FlashState) -> Nanos {
        if self.vary { self.gang_read_ns(gang, commands, state) } else { self.part.read_ns }
    }

    #[inline(never)]
    fn gang_read_ns(&self, gang: u32, commands: &Commands, state: &FlashState) -> Nanos {
        let pages = commands.chain(gang).map(|id| self.page_read_ns(commands.get(id).page, state));
        pages.max().expect("a gang has a member")
    }

    /// Array time of a gang of programs.
    #[inline]
    pub fn program_ns(&self, gang: u32, commands: &Commands, state: &FlashState) -> Nanos {
        if self.vary { self.gang_program_ns(gang, commands, state) } else { self.part.program_ns }
    }

    #[inline(never)]
    fn gang_program_ns(&self, gang: u32, commands: &Commands, state: &FlashState) -> Nanos {
        let slot = commands.get(gang);
        if let Some(first_pass_ns) = self.part.first_pass_ns.filter(|_| slot.is_first_pass()) {
            return first_pass_ns;
        }
        match (self.part.page_program_ns, self.part.slc) {
            (_, Some(slc)) if is_slc(slot.page, state) => slc.program_ns,
            (None, _) => self.part.program_ns,
            (Some(times), _) => {
                let pages = commands.chain(gang).map(|id| self.in_word_line(commands.get(id).page, &times, state));
                pages.max().expect("a gang has a member")
            }
        }
    }

    fn page_read_ns(&self, page: u32, state: &FlashState) -> Nanos {
        match (self.part.slc, self.part.page_read_ns) {
            (Some(slc), _) if is_slc(page, state) => slc.read_ns,
            (_, Some(times)) => self.in_word_line(page, &times, state),
            _ => self.part.read_ns,
        }
    }

    fn in_word_line(&self, page: u32, times: &PageTimes, state: &FlashState) -> Nanos {
        let pages_per_block = self.physical_page(state.geometry.pages_per_block);
        times.at(self.physical_page(page) % pages_per_block / self.part.planes_as_one)
    }

    /// Array time of a gang.
    #[inline(always)]
    pub fn array_ns(&self, kind: Kind, gang: u32, commands: &Commands, state: &FlashState) -> Nanos {
        match kind {
            Kind::Read => self.read_ns(gang, commands, state),
            Kind::Program | Kind::Gathered => self.program_ns(gang, commands, state),
            Kind::Copyback => self.part.read_ns + self.part.program_ns,
            Kind::Erase => self.part.erase_ns,
        }
    }

    /// Time of a command that has not begun.
    pub fn service_ns(&self, id: u32, commands: &Commands, state: &FlashState) -> Nanos {
        let slot = commands.get(id);
        self.array_ns(slot.kind, id, commands, state)
            + match slot.kind {
                Kind::Read => self.part.command_ns + self.transfer_ns(slot),
                Kind::Program => self.transfer_ns(slot),
                Kind::Gathered => Nanos::from(self.parts_of(slot, state)) * self.transfer_ns(slot),
                Kind::Copyback | Kind::Erase => self.part.command_ns,
            }
    }

    /// Parts in which a command moves over the channel.
    #[inline]
    pub fn parts_of(&self, slot: &Slot, state: &FlashState) -> u8 {
        match slot.kind {
            Kind::Gathered if self.part.slc.is_some() && is_slc(slot.page, state) => self.slc_parts,
            Kind::Gathered => self.parts,
            _ => 1,
        }
    }

    /// Whether two programs take the same time.
    pub fn is_programmed_as(one: &Slot, other: &Slot, state: &FlashState) -> bool {
        is_slc(one.page, state) == is_slc(other.page, state) && one.is_first_pass() == other.is_first_pass()
    }

    /// Whether a physical page has several pages.
    #[inline(always)]
    pub fn shares_physical_pages(&self) -> bool {
        self.units_shift > 0
    }

    /// The physical page of a page, counted over all blocks.
    #[inline]
    pub fn physical_page(&self, page: u32) -> u32 {
        page >> self.units_shift
    }

    /// The plane of a command in its die.
    pub fn plane_of(&self, slot: &Slot, state: &FlashState) -> u32 {
        let plane = state.geometry.plane_of(state.geometry.block_of(Ppn(slot.page)));
        let planes = self.part.planes_as_one;
        if planes == 1 || slot.kind != Kind::Read {
            return plane;
        }
        plane * planes + self.physical_page(slot.page) % planes
    }
}

/// Whether a page is of a block with one bit a cell.
#[inline]
fn is_slc(page: u32, state: &FlashState) -> bool {
    state.block(state.geometry.block_of(Ppn(page))).is_slc()
}
