//! Panels of a figure as inline SVG: colours come from the page's style, so that they follow its scheme.

use crate::axis::Axis;
use crate::figure::{Figure, Look, Panel, Series, Shape};
use crate::plot::{Area, Name, Names, percent, put};

/// Height of the area.
const HEIGHT: f64 = 206.0;
/// Space for the names of the axes: above the area, and below the names along it.
const ABOVE: f64 = 32.0;
const BELOW: f64 = 20.0;
/// Longest name of an axis that a small picture has room for, letters; a longer one is told above the pictures alone.
const WORDS: usize = 36;
/// Share of a category's width that its bars take.
const FILLED: f64 = 0.82;
/// Most of the picture's width that a bar takes, and the space beside it as a share of its own.
const WIDEST: f64 = 0.08;
const BESIDE: f64 = 0.05;
/// Space at both ends of numbers, as a share of the width.
const MARGIN: f64 = 0.05;

/// The axis of values of a panel; its topmost line has a number, whatever the largest value is.
fn axis(figure: &Figure, panel: &Panel) -> Axis {
    let values = panel.series.iter().flat_map(|series| series.values.iter().flatten().copied());
    let published = figure.published.iter().chain(&panel.published).map(|(_, value)| *value);
    let largest = values.chain(published).filter(|value| value.is_finite()).fold(0.0, f64::max);
    Axis::from_zero(figure.most.unwrap_or(largest))
}

/// Pixels from the top.
fn y(axis: &Axis, value: f64) -> f64 {
    HEIGHT * (1.0 - axis.place(value))
}

/// Where the categories of a panel stand: side by side, or, for lines over numbers, as their logarithms do.
fn places(figure: &Figure, panel: &Panel) -> Vec<f64> {
    let count = panel.categories.len() as f64;
    let even = || (0..panel.categories.len()).map(|index| (index as f64 + 0.5) / count).collect();
    let numbers: Option<Vec<f64>> = panel.categories.iter().map(|category| category.parse().ok()).collect();
    match numbers {
        Some(numbers) if figure.shape == Shape::Lines && numbers.len() > 1 && numbers[0] > 0.0 => {
            let (first, last) = (numbers[0].ln(), numbers[numbers.len() - 1].ln());
            numbers
                .iter()
                .map(|number| MARGIN + (1.0 - 2.0 * MARGIN) * (number.ln() - first) / (last - first))
                .collect()
        }
        _ => even(),
    }
}

/// The picture of a panel, by its number.
pub fn panel(figure: &Figure, index: usize, look: &Look) -> String {
    let panel = &figure.panels[index];
    let drawn = Drawn { axis: axis(figure, panel), places: places(figure, panel), panel, index, look };
    let axis = &drawn.axis;
    let name = if panel.title.is_empty() { figure.title } else { &panel.title };
    let categories = || panel.categories.iter().map(String::as_str);
    let kind = if figure.shape == Shape::Lines { Names::Scale } else { Names::of(categories()) };
    // Pictures of one figure stand below one another: what is left of them is as wide in all.
    let left: Vec<String> =
        figure.panels.iter().flat_map(|panel| self::axis(figure, panel).ticks).map(&look.show).collect();
    let (up, across) = figure.axis.split_once(", over ").unwrap_or((figure.axis, ""));
    let [up, across] = [up, across].map(|name| if name.chars().count() <= WORDS { name } else { "" });
    let mut area = Area::new(HEIGHT, left.iter().map(String::as_str), kind, categories());
    area.top = if up.is_empty() { area.top } else { ABOVE };
    area.below += if across.is_empty() { 0.0 } else { BELOW };
    let mut svg = String::new();
    area.axes(&mut svg, across, up);
    for value in &axis.ticks {
        Area::across(&mut svg, y(axis, *value), &(look.show)(*value));
    }
    let names: Vec<Name> = drawn
        .places
        .iter()
        .zip(categories())
        .map(|(place, text)| Name { place: *place, text: text.to_owned() })
        .collect();
    area.names(&mut svg, kind, &names);
    for (index, series) in panel.series.iter().enumerate() {
        match figure.shape {
            Shape::Bars => drawn.bars(&mut svg, index, series),
            Shape::Lines => drawn.line(&mut svg, index, series),
        }
    }
    for (index, (what, value)) in figure.published.iter().chain(&panel.published).enumerate() {
        let y = y(axis, *value);
        put(
            &mut svg,
            format_args!(
                "<line class=\"published p{index}\" x1=\"0\" x2=\"100%\" y1=\"{y:.1}\" y2=\"{y:.1}\"><title>{}: \
                 {}</title></line><text class=\"told\" x=\"100%\" y=\"{:.1}\" text-anchor=\"end\">{} {}</text>",
                escape(what),
                number(*value),
                y - 4.0,
                escape(what),
                number(*value)
            ),
        );
    }
    area.svg(&format!("{}: {name}", figure.title), &svg)
}

/// A panel that is being drawn.
struct Drawn<'a> {
    axis: Axis,
    /// Place of each category, 0 to 1.
    places: Vec<f64>,
    panel: &'a Panel,
    index: usize,
    look: &'a Look,
}

impl Drawn<'_> {
    /// What a pointer over a mark says.
    fn title(&self, line: usize, series: &Series, category: usize, value: f64) -> String {
        let place = [self.panel.title.as_str(), &self.panel.categories[category]].join(" ");
        let value = self.look.value(value, self.look.half(self.index, line, category));
        format!("<title>{}, {}: {}</title>", escape(place.trim()), escape(&series.name), escape(&value))
    }

    /// The interval of a value as a line through its mark.
    fn interval(&self, svg: &mut String, line: usize, category: usize, x: f64, value: f64) {
        let Some(half) = self.look.half(self.index, line, category).filter(|half| *half > 0.0) else { return };
        let (x, low, high) = (percent(x), y(&self.axis, value - half), y(&self.axis, value + half));
        put(
            svg,
            format_args!("<line class=\"s{line} interval\" x1=\"{x}\" x2=\"{x}\" y1=\"{high:.1}\" y2=\"{low:.1}\"/>"),
        );
    }

    fn bars(&self, svg: &mut String, index: usize, series: &Series) {
        let count = self.panel.series.len() as f64;
        let width = (FILLED / self.places.len().max(1) as f64 / count).min(WIDEST);
        for (category, value) in series.values.iter().enumerate() {
            let Some(value) = value else { continue };
            let (x, y) =
                (self.places[category] + width * (index as f64 + BESIDE / 2.0 - count / 2.0), y(&self.axis, *value));
            put(
                svg,
                format_args!(
                    "<rect class=\"s{index}\" x=\"{}\" y=\"{y:.1}\" width=\"{}\" height=\"{:.1}\">{}</rect>",
                    percent(x),
                    percent(width * (1.0 - BESIDE)),
                    HEIGHT - y,
                    self.title(index, series, category, *value)
                ),
            );
            self.interval(svg, index, category, x + width * (1.0 - BESIDE) / 2.0, *value);
        }
    }

    fn line(&self, svg: &mut String, index: usize, series: &Series) {
        let points: Vec<Option<(usize, f64)>> = series
            .values
            .iter()
            .enumerate()
            .map(|(category, value)| Some((category, value.filter(|value| *value <= self.axis.to)?)))
            .collect();
        // A line across what is missing would tell of values that nobody has measured.
        let lines = points.split(Option::is_none).filter(|line| !line.is_empty()).map(|line| {
            let path: Vec<String> = line
                .iter()
                .flatten()
                .map(|(category, value)| format!("{:.1},{:.1}", self.places[*category] * 1000.0, y(&self.axis, *value)))
                .collect();
            format!("<polyline class=\"s{index}\" points=\"{}\"/>", path.join(" "))
        });
        // Points of a line cannot be per cent: a picture within the picture, stretched along.
        put(
            svg,
            format_args!(
                "<svg class=\"path\" viewBox=\"0 0 1000 {HEIGHT}\" width=\"100%\" height=\"{HEIGHT}\" \
                 preserveAspectRatio=\"none\">{}</svg>",
                lines.collect::<String>()
            ),
        );
        for (category, value) in points.into_iter().flatten() {
            self.interval(svg, index, category, self.places[category], value);
            put(
                svg,
                format_args!(
                    "<circle class=\"s{index}\" cx=\"{}\" cy=\"{:.1}\" r=\"3.2\">{}</circle>",
                    percent(self.places[category]),
                    y(&self.axis, value),
                    self.title(index, series, category, value)
                ),
            );
        }
    }
}

/// A number with three significant digits, below 0.01 with two: none but 0 is told as 0 from a billionth on.
pub fn number(value: f64) -> String {
    let digits = if value != 0.0 && value.abs() < 0.01 {
        (1 - value.abs().log10().floor() as i64).clamp(0, 9) as usize
    } else if value.abs() >= 100.0 {
        0
    } else if value.abs() >= 10.0 {
        1
    } else if value.abs() >= 1.0 {
        2
    } else {
        3
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Text for a page.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(shape: Shape, categories: &[&str], values: &[f64]) -> Figure {
        let series = vec![Series { name: "s".to_owned(), values: values.iter().copied().map(Some).collect() }];
        let panel = Panel {
            categories: categories.iter().map(|name| (*name).to_owned()).collect(),
            series,
            ..Panel::default()
        };
        Figure {
            name: "f",
            title: "t",
            axis: "a",
            shape,
            most: None,
            panels: vec![panel],
            published: Vec::new(),
            caption: String::new(),
        }
    }

    /// A life of four hours was "0 years".
    #[test]
    fn small_numbers_are_not_rounded_to_nothing() {
        let told = [1234.6, 12.34, 0.5, 0.0123, 0.000_456, -0.002, 0.0, 1e-17].map(number);
        assert_eq!(told, ["1235", "12.3", "0.5", "0.012", "0.00046", "-0.002", "0", "0"]);
    }

    #[test]
    fn lines_of_the_axis_of_values_are_at_equal_distances_and_numbers_stand_as_their_logarithms() {
        let figure = figure(Shape::Lines, &["8", "16", "64"], &[3.0, 165.0, 2.0]);
        assert_eq!(axis(&figure, &figure.panels[0]).ticks[8..], [160.0, 180.0]);
        let places = places(&figure, &figure.panels[0]);
        assert!((places[2] - places[1] - 2.0 * (places[1] - places[0])).abs() < 1e-6);
    }

    #[test]
    fn texts_and_points_keep_their_size_however_wide_the_picture_is() {
        for shape in [Shape::Bars, Shape::Lines] {
            let figure = figure(shape, &["1", "2", "3"], &[1.0, 2.0, 120_000.0]);
            let svg = panel(&figure, 0, &Look::default());
            let stretched = svg.split("<svg ").filter(|part| part.contains("viewBox"));
            assert!(
                stretched
                    .clone()
                    .all(|part| part.contains("<polyline ") && !part.split("</svg>").next().unwrap().contains("<text")),
                "{svg}"
            );
            assert_eq!(stretched.count(), usize::from(shape == Shape::Lines));
            let left = |texts: f64| format!("padding:32px 20px 24px {texts:.0}px");
            assert!(svg.contains(&left(6.0 * 7.6 + 12.0)), "room for 100000: {svg}");
        }
    }

    /// An interval of the repetitions stood in a table alone, and a line within it looked like a difference.
    #[test]
    fn intervals_are_drawn_and_said() {
        for shape in [Shape::Bars, Shape::Lines] {
            let figure = figure(shape, &["1", "2", "3"], &[10.0, 20.0, 40.0]);
            let look = Look {
                show: Box::new(|value| format!("{} ms", number(value))),
                halves: vec![vec![vec![Some(4.0), None, Some(0.0)]]],
            };
            let svg = panel(&figure, 0, &look);
            assert_eq!(svg.matches("class=\"s0 interval\"").count(), 1, "{svg}");
            assert!(
                svg.contains("y1=\"133.9\" y2=\"175.1\"")
                    && svg.contains("10 ms \u{b1} 4 ms</title>")
                    && svg.contains(": 40 ms</title>"),
                "{svg}"
            );
            assert!(svg.contains(">20 ms</text>"), "lines of the axis have their unit: {svg}");
        }
    }

    #[test]
    fn numbers_are_short() {
        for (value, text) in
            [(0.0, "0"), (0.0907, "0.091"), (1.0, "1"), (12.34, "12.3"), (1234.5, "1234"), (100.0, "100")]
        {
            assert_eq!(number(value), text);
        }
    }
}
