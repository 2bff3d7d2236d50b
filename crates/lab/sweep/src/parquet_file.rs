//! All runs as one table in a Parquet file: a row for each run, also for runs that could not be run.

use crate::execute::Outcome;
use crate::grid::Grid;
use crate::table::{self, Cells, Column};
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

fn physical(cells: &Cells) -> &'static str {
    match cells {
        Cells::Whole(_) => "INT64",
        Cells::Real(_) => "DOUBLE",
        Cells::Text(_) => "BINARY",
    }
}

/// Writes the table of all runs.
/// Errors: it cannot be written.
pub fn write_parquet(grid: &Grid, outcomes: &[Option<Outcome>], into: impl Write + Send) -> Result<(), ParquetError> {
    let columns = table::runs(grid, outcomes);
    let mut schema = "message run {\n".to_owned();
    for Column { name, cells } in &columns {
        let text = if matches!(cells, Cells::Text(_)) { " (UTF8)" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(schema, "optional {} {name}{text};", physical(cells));
    }
    schema.push('}');
    let schema = Arc::new(parse_message_type(&schema)?);
    let properties =
        WriterProperties::builder().set_compression(Compression::ZSTD(parquet::basic::ZstdLevel::default()));
    let mut writer = SerializedFileWriter::new(into, schema, Arc::new(properties.build()))?;
    let mut group = writer.next_row_group()?;
    for column in &columns {
        let mut column_writer = group
            .next_column()?
            .ok_or_else(|| ParquetError::General(format!("no place for column {}", column.name)))?;
        match (column_writer.untyped(), &column.cells) {
            (ColumnWriter::Int64ColumnWriter(writer), Cells::Whole(cells)) => {
                write(cells, |values, levels| writer.write_batch(values, Some(levels), None))?;
            }
            (ColumnWriter::DoubleColumnWriter(writer), Cells::Real(cells)) => {
                write(cells, |values, levels| writer.write_batch(values, Some(levels), None))?;
            }
            (ColumnWriter::ByteArrayColumnWriter(writer), Cells::Text(cells)) => {
                let cells: Vec<Option<ByteArray>> =
                    cells.iter().map(|cell| cell.as_deref().map(ByteArray::from)).collect();
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
fn write<T: Clone>(
    cells: &[Option<T>],
    batch: impl FnOnce(&[T], &[i16]) -> Result<usize, ParquetError>,
) -> Result<(), ParquetError> {
    let values: Vec<T> = cells.iter().flatten().cloned().collect();
    let levels: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
    batch(&values, &levels).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::Status;
    use crate::metric::METRICS;
    use crate::plan::Plan;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;
    use std::path::Path;

    #[test]
    fn a_row_for_each_run_with_numbers_where_keys_have_them() {
        let text = "stacks = [\"page\"]\nworkloads = [\"mixed\"]\n[set]\ndrive.capacity = \
            \"64MiB\"\nflash.pages_per_block = 64\nflash.channels = 1\nflash.dies_per_channel = 1\n\
                    [axes]\ndrive.over_provisioning = [\"25%\", \"50%\"]\nftl.gc.victim = [\"greedy\", \"fifo\"]";
        let grid = Grid::new(Plan::parse(text, "p.toml", Path::new(""), &[]).unwrap(), "build").unwrap();
        let mut outcomes = vec![Some(Outcome::without_result(Status::Impossible, "why".to_owned())); 3];
        outcomes.push(None);
        outcomes[0] = Some(Outcome {
            status: Status::Complete,
            error: None,
            hash: Some("h".to_owned()),
            metrics: vec![Some(2.5); METRICS.len()],
            notes: Vec::new(),
        });
        let mut file = tempfile::tempfile().unwrap();
        write_parquet(&grid, &outcomes, &mut file).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
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
