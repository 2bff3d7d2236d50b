//! Which blocks a read asks for when code blocks could stand in for data.
//!
//! A policy is a line in [`READ_POLICIES`] and a function that gets a view of one group of one row.

use crate::code::Code;
use crate::group::Elements;
use nand::Backlog;

/// The state of a group when a read of some of its data blocks arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub code: &'a Code,
    /// Data blocks to be known.
    pub wanted: Elements,
    /// The blocks in a read-ahead buffer already.
    pub have: Elements,
    /// Code blocks that agree with their sources.
    pub valid: Elements,
    /// By element: the load in the way on its bank, in commands or in time, ns.
    pub queued: &'a [u64; 32],
    /// Elements whose bank is cleaning.
    pub cleaning: Elements,
}

/// Elements to ask for at once, and more elements to ask for when all of the first have been queued, for all groups of
/// the read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub first: Elements,
    pub more: Elements,
}

/// The knowledge of a policy about the queues of banks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Looks {
    /// At nothing: banks are alike.
    Nowhere,
    /// How many commands are in them.
    Commands,
    /// How long those commands take.
    Time,
}

/// A line of the table.
pub(crate) struct ReadPolicy {
    pub name: &'static str,
    /// Its rule, in a line.
    pub doc: &'static str,
    /// When to use it and at which cost, in a sentence or two.
    pub when: &'static str,
    /// Its view of the queues.
    pub looks: Looks,
    pub choose: fn(&View<'_>) -> Choice,
}

impl std::fmt::Debug for ReadPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Name of the policy that asks for no code block, as all do where there is none.
pub(crate) const DIRECT: &str = "direct";

pub(crate) const READ_POLICIES: &[ReadPolicy] = &[
    ReadPolicy {
        name: DIRECT,
        doc: "the data blocks themselves",
        when: "Use it as the base line: no read asks for a code block. Each read waits for its busy banks.",
        looks: Looks::Nowhere,
        choose: |view| Choice { first: view.wanted, more: Elements::NONE },
    },
    ReadPolicy {
        name: "lazy",
        doc: "all data blocks and all code blocks that can help; commands that are no longer needed are cancelled",
        when: "Use it where some banks are idle most of the time: the first blocks that decode give the answer. \
               Under full load the extra reads slow down all reads.",
        looks: Looks::Nowhere,
        choose: lazy,
    },
    ReadPolicy {
        name: "eager",
        doc: "on arrival, a set that decodes on the banks with the shortest queues, in commands",
        when: "Use it where no bank is ever idle: it reads no more blocks than direct. It decides on arrival, so a \
               bank that becomes busy later delays the read.",
        looks: Looks::Commands,
        choose: eager,
    },
    ReadPolicy {
        name: "eager-by-time",
        doc: "on arrival, a set that decodes on the banks whose queues take the least time",
        when: "Use it where queues mix reads, programs and erases, so that the number of commands misleads. A \
               controller has to know the time of every queued command for it.",
        looks: Looks::Time,
        choose: eager,
    },
    ReadPolicy {
        name: "gc-aware",
        doc: "the data blocks, but around banks that are cleaning, or whose queue is longer than the detour",
        when: "Use it where collection causes the tail: reads go around banks that collect or have long queues. \
               While no bank collects and queues are even it reads like direct.",
        looks: Looks::Commands,
        choose: gc_aware,
    },
];

impl View<'_> {
    /// Code blocks made of nothing but wanted and buffered blocks.
    fn helpful(&self) -> Elements {
        self.valid & self.code.codes_within(self.wanted | self.have)
    }

    /// Elements from `among` until the wanted ones are known, and none too many: the least queued first, of equals data
    /// blocks before code blocks, and within each kind in the order of banks. What is too many goes in the opposite
    /// order.
    fn cheapest(&self, among: Elements) -> Option<Elements> {
        let mut order = [0; 32];
        let mut count = 0;
        for element in among.iter() {
            order[count] = element;
            count += 1;
        }
        let order = &mut order[..count];
        order.sort_unstable_by_key(|element| (self.queued[*element as usize], *element));
        let mut chosen = Elements::NONE;
        for element in &*order {
            if self.code.decodes(self.have | chosen, self.wanted) {
                break;
            }
            if !self.code.known(self.have | chosen).contains(*element) {
                chosen.insert(*element);
            }
        }
        if !self.code.decodes(self.have | chosen, self.wanted) {
            return None;
        }
        for element in order.iter().rev() {
            let without = chosen - Elements::one(*element);
            if self.code.decodes(self.have | without, self.wanted) {
                chosen = without;
            }
        }
        Some(chosen)
    }

    fn longest(&self, elements: Elements) -> u64 {
        elements.iter().map(|element| self.queued[element as usize]).max().unwrap_or(0)
    }
}

fn lazy(view: &View<'_>) -> Choice {
    Choice { first: view.wanted, more: view.helpful() }
}

fn eager(view: &View<'_>) -> Choice {
    let chosen = view.cheapest(view.wanted | view.helpful());
    Choice { first: chosen.unwrap_or(view.wanted), more: Elements::NONE }
}

fn gc_aware(view: &View<'_>) -> Choice {
    let direct = Choice { first: view.wanted, more: Elements::NONE };
    let all = (view.code.all_data() - view.have) | view.valid;
    // A detour reads at least one block more: it pays only where the way is longer than that.
    let Some(detour) = view.cheapest(all - view.cleaning) else { return direct };
    let backlog = |elements: Elements| Backlog {
        commands: view.longest(elements) as u32,
        cleaning: (elements & view.cleaning).len(),
    };
    if layer::goes_around(backlog(view.wanted), backlog(detour)) {
        Choice { first: detour, more: Elements::NONE }
    } else {
        direct
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use erasure::{Decoder, GroupCode};

    fn view<'a>(code: &'a Code, wanted: u32, queued: &'a [u64; 32], cleaning: u32) -> View<'a> {
        let (wanted, cleaning) = (Elements::of_bits(wanted), Elements::of_bits(cleaning));
        View { code, wanted, have: Elements::NONE, valid: Elements::of_bits(0xf0), queued, cleaning }
    }

    fn choice(first: u32, more: u32) -> Choice {
        Choice { first: Elements::of_bits(first), more: Elements::of_bits(more) }
    }

    #[test]
    fn each_policy_asks_for_what_its_name_says() {
        let code = Code::new(GroupCode::regular(4, 2).expect("a regular code"), Decoder::Peel);
        let mut queued = [0; 32];
        queued[1] = 9;
        let of = |name: &str, wanted, queued: &[u64; 32], cleaning| {
            let policy = READ_POLICIES.iter().find(|policy| policy.name == name).expect("it is in the table");
            (policy.choose)(&view(&code, wanted, queued, cleaning))
        };
        assert_eq!(of("direct", 0b1111, &queued, 2), choice(0b1111, 0));
        assert_eq!(of("lazy", 0b1111, &queued, 2), choice(0b1111, 0xf0));
        assert_eq!(of("lazy", 0b0011, &queued, 2), choice(0b0011, 0x10), "only the code block of nothing else");
        let Choice { first, more } = of("eager", 0b1111, &queued, 0);
        assert!(!first.contains(1) && more.is_empty() && first.len() == 4 && code.decodes(first, code.all_data()));
        assert_eq!(of("eager", 0b0001, &queued, 0).first.bits(), 1, "one block alone has no code block to help");
        let detour = of("gc-aware", 0b0010, &queued, 2).first;
        let is_around = !detour.contains(1) && detour.len() == 2 && code.decodes(detour, Elements::one(1));
        assert!(is_around, "around a cleaning bank");
        assert_eq!(of("gc-aware", 0b0001, &queued, 0).first.bits(), 1, "nothing is in the way");
        assert!(!of("gc-aware", 0b0010, &queued, 0).first.contains(1), "around a long queue");
        queued[1] = 1;
        assert_eq!(of("gc-aware", 0b0010, &queued, 0).first.bits(), 2, "a short queue is no reason");
    }

    #[test]
    fn of_a_block_and_its_mirror_the_shorter_queue_is_taken() {
        let code = Code::new(GroupCode::regular(4, 1).expect("a mirror"), Decoder::Peel);
        let mut queued = [0; 32];
        (queued[2], queued[6]) = (3, 2);
        assert_eq!(eager(&view(&code, 0b0100, &queued, 0)).first, Elements::one(6));
        queued[6] = 4;
        assert_eq!(eager(&view(&code, 0b0100, &queued, 0)).first, Elements::one(2));
    }
}
