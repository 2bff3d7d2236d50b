//! A buffer over a table of pages, and what is done to it a page at a time.

use buffer::{Buffer, BufferContext};
use layer::{
    Answer, BUFFER_OWNER, Held, LayerReport, OpHandle, Outbox, PageLayer, PageOp, Signal, SnapshotError,
    SnapshotReader, SnapshotWriter, Values,
};
use nand::{Event, Flash, FlashState, Owner, PayloadId, TimedFlash};
use stack::Stacked as _;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use testing::{Host, flash_of};
use units::{Cause, Geometry, HostOp, Lpn, Ppn, Request, Shape};

/// Logical pages of the host.
pub const PAGES: u32 = 64;
/// Sectors of a page.
pub const SECTORS: usize = 4;

pub type Page = [u64; SECTORS];

/// What the layer below holds, and the pages it was given in order.
#[derive(Debug, Default)]
pub struct Table {
    pub pages: BTreeMap<u32, Page>,
    pub written: Vec<u32>,
    pub flushes: u32,
}

/// A layer that keeps pages in a table. It answers at once, or takes its time for one operation after the other.
struct Below {
    table: Rc<RefCell<Table>>,
    /// Time of an operation, ns.
    takes: u64,
    waiting: VecDeque<PageOp>,
}

/// The timer of the operation that is being served.
const SERVED: u32 = 0;

fn cells(flash: &TimedFlash, payload: PayloadId) -> Page {
    let cells = flash.state().memory.payloads.cells(payload);
    std::array::from_fn(|at| u64::from_le_bytes(cells[8 * at..8 * at + 8].try_into().expect("a stamp has eight bytes")))
}

fn put(flash: &mut TimedFlash, payload: PayloadId, page: Page, mask: u64) {
    let cells = flash.memory_mut().payloads.cells_mut(payload);
    for (at, stamp) in page.iter().enumerate().filter(|(at, _)| mask >> at & 1 == 1) {
        cells[8 * at..8 * at + 8].copy_from_slice(&stamp.to_le_bytes());
    }
}

/// The sectors of `mask` of one page over another.
pub fn over(old: Page, new: Page, mask: u64) -> Page {
    std::array::from_fn(|at| if mask >> at & 1 == 1 { new[at] } else { old[at] })
}

impl Below {
    fn carry_out(&mut self, flash: &mut TimedFlash, op: &PageOp) {
        let table = &mut *self.table.borrow_mut();
        table.flushes += u32::from(op.op == HostOp::Flush);
        for index in 0..op.pages {
            let (page, mask) = (op.at(index).0, op.mask_at(index, (1 << SECTORS) - 1));
            let payload = op.payload.offset(index);
            let held = table.pages.get(&page).copied().unwrap_or_default();
            match op.op {
                HostOp::Read if payload == PayloadId::NONE => {}
                HostOp::Read => put(flash, payload, held, mask),
                HostOp::Write => {
                    table.pages.insert(page, over(held, cells(flash, payload), mask));
                    table.written.push(page);
                }
                HostOp::Trim => drop(table.pages.insert(page, over(held, Page::default(), mask))),
                HostOp::Flush => {}
            }
        }
    }

    fn serve_next(&self, flash: &mut TimedFlash) {
        let time = (!self.waiting.is_empty()).then(|| flash.now() + self.takes);
        flash.set_timer(SERVED, time);
    }
}

impl PageLayer<TimedFlash> for Below {
    fn submit(&mut self, flash: &mut TimedFlash, op: &PageOp, _: &mut Outbox) -> Answer {
        if self.takes == 0 {
            self.carry_out(flash, op);
            return Answer::Done { failed: false };
        }
        // What completes a block was read behind the older version.
        let is_version = |op: &PageOp| op.owner == BUFFER_OWNER && op.op == HostOp::Write && op.cause != Cause::Padding;
        let overtakes = |other: &PageOp| is_version(other) && other.first == op.first;
        let is_early = is_version(op) && self.waiting.iter().any(overtakes);
        assert!(!is_early, "page {} leaves while an older version of it is on its way", op.first);
        self.waiting.push_back(*op);
        if self.waiting.len() == 1 {
            self.serve_next(flash);
        }
        Answer::Pending(OpHandle(None))
    }

    fn on_event(&mut self, flash: &mut TimedFlash, _: Owner, event: &Event, outbox: &mut Outbox) {
        assert_eq!(*event, Event::Timer { timer: SERVED }, "flash is not used");
        let op = self.waiting.pop_front().expect("it was served");
        self.carry_out(flash, &op);
        outbox.push(Signal::Done { owner: op.owner, token: op.token, failed: false, wait: None });
        self.serve_next(flash);
    }

    fn on_idle(&mut self, _: &mut TimedFlash) -> bool {
        false
    }

    fn hint_map(&self, _: &TimedFlash, _: &[Request]) {}

    fn hint_target(&self, _: &TimedFlash, _: &[Request]) {}

    fn holds(&self, _: &TimedFlash, page: Lpn) -> Held {
        self.table.borrow().pages.get(&page.0).map_or(Held::Nothing, |_| Held::Bytes)
    }

    fn place_of(&self, _: Lpn, _: u64) -> Option<Ppn> {
        None
    }

    fn check(&self, _: &TimedFlash) -> Result<(), String> {
        Ok(())
    }

    fn report(&self, _: &mut Vec<LayerReport>) {}

    fn reset_counters(&mut self) {}

    fn save(&mut self, _: &mut SnapshotWriter) {}

    fn load(&mut self, _: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        Ok(())
    }
}

/// What a buffer is built from.
pub struct Plan {
    kind: Buffer,
    values: Values,
    geometry: Geometry,
    table: Rc<RefCell<Table>>,
    takes: u64,
}

impl Plan {
    /// A buffer of 16 pages in logical blocks of 4, with these keys set, over a layer that takes so many ns for an
    /// operation.
    pub fn new(kind: Buffer, set: &[(&str, &str)], takes: u64) -> Self {
        let shape = Shape {
            channels: 1,
            dies_per_channel: 1,
            planes_per_die: 1,
            blocks_per_die: 32,
            pages_per_block: 4,
            page_bytes: 512 * SECTORS as u32,
        };
        let geometry = Geometry::new(shape).expect("a valid shape");
        let small = [("buffer.size", "32KiB"), ("buffer.block_buffer", "16KiB")];
        // A configuration has a value for the keys of all kinds.
        let all = buffer::buffers().into_iter().flat_map(|kind| (kind.parameters)());
        let mut values = testing::values(all, &[set, &small].concat());
        values.set(layer::ATOMIC, layer::Value::Whole(512));
        Self { kind, values, geometry, table: Rc::default(), takes }
    }

    fn build_over(&self, state: &FlashState) -> Box<dyn PageLayer<TimedFlash>> {
        let Self { kind, ref values, geometry, .. } = *self;
        let context = BufferContext { geometry, user_pages: PAGES, owner: BUFFER_OWNER, name: kind.name, values };
        (kind.check)(&context).expect("the values fit together");
        let below = Below { table: self.table.clone(), takes: self.takes, waiting: VecDeque::new() };
        TimedFlash::buffered(kind.name, &context, Box::new(below), state)
    }

    /// Whether its memory outlives a power cut.
    fn is_nonvolatile(&self) -> bool {
        self.values.on("buffer.nonvolatile")
    }

    /// A host of it that tries whatever a host may do.
    pub fn host(self) -> Host<TimedFlash> {
        let writes_last = self.is_nonvolatile() || self.values.name("buffer.acknowledge") == "flash";
        Host::new(flash_of(self.geometry), PAGES, writes_last, self)
    }
}

impl testing::Plan<TimedFlash> for Plan {
    fn build(&self, flash: &TimedFlash) -> Box<dyn PageLayer<TimedFlash>> {
        self.build_over(flash.state())
    }

    fn recover(&self, image: &FlashState) -> Box<dyn PageLayer<TimedFlash>> {
        self.build_over(image)
    }
}

/// A buffer of one kind over the table, which answers at once.
pub struct Rig {
    plan: Plan,
    driven: testing::Rig<TimedFlash>,
    pub table: Rc<RefCell<Table>>,
}

impl Rig {
    /// As [`Plan::new`].
    pub fn new(kind: Buffer, set: &[(&str, &str)]) -> Self {
        let plan = Plan::new(kind, set, 0);
        let flash: TimedFlash = flash_of(plan.geometry);
        let (layer, table) = (plan.build_over(flash.state()), plan.table.clone());
        Self { plan, driven: testing::Rig::new(flash, layer), table }
    }

    fn submit(&mut self, op: PageOp) -> Vec<u64> {
        let ended = self.driven.run(PageOp { request_sectors: op.first_mask.count_ones(), ..op });
        assert!(!ended.failed, "{op:?} fails");
        self.driven.release(&ended.op)
    }

    pub fn write(&mut self, page: u32, stamps: Page, mask: u64, fua: bool) {
        let payload = self.driven.payload(&stamps, mask);
        self.submit(PageOp { payload, fua, ..PageOp::on_page(HostOp::Write, Lpn(page), mask) });
    }

    pub fn read(&mut self, page: u32) -> Page {
        let mask = (1 << SECTORS) - 1;
        let payload = self.driven.payload(&Page::default(), mask);
        let read = self.submit(PageOp { payload, ..PageOp::on_page(HostOp::Read, Lpn(page), mask) });
        read.try_into().expect("a page was read")
    }

    pub fn trim(&mut self, page: u32) {
        self.submit(PageOp::on_page(HostOp::Trim, Lpn(page), (1 << SECTORS) - 1));
    }

    pub fn flush(&mut self) {
        self.submit(PageOp { pages: 0, ..PageOp::on_page(HostOp::Flush, Lpn(0), 0) });
    }

    /// Power is cut, and comes back: what is below has lost nothing.
    pub fn cut_power(&mut self) {
        let plan = &self.plan;
        self.driven.restart(&|image| plan.build_over(image), &mut engine::random::Stream::new(1, "cut"));
    }

    /// Whether its memory outlives a power cut.
    pub fn is_nonvolatile(&self) -> bool {
        self.plan.is_nonvolatile()
    }

    pub fn check(&self) {
        self.driven.check();
    }

    /// A counter of the buffer; 0 if it has none of that name.
    pub fn counter(&self, name: &str) -> u64 {
        self.driven.counter(self.plan.kind.name, name)
    }
}
