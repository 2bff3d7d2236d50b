//! Common parts of pictures: the area that is drawn on, its lines, and the texts along it.
//!
//! A picture is as wide as its place on the page. Places along it are per cent of the width, everything else is in
//! pixels of the page, so texts, points and lines keep their size on any screen; where names need more room the picture
//! scrolls.

use crate::svg::escape;
use std::fmt::Write;

/// Space right of the area, for half of the last name: five letters.
const RIGHT: f64 = 20.0;
/// Height of a line of text.
const LINE: f64 = 15.0;
/// Width of a letter at the size of the style, in a wide font.
const LETTER: f64 = 7.6;
/// Pixels between two names of an axis.
const GAP: f64 = 8.0;
/// The narrowest place a page gives a picture, and from where on it counts as wide (`pictures.css` knows this one too).
const NARROW: f64 = 288.0;
const WIDE: f64 = 520.0;
/// Most letters of the words of a name that share a line.
const LINE_LETTERS: usize = 10;

/// The area that is drawn on: its height and the space around it, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Area {
    pub height: f64,
    pub top: f64,
    pub below: f64,
    pub left: f64,
    /// The picture is never narrower.
    pub least: f64,
}

/// A name along the area.
pub(crate) struct Name {
    /// Where, 0 to 1.
    pub place: f64,
    pub text: String,
}

/// How names along the area are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// A scale: where there is no room, some are left out.
    Scale,
    /// Each stands for itself: their words go below one another, and the picture is as wide as they need.
    Words,
}

impl Names {
    /// The kind of some names: names of a scale begin with a digit.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let is_scale =
            names.into_iter().all(|name| name.starts_with(|letter: char| letter.is_ascii_digit()) || name.is_empty());
        if is_scale { Self::Scale } else { Self::Words }
    }

    fn lines(self, text: &str) -> Vec<String> {
        if self == Self::Scale {
            return vec![text.to_owned()];
        }
        let mut lines: Vec<String> = Vec::new();
        for word in text.split(' ') {
            match lines.last_mut().filter(|line| line.chars().count() + 1 + word.chars().count() <= LINE_LETTERS) {
                Some(line) => line.extend([" ", word]),
                None => lines.push(word.to_owned()),
            }
        }
        lines
    }
}

fn width(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER
}

impl Area {
    /// An area with room for texts left of it and for names below it.
    pub fn new<'a>(
        height: f64,
        left: impl IntoIterator<Item = &'a str>,
        kind: Names,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let left = left.into_iter().map(width).fold(0.0, f64::max) + 12.0;
        let names: Vec<Vec<String>> = names.into_iter().map(|name| kind.lines(name)).collect();
        let lines = names.iter().map(Vec::len).max().unwrap_or(1);
        let widest = names.iter().flatten().map(|line| width(line)).fold(0.0, f64::max);
        let least = if kind == Names::Words { left + RIGHT + names.len() as f64 * (widest + GAP) } else { 0.0 };
        Self { height, top: 10.0, below: 9.0 + LINE * lines as f64, left, least }
    }

    /// The picture around the elements that are drawn in it.
    pub fn svg(self, name: &str, drawn: &str) -> String {
        let Self { height, top, below, left, least } = self;
        let name = escape(name);
        // What may be scrolled has to be scrolled by keys, too.
        let focus = if least > NARROW {
            format!(" tabindex=\"0\" role=\"group\" aria-label=\"Picture: {name}\"")
        } else {
            String::new()
        };
        format!(
            "<div class=\"plot\"{focus}><svg role=\"img\" aria-label=\"{name}\" \
             style=\"--least:{least:.0};height:{:.0}px;min-width:{least:.0}px;padding:{top}px {RIGHT}px {below}px \
             {left:.0}px\">{drawn}</svg></div>",
            top + height + below
        )
    }

    /// A line across the area and the text left of it; `y` in pixels from the top.
    pub fn across(svg: &mut String, y: f64, text: &str) {
        put(
            svg,
            format_args!(
                "<line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text x=\"-6\" y=\"{:.1}\" \
                 text-anchor=\"end\">{}</text>",
                y + 4.0,
                escape(text)
            ),
        );
    }

    /// Names of both axes: `across` below the end of the lower one, `up` above the left one; an empty name is left out.
    pub fn axes(&self, svg: &mut String, across: &str, up: &str) {
        if !up.is_empty() {
            put(svg, format_args!("<text x=\"{:.0}\" y=\"-16\">\u{2191} {}</text>", 12.0 - self.left, escape(up)));
        }
        if !across.is_empty() {
            let below = self.height + self.below - 4.0;
            put(
                svg,
                format_args!("<text x=\"100%\" y=\"{below}\" text-anchor=\"end\">{} \u{2192}</text>", escape(across)),
            );
        }
    }

    /// Names below the area: all of them, or as many as a narrow and a wide picture have room for.
    pub fn names(self, svg: &mut String, kind: Names, names: &[Name]) {
        let names: Vec<&Name> = names.iter().filter(|name| !name.text.is_empty()).collect();
        let every = |outer: f64| if kind == Names::Words { 1 } else { every(&names, outer - self.left - RIGHT) };
        let (narrow, wide) = (every(NARROW), every(WIDE));
        for (index, name) in names.iter().enumerate() {
            let class = match (index % narrow == 0, index % wide == 0) {
                (true, true) => "",
                (true, false) => " class=\"narrow\"",
                (false, true) => " class=\"wide\"",
                (false, false) => continue,
            };
            let x = percent(name.place);
            let line = |(line, text): (usize, String)| {
                format!(
                    "<text{class} x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                    self.height + 3.0 + LINE * (line + 1) as f64,
                    escape(&text)
                )
            };
            svg.extend(kind.lines(&name.text).into_iter().enumerate().map(line));
        }
    }
}

/// The smallest step at which names do not touch when the area has this width.
fn every(names: &[&Name], area: f64) -> usize {
    let apart = |pair: &[&&Name]| {
        (pair[1].place - pair[0].place) * area >= f64::midpoint(width(&pair[0].text), width(&pair[1].text)) + GAP
    };
    let fits = |step: &usize| names.iter().step_by(*step).collect::<Vec<_>>().windows(2).all(apart);
    (1..names.len()).find(fits).unwrap_or(names.len().max(1))
}

/// A share of the width.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

/// Appends to a string, which cannot fail.
pub(crate) fn put(text: &mut String, what: std::fmt::Arguments<'_>) {
    let _ = text.write_fmt(what);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(texts: &[&str], kind: Names) -> String {
        let names: Vec<Name> = texts
            .iter()
            .enumerate()
            .map(|(at, text)| Name { place: (at as f64 + 0.5) / texts.len() as f64, text: (*text).to_owned() })
            .collect();
        let mut svg = String::new();
        Area::new(200.0, ["100"], kind, texts.iter().copied()).names(&mut svg, kind, &names);
        svg
    }

    #[test]
    fn names_of_a_scale_never_touch_and_a_wide_picture_shows_more_of_them() {
        let texts: Vec<String> = (0..13).map(|at| format!("0.{} TB", 267 + 5 * at)).collect();
        let svg = shown(&texts.iter().map(String::as_str).collect::<Vec<_>>(), Names::Scale);
        let (narrow, wide) = (svg.matches("narrow").count(), svg.matches("wide").count());
        assert_eq!((narrow, wide, svg.matches("<text").count()), (0, 3, 7), "{svg}");
        assert!(!shown(&["1", "2", "4"], Names::Scale).contains("class"), "these have room anywhere");
    }

    /// The name of the lower axis lay over the third line of names.
    #[test]
    fn the_name_of_an_axis_stands_below_all_lines_of_names() {
        for text in ["1", "100 % in use, overwritten"] {
            let kind = Names::of(["a", text]);
            let mut area = Area::new(200.0, ["100"], kind, [text]);
            area.below += 20.0;
            let mut svg = String::new();
            area.axes(&mut svg, "states", "");
            area.names(&mut svg, kind, &[Name { place: 0.5, text: text.to_owned() }]);
            let mut lines =
                svg.split(" y=\"").skip(1).map(|part| part.split('"').next().unwrap().parse::<f64>().unwrap());
            let axis = lines.next().unwrap();
            assert!(lines.all(|line| axis >= line + LINE), "{svg}");
        }
    }

    #[test]
    fn words_are_all_shown_and_the_picture_is_as_wide_as_they_need() {
        let texts = ["Block LRU", "Block-only, by pages", "CFLRU"];
        assert_eq!(Names::of(texts), Names::Words);
        assert_eq!(Names::of(["1", "3-4", "65-", ""]), Names::Scale);
        assert_eq!(shown(&texts, Names::Words).matches("<text").count(), 4, "the second one has two lines");
        let area = Area::new(200.0, ["100"], Names::Words, texts);
        assert!(area.least > 3.0 * width("Block-only,") && area.below > 2.0 * LINE, "{area:?}");
        assert_eq!(Area::new(200.0, ["100"], Names::Scale, ["1"; 100]).least.to_bits(), 0);
    }
}
