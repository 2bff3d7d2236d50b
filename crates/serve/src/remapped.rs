//! The remapping driver over a file or a block device as a target. One thing is done after the other.

use crate::target::{Answer, Answers, Control, Order, OrderKind, Target};
use nbd::{ErrorNumber, Extent};
use remap::{BlockStore, Blocking, HostDriver as _, Source};
use serde_json::{Map, Value, json};
use std::io;
use std::time::Duration;
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
    done: Vec<(u32, Result<usize, ErrorNumber>)>,
    bytes: Vec<u8>,
}

impl<S: BlockStore> RemappedStore<S> {
    /// Serves a drive that was opened.
    pub fn new(drive: Blocking<S>) -> Self {
        Self { drive: Some(drive), read_only: false, through: false, told: false, done: Vec::new(), bytes: Vec::new() }
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
        let Some(drive) = &mut self.drive else { return Err(io::Error::other("the drive is closed")) };
        let (first, sectors) = (order.offset / SECTOR_BYTES, order.length / SECTOR_BYTES as u32);
        let at = self.bytes.len();
        match order.kind {
            // Nothing was written, so nothing has to become durable.
            OrderKind::Flush if self.read_only => {}
            OrderKind::Read => {
                self.bytes.resize(at + order.length as usize, 0);
                drive.read(first, &mut self.bytes[at..])?;
            }
            OrderKind::Write => drive.write(first, payload, lasts)?,
            OrderKind::Flush => drive.flush()?,
            OrderKind::Trim => drive.trim(first, sectors)?,
            OrderKind::Zeroes { keep } => {
                let (from, end) = (order.offset, order.offset + u64::from(order.length));
                let (whole, last) = (from.next_multiple_of(PAGE).min(end), (end / PAGE * PAGE).max(from));
                let [whole, last] = if keep || whole >= last { [end, end] } else { [whole, last] };
                let zeros = |drive: &mut Blocking<S>, from: u64, end: u64| -> io::Result<()> {
                    let zeros = vec![0; 64 << 10];
                    (from..end).step_by(zeros.len()).try_for_each(|at| {
                        drive.write(at / SECTOR_BYTES, &zeros[..(end - at).min(zeros.len() as u64) as usize], false)
                    })
                };
                zeros(drive, from, whole)?;
                if whole < last {
                    drive.trim(whole / SECTOR_BYTES, ((last - whole) / SECTOR_BYTES) as u32)?;
                }
                zeros(drive, last, end)?;
            }
        }
        if lasts && matches!(order.kind, OrderKind::Trim | OrderKind::Zeroes { .. }) {
            drive.flush()?;
        }
        Ok(at)
    }
}

/// What the driver has counted, by name.
pub fn remap_report<S: BlockStore>(drive: &Blocking<S>) -> Value {
    let report = drive.report();
    json!({
        "host_pages": report.host_pages,
        "superpages_written": report.superpages,
        "pad_pages": report.pad_pages,
        "pages_reclaimed": report.var_copies,
        "superpages_reclaimed": report.victims,
        "superpages_free": report.free,
        "superpages_set_aside": report.aside,
        "mapped_pages": report.mapped_pages,
        "reads": report.reads,
        "reads_split": report.reads_split,
        "journal_superpages": report.journal_superpages,
        "checkpoints": report.checkpoints,
        "device_flushes": report.device_flushes,
        "commands_failed": report.failed_commands,
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
        let (page_bytes, end) = (u64::from(drive.machine().page_sectors()) * SECTOR_BYTES, offset + length);
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
        let before = self.bytes.len();
        let result = self.serve(order, payload).map_err(|error| {
            if !self.told {
                tracing::warn!("an order failed: {error}");
            }
            self.bytes.truncate(before);
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

    fn poll(&mut self, answers: &mut Answers) -> Option<Duration> {
        let base = answers.bytes.len();
        answers.bytes.append(&mut self.bytes);
        answers.all.extend(self.done.drain(..).map(|(tag, result)| Answer { tag, result: result.map(|at| base + at) }));
        None
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
            (other, _) => Control::Refused(format!("`{other}` is no command; there are: stats, shut-down")),
        }
    }

    fn close(&mut self) -> Result<(), String> {
        let Some(drive) = self.drive.take().filter(|_| !self.read_only) else { return Ok(()) };
        drive.close().map(drop).map_err(|error| error.to_string())
    }
}
