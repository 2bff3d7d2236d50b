//! State of a drained drive as a flat sequence of named number tables.
//!
//! Little-endian; each section is its name, an element size, a count and the elements. Reading
//! checks name and count, so a snapshot of another shape is refused instead of misread.

use units::{BlockId, Lpn, Ppn};

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

/// Collects the state of a drive.
#[derive(Debug, Default)]
pub struct SnapshotWriter {
    bytes: Vec<u8>,
}

impl SnapshotWriter {
    /// A writer of a snapshot without sections.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a table under a name of at most 255 bytes.
    pub fn put<T: SnapshotRow>(&mut self, section: &'static str, rows: impl IntoIterator<Item = T>) {
        let mut rows = rows.into_iter();
        self.bytes.push(section.len() as u8);
        self.bytes.extend_from_slice(section.as_bytes());
        self.bytes.push(T::WIDTH as u8);
        // A large table is most of a snapshot: growing by half would hold it twice.
        let known = rows.size_hint().0 * T::BYTES;
        self.bytes.reserve_exact(size_of::<u64>() + known);
        let count_at = self.bytes.len();
        let begin = count_at + size_of::<u64>();
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

    /// The snapshot as bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Reads the state of a drive back, table by table in the order written.
#[derive(Debug)]
pub struct SnapshotReader<'a> {
    bytes: &'a [u8],
}

impl<'a> SnapshotReader<'a> {
    /// A reader over what [`SnapshotWriter::into_bytes`] gave.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
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

    fn take(&mut self, count: usize, section: &'static str) -> Result<&'a [u8], SnapshotError> {
        let (head, tail) = self.bytes.split_at_checked(count).ok_or(SnapshotError::Truncated { section })?;
        self.bytes = tail;
        Ok(head)
    }

    fn header(&mut self, section: &'static str, element: usize) -> Result<&'a [u8], SnapshotError> {
        let length = self.take(1, section)?[0] as usize;
        let name = self.take(length, section)?;
        let size = self.take(1, section)?[0] as usize;
        if name != section.as_bytes() || size != element {
            let found = String::from_utf8_lossy(name).into_owned();
            return Err(SnapshotError::Section { found, expected: section });
        }
        let count = u64::from_le_bytes(self.take(8, section)?.try_into().expect("eight bytes"));
        let bytes = usize::try_from(count).ok().and_then(|count| count.checked_mul(element));
        self.take(bytes.ok_or(SnapshotError::Truncated { section })?, section)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
