//! Every reader over any bytes. The first byte chooses format and order; the requests must come in
//! order of time and within 64 bits.

use std::io::Cursor;

use trace::formats::{FORMATS, OpenOptions, Order, open_reader};

const ORDERS: [Order; 4] = [Order::Error, Order::Clamp, Order::Sort, Order::Whole];

/// # Panics
///
/// If the input breaks a law of the target.
pub fn trace_read(bytes: &[u8]) {
    let Some((&choice, rest)) = bytes.split_first() else { return };
    let choice = usize::from(choice);
    let options = OpenOptions {
        format: Some(FORMATS[choice % FORMATS.len()].name.to_owned()),
        order: Some(ORDERS[choice / FORMATS.len() % ORDERS.len()]),
        window_records: 4,
        gap_limit_ns: (choice % 2 == 0).then_some(1_000_000),
        ..OpenOptions::default()
    };
    let Ok(mut records) = open_reader(Box::new(Cursor::new(rest.to_vec())), "input", &options) else {
        return;
    };
    let (mut last, mut count) = (0, 0);
    for record in records.by_ref().flatten() {
        assert!(record.time_ns >= last, "time goes back");
        assert!(record.offset_bytes.checked_add(record.length_bytes).is_some(), "end beyond 64 bits");
        last = record.time_ns;
        count += 1;
    }
    assert!(records.statistics().records >= count, "more records than were read");
}
