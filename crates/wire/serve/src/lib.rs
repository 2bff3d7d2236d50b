//! Block devices behind sockets: the network block device protocol in front of any [`Target`], and the page
//! that watches it.
//!
//! ```text
//! unix socket | TCP on loopback -> Server: one thread, one loop -> nbd::Connection -> Target
//! memory shared with a virtual machine -> Guest ------------------------------------> Target
//! control socket, a command a line, an answer in JSON -----------------------------> Target::control
//! browsers, Prometheus: HTTP -> live::Connection -----------------------------------> Target::control
//! ```
//! A target is a simulated drive, or a driver over a file.
//!
//! One thread serves all connections: requests of a simulated drive take about a microsecond, and handing them to
//! another thread costs more than that. A target may hold many requests at once and answers them in any order.
//!
//! Protects: bytes from a client can end its own connection and nothing else; sockets are unix sockets or on loopback;
//! the server ends when it is told to, with everything flushed and its sockets removed.

mod control;
mod event_loop;
mod fault_log;
mod guests;
mod logs;
mod orders;
mod pieces;
mod pulse;
mod record;
mod remapped;
mod server;
mod shares;
mod simulated;
mod sockets;
mod spin;
mod stats;
mod target;
#[cfg(feature = "watch")]
mod viewers;
#[cfg(feature = "watch")]
mod watched;
#[cfg(feature = "watch")]
mod watching;

pub use guests::{Device, Guest, Wake};
pub use pulse::{LIVE_SCHEMA, requests_so_far};
pub use record::{Noted, Record};
pub use remapped::{RemappedStore, remap_report};
pub use server::{Server, ServerOptions};
pub use simulated::{Pace, SimulatedDrive};
pub use sockets::{Address, ServeError};
pub use stats::STATS_SCHEMA;
pub use target::{Answer, Answers, Control, Order, OrderKind, Target};
#[cfg(feature = "watch")]
pub use watching::Watching;
