//! What a command prints, and after which step of its recording.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Longest time between two looks at whether a command has ended.
const LOOK: Duration = Duration::from_millis(20);

/// The read end of a command's output. Two threads may listen: each line is heard once, with the number of steps that
/// had happened when it was read. It may have been printed earlier, and never later.
#[derive(Clone)]
pub struct Ears {
    heard: Arc<Mutex<Heard>>,
    steps: Arc<AtomicUsize>,
}

struct Heard {
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

impl Ears {
    /// Ears, and what a command is to print into. `steps`: how many steps there are. `keeps_last`: only the last line
    /// with something in it is wanted.
    ///
    /// # Errors
    /// The system gives no pipe.
    pub fn new(steps: Arc<AtomicUsize>, keeps_last: bool) -> io::Result<(Self, PipeWriter)> {
        let (reader, writer): (PipeReader, PipeWriter) = io::pipe()?;
        rustix::io::ioctl_fionbio(reader.as_fd(), true)?;
        let pipe = File::from(OwnedFd::from(reader));
        let heard = Heard {
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
        Ok((Self { heard: Arc::new(Mutex::new(heard)), steps }, writer))
    }

    /// Hears what was printed by now. `false`: nothing more will come.
    pub fn listen(&self) -> bool {
        let mut heard = self.heard.lock().expect("nobody panics with it");
        let mut bytes = [0; 4096];
        while !heard.is_over {
            match heard.pipe.read(&mut bytes) {
                Ok(0) => heard.is_over = true,
                Ok(count) => heard.take(&bytes[..count], self.steps.load(Ordering::Acquire)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => heard.is_over = true,
            }
        }
        !heard.is_over
    }

    /// Listens until nothing more will come, or the command has ended: what it left behind may hold the other end.
    pub fn attend(&self, has_ended: &AtomicBool) {
        while !has_ended.load(Ordering::Acquire) && self.listen() {
            let heard = self.heard.lock().expect("nobody panics with it").pipe.try_clone();
            let Ok(pipe) = heard else { return };
            let mut polled = [rustix::event::PollFd::new(&pipe, rustix::event::PollFlags::IN)];
            let look = rustix::event::Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK.subsec_nanos()) };
            let _ = rustix::event::poll(&mut polled, Some(&look));
        }
        self.listen();
    }

    /// All lines that are kept, each with its step.
    ///
    /// # Errors
    /// What was printed and cannot be kept as it is.
    pub fn into_lines(self) -> Result<Vec<(usize, String)>, String> {
        let mut heard = self.heard.lock().expect("nobody panics with it");
        if !heard.begun.is_empty() {
            heard.take(b"\n", self.steps.load(Ordering::Acquire));
        }
        heard.problem.take().map_or_else(|| Ok(std::mem::take(&mut heard.lines)), Err)
    }

    /// The last line with something in it.
    pub fn last_line(self) -> Option<String> {
        let mut heard = self.heard.lock().expect("nobody panics with it");
        if !heard.begun.is_empty() {
            heard.take(b"\n", self.steps.load(Ordering::Acquire));
        }
        heard.lines.pop().map(|(_, line)| line)
    }
}

impl Heard {
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
