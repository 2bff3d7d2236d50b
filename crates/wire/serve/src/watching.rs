//! A server for viewers alone, on threads of its own: for work that has no loop, such as a run or a sweep.

use crate::event_loop::{EventLoop, Kind, subject};
use crate::sockets::ServeError;
use crate::viewers::{Ticket, Viewers};
use live::{Access, Kept, Question, Reply, Source};
use mio::Events;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

/// A server for viewers; it ends when this is dropped.
#[derive(Debug)]
pub struct Watching {
    url: String,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watching {
    /// Listens, and answers from now on. The source is asked on a thread of its own, and may take its time: the end of
    /// the server does not wait for it. Errors: the address cannot be had, or there is no thread.
    pub fn begin(access: Access, mut source: Box<dyn Source + Send>) -> Result<Self, ServeError> {
        let event_loop = EventLoop::new()?;
        let viewers = Viewers::bind(access, &event_loop)?;
        let (url, stop, waker) = (viewers.url(), Arc::new(AtomicBool::new(false)), event_loop.waker()?);
        let (ask, asked) = channel();
        let (tell, told) = channel();
        Builder::new().name("watch-source".to_owned()).spawn(move || {
            let mut kept = Kept::default();
            for (ticket, question) in asked {
                if tell.send((ticket, kept.answer(&mut *source, &question))).is_err() || waker.wake().is_err() {
                    return;
                }
            }
        })?;
        let stops = Arc::clone(&stop);
        let thread = Builder::new().name("watch".to_owned()).spawn(move || {
            if let Err(error) = run(event_loop, viewers, &ask, &told, &stops) {
                tracing::warn!("nobody can watch any more: {error}");
            }
        })?;
        Ok(Self { url, stop, thread: Some(thread) })
    }

    /// The page's address as a browser takes it: with the port that was free, if any was asked for, and with the token
    /// if there is one.
    pub fn url(&self) -> &str {
        &self.url
    }
}

fn run(
    mut event_loop: EventLoop,
    mut viewers: Viewers,
    ask: &Sender<(Ticket, Question)>,
    told: &Receiver<(Ticket, Reply)>,
    stop: &AtomicBool,
) -> std::io::Result<()> {
    let (mut events, mut wait) = (Events::with_capacity(256), None);
    while !stop.load(Ordering::Relaxed) {
        event_loop.wait(&mut events, wait, false, &mut None)?;
        for event in &events {
            if let (Kind::Viewer, place) = subject(event) {
                viewers.note(place, event);
            }
        }
        for (ticket, reply) in told.try_iter() {
            viewers.answer(ticket, &reply);
        }
        wait = viewers.serve(&event_loop, &mut |ticket, question| {
            ask.send((ticket, question)).is_err().then(|| Reply::unavailable("the watched run broke down"))
        });
    }
    Ok(())
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::warn!("the thread for viewers broke down");
        }
    }
}
