//! The rings of one virtual machine, between the thread of the server and those that negotiate.

use crate::request::Chain;
use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use vhost_user_backend::{VringMutex, VringState, VringT};
use virtio_queue::QueueT;
use vm_memory::{GuestAddressSpace, GuestMemoryAtomic, GuestMemoryMmap};

/// The memory of a virtual machine, which may change while it runs.
pub(crate) type Memory = GuestMemoryAtomic<GuestMemoryMmap>;
pub(crate) type Ring = VringMutex<Memory>;

/// Longest time without a look at whether the server ends.
const LOOK: Duration = Duration::from_millis(20);

/// All rings of one virtual machine.
pub(crate) struct Rings {
    memory: Memory,
    pub all: Vec<Ring>,
    /// Requests under way of each ring.
    under_way: Mutex<Vec<u32>>,
    left: Condvar,
}

impl Rings {
    pub fn new(memory: Memory, all: Vec<Ring>) -> Self {
        let under_way = Mutex::new(vec![0; all.len()]);
        Self { memory, all, under_way, left: Condvar::new() }
    }

    fn counts(&self) -> MutexGuard<'_, Vec<u32>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next request of a ring, which counts among those under way.
    pub fn pop(&self, place: usize) -> Option<Chain> {
        let memory = self.memory.memory();
        let mut ring = self.all[place].get_mut();
        if !is_served(&ring) {
            return None;
        }
        let queue = ring.get_queue_mut();
        let chain = queue.pop_descriptor_chain(memory.clone().into_inner());
        if chain.is_some() {
            // Counted while the ring is locked, so that whoever stops it finds the request.
            self.counts()[place] += 1;
        } else if queue.avail_idx(&*memory, Ordering::Acquire).is_ok_and(|index| index.0 != queue.next_avail()) {
            tracing::warn!("ring {place} of the virtual machine is damaged, and is not served any more");
            queue.set_ready(false);
        }
        chain
    }

    /// Requests of a ring have been answered.
    pub fn leave(&self, place: usize, count: u32) {
        self.counts()[place] -= count;
        self.left.notify_all();
    }

    /// Waits until no request of a ring is under way, or the server ends.
    pub fn drain(&self, place: usize, ends: &dyn Fn() -> bool) {
        let mut counts = self.counts();
        while counts.get(place).is_some_and(|count| *count > 0) && !ends() {
            counts = self.left.wait_timeout(counts, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Whether a request waits in a ring.
    pub fn waits(&self, place: usize) -> bool {
        let memory = self.memory.memory();
        let ring = self.all[place].get_ref();
        let queue = ring.get_queue();
        is_served(&ring)
            && queue.avail_idx(&*memory, Ordering::Acquire).is_ok_and(|index| index.0 != queue.next_avail())
    }

    /// Asks to be woken by the next request of a ring. Whether one waits already.
    pub fn doze(&self, place: usize) -> bool {
        let mut ring = self.all[place].get_mut();
        is_served(&ring) && ring.enable_notification().unwrap_or(false)
    }

    /// Asks not to be woken by the requests of a ring.
    pub fn stay_awake(&self, place: usize) {
        let mut ring = self.all[place].get_mut();
        if is_served(&ring) {
            // Without it the driver wakes a server that is awake.
            let _ = ring.disable_notification();
        }
    }
}

/// Whether requests may be taken from a ring.
fn is_served(ring: &VringState<Memory>) -> bool {
    ring.is_enabled() && ring.get_queue().ready()
}
