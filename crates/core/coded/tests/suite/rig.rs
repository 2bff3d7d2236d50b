//! A drive of zones over the page mapping, and what was written to it.

use coded::CodedPlan;
use engine::random::Stream;
use ftl::mapping;
use layer::{PageLayer, PageOp, ParameterKind, Value, Values};
use nand::{CountedFlash, FlashState};
use stack::{StackPlan, Stacked};
use testing::{Host, Plan as _, TestFlash, flash_of};
use units::{Geometry, HostOp, Lpn, Organization};

/// Banks, in groups of four.
pub const BANKS: u32 = 8;
/// Stripe blocks of a zone: eight rows.
pub const ZONE: u32 = 8 * BANKS;
/// Stripe blocks of the host: three zones.
pub const BLOCKS: u32 = 3 * ZONE;
/// Pages of a stripe block, of one sector each.
pub const PAGES: u32 = 2;

/// What the two pages of a stripe block hold.
pub type Block = [u64; PAGES as usize];

/// An operation that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

/// What a drive is built from.
pub struct Plan {
    coded: CodedPlan,
    values: Values,
    geometry: Geometry,
}

impl Plan {
    /// Three zones and as many code zones, unless `set` says otherwise.
    pub fn new(set: &[(&str, &str)]) -> Self {
        let own = [
            ("stripe.kind", "coded"),
            ("ftl.gc.frontier", "shared"),
            ("coded.size", "64KiB"),
            ("coded.block", "1KiB"),
            ("coded.code_zones", "3"),
            ("coded.offline_first", "at-start"),
            ("coded.read_ahead.after", "0B"),
        ];
        let all = [mapping::parameters(), stripe_kind(), coded::parameters()].concat();
        let mut values = testing::values(all, &[set, &own].concat());
        values.set(mapping::KEY, Value::Name("page".to_owned()));
        values.set(buffer::KEY, Value::Name("none".to_owned()));
        let organization = Organization {
            channels: BANKS,
            dies_per_channel: 1,
            planes_per_die: 1,
            pages_per_block: 8,
            page_bytes: 512,
        };
        let plan = CodedPlan::new(&values, &organization, (BLOCKS * PAGES).into());
        let plan = plan.expect("the values fit").expect("there are zones");
        let shape = organization.with_blocks(plan.bank_blocks() as u32);
        let geometry = Geometry::new(shape).expect("a valid shape");
        Self { coded: plan, values, geometry }
    }

    fn stack(&self) -> StackPlan<'_> {
        let Self { geometry, values, .. } = self;
        let (stripes, coded) = (None, Some(&self.coded));
        StackPlan { geometry: *geometry, user_pages: BLOCKS * PAGES, seed: 1, values, stripes, coded, gather: None }
    }

    /// A host of it that tries whatever a host may do.
    pub fn host<F: TestFlash + Stacked>(self) -> Host<F> {
        Host::new(flash_of(self.geometry), BLOCKS * PAGES, true, self)
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
    /// What each stripe block of the host holds; zeros: never written, or trimmed.
    pub held: Vec<Block>,
}

impl Rig {
    /// As [`Plan::new`].
    pub fn new(set: &[(&str, &str)]) -> Self {
        let plan = Plan::new(set);
        let flash = flash_of::<CountedFlash>(plan.geometry);
        let layer = plan.build(&flash);
        Self { plan, driven: testing::Rig::new(flash, layer), held: vec![[0; PAGES as usize]; BLOCKS as usize] }
    }

    /// A drive of which every stripe block was written, and then encoded.
    pub fn encoded(set: &[(&str, &str)]) -> Self {
        let mut rig = Self::new(set);
        (0..BLOCKS).for_each(|block| rig.write(block, [u64::from(block) + 1, u64::from(block) << 32 | 1]));
        rig.prepare();
        rig.check();
        rig.reset_counters();
        rig
    }

    fn submit(&mut self, op: PageOp) -> Result<(), Unreadable> {
        if self.driven.run(op).failed { Err(Unreadable) } else { Ok(()) }
    }

    pub fn write(&mut self, block: u32, stamps: Block) {
        assert!(!self.driven.write(block * PAGES, &stamps).failed, "the write succeeds");
        self.held[block as usize] = stamps;
    }

    pub fn trim(&mut self, block: u32) {
        let op = PageOp { pages: PAGES, ..PageOp::on_page(HostOp::Trim, Lpn(block * PAGES), 1) };
        self.submit(op).expect("the trim succeeds");
        self.held[block as usize] = [0; PAGES as usize];
    }

    pub fn read(&mut self, block: u32) -> Result<Block, Unreadable> {
        let stamps = self.driven.read(block * PAGES, PAGES).ok_or(Unreadable)?;
        Ok(stamps.try_into().expect("as many as were asked for"))
    }

    /// Writes and trims at random.
    pub fn live(&mut self, seed: u64, requests: u32) {
        let mut stream = Stream::new(seed, "zones");
        for _ in 0..requests {
            let block = stream.below(u64::from(BLOCKS)) as u32;
            if stream.chance(0.1) {
                self.trim(block);
            } else {
                self.write(block, [1 + stream.below(1 << 60), 1 + stream.below(1 << 60)]);
            }
        }
        self.check();
    }

    /// The off-line phase before the first request that counts.
    pub fn prepare(&mut self) {
        self.driven.layer.prepare(&mut self.driven.flash);
        self.idle();
    }

    /// Lets the drive use an idle time, until it has nothing more to do.
    pub fn idle(&mut self) {
        self.driven.idle();
    }

    /// A die fails, and the layer hears of it.
    pub fn kill(&mut self, die: u32) {
        self.driven.kill(die);
    }

    /// What the host was told of is on flash; then power is cut, and comes back.
    pub fn flush_and_cut_power(&mut self) {
        self.submit(PageOp { pages: 0, ..PageOp::on_page(HostOp::Flush, Lpn(0), 0) }).expect("the flush succeeds");
        let plan = &self.plan;
        self.driven.restart(&|image| plan.recover(image), &mut Stream::new(1, "cut"));
        self.check();
    }

    pub fn check(&self) {
        self.driven.check();
    }

    /// Every stripe block that can be read holds what was written last; the blocks that cannot.
    pub fn unreadable(&mut self) -> Vec<u32> {
        let mut lost = Vec::new();
        for block in 0..BLOCKS {
            match self.read(block) {
                Ok(stamps) => assert_eq!(stamps, self.held[block as usize], "block {block}"),
                Err(Unreadable) => lost.push(block),
            }
        }
        lost
    }

    /// A counter of the layer.
    pub fn counter(&self, name: &str) -> u64 {
        self.driven.counter("coded", name)
    }

    pub fn reset_counters(&mut self) {
        self.driven.layer.reset_counters();
    }
}

/// The key that chooses this layer belongs to the stripes, which stand beside it.
fn stripe_kind() -> Vec<layer::Parameter> {
    let kind = ParameterKind::Choice(|| vec![(coded::KIND, "coded striping")]);
    vec![layer::Parameter::new("stripe.kind", kind, coded::KIND, "How pages are striped.")]
}
