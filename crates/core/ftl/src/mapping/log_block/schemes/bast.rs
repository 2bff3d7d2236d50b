//! `bast`: each logical block that is overwritten gets a log block of its own.
//!
//! Faithful to: a page whose place in the data block is still erased goes there. Any other page goes to the log block
//! of its logical block. A full log block is merged when the next page comes. Without a free log block, the log block
//! of another logical block is merged.
//! Simplified: see [`crate::mapping::log_block`].
//! Protects: a log block holds pages of one logical block.

use crate::mapping::Mapping;
use crate::mapping::log_block::{self, InPlace, Lbn, Put, Scheme, Tables};
use engine::random::Stream;
use layer::{Choices, Parameter, ParameterKind, Values};
use nand::Flash;
use units::{Lpn, Ppn};

/// Which log block is merged when a new one is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    /// The one written longest ago.
    Lru,
    /// The one opened longest ago.
    Fifo,
    /// Any of them, drawn at random.
    Random,
}

const VICTIM: Choices<Victim> = Choices {
    key: "ftl.bast.victim",
    table: &[
        ("lru", "the log block written longest ago", Victim::Lru),
        ("fifo", "the log block opened longest ago", Victim::Fifo),
        ("random", "any log block", Victim::Random),
    ],
};
/// Whether the first pages of a logical block go to a log block.
const FIRST_WRITE: Choices<bool> = Choices {
    key: "ftl.bast.first_write",
    table: &[
        ("data", "in place, into a data block", false),
        ("log", "into a log block that becomes a data block", true),
    ],
};

/// Log blocks by logical block.
pub(in crate::mapping) struct Bast {
    victim: Victim,
    first_write_to_log: bool,
    stream: Stream,
}

/// The line for the table of mappings.
pub(in crate::mapping) fn mapping() -> Mapping {
    let doc = "data blocks in place, and a log block for each logical block that is overwritten";
    let when = "Use it for small drives and cards that are mostly written in order, and to compare with studies of \
                them. Random writes over many logical blocks need a merge for nearly every write.";
    log_block::mapping::<Bast>("bast", doc, when, parameters)
}

fn parameters() -> Vec<Parameter> {
    let mut parameters = log_block::common();
    parameters.extend([
        Parameter::new(
            VICTIM.key,
            ParameterKind::Choice(|| VICTIM.named()),
            "lru",
            "Which log block is merged when all log blocks are in use.",
        ),
        Parameter::new(
            FIRST_WRITE.key,
            ParameterKind::Choice(|| FIRST_WRITE.named()),
            "data",
            "Where the first pages of a logical block go.",
        ),
    ]);
    parameters
}

/// What to do about a log block for a page.
enum Step {
    Page(Ppn),
    /// Something was merged at once: look again.
    Again,
    Wait,
}

impl Bast {
    /// A page of the logical block's log block.
    fn append<F: Flash>(&mut self, tables: &mut Tables, flash: &mut F, lbn: Lbn) -> Step {
        let blocks = &mut tables.blocks;
        if let Some(log) = blocks.table.log(lbn) {
            if let Some(page) = blocks.next_page(flash, log) {
                if self.victim == Victim::Lru {
                    blocks.touch_log(lbn);
                }
                return Step::Page(page);
            }
            return if tables.merge(flash, lbn) { Step::Again } else { Step::Wait };
        }
        if blocks.table.logs() < tables.log_limit(flash) {
            let blocks = &mut tables.blocks;
            let opened = blocks.open_log(flash, lbn).and_then(|block| blocks.next_page(flash, block));
            return opened.map_or(Step::Wait, Step::Page);
        }
        let victim = match self.victim {
            Victim::Lru | Victim::Fifo => tables.log_owners().next(),
            Victim::Random => {
                let count = tables.log_owners().count() as u64;
                let number = if count == 0 { 0 } else { self.stream.below(count) };
                tables.log_owners().nth(number as usize)
            }
        };
        if victim.is_some_and(|victim| tables.merge(flash, victim)) { Step::Again } else { Step::Wait }
    }
}

impl Scheme for Bast {
    fn new(values: &Values, seed: u64) -> Self {
        Self {
            victim: VICTIM.read(values),
            first_write_to_log: FIRST_WRITE.read(values),
            stream: Stream::new(seed, "ftl.bast"),
        }
    }

    #[inline]
    fn place<F: Flash>(&mut self, tables: &mut Tables, flash: &mut F, logical: Lpn, put: Put) -> Option<Ppn> {
        let lbn = tables.lbns.of(logical);
        for _ in 0..8 {
            if put == Put::Data && (!self.first_write_to_log || tables.blocks.table.data(lbn).is_some()) {
                match tables.place_in_data(flash, logical) {
                    InPlace::Page(page) => return Some(page),
                    InPlace::Wait => return None,
                    InPlace::Taken => {}
                }
            }
            match self.append(tables, flash, lbn) {
                Step::Page(page) => return Some(page),
                Step::Wait => return None,
                Step::Again => {}
            }
        }
        None
    }

    fn log_bytes(logs: u64, pages: u64) -> u64 {
        logs * (8 + 2 * pages)
    }

    fn save(&self) -> Vec<u64> {
        self.stream.state().to_vec()
    }

    fn load(&mut self, numbers: &[u64]) {
        if let Ok(state) = numbers.try_into() {
            self.stream = Stream::from_state(state);
        }
    }
}
