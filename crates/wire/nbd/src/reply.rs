//! Answers.
#![expect(clippy::needless_pass_by_value, reason = "a request that was given back cannot be answered twice")]

use std::iter;

use crate::connection::Connection;
use crate::request::{Command, ErrorNumber, Extent, Request};
use crate::wire::{ALLOCATION_ID, CHUNK_MAGIC, SIMPLE_REPLY_MAGIC, chunk};

/// Bytes of a simple reply, without data.
const SIMPLE_HEAD: usize = 16;
/// Bytes of a chunk of a structured reply, without payload.
const CHUNK_HEAD: usize = 20;
/// Most extents in one answer; the client asks again for the rest.
const MOST_EXTENTS: usize = 1 << 14;

impl Connection {
    /// A request is done that is told nothing else: anything but a read and a block status.
    ///
    /// # Panics
    /// It is one of these two.
    pub fn done(&mut self, request: Request) {
        let plain = !matches!(request.command, Command::Read | Command::BlockStatus);
        assert!(plain, "{:?} is answered with what it asks for", request.command);
        self.settle();
        if request.is_part {
            self.part_written(&request, Ok(()));
        } else {
            self.put_simple(request.cookie, 0, 0);
        }
    }

    /// Answers that a request failed.
    pub fn failed(&mut self, request: Request, error: ErrorNumber) {
        self.settle();
        let in_chunks = matches!(request.command, Command::Read | Command::BlockStatus);
        match request.command {
            Command::Write if request.is_part => self.part_written(&request, Err(error)),
            _ if request.is_part => self.part_not_read(&request, error),
            _ => self.answer_error(in_chunks, request.cookie, error),
        }
    }

    /// Answers a read. `fill` is given room for `length` bytes, with anything in it, and puts the bytes from
    /// `offset` on there; if it fails, the read does.
    ///
    /// # Panics
    /// The request is no read.
    pub fn read(&mut self, request: Request, fill: impl FnOnce(&mut [u8]) -> Result<(), ErrorNumber>) {
        if request.is_part {
            self.settle();
            return self.part_read(&request, fill);
        }
        self.answer_read(&request, |connection, request| {
            fill(if connection.terms.structured {
                connection.put_data_chunk(request.cookie, chunk::DONE, request.offset, request.length)
            } else {
                connection.put_simple(request.cookie, 0, request.length)
            })
        });
    }

    /// Answers a read where some bytes are known to be zeros; these are not sent if the client can do
    /// without. `extents` tell from `offset` on zeros; the rest is data. `fill` is
    /// called for each run of data, in order, with its first byte and room for all of it, with anything in
    /// it; if it fails, the read does.
    ///
    /// # Panics
    /// The request is no read.
    pub fn read_sparse(
        &mut self,
        request: Request,
        extents: &[Extent],
        mut fill: impl FnMut(u64, &mut [u8]) -> Result<(), ErrorNumber>,
    ) {
        let zeros = |extent: &Extent| extent.zero;
        let one_piece = request.unfragmented && runs(extents, request.length, zeros).nth(1).is_some();
        if one_piece || !self.terms.structured || request.is_part {
            let (mut offset, length) = (request.offset, request.length);
            return self.read(request, |mut bytes| {
                for (count, zero) in runs(extents, length, zeros) {
                    let (run, rest) = bytes.split_at_mut(count as usize);
                    if zero {
                        run.fill(0);
                    } else {
                        fill(offset, run)?;
                    }
                    (bytes, offset) = (rest, offset + u64::from(count));
                }
                Ok(())
            });
        }
        self.answer_read(&request, |connection, request| {
            let (mut offset, end) = (request.offset, request.offset + u64::from(request.length));
            for (count, zero) in runs(extents, request.length, zeros) {
                let last = if offset + u64::from(count) == end { chunk::DONE } else { 0 };
                if zero {
                    connection.put_hole_chunk(request.cookie, last, offset, count);
                } else {
                    fill(offset, connection.put_data_chunk(request.cookie, last, offset, count))?;
                }
                offset += u64::from(count);
            }
            Ok(())
        });
    }

    /// Answers a block status with the extents from `offset` on. Bytes that `extents` do not reach count as data.
    /// Extents beyond the request are left out, and equal neighbours are joined.
    ///
    /// # Panics
    /// The request is not a block status.
    pub fn extents(&mut self, request: Request, extents: &[Extent]) {
        assert!(request.command == Command::BlockStatus, "{:?} is not a block status", request.command);
        self.settle();
        let most = if request.one_extent { 1 } else { MOST_EXTENTS };
        let told = || runs(extents, request.length, |extent| extent.flags()).take(most);
        let length = 4 + 8 * told().count();
        let body = self.put_chunk(request.cookie, chunk::DONE, chunk::BLOCK_STATUS, length);
        let (context, descriptors) = body.split_at_mut(4);
        context.copy_from_slice(&ALLOCATION_ID.to_be_bytes());
        for ((count, flags), descriptor) in told().zip(descriptors.chunks_exact_mut(8)) {
            descriptor[..4].copy_from_slice(&count.to_be_bytes());
            descriptor[4..].copy_from_slice(&flags.to_be_bytes());
        }
    }

    /// Answers a valid request of no bytes, which the back end never sees.
    pub(crate) fn answer_empty(&mut self, request: &Request) {
        if request.command == Command::Read && self.terms.structured {
            self.put_chunk(request.cookie, chunk::DONE, chunk::NONE, 0);
        } else {
            self.put_simple(request.cookie, 0, 0);
        }
    }

    /// Says that a request failed; `in_chunks` if its command is answered in chunks once those are agreed on.
    pub(crate) fn answer_error(&mut self, in_chunks: bool, cookie: u64, error: ErrorNumber) {
        if in_chunks && self.terms.structured {
            // The number, and the length of a text that is not sent.
            let body = self.put_chunk(cookie, chunk::DONE, chunk::ERROR, 6);
            body[..4].copy_from_slice(&error.number().to_be_bytes());
            body[4..].fill(0);
        } else {
            self.put_simple(cookie, error.number(), 0);
        }
    }

    /// Puts the answer to a read, or an error in its place.
    fn answer_read(&mut self, request: &Request, put: impl FnOnce(&mut Self, &Request) -> Result<(), ErrorNumber>) {
        assert!(request.command == Command::Read, "{:?} is not a read", request.command);
        self.settle();
        let before = self.output.len();
        if let Err(error) = put(self, request) {
            self.output.truncate(before);
            self.answer_error(true, request.cookie, error);
        }
    }

    /// A simple reply, and room for `length` bytes of data behind it.
    pub(crate) fn put_simple(&mut self, cookie: u64, error: u32, length: u32) -> &mut [u8] {
        let (head, data) = self.output.room(SIMPLE_HEAD + length as usize).split_at_mut(SIMPLE_HEAD);
        head[..4].copy_from_slice(&SIMPLE_REPLY_MAGIC.to_be_bytes());
        head[4..8].copy_from_slice(&error.to_be_bytes());
        head[8..].copy_from_slice(&cookie.to_be_bytes());
        data
    }

    /// The head of a chunk, and room for `length` bytes of payload behind it.
    fn put_chunk(&mut self, cookie: u64, flags: u16, kind: u16, length: usize) -> &mut [u8] {
        self.begin_chunk(cookie, flags, kind, length, length)
    }

    /// The head of a read of `length` bytes that is answered in one piece: these bytes follow in parts.
    pub(crate) fn put_head_of_read(&mut self, request: &Request, length: u32) {
        if self.terms.structured {
            let whole = 8 + length as usize;
            let place = self.begin_chunk(request.cookie, chunk::DONE, chunk::OFFSET_DATA, whole, 8);
            place.copy_from_slice(&request.offset.to_be_bytes());
        } else {
            self.put_simple(request.cookie, 0, 0);
        }
    }

    /// The head of a chunk with `length` bytes of payload, and room for the first of them.
    fn begin_chunk(&mut self, cookie: u64, flags: u16, kind: u16, length: usize, room: usize) -> &mut [u8] {
        let (head, body) = self.output.room(CHUNK_HEAD + room).split_at_mut(CHUNK_HEAD);
        head[..4].copy_from_slice(&CHUNK_MAGIC.to_be_bytes());
        head[4..6].copy_from_slice(&flags.to_be_bytes());
        head[6..8].copy_from_slice(&kind.to_be_bytes());
        head[8..16].copy_from_slice(&cookie.to_be_bytes());
        head[16..].copy_from_slice(&(length as u32).to_be_bytes());
        body
    }

    pub(crate) fn put_data_chunk(&mut self, cookie: u64, flags: u16, offset: u64, length: u32) -> &mut [u8] {
        let body = self.put_chunk(cookie, flags, chunk::OFFSET_DATA, 8 + length as usize);
        let (place, data) = body.split_at_mut(8);
        place.copy_from_slice(&offset.to_be_bytes());
        data
    }

    fn put_hole_chunk(&mut self, cookie: u64, flags: u16, offset: u64, length: u32) {
        let body = self.put_chunk(cookie, flags, chunk::OFFSET_HOLE, 12);
        body[..8].copy_from_slice(&offset.to_be_bytes());
        body[8..].copy_from_slice(&length.to_be_bytes());
    }
}

/// `length` bytes as runs that are alike in `kind`: what `extents` say, and data behind them.
fn runs<K: PartialEq>(extents: &[Extent], length: u32, kind: impl Fn(&Extent) -> K) -> impl Iterator<Item = (u32, K)> {
    let rest = Extent::data(u64::MAX);
    let mut extents = extents.iter().copied().chain(iter::once(rest)).filter(|extent| extent.length > 0).peekable();
    let mut left = length;
    iter::from_fn(move || {
        let first = extents.next().filter(|_| left > 0)?;
        let alike = kind(&first);
        let mut count = first.length;
        while let Some(next) = extents.next_if(|next| kind(next) == alike) {
            count = count.saturating_add(next.length);
        }
        let run = count.min(u64::from(left)) as u32;
        left -= run;
        Some((run, alike))
    })
}
