//! The time in which a drive rests before it is measured.
//!
//! Preconditioning and a warm-up leave an SLC cache full, and only idle time empties it: a drive in use has had some.
//! The order is: fill and overwrite, warm-up, rest, measure. Faithful to: the background work of the drive's own
//! policy. Simplified: `auto` takes no time after preconditioning, and as long as the work lasts after a warm-up.
//! Protects: drives without such a cache begin as they always did.

use super::warm_up::IN_USE;
use super::{Measurable, Phase, Watcher};
use crate::DrivePlan;
use crate::array::slc_bits;
use crate::block_device::{Completions, Progress};
use crate::build::Service;
use crate::config::{Config, PRECONDITION, Precondition, all_keys};
use crate::drive::Drive;
use crate::spare::is_above_zero;
use ftl::mapping::SLC_CACHED;
use layer::{LayerReport, Parameter, ParameterKind as Kind, SERVICE, TIME, Value};
use nand::TimedFlash;
use units::{HOUR, Nanos, quantity};

/// The name of the key.
const KEY: &str = "drive.rest";
pub(crate) const PARAMETER: Parameter = Parameter::new(
    KEY,
    Kind::DurationOrAuto { max: HOUR, auto: "until the drive has done all that it does while the host is idle" },
    "auto",
    "How long a drive with an SLC cache rests between preconditioning (or the warm-up) and the measured run. While it \
     rests, the drive folds its cache as ftl.slc.fold_idle and host.idle_after say. 0ns measures a drive whose cache \
     is as full as preconditioning left it.",
)
.example("10s")
.circumstance()
.only(IN_USE)
.only(SLC_CACHED);

/// How long a drive rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Not,
    /// Until nothing is left to do.
    UntilDone,
    For(Nanos),
}

impl Rest {
    /// How long a drive rests that was written to before.
    fn of(plan: &DrivePlan) -> Self {
        let values = &plan.config.values;
        if !has_cache(plan) {
            return Self::Not;
        }
        match values.get(KEY) {
            Some(Value::Whole(0)) => Self::Not,
            Some(Value::Whole(time)) => Self::For(*time),
            _ if values.whole("host.idle_after") == 0 => Self::Not,
            _ => Self::UntilDone,
        }
    }
}

fn has_cache(plan: &DrivePlan) -> bool {
    slc_bits(&plan.config.values).is_some()
}

/// Checks that a rest of some time has time to take.
/// Errors: no time passes in idle moments, in words.
pub(crate) fn check(config: &Config, service: Service) -> Result<(), String> {
    let time = match config.values.get(KEY) {
        Some(Value::Whole(time)) if *time > 0 && slc_bits(&config.values).is_some() => quantity::format_duration(*time),
        _ => return Ok(()),
    };
    let (key, value) = match service {
        Service::Parallel => return Ok(()),
        Service::Counted => (TIME.key, &config.resolved[TIME.key]),
        Service::Serial => (SERVICE.key, &config.resolved[SERVICE.key]),
    };
    Err(format!(
        "{KEY} is {time}, and a drive with {key} = {value} does nothing in idle time. Set {KEY} to \"auto\" (the SLC \
         cache is folded before the run) or to \"0ns\" (it is not)"
    ))
}

/// Whether preconditioning ends with a rest: its time stands still.
pub(super) fn ends_preconditioning(plan: &DrivePlan) -> bool {
    Rest::of(plan) == Rest::UntilDone
}

/// Lets a drive rest in time, unless it begins erased; its rest begins with its warm-up if there is one.
pub(super) fn before_run<D: Measurable>(plan: &DrivePlan, device: &mut D, watcher: &mut dyn Watcher, warmed_up: bool) {
    if PRECONDITION.read(&plan.config.values) != Precondition::None {
        in_time(plan, device, watcher, warmed_up);
    }
}

/// Lets a drive that was preconditioned elsewhere rest as long as `drive.rest` says, where that takes time. The rest of
/// `auto` takes none: [`super::end_preconditioning`] has it.
pub fn rest_in_time(plan: &DrivePlan, drive: &mut Drive<TimedFlash>) {
    in_time(plan, drive, &mut (), false);
}

fn in_time<D: Measurable>(plan: &DrivePlan, device: &mut D, watcher: &mut dyn Watcher, warmed_up: bool) {
    let end = match Rest::of(plan) {
        Rest::For(time) => Some(device.now() + time),
        Rest::UntilDone if warmed_up => None,
        _ => return,
    };
    watcher.phase(Phase::Rest, None);
    device.drive_mut().begin_idle_time();
    if let Some(end) = end {
        device.wake_at(end);
    }
    let mut completions = Completions::default();
    while end.is_none_or(|end| device.now() < end) && device.advance(&mut completions) == Progress::Worked {}
    device.count_anew();
}

/// Blocks of a plane that are open beside the cache: for the host, for copies, for translation pages.
const OPEN: f64 = 3.0;
/// Share of a block that holds data once background collection has ended: 15 of 16 pages, less blocks half collected.
const DENSITY: f64 = 0.9;
/// Idle time alone collects blocks of which at most this share is valid.
const IDLE_VALID: f64 = 0.5;
/// The key of free blocks that a drive collects while it is idle.
const BACKGROUND: &str = "ftl.gc.background_free_blocks";
/// `drive.fill` is advised in steps of this share.
const STEP: f64 = 0.05;

/// What gives the cache at least half of its room, beside idle time.
struct Room {
    /// Free blocks of each plane up to which the drive has to collect while it is idle.
    free_blocks: u64,
    /// Share of the drive that may hold data; 0: none of it.
    fill: f64,
    /// Share of the flash that holds valid data.
    valid: f64,
}

impl Room {
    fn of(plan: &DrivePlan) -> Self {
        let (values, geometry) = (&plan.config.values, &plan.geometry);
        let planes = f64::from(geometry.planes());
        let blocks = f64::from(geometry.blocks()) / planes;
        let share = values.real("ftl.slc.share");
        let half = ((share * blocks).ceil() / 2.0).ceil();
        let stay_free = f64::max(values.whole("ftl.gc.free_blocks") as f64, values.real("ftl.slc.fold_below") * blocks);
        // Where writes wait for folding the cache is a share of the blocks without data.
        let without_data = if folds_first(plan) { half / share } else { 0.0 };
        let free = (half + stay_free + 1.0).max(without_data).ceil() + 1.0;
        let pages = (blocks - free - OPEN) * planes * f64::from(geometry.pages_per_block);
        let fill = DENSITY * pages / f64::from(plan.user_pages);
        let flash_pages = blocks * planes * f64::from(geometry.pages_per_block);
        Self {
            free_blocks: free as u64,
            fill: ((fill / STEP).floor() * STEP).clamp(0.0, 1.0),
            valid: values.real("drive.fill") * f64::from(plan.user_pages) / flash_pages,
        }
    }
}

fn folds_first(plan: &DrivePlan) -> bool {
    plan.config.values.name("ftl.slc.after") == "fold"
}

/// Settings that give the cache at least half of its room. Those in force are left out.
fn remedies(plan: &DrivePlan) -> Vec<String> {
    let values = &plan.config.values;
    let mut set = Vec::new();
    if !values.on("ftl.slc.fold_idle") {
        set.push("ftl.slc.fold_idle = true".to_owned());
    }
    if values.whole("host.idle_after") == 0 {
        set.push("host.idle_after = 1ms".to_owned());
    }
    if matches!(values.get(KEY), Some(Value::Whole(_))) {
        set.push(format!("{KEY} = auto"));
    }
    if !is_above_zero(values, "ftl.slc.share") {
        // The drive folds no block that the host has open.
        if set.is_empty() {
            set.push("ftl.slc.blocks = 2".to_owned());
        }
        return set;
    }
    let room = Room::of(plan);
    if room.fill == 0.0 {
        return Vec::new();
    }
    let is_too_full = values.real("drive.fill") > room.fill;
    if is_too_full {
        set.push(format!("drive.fill = {:.0}%", room.fill * 100.0));
    }
    let needs_more = is_too_full || folds_first(plan) || set.is_empty() || room.valid > IDLE_VALID;
    if !needs_more || values.whole(BACKGROUND) >= room.free_blocks {
        return set;
    }
    let advised = room.free_blocks.to_string();
    if all_keys().iter().any(|key| key.key == BACKGROUND && key.parse(&advised).is_err()) {
        return Vec::new();
    }
    set.push(format!("{BACKGROUND} = {advised}"));
    set
}

/// How much of the SLC cache is free when measuring begins, where there is one.
pub(super) fn note<D: Measurable>(plan: &DrivePlan, device: &D) -> Option<String> {
    if !has_cache(plan) {
        return None;
    }
    let mut reports: Vec<LayerReport> = Vec::new();
    device.drive().top().report(&mut reports);
    let of = |name: &str| reports.iter().find_map(|report| report.counters.get(name)).copied();
    let [most, free] = [of("slc_pages")?, of("slc_free_pages")?];
    let told = |pages: u64| quantity::format_size(pages * u64::from(plan.geometry.page_bytes));
    let share = free as f64 / most.max(1) as f64;
    let set = if share < 0.5 { remedies(plan) } else { Vec::new() };
    let advice = if set.is_empty() {
        String::new()
    } else {
        format!(". For half of it or more, set {}", layer::spelling::joined(&set, "and"))
    };
    Some(format!(
        "The SLC cache has room for {} when measuring begins: {:.0} % of {}, the most it takes{advice}.",
        told(free),
        share * 100.0,
        told(most)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Setting;

    fn plan(capacity: &str) -> DrivePlan {
        let texts = ["flash.part=tlc-176l", "flash.pages_per_block=24", "drive.over_provisioning=40%"];
        let more = ["flash.channels=2", "flash.dies_per_channel=1", "ftl.slc.share=50%", "host.idle_after=1ms"];
        let all = texts.into_iter().chain(more).chain([capacity]);
        let settings: Vec<Setting> = all.map(|text| Setting::from_argument(text).unwrap()).collect();
        DrivePlan::new(Config::load("page", &settings).unwrap()).unwrap()
    }

    /// The advice of a large drive had more free blocks than the key takes, and its value was refused.
    #[test]
    fn no_value_is_advised_that_its_key_refuses() {
        let [small, large] = ["drive.capacity=256MiB", "drive.capacity=16GiB"].map(plan);
        assert!(Room::of(&small).free_blocks < 1000 && Room::of(&large).free_blocks > 1000);
        assert!(remedies(&small).iter().any(|one| one.starts_with(BACKGROUND)));
        assert_eq!(remedies(&large), [""; 0]);
    }
}
