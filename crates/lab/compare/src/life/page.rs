//! The page of a life: the figures, the causes that spend it, and the wear of the blocks.

use super::LifeOverSeeds;
use super::words::{assumptions, causes, facts, rows, short, shown_causes, to_change};
use figures::numbers::between;
use figures::{Curve, Figure, Interval, Page, Panel, Series, Shape, each, escape, number, section};
use metrics::{LifeReport, Range, YEAR_DAYS};

/// Bars of a histogram.
const BINS: usize = 12;
/// Points of the curve of worn blocks.
const POINTS: usize = 121;

/// The page of a life: the text of `life.html`.
pub fn render(report: &LifeReport, over_seeds: Option<&LifeOverSeeds>) -> String {
    let result = &report.result;
    let amounts =
        each(rows(report), |row| format!("<tr>{}</tr>", each(row, |cell| format!("<td>{}</td>", escape(&cell)))));
    let about =
        each(facts(report, over_seeds), |(name, text)| format!("<dt>{}</dt><dd>{}</dd>", escape(name), escape(&text)));
    let notes = each(report.notes(), |note| format!("<p class=\"lead\">{}</p>", escape(&note)));
    let (asked, sheet) = asked(report);
    let top = format!(
        "<p class=\"answer\">{}</p>{}<p class=\"lead\">No block is worn out before the earliest end. Perfectly even \
         wear would last until the latest. Assumed: {}.</p><p class=\"advice\">{}</p><div class=\"table\"><table \
         class=\"numbers\"><thead><tr><th></th><th>Earliest</th><th>Estimate</th><th>Latest</th></tr></thead>\
         <tbody>{amounts}</tbody></table></div><details><summary>Measured</summary><dl \
         class=\"facts\">{about}</dl></details>",
        escape(&answer(report)),
        asked.bar(sheet.map(|sheet| ("data sheet", sheet))),
        escape(&assumptions(report)),
        escape(&to_change(report)),
    );
    let costs =
        each(causes(report), |row| format!("<tr>{}</tr>", each(row, |cell| format!("<td>{}</td>", escape(&cell)))));
    let table = format!(
        "<section id=\"gains\"><h2>What each cause costs</h2><p class=\"lead\">What could be written more if a cause \
         did not exist and nothing else changed.</p>\
         <div class=\"table\"><table class=\"numbers\"><thead><tr><th>Cause</th><th>Share of life</th><th>TB \
         more</th><th>Years more</th></tr></thead><tbody>{costs}</tbody></table></div></section>"
    );
    let sections = deaths(report).section() + &section(&spending(report)) + &table + &section(&wear(report));
    let closing = format!(
        "<section id=\"notes\"><h2>Notes</h2>{notes}<p class=\"lead\">Hash {:016x}, seed {}.</p></section>",
        result.hash, result.seed
    );
    let title = format!("Life of {} under {}", result.stack, result.workload);
    Page { brand: "life", title: &title, top, sections: sections + &closing }.render()
}

/// A range in a unit.
fn interval(range: Range, unit: &str) -> Interval {
    let Range { earliest, estimate, latest } = range;
    Interval {
        names: ["earliest", "estimate", "latest"].map(str::to_owned),
        values: [earliest, estimate, latest],
        unit: unit.to_owned(),
    }
}

/// Terabytes in the largest unit in which they are not all decimals, and how many of this unit a terabyte has.
fn written(tbw: Range) -> (Interval, f64) {
    let largest = [(1.0, " TB"), (1e3, " GB"), (1e6, " MB")];
    let (scale, unit) = largest.into_iter().find(|(scale, _)| tbw.latest * scale >= 1.0).unwrap_or(largest[2]);
    (interval(tbw.times(scale), unit), scale)
}

/// The time until the drive is worn out, or the bytes where no time is known, and the data sheet in the same unit.
fn asked(report: &LifeReport) -> (Interval, Option<f64>) {
    let Some(years) = report.years() else {
        let (interval, scale) = written(report.tbw());
        return (interval, report.terms.data_sheet.map(|sheet| sheet.tb() * scale));
    };
    // A drive that lives for weeks does not live for 0.07 years.
    let (scale, unit) = match years.estimate {
        estimate if estimate < 0.25 => (YEAR_DAYS, " days"),
        estimate if estimate < 3.0 => (12.0, " months"),
        _ => (1.0, " years"),
    };
    (interval(years.times(scale), unit), report.data_sheet_years().map(|years| years * scale))
}

/// The answer in words.
fn answer(report: &LifeReport) -> String {
    let told = |interval: &Interval| {
        let [earliest, estimate, latest] = between(interval.values);
        (format!("{estimate}{}", interval.unit), format!("{earliest} to {latest}{}", interval.unit))
    };
    let (interval, scale) = written(report.tbw());
    let (bytes, ends) = told(&interval);
    let promised = report.terms.data_sheet.map(|sheet| short(sheet.tb() * scale) + &interval.unit);
    let sheet = promised.map_or_else(String::new, |bytes| format!("; the data sheet promises {bytes}"));
    let rate = rows(report).into_iter().find_map(|row| row[0].strip_prefix("years ").map(str::to_owned));
    let Some(rate) = rate else {
        return format!("The host can write about {bytes} until the drive is worn out ({ends}{sheet}).");
    };
    let (time, between) = told(&asked(report).0);
    format!("The drive lives about {time} {rate} ({between}). Until then the host writes about {bytes}{sheet}.")
}

fn figure(
    name: &'static str,
    title: &'static str,
    axis: &'static str,
    shape: Shape,
    panels: Vec<Panel>,
    caption: &str,
) -> Figure {
    Figure { name, title, axis, shape, most: None, panels, published: Vec::new(), caption: caption.to_owned() }
}

fn panel(title: &str, series: &str, points: impl Iterator<Item = (String, f64)>) -> Panel {
    let (categories, values) = points.map(|(category, value)| (category, Some(value))).unzip();
    Panel {
        title: title.to_owned(),
        categories,
        series: vec![Series { name: series.to_owned(), values }],
        published: Vec::new(),
    }
}

fn spending(report: &LifeReport) -> Figure {
    let shares = shown_causes(report).map(|share| (share.cause.to_owned(), share.share * 100.0));
    let caption = "Pages programmed by cause, of all pages that were erased; unfilled pages were erased without having \
        been programmed.";
    figure("causes", "What spends the life", "per cent", Shape::Bars, vec![panel("", "share of life", shares)], caption)
}

/// The least distance between two values: bars of another width hold now one and now two of them.
fn step(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 1e-6).fold(f64::MAX, f64::min).min(1e9)
}

/// Blocks by their erases.
fn histogram(erases: &[f64]) -> Vec<(String, f64)> {
    let (low, high) = erases.iter().fold((f64::MAX, 0.0_f64), |(low, high), value| (low.min(*value), high.max(*value)));
    let step = step(erases);
    let width = ((high - low + step) / BINS as f64 / step).ceil().max(1.0) * step;
    let mut bins = vec![0.0; BINS];
    for value in erases {
        bins[(((value - low + step / 2.0) / width) as usize).min(BINS - 1)] += 1.0;
    }
    let used = bins.iter().rposition(|count| *count > 0.0).map_or(1, |last| last + 1);
    bins.truncate(used);
    bins.into_iter()
        .enumerate()
        .map(|(bin, count)| (format!("{:.0}", low.floor() + bin as f64 * width), count * 100.0 / erases.len() as f64))
        .collect()
}

fn wear(report: &LifeReport) -> Figure {
    let now: Vec<f64> = report.window.worn().map(f64::from).collect();
    let end: Vec<f64> = report.life.wear_at_end().collect();
    let panels = vec![
        panel("In the measured run", "blocks", histogram(&now).into_iter()),
        panel("At the end of the estimate", "blocks", histogram(&end).into_iter()),
    ];
    let caption = format!(
        "Each bar begins with the erases below it. {} % of the variance between blocks lasts (both halves of the run \
         agree in it); chance, which the \
         second picture leaves out, adds the rest. Blocks survive {} erases.",
        number(report.life.lasting * 100.0),
        report.endurance
    );
    figure("wear", "Erases of the blocks", "per cent of the blocks", Shape::Bars, panels, &caption)
}

fn deaths(report: &LifeReport) -> Curve {
    // At one endurance: blocks do not survive another number of erases each.
    let (interval, _) = written(report.tbw_at_endurance());
    let scale = interval.values[1] / report.life.bytes.estimate;
    let (from, to) = (interval.values[0] * 0.95, interval.values[2] * 1.05);
    let at = |index: usize| from + (to - from) * index as f64 / (POINTS - 1) as f64;
    let spare = report.life.spare_blocks / report.window.erases.len() as f64 * 100.0;
    Curve {
        name: "deaths",
        title: "Blocks that are worn out",
        axes: [format!("written by the host,{}", interval.unit), "per cent of the blocks".to_owned()],
        line: "worn blocks, at the rate of the run",
        points: (0..POINTS).map(|index| [at(index), report.life.worn_out(at(index) / scale) * 100.0]).collect(),
        interval,
        level: ("spare blocks", spare, " %"),
        most: 100.0,
        caption: "Where each block survives as many erases as assumed. When the spare blocks are used up the drive is \
                  worn out, a little earlier in fact: the blocks that are left are erased more often, and cleaning \
                  copies more. The interval covers the error of the rate as well, so it is wider than the steep part \
                  of the curve."
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wear far ahead is some hundred times that of the run, and bars of 417 erases over steps of 350 stood up like
    /// spikes.
    #[test]
    fn even_steps_make_even_bars() {
        let erases: Vec<f64> = (0..40).flat_map(|step| [f64::from(step) * 350.0; 3]).collect();
        let bars = histogram(&erases);
        let heights: Vec<f64> = bars.iter().map(|(_, share)| *share).collect();
        assert!(
            bars.len() > 5 && heights[..heights.len() - 1].windows(2).all(|pair| (pair[0] - pair[1]).abs() < 1e-9),
            "{bars:?}"
        );
        assert_eq!(histogram(&[2.0, 2.0]).len(), 1);
    }
}
