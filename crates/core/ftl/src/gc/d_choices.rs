//! d-choices: the least valid of d random blocks (Van Houdt 2013). d = 1 is random, d = 10 is
//! almost greedy, at a cost that does not grow with the drive.

use super::random::random_candidate;
use super::{VictimEntry, VictimPolicy, VictimView};
use engine::random::Stream;
use layer::{Parameter, ParameterKind};

pub(super) const ENTRY: VictimEntry = VictimEntry {
    name: "d-choices",
    doc: "the block with the fewest valid pages among d random ones",
    when: "Use it to model a controller that cannot keep all blocks in order. With ten choices it copies a little \
           more than greedy under uniform writes, and less under skewed ones.",
    parameters: &[Parameter::new(
        "ftl.gc.choices",
        ParameterKind::Count { min: 1, max: 1000 },
        "10",
        "Blocks drawn at random for each victim by the victim policy d-choices. More choices come closer to greedy.",
    )
    .example("3")],
    build: |values| Box::new(DChoices { choices: values.whole("ftl.gc.choices") }),
};

struct DChoices {
    choices: u64,
}

impl VictimPolicy for DChoices {
    fn pick(&mut self, view: &VictimView<'_>, stream: &mut Stream) -> Option<usize> {
        let draws = (0..self.choices).filter_map(|_| random_candidate(view, stream));
        draws.min_by_key(|block| view.valid(*block))
    }

    fn scales(&self, superblocks: bool) -> bool {
        !superblocks
    }
}
