//! Static wear levelling: cold data moves to worn blocks, so that the blocks under it wear as well.

use super::lbn::Lbn;
use super::merge::Kind;
use super::tables::Tables;
use nand::Flash;
use units::BlockId;

impl Tables {
    /// Moves the logical block whose data block is least worn, if wear has drifted apart.
    #[cold]
    pub(super) fn level<F: Flash>(&mut self, flash: &mut F) {
        self.blocks.looked_at_wear();
        let wear = |block: BlockId| flash.state().block(block).erases;
        let usable = flash.state().blocks().iter().filter(|row| !row.is_bad());
        let most = usable.map(|row| row.erases).max().unwrap_or(0);
        let is_cold = |lbn: &Lbn| self.blocks.table.log(*lbn).is_none() && !self.jobs.is_locked(*lbn);
        let cold = self.lbns.all().filter(is_cold).filter_map(|lbn| Some((lbn, wear(self.blocks.table.data(lbn)?))));
        let Some((coldest, least)) = cold.min_by_key(|(_, wear)| *wear) else { return };
        if most - least > self.settings.level_gap {
            self.begin(flash, coldest, Kind::Level);
        }
    }
}
