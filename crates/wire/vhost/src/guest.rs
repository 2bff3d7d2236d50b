//! Requests out of the rings of a virtual machine, and answers into them.

use crate::backend::{Backend, Connection};
use crate::request::{self, Chain, FAILED, Wanted};
use crate::rings::Rings;
use nbd::ErrorNumber;
use serve::{Device, Guest, Order, Wake};
use std::io;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use vhost_user_backend::VringT;
use virtio_bindings::virtio_blk::VIRTIO_BLK_S_OK;

const DONE: u8 = VIRTIO_BLK_S_OK as u8;

/// A request under way.
struct UnderWay {
    chain: Chain,
    rings: Arc<Rings>,
    /// The ring that it came from.
    place: usize,
}

/// Answers that nobody was told of.
struct Untold {
    rings: Arc<Rings>,
    place: usize,
    count: u32,
}

/// A disk for one virtual machine after the other.
pub struct Disk {
    connection: Connection,
    under_way: Vec<Option<UnderWay>>,
    free: Vec<u32>,
    /// The ring that is looked at first.
    first: usize,
    untold: Vec<Untold>,
    /// Drivers were asked to wake the server.
    dozes: bool,
}

impl Disk {
    /// Waits for virtual machines at a socket.
    ///
    /// # Errors
    /// The operating system gives no thread.
    pub fn begin(listener: UnixListener, device: Device, wake: Wake) -> io::Result<Box<dyn Guest>> {
        let connection = Connection::begin(listener, Backend::new(device, wake))?;
        Ok(Box::new(Self {
            connection,
            under_way: Vec::new(),
            free: Vec::new(),
            first: 0,
            untold: Vec::new(),
            dozes: false,
        }))
    }

    /// Notes the end of a request, and puts its answer into its ring.
    fn end(&mut self, UnderWay { chain, rings, place }: UnderWay, status: u8, bytes: &[u8]) {
        let length = request::finish(&chain, status, bytes);
        if let Err(error) = rings.all[place].add_used(chain.head_index(), length) {
            tracing::debug!("an answer to the virtual machine has no place: {error}");
        }
        match self.untold.last_mut() {
            Some(last) if last.place == place && Arc::ptr_eq(&last.rings, &rings) => last.count += 1,
            _ => self.untold.push(Untold { rings, place, count: 1 }),
        }
    }
}

impl Guest for Disk {
    fn next(&mut self, payload: &mut Vec<u8>) -> Option<(u32, Order)> {
        let rings = self.connection.backend().rings()?;
        let count = rings.all.len();
        if std::mem::take(&mut self.dozes) {
            (0..count).for_each(|place| rings.stay_awake(place));
        }
        let mut empty = 0;
        while empty < count {
            let place = self.first % count;
            let Some(chain) = rings.pop(place) else {
                (self.first, empty) = (place + 1, empty + 1);
                continue;
            };
            let backend = self.connection.backend();
            let wanted = request::understand(&chain, &backend.device, backend.is_write_through(), payload);
            let under_way = UnderWay { chain, rings: Arc::clone(&rings), place };
            match wanted {
                Ok(Wanted::Order(order)) => {
                    let number = self.free.pop().unwrap_or_else(|| {
                        self.under_way.push(None);
                        self.under_way.len() as u32 - 1
                    });
                    self.under_way[number as usize] = Some(under_way);
                    return Some((number, order));
                }
                Ok(Wanted::Name) => {
                    let name = request::name(&backend.device);
                    self.end(under_way, DONE, &name);
                }
                Ok(Wanted::Nothing) => self.end(under_way, DONE, &[]),
                Err(status) => self.end(under_way, status, &[]),
            }
        }
        self.tell(); // of those that the server never saw
        None
    }

    fn answer(&mut self, number: u32, result: Result<&[u8], ErrorNumber>) {
        let Some(under_way) = self.under_way[number as usize].take() else { return };
        self.free.push(number);
        match result {
            Ok(bytes) => self.end(under_way, DONE, bytes),
            Err(_) => self.end(under_way, FAILED, &[]),
        }
    }

    fn tell(&mut self) {
        for Untold { rings, place, count } in self.untold.drain(..) {
            let ring = &rings.all[place];
            if ring.needs_notification().unwrap_or(true)
                && let Err(error) = ring.signal_used_queue()
            {
                tracing::debug!("the virtual machine is not told of an answer: {error}");
            }
            // Its ring may stop now.
            rings.leave(place, count);
        }
    }

    fn waits(&mut self) -> bool {
        self.connection.backend().rings().is_some_and(|rings| (0..rings.all.len()).any(|place| rings.waits(place)))
    }

    fn doze(&mut self) -> bool {
        let Some(rings) = self.connection.backend().rings() else { return false };
        self.dozes = true;
        // Each ring is asked: the driver of a ring that was not would wake nobody.
        (0..rings.all.len()).filter(|place| rings.doze(*place)).count() > 0
    }
}
