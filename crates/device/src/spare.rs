//! Spare flash: how much there is, and how much of it a mapping has to work with.

use crate::DrivePlan;
use crate::build::{mapping_of, reserve_blocks};

/// Spare flash of a drive.
///
/// ```text
/// all blocks | data (and parity)                      | spare                                            |
///            |                                        | in reserve: open and erased blocks, map | effective |
/// ```
/// Only effective spare flash lets pages become invalid before their block is collected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spare {
    /// Blocks beyond those that data and parity fill; a fraction where they end within one.
    pub blocks: f64,
    /// Of these, blocks that hold no data whatever is written: open ones, those kept erased for collection, translation pages
    /// and old versions that delayed parities need.
    pub in_reserve: u64,
    /// What is left of the spare blocks, as a share of data and parity; 0: nothing. `None`: nothing is collected, and spare blocks
    /// are log blocks.
    pub effective_share: Option<f64>,
}

impl Spare {
    /// The least effective share with which a drive is of use under random writes.
    ///
    /// Where every page is as likely to be overwritten as any other, a collected block is almost full: of its pages about twice the
    /// effective share s is invalid, so that each page written costs about 1 / (2 s) programs: 17 at 3 %, 25 at 2 %, 50 at 1 %.
    /// EXPERIMENT
    pub const LEAST_EFFECTIVE: f64 = 0.03;

    /// What to say where too little of the spare flash is effective: what is the case, the limit and how to mend it.
    pub fn warning(&self) -> Option<String> {
        None
    }
}

impl DrivePlan {
    /// Spare flash, and how much of it is effective.
    pub fn spare(&self) -> Spare {
        let values = &self.config.values;
        let geometry = &self.geometry;
        let per_block = f64::from(geometry.pages_per_block);
        let spare_dies = self.stripes.map_or(0, |stripes| stripes.spares());
        let planes = u64::from((geometry.dies() - spare_dies) * geometry.planes_per_die);
        // Each segment of a zone has a map and spare blocks of its own.
        let parts = planes * self.zones.as_ref().map_or(1, |zones| u64::from(zones.layout().zones + zones.layout().code_zones));
        let mapped = match (&self.stripes, &self.zones) {
            (Some(stripes), _) => stripes.layout().pages(),
            (_, Some(zones)) => zones.layout().mapped_pages(),
            _ => u64::from(self.user_pages),
        };
        let usable = (planes * u64::from(geometry.blocks_per_plane())) as f64 * (1.0 - values.real("flash.fault.factory_bad"));
        let blocks = (usable - mapped as f64 / per_block).max(0.0);
        let is_elastic = self.stripes.is_some_and(|stripes| stripes.own_reserve().is_some());
        let kept_erased = mapping_of(&self.config).kept_erased;
        let erased = kept_erased.filter(|_| !is_elastic).map_or(0, |kept| kept(values));
        let reserve = reserve_blocks(&self.config, self.user_pages).expect("the plan was checked");
        let in_reserve = parts * u64::from(reserve + erased);
        let effective = ((blocks - in_reserve as f64) * per_block / mapped as f64).max(0.0);
        Spare { blocks, in_reserve, effective_share: kept_erased.map(|_| effective) }
    }
}
