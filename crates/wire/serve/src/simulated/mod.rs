//! A simulated drive as a target, with simulated time off, at the pace of the clock, or scaled.

mod trims;

use crate::fault_log::FaultLog;
use crate::pieces::{PIECE, SLICE};
use crate::target::{Answer, Answers, Control, Order, OrderKind, Target};
use crate::{logs, pulse, stats};
use drive::{ActiveFault, Completions, Drive, DriveError, Fault, RunResult};
use nbd::{ErrorNumber, Extent};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::fs::File;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use units::{HostOp, Request, SECTOR_BYTES, quantity};

/// Longest simulated time without a look at the clock, ns.
const STRETCH: u64 = 100_000_000;
/// Longest time of the clock for the last flush, when the server ends.
const CLOSING: Duration = Duration::from_secs(10);
/// The tag of that flush.
const LAST: u32 = u32::MAX;
/// Most extents that are told at once.
const MOST_EXTENTS: usize = 1 << 14;
/// How long to sleep while paced requests are under way: finer than what flash takes for a page.
const TICK: Duration = Duration::from_micros(20);

/// How simulated time follows the clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Requests are answered as soon as they are simulated.
    Off,
    /// Seconds of the clock for a simulated one: 1 is real time, 10 a drive ten times as slow.
    Scaled(f64),
}

/// An order under way.
#[derive(Debug, Default)]
struct Entry {
    tag: u32,
    /// Pieces that are not done yet.
    left: u32,
    failed: bool,
    /// A fault refused a part of it for lack of room.
    no_room: bool,
    /// Bytes of a read of several pieces.
    bytes: Vec<u8>,
    whole: bool,
    offset: u64,
    /// Of a trim, what has not been given to the drive: from here to there.
    to_trim: (u64, u64),
    /// How that is done, if there was any: as trims, or as writes of zeros.
    trim_op: Option<HostOp>,
    /// A flush follows: the order must last, and the drive lets only writes last by themselves.
    flush: bool,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Free,
    /// Somebody waits for its answer.
    Asked,
    /// It was answered with an error while parts of it were in the drive, which waits for room.
    GivenUp,
}

/// A drive that is served.
pub struct SimulatedDrive {
    drive: Drive,
    pace: Pace,
    began: Instant,
    entries: Vec<Entry>,
    free: Vec<u32>,
    /// Orders that were not answered.
    active: u32,
    refused: Vec<(u32, ErrorNumber)>,
    completions: Completions,
    /// It was said that the drive's file does not follow any more.
    has_stopped: bool,
    /// Trims with something left that was not given to the drive, in the order of their turn; the first one has a piece
    /// in the drive.
    trims: VecDeque<u32>,
    /// Orders were refused for lack of room, and why; until one is written.
    no_room: Option<ErrorNumber>,
    faults: FaultLog,
    /// Commands and faults since the last [`Target::take_notes`].
    notes: Vec<String>,
}

impl SimulatedDrive {
    /// Serves `drive` at this pace, from now on.
    pub fn new(mut drive: Drive, pace: Pace) -> Self {
        drive.measure();
        Self {
            drive,
            pace,
            began: Instant::now(),
            entries: Vec::new(),
            free: Vec::new(),
            active: 0,
            refused: Vec::new(),
            completions: Completions::default(),
            has_stopped: false,
            trims: VecDeque::new(),
            no_room: None,
            faults: FaultLog::default(),
            notes: Vec::new(),
        }
    }

    /// Lets something fail from now on.
    /// Errors: power is off, or the drive has no such die, channel or block.
    pub fn inject(&mut self, fault: Fault) -> Result<(), DriveError> {
        self.drive.inject(fault)
    }

    /// Writes the log of faults into a file, an object of JSON a line, as soon as the file of `path` is there.
    pub fn log_faults(&mut self, path: PathBuf, file: Arc<OnceLock<File>>) {
        self.faults.write_to(path, file);
    }

    /// The measurements since it began to serve, as the result of a run.
    pub fn result(&self) -> Option<RunResult> {
        self.drive.result("served", self.began.elapsed().as_secs_f64())
    }

    fn enter(&mut self, tag: u32, order: &Order) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.entries.push(Entry::default());
            self.entries.len() as u32 - 1
        });
        let entry = &mut self.entries[slot as usize];
        (entry.tag, entry.left, entry.failed, entry.no_room, entry.offset) = (tag, 0, false, false, order.offset);
        (entry.flush, entry.to_trim, entry.trim_op, entry.state) = (false, (0, 0), None, State::Asked);
        self.active += 1;
        let entry = &mut self.entries[slot as usize];
        entry.whole = order.kind != OrderKind::Read || u64::from(order.length) <= PIECE;
        entry.bytes.clear();
        if !entry.whole {
            entry.bytes.resize(order.length as usize, 0);
        }
        slot
    }

    fn piece(
        &mut self,
        slot: u32,
        op: HostOp,
        offset: u64,
        bytes: &[u8],
        length: u64,
        fua: bool,
    ) -> Result<(), DriveError> {
        self.drive.submit(slot, &Request::of_bytes(op, offset, length, fua), bytes)?;
        self.entries[slot as usize].left += 1;
        Ok(())
    }

    fn begin(&mut self, slot: u32, order: &Order, payload: &[u8]) -> Result<(), DriveError> {
        let (from, end) = (order.offset, order.offset + u64::from(order.length));
        match order.kind {
            OrderKind::Flush => self.piece(slot, HostOp::Flush, 0, &[], 0, false),
            OrderKind::Read => (from..end)
                .step_by(PIECE as usize)
                .try_for_each(|at| self.piece(slot, HostOp::Read, at, &[], PIECE.min(end - at), false)),
            OrderKind::Write => (from..end).step_by(PIECE as usize).try_for_each(|at| {
                let bytes = &payload[(at - from) as usize..(PIECE.min(end - at) + at - from) as usize];
                self.piece(slot, HostOp::Write, at, bytes, bytes.len() as u64, order.fua)
            }),
            OrderKind::Trim => {
                self.entries[slot as usize].flush = order.fua;
                self.trim(slot, HostOp::Trim, from, end)
            }
            // A part of it that lasts before the rest would tear it.
            OrderKind::Zeroes { keep: false } if self.is_kept_whole(from, end) => {
                self.zeros(slot, from, end, order.fua)
            }
            // A drive always has room for all it shows, but the client wants no holes there.
            OrderKind::Zeroes { keep: true } => {
                self.entries[slot as usize].flush = order.fua;
                self.trim(slot, HostOp::Write, from, end)
            }
            OrderKind::Zeroes { keep: false } => {
                // What a trim reads as before it is on flash may be the old data once more after a power cut, as with
                // any write that was not flushed.
                let page = u64::from(self.drive.page_bytes());
                let (first, last) = (from.next_multiple_of(page).min(end), end / page * page);
                let [first, last] = if first >= last { [end, end] } else { [first, last] };
                self.zeros(slot, from, first, order.fua)?;
                if first < last {
                    self.entries[slot as usize].flush = order.fua;
                    self.trim(slot, HostOp::Trim, first, last)?;
                }
                self.zeros(slot, last, end, order.fua)
            }
        }
    }

    /// Takes what the drive has done.
    fn take(&mut self, answers: &mut Answers) {
        let mut completions = std::mem::take(&mut self.completions);
        let mut cells = completions.cells.as_slice();
        for done in &completions.done {
            let slot = done.tag;
            let is_read = done.request.op == HostOp::Read && !done.failed;
            let bytes = if is_read {
                cells.split_off(..done.request.sectors as usize * SECTOR_BYTES as usize).unwrap_or(&[])
            } else {
                &[]
            };
            let no_room = done.failed && self.drive.was_refused_as_full(slot);
            let entry = &mut self.entries[slot as usize];
            entry.left -= 1;
            entry.failed |= done.failed;
            entry.no_room |= no_room;
            // Of zeros beside a trim only the trim is taken apart.
            if entry.trim_op == Some(done.request.op) {
                self.trim_piece_done();
            }
            let entry = &mut self.entries[slot as usize];
            if done.request.op == HostOp::Write && !done.failed {
                self.no_room = None;
            }
            if is_read && !entry.whole {
                let at = (done.request.first_sector * SECTOR_BYTES - entry.offset) as usize;
                entry.bytes[at..at + bytes.len()].copy_from_slice(bytes);
            }
            if entry.left > 0 {
                continue;
            }
            if std::mem::take(&mut entry.flush)
                && !entry.failed
                && self.piece(slot, HostOp::Flush, 0, &[], 0, false).is_ok()
            {
                continue;
            }
            let entry = &mut self.entries[slot as usize];
            if entry.state == State::GivenUp {
                self.leave(slot);
                continue;
            }
            let tag = entry.tag;
            let result = if entry.no_room {
                Err(ErrorNumber::Space)
            } else if entry.failed {
                Err(self.reason(done.request.op))
            } else {
                answers.bytes.extend_from_slice(if entry.whole { bytes } else { &entry.bytes });
                Ok(answers.bytes.len() - if entry.whole { bytes.len() } else { entry.bytes.len() })
            };
            answers.all.push(Answer { tag, result });
            self.active -= 1;
            self.leave(slot);
        }
        completions.done.clear();
        self.completions = completions;
    }

    fn advance(&mut self) -> Result<(), DriveError> {
        let mut completions = std::mem::take(&mut self.completions);
        let progress = self.drive.advance(&mut completions);
        self.completions = completions;
        progress.map(drop)
    }

    /// Why something failed. A read failed because of what is on flash, whatever became of writes.
    fn reason(&self, op: HostOp) -> ErrorNumber {
        if op == HostOp::Read {
            return ErrorNumber::Io;
        }
        let problem = self.drive.file_problem();
        problem.map(|error| number_of(Some(&error))).or(self.no_room).unwrap_or(ErrorNumber::Io)
    }

    /// Ends every order under way with an error. With power on, trims stay in their line: the piece of the first one is
    /// in the drive, which completes each request that it has taken unless power goes. When that piece is done, the
    /// line lets go of all trims that were given up. Until then each later order is answered too, as this comes again
    /// while orders are under way in a drive that does nothing.
    fn give_up(&mut self, answers: &mut Answers, error: ErrorNumber) {
        let is_on = self.drive.is_on();
        if !is_on {
            self.trims.clear();
        }
        for slot in 0..self.entries.len() as u32 {
            let entry = &mut self.entries[slot as usize];
            if entry.state == State::Asked {
                answers.all.push(Answer { tag: entry.tag, result: Err(error) });
                self.active -= 1;
            } else if entry.state == State::Free {
                continue;
            }
            entry.state = State::GivenUp;
            if !is_on {
                self.leave(slot); // nothing more will be heard of it
            }
        }
    }

    /// The slot can be used again.
    fn leave(&mut self, slot: u32) {
        self.entries[slot as usize].state = State::Free;
        self.free.push(slot);
    }

    fn under_way(&self) -> bool {
        self.active > 0
    }

    /// Where simulated time ought to be, ns; without a pace nowhere in particular.
    fn due(&self) -> u64 {
        match self.pace {
            Pace::Off => u64::MAX,
            Pace::Scaled(factor) => (self.began.elapsed().as_nanos() as f64 / factor) as u64,
        }
    }

    /// Serves what can be served by now, for a while: a drive that never comes to an end keeps nobody else waiting.
    fn run(&mut self, answers: &mut Answers) -> Result<(), DriveError> {
        let (due, begun) = (self.due(), Instant::now());
        for turn in 1_u32.. {
            let now = self.drive.now();
            if self.under_way() && self.drive.is_quiet() {
                self.make_way()?;
                continue;
            }
            let is_busy = self.under_way();
            let is_done = now >= due || !is_busy && (due == u64::MAX || !self.drive.is_on());
            // A piece of a trim takes long.
            let is_time_to_look = turn.is_multiple_of(32) || !self.trims.is_empty();
            if is_done || is_time_to_look && begun.elapsed() > SLICE {
                break;
            }
            self.drive.wake_at(if is_busy { due.min(now.saturating_add(STRETCH)) } else { due })?;
            self.advance()?;
            self.take(answers);
        }
        Ok(())
    }

    /// Nothing goes on, as orders wait for room that will never be: they are refused.
    fn make_way(&mut self) -> Result<(), DriveError> {
        let error = self.drive.no_room();
        if !self.drive.refuse_waiting() {
            return Err(error);
        }
        let number = number_of(Some(&error));
        if self.no_room.replace(number).is_none() {
            tracing::warn!("writes are refused: {error}");
        }
        Ok(())
    }

    /// In words, why the last flush failed.
    fn why_not_flushed(&self, number: ErrorNumber) -> String {
        if let Some(error) = self.drive.file_problem() {
            return error.to_string();
        }
        if number == ErrorNumber::Space || self.no_room.is_some() {
            return self.drive.no_room().to_string();
        }
        "the last flush failed: some written data cannot be programmed, and is lost".to_owned()
    }

    /// Answers to commands that only ask.
    fn told(&self, verb: &str) -> Option<Value> {
        let (drive, refuses) = (&self.drive, self.no_room.is_some());
        match verb {
            "stats" => self.result().map(|result| stats::stats(drive, &result, self.pace)),
            "smart-log" => Some(logs::smart_log(drive, &drive.pulse()?, &drive.blocks()?, refuses)),
            "ocp-log" => Some(logs::ocp_log(drive, &drive.pulse()?, &drive.blocks()?)),
            "live" => pulse::live(drive, self.pace, self.began.elapsed().as_secs_f64(), refuses),
            _ => pulse::maps(drive),
        }
    }

    /// Takes over the log of the drive.
    fn note_faults(&mut self) {
        for number in self.drive.take_faults_at_limit() {
            let most = quantity::format_size(drive::MOST_OLDER_BYTES);
            tracing::warn!("fault {number} keeps {most} of older data, and has no effect on further sectors");
        }
        let new = self.drive.take_fault_log();
        let lines = new.iter().map(drive::Injected::to_json);
        lines.for_each(|line| {
            self.notes.push(line.clone());
            self.faults.note(line);
        });
    }

    fn power_off(&mut self, seed: &str) -> Result<u64, String> {
        let seed = if seed.is_empty() { Ok(0) } else { seed.parse() };
        let seed =
            seed.map_err(|_| "the seed of a power cut is a whole number from 0, for example `power-cut 7`".to_owned())?;
        self.drive.power_cut(seed);
        // What was under way went with the power, and its completions with it.
        self.trims.clear();
        for slot in 0..self.entries.len() as u32 {
            let Entry { state, tag, .. } = self.entries[slot as usize];
            if state == State::Asked {
                self.refused.push((tag, ErrorNumber::Io));
                self.active -= 1;
            }
            if state != State::Free {
                self.leave(slot);
            }
        }
        Ok(seed)
    }

    fn power_on(&mut self) -> Result<(), String> {
        self.drive.reopen().map_err(|error| error.to_string())
    }
}

/// The answer to the command `faults`.
fn active(drive: &Drive) -> Value {
    let told = |fault: &ActiveFault| json!({ "number": fault.number, "fault": fault.text, "hits": fault.hits });
    json!({ "faults": drive.active_faults().iter().map(told).collect::<Vec<_>>() })
}

/// Whether the operating system has no room for more.
fn is_no_room(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}

/// What a client is told of an error; an order without one asked for nothing.
fn number_of(error: Option<&DriveError>) -> ErrorNumber {
    match error {
        None => ErrorNumber::Invalid,
        Some(DriveError::Full) => ErrorNumber::Space,
        Some(DriveError::File { source, .. }) if is_no_room(source.kind()) => ErrorNumber::Space,
        Some(_) => ErrorNumber::Io,
    }
}

const COMMANDS: &str = "smart, smart-log, ocp-log, stats, live, maps, power-cut [SEED], power-off [SEED], power-on, \
                        fault FAULT, faults, fault-log [FROM], shut-down";
/// Commands of one word.
const TAKE_NOTHING: [&str; 8] = ["smart", "smart-log", "ocp-log", "stats", "live", "maps", "power-on", "faults"];
/// Commands that change something.
const CHANGES: [&str; 4] = ["power-cut", "power-off", "power-on", "fault"];

impl Target for SimulatedDrive {
    fn bytes(&self) -> u64 {
        self.drive.bytes()
    }

    fn preferred_bytes(&self) -> u32 {
        self.drive.page_bytes().max(4096).max(self.drive.promises().atomic_bytes as u32)
    }

    fn trim_bytes(&self) -> u32 {
        self.drive.page_bytes()
    }

    fn extents(&mut self, offset: u64, length: u64, extents: &mut Vec<Extent>) -> Result<(), ErrorNumber> {
        let found = self.drive.extents(offset, length, MOST_EXTENTS).map_err(|error| number_of(Some(&error)))?;
        extents.extend(
            found.iter().map(
                |extent| {
                    if extent.is_hole { Extent::hole(extent.bytes) } else { Extent::data(extent.bytes) }
                },
            ),
        );
        Ok(())
    }

    fn submit(&mut self, tag: u32, order: &Order, payload: &[u8]) {
        // Time that has passed with nothing to do has passed for the drive as well.
        if !self.under_way() {
            let mut none = Answers::default();
            if let Err(error) = self.run(&mut none) {
                tracing::debug!("while the drive had nothing to do: {error}");
            }
        }
        let slot = self.enter(tag, order);
        let begun = self.begin(slot, order, payload);
        let number = number_of(begun.as_ref().err());
        let entry = &mut self.entries[slot as usize];
        if let Err(error) = &begun {
            entry.failed = true;
            if matches!(error, DriveError::File { .. }) && !std::mem::replace(&mut self.has_stopped, true) {
                tracing::warn!("the drive's file cannot follow any more, from now on only reads are served: {error}");
            }
            tracing::debug!("an order is refused: {error}");
        }
        if entry.left == 0 {
            // The drive is off, or nothing was asked for.
            self.active -= 1;
            self.leave(slot);
            self.refused.push((tag, number));
        }
    }

    fn poll(&mut self, answers: &mut Answers) -> Option<Duration> {
        answers.all.extend(self.refused.drain(..).map(|(tag, error)| Answer { tag, result: Err(error) }));
        if let Err(error) = self.run(answers) {
            let number = number_of(Some(&error));
            tracing::warn!("requests under way have failed: {error}");
            self.give_up(answers, number);
        }
        self.note_faults();
        self.under_way().then_some(if self.pace == Pace::Off { Duration::ZERO } else { TICK })
    }

    fn control(&mut self, command: &str) -> Control {
        let (verb, rest) = command.trim().split_once(char::is_whitespace).unwrap_or((command.trim(), ""));
        let rest = rest.trim();
        if TAKE_NOTHING.contains(&verb) && !rest.is_empty() {
            return Control::Refused(format!("`{verb}` takes nothing, and `{rest}` was given; leave it out"));
        }
        let done = match verb {
            "smart" => Ok(Control::Done(stats::smart(&self.drive))),
            "stats" | "smart-log" | "ocp-log" | "live" | "maps" => {
                self.told(verb).map(Control::Done).ok_or_else(|| "nothing is measured".to_owned())
            }
            // Clients are hung up on whether the drive comes back or not.
            "power-cut" => self.power_off(rest).map(|seed| {
                let (power, problem) = match self.power_on() {
                    Ok(()) => ("cut and back", Value::Null),
                    Err(problem) => ("off", problem.into()),
                };
                Control::HangUp(
                    json!({ "power": power, "problem": problem, "seed": seed, "power_cuts": self.drive.power_cuts() }),
                )
            }),
            "power-off" => self.power_off(rest).map(|seed| Control::HangUp(json!({ "power": "off", "seed": seed }))),
            "power-on" => self.power_on().map(|()| Control::Done(json!({ "power": "on" }))),
            "fault" => rest.parse::<Fault>().and_then(|fault| {
                self.drive.inject(fault).map_err(|error| error.to_string())?;
                Ok(Control::Done(json!({ "fault": rest })))
            }),
            "faults" => Ok(Control::Done(active(&self.drive))),
            "fault-log" => {
                self.note_faults();
                self.faults.told(rest).map(Control::Done)
            }
            _ => Err(format!("`{verb}` is not a command; there are: {COMMANDS}")),
        };
        if CHANGES.contains(&verb) && done.is_ok() {
            self.notes.push(format!("{verb} {rest}"));
        }
        done.unwrap_or_else(Control::Refused)
    }

    fn take_notes(&mut self, notes: &mut Vec<String>) {
        notes.append(&mut self.notes);
    }

    fn end_soon(&mut self) {
        self.drive.end_faults();
    }

    fn close(&mut self) -> Result<(), String> {
        let closed = self.make_last();
        self.note_faults();
        closed.and(self.faults.finish())
    }
}

impl SimulatedDrive {
    /// Lets everything last that the drive has acknowledged.
    fn make_last(&mut self) -> Result<(), String> {
        if !self.drive.is_on() {
            return Ok(());
        }
        self.pace = Pace::Off;
        // The server keeps what it has promised, whatever its clients were told.
        self.drive.end_faults();
        self.submit(LAST, &Order { kind: OrderKind::Flush, offset: 0, length: 0, fua: false }, &[]);
        let (mut answers, begun) = (Answers::default(), Instant::now());
        let flushed = loop {
            self.poll(&mut answers);
            if let Some(answer) = answers.all.iter().find(|answer| answer.tag == LAST) {
                break answer.result;
            }
            if begun.elapsed() > CLOSING {
                let seconds = CLOSING.as_secs();
                return Err(format!(
                    "the drive did not finish its last flush in {seconds} s; data that was not flushed before may be \
                     lost, as after a power cut"
                ));
            }
            answers = Answers::default();
        };
        match flushed {
            Ok(_) => self.drive.sync().map_err(|error| error.to_string()),
            Err(number) => Err(self.why_not_flushed(number)),
        }
    }
}
