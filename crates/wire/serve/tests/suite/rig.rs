//! A server over memory in a thread of its own, and a client that speaks as little of the protocol as will do.

use serve::{Address, Answer, Answers, Control, Order, OrderKind, ServeError, Server, ServerOptions, Target};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Bytes of the target.
pub const BYTES: u64 = 128 << 20;

/// What the tests see of the target, and do to it.
#[derive(Debug, Default)]
pub struct Shared {
    /// No order is answered while this is set.
    pub holds: AtomicBool,
    /// Closing fails.
    pub fails_to_close: AtomicBool,
    /// It was closed.
    pub closed: AtomicBool,
    /// Orders it has and has not answered.
    pub orders: AtomicU64,
    /// Most of them at once.
    pub most_orders: AtomicU64,
    /// Bytes that those ask for.
    pub bytes: AtomicU64,
    /// Most of them at once.
    pub most_bytes: AtomicU64,
}

/// Answers reads with the number of their first sector, in all of their bytes.
struct Toy {
    shared: Arc<Shared>,
    waiting: Vec<(u32, Order)>,
}

impl Target for Toy {
    fn bytes(&self) -> u64 {
        BYTES
    }

    fn submit(&mut self, tag: u32, order: &Order, _: &[u8]) {
        self.waiting.push((tag, *order));
        let orders = self.waiting.len() as u64;
        let bytes = self.waiting.iter().map(|(_, order)| u64::from(order.length)).sum();
        self.shared.orders.store(orders, Ordering::SeqCst);
        self.shared.most_orders.fetch_max(orders, Ordering::SeqCst);
        self.shared.bytes.store(bytes, Ordering::SeqCst);
        self.shared.most_bytes.fetch_max(bytes, Ordering::SeqCst);
    }

    fn poll(&mut self, answers: &mut Answers) -> Option<Duration> {
        if self.waiting.is_empty() {
            return None;
        }
        if self.shared.holds.load(Ordering::SeqCst) {
            return Some(Duration::from_millis(2));
        }
        for (tag, order) in self.waiting.drain(..) {
            let at = answers.bytes.len();
            if order.kind == OrderKind::Read {
                answers.bytes.resize(at + order.length as usize, (order.offset / 512) as u8);
            }
            answers.all.push(Answer { tag, result: Ok(at) });
        }
        self.shared.orders.store(0, Ordering::SeqCst);
        self.shared.bytes.store(0, Ordering::SeqCst);
        None
    }

    fn control(&mut self, command: &str) -> Control {
        match command.trim() {
            "go-away" => Control::HangUp("gone".into()),
            "echo" => Control::Done("echo".into()),
            other => Control::Refused(format!("there is no command {other}")),
        }
    }

    fn close(&mut self) -> Result<(), String> {
        self.shared.closed.store(true, Ordering::SeqCst);
        if self.shared.fails_to_close.load(Ordering::SeqCst) { Err("the disk is full".to_owned()) } else { Ok(()) }
    }
}

/// A server that runs.
pub struct Serving {
    pub shared: Arc<Shared>,
    pub folder: TempDir,
    pub address: Address,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
}

/// How the tests serve: a socket for clients and one for commands in a folder.
pub fn options(folder: &Path) -> ServerOptions {
    let address = Address::Unix(folder.join("nbd"));
    ServerOptions { control: Some(folder.join("ctl")), ..ServerOptions::new(address, "toy") }
}

impl Serving {
    pub fn begin() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let options = options(folder.path());
        Self::begin_with(folder, options)
    }

    pub fn begin_with(folder: TempDir, options: ServerOptions) -> Self {
        let shared = Arc::new(Shared::default());
        let target = shared.clone();
        Self::begin_all(folder, options, shared, move || Toy { shared: target, waiting: Vec::new() })
    }

    /// Serves another target.
    pub fn begin_over<T: Target>(target: impl FnOnce() -> T + Send + 'static) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let options = options(folder.path());
        Self::begin_all(folder, options, Arc::default(), target)
    }

    fn begin_all<T: Target>(
        folder: TempDir,
        options: ServerOptions,
        shared: Arc<Shared>,
        target: impl FnOnce() -> T + Send + 'static,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (tell, told) = mpsc::channel();
        let stops = stop.clone();
        let thread = std::thread::spawn(move || {
            let mut target = target();
            let mut server = Server::new(&mut target, &options)?;
            tell.send(server.address().clone()).expect("somebody waits for the address");
            server.run(&stops)
        });
        let address = told.recv().expect("the server begins");
        Self { shared, folder, address, stop, thread: Some(thread) }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Somebody who gives commands.
    pub fn controller(&self) -> Controller {
        let stream = UnixStream::connect(self.path("ctl")).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time limit");
        Controller { answers: BufReader::new(stream.try_clone().expect("a second handle")), stream }
    }

    /// A client that has agreed on the export.
    pub fn client(&self) -> Client<UnixStream> {
        let stream = UnixStream::connect(self.path("nbd")).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time limit");
        stream.set_write_timeout(Some(Duration::from_secs(20))).expect("a time limit");
        Client::greet(stream)
    }

    /// The same of an export of another size.
    pub fn client_of(&self, bytes: u64) -> Client<UnixStream> {
        let stream = UnixStream::connect(self.path("nbd")).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time limit");
        Client::greet_export(stream, bytes)
    }

    /// Waits until a number the target counts is what it should be.
    pub fn await_count(&self, count: impl Fn(&Shared) -> &AtomicU64, wanted: u64) {
        let begun = Instant::now();
        while count(&self.shared).load(Ordering::SeqCst) != wanted {
            assert!(begun.elapsed() < Duration::from_secs(20), "it never was {wanted}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Lets the target answer, or not.
    pub fn hold(&self, holds: bool) {
        self.shared.holds.store(holds, Ordering::SeqCst);
    }

    /// Tells the server to stop, as a signal would.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
    }

    /// Waits for the end of the server.
    pub fn end(mut self) -> (Result<(), ServeError>, TempDir) {
        let thread = self.thread.take().expect("it ends once");
        let result = thread.join().expect("the server does not panic");
        let folder = std::mem::replace(&mut self.folder, tempfile::tempdir().expect("a folder"));
        (result, folder)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            // A test that failed has said why.
            let _ = thread.join();
        }
    }
}

pub struct Controller {
    pub stream: UnixStream,
    answers: BufReader<UnixStream>,
}

impl Controller {
    pub fn say(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the server hears");
    }

    /// One line of answer; empty when the server has hung up.
    pub fn answer(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("an answer");
        line.trim_end().to_owned()
    }
}

pub struct Client<S> {
    pub stream: S,
}

impl<S: Read + Write> Client<S> {
    pub fn greet(stream: S) -> Self {
        Self::greet_export(stream, BYTES)
    }

    pub fn greet_export(mut stream: S, bytes: u64) -> Self {
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting).expect("a greeting");
        assert_eq!(&greeting[..16], b"NBDMAGICIHAVEOPT");
        let mut hello = 3_u32.to_be_bytes().to_vec(); // new style, and no zeros behind the answer
        hello.extend_from_slice(b"IHAVEOPT");
        hello.extend([0, 0, 0, 1, 0, 0, 0, 3]); // the export of this name, from now on
        hello.extend_from_slice(b"toy");
        stream.write_all(&hello).expect("the server hears");
        let mut export = [0; 10];
        stream.read_exact(&mut export).expect("the export is there");
        assert_eq!(export[..8], bytes.to_be_bytes());
        Self { stream }
    }

    /// Asks for bytes.
    pub fn ask(&mut self, cookie: u64, offset: u64, length: u32) {
        self.ask_all([(cookie, offset, length)]);
    }

    /// Asks for cookies, offsets and lengths with one message: a socket that is not read holds few small ones.
    pub fn ask_all(&mut self, requests: impl IntoIterator<Item = (u64, u64, u32)>) {
        self.say_all(0, requests);
    }

    /// Trims the same.
    pub fn trim_all(&mut self, requests: impl IntoIterator<Item = (u64, u64, u32)>) {
        self.say_all(4, requests);
    }

    /// Says that a write of so many bytes follows.
    pub fn begin_write(&mut self, cookie: u64, offset: u64, length: u32) {
        self.say_all(1, [(cookie, offset, length)]);
    }

    /// Writes bytes, and waits until that is acknowledged.
    pub fn write(&mut self, cookie: u64, offset: u64, bytes: &[u8]) {
        self.begin_write(cookie, offset, bytes.len() as u32);
        self.stream.write_all(bytes).expect("the server hears");
        let mut answer = [0; 16];
        self.stream.read_exact(&mut answer).expect("an answer");
        assert_eq!(answer[..8], [0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0]);
        assert_eq!(answer[8..], cookie.to_be_bytes());
    }

    fn say_all(&mut self, command: u8, requests: impl IntoIterator<Item = (u64, u64, u32)>) {
        let mut bytes = Vec::new();
        for (cookie, offset, length) in requests {
            bytes.extend_from_slice(&0x2560_9513_u32.to_be_bytes());
            bytes.extend([0, 0, 0, command]);
            bytes.extend_from_slice(&cookie.to_be_bytes());
            bytes.extend_from_slice(&offset.to_be_bytes());
            bytes.extend_from_slice(&length.to_be_bytes());
        }
        self.stream.write_all(&bytes).expect("the server hears");
    }

    /// The next answer, to a read of `length` bytes: its cookie and its first byte.
    pub fn answer(&mut self, length: usize) -> (u64, u8) {
        let mut answer = vec![0; 16 + length];
        self.stream.read_exact(&mut answer).expect("an answer");
        assert_eq!(answer[..8], [0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0]);
        (u64::from_be_bytes(answer[8..16].try_into().expect("eight bytes")), answer[16])
    }

    /// Whether the server has hung up.
    pub fn is_over(&mut self) -> bool {
        matches!(self.stream.read(&mut [0; 1]), Ok(0) | Err(_))
    }
}
