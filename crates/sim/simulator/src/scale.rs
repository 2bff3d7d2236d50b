//! A drive many times smaller than its keys say, which answers much sooner.
//!
//! *Why that is no other drive*: times come from dies, channels and the host, write amplification from shares. Where
//! pages are mapped one by one, neither knows how many blocks a die has or how long they are, once there are enough. An
//! erase takes as much less time as a block is shorter. A test of the crate that fits drives halves one.
//!
//! Simplified: blocks that are open or kept erased do not become fewer, and are a larger share of a smaller drive.
//! Where that takes more than [`MISSED`] of the effective spare flash, a note says so.

use crate::config::ConfigError;
use crate::{Config, DrivePlan};
use layer::{Parameter, ParameterKind, Value, Values};
use std::fmt::Write;
use units::quantity::format_size;
use units::{Nanos, SECTOR_BYTES};

/// How many times smaller.
const SCALE: &str = "drive.scale";
const CAPACITY: &str = "drive.capacity";
const PAGES: &str = "flash.pages_per_block";
const ERASE: &str = "flash.erase_time";
/// Blocks a plane should have, and word lines and mapped pages a block.
const BLOCKS: u64 = 1024;
const WORD_LINES: u64 = 8;
const UNITS: u64 = 128;
/// Blocks of a die that are open or kept erased.
const KEPT: f64 = 3.0;
/// Share of the effective spare flash that may be missing in a run without a note.
const MISSED: f64 = 0.05;
/// Mappings of pages one by one, without caches.
const MAPPINGS: [&str; 2] = ["page", "superpage"];
/// Scaled capacities are whole numbers of it.
const MIB: u64 = 1 << 20;

/// The key of it.
pub(crate) fn parameter() -> Parameter {
    Parameter::new(
        SCALE,
        ParameterKind::Count { min: 1, max: 1 << 16 },
        "1",
        "Divides the size of the drive by this number and keeps all its dies, so that runs are shorter. For example \
         64. The drive has fewer blocks and, where a plane would have less than 1,024, shorter blocks. Buffers keep \
         their sizes. Lives and prices are told of the whole drive. Use it with ftl.kind = page or superpage: the \
         cost of other mappings depends on the length of blocks and on caches. A trace keeps its addresses, so \
         its share of a smaller drive is larger: run traces on the whole drive.",
    )
    .example("64")
    .circumstance()
}

/// How a drive is made smaller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// How many times; 1: not at all.
    pub times: u64,
    /// Bytes that the user of the smaller drive sees.
    pub(crate) capacity: u64,
    /// Physical pages of a block of it.
    pub(crate) pages_per_block: u64,
    /// Erase time of such a block.
    pub(crate) erase_ns: Nanos,
}

/// Spare flash that garbage collection has to work with, of a drive that has less of it than the whole drive because it
/// was made smaller: shares of the data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MissingSpare {
    /// On the drive that runs.
    pub effective: f64,
    /// On the whole drive.
    pub whole: f64,
}

impl Scale {
    /// How a configuration says so; `check` looks whether there can be a drive of a configuration.
    ///
    /// # Errors
    /// Nothing would be left of the drive, its mapping depends on the length of blocks, or `check` refuses the whole
    /// drive.
    pub(crate) fn of(config: &Config, check: impl Fn(Config) -> Result<(), ConfigError>) -> Result<Self, ConfigError> {
        let values = &config.values;
        let [pages_per_block, erase_ns] = [PAGES, ERASE].map(|key| values.whole(key));
        let scale = Self { times: times(values), capacity: capacity(values), pages_per_block, erase_ns };
        if scale.times == 1 {
            return Ok(scale);
        }
        scale.check(values).map_err(|problem| ConfigError::Together { problem })?;
        check(scaled_by(config, 1))?;
        let shorter = shorter(values);
        let (pages_per_block, erase_ns) = (pages_per_block / shorter, erase_ns / shorter);
        Ok(Self { pages_per_block, erase_ns, ..scale })
    }

    fn check(&self, values: &Values) -> Result<(), String> {
        let scale = self.times;
        let (mapping, stripes) = (values.name("ftl.kind"), values.name("stripe.kind"));
        if !MAPPINGS.contains(&mapping) || stripes == coded::KIND {
            let [key, kind] = if stripes == coded::KIND { ["stripe.kind", stripes] } else { ["ftl.kind", mapping] };
            return Err(format!(
                "{SCALE} = {scale} is for ftl.kind = page and superpage without coded striping. The cost of {key} = \
                 {kind} depends on the length of blocks and the size of caches. Leave {SCALE} out, and set a smaller \
                 drive.capacity"
            ));
        }
        if self.capacity == 0 {
            let whole = values.whole(CAPACITY);
            return Err(format!(
                "{SCALE} = {scale} leaves less than 1 MiB of {} ({CAPACITY}); the largest here is {}",
                format_size(whole),
                (whole / MIB).max(1)
            ));
        }
        Ok(())
    }

    /// An error of a drive that was made smaller.
    pub(crate) fn explained(&self, error: ConfigError) -> ConfigError {
        match error {
            ConfigError::Together { problem } if self.times > 1 => ConfigError::Together {
                problem: format!(
                    "{problem}. The drive is {} times smaller than its keys say: lower {SCALE}",
                    self.times
                ),
            },
            ConfigError::TooLarge { problem } if self.times > 1 => {
                ConfigError::TooLarge { problem: format!("{problem}, or raise {SCALE} from {}", self.times) }
            }
            other => other,
        }
    }
}

impl DrivePlan {
    /// Notes about a run: a smaller drive ran, and some of its figures are wrong.
    pub(crate) fn scale_note(&self, is_trace: bool) -> Option<String> {
        let (times, capacity) = (self.scale.times, self.host_sectors() * SECTOR_BYTES);
        if times == 1 {
            return None;
        }
        let (ran, whole) = (format_size(capacity), format_size(capacity.saturating_mul(times)));
        let mut note = format!("{SCALE} = {times}: a drive of {ran} ran in place of one of about {whole}.");
        if let Some(MissingSpare { effective, whole }) = self.missing_spare() {
            let _ = write!(
                note,
                " Blocks in reserve are a larger share of it: collection has {:.1} % of the data to work with, and \
                 {:.1} % on the whole drive. It writes more and stalls longer; lower {SCALE}.",
                effective * 100.0,
                whole * 100.0
            );
        }
        if is_trace {
            note.push_str(
                " A trace keeps its addresses, which are a larger share of this drive: run it on the whole one \
                 (drive.scale = 1).",
            );
        }
        Some(note)
    }

    /// The spare flash of a drive that `drive.scale` made smaller, where more than [`MISSED`] of what the whole drive
    /// has is missing; `None`: there is more, or the drive is whole. Notes of runs and answers of comparisons ask here.
    pub fn missing_spare(&self) -> Option<MissingSpare> {
        let whole = (self.scale.times > 1).then(|| self.scaled_otherwise(1))?;
        let (effective, whole) = self.spare().effective_share.zip(whole?.spare().effective_share)?;
        (effective < whole * (1.0 - MISSED)).then_some(MissingSpare { effective, whole })
    }

    /// The largest `drive.scale` below that of this drive at which [`DrivePlan::missing_spare`] misses none: half of
    /// it, a quarter and so on are tried.
    pub fn scale_with_spare(&self) -> u64 {
        let has_spare = |times: &u64| self.scaled_otherwise(*times).is_some_and(|plan| plan.missing_spare().is_none());
        let smaller = std::iter::successors(Some(self.scale.times / 2), |times| Some(times / 2));
        smaller.take_while(|times| *times > 1).find(has_spare).unwrap_or(1)
    }

    /// The same drive, so many times smaller; `None`: there can be none.
    fn scaled_otherwise(&self, times: u64) -> Option<Self> {
        let mut plan = Self::new(scaled_by(&self.config, times)).ok()?;
        plan.touched = self.touched;
        Some(plan)
    }
}

/// A configuration with another `drive.scale`.
fn scaled_by(config: &Config, times: u64) -> Config {
    let mut config = config.clone();
    config.values.set(SCALE, Value::Whole(times));
    config
}

/// How many times smaller the drive is to be.
fn times(values: &Values) -> u64 {
    values.whole(SCALE).max(1)
}

/// Bytes that the user of the drive sees once it is made smaller.
pub(crate) fn capacity(values: &Values) -> u64 {
    let (capacity, scale) = (values.whole(CAPACITY), times(values));
    if scale == 1 { capacity } else { capacity / scale / MIB * MIB }
}

/// How many times shorter the blocks of the smaller drive are.
fn shorter(values: &Values) -> u64 {
    let [pages, line, page] = [PAGES, "flash.word_line_pages", "flash.page_size"].map(|key| values.whole(key).max(1));
    let dies = values.whole("flash.channels") * values.whole("flash.dies_per_channel");
    let block = pages * page * values.whole("flash.planes_per_die");
    let flash = values.whole(CAPACITY) as f64 / times(values) as f64 * (1.0 + values.real("drive.over_provisioning"));
    let blocks = (flash / (dies * block) as f64).max(1.0);
    let wanted = (BLOCKS as f64 / blocks).ceil() as u64;
    let lines = pages / line;
    let of_line = line * units_of_page(values);
    let least = WORD_LINES.max(UNITS.div_ceil(of_line));
    let possible = (1..=lines).filter(|by| lines.is_multiple_of(*by) && lines / by >= least && *by <= wanted);
    if values.on("flash.program_memory_protected") {
        return possible.max().unwrap_or(1);
    }
    // A flush may fill up a word line of each block, and some blocks are kept erased: what that takes of the flash.
    let taken = |by: &u64| *by as f64 / lines as f64 + KEPT / (blocks * *by as f64);
    possible.min_by(|a, b| taken(a).total_cmp(&taken(b))).unwrap_or(1)
}

/// Mapped pages to a page of all planes that are used as one.
fn units_of_page(values: &Values) -> u64 {
    let page = values.whole("flash.page_size");
    let unit = values.get("ftl.unit").map_or(page, |_| values.whole("ftl.unit"));
    let planes = if values.on("flash.planes_as_one") { values.whole("flash.planes_per_die") } else { 1 };
    (page / unit.max(1)).max(1) * planes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Setting;

    fn plan(settings: &[&str]) -> Result<DrivePlan, String> {
        let settings: Vec<Setting> = settings.iter().map(|text| Setting::from_argument(text).unwrap()).collect();
        let config = Config::load("sk-hynix-pe8110-like", &settings).unwrap();
        DrivePlan::new(config).map_err(|error| error.to_string())
    }

    #[test]
    fn a_smaller_drive_keeps_its_dies_and_its_share_of_spare_flash() {
        let (whole, small) = (plan(&[]).unwrap(), plan(&["drive.scale=64"]).unwrap());
        assert_eq!(small.geometry.dies(), whole.geometry.dies());
        let ratio = |a: f64, b: f64, of: f64| assert!((a / b / of - 1.0).abs() < 0.01, "{a} / {b} is not {of}");
        ratio(whole.host_sectors() as f64, small.host_sectors() as f64, 64.0);
        ratio(whole.geometry.pages().into(), small.geometry.pages().into(), 64.0);
        let erase = [&whole, &small].map(|plan| plan.part.erase_ns);
        let length = [&whole, &small].map(|plan| u64::from(plan.geometry.pages_per_block));
        assert!(length[1] < length[0] && erase[0] / erase[1] == length[0] / length[1], "{erase:?} {length:?}");
        // The values stay those of the whole drive, and give the same smaller one again.
        let again = DrivePlan::new(small.config.clone()).unwrap();
        assert_eq!(again.host_sectors(), small.host_sectors());
        let none = plan(&["drive.capacity=16MiB", "drive.scale=64"]).unwrap_err();
        assert!(none.contains("drive.scale = 64") && none.contains("16"), "{none}");
        let note = |plan: &DrivePlan| plan.scale_note(false);
        assert_eq!(note(&whole), None);
        let ran = format_size(small.host_sectors() * SECTOR_BYTES);
        assert!(note(&small).unwrap().contains(&format!("drive.scale = 64: a drive of {ran} ran")));
        let tiny = plan(&["drive.scale=512"]).unwrap();
        assert!(note(&tiny).unwrap().contains("lower drive.scale"), "{:?}", note(&tiny));
    }

    #[test]
    fn a_drive_that_is_too_small_tells_a_scale_that_is_not() {
        let tiny = plan(&["drive.scale=512"]).unwrap();
        let MissingSpare { effective, whole } = tiny.missing_spare().unwrap();
        assert!(effective < 0.95 * whole, "{effective} of {whole}");
        let enough = tiny.scale_with_spare();
        let at = |times: u64| plan(&[&format!("drive.scale={times}")]).unwrap();
        let misses = |times: u64| at(times).missing_spare().is_some();
        assert!(512 % enough == 0 && !misses(enough) && misses(2 * enough), "{enough}");
        assert!(!misses(1));
        // A comparison advised a scale at which a run still warned.
        let warns = |times: u64| at(times).scale_note(false).is_some_and(|note| note.contains("lower drive.scale"));
        assert!(!warns(enough) && warns(2 * enough), "{:?}", at(enough).scale_note(false));
    }

    /// The smaller drive had shorter blocks, and ran where the whole one is refused.
    #[test]
    fn what_the_whole_drive_refuses_is_refused_of_a_smaller_one() {
        for (setting, wanted) in [
            ("flash.pages_per_block=30000", "a block has"),
            ("drive.capacity=20003KiB", "no whole number of pages"),
            ("flash.fault.dies=999", "is none of the drive's"),
        ] {
            let [whole, small] =
                [&[setting][..], &[setting, "drive.scale=16"]].map(|settings| plan(settings).unwrap_err());
            assert!(whole.contains(wanted), "{whole}");
            assert_eq!(whole, small, "no word of drive.scale, which changes nothing");
        }
    }

    /// With blocks of eight word lines, one of which a flush may fill up, nothing was left of the spare flash.
    #[test]
    fn a_client_drive_that_loses_its_memory_can_be_made_smaller() {
        for (name, scale) in [("samsung-980-pro-like", 256), ("generic-qlc-client", 128), ("generic-tlc-client", 256)] {
            let settings = ["flash.program_memory_protected=false".to_owned(), format!("drive.scale={scale}")];
            let settings: Vec<Setting> = settings.iter().map(|text| Setting::from_argument(text).unwrap()).collect();
            let plan = DrivePlan::new(Config::load(name, &settings).unwrap());
            assert!(plan.is_ok(), "{name} at 1/{scale}: {}", plan.unwrap_err());
        }
    }

    /// A log-block mapping lived eight times as long on blocks of an eighth.
    #[test]
    fn what_depends_on_the_length_of_blocks_is_not_scaled() {
        for setting in ["ftl.kind=bast", "ftl.kind=dftl", "stripe.kind=coded"] {
            let settings = [setting, "drive.scale=16", "ftl.gc.superblocks=false"];
            let refused = plan(&settings).unwrap_err();
            assert!(refused.contains(setting.split('=').next_back().unwrap()), "{refused}");
        }
        let short = Config::load("page", &[Setting::from_argument("drive.scale=16").unwrap()]).unwrap();
        assert!(DrivePlan::new(short).unwrap().geometry.pages_per_block >= UNITS as u32);
    }
}
