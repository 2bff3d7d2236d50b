//! Tokens: a job or operation, what of it, and which page or row.

use nand::Token;

pub(crate) const NEWEST: u32 = 0;
pub(crate) const OLD: u32 = 1;
pub(crate) const PARITY: u32 = 2;
pub(crate) const DATA: u32 = 3;
pub(crate) const FRESH: u32 = 4;
/// Trims of several jobs, or a flush of the host.
pub(crate) const LOG: u32 = 5;
/// Index of the latter.
pub(crate) const OF_HOST: u32 = 1;
pub(crate) const READ: u32 = 6;
/// A member of a stripe read for a page whose chip is busy.
pub(crate) const AROUND: u32 = 7;

pub(crate) fn new(number: u32, kind: u32, index: u32) -> Token {
    number << 8 | kind << 5 | index
}

pub(crate) fn split(token: Token) -> (u32, u32, u32) {
    (token >> 8, token >> 5 & 7, token & 31)
}
