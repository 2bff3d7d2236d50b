//! The workloads of the study.

use super::TARGETS;
use crate::error::StudyError;
use crate::load::Load;
use crate::study::Options;
use units::quantity;

/// Workloads of the publication, in the order of its figures.
pub const PUBLISHED: [&str; 4] = ["pcNTFS", FINANCIAL, "Iozone", POSTMARK];
/// One with random requests: the trace of a financial institution.
pub const FINANCIAL: &str = "Financial";
/// The other one with random requests.
pub const POSTMARK: &str = "Postmark";
/// One that is not the publication's: most writes go to few pages.
pub const LOCAL: &str = "local";

/// All workloads.
/// Errors: the user's file cannot be read.
pub fn all(options: &Options) -> Result<Vec<Load>, StudyError> {
    let mut loads = Load::each(options, TARGETS.patterns())?;
    let record = quantity::parse_size(TARGETS.chosen(options, "iozone-record")).expect("the choices are sizes");
    for load in &mut loads {
        load.in_records(options, record);
        if load.pattern.title == FINANCIAL && options.is_drawn() {
            load.skew = Some(options.drawn("trace.skew", 1.0));
        }
    }
    Ok(loads)
}
