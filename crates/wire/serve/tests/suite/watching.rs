//! Viewers: who of them has a place, and what they may take from those whom the loop serves beside them.

use crate::ending::{Never, refused};
use crate::rig::{BYTES, Serving, options};
use live::{Access, Source};
use serde_json::Value;
use serve::{Server, ServerOptions, Watching};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Viewers that have places.
const PLACES: usize = 64;

fn access(port: u16) -> Access {
    Access::new(([127, 0, 0, 1], port).into(), None).unwrap()
}

fn address(watching: &Watching) -> SocketAddr {
    watching.url().strip_prefix("http://").and_then(|url| url.strip_suffix('/')).unwrap().parse().unwrap()
}

fn connected(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Asks; one that is sent away may be so before it has asked.
fn asking(address: SocketAddr, path: &str) -> TcpStream {
    let mut stream = connected(address);
    drop(write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"));
    stream
}

fn answer(address: SocketAddr, path: &str) -> Option<String> {
    let mut said = String::new();
    asking(address, path).read_to_string(&mut said).ok().map(|_| said)
}

/// A server that can be watched, and where.
fn watched() -> (Serving, SocketAddr) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let folder = tempfile::tempdir().unwrap();
    let options = ServerOptions { watch: Some(access(port)), ..options(folder.path()) };
    (Serving::begin_with(folder, options), ([127, 0, 0, 1], port).into())
}

/// A source that answers once it may.
struct Slow(Receiver<()>);

impl Source for Slow {
    fn state(&mut self) -> Result<Value, String> {
        let _ = self.0.recv();
        Err("slow".to_owned())
    }

    fn maps(&mut self) -> Result<Value, String> {
        self.state()
    }

    fn command(&mut self, _: &str) -> Result<Value, String> {
        self.state()
    }
}

/// Whoever came after them waited until one of them was done, and was told nothing.
#[test]
fn with_too_many_viewers_the_next_is_told_so() {
    let (answers, may_answer) = channel();
    let watching = Watching::begin(access(0), Box::new(Slow(may_answer))).unwrap();
    let address = address(&watching);
    let many: Vec<_> = (0..PLACES).map(|_| asking(address, "/state.json")).collect();
    // They have asked, but the server may hear of it later than of the next one.
    std::thread::sleep(Duration::from_secs(2));
    let said = (0..20).find_map(|_| answer(address, "/state.json")).expect("one of them hears the answer");
    assert!(said.starts_with("HTTP/1.1 503") && said.contains("too many are watching"), "{said}");
    drop(many);
    let again = || answer(address, "/").filter(|said| said.starts_with("HTTP/1.1 200"));
    (0..20).find_map(|_| again()).expect("those who have left have no places, whether they were answered or not");
    drop(answers);
}

#[test]
fn a_server_does_not_wait_for_a_source_that_never_answers() {
    let (_answers, may_answer) = channel();
    let watching = Watching::begin(access(0), Box::new(Slow(may_answer))).unwrap();
    let asked = asking(address(&watching), "/state.json");
    std::thread::sleep(Duration::from_millis(200));
    let begun = Instant::now();
    drop(watching);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    drop(asked);
}

/// Everybody is served by one thread.
#[test]
fn viewers_that_ask_without_pause_leave_a_client_and_commands_their_turn() {
    let (serving, address) = watched();
    let (is_over, answers) = (AtomicBool::new(false), AtomicU64::new(0));
    let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n").repeat(100);
    std::thread::scope(|scope| {
        for _ in 0..PLACES / 8 {
            scope.spawn(|| {
                let mut stream = connected(address);
                stream.set_nonblocking(true).unwrap();
                let mut taken = vec![0; 1 << 20];
                while !is_over.load(Ordering::SeqCst) {
                    drop(stream.write(request.as_bytes()));
                    match stream.read(&mut taken) {
                        Ok(count) => _ = answers.fetch_add(count as u64, Ordering::SeqCst),
                        Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
        }
        let mut client = serving.client();
        let begun = Instant::now();
        let mut slowest = Duration::ZERO;
        for cookie in 0..500 {
            let asked = Instant::now();
            client.ask(cookie, BYTES / 2, 4096);
            client.answer(4096);
            slowest = slowest.max(asked.elapsed());
        }
        let mut controller = serving.controller();
        controller.say(b"echo\n");
        let said = controller.answer();
        let took = begun.elapsed();
        is_over.store(true, Ordering::SeqCst);
        assert_eq!(said, r#"{"ok":"echo"}"#);
        assert!(slowest < Duration::from_millis(500) && took < Duration::from_secs(10), "{slowest:?} {took:?}");
    });
    assert!(answers.load(Ordering::SeqCst) > 100 << 10, "and are answered");
}

#[test]
fn clients_that_ask_without_pause_leave_viewers_their_turn() {
    let (serving, address) = watched();
    let (is_over, answers) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = serving.client();
            while !is_over.load(Ordering::SeqCst) {
                client.ask_all((0..64).map(|cookie| (cookie, 0, 65_536)));
                (0..64).for_each(|_| _ = client.answer(65_536));
                answers.fetch_add(64, Ordering::SeqCst);
            }
        });
        let begun = Instant::now();
        let said = (0..30).filter_map(|_| answer(address, "/")).all(|said| said.starts_with("HTTP/1.1 200"));
        let took = begun.elapsed();
        is_over.store(true, Ordering::SeqCst);
        assert!(said && took < Duration::from_secs(10), "{took:?}");
    });
    assert!(answers.load(Ordering::SeqCst) > 0, "and are answered");
}

/// Those who take nothing of their answers keep neither places nor the server.
#[test]
fn viewers_that_take_no_answers_give_their_places_to_others() {
    let (serving, address) = watched();
    let many: Vec<_> = (0..PLACES)
        .map(|_| {
            let mut stream = connected(address);
            let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n").repeat(200);
            stream.write_all(request.as_bytes()).unwrap();
            stream
        })
        .collect();
    std::thread::sleep(Duration::from_secs(1));
    let begun = Instant::now();
    let said = answer(address, "/").expect("a place is free in a moment");
    assert!(said.starts_with("HTTP/1.1 200"), "{}", &said[..20]);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    drop(many);
    serving.stop();
    assert!(serving.end().0.is_ok());
}

#[test]
fn an_answer_of_which_the_question_was_too_long_is_not_lost() {
    let (_serving, address) = watched();
    for _ in 0..20 {
        let mut stream = connected(address);
        let head = format!("POST /command HTTP/1.1\r\nHost: {address}\r\nContent-Length: 1000000\r\n\r\n");
        stream.write_all(&[head.as_bytes(), &vec![b'x'; 300_000]].concat()).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        assert!(said.starts_with("HTTP/1.1 413"), "{said}");
    }
}

#[test]
fn a_page_whose_address_is_taken_leaves_no_sockets_behind() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let watch = Some(access(taken.local_addr().unwrap().port()));
    let options = ServerOptions { watch, ..options(folder.path()) };
    let error = refused(Server::new(&mut Never, &options));
    assert!(error.to_string().contains("nobody can watch there"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
