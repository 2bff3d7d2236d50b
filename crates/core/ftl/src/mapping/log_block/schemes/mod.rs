//! Mappings of whole blocks with log blocks: the log block of a page, and the choice of merges. Their common part is in
//! [`super`]; a line in the table of [`crate::mapping`] makes a file here a mapping.

pub(in crate::mapping) mod bast;
pub(in crate::mapping) mod block;
pub(in crate::mapping) mod fast;
