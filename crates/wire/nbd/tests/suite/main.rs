//! Conversations with clients, good and bad, written out as bytes.

mod client;
mod commands;
mod handshake;
mod hostile;
mod order;
mod parts;
mod splitting;
mod structured;
