//! A life in words, for tables and pages.

use super::LifeOverSeeds;
use figures::numbers::{NONE, between, count, ratio, share, size};
use metrics::{Basis, Cost, Currency, LifeReport, LifeTerms, Range, Share};

/// A cause that spends less of a life is not worth a change.
const LITTLE: f64 = 0.05;

/// Four significant digits of a number of any size.
pub fn digits(value: f64) -> String {
    let digits = if value <= 0.0 { 0 } else { (3 - value.log10().floor() as i64).clamp(0, 9) as usize };
    format!("{value:.digits$}")
}

fn cells(name: String, range: Range) -> Vec<String> {
    let Range { earliest, estimate, latest } = range;
    std::iter::once(name).chain(between([earliest, estimate, latest])).collect()
}

/// A number, if it is below 10,000, with three digits, else with commas: `47.4`, `1,752`.
pub fn short(value: f64) -> String {
    if value >= 1000.0 { count(value.round() as u64) } else { figures::number(value) }
}

/// An amount in the currency that prices are in.
pub fn money(terms: &LifeTerms, amount: f64) -> String {
    Currency::shown(terms.currency.as_ref(), &short(amount))
}

/// What prices are in, behind the name of an amount.
fn currency(report: &LifeReport) -> String {
    let name = report.terms.currency.as_ref().map(|currency| format!(", {}", currency.name));
    name.unwrap_or_else(|| " (currency as given)".to_owned())
}

/// Decimal bytes: `500 GB`.
pub fn decimal(bytes: f64) -> String {
    let units = [(1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")];
    let (scale, unit) = units.into_iter().find(|(scale, _)| bytes >= *scale).unwrap_or((1.0, "B"));
    format!("{} {unit}", figures::number(bytes / scale))
}

/// The amounts of a life: name, earliest, estimate, latest.
pub fn rows(report: &LifeReport) -> Vec<Vec<String>> {
    let warranty = report.terms.warranty_days;
    let over = if (warranty % 365.0).abs() < 1e-9 {
        format!("{:.0} years", warranty / 365.0)
    } else {
        format!("{warranty} days")
    };
    let sheet = report.terms.data_sheet.map(|sheet| format!("; data sheet: {} TB", short(sheet.tb())));
    let mut rows = vec![
        cells(format!("TB written (TBW){}", sheet.unwrap_or_default()), report.tbw()),
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
        rows.push(cells(format!("price of a TB written{}", currency(report)), price));
    }
    if let Some(price) = report.price_per_year() {
        rows.push(cells(format!("cost a year, if it lives so long{}", currency(report)), price));
    }
    rows
}

/// Causes whose share would not be printed as 0.0 %.
pub fn shown_causes(report: &LifeReport) -> impl Iterator<Item = &Share> {
    report.life.causes.iter().filter(|cause| cause.share >= 0.0005)
}

/// The causes that spend a life: cause, share, terabytes and years more without it.
pub fn causes(report: &LifeReport) -> Vec<Vec<String>> {
    let years_of_tb = report.per_day().map(|(bytes, _)| 1e12 / (bytes * 365.0));
    let row = |cause: &str, part: String, tb: Option<f64>| {
        let years = tb.zip(years_of_tb).map(|(tb, years)| tb * years);
        let or_none = |value: Option<f64>| value.map_or_else(|| NONE.to_owned(), digits);
        vec![cause.to_owned(), part, or_none(tb), or_none(years)]
    };
    let shown = shown_causes(report).map(|one| row(one.cause, share(one.share), report.gained_tb(one)));
    shown.chain([row("uneven wear", NONE.to_owned(), Some(report.uneven_tb()))]).collect()
}

/// The assumptions of a life, as they follow "assumed:".
pub fn assumptions(report: &LifeReport) -> String {
    let erases = count(u64::from(report.endurance));
    let factor = report.endurance_factor();
    let known = if factor > 1.0 { format!(" (known within a factor of {factor})") } else { String::new() };
    let day = match report.per_day() {
        Some((bytes, Basis::Given)) => format!(", the host writes {} a day", decimal(bytes)),
        Some((bytes, Basis::OwnTime)) => format!(", the host writes the workload's own {} a day", decimal(bytes)),
        Some((bytes, Basis::FullSpeed)) => format!(", the host writes without a pause, {} a day", decimal(bytes)),
        None => String::new(),
    };
    let waf = ratio(report.result.waf());
    format!("blocks survive {erases} erases{known}{day}, and write amplification stays {waf}")
}

/// The cause that spends most of the life, and the keys to try.
pub fn to_change(report: &LifeReport) -> String {
    let others = report.life.causes.iter().filter(|one| one.gained.is_some());
    let Some(most) = others.max_by(|a, b| a.share.total_cmp(&b.share)).filter(|one| one.share >= LITTLE) else {
        return "The writes of the host themselves spend nearly all of the life: write less, or take a drive with more \
                flash or a higher endurance."
            .to_owned();
    };
    let spent =
        format!("Most of the life beside the host's own writes is spent by {} ({}).", most.cause, share(most.share));
    match crate::advice::against_wear(&report.result, most.cause) {
        Some(proposals) => format!("{spent} To live longer, try {proposals}."),
        None => spent,
    }
}

/// The facts that a life is computed from, and the findings of repetitions: names and sentences.
pub fn facts(report: &LifeReport, over_seeds: Option<&LifeOverSeeds>) -> Vec<(&'static str, String)> {
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
                ratio(report.result.waf()),
                ratio(report.result.waf_pages()),
                share(life.pace.error),
                count(life.spare_blocks as u64),
            ),
        ),
    ];
    let Range { earliest, estimate, latest } = report.tbw_at_endurance();
    let [earliest, _, latest] = between([earliest, estimate, latest]);
    let so_many = count(u64::from(report.endurance));
    facts.push(("of that", format!("{earliest} to {latest} TB, if blocks survive exactly {so_many} erases")));
    facts.extend(over_seeds.map(|over_seeds| ("repeated", over_seeds.sentence())));
    if let (Some(sheet), Some(years)) = (report.terms.data_sheet, report.data_sheet_years()) {
        let origin = if sheet.is_given { "--tbw" } else { "drive.data_sheet_writes" };
        facts.push((
            "sheet",
            format!(
                "the data sheet promises {} TB ({origin}), which are {} years here; a promise is not an estimate, and \
                 drives may live longer",
                short(sheet.tb()),
                short(years)
            ),
        ));
    }
    if let Some(Cost { price, per_gb }) = report.cost() {
        let [price, per_gb] =
            [price, per_gb].map(|amount| Currency::shown(report.terms.currency.as_ref(), &digits(amount)));
        facts.push(("price", format!("{price} for the drive, {per_gb} for each GB the host sees")));
    }
    facts
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
