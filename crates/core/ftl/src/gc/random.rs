//! Random: any closed block (the d = 1 case of d-choices; WAF 1 / (1 - ρ) under uniform writes).

use super::{VictimEntry, VictimPolicy, VictimView};
use engine::random::Stream;

pub(super) const ENTRY: VictimEntry = VictimEntry {
    name: "random",
    doc: "any closed block",
    when: "Use it as the worst case of a comparison: it needs no bookkeeping at all. Every other policy has a far \
           lower write amplification under uniform writes.",
    parameters: &[],
    build: |_| Box::new(Random),
};

struct Random;

/// A random candidate; gives up guessing on planes that are almost all open or free and counts.
pub(super) fn random_candidate(view: &VictimView<'_>, stream: &mut Stream) -> Option<usize> {
    for _ in 0..32 {
        let block = stream.below(view.len() as u64) as usize;
        if view.valid(block).is_some() {
            return Some(block);
        }
    }
    let count = view.candidates().count() as u64;
    if count == 0 {
        return None;
    }
    view.candidates().nth(stream.below(count) as usize).map(|(block, _)| block)
}

impl VictimPolicy for Random {
    fn pick(&mut self, view: &VictimView<'_>, stream: &mut Stream) -> Option<usize> {
        random_candidate(view, stream)
    }
}
