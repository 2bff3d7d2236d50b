//! A recording as a file, so that a failure can be seen again without running the program again.
//!
//! ```text
//! a line that names the form
//! a line of JSON: sizes, requests, steps, what was said
//! the bytes: what the drive held before where it was not zeros, then the payloads
//! CRC-32 of all before it
//! ```
//! Files of the form before have no checksum, and are read without one.

use crate::recording::{Recorded, Recording, Step};
use serde_json::{Value, json};
use serve::{Order, OrderKind};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read as _, Write};
use std::path::Path;

const FORM: &str = "nandarium recording, form 2";
const FORM_BEFORE: &str = "nandarium recording, form 1";
/// Bytes of a piece that is left out where it is zeros.
const PIECE: usize = 4096;

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("this is not a recording of this version: {what}"))
}

/// Adds up the bytes that go through it.
struct Summed<T> {
    inner: T,
    sum: crc32fast::Hasher,
}

impl<T> Summed<T> {
    fn new(inner: T) -> Self {
        Self { inner, sum: crc32fast::Hasher::new() }
    }
}

impl<T: Write> Write for Summed<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.sum.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<T: BufRead> Summed<T> {
    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.inner.read_line(&mut line)?;
        self.sum.update(line.as_bytes());
        Ok(line)
    }

    fn bytes(&mut self, into: &mut [u8]) -> io::Result<()> {
        self.inner.read_exact(into)?;
        self.sum.update(into);
        Ok(())
    }
}

impl Recording {
    /// Writes it into a file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_to(&self, path: &Path) -> io::Result<()> {
        self.write(BufWriter::new(File::create(path)?))
    }

    /// The contents of its file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(&mut bytes).expect("memory takes everything");
        bytes
    }

    fn write(&self, to: impl Write) -> io::Result<()> {
        let used = |piece: &&[u8]| piece.iter().any(|byte| *byte != 0);
        let pieces = self.before.chunks(PIECE).enumerate().filter(|(_, piece)| used(piece));
        let request = |one: &Recorded| {
            let order = &one.order;
            json!([code(order.kind), order.offset, order.length, order.fua, one.payload.len()])
        };
        let step = |step: &Step| match step {
            Step::Asked(number) => *number as i64,
            Step::Answered(number) => -1 - *number as i64,
        };
        let head = json!({
            "bytes": self.before.len(),
            "pieces": pieces.clone().map(|(number, _)| number).collect::<Vec<_>>(),
            "requests": self.requests.iter().map(request).collect::<Vec<_>>(),
            "steps": self.steps.iter().map(step).collect::<Vec<_>>(),
            "said": self.said,
        });
        let mut file = Summed::new(to);
        writeln!(file, "{FORM}\n{head}")?;
        pieces.map(|(_, piece)| piece).try_for_each(|piece| file.write_all(piece))?;
        self.requests.iter().try_for_each(|request| file.write_all(&request.payload))?;
        let sum = file.sum.clone().finalize();
        file.write_all(&sum.to_le_bytes())?;
        file.flush()
    }

    /// Reads it from a file.
    ///
    /// # Errors
    /// The file cannot be read, or is none of [`Recording::write_to`].
    pub fn read_from(path: &Path) -> io::Result<Self> {
        Self::read(BufReader::new(File::open(path)?))
    }

    /// Reads it from what its file held.
    ///
    /// # Errors
    /// It is none of [`Recording::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> io::Result<Self> {
        Self::read(bytes)
    }

    fn read(mut file: impl BufRead) -> io::Result<Self> {
        let mut line = String::new();
        file.by_ref().take(64).read_line(&mut line)?;
        let has_sum = line.trim_end() == FORM;
        if !has_sum && line.trim_end() != FORM_BEFORE {
            return Err(broken("its first line"));
        }
        let mut file = Summed::new(file);
        file.sum.update(line.as_bytes());
        let head: Value = serde_json::from_str(&file.line()?).map_err(|error| broken(&error.to_string()))?;
        let list = |key: &str| head[key].as_array().ok_or_else(|| broken(key));
        let size = head["bytes"].as_u64().filter(|bytes| *bytes <= crate::MOST_BYTES).ok_or_else(|| broken("bytes"))?;
        let mut before = vec![0; size as usize];
        for number in list("pieces")? {
            let at = number
                .as_u64()
                .filter(|number| *number < size.div_ceil(PIECE as u64))
                .ok_or_else(|| broken("pieces"))?;
            let (at, end) = (at as usize * PIECE, (at as usize + 1) * PIECE);
            let end = end.min(before.len());
            file.bytes(&mut before[at..end])?;
        }
        let mut requests = Vec::new();
        for request in list("requests")? {
            let order = order_of(request).ok_or_else(|| broken("requests"))?;
            let ends = order.offset.checked_add(order.length.into()).is_some_and(|end| end <= size);
            let bytes = request[4].as_u64().filter(|bytes| ends && *bytes <= u64::from(order.length));
            let mut payload = vec![0; bytes.ok_or_else(|| broken("requests"))? as usize];
            file.bytes(&mut payload)?;
            requests.push(Recorded { order, payload: payload.into() });
        }
        if has_sum {
            let mut sum = [0; 4];
            file.inner.read_exact(&mut sum)?;
            if u32::from_le_bytes(sum) != file.sum.clone().finalize() {
                return Err(broken("its checksum"));
            }
        }
        let count = requests.len() as i64;
        let step = |value: &Value| match value.as_i64()? {
            number if (0..count).contains(&number) => Some(Step::Asked(number as usize)),
            number if (-count..0).contains(&number) => Some(Step::Answered((-1 - number) as usize)),
            _ => None,
        };
        let steps: Option<Vec<Step>> = list("steps")?.iter().map(step).collect();
        let said = serde_json::from_value(head["said"].clone()).map_err(|error| broken(&error.to_string()))?;
        Ok(Self { before, requests, steps: steps.ok_or_else(|| broken("steps"))?, said })
    }
}

fn code(kind: OrderKind) -> &'static str {
    match kind {
        OrderKind::Read => "read",
        OrderKind::Write => "write",
        OrderKind::Flush => "flush",
        OrderKind::Trim => "trim",
        OrderKind::Zeroes { .. } => "zeroes",
    }
}

fn order_of(request: &Value) -> Option<Order> {
    let kind = match request[0].as_str()? {
        "write" => OrderKind::Write,
        "flush" => OrderKind::Flush,
        "trim" => OrderKind::Trim,
        "zeroes" => OrderKind::Zeroes { keep: true },
        _ => return None,
    };
    let length = u32::try_from(request[2].as_u64()?).ok()?;
    Some(Order { kind, offset: request[1].as_u64()?, length, fua: request[3].as_bool()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Such a file was tried as if the program had written it.
    #[test]
    fn a_recording_with_pieces_in_other_places_is_refused_and_the_form_before_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("recording");
        let mut before = vec![0; 4 * PIECE];
        (1..4).for_each(|piece| before[piece * PIECE..(piece + 1) * PIECE].fill(piece as u8));
        let order = Order { kind: OrderKind::Write, offset: 0, length: 512, fua: true };
        let requests = vec![Recorded { order, payload: [7; 512].into() }];
        let steps = vec![Step::Asked(0), Step::Answered(0)];
        let recording = Recording { before, requests, steps, said: vec![(1, "a line".to_owned())] };
        recording.write_to(&path).unwrap();
        assert!(Recording::read_from(&path).unwrap() == recording);
        assert!(Recording::from_bytes(&recording.to_bytes()).unwrap() == recording);
        let sound = std::fs::read(&path).unwrap();
        let first = sound.len() - 4 - 512 - 3 * PIECE;
        let mut swapped = sound.clone();
        swapped.copy_within(first + PIECE..first + 2 * PIECE, first);
        std::fs::write(&path, swapped).unwrap();
        assert!(Recording::read_from(&path).unwrap_err().to_string().contains("its checksum"));
        let old = [FORM_BEFORE.as_bytes(), &sound[FORM.len()..sound.len() - 4]].concat();
        std::fs::write(&path, old).unwrap();
        assert!(Recording::read_from(&path).unwrap() == recording);
    }
}
