//! One command, with the drive behind a socket.

use super::mount::Mount;
use super::output_reader::OutputReader;
use super::scratch::JobFolder;
use crate::TortureError;
use rustix::process::{Pid, Signal, kill_process_group};
use serve::{Address, Server, ServerOptions, Target};
use std::io::PipeWriter;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Longest time between two looks at whether a command has ended.
const LOOK: Duration = Duration::from_millis(2);

/// Runs a command in a group of its own, whose number is known to the scratch folder before anything else happens.
const GUARDED: &str = "echo $$ > \"$NANDARIUM_FOLDER/group\"; eval \"$1\"";

/// Variables that commands find, and none that this program was given by chance.
const VARIABLES: [&str; 10] = [
    "NANDARIUM_FOLDER",
    "NANDARIUM_URI",
    "NANDARIUM_SOCKET",
    "NANDARIUM_SAID",
    "NANDARIUM_IMAGE",
    "NANDARIUM_DISK",
    "NANDARIUM_MOUNT",
    "NANDARIUM_FILE_SYSTEM",
    "NANDARIUM_MOUNT_OPTIONS",
    "NANDARIUM_IS_NEW",
];

/// Runs the command that follows with a file system on the drive.
const MOUNTED: &str = include_str!("mounted.sh");

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With code 0.
    Well,
    /// Otherwise, in words.
    Badly(String),
    /// The file system could not be mounted for want of something on this machine, in words.
    NotMounted(String),
    /// Nobody wants to know any more how it ends.
    Interrupted,
}

/// A command and where it finds the drive.
pub struct Job<'a> {
    /// Which of the commands it is, for messages.
    pub option: &'static str,
    /// The text that `sh` runs.
    pub text: &'a str,
    /// Folder of sockets and files, and its cleaner.
    pub folder: &'a JobFolder<'a>,
    /// Further variables.
    pub variables: Vec<(&'static str, PathBuf)>,
    /// The file system that it finds.
    pub mount: Option<&'a Mount>,
    /// The file system is made first.
    pub is_new: bool,
    pub limit: Duration,
    /// Whether nobody wants to know any more how it ends.
    pub is_over: &'a (dyn Fn() -> bool + Sync),
}

impl Job<'_> {
    /// Runs the command while `target` is served, and prints into `writer`, which `reader` reads.
    ///
    /// # Errors
    /// The drive cannot be served, or the command not be started.
    pub fn run(
        &self,
        target: &mut dyn Target,
        reader: &OutputReader,
        writer: PipeWriter,
    ) -> Result<Ending, TortureError> {
        let socket = self.folder.path().join("drive.sock");
        let description = "a drive under torture".to_owned();
        let options = ServerOptions { description, ..ServerOptions::new(Address::Unix(socket.clone()), "nandarium") };
        let mut server = Server::new(target, &options).map_err(TortureError::failed)?;
        let child = self.folder.spawn(&mut self.command(&server.uri(), &socket, writer));
        let unstarted = |error| TortureError::Failed(format!("{}: sh could not be started: {error}", self.option));
        let child = child.map_err(unstarted)?;
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let ended = self.attend(child, reader);
                stop.store(true, Ordering::Release);
                let _ = UnixStream::connect(&socket); // the server looks up
                ended
            });
            let served = server.run(&stop).map_err(TortureError::failed);
            let ended = waiting.join().expect("who attends to a command does not panic");
            let ended = match self.not_mounted() {
                Some(why) if matches!(ended, Ending::Badly(_)) => Ending::NotMounted(why),
                _ => ended,
            };
            served.map(|()| ended)
        })
    }

    fn command(&self, uri: &str, socket: &Path, writer: PipeWriter) -> Command {
        // What a check complains of is what it says: thousands of them would fill a terminal.
        let first = if self.option == "check" { "exec 2>&1" } else { "" };
        let mounted = if self.mount.is_some() { MOUNTED } else { "" };
        let text = format!("{first}\n{mounted}\n{}", self.text);
        let mut command = Command::new("sh");
        command.args(["-c", GUARDED, "sh", &text]).process_group(0).stdin(Stdio::null()).stdout(writer);
        for name in VARIABLES {
            command.env_remove(name);
        }
        command.env("NANDARIUM_FOLDER", self.folder.path()).env("NANDARIUM_URI", uri).env("NANDARIUM_SOCKET", socket);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        if let Some(mount) = self.mount {
            command.env("NANDARIUM_FILE_SYSTEM", &mount.kind).env("NANDARIUM_MOUNT_OPTIONS", &mount.options);
            command.env("NANDARIUM_IS_NEW", if self.is_new { "yes" } else { "" });
        }
        command
    }

    /// Waits for a command, and ends all it has started.
    fn attend(&self, mut child: Child, reader: &OutputReader) -> Ending {
        let group = Pid::from_child(&child);
        let began = Instant::now();
        let has_ended = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| reader.attend(&has_ended));
            let ended = loop {
                match child.try_wait() {
                    Ok(Some(status)) => break ending(status),
                    Err(error) => break Ending::Badly(format!("it cannot be waited for: {error}")),
                    Ok(None) => {}
                }
                if began.elapsed() > self.limit {
                    break Ending::Badly(format!("it has not ended within {} s, the time limit", self.limit.as_secs()));
                }
                if (self.is_over)() {
                    break Ending::Interrupted;
                }
                thread::sleep(LOOK.min(began.elapsed() / 8));
            };
            // What it left in the background.
            let _ = kill_process_group(group, Signal::KILL);
            let _ = child.wait();
            self.folder.tidy(group);
            has_ended.store(true, Ordering::Release);
            ended
        })
    }

    /// Why the file system could not be mounted, where that says nothing of the drive.
    fn not_mounted(&self) -> Option<String> {
        let note = self.folder.path().join("not-mounted");
        let why = std::fs::read_to_string(&note).ok()?;
        let _ = std::fs::remove_file(&note);
        Some(why.trim().to_owned())
    }
}

fn ending(status: ExitStatus) -> Ending {
    if status.success() { Ending::Well } else { Ending::Badly(format!("{status}")) }
}
