//! From arguments to configurations.

use crate::arguments::SessionArguments;
use crate::failure::Failure;
use compare::{LifePlan, LifeQuestion};
use drive::Drive;
use simulator::config::stack_parts;
use simulator::session::{Snapshots, USUAL_BYTES, USUAL_FILES};
use simulator::{Config, Setting};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::UNIX_EPOCH;

/// The configuration of a stack given as `NAME`, `FILE` or `NAME+key=value+…`.
/// Errors: no such stack, an unknown key, a value out of range.
pub fn load(stack: &str, arguments: &SessionArguments) -> Result<Config, Failure> {
    load_with(stack, Changes::of(arguments), Vec::new())
}

/// Changes of a stack by options.
#[derive(Clone, Copy, Debug)]
pub struct Changes<'a> {
    pub set: &'a [String],
    pub seed: Option<u64>,
    pub requests: Option<u64>,
    pub format: Option<&'a str>,
}

impl<'a> Changes<'a> {
    fn of(arguments: &'a SessionArguments) -> Self {
        let SessionArguments { set, seed, requests, format, .. } = arguments;
        Self { set, seed: *seed, requests: *requests, format: format.as_deref() }
    }
}

/// As [`load`], with further settings.
pub fn load_with(stack: &str, changes: Changes<'_>, mut settings: Vec<Setting>) -> Result<Config, Failure> {
    let is_file = Path::new(stack).exists();
    let parts = if is_file { Ok((stack, Vec::new())) } else { stack_parts(stack) };
    let (name, own) = parts.map_err(|problem| Failure::usage(format!("stack `{stack}`: {problem}")))?;
    let is_changed = !own.is_empty();
    settings.extend(given(changes.set)?);
    let option = |key: &str, value: String, place: &str| Setting::new(key, &value, place);
    if let Some(seed) = changes.seed {
        settings.push(option("workload.seed", seed.to_string(), "--seed"));
        settings.push(option("engine.seed", seed.to_string(), "--seed"));
    }
    if let Some(requests) = changes.requests {
        settings.push(option("workload.requests", requests.to_string(), "--requests"));
    }
    if let Some(format) = changes.format {
        settings.push(option("workload.format", format.to_owned(), "--format"));
    }
    once(&settings)?;
    settings.extend(own.into_iter().map(|(key, value)| option(&key, value, &format!("stack `{stack}`"))));
    let mut config = Config::load(name, &settings)?;
    if is_changed {
        stack.clone_into(&mut config.name);
    }
    Ok(config)
}

/// A drive whose life is asked for, under a workload that can be used for that.
/// Errors: the stack, the question or the workload cannot be used.
pub fn life_plan(
    stack: &str,
    arguments: &SessionArguments,
    question: &LifeQuestion,
    workload: &str,
) -> Result<LifePlan, Failure> {
    let plan = LifePlan::new(|under| load_with(stack, Changes::of(arguments), under), question)?;
    plan.check_workload(workload)?;
    Ok(plan)
}

/// The settings of `--set`.
fn given(set: &[String]) -> Result<Vec<Setting>, Failure> {
    set.iter().map(|text| Setting::from_argument(text).map_err(Failure::from)).collect()
}

/// Refuses a key that is given twice: which of its values was meant, nobody can tell.
fn once(settings: &[Setting]) -> Result<(), Failure> {
    let mut places: BTreeMap<&str, &Setting> = BTreeMap::new();
    for setting in settings {
        if let Some(first) = places.insert(&setting.key, setting) {
            return Err(Failure::usage(format!(
                "{} is given twice: {} ({}) and {} ({}); leave one out",
                setting.key, first.value, first.place, setting.value, setting.place
            )));
        }
    }
    Ok(())
}

/// The configuration of a drive whose bytes others read and write.
/// Errors: those of [`Drive::config`]; a key is given twice.
pub fn load_with_bytes(stack: &str, set: &[String]) -> Result<Config, Failure> {
    let settings = given(set)?;
    once(&settings)?;
    Ok(Drive::config(stack, &settings)?)
}

/// Where a session keeps preconditioned states.
pub fn snapshots_of(arguments: &SessionArguments) -> Option<Snapshots> {
    if arguments.no_snapshots { None } else { snapshots(arguments.snapshots.clone()) }
}

/// Preconditioned states of this build in `folder`, or in the user's cache folder.
pub fn snapshots(folder: Option<PathBuf>) -> Option<Snapshots> {
    let kept = |folder| Snapshots { folder, build: build(), files: USUAL_FILES, bytes: USUAL_BYTES };
    folder.or_else(cache_folder).map(kept)
}

/// The file this code was loaded from, where that is not the program itself.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Says which file this code was loaded from, where the running program is another one, such as an interpreter. Only
/// the first call counts.
pub fn set_program(file: PathBuf) {
    let _ = PROGRAM.set(file);
}

/// The file this code is in.
fn program() -> std::io::Result<PathBuf> {
    PROGRAM.get().cloned().map_or_else(std::env::current_exe, Ok)
}

/// The user's cache folder for this program.
pub fn cache_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))?;
    Some(cache.join("nandarium"))
}

/// Names this build: a rebuilt program may compute other states, and must not find old ones.
fn build() -> String {
    let program = program().and_then(std::fs::metadata).ok();
    let age = program.as_ref().and_then(|file| file.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    let length = program.map_or(0, |file| file.len());
    format!("{} {length} {}", env!("CARGO_PKG_VERSION"), age.map_or(0, |age| age.as_nanos()))
}

/// Names this program by what it is made of, the same on every machine that runs it.
pub fn program_hash() -> String {
    static HASH: OnceLock<String> = OnceLock::new();
    // A program that cannot read itself is told by its age, as for snapshots.
    HASH.get_or_init(|| program().and_then(|file| sweep::file_digest(&file)).unwrap_or_else(|_| build())).clone()
}
