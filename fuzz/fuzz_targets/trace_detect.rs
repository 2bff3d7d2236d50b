//! Detection and decompression over any bytes: no panic, and whatever is detected can be read.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use trace::formats::{OpenOptions, open_reader, summarise};

fuzz_target!(|bytes: &[u8]| {
    let reader = Box::new(Cursor::new(bytes.to_vec()));
    if let Ok(mut records) = open_reader(reader, "input", &OpenOptions::default()) {
        let _ = summarise(&mut records);
    }
});
