//! Tables of any form, whose columns the user names.
//!
//! ```text
//!   time=ts:ns,op=rw,offset=lba:sectors,size=len:bytes
//! ```
//!
//! Header and separator are found in the first rows. Quotes and blanks around cells, comments and further columns are
//! seen through.

mod guess;
mod spec;
mod table;

pub(super) use guess::proposal;
pub(super) use spec::{Column, EXAMPLE, Field, Spec, problem_of};

use std::collections::BTreeMap;

use super::reading::cells::{Separator, cells, is_comment};
use super::reading::fields::field_error;
use super::reading::parser::{Parser, Sink, Stateless};
use super::{Format, Order, TraceError};
use table::Table;

/// How results call such a table. It is not a choice of `--format`: the columns say it.
pub(super) static FORMAT: Format = Format {
    name: "columns",
    doc: "a table whose columns are named by workload.columns",
    columns: "as workload.columns says",
    time_unit: "as workload.columns says",
    address_unit: "as workload.columns says",
    extensions: &[],
    usual_order: Order::Sort,
    parser: || Parser::Lines(Box::new(Stateless(unnamed))),
};

fn unnamed(line: &[u8], _sink: &mut Sink) -> super::FieldResult<()> {
    Err(field_error(0, "columns", line, "workload.columns, which names the columns"))
}

/// The reader of the table that starts with `lines`, none of them blank.
/// Errors: [`TraceError::Columns`] for columns that the table does not have, [`TraceError::Rounded`] for numbers that
/// lost digits.
pub(super) fn read(spec: Spec, lines: &[&[u8]], path: &str) -> Result<Parser, TraceError> {
    let rows: Vec<&[u8]> = lines.iter().copied().filter(|line| !is_comment(line)).collect();
    let Some(first) = rows.first() else {
        return Ok(Parser::Lines(Box::new(Table::new(spec, Separator::Byte(b','), &[(Field::Time, 0)]))));
    };
    let headers = headings(lines, first);
    let found = match spec.separator {
        Some(separator) => header(&spec, &headers, separator).map(|heading| (separator, heading)),
        None => separated(&spec, &headers, &rows),
    };
    let Some((separator, Heading { places, mut header, names })) = found else {
        return Err(no_such_column(&spec, first, &rows, path));
    };
    check_names(&spec, &names, path)?;
    let mut seen = Vec::new();
    for (field, place) in &places {
        if let Some((other, _)) = seen.iter().find(|(_, known)| known == place) {
            let other: &Field = other;
            let problem = format!("{} and {} are the same column, number {}", other.name(), field.name(), place + 1);
            return Err(problem_of(&spec.text, problem));
        }
        seen.push((*field, *place));
    }
    let mut table = Table::new(spec, separator, &places);
    if header.is_none() && table.is_header(first) {
        header = Some(first.to_vec());
    }
    let data: Vec<&[u8]> = rows.iter().copied().filter(|row| header.as_deref() != Some(*row)).collect();
    table.check(path, &data)?;
    table.set_form(header, if names.is_empty() { usual_cells(&data, separator) } else { names.len() });
    Ok(Parser::Lines(Box::new(table)))
}

/// Refuses names that the header has twice, of columns that are asked for.
fn check_names(spec: &Spec, names: &[&[u8]], path: &str) -> Result<(), TraceError> {
    for (field, column) in spec.columns() {
        let Column::Name(name) = column else { continue };
        let numbers = |is_one: &dyn Fn(&[u8]) -> bool| -> Vec<String> {
            let found = names.iter().enumerate().filter(|(_, known)| is_one(known));
            found.map(|(place, _)| (place + 1).to_string()).collect()
        };
        let mut found = numbers(&|known| known == name.as_bytes());
        if found.is_empty() {
            found = numbers(&|known| known.eq_ignore_ascii_case(name.as_bytes()));
        }
        if found.len() > 1 {
            let (field, found) = (field.name(), found.join(" and "));
            let problem = format!("{field}: columns {found} of {path} are called {name}; give the number of one");
            return Err(problem_of(&spec.text, problem));
        }
    }
    Ok(())
}

/// The number of cells that most rows have; the larger one of two that are as common.
fn usual_cells(rows: &[&[u8]], separator: Separator) -> usize {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for row in rows {
        *counts.entry(cells(row, separator).count()).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(cells, rows)| (*rows, *cells)).map_or(0, |(cells, _)| cells)
}

/// Lines that may be the header: the first row, and comments above it without their mark.
fn headings<'a>(lines: &[&'a [u8]], first: &'a [u8]) -> Vec<&'a [u8]> {
    let comments = lines.iter().take_while(|line| is_comment(line));
    let unmarked = comments.map(|line| {
        let start = line.iter().position(|byte| !matches!(byte, b'#' | b'%' | b'/' | b' ')).unwrap_or(line.len());
        &line[start..]
    });
    std::iter::once(first).chain(unmarked).collect()
}

type Places = Vec<(Field, usize)>;

/// Where the columns are, and what says so.
struct Heading<'a> {
    /// The columns of the fields, from 0.
    places: Places,
    /// The row that names them, unless a comment does.
    header: Option<Vec<u8>>,
    /// The names of all columns, where the user called one by its name.
    names: Vec<&'a [u8]>,
}

fn header<'a>(spec: &Spec, headers: &[&'a [u8]], separator: Separator) -> Option<Heading<'a>> {
    let columns = spec.columns();
    if columns.iter().all(|(_, column)| matches!(column, Column::Number(_))) {
        return Some(Heading { places: places(&columns, &[])?, header: None, names: Vec::new() });
    }
    headers.iter().enumerate().find_map(|(index, line)| {
        let names: Vec<&[u8]> = cells(line, separator).collect();
        // The header in a comment is left out as a comment.
        Some(Heading { places: places(&columns, &names)?, header: (index == 0).then(|| line.to_vec()), names })
    })
}

fn places(columns: &[(Field, &Column)], names: &[&[u8]]) -> Option<Places> {
    let place = |(field, column): &(Field, &Column)| match column {
        Column::Number(number) => Some((*field, number - 1)),
        Column::Name(name) => {
            let exact = names.iter().position(|known| *known == name.as_bytes());
            let place = exact.or_else(|| names.iter().position(|known| known.eq_ignore_ascii_case(name.as_bytes())));
            Some((*field, place?))
        }
    };
    columns.iter().map(place).collect()
}

/// The separator under which the header has all names and most rows have all columns.
fn separated<'a>(spec: &Spec, headers: &[&'a [u8]], rows: &[&[u8]]) -> Option<(Separator, Heading<'a>)> {
    let mut best: Option<(usize, Separator, Heading<'a>)> = None;
    for separator in Separator::ALL {
        let Some(heading) = header(spec, headers, separator) else { continue };
        let last = heading.places.iter().map(|(_, place)| *place).max().unwrap_or(0);
        let whole = rows.iter().filter(|row| cells(row, separator).nth(last).is_some()).count();
        if whole > best.as_ref().map_or(0, |(most, ..)| *most) {
            best = Some((whole, separator, heading));
        }
    }
    best.map(|(_, separator, heading)| (separator, heading))
}

/// The separator under which all rows have the same number of cells, two or more.
fn even_separator(rows: &[&[u8]]) -> Option<Separator> {
    let count = |row: &[u8], separator| cells(row, separator).count();
    Separator::ALL.into_iter().find(|separator| {
        let first = rows.first().map_or(0, |row| count(row, *separator));
        first > 1 && rows.iter().all(|row| count(row, *separator) == first)
    })
}

fn no_such_column(spec: &Spec, first: &[u8], rows: &[&[u8]], path: &str) -> TraceError {
    let separator = spec.separator.or_else(|| even_separator(rows)).unwrap_or(Separator::Byte(b','));
    let names: Vec<String> = cells(first, separator).map(|cell| String::from_utf8_lossy(cell).into_owned()).collect();
    let is_known = |wanted: &str| names.iter().any(|name| name.eq_ignore_ascii_case(wanted));
    let columns = spec.columns();
    let missing = columns.iter().find(|(_, column)| matches!(column, Column::Name(name) if !is_known(name)));
    let problem = match missing {
        Some((_, column)) if names.iter().any(|name| name.starts_with(|letter: char| letter.is_ascii_digit())) => {
            format!(
                "no column is called {column}; {path} has no header, and its first row is {}, so give numbers from 1",
                names.join(", ")
            )
        }
        Some((_, column)) => {
            format!("no column is called {column}; the header of {path} has {}", names.join(", "))
        }
        None => format!(
            "the rows of {path} have fewer columns between {}, {} in the first; give separator=, ; tab or blanks",
            separator.name(),
            names.len()
        ),
    };
    problem_of(&spec.text, problem)
}
