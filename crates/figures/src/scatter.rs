//! Points in a plane.

use crate::page::each;
use crate::svg::{escape, number, step};

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 44.0;
/// An axis whose largest value is so many times the smallest has a logarithmic scale.
const WIDE: f64 = 30.0;

/// A point: both values, what a pointer over it says, and whether it stands out.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// To the right.
    pub x: f64,
    /// Upwards.
    pub y: f64,
    /// What it is.
    pub label: String,
    /// It stands out.
    pub is_marked: bool,
}

/// Points of one colour.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Name in the legend.
    pub name: String,
    /// The points, those without two finite values left out.
    pub points: Vec<Point>,
}

/// A picture of points.
#[derive(Clone, Debug, PartialEq)]
pub struct Scatter {
    /// Name of the section.
    pub name: &'static str,
    /// What it shows.
    pub title: String,
    /// Names of the axes.
    pub axes: [String; 2],
    /// The points.
    pub groups: Vec<Group>,
    /// What a reader should know.
    pub caption: String,
}

/// The scale of one axis: from one value to another, linear or logarithmic.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Axis {
    from: f64,
    to: f64,
    is_log: bool,
}

impl Axis {
    fn over(values: impl Iterator<Item = f64> + Clone) -> Self {
        let most = values.clone().fold(0.0, f64::max);
        let least = values.filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
        if most <= 0.0 {
            return Self { from: 0.0, to: 1.0, is_log: false };
        }
        if most > WIDE * least {
            return Self { from: 10_f64.powf(least.log10().floor()), to: 10_f64.powf(most.log10().ceil()), is_log: true };
        }
        let step = step(most);
        Self { from: 0.0, to: (most / step).ceil() * step, is_log: false }
    }

    /// 0 to 1.
    fn place(self, value: f64) -> f64 {
        let scaled = |value: f64| if self.is_log { value.max(self.from).ln() } else { value };
        (scaled(value) - scaled(self.from)) / (scaled(self.to) - scaled(self.from))
    }

    fn ticks(self) -> Vec<f64> {
        if self.is_log {
            let decades = (self.to / self.from).log10().round() as i32;
            return (0..=decades).map(|decade| self.from * 10_f64.powi(decade)).collect();
        }
        let step = step(self.to);
        (0..=(self.to / step + 1e-9) as u32).map(|index| step * f64::from(index)).collect()
    }
}

impl Scatter {
    /// The picture as a section of a page.
    pub fn section(&self) -> String {
        let legend = each(self.groups.iter().enumerate(), |(index, group)| {
            format!("<li><i class=\"s{index}\"></i>{}</li>", escape(&group.name))
        });
        format!(
            "<section id=\"{}\"><h2>{}</h2><p class=\"lead\">{}</p><ul class=\"legend\">{legend}</ul>\
             <div class=\"panels single\"><div>{}</div></div></section>",
            self.name,
            escape(&self.title),
            escape(&self.caption),
            self.picture()
        )
    }

    fn picture(&self) -> String {
        let points = || self.groups.iter().flat_map(|group| &group.points).filter(|point| point.x.is_finite() && point.y.is_finite());
        let (across, up) = (Axis::over(points().map(|point| point.x)), Axis::over(points().map(|point| point.y)));
        let x = |value: f64| LEFT + (WIDTH - LEFT - RIGHT) * across.place(value);
        let y = |value: f64| HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * up.place(value);
        let bottom = HEIGHT - BOTTOM;
        let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">", escape(&self.title));
        svg += &each(up.ticks(), |value| {
            let (at, end) = (y(value), WIDTH - RIGHT);
            format!(
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{end}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
                 <text class=\"tick\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 6.0,
                at + 4.0,
                number(value)
            )
        });
        svg += &each(across.ticks(), |value| {
            let at = x(value);
            format!(
                "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{bottom}\"/>\
                 <text class=\"tick\" x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                bottom + 16.0,
                number(value)
            )
        });
        let [across_name, up_name] = &self.axes;
        let names = format!(
            "<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\
             <text class=\"tick\" x=\"{}\" y=\"{}\" transform=\"rotate(-90 14 {TOP})\" text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            HEIGHT - 8.0,
            escape(across_name),
            14.0,
            TOP,
            escape(up_name)
        );
        svg += &names;
        // What stands out is drawn last, over the others.
        for is_marked in [false, true] {
            for (index, group) in self.groups.iter().enumerate() {
                let shown = group.points.iter().filter(|point| point.is_marked == is_marked && point.x.is_finite() && point.y.is_finite());
                svg += &each(shown, |point| {
                    let (class, radius) = if is_marked { (" marked", 6.0) } else { (" dim", 4.0) };
                    format!(
                        "<circle class=\"s{index}{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius}\"><title>{}</title></circle>",
                        x(point.x),
                        y(point.y),
                        escape(&point.label)
                    )
                });
            }
        }
        svg + "</svg>"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_axes_are_logarithmic_and_all_points_lie_within() {
        let narrow = Axis::over([2.0, 8.0].into_iter());
        assert_eq!(narrow, Axis { from: 0.0, to: 8.0, is_log: false });
        let wide = Axis::over([3.0, 5000.0].into_iter());
        assert_eq!((wide.from, wide.to, wide.ticks().len()), (1.0, 10_000.0, 5));
        assert!((wide.place(100.0) - 0.5).abs() < 1e-9);
        assert!(Axis::over([0.0].into_iter()).place(0.0).abs() < 1e-9);
    }

    #[test]
    fn each_point_says_what_it_is_and_none_without_values_is_drawn() {
        let point = |x, y, is_marked| Point { x, y, label: format!("<{x}>"), is_marked };
        let groups = vec![Group { name: "g & h".to_owned(), points: vec![point(1.0, 2.0, true), point(f64::NAN, 1.0, false)] }];
        let axes = ["across".to_owned(), "up".to_owned()];
        let section = Scatter { name: "n", title: "t".to_owned(), axes, groups, caption: String::new() }.section();
        assert_eq!(section.matches("<circle").count(), 1);
        assert!(section.contains("&lt;1&gt;") && section.contains("g &amp; h") && section.contains("across"));
    }
}
