//! A study as one self-contained page.

use crate::family::{Family, Fit};
use crate::row::{Row, Verdict};
use crate::study::{Findings, Pair, Pairs, Study};
use figures::{Figure, Group, Look, Page, Point, Scatter, each, escape, section_with};

/// Most rows of a verdict whose numbers are not folded: where they miss, and otherwise.
const CHIPS: [usize; 2] = [40, 12];
/// Most rows of a table that is not folded.
const FOLDED: usize = 80;

/// The page of a study: all verdicts first, then figures with the rows that they show, then every row.
pub fn render(study: &Study, findings: &Findings) -> String {
    let notes = each(&findings.notes, |note| format!("<p class=\"lead\">{}</p>", escape(note)));
    let figures = each(&findings.figures, |figure| {
        let beside = beside(findings, study.rows_of(figure.name));
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
    let [open, close] = if findings.rows.len() > FOLDED {
        [format!("<details><summary>All {} rows</summary>", findings.rows.len()), "</details>".to_owned()]
    } else {
        [String::new(), String::new()]
    };
    let table = format!(
        "<section id=\"rows\"><h2>Published and measured</h2>{open}<div class=\"table\"><table>\
         <thead><tr><th>Row</th><th>Experiment</th><th>Published</th><th>Measured</th><th>Accepted</th>\
         <th>Class</th><th>Verdict</th><th>Workload</th></tr></thead>\
         <tbody>{rows}</tbody></table></div>{close}\
         <p class=\"lead\">Classes: E exact, N a number within a band, T a trend; \
         recorded rows are shown and not judged.</p></section>"
    );
    Page {
        brand: &format!("repro {}", study.name),
        title: study.title,
        top,
        sections: family + &scatters(&findings.pairs) + &figures + &commands(study, findings) + &table,
    }
    .render()
}

/// One picture for each thing: measured across, modelled up, so that what agrees lies on the line.
fn scatters(all: &[Pairs]) -> String {
    let picture = |pairs: &Pairs| {
        let mut units: Vec<&str> = pairs.all.iter().map(|pair| pair.unit).collect();
        units.sort_unstable();
        units.dedup();
        let point = |pair: &Pair| Point {
            x: pair.measured,
            y: pair.modelled,
            size: 1.0,
            halves: [0.0, 0.0],
            label: pair.about.clone(),
            is_marked: !pair.is_within,
            name: if pair.is_within { String::new() } else { short(&pair.row).to_owned() },
            href: format!("#row-{}", pair.row),
        };
        let group = |unit: &str| Group {
            name: unit.to_owned(),
            points: pairs.all.iter().filter(|pair| pair.unit == unit).map(point).collect(),
        };
        let ends: Vec<f64> = pairs.all.iter().flat_map(|pair| [pair.measured, pair.modelled]).collect();
        Scatter {
            name: String::new(),
            title: pairs.name.clone(),
            axes: ["measured".to_owned(), "modelled".to_owned()],
            show: [Box::new(figures::number), Box::new(figures::number)],
            size: (String::new(), Box::new(|_| String::new())),
            height: 260.0,
            reach: [ends.clone(), ends],
            has_diagonal: true,
            kinds: ["outside what is accepted, by its row".to_owned(), "within it, or not judged".to_owned()],
            groups: units.into_iter().map(group).collect(),
            caption: String::new(),
            beside: String::new(),
        }
    };
    if all.iter().all(|pairs| pairs.all.is_empty()) {
        return String::new();
    }
    let panels = each(all.iter().filter(|pairs| !pairs.all.is_empty()), |pairs| {
        let drawn = picture(pairs);
        format!("<div><h3>{}</h3>{}{}</div>", escape(&pairs.name), drawn.legend(), drawn.picture())
    });
    format!(
        "<section id=\"agreement\"><h2>Measured and modelled</h2><p class=\"lead\">Each point is a measured \
         figure. On the line the model agrees. A point leads to its row.</p>\
         <div class=\"panels pair\">{panels}</div></section>"
    )
}

/// Each figure with its rows, the command that makes it, and the parameters that change it.
fn commands(study: &Study, findings: &Findings) -> String {
    if findings.figures.is_empty() {
        return String::new();
    }
    let settings =
        study.settings().iter().map(|setting| format!("--set {}={}", setting.name, setting.choices.join("|")));
    let traces = study.traces().map(|trace| format!("--trace {trace}=FILE"));
    let draws = study.has_family().then(|| "--family DRAWS".to_owned());
    let general = ["--scale 1/N", "--seed N"].map(str::to_owned);
    let parameters: Vec<String> = general.into_iter().chain(draws).chain(settings).chain(traces).collect();
    let parameters = each(parameters, |one| format!("<code>{}</code> ", escape(&one)));
    let rows = each(&findings.figures, |figure| {
        let link = |id: &&str| format!("<a class=\"chip\" href=\"#row-{id}\">{id}</a> ", id = escape(id));
        let shown = each(study.rows_of(figure.name).iter(), link);
        format!(
            "<tr><td><a href=\"#{name}\">{}</a></td><td><div class=\"chips\">{shown}</div></td>\
             <td><code>nandarium repro {} --figure {name} --out DIR</code>, {name}.csv</td></tr>",
            escape(figure.title),
            study.name,
            name = figure.name
        )
    });
    format!(
        "<section id=\"commands\"><h2>Figures and their commands</h2><p class=\"lead\">Parameters: {parameters}</p>\
         <div class=\"table\"><table><thead><tr><th>Figure</th><th>Rows</th><th>Command, and its file</th></tr></thead>\
         <tbody>{rows}</tbody></table></div></section>"
    )
}

/// The number of a row without the name of its drive.
fn short(row: &str) -> &str {
    row.split_once('.').map_or(row, |(_, rest)| rest)
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
            Fit::Near | Fit::Undecided => "warn",
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
    let all: Vec<&Row> = findings.rows.iter().collect();
    let (new, others): (Vec<&Row>, Vec<&Row>) = all.into_iter().partition(|row| row.is_new_miss());
    let (missed, others): (Vec<&Row>, Vec<&Row>) = others.into_iter().partition(|row| row.verdict == Verdict::Fail);
    let (known, excused): (Vec<&Row>, Vec<&Row>) = missed.into_iter().partition(|row| row.known.is_some());
    let of = |verdict: Verdict| others.iter().copied().filter(|row| row.verdict == verdict).collect::<Vec<&Row>>();
    let rest = [Verdict::NotRun, Verdict::Pass, Verdict::Within, Verdict::Outside, Verdict::Forced, Verdict::Recorded];
    let rest = rest.map(|one| (one.name(), of(one)));
    let failed = [("fail", new), ("known to miss", known), ("fail by one trace alone", excused)];
    let named = failed.into_iter().chain(rest);
    let lines = each(named, |(name, rows)| chips(name, &rows));
    format!(
        "<section id=\"verdicts\"><h2>Verdicts</h2><p class=\"lead\"><strong>{}.</strong></p>{}</section>",
        escape(&findings.counts()),
        lines
    )
}

/// Rows of one verdict, folded where they are many.
fn chips(name: &str, rows: &[&Row]) -> String {
    let line = each(rows.iter().copied(), |row| format!("{} ", link(row)));
    let most = CHIPS[usize::from(rows.iter().all(|row| row.verdict != Verdict::Fail))];
    match rows.len() {
        0 => String::new(),
        shown if shown <= most => format!("<p class=\"chips\">{name}: {line}</p>"),
        many => format!("<details><summary>{name}: {many} rows</summary><p class=\"chips\">{line}</p></details>"),
    }
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
    let known = row.known.iter().filter(|_| row.misses()).map(|why| format!("Known to miss: {why}"));
    let notes = known.chain(Some(row.note.clone()).filter(|note| !note.is_empty()));
    let note = each(notes, |note| format!("<small>{}</small>", escape(&note)));
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

    fn row(id: &str) -> Row {
        let [id, paper, experiment, metric, unit, published] = [id, "p", "e", "m", " %", "90 %"].map(str::to_owned);
        let (class, accept) = (Class::Numeric, Accept::AtLeast(85.0));
        let target = Target { id, paper, experiment, metric, unit, published, class, accept, family: None };
        target.row(Measured::Number(12.5), "generated", "")
    }

    #[test]
    fn known_misses_are_told_from_new_ones_and_rows_that_did_not_run_come_first() {
        let known = Row { known: Some("Its trace is private.".to_owned()), ..row("3.1a") };
        let other = Row { verdict: Verdict::NotRun, ..row("3.1b") };
        let findings = Findings::new(vec![known, other], Vec::new(), Vec::new(), 0);
        let summary = findings.summary();
        assert_eq!(summary, "1 of 2 rows not run. 0 of 1 judged rows pass, 1 known to miss: 3.1a");
        let page = render(crate::find("tpm").unwrap(), &findings);
        assert!(page.contains(">known to miss: <a") && page.contains("Known to miss: Its trace is private."), "{page}");
        assert!(!page.contains(">fail: <a"), "a known miss is no new one");
    }

    /// The page of drives was a column of numbers 27,000 pixels long.
    #[test]
    fn drives_have_a_picture_each() {
        let pair = |row: &str, modelled: f64, is_within: bool| Pair {
            row: row.to_owned(),
            about: "about".to_owned(),
            unit: "latency, us",
            measured: 100.0,
            modelled,
            is_within,
        };
        let all = vec![pair("d.1.mean", 105.0, true), pair("d.2.p99", 400.0, false)];
        let html = scatters(&[
            Pairs { name: "Drive <1>".to_owned(), all },
            Pairs { name: "none".to_owned(), all: Vec::new() },
        ]);
        assert!(html.contains("Drive &lt;1&gt;") && !html.contains(">none<"), "{html}");
        assert!(html.contains("href=\"#row-d.1.mean\"") && html.contains(">2.p99</text>"), "{html}");
        assert!(!html.contains(">1.mean</text>") && scatters(&[]).is_empty(), "{html}");
    }

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
            (at("0 of 1 judged rows pass, 1 miss."), at("class=\"cards beside\""), at(" id=\"row-3.1a\""));
        assert!(
            first < at("id=\"hit-ratio\"") && at("id=\"hit-ratio\"") < own && own < at("one x, &lt;s&gt;") && own < all
        );
        // What a figure is made by was nowhere on its page.
        let own = &page[at("id=\"commands\"")..];
        let command = "nandarium repro tpm --figure hit-ratio --out DIR</code>, hit-ratio.csv";
        assert!(own.contains("--scale 1/N") && own.contains(command), "{own}");
        assert!(page.contains("most 0.75</text>") && page.contains(">\u{2191} share</text>"), "{page}");
        assert_eq!(page.matches("Nothing that this figure counts happened").count(), 1);
    }
}
