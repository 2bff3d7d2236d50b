//! Traces of stores whose objects have keys. The objects have no addresses, so an allocator gives them addresses.
//!
//! ```text
//!   key, size -> allocator (policy) -> space (free pieces) -> read, write or trim at an address
//! ```

mod allocator;
pub(super) mod mlperf;
mod space;

pub use allocator::Allocator;
