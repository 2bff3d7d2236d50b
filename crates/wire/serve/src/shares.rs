//! Memory that clients may hold: half-received long writes, answers that are not sent yet.
//!
//! All clients together may fill a first part. Beyond it each client has an equal share of a second part. A request
//! that is longer than both leave to its client is served part by part (see [`nbd::Connection::split`]), so that no
//! client waits for another one to take its answers.

/// Bytes that all clients together may fill.
const COMMON: usize = 96 << 20;
/// Bytes of which each client has an equal share.
const SHARES: usize = 96 << 20;
/// Bytes that the part of a long request takes with its head, at least and at most.
const PART: [u32; 2] = [32 << 10, 256 << 10];
/// Parts are whole blocks of this.
const BLOCK: u32 = 4096;

/// Memory that all clients hold.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    held: usize,
    clients: usize,
}

impl Shares {
    /// A client came, which holds nothing.
    pub fn enter(&mut self) {
        self.clients += 1;
    }

    /// A client went that held so much.
    pub fn leave(&mut self, held: usize) {
        self.clients -= 1;
        self.held -= held;
    }

    /// A client holds another number of bytes now.
    pub fn changed(&mut self, before: usize, now: usize) {
        self.held = self.held - before + now;
    }

    /// Whether the first part is used up.
    pub fn is_full(&self) -> bool {
        self.held >= COMMON
    }

    /// Bytes of the longest request that a client may begin which holds and has asked for `own` bytes.
    pub fn longest(&self, own: u64) -> u32 {
        let share = (SHARES / self.clients.max(1)).saturating_sub(own as usize);
        let longest = COMMON.saturating_sub(self.held.max(own as usize)).max(share);
        u32::try_from(longest).unwrap_or(u32::MAX)
    }

    /// Bytes of the parts of a request of a client that may begin requests of `longest` bytes.
    pub fn part_of(longest: u32) -> u32 {
        // With its head a part is a little longer, and buffers grow by doubling.
        longest.clamp(PART[0], PART[1]) / BLOCK * BLOCK - BLOCK
    }
}
