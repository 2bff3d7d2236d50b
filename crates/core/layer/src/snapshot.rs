//! State of a drained drive as a flat sequence of named number tables.
//!
//! Little-endian; each section is its name, an element size, a count and the elements. Reading
//! checks name and count, so a snapshot of another shape is refused instead of misread.
//!
//! Tables with an entry for each page are most of a drive. They move from one drive to another, or between a drive and
//! a file, and nowhere stand twice. In memory their entries are inverted: 0 is a page that is nowhere, and the system
//! gives no memory for zeros that nobody has written.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use units::{BlockId, Lpn, Ppn};

/// Ends of the names of tables with an entry for each page.
const TABLES: [&str; 2] = [".map", ".back"];
/// Bytes of such an entry.
const ENTRY: usize = size_of::<u32>();
/// Entries that are written to a file at once, or read.
const CHUNK: usize = 1 << 14;

/// A snapshot that does not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the text of each error names its fields")]
pub enum SnapshotError {
    /// The file ends in the middle of a section.
    #[error("the snapshot ends inside section `{section}`")]
    Truncated { section: &'static str },
    /// Another section was expected here.
    #[error("the snapshot has section `{found}` where `{expected}` belongs")]
    Section { found: String, expected: &'static str },
    /// A section holds impossible values.
    #[error("section `{section}` of the snapshot does not fit this drive: {problem}")]
    Unfit { section: &'static str, problem: String },
}

impl SnapshotError {
    /// A section that does not fit this drive, and why.
    pub fn unfit(section: &'static str, problem: impl Into<String>) -> Self {
        Self::Unfit { section, problem: problem.into() }
    }
}

/// A row of a table: a number, or several of one width, one behind the other.
pub trait SnapshotRow: Sized {
    /// Bytes of each number.
    const WIDTH: usize;
    /// Bytes of the row, a multiple of its width.
    const BYTES: usize = Self::WIDTH;

    /// Writes the row into as many bytes as it has.
    fn write(self, bytes: &mut [u8]);

    /// Reads the row from as many bytes as it has.
    fn read(bytes: &[u8]) -> Self;
}

macro_rules! rows {
    ($($type:ty: $number:ty, $to:expr, $from:expr;)*) => {$(
        impl SnapshotRow for $type {
            const WIDTH: usize = size_of::<$number>();

            fn write(self, bytes: &mut [u8]) {
                let number: fn($type) -> $number = $to;
                bytes.copy_from_slice(&number(self).to_le_bytes());
            }

            fn read(bytes: &[u8]) -> Self {
                let row: fn($number) -> $type = $from;
                row(<$number>::from_le_bytes(bytes.try_into().expect("as many bytes as a row has")))
            }
        }
    )*};
}

rows! {
    u8: u8, |number| number, |number| number;
    u16: u16, |number| number, |number| number;
    u32: u32, |number| number, |number| number;
    u64: u64, |number| number, |number| number;
    i16: i16, |number| number, |number| number;
    f64: f64, |number| number, |number| number;
    bool: u8, u8::from, |number| number == 1;
    Lpn: u32, |page| page.0, Lpn;
    Ppn: u32, |page| page.0, Ppn;
    BlockId: u32, |block| block.0, BlockId;
}

impl<T: SnapshotRow, const N: usize> SnapshotRow for [T; N] {
    const WIDTH: usize = T::WIDTH;
    const BYTES: usize = N * T::BYTES;

    fn write(self, bytes: &mut [u8]) {
        bytes.chunks_exact_mut(T::BYTES).zip(self).for_each(|(bytes, number)| number.write(bytes));
    }

    fn read(bytes: &[u8]) -> Self {
        std::array::from_fn(|at| T::read(&bytes[at * T::BYTES..(at + 1) * T::BYTES]))
    }
}

/// A snapshot whose large tables stand apart from its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    bytes: Vec<u8>,
    /// Each with its place among the bytes.
    tables: VecDeque<(usize, Vec<u32>)>,
}

impl Snapshot {
    /// Bytes that [`Snapshot::write`] writes.
    pub fn bytes(&self) -> u64 {
        (self.bytes.len() + self.tables.iter().map(|(_, table)| table.len() * ENTRY).sum::<usize>()) as u64
    }

    /// Writes it as [`SnapshotWriter::into_bytes`] would give it.
    ///
    /// # Errors
    /// The file or the memory behind `to` takes no more.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let mut from = 0;
        let mut bytes = Vec::with_capacity(CHUNK * ENTRY);
        for (at, table) in &self.tables {
            to.write_all(&self.bytes[from..*at])?;
            from = *at;
            for chunk in table.chunks(CHUNK) {
                bytes.clear();
                bytes.extend(chunk.iter().flat_map(|entry| (!entry).to_le_bytes()));
                to.write_all(&bytes)?;
            }
        }
        to.write_all(&self.bytes[from..])
    }

    /// Reads a snapshot to its end.
    ///
    /// # Errors
    /// The bytes cannot be read, or they end inside a section.
    pub fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut snapshot = Self::default();
        loop {
            let mut length = [0];
            if from.read(&mut length)? == 0 {
                return Ok(snapshot);
            }
            let head_at = snapshot.bytes.len();
            snapshot.bytes.push(length[0]);
            snapshot.more(from, u64::from(length[0]) + 1 + size_of::<u64>() as u64)?;
            let (head, count) = snapshot.bytes[head_at..].split_last_chunk().expect("it was read");
            let (size, count) = (head[head.len() - 1], u64::from_le_bytes(*count));
            if is_table(&head[..head.len() - 1]) && usize::from(size) == ENTRY {
                let table = read_table(from, count)?;
                snapshot.tables.push_back((snapshot.bytes.len(), table));
            } else {
                snapshot.more(from, count.saturating_mul(size.into()))?;
            }
        }
    }

    /// Reads so many bytes more.
    fn more(&mut self, from: &mut impl Read, count: u64) -> io::Result<()> {
        let read = from.take(count).read_to_end(&mut self.bytes)?;
        if read as u64 == count { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    /// A reader that copies tables.
    pub fn reader(&self) -> SnapshotReader<'_> {
        let tables = self.tables.iter().map(|(at, table)| (*at, Cow::Borrowed(table.as_slice())));
        SnapshotReader { tables: tables.collect(), ..SnapshotReader::new(&self.bytes) }
    }

    /// A reader that moves tables out of the snapshot.
    pub fn moving_reader(&mut self) -> SnapshotReader<'_> {
        let tables = std::mem::take(&mut self.tables).into_iter().map(|(at, table)| (at, Cow::Owned(table)));
        SnapshotReader { tables: tables.collect(), ..SnapshotReader::new(&self.bytes) }
    }
}

/// Whether a section of this name is a table with an entry for each page.
fn is_table(name: &[u8]) -> bool {
    TABLES.iter().any(|end| name.ends_with(end.as_bytes()))
}

/// A table of `count` entries. A damaged file may name a count that no memory has room for.
fn read_table(from: &mut impl Read, count: u64) -> io::Result<Vec<u32>> {
    let length = u32::try_from(count).map_err(|_| io::ErrorKind::InvalidData)?;
    let mut table = units::zeros(length as usize);
    let mut bytes = vec![0; CHUNK * ENTRY];
    for chunk in table.chunks_mut(CHUNK) {
        let bytes = &mut bytes[..chunk.len() * ENTRY];
        from.read_exact(bytes)?;
        chunk.iter_mut().zip(bytes.as_chunks().0).for_each(|(entry, bytes)| *entry = !u32::from_le_bytes(*bytes));
    }
    Ok(table)
}

/// Collects the state of a drive.
#[derive(Debug, Default)]
pub struct SnapshotWriter {
    bytes: Vec<u8>,
    /// Tables that were taken, each with its place among the bytes; nothing if they are copied.
    taken: Option<VecDeque<(usize, Vec<u32>)>>,
}

impl SnapshotWriter {
    /// A writer of a snapshot without sections.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, which takes large tables out of the drive: nothing may be done with the drive after that.
    pub fn taking() -> Self {
        Self { taken: Some(VecDeque::new()), ..Self::default() }
    }

    /// Appends a table with an entry for each page, inverted, under a name that ends in `.map` or `.back`.
    pub fn put_table(&mut self, section: &'static str, table: &mut Vec<u32>) {
        assert!(is_table(section.as_bytes()), "a table with an entry for each page is found by its name");
        if let Some(taken) = &mut self.taken {
            put_head(&mut self.bytes, section, ENTRY as u8, table.len());
            taken.push_back((self.bytes.len(), std::mem::take(table)));
        } else {
            self.put(section, table.iter().map(|entry| !entry));
        }
    }

    /// Appends a table under a name of at most 255 bytes.
    pub fn put<T: SnapshotRow>(&mut self, section: &'static str, rows: impl IntoIterator<Item = T>) {
        let mut rows = rows.into_iter();
        put_head(&mut self.bytes, section, T::WIDTH as u8, 0);
        let begin = self.bytes.len();
        let count_at = begin - size_of::<u64>();
        // A large table is most of a snapshot: growing by half would hold it twice.
        let known = rows.size_hint().0 * T::BYTES;
        self.bytes.reserve_exact(known);
        self.bytes.resize(begin + known, 0);
        self.bytes[begin..].chunks_exact_mut(T::BYTES).zip(&mut rows).for_each(|(bytes, row)| row.write(bytes));
        for row in rows {
            let at = self.bytes.len();
            self.bytes.resize(at + T::BYTES, 0);
            row.write(&mut self.bytes[at..]);
        }
        let count = (self.bytes.len() - begin) / T::WIDTH;
        self.bytes[count_at..begin].copy_from_slice(&(count as u64).to_le_bytes());
    }

    /// The snapshot as bytes, where no table was taken.
    pub fn into_bytes(self) -> Vec<u8> {
        assert!(self.taken.is_none(), "tables that were taken are not among the bytes");
        self.bytes
    }

    /// The snapshot, with the tables that were taken.
    pub fn into_snapshot(self) -> Snapshot {
        Snapshot { bytes: self.bytes, tables: self.taken.unwrap_or_default() }
    }
}

fn put_head(bytes: &mut Vec<u8>, section: &str, size: u8, count: usize) {
    bytes.push(section.len() as u8);
    bytes.extend_from_slice(section.as_bytes());
    bytes.push(size);
    bytes.extend_from_slice(&(count as u64).to_le_bytes());
}

/// Reads the state of a drive back, table by table in the order written.
#[derive(Debug)]
pub struct SnapshotReader<'a> {
    /// The bytes that are left.
    bytes: &'a [u8],
    whole: usize,
    /// Tables that are not among the bytes, each with its place.
    tables: VecDeque<(usize, Cow<'a, [u32]>)>,
}

impl<'a> SnapshotReader<'a> {
    /// A reader over what [`SnapshotWriter::into_bytes`] gave.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, whole: bytes.len(), tables: VecDeque::new() }
    }

    /// Whether everything was read.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Whether the next table has this name: a table that some snapshots do not have is looked for before it is read.
    pub fn has_next(&self, section: &str) -> bool {
        let name = self.bytes.split_first().and_then(|(length, rest)| rest.get(..usize::from(*length)));
        name == Some(section.as_bytes())
    }

    /// The next table, row by row: tables of a large drive are gigabytes, which nobody needs twice. Numbers that do not
    /// fill a row are left out.
    ///
    /// # Errors
    /// It is another table, or the snapshot ends inside it.
    pub fn each<T: SnapshotRow>(
        &mut self,
        section: &'static str,
    ) -> Result<impl ExactSizeIterator<Item = T> + use<'a, T>, SnapshotError> {
        Ok(self.header(section, T::WIDTH)?.chunks_exact(T::BYTES).map(T::read))
    }

    /// The next table.
    ///
    /// # Errors
    /// It is another table, or the snapshot ends inside it.
    pub fn get<T: SnapshotRow>(&mut self, section: &'static str) -> Result<Vec<T>, SnapshotError> {
        Ok(self.each(section)?.collect())
    }

    /// The next table, which has this many rows.
    ///
    /// # Errors
    /// It has more or fewer, it is another table, or the snapshot ends inside it.
    pub fn array<T: SnapshotRow, const N: usize>(&mut self, section: &'static str) -> Result<[T; N], SnapshotError> {
        let rows = self.get(section)?;
        <[T; N]>::try_from(rows)
            .map_err(|rows| SnapshotError::unfit(section, format!("{} numbers instead of {N}", rows.len())))
    }

    /// The next table, into one that has the same number of rows.
    ///
    /// # Errors
    /// It has more or fewer, it is another table, or the snapshot ends inside it.
    pub fn fill<T: SnapshotRow>(&mut self, section: &'static str, into: &mut [T]) -> Result<(), SnapshotError> {
        let rows = self.each(section)?;
        if rows.len() != into.len() {
            let problem = format!("{} numbers instead of {}", rows.len(), into.len());
            return Err(SnapshotError::unfit(section, problem));
        }
        into.iter_mut().zip(rows).for_each(|(into, row)| *into = row);
        Ok(())
    }

    /// The next table, which [`SnapshotWriter::put_table`] wrote and which has the same number of entries as `into`.
    ///
    /// # Errors
    /// It has more or fewer, it is another table, or the snapshot ends inside it.
    pub fn table(&mut self, section: &'static str, into: &mut Vec<u32>) -> Result<(), SnapshotError> {
        let count = self.head(section, ENTRY)?;
        if count != into.len() as u64 {
            let problem = format!("it has {count} pages, the drive {}", into.len());
            return Err(SnapshotError::unfit(section, problem));
        }
        let place = self.whole - self.bytes.len();
        let stands_apart = self.tables.front().is_some_and(|(at, _)| *at == place);
        match stands_apart.then(|| self.tables.pop_front()).flatten() {
            Some((_, Cow::Owned(table))) => *into = table,
            // Written in place: the table is laid out for random access.
            Some((_, Cow::Borrowed(table))) => into.copy_from_slice(table),
            None => {
                let bytes = self.take(into.len() * ENTRY, section)?;
                into.iter_mut().zip(bytes.as_chunks().0).for_each(|(to, bytes)| *to = !u32::from_le_bytes(*bytes));
            }
        }
        Ok(())
    }

    fn take(&mut self, count: usize, section: &'static str) -> Result<&'a [u8], SnapshotError> {
        let (head, tail) = self.bytes.split_at_checked(count).ok_or(SnapshotError::Truncated { section })?;
        self.bytes = tail;
        Ok(head)
    }

    fn header(&mut self, section: &'static str, element: usize) -> Result<&'a [u8], SnapshotError> {
        let count = self.head(section, element)?;
        let bytes = usize::try_from(count).ok().and_then(|count| count.checked_mul(element));
        self.take(bytes.ok_or(SnapshotError::Truncated { section })?, section)
    }

    /// Elements of the next section.
    fn head(&mut self, section: &'static str, element: usize) -> Result<u64, SnapshotError> {
        let length = self.take(1, section)?[0] as usize;
        let name = self.take(length, section)?;
        let size = self.take(1, section)?[0] as usize;
        if name != section.as_bytes() || size != element {
            let found = String::from_utf8_lossy(name).into_owned();
            return Err(SnapshotError::Section { found, expected: section });
        }
        Ok(u64::from_le_bytes(self.take(8, section)?.try_into().expect("eight bytes")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_that_move_come_back_from_memory_and_from_a_file() {
        let own = || ((0..40_000).collect::<Vec<u32>>(), vec![7_u32, 8]);
        let save = |mut writer: SnapshotWriter, (first, last): &mut (Vec<u32>, Vec<u32>)| {
            writer.put("time", [9_u64]);
            writer.put_table("page.map", first);
            writer.put_table("page.back", last);
            writer.put("flags", [true]);
            writer
        };
        let load = |mut reader: SnapshotReader<'_>, sizes: [usize; 2]| {
            let (mut first, mut last) = (vec![0; sizes[0]], vec![0; sizes[1]]);
            assert_eq!(reader.array::<u64, 1>("time").unwrap(), [9]);
            reader.table("page.map", &mut first)?;
            reader.table("page.back", &mut last)?;
            assert_eq!(reader.array::<bool, 1>("flags").unwrap(), [true]);
            assert!(reader.is_empty());
            Ok((first, last))
        };
        let (mut copied, mut moved) = (own(), own());
        let bytes = save(SnapshotWriter::new(), &mut copied).into_bytes();
        let mut taken = save(SnapshotWriter::taking(), &mut moved).into_snapshot();
        assert_eq!((copied, moved), (own(), (vec![], vec![])));
        let mut written = Vec::new();
        taken.write(&mut written).unwrap();
        assert!(written == bytes && taken.bytes() == bytes.len() as u64);
        let mut read = Snapshot::read(&mut bytes.as_slice()).unwrap();
        assert_eq!(read, taken);
        let sizes = [40_000, 2];
        assert_eq!(load(SnapshotReader::new(&bytes), sizes).unwrap(), own());
        assert_eq!(load(read.reader(), sizes).unwrap(), own());
        assert_eq!(load(taken.moving_reader(), sizes).unwrap(), own());
        assert!(matches!(load(read.moving_reader(), [3, 2]), Err(SnapshotError::Unfit { section: "page.map", .. })));
        for end in [1, 5, 30, bytes.len() - 1] {
            assert!(Snapshot::read(&mut &bytes[..end]).is_err(), "it ends after {end} bytes");
        }
    }

    #[test]
    fn tables_come_back_and_wrong_ones_are_refused() {
        let mut writer = SnapshotWriter::new();
        writer.put("map", [1_u32, 2, 3]);
        writer.put("time", [9_u64]);
        let bytes = writer.into_bytes();
        let mut reader = SnapshotReader::new(&bytes);
        assert!(reader.has_next("map") && !reader.has_next("time"));
        assert_eq!(reader.get::<u32>("map").unwrap(), [1, 2, 3]);
        assert!(matches!(reader.get::<u64>("other"), Err(SnapshotError::Section { .. })));
        let mut writer = SnapshotWriter::new();
        writer.put("pages", [Lpn(3), Lpn(5)].into_iter().filter(|page| page.0 > 3).map(|page| [page.0, 7, 8]));
        writer.put("flags", [true, false]);
        let rows = writer.into_bytes();
        let mut reader = SnapshotReader::new(&rows);
        assert_eq!(reader.get::<u32>("pages").unwrap(), [5, 7, 8]);
        let mut flags = [false; 3];
        assert!(matches!(reader.fill("flags", &mut flags), Err(SnapshotError::Unfit { .. })), "it has two");
        let mut reader = SnapshotReader::new(&rows);
        assert_eq!(reader.array::<Lpn, 3>("pages").unwrap(), [Lpn(5), Lpn(7), Lpn(8)]);
        assert_eq!(reader.array::<bool, 2>("flags").unwrap(), [true, false]);
        assert!(!SnapshotReader::new(&[]).has_next("map") && !SnapshotReader::new(&bytes[..3]).has_next("map"));
        let mut short = SnapshotReader::new(&bytes[..10]);
        assert_eq!(short.get::<u32>("map"), Err(SnapshotError::Truncated { section: "map" }));
    }
}
