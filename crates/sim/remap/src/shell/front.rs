//! The side of a driver that its host and its device see: requests, answers and commands by number.
//!
//! Protects: each request is answered once; a command's number is used again only when it was completed.

use crate::shell::request::Request;
use crate::{Command, Done, Shape, Submit};
use layer::Slots;
use std::collections::VecDeque;
use units::HostOp;

/// Buffers of reads kept to be used again.
const MOST_SPARE: usize = 64;

/// A command under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub command: Command,
    /// Where its data are, or go: a buffer, and their first byte in it.
    pub data: Option<(u32, usize)>,
    /// How often it failed before.
    pub tries: u32,
}

/// Requests, answers and commands of a driver, and its properties.
#[derive(Debug)]
pub struct Front {
    pub(super) shape: Shape,
    cell_bytes: u32,
    pub(super) is_broken: bool,
    pub(super) requests: Slots<Request>,
    dones: VecDeque<u32>,
    /// The answer handed out last, whose data may be looked at.
    taken: Option<u32>,
    /// Memory of reads that were answered, to be used again.
    spare: Vec<Vec<u8>>,
    pub(super) commands: Slots<Sent>,
    outgoing: VecDeque<u32>,
}

impl Front {
    pub(super) fn new(shape: Shape, cell_bytes: u32) -> Self {
        Self {
            shape,
            cell_bytes,
            is_broken: false,
            requests: Slots::default(),
            dones: VecDeque::new(),
            taken: None,
            spare: Vec::new(),
            commands: Slots::default(),
            outgoing: VecDeque::new(),
        }
    }

    /// How large it is, and its units.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Bytes of data a sector: 512, or 0 where there are no contents.
    pub fn cell_bytes(&self) -> u32 {
        self.cell_bytes
    }

    /// Only reads are served.
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Takes a request with so many bytes of data; its number.
    pub(super) fn open(&mut self, submit: &Submit, data: usize) -> u32 {
        let Submit { tag, op, first_sector, sectors, fua } = *submit;
        let moved = if op == HostOp::Write { sectors as usize * self.cell_bytes as usize } else { 0 };
        assert!(data == moved, "{data} bytes of data for {submit:?}");
        if op != HostOp::Flush {
            let end = first_sector.checked_add(u64::from(sectors));
            assert!(sectors > 0 && end.is_some_and(|end| end <= self.shape.sectors), "{submit:?} is not of this drive");
        }
        self.requests.insert(Request {
            tag,
            op,
            fua,
            failed: false,
            ended: false,
            pending: 1,
            target: 0,
            data: Vec::new(),
        })
    }

    /// A part of a request is done; whether it was the last one.
    pub(super) fn part_done(&mut self, request: u32, failed: bool) -> bool {
        let entry = self.requests.at_mut(request);
        if entry.ended {
            return false;
        }
        entry.failed |= failed;
        entry.pending -= 1;
        entry.pending == 0
    }

    /// A request is answered.
    pub(super) fn end(&mut self, request: u32, failed: bool) {
        let entry = self.requests.at_mut(request);
        debug_assert!(!entry.ended, "each request is answered once: {entry:?}");
        (entry.ended, entry.failed) = (true, failed);
        self.dones.push_back(request);
    }

    /// Every request that is not a read, and is not answered, failed.
    pub(super) fn end_changes(&mut self) {
        let ended = self.requests.iter_mut().filter(|(_, request)| request.op != HostOp::Read && !request.ended);
        let ended: Vec<u32> = ended.map(|(number, _)| number).collect();
        for request in ended {
            self.end(request, true);
        }
    }

    /// Memory for what a read finds, all zeros.
    pub(super) fn zeros(&mut self, bytes: usize) -> Vec<u8> {
        let mut data = self.spare.pop().unwrap_or_default();
        data.clear();
        data.resize(bytes, 0);
        data
    }

    /// Sectors of a read are there: they go behind the first `cell` of the request.
    pub(super) fn fill(&mut self, request: u32, cell: usize, sectors: u32, data: &[u8]) {
        let (at, length) = (cell * self.cell_bytes as usize, sectors as usize * self.cell_bytes as usize);
        self.requests.at_mut(request).data[at..at + length].copy_from_slice(&data[..length]);
    }

    /// The next answer. Ends what [`Front::done_data`] tells.
    pub fn next_done(&mut self) -> Option<Done> {
        if let Some(request) = self.taken.take() {
            let data = self.requests.remove(request).data;
            if data.capacity() > 0 && self.spare.len() < MOST_SPARE {
                self.spare.push(data);
            }
        }
        let request = self.dones.pop_front()?;
        self.taken = Some(request);
        let Request { tag, op, failed, .. } = *self.requests.at_mut(request);
        Some(Done { tag, op, failed })
    }

    /// The data of the read that [`Front::next_done`] returned last; nothing after anything else.
    pub fn done_data(&self) -> &[u8] {
        self.taken.and_then(|request| self.requests.get(request)).map_or(&[], |request| &request.data)
    }

    /// Requests that are not answered.
    pub fn outstanding(&self) -> usize {
        self.requests.len() - self.dones.len() - usize::from(self.taken.is_some())
    }

    /// No request waits for an answer, all answers are taken, and no command is under way. Pages that were answered
    /// may still be in memory, see [`crate::HostDriver::wake_at`].
    pub fn is_idle(&self) -> bool {
        self.outstanding() == 0 && self.dones.is_empty() && self.commands.is_empty()
    }

    /// A command for the device; its number.
    pub(super) fn send(&mut self, sent: Sent) -> u32 {
        let id = self.commands.insert(sent);
        self.commands.at_mut(id).command.id = id;
        self.outgoing.push_back(id);
        id
    }

    /// The next thing to ask the device for; `None` if there is nothing for now.
    pub fn next_command(&mut self) -> Option<Command> {
        let id = self.outgoing.pop_front()?;
        self.commands.get(id).map(|sent| sent.command)
    }
}
