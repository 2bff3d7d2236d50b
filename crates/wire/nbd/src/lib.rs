//! The server side of the network block device protocol (NBD), as a state machine over bytes.
//!
//! There are no sockets and no threads here. The owner of the socket moves bytes between it and a
//! [`Connection`], and takes requests out and gives answers back, in any order. The connection negotiates,
//! checks each request against the [`Export`], answers what is invalid by itself, and writes the replies in
//! the form the client agreed on.
//!
//! ```text
//! socket -> space, filled -> next_request, payload -> back end
//! socket <- output, taken <- done, failed, read, read_sparse, extents <-
//! ```
//!
//! A conversation with a client that writes a sector and leaves, with a drive in memory behind it:
//!
//! ```
//! use nbd::{Command, Connection, End, Export};
//!
//! let mut drive = vec![0; 1 << 20];
//! let export = Export::new("drive", drive.len() as u64);
//! export.check()?;
//! let mut connection = Connection::new(&export);
//! let mut sent = Vec::new();
//!
//! // Flags of the client; EXPORT_NAME with the empty name; WRITE of 512 bytes at 4096; DISC.
//! let mut client = vec![0, 0, 0, 3];
//! client.extend(b"IHAVEOPT\0\0\0\x01\0\0\0\0");
//! client.extend(b"\x25\x60\x95\x13\0\0\0\x01\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\x10\0\0\0\x02\0");
//! client.extend([0xaa; 512]);
//! client.extend(b"\x25\x60\x95\x13\0\0\0\x02\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\0\0\0\0\0");
//!
//! let mut socket = client.as_slice();
//! while !connection.is_closed() {
//!     let count = std::io::Read::read(&mut socket, connection.space())?;
//!     connection.filled(count);
//!     while let Some(request) = connection.next_request() {
//!         let at = request.offset as usize..request.offset as usize + request.length as usize;
//!         match request.command {
//!             Command::Read => connection.read(request, |bytes| {
//!                 bytes.copy_from_slice(&drive[at]);
//!                 Ok(())
//!             }),
//!             Command::Write => {
//!                 drive[at].copy_from_slice(connection.payload());
//!                 connection.done(request);
//!             }
//!             _ => connection.failed(request, nbd::ErrorNumber::Invalid),
//!         }
//!     }
//!     sent.extend_from_slice(connection.output());
//!     connection.taken(connection.output().len());
//! }
//! assert_eq!(drive[4096..4608], [0xaa; 512]);
//! assert_eq!(connection.end(), Some(&End::Disconnected));
//! assert_eq!(sent[sent.len() - 16..], *b"\x67\x44\x66\x98\0\0\0\0\0\0\0\0\0\0\0\x07");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The memory that a client can make a connection hold is bounded: an input buffer, one long write that is being
//! received, and answers. [`Connection::allow`] and [`Connection::split`] lower the bound for long requests. While many
//! answers wait to be sent no request is taken, so a limit of the requests that are outstanding limits all of it.
//!
//! Left out: the oldstyle handshake, encryption (STARTTLS is refused), extended headers, resizing, metadata
//! contexts other than `base:allocation`, and more than one export.

#![deny(missing_docs)]
#![warn(clippy::missing_errors_doc)]

mod buffers;
mod check;
mod connection;
mod end;
mod export;
mod options;
mod parts;
mod reply;
mod request;
mod wire;

pub use connection::Connection;
pub use end::End;
pub use export::{Export, ExportError, MOST_NAME, MOST_PAYLOAD};
pub use request::{Command, ErrorNumber, Extent, Request};
