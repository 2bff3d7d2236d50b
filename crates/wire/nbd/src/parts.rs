//! Long reads and writes in parts: for a client that may hold little memory.

use crate::check::REQUEST_HEAD;
use crate::connection::{Connection, Phase};
use crate::end::End;
use crate::request::{Command, ErrorNumber, Request};
use crate::wire::chunk;

/// A long read or write that is handed out part by part.
#[derive(Debug)]
pub(crate) struct Parts {
    whole: Request,
    /// Bytes of the parts that were answered.
    done: u32,
    /// Most bytes of a part.
    most: u32,
    /// Bytes of the next part of a write that have arrived.
    pub got: usize,
    /// Why a part of a write failed.
    failed: Option<ErrorNumber>,
}

impl Parts {
    pub fn is_write(&self) -> bool {
        self.whole.command == Command::Write
    }

    fn length(&self) -> u32 {
        self.most.min(self.whole.length - self.done)
    }

    pub fn next(&self) -> Request {
        let Request { cookie, command, fua, no_hole, fast_zero, unfragmented, one_extent, .. } = self.whole;
        let offset = self.whole.offset + u64::from(self.done);
        let length = self.length();
        Request { cookie, command, offset, length, fua, no_hole, fast_zero, unfragmented, one_extent, is_part: true }
    }
}

impl Connection {
    /// Hands out the request that waits for memory in parts of at most `most` bytes, which should be a multiple of the
    /// block size. Each part is a request of its own, which waits until the part before it is answered and its answer
    /// is sent. So a client that takes no bytes makes the server hold one part. Does nothing if no request waits for
    /// memory, or if answers to requests before it are not sent yet.
    ///
    /// The client sees one answer. A part of a read that fails is told to a client with structured replies; others have
    /// been told the success of the read with its first part, and a later part that fails ends the connection with
    /// [`End::LateError`].
    pub fn split(&mut self, most: u32) {
        if self.outstanding() > 0 || self.output.len() > 0 {
            return;
        }
        let Some(whole) = self.waiting() else { return };
        self.input.consume(REQUEST_HEAD);
        self.phase = Phase::Parts(Parts { whole, done: 0, most: most.max(1), got: 0, failed: None });
        self.receive_part();
    }

    /// Makes room for the next part of a write, and moves there what has arrived of it.
    fn receive_part(&mut self) {
        let Phase::Parts(parts) = &mut self.phase else { return };
        if !parts.is_write() {
            return;
        }
        let length = parts.length() as usize;
        if self.bulk.capacity() < length {
            self.bulk = vec![0; length];
        } else {
            self.bulk.resize(length, 0);
        }
        let there = self.input.unread();
        parts.got = there.len().min(length);
        self.bulk[..parts.got].copy_from_slice(&there[..parts.got]);
        let got = parts.got;
        self.input.consume(got);
    }

    /// A part of a write is done, or failed.
    pub(crate) fn part_written(&mut self, request: &Request, result: Result<(), ErrorNumber>) {
        let Phase::Parts(parts) = &mut self.phase else { return };
        parts.done += request.length;
        parts.failed = parts.failed.or(result.err());
        if parts.done < parts.whole.length {
            self.receive_part();
            return;
        }
        let error = parts.failed.map_or(0, ErrorNumber::number);
        self.phase = Phase::Requests;
        self.put_simple(request.cookie, error, 0);
    }

    /// Answers a part of a read.
    pub(crate) fn part_read(&mut self, request: &Request, fill: impl FnOnce(&mut [u8]) -> Result<(), ErrorNumber>) {
        let Phase::Parts(parts) = &self.phase else { return };
        let (is_first, length) = (parts.done == 0, parts.whole.length);
        let is_last = parts.done + request.length == length;
        let before = self.output.len();
        let bytes = if self.terms.structured && !request.unfragmented {
            let flags = if is_last { chunk::DONE } else { 0 };
            self.put_data_chunk(request.cookie, flags, request.offset, request.length)
        } else {
            if is_first {
                self.put_head_of_read(request, length);
            }
            self.output.room(request.length as usize)
        };
        if let Err(error) = fill(bytes) {
            self.output.truncate(before);
            self.part_not_read(request, error);
        } else if is_last {
            self.phase = Phase::Requests;
        } else if let Phase::Parts(parts) = &mut self.phase {
            parts.done += request.length;
        }
    }

    /// A part of a read failed, and the read with it.
    pub(crate) fn part_not_read(&mut self, request: &Request, error: ErrorNumber) {
        let Phase::Parts(parts) = &self.phase else { return };
        if parts.done == 0 || self.terms.structured && !request.unfragmented {
            self.phase = Phase::Requests;
            self.answer_error(true, request.cookie, error);
        } else {
            self.finish(End::LateError(error));
        }
    }
}
