//! The log pages of a served drive for tools that read drives, under the names that nvme-cli prints. Values that no
//! simulation can know are absent, except a temperature, which collectors need.

use drive::{Blocks, Drive, Pulse, Smart};
use serde_json::{Value, json};
use units::{Cause, HostOp, Nanos};

/// Bytes of a data unit: a thousand times 512.
const UNIT: u64 = 512_000;
/// Share of the spare blocks below which a drive warns, percent. The simulation has no such bound: it is the usual one.
const SPARE_THRESHOLD: u64 = 10;
/// Most that `percent_used` can say.
const MOST_USED: u64 = 255;
/// Kelvin. The simulation has no heat: it is a constant, as collectors subtract 273 from what is there.
const TEMPERATURE: u64 = 310;
const MINUTE: Nanos = 60_000_000_000;
const HOUR: Nanos = 60 * MINUTE;

/// Bits of `critical_warning`.
const SPARE_IS_LOW: u8 = 1;
const IS_DEGRADED: u8 = 4;
const IS_READ_ONLY: u8 = 8;

/// Spare blocks that are left, percent of those the drive was made with; 0 where it was made without.
pub(crate) fn spare(blocks: &Blocks) -> u64 {
    let spare = |of: u64| of.saturating_sub(blocks.needed);
    (spare(blocks.usable) * 100).checked_div(spare(blocks.all)).unwrap_or(0)
}

/// Mean erases of a block, percent of what it survives; 0 where blocks never wear out.
fn used(smart: &Smart) -> u64 {
    let [mean, endurance] = ["mean_erases_thousandths", "endurance"].map(|name| smart.get(name).unwrap_or(0));
    (mean / 10).checked_div(endurance).unwrap_or(0).min(MOST_USED)
}

/// The SMART / health information log (02h), as `nvme smart-log -o json` prints it. `refuses`: writes are refused.
pub(crate) fn smart_log(drive: &Drive, pulse: &Pulse<'_>, blocks: &Blocks, refuses: bool) -> Value {
    let smart = drive.smart();
    let [read, write] = [HostOp::Read, HostOp::Write].map(|op| &pulse.requests[op.index()]);
    // A drive counts each read that it is asked for, also of pages that hold nothing.
    let unwritten = &pulse.unwritten.totals;
    let spare = spare(blocks);
    let warnings = [
        (spare < SPARE_THRESHOLD, SPARE_IS_LOW),
        (blocks.dead_dies > 0, IS_DEGRADED),
        (refuses || drive.file_problem().is_some(), IS_READ_ONLY),
    ];
    json!({
        "critical_warning": warnings.iter().filter(|(is_so, _)| *is_so).map(|(_, bit)| bit).sum::<u8>(),
        "temperature": TEMPERATURE,
        "avail_spare": spare,
        "spare_thresh": SPARE_THRESHOLD,
        "percent_used": used(&smart),
        "endurance_grp_critical_warning_summary": 0,
        "data_units_read": (read.bytes + unwritten.bytes).div_ceil(UNIT),
        "data_units_written": write.bytes.div_ceil(UNIT),
        "host_read_commands": read.requests + unwritten.requests,
        "host_write_commands": write.requests,
        "controller_busy_time": pulse.busy / MINUTE,
        "power_cycles": drive.power_cuts() + u64::from(drive.is_on()),
        "power_on_hours": drive.now() / HOUR,
        "unsafe_shutdowns": drive.power_cuts(),
        "media_errors": smart.get("reads_failed"),
        "num_err_log_entries": pulse.requests.iter().chain([unwritten]).map(|totals| totals.failed).sum::<u64>(),
        "warning_temp_time": 0,
        "critical_comp_time": 0,
    })
}

/// The extended SMART log of the Open Compute Project (C0h), as `nvme ocp smart-add-log -o json` prints it.
pub(crate) fn ocp_log(drive: &Drive, pulse: &Pulse<'_>, blocks: &Blocks) -> Value {
    let smart = drive.smart();
    let [reads, programs, erases] = &pulse.flash;
    // Numbers of 128 bits come in two halves.
    let bytes = |pages: &[u64]| json!({ "hi": 0, "lo": pages.iter().sum::<u64>() * pulse.page_bytes });
    json!({
        "Physical media units written": bytes(programs),
        "Physical media units read": bytes(reads),
        "Bad user nand blocks - Raw": smart.get("bad_blocks"),
        "Bad user nand blocks - Normalized": spare(blocks),
        "Uncorrectable read error count": smart.get("reads_failed"),
        "Refresh counts": erases[Cause::Refresh.index()],
        "Max User data erase counts": smart.get("most_erases"),
        "Min User data erase counts": smart.get("least_erases"),
        "Number of Thermal throttling events": 0,
        "Current throttling status": 0,
        "Incomplete shutdowns": if drive.is_volatile() { drive.power_cuts() } else { 0 },
        "Percent free blocks": (blocks.free * 100).checked_div(blocks.all).unwrap_or(0),
        "Total media dies": blocks.dies,
        "Media dies offline": blocks.dead_dies,
        "Nand avg erase count": smart.get("mean_erases_thousandths").map(|mean| mean / 1000),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spare_is_a_share_of_what_there_was_and_never_less_than_nothing() {
        let blocks = Blocks { all: 110, usable: 105, free: 3, needed: 100, dies: 1, dead_dies: 0 };
        assert_eq!(spare(&blocks), 50);
        assert_eq!(spare(&Blocks { usable: 90, ..blocks }), 0);
        assert_eq!(spare(&Blocks { all: 100, usable: 100, ..blocks }), 0);
    }
}
