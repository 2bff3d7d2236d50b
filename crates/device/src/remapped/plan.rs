//! The keys of a remapping driver, and what they come to over a drive.

use layer::{Parameter, ParameterKind as Kind, Values};
use remap::{Layout, Options, Partial, WriteCache};
use units::{Geometry, Nanos, SECTOR_BYTES, quantity};

const HOUR: Nanos = 3_600_000_000_000;
/// Bytes of a page, the unit of the driver's map.
const PAGE_BYTES: u64 = 4096;
/// Bytes of a virtual superpage over a drive that maps no larger unit than a page of the driver.
const USUAL_SUPERPAGE: u64 = 16 << 10;

const fn key(key: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Parameter {
    Parameter { key, kind, default: Some(default), doc }
}

/// The keys, in display order.
pub fn parameters() -> Vec<Parameter> {
    vec![
        key("remap.kind", Kind::Choice(|| vec!["none", "hard"]), "none", "A driver of the host over the drive. none: requests go to the drive as they are. hard: small writes become aligned writes of whole superpages, by a map of pages of 4 KiB; the host sees the driver's size."),
        Parameter {
            key: "remap.superpage",
            kind: Kind::Size { min: 4 << 10, max: 4 << 20 },
            default: None,
            doc: "Bytes of a virtual superpage, a power of two. Without it: the mapping unit of the drive below where that is larger than 4 KiB, 16KiB otherwise.",
        },
        key("remap.hold_back", Kind::Share { max: 0.9 }, "10%", "Share of the driver's space that the host does not see: what reclamation has to work with. At least 1 %; a small drive gives more."),
        key("remap.timeout", Kind::Duration { max: HOUR }, "2ms", "How long a page waits for others before its virtual superpage is written all the same. Without time (engine.time = none) it waits until nothing else can happen."),
        key("remap.partial", Kind::Choice(|| vec!["pad", "hold"]), "pad", "What is written of a virtual superpage that is not full then. pad: all of it, and slots without a page are lost until it is reclaimed. hold: only the filled part, which the drive has to read and modify; the next pages go to the rest."),
        key("remap.write_cache", Kind::Choice(|| vec!["through", "volatile"]), "through", "When a write is answered. through: when the drive has written its virtual superpage; volatile: when its data are in the host's memory. Either way only a flush makes sure that the driver's map survives a power cut."),
        key("remap.bypass", Kind::Switch, "false", "Write whole superpages in place where one virtual superpage holds exactly their pages."),
        key("remap.var_free", Kind::Count { min: 1, max: 1000 }, "2", "Reclamation (VAR) begins when so many free virtual superpages are left; they are kept for it."),
        key("remap.var_background", Kind::Share { max: 1.0 }, "5%", "Share of virtual superpages that reclamation keeps free while the host is idle."),
        key("remap.idle_after", Kind::Duration { max: HOUR }, "100ms", "Time without a request after which the host is idle."),
        key("remap.trim", Kind::Switch, "false", "Tell the drive which virtual superpages are free."),
    ]
}

/// A driver over a drive: its options and its layout.
#[derive(Clone, Copy, Debug)]
pub struct RemapPlan {
    /// Options.
    pub options: Options,
    /// Where everything is on the drive.
    pub layout: Layout,
}

impl RemapPlan {
    /// The driver that `values` ask for over a drive of this geometry; `None`: none.
    ///
    /// # Errors
    /// In words, where values do not fit the drive, or each other.
    pub fn new(values: &Values, geometry: &Geometry, user_pages: u32) -> Result<Option<Self>, String> {
        if values.name("remap.kind") == "none" {
            return Ok(None);
        }
        let contents = values.name("engine.contents");
        if contents == "stamp" {
            return Err("remap.kind = hard moves data and keeps its map on the drive, for which stamps have no room; use engine.contents = bytes (or none)".to_owned());
        }
        if contents == "bytes" && values.name("engine.service") == "serial" && values.name("engine.time") == "virtual" {
            return Err("a single server carries no bytes; use engine.service = parallel, or engine.contents = none".to_owned());
        }
        let unit = u64::from(geometry.page_bytes);
        let usual = if unit > PAGE_BYTES { unit } else { USUAL_SUPERPAGE };
        let superpage = values.get("remap.superpage").map_or(usual, |_| values.whole("remap.superpage"));
        if !superpage.is_power_of_two() {
            let size = quantity::format_size(superpage.next_power_of_two());
            return Err(format!("remap.superpage is {superpage} bytes, no power of two; try \"{size}\""));
        }
        if values.real("remap.hold_back") < 0.01 {
            return Err("remap.hold_back is below 1 %, which leaves reclamation nothing to work with; 10% is usual".to_owned());
        }
        let options = Options {
            page_sectors: (PAGE_BYTES / SECTOR_BYTES) as u32,
            superpage_sectors: (superpage / SECTOR_BYTES) as u32,
            hold_back: values.real("remap.hold_back"),
            cell_bytes: if contents == "bytes" { SECTOR_BYTES as u32 } else { 0 },
            timeout_ns: values.whole("remap.timeout"),
            partial: if values.name("remap.partial") == "hold" { Partial::Hold } else { Partial::Pad },
            write_cache: if values.name("remap.write_cache") == "volatile" { WriteCache::Volatile } else { WriteCache::Through },
            bypass: values.on("remap.bypass"),
            var_free: values.whole("remap.var_free") as u32,
            var_background: values.real("remap.var_background"),
            idle_after_ns: values.whole("remap.idle_after"),
            trim: values.on("remap.trim"),
            ..Options::default()
        };
        let sectors = u64::from(user_pages) * u64::from(geometry.sectors_per_page());
        let layout = Layout::new(&options, sectors).map_err(|error| {
            format!("remap.kind = hard over a drive of {}: {error}; see drive.capacity and remap.superpage", quantity::format_size(sectors * SECTOR_BYTES))
        })?;
        Ok(Some(Self { options, layout }))
    }
}

/// What a driver counted, by name.
pub fn counters(report: &remap::Report) -> [(&'static str, u64); 23] {
    [
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
