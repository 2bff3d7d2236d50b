//! The conversation with a virtual machine: features, memory, rings.

use crate::device::{RING_SIZE, RINGS, configuration, features};
use crate::rings::{Memory, Ring, Rings};
use serve::{Device, Wake};
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use vhost::vhost_user::message::VhostUserProtocolFeatures;
use vhost::vhost_user::{Error as VhostError, Listener};
use vhost_user_backend::{Error as DaemonError, ShutdownHandle, VhostUserBackend, VhostUserDaemon};
use virtio_bindings::virtio_blk::VIRTIO_BLK_F_FLUSH;
use vm_memory::GuestMemoryMmap;
use vmm_sys_util::epoll::EventSet;
use vmm_sys_util::event::{EventConsumer, EventFlag, EventNotifier, new_event_consumer_and_notifier};

/// Time before the next attempt to accept a virtual machine.
const PAUSE: Duration = Duration::from_millis(100);

/// What the server and the threads of a connection share.
pub(crate) struct Backend {
    pub device: Device,
    wake: Wake,
    /// The memory of the virtual machine that is connected.
    memory: Mutex<Memory>,
    /// Its rings, from its first request on.
    rings: Mutex<Option<Arc<Rings>>>,
    is_write_through: AtomicBool,
    /// Ends the connection of that virtual machine.
    hang_up: Mutex<Option<ShutdownHandle>>,
    ends: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Backend {
    pub fn new(device: Device, wake: Wake) -> Self {
        Self {
            device,
            wake,
            memory: Mutex::new(Memory::new(GuestMemoryMmap::new())),
            rings: Mutex::default(),
            is_write_through: AtomicBool::new(false),
            hang_up: Mutex::default(),
            ends: AtomicBool::new(false),
        }
    }

    /// The rings of the virtual machine that is connected, once it has a request.
    pub fn rings(&self) -> Option<Arc<Rings>> {
        lock(&self.rings).clone()
    }

    /// Whether the driver knows no flush.
    pub fn is_write_through(&self) -> bool {
        self.is_write_through.load(Ordering::Relaxed)
    }

    fn ends(&self) -> bool {
        self.ends.load(Ordering::SeqCst)
    }

    /// Serves one virtual machine until it leaves.
    fn converse(self: &Arc<Self>, listener: &mut Listener) -> Result<(), DaemonError> {
        let memory = Memory::new(GuestMemoryMmap::new());
        *lock(&self.memory) = memory.clone();
        let mut daemon = VhostUserDaemon::new("vhost-user".to_owned(), Arc::clone(self), memory)?;
        daemon.start(listener)?;
        *lock(&self.hang_up) = daemon.shutdown_handle();
        if self.ends() {
            daemon.request_shutdown();
        }
        let result = daemon.wait();
        *lock(&self.hang_up) = None;
        // Its threads end here, and hand over no further rings.
        drop(daemon);
        *lock(&self.rings) = None;
        result
    }

    fn run(self: &Arc<Self>, listener: UnixListener) {
        let mut listener = Listener::from(listener);
        while !self.ends() {
            match self.converse(&mut listener) {
                Ok(()) | Err(DaemonError::HandleRequest(VhostError::Disconnected | VhostError::PartialMessage)) => {}
                Err(DaemonError::HandleRequest(error)) => tracing::info!("a virtual machine left: {error}"),
                Err(error) => {
                    tracing::warn!("a virtual machine could not connect, and may try again: {error}");
                    std::thread::sleep(PAUSE);
                }
            }
        }
    }
}

impl VhostUserBackend for Backend {
    type Bitmap = ();
    type Vring = Ring;

    fn num_queues(&self) -> usize {
        RINGS.into()
    }

    fn max_queue_size(&self) -> usize {
        RING_SIZE
    }

    fn features(&self) -> u64 {
        features(&self.device)
    }

    fn acked_features(&self, features: u64) {
        self.is_write_through.store(features >> VIRTIO_BLK_F_FLUSH & 1 == 0, Ordering::Relaxed);
    }

    fn protocol_features(&self) -> VhostUserProtocolFeatures {
        use VhostUserProtocolFeatures as Protocol;
        Protocol::CONFIG | Protocol::CONFIGURE_MEM_SLOTS | Protocol::MQ | Protocol::REPLY_ACK
    }

    fn set_event_idx(&self, _: bool) {}

    fn get_config(&self, offset: u32, size: u32) -> Vec<u8> {
        // Drivers of newer versions ask for more than there is.
        let mut space = configuration(&self.device);
        space.drain(..space.len().min(offset as usize));
        space.resize(size as usize, 0);
        space
    }

    fn update_memory(&self, _: Memory) -> io::Result<()> {
        Ok(())
    }

    fn exit_event(&self, _: usize) -> Option<(EventConsumer, EventNotifier)> {
        new_event_consumer_and_notifier(EventFlag::NONBLOCK | EventFlag::CLOEXEC).ok()
    }

    fn stop_vring(&self, place: u32) -> io::Result<()> {
        if let Some(rings) = self.rings() {
            rings.drain(place as usize, &|| self.ends());
        }
        Ok(())
    }

    /// The virtual machine has a request.
    fn handle_event(&self, _: u16, _: EventSet, vrings: &[Ring], _: usize) -> io::Result<()> {
        let memory = lock(&self.memory).clone();
        lock(&self.rings).get_or_insert_with(|| Arc::new(Rings::new(memory, vrings.to_vec())));
        self.wake.wake();
        Ok(())
    }
}

/// The thread that converses with one virtual machine after the other.
pub(crate) struct Connection {
    backend: Arc<Backend>,
    /// Where it listens, to end its waiting.
    path: Option<PathBuf>,
    thread: Option<JoinHandle<()>>,
}

impl Connection {
    pub fn begin(listener: UnixListener, backend: Backend) -> io::Result<Self> {
        let path = listener.local_addr()?.as_pathname().map(PathBuf::from);
        let backend = Arc::new(backend);
        let runs = Arc::clone(&backend);
        let thread = Builder::new().name("vhost-user".to_owned()).spawn(move || runs.run(listener))?;
        Ok(Self { backend, path, thread: Some(thread) })
    }

    pub fn backend(&self) -> &Backend {
        &self.backend
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.backend.ends.store(true, Ordering::SeqCst);
        if let Some(connected) = &*lock(&self.backend.hang_up) {
            connected.shutdown();
        }
        // A thread that waits for a client gets one that leaves at once. Without its path it waits on, for nobody.
        let is_heard = self.path.as_ref().is_some_and(|path| UnixStream::connect(path).is_ok());
        if let Some(thread) = self.thread.take()
            && (is_heard || thread.is_finished())
            && thread.join().is_err()
        {
            tracing::warn!("the thread for virtual machines broke down");
        }
    }
}
