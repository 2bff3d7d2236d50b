//! Rows of a table whose columns the user named.

use std::borrow::Cow;
use std::collections::BTreeSet;

use units::HostOp;

use super::super::reading::cells::{Cells, Separator, cells, is_comment, is_rounded, rounded_to, scientific};
use super::super::reading::fields::{FieldError, FieldResult, NOT_NEGATIVE, field_error};
use super::super::reading::number;
use super::super::reading::parser::{LineParser, Names, Sink};
use super::super::{TraceError, TraceRecord};
use super::spec::{Field, Meaning, Operations, Sizes, Spec, TimeUnit, is_word, is_yes_or_no, operation, problem_of};

/// The columns of a table, where they stand in its rows.
pub(crate) struct Table {
    spec: Spec,
    separator: Separator,
    /// The header, which is left out wherever it stands.
    header: Option<Vec<u8>>,
    /// The field in each column, up to the last that is read.
    fields: Vec<Option<Field>>,
    /// The usual number of cells in a row.
    width: usize,
    /// The most digits that a number in scientific notation had, by field.
    digits: [usize; Field::COUNT],
    /// How the user calls the column of each field, and its number from 1.
    words: [(Cow<'static, str>, u32); Field::COUNT],
    devices: Devices,
}

enum Devices {
    /// None was met yet.
    Unknown,
    Numbers,
    Names(Names),
}

impl Table {
    /// `places` has the column of each field, from 0. Rows may have any number of cells, and there is no header, until
    /// [`Table::set_form`] says so.
    pub fn new(spec: Spec, separator: Separator, places: &[(Field, usize)]) -> Table {
        let last = places.iter().map(|(_, place)| *place).max().unwrap_or(0);
        let mut fields = vec![None; last + 1];
        let mut words = [const { (Cow::Borrowed(""), 0) }; Field::COUNT];
        let columns = spec.columns();
        for (field, place) in places {
            fields[*place] = Some(*field);
            let named = columns.iter().find(|(known, _)| known == field);
            let word = match named {
                Some((_, super::Column::Name(name))) => Cow::Owned(name.clone()),
                _ => Cow::Borrowed(field.name()),
            };
            words[*field as usize] = (word, *place as u32 + 1);
        }
        let is_named = spec.device.as_ref().is_some_and(|(_, is_named)| *is_named);
        let devices = if is_named { Devices::Names(Names::default()) } else { Devices::Unknown };
        Table { spec, separator, header: None, fields, width: usize::MAX, digits: [0; Field::COUNT], words, devices }
    }

    /// Says what the header is, and how many cells rows have: one with more is odd, such as two lines glued together.
    pub fn set_form(&mut self, header: Option<Vec<u8>>, width: usize) {
        self.header = header;
        self.width = width.max(self.fields.len());
    }

    /// The cells of the fields.
    fn row<'a>(&self, line: &'a [u8]) -> FieldResult<[&'a [u8]; Field::COUNT]> {
        let mut row = [&b""[..]; Field::COUNT];
        let mut rest: Cells<'a> = cells(line, self.separator);
        for (column, field) in self.fields.iter().enumerate() {
            let Some(cell) = rest.next() else {
                let missing = self.fields[column..].iter().find_map(|field| *field).unwrap_or(Field::Time);
                return Err(self.wrong(missing, b"the end of the line", "a value"));
            };
            if let Some(field) = field {
                row[*field as usize] = cell;
            }
        }
        match rest.beyond(self.width - self.fields.len()) {
            None => Ok(row),
            Some(extra) => Err(self.too_wide(extra)),
        }
    }

    #[cold]
    #[expect(clippy::unnecessary_box_returns, reason = "the error type of FieldResult is boxed")]
    fn too_wide(&self, extra: &[u8]) -> Box<FieldError> {
        let expected = "the end of the line: the header, or most of the first rows, have no more cells";
        field_error(self.width as u32 + 1, "extra cell", extra, expected)
    }

    #[cold]
    #[expect(clippy::unnecessary_box_returns, reason = "the error type of FieldResult is boxed")]
    fn wrong(&self, field: Field, found: &[u8], expected: &'static str) -> Box<FieldError> {
        let (word, column) = &self.words[field as usize];
        field_error(*column, word.clone(), found, expected)
    }

    fn time(&self, field: Field, text: &[u8], unit: TimeUnit) -> FieldResult<i64> {
        match self.nanoseconds(text, unit) {
            Some(time) if time >= 0 => Ok(time),
            Some(_) => Err(self.wrong(field, text, NOT_NEGATIVE)),
            None if unit == TimeUnit::Date => Err(self.wrong(field, text, "YYYY-MM-DD HH:MM:SS[.fraction][zone]")),
            None => Err(self.wrong(field, text, "a number, below 292 years in its unit")),
        }
    }

    fn nanoseconds(&self, text: &[u8], unit: TimeUnit) -> Option<i64> {
        // A date says its own unit.
        if memchr::memchr(b':', text).is_some() {
            return number::zoned_date_time(text);
        }
        let read = |text: &[u8]| match unit {
            TimeUnit::Digits(digits) => number::decimal(text, digits),
            TimeUnit::Ticks => number::since_1970(number::decimal(text, 0)?).checked_mul(100),
            TimeUnit::Date => None,
        };
        read(text).or_else(|| {
            // Some countries write a decimal comma, which the separator must leave free.
            let is_comma = self.separator != Separator::Byte(b',') && text.contains(&b',');
            is_comma
                .then(|| read(&text.iter().map(|byte| if *byte == b',' { b'.' } else { *byte }).collect::<Vec<_>>()))?
        })
    }

    /// `None` where it is missing; none is below 0.
    fn latency(&self, text: &[u8], unit: TimeUnit) -> FieldResult<Option<u64>> {
        const MISSING: [&str; 9] = ["", "-", "na", "n/a", "nan", "-nan", "null", "none", "\\N"];
        match self.nanoseconds(text, unit) {
            Some(latency) => Ok(u64::try_from(latency).ok()),
            None if MISSING.iter().any(|word| text.eq_ignore_ascii_case(word.as_bytes())) => Ok(None),
            None => Err(self.wrong(Field::Latency, text, "a number, below 292 years in its unit, or nothing")),
        }
    }

    fn bytes(&self, field: Field, text: &[u8], unit: u64) -> FieldResult<u64> {
        let bytes = number::whole_bytes(text, unit);
        bytes.ok_or_else(|| self.wrong(field, text, "a number of 0 or more that is whole bytes, below 2^64"))
    }

    fn operation(&self, text: &[u8]) -> FieldResult<(Meaning, bool)> {
        let Operations::Column(_, meanings) = &self.spec.op else { return Ok((Meaning::Skip, false)) };
        let given = meanings.iter().find(|(code, _)| text.eq_ignore_ascii_case(code.as_bytes()));
        if let Some((_, meaning)) = given {
            return Ok((*meaning, false));
        }
        // Letters of a text without a meaning may mean anything where others have one.
        let known = operation(text).filter(|_| meanings.is_empty() || is_word(text));
        known.map(|(op, fua)| (Meaning::Request(op), fua)).ok_or_else(|| {
            let expected = if meanings.is_empty() {
                "a word such as R, W, read or write (give the meaning of others behind the column: \
                op=COLUMN:0=read|1=write)"
            } else {
                "one of the texts whose meaning op= gives, or a whole word such as read or discard"
            };
            self.wrong(Field::Op, text, expected)
        })
    }

    fn device(&mut self, text: &[u8]) -> FieldResult<u32> {
        if self.spec.device.is_none() {
            return Ok(0);
        }
        if text.is_empty() {
            return Err(self.wrong(Field::Device, text, "a value"));
        }
        let number = number::integer(text).and_then(|number| u32::try_from(number).ok());
        if matches!(self.devices, Devices::Unknown) {
            self.devices = if number.is_some() { Devices::Numbers } else { Devices::Names(Names::default()) };
        }
        match &mut self.devices {
            Devices::Names(names) => Ok(names.number(text)),
            _ => number.ok_or_else(|| {
                let expected = "a number below 2^32, as in the first row (if devices have names: device=COLUMN:names)";
                self.wrong(Field::Device, text, expected)
            }),
        }
    }

    /// Whether a first row with these columns looks like a header: neither its time nor its address begins as a
    /// number does.
    pub fn is_header(&self, line: &[u8]) -> bool {
        let is_word = |text: &[u8]| text.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
        self.row(line).is_ok_and(|row| is_word(row[Field::Time as usize]) && is_word(row[Field::Offset as usize]))
    }

    /// Refuses operations that only say yes or no, and numbers that were rounded when the table was written.
    pub fn check(&mut self, path: &str, lines: &[&[u8]]) -> Result<(), TraceError> {
        let rows: Vec<_> = lines.iter().filter_map(|line| self.row(line).ok()).collect();
        self.check_meanings(rows.iter().map(|row| row[Field::Op as usize]))?;
        for field in [Field::Time, Field::Offset, Field::Size] {
            let column = rows.iter().map(|row| row[field as usize]);
            if let Some((digits, found)) = rounded_to(column) {
                let (word, column) = &self.words[field as usize];
                return Err(TraceError::Rounded {
                    path: path.to_owned(),
                    column: format!("{column} ({word})"),
                    found: String::from_utf8_lossy(found).into_owned(),
                    digits,
                });
            }
            let digits = rows.iter().filter_map(|row| scientific(row[field as usize]));
            self.digits[field as usize] = digits.map(|(digits, _)| digits).max().unwrap_or(0);
        }
        Ok(())
    }

    /// `t` and `f` alone are yes and no of a database, not trim and flush.
    fn check_meanings<'a>(&self, mut texts: impl Iterator<Item = &'a [u8]> + Clone) -> Result<(), TraceError> {
        let Operations::Column(column, meanings) = &self.spec.op else { return Ok(()) };
        if !meanings.is_empty() || texts.clone().next().is_none() || !texts.clone().all(is_yes_or_no) {
            return Ok(());
        }
        let known: BTreeSet<String> = texts.by_ref().map(|text| String::from_utf8_lossy(text).into_owned()).collect();
        let known: Vec<String> = known.into_iter().collect();
        let problem = format!(
            "the first rows of column {column} have only {}, which may be no and yes; give each its meaning: \
             op={column}:{}",
            known.join(" and "),
            known.iter().map(|text| format!("{text}=?")).collect::<Vec<_>>().join("|")
        );
        Err(problem_of(&self.spec.text, problem))
    }

    /// Refuses a number that was rounded when the table was written, in any row.
    #[inline]
    fn check_digits(&mut self, field: Field, text: &[u8]) -> FieldResult<()> {
        // `12345e6` is the shortest that is told.
        if text.len() < 7 {
            return Ok(());
        }
        let Some((digits, is_open)) = scientific(text) else { return Ok(()) };
        let most = self.digits[field as usize].max(digits);
        if is_open && is_rounded(digits, most) {
            let expected = "a number with all of its digits: this number was rounded when the table was written, so \
                 requests cannot be told apart (write the table again with whole numbers; in pandas: read_csv(..., \
                 dtype=str))";
            return Err(self.wrong(field, text, expected).fatal());
        }
        self.digits[field as usize] = most;
        Ok(())
    }
}

impl LineParser for Table {
    fn parse(&mut self, line: &[u8], sink: &mut Sink) -> FieldResult<()> {
        if is_comment(line) || self.header.as_deref() == Some(line) {
            sink.comment();
            return Ok(());
        }
        let row = self.row(line)?;
        let [time, op, offset, size, device, latency] = row;
        let (op, fua) = match self.spec.op {
            Operations::All(op) => (op, false),
            Operations::Column(..) => match self.operation(op)? {
                (Meaning::Request(op), fua) => (op, fua),
                (Meaning::Skip, _) => {
                    sink.other();
                    return Ok(());
                }
            },
        };
        self.check_digits(Field::Time, time)?;
        let time = self.time(Field::Time, time, self.spec.time.1)?;
        let device = self.device(device)?;
        // A flush has no address, whatever stands in its place.
        let (offset, size) = if op == HostOp::Flush {
            (0, 0)
        } else {
            self.check_digits(Field::Offset, offset)?;
            self.check_digits(Field::Size, size)?;
            let size = match self.spec.size {
                Sizes::All(bytes) => bytes,
                Sizes::Column(_, unit) => self.bytes(Field::Size, size, unit)?,
            };
            (self.bytes(Field::Offset, offset, self.spec.offset.1)?, size)
        };
        let mut record = TraceRecord::new(time, device, op, offset, size);
        record.fua = fua;
        if let Some((_, unit)) = &self.spec.latency {
            // A latency is a difference: no epoch is taken from it.
            let unit = if *unit == TimeUnit::Ticks { TimeUnit::Digits(2) } else { *unit };
            record.latency_ns = self.latency(latency, unit)?;
            sink.statistics.dropped_latency += u64::from(record.latency_ns.is_none());
        }
        sink.push(record)
    }

    fn device_name(&self, device: u32) -> Option<String> {
        match &self.devices {
            Devices::Names(names) => names.name(device),
            Devices::Unknown | Devices::Numbers => None,
        }
    }

    fn columns(&self) -> Option<&str> {
        Some(&self.spec.text)
    }
}
