//! The loop: sockets, connections, requests, answers.

use crate::control::{Controller, Wish};
use crate::event_loop::{Door, EventLoop, Kind, Peer, free_place, subject};
use crate::guests::{Device, Guest, Wake};
use crate::orders::{answer_at_once, cost_of, moved_by, order_of};
use crate::record::Record;
use crate::shares::Shares;
use crate::sockets::{Address, Listener, ServeError, Sockets};
use crate::target::{Answers, Order, OrderKind, Target};
#[cfg(feature = "watch")]
use crate::viewers::Viewers;
#[cfg(feature = "watch")]
use crate::watched::Watched;
#[cfg(feature = "watch")]
use live::{Access, Kept};
use mio::Events;
use mio::event::Event;
use nbd::{Command, Connection, Export, Request};
use std::io;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Requests of one connection that are served at once; further ones wait in its socket.
const DEPTH: usize = 1024;
/// Bytes of requests that are served at once, of all connections together; a single request may have more.
const MOST_BYTES: u64 = 32 << 20;
/// The same of one client, where a trim counts as well.
const MOST_OF_ONE: u64 = 32 << 20;
/// Longest time without a look at events.
const TURN: Duration = Duration::from_millis(20);
/// How long clients get to take their last answers when the server ends.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Clone, Debug)]
pub struct ServerOptions {
    pub address: Address,
    /// Where commands are given, if they are.
    pub control: Option<PathBuf>,
    /// Name of the export.
    pub name: String,
    /// A description, in a line.
    pub description: String,
    /// Clients may only read.
    pub read_only: bool,
    /// Where browsers and Prometheus watch, if they may.
    #[cfg(feature = "watch")]
    pub watch: Option<Access>,
}

impl ServerOptions {
    /// An export of this name, and nothing else.
    pub fn new(address: Address, name: &str) -> Self {
        Self {
            address,
            control: None,
            name: name.to_owned(),
            description: String::new(),
            read_only: false,
            #[cfg(feature = "watch")]
            watch: None,
        }
    }
}

struct Client {
    peer: Peer,
    connection: Connection,
    /// What it is known to hold (see [`Shares`]).
    held: usize,
    /// What its requests under way cost.
    asked: u64,
    /// Its place was given to another one since.
    serial: u64,
}

impl Client {
    /// What it holds and has asked for.
    fn own(&self) -> u64 {
        self.held as u64 + self.asked
    }
}

/// The owner of a request under way.
enum Asker {
    Client {
        place: usize,
        /// Which use of that place.
        serial: u64,
        request: Request,
    },
    Guest {
        /// The guest's number of the request.
        number: u32,
        order: Order,
    },
}

/// Serves a target until it is told to stop.
pub struct Server<'a> {
    target: &'a mut dyn Target,
    export: Export,
    event_loop: EventLoop,
    door: Door,
    control: Option<Door>,
    #[cfg(feature = "watch")]
    watch: Option<(Viewers, Kept)>,
    clients: Vec<Option<Client>>,
    controllers: Vec<Option<Controller>>,
    guest: Option<Box<dyn Guest>>,
    /// A guest had requests in the last turn.
    is_guest_busy: bool,
    asked: Vec<Option<Asker>>,
    free: Vec<u32>,
    /// Bytes that requests under way ask for or bring.
    bytes: u64,
    shares: Shares,
    /// Whose turn it is to be heard first.
    first: usize,
    payload: Vec<u8>,
    answers: Answers,
    record: Option<Record>,
    /// Remarks of the target for the record.
    notes: Vec<String>,
    serial: u64,
    /// Removed with the server.
    sockets: Sockets,
    address: Address,
    stopping: Option<Instant>,
}

impl<'a> Server<'a> {
    /// Binds the sockets. From now on clients can connect; they are served by [`Server::run`].
    /// Errors: a socket cannot be had, or the export cannot be offered so.
    pub fn new(target: &'a mut dyn Target, options: &ServerOptions) -> Result<Self, ServeError> {
        let mut export = Export::new(&options.name, target.bytes());
        options.description.clone_into(&mut export.description);
        export.preferred_block = target.preferred_bytes();
        (export.read_only, export.multi_conn) = (options.read_only, true);
        export.check()?;
        let event_loop = EventLoop::new()?;
        let mut sockets = Sockets::default();
        let (listener, address) = Listener::bind(&options.address, &mut sockets)?;
        let door = event_loop.open(listener, Kind::Client)?;
        let control = options.control.as_ref().map(|path| sockets.bind(path)).transpose()?;
        let control = control.map(|listener| event_loop.open(listener, Kind::Controller)).transpose()?;
        #[cfg(feature = "watch")]
        let viewers = options.watch.clone().map(|access| Viewers::bind(access, &event_loop)).transpose()?;
        Ok(Self {
            target,
            export,
            event_loop,
            door,
            control,
            #[cfg(feature = "watch")]
            watch: viewers.map(|viewers| (viewers, Kept::default())),
            clients: Vec::new(),
            controllers: Vec::new(),
            guest: None,
            is_guest_busy: false,
            asked: Vec::new(),
            free: Vec::new(),
            bytes: 0,
            shares: Shares::default(),
            first: 0,
            payload: Vec::new(),
            answers: Answers::default(),
            record: None,
            notes: Vec::new(),
            serial: 0,
            sockets,
            address,
            stopping: None,
        })
    }

    /// Writes requests down from now on.
    pub fn record(&mut self, record: Record) {
        self.record = Some(record);
    }

    /// The address of the page that watches, as a browser takes it, with the token if there is one.
    #[cfg(feature = "watch")]
    pub fn watch_url(&self) -> Option<String> {
        self.watch.as_ref().map(|(viewers, _)| viewers.url())
    }

    /// Serves a virtual machine as well: it connects to the socket at `path`, where `begin` listens.
    /// Errors: the socket or the means to listen at it cannot be had.
    pub fn attach(
        &mut self,
        path: &Path,
        begin: impl FnOnce(UnixListener, Device, Wake) -> io::Result<Box<dyn Guest>>,
    ) -> Result<(), ServeError> {
        let listener = self.sockets.bind(path)?.into_blocking()?;
        let device = Device {
            bytes: self.export.size,
            preferred_bytes: self.export.preferred_block,
            trim_bytes: self.target.trim_bytes(),
            read_only: self.export.read_only,
            name: self.export.name.clone(),
        };
        self.guest = Some(begin(listener, device, Wake::new(self.event_loop.waker()?))?);
        Ok(())
    }

    /// Where clients find it: the port that was free, if any was asked for.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The same as clients write it.
    pub fn uri(&self) -> String {
        match &self.address {
            Address::Unix(path) => format!("nbd+unix:///{}?socket={}", self.export.name, Address::in_uri(path)),
            Address::Loopback(port) => format!("nbd://127.0.0.1:{port}/{}", self.export.name),
        }
    }

    /// Serves until `stop` is set or a command says so. Requests under way are answered and everything is made to last.
    /// Errors: the operating system fails, or the target cannot be closed.
    pub fn run(&mut self, stop: &AtomicBool) -> Result<(), ServeError> {
        let mut events = Events::with_capacity(256);
        let mut wait = Some(Duration::ZERO);
        let mut worked = false;
        loop {
            if stop.load(Ordering::Relaxed) {
                self.shut_down();
            }
            if let Some(since) = self.stopping
                && (self.is_idle() || since.elapsed() > PATIENCE)
            {
                break;
            }
            let is_guest_busy = std::mem::take(&mut self.is_guest_busy);
            self.event_loop.wait(&mut events, wait, worked || is_guest_busy, &mut self.guest)?;
            worked = !events.is_empty();
            if !worked
                && !is_guest_busy
                && let Some(record) = &mut self.record
            {
                record.write_out();
            }
            for event in &events {
                self.on_event(event);
            }
            self.accept();
            wait = self.serve();
            #[cfg(feature = "watch")]
            {
                wait = [wait, self.serve_viewer()].into_iter().flatten().min();
            }
            self.relieve();
        }
        self.hang_up();
        let recorded = self.record.as_mut().map_or(Ok(()), Record::finish);
        self.target.close().map_err(ServeError::Close)?;
        recorded.map_err(ServeError::Record)
    }

    fn on_event(&mut self, event: &Event) {
        match subject(event) {
            (Kind::Client, None) => self.door.note(),
            (Kind::Client, Some(place)) => {
                if let Some(Some(client)) = self.clients.get_mut(place) {
                    client.peer.note(event);
                }
            }
            (Kind::Controller, Some(place)) => self.command(place),
            (Kind::Controller, None) => self.control.iter_mut().for_each(Door::note),
            #[cfg(feature = "watch")]
            (Kind::Viewer, place) => self.watch.iter_mut().for_each(|(viewers, _)| viewers.note(place, event)),
            #[cfg(not(feature = "watch"))]
            (Kind::Viewer, _) => {}
            (Kind::Wake, _) => {}
        }
    }

    fn accept(&mut self) {
        while let Some(stream) = self.door.next() {
            if self.stopping.is_some() {
                continue; // dropped: nobody new is served
            }
            let place = free_place(&mut self.clients);
            let Some(peer) = self.event_loop.enter(stream, Kind::Client, place) else { continue };
            self.serial += 1;
            self.shares.enter();
            let connection = Connection::new(&self.export);
            self.clients[place] = Some(Client { peer, connection, held: 0, asked: 0, serial: self.serial });
        }
        while let Some(stream) = self.control.as_mut().and_then(Door::next) {
            let place = free_place(&mut self.controllers);
            self.controllers[place] = self.event_loop.enter(stream, Kind::Controller, place).map(Controller::new);
        }
    }

    /// Viewers share the thread of the drive: one of them has its turn, and the loop goes on.
    #[cfg(feature = "watch")]
    fn serve_viewer(&mut self) -> Option<Duration> {
        let (viewers, kept) = self.watch.as_mut()?;
        let mut watched = Watched { target: self.target, wish: Wish::Nothing };
        let wait = viewers.serve(&self.event_loop, &mut |_, question| Some(kept.answer(&mut watched, &question)));
        let wish = watched.wish;
        self.obey(wish);
        wait
    }

    fn command(&mut self, place: usize) {
        let Some(Some(controller)) = self.controllers.get_mut(place) else { return };
        let wish = controller.serve(self.target);
        if controller.is_over {
            self.controllers[place] = None;
        }
        self.obey(wish);
    }

    fn obey(&mut self, wish: Wish) {
        match wish {
            Wish::Nothing => {}
            Wish::ShutDown => self.shut_down(),
            Wish::HangUp => {
                // What was under way has no answer: the device is gone.
                (0..self.clients.len()).for_each(|place| self.let_go(place));
            }
        }
    }

    fn shut_down(&mut self) {
        if self.stopping.is_none() {
            self.stopping = Some(Instant::now());
            self.target.end_soon();
            self.clients.iter_mut().flatten().for_each(|client| client.connection.shut_down());
        }
    }

    /// Whether all clients have left and no request of a guest is under way.
    fn is_idle(&self) -> bool {
        let of_guest = |asker: &Option<Asker>| matches!(asker, Some(Asker::Guest { .. }));
        self.clients.iter().all(Option::is_none) && !self.asked.iter().any(of_guest)
    }

    /// Moves bytes, takes requests, gives answers, as long as there are any. When to look again.
    fn serve(&mut self) -> Option<Duration> {
        let begun = Instant::now();
        loop {
            let mut moved = false;
            let count = self.clients.len();
            // The place behind all clients is the guest's.
            self.first = (self.first + 1) % (count + 1);
            for place in (self.first..=count).chain(0..self.first) {
                if place == count {
                    moved |= self.hear_guest();
                } else {
                    moved |= self.hear(place);
                    self.count_held(place);
                }
            }
            let again = self.target.poll(&mut self.answers);
            self.target.take_notes(&mut self.notes);
            for note in self.notes.drain(..) {
                self.record.iter_mut().for_each(|record| record.remark(&note));
            }
            moved |= !self.answers.all.is_empty();
            self.answer();
            for place in 0..self.clients.len() {
                moved |= self.speak(place);
                self.count_held(place);
            }
            if !moved {
                return again;
            }
            if begun.elapsed() > TURN {
                return Some(Duration::ZERO); // those who go on must not keep out others, or a wish to stop
            }
        }
    }

    /// Takes a client's requests and reads what it has sent, as far as it may have answers waiting. Whether there was
    /// anything.
    fn hear(&mut self, place: usize) -> bool {
        let mut moved = false;
        loop {
            let is_over = self.take_requests(place, &mut moved);
            let Some(client) = self.clients[place].as_mut().filter(|_| !is_over) else { return moved };
            let has_enough = client.connection.outstanding() >= DEPTH || client.asked >= MOST_OF_ONE;
            if !client.peer.readable || has_enough || self.bytes >= MOST_BYTES {
                return moved;
            }
            let space = client.connection.space();
            if space.is_empty() {
                return moved; // it has to take answers first
            }
            match client.peer.read(space) {
                None => return moved,
                Some(0) => client.connection.hung_up(),
                Some(count) => client.connection.filled(count),
            }
            moved = true;
        }
    }

    /// Gives the target what has been understood so far. Whether the client's turn is over: after a block status, which
    /// takes long and is not under way afterwards. `any`: set if there was a request.
    fn take_requests(&mut self, place: usize, any: &mut bool) -> bool {
        while let Some(request) = self.next_request(place) {
            *any = true;
            let Some(client) = &mut self.clients[place] else { return true };
            let Some(order) = order_of(&request) else {
                let is_over = request.command == Command::BlockStatus;
                answer_at_once(self.target, &mut client.connection, request);
                if is_over {
                    return true;
                }
                continue;
            };
            if order.kind == OrderKind::Write {
                client.connection.take_payload(&mut self.payload);
            }
            client.asked += cost_of(&request);
            let serial = client.serial;
            self.submit(&order, Asker::Client { place, serial, request });
        }
        false
    }

    /// Gives the target an order, with the payload that is there.
    fn submit(&mut self, order: &Order, asker: Asker) {
        if let Some(record) = &mut self.record {
            record.note(order);
        }
        let tag = self.free.pop().unwrap_or_else(|| {
            self.asked.push(None);
            self.asked.len() as u32 - 1
        });
        self.bytes += moved_by(order);
        self.asked[tag as usize] = Some(asker);
        self.target.submit(tag, order, &self.payload);
    }

    /// Takes the requests of the guest. Whether there was any.
    fn hear_guest(&mut self) -> bool {
        let mut moved = false;
        while self.bytes < MOST_BYTES
            && self.stopping.is_none()
            && let Some((number, order)) = self.guest.as_mut().and_then(|guest| guest.next(&mut self.payload))
        {
            self.submit(&order, Asker::Guest { number, order });
            moved = true;
        }
        self.is_guest_busy |= moved;
        moved
    }

    /// The next request of a client, if it may have one more under way.
    fn next_request(&mut self, place: usize) -> Option<Request> {
        let client = self.clients[place].as_mut()?;
        if client.connection.outstanding() >= DEPTH || client.asked >= MOST_OF_ONE || self.bytes >= MOST_BYTES {
            return None;
        }
        client.connection.allow(self.shares.longest(client.own()));
        let next = client.connection.next_request();
        if next.is_some() || !client.connection.waits_for_memory() {
            return next;
        }
        // What it keeps for later is not needed, and may have been all that is in the way.
        client.connection.release_memory();
        self.count_held(place);
        let client = self.clients[place].as_mut()?;
        let (own, longest) = (client.own(), self.shares.longest(client.own()));
        client.connection.allow(longest);
        if own == 0 {
            client.connection.split(Shares::part_of(longest));
        }
        client.connection.next_request()
    }

    /// Hands answers of the target to whom they belong.
    fn answer(&mut self) {
        for answer in self.answers.all.drain(..) {
            let Some(asker) = self.asked[answer.tag as usize].take() else { continue };
            self.free.push(answer.tag);
            if let (Some(record), Ok(_)) = (&mut self.record, answer.result) {
                match &asker {
                    Asker::Client { request, .. } => order_of(request).iter().for_each(|order| record.answered(order)),
                    Asker::Guest { order, .. } => record.answered(order),
                }
            }
            let (place, serial, request) = match asker {
                Asker::Client { place, serial, request } => (place, serial, request),
                Asker::Guest { number, order } => {
                    self.bytes -= moved_by(&order);
                    let length = if order.kind == OrderKind::Read { order.length as usize } else { 0 };
                    let read = answer.result.map(|at| &self.answers.bytes[at..at + length]);
                    self.guest.iter_mut().for_each(|guest| guest.answer(number, read));
                    continue;
                }
            };
            self.bytes -= order_of(&request).as_ref().map_or(0, moved_by);
            let Some(client) = self.clients[place].as_mut().filter(|client| client.serial == serial) else { continue };
            client.asked -= cost_of(&request);
            match answer.result {
                Err(error) => client.connection.failed(request, error),
                Ok(at) if request.command == Command::Read => {
                    let bytes = &self.answers.bytes[at..at + request.length as usize];
                    client.connection.read(request, |into| {
                        into.copy_from_slice(bytes);
                        Ok(())
                    });
                }
                Ok(_) => client.connection.done(request),
            }
        }
        self.answers.bytes.clear();
        self.guest.iter_mut().for_each(|guest| guest.tell());
    }

    /// Sends what a client can take, and lets it go when all is said. Whether anything was sent.
    fn speak(&mut self, place: usize) -> bool {
        let Some(client) = &mut self.clients[place] else { return false };
        let mut moved = false;
        while client.peer.writable && !client.connection.output().is_empty() {
            match client.peer.write(client.connection.output()) {
                None => {}
                Some(0) => {
                    client.connection.hung_up();
                    self.let_go(place);
                    return true;
                }
                Some(count) => {
                    client.connection.taken(count);
                    moved = true;
                }
            }
        }
        if client.connection.is_closed() {
            if let Some(end) = client.connection.end().filter(|end| !end.is_orderly()) {
                tracing::info!("a client left: {end}");
            }
            self.let_go(place);
        }
        moved
    }

    fn let_go(&mut self, place: usize) {
        if let Some(client) = self.clients[place].take() {
            self.shares.leave(client.held);
        }
    }

    fn count_held(&mut self, place: usize) {
        let Some(client) = &mut self.clients[place] else { return };
        let held = client.connection.held_bytes();
        self.shares.changed(client.held, held);
        client.held = held;
    }

    /// Where clients hold much, memory goes that is only kept for later.
    fn relieve(&mut self) {
        if self.shares.is_full() {
            self.clients.iter_mut().flatten().for_each(|client| client.connection.release_memory());
            (0..self.clients.len()).for_each(|place| self.count_held(place));
        }
    }

    fn hang_up(&mut self) {
        self.clients.clear();
        self.controllers.iter_mut().flatten().for_each(Controller::send);
        self.controllers.clear();
        self.guest = None;
        #[cfg(feature = "watch")]
        {
            self.watch = None;
        }
    }
}
