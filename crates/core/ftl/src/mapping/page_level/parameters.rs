//! Parameters of page-level mappings, and values derived from them.

use super::access::{MapAccess, Sharing};
use super::scheme::{Scheme, TranslationShape};
pub(super) use crate::alloc::Frontiers;
use crate::alloc::{FRONTIERS, ORDERS, Order, PLACEMENTS, Placement};
use crate::gc::{self, victim_uses, victims};
use crate::mapping::Layout;
use crate::mapping::common::STATIC_GAP;
use layer::{Choices, Condition, Parameter, ParameterKind, Values};
use units::quantity;

/// The key of how many pages follow each other on a plane.
pub const RUN_PAGES: &str = "ftl.allocation.run_pages";

/// Pages have no home plane.
const DYNAMIC: Condition =
    Condition::one_of(PLACEMENTS.key, |_, name| PLACEMENTS.means(name, |place| place == Placement::Dynamic));

/// The key of superblocks of all planes.
pub const SUPERBLOCKS: &str = "ftl.gc.superblocks";

/// The key of how fast a victim is emptied.
pub const PACE: &str = "ftl.gc.pace";

/// How fast a victim is emptied.
const PACES: Choices<bool> = Choices {
    key: PACE,
    table: &[
        ("eager", "as fast as ftl.gc.copies_in_flight allows, once free blocks are short", false),
        (
            "host",
            "in step with the host: the victim is empty when the host has written as much as the collection frees",
            true,
        ),
    ],
};

/// Bytes of a map entry on a translation page.
const ENTRY_BYTES: u32 = 4;

/// Whether translation pages have one open block in the whole drive.
const ONE_WRITE_POINTER: Choices<bool> = Choices {
    key: "ftl.translation.write_pointers",
    table: &[("plane", "one in each plane", false), ("one", "one for the whole drive", true)],
};
/// Whether the directory of translation pages counts to the cache.
const COVERS_DIRECTORY: Choices<bool> = Choices {
    key: "ftl.map_cache_covers",
    table: &[
        ("entries", "cached entries alone, as published figures count", false),
        ("directory", "cached entries and the directory of translation pages", true),
    ],
};

/// Settings read once, so that the per-page path looks nothing up.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub sharing: Sharing,
    pub order: Order,
    /// One open block of translation pages for the whole drive instead of one for each plane.
    pub one_translation_block: bool,
    pub placement: Placement,
    /// Pages that go to one lane before the next lane has its turn.
    pub run_pages: u32,
    pub frontiers: Frontiers,
    /// Collection begins when a plane has this many erased (or being erased) blocks or fewer.
    pub free_blocks: u32,
    /// The same while the host is idle; 0: no background collection.
    pub background_free_blocks: u32,
    /// Copies in flight for each plane.
    pub window: u32,
    pub copyback: bool,
    /// Copies keep pace with the host's writes.
    pub paced: bool,
    /// Blocks of one number in all planes are collected as one.
    pub superblocks: bool,
    pub level_dynamic: bool,
    /// Difference of erase counts that starts static wear levelling; 0: never.
    pub level_gap: u32,
}

impl Settings {
    /// `in_planes`: a lane is a plane, and not a part of one.
    pub fn read<A: MapAccess>(values: &Values, in_planes: bool) -> Self {
        let is_resident = A::SHARING == Sharing::Data;
        let superblocks = in_planes && is_resident && values.on(SUPERBLOCKS);
        Self {
            sharing: A::SHARING,
            order: ORDERS.read(values),
            one_translation_block: ONE_WRITE_POINTER.read(values),
            placement: PLACEMENTS.read(values),
            run_pages: values.whole(RUN_PAGES) as u32,
            frontiers: FRONTIERS.read(values),
            free_blocks: values.whole("ftl.gc.free_blocks") as u32,
            background_free_blocks: values.whole("ftl.gc.background_free_blocks") as u32,
            window: values.whole("ftl.gc.copies_in_flight") as u32,
            copyback: values.on("ftl.gc.copyback"),
            paced: is_resident && PACES.read(values),
            superblocks,
            // Blocks of one number are opened at the same time where they are opened as they were erased.
            level_dynamic: values.on("ftl.wear.dynamic") && !superblocks,
            level_gap: values.whole("ftl.wear.static_gap") as u32,
        }
    }

    /// Blocks of a plane without user data that collection cannot do without: those kept for it, one open
    /// for the host, one for copies, one for translation pages.
    pub fn least_reserve(&self) -> u32 {
        let open = self.frontiers.open_blocks();
        let beside_kept = match self.sharing {
            Sharing::Data => open,
            Sharing::Translation => open + 1,
            Sharing::Own => 1,
        };
        kept(self.sharing) + beside_kept
    }

    /// Copies that are asked for at once where collection keeps pace: data on one page of flash are read as one.
    #[inline]
    pub fn group(&self, pages_per_block: u32) -> u32 {
        self.window.min(pages_per_block / GROUPS_OF_BLOCK).max(1)
    }
}

/// Blocks that a plane has to spare while its collection keeps pace with the host: the next one of the host, and one of
/// the copies.
const AHEAD: u32 = 2;

/// Copies go in groups of a quarter of a block at most where they keep pace.
const GROUPS_OF_BLOCK: u32 = 4;

/// Blocks of a plane that are kept erased for collection whatever is set.
pub(super) const fn kept(sharing: Sharing) -> u32 {
    if matches!(sharing, Sharing::Data) { 1 } else { 2 }
}

/// Erased blocks of a plane at which collection begins to keep pace, where `withheld` are kept for it.
#[inline]
pub(super) fn ahead(paced: bool, withheld: u32) -> u32 {
    if paced { withheld + AHEAD } else { 0 }
}

/// Blocks of a plane that collection keeps erased beyond [`kept`].
pub(super) fn kept_erased<A: MapAccess>(values: &Values) -> u32 {
    let settings = Settings::read::<A>(values, true);
    let kept = kept(A::SHARING);
    settings.free_blocks.max(ahead(settings.paced, kept)).saturating_sub(kept)
}

/// Whether planes with this much room each, in pages, hold so many logical pages.
pub(super) fn have_room(placement: Placement, rooms: impl Iterator<Item = u32>, planes: u32, pages: u32) -> bool {
    match placement {
        Placement::Static => rooms.min() >= Some(pages.div_ceil(planes)),
        Placement::Dynamic => rooms.map(u64::from).sum::<u64>() >= u64::from(pages),
    }
}

/// Blocks of a plane that are kept erased beyond [`kept`] where commands fail, as the one kept for collection may fail
/// as well: one, if planes of so many `blocks` have room for it.
pub(super) fn kept_for_failures<A: MapAccess>(values: &Values, layout: &Layout, blocks: u32) -> u32 {
    let settings = Settings::read::<A>(values, true);
    let room = blocks.saturating_sub(settings.least_reserve() + 1) * layout.pages_per_block;
    let pages = layout.user_pages + A::shape(values, layout).expect("it is checked with the configuration").count;
    let rooms = std::iter::repeat_n(room, layout.planes as usize);
    u32::from(have_room(settings.placement, rooms, layout.planes, pages))
}

/// Blocks of a plane that hold no user data at full drive: [`Settings::least_reserve`], translation pages, and
/// an open block for each translation page that has blocks of its own.
///
/// # Errors
/// The cache is too small for the scheme, or the translation pages have an impossible size.
pub(in crate::mapping) fn reserve_blocks<A: MapAccess>(values: &Values, layout: &Layout) -> Result<u32, String> {
    let shape = A::shape(values, layout)?;
    let translation = shape.count.div_ceil(layout.pages_per_block);
    let own = if A::SHARING == Sharing::Own { shape.count } else { 0 };
    Ok(Settings::read::<A>(values, true).least_reserve() + (translation + own).div_ceil(layout.planes))
}

/// The shape of the translation pages of a scheme.
///
/// # Errors
/// The cache is too small for the scheme, the translation pages have an impossible size, or a home plane.
pub(super) fn translation_shape<S: Scheme>(values: &Values, layout: &Layout) -> Result<TranslationShape, String> {
    let most = layout.page_bytes / ENTRY_BYTES;
    let entries =
        values.get("ftl.translation.entries").map_or(most, |_| values.whole("ftl.translation.entries") as u32);
    if !entries.is_power_of_two() || entries > most {
        return Err(format!(
            "ftl.translation.entries is {entries}; a translation page of {} holds a power of two of \
             {ENTRY_BYTES}-byte entries up to {most}",
            units::quantity::format_size(layout.page_bytes.into())
        ));
    }
    if layout.pages_per_block < S::WRITE_BACKS {
        return Err(format!(
            "one access of this mapping writes back up to {} translation pages, and an erase block has {} pages; raise \
             flash.pages_per_block to {0} or more",
            S::WRITE_BACKS,
            layout.pages_per_block
        ));
    }
    let shape = TranslationShape::new(layout.user_pages, entries);
    let charged = charged_bytes::<S>(values, shape);
    let least = S::least_bytes(shape, values) + charged;
    let budget = values.whole("ftl.map_cache");
    if budget < least {
        return Err(format!(
            "ftl.map_cache is {}, but this mapping needs at least {}; raise it to \"{}\" or more{}",
            quantity::format_size(budget),
            quantity::format_size(least),
            quantity::size_at_least(least, 1).unwrap_or_default(),
            if charged > 0 { ", or set ftl.map_cache_covers to \"entries\"" } else { "" },
        ));
    }
    if PLACEMENTS.read(values) == Placement::Static {
        return Err(format!(
            "{} is static, but translation pages have no home plane; set it to \"dynamic\", or use ftl.kind = \"page\"",
            PLACEMENTS.key
        ));
    }
    Ok(shape)
}

/// Bytes that the directory of translation pages takes from the cache's budget.
fn charged_bytes<S: Scheme>(values: &Values, shape: TranslationShape) -> u64 {
    if COVERS_DIRECTORY.read(values) { u64::from(shape.count) * S::DIRECTORY_BYTES } else { 0 }
}

/// Bytes of map entries that may be cached.
pub(super) fn cache_budget<S: Scheme>(values: &Values, shape: TranslationShape) -> u64 {
    values.whole("ftl.map_cache") - charged_bytes::<S>(values, shape)
}

/// Parameters of every page-level mapping.
pub(in crate::mapping) fn common() -> Vec<Parameter> {
    let placing = [
        Parameter::new(
            ORDERS.key,
            ParameterKind::Choice(|| ORDERS.named()),
            "cdp",
            "Order in which consecutive pages use channels (c), dies behind a channel (d) and planes (p); the \
                first letter varies fastest.",
        ),
        Parameter::new(
            PLACEMENTS.key,
            ParameterKind::Choice(|| PLACEMENTS.named()),
            "dynamic",
            "Which plane a page goes to.",
        ),
        Parameter::new(
            RUN_PAGES,
            ParameterKind::Count { min: 1, max: 16_384 },
            "1",
            "Pages that go to one plane before the next plane in order has its turn. Use runs as long as a block with \
                ftl.kind = leaftl and buffer.kind = sorted: segments then span more pages. Long runs keep fewer dies \
                busy at once.",
        )
        .only(DYNAMIC),
    ];
    let wear = [
        Parameter::new(
            "ftl.wear.dynamic",
            ParameterKind::Switch,
            "true",
            "Open the free block with the fewest erases first (dynamic wear levelling). Otherwise the block that was \
             erased first is opened first.",
        )
        .only(Condition::off(SUPERBLOCKS).otherwise("superblocks are opened in the order in which they were erased")),
        STATIC_GAP,
    ];
    let all = placing.into_iter().chain(collection()).chain(wear);
    all.chain(gc::parameters()).chain(super::refresh::parameters()).collect()
}

/// Parameters of garbage collection.
fn collection() -> [Parameter; 8] {
    [
        Parameter::new(
            "ftl.gc.victim",
            ParameterKind::Choice(victims),
            "greedy",
            "Which closed block garbage collection takes next (the victim). Use greedy for uniform writes, \
             cost-benefit where hot and cold data mix, and windowed-greedy for more even wear. Old versions that \
             stripes keep count as valid pages, although they may be dropped before they are moved.",
        )
        .uses(victim_uses),
        Parameter::new(
            "ftl.gc.free_blocks",
            ParameterKind::Count { min: 0, max: 1000 },
            "2",
            "Garbage collection begins when a plane has this many free blocks or fewer, counting blocks that are \
             being erased; 0: when the host finds no free page. Raise it so that bursts of writes find free blocks; \
             each block is taken from the spare space, which raises write amplification. Data and translation pages \
             count alike.",
        )
        .example("4"),
        Parameter::new(
            FRONTIERS.key,
            ParameterKind::Choice(|| FRONTIERS.named()),
            "separate",
            "Where garbage collection copies valid pages to. Separate blocks keep cold data apart from new data, which \
             lowers write amplification. Use shared to repeat studies with one open block in a plane.",
        ),
        Parameter::new(
            "ftl.gc.copies_in_flight",
            ParameterKind::Count { min: 1, max: 1024 },
            "8",
            "Copies of a garbage collection under way at once in each plane. The next copy is issued when one \
             completes. Lower it to let requests of the host pass between copies; raise it to free blocks sooner.",
        )
        .example("2"),
        Parameter::new(
            "ftl.gc.background_free_blocks",
            ParameterKind::Count { min: 0, max: 1000 },
            "0",
            "Free blocks of a plane up to which the drive collects garbage while the host is idle: until a plane has \
             more, or less than a sixteenth of each block is invalid. High values raise write amplification, because \
             a block is collected before more of it is overwritten. 0 turns background collection off.",
        )
        .example("8"),
        Parameter::new(
            "ftl.gc.copyback",
            ParameterKind::Switch,
            "false",
            "Copy pages inside a plane with the copyback command of the flash, which leaves the channel free. Use it \
             where channels limit the drive. Many controllers avoid it: its data does not pass the error correction.",
        ),
        Parameter::new(
            PACES.key,
            ParameterKind::Choice(|| PACES.named()),
            "eager",
            "How fast a garbage collection copies while its plane has an erased block to spare, and the host is not \
             idle. host spreads copies over time, which lowers tail latency. host keeps at least three erased blocks \
             in a plane, and may make writes wait where pages have a home plane.",
        ),
        Parameter::new(
            SUPERBLOCKS,
            ParameterKind::Switch,
            "false",
            "Collect the blocks of one number in all planes together, as superblocks. Use it for drives whose firmware \
             manages superblocks, as many drives for sale do. The victim is chosen by the valid pages of all \
             planes, and free blocks are opened in the order in which they were erased.",
        ),
    ]
}

/// Parameters of every mapping with translation pages.
pub(in crate::mapping) fn demand() -> Vec<Parameter> {
    let mut parameters = common();
    // Translation pages have no home plane, and a plane filled with them could not keep its data. They make planes fill
    // unevenly as well: few superblocks would ever be closed in all of them.
    parameters.retain(|parameter| ![PLACEMENTS.key, SUPERBLOCKS, PACES.key].contains(&parameter.key));
    parameters.extend([
        Parameter::new(
            "ftl.map_cache",
            ParameterKind::Size { min: 8, max: 1 << 40 },
            "512KiB",
            "Memory for cached map entries, in mappings that keep the map on flash. A larger cache has fewer misses; \
             a miss reads a translation page before the data.",
        ),
        Parameter::new(
            COVERS_DIRECTORY.key,
            ParameterKind::Choice(|| COVERS_DIRECTORY.named()),
            "entries",
            "The memory that counts towards ftl.map_cache.",
        ),
        Parameter::optional(
            "ftl.translation.entries",
            ParameterKind::Count { min: 2, max: 8192 },
            "Map entries of a translation page, a power of two. If not set, as many 4-byte entries as a page holds.",
        )
        .example("1024"),
        Parameter::new(
            ONE_WRITE_POINTER.key,
            ParameterKind::Choice(|| ONE_WRITE_POINTER.named()),
            "plane",
            "Number of open blocks for translation pages.",
        ),
    ]);
    parameters
}
