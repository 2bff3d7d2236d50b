//! How much of a drive holds data: unused addresses are spare space that no share of over-provisioning tells of.

use super::Measurable;
use crate::DrivePlan;

/// Share of the drive that holds data, 0 to 1. `None`: that cannot be told, as code blocks come and go.
pub(super) fn share<D: Measurable>(plan: &DrivePlan, device: &D) -> Option<f64> {
    let has_codes = plan.zones.as_ref().is_some_and(|zones| zones.layout().code_zones > 0);
    let mut reports = Vec::new();
    device.drive().top().report(&mut reports);
    let valid = reports.into_iter().map(|report| report.valid_pages).rfind(|pages| !pages.is_empty())?;
    let valid: u64 = valid.into_iter().map(u64::from).sum();
    // Stripes with a map of their own count parities apart.
    let mapped = plan.stripes.filter(|stripes| stripes.own_reserve().is_none());
    let mapped = mapped.map_or_else(|| u64::from(plan.user_pages), |stripes| stripes.layout().pages());
    (!has_codes).then(|| (valid as f64 / mapped as f64).min(1.0))
}

/// A drive that holds less than this much of what it can is told to be partly filled.
const ALL_HELD: f64 = 0.99;

/// How much of the drive holds data before and after a run, unless all of it does.
pub(super) fn note(plan: &DrivePlan, before: Option<f64>, after: Option<f64>) -> Option<String> {
    let (before, after) = before.zip(after).filter(|(before, after)| before.min(*after) < ALL_HELD)?;
    let [first, last] = [before, after].map(|share| match share * 100.0 {
        percent if percent > 0.0 && percent < 1.0 => "less than 1 %".to_owned(),
        percent => format!("{percent:.0} %"),
    });
    let when = if first == last { String::new() } else { format!(" at the start of the run, and {last} at its end") };
    let spare = if plan.shares_unused_flash() {
        "Garbage collection has the rest as spare space, beside over-provisioning "
    } else {
        "The rest is no spare space for other addresses here "
    };
    let only = if before < ALL_HELD { "Only " } else { "The drive is full at first: " };
    Some(format!("{only}{first} of the drive holds data{when}. {spare}(drive.fill, workload.footprint)."))
}
