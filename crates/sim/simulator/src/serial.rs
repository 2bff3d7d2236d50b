//! A drive that is one server: a request at a time, in order of arrival.
//!
//! ```text
//! submit --> line --> server ----------------------------> completed
//!            (FIFO)   holds the drive for the sum of the times of every flash
//!                     command the request causes, collection and mapping included
//! ```
//! Faithful to: the classic model of a flash drive as a single server; every command costs what it
//! would on an idle die and channel, and the layers decide exactly as in counted time.
//! Simplified: nothing overlaps, neither dies nor channels nor planes; the host link takes no time;
//! there is no work in idle time, because every command belongs to the request that caused it.
//! Protects: waiting and the request's own host commands add up to its response, to the nanosecond.

use crate::block_device::{BlockDevice, Completion, Completions, Progress};
use crate::drive::Drive;
use nand::{MeteredFlash, Span, WaitVector};
use std::collections::VecDeque;
use units::{CAUSES, Cause, DIE_CAUSES, Nanos, Request, Wait};

/// Busy time by cause, indexed by [`Cause::index`].
type Busy = [Nanos; DIE_CAUSES];

/// A request as the host knows it.
#[derive(Clone, Copy, Debug)]
struct Asked {
    tag: u32,
    request: Request,
    /// Time from its arrival until it joined the line.
    queue_ns: Nanos,
}

/// A request in the line for the server.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    asked: Asked,
    joined: Nanos,
    /// What the server had worked for when it joined.
    worked: Busy,
}

/// A request that was served and found no room: a later one may make some.
#[derive(Clone, Copy, Debug)]
struct Blocked {
    number: u32,
    asked: Asked,
    wait: WaitVector,
    /// When its own service ended.
    since: Nanos,
}

/// The one server: what it has worked for, and what it still has to do for the request it holds.
#[derive(Debug, Default)]
struct Server {
    /// Busy time that was served up to `settled`.
    worked: Busy,
    settled: Nanos,
    /// The service under way, in the order of its commands; times still to be worked.
    spans: Vec<Span>,
    /// First entry of `spans` that is not done.
    next: usize,
    /// When it ends; `None`: the server is idle.
    ends: Option<Nanos>,
}

impl Server {
    /// Brings `worked` up to `now`. Moments never go back, so each span is passed once.
    fn settle(&mut self, now: Nanos) {
        let mut left = now - self.settled;
        while left > 0
            && let Some(span) = self.spans.get_mut(self.next)
        {
            let part = left.min(span.time);
            self.worked[span.cause.index()] += part;
            span.time -= part;
            left -= part;
            self.next += usize::from(span.time == 0);
        }
        self.settled = now;
    }

    /// Begins the service whose commands are in `spans`.
    fn begin(&mut self, now: Nanos) -> Nanos {
        assert!(self.ends.is_none(), "the server serves one request at a time");
        self.settled = now;
        self.next = 0;
        let ends = now + self.spans.iter().map(|span| span.time).sum::<Nanos>();
        self.ends = Some(ends);
        ends
    }

    fn end(&mut self, now: Nanos) {
        self.settle(now);
        self.ends = None;
        self.spans.clear();
    }
}

/// A counted drive behind one server: see the module description.
pub struct SerialDrive {
    drive: Drive<MeteredFlash>,
    server: Server,
    now: Nanos,
    wake: Option<Nanos>,
    line: VecDeque<Waiting>,
    blocked: Vec<Blocked>,
    /// Number of the next request given to the drive.
    number: u32,
    /// What completes when the service under way ends.
    ending: Completions,
    from_drive: Completions,
}

impl SerialDrive {
    /// One server over `drive`, idle at time 0.
    pub fn new(drive: Drive<MeteredFlash>) -> Self {
        let mut serial = Self {
            drive,
            server: Server::default(),
            now: 0,
            wake: None,
            line: VecDeque::new(),
            blocked: Vec::new(),
            number: 0,
            ending: Completions::default(),
            from_drive: Completions::default(),
        };
        // What building the drive cost is nobody's service.
        serial.drive.flash_mut().meter_mut().take(&mut serial.server.spans);
        serial.server.spans.clear();
        serial
    }

    /// The drive behind the server.
    pub fn drive(&self) -> &Drive<MeteredFlash> {
        &self.drive
    }

    /// The drive behind the server, to set faults.
    pub fn drive_mut(&mut self) -> &mut Drive<MeteredFlash> {
        &mut self.drive
    }

    /// Time the server has been busy so far, by cause ([`Cause::index`]), ns. Its sum is never more
    /// than the time that has passed.
    pub fn busy_ns(&self) -> [Nanos; DIE_CAUSES] {
        self.server.worked
    }

    /// Lets the drive do all a request asks for, and holds the server for what that costs.
    fn serve(&mut self, waiting: Waiting) {
        let number = self.number;
        self.number = number.wrapping_add(1);
        // The counted drive's clock stands at zero.
        self.drive.submit(number, &Request { arrival: 0, ..waiting.asked.request });
        let (mut own, mut others) = (None, Vec::new());
        while self.drive.advance(&mut self.from_drive) == Progress::Worked {
            for Completion { tag, failed, .. } in &self.from_drive.done {
                if *tag == number {
                    own = Some(*failed);
                } else {
                    others.push((*tag, *failed));
                }
            }
        }
        self.drive.flash_mut().meter_mut().take(&mut self.server.spans);
        let wait = self.wait_of(&waiting);
        let ends = self.server.begin(self.now);
        for (tag, failed) in others {
            self.unblock(tag, failed, ends);
        }
        match own {
            Some(failed) => self.will_end(waiting.asked, failed, &wait, 0),
            None => self.blocked.push(Blocked { number, asked: waiting.asked, wait, since: ends }),
        }
    }

    /// What a request waits for in all: others at the server, and its own commands for any other cause
    /// than the host, which are those listed now.
    fn wait_of(&self, waiting: &Waiting) -> WaitVector {
        let mut busy = self.server.worked;
        for (busy, before) in busy.iter_mut().zip(waiting.worked) {
            *busy -= before;
        }
        let waited: Nanos = busy.iter().sum();
        assert!(waited == self.now - waiting.joined, "the server was idle while a request waited for it");
        for span in self.server.spans.iter().filter(|span| span.cause != Cause::Host) {
            busy[span.cause.index()] += span.time;
        }
        let mut wait = WaitVector::ZERO;
        for (cause, time) in CAUSES.into_iter().zip(busy).filter(|(_, time)| *time > 0) {
            // With one server the command in the way is all there is behind it: direct and root agree.
            wait.entries[cause.index()] = [time; 2];
            wait.kinds |= 1 << cause.index();
        }
        wait
    }

    /// A request that found no room earlier completes with the service that made some, at `ends`.
    #[cold]
    fn unblock(&mut self, number: u32, failed: bool, ends: Nanos) {
        let at = self.blocked.iter().position(|blocked| blocked.number == number);
        let Blocked { asked, wait, since, .. } = self.blocked.remove(at.expect("only what was asked for completes"));
        self.will_end(asked, failed, &wait, ends - since);
    }

    /// The request completes when the service under way ends.
    fn will_end(&mut self, asked: Asked, failed: bool, wait: &WaitVector, space: Nanos) {
        let mut wait = *wait;
        layer::charge(&mut wait, Wait::Space, space);
        let index = (wait.kinds != 0).then(|| self.ending.waits.note(&wait));
        let Asked { tag, request, queue_ns } = asked;
        self.ending.done.push(Completion { tag, request, failed, wait: index, queue_ns });
    }
}

impl BlockDevice for SerialDrive {
    #[inline]
    fn now(&self) -> Nanos {
        self.now
    }

    fn sectors(&self) -> u64 {
        self.drive.sectors()
    }

    fn submit(&mut self, tag: u32, request: &Request) {
        self.server.settle(self.now);
        let asked = Asked { tag, request: *request, queue_ns: self.now - request.arrival };
        self.line.push_back(Waiting { asked, joined: self.now, worked: self.server.worked });
    }

    fn advance(&mut self, completions: &mut Completions) -> Progress {
        completions.done.clear();
        completions.waits.clear();
        loop {
            if self.server.ends.is_none()
                && let Some(waiting) = self.line.pop_front()
            {
                self.serve(waiting);
            }
            let Some(time) = self.server.ends.into_iter().chain(self.wake).min() else { return Progress::Idle };
            self.now = time;
            if self.server.ends == Some(time) {
                self.server.end(time);
                std::mem::swap(completions, &mut self.ending);
            }
            let woken = self.wake.take_if(|wake| *wake == time).is_some();
            if woken || !completions.done.is_empty() {
                return Progress::Worked;
            }
        }
    }

    fn wake_at(&mut self, time: Nanos) {
        self.wake = Some(time.max(self.now));
    }

    #[inline]
    fn hint(&self, soon: &[Request], next: &[Request]) {
        self.drive.hint(soon, next);
    }
}
