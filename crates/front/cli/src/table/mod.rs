//! Results as text for people.

mod compare;
mod grid;
mod life;
mod percentiles;
mod pictures;
mod run;
mod spark;
mod study;
mod text;

pub use compare::{answer, comparison};
pub use figures::numbers::{count, share, size, time};
pub use grid::Grid;
pub use life::life;
pub use pictures::{pictures, pictures_together};
pub use run::{called, result};
pub use study::study;
pub use text::{line_length, wrapped_at};
