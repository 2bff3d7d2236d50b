//! Results as text for people.

mod compare;
mod grid;
mod life;
mod numbers;
mod percentiles;
mod pictures;
mod run;
mod spark;
mod study;

pub use compare::{Lived, Repetitions, comparison};
pub use grid::Grid;
pub use life::{life, life_causes, life_facts, life_rows, shown_causes};
pub use numbers::{count, share, size, time};
pub use pictures::{pictures, pictures_together};
pub use run::{called, result, wrapped_at};
pub use study::study;
