//! A server in a thread of its own, and a driver with memory, rings and event files.

use serve::{
    Address, Answer, Answers, Control, Order, OrderKind, Pace, ServeError, Server, ServerOptions, SimulatedDrive,
    Target,
};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use vhost::vhost_user::message::{VhostUserConfigFlags, VhostUserProtocolFeatures};
use vhost::vhost_user::{Frontend, VhostUserFrontend};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo, VringConfigData};
use virtio_queue::desc::split::Descriptor;
use vm_memory::{Bytes, FileOffset, GuestAddress, GuestMemoryMmap};
use vmm_sys_util::eventfd::{EFD_NONBLOCK, EventFd};

/// Bytes of the disks.
pub const BYTES: u64 = 16 << 20;
/// Longest time that a test waits.
const PATIENCE: Duration = Duration::from_secs(20);

pub const READ: u32 = 0;
pub const WRITE: u32 = 1;
pub const FLUSH: u32 = 4;
pub const NAME: u32 = 8;
pub const DISCARD: u32 = 11;
pub const ZEROES: u32 = 13;

pub const DONE: u8 = 0;
pub const FAILED: u8 = 1;
pub const UNSUPPORTED: u8 = 2;

/// Where a test decides when requests are answered.
#[derive(Debug, Default)]
pub struct Gate {
    pub holds: AtomicBool,
    pub is_full: AtomicBool,
}

/// Memory behind a gate.
struct Toy {
    gate: Arc<Gate>,
    waiting: Vec<(u32, Order)>,
    bytes: Vec<u8>,
}

impl Target for Toy {
    fn bytes(&self) -> u64 {
        BYTES
    }

    fn submit(&mut self, tag: u32, order: &Order, payload: &[u8]) {
        if order.kind == OrderKind::Write {
            self.bytes[order.offset as usize..][..payload.len()].copy_from_slice(payload);
        }
        self.waiting.push((tag, *order));
        self.gate.is_full.store(true, Ordering::SeqCst);
    }

    fn poll(&mut self, answers: &mut Answers) -> Option<Duration> {
        if self.waiting.is_empty() {
            return None;
        }
        if self.gate.holds.load(Ordering::SeqCst) {
            return Some(Duration::from_millis(2));
        }
        for (tag, order) in self.waiting.drain(..) {
            let at = answers.bytes.len();
            if order.kind == OrderKind::Read {
                answers.bytes.extend_from_slice(&self.bytes[order.offset as usize..][..order.length as usize]);
            }
            answers.all.push(Answer { tag, result: Ok(at) });
        }
        None
    }

    fn control(&mut self, _: &str) -> Control {
        Control::Refused("a toy".to_owned())
    }

    fn close(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// A server that runs.
pub struct Serving {
    pub folder: TempDir,
    pub gate: Arc<Gate>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
}

impl Serving {
    /// Serves a simulated drive.
    pub fn drive() -> Self {
        Self::paced(Pace::Off)
    }

    /// Serves a simulated drive whose time follows the clock.
    pub fn paced(pace: Pace) -> Self {
        let settings = [
            "drive.capacity=16MiB",
            "drive.over_provisioning=100%",
            "flash.pages_per_block=16",
            "flash.program_time=200us",
        ];
        Self::begin(move |_| SimulatedDrive::new(drive::Drive::new("page", &settings).unwrap(), pace))
    }

    /// Serves memory behind a gate.
    pub fn toy() -> Self {
        Self::begin(|gate| Toy { gate, waiting: Vec::new(), bytes: vec![0; BYTES as usize] })
    }

    fn begin<T: Target>(target: impl FnOnce(Arc<Gate>) -> T + Send + 'static) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (gate, stop) = (Arc::new(Gate::default()), Arc::new(AtomicBool::new(false)));
        let address = Address::Unix(folder.path().join("nbd"));
        let options = ServerOptions { control: Some(folder.path().join("ctl")), ..ServerOptions::new(address, "toy") };
        let (tell, told) = mpsc::channel();
        let (stops, opens, path) = (Arc::clone(&stop), Arc::clone(&gate), folder.path().join("vm"));
        let thread = std::thread::spawn(move || {
            let mut target = target(opens);
            let mut server = Server::new(&mut target, &options)?;
            server.attach(&path, vhost_blk::Disk::begin)?;
            tell.send(()).unwrap();
            server.run(&stops)
        });
        told.recv().unwrap();
        Self { folder, gate, stop, thread: Some(thread) }
    }

    /// Lets the toy answer, or not.
    pub fn hold(&self, holds: bool) {
        self.gate.holds.store(holds, Ordering::SeqCst);
    }

    /// Waits until the toy has a request.
    pub fn await_request(&self) {
        eventually("a request", || self.gate.is_full.load(Ordering::SeqCst).then_some(()));
    }

    /// Gives a command; its answer.
    pub fn command(&self, command: &str) -> String {
        let mut stream = UnixStream::connect(self.folder.path().join("ctl")).unwrap();
        writeln!(stream, "{command}").unwrap();
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).unwrap();
        answer
    }

    pub fn driver(&self) -> Driver {
        Driver::new(&self.folder.path().join("vm"))
    }

    /// Stops the server and waits for its end.
    pub fn end(mut self) -> TempDir {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.take().unwrap().join().unwrap().unwrap();
        std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            // A test that failed has said why.
            let _ = thread.join();
        }
    }
}

/// Waits until something is there.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{what} never came");
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Requests in a ring.
const SIZE: u16 = 16;
/// Parts of a request: its head, its data, its status.
const PARTS: u16 = 3;
/// Where the driver's memory stands for the program that is the virtual machine.
const USER: u64 = 0x7000_0000;
const MEMORY: u64 = 16 << 20;
const RINGS: usize = 2;

/// A ring, as its driver keeps it.
pub struct Queue {
    base: u64,
    given: u16,
    /// Answers that were there at the last call.
    heard: u16,
    taken: u16,
    kick: EventFd,
    call: EventFd,
}

/// The driver of a disk, and the virtual machine around it.
pub struct Driver {
    pub frontend: Frontend,
    memory: GuestMemoryMmap,
    pub queues: Vec<Queue>,
}

impl Driver {
    pub fn new(path: &Path) -> Self {
        let file = tempfile::tempfile().unwrap();
        file.set_len(MEMORY).unwrap();
        let region = VhostUserMemoryRegionInfo {
            guest_phys_addr: 0,
            memory_size: MEMORY,
            userspace_addr: USER,
            mmap_offset: 0,
            mmap_handle: file.as_raw_fd(),
        };
        let mut frontend = Frontend::connect(path, RINGS as u64).unwrap();
        frontend.set_owner().unwrap();
        let features = frontend.get_features().unwrap();
        // Requests are told one by one, so that a test sees each.
        frontend.set_features(features & !(1 << 29)).unwrap();
        assert!(frontend.get_protocol_features().unwrap().contains(VhostUserProtocolFeatures::CONFIG));
        frontend.set_protocol_features(VhostUserProtocolFeatures::CONFIG | VhostUserProtocolFeatures::MQ).unwrap();
        assert!(frontend.get_queue_num().unwrap() >= RINGS as u64);
        frontend.set_mem_table(&[region]).unwrap();
        let range = (GuestAddress(0), MEMORY as usize, Some(FileOffset::new(file, 0)));
        let memory = GuestMemoryMmap::from_ranges_with_files([range]).unwrap();
        let queues = (0..RINGS).map(|place| start(&mut frontend, place)).collect();
        Self { frontend, memory, queues }
    }

    /// The configuration space of the disk.
    pub fn configuration(&mut self) -> Vec<u8> {
        let flags = VhostUserConfigFlags::empty();
        self.frontend.get_config(0, 60, flags, &[0; 60]).unwrap().1
    }

    /// Gives a request its place, and tells the device. `data`: bytes that are sent; `room`: for bytes that come back.
    pub fn ask(&mut self, queue: usize, kind: u32, sector: u64, data: &[u8], room: usize) -> u16 {
        let base = self.queues[queue].base;
        let slot = self.queues[queue].given % (SIZE / PARTS);
        let (head, body) = (base + 0x1_0000 * u64::from(slot + 1), base + 0x1_0000 * u64::from(slot + 1) + 0x100);
        let number = [&kind.to_le_bytes()[..], &[0; 4], &sector.to_le_bytes()].concat();
        self.memory.write_slice(&number, GuestAddress(head)).unwrap();
        self.memory.write_slice(data, GuestAddress(body)).unwrap();
        self.memory.write_obj(0xff_u8, GuestAddress(head + 0x80)).unwrap();
        let (next, write) = (1, 2);
        let data_flags = if data.is_empty() { write } else { 0 };
        let length = data.len().max(room) as u32;
        let mut parts = vec![(head, 16, 0)];
        parts.extend((length > 0).then_some((body, length, data_flags)));
        parts.push((head + 0x80, 1, write));
        let (first, count) = (slot * PARTS, parts.len());
        for (at, (address, length, flags)) in parts.into_iter().enumerate() {
            let index = first + at as u16;
            let more = if at + 1 < count { next } else { 0 };
            let part = Descriptor::new(address, length, flags | more, index + 1);
            self.memory.write_obj(part, GuestAddress(base + 16 * u64::from(index))).unwrap();
        }
        self.offer(queue, first, 1);
        slot
    }

    /// A request whose only part lies beyond the memory.
    pub fn ask_beyond(&mut self, queue: usize) {
        let part = Descriptor::new(MEMORY + 4096, 4096, 0, 0);
        self.memory.write_obj(part, GuestAddress(self.queues[queue].base)).unwrap();
        self.offer(queue, 0, 1);
    }

    /// Puts the head of a request into the ring, and claims that so many were.
    pub fn offer(&mut self, queue: usize, head: u16, count: u16) {
        let queue = &mut self.queues[queue];
        let place = queue.base + 0x1000 + 4 + 2 * u64::from(queue.given % SIZE);
        self.memory.write_obj(head, GuestAddress(place)).unwrap();
        queue.given += count;
        self.memory.store(queue.given, GuestAddress(queue.base + 0x1000 + 2), Ordering::Release).unwrap();
        queue.kick.write(1).unwrap();
    }

    /// Requests that the device has answered in a ring.
    pub fn answered(&self, queue: usize) -> u16 {
        self.memory.load(GuestAddress(self.queues[queue].base + 0x2000 + 2), Ordering::Acquire).unwrap()
    }

    /// Waits for the next answer that the device has called for. Its slot, its status, the bytes that came back.
    pub fn answer(&mut self, queue: usize) -> (u16, u8, Vec<u8>) {
        while self.queues[queue].heard == self.queues[queue].taken {
            eventually("a call", || self.queues[queue].call.read().ok());
            self.queues[queue].heard = self.answered(queue);
        }
        let Queue { base, taken, .. } = self.queues[queue];
        let entry = base + 0x2000 + 4 + 8 * u64::from(taken % SIZE);
        let first: u32 = self.memory.read_obj(GuestAddress(entry)).unwrap();
        let length: u32 = self.memory.read_obj(GuestAddress(entry + 4)).unwrap();
        let slot = first as u16 / PARTS;
        let head = base + 0x1_0000 * u64::from(slot + 1);
        let status = self.memory.read_obj(GuestAddress(head + 0x80)).unwrap();
        let mut bytes = vec![0; length.saturating_sub(1) as usize];
        self.memory.read_slice(&mut bytes, GuestAddress(head + 0x100)).unwrap();
        self.queues[queue].taken += 1;
        (slot, status, bytes)
    }

    /// Asks, and waits for the answer.
    pub fn done(&mut self, queue: usize, kind: u32, sector: u64, data: &[u8], room: usize) -> (u8, Vec<u8>) {
        self.ask(queue, kind, sector, data, room);
        let (_, status, bytes) = self.answer(queue);
        (status, bytes)
    }
}

fn start(frontend: &mut Frontend, place: usize) -> Queue {
    let base = 0x10_0000 * (place as u64 + 1);
    let data = VringConfigData {
        queue_max_size: SIZE,
        queue_size: SIZE,
        flags: 0,
        desc_table_addr: USER + base,
        avail_ring_addr: USER + base + 0x1000,
        used_ring_addr: USER + base + 0x2000,
        log_addr: None,
    };
    let (kick, call) = (EventFd::new(EFD_NONBLOCK).unwrap(), EventFd::new(EFD_NONBLOCK).unwrap());
    frontend.set_vring_num(place, SIZE).unwrap();
    frontend.set_vring_addr(place, &data).unwrap();
    frontend.set_vring_base(place, 0).unwrap();
    frontend.set_vring_call(place, &call).unwrap();
    frontend.set_vring_kick(place, &kick).unwrap();
    frontend.set_vring_enable(place, true).unwrap();
    Queue { base, given: 0, heard: 0, taken: 0, kick, call }
}
