//! A mapping that stands outside of the tables, written against what `nand` and `layer` say in public: every capability
//! a layer needs is there for whoever adds one. (Policies from outside are in `crates/sim/simulator/tests`, a driver of
//! the host in `crates/sim/remap/tests`, a trace format in `crates/sim/trace/tests`.)

use layer::{
    Answer, Held, LayerReport, OpHandle, Outbox, PageLayer, PageOp, Signal, SnapshotError, SnapshotReader,
    SnapshotWriter,
};
use nand::{
    Awaits, Cancel, Closed, Completion, CopyWay, CountedFlash, Event, Flash, FlashState, JoinId, Outcome, Owner,
    PageCopy, PageProgram, Program, Read,
};
use simulator::{Clocked, Drive, HostOptions};
use testkit::{Ended, Habits, Host, Stack, work};
use units::{BlockId, Cause, Geometry, HostOp, Lpn, Ppn, Request};

/// One open block for the host and for copies; when the last free block is opened, the emptiest one is emptied into it.
struct Toy {
    geometry: Geometry,
    map: Vec<Option<Ppn>>,
    back: Vec<Option<u32>>,
    open: Option<BlockId>,
    used: u32,
    free: Vec<BlockId>,
    erasing: u32,
    sequence: u64,
    is_refused: bool,
}

/// The toy is the only one below the host.
const OWNER: Owner = 0;

impl Toy {
    fn new(state: &FlashState, user_pages: u32) -> Self {
        let geometry = state.geometry;
        Self {
            geometry,
            map: vec![None; user_pages as usize],
            back: vec![None; geometry.pages() as usize],
            open: None,
            used: 0,
            free: (0..geometry.blocks()).rev().map(BlockId).collect(),
            erasing: 0,
            sequence: 0,
            is_refused: false,
        }
    }

    fn valid(&self, block: BlockId) -> Vec<Ppn> {
        let pages = (0..self.geometry.pages_per_block).map(|page| self.geometry.page_at(block, page));
        pages.filter(|page| self.back[page.index()].is_some()).collect()
    }

    fn move_to(&mut self, logical: u32, page: Option<Ppn>) {
        if let Some(old) = std::mem::replace(&mut self.map[logical as usize], page) {
            self.back[old.index()] = None;
        }
        if let Some(page) = page {
            self.back[page.index()] = Some(logical);
        }
    }

    fn next_page(&mut self) -> Option<Ppn> {
        let block = self.open.filter(|_| self.used < self.geometry.pages_per_block)?;
        self.used += 1;
        Some(self.geometry.page_at(block, self.used - 1))
    }

    /// A page for the host; none while the block that was emptied is being erased.
    fn page<F: Flash>(&mut self, flash: &mut F) -> Option<Ppn> {
        if let Some(page) = self.next_page() {
            return Some(page);
        }
        let is_last = self.free.len() == 1;
        if is_last && self.erasing > 0 {
            return None;
        }
        self.open = Some(self.free.pop()?);
        self.used = 0;
        if is_last {
            self.collect(flash);
        }
        self.next_page()
    }

    fn collect<F: Flash>(&mut self, flash: &mut F) {
        let blocks = (0..self.geometry.blocks()).map(BlockId).filter(|block| self.open != Some(*block));
        let Some(victim) = blocks.min_by_key(|block| self.valid(*block).len()) else { return };
        for from in self.valid(victim) {
            let (Some(logical), Some(to)) = (self.back[from.index()], self.next_page()) else { return };
            self.move_to(logical, Some(to));
            flash.copy(OWNER, PageCopy { from, to, logical, cause: Cause::Gc, token: 0, way: CopyWay::Channel });
        }
        self.erasing += 1;
        if flash.erase(OWNER, victim, Cause::Gc) == Outcome::Done {
            self.erased(victim);
        }
    }

    fn erased(&mut self, block: BlockId) {
        self.erasing -= 1;
        self.free.push(block);
    }

    fn write<F: Flash>(&mut self, flash: &mut F, op: &PageOp, join: JoinId) -> Option<u32> {
        let full = self.geometry.full_mask();
        for index in 0..op.pages {
            let Some(page) = self.page(flash) else { return Some(index) };
            let logical = op.at(index).0;
            let (mask, payload) = (op.mask_at(index, full), op.payload.offset(index));
            let supersedes = self.map[logical as usize];
            let merge = supersedes.is_some() && mask != full;
            let after = supersedes.filter(|_| merge).and_then(|old| {
                let sectors = (full & !mask).count_ones() as u8;
                let payload = nand::PayloadId::NONE;
                let read = Read { page: old, cause: op.cause, sectors, payload, completion: None, after: None };
                flash.read(OWNER, read).pending()
            });
            self.move_to(logical, Some(page));
            self.sequence += 1;
            let program = PageProgram {
                page,
                supersedes,
                what: Program::Data { payload, merge },
                logical,
                sequence: self.sequence,
                cause: op.cause,
                completion: Completion::Join(join),
                after,
            };
            flash.program(OWNER, program);
        }
        None
    }

    fn read<F: Flash>(&mut self, flash: &mut F, op: &PageOp, join: JoinId) {
        let full = self.geometry.full_mask();
        for index in 0..op.pages {
            let (mask, payload) = (op.mask_at(index, full), op.payload.offset(index));
            let Some(page) = self.map[op.at(index).index()] else {
                flash.memory_mut().payloads.clear(payload, mask);
                continue;
            };
            let (sectors, completion) = (mask.count_ones() as u8, Some(Completion::Join(join)));
            flash.read(OWNER, Read { page, cause: op.cause, sectors, payload, completion, after: None });
        }
    }
}

impl<F: Flash> PageLayer<F> for Toy {
    fn submit(&mut self, flash: &mut F, op: &PageOp, _: &mut Outbox) -> Answer {
        let join = flash.open(op.owner, op.token, Cancel::Never);
        let mut refused = None;
        match op.op {
            HostOp::Read => self.read(flash, op, join),
            HostOp::Write => refused = self.write(flash, op, join),
            HostOp::Flush => {}
            HostOp::Trim => {
                let full = self.geometry.full_mask();
                let whole = (0..op.pages).filter(|index| op.mask_at(*index, full) == full);
                whole.for_each(|index| self.move_to(op.at(index).0, None));
            }
        }
        self.is_refused |= refused.is_some();
        let awaits = if op.op == HostOp::Flush { Awaits::AllPrograms } else { Awaits::Commands };
        match (flash.close(join, awaits), refused) {
            (Closed::Done { failed }, Some(taken)) => Answer::Full { taken, pending: false, failed },
            (Closed::Pending, Some(taken)) => Answer::Full { taken, pending: true, failed: false },
            (Closed::Done { failed }, None) => Answer::Done { failed },
            (Closed::Pending, None) => Answer::Pending(OpHandle(Some(join))),
        }
    }

    fn on_event(&mut self, _: &mut F, _: Owner, event: &Event, outbox: &mut Outbox) {
        if let Event::Erased { block } = *event {
            self.erased(block);
            if std::mem::take(&mut self.is_refused) {
                outbox.push(Signal::Room);
            }
        }
    }

    fn on_idle(&mut self, _: &mut F) -> bool {
        false
    }

    fn hint_map(&self, _: &F, _: &[Request]) {}

    fn hint_target(&self, _: &F, _: &[Request]) {}

    fn holds(&self, _: &F, page: Lpn) -> Held {
        self.map[page.index()].map_or(Held::Nothing, |_| Held::Bytes)
    }

    fn place_of(&self, page: Lpn, _: u64) -> Option<Ppn> {
        self.map[page.index()]
    }

    fn check(&self, _: &F) -> Result<(), String> {
        let lost = self
            .map
            .iter()
            .zip(0..)
            .find(|(page, logical)| page.is_some_and(|page| self.back[page.index()] != Some(*logical)));
        lost.map_or(Ok(()), |(page, logical)| Err(format!("page {logical} is at {page:?}, which holds another")))
    }

    fn report(&self, reports: &mut Vec<LayerReport>) {
        reports.push(LayerReport { name: "toy", ram_bytes: self.map.len() as u64 * 4, ..LayerReport::default() });
    }

    fn reset_counters(&mut self) {}

    fn save(&mut self, _: &mut SnapshotWriter) {}

    fn load(&mut self, _: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        Err(SnapshotError::Unfit { section: "toy", problem: "a toy keeps nothing".to_owned() })
    }
}

/// Serves 3000 requests; pages that collection copied.
fn serves<F: Clocked>(flash: F, user_pages: u32, seed: u64) -> u64 {
    let options = HostOptions::default();
    let toy = Toy::new(flash.state(), user_pages);
    let mut drive = Drive::new(flash, Box::new(toy), user_pages, options);
    let habits = Habits::draw(&mut engine::random::Stream::new(seed, "toys"));
    let ended = work(&mut drive, &mut Host::new(habits, seed), 3000).expect("every read returns what was written last");
    assert_eq!(ended, Ended::Served);
    drive.flash().state().counters.programs[Cause::Gc.index()]
}

#[test]
fn a_mapping_from_outside_serves_every_request_on_both_kinds_of_flash() {
    let mut stack = Stack::plain();
    for (key, value) in [
        ("drive.capacity", "1MiB"),
        ("drive.over_provisioning", "100%"),
        ("flash.page_size", "4KiB"),
        ("flash.pages_per_block", "8"),
        ("flash.channels", "1"),
        ("flash.dies_per_channel", "2"),
    ] {
        stack.set(key, value);
    }
    let plan = stack.plan().expect("a plain drive");
    let copied: u64 = (0..20)
        .map(|seed| {
            serves(CountedFlash::new(plan.fresh_state()), plan.user_pages, seed)
                + serves(plan.timed(plan.fresh_state()), plan.user_pages, seed)
        })
        .sum();
    assert!(copied > 10_000, "collection copied {copied} pages");
}
