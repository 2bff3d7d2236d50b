//! Equipment for the tests of layers: a layer over small flash, driven operation by operation, and a model of its host.
//!
//! ```text
//! Host    draws steps, compares reads with a plain map, cuts power
//!  Rig    operations under way, events, payloads
//!   layer under test, over counted or timed flash
//! ```

mod host;
mod rig;

pub use host::{Host, Plan, Step, cases, steps};
use layer::{Parameter, Values};
pub use rig::{Ended, Rig, TestFlash, UNIT_PART, flash_of};

/// The values of these parameters: as in `set`, and where it has no such key, the default.
///
/// # Panics
/// A value is not within the limits of its parameter.
pub fn values(parameters: impl IntoIterator<Item = Parameter>, set: &[(&str, &str)]) -> Values {
    let mut values = Values::default();
    for parameter in parameters {
        let text = set.iter().find(|(key, _)| *key == parameter.key).map(|(_, text)| *text);
        if let Some(text) = text.or(parameter.default) {
            values.set(parameter.key, parameter.parse(text).expect("tests set what is allowed"));
        }
    }
    values
}
