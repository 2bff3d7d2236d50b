//! Counted and timed flash do the same to the same commands: contents, out-of-band areas, counters, wear.

use crate::rig::{
    BLOCKS, DIES, Owned, PAGES, at, command, contents, copy, counted_stamps, part_of, run, silent_read, stamped,
    stamps, stamps_at, stamps_of,
};
use nand::{Awaits, Cancel, CopyWay, CountedFlash, Oob, PageCopy, PageProgram, PayloadId, Program, Read, TimedFlash};
use proptest::prelude::*;
use units::{BlockId, Cause, Ppn};

/// Logical pages of the little layer below.
const LOGICAL: usize = 6;
/// Blocks it uses, one of each die and then the next.
const USED: u32 = 8;

#[derive(Clone, Copy, Debug)]
enum Deed {
    Write {
        logical: usize,
        sectors: u64,
    },
    Copy {
        logical: usize,
    },
    Read {
        logical: usize,
    },
    Trim {
        logical: usize,
    },
    Clean,
    /// The page turns out uncorrectable.
    Lose {
        logical: usize,
    },
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        4 => (0..LOGICAL, 1..4_u64).prop_map(|(logical, sectors)| Deed::Write { logical, sectors }),
        2 => (0..LOGICAL).prop_map(|logical| Deed::Copy { logical }),
        2 => (0..LOGICAL).prop_map(|logical| Deed::Read { logical }),
        1 => (0..LOGICAL).prop_map(|logical| Deed::Trim { logical }),
        1 => Just(Deed::Clean),
        1 => (0..LOGICAL).prop_map(|logical| Deed::Lose { logical }),
    ];
    proptest::collection::vec(deed, 1..60)
}

fn block_at(index: u32) -> BlockId {
    BlockId(index % DIES * BLOCKS + index / DIES)
}

/// A page map that decides from what it issued alone, so both kinds of flash get the same commands.
struct Layer<F: Owned> {
    flash: F,
    map: [Option<Ppn>; LOGICAL],
    next: [u32; USED as usize],
    turn: u32,
    stamp: u64,
    read: Vec<[u64; 2]>,
    settle: fn(&mut F),
}

impl<F: Owned> Layer<F> {
    fn new(flash: F, settle: fn(&mut F)) -> Self {
        Self { flash, map: [None; LOGICAL], next: [0; USED as usize], turn: 0, stamp: 0, read: Vec::new(), settle }
    }

    /// A page to program, of one block after the other.
    fn place(&mut self) -> Option<Ppn> {
        let index = (0..USED).map(|step| (self.turn + step) % USED).find(|at| self.next[*at as usize] < PAGES)?;
        self.turn = index + 1;
        let page = self.next[index as usize];
        self.next[index as usize] += 1;
        Some(at(index % DIES, index / DIES, page))
    }

    fn program(&mut self, logical: usize, payload: PayloadId, merge: bool) {
        let Some(page) = self.place() else { return };
        self.stamp += 1;
        let supersedes = self.map[logical].replace(page);
        let after = supersedes.filter(|_| merge).and_then(|page| self.flash.read(0, silent_read(page)).pending());
        let (logical, what) = (logical as u32, Program::Data { payload, merge });
        self.flash.program(0, PageProgram { supersedes, what, logical, sequence: self.stamp, after, ..command(page) });
    }

    fn copy(&mut self, logical: usize) {
        let Some(from) = self.map[logical] else { return };
        let Some(to) = self.place() else { return };
        let geometry = self.flash.state().geometry;
        let [source, target] = [from, to].map(|page| geometry.plane_in_drive(geometry.block_of(page)));
        let way = if source == target { CopyWay::Plane } else { CopyWay::Channel };
        self.map[logical] = Some(to);
        self.flash.copy(0, PageCopy { logical: logical as u32, ..copy(from, to, way) });
    }

    fn carry_out(&mut self, deed: Deed) {
        match deed {
            Deed::Write { logical, sectors } => {
                let payload = stamps(&mut self.flash, self.stamp + 1, sectors);
                let merge = self.map[logical].is_some() && sectors != 0b11;
                self.program(logical, payload, merge);
            }
            Deed::Copy { logical } => self.copy(logical),
            Deed::Read { logical } => {
                let Some(page) = self.map[logical] else { return };
                let payload = stamps(&mut self.flash, 0, 0b11);
                let join = self.flash.open(0, 7, Cancel::Never);
                self.flash.read(0, Read { payload, ..part_of(join, page, Cause::Host) });
                self.flash.close(join, Awaits::Commands);
                (self.settle)(&mut self.flash);
                let read = stamps_of(&self.flash, payload);
                self.read.push(read);
            }
            Deed::Trim { logical } => self.map[logical] = None,
            Deed::Clean => self.clean(),
            Deed::Lose { logical } => {
                let Some(page) = self.map[logical] else { return };
                (self.settle)(&mut self.flash);
                self.flash.state_mut().lose_page(page);
            }
        }
    }

    /// Erases the full blocks that hold nothing valid, and waits for that.
    fn clean(&mut self) {
        for index in 0..USED {
            let block = block_at(index);
            let geometry = self.flash.state().geometry;
            let is_used = self.map.iter().flatten().any(|page| geometry.block_of(*page) == block);
            if self.next[index as usize] == PAGES && !is_used {
                self.flash.erase(0, block, Cause::Gc);
                self.next[index as usize] = 0;
            }
        }
        (self.settle)(&mut self.flash);
    }

    /// Everything that can be seen of what was done.
    fn result(mut self, deeds: &[Deed]) -> Result {
        for deed in deeds {
            self.carry_out(*deed);
        }
        (self.settle)(&mut self.flash);
        let pages = 0..self.flash.state().geometry.pages();
        let oob: Vec<Oob> = pages.clone().map(|page| contents(&self.flash).oob(page)).collect();
        let cells = self.map.map(|page| page.map(|page| stamps_at(&self.flash, page)));
        let state = self.flash.state();
        let blocks = state.blocks().iter().map(|row| (row.done, row.issued, row.pins(), row.erases)).collect();
        Result { oob, cells, blocks, counters: state.counters.clone(), read: self.read }
    }
}

#[derive(Debug, PartialEq)]
struct Result {
    oob: Vec<Oob>,
    cells: [Option<[u64; 2]>; LOGICAL],
    blocks: Vec<(u16, u16, u32, u32)>,
    counters: nand::Counters,
    read: Vec<[u64; 2]>,
}

proptest! {
    #[test]
    fn counted_and_timed_flash_do_the_same(deeds in deeds()) {
        let timed = Layer::<TimedFlash>::new(stamped(), |flash| drop(run(flash))).result(&deeds);
        let counted = Layer::<CountedFlash>::new(counted_stamps(), |_| {}).result(&deeds);
        prop_assert_eq!(timed, counted);
    }
}
