//! The answer of `nandarium life`: a life in terabytes, drive writes a day, years and money, and its JSON form
//! (`life.json`). Keys are stable: scripts rely on them.

use crate::lifetime::{Lifetime, LifetimeError, Origin, Range, Share, WearWindow, Wearing};
use crate::money::Currency;
use crate::report::{NoWaf, RunResult};
use serde_json::{Map, Value, json};
use units::HostOp;

/// Version of the JSON form.
pub const LIFE_SCHEMA: &str = "nandarium.life/2";
/// Bytes of a terabyte and a gigabyte: decimal, as data sheets have them.
const TB: f64 = 1e12;
const GB: f64 = 1e9;
/// Days of a year, here as in data sheets.
pub const YEAR_DAYS: f64 = 365.0;
/// Nanoseconds of a day.
const DAY_NS: f64 = 86_400e9;
/// The share of writes in requests that are drawn is known that well.
const MARGIN: f64 = 1.1;
/// Fewer erases of the average block give wide intervals.
const ERASES_FEW: f64 = 4.0;

/// Factor within which the erases that a block survives are known where a part or a stack says them: a life may be so
/// many times shorter or longer. An assumption. Makers do not publish endurance. The writes that the data sheets of
/// five drives promise (`drive.data_sheet_writes` of the built-in ones), at write amplifications of 2 to 4 under random
/// writes, need 1,000 to 7,000 erases of each block, where the parts say 3,000.
pub const ENDURANCE_FACTOR: f64 = 3.0;

/// An interval of measurements whose latest end is more than this many times the earliest one is told: uneven wear then
/// says as little of a life as an endurance known within [`ENDURANCE_FACTOR`].
const UNEVEN_TOLD: f64 = ENDURANCE_FACTOR;

/// A trace that touches less of the drive than this share leaves most data where it is: copies of such data are most of
/// the write amplification of a drive in use.
const SMALL_TRACE: f64 = 0.25;

/// The cost of a drive, in any currency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Price {
    /// For each decimal gigabyte of flash, spare flash included.
    PerFlashGb(f64),
    /// Price of the whole drive.
    Drive(f64),
}

/// The cost of a drive, whether its life can be told or not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Price of the drive, in the currency that was given.
    pub price: f64,
    /// Each decimal gigabyte that the host sees.
    pub per_gb: f64,
}

impl Cost {
    pub fn to_json(self) -> Value {
        json!({"price": self.price, "per_gb": self.per_gb})
    }
}

/// The writes that a data sheet promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataSheet {
    /// Bytes of the host until the warranty ends.
    pub bytes: u64,
    /// The user gave them; otherwise the stack has them (`drive.data_sheet_writes`).
    pub is_given: bool,
}

impl DataSheet {
    /// Terabytes (10^12 bytes).
    pub fn tb(self) -> f64 {
        self.bytes as f64 / TB
    }

    /// Where the figure is from.
    pub const fn origin(self) -> &'static str {
        if self.is_given { "given" } else { "stack" }
    }

    /// Years until the host has written as much, if it writes so many bytes a day.
    fn years(self, bytes_per_day: f64) -> f64 {
        self.bytes as f64 / (bytes_per_day * YEAR_DAYS)
    }

    /// The form in a result, with the years that it lasts, if the bytes a day are known.
    pub fn to_json(self, years: Option<f64>) -> Value {
        json!({"tbw": self.tb(), "years": years, "origin": self.origin()})
    }
}

/// Further questions about a life.
#[derive(Clone, Debug, PartialEq)]
pub struct LifeTerms {
    /// Days of the warranty, for drive writes a day.
    pub warranty_days: f64,
    /// Bytes the host writes a day; `None`: as in the run.
    pub per_day: Option<u64>,
    /// The price of the drive, if given.
    pub price: Option<Price>,
    /// The currency of prices.
    pub currency: Option<Currency>,
    /// The promise of the data sheet, shown beside the life.
    pub data_sheet: Option<DataSheet>,
}

impl LifeTerms {
    /// Years until the host has written what the data sheet promises, where the bytes a day were given: no run tells
    /// them.
    pub fn data_sheet_years(&self) -> Option<f64> {
        Some(self.data_sheet?.years(self.per_day? as f64))
    }

    /// The costs of a drive with this much wear; `None`: no price was given.
    pub fn cost(&self, window: &WearWindow) -> Option<Cost> {
        let price = match self.price? {
            Price::PerFlashGb(price) => price * window.whole(window.flash_bytes) as f64 / GB,
            Price::Drive(price) => price,
        };
        Some(Cost { price, per_gb: price * GB / window.whole(window.capacity_bytes) as f64 })
    }
}

/// Where the bytes a day come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    Given,
    /// From requests that arrive at their own time: bytes written over the time in which they arrive.
    OwnTime,
    /// From a closed loop: as fast as the drive can, day and night.
    FullSpeed,
}

impl Basis {
    /// The name in `life.json`.
    pub const fn name(self) -> &'static str {
        match self {
            Basis::Given => "given",
            Basis::OwnTime => "own-time",
            Basis::FullSpeed => "full-speed",
        }
    }
}

/// A life with all that is said about it.
#[derive(Clone, Debug)]
pub struct LifeReport {
    /// The run it is computed from.
    pub result: RunResult,
    /// Erases of each block within the window of the run.
    pub window: WearWindow,
    pub life: Lifetime,
    /// Erases a block survives.
    pub endurance: u32,
    pub terms: LifeTerms,
}

impl LifeReport {
    /// Computes the life of a new drive from a run. A run without write amplification has none.
    /// Errors: everything [`LifetimeError`] names.
    pub fn new(result: RunResult, window: WearWindow, endurance: u32, terms: LifeTerms) -> Result<Self, LifetimeError> {
        let projected = Lifetime::project(&Wearing {
            window: &window,
            host_bytes: result.host[HostOp::Write.index()].bytes,
            programs: &result.flash[1],
            erased_pages: result.flash[2].iter().sum::<u64>() * u64::from(result.shape.0),
            endurance,
            origin: Origin::New,
        });
        let life = match (projected, longer_for_waf(&result, &window)) {
            (Ok(_), Some(factor)) => return Err(LifetimeError::TooFewWrites { factor }),
            // One wish for both: a run that is long enough for erases would be refused for its writes.
            (Err(LifetimeError::TooShort { erases, factor }), Some(other)) => {
                return Err(LifetimeError::TooShort { erases, factor: factor.max(other) });
            }
            (projected, _) => projected?,
        };
        Ok(Self { result, window, life, endurance, terms })
    }

    /// Bytes of the drive for each byte of the one simulated, which may be smaller.
    fn scale(&self) -> f64 {
        self.window.scale.max(1) as f64
    }

    /// Bytes the host sees.
    pub fn capacity_bytes(&self) -> u64 {
        self.window.whole(self.window.capacity_bytes)
    }

    /// Bytes of all flash, bad blocks included.
    pub fn flash_bytes(&self) -> u64 {
        self.window.whole(self.window.flash_bytes)
    }

    /// Factor within which the endurance is known: 1 where the user gave it.
    pub fn endurance_factor(&self) -> f64 {
        let is_given = self.result.given.iter().any(|key| key == "flash.endurance");
        if is_given { 1.0 } else { ENDURANCE_FACTOR }
    }

    /// Bytes of the host until the drive is worn out, with all that is not known.
    fn bytes(&self) -> Range {
        self.life.bytes.times(self.scale()).within(self.endurance_factor())
    }

    /// Terabytes the host writes until the drive is worn out. The interval includes what is not known of the endurance.
    pub fn tbw(&self) -> Range {
        self.bytes().times(1.0 / TB)
    }

    /// The same if each block survives exactly [`LifeReport::endurance`] erases: an interval of the measurement alone.
    pub fn tbw_at_endurance(&self) -> Range {
        self.life.bytes.times(self.scale() / TB)
    }

    /// Terabytes more without a cause; nothing for the host's own pages.
    pub fn gained_tb(&self, share: &Share) -> Option<f64> {
        share.gained.map(|bytes| bytes * self.scale() / TB)
    }

    /// Times the drive can be written a day over the warranty.
    pub fn dwpd(&self) -> Range {
        self.bytes().times(1.0 / (self.capacity_bytes() as f64 * self.terms.warranty_days))
    }

    /// Bytes the host writes a day, and why; nothing where no time passed and none were given.
    pub fn per_day(&self) -> Option<(f64, Basis)> {
        if let Some(bytes) = self.terms.per_day {
            return Some((bytes as f64, Basis::Given));
        }
        let written = self.result.host[HostOp::Write.index()].bytes as f64;
        let (span, basis) = match self.result.queue_depth {
            Some(_) => (self.result.sim_ns as f64, Basis::FullSpeed),
            // Not the time simulated: a drive that falls behind would stretch the workload.
            None => (self.window.arrivals_ns.unwrap_or(0.0), Basis::OwnTime),
        };
        (span > 0.0).then(|| (written * DAY_NS / span, basis))
    }

    /// Years of 365 days until the drive is worn out.
    pub fn years(&self) -> Option<Range> {
        self.years_of_tb().map(|years| self.tbw().times(years))
    }

    /// The same if each block survives exactly [`LifeReport::endurance`] erases.
    pub fn years_at_endurance(&self) -> Option<Range> {
        self.years_of_tb().map(|years| self.tbw_at_endurance().times(years))
    }

    /// Years that a terabyte takes to be written.
    fn years_of_tb(&self) -> Option<f64> {
        self.per_day().map(|(bytes, _)| TB / (bytes * YEAR_DAYS))
    }

    /// Years until the host has written what the data sheet promises.
    pub fn data_sheet_years(&self) -> Option<f64> {
        Some(self.terms.data_sheet?.years(self.per_day()?.0))
    }

    /// Terabytes more that perfectly even wear would give: no block dies before the end.
    pub fn uneven_tb(&self) -> f64 {
        ((self.life.even_bytes - self.life.bytes.estimate) * self.scale() / TB).max(0.0)
    }

    /// How many times as long the latest end is as the earliest one at the endurance assumed, where that is more than
    /// [`UNEVEN_TOLD`]: the blocks wear unevenly. `None`: about evenly.
    pub fn uneven_factor(&self) -> Option<f64> {
        let Range { earliest, latest, .. } = self.tbw_at_endurance();
        Some(latest / earliest).filter(|factor| *factor > UNEVEN_TOLD)
    }

    /// Why the interval is far wider than the endurance is unknown; nothing where wear is about even.
    pub fn uneven_note(&self) -> Option<String> {
        let factor = self.uneven_factor()?;
        let endurance = self.endurance_factor();
        let whole = if endurance > 1.0 {
            format!(" What is not known of endurance widens it {:.0} times more.", endurance * endurance)
        } else {
            String::new()
        };
        let digits = usize::from(factor < 10.0);
        Some(format!(
            "{}: uneven wear makes the latest end of its life {factor:.digits$} times the earliest one. The erases of \
             its blocks differ by {:.0} % of their mean (standard deviation). At the earliest end the first block is \
             worn out; the latest end is that of perfectly even wear.{} Wear levelling with \
             ftl.wear.static_gap below the spread of the erases narrows the interval.",
            self.result.stack,
            self.life.spread * 100.0,
            whole
        ))
    }

    /// The costs of the drive; `None`: no price was given.
    pub fn cost(&self) -> Option<Cost> {
        self.terms.cost(&self.window)
    }

    /// Price for each terabyte written: the longer the life, the less.
    pub fn price_per_tb_written(&self) -> Option<Range> {
        self.cost().map(|Cost { price, .. }| self.tbw().dividing(price))
    }

    /// Price for each year that the drive lives; `None` also where there are no years. No year is left out: a drive
    /// that would outlive its warranty is taken to be used until it is worn out.
    pub fn price_per_year(&self) -> Option<Range> {
        Some(self.years()?.dividing(self.cost()?.price))
    }

    /// Remarks for the reader.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        notes.extend(self.small_trace_doubt());
        notes.extend(self.endurance_note());
        notes.extend(self.uneven_note());
        let erases = self.window.mean();
        if erases < ERASES_FEW {
            notes.push(format!(
                "The average block was erased only {erases:.1} times while it was measured: {:.1} \
                times as many requests (--requests, or workload.repeat for a trace) narrow the interval.",
                ERASES_FEW / erases
            ));
        }
        if let Some(change) = self.life.pace.unsteady {
            let how = if change > 1.0 { "more" } else { "less" };
            notes.push(format!(
                "Not steady: blocks were erased {:.0} % {how} often for each byte in the second half of \
                the run than in the first. The second half counts. A longer run tells more.",
                (change - 1.0).abs() * 100.0
            ));
        }
        if self.life.is_drifting {
            notes.push(
                "Blocks were still drifting apart: late in the run they agreed in more wear than early in it. \
                The second half counts, and all of its differences may last; a longer run would tell more."
                    .to_owned(),
            );
        }
        // The run itself tells that it fell behind.
        let is_own = matches!(self.per_day(), Some((_, Basis::OwnTime)));
        if is_own && crate::behind(&self.result).is_some() {
            notes.push(
                "Years count the time in which requests arrived, not the time in which a drive that falls behind \
                serves them."
                    .to_owned(),
            );
        }
        let counted = ["flash.fault.program", "flash.fault.erase"];
        if let Some(key) =
            counted.iter().find(|key| self.result.config.get(**key).is_some_and(|share| !share.starts_with("0%")))
        {
            notes.push(format!("Blocks that fail by chance ({key}) shorten life, and are not part of the answer."));
        }
        if self.result.counters.contains_key("ftl.translation_pages") {
            notes.push(
                "Translation pages have no home plane, and planes drift apart in wear more slowly than a run \
                shows: tiny drives ended up to a third before the earliest."
                    .to_owned(),
            );
        }
        if self.per_day().is_none() {
            notes.push(
                "No years: no time passed (engine.time = none, or all requests arrive at once). Give the bytes \
                the host writes a day with --per-day."
                    .to_owned(),
            );
        }
        notes.extend(self.result.notes.iter().cloned());
        notes
    }

    /// The doubt about a life under a trace that touches a small share of the drive, again in each pass.
    pub fn small_trace_doubt(&self) -> Option<String> {
        let (times, share) = self.window.passes.filter(|(_, share)| *share < SMALL_TRACE)?;
        let digits = usize::from(share < 0.1);
        Some(format!(
            "Doubt: one pass of the trace touches {:.digits$} % of the drive, and each of {times} passes \
             (workload.repeat) writes there again. A host that writes for years uses more of the drive. So the write \
             amplification may be too low, and the life of {} too long. Use a longer trace, or set drive.capacity so \
             that the trace touches {:.0} % or more.",
            share * 100.0,
            self.result.stack,
            SMALL_TRACE * 100.0
        ))
    }

    /// Where the number of erases comes from, unless it was given: lives are proportional to it.
    pub fn endurance_note(&self) -> Option<String> {
        let factor = self.endurance_factor();
        (factor > 1.0).then(|| {
            format!(
                "Blocks are taken to survive {} erases, as the stack or its part says: with twice as many a life is \
                 twice as long (flash.endurance). That figure is taken to be known within a factor of {factor}: the \
                 earliest and the latest end include it.",
                self.endurance
            )
        })
    }

    pub fn to_json(&self) -> Value {
        let result = &self.result;
        let document = result.to_json();
        json!({
            "schema": LIFE_SCHEMA,
            "hash": format!("{:016x}", result.hash),
            "seed": result.seed.to_string(),
            "stack": result.stack,
            "workload": result.workload,
            "status": result.status.name(),
            "config": result.config,
            "capacity_bytes": self.capacity_bytes(),
            "flash_bytes": self.flash_bytes(),
            "scale": self.window.scale.max(1),
            "endurance": self.endurance,
            "endurance_factor": self.endurance_factor(),
            "window": {
                "requests": result.requests(),
                "host_bytes": result.host[HostOp::Write.index()].bytes,
                "sim_ns": result.sim_ns,
                "arrivals_ns": self.window.arrivals_ns,
                "unsteady": self.life.pace.unsteady,
                "blocks": self.window.erases.len(),
                "erases_mean": self.window.mean(),
                "erases_spread": self.life.spread,
                "spread_lasting": self.life.lasting,
                "drifting": self.life.is_drifting,
                "rate_error": self.life.pace.error,
                "spare_blocks": self.life.spare_blocks,
            },
            "waf": document["waf"],
            "waf_pages": document["waf_pages"],
            "waf_absent": document["waf_absent"],
            "tbw": range(self.tbw()),
            "tbw_at_endurance": range(self.tbw_at_endurance()),
            "data_sheet": self.data_sheet_json(),
            "tbw_even_wear": self.life.even_bytes * self.scale() / TB,
            "warranty_days": self.terms.warranty_days,
            "dwpd": range(self.dwpd()),
            "bytes_per_day": self.per_day().map(|(bytes, _)| bytes),
            "rate": self.per_day().map(|(_, basis)| basis.name()),
            "years": self.years().map(range),
            "causes": self.causes_json(),
            "cost": self.cost_json(),
            "notes": self.notes(),
        })
    }

    fn causes_json(&self) -> Value {
        let bytes_per_year = self.per_day().map(|(bytes, _)| bytes * YEAR_DAYS);
        let years = |tb: Option<f64>| tb.zip(bytes_per_year).map(|(tb, year)| tb * TB / year);
        let one = |share: &Share| {
            let tb = self.gained_tb(share);
            (
                share.cause.to_owned(),
                json!({"pages": share.pages, "share": share.share, "tb_gained": tb, "years_gained": years(tb)}),
            )
        };
        let mut causes: Map<String, Value> = self.life.causes.iter().map(one).collect();
        let tb = Some(self.uneven_tb());
        causes.insert(
            "uneven".to_owned(),
            json!({"pages": null, "share": null, "tb_gained": tb, "years_gained": years(tb)}),
        );
        Value::Object(causes)
    }

    fn cost_json(&self) -> Value {
        let Some(mut cost) = self.cost().map(Cost::to_json) else { return Value::Null };
        cost["per_tb_written"] = self.price_per_tb_written().map(range).into();
        cost["per_year"] = self.price_per_year().map(range).into();
        cost["currency"] = self.terms.currency.as_ref().map(|currency| currency.name.as_str()).into();
        cost
    }

    fn data_sheet_json(&self) -> Value {
        self.terms.data_sheet.map_or(Value::Null, |sheet| sheet.to_json(self.data_sheet_years()))
    }
}

/// How many times as long a run has to be that has too few writes for a write amplification; `None`: it has one, or has
/// no writes at all.
fn longer_for_waf(result: &RunResult, window: &WearWindow) -> Option<f64> {
    let written = result.host[HostOp::Write.index()].pages;
    let is_short = result.no_waf == Some(NoWaf::TooFewWrites);
    is_short.then(|| MARGIN * window.spare_pages as f64 / written as f64)
}

fn range(range: Range) -> Value {
    json!({"earliest": range.earliest, "estimate": range.estimate, "latest": range.latest})
}
