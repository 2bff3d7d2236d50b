//! Parameters of every buffer, and values derived from them.

use crate::BufferContext;
use crate::policy::Policy;
use layer::{ATOMIC, Choices, Parameter, ParameterKind, page_key};
use units::{Lpn, quantity};

/// Which part of the buffer a page is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Area {
    /// Pages one by one.
    Pages = 0,
    /// Pages by logical block.
    Blocks = 1,
}

impl Area {
    /// Both areas, in the order of their indices.
    pub const ALL: [Area; 2] = [Area::Pages, Area::Blocks];

    /// As a table index.
    pub fn index(self) -> usize {
        self as usize
    }
}

/// Sizes a buffer works with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub user_pages: u32,
    /// Pages of a logical block.
    pub block_pages: u32,
    pub page_bytes: u32,
    pub sectors_per_page: u32,
    pub full_mask: u64,
    /// Pages each area has room for.
    pub pages: [u32; 2],
    /// Both areas share one room, of as many pages as either has.
    pub shared: bool,
    /// A logical block in the block area takes room for all of its pages.
    pub frames: bool,
    /// Pages of an aligned window of which a write enters as a whole or not at all.
    pub together: u32,
}

impl Shape {
    /// Pages both areas have room for together.
    pub fn room(&self) -> u32 {
        if self.shared { self.pages[0] } else { self.pages.iter().sum() }
    }

    /// Logical blocks of the drive.
    pub fn blocks(&self) -> u32 {
        self.user_pages.div_ceil(self.block_pages)
    }

    /// The logical block of a page.
    #[inline]
    pub fn block_of(&self, logical: Lpn) -> u32 {
        logical.0 / self.block_pages
    }

    /// The pages of a logical block; the last may have fewer.
    pub fn pages_of(&self, block: u32) -> impl DoubleEndedIterator<Item = Lpn> + ExactSizeIterator + use<> {
        let first = self.first_of(block).0;
        (first..(first + self.block_pages).min(self.user_pages)).map(Lpn)
    }

    /// Pages of a logical block, by number.
    pub fn len_of(&self, block: u32) -> u32 {
        self.block_pages.min(self.user_pages - self.first_of(block).0)
    }

    /// The first page of a logical block.
    pub fn first_of(&self, block: u32) -> Lpn {
        Lpn(block * self.block_pages)
    }
}

/// Whether a write is acknowledged only once it is on flash.
pub const ACKNOWLEDGED_ON_FLASH: Choices<bool> = Choices {
    key: "buffer.acknowledge",
    table: &[
        ("buffer", "once it is in the buffer", false),
        (
            "flash",
            "once it is on flash: every write goes straight through, and the buffer only serves reads of the pages \
             that its policy keeps",
            true,
        ),
    ],
};

/// The keys that every buffer reads.
pub(crate) fn common() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "buffer.size",
            ParameterKind::Size { min: 512, max: 1 << 40 },
            "16MiB",
            "Bytes of data that the buffer holds, all its parts together. A larger buffer absorbs more overwrites, \
             and costs memory that a power cut may lose (buffer.nonvolatile).",
        )
        .example("64MiB"),
        Parameter::new(
            "buffer.nonvolatile",
            ParameterKind::Switch,
            "false",
            "Whether the buffer outlives a power cut, as with capacitors or a battery. If not, a power cut keeps only \
             flushed data and FUA writes.",
        ),
        Parameter::new(
            ACKNOWLEDGED_ON_FLASH.key,
            ParameterKind::Choice(|| ACKNOWLEDGED_ON_FLASH.named()),
            "buffer",
            "When a write is acknowledged. Use flash to measure the drive without the help of a write cache.",
        ),
        Parameter::new(
            "buffer.write_back_pages",
            ParameterKind::Count { min: 0, max: 1 << 20 },
            "0",
            "Pages that the buffer writes to flash at the same time when it needs room; 0: one for each plane. \
             Raise it where writes wait for room in the buffer. Without time (engine.time = none) every page is \
             written at once.",
        )
        .example("64"),
    ]
}

/// The size of a logical block, for buffers that know blocks.
pub(crate) const BLOCK_SIZE: Parameter = Parameter::new(
    "buffer.block_size",
    ParameterKind::Size { min: 0, max: 1 << 30 },
    "0B",
    "Bytes of a logical block of the buffer, for example 512KiB; 0: an erase block. Pages of one logical block \
     leave the buffer together, so match the unit that the mapping merges.",
)
.example("512KiB");

/// Whether a logical block takes room for all of its pages.
const TAKES_FRAMES: Choices<bool> = Choices {
    key: "buffer.accounting",
    table: &[
        ("frames", "a frame for all of its pages", true),
        ("pages", "only the pages that are in the buffer", false),
    ],
};

/// How room for blocks is counted.
pub(crate) const ACCOUNTING: Parameter = Parameter::new(
    TAKES_FRAMES.key,
    ParameterKind::Choice(|| TAKES_FRAMES.named()),
    "frames",
    "The room in the buffer that a logical block takes.",
);

/// Sizes from the configuration.
pub(crate) fn shape<P: Policy>(context: &BufferContext<'_>) -> Shape {
    let blocks_bytes = P::blocks_bytes(context.values);
    let shared = P::SHARES_ROOM;
    let BufferContext { geometry, user_pages, values, .. } = *context;
    let page = u64::from(geometry.page_bytes);
    let total = values.whole("buffer.size");
    let block_bytes = values.whole("buffer.block_size");
    let block_pages = if block_bytes == 0 { geometry.pages_per_block } else { (block_bytes / page).max(1) as u32 };
    let together = if values.on("buffer.nonvolatile") { (values.whole(ATOMIC) / page).max(1) as u32 } else { 1 };
    // Policies of single pages have no logical blocks: theirs only cut requests into pieces.
    let block_pages =
        if P::AREAS.contains(&Area::Blocks) { block_pages } else { block_pages.next_multiple_of(together) };
    Shape {
        user_pages,
        block_pages,
        page_bytes: geometry.page_bytes,
        sectors_per_page: geometry.sectors_per_page(),
        full_mask: geometry.full_mask(),
        pages: if shared {
            [(total / page) as u32; 2]
        } else {
            [(total.saturating_sub(blocks_bytes) / page) as u32, (blocks_bytes / page) as u32]
        },
        shared,
        frames: P::HAS_FRAMES && TAKES_FRAMES.read(values),
        together,
    }
}

/// The least memory of every buffer.
///
/// # Errors
/// The value that does not fit, in words.
pub(crate) fn check(context: &BufferContext<'_>, shape: &Shape, areas: &[Area]) -> Result<(), String> {
    let page = u64::from(context.geometry.page_bytes);
    let values = context.values;
    let block_bytes = values.whole("buffer.block_size");
    if !block_bytes.is_multiple_of(page) {
        let [has, unit] = [block_bytes, page].map(quantity::exact_size);
        let near = quantity::size_at_most(block_bytes, page).unwrap_or_else(|| unit.clone());
        return Err(format!(
            "buffer.block_size is {has}, no whole number of pages of {unit} ({}); try \"{near}\"",
            page_key(values, page)
        ));
    }
    if !shape.block_pages.is_multiple_of(shape.together) {
        let [block, window] = [shape.block_pages, shape.together].map(|pages| u64::from(pages) * page);
        let [block, window] = [block, window].map(quantity::exact_size);
        let key = if block_bytes == 0 { "flash.pages_per_block" } else { "buffer.block_size" };
        return Err(format!(
            "{ATOMIC} is {window}, and logical blocks of the buffer have {block} ({key}): a write would enter in two \
             parts; set {key} so that a block is a multiple of {window}"
        ));
    }
    for area in areas {
        let pages = shape.pages[area.index()];
        let least = if *area == Area::Blocks && shape.frames { shape.block_pages } else { shape.together };
        if pages < least {
            let missing = u64::from(least - pages) * page;
            let raised = |key: &str| {
                let size = quantity::size_at_least(values.whole(key) + missing, page);
                format!("{key} to \"{}\"", size.unwrap_or_default())
            };
            let (what, keys) = match area {
                Area::Blocks if areas.len() > 1 && !shape.shared => {
                    ("logical blocks", format!("{} and {}", raised("buffer.block_buffer"), raised("buffer.size")))
                }
                Area::Blocks => ("logical blocks", raised("buffer.size")),
                Area::Pages => ("single pages", raised("buffer.size")),
            };
            let by_pages = match area {
                Area::Blocks if shape.frames => {
                    ", or set buffer.accounting = pages, by which a block takes room for the pages it has"
                }
                _ if shape.together > 1 => ", or lower drive.atomic, of which the buffer holds a whole write",
                _ => "",
            };
            return Err(format!(
                "the buffer has room for {pages} pages in its part for {what}, which needs {least}; raise {keys} or \
                 more{by_pages}"
            ));
        }
    }
    if ACKNOWLEDGED_ON_FLASH.read(values) && values.on("buffer.nonvolatile") {
        return Err("buffer.acknowledge = flash leaves nothing in the buffer that buffer.nonvolatile could keep; set \
            one of them"
            .to_owned());
    }
    Ok(())
}
