//! A recording as a file, so that a failure can be seen again without running the program again.
//!
//! ```text
//! a line that names the form
//! a line of JSON: sizes, requests, steps, what was said
//! the bytes: what the drive held before where it was not zeros, then the payloads
//! ```

use crate::recording::{Recorded, Recording, Step};
use serde_json::{Value, json};
use serve::{Order, OrderKind};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Write as _};
use std::path::Path;

const FORM: &str = "nandarium recording, form 1";
/// Bytes of a piece that is left out where it is zeros.
const PIECE: usize = 4096;

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("this is no recording of this version: {what}"))
}

impl Recording {
    /// Writes it into a file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_to(&self, path: &Path) -> io::Result<()> {
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
        let mut file = BufWriter::new(File::create(path)?);
        writeln!(file, "{FORM}\n{head}")?;
        pieces.map(|(_, piece)| piece).try_for_each(|piece| file.write_all(piece))?;
        self.requests.iter().try_for_each(|request| file.write_all(&request.payload))?;
        file.flush()
    }

    /// Reads it from a file.
    ///
    /// # Errors
    /// The file cannot be read, or is none of [`Recording::write_to`].
    pub fn read_from(path: &Path) -> io::Result<Self> {
        let mut file = BufReader::new(File::open(path)?);
        let mut line = String::new();
        file.by_ref().take(64).read_line(&mut line)?;
        if line.trim_end() != FORM {
            return Err(broken("its first line"));
        }
        line.clear();
        file.read_line(&mut line)?;
        let head: Value = serde_json::from_str(&line).map_err(|error| broken(&error.to_string()))?;
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
            file.read_exact(&mut before[at..end])?;
        }
        let mut requests = Vec::new();
        for request in list("requests")? {
            let order = order_of(request).ok_or_else(|| broken("requests"))?;
            let ends = order.offset.checked_add(order.length.into()).is_some_and(|end| end <= size);
            let bytes = request[4].as_u64().filter(|bytes| ends && *bytes <= u64::from(order.length));
            let mut payload = vec![0; bytes.ok_or_else(|| broken("requests"))? as usize];
            file.read_exact(&mut payload)?;
            requests.push(Recorded { order, payload: payload.into() });
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
