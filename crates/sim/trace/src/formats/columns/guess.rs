//! The likely columns of an unknown table: a proposal for the user to check, never used for reading.

use super::super::reading::cells::{cells, is_comment};
use super::super::reading::number;
use super::even_separator;
use super::spec::{Field, is_yes_or_no, operation};

/// Words in the names of columns, the most telling field first.
const WORDS: [(Field, &[&str]); 6] = [
    (Field::Latency, &["latency", "lat", "response", "responsetime", "resp", "duration", "elapsed", "service"]),
    (
        Field::Offset,
        &["offset", "off", "lba", "lbn", "slba", "sector", "addr", "address", "block", "blkno", "lpn", "page"],
    ),
    (Field::Size, &["size", "len", "length", "sectors", "bytes", "nbytes", "count", "blocks", "nblocks", "nsectors"]),
    (
        Field::Op,
        &["op", "opcode", "rw", "type", "iotype", "operation", "action", "cmd", "command", "direction", "rwbs"],
    ),
    (Field::Device, &["device", "dev", "disk", "disknumber", "volume", "vol", "lun", "asu", "drive"]),
    (Field::Time, &["time", "ts", "timestamp", "t", "start", "arrival", "date", "clock", "issue"]),
];

struct Column<'a> {
    /// What the user can call it.
    name: String,
    /// Words of its name, in small letters.
    words: Vec<String>,
    cells: Vec<&'a [u8]>,
    /// The cells as thousandths, where all are numbers.
    numbers: Option<Vec<i64>>,
}

/// A text for `workload.columns`, with `?` where nothing tells, if `lines` look like a table of requests.
pub(in super::super) fn proposal(lines: &[&[u8]]) -> Option<String> {
    let rows: Vec<&[u8]> = lines.iter().copied().filter(|line| !is_comment(line)).collect();
    let separator = even_separator(&rows)?;
    let split: Vec<Vec<&[u8]>> = rows.iter().map(|row| cells(row, separator).collect()).collect();
    let columns = columns(&split)?;
    let mut found: [Option<usize>; Field::COUNT] = [None; Field::COUNT];
    by_name(&columns, &mut found);
    by_looks(&columns, &mut found);
    let of = |field: Field| found[field as usize].map(|place| &columns[place]);
    let known = [Field::Time, Field::Op, Field::Offset, Field::Size].into_iter().filter(|field| of(*field).is_some());
    if known.count() < 3 {
        return None;
    }
    let mut items = vec![
        of(Field::Time)
            .map_or_else(|| "time=?".to_owned(), |column| format!("time={}:{}", column.name, time_unit(column))),
        of(Field::Op).map_or_else(|| "op=?".to_owned(), |column| format!("op={}{}", column.name, meanings(column))),
        of(Field::Offset)
            .map_or_else(|| "offset=?".to_owned(), |column| format!("offset={}:{}", column.name, unit(column))),
        of(Field::Size).map_or_else(|| "size=?".to_owned(), |column| format!("size={}:{}", column.name, unit(column))),
    ];
    items.extend(of(Field::Device).map(|column| format!("device={}", column.name)));
    Some(items.join(","))
}

fn columns<'a>(rows: &[Vec<&'a [u8]>]) -> Option<Vec<Column<'a>>> {
    let first = rows.first()?;
    let is_number = |cell: &[u8]| number::decimal(cell, 3).is_some() || number::zoned_date_time(cell).is_some();
    let has_header = rows.len() > 1 && !first.iter().any(|cell| is_number(cell));
    let rows = &rows[usize::from(has_header)..];
    let column = |(place, name): (usize, &&[u8])| {
        let name = if has_header { String::from_utf8_lossy(name).into_owned() } else { String::new() };
        // The proposal is one word of a shell, in apostrophes.
        let is_apart = |letter: char| letter.is_whitespace() || matches!(letter, '=' | ':' | ',' | '\'' | '"');
        let is_plain = !name.is_empty() && !name.contains(is_apart);
        let lower = name.to_ascii_lowercase();
        let words = lower.split(|letter: char| !letter.is_ascii_alphanumeric()).map(str::to_owned).collect();
        let cells: Vec<&[u8]> = rows.iter().filter_map(|row| row.get(place).copied()).collect();
        let numbers = cells.iter().map(|cell| thousandths(cell)).collect();
        Column { name: if is_plain { name } else { (place + 1).to_string() }, words, cells, numbers }
    };
    Some(first.iter().enumerate().map(column).collect())
}

/// A number in thousandths, or without them where it is too large: only compared with others of its column.
fn thousandths(cell: &[u8]) -> Option<i64> {
    number::decimal(cell, 3).or_else(|| number::decimal(cell, 0))
}

fn by_name(columns: &[Column<'_>], found: &mut [Option<usize>; Field::COUNT]) {
    for (place, column) in columns.iter().enumerate() {
        let is_one = |names: &[&str]| column.words.iter().any(|word| names.contains(&word.as_str()));
        let Some((field, _)) = WORDS.iter().find(|(_, names)| is_one(names)) else { continue };
        let is_date = || column.cells.iter().all(|cell| number::zoned_date_time(cell).is_some());
        let fits = match field {
            Field::Op | Field::Device => true,
            Field::Time => column.numbers.is_some() || is_date(),
            Field::Offset | Field::Size | Field::Latency => column.numbers.is_some(),
        };
        let known = &mut found[*field as usize];
        if fits && known.is_none() {
            *known = Some(place);
        }
    }
}

fn by_looks(columns: &[Column<'_>], found: &mut [Option<usize>; Field::COUNT]) {
    let free = |found: &[Option<usize>; Field::COUNT]| -> Vec<usize> {
        (0..columns.len()).filter(|place| !found.contains(&Some(*place))).collect()
    };
    let is_operation = |place: &usize| {
        let column = &columns[*place];
        column.says_yes_or_no() || column.cells.iter().all(|cell| operation(cell).is_some())
    };
    if found[Field::Op as usize].is_none() {
        found[Field::Op as usize] = free(found).into_iter().find(is_operation);
    }
    let best = |places: Vec<usize>, score: &dyn Fn(&Column<'_>) -> i64| {
        let scored = places.into_iter().map(|place| (score(&columns[place]), place)).filter(|(score, _)| *score > 0);
        scored.max_by_key(|(score, place)| (*score, std::cmp::Reverse(*place))).map(|(_, place)| place)
    };
    if found[Field::Time as usize].is_none() {
        found[Field::Time as usize] = best(free(found), &looks_like_time);
    }
    if found[Field::Size as usize].is_none() {
        found[Field::Size as usize] = best(free(found), &looks_like_size);
    }
    if found[Field::Offset as usize].is_none() {
        let largest = |column: &Column<'_>| {
            column
                .whole()
                .map_or(0, |numbers| numbers.iter().max().map_or(0, |most| i64::try_from(*most).unwrap_or(i64::MAX)))
        };
        found[Field::Offset as usize] = best(free(found), &largest);
    }
}

impl Column<'_> {
    fn says_yes_or_no(&self) -> bool {
        !self.cells.is_empty() && self.cells.iter().all(|cell| is_yes_or_no(cell))
    }

    /// The cells, where all are integers of 0 or more.
    fn whole(&self) -> Option<Vec<u64>> {
        self.cells.iter().map(|cell| number::whole_bytes(cell, 1)).collect()
    }
}

/// Higher is likelier; 0: none.
fn looks_like_time(column: &Column<'_>) -> i64 {
    let Some(numbers) = &column.numbers else {
        return 4 * i64::from(column.cells.iter().all(|cell| number::zoned_date_time(cell).is_some()));
    };
    let rises = numbers.windows(2).all(|pair| pair[0] <= pair[1]) && numbers.first() < numbers.last();
    let counts = numbers.windows(2).all(|pair| pair[1] - pair[0] == 1000);
    if epoch_unit(column).is_some() {
        3
    } else if rises && column.cells.iter().any(|cell| cell.contains(&b'.')) {
        2
    } else {
        i64::from(rises && !counts)
    }
}

fn looks_like_size(column: &Column<'_>) -> i64 {
    let Some(numbers) = column.whole() else { return 0 };
    let (least, most) = (numbers.iter().min().copied().unwrap_or(0), numbers.iter().max().copied().unwrap_or(0));
    let mut different = numbers.clone();
    different.sort_unstable();
    different.dedup();
    if least == 0 || most > 1 << 26 || different.len() > numbers.len().div_ceil(2) {
        return 0;
    }
    1 + i64::from(numbers.iter().all(|number| number.is_multiple_of(512)))
}

/// The unit under which times since 1970 (or 1601) lie between 2000 and 2040.
fn epoch_unit(column: &Column<'_>) -> Option<&'static str> {
    const SECONDS: std::ops::Range<i64> = 946_684_800..2_208_988_800;
    let first = number::decimal(column.cells.first()?, 0)?;
    let units = [("s", 1), ("ms", 1000), ("us", 1_000_000), ("ns", 1_000_000_000)];
    if (125_911_584_000_000_000..138_534_624_000_000_000).contains(&first) {
        return Some("100ns");
    }
    units.into_iter().find(|(_, many)| SECONDS.contains(&(first / many))).map(|(unit, _)| unit)
}

fn time_unit(column: &Column<'_>) -> &'static str {
    const NAMES: [(&str, &str); 9] = [
        ("ns", "ns"),
        ("us", "us"),
        ("ms", "ms"),
        ("s", "s"),
        ("sec", "s"),
        ("seconds", "s"),
        ("100ns", "100ns"),
        ("nanoseconds", "ns"),
        ("microseconds", "us"),
    ];
    let Some(numbers) = &column.numbers else { return "date" };
    if let Some((_, unit)) = NAMES.iter().find(|(name, _)| column.words.iter().any(|word| word == name)) {
        return unit;
    }
    if let Some(unit) = epoch_unit(column) {
        return unit;
    }
    if column.cells.iter().any(|cell| cell.contains(&b'.')) {
        return "s";
    }
    let mut gaps: Vec<i64> = numbers.windows(2).map(|pair| pair[1].saturating_sub(pair[0]) / 1000).collect();
    gaps.sort_unstable();
    if gaps.get(gaps.len() / 2).is_some_and(|gap| *gap >= 20_000) { "ns" } else { "us" }
}

/// The unit of addresses or sizes.
fn unit(column: &Column<'_>) -> &'static str {
    let has = |names: &[&str]| column.words.iter().any(|word| names.contains(&word.as_str()));
    let is_even = || column.whole().is_some_and(|numbers| numbers.iter().all(|number| number.is_multiple_of(512)));
    if has(&["bytes", "byte", "b"]) {
        "bytes"
    } else if has(&["kb", "kib", "k"]) {
        "KiB"
    } else if has(&["page", "pages", "lpn"]) {
        "4k"
    } else if has(&["lba", "lbn", "slba", "sector", "sectors", "nsectors"]) || !is_even() {
        "sectors"
    } else {
        "bytes"
    }
}

/// Numbers, and yes and no, need a meaning, which only the user knows.
fn meanings(column: &Column<'_>) -> String {
    if column.numbers.is_none() && !column.says_yes_or_no() {
        return String::new();
    }
    let mut codes: Vec<String> = column.cells.iter().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect();
    codes.sort_unstable();
    codes.dedup();
    codes.truncate(4);
    format!(":{}", codes.iter().map(|code| format!("{code}=?")).collect::<Vec<_>>().join("|"))
}
