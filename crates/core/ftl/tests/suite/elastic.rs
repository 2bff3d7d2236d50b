//! Elastic stripes, which are no line of the table of mappings, promise what mappings do.

use ftl::mapping::elastic::{self, Chips};
use ftl::mapping::{self, FtlContext};
use layer::{PageLayer, Values};
use nand::{CountedFlash, FlashState, TimedFlash};
use proptest::prelude::*;
use testing::{Host, Plan, TestFlash, cases, flash_of, steps};
use units::{Geometry, Shape};

const CHIPS: Chips = Chips { data: 4, spares: 0 };

/// Pages of the host: half of what four dies hold beside the parities and what collection needs.
const PAGES: u32 = 48;

struct Elastic {
    geometry: Geometry,
    values: Values,
}

impl Elastic {
    fn new(victim: &str) -> Self {
        let shape = Shape {
            channels: CHIPS.data + 1,
            dies_per_channel: 1,
            planes_per_die: 1,
            blocks_per_die: elastic::RESERVE + 6,
            pages_per_block: 4,
            page_bytes: 1024,
        };
        let values = testing::values(mapping::parameters(), &[("ftl.gc.victim", victim)]);
        Self { geometry: Geometry::new(shape).expect("a valid shape"), values }
    }

    /// A program writes two pages, which memory takes until it is full.
    fn of_two_pages(victim: &str) -> Self {
        let elastic = Self::new(victim);
        Self { geometry: elastic.geometry.programmed_by(2).expect("two pages divide a block"), ..elastic }
    }

    fn host<F: TestFlash>(self) -> Host<F> {
        Host::new(flash_of(self.geometry), PAGES, true, self)
    }

    fn context(&self) -> FtlContext<'_> {
        let Self { geometry, ref values } = *self;
        FtlContext { geometry, user_pages: PAGES, owner: 0, seed: 1, values, stripes: None, group_pages: 1 }
    }
}

impl<F: TestFlash> Plan<F> for Elastic {
    fn build(&self, flash: &F) -> Box<dyn PageLayer<F>> {
        elastic::build(&self.context(), CHIPS, flash)
    }

    fn recover(&self, image: &FlashState) -> Box<dyn PageLayer<F>> {
        elastic::recover(&self.context(), CHIPS, image).expect("it has contents")
    }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn a_read_returns_the_last_write(
        victim in prop::sample::select(vec!["greedy", "cost-benefit", "fifo", "random"]),
        steps in steps(PAGES, 150),
    ) {
        Elastic::new(victim).host::<CountedFlash>().live(&steps);
        Elastic::new(victim).host::<TimedFlash>().live(&steps);
    }

    /// A write waited for ever where the memory for programs took its page at once: nobody told the layer of the end.
    #[test]
    fn a_write_ends_though_memory_for_programs_takes_its_page_at_once(
        victim in prop::sample::select(vec!["greedy", "cost-benefit", "fifo", "random"]),
        steps in steps(PAGES, 150),
    ) {
        Elastic::of_two_pages(victim).host::<TimedFlash>().live(&steps);
    }
}
