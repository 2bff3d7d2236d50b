//! Flash kept in a file: programs and erases are in the file as soon as they happen.
//!
//! ```text
//! description   magic, length and checksum, the identity of the file, then every key and value of the stack
//! rows          16 bytes a block: erases, whether it is bad or has one bit a cell, checksum; zeros: nothing was
//!               done there
//! heads         64 bytes a page: kind, logical page, sequence, number of the write, erases of its block,
//!               length and checksum of the body, checksum of these
//! places        for each page the same head once more, then its body: cells or a record
//! seconds       records of what was trimmed once more, which nothing else says
//! rows          once more
//! ```
//! Every checksum begins with the identity of the file, what it is about and the number of its block or page: data
//! written for another place, or another file, is damage. A page without bytes has heads alone.
//!
//! A page counts while its block has been erased as often as when it was programmed. The file is sparse: pages that
//! were never programmed take no room.
//!
//! *Order.* A page is first written to its place. Its head follows with the next flush of the host, before
//! the next erase, and after 256 pages at the latest. All writes have numbers without gaps. When a program is
//! killed, its writes are there in their order, and only the last one can be cut in two. So a place that is
//! not whole is torn, as when power goes in the middle of a program, if it has no second head and the highest
//! number of all. Everything else is damage. The page is then uncorrectable, and it is told. The second head
//! says which page that is.
//!
//! *A killed program* is a stop of its drive, and no power cut of the memory in which pages wait until their program is
//! full (`flash.program_memory_protected = false`): a page that is in the file is in the cells once the file is opened
//! again. A volatile write buffer is gone, as it is with power. A power cut of a drive that is served takes pages back
//! from that memory, and then they are torn in the file.
//!
//! Protects: a killed program loses nothing but what its drive would have lost with power. Flushed data reads as it
//! was, or as an error, whichever single bit or range of 4 KiB of the file is damaged or holds data from elsewhere.
//! Not: a range that is replaced by its own older contents in all copies, and unflushed data whose only head is
//! damaged. A crash of the machine may lose data that the operating system had not written yet: [`Image::sync`]
//! prevents this, and missing data counts as damage.

mod flash_file;
mod format;
mod load;
#[cfg(test)]
mod tests;

use crate::error::DriveError;
use format::{HEAD, Head, Places, Row, STEP, Sums, TABLE, long, word};
use nand::{FlashState, KeptBlock, Mirror, Oob, PageKind};
use remap::target::Access;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use units::{BlockId, Geometry};

pub use flash_file::FlashFile;

const MAGIC: &[u8; 8] = b"nandrv04";
/// Of the version whose checksums say nothing of places: such a file is written anew when it is opened.
const WITHOUT_PLACES: &[u8; 8] = b"nandrv03";
/// Bytes before the text of a description, of this version and of the one before.
const BEFORE_TEXT: usize = 24;
const BEFORE_OLD_TEXT: usize = 16;
/// Of a drive that is being made.
const UNFINISHED: &[u8; 8] = b"nandnew4";
/// Without their versions.
const KINDS: [&[u8]; 2] = [b"nandrv", b"nandnew"];
/// Most pages whose second heads wait.
const MOST_PENDING: usize = 256;

/// Damage of the file of a drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileDamage {
    /// Pages of flash whose bytes are damaged: their data cannot be read.
    pub pages: u64,
    /// Heads, rows and records that are damaged, and for which a second copy stands in: nothing is lost.
    pub mended: u64,
    /// Writes after the last flush that are missing though later ones are there: an older version is read.
    pub writes: u64,
}

impl FileDamage {
    /// Whether there is any.
    pub fn is_any(&self) -> bool {
        *self != Self::default()
    }
}

/// In words, for a user.
impl std::fmt::Display for FileDamage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { pages, mended, writes } = self;
        write!(
            formatter,
            "{pages} pages of flash are damaged, and what they hold cannot be read; {mended} records are damaged, and \
             a second copy stands in; \
             {writes} writes after the last flush are missing"
        )
    }
}

/// A file that holds flash.
#[derive(Debug)]
pub(crate) struct Image {
    path: PathBuf,
    file: File,
    geometry: Geometry,
    places: Places,
    sums: Sums,
    state: Mutex<State>,
    /// Why the file stopped following. From then on nothing is written to it: it stays as a power cut would have left
    /// it.
    broken: OnceLock<(io::ErrorKind, String)>,
    /// A file of the version before was at its place.
    is_converted: bool,
}

/// What the file has so far.
#[derive(Debug)]
struct State {
    rows: Vec<Row>,
    /// Number of the last write of a page.
    turn: u64,
    /// Pages whose second heads are not written, and these.
    pending: Vec<(u32, [u8; HEAD])>,
    /// What is being written.
    buffer: Vec<u8>,
}

/// Keys and values of a description.
fn values(description: &str) -> BTreeMap<&str, &str> {
    description.lines().filter_map(|line| line.split_once(" = ")).collect()
}

/// The first bytes of a file.
fn magic_of(path: &Path) -> Option<[u8; 8]> {
    let mut magic = [0; 8];
    File::open(path).and_then(|file| file.read_exact_at(&mut magic, 0)).ok().map(|()| magic)
}

/// Whether a file begins like the file of a drive.
pub(crate) fn is_drive(path: &Path) -> bool {
    magic_of(path).is_some_and(|magic| KINDS.iter().any(|kind| magic.starts_with(kind)))
}

/// Whether a file is one of the version before, which is written anew when it is opened.
pub(crate) fn is_old(path: &Path) -> bool {
    magic_of(path).is_some_and(|magic| magic == *WITHOUT_PLACES)
}

/// Whether there is no drive yet in a file, and nothing else either.
pub(crate) fn is_unfinished(path: &Path) -> bool {
    match File::open(path) {
        Ok(file) => has_no_drive(&file).unwrap_or(false),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

fn has_no_drive(file: &File) -> io::Result<bool> {
    let mut magic = [0; 8];
    Ok(file.metadata()?.len() == 0 || file.read_exact_at(&mut magic, 0).is_ok() && magic.starts_with(KINDS[1]))
}

fn foreign(path: &Path, problem: String) -> DriveError {
    DriveError::Foreign { path: path.to_owned(), problem }
}

fn lock(file: &File, path: &Path) -> Result<(), DriveError> {
    remap::target::try_lock(file, Access::Write).map_err(|error| match error {
        TryLockError::WouldBlock => foreign(path, "another program has this drive open; end that one first".to_owned()),
        TryLockError::Error(source) => DriveError::File { path: path.to_owned(), source },
    })
}

/// The description of the drive in a file, and what its checksums begin with.
fn described(file: &File, path: &Path) -> Result<(String, Sums), DriveError> {
    let mut head = [0; BEFORE_TEXT];
    let read = file.read_exact_at(&mut head, 0);
    let magic: &[u8] = &head[..8];
    if read.is_ok() && head.starts_with(KINDS[0]) && magic != MAGIC && magic != WITHOUT_PLACES {
        let problem = "the file is of another version of the program, which keeps drives in another way; serve it with \
            that one, or remove it";
        return Err(foreign(path, problem.to_owned()));
    }
    if read.is_err() || magic != MAGIC && magic != WITHOUT_PLACES {
        return Err(foreign(path, "this is not the file of a drive; name another file, or remove this one".to_owned()));
    }
    let is_old = magic == WITHOUT_PLACES;
    let before = if is_old { BEFORE_OLD_TEXT } else { BEFORE_TEXT };
    let mut text = vec![0; (u64::from(word(&head, 8)).min(TABLE - before as u64)) as usize];
    let read = file.read_exact_at(&mut text, before as u64);
    let id = (!is_old).then(|| long(&head, 16));
    if read.is_err() || sum_of(id, &text) != word(&head, 12) {
        return Err(foreign(path, "the description of its drive is damaged; the file cannot be used".to_owned()));
    }
    Ok((String::from_utf8_lossy(&text).into_owned(), id.map_or_else(Sums::without_places, Sums::new)))
}

/// The checksum of a description.
fn sum_of(id: Option<u64>, text: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    if let Some(id) = id {
        hasher.update(&id.to_le_bytes());
    }
    hasher.update(text);
    hasher.finalize()
}

/// An identity for a new file: another one each time.
fn new_id() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

impl Image {
    fn new(path: &Path, file: File, geometry: Geometry, sums: Sums) -> Self {
        let state = State {
            rows: vec![Row::default(); geometry.blocks() as usize],
            turn: 0,
            pending: Vec::new(),
            buffer: Vec::new(),
        };
        let places = Places::new(&geometry);
        let (state, broken) = (Mutex::new(state), OnceLock::new());
        Self { path: path.to_owned(), file, geometry, places, sums, state, broken, is_converted: false }
    }

    /// The file at `path`, made if there is none, for a drive described so. `true`: it holds a drive already.
    pub fn open(path: &Path, geometry: Geometry, description: &str) -> Result<(Arc<Self>, bool), DriveError> {
        let failed = |source| DriveError::File { path: path.to_owned(), source };
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
        lock(&file, path)?;
        let mut image = Self::new(path, file, geometry, Sums::new(new_id()));
        let holds = !has_no_drive(&image.file).map_err(failed)?;
        if holds {
            image.sums = image.check(description)?;
        } else {
            image.clear().map_err(failed)?;
        }
        Ok((Arc::new(image), holds))
    }

    /// The file of a drive that is only looked at, and the settings of its stack.
    pub fn described(path: &Path) -> Result<(File, String), DriveError> {
        let file = File::open(path).map_err(|source| DriveError::File { path: path.to_owned(), source })?;
        lock(&file, path)?;
        let (text, _) = described(&file, path)?;
        Ok((file, text))
    }

    /// That file, once the geometry of its drive is known.
    pub fn to_look_at(path: &Path, file: File, geometry: Geometry) -> Result<Self, DriveError> {
        let (_, sums) = described(&file, path)?;
        let image = Self::new(path, file, geometry, sums);
        image.check_length()?;
        Ok(image)
    }

    /// The file begins to follow `flash`, which is factory-fresh. The contents of the file are put into the flash
    /// first. A file of the version before is written anew, in its place.
    ///
    /// # Errors
    /// It cannot be read or written, or nothing of it can be used.
    pub fn resume(self: Arc<Self>, flash: &mut FlashState) -> Result<(Arc<Self>, FileDamage), DriveError> {
        let damage = self.load(flash)?;
        let image = if self.sums.id().is_some() { self } else { self.written_anew(flash)? };
        image.settle();
        image.begin(flash);
        image.mirror(flash);
        Ok((image, damage))
    }

    /// A file that holds nothing yet begins to follow `flash`: the contents of the flash are written first.
    pub fn start(self: &Arc<Self>, flash: &mut FlashState) {
        self.begin(flash);
        self.write_all(flash);
        self.mirror(flash);
    }

    /// A file with the same drive in this version takes the place of this one.
    fn written_anew(&self, flash: &FlashState) -> Result<Arc<Self>, DriveError> {
        let (text, _) = described(&self.file, &self.path)?;
        let mut beside = self.path.clone().into_os_string();
        beside.push(".converted");
        let beside = PathBuf::from(beside);
        let failed = |source| DriveError::File { path: beside.clone(), source };
        // It is cleared once it is locked: somebody else may have it open.
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&beside).map_err(failed)?;
        lock(&file, &beside)?;
        let mut image = Self::new(&self.path, file, self.geometry, Sums::new(new_id()));
        image.is_converted = true;
        if let Err(error) = image.take_over(flash, &text, &beside) {
            // The first reason counts.
            let _ = std::fs::remove_file(&beside);
            return Err(error);
        }
        // The folder lasts as well: a crash of the machine leaves the one file or the other.
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| self.failed(error))?;
        Ok(Arc::new(image))
    }

    /// The file, which lies beside that of a drive, gets all of this flash, and its place.
    fn take_over(&self, flash: &FlashState, description: &str, beside: &Path) -> Result<(), DriveError> {
        self.clear().map_err(|error| self.failed(error))?;
        self.begin(flash);
        self.write_all(flash);
        self.describe(description)?;
        std::fs::rename(beside, &self.path).map_err(|error| self.failed(error))
    }

    /// Writes what flash holds.
    fn write_all(&self, flash: &FlashState) {
        let Some(contents) = flash.contents() else { return };
        for block in (0..self.geometry.blocks()).map(BlockId) {
            let (row, kept) = (flash.block(block), flash.blocks.kept(block));
            if row.done == 0 && kept.erases == 0 {
                continue;
            }
            self.block(block, kept);
            for position in 0..u32::from(row.done) {
                let page = self.geometry.page_at(block, position).0;
                let cells = if contents.has_bytes(page) { contents.page(page) } else { &[] };
                match contents.oob(page) {
                    oob if oob.kind == PageKind::Erased => {}
                    // Nobody knows of this file yet, so the table of heads is enough.
                    oob if cells.is_empty() && contents.record(page).is_none() => self.note(page, oob, block, kept),
                    oob => self.page(page, oob, cells, contents.record(page)),
                }
            }
        }
        self.settle();
    }

    /// The head of a page without bytes waits to be written into the table.
    fn note(&self, page: u32, oob: Oob, block: BlockId, kept: KeptBlock) {
        let mut state = self.lock();
        debug_assert!(state.rows[block.index()].touched, "the row of a block comes before its pages");
        state.turn += 1;
        let head = Head::new(self.sums, page, (oob, state.turn, kept.erases), &[], false);
        state.pending.push((page, head.bytes(self.sums, page)));
        if state.pending.len() >= MOST_PENDING {
            self.settle_in(&mut state);
        }
    }

    fn mirror(self: &Arc<Self>, flash: &mut FlashState) {
        if let Some(contents) = flash.contents_mut() {
            contents.set_mirror(self.clone());
        }
    }

    /// Power was cut: the file, which followed `before`, follows what was `left`. The file cannot forget one page of a
    /// block, so a page that is erased once more is torn in the file.
    pub fn lose_power(self: &Arc<Self>, before: &FlashState, left: &mut FlashState) {
        let (Some(old), Some(new)) = (before.contents(), left.contents()) else { return };
        for block in (0..self.geometry.blocks()).map(BlockId) {
            let kept = left.blocks.kept(block);
            if kept != before.blocks.kept(block) {
                self.block(block, kept);
            }
            if kept.erases != before.blocks.kept(block).erases {
                continue;
            }
            let first = self.geometry.page_at(block, 0).0;
            for page in first..first + self.geometry.pages_per_block {
                let (was, is) = (old.oob(page), new.oob(page));
                if is.kind == PageKind::Erased && was.kind != PageKind::Erased {
                    self.page(page, Oob { kind: PageKind::Torn, ..was }, new.page(page), None);
                } else if is != was {
                    self.page(page, is, new.page(page), new.record(page));
                }
            }
        }
        self.mirror(left);
    }

    /// What blocks are like of which the file says nothing: as flash has them that is factory-fresh.
    fn begin(&self, flash: &FlashState) {
        let mut state = self.lock();
        for (block, row) in state.rows.iter_mut().enumerate().filter(|(_, row)| !row.touched) {
            row.kept = flash.blocks.kept(BlockId(block as u32));
        }
    }

    fn clear(&self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.write_all_at(UNFINISHED, 0)?;
        self.file.set_len(self.places.length)
    }

    /// The drive is whole: from now on the file is this drive's.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn describe(&self, description: &str) -> Result<(), DriveError> {
        self.settle();
        if let Some(error) = self.broken() {
            return Err(error);
        }
        let text = description.as_bytes();
        if (text.len() + BEFORE_TEXT) as u64 > TABLE {
            return Err(self.failed(io::Error::other("the description of the stack is too long for the file")));
        }
        let id = self.sums.id();
        let sum = sum_of(id, text).to_le_bytes();
        let id = id.unwrap_or_default().to_le_bytes();
        let head = [&MAGIC[..], &(text.len() as u32).to_le_bytes(), &sum, &id, text].concat();
        // Whoever finds the description finds all of the drive.
        self.sync()?;
        self.file.write_all_at(&head, 0).map_err(|error| self.failed(error))?;
        self.sync()
    }

    fn failed(&self, source: io::Error) -> DriveError {
        DriveError::File { path: self.path.clone(), source }
    }

    fn foreign(&self, problem: String) -> DriveError {
        foreign(&self.path, problem)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the file's checksums begin with. Refuses files that are not of such a drive.
    fn check(&self, description: &str) -> Result<Sums, DriveError> {
        let (text, sums) = described(&self.file, &self.path)?;
        let [made, own] = [&text, description].map(values);
        for key in made.keys().chain(own.keys()) {
            let [made, own] = [&made, &own].map(|values| values.get(key));
            if made != own {
                let told = |value: Option<&&str>| {
                    value.map_or_else(|| format!("no `{key}`"), |value| format!("`{key} = {value}`"))
                };
                let [made, own] = [made, own].map(told);
                return Err(self.foreign(format!(
                    "the file is of another drive: it was made with {made}, and this stack \
                    has {own}; use that stack, or another file"
                )));
            }
        }
        self.check_length()?;
        Ok(sums)
    }

    fn check_length(&self) -> Result<(), DriveError> {
        let (has, wanted) = (self.file.metadata().map_or(0, |file| file.len()), self.places.length);
        if has < wanted {
            return Err(self.foreign(format!(
                "the file has {has} bytes, and its drive {wanted}: it was cut short, and \
                what is missing is lost; restore it from a copy"
            )));
        }
        Ok(())
    }

    /// Whether a file of the version before was written anew.
    pub fn is_converted(&self) -> bool {
        self.is_converted
    }

    /// Writes the second heads that wait: the pages written so far are known to be whole from now on.
    pub fn settle(&self) {
        self.settle_in(&mut self.lock());
    }

    fn settle_in(&self, state: &mut State) {
        let State { pending, buffer, .. } = state;
        pending.sort_unstable_by_key(|(page, _)| *page);
        // Heads of pages in a row lie in a row.
        for run in pending.chunk_by(|one, next| one.0 + 1 == next.0) {
            buffer.clear();
            for (_, head) in run {
                buffer.extend_from_slice(head);
                buffer.extend_from_slice(&[0; STEP - HEAD]);
            }
            self.write(buffer, self.places.head(run[0].0));
        }
        pending.clear();
    }

    /// Waits until the operating system has written everything.
    pub fn sync(&self) -> Result<(), DriveError> {
        self.settle();
        self.file.sync_data().map_err(|error| self.failed(error))
    }

    /// Why the file stopped following, if it did.
    pub fn broken(&self) -> Option<DriveError> {
        let (kind, text) = self.broken.get()?;
        Some(self.failed(io::Error::new(*kind, text.as_str())))
    }

    fn write(&self, bytes: &[u8], at: u64) {
        // After a page that is missing, an erase of what it was copied from must not reach the file.
        if self.broken.get().is_none()
            && let Err(error) = self.file.write_all_at(bytes, at)
        {
            self.give_up(&error);
        }
    }

    fn write_row(&self, block: BlockId, row: Row) {
        let bytes = row.bytes(self.sums, block.0);
        self.places.rows(block.0).into_iter().for_each(|at| self.write(&bytes, at));
    }

    fn give_up(&self, error: &io::Error) {
        // The first reason counts.
        let _ = self.broken.set((error.kind(), error.to_string()));
    }
}

impl Mirror for Image {
    fn page(&self, page: u32, oob: Oob, cells: &[u8], record: Option<&[u8]>) {
        let body = record.unwrap_or(cells);
        if body.len() > self.geometry.page_bytes as usize {
            self.give_up(&io::Error::other("a record is larger than a page"));
            return;
        }
        let block = self.geometry.block_of(units::Ppn(page));
        let mut guard = self.lock();
        let state = &mut *guard;
        let is_gone = matches!(oob.kind, PageKind::Torn | PageKind::Lost);
        if is_gone {
            // The page was written before: the number of that write must not get lost.
            self.settle_in(state);
        }
        let row = &mut state.rows[block.index()];
        if !std::mem::replace(&mut row.touched, true) {
            self.write_row(block, *row);
        }
        state.turn += 1;
        let head = Head::new(self.sums, page, (oob, state.turn, row.kept.erases), body, record.is_some());
        if head.has_second() {
            self.write(body, self.places.second(page));
        }
        let head = head.bytes(self.sums, page);
        state.pending.push((page, head));
        if is_gone {
            // It may be programmed once more in its place: that must not be all that says the number of this write.
            self.settle_in(state);
        }
        state.buffer.clear();
        state.buffer.extend_from_slice(&head);
        state.buffer.extend_from_slice(body);
        self.write(&state.buffer, self.places.place(page));
        if state.pending.len() >= MOST_PENDING {
            self.settle_in(state);
        }
    }

    fn block(&self, block: BlockId, kept: KeptBlock) {
        let mut state = self.lock();
        // Copies of its pages may be among them.
        self.settle_in(&mut state);
        let row = Row { kept, touched: true };
        state.rows[block.index()] = row;
        self.write_row(block, row);
    }
}
