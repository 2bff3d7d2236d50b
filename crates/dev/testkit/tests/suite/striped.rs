//! Small drives with stripes, and what is done to them.

use engine::random::Stream;
use nand::{CountedFlash, FlashState, TimedFlash};
use simulator::{BlockDevice, Clocked, Completion, Completions, Drive, DrivePlan, HostOptions, Oracle, Progress};
use stack::Stacked as _;
use std::collections::BTreeMap;
use testkit::Stack;
use units::{HostOp, Request};

pub const NOTHING: [u64; 0] = [];

/// Five chips (six with two parities) and spares; four data pages a stripe, one sector a page.
pub fn stack(kind: &str, spares: u32, capacity: &str) -> Stack {
    let mut stack = Stack::plain();
    let chips = if kind.starts_with("raid6") { 6 } else { 5 };
    stack.set("flash.channels", chips + spares).set("stripe.chips", chips).set("stripe.spares", spares);
    for (key, value) in [
        ("flash.dies_per_channel", "1"),
        ("flash.page_size", "512B"),
        ("flash.pages_per_block", "4"),
        ("drive.capacity", capacity),
        ("drive.over_provisioning", "1000%"),
        ("stripe.kind", kind),
        ("stripe.buffer_size", "0B"),
        ("stripe.in_flight", "2"),
        ("stripe.cache.entries", "2"),
    ] {
        stack.set(key, value);
    }
    stack
}

pub fn counted(plan: &DrivePlan) -> Drive<CountedFlash> {
    plan.assemble(CountedFlash::new(plan.fresh_state()))
}

pub fn timed(plan: &DrivePlan) -> Drive<TimedFlash> {
    plan.assemble(plan.timed(plan.fresh_state()))
}

/// The drive as a power cut left it, which is to hold what `oracle` says, without time.
pub fn restarted(plan: &DrivePlan, image: FlashState, oracle: Oracle) -> Drive<CountedFlash> {
    let layers = CountedFlash::recovered(&plan.stack(), &image).unwrap();
    let host = HostOptions::default();
    let mut drive = Drive::new(CountedFlash::new(image), layers, plan.user_pages, host);
    *drive.oracle_mut().unwrap() = oracle;
    drive
}

/// A request of one page.
pub fn request(op: HostOp, page: u64) -> Request {
    Request { arrival: 0, first_sector: page, sectors: 1, op, fua: false }
}

/// Serves everything; the first sectors of the requests that failed.
pub fn serve<F: Clocked>(drive: &mut Drive<F>) -> Vec<u64> {
    let (mut completions, mut failed) = (Completions::default(), Vec::new());
    while drive.advance(&mut completions) != Progress::Idle {
        failed.extend(completions.done.iter().filter(|done| done.failed).map(|done| done.request.first_sector));
    }
    assert_eq!(drive.outstanding(), 0, "everything is served");
    failed
}

/// Serves these requests, all submitted now; when each was done, in ns from now.
pub fn responses(drive: &mut Drive<TimedFlash>, requests: &[Request]) -> Vec<u64> {
    let now = drive.now();
    for (tag, request) in (0..).zip(requests) {
        drive.submit(tag, &Request { arrival: now, ..*request });
    }
    let (mut completions, mut times) = (Completions::default(), vec![0; requests.len()]);
    while drive.advance(&mut completions) != Progress::Idle {
        for done in &completions.done {
            assert!(!done.failed, "{:?}", done.request);
            times[done.tag as usize] = drive.now() - now;
        }
    }
    assert_eq!(drive.outstanding(), 0);
    assert_eq!(drive.oracle().and_then(|oracle| oracle.violation()), None);
    times
}

/// The counters of one layer.
pub fn counters<F: Clocked>(drive: &Drive<F>, layer: &str) -> BTreeMap<&'static str, u64> {
    let mut reports = Vec::new();
    drive.top().report(&mut reports);
    reports.into_iter().find(|report| report.name == layer).unwrap().counters
}

/// Reads everything back; the pages that cannot be read. The oracle checks the others.
pub fn unreadable<F: Clocked>(drive: &mut Drive<F>) -> Vec<u64> {
    (0..drive.sectors()).for_each(|page| drive.submit(0, &request(HostOp::Read, page)));
    let failed = serve(drive);
    assert_eq!(drive.oracle().and_then(|oracle| oracle.violation()), None);
    drive.top().check(drive.flash()).unwrap();
    failed
}

/// A drive on which these pages were written in turn.
pub fn written(plan: &DrivePlan, pages: &[u64]) -> Drive<CountedFlash> {
    let mut drive = counted(plan);
    for page in pages {
        drive.submit(0, &request(HostOp::Write, *page));
    }
    assert_eq!(serve(&mut drive), NOTHING);
    drive.top().check(drive.flash()).unwrap();
    drive
}

/// Writes with trims, at random; enough of them that blocks are collected.
pub fn random_requests(seed: u64, count: u64, pages: u64) -> Vec<Request> {
    let mut stream = Stream::new(seed, "stripes");
    let mut draw = || {
        let op = if stream.chance(0.1) { HostOp::Trim } else { HostOp::Write };
        let first = stream.below(pages);
        let sectors = (1 + stream.below(5)).min(pages - first) as u32;
        Request { sectors, ..request(op, first) }
    };
    (0..count).map(|_| draw()).collect()
}

/// A drive in virtual time that is given requests at a queue depth of four, event by event.
pub struct Fed<'a> {
    pub drive: Drive<TimedFlash>,
    requests: &'a [Request],
    under_way: usize,
    /// Events so far.
    pub events: u64,
}

impl<'a> Fed<'a> {
    pub fn new(plan: &DrivePlan, requests: &'a [Request]) -> Self {
        Self { drive: timed(plan), requests, under_way: 0, events: 0 }
    }

    /// Lets one thing happen; what it ended. Nothing, once everything is served.
    pub fn step(&mut self) -> Option<Vec<Completion>> {
        while self.under_way < 4 && !self.requests.is_empty() {
            self.drive.submit(0, &self.requests[0]);
            (self.requests, self.under_way) = (&self.requests[1..], self.under_way + 1);
        }
        self.events += 1;
        if !self.drive.step() {
            assert_eq!((self.under_way, self.requests.len()), (0, 0), "all is served");
            return None;
        }
        let done = self.drive.take_done();
        self.under_way -= done.len();
        Some(done)
    }
}
