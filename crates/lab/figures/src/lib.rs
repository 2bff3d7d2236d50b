//! Figures as data, and self-contained pages that show them: no script, no font, nothing from elsewhere.
//!
//! ```text
//! Figure -> panels of series over categories -> CSV, JSON, a section of a page
//! Scatter -> points of some area in a plane  -> a section of a page
//! Curve -> a line over numbers, with the interval in which something happens -> a section of a page
//! ```

mod axis;
mod curve;
mod figure;
pub mod numbers;
mod page;
mod plot;
mod scatter;
mod svg;
mod tables;

pub use curve::{Curve, Interval};
pub use figure::{Figure, Look, Panel, Series, Shape, quoted};
pub use page::{Page, capital, each, section, section_with};
pub use scatter::{Group, Point, Scatter};
pub use svg::{escape, number};
pub use tables::frame;
