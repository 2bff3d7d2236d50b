//! The user's description of the columns of a table: `time=ts:ns,op=rw,offset=lba:sectors,size=len:bytes`.

use std::fmt;

use units::HostOp;
use units::quantity::parse_size;

use super::super::reading::cells::Separator;
use super::super::reading::rwbs;
use super::super::{SECTOR, TraceError};

/// An example that most tables are like.
pub(crate) const EXAMPLE: &str = "time=ts:ns,op=rw,offset=lba:sectors,size=len:bytes";

/// A column, as the user calls it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    /// A name in the header.
    Name(String),
    /// A place, from 1.
    Number(usize),
}

impl fmt::Display for Column {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Column::Name(name) => write!(formatter, "{name}"),
            Column::Number(number) => write!(formatter, "{number}"),
        }
    }
}

/// The unit of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeUnit {
    /// Ten to this power of them are a nanosecond's multiple: 9 for seconds, 0 for nanoseconds.
    Digits(u32),
    /// 100 ns, as Windows counts them from 1601; such times are moved to 1970.
    Ticks,
    /// `YYYY-MM-DD HH:MM:SS[.fraction]`.
    Date,
}

/// The operation of a cell in the operation column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    Request(HostOp),
    /// The row is left out.
    Skip,
}

/// Where operations come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Operations {
    /// A column, and what some of its texts mean.
    Column(Column, Vec<(String, Meaning)>),
    /// All rows are this one.
    All(HostOp),
}

/// Where sizes come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sizes {
    /// A column, in units of this many bytes.
    Column(Column, u64),
    /// All requests have this many bytes.
    All(u64),
}

/// The columns of a table and their units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spec {
    /// As the user wrote it.
    pub text: String,
    /// `None`: it is found.
    pub separator: Option<Separator>,
    pub time: (Column, TimeUnit),
    pub op: Operations,
    /// The unit in bytes.
    pub offset: (Column, u64),
    pub size: Sizes,
    /// Whether devices have names, also where they look like numbers.
    pub device: Option<(Column, bool)>,
    pub latency: Option<(Column, TimeUnit)>,
}

const FIELDS: [&str; 7] = ["time", "op", "offset", "size", "device", "latency", "separator"];

impl Spec {
    /// Reads a text such as [`EXAMPLE`].
    /// Errors: [`TraceError::Columns`], with the fault and the way to write it.
    pub fn parse(text: &str) -> Result<Spec, TraceError> {
        items(text).and_then(|items| Spec::of(text, &items)).map_err(|problem| problem_of(text, problem))
    }

    fn of(text: &str, items: &[(&str, &str)]) -> Result<Spec, String> {
        let given = |field: &str| items.iter().find(|(name, _)| *name == field).map(|(_, value)| *value);
        let needed = |field: &str, form: &str| {
            given(field).ok_or_else(|| format!("it does not say which column has the {field}; add {form}"))
        };
        let time = needed("time", "time=COLUMN:UNIT, such as time=1:us (all times 0 would be no trace)")?;
        let op = needed("op", "op=COLUMN, or op=:read or op=:write if all requests are the same")?;
        let offset = needed("offset", "offset=COLUMN:UNIT, such as offset=2:sectors")?;
        let size = needed("size", "size=COLUMN:UNIT, or size=:4096 if all requests have one size")?;
        let (size_column, size_unit) = halves(size);
        let size = if size_column.is_empty() {
            Sizes::All(unit_of_bytes("size", size_unit.unwrap_or_default())?)
        } else {
            Sizes::Column(column("size", size_column)?, unit_of_bytes("size", size_unit.unwrap_or("bytes"))?)
        };
        let (offset_column, offset_unit) = halves(offset);
        let device = given("device").map(device).transpose()?;
        Ok(Spec {
            text: text.to_owned(),
            separator: given("separator").map(separator).transpose()?,
            time: times("time", time)?,
            op: operations(op)?,
            offset: (column("offset", offset_column)?, unit_of_bytes("offset", offset_unit.unwrap_or("bytes"))?),
            size,
            device,
            latency: given("latency").map(|text| times("latency", text)).transpose()?,
        })
    }

    /// The columns with the field that each of them is.
    pub fn columns(&self) -> Vec<(Field, &Column)> {
        let op = match &self.op {
            Operations::Column(column, _) => Some((Field::Op, column)),
            Operations::All(_) => None,
        };
        let size = match &self.size {
            Sizes::Column(column, _) => Some((Field::Size, column)),
            Sizes::All(_) => None,
        };
        let device = self.device.as_ref().map(|(column, _)| (Field::Device, column));
        let latency = self.latency.as_ref().map(|(column, _)| (Field::Latency, column));
        let always = [Some((Field::Time, &self.time.0)), op, Some((Field::Offset, &self.offset.0))];
        always.into_iter().chain([size, device, latency]).flatten().collect()
    }
}

/// A field of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Time,
    Op,
    Offset,
    Size,
    Device,
    Latency,
}

impl Field {
    pub const COUNT: usize = 6;

    pub const fn name(self) -> &'static str {
        FIELDS[self as usize]
    }
}

pub(crate) fn problem_of(text: &str, problem: String) -> TraceError {
    TraceError::Columns { columns: text.to_owned(), problem }
}

/// The items of the text, each a field and what is said of it.
fn items(text: &str) -> Result<Vec<(&str, &str)>, String> {
    let mut items: Vec<(&str, &str)> = Vec::new();
    for item in text.split(',') {
        // The comma of `separator=,`.
        if let Some(last) = items.last_mut().filter(|last| item.is_empty() && last.0 == "separator") {
            last.1 = ",";
            continue;
        }
        let (field, value) =
            item.split_once('=').ok_or_else(|| format!("\"{item}\" is not FIELD=COLUMN; write it like {EXAMPLE}"))?;
        let field = field.trim();
        if !FIELDS.contains(&field) {
            return Err(format!("\"{field}\" is not a field; the fields are {}", FIELDS.join(", ")));
        }
        if items.iter().any(|(known, _)| *known == field) {
            return Err(format!("the field {field} is given twice; leave one out"));
        }
        items.push((field, if field == "separator" { value } else { value.trim() }));
    }
    Ok(items)
}

/// A column and what stands behind its colon.
fn halves(text: &str) -> (&str, Option<&str>) {
    text.split_once(':').map_or((text, None), |(column, unit)| (column.trim(), Some(unit.trim())))
}

fn column(field: &str, text: &str) -> Result<Column, String> {
    match text.parse::<usize>() {
        Ok(0) => Err(format!("{field}=0: columns count from 1")),
        Ok(number) if number > 4096 => Err(format!("{field}={number}: a table has at most 4096 columns")),
        Ok(number) => Ok(Column::Number(number)),
        Err(_) if text.is_empty() => {
            Err(format!("{field} has no column; give its name in the header, or its number from 1"))
        }
        Err(_) => Ok(Column::Name(text.to_owned())),
    }
}

fn times(field: &str, text: &str) -> Result<(Column, TimeUnit), String> {
    let (name, unit) = halves(text);
    let unit = match unit.unwrap_or("s") {
        "s" => TimeUnit::Digits(9),
        "ms" => TimeUnit::Digits(6),
        "us" | "\u{b5}s" => TimeUnit::Digits(3),
        "ns" => TimeUnit::Digits(0),
        "100ns" | "ticks" => TimeUnit::Ticks,
        "date" => TimeUnit::Date,
        other => {
            return Err(format!(
                "{field}={text}: \"{other}\" is not a unit of time; give s, ms, us, ns, 100ns or date"
            ));
        }
    };
    if field == "latency" && unit == TimeUnit::Date {
        return Err(format!("{field}={text}: a latency is not a date; give s, ms, us, ns or 100ns"));
    }
    Ok((column(field, name)?, unit))
}

/// The bytes of a unit of addresses and sizes.
fn unit_of_bytes(field: &str, text: &str) -> Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    let bytes = match lower.as_str() {
        "b" | "byte" | "bytes" => Some(1),
        "sector" | "sectors" => Some(SECTOR),
        "k" | "kb" | "kib" => Some(1 << 10),
        "m" | "mb" | "mib" => Some(1 << 20),
        _ => {
            let size = lower.trim_end_matches("pages").trim_end_matches("page").trim_end_matches(['b', 'i']).trim();
            let with_unit = size.strip_suffix('k').map(|number| format!("{number}KiB"));
            size.parse().ok().or_else(|| parse_size(&with_unit.unwrap_or_default()).ok())
        }
    };
    bytes.filter(|bytes| (1..=1 << 30).contains(bytes)).ok_or_else(|| {
        format!(
            "{field}: \"{text}\" is not a unit of bytes; give bytes, sectors (512 bytes), 4k, KiB, MiB or a number of \
             bytes"
        )
    })
}

fn operations(text: &str) -> Result<Operations, String> {
    let (name, meanings) = halves(text);
    let meaning_of = |word: &str| {
        let word = word.trim();
        if word.eq_ignore_ascii_case("skip") {
            return Ok(Meaning::Skip);
        }
        let known = || format!("op={text}: \"{word}\" is not an operation; give read, write, trim, flush or skip");
        operation(word.as_bytes()).map(|(op, _)| Meaning::Request(op)).ok_or_else(known)
    };
    if name.is_empty() {
        return match meaning_of(meanings.unwrap_or_default())? {
            Meaning::Request(op) => Ok(Operations::All(op)),
            Meaning::Skip => Err(format!("op={text} would leave out every row")),
        };
    }
    let pairs = meanings.map_or_else(Vec::new, |meanings| meanings.split('|').collect());
    let pairs = pairs.into_iter().map(|pair| {
        let (code, word) = pair.split_once('=').ok_or_else(|| {
            format!("op={text}: \"{pair}\" is not CODE=OPERATION; write it like op={name}:0=read|1=write")
        })?;
        Ok((code.trim().to_owned(), meaning_of(word)?))
    });
    let pairs = pairs.collect::<Result<Vec<(String, Meaning)>, String>>()?;
    let is_twice = |(place, (code, _)): &(usize, &(String, Meaning))| {
        pairs[..*place].iter().any(|(known, _)| known.eq_ignore_ascii_case(code))
    };
    if let Some((_, (code, _))) = pairs.iter().enumerate().find(is_twice) {
        return Err(format!("op={text}: the meaning of {code} is given twice; leave one out"));
    }
    Ok(Operations::Column(column("op", name)?, pairs))
}

fn device(text: &str) -> Result<(Column, bool), String> {
    let (name, kind) = halves(text);
    match kind {
        None => Ok((column("device", name)?, false)),
        Some("names") => Ok((column("device", name)?, true)),
        Some(other) => Err(format!("device={text}: only \"names\" may stand behind the column, not \"{other}\"")),
    }
}

fn separator(text: &str) -> Result<Separator, String> {
    match text.trim() {
        "tab" | "\\t" => Ok(Separator::Byte(b'\t')),
        "comma" => Ok(Separator::Byte(b',')),
        "semicolon" => Ok(Separator::Byte(b';')),
        "blanks" | "blank" | "space" => Ok(Separator::Blanks),
        "" if text == "\t" => Ok(Separator::Byte(b'\t')),
        "" if text == " " => Ok(Separator::Blanks),
        one => match one.as_bytes() {
            [byte] if byte.is_ascii_punctuation() && !matches!(byte, b'"' | b'.' | b'-' | b'+') => {
                Ok(Separator::Byte(*byte))
            }
            _ => Err(format!("separator={text}: give one of , ; | : or the word tab or blanks")),
        },
    }
}

/// Whether `text` may say yes or no, as databases write it, and no operation.
pub(super) fn is_yes_or_no(text: &[u8]) -> bool {
    ["t", "f", "y", "n", "true", "false", "yes", "no"].iter().any(|word| text.eq_ignore_ascii_case(word.as_bytes()))
}

/// Whether `text` is a word of its own for an operation, not letters that may stand for anything.
pub(super) fn is_word(text: &[u8]) -> bool {
    text.len() >= 4 && rwbs::parse(text).is_none()
}

/// The operation that a word, or the letters of the Linux block layer, ask for, and whether with force unit access.
pub(super) fn operation(text: &[u8]) -> Option<(HostOp, bool)> {
    const WORDS: [(HostOp, &[&str]); 4] = [
        (HostOp::Read, &["r", "read", "reads", "rd", "get", "gets", "pread", "rs", "ra"]),
        (HostOp::Write, &["w", "write", "writes", "wr", "put", "set", "pwrite", "ws"]),
        (HostOp::Trim, &["t", "trim", "d", "discard", "unmap", "deallocate"]),
        (HostOp::Flush, &["f", "flush", "sync", "fsync", "fdatasync"]),
    ];
    let is_one = |names: &[&str]| names.iter().any(|name| text.eq_ignore_ascii_case(name.as_bytes()));
    if let Some((op, _)) = WORDS.iter().find(|(_, names)| is_one(names)) {
        return Some((*op, false));
    }
    let letters = rwbs::parse(text).filter(|letters| !letters.preflush)?;
    Some((letters.op?, letters.fua))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_read() {
        let spec = Spec::parse(EXAMPLE).unwrap();
        assert_eq!(spec.time, (Column::Name("ts".to_owned()), TimeUnit::Digits(0)));
        assert_eq!(spec.offset, (Column::Name("lba".to_owned()), 512));
        assert_eq!(spec.size, Sizes::Column(Column::Name("len".to_owned()), 1));
        let spec = Spec::parse("time=1,op=:write,offset=2:4k pages,size=:8KiB,separator=,,device=3:names").unwrap();
        assert_eq!((spec.offset.1, spec.size, spec.op), (4096, Sizes::All(8192), Operations::All(HostOp::Write)));
        assert_eq!((spec.separator, spec.device), (Some(Separator::Byte(b',')), Some((Column::Number(3), true))));
    }

    #[test]
    fn what_is_wrong_with_a_spec_is_said_with_the_remedy() {
        for (text, parts) in [
            ("op=1,offset=2,size=3", ["which column has the time", "add time=COLUMN:UNIT"]),
            ("time=1:h,op=2,offset=3,size=4", ["\"h\" is not a unit of time", "100ns"]),
            ("time=1,op=2,offset=3:furlongs,size=4", ["\"furlongs\"", "sectors"]),
            ("time=1,op=2:0,offset=3,size=4", ["\"0\" is not CODE=OPERATION", "op=2:0=read|1=write"]),
            ("time=1,op=2:0=eat,offset=3,size=4", ["\"eat\" is not an operation", "read, write"]),
            ("time=1,op=2:0=read|0=write,offset=3,size=4", ["the meaning of 0 is given twice", "leave one out"]),
            ("time=0,op=2,offset=3,size=4", ["time=0", "from 1"]),
            ("time=1,time=2", ["time", "twice"]),
            ("when=1", ["\"when\" is not a field", "latency"]),
            ("lba", ["FIELD=COLUMN", EXAMPLE]),
            ("time=1,op=2,offset=3,size=4,separator=ab", ["separator=ab", "tab"]),
        ] {
            let error = Spec::parse(text).unwrap_err().to_string();
            assert!(parts.iter().all(|part| error.contains(part)) && error.contains("--columns"), "{error}");
        }
    }
}
