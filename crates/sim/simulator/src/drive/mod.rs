//! A whole drive: the host interface over a stack of layers over flash.

mod careful;
mod contents;
mod front;
mod stalled;

use crate::block_device::{BlockDevice, Completion, Completions, Progress};
use crate::clocked::Clocked;
use crate::oracle::Oracle;
use front::Front;
use layer::{Answer, HOST_OWNER, Outbox, PageLayer, PageOp, Signal};
use nand::{Event, Flash, PayloadId, TimedFlash};
use std::collections::VecDeque;
use units::{Cause, DieId, HostOp, Lpn, Nanos, Request};

/// Timers of the host interface; layers have none.
const WAKE: u32 = 0;
const LINK_IN: u32 = 1;
const LINK_OUT: u32 = 2;
const IDLE: u32 = 3;
/// Timers every drive needs.
pub const HOST_TIMERS: u32 = 4;

/// Settings of the host interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostOptions {
    /// Bytes per second in each direction; 0: transfers take no time.
    pub link_bytes_per_second: u64,
    /// Time from the host to the drive, and again on the way back, ns.
    pub latency_ns: Nanos,
    /// Time within the drive that nothing shares, ns.
    pub drive_latency_ns: Nanos,
    /// Time of the firmware for a write.
    pub of_writes: Firmware,
    /// The same for any other request.
    pub of_others: Firmware,
    /// Cores that share that.
    pub cores: u32,
    /// Reads wait behind what waits for room, as all other requests do.
    pub reads_in_order: bool,
    /// Idle time after which layers may begin background work, ns; 0: never.
    pub idle_after_ns: Nanos,
}

/// Time of the firmware, ns; 0: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Firmware {
    /// Of a request, however large it is.
    pub request_ns: Nanos,
    /// Of each of its pages.
    pub page_ns: Nanos,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    request: Request,
    /// Its tag; of a slot that is free, the number of the next one.
    tag: u32,
    next_page: Lpn,
    end_page: Lpn,
    /// Operations under way below.
    outstanding: u32,
    failed: bool,
    /// It stands in the line for room.
    stalled: bool,
    /// From its arrival until the drive took it.
    queue_ns: Nanos,
    /// Behind others at the host link and at the cores, and without room.
    link_ns: Nanos,
    firmware_ns: Nanos,
    space_ns: Nanos,
    /// When it found no room, or joined the link's queue.
    since: Nanos,
    payload: PayloadId,
}

/// Ends the list of free slots.
const NO_SLOT: u32 = u32::MAX;

/// A simulated drive over flash of kind `F`.
pub struct Drive<F: Clocked> {
    flash: F,
    top: Box<dyn PageLayer<F>>,
    options: HostOptions,
    sectors: u64,
    /// Sectors of a page as a power of two.
    page_shift: u32,
    full_mask: u64,
    slots: Vec<Slot>,
    /// The slot that was freed last, or [`NO_SLOT`].
    free: u32,
    outstanding: u32,
    stalled: VecDeque<u32>,
    outbox: Outbox,
    done: Vec<Completion>,
    woken: bool,
    /// Dies that fail, and the requests until then.
    dying: Vec<DieId>,
    until_death: u64,
    front: Front,
    oracle: Option<Box<Oracle>>,
    /// Requests carry the host's cells.
    carries: bool,
    /// Cells of the reads in `done`, one after the other.
    read_cells: Vec<u8>,
}

impl<F: Clocked> Drive<F> {
    /// A drive of `user_pages` over `flash`, served by `top`.
    pub fn new(flash: F, top: Box<dyn PageLayer<F>>, user_pages: u32, options: HostOptions) -> Self {
        let geometry = flash.state().geometry;
        let sectors_per_page = geometry.sectors_per_page();
        let sectors = u64::from(user_pages) * u64::from(sectors_per_page);
        // Without time a link has no bandwidth, no timer fires, and a drive is never idle.
        let options = if F::HAS_TIME { options } else { HostOptions::default() };
        let oracle = flash.state().holds_contents().then(|| Box::new(Oracle::new(sectors, sectors_per_page)));
        Self {
            flash,
            top,
            options,
            sectors,
            page_shift: geometry.page_shift(),
            full_mask: geometry.full_mask(),
            slots: Vec::new(),
            free: NO_SLOT,
            outstanding: 0,
            stalled: VecDeque::new(),
            outbox: Outbox::new(),
            done: Vec::new(),
            woken: false,
            dying: Vec::new(),
            until_death: u64::MAX,
            front: Front::new(&options),
            oracle,
            carries: false,
            read_cells: Vec::new(),
        }
    }

    pub fn flash(&self) -> &F {
        &self.flash
    }

    /// The flash below, to set faults or counters.
    pub fn flash_mut(&mut self) -> &mut F {
        &mut self.flash
    }

    pub fn top(&self) -> &dyn PageLayer<F> {
        &*self.top
    }

    /// The top layer, to reset counters or load state.
    pub fn top_mut(&mut self) -> &mut dyn PageLayer<F> {
        &mut *self.top
    }

    /// Reads are checked against it when contents are on.
    pub fn oracle(&self) -> Option<&Oracle> {
        self.oracle.as_deref()
    }

    /// The oracle that reads are checked against, to be moved to the drive after a power cut.
    pub fn oracle_mut(&mut self) -> Option<&mut Oracle> {
        self.oracle.as_deref_mut()
    }

    /// A die fails now: it answers nothing any more, and the layers are told.
    pub fn kill_die(&mut self, die: DieId) {
        let state = self.flash.state_mut();
        state.kill_die(die);
        state.events.push((0, Event::DieLost { die }));
    }

    /// Dies fail when `requests` more requests have been taken.
    pub fn fail_dies_after(&mut self, dies: &[DieId], requests: u64) {
        self.dying = dies.to_vec();
        self.until_death = if dies.is_empty() { u64::MAX } else { requests };
    }

    /// Dies that were to fail and have not.
    pub fn dying(&self) -> &[DieId] {
        &self.dying
    }

    #[cold]
    fn die_now(&mut self) {
        self.until_death = u64::MAX;
        for die in std::mem::take(&mut self.dying) {
            self.kill_die(die);
        }
    }

    /// Takes the drive apart.
    pub fn into_parts(self) -> (F, Box<dyn PageLayer<F>>) {
        (self.flash, self.top)
    }

    /// Lets the layers do what they do before the first request of the host, to its end.
    pub fn prepare(&mut self) {
        self.top.prepare(&mut self.flash);
        self.drain();
    }

    /// Lets all work under way come to its end.
    pub(crate) fn drain(&mut self) {
        while self.flash.advance() {
            self.handle_events();
        }
    }

    /// Lets the layers do all that they do while the host is idle, to its end; nothing may be outstanding.
    pub(crate) fn rest(&mut self) {
        while self.top.on_idle(&mut self.flash) {
            self.drain();
        }
    }

    /// The host is idle from now on, unless requests are outstanding: background work begins after
    /// [`HostOptions::idle_after_ns`].
    #[inline]
    pub(crate) fn begin_idle_time(&mut self) {
        if self.outstanding == 0 && self.options.idle_after_ns > 0 {
            let begins = self.flash.now() + self.options.idle_after_ns;
            self.flash.set_timer(IDLE, Some(begins));
        }
    }

    /// Requests taken and not completed.
    pub fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// Keeps a request in a slot. Returns its number, and the slot as it is now: the caller need not look it up.
    #[inline(always)]
    fn new_slot(&mut self, tag: u32, request: &Request) -> (u32, Slot) {
        let last_of_page = (1 << self.page_shift) - 1;
        let slot = Slot {
            request: *request,
            tag,
            next_page: Lpn((request.first_sector >> self.page_shift) as u32),
            end_page: Lpn(((request.end_sector() + last_of_page) >> self.page_shift) as u32),
            outstanding: 0,
            failed: false,
            stalled: false,
            queue_ns: self.flash.now() - request.arrival,
            link_ns: 0,
            firmware_ns: 0,
            space_ns: 0,
            since: 0,
            payload: PayloadId::NONE,
        };
        self.outstanding += 1;
        if self.free == NO_SLOT {
            self.free = self.slots.len() as u32;
            self.slots.push(Slot { tag: NO_SLOT, ..slot });
        }
        let id = self.free;
        let place = &mut self.slots[id as usize];
        self.free = place.tag;
        *place = slot;
        (id, slot)
    }

    /// Hands the pages of a request that are not yet taken to the layers. `slot`: its slot.
    #[inline(always)]
    fn start(&mut self, id: u32, slot: &Slot) {
        let request = &slot.request;
        let first_page = Lpn((request.first_sector >> self.page_shift) as u32);
        let pages = slot.end_page - slot.next_page;
        let whole = (request.first_sector | u64::from(request.sectors)) & ((1 << self.page_shift) - 1) == 0;
        let (first_mask, last_mask) =
            if whole { (self.full_mask, self.full_mask) } else { self.edge_masks(slot, first_page) };
        let op = PageOp {
            op: request.op,
            first: slot.next_page,
            pages,
            first_mask,
            last_mask,
            fua: request.fua,
            cancellable: false,
            more: false,
            kept: false,
            payload: slot.payload.offset(slot.next_page - first_page),
            cause: Cause::Host,
            request_sectors: request.sectors,
            owner: HOST_OWNER,
            token: id,
        };
        let answer = self.top.submit(&mut self.flash, &op, &mut self.outbox);
        self.on_answer(id, answer);
    }

    /// Sectors meant in the first and last page of a request that does not cover them.
    fn edge_masks(&self, slot: &Slot, first_page: Lpn) -> (u64, u64) {
        let request = &slot.request;
        let pages = slot.end_page - slot.next_page;
        let head = request.first_sector - (u64::from(first_page.0) << self.page_shift);
        let tail = (u64::from(slot.end_page.0) << self.page_shift) - request.end_sector();
        let head_mask =
            if slot.next_page == first_page { self.full_mask << head & self.full_mask } else { self.full_mask };
        let tail_mask = self.full_mask >> tail;
        if pages == 1 { (head_mask & tail_mask, head_mask & tail_mask) } else { (head_mask, tail_mask) }
    }

    #[inline(always)]
    fn on_answer(&mut self, id: u32, answer: Answer) {
        match answer {
            Answer::Done { failed } => self.on_done_at_once(id, failed),
            Answer::Pending(_) => {
                let slot = &mut self.slots[id as usize];
                slot.outstanding += 1;
                slot.next_page = slot.end_page;
            }
            Answer::Full { taken, pending, failed } => {
                self.slots[id as usize].failed |= failed;
                self.stall(id, taken, pending);
            }
        }
    }

    /// The pages of a request that were handed to the layers are done.
    #[inline]
    fn on_done_at_once(&mut self, id: u32, failed: bool) {
        let slot = &mut self.slots[id as usize];
        slot.failed |= failed;
        slot.next_page = slot.end_page;
        if slot.outstanding == 0 {
            self.finish(id, None);
        }
    }

    #[inline]
    fn has_contents(&self) -> bool {
        self.carries || self.oracle.is_some()
    }

    #[inline(always)]
    fn complete(&mut self, id: u32, wait: Option<u32>) {
        let slot = &self.slots[id as usize];
        let waited_outside = slot.link_ns | slot.firmware_ns | slot.space_ns > 0;
        if waited_outside || self.has_contents() || self.flash.recorder().is_some() {
            self.complete_carefully(id, wait);
        } else {
            self.hand_over(id, wait);
        }
    }

    /// Leaves the completion of a request for the host. Its slot is free.
    #[inline(always)]
    fn hand_over(&mut self, id: u32, wait: Option<u32>) {
        let slot = &mut self.slots[id as usize];
        let Slot { request, tag, failed, queue_ns, .. } = *slot;
        slot.tag = self.free;
        self.free = id;
        self.done.push(Completion { tag, request, failed, wait, queue_ns });
        self.outstanding -= 1;
        self.begin_idle_time();
    }

    /// One operation of a request is done.
    #[inline(always)]
    fn on_done(&mut self, id: u32, failed: bool, wait: Option<u32>) {
        let slot = &mut self.slots[id as usize];
        slot.failed |= failed;
        slot.outstanding -= 1;
        // A flush has no pages: whether it was taken shows only in the line.
        if slot.outstanding == 0 && slot.next_page == slot.end_page && !slot.stalled {
            self.finish(id, wait);
        }
    }

    /// Empties the outbox of the layers.
    #[inline(never)]
    fn drain_outbox(&mut self) {
        let mut index = 0;
        while index < self.outbox.len() {
            match self.outbox[index] {
                Signal::Done { token, failed, wait, .. } => self.on_done(token, failed, wait),
                Signal::Room => self.retry_stalled(),
            }
            index += 1;
        }
        self.outbox.clear();
    }

    /// Handles what flash has to tell, including what handling it brings up. The waits the events
    /// name stay readable until the completions have been handed over.
    #[inline]
    fn handle_events(&mut self) {
        let mut index = 0;
        while let Some((owner, event)) = self.flash.state().events.get(index) {
            index += 1;
            // Taken field by field: loading the whole entry right after its fields were stored one by
            // one stalls the processor.
            if let Event::Joined { token, failed, wait } = event
                && *owner == HOST_OWNER
            {
                let (token, failed, wait) = (*token, *failed, *wait);
                self.on_done(token, failed, wait);
                continue;
            }
            let (owner, event) = (*owner, *event);
            match event {
                Event::Timer { timer } if timer < HOST_TIMERS => self.on_timer(timer),
                ref event => self.top.on_event(&mut self.flash, owner, event, &mut self.outbox),
            }
            if !self.outbox.is_empty() {
                self.drain_outbox();
            }
        }
        let state = self.flash.state_mut();
        state.events.clear();
        if self.done.is_empty() {
            state.memory.waits.clear();
        }
    }

    #[cold]
    fn on_timer(&mut self, timer: u32) {
        match timer {
            WAKE => self.woken = true,
            LINK_IN => self.arrivals(),
            LINK_OUT => self.departures(),
            _ => {
                if self.outstanding == 0 {
                    self.top.on_idle(&mut self.flash);
                }
            }
        }
    }

    /// A request's data (if any) has arrived: it goes to the layers, or behind those that wait.
    #[inline(always)]
    fn enter(&mut self, id: u32) {
        let slot = self.slots[id as usize];
        let passes = !self.options.reads_in_order && slot.request.op == HostOp::Read;
        if self.stalled.is_empty() || passes {
            self.start(id, &slot);
        } else {
            self.slots[id as usize].since = self.flash.now();
            self.slots[id as usize].stalled = true;
            self.stalled.push_back(id);
        }
    }

    /// A request that does not go to the layers as it is and at once: it has data, passes the link, or others wait for
    /// room.
    #[inline(never)]
    fn submit_carefully(&mut self, id: u32, request: &Request, cells: &[u8]) {
        if self.has_contents() {
            self.attach_contents(id, cells);
        }
        if !self.send_on_its_way(id, request) {
            self.enter(id);
        }
    }
}

impl<F: Clocked> BlockDevice for Drive<F> {
    fn has_time(&self) -> bool {
        F::HAS_TIME
    }

    #[inline]
    fn now(&self) -> Nanos {
        self.flash.now()
    }

    fn time_limit(&self) -> Nanos {
        self.flash.time_limit()
    }

    fn sectors(&self) -> u64 {
        self.sectors
    }

    #[inline]
    fn submit(&mut self, tag: u32, request: &Request) {
        self.submit_cells(tag, request, &[]);
    }

    #[inline]
    fn submit_cells(&mut self, tag: u32, request: &Request, cells: &[u8]) {
        assert!(request.end_sector() <= self.sectors, "a request beyond the drive must be refused by its source");
        if self.until_death == 0 {
            self.die_now();
        }
        self.until_death -= 1;
        let (id, slot) = self.new_slot(tag, request);
        if self.has_contents() || !self.stalled.is_empty() || !self.passes_at_once() {
            self.submit_carefully(id, request, cells);
        } else {
            self.start(id, &slot);
        }
        if !self.outbox.is_empty() {
            self.drain_outbox();
        }
        // Without time, what happened has happened before the next request.
        while !F::HAS_TIME && !self.flash.state().events.is_empty() {
            self.handle_events();
        }
    }

    fn serve_at_once(&mut self, requests: &[Request]) -> usize {
        if F::HAS_TIME || self.outstanding > 0 || self.has_contents() {
            return 0;
        }
        let until_death = requests.len().min(usize::try_from(self.until_death).unwrap_or(usize::MAX));
        let is_beyond = |request: &Request| request.end_sector() > self.sectors;
        let most = requests[..until_death].iter().position(is_beyond).unwrap_or(until_death);
        let served = self.top.write_at_once(&mut self.flash, &requests[..most]);
        self.until_death -= served as u64;
        while !self.flash.state().events.is_empty() {
            self.handle_events();
        }
        served
    }

    #[inline]
    fn advance(&mut self, completions: &mut Completions) -> Progress {
        completions.done.clear();
        loop {
            if !self.done.is_empty() || self.woken {
                self.woken = false;
                std::mem::swap(&mut completions.done, &mut self.done);
                if self.carries {
                    std::mem::swap(&mut completions.cells, &mut self.read_cells);
                    self.read_cells.clear();
                }
                let waits = &mut self.flash.memory_mut().waits;
                std::mem::swap(&mut completions.waits, waits);
                waits.clear();
                return Progress::Worked;
            }
            if self.flash.state().events.is_empty() && !self.flash.advance() {
                return Progress::Idle;
            }
            self.handle_events();
        }
    }

    fn wake_at(&mut self, time: Nanos) {
        self.flash.set_timer(WAKE, Some(time));
    }

    #[inline]
    fn hint(&self, soon: &[Request], next: &[Request]) {
        self.top.hint_map(&self.flash, soon);
        self.top.hint_target(&self.flash, next);
    }
}

impl Drive<TimedFlash> {
    /// Runs exactly one event (the crash campaign cuts power after each). `false`: none is pending.
    pub fn step(&mut self) -> bool {
        if self.flash.state().events.is_empty() && !self.flash.step() {
            return false;
        }
        self.handle_events();
        true
    }

    /// Whether [`BlockDevice::advance`] has something to tell at once.
    pub fn has_news(&self) -> bool {
        !self.done.is_empty() || self.woken
    }

    /// Whether nothing will happen by itself any more. The wake-up asked for does not count, and is forgotten: it would
    /// come whatever the drive does.
    pub fn is_quiet(&mut self) -> bool {
        self.flash.set_timer(WAKE, None);
        !self.has_news() && self.flash.state().events.is_empty() && !self.flash.is_pending()
    }

    /// Takes what completed since the last look.
    pub fn take_done(&mut self) -> Vec<Completion> {
        std::mem::take(&mut self.done)
    }
}
