//! Whether time passes in a drive, and how requests share it: choices that layers and drivers ask as well as the drive.

use crate::{Choices, Condition};

/// Whether commands take time.
pub const TIME: Choices<bool> = Choices {
    key: "engine.time",
    table: &[
        ("none", "commands complete at once, and are only counted", false),
        ("virtual", "discrete events in integer nanoseconds", true),
    ],
};
/// How requests share the drive: whether one at a time holds all of it.
pub const SERVICE: Choices<bool> = Choices {
    key: "engine.service",
    table: &[
        ("parallel", "dies and channels work side by side", false),
        (
            "serial",
            "the drive is a single server that takes one request at a time, in order of arrival. A request holds the \
             server for the sum of the times of all flash commands that it causes, collection and mapping included: \
             response = waiting for the server + service. A host link takes no time, and idle time starts no work",
            true,
        ),
    ],
};

/// A key that is read only where commands take time.
pub const IN_TIME: Condition =
    Condition::one_of(TIME.key, |_, name| TIME.means(name, |timed| timed)).otherwise("no time passes");
/// A key that is read only where dies and channels work side by side.
pub const SIDE_BY_SIDE: Condition = Condition::one_of(SERVICE.key, |_, name| SERVICE.means(name, |serial| !serial))
    .otherwise("one server does everything in order");
