//! `group-lru`, and what a layer below hears of pages that leave together.

use crate::support::{MadeUp, MadeUpLayer};
use buffer::BufferContext;
use layer::{Answer, GATHER_OWNER, HOST_OWNER, OpHandle, Outbox, PageLayer, PageOp, Signal};
use nand::{CountedFlash, Event, Flash, Owner};
use stack::Stacked;
use std::cell::RefCell;
use std::rc::Rc;
use units::{HostOp, Lpn};

/// What the layer below was told, and what it has to say.
#[derive(Default)]
struct Heard {
    /// Pages written, group by group.
    groups: Vec<Vec<u32>>,
    /// More of the last group is to come.
    is_open: bool,
    /// Nothing is done before it is let go.
    holds: bool,
    /// Held back: owner, token, logical page.
    held: Vec<(Owner, u32, u32)>,
    /// Held back no longer.
    done: Vec<Signal>,
    /// Pages it still takes.
    room: Option<u32>,
}

/// A layer that writes down what it is asked, and ends a page only with its group.
struct Scribe(Rc<RefCell<Heard>>);

impl<F: Flash> MadeUp<F> for Scribe {
    fn submit(&mut self, _: &mut F, op: &PageOp, _: &mut Outbox) -> Answer {
        let heard = &mut *self.0.borrow_mut();
        if op.op != HostOp::Write {
            return Answer::Done { failed: false };
        }
        assert_eq!((op.pages, op.owner), (1, GATHER_OWNER));
        if heard.room == Some(0) {
            return Answer::Done { failed: false }.full(0);
        }
        heard.room = heard.room.map(|room| room - 1);
        if !heard.is_open {
            heard.groups.push(Vec::new());
        }
        heard.groups.last_mut().unwrap().push(op.first.0);
        heard.is_open = op.more;
        heard.held.push((op.owner, op.token, op.first.0));
        if heard.holds || op.more {
            return Answer::Pending(OpHandle(None));
        }
        heard.held.pop();
        heard.let_go();
        Answer::Done { failed: false }
    }

    fn on_event(&mut self, outbox: &mut Outbox) {
        outbox.append(&mut self.0.borrow_mut().done);
    }
}

impl Heard {
    fn let_go(&mut self) {
        assert!(!self.is_open, "a group waits for its last page");
        let done = |(owner, token, _)| Signal::Done { owner, token, failed: false, wait: None };
        self.done.extend(self.held.drain(..).map(done));
    }
}

/// A buffer over a scribe.
struct Bench {
    flash: CountedFlash,
    top: Box<dyn PageLayer<CountedFlash>>,
    heard: Rc<RefCell<Heard>>,
    outbox: Outbox,
}

impl Bench {
    /// A buffer of `pages` pages and logical blocks of `block` for a drive of 60.
    fn new(kind: &str, pages: u32, block: u32) -> Self {
        let settings = [
            "engine.time=none".to_owned(),
            "drive.capacity=240KiB".to_owned(),
            "drive.over_provisioning=100%".to_owned(),
            "flash.channels=1".to_owned(),
            "flash.dies_per_channel=1".to_owned(),
            "flash.pages_per_block=8".to_owned(),
            format!("buffer.kind={kind}"),
            format!("buffer.size={}KiB", 4 * pages),
            format!("buffer.block_size={}KiB", 4 * block),
            "buffer.write_back_pages=100".to_owned(),
        ];
        let plan = crate::support::plan(&settings.each_ref().map(String::as_str));
        let flash = CountedFlash::new(plan.fresh_state());
        let heard = Rc::new(RefCell::new(Heard::default()));
        let context = BufferContext {
            geometry: plan.geometry,
            user_pages: plan.user_pages,
            owner: GATHER_OWNER,
            name: "gather",
            values: &plan.config.values,
        };
        (buffer::find(kind).unwrap().check)(&context).unwrap();
        let below = Box::new(MadeUpLayer(Scribe(Rc::clone(&heard))));
        let top = CountedFlash::buffered(kind, &context, below, flash.state());
        Self { flash, top, heard, outbox: Outbox::new() }
    }

    fn ask(&mut self, op: HostOp, first: u32, pages: u32) -> Answer {
        let full = self.flash.state().geometry.full_mask();
        let op = PageOp { pages, request_sectors: 8 * pages, token: first, ..PageOp::on_page(op, Lpn(first), full) };
        let answer = self.top.submit(&mut self.flash, &op, &mut self.outbox);
        self.top.check(&self.flash).unwrap();
        answer
    }

    fn write(&mut self, first: u32, pages: u32) {
        assert_eq!(self.ask(HostOp::Write, first, pages), Answer::Done { failed: false });
        self.hear();
    }

    /// The buffer hears what the scribe has to say.
    fn hear(&mut self) {
        self.top.on_event(&mut self.flash, 0, &Event::Timer { timer: 99 }, &mut self.outbox);
        self.top.check(&self.flash).unwrap();
    }

    fn let_go(&mut self) {
        self.heard.borrow_mut().let_go();
        self.hear();
    }

    /// The groups heard since the last call.
    fn groups(&mut self) -> Vec<Vec<u32>> {
        let heard = &mut *self.heard.borrow_mut();
        assert!(!heard.is_open);
        std::mem::take(&mut heard.groups)
    }

    fn counter(&self, name: &str) -> u64 {
        let mut reports = Vec::new();
        self.top.report(&mut reports);
        assert_eq!(reports[0].name, "gather");
        reports[0].counters[name]
    }
}

#[test]
fn pages_of_a_block_leave_together_in_ascending_order_and_an_untouched_block_first() {
    for block in [4, 7, 9] {
        let mut bench = Bench::new("group-lru", 6, block);
        bench.write(2 * block + 2, 1);
        bench.write(block + 1, 1);
        bench.write(2 * block, 1);
        bench.write(block + 3, 1);
        bench.write(0, 1);
        bench.write(block, 1);
        assert_eq!(bench.groups(), Vec::<Vec<u32>>::new(), "six pages have room");
        bench.write(3 * block, 1);
        assert_eq!(bench.groups(), [[2 * block, 2 * block + 2]], "written before both others");
        // The two pages that left are room enough.
        bench.write(3 * block + 1, 1);
        assert_eq!(bench.groups(), Vec::<Vec<u32>>::new());
        bench.write(3 * block + 2, 1);
        assert_eq!(bench.groups(), [[0]]);
        bench.write(4 * block, 1);
        assert_eq!(bench.groups(), [[block, block + 1, block + 3]]);
        assert_eq!([bench.counter("blocks_written_back"), bench.counter("block_pages_held")], [3, 6]);
        assert_eq!([bench.counter("blocks_completed"), bench.counter("padding_pages")], [0, 0]);
    }
}

#[test]
fn a_write_brings_its_block_to_the_head_before_it_asks_for_room() {
    let mut bench = Bench::new("group-lru", 4, 4);
    bench.write(0, 2);
    bench.write(4, 2);
    // Full, and block 0 was written longest ago: but now it is written.
    bench.write(2, 1);
    assert_eq!(bench.groups(), [[4, 5]]);
    bench.write(4, 1);
    bench.write(1, 1);
    bench.write(8, 1);
    assert_eq!(bench.groups(), [[4]], "a page written again counts as well");
    let mut small = Bench::new("group-lru", 3, 5);
    (0..5).for_each(|page| small.write(page, 1));
    assert_eq!(small.groups(), [[0, 1, 2]], "alone it has to leave");
}

#[test]
fn a_flush_sends_all_blocks_in_order_of_their_addresses_and_completes_none() {
    let mut bench = Bench::new("group-lru", 20, 7);
    bench.write(30, 2);
    bench.write(7, 7);
    bench.write(5, 1);
    // The last logical block of the drive has four pages only.
    bench.write(56, 4);
    bench.ask(HostOp::Flush, 0, 0);
    bench.hear();
    assert_eq!(bench.groups(), [vec![5], (7..14).collect(), vec![30, 31], (56..60).collect()]);
    assert_eq!([bench.counter("blocks_completed"), bench.counter("block_pages_buffered")], [0, 0]);
}

#[test]
fn a_group_does_not_begin_while_one_of_its_pages_waits_for_an_older_version() {
    for kind in ["group-lru", "page-only", "block-lru"] {
        let mut bench = Bench::new(kind, 32, 4);
        bench.heard.borrow_mut().holds = true;
        bench.write(2, 1);
        bench.ask(HostOp::Flush, 0, 0);
        assert_eq!(bench.groups(), [[2]]);
        // Page 2 again, behind pages that could go at once.
        bench.write(0, 3);
        bench.ask(HostOp::Flush, 0, 0);
        assert_eq!(bench.groups(), Vec::<Vec<u32>>::new(), "{kind}: page 2 is under way");
        bench.let_go();
        assert_eq!(bench.groups(), [[0, 1, 2]], "{kind}");
        bench.let_go();
    }
}

#[test]
fn a_group_that_finds_no_room_in_the_middle_goes_on_where_it_stopped() {
    let mut bench = Bench::new("group-lru", 8, 4);
    bench.heard.borrow_mut().room = Some(2);
    bench.write(0, 4);
    assert_eq!(bench.ask(HostOp::Flush, 0, 0), Answer::Pending(OpHandle(None)));
    assert_eq!(bench.heard.borrow().groups, [[0, 1]]);
    bench.write(5, 1);
    {
        let heard = &mut *bench.heard.borrow_mut();
        heard.room = None;
        heard.done.push(Signal::Room);
    }
    bench.hear();
    assert_eq!(bench.groups(), [[0, 1, 2, 3]]);
    bench.hear();
    assert!(
        bench.outbox.contains(&Signal::Done { owner: HOST_OWNER, token: 0, failed: false, wait: None }),
        "the flush is done"
    );
}
