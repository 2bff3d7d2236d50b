//! Results as text for people.

mod compare;
mod grid;
mod numbers;
mod run;
mod study;

pub use compare::comparison;
pub use grid::Grid;
pub use numbers::{count, share, size, time};
pub use run::result;
pub use study::study;
