//! Sorting all of a trace within a stated memory: runs that are sorted in memory go to an unnamed temporary file and
//! are merged from there.
//!
//! ```text
//!   records -> a run in memory -> sorted, written when it is full -> ... -> the heads of all runs in a heap -> caller
//! ```
//!
//! Protects: the output is in order of time, and records of one time keep the order of the file. Runs follow each
//! other in the file, each run is sorted stably, and of equal heads the earlier run's goes first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

use units::HostOp;

use super::{ReadStatistics, TraceRecord};

/// Records of a run: 36 MiB, and half as much again while it is sorted.
pub(crate) const RUN_RECORDS: usize = 786_432;
const _: () = assert!(size_of::<TraceRecord>() <= 48, "the memory of a run is told to users");
/// Bytes of a record in the temporary file.
const RECORD_BYTES: usize = 38;
/// Records of a run that are read at a time.
const READ_RECORDS: usize = 1024;

pub(crate) struct WholeSort {
    /// Records of a run.
    limit: usize,
    /// The run that is being gathered.
    gathered: Vec<TraceRecord>,
    latest_ns: i64,
    file: Option<File>,
    runs: Vec<Run>,
    /// Time and number of the run of each head; `None` while records are taken.
    heads: Option<BinaryHeap<Reverse<(i64, usize)>>>,
}

/// A sorted run.
struct Run {
    /// What is in memory and not handed out, from `taken` on.
    records: Vec<TraceRecord>,
    taken: usize,
    /// Where the rest is in the file, and how many records it has.
    next_byte: u64,
    left: usize,
}

impl WholeSort {
    pub fn new(limit: usize) -> WholeSort {
        WholeSort { limit, gathered: Vec::new(), latest_ns: i64::MIN, file: None, runs: Vec::new(), heads: None }
    }

    /// Takes a record.
    /// Errors: the temporary file cannot be made or written.
    pub fn add(&mut self, record: TraceRecord, statistics: &mut ReadStatistics) -> io::Result<()> {
        if record.time_ns < self.latest_ns {
            statistics.reordered += 1;
        }
        self.latest_ns = self.latest_ns.max(record.time_ns);
        if self.gathered.len() == self.gathered.capacity() {
            // Twice the room each time, and never more than a run takes.
            let more = self.gathered.len().max(READ_RECORDS).min(self.limit - self.gathered.len());
            self.gathered.reserve_exact(more);
        }
        self.gathered.push(record);
        if self.gathered.len() == self.limit {
            self.write_run()?;
        }
        Ok(())
    }

    /// Bytes of the temporary file.
    pub fn written_bytes(&self) -> u64 {
        self.runs.iter().map(|run| run.next_byte + (run.left * RECORD_BYTES) as u64).max().unwrap_or(0)
    }

    /// Passes on the next records in order of time, at most `limit`; no record is taken after the first call.
    /// Errors: the temporary file cannot be read.
    pub fn release(&mut self, limit: usize, ready: &mut Vec<TraceRecord>) -> io::Result<()> {
        if self.heads.is_none() {
            self.begin()?;
        }
        let heads = self.heads.as_mut().expect("it has begun");
        for _ in 0..limit {
            let Some(mut head) = heads.peek_mut() else { break };
            let Reverse((_, number)) = *head;
            let run = &mut self.runs[number];
            ready.push(run.records[run.taken]);
            run.taken += 1;
            if run.taken == run.records.len() {
                run.refill(self.file.as_mut())?;
            }
            match run.records.get(run.taken) {
                // The heap is put in order when the new head is let go.
                Some(next) => *head = Reverse((next.time_ns, number)),
                None => {
                    PeekMut::pop(head);
                }
            }
        }
        Ok(())
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = WholeSort::new(self.limit);
    }

    /// Sorts the last run, which stays in memory, and looks at the head of each.
    fn begin(&mut self) -> io::Result<()> {
        let mut records = std::mem::take(&mut self.gathered);
        records.sort_by_key(|record| record.time_ns);
        self.runs.push(Run { records, taken: 0, next_byte: 0, left: 0 });
        let mut heads = BinaryHeap::with_capacity(self.runs.len());
        for (number, run) in self.runs.iter_mut().enumerate() {
            if run.records.is_empty() {
                run.refill(self.file.as_mut())?;
            }
            heads.extend(run.records.first().map(|first| Reverse((first.time_ns, number))));
        }
        self.heads = Some(heads);
        Ok(())
    }

    fn write_run(&mut self) -> io::Result<()> {
        self.gathered.sort_by_key(|record| record.time_ns);
        let next_byte = self.written_bytes();
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        let mut out = BufWriter::with_capacity(1 << 16, file);
        for record in &self.gathered {
            out.write_all(&encoded(record))?;
        }
        out.flush()?;
        self.runs.push(Run { records: Vec::new(), taken: 0, next_byte, left: self.gathered.len() });
        self.gathered.clear();
        Ok(())
    }
}

impl Run {
    /// Reads the next records, none at the end of the run.
    fn refill(&mut self, file: Option<&mut File>) -> io::Result<()> {
        self.records.clear();
        self.taken = 0;
        let Some(file) = file.filter(|_| self.left > 0) else {
            self.records.shrink_to_fit();
            return Ok(());
        };
        let count = self.left.min(READ_RECORDS);
        let mut bytes = vec![0; count * RECORD_BYTES];
        file.seek(SeekFrom::Start(self.next_byte))?;
        file.read_exact(&mut bytes)?;
        self.records.extend(bytes.as_chunks::<RECORD_BYTES>().0.iter().map(decoded));
        self.next_byte += bytes.len() as u64;
        self.left -= count;
        Ok(())
    }
}

const IS_FUA: u8 = 1;
const HAS_LATENCY: u8 = 2;

fn encoded(record: &TraceRecord) -> [u8; RECORD_BYTES] {
    let mut bytes = [0; RECORD_BYTES];
    bytes[..8].copy_from_slice(&record.time_ns.to_le_bytes());
    bytes[8..16].copy_from_slice(&record.offset_bytes.to_le_bytes());
    bytes[16..24].copy_from_slice(&record.length_bytes.to_le_bytes());
    bytes[24..32].copy_from_slice(&record.latency_ns.unwrap_or(0).to_le_bytes());
    bytes[32..36].copy_from_slice(&record.device.to_le_bytes());
    bytes[36] = record.op.index() as u8;
    bytes[37] |= if record.fua { IS_FUA } else { 0 };
    bytes[37] |= if record.latency_ns.is_some() { HAS_LATENCY } else { 0 };
    bytes
}

fn decoded(bytes: &[u8; RECORD_BYTES]) -> TraceRecord {
    let word = |at: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[at..at + 8]);
        u64::from_le_bytes(word)
    };
    TraceRecord {
        time_ns: word(0) as i64,
        device: u32::from_le_bytes([bytes[32], bytes[33], bytes[34], bytes[35]]),
        offset_bytes: word(8),
        length_bytes: word(16),
        op: HostOp::ALL[usize::from(bytes[36])],
        latency_ns: (bytes[37] & HAS_LATENCY != 0).then(|| word(24)),
        fua: bytes[37] & IS_FUA != 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_record() -> impl Strategy<Value = TraceRecord> {
        (0..40_i64, any::<u32>(), 0..4_usize, any::<u64>(), any::<u64>(), any::<Option<u64>>(), any::<bool>()).prop_map(
            |(time_ns, device, op, offset_bytes, length_bytes, latency_ns, fua)| TraceRecord {
                time_ns,
                device,
                offset_bytes,
                length_bytes,
                op: HostOp::ALL[op],
                latency_ns,
                fua,
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

        #[test]
        fn runs_in_a_file_are_merged_as_one_stable_sort(
            records in prop::collection::vec(any_record(), 0..200),
            limit in 1..60_usize,
            batch in 1..50_usize,
        ) {
            let (mut sort, mut statistics) = (WholeSort::new(limit), ReadStatistics::default());
            for record in &records {
                sort.add(*record, &mut statistics).unwrap();
            }
            prop_assert_eq!(sort.written_bytes(), (records.len() / limit * limit * RECORD_BYTES) as u64);
            let mut out = Vec::new();
            loop {
                let before = out.len();
                sort.release(batch, &mut out).unwrap();
                if out.len() == before {
                    break;
                }
            }
            let mut sorted = records;
            sorted.sort_by_key(|record| record.time_ns);
            prop_assert_eq!(out, sorted);
        }
    }

    #[test]
    fn a_run_of_more_than_one_read_is_merged() {
        let (mut sort, mut statistics) = (WholeSort::new(2500), ReadStatistics::default());
        for volume in 0..3_u32 {
            for time_ns in 0..3000 {
                sort.add(TraceRecord::new(time_ns, volume, HostOp::Read, 0, 512), &mut statistics).unwrap();
            }
        }
        let mut out = Vec::new();
        sort.release(usize::MAX, &mut out).unwrap();
        let found: Vec<_> = out.iter().map(|record| (record.time_ns, record.device)).collect();
        let all: Vec<_> = (0..3000).flat_map(|time| (0..3).map(move |volume| (time, volume))).collect();
        assert!(found == all, "three volumes, millisecond by millisecond");
        assert_eq!(statistics.reordered, 2 * 2999);
    }
}
