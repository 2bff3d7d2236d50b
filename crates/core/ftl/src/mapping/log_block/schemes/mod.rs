//! Mappings of whole blocks with log blocks: which log block a page goes to, and what is merged. What all of them share
//! is in [`super`]; a line in the table of [`crate::mapping`] makes a file here a mapping.

pub(in crate::mapping) mod bast;
pub(in crate::mapping) mod block;
pub(in crate::mapping) mod fast;
