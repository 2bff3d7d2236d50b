//! Mappings of single pages: the map entries in memory, and the cost of a missing one. Their common part is in
//! [`super`]; a line in the table of [`crate::mapping`] makes a file here a mapping.

mod cache;
pub(in crate::mapping) mod cdftl;
#[cfg(test)]
mod conduct;
pub(in crate::mapping) mod dftl;
pub(in crate::mapping) mod leaftl;
pub(in crate::mapping) mod page;
pub(in crate::mapping) mod shrd;
pub(in crate::mapping) mod superpage;
pub(in crate::mapping) mod tpftl;
pub(in crate::mapping) mod tpm;
