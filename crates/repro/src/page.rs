//! A study as one self-contained page.

use crate::figure::{Figure, Panel, Shape};
use crate::row::{Row, Verdict};
use crate::study::{Findings, Study};
use crate::svg::{self, escape, number};

const STYLE: &str = include_str!("page.css");

/// The page of a study.
pub fn render(study: &Study, findings: &Findings) -> String {
    let count = |verdict: Verdict| findings.rows.iter().filter(|row| row.verdict == verdict).count();
    let chips = each([Verdict::Pass, Verdict::Fail, Verdict::Recorded, Verdict::NotRun], |verdict| {
        format!("<a class=\"chip {name}\" href=\"#rows\">{} {name}</a>", count(verdict), name = verdict.name())
    });
    let notes = each(&findings.notes, |note| format!("<p class=\"lead\">{}</p>", escape(note)));
    let figures = each(&findings.figures, section);
    let rows = each(&findings.rows, row);
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>nandarium repro {name}</title><style>{STYLE}</style></head><body><main>\
         <p class=\"brand\">nandarium <span>repro {name}</span></p><h1>{title}</h1>\
         <p class=\"chips\">{chips}</p><p class=\"lead\">{paper}. {method}</p>{notes}{figures}\
         <section id=\"rows\"><h2>Published and measured</h2><div class=\"wide\"><table><thead><tr><th>Row</th><th>Experiment</th>\
         <th>Published</th><th>Measured</th><th>Accepted</th><th>Class</th><th>Verdict</th><th>Workload</th></tr></thead>\
         <tbody>{rows}</tbody></table></div><p class=\"lead\">Classes: E exact, N a number within a band, T a trend; \
         recorded rows are shown and not judged.</p></section></main></body></html>\n",
        name = escape(study.name),
        title = escape(study.title),
        paper = escape(study.paper),
        method = escape(study.method),
    )
}

/// The texts of some items, one after the other.
fn each<T>(items: impl IntoIterator<Item = T>, text: impl Fn(T) -> String) -> String {
    items.into_iter().map(text).collect::<Vec<_>>().concat()
}

fn row(row: &Row) -> String {
    let note = if row.note.is_empty() { String::new() } else { format!("<small>{}</small>", escape(&row.note)) };
    format!(
        "<tr><td>{}</td><td>{}: {}{note}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
         <td><span class=\"chip {verdict}\">{verdict}</span></td><td>{}</td></tr>",
        row.id,
        escape(row.experiment),
        escape(row.metric),
        escape(row.published),
        escape(&row.measured),
        escape(&row.accept),
        row.class.name(),
        escape(&row.workload),
        verdict = row.verdict.name(),
    )
}

fn section(figure: &Figure) -> String {
    let series = figure.panels.first().map_or(&[][..], |panel| panel.series.as_slice());
    let mut legend = each(series.iter().enumerate(), |(index, series)| {
        format!("<li><i class=\"s{index}\"></i>{}</li>", escape(&series.name))
    });
    let common = figure.published.len();
    legend += &each(&figure.panels, |panel| each(panel.published.iter().enumerate(), |(index, (what, value))| {
        format!("<li><i class=\"published p{}\"></i>{}: {}</li>", common + index, escape(what), number(*value))
    }));
    legend += &each(figure.published.iter().enumerate(), |(index, (what, value))| {
        format!("<li><i class=\"published p{index}\"></i>{}: {}</li>", escape(what), number(*value))
    });
    let (arrangement, width) = match figure.panels.len() {
        1 => (" single", 900.0),
        2 => (" pair", 520.0),
        _ => ("", 340.0),
    };
    let panels = each(&figure.panels, |panel| {
        let name = if panel.title.is_empty() { String::new() } else { format!("<h3>{}</h3>", escape(&panel.title)) };
        format!("<div>{name}{}</div>", svg::panel(figure, panel, width))
    });
    let shape = match figure.shape {
        Shape::Bars => "bars",
        Shape::Lines => "lines",
    };
    format!(
        "<section id=\"{name}\"><h2>{}</h2><p class=\"lead\">{}. {}</p><ul class=\"legend\">{legend}</ul>\
         <div class=\"panels {shape}{arrangement}\">{panels}</div><details><summary>Numbers</summary>{}</details></section>",
        escape(figure.title),
        escape(&capital(figure.axis)),
        escape(&figure.caption),
        each(&figure.panels, numbers),
        name = figure.name,
    )
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn numbers(panel: &Panel) -> String {
    let heads = each(&panel.categories, |category| format!("<th>{}</th>", escape(category)));
    let rows = each(&panel.series, |series| {
        let cells = each(&series.values, |value| format!("<td>{}</td>", value.map_or_else(|| "-".to_owned(), number)));
        format!("<tr><td>{}</td>{cells}</tr>", escape(&series.name))
    });
    format!(
        "<div class=\"wide\"><table class=\"numbers\"><thead><tr><th>{}</th>{heads}</tr></thead><tbody>{rows}</tbody></table></div>",
        escape(&panel.title)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Series;

    #[test]
    fn a_page_shows_every_series_and_escapes_what_it_is_given() {
        let figure = Figure {
            name: "f",
            title: "a < b",
            axis: "share",
            shape: Shape::Lines,
            most: Some(1.0),
            panels: vec![Panel {
                title: "one".to_owned(),
                categories: vec!["x".to_owned(), "y".to_owned()],
                series: vec![Series { name: "<s>".to_owned(), values: vec![Some(0.25), None] }],
                published: vec![("most", 0.75)],
            }],
            published: vec![("mean", 0.5)],
            caption: String::new(),
        };
        let findings = Findings { rows: Vec::new(), figures: vec![figure], notes: vec!["& more".to_owned()] };
        let page = render(crate::find("tpm").unwrap(), &findings);
        assert!(page.contains("a &lt; b") && page.contains("&lt;s&gt;") && page.contains("&amp; more"));
        assert!(page.contains("one x, &lt;s&gt;: 0.25") && page.contains("mean: 0.5") && page.contains("most: 0.75"));
        assert!(!page.contains("http"), "the page needs nothing from elsewhere");
    }
}
