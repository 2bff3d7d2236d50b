//! The page mapping under a layer of stripes: the newest version of each page, and one old version until it is dropped.

use ftl::mapping::{self, FtlContext, StripeShape, Stripes};
use layer::{Old, PageOp, Values, Versioned};
use nand::{CountedFlash, Flash, TimedFlash};
use proptest::prelude::*;
use stack::Stacked;
use testing::{Rig, TestFlash, cases, flash_of};
use units::{Geometry, HostOp, Lpn, Shape};

const PAGES: u32 = 24;
/// Old versions that the spare blocks have room for.
const MOST_OLD: usize = 4;
const LANES: [u32; 3] = [0, 1, 2];

/// No page has a parity: old versions are the test's to ask for.
#[derive(Debug)]
struct NoParity;

impl StripeShape for NoParity {
    fn parities(&self, _: Lpn) -> [Option<Lpn>; 2] {
        [None; 2]
    }

    fn covered_until(&self, _: Lpn) -> Option<u64> {
        None
    }
}

#[derive(Clone, Copy, Debug)]
enum Deed {
    Write { page: u32, keep: bool },
    Trim { page: u32, keep: bool },
    Drop(u32),
    Read(u32),
    Idle,
    Reload,
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let page = || 0..PAGES;
    let deed = prop_oneof![
        12 => (page(), any::<bool>()).prop_map(|(page, keep)| Deed::Write { page, keep }),
        2 => (page(), any::<bool>()).prop_map(|(page, keep)| Deed::Trim { page, keep }),
        2 => page().prop_map(Deed::Drop),
        4 => page().prop_map(Deed::Read),
        1 => Just(Deed::Idle),
        1 => Just(Deed::Reload),
    ];
    prop::collection::vec(deed, 1..200)
}

/// A logical page as it must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Expected {
    newest: u64,
    /// Its old version, where one is kept.
    old: Option<u64>,
}

struct Model<F: TestFlash + Stacked> {
    rig: Rig<F, dyn Versioned<F>>,
    held: [Expected; PAGES as usize],
    values: Values,
    moves_old: bool,
}

impl<F: TestFlash + Stacked> Model<F> {
    fn new(moves_old: bool) -> Self {
        let values = testing::values(mapping::parameters(), &[]);
        let shape = Shape {
            channels: 3,
            dies_per_channel: 1,
            planes_per_die: 1,
            blocks_per_die: 9,
            pages_per_block: 4,
            page_bytes: 512,
        };
        let flash = flash_of::<F>(Geometry::new(shape).expect("a valid shape"));
        let layer = build(&values, moves_old, &flash);
        Self { rig: Rig::new(flash, layer), held: [Expected::default(); PAGES as usize], values, moves_old }
    }

    /// Collection waits for these old versions: one is dropped, the next one moved.
    fn make_way(&mut self) {
        let mut wanted = Vec::new();
        self.rig.layer.take_wanted(&mut wanted);
        for page in wanted {
            if page.0 % 2 == 0 {
                self.drop_old(page.0);
            } else {
                self.rig.layer.move_old(&mut self.rig.flash, page);
            }
        }
    }

    fn drop_old(&mut self, page: u32) {
        self.rig.layer.drop_old(&mut self.rig.flash, Lpn(page));
        self.held[page as usize].old = None;
    }

    /// Submits an operation on one page, making way until it finds room, and waits for it.
    fn run(&mut self, op: PageOp, stamp: u32) -> Vec<u64> {
        let payload = if op.op == HostOp::Trim { op.payload } else { self.rig.payload(&[stamp.into()], 1) };
        let mut rest = Some(self.rig.begin(PageOp { payload, ..op }));
        for _ in 0..100 {
            rest = rest.and_then(|rest| self.rig.offer(rest));
            while self.rig.step() {}
            self.make_way();
            while self.rig.step() {}
            if rest.is_none() {
                break;
            }
        }
        assert_eq!(rest, None, "it finds no room");
        let ended = self.rig.take_ended();
        self.rig.release(&ended.first().expect("it has ended").op)
    }

    fn read(&mut self, page: u32, kept: bool) -> u64 {
        self.run(PageOp { kept, ..PageOp::on_page(HostOp::Read, Lpn(page), 1) }, u32::MAX)[0]
    }

    fn change(&mut self, op: HostOp, page: u32, keep: bool, stamp: u32) {
        let kept = self.held.iter().filter(|held| held.old.is_some()).count();
        let keep = keep && kept < MOST_OLD;
        let before = self.held[page as usize];
        // A trim of nothing keeps nothing, as nothing changes.
        let changes = op == HostOp::Write || before.newest != 0;
        if keep && changes && before.old.is_none() {
            self.held[page as usize].old = Some(before.newest);
        }
        self.held[page as usize].newest = if op == HostOp::Write { stamp.into() } else { 0 };
        self.run(PageOp { kept: keep, ..PageOp::on_page(op, Lpn(page), 1) }, stamp);
    }

    fn do_it(&mut self, deed: Deed, stamp: u32) {
        match deed {
            Deed::Write { page, keep } => self.change(HostOp::Write, page, keep, stamp),
            Deed::Trim { page, keep } => self.change(HostOp::Trim, page, keep, stamp),
            Deed::Drop(page) => self.drop_old(page),
            Deed::Read(page) => self.verify(page),
            Deed::Idle => self.rig.idle(),
            Deed::Reload => {
                self.rig.run(PageOp { pages: 0, ..PageOp::on_page(HostOp::Flush, Lpn(0), 0) });
                let (values, moves_old) = (&self.values, self.moves_old);
                self.rig.reload(&|flash| build(values, moves_old, flash));
            }
        }
        while self.rig.step() {}
        self.make_way();
        self.rig.check();
    }

    fn verify(&mut self, page: u32) {
        let held = self.held[page as usize];
        assert_eq!(self.read(page, false), held.newest, "the newest version of page {page}");
        assert_eq!(self.rig.layer.is_written(Lpn(page)), held.newest != 0, "page {page}");
        // Reading may have made way for a collection that waited.
        let Expected { newest, old } = self.held[page as usize];
        assert_eq!(self.read(page, true), old.unwrap_or(newest), "the old version of page {page}");
        let expected = match self.held[page as usize].old {
            None => Old::None,
            Some(0) => Old::Zero,
            Some(_) => Old::Page,
        };
        assert_eq!(self.rig.layer.old(Lpn(page)), expected, "page {page}");
    }
}

fn build<F: TestFlash + Stacked>(values: &Values, moves_old: bool, flash: &F) -> Box<dyn Versioned<F>> {
    let stripes = Stripes {
        lanes: &LANES,
        lanes_per_plane: 1,
        run: 1,
        shape: &NoParity,
        moves_old,
        given: 0,
        may_fail: 0,
        in_turn: false,
    };
    let geometry = flash.state().geometry;
    let context =
        FtlContext { geometry, user_pages: PAGES, owner: 0, seed: 1, values, stripes: Some(stripes), group_pages: 1 };
    let builder = F::mapping("page").expect("it is in the table");
    (builder.versioned.expect("pages stay on their chip").build)(&context, flash)
}

fn live<F: TestFlash + Stacked>(moves_old: bool, deeds: &[Deed]) {
    let mut model = Model::<F>::new(moves_old);
    for (stamp, deed) in (1..).zip(deeds) {
        model.do_it(*deed, stamp);
    }
    (0..PAGES).for_each(|page| model.verify(page));
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn a_page_has_its_newest_version_and_the_one_kept(moves_old in any::<bool>(), deeds in deeds()) {
        live::<CountedFlash>(moves_old, &deeds);
        live::<TimedFlash>(moves_old, &deeds);
    }
}

/// Pages of one lane alone, until its collection meets an old version that it has to wait for.
#[test]
fn a_collection_that_waits_for_an_old_version_asks_for_it_again_after_a_reload() {
    let write = |page, keep| Deed::Write { page, keep };
    let plain = |pages: &[u32]| pages.iter().map(|page| write(*page, false)).collect::<Vec<_>>();
    let deeds = [
        plain(&[1, 16, 7, 10, 19, 7, 19, 4, 7, 7]),
        vec![write(1, true), write(1, false), write(5, false), write(7, true), write(7, false)],
        vec![write(10, false), write(7, false), write(10, true), write(4, false), write(22, false)],
        vec![Deed::Trim { page: 16, keep: false }, Deed::Reload],
        plain(&[22, 1, 21, 4, 7, 22]),
        vec![Deed::Trim { page: 19, keep: true }, Deed::Reload],
        plain(&[16, 22, 7, 10, 19, 10, 4, 7]),
    ];
    live::<CountedFlash>(false, &deeds.concat());
}

/// Jobs of a layer of stripes wait for room without being run, as long as the mapping says that they would be refused.
#[test]
fn a_write_that_would_still_be_refused_is_refused_and_changes_nothing() {
    let mut rig = Model::<TimedFlash>::new(true).rig;
    let issued = |flash: &TimedFlash| flash.state().blocks().iter().map(|row| row.issued).collect::<Vec<_>>();
    let mut told = 0;
    for stamp in 1..600_u32 {
        let page = Lpn(stamp * 7 % PAGES);
        let payload = rig.payload(&[stamp.into()], 1);
        let mut rest = Some(rig.begin(PageOp { payload, ..PageOp::on_page(HostOp::Write, page, 1) }));
        while let Some(op) = rest {
            rest = rig.offer(op);
            if let Some(op) = rest.filter(|_| rig.layer.still_refuses(&rig.flash, page)) {
                let before = issued(&rig.flash);
                rest = rig.offer(op);
                assert!(rest.is_some() && issued(&rig.flash) == before, "write {stamp} of page {page}");
                told += 1;
            }
            assert!(rest.is_none() || rig.step(), "write {stamp} of page {page}: nothing will make room");
        }
    }
    assert!(told > 100, "it was told {told} times");
}
