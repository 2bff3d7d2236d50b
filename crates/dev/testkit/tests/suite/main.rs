//! All tests of the crate from outside, in one program: linking is most of what a test costs.

mod around;
mod crash;
mod determinism;
mod mutations;
mod properties;
mod regressions;
mod remapped;
mod stacked;
mod stripe_costs;
mod stripe_spares;
mod striped;
mod stripes;
mod toys;
mod zone_times;
mod zones;
