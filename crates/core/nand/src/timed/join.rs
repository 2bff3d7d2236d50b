//! Operations made of several commands, and barriers over programs.

use crate::NIL;
use crate::flash::{Cancel, CommandId, Owner, Token};
use std::collections::VecDeque;

#[derive(Clone, Debug)]
pub(super) struct Join {
    pub token: Token,
    /// Commands not yet completed, plus one while the join is open.
    pub remaining: u32,
    pub owner: Owner,
    pub failed: bool,
    pub cancellable: bool,
    next_free: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Joins {
    entries: Vec<Join>,
    /// Commands of joins that may be cancelled; parallel to `entries`.
    members: Vec<Vec<CommandId>>,
    free: u32,
}

impl Joins {
    pub fn new() -> Self {
        Self { entries: Vec::with_capacity(1 << 10), members: Vec::new(), free: NIL }
    }

    #[inline]
    pub fn open(&mut self, owner: Owner, token: Token, cancel: Cancel) -> u32 {
        let cancellable = cancel == Cancel::Possible;
        let join = Join { token, remaining: 1, owner, failed: false, cancellable, next_free: NIL };
        let id = if self.free == NIL {
            self.entries.push(join);
            self.entries.len() as u32 - 1
        } else {
            let id = self.free;
            self.free = self.entries[id as usize].next_free;
            self.entries[id as usize] = join;
            id
        };
        if cancellable {
            if self.members.len() <= id as usize {
                self.members.resize(id as usize + 1, Vec::new());
            }
            self.members[id as usize].clear();
        }
        id
    }

    pub fn get(&self, id: u32) -> &Join {
        &self.entries[id as usize]
    }

    #[inline(always)]
    pub fn at(&mut self, id: u32) -> &mut Join {
        &mut self.entries[id as usize]
    }

    #[inline]
    pub fn add(&mut self, id: u32, command: CommandId) {
        let join = &mut self.entries[id as usize];
        join.remaining += 1;
        if join.cancellable {
            self.members[id as usize].push(command);
        }
    }

    pub fn take_members(&mut self, id: u32) -> Vec<CommandId> {
        std::mem::take(&mut self.members[id as usize])
    }

    /// Gives the emptied list back so that its memory is used again.
    pub fn return_members(&mut self, id: u32, mut members: Vec<CommandId>) {
        members.clear();
        self.members[id as usize] = members;
    }

    #[inline]
    pub fn remove(&mut self, id: u32) {
        self.entries[id as usize].next_free = self.free;
        self.free = id;
    }
}

/// Programs counted by epoch; a barrier closes an epoch and waits until it and all older ones
/// are empty.
#[derive(Clone, Debug)]
pub(super) struct Barriers {
    outstanding: [u32; 256],
    current: u8,
    waiting: VecDeque<(u8, u32)>,
}

impl Barriers {
    pub fn new() -> Self {
        Self { outstanding: [0; 256], current: 0, waiting: VecDeque::new() }
    }

    /// A program was issued; returns the epoch it belongs to.
    #[inline]
    pub fn issued(&mut self) -> u8 {
        self.outstanding[self.current as usize] += 1;
        self.current
    }

    /// A program of `epoch` completed. `true`: a barrier may have fallen.
    #[inline]
    pub fn completed(&mut self, epoch: u8) -> bool {
        self.outstanding[epoch as usize] -= 1;
        self.outstanding[epoch as usize] == 0 && !self.waiting.is_empty()
    }

    /// Adds a barrier for `join`. `false`: nothing is outstanding, it has fallen already.
    pub fn add(&mut self, join: u32) -> bool {
        if self.waiting.is_empty() && self.outstanding[self.current as usize] == 0 {
            return false;
        }
        self.waiting.push_back((self.current, join));
        // With 250 epochs open, further barriers share the last one and wait a little longer.
        if self.waiting.front().is_some_and(|(oldest, _)| self.current.wrapping_sub(*oldest) < 250) {
            self.current = self.current.wrapping_add(1);
        }
        true
    }

    /// The join of the next barrier that has fallen.
    pub fn fallen(&mut self) -> Option<u32> {
        let (epoch, join) = *self.waiting.front()?;
        (self.outstanding[epoch as usize] == 0).then(|| {
            self.waiting.pop_front();
            join
        })
    }
}
