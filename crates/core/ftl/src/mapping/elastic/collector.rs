//! Collection: superblocks are emptied into new stripes and erased. A policy chooses among the superblocks that give
//! room.

use super::grid::Superblock;
use super::log::Log;
use super::space::{self, KEPT, STREAMS};
use crate::FtlContext;
use crate::gc::{Keys, VictimPolicy, VictimView, build_victim};
use engine::random::Stream;
use layer::{SnapshotError, SnapshotReader, SnapshotWriter};
use nand::{Flash, FlashState, Outcome};
use units::{Cause, Ppn};

/// Superblocks emptied for each one there is, without a write of the host between them, after which a policy is
/// overruled: what its choices seem to give is used up by stripes that are short.
const CIRCLES: u32 = 64;

/// Table of a snapshot.
const CHOICES: &str = "elastic.choices";

/// The victim policy, and the superblock being emptied.
pub(super) struct Collector {
    policy: Box<dyn VictimPolicy>,
    stream: Stream,
    /// Free superblocks at which collection begins.
    free_blocks: usize,
    /// Pages copied at once.
    window: u32,
    /// Superblock being emptied and what of it is left to look at, last first.
    victim: Option<Superblock>,
    queue: Vec<Ppn>,
    /// Superblocks whose pages were all moved.
    emptied: Vec<Superblock>,
    /// Kept to use their memory again: valid pages of each superblock, and the keys that the policy sees: pages that
    /// collecting it gives no room for.
    valid: Vec<u32>,
    keys: Vec<u32>,
    /// Superblocks chosen since the host wrote.
    in_a_row: u32,
    /// Superblocks emptied since counting began.
    pub collected: u64,
}

impl Collector {
    /// Nothing is being emptied; `window` pages are copied at once.
    pub fn new(context: &FtlContext<'_>, window: u32) -> Self {
        Self {
            policy: build_victim(context.values.name("ftl.gc.victim"), context.values),
            stream: Stream::new(context.seed, &format!("ftl.{}", context.owner)),
            free_blocks: (context.values.whole("ftl.gc.free_blocks") as usize).max(KEPT),
            window,
            victim: None,
            queue: Vec::new(),
            emptied: Vec::new(),
            valid: Vec::new(),
            keys: Vec::new(),
            in_a_row: 0,
            collected: 0,
        }
    }

    /// The host wrote or trimmed a page.
    pub fn host_wrote(&mut self) {
        self.in_a_row = 0;
    }

    /// Choices made so far: random ones go on where they were. A superblock that is being emptied may be chosen again.
    pub fn save(&self, writer: &mut SnapshotWriter) {
        writer.put(CHOICES, self.stream.state().into_iter().chain([u64::from(self.in_a_row)]));
    }

    /// Reads what [`Collector::save`] wrote. Snapshots of earlier versions do not have it.
    pub fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        if reader.has_next(CHOICES) {
            let [a, b, c, d, in_a_row] = reader.array(CHOICES)?;
            self.stream = Stream::from_state([a, b, c, d]);
            self.in_a_row = in_a_row as u32;
        }
        Ok(())
    }

    /// Goes on collecting as far as window and room allow.
    pub fn collect<F: Flash>(&mut self, flash: &mut F, log: &mut Log) {
        while let Some(victim) = self.victim.or_else(|| self.begin(flash.state(), log)) {
            while let Some(page) = self.queue.last().copied() {
                // What is under way when power is cut is written in vain: little, where there is little room.
                let window = if log.space.free() == 0 { log.grid.data() } else { self.window };
                if log.stripes.copies() >= window {
                    return;
                }
                if log.pages.blocks().is_valid(page) && !log.move_away(flash, page, Cause::Gc) {
                    return;
                }
                self.queue.pop();
            }
            debug_assert!(log.valid_count(victim) == 0, "an emptied superblock has no valid page");
            self.emptied.push(victim);
            self.victim = None;
        }
    }

    fn begin(&mut self, state: &FlashState, log: &mut Log) -> Option<Superblock> {
        let free = log.space.free() + log.space.being_erased() + self.emptied.len();
        let victim = self.next_victim(state, log, free <= self.free_blocks)?;
        log.pages.withdraw(victim.first_block());
        self.victim = Some(victim);
        self.queue = log.grid.valid_in(&log.pages, victim).rev().collect();
        self.collected += 1;
        self.victim
    }

    /// The superblock to be emptied next. Without need for room, those whose blocks or dies failed.
    fn next_victim(&mut self, state: &FlashState, log: &Log, needs_room: bool) -> Option<Superblock> {
        let pressed = log.space.is_pressed();
        if needs_room && !pressed {
            return self.choose(state, log);
        }
        let (failing, to_rebuild) = (log.space.failing(), log.repairs.to_rebuild());
        if !needs_room && failing.is_empty() && to_rebuild.is_empty() {
            return None;
        }
        let is_meant = |victim: &Superblock| needs_room || failing.contains(victim) || to_rebuild.contains(victim);
        let victim = log.space.candidates(&log.pages).filter(is_meant).min_by_key(|victim| log.valid_count(*victim))?;
        let valid = log.valid_count(victim);
        let fits = if pressed { valid <= log.open_room(state) } else { log.grid.with_parity(valid) <= log.room(state) };
        fits.then_some(victim)
    }

    /// The choice of the policy among superblocks that give room for a page and its parity: with less, copies would
    /// go round for ever.
    fn choose(&mut self, state: &FlashState, log: &Log) -> Option<Superblock> {
        let (all, room) = (log.grid.live_pages(), log.room(state));
        let whole = log.grid.pages_left(state, None);
        log.grid.valid_counts(&log.pages, &mut self.valid);
        self.keys.clear();
        self.keys.resize(self.valid.len(), Keys::NO_CANDIDATE);
        for victim in log.space.candidates(&log.pages) {
            // Few have lost a block, and to look for them takes time.
            let is_damaged = log.space.is_damaged(victim);
            let left = if is_damaged { log.grid.pages_left(state, Some(victim)) } else { whole };
            if let Some(gained) = gain(log, self.valid[victim.index()], left, room) {
                self.keys[victim.index()] = all - gained;
            }
        }
        let blocks = log.pages.blocks();
        let view = VictimView {
            keys: Keys::Superblocks(&self.keys),
            closed_at: blocks.closed_at(Superblock(0).first_block(), log.grid.superblocks()),
            closings: blocks.closings(),
            rows: log.grid.rows(state),
            pages_per_block: all,
        };
        // What is kept for collection is in use: only the most that can be gained is sure to bring it back.
        let is_short = log.space.free() < KEPT;
        let pick = if is_short || self.in_a_row > CIRCLES * log.grid.superblocks() {
            view.least_valid()
        } else {
            self.policy.pick(&view, &mut self.stream)
        };
        let pick = pick?;
        assert!(view.valid(pick).is_some(), "the victim policy chose superblock {pick}, no candidate");
        self.in_a_row = self.in_a_row.saturating_add(1);
        Some(Superblock(pick as u32))
    }

    /// Whether collection, which was stuck, may go on: with the rest of the host's superblock, or else at the cost of
    /// parities. Pages without one are written once more as soon as there is room.
    pub fn press(&mut self, state: &FlashState, log: &mut Log) -> bool {
        let is_at_rest = log.stripes.is_quiet() && self.emptied.is_empty();
        if !is_at_rest || log.space.free() > KEPT || log.space.being_erased() > 0 {
            return false;
        }
        if log.space.free() > 0 {
            return self.victim.is_none() && Self::give_up_rest(state, log);
        }
        if log.space.is_pressed() {
            let room = log.open_room(state);
            return log.space.reopen(&log.grid, state, &mut log.pages, room);
        }
        log.space.press();
        if let Some(victim) = self.victim.take() {
            log.pages.put_back(victim.first_block());
            self.queue.clear();
        }
        for stream in STREAMS {
            if log.space.open(stream).is_some_and(|open| log.valid_count(open.superblock) == 0) {
                log.space.close_open(&mut log.pages, stream);
            }
        }
        true
    }

    /// Closes the superblock of the host where too little of it is left for a page of the host, and where collecting
    /// it gives room: a power cut within its erase leaves such ones. `false`: there is none.
    fn give_up_rest(state: &FlashState, log: &mut Log) -> bool {
        let Some(open) = log.space.open(space::Stream::Host) else { return false };
        if log.has_place(state, space::Stream::Host) || log.stripes.number(space::Stream::Host).is_some() {
            return false;
        }
        let left = log.grid.pages_left(state, Some(open.superblock));
        let room = log.room(state) - log.space.rest(&log.grid, state, space::Stream::Host).count() as u32;
        let gives = gain(log, log.valid_count(open.superblock), left, room).is_some();
        if gives {
            log.space.close_open(&mut log.pages, space::Stream::Host);
        }
        gives
    }

    /// Erases superblocks that nobody needs any more. `true`: one is free now.
    pub fn erase_emptied<F: Flash>(&mut self, flash: &mut F, log: &mut Log) -> bool {
        if log.stripes.repairs() > 0 || log.repairs.any() && log.may_repair(flash.state()) {
            return false; // older versions of what has no parity may be there
        }
        let before = log.space.free();
        for index in (0..self.emptied.len()).rev() {
            let superblock = self.emptied[index];
            if log.space.is_needed(superblock) {
                continue;
            }
            self.emptied.swap_remove(index);
            log.roles.clear(&log.grid, superblock);
            log.repairs.emptied(superblock);
            for block in log.space.begin_erase(&log.grid, flash.state(), superblock) {
                if flash.erase(log.owner, block, Cause::Gc) == Outcome::Done {
                    log.space.block_erased(&log.grid, flash.state(), block);
                }
            }
        }
        log.space.free() > before
    }
}

/// Pages that collecting a superblock gives room for beyond its `valid` ones, which take `room` with their parities;
/// `left`: pages that it has. `None`: less than a page and its parity, or there is no room for them.
fn gain(log: &Log, valid: u32, left: u32, room: u32) -> Option<u32> {
    let takes = log.grid.with_parity(valid);
    let gained = left.saturating_sub(takes);
    (takes <= room && gained >= log.grid.with_parity(1)).then_some(gained)
}
