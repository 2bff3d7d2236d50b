//! A drive of zones over the page mapping, and what was written to it.

use coded::CodedPlan;
use engine::random::Stream;
use ftl::mapping::{self, FtlContext};
use layer::{Answer, LayerReport, Outbox, PageLayer, PageOp, ParameterKind, Signal, Values};
use nand::{ContentsKind, CountedFlash, Event, Flash, FlashState, PayloadId};
use units::{DieId, Geometry, HostOp, Lpn, Organization};

/// Banks, in groups of four.
pub const BANKS: u32 = 8;
/// Stripe blocks of a zone: eight rows.
pub const ZONE: u32 = 8 * BANKS;
/// Stripe blocks of the host: three zones.
pub const BLOCKS: u32 = 3 * ZONE;
/// Pages of a stripe block, of one sector each.
const PAGES: u32 = 2;

/// What the two pages of a stripe block hold.
pub type Block = [u64; PAGES as usize];

/// An operation that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

pub struct Rig {
    plan: CodedPlan,
    values: Values,
    geometry: Geometry,
    flash: CountedFlash,
    layer: Box<dyn PageLayer<CountedFlash>>,
    /// What each stripe block of the host holds; zeros: never written, or trimmed.
    pub held: Vec<Block>,
}

impl Rig {
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
        let mut values = Values::default();
        let all = [mapping::parameters(), stripe_kind(), coded::parameters()].concat();
        for parameter in all {
            let text = set.iter().chain(&own).find(|(key, _)| *key == parameter.key).map(|(_, text)| *text);
            if let Some(text) = text.or(parameter.default) {
                values.set(parameter.key, parameter.parse(text).expect("a valid value"));
            }
        }
        let organization = Organization {
            channels: BANKS,
            dies_per_channel: 1,
            planes_per_die: 1,
            pages_per_block: 8,
            page_bytes: 512,
        };
        let plan = CodedPlan::new(&values, &organization, (BLOCKS * PAGES).into())
            .expect("the values fit")
            .expect("there are zones");
        let shape = organization.with_blocks(plan.bank_blocks() as u32);
        let geometry = Geometry::new(shape).expect("a valid shape");
        let flash = CountedFlash::new(FlashState::new(geometry, ContentsKind::Stamp));
        let layer = plan.build(&context(geometry, &values), &below(), &flash);
        Self { plan, values, geometry, flash, layer, held: vec![[0; PAGES as usize]; BLOCKS as usize] }
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

    fn on_block(op: HostOp, block: u32, payload: PayloadId) -> PageOp {
        PageOp { payload, pages: PAGES, ..PageOp::on_page(op, Lpn(block * PAGES), 1) }
    }

    pub fn write(&mut self, block: u32, stamps: Block) {
        let payload = self.payload(&stamps);
        self.submit(&Self::on_block(HostOp::Write, block, payload)).expect("the write succeeds");
        self.release(payload, stamps.len());
        self.held[block as usize] = stamps;
    }

    pub fn trim(&mut self, block: u32) {
        self.submit(&Self::on_block(HostOp::Trim, block, PayloadId::NONE)).expect("the trim succeeds");
        self.held[block as usize] = [0; PAGES as usize];
    }

    pub fn read(&mut self, block: u32) -> Result<Block, Unreadable> {
        let payload = self.payload(&[u64::MAX; PAGES as usize]);
        let answer = self.submit(&Self::on_block(HostOp::Read, block, payload));
        let stamps = std::array::from_fn(|page| {
            let cells = &*self.cells(payload.offset(page as u32));
            u64::from_le_bytes(cells.try_into().expect("a stamp has eight bytes"))
        });
        self.release(payload, PAGES as usize);
        answer.map(|()| stamps)
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
        self.layer.prepare(&mut self.flash);
        self.settle(&mut Outbox::new());
        self.idle();
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

    /// What the host was told of is on flash; then power is cut, and comes back.
    pub fn flush_and_cut_power(&mut self) {
        self.submit(&PageOp { pages: 0, ..PageOp::on_page(HostOp::Flush, Lpn(0), 0) }).expect("the flush succeeds");
        let image = self.flash.state().after_power_cut(&[], &mut Stream::new(1, "cut"));
        let context = context(self.geometry, &self.values);
        self.layer = self.plan.recover(&context, &below(), &image).expect("flash has out-of-band areas");
        self.flash = CountedFlash::new(image);
        self.check();
    }

    pub fn check(&self) {
        self.layer.check(&self.flash).expect("the zones keep their invariants");
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
        let mut reports: Vec<LayerReport> = Vec::new();
        self.layer.report(&mut reports);
        reports.iter().find(|report| report.name == "coded").expect("it reports").counters[name]
    }

    pub fn reset_counters(&mut self) {
        self.layer.reset_counters();
    }
}

/// The key that chooses this layer belongs to the stripes, which stand beside it.
fn stripe_kind() -> Vec<layer::Parameter> {
    let kind = ParameterKind::Choice(|| vec![(coded::KIND, "coded striping")]);
    vec![layer::Parameter::new("stripe.kind", kind, coded::KIND, "How pages are striped.")]
}

fn context(geometry: Geometry, values: &Values) -> FtlContext<'_> {
    FtlContext { geometry, user_pages: BLOCKS * PAGES, owner: 0, seed: 1, values, stripes: None }
}

fn below() -> mapping::VersionedEntry<CountedFlash> {
    let builder = mapping::builder::<CountedFlash>("page").expect("it is in the table");
    builder.versioned.expect("pages stay on their chip")
}
