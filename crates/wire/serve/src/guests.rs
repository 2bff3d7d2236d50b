//! A virtual machine in front of a target: its requests stand in memory that it shares with the server.

use crate::target::Order;
use mio::Waker;
use nbd::ErrorNumber;

/// The device that a guest is shown.
#[derive(Clone, Debug)]
pub struct Device {
    /// Size in bytes; whole sectors of 512.
    pub bytes: u64,
    /// Bytes that it reads and writes best together, a power of two from 512.
    pub preferred_bytes: u32,
    /// Bytes of the pieces that a trim forgets whole.
    pub trim_bytes: u32,
    /// The guest may only read.
    pub read_only: bool,
    pub name: String,
}

/// Ends the sleep of a server from another thread.
#[derive(Debug)]
pub struct Wake(Waker);

impl Wake {
    pub(crate) fn new(waker: Waker) -> Self {
        Self(waker)
    }

    /// The server looks at its guest soon.
    pub fn wake(&self) {
        if let Err(error) = self.0.wake() {
            tracing::warn!("the server could not be woken for its virtual machine: {error}");
        }
    }
}

/// The protocol of a virtual machine. The thread of the server calls all of it.
pub trait Guest {
    /// Takes the next request, with the number of its answer. The bytes of a write replace `payload`.
    fn next(&mut self, payload: &mut Vec<u8>) -> Option<(u32, Order)>;

    /// Answers a request, a read with its bytes.
    fn answer(&mut self, number: u32, result: Result<&[u8], ErrorNumber>);

    /// Tells the guest of the answers since the last call.
    fn tell(&mut self);

    /// Whether a request waits.
    fn waits(&mut self) -> bool;

    /// The server is about to sleep: the next request has to wake it. Whether one waits already.
    fn doze(&mut self) -> bool;
}
