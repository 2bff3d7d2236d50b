//! The superpage of a drive: random aligned writes of growing size, and where the rate stops growing.

use crate::MeasureError;
use crate::nbd_client::Client;
use crate::target::Target;
use engine::random::Stream;
use metrics::Status;
use remap::probe::{Point, SIZES, knee};
use remap::target::Access;
use simulator::config::TIME;
use simulator::session::{self, SessionOptions, Watcher};
use simulator::{Config, Setting};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use units::quantity;

/// Writes of each size at least.
const LEAST_WRITES: u64 = 64;
/// What memory and places are aligned to past the cache of the operating system.
const PAGE: u64 = 4096;
/// The largest size of the sweep.
const LARGEST: u64 = SIZES[SIZES.len() - 1];

/// The target of a probe, and the way.
#[derive(Clone, Debug)]
pub struct Superpage {
    /// A built-in stack or a stack file, which is simulated; or a file, a block device or an NBD export, which is
    /// written.
    pub target: String,
    /// Settings of a stack.
    pub settings: Vec<Setting>,
    /// Writes under way at once, from 1 on; through a cache: writes before each sync.
    pub queue_depth: u32,
    /// Bytes that each size writes; 64 writes at least.
    pub bytes: u64,
    /// Seed of the places.
    pub seed: u64,
    /// The contents of a target may be lost.
    pub overwrites: bool,
}

/// The findings.
#[derive(Clone, Debug)]
pub struct Found {
    /// Writes of each size.
    pub points: Vec<Point>,
    /// Notes for the reader.
    pub note: &'static str,
}

impl Found {
    /// The superpage, if the rates show one.
    pub fn knee(&self) -> Option<u64> {
        knee(&self.points)
    }
}

/// Gives the watcher of the simulation with a name.
pub type Watchers<'a> = dyn FnMut(&str) -> Box<dyn Watcher + 'a> + 'a;

impl Superpage {
    /// The usual way to look at a target: 16 MiB of each size, 32 writes at a time, and nothing is overwritten.
    pub fn of(target: &str) -> Self {
        let (settings, overwrites) = (Vec::new(), false);
        Self { target: target.to_owned(), settings, queue_depth: 32, bytes: 16 << 20, seed: 1, overwrites }
    }

    /// Writes all sizes.
    ///
    /// # Errors
    /// The target cannot be opened, is too small, would be overwritten without being told to, or fails; `stop` was set.
    pub fn find(&self, watchers: &mut Watchers<'_>, stop: &AtomicBool) -> Result<Found, MeasureError> {
        let mut target = self.open()?;
        let note = note(target.as_ref());
        let mut points = Vec::new();
        for size in SIZES {
            if stop.load(Ordering::Relaxed) {
                return Err(MeasureError::Interrupted);
            }
            let writes = (self.bytes / size).max(LEAST_WRITES);
            points.push(match &mut target {
                None => self.simulated(size, writes, watchers)?,
                Some(target) => {
                    let failed = |error| MeasureError::Failed(format!("{}: {error}", self.target));
                    let started = Instant::now();
                    self.write(target, size, writes).map_err(failed)?;
                    Point { bytes: size, writes, seconds: started.elapsed().as_secs_f64().max(1e-9) }
                }
            });
        }
        Ok(Found { points, note })
    }

    /// What is written; `None`: a stack, of which each size gets a drive of its own.
    fn open(&self) -> Result<Option<Target>, MeasureError> {
        let name = &self.target;
        let path = Path::new(name);
        let is_file = path.exists() && path.extension().is_none_or(|extension| extension != "toml");
        if !is_file && !Client::is_uri(name) {
            return Ok(None);
        }
        if !self.settings.is_empty() {
            let problem = format!("settings are for simulated stacks, and {name} is none; leave them out");
            return Err(MeasureError::Usage(problem));
        }
        if !self.overwrites {
            return Err(MeasureError::Overwrites(name.clone()));
        }
        let target = Target::open(name, Access::Write)?;
        if target.bytes() < LARGEST {
            let (has, needs) = (quantity::format_size(target.bytes()), quantity::format_size(LARGEST));
            let problem = format!("{name} has {has}, and the largest writes are {needs}; take something larger");
            return Err(MeasureError::Usage(problem));
        }
        Ok(Some(target))
    }

    /// Writes `writes` times `bytes` at random aligned places.
    fn write(&self, target: &mut Target, bytes: u64, writes: u64) -> std::io::Result<()> {
        let depth = self.queue_depth;
        let mut places = Stream::new(self.seed, "probe");
        let slots = target.bytes() / bytes;
        let places: Vec<u64> = (0..writes).map(|_| places.below(slots) * bytes).collect();
        // Past the cache memory has to be aligned as sectors are.
        let noise = noise(bytes + PAGE, self.seed);
        let data = &noise[noise.as_ptr().align_offset(PAGE as usize)..][..bytes as usize];
        match target {
            Target::File { file, direct, .. } => {
                if *direct {
                    side_by_side(file, &places, data, depth as usize)?;
                } else {
                    for batch in places.chunks(depth as usize) {
                        batch.iter().try_for_each(|place| file.write_all_at(data, *place))?;
                        file.sync_data()?;
                    }
                }
                file.sync_data()
            }
            Target::Export(client) => {
                client.write_all(places.into_iter(), data, depth)?;
                client.flush()
            }
        }
    }

    /// As [`Superpage::write`], on a new drive of the stack.
    fn simulated(&self, bytes: u64, writes: u64, watchers: &mut Watchers<'_>) -> Result<Point, MeasureError> {
        let own = [
            ("workload.request_size", format!("{bytes}B")),
            ("workload.requests", writes.to_string()),
            ("workload.queue_depth", self.queue_depth.to_string()),
            ("workload.seed", self.seed.to_string()),
            // What is looked for is the unit of writing, which cleaning would blur.
            ("drive.precondition", "none".to_owned()),
        ];
        let own = own.map(|(key, value)| Setting::new(key, &value, "probe"));
        let config = Config::load(&self.target, &[&self.settings[..], &own].concat())?;
        if !TIME.read(&config.values) {
            let problem = "a probe measures time, and engine.time = none has none; use engine.time = virtual";
            return Err(MeasureError::Usage(problem.to_owned()));
        }
        let options = SessionOptions { workload: "uniform-write".to_owned(), snapshots: None };
        let name = format!("{} {}", config.name, quantity::format_size(bytes));
        let result = session::run(config, &options, &mut *watchers(&name))?;
        match result.status {
            Status::Complete => Ok(Point { bytes, writes, seconds: result.sim_ns as f64 / 1e9 }),
            Status::Interrupted => Err(MeasureError::Interrupted),
            Status::WornOut | Status::DriveFull => Err(MeasureError::Failed(format!(
                "{name}: the drive is full or worn out; raise drive.over_provisioning"
            ))),
        }
    }
}

/// What a reader should know of a target, `None` if it is a stack.
fn note(target: Option<&Target>) -> &'static str {
    match target {
        None => {
            "Each size was written to a drive of its own in the state of drive.precondition; on one in use cleaning \
             blurs the knee, and a larger --bytes helps."
        }
        Some(Target::File { direct: true, .. }) => {
            "Writes go past the cache of the operating system, as many at once as --queue-depth says; one of the \
             drive's own may blur the knee, and a larger --bytes helps."
        }
        Some(Target::File { .. }) => {
            "Writes go through the cache of the operating system, with a sync after each batch: that blurs the knee, \
             and small files more."
        }
        Some(Target::Export(_)) => "The storage behind the server may have caches that blur the knee.",
    }
}

/// Writes the same data to many places, `depth` at once.
fn side_by_side(file: &File, places: &[u64], data: &[u8], depth: usize) -> std::io::Result<()> {
    std::thread::scope(|scope| {
        let writer = |first: usize| {
            move || places[first..].iter().step_by(depth).try_for_each(|place| file.write_all_at(data, *place))
        };
        let writers: Vec<_> = (0..depth.min(places.len())).map(|first| scope.spawn(writer(first))).collect();
        writers.into_iter().try_for_each(|writer| writer.join().expect("a writer does not panic"))
    })
}

/// Bytes that do not compress.
fn noise(bytes: u64, seed: u64) -> Vec<u8> {
    let mut stream = Stream::new(seed, "probe.data");
    (0..bytes / 8).flat_map(|_| stream.next_u64().to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> (tempfile::NamedTempFile, Superpage) {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(2 << 20).unwrap();
        let probe = Superpage { bytes: 1, ..Superpage::of(file.path().to_str().unwrap()) };
        (file, probe)
    }

    fn is_blank(file: &tempfile::NamedTempFile) -> bool {
        std::fs::read(file.path()).unwrap().iter().all(|byte| *byte == 0)
    }

    #[test]
    fn a_file_is_overwritten_only_when_told_to() {
        let (file, probe) = file();
        let refused = probe.find(&mut |_| Box::new(()), &AtomicBool::new(false));
        assert!(matches!(refused, Err(MeasureError::Overwrites(_))) && is_blank(&file));
        let told = Superpage { overwrites: true, ..probe };
        let found = told.find(&mut |_| Box::new(()), &AtomicBool::new(false)).unwrap();
        assert!(found.points.len() == SIZES.len() && !is_blank(&file));
    }

    /// It wrote all sizes first.
    #[test]
    fn a_probe_of_a_file_that_is_stopped_writes_no_further_size() {
        let (file, probe) = file();
        let told = Superpage { overwrites: true, ..probe };
        let stopped = told.find(&mut |_| Box::new(()), &AtomicBool::new(true));
        assert!(matches!(stopped, Err(MeasureError::Interrupted)) && is_blank(&file));
    }
}
