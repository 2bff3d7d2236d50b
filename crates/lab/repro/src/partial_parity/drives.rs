//! The drives of the study.

use super::{BUFFER, DEPTH, ENTRIES, GROUP, UPDATE};
use crate::error::StudyError;
use crate::simulate::Bench;
use crate::study::Options;
use units::{SECTOR_BYTES, quantity};

/// A drive: a variant, and what the publication does not say of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DriveSetup {
    /// Index into [`VARIANTS`].
    pub variant: usize,
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
        format!("{}, {entries} entries, a buffer of {buffer}, {group} pages together, {update}", VARIANTS[variant].name)
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
/// Spare flash, % of what data and parity take.
const SPARE: f64 = 15.0;
/// User pages at full size.
const USER_PAGES: u64 = (32 << 30) / PAGE_BYTES;
/// A cache holds at most one in this number of the stripes, so that a small drive has room for the old versions.
const LEAST_STRIPES: u64 = 16;

/// What the user sees of the room that another drive has for data and parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    /// As much as of all others.
    Same,
    /// One chip more: what holds no parity holds data, and the share of spare flash is the same.
    All,
    /// As much as of all others; what holds no parity is spare.
    Spare,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    pub name: &'static str,
    kind: &'static str,
    chips: u64,
    room: Room,
    settings: &'static [(&'static str, &'static str)],
}

/// Index of the drive all others are compared with.
pub const RAID0: usize = 0;
/// The same with as many chips as there are data chips.
pub const RAID0_DATA: usize = 1;
/// The same as the first, but what others need for parity is spare.
pub const RAID0_SPARE: usize = 2;
/// Index of native RAID-5: no parity cache.
pub const NO_PC: usize = 3;
/// Index of the full parity cache as published: it reads as much as without.
pub const FPC: usize = 4;
/// The same, but what memory holds is not read.
pub const FPC_CACHED: usize = 5;
/// Index of the studied scheme.
pub const PPC: usize = 6;
/// The same, but collection moves old versions.
pub const PPC_COPY: usize = 7;
/// Native RAID-5 whose chips take a block in turn.
pub const NO_PC_BLOCK: usize = 8;
/// The studied scheme whose chips take a block in turn.
pub const PPC_BLOCK: usize = 9;
/// Parities written when the host is idle.
pub const FRA: usize = 10;
/// Two parities a stripe, without a cache of parities.
pub const RAID6: usize = 11;
/// Two parities in a partial parity cache.
pub const PPC6: usize = 12;
/// Parities of the pages that are written together.
pub const ELASTIC: usize = 13;

const fn raid5(name: &'static str, kind: &'static str, settings: &'static [(&'static str, &'static str)]) -> Variant {
    Variant { name, kind, chips: 5, room: Room::Same, settings }
}

const BY_BLOCK: &[(&str, &str)] = &[("stripe.granularity", "block")];

/// All drives that are run.
pub const VARIANTS: [Variant; 14] = [
    Variant { name: "RAID-0", kind: "raid0", chips: 5, room: Room::All, settings: &[] },
    Variant { name: "RAID-0, 4 chips", kind: "raid0", chips: 4, room: Room::Same, settings: &[] },
    Variant { name: "RAID-0, more spare", kind: "raid0", chips: 5, room: Room::Spare, settings: &[] },
    raid5("no-PC", "raid5", &[]),
    raid5("FPC", "raid5-fpc", &[("stripe.cache.reads", "as-no-cache")]),
    raid5("FPC, cached reads", "raid5-fpc", &[("stripe.cache.reads", "cached")]),
    raid5("PPC", "raid5-ppc", &[]),
    raid5("PPC, old versions move", "raid5-ppc", &[("stripe.semi_valid", "copy")]),
    raid5("no-PC, by block", "raid5", BY_BLOCK),
    raid5("PPC, by block", "raid5-ppc", BY_BLOCK),
    raid5("FRA", "fra", &[]),
    Variant { name: "RAID-6", kind: "raid6", chips: 6, room: Room::Same, settings: &[] },
    Variant { name: "RAID-6 with PPC", kind: "raid6-ppc", chips: 6, room: Room::Same, settings: &[] },
    raid5("elastic stripes", "raid-elastic", &[]),
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
pub fn of_record(options: &Options, variant: usize) -> DriveSetup {
    let update = options.setting(&UPDATE);
    DriveSetup {
        variant,
        entries: options.setting(&ENTRIES).parse().expect("the choices are numbers"),
        buffer: quantity::parse_size(options.setting(&BUFFER)).expect("the choices are sizes"),
        group: options.setting(&GROUP).parse().expect("the choices are numbers"),
        update: UPDATE.choices.iter().find(|choice| **choice == update).expect("a setting is one of its choices"),
    }
}

/// Requests under way in the rows.
pub fn depth_of_record(options: &Options) -> u32 {
    options.setting(&DEPTH).parse().expect("the choices are numbers")
}

/// A drive to be run.
/// Errors: the scale leaves too little flash.
pub fn bench(options: &Options, setup: DriveSetup) -> Result<Bench, StudyError> {
    let variant = &VARIANTS[setup.variant];
    let pages = user_pages(options);
    let with_parity = |value: f64| value * (DATA + 1) as f64 / DATA as f64;
    let (pages, spare) = match variant.room {
        Room::Same => (pages, SPARE),
        Room::All => (pages / DATA * (DATA + 1), SPARE),
        Room::Spare => (pages, with_parity(100.0 + SPARE) - 100.0),
    };
    let entries = setup.entries.min(user_pages(options) / DATA / LEAST_STRIPES).max(1);
    // RAID-0 has stripes of five pages as well, which two do not divide: it sends them one by one or all together.
    let group = if variant.kind == "raid0" && setup.group > 1 { 0 } else { setup.group };
    let mut settings = drive(options, "mlc-4k", variant.chips, pages);
    settings.extend([
        ("drive.over_provisioning", format!("{spare}%")),
        ("stripe.kind", variant.kind.to_owned()),
        ("stripe.buffer_size", format!("{}B", setup.buffer)),
        ("stripe.cache.entries", entries.to_string()),
        ("stripe.update", setup.update.to_owned()),
        ("stripe.buffer_group", group.to_string()),
    ]);
    settings.extend(variant.settings.iter().map(|(key, value)| (*key, (*value).to_owned())));
    settings.extend(options.drawn_settings());
    Bench::new(&setup.name(), &settings)
}

/// What all drives have in common: chips of one die on a channel of their own under a page map.
pub fn drive<'a>(options: &Options, part: &str, chips: u64, pages: u64) -> Vec<(&'a str, String)> {
    vec![
        ("drive.capacity", format!("{}B", pages * PAGE_BYTES)),
        ("flash.part", part.to_owned()),
        ("flash.channels", chips.to_string()),
        ("flash.dies_per_channel", "1".to_owned()),
        ("engine.seed", options.seed.to_string()),
        ("ftl.kind", "page".to_owned()),
        ("ftl.gc.victim", "greedy".to_owned()),
    ]
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
            for (variant, entries) in (0..VARIANTS.len()).flat_map(|variant| SIZES.map(|entries| (variant, entries))) {
                let setup = DriveSetup { entries, ..of_record(&options, variant) };
                bench(&options, setup).unwrap_or_else(|error| panic!("{scale}: {error}"));
            }
        }
    }
}
