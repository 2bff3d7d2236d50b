//! Flushes of a drive, from the record that `serve --record` writes.

use super::FsyncsError;
use serve::{Noted, Record};
use std::io::BufRead;
use units::Nanos;

/// By how much a record may tell a time of day falsely: it notes its clock again then.
const DRIFT: Nanos = 50_000;

/// When the drive answered flushes and writes with FUA; times since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flushes {
    /// Requests in the record.
    pub requests: u64,
    /// Flushes that were answered.
    pub flushes: u64,
    /// Writes with FUA that were answered.
    pub fua_writes: u64,
    /// First and last moment that the record knows.
    pub span: (Nanos, Nanos),
    /// When each of them was answered, in order.
    answered: Vec<Nanos>,
}

impl Flushes {
    /// Reads a record.
    ///
    /// # Errors
    /// It cannot be read, or tells no time of day.
    pub fn read(record: impl BufRead) -> Result<Self, FsyncsError> {
        let (mut flushes, mut clock) = (Self::default(), None);
        for line in record.split(b'\n') {
            let line = line.map_err(FsyncsError::Record)?;
            let Some((time, noted)) = Record::read(&String::from_utf8_lossy(&line)) else { continue };
            match noted {
                Noted::Clock(day) => {
                    // A clock that was set back since would make the record shorter than it is.
                    clock = Some((time, day));
                    flushes.span.0 = if flushes.span.0 == 0 { day } else { flushes.span.0.min(day) };
                }
                Noted::Request => flushes.requests += 1,
                Noted::Flushed => flushes.flushes += 1,
                Noted::WrittenThrough => flushes.fua_writes += 1,
                Noted::Else => {}
            }
            let Some((since, day)) = clock else { continue };
            let now = day.saturating_add(time.saturating_sub(since));
            flushes.span.1 = flushes.span.1.max(now);
            if matches!(noted, Noted::Flushed | Noted::WrittenThrough) {
                flushes.answered.push(now);
            }
        }
        flushes.answered.sort_unstable();
        clock.map(|_| flushes).ok_or(FsyncsError::NoClock)
    }

    /// Whether one may have been answered between two moments.
    pub fn any_within(&self, from: Nanos, to: Nanos) -> bool {
        let first = self.answered.partition_point(|time| time.saturating_add(DRIFT) < from);
        self.answered.get(first).is_some_and(|time| *time <= to.saturating_add(DRIFT))
    }
}
