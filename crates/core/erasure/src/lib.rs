//! Erasure codes over groups of blocks.
//!
//! A group has `n` data blocks and some code blocks, each the XOR of a set of data blocks, or a sum with factors of
//! GF(2^8) ([`reed_solomon`]). Elements are numbered: data
//! blocks from 0, code blocks from `n`. Sets of elements are bit masks.
//!
//! ```text
//! G_4^2     code block i = data block i + data block i+1 (mod 4)
//! elements  d0 d1 d2 d3 c0 c1 c2 c3
//! bits       0  1  2  3  4  5  6  7
//! ```

mod count;
mod decode;
mod group;
pub mod reed_solomon;
mod search;
mod sets;
mod timing;
mod words;

pub use count::{MOST_COUNTED, Misses, counts, decodable_sets, misses, ways};
pub use decode::{DECODERS, Decoder, Known};
pub use group::{CodeError, GroupCode, MOST_ELEMENTS, NAMED_CODES};
pub use search::{Best, Goal, MOST_TRIED, Step, best_by_climbing, best_of_all, graphs};
pub use timing::{completion, completion_of, decoded_after, harmonic};
