//! The promises of a drive about power cuts, in one place. The simulated drive keeps them, servers advertise them, and
//! `torture` holds a program to them.
//!
//! A flash page is programmed as a whole or not at all, so a drive keeps aligned writes of up to a page of its mapping
//! whole without any means. For more there are two ways. A write enters a non-volatile buffer at once, with all of its
//! pages or with none. Without a buffer, mappings that know groups mark the pages of a write in their out-of-band
//! areas.

use crate::DrivePlan;
use crate::array::PROTECTED;
use crate::build::{buffer_of, mapping_of, together};
use crate::config::ConfigError;
use crate::config::flash_keys::MOST_PAGE;
use buffer::ACKNOWLEDGED_ON_FLASH;
use ftl::alloc::{FRONTIERS, Frontiers, PLACEMENTS, Placement};
use ftl::mapping::{KEY, MOST_GROUP_PAGES, SLC_CACHED, mappings};
use layer::{ATOMIC, Condition, Parameter, ParameterKind, UNIT, page_key};
use units::{SECTOR_BYTES, quantity};

/// Most bytes of an atomic write: clients' requests reach the drive in pieces of this size.
const MOST: u64 = 256 << 10;

/// The key of [`Promises::atomic_bytes`].
pub(crate) const ATOMIC_BYTES: Parameter = Parameter::new(
    ATOMIC,
    ParameterKind::Size { min: SECTOR_BYTES, max: MOST },
    "512B",
    "Bytes of the largest write that a power cut never tears, a power of two. A write of at most this size that does \
     not cross a multiple of it is there as a whole or not at all (untorn or atomic writes). Up to a page of the \
     mapping (ftl.unit) the promise costs nothing. For more, a drive without a buffer marks the pages of a write as a \
     group (ftl.kind page or superpage), and a drive with one needs a non-volatile buffer. In both, a write waits \
     until there is room for all of its pages.",
)
.example("16KiB");

/// The promises of a drive about power cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promises {
    /// A write of at most this size that does not cross a multiple of it is there as a whole or not at all.
    pub atomic_bytes: u64,
    /// An answered write may be lost until it is flushed, and later ones may be there without it. Otherwise every
    /// answered write lasts, so that writes that follow answers keep their order.
    pub is_volatile: bool,
}

impl DrivePlan {
    /// The promises of the drive, or of the driver of the host over it.
    pub fn promises(&self) -> Promises {
        // A driver's map is on the drive with a flush at the latest.
        let is_volatile = self.remap.is_some() || self.is_volatile();
        Promises { atomic_bytes: self.config.values.whole(ATOMIC), is_volatile }
    }

    /// Sectors of the aligned windows in which no write is torn: the promise, or a page of the mapping, which a drive
    /// keeps whole without any promise.
    pub fn kept_whole(&self) -> u64 {
        let page = u64::from(self.host_page_sectors());
        page.max(self.promises().atomic_bytes / SECTOR_BYTES)
    }

    /// Whether an acknowledged write may still be lost with power, until it is flushed.
    pub fn is_volatile(&self) -> bool {
        let values = &self.config.values;
        let gathers = self.gather.is_some() && !values.on("stripe.buffer_nonvolatile");
        match buffer_of(&self.config) {
            None => gathers || self.array.forgets,
            // Both ways lead past memory that forgets below.
            Some(_) => !values.on("buffer.nonvolatile") && !ACKNOWLEDGED_ON_FLASH.read(values),
        }
    }

    /// Whether the drive can keep the promise of `drive.atomic`.
    pub(crate) fn check_promises(&self) -> Result<(), ConfigError> {
        let values = &self.config.values;
        let (atomic, page) = (values.whole(ATOMIC), u64::from(self.geometry.page_bytes));
        let refused = |why: String| {
            let size = quantity::exact_size(atomic);
            Err(together(format!("{ATOMIC} is {size}, {why}")))
        };
        if !atomic.is_power_of_two() {
            let near = quantity::exact_size(atomic.next_power_of_two() / 2);
            return refused(format!("which is not a power of two; try \"{near}\""));
        }
        if let Some(remap) = self.remap.as_ref().filter(|_| atomic > SECTOR_BYTES) {
            let kind = values.name(remap::KEY);
            let page = quantity::exact_size(u64::from(remap.shape.page_sectors) * SECTOR_BYTES);
            return refused(format!(
                "and the driver of the host ({} = {kind}) promises sectors alone: its log may end between two pages of \
                 {page}; set {ATOMIC} to \"512B\", or {} to \"none\"",
                remap::KEY,
                remap::KEY
            ));
        }
        if page.is_multiple_of(atomic) {
            return Ok(());
        }
        let (key, unit) = (page_key(values, page), quantity::exact_size(page));
        if !atomic.is_multiple_of(page) {
            return refused(format!("no whole number of pages of {unit} ({key})"));
        }
        match (buffer_of(&self.config), self.groups_refused((atomic / page) as u32)) {
            (Some(_), _) if values.on("buffer.nonvolatile") => Ok(()),
            (None, None) => Ok(()),
            (buffer, why) => {
                let why = why.filter(|_| buffer.is_none());
                refused(self.way_out(why, key, atomic))
            }
        }
    }

    /// Why the mapping does not keep writes of so many pages whole, with the setting that helps. `None`: it does.
    fn groups_refused(&self, pages: u32) -> Option<String> {
        let values = &self.config.values;
        let block = self.geometry.pages_per_block.min(MOST_GROUP_PAGES);
        let known = mappings().into_iter().filter(|mapping| mapping.keeps_groups);
        if self.stripes.is_some() || self.coded.is_some() {
            Some("parities change with each page; set stripe.kind to \"none\"".into())
        } else if !mapping_of(&self.config).keeps_groups {
            let names: Vec<_> = known.map(|mapping| format!("\"{}\"", mapping.name)).collect();
            Some(format!("set {KEY} to {}", names.join(" or ")))
        } else if self.array.forgets {
            Some(format!("memory forgets pages that are answered; set {PROTECTED} to \"true\""))
        } else if SLC_CACHED.holds(ATOMIC, values) {
            let is_set = |key: &&'static str| Condition::above_zero(key).holds(ATOMIC, values);
            let set: Vec<_> = ["ftl.slc.share", "ftl.slc.blocks"].into_iter().filter(is_set).collect();
            Some(format!("pages move from the SLC cache; set {} to \"0\"", set.join(" and ")))
        } else if FRONTIERS.read(values) == Frontiers::Shared {
            Some(format!("collection shares the open block of the host; set {} to \"separate\"", FRONTIERS.key))
        } else if PLACEMENTS.read(values) == Placement::Static {
            Some(format!("each page has a home plane; set {} to \"dynamic\"", PLACEMENTS.key))
        } else if pages > block {
            Some(format!("a write has {pages} pages, and a block {block}; raise flash.pages_per_block"))
        } else {
            None
        }
    }

    /// The settings that let a drive keep `atomic` bytes whole; `groups`: why its mapping does not.
    fn way_out(&self, groups: Option<String>, key: &str, atomic: u64) -> String {
        let values = &self.config.values;
        let unit = quantity::exact_size(u64::from(self.geometry.page_bytes));
        // A page of the mapping is as large as a page of flash at most, which has a limit of its own.
        let most = if key == UNIT { values.whole("flash.page_size") } else { MOST_PAGE };
        let larger = format!("set {key} to \"{}\", or ", quantity::exact_size(atomic));
        let larger = if key.contains(' ') || atomic > most { "" } else { &larger };
        let buffered = if ACKNOWLEDGED_ON_FLASH.read(values) { ", buffer.acknowledge to \"buffer\"" } else { "" };
        let groups = groups.map(|why| format!("{why}, or ")).unwrap_or_default();
        format!(
            "and the mapping programs pages of {unit} ({key}) one by one: a power cut may leave a write half old and \
             half new; {groups}{larger}set buffer.nonvolatile to true{buffered} and a buffer.kind, so that protected \
             memory takes a write as a whole"
        )
    }
}
