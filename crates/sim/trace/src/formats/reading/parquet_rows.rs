//! The rows of a Parquet file as lines of text, a header on top, so that formats and named columns read them as any
//! table. Row groups come one after another, and a few thousand rows of one are in memory.

use std::fs::File;
use std::io::{self, Read};

use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use super::TraceError;
use super::codecs::Raw;
use super::input::Refused;
use crate::formats::columns::{Column, Field, Spec, problem_of};

/// Rows that are brought into memory at a time.
const ROWS: usize = 4096;

/// Opens `file`. `columns`: the columns that the user named; others are not read.
/// Errors: it is no whole Parquet file.
pub(super) fn open(file: File, path: &str, columns: Option<&str>) -> Result<Raw, TraceError> {
    let reader = guarded(|| SerializedFileReader::new(file)).map_err(|error| damaged(path, &error))?;
    let groups: i128 = reader.metadata().row_groups().iter().map(|group| i128::from(group.num_rows())).sum();
    if groups != i128::from(reader.metadata().file_metadata().num_rows()) {
        return Err(damaged(path, &bad("its row groups have another number of rows than the file")));
    }
    let (mut all, mut unread) = (Vec::new(), Vec::new());
    for (place, column) in reader.metadata().file_metadata().schema_descr().columns().iter().enumerate() {
        let name = column.path().string();
        match Shape::of(column) {
            Some(shape) => all.push((place, name, shape)),
            None => unread.push(name),
        }
    }
    let spec = columns.and_then(|text| Spec::parse(text).ok());
    if let Some(spec) = &spec {
        check(spec, &all, &unread, path)?;
    }
    let wanted = spec.and_then(|spec| wanted(&spec)).unwrap_or_default();
    let named = wanted.iter().map(|wanted| find(&all, wanted).cloned());
    // Where a name is missing, the error needs the others.
    let named: Option<Vec<_>> = named.collect();
    let read = named.filter(|named| !named.is_empty()).unwrap_or(all);
    Ok(Box::new(Rows::new(reader, path, read)))
}

/// A column that is read: its place in the file, its name and how its values are written.
type Named = (usize, String, Shape);

fn find<'a>(all: &'a [Named], wanted: &str) -> Option<&'a Named> {
    let exact = all.iter().find(|(_, name, _)| name == wanted);
    exact.or_else(|| all.iter().find(|(_, name, _)| name.eq_ignore_ascii_case(wanted)))
}

/// Refuses columns that cannot be read, and those that cannot tell requests apart.
fn check(spec: &Spec, all: &[Named], unread: &[String], path: &str) -> Result<(), TraceError> {
    for (field, column) in spec.columns() {
        let found = match column {
            Column::Number(number) => all.get(number - 1),
            Column::Name(name) => find(all, name),
        };
        let problem = match (found, column) {
            (Some((_, name, Shape::Single)), _) if matches!(field, Field::Time | Field::Offset) => format!(
                "{}: column {name} of {path} is a FLOAT, whose 32 bits keep 7 digits, so requests cannot be told \
                 apart; write it as DOUBLE or as an integer",
                field.name()
            ),
            (None, Column::Name(_)) if !unread.is_empty() => format!(
                "no column is called {column}; {path} has {}, and {}, which nandarium does not read (lists, and bytes \
                 of fixed length)",
                all.iter().map(|(_, name, _)| name.as_str()).collect::<Vec<_>>().join(", "),
                unread.join(", ")
            ),
            _ => continue,
        };
        return Err(problem_of(&spec.text, problem));
    }
    Ok(())
}

/// The reader of Parquet panics at some damaged files.
fn guarded<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(read));
    outcome.unwrap_or_else(|_| Err(bad("it is damaged")))
}

/// The names of columns, where all have one.
fn wanted(spec: &Spec) -> Option<Vec<String>> {
    let columns = spec.columns().into_iter();
    columns.map(|(_, column)| if let Column::Name(name) = column { Some(name.clone()) } else { None }).collect()
}

/// How the values of a column are written.
#[derive(Clone, Copy)]
enum Shape {
    Plain,
    Unsigned,
    /// Nanoseconds of a unit of time since 1970.
    Date(i64),
    /// Digits behind the decimal mark.
    Decimal(u32),
    /// A FLOAT of 32 bits.
    Single,
}

impl Shape {
    /// `None` for what is not one value in each row.
    fn of(column: &ColumnDescriptor) -> Option<Shape> {
        if column.max_rep_level() > 0 {
            return None;
        }
        let is_decimal = matches!(column.logical_type_ref(), Some(LogicalType::Decimal { .. }))
            || column.converted_type() == ConvertedType::DECIMAL;
        if is_decimal {
            // Parquet's largest numbers of 128 bits have 38 digits.
            let digits = u32::try_from(column.type_scale()).ok().filter(|digits| *digits <= 38)?;
            return Some(Shape::Decimal(digits))
                .filter(|_| column.physical_type() != Type::FIXED_LEN_BYTE_ARRAY || column.type_length() <= 16);
        }
        if column.physical_type() == Type::FIXED_LEN_BYTE_ARRAY {
            return None;
        }
        if column.physical_type() == Type::FLOAT {
            return Some(Shape::Single);
        }
        Some(match (column.logical_type_ref(), column.converted_type()) {
            (Some(LogicalType::Timestamp { unit, .. }), _) => Shape::Date(match unit {
                TimeUnit::MILLIS => 1_000_000,
                TimeUnit::MICROS => 1000,
                TimeUnit::NANOS => 1,
            }),
            (_, ConvertedType::TIMESTAMP_MILLIS) => Shape::Date(1_000_000),
            (_, ConvertedType::TIMESTAMP_MICROS) => Shape::Date(1000),
            (Some(LogicalType::Integer { is_signed: false, .. }), _)
            | (_, ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64) => {
                Shape::Unsigned
            }
            _ => Shape::Plain,
        })
    }
}

struct Rows {
    reader: SerializedFileReader<File>,
    path: String,
    columns: Vec<Named>,
    /// Row groups begun.
    groups: usize,
    /// Rows of the group that were not read yet.
    left: usize,
    values: Vec<ColumnReader>,
    text: Vec<u8>,
    taken: usize,
}

impl Rows {
    fn new(reader: SerializedFileReader<File>, path: &str, columns: Vec<Named>) -> Rows {
        let mut text = Vec::new();
        for (index, (_, name, _)) in columns.iter().enumerate() {
            push_cell(&mut text, index, name.as_bytes());
        }
        text.push(b'\n');
        Rows { reader, path: path.to_owned(), columns, groups: 0, left: 0, values: Vec::new(), text, taken: 0 }
    }

    /// Writes further rows into the empty `text`; false at the end.
    fn fill(&mut self) -> Result<bool, ParquetError> {
        while self.left == 0 {
            if self.values.iter_mut().any(has_more) {
                return Err(bad("a column has more rows than its row group"));
            }
            if self.groups == self.reader.num_row_groups() {
                return Ok(false);
            }
            let group = self.reader.get_row_group(self.groups)?;
            self.groups += 1;
            self.left = usize::try_from(group.metadata().num_rows()).map_err(|_| bad("a row group has no size"))?;
            // Each row of a column that is not repeated counts as one value, also where there is none.
            let is_whole = |values: i64| usize::try_from(values) == Ok(self.left);
            if !self.columns.iter().all(|(place, ..)| is_whole(group.metadata().column(*place).num_values())) {
                return Err(bad("a column has another number of rows than its row group"));
            }
            let columns = self.columns.iter().map(|(place, ..)| group.get_column_reader(*place));
            self.values = columns.collect::<Result<_, _>>()?;
        }
        let rows = self.left.min(ROWS);
        let columns = self.values.iter_mut().zip(&self.columns);
        let columns: Vec<Cells> =
            columns.map(|(values, (_, _, shape))| Cells::read(values, *shape, rows)).collect::<Result<_, _>>()?;
        for row in 0..rows {
            for (index, column) in columns.iter().enumerate() {
                push_cell(&mut self.text, index, column.get(row));
            }
            self.text.push(b'\n');
        }
        self.left -= rows;
        Ok(true)
    }
}

impl Read for Rows {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.text.len() {
            self.text.clear();
            self.taken = 0;
            if !guarded(|| self.fill()).map_err(|error| io::Error::other(Refused(damaged(&self.path, &error))))? {
                return Ok(0);
            }
        }
        let read = bytes.len().min(self.text.len() - self.taken);
        bytes[..read].copy_from_slice(&self.text[self.taken..self.taken + read]);
        self.taken += read;
        Ok(read)
    }
}

/// Whether rows of a column were not read yet.
fn has_more(column: &mut ColumnReader) -> bool {
    Cells::read(column, Shape::Plain, 1).is_ok()
}

fn bad(problem: &str) -> ParquetError {
    ParquetError::General(problem.to_owned())
}

fn damaged(path: &str, error: &ParquetError) -> TraceError {
    TraceError::Archive { path: path.to_owned(), kind: "Parquet", problem: error.to_string() }
}

/// Writes a cell, in quotes where it would be taken apart.
fn push_cell(text: &mut Vec<u8>, index: usize, cell: &[u8]) {
    if index > 0 {
        text.push(b',');
    }
    if cell.iter().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r')) {
        text.push(b'"');
        // A line end or a quotation mark within a cell would end it.
        text.extend(cell.iter().map(|byte| if byte.is_ascii_control() || *byte == b'"' { b' ' } else { *byte }));
        text.push(b'"');
    } else {
        text.extend_from_slice(cell);
    }
}

/// The cells of one column, as text.
#[derive(Default)]
struct Cells {
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Cells {
    fn read(values: &mut ColumnReader, shape: Shape, rows: usize) -> Result<Cells, ParquetError> {
        match values {
            ColumnReader::BoolColumnReader(values) => of(values, rows, |value, text| push(text, value)),
            ColumnReader::Int32ColumnReader(values) => of(values, rows, |value, text| match shape {
                Shape::Unsigned => push(text, value.cast_unsigned()),
                other => push_integer(text, i64::from(*value), other),
            }),
            ColumnReader::Int64ColumnReader(values) => {
                of(values, rows, |value, text| push_integer(text, *value, shape))
            }
            ColumnReader::Int96ColumnReader(values) => {
                of(values, rows, |value, text| push_date(text, i128::from(value.to_nanos())))
            }
            ColumnReader::FloatColumnReader(values) => of(values, rows, |value, text| push(text, value)),
            ColumnReader::DoubleColumnReader(values) => of(values, rows, |value, text| push(text, value)),
            ColumnReader::ByteArrayColumnReader(values) => of(values, rows, |value: &ByteArray, text| match shape {
                Shape::Decimal(digits) => push_decimal(text, big_endian(value.data()), digits),
                _ => text.extend_from_slice(value.data()),
            }),
            ColumnReader::FixedLenByteArrayColumnReader(values) => of(values, rows, |value, text| {
                let digits = if let Shape::Decimal(digits) = shape { digits } else { 0 };
                push_decimal(text, big_endian(value.data()), digits);
            }),
        }
    }

    fn get(&self, row: usize) -> &[u8] {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[row]]
    }
}

/// Reads `rows` cells of a column; what is not there is an empty one.
fn of<T: DataType>(
    column: &mut ColumnReaderImpl<T>,
    rows: usize,
    write: impl Fn(&T::T, &mut Vec<u8>),
) -> Result<Cells, ParquetError> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    let (read, _, _) = column.read_records(rows, Some(&mut levels), None, &mut values)?;
    if read != rows {
        return Err(bad("a column has fewer rows than its row group"));
    }
    let mut cells = Cells::default();
    let most = levels.iter().copied().max().unwrap_or(0);
    // Without levels every row has a value.
    let is_there = |row: usize| levels.is_empty() || values.len() == rows || levels[row] == most;
    let mut values = values.iter();
    for row in 0..rows {
        if let Some(value) = is_there(row).then(|| values.next()).flatten() {
            write(value, &mut cells.text);
        }
        cells.ends.push(cells.text.len());
    }
    if values.next().is_some() {
        return Err(bad("a column has more values than rows"));
    }
    Ok(cells)
}

fn push(text: &mut Vec<u8>, value: impl std::fmt::Display) {
    text.extend_from_slice(value.to_string().as_bytes());
}

fn push_integer(text: &mut Vec<u8>, value: i64, shape: Shape) {
    match shape {
        Shape::Plain | Shape::Single => push(text, value),
        Shape::Unsigned => push(text, value.cast_unsigned()),
        Shape::Date(unit) => push_date(text, i128::from(value) * i128::from(unit)),
        Shape::Decimal(digits) => push_decimal(text, Some(i128::from(value)), digits),
    }
}

/// A number of two's complement; `None` for one of more than 128 bits.
fn big_endian(bytes: &[u8]) -> Option<i128> {
    let sign = if bytes.first().is_some_and(|byte| byte & 0x80 != 0) { -1 } else { 0 };
    let number = |bytes: &[u8]| bytes.iter().fold(sign, |number, byte| number << 8 | i128::from(*byte));
    (bytes.len() <= 16).then(|| number(bytes))
}

/// Writes a number with `digits` behind the decimal mark; nothing for `None`.
fn push_decimal(text: &mut Vec<u8>, value: Option<i128>, digits: u32) {
    let Some(value) = value else { return };
    if digits == 0 {
        return push(text, value);
    }
    let (sign, value) = (if value < 0 { "-" } else { "" }, value.unsigned_abs().to_string());
    let width = digits as usize + 1;
    let value = format!("{value:0>width$}");
    let (whole, fraction) = value.split_at(value.len() - digits as usize);
    push(text, format_args!("{sign}{whole}.{fraction}"));
}

/// Nanoseconds since 1970 as `YYYY-MM-DD HH:MM:SS.fraction`.
fn push_date(text: &mut Vec<u8>, nanos: i128) {
    const DAY_NS: i128 = 86_400_000_000_000;
    let (days, rest) = (nanos.div_euclid(DAY_NS), nanos.rem_euclid(DAY_NS));
    // Days of a Gregorian calendar whose years begin in March, so that the leap day is the last.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = year + era * 400 + i128::from(month <= 2);
    let (second, fraction) = (rest / 1_000_000_000, rest % 1_000_000_000);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    push(text, format_args!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{fraction:09}"));
}
