//! fio, run on one experiment at a time.

use crate::MeasureError;
use crate::experiments::Closed;
use crate::nbd_client::Client;
use std::io::Read;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use units::quantity::exact_size;

/// How long fio may take to begin and end, beside its experiment, and for what goes through the whole drive.
const SLACK: u64 = 60;
const LONGEST: u64 = 7 * 86400;
/// Requests that writers of a given rate have under way at most.
const WRITERS: u32 = 256;
/// Time between two entries of the log that a transient is taken from, ms.
const LOG_MS: u64 = 50;

/// Runs a command. Its input ends with this program, however that ends: then the command is killed, and the folder of
/// its log, if it has one, is removed. The guard that does this ignores signals meanwhile: the shell sees the command
/// end, and would end the guard before the folder is gone.
const GUARDED: &str = "exec 9<&0; log=$1; shift; \"$@\" 9<&- < /dev/null & fio=$!; \
    (read -r _ <&9; trap '' TERM; kill -9 \"$fio\"; [ -z \"$log\" ] || rm -rf \"$log\") > /dev/null 2>&1 & guard=$!; \
    exec 9<&-; wait \"$fio\"; status=$?; kill \"$guard\" 2> /dev/null; exit \"$status\"";

/// fio on a target.
pub(crate) struct Fio {
    /// Its engine and where that looks.
    engine: Vec<String>,
    /// Bytes to work on.
    pub size: u64,
    /// Length of an experiment.
    pub seconds: u64,
}

impl Fio {
    pub fn new(target: &str, size: u64, seconds: u64) -> Self {
        let engine = if Client::is_uri(target) {
            vec!["--ioengine=nbd".into(), format!("--uri={target}")]
        } else {
            // A colon would end the name.
            let name = target.replace(':', "\\:");
            vec!["--ioengine=libaio".into(), "--direct=1".into(), format!("--filename={name}")]
        };
        Self { engine, size, seconds }
    }

    /// The version that fio names.
    pub fn version() -> Result<String, MeasureError> {
        let output =
            Command::new("fio").arg("--version").stdin(Stdio::null()).output().map_err(|error| absent(&error))?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Requests of one kind, so many at a time. Its JSON.
    pub fn closed(&self, closed: &Closed, stop: &AtomicBool) -> Result<String, MeasureError> {
        let mut command = self.command();
        command.arg("--name=measure");
        if !closed.writes {
            command.arg("--readonly");
        }
        command.args([format!("--rw={}", closed.kind), format!("--bs={}", closed.size)]);
        command.arg(format!("--iodepth={}", closed.depth));
        if !closed.is_fill {
            command.args(["--time_based".to_owned(), format!("--runtime={}", self.seconds)]);
        }
        self.run(&command, None, if closed.is_fill { LONGEST } else { self.seconds + SLACK }, stop)
    }

    /// `bytes` of random writes at full speed: a rate for each window of [`fit::WINDOWS`] in a drive write.
    pub fn transient(&self, depth: u32, bytes: u64, stop: &AtomicBool) -> Result<Vec<f64>, MeasureError> {
        let folder =
            tempfile::tempdir().map_err(|error| MeasureError::Failed(format!("a folder for fio's log: {error}")))?;
        let log = folder.path().join("transient");
        let mut command = self.command();
        // Without the map a place may be written twice before another is written once, as at random.
        command.args(["--name=measure", "--rw=randwrite", "--bs=4k", "--norandommap"]);
        command.args([format!("--iodepth={depth}"), format!("--io_size={bytes}")]);
        command.args([format!("--write_iops_log={}", log.display()), format!("--log_avg_msec={LOG_MS}")]);
        self.run(&command, Some(folder.path()), LONGEST, stop)?;
        let path = log.with_file_name("transient_iops.1.log");
        let text = std::fs::read_to_string(&path)
            .map_err(|error| MeasureError::Failed(format!("{} could not be read: {error}", path.display())))?;
        let window = self.size as f64 / 4096.0 / fit::WINDOWS;
        let wanted = (bytes as f64 / self.size as f64 * fit::WINDOWS) as usize;
        windows(&text, window, wanted).map_err(MeasureError::Failed)
    }

    /// A client with one request at a time beside so many random writes a second. Its JSON.
    pub fn offered(&self, writes_per_second: u64, stop: &AtomicBool) -> Result<String, MeasureError> {
        let mut command = self.command();
        command.args(["--time_based".to_owned(), format!("--runtime={}", self.seconds), "--norandommap".to_owned()]);
        command.args(["--bs=4k", "--name=writers", "--rw=randwrite", "--rate_process=poisson"]);
        command.args([format!("--rate_iops={writes_per_second}"), format!("--iodepth={WRITERS}")]);
        command.args(["--name=client", "--rw=randrw", "--rwmixread=50", "--iodepth=1"]);
        self.run(&command, None, self.seconds + SLACK, stop)
    }

    /// fio with what all experiments have.
    fn command(&self) -> Command {
        let mut command = Command::new("fio");
        command.args(["--output-format=json", "--name=global", "--lat_percentiles=1", "--thread", "--randrepeat=1"]);
        command.args(&self.engine);
        // fio makes a file that is missing or too short, whatever it is to do with it.
        command.arg("--allow_file_create=0");
        command.arg(format!("--size={}", self.size / 4096 * 4096));
        command
    }

    /// Runs it; `log`: the folder of its log. What it prints is its JSON.
    fn run(
        &self,
        command: &Command,
        log: Option<&Path>,
        limit: u64,
        stop: &AtomicBool,
    ) -> Result<String, MeasureError> {
        let mut child = guarded(command, log).spawn().map_err(|error| absent(&error))?;
        // Ends the command where this function ends early.
        let _input = child.stdin.take();
        let begin = Instant::now();
        // Both are read as it runs: it would wait for ever behind a pipe that is full.
        let out = child.stdout.take().map(collect);
        let err = child.stderr.take().map(collect);
        let status = loop {
            if let Some(status) = child.try_wait().map_err(|error| MeasureError::Failed(format!("fio: {error}")))? {
                break status;
            }
            let is_stopped = stop.load(Ordering::Relaxed);
            if is_stopped || begin.elapsed() > Duration::from_secs(limit) {
                // It may have ended at this very moment.
                let _ = child.kill();
                let _ = child.wait();
                if is_stopped {
                    return Err(MeasureError::Interrupted);
                }
                return Err(MeasureError::Failed(format!("fio did not end within {limit} s")));
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let [text, problem] = [out, err].map(|thread| thread.and_then(|thread| thread.join().ok()).unwrap_or_default());
        if status.success() {
            return Ok(text);
        }
        let first = problem.lines().chain(text.lines()).find(|line| !line.is_empty()).unwrap_or("no reason");
        let size = exact_size(self.size);
        Err(MeasureError::Failed(format!("fio ended with {status} on {size}: {first}")))
    }
}

/// A command that ends with this program. It does not hear Ctrl-C: this program does.
fn guarded(command: &Command, log: Option<&Path>) -> Command {
    let mut guarded = Command::new("sh");
    guarded.args(["-c", GUARDED, "sh"]).arg(log.unwrap_or(Path::new("")));
    guarded.arg(command.get_program()).args(command.get_args());
    guarded.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    guarded
}

fn absent(error: &std::io::Error) -> MeasureError {
    MeasureError::Failed(format!(
        "fio cannot be run ({error}): install it (apt-get install fio), it does the measuring"
    ))
}

fn collect(mut pipe: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What came before an error is what there is.
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Rates of windows of `requests` each, at most `most` of them, from a log of fio: a time in ms, and the requests a
/// second until then.
fn windows(log: &str, requests: f64, most: usize) -> Result<Vec<f64>, String> {
    let mut rates = Vec::new();
    let (mut before_ms, mut begin_ms, mut done) = (0.0, 0.0, 0.0);
    for line in log.lines() {
        let mut fields = line.split(',').map(|field| field.trim().parse::<f64>());
        let (Some(Ok(at_ms)), Some(Ok(rate))) = (fields.next(), fields.next()) else {
            return Err(format!("fio's log has `{line}`, no time and rate"));
        };
        let mut from_ms = before_ms;
        // An entry may end several windows.
        while done + rate * (at_ms - from_ms) / 1e3 >= requests && rates.len() < most {
            let end_ms = from_ms + (requests - done) * 1e3 / rate;
            rates.push(requests * 1e3 / (end_ms - begin_ms));
            (begin_ms, from_ms, done) = (end_ms, end_ms, 0.0);
        }
        done += rate * (at_ms - from_ms) / 1e3;
        before_ms = at_ms;
    }
    // Entries are rounded, and what happened behind the last one is not told.
    if rates.len() < most * 9 / 10 {
        return Err(format!("fio's log tells of {} windows, and {most} are needed: use a larger target", rates.len()));
    }
    Ok(rates)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A killed `measure` left fio writing to the device, for as long as the experiment lasted.
    #[test]
    fn a_command_ends_with_the_program_that_began_it() {
        let log = tempfile::tempdir().unwrap();
        let path = log.path().join("log");
        std::fs::create_dir(&path).unwrap();
        let mut sleep = Command::new("sleep");
        sleep.arg("1000");
        let mut child = guarded(&sleep, Some(&path)).spawn().unwrap();
        assert_eq!(child.try_wait().unwrap(), None, "it runs as long as its input is open");
        drop(child.stdin.take()); // as it is closed when this process is killed
        assert_eq!(child.wait().unwrap().code(), Some(128 + 9));
        let begin = Instant::now();
        while path.exists() {
            assert!(begin.elapsed() < Duration::from_secs(20), "the folder of its log is there");
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut child = guarded(Command::new("sh").args(["-c", "echo told; exit 3"]), None).spawn().unwrap();
        let _input = child.stdin.take();
        let ended = child.wait_with_output().unwrap();
        assert_eq!((ended.status.code(), ended.stdout.as_slice()), (Some(3), b"told\n".as_slice()));
    }

    #[test]
    fn windows_of_requests_come_out_of_a_log_by_time() {
        // 100 requests in the first 100 ms, then half as fast.
        let log = "100, 1000, 1, 4096, 0\n200, 500, 1, 4096, 0\n300, 500, 1, 4096, 0\n";
        let rates = windows(log, 50.0, 4).unwrap();
        for (rate, wanted) in rates.iter().zip([1000.0, 1000.0, 500.0, 500.0]) {
            assert!((rate - wanted).abs() < 1e-6, "{rates:?}");
        }
        assert_eq!(rates.len(), 4);
        assert!(windows(log, 50.0, 6).unwrap_err().contains("6 are needed"));
        assert!(windows("nothing", 50.0, 1).unwrap_err().contains("nothing"));
    }
}
