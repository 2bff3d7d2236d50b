//! All runs as one table in a Parquet file: a row for each run, also for those that could not be run.

use crate::axis;
use crate::execute::Outcome;
use crate::grid::{Grid, Run};
use crate::metric::METRICS;
use layer::Value;
use parquet::basic::Compression;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::fmt::Write as _;
use std::io::Write;
use std::sync::Arc;

/// A column: its name and what is in it.
struct Column {
    name: String,
    cells: Cells,
}

enum Cells {
    Whole(Vec<Option<i64>>),
    Real(Vec<Option<f64>>),
    Text(Vec<Option<String>>),
}

impl Cells {
    fn kind(&self) -> &'static str {
        match self {
            Cells::Whole(_) => "INT64",
            Cells::Real(_) => "DOUBLE",
            Cells::Text(_) => "BINARY",
        }
    }
}

/// Writes the table. An axis of numbers is a column of numbers in its own unit (bytes, nanoseconds, a share of 1).
///
/// # Errors
/// It cannot be written.
pub fn write_parquet(grid: &Grid, outcomes: &[Option<Outcome>], into: impl Write + Send) -> Result<(), ParquetError> {
    let columns = columns(grid, outcomes);
    let mut schema = "message run {\n".to_owned();
    for Column { name, cells } in &columns {
        let text = if matches!(cells, Cells::Text(_)) { " (UTF8)" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(schema, "optional {} {name}{text};", cells.kind());
    }
    schema.push('}');
    let schema = Arc::new(parse_message_type(&schema)?);
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(parquet::basic::ZstdLevel::default()));
    let mut writer = SerializedFileWriter::new(into, schema, Arc::new(properties.build()))?;
    let mut group = writer.next_row_group()?;
    for column in &columns {
        let mut column_writer = group.next_column()?.ok_or_else(|| ParquetError::General(format!("no place for column {}", column.name)))?;
        match (column_writer.untyped(), &column.cells) {
            (ColumnWriter::Int64ColumnWriter(writer), Cells::Whole(cells)) => write(cells, |values, levels| writer.write_batch(values, Some(levels), None))?,
            (ColumnWriter::DoubleColumnWriter(writer), Cells::Real(cells)) => write(cells, |values, levels| writer.write_batch(values, Some(levels), None))?,
            (ColumnWriter::ByteArrayColumnWriter(writer), Cells::Text(cells)) => {
                let cells: Vec<Option<ByteArray>> = cells.iter().map(|cell| cell.as_deref().map(ByteArray::from)).collect();
                write(&cells, |values, levels| writer.write_batch(values, Some(levels), None))?;
            }
            _ => unreachable!("the schema was made from the columns"),
        }
        column_writer.close()?;
    }
    group.close()?;
    writer.close()?;
    Ok(())
}

/// Hands over what is there, and for each row whether it is.
fn write<T: Clone>(cells: &[Option<T>], batch: impl FnOnce(&[T], &[i16]) -> Result<usize, ParquetError>) -> Result<(), ParquetError> {
    let values: Vec<T> = cells.iter().flatten().cloned().collect();
    let levels: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
    batch(&values, &levels).map(|_| ())
}

fn columns(grid: &Grid, outcomes: &[Option<Outcome>]) -> Vec<Column> {
    let (plan, runs) = (&grid.plan, &grid.runs);
    let whole = |name: &str, of: &dyn Fn(&Run) -> i64| Column { name: name.to_owned(), cells: Cells::Whole(runs.iter().map(|run| Some(of(run))).collect()) };
    let text = |name: &str, of: &dyn Fn(&Run) -> String| Column { name: name.to_owned(), cells: Cells::Text(runs.iter().map(|run| Some(of(run))).collect()) };
    let known = |name: &str, of: &dyn Fn(&Outcome) -> Option<String>| {
        let cells = outcomes.iter().map(|outcome| outcome.as_ref().and_then(of)).collect();
        Column { name: name.to_owned(), cells: Cells::Text(cells) }
    };
    let mut columns = vec![
        text("stack", &|run| plan.stacks[run.point.stack].clone()),
        text("workload", &|run| plan.workloads[run.point.workload].clone()),
        whole("repetition", &|run| i64::from(run.repetition)),
        whole("seed", &|run| run.seed as i64),
    ];
    for (at, axis) in plan.axes.iter().enumerate() {
        let values: Vec<Option<Value>> = axis::parameter(axis.key, "").map_or_else(
            |_| vec![None; axis.values.len()],
            |parameter| axis.values.iter().map(|value| parameter.kind.parse(value).ok()).collect(),
        );
        let number = |value: &Option<Value>| match value {
            Some(Value::Whole(whole)) => Some(*whole as f64),
            Some(Value::Real(real)) => Some(*real),
            _ => None,
        };
        let numbers: Option<Vec<f64>> = values.iter().map(number).collect();
        let name = axis.key.replace('.', "_");
        columns.push(match numbers {
            Some(numbers) => Column { name, cells: Cells::Real(runs.iter().map(|run| Some(numbers[run.point.values[at]])).collect()) },
            None => text(&name, &|run| axis.values[run.point.values[at]].clone()),
        });
    }
    columns.extend([
        known("status", &|outcome| Some(outcome.status.name().to_owned())),
        known("error", &|outcome| outcome.error.clone()),
        known("hash", &|outcome| outcome.hash.clone()),
        text("address", &|run| run.address.clone()),
    ]);
    columns.extend(METRICS.iter().enumerate().map(|(at, metric)| {
        let cells = outcomes.iter().map(|outcome| outcome.as_ref().and_then(|outcome| outcome.metrics[at])).collect();
        Column { name: metric.name.to_owned(), cells: Cells::Real(cells) }
    }));
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::Status;
    use crate::plan::Plan;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;
    use std::path::Path;

    #[test]
    fn a_row_for_each_run_with_numbers_where_keys_have_them() {
        let text = "stacks = [\"page\"]\nworkloads = [\"mixed\"]\n[set]\ndrive.capacity = \"64MiB\"\nflash.pages_per_block = 64\nflash.channels = 1\nflash.dies_per_channel = 1\n\
                    [axes]\ndrive.over_provisioning = [\"25%\", \"50%\"]\nftl.gc.victim = [\"greedy\", \"fifo\"]";
        let grid = Grid::new(Plan::parse(text, "p.toml", Path::new(""), &[]).unwrap(), "build").unwrap();
        let mut outcomes = vec![Some(Outcome::without_result(Status::Impossible, "why".to_owned())); 3];
        outcomes.push(None);
        outcomes[0] = Some(Outcome { status: Status::Complete, error: None, hash: Some("h".to_owned()), metrics: vec![Some(2.5); METRICS.len()] });
        let mut file = Vec::new();
        write_parquet(&grid, &outcomes, &mut file).unwrap();
        let reader = SerializedFileReader::new(bytes::Bytes::from(file)).unwrap();
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().collect::<Result<_, _>>().unwrap();
        let names: Vec<&str> = rows[0].get_column_iter().map(|(name, _)| name.as_str()).collect();
        let at = |name: &str| names.iter().position(|known| *known == name).unwrap();
        assert_eq!(rows.len(), 4);
        assert!((rows[2].get_double(at("drive_over_provisioning")).unwrap() - 0.5).abs() < 1e-12);
        assert_eq!(rows[1].get_string(at("ftl_gc_victim")).unwrap(), "fifo");
        assert!((rows[0].get_double(at("waf")).unwrap() - 2.5).abs() < 1e-12);
        assert_eq!(rows[1].get_string(at("error")).unwrap(), "why");
        assert!(rows[3].get_string(at("status")).is_err(), "what was not run has no status");
    }
}
