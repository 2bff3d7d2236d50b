//! Media faults: which commands fail, decided by address, by wear or by seeded chance.
//!
//! Faithful to: program failure, erase failure and uncorrectable read as status bits of a command.
//! Simplified: the out-of-band area has its own stronger code and stays readable when the data of
//! a page is uncorrectable; a page torn by a power cut has neither.
//! Protects: a run without a fault plan pays one branch a command.

use engine::random::Stream;
use units::{BlockId, DieId};

/// Which commands fail. The default plan fails nothing.
#[derive(Clone, Debug, Default)]
pub struct FaultPlan {
    /// Chance that a program fails.
    pub program: f64,
    /// Chance that an erase fails.
    pub erase: f64,
    /// Chance that a page programmed now turns out uncorrectable when it is read.
    pub read: f64,
    /// Erases after which an erase fails for certain; 0 means never.
    pub endurance: u32,
    /// Blocks whose every program fails.
    pub bad_programs: Vec<BlockId>,
    /// Blocks whose every erase fails.
    pub bad_erases: Vec<BlockId>,
    /// Dies that answer nothing any more.
    pub dead_dies: Vec<DieId>,
}

impl FaultPlan {
    /// Whether any command may fail before a block is worn out.
    pub fn may_fail_unworn(&self) -> bool {
        self.program > 0.0
            || self.erase > 0.0
            || self.read > 0.0
            || !self.bad_programs.is_empty()
            || !self.bad_erases.is_empty()
            || !self.dead_dies.is_empty()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Faults {
    plan: FaultPlan,
    stream: Stream,
    /// A command may fail before a block is worn out. *Why not with a block that may wear out*: only its erase fails,
    /// and an erase is looked at anyway. Programs and reads of most drives need no second look.
    pub(crate) active: bool,
}

impl Faults {
    pub(crate) fn new(plan: FaultPlan, seed: u64) -> Self {
        let active = plan.may_fail_unworn();
        Self { plan, stream: Stream::new(seed, "flash.faults"), active }
    }

    /// Other chances from now on; failed parts stay so.
    pub(crate) fn set_chances(&mut self, [program, erase, read]: [f64; 3]) {
        (self.plan.program, self.plan.erase, self.plan.read) = (program, erase, read);
        self.active |= program > 0.0 || erase > 0.0 || read > 0.0;
    }

    /// Whether any command may fail before a block is worn out.
    pub(crate) fn may_fail_unworn(&self) -> bool {
        self.plan.may_fail_unworn()
    }

    pub(crate) fn state(&self) -> [u64; 4] {
        self.stream.state()
    }

    pub(crate) fn set_state(&mut self, state: [u64; 4]) {
        self.stream = Stream::from_state(state);
    }

    pub(crate) fn kill(&mut self, die: DieId) {
        self.plan.dead_dies.push(die);
        self.active = true;
    }

    pub(crate) fn dead(&self, die: DieId) -> bool {
        self.plan.dead_dies.contains(&die)
    }

    pub(crate) fn program_fails(&mut self, block: BlockId, die: DieId) -> bool {
        self.dead(die)
            || self.plan.bad_programs.contains(&block)
            || (self.plan.program > 0.0 && self.stream.chance(self.plan.program))
    }

    pub(crate) fn erase_fails(&mut self, block: BlockId, die: DieId, erases: u32) -> bool {
        self.dead(die)
            || (self.plan.endurance > 0 && erases >= self.plan.endurance)
            || self.plan.bad_erases.contains(&block)
            || (self.plan.erase > 0.0 && self.stream.chance(self.plan.erase))
    }

    pub(crate) fn data_lost(&mut self) -> bool {
        self.plan.read > 0.0 && self.stream.chance(self.plan.read)
    }
}
