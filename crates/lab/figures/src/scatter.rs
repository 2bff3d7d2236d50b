//! Points in a plane, with a third value as their area.

use crate::axis::Axis;
use crate::page::each;
use crate::plot::{Area, Name, Names, percent, put};
use crate::svg::escape;

/// Space for the names of the axes: above the area, and below the names along it.
const ABOVE: f64 = 32.0;
const BELOW: f64 = 20.0;
/// Radius of the largest point, and of the smallest that can be hit.
const LARGEST: f64 = 12.0;
const SMALLEST: f64 = 2.5;
/// Radius of points that are all alike.
const ALIKE: f64 = 5.0;
/// Most points of the legend of areas.
const KEYS: usize = 4;

/// A point: its values, the text of a pointer over it, and whether it stands out.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    /// Its area, from 0.
    pub size: f64,
    /// Half of the intervals of both values; 0: none.
    pub halves: [f64; 2],
    /// Description of the point; may have several lines.
    pub label: String,
    /// Whether the point stands out from the others.
    pub is_marked: bool,
    /// A short name beside it; empty: none.
    pub name: String,
    /// Address that it leads to; empty: none.
    pub href: String,
}

impl Point {
    fn is_shown(&self) -> bool {
        self.x.is_finite() && self.y.is_finite() && self.size.is_finite()
    }
}

/// Points of one colour.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Name in the legend.
    pub name: String,
    /// The points, those without finite values left out.
    pub points: Vec<Point>,
}

/// How a value is written.
pub type Show = Box<dyn Fn(f64) -> String>;

/// A picture of points.
pub struct Scatter {
    /// Name of the section.
    pub name: String,
    pub title: String,
    /// Names of the axes.
    pub axes: [String; 2],
    /// How values of the axes are written.
    pub show: [Show; 2],
    /// Name of the value that the area of a point shows, and how it is written. All points are alike if it is empty.
    pub size: (String, Show),
    /// Height of the area in pixels.
    pub height: f64,
    /// Values that the axes cover beside the values of the points: several pictures share their axes by them.
    pub reach: [Vec<f64>; 2],
    /// Whether there is a line where both values are the same.
    pub has_diagonal: bool,
    /// Meaning of points that stand out, and of the others.
    pub kinds: [String; 2],
    pub groups: Vec<Group>,
    /// Explanation of the picture for the reader.
    pub caption: String,
    /// HTML beside the picture, such as a table of the points that stand out.
    pub beside: String,
}

impl Scatter {
    fn points(&self) -> impl Iterator<Item = (usize, &Point)> {
        let groups = self.groups.iter().enumerate();
        groups.flat_map(|(index, group)| {
            group.points.iter().filter(|point| point.is_shown()).map(move |point| (index, point))
        })
    }

    /// The picture as a section of a page.
    pub fn section(&self) -> String {
        format!(
            "<section id=\"{}\"><h2>{}</h2><p class=\"lead\">{}</p>{}<div \
             class=\"beside\">{}<div>{}</div></div></section>",
            escape(&self.name),
            escape(&self.title),
            escape(&self.caption),
            self.legend(),
            self.picture(),
            self.beside
        )
    }

    /// Explains colours, marks and areas.
    pub fn legend(&self) -> String {
        let groups = each(self.groups.iter().enumerate(), |(index, group)| {
            format!("<li><i class=\"s{index}\"></i>{}</li>", escape(&group.name))
        });
        let [marked, others] = &self.kinds;
        let kinds = each([("marked", marked), ("faint", others)], |(class, text)| {
            format!("<li>{}{}</li>", key(class, 7.0), escape(text))
        });
        format!("<ul class=\"legend\">{groups}</ul><ul class=\"legend\">{kinds}{}</ul>", self.sizes())
    }

    /// Radius of a point: its area counts.
    fn radius(&self, size: f64) -> f64 {
        let largest = self.points().map(|(_, point)| point.size).fold(0.0, f64::max);
        if self.size.0.is_empty() {
            ALIKE
        } else if largest > 0.0 {
            (LARGEST * (size.max(0.0) / largest).sqrt()).max(SMALLEST)
        } else {
            LARGEST / 2.0
        }
    }

    /// The legend of areas: the values there are, or some from the smallest to the largest.
    fn sizes(&self) -> String {
        let (name, show) = &self.size;
        if name.is_empty() {
            return String::new();
        }
        let mut sizes: Vec<f64> = self.points().map(|(_, point)| point.size).collect();
        sizes.sort_by(f64::total_cmp);
        sizes.dedup_by_key(|size| show(*size));
        if let (true, [least, .., most]) = (sizes.len() > KEYS, &sizes[..]) {
            sizes = (0..KEYS).map(|key| least + (most - least) * key as f64 / (KEYS - 1) as f64).collect();
        }
        let keys =
            each(sizes, |size| format!("<span>{}{}</span>", key("size", self.radius(size)), escape(&show(size))));
        format!("<li class=\"sizes\">{}: {keys}</li>", escape(name))
    }

    /// The values that the axes cover.
    pub fn ends(&self) -> [Vec<f64>; 2] {
        let own = |ends: fn(&Point) -> [f64; 2]| self.points().flat_map(move |(_, point)| ends(point));
        let x = own(|point| [point.x, point.x + point.halves[0]]);
        let y = own(|point| [point.y, point.y + point.halves[1]]);
        let [across, up] = &self.reach;
        [x.chain(across.iter().copied()).collect(), y.chain(up.iter().copied()).collect()]
    }

    /// The picture without a page around it.
    pub fn picture(&self) -> String {
        let height = self.height;
        // An axis is as long as the intervals, and begins at the values: below them an interval may reach to nothing.
        let [across, up] = self.ends().map(|ends| Axis::over(&ends));
        let y = |value: f64| height * (1.0 - up.place(value));
        let texts = |axis: &Axis, show: &Show| axis.ticks.iter().map(|value| show(*value)).collect::<Vec<_>>();
        let (left, below) = (texts(&up, &self.show[1]), texts(&across, &self.show[0]));
        let mut area =
            Area::new(height, left.iter().map(String::as_str), Names::Scale, below.iter().map(String::as_str));
        area.top = ABOVE;
        area.below += BELOW;
        let mut svg = String::new();
        for (value, text) in up.ticks.iter().zip(&left) {
            Area::across(&mut svg, y(*value), text);
        }
        for value in &across.ticks {
            let at = percent(across.place(*value));
            put(&mut svg, format_args!("<line class=\"grid\" x1=\"{at}\" x2=\"{at}\" y1=\"0\" y2=\"{height}\"/>"));
        }
        let names: Vec<Name> =
            across.ticks.iter().zip(below).map(|(value, text)| Name { place: across.place(*value), text }).collect();
        area.names(&mut svg, Names::Scale, &names);
        let [across_name, up_name] = &self.axes;
        area.axes(&mut svg, &across.named(across_name), &up.named(up_name));
        if self.has_diagonal {
            let ends = [across.from.max(up.from), across.to.min(up.to)];
            let [from, to] = ends.map(|value| (percent(across.place(value)), y(value)));
            put(
                &mut svg,
                format_args!(
                    "<line class=\"grid\" x1=\"{}\" y1=\"{:.1}\" x2=\"{}\" y2=\"{:.1}\"/>",
                    from.0, from.1, to.0, to.1
                ),
            );
        }
        // What stands out lies over the others, and small points over large ones.
        let mut points: Vec<(usize, &Point)> = self.points().collect();
        points.sort_by(|(_, a), (_, b)| a.is_marked.cmp(&b.is_marked).then(b.size.total_cmp(&a.size)));
        for (index, point) in points {
            self.point(&mut svg, index, point, &across, &up);
        }
        let picture = area.svg(&self.title, &svg);
        // A picture has no links in it for a screen reader, and a group has.
        let has_links = self.points().any(|(_, point)| !point.href.is_empty());
        if has_links { picture.replacen("<svg role=\"img\"", "<svg role=\"group\"", 1) } else { picture }
    }

    /// One point with the intervals of its two values.
    fn point(&self, svg: &mut String, index: usize, point: &Point, across: &Axis, up: &Axis) {
        let class = if point.is_marked { "marked" } else { "faint" };
        let height = |place: f64| self.height * (1.0 - place);
        let ends = |axis: &Axis, value: f64, half: f64| [value - half, value + half].map(|end| axis.place(end));
        let (x, y) = (percent(across.place(point.x)), height(up.place(point.y)));
        if point.halves[0] > 0.0 {
            let [from, to] = ends(across, point.x, point.halves[0]).map(percent);
            let ends = format!("x1=\"{from}\" x2=\"{to}\" y1=\"{y:.1}\" y2=\"{y:.1}\"");
            put(svg, format_args!("<line class=\"s{index} interval {class}\" {ends}/>"));
        }
        if point.halves[1] > 0.0 {
            let [from, to] = ends(up, point.y, point.halves[1]).map(height);
            let ends = format!("x1=\"{x}\" x2=\"{x}\" y1=\"{from:.1}\" y2=\"{to:.1}\"");
            put(svg, format_args!("<line class=\"s{index} interval {class}\" {ends}/>"));
        }
        let (radius, label) = (self.radius(point.size), escape(&point.label));
        let place = format!("cx=\"{x}\" cy=\"{y:.1}\" r=\"{radius:.1}\"");
        let circle = format!("<circle class=\"s{index} {class}\" {place}><title>{label}</title></circle>");
        if point.href.is_empty() {
            put(svg, format_args!("{circle}"));
        } else {
            let (href, name) = (escape(&point.href), escape(&point.label.replace('\n', ", ")));
            // Tab goes to the same links in the table beside the picture, in an order that can be followed.
            put(svg, format_args!("<a href=\"{href}\" aria-label=\"{name}\" tabindex=\"-1\">{circle}</a>"));
        }
        if !point.name.is_empty() {
            // Neighbours are likely to be of other groups: every second group has its names on the left.
            let is_left = index % 2 == 1;
            let (beside, end) = if is_left { (-radius - 3.0, " text-anchor=\"end\"") } else { (radius + 3.0, "") };
            let at = format!("x=\"{x}\" y=\"{y:.1}\" dx=\"{beside:.1}\" dy=\"-4\"{end}");
            put(svg, format_args!("<text class=\"name\" {at}>{}</text>", escape(&point.name)));
        }
    }
}

/// A point of a legend.
fn key(class: &str, radius: f64) -> String {
    let middle = radius + 1.0;
    format!(
        "<svg class=\"key\" width=\"{size:.1}\" height=\"{size:.1}\" aria-hidden=\"true\"><circle class=\"{class}\" \
         cx=\"{middle:.1}\" cy=\"{middle:.1}\" r=\"{radius:.1}\"/></svg>",
        size = 2.0 * middle
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg::number;

    fn scatter(points: Vec<Point>) -> Scatter {
        let both = |one: &str, two: &str| [one.to_owned(), two.to_owned()];
        Scatter {
            name: "n".to_owned(),
            title: "t".to_owned(),
            axes: both("across", "up"),
            show: [Box::new(number), Box::new(|value| format!("{} ms", number(value)))],
            size: ("depth".to_owned(), Box::new(|value| format!("{} m", number(value)))),
            height: 340.0,
            reach: [Vec::new(), Vec::new()],
            has_diagonal: false,
            kinds: both("best", "rest"),
            groups: vec![Group { name: "g & h".to_owned(), points }],
            caption: String::new(),
            beside: "<table></table>".to_owned(),
        }
    }

    fn point(x: f64, size: f64, is_marked: bool) -> Point {
        Point {
            x,
            y: 2.0,
            size,
            halves: [0.0, 0.0],
            label: format!("<{x}>\nsecond line"),
            is_marked,
            name: String::new(),
            href: String::new(),
        }
    }

    #[test]
    fn each_point_says_what_it_is_and_none_without_values_is_drawn() {
        let section = scatter(vec![point(1.0, 4.0, true), point(f64::NAN, 1.0, false)]).section();
        assert_eq!(section.matches("<title>").count(), 1);
        assert!(
            section.contains("&lt;1&gt;\nsecond line")
                && section.contains("g &amp; h")
                && section.contains("across")
                && section.contains("<table>")
        );
    }

    #[test]
    fn the_third_value_is_an_area_with_a_legend_and_small_points_lie_on_top() {
        let section = scatter(vec![point(1.0, 4.0, false), point(2.0, 16.0, true), point(3.0, 1.0, true)]).section();
        let (legend, picture) = section.split_once("class=\"plot\"").unwrap();
        for text in ["depth: ", "1 m", "4 m", "16 m", "best", "rest"] {
            assert!(legend.contains(text), "{text}: {legend}");
        }
        let circles: Vec<&str> = picture.split("<circle ").skip(1).collect();
        for (circle, what) in circles.iter().zip([
            "s0 faint\" cx=\"33.33%\" cy=\"0.0\" r=\"6.0\"",
            "s0 marked\" cx=\"66.67%\" cy=\"0.0\" r=\"12.0\"",
            "s0 marked\" cx=\"100.00%\" cy=\"0.0\" r=\"3.0\"",
        ]) {
            assert!(circle.contains(what), "{what}: {circle}");
        }
    }

    #[test]
    fn intervals_lie_through_their_points_and_within_the_picture() {
        let uncertain = Point { halves: [1.0, 3.0], ..point(3.0, 4.0, true) };
        let section = scatter(vec![uncertain, point(4.0, 4.0, false)]).section();
        assert_eq!(section.matches("interval").count(), 2, "{section}");
        assert!(section.contains("x1=\"50.00%\" x2=\"100.00%\""), "2 to 4 on an axis to 4: {section}");
        assert!(section.contains("y1=\"340.0\" y2=\"0.0\""), "2 \u{b1} 3 on an axis from 0 to 5: {section}");
        assert!(section.contains(">5 ms</text>"), "{section}");
    }

    #[test]
    fn points_lead_to_their_runs_and_pictures_share_axes() {
        let named = Point { name: "7".to_owned(), href: "runs/a/result.json".to_owned(), ..point(1.0, 4.0, true) };
        let mut one = scatter(vec![named]);
        one.reach = [vec![4.0], vec![8.0]];
        one.has_diagonal = true;
        let picture = one.picture();
        assert!(
            picture.contains(
                "<a href=\"runs/a/result.json\" aria-label=\"&lt;1&gt;, second line\" tabindex=\"-1\"><circle"
            ),
            "{picture}"
        );
        assert!(picture.contains(">7</text>") && picture.contains("<svg role=\"group\""), "{picture}");
        assert!(picture.contains("cx=\"25.00%\"") && picture.contains(">8 ms</text>"), "1 of 4: {picture}");
        assert!(scatter(vec![point(1.0, 4.0, true)]).picture().contains("<svg role=\"img\""));
    }

    #[test]
    fn many_areas_have_few_keys() {
        let section = scatter((1..40).map(|size| point(1.0, f64::from(size), false)).collect()).section();
        assert_eq!(section.matches("class=\"size\"").count(), KEYS);
    }
}
