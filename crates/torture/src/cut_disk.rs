//! A disk as a cut left it, which may be read and written.

use crate::held::Held;
use nbd::ErrorNumber;
use serve::{Answer, Answers, Control, Order, OrderKind, Target};
use std::collections::HashMap;
use std::time::Duration;
use units::SECTOR_BYTES;

const SECTOR: usize = SECTOR_BYTES as usize;

/// What a disk held, and over that what was written since. Nothing of it goes back.
pub struct CutDisk<'a> {
    held: Contents<'a>,
    written: HashMap<u64, Box<[u8; SECTOR]>>,
    /// A sector whose next read brings something older.
    stale: Option<u64>,
    answers: Answers,
}

enum Contents<'a> {
    Bytes(&'a [u8]),
    Held(&'a Held<'a>),
}

impl Contents<'_> {
    fn all(&self) -> &[u8] {
        match self {
            Contents::Bytes(bytes) => bytes,
            Contents::Held(held) => held.before(),
        }
    }

    fn sector(&self, sector: u64) -> Option<&[u8]> {
        match self {
            Contents::Bytes(bytes) => Some(&bytes[sector as usize * SECTOR..][..SECTOR]),
            Contents::Held(held) => held.sector(sector),
        }
    }
}

impl<'a> CutDisk<'a> {
    /// A disk that holds `bytes`, whole sectors.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { held: Contents::Bytes(bytes), written: HashMap::new(), stale: None, answers: Answers::default() }
    }

    /// A disk as a cut left it.
    pub fn of(held: &'a Held<'a>) -> Self {
        let stale = held.stale;
        Self { held: Contents::Held(held), written: HashMap::new(), stale, answers: Answers::default() }
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.held.all().len() as u64
    }

    /// What a sector holds, if it can be read. It leaves a stale read for others.
    pub fn sector(&self, sector: u64) -> Option<&[u8]> {
        self.written.get(&sector).map_or_else(|| self.held.sector(sector), |bytes| Some(&bytes[..]))
    }

    /// Reads whole sectors from byte `offset` on.
    ///
    /// # Errors
    /// One of them cannot be read.
    ///
    /// # Panics
    /// They are not within the disk, or not whole.
    pub fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<(), ErrorNumber> {
        assert!(offset.is_multiple_of(SECTOR_BYTES) && into.len().is_multiple_of(SECTOR), "sectors are read whole");
        for (part, bytes) in into.chunks_exact_mut(SECTOR).enumerate() {
            let sector = offset / SECTOR_BYTES + part as u64;
            bytes.copy_from_slice(self.sector(sector).ok_or(ErrorNumber::Io)?);
            if self.stale == Some(sector) {
                self.stale = None;
                if let Contents::Held(held) = &self.held {
                    bytes.copy_from_slice(held.older(sector));
                }
            }
        }
        Ok(())
    }

    /// Writes whole sectors from byte `offset` on.
    ///
    /// # Panics
    /// They are not within the disk, or not whole.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) {
        assert!(offset.is_multiple_of(SECTOR_BYTES) && bytes.len().is_multiple_of(SECTOR), "sectors are written whole");
        assert!(offset + bytes.len() as u64 <= self.bytes(), "a write beyond the end of the disk");
        for (part, bytes) in bytes.chunks_exact(SECTOR).enumerate() {
            let sector = offset / SECTOR_BYTES + part as u64;
            self.written.insert(sector, Box::new(bytes.try_into().expect("it is a sector")));
            self.stale = self.stale.filter(|stale| *stale != sector);
        }
    }

    /// Sectors that may hold something else than when the recording began, in order.
    pub fn changed(&self) -> Vec<u64> {
        let held = if let Contents::Held(held) = &self.held { Some(held.changed()) } else { None };
        let mut changed: Vec<u64> = held.into_iter().flatten().chain(self.written.keys().copied()).collect();
        changed.sort_unstable();
        changed.dedup();
        changed
    }

    /// Everything it holds: zeros where it cannot be read.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.held.all().to_vec();
        for sector in self.changed() {
            let place = &mut bytes[sector as usize * SECTOR..][..SECTOR];
            place.copy_from_slice(self.sector(sector).unwrap_or(&[0; SECTOR]));
        }
        bytes
    }
}

impl Target for CutDisk<'_> {
    fn bytes(&self) -> u64 {
        CutDisk::bytes(self)
    }

    fn submit(&mut self, tag: u32, order: &Order, payload: &[u8]) {
        let at = self.answers.bytes.len();
        let mut result = Ok(at);
        match order.kind {
            OrderKind::Read => {
                let mut bytes = std::mem::take(&mut self.answers.bytes);
                bytes.resize(at + order.length as usize, 0);
                result = self.read(order.offset, &mut bytes[at..]).map(|()| at);
                self.answers.bytes = bytes;
            }
            OrderKind::Write => self.write(order.offset, payload),
            OrderKind::Trim | OrderKind::Zeroes { .. } => self.write(order.offset, &vec![0; order.length as usize]),
            OrderKind::Flush => {}
        }
        self.answers.all.push(Answer { tag, result });
    }

    fn poll(&mut self, answers: &mut Answers) -> Option<Duration> {
        let shift = answers.bytes.len();
        answers.bytes.append(&mut self.answers.bytes);
        let moved = |answer: Answer| Answer { result: answer.result.map(|at| at + shift), ..answer };
        answers.all.extend(self.answers.all.drain(..).map(moved));
        None
    }

    fn control(&mut self, command: &str) -> Control {
        Control::Refused(format!("`{command}`: a disk as a cut left it takes no commands"))
    }

    fn close(&mut self) -> Result<(), String> {
        Ok(())
    }
}
