//! Elastic stripes, which are no line of the table of mappings, promise what mappings do.

use crate::drawn::number;
use ftl::mapping::elastic::{self, Chips};
use ftl::mapping::{self, FtlContext};
use layer::Values;
use layer::testing::{Host, Recipe, TestFlash, cases, flash_of, steps};
use nand::{CountedFlash, FlashState, TimedFlash};
use proptest::prelude::*;
use units::{Geometry, Shape};

const CHIPS: Chips = Chips { data: 4, spares: 0 };

/// Pages of the host: half of what four dies hold beside the parities and what collection needs.
const PAGES: u32 = 48;

fn host<F: TestFlash>(victim: &str) -> Host<F> {
    let shape = Shape {
        channels: CHIPS.data + 1,
        dies_per_channel: 1,
        planes_per_die: 1,
        blocks_per_die: elastic::RESERVE + 6,
        pages_per_block: 4,
        page_bytes: 1024,
    };
    let geometry = Geometry::new(shape).expect("a valid shape");
    let mut values = Values::default();
    for parameter in mapping::parameters() {
        let text = if parameter.key == "ftl.gc.victim" { Some(victim) } else { parameter.default };
        if let Some(text) = text {
            values.set(parameter.key, parameter.parse(text).expect("a valid value"));
        }
    }
    values.set("flash.pages_per_block", number(4));
    let of_recover = values.clone();
    let recipe = Recipe {
        build: Box::new(move |flash: &F| elastic::build(&context(geometry, &values), CHIPS, flash)),
        recover: Box::new(move |image: &FlashState| {
            elastic::recover(&context(geometry, &of_recover), CHIPS, image).expect("it has contents")
        }),
    };
    Host::new(flash_of::<F>(geometry), PAGES, true, recipe)
}

fn context(geometry: Geometry, values: &Values) -> FtlContext<'_> {
    FtlContext { geometry, user_pages: PAGES, owner: 0, seed: 1, values, stripes: None }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn a_read_returns_the_last_write(
        victim in prop::sample::select(vec!["greedy", "cost-benefit", "fifo", "random"]),
        steps in steps(PAGES, 150),
    ) {
        host::<CountedFlash>(victim).live(&steps);
        host::<TimedFlash>(victim).live(&steps);
    }
}
