//! All tests of the crate from outside, in one program: linking is most of what a test costs.

mod adapters;
mod block_faults;
mod contents;
mod die_faults;
mod extents;
mod faults;
mod files;
mod host_faults;
mod kills;
mod promises;
mod small;
