//! The drives of the study.

use super::TARGETS;
use crate::error::StudyError;
use crate::simulate::Bench;
use crate::study::Options;
use units::quantity;

/// Bytes of a KiB.
pub const KIB: u64 = 1024;
/// Bytes of a drive at full size.
const CAPACITY: u64 = 4 << 30;
/// Bytes of the file at full size.
const FILE: u64 = 1 << 30;
/// The smallest drive that is left by a scale, bytes.
const LEAST: u64 = 32 << 20;
/// Bytes of a drive for each of its map cache, where it has one: a 32nd of the map of pages.
const CACHED: u64 = 32 << 10;
/// Share of the drive that the driver holds back in the rows, %.
pub const HELD: u64 = 10;
/// Spare flash of the drive in the rows, %.
pub const SPARE: u64 = 29;
/// Spare flash of a drive of the consumer class, %.
pub const LITTLE_SPARE: u64 = 10;
/// Shares that are run for the steady state, %.
pub const SHARES: [u64; 4] = [5, HELD, 20, 30];
/// Chips on each of the four channels: the drive of the rows, and the drive of figure 14.1.
pub const WAYS: [u64; 2] = [1, 2];

// Drives by their names in the study's file, which has their settings.

/// A map of superpages alone.
pub const PLAIN: &str = "superpages";
/// The same behind the driver.
pub const HARD: &str = "HARD";
/// The same behind the driver, which answers writes from memory.
pub const VOLATILE: &str = "HARD, volatile";
/// Behind a log cache, which answers writes from memory as well.
pub const LOG_CACHE: &str = "log cache";
/// A map of pages of 4 KiB.
pub const PAGES: &str = "page map";
/// The same on flash, a part of it cached.
pub const DEMAND: &str = "DFTL";
/// The same with a host that logs small writes and has them remapped.
pub const SHRD: &str = "SHRD";

/// Bytes of a drive.
pub fn capacity(options: &Options) -> u64 {
    options.scale.of(CAPACITY).max(LEAST)
}

/// Sectors of the file.
pub fn file(options: &Options) -> u64 {
    capacity(options) / (CAPACITY / FILE) / units::SECTOR_BYTES
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shape {
    pub kind: &'static str,
    /// Chips on each channel.
    pub ways: u64,
    /// Per cent of it that a driver holds back, or has its log in.
    pub held: u64,
    /// Per cent of flash beyond what the drive shows.
    pub spare: u64,
}

impl Shape {
    /// One of the rows.
    pub const fn of(kind: &'static str, ways: u64) -> Self {
        Self { kind, ways, held: HELD, spare: SPARE }
    }

    /// Its name in messages.
    pub fn name(self) -> String {
        let Self { kind, ways, held, spare } = self;
        format!("{kind}, {ways} ways, {held} % held back, {spare} % spare")
    }
}

/// A drive of this shape.
/// Errors: the scale leaves too little flash.
pub fn bench(options: &Options, shape: Shape) -> Result<Bench, StudyError> {
    let Shape { kind, ways, held, spare } = shape;
    let further = [
        ("drive.capacity", quantity::exact_size(capacity(options))),
        ("drive.over_provisioning", format!("{spare}%")),
        ("flash.part", TARGETS.chosen(options, "part").to_owned()),
        ("flash.dies_per_channel", ways.to_string()),
        ("ftl.map_cache", quantity::exact_size(capacity(options) / CACHED)),
        ("remap.log", format!("{held}%")),
        ("remap.hold_back", format!("{held}%")),
    ];
    TARGETS.bench(options, &shape.name(), &["every drive", kind], further)
}
