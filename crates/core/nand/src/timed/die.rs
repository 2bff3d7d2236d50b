//! State of a die and of a channel.

use super::commands::Kind;
use crate::NIL;
use crate::flash::Backlog;
use std::collections::VecDeque;
use units::Cause;

/// Whether commands of a cause, as its number, are those of collection and wear levelling.
#[inline]
pub(super) fn is_cleaning(cause: u8) -> bool {
    const CLEANING: u32 =
        bit(Cause::Gc) | bit(Cause::Wear) | bit(Cause::Merge) | bit(Cause::Fold) | bit(Cause::Refresh);
    CLEANING >> cause & 1 == 1
}

const fn bit(cause: Cause) -> u32 {
    1 << cause.index()
}

/// One die. A *gang* is a list of commands for different planes that run together; without
/// multi-plane commands it has one member.
///
/// ```text
/// queue[0] programs, erases (and reads, unless reads go first)     array: cell array busy
/// queue[1] reads that go first                                     transfer: page register and channel
/// queue[2] commands of a collection that is not interrupted
/// ```
#[derive(Clone, Copy, Debug)]
#[repr(align(64))] // one cache line, and an index is a shift
pub(super) struct Die {
    pub head: [u32; 3],
    pub tail: [u32; 3],
    /// Gang in the cell array.
    pub array: u32,
    /// Gang in, or waiting for, its transfer.
    pub transfer: u32,
    /// The member of `transfer` that has, or waits for, the channel.
    pub moving: u32,
    /// Gang interrupted by reads.
    pub suspended: u32,
    /// Array time the interrupted gang still needs, or the one in the array after the moment at which it will be
    /// interrupted; 0: there is neither.
    pub suspended_left: u64,
    /// The array has finished a read but the register is still being transferred.
    pub array_done: bool,
    /// The register holds a program's data but the array is still busy.
    pub loaded: bool,
    /// The gang in the array waits for its command, or has the channel for it.
    pub commanded: bool,
    /// What began last was of a collection.
    pub cleans: bool,
    /// Parts of the member that moves which have moved already, where gathered pages move in parts.
    pub moved: u8,
    /// Interruptions of the gang in the array.
    pub suspends: u8,
    pub channel: u16,
    /// Commands in both queues.
    pub queued: Backlog,
}

const _: () = assert!(size_of::<Die>() == 64);

impl Die {
    pub fn new(channel: u32) -> Self {
        Self { channel: channel as u16, ..Self::IDLE }
    }

    const IDLE: Die = Die {
        head: [NIL; 3],
        tail: [NIL; 3],
        array: NIL,
        transfer: NIL,
        moving: NIL,
        suspended: NIL,
        suspended_left: 0,
        array_done: false,
        loaded: false,
        commanded: false,
        cleans: false,
        moved: 0,
        suspends: 0,
        channel: 0,
        queued: Backlog { commands: 0, cleaning: 0 },
    };

    /// A gang is to be moved, from its first member on.
    #[inline]
    pub fn move_gang(&mut self, gang: u32) {
        self.transfer = gang;
        self.moving = gang;
        self.moved = 0;
    }

    #[inline]
    pub fn is_idle(&self) -> bool {
        self.array & self.transfer & self.suspended & self.head[0] & self.head[1] & self.head[2] == NIL
    }

    /// Queue of reads that go first.
    pub const URGENT: usize = 1;

    /// Queue of a collection that is not interrupted.
    pub const CLEANING: usize = 2;

    /// The queue that is served next.
    #[inline]
    pub fn next_lane(&self) -> usize {
        if self.head[Self::CLEANING] == NIL { usize::from(self.head[1] != NIL) } else { Self::CLEANING }
    }

    /// Index of the queue a command of `kind` and `cause` joins. `urgent`: whether reads go first, and whether those of
    /// cleaning do as well.
    #[inline]
    pub fn lane(kind: Kind, cause: u8, urgent: [bool; 2]) -> usize {
        usize::from(kind == Kind::Read && urgent[usize::from(is_cleaning(cause))])
    }
}

/// One channel: the die it serves and the dies that wait.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Channel {
    pub serving: u32,
    pub waiting: VecDeque<u32>,
}

impl Channel {
    pub fn new(dies: usize) -> Self {
        Self { serving: NIL, waiting: VecDeque::with_capacity(dies.max(4)) }
    }
}
