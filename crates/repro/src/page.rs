//! A study as one self-contained page.

use crate::row::{Row, Verdict};
use crate::study::{Findings, Study};
use figures::{Page, each, escape, section};

/// The page of a study.
pub fn render(study: &Study, findings: &Findings) -> String {
    let count = |verdict: Verdict| findings.rows.iter().filter(|row| row.verdict == verdict).count();
    let chips = each([Verdict::Pass, Verdict::Fail, Verdict::Recorded, Verdict::NotRun], |verdict| {
        format!("<a class=\"chip {name}\" href=\"#rows\">{} {name}</a>", count(verdict), name = verdict.name())
    });
    let notes = each(&findings.notes, |note| format!("<p class=\"lead\">{}</p>", escape(note)));
    let figures = each(&findings.figures, section);
    let rows = each(&findings.rows, row);
    let top = format!("<p class=\"chips\">{chips}</p><p class=\"lead\">{}. {}</p>{notes}", escape(study.paper), escape(study.method));
    let table = format!(
        "<section id=\"rows\"><h2>Published and measured</h2><div class=\"wide\"><table><thead><tr><th>Row</th><th>Experiment</th>\
         <th>Published</th><th>Measured</th><th>Accepted</th><th>Class</th><th>Verdict</th><th>Workload</th></tr></thead>\
         <tbody>{rows}</tbody></table></div><p class=\"lead\">Classes: E exact, N a number within a band, T a trend; \
         recorded rows are shown and not judged.</p></section>"
    );
    Page { brand: &format!("repro {}", study.name), title: study.title, top, sections: figures + &table }.render()
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

#[cfg(test)]
mod tests {
    use super::*;
    use figures::{Figure, Panel, Series, Shape};

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
