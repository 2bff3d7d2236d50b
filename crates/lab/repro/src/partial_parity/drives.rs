//! The drives of the study.

use super::TARGETS;
use crate::error::StudyError;
use crate::simulate::Bench;
use crate::study::Options;
use units::{SECTOR_BYTES, quantity};

/// A drive: a variant, and the values that the publication does not give.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DriveSetup {
    /// One of [`VARIANTS`].
    pub variant: &'static str,
    /// Entries of its parity cache.
    pub entries: u64,
    /// Bytes of its buffer.
    pub buffer: u64,
    /// Most pages of a stripe that leave the buffer together.
    pub group: u64,
    /// How an update brings a full parity up to date.
    pub update: &'static str,
}

impl DriveSetup {
    /// How it is called where its runs are told.
    pub fn name(self) -> String {
        let Self { variant, entries, buffer, group, update } = self;
        let buffer = quantity::format_size(buffer);
        format!("{variant}, {entries} entries, a buffer of {buffer}, {group} pages together, {update}")
    }
}

/// Sizes of the parity cache, entries.
pub const SIZES: [u64; 4] = [64, 256, 1024, 4096];
/// Data chips of a stripe.
pub const DATA: u64 = 4;
/// Bytes of a page.
pub const PAGE_BYTES: u64 = 4096;
/// Most pages of a stripe that leave the buffer together.
pub const GROUPS: [u64; 3] = [1, 2, DATA];
/// How an update brings a full parity up to date, as printed first.
pub const UPDATES: [&str; 2] = ["read-modify-write", "least"];
/// Sizes of the buffer that gathers the pages of a stripe, bytes.
pub const BUFFERS: [u64; 4] = [0, 64 << 10, 256 << 10, 1 << 20];
/// User pages at full size.
const USER_PAGES: u64 = (32 << 30) / PAGE_BYTES;
/// A cache holds at most one in this number of the stripes, so that a small drive has room for the old versions.
const LEAST_STRIPES: u64 = 16;

// Drives by their names in the study's file, which has their settings.

/// The drive all others are compared with: one chip more holds data.
pub const RAID0: &str = "RAID-0";
/// The same with as many chips as there are data chips.
pub const RAID0_DATA: &str = "RAID-0, 4 chips";
/// The same as the first, but what others need for parity is spare.
pub const RAID0_SPARE: &str = "RAID-0, more spare";
/// Native RAID-5: no parity cache.
pub const NO_PC: &str = "no-PC";
/// The full parity cache as published: it reads as much as without.
pub const FPC: &str = "FPC";
/// The same, but what memory holds is not read.
pub const FPC_CACHED: &str = "FPC, cached reads";
/// The studied scheme.
pub const PPC: &str = "PPC";
/// The same, but collection moves old versions.
pub const PPC_COPY: &str = "PPC, old versions move";
/// Native RAID-5 whose chips take a block in turn.
pub const NO_PC_BLOCK: &str = "no-PC, by block";
/// The studied scheme whose chips take a block in turn.
pub const PPC_BLOCK: &str = "PPC, by block";
/// Parities written when the host is idle.
pub const FRA: &str = "FRA";
/// Two parities a stripe, without a cache of parities.
pub const RAID6: &str = "RAID-6";
/// Two parities in a partial parity cache.
pub const PPC6: &str = "RAID-6 with PPC";
/// Parities of the pages that are written together.
pub const ELASTIC: &str = "elastic stripes";
/// All drives that are run.
pub const VARIANTS: [&str; 14] = [
    RAID0,
    RAID0_DATA,
    RAID0_SPARE,
    NO_PC,
    FPC,
    FPC_CACHED,
    PPC,
    PPC_COPY,
    NO_PC_BLOCK,
    PPC_BLOCK,
    FRA,
    RAID6,
    PPC6,
    ELASTIC,
];

/// Pages the user sees of the drives with parity, of whole stripes.
fn user_pages(options: &Options) -> u64 {
    options.scale.of(USER_PAGES).next_multiple_of(DATA)
}

/// Sectors that requests go to: as many on every drive.
pub fn sectors(options: &Options) -> u64 {
    user_pages(options) * PAGE_BYTES / SECTOR_BYTES
}

/// A variant with the cache, the buffer and the updates of record.
pub fn of_record(options: &Options, variant: &'static str) -> DriveSetup {
    let update = options.drawn_text("stripe.update").unwrap_or_else(|| TARGETS.chosen(options, "update"));
    let group = TARGETS.chosen_number(options, "group");
    DriveSetup {
        variant,
        entries: TARGETS.chosen_number(options, "entries"),
        buffer: quantity::parse_size(TARGETS.chosen(options, "buffer")).expect("the choices are sizes"),
        group: options.drawn("stripe.buffer_group", group) as u64,
        update: UPDATES.into_iter().find(|known| *known == update).expect("all choices are known"),
    }
}

/// A drive to be run.
/// Errors: the scale leaves too little flash.
pub fn bench(options: &Options, setup: DriveSetup) -> Result<Bench, StudyError> {
    let pages = user_pages(options);
    let shown = if setup.variant == RAID0 { pages / DATA * (DATA + 1) } else { pages };
    let entries = setup.entries.min(pages / DATA / LEAST_STRIPES).max(1);
    // RAID-0 has stripes of five pages as well, which two do not divide: it sends them one by one or all together.
    let has_parity = ![RAID0, RAID0_DATA, RAID0_SPARE].contains(&setup.variant);
    let group = if has_parity || setup.group == 1 { setup.group } else { 0 };
    let further = [
        ("drive.capacity", format!("{}B", shown * PAGE_BYTES)),
        ("stripe.buffer_size", format!("{}B", setup.buffer)),
        ("stripe.cache.entries", entries.to_string()),
        ("stripe.update", setup.update.to_owned()),
        ("stripe.buffer_group", group.to_string()),
    ];
    // What is drawn of these two is in the setup, where drives without parity send whole stripes.
    let is_other = |(key, _): &(&str, String)| !["stripe.update", "stripe.buffer_group"].contains(key);
    let further = further.into_iter().chain(options.drawn_settings().filter(is_other));
    TARGETS.bench(options, &setup.name(), &["every drive", setup.variant], further)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::Scale;

    #[test]
    fn drives_that_are_compared_have_the_same_flash() {
        let options = Options::default();
        let setup = |variant| DriveSetup { buffer: 0, ..of_record(&options, variant) };
        let pages = |variant| bench(&options, setup(variant)).unwrap().flash_pages();
        assert_eq!(pages(RAID0), pages(NO_PC));
        assert_eq!(pages(RAID0_SPARE), pages(NO_PC));
        assert_eq!(pages(NO_PC), pages(PPC));
        assert_eq!(pages(NO_PC), pages(ELASTIC));
        assert_eq!(pages(RAID0_DATA) * (DATA + 1), pages(NO_PC) * DATA);
        let sees = |variant| bench(&options, setup(variant)).unwrap().sectors();
        assert_eq!(sees(NO_PC), sectors(&options));
        assert_eq!(sees(RAID0), sectors(&options) / DATA * (DATA + 1));
    }

    #[test]
    fn every_drive_can_be_built_at_every_size() {
        for scale in ["1", "1/4", "1/64", "1/128"] {
            let options = Options { scale: Scale::parse(scale).unwrap(), ..Options::default() };
            for (variant, entries) in VARIANTS.into_iter().flat_map(|variant| SIZES.map(|entries| (variant, entries))) {
                let setup = DriveSetup { entries, ..of_record(&options, variant) };
                bench(&options, setup).unwrap_or_else(|error| panic!("{scale}: {error}"));
            }
        }
    }
}
