//! The work of jobs on stripes: they read what they need, write data, bring parities up to date, and mend losses.

use crate::array::Array;
use crate::jobs::Jobs;
use crate::way::Way;
use nand::Flash;

/// The array, and the jobs they have.
pub(crate) struct Work<F: Flash> {
    pub array: Array<F>,
    pub jobs: Jobs,
    /// The obstacle to collection.
    pub way: Way,
}
