//! Pages: a head, HTML above everything, sections.

use crate::figure::{Figure, Look, Panel, Shape};
use crate::svg::{self, escape, number};
use crate::tables::labelled;

/// The sheets of style: colours, what all pages look like, and what pages of figures have besides. Reports have the
/// first two as well.
const STYLE: &str =
    concat!(include_str!("style/palette.css"), include_str!("style/page.css"), include_str!("style/pictures.css"));
/// What a page may load: its own styles, and pictures that are in it. It has no script.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// A page to be written. All texts are escaped, except the ones that are said to be HTML.
#[derive(Clone, Debug)]
pub struct Page<'a> {
    /// The command that the page belongs to, such as `repro tpm`.
    pub brand: &'a str,
    pub title: &'a str,
    /// HTML below the heading.
    pub top: String,
    /// HTML of the sections.
    pub sections: String,
}

impl Page<'_> {
    /// The page as HTML.
    pub fn render(&self) -> String {
        let body = labelled(&format!("{}{}", self.top, self.sections));
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <title>nandarium {brand}</title><style>{STYLE}</style></head><body><main>\
             <p class=\"brand\"><i class=\"logo\" aria-hidden=\"true\"></i>nandarium <span>{brand}</span></p>\
             <h1>{title}</h1>{body}</main></body></html>\n",
            brand = escape(self.brand),
            title = escape(self.title),
        )
    }
}

/// The texts of some items, one after the other.
pub fn each<T>(items: impl IntoIterator<Item = T>, text: impl Fn(T) -> String) -> String {
    items.into_iter().map(text).collect::<Vec<_>>().concat()
}

/// A figure as a section of a page.
pub fn section(figure: &Figure) -> String {
    section_with(figure, &Look::default(), "")
}

/// As [`section`], with intervals and values in words, and HTML between what is said about the figure and its pictures.
pub fn section_with(figure: &Figure, look: &Look, more: &str) -> String {
    let series = figure.panels.first().map_or(&[][..], |panel| panel.series.as_slice());
    let mut legend = each(series.iter().enumerate(), |(index, series)| {
        format!("<li><i class=\"s{index}\"></i>{}</li>", escape(&series.name))
    });
    let common = figure.published.len();
    legend += &each(&figure.panels, |panel| {
        each(panel.published.iter().enumerate(), |(index, (what, value))| {
            format!("<li><i class=\"published p{}\"></i>{}: {}</li>", common + index, escape(what), number(*value))
        })
    });
    legend += &each(figure.published.iter().enumerate(), |(index, (what, value))| {
        format!("<li><i class=\"published p{index}\"></i>{}: {}</li>", escape(what), number(*value))
    });
    let arrangement = match figure.panels.len() {
        1 => " single",
        2 => " pair",
        _ => "",
    };
    let panels = each(figure.panels.iter().enumerate(), |(index, panel)| {
        let name = if panel.title.is_empty() { String::new() } else { format!("<h3>{}</h3>", escape(&panel.title)) };
        format!("<div>{name}{}</div>", svg::panel(figure, index, look))
    });
    let shape = match figure.shape {
        Shape::Bars => "bars",
        Shape::Lines => "lines",
    };
    format!(
        "<section id=\"{name}\"><h2>{}</h2><p class=\"lead\">{}. {}</p>{more}\
         <ul class=\"legend\">{legend}</ul><div class=\"panels {shape}{arrangement}\">{panels}</div>\
         <details><summary>Numbers</summary>{}</details></section>",
        escape(figure.title),
        escape(&capital(figure.axis)),
        escape(&figure.caption),
        each(figure.panels.iter().enumerate(), |(index, panel)| numbers(panel, index, look)),
        name = figure.name,
    )
}

/// A text whose first letter is a capital.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn numbers(panel: &Panel, index: usize, look: &Look) -> String {
    let heads = each(&panel.categories, |category| format!("<th>{}</th>", escape(category)));
    let rows = each(panel.series.iter().enumerate(), |(line, series)| {
        let cells = each(series.values.iter().enumerate(), |(category, value)| {
            format!(
                "<td>{}</td>",
                value.map_or_else(|| "-".to_owned(), |value| look.value(value, look.half(index, line, category)))
            )
        });
        format!("<tr><td>{}</td>{cells}</tr>", escape(&series.name))
    });
    format!(
        "<div class=\"table\"><table class=\"numbers\"><thead><tr><th>{}</th>{heads}</tr></thead>\
         <tbody>{rows}</tbody></table></div>",
        escape(&panel.title)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The report had a policy, and these pages had none.
    #[test]
    fn a_page_says_that_it_loads_nothing_and_runs_nothing() {
        let page = Page { brand: "sweep", title: "<script>", top: String::new(), sections: String::new() }.render();
        assert!(page.contains("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "), "{page}");
        assert!(!page.contains("<script"), "{page}");
    }
}
