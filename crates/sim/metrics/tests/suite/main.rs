//! The laws of the figures that results are made of: percentiles, causes of waiting, sums of parts.

mod histograms;
mod waits;
