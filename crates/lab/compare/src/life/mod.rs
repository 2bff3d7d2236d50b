//! What is asked of a life, checked before anything runs, and the answer from what ran.

mod over_seeds;
pub mod page;
pub mod telemetry;
pub mod words;

pub use over_seeds::LifeOverSeeds;
pub(crate) use over_seeds::amounts;

use metrics::{
    Cost, Currency, DataSheet, LifeReport, LifeTerms, LifetimeError, Price, RunResult, Status, WearWindow, YEAR_DAYS,
};
use serde_json::Value;
use simulator::config::{PRECONDITION, Precondition};
use simulator::session::SessionError;
use simulator::{Config, ConfigError, Setting};
use units::{HostOp, quantity};

/// The writes that the data sheet of a stack promises.
const DATA_SHEET: &str = "drive.data_sheet_writes";
/// So many times longer a run has to be in which the drive was on its way to a steady state.
const UNSTEADY_LONGER: f64 = 4.0;
/// Erases of the average block from which on the interval of a life is not wide, and its notes do not ask for more.
const ERASES_WANTED: f64 = 4.0;
/// No run is lengthened by less than this.
pub(crate) const LEAST_LONGER: f64 = 1.1;
/// Longest warranty, years.
const WARRANTY_MAX: f64 = 100.0;

/// What is asked of a life besides its run.
#[derive(Clone, Debug)]
pub struct LifeQuestion {
    /// Bytes that the host writes a day, such as `500GB`; `None`: as in the run.
    pub per_day: Option<String>,
    /// Years or days over which drive writes a day are reckoned, such as `5y`.
    pub warranty: String,
    /// Price of 10^9 bytes of flash.
    pub price_per_gb: Option<f64>,
    /// Price of the drive.
    pub price: Option<f64>,
    /// What the price is in; `None`: it was not said.
    pub currency: Option<Currency>,
    /// Bytes that the data sheet lets the host write, such as `1752TB`; `None`: as the stack says
    /// (`drive.data_sheet_writes`), if it does.
    pub tbw: Option<String>,
}

/// Why a life cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum LifeError {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The workload cannot be used.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The question cannot be used.
    #[error("{0}")]
    Question(String),
    /// The flash of this part survives any number of erases.
    #[error(
        "flash.endurance is 0 (flash.part = {part}): this flash never wears out. Set the erases a block survives, for \
         example --set flash.endurance=3000, or a part that has a figure, such as --set flash.part=tlc-16k (`nandarium \
         list parts`)"
    )]
    NeverWears {
        /// The part of the flash.
        part: String,
    },
    /// The drive takes no more writes.
    #[error("{message}")]
    Ended {
        /// The reason in a word or two, beside the dash of a table.
        why: &'static str,
        /// The reason, and what to do.
        message: String,
    },
    /// The run has no answer.
    #[error("{message}")]
    Untold {
        /// The reason in a word or two, beside the dash of a table.
        why: &'static str,
        /// The reason, and what to do.
        message: String,
    },
}

impl LifeError {
    /// Why a run has no life, in a word or two; `None`: nothing ran.
    pub const fn reason(&self) -> Option<&'static str> {
        match self {
            Self::Ended { why, .. } | Self::Untold { why, .. } => Some(why),
            Self::Config(_) | Self::Session(_) | Self::Question(_) | Self::NeverWears { .. } => None,
        }
    }
}

/// A drive whose life is asked for.
#[derive(Clone, Debug)]
pub struct LifePlan {
    config: Config,
    endurance: u32,
    terms: LifeTerms,
}

impl LifePlan {
    /// `load` makes the configuration, with settings laid under the given ones.
    ///
    /// # Errors
    /// The configuration or the question cannot be used, or the flash never wears out.
    pub fn new<E: From<LifeError>>(
        load: impl Fn(Vec<Setting>) -> Result<Config, E>,
        question: &LifeQuestion,
    ) -> Result<Self, E> {
        let mut config = load(Vec::new())?;
        let terms = terms(question, &config)?;
        // The state of the drive before the run, unless something else is set.
        let key = PRECONDITION.key;
        if !config.given.contains(key) && PRECONDITION.read(&config.values) == Precondition::Auto {
            let steady = PRECONDITION.name_of(Precondition::Steady);
            config = load(vec![Setting::new(key, steady, "nandarium life")])?;
        }
        let endurance = config.values.whole("flash.endurance") as u32;
        if endurance == 0 {
            return Err(LifeError::NeverWears { part: config.values.name("flash.part").to_string() }.into());
        }
        Ok(Self { config, endurance, terms })
    }

    /// The drive, in steady state unless something else is set.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Refuses standard input where steady state needs the workload more than once, before it is waited for.
    ///
    /// # Errors
    /// The workload is standard input, and the drive is to be in steady state.
    pub fn check_workload(&self, workload: &str) -> Result<(), LifeError> {
        if workload == "-" && PRECONDITION.read(&self.config.values) == Precondition::Steady {
            return Err(SessionError::SteadyNeedsFile.into());
        }
        Ok(())
    }

    /// What a drive costs that ran; `None`: no price was given.
    pub fn cost(&self, window: &WearWindow) -> Option<Cost> {
        self.terms.cost(window)
    }

    /// What else decides the life of a drive that ran.
    pub(crate) fn identity(&self) -> String {
        format!("{:?}", self.terms)
    }

    /// The life of a drive that ran: its result, and what was worn in it.
    ///
    /// # Errors
    /// The run has no answer, and the text says how to get one; or the drive takes no more writes.
    pub fn report(&self, result: RunResult, window: WearWindow) -> Result<LifeReport, LifeError> {
        check_full(&result)?;
        let facts = Facts::of(&result, &window);
        LifeReport::new(result, window, self.endurance, self.terms.clone()).map_err(|error| facts.told(&error))
    }

    /// How many times as long a run has to be for a life: for one at all, and for one with an interval that is not
    /// wide. `None`: a longer run would not help.
    pub(crate) fn missing(&self, result: &RunResult, window: &WearWindow) -> Option<[f64; 2]> {
        let narrow = ERASES_WANTED / window.mean();
        let life = LifeReport::new(result.clone(), window.clone(), self.endurance, self.terms.clone());
        let Err(error) = life else { return Some([1.0, narrow.max(1.0)]) };
        let least = Facts::of(result, window).longer(&error)?.max(LEAST_LONGER);
        // Nothing was erased: what a narrow interval needs is told by the next run.
        Some([least, if narrow.is_finite() { narrow.max(least) } else { least }])
    }

    /// What is asked of the life.
    pub(crate) fn terms(&self) -> &LifeTerms {
        &self.terms
    }
}

/// The document of a life, `life.json`, with what repetitions tell.
pub fn document(report: &LifeReport, over_seeds: Option<&LifeOverSeeds>) -> Value {
    let mut document = report.to_json();
    if let Some(over_seeds) = over_seeds {
        document["repeated"] = over_seeds.to_json();
    }
    document
}

fn terms(question: &LifeQuestion, config: &Config) -> Result<LifeTerms, LifeError> {
    let per_day = question.per_day.as_deref().map(quantity::parse_size).transpose();
    let per_day = per_day.map_err(|error| LifeError::Question(format!("--per-day: {error}")))?;
    if per_day == Some(0) {
        let problem =
            "--per-day 0: a drive that is not written does not wear out; give a size above 0, such as 500GB".to_owned();
        return Err(LifeError::Question(problem));
    }
    let price = match (question.price_per_gb, question.price) {
        (Some(price), _) => Some(("--price-per-gb", price, Price::PerFlashGb(price))),
        (None, Some(price)) => Some(("--price", price, Price::Drive(price))),
        (None, None) => None,
    };
    if let Some((option, price, _)) = price.filter(|(_, price, _)| !(price.is_finite() && *price > 0.0)) {
        let problem = format!("{option} {price}: write a number above 0, such as 0.08");
        return Err(LifeError::Question(problem));
    }
    Ok(LifeTerms {
        warranty_days: days(&question.warranty)?,
        per_day,
        price: price.map(|(_, _, price)| price),
        currency: question.currency.clone(),
        data_sheet: data_sheet(question, config)?,
    })
}

/// What the data sheet promises: as the user says, or as the stack does.
fn data_sheet(question: &LifeQuestion, config: &Config) -> Result<Option<DataSheet>, LifeError> {
    let Some(text) = &question.tbw else {
        // The sheet of a stack is of the drive with its own capacity.
        let is_whole = config.given.contains(DATA_SHEET) || !config.given.contains("drive.capacity");
        let bytes = config.values.get(DATA_SHEET).filter(|_| is_whole).map(|_| config.values.whole(DATA_SHEET));
        return Ok(bytes.map(|bytes| DataSheet { bytes, is_given: false }));
    };
    let bytes = quantity::parse_size(text).map_err(|error| LifeError::Question(format!("--tbw: {error}")))?;
    if bytes == 0 {
        return Err(LifeError::Question(format!("--tbw {text}: write a size above 0, such as 1752TB")));
    }
    Ok(Some(DataSheet { bytes, is_given: true }))
}

/// `5y` or `1000d` as days.
fn days(text: &str) -> Result<f64, LifeError> {
    let wrong = || {
        LifeError::Question(format!(
            "--warranty {text}: write years or days above 0, at most {WARRANTY_MAX} years, such as 5y or 1825d"
        ))
    };
    let (number, unit) = text.trim().split_at_checked(text.trim().len().saturating_sub(1)).ok_or_else(wrong)?;
    let scale = match unit {
        "y" => YEAR_DAYS,
        "d" => 1.0,
        _ => return Err(wrong()),
    };
    let days = number.trim().parse::<f64>().map_err(|_| wrong())? * scale;
    if days > 0.0 && days <= WARRANTY_MAX * YEAR_DAYS { Ok(days) } else { Err(wrong()) }
}

/// Nothing can be projected from a run after which the drive takes no more writes.
fn check_full(result: &RunResult) -> Result<(), LifeError> {
    let written = quantity::format_size(result.host[HostOp::Write.index()].bytes);
    let (what, remedy) = match result.status {
        Status::WornOut => (
            "worn out",
            "that is its life from its state before the run, and nothing is left to be projected. Run fewer requests \
             (--requests), or raise flash.endurance",
        ),
        Status::DriveFull => {
            ("full", "no block could be reclaimed. Raise drive.over_provisioning (coded.spare_blocks for code zones)")
        }
        Status::Complete | Status::Interrupted => return Ok(()),
    };
    let message = format!("stack `{}`: the drive is {what} after {written} of host writes: {remedy}", result.stack);
    Err(LifeError::Ended { why: what, message })
}

/// What of a run matters when it has no answer.
struct Facts {
    requests: u64,
    /// Most it may take (`workload.requests`); the largest number where there is no limit.
    limit: u64,
    repeat: u64,
    /// Further passes need a new order.
    needs_shuffle: bool,
    /// It began as its workload leaves a drive (`drive.precondition`).
    began_steady: bool,
    /// Bytes that the host wrote, and that it sees.
    written: u64,
    capacity: u64,
}

impl Facts {
    fn of(result: &RunResult, window: &WearWindow) -> Self {
        let setting = |key: &str| result.config.get(key).and_then(|value| value.parse::<u64>().ok());
        let steady = PRECONDITION.name_of(Precondition::Steady);
        Self {
            requests: result.requests(),
            limit: setting("workload.requests").unwrap_or(u64::MAX),
            repeat: setting("workload.repeat").unwrap_or(1),
            needs_shuffle: window.writes_once,
            began_steady: result.config.get(PRECONDITION.key).is_some_and(|state| state == steady),
            written: result.host[HostOp::Write.index()].bytes,
            capacity: window.capacity_bytes,
        }
    }

    /// How many times as long the run has to be; `None`: a longer run would not help.
    fn longer(&self, error: &LifetimeError) -> Option<f64> {
        match error {
            LifetimeError::TooShort { factor, .. } | LifetimeError::TooFewWrites { factor } => Some(*factor),
            // Twice the capacity makes a drive collect, and the next run tells the rest.
            LifetimeError::NoErases => {
                Some(2.0 * self.capacity as f64 / self.written as f64).filter(|factor| factor.is_finite())
            }
            LifetimeError::Unsteady { .. } | LifetimeError::Filling { .. } => Some(UNSTEADY_LONGER),
            LifetimeError::NoWrites | LifetimeError::TooFew { .. } | LifetimeError::Worn { .. } => None,
        }
    }

    /// The options that make a run so many times as long.
    fn options(&self, factor: f64) -> String {
        let [requests, repeat] = [self.requests, self.repeat].map(|count| (count as f64 * factor).ceil());
        // Either limit alone would end the run too early, and ask for the other.
        let mut options = Vec::new();
        if self.has_ended() || self.repeat > 1 {
            options.push(format!("--set workload.repeat={repeat:.0}"));
            options.extend(self.needs_shuffle.then(|| "--set workload.repeat_order=shuffle".to_owned()));
        }
        if requests > self.limit as f64 {
            options.push(format!("--requests {requests:.0}"));
        }
        options.join(" ")
    }

    fn has_ended(&self) -> bool {
        self.requests < self.limit
    }

    /// The error, with the options that end it.
    fn told(&self, error: &LifetimeError) -> LifeError {
        let when = if self.has_ended() {
            format!(", where the trace ended after {} requests", self.requests)
        } else {
            String::new()
        };
        let options = self.longer(error).map(|factor| self.options(factor.max(LEAST_LONGER)));
        let more = options.map(|options| format!(" (here{when}: {options})")).unwrap_or_default();
        let is_unsteady = matches!(error, LifetimeError::Unsteady { .. } | LifetimeError::Filling { .. });
        let before = if is_unsteady && !self.began_steady {
            format!(
                ", or begin in a steady state (--set {}={})",
                PRECONDITION.key,
                PRECONDITION.name_of(Precondition::Steady)
            )
        } else {
            String::new()
        };
        let message = format!("{error}{more}{before}");
        let why = error.name();
        match error {
            LifetimeError::Worn { .. } => LifeError::Ended { why, message },
            _ => LifeError::Untold { why, message },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::days;

    #[test]
    #[expect(clippy::float_cmp, reason = "whole numbers of days")]
    fn a_warranty_is_years_or_days() {
        assert_eq!(days("5y").unwrap(), 1825.0);
        assert_eq!(days("0.5y").unwrap(), 182.5);
        assert_eq!(days(" 90d ").unwrap(), 90.0);
        for text in ["", "y", "5", "5 years", "0y", "-1y", "101y", "5m", "nany", "ü"] {
            let message = days(text).unwrap_err().to_string();
            assert!(message.contains("such as 5y") && message.contains(text), "{text}: {message}");
        }
    }
}
