//! Spare flash: how much there is, and how much of it a mapping has to work with.

use crate::DrivePlan;
use crate::build::mapping_of;
use crate::config::{PRECONDITION, Precondition};
use ftl::mapping::Layout;
use layer::{Value, Values};
use metrics::NoWaf;

/// Spare flash of a drive.
///
/// ```text
/// all blocks | data and parity  | spare                                                          |
///            | in use | unused  | in reserve: open and erased blocks, translation pages | effective |
/// ```
/// Blocks that are not in use are effective as well.
/// Only where spare flash is effective do pages become invalid before their block has to be collected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spare {
    /// Blocks that data and parity leave; a fraction where these end within a block. Blocks expected to be bad from
    /// the start do not count.
    pub blocks: f64,
    /// Of these, blocks that hold no data whatever is written: open ones, those kept erased for collection, translation
    /// pages, old versions that delayed parities need. Of a mapping with log blocks: those for merging and the fewest
    /// log blocks.
    pub in_reserve: u64,
    /// Blocks in reserve that are kept erased only because commands may fail before a block is worn out.
    pub for_failures: u64,
    /// Spare blocks beyond blocks in reserve and blocks that are not in use, as a share of data and parity in use; 0:
    /// there are none. `None`: nothing is collected, as spare blocks are log blocks, and their number is a choice.
    pub effective_share: Option<f64>,
    /// Blocks that data and parity fill where the whole drive is in use.
    data: f64,
    /// Of these, blocks of addresses that are not in use.
    unused: f64,
    /// Share of blocks that are expected to be good.
    good: f64,
    /// Spare blocks are given by `coded.spare_blocks`, for each segment.
    coded: bool,
    /// Some of those in reserve are for an SLC cache alone (`ftl.slc.blocks`).
    keeps_cache: bool,
}

impl Spare {
    /// The least effective share with which a drive that is written at random serves its host as one expects of a
    /// drive.
    ///
    /// Each collection gains the invalid pages of one block, and these are few where the effective share s is small:
    /// where every page is as likely to be overwritten as any other, a write costs about 1 / (2 s) programs, 17 of them
    /// at 3 %. Blocks in reserve help a little, because open blocks hold invalid pages as well. Programs for each page
    /// written and the 99th percentile of writes, measured with `dftl` (4 GiB on 8 dies of `tlc-16k`, uniform writes of
    /// 4 KiB, queue depth 32):
    ///
    /// | effective | programs | p99    |
    /// |-----------|----------|--------|
    /// | 0.2 %     | 27.5     | 2.1 s  |
    /// | 2.0 %     | 15.2     | 1.3 s  |
    /// | 3.7 %     | 10.6     | 0.8 s  |
    /// | 5.5 %     | 8.8      | 0.4 s  |
    /// | 10.7 %    | 4.8      | 0.07 s |
    ///
    /// With `page` on blocks of 256 KiB it is 21 programs at 0.8 %, 12 at 2.7 %, 10 at 3.5 % and 5.5 at 8.6 %. There is
    /// no step in these curves. Below 3 % a drive spends more than nine tenths of its programs on copies, and each
    /// further per cent that is missing costs several more programs a page.
    pub const LEAST_EFFECTIVE: f64 = 0.03;

    /// How much there is and how much of it is effective, in a sentence.
    pub fn sentence(&self) -> String {
        match self.effective_share {
            Some(share) => format!("Of {}.", self.reserved(share)),
            None => {
                format!("There are {} spare blocks, which are log blocks or kept for merging.", in_blocks(self.blocks))
            }
        }
    }

    /// How many are in reserve, and what that leaves, in words: a plane may want more than there are.
    fn reserved(&self, effective: f64) -> String {
        let wanted = self.in_reserve as f64;
        let reserved = if wanted < self.blocks {
            format!("{wanted} are")
        } else if wanted > self.blocks {
            format!("all are ({wanted} are wanted)")
        } else {
            "all are".to_owned()
        };
        let failures = match self.for_failures {
            0 => String::new(),
            blocks => format!("; {blocks} of them only because blocks can fail, as a flash.fault chance is set"),
        };
        let cache = if self.keeps_cache { "; ftl.slc.blocks for the SLC cache among them" } else { "" };
        let unused = if self.unused > 0.0 {
            format!("with the {} blocks of addresses not in use ", in_blocks(self.unused.round()))
        } else {
            String::new()
        };
        format!(
            "{} spare blocks {reserved} in reserve (open, kept erased, or for the map{cache}{failures}), which \
             {unused}leaves {} to clean with",
            in_blocks(self.blocks),
            // Many times the data says no more than that there is plenty.
            if effective > 1.0 {
                "more than the data".to_owned()
            } else {
                format!("{:.1} % of the data", effective * 100.0)
            }
        )
    }

    /// The warning where less than [`Spare::LEAST_EFFECTIVE`] is effective: the present state, the limit and the
    /// remedy. `None`: enough is effective, or nothing is collected.
    pub fn warning(&self) -> Option<String> {
        let share = self.effective_share.filter(|share| *share < Self::LEAST_EFFECTIVE)?;
        let Self { in_reserve, data, unused, good, coded, .. } = *self;
        let least = Self::LEAST_EFFECTIVE * 100.0;
        let remedy = if coded {
            "raise coded.spare_blocks".to_owned()
        } else {
            let needed = ((data - unused) * (1.0 + Self::LEAST_EFFECTIVE) + in_reserve as f64) / good / data - 1.0;
            let raised = (needed * 1000.0).ceil() / 10.0;
            let lower = if self.keeps_cache { ", or lower ftl.slc.blocks" } else { "" };
            format!(
                "raise drive.over_provisioning to \"{raised}%\" or more, or use smaller blocks (flash.pages_per_block) \
                 or fewer planes{lower}"
            )
        };
        Some(format!(
            "Hardly any spare flash is effective: of {}. Below {least} % random writes over the whole drive are slow, \
             as nearly every program is a copy: {remedy}.",
            self.reserved(share)
        ))
    }
}

/// Whether a key says more than 0 blocks, or a share above 0.
pub(crate) fn is_above_zero(values: &Values, key: &str) -> bool {
    match values.get(key) {
        Some(Value::Whole(blocks)) => *blocks > 0,
        Some(Value::Real(share)) => *share > 0.0,
        _ => false,
    }
}

/// A number of blocks, with a decimal only where data ends within a block.
fn in_blocks(blocks: f64) -> String {
    let tenths = (blocks * 10.0).round();
    if tenths % 10.0 == 0.0 { format!("{}", tenths / 10.0) } else { format!("{:.1}", tenths / 10.0) }
}

impl DrivePlan {
    /// Why a drive has no write amplification once the host has written so many pages. Where that is less than spare
    /// flash holds, the drive cleaned up the state it began in, and eight written pages had one of 785. A drive that
    /// began erased has nothing to clean up.
    pub fn no_waf(&self, written_pages: u64) -> Option<NoWaf> {
        let began = PRECONDITION.read(&self.config.values);
        let was_in_use = !matches!(began, Precondition::None | Precondition::Auto);
        match written_pages {
            0 => Some(NoWaf::NoWrites),
            _ => (was_in_use && written_pages < self.spare_pages()).then_some(NoWaf::TooFewWrites),
        }
    }

    /// Pages of flash that hold neither data nor parity, as results count pages.
    pub(crate) fn spare_pages(&self) -> u64 {
        self.array.chip_pages((self.spare().blocks * f64::from(self.geometry.pages_per_block)) as u64)
    }

    /// Spare flash, and how much of it is effective.
    pub fn spare(&self) -> Spare {
        let values = &self.config.values;
        let geometry = &self.geometry;
        let spare_dies = self.stripes.map_or(0, |stripes| stripes.spares());
        let planes = u64::from((geometry.dies() - spare_dies) * geometry.planes_per_die);
        // Each segment of a zone has a map and spare blocks of its own.
        let segments =
            self.coded.as_ref().map_or(1, |coded| u64::from(coded.layout().zones + coded.layout().code_zones));
        let mapped = self.mapped_pages();
        let data = mapped as f64 / f64::from(geometry.pages_per_block);
        let good = 1.0 - values.real("flash.fault.factory_bad");
        let blocks = ((planes * u64::from(geometry.blocks_per_plane())) as f64 * good - data).max(0.0);
        // Stripes with a map of their own count what they keep erased to their reserve.
        let has_own_map = self.stripes.is_some_and(|stripes| stripes.own_reserve().is_some());
        let kept_erased = mapping_of(&self.config).kept_erased;
        let erased = kept_erased.filter(|_| !has_own_map).map_or(0, |kept| kept(values));
        let lanes = planes * segments;
        let for_failures = if has_own_map { 0 } else { lanes * u64::from(self.kept_for_failures(lanes, mapped, good)) };
        let in_reserve = lanes * u64::from(self.reserve_blocks() + erased) + for_failures;
        let unused = if self.shares_unused_flash() { data * (1.0 - self.share_in_use()) } else { 0.0 };
        let effective = ((blocks + unused - in_reserve as f64) / (data - unused)).max(0.0);
        Spare {
            blocks,
            in_reserve,
            for_failures,
            effective_share: kept_erased.map(|_| effective),
            data,
            unused,
            good,
            coded: self.coded.is_some(),
            keeps_cache: is_above_zero(values, "ftl.slc.blocks"),
        }
    }

    /// Blocks that the mapping of `mapped` pages keeps erased in each of its `lanes` because commands may fail.
    fn kept_for_failures(&self, lanes: u64, mapped: u64, good: f64) -> u32 {
        if !self.fault_plan().may_fail_unworn() {
            return 0;
        }
        let geometry = &self.geometry;
        let layout = Layout {
            page_bytes: geometry.page_bytes,
            pages_per_block: geometry.pages_per_block,
            planes: lanes as u32,
            user_pages: mapped as u32,
        };
        let segments = lanes / u64::from(geometry.planes()).min(lanes);
        let blocks = (f64::from(geometry.blocks_per_plane()) / segments as f64 * good) as u32;
        (mapping_of(&self.config).kept_for_failures)(&self.config.values, &layout, blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Setting, stacks};

    fn plan(stack: &str, settings: &[&str]) -> DrivePlan {
        let settings: Vec<Setting> = settings.iter().map(|text| Setting::from_argument(text).unwrap()).collect();
        DrivePlan::new(Config::load(stack, &settings).unwrap()).unwrap()
    }

    /// Nine per cent looked like plenty, and a run was slow without a hint that next to nothing of it was left for
    /// cleaning.
    #[test]
    fn spare_flash_that_is_all_in_reserve_is_told_and_the_remedy_mends_it() {
        let small =
            ["drive.capacity=4GiB", "flash.part=tlc-16k", "flash.pages_per_block=576", "flash.dies_per_channel=1"];
        let spare = plan("dftl", &[&small[..], &["drive.over_provisioning=9%"]].concat()).spare();
        assert_eq!(spare.in_reserve, 48);
        assert!((48.8..49.0).contains(&spare.blocks), "{spare:?}");
        let warning = spare.warning().unwrap();
        assert!(
            warning.contains("of 48.9 spare blocks 48 are in reserve") && warning.contains("leaves 0.2 %"),
            "{warning}"
        );
        let raised = warning.split("over_provisioning to \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        let mended = plan("dftl", &[&small[..], &[&format!("drive.over_provisioning={raised}")]].concat()).spare();
        assert_eq!(mended.warning(), None, "{mended:?}");
        assert!(mended.effective_share.unwrap() < 0.06, "no more than needed is asked for: {mended:?}");
    }

    #[test]
    fn the_share_is_what_is_left_beside_all_that_is_in_reserve() {
        let small = [
            "drive.capacity=64MiB",
            "flash.channels=4",
            "flash.dies_per_channel=1",
            "flash.pages_per_block=256",
            "drive.over_provisioning=50%",
        ];
        // 24 blocks a plane for the 16 of data; one kept, two open, one more kept erased.
        let spare = plan("page", &small).spare();
        assert_eq!((spare.blocks, spare.in_reserve, spare.effective_share), (32.0, 16, Some(0.25)));
        let bad = plan("page", &[&small[..], &["flash.fault.factory_bad=10%"]].concat()).spare();
        assert_eq!(
            bad.effective_share.map(|share| (share * 1000.0).round()),
            Some(100.0),
            "a tenth of 96 blocks is bad"
        );
        let logs = plan("fast", &["drive.capacity=1GiB"]).spare();
        assert_eq!((logs.effective_share, logs.warning()), (None, None));
    }

    /// Chances to fail made a drive of 512 MiB write 27 % more, under the same words.
    #[test]
    fn a_block_kept_because_blocks_can_fail_is_in_reserve_and_told() {
        let small = ["drive.capacity=512MiB", "flash.pages_per_block=128"];
        let with = |more: &[&str]| plan("page", &[&small[..], more].concat()).spare();
        let plain = with(&[]);
        assert_eq!((plain.blocks, plain.in_reserve, plain.for_failures), (160.0, 128, 0));
        assert!(!plain.sentence().contains("fail"), "{}", plain.sentence());
        for setting in ["flash.fault.program=0.1%", "flash.fault.erase=0.1%"] {
            let failing = with(&[setting]);
            assert_eq!((failing.blocks, failing.in_reserve, failing.for_failures), (160.0, 160, 32), "{setting}");
            let (sentence, warning) = (failing.sentence(), failing.warning().unwrap());
            for text in [sentence, warning] {
                let expected = "160 spare blocks all are in reserve (open, kept erased, or for the map; 32 of them \
                                only because blocks can fail, as a flash.fault chance is set)";
                assert!(text.contains(expected) && text.contains("leaves 0.0 %"), "{text}");
            }
        }
        // Blocks that only wear out do not fail until one is worn out.
        assert_eq!(with(&["flash.endurance=3000"]), plain);
        // No plane has room for one more: none is kept.
        let tight = with(&["flash.fault.erase=0.1%", "drive.over_provisioning=9%"]);
        assert_eq!((tight.for_failures, tight.in_reserve), (0, 128), "{tight:?}");
        // Superblocks of stripes with a map of their own, and log blocks, know no such reserve.
        for stack in ["raid-elastic", "fast"] {
            assert_eq!(
                plan(stack, &["flash.fault.erase=0.1%", "drive.capacity=1GiB"]).spare().for_failures,
                0,
                "{stack}"
            );
        }
    }

    #[test]
    fn addresses_that_are_not_in_use_are_room_to_clean_with() {
        let small = ["drive.capacity=64MiB", "flash.channels=4", "flash.dies_per_channel=1"];
        let with = |more: &[&str]| plan("page", &[&small[..], more].concat()).spare();
        let (whole, part) = (with(&[]), with(&["drive.fill=75%"]));
        // 64 blocks of data, of which 16 are not in use; 12 spare ones, all of them in reserve.
        assert_eq!((whole.blocks, whole.in_reserve, whole.effective_share), (12.0, 16, Some(0.0)), "{whole:?}");
        assert_eq!((part.blocks, part.in_reserve, part.effective_share), (12.0, 16, Some(0.25)), "{part:?}");
        assert!(whole.warning().is_some() && part.warning().is_none());
        assert!(part.sentence().contains("with the 16 blocks of addresses not in use leaves 25.0 %"));
        // Beside a generator that uses more, and where addresses in use are spread, nothing is known to stay free.
        assert_eq!(with(&["drive.fill=75%", "workload.footprint=100%"]).effective_share, Some(0.0));
        assert_eq!(with(&["drive.fill=75%", "drive.fill_layout=stretches"]).effective_share, Some(0.0));
    }

    /// Segments of code zones have two spare blocks each, as published: enough for updates that are rare.
    #[test]
    fn of_the_built_in_stacks_only_those_with_zones_lack_spare_flash() {
        for stack in stacks() {
            let plan = plan(stack.name, &[]);
            let warning = plan.spare().warning();
            assert!(warning.is_none() || plan.coded.is_some(), "{}: {warning:?}", stack.name);
            assert!(warning.is_none_or(|warning| warning.ends_with("raise coded.spare_blocks.")), "{}", stack.name);
        }
    }
}
