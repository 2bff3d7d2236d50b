//! Timelines as files that Perfetto and Chrome's viewer open: the JSON trace event format.

use crate::closeups;
use flate2::Compression;
use flate2::write::GzEncoder;
use metrics::RunResult;
use nand::{Choice, Served, Slice};
use serde_json::{Value, json};
use simulator::session::{Gauge, Place, Prepared, SessionError, Snapshots, Timeline, TimelinePlan, Watcher};
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use units::{HostOp, Nanos, Ppn, SECTOR_BYTES};

/// Version of the form.
const SCHEMA: &str = "nandarium.timeline/1";

/// Processes of the viewer: groups of tracks, in the order of a request's way. Layers come between.
const REQUESTS: u32 = 1;
const LAYERS: u32 = 2;

/// First thread of the viewer. Each track has a number of its own, over all processes: viewers take 0 for an idle one.
const FIRST: u32 = 10;
/// Thread of what lies on none.
const NO_TRACK: u32 = 1;

/// A timeline to be drawn.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// The parts of a run to take down.
    pub plan: TimelinePlan,
    /// So many requests are to be near to this percentile, a share of all: its latency has to be found first.
    pub percentile: Option<(usize, f64)>,
    /// File that the drawing is written to; with `.gz` at its end it is compressed.
    pub path: PathBuf,
}

/// A timeline that was drawn.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// Where it is.
    pub path: PathBuf,
    /// Warnings for a reader of it.
    pub warnings: Vec<String>,
}

/// Why a timeline cannot be drawn.
#[derive(Debug, thiserror::Error)]
pub enum TimelineError {
    /// The run has no result, or no time.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The path of the file is that of a folder.
    #[error("{}: it is a folder; give the path of a file", .0.display())]
    Folder(PathBuf),
    /// The folder of the file is missing.
    #[error("{}: there is no folder {}", .path.display(), .folder.display())]
    NoFolder {
        /// The file.
        path: PathBuf,
        /// Its folder.
        folder: PathBuf,
    },
    /// The file cannot be written.
    #[error("{} could not be written: {error}", .path.display())]
    Unwritten {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// A run, the document of its closeups, and its drawn timeline.
pub type RunAndDrawn = (RunResult, Option<Value>, Option<Drawn>);

/// Runs a session and draws it into this file, if that is wanted: its result, the requests that a page looks at closely
/// (`has_page`), and the drawn timeline.
///
/// # Errors
/// As a run's; the file of the timeline cannot be written.
pub fn run(
    prepared: &Prepared,
    snapshots: Option<&Snapshots>,
    watcher: &mut dyn Watcher,
    wanted: Option<(&Drawing, &Path)>,
    has_page: bool,
) -> Result<RunAndDrawn, TimelineError> {
    let mut plan = wanted.map(|(drawing, _)| drawing.plan).unwrap_or_default();
    if let Some((count, share)) = wanted.and_then(|(drawing, _)| drawing.percentile) {
        let first = prepared.run(snapshots, watcher)?;
        plan.closeups = Choice::Nearest(count, first.reads_and_writes().histogram().percentile(share));
    }
    plan.samples = has_page && prepared.has_timeline();
    if plan == TimelinePlan::default() {
        return Ok((prepared.run(snapshots, watcher)?, None, None));
    }
    let (result, timeline) = prepared.run_timeline(snapshots, watcher, plan)?;
    let closeups = plan.samples.then(|| closeups::document(&timeline, &result));
    let drawn = wanted.map(|(_, path)| write(path, &timeline, &result)).transpose()?;
    Ok((result, closeups, drawn))
}

/// Checks before anything runs that there is something to draw, and a folder to write into.
///
/// # Errors
/// There is none.
pub fn check(path: &Path, prepared: &Prepared) -> Result<(), TimelineError> {
    if !prepared.has_timeline() {
        return Err(simulator::session::without_time().into());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match () {
        () if path.is_dir() => Err(TimelineError::Folder(path.to_owned())),
        () if folder.is_dir() => Ok(()),
        () => Err(TimelineError::NoFolder { path: path.to_owned(), folder: folder.to_owned() }),
    }
}

/// The files of several stacks: their names before the ending, and a number where two names are the same.
pub fn files_of(path: &Path, stacks: &[&str]) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    for (at, stack) in stacks.iter().enumerate() {
        let file = file_of(path, stack);
        let is_taken = files.contains(&file);
        files.push(if is_taken { file_of(path, &format!("{stack}-{}", at + 1)) } else { file });
    }
    files
}

fn file_of(path: &Path, stack: &str) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let plain: String =
        stack.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect();
    let (stem, ending) = name.split_once('.').map_or((name.as_str(), ""), |(stem, ending)| (stem, ending));
    let dot = if ending.is_empty() { "" } else { "." };
    path.with_file_name(format!("{stem}-{plain}{dot}{ending}"))
}

/// Writes a timeline.
fn write(path: &Path, timeline: &Timeline, result: &RunResult) -> Result<Drawn, TimelineError> {
    let (has_causes, stack) = (result.has_causes(), &result.stack);
    let written = File::create(path).and_then(|file| {
        let plain = BufWriter::new(file);
        if path.extension().is_some_and(|ending| ending == "gz") {
            let mut packed = BufWriter::new(GzEncoder::new(plain, Compression::fast()));
            document(&mut packed, timeline, has_causes, stack)?;
            packed.into_inner()?.finish()?.flush()
        } else {
            let mut plain = plain;
            document(&mut plain, timeline, has_causes, stack)?;
            plain.flush()
        }
    });
    written.map_err(|error| TimelineError::Unwritten { path: path.to_owned(), error })?;
    let recorder = &timeline.recorder;
    let mut warnings = Vec::new();
    if recorder.slices.is_empty() && recorder.served.is_empty() && recorder.closeups.is_empty() {
        warnings.push("nothing happened in this window; the run is shorter, or nothing was under way".to_owned());
    }
    if recorder.is_cut_short {
        let kept = recorder.slices.len().max(recorder.served.len());
        warnings.push(format!("the window has more than the {kept} pieces of work that are kept; make it shorter"));
    }
    Ok(Drawn { path: path.to_owned(), warnings })
}

fn document(out: &mut impl Write, timeline: &Timeline, has_causes: bool, stack: &str) -> io::Result<()> {
    let recorder = &timeline.recorder;
    let mut served: Vec<&Served> = recorder.served.iter().collect();
    served.extend(recorder.closeups.iter().map(|closeup| &closeup.served));
    served.sort_by_key(|served| (served.request.arrival, served.end, served.number));
    let mut slices: Vec<&Slice> = recorder.slices.iter().collect();
    slices.extend(recorder.closeups.iter().flat_map(|closeup| &closeup.slices));
    // Closeups of requests that were under way together share work.
    let mut known = HashSet::new();
    slices.retain(|slice| known.insert((slice.track, slice.begin, slice.end, slice.work as u8, slice.page)));
    slices.sort_by_key(|slice| (slice.track, slice.begin, slice.end, slice.is_beside));
    let (asked, done): (Vec<&Slice>, Vec<&Slice>) =
        slices.into_iter().partition(|slice| matches!(timeline.place(slice), Place::Layer(_)));
    let is_cut_short = recorder.is_cut_short || recorder.closeups.iter().any(|closeup| closeup.is_cut_short);
    let head =
        json!({"schema": SCHEMA, "stack": stack, "cut_short": is_cut_short, "displayTimeUnit": "ns"}).to_string();
    writeln!(out, "{},\"traceEvents\":[", head.trim_end_matches('}'))?;
    let lanes = lanes(&served);
    let mut file = Events { out, timeline, has_causes, is_first: true, numbers: 0 };
    file.names(&asked, lanes.iter().max().map_or(0, |last| last + 1))?;
    file.requests(&served, &lanes)?;
    file.gauges(&timeline.gauges)?;
    file.asked(&asked)?;
    file.done(&done)?;
    file.arrows(&served, &lanes, &done)?;
    writeln!(file.out, "\n]}}")
}

/// Tracks as viewers number them: `(process, thread)`.
impl<W> Events<'_, W> {
    fn channels(&self) -> u32 {
        LAYERS + self.timeline.layers.len() as u32
    }

    fn dies(&self) -> u32 {
        self.channels() + 1
    }

    fn of_channel(&self, channel: u32) -> (u32, u32) {
        (self.channels(), FIRST + channel)
    }

    /// A die, and after it each of its planes, where it has several.
    fn of_die(&self, die: u32, plane: Option<u32>) -> (u32, u32) {
        let first = FIRST + self.timeline.geometry.channels + die * self.tracks_of_die();
        (self.dies(), first + plane.map_or(0, |plane| plane + 1))
    }

    fn tracks_of_die(&self) -> u32 {
        let planes = self.timeline.geometry.planes_per_die;
        if planes > 1 { planes + 1 } else { 1 }
    }

    fn of_lane(&self, lane: u32) -> (u32, u32) {
        let geometry = &self.timeline.geometry;
        (REQUESTS, FIRST + geometry.channels + geometry.dies() * self.tracks_of_die() + lane)
    }

    /// Of work on dies and channels.
    fn of(&self, slice: &Slice) -> (u32, u32) {
        match self.timeline.place(slice) {
            Place::Die(die) => self.of_die(die, None),
            Place::Channel(channel) => self.of_channel(channel),
            Place::Layer(layer) => (LAYERS + layer as u32, 0),
        }
    }
}

struct Events<'a, W> {
    out: &'a mut W,
    timeline: &'a Timeline,
    /// It was recorded what requests waited for.
    has_causes: bool,
    is_first: bool,
    /// Arrows and commands of layers so far.
    numbers: u64,
}

impl<W: Write> Events<'_, W> {
    fn event(&mut self, event: &Value) -> io::Result<()> {
        let comma = if std::mem::take(&mut self.is_first) { "" } else { ",\n" };
        write!(self.out, "{comma}{event}")
    }

    /// Microseconds since the measured run began, as viewers want them.
    fn time(&self, at: Nanos) -> f64 {
        (at as f64 - self.timeline.started as f64) / 1e3
    }

    /// Groups of tracks in the order of a request's way, and their tracks.
    fn names(&mut self, asked: &[&Slice], lanes: u32) -> io::Result<()> {
        let has_commands: HashSet<u16> = asked.iter().map(|slice| slice.track).collect();
        let first = self.timeline.tracks.len();
        let layers = self.timeline.layers.iter().enumerate();
        let layers = layers.filter(|(at, _)| has_commands.contains(&((first + at) as u16)));
        let mut groups = vec![(REQUESTS, "requests of the host".to_owned())];
        groups.extend(layers.map(|(at, name)| (LAYERS + at as u32, format!("commands of the {name}"))));
        groups.extend([(self.channels(), "channels".to_owned()), (self.dies(), "dies".to_owned())]);
        for (pid, name) in groups {
            self.name(pid, None, "process_name", &json!({"name": name}))?;
            self.name(pid, None, "process_sort_index", &json!({"sort_index": pid}))?;
        }
        let dies = self.timeline.geometry.dies() as usize;
        for die in 0..dies {
            let name = &self.timeline.tracks[die];
            self.track(self.of_die(die as u32, None), name)?;
            for plane in 1..self.tracks_of_die() {
                self.track(self.of_die(die as u32, Some(plane - 1)), &format!("plane {} of die {die}", plane - 1))?;
            }
        }
        for channel in dies..self.timeline.tracks.len() {
            self.track(self.of_channel((channel - dies) as u32), &self.timeline.tracks[channel])?;
        }
        (0..lanes).try_for_each(|lane| self.track(self.of_lane(lane), &format!("lane {}", lane + 1)))
    }

    fn track(&mut self, (pid, tid): (u32, u32), name: &str) -> io::Result<()> {
        self.name(pid, Some(tid), "thread_name", &json!({"name": name}))?;
        self.name(pid, Some(tid), "thread_sort_index", &json!({"sort_index": tid}))
    }

    fn name(&mut self, pid: u32, tid: Option<u32>, what: &str, args: &Value) -> io::Result<()> {
        self.event(&json!({"ph": "M", "pid": pid, "tid": tid.unwrap_or(NO_TRACK), "name": what, "args": args}))
    }

    /// Requests that are under way together lie in lanes of their own; in a window all are there: how many is a curve.
    fn requests(&mut self, served: &[&Served], lanes: &[u32]) -> io::Result<()> {
        let mut changes = BTreeMap::<Nanos, i64>::new();
        for (served, lane) in served.iter().zip(lanes) {
            let request = &served.request;
            *changes.entry(request.arrival).or_default() += 1;
            *changes.entry(served.end).or_default() -= 1;
            let waits =
                served.waits(nand::Blame::Direct).map(|(name, ns)| (format!("{name}_us"), json!(ns as f64 / 1e3)));
            let waits: serde_json::Map<String, Value> = waits.collect();
            let (pid, tid) = self.of_lane(*lane);
            self.event(&json!({
                "ph": "X", "pid": pid, "tid": tid, "name": request.op.name(), "cat": "request",
                "ts": self.time(request.arrival), "dur": (served.end - request.arrival) as f64 / 1e3,
                "args": {"byte": request.first_sector * SECTOR_BYTES,
                    "bytes": u64::from(request.sectors) * SECTOR_BYTES,
                    "fua": request.fua && request.op == HostOp::Write,
                    "waited_for": self.has_causes.then_some(waits)},
            }))?;
        }
        let Some([from, to]) = self.timeline.window else { return Ok(()) };
        let mut under_way: i64 = changes.range(..from).map(|(_, change)| change).sum();
        changes.entry(from).or_default();
        for (at, change) in changes.into_iter().filter(|(at, _)| (from..=to).contains(at)) {
            under_way += change;
            let args = json!({"under way": under_way});
            self.event(&json!({"ph": "C", "pid": REQUESTS, "name": "requests", "ts": self.time(at), "args": args}))?;
        }
        Ok(())
    }

    /// Curves: free blocks, pages in buffers, and how caches did since the look before. Viewers show both names of each
    /// value.
    fn gauges(&mut self, gauges: &[Gauge]) -> io::Result<()> {
        let mut before: Option<&Gauge> = None;
        for gauge in gauges {
            let mut curves = vec![("free".to_owned(), json!({"blocks": gauge.free_blocks}))];
            curves.extend(gauge.dirty_pages.map(|pages| ("dirty".to_owned(), json!({"pages": pages}))));
            let caches = gauge.caches.iter().zip(before.map_or(&[][..], |before| &before.caches));
            curves.extend(caches.map(|((name, [hits, misses]), (_, [earlier_hits, earlier_misses]))| {
                let args = json!({"hits": hits - earlier_hits, "misses": misses - earlier_misses});
                (format!("cache of {name}"), args)
            }));
            for (name, args) in curves {
                let ts = self.time(gauge.at);
                self.event(&json!({"ph": "C", "pid": self.dies(), "name": name, "ts": ts, "args": args}))?;
            }
            before = Some(gauge);
        }
        Ok(())
    }

    /// What each layer asked for, each command from then to its end: they lie beside each other, as many as there are.
    fn asked(&mut self, slices: &[&Slice]) -> io::Result<()> {
        for slice in slices {
            self.numbers += 1;
            let (pid, _) = self.of(slice);
            let args = self.args(slice, u32::from(slice.pages));
            for (phase, at, args) in [("b", slice.begin, args), ("e", slice.end, json!({}))] {
                self.event(&json!({
                    "ph": phase, "pid": pid, "tid": NO_TRACK, "id2": {"local": self.numbers},
                    "cat": slice.cause.name(), "name": name(slice), "ts": self.time(at), "args": args,
                }))?;
            }
        }
        Ok(())
    }

    /// What channels and arrays did, and where dies have several planes, the same by plane.
    fn done(&mut self, slices: &[&Slice]) -> io::Result<()> {
        for piece in slices.chunk_by(|one, next| is_together(one, next)) {
            let pages = |of: &[&Slice]| of.iter().map(|slice| u32::from(slice.pages)).sum();
            self.work(piece[0], self.of(piece[0]), pages(piece))?;
            let Place::Die(die) = self.timeline.place(piece[0]) else { continue };
            let mut planes = BTreeMap::<u32, Vec<&Slice>>::new();
            for slice in piece.iter().filter(|_| self.tracks_of_die() > 1) {
                planes.entry(self.timeline.plane(slice)).or_default().push(slice);
            }
            for (plane, of_it) in planes {
                self.work(of_it[0], self.of_die(die, Some(plane)), pages(&of_it))?;
            }
        }
        Ok(())
    }

    fn work(&mut self, slice: &Slice, (pid, tid): (u32, u32), pages: u32) -> io::Result<()> {
        self.event(&json!({
            "ph": "X", "pid": pid, "tid": tid, "cat": slice.cause.name(), "name": name(slice),
            "ts": self.time(slice.begin), "dur": (slice.end - slice.begin) as f64 / 1e3,
            "args": self.args(slice, pages),
        }))
    }

    /// The block and page of a slice, for the trace viewer.
    fn args(&self, slice: &Slice, pages: u32) -> Value {
        let (geometry, page) = (&self.timeline.geometry, Ppn(slice.page));
        json!({"block": geometry.block_of(page).0, "page": geometry.page_in_block(page), "pages": pages})
    }

    /// From each request to its commands, and to a command from what kept its die or channel until it began.
    fn arrows(&mut self, served: &[&Served], lanes: &[u32], slices: &[&Slice]) -> io::Result<()> {
        let mut by_request = BTreeMap::<u32, Vec<(&Served, u32)>>::new();
        for (served, lane) in served.iter().zip(lanes) {
            by_request.entry(served.number).or_default().push((served, *lane));
        }
        let mut last: Option<&Slice> = None;
        for piece in slices.chunk_by(|one, next| is_together(one, next)) {
            let (first, track) = (piece[0], self.of(piece[0]));
            let blocker = last.filter(|last| last.track == first.track && last.end == first.begin);
            for slice in piece {
                let of_it = by_request.get(&slice.request).into_iter().flatten();
                // A number is given again when its request has ended: what began before this one was taken is not its.
                let is_its = |served: &Served| {
                    slice.begin >= served.request.arrival + served.queue_ns && slice.end <= served.end
                };
                let Some((served, lane)) = of_it.copied().find(|(served, _)| is_its(served)) else { continue };
                self.arrow("its command", (self.of_lane(lane), served.request.arrival), (track, slice.begin))?;
                if let Some(blocker) = blocker.filter(|blocker| blocker.request != slice.request) {
                    self.arrow("waited behind", (track, blocker.begin), (track, slice.begin))?;
                }
            }
            last = Some(first);
        }
        Ok(())
    }

    fn arrow(&mut self, name: &str, from: End, to: End) -> io::Result<()> {
        self.numbers += 1;
        for (phase, ((pid, tid), at)) in [("s", from), ("f", to)] {
            self.event(&json!({"ph": phase, "bp": "e", "id": self.numbers, "pid": pid, "tid": tid, "name": name,
                "cat": "arrow", "ts": self.time(at)}))?;
        }
        Ok(())
    }
}

/// Where an arrow begins or ends: process, thread, and when.
type End = ((u32, u32), Nanos);

/// Whether two pieces that follow each other are one, in several planes of a die.
fn is_together(one: &Slice, next: &Slice) -> bool {
    next.is_beside && [one.begin, one.end] == [next.begin, next.end] && one.track == next.track
}

/// For whom, and what.
fn name(slice: &Slice) -> String {
    let paused = if slice.is_interrupted { ", interrupted" } else { "" };
    format!("{} {}{paused}", slice.cause.name(), closeups::name(slice.work))
}

/// A lane for each request, in order of arrival: the first that is free.
fn lanes(served: &[&Served]) -> Vec<u32> {
    let mut free_at: Vec<Nanos> = Vec::new();
    let lane = |served: &&Served| {
        let lane = free_at.iter().position(|free| *free <= served.request.arrival).unwrap_or_else(|| {
            free_at.push(0);
            free_at.len() - 1
        });
        free_at[lane] = served.end;
        lane as u32
    };
    served.iter().map(lane).collect()
}
