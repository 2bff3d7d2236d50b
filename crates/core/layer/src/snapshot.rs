//! State of a drained drive as a flat sequence of named number tables.
//!
//! Little-endian; each section is its name, an element size, a count and the elements. Reading
//! checks name and count, so a snapshot of another shape is refused instead of misread.

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

/// Collects the state of a drive.
#[derive(Debug, Default)]
pub struct SnapshotWriter {
    bytes: Vec<u8>,
}

macro_rules! section {
    ($put:ident, $get:ident, $type:ty) => {
        impl SnapshotWriter {
            /// Appends a table under a name of at most 255 bytes.
            pub fn $put(&mut self, section: &'static str, values: impl ExactSizeIterator<Item = $type>) {
                self.header(section, size_of::<$type>(), values.len());
                let begin = self.bytes.len();
                // A large table is most of a snapshot: growing by half would hold it twice.
                self.bytes.reserve_exact(values.len() * size_of::<$type>());
                self.bytes.resize(begin + values.len() * size_of::<$type>(), 0);
                for (bytes, value) in self.bytes[begin..].chunks_exact_mut(size_of::<$type>()).zip(values) {
                    bytes.copy_from_slice(&value.to_le_bytes());
                }
            }
        }

        impl SnapshotReader<'_> {
            /// Reads the next table.
            ///
            /// # Errors
            /// It is another table, or the snapshot ends inside it.
            pub fn $get(&mut self, section: &'static str) -> Result<Vec<$type>, SnapshotError> {
                let raw = self.header(section, size_of::<$type>())?;
                let chunks = raw.chunks_exact(size_of::<$type>());
                Ok(chunks.map(|c| <$type>::from_le_bytes(c.try_into().expect("exact chunk"))).collect())
            }
        }
    };
}

section!(put_u8, get_u8, u8);
section!(put_u16, get_u16, u16);
section!(put_u32, get_u32, u32);
section!(put_u64, get_u64, u64);

impl SnapshotWriter {
    /// A writer of a snapshot without sections.
    pub fn new() -> Self {
        Self::default()
    }

    /// The snapshot as bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn header(&mut self, section: &str, element: usize, count: usize) {
        self.bytes.push(section.len() as u8);
        self.bytes.extend_from_slice(section.as_bytes());
        self.bytes.push(element as u8);
        self.bytes.extend_from_slice(&(count as u64).to_le_bytes());
        self.bytes.reserve_exact(element * count); // tables of a large drive are gigabytes
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

    /// The next table, number by number: tables of a large drive are gigabytes, which nobody needs twice.
    ///
    /// # Errors
    /// It is another table, or the snapshot ends inside it.
    pub fn each_u32(
        &mut self,
        section: &'static str,
    ) -> Result<impl ExactSizeIterator<Item = u32> + use<'a>, SnapshotError> {
        let raw = self.header(section, size_of::<u32>())?;
        let chunks = raw.chunks_exact(size_of::<u32>());
        Ok(chunks.map(|chunk| u32::from_le_bytes(chunk.try_into().expect("exact chunk"))))
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
        writer.put_u32("map", [1, 2, 3].into_iter());
        writer.put_u64("time", [9].into_iter());
        let bytes = writer.into_bytes();
        let mut reader = SnapshotReader::new(&bytes);
        assert_eq!(reader.get_u32("map").unwrap(), [1, 2, 3]);
        assert!(matches!(reader.get_u64("other"), Err(SnapshotError::Section { .. })));
        let mut short = SnapshotReader::new(&bytes[..10]);
        assert_eq!(short.get_u32("map"), Err(SnapshotError::Truncated { section: "map" }));
    }
}
