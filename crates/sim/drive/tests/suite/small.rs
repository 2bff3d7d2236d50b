//! Small drives, for all tests.

use drive::{Drive, DriveError};
use simulator::{Config, Setting};
use std::path::Path;

const SMALL: [&str; 5] = [
    "drive.capacity=2MiB",
    "flash.channels=2",
    "flash.dies_per_channel=1",
    "flash.pages_per_block=16",
    "drive.over_provisioning=60%",
];

pub const BUFFER: [&str; 2] = ["buffer.kind=page-lru", "buffer.size=64KiB"];
/// Spare space for stacks that need much of it.
pub const ROOM: &str = "drive.over_provisioning=200%";
/// A word line is programmed at once, from memory that forgets.
pub const FORGETFUL: [&str; 4] =
    ["flash.word_line_pages=3", "flash.pages_per_block=12", "flash.program_memory_protected=false", ROOM];
/// Units of a quarter of a page, and word lines.
pub const UNITS: [&str; 5] =
    ["flash.page_size=16KiB", "ftl.unit=4KiB", "flash.word_line_pages=3", "flash.pages_per_block=12", ROOM];
/// Zones, of which one is coded.
pub const ZONES: [&str; 6] = [
    "stripe.kind=coded",
    "coded.size=512KiB",
    "coded.group=2",
    "flash.channels=4",
    "coded.code_zones=1",
    "coded.spare_blocks=3",
];

/// Its settings, with some that differ.
pub fn settings<'a>(different: &[&'a str]) -> Vec<&'a str> {
    [&SMALL[..], different].concat()
}

/// A drive that is kept in a file.
pub fn open(path: &Path, different: &[&str]) -> Result<Drive, DriveError> {
    let settings: Vec<_> = settings(different).iter().map(|text| Setting::from_argument(text).unwrap()).collect();
    Drive::in_file(Config::load("page", &[settings, Drive::own_settings()].concat()).unwrap(), path)
}

/// A drive in memory.
pub fn small(different: &[&str]) -> Drive {
    Drive::new("page", &settings(different)).unwrap_or_else(|error| panic!("{different:?}: {error}"))
}
