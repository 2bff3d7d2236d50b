//! Nothing is left behind: folders, mounts, commands and what they have started.

use crate::harness::TortureError;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, wait, waitpid};
use std::fs;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use tempfile::TempDir;

/// Reads what never comes. Its input ends with this program, however that ends: then it ends the command under way and
/// all that was started with this folder in its environment, takes mounts away, and removes the folder; several times,
/// as what dies may still write.
const GUARD: &str = "exec 9<&0; (cat <&9; cd /; for turn in 1 2 3 4 5; do [ -e \"$1\" ] || exit 0; \
    [ ! -s \"$1/group\" ] || kill -9 -\"$(cat \"$1/group\")\"; \
    for of in $(grep -lsxzF \"NANDARIUM_FOLDER=$1\" /proc/[0-9]*/environ); do \
    of=${of#/proc/}; kill -9 \"${of%/*}\"; done; \
    [ ! -e \"$1/undo\" ] || sh \"$1/undo\"; rm -rf --one-file-system \"$1\"; sleep 0.2; done) > /dev/null 2>&1 &";

/// Looks for processes that a command has left behind: what dies may have started another one.
const TURNS: u32 = 5;

/// A folder for sockets and files, and who removes it should this program be killed.
pub struct ScratchFolder {
    folder: TempDir,
    /// Every child of this process was left behind by a command.
    owns_process: bool,
    /// Ends with this program.
    _input: Option<ChildStdin>,
}

impl ScratchFolder {
    /// A new folder, guarded. `owns_process`: this process has no children but those of commands, and adopts theirs.
    ///
    /// # Errors
    /// There is no folder, or its name has characters that shells and addresses take otherwise.
    pub fn new(owns_process: bool) -> Result<Self, TortureError> {
        let folder =
            tempfile::tempdir().map_err(|error| TortureError::Failed(format!("no folder for files: {error}")))?;
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/-_.,+~@ ".contains(byte);
        let name = folder.path().as_os_str().as_encoded_bytes();
        if !name.iter().all(plain) || name.len() > 80 {
            let problem = format!(
                "TMPDIR: commands, mounts and sockets take a folder whose name is plain and has 80 bytes at most, and \
                 {} is not; set TMPDIR to another",
                folder.path().display()
            );
            return Err(TortureError::Usage(problem));
        }
        // It is nobody's child: it outlives this process, and is none that a command left behind.
        let mut begun = Command::new("sh")
            .args(["-c", GUARD, "sh"])
            .arg(folder.path())
            .process_group(0)
            .stdin(Stdio::piped())
            .spawn()
            .map_err(|error| TortureError::Failed(format!("sh could not be started: {error}")))?;
        let input = begun.stdin.take();
        let _ = begun.wait();
        if owns_process {
            let _ = rustix::process::set_child_subreaper(Some(getpid()));
        }
        Ok(Self { _input: input, owns_process, folder })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Takes away what a command that did not come to its end had mounted, and ends what has left its group.
    pub fn tidy(&self) {
        let [undo, group] = ["undo", "group"].map(|name| self.folder().join(name));
        if self.owns_process {
            // Daemons come to this process as their parents end, one after the other.
            while let Some(adopted) = adopted() {
                for process in &adopted {
                    let _ = kill_process(*process, Signal::KILL);
                    let _ = waitpid(Some(*process), WaitOptions::empty());
                }
            }
        } else {
            for _ in 0..TURNS {
                let marked = marked(self.folder());
                if marked.is_empty() {
                    break;
                }
                for process in marked {
                    let _ = kill_process(process, Signal::KILL);
                }
            }
        }
        if undo.exists() {
            let mut command = Command::new("sh");
            let command = command.arg(&undo).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let _ = command.status();
            let _ = fs::remove_file(&undo);
        }
        let _ = fs::remove_file(&group);
    }
}

/// Processes that have a folder in their environment: commands have left them behind.
fn marked(folder: &Path) -> Vec<Pid> {
    let mark = [b"NANDARIUM_FOLDER=", folder.as_os_str().as_encoded_bytes()].concat();
    let marked = |entry: io::Result<fs::DirEntry>| {
        let number: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let environment = fs::read(format!("/proc/{number}/environ")).ok()?;
        environment.split(|byte| *byte == 0).any(|own| own == mark).then(|| Pid::from_raw(number)).flatten()
    };
    fs::read_dir("/proc").map_or_else(|_| Vec::new(), |all| all.filter_map(marked).collect())
}

/// Children of this process, all of which were left behind by commands.
fn adopted() -> Option<Vec<Pid>> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {} // one that has ended
            Ok(None) => break,
            Err(_) => return None, // there is none
        }
    }
    let own = getpid().as_raw_nonzero().get();
    let parent = |text: &str| text.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse::<i32>().ok();
    let child = |entry: io::Result<fs::DirEntry>| {
        let number: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
        (parent(&stat)? == own).then(|| Pid::from_raw(number)).flatten()
    };
    let children: Vec<Pid> = fs::read_dir("/proc").ok()?.filter_map(child).collect();
    (!children.is_empty()).then_some(children)
}
