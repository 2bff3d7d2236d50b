//! Requests written down as a trace that can be run again.

use crate::target::{Order, OrderKind};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Instant;

/// A trace in the project's own CSV, with times since the first request.
#[derive(Debug)]
pub struct Record {
    file: BufWriter<File>,
    began: Option<Instant>,
    failed: bool,
}

impl Record {
    /// A new file; one that is there is written anew.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut file = BufWriter::new(File::create(path)?);
        writeln!(file, "time_ns,device,op,offset_bytes,length_bytes,fua")?;
        Ok(Self { file, began: None, failed: false })
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
        if self.failed {
            return;
        }
        if let Err(error) = writeln!(self.file, "{time},0,{op},{offset},{length},{}", u8::from(fua)) {
            tracing::warn!("the record of requests ends here: {error}");
            self.failed = true;
        }
    }

    /// Writes out what is still in memory.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn finish(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
