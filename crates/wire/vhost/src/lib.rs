//! A served drive as the virtio disk of a virtual machine.
//!
//! ```text
//! virtual machine: socket -> backend: negotiates, maps the memory, learns of the rings
//!                  kick   -> backend: wakes the server
//!                  rings <-> Disk, a serve::Guest: requests out, answers in, by the thread of the server
//! ```
//! The server looks at the rings itself while it works, so a busy virtual machine wakes nobody.
//!
//! Left out: live migration, packed rings, and the record of requests under way that outlives the server.
#![cfg(target_os = "linux")]
#![deny(missing_docs)]

mod backend;
mod device;
mod guest;
mod request;
mod rings;

pub use guest::Disk;
