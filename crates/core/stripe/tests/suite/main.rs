//! The laws of stripes over the page mapping, on flash that takes no time: every command ends at once.

mod laws;
mod parity;
mod rebuild;
mod rig;
