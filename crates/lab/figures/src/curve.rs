//! A curve over numbers, and an amount with its interval.

use crate::axis::Axis;
use crate::numbers::between;
use crate::page::each;
use crate::plot::{Area, Name, Names, percent, put};
use crate::svg::{escape, number};

/// Height of the area.
const HEIGHT: f64 = 240.0;
/// Height of a bar.
const BAR: f64 = 26.0;
/// Space for the names of the axes: above the area, and below the names along it.
const ABOVE: f64 = 32.0;
const BELOW: f64 = 20.0;

/// An amount that lies between two others, all in one unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// Names of its ends and its middle, such as `earliest`, `estimate`, `latest`.
    pub names: [String; 3],
    /// The low end, the estimate, the high end.
    pub values: [f64; 3],
    /// Unit as it stands behind a number, such as ` TB`.
    pub unit: String,
}

impl Interval {
    fn said(&self, which: usize) -> String {
        format!("{} {}{}", self.names[which], between(self.values)[which], self.unit)
    }

    /// The interval as a bar over an axis from nothing: full up to the low end, faint from there to the high end. A
    /// line stands at the estimate, and a dashed one at `beside`, which has a name.
    pub fn bar(&self, beside: Option<(&str, f64)>) -> String {
        let axis = Axis::from_zero(self.values[2].max(beside.map_or(0.0, |(_, value)| value)));
        let at = |value: f64| percent(axis.place(value));
        let [low, estimate, high] = self.values.map(at);
        let texts: Vec<String> = axis.ticks.iter().map(|value| number(*value)).collect();
        let mut area = Area::new(BAR, [], Names::Scale, texts.iter().map(String::as_str));
        area.below += BELOW;
        let mut svg = format!(
            "<rect class=\"s0 band\" x=\"0\" width=\"{high}\" height=\"{BAR}\"/><rect class=\"s0\" x=\"0\" \
             width=\"{low}\" height=\"{BAR}\"/><line class=\"estimate\" x1=\"{estimate}\" x2=\"{estimate}\" y1=\"0\" \
             y2=\"{BAR}\"/>"
        );
        let mut said = [0, 1, 2].map(|which| self.said(which)).to_vec();
        if let Some((name, value)) = beside {
            let x = at(value);
            let [above, below] = [-6.0, BAR + 4.0];
            put(
                &mut svg,
                format_args!("<line class=\"published p1\" x1=\"{x}\" x2=\"{x}\" y1=\"{above}\" y2=\"{below}\"/>"),
            );
            said.push(format!("{name} {}{}", number(value), self.unit));
        }
        let names: Vec<Name> =
            axis.ticks.iter().zip(texts).map(|(value, text)| Name { place: axis.place(*value), text }).collect();
        area.names(&mut svg, Names::Scale, &names);
        area.axes(&mut svg, self.unit.trim(), "");
        let legend = each(["s0", "estimate", "band", "published p1"].iter().zip(&said), |(class, said)| {
            format!("<li><i class=\"{class}\"></i>{}</li>", escape(said))
        });
        format!("<div class=\"span\">{}<ul class=\"legend\">{legend}</ul></div>", area.svg(&said.join(", "), &svg))
    }
}

/// A curve with the interval along its axis in which something happens, and a level that it crosses then.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Name of the section.
    pub name: &'static str,
    pub title: &'static str,
    /// Names of the axes, units included: along, and upwards.
    pub axes: [String; 2],
    /// Meaning of the curve, for the legend.
    pub line: &'static str,
    /// Its points, from the left; at least two.
    pub points: Vec<[f64; 2]>,
    /// Where on the axis along something happens.
    pub interval: Interval,
    /// A level upwards: its name, its value, and its unit as it stands behind a number.
    pub level: (&'static str, f64, &'static str),
    /// Upper end of the vertical axis, in the unit of the figures.
    pub most: f64,
    /// Explanation of the figure for the reader.
    pub caption: String,
}

impl Curve {
    /// The picture as a section of a page.
    pub fn section(&self) -> String {
        let (what, level, unit) = self.level;
        let [low, estimate, high] = [0, 1, 2].map(|which| escape(&self.interval.said(which)));
        format!(
            "<section id=\"{}\"><h2>{}</h2><p class=\"lead\">{}</p><ul class=\"legend\"><li><i class=\"s0\"></i>{}</li>\
             <li><i class=\"band\"></i>{low} to {high}</li><li><i class=\"estimate\"></i>{estimate}</li>\
             <li><i class=\"published p1\"></i>{}: {}{}</li></ul><div class=\"panels \
             single\"><div>{}</div></div></section>",
            self.name,
            escape(self.title),
            escape(&self.caption),
            escape(self.line),
            escape(what),
            number(level),
            escape(unit),
            self.picture()
        )
    }

    fn picture(&self) -> String {
        let (from, to) =
            (self.points.first().map_or(0.0, |point| point[0]), self.points.last().map_or(1.0, |point| point[0]));
        let (along, up) = (Axis::within(from, to), Axis::within(0.0, self.most));
        let x = |value: f64| along.place(value);
        let y = |value: f64| HEIGHT * (1.0 - up.place(value));
        let texts = |values: &[f64]| values.iter().map(|value| number(*value)).collect::<Vec<_>>();
        let (left, below) = (texts(&up.ticks), texts(&along.ticks));
        let mut area =
            Area::new(HEIGHT, left.iter().map(String::as_str), Names::Scale, below.iter().map(String::as_str));
        area.top = ABOVE;
        area.below += BELOW;
        let mut svg = String::new();
        let [low, estimate, high] = self.interval.values.map(x);
        put(
            &mut svg,
            format_args!(
                "<rect class=\"s0 band\" x=\"{}\" y=\"0\" width=\"{}\" height=\"{HEIGHT}\"><title>{} to \
                 {}</title></rect>",
                percent(low),
                percent(high - low),
                escape(&self.interval.said(0)),
                escape(&self.interval.said(2))
            ),
        );
        for (value, text) in up.ticks.iter().zip(&left) {
            Area::across(&mut svg, y(*value), text);
        }
        let names: Vec<Name> =
            along.ticks.iter().zip(below).map(|(value, text)| Name { place: x(*value), text }).collect();
        area.names(&mut svg, Names::Scale, &names);
        let level = y(self.level.1);
        put(
            &mut svg,
            format_args!("<line class=\"published p1\" x1=\"0\" x2=\"100%\" y1=\"{level:.1}\" y2=\"{level:.1}\"/>"),
        );
        let at = percent(estimate);
        put(
            &mut svg,
            format_args!(
                "<line class=\"estimate\" x1=\"{at}\" x2=\"{at}\" y1=\"0\" y2=\"{HEIGHT}\"><title>{}</title></line>",
                escape(&self.interval.said(1))
            ),
        );
        // Points of a line cannot be per cent: a picture within the picture, stretched along.
        let path: Vec<String> =
            self.points.iter().map(|point| format!("{:.1},{:.1}", x(point[0]) * 1000.0, y(point[1]))).collect();
        put(
            &mut svg,
            format_args!(
                "<svg class=\"path\" viewBox=\"0 0 1000 {HEIGHT}\" width=\"100%\" height=\"{HEIGHT}\" \
                 preserveAspectRatio=\"none\"><polyline class=\"s0\" points=\"{}\"/></svg>",
                path.join(" ")
            ),
        );
        area.axes(&mut svg, &self.axes[0], &self.axes[1]);
        let spoken = [0, 1, 2].map(|which| self.interval.said(which)).join(", ");
        area.svg(&format!("{}: {spoken}", self.title), &svg)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval() -> Interval {
        Interval {
            names: ["earliest", "estimate", "latest"].map(str::to_owned),
            values: [0.3, 0.35, 0.4],
            unit: " TB".to_owned(),
        }
    }

    #[test]
    fn a_bar_is_full_to_the_low_end_and_faint_to_the_high_one() {
        let bar = interval().bar(None);
        assert!(
            bar.contains("<rect class=\"s0\" x=\"0\" width=\"75.00%\"")
                && bar.contains("<rect class=\"s0 band\" x=\"0\" width=\"100.00%\""),
            "{bar}"
        );
        let spoken = "aria-label=\"earliest 0.30 TB, estimate 0.35 TB, latest 0.40 TB\"";
        assert!(bar.contains("x1=\"87.50%\"") && bar.contains(spoken) && !bar.contains("published"), "{bar}");
        let beside = interval().bar(Some(("data sheet", 0.8)));
        let drawn = "<line class=\"published p1\" x1=\"100.00%\"";
        assert!(beside.contains(drawn) && beside.contains("data sheet 0.8 TB</li>"), "{beside}");
    }

    #[test]
    fn a_curve_shows_its_interval_on_a_round_axis() {
        let curve = Curve {
            name: "n",
            title: "t",
            axes: ["TB <written>".to_owned(), "% worn".to_owned()],
            line: "worn",
            points: vec![[0.2, 0.0], [0.3, 10.0], [0.45, 100.0]],
            interval: interval(),
            level: ("spare", 13.5, " %"),
            most: 100.0,
            caption: String::new(),
        };
        let section = curve.section();
        assert!(
            section.contains("<rect class=\"s0 band\" x=\"40.00%\" y=\"0\" width=\"40.00%\""),
            "from 0.3 to 0.4 of 0.2 to 0.45: {section}"
        );
        assert!(
            section.contains("points=\"0.0,240.0 400.0,216.0 1000.0,0.0\"") && section.contains("TB &lt;written&gt;"),
            "{section}"
        );
        assert!(section.contains("estimate 0.35 TB</li>") && section.contains("spare: 13.5 %</li>"), "{section}");
        for tick in [">0.2<", ">0.25<", ">0.45<", ">100<"] {
            assert!(section.contains(tick), "{tick}: {section}");
        }
    }
}
