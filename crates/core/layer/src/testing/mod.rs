//! Equipment for the tests of layers: a layer over small flash, driven operation by operation, and a model of its host.
//!
//! ```text
//! Host    draws steps, compares reads with a plain map, cuts power
//!  Rig    operations under way, events, payloads
//!   layer under test, over counted or timed flash
//! ```

mod host;
mod rig;

pub use host::{Host, Recipe, Step, cases, steps};
pub use rig::{Ended, Rig, TestFlash, UNIT_PART, flash_of};
