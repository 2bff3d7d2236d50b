//! All tests of the crate from outside, in one program: linking is most of what a test costs.

mod contents;
mod faults;
mod files;
