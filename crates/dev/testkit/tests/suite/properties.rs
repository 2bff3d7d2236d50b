//! Random stacks and hosts in both time modes, with every kind of media fault: no read is ever
//! wrong, no invariant breaks, and a drive that runs out of good blocks stops cleanly.

use engine::random::Stream;
use nand::{CountedFlash, Counters, FaultPlan, Flash, FlashState};
use simulator::{Clocked, Drive, DrivePlan};
use testkit::{Ended, Faults, Habits, Host, Stack, can_serve, describe_blocks, read_through, work};
use units::BlockId;

/// What a run may end like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Allow {
    /// All requests must be served.
    Nothing,
    /// The drive may run out of good blocks.
    WornOut,
}

struct Case {
    seed: u64,
    stack: Stack,
    habits: Habits,
    requests: u64,
    allow: Allow,
}

impl Case {
    fn draw(seed: u64, faults: Faults) -> Self {
        Self::draw_of(seed, faults, None)
    }

    fn draw_of(seed: u64, faults: Faults, mapping: Option<&'static str>) -> Self {
        let mut stream = Stream::new(seed, "properties");
        let layers = mapping.map_or_else(testkit::Layers::default, testkit::Layers::mapping);
        let stack = Stack::draw(&mut stream, faults, layers);
        Self { seed, habits: Habits::draw(&mut stream), stack, requests: 1500, allow: Allow::Nothing }
    }

    fn plan(&self) -> DrivePlan {
        self.stack.plan().unwrap_or_else(|error| panic!("seed {}: {error} ({})", self.seed, self.stack))
    }

    /// Runs in both time modes over flash prepared by `prepare`.
    fn run(&self, prepare: impl Fn(&DrivePlan, &mut FlashState)) -> [Ended; 2] {
        let plan = self.plan();
        let state = || {
            let mut state = plan.fresh_state();
            prepare(&plan, &mut state);
            state
        };
        let counted = self.run_one("none", &mut plan.assemble(CountedFlash::new(state())));
        let timed = self.run_one("virtual", &mut plan.assemble(plan.timed(state())));
        [counted, timed]
    }

    fn run_one<F: Clocked>(&self, time: &str, drive: &mut Drive<F>) -> Ended {
        let mut host = Host::new(self.habits, self.seed);
        let per_page = drive.flash().state().geometry.sectors_per_page();
        let ended = work(drive, &mut host, self.requests).and_then(|ended| {
            let unanswered = read_through(drive, per_page)?;
            assert!(
                unanswered == 0,
                "seed {} time {time}: {unanswered} reads unanswered ({}){}",
                self.seed,
                self.stack,
                describe_blocks(drive)
            );
            drive.top().check(drive.flash())?;
            Ok(ended)
        });
        let ended = ended.unwrap_or_else(|what| panic!("seed {} time {time}: {what} ({})", self.seed, self.stack));
        if ended == Ended::Stuck {
            let worn = self.allow == Allow::WornOut && !can_serve(&self.stack, &self.plan(), drive.flash().state());
            let blocks = describe_blocks(drive);
            assert!(worn, "seed {} time {time}: stuck before its blocks wore out ({}){blocks}", self.seed, self.stack);
        }
        ended
    }
}

#[test]
fn any_stack_serves_any_host_in_both_time_modes() {
    for seed in 0..60 {
        Case::draw(seed, Faults::None).run(|_, _| {});
    }
}

#[test]
fn failing_programs_and_erases_lose_nothing() {
    for seed in 0..60 {
        let mut case = Case::draw(seed, Faults::Rare);
        case.stack.set("flash.fault.program", ["0.1%", "1%", "10%"][seed as usize % 3]);
        case.stack.set("flash.fault.erase", ["1%", "0%", "5%", "20%"][seed as usize % 4]);
        case.allow = Allow::WornOut;
        case.run(|_, _| {});
    }
}

/// Whatever a seed draws: a mapping that is added shifts what the others meet.
#[test]
fn failing_programs_and_erases_end_every_mapping_well() {
    for mapping in ftl::mapping::mapping_names() {
        for seed in 40..70 {
            let mut case = Case::draw_of(seed, Faults::Rare, Some(mapping));
            case.stack.set("flash.fault.program", ["0.1%", "1%", "10%"][seed as usize % 3]);
            case.stack.set("flash.fault.erase", ["1%", "0%", "5%", "20%"][seed as usize % 4]);
            case.allow = Allow::WornOut;
            case.run(|_, _| {});
        }
    }
}

#[test]
fn an_uncorrectable_page_is_an_error_and_never_wrong_data() {
    let mut failed = 0;
    for seed in 0..40 {
        let mut case = Case::draw(seed, Faults::None);
        case.stack.set("flash.fault.read", ["0.2%", "5%"][seed as usize % 2]);
        let plan = case.plan();
        let mut drive = plan.assemble(plan.timed(plan.fresh_state()));
        case.run_one("virtual", &mut drive);
        failed += drive.flash().state().counters.failed_reads;
        case.run_one("none", &mut plan.assemble(CountedFlash::new(plan.fresh_state())));
    }
    assert!(failed > 100, "{failed} reads failed");
}

/// Drives in which commands fail like this, written until their blocks are worn out.
fn wear_out(faults: Faults) {
    let mut stuck = 0;
    for seed in 0..40 {
        let mut case = Case::draw(seed, faults);
        case.stack.set("flash.endurance", 3 + seed % 8);
        // A worn-out drive never has room for the write that reads in order wait behind.
        case.stack.set("controller.reads_when_full", "pass");
        case.habits.reads = 0.1;
        case.requests = 20_000;
        case.allow = Allow::WornOut;
        stuck += case.run(|_, _| {}).iter().filter(|ended| **ended == Ended::Stuck).count();
    }
    assert!(stuck > 60, "only {stuck} of 80 drives wore out");
}

#[test]
fn a_drive_written_until_its_blocks_are_worn_out_stops_cleanly() {
    wear_out(Faults::Rare);
}

/// A plane keeps a block for failures only from the first worn-out block on: that must be soon enough.
#[test]
fn a_drive_whose_blocks_fail_only_when_they_are_worn_out_stops_cleanly() {
    wear_out(Faults::None);
}

#[test]
fn factory_bad_blocks_are_never_used() {
    for seed in 0..40 {
        let mut case = Case::draw(seed, Faults::Rare);
        case.stack.set("flash.fault.factory_bad", ["3%", "10%"][seed as usize % 2]);
        case.allow = Allow::WornOut;
        case.run(|_, _| {});
    }
}

/// Blocks by a rule of the bad-block matrix.
type Rule = (&'static str, fn(u32) -> bool);

const RULES: [Rule; 4] = [
    ("one block", |block| block == 3),
    ("every second block", |block| block % 2 == 1),
    ("all but a few", |block| block % 5 != 0),
    ("all blocks", |_| true),
];

fn matrix(plan_of: fn(Vec<BlockId>) -> FaultPlan) {
    for (name, is_bad) in RULES {
        for seed in 0..12 {
            let mut case = Case::draw(seed, Faults::Rare);
            case.allow = if name == "one block" { Allow::Nothing } else { Allow::WornOut };
            case.stack.set("flash.fault.program", "0%").set("flash.fault.erase", "0%");
            case.requests = 800;
            case.run(|plan, state| {
                let bad = (0..plan.geometry.blocks()).filter(|block| is_bad(*block)).map(BlockId).collect();
                state.set_faults(plan_of(bad), seed);
            });
        }
    }
}

#[test]
fn blocks_that_fail_on_program_lose_nothing() {
    matrix(|bad_programs| FaultPlan { bad_programs, ..FaultPlan::default() });
}

#[test]
fn blocks_that_fail_on_erase_lose_nothing() {
    matrix(|bad_erases| FaultPlan { bad_erases, ..FaultPlan::default() });
}

/// Blocks in which every program or erase fails, and failures at random, under mappings that merge.
#[test]
fn merges_lose_nothing_to_failing_blocks() {
    for mapping in ["bast", "block", "fast"] {
        for seed in 0..60 {
            let mut case = Case::draw_of(seed, Faults::Rare, Some(mapping));
            case.requests = 800;
            case.stack.set("flash.fault.program", ["0%", "0.1%", "1%", "10%"][seed as usize % 4]);
            case.stack.set("flash.fault.erase", ["1%", "0%", "20%"][seed as usize % 3]);
            case.allow = Allow::WornOut;
            case.run(|_, _| {});
            case.stack.set("flash.fault.program", "0%").set("flash.fault.erase", "0%");
            let (_, is_bad) = RULES[seed as usize % RULES.len()];
            case.run(|plan, state| {
                let bad: Vec<_> = (0..plan.geometry.blocks()).filter(|block| is_bad(*block)).map(BlockId).collect();
                let faults = FaultPlan::default();
                let programs = seed % 8 < 4;
                state.set_faults(
                    if programs {
                        FaultPlan { bad_programs: bad, ..faults }
                    } else {
                        FaultPlan { bad_erases: bad, ..faults }
                    },
                    seed,
                );
            });
        }
    }
}

#[test]
fn wear_never_falls_and_bad_blocks_stay_bad() {
    for seed in 100..110 {
        let case = Case::draw(seed, Faults::Rare);
        let plan = case.plan();
        let mut drive = plan.assemble(plan.timed(plan.fresh_state()));
        let mut host = Host::new(case.habits, seed);
        let mut before = drive.flash().state().blocks().to_vec();
        for _ in 0..200 {
            work(&mut drive, &mut host, 5).unwrap_or_else(|what| panic!("seed {seed}: {what} ({})", case.stack));
            let now = drive.flash().state().blocks().to_vec();
            for (old, new) in before.iter().zip(&now) {
                assert!(new.erases >= old.erases && (new.is_bad() || !old.is_bad()), "seed {seed}");
                assert!(new.done <= new.issued && u32::from(new.issued) <= plan.geometry.pages_per_block);
            }
            before = now;
        }
        let counters = &drive.flash().state().counters;
        let erases: u32 = before.iter().map(|row| row.erases).sum();
        assert_eq!(Counters::total(&counters.erases), u64::from(erases), "seed {seed}: erases by cause");
    }
}
