//! Archives, Parquet and the compressions that have no mark of their own.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, GzipLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;

use crate::support::{open_bytes, records};
use trace::formats::{OddLines, OpenOptions, TraceRecord, open, write_nandarium};

const ROWS: usize = 200;

fn text() -> String {
    let row = |row: usize| {
        let op = if row.is_multiple_of(3) { "R" } else { "W" };
        format!("7,{op},{},4096,{}\n", row * row % 9973 * 4096, 1_577_808_000_000_046 + row * 300)
    };
    (0..ROWS).map(row).collect()
}

fn whole() -> Vec<TraceRecord> {
    records("alibaba", text())
}

fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ::tar::Builder::new(Vec::new());
    for (name, contents) in files {
        let mut header = ::tar::Header::new_gnu();
        header.set_size(contents.len() as u64);
        archive.append_data(&mut header, name, *contents).unwrap();
    }
    archive.into_inner().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    liblzma::read::XzEncoder::new(bytes, 1).read_to_end(&mut packed).unwrap();
    packed
}

fn lzma(bytes: &[u8]) -> Vec<u8> {
    let options = liblzma::stream::LzmaOptions::new_preset(1).unwrap();
    let stream = liblzma::stream::Stream::new_lzma_encoder(&options).unwrap();
    let mut packed = Vec::new();
    liblzma::read::XzEncoder::new_stream(bytes, stream).read_to_end(&mut packed).unwrap();
    packed
}

fn brotli(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    brotli::CompressorReader::new(bytes, 4096, 5, 20).read_to_end(&mut packed).unwrap();
    packed
}

fn lz4(bytes: &[u8]) -> Vec<u8> {
    let mut packer = lz4_flex::frame::FrameEncoder::with_frame_info(
        lz4_flex::frame::FrameInfo::new().content_checksum(true),
        Vec::new(),
    );
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

fn read(bytes: &[u8], name: &str, options: &OpenOptions) -> Result<Vec<TraceRecord>, String> {
    let reader = open_bytes(bytes, name, options).map_err(|error| error.to_string())?;
    reader.collect::<Result<_, _>>().map_err(|error| error.to_string())
}

/// A damaged line within is an error.
fn strict() -> OpenOptions {
    OpenOptions { odd_lines: OddLines::Count(0), ..OpenOptions::default() }
}

fn member(name: &str) -> OpenOptions {
    OpenOptions { member: Some(name.to_owned()), ..OpenOptions::default() }
}

/// The text and its packings, by the name of the file.
fn packed() -> Vec<(&'static str, Vec<u8>)> {
    let text = text();
    let one = tar(&[("io/a.csv", text.as_bytes())]);
    vec![
        ("a.tar", one.clone()),
        ("a.tgz", gzip(&one)),
        ("a.tar.xz", xz(&one)),
        ("a.tar.zst", zstd::encode_all(&one[..], 1).unwrap()),
        ("a.tar.lzma", lzma(&one)),
        ("a.tar.lz4", lz4(&one)),
        ("b.tar", tar(&[("io/a.csv.gz", &gzip(text.as_bytes()))])),
        ("a.csv.lzma", lzma(text.as_bytes())),
        ("a.csv.br", brotli(text.as_bytes())),
        ("a.csv.lz4", lz4(text.as_bytes())),
    ]
}

/// A tar archive was a file that starts with "a.csv\0\0\0".
#[test]
fn one_file_in_any_packing_is_the_trace() {
    for (name, bytes) in packed() {
        let found = read(&bytes, name, &OpenOptions::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(found, whole(), "{name}");
        let mut converted = Vec::new();
        let reader = open_bytes(&bytes, name, &OpenOptions::default()).unwrap();
        write_nandarium(reader, &mut converted, "out").unwrap();
        assert_eq!(records("nandarium", converted), whole(), "{name}");
    }
}

#[test]
fn of_several_files_the_one_that_is_named_is_read() {
    let text = text();
    let other = "0,8,4096,R,0.5\n";
    let files = [("notes/readme.txt", &b"Hello\n"[..]), ("io/a.csv", text.as_bytes()), ("io/b.spc", other.as_bytes())];
    for bytes in [tar(&files), gzip(&tar(&files))] {
        assert_eq!(read(&bytes, "set.tar", &member("io/a.csv")).unwrap(), whole());
        assert_eq!(read(&bytes, "set.tar", &member("b.spc")).unwrap().len(), 1, "by its name without folders");
        let error = read(&bytes, "set.tar", &OpenOptions::default()).unwrap_err();
        let parts = [
            "set.tar: the tar archive has 3 files (notes/readme.txt, io/a.csv, io/b.spc)",
            "workload.member (--member",
        ];
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        let error = read(&bytes, "set.tar", &member("c.csv")).unwrap_err();
        assert!(error.contains("\"c.csv\"") && error.contains("io/b.spc"), "{error}");
    }
    let error = read(text.as_bytes(), "a.csv", &member("a.csv")).unwrap_err();
    assert!(error.contains("workload.member") && error.contains("leave it out"), "{error}");
}

#[test]
fn folders_long_names_empty_files_and_attributes_are_no_traces() {
    let text = text();
    let long = format!("{}/a.csv", "folder".repeat(40));
    let mut archive = ::tar::Builder::new(Vec::new());
    let mut folder = ::tar::Header::new_gnu();
    folder.set_entry_type(::tar::EntryType::Directory);
    folder.set_size(0);
    archive.append_data(&mut folder, "io/", &b""[..]).unwrap();
    for (name, contents) in [("io/._a.csv", &b"Mac OS X"[..]), ("io/done", b""), (&long, text.as_bytes())] {
        let mut header = ::tar::Header::new_gnu();
        header.set_size(contents.len() as u64);
        archive.append_data(&mut header, name, contents).unwrap();
    }
    let bytes = archive.into_inner().unwrap();
    let reader = open_bytes(&bytes, "a.tar", &OpenOptions::default()).unwrap();
    assert_eq!(reader.path(), format!("a.tar:{long}"));
    assert_eq!(reader.map(Result::unwrap).count(), ROWS);
}

#[test]
fn cut_packings_are_named() {
    for (name, bytes) in packed() {
        // A tar archive ends with empty blocks, which nothing needs.
        let end = if name == "a.tar" || name == "b.tar" {
            bytes.len() - 20_000.min(bytes.len() / 2)
        } else {
            bytes.len() - 3
        };
        for length in [bytes.len() / 2, end] {
            let Err(error) = read(&bytes[..length], name, &OpenOptions::default()) else {
                panic!("{name}: {length} of {} bytes were read", bytes.len())
            };
            assert!(error.contains(name) && error.contains("cut short"), "{name} at {length}: {error}");
        }
    }
}

/// A zip archive as a file, because it is read from its end.
fn zip(folder: &Path, files: &[(&str, &[u8])], method: zip::CompressionMethod) -> String {
    let path = folder.join("a.zip");
    let mut archive = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
    let options = zip::write::SimpleFileOptions::default().compression_method(method);
    archive.add_directory("io/", options).unwrap();
    for (name, contents) in files {
        archive.start_file(*name, options).unwrap();
        archive.write_all(contents).unwrap();
    }
    archive.finish().unwrap();
    path.to_str().unwrap().to_owned()
}

fn opened_member(path: &str, name: &str) -> Result<Vec<TraceRecord>, String> {
    let reader = open(path, &member(name)).map_err(|error| error.to_string())?;
    reader.collect::<Result<_, _>>().map_err(|error| error.to_string())
}

/// It had to be unpacked first.
#[test]
fn a_zip_archive_is_read_like_a_tar_archive() {
    let folder = tempfile::tempdir().unwrap();
    let text = text();
    let packed = gzip(text.as_bytes());
    for method in [zip::CompressionMethod::Stored, zip::CompressionMethod::Deflated] {
        let path = zip(folder.path(), &[("io/a.csv", text.as_bytes()), ("io/._a.csv", b"Mac")], method);
        assert_eq!(opened(&path, None).unwrap(), whole());
        let path = zip(folder.path(), &[("readme.txt", b"Hello"), ("io/a.csv.gz", &packed)], method);
        assert_eq!(opened_member(&path, "a.csv.gz").unwrap(), whole());
        let error = opened(&path, None).unwrap_err();
        assert!(error.contains("the zip archive has 2 files (readme.txt, io/a.csv.gz)"), "{error}");
        let error = opened_member(&path, "b.csv").unwrap_err();
        assert!(error.contains("the zip archive has no such file; it has readme.txt"), "{error}");
        let error = read(&std::fs::read(&path).unwrap(), "standard input", &OpenOptions::default()).unwrap_err();
        assert!(error.contains("a zip file is read from its end"), "{error}");
    }
}

const ALIKE: [&str; 2] = ["d/a.csv", "e/a.csv"];

fn on_disk(folder: &Path, bytes: &[u8]) -> String {
    let path = folder.join("set.tar");
    std::fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_member_that_fits_several_files_is_refused_with_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let text = text();
    let files = ALIKE.map(|name| (name, text.as_bytes()));
    let path = on_disk(folder.path(), &tar(&files));
    let zipped = zip(folder.path(), &files, zip::CompressionMethod::Deflated);
    let streamed = read(&gzip(&tar(&files)), "standard input", &member("a.csv")).unwrap_err();
    for error in [opened_member(&path, "a.csv").unwrap_err(), opened_member(&zipped, "a.csv").unwrap_err(), streamed] {
        assert!(error.contains("are called so (d/a.csv, e/a.csv); give the whole name of one"), "{error}");
    }
    for path in [&path, &zipped] {
        assert_eq!(opened_member(path, "e/a.csv").unwrap(), whole());
    }
}

/// Its whole name fits the ends of others.
#[test]
fn a_file_on_top_can_be_told_from_files_of_its_name_in_folders() {
    let folder = tempfile::tempdir().unwrap();
    let (text, other) = (text(), &b"7,R,0,4096,1577808000000046\n"[..]);
    let files = [("d/a.csv", other), ("a.csv", text.as_bytes()), ("e/a.csv", other)];
    let path = on_disk(folder.path(), &tar(&files));
    let error = opened_member(&path, "a.csv").unwrap_err();
    assert!(error.contains("(d/a.csv, ./a.csv, e/a.csv)"), "{error}");
    assert_eq!(opened_member(&path, "./a.csv").unwrap(), whole());
    let zipped = zip(folder.path(), &files, zip::CompressionMethod::Stored);
    assert_eq!(opened_member(&zipped, "a.csv").unwrap(), whole());
}

#[test]
fn one_name_twice_in_a_tar_archive_is_an_error_of_a_file_and_a_note_of_a_stream() {
    let folder = tempfile::tempdir().unwrap();
    let text = text();
    let bytes = tar(&[("a.csv", text.as_bytes()), ("a.csv", text.as_bytes())]);
    let error = opened_member(&on_disk(folder.path(), &bytes), "a.csv").unwrap_err();
    assert!(error.contains("2 files of the tar archive have this one name"), "{error}");
    let mut records = open_bytes(&bytes, "standard input", &member("a.csv")).unwrap();
    assert_eq!(records.by_ref().map(Result::unwrap).count(), ROWS);
    let notes = records.notes().concat();
    assert!(notes.contains("2 files called a.csv: the first was read, and tar unpacks the last"), "{notes}");
}

/// Contents of other files are passed over by a jump in a plain archive.
#[test]
fn a_member_behind_large_ones_is_read_and_a_cut_archive_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let (text, large) = (text(), vec![b'x'; 300_000]);
    let bytes = tar(&[("large", &large), ("a.csv", text.as_bytes()), ("larger", &large)]);
    assert_eq!(opened_member(&on_disk(folder.path(), &bytes), "a.csv").unwrap(), whole());
    let error = opened_member(&on_disk(folder.path(), &bytes[..200_000]), "a.csv").unwrap_err();
    assert!(error.contains("cut short"), "{error}");
}

const SCHEMA: &str = "message trace {
    required int64 time (TIMESTAMP(MICROS, true));
    required int64 time_us;
    optional binary op (UTF8);
    required int64 offset;
    required double length;
    optional int32 vol (INTEGER(32, false));
}";

/// The rows of the text as a Parquet file of several row groups.
fn parquet_file(folder: &Path, schema: &str, compression: Compression) -> String {
    let path = folder.join("t.parquet");
    let file = std::fs::File::create(&path).unwrap();
    let properties = WriterProperties::builder().set_compression(compression).build();
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
    let text = text();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    for rows in rows.chunks(60) {
        let mut group = writer.next_row_group().unwrap();
        let integers = |place: usize| -> Vec<i64> { rows.iter().map(|row| row[place].parse().unwrap()).collect() };
        while let Some(mut column) = group.next_column().unwrap() {
            let name = match column.untyped() {
                ColumnWriter::Int64ColumnWriter(writer) => writer.get_descriptor().name().to_owned(),
                _ => String::new(),
            };
            let all = vec![1; rows.len()];
            match column.untyped() {
                ColumnWriter::Int64ColumnWriter(writer) => {
                    let place = if name == "offset" { 2 } else { 4 };
                    writer.write_batch(&integers(place), None, None).unwrap();
                }
                ColumnWriter::ByteArrayColumnWriter(writer) => {
                    let texts: Vec<ByteArray> = rows.iter().map(|row| row[1].into()).collect();
                    writer.write_batch(&texts, Some(&all), None).unwrap();
                }
                ColumnWriter::DoubleColumnWriter(writer) => {
                    let lengths: Vec<f64> = rows.iter().map(|row| row[3].parse().unwrap()).collect();
                    writer.write_batch(&lengths, None, None).unwrap();
                }
                ColumnWriter::Int32ColumnWriter(writer) => {
                    writer.write_batch(&vec![7; rows.len()], Some(&all), None).unwrap();
                }
                ColumnWriter::FixedLenByteArrayColumnWriter(writer) => {
                    let bytes = integers(2).into_iter().map(|value| i128::from(value).to_be_bytes().to_vec().into());
                    writer.write_batch(&bytes.collect::<Vec<_>>(), None, None).unwrap();
                }
                ColumnWriter::FloatColumnWriter(writer) => {
                    let times: Vec<f32> = integers(4).into_iter().map(|time| time as f32).collect();
                    writer.write_batch(&times, None, None).unwrap();
                }
                _ => unreachable!("the schema has no such column"),
            }
            column.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
    path.to_str().unwrap().to_owned()
}

fn opened(path: &str, columns: Option<&str>) -> Result<Vec<TraceRecord>, String> {
    let options = OpenOptions { columns: columns.map(str::to_owned), ..strict() };
    let reader = open(path, &options).map_err(|error| error.to_string())?;
    reader.collect::<Result<_, _>>().map_err(|error| error.to_string())
}

#[test]
fn parquet_is_read_by_named_columns_and_proposes_them() {
    let folder = tempfile::tempdir().unwrap();
    for compression in
        [Compression::SNAPPY, Compression::UNCOMPRESSED, Compression::LZ4_RAW, Compression::GZIP(GzipLevel::default())]
    {
        let path = parquet_file(folder.path(), SCHEMA, compression);
        for time in ["time_us:us", "time", "5:us", "TIME:date"] {
            let time = time.replace("5:us", "2:us");
            let spec = format!("time={time},op=op,offset=offset,size=length,device=vol");
            let found = opened(&path, Some(&spec)).unwrap_or_else(|error| panic!("{spec}: {error}"));
            assert_eq!(found, whole(), "{spec} {compression}");
        }
    }
    let path = parquet_file(folder.path(), SCHEMA, Compression::SNAPPY);
    let error = opened(&path, None).unwrap_err();
    let parts = ["t.parquet", "time,time_us,op,offset,length,vol", "offset=offset:bytes,size=length:bytes,device=vol"];
    assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    let error = opened(&path, Some("time=ts,op=op,offset=lba,size=length")).unwrap_err();
    assert!(error.contains("no column is called ts") && error.contains("time, time_us, op"), "{error}");
}

#[test]
fn parquet_with_the_columns_of_a_format_needs_no_names() {
    const ALIBABA: &str = "message trace { required int64 timestamp; required binary opcode (UTF8); }";
    let folder = tempfile::tempdir().unwrap();
    let schema = "message trace { required int32 device_id; required binary opcode (UTF8); required int64 offset; \
                  required \
                  double length; required int64 timestamp; }";
    let path = parquet_file(folder.path(), schema, Compression::SNAPPY);
    assert_eq!(opened(&path, None).unwrap(), whole());
    let path = parquet_file(folder.path(), ALIBABA, Compression::SNAPPY);
    assert!(opened(&path, None).is_err(), "a table without addresses");
}

/// They were no columns at all, and the times of FLOAT were all the same.
#[test]
fn decimals_are_numbers_and_floats_of_32_bits_are_no_times() {
    const DECIMALS: &str = "message trace { required float short; required int64 time_us; required binary op (UTF8);
        required fixed_len_byte_array(16) offset (DECIMAL(38, 0)); required double length;
        required fixed_len_byte_array(16) id; required fixed_len_byte_array(16) tenths (DECIMAL(38, 1)); }";
    let folder = tempfile::tempdir().unwrap();
    let path = parquet_file(folder.path(), DECIMALS, Compression::SNAPPY);
    let rest = "op=op,offset=offset,size=length";
    for time in ["time_us:us", "2:us"] {
        let found = opened(&path, Some(&format!("time={time},{rest}"))).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(found.len(), ROWS);
        assert!(found.iter().zip(whole()).all(|(found, whole)| found.offset_bytes == whole.offset_bytes), "{time}");
    }
    let found = opened(&path, Some("time=time_us:us,op=op,offset=tenths:5120,size=length")).unwrap();
    assert_eq!(found[5].offset_bytes, whole()[5].offset_bytes * 512, "tenths of 5120 bytes");
    for time in ["short:us", "1:us"] {
        let error = opened(&path, Some(&format!("time={time},{rest}"))).unwrap_err();
        let parts = ["time: column short", "t.parquet is a FLOAT", "write it as DOUBLE or as an integer"];
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
    let error = opened(&path, Some("time=time_us:us,op=op,offset=id,size=length")).unwrap_err();
    let parts = ["no column is called id", "time_us, op, offset", "and id, which nandarium does not read"];
    assert!(parts.iter().all(|part| error.contains(part)), "{error}");
}

#[test]
fn parquet_from_a_stream_or_in_another_packing_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = std::fs::read(parquet_file(folder.path(), SCHEMA, Compression::SNAPPY)).unwrap();
    for bytes in [bytes.clone(), gzip(&bytes), tar(&[("t.parquet", &bytes)])] {
        let error = read(&bytes, "standard input", &OpenOptions::default()).unwrap_err();
        assert!(error.contains("read from its end") && error.contains("Save it to a file"), "{error}");
    }
    let path = folder.path().join("cut.parquet");
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let error = opened(path.to_str().unwrap(), None).unwrap_err();
    assert!(error.contains("cut.parquet") && error.contains("Parquet"), "{error}");
}

/// 143 of 200 rows were the whole trace.
#[test]
fn a_parquet_file_whose_row_group_lost_rows_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let path = parquet_file(folder.path(), SCHEMA, Compression::SNAPPY);
    let bytes = std::fs::read(&path).unwrap();
    let mut damaged = 0;
    // The footer writes the 60 rows of a group as 120.
    for at in (bytes.len() / 2..bytes.len()).filter(|at| bytes[*at] == 120) {
        let mut bytes = bytes.clone();
        bytes[at] = 6;
        std::fs::write(&path, &bytes).unwrap();
        match opened(&path, Some("time=time_us:us,op=op,offset=offset,size=length")) {
            Ok(found) => assert_eq!(found.len(), ROWS, "byte {at}"),
            Err(error) => damaged += usize::from(error.contains("Parquet") && error.contains("number of rows")),
        }
    }
    assert!(damaged >= 3, "each of three groups of 60 rows, {damaged}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

    /// What a damaged packing still gives is an error at its end, or the whole trace: never a part of it.
    #[test]
    fn no_damaged_packing_gives_a_part_of_its_trace(
        which in 0_usize..10,
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let (name, mut bytes) = packed().swap_remove(which);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(found) = read(&bytes, name, &strict()) {
            prop_assert_eq!(found.len(), ROWS, "{}, byte {}", name, at);
        }
    }

    #[test]
    fn no_damaged_parquet_file_gives_a_part_of_its_trace(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let folder = tempfile::tempdir().unwrap();
        let path = parquet_file(folder.path(), SCHEMA, Compression::SNAPPY);
        let mut bytes = std::fs::read(&path).unwrap();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        std::fs::write(&path, &bytes).unwrap();
        if let Ok(found) = opened(&path, Some("time=time_us:us,op=op,offset=offset,size=length")) {
            prop_assert_eq!(found.len(), ROWS, "byte {}", at);
        }
    }

    #[test]
    fn no_damaged_zip_archive_gives_a_part_of_its_trace(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let folder = tempfile::tempdir().unwrap();
        let path = zip(folder.path(), &[("a.csv", text().as_bytes())], zip::CompressionMethod::Deflated);
        let mut bytes = std::fs::read(&path).unwrap();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        std::fs::write(&path, &bytes).unwrap();
        if let Ok(found) = opened(&path, None) {
            prop_assert_eq!(found, whole(), "byte {}", at);
        }
    }
}
