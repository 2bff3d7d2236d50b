//! The output of a command, and the step of its recording after which it came.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Longest time between two looks at whether a command has ended.
const LOOK: Duration = Duration::from_millis(20);

/// The read end of a command's output. Two threads may read: each line is taken once, with the number of steps that
/// had happened when it was read. It may have been printed earlier, and never later.
#[derive(Clone)]
pub struct OutputReader {
    state: Arc<Mutex<Output>>,
    steps: Arc<AtomicUsize>,
}

struct Output {
    pipe: File,
    begun: Vec<u8>,
    /// The line that has begun is longer than a line may be.
    is_too_long: bool,
    lines: Vec<(usize, String)>,
    /// Lines that have ended.
    ended: u64,
    /// Only the last line with something in it is kept.
    keeps_last: bool,
    /// Bytes of the lines that are kept.
    bytes: usize,
    /// What cannot be kept as it was printed, the first time.
    problem: Option<String>,
    is_over: bool,
}

/// Most bytes of lines that are kept, and of one line.
const MOST: usize = 64 << 20;
const LINE: usize = 64 << 10;

impl OutputReader {
    /// A reader, and the end into which a command prints. `steps`: how many steps there are. `keeps_last`: only the
    /// last line with something in it is wanted.
    ///
    /// # Errors
    /// The system gives no pipe.
    pub fn new(steps: Arc<AtomicUsize>, keeps_last: bool) -> io::Result<(Self, PipeWriter)> {
        let (reader, writer): (PipeReader, PipeWriter) = io::pipe()?;
        rustix::io::ioctl_fionbio(reader.as_fd(), true)?;
        let pipe = File::from(OwnedFd::from(reader));
        let state = Output {
            pipe,
            begun: Vec::new(),
            is_too_long: false,
            lines: Vec::new(),
            ended: 0,
            keeps_last,
            bytes: 0,
            problem: None,
            is_over: false,
        };
        Ok((Self { state: Arc::new(Mutex::new(state)), steps }, writer))
    }

    /// Reads what was printed by now. `false`: nothing more will come.
    pub fn read_now(&self) -> bool {
        let mut state = self.state.lock().expect("nobody panics with it");
        let mut bytes = [0; 4096];
        while !state.is_over {
            match state.pipe.read(&mut bytes) {
                Ok(0) => state.is_over = true,
                Ok(count) => state.take(&bytes[..count], self.steps.load(Ordering::Acquire)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => state.is_over = true,
            }
        }
        !state.is_over
    }

    /// Reads until nothing more will come, or the command has ended: processes that it left may hold the other end.
    pub fn attend(&self, has_ended: &AtomicBool) {
        while !has_ended.load(Ordering::Acquire) && self.read_now() {
            let pipe = self.state.lock().expect("nobody panics with it").pipe.try_clone();
            let Ok(pipe) = pipe else { return };
            let mut polled = [rustix::event::PollFd::new(&pipe, rustix::event::PollFlags::IN)];
            let look = rustix::event::Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK.subsec_nanos()) };
            let _ = rustix::event::poll(&mut polled, Some(&look));
        }
        self.read_now();
    }

    /// All lines that are kept, each with its step.
    ///
    /// # Errors
    /// Output that cannot be kept as it is.
    pub fn into_lines(self) -> Result<Vec<(usize, String)>, String> {
        let mut state = self.state.lock().expect("nobody panics with it");
        if !state.begun.is_empty() {
            state.take(b"\n", self.steps.load(Ordering::Acquire));
        }
        state.problem.take().map_or_else(|| Ok(std::mem::take(&mut state.lines)), Err)
    }

    /// The last line with something in it.
    pub fn last_line(self) -> Option<String> {
        let mut state = self.state.lock().expect("nobody panics with it");
        if !state.begun.is_empty() {
            state.take(b"\n", self.steps.load(Ordering::Acquire));
        }
        state.lines.pop().map(|(_, line)| line)
    }
}

impl Output {
    fn take(&mut self, bytes: &[u8], step: usize) {
        for byte in bytes {
            if *byte == b'\n' {
                self.line(step);
                self.begun.clear();
                self.is_too_long = false;
            } else if self.begun.len() < LINE {
                self.begun.push(*byte);
            } else {
                self.is_too_long = true;
            }
        }
    }

    fn line(&mut self, step: usize) {
        self.ended += 1;
        if self.keeps_last {
            if self.begun.iter().all(u8::is_ascii_whitespace) {
                return;
            }
            self.lines.clear();
            self.bytes = 0;
        }
        self.bytes += self.begun.len() + 1;
        let line = String::from_utf8_lossy(&self.begun);
        let problem = if self.bytes > MOST {
            Some(format!("more than {} MiB", MOST >> 20))
        } else if self.is_too_long {
            Some(format!("more than {} KiB in line {}", LINE >> 10, self.ended))
        } else if matches!(line, Cow::Owned(_)) {
            Some(format!("line {}, which is not UTF-8", self.ended))
        } else {
            None
        };
        if self.bytes <= MOST {
            self.lines.push((step, line.into_owned()));
        }
        self.problem = self.problem.take().or(problem);
    }
}
