//! Lives of all drives: the cheapest a year, or the longest.

use super::SHARE;
use super::ranking::{Placed, Ranked, share};
use crate::life::words::{money, short};
use crate::runs::Ran;
use figures::numbers::between;
use layer::spelling::joined;
use metrics::{LifeReport, Range};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Costs that differ by less than this share are equal where the bytes a day were given: sums round. Otherwise runs
/// tell these bytes, and a difference takes [`SHARE`] to matter.
const EQUAL: f64 = 1e-9;

/// A drive with a life.
#[derive(Clone, Debug)]
struct Drive {
    stack: String,
    /// What it costs a year; nothing without a price.
    per_year: Option<(f64, String)>,
    years: Range,
    /// What decides, at the endurance assumed and with what is not known of it.
    judged: [Range; 2],
}

/// The drive that is cheapest a year, or lives longest.
#[derive(Clone, Debug)]
pub(super) struct Best {
    drive: Drive,
    /// Drives whose interval overlaps with its own.
    close: Vec<Drive>,
    /// Drives that are worse beyond the intervals.
    behind: usize,
    is_by_price: bool,
    /// What is not known of endurance may turn the order round: the factor.
    open: Option<f64>,
    /// The drive that would be cheapest a year if each lived as long as its data sheet promises.
    by_sheets: Option<Promised>,
    /// Drives whose wear is so uneven that it widens the interval of their lives most: each with the factor.
    uneven: Vec<(String, f64)>,
    /// Drives without a life, or without a price where others have one, and the reason of each.
    missing: Vec<(String, &'static str)>,
}

/// A drive that lives as long as its data sheet promises.
#[derive(Clone, Debug)]
struct Promised {
    stack: String,
    years: f64,
    /// What it costs a year then.
    per_year: f64,
    shown: String,
    /// Other drives that would cost about the same.
    equal: Vec<String>,
}

impl Promised {
    fn sentence(&self) -> String {
        let Self { stack, years, shown, equal, .. } = self;
        if equal.is_empty() {
            return format!("By the data sheets: {stack}, {shown} a year for {} years.", short(*years));
        }
        let all = std::iter::once(stack).chain(equal).map(String::as_str).collect::<Vec<&str>>();
        format!("By the data sheets: no difference between {} ({shown} a year).", joined(&all, "and"))
    }

    /// Of equal drives none is named as the one, and all are.
    fn to_json(&self) -> Value {
        let stack = self.equal.is_empty().then_some(&self.stack);
        let equal: Vec<&String> = std::iter::once(&self.stack).chain(&self.equal).filter(|_| stack.is_none()).collect();
        json!({"stack": stack, "equal": equal, "cost_per_year": self.per_year, "years": self.years})
    }
}

/// The drive that would be cheapest a year; nothing where a drive has no price or no data sheet, or is alone.
fn by_sheets(ran: &[Ran]) -> Option<Promised> {
    let promised = |ran: &Ran| {
        let lived = ran.lived.as_ref()?;
        let years = lived.data_sheet_years()?;
        let per_year = lived.cost?.price / years;
        let stack = ran.result.stack.clone();
        Some(Promised { stack, years, per_year, shown: money(&lived.terms, per_year), equal: Vec::new() })
    };
    let all = ran.iter().map(promised).collect::<Option<Vec<_>>>().filter(|all| all.len() > 1)?;
    let is_exact = ran.iter().all(|ran| ran.lived.as_ref().is_some_and(|lived| lived.terms.per_day.is_some()));
    let close = if is_exact { EQUAL } else { SHARE };
    let (cheapest, others) = cheapest(all, close)?;
    Some(Promised { equal: others, ..cheapest })
}

/// The cheapest one, and the names of those that cost about as much.
fn cheapest(all: Vec<Promised>, close: f64) -> Option<(Promised, Vec<String>)> {
    let first = all.iter().min_by(|a, b| a.per_year.total_cmp(&b.per_year))?.clone();
    let close = all.into_iter().filter(|one| one.per_year <= first.per_year * (1.0 + close));
    let mut names: Vec<String> = close.map(|one| one.stack).collect();
    let place = names.iter().position(|name| *name == first.stack)?;
    names.remove(place);
    Some((first, names))
}

/// Why a drive is not ranked by its life.
fn lacking(ran: &Ran) -> &'static str {
    match ran.lived.as_ref().map(|lived| &lived.life) {
        Some(Err(error)) => error.reason().unwrap_or("no life"),
        Some(Ok(life)) if life.per_day().is_none() => "no bytes a day",
        _ => "no price",
    }
}

fn life(ran: &Ran) -> Option<&LifeReport> {
    ran.lived.as_ref()?.life.as_ref().ok()
}

/// A range with its lower end first.
fn ends(range: Range) -> [f64; 2] {
    [range.earliest.min(range.latest), range.earliest.max(range.latest)]
}

fn overlap(a: Range, b: Range) -> bool {
    let ([low, high], [from, to]) = (ends(a), ends(b));
    low <= to && from <= high
}

fn drive(ran: &Ran, is_by_price: bool) -> Option<Drive> {
    let life = life(ran)?;
    let (years, measured) = (life.years()?, life.years_at_endurance()?);
    let price = life.cost().map(|cost| cost.price);
    let judged = match price.filter(|_| is_by_price) {
        Some(price) => [measured.dividing(price), years.dividing(price)],
        None if is_by_price => return None,
        None => [measured, years],
    };
    let per_year = price.map(|price| price / years.estimate).map(|amount| (amount, money(&life.terms, amount)));
    Some(Drive { stack: ran.result.stack.clone(), per_year, years, judged })
}

/// The cheapest a year of those with a price, or the one that lives longest where none has one.
///
/// # Errors
/// The doubt about lives under a trace that touches little of their drives; the notes have the shares.
pub(super) fn doubt(ran: &[Ran]) -> Option<String> {
    let life = |ran: &Ran| ran.lived.as_ref()?.life.as_ref().ok()?.small_trace_doubt();
    let names: Vec<&str> = ran.iter().filter(|ran| life(ran).is_some()).map(|ran| ran.result.stack.as_str()).collect();
    let (what, are) = if names.len() == 1 { ("The life", "is") } else { ("The lives", "are") };
    let all = joined(&names, "and");
    (!names.is_empty()).then(|| {
        format!("{what} of {all} {are} in doubt: the trace touches a small share of the drive again in each pass.")
    })
}

/// No drive has a life in years: the reason in a sentence.
pub(super) fn lives(ran: &[Ran]) -> Result<Best, String> {
    let told: Vec<&LifeReport> = ran.iter().filter_map(life).collect();
    if told.is_empty() {
        let why = Some("No life can be told; the notes give the reasons.".to_owned());
        let sheets = by_sheets(ran).map(|promised| promised.sentence());
        return Err(why.into_iter().chain(sheets).collect::<Vec<_>>().join(" "));
    }
    let is_by_price = told.iter().any(|life| life.cost().is_some());
    let drives: Vec<Option<Drive>> = ran.iter().map(|ran| drive(ran, is_by_price)).collect();
    let missing = ran.iter().zip(&drives).filter(|(_, drive)| drive.is_none());
    let missing = missing.map(|(ran, _)| (ran.result.stack.clone(), lacking(ran))).collect();
    let mut drives: Vec<Drive> = drives.into_iter().flatten().collect();
    let key = |drive: &Drive| drive.judged[0].estimate * if is_by_price { 1.0 } else { -1.0 };
    drives.sort_by(|a, b| key(a).total_cmp(&key(b)));
    let mut drives = drives.into_iter();
    let best =
        drives.next().ok_or("No years can be told: give the bytes that the host writes a day with --per-day.")?;
    let (close, behind): (Vec<Drive>, Vec<Drive>) = drives.partition(|other| overlap(other.judged[0], best.judged[0]));
    let factor = told.iter().map(|life| life.endurance_factor()).fold(1.0, f64::max);
    let may_turn = behind.iter().any(|other| overlap(other.judged[1], best.judged[1]));
    let open = (factor > 1.0 && may_turn).then_some(factor);
    let uneven = told.iter().filter_map(|life| Some((life.result.stack.clone(), life.uneven_factor()?))).collect();
    Ok(Best { drive: best, close, behind: behind.len(), is_by_price, open, by_sheets: by_sheets(ran), uneven, missing })
}

impl Drive {
    /// Its years, with the digits that their interval supports, as in the table of a life.
    fn spoken(&self) -> [String; 3] {
        let Range { earliest, estimate, latest } = self.years;
        between([earliest, estimate, latest])
    }

    /// `36.2 EUR a year if it lives 3.3 years`.
    fn words(&self, is_by_price: bool) -> String {
        let [_, years, _] = self.spoken();
        match &self.per_year {
            Some((_, amount)) if is_by_price => format!("{amount} a year if it lives {years} years"),
            _ => format!("{years} years"),
        }
    }
}

impl Best {
    pub fn sentence(&self) -> String {
        let words = |drive: &Drive| drive.words(self.is_by_price);
        let [what, one] = if self.is_by_price { ["Cheapest a year", "costs"] } else { ["Lives longest", "lives"] };
        let [earliest, _, latest] = self.drive.spoken();
        let between = format!("{earliest} to {latest}");
        let mut text = if self.close.is_empty() && self.behind == 0 {
            format!("{} {one} {} ({between} years).", self.drive.stack, words(&self.drive))
        } else if self.close.is_empty() {
            format!("{what}: {}, {} ({between} years).", self.drive.stack, words(&self.drive))
        } else {
            let all = std::iter::once(&self.drive).chain(&self.close);
            let all = all.map(|drive| format!("{} ({})", drive.stack, words(drive)));
            format!("{what}: no measurable difference between {}.", joined(&all.collect::<Vec<String>>(), "and"))
        };
        if let Some(factor) = self.open {
            let _ =
                write!(text, " Endurance is only known within a factor of {factor}, so the real order may be another.");
        }
        if !self.uneven.is_empty() {
            let all = self.uneven.iter().map(|(stack, factor)| format!("{stack} by a factor of {}", short(*factor)));
            let all = joined(&all.collect::<Vec<String>>(), "and");
            let _ = write!(text, " Uneven wear widens the interval of {all}.");
        }
        if let Some(promised) = &self.by_sheets {
            let _ = write!(text, " {}", promised.sentence());
        }
        if !self.missing.is_empty() {
            let why = if self.is_by_price { "a life or a price" } else { "a life" };
            let missing = self.missing.iter().map(|(stack, reason)| format!("{stack} ({reason})"));
            let _ = write!(text, " Without {why}: {}.", joined(&missing.collect::<Vec<String>>(), "and"));
        }
        text
    }

    pub fn to_json(&self) -> Value {
        // Of drives that cannot be told apart none is named as the one.
        let stack = self.close.is_empty().then_some(&self.drive.stack);
        json!({
            "by": if self.is_by_price { "cost_per_year" } else { "years" },
            "stack": stack,
            "cost_per_year": self.drive.per_year.as_ref().map(|(amount, _)| *amount),
            "years": self.drive.years.estimate,
            "equal": std::iter::once(&self.drive)
                .chain(&self.close)
                .filter(|_| stack.is_none())
                .map(|drive| drive.stack.as_str())
                .collect::<Vec<_>>(),
            "not_told_from": self.close.iter().map(|drive| drive.stack.as_str()).collect::<Vec<_>>(),
            "endurance_may_turn": self.open.is_some(),
            "by_data_sheets": self.by_sheets.as_ref().map(Promised::to_json),
            "missing": self.missing.iter().map(|(stack, _)| stack.as_str()).collect::<Vec<_>>(),
        })
    }
}

/// How to give the prices that are missing; nothing where none is.
pub(super) fn unpriced(ran: &[Ran]) -> Option<String> {
    let has_price = |ran: &&Ran| ran.lived.as_ref().is_some_and(|lived| lived.cost.is_some());
    let missing: Vec<&Ran> = ran.iter().filter(|ran| !has_price(ran)).collect();
    let options: Vec<String> = missing.iter().map(|ran| format!("--price {}=NUMBER", ran.result.stack)).collect();
    let what = if missing.len() == ran.len() { "No cost a year" } else { "Not all drives have a cost a year" };
    (!missing.is_empty()).then(|| format!("{what}: give prices with {}.", options.join(" ")))
}

/// Years and costs in which drives differ so far that it matters.
pub(super) fn matter(ran: &[Ran]) -> Vec<Ranked> {
    let ranked = [false, true].map(|is_by_price| {
        let drives: Vec<Drive> = ran.iter().filter_map(|ran| drive(ran, is_by_price)).collect();
        let key = |drive: &Drive| drive.judged[0].estimate;
        let order = |a: &&Drive, b: &&Drive| {
            let order = key(a).total_cmp(&key(b));
            if is_by_price { order } else { order.reverse() }
        };
        let (first, best) = drives.iter().enumerate().min_by(|(_, a), (_, b)| order(a, b))?;
        let best = best.clone();
        let placed = |drive: &Drive| {
            let amount = drive.per_year.as_ref().filter(|_| is_by_price).map(|(_, amount)| amount.clone());
            let ratio = key(drive) / key(&best);
            Placed {
                stack: drive.stack.clone(),
                value: key(drive),
                shown: amount.unwrap_or_else(|| short(drive.years.estimate)),
                ratio,
                is_behind: !overlap(drive.judged[0], best.judged[0]) && share(ratio) >= SHARE,
            }
        };
        // By place: two files may describe drives of one name.
        let others = drives.iter().enumerate().filter(|(place, _)| *place != first);
        let others = others.map(|(_, drive)| placed(drive)).collect();
        let [metric, name] = if is_by_price { ["cost_per_year", "cost a year"] } else { ["years", "years"] };
        Some(Ranked { metric, name: name.to_owned(), best: placed(&best), others })
    });
    ranked.into_iter().flatten().filter(|ranked| ranked.others.iter().any(Placed::matters)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two runs of one drive differed by 1.5 % in what they wrote a day, and one of them was named the cheapest.
    #[test]
    fn noise_of_runs_names_no_cheapest_drive_by_the_data_sheets() {
        let promised = |stack: &str, per_year: f64| Promised {
            stack: stack.to_owned(),
            years: 5.0,
            per_year,
            shown: per_year.to_string(),
            equal: Vec::new(),
        };
        let of = |close: f64| {
            let all = vec![promised("a", 10.15), promised("b", 10.0), promised("c", 12.0)];
            let (cheapest, others) = cheapest(all, close).unwrap();
            Promised { equal: others, ..cheapest }.sentence()
        };
        assert_eq!(of(SHARE), "By the data sheets: no difference between b and a (10 a year).");
        assert_eq!(of(EQUAL), "By the data sheets: b, 10 a year for 5 years.");
    }
}
