//! The layer of faults between the host and the drive: requests that are refused, changed or answered late.
//!
//! Protects: a request is answered once, under the tag and the place that the host gave it.

use super::cuts::{Damage, Damaged, Unflushed};
use super::grammar::row_of;
use super::log::Injected;
use super::older::{Before, MOST, Older, PIECE};
use super::{Effect, HostFault};
use engine::random::Stream;
use nand::{DieTrouble, WaitVector};
use simulator::{Completion, Completions};
use std::collections::{BTreeMap, BTreeSet};
use units::{BlockId, DieId, HostOp, Nanos, Request, SECTOR_BYTES};

const SECTOR: usize = SECTOR_BYTES as usize;
/// Tag of reads for stale contents.
pub(crate) const OF_FAULTS: u32 = u32::MAX - 1;

/// A fault of requests that was given and is not over.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ActiveFault {
    /// Its number, from 1, in the order in which faults were given.
    pub number: u32,
    /// The fault in words.
    pub text: String,
    /// Requests that it has hit, commands of a die that it has delayed, or sectors that it has damaged after a cut.
    pub hits: u64,
}

/// The request that the drive is to serve.
pub(crate) enum Sent {
    /// None: the host has its answer from this layer.
    Nothing,
    /// The request as it is given.
    AsAsked,
    /// Another request, with its cells if they differ.
    Changed(Request, Option<Vec<u8>>),
}

#[derive(Clone, Debug)]
struct Armed {
    number: u32,
    fault: HostFault,
    since: Nanos,
    left: Option<u64>,
    hits: u64,
    stream: Stream,
    /// Of a fault of cuts.
    unflushed: Unflushed,
    /// Of a fault that brings older bytes.
    older: Older,
}

impl Armed {
    /// When the present time of the fault ends; `None`: it does not hold now.
    fn until(&self, now: Nanos) -> Option<Nanos> {
        self.fault.window(self.since).until(now)
    }

    fn is_over(&self, now: Nanos) -> bool {
        self.left == Some(0) || self.fault.on.every.is_none() && self.until(now).is_none()
    }

    /// The sectors of a request that may be hit now.
    fn reach(&self, now: Nanos, request: &Request) -> Option<(u64, u64)> {
        let is_on = self.fault.on.die.is_none() && self.left != Some(0) && self.until(now).is_some();
        is_on.then(|| self.fault.on.overlap(request.op, request.first_sector, request.end_sector())).flatten()
    }

    /// Draws whether a request in reach is hit.
    fn draw(&mut self) -> bool {
        let share = self.fault.on.share;
        let is_hit = share >= 1.0 || self.stream.chance(share);
        if is_hit {
            self.left = self.left.map(|left| left - 1);
            self.hits += 1;
        }
        is_hit
    }

    /// Whether the bytes before a write or trim of these sectors are needed later.
    fn wants_older(&self, first: u64, end: u64) -> bool {
        let op = match self.fault.effect {
            Effect::Stale => HostOp::Read,
            Effect::CutOld => HostOp::Write,
            _ => return false,
        };
        self.fault.on.overlap(op, first, end).is_some()
    }

    fn entry(&self, now: Nanos) -> Injected {
        Injected::new(now, self.number, row_of(self.fault.effect).name)
    }
}

/// A request that the drive serves otherwise than the host asked.
#[derive(Debug)]
struct Altered {
    tag: u32,
    sent: Request,
    asked: Request,
    then: Then,
}

/// The change of the bytes of a read.
#[derive(Debug)]
enum Then {
    Nothing,
    /// The bit, from the first one of the request on.
    Flip(u64, Injected),
    /// The older bytes of these sectors.
    Older((u64, u64), Injected),
}

/// An answer that the host does not have yet.
#[derive(Debug)]
struct Held {
    done: Completion,
    wait: Option<Box<WaitVector>>,
    cells: Vec<u8>,
}

/// Faults of requests, and what became of requests under them.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    armed: Vec<Armed>,
    numbered: u32,
    /// Sectors of the drive, and of a page.
    shape: (u64, u64),
    pub log: Vec<Injected>,
    /// By the time of the answer and its order.
    held: BTreeMap<(Nanos, u64), Held>,
    answers: u64,
    altered: Vec<Altered>,
    /// Reads of bytes before writes and trims, under way.
    before: Vec<Before>,
    /// Sectors of such reads that the drive does not have yet.
    to_read: Vec<(u64, u64)>,
    /// Answers to writes and trims before which such a read has not ended.
    parked: Vec<Held>,
    /// Numbers of faults that keep no older bytes of further sectors.
    pub at_limit: Vec<u32>,
    damaged: Damaged,
    /// Tags of requests that were refused for lack of room.
    no_room: Vec<u32>,
    /// When the host wants to be asked again.
    pub wake: Option<Nanos>,
}

impl Faults {
    /// Over a drive of so many sectors, and sectors of a page.
    pub fn new(sectors: u64, page: u64) -> Self {
        Self { shape: (sectors, page), ..Self::default() }
    }

    /// A fault holds from now on.
    pub fn arm(&mut self, now: Nanos, fault: HostFault) {
        self.numbered += 1;
        let number = self.numbered;
        let stream = Stream::new(fault.on.seed.unwrap_or(number.into()), "fault");
        let (left, unflushed, older) = (fault.on.count, Unflushed::new(fault.on.flushed), Older::default());
        let armed = Armed { number, fault, since: now, left, hits: 0, stream, unflushed, older };
        self.log.push(Injected { given: Some(fault.to_string()), ..armed.entry(now) });
        self.armed.push(armed);
    }

    /// No fault holds from now on, and answers that were kept are due.
    pub fn disarm(&mut self, now: Nanos) {
        self.armed.clear();
        let held = std::mem::take(&mut self.held).into_iter();
        self.held = held.map(|((at, order), held)| ((at.min(now), order), held)).collect();
    }

    /// Faults that are not over.
    /// `troubles`: dies that answer late, with hits that were not counted yet.
    pub fn active(&self, now: Nanos, troubles: &[DieTrouble]) -> Vec<ActiveFault> {
        let active = self.armed.iter().filter(|armed| !armed.is_over(now));
        let told = |armed: &Armed| {
            let (number, text) = (armed.number, armed.fault.to_string());
            ActiveFault { number, text, hits: armed.hits + hits_of(number, troubles) }
        };
        active.map(told).collect()
    }

    /// The dies that answer late. `dies`: the dies of the layers that a die of the drive is.
    pub fn troubles(&self, dies: impl Fn(u32) -> Vec<DieId>) -> Vec<DieTrouble> {
        let mut troubles = Vec::new();
        for Armed { number, fault, since, .. } in &self.armed {
            let slows = if let Effect::Slow(factor) = fault.effect { Some(factor) } else { None };
            let (number, window) = (*number, fault.window(*since));
            let dies = fault.on.die.into_iter().flat_map(&dies);
            troubles.extend(dies.map(|die| DieTrouble { number, die, window, slows, hits: 0 }));
        }
        // A die that does nothing for a time works no faster after it.
        troubles.sort_by_key(|trouble| trouble.slows.is_none());
        troubles
    }

    /// Commands of dies were delayed.
    pub fn count_hits(&mut self, troubles: &[DieTrouble]) {
        for armed in &mut self.armed {
            armed.hits += hits_of(armed.number, troubles);
        }
    }

    /// The reads that the drive is to have before the request that was given last: they find the bytes before it.
    pub fn take_reads(&mut self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.to_read)
    }

    /// The host gives a request. The answer tells the request that the drive is to serve.
    pub fn submit(&mut self, now: Nanos, tag: u32, request: &Request, cells: &[u8]) -> Sent {
        self.end(now);
        let Some((at, sectors)) = self.hit(now, request) else {
            self.given(now, tag, request);
            return Sent::AsAsked;
        };
        let armed = &mut self.armed[at];
        let mut entry = armed.entry(now).at(request.op, sectors);
        let whole = (request.first_sector, request.end_sector());
        match armed.fault.effect {
            Effect::Flip => {
                let bit = armed.stream.below((sectors.1 - sectors.0) * SECTOR_BYTES * 8);
                let bit = (sectors.0 - request.first_sector) * SECTOR_BYTES * 8 + bit;
                if request.op != HostOp::Write {
                    self.alter(tag, *request, request, Then::Flip(bit, entry));
                    return Sent::AsAsked;
                }
                self.log.push(flipped(entry, request, bit));
                // A request without cells writes zeros.
                let mut cells = cells.to_vec();
                cells.resize(request.sectors as usize * SECTOR, 0);
                cells[bit as usize / 8] ^= 1 << (bit % 8);
                self.given(now, tag, request);
                Sent::Changed(*request, Some(cells))
            }
            Effect::Stale => {
                self.alter(tag, *request, request, Then::Older(sectors, entry));
                Sent::AsAsked
            }
            Effect::Misdirect => {
                let Some(place) = elsewhere(armed, request, self.shape) else { return Sent::AsAsked };
                entry = entry.at(request.op, whole);
                entry.to_offset = Some(place * SECTOR_BYTES);
                self.log.push(entry);
                let sent = Request { first_sector: place, ..*request };
                self.given(now, tag, &sent);
                self.alter(tag, sent, request, Then::Nothing);
                Sent::Changed(sent, None)
            }
            effect => {
                self.log.push(entry.at(request.op, whole));
                let failed = effect != Effect::Lose;
                if effect == Effect::Full {
                    self.no_room.push(tag);
                }
                let done = Completion { tag, request: *request, failed, wait: None, queue_ns: 0 };
                self.hold(now, now, Held { done, wait: None, cells: Vec::new() });
                Sent::Nothing
            }
        }
    }

    /// The first fault that changes or refuses a request, and the sectors that are affected.
    fn hit(&mut self, now: Nanos, request: &Request) -> Option<(usize, (u64, u64))> {
        for (at, armed) in self.armed.iter_mut().enumerate() {
            let effect = armed.fault.effect;
            if effect.is_of_cuts() || matches!(effect, Effect::Stall(_) | Effect::Slow(_)) {
                continue;
            }
            let Some(sectors) = armed.reach(now, request) else { continue };
            let can = match effect {
                Effect::Stale => (sectors.0..sectors.1).any(|sector| armed.older.get(sector).is_some()),
                Effect::Misdirect => places(armed, request, self.shape).is_some(),
                _ => true,
            };
            if can && armed.draw() {
                return Some((at, sectors));
            }
        }
        None
    }

    /// Forgets faults that are over, but for those of which a read under way needs older bytes.
    fn end(&mut self, now: Nanos) {
        let altered = &self.altered;
        let is_needed = |number: u32| {
            altered.iter().any(|altered| matches!(&altered.then, Then::Older(_, entry) if entry.fault == number))
        };
        self.armed.retain(|armed| !armed.is_over(now) || is_needed(armed.number));
    }

    /// The drive gets a request.
    fn given(&mut self, now: Nanos, tag: u32, request: &Request) {
        for armed in self.armed.iter_mut().filter(|armed| armed.fault.effect.is_of_cuts()) {
            armed.unflushed.submitted(tag, request);
        }
        let (first, end) = (request.first_sector, request.end_sector());
        let (first, end) = match request.op {
            HostOp::Write => (first, end),
            // Pages that it covers in part stay as they were.
            HostOp::Trim => {
                let page = self.shape.1;
                let (first, end) = (first.next_multiple_of(page), end / page * page);
                (first, end.max(first))
            }
            HostOp::Read | HostOp::Flush => return,
        };
        self.read_before(now, first, end);
        self.damaged.renew(first, end);
    }

    /// Asks for the bytes of sectors that change now, if a fault needs them later.
    fn read_before(&mut self, now: Nanos, first: u64, end: u64) {
        let wants = |armed: &&mut Armed| !armed.is_over(now) && armed.wants_older(first, end);
        let known = end.min(first + MOST);
        let mut is_wanted = false;
        for armed in self.armed.iter_mut().filter(wants) {
            armed.older.forget(known, end);
            is_wanted = true;
        }
        for first in (first..known).step_by(PIECE as usize).filter(|_| is_wanted) {
            let (sectors, last) = ((first, known.min(first + PIECE)), self.numbered);
            self.before.push(Before { sectors, last, damaged: self.damaged.of(sectors.0, sectors.1) });
            self.to_read.push(sectors);
        }
    }

    fn alter(&mut self, tag: u32, sent: Request, asked: &Request, then: Then) {
        self.altered.push(Altered { tag, sent, asked: *asked, then });
    }

    /// When the host gets an answer that is there now, for which the drive took so long, ns.
    fn time_of(&mut self, now: Nanos, took: Nanos, request: &Request) -> Nanos {
        let mut at = now;
        for armed in &mut self.armed {
            let effect = armed.fault.effect;
            if !matches!(effect, Effect::Stall(_) | Effect::Slow(_)) || armed.reach(now, request).is_none() {
                continue;
            }
            let until = armed.until(now).unwrap_or(now);
            if armed.draw() {
                at = at.max(match effect {
                    Effect::Slow(factor) => now.saturating_add((took as f64 * (factor - 1.0)) as Nanos),
                    _ => until,
                });
            }
        }
        at
    }

    /// Keeps an answer until its time.
    fn hold(&mut self, now: Nanos, arrival: Nanos, held: Held) {
        let took = now.saturating_sub(arrival);
        let at = self.time_of(now, took, &held.done.request);
        self.answers += 1;
        self.held.insert((at, self.answers), held);
    }

    /// When the first answer is due that is kept.
    pub fn next_answer(&self) -> Option<Nanos> {
        self.held.first_key_value().map(|((at, _), _)| *at)
    }

    /// Answers that are kept.
    pub fn holding(&self) -> u32 {
        (self.held.len() + self.parked.len()) as u32
    }

    /// Gives the answers that are due. `false`: there are none, and `completions` is as it was.
    pub fn release(&mut self, now: Nanos, completions: &mut Completions) -> bool {
        if self.next_answer().is_none_or(|at| at > now) {
            return false;
        }
        completions.done.clear();
        completions.waits.clear();
        completions.cells.clear();
        while self.next_answer().is_some_and(|at| at <= now) {
            let Some((_, Held { mut done, wait, cells })) = self.held.pop_first() else { break };
            done.wait = wait.map(|wait| completions.waits.note(&wait));
            completions.done.push(done);
            completions.cells.extend_from_slice(&cells);
        }
        true
    }

    /// Takes what the drive has completed, and keeps the answers until [`Faults::release`]. `before`: time of earlier
    /// power cycles.
    pub fn take_in(&mut self, now: Nanos, before: Nanos, completions: &mut Completions) {
        let cells = std::mem::take(&mut completions.cells);
        let mut rest = cells.as_slice();
        for done in std::mem::take(&mut completions.done) {
            let is_read = done.request.op == HostOp::Read && !done.failed;
            let count = if is_read { done.request.sectors as usize * SECTOR } else { 0 };
            let cells = rest.split_off(..count).unwrap_or_default().to_vec();
            if done.tag == OF_FAULTS {
                self.keep_older(&done.request, &cells);
                continue;
            }
            let wait = done.wait.map(|wait| Box::new(completions.waits[wait]));
            let mut held = Held { done, wait, cells };
            self.came_back(now, &mut held);
            self.parked.push(held);
        }
        for held in std::mem::take(&mut self.parked) {
            if self.awaits_older(&held.done.request) {
                self.parked.push(held);
            } else {
                self.hold(now, held.done.request.arrival + before, held);
            }
        }
    }

    /// Whether the bytes before a change are not known yet: the next read may have to bring them.
    fn awaits_older(&self, request: &Request) -> bool {
        let overlaps = |(first, end): (u64, u64)| first < request.end_sector() && request.first_sector < end;
        let is_change = matches!(request.op, HostOp::Write | HostOp::Trim);
        is_change && self.before.iter().any(|before| overlaps(before.sectors))
    }

    /// Turns the answer of the drive into the answer to the host.
    fn came_back(&mut self, now: Nanos, held: &mut Held) {
        let done = &mut held.done;
        let sent = done.request;
        for armed in self.armed.iter_mut().filter(|armed| armed.fault.effect.is_of_cuts()) {
            armed.unflushed.completed(done.tag, &sent, done.failed);
        }
        let is_own = |altered: &Altered| altered.tag == done.tag && altered.sent == sent;
        let altered = self.altered.iter().position(is_own).map(|at| self.altered.swap_remove(at));
        if sent.op == HostOp::Read && !done.failed && !self.damaged.spoil(sent.first_sector, &mut held.cells) {
            done.failed = true;
            held.cells.clear();
        }
        let Some(Altered { asked, then, .. }) = altered else { return };
        done.request = asked;
        match then {
            _ if done.failed => {}
            Then::Nothing => {}
            Then::Flip(bit, entry) => {
                held.cells[bit as usize / 8] ^= 1 << (bit % 8);
                self.log.push(flipped(Injected { time: now, ..entry }, &asked, bit));
            }
            Then::Older((first, end), entry) => {
                let mut changed = Vec::new();
                let armed = self.armed.iter().find(|armed| armed.number == entry.fault);
                for sector in first..end {
                    let bytes = &mut held.cells[(sector - asked.first_sector) as usize * SECTOR..][..SECTOR];
                    let older = armed.and_then(|armed| armed.older.get(sector));
                    if let Some(older) = older.filter(|older| ***older != *bytes) {
                        bytes.copy_from_slice(older);
                        changed.push(sector);
                    }
                }
                for run in changed.chunk_by(|one, next| one + 1 == *next) {
                    let sectors = (run[0], run[0] + run.len() as u64);
                    self.log.push(Injected { time: now, ..entry.clone() }.at(HostOp::Read, sectors));
                }
            }
        }
    }

    /// Keeps the bytes that are about to be written over, for the faults that were given before the write.
    fn keep_older(&mut self, read: &Request, cells: &[u8]) {
        let sectors = (read.first_sector, read.end_sector());
        let Some(place) = self.before.iter().position(|before| before.sectors == sectors) else { return };
        let before = self.before.remove(place);
        for (sector, bytes) in before.each(cells) {
            let wants = |armed: &&mut Armed| armed.number <= before.last && armed.wants_older(sector, sector + 1);
            for armed in self.armed.iter_mut().filter(wants) {
                if armed.older.keep(sector, bytes.as_ref()) {
                    self.at_limit.push(armed.number);
                }
            }
        }
    }

    /// Power goes: no answer comes any more, and unflushed sectors are damaged. `block_of`: the erase block with the
    /// newest version of a sector.
    pub fn power_cut(&mut self, now: Nanos, seed: u64, block_of: impl Fn(u64) -> Option<BlockId>) {
        self.held.clear();
        self.altered.clear();
        self.no_room.clear();
        self.before.clear();
        self.to_read.clear();
        self.parked.clear();
        self.wake = None;
        // The first fault that hits a sector decides what it holds.
        let mut taken = BTreeSet::new();
        for armed in self.armed.iter_mut().filter(|armed| armed.fault.effect.is_of_cuts()) {
            let HostFault { effect, on } = armed.fault;
            let seed = seed ^ on.seed.unwrap_or(armed.number.into()).rotate_left(32);
            // All sectors of one number share their fate.
            let shared = |sector: u64| {
                if on.block { block_of(sector).map(|block| block.0.into()) } else { Some(sector / on.unit) }
            };
            let drawn = |number: u64| {
                on.share >= 1.0 || Stream::new(seed ^ number.rotate_left(16), "damage of a cut").chance(on.share)
            };
            let is_hit =
                |sector: u64| (on.sectors.0..on.sectors.1).contains(&sector) && shared(sector).is_some_and(drawn);
            let sectors = armed.unflushed.take();
            let damage = |sector: u64| match effect {
                Effect::CutUnreadable => Some(Damage::Unreadable),
                Effect::CutZeros => Some(Damage::Zeros),
                Effect::CutOld => armed.older.get(sector).cloned().map(Damage::Old),
                _ => Some(Damage::Garbage(seed)),
            };
            let mut hit = Vec::new();
            for sector in sectors.into_iter().filter(|sector| !taken.contains(sector) && is_hit(*sector)) {
                let Some(damage) = damage(sector) else { continue };
                self.damaged.add(sector, damage);
                hit.push(sector);
            }
            taken.extend(hit.iter().copied());
            armed.hits += hit.len() as u64;
            for run in hit.chunk_by(|one, next| one + 1 == *next) {
                self.log.push(armed.entry(now).at(HostOp::Write, (run[0], run[0] + run.len() as u64)));
            }
        }
    }

    /// The damage that a power cut would leave now, without any fault after it.
    pub fn left_by_cut(&self, now: Nanos, seed: u64, block_of: impl Fn(u64) -> Option<BlockId>) -> Self {
        let armed = self.armed.iter().filter(|armed| armed.fault.effect.is_of_cuts()).cloned().collect();
        let mut left = Self { armed, damaged: self.damaged.clone(), shape: self.shape, ..Self::default() };
        left.power_cut(now, seed, block_of);
        left.armed.clear();
        left
    }

    /// Whether the failed request with this tag was refused for lack of room. It is told once.
    pub fn took_no_room(&mut self, tag: u32) -> bool {
        let place = self.no_room.iter().position(|own| *own == tag);
        place.map(|place| self.no_room.swap_remove(place)).is_some()
    }
}

/// Commands that a fault has delayed.
fn hits_of(number: u32, troubles: &[DieTrouble]) -> u64 {
    troubles.iter().filter(|trouble| trouble.number == number).map(|trouble| trouble.hits).sum()
}

/// The entry of a bit that was flipped, by its place from the first bit of a request on.
fn flipped(entry: Injected, request: &Request, bit: u64) -> Injected {
    let offset = request.first_sector * SECTOR_BYTES + bit / 8;
    Injected { offset, length: 1, bit: Some((bit % 8) as u32), ..entry }
}

/// Places where a request of this length can go instead: the first, the distance, and how many; at least two.
fn places(armed: &Armed, request: &Request, (all, page): (u64, u64)) -> Option<(u64, u64, u64)> {
    let step = if request.first_sector.is_multiple_of(page) { page } else { 1 };
    let within = |(first, end): (u64, u64)| {
        let first = first.next_multiple_of(step);
        let room = end.min(all).checked_sub(first + u64::from(request.sectors))?;
        Some((first, step, room / step + 1)).filter(|(.., count)| *count > 1)
    };
    within(armed.fault.on.sectors).or_else(|| within((0, all)))
}

/// A place that is not the one of the request.
fn elsewhere(armed: &mut Armed, request: &Request, shape: (u64, u64)) -> Option<u64> {
    let (first, step, count) = places(armed, request, shape)?;
    let drawn = armed.stream.below(count);
    let place = |number: u64| first + number % count * step;
    Some(if place(drawn) == request.first_sector { place(drawn + 1) } else { place(drawn) })
}
