//! Memory that clients may hold: half-received long writes, answers that nobody takes.
//!
//! A first part is for whoever comes first. Beyond it each client has an equal share of a second part, so that clients
//! that take no answers keep nobody else waiting. A request that is longer than the share waits for its turn in the
//! third part, which has room for one of them, of a client that has taken answers before.

use std::time::Instant;

/// Bytes for whoever comes first.
pub(crate) const COMMON: usize = 96 << 20;
/// Bytes of which each client has an equal share.
const SHARES: usize = 96 << 20;

/// Which client: its place, and which use of that place.
pub(crate) type Who = (usize, u64);

/// What all clients hold.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    held: usize,
    clients: usize,
    /// Who has the third part.
    guest: Option<Who>,
    /// Since when the first part is full, and nothing has helped.
    pub full_since: Option<Instant>,
}

impl Shares {
    /// A client came, which holds nothing.
    pub fn enter(&mut self) {
        self.clients += 1;
    }

    /// A client went that held so much.
    pub fn leave(&mut self, who: Who, held: usize) {
        self.clients -= 1;
        self.held -= held;
        self.let_go(who);
    }

    /// A client holds another number of bytes now.
    pub fn changed(&mut self, before: usize, now: usize) {
        self.held = self.held - before + now;
    }

    /// Bytes that all of them hold.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Whether the first part is used up.
    pub fn is_full(&self) -> bool {
        self.held >= COMMON
    }

    /// Bytes of the longest request that a client may begin which holds and has asked for `own` bytes.
    pub fn longest(&self, who: Who, own: u64) -> u32 {
        if self.is_guest(who) {
            return u32::MAX;
        }
        let share = (SHARES / self.clients.max(1)).saturating_sub(own as usize);
        let longest = COMMON.saturating_sub(self.held.max(own as usize)).max(share);
        u32::try_from(longest).unwrap_or(u32::MAX)
    }

    /// Whether a client has the third part.
    pub fn is_guest(&self, who: Who) -> bool {
        self.guest == Some(who)
    }

    /// The third part goes to a client, if nobody has it.
    pub fn invite(&mut self, who: Who) -> bool {
        let is_free = self.guest.is_none();
        self.guest = self.guest.or(Some(who));
        is_free
    }

    /// A client does not need the third part any more.
    pub fn let_go(&mut self, who: Who) {
        self.guest = self.guest.filter(|guest| *guest != who);
    }
}
