//! Flash without time: a command completes where it is issued.
//!
//! Faithful to: the laws of flash and of the command waist that concern order and wear.
//! Simplified: nothing queues, so nothing waits; a failed program is still handed back, and its data
//! stays in the controller, where reads find it until it is placed again. A layer that gathers pages while others are
//! under way hears of its programs when nothing else can happen, in their order: its pages are under way until then.
//! Protects: the same counts of reads, programs and erases as the issuing layer decided.
//!
//! A [`Meter`] may listen to the commands; that it does not, by default, is known when this is
//! compiled, because counting is the fastest thing the simulator does.

use crate::flash::{
    Awaits, Cancel, Closed, CommandId, Completion, CopyRun, CopyWay, Event, Flash, JoinId, Outcome, Owner, PageCopy,
    PageProgram, Program, ProgramFailure, Read, Token,
};
use crate::memory::Memory;
use crate::meter::Meter;
use crate::payloads::PayloadId;
use crate::state::{Base, BlockUse, FlashState, PageContent};
use std::collections::VecDeque;
use units::{BlockId, Cause, Ppn};

/// A program that failed and was not placed again yet.
#[derive(Clone, Copy, Debug)]
struct Failed {
    owner: Owner,
    command: PageProgram,
    /// The page it was built on could not be read.
    base_lost: bool,
}

/// Counted flash: see the module description.
#[derive(Clone, Debug)]
pub struct CountedFlash<M: Meter = ()> {
    state: FlashState,
    meter: M,
    /// A read of the join opened last failed.
    join_failed: bool,
    failed: Vec<Option<Failed>>,
    waiting_erases: Vec<(Owner, BlockId, Cause)>,
    /// Ends of programs that are told when nothing else can happen, first issued first.
    late: VecDeque<(Owner, Event)>,
}

impl CountedFlash {
    /// Counted flash over a given state.
    pub fn new(state: FlashState) -> Self {
        Self::with_meter(state, ())
    }
}

impl<M: Meter> CountedFlash<M> {
    /// Counted flash over a given state that tells `meter` of its commands.
    pub fn with_meter(state: FlashState, meter: M) -> Self {
        let mut state = state;
        state.memory.held.clear();
        state.forgetful = false;
        Self { state, meter, join_failed: false, failed: Vec::new(), waiting_erases: Vec::new(), late: VecDeque::new() }
    }

    /// The meter that listens to the commands.
    pub fn meter_mut(&mut self) -> &mut M {
        &mut self.meter
    }

    /// Tells the end of a program that was to be told late, where there is no other event. `false`: there is none.
    #[inline]
    pub fn advance(&mut self) -> bool {
        if self.state.events.is_empty() {
            self.state.events.extend(self.late.pop_front());
        }
        !self.state.events.is_empty()
    }

    /// The state, for whoever owns the flash: the drive, and no layer.
    #[inline]
    pub fn state_mut(&mut self) -> &mut FlashState {
        &mut self.state
    }

    /// Gives the state back.
    pub fn into_state(self) -> FlashState {
        self.state
    }

    /// Programs a page; `charge` is how the meter hears of it.
    #[inline(always)]
    fn execute(&mut self, owner: Owner, command: PageProgram, charge: fn(&mut M, Cause)) -> Outcome {
        if self.state.program_plain(command.page, command.cause) {
            charge(&mut self.meter, command.cause);
            return Outcome::Done;
        }
        // The slow way takes its command by address. Nothing waits here, so `after` may be dropped: that makes a value
        // of its own, and only this one is written to memory. So below where a read or a copy leaves the fast way.
        let base_lost = self.base_is_lost(&command);
        self.execute_carefully(owner, PageProgram { after: None, ..command }, base_lost, charge)
    }

    #[inline(never)]
    fn copy_in_plane(&mut self, owner: Owner, copy: PageCopy) -> Outcome {
        self.state.complete_read(copy.from, copy.cause, PayloadId::NONE);
        self.execute(owner, copy.program(None), M::copyback)
    }

    #[inline(never)]
    fn execute_carefully(
        &mut self,
        owner: Owner,
        command: PageProgram,
        base_lost: bool,
        charge: fn(&mut M, Cause),
    ) -> Outcome {
        let block = self.state.claim_page(command.page);
        if self.state.block(block).has_failed() {
            return self.hand_back(Failed { owner, command, base_lost }, block); // never on the die: it costs nothing
        }
        charge(&mut self.meter, command.cause);
        if self.state.program_fails(block) {
            return self.hand_back(Failed { owner, command, base_lost }, block);
        }
        // Only a page whose block has failed keeps its pin; here it is put and taken at once.
        self.state.row(block).unpin();
        if let Program::Data { payload, merge: true } = command.what
            && self.failed_at(command.supersedes).is_some()
        {
            let kept = self.keep(payload, command.supersedes);
            let what = Program::Data { payload: kept, merge: false };
            let outcome = self.store(PageProgram { what, ..command }, base_lost);
            self.state.memory.payloads.release(kept, 1);
            return outcome;
        }
        self.store(command, base_lost)
    }

    fn store(&mut self, command: PageProgram, base_lost: bool) -> Outcome {
        self.state.count_program(command.page, command.cause);
        self.state.store(command.page, PageContent::of(&command, base_lost));
        self.state.mix(u64::from(command.page.0));
        Outcome::Done
    }

    /// Whether the page that a program is built on cannot be read.
    #[inline(always)]
    fn base_is_lost(&self, command: &PageProgram) -> bool {
        let is_built = matches!(command.what, Program::Copy | Program::Data { merge: true, .. });
        is_built && !self.state.is_plain() && self.is_unreadable(command.supersedes)
    }

    #[cold]
    #[inline(never)]
    fn is_unreadable(&self, page: Option<Ppn>) -> bool {
        let page = self.origin(page);
        match self.failed_at(page) {
            Some(failed) => failed.base_lost,
            None => page.is_some_and(|page| self.state.is_unreadable(page)),
        }
    }

    /// Where the data of a page is: a copy that failed holds what its source holds.
    fn origin(&self, page: Option<Ppn>) -> Option<Ppn> {
        let mut page = page;
        while let Some(copy) = self.failed_at(page).filter(|failed| failed.command.what == Program::Copy) {
            page = copy.command.supersedes;
        }
        page
    }

    #[cold]
    #[inline(never)]
    fn hand_back(&mut self, failed: Failed, block: BlockId) -> Outcome {
        let Failed { owner, command, .. } = failed;
        self.state.row(block).set_failed();
        if let Some(old) = command.supersedes {
            let old = self.state.geometry.block_of(old);
            self.state.row(old).pin();
        }
        let slot = self.failed.iter().position(Option::is_none).unwrap_or_else(|| {
            self.failed.push(None);
            self.failed.len() - 1
        });
        // The operation may end before the program is placed again, and its payload with it.
        let what = match command.what {
            Program::Data { payload, merge } if payload != PayloadId::NONE => {
                let payload = self.keep(payload, command.supersedes.filter(|_| merge));
                Program::Data { payload, merge: false }
            }
            what => what,
        };
        self.failed[slot] = Some(Failed { command: PageProgram { what, ..command }, ..failed });
        let id = CommandId { slot: slot as u32, generation: 0 };
        self.state.events.push((owner, Event::ProgramFailed(id)));
        Outcome::Done
    }

    fn keep(&mut self, payload: PayloadId, base: Option<Ppn>) -> PayloadId {
        let base = self.origin(base);
        let base = match (base, self.failed_at(base).and_then(|failed| Self::payload_of(&failed.command))) {
            (_, Some(payload)) => Base::Payload(payload),
            (Some(page), None) => Base::Page(page),
            (None, None) => Base::Zeros,
        };
        let base = self.state.base_cells(base);
        self.state.memory.payloads.keep(payload, &base)
    }

    fn payload_of(command: &PageProgram) -> Option<PayloadId> {
        match command.what {
            Program::Data { payload, .. } if payload != PayloadId::NONE => Some(payload),
            _ => None,
        }
    }

    /// The failed program of a page that is not placed again yet.
    fn failed_at(&self, page: Option<Ppn>) -> Option<&Failed> {
        let page = page?;
        self.failed.iter().flatten().find(|failed| failed.command.page == page)
    }

    #[inline(always)]
    fn read_now(&mut self, owner: Owner, read: &Read) {
        self.meter.read(read.cause, read.sectors);
        if self.state.ageing.is_on() {
            self.retry(owner, read.page);
        }
        let failed = self.state.complete_read(read.page, read.cause, read.payload);
        self.join_failed |= failed && matches!(read.completion, Some(Completion::Join(_)));
    }

    /// Reads a page again until its errors can be corrected.
    #[cold]
    #[inline(never)]
    fn retry(&mut self, owner: Owner, page: Ppn) {
        let retries = self.state.retries(page);
        self.state.counters.reads[Cause::Retry.index()] += u64::from(retries);
        if retries > 0 {
            self.meter.retry(retries);
        }
        self.state.disturb(owner, page, retries);
    }

    /// Reads a page where programs have failed and were not placed again yet.
    #[cold]
    #[inline(never)]
    fn read_among_failed(&mut self, owner: Owner, read: Read) {
        let mut read = read;
        while self.failed_at(Some(read.page)).is_some() {
            let Some(source) = self.read_failed(read) else { return };
            read = source;
        }
        self.read_now(owner, &read);
    }

    /// Reads a page whose program failed: what it was to hold, or what it was to copy.
    fn read_failed(&mut self, read: Read) -> Option<Read> {
        let Failed { command, base_lost, .. } = *self.failed_at(Some(read.page))?;
        if command.what == Program::Copy {
            return Some(Read { page: command.supersedes.expect("a copy has a source"), ..read });
        }
        if let Some(from) = Self::payload_of(&command) {
            self.state.memory.payloads.read_from(from, read.payload);
        }
        self.state.counters.in_flight_reads += 1;
        self.state.counters.failed_reads += u64::from(base_lost);
        self.join_failed |= base_lost && matches!(read.completion, Some(Completion::Join(_)));
        None
    }

    fn take_failed(&mut self, failed: CommandId) -> Failed {
        let taken = self.failed[failed.slot as usize].take().expect("a failed program is placed once");
        // Reads look here only while something is here.
        while self.failed.last().is_some_and(Option::is_none) {
            self.failed.pop();
        }
        taken
    }

    /// A failed program has found its place, or needs none: its pins and its data go.
    fn let_go(&mut self, command: &PageProgram) {
        self.unpin(self.state.geometry.block_of(command.page));
        if let Some(old) = command.supersedes {
            self.unpin(self.state.geometry.block_of(old));
        }
        if let Some(kept) = Self::payload_of(command) {
            self.state.memory.payloads.release(kept, 1);
        }
    }

    fn unpin(&mut self, block: BlockId) {
        let row = self.state.row(block);
        if row.unpin() && row.erase_pending() {
            let at = self.waiting_erases.iter().position(|waiting| waiting.1 == block);
            let (owner, block, cause) = self.waiting_erases.swap_remove(at.expect("a pending erase is listed"));
            self.finish_erase(owner, block, cause);
        }
    }

    fn finish_erase(&mut self, owner: Owner, block: BlockId, cause: Cause) {
        self.meter.erase(cause);
        let event = if self.state.complete_erase(block, cause) {
            Event::Erased { block }
        } else {
            Event::EraseFailed { block }
        };
        self.state.events.push((owner, event));
    }
}

impl<M: Meter> Flash for CountedFlash<M> {
    #[inline]
    fn open(&mut self, _: Owner, _: Token, _: Cancel) -> JoinId {
        // Joins nest: each keeps what was known of the one around it.
        JoinId(std::mem::take(&mut self.join_failed).into())
    }

    #[inline]
    fn close(&mut self, join: JoinId, _: Awaits) -> Closed {
        Closed::Done { failed: std::mem::replace(&mut self.join_failed, join.0 == 1) }
    }

    #[inline(always)]
    fn read(&mut self, owner: Owner, read: Read) -> Outcome {
        if self.failed.is_empty() {
            self.read_now(owner, &read);
        } else {
            self.read_among_failed(owner, Read { after: None, ..read });
        }
        Outcome::Done
    }

    #[inline(always)]
    fn program(&mut self, owner: Owner, command: PageProgram) -> Outcome {
        self.execute(owner, command, M::program)
    }

    #[inline(always)]
    fn copy(&mut self, owner: Owner, copy: PageCopy) -> Outcome {
        match copy.way {
            CopyWay::Channel => {
                self.read(owner, copy.read(self.state.geometry.sectors_per_page()));
                self.program(owner, copy.program(None))
            }
            CopyWay::Plane => self.copy_in_plane(owner, PageCopy { way: CopyWay::Plane, ..copy }),
        }
    }

    fn copy_run(&mut self, run: &CopyRun<'_>) -> bool {
        if !self.ends_at_once() || !self.state.copy_plain(run) {
            return false;
        }
        let sectors = self.state.geometry.sectors_per_page() as u8;
        for _ in run.from {
            match run.way {
                CopyWay::Channel => {
                    self.meter.read(run.cause, sectors);
                    self.meter.program(run.cause);
                }
                CopyWay::Plane => self.meter.copyback(run.cause),
            }
        }
        true
    }

    #[inline]
    fn erase(&mut self, owner: Owner, block: BlockId, cause: Cause) -> Outcome {
        let row = self.state.blocks.begin_erase(block);
        let (waits, has_failed) = (row.pins() > 0, row.has_failed());
        if !waits {
            self.meter.erase(cause);
        }
        if !waits && !has_failed && self.state.complete_erase(block, cause) {
            self.state.mix(u64::from(block.0) | 1 << 40);
            return Outcome::Done;
        }
        if waits {
            self.waiting_erases.push((owner, block, cause));
        } else {
            // Failed here, or the block was given up earlier: it is bad now.
            if !self.state.block(block).is_bad() {
                self.state.complete_erase(block, cause);
            }
            self.state.events.push((owner, Event::EraseFailed { block }));
        }
        Outcome::Pending(CommandId { slot: block.0, generation: 0 })
    }

    fn take_back_erase(&mut self, block: BlockId) -> bool {
        let Some(at) = self.waiting_erases.iter().position(|waiting| waiting.1 == block) else { return false };
        self.waiting_erases.swap_remove(at);
        self.state.blocks.withdraw_erase(block);
        true
    }

    fn release(&mut self, block: BlockId) {
        self.unpin(block);
    }

    fn place_again(&mut self, failed: CommandId, page: Ppn) -> Outcome {
        let Failed { owner, command, base_lost } = self.take_failed(failed);
        let again = PageProgram { page, ..command };
        let base_lost = base_lost || self.base_is_lost(&again);
        let outcome = self.execute_carefully(owner, again, base_lost, M::program);
        self.let_go(&command);
        outcome
    }

    fn abandon(&mut self, failed: CommandId, _: Ppn) {
        let Failed { command, .. } = self.take_failed(failed);
        self.let_go(&command);
    }

    fn retarget(&mut self, from: Ppn, to: Ppn) -> bool {
        let found = self.failed.iter_mut().flatten().find(|failed| failed.command.supersedes == Some(from));
        let Some(failed) = found else { return false };
        failed.command.supersedes = Some(to);
        let (from, to) = (self.state.geometry.block_of(from), self.state.geometry.block_of(to));
        self.state.row(to).pin();
        self.unpin(from);
        true
    }

    fn notify_late(&mut self, owner: Owner, page: Ppn, token: Token) -> bool {
        self.late.push_back((owner, Event::Notified { token, page }));
        true
    }

    #[inline]
    fn ends_at_once(&self) -> bool {
        self.state.is_plain() && self.failed.is_empty()
    }

    #[inline]
    fn state(&self) -> &FlashState {
        &self.state
    }

    #[inline]
    fn memory_mut(&mut self) -> &mut Memory {
        &mut self.state.memory
    }

    #[inline]
    fn blocks_mut(&mut self) -> BlockUse<'_> {
        BlockUse(&mut self.state)
    }

    fn failure(&self, failed: CommandId) -> ProgramFailure {
        let of = self.failed[failed.slot as usize].as_ref().expect("only a failed program can be asked after");
        let PageProgram { page, supersedes, what, logical, sequence, cause, .. } = of.command;
        let is_superseded = self.failed.iter().flatten().any(|other| other.command.supersedes == Some(page));
        ProgramFailure { page, supersedes, what, logical, sequence, cause, is_superseded, id: failed }
    }
}
