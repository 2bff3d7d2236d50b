//! A drive of stripes over the page mapping, what was written to it, and what is read from flash behind its back.

use engine::random::Stream;
use ftl::mapping::{self, FtlContext};
use layer::{Answer, LayerReport, Outbox, PageLayer, PageOp, Signal, Values};
use nand::{ContentsKind, CountedFlash, Event, Flash, FlashState, PageKind, PayloadId};
use stripe::{StripeLayout, StripePlan};
use units::{Cause, DieId, Geometry, HostOp, Lpn, Organization, Ppn};

/// Logical pages of the host, of one sector each: eight stripes of four data pages.
pub const PAGES: u32 = 32;

/// Whether a page could be read.
pub type Found = Result<u64, Unreadable>;

/// An operation that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

pub struct Rig {
    plan: StripePlan,
    values: Values,
    geometry: Geometry,
    flash: CountedFlash,
    layer: Box<dyn PageLayer<CountedFlash>>,
    /// What each page of the host holds; 0: never written, or trimmed.
    pub held: Vec<u64>,
}

impl Rig {
    /// Four data pages a stripe, a delayed parity for two stripes, and the keys in `set`.
    pub fn new(kind: &str, set: &[(&str, &str)]) -> Self {
        let chips = if kind.starts_with("raid6") { 6 } else { 5 };
        let spares = set.iter().find(|(key, _)| *key == "stripe.spares").map_or("0", |(_, spares)| *spares);
        let organization = Organization {
            channels: chips + spares.parse::<u32>().expect("a number"),
            dies_per_channel: 1,
            planes_per_die: 1,
            pages_per_block: 4,
            page_bytes: 512,
        };
        let geometry = Geometry::new(organization.with_blocks(16)).expect("a valid shape");
        let chips = chips.to_string();
        let own = [
            ("stripe.kind", kind),
            ("stripe.chips", &chips),
            ("stripe.buffer_size", "0B"),
            ("stripe.cache.entries", "2"),
        ];
        let mut values = Values::default();
        for parameter in mapping::parameters().into_iter().chain(stripe::parameters()) {
            let text = set.iter().chain(&own).find(|(key, _)| *key == parameter.key).map(|(_, text)| *text);
            if let Some(text) = text.or(parameter.default) {
                values.set(parameter.key, parameter.parse(text).expect("a valid value"));
            }
        }
        let plan = StripePlan::new(&values, &organization, PAGES.into()).expect("the values fit");
        let plan = plan.expect("there are stripes");
        let flash = CountedFlash::new(FlashState::new(geometry, ContentsKind::Stamp));
        let layer = plan.build(&context(geometry, &values), &below(), &flash);
        Self { plan, values, geometry, flash, layer, held: vec![0; PAGES as usize] }
    }

    pub fn layout(&self) -> StripeLayout {
        self.plan.layout()
    }

    /// Handles what flash and the layer have to tell; whether `token` is done, and how.
    fn settle(&mut self, outbox: &mut Outbox) -> Option<bool> {
        let mut index = 0;
        while let Some((owner, event)) = self.flash.state().events.get(index).copied() {
            self.layer.on_event(&mut self.flash, owner, &event, outbox);
            index += 1;
        }
        self.flash.state_mut().events.clear();
        let done = |signal: &Signal| match signal {
            Signal::Done { failed, .. } => Some(*failed),
            Signal::Room => None,
        };
        outbox.iter().find_map(done)
    }

    fn submit(&mut self, op: &PageOp) -> Result<(), Unreadable> {
        let mut outbox = Outbox::new();
        let answer = self.layer.submit(&mut self.flash, op, &mut outbox);
        let heard = self.settle(&mut outbox);
        let failed = match answer {
            Answer::Done { failed } => failed,
            Answer::Pending(_) => heard.expect("flash without time ends what was begun"),
            Answer::Full { .. } => panic!("there is room"),
        };
        if failed { Err(Unreadable) } else { Ok(()) }
    }

    fn cells(&mut self, payload: PayloadId) -> &mut [u8] {
        self.flash.memory_mut().payloads.cells_mut(payload)
    }

    fn payload(&mut self, stamps: &[u64]) -> PayloadId {
        let payload = self.flash.memory_mut().payloads.take(stamps.len() as u32, 1);
        for (page, stamp) in (0..).zip(stamps) {
            self.cells(payload.offset(page)).copy_from_slice(&stamp.to_le_bytes());
        }
        payload
    }

    fn release(&mut self, payload: PayloadId, pages: usize) {
        self.flash.memory_mut().payloads.release(payload, pages as u32);
    }

    /// Writes consecutive pages in one operation.
    pub fn write(&mut self, first: u32, stamps: &[u64]) {
        let payload = self.payload(stamps);
        let pages = stamps.len() as u32;
        let op = PageOp { payload, pages, ..PageOp::on_page(HostOp::Write, Lpn(first), 1) };
        self.submit(&op).expect("the write succeeds");
        self.release(payload, stamps.len());
        self.held[first as usize..][..stamps.len()].copy_from_slice(stamps);
    }

    /// Flash can no longer correct the newest version of a page of the host.
    pub fn lose(&mut self, page: u32) {
        let lost = self.place(self.layout().below(Lpn(page))).expect("it was written");
        self.flash.state_mut().lose_page(lost);
    }

    pub fn trim(&mut self, page: u32) {
        self.submit(&PageOp::on_page(HostOp::Trim, Lpn(page), 1)).expect("the trim succeeds");
        self.held[page as usize] = 0;
    }

    pub fn read(&mut self, page: u32) -> Found {
        let payload = self.payload(&[u64::MAX]);
        let answer = self.submit(&PageOp { payload, ..PageOp::on_page(HostOp::Read, Lpn(page), 1) });
        let stamp = u64::from_le_bytes((&*self.cells(payload)).try_into().expect("a stamp has eight bytes"));
        self.release(payload, 1);
        answer.map(|()| stamp)
    }

    /// Writes of one to five pages and trims, at random.
    pub fn live(&mut self, seed: u64, requests: u32) {
        let mut stream = Stream::new(seed, "stripes");
        for _ in 0..requests {
            let first = stream.below(u64::from(PAGES)) as u32;
            if stream.chance(0.1) {
                self.trim(first);
                continue;
            }
            let pages = (1 + stream.below(5)).min(u64::from(PAGES - first));
            let stamps: Vec<u64> = (0..pages).map(|_| 1 + stream.below(u64::MAX - 1)).collect();
            self.write(first, &stamps);
        }
        self.check();
    }

    /// Lets the drive use an idle time, until it has nothing more to do.
    pub fn idle(&mut self) {
        for _ in 0..1000 {
            let is_busy = self.layer.on_idle(&mut self.flash);
            self.settle(&mut Outbox::new());
            if !is_busy {
                return;
            }
        }
        panic!("an idle time has no end");
    }

    /// A die fails, and the layer hears of it.
    pub fn kill(&mut self, die: u32) {
        let state = self.flash.state_mut();
        state.kill_die(DieId(die));
        state.events.push((0, Event::DieLost { die: DieId(die) }));
        self.settle(&mut Outbox::new());
    }

    /// What the host was told of is on flash, or in memory that lasts; then power is cut, and comes back.
    pub fn flush_and_cut_power(&mut self) {
        self.submit(&PageOp { pages: 0, ..PageOp::on_page(HostOp::Flush, Lpn(0), 0) }).expect("the flush succeeds");
        let image = self.flash.state().after_power_cut(&[], &mut Stream::new(1, "cut"));
        let context = context(self.geometry, &self.values);
        self.layer = self.plan.recover(&context, &below(), &image).expect("flash has out-of-band areas");
        self.flash = CountedFlash::new(image);
        self.check();
    }

    pub fn check(&self) {
        self.layer.check(&self.flash).expect("the stripes keep their invariants");
    }

    /// Every page that can be read holds what was written last; the pages that cannot.
    pub fn unreadable(&mut self) -> Vec<u32> {
        let mut lost = Vec::new();
        for page in 0..PAGES {
            match self.read(page) {
                Ok(stamp) => assert_eq!(stamp, self.held[page as usize], "page {page}"),
                Err(Unreadable) => lost.push(page),
            }
        }
        lost
    }

    /// A counter of the stripe layer.
    pub fn counter(&self, name: &str) -> u64 {
        let mut reports: Vec<LayerReport> = Vec::new();
        self.layer.report(&mut reports);
        reports.iter().find(|report| report.name == "stripe").map_or(0, |report| report.counters[name])
    }

    pub fn reads(&self, cause: Cause) -> u64 {
        self.flash.state().counters.reads[cause.index()]
    }

    pub fn programs(&self, cause: Cause) -> u64 {
        self.flash.state().counters.programs[cause.index()]
    }

    /// Where the newest version of a page of the mapping below is, by its out-of-band areas.
    pub fn place(&self, below: Lpn) -> Option<Ppn> {
        let state = self.flash.state();
        let contents = state.contents().expect("contents are on");
        let is_version = |page: &Ppn| {
            let oob = contents.oob(page.0);
            let is_dead = state.die_is_dead(self.geometry.die_of(self.geometry.block_of(*page)));
            oob.kind == PageKind::Data && oob.logical == below.0 && !is_dead
        };
        // The highest bit says that no older version is covered by a parity.
        let sequence = |page: &Ppn| contents.oob(page.0).sequence << 1;
        (0..self.geometry.pages()).map(Ppn).filter(is_version).max_by_key(sequence)
    }

    /// What flash holds of a page of the mapping below; 0 where it was never written.
    pub fn on_flash(&self, below: Lpn) -> u64 {
        let contents = self.flash.state().contents().expect("contents are on");
        let stamp = |page: Ppn| u64::from_le_bytes(contents.page(page.0).try_into().expect("a stamp has eight bytes"));
        self.place(below).map_or(0, stamp)
    }

    /// What the host wrote to the data pages of a stripe.
    pub fn members(&self, stripe: u32) -> Vec<u64> {
        let layout = self.layout();
        let member = |index| layout.user_page(stripe, index).map_or(0, |page| self.held[page.index()]);
        (0..layout.data).map(member).collect()
    }
}

fn context(geometry: Geometry, values: &Values) -> FtlContext<'_> {
    FtlContext { geometry, user_pages: PAGES, owner: 0, seed: 1, values, stripes: None }
}

fn below() -> mapping::VersionedEntry<CountedFlash> {
    let builder = mapping::builder::<CountedFlash>("page").expect("it is in the table");
    builder.versioned.expect("pages stay on their chip")
}
