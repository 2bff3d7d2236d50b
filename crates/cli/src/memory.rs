//! Memory that a drive needs and this program may have: what cannot be had is said before anything is built.

use crate::failure::Failure;
use simulator::DrivePlan;
use std::fs;
use std::path::Path;
use units::quantity;

/// Memory of the program itself.
const OWN: u64 = 32 << 20;

/// Whether the tables of a drive fit into memory. `carries`: it holds the bytes of its clients, and nothing is checked.
///
/// # Errors
/// They do not: how much they take, what the limit is, and how to mend it.
pub fn check(plan: &DrivePlan, carries: bool) -> Result<(), Failure> {
    let [at_once, in_all] = plan.least_table_bytes(carries).map(|bytes| bytes + OWN);
    let limits = [(at_once, free()), (at_once, group(Path::new("/sys/fs/cgroup"))), (in_all, address_space())];
    let Some((needed, (limit, what))) =
        limits.into_iter().find_map(|(needed, limit)| Some((needed, limit.filter(|(limit, _)| needed > *limit)?)))
    else {
        return Ok(());
    };
    Err(Failure::usage(format!(
        "drive.capacity = {}: the tables of this drive take at least {} of memory, and {what} {}; lower \
         drive.capacity, raise flash.page_size, or give the program more memory",
        quantity::format_size(plan.config.values.whole("drive.capacity")),
        rounded(needed),
        rounded(limit),
    )))
}

/// In MiB, which is fine enough for memory.
fn rounded(bytes: u64) -> String {
    quantity::format_size(bytes.next_multiple_of(1 << 20))
}

/// What the machine has left.
fn free() -> Option<(u64, &'static str)> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let kib = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.trim_end_matches("kB").trim().parse::<u64>().ok())
    };
    Some(((kib("MemAvailable:")? + kib("SwapFree:").unwrap_or(0)) << 10, "this machine has left"))
}

/// What the control groups of this process may have, in either version.
fn group(root: &Path) -> Option<(u64, &'static str)> {
    let text = fs::read_to_string("/proc/self/cgroup").ok()?;
    let limits = text.lines().filter_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let (root, file) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            "memory" => (root.join("memory"), "memory.limit_in_bytes"),
            _ => return None,
        };
        let own = root.join(path.trim_start_matches('/'));
        // A group has no more than those above it; what cannot be seen from here does not count.
        let limits = own
            .ancestors()
            .take_while(|folder| folder.starts_with(&root))
            .filter_map(|folder| limit_in(&folder.join(file)));
        limits.min()
    });
    limits.min().map(|limit| (limit, "its control group may have"))
}

/// A number in a file; "max" is none.
fn limit_in(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// `ulimit -v`.
fn address_space() -> Option<(u64, &'static str)> {
    let text = fs::read_to_string("/proc/self/limits").ok()?;
    let limit =
        text.lines().find_map(|line| line.strip_prefix("Max address space")?.split_whitespace().next()?.parse().ok());
    limit.map(|limit| (limit, "`ulimit -v` allows"))
}
