//! A disk as a cut left it, which may be read and written.

use serve::{Answer, Answers, Control, Order, OrderKind, Target};
use std::collections::HashMap;
use std::time::Duration;
use units::SECTOR_BYTES;

const SECTOR: usize = SECTOR_BYTES as usize;

/// What a disk held before, with what a state changed over it, and over that what was written since. Nothing of it
/// goes back.
pub struct CutDisk<'a> {
    before: &'a [u8],
    touched: &'a [u64],
    contents: &'a [u8],
    written: HashMap<u64, Box<[u8; SECTOR]>>,
    answers: Answers,
}

impl<'a> CutDisk<'a> {
    /// `contents`: the bytes of the sectors `touched`, which are in order.
    pub fn new(before: &'a [u8], touched: &'a [u64], contents: &'a [u8]) -> Self {
        Self { before, touched, contents, written: HashMap::new(), answers: Answers::default() }
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.before.len() as u64
    }

    fn sector(&self, sector: u64) -> &[u8] {
        if let Some(bytes) = self.written.get(&sector) {
            return &bytes[..];
        }
        match self.touched.binary_search(&sector) {
            Ok(at) => &self.contents[at * SECTOR..][..SECTOR],
            Err(_) => &self.before[sector as usize * SECTOR..][..SECTOR],
        }
    }

    /// Reads whole sectors from byte `offset` on.
    ///
    /// # Panics
    /// They are not within the disk, or not whole.
    pub fn read(&self, offset: u64, into: &mut [u8]) {
        assert!(offset.is_multiple_of(SECTOR_BYTES) && into.len().is_multiple_of(SECTOR), "sectors are read whole");
        for (part, bytes) in into.chunks_exact_mut(SECTOR).enumerate() {
            bytes.copy_from_slice(self.sector(offset / SECTOR_BYTES + part as u64));
        }
    }

    /// Writes whole sectors from byte `offset` on.
    ///
    /// # Panics
    /// They are not within the disk, or not whole.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) {
        assert!(offset.is_multiple_of(SECTOR_BYTES) && bytes.len().is_multiple_of(SECTOR), "sectors are written whole");
        assert!(offset + bytes.len() as u64 <= self.bytes(), "a write beyond the end of the disk");
        for (part, bytes) in bytes.chunks_exact(SECTOR).enumerate() {
            let copy = Box::new(bytes.try_into().expect("it is a sector"));
            self.written.insert(offset / SECTOR_BYTES + part as u64, copy);
        }
    }

    /// Everything it holds.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.before.to_vec();
        let changed = self.touched.iter().copied().chain(self.written.keys().copied());
        for sector in changed {
            bytes[sector as usize * SECTOR..][..SECTOR].copy_from_slice(self.sector(sector));
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
        match order.kind {
            OrderKind::Read => {
                let mut bytes = std::mem::take(&mut self.answers.bytes);
                bytes.resize(at + order.length as usize, 0);
                self.read(order.offset, &mut bytes[at..]);
                self.answers.bytes = bytes;
            }
            OrderKind::Write => self.write(order.offset, payload),
            OrderKind::Trim | OrderKind::Zeroes { .. } => self.write(order.offset, &vec![0; order.length as usize]),
            OrderKind::Flush => {}
        }
        self.answers.all.push(Answer { tag, result: Ok(at) });
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
