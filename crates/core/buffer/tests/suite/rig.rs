//! A buffer over a table of pages, and what is done to it a page at a time.

use buffer::{Buffer, BufferContext};
use layer::{
    Answer, BUFFER_OWNER, Held, LayerReport, Outbox, PageLayer, PageOp, Signal, SnapshotError, SnapshotReader,
    SnapshotWriter, Values,
};
use nand::{ContentsKind, CountedFlash, Event, Flash, FlashState, Owner, PayloadId};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use units::{Geometry, HostOp, Lpn, Request, Shape};

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

struct Below(Rc<RefCell<Table>>);

fn cells(flash: &CountedFlash, payload: PayloadId) -> Page {
    let cells = flash.state().memory.payloads.cells(payload);
    std::array::from_fn(|at| u64::from_le_bytes(cells[8 * at..8 * at + 8].try_into().expect("a stamp has eight bytes")))
}

fn put(flash: &mut CountedFlash, payload: PayloadId, page: Page, mask: u64) {
    let cells = flash.memory_mut().payloads.cells_mut(payload);
    for (at, stamp) in page.iter().enumerate().filter(|(at, _)| mask >> at & 1 == 1) {
        cells[8 * at..8 * at + 8].copy_from_slice(&stamp.to_le_bytes());
    }
}

/// The sectors of `mask` of one page over another.
pub fn over(old: Page, new: Page, mask: u64) -> Page {
    std::array::from_fn(|at| if mask >> at & 1 == 1 { new[at] } else { old[at] })
}

impl PageLayer<CountedFlash> for Below {
    fn submit(&mut self, flash: &mut CountedFlash, op: &PageOp, _: &mut Outbox) -> Answer {
        let table = &mut *self.0.borrow_mut();
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
        Answer::Done { failed: false }
    }

    fn on_event(&mut self, _: &mut CountedFlash, _: Owner, _: &Event, _: &mut Outbox) {}

    fn on_idle(&mut self, _: &mut CountedFlash) -> bool {
        false
    }

    fn hint_map(&self, _: &CountedFlash, _: &[Request]) {}

    fn hint_target(&self, _: &CountedFlash, _: &[Request]) {}

    fn holds(&self, _: &CountedFlash, page: Lpn) -> Held {
        self.0.borrow().pages.get(&page.0).map_or(Held::Nothing, |_| Held::Bytes)
    }

    fn check(&self, _: &CountedFlash) -> Result<(), String> {
        Ok(())
    }

    fn report(&self, _: &mut Vec<LayerReport>) {}

    fn reset_counters(&mut self) {}

    fn save(&self, _: &mut SnapshotWriter) {}

    fn load(&mut self, _: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        Ok(())
    }
}

/// A buffer of one kind over the table.
pub struct Rig {
    kind: Buffer,
    values: Values,
    pub flash: CountedFlash,
    layer: Box<dyn PageLayer<CountedFlash>>,
    pub table: Rc<RefCell<Table>>,
}

impl Rig {
    /// A buffer of 16 pages in logical blocks of 4, with these keys set.
    pub fn new(kind: Buffer, set: &[(&str, &str)]) -> Self {
        let shape = Shape {
            channels: 1,
            dies_per_channel: 1,
            planes_per_die: 1,
            blocks_per_die: 32,
            pages_per_block: 4,
            page_bytes: 512 * SECTORS as u32,
        };
        let geometry = Geometry::new(shape).expect("a valid shape");
        let mut values = Values::default();
        // A configuration has a value for the keys of all kinds.
        for parameter in buffer::buffers().iter().flat_map(|kind| (kind.parameters)()) {
            let text = set.iter().find(|(key, _)| *key == parameter.key).map(|(_, text)| *text);
            let small = match parameter.key {
                "buffer.size" => Some("32KiB"),
                "buffer.block_buffer" => Some("16KiB"),
                _ => parameter.default,
            };
            let text = text.or(small);
            if let Some(text) = text {
                values.set(parameter.key, parameter.parse(text).expect("a valid value"));
            }
        }
        let flash = CountedFlash::new(FlashState::new(geometry, ContentsKind::Stamp));
        let table = Rc::default();
        let layer = Self::build(kind, &values, flash.state(), &table);
        Self { kind, values, flash, layer, table }
    }

    fn build(
        kind: Buffer,
        values: &Values,
        state: &FlashState,
        table: &Rc<RefCell<Table>>,
    ) -> Box<dyn PageLayer<CountedFlash>> {
        let geometry = state.geometry;
        let context = BufferContext { geometry, user_pages: PAGES, owner: BUFFER_OWNER, name: kind.name, values };
        (kind.check)(&context).expect("the values fit together");
        let build = buffer::build::<CountedFlash>(kind.name).expect("it is in the table");
        build(&context, Box::new(Below(table.clone())), state)
    }

    fn submit(&mut self, op: &PageOp) {
        let mut outbox = Outbox::new();
        let done = match self.layer.submit(&mut self.flash, op, &mut outbox) {
            Answer::Done { failed } => !failed,
            Answer::Pending(_) => outbox.iter().any(|signal| matches!(signal, Signal::Done { failed: false, .. })),
            Answer::Full { .. } => false,
        };
        assert!(done, "what is below answers at once, and {op:?} has no answer");
    }

    pub fn write(&mut self, page: u32, stamps: Page, mask: u64, fua: bool) {
        let payload = self.payload(stamps, mask);
        self.submit(&PageOp {
            payload,
            fua,
            request_sectors: mask.count_ones(),
            ..PageOp::on_page(HostOp::Write, Lpn(page), mask)
        });
        self.release(payload);
    }

    pub fn read(&mut self, page: u32) -> Page {
        let mask = (1 << SECTORS) - 1;
        let payload = self.payload(Page::default(), mask);
        self.submit(&PageOp {
            payload,
            request_sectors: SECTORS as u32,
            ..PageOp::on_page(HostOp::Read, Lpn(page), mask)
        });
        let read = cells(&self.flash, payload);
        self.release(payload);
        read
    }

    pub fn trim(&mut self, page: u32) {
        self.submit(&PageOp::on_page(HostOp::Trim, Lpn(page), (1 << SECTORS) - 1));
    }

    pub fn flush(&mut self) {
        self.submit(&PageOp { pages: 0, ..PageOp::on_page(HostOp::Flush, Lpn(0), 0) });
    }

    /// Power is cut, and comes back: what is below has lost nothing.
    pub fn cut_power(&mut self) {
        let image = self.flash.state().after_power_cut(&[], &mut engine::random::Stream::new(1, "cut"));
        self.layer = Self::build(self.kind, &self.values, &image, &self.table);
        self.flash = CountedFlash::new(image);
    }

    /// Whether its memory outlives a power cut.
    pub fn is_nonvolatile(&self) -> bool {
        self.values.on("buffer.nonvolatile")
    }

    pub fn check(&self) {
        self.layer.check(&self.flash).expect("the buffer keeps its invariants");
    }

    /// A counter of the buffer; 0 if it has none of that name.
    pub fn counter(&self, name: &str) -> u64 {
        let mut reports = Vec::new();
        self.layer.report(&mut reports);
        reports[0].counters.get(name).copied().unwrap_or(0)
    }

    fn payload(&mut self, stamps: Page, mask: u64) -> PayloadId {
        let payload = self.flash.memory_mut().payloads.take(1, mask);
        put(&mut self.flash, payload, stamps, (1 << SECTORS) - 1);
        payload
    }

    fn release(&mut self, payload: PayloadId) {
        self.flash.memory_mut().payloads.release(payload, 1);
    }
}
