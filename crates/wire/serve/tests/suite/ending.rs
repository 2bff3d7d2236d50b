//! How a server begins and ends: its sockets, what is under way, the target.

use crate::rig::{BYTES, Client, Serving, options};
use serve::{Address, ServeError, ServerOptions};
use std::net::TcpStream;
use std::sync::atomic::Ordering;

#[test]
fn a_server_told_to_end_answers_what_is_under_way_closes_the_target_and_removes_its_sockets() {
    let serving = Serving::begin();
    let (mut client, mut controller) = (serving.client(), serving.controller());
    serving.hold(true);
    client.ask(5, 512 * 3, 512);
    serving.await_count(|shared| &shared.orders, 1);
    controller.say(b"shut-down\n");
    assert_eq!(controller.answer(), r#"{"ok":{"server":"ends"}}"#);
    serving.hold(false);
    assert_eq!(client.answer(512), (5, 3));
    assert!(client.is_over());
    let shared = serving.shared.clone();
    let (result, folder) = serving.end();
    assert!(result.is_ok() && shared.closed.load(Ordering::SeqCst));
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder is there").count(), 0);
}

#[test]
fn a_server_that_is_stopped_ends_though_a_client_says_nothing() {
    let serving = Serving::begin();
    let mut client = serving.client();
    serving.stop();
    let shared = serving.shared.clone();
    assert!(serving.end().0.is_ok() && shared.closed.load(Ordering::SeqCst));
    assert!(client.is_over());
}

#[test]
fn a_target_that_cannot_be_closed_is_told_of() {
    let serving = Serving::begin();
    serving.shared.fails_to_close.store(true, Ordering::SeqCst);
    serving.stop();
    let error = serving.end().0.expect_err("it was not closed");
    assert_eq!(error.to_string(), "when the server ended: the disk is full");
}

#[test]
fn two_servers_do_not_listen_at_one_place_and_the_first_goes_on() {
    let serving = Serving::begin();
    let mut target = Never;
    let error = refused(serve::Server::new(&mut target, &options(serving.folder.path())));
    assert!(error.to_string().contains("another server listens there"), "{error}");
    serving.client().ask(0, 0, 512);
}

#[test]
fn the_socket_of_a_killed_server_is_replaced_and_a_file_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    drop(std::os::unix::net::UnixListener::bind(folder.path().join("nbd")).expect("a socket"));
    let options = options(folder.path());
    let serving = Serving::begin_with(folder, options);
    serving.client().ask(0, 0, 512);
    serving.stop();
    let (result, folder) = serving.end();
    assert!(result.is_ok());
    let path = folder.path().join("nbd");
    std::fs::write(&path, "a file").expect("a file");
    let mut target = Never;
    let error = refused(serve::Server::new(&mut target, &crate::rig::options(folder.path())));
    assert!(error.to_string().contains("a file of that name is in the way"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), "a file");
}

/// The other socket stayed, and nobody listened there.
#[test]
fn a_server_that_cannot_have_its_second_socket_leaves_no_first_one_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("ctl"), "a file").expect("a file");
    let error = refused(serve::Server::new(&mut Never, &options(folder.path())));
    assert!(error.to_string().contains("a file of that name is in the way"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder is there").count(), 1);
}

#[test]
fn a_free_port_of_this_machine_is_told_to_whoever_asks() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = ServerOptions { address: Address::Loopback(0), control: None, ..options(folder.path()) };
    let serving = Serving::begin_with(folder, options);
    let Address::Loopback(port) = serving.address else { panic!("it listens at {:?}", serving.address) };
    assert_ne!(port, 0);
    let mut client = Client::greet(TcpStream::connect(("127.0.0.1", port)).expect("the server listens"));
    client.ask(8, BYTES - 512, 512);
    assert_eq!(client.answer(512).0, 8);
}

/// A target that is not to be reached.
pub struct Never;

impl serve::Target for Never {
    fn bytes(&self) -> u64 {
        BYTES
    }

    fn submit(&mut self, _: u32, _: &serve::Order, _: &[u8]) {
        unreachable!("nobody can connect");
    }

    fn poll(&mut self, _: &mut serve::Answers) -> Option<std::time::Duration> {
        None
    }

    fn control(&mut self, _: &str) -> serve::Control {
        unreachable!("nobody can connect");
    }

    fn close(&mut self) -> Result<(), String> {
        Ok(())
    }
}

pub fn refused(result: Result<serve::Server<'_>, ServeError>) -> ServeError {
    match result {
        Ok(server) => panic!("it listens at {:?}", server.address()),
        Err(error) => error,
    }
}
