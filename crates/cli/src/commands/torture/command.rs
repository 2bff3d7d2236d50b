//! Commands of the user, with the drive behind a socket.

use crate::failure::Failure;
use crate::watch;
use rustix::process::{Pid, Signal, kill_process_group};
use serve::{Address, Server, ServerOptions, Target};
use std::io::{BufRead as _, BufReader};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Longest time between two looks at whether a command has ended.
const LOOK: Duration = Duration::from_millis(2);

/// Runs a command beside a guard that reads what never comes. Its input ends with this program, however that ends: the
/// guard then removes the folder and ends the command with all it has started.
const GUARDED: &str = "exec 9<&0; (cat <&9; rm -rf \"$NANDARIUM_FOLDER\"; kill -9 0) > /dev/null 2>&1 & \
    exec 9<&- < /dev/null; unset NANDARIUM_FOLDER; eval \"$1\"";

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With code 0.
    Well,
    /// Otherwise, in words.
    Badly(String),
    /// The user wants this program to end.
    Interrupted,
}

/// A command and where it finds the drive.
pub struct Job<'a> {
    /// For messages: which option it came with.
    pub option: &'static str,
    /// What `sh` is given.
    pub text: &'a str,
    /// Folder of sockets and files, which is removed at the end.
    pub folder: &'a Path,
    /// Further variables.
    pub variables: Vec<(&'static str, PathBuf)>,
    pub limit: Duration,
}

impl Job<'_> {
    /// Runs the command while `target` is served. `hear` is given each line that it prints, from another thread.
    ///
    /// # Errors
    /// The drive cannot be served, or the command not be started.
    pub fn run(&self, target: &mut dyn Target, hear: impl FnMut(String) + Send) -> Result<Ending, Failure> {
        let socket = self.folder.join("drive.sock");
        let options = ServerOptions {
            address: Address::Unix(socket.clone()),
            control: None,
            name: "nandarium".to_owned(),
            description: "a drive under torture".to_owned(),
            read_only: false,
        };
        let mut server = Server::new(target, &options, None).map_err(Failure::failed)?;
        let mut command = Command::new("sh");
        command.args(["-c", GUARDED, "sh", self.text]).process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        command
            .env("NANDARIUM_FOLDER", self.folder)
            .env("NANDARIUM_URI", server.uri())
            .env("NANDARIUM_SOCKET", &socket);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        let child = command.spawn();
        let child =
            child.map_err(|error| Failure::failed(format!("--{}: sh could not be started: {error}", self.option)))?;
        let (stop, limit) = (AtomicBool::new(false), self.limit);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let ended = attend(child, limit, hear);
                stop.store(true, Ordering::Release);
                let _ = UnixStream::connect(&socket); // the server looks up
                ended
            });
            let served = server.run(&stop).map_err(Failure::failed);
            let ended = waiting.join().expect("who attends to a command does not panic");
            served.map(|()| ended)
        })
    }
}

/// Waits for a command, and ends all it has started.
fn attend(mut child: Child, limit: Duration, mut hear: impl FnMut(String) + Send) -> Ending {
    let output = child.stdout.take().expect("it is piped");
    let group = Pid::from_child(&child);
    let began = Instant::now();
    thread::scope(|scope| {
        scope.spawn(move || {
            for line in BufReader::new(output).lines() {
                let Ok(line) = line else { return };
                hear(line);
            }
        });
        let ended = loop {
            match child.try_wait() {
                Ok(Some(status)) => break ending(status),
                Err(error) => break Ending::Badly(format!("it cannot be waited for: {error}")),
                Ok(None) => {}
            }
            if began.elapsed() > limit {
                break Ending::Badly(format!("it has not ended within {} s (--time-limit)", limit.as_secs()));
            }
            if watch::stop().load(Ordering::Relaxed) {
                break Ending::Interrupted;
            }
            thread::sleep(LOOK.min(began.elapsed() / 8));
        };
        // What it left in the background holds the other end of its output.
        let _ = kill_process_group(group, Signal::KILL);
        let _ = child.wait(); // its input was open until now
        ended
    })
}

fn ending(status: ExitStatus) -> Ending {
    if status.success() { Ending::Well } else { Ending::Badly(format!("{status}")) }
}
