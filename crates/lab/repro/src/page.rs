//! A study as one self-contained page.

use crate::family::{Family, Fit};
use crate::row::{Row, Verdict};
use crate::study::{Findings, Study};
use figures::{Figure, Look, Page, each, escape, section_with};

/// The page of a study: all verdicts first, then figures with those of the rows they show, then every row.
pub fn render(study: &Study, findings: &Findings) -> String {
    let notes = each(&findings.notes, |note| format!("<p class=\"lead\">{}</p>", escape(note)));
    let figures = each(&findings.figures, |figure| {
        let shown = study.shown.iter().find(|(name, _)| *name == figure.name).map_or(&[][..], |(_, rows)| rows);
        let beside = beside(findings, shown);
        let is_empty = figure
            .panels
            .iter()
            .flat_map(|panel| &panel.series)
            .all(|series| series.values.iter().all(Option::is_none));
        if is_empty { nothing(figure, &beside) } else { section_with(figure, &Look::default(), &beside) }
    });
    let rows = each(&findings.rows, row);
    let family = family(findings);
    let top =
        format!("{}{notes}<p class=\"lead\">{}. {}</p>", verdicts(findings), escape(study.paper), escape(study.method));
    let table = format!(
        "<section id=\"rows\"><h2>Published and measured</h2><div class=\"table\"><table>\
         <thead><tr><th>Row</th><th>Experiment</th><th>Published</th><th>Measured</th><th>Accepted</th>\
         <th>Class</th><th>Verdict</th><th>Workload</th></tr></thead>\
         <tbody>{rows}</tbody></table></div><p class=\"lead\">Classes: E exact, N a number within a band, T a trend; \
         recorded rows are shown and not judged.</p></section>"
    );
    Page { brand: &format!("repro {}", study.name), title: study.title, top, sections: family + &figures + &table }
        .render()
}

/// Rows that a family judges; nothing without one.
fn family(findings: &Findings) -> String {
    let judged = findings.rows.iter().filter_map(|row| Some((row, row.family.as_ref()?)));
    let draws = judged.clone().map(|(_, family)| family.draws).max();
    let rows = each(judged, |(row, family)| {
        let Family { least, median, most, fit, why, .. } = family;
        let note = if why.is_empty() { String::new() } else { format!("<small>{}</small>", escape(why)) };
        let colour = match fit {
            Fit::Inside => "pass",
            Fit::Undecided => "warn",
            Fit::Outside | Fit::Refuted => "fail",
        };
        format!(
            "<tr><td>{}</td><td>{}: {}{note}</td><td>{}</td><td>{least:.2}</td><td>{median:.2}</td>\
             <td>{most:.2}</td><td><span class=\"chip {colour}\">{}</span></td><td>{}</td></tr>",
            link(row),
            escape(&row.experiment),
            escape(&row.metric),
            escape(&family.judged()),
            fit.name(),
            chip(row.verdict),
        )
    });
    draws.map_or_else(String::new, |draws| {
        format!(
            "<section id=\"family\"><h2>A family of {draws} draws</h2><div class=\"table\"><table><thead><tr>\
             <th>Row</th><th>Experiment</th><th>Published</th><th>Least</th><th>Median</th><th>Most</th>\
             <th>Family</th><th>One trace</th></tr></thead><tbody>{rows}</tbody></table></div></section>"
        )
    })
}

/// A figure without a value, which would be an empty frame.
fn nothing(figure: &Figure, beside: &str) -> String {
    let (name, title) = (figure.name, escape(figure.title));
    format!(
        "<section id=\"{name}\"><h2>{title}</h2>{beside}<p class=\"lead\">Nothing that this figure counts happened at \
         this size: use a larger --scale.</p></section>"
    )
}

/// The verdicts in a sentence, and the rows that have each.
fn verdicts(findings: &Findings) -> String {
    let line = |verdict: Verdict| {
        let chips: Vec<String> = findings.rows.iter().filter(|row| row.verdict == verdict).map(link).collect();
        if chips.is_empty() {
            String::new()
        } else {
            format!("<p class=\"chips\">{}: {}</p>", verdict.name(), chips.join(" "))
        }
    };
    format!(
        "<section id=\"verdicts\"><h2>Verdicts</h2><p class=\"lead\"><strong>{}.</strong></p>{}</section>",
        escape(&findings.summary()),
        each([Verdict::Fail, Verdict::Pass, Verdict::NotRun, Verdict::Forced, Verdict::Recorded], line)
    )
}

/// The number of a row in the colour of its verdict; it leads to the row.
fn link(row: &Row) -> String {
    let about = escape(&format!("{}: {}", row.experiment, row.metric));
    format!("<a class=\"chip {}\" href=\"#row-{id}\" title=\"{about}\">{id}</a>", row.verdict.name(), id = row.id)
}

/// The rows that a figure shows, with their verdicts.
fn beside(findings: &Findings, shown: &[&str]) -> String {
    let rows: Vec<&Row> = shown.iter().filter_map(|id| findings.rows.iter().find(|row| row.id == *id)).collect();
    if rows.is_empty() {
        return String::new();
    }
    let each_row = each(rows, |row| {
        format!(
            "<tr><td>{}</td><td>{}: {}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            link(row),
            escape(&row.experiment),
            escape(&row.metric),
            escape(&row.published),
            or_dash(&row.measured),
            escape(&row.accept),
            chip(row.verdict)
        )
    });
    format!(
        "<div class=\"table\"><table class=\"beside\">\
         <thead><tr><th>Row</th><th>Experiment</th><th>Published</th><th>Measured</th><th>Accepted</th>\
         <th>Verdict</th></tr></thead><tbody>{each_row}</tbody></table></div>"
    )
}

fn chip(verdict: Verdict) -> String {
    format!("<span class=\"chip {verdict}\">{verdict}</span>", verdict = verdict.name())
}

/// What was measured; a dash, if nothing was.
fn or_dash(measured: &str) -> String {
    if measured.is_empty() { "-".to_owned() } else { escape(measured) }
}

fn row(row: &Row) -> String {
    let note = if row.note.is_empty() { String::new() } else { format!("<small>{}</small>", escape(&row.note)) };
    format!(
        "<tr id=\"row-{id}\"><td>{id}</td><td>{}: \
         {}{note}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
        escape(&row.experiment),
        escape(&row.metric),
        escape(&row.published),
        or_dash(&row.measured),
        escape(&row.accept),
        row.class.name(),
        chip(row.verdict),
        escape(&row.workload),
        id = row.id,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Class;
    use crate::target::{Accept, Measured, Target};
    use figures::{Panel, Series, Shape};

    #[test]
    fn a_page_shows_every_series_and_escapes_what_it_is_given() {
        let figure = Figure {
            name: "hit-ratio",
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
        let (class, accept) = (Class::Numeric, Accept::AtLeast(85.0));
        let target = Target {
            id: "3.1a".to_owned(),
            paper: "p".to_owned(),
            experiment: "e".to_owned(),
            metric: "m".to_owned(),
            unit: " %".to_owned(),
            published: "90 %".to_owned(),
            class,
            accept,
            family: None,
        };
        let row = target.row(Measured::Number(12.5), "generated", "");
        let empty = Figure { name: "erases", panels: vec![Panel::default()], ..figure.clone() };
        let findings = Findings::new(vec![row], vec![figure, empty], vec!["& more".to_owned()], 0);
        let page = render(crate::find("tpm").unwrap(), &findings);
        assert!(page.contains("a &lt; b") && page.contains("&lt;s&gt;") && page.contains("&amp; more"));
        assert!(page.contains("one x, &lt;s&gt;: 0.25") && page.contains("mean: 0.5") && page.contains("most: 0.75"));
        assert!(!page.replace("http-equiv", "").contains("http"), "the page needs nothing from elsewhere");
        let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}: {page}"));
        // Verdicts were below all figures.
        let (first, own, all) =
            (at("0 of 1 judged rows pass, 1 miss: 3.1a"), at("class=\"cards beside\""), at(" id=\"row-3.1a\""));
        assert!(
            first < at("id=\"hit-ratio\"") && at("id=\"hit-ratio\"") < own && own < at("one x, &lt;s&gt;") && own < all
        );
        assert_eq!(page.matches("Nothing that this figure counts happened").count(), 1);
    }
}
