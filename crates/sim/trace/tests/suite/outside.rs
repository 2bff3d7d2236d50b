//! A trace format that a program registers, written against what the crate says in public.

use trace::formats::{
    FieldResult, Format, LineParser, Order, Parser, Sink, TraceOptions, TraceRecord, TraceWorkload, field_error,
    register,
};
use trace::{Workload, WorkloadError};
use units::HostOp;

/// `milliseconds>first page>pages`, a minus in front of what is read.
static TOY: Format = Format {
    name: "toy",
    doc: "three numbers a line",
    columns: "milliseconds>first page>pages",
    time_unit: "ms",
    address_unit: "pages of 4 KiB",
    extensions: &[],
    usual_order: Order::Sort,
    parser: || Parser::Lines(Box::new(Toy)),
};

struct Toy;

impl LineParser for Toy {
    fn parse(&mut self, line: &[u8], sink: &mut Sink) -> FieldResult<()> {
        let (op, line) = match line.strip_prefix(b"-") {
            Some(rest) => (HostOp::Read, rest),
            None => (HostOp::Write, line),
        };
        let mut fields = (1..).zip(line.split(|byte| *byte == b'>'));
        let mut number = |name| {
            let (column, field) = fields.next().unwrap_or_default();
            let number = std::str::from_utf8(field).ok().and_then(|text| text.parse::<u32>().ok());
            number.map(u64::from).ok_or_else(|| field_error(column, name, field, "a number"))
        };
        let (time, first, pages) = (number("time")?, number("first page")?, number("pages")?);
        sink.push(TraceRecord::new(time as i64 * 1_000_000, 0, op, first * 4096, pages * 4096))
    }
}

fn replay(text: &'static str) -> Result<TraceWorkload, WorkloadError> {
    // Tests run side by side, and the first one registers it.
    let _ = register(&TOY);
    let options = TraceOptions { format: Some("toy".to_owned()), ..TraceOptions::new(1 << 20) };
    TraceWorkload::from_reader(Box::new(text.as_bytes()), "toy", &options)
}

#[test]
fn a_format_from_outside_is_replayed_by_its_name() {
    let mut workload = replay("5>3>1\n-2>8>2\n").unwrap();
    let mut requests = Vec::new();
    workload.next_batch(&mut requests, 10).unwrap();
    let found: Vec<_> = requests.iter().map(|r| (r.arrival, r.op, r.first_sector, r.sectors)).collect();
    assert_eq!(found, [(0, HostOp::Read, 64, 16), (3_000_000, HostOp::Write, 24, 8)]);
}

#[test]
fn its_errors_name_line_and_field_as_those_of_the_others_do() {
    let mut workload = replay("5>3>1\n6>x>1\n").unwrap();
    let error = workload.next_batch(&mut Vec::new(), 10).unwrap_err().to_string();
    for part in ["line 2", "first page", "\"x\"", "a number"] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn no_format_takes_the_name_of_another() {
    static MSR: Format = Format { name: "msr", parser: || Parser::Lines(Box::new(Toy)), ..TOY };
    assert!(register(&MSR).unwrap_err().contains("msr"));
}

#[test]
fn an_unknown_name_is_answered_with_those_from_outside_as_well() {
    let _ = register(&TOY);
    let options = TraceOptions { format: Some("toyy".to_owned()), ..TraceOptions::new(1 << 20) };
    let error = TraceWorkload::from_reader(Box::new(&b""[..]), "toy", &options).map(drop).unwrap_err().to_string();
    assert!(error.contains("msr") && error.contains(", toy"), "{error}");
}
