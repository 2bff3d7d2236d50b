//! Detection and decompression over any bytes: no panic, and every detected trace can be read.

use std::io::Cursor;

use trace::formats::{OpenOptions, open_reader, summarise};

/// # Panics
///
/// If the input breaks a law of the target.
pub fn trace_detect(bytes: &[u8]) {
    let reader = Box::new(Cursor::new(bytes.to_vec()));
    if let Ok(mut records) = open_reader(reader, "input", &OpenOptions::default()) {
        let _ = summarise(&mut records);
    }
}
