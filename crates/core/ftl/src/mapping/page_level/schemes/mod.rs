//! Mappings of single pages: which map entries are in memory, and what a missing one costs. What all of them share is
//! in [`super`]; a line in the table of [`crate::mapping`] makes a file here a mapping.

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
