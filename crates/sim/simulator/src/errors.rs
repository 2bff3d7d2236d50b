//! Keys of cells' errors, of their correction, and of rewriting blocks.

use layer::{AGE_MAX, CELLS_ERR, ERRORS, Parameter, ParameterKind as Kind, Values};
use nand::{AgeingOptions, Correction, ErrorRate, FlashState};
use units::HOUR;
use units::quantity::exact_size;

const FLOOR: &str = "flash.errors.floor";
const WEAR: [&str; 2] = ["flash.errors.wear", "flash.errors.wear_power"];
const RETENTION: [&str; 3] =
    ["flash.errors.retention", "flash.errors.retention_wear_power", "flash.errors.retention_power"];
const DISTURB: [&str; 3] = ["flash.errors.disturb", "flash.errors.disturb_wear_power", "flash.errors.disturb_power"];
const WORN: &str = "flash.errors.worn";
const AGE: &str = "flash.errors.data_age";
const CODEWORD: &str = "flash.errors.codeword";
const CORRECTED: &str = "flash.errors.corrected";
const RETRIES: &str = "flash.errors.retries";
const GAIN: &str = "flash.errors.retry_gain";
const DECODE: &str = "flash.errors.decode_time";

/// The keys of it.
pub(crate) fn parameters() -> Vec<Parameter> {
    let mut parameters = vec![Parameter::new(
        ERRORS.key,
        Kind::Choice(|| ERRORS.named()),
        "none",
        "Errors that cells make as they wear, as their data ages, and as they are read. ftl.refresh.* rewrites data \
         before it is lost.",
    )];
    parameters.extend(rates().into_iter().chain(correction()).map(|parameter| parameter.only(CELLS_ERR)));
    parameters
}

/// Rates and powers: 72-layer TLC in Kim, Choi and Min, "Design Tradeoffs for SSD Reliability", FAST 2019.
fn rates() -> [Parameter; 11] {
    let number = |key, default, doc| Parameter::new(key, Kind::Number { min: 0.0, max: 10.0 }, default, doc);
    [
        number(FLOOR, "1.48e-3", "Raw bit error rate of new cells that are read at once: the share of wrong bits."),
        number(
            WEAR[0],
            "3.9e-10",
            "Factor of wear in the raw bit error rate: adds flash.errors.wear x erases ^ flash.errors.wear_power.",
        ),
        number(WEAR[1], "2.05", "Exponent of erases in the errors by wear (flash.errors.wear)."),
        number(
            RETENTION[0],
            "6.28e-5",
            "Factor of retention in the raw bit error rate: adds flash.errors.retention x erases ^ \
             flash.errors.retention_wear_power x hours ^ flash.errors.retention_power, with the hours since \
             programming.",
        ),
        number(RETENTION[1], "0.14", "Exponent of erases in the errors by retention (flash.errors.retention)."),
        number(
            RETENTION[2],
            "0.54",
            "Exponent of the hours since programming in the errors by retention (flash.errors.retention).",
        ),
        number(
            DISTURB[0],
            "3.73e-9",
            "Factor of read disturb in the raw bit error rate: adds flash.errors.disturb x erases ^ \
             flash.errors.disturb_wear_power x reads ^ flash.errors.disturb_power, with the reads of the block for \
             each of its pages.",
        ),
        number(DISTURB[1], "0.33", "Exponent of erases in the errors by read disturb (flash.errors.disturb)."),
        number(DISTURB[2], "1.71", "Exponent of reads in the errors by read disturb (flash.errors.disturb)."),
        Parameter::new(
            WORN,
            Kind::Count { min: 0, max: 1 << 24 },
            "0",
            "Erases of every block before the drive is used, for example 1500 for a drive in the middle of its life. \
             They count for flash.endurance as well.",
        )
        .example("1500")
        .circumstance(),
        Parameter::new(
            AGE,
            Kind::Duration { max: AGE_MAX },
            "0ns",
            "Age of the data on the drive when the measured run begins, for example \"90d\".",
        )
        .example("90d")
        .circumstance(),
    ]
}

/// Code and time of the decoder: Park et al., "Reducing Solid-State Drive Read Latency by Optimizing Read-Retry",
/// ASPLOS 2021. The gain of a repetition is such that data a year old in blocks erased 2,000 times takes about 20, as
/// they report.
fn correction() -> [Parameter; 5] {
    [
        Parameter::new(
            CODEWORD,
            Kind::Size { min: 128, max: 16 << 10 },
            "1KiB",
            "Bytes of a codeword: the error-correcting code corrects each codeword by itself.",
        ),
        Parameter::new(
            CORRECTED,
            Kind::Count { min: 0, max: 10_000 },
            "72",
            "Wrong bits in a codeword that the error-correcting code can correct.",
        ),
        Parameter::new(
            RETRIES,
            Kind::Count { min: 0, max: 1000 },
            "40",
            "How often a read is repeated at most with other reference voltages. After that the page is lost.",
        ),
        Parameter::new(
            GAIN,
            Kind::Number { min: 0.01, max: 0.999 },
            "0.93",
            "Factor by which each repetition of a read reduces the share of wrong bits: 0.93 leaves 93 % of them.",
        ),
        Parameter::new(
            DECODE,
            Kind::Duration { max: HOUR },
            "20us",
            "Time of the decoder for each repetition of a read, added to flash.read_time.",
        )
        .time(),
    ]
}

/// How the cells of a drive err, if they do.
pub(crate) fn options(values: &Values) -> Option<AgeingOptions> {
    ERRORS.read(values).then(|| AgeingOptions {
        rate: ErrorRate {
            floor: values.real(FLOOR),
            wear: WEAR.map(|key| values.real(key)),
            retention: RETENTION.map(|key| values.real(key)),
            disturb: DISTURB.map(|key| values.real(key)),
        },
        correction: Correction {
            codeword_bytes: values.whole(CODEWORD) as u32,
            bits: values.whole(CORRECTED) as u32,
            retries: values.whole(RETRIES) as u32,
            gain: values.real(GAIN),
            decode_ns: values.whole(DECODE),
        },
        refresh: ftl::mapping::refresh_limits(values),
        data_age_ns: values.whole(AGE),
    })
}

/// Lets the cells of fresh flash err, if they do. `page_bytes`: bytes of a physical page.
pub(crate) fn let_err(values: &Values, page_bytes: u32, seed: u64, flash: &mut FlashState) {
    if let Some(options) = options(values) {
        flash.let_err(options, page_bytes, seed);
        flash.blocks.wear_all(values.whole(WORN) as u32);
    }
}

/// Whether anybody can use such cells, in flash pages of so many bytes.
/// Errors: in words: the key, why, and how to mend it.
pub(crate) fn check(values: &Values, page_bytes: u64) -> Result<(), String> {
    let Some(options) = options(values) else { return Ok(()) };
    let codeword = u64::from(options.correction.codeword_bytes);
    if !codeword.is_power_of_two() || codeword > page_bytes {
        return Err(format!(
            "{CODEWORD} is {}; it is a power of two up to the flash page of {}; set it to \"{}\"",
            exact_size(codeword),
            exact_size(page_bytes),
            exact_size(page_bytes.min(1 << 10))
        ));
    }
    let tolerated = f64::from(options.correction.bits) / (f64::from(options.correction.codeword_bytes) * 8.0);
    let least = options.rate.floor * options.correction.gain.powi(options.correction.retries as i32);
    if least > tolerated {
        return Err(format!(
            "{FLOOR} is {}: of new cells, read {} times again ({RETRIES}), a share of {least:.1e} bits is still wrong, \
             and {CORRECTED} corrects {tolerated:.1e}; lower {FLOOR} or raise {CORRECTED}",
            options.rate.floor, options.correction.retries,
        ));
    }
    Ok(())
}
