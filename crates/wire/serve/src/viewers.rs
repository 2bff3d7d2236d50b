//! Viewers: the ones that have a place, for how long, and the one whose turn it is.

use crate::event_loop::{Door, EventLoop, Kind, LOOK, Peer, free_place};
use crate::sockets::{Listener, ServeError};
use live::{Access, Connection, Question, Reply};
use mio::event::Event;
use mio::net::TcpListener;
use std::time::{Duration, Instant};

/// Viewers at once. A further one takes the place of the viewer that the server has waited for longest: for its next
/// request, for its first one, or for the rest of one. While all of them are being answered, it is told that there are
/// too many.
const PLACES: usize = 64;
/// Connections at once, with those of viewers that leave. Further ones wait to be accepted.
const CONNECTIONS: usize = 2 * PLACES;
/// How long a request may take to come, and a connection to ask the next one.
const IDLE: Duration = Duration::from_secs(10);
/// How long a connection lives; browsers make a new one.
const LIFE: Duration = Duration::from_secs(600);
/// How long a viewer has to take its last answer.
const GRACE: Duration = Duration::from_secs(5);
/// The same, when its place was given to another viewer.
const HURRY: Duration = Duration::from_millis(500);
/// How long a viewer without a place has to ask and be told so, and any viewer to hang up after its last answer.
const REFUSAL: Duration = Duration::from_secs(1);
/// Most bytes that are sent in a turn.
const PIECE: usize = 64 << 10;

/// Which viewer asked a question: its place, and the serial number of its connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket(usize, u64);

struct Viewer {
    peer: Peer,
    connection: Connection,
    serial: u64,
    /// It is one of [`PLACES`]. A viewer that leaves, or was never given a place, is not.
    has_place: bool,
    /// When the server began to wait for a request, or last sent a part of an answer.
    since: Instant,
    /// When it has to leave. Without a place: when its connection is cut.
    until: Instant,
}

impl Viewer {
    /// Whether the server waits for a request.
    fn is_awaited(&self) -> bool {
        self.has_place && !self.connection.is_asked() && self.connection.output().is_empty()
    }

    fn due(&self) -> Instant {
        if self.is_awaited() { self.until.min(self.since + IDLE) } else { self.until }
    }

    /// Gives up its place. It has this time to take its last answer.
    fn leave(&mut self, now: Instant, time: Duration) {
        self.connection.end();
        (self.has_place, self.until) = (false, now + time);
    }
}

/// The viewers of a server.
pub(crate) struct Viewers {
    door: Door,
    access: Access,
    all: Vec<Option<Viewer>>,
    serial: u64,
    /// Place of the viewer whose turn is next.
    next: usize,
    /// A viewer may have something to do now.
    is_busy: bool,
    /// When the next time limit ends.
    due: Option<Instant>,
}

impl Viewers {
    /// Listens where the access says.
    /// Errors: the address cannot be had.
    pub fn bind(mut access: Access, event_loop: &EventLoop) -> Result<Self, ServeError> {
        let refused = |source| ServeError::Socket {
            place: format!("{}: nobody can watch there", access.address),
            source,
            hint: "; choose an address of this machine, and a port that is free (0 is any)",
        };
        let listener = TcpListener::bind(access.address).map_err(refused)?;
        access.address = listener.local_addr().map_err(refused)?;
        let door = event_loop.open(Listener::Tcp(listener), Kind::Viewer)?;
        Ok(Self { door, access, all: Vec::new(), serial: 0, next: 0, is_busy: true, due: None })
    }

    /// The page's address as a browser takes it.
    pub fn url(&self) -> String {
        self.access.url()
    }

    /// The listener, or the connection at a place, has an event.
    pub fn note(&mut self, place: Option<usize>, event: &Event) {
        self.is_busy = true;
        match place {
            None => self.door.note(),
            Some(place) => self.all[place].iter_mut().for_each(|viewer| viewer.peer.note(event)),
        }
    }

    /// Gives one viewer its turn, with one question at most, so that clients have theirs in between. `ask` returns the
    /// answer, or keeps the ticket for [`Viewers::answer`]. Returns how long nothing has to be done, without events.
    pub fn serve(
        &mut self,
        event_loop: &EventLoop,
        ask: &mut dyn FnMut(Ticket, Question) -> Option<Reply>,
    ) -> Option<Duration> {
        let now = Instant::now();
        if self.is_busy || self.due.is_some_and(|due| due <= now) {
            (0..self.all.len()).for_each(|place| self.look_at_time(place, now));
            let has_come = self.receive(event_loop, now);
            let count = self.all.len();
            let turn = (self.next..count).chain(0..self.next.min(count)).find(|place| self.turn(*place, now, ask));
            self.next = turn.map_or(self.next, |place| place + 1);
            self.is_busy = has_come || turn.is_some();
            let blocked = self.door.is_ready().then(|| now + LOOK);
            self.due = self.all.iter().flatten().map(Viewer::due).chain(blocked).min();
        }
        if self.is_busy { Some(Duration::ZERO) } else { self.due.map(|due| due.saturating_duration_since(now)) }
    }

    /// Gives an answer to the viewer of the ticket, if it has not left.
    pub fn answer(&mut self, Ticket(place, serial): Ticket, reply: &Reply) {
        if let Some(viewer) = self.all[place].as_mut().filter(|viewer| viewer.serial == serial) {
            viewer.connection.answer(reply);
            self.is_busy = true;
        }
    }

    fn look_at_time(&mut self, place: usize, now: Instant) {
        let Some(viewer) = self.all[place].as_mut().filter(|viewer| viewer.due() <= now) else { return };
        let was_leaving = !viewer.has_place;
        if viewer.until > now {
            viewer.connection.give_up();
        }
        viewer.leave(now, GRACE);
        if was_leaving || viewer.connection.is_closed() {
            self.all[place] = None;
        }
    }

    /// Accepts one connection. Returns whether there was one.
    fn receive(&mut self, event_loop: &EventLoop, now: Instant) -> bool {
        if self.all.iter().flatten().count() == CONNECTIONS {
            return false;
        }
        let Some(stream) = self.door.next() else { return false };
        let has_place = self.make_room(now);
        let (connection, time) =
            if has_place { (Connection::default(), LIFE) } else { (Connection::turned_away(), REFUSAL) };
        let place = free_place(&mut self.all);
        self.serial += 1;
        let (serial, since, until) = (self.serial, now, now + time);
        let peer = event_loop.enter(stream, Kind::Viewer, place);
        self.all[place] = peer.map(|peer| Viewer { peer, connection, serial, has_place, since, until });
        true
    }

    /// Makes a place free where none is, if a viewer can give up its own. Browsers keep connections for their next
    /// question, and programs open connections and ask nothing: other viewers would never have a place.
    fn make_room(&mut self, now: Instant) -> bool {
        let places = self.all.iter_mut().flatten().filter(|viewer| viewer.has_place);
        let mut places: Vec<_> = places.collect();
        if places.len() < PLACES {
            return true;
        }
        places.retain(|viewer| !viewer.connection.is_asked());
        let longest = places.into_iter().min_by_key(|viewer| (!viewer.is_awaited(), viewer.since));
        longest.is_some_and(|viewer| {
            viewer.leave(now, if viewer.is_awaited() { Duration::ZERO } else { HURRY });
            true
        })
    }

    /// Hears a piece, asks a question, and sends a piece. Returns whether it heard or sent anything.
    fn turn(&mut self, place: usize, now: Instant, ask: &mut dyn FnMut(Ticket, Question) -> Option<Reply>) -> bool {
        let Some(viewer) = &mut self.all[place] else { return false };
        let (peer, connection) = (&mut viewer.peer, &mut viewer.connection);
        let mut ask_next = |connection: &mut Connection| {
            let question = connection.next_question(&self.access)?;
            ask(Ticket(place, viewer.serial), question).map(|reply| connection.answer(&reply))
        };
        ask_next(connection);
        let (mut heard, mut sent) = (None, None);
        if peer.readable && connection.output().is_empty() && connection.has_room() {
            let mut piece = [0; 4096];
            heard = peer.read(&mut piece);
            connection.hear(&piece[..heard.unwrap_or(0)]);
            ask_next(connection);
        }
        if peer.writable && !connection.output().is_empty() {
            let output = connection.output();
            sent = peer.write(&output[..output.len().min(PIECE)]);
            connection.taken(sent.unwrap_or(0));
            viewer.since = now;
            if connection.is_closed() {
                peer.finish(); // a socket with bytes that nobody has read may lose the last answer when it is closed
                viewer.leave(now, REFUSAL);
            }
        }
        if heard == Some(0) || sent == Some(0) {
            self.all[place] = None;
        }
        heard.is_some() || sent.is_some()
    }
}
