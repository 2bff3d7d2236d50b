//! One seed, one result: repeated, in two drives side by side, and cut in half by a snapshot.

use layer::{SnapshotReader, SnapshotWriter};
use nand::{CountedFlash, Flash, TimedFlash};
use simulator::{BlockDevice, Clocked, Drive, DrivePlan};
use testkit::{Ended, Faults, Habits, Host, Stack, drain, work};

fn draw(seed: u64) -> (DrivePlan, Habits) {
    let mut stream = engine::random::Stream::new(seed, "determinism");
    let mut stack = Stack::draw(&mut stream, Faults::Rare, testkit::Layers::default());
    // Without idle time a drained drive has nothing of its own to do.
    stack.set("host.idle_after", "0ns");
    let habits = Habits::draw(&mut stream);
    // A snapshot has no clean pages: what is kept of reads is read from flash once more behind it.
    let keeps_reads = ["cbm", "cflru"].contains(&stack.get("buffer.kind"));
    let reads = if keeps_reads { 0.0 } else { habits.reads };
    (stack.plan().expect("drawn stacks resolve"), Habits { reads, ..habits })
}

fn fresh(plan: &DrivePlan) -> Drive<TimedFlash> {
    plan.assemble(plan.timed(plan.fresh_state()))
}

/// `true`: everything was served (a worn-out drive compares nothing).
fn go<F: Clocked>(drive: &mut Drive<F>, host: &mut Host, requests: u64) -> bool {
    work(drive, host, requests).expect("no violation") == Ended::Served
}

#[test]
fn the_same_seed_gives_the_same_hash_alone_and_side_by_side() {
    for seed in 0..20 {
        let (plan, habits) = draw(seed);
        let mut alone = fresh(&plan);
        go(&mut alone, &mut Host::new(habits, seed), 600);
        let (mut left, mut right) = (fresh(&plan), fresh(&plan));
        let mut hosts = [Host::new(habits, seed), Host::new(habits, seed)];
        for _ in 0..6 {
            go(&mut left, &mut hosts[0], 100);
            go(&mut right, &mut hosts[1], 100);
        }
        assert_eq!(left.flash().state().hash(), right.flash().state().hash(), "seed {seed}");
        let mut again = fresh(&plan);
        go(&mut again, &mut Host::new(habits, seed), 600);
        assert_eq!(alone.flash().state().hash(), again.flash().state().hash(), "seed {seed}");
    }
}

/// Ends what is under way and flushes the trims, as before a snapshot.
fn settle<F: Clocked>(drive: &mut Drive<F>) {
    drive.submit(0, &flush());
    drain(drive);
}

fn flush() -> units::Request {
    units::Request { arrival: 0, first_sector: 0, sectors: 0, op: units::HostOp::Flush, fua: false }
}

/// Takes a drained drive apart and puts its state into a new one.
fn resume<F: Clocked>(
    plan: &DrivePlan,
    mut drive: Drive<F>,
    state: fn(F) -> nand::FlashState,
    flash: impl Fn(nand::FlashState) -> F,
) -> Drive<F> {
    let oracle = drive.oracle().expect("contents are on").clone();
    let mut writer = SnapshotWriter::new();
    drive.top_mut().save(&mut writer);
    let bytes = writer.into_bytes();
    let mut next = plan.assemble(flash(state(drive.into_parts().0)));
    let mut reader = SnapshotReader::new(&bytes);
    next.top_mut().load(&mut reader).expect("a snapshot of the same shape fits");
    assert!(reader.is_empty(), "everything saved is read back");
    *next.oracle_mut().expect("contents are on") = oracle;
    next
}

/// The counters after 1,000 requests in time, with a snapshot in the middle where `halved`; `None`: the drive wore out.
/// A new drive's clock starts at zero, and completion times are in the hash, so hashes cannot be compared.
fn timed(plan: &DrivePlan, habits: Habits, seed: u64, halved: bool) -> Option<nand::Counters> {
    let mut host = Host::new(habits, seed);
    let mut drive = fresh(plan);
    let mut served = go(&mut drive, &mut host, 500);
    settle(&mut drive);
    if served && halved {
        drive = resume(plan, drive, TimedFlash::into_state, |state| plan.timed(state));
    }
    served = served && go(&mut drive, &mut host, 500);
    served.then(|| drive.flash().state().counters.clone())
}

/// Seeds of drives whose buffer keeps what was read, such as 56 and 176, ended otherwise behind a snapshot. So did 116
/// and 1222, where memory for programs took no page behind a read of the map that had ended, and 205, where a merge
/// had ended that nobody had been told of, and 1755, 2304 and 2518, where elastic stripes chose victims at random.
#[test]
fn a_run_cut_in_half_by_a_snapshot_ends_like_the_uncut_one() {
    for seed in (0..40).chain([56, 116, 176, 189, 205, 223, 320, 336, 364, 1222, 1755, 2304, 2518]) {
        let (plan, habits) = draw(seed);
        // Counted: no clock to be set back, so hash and counters must agree exactly.
        let run = |halved: bool| {
            let mut host = Host::new(habits, seed);
            let mut drive = plan.assemble(CountedFlash::new(plan.fresh_state()));
            let mut served = go(&mut drive, &mut host, 500);
            settle(&mut drive);
            if served && halved {
                drive = resume(&plan, drive, CountedFlash::into_state, CountedFlash::new);
            }
            served = served && go(&mut drive, &mut host, 500);
            served.then(|| (drive.flash().state().hash(), drive.flash().state().counters.clone()))
        };
        assert_eq!(run(true), run(false), "seed {seed}, counted");
        let [cut, uncut] = [true, false].map(|halved| timed(&plan, habits, seed, halved));
        assert_eq!(cut, uncut, "seed {seed}, timed");
    }
}

/// Behind a snapshot, in time, such a drive could erase other blocks than the uncut one.
#[test]
fn a_shrd_drive_of_two_page_programs_ends_behind_a_snapshot_like_the_uncut_one() {
    let mut stack = Stack::plain();
    for (key, value) in [
        ("ftl.kind", "shrd"),
        ("ftl.shrd.log", "1%"),
        ("ftl.gc.victim", "d-choices"),
        ("ftl.gc.frontier", "shared"),
        ("ftl.wear.static_gap", "2"),
        ("flash.channels", "2"),
        ("flash.dies_per_channel", "2"),
        ("flash.planes_per_die", "2"),
        ("flash.page_size", "2KiB"),
        ("flash.pages_per_block", "4"),
        ("flash.word_line_pages", "2"),
        ("flash.program_memory", "4096B"),
        ("flash.first_pass_time", "40us"),
        ("drive.capacity", "256KiB"),
        ("drive.over_provisioning", "187.5%"),
        ("host.idle_after", "0ns"),
    ] {
        stack.set(key, value);
    }
    let plan = stack.plan().expect("the stack resolves");
    let mut differing = Vec::new();
    for seed in 0..59 {
        let habits = Habits::draw(&mut engine::random::Stream::new(seed, "determinism"));
        if timed(&plan, habits, seed, true) != timed(&plan, habits, seed, false) {
            differing.push(seed);
        }
    }
    assert!(differing.is_empty(), "seeds {differing:?}");
}
