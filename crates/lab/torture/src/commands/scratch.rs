//! Removal of all remains: folders, mounts, commands and their processes.

use crate::harness::TortureError;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, waitpid};
use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;

/// Reads what never comes. Its input ends with this program, however that ends. Then it ends the commands under way and
/// all that was started with one of their folders in its environment, takes mounts away, and removes the folder. It
/// does so several times, as what dies may still write.
const GUARD: &str = "exec 9<&0; (cat <&9; cd /; for turn in 1 2 3 4 5; do [ -e \"$1\" ] || exit 0; \
    for group in \"$1\"/*/group; do [ ! -s \"$group\" ] || kill -9 -\"$(cat \"$group\")\"; done; \
    for of in $(grep -lszF \"NANDARIUM_FOLDER=$1/\" /proc/[0-9]*/environ); do \
    of=${of#/proc/}; kill -9 \"${of%/*}\"; done; \
    for undo in \"$1\"/*/undo; do [ ! -e \"$undo\" ] || sh \"$undo\"; done; \
    rm -rf --one-file-system \"$1\"; sleep 0.2; done) > /dev/null 2>&1 &";

/// Looks for processes that a command has left behind: what dies may have started another one.
const TURNS: u32 = 5;

/// A folder for the folders of commands, and the process that removes it if this program is killed.
pub struct ScratchFolder {
    folder: TempDir,
    /// Every child of this process is a command, or was left behind by one.
    owns_process: bool,
    /// Commands that run, or whose remains are taken away.
    commands: Mutex<HashSet<Pid>>,
    /// Names of folders that no command uses, and how many folders there are.
    unused: Mutex<(Vec<usize>, usize)>,
    /// Ends with this program.
    _input: Option<ChildStdin>,
}

/// The folder of one command at a time.
pub struct JobFolder<'a> {
    scratch: &'a ScratchFolder,
    name: usize,
    path: PathBuf,
}

impl ScratchFolder {
    /// A new folder, guarded. `owns_process`: this process has only commands as children, and adopts their children.
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
        // It is nobody's child: it outlives this process, and is none that a command left behind. So this process may
        // not adopt it, as it does where it has had such a folder before.
        if owns_process {
            let _ = rustix::process::set_child_subreaper(None);
        }
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
        Ok(Self { _input: input, owns_process, folder, commands: Mutex::default(), unused: Mutex::default() })
    }

    /// A folder that no other command uses.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn job_folder(&self) -> Result<JobFolder<'_>, TortureError> {
        let mut unused = lock(&self.unused);
        let (names, count) = &mut *unused;
        let name = names.pop().unwrap_or(*count);
        let path = self.folder.path().join(name.to_string());
        if name == *count {
            fs::create_dir(&path).map_err(|error| TortureError::unwritten(&path, error))?;
            *count += 1;
        }
        Ok(JobFolder { scratch: self, name, path })
    }

    /// Ends children of this process that no running command has started, as far as that can be told: while others run,
    /// a child with nothing in its environment may be theirs. `false`: there are none.
    fn ends_adopted(&self, own: Pid, folder: &Path) -> bool {
        // Nobody starts a command meanwhile.
        let commands = lock(&self.commands);
        let is_alone = commands.iter().all(|command| *command == own);
        let mut has_ended_some = false;
        for process in children().into_iter().filter(|process| !commands.contains(process)) {
            if is_alone || is_marked(process, folder) {
                let _ = kill_process(process, Signal::KILL);
                let _ = waitpid(Some(process), WaitOptions::empty());
                has_ended_some = true;
            } else {
                let _ = waitpid(Some(process), WaitOptions::NOHANG); // it may have ended by itself
            }
        }
        has_ended_some
    }
}

impl JobFolder<'_> {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Starts a command, which is this folder's until [`JobFolder::tidy`].
    ///
    /// # Errors
    /// It cannot be started.
    pub fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        let mut commands = lock(&self.scratch.commands);
        let child = command.spawn()?;
        commands.insert(Pid::from_child(&child));
        Ok(child)
    }

    /// Takes away what a command that has ended had mounted, and ends what has left its group.
    pub fn tidy(&self, command: Pid) {
        let [undo, group] = ["undo", "group"].map(|name| self.path.join(name));
        if self.scratch.owns_process {
            // Daemons come to this process as their parents end, one after the other.
            while self.scratch.ends_adopted(command, &self.path) {}
        } else {
            for _ in 0..TURNS {
                let marked: Vec<Pid> = processes().filter(|process| is_marked(*process, &self.path)).collect();
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
        lock(&self.scratch.commands).remove(&command);
    }
}

impl Drop for JobFolder<'_> {
    fn drop(&mut self) {
        lock(&self.scratch.unused).0.push(self.name);
    }
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Numbers of all processes.
fn processes() -> impl Iterator<Item = Pid> {
    let number = |entry: io::Result<fs::DirEntry>| Pid::from_raw(entry.ok()?.file_name().to_str()?.parse().ok()?);
    fs::read_dir("/proc").into_iter().flatten().filter_map(number)
}

/// Whether a process has a folder in its environment: a command has left it behind.
fn is_marked(process: Pid, folder: &Path) -> bool {
    let mark = [b"NANDARIUM_FOLDER=", folder.as_os_str().as_encoded_bytes()].concat();
    let environment = fs::read(format!("/proc/{}/environ", process.as_raw_nonzero()));
    environment.is_ok_and(|environment| environment.split(|byte| *byte == 0).any(|own| own == mark))
}

/// Children of this process, ended ones among them.
fn children() -> Vec<Pid> {
    // Not every kernel has these lists.
    let listed = |task: io::Result<fs::DirEntry>| fs::read_to_string(task?.path().join("children"));
    let listed: io::Result<Vec<String>> = fs::read_dir("/proc/self/task").and_then(|tasks| tasks.map(listed).collect());
    if let Ok(listed) = listed {
        let numbers = listed.iter().flat_map(|list| list.split_whitespace());
        return numbers.filter_map(|number| Pid::from_raw(number.parse().ok()?)).collect();
    }
    let own = getpid().as_raw_nonzero().get();
    let parent = |text: &str| text.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse::<i32>().ok();
    let is_child = |process: &Pid| {
        let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero()));
        stat.is_ok_and(|stat| parent(&stat) == Some(own))
    };
    processes().filter(is_child).collect()
}
