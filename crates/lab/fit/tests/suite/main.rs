//! Measured drives, the drives that stand for them, and fitting.

mod files;
mod fitting;
mod orderings;
mod recover;
mod scale;
