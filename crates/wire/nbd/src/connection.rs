//! One client: bytes in, requests out; answers in, bytes out.

use crate::buffers::{Input, Output};
use crate::check::{Head, REQUEST_HEAD};
use crate::end::End;
use crate::export::{Export, MOST_NAME};
use crate::options::{self, After, MOST_OPTION, OPTION_HEAD, Terms};
use crate::parts::Parts;
use crate::request::{Command, ErrorNumber, Request};
use crate::wire::{Fields, OPTION_MAGIC, command, option};

/// Longest payload that waits in the input buffer until it is whole. A longer one is received where it is
/// handed over.
const MOST_SMALL: u32 = 32 << 10;
/// Longest payload of a refused write or option that is received only to be thrown away.
const MOST_SKIPPED: u32 = 64 << 20;
/// While more than this waits to be sent no request is taken: a client that does not read is not served.
const MOST_UNSENT: usize = 1 << 20;

/// The server's side of a connection with one client. See the overview for how it is used.
#[derive(Debug)]
pub struct Connection {
    pub(crate) export: Export,
    pub(crate) terms: Terms,
    pub(crate) output: Output,
    pub(crate) input: Input,
    pub(crate) phase: Phase,
    /// Payload of the last long write.
    pub(crate) bulk: Vec<u8>,
    /// Where the payload of the write handed out last is.
    payload: Payload,
    /// Requests handed out and not answered yet.
    outstanding: usize,
    /// Longer reads and writes wait.
    longest: u32,
    /// Why it ended or is about to.
    end: Option<End>,
}

/// The meaning of the next bytes.
#[derive(Debug)]
pub(crate) enum Phase {
    /// The client's flags are awaited.
    Flags,
    /// An option of the negotiation is awaited.
    Options,
    /// The head of a request is awaited.
    Requests,
    /// The payload of a long write, as far as it has arrived.
    Bulk(Request, usize),
    /// A long request that is handed out in parts; of a write, the payload of the next part.
    Parts(Parts),
    /// This many bytes that nobody wants, and then an answer.
    Skip(u32, Refusal),
    /// The connection is over; nothing is read any more.
    Ended,
}

/// The answer to a skipped request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Refusal {
    Option { option: u32, error: u32 },
    Write { cookie: u64, error: ErrorNumber },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Payload {
    None,
    /// In the input buffer, behind the request's head.
    Held,
    /// In the buffer for long writes.
    Bulk,
}

/// What came of a look at the input.
enum Step {
    /// More may be there.
    Again,
    /// The next step needs bytes that have not arrived.
    Starved,
    /// A request is complete.
    Ready(Request),
}

impl Connection {
    /// A connection that has just been accepted. Its greeting waits in [`Connection::output`].
    ///
    /// # Panics
    /// The export fails [`Export::check`].
    pub fn new(export: &Export) -> Self {
        export.check().expect("an export that can be offered");
        let mut output = Output::default();
        options::greet(&mut output);
        Self {
            export: export.clone(),
            terms: Terms::default(),
            output,
            input: Input::new(),
            phase: Phase::Flags,
            bulk: Vec::new(),
            payload: Payload::None,
            outstanding: 0,
            longest: u32::MAX,
            end: None,
        }
    }

    /// Where to put the next bytes of the socket; say how many with [`Connection::filled`] before anything
    /// else is done. The rest of a long write goes straight to its payload. Empty while no bytes can be
    /// taken: there are requests to take first, or the connection has ended. Do not read from the socket
    /// then.
    pub fn space(&mut self) -> &mut [u8] {
        match &self.phase {
            Phase::Ended => &mut [],
            Phase::Bulk(_, got) => &mut self.bulk[*got..],
            // The buffer is free once the part in it is answered.
            Phase::Parts(parts) if parts.is_write() && self.outstanding > 0 => &mut [],
            Phase::Parts(parts) if parts.is_write() => &mut self.bulk[parts.got..],
            _ => self.input.space(),
        }
    }

    /// `count` bytes were put into [`Connection::space`].
    ///
    /// # Panics
    /// There was no space for the number asked for.
    pub fn filled(&mut self, count: usize) {
        match &mut self.phase {
            Phase::Ended => assert!(count == 0, "more bytes than there was space for"),
            Phase::Bulk(_, got) => {
                assert!(count <= self.bulk.len() - *got, "more bytes than there was space for");
                *got += count;
            }
            Phase::Parts(parts) if parts.is_write() => {
                assert!(count <= self.bulk.len() - parts.got, "more bytes than there was space for");
                parts.got += count;
            }
            _ => self.input.filled(count),
        }
    }

    /// The socket has no more bytes, or broke. Requests that were not taken before are dropped. Requests that were
    /// taken are still to be answered, though perhaps no client reads the answer.
    pub fn hung_up(&mut self) {
        self.finish(End::HungUp);
    }

    /// The next complete, valid request; `None` if more bytes are needed, or if too much waits to be sent.
    /// Ask until there is none after every [`Connection::filled`] and every [`Connection::taken`]. Ends what
    /// [`Connection::payload`] tells.
    pub fn next_request(&mut self) -> Option<Request> {
        self.input.release();
        self.payload = Payload::None;
        while self.output.len() <= MOST_UNSENT {
            let step = match &mut self.phase {
                Phase::Flags => self.take_flags(),
                Phase::Options => self.take_option(),
                Phase::Requests => self.take_request(),
                Phase::Bulk(_, got) if *got < self.bulk.len() => Step::Starved,
                Phase::Bulk(..) => self.take_bulk(),
                Phase::Parts(_) => self.take_part(),
                Phase::Skip(left, refusal) => {
                    let count = (*left as usize).min(self.input.unread().len());
                    *left -= count as u32;
                    let after = (*left == 0).then_some(*refusal);
                    self.input.consume(count);
                    after.map_or(Step::Starved, |refusal| self.refuse(refusal))
                }
                Phase::Ended => Step::Starved,
            };
            match step {
                Step::Again => {}
                Step::Starved => return None,
                Step::Ready(request) => {
                    self.outstanding += 1;
                    return Some(request);
                }
            }
        }
        None
    }

    /// The bytes of the write that [`Connection::next_request`] returned last, where they are; nothing after
    /// any other request. They are there until it is called again.
    pub fn payload(&self) -> &[u8] {
        match self.payload {
            Payload::None => &[],
            Payload::Held => &self.input.held()[REQUEST_HEAD..],
            Payload::Bulk => &self.bulk,
        }
    }

    /// Puts the bytes of the write that [`Connection::next_request`] returned last into `into`, in place of its
    /// contents, to keep them longer than [`Connection::payload`] does. Small ones are copied; the bytes of a long
    /// write change places with `into`. Nothing is allocated where `into` was large enough before.
    pub fn take_payload(&mut self, into: &mut Vec<u8>) {
        match self.payload {
            Payload::None => into.clear(),
            Payload::Held => {
                into.clear();
                into.extend_from_slice(&self.input.held()[REQUEST_HEAD..]);
            }
            // The next part will be received there.
            Payload::Bulk if matches!(self.phase, Phase::Parts(_)) => {
                into.clear();
                into.extend_from_slice(&self.bulk);
            }
            Payload::Bulk => std::mem::swap(&mut self.bulk, into),
        }
        self.payload = Payload::None;
    }

    /// Bytes to send, oldest first. Any number of them may be sent; say how many with [`Connection::taken`].
    pub fn output(&self) -> &[u8] {
        self.output.unsent()
    }

    /// `count` bytes of [`Connection::output`] were sent.
    ///
    /// # Panics
    /// There were fewer.
    pub fn taken(&mut self, count: usize) {
        self.output.taken(count);
    }

    /// The server wants to stop. Requests from here on are answered with [`ErrorNumber::ShutDown`], and the
    /// connection is closed as soon as those before are answered and the answers sent. A negotiation ends at
    /// once.
    pub fn shut_down(&mut self) {
        if self.is_serving() {
            self.end.get_or_insert(End::ShutDown);
        } else {
            self.finish(End::ShutDown);
        }
    }

    /// The socket can be closed: no more requests come, all are answered, all answers sent.
    pub fn is_closed(&self) -> bool {
        let is_reading = matches!(&self.phase, Phase::Parts(parts) if !parts.is_write());
        self.end.is_some() && self.outstanding == 0 && self.output.len() == 0 && !is_reading
    }

    /// Why no more requests come; `None` while they may.
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// Options are agreed on, and requests may come.
    pub fn is_serving(&self) -> bool {
        matches!(
            self.phase,
            Phase::Requests | Phase::Bulk(..) | Phase::Parts(_) | Phase::Skip(_, Refusal::Write { .. })
        )
    }

    /// Requests taken and not answered yet.
    pub fn outstanding(&self) -> usize {
        self.outstanding
    }

    /// Bytes of memory that its buffers take.
    pub fn memory_bytes(&self) -> usize {
        self.input.memory_bytes() + self.output.memory_bytes() + self.bulk.capacity()
    }

    /// Bytes of memory that what it received and sends takes beyond the input buffer, which every connection has: the
    /// payload of a long write, answers that wait. Memory kept for the next of them counts as well.
    pub fn held_bytes(&self) -> usize {
        self.output.memory_bytes() + self.bulk.capacity()
    }

    /// Reads and writes of more than `longest` bytes wait from now on, with the requests behind them; requests that
    /// have begun continue. Requests of up to 32 KiB never wait.
    pub fn allow(&mut self, longest: u32) {
        self.longest = longest;
    }

    /// Whether the next request is complete but for a payload, and waits because it is longer than allowed.
    pub fn waits_for_memory(&self) -> bool {
        self.waiting().is_some()
    }

    /// The request that waits because it is longer than allowed.
    pub(crate) fn waiting(&self) -> Option<Request> {
        let is_next = matches!(self.phase, Phase::Requests) && self.end.is_none() && self.output.len() <= MOST_UNSENT;
        let head = self.input.unread().first_chunk().filter(|_| is_next).and_then(|head| Head::read(head).ok());
        let request = head.and_then(|head| head.check(&self.export, &self.terms).ok());
        request.filter(|request| self.is_too_long(request))
    }

    fn is_too_long(&self, request: &Request) -> bool {
        is_long(request) && request.length > self.longest
    }

    /// Gives back memory that is only kept for later.
    pub fn release_memory(&mut self) {
        if !matches!(self.phase, Phase::Bulk(..) | Phase::Parts(_)) && self.payload != Payload::Bulk {
            self.bulk = Vec::new();
        }
        self.output.release_memory();
    }

    /// A request is answered.
    pub(crate) fn settle(&mut self) {
        self.outstanding = self.outstanding.checked_sub(1).expect("the request of another connection");
    }

    pub(crate) fn finish(&mut self, end: End) {
        self.phase = Phase::Ended;
        self.end.get_or_insert(end);
    }

    fn take_flags(&mut self) -> Step {
        let Some(flags) = Fields(self.input.unread()).u32() else { return Step::Starved };
        self.input.consume(4);
        match self.terms.flags(flags) {
            Ok(()) => self.phase = Phase::Options,
            Err(end) => self.finish(end),
        }
        Step::Again
    }

    fn take_option(&mut self) -> Step {
        let mut fields = Fields(self.input.unread());
        // The magic is looked at first: a client of another protocol may never send a whole head.
        let Some(magic) = fields.u64() else { return Step::Starved };
        if magic != OPTION_MAGIC {
            self.finish(End::OptionMagic(magic));
            return Step::Again;
        }
        let (Some(option), Some(length)) = (fields.u32(), fields.u32()) else { return Step::Starved };
        if !self.terms.fixed && option != option::EXPORT_NAME {
            self.finish(End::OldClient(option));
            return Step::Again;
        }
        // A name that is too long can be no export's, and that option cannot be refused.
        let hopeless = length > MOST_SKIPPED || (option == option::EXPORT_NAME && length as usize > MOST_NAME);
        if hopeless {
            self.finish(End::LongOption { option, length });
            return Step::Again;
        }
        if length > MOST_OPTION {
            self.input.consume(OPTION_HEAD);
            self.phase = Phase::Skip(length, Refusal::Option { option, error: options::too_long(option) });
            return Step::Again;
        }
        let Some(data) = fields.bytes(length as usize) else { return Step::Starved };
        let after = self.terms.option(&self.export, option, data, &mut self.output);
        self.input.consume(OPTION_HEAD + length as usize);
        match after {
            After::Option => {}
            After::Requests => self.phase = Phase::Requests,
            After::End(end) => self.finish(end),
        }
        Step::Again
    }

    fn take_request(&mut self) -> Step {
        let unread = self.input.unread();
        let Some(head) = unread.first_chunk() else { return Step::Starved };
        let head = match Head::read(head) {
            Ok(head) => head,
            Err(magic) => {
                self.finish(End::RequestMagic(magic));
                return Step::Again;
            }
        };
        if head.kind == command::DISC {
            self.finish(End::Disconnected);
            return Step::Again;
        }
        let checked =
            if self.end.is_some() { Err(ErrorNumber::ShutDown) } else { head.check(&self.export, &self.terms) };
        match checked {
            Err(error) => self.reject(head, error),
            Ok(request) if request.length == 0 && request.command != Command::Flush => {
                self.input.consume(REQUEST_HEAD);
                self.answer_empty(&request);
                Step::Again
            }
            Ok(request) if self.is_too_long(&request) => Step::Starved,
            Ok(request) if head.payload() > MOST_SMALL => self.begin_bulk(request),
            Ok(request) => {
                let whole = REQUEST_HEAD + head.payload() as usize;
                if unread.len() < whole {
                    return Step::Starved;
                }
                self.input.hold(whole);
                if request.command == Command::Write {
                    self.payload = Payload::Held;
                }
                Step::Ready(request)
            }
        }
    }

    /// Answers an invalid request; the payload of a write is received first, and not kept.
    fn reject(&mut self, head: Head, error: ErrorNumber) -> Step {
        self.input.consume(REQUEST_HEAD);
        let cookie = head.cookie;
        if head.payload() > MOST_SKIPPED {
            self.finish(End::LongWrite(head.length));
        } else if head.payload() > 0 {
            self.phase = Phase::Skip(head.payload(), Refusal::Write { cookie, error });
        } else {
            let in_chunks = matches!(head.kind, command::READ | command::BLOCK_STATUS);
            self.answer_error(in_chunks, cookie, error);
        }
        Step::Again
    }

    fn refuse(&mut self, refusal: Refusal) -> Step {
        match refusal {
            Refusal::Option { option, error } => {
                options::reply(&mut self.output, option, error, &[]);
                self.phase = Phase::Options;
            }
            Refusal::Write { cookie, error } => {
                self.answer_error(false, cookie, error);
                self.phase = Phase::Requests;
            }
        }
        Step::Again
    }

    /// Moves what is there of a long payload to a buffer of its own, where the rest will be received.
    fn begin_bulk(&mut self, request: Request) -> Step {
        self.input.consume(REQUEST_HEAD);
        let length = request.length as usize;
        if self.bulk.capacity() < length {
            self.bulk = vec![0; length]; // cleared by the system page by page, as bytes come
        } else {
            self.bulk.resize(length, 0);
        }
        let there = self.input.unread();
        let got = there.len().min(length);
        self.bulk[..got].copy_from_slice(&there[..got]);
        self.input.consume(got);
        self.phase = Phase::Bulk(request, got);
        Step::Again
    }

    /// The next part of a long request, once the part before it is answered and sent.
    fn take_part(&mut self) -> Step {
        let Phase::Parts(parts) = &self.phase else { unreachable!("called while a request is handed out in parts") };
        if self.outstanding > 0 || self.output.len() > 0 {
            return Step::Starved;
        }
        if parts.is_write() {
            if parts.got < self.bulk.len() || self.end.is_some() {
                return Step::Starved;
            }
            self.payload = Payload::Bulk;
        }
        Step::Ready(parts.next())
    }

    fn take_bulk(&mut self) -> Step {
        let Phase::Bulk(request, _) = std::mem::replace(&mut self.phase, Phase::Requests) else {
            unreachable!("called while a long write is received");
        };
        if self.end.is_some() {
            self.answer_error(false, request.cookie, ErrorNumber::ShutDown);
            return Step::Again;
        }
        self.payload = Payload::Bulk;
        Step::Ready(request)
    }
}

/// A request that takes much memory.
fn is_long(request: &Request) -> bool {
    matches!(request.command, Command::Read | Command::Write) && request.length > MOST_SMALL
}
