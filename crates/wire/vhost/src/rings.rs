//! The rings of one virtual machine, between the thread of the server and those that negotiate.

use crate::request::Chain;
use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use vhost_user_backend::{VringMutex, VringState, VringT};
use virtio_queue::{Queue, QueueT};
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
        // The driver adds requests meanwhile, so a look after an empty pop finds some in a ring that is well.
        if !has_request(queue, &memory) {
            return None;
        }
        let chain = queue.pop_descriptor_chain(memory.clone().into_inner());
        if chain.is_some() {
            // Counted while the ring is locked, so that whoever stops it finds the request.
            self.counts()[place] += 1;
        } else {
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

/// Whether the driver has put a request into a ring that was not taken.
fn has_request(queue: &Queue, memory: &GuestMemoryMmap) -> bool {
    queue.avail_idx(memory, Ordering::Acquire).is_ok_and(|index| index.0 != queue.next_avail())
}

/// Whether requests may be taken from a ring.
fn is_served(ring: &VringState<Memory>) -> bool {
    ring.is_enabled() && ring.get_queue().ready()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicU32};
    use std::time::Instant;
    use vm_memory::{Bytes, GuestAddress};

    const SIZE: u16 = 16;
    const REQUESTS: u32 = 50_000;

    /// A request that came in during a look made the ring count as damaged, and the driver waited for ever.
    #[test]
    fn a_ring_is_served_while_its_driver_adds_requests() {
        let memory = Memory::new(GuestMemoryMmap::from_ranges(&[(GuestAddress(0), 0x4000)]).unwrap());
        let ring = Ring::new(memory.clone(), SIZE).unwrap();
        ring.set_queue_info(0, 0x1000, 0x2000).unwrap();
        ring.set_queue_size(SIZE);
        ring.set_enabled(true);
        ring.set_queue_ready(true);
        let rings = Rings::new(memory.clone(), vec![ring]);
        let (taken, is_over) = (AtomicU32::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut given = 0;
                while given < REQUESTS && !is_over.load(Ordering::Relaxed) {
                    if given - taken.load(Ordering::Acquire) < u32::from(SIZE) {
                        given += 1;
                        memory.memory().store(given as u16, GuestAddress(0x1002), Ordering::Release).unwrap();
                    }
                    std::hint::spin_loop();
                }
            });
            let begun = Instant::now();
            while taken.load(Ordering::Relaxed) < REQUESTS && begun.elapsed() < Duration::from_secs(20) {
                if rings.pop(0).is_some() {
                    taken.fetch_add(1, Ordering::Release);
                }
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert_eq!(taken.into_inner(), REQUESTS, "the ring is not served any more");
    }
}
