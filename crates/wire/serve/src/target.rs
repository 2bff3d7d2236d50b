//! A target that can be served.

use nbd::{ErrorNumber, Extent};
use serde_json::Value;
use std::time::Duration;

/// The operation of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderKind {
    /// Fill a buffer with the bytes of the range.
    Read,
    /// Replace the bytes of the range.
    Write,
    /// Everything acknowledged so far is to last.
    Flush,
    /// Nobody needs these bytes any more.
    Trim,
    /// These bytes are to be zeros; with `keep` their room is to be kept.
    Zeroes {
        /// Zeros are to be written, not only read.
        keep: bool,
    },
}

/// A request, checked against the size of the target and its sectors of 512 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    pub kind: OrderKind,
    /// First byte; a multiple of 512.
    pub offset: u64,
    /// Bytes; a multiple of 512.
    pub length: u32,
    /// It must last when it is answered.
    pub fua: bool,
}

/// An order that was served, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The number given with the order.
    pub tag: u32,
    /// Where the bytes of a read are in [`Answers::bytes`].
    pub result: Result<usize, ErrorNumber>,
}

/// Orders that were served since the last look.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// In order of completion.
    pub all: Vec<Answer>,
    /// Bytes of the reads among them.
    pub bytes: Vec<u8>,
}

/// The outcome of a command.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// It was done; an answer for the one who asked.
    Done(Value),
    /// It was done, and clients are to be hung up on: the device went away.
    HangUp(Value),
    /// In words: why not, and what there is.
    Refused(String),
}

/// A block device that serves orders.
pub trait Target {
    /// Size of the device in bytes.
    fn bytes(&self) -> u64;

    /// Bytes that it reads and writes best together, a power of two.
    fn preferred_bytes(&self) -> u32 {
        4096
    }

    /// Bytes of the pieces that a trim forgets whole: of a piece that it covers in part, all stays.
    fn trim_bytes(&self) -> u32 {
        512
    }

    /// Appends what is known of the bytes from `offset` on, in order: extents of whole pieces that a trim forgets, or
    /// up to the ends of the range. They may end before the range does; without any all of it is data.
    /// Errors: the device cannot say so now.
    fn extents(&mut self, _offset: u64, length: u64, extents: &mut Vec<Extent>) -> Result<(), ErrorNumber> {
        extents.push(Extent::data(length));
        Ok(())
    }

    /// Takes an order. `payload`: the bytes of a write. Its answer comes with [`Target::poll`].
    fn submit(&mut self, tag: u32, order: &Order, payload: &[u8]);

    /// Adds what has been served by now to `answers`. When to look again at the latest: `None` means that nothing will
    /// happen without a further order.
    fn poll(&mut self, answers: &mut Answers) -> Option<Duration>;

    /// Does what a command says, such as `smart`.
    fn control(&mut self, command: &str) -> Control;

    /// Adds what a record of requests is to say besides them: commands and faults, each in a line.
    fn take_notes(&mut self, _notes: &mut Vec<String>) {}

    /// The server ends soon: nothing is to keep it from answering requests under way.
    fn end_soon(&mut self) {}

    /// Everything lasts when this returns: the server ends.
    /// Errors: in words, what may be lost.
    fn close(&mut self) -> Result<(), String>;
}
