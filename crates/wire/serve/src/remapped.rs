//! The remapping driver over a file or a block device as a target. One thing is done after the other, trims and zeros
//! piece by piece.

use crate::pieces::{PIECE, SLICE, TRIM, ZEROS};
use crate::target::{Answer, Answers, Control, Order, OrderKind, Target};
use nbd::{ErrorNumber, Extent};
use remap::{BlockStore, Blocking, HostDriver as _, Source};
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};
use units::SECTOR_BYTES;

/// Bytes of a page of the map; what a trim of less does is nothing.
const PAGE: u64 = 4096;
/// Most extents that are told at once.
const MOST_EXTENTS: usize = 1 << 14;
/// Most pages that are looked at for one answer: others wait meanwhile.
const MOST_PAGES: usize = 1 << 15;

/// A remapped drive that is served.
pub struct RemappedStore<S: BlockStore> {
    /// Nothing once it is closed.
    drive: Option<Blocking<S>>,
    read_only: bool,
    /// What is answered lasts, flushed or not.
    through: bool,
    /// It was said that only reads are served.
    told: bool,
    /// Trims and zeros with a part that is not done, in the order of their turn.
    waiting: VecDeque<Long>,
    done: Vec<(u32, Result<usize, ErrorNumber>)>,
    bytes: Vec<u8>,
}

impl<S: BlockStore> RemappedStore<S> {
    /// Serves a drive that was opened.
    pub fn new(drive: Blocking<S>) -> Self {
        Self {
            drive: Some(drive),
            read_only: false,
            through: false,
            told: false,
            waiting: VecDeque::new(),
            done: Vec::new(),
            bytes: Vec::new(),
        }
    }

    /// Serves a drive whose store must not change, not even when it is closed.
    pub fn read_only(drive: Blocking<S>) -> Self {
        Self { read_only: true, ..Self::new(drive) }
    }

    /// Serves a drive whose changes are durable when they are answered: with their place in the map, which a
    /// killed server would lose otherwise.
    pub fn write_through(drive: Blocking<S>) -> Self {
        Self { through: true, ..Self::new(drive) }
    }

    fn serve(&mut self, order: &Order, payload: &[u8]) -> io::Result<usize> {
        let lasts = order.fua || self.through;
        let drive = self.drive.as_mut().ok_or_else(closed)?;
        let (first, at) = (order.offset / SECTOR_BYTES, self.bytes.len());
        match order.kind {
            // Nothing was written, so nothing has to become durable.
            OrderKind::Flush if self.read_only => {}
            OrderKind::Read => {
                self.bytes.resize(at + order.length as usize, 0);
                drive.read(first, &mut self.bytes[at..])?;
            }
            OrderKind::Write => drive.write(first, payload, lasts)?,
            OrderKind::Flush => drive.flush()?,
            OrderKind::Trim | OrderKind::Zeroes { .. } => unreachable!("these wait for their turn"),
        }
        Ok(at)
    }

    /// Does pieces of trims and of zeros in turn, for a while.
    fn serve_waiting(&mut self) {
        let begun = Instant::now();
        while let Some(mut long) = self.waiting.pop_front() {
            let done = self.drive.as_mut().ok_or_else(closed).and_then(|drive| long.next_piece(drive));
            match done {
                Ok(false) => self.waiting.push_back(long),
                done => self.finish(long.tag, done.map(|_| 0)),
            }
            if begun.elapsed() > SLICE {
                return;
            }
        }
    }

    fn finish(&mut self, tag: u32, result: io::Result<usize>) {
        let result = result.map_err(|error| {
            if !self.told {
                tracing::warn!("an order failed: {error}");
            }
            match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorNumber::Space,
                _ => ErrorNumber::Io,
            }
        });
        self.done.push((tag, result));
        // Writes that were answered from memory may fail later, with nobody to tell.
        if !self.told
            && let Some(error) = self.drive.as_ref().and_then(Blocking::breakdown)
        {
            self.told = true;
            tracing::error!("{error}; only reads are served from now on");
        }
    }
}

fn closed() -> io::Error {
    io::Error::other("the drive is closed")
}

/// A trim, or zeros, of which a part is not done. It may be of gigabytes, so it is done in pieces, and others get their
/// turn between two of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Long {
    tag: u32,
    /// First byte that is not done.
    at: u64,
    /// What is trimmed, from here to there; what lies before and behind it becomes zeros.
    trimmed: (u64, u64),
    end: u64,
    /// It must last when it is answered.
    lasts: bool,
}

impl Long {
    fn of(tag: u32, order: &Order, lasts: bool) -> Option<Self> {
        let (at, end) = (order.offset, order.offset + u64::from(order.length));
        let trimmed = match order.kind {
            OrderKind::Read | OrderKind::Write | OrderKind::Flush => return None,
            OrderKind::Trim => (at, end),
            OrderKind::Zeroes { keep: true } => (end, end),
            OrderKind::Zeroes { keep: false } => {
                let whole = at.next_multiple_of(PAGE).min(end);
                (whole, (end / PAGE * PAGE).max(whole))
            }
        };
        Some(Self { tag, at, trimmed, end, lasts })
    }

    /// Does a piece. Whether that was all.
    fn next_piece<S: BlockStore>(&mut self, drive: &mut Blocking<S>) -> io::Result<bool> {
        let (first, last) = self.trimmed;
        let from = self.at;
        if (first..last).contains(&from) {
            // No page lies in two pieces: a trim of a part of one does nothing.
            self.at = ((from + TRIM) / PAGE * PAGE).min(last);
            drive.trim(from / SECTOR_BYTES, ((self.at - from) / SECTOR_BYTES) as u32)?;
        } else {
            self.at = (from + PIECE).min(if from < first { first } else { self.end });
            drive.write(from / SECTOR_BYTES, &ZEROS[..(self.at - from) as usize], false)?;
        }
        let is_done = self.at == self.end;
        if is_done && self.lasts {
            drive.flush()?;
        }
        Ok(is_done)
    }
}

/// The counters of the driver, by name.
pub fn remap_report<S: BlockStore>(drive: &Blocking<S>) -> Value {
    let report = drive.report();
    json!({
        "host_pages": report["host_pages"],
        "superpages_written": report["superpages"],
        "pad_pages": report["pad_pages"],
        "pages_reclaimed": report["var_copies"],
        "superpages_reclaimed": report["victims"],
        "superpages_free": report["free"],
        "superpages_set_aside": report["aside"],
        "mapped_pages": report["mapped_pages"],
        "reads": report["reads"],
        "reads_split": report["reads_split"],
        "journal_superpages": report["journal_superpages"],
        "checkpoints": report["checkpoints"],
        "device_flushes": report["device_flushes"],
        "commands_failed": report["failed_commands"],
        "ram_bytes": report.ram_bytes,
        "broken": report.broken,
    })
}

impl<S: BlockStore> Target for RemappedStore<S> {
    fn bytes(&self) -> u64 {
        self.drive.as_ref().map_or(0, Blocking::sectors) * SECTOR_BYTES
    }

    fn extents(&mut self, offset: u64, length: u64, extents: &mut Vec<Extent>) -> Result<(), ErrorNumber> {
        let drive = self.drive.as_ref().ok_or(ErrorNumber::Io)?;
        let (page_bytes, end) =
            (u64::from(drive.machine().front().shape().page_sectors) * SECTOR_BYTES, offset + length);
        let mut at = offset;
        for page in (offset / page_bytes..end.div_ceil(page_bytes)).take(MOST_PAGES) {
            let until = ((page + 1) * page_bytes).min(end);
            let is_hole = drive.machine().locate(page as u32) == Source::Zeros;
            let count = extents.len();
            match extents.last_mut() {
                Some(last) if last.hole == is_hole => last.length += until - at,
                _ if count == MOST_EXTENTS => break,
                _ if is_hole => extents.push(Extent::hole(until - at)),
                _ => extents.push(Extent::data(until - at)),
            }
            at = until;
        }
        Ok(())
    }

    fn submit(&mut self, tag: u32, order: &Order, payload: &[u8]) {
        if let Some(long) = Long::of(tag, order, order.fua || self.through) {
            self.waiting.push_back(long);
            return;
        }
        let before = self.bytes.len();
        let result = self.serve(order, payload);
        if result.is_err() {
            self.bytes.truncate(before);
        }
        self.finish(tag, result);
    }

    fn poll(&mut self, answers: &mut Answers) -> Option<Duration> {
        self.serve_waiting();
        let base = answers.bytes.len();
        answers.bytes.append(&mut self.bytes);
        answers.all.extend(self.done.drain(..).map(|(tag, result)| Answer { tag, result: result.map(|at| base + at) }));
        (!self.waiting.is_empty()).then_some(Duration::ZERO)
    }

    fn control(&mut self, command: &str) -> Control {
        match (command.trim(), &self.drive) {
            ("stats", Some(drive)) => {
                // What it is now, and what it has counted since it was opened.
                const NOW: [&str; 5] =
                    ["superpages_free", "superpages_set_aside", "mapped_pages", "ram_bytes", "broken"];
                let report = remap_report(drive);
                let all = report.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), value.clone()));
                let (now, since_start): (Map<_, _>, Map<_, _>) =
                    all.partition(|(name, _)| NOW.contains(&name.as_str()));
                Control::Done(json!({ "now": now, "since_start": since_start }))
            }
            (other, _) => Control::Refused(format!("`{other}` is not a command; there are: stats, shut-down")),
        }
    }

    fn close(&mut self) -> Result<(), String> {
        let Some(drive) = self.drive.take().filter(|_| !self.read_only) else { return Ok(()) };
        drive.close().map(drop).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use remap::Options;

    const MIB: u64 = 1 << 20;

    fn target() -> RemappedStore<Vec<u8>> {
        RemappedStore::new(Blocking::format(vec![0; 64 << 20], &Options::default()).unwrap())
    }

    /// Everything that is answered until nothing is left to do: tags, and the bytes of reads.
    fn answers(target: &mut RemappedStore<Vec<u8>>) -> (Vec<u32>, Vec<u8>) {
        let mut answers = Answers::default();
        while target.poll(&mut answers).is_some() {}
        assert!(answers.all.iter().all(|answer| answer.result.is_ok()), "{:?}", answers.all);
        (answers.all.iter().map(|answer| answer.tag).collect(), answers.bytes)
    }

    /// Zeros of 4 GiB that kept their room were written in one go, and nobody else was heard meanwhile.
    #[test]
    fn zeros_that_keep_their_room_and_trims_are_done_piece_by_piece_so_that_others_get_their_turn() {
        let mut target = target();
        let order = |kind, offset, length: u64| Order { kind, offset, length: length as u32, fua: false };
        target.submit(0, &order(OrderKind::Write, 0, 20 * MIB), &vec![7; 20 << 20]);
        answers(&mut target);
        target.submit(1, &order(OrderKind::Zeroes { keep: true }, 512, 6 * MIB), &[]);
        target.submit(2, &order(OrderKind::Trim, 8 * MIB, 5 * MIB + 4096), &[]);
        target.submit(3, &order(OrderKind::Zeroes { keep: false }, 16 * MIB - 512, 1024), &[]);
        target.submit(4, &order(OrderKind::Read, 5 * MIB, 4096), &[]);
        assert_eq!((target.waiting.len(), target.waiting[0].at), (3, 512), "each waits for its turn");
        let (tags, bytes) = answers(&mut target);
        assert_eq!(tags[0], 4, "the read does not wait for the others: {tags:?}");
        assert_eq!(bytes, vec![7; 4096]);
        assert_eq!(tags.len(), 4, "one answer for each: {tags:?}");
        assert_eq!(tags[3], 1, "the longest one ends last: {tags:?}");
        target.submit(5, &order(OrderKind::Read, 0, 20 * MIB), &[]);
        let (_, bytes) = answers(&mut target);
        let mut wanted = vec![7; 20 << 20];
        for (from, length) in [(512, 6 * MIB), (8 * MIB, 5 * MIB + 4096), (16 * MIB - 512, 1024)] {
            wanted[from as usize..(from + length) as usize].fill(0);
        }
        assert!(bytes == wanted);
    }
}
