//! Arguments about limits, which `run`, `compare`, `life` and `sweep` share.

use super::ADVANCED;
use clap::Args;
use std::path::PathBuf;
use sweep::Limit;

/// Limits on figures, for scripts and pipelines.
#[derive(Debug, Args)]
pub struct LimitArguments {
    /// Exit with code 8 if this is true, for example 'write.p99 > 5ms'; may be given several times. Figures have
    /// the names of result.json or of the columns of a sweep; lives have tbw, dwpd, years and `cost_per_year`
    /// (docs/guides/ci.md).
    #[arg(long, value_name = "EXPRESSION", value_parser = Limit::parse)]
    pub fail_if: Vec<Limit>,
    /// Write the verdicts of --fail-if into this file as `JUnit` XML, a test for each.
    #[arg(help_heading = ADVANCED, long, value_name = "FILE", requires = "fail_if")]
    pub junit: Option<PathBuf>,
}
