//! The layer below: it takes operations, and its signals are kept until the layer above handles them.

use crate::{Answer, Outbox, PageLayer, PageOp, Room, Signal};
use nand::{Event, Flash, Owner};
use std::ops::{Deref, DerefMut};

/// The layer below, with its signals, and the units that wait for room in it.
pub struct Below<L: ?Sized> {
    layer: Box<L>,
    said: Outbox,
    /// Signals of it that were heard.
    heard: usize,
    /// Units that wait for room.
    pub room: Room,
}

impl<L: ?Sized> Below<L> {
    /// A layer that hears nothing yet.
    pub fn new(layer: Box<L>) -> Self {
        Self { layer, said: Outbox::new(), heard: 0, room: Room::default() }
    }

    /// Hands an operation down.
    #[inline]
    pub fn submit<F: Flash>(&mut self, flash: &mut F, op: &PageOp) -> Answer
    where
        L: PageLayer<F>,
    {
        self.layer.submit(flash, op, &mut self.said)
    }

    /// Passes an event on that is not the layer's own.
    #[inline]
    pub fn on_event<F: Flash>(&mut self, flash: &mut F, owner: Owner, event: &Event)
    where
        L: PageLayer<F>,
    {
        self.layer.on_event(flash, owner, event, &mut self.said);
    }

    /// It has said something that was not heard.
    #[inline]
    pub fn has_spoken(&self) -> bool {
        self.heard < self.said.len()
    }

    /// Its oldest signal that was not handled.
    #[inline]
    pub fn next_signal(&mut self) -> Option<Signal> {
        let signal = self.said.get(self.heard).copied();
        self.heard += 1;
        if signal.is_none() {
            self.said.clear();
            self.heard = 0;
        }
        signal
    }

    /// Passes on what operations of others say that went through the layer. Whether there may be room.
    #[inline]
    pub fn pass_on(&mut self, outbox: &mut Outbox) -> bool {
        let mut room = false;
        while let Some(signal) = self.next_signal() {
            match signal {
                Signal::Room => room = true,
                done @ Signal::Done { .. } => outbox.push(done),
            }
        }
        room
    }
}

impl<L: ?Sized> Deref for Below<L> {
    type Target = L;

    #[inline]
    fn deref(&self) -> &L {
        &self.layer
    }
}

impl<L: ?Sized> DerefMut for Below<L> {
    #[inline]
    fn deref_mut(&mut self) -> &mut L {
        &mut self.layer
    }
}
