//! Whether cells make errors as they age: a choice that mappings ask as well as the flash.

use crate::{Choices, Condition};
use units::{HOUR, Nanos};

/// Whether cells err, as `flash.errors.model` says.
pub const ERRORS: Choices<bool> = Choices {
    key: "flash.errors.model",
    table: &[
        ("none", "cells make no errors except those of flash.fault.*", false),
        (
            "powers",
            "the raw bit error rate grows as powers of erases, of the age of data and of reads; a read is repeated \
             until the page can be corrected",
            true,
        ),
    ],
};

/// Most that data ages: ten years, ns.
pub const AGE_MAX: Nanos = 3650 * 24 * HOUR;

/// A key that is read only where cells make errors.
pub const CELLS_ERR: Condition =
    Condition::one_of(ERRORS.key, |_, name| ERRORS.means(name, |errs| errs)).otherwise("cells make no errors");
