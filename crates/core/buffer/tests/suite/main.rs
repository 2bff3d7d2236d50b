//! The laws of every write buffer, over a layer that keeps pages in a table and answers at once.

mod laws;
mod rig;
