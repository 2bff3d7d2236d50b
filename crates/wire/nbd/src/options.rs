//! Negotiation, before the first request.

use crate::buffers::Output;
use crate::end::End;
use crate::export::{Export, MOST_NAME};
use crate::wire::{
    ALLOCATION, ALLOCATION_ID, ALLOCATION_SPACE, Fields, OPTION_MAGIC, OPTION_REPLY_MAGIC, SERVER_MAGIC, handshake,
    info, option, option_reply,
};

/// Bytes of an option's head.
pub(crate) const OPTION_HEAD: usize = 16;
/// Longest option that is read; a longer one is skipped and refused.
pub(crate) const MOST_OPTION: u32 = 32 << 10;
/// Zeros at the end of an answer to `EXPORT_NAME`, unless the client wants none.
const OLD_ZEROES: usize = 124;

/// The agreement so far.
#[derive(Debug, Default)]
pub(crate) struct Terms {
    pub fixed: bool,
    pub no_zeroes: bool,
    pub structured: bool,
    pub allocation: bool,
}

/// The step after an option.
#[derive(Debug)]
pub(crate) enum After {
    Option,
    Requests,
    End(End),
}

pub(crate) fn greet(output: &mut Output) {
    output.put(&SERVER_MAGIC.to_be_bytes());
    output.put(&OPTION_MAGIC.to_be_bytes());
    output.put(&((handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES) as u16).to_be_bytes());
}

/// Answers an option, `parts` after each other.
pub(crate) fn reply(output: &mut Output, option: u32, kind: u32, parts: &[&[u8]]) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    output.put(&OPTION_REPLY_MAGIC.to_be_bytes());
    for number in [option, kind, length as u32] {
        output.put(&number.to_be_bytes());
    }
    for part in parts {
        output.put(part);
    }
}

/// The answer to an option that is too long to read.
pub(crate) fn too_long(option: u32) -> u32 {
    match option {
        option::ABORT
        | option::LIST
        | option::INFO
        | option::GO
        | option::STRUCTURED_REPLY
        | option::LIST_META_CONTEXT
        | option::SET_META_CONTEXT => option_reply::ERR_TOO_BIG,
        _ => option_reply::ERR_UNSUP,
    }
}

impl Terms {
    /// Takes the flags of the client.
    pub fn flags(&mut self, flags: u32) -> Result<(), End> {
        if flags & !(handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES) != 0 {
            return Err(End::ClientFlags(flags));
        }
        self.fixed = flags & handshake::FIXED_NEWSTYLE != 0;
        self.no_zeroes = flags & handshake::NO_ZEROES != 0;
        Ok(())
    }

    /// Does what an option wants and answers it.
    pub fn option(&mut self, export: &Export, option: u32, data: &[u8], output: &mut Output) -> After {
        let answer = match option {
            option::EXPORT_NAME => return self.export_name(export, data, output),
            option::ABORT => {
                reply(output, option, option_reply::ACK, &[]);
                return After::End(End::Aborted);
            }
            option::LIST => list(export, data, output),
            option::INFO | option::GO => self.go(export, option, data, output),
            option::STRUCTURED_REPLY if data.is_empty() => {
                self.structured = true;
                option_reply::ACK
            }
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => self.contexts(export, option, data, output),
            // There is no encryption, which a client learns best by an option that nobody knows.
            option::STARTTLS if data.is_empty() => option_reply::ERR_UNSUP,
            option::STRUCTURED_REPLY | option::STARTTLS => option_reply::ERR_INVALID,
            _ => option_reply::ERR_UNSUP,
        };
        reply(output, option, answer, &[]);
        if option == option::GO && answer == option_reply::ACK { After::Requests } else { After::Option }
    }

    /// The oldest way to choose an export. It has no answer for a name that does not exist.
    fn export_name(&self, export: &Export, name: &[u8], output: &mut Output) -> After {
        if !export.is_called(name) {
            return After::End(End::UnknownExport(String::from_utf8_lossy(name).into_owned()));
        }
        output.put(&export.size.to_be_bytes());
        output.put(&export.flags(self.structured).to_be_bytes());
        if !self.no_zeroes {
            output.put(&[0; OLD_ZEROES]);
        }
        After::Requests
    }

    /// `INFO` and `GO`: the last answer, after all others were put out.
    fn go(&self, export: &Export, option: u32, data: &[u8], output: &mut Output) -> u32 {
        let Some((name, wanted)) = parse_go(data) else { return option_reply::ERR_INVALID };
        if !export.is_called(name) {
            return option_reply::ERR_UNKNOWN;
        }
        let mut tell = |kind: u16, parts: [&[u8]; 3]| {
            let [a, b, c] = parts;
            reply(output, option, option_reply::INFO, &[&kind.to_be_bytes(), a, b, c]);
        };
        tell(info::EXPORT, [&export.size.to_be_bytes(), &export.flags(self.structured).to_be_bytes(), &[]]);
        let wants = |kind: u16| wanted.chunks_exact(2).any(|asked| asked == kind.to_be_bytes());
        if wants(info::NAME) {
            tell(info::NAME, [export.name.as_bytes(), &[], &[]]);
        }
        if wants(info::DESCRIPTION) && !export.description.is_empty() {
            tell(info::DESCRIPTION, [export.description.as_bytes(), &[], &[]]);
        }
        if wants(info::BLOCK_SIZE) {
            let sizes = [export.least_block, export.preferred_block, crate::MOST_PAYLOAD].map(u32::to_be_bytes);
            tell(info::BLOCK_SIZE, [&sizes[0], &sizes[1], &sizes[2]]);
        }
        option_reply::ACK
    }

    /// Lists or chooses metadata contexts. Each is told once, however often it is asked for.
    fn contexts(&mut self, export: &Export, option: u32, data: &[u8], output: &mut Output) -> u32 {
        let set = option == option::SET_META_CONTEXT;
        if set {
            // Whatever becomes of it, it replaces what was chosen before.
            self.allocation = false;
        }
        let Some((name, queries)) = parse_contexts(data) else { return option_reply::ERR_INVALID };
        if !self.structured {
            return option_reply::ERR_INVALID;
        }
        if !export.is_called(name) {
            return option_reply::ERR_UNKNOWN;
        }
        let lists_all = |query: &[u8]| !set && query == ALLOCATION_SPACE.as_bytes();
        let mut rest = Fields(queries);
        let mut found = !set && queries.is_empty();
        while let Some(query) = rest.counted() {
            found |= query == ALLOCATION.as_bytes() || lists_all(query);
        }
        if found {
            let id = if set { ALLOCATION_ID } else { 0 };
            reply(output, option, option_reply::META_CONTEXT, &[&id.to_be_bytes(), ALLOCATION.as_bytes()]);
        }
        self.allocation |= set && found;
        option_reply::ACK
    }
}

fn list(export: &Export, data: &[u8], output: &mut Output) -> u32 {
    if !data.is_empty() {
        return option_reply::ERR_INVALID;
    }
    let length = export.name.len() as u32;
    let parts: [&[u8]; 3] = [&length.to_be_bytes(), export.name.as_bytes(), export.description.as_bytes()];
    reply(output, option::LIST, option_reply::SERVER, &parts);
    option_reply::ACK
}

/// The name, and the kinds of information asked for, two bytes each.
fn parse_go(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut fields = Fields(data);
    let name = fields.counted().filter(|name| name.len() <= MOST_NAME)?;
    let count = fields.u16()?;
    let wanted = fields.bytes(2 * usize::from(count))?;
    fields.is_empty().then_some((name, wanted))
}

/// The name, and the queries, each behind its length.
fn parse_contexts(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut fields = Fields(data);
    let name = fields.counted().filter(|name| name.len() <= MOST_NAME)?;
    let count = fields.u32()?;
    let queries = fields.0;
    for _ in 0..count {
        fields.counted().filter(|query| query.len() <= MOST_NAME)?;
    }
    fields.is_empty().then_some((name, queries))
}
