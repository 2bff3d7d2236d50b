//! Memory that a drive takes, and the limit of this process: an error is raised before anything is built. A
//! process that asks for it all the same is ended by the system, with everything else that it does.

use crate::DrivePlan;
use crate::config::ConfigError;
use std::fs::File;
use std::io::Read;
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
static CLAIMS: Mutex<Claims> = Mutex::new(Claims { bytes: [0; 2], base: 0, checked: None });

struct Claims {
    /// Of memory, and of addresses.
    bytes: [u64; 2],
    /// Addresses that the process had when no drive was there.
    base: u64,
    /// What was found to fit last, until anything is claimed. A run checks its drive and then claims it, and to ask the
    /// system again would take as long as a small drive.
    checked: Option<[u64; 2]>,
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
    let left = address_limit().zip(taken()).map(|(limit, [_, addresses])| limit.saturating_sub(addresses));
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
        let bytes = beside_a_run(bytes);
        // Whoever claims on another thread does so after this or before it.
        claims().claim(bytes, Reading::now)?;
        Ok(Self { bytes })
    }

    /// Checks that [`MemoryClaim::of`] could claim so many bytes now.
    /// Errors: as there.
    pub fn check(bytes: [u64; 2]) -> Result<(), TooLittleMemory> {
        claims().check(beside_a_run(bytes), Reading::now)
    }
}

/// Each run has a workload and results of its own beside its tables.
fn beside_a_run([memory, addresses]: [u64; 2]) -> [u64; 2] {
    [memory, addresses.saturating_add(OWN)]
}

impl Claims {
    fn claim(&mut self, bytes: [u64; 2], ask: impl FnOnce() -> Reading) -> Result<(), TooLittleMemory> {
        if self.checked.take() != Some(bytes) {
            self.check(bytes, ask)?;
        }
        self.checked = None;
        for (sum, bytes) in self.bytes.iter_mut().zip(bytes) {
            *sum += bytes;
        }
        Ok(())
    }

    /// Asks the system, and checks that so many bytes fit beside the claims.
    fn check(&mut self, bytes: [u64; 2], ask: impl FnOnce() -> Reading) -> Result<(), TooLittleMemory> {
        self.checked = None;
        let reading = ask();
        if self.bytes[1] == 0 {
            self.base = reading.addresses.unwrap_or(0);
        }
        let [memory, addresses] = self.bytes;
        let memory = (memory, bytes[0].saturating_add(OWN));
        let limits = [
            ("at least", memory, reading.of_machine(memory.0)),
            ("at least", memory, reading.of_group(memory.0)),
            ("up to", (addresses, bytes[1]), reading.of_address_space(self.base)),
        ];
        let too_low =
            limits.into_iter().find_map(|(at, wanted, limit)| Some((at, wanted, limit.filter(|it| !it.has(wanted))?)));
        if let Some((at, (claimed, needed), limit)) = too_low {
            return Err(TooLittleMemory { at, needed: rounded(needed), limit: limit.said(claimed, needed) });
        }
        self.checked = Some(bytes);
        Ok(())
    }
}

impl DrivePlan {
    /// Claims the memory that the tables of a drive take at least. `carries`: it holds the bytes of its clients, and
    /// nothing is checked.
    /// Errors: [`ConfigError::Memory`]: the bytes of the tables, the limit, and the remedy.
    pub fn claim_memory(&self, carries: bool) -> Result<MemoryClaim, ConfigError> {
        self.with_tables(carries, MemoryClaim::of)
    }

    /// Checks that [`DrivePlan::claim_memory`] could claim it now.
    pub fn check_memory(&self, carries: bool) -> Result<(), ConfigError> {
        self.with_tables(carries, MemoryClaim::check)
    }

    fn with_tables<T>(&self, carries: bool, ask: fn([u64; 2]) -> Result<T, TooLittleMemory>) -> Result<T, ConfigError> {
        let [at_once, in_all] = self.least_table_bytes(carries);
        // Drives that hold bytes of clients are neither kept nor loaded.
        let copies = if carries { 1 } else { COPIES };
        ask([at_once, in_all.saturating_mul(copies)]).map_err(|problem| {
            let capacity = self.config.resolved["drive.capacity"].clone();
            let larger = self.array.keys_of_larger(2 * u64::from(self.geometry.page_bytes));
            let raise = larger.map_or(String::new(), |keys| format!("raise {keys}, "));
            ConfigError::Memory { capacity, problem: Box::new(problem), raise }
        })
    }
}

/// What this process has, in bytes: of memory, and of addresses. Nothing where the system does not tell.
#[cfg(target_os = "linux")]
fn taken() -> Option<[u64; 2]> {
    in_file(Path::new("/proc/self/statm"), |text| {
        let mut pages = text.split_whitespace().map_while(|number| number.parse::<u64>().ok());
        let [addresses, memory] = [pages.next()?, pages.next()?];
        Some([memory, addresses].map(|pages| pages.saturating_mul(rustix::param::page_size() as u64)))
    })
}

/// `ulimit -v` of this process, if it has one.
#[cfg(target_os = "linux")]
fn address_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::As).current
}

/// Memory of a process is looked up on Linux alone.
#[cfg(not(target_os = "linux"))]
fn taken() -> Option<[u64; 2]> {
    None
}

/// Limits of addresses are looked up on Linux alone.
#[cfg(not(target_os = "linux"))]
fn address_limit() -> Option<u64> {
    None
}

/// What is found in a file of the system, of which the first 8 KiB are looked at: in one step and without the heap, as
/// small drives are built in little more time than it takes to read these files.
fn in_file<T>(path: &Path, find: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    let mut file = File::open(path).ok()?;
    let mut text = [0; 8 << 10];
    let length = file.read(&mut text).ok()?;
    find(std::str::from_utf8(&text[..length]).ok()?)
}

/// A line `NAME: … kB` of a text of the system, in bytes.
fn kib_in(text: &str, name: &str) -> Option<u64> {
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
}

/// What the system says of this process and its limits, in bytes, at one time.
struct Reading {
    /// Of this process in memory.
    resident: Option<u64>,
    addresses: Option<u64>,
    /// That the machine has left.
    left: Option<u64>,
    group_limit: Option<u64>,
    address_limit: Option<u64>,
}

impl Reading {
    fn now() -> Self {
        let [resident, addresses] = taken().map_or([None; 2], |taken| taken.map(Some));
        let left = |text: &str| Some(kib_in(text, "MemAvailable")? + kib_in(text, "SwapFree").unwrap_or(0));
        Self {
            resident,
            addresses,
            left: in_file(Path::new("/proc/meminfo"), left),
            group_limit: group_limit(Path::new("/sys/fs/cgroup")),
            address_limit: address_limit(),
        }
    }

    /// What drives have taken of their claims is not left any more.
    fn of_machine(&self, claimed: u64) -> Option<Limit> {
        let bytes = self.left? + claimed.min(self.resident?);
        Some(Limit { bytes, others: 0, whose: "this machine has left" })
    }

    fn of_group(&self, claimed: u64) -> Option<Limit> {
        let others = self.resident.map_or(0, |bytes| bytes - claimed.min(bytes));
        Some(Limit { bytes: self.group_limit?, others, whose: "its control group may have" })
    }

    /// `ulimit -v`. `base`: what the process had before its first drive. How much of their claims drives have taken
    /// already cannot be seen in what it has now.
    fn of_address_space(&self, base: u64) -> Option<Limit> {
        Some(Limit { bytes: self.address_limit?, others: base, whose: "`ulimit -v` allows" })
    }
}

/// The least limit of the control groups of this process, in either version.
fn group_limit(root: &Path) -> Option<u64> {
    let limits = |text: &str| text.lines().filter_map(|line| limit_of(root, line)).min();
    in_file(Path::new("/proc/self/cgroup"), limits)
}

/// The least limit of the group in a line of `/proc/self/cgroup`, and of those above it.
fn limit_of(root: &Path, line: &str) -> Option<u64> {
    let (_, rest) = line.split_once(':')?;
    let (controllers, path) = rest.split_once(':')?;
    let (root, file) = match controllers {
        "" => (root.to_owned(), "memory.max"),
        "memory" => (root.join("memory"), "memory.limit_in_bytes"),
        _ => return None,
    };
    let own = root.join(path.trim_start_matches('/'));
    // A group has no more than those above it; what cannot be seen from here does not count.
    let groups = own.ancestors().take_while(|folder| folder.starts_with(&root));
    groups.filter_map(|folder| limit_in(&folder.join(file))).min()
}

/// A number in a file; "max" is none.
fn limit_in(path: &Path) -> Option<u64> {
    in_file(path, |text| text.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::config::Setting;

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

    /// This much is left, and the process has nothing in memory yet.
    fn left(mib: u64) -> Reading {
        let left = Some(mib << 20);
        Reading { resident: Some(0), addresses: None, left, group_limit: None, address_limit: None }
    }

    fn of(mib: u64) -> [u64; 2] {
        [mib << 20; 2]
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_process_has_is_read_in_bytes_memory_first() {
        let table = vec![1_u8; 32 << 20];
        let [memory, addresses] = taken().unwrap();
        assert!(memory >= table.len() as u64 && addresses >= memory, "{memory} bytes of {addresses}");
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let said = kib_in(&status, "VmSize").unwrap();
        // Other tests run beside this one.
        assert!(addresses.abs_diff(said) <= said / 4, "{addresses} and {said} bytes");
    }

    #[test]
    fn the_system_is_asked_once_for_a_drive_that_is_checked_and_then_claimed() {
        let mut claims = Claims { bytes: [0; 2], base: 0, checked: None };
        claims.check(of(100), || left(1000)).unwrap();
        claims.claim(of(100), || unreachable!("it was checked")).unwrap();
        claims.claim(of(100), || left(50)).unwrap_err();
        claims.check(of(100), || left(50)).unwrap_err();
        claims.claim(of(100), || left(50)).unwrap_err();
    }

    #[test]
    fn a_check_grants_nothing_to_another_drive_and_nothing_after_one() {
        let mut claims = Claims { bytes: [0; 2], base: 0, checked: None };
        claims.check(of(500), || left(1000)).unwrap();
        claims.claim(of(600), || left(50)).unwrap_err();
        claims.check(of(500), || left(1000)).unwrap();
        claims.claim(of(100), || left(1000)).unwrap();
        claims.claim(of(500), || left(50)).unwrap_err();
    }

    /// Two runs of a sweep began at once, each found enough, and both were ended.
    #[test]
    fn drives_that_are_built_at_once_do_not_claim_the_same_memory() {
        let Some(left) = Reading::now().left else { return };
        let most = [left / 3 * 2, 0];
        let claim = MemoryClaim::of(most).unwrap();
        let refused = MemoryClaim::of(most).unwrap_err().to_string();
        assert!(refused.contains("at the same time take"), "{refused}");
        drop(claim);
        drop(MemoryClaim::of(most).unwrap());
    }
}
