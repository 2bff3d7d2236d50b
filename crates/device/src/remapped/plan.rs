//! The keys of a driver of the host, and what they come to over a drive.

use layer::{Named, Parameter, ParameterKind as Kind, Values};
use remap::{
    Hard, HostReport, Layout, LayoutError, LogCache, LogLayout, LogOptions, LogReport, Machine, OpenError, Options,
    Partial, ReadSectors, Report, WriteCache,
};
use units::{Geometry, HOUR, SECTOR_BYTES, quantity};

/// Bytes of a page, the unit of the driver's map.
const PAGE_BYTES: u64 = 4096;
/// Bytes of a virtual superpage over a drive that maps no larger unit than a page of the driver.
const USUAL_SUPERPAGE: u64 = 16 << 10;

const KINDS: [Named; 3] = [
    ("none", "requests go to the drive as they are"),
    ("hard", "small writes become aligned writes of whole superpages, by a map of pages of 4 KiB"),
    (
        "log-cache",
        "writes gather in segments, go to a log at the beginning of the drive, and later to where they belong, sorted",
    ),
];
const PARTIALS: [Named; 2] = [
    ("pad", "all of it, and slots without a page are lost until it is reclaimed"),
    ("hold", "only the filled part, which the drive has to read and modify; the next pages go to the rest"),
];
const CACHES: [Named; 2] = [
    ("through", "when the drive has written its virtual superpage or its segment"),
    ("volatile", "when its data are in the host's memory"),
];

/// The keys, in display order.
pub fn parameters() -> Vec<Parameter> {
    [what_and_where(), when_written(), reclamation()].concat()
}

fn what_and_where() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "remap.kind",
            Kind::Choice(|| KINDS.to_vec()),
            "none",
            "A driver of the host over the drive. With one the host sees the driver's size.",
        ),
        Parameter::optional(
            "remap.superpage",
            Kind::Size { min: 4 << 10, max: 4 << 20 },
            "Bytes of a virtual superpage, a power of two; of a log cache: what its writes to the log are \
                multiples of. Without it: the mapping unit of the drive below where that is larger than 4 KiB, 16KiB \
                otherwise.",
        ),
        Parameter::new(
            "remap.segment",
            Kind::Size { min: 8 << 10, max: 16 << 20 },
            "512KiB",
            "Bytes of a segment of a log cache, a power of two: what one write to the log holds at most, its header \
             included.",
        ),
        Parameter::new(
            "remap.log",
            Kind::Share { max: 0.5 },
            "10%",
            "Share of the drive that the log of a log cache takes. At least 0.1 %; a small drive gives more, as four \
             segments have to fit.",
        ),
        Parameter::new(
            "remap.hold_back",
            Kind::Share { max: 0.9 },
            "10%",
            "Share of the driver's space that the host does not see: what reclamation has to work with. At least 1 %; \
             a small drive gives more.",
        ),
    ]
}

fn when_written() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "remap.timeout",
            Kind::Duration { max: HOUR },
            "2ms",
            "How long a page waits for others before its virtual superpage, or its segment, is written all the same. \
             Without time (engine.time = none) it waits until nothing else can happen.",
        ),
        Parameter::new(
            "remap.partial",
            Kind::Choice(|| PARTIALS.to_vec()),
            "pad",
            "What is written of a virtual superpage that is not full then (remap.timeout).",
        ),
        Parameter::new(
            "remap.write_cache",
            Kind::Choice(|| CACHES.to_vec()),
            "through",
            "When a write is answered. Either way only a flush makes sure that the driver's map survives a power cut.",
        ),
        Parameter::new(
            "remap.bypass",
            Kind::Switch,
            "false",
            "Write whole superpages in place where one virtual superpage holds exactly their pages.",
        ),
    ]
}

fn reclamation() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "remap.var_free",
            Kind::Count { min: 1, max: 1000 },
            "2",
            "Reclamation (VAR) begins when so many free virtual superpages are left; they are kept for it. One that is \
             emptied is free only when the journal leads away from it. So the journal is written before its superpages \
             are full: of the 1020 records that fit into 16 KiB they carried 260 to 530 (uniform 4 KiB writes and \
             oltp, 200,000 requests, 256 MiB).",
        ),
        Parameter::new(
            "remap.var_background",
            Kind::Share { max: 1.0 },
            "5%",
            "Share of virtual superpages that reclamation keeps free while the host is idle.",
        ),
        Parameter::new(
            "remap.idle_after",
            Kind::Duration { max: HOUR },
            "100ms",
            "Time without a request after which the host is idle: hard reclaims then, and a log cache writes its log \
             back.",
        ),
        Parameter::new(
            "remap.trim",
            Kind::Switch,
            "false",
            "Tell the drive which virtual superpages are free. They are soon written again, and the drive writes \
             records of what was trimmed: 2 to 4 % more programs with uniform 4 KiB writes, 5 % fewer with oltp \
             (200,000 requests, 256 MiB).",
        ),
    ]
}

/// Keys that only one kind of driver reads, and which.
pub(crate) fn only_of(key: &str) -> Option<&'static str> {
    match key {
        "remap.hold_back"
        | "remap.partial"
        | "remap.bypass"
        | "remap.var_free"
        | "remap.var_background"
        | "remap.trim" => Some("hard"),
        "remap.segment" | "remap.log" => Some("log-cache"),
        _ => None,
    }
}

/// A driver over a drive: its options and its layout, where everything is on the drive.
#[derive(Clone, Copy, Debug)]
pub enum RemapPlan {
    /// A remapping driver.
    Hard {
        /// Options.
        options: Options,
        /// Layout.
        layout: Layout,
    },
    /// A log cache.
    LogCache {
        /// Options.
        options: LogOptions,
        /// Layout.
        layout: LogLayout,
    },
}

impl RemapPlan {
    /// The driver that `values` ask for over a drive of this geometry; `None`: none.
    ///
    /// # Errors
    /// In words, where values do not fit the drive, or each other.
    pub fn new(values: &Values, geometry: &Geometry, user_pages: u32) -> Result<Option<Self>, String> {
        let kind = values.name("remap.kind");
        if kind == "none" {
            return Ok(None);
        }
        let contents = values.name("engine.contents");
        if contents == "stamp" {
            return Err(format!(
                "remap.kind = {kind} moves data and keeps metadata on the drive, for which stamps have no room; use \
                 engine.contents = bytes (or none)"
            ));
        }
        if contents == "bytes" && values.name("engine.service") == "serial" && values.name("engine.time") == "virtual" {
            return Err(
                "a single server carries no bytes; use engine.service = parallel, or engine.contents = none".to_owned()
            );
        }
        let unit = u64::from(geometry.page_bytes);
        let usual = if unit > PAGE_BYTES { unit } else { USUAL_SUPERPAGE };
        let superpage = values.get("remap.superpage").map_or(usual, |_| values.whole("remap.superpage"));
        power_of_two("remap.superpage", superpage)?;
        let sectors = u64::from(user_pages) * u64::from(geometry.sectors_per_page());
        let plan = match kind {
            "hard" => Self::hard(values, superpage, sectors)?,
            _ => Self::log_cache(values, superpage, sectors)?,
        };
        Ok(Some(plan))
    }

    fn hard(values: &Values, superpage: u64, sectors: u64) -> Result<Self, String> {
        if values.real("remap.hold_back") < 0.01 {
            return Err(
                "remap.hold_back is below 1 %, which leaves reclamation nothing to work with; 10% is usual".to_owned()
            );
        }
        let options = Options {
            page_sectors: (PAGE_BYTES / SECTOR_BYTES) as u32,
            superpage_sectors: (superpage / SECTOR_BYTES) as u32,
            hold_back: values.real("remap.hold_back"),
            cell_bytes: cell_bytes(values),
            timeout_ns: values.whole("remap.timeout"),
            partial: if values.name("remap.partial") == "hold" { Partial::Hold } else { Partial::Pad },
            write_cache: write_cache(values),
            bypass: values.on("remap.bypass"),
            var_free: values.whole("remap.var_free") as u32,
            var_background: values.real("remap.var_background"),
            idle_after_ns: values.whole("remap.idle_after"),
            trim: values.on("remap.trim"),
            ..Options::default()
        };
        let layout =
            Layout::new(&options, sectors).map_err(|error| does_not_fit("hard", sectors, &error, "remap.superpage"))?;
        Ok(Self::Hard { options, layout })
    }

    fn log_cache(values: &Values, superpage: u64, sectors: u64) -> Result<Self, String> {
        let segment = values.whole("remap.segment");
        power_of_two("remap.segment", segment)?;
        if segment < superpage {
            let [size, least] = [segment, superpage].map(quantity::format_size);
            return Err(format!(
                "remap.segment is {size}, less than the {least} that the log is written in multiples of; raise it to \
                 \"{least}\" at least, or lower remap.superpage"
            ));
        }
        if values.real("remap.log") < 0.001 {
            return Err("remap.log is below 0.1 %, too little for a log; 10% is usual".to_owned());
        }
        let options = LogOptions {
            page_sectors: (PAGE_BYTES / SECTOR_BYTES) as u32,
            superpage_sectors: (superpage / SECTOR_BYTES) as u32,
            segment_sectors: (segment / SECTOR_BYTES) as u32,
            log: values.real("remap.log"),
            cell_bytes: cell_bytes(values),
            timeout_ns: values.whole("remap.timeout"),
            write_cache: write_cache(values),
            idle_after_ns: values.whole("remap.idle_after"),
            ..LogOptions::default()
        };
        let layout = LogLayout::new(&options, sectors)
            .map_err(|error| does_not_fit("log-cache", sectors, &error, "remap.segment"))?;
        Ok(Self::LogCache { options, layout })
    }

    pub(super) fn format(&self, id: u64) -> Machine {
        match self {
            Self::Hard { options, layout } => Machine::Hard(Box::new(Hard::format(*layout, options, id))),
            Self::LogCache { options, layout } => Machine::LogCache(Box::new(LogCache::format(*layout, options, id))),
        }
    }

    pub(super) fn open(&self, device_sectors: u64, read: &mut ReadSectors) -> Result<Machine, OpenError> {
        Ok(match self {
            Self::Hard { options, .. } => Machine::Hard(Box::new(Hard::open(options, device_sectors, read)?)),
            Self::LogCache { options, .. } => {
                Machine::LogCache(Box::new(LogCache::open(options, device_sectors, read)?))
            }
        })
    }

    /// Bytes of data a sector: 512, or 0 without contents.
    pub fn cell_bytes(&self) -> u32 {
        match self {
            Self::Hard { options, .. } => options.cell_bytes,
            Self::LogCache { options, .. } => options.cell_bytes,
        }
    }

    /// Sectors that the host sees.
    pub fn sectors(&self) -> u64 {
        match self {
            Self::Hard { layout, .. } => layout.sectors(),
            Self::LogCache { layout, .. } => layout.sectors(),
        }
    }

    /// Sectors of the drive.
    pub fn device_sectors(&self) -> u64 {
        match self {
            Self::Hard { layout, .. } => layout.device_sectors(),
            Self::LogCache { layout, .. } => layout.device_sectors(),
        }
    }

    /// Pages of a superpage.
    pub fn superpage_pages(&self) -> u64 {
        match self {
            Self::Hard { layout, .. } => u64::from(layout.slots()),
            Self::LogCache { layout, .. } => u64::from(layout.superpage_sectors() / layout.page_sectors()),
        }
    }

    /// Sectors of a page of the driver.
    pub fn page_sectors(&self) -> u32 {
        (PAGE_BYTES / SECTOR_BYTES) as u32
    }
}

/// Why a driver has no layout on a drive of so many sectors, and what to change.
fn does_not_fit(kind: &str, sectors: u64, error: &LayoutError, unit: &str) -> String {
    let over = format!("remap.kind = {kind} over a drive of {}", quantity::format_size(sectors * SECTOR_BYTES));
    // Whole pages of any flash.
    let capacity = |sectors: u64| quantity::size_at_least(sectors * SECTOR_BYTES, 32 << 10).unwrap_or_default();
    match *error {
        LayoutError::Small { least, .. } | LayoutError::NoLog { least, .. } => {
            format!(
                "{over}: the drive is too small; raise drive.capacity to \"{}\" or more, or lower {unit}",
                capacity(least)
            )
        }
        _ => format!("{over}: {error}; see drive.capacity and {unit}"),
    }
}

fn power_of_two(key: &str, bytes: u64) -> Result<(), String> {
    if bytes.is_power_of_two() {
        return Ok(());
    }
    let size = quantity::format_size(bytes.next_power_of_two());
    Err(format!("{key} is {}, no power of two; try \"{size}\"", quantity::exact_size(bytes)))
}

fn cell_bytes(values: &Values) -> u32 {
    if values.name("engine.contents") == "bytes" { SECTOR_BYTES as u32 } else { 0 }
}

fn write_cache(values: &Values) -> WriteCache {
    if values.name("remap.write_cache") == "volatile" { WriteCache::Volatile } else { WriteCache::Through }
}

/// What a driver counted, by name.
pub fn counters(report: &HostReport) -> Vec<(&'static str, u64)> {
    match report {
        HostReport::Hard(report) => of_hard(report),
        HostReport::LogCache(report) => of_log_cache(report),
    }
}

fn of_log_cache(report: &LogReport) -> Vec<(&'static str, u64)> {
    vec![
        ("host_pages", report.host_pages),
        ("overwritten_pages", report.overwritten_pages),
        ("trims", report.trims),
        ("merge_reads", report.merge_reads),
        ("segments", report.segments),
        ("data_pages", report.data_pages),
        ("header_pages", report.header_pages),
        ("pad_pages", report.pad_pages),
        ("write_backs", report.write_backs),
        ("written_back_segments", report.written_back_segments),
        ("write_back_pages", report.write_back_pages),
        ("write_back_commands", report.write_back_commands),
        ("write_back_reads", report.write_back_reads),
        ("reads", report.reads),
        ("reads_split", report.reads_split),
        ("read_commands", report.read_commands),
        ("memory_hits", report.memory_hits),
        ("log_hits", report.log_hits),
        ("home_hits", report.home_hits),
        ("device_flushes", report.device_flushes),
        ("host_flushes", report.host_flushes),
        ("failed_commands", report.failed_commands),
        ("free", u64::from(report.free)),
        ("cached_pages", u64::from(report.cached_pages)),
        ("broken", u64::from(report.broken)),
    ]
}

fn of_hard(report: &Report) -> Vec<(&'static str, u64)> {
    vec![
        ("host_pages", report.host_pages),
        ("in_place_pages", report.in_place_pages),
        ("var_copies", report.var_copies),
        ("moved_pages", report.moved_pages),
        ("superpages", report.superpages),
        ("pad_pages", report.pad_pages),
        ("victims", report.victims),
        ("unreadable", report.unreadable),
        ("merge_reads", report.merge_reads),
        ("reads", report.reads),
        ("reads_split", report.reads_split),
        ("read_commands", report.read_commands),
        ("journal_superpages", report.journal_superpages),
        ("checkpoint_superpages", report.checkpoint_superpages),
        ("checkpoints", report.checkpoints),
        ("device_flushes", report.device_flushes),
        ("host_flushes", report.host_flushes),
        ("failed_commands", report.failed_commands),
        ("free", u64::from(report.free)),
        ("empty", u64::from(report.empty)),
        ("aside", u64::from(report.aside)),
        ("mapped_pages", u64::from(report.mapped_pages)),
        ("broken", u64::from(report.broken)),
    ]
}
