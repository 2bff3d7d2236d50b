//! Runs of the driver over devices in memory: power cuts, faults, damage, figures.

mod bench;
mod cuts;
mod damage;
mod device;
mod figures;
mod golden;
mod hooked;
mod log_cache;
mod oracle;
mod regressions;
mod stores;
mod toy;
