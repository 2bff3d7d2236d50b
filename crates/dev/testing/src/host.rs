//! A host that asks for random things, and knows what it may read.
//!
//! For each sector it keeps every value since the last power cut. A power cut may leave those since the last one that
//! must last. Operations overlap; a read returns what was newest when it was submitted, or something newer.

use crate::rig::{Ended, Rig, TestFlash};
use engine::random::Stream;
use layer::{PageLayer, PageOp};
use nand::{FlashState, PayloadId};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::BTreeMap;
use units::{HostOp, Lpn};

/// Operations that a host has under way at once, at most.
const QUEUE_DEPTH: usize = 4;

/// An action of a host. Pages and masks are cut to the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Writes pages; the sectors `mask` of the first one.
    Write {
        /// First page.
        first: u32,
        /// Pages.
        pages: u32,
        /// Sectors of the first page; all of it where none is left.
        mask: u64,
        /// It lasts once it has ended.
        fua: bool,
    },
    /// Reads pages.
    Read {
        /// First page.
        first: u32,
        /// Pages.
        pages: u32,
    },
    /// Trims whole pages.
    Trim {
        /// First page.
        first: u32,
        /// Pages.
        pages: u32,
    },
    /// Flushes.
    Flush,
    /// Waits for so many events of flash.
    Wait(u32),
    /// Waits until nothing is under way, and leaves the layer an idle time.
    Idle,
    /// Waits until nothing is under way, and goes on as the layer begins to use an idle time.
    Pause,
    /// Flushes, and puts the layer through a snapshot.
    Reload,
    /// Power is cut after so many events of flash and submissions.
    Cut(u32),
}

/// A test of so many cases, the same ones each time; `PROPTEST_RNG_SEED` draws others, `PROPTEST_CASES` more. A failing
/// plan is made as small as possible and printed; it is not stored.
pub fn cases(cases: u32) -> ProptestConfig {
    let config = ProptestConfig::with_cases(cases);
    let rng_seed = match config.rng_seed {
        RngSeed::Random => RngSeed::Fixed(1),
        fixed @ RngSeed::Fixed(_) => fixed,
    };
    ProptestConfig { failure_persistence: None, rng_seed, ..config }
}

/// Steps on a drive of `pages` pages, at most `most` of them.
pub fn steps(pages: u32, most: usize) -> impl Strategy<Value = Vec<Step>> {
    let extent = || (0..pages, 1..5_u32);
    let write = (extent(), any::<u64>(), prop::bool::weighted(0.1));
    let step = prop_oneof![
        16 => write.prop_map(|((first, pages), mask, fua)| Step::Write { first, pages, mask, fua }),
        4 => extent().prop_map(|(first, pages)| Step::Read { first, pages }),
        2 => extent().prop_map(|(first, pages)| Step::Trim { first, pages }),
        1 => Just(Step::Flush),
        1 => (0..30_u32).prop_map(Step::Wait),
        1 => Just(Step::Idle),
        1 => Just(Step::Pause),
        1 => Just(Step::Reload),
        1 => (0..60_u32).prop_map(Step::Cut),
    ];
    prop::collection::vec(step, 1..most)
}

/// A value of a sector, and the operation that wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Version {
    by: u64,
    value: u64,
}

/// The recipe of the layer that a host uses.
pub trait Plan<F> {
    /// The layer over flash in its fresh state, or in the state that a snapshot was taken in.
    fn build(&self, flash: &F) -> Box<dyn PageLayer<F>>;

    /// The layer from what a power cut left.
    fn recover(&self, image: &FlashState) -> Box<dyn PageLayer<F>>;
}

/// A host: see the module description.
pub struct Host<F: TestFlash> {
    /// The layer, and work under way.
    pub rig: Rig<F>,
    plan: Box<dyn Plan<F>>,
    /// Writes last once they have ended.
    writes_last: bool,
    pages: u32,
    sectors: usize,
    /// Versions of each sector since the last power cut, the newest last.
    versions: Vec<Vec<Version>>,
    /// The operation that wrote the oldest version of each sector that a power cut may leave.
    lasting: Vec<u64>,
    /// The last write or trim of each sector that has ended.
    ended: Vec<u64>,
    /// Number of each operation under way, and for a flush what had ended when it was submitted.
    numbers: BTreeMap<u32, (u64, Vec<u64>)>,
    /// Operations so far: also the stamps written.
    count: u64,
    stream: Stream,
}

impl<F: TestFlash> Host<F> {
    /// A host with `pages` pages, over a drive that nobody has used.
    pub fn new(flash: F, pages: u32, writes_last: bool, plan: impl Plan<F> + 'static) -> Self {
        let sectors = flash.state().geometry.sectors_per_page() as usize;
        let all = pages as usize * sectors;
        let layer = plan.build(&flash);
        Self {
            rig: Rig::new(flash, layer),
            plan: Box::new(plan),
            writes_last,
            pages,
            sectors,
            versions: vec![vec![Version { by: 0, value: 0 }]; all],
            lasting: vec![0; all],
            ended: vec![0; all],
            numbers: BTreeMap::new(),
            count: 0,
            stream: Stream::new(1, "cuts"),
        }
    }

    /// Takes all the steps, then reads everything back.
    ///
    /// # Panics
    /// A read returns what it must not, or the layer breaks a law.
    pub fn live(&mut self, steps: &[Step]) {
        for step in steps {
            self.take(*step);
            if self.rig.is_worn_out() {
                return;
            }
            self.settle();
            self.rig.check();
        }
        self.cut_if_expected();
        self.rig.idle();
        self.settle();
        self.rig.check();
        self.read_all();
    }

    /// A die is lost; nothing is under way.
    pub fn kill(&mut self, die: u32) {
        self.rig.kill(die);
        self.rig.drain();
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Write { first, pages, mask, fua } => {
                let full = self.rig.flash.state().geometry.full_mask();
                let mask = if mask & full == 0 { full } else { mask & full };
                let op = self.op(HostOp::Write, first, pages);
                let op = PageOp { fua, first_mask: mask, last_mask: if op.pages == 1 { mask } else { full }, ..op };
                self.submit(op);
            }
            Step::Read { first, pages } => self.submit(self.op(HostOp::Read, first, pages)),
            Step::Trim { first, pages } => self.submit(self.op(HostOp::Trim, first, pages)),
            Step::Flush => self.submit(PageOp { pages: 0, ..PageOp::on_page(HostOp::Flush, Lpn(0), 0) }),
            Step::Wait(events) => {
                let _ = (0..events).all(|_| self.rig.step());
            }
            Step::Idle => self.rig.idle(),
            Step::Pause => self.rig.begin_idle(),
            Step::Reload => {
                self.cut_if_expected();
                // Collection may have noted trims anew behind the first one.
                for _ in 0..2 {
                    self.take(Step::Flush);
                    if self.rig.is_worn_out() {
                        return;
                    }
                    self.rig.drain();
                }
                self.rig.reload(&|flash| self.plan.build(flash));
            }
            Step::Cut(events) => self.rig.cut_after(events),
        }
    }

    fn op(&self, kind: HostOp, first: u32, pages: u32) -> PageOp {
        let (first, full) = (first % self.pages, self.rig.flash.state().geometry.full_mask());
        PageOp { pages: pages.min(self.pages - first), ..PageOp::on_page(kind, Lpn(first), full) }
    }

    /// Sectors of an operation, with their place among those of its pages.
    fn sectors(&self, op: PageOp) -> impl Iterator<Item = (usize, usize)> + use<F> {
        let full = self.rig.flash.state().geometry.full_mask();
        let sectors = self.sectors;
        let first = op.first.index() * sectors;
        let is_meant = move |place: &usize| op.mask_at((place / sectors) as u32, full) >> (place % sectors) & 1 == 1;
        (0..op.pages as usize * sectors).filter(is_meant).map(move |place| (first + place, place))
    }

    fn submit(&mut self, op: PageOp) {
        while self.rig.outstanding() >= QUEUE_DEPTH && self.rig.step() {}
        self.settle();
        self.count += 1;
        let number = self.count;
        let cells = op.pages as usize * self.sectors;
        let payload = match op.op {
            HostOp::Read => self.rig.payload(&vec![u64::MAX; cells], op.first_mask),
            HostOp::Write => self.rig.payload(&vec![number; cells], op.first_mask),
            HostOp::Trim | HostOp::Flush => PayloadId::NONE,
        };
        let full = self.rig.flash.state().geometry.full_mask();
        for page in 0..op.pages {
            self.rig.flash.memory_mut().payloads.set_mask(payload.offset(page), op.mask_at(page, full));
        }
        let value = match op.op {
            HostOp::Write => Some(number),
            HostOp::Trim => Some(0),
            HostOp::Read | HostOp::Flush => None,
        };
        if let Some(value) = value {
            self.sectors(op).for_each(|(sector, _)| self.versions[sector].push(Version { by: number, value }));
        }
        // What is newest now, for a read; what has ended, for a flush.
        let then = match op.op {
            HostOp::Read => self.sectors(op).map(|(sector, _)| self.newest(sector).by).collect(),
            HostOp::Flush => self.ended.clone(),
            HostOp::Write | HostOp::Trim => Vec::new(),
        };
        self.numbers.insert(self.rig.next_token(), (number, then));
        self.rig.submit(PageOp { payload, request_sectors: cells as u32, ..op });
    }

    fn newest(&self, sector: usize) -> Version {
        *self.versions[sector].last().expect("a sector has a value")
    }

    /// Looks at what has ended, and at whether power went.
    fn settle(&mut self) {
        for ended in self.rig.take_ended() {
            self.ended(&ended);
        }
        if self.rig.is_off() {
            self.cut_power();
        }
    }

    fn ended(&mut self, &Ended { op, failed }: &Ended) {
        let (number, then) = self.numbers.remove(&op.token).expect("it was submitted");
        assert!(!failed, "{op:?} failed on flash that loses nothing");
        let stamps = self.rig.release(&op);
        let sectors: Vec<(usize, usize)> = self.sectors(op).collect();
        match op.op {
            HostOp::Read => {
                for ((sector, place), then) in sectors.into_iter().zip(then) {
                    let may_be = self.versions[sector].iter().filter(|version| version.by >= then);
                    let value = stamps[place];
                    let is_one = may_be.clone().any(|version| version.value == value);
                    assert!(is_one, "sector {sector} reads {value} instead of one of {:?}", may_be.collect::<Vec<_>>());
                }
            }
            HostOp::Write | HostOp::Trim => {
                for (sector, _) in sectors {
                    self.ended[sector] = self.ended[sector].max(number);
                    if op.fua || op.op == HostOp::Write && self.writes_last {
                        self.lasts(sector, number);
                    }
                }
            }
            HostOp::Flush => (0..then.len()).for_each(|sector| self.lasts(sector, then[sector])),
        }
    }

    /// What operation `number` left of a sector survives a power cut.
    fn lasts(&mut self, sector: usize, number: u64) {
        self.lasting[sector] = self.lasting[sector].max(number);
    }

    fn cut_if_expected(&mut self) {
        if self.rig.expects_cut() {
            self.cut_power();
        }
    }

    fn cut_power(&mut self) {
        self.rig.take_ended().iter().for_each(|ended| self.ended(ended));
        self.rig.restart(&|image| self.plan.recover(image), &mut self.stream);
        self.numbers.clear();
        self.rig.check();
        let found = self.rig.read(0, self.pages).expect("flash has lost nothing");
        for (sector, value) in found.into_iter().enumerate() {
            let may_be = self.versions[sector].iter().filter(|version| version.by >= self.lasting[sector]);
            let is_one = may_be.clone().any(|version| version.value == value);
            let all = may_be.collect::<Vec<_>>();
            assert!(is_one, "sector {sector} is {value} after a power cut, instead of one of {all:?}");
            self.versions[sector] = vec![Version { by: self.count, value }];
            (self.lasting[sector], self.ended[sector]) = (self.count, self.count);
        }
    }

    /// Reads every page; nothing is under way.
    pub fn read_all(&mut self) {
        let found = self.rig.read(0, self.pages).expect("flash has lost nothing");
        for (sector, value) in found.into_iter().enumerate() {
            assert_eq!(value, self.newest(sector).value, "sector {sector}");
        }
    }
}
