//! The head of a request: read, and checked against the export and the agreement.

use crate::export::{Export, MOST_PAYLOAD};
use crate::options::Terms;
use crate::request::{Command, ErrorNumber, Request};
use crate::wire::{Fields, REQUEST_MAGIC, command, command_flag};

/// Bytes of a request's head.
pub(crate) const REQUEST_HEAD: usize = 28;

/// A request as it was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub flags: u16,
    pub kind: u16,
    pub cookie: u64,
    pub offset: u64,
    pub length: u32,
}

impl Head {
    /// Reads a head.
    ///
    /// # Errors
    /// It begins with this number, which is not the right one.
    pub fn read(bytes: &[u8; REQUEST_HEAD]) -> Result<Self, u32> {
        let mut fields = Fields(bytes);
        let all = |fields: &mut Fields| {
            let (magic, flags, kind) = (fields.u32()?, fields.u16()?, fields.u16()?);
            let (cookie, offset, length) = (fields.u64()?, fields.u64()?, fields.u32()?);
            Some((magic, Self { flags, kind, cookie, offset, length }))
        };
        let (magic, head) = all(&mut fields).expect("a head has all its fields");
        if magic == REQUEST_MAGIC { Ok(head) } else { Err(magic) }
    }

    /// Bytes that follow the head.
    pub fn payload(&self) -> u32 {
        if self.kind == command::WRITE { self.length } else { 0 }
    }

    /// The request, or what is wrong with it.
    pub fn check(&self, export: &Export, terms: &Terms) -> Result<Request, ErrorNumber> {
        let command = self.command(export, terms)?;
        self.check_flags(command, export, terms)?;
        self.check_range(command, export)?;
        let has = |flag| self.flags & flag != 0;
        Ok(Request {
            cookie: self.cookie,
            command,
            offset: self.offset,
            length: self.length,
            fua: has(command_flag::FUA),
            no_hole: has(command_flag::NO_HOLE),
            fast_zero: has(command_flag::FAST_ZERO),
            unfragmented: has(command_flag::DF),
            one_extent: has(command_flag::REQ_ONE),
            is_part: false,
        })
    }

    fn command(&self, export: &Export, terms: &Terms) -> Result<Command, ErrorNumber> {
        let (command, offered, changes) = match self.kind {
            command::READ => (Command::Read, true, false),
            command::WRITE => (Command::Write, true, true),
            command::FLUSH => (Command::Flush, export.flush, false),
            command::TRIM => (Command::Trim, export.trim, true),
            command::WRITE_ZEROES => (Command::WriteZeroes, export.write_zeroes, true),
            command::CACHE => (Command::Cache, export.cache, false),
            command::BLOCK_STATUS => (Command::BlockStatus, terms.allocation, false),
            _ => return Err(ErrorNumber::Invalid),
        };
        match () {
            () if changes && export.read_only => Err(ErrorNumber::Permission),
            () if !offered => Err(ErrorNumber::Invalid),
            () => Ok(command),
        }
    }

    fn check_flags(&self, command: Command, export: &Export, terms: &Terms) -> Result<(), ErrorNumber> {
        // FUA may come with any command and means something only with those that change data.
        let mut known = if export.fua { command_flag::FUA } else { 0 };
        known |= match command {
            Command::Read if terms.structured => command_flag::DF,
            Command::WriteZeroes => command_flag::NO_HOLE | command_flag::FAST_ZERO,
            Command::BlockStatus => command_flag::REQ_ONE,
            _ => 0,
        };
        if self.flags & !known != 0 {
            return Err(ErrorNumber::Invalid);
        }
        if self.flags & command_flag::FAST_ZERO != 0 && !export.fast_zero {
            return Err(ErrorNumber::Unsupported);
        }
        Ok(())
    }

    fn check_range(&self, command: Command, export: &Export) -> Result<(), ErrorNumber> {
        if command == Command::Flush {
            return if self.offset == 0 && self.length == 0 { Ok(()) } else { Err(ErrorNumber::Invalid) };
        }
        let aligned = (self.offset | u64::from(self.length)) & u64::from(export.least_block - 1) == 0;
        if !aligned || (command == Command::BlockStatus && self.length == 0) {
            return Err(ErrorNumber::Invalid);
        }
        if matches!(command, Command::Read | Command::Write) && self.length > MOST_PAYLOAD {
            let whole = self.flags & command_flag::DF != 0;
            return Err(if whole { ErrorNumber::Overflow } else { ErrorNumber::Invalid });
        }
        if self.offset.checked_add(u64::from(self.length)).is_none_or(|end| end > export.size) {
            let writes = matches!(command, Command::Write | Command::WriteZeroes);
            return Err(if writes { ErrorNumber::Space } else { ErrorNumber::Invalid });
        }
        Ok(())
    }
}
