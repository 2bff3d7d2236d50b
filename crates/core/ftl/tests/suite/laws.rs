//! What every mapping promises: a read returns the last write, whatever is collected, fails, or loses power.

use crate::drawn::Drawn;
use ftl::mapping::mappings;
use nand::{CountedFlash, FaultPlan, TimedFlash};
use proptest::prelude::*;
use testing::{cases, steps};

/// More pages than any drive drawn has; those beyond its end are cut to what there is.
const PAGES: u32 = 97;

/// Steps of a life, at most: enough to fill a drive several times.
const STEPS: usize = 150;

proptest! {
    #![proptest_config(cases(250))]

    #[test]
    fn a_read_returns_the_last_write_on_flash_that_takes_no_time(seed in any::<u64>(), steps in steps(PAGES, STEPS)) {
        for mapping in mappings() {
            let drawn = Drawn::with_cells(&mapping, seed, 0);
            println!("{drawn:?}");
            drawn.host::<CountedFlash>(None).live(&steps);
        }
    }

    #[test]
    fn a_read_returns_the_last_write_while_commands_queue(seed in any::<u64>(), steps in steps(PAGES, STEPS)) {
        for mapping in mappings() {
            let drawn = Drawn::with_cells(&mapping, seed, 0);
            println!("{drawn:?}");
            drawn.host::<TimedFlash>(None).live(&steps);
        }
    }

    #[test]
    fn a_read_returns_the_last_write_although_programs_and_erases_fail(
        seed in any::<u64>(),
        steps in steps(PAGES, STEPS),
    ) {
        let faults = FaultPlan { program: 0.005, erase: 0.005, ..FaultPlan::default() };
        for mapping in mappings() {
            let drawn = Drawn::with_cells(&mapping, seed, 3);
            println!("{drawn:?}");
            drawn.host::<CountedFlash>(Some(faults.clone())).live(&steps);
            drawn.host::<TimedFlash>(Some(faults.clone())).live(&steps);
        }
    }
}
