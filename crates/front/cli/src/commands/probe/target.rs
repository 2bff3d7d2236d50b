//! What is probed: a simulated drive, a file or block device, or an export of an NBD server.

use super::nbd::Client;
use crate::arguments::SuperpageArguments;
use crate::commands::block_target;
use crate::failure::{Failure, INTERRUPTED};
use crate::watch::Stage;
use engine::random::Stream;
use metrics::Status;
use remap::probe::{Point, SIZES};
use simulator::config::TIME;
use simulator::session::{self, SessionOptions};
use simulator::{Config, Setting};
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;
use units::quantity;

/// Writes of each size at least.
pub const LEAST_WRITES: u64 = 64;
/// What memory and places are aligned to past the cache of the operating system.
const PAGE: u64 = 4096;
/// The largest size of the sweep.
const LARGEST: u64 = SIZES[SIZES.len() - 1];

/// Something that takes writes.
pub enum Target {
    /// A stack: each size gets a drive of its own.
    Stack,
    /// A file or a block device.
    File {
        file: File,
        bytes: u64,
        /// Writes go past the cache of the operating system.
        direct: bool,
    },
    Export(Box<Client>),
}

impl Target {
    /// Opens what the arguments name.
    /// Errors: it cannot be opened, is too small, or would be overwritten without `--yes`.
    pub fn open(arguments: &SuperpageArguments) -> Result<Self, Failure> {
        let name = &arguments.target;
        let path = Path::new(name);
        let is_export = Client::is_uri(name);
        let is_stack = !is_export && (!path.exists() || path.extension().is_some_and(|extension| extension == "toml"));
        if is_stack {
            return Ok(Self::Stack);
        }
        if !arguments.set.is_empty() {
            return Err(Failure::usage(format!("--set is for simulated stacks, and {name} is none; leave it out")));
        }
        if !arguments.yes {
            return Err(Failure::usage(format!(
                "probing overwrites {name} at random places; add --yes if nothing on it is needed"
            )));
        }
        let (target, bytes) = if is_export {
            let client = Client::connect(name).map_err(|error| Failure::failed(format!("{name}: {error}")))?;
            let bytes = client.bytes();
            (Self::Export(Box::new(client)), bytes)
        } else {
            let (mut file, direct) = block_target::open_direct(path)?;
            let bytes = file.seek(SeekFrom::End(0)).map_err(|error| Failure::file(path, "measured", &error))?;
            (Self::File { file, bytes, direct }, bytes)
        };
        if bytes < LARGEST {
            let (has, needs) = (quantity::format_size(bytes), quantity::format_size(LARGEST));
            return Err(Failure::usage(format!(
                "{name} has {has}, and the largest writes are {needs}; take something larger"
            )));
        }
        Ok(target)
    }

    /// What a reader should know.
    pub fn note(&self) -> &'static str {
        match self {
            Self::Stack => {
                "Each size was written to a drive of its own in the state of drive.precondition; on one in use \
                 cleaning blurs the knee, and a larger --bytes helps."
            }
            Self::File { direct: true, .. } => {
                "Writes go past the cache of the operating system, as many at once as --queue-depth says; one of the \
                 drive's own may blur the knee, and a larger --bytes helps."
            }
            Self::File { .. } => {
                "Writes go through the cache of the operating system, with a sync after each batch: that blurs the \
                 knee, and small files more."
            }
            Self::Export(_) => "What lies behind the server may have caches that blur the knee.",
        }
    }

    /// Writes `writes` times `bytes` at random aligned places.
    /// Errors: the target fails, or the user stopped.
    pub fn write(
        &mut self,
        bytes: u64,
        writes: u64,
        arguments: &SuperpageArguments,
        stage: &Stage,
    ) -> Result<Point, Failure> {
        let mut places = Stream::new(arguments.seed, "probe");
        let depth = arguments.queue_depth;
        let failed = |error: std::io::Error| Failure::failed(format!("{}: {error}", arguments.target));
        let started = Instant::now();
        match self {
            Self::Stack => return simulated(bytes, writes, arguments, stage),
            Self::File { file, bytes: size, direct } => {
                let slots = *size / bytes;
                let places: Vec<u64> = (0..writes).map(|_| places.below(slots) * bytes).collect();
                // Past the cache memory has to be aligned as sectors are.
                let noise = noise(bytes + PAGE, arguments.seed);
                let data = &noise[noise.as_ptr().align_offset(PAGE as usize)..][..bytes as usize];
                if *direct {
                    side_by_side(file, &places, data, depth as usize).map_err(failed)?;
                } else {
                    for batch in places.chunks(depth as usize) {
                        batch.iter().try_for_each(|place| file.write_all_at(data, *place)).map_err(failed)?;
                        file.sync_data().map_err(failed)?;
                    }
                }
                file.sync_data().map_err(failed)?;
            }
            Self::Export(client) => {
                let data = noise(bytes, arguments.seed);
                let slots = client.bytes() / bytes;
                client.write_all((0..writes).map(|_| places.below(slots) * bytes), &data, depth).map_err(failed)?;
                client.flush().map_err(failed)?;
            }
        }
        Ok(Point { bytes, writes, seconds: started.elapsed().as_secs_f64().max(1e-9) })
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

fn simulated(bytes: u64, writes: u64, arguments: &SuperpageArguments, stage: &Stage) -> Result<Point, Failure> {
    let mut settings = arguments.set.iter().map(|text| Setting::from_argument(text)).collect::<Result<Vec<_>, _>>()?;
    for (key, value) in [
        ("workload.request_size", format!("{bytes}B")),
        ("workload.requests", writes.to_string()),
        ("workload.queue_depth", arguments.queue_depth.to_string()),
        ("workload.seed", arguments.seed.to_string()),
        // What is looked for is the unit of writing, which cleaning would blur.
        ("drive.precondition", "none".to_owned()),
    ] {
        settings.push(Setting::new(key, &value, "probe"));
    }
    let config = Config::load(&arguments.target, &settings)?;
    if !TIME.read(&config.values) {
        return Err(Failure::usage(
            "a probe measures time, and engine.time = none has none; use engine.time = virtual",
        ));
    }
    let options = SessionOptions { workload: "uniform-write".to_owned(), snapshots: None };
    let name = format!("{} {}", config.name, quantity::format_size(bytes));
    let mut watcher = stage.watcher(&name);
    let result = session::run(config, &options, &mut watcher)?;
    match result.status {
        Status::Complete => Ok(Point { bytes, writes, seconds: result.sim_ns as f64 / 1e9 }),
        Status::Interrupted => Err(Failure { code: INTERRUPTED, message: "interrupted".to_owned() }),
        Status::WornOut | Status::DriveFull => {
            Err(Failure::failed(format!("{name}: the drive is full or worn out; raise drive.over_provisioning")))
        }
    }
}
