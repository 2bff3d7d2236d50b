//! The block device server against another one in the same run: fio, 4 KiB over a unix socket, `nandarium serve` beside
//! `nbdkit memory`.
//!
//! The two take turns, and the best round of each counts: other work of the machine is noise that only slows. Both hold
//! their data in memory, and both were written over before; the drive behind ours is mapped, collects garbage and keeps
//! out-of-band areas, with no time simulated.

use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Bytes that fio uses, and the size of the other server's disk, MiB.
const SPAN: &str = "256M";
/// The best figures of both servers for one pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct Race {
    /// The pattern of fio: `randread` or `randwrite`.
    pub pattern: &'static str,
    pub depth: u32,
    /// Requests a second of `nandarium serve`.
    pub ours: f64,
    /// Requests a second of the other server.
    pub other: f64,
}

impl Race {
    /// Ours by the other's.
    pub fn ratio(&self) -> f64 {
        self.ours / self.other
    }
}

/// A server that ends with its owner.
struct Server(Child, PathBuf);

impl Server {
    fn start(command: &mut Command, socket: PathBuf) -> io::Result<Self> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
        let server = Self(child, socket);
        let begun = Instant::now();
        while std::os::unix::net::UnixStream::connect(&server.1).is_err() {
            if begun.elapsed() > Duration::from_secs(20) {
                return Err(io::Error::other(format!("nobody listens on {}", server.1.display())));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    fn requests_per_second(&self, pattern: &str, depth: u32, limits: &[String]) -> io::Result<f64> {
        let (uri, depth) = (format!("--uri=nbd+unix:///?socket={}", self.1.display()), format!("--iodepth={depth}"));
        let common = ["--name=race", "--ioengine=nbd", "--output-format=json", "--bs=4k", "--randrepeat=1"];
        let aux = format!("--aux-path={}", self.1.parent().unwrap_or(Path::new(".")).display());
        let output = Command::new("fio")
            .args(common)
            .args([&uri, &depth, &aux, &format!("--rw={pattern}"), &format!("--size={SPAN}")])
            .args(limits)
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let json = text
            .find('{')
            .and_then(|at| serde_json::from_str::<Value>(&text[at..]).ok())
            .filter(|_| output.status.success());
        let direction = if pattern.ends_with("read") { "read" } else { "write" };
        let rate = json.as_ref().and_then(|json| json["jobs"][0][direction]["iops"].as_f64());
        rate.ok_or_else(|| {
            io::Error::other(format!(
                "fio over {}: {text}{}",
                self.1.display(),
                String::from_utf8_lossy(&output.stderr)
            ))
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The races: the pattern of fio, and requests under way.
pub const DISCIPLINES: [(&str, u32); 4] = [("randread", 1), ("randwrite", 1), ("randread", 32), ("randwrite", 32)];

/// Both servers, ready to race.
pub struct Track {
    ours: Server,
    other: Server,
}

impl Track {
    /// Starts both servers, with the program `nandarium` at `program`, and writes all of the space used of them;
    /// sockets go into `folder`.
    /// Errors: a server or fio cannot be started, or fio fails.
    pub fn open(program: &Path, folder: &Path) -> io::Result<Self> {
        let (ours, other) = (folder.join("ours"), folder.join("other"));
        let drive = [
            "serve",
            "--quiet",
            "--stack",
            "page",
            "--set",
            "drive.capacity=1GiB",
            "--set",
            "flash.pages_per_block=64",
            "--socket",
        ];
        let ours = Server::start(Command::new(program).args(drive).arg(&ours), ours)?;
        let other = Server::start(
            Command::new("nbdkit").args(["--foreground", "--unix"]).arg(&other).args(["memory", SPAN]),
            other,
        )?;
        for server in [&ours, &other] {
            server.requests_per_second("write", 32, &[])?;
        }
        Ok(Self { ours, other })
    }

    /// Runs one of [`DISCIPLINES`], `rounds` rounds of `seconds` each.
    /// Errors: fio fails.
    pub fn race(&self, (pattern, depth): (&'static str, u32), rounds: u32, seconds: u32) -> io::Result<Race> {
        let limits = [format!("--runtime={seconds}"), "--time_based".to_owned()];
        let mut best = [0.0_f64; 2];
        for _ in 0..rounds {
            for (server, best) in [&self.ours, &self.other].into_iter().zip(&mut best) {
                *best = best.max(server.requests_per_second(pattern, depth, &limits)?);
            }
        }
        Ok(Race { pattern, depth, ours: best[0], other: best[1] })
    }
}
