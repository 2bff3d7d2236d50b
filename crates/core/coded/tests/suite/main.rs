//! The laws of coded zones over the page mapping, on flash that takes no time: no bank is ever busy.

mod codes;
mod laws;
mod reading;
mod rig;
