//! Requests written down as a trace that can be run again.

use crate::target::{Order, OrderKind};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use units::Nanos;

/// Bytes of lines that are written together at the latest.
const TOGETHER: usize = 64 << 10;
/// The time of day is noted again when it has moved by this much against the times of requests.
const MOST_DRIFT: Duration = Duration::from_micros(50);
/// Looks at both clocks, of which one without a pause between them is taken.
const LOOKS: u32 = 8;

/// The meaning of a line of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noted {
    /// The time of day, in nanoseconds since 1970.
    Clock(Nanos),
    /// A request of a client.
    Request,
    /// A flush was answered.
    Flushed,
    /// A write with FUA was answered.
    WrittenThrough,
    /// A fault, a power cut, or the end of the server.
    Else,
}

/// A trace in the project's own CSV, with times since the first request. Comments tell the time of day, and when
/// flushes and writes with FUA were answered. Only whole lines are written, and at the
/// latest when the server is idle: the record of a killed server can be run as well.
#[derive(Debug)]
pub struct Record {
    file: File,
    path: PathBuf,
    /// Lines that are not written.
    lines: Vec<u8>,
    began: Option<Instant>,
    /// A moment, and the time of day at it.
    clock: Option<(Instant, Duration)>,
    /// Why it ended before the server did.
    failed: Option<String>,
}

impl Record {
    /// A new file; one that is there is written anew.
    /// Errors: the operating system refuses.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut file = File::create(path)?;
        writeln!(file, "time_ns,device,op,offset_bytes,length_bytes,fua")?;
        let mut record =
            Self { file, path: path.to_owned(), lines: Vec::new(), began: None, clock: None, failed: None };
        record.note_clock();
        Ok(record)
    }

    /// Reads a line that a record has written: its time since the first request, and its meaning. None: the header, or
    /// a line that was cut short.
    pub fn read(line: &str) -> Option<(Nanos, Noted)> {
        let Some(remark) = line.strip_prefix("# ") else {
            return Some((line.split(',').next()?.parse().ok()?, Noted::Request));
        };
        let (time, remark) = remark.split_once(' ')?;
        let noted = match (remark, remark.strip_prefix("clock ")) {
            (_, Some(day)) => {
                let (seconds, nanoseconds) = day.split_once('.').filter(|(_, rest)| rest.len() == 9)?;
                let seconds = seconds.parse::<Nanos>().ok()?.checked_mul(1_000_000_000)?;
                Noted::Clock(seconds.checked_add(nanoseconds.parse().ok()?)?)
            }
            ("done F", _) => Noted::Flushed,
            ("done W", _) => Noted::WrittenThrough,
            _ => Noted::Else,
        };
        Some((time.parse().ok()?, noted))
    }

    /// Notes the time of day, unless an earlier note tells it.
    fn note_clock(&mut self) {
        let look = || {
            let before = Instant::now();
            let day = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            (before.elapsed(), before, day)
        };
        let (_, moment, day) = (0..LOOKS).map(|_| look()).min().expect("it looks at least once");
        if let Some((since, then)) = self.clock
            && (then + moment.duration_since(since)).abs_diff(day) <= MOST_DRIFT
        {
            return;
        }
        self.clock = Some((moment, day));
        let time = self.began.map_or(0, |began| moment.duration_since(began).as_nanos());
        self.remark_at(time, &format!("clock {}.{:09}", day.as_secs(), day.subsec_nanos()));
    }

    /// Notes that a flush or a write with FUA was answered.
    pub fn answered(&mut self, order: &Order) {
        let remark = match order.kind {
            OrderKind::Flush => "done F",
            OrderKind::Write | OrderKind::Zeroes { .. } if order.fua => "done W",
            _ => return,
        };
        // A reader dates the answer by the newest note of the clock, which may have been set since.
        self.note_clock();
        self.remark(remark);
    }

    /// Writes an order down. A disk that is full ends the record, not the server.
    pub fn note(&mut self, order: &Order) {
        let now = Instant::now();
        if self.began.is_none() {
            // Times begin here, and so does their place in the day.
            (self.began, self.clock) = (Some(now), None);
            self.note_clock();
        }
        let time = self.began.map_or(0, |began| now.duration_since(began).as_nanos());
        let op = match order.kind {
            OrderKind::Read => 'R',
            OrderKind::Write | OrderKind::Zeroes { keep: true } => 'W',
            OrderKind::Flush => 'F',
            OrderKind::Trim | OrderKind::Zeroes { keep: false } => 'T',
        };
        let Order { offset, length, fua, .. } = *order;
        if self.failed.is_some() {
            return;
        }
        self.lines.extend_from_slice(format!("{time},0,{op},{offset},{length},{}\n", u8::from(fua)).as_bytes());
        if self.lines.len() >= TOGETHER {
            self.write_out();
        }
    }

    /// Writes a comment down, at the present time.
    pub fn remark(&mut self, text: &str) {
        let time = self.began.map_or(0, |began| began.elapsed().as_nanos());
        self.remark_at(time, text);
    }

    fn remark_at(&mut self, time: u128, text: &str) {
        if self.failed.is_none() {
            self.lines.extend_from_slice(format!("# {time} {text}\n").as_bytes());
        }
    }

    /// Writes out what is still in memory.
    pub fn write_out(&mut self) {
        if self.lines.is_empty() || self.failed.is_some() {
            return;
        }
        if let Err(error) = self.file.write_all(&self.lines) {
            tracing::warn!("the record of requests ends here, and the server continues: {error}");
            self.failed = Some(error.to_string());
        }
        self.lines.clear();
    }

    /// Writes out what is still in memory, for the last time.
    /// Errors: in words: some requests are not in it.
    pub fn finish(&mut self) -> Result<(), String> {
        self.remark("end");
        self.write_out();
        let path = self.path.display();
        self.failed.take().map_or(Ok(()), |problem| {
            Err(format!("{path}: the record of requests is not whole: {problem}; make room, or record elsewhere"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reader dated a flush after a set clock by the time of day before it.
    #[test]
    fn a_flush_is_dated_by_the_clock_as_it_was_set_since() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("drive.csv");
        let flush = Order { kind: OrderKind::Flush, offset: 0, length: 0, fua: false };
        let mut record = Record::create(&path).unwrap();
        record.note(&flush);
        record.clock = record.clock.map(|(moment, day)| (moment, day + Duration::from_secs(5)));
        record.answered(&flush);
        record.finish().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let place = |what: &str| text.rfind(what).unwrap();
        assert!(place("\n0,0,F") < place("clock") && place("clock") < place("done F"), "{text}");
    }
}
