//! Cost-benefit: the block with the largest age · (1 − u) / 2u (Kawaguchi, Nishioka and Motoda,
//! 1995). Old blocks are collected earlier than their valid count alone would say, which helps when
//! hot and cold data mix. Age is counted in blocks closed since. One scan a call.

use super::{VictimEntry, VictimPolicy, VictimView};
use engine::random::Stream;

pub(super) const ENTRY: VictimEntry = VictimEntry {
    name: "cost-benefit",
    doc: "the block with the largest age x (1 - u) / 2u",
    when: "Use it when hot and cold data mix: it takes cold blocks earlier, copies less than greedy, and wears \
           blocks more evenly. Under uniform writes it gains nothing.",
    parameters: &[],
    build: |_| Box::new(CostBenefit),
};

struct CostBenefit;

impl VictimPolicy for CostBenefit {
    fn pick(&mut self, view: &VictimView<'_>, _: &mut Stream) -> Option<usize> {
        // Compared as exact fractions age · invalid / (2 · valid), so no rounding decides.
        let score = |(block, valid): (usize, u32)| {
            let age = u128::from(view.closings - view.closed_at[block]).max(1);
            (age * u128::from(view.pages_per_block.saturating_sub(valid)), u128::from(valid))
        };
        let better = |a: &(usize, u32), b: &(usize, u32)| {
            let ((gain_a, cost_a), (gain_b, cost_b)) = (score(*a), score(*b));
            // An empty block costs nothing and beats all others.
            (cost_a == 0).cmp(&(cost_b == 0)).then((gain_a * cost_b).cmp(&(gain_b * cost_a)))
        };
        view.candidates().max_by(|a, b| better(a, b).then(b.0.cmp(&a.0))).map(|(block, _)| block)
    }

    fn scales(&self, superblocks: bool) -> bool {
        !superblocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc::testing::pick;

    #[test]
    fn age_and_emptiness_both_count() {
        // 64 pages: (100-90)·34/30 = 11.3, (100-10)·4/60 = 6, (100-50)·24/40 = 30.
        assert_eq!(pick(&mut CostBenefit, &[Some(30), Some(60), Some(40)], &[90, 10, 50]), Some(2));
        assert_eq!(pick(&mut CostBenefit, &[Some(30), Some(0), Some(40)], &[9, 99, 50]), Some(1));
    }
}
