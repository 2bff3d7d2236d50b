//! The flash array that the keys describe: mapping units below the page, programs of several pages, chips in lockstep.
//!
//! Keys mean physical flash. To the layers a *page* is a mapping unit. One program of the flash writes several of them,
//! one behind the other in a block: the units of a page, of the other pages of its word line, and of the same word line
//! in the other planes of its die, where their blocks are used as one. Chips in lockstep are one chip to the layers.
//! [`Array`] knows both, and is built once.
//!
//! Protects: a configuration that says nothing of it gives the drive it always gave.

use crate::config::flash_keys::MOST_PAGE;
use crate::config::{Config, ConfigError};
use crate::spare::is_above_zero;
use ftl::mapping::{Lockstep, Mapping};
use layer::{Choices, Parameter, ParameterKind, UNIT, Values};
use nand::{Counters, FlashState, PAGE_TYPES, PageTimes, SlcTimes};
use units::quantity::{exact_size, format_size, parse_duration, size_at_most};
use units::{DIE_CAUSES, DieId, Geometry, GeometryError, Organization, SECTOR_BYTES, Shape};

/// Pages that a program of the flash writes in one plane.
const WORD_LINE: &str = "flash.word_line_pages";
/// Memory for pages on their way into cells.
const MEMORY: &str = "flash.program_memory";
/// Whether that memory outlives a power cut.
pub(crate) const PROTECTED: &str = "flash.program_memory_protected";
/// Times and endurance of blocks with one bit a cell.
const SLC_READ: &str = "flash.slc_read_time";
const SLC_PROGRAM: &str = "flash.slc_program_time";
const SLC_ENDURANCE: &str = "flash.slc_endurance";
/// What makes a drive use such blocks.
const SLC_CACHE: [&str; 2] = ["ftl.slc.share", "ftl.slc.blocks"];

/// Programs of each plane that memory has room for where nobody says how large it is: those of the host, of copies and
/// of translation pages, and one that runs.
const PROGRAMS: u64 = 4;

/// Whether the blocks of a die's planes are used as one.
const AS_ONE: &str = "flash.planes_as_one";
/// Array time of the first of two passes.
const FIRST_PASS: &str = "flash.first_pass_time";
/// In which order the pages of word lines are programmed, where each is by itself: whether in a staircase.
const PAGE_ORDER: Choices<bool> = Choices {
    key: "flash.page_order",
    table: &[
        ("word-lines", "all pages of a word line, then all pages of the next word line", false),
        (
            "staircase",
            "each page of a word line with the one before it of the next word line: lower 0, lower 1, middle 0, lower \
             2, middle 1, upper 0, and so on",
            true,
        ),
    ],
};
/// Read times by page of a word line.
const READ_TIMES: &str = "flash.page_read_times";
/// The same for programs, where pages are programmed one by one.
const PROGRAM_TIMES: &str = "flash.page_program_times";

/// The keys of it.
pub(crate) fn parameters() -> Vec<Parameter> {
    let mut parameters = of_programs();
    parameters.extend(of_slc().into_iter().chain(of_memory()));
    parameters
}

fn of_programs() -> Vec<Parameter> {
    vec![
        Parameter::optional(
            UNIT,
            ParameterKind::Size { min: 512, max: MOST_PAGE },
            "Bytes of one entry of the map, a power of two up to flash.page_size (the default); with chips in \
             lockstep (ftl.kind = superpage) up to all their pages together. For example 4KiB on 16 KiB pages: small \
             writes cost less, the map is larger, and the controller gathers writes and copies until a program is \
             full.",
        )
        .example("4KiB"),
        Parameter::new(
            WORD_LINE,
            ParameterKind::Count { min: 1, max: 8 },
            "1",
            "Pages of a word line that one program writes: 3 for TLC and 4 for QLC programmed in one shot. \
             flash.program_time is the time of all of them.",
        ),
        Parameter::new(
            AS_ONE,
            ParameterKind::Switch,
            "false",
            "Fill, program and erase one block of each plane of a die together: all planes take the time of one.",
        ),
        Parameter::optional(
            READ_TIMES,
            ParameterKind::Text,
            "Array read times of the pages of a word line in order, lower page first. They replace flash.read_time.",
        )
        .example("50us,70us,90us"),
        Parameter::optional(
            PROGRAM_TIMES,
            ParameterKind::Text,
            "Array program times of the pages of a word line in order. Only where each page is programmed by itself \
             (flash.word_line_pages = 1). They replace flash.program_time.",
        )
        .example("500us,1500us,2500us"),
        Parameter::optional(
            FIRST_PASS,
            ParameterKind::Duration { max: 1_000_000_000 },
            "Array time of the first, coarse pass of a word line programmed in two (QLC). flash.program_time is the \
             time of the second, after the first pass of the next word line. The data stays in memory between them.",
        )
        .example("1ms"),
        Parameter::new(
            PAGE_ORDER.key,
            ParameterKind::Choice(|| PAGE_ORDER.named()),
            "word-lines",
            "Order in which the pages of a block are programmed. Only where flash.page_read_times or \
             flash.page_program_times distinguish the pages, and each page is programmed by itself.",
        ),
    ]
}

/// Times and endurance of blocks with one bit a cell.
fn of_slc() -> [Parameter; 3] {
    [
        Parameter::new(
            SLC_READ,
            ParameterKind::Duration { max: 1_000_000_000 },
            "30us",
            "Array read time of a page in a block with one bit a cell (SLC cache).",
        )
        .time(),
        Parameter::new(
            SLC_PROGRAM,
            ParameterKind::Duration { max: 1_000_000_000 },
            "300us",
            "Array program time of a page in a block with one bit a cell, in all planes that work as one.",
        )
        .time(),
        Parameter::new(
            SLC_ENDURANCE,
            ParameterKind::Count { min: 0, max: u64::from(u32::MAX) },
            "50000",
            "Erases that a block survives while it is used with one bit a cell; flash.endurance counts for the other \
             blocks. 0: use with one bit a cell does not wear a block.",
        ),
    ]
}

/// Memory for pages on their way into cells.
fn of_memory() -> [Parameter; 2] {
    [
        Parameter::optional(
            MEMORY,
            ParameterKind::Size { min: 512, max: 1 << 40 },
            "Memory of the controller for pages that wait for the rest of their program, or for the program to end. \
             If not set, four programs of each plane. Writes wait while it is full.",
        )
        .example("16MiB"),
        Parameter::new(
            PROTECTED,
            ParameterKind::Switch,
            "true",
            "Whether flash.program_memory outlives a power cut, as with capacitors. If not, a flush or a write with \
             FUA fills up waiting programs (cause padding), and a power cut may lose unflushed data.",
        ),
    ]
}

/// The flash array of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Array {
    /// As the layers see it: pages are mapping units, and blocks or dies that act as one count as one.
    pub mapped: Organization,
    /// Units that one program writes: 1 where each page is mapped and programmed by itself.
    pub units_per_program: u32,
    /// Bytes of a physical page; of chips in lockstep, of the pages of all of them.
    pub page_bytes: u32,
    /// Planes of a die whose blocks are used as one.
    pub planes_as_one: u32,
    /// Units that the memory for programs has room for.
    pub gather_units: u32,
    /// Whether a power cut takes units that wait until their program is full.
    pub forgets: bool,
    /// Chips that act as one.
    lockstep: Lockstep,
    /// The key that a page of the layers has its size from.
    page_key: &'static str,
}

impl Array {
    /// The array that the keys describe, under a mapping; blocks have so many physical pages on the drive that runs.
    ///
    /// 1. Chips in lockstep become one chip with larger pages.
    /// 2. A page is cut into mapping units.
    /// 3. A program takes the units of a word line, in all planes that are used as one.
    /// 4. Memory for pages on their way into cells has room for at least one program.
    ///
    /// # Errors
    /// In words, where keys do not fit together.
    pub(crate) fn of(values: &Values, pages_per_block: u64, mapping: &Mapping) -> Result<Self, String> {
        let lockstep = Lockstep::of(values)?;
        check_page(values.whole("flash.page_size"))?;
        check_slc(values)?;
        check_memory(values)?;
        let [page, planes, word_line] =
            ["flash.page_size", "flash.planes_per_die", WORD_LINE].map(|key| values.whole(key));
        let page = page * lockstep.chips();
        let unit = values.get(UNIT).map_or(page, |_| values.whole(UNIT));
        let as_one = if values.on(AS_ONE) { planes } else { 1 };
        check_unit(unit, page, lockstep)?;
        if !pages_per_block.is_multiple_of(word_line) {
            let near = pages_per_block.next_multiple_of(word_line);
            return Err(format!(
                "flash.pages_per_block is {pages_per_block}, no whole number of word lines of {word_line} pages \
                 ({WORD_LINE}); try {near}"
            ));
        }
        let per_program = page / unit * word_line * as_one;
        check_programs(values, mapping, per_program)?;
        let units = pages_per_block * (page / unit) * as_one;
        check_block(values, pages_per_block, [page, unit], as_one)?;
        let [channels, dies] = ["flash.channels", "flash.dies_per_channel"].map(|key| values.whole(key));
        let mapped = Organization {
            channels: (channels / lockstep.channels) as u32,
            dies_per_channel: (dies / lockstep.ways) as u32,
            planes_per_die: (planes / as_one) as u32,
            pages_per_block: units as u32,
            page_bytes: unit as u32,
        };
        let array = Self {
            mapped,
            units_per_program: per_program as u32,
            page_bytes: page as u32,
            planes_as_one: as_one as u32,
            gather_units: gather_units(values, &mapped, per_program)?,
            forgets: per_program > 1 && !values.on(PROTECTED),
            lockstep,
            page_key: layer::page_key(values, unit),
        };
        debug_assert_eq!(u64::from(array.pages_per_block()), pages_per_block, "a block is whole pages of each plane");
        Ok(array)
    }

    /// Bytes of a page as results count pages: of a unit of the map, or of a page of one chip where a unit takes pages
    /// of several.
    pub fn chip_page_bytes(&self) -> u32 {
        self.mapped.page_bytes.min(self.flash_page_bytes())
    }

    /// Sectors of such a page.
    pub fn chip_page_sectors(&self) -> u32 {
        self.chip_page_bytes() / SECTOR_BYTES as u32
    }

    /// Pages of single chips, where the layers count units of all that act as one.
    pub fn chip_pages(&self, units: u64) -> u64 {
        units * u64::from(self.mapped.page_bytes / self.chip_page_bytes())
    }

    /// Reads, programs and erases of single chips by cause: pages as [`Array::chip_pages`] counts them, and blocks.
    pub fn chip_commands(&self, counters: &Counters) -> [[u64; DIE_CAUSES]; 3] {
        let pages = |causes: [u64; DIE_CAUSES]| causes.map(|units| self.chip_pages(units));
        [pages(counters.reads), pages(counters.programs), counters.erases.map(|blocks| self.chip_blocks(blocks))]
    }

    /// Blocks of single chips, where the layers count the blocks of all chips that act as one.
    pub fn chip_blocks(&self, blocks: u64) -> u64 {
        blocks * self.lockstep.chips()
    }

    /// Channels as the keys count them.
    pub fn channels(&self) -> u32 {
        self.mapped.channels * self.lockstep.channels as u32
    }

    /// Dies as the keys count them.
    pub fn dies(&self) -> u32 {
        self.chip_dies(self.mapped.dies())
    }

    /// Dies as the keys count them in so many dies of the layers.
    pub fn chip_dies(&self, mapped: u32) -> u32 {
        mapped * self.lockstep.chips() as u32
    }

    /// Dies behind a channel, all as the keys count them.
    pub fn dies_behind(&self, channel: u32) -> Vec<u32> {
        (channel..self.dies()).step_by(self.channels() as usize).collect()
    }

    /// The dies of the layers that dies of the keys are, or are parts of; each once.
    pub fn mapped_dies(&self, dies: &[u32]) -> Vec<DieId> {
        let mut mapped: Vec<DieId> = Vec::new();
        for die in dies {
            let (channel, way) = (die % self.channels(), die / self.channels());
            let [channel, way] = [channel / self.lockstep.channels as u32, way / self.lockstep.ways as u32];
            let die = DieId(way * self.mapped.channels + channel);
            mapped.extend((!mapped.contains(&die)).then_some(die));
        }
        mapped
    }

    /// Channels that move parts of a page side by side, and the bytes of a part.
    pub(crate) fn side_by_side(&self) -> (u64, u64) {
        (self.lockstep.channels, self.flash_page_bytes().into())
    }

    /// Bytes of a physical page of one chip.
    pub(crate) fn flash_page_bytes(&self) -> u32 {
        self.page_bytes / self.lockstep.chips() as u32
    }

    /// The key that a page of the layers has its size from.
    pub(crate) fn page_key(&self) -> &'static str {
        self.page_key
    }

    /// Keys that make planes fewer.
    pub(crate) fn plane_keys(&self) -> &'static str {
        match self.lockstep.chips() {
            1 => "flash.channels, flash.dies_per_channel, flash.planes_per_die",
            // Chips in lockstep are one however many they are.
            _ => "flash.dies_per_channel, flash.planes_per_die",
        }
    }

    /// Keys that make a page of the layers as large as `larger` bytes. `None`: no page can be.
    pub(crate) fn keys_of_larger(&self, larger: u64) -> Option<&'static str> {
        match () {
            () if larger <= u64::from(self.page_bytes) => Some(UNIT),
            // A superpage is as large as it can be.
            () if self.lockstep.chips() > 1 || larger > Shape::PAGE_BYTES_MAX => None,
            () if self.page_key == UNIT => Some("flash.page_size and ftl.unit"),
            () => Some("flash.page_size"),
        }
    }

    /// Physical pages of a block.
    fn pages_per_block(&self) -> u32 {
        self.mapped.pages_per_block / (self.page_bytes / self.mapped.page_bytes) / self.planes_as_one
    }

    /// Units of a block, less the units that filling up a program may lose.
    ///
    /// # Errors
    /// In words, where nothing is left of a block.
    pub(crate) fn usable_units(&self) -> Result<u32, String> {
        let (units, program) = (self.mapped.pages_per_block, self.units_per_program);
        if !self.forgets {
            return Ok(units);
        }
        if units < 2 * program {
            return Err(format!(
                "a block has {} programs, and one of them may be lost each time a flush fills it up; raise \
                 flash.pages_per_block, or set {PROTECTED} to \"true\"",
                units / program
            ));
        }
        Ok(units - program)
    }

    /// Times of the pages of a word line, where they differ.
    ///
    /// # Errors
    /// In words, where a list is not a list of times.
    pub(crate) fn page_times(&self, values: &Values) -> Result<[Option<PageTimes>; 2], String> {
        let word_line = values.whole(WORD_LINE);
        let [mut read, mut program] = [times(values, READ_TIMES)?, times(values, PROGRAM_TIMES)?];
        if let [Some(read), Some(program)] = [&read, &program].map(|times| times.as_ref().map(PageTimes::pages))
            && read != program
        {
            return Err(format!(
                "{READ_TIMES} has {read} times and {PROGRAM_TIMES} has {program}, and both tell the pages of a word \
                 line apart; give as many in both"
            ));
        }
        if PAGE_ORDER.read(values) {
            if read.is_none() && program.is_none() {
                return Err(format!(
                    "{} = staircase matters where pages of a word line differ; give {READ_TIMES} or {PROGRAM_TIMES}, \
                     or set it to \"word-lines\"",
                    PAGE_ORDER.key
                ));
            }
            if word_line > 1 {
                return Err(format!(
                    "{} = staircase is for pages that are programmed one by one, and {WORD_LINE} is {word_line}: one \
                     program writes a whole word line; set it to \"word-lines\"",
                    PAGE_ORDER.key
                ));
            }
            let pages = self.pages_per_block();
            for times in [&mut read, &mut program].into_iter().flatten() {
                let line = times.pages();
                if pages < line * line || !pages.is_multiple_of(line) {
                    return Err(format!(
                        "{} = staircase needs blocks of at least {line} whole word lines of {line} pages, and \
                         flash.pages_per_block is {pages}; set it to {}",
                        PAGE_ORDER.key,
                        pages.next_multiple_of(line).max(line * line)
                    ));
                }
                *times = times.in_staircase(pages);
            }
        }
        if word_line > 1 && program.is_some() {
            return Err(format!(
                "{PROGRAM_TIMES} is for pages that are programmed one by one, and {WORD_LINE} is {word_line}; give the \
                 time of a program as flash.program_time"
            ));
        }
        let pages = read.map_or(1, |read| read.pages());
        if word_line > 1 && pages > 1 && u64::from(pages) != word_line {
            return Err(format!("{READ_TIMES} has {pages} times for a word line of {word_line} pages ({WORD_LINE})"));
        }
        Ok([read, program])
    }

    /// The reason why flash cannot have this shape, and the key to change.
    pub(crate) fn impossible(&self, error: &GeometryError, config: &Config) -> ConfigError {
        let page = u64::from(self.mapped.page_bytes);
        let remedy = match *error {
            // As much less as it is too much, and a little for what is rounded up to whole blocks.
            GeometryError::TooLarge { value, limit, field: GeometryError::PAGES } => {
                let capacity = config.values.whole("drive.capacity");
                let fitting = (capacity as f64 * (limit as f64 / value as f64) * 0.98) as u64;
                let lower = size_at_most(fitting, page).unwrap_or_default();
                // What is mapped is numbered: larger units are fewer.
                let larger = page * value.div_ceil(limit).next_power_of_two();
                let set = self.keys_of_larger(larger);
                let set = set.map_or(String::new(), |keys| format!("set {keys} = \"{}\", or ", format_size(larger)));
                let problem = format!(
                    "{error}; {set}lower drive.capacity from {} to \"{lower}\"",
                    config.resolved["drive.capacity"]
                );
                return ConfigError::TooLarge { problem };
            }
            GeometryError::TooLarge { field: GeometryError::DIES, .. } => {
                "lower flash.channels or flash.dies_per_channel".to_owned()
            }
            _ => "lower drive.capacity or raise flash.page_size".to_owned(),
        };
        ConfigError::Together { problem: format!("{error}; {remedy}") }
    }
}

/// Whether a block of so many pages has a number for each unit. A page has `page` bytes, and a unit `unit`.
fn check_block(values: &Values, pages: u64, [page, unit]: [u64; 2], planes: u64) -> Result<(), String> {
    let (of_page, most) = (page / unit * planes, Geometry::PAGES_PER_BLOCK_MAX);
    let units = pages * of_page;
    if units <= most {
        return Ok(());
    }
    let planes = if planes > 1 { format!(" in each of {planes} planes ({AS_ONE})") } else { String::new() };
    let word_line = values.whole(WORD_LINE);
    let larger = unit * units.div_ceil(most).next_power_of_two();
    let raise = if larger > page { String::new() } else { format!("raise {UNIT} to \"{}\" or ", format_size(larger)) };
    Err(format!(
        "flash.pages_per_block is {pages}; with pages of {}{planes} a block has {units} units of {} ({}), and the \
         limit is {most}; {raise}lower flash.pages_per_block to {}",
        format_size(page),
        format_size(unit),
        layer::page_key(values, unit),
        most / of_page / word_line * word_line
    ))
}

/// Bits of a cell, where some blocks are used with one: more than 1.
pub(crate) fn slc_bits(values: &Values) -> Option<u32> {
    SLC_CACHE.iter().any(|key| is_above_zero(values, key)).then(|| values.whole(WORD_LINE) as u32)
}

fn check_slc(values: &Values) -> Result<(), String> {
    let Some(bits) = slc_bits(values) else { return Ok(()) };
    let [share, blocks] = SLC_CACHE;
    if bits < 2 {
        return Err(format!(
            "{share} and {blocks} use cells of several bits with one, and {WORD_LINE} is {bits}; set it to 3 for \
             TLC or 4 for QLC, or choose such a flash.part"
        ));
    }
    if values.name("stripe.kind") != "none" {
        return Err(format!(
            "{share} and {blocks} let blocks differ in what they hold, and stripes count on blocks of one \
             size; set stripe.kind to \"none\", or {share} to \"0%\" and {blocks} to 0"
        ));
    }
    if values.name("ftl.gc.frontier") != "separate" {
        return Err(format!("{share} and {blocks} need blocks of the host's own; set ftl.gc.frontier to \"separate\""));
    }
    Ok(())
}

fn check_memory(values: &Values) -> Result<(), String> {
    if values.get(FIRST_PASS).is_some() && values.whole(WORD_LINE) == 1 {
        return Err(format!("{FIRST_PASS} is for whole word lines, and {WORD_LINE} is 1; set that to 4 for QLC"));
    }
    if values.get(FIRST_PASS).is_some() && !values.on(PROTECTED) {
        return Err(format!(
            "after the first pass data is in memory alone, which a flush would have to wait for: {FIRST_PASS} does \
             not go with {PROTECTED} = false; set that to \"true\""
        ));
    }
    let kind = values.name("ftl.kind");
    let what = match () {
        () if values.on(PROTECTED) => return Ok(()),
        () if kind != "page" => format!("ftl.kind = {kind} counts on what was programmed; choose \"page\""),
        () if values.name("stripe.kind") != "none" => {
            "stripes count on what was programmed; set stripe.kind to \"none\"".to_owned()
        }
        () if values.name("ftl.gc.frontier") != "separate" => {
            "filling up programs would take the room of copies; set ftl.gc.frontier to \"separate\"".to_owned()
        }
        () => return Ok(()),
    };
    Err(format!("{PROTECTED} = false takes back what was programmed, and {what}, or {PROTECTED} to \"true\""))
}

fn check_page(page: u64) -> Result<(), String> {
    if page.is_power_of_two() {
        return Ok(());
    }
    let [found, near] = [exact_size(page), format_size(page.next_power_of_two())];
    Err(format!("flash.page_size is {found}, no power of two; try \"{near}\""))
}

fn check_unit(unit: u64, page: u64, lockstep: Lockstep) -> Result<(), String> {
    if unit.is_power_of_two() && unit <= page {
        return Ok(());
    }
    let [unit, page] = [unit, page].map(format_size);
    let what = if lockstep.chips() > 1 { "flash.page_size times the chips in lockstep" } else { "flash.page_size" };
    Err(format!("{UNIT} is {unit}; it is a power of two up to {what}, which is {page}"))
}

fn check_programs(values: &Values, mapping: &Mapping, per_program: u64) -> Result<(), String> {
    if per_program > 1 && mapping.kept_erased.is_none() {
        return Err(format!(
            "ftl.kind = {} puts each page at its own place in a block and programs it there by itself, so it takes \
             neither {UNIT} below flash.page_size nor {WORD_LINE} nor {AS_ONE}. Use a page-level mapping such as \
             ftl.kind = page",
            mapping.name
        ));
    }
    if per_program > 1 && values.get("ftl.gc.copyback").is_some() && values.on("ftl.gc.copyback") {
        return Err(format!(
            "ftl.gc.copyback moves a page from place to place inside its plane, and a program of {per_program} units \
             is gathered in the controller; set ftl.gc.copyback to \"false\""
        ));
    }
    if per_program == 1 && !values.on(PROTECTED) {
        return Err(format!(
            "{PROTECTED} = false is for pages that wait until a program is full. Here a program writes one page, \
             which waits for nothing. Set it to \"true\", or {UNIT}, {WORD_LINE} or {AS_ONE} for programs of several"
        ));
    }
    Ok(())
}

/// Units that the memory for pages on their way into cells has room for.
fn gather_units(values: &Values, mapped: &Organization, per_program: u64) -> Result<u32, String> {
    let unit = u64::from(mapped.page_bytes);
    let enough = PROGRAMS * per_program * u64::from(mapped.dies() * mapped.planes_per_die);
    let room = values.get(MEMORY).map_or(enough, |_| values.whole(MEMORY) / unit);
    if room < per_program {
        return Err(format!(
            "{MEMORY} has room for {room} units, and a program writes {per_program} of them; raise it to {} or more",
            format_size(per_program * unit)
        ));
    }
    Ok(u32::try_from(room).unwrap_or(u32::MAX))
}

/// Array time of the first of two passes, where there are two.
pub(crate) fn first_pass(values: &Values) -> Option<u64> {
    values.get(FIRST_PASS).map(|_| values.whole(FIRST_PASS))
}

/// Times of blocks with one bit a cell, where there are some.
pub(crate) fn slc_times(values: &Values) -> Option<SlcTimes> {
    slc_bits(values).map(|_| SlcTimes { read_ns: values.whole(SLC_READ), program_ns: values.whole(SLC_PROGRAM) })
}

/// Lets blocks of fresh flash be used with one bit a cell, where some are.
pub(crate) fn allow_slc(values: &Values, flash: &mut FlashState) {
    if let Some(bits) = slc_bits(values) {
        flash.blocks.allow_slc(bits, values.whole(SLC_ENDURANCE) as u32);
    }
}

fn times(values: &Values, key: &str) -> Result<Option<PageTimes>, String> {
    if values.get(key).is_none() {
        return Ok(None);
    }
    let text = values.name(key);
    let times: Result<Vec<_>, _> = text.split(',').map(|time| parse_duration(time.trim())).collect();
    let times = times.map_err(|error| format!("{key} is `{text}`: {error}; write times separated by commas"))?;
    let count = times.len();
    PageTimes::new(&times)
        .map(Some)
        .ok_or_else(|| format!("{key} has {count} times; a word line has 1 to {PAGE_TYPES} pages"))
}
