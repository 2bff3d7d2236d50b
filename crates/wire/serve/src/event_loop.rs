//! The loop: it waits for sockets, timers and wake-ups, accepts connections, and reads and writes their sockets.

use crate::guests::Guest;
use crate::sockets::{Listener, Stream};
use crate::spin::Spin;
use mio::event::Event;
use mio::{Events, Interest, Poll, Token, Waker};
use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

/// Longest time without a look at whether to stop.
pub(crate) const LOOK: Duration = Duration::from_millis(100);

/// Kinds of sockets.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Client,
    Controller,
    Viewer,
    /// Not a socket: another thread has something for the loop.
    Wake,
}

const KINDS: [Kind; 4] = [Kind::Client, Kind::Controller, Kind::Viewer, Kind::Wake];

/// Waits for all sockets of a server.
pub(crate) struct EventLoop {
    poll: Poll,
    spin: Spin,
}

impl EventLoop {
    pub fn new() -> io::Result<Self> {
        Ok(Self { poll: Poll::new()?, spin: Spin::new() })
    }

    /// Accepts connections of a listener from now on.
    pub fn open(&self, mut listener: Listener, kind: Kind) -> io::Result<Door> {
        self.poll.registry().register(listener.source(), token(kind, None), Interest::READABLE)?;
        Ok(Door { listener, is_ready: true, is_blocked: false })
    }

    /// Listens to a stream from now on: its events name this kind and place.
    pub fn enter(&self, mut stream: Box<dyn Stream>, kind: Kind, place: usize) -> Option<Peer> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        if let Err(error) = self.poll.registry().register(&mut *stream, token(kind, Some(place)), interest) {
            tracing::warn!("a client could not be served: {error}");
            return None;
        }
        Some(Peer { stream, readable: true, writable: true, ends: false })
    }

    /// Another thread ends a wait with this.
    pub fn waker(&self) -> io::Result<Waker> {
        Waker::new(self.poll.registry(), token(Kind::Wake, None))
    }

    /// Waits for events, `wait` at the longest. After work (`worked`) it looks for a moment whether the client goes on,
    /// where that pays ([`Spin`]).
    pub fn wait(
        &mut self,
        events: &mut Events,
        wait: Option<Duration>,
        worked: bool,
        guest: &mut Option<Box<dyn Guest>>,
    ) -> io::Result<()> {
        let is_short = wait.is_some_and(|wait| wait < Duration::from_millis(1));
        let time = if is_short { Duration::ZERO } else { wait.map_or(LOOK, |wait| wait.min(LOOK)) };
        let begun = Instant::now();
        let look = if worked { time.min(self.spin.time(begun)) } else { Duration::ZERO };
        while begun.elapsed() < look {
            self.poll(events, Duration::ZERO)?;
            if !events.is_empty() || guest.as_mut().is_some_and(|guest| guest.waits()) {
                return Ok(());
            }
            if !self.spin.give_way() {
                break;
            }
        }
        if !is_short && guest.as_mut().is_some_and(|guest| guest.doze()) {
            return self.poll(events, Duration::ZERO);
        }
        self.poll(events, time)?;
        if events.is_empty() && is_short {
            std::thread::sleep(wait.unwrap_or_default());
        }
        Ok(())
    }

    fn poll(&mut self, events: &mut Events, time: Duration) -> io::Result<()> {
        match self.poll.poll(events, Some(time)) {
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            polled => polled,
        }
    }
}

fn token(kind: Kind, place: Option<usize>) -> Token {
    Token(kind as usize + KINDS.len() * place.map_or(0, |place| place + 1))
}

/// Which socket an event is about: the listener of a kind, or the connection at a place.
pub(crate) fn subject(event: &Event) -> (Kind, Option<usize>) {
    let Token(number) = event.token();
    (KINDS[number % KINDS.len()], (number / KINDS.len()).checked_sub(1))
}

/// A listener and its connections that wait to be accepted.
pub(crate) struct Door {
    listener: Listener,
    /// A connection may wait.
    is_ready: bool,
    /// It could not be accepted.
    is_blocked: bool,
}

impl Door {
    /// The listener has an event.
    pub fn note(&mut self) {
        self.is_ready = true;
    }

    /// Whether a connection may wait.
    #[cfg(feature = "watch")]
    pub fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// The next connection that waits.
    pub fn next(&mut self) -> Option<Box<dyn Stream>> {
        while self.is_ready {
            match self.listener.accept() {
                Ok(stream) => return Some(stream),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    // There is no second event for a connection that could not be accepted: it is tried again.
                    self.is_ready = error.kind() != ErrorKind::WouldBlock;
                    if self.is_ready && !self.is_blocked {
                        tracing::warn!("a client could not connect, and waits until others leave: {error}");
                    }
                    self.is_blocked = self.is_ready;
                    return None;
                }
            }
        }
        None
    }
}

/// The other side of a connection.
pub(crate) struct Peer {
    stream: Box<dyn Stream>,
    pub readable: bool,
    pub writable: bool,
    /// The other side sends no more: after what is there comes the end, and nobody says so again.
    ends: bool,
}

impl Peer {
    pub fn note(&mut self, event: &Event) {
        self.ends |= event.is_read_closed() || event.is_error();
        self.readable |= event.is_readable() || self.ends;
        self.writable |= event.is_writable();
    }

    /// Reads what there is. `None`: nothing now; `Some(0)`: the other side has hung up.
    pub fn read(&mut self, into: &mut [u8]) -> Option<usize> {
        let count = done(|| self.stream.read(into));
        // A socket that gave less than there was room for is empty, and says when it is not; the end it has said
        // already.
        self.readable = count.is_some_and(|count| count > 0 && (count == into.len() || self.ends));
        count
    }

    /// Writes what can be written. `None`: nothing now; `Some(0)`: the other side has hung up.
    pub fn write(&mut self, bytes: &[u8]) -> Option<usize> {
        let count = done(|| self.stream.write(bytes));
        self.writable = count.is_some();
        count
    }

    /// Writes no more; the other side learns that.
    #[cfg(feature = "watch")]
    pub fn finish(&self) {
        // Whoever has left does not hear it.
        let _ = self.stream.finish();
    }
}

/// Bytes that were moved; `None`: it has to wait, `Some(0)`: that never succeeds again.
fn done(mut work: impl FnMut() -> io::Result<usize>) -> Option<usize> {
    loop {
        match work().map_err(|error| error.kind()) {
            Ok(count) => return Some(count),
            Err(ErrorKind::WouldBlock) => return None,
            Err(ErrorKind::Interrupted) => {}
            Err(_) => return Some(0),
        }
    }
}

/// A place that is free, behind all others if none is.
pub(crate) fn free_place<T>(places: &mut Vec<Option<T>>) -> usize {
    places.iter().position(Option::is_none).unwrap_or_else(|| {
        places.push(None);
        places.len() - 1
    })
}
