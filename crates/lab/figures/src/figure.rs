//! Figures as data: panels of series over categories, and published values beside them.

use serde_json::{Value, json};
use std::fmt::Write;

/// How a figure is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Groups of bars from zero.
    Bars,
    /// Lines over an ordered axis.
    Lines,
}

/// Values of one drive over the categories.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub name: String,
    /// A value for each category, where there is one.
    pub values: Vec<Option<f64>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panel {
    /// Name; empty when the figure has only one.
    pub title: String,
    /// Names along the axis.
    pub categories: Vec<String>,
    /// The series that are drawn: the same ones in all panels of a figure.
    pub series: Vec<Series>,
    /// Published values on the axis of this panel, and their names.
    pub published: Vec<(&'static str, f64)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Name of its files.
    pub name: &'static str,
    pub title: &'static str,
    /// The unit and name of the axis of values.
    pub axis: &'static str,
    /// How it is drawn.
    pub shape: Shape,
    /// Largest value of the axis, where that is given by the unit.
    pub most: Option<f64>,
    pub panels: Vec<Panel>,
    /// Published values on the axis of every panel, and their names.
    pub published: Vec<(&'static str, f64)>,
    /// Explanation of the figure for the reader.
    pub caption: String,
}

/// How a figure is drawn besides: how its values are written, and how far they may be from what they are.
pub struct Look {
    /// A value in words, as at a line of the axis.
    pub show: Box<dyn Fn(f64) -> String>,
    /// Half of the interval of each value, by panel, series and category; a missing value has none.
    pub halves: Vec<Vec<Vec<Option<f64>>>>,
}

impl Default for Look {
    fn default() -> Self {
        Self { show: Box::new(crate::svg::number), halves: Vec::new() }
    }
}

impl Look {
    /// Half of the interval of a value.
    pub(crate) fn half(&self, panel: usize, series: usize, category: usize) -> Option<f64> {
        self.halves.get(panel)?.get(series)?.get(category).copied().flatten()
    }

    /// A value with its interval.
    pub(crate) fn value(&self, value: f64, half: Option<f64>) -> String {
        let half =
            half.filter(|half| *half > 0.0).map_or_else(String::new, |half| format!(" \u{b1} {}", (self.show)(half)));
        (self.show)(value) + &half
    }
}

impl Figure {
    /// Published values: the panel they belong to (empty: all), their names, and the values.
    pub fn all_published(&self) -> impl Iterator<Item = (&str, &'static str, f64)> {
        let common = self.published.iter().map(|(what, value)| ("", *what, *value));
        let own = self.panels.iter().flat_map(|panel| panel.published.iter().map(move |published| (panel, published)));
        common.chain(own.map(|(panel, (what, value))| (panel.title.as_str(), *what, *value)))
    }

    /// The data as columns.
    pub fn to_csv(&self) -> String {
        let mut text = String::from("panel,category,series,value\n");
        for panel in &self.panels {
            for series in &panel.series {
                for (category, value) in panel.categories.iter().zip(&series.values) {
                    let value = value.map(|value| value.to_string()).unwrap_or_default();
                    // Writing to a string cannot fail.
                    let _ = writeln!(
                        text,
                        "{},{},{},{value}",
                        quoted(&panel.title),
                        quoted(category),
                        quoted(&series.name)
                    );
                }
            }
        }
        for (panel, what, value) in self.all_published() {
            let _ = writeln!(text, "published,{},{},{value}", quoted(panel), quoted(what));
        }
        text
    }

    /// The data as JSON.
    pub fn to_json(&self) -> Value {
        let panel = |panel: &Panel| {
            let series = panel.series.iter().map(|series| json!({"name": series.name, "values": series.values}));
            json!({"title": panel.title, "categories": panel.categories, "series": series.collect::<Vec<_>>()})
        };
        let published =
            self.all_published().map(|(panel, what, value)| json!({"panel": panel, "what": what, "value": value}));
        json!({
            "name": self.name,
            "title": self.title,
            "axis": self.axis,
            "panels": self.panels.iter().map(panel).collect::<Vec<_>>(),
            "published": published.collect::<Vec<_>>(),
            "caption": self.caption,
        })
    }
}

/// A cell of a CSV file, in quotation marks where it needs them.
pub fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_hold_every_value_and_what_was_published() {
        let figure = Figure {
            name: "f",
            title: "t",
            axis: "a",
            shape: Shape::Bars,
            most: None,
            panels: vec![Panel {
                title: String::new(),
                categories: vec!["one".to_owned(), "two".to_owned()],
                series: vec![Series { name: "x, y".to_owned(), values: vec![Some(0.5), None] }],
                published: vec![("most", 0.75)],
            }],
            published: vec![("mean", 0.25)],
            caption: String::new(),
        };
        assert_eq!(
            figure.to_csv(),
            "panel,category,series,value\n,one,\"x, y\",0.5\n,two,\"x, \
             y\",\npublished,,mean,0.25\npublished,,most,0.75\n"
        );
        assert_eq!(figure.to_json()["panels"][0]["series"][0]["values"][1], Value::Null);
    }
}
