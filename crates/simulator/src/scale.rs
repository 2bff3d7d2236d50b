//! A drive many times smaller than its keys say, which answers much sooner.
//!
//! *Why that is no other drive*: times come from dies, channels and the host, write amplification from shares. Neither
//! knows how many blocks a die has or how long they are, once there are enough. An erase takes as much less time as a
//! block is shorter. A test of the crate that fits drives halves one.

use layer::{Parameter, ParameterKind, Value, Values};
use units::quantity::format_size;

/// How many times smaller.
const SCALE: &str = "drive.scale";
const CAPACITY: &str = "drive.capacity";
const PAGES: &str = "flash.pages_per_block";
const ERASE: &str = "flash.erase_time";
/// Blocks a plane should have, and word lines a block.
const BLOCKS: u64 = 1024;
const WORD_LINES: u64 = 8;
/// Scaled capacities are whole numbers of it.
const MIB: u64 = 1 << 20;

/// The key of it.
pub(crate) fn parameter() -> Parameter {
    Parameter::new(
        SCALE,
        ParameterKind::Count { min: 1, max: 1 << 16 },
        "1",
        "Makes the drive so many times smaller than the other keys say, with all its dies: fewer blocks and, where a \
         plane would have less than 1,024, shorter ones. Buffers and caches keep their sizes. Lives and prices are \
         told of the whole drive.",
    )
}

/// How many times smaller the drive is to be.
fn of(values: &Values) -> u64 {
    values.whole(SCALE).max(1)
}

/// Bytes the user of the drive sees, whether it was made smaller already or is to be.
pub(crate) fn capacity(values: &Values) -> u64 {
    let (capacity, scale) = (values.whole(CAPACITY), of(values));
    if scale == 1 { capacity } else { capacity / scale / MIB * MIB }
}

/// Makes the drive smaller, once, and says how many times.
///
/// # Errors
/// Nothing would be left of it.
pub(crate) fn apply(values: &mut Values) -> Result<u64, String> {
    let scale = of(values);
    if scale == 1 {
        return Ok(scale);
    }
    let whole = values.whole(CAPACITY);
    let capacity = capacity(values);
    if capacity == 0 {
        return Err(format!(
            "{SCALE} = {scale} leaves less than 1 MiB of {} ({CAPACITY}); the largest here is {}",
            format_size(whole),
            (whole / MIB).max(1)
        ));
    }
    let [pages, line, page] = [PAGES, "flash.word_line_pages", "flash.page_size"].map(|key| values.whole(key).max(1));
    let dies = values.whole("flash.channels") * values.whole("flash.dies_per_channel");
    let block = pages * page * values.whole("flash.planes_per_die");
    let flash = whole as f64 / scale as f64 * (1.0 + values.real("drive.over_provisioning"));
    let blocks = (flash / (dies * block) as f64).max(1.0);
    let wanted = (BLOCKS as f64 / blocks).ceil() as u64;
    let lines = pages / line;
    let shorter = (1..=lines)
        .filter(|by| lines.is_multiple_of(*by) && lines / by >= WORD_LINES && *by <= wanted)
        .max()
        .unwrap_or(1);
    values.set(CAPACITY, Value::Whole(capacity));
    values.set(PAGES, Value::Whole(pages / shorter));
    values.set(ERASE, Value::Whole(values.whole(ERASE) / shorter));
    values.set(SCALE, Value::Whole(1));
    Ok(scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, DrivePlan, Setting};

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
        let erase = [&whole, &small].map(|plan| plan.config.values.whole(ERASE));
        let length = [&whole, &small].map(|plan| u64::from(plan.geometry.pages_per_block));
        assert!(length[1] < length[0] && erase[0] / erase[1] == length[0] / length[1], "{erase:?} {length:?}");
        // Values that were made smaller are not made smaller again.
        let again = DrivePlan::new(small.config.clone()).unwrap();
        assert_eq!(again.host_sectors(), small.host_sectors());
        let none = plan(&["drive.capacity=16MiB", "drive.scale=64"]).unwrap_err();
        assert!(none.contains("drive.scale = 64") && none.contains("16"), "{none}");
    }
}
