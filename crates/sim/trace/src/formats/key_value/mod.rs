//! Traces of stores whose objects have keys: what they read and write has no address, so an allocator gives it one.
//!
//! ```text
//!   key, size -> allocator (policy) -> space (what is free) -> read, write or trim at an address
//! ```

mod allocator;
pub(super) mod mlperf;
mod space;

pub use allocator::Allocator;
