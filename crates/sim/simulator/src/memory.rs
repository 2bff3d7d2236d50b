//! Memory that a drive takes, and the limit of this process: an error is raised before anything is built. A
//! process that asks for it all the same is ended by the system, with everything else that it does.

use crate::DrivePlan;
use crate::config::ConfigError;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use units::quantity;

/// Memory of the program itself, and of a run beside its tables.
const OWN: u64 = 32 << 20;
/// How many times its tables a run takes at most where states are kept and loaded: twice as tables, once as bytes.
const COPIES: u64 = 3;
/// Addresses of a thread: its stack, and what lies around it.
const THREAD: u64 = 4 << 20;

/// What the drives of this process have claimed.
static CLAIMS: Mutex<Claims> = Mutex::new(Claims { bytes: [0; 2], base: 0 });

struct Claims {
    /// Of memory, and of addresses.
    bytes: [u64; 2],
    /// Addresses that the process had when no drive was there.
    base: u64,
}

fn claims() -> MutexGuard<'static, Claims> {
    CLAIMS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the heap small where `ulimit -v` limits this process: one arena for all threads, as glibc reserves 64 MiB of
/// addresses or more for each further one; and large tables apart, so that their addresses are free when they are.
/// Call this before threads start. It does nothing without a limit, or with another C library.
pub fn spare_addresses() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if address_limit().is_some() {
        #[expect(unsafe_code, reason = "glibc's heap can only be told so; arenas took 250 of 300 MiB")]
        // SAFETY: `mallopt` takes two numbers, may be called at any time, and refuses numbers that it does not know.
        unsafe {
            const M_MMAP_THRESHOLD: std::ffi::c_int = -3;
            const M_ARENA_MAX: std::ffi::c_int = -8;
            unsafe extern "C" {
                fn mallopt(parameter: std::ffi::c_int, value: std::ffi::c_int) -> std::ffi::c_int;
            }
            mallopt(M_ARENA_MAX, 1);
            mallopt(M_MMAP_THRESHOLD, 256 << 10);
        }
    }
}

/// As many of these threads as `ulimit -v` leaves addresses for, each with a run; at least one.
pub fn threads_that_fit(threads: usize) -> usize {
    let left = address_limit().zip(own("VmSize")).map(|(limit, taken)| limit.saturating_sub(taken));
    left.map_or(threads, |left| threads.min((left / (THREAD + OWN)) as usize).max(1))
}

/// Memory that a drive may take while this lives. Other drives that are built meanwhile, on other threads, find less.
#[derive(Debug)]
#[must_use = "what is claimed is given back when this is dropped"]
pub struct MemoryClaim {
    bytes: [u64; 2],
}

impl Drop for MemoryClaim {
    fn drop(&mut self) {
        for (sum, bytes) in claims().bytes.iter_mut().zip(self.bytes) {
            *sum -= bytes;
        }
    }
}

/// Memory that cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at} {needed} of memory, and {limit}")]
pub struct TooLittleMemory {
    at: &'static str,
    needed: String,
    limit: String,
}

impl MemoryClaim {
    /// Claims so many bytes: of memory that is taken at once, and of addresses that may be taken in the end.
    /// Errors: this process may not have them: the bytes needed, and the limit.
    pub fn of(bytes: [u64; 2]) -> Result<Self, TooLittleMemory> {
        // Each run has a workload and results of its own beside its tables.
        let bytes = [bytes[0], bytes[1].saturating_add(OWN)];
        // Whoever claims on another thread does so after this or before it.
        let mut claims = claims();
        if claims.bytes[1] == 0 {
            claims.base = own("VmSize").unwrap_or(0);
        }
        let [memory, addresses] = claims.bytes;
        let memory = (memory, bytes[0].saturating_add(OWN));
        let limits = [
            ("at least", memory, Limit::of_machine(memory.0)),
            ("at least", memory, Limit::of_group(Path::new("/sys/fs/cgroup"), memory.0)),
            ("up to", (addresses, bytes[1]), Limit::of_address_space(claims.base)),
        ];
        let too_low =
            limits.into_iter().find_map(|(at, wanted, limit)| Some((at, wanted, limit.filter(|it| !it.has(wanted))?)));
        if let Some((at, (claimed, needed), limit)) = too_low {
            return Err(TooLittleMemory { at, needed: rounded(needed), limit: limit.said(claimed, needed) });
        }
        for (sum, bytes) in claims.bytes.iter_mut().zip(bytes) {
            *sum += bytes;
        }
        Ok(Self { bytes })
    }
}

impl DrivePlan {
    /// Claims the memory that the tables of a drive take at least. `carries`: it holds the bytes of its clients, and
    /// nothing is checked.
    /// Errors: [`ConfigError::Memory`]: the bytes of the tables, the limit, and the remedy.
    pub fn claim_memory(&self, carries: bool) -> Result<MemoryClaim, ConfigError> {
        let [at_once, in_all] = self.least_table_bytes(carries);
        // Drives that hold bytes of clients are neither kept nor loaded.
        let copies = if carries { 1 } else { COPIES };
        MemoryClaim::of([at_once, in_all.saturating_mul(copies)]).map_err(|problem| {
            let capacity = self.config.resolved["drive.capacity"].clone();
            let larger = self.array.keys_of_larger(2 * u64::from(self.geometry.page_bytes));
            let raise = larger.map_or(String::new(), |keys| format!("raise {keys}, "));
            ConfigError::Memory { capacity, problem: Box::new(problem), raise }
        })
    }

    /// Checks that [`DrivePlan::claim_memory`] could claim it now.
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

    /// `ulimit -v`. `base`: what the process had before its first drive. How much of their claims drives have taken
    /// already cannot be seen in what it has now.
    fn of_address_space(base: u64) -> Option<Self> {
        Some(Self { bytes: address_limit()?, others: base, whose: "`ulimit -v` allows" })
    }
}

/// `ulimit -v` of this process, if it has one.
fn address_limit() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/limits").ok()?;
    let limit = text.lines().find_map(|line| line.strip_prefix("Max address space")?.split_whitespace().next());
    limit?.parse().ok()
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
        plan_in_state(capacity, "none")
    }

    fn plan_in_state(capacity: u64, state: &str) -> DrivePlan {
        let spare = ("drive.over_provisioning", "8%".to_owned());
        let settings = [("drive.capacity", format!("{capacity}B")), spare, ("drive.precondition", state.to_owned())];
        let settings = settings.map(|(key, value)| Setting::new(key, &value, "a test"));
        DrivePlan::new(Config::load("page", &settings).unwrap()).unwrap()
    }

    /// The tables of a drive in use were claimed twice: 7 TiB were refused where 20 GB were free.
    #[test]
    fn a_drive_in_use_is_not_refused_where_its_tables_fit() {
        let whole = 7_u64 << 40;
        for state in ["fill", "overwrite"] {
            let [at_once, _] = plan_in_state(whole, state).least_table_bytes(false);
            assert!(at_once <= 20_000_000_000, "{state}: {at_once} bytes");
        }
    }

    /// Two runs of a sweep began at once, each found enough, and both were ended.
    #[test]
    fn drives_that_are_built_at_once_do_not_claim_the_same_memory() {
        let Some(Limit { bytes: left, .. }) = Limit::of_machine(0) else { return };
        let whole = 4_u64 << 40;
        let share = left as f64 * 0.66 / plan(whole).least_table_bytes(false)[0] as f64;
        // A machine with more memory than the largest drive takes refuses none of two.
        if share > 1.5 {
            return;
        }
        let half = plan((whole as f64 * share) as u64 >> 30 << 30);
        let claim = half.claim_memory(false).unwrap();
        let refused = half.claim_memory(false).unwrap_err().to_string();
        assert!(refused.contains("at the same time take"), "{refused}");
        drop(claim);
        half.check_memory(false).unwrap();
    }
}
