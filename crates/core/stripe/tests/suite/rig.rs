//! A drive of stripes over the page mapping, what was written to it, and what is read from flash behind its back.

use engine::random::Stream;
use ftl::mapping;
use layer::{PageLayer, PageOp, Value, Values};
use nand::{CountedFlash, Flash, FlashState, PageKind};
use stack::{StackPlan, Stacked};
use stripe::{StripeLayout, StripePlan};
use testing::{Host, Plan as _, TestFlash, flash_of};
use units::{Cause, Geometry, HostOp, Lpn, Organization, Ppn};

/// Logical pages of the host, of one sector each: eight stripes of four data pages.
pub const PAGES: u32 = 32;

/// Whether a page could be read.
pub type Found = Result<u64, Unreadable>;

/// An operation that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

/// What a drive is built from.
pub struct Plan {
    stripes: StripePlan,
    values: Values,
    pub geometry: Geometry,
}

impl Plan {
    /// Four data pages a stripe, a delayed parity for two stripes, and the keys in `set`.
    pub fn new(kind: &str, set: &[(&str, &str)]) -> Self {
        let chips = if kind.starts_with("raid6") { 6 } else { 5 };
        let spares = set.iter().find(|(key, _)| *key == "stripe.spares").map_or("0", |(_, spares)| *spares);
        let dies = chips + spares.parse::<u32>().expect("a number");
        let organization = Organization {
            channels: dies,
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
        let all = [mapping::parameters(), stripe::parameters()].concat();
        let mut values = testing::values(all, &[set, &own].concat());
        values.set(mapping::KEY, Value::Name("page".to_owned()));
        values.set(buffer::KEY, Value::Name("none".to_owned()));
        let plan = StripePlan::new(&values, &organization, PAGES.into()).expect("the values fit");
        let plan = plan.expect("there are stripes");
        Self { stripes: plan, values, geometry }
    }

    fn stack(&self) -> StackPlan<'_> {
        let Self { geometry, values, .. } = self;
        let (stripes, coded) = (Some(&self.stripes), None);
        StackPlan { geometry: *geometry, user_pages: PAGES, seed: 1, values, stripes, coded, gather: None }
    }

    /// A host of it that tries whatever a host may do.
    pub fn host<F: TestFlash + Stacked>(self) -> Host<F> {
        Host::new(flash_of(self.geometry), PAGES, true, self)
    }
}

impl<F: TestFlash + Stacked> testing::Plan<F> for Plan {
    fn build(&self, flash: &F) -> Box<dyn PageLayer<F>> {
        flash.layers(&self.stack())
    }

    fn recover(&self, image: &FlashState) -> Box<dyn PageLayer<F>> {
        F::recovered(&self.stack(), image).expect("flash has out-of-band areas")
    }
}

/// A drive without time.
pub struct Rig {
    plan: Plan,
    driven: testing::Rig<CountedFlash>,
    /// What each page of the host holds; 0: never written, or trimmed.
    pub held: Vec<u64>,
}

impl Rig {
    /// As [`Plan::new`].
    pub fn new(kind: &str, set: &[(&str, &str)]) -> Self {
        let plan = Plan::new(kind, set);
        let flash = flash_of::<CountedFlash>(plan.geometry);
        let layer = plan.build(&flash);
        Self { plan, driven: testing::Rig::new(flash, layer), held: vec![0; PAGES as usize] }
    }

    pub fn layout(&self) -> StripeLayout {
        self.plan.stripes.layout()
    }

    fn submit(&mut self, op: PageOp) -> Result<(), Unreadable> {
        if self.driven.run(op).failed { Err(Unreadable) } else { Ok(()) }
    }

    /// Writes consecutive pages in one operation.
    pub fn write(&mut self, first: u32, stamps: &[u64]) {
        assert!(!self.driven.write(first, stamps).failed, "the write succeeds");
        self.held[first as usize..][..stamps.len()].copy_from_slice(stamps);
    }

    /// Flash can no longer correct the newest version of a page of the host.
    pub fn lose(&mut self, page: u32) {
        let lost = self.place(self.layout().below(Lpn(page))).expect("it was written");
        self.driven.flash.state_mut().lose_page(lost);
    }

    pub fn trim(&mut self, page: u32) {
        self.submit(PageOp::on_page(HostOp::Trim, Lpn(page), 1)).expect("the trim succeeds");
        self.held[page as usize] = 0;
    }

    pub fn read(&mut self, page: u32) -> Found {
        self.driven.read(page, 1).map(|stamps| stamps[0]).ok_or(Unreadable)
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
        self.driven.idle();
    }

    /// A die fails, and the layer hears of it.
    pub fn kill(&mut self, die: u32) {
        self.driven.kill(die);
    }

    fn flush(&mut self) {
        self.submit(PageOp { pages: 0, ..PageOp::on_page(HostOp::Flush, Lpn(0), 0) }).expect("the flush succeeds");
    }

    /// Flushes; then the layer is built anew, and takes its state from a snapshot.
    pub fn reload(&mut self) {
        (0..2).for_each(|_| self.flush()); // collection may have noted trims anew behind the first one
        let plan = &self.plan;
        self.driven.reload(&|flash| plan.build(flash));
        self.check();
    }

    /// What the host was told of is on flash, or in memory that lasts; then power is cut, and comes back.
    pub fn flush_and_cut_power(&mut self) {
        self.flush();
        let plan = &self.plan;
        self.driven.restart(&|image| plan.recover(image), &mut Stream::new(1, "cut"));
        self.check();
    }

    pub fn check(&self) {
        self.driven.check();
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
        self.driven.counter("stripe", name)
    }

    pub fn reads(&self, cause: Cause) -> u64 {
        self.driven.flash.state().counters.reads[cause.index()]
    }

    pub fn programs(&self, cause: Cause) -> u64 {
        self.driven.flash.state().counters.programs[cause.index()]
    }

    /// Where the newest version of a page of the mapping below is, by its out-of-band areas.
    pub fn place(&self, below: Lpn) -> Option<Ppn> {
        let state = self.driven.flash.state();
        let contents = state.contents().expect("contents are on");
        let is_version = |page: &Ppn| {
            let oob = contents.oob(page.0);
            let is_dead = state.die_is_dead(self.plan.geometry.die_of(self.plan.geometry.block_of(*page)));
            oob.kind == PageKind::Data && oob.logical == below.0 && !is_dead
        };
        // The highest bit says that no older version is covered by a parity.
        let sequence = |page: &Ppn| contents.oob(page.0).sequence << 1;
        (0..self.plan.geometry.pages()).map(Ppn).filter(is_version).max_by_key(sequence)
    }

    /// What flash holds of a page of the mapping below; 0 where it was never written.
    pub fn on_flash(&self, below: Lpn) -> u64 {
        let contents = self.driven.flash.state().contents().expect("contents are on");
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
