//! How a trace writes: its own overwrites, and the share of writes that continue another write.

use units::HostOp;

use super::super::TraceRecord;
use super::rewrites::Rewrites;

/// Streams that are followed at the same time.
const STREAMS: usize = 16;
/// The end of a stream that is not there.
const NOWHERE: (u32, u64) = (u32::MAX, u64::MAX);

/// Recognises writes that go on where one of the last streams of writes ended.
#[derive(Clone, Debug)]
pub struct Streams {
    /// Device and end of each stream.
    ends: [(u32, u64); STREAMS],
    /// The stream that a new one takes the place of.
    oldest: usize,
}

impl Default for Streams {
    fn default() -> Self {
        Self { ends: [NOWHERE; STREAMS], oldest: 0 }
    }
}

impl Streams {
    /// Most streams followed at the same time; [`Streams::follow`] numbers them below this.
    pub const MOST: usize = STREAMS;

    /// Takes a write from `start` to before `end`, in any unit. Returns the number of its stream, and whether the
    /// stream goes on; otherwise the write begins a stream, and the number belonged to another one before.
    pub fn follow(&mut self, device: u32, start: u64, end: u64) -> (usize, bool) {
        if let Some(stream) = self.ends.iter().position(|known| *known == (device, start)) {
            self.ends[stream] = (device, end);
            return (stream, true);
        }
        let stream = self.oldest;
        self.ends[stream] = (device, end);
        self.oldest = (stream + 1) % STREAMS;
        (stream, false)
    }
}

/// How the writes of a trace lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WritePattern {
    pub bytes: u64,
    /// Share of the written bytes that go to pages of 4 KiB that the trace writes once.
    pub once: f64,
    /// Mean bytes of writes that follow each other without a gap.
    pub run_bytes: f64,
}

/// Takes the writes of a trace, one after the other.
#[derive(Default)]
pub struct WriteSurvey {
    rewrites: Rewrites,
    streams: Streams,
    runs: u64,
    bytes: u64,
}

impl WriteSurvey {
    /// Takes a record; only writes matter.
    pub fn add(&mut self, record: &TraceRecord) {
        self.rewrites.add(record);
        if record.op == HostOp::Write {
            let (_, goes_on) = self.streams.follow(record.device, record.offset_bytes, record.end_bytes());
            self.runs += u64::from(!goes_on);
            self.bytes = self.bytes.saturating_add(record.length_bytes);
        }
    }

    /// How they lie; `None` where nothing was written, or more than there is room to note.
    pub fn pattern(&self) -> Option<WritePattern> {
        let (bytes, run_bytes) = (self.bytes, self.bytes as f64 / self.runs.max(1) as f64);
        self.rewrites.once().map(|once| WritePattern { bytes, once, run_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(writes: impl IntoIterator<Item = u64>) -> Option<WritePattern> {
        let mut survey = WriteSurvey::default();
        for page in writes {
            survey.add(&TraceRecord::new(0, 0, HostOp::Write, page * 4096, 4096));
        }
        survey.pattern()
    }

    #[test]
    fn streams_side_by_side_are_runs_and_scattered_writes_are_not() {
        assert_eq!(pattern([]), None);
        let both = (0..64).flat_map(|at| [at, 1000 + at]);
        assert_eq!(pattern(both), Some(WritePattern { bytes: 128 * 4096, once: 1.0, run_bytes: 64.0 * 4096.0 }));
        let scattered = (0..64).map(|at| at * 37 % 64 * 2);
        assert_eq!(pattern(scattered), Some(WritePattern { bytes: 64 * 4096, once: 1.0, run_bytes: 4096.0 }));
        assert_eq!(pattern([3, 9, 3, 9]).map(|pattern| pattern.once), Some(0.0));
        // A ring beside pages that are written once does not hide them.
        assert_eq!(pattern([100, 1, 101, 1, 102, 1, 103, 1]).map(|pattern| pattern.once), Some(0.5));
    }
}
