//! Memory that a drive takes, and what this process may have: what cannot be had is said before anything is built. A
//! process that asks for it all the same is ended by the system, with everything else that it does.

use crate::DrivePlan;
use crate::config::ConfigError;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use units::quantity;

/// Memory of the program itself.
const OWN: u64 = 32 << 20;

/// What the drives of this process have claimed: at once, and in all.
static CLAIMED: Mutex<[u64; 2]> = Mutex::new([0; 2]);

fn claimed() -> MutexGuard<'static, [u64; 2]> {
    CLAIMED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Memory that a drive may take while this lives. Other drives that are built meanwhile, on other threads, find less.
#[derive(Debug)]
#[must_use = "what is claimed is given back when this is dropped"]
pub struct MemoryClaim {
    bytes: [u64; 2],
}

impl Drop for MemoryClaim {
    fn drop(&mut self) {
        for (sum, bytes) in claimed().iter_mut().zip(self.bytes) {
            *sum -= bytes;
        }
    }
}

/// Memory that cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at least {needed} of memory, and {limit}")]
pub struct TooLittleMemory {
    needed: String,
    limit: String,
}

impl MemoryClaim {
    /// Claims so many bytes: at once, and in all once everything has been written.
    ///
    /// # Errors
    /// This process may not have them: how much is needed, and what the limit is.
    pub fn of(bytes: [u64; 2]) -> Result<Self, TooLittleMemory> {
        // Whoever claims on another thread does so after this or before it.
        let mut claimed = claimed();
        let [at_once, in_all] = [0, 1].map(|at| (claimed[at], bytes[at].saturating_add(OWN)));
        let limits = [
            (at_once, Limit::of_machine(at_once.0)),
            (at_once, Limit::of_group(Path::new("/sys/fs/cgroup"), at_once.0)),
            (in_all, Limit::of_address_space(in_all.0)),
        ];
        let too_low =
            limits.into_iter().find_map(|(wanted, limit)| Some((wanted, limit.filter(|it| !it.has(wanted))?)));
        if let Some(((claimed, needed), limit)) = too_low {
            return Err(TooLittleMemory { needed: rounded(needed), limit: limit.said(claimed, needed) });
        }
        for (sum, bytes) in claimed.iter_mut().zip(bytes) {
            *sum += bytes;
        }
        Ok(Self { bytes })
    }
}

impl DrivePlan {
    /// Claims the memory that the tables of a drive take at least. `carries`: it holds the bytes of its clients, and
    /// nothing is checked.
    ///
    /// # Errors
    /// [`ConfigError::Memory`]: how much the tables take, what the limit is, and how to mend it.
    pub fn claim_memory(&self, carries: bool) -> Result<MemoryClaim, ConfigError> {
        MemoryClaim::of(self.least_table_bytes(carries)).map_err(|problem| ConfigError::Memory {
            capacity: quantity::format_size(self.config.values.whole("drive.capacity")),
            problem,
        })
    }

    /// Checks that [`DrivePlan::claim_memory`] could claim it now.
    ///
    /// # Errors
    /// As there.
    pub fn check_memory(&self, carries: bool) -> Result<(), ConfigError> {
        self.claim_memory(carries).map(drop)
    }
}

/// Bytes of this process by a name in its status: `VmRSS`, what it has in memory; `VmSize`, its addresses.
fn own(name: &str) -> Option<u64> {
    kib_in("/proc/self/status", name)
}

/// A line `NAME: … kB` of a file of the system, in bytes.
fn kib_in(path: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim_end_matches("kB").trim().parse::<u64>().ok().map(|kib| kib << 10)
}

/// In MiB, which is fine enough for memory.
fn rounded(bytes: u64) -> String {
    quantity::format_size(bytes.next_multiple_of(1 << 20))
}

/// What bounds the memory of all drives of this process.
struct Limit {
    bytes: u64,
    /// Bytes of it that something else than drives has taken.
    others: u64,
    whose: &'static str,
}

impl Limit {
    /// Whether a drive finds what it needs beside what others have claimed.
    fn has(&self, (claimed, needed): (u64, u64)) -> bool {
        claimed.saturating_add(needed) <= self.bytes.saturating_sub(self.others)
    }

    fn said(&self, claimed: u64, needed: u64) -> String {
        let Self { bytes, others, whose } = self;
        let taken = [(*others, "this program has taken"), (claimed, "drives that are simulated at the same time take")];
        let taken = taken.into_iter().filter(|(taken, _)| *taken > 0 && needed <= *bytes);
        let taken = taken.map(|(taken, who)| format!(", of which {who} {}", rounded(taken)));
        format!("{whose} {}{}", rounded(*bytes), taken.collect::<Vec<_>>().concat())
    }

    /// What the machine has left. What drives have taken of their claims is not left any more.
    fn of_machine(claimed: u64) -> Option<Self> {
        let left = kib_in("/proc/meminfo", "MemAvailable")? + kib_in("/proc/meminfo", "SwapFree").unwrap_or(0);
        Some(Self { bytes: left + claimed.min(own("VmRSS")?), others: 0, whose: "this machine has left" })
    }

    /// The control groups of this process, in either version.
    fn of_group(root: &Path, claimed: u64) -> Option<Self> {
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
        let others = own("VmRSS").map_or(0, |bytes| bytes - claimed.min(bytes));
        limits.min().map(|bytes| Self { bytes, others, whose: "its control group may have" })
    }

    /// `ulimit -v`.
    fn of_address_space(claimed: u64) -> Option<Self> {
        let text = fs::read_to_string("/proc/self/limits").ok()?;
        let limit = text.lines().find_map(|line| line.strip_prefix("Max address space")?.split_whitespace().next());
        let others = own("VmSize").map_or(0, |bytes| bytes - claimed.min(bytes));
        Some(Self { bytes: limit?.parse().ok()?, others, whose: "`ulimit -v` allows" })
    }
}

/// A number in a file; "max" is none.
fn limit_in(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::config::Setting;

    fn plan(capacity: u64) -> DrivePlan {
        let settings = [("drive.capacity", format!("{capacity}B")), ("drive.precondition", "none".to_owned())];
        let settings = settings.map(|(key, value)| Setting::new(key, &value, "a test"));
        DrivePlan::new(Config::load("page", &settings).unwrap()).unwrap()
    }

    /// Two runs of a sweep began at once, each found enough, and both were ended.
    #[test]
    fn drives_that_are_built_at_once_do_not_claim_the_same_memory() {
        let Some(Limit { bytes: left, .. }) = Limit::of_machine(0) else { return };
        let whole = 4_u64 << 40;
        let share = left as f64 * 0.66 / plan(whole).least_table_bytes(false)[0] as f64;
        let half = plan((whole as f64 * share) as u64 >> 30 << 30);
        let claim = half.claim_memory(false).unwrap();
        let refused = half.claim_memory(false).unwrap_err().to_string();
        assert!(refused.contains("at the same time take"), "{refused}");
        drop(claim);
        half.check_memory(false).unwrap();
    }
}
