//! Sizes of the pieces of long orders, and how long a target works before others get their turn.

use std::time::Duration;

/// Most bytes that are read or written at once; longer orders are taken apart.
pub(crate) const PIECE: u64 = 256 << 10;
/// Bytes of zeros for a piece.
pub(crate) static ZEROS: [u8; PIECE as usize] = [0; PIECE as usize];
/// Most bytes of a trim at once, of all trims together: others get their turn between two pieces.
pub(crate) const TRIM: u64 = 4 << 20;
/// Longest time of the clock that a target works before others are looked after.
pub(crate) const SLICE: Duration = Duration::from_millis(2);
