//! All blank-separated fields of a line at once, for formats that are parsed from the right
//! because a process name in the middle may contain blanks.

use super::fields::{FieldError, FieldResult, field_error};
use super::number;

const TOKENS_MAX: usize = 48;

/// The fields of a line, on the stack.
pub(crate) struct Tokens<'a> {
    line: &'a [u8],
    items: [&'a [u8]; TOKENS_MAX],
    count: usize,
}

impl<'a> Tokens<'a> {
    /// Splits `line`; `None` when it has more fields than any trace line.
    pub fn split(line: &'a [u8]) -> FieldResult<Tokens<'a>> {
        let mut tokens = Tokens { line, items: [b""; TOKENS_MAX], count: 0 };
        for item in line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|item| !item.is_empty()) {
            let Some(place) = tokens.items.get_mut(tokens.count) else {
                return Err(field_error(0, "line", line, "at most 48 fields"));
            };
            *place = item;
            tokens.count += 1;
        }
        Ok(tokens)
    }

    /// All of the line.
    pub fn line(&self) -> &'a [u8] {
        self.line
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// The field at `index`, empty beyond the end.
    pub fn get(&self, index: usize) -> &'a [u8] {
        self.items.get(index).copied().unwrap_or(b"")
    }

    #[expect(clippy::unnecessary_box_returns, reason = "the error type of FieldResult is boxed")]
    pub fn wrong(&self, index: usize, name: &'static str, expected: &'static str) -> Box<FieldError> {
        field_error(index as u32 + 1, name, self.get(index), expected)
    }

    pub fn integer(&self, index: usize, name: &'static str) -> FieldResult<u64> {
        number::integer(self.get(index)).ok_or_else(|| self.wrong(index, name, "an integer of 0 or more"))
    }

    /// An address or length in units of `unit` bytes, as bytes.
    pub fn bytes(&self, index: usize, name: &'static str, unit: u64) -> FieldResult<u64> {
        let value = self.integer(index, name)?;
        value.checked_mul(unit).ok_or_else(|| self.wrong(index, name, "an address below 2^64 bytes"))
    }

    pub fn decimal(&self, index: usize, name: &'static str, digits: u32) -> FieldResult<i64> {
        number::decimal(self.get(index), digits).ok_or_else(|| self.wrong(index, name, "a decimal number"))
    }
}
