//! The host's elevator: requests that are contiguous and stand in the queue together go to the drive as one.
//!
//! Simplified: the queue has the requests that were submitted since time last passed: requests of the same moment.
//! Nothing is sorted, and nothing passes a request that it overlaps, or a flush.

use simulator::{BlockDevice, Completion, Completions, Progress};
use units::{HostOp, Nanos, Request};

/// Most sectors of a merged request: 512 KiB, as in the kernel of the publication. A request may be larger by itself.
const MOST: u32 = 1024;

/// Requests that go to the drive as one.
#[derive(Debug)]
struct Group {
    whole: Request,
    parts: Vec<(u32, Request)>,
}

impl Group {
    fn of(tag: u32, request: &Request) -> Self {
        Self { whole: *request, parts: vec![(tag, *request)] }
    }

    /// Adds a request that is contiguous with it, if it is.
    fn takes(&mut self, tag: u32, request: &Request) -> bool {
        let whole = &mut self.whole;
        let is_alike =
            whole.op == request.op && matches!(request.op, HostOp::Read | HostOp::Write) && !whole.fua && !request.fua;
        let is_next = whole.end_sector() == request.first_sector || request.end_sector() == whole.first_sector;
        if !is_alike || !is_next || whole.sectors + request.sectors > MOST {
            return false;
        }
        whole.first_sector = whole.first_sector.min(request.first_sector);
        whole.sectors += request.sectors;
        self.parts.push((tag, *request));
        true
    }

    /// Nothing that comes later may go before it.
    fn is_in_the_way(&self, of: &Request) -> bool {
        let overlaps = self.whole.first_sector < of.end_sector() && of.first_sector < self.whole.end_sector();
        overlaps || self.whole.op == HostOp::Flush || of.op == HostOp::Flush
    }
}

/// A device behind it.
#[derive(Debug)]
pub struct Elevator<D> {
    device: D,
    queue: Vec<Group>,
    /// Groups in the device, by tag.
    sent: Vec<Option<Group>>,
    free: Vec<u32>,
    from_device: Completions,
}

impl<D: BlockDevice> Elevator<D> {
    /// Nothing is under way on `device`.
    pub fn new(device: D) -> Self {
        Self { device, queue: Vec::new(), sent: Vec::new(), free: Vec::new(), from_device: Completions::default() }
    }

    /// The device behind it.
    pub fn device(&self) -> &D {
        &self.device
    }

    fn dispatch(&mut self) {
        for group in self.queue.drain(..) {
            let tag = self.free.pop().unwrap_or(self.sent.len() as u32);
            self.device.submit(tag, &group.whole);
            if tag as usize == self.sent.len() {
                self.sent.push(Some(group));
            } else {
                self.sent[tag as usize] = Some(group);
            }
        }
    }
}

impl<D: BlockDevice> BlockDevice for Elevator<D> {
    fn has_time(&self) -> bool {
        self.device.has_time()
    }

    fn now(&self) -> Nanos {
        self.device.now()
    }

    fn sectors(&self) -> u64 {
        self.device.sectors()
    }

    fn submit(&mut self, tag: u32, request: &Request) {
        for group in self.queue.iter_mut().rev() {
            if group.takes(tag, request) {
                return;
            }
            if group.is_in_the_way(request) {
                break;
            }
        }
        self.queue.push(Group::of(tag, request));
    }

    fn advance(&mut self, completions: &mut Completions) -> Progress {
        self.dispatch();
        completions.done.clear();
        let progress = self.device.advance(&mut self.from_device);
        std::mem::swap(&mut completions.waits, &mut self.from_device.waits);
        for done in self.from_device.done.drain(..) {
            let group = self.sent[done.tag as usize].take().expect("only what was sent completes");
            self.free.push(done.tag);
            completions.done.extend(group.parts.into_iter().map(|(tag, request)| Completion { tag, request, ..done }));
        }
        progress
    }

    fn wake_at(&mut self, time: Nanos) {
        self.device.wake_at(time);
    }

    fn hint(&self, soon: &[Request], next: &[Request]) {
        self.device.hint(soon, next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(first_sector: u64, sectors: u32) -> Request {
        Request { arrival: 0, first_sector, sectors, op: HostOp::Write, fua: false }
    }

    /// Completes everything at once and remembers what it was asked for.
    #[derive(Default)]
    struct Sink(Vec<Request>, Vec<Completion>);

    impl BlockDevice for Sink {
        fn now(&self) -> Nanos {
            0
        }
        fn sectors(&self) -> u64 {
            1 << 20
        }
        fn submit(&mut self, tag: u32, request: &Request) {
            self.0.push(*request);
            self.1.push(Completion { tag, request: *request, failed: false, wait: None, queue_ns: 0 });
        }
        fn advance(&mut self, completions: &mut Completions) -> Progress {
            completions.done.append(&mut self.1);
            if completions.done.is_empty() { Progress::Idle } else { Progress::Worked }
        }
        fn wake_at(&mut self, _: Nanos) {}
        fn hint(&self, _: &[Request], _: &[Request]) {}
    }

    fn sent(requests: &[Request]) -> Vec<(u64, u32)> {
        let mut elevator = Elevator::new(Sink::default());
        (0..).zip(requests).for_each(|(tag, request)| elevator.submit(tag, request));
        let mut completions = Completions::default();
        elevator.advance(&mut completions);
        let mut tags: Vec<u32> = completions.done.iter().map(|done| done.tag).collect();
        tags.sort_unstable();
        assert_eq!(tags, (0..requests.len() as u32).collect::<Vec<_>>(), "each is completed once");
        elevator.device().0.iter().map(|request| (request.first_sector, request.sectors)).collect()
    }

    #[test]
    fn contiguous_neighbours_become_one() {
        assert_eq!(sent(&[write(8, 8), write(16, 8), write(0, 8), write(64, 8)]), [(0, 24), (64, 8)]);
        assert_eq!(sent(&[write(0, 1024), write(1024, 8)]), [(0, 1024), (1024, 8)], "not beyond the largest");
    }

    #[test]
    fn nothing_passes_a_flush_or_what_it_overlaps() {
        let flush = Request { op: HostOp::Flush, ..write(0, 0) };
        assert_eq!(sent(&[write(0, 8), flush, write(8, 8)]).len(), 3);
        assert_eq!(sent(&[write(0, 8), write(12, 8), write(8, 8)]), [(0, 8), (12, 8), (8, 8)]);
    }
}
