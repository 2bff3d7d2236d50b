//! Panels of a figure as inline SVG: colours come from the page's style, so that they follow its scheme.

use crate::figure::{Figure, Panel, Series, Shape};
use std::fmt::Write;

/// Space around the plot: left for numbers, below for names.
const LEFT: f64 = 44.0;
const RIGHT: f64 = 8.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 24.0;
/// Height of a picture.
const HEIGHT: f64 = 240.0;
/// Share of a category's width that its bars take.
const FILLED: f64 = 0.82;

/// The scale of a panel.
struct Axes {
    width: f64,
    most: f64,
    /// Between two lines of the axis of values.
    step: f64,
    /// Place of each category, 0 to 1.
    places: Vec<f64>,
}

impl Axes {
    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - value.clamp(0.0, self.most) / self.most * (HEIGHT - BOTTOM - TOP)
    }

    /// Width of a category.
    fn category(&self) -> f64 {
        (self.width - LEFT - RIGHT) / self.places.len().max(1) as f64
    }

    /// Middle of a category.
    fn x(&self, category: usize) -> f64 {
        LEFT + (self.width - LEFT - RIGHT) * self.places[category]
    }
}

/// A step of the axis of values that gives four to ten lines: 1, 2 or 5 times a power of ten.
pub(crate) fn step(most: f64) -> f64 {
    let rough = most / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let digit = rough / power;
    power * if digit < 1.5 { 1.0 } else if digit < 3.5 { 2.0 } else if digit < 7.5 { 5.0 } else { 10.0 }
}

fn axes(figure: &Figure, panel: &Panel, width: f64) -> Axes {
    let values = panel.series.iter().flat_map(|series| series.values.iter().flatten().copied());
    let published = figure.published.iter().chain(&panel.published).map(|(_, value)| *value);
    let largest = values.chain(published).filter(|value| value.is_finite()).fold(0.0, f64::max);
    let largest = if largest > 0.0 { largest } else { 1.0 };
    let step = step(figure.most.unwrap_or(largest));
    let most = figure.most.unwrap_or((largest / step).ceil() * step);
    Axes { width, most, step, places: places(figure, panel, width) }
}

/// Where the categories of a panel stand: side by side, or, for lines over numbers, as their logarithms do.
fn places(figure: &Figure, panel: &Panel, width: f64) -> Vec<f64> {
    let count = panel.categories.len() as f64;
    let even = || (0..panel.categories.len()).map(|index| (index as f64 + 0.5) / count).collect();
    let numbers: Option<Vec<f64>> = panel.categories.iter().map(|category| category.parse().ok()).collect();
    match numbers {
        Some(numbers) if figure.shape == Shape::Lines && numbers.len() > 1 && numbers[0] > 0.0 => {
            let (first, last) = (numbers[0].ln(), numbers[numbers.len() - 1].ln());
            let margin = 18.0 / width;
            numbers.iter().map(|number| margin + (1.0 - 2.0 * margin) * (number.ln() - first) / (last - first)).collect()
        }
        _ => even(),
    }
}

/// The picture of a panel, `width` units wide.
pub fn panel(figure: &Figure, panel: &Panel, width: f64) -> String {
    let axes = axes(figure, panel, width);
    let name = if panel.title.is_empty() { figure.title } else { &panel.title };
    let mut svg = format!(
        "<svg viewBox=\"0 0 {width} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
        escape(&format!("{}: {name}", figure.title))
    );
    grid(&mut svg, &axes, panel);
    for (index, series) in panel.series.iter().enumerate() {
        match figure.shape {
            Shape::Bars => bars(&mut svg, &axes, panel, index, series),
            Shape::Lines => line(&mut svg, &axes, panel, index, series),
        }
    }
    for (index, (what, value)) in figure.published.iter().chain(&panel.published).enumerate() {
        let y = axes.y(*value);
        put(&mut svg, format_args!(
            "<line class=\"published p{index}\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"><title>{}: {}</title></line>",
            width - RIGHT,
            escape(what),
            number(*value)
        ));
    }
    svg.push_str("</svg>");
    svg
}

/// Appends to a string, which cannot fail.
fn put(text: &mut String, what: std::fmt::Arguments<'_>) {
    let _ = text.write_fmt(what);
}

fn grid(svg: &mut String, axes: &Axes, panel: &Panel) {
    let lines = (axes.most / axes.step + 1e-9) as usize;
    for index in 0..=lines {
        let value = axes.step * index as f64;
        let y = axes.y(value);
        put(svg, format_args!(
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text class=\"tick\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            axes.width - RIGHT,
            LEFT - 6.0,
            y + 4.0,
            number(value)
        ));
    }
    for (index, category) in panel.categories.iter().enumerate() {
        put(svg, format_args!(
            "<text class=\"tick\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            axes.x(index),
            HEIGHT - 7.0,
            escape(category)
        ));
    }
}

/// What a pointer over a mark says.
fn title(panel: &Panel, series: &Series, category: usize, value: f64) -> String {
    let place = [panel.title.as_str(), &panel.categories[category]].join(" ");
    format!("<title>{}, {}: {}</title>", escape(place.trim()), escape(&series.name), number(value))
}

fn bars(svg: &mut String, axes: &Axes, panel: &Panel, index: usize, series: &Series) {
    let width = (axes.category() * FILLED / panel.series.len() as f64).min(46.0);
    let first = -width * panel.series.len() as f64 / 2.0;
    for (category, value) in series.values.iter().enumerate() {
        let Some(value) = value else { continue };
        let (x, y) = (axes.x(category) + first + width * index as f64, axes.y(*value));
        put(svg, format_args!(
            "<rect class=\"s{index}\" x=\"{:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\">{}</rect>",
            x + 0.5,
            width - 1.0,
            HEIGHT - BOTTOM - y,
            title(panel, series, category, *value)
        ));
    }
}

fn line(svg: &mut String, axes: &Axes, panel: &Panel, index: usize, series: &Series) {
    let at = |(category, value): (usize, &Option<f64>)| value.map(|value| (category, value));
    let points: Vec<(usize, f64)> = series.values.iter().enumerate().filter_map(at).filter(|point| point.1 <= axes.most).collect();
    let path: Vec<String> =
        points.iter().map(|(category, value)| format!("{:.1},{:.1}", axes.x(*category), axes.y(*value))).collect();
    put(svg, format_args!("<polyline class=\"s{index}\" points=\"{}\"/>", path.join(" ")));
    for (category, value) in points {
        put(svg, format_args!(
            "<circle class=\"s{index}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.2\">{}</circle>",
            axes.x(category),
            axes.y(value),
            title(panel, series, category, value)
        ));
    }
}

/// A number with three significant digits.
pub fn number(value: f64) -> String {
    let digits = if value.abs() >= 100.0 { 0 } else if value.abs() >= 10.0 { 1 } else if value.abs() >= 1.0 { 2 } else { 3 };
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

    #[test]
    fn axes_have_round_steps() {
        for (most, expected) in [(1.0, 0.2), (0.9, 0.2), (100.0, 20.0), (7.0, 1.0), (35.0, 5.0), (0.03, 0.005)] {
            assert!((step(most) - expected).abs() < 1e-9 * expected, "{most}: {}", step(most));
        }
    }

    #[test]
    fn lines_of_the_axis_of_values_are_at_equal_distances_and_numbers_stand_as_their_logarithms() {
        let series = vec![Series { name: "s".to_owned(), values: vec![Some(3.0), Some(165.0), Some(2.0)] }];
        let categories = ["8", "16", "64"].map(str::to_owned).to_vec();
        let panel = Panel { categories, series, ..Panel::default() };
        let figure = Figure {
            name: "f",
            title: "t",
            axis: "a",
            shape: Shape::Lines,
            most: None,
            panels: vec![panel],
            published: Vec::new(),
            caption: String::new(),
        };
        let axes = axes(&figure, &figure.panels[0], 900.0);
        assert!((axes.most / axes.step).fract() < 1e-9, "{} in steps of {}", axes.most, axes.step);
        assert!((axes.x(2) - axes.x(1) - 2.0 * (axes.x(1) - axes.x(0))).abs() < 1e-6);
    }

    #[test]
    fn numbers_are_short() {
        for (value, text) in [(0.0, "0"), (0.0907, "0.091"), (1.0, "1"), (12.34, "12.3"), (1234.5, "1234"), (100.0, "100")] {
            assert_eq!(number(value), text);
        }
    }
}
