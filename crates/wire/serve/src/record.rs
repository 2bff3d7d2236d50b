//! Requests written down as a trace that can be run again.

use crate::target::{Order, OrderKind};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Bytes of lines that are written together at the latest.
const TOGETHER: usize = 64 << 10;

/// A trace in the project's own CSV, with times since the first request. Only whole lines are written, and at the
/// latest when the server is idle: the record of a killed server can be run as well.
#[derive(Debug)]
pub struct Record {
    file: File,
    path: PathBuf,
    /// Lines that are not written.
    lines: Vec<u8>,
    began: Option<Instant>,
    /// Why it ended before the server did.
    failed: Option<String>,
}

impl Record {
    /// A new file; one that is there is written anew.
    /// Errors: the operating system refuses.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut file = File::create(path)?;
        writeln!(file, "time_ns,device,op,offset_bytes,length_bytes,fua")?;
        Ok(Self { file, path: path.to_owned(), lines: Vec::new(), began: None, failed: None })
    }

    /// Writes an order down. A disk that is full ends the record, not the server.
    pub fn note(&mut self, order: &Order) {
        let now = Instant::now();
        let time = now.duration_since(*self.began.get_or_insert(now)).as_nanos();
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
        self.write_out();
        let path = self.path.display();
        self.failed.take().map_or(Ok(()), |problem| {
            Err(format!("{path}: the record of requests is not whole: {problem}; make room, or record elsewhere"))
        })
    }
}
