//! A disk as a cut left it, which may be read and written.

use crate::drive_image::DriveImage;
use nbd::ErrorNumber;
use serve::{Answer, Answers, Control, Order, OrderKind, Target};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use units::SECTOR_BYTES;

const SECTOR: usize = SECTOR_BYTES as usize;

/// The first contents of a disk, and the writes since over them. Nothing of it goes back.
pub struct CutDisk<'a> {
    held: Contents<'a>,
    /// Sectors that hold something else; nothing: they cannot be read.
    over: HashMap<u64, Option<Box<[u8; SECTOR]>>>,
    /// A sector, and what its next read brings.
    stale: Option<(u64, Box<[u8]>)>,
    /// See [`Target::trim_bytes`].
    trim_bytes: u32,
    answers: Answers,
}

enum Contents<'a> {
    Bytes(&'a [u8]),
    Shared(Arc<Vec<u8>>),
    Image(&'a DriveImage<'a>),
}

impl Contents<'_> {
    fn all(&self) -> &[u8] {
        match self {
            Contents::Bytes(bytes) => bytes,
            Contents::Shared(bytes) => bytes,
            Contents::Image(image) => image.before(),
        }
    }

    fn sector(&self, sector: u64) -> Option<&[u8]> {
        match self {
            Contents::Image(image) => image.sector(sector),
            _ => Some(&self.all()[sector as usize * SECTOR..][..SECTOR]),
        }
    }
}

impl<'a> CutDisk<'a> {
    /// A disk that holds `bytes`, whole sectors.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self::with(Contents::Bytes(bytes))
    }

    /// The same, without a borrow.
    pub fn shared(bytes: Arc<Vec<u8>>) -> CutDisk<'static> {
        CutDisk::with(Contents::Shared(bytes))
    }

    /// A disk as a cut left it.
    pub fn of(image: &'a DriveImage<'a>) -> Self {
        let stale = image.stale.map(|sector| (sector, image.older(sector).into()));
        Self { stale, ..Self::with(Contents::Image(image)) }
    }

    fn with(held: Contents<'a>) -> Self {
        Self { held, over: HashMap::new(), stale: None, trim_bytes: SECTOR as u32, answers: Answers::default() }
    }

    /// Trims forget whole pieces of so many bytes, whole sectors.
    #[must_use]
    pub fn with_trim_bytes(self, trim_bytes: u32) -> Self {
        Self { trim_bytes, ..self }
    }

    /// Forgets the pieces that a range covers whole.
    ///
    /// # Panics
    /// They are not within the disk, or not whole sectors.
    pub fn trim(&mut self, offset: u64, bytes: u64) {
        let piece = u64::from(self.trim_bytes);
        let (first, end) = (offset.next_multiple_of(piece), (offset + bytes) / piece * piece);
        for at in (first..end).step_by(self.trim_bytes as usize) {
            self.write(at, &vec![0; self.trim_bytes as usize]);
        }
    }

    /// The same disk, without a borrow. `before`: its contents when the recording began.
    pub fn detached(&self, before: Arc<Vec<u8>>) -> CutDisk<'static> {
        let mut disk = CutDisk::shared(before);
        for sector in self.changed() {
            let bytes = self.sector(sector).map(|bytes| Box::new(bytes.try_into().expect("it is a sector")));
            disk.over.insert(sector, bytes);
        }
        disk.stale.clone_from(&self.stale);
        disk.trim_bytes = self.trim_bytes;
        disk
    }

    /// Size of the disk in bytes.
    pub fn bytes(&self) -> u64 {
        self.held.all().len() as u64
    }

    /// The contents of a sector, if it can be read. It leaves a stale read for others.
    pub fn sector(&self, sector: u64) -> Option<&[u8]> {
        match self.over.get(&sector) {
            Some(bytes) => bytes.as_ref().map(|bytes| &bytes[..]),
            None => self.held.sector(sector),
        }
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
            if let Some((_, older)) = self.stale.take_if(|(stale, _)| *stale == sector) {
                bytes.copy_from_slice(&older);
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
            self.over.insert(sector, Some(Box::new(bytes.try_into().expect("it is a sector"))));
            self.stale.take_if(|(stale, _)| *stale == sector);
        }
    }

    /// Sectors that may hold something else than when the recording began, in order.
    pub fn changed(&self) -> Vec<u64> {
        let changed = if let Contents::Image(image) = &self.held { Some(image.changed()) } else { None };
        let mut changed: Vec<u64> = changed.into_iter().flatten().chain(self.over.keys().copied()).collect();
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

    fn trim_bytes(&self) -> u32 {
        self.trim_bytes
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
            OrderKind::Trim => self.trim(order.offset, order.length.into()),
            OrderKind::Zeroes { .. } => self.write(order.offset, &vec![0; order.length as usize]),
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
