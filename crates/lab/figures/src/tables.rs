//! Tables for narrow pages: with names of its columns in every cell a row can be read as a card.

/// Tables with fewer columns fit on a phone as they are.
const COLUMNS_MIN: usize = 5;

/// Tables with more rows scroll in a frame of their own.
const ROWS_WHOLE: usize = 20;

/// How the element around a table that may be wide begins.
const FRAMES: [&str; 2] = ["<div class=\"table\"", "<div class=\"table tall\""];

/// Classes of the element around a table that may be wide.
pub fn frame(rows: usize) -> &'static str {
    if rows > ROWS_WHOLE { "table tall" } else { "table" }
}

/// The page with the name of its column in each cell of wide tables (`data-label`, class `cards`), and with the roles
/// that a table loses where it is not shown as one. Tables with cells over several rows or columns stay as they are.
/// Frames of tables can have the focus, so that they are scrolled without a mouse.
pub(crate) fn labelled(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    let mut rest = html;
    while let Some((start, end)) =
        rest.find("<table").and_then(|start| Some((start, start + rest[start..].find("</table>")?)))
    {
        let table = &rest[start..end];
        let names = names(table);
        out += &focusable(&rest[..start], &names);
        let is_plain = !table.contains("colspan") && !table.contains("rowspan");
        if names.len() >= COLUMNS_MIN && is_plain {
            out += &with_labels(table, &names);
        } else {
            out += table;
        }
        rest = &rest[end..];
    }
    out + rest
}

/// What stands before a table; where that ends with a frame, the frame gets a name and a place in the order of Tab.
fn focusable(before: &str, names: &[String]) -> String {
    let frame = before.strip_suffix('>').filter(|open| FRAMES.iter().any(|frame| open.ends_with(frame)));
    let Some(open) = frame else { return before.to_owned() };
    let names: Vec<&str> = names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()).collect();
    format!("{open} tabindex=\"0\" role=\"group\" aria-label=\"Table: {}\">", names.join(", "))
}

/// What the cells of the head say, without elements.
fn names(table: &str) -> Vec<String> {
    let head = table.split("</thead>").next().unwrap_or_default();
    cells(head, "<th").map(|cell| text(cell.split("</th>").next().unwrap_or_default())).collect()
}

/// What follows the beginning of each element, its attributes left out.
fn cells<'a>(html: &'a str, element: &'a str) -> impl Iterator<Item = &'a str> {
    let inner = html.split(element).skip(1).filter(|rest| rest.starts_with(['>', ' ']));
    inner.filter_map(|rest| rest.split_once('>').map(|(_, inner)| inner))
}

fn text(html: &str) -> String {
    let words = html.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    words.collect::<String>().replace("&nbsp;", " ").replace('"', "&quot;")
}

fn with_labels(table: &str, names: &[String]) -> String {
    let (head, body) = table.split_once("</thead>").unwrap_or((table, ""));
    let head = match head.strip_prefix("<table class=\"") {
        Some(rest) => format!("<table role=\"table\" class=\"cards {rest}"),
        None => head.replacen("<table", "<table role=\"table\" class=\"cards\"", 1),
    };
    let head = head.replace("<th ", "<th role=\"columnheader\" ").replace("<th>", "<th role=\"columnheader\">");
    let rows = body.split("<tr").enumerate().map(|(index, row)| {
        if index == 0 {
            return row.to_owned();
        }
        let cells = row.split("<td").enumerate().map(|(cell, rest)| match cell.checked_sub(1) {
            None => rest.to_owned(),
            Some(column) => {
                // What stands first says what the row is about.
                let role = if column == 0 { "rowheader" } else { "cell" };
                format!("<td role=\"{role}\" data-label=\"{}\"{rest}", names.get(column).map_or("", String::as_str))
            }
        });
        format!("<tr role=\"row\"{}", cells.collect::<String>())
    });
    format!("{}</thead>{}", head.replace("<tr>", "<tr role=\"row\">"), rows.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_wide_tables_know_their_column() {
        let head = "<thead><tr><th>Row</th><th title=\"a &gt; b\">What <b>it</b> \
            is</th><th>c</th><th>d</th><th>&nbsp;e</th></tr></thead>";
        let html = format!(
            "<p>x</p><table class=\"t\">{head}<tbody><tr id=\"r\"><td>1</td><td><i>2</i></td><td>3</td><td>4</td><td \
             class=\"k\">5</td></tr></tbody></table><p>y</p>"
        );
        let labelled = labelled(&html);
        assert!(
            labelled.starts_with("<p>x</p><table role=\"table\" class=\"cards t\">")
                && labelled.ends_with("</tbody></table><p>y</p>"),
            "{labelled}"
        );
        assert!(
            labelled.contains("<tr role=\"row\" id=\"r\"><td role=\"rowheader\" data-label=\"Row\">1</td>"),
            "{labelled}"
        );
        assert!(
            labelled.contains("data-label=\"What it is\"><i>2</i>")
                && labelled.contains("data-label=\" e\" class=\"k\">5"),
            "{labelled}"
        );
        assert_eq!(labelled.matches("columnheader").count(), 5);
    }

    #[test]
    fn frames_of_tables_can_have_the_focus() {
        let table = "<table><thead><tr><th></th><th>a &amp; <i>b</i></th><th>c</th></tr></thead></table>";
        for class in ["table", "table tall"] {
            let html = labelled(&format!("<p>x</p><div class=\"{class}\">{table}</div>"));
            let frame = "tabindex=\"0\" role=\"group\" aria-label=\"Table: a &amp; b, c\"><table>";
            assert!(html.starts_with(&format!("<p>x</p><div class=\"{class}\" {frame}")), "{html}");
        }
        assert_eq!(labelled(&format!("<div>{table}</div>")), format!("<div>{table}</div>"));
    }

    #[test]
    fn narrow_tables_and_those_with_wide_cells_stay_as_they_are() {
        let narrow =
            "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr></tbody></table>";
        assert_eq!(labelled(narrow), narrow);
        let spanned = "<table><thead><tr><th>a</th><th>b</th><th>c</th><th>d</th><th>e</th></tr></thead><tbody><tr><td \
            colspan=\"5\">1</td></tr></tbody></table>";
        assert_eq!(labelled(spanned), spanned);
        assert_eq!(labelled("<table without an end"), "<table without an end");
    }
}
