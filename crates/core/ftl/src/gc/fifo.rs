//! FIFO: the block that was closed first (Desnoyers 2012 calls it LRU cleaning). Wears all blocks
//! alike; copies cold data again and again. One scan a call.

use super::{VictimEntry, VictimPolicy, VictimView};
use engine::random::Stream;

pub(super) const ENTRY: VictimEntry = VictimEntry {
    name: "fifo",
    doc: "the block that was closed first",
    when: "Use it for the simplest controller and for even wear. It copies cold data again and again, so skewed \
           writes cost more than with any choice by valid pages.",
    parameters: &[],
    build: |_| Box::new(Fifo),
};

struct Fifo;

impl VictimPolicy for Fifo {
    fn pick(&mut self, view: &VictimView<'_>, _: &mut Stream) -> Option<usize> {
        let oldest = view.candidates().min_by_key(|(block, _)| view.closed_at[*block]);
        oldest.map(|(block, _)| block)
    }

    fn scales(&self, _: bool) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc::testing::pick;

    #[test]
    fn oldest_wins_whatever_it_holds() {
        assert_eq!(pick(&mut Fifo, &[Some(9), Some(3), None], &[4, 7, 1]), Some(0));
    }
}
