//! Which blocks a read asks for when code blocks could stand in for data.
//!
//! A policy is a line in [`READ_POLICIES`] and a function that gets a view of one group of one row.

use erasure::Known;
use nand::Backlog;
use units::members;

/// What is known of a group when a read of some of its data blocks arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    /// The code and its decoder.
    pub known: &'a Known,
    /// Data blocks to be known.
    pub wanted: u32,
    /// Those in a read-ahead buffer already.
    pub have: u32,
    /// Code blocks that agree with their sources.
    pub valid: u32,
    /// By element: what is in the way on its bank, in commands or in time, ns.
    pub queued: &'a [u64; 32],
    /// Elements whose bank is cleaning.
    pub cleaning: u32,
}

/// What is asked for at once, and what more when all of that has been queued, for all groups of the read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub first: u32,
    pub more: u32,
}

/// What a policy is told of the queues of banks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Looks {
    /// Nothing.
    Nowhere,
    /// How many commands are in them.
    Commands,
    /// How long those commands take.
    Time,
}

/// A line of the table.
pub(crate) struct ReadPolicy {
    pub name: &'static str,
    pub doc: &'static str,
    /// What it wants to know of the queues.
    pub looks: Looks,
    pub choose: fn(&View<'_>) -> Choice,
}

impl std::fmt::Debug for ReadPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Name of the policy that asks for no code block: what all do where there is none.
pub(crate) const DIRECT: &str = "direct";

/// Every policy.
pub(crate) const READ_POLICIES: &[ReadPolicy] = &[
    ReadPolicy {
        name: DIRECT,
        doc: "the data blocks themselves",
        looks: Looks::Nowhere,
        choose: |view| Choice { first: view.wanted, more: 0 },
    },
    ReadPolicy {
        name: "lazy",
        doc: "all data blocks and all code blocks that can help; whoever is late is taken back",
        looks: Looks::Nowhere,
        choose: lazy,
    },
    ReadPolicy {
        name: "eager",
        doc: "on arrival, a set that decodes on the banks with the shortest queues, in commands",
        looks: Looks::Commands,
        choose: eager,
    },
    ReadPolicy {
        name: "eager-by-time",
        doc: "on arrival, a set that decodes on the banks whose queues take the least time",
        looks: Looks::Time,
        choose: eager,
    },
    ReadPolicy {
        name: "gc-aware",
        doc: "the data blocks, but around banks that are cleaning, or whose queue is longer than the detour",
        looks: Looks::Commands,
        choose: gc_aware,
    },
];

impl View<'_> {
    /// Code blocks made of nothing but wanted and buffered blocks.
    fn usable(&self) -> u32 {
        self.valid & self.known.code().codes_within(self.wanted | self.have)
    }

    /// Elements from `among` until the wanted ones are known, and none too many: the least queued first, of equals data
    /// blocks before code blocks, and within each kind in the order of banks. What is too many goes in the opposite
    /// order.
    fn cheapest(&self, among: u32) -> Option<u32> {
        let mut order = [0; 32];
        let mut count = 0;
        for element in members(among) {
            order[count] = element;
            count += 1;
        }
        let order = &mut order[..count];
        order.sort_unstable_by_key(|element| (self.queued[*element as usize], *element));
        let mut chosen = 0;
        for element in &*order {
            if self.known.decodes(self.have | chosen, self.wanted) {
                break;
            }
            if self.known.from(self.have | chosen) >> element & 1 == 0 {
                chosen |= 1 << element;
            }
        }
        if !self.known.decodes(self.have | chosen, self.wanted) {
            return None;
        }
        for element in order.iter().rev() {
            let without = chosen & !(1 << element);
            if self.known.decodes(self.have | without, self.wanted) {
                chosen = without;
            }
        }
        Some(chosen)
    }

    fn longest(&self, elements: u32) -> u64 {
        (0..32_u32)
            .filter(|element| elements >> element & 1 == 1)
            .map(|element| self.queued[element as usize])
            .max()
            .unwrap_or(0)
    }
}

fn lazy(view: &View<'_>) -> Choice {
    Choice { first: view.wanted, more: view.usable() }
}

fn eager(view: &View<'_>) -> Choice {
    let chosen = view.cheapest(view.wanted | view.usable());
    Choice { first: chosen.unwrap_or(view.wanted), more: 0 }
}

fn gc_aware(view: &View<'_>) -> Choice {
    let direct = Choice { first: view.wanted, more: 0 };
    let code = view.known.code();
    let all = code.all_data() & !view.have | view.valid;
    // A detour reads at least one block more: it pays only where the way is longer than that.
    let Some(detour) = view.cheapest(all & !view.cleaning) else { return direct };
    let backlog = |elements: u32| Backlog {
        commands: view.longest(elements) as u32,
        cleaning: (elements & view.cleaning).count_ones(),
    };
    if layer::goes_around(backlog(view.wanted), backlog(detour)) { Choice { first: detour, more: 0 } } else { direct }
}

#[cfg(test)]
mod tests {
    use super::*;
    use erasure::{Decoder, GroupCode};

    fn view<'a>(known: &'a Known, wanted: u32, queued: &'a [u64; 32], cleaning: u32) -> View<'a> {
        View { known, wanted, have: 0, valid: 0xf0, queued, cleaning }
    }

    #[test]
    fn each_policy_asks_for_what_its_name_says() {
        let known = Known::new(GroupCode::regular(4, 2).expect("a regular code"), Decoder::Peel);
        let mut queued = [0; 32];
        queued[1] = 9;
        let of = |name: &str, wanted, queued: &[u64; 32], cleaning| {
            let policy = READ_POLICIES.iter().find(|policy| policy.name == name).expect("it is in the table");
            (policy.choose)(&view(&known, wanted, queued, cleaning))
        };
        assert_eq!(of("direct", 0b1111, &queued, 2), Choice { first: 0b1111, more: 0 });
        assert_eq!(of("lazy", 0b1111, &queued, 2), Choice { first: 0b1111, more: 0xf0 });
        assert_eq!(
            of("lazy", 0b0011, &queued, 2),
            Choice { first: 0b0011, more: 0x10 },
            "only the code block of nothing else"
        );
        let Choice { first, more } = of("eager", 0b1111, &queued, 0);
        assert!(first & 2 == 0 && more == 0 && first.count_ones() == 4 && known.decodes(first, 15));
        assert_eq!(of("eager", 0b0001, &queued, 0).first, 1, "one block alone has no code block to help");
        let detour = of("gc-aware", 0b0010, &queued, 2).first;
        assert!(detour & 2 == 0 && detour.count_ones() == 2 && known.decodes(detour, 2), "around a cleaning bank");
        assert_eq!(of("gc-aware", 0b0001, &queued, 0).first, 1, "nothing is in the way");
        assert!(of("gc-aware", 0b0010, &queued, 0).first & 2 == 0, "around a long queue");
        queued[1] = 1;
        assert_eq!(of("gc-aware", 0b0010, &queued, 0).first, 2, "a short queue is no reason");
    }

    #[test]
    fn of_a_block_and_its_mirror_the_shorter_queue_is_taken() {
        let known = Known::new(GroupCode::regular(4, 1).expect("a mirror"), Decoder::Peel);
        let mut queued = [0; 32];
        (queued[2], queued[6]) = (3, 2);
        assert_eq!(eager(&view(&known, 0b0100, &queued, 0)).first, 1 << 6);
        queued[6] = 4;
        assert_eq!(eager(&view(&known, 0b0100, &queued, 0)).first, 1 << 2);
    }
}
