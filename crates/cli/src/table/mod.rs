//! Results as text for people.

mod compare;
mod grid;
mod life;
mod numbers;
mod run;
mod spark;
mod study;

pub use compare::comparison;
pub use grid::Grid;
pub use life::{life, life_causes, life_facts, life_rows};
pub use numbers::{count, share, size, time};
pub use run::{result, wrapped_at};
pub use spark::over_time;
pub use study::study;
