//! Timelines as files that Perfetto and Chrome's viewer open: the JSON trace event format.

use super::closeups;
use crate::arguments::Drawing;
use crate::failure::Failure;
use crate::output;
use flate2::Compression;
use flate2::write::GzEncoder;
use metrics::RunResult;
use nand::{Choice, Served, Slice};
use serde_json::{Value, json};
use simulator::session::{Gauge, Prepared, Snapshots, Timeline, TimelinePlan, Watcher};
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use units::{HostOp, Nanos, SECTOR_BYTES};

/// Version of the form.
const SCHEMA: &str = "nandarium.timeline/1";

/// Processes of the viewer: groups of tracks.
const REQUESTS: u32 = 1;
const CHANNELS: u32 = 2;
const DIES: u32 = 3;

/// What is wanted of a run beside its result.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// A timeline, and where it goes.
    pub drawing: Option<(&'a Drawing, &'a Path)>,
    /// Requests to be looked at closely on a page.
    pub has_page: bool,
    /// Name of the stack, for what is said.
    pub stack: &'a str,
    /// Say only what is wrong.
    pub quiet: bool,
}

/// Runs a session, draws it if that is wanted, and gives what a page shows of single requests.
///
/// # Errors
/// As a run's; the file of the timeline cannot be written.
pub fn run(
    prepared: &Prepared,
    snapshots: Option<&Snapshots>,
    watcher: &mut dyn Watcher,
    wanted: Wanted<'_>,
) -> Result<(RunResult, Option<Value>), Failure> {
    let mut plan = wanted.drawing.map(|(drawing, _)| drawing.plan).unwrap_or_default();
    if let Some((count, share)) = wanted.drawing.and_then(|(drawing, _)| drawing.percentile) {
        let first = prepared.run(snapshots, watcher)?;
        plan.closeups = Choice::Nearest(count, first.reads_and_writes().histogram().percentile(share));
    }
    plan.samples = wanted.has_page && prepared.has_timeline();
    if plan == TimelinePlan::default() {
        return Ok((prepared.run(snapshots, watcher)?, None));
    }
    let (result, drawn) = prepared.run_timeline(snapshots, watcher, plan)?;
    let closeups = plan.samples.then(|| closeups::document(&drawn, &result));
    if let Some((_, path)) = wanted.drawing {
        write(path, &drawn, result.has_causes(), (wanted.stack, wanted.quiet))?;
    }
    Ok((result, closeups))
}

/// Checks before anything runs that there is something to draw, and a folder to write into.
///
/// # Errors
/// There is none.
pub fn check(path: &Path, prepared: &Prepared) -> Result<(), Failure> {
    if !prepared.has_timeline() {
        return Err(simulator::session::without_time().into());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.is_dir() {
        return Err(Failure::usage(format!("--timeline {}: it is a folder; give the path of a file", path.display())));
    }
    if folder.is_dir() {
        return Ok(());
    }
    Err(Failure::usage(format!("--timeline {}: there is no folder {}", path.display(), folder.display())))
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

/// Writes a timeline, and says so.
///
/// # Errors
/// The file cannot be written.
fn write(path: &Path, timeline: &Timeline, has_causes: bool, (stack, quiet): (&str, bool)) -> Result<(), Failure> {
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
    written.map_err(|error| Failure::file(path, "written", &error))?;
    let recorder = &timeline.recorder;
    if recorder.slices.is_empty() && recorder.served.is_empty() && recorder.closeups.is_empty() {
        output::complain(&format!(
            "{stack}: nothing happened in this window; the run is shorter, or nothing was under way"
        ));
    }
    if recorder.is_cut_short {
        let kept = recorder.slices.len().max(recorder.served.len());
        output::complain(&format!(
            "{stack}: the window has more than the {kept} pieces of work that are kept; make it shorter"
        ));
    }
    if !quiet {
        output::complain(&format!("written: {} (open it at ui.perfetto.dev or about:tracing)", path.display()));
    }
    Ok(())
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
    slices.retain(|slice| known.insert((slice.track, slice.begin, slice.end, slice.work as u8)));
    slices.sort_by_key(|slice| (slice.track, slice.begin));
    let is_cut_short = recorder.is_cut_short || recorder.closeups.iter().any(|closeup| closeup.is_cut_short);
    let head =
        json!({"schema": SCHEMA, "stack": stack, "cut_short": is_cut_short, "displayTimeUnit": "ns"}).to_string();
    writeln!(out, "{},\"traceEvents\":[", head.trim_end_matches('}'))?;
    let is_window = !recorder.served.is_empty();
    let mut file = Events { out, started: timeline.started, has_causes, is_first: true, arrows: 0 };
    file.names(timeline)?;
    file.requests(&served, is_window)?;
    file.gauges(&timeline.gauges)?;
    file.work(timeline, &slices)?;
    file.arrows(timeline, &served, &slices)?;
    writeln!(file.out, "\n]}}")
}

struct Events<'a, W> {
    out: &'a mut W,
    started: Nanos,
    /// It was recorded what requests waited for.
    has_causes: bool,
    is_first: bool,
    /// Arrows so far.
    arrows: u64,
}

impl<W: Write> Events<'_, W> {
    fn event(&mut self, event: &Value) -> io::Result<()> {
        let comma = if std::mem::take(&mut self.is_first) { "" } else { ",\n" };
        write!(self.out, "{comma}{event}")
    }

    /// Microseconds since the measured run began, as viewers want them.
    fn time(&self, at: Nanos) -> f64 {
        (at as f64 - self.started as f64) / 1e3
    }

    fn names(&mut self, timeline: &Timeline) -> io::Result<()> {
        for (pid, name) in [(REQUESTS, "requests of the host"), (CHANNELS, "channels"), (DIES, "dies")] {
            let args = json!({"name": name});
            self.event(&json!({"ph": "M", "pid": pid, "tid": 0, "name": "process_name", "args": args}))?;
        }
        for (track, name) in timeline.tracks.iter().enumerate() {
            let (pid, tid) = place(timeline, track as u16);
            self.event(&json!({"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": name}}))?;
        }
        Ok(())
    }

    /// Requests that are under way together lie in lanes of their own; where all are there, how many is a curve.
    fn requests(&mut self, served: &[&Served], are_all: bool) -> io::Result<()> {
        let mut changes = BTreeMap::<Nanos, i64>::new();
        for (served, lane) in served.iter().zip(lanes(served)) {
            let request = &served.request;
            *changes.entry(request.arrival).or_default() += 1;
            *changes.entry(served.end).or_default() -= 1;
            let waits = served.waits().map(|(name, ns)| (format!("{name}_us"), json!(ns as f64 / 1e3)));
            let waits: serde_json::Map<String, Value> = waits.collect();
            self.event(&json!({
                "ph": "X", "pid": REQUESTS, "tid": lane, "name": request.op.name(), "cat": "request",
                "ts": self.time(request.arrival), "dur": (served.end - request.arrival) as f64 / 1e3,
                "args": {"byte": request.first_sector * SECTOR_BYTES,
                    "bytes": u64::from(request.sectors) * SECTOR_BYTES,
                    "fua": request.fua && request.op == HostOp::Write,
                    "waited_for": self.has_causes.then_some(waits)},
            }))?;
        }
        let mut under_way = 0;
        for (at, change) in changes.into_iter().filter(|_| are_all) {
            under_way += change;
            let args = json!({"requests": under_way});
            self.event(&json!({"ph": "C", "pid": REQUESTS, "name": "under way", "ts": self.time(at), "args": args}))?;
        }
        Ok(())
    }

    /// Curves: free blocks, pages in buffers, and how caches did since the look before.
    fn gauges(&mut self, gauges: &[Gauge]) -> io::Result<()> {
        let mut before: Option<&Gauge> = None;
        for gauge in gauges {
            let mut curves = vec![("free blocks".to_owned(), json!({"blocks": gauge.free_blocks}))];
            curves.extend(gauge.dirty_pages.map(|pages| ("dirty pages".to_owned(), json!({"pages": pages}))));
            let caches = gauge.caches.iter().zip(before.map_or(&[][..], |before| &before.caches));
            curves.extend(caches.map(|((name, [hits, misses]), (_, [earlier_hits, earlier_misses]))| {
                let args = json!({"hits": hits - earlier_hits, "misses": misses - earlier_misses});
                (format!("cache of {name}"), args)
            }));
            for (name, args) in curves {
                let ts = self.time(gauge.at);
                self.event(&json!({"ph": "C", "pid": DIES, "name": name, "ts": ts, "args": args}))?;
            }
            before = Some(gauge);
        }
        Ok(())
    }

    fn work(&mut self, timeline: &Timeline, slices: &[&Slice]) -> io::Result<()> {
        for slice in slices {
            let (pid, tid) = place(timeline, slice.track);
            let (block, page) = (slice.page / timeline.pages_per_block, slice.page % timeline.pages_per_block);
            let paused = if slice.is_interrupted { ", interrupted" } else { "" };
            self.event(&json!({
                "ph": "X", "pid": pid, "tid": tid, "cat": slice.cause.name(),
                "name": format!("{} {}{paused}", slice.cause.name(), closeups::name(slice.work)),
                "ts": self.time(slice.begin), "dur": (slice.end - slice.begin) as f64 / 1e3,
                "args": {"block": block, "page": page, "pages": slice.pages},
            }))?;
        }
        Ok(())
    }

    /// From each request to its commands, and to a command from what kept its die or channel until it began.
    fn arrows(&mut self, timeline: &Timeline, served: &[&Served], slices: &[&Slice]) -> io::Result<()> {
        let mut by_request = BTreeMap::<u32, Vec<(&Served, u32)>>::new();
        for (served, lane) in served.iter().zip(lanes(served)) {
            by_request.entry(served.number).or_default().push((served, lane));
        }
        let mut before: Option<&Slice> = None;
        for slice in slices {
            let (pid, tid) = place(timeline, slice.track);
            let of_it = by_request.get(&slice.request).into_iter().flatten();
            let its =
                of_it.copied().find(|(served, _)| slice.begin >= served.request.arrival && slice.end <= served.end);
            if let Some((served, lane)) = its {
                let from = (REQUESTS, lane, served.request.arrival);
                self.arrow("its command", from, (pid, tid, slice.begin))?;
                let blocker = before.filter(|before| before.track == slice.track && before.end == slice.begin);
                if let Some(blocker) = blocker.filter(|blocker| blocker.request != slice.request) {
                    self.arrow("waited behind", (pid, tid, blocker.begin), (pid, tid, slice.begin))?;
                }
            }
            before = Some(slice);
        }
        Ok(())
    }

    fn arrow(&mut self, name: &str, from: (u32, u32, Nanos), to: (u32, u32, Nanos)) -> io::Result<()> {
        self.arrows += 1;
        for (phase, (pid, tid, at)) in [("s", from), ("f", to)] {
            self.event(&json!({"ph": phase, "bp": "e", "id": self.arrows, "pid": pid, "tid": tid, "name": name,
                "cat": "arrow", "ts": self.time(at)}))?;
        }
        Ok(())
    }
}

/// Process and thread of a track.
fn place(timeline: &Timeline, track: u16) -> (u32, u32) {
    let channels = timeline.tracks.iter().filter(|name| name.starts_with("channel")).count();
    let dies = timeline.tracks.len() - channels;
    let track = track as usize;
    if track < dies { (DIES, track as u32) } else { (CHANNELS, (track - dies) as u32) }
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
