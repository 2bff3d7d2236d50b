//! A disk as the driver of a virtual machine sees it: over the socket, and in memory that both share.
#![cfg(target_os = "linux")]

mod endings;
mod requests;
mod rig;
