//! The path of a request between the host and the layers: the host link in each direction, a core of the controller,
//! and a latency each way.
//!
//! Faithful to: bandwidth by direction, first come, first served; the firmware's time for each request and for each
//! page of a read or write, on as many cores as there are. Simplified: requests leave the cores in the order in which
//! they came; background work takes no time of a core.
//! Protects: a step without cost takes no event.

use super::{Drive, Firmware, HostOptions, LINK_IN, LINK_OUT};
use crate::clocked::Clocked;
use nand::WaitVector;
use std::collections::VecDeque;
use units::{HostOp, Nanos, Request};

/// One direction: who passes when, first to last.
#[derive(Debug, Default)]
struct Passage {
    /// When the link is free.
    free_at: Nanos,
    queue: VecDeque<(Nanos, u32)>,
}

impl Passage {
    /// Adds one; `true`: it is the next to pass.
    fn add(&mut self, time: Nanos, id: u32) -> bool {
        let mut place = self.queue.len();
        while place > 0 && self.queue[place - 1].0 > time {
            place -= 1;
        }
        self.queue.insert(place, (time, id));
        place == 0
    }

    /// The next one whose time has come, or when that is.
    fn next(&mut self, now: Nanos) -> Result<u32, Option<Nanos>> {
        match self.queue.front() {
            Some((time, _)) if *time > now => Err(Some(*time)),
            Some(_) => self.queue.pop_front().map(|(_, id)| id).ok_or(None),
            None => Err(None),
        }
    }
}

/// Both directions, and the cores.
#[derive(Debug)]
pub(super) struct Front {
    inbound: Passage,
    outbound: Passage,
    /// By the number of a request on its way to the host: whether its waiting is known, and what it waited for.
    waited: Vec<(bool, WaitVector)>,
    /// When each core is free, and the last request left them.
    cores: Vec<Nanos>,
    last: Nanos,
    /// Requests go to the layers at once.
    passes_at_once: bool,
    /// Answers go to the host at once.
    answers_at_once: bool,
}

impl HostOptions {
    /// Whether the firmware takes time.
    fn has_firmware(&self) -> bool {
        [self.of_writes, self.of_others].iter().any(|firmware| *firmware != Firmware::default())
    }

    /// Whether nothing lies between the host and the layers.
    fn passes_at_once(&self) -> bool {
        self.answers_at_once() && self.drive_latency_ns == 0 && !self.has_firmware()
    }

    /// Whether nothing lies between the layers and the host.
    fn answers_at_once(&self) -> bool {
        self.link_bytes_per_second == 0 && self.latency_ns == 0
    }
}

impl Firmware {
    /// Time for a request of so many pages.
    fn time_of(self, pages: u64) -> Nanos {
        self.request_ns + pages * self.page_ns
    }
}

impl Front {
    pub fn new(options: &HostOptions) -> Self {
        let cores = if options.has_firmware() { options.cores.max(1) as usize } else { 0 };
        Self {
            inbound: Passage::default(),
            outbound: Passage::default(),
            waited: Vec::new(),
            cores: vec![0; cores],
            last: 0,
            passes_at_once: options.passes_at_once(),
            answers_at_once: options.answers_at_once(),
        }
    }

    /// A request is on its way to the host.
    fn note_waited(&mut self, id: u32, waited: Option<&WaitVector>) {
        if self.waited.len() <= id as usize {
            self.waited.resize(id as usize + 1, (false, WaitVector::ZERO));
        }
        let (is_known, own) = &mut self.waited[id as usize];
        *is_known = waited.is_some();
        if let Some(waited) = waited {
            own.copy_from(waited);
        }
    }
}

impl<F: Clocked> Drive<F> {
    /// Whether nothing lies between the host and the layers.
    #[inline(always)]
    pub(super) fn passes_at_once(&self) -> bool {
        self.front.passes_at_once
    }

    /// Lets a request pass to the layers later. `false`: it may go on at once.
    #[inline]
    pub(super) fn send_on_its_way(&mut self, id: u32, request: &Request) -> bool {
        !self.front.passes_at_once && self.pass_in(id, request)
    }

    #[inline(never)]
    fn pass_in(&mut self, id: u32, request: &Request) -> bool {
        let HostOptions { link_bytes_per_second: rate, of_writes, of_others, .. } = self.options;
        let now = self.flash.now();
        let mut at = now;
        if rate > 0 {
            // Everything passes the inbound link in order; only writes bring data with them.
            let bytes = if request.op == HostOp::Write { request.bytes_moved() } else { 0 };
            let link = &mut self.front.inbound;
            self.slots[id as usize].link_ns += link.free_at.saturating_sub(now);
            link.free_at = link.free_at.max(now) + link_time(bytes, rate);
            at = link.free_at;
        }
        if let Some(core) = self.front.cores.iter_mut().min() {
            let pages = u64::from(request.sectors).div_ceil(1 << self.page_shift).max(1);
            // A trim or a flush moves no data: the firmware handles it as one command, however many pages it names.
            let firmware_ns = match request.op {
                HostOp::Read => of_others.time_of(pages),
                HostOp::Write => of_writes.time_of(pages),
                HostOp::Trim | HostOp::Flush => of_others.time_of(1),
            };
            *core = at.max(*core) + firmware_ns;
            self.front.last = self.front.last.max(*core);
            self.slots[id as usize].firmware_ns += self.front.last - at - firmware_ns;
            at = self.front.last;
        }
        at += self.options.latency_ns + self.options.drive_latency_ns;
        // What arrives at this very moment may still be queued: nothing overtakes it.
        if at == now && self.front.inbound.queue.is_empty() {
            return false;
        }
        if self.front.inbound.add(at, id) {
            self.flash.set_timer(LINK_IN, Some(at));
        }
        true
    }

    /// A request is done: its answer goes to the host.
    #[inline(always)]
    pub(super) fn finish(&mut self, id: u32, wait: Option<u32>) {
        if self.front.answers_at_once {
            self.complete(id, wait);
        } else {
            self.send(id, wait);
        }
    }

    /// Puts an answer, with a read's data, onto the way to the host.
    #[inline(never)]
    fn send(&mut self, id: u32, wait: Option<u32>) {
        let HostOptions { link_bytes_per_second: rate, latency_ns, .. } = self.options;
        let now = self.flash.now();
        let slot = &mut self.slots[id as usize];
        let is_on_link = rate > 0 && slot.request.op == HostOp::Read;
        if latency_ns == 0 && !is_on_link {
            return self.complete(id, wait);
        }
        let mut at = now;
        if is_on_link {
            let link = &mut self.front.outbound;
            slot.link_ns += link.free_at.saturating_sub(now);
            link.free_at = link.free_at.max(now) + link_time(slot.request.bytes_moved(), rate);
            at = link.free_at;
        }
        at += latency_ns;
        let waits = wait.map(|index| &self.flash.state().memory.waits[index]);
        self.front.note_waited(id, waits);
        if self.front.outbound.add(at, id) {
            self.flash.set_timer(LINK_OUT, Some(at));
        }
    }

    pub(super) fn arrivals(&mut self) {
        let now = self.flash.now();
        loop {
            match self.front.inbound.next(now) {
                Ok(id) => self.enter(id),
                Err(Some(time)) => return self.flash.set_timer(LINK_IN, Some(time)),
                Err(None) => return,
            }
        }
    }

    pub(super) fn departures(&mut self) {
        let now = self.flash.now();
        loop {
            match self.front.outbound.next(now) {
                Ok(id) => {
                    let (is_known, waited) = &self.front.waited[id as usize];
                    let wait = is_known.then(|| self.flash.memory_mut().waits.note(waited));
                    self.complete(id, wait);
                }
                Err(Some(time)) => return self.flash.set_timer(LINK_OUT, Some(time)),
                Err(None) => return,
            }
        }
    }
}

fn link_time(bytes: u64, rate: u64) -> Nanos {
    (u128::from(bytes) * 1_000_000_000).div_ceil(u128::from(rate)) as Nanos
}
