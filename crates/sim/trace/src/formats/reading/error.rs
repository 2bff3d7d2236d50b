//! Everything that can be wrong with a trace. Each text names the place, the value, the limit
//! and the way out.

use std::borrow::Cow;

use super::fields::FieldError;
use crate::WorkloadError;
use crate::formats::{Format, columns};

/// Why a trace cannot be opened or continued.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file could not be opened or read.
    #[error("{path}: {source}")]
    Io {
        path: String,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A compressed file is cut short or damaged.
    #[error("{path}: this {kind} file cannot be unpacked to its end: {problem}; fetch or pack it again")]
    Archive {
        path: String,
        /// Compression found by its magic bytes.
        kind: &'static str,
        problem: String,
    },
    /// A zstd file that needs more memory than is given for it.
    #[error(
        "{path}: this zstd file was packed with a window above 128 MiB (--long=28 or more), and unpacking takes that \
         much memory. Pack it again: zstd -dc --long=31 FILE | zstd > NEW, or hand its text to --workload -"
    )]
    WideWindow { path: String },
    /// A container that is not seen through.
    #[error(
        "{path}: this is a {kind} file, which nandarium does not read; unpack it first (gzip, zstd, xz, lzma, bzip2, \
         lz4, brotli, tar, zip and Parquet need no unpacking)"
    )]
    ForeignArchive { path: String, kind: &'static str },
    /// A packing that this build does not have.
    #[error(
        "{path}: this is a {kind} file, and this build cannot read it; unpack it first, or build the crate \
         nandarium-trace with the feature \"{feature}\""
    )]
    LeftOut {
        path: String,
        kind: &'static str,
        /// The feature of the crate that reads it.
        feature: &'static str,
    },
    /// A file that cannot be read from any place.
    #[error(
        "{path}: a {kind} file is read from its end, so it cannot come from standard input or from within another \
         packing. Save it to a file of its own, or unpack it first"
    )]
    NoStream { path: String, kind: &'static str },
    /// An archive of several files, and no word on which one.
    #[error(
        "{path}: the {kind} archive has {count} files ({names}); give the name of one in workload.member (--member of \
         nandarium trace)"
    )]
    SeveralMembers { path: String, kind: &'static str, count: usize, names: String },
    /// The file asked for is not in the archive.
    #[error(
        "{path}: workload.member (--member of nandarium trace) = \"{member}\", and the {kind} archive has no such \
         file; it has {names}"
    )]
    NoSuchMember {
        path: String,
        kind: &'static str,
        /// The name asked for.
        member: String,
        names: String,
    },
    /// The name asked for fits several files of the archive.
    #[error(
        "{path}: workload.member (--member of nandarium trace) = \"{member}\", and {count} files of the {kind} archive \
         are called so ({names}); give the whole name of one"
    )]
    AmbiguousMember { path: String, kind: &'static str, member: String, count: usize, names: String },
    /// Several files of the archive have the very name asked for.
    #[error(
        "{path}: workload.member (--member of nandarium trace) = \"{member}\", and {count} files of the {kind} archive \
         have this one name; unpacking it keeps the last of them, so unpack it first and read that file"
    )]
    SameMember { path: String, kind: &'static str, member: String, count: usize },
    /// A line without end: not a text trace.
    #[error(
        "{path}: a line is longer than {limit} bytes; this is not a text trace, so give --format with the name of a \
         binary one"
    )]
    LongLine {
        path: String,
        /// The longest line accepted, in bytes.
        limit: usize,
    },
    /// Text in UTF-16, as Windows tools write it.
    #[error("{path}: the text is UTF-16; convert it first: iconv -f {encoding} -t UTF-8")]
    Utf16 {
        path: String,
        /// What `iconv` calls it: without a mark it takes the order of the machine.
        encoding: &'static str,
    },
    /// Text whose lines end in a way that old programs for the Mac write.
    #[error("{path}: the lines end with carriage returns alone; convert them first: tr '\\r' '\\n' < FILE > NEW")]
    CarriageReturns { path: String },
    /// A line or frame that is not what the format says.
    #[error(transparent)]
    Malformed(Box<Malformed>),
    /// More odd lines than may be left out.
    #[error(transparent)]
    OddLines(Box<OddLinesError>),
    /// No format with this name.
    #[error("no trace format is called \"{name}\"; the formats are {known}")]
    NoSuchFormat {
        /// The name asked for.
        name: String,
        known: String,
    },
    /// No format fits the contents.
    #[error("{path}: no trace format fits {what}; {remedy}")]
    Unrecognised {
        path: String,
        /// What was looked at.
        what: String,
        /// The ways out, the likeliest first.
        remedy: String,
    },
    /// Columns that are not written as they should be, or that the table does not have.
    #[error("workload.columns (--columns of nandarium trace) = \"{columns}\": {problem}")]
    Columns {
        /// As the user wrote them.
        columns: String,
        problem: String,
    },
    /// Numbers that lost digits when the table was written.
    #[error(
        "{path}: column {column}: the numbers are rounded to {digits} digits, such as {found}, so requests cannot be \
         told apart; write the table again with whole numbers (in pandas: read_csv(..., dtype=str))"
    )]
    Rounded {
        path: String,
        /// Its number and, where the user gave one, its name.
        column: String,
        found: String,
        /// Digits that are left.
        digits: usize,
    },
    /// One line with nothing but names of columns.
    #[error("{path}: the trace holds no requests: its only line, \"{line}\", names columns")]
    HeadingOnly { path: String, line: String },
    /// Comments and blank lines alone.
    #[error("{path}: the trace holds no requests: it has only comments and blank lines")]
    CommentsOnly { path: String },
    /// Several formats fit the contents.
    #[error(
        "{path}: the contents fit {count} formats that differ in units or meaning, and nothing in the file tells them \
         apart; give {choices}"
    )]
    Ambiguous {
        path: String,
        /// Number of formats that fit.
        count: usize,
        /// One `--format NAME (time unit, address unit)` for each.
        choices: String,
    },
    /// A record earlier than the order allows.
    #[error("{path}: {place}: the time goes back by {back_ns} ns{beyond}; give {remedy}")]
    BackInTime {
        path: String,
        /// Line or record number.
        place: String,
        /// How far, in nanoseconds.
        back_ns: u64,
        /// Which limit was broken.
        beyond: String,
        remedy: &'static str,
    },
    /// A record that is further back in time than the sorting window reaches.
    #[error(
        "{path}: {place}: the time goes back by {back_ns} ns, further than the sorting window of {window} records \
         reaches; give workload.order = whole (--order whole of nandarium trace), which sorts the whole trace"
    )]
    BeyondWindow {
        path: String,
        /// Line or record number.
        place: String,
        /// How far, in nanoseconds.
        back_ns: u64,
        /// Records that the window holds.
        window: usize,
    },
    /// The temporary file of a whole sort could not be made, written or read.
    #[error(
        "{path}: sorting all of the trace (order = whole) takes a temporary file, {bytes} bytes so far: {source}; set \
         the environment variable TMPDIR to a folder with more room"
    )]
    Temporary {
        path: String,
        /// Bytes that were written.
        bytes: u64,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The times span more than the clock holds.
    #[error(
        "{path}: the times up to {place} span more than 292 years. If the clock was set in between, give \
         workload.gap_limit (--gap-limit of nandarium trace), such as 1h, to shorten the gaps. Otherwise the time \
         unit is not the one of format \"{format}\", or the line is damaged"
    )]
    TimeSpan {
        path: String,
        /// Line or record number.
        place: String,
        /// The format being read.
        format: &'static str,
    },
    /// A way to give keys addresses, and a trace without keys.
    #[error(
        "{path}: workload.allocator = {allocator} (--allocator of nandarium trace) gives keys addresses, and the \
         records of format \"{format}\" have addresses; leave it out"
    )]
    NoKeys {
        path: String,
        /// The format being read.
        format: &'static str,
        allocator: &'static str,
    },
    /// More than one device, and no word on what to do with them.
    #[error(
        "{path}: the trace has {count} devices with address spaces of their own ({devices}); give devices = NUMBER to \
         replay one, or devices = concat to lay them one after another"
    )]
    ManyDevices {
        path: String,
        /// How many devices were met.
        count: usize,
        devices: String,
    },
    /// The device asked for is not in the trace.
    #[error("{path}: no record is for device {device}; the trace has {devices}")]
    NoSuchDevice {
        path: String,
        /// The device asked for.
        device: u32,
        /// The devices of the trace.
        devices: String,
    },
    /// Devices that no drive of any size can hold one after another.
    #[error(
        "{path}: its {count} devices laid one after another end beyond 2^64 bytes, which no fit mends; replay one of \
         them: set devices to its number"
    )]
    ConcatTooLong {
        path: String,
        /// How many devices were met.
        count: usize,
    },
    /// An address beyond the drive.
    #[error(
        "{path}: {what} ends at byte {end_bytes}, and the drive has {capacity_bytes}; give fit = modulo, compact or \
         scale, or a larger drive"
    )]
    BeyondDrive {
        path: String,
        /// Which request or device.
        what: String,
        /// Where the file ends.
        end_bytes: u64,
        /// Capacity of the drive.
        capacity_bytes: u64,
    },
    /// The touched chunks do not fit on the drive.
    #[error(
        "{path}: the trace touches at least {chunks} chunks of 1 MiB, and the drive holds {capacity_chunks}; give fit \
         = modulo or scale, or a larger drive"
    )]
    FootprintBeyondDrive {
        path: String,
        chunks: u64,
        /// Chunks the drive holds.
        capacity_chunks: u64,
    },
    /// An option needs to see the whole trace first.
    #[error(
        "{path}: {option} needs a first pass over the trace, and standard input can be read only once; save it to a \
         file"
    )]
    NeedsFile { path: String, option: &'static str },
    /// An option with an impossible value.
    #[error("{option} = {value}: {expected}")]
    Option { option: &'static str, value: String, expected: &'static str },
    /// No records at all.
    #[error(
        "{path}: the trace holds no requests (read as \"{format}\"; {dropped} rows left out); {} if that is \
         wrong",
        another_way(format)
    )]
    Empty { path: String, format: &'static str, dropped: u64 },
}

/// How to have a file read that is no `format`. Named columns are no choice of `--format`.
fn another_way(format: &str) -> &'static str {
    if format == columns::FORMAT.name {
        "correct workload.columns (--columns of nandarium trace)"
    } else {
        "give --format with another name"
    }
}

/// A line or frame that is not what the format says.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {place}{}: found \"{found}\", expected {expected}; the trace is read as \"{format}\" ({columns}), so \
    correct the file or {}{}", self.field(), another_way(self.format), self.by_its_name())]
pub struct Malformed {
    pub path: String,
    /// Line or record number, as text.
    pub place: String,
    /// 1-based column; 0 when the whole line is at fault.
    pub column: u32,
    /// Name of the column.
    pub name: Cow<'static, str>,
    pub found: String,
    pub expected: &'static str,
    /// The format being read.
    pub format: &'static str,
    /// Its columns, or the columns that the user named.
    pub columns: Cow<'static, str>,
    /// The format was not named and reads most lines, so that the others may be odd ones.
    pub(super) is_mostly_read: bool,
}

impl Malformed {
    pub(super) fn new(path: &str, place: String, error: FieldError, format: &Format) -> Malformed {
        Malformed {
            path: path.to_owned(),
            place,
            column: error.column,
            name: error.name,
            found: error.found,
            expected: error.expected,
            format: format.name,
            columns: Cow::Borrowed(format.columns),
            is_mostly_read: false,
        }
    }

    /// How to have odd lines left out that are too many to tell the format by itself.
    fn by_its_name(&self) -> String {
        if self.is_mostly_read {
            format!("; --format {} leaves out up to 10 odd lines", self.format)
        } else {
            String::new()
        }
    }

    /// With the columns that the user named, where the format does not have its own.
    pub(super) fn of_columns(self, columns: Option<&str>) -> Malformed {
        match columns {
            Some(columns) => Malformed { columns: Cow::Owned(columns.to_owned()), ..self },
            None => self,
        }
    }

    /// Which column, for a text that has the place before it.
    pub(super) fn field(&self) -> String {
        match self.column {
            0 => format!(" ({})", self.name),
            column => format!(", column {column} ({})", self.name),
        }
    }
}

/// More odd lines than may be left out.
#[derive(Debug, thiserror::Error)]
#[error("{}: {}{}: found \"{}\", expected {}; the trace is read as \"{}\" ({}), and this is the first of {count} odd \
    lines among the first {lines}: {limit}. To read it in another way, {}; or set workload.odd_lines (--odd-lines of \
    nandarium trace) to a number or a share such as 5%",
    self.first.path, self.first.place, self.first.field(), self.first.found, self.first.expected, self.first.format,
    self.first.columns, another_way(self.first.format))]
pub struct OddLinesError {
    /// The first of them.
    pub first: Malformed,
    pub count: u64,
    /// Lines read so far.
    pub lines: u64,
    /// The limit of lines left out, in words.
    pub limit: String,
}

impl TraceError {
    /// Whether it is unknown which file of an archive is the trace.
    pub(super) fn is_of_choice(&self) -> bool {
        matches!(
            self,
            TraceError::SeveralMembers { .. } | TraceError::AmbiguousMember { .. } | TraceError::SameMember { .. }
        )
    }

    pub(crate) fn io(path: &str, source: std::io::Error) -> TraceError {
        TraceError::Io { path: path.to_owned(), source }
    }
}

impl From<TraceError> for WorkloadError {
    fn from(error: TraceError) -> WorkloadError {
        match error {
            TraceError::Io { path, source } => WorkloadError::Io { path, source },
            other => WorkloadError::Trace(Box::new(other)),
        }
    }
}
