//! Keys that say what fails.

use layer::{Condition, Parameter, ParameterKind as Kind};

const DIES_FAIL: Condition =
    Condition::either_set("flash.fault.dies", "flash.fault.channels").otherwise("no die is to fail");

/// Keys of commands, blocks and dies that fail.
pub(super) const FAULTS: &[Parameter] = &[
    Parameter::new(
        "flash.fault.program",
        Kind::Share { max: 1.0 },
        "0%",
        "Chance that a program fails, for example 0.01%. The FTL gives up the block and writes the page elsewhere.",
    )
    .example("0.01%")
    .circumstance(),
    Parameter::new(
        "flash.fault.erase",
        Kind::Share { max: 1.0 },
        "0%",
        "Chance that an erase fails, for example 0.01%. The FTL gives up the block.",
    )
    .example("0.01%")
    .circumstance(),
    Parameter::new(
        "flash.fault.read",
        Kind::Share { max: 1.0 },
        "0%",
        "Chance that a programmed page turns out uncorrectable, for example 0.001%. Needs engine.contents = stamp.",
    )
    .example("0.001%")
    .circumstance(),
    Parameter::optional(
        "flash.fault.dies",
        Kind::Text,
        "Dies that fail for good during the measured run: their numbers, separated by commas, for example \"3\" or \
         \"0,5\" (die 1 is behind channel 1 where there are several channels). Where dies work in lockstep (ftl.kind \
         = superpage), a die that fails takes its whole group with it.",
    )
    .example("0,5")
    .circumstance(),
    Parameter::optional(
        "flash.fault.channels",
        Kind::Text,
        "Channels that fail for good, with all their dies: their numbers, separated by commas, for example \"0\" or \
         \"1,2\".",
    )
    .example("1")
    .circumstance(),
    Parameter::new(
        "flash.fault.dies_after",
        Kind::Count { min: 0, max: u64::MAX },
        "0",
        "Requests of the measured run before the dies of flash.fault.dies and flash.fault.channels fail.",
    )
    .example("10000")
    .circumstance()
    .only(DIES_FAIL),
    Parameter::new(
        "flash.fault.factory_bad",
        Kind::Share { max: 0.5 },
        "0%",
        "Share of blocks that are bad from the start, for example 1%. engine.seed decides which blocks are bad.",
    )
    .example("1%")
    .circumstance(),
];
