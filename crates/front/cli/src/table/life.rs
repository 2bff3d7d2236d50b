//! A life as text.

use super::grid::Grid;
use super::numbers::{NONE, count, ratio, share, size};
use super::run::{told_waf, wrapped};
use metrics::{Basis, Cost, LifeReport, Range, Share};
use std::fmt::Write;

/// Four significant digits of a number of any size.
pub fn digits(value: f64) -> String {
    let digits = if value <= 0.0 { 0 } else { (3 - value.log10().floor() as i64).clamp(0, 9) as usize };
    format!("{value:.digits$}")
}

fn cells(name: String, range: Range) -> Vec<String> {
    vec![name, digits(range.earliest), digits(range.estimate), digits(range.latest)]
}

/// Decimal bytes: `500 GB`.
fn decimal(bytes: f64) -> String {
    let units = [(1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")];
    let (scale, unit) = units.into_iter().find(|(scale, _)| bytes >= *scale).unwrap_or((1.0, "B"));
    format!("{} {unit}", figures::number(bytes / scale))
}

/// What is asked of a life: name, earliest, estimate, latest.
pub fn life_rows(report: &LifeReport) -> Vec<Vec<String>> {
    let warranty = report.terms.warranty_days;
    let over = if (warranty % 365.0).abs() < 1e-9 {
        format!("{:.0} years", warranty / 365.0)
    } else {
        format!("{warranty} days")
    };
    let mut rows = vec![
        cells("TB written (TBW)".to_owned(), report.tbw()),
        cells(format!("drive writes a day over {over} (DWPD)"), report.dwpd()),
    ];
    if let (Some(years), Some((bytes, basis))) = (report.years(), report.per_day()) {
        let rate = decimal(bytes);
        let name = match basis {
            Basis::Given => format!("years at {rate} a day"),
            Basis::OwnTime => format!("years at the workload's own {rate} a day"),
            Basis::FullSpeed => format!("years at full speed without a pause, {rate} a day"),
        };
        rows.push(cells(name, years));
    }
    if let Some(price) = report.price_per_tb_written() {
        rows.push(cells("price of a TB written (currency as given)".to_owned(), price));
    }
    rows
}

/// Causes whose share would not be printed as 0.0 %.
pub fn shown_causes(report: &LifeReport) -> impl Iterator<Item = &Share> {
    report.life.causes.iter().filter(|cause| cause.share >= 0.0005)
}

/// What spends a life: cause, share, terabytes and years more without it.
pub fn life_causes(report: &LifeReport) -> Vec<Vec<String>> {
    let years_of_tb = report.per_day().map(|(bytes, _)| 1e12 / (bytes * 365.0));
    let row = |cause: &str, part: String, tb: Option<f64>| {
        let years = tb.zip(years_of_tb).map(|(tb, years)| tb * years);
        let or_none = |value: Option<f64>| value.map_or_else(|| NONE.to_owned(), digits);
        vec![cause.to_owned(), part, or_none(tb), or_none(years)]
    };
    let causes = shown_causes(report).map(|one| row(one.cause, share(one.share), report.gained_tb(one)));
    causes.chain([row("uneven wear", NONE.to_owned(), Some(report.uneven_tb()))]).collect()
}

/// What the life is computed from: names and sentences.
pub fn life_facts(report: &LifeReport) -> Vec<(&'static str, String)> {
    let (life, window) = (&report.life, &report.window);
    let mut facts = vec![
        (
            "drive",
            format!(
                "{} of flash for {}; blocks survive {} erases",
                size(report.flash_bytes()),
                size(report.capacity_bytes()),
                count(u64::from(report.endurance))
            ),
        ),
        (
            "measured",
            format!(
                "{:.1} erases of the average of {} blocks (standard deviation {}; {} of the variance lasts); WAF \
                 {} ({} by pages), rate ± {}; {} blocks to spare",
                window.mean(),
                count(window.erases.len() as u64),
                share(life.spread),
                share(life.lasting),
                told_waf(&report.result, report.result.waf()),
                ratio(report.result.waf_pages()),
                share(life.pace.error),
                count(life.spare_blocks as u64),
            ),
        ),
    ];
    if let Some(Cost { price, per_gb }) = report.cost() {
        facts.push(("price", format!("{} for the drive, {} for each GB the host sees", digits(price), digits(per_gb))));
    }
    facts
}

/// A life as a page of text.
pub fn life(report: &LifeReport) -> String {
    let result = &report.result;
    let arrivals =
        result.queue_depth.map_or_else(|| "open loop".to_owned(), |depth| format!("closed loop, queue depth {depth}"));
    let mut text =
        format!("life of {} under {}  ({arrivals})  {}\n\n", result.stack, result.workload, result.status.name());
    let mut grid = Grid::new(1);
    grid.row(["until worn out", "earliest", "estimate", "latest"]);
    for mut row in life_rows(report) {
        row[0].insert_str(0, "  ");
        grid.row(row);
    }
    text.push_str(&grid.render(""));
    let mut grid = Grid::new(1);
    grid.row(["spent by", "share", "TB more without", "years more"]);
    for mut row in life_causes(report) {
        row[0].insert_str(0, "  ");
        grid.row(row);
    }
    text.push('\n');
    text.push_str(&grid.render(""));
    text.push('\n');
    let notes = report.notes().into_iter().map(|note| ("note", note));
    for (name, fact) in life_facts(report).into_iter().chain(notes) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:10}{}", wrapped(&fact));
    }
    let _ = writeln!(text, "\nhash {:016x}  seed {}", result.hash, result.seed);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_four_digits() {
        for (value, text) in
            [(0.0, "0"), (0.001_234_56, "0.001235"), (1.0, "1.000"), (12.345, "12.35"), (123_456.7, "123457")]
        {
            assert_eq!(digits(value), text);
        }
        assert_eq!(decimal(500e9), "500 GB");
        assert_eq!(decimal(1.25e12), "1.25 TB");
    }
}
