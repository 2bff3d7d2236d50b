//! Flash kept in a file: what was programmed and erased is there as soon as it happened.
//!
//! ```text
//! 0      magic, length and checksum of the description, the description: every key and value of the stack
//! 64 Ki  16 bytes a block: erases, whether it is bad, checksum; zeros: neither
//! ...    a place for each page: 32 bytes (kind, logical page, sequence, erases of its block, length, checksum of these, checksum
//!        of all), then its cells or its record
//! ```
//! A page counts while its block has been erased as often as when it was programmed. The file is sparse: places that were
//! never programmed take no room. A write that the end of the program cut in two fails its checksum and counts as torn,
//! as a page does when power goes in the middle of its program; with a later page in its block it is damaged, and what it holds is lost.
//! The magic is another one until the drive is whole.
//!
//! Protects: a killed program loses nothing but what its drive would have lost with power. Not: a crash of the machine under
//! it, which may lose what the operating system had not written yet; [`Image::sync`] is for that.

use crate::error::DriveError;
use nand::{FlashCore, Mirror, Oob, PageKind};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use units::{BlockId, Geometry};

const MAGIC: &[u8; 8] = b"nandrv02";
/// Of a drive that is being made.
const UNFINISHED: &[u8; 8] = b"nandnew2";
const TABLE: u64 = 64 << 10;
const BLOCK_BYTES: u64 = 16;
const HEAD: usize = 32;
/// Set in the length of a place that holds a record.
const RECORD: u32 = 1 << 31;

/// A file that holds flash.
#[derive(Debug)]
pub(crate) struct Image {
    path: PathBuf,
    file: File,
    geometry: Geometry,
    /// How often each block was erased, as the file has it.
    erases: Vec<AtomicU32>,
    /// Why the file stopped following. From then on nothing is written to it: it stays as a power cut would have left it.
    broken: OnceLock<(io::ErrorKind, String)>,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// Keys and values of a description.
fn values(description: &str) -> BTreeMap<&str, &str> {
    description.lines().filter_map(|line| line.split_once(" = ")).collect()
}

impl Image {
    /// The file at `path`, made if there is none, for a drive described so. `true`: it holds a drive already.
    pub fn open(path: &Path, geometry: Geometry, description: &str) -> Result<(Arc<Self>, bool), DriveError> {
        let failed = |source| DriveError::File { path: path.to_owned(), source };
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => {
                let problem = "another program has this drive open; end that one first".to_owned();
                return Err(DriveError::Foreign { path: path.to_owned(), problem });
            }
            Err(std::fs::TryLockError::Error(error)) => return Err(failed(error)),
        }
        let erases = (0..geometry.blocks()).map(|_| AtomicU32::new(0)).collect();
        let image = Self { path: path.to_owned(), file, geometry, erases, broken: OnceLock::new() };
        let holds = !image.is_unfinished().map_err(failed)?;
        if holds {
            image.check(description)?;
        } else {
            image.clear().map_err(failed)?;
        }
        Ok((Arc::new(image), holds))
    }

    /// The file is empty, or its drive was never finished.
    fn is_unfinished(&self) -> io::Result<bool> {
        let mut magic = [0; 8];
        Ok(self.file.metadata()?.len() == 0 || self.file.read_exact_at(&mut magic, 0).is_ok() && magic == *UNFINISHED)
    }

    fn clear(&self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.write_all_at(UNFINISHED, 0)?;
        self.file.set_len(self.length())
    }

    fn length(&self) -> u64 {
        self.first_place() + u64::from(self.geometry.pages()) * self.place_bytes()
    }

    /// The drive is whole: from now on the file is this drive's.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn describe(&self, description: &str) -> Result<(), DriveError> {
        let failed = |source| DriveError::File { path: self.path.clone(), source };
        if let Some(error) = self.broken() {
            return Err(error);
        }
        let text = description.as_bytes();
        if text.len() as u64 + 16 > TABLE {
            return Err(failed(io::Error::other("the description of the stack is too long for the file")));
        }
        let head = [&MAGIC[..], &(text.len() as u32).to_le_bytes(), &crc32fast::hash(text).to_le_bytes(), text].concat();
        // Whoever finds the description finds all of the drive.
        self.sync()?;
        self.file.write_all_at(&head, 0).map_err(failed)?;
        self.sync()
    }

    /// Refuses files that are not of such a drive.
    fn check(&self, description: &str) -> Result<(), DriveError> {
        let foreign = |problem: String| DriveError::Foreign { path: self.path.clone(), problem };
        let mut head = [0; 16];
        let read = self.file.read_exact_at(&mut head, 0);
        if read.is_err() || &head[..8] != MAGIC {
            return Err(foreign("this is not the file of a drive; name another file, or remove this one".to_owned()));
        }
        let has = self.file.metadata().map_or(0, |file| file.len());
        if has < self.length() {
            return Err(foreign(format!("the file has {has} bytes, and its drive {}: it was cut short, and what is missing is lost; restore it from a copy", self.length())));
        }
        let mut text = vec![0; (u64::from(word(&head, 8)).min(TABLE - 16)) as usize];
        let read = self.file.read_exact_at(&mut text, 16);
        if read.is_err() || crc32fast::hash(&text) != word(&head, 12) {
            return Err(foreign("the description of its drive is damaged; the file cannot be used".to_owned()));
        }
        let text = String::from_utf8_lossy(&text);
        let [made, own] = [&text, description].map(values);
        for key in made.keys().chain(own.keys()) {
            let [made, own] = [&made, &own].map(|values| values.get(key));
            if made != own {
                let told = |value: Option<&&str>| value.map_or_else(|| format!("no `{key}`"), |value| format!("`{key} = {value}`"));
                let [made, own] = [made, own].map(told);
                return Err(foreign(format!("the file is of another drive: it was made with {made}, and this stack has {own}; use that stack, or another file")));
            }
        }
        Ok(())
    }

    fn first_place(&self) -> u64 {
        (TABLE + u64::from(self.geometry.blocks()) * BLOCK_BYTES).next_multiple_of(4096)
    }

    fn place_bytes(&self) -> u64 {
        HEAD as u64 + u64::from(self.geometry.page_bytes)
    }

    /// Puts what the file holds into flash that is factory-fresh.
    pub fn load(&self, core: &mut FlashCore) -> Result<(), DriveError> {
        let failed = |source| DriveError::File { path: self.path.clone(), source };
        let mut table = vec![0; self.geometry.blocks() as usize * BLOCK_BYTES as usize];
        self.file.read_exact_at(&mut table, TABLE).map_err(failed)?;
        let [mut place, mut other] = [0; 2].map(|_| vec![0; self.place_bytes() as usize]);
        for (block, row) in (0..self.geometry.blocks()).map(BlockId).zip(table.chunks_exact(BLOCK_BYTES as usize)) {
            if row.iter().any(|byte| *byte != 0) && checksum(&row[..12], &[]) != word(row, 12) {
                let problem = format!("what it says of block {} is damaged, and the block's pages with it; restore the file from a copy", block.0);
                return Err(DriveError::Foreign { path: self.path.clone(), problem });
            }
            let (erases, bad) = (word(row, 0), row[4] != 0);
            let mut torn = None;
            self.erases[block.index()].store(erases, Ordering::Relaxed);
            let (mut done, mut found) = (0, 0);
            for position in 0..self.geometry.pages_per_block {
                let page = self.geometry.page_at(block, position).0;
                let at = self.first_place() + u64::from(page) * self.place_bytes();
                // Of a block that nothing was programmed to only the first place is looked at, and pages passed over are few.
                self.file.read_exact_at(&mut place[..HEAD], at).map_err(failed)?;
                let generation = word(&place, 16);
                if place[0] == 0 || generation != erases {
                    if done == 0 && position > 0 && !self.has_data(page, block).map_err(failed)? {
                        break;
                    }
                    continue;
                }
                self.file.read_exact_at(&mut place, at).map_err(failed)?;
                if let Some(page) = torn.take() {
                    self.file.read_exact_at(&mut other, self.first_place() + u64::from(page) * self.place_bytes()).map_err(failed)?;
                    // Only the last program of a killed program can be torn: this one is damaged.
                    self.restore(core, page, &other, PageKind::Lost);
                }
                let is_torn = !self.restore(core, page, &place, PageKind::Torn);
                torn = (is_torn && place[0] == PageKind::Data as u8 && checksum(&place[..24], &[]) == word(&place, 24)).then_some(page);
                (done, found) = (position + 1, found + 1);
            }
            core.restore_block(block, done, found < done, erases, bad);
        }
        Ok(())
    }

    /// Whether a place from this one to the end of its block was programmed since the block was erased.
    fn has_data(&self, page: u32, block: BlockId) -> io::Result<bool> {
        let end = self.geometry.page_at(block, self.geometry.pages_per_block - 1).0;
        let mut head = [0; HEAD];
        for page in page..=end {
            self.file.read_exact_at(&mut head, self.first_place() + u64::from(page) * self.place_bytes())?;
            if head[0] != 0 && word(&head, 16) == self.erases[block.index()].load(Ordering::Relaxed) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Puts a page into flash; as `otherwise` where its place is not whole, which is what is returned.
    fn restore(&self, core: &mut FlashCore, page: u32, place: &[u8], otherwise: PageKind) -> bool {
        let Some(contents) = core.contents.as_deref_mut() else { return true };
        let length = word(place, 20) & !RECORD;
        let body = &place[HEAD..HEAD + (length as usize).min(place.len() - HEAD)];
        let is_whole = checksum(&place[..28], body) == word(place, 28);
        let kind = match place[0] {
            _ if !is_whole => otherwise,
            1 => PageKind::Data,
            2 => PageKind::Metadata,
            4 => PageKind::Lost,
            _ => PageKind::Torn,
        };
        let sequence = u64::from_le_bytes(place[8..16].try_into().expect("eight bytes"));
        let oob = Oob { kind, logical: word(place, 4), sequence };
        let is_record = kind == PageKind::Metadata && word(place, 20) & RECORD != 0;
        let cells = if body.len() == self.geometry.page_bytes as usize { body } else { &vec![0; self.geometry.page_bytes as usize] };
        contents.restore_page(page, oob, cells, is_record.then_some(body));
        is_whole
    }

    /// Waits until the operating system has written everything.
    pub fn sync(&self) -> Result<(), DriveError> {
        self.file.sync_data().map_err(|source| DriveError::File { path: self.path.clone(), source })
    }

    /// Why the file stopped following, if it did.
    pub fn broken(&self) -> Option<DriveError> {
        let (kind, text) = self.broken.get()?;
        Some(DriveError::File { path: self.path.clone(), source: io::Error::new(*kind, text.as_str()) })
    }

    fn write(&self, bytes: &[u8], at: u64) {
        // After a page that is missing, an erase of what it was copied from must not reach the file.
        if self.broken.get().is_none()
            && let Err(error) = self.file.write_all_at(bytes, at)
        {
            self.give_up(&error);
        }
    }

    fn give_up(&self, error: &io::Error) {
        // The first reason counts.
        let _ = self.broken.set((error.kind(), error.to_string()));
    }
}

fn checksum(head: &[u8], body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(head);
    hasher.update(body);
    hasher.finalize()
}

impl Mirror for Image {
    fn page(&self, page: u32, oob: Oob, cells: &[u8], record: Option<&[u8]>) {
        let block = self.geometry.block_of(units::Ppn(page));
        let body = record.unwrap_or(cells);
        if body.len() > self.geometry.page_bytes as usize {
            self.give_up(&io::Error::other("a record is larger than a page"));
            return;
        }
        let length = body.len() as u32 | if record.is_some() { RECORD } else { 0 };
        let mut place = Vec::with_capacity(HEAD + body.len());
        place.extend_from_slice(&[oob.kind as u8, 0, 0, 0]);
        place.extend_from_slice(&oob.logical.to_le_bytes());
        place.extend_from_slice(&oob.sequence.to_le_bytes());
        place.extend_from_slice(&self.erases[block.index()].load(Ordering::Relaxed).to_le_bytes());
        place.extend_from_slice(&length.to_le_bytes());
        let sum = checksum(&place, &[]);
        place.extend_from_slice(&sum.to_le_bytes());
        let sum = checksum(&place, body);
        place.extend_from_slice(&sum.to_le_bytes());
        place.extend_from_slice(body);
        self.write(&place, self.first_place() + u64::from(page) * self.place_bytes());
    }

    fn block(&self, block: BlockId, erases: u32, bad: bool) {
        self.erases[block.index()].store(erases, Ordering::Relaxed);
        let mut row = [0; BLOCK_BYTES as usize];
        row[..4].copy_from_slice(&erases.to_le_bytes());
        row[4] = u8::from(bad);
        let sum = checksum(&row[..12], &[]);
        row[12..].copy_from_slice(&sum.to_le_bytes());
        self.write(&row, TABLE + u64::from(block.0) * BLOCK_BYTES);
    }
}
