//! Changes of a driver by number, in the order in which they are issued: written, then durable.
//!
//! Protects: a change counts as written only when all before it are, even if the device does them in another order.

use crate::RequestId;
use std::collections::VecDeque;

#[derive(Debug)]
struct Change {
    /// The requests that wait for it to be written.
    owners: Vec<RequestId>,
    is_written: bool,
}

#[derive(Debug)]
pub(crate) struct Changes {
    /// Those that were issued behind the last one that counts as written.
    open: VecDeque<Change>,
    written: u64,
    durable: u64,
}

impl Changes {
    /// All up to `written` were issued and written, and all up to `durable` are durable.
    pub fn resumed(written: u64, durable: u64) -> Self {
        let changes = Self { open: VecDeque::new(), written, durable };
        changes.check();
        changes
    }

    pub fn issued(&self) -> u64 {
        self.written + self.open.len() as u64
    }

    pub fn written(&self) -> u64 {
        self.written
    }

    pub fn durable(&self) -> u64 {
        self.durable
    }

    /// The next one; its number.
    pub fn issue(&mut self, owners: Vec<RequestId>) -> u64 {
        self.open.push_back(Change { owners, is_written: false });
        self.issued()
    }

    /// The device has done it: the requests that waited for that.
    pub fn wrote(&mut self, number: u64) -> Vec<RequestId> {
        let change = &mut self.open[(number - self.written - 1) as usize];
        debug_assert!(!change.is_written, "change {number} is written once");
        change.is_written = true;
        let owners = std::mem::take(&mut change.owners);
        while self.open.front().is_some_and(|change| change.is_written) {
            self.open.pop_front();
            self.written += 1;
        }
        owners
    }

    /// All up to this one are durable.
    pub fn set_durable(&mut self, number: u64) {
        self.durable = self.durable.max(number);
        self.check();
    }

    fn check(&self) {
        debug_assert!(self.durable <= self.written, "what is durable was written: {self:?}");
    }
}
