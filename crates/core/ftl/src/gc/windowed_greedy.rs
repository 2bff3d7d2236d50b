//! Windowed greedy: greedy among the s blocks closed longest ago (Hu et al. 2009). Between FIFO
//! (s = 1) and greedy (s = all); one selection over the plane's blocks a call.

use super::{VictimEntry, VictimPolicy, VictimView};
use engine::random::Stream;
use layer::{Parameter, ParameterKind};

pub(super) const ENTRY: VictimEntry = VictimEntry {
    name: "windowed-greedy",
    doc: "the block with the fewest valid pages among the s oldest",
    when: "Use it to limit how unevenly blocks wear. A window that is small beside the blocks of a plane copies as \
           much as fifo, and a large one equals greedy.",
    parameters: &[Parameter::new(
        "ftl.gc.window_blocks",
        ParameterKind::Count { min: 1, max: 1_000_000 },
        "64",
        "Oldest closed blocks of a plane from which the victim policy windowed-greedy chooses. A smaller window is \
         closer to fifo, a larger one to greedy.",
    )
    .example("256")],
    build: |values| {
        Box::new(WindowedGreedy { window: values.whole("ftl.gc.window_blocks") as usize, oldest: Vec::new() })
    },
};

struct WindowedGreedy {
    window: usize,
    /// (closing number, block), kept to use its memory again.
    oldest: Vec<(u32, usize)>,
}

impl VictimPolicy for WindowedGreedy {
    fn pick(&mut self, view: &VictimView<'_>, _: &mut Stream) -> Option<usize> {
        self.oldest.clear();
        self.oldest.extend(view.candidates().map(|(block, _)| (view.closed_at[block], block)));
        if self.oldest.len() > self.window {
            self.oldest.select_nth_unstable(self.window - 1);
            self.oldest.truncate(self.window);
        }
        self.oldest.iter().min_by_key(|(closed, block)| (view.valid(*block), *closed)).map(|(_, block)| *block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc::testing::pick;

    #[test]
    fn chooses_only_inside_the_window() {
        let mut policy = WindowedGreedy { window: 2, oldest: Vec::new() };
        assert_eq!(pick(&mut policy, &[Some(1), Some(8), Some(9), Some(0)], &[9, 2, 1, 8]), Some(1));
    }
}
