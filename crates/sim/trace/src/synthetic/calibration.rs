//! Published figures beside what a generator gives, hit and missed.

use super::parameters::{SyntheticError, WorkloadParameters};
use super::profile::Profile;
use units::Request;

/// A published figure beside the generator's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// The compared figure, with its unit.
    pub figure: &'static str,
    pub published: f64,
    /// The value measured on the generator.
    pub generated: f64,
    /// How close it is meant to be.
    pub aim: Aim,
}

/// How close a figure is meant to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Aim {
    /// Hit when it differs by at most this, in the figure's unit.
    Within(f64),
    /// Missed, for this reason.
    Missed(&'static str),
}

impl Comparison {
    /// Whether the figure is as close as it should be; always true for one known to be missed.
    pub fn holds(&self) -> bool {
        match self.aim {
            Aim::Within(tolerance) => (self.generated - self.published).abs() <= tolerance,
            Aim::Missed(_) => true,
        }
    }
}

pub(super) fn row(figure: &'static str, published: f64, generated: f64, aim: Aim) -> Comparison {
    Comparison { figure, published, generated, aim }
}

/// A share as a percentage.
pub(super) fn percent(share: f64) -> f64 {
    share * 100.0
}

/// The figure of a generator.
pub(super) fn requests(name: &str, parameters: &WorkloadParameters) -> Result<Vec<Request>, SyntheticError> {
    let mut workload = super::build(name, parameters)?;
    let mut requests = Vec::new();
    workload.next_batch(&mut requests, parameters.requests as usize).expect("a generator cannot fail");
    Ok(requests)
}

/// Statistics of a generator's requests.
pub(super) fn profile(name: &str, parameters: &WorkloadParameters) -> Result<Profile, SyntheticError> {
    Ok(Profile::of(&requests(name, parameters)?))
}
