//! Results as text for people.

mod compare;
mod grid;
mod numbers;
mod run;

pub use compare::comparison;
pub use grid::Grid;
pub use numbers::{count, share, size, time};
pub use run::result;
