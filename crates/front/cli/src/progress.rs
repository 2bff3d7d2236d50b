//! Data of a run or a sweep for viewers elsewhere: its progress, and its measurements so far.

use crate::arguments::WatchArguments;
use crate::failure::Failure;
use crate::output;
use live::{Access, Source};
use serde_json::{Value, json};
use serve::Watching;
use simulator::run::HostMeasurements;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Version of the form of what is told.
const SCHEMA: &str = "nandarium.progress/1";
/// The environment variable of a token.
const TOKEN: &str = "NANDARIUM_WATCH_TOKEN";
/// How old a table may be, which takes a while to make.
const TABLE_AGE: Duration = Duration::from_secs(2);

/// Makes the table of a sweep as far as it is known.
type Make = Box<dyn Fn() -> Value + Send>;

/// How a table is made, and what was made last.
struct Table {
    make: Make,
    made: Option<(Instant, Value)>,
}

/// The present state, for viewers. The work writes it; a thread of the watchers reads it.
pub struct Board {
    kind: &'static str,
    name: String,
    unit: &'static str,
    /// It is recorded what requests wait for.
    has_causes: bool,
    begun: Instant,
    /// Somebody has asked since measurements were copied the last time: otherwise they are not.
    is_asked: AtomicBool,
    told: Mutex<Told>,
    table: Mutex<Option<Table>>,
}

impl std::fmt::Debug for Board {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Board").field("kind", &self.kind).field("name", &self.name).finish_non_exhaustive()
    }
}

struct Told {
    phase: &'static str,
    done: u64,
    all: Option<u64>,
    since: Instant,
    measured: Value,
}

impl Board {
    /// Of work of a kind (`run`, `sweep`) that is counted in a unit. `has_causes`: it is recorded what requests wait
    /// for.
    pub fn new(kind: &'static str, name: &str, unit: &'static str, has_causes: bool) -> Arc<Self> {
        let begun = Instant::now();
        let told = Told { phase: "begins", done: 0, all: None, since: begun, measured: Value::Null };
        Arc::new(Self {
            kind,
            name: name.to_owned(),
            unit,
            has_causes,
            begun,
            is_asked: AtomicBool::new(false),
            told: Mutex::new(told),
            table: Mutex::new(None),
        })
    }

    /// With a table that is made anew now and then, when somebody asks.
    pub fn with_table(self: Arc<Self>, make: Make) -> Arc<Self> {
        *self.table.lock().unwrap_or_else(PoisonError::into_inner) = Some(Table { make, made: None });
        self
    }

    /// A phase begins, of so many units if that is known.
    pub fn begin(&self, phase: &'static str, all: Option<u64>) {
        *self.told() = Told { phase, done: 0, all, since: Instant::now(), measured: Value::Null };
    }

    /// So many units of the phase are done.
    pub fn reach(&self, done: u64) {
        self.told().done = done;
    }

    /// The measurements of the phase so far; they are copied if a viewer has asked since the last time.
    pub fn measured(&self, sheet: &HostMeasurements) {
        if !self.is_asked.swap(false, Ordering::Relaxed) {
            return;
        }
        let mut measured = serve::requests_so_far(&sheet.totals, &sheet.latency, &sheet.unwritten, self.has_causes);
        measured["wall_s"] = json!(self.begun.elapsed().as_secs_f64());
        measured["simulated_ns"] = json!(sheet.ended - sheet.started);
        self.told().measured = measured;
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn document(&self) -> Value {
        self.is_asked.store(true, Ordering::Relaxed);
        let table = self.table();
        let Told { phase, done, all, since, measured } = &*self.told();
        let seconds = since.elapsed().as_secs_f64();
        let speed = (*done > 0 && seconds > 0.0).then(|| *done as f64 / seconds);
        let left = all.zip(speed).map(|(all, speed)| all.saturating_sub(*done) as f64 / speed);
        json!({
            "schema": SCHEMA,
            "kind": self.kind,
            "name": self.name,
            "unit": self.unit,
            "phase": phase,
            "done": done,
            "all": all,
            "elapsed_s": self.begun.elapsed().as_secs_f64(),
            "per_second": speed,
            "left_s": left,
            "measured": measured,
            "table": table,
        })
    }

    fn table(&self) -> Value {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Table { make, made }) = &mut *table else { return Value::Null };
        match made {
            Some((when, value)) if when.elapsed() < TABLE_AGE => value.clone(),
            _ => made.insert((Instant::now(), make())).1.clone(),
        }
    }
}

/// A board as those who watch see it.
struct Seen(Arc<Board>);

impl Source for Seen {
    fn state(&mut self) -> Result<Value, String> {
        Ok(self.0.document())
    }

    fn maps(&mut self) -> Result<Value, String> {
        Err(format!("a {} has no maps while it goes on; its report has them", self.0.kind))
    }

    fn command(&mut self, _: &str) -> Result<Value, String> {
        Err(format!("a {} takes no commands; Ctrl-C where it was begun stops it", self.0.kind))
    }
}

/// Lets others watch a board, if the user wants that.
pub fn watched(
    arguments: &WatchArguments,
    quiet: bool,
    board: Option<&Arc<Board>>,
) -> Result<Option<Watching>, Failure> {
    let Some(board) = board else { return Ok(None) };
    let Some(access) = access(arguments, quiet)? else { return Ok(None) };
    let watching = Watching::begin(access, Box::new(Seen(Arc::clone(board)))).map_err(Failure::failed)?;
    tell(watching.url(), quiet);
    Ok(Some(watching))
}

/// Tells the user where to watch.
pub fn tell(url: &str, quiet: bool) {
    if !quiet {
        output::complain(&format!("watch: {url}"));
    }
}

/// The address for viewers, and the token that they have to bring, if the user wants viewers.
/// Errors: the token will not do, or would be told to nobody or to everybody.
pub fn access(arguments: &WatchArguments, quiet: bool) -> Result<Option<Access>, Failure> {
    if arguments.watch_token.is_some() {
        return Err(Failure::usage(format!(
            "--watch-token: every user of this machine can read a token on a command line; write the token into a file \
             for --watch-token-file FILE, or into the environment variable {TOKEN}"
        )));
    }
    let Some(address) = arguments.watch else { return Ok(None) };
    let token = token(arguments.watch_token_file.as_deref())?;
    if quiet && !address.ip().is_loopback() && token.is_none() {
        return Err(Failure::usage(format!(
            "--watch {address}: others reach that address, and with --quiet nobody would learn the token: give one \
             with --watch-token-file FILE"
        )));
    }
    let access = Access::new(address, token);
    access.map(Some).map_err(|error| Failure::usage(format!("the token to watch with: {error}")))
}

/// The token that a file or the environment gives: other users of this machine can read neither of them.
fn token(file: Option<&Path>) -> Result<Option<String>, Failure> {
    let Some(file) = file else { return Ok(std::env::var(TOKEN).ok()) };
    let text = std::fs::read_to_string(file).map_err(|error| Failure::file(file, "read", &error))?;
    Ok(Some(text.trim().to_owned()))
}
