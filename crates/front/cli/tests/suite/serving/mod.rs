//! Servers of block devices.

mod clients;
mod faults;
mod fsyncs;
mod host_faults;
mod limits;
mod remapped;
mod room;
mod torture;
pub mod watching;

use crate::support::{beside, nandarium};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A server with a folder of its own; it ends with the test.
struct Serving {
    child: Child,
    folder: TempDir,
}

impl Serving {
    fn begin(arguments: &[&str]) -> Self {
        Self::begin_in(tempfile::tempdir().unwrap(), arguments)
    }

    fn begin_in(folder: TempDir, arguments: &[&str]) -> Self {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("nandarium"));
        command.args(arguments);
        Self::begin_with(folder, command)
    }

    /// `command` is a server that wants nothing more than its socket.
    fn begin_with(folder: TempDir, mut command: Command) -> Self {
        let socket = folder.path().join("s");
        let child = command.arg("--socket").arg(&socket).stderr(Stdio::piped()).spawn().unwrap();
        let mut serving = Self { child, folder };
        let begun = Instant::now();
        // A killed server leaves its socket: that it is there says nothing.
        while std::os::unix::net::UnixStream::connect(&socket).is_err() {
            assert!(serving.child.try_wait().unwrap().is_none(), "the server ended: {}", serving.said());
            assert!(begun.elapsed() < Duration::from_secs(20), "nobody listens on {}", socket.display());
            std::thread::sleep(Duration::from_millis(20));
        }
        serving
    }

    fn said(&mut self) -> String {
        let mut text = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            let _ = std::io::Read::read_to_string(&mut stderr, &mut text);
        }
        text
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn uri(&self) -> String {
        format!("nbd+unix:///?socket={}", self.path("s").display())
    }

    fn ctl(&self, command: &[&str]) -> String {
        let socket = self.path("s.ctl");
        let output = nandarium(&[&["ctl", socket.to_str().unwrap(), "--json"], command].concat()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn resident_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        resident.trim().trim_end_matches("kB").trim().parse().unwrap()
    }

    fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }

    /// Ends it with one signal, as Ctrl-C or a service manager does; its exit code.
    fn terminate(&mut self) -> Option<i32> {
        succeeds("kill", &["-TERM", &self.child.id().to_string()]);
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "one signal does not end it");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends it as a user would, and sees that it removes its sockets.
    fn end(mut self) -> TempDir {
        self.ctl(&["shut-down"]);
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{}", self.said());
        assert!(!self.path("s").exists() && !self.path("s.ctl").exists());
        std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap())
    }

    /// Ends it as nobody should.
    fn kill(mut self) -> TempDir {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs another program; `make setup` installs them.
fn run(program: &str, arguments: &[&str]) -> Output {
    // nbdsh belongs to the system's Python, whatever other there is.
    let output = Command::new("timeout")
        .args(["120", program])
        .args(arguments)
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}; `make setup` installs it"));
    assert!(output.status.code() != Some(127), "{program} is missing: `make setup` installs it");
    output
}

/// As [`run`], and it has to succeed; what it printed.
fn succeeds(program: &str, arguments: &[&str]) -> String {
    let output = run(program, arguments);
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{program} {arguments:?}: {}\n{text}", output.status);
    text
}

fn fio(uri: &str, folder: &Path, arguments: &[&str]) -> String {
    let common = ["--name=job", "--ioengine=nbd", "--group_reporting", "--randrepeat=1"];
    let (uri, aux) = (format!("--uri={uri}"), format!("--aux-path={}", folder.display()));
    succeeds("fio", &[&common[..], &[&uri, &aux], arguments].concat())
}

const SMALL: [&str; 8] = [
    "serve",
    "--quiet",
    "--set",
    "drive.capacity=128MiB",
    "--set",
    "flash.pages_per_block=64",
    "--set",
    "drive.over_provisioning=75%",
];

/// [`SMALL`], but for keys that `more` sets itself.
fn small(more: &[&'static str]) -> Vec<&'static str> {
    let settings: Vec<&str> = SMALL[2..].iter().copied().filter(|text| *text != "--set").collect();
    [&SMALL[..2], &beside(&settings, more), more].concat()
}
