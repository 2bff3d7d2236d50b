//! A layer over small flash, and the operations that are under way in it.

use engine::random::Stream;
use layer::{Answer, HOST_OWNER, Outbox, PageLayer, PageOp, Signal, SnapshotReader, SnapshotWriter};
use nand::{
    CommandOptions, ContentsKind, CountedFlash, Event, Flash, FlashState, Part, PayloadId, SlcTimes, TimedFlash, Token,
};
use std::collections::BTreeMap;
use units::{DieId, Geometry, HostOp, Lpn};

/// A part whose commands take different times; a page moves over the channel in 5 us.
pub const UNIT_PART: Part = Part {
    read_ns: 10_000,
    program_ns: 100_000,
    erase_ns: 1_000_000,
    bus_bytes_per_second: 102_400_000,
    page_bytes: 512,
    planes_as_one: 1,
    side_by_side: (1, 512),
    command_ns: 0,
    page_read_ns: None,
    page_program_ns: None,
    slc: Some(SlcTimes { read_ns: 5_000, program_ns: 50_000 }),
    first_pass_ns: None,
    endurance: 0,
};

/// Timers of flash with time, for a test to set.
const TIMERS: u32 = 1;

/// Flash in the hands of a test.
pub trait TestFlash: Flash + Sized {
    /// Flash in this state.
    fn over(state: FlashState) -> Self;
    /// The state, to be changed by the test.
    fn state_mut(&mut self) -> &mut FlashState;
    /// Goes on by one event of flash. `false`: nothing is under way.
    fn step(&mut self) -> bool;
    /// What a power cut leaves at this moment.
    fn power_cut(&self, stream: &mut Stream) -> FlashState;
}

impl TestFlash for CountedFlash {
    fn over(state: FlashState) -> Self {
        Self::new(state)
    }

    fn state_mut(&mut self) -> &mut FlashState {
        Self::state_mut(self)
    }

    fn step(&mut self) -> bool {
        self.advance()
    }

    fn power_cut(&self, stream: &mut Stream) -> FlashState {
        self.state().after_power_cut(&[], stream)
    }
}

impl TestFlash for TimedFlash {
    fn over(state: FlashState) -> Self {
        // Memory for two programs, where they are of several pages.
        let gather_pages = 2 * state.geometry.pages_per_program();
        Self::new(state, UNIT_PART, CommandOptions { gather_pages, ..CommandOptions::default() }, TIMERS)
    }

    fn state_mut(&mut self) -> &mut FlashState {
        Self::state_mut(self)
    }

    fn step(&mut self) -> bool {
        !self.state().events.is_empty() || Self::step(self)
    }

    fn power_cut(&self, stream: &mut Stream) -> FlashState {
        Self::power_cut(self, stream)
    }
}

/// Flash in its fresh state, whose pages hold a stamp of eight bytes for each sector.
pub fn flash_of<F: TestFlash>(geometry: Geometry) -> F {
    F::over(FlashState::new(geometry, ContentsKind::Stamp))
}

/// An operation that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// The operation, as it was submitted; its payload is the test's to release.
    pub op: PageOp,
    /// Part of it failed.
    pub failed: bool,
}

#[derive(Clone, Copy, Debug)]
struct UnderWay {
    op: PageOp,
    /// Answers that are still to come.
    left: u32,
    failed: bool,
}

/// A layer over flash.
pub struct Rig<F: TestFlash, L: PageLayer<F> + ?Sized = dyn PageLayer<F>> {
    /// The flash.
    pub flash: F,
    /// The layer.
    pub layer: Box<L>,
    under_way: BTreeMap<Token, UnderWay>,
    ended: Vec<Ended>,
    next: Token,
    has_room: bool,
    /// Events of flash and submissions before power is cut.
    events_left: Option<u32>,
    /// Blocks of a plane that may fail before the drive has no room.
    pub spare_blocks: u32,
    is_worn_out: bool,
}

impl<F: TestFlash, L: PageLayer<F> + ?Sized> Rig<F, L> {
    /// A layer that nothing was asked of yet.
    pub fn new(flash: F, layer: Box<L>) -> Self {
        let (under_way, ended) = (BTreeMap::new(), Vec::new());
        Self {
            flash,
            layer,
            under_way,
            ended,
            next: 0,
            has_room: false,
            events_left: None,
            spare_blocks: 0,
            is_worn_out: false,
        }
    }

    /// An operation of the host that nothing of was submitted yet, with its token.
    pub fn begin(&mut self, op: PageOp) -> PageOp {
        let token = self.next;
        self.next += 1;
        self.under_way.insert(token, UnderWay { op, left: 1, failed: false });
        PageOp { owner: HOST_OWNER, token, ..op }
    }

    /// Submits an operation, or the rest of one; returns the rest that finds no room.
    pub fn offer(&mut self, op: PageOp) -> Option<PageOp> {
        let mut outbox = Outbox::new();
        let answer = self.layer.submit(&mut self.flash, &op, &mut outbox);
        self.time_passes();
        if let Answer::Full { pending: true, .. } = answer {
            self.under_way.get_mut(&op.token).expect("it is not accepted").left += 1;
        }
        self.has_room = false;
        self.hear(&outbox);
        // Without time a failed program is told of here, and is placed before anybody hears of the end.
        self.handle_events();
        match answer {
            Answer::Done { failed } => self.part_ended(op.token, failed),
            Answer::Pending(_) => {}
            Answer::Full { taken, failed, .. } => {
                self.under_way.get_mut(&op.token).expect("it is not accepted").failed |= failed;
                let first_mask = op.mask_at(taken, self.flash.state().geometry.full_mask());
                let (first, pages, payload) = (op.first + taken, op.pages - taken, op.payload.offset(taken));
                return Some(PageOp { first, pages, first_mask, payload, ..op });
            }
        }
        None
    }

    /// Submits an operation, and goes on until all of it is accepted; its token. If power is cut before that, some of
    /// it may be missing.
    ///
    /// # Panics
    /// There is no room, and nothing under way that will make some.
    pub fn submit(&mut self, op: PageOp) -> Token {
        let begun = self.begin(op);
        let mut rest = Some(begun);
        while let Some(left) = rest.and_then(|rest| self.offer(rest)) {
            rest = Some(left);
            while !self.has_room && self.step() {}
            if self.is_off() {
                break;
            }
            if !self.has_room && self.has_lost_spares() {
                self.is_worn_out = true;
                break;
            }
            assert!(self.has_room, "there is no room for {left:?}, and nothing makes some");
        }
        begun.token
    }

    /// Submits an operation and waits for its end.
    ///
    /// # Panics
    /// As [`Rig::submit`]; or it never ends; or another one ended meanwhile.
    pub fn run(&mut self, op: PageOp) -> Ended {
        let token = self.submit(op);
        while self.under_way.contains_key(&token) {
            assert!(self.step(), "{op:?} never ends");
        }
        let ended = self.ended.pop().expect("it has ended");
        assert!(self.ended.is_empty(), "it was under way alone");
        ended
    }

    /// Goes on by one event of flash, and handles what is to be told. `false`: nothing is under way, or power is off.
    pub fn step(&mut self) -> bool {
        if self.is_off() || !self.flash.step() {
            return false;
        }
        self.time_passes();
        self.handle_events();
        true
    }

    fn time_passes(&mut self) {
        self.events_left = self.events_left.map(|left| left.saturating_sub(1));
    }

    fn handle_events(&mut self) {
        let mut index = 0;
        while let Some((owner, event)) = self.flash.state().events.get(index).copied() {
            index += 1;
            if let (HOST_OWNER, Event::Joined { token, failed, .. }) = (owner, event) {
                self.part_ended(token, failed);
                continue;
            }
            let mut outbox = Outbox::new();
            self.layer.on_event(&mut self.flash, owner, &event, &mut outbox);
            self.hear(&outbox);
        }
        self.flash.state_mut().events.clear();
        self.flash.memory_mut().waits.clear();
    }

    /// Goes on until nothing is under way, or power is off.
    ///
    /// # Panics
    /// An operation never ends.
    pub fn drain(&mut self) {
        while self.step() {}
        assert!(self.is_off() || self.under_way.is_empty(), "these never end: {:?}", self.under_way);
    }

    /// Lets the layer use an idle time, until it has nothing more to do.
    ///
    /// # Panics
    /// It always has.
    pub fn idle(&mut self) {
        for _ in 0..1000 {
            self.drain();
            if self.is_off() || !self.layer.on_idle(&mut self.flash) {
                return self.drain();
            }
        }
        panic!("an idle time has no end");
    }

    /// Lets the layer begin what it does in an idle time.
    pub fn begin_idle(&mut self) {
        self.drain();
        if !self.is_off() {
            self.layer.on_idle(&mut self.flash);
            self.handle_events();
        }
    }

    /// The token of the next operation.
    pub fn next_token(&self) -> Token {
        self.next
    }

    /// An operation found no room, because more blocks have failed than there were to spare.
    pub fn is_worn_out(&self) -> bool {
        self.is_worn_out
    }

    fn has_lost_spares(&self) -> bool {
        let state = self.flash.state();
        let has_failed = |block: &&nand::BlockRow| block.is_bad() || block.has_failed();
        let mut planes = state.blocks().chunks(state.geometry.blocks_per_plane() as usize);
        planes.any(|plane| plane.iter().filter(has_failed).count() > self.spare_blocks as usize)
    }

    /// Operations under way.
    pub fn outstanding(&self) -> usize {
        self.under_way.len()
    }

    /// Operations that ended since the last call.
    pub fn take_ended(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.ended)
    }

    /// A die answers nothing any more, and the layer hears of it.
    pub fn kill(&mut self, die: u32) {
        let state = self.flash.state_mut();
        state.kill_die(DieId(die));
        state.events.push((0, Event::DieLost { die: DieId(die) }));
        self.handle_events();
    }

    /// A counter of the layer called `layer`; 0 where it has none of that name.
    pub fn counter(&self, layer: &str, name: &str) -> u64 {
        let mut reports = Vec::new();
        self.layer.report(&mut reports);
        let own = reports.iter().find(|report| report.name == layer);
        own.and_then(|report| report.counters.get(name)).copied().unwrap_or(0)
    }

    /// Power will be off after so many events of flash and submissions.
    pub fn cut_after(&mut self, events: u32) {
        self.events_left = Some(events);
    }

    /// Power is off: nothing moves until [`Rig::restart`].
    pub fn is_off(&self) -> bool {
        self.events_left == Some(0)
    }

    /// A power cut is to come.
    pub fn expects_cut(&self) -> bool {
        self.events_left.is_some()
    }

    /// Power is cut, and comes back; `recover` rebuilds the layer.
    pub fn restart(&mut self, recover: &dyn Fn(&FlashState) -> Box<L>, stream: &mut Stream) {
        let image = self.flash.power_cut(stream);
        let (next, spare_blocks) = (self.next, self.spare_blocks);
        *self = Self { next, spare_blocks, ..Self::new(F::over(image.clone()), recover(&image)) };
    }

    /// The layer is built anew and takes its state from a snapshot, which must read as it was written.
    ///
    /// # Panics
    /// It does not.
    pub fn reload(&mut self, build: &dyn Fn(&F) -> Box<L>) {
        let saved = |layer: &mut L| {
            let mut writer = SnapshotWriter::new();
            layer.save(&mut writer);
            writer.into_bytes()
        };
        self.drain();
        let bytes = saved(&mut self.layer);
        self.layer = build(&self.flash);
        let mut reader = SnapshotReader::new(&bytes);
        self.layer.load(&mut reader).expect("the snapshot fits");
        assert!(reader.is_empty() && saved(&mut self.layer) == bytes, "a snapshot changes what it holds");
    }

    /// Checks every law of the layer.
    ///
    /// # Panics
    /// One is broken.
    pub fn check(&self) {
        self.layer.check(&self.flash).expect("the layer keeps its laws");
    }

    /// Payloads with these stamps, page by page.
    pub fn payload(&mut self, stamps: &[u64], mask: u64) -> PayloadId {
        let sectors = self.flash.state().geometry.sectors_per_page() as usize;
        let payloads = &mut self.flash.memory_mut().payloads;
        let payload = payloads.take((stamps.len() / sectors) as u32, mask);
        for (page, stamps) in (0..).zip(stamps.chunks_exact(sectors)) {
            let bytes: Vec<u8> = stamps.iter().flat_map(|stamp| stamp.to_le_bytes()).collect();
            payloads.cells_mut(payload.offset(page)).copy_from_slice(&bytes);
        }
        payload
    }

    /// The stamps of the payloads of an operation, which are given back.
    pub fn release(&mut self, op: &PageOp) -> Vec<u64> {
        if op.payload == PayloadId::NONE {
            return Vec::new();
        }
        let payloads = &mut self.flash.memory_mut().payloads;
        let stamp = |cell: &[u8]| u64::from_le_bytes(cell.try_into().expect("a stamp has eight bytes"));
        let page = |page| payloads.cells(op.payload.offset(page)).chunks_exact(8).map(stamp).collect::<Vec<_>>();
        let stamps = (0..op.pages).flat_map(page).collect();
        payloads.release(op.payload, op.pages);
        stamps
    }

    /// Writes whole pages in one operation, and waits for its end.
    pub fn write(&mut self, first: u32, stamps: &[u64]) -> Ended {
        let geometry = self.flash.state().geometry;
        let (full, pages) = (geometry.full_mask(), stamps.len() as u32 / geometry.sectors_per_page());
        let payload = self.payload(stamps, full);
        let ended = self.run(PageOp { pages, payload, ..PageOp::on_page(HostOp::Write, Lpn(first), full) });
        self.release(&ended.op);
        ended
    }

    /// Reads whole pages in one operation. `None`: some cannot be read.
    pub fn read(&mut self, first: u32, pages: u32) -> Option<Vec<u64>> {
        let geometry = self.flash.state().geometry;
        let full = geometry.full_mask();
        let payload = self.payload(&vec![u64::MAX; (pages * geometry.sectors_per_page()) as usize], full);
        let ended = self.run(PageOp { pages, payload, ..PageOp::on_page(HostOp::Read, Lpn(first), full) });
        let stamps = self.release(&ended.op);
        (!ended.failed).then_some(stamps)
    }

    fn part_ended(&mut self, token: Token, failed: bool) {
        let under_way = self.under_way.get_mut(&token).expect("an operation ends once");
        under_way.failed |= failed;
        under_way.left -= 1;
        if under_way.left == 0 {
            let UnderWay { op, failed, .. } = *under_way;
            self.under_way.remove(&token);
            self.ended.push(Ended { op: PageOp { token, ..op }, failed });
        }
    }

    fn hear(&mut self, outbox: &[Signal]) {
        for signal in outbox {
            match *signal {
                Signal::Done { owner, token, failed, .. } => {
                    assert_eq!(owner, HOST_OWNER, "a layer answers whoever asked");
                    self.part_ended(token, failed);
                }
                Signal::Room => self.has_room = true,
            }
        }
    }
}
