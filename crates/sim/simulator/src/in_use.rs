//! The part of a drive that is in use: the addresses that hold data before a run, and that a generator uses in it.
//!
//! *Why both are one part*: garbage collection has the flash of every address without data as spare space. A drive that
//! was filled where its workload never writes, or the other way round, has much less of it than a drive with an
//! unpartitioned end, and a write amplification that is twice as high.

use crate::build::mapping_of;
use crate::config::ConfigError;
use crate::state::Fill;
use crate::{Config, DrivePlan};
use layer::{Choices, Parameter, ParameterKind as Kind, Values};
use trace::synthetic::sectors_of_share;

/// Share of the drive in use.
const FILL: &str = "drive.fill";
/// Share of the drive that a generator uses.
pub(crate) const FOOTPRINT: &str = "workload.footprint";

/// Which addresses are in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    Prefix,
    Stretches,
}

/// Which addresses are in use, by name.
const LAYOUT: Choices<Layout> = Choices {
    key: "drive.fill_layout",
    table: &[
        ("prefix", "the first addresses, as workload.footprint means them", Layout::Prefix),
        (
            "stretches",
            "stretches of 256 pages, evenly spread over the drive; drive.fill and workload.footprint do not set each \
             other",
            Layout::Stretches,
        ),
    ],
};

/// The part that a generator reads.
pub(crate) const OF_GENERATORS: Parameter = Parameter::new(
    FOOTPRINT,
    Kind::Share { max: 1.0 },
    "100%",
    "Share of the drive that a generator uses: its first addresses, for example 50%. Unless drive.fill is given as \
     well, drive.precondition writes only these addresses, and garbage collection has the flash of all other \
     addresses as spare space.",
)
.example("50%");

/// The keys of it.
pub(crate) fn parameters() -> Vec<Parameter> {
    vec![
        Parameter::new(
            FILL,
            Kind::Share { max: 1.0 },
            "100%",
            "Share of the drive in use. Set it to model a drive that is not full. drive.precondition writes only this \
             share: the first addresses, unless drive.fill_layout says otherwise. Garbage collection has the flash of \
             all other addresses as spare space, as on a drive with an unpartitioned end. Under a generator drive.fill \
             sets workload.footprint as well, and workload.footprint sets drive.fill, unless both are given. Under a \
             trace the whole drive is in use unless drive.fill is given.",
        )
        .example("50%")
        .circumstance(),
        Parameter::new(
            LAYOUT.key,
            Kind::Choice(|| LAYOUT.named()),
            "prefix",
            "Which addresses are in use where drive.fill is less than 100%.",
        )
        .circumstance(),
    ]
}

/// The part of a drive that is in use before a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InUse {
    share: f64,
    layout: Layout,
}

impl InUse {
    /// The value in a configuration.
    pub fn of(values: &Values) -> Self {
        Self { share: values.real(FILL), layout: LAYOUT.read(values) }
    }

    /// Whether all of a drive is in use.
    pub fn is_all(self) -> bool {
        self.share >= 1.0
    }

    /// The first sectors, of `sectors` in pages of `sectors_per_page`, that contain all sectors in use: a whole number
    /// of pages. And the share of these that is in use.
    pub fn within(self, sectors: u64, sectors_per_page: u32) -> (u64, f64) {
        match self.layout {
            Layout::Prefix => {
                let used = sectors_of_share(sectors, self.share).next_multiple_of(u64::from(sectors_per_page));
                (used.min(sectors), 1.0)
            }
            Layout::Stretches => (sectors, self.share),
        }
    }

    /// Which part of a drive it is, in words; nothing for all of it.
    pub fn words(self, config: &Config) -> String {
        let share = &config.resolved[FILL];
        match self.layout {
            _ if self.is_all() => String::new(),
            Layout::Prefix => format!(" (its first {share} alone)"),
            Layout::Stretches => format!(" ({share} of it, evenly spread)"),
        }
    }
}

/// Share of a drive, from its first address on, that a generator with this configuration may write.
pub(crate) fn touched(config: &Config) -> f64 {
    // One that is not said says nothing beside drive.fill, which a drive that is served has without it.
    let footprint = config.values.real(FOOTPRINT);
    if footprint < 1.0 || config.given.contains(FOOTPRINT) { footprint } else { 0.0 }
}

impl DrivePlan {
    /// Share of the drive that is written before or during a run: 1 where the addresses in use are spread, also by a
    /// driver of the host.
    pub(crate) fn share_in_use(&self) -> f64 {
        let InUse { share, layout } = InUse::of(&self.config.values);
        match layout {
            Layout::Prefix if self.remap.is_none() => share.max(self.touched),
            _ => 1.0,
        }
    }

    /// Whether the flash of addresses without data is spare space for all others. Spare space of one segment of a zone
    /// is not room for another segment, and a logical block of a log-block mapping has its block for itself.
    pub(crate) fn shares_unused_flash(&self) -> bool {
        self.coded.is_none() && mapping_of(&self.config).kept_erased.is_some()
    }
}

/// Checks that something is in use of a drive of `pages`.
/// Errors: nothing is, in words.
pub(crate) fn check(config: &Config, pages: u64) -> Result<(), String> {
    let InUse { share, layout } = InUse::of(&config.values);
    let share_text = &config.resolved[FILL];
    match layout {
        Layout::Prefix if share <= 0.0 => Err(format!(
            "{FILL} is {share_text} (workload.footprint sets it as well), which leaves no address in use; raise it, or \
             set drive.precondition to \"none\" for an erased drive"
        )),
        Layout::Stretches if share < 1.0 && (pages / Fill::PAGES) as f64 * share < 1.0 => Err(format!(
            "{FILL} is {share_text}, which leaves not one stretch of {} pages of this drive; raise it",
            Fill::PAGES
        )),
        _ => Ok(()),
    }
}

/// Lets a generator use what is in use before its run, or the other way round, where only one of the two is said. A
/// sentence, if so.
/// Errors: a value that the other key does not take.
pub(crate) fn join_footprint(config: &mut Config) -> Result<Option<String>, ConfigError> {
    if LAYOUT.read(&config.values) != Layout::Prefix {
        return Ok(None);
    }
    let is_said = |key: &str| config.given.contains(key) || config.values.real(key) < 1.0;
    let (said, other) = match (is_said(FILL), is_said(FOOTPRINT)) {
        (true, false) => (FILL, FOOTPRINT),
        (false, true) => (FOOTPRINT, FILL),
        _ => return Ok(None),
    };
    let share = config.resolved[said].clone();
    config.choose(other, &share)?;
    Ok((config.values.real(said) < 1.0).then(|| {
        format!(
            "The first {share} of the drive are in use, and all other addresses stay unwritten: {other} = {share} was \
             chosen, as {said} says. Give both keys for two different shares."
        )
    }))
}
