//! All tests of the crate from outside, in one program: linking is most of what a test costs.

mod ageing;
mod agreement;
mod buffer;
mod bus;
mod cleaning;
mod closed_forms;
mod forgetful;
mod gather;
mod host;
mod in_use;
mod lifetime;
mod log_block;
mod outside;
mod presets;
mod remapped;
mod repeated;
mod serial;
mod serial_session;
mod slc;
mod superpage;
mod support;
mod timeline;
mod translation;
mod units;
mod waiting;
mod warm_up;
