//! A client that writes and reads bytes by the numbers of the protocol, and a drive in memory behind a
//! connection.

use nbd::{Command, Connection, ErrorNumber, Export, Extent, Request};

pub const EXPORT_NAME: u32 = 1;
pub const ABORT: u32 = 2;
pub const LIST: u32 = 3;
pub const STARTTLS: u32 = 5;
pub const INFO: u32 = 6;
pub const GO: u32 = 7;
pub const STRUCTURED: u32 = 8;
pub const LIST_META: u32 = 9;
pub const SET_META: u32 = 10;

pub const ACK: u32 = 1;
pub const UNSUP: u32 = 0x8000_0001;
pub const INVALID: u32 = 0x8000_0003;
pub const UNKNOWN: u32 = 0x8000_0006;
pub const TOO_BIG: u32 = 0x8000_0009;

pub const READ: u16 = 0;
pub const WRITE: u16 = 1;
pub const DISC: u16 = 2;
pub const FLUSH: u16 = 3;
pub const TRIM: u16 = 4;
pub const CACHE: u16 = 5;
pub const ZEROES: u16 = 6;
pub const STATUS: u16 = 7;

pub const FUA: u16 = 1;
pub const NO_HOLE: u16 = 2;
pub const DF: u16 = 4;
pub const REQ_ONE: u16 = 8;
pub const FAST_ZERO: u16 = 16;

pub const EPERM: u32 = 1;
pub const EINVAL: u32 = 22;
pub const ENOSPC: u32 = 28;
pub const EOVERFLOW: u32 = 75;
pub const ENOTSUP: u32 = 95;
pub const ESHUTDOWN: u32 = 108;

pub const GREETING: &[u8] = b"NBDMAGICIHAVEOPT\0\x03";
pub const DRIVE_BYTES: usize = 1 << 20;

pub fn flags(flags: u32) -> Vec<u8> {
    flags.to_be_bytes().to_vec()
}

pub fn option(number: u32, data: &[u8]) -> Vec<u8> {
    [b"IHAVEOPT", &number.to_be_bytes()[..], &(data.len() as u32).to_be_bytes(), data].concat()
}

pub fn counted(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_be_bytes(), bytes].concat()
}

/// Data of `INFO` and `GO`.
pub fn go(name: &str, infos: &[u16]) -> Vec<u8> {
    let mut data = counted(name.as_bytes());
    data.extend((infos.len() as u16).to_be_bytes());
    data.extend(infos.iter().flat_map(|info| info.to_be_bytes()));
    data
}

/// Data of `LIST_META_CONTEXT` and `SET_META_CONTEXT`.
pub fn contexts(name: &str, queries: &[&str]) -> Vec<u8> {
    let mut data = counted(name.as_bytes());
    data.extend((queries.len() as u32).to_be_bytes());
    data.extend(queries.iter().flat_map(|query| counted(query.as_bytes())));
    data
}

pub fn request(flags: u16, kind: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    let head = [b"\x25\x60\x95\x13", &flags.to_be_bytes()[..], &kind.to_be_bytes(), &cookie.to_be_bytes()].concat();
    [&head[..], &offset.to_be_bytes(), &length.to_be_bytes()].concat()
}

pub fn write(flags: u16, cookie: u64, offset: u64, payload: &[u8]) -> Vec<u8> {
    [request(flags, WRITE, cookie, offset, payload.len() as u32), payload.to_vec()].concat()
}

/// From the first byte to the first request, without structured replies.
pub fn simple_start() -> Vec<u8> {
    [flags(3), option(GO, &go("", &[]))].concat()
}

/// From the first byte to the first request, with structured replies and block status.
pub fn structured_start() -> Vec<u8> {
    let choose = option(SET_META, &contexts("", &["base:allocation"]));
    [flags(3), option(STRUCTURED, &[]), choose, option(GO, &go("", &[]))].concat()
}

pub fn simple(cookie: u64, error: u32) -> Vec<u8> {
    [b"\x67\x44\x66\x98", &error.to_be_bytes()[..], &cookie.to_be_bytes()].concat()
}

pub fn chunk(done: bool, kind: u16, cookie: u64, payload: &[u8]) -> Vec<u8> {
    let head = [b"\x66\x8e\x33\xef", &u16::from(done).to_be_bytes()[..], &kind.to_be_bytes(), &cookie.to_be_bytes()];
    [&head.concat()[..], &counted(payload)].concat()
}

pub fn data_chunk(done: bool, cookie: u64, offset: u64, data: &[u8]) -> Vec<u8> {
    chunk(done, 1, cookie, &[&offset.to_be_bytes(), data].concat())
}

pub fn hole_chunk(done: bool, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    chunk(done, 2, cookie, &[&offset.to_be_bytes()[..], &length.to_be_bytes()].concat())
}

pub fn error_chunk(cookie: u64, error: u32) -> Vec<u8> {
    chunk(true, 0x8001, cookie, &[&error.to_be_bytes()[..], &[0, 0]].concat())
}

/// Answers to options: option, kind of answer, data.
pub fn option_replies(mut bytes: &[u8]) -> Vec<(u32, u32, Vec<u8>)> {
    let mut replies = Vec::new();
    while !bytes.is_empty() {
        assert_eq!(bytes[..8], [0, 3, 0xe8, 0x89, 4, 0x55, 0x65, 0xa9], "an answer to an option");
        let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let length = number(16) as usize;
        replies.push((number(8), number(12), bytes[20..20 + length].to_vec()));
        bytes = &bytes[20 + length..];
    }
    replies
}

pub fn export() -> Export {
    Export { description: "for tests".to_owned(), ..Export::new("drive", DRIVE_BYTES as u64) }
}

/// A pattern that tells offsets apart.
pub fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at / 512 * 7 + at % 251) as u8 | 1).collect()
}

/// Moves bytes, and answers requests from memory at once unless told to keep them.
pub struct Server {
    pub connection: Connection,
    pub drive: Vec<u8>,
    /// Requests not answered yet, with what they write.
    pub kept: Vec<(Request, Vec<u8>)>,
    pub keeps: bool,
    /// Runs of 4 KiB of zeros are told as holes.
    pub sparse: bool,
    /// Long requests are handed out in parts of so many bytes.
    pub splits: Option<u32>,
    /// Reads and writes that end beyond this offset fail.
    pub bad: Option<u64>,
    sent: Vec<u8>,
}

impl Server {
    pub fn new(export: &Export) -> Self {
        let connection = Connection::new(export);
        let drive = pattern(export.size as usize);
        let (splits, bad) = (None, None);
        Self { connection, drive, kept: Vec::new(), keeps: false, sparse: false, splits, bad, sent: Vec::new() }
    }

    /// A server that was told `start` and has said what there is to say to that.
    pub fn started(export: &Export, start: &[u8]) -> Self {
        let mut server = Self::new(export);
        server.say(start);
        server
    }

    /// Sends all bytes at once; what came back.
    pub fn say(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.say_in_pieces(bytes, &[usize::MAX])
    }

    /// Sends bytes in pieces of these lengths, over and over; what came back.
    pub fn say_in_pieces(&mut self, mut bytes: &[u8], pieces: &[usize]) -> Vec<u8> {
        self.serve();
        for piece in pieces.iter().cycle() {
            let space = self.connection.space();
            if bytes.is_empty() || space.is_empty() {
                break;
            }
            let count = bytes.len().min(*piece).min(space.len());
            space[..count].copy_from_slice(&bytes[..count]);
            self.connection.filled(count);
            bytes = &bytes[count..];
            self.serve();
        }
        std::mem::take(&mut self.sent)
    }

    fn next_request(&mut self) -> Option<Request> {
        let next = self.connection.next_request();
        let Some(most) = self.splits.filter(|_| next.is_none()) else { return next };
        self.connection.allow(0);
        self.connection.split(most);
        self.connection.next_request()
    }

    pub fn serve(&mut self) {
        loop {
            while let Some(request) = self.next_request() {
                let end = request.offset + u64::from(request.length);
                assert!(end <= self.drive.len() as u64, "a request beyond the drive");
                let mut payload = vec![9; 3];
                self.connection.take_payload(&mut payload);
                let expected = if request.command == Command::Write { request.length as usize } else { 0 };
                assert_eq!(payload.len(), expected);
                if self.keeps {
                    self.kept.push((request, payload));
                } else {
                    self.answer(request, &payload);
                }
            }
            // Sent in odd pieces, as sockets do.
            let count = self.connection.output().len().min(100_003);
            if count == 0 {
                return;
            }
            self.sent.extend_from_slice(&self.connection.output()[..count]);
            self.connection.taken(count);
        }
    }

    pub fn answer(&mut self, request: Request, payload: &[u8]) {
        let (connection, drive) = (&mut self.connection, &mut self.drive);
        let at = request.offset as usize..request.offset as usize + request.length as usize;
        let is_bad = self.bad.is_some_and(|bad| at.end as u64 > bad);
        match request.command {
            Command::Read | Command::Write if is_bad => connection.failed(request, ErrorNumber::Io),
            Command::Read if self.sparse => {
                let extents = extents(&drive[at]);
                connection.read_sparse(request, &extents, |offset, bytes| {
                    bytes.copy_from_slice(&drive[offset as usize..offset as usize + bytes.len()]);
                    Ok(())
                });
            }
            Command::Read => connection.read(request, |bytes| {
                bytes.copy_from_slice(&drive[at]);
                Ok(())
            }),
            Command::Write => {
                drive[at].copy_from_slice(payload);
                connection.done(request);
            }
            Command::Trim | Command::WriteZeroes if !request.fast_zero => {
                drive[at].fill(0);
                connection.done(request);
            }
            Command::Trim | Command::WriteZeroes => connection.failed(request, ErrorNumber::Unsupported),
            Command::Flush | Command::Cache => connection.done(request),
            Command::BlockStatus => connection.extents(request, &extents(&drive[at])),
        }
    }
}

fn extents(bytes: &[u8]) -> Vec<Extent> {
    let extent = |run: &[u8]| {
        let zero = run.iter().all(|byte| *byte == 0);
        if zero { Extent::hole(run.len() as u64) } else { Extent::data(run.len() as u64) }
    };
    bytes.chunks(4096).map(extent).collect()
}
